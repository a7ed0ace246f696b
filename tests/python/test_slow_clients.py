"""Clients that are slow, silent, stopped, or send without end, and calls that are broken off: others are served, nothing stays."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

import grpc
import pyarrow as pa
import pyarrow.flight as fl
import pytest
from deephaven_core.proto import object_pb2, session_pb2, table_pb2

import http2_by_hand as h2
import tickframe as tf
from deephaven_clients import PSK, port_of

HERE = pathlib.Path(__file__).parent
#: Seconds that a machine may hang.
SLACK = 15
#: Bytes that a server may grow by, whatever one client does.
GROWTH = 64 << 20
#: Bytes of a connection with a call that waits.
EACH = 96 << 10
BIG = 4_000_000

SESSION = "/io.deephaven.proto.backplane.grpc.SessionService/"
TABLES = "/io.deephaven.proto.backplane.grpc.TableService/"
OBJECTS = "/io.deephaven.proto.backplane.grpc.ObjectService/"
CONSOLES = "/io.deephaven.proto.backplane.script.grpc.ConsoleService/"
APPLICATIONS = "/io.deephaven.proto.backplane.grpc.ApplicationService/"
FLIGHT = "/arrow.flight.protocol.FlightService/"

SERVER = """
import ctypes, json, sys, threading
import numpy as np
import tickframe as tf
graph = tf.Graph(period=0.02)
graph.start()
live = tf.append_table({"n": int}, graph=graph)
big = tf.append_table({"n": int}, graph=graph)
big.append({"n": np.arange(int(sys.argv[1]))}).wait(60)
srv = tf.serve({"t": tf.table({"a": [1]}), "live": live.tail(1000), "big": big}, graph=graph)
print(json.dumps([srv.url, srv.token]), flush=True)
def feed():
    at = 0
    while True:
        live.append({"n": np.arange(at, at + 1000)}).wait(60)
        at += 1000
threading.Thread(target=feed, daemon=True).start()
for _ in sys.stdin:
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/status") as status:
        print(next(int(line.split()[1]) << 10 for line in status if line.startswith("VmRSS")), flush=True)
"""


class Process:
    """A server in a process of its own, whose memory is its own."""

    def __init__(self):
        command = [sys.executable, "-W", "ignore", "-c", SERVER, str(BIG)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url, self.token = json.loads(self.process.stdout.readline())

    def memory(self):
        """What it holds: what it gave back is not counted."""
        self.process.stdin.write("memory\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def stop(self):
        self.process.stdin.close()
        try:
            self.process.wait(SLACK)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


@pytest.fixture(scope="module")
def apart():
    server = Process()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def srv():
    with tf.Config(memory="128MB"):
        srv = tf.serve({"t": tf.table({"a": [1, 2, 3]})}, token={"ann": None, "bob": None})
    with srv:
        assert srv.limits["login_memory"] == 32_000_000
        srv.tables["big"] = tf.table({"n": pa.array(range(BIG))})
        srv.tables["parts"] = tf.table({"a": [1, 2]}).partition_by("a")
        yield srv


def opened(srv):
    options = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", -1)]
    return grpc.insecure_channel(f"127.0.0.1:{port_of(srv)}", options=options)


class Login:
    """A session of its own."""

    def __init__(self, srv, name="ann"):
        self.channel = opened(srv)
        call = self.channel.unary_unary(h2.CONSTANTS).with_call
        _, told = call(b"", metadata=[("authorization", f"{PSK} {srv.tokens[name]}")], timeout=60)
        self.metadata = [("authorization", dict(told.initial_metadata())["authorization"])]
        #: What comes behind "Bearer".
        self.token = self.metadata[0][1].removeprefix("Bearer ")

    def begins(self, path, *messages, timeout=60):
        return self.channel.stream_stream(path)(iter(messages), metadata=self.metadata, timeout=timeout)

    def asks(self, path, *messages, timeout=60):
        return list(self.begins(path, *messages, timeout=timeout))

    def code(self, path, *messages, timeout=60):
        try:
            self.asks(path, *messages, timeout=timeout)
        except grpc.RpcError as refused:
            return refused.code().name, refused.details()
        return "OK", ""

    def close(self):
        self.asks(SESSION + "CloseSession", b"")
        self.channel.close()


@pytest.fixture
def ann(srv):
    login = Login(srv)
    yield login
    login.close()


def settled(good, within=SLACK):
    """Waits until something holds."""
    until = time.monotonic() + within
    while not good():
        assert time.monotonic() < until, "it does not come to be so"
        time.sleep(0.05)


def is_served(srv):
    """Whether a client that means well is served in a few seconds."""
    options = fl.FlightCallOptions(headers=[(b"authorization", f"Bearer {srv.token}".encode())], timeout=SLACK)
    with fl.connect(srv.url) as client:
        return client.do_get(fl.Ticket(b"s/t"), options).read_all().num_rows > 0


# What takes long begins first, and is looked at last


FOLLOWER = """
import ctypes, sys
# Who is stopped ends with those who stopped it, whatever ends them.
ctypes.CDLL(None).prctl(1, 9)
sys.path.insert(0, sys.argv[4])
import grpc, http2_by_hand as h2
channel = grpc.insecure_channel(sys.argv[1])
call = channel.stream_stream(sys.argv[3])
given = h2.subscribed(b"s/live") if sys.argv[3].endswith("DoExchange") else b"\\x0a\\x05s/big"
try:
    for at, answer in enumerate(call(iter([given]), metadata=[("authorization", "Bearer " + sys.argv[2])], timeout=600)):
        print(at, flush=True)
    print("done", flush=True)
except grpc.RpcError as why:
    print(why.code().name, flush=True)
"""


class Reader:
    """A client in a process of its own, which can be stopped."""

    def __init__(self, srv, method):
        where = srv.url.removeprefix("grpc://")
        command = [sys.executable, "-c", FOLLOWER, where, srv.token, FLIGHT + method, str(HERE)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.first = self.process.stdout.readline()

    def pause(self):
        os.kill(self.process.pid, signal.SIGSTOP)

    def goes_on(self):
        os.kill(self.process.pid, signal.SIGCONT)

    def last(self):
        """The last line; it ends by itself."""
        return self.process.stdout.read().splitlines()[-1]

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture(scope="module", autouse=True)
def asleep(apart):
    """A follower that is stopped for longer than a server waits for a sign of life."""
    reader = Reader(apart, "DoExchange")
    reader.pause()
    began = time.monotonic()
    yield reader, began
    reader.end()


class Trickle:
    """Clients that send a byte a second, or nothing where it is their turn: how long they may."""

    def __init__(self, srv, encrypted):
        self.ended, self.over, self.began = {}, threading.Event(), time.monotonic()
        greeting = h2.PREFACE + h2.SETTINGS_SENT
        rest = b"x" * 200
        begun = {
            "a preface": (srv, b"", h2.PREFACE),
            "an older form": (srv, b"", b"POST / HTTP/1.1\r\nhost: " + rest),
            "an older form, half of it at once": (srv, b"POST / HTTP/1.1\r\nhost: ", rest),
            "a greeting of TLS": (encrypted, b"", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + rest),
            "settings": (srv, h2.PREFACE, h2.frame(h2.SETTINGS, 0, 0, b"\0\3\0\0\0\1" * 30)),
            "headers": (srv, greeting, h2.frame(h2.HEADERS, 0, 1, rest)),
            "a message": (srv, greeting + h2.call(1, h2.CONSTANTS, srv.token, None, ends=False), rest),
        }
        self.threads = [threading.Thread(target=self.trickle, args=(name, *how)) for name, how in begun.items()]
        self.threads.append(threading.Thread(target=self.idle, args=(srv,)))
        self.threads.append(threading.Thread(target=self.stranger, args=(srv,)))
        self.threads.append(threading.Thread(target=self.older_stranger, args=(srv,)))
        for thread in self.threads:
            thread.start()

    def trickle(self, name, srv, begin, rest):
        start = time.monotonic()
        with h2.Wire(srv, begin) as wire:
            for byte in rest:
                if wire.gone or self.over.is_set() or not wire.send(bytes([byte])):
                    break
                wire.hung_up(1)
            if wire.gone:
                self.ended[name] = time.monotonic() - start

    def idle(self, srv):
        """An older form that was answered, and after that nothing."""
        request = b"POST " + h2.CONSTANTS.encode() + b" HTTP/1.1\r\nhost: a\r\ncontent-type: application/grpc-web\r\n"
        request += b"authorization: Bearer " + srv.token.encode() + b"\r\ncontent-length: 5\r\n\r\n" + h2.message()
        with h2.Wire(srv, request) as wire:
            assert wire.more(SLACK)
            assert b" 200 OK" in wire.held
            start = time.monotonic()
            while not wire.gone and not self.over.is_set():
                wire.more(1)
            if wire.gone:
                self.ended["nothing after an answer"] = time.monotonic() - start

    def stranger(self, srv):
        """One who begins to say who it is, says no more, and answers what it is asked."""
        with h2.Wire(srv) as wire:
            wire.send(h2.call(1, FLIGHT + "Handshake", None, None, ends=False))
            while not self.over.is_set():
                found = wire.frame(1)
                if found is not None and found.kind == h2.PING and not found.flags:
                    wire.send(h2.frame(h2.PING, h2.ACK, 0, found.payload))
                if wire.gone or (found is not None and found.stream == 1 and found.kind in {h2.HEADERS, h2.RST_STREAM}):
                    self.ended["a stranger's handshake"] = time.monotonic() - self.began
                    return

    def older_stranger(self, srv):
        """As that one, in an older form, in which nobody is asked whether it lives."""
        request = b"POST " + FLIGHT.encode() + b"Handshake HTTP/1.1\r\nhost: a\r\n"
        request += b"content-type: application/grpc-web\r\ncontent-length: 100\r\n\r\n"
        with h2.Wire(srv, request) as wire:
            while not wire.gone and not self.over.is_set():
                wire.more(1)
            if wire.gone:
                self.ended["a stranger's handshake, in an older form"] = time.monotonic() - self.began


@pytest.fixture(scope="module", autouse=True)
def trickle(srv):
    tls = HERE.parent / "golden" / "tls"
    with tf.serve({}, tls=(tls / "server.pem", tls / "server.key")) as encrypted:
        trickle = Trickle(srv, encrypted)
        yield trickle
        trickle.over.set()
        for thread in trickle.threads:
            thread.join(60)


# Many


@pytest.mark.parametrize("calls", [False, True], ids=["that are silent", "with calls that wait"])
def test_two_thousand_connections_leave_others_served_and_memory_bounded(apart, calls):
    if h2.files(4000) < 3000:
        pytest.fail("this machine gives too few files: ulimit -n 4000")
    before = apart.memory()
    waits = h2.PREFACE + h2.SETTINGS_SENT + h2.call(1, h2.STAYS, apart.token)
    begun = [waits, waits] if calls else [b"", h2.PREFACE[:10]]
    with contextlib.ExitStack() as held:
        wires = [held.enter_context(h2.Wire(apart, begin)) for begin in begun for _ in range(1000)]
        assert is_served(apart)
        if calls:
            assert all(wire.lives() for wire in wires[::100])
        else:
            # All were taken in within the time that each has.
            settled(lambda: all(wire.gone or wire.hung_up(0.01) for wire in wires), 2 * SLACK)
        assert is_served(apart)
        assert apart.memory() - before < EACH * len(wires)
    settled(lambda: is_served(apart))
    # What they had is given back.
    settled(lambda: apart.memory() - before < GROWTH)


# Floods


def flood_of_calls(token):
    """Calls that are reset as they begin, each after the server saw it."""
    end = struct.pack(">I", h2.CANCEL)
    block = h2.fields(h2.asked(h2.STAYS, token))
    for stream in range(1, 40_001, 2):
        yield h2.frame(h2.HEADERS, h2.END_HEADERS, stream, block) + h2.frame(h2.RST_STREAM, 0, stream, end)


def begun(token, path=FLIGHT + "DoPut"):
    """A call whose messages are to come."""
    return h2.frame(h2.HEADERS, h2.END_HEADERS, 1, h2.fields(h2.asked(path, token)))


#: What is sent first, what is sent 50,000 times (or the frames), and whether the server hangs up.
FLOODS = {
    "PING": (lambda token: b"", h2.frame(h2.PING, 0, 0, b"12345678"), None),
    "answers to no PING": (lambda token: b"", h2.frame(h2.PING, h2.ACK, 0, b"12345678"), None),
    "SETTINGS": (lambda token: b"", h2.frame(h2.SETTINGS, 0, 0, b"\0\3\0\0\0\1"), None),
    "empty SETTINGS": (lambda token: b"", h2.frame(h2.SETTINGS, 0, 0), None),
    "PRIORITY": (lambda token: b"", h2.frame(2, 0, 1, b"\0\0\0\0\1"), None),
    "frames that nobody knows": (lambda token: b"", h2.frame(0x77, 0, 0, b"x" * 10), None),
    "WINDOW_UPDATE": (lambda token: b"", h2.frame(h2.WINDOW_UPDATE, 0, 0, b"\0\0\0\1"), None),
    "WINDOW_UPDATE of nothing": (lambda token: b"", h2.frame(h2.WINDOW_UPDATE, 0, 0, b"\0\0\0\0"), True),
    "WINDOW_UPDATE of all there is": (lambda token: b"", h2.frame(h2.WINDOW_UPDATE, 0, 0, b"\x7f\xff\xff\xff"), True),
    "WINDOW_UPDATE of a call": (begun, h2.frame(h2.WINDOW_UPDATE, 0, 1, b"\0\0\0\1"), None),
    "empty CONTINUATION": (
        lambda token: h2.frame(h2.HEADERS, 0, 1, h2.fields(h2.asked(h2.STAYS, token))),
        h2.frame(h2.CONTINUATION, 0, 1),
        True,
    ),
    "empty DATA": (begun, h2.frame(h2.DATA, 0, 1), True),
    "DATA of a byte": (begun, h2.frame(h2.DATA, 0, 1, b"\0"), None),
    "padding": (begun, h2.frame(h2.DATA, 8, 1, b"\xc8" + b"\0" * 200), None),
    "RST_STREAM of no call": (lambda token: b"", h2.frame(h2.RST_STREAM, 0, 1, b"\0\0\0\x08"), True),
    "calls that are reset": (lambda token: b"", flood_of_calls, True),
}


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_leaves_others_served_and_memory_bounded(apart, name):
    first, frames, hangs_up = FLOODS[name]
    before = apart.memory()
    with h2.Wire(apart) as wire:
        wire.send(first(apart.token))
        parts = frames(apart.token) if callable(frames) else [frames * 100] * 500
        parts = b"".join(parts)
        sent = threading.Thread(target=pour, args=(wire, parts))
        sent.start()
        assert is_served(apart)
        sent.join(2 * SLACK)
        assert is_served(apart)
        assert apart.memory() - before < GROWTH
        if hangs_up:
            assert wire.hung_up(SLACK)
        elif not wire.gone and not sent.is_alive():
            # It is listened to, or it is hung up on: it does not wait for ever.
            assert wire.lives() or wire.hung_up(SLACK)
    assert is_served(apart)


def pour(wire, frames):
    """Sends for some seconds at most, and reads nothing."""
    until = time.monotonic() + 2
    view = memoryview(frames)
    wire.socket.settimeout(1)
    while view and time.monotonic() < until:
        try:
            view = view[wire.socket.send(view[: 1 << 16]) :]
        except TimeoutError:
            # The server reads no more before what it has said is read.
            wire.more(0.1)
            wire.socket.settimeout(1)
        except OSError:
            return


# Clients that are stopped


def follows(srv, count):
    """How long it takes until so many messages of a table that moves are there."""
    begin = time.monotonic()
    with contextlib.closing(opened(srv)) as channel:
        call = channel.stream_stream(FLIGHT + "DoExchange")
        stream = call(
            iter([h2.subscribed(b"s/live")]), metadata=[("authorization", f"Bearer {srv.token}")], timeout=4 * SLACK
        )
        for _ in zip(range(count), stream, strict=False):
            pass
        stream.cancel()
    return time.monotonic() - begin


@pytest.mark.parametrize("method", ["DoExchange", "DoGet"])
def test_a_client_that_is_stopped_holds_nobody_up(apart, method):
    reader = Reader(apart, method)
    try:
        assert reader.first == "0\n"
        reader.pause()
        before = apart.memory()
        # A second a message is what a follower asks for that says nothing of it.
        assert follows(apart, 3) < SLACK
        assert is_served(apart)
        assert apart.memory() - before < GROWTH
        reader.goes_on()
        if method == "DoGet":
            assert reader.last() == "done"
        else:
            assert reader.process.stdout.readline().strip().isdigit()
    finally:
        reader.end()
    assert is_served(apart)


# Uploads that are broken off

SCHEMA = pa.schema([("x", pa.int64())])
ROWS = 100_000


def encoded():
    """The header and the body of a batch."""
    batch = pa.RecordBatch.from_pydict({"x": pa.array(range(ROWS), pa.int64())}, schema=SCHEMA)
    whole = batch.serialize().to_pybytes()
    (size,) = struct.unpack("<i", whole[4:8])
    return whole[8 : 8 + size], whole[8 + size :]


HEADER, BODY = encoded()
DESCRIBED = SCHEMA.serialize().to_pybytes()[8:]


def before_schema(path):
    return h2.message(h2.data(path))


def with_schema(path):
    return h2.message(h2.data(path, DESCRIBED))


def with_rows(path):
    return with_schema(path) + h2.message(h2.data(header=HEADER, body=BODY))


#: How far an upload came: its bytes, and how many rows it has if it ends well there; None if it cannot.
SO_FAR = {
    "nothing": (lambda path: b"", None),
    "a descriptor": (before_schema, None),
    "half a schema": (lambda path: with_schema(path)[:-20], None),
    "a schema": (with_schema, 0),
    "a batch": (with_rows, ROWS),
    "half a batch": (lambda path: with_rows(path) + h2.message(h2.data(header=HEADER, body=BODY))[:-1000], None),
    "two batches": (lambda path: with_rows(path) + h2.message(h2.data(header=HEADER, body=BODY)), 2 * ROWS),
}
ENDS = ["half-closed", "cancelled", "hung up", "gone"]


def sends(wire, path, token, body, end):
    """An upload as far as it comes, and its end."""
    wire.agree()
    wire.send(h2.frame(h2.HEADERS, h2.END_HEADERS, 1, h2.fields(h2.asked(path, token))))
    for at in range(0, len(body), 1 << 14):
        wire.send(h2.frame(h2.DATA, 0, 1, body[at : at + (1 << 14)]))
    # What came is taken in before the end comes.
    assert wire.lives()
    if end == "half-closed":
        wire.send(h2.frame(h2.DATA, h2.END_STREAM, 1))
        assert wire.ended(1) is not None
    elif end == "cancelled":
        wire.send(h2.frame(h2.RST_STREAM, 0, 1, struct.pack(">I", h2.CANCEL)))
        assert wire.lives()
    elif end == "hung up":
        wire.send(h2.frame(h2.GOAWAY, 0, 0, b"\0" * 8))
        wire.close()
    else:
        # The other side hears of it by a reset.
        wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        wire.close()


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("so_far", SO_FAR)
def test_an_upload_that_is_broken_off_is_no_half_table(srv, ann, so_far, end):
    body, rows = SO_FAR[so_far]
    rows = rows if end == "half-closed" else None
    read = b"\x0a\x05e\1\0\0\0"
    for path, is_there in [(("export", "1"), None), (("scope", "half"), lambda: "half" in srv.tables)]:
        waiting = ann.begins(FLIGHT + "DoGet", read)
        with h2.Wire(srv) as wire:
            sends(wire, FLIGHT + "DoPut", ann.token, body(path), end)
        if is_there is not None:
            assert is_there() == (rows is not None)
            if rows is not None:
                assert len(srv.tables["half"]) == rows
                del srv.tables["half"]
            # The name is free.
            assert ann.code(FLIGHT + "DoPut", h2.data(path, DESCRIBED)) == ("OK", "")
            del srv.tables["half"]
        elif rows is not None:
            assert sum(len(message) for message in waiting) > 8 * rows
        elif so_far in {"nothing", "half a schema"}:
            # Nobody said which number it is.
            waiting.cancel()
            assert ann.code(FLIGHT + "DoPut", h2.data(path, DESCRIBED)) == ("OK", "")
        else:
            with pytest.raises(grpc.RpcError) as told:
                list(waiting)
            assert told.value.code() == grpc.StatusCode.FAILED_PRECONDITION
            assert "DEPENDENCY_FAILED" in told.value.details()
        waiting.cancel()
    assert is_served(srv)


def test_uploads_that_are_broken_off_give_back_what_they_took(srv, ann):
    most = srv.limits["login_memory"]
    for at in range(3 * most // len(BODY) // 3 + 1):
        with h2.Wire(srv) as wire:
            body = with_rows(("export", str(at + 1))) + h2.message(h2.data(header=HEADER, body=BODY)) * 2
            sends(wire, FLIGHT + "DoPut", ann.token, body, ENDS[1 + at % 3])

    def all_of_it():
        numbers = next(NUMBERS)
        sizes = [most // 2, most - most // 2]
        messages = [h2.data(("export", str(numbers)), DESCRIBED), *(h2.data(body=b"\0" * size) for size in sizes)]
        done = ann.code(FLIGHT + "DoPut", *messages)
        assert done[0] in {"OK", "RESOURCE_EXHAUSTED"}
        return done[0] == "OK"

    settled(all_of_it)


NUMBERS = iter(range(10_000, 10_000_000))
#: A number that nothing gets.
NOTHING = b"e\xff\xff\xff\x7f"


# Calls that are cancelled as they begin


def test_no_call_has_a_client_that_alone_sends_much():
    """So three shapes are all; an upload is that of both, whose client sends more."""
    from test_logins_apart import METHODS

    assert [each.name for each in METHODS if each.client_streaming and not each.server_streaming] == []


def ticket(number):
    return b"e" + struct.pack("<i", number)


def waiting_view(result, source=NOTHING):
    return table_pb2.HeadOrTailRequest(
        result_id={"ticket": ticket(result)}, source_id={"ticket": {"ticket": source}}, num_rows=1
    ).SerializeToString()


def connects(source):
    return object_pb2.StreamRequest(connect={"source_id": {"ticket": {"ticket": source}}}).SerializeToString()


def cancelled(srv, token, path, given, count, *, each=90, at_once=False):
    """Begins so many calls of one message each, or of none, and cancels them: at once, or when the server has seen them."""
    # Who sends more may yet do so.
    ends = not path.endswith(("Stream", "DoExchange", "DoPut", "Handshake"))
    streams = range(1, 2 * each, 2)
    calls = b"".join(h2.call(stream, path, token, given, ends=ends) for stream in streams)
    resets = b"".join(h2.frame(h2.RST_STREAM, 0, stream, struct.pack(">I", h2.CANCEL)) for stream in streams)
    done, until = 0, time.monotonic() + 2 * SLACK
    while done < count:
        assert time.monotonic() < until
        with h2.Wire(srv) as wire:
            wire.send(calls)
            if not at_once:
                wire.lives()
                time.sleep(0.01)
            wire.send(resets)
            # A server that is behind sees more resets at once than it takes, and hangs up: those do not count.
            done += each if wire.lives() else 0


def test_a_call_of_one_answer_that_is_cancelled_is_over(srv, ann):
    """Whoever waits for its result is told."""
    numbers = range(1, 181)
    end = struct.pack(">I", h2.CANCEL)
    with h2.Wire(srv) as wire:
        for part in (numbers[:90], numbers[90:]):
            wire.send(b"".join(h2.call(2 * n - 1, TABLES + "Head", ann.token, waiting_view(n)) for n in part))
            assert wire.lives()
            settled(lambda last=part[-1]: is_taken(ann, last))
            wire.send(b"".join(h2.frame(h2.RST_STREAM, 0, 2 * n - 1, end) for n in part))
            assert wire.lives()
    for number in (1, 90, 180):
        told = ann.code(FLIGHT + "DoGet", b"\x0a\x05" + ticket(number), timeout=SLACK)
        assert told == ("FAILED_PRECONDITION", "Export in state DEPENDENCY_FAILED")


def is_taken(login, number):
    """Whether a session has this number."""
    stream = login.begins(SESSION + "ExportNotifications", b"")
    for answer in stream:
        told = session_pb2.ExportNotification.FromString(answer)
        if told.ticket.ticket == ticket(number):
            stream.cancel()
            return True
        if told.context == "run is complete":
            stream.cancel()
            return False
    return False


def batch_of_nothing():
    """An operation that waits, and whose result gets no number: nobody ever asks for it."""
    head = table_pb2.HeadOrTailRequest(source_id={"ticket": {"ticket": NOTHING}}, num_rows=1)
    return table_pb2.BatchTableRequest(ops=[{"head": head}]).SerializeToString()


STREAMS = {
    "GetExportedTableCreationResponse of nothing yet": (
        TABLES + "GetExportedTableCreationResponse",
        b"\x0a\x05" + NOTHING,
    ),
    "FetchObject of nothing yet": (OBJECTS + "FetchObject", connects(NOTHING)[2:]),
    "SeekRow of nothing yet": (
        TABLES + "SeekRow",
        table_pb2.SeekRowRequest(source_id={"ticket": NOTHING}, column_name="n").SerializeToString(),
    ),
    "TerminationNotification": (SESSION + "TerminationNotification", b""),
    "Batch of nothing yet": (TABLES + "Batch", batch_of_nothing()),
    "DoGet": (FLIGHT + "DoGet", b"\x0a\x05s/big"),
    "DoGet of nothing yet": (FLIGHT + "DoGet", b"\x0a\x05" + NOTHING),
    "ListFlights": (FLIGHT + "ListFlights", b""),
    "ExportNotifications": (SESSION + "ExportNotifications", b""),
    "ListFields": (APPLICATIONS + "ListFields", b""),
    "ExportedTableUpdates": (TABLES + "ExportedTableUpdates", b""),
    "SubscribeToLogs": (CONSOLES + "SubscribeToLogs", b""),
    "DoExchange": (FLIGHT + "DoExchange", h2.subscribed(b"s/t")),
    "DoExchange of nothing yet": (FLIGHT + "DoExchange", h2.subscribed(NOTHING)),
    "DoExchange of rows of nothing yet": (FLIGHT + "DoExchange", h2.subscribed(NOTHING, snapshot=True)),
    "DoExchange without a word": (FLIGHT + "DoExchange", None),
    "DoPut without a word": (FLIGHT + "DoPut", None),
    "Handshake without a word": (FLIGHT + "Handshake", None),
    "MessageStream": (OBJECTS + "MessageStream", connects(b"s/parts")),
    "MessageStream of nothing yet": (OBJECTS + "MessageStream", connects(NOTHING)),
    "MessageStream without a word": (OBJECTS + "MessageStream", None),
    "AutoCompleteStream": (CONSOLES + "AutoCompleteStream", b"\x30\x01"),
}
LET_GO = 1800
#: Bytes of a call that stay, on average, if nothing of it does; a call that is not let go has three times as many.
STAYS = 4000


@pytest.mark.parametrize("name", STREAMS)
def test_a_call_that_is_cancelled_leaves_nothing(apart, name):
    """What stays of each call stays many times, which memory shows."""
    path, given = STREAMS[name]
    # What the first of them need is there from then on.
    cancelled(apart, apart.token, path, given, 450)
    before = apart.memory()
    cancelled(apart, apart.token, path, given, LET_GO)
    cancelled(apart, apart.token, path, given, 180, each=18, at_once=True)
    assert apart.memory() - before < STAYS * LET_GO
    assert is_served(apart)


#: Settings of a client that takes no bytes of answers yet.
TAKES_NOTHING = h2.PREFACE + h2.frame(h2.SETTINGS, 0, 0, b"\0\4\0\0\0\0")


@pytest.mark.parametrize("name", ["FetchObject", "MessageStream"])
def test_a_number_that_nobody_was_told_is_let_go(srv, ann, name):
    given = connects(b"s/parts")
    given = given[2:] if name == "FetchObject" else given
    before = srv.counters["exports"]
    with h2.Wire(srv, TAKES_NOTHING) as wire:
        wire.send(b"".join(h2.call(2 * n + 1, OBJECTS + name, ann.token, given) for n in range(20)))
        settled(lambda: srv.counters["exports"] == before + 20)
        wire.send(b"".join(h2.frame(h2.RST_STREAM, 0, 2 * n + 1, struct.pack(">I", h2.CANCEL)) for n in range(10)))
        settled(lambda: srv.counters["exports"] == before + 10)
        assert wire.lives()
    # Those that hang up say nothing more.
    settled(lambda: srv.counters["exports"] == before)


def test_a_number_that_was_told_stays_until_it_is_released(srv, ann):
    before = srv.counters["exports"]
    stream = ann.begins(OBJECTS + "MessageStream", connects(b"s/parts"))
    (reference,) = object_pb2.StreamResponse.FromString(next(stream)).data.exported_references
    stream.cancel()
    (fetched,) = ann.asks(OBJECTS + "FetchObject", connects(b"s/parts")[2:])
    (other,) = object_pb2.FetchObjectResponse.FromString(fetched).typed_export_ids
    assert srv.counters["exports"] == before + 2
    for told in (reference, other):
        assert ann.code(FLIGHT + "DoGet", b"\x0a\x05" + told.ticket.ticket) == ("OK", "")
        ann.asks(SESSION + "Release", session_pb2.ReleaseRequest(id=told.ticket).SerializeToString())
    assert srv.counters["exports"] == before


@pytest.mark.parametrize("name", [name for name in STREAMS if "DoExchange" in name and "rows" not in name])
def test_a_follower_that_is_cancelled_gives_its_place_back(srv, ann, name):
    path, given = STREAMS[name]
    most = srv.limits["login_subscriptions"]
    cancelled(srv, ann.token, path, given, most + 90)

    def follows():
        stream = ann.begins(path, h2.subscribed(b"s/t"))
        try:
            return bool(next(stream))
        except grpc.RpcError as refused:
            if refused.code() != grpc.StatusCode.RESOURCE_EXHAUSTED:
                raise
            return False
        finally:
            stream.cancel()

    settled(follows)


def test_a_batch_that_is_cancelled_is_made_all_the_same_and_ends_with_its_session(srv):
    """All numbers of a batch are taken; what is asked for by them is there, or ends with the session."""
    login = Login(srv)
    ops = [{"head": table_pb2.HeadOrTailRequest.FromString(waiting_view(1, b"s/t"))}]
    ops += [{"head": table_pb2.HeadOrTailRequest.FromString(waiting_view(2))}]
    stream = login.begins(TABLES + "Batch", table_pb2.BatchTableRequest(ops=ops).SerializeToString())
    assert next(stream)
    stream.cancel()
    assert login.code(FLIGHT + "DoGet", b"\x0a\x05" + ticket(1), timeout=SLACK) == ("OK", "")
    waiting = login.begins(FLIGHT + "DoGet", b"\x0a\x05" + ticket(2))
    login.close()
    with pytest.raises(grpc.RpcError):
        list(waiting)


# Many followers

#: Bytes of a follower of a thousand rows that does not read.
FOLLOWS = 256 << 10


def test_a_thousand_followers_that_come_and_come_again_leave_others_served(apart):
    if h2.files(4000) < 3000:
        pytest.fail("this machine gives too few files: ulimit -n 4000")
    asks = h2.message(h2.subscribed(b"s/live"))
    begun = h2.frame(h2.HEADERS, h2.END_HEADERS, 1, h2.fields(h2.asked(FLIGHT + "DoExchange", apart.token)))
    begin = h2.PREFACE + h2.SETTINGS_SENT + begun + h2.frame(h2.DATA, 0, 1, asks)
    before = apart.memory()
    for _ in range(3):
        with contextlib.ExitStack() as held:
            wires = [held.enter_context(h2.Wire(apart, begin)) for _ in range(1000)]
            assert is_served(apart)
            # Each has its first rows.
            until = time.monotonic() + 4 * SLACK
            for wire in wires:
                told = wire.until(lambda each: each.kind == h2.DATA and each.stream == 1, until - time.monotonic())
                assert told is not None
            assert follows(apart, 3) < SLACK
            assert apart.memory() - before < FOLLOWS * len(wires)
        # All hang up at once, and the next come at once.
        assert is_served(apart)
    settled(lambda: apart.memory() - before < GROWTH, 2 * SLACK)


# What began first


def slower(trickle, wanted):
    """Those that were not hung up on within their seconds, and when they were."""
    until = trickle.began + max(wanted.values()) + SLACK
    while time.monotonic() < until and wanted.keys() - trickle.ended.keys():
        time.sleep(0.1)
    ended = {name: trickle.ended.get(name) for name in wanted}
    return {name: at for name, at in ended.items() if at is None or at > wanted[name] + SLACK}


def times(srv):
    """Seconds in which a client begins, and in which it shows that it lives."""
    limits = srv.limits
    return limits["handshake"] / 1000, (limits["keepalive_interval"] + limits["keepalive_timeout"]) / 1000


def test_who_is_too_slow_or_silent_is_hung_up_on(srv, trickle):
    quick, silent = times(srv)
    wanted = {
        "a preface": quick,
        "an older form": quick,
        "an older form, half of it at once": quick,
        "a greeting of TLS": quick,
        "nothing after an answer": quick,
        "settings": silent,
        "headers": silent,
        "a message": silent,
    }
    assert slower(trickle, wanted) == {}


def test_a_stranger_who_does_not_say_who_it_is_keeps_no_place(srv, trickle):
    """All that have not logged in could otherwise take all places there are."""
    _, silent = times(srv)
    names = ["a stranger's handshake", "a stranger's handshake, in an older form"]
    assert slower(trickle, dict.fromkeys(names, silent)) == {}


def test_a_follower_that_gives_no_sign_of_life_is_let_go(srv, apart, asleep):
    reader, began = asleep
    _, silent = times(srv)
    time.sleep(max(0, began + silent + 2 - time.monotonic()))
    reader.goes_on()
    assert reader.last() == "UNAVAILABLE"
    assert is_served(apart)
