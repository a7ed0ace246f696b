"""Each limit of a server, met by a real client: what lies at it passes, what lies one above is refused, and life goes on."""

from __future__ import annotations

import contextlib
import pathlib
import struct
import threading
import time

import grpc
import numpy as np
import pyarrow as pa
import pyarrow.flight as fl
import pytest
from deephaven_core.proto import session_pb2, table_pb2

import http2_by_hand as h2
import tickframe as tf
from deephaven_clients import PSK, port_of

TLS = pathlib.Path(__file__).parent.parent / "golden" / "tls"

#: The test that shows a limit; of those that none shows, why.
SHOWN = {
    "connections": "test_one_connection_too_many_is_hung_up_on",
    "streams": "test_one_call_too_many_of_a_connection_is_refused",
    "header_list": "test_headers_are_as_long_as_the_limit_and_no_longer",
    "pending_resets": "test_calls_that_are_reset_before_they_are_seen_end_the_connection",
    "control_message": "test_a_message_is_as_long_as_the_limit_and_no_longer",
    "data_message": "test_a_message_of_rows_is_as_long_as_the_limit_and_no_longer",
    "keepalive_interval": "test_who_does_not_answer_is_hung_up_on_and_who_does_stays",
    "keepalive_timeout": "test_who_does_not_answer_is_hung_up_on_and_who_does_stays",
    "handshake": "test_who_does_not_begin_is_hung_up_on",
    "sessions": "test_logins_share_all_sessions_there_are",
    "patience": "test_rows_that_nobody_reads_are_written_down_up_to_a_limit",
    "exports": "test_a_session_and_a_login_have_so_many_exports",
    "login_exports": "test_a_session_and_a_login_have_so_many_exports",
    "login_sessions": "test_logins_share_all_sessions_there_are",
    "login_subscriptions": "test_a_login_follows_so_many_tables",
    "login_memory": "test_a_login_uploads_so_many_bytes",
    "codes": "test_so_many_codes_wait",
}
#: Limits that cannot be met in a few seconds; a server of Python's takes no other ones.
NOT_SHOWN = {
    "code": "a minute; codes that are too old are shown in crates/flight/src/codes.rs",
    "unary": "five minutes; a server of Rust's with less is shown in crates/flight/tests/hostile.rs",
    "request": "five minutes; crates/flight/tests/hostile.rs",
    "script": "an hour; crates/flight/tests/hostile.rs",
    "session": "five minutes; crates/flight/tests/authentication.rs. What a client is told of it is shown",
    "hold": "five minutes; crates/flight/tests/following.rs",
    "storage": "1 GiB of files; crates/flight/src/storage/tests.rs",
    "storage_file": "crates/flight/src/storage/tests.rs",
    "storage_files": "10,000 files; crates/flight/src/storage/tests.rs",
    "upload": "16 GiB of rows; crates/flight/tests/hostile.rs",
}

#: Seconds that a machine may hang.
SLACK = 15


@pytest.fixture(scope="module")
def srv():
    with tf.serve({"t": tf.table({"a": [1, 2, 3]})}, token={"ann": None, "bob": None}) as server:
        yield server


@pytest.fixture(scope="module")
def token(srv):
    return srv.tokens["ann"]


def metadata(token):
    return [("authorization", f"Bearer {token}")]


@pytest.fixture
def channel(srv):
    with opened(srv) as channel:
        yield channel


def opened(srv):
    options = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", -1)]
    return grpc.insecure_channel(f"127.0.0.1:{port_of(srv)}", options=options)


def login(channel, token):
    """A session of its own: its metadata."""
    _, told = channel.unary_unary(h2.CONSTANTS).with_call(
        b"", metadata=[("authorization", f"{PSK} {token}")], timeout=60
    )
    return [("authorization", dict(told.initial_metadata())["authorization"])]


def close(channel, session):
    channel.unary_unary(SESSION + "CloseSession")(b"", metadata=session, timeout=60)


SESSION = "/io.deephaven.proto.backplane.grpc.SessionService/"
TABLES = "/io.deephaven.proto.backplane.grpc.TableService/"
FLIGHT = "/arrow.flight.protocol.FlightService/"


@contextlib.contextmanager
def refused(code, words):
    with pytest.raises(grpc.RpcError) as caught:
        yield
    assert (caught.value.code(), words in caught.value.details()) == (code, True), caught.value


def test_every_limit_is_shown_or_has_a_reason(srv):
    assert srv.limits.keys() == SHOWN.keys() | NOT_SHOWN.keys()
    assert not SHOWN.keys() & NOT_SHOWN.keys()
    assert set(SHOWN.values()) <= globals().keys()


# What takes long begins first, and is looked at last


class Silent:
    """Clients that say nothing, or not enough, and one that answers: when each is hung up on."""

    def __init__(self, srv, encrypted, token):
        #: Seconds after which the server hung up, by name.
        self.ended = {}
        self.asked = {}
        self.served = None
        begun = {
            "nothing": (srv, b""),
            "half a preface": (srv, h2.PREFACE[:10]),
            "half of an older form": (srv, b"POST / HTTP/1.1\r\nhost: tick"),
            "nothing, encrypted": (encrypted, b""),
            "half a greeting, encrypted": (encrypted, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
            "a preface": (srv, h2.PREFACE),
            "a greeting": (srv, h2.PREFACE + h2.SETTINGS_SENT),
            "a call": (srv, h2.PREFACE + h2.SETTINGS_SENT + h2.call(1, h2.STAYS, token)),
            "half a call": (srv, h2.PREFACE + h2.SETTINGS_SENT + h2.call(1, h2.CONSTANTS, token, None, ends=False)),
        }
        self.threads = [threading.Thread(target=self.watch, args=(name, *given)) for name, given in begun.items()]
        self.threads.append(threading.Thread(target=self.answer, args=(srv, token)))
        for thread in self.threads:
            thread.start()

    def watch(self, name, srv, begin):
        start = time.monotonic()
        with h2.Wire(srv, begin) as wire:
            while not wire.gone and time.monotonic() < start + 45 + SLACK:
                found = wire.frame(1)
                if found is not None and found.kind == h2.PING and not found.flags:
                    self.asked.setdefault(name, time.monotonic() - start)
            if wire.gone:
                self.ended[name] = time.monotonic() - start

    def answer(self, srv, token):
        start = time.monotonic()
        with h2.Wire(srv) as wire:
            while not wire.gone and time.monotonic() < start + 38:
                found = wire.frame(1)
                if found is not None and found.kind == h2.PING and not found.flags:
                    wire.send(h2.frame(h2.PING, h2.ACK, 0, found.payload))
            self.served = wire.is_served(1, token)


@pytest.fixture(scope="module", autouse=True)
def silent(srv, token):
    with tf.serve({}, tls=(TLS / "server.pem", TLS / "server.key")) as encrypted:
        silent = Silent(srv, encrypted, token)
        yield silent
        for thread in silent.threads:
            thread.join(90)


class Unread:
    """A client that reads a live table with pauses, and another that leaves it for longer than the server's patience."""

    def __init__(self):
        graph = tf.Graph()
        live = tf.append_table({"x": int}, graph=graph)
        live.append({"x": np.arange(20_000_000)})
        graph.step()
        self.srv = tf.serve({"live": live})
        self.rows, self.error = None, None
        self.threads = [threading.Thread(target=self.read, args=(pause,)) for pause in (1, 10)]
        for thread in self.threads:
            thread.start()

    def read(self, pause):
        options = fl.FlightCallOptions(headers=[(b"authorization", b"Bearer " + self.srv.token.encode())], timeout=100)
        with fl.connect(self.srv.url) as client:
            reader = client.do_get(fl.Ticket(b"s/live"), options)
            rows = reader.read_chunk().data.num_rows
            time.sleep(pause)
            try:
                rows += sum(chunk.data.num_rows for chunk in reader)
            except pa.ArrowException as error:
                self.error = error
            else:
                self.rows = rows


@pytest.fixture(scope="module", autouse=True)
def unread():
    unread = Unread()
    yield unread
    for thread in unread.threads:
        thread.join(100)
    unread.srv.stop()


# What a client is told


def test_a_connection_begins_with_what_it_may_do(srv):
    with h2.Wire(srv) as wire:
        first = wire.frame()
        assert first.kind == h2.SETTINGS
        told = dict(struct.iter_unpack(">HI", first.payload))
        # Streams, the window of a call, bytes of a frame, bytes of headers.
        assert told == told | {3: srv.limits["streams"], 4: 4 << 20, 5: 256 << 10, 6: srv.limits["header_list"]}
        assert told.get(1, 4096) <= 4096
        assert told.get(2, 0) == 0
        window = wire.until(lambda each: each.kind == h2.WINDOW_UPDATE)
        assert window.stream == 0
        assert struct.unpack(">I", window.payload)[0] + 65_535 == 16 << 20


def test_a_session_is_told_how_long_it_lives(srv, channel, token):
    told = channel.unary_unary(SESSION + "NewSession")(b"", metadata=metadata(token), timeout=60)
    handed = session_pb2.HandshakeResponse.FromString(told)
    assert handed.token_expiration_delay_millis == srv.limits["session"] == 300_000


# Of a connection


def test_one_connection_too_many_is_hung_up_on():
    most = 2048
    if h2.files(2 * most + 1000) < 2 * most + 500:
        pytest.fail("this machine gives too few files: ulimit -n 5000")
    with tf.serve({}) as srv, contextlib.ExitStack() as held:
        assert srv.limits["connections"] == most
        wires = [held.enter_context(h2.Wire(srv)) for _ in range(most)]
        assert all(wire.frame() is not None for wire in wires)
        for _ in range(3):
            with h2.Wire(srv) as over:
                assert over.hung_up(SLACK)
        assert wires[-1].is_served(1, srv.token)
        wires[0].close()
        # The place is given back as the server sees the end.
        until = time.monotonic() + SLACK
        while True:
            with h2.Wire(srv) as again:
                if again.is_served(1, srv.token) or time.monotonic() > until:
                    break
        assert time.monotonic() < until


def test_one_call_too_many_of_a_connection_is_refused(srv, token):
    most = srv.limits["streams"]
    with h2.Wire(srv) as wire:
        wire.send(b"".join(h2.call(2 * n + 1, h2.STAYS, token) for n in range(most)))
        assert wire.lives()
        wire.send(h2.call(2 * most + 1, h2.CONSTANTS, token))
        over = wire.ended(2 * most + 1)
        assert (over.kind, over.code()) == (h2.RST_STREAM, h2.REFUSED_STREAM)
        wire.send(h2.frame(h2.RST_STREAM, 0, 1, struct.pack(">I", h2.CANCEL)))
        assert wire.is_served(2 * most + 3, token)
        with h2.Wire(srv) as other:
            assert other.is_served(1, token)


def headers_of(size, token):
    """The headers of a call, of so many bytes as the limit counts them."""
    pairs = h2.asked(h2.CONSTANTS, token, ("x-more", ""))
    more = size - sum(len(name) + len(value) + 32 for name, value in pairs)
    return h2.fields([*pairs[:-1], ("x-more", "a" * more)])


def test_headers_are_as_long_as_the_limit_and_no_longer(srv, token):
    most = srv.limits["header_list"]

    def sent(stream, block):
        """The frames of a call whose headers take more than one."""
        first, rest = block[:16_000], block[16_000:]
        sent = h2.frame(h2.HEADERS, 0, stream, first) + h2.frame(h2.CONTINUATION, h2.END_HEADERS, stream, rest)
        return sent + h2.frame(h2.DATA, h2.END_STREAM, stream, h2.message())

    def ends(wire, stream):
        """Whether it was answered to its end: a refusal has headers alone, and no message."""
        found = wire.until(
            lambda each: each.stream == stream and (each.kind in {h2.DATA, h2.RST_STREAM} or each.flags & h2.END_STREAM)
        )
        return found is not None and found.kind == h2.DATA and len(found.payload) > 100

    with h2.Wire(srv) as wire:
        # Exactly at the limit the library that reads them says no: one byte, which nobody misses.
        wire.send(sent(1, headers_of(most - 1, token)))
        assert ends(wire, 1)
        wire.send(sent(3, headers_of(most + 1, token)))
        assert not ends(wire, 3)
        assert wire.is_served(5, token)
    with h2.Wire(srv) as wire:
        # Whoever sends many times as much is not listened to.
        wire.send(h2.frame(h2.HEADERS, 0, 1, b""))
        part = h2.fields([("x-more", "a" * 16_000)])
        for _ in range(200):
            wire.send(h2.frame(h2.CONTINUATION, 0, 1, part))
        assert wire.hung_up(SLACK)


@pytest.mark.parametrize(("size", "status"), [(15_000, 200), (17_000, 431)])
def test_headers_of_an_older_form_have_the_same_limit(srv, token, size, status):
    request = f"POST {h2.CONSTANTS} HTTP/1.1\r\nhost: a\r\ncontent-type: application/grpc-web\r\n"
    request += f"authorization: Bearer {token}\r\ncontent-length: 5\r\nx-more: {'a' * size}\r\n\r\n"
    with h2.Wire(srv, request.encode() + h2.message()) as wire:
        assert wire.more(SLACK)
        assert wire.held.startswith(b"HTTP/1.1 %d " % status)


def resets(srv, token, count):
    """A connection on which so many calls were begun and reset at once."""
    wire = h2.Wire(srv)
    assert wire.lives()
    end = struct.pack(">I", h2.CANCEL)
    begun = (
        h2.frame(h2.HEADERS, h2.END_HEADERS, 2 * n + 1, h2.fields(h2.asked(h2.STAYS, token)))
        + h2.frame(h2.RST_STREAM, 0, 2 * n + 1, end)
        for n in range(count)
    )
    wire.send(b"".join(begun))
    return wire


def test_calls_that_are_reset_before_they_are_seen_end_the_connection(srv, token):
    most = srv.limits["pending_resets"]
    with resets(srv, token, most) as wire:
        assert wire.is_served(2 * most + 1, token)
    # How many the server has seen before the next is reset is chance: far more are too many.
    with resets(srv, token, 100 * most) as wire:
        over = wire.until(lambda each: each.kind == h2.GOAWAY)
        assert over.code() == h2.ENHANCE_YOUR_CALM
        assert wire.hung_up(SLACK)
    with h2.Wire(srv) as wire:
        assert wire.is_served(1, token)


# Of a message


def test_a_message_is_as_long_as_the_limit_and_no_longer(srv, channel, token):
    most = srv.limits["control_message"]
    call = channel.unary_unary(h2.CONSTANTS)

    def unknown(size):
        """A message of one field that no call knows: a key of two bytes, a length of four, and zeros."""
        return (b"\xfa\x07" + h2.varint(size - 6)).ljust(size, b"\0")

    assert call(unknown(most), metadata=metadata(token), timeout=60)
    with refused(grpc.StatusCode.OUT_OF_RANGE, str(most)):
        call(unknown(most + 1), metadata=metadata(token), timeout=60)
    assert call(b"", metadata=metadata(token), timeout=60)


@pytest.mark.parametrize("call", [h2.CONSTANTS, FLIGHT + "DoGet", FLIGHT + "DoPut", FLIGHT + "DoExchange"])
def test_what_is_compressed_is_not_read(channel, token, call):
    """A few bytes would be many."""
    stream = channel.stream_stream(call)
    with refused(grpc.StatusCode.UNIMPLEMENTED, "compress"):
        list(
            stream(
                iter([b"\x0a\x03s/t".ljust(10_000, b"\0")]),
                metadata=metadata(token),
                timeout=60,
                compression=grpc.Compression.Gzip,
            )
        )
    assert channel.unary_unary(h2.CONSTANTS)(b"", metadata=metadata(token), timeout=60)


SCHEMA = pa.schema([("x", pa.int64())]).serialize().to_pybytes()[8:]


def put(channel, session, messages):
    call = channel.stream_stream(FLIGHT + "DoPut")
    return list(call(iter(messages), metadata=session, timeout=60))


def test_a_message_of_rows_is_as_long_as_the_limit_and_no_longer(srv, channel, token):
    most = srv.limits["data_message"]
    session = login(channel, token)
    before = len(h2.data(body=b"\0" * most)) - most
    first = h2.data(("export", "1"), SCHEMA)
    put(channel, session, [first, h2.data(body=b"\0" * (most - before))])
    over = [h2.data(("export", "2"), SCHEMA), h2.data(body=b"\0" * (most - before + 1))]
    with refused(grpc.StatusCode.OUT_OF_RANGE, f"a message of {most + 1} bytes, of at most {most}"):
        put(channel, session, over)
    put(channel, session, [h2.data(("export", "3"), SCHEMA)])
    with refused(grpc.StatusCode.FAILED_PRECONDITION, "DEPENDENCY_FAILED"):
        list(channel.unary_stream(FLIGHT + "DoGet")(b"\x0a\x05e\2\0\0\0", metadata=session, timeout=60))
    close(channel, session)


@pytest.mark.parametrize(
    ("at", "above", "words"),
    [
        # Bytes of a formula, and how deep it is.
        (lambda: "y=a".ljust(64 << 10), lambda: "y=a".ljust((64 << 10) + 1), "a formula has at most 65536 bytes"),
        (lambda: "y=" + "(" * 128 + "a" + ")" * 128, lambda: "y=" + "(" * 129 + "a" + ")" * 129, "128"),
    ],
    ids=["bytes", "depth"],
)
def test_a_formula_is_as_large_as_the_limit_and_no_larger(channel, token, at, above, words):
    session = login(channel, token)
    call = channel.unary_unary(TABLES + "UpdateView")

    def asks(number, formula):
        ticket = b"e" + struct.pack("<i", number)
        request = table_pb2.SelectOrUpdateRequest(
            result_id={"ticket": ticket}, source_id={"ticket": {"ticket": b"s/t"}}, column_specs=[formula]
        )
        return call(request.SerializeToString(), metadata=session, timeout=60)

    assert asks(1, at())
    with refused(grpc.StatusCode.INVALID_ARGUMENT, words):
        asks(2, above())
    assert asks(3, at())
    close(channel, session)


def heads(count, first, *, waiting=False):
    """A batch of so many operations, of which all but the first wait for a table that is not there yet, or none."""

    def operation(source):
        result = {"ticket": b"enumb"}
        fetch = {"result_id": result, "source_id": {"ticket": {"ticket": source}}}
        return table_pb2.BatchTableRequest(ops=[{"fetch_table": fetch}]).SerializeToString()

    begins, goes_on = operation(b"s/t"), operation(b"e\xff\xff\xff\x7f" if waiting else b"s/t")
    numbers = (struct.pack("<i", number) for number in range(first, first + count))
    return b"".join((goes_on if at else begins).replace(b"numb", number) for at, number in enumerate(numbers))


def test_a_batch_has_so_many_operations_and_a_message_so_many_parts(channel, token):
    session = login(channel, token)
    call = channel.unary_stream(TABLES + "Batch")
    with refused(grpc.StatusCode.RESOURCE_EXHAUSTED, "a batch has at most 10000 operations"):
        list(call(heads(10_001, 1), metadata=session, timeout=60))
    with refused(grpc.StatusCode.RESOURCE_EXHAUSTED, "a message of more than 262144 parts"):
        list(call(b"\x0a\0" * 262_145, metadata=session, timeout=60))
    assert len(list(call(heads(100, 1), metadata=session, timeout=60))) == 100
    close(channel, session)


# Of a login


def test_a_session_and_a_login_have_so_many_exports(srv, channel):
    token = srv.tokens["bob"]
    most, all_most = srv.limits["exports"], srv.limits["login_exports"]
    assert (most, all_most) == (100_000, 200_000)
    one, two, three = (login(channel, token) for _ in range(3))
    call = channel.unary_stream(TABLES + "Batch")

    def fill(session, first, count, size=10_000):
        """Takes so many numbers: all of a batch are taken before it begins."""
        for at in range(first, first + count, size):
            stream = call(heads(size, at, waiting=True), metadata=session, timeout=100)
            assert table_pb2.ExportedTableCreationResponse.FromString(next(stream)).success
            waits.append(stream)

    def takes(session, number):
        return list(call(heads(1, number), metadata=session, timeout=60))

    waits = []
    fill(one, 1, most)
    with refused(grpc.StatusCode.RESOURCE_EXHAUSTED, f"a session has at most {most} exports"):
        takes(one, most + 1)
    fill(two, 1, most - 10_000)
    fill(three, 1, 9_999, 9_999)
    assert takes(two, most)
    words = f"a login has at most {all_most} exports, and this one 'bob' has them"
    for session in (two, three):
        with refused(grpc.StatusCode.RESOURCE_EXHAUSTED, words):
            takes(session, most + 1)
    release(channel, two, most)
    assert takes(three, most + 2)
    for session in (one, two, three):
        close(channel, session)
    # Who waited is told.
    with pytest.raises(grpc.RpcError):
        list(waits.pop())
    for stream in waits:
        stream.cancel()
    again = login(channel, token)
    assert takes(again, 1)
    close(channel, again)


def release(channel, session, number):
    request = session_pb2.ReleaseRequest(id={"ticket": b"e" + struct.pack("<i", number)})
    channel.unary_unary(SESSION + "Release")(request.SerializeToString(), metadata=session, timeout=60)


def settled(good, within=SLACK):
    """Waits until something holds."""
    until = time.monotonic() + within
    while not good():
        assert time.monotonic() < until, "it does not come to be so"
        time.sleep(0.05)


def test_logins_share_all_sessions_there_are():
    names = [f"login {n}" for n in range(8)]
    with tf.serve({}, token=dict.fromkeys(names)) as srv, opened(srv) as channel:
        most = srv.limits["login_sessions"]
        assert srv.limits["sessions"] == 4096 == 8 * most
        held = [login(channel, srv.tokens["login 0"]) for _ in range(most)]
        with refused(grpc.StatusCode.RESOURCE_EXHAUSTED, f"a login has at most {most} sessions"):
            login(channel, srv.tokens["login 0"])
        for name in names[1:]:
            assert login(channel, srv.tokens[name])
        close(channel, held[0])
        held[0] = login(channel, srv.tokens["login 0"])
        channel.unary_unary(h2.CONSTANTS)(b"", metadata=held[0], timeout=60)


def test_so_many_codes_wait():
    with tf.serve({}, token={"ann": None, "bob": None}) as srv, opened(srv) as channel:
        most = srv.limits["codes"]
        assert (most, srv.limits["code"]) == (64, 60_000)
        waiting = [srv.code(("ann", "bob")[n % 2]) for n in range(most)]
        for name in srv.tokens:
            with pytest.raises(tf.errors.ResourceError, match=f"{most} codes wait"):
                srv.code(name)
        assert login(channel, waiting.pop())
        waiting.append(srv.code("ann"))
        with pytest.raises(tf.errors.ResourceError, match=f"{most} codes wait"):
            srv.code("ann")
        assert all(login(channel, code) for code in waiting)
        with refused(grpc.StatusCode.UNAUTHENTICATED, "this code lets nobody in"):
            login(channel, waiting[0])


def test_a_login_follows_so_many_tables(srv, channel, token):
    most, each = srv.limits["login_subscriptions"], srv.limits["streams"]
    asks = h2.subscribed(b"s/t")
    call = channel.stream_stream(FLIGHT + "DoExchange")
    exchange = FLIGHT + "DoExchange"
    with contextlib.ExitStack() as held:
        for at in range(0, most, each):
            wire = held.enter_context(h2.Wire(srv))
            streams = range(1, 2 * min(each, most - at), 2)
            wire.send(b"".join(h2.call(stream, exchange, token, asks, ends=False) for stream in streams))
            # Each has begun once its first message is there.
            left = set(streams)
            assert wire.until(
                lambda found, left=left: found.kind == h2.DATA and (left.discard(found.stream), not left)[1]
            )
        with refused(grpc.StatusCode.RESOURCE_EXHAUSTED, f"at most {most} subscriptions, and this one 'ann' has them"):
            list(call(iter([asks]), metadata=metadata(token), timeout=60))
        assert follows(call, asks, metadata(srv.tokens["bob"]))
        assert channel.unary_unary(h2.CONSTANTS)(b"", metadata=metadata(token), timeout=60)
        wire.close()
        settled(lambda: follows(call, asks, metadata(token)))


def follows(call, asks, session):
    stream = call(iter([asks]), metadata=session, timeout=60)
    try:
        return bool(next(stream))
    except grpc.RpcError:
        return False
    finally:
        stream.cancel()


def test_a_login_uploads_so_many_bytes():
    with tf.Config(memory="64MB"):
        srv = tf.serve({}, token={"ann": None, "bob": None})
    with srv, opened(srv) as channel:
        most = srv.limits["login_memory"]
        assert most == 16_000_000
        ann, other, bob = (login(channel, srv.tokens[name]) for name in ("ann", "ann", "bob"))

        def sends(session, number, *sizes):
            messages = [h2.data(("export", str(number)), SCHEMA), *(h2.data(body=b"\0" * size) for size in sizes)]
            return put(channel, session, messages)

        words = f"a login has at most {most} bytes of uploads and of what it has not read, and this one 'ann' has them"
        for _ in range(3):
            # What was refused is given back whole.
            with refused(grpc.StatusCode.RESOURCE_EXHAUSTED, words):
                sends(ann, 1000 + _, 10_000_000, 6_000_001)
        sends(ann, 1, 10_000_000, 5_999_999)
        sends(ann, 2, 1)
        for session in (ann, other):
            with refused(grpc.StatusCode.RESOURCE_EXHAUSTED, words):
                sends(session, 3, 1)
        sends(bob, 1, most)
        release(channel, ann, 1)
        settled(lambda: not failed(sends, other, 10_000_000))
        close(channel, ann)
        close(channel, other)
        last = login(channel, srv.tokens["ann"])
        settled(lambda: not failed(sends, last, most))


NUMBERS = iter(range(10_000, 1_000_000))


def failed(sends, session, size):
    """Whether an upload is more than its login has room for."""
    try:
        sends(session, next(NUMBERS), size)
    except grpc.RpcError as why:
        if why.code() != grpc.StatusCode.RESOURCE_EXHAUSTED:
            raise
        return True
    return False


# What began first


def test_who_does_not_begin_is_hung_up_on(srv, silent):
    limit = srv.limits["handshake"] / 1000
    names = ["nothing", "half a preface", "half of an older form", "nothing, encrypted", "half a greeting, encrypted"]
    settled(lambda: all(name in silent.ended for name in names), 3 * SLACK)
    for name in names:
        assert limit - 1 <= silent.ended[name] <= 2 * limit + SLACK, (name, silent.ended)


def test_rows_that_nobody_reads_are_written_down_up_to_a_limit(unread):
    for thread in unread.threads:
        thread.join(60)
    assert unread.srv.limits["patience"] == 5_000
    assert unread.rows == 20_000_000
    assert isinstance(unread.error, pa.ArrowException)
    assert "the client does not read, and is owed more than 64 MiB" in str(unread.error)


def test_who_does_not_answer_is_hung_up_on_and_who_does_stays(srv, silent):
    interval, timeout = srv.limits["keepalive_interval"] / 1000, srv.limits["keepalive_timeout"] / 1000
    for thread in silent.threads:
        thread.join(90)
    wrong = []
    for name in ["a preface", "a greeting", "a call", "half a call"]:
        ended = silent.ended.get(name)
        if ended is None or not interval <= ended <= interval + timeout + SLACK:
            wrong.append(f"{name}: {ended}")
        if name != "a preface" and not interval - 1 <= silent.asked.get(name, 0) <= interval + SLACK:
            wrong.append(f"{name}: asked after {silent.asked.get(name)}")
    assert wrong == []
    assert silent.served
