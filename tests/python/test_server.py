"""The server, asked by a client that is not ours: ``pyarrow.flight``."""

import concurrent.futures
import decimal
import json
import re
import subprocess
import sys
import threading
import time

import pyarrow as pa
import pyarrow.flight as fl
import pytest

import tickframe as tf
from http2_by_hand import asking

ROWS = pa.table(
    {
        "n": pa.array([1, None, 3], pa.int64()),
        "s": pa.array(["a", None, "c"]),
        "f": pa.array([1.5, 2.5, None]),
        "t": pa.array([1, 2, None], pa.timestamp("us", "Europe/Berlin")),
        "b": pa.array([True, None, False]),
        "l": pa.array([[1], None, []], pa.list_(pa.int32())),
        "d": pa.array(["x", "y", "x"]).dictionary_encode(),
    }
)


@pytest.fixture
def srv():
    with tf.serve({"trades": tf.table(ROWS)}) as server:
        yield server


def headers(token):
    return fl.FlightCallOptions(headers=[(b"authorization", f"Bearer {token}".encode())], timeout=20)


@pytest.fixture
def client(srv):
    with fl.connect(srv.url) as client:
        yield client


def upload(client, srv, name, table):
    writer, _ = client.do_put(fl.FlightDescriptor.for_path(*name.split("/")), table.schema, headers(srv.token))
    with writer:
        writer.write_table(table, 2)


def drain(reader):
    while True:
        reader.read_chunk()


def test_tables_come_out_as_they_went_in(srv, client):
    info = client.get_flight_info(fl.FlightDescriptor.for_path("trades"), headers(srv.token))
    assert info.total_records == 3
    assert info.schema.equals(ROWS.schema)
    assert client.do_get(info.endpoints[0].ticket, headers(srv.token)).read_all().equals(ROWS)
    assert client.do_get(info.endpoints[0].ticket, headers(srv.token)).read_all().to_pylist()[0]["s"] == "a"
    assert [found.descriptor.path for found in client.list_flights(b"", headers(srv.token))] == [[b"scope", b"trades"]]


def test_a_wrong_token_opens_nothing(srv, client):
    for options in [None, headers("wrong"), headers("")]:
        with pytest.raises((OSError, fl.FlightUnauthenticatedError), match=r"[Uu]nauthenticated"):
            client.get_schema(fl.FlightDescriptor.for_path("trades"), options)
    pair = client.authenticate_basic_token("me", srv.token)
    options = fl.FlightCallOptions(headers=[pair], timeout=20)
    assert client.get_schema(fl.FlightDescriptor.for_path("trades"), options).schema.equals(ROWS.schema)


def test_what_a_client_uploads_is_a_table(srv, client):
    writer, reader = client.do_put(fl.FlightDescriptor.for_path("mine"), ROWS.schema, headers(srv.token))
    with writer:
        assert reader.read() is not None
        for batch in ROWS.to_batches():
            writer.write_with_metadata(batch, b"first")
            assert reader.read().to_pybytes() == b"first"
        writer.done_writing()
        assert reader.read() is None
    assert srv.tables["mine"].to_dicts()[0]["n"] == 1
    with pytest.raises(pa.ArrowException, match="there already"):
        upload(client, srv, "mine", ROWS)


def test_many_rows_and_live_rows(srv, client):
    graph = tf.Graph()
    live = tf.append_table({"n": int, "s": str}, graph=graph)
    srv.tables["live"] = live
    assert client.do_get(fl.Ticket(b"s/live"), headers(srv.token)).read_all().num_rows == 0
    live.append({"n": list(range(600_000)), "s": [str(i) for i in range(600_000)]})
    graph.step()
    got = client.do_get(fl.Ticket(b"s/live"), headers(srv.token)).read_all()
    assert got["n"].to_pylist() == list(range(600_000))
    assert got["s"][599_999].as_py() == "599999"


def test_a_resolver_gives_tables_by_name():
    def find(name):
        return tf.table({"x": [1]}) if name == "one" else None

    with tf.serve(resolvers={"db/": find}) as srv, fl.connect(srv.url) as client:
        assert client.do_get(fl.Ticket(b"db/one"), headers(srv.token)).read_all().to_pydict() == {"x": [1]}
        with pytest.raises(pa.ArrowKeyError):
            client.do_get(fl.Ticket(b"db/two"), headers(srv.token)).read_all()


def test_a_name_is_a_field_of_the_application_of_the_scope():
    with tf.serve({"t": tf.table({"x": [1]})}) as srv, fl.connect(srv.url) as client:
        told = client.get_flight_info(fl.FlightDescriptor.for_path("app", "scope", "field", "t"), headers(srv.token))
        assert told.endpoints[0].ticket == fl.Ticket(b"a/scope/f/t")
        assert client.do_get(told.endpoints[0].ticket, headers(srv.token)).read_all().to_pydict() == {"x": [1]}
        for wrong in [b"a/scope/f/u", b"a/other/f/t"]:
            with pytest.raises(pa.ArrowKeyError):
                client.do_get(fl.Ticket(wrong), headers(srv.token)).read_all()


def test_what_was_said_of_a_table_is_told(g):
    fed = tf.keyed_table({"k": str, "v": int}, key="k", graph=g).with_attributes({"unit": "m", "level": 3, "hot": True})
    with tf.serve({"t": fed}, graph=g) as srv, fl.connect(srv.url) as client:
        told = client.get_schema(fl.FlightDescriptor.for_path("t"), headers(srv.token)).schema.metadata
    given = {"unit": ("m", "String"), "level": ("3", "Long"), "hot": ("true", "Boolean")}
    for name, (text, kind) in given.items():
        assert told[f"deephaven:attribute.{name}".encode()] == text.encode()
        assert told[f"deephaven:attribute_type.{name}".encode()] == f"java.lang.{kind}".encode()


def follow(srv, seen):
    graph = tf.Graph()
    with tf.connect(srv.url, token=srv.token, graph=graph) as con:
        table, end = con["slow"], time.monotonic() + 20
        while table.height < 3 and time.monotonic() < end:
            time.sleep(0.01)
            graph.step()
        seen.append(table.height)


def test_reading_waits_for_no_cycle():
    graph, held, holding = tf.Graph(period=0.01), threading.Event(), threading.Event()

    def hold(x: int) -> int:
        if x == 99:
            holding.set()
            assert held.wait(60)
        return x

    graph.start()
    source = tf.append_table({"x": int}, graph=graph)
    slow = source.with_columns(y=tf.udf(hold)(tf.col("x")))
    source.append({"x": [1, 2]}).wait(10)
    try:
        with tf.serve({"source": source, "slow": slow, "still": tf.table({"a": [5]})}, graph=graph) as srv:
            source.append({"x": [99]})
            assert holding.wait(10)
            seen = []
            followers = [threading.Thread(target=follow, args=(srv, seen)) for _ in range(8)]
            for follower in followers:
                follower.start()
            time.sleep(0.5)
            with fl.connect(srv.url) as client:
                got = {
                    name: client.do_get(fl.Ticket(f"s/{name}".encode()), headers(srv.token)).read_all()
                    for name in srv.tables
                }
            assert not held.is_set()
            assert {name: table.num_rows for name, table in got.items()} == {"slow": 2, "source": 2, "still": 1}
            held.set()
            for follower in followers:
                follower.join(30)
            assert seen == [3] * 8
    finally:
        held.set()
        graph.stop()


def test_what_a_server_counts_is_told_to_each_login_of_itself(running):
    live = tf.append_table({"x": int}, graph=running)
    live.append({"x": [1]}).wait(10)
    with tf.serve({"t": live}, token={"ann": None, "bob": None}, graph=running) as srv, fl.connect(srv.url) as client:
        ann, bob = (headers(srv.tokens[name]) for name in ("ann", "bob"))

        def told(options):
            (result,) = client.do_action(fl.Action("counters", b""), options)
            return json.loads(result.body.to_pybytes())

        assert [action.type for action in client.list_actions(ann)] == ["counters"]
        writer, _ = client.do_put(fl.FlightDescriptor.for_path("up"), pa.schema([("y", pa.int64())]), bob)
        with writer:
            writer.write_table(pa.table({"y": list(range(1000))}))
        with tf.connect(srv.url, srv.tokens["ann"], graph=tf.Graph()) as con:
            held = con["t"]
            assert held.columns == ["x"]
            counted = told(ann)
            assert (counted["subscriptions"], counted["memory"]) == (1, 0)
            assert told(bob)["memory"] >= 8000
            assert told(bob)["subscriptions"] == 0
            every = srv.counters
            assert (every["subscriptions"], every["memory"]) == (1, told(bob)["memory"])
            assert every["connections"] >= 2
        assert counted["nodes"] >= 1
        assert counted["cycles"] >= 1
        assert (counted["failed_nodes"], counted["last_cycle_ns"] > 0) == (0, True)
        del srv.tables["up"]
        end = time.monotonic() + 20
        while srv.counters["subscriptions"] or srv.counters["memory"]:
            assert time.monotonic() < end
            time.sleep(0.01)
        with pytest.raises(pa.ArrowNotImplementedError, match="there is no action 'other'"):
            list(client.do_action(fl.Action("other", b""), ann))
    assert srv.counters == {}


def test_other_addresses_want_to_be_asked_for():
    with pytest.raises(tf.errors.InvalidOperationError, match="wants tls="):
        tf.serve(host="0.0.0.0")
    with pytest.raises(tf.errors.InvalidOperationError, match="token=False"):
        tf.serve(host="0.0.0.0", token=False)


def scalar_columns():
    yield from ((str(kind), pa.array([1, None, 3], kind)) for kind in [
        pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(),
        pa.date32(), pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"),
        pa.duration("s"), pa.duration("ms"), pa.duration("us"), pa.duration("ns"),
        pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us"), pa.timestamp("ns", "UTC"),
    ])  # fmt: skip
    yield "float32", pa.array([1.5, None, float("-inf")], pa.float32())
    yield "float64", pa.array([1.5, None, float("inf")], pa.float64())
    yield "bool", pa.array([True, None, False])
    yield "decimal", pa.array([decimal.Decimal("1.50"), None, decimal.Decimal("-3.25")], pa.decimal128(10, 2))
    for kind in [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view()]:
        yield str(kind), pa.array(["", None, "a text that is longer than a view holds"], pa.string()).cast(kind)


def nested_columns():
    yield "dictionary", pa.array(["x", None, "x"]).dictionary_encode()
    yield "list", pa.array([[1, None], None, []], pa.list_(pa.int64()))
    yield "large_list", pa.array([["a"], None, []], pa.large_list(pa.string()))
    yield "fixed_list", pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int32(), 2))
    yield "struct", pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}])
    yield "map", pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int64()))


COLUMNS = dict([*scalar_columns(), *nested_columns()])


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_of_each_type_goes_both_ways(srv, client, name):
    sent = pa.table({"c": COLUMNS[name]})
    srv.tables["out"] = tf.table(sent)
    assert client.do_get(fl.Ticket(b"s/out"), headers(srv.token)).read_all().equals(sent)
    upload(client, srv, "in", sent)
    assert srv.tables["in"].to_arrow().equals(tf.table(sent).to_arrow())
    assert client.do_get(fl.Ticket(b"s/in"), headers(srv.token)).read_all().equals(sent)


def test_what_is_not_there_is_told_by_name(srv, client):
    wrong = {
        b"": "no ticket supplied",
        b"s/": "the name is empty",
        b"s/nothing": "variable 'nothing' not found",
        b"e\1": "exactly 5 bytes",
        b"e\0\0\0\0": "export 0 is none",
        b"hnothing": "no such shared ticket",
        b"a/app/f/field": "no application 'app' with a field 'field'",
        b"a/app": "expected a/<application>/f/<field>",
        b"nothing": "no resolver for route '110'",
        b"\xff\xfe": "not UTF-8",
    }
    for ticket, words in wrong.items():
        with pytest.raises(pa.ArrowException, match=re.escape(words)):
            client.do_get(fl.Ticket(ticket), headers(srv.token)).read_all()
    paths = {
        (): "path is empty",
        ("export", "x"): "whole number",
        ("a", "b", "c"): "its ticket would name something else",
        ("x", "b", "c"): "no resolver",
    }
    for path, words in paths.items():
        with pytest.raises(pa.ArrowException, match=words):
            client.get_flight_info(fl.FlightDescriptor.for_path(*path), headers(srv.token))
    with pytest.raises(pa.ArrowException, match="must be a path"):
        client.get_flight_info(fl.FlightDescriptor.for_command(b"x"), headers(srv.token))
    with pytest.raises(pa.ArrowException, match="there is no action 'x'"):
        list(client.do_action(fl.Action("x", b""), headers(srv.token)))
    with pytest.raises(pa.ArrowException, match="criteria are not known"):
        list(client.list_flights(b"x", headers(srv.token)))


def test_an_upload_that_cannot_be_a_table_leaves_nothing(srv, client):
    twice = pa.table([pa.array([1]), pa.array([2])], names=["x", "x"])
    with pytest.raises(pa.ArrowException, match="x"):
        upload(client, srv, "twice", twice)
    with pytest.raises(pa.ArrowException, match="name a table of the scope"):
        upload(client, srv, "app/a/field/f", ROWS)
    assert list(srv.tables) == ["trades"]


def test_readers_in_many_threads_see_whole_steps_while_the_table_moves(srv):
    graph = tf.Graph()
    live = tf.append_table({"n": int, "step": int}, graph=graph)
    srv.tables["live"] = live
    wrong, ready = [], threading.Event()

    def read():
        with fl.connect(srv.url) as client:
            while True:
                last = ready.is_set()
                got = client.do_get(fl.Ticket(b"s/live"), headers(srv.token)).read_all()
                if got["n"].to_pylist() != list(range(got.num_rows)) or got.num_rows % 100:
                    wrong.append(got.num_rows)
                if last:
                    assert got.num_rows == 5000
                    return

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        readers = [pool.submit(read) for _ in range(8)]
        try:
            for step in range(50):
                live.append({"n": list(range(step * 100, step * 100 + 100)), "step": [step] * 100})
                graph.step()
        finally:
            ready.set()
        for reader in readers:
            reader.result(timeout=60)
    assert wrong == []


BIG = 3_000_000


def test_a_client_that_dies_while_it_reads_is_forgotten(srv, client):
    srv.tables["big"] = tf.table({"n": pa.array(range(BIG))})
    code = (
        "import os, sys, pyarrow.flight as fl\n"
        "client = fl.connect(sys.argv[1])\n"
        "options = fl.FlightCallOptions(headers=[(b'authorization', b'Bearer ' + sys.argv[2].encode())])\n"
        "reader = client.do_get(fl.Ticket(b's/big'), options)\n"
        "reader.read_chunk()\n"
        "os._exit(7)\n"
    )
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", code, srv.url, srv.token], timeout=60, check=False)
        assert done.returncode == 7
    assert client.do_get(fl.Ticket(b"s/big"), headers(srv.token)).read_all().num_rows == BIG


def test_a_server_that_stops_ends_the_calls_that_run():
    srv = tf.serve({"big": tf.table({"n": pa.array(range(BIG))})})
    with fl.connect(srv.url) as client:
        reader = client.do_get(fl.Ticket(b"s/big"), headers(srv.token))
        assert reader.read_chunk().data.num_rows > 0
        began = time.monotonic()
        srv.stop()
        srv.stop()
        assert time.monotonic() - began < 10
        with pytest.raises((pa.ArrowException, OSError)):
            drain(reader)
        with pytest.raises((pa.ArrowException, OSError)):
            client.do_get(fl.Ticket(b"s/big"), headers(srv.token)).read_all()
    assert list(srv.tables) == []
    assert "stopped" in repr(srv)
    with pytest.raises(tf.errors.InvalidOperationError, match="'t' cannot be served: the server was stopped"):
        srv.tables["t"] = tf.table({"x": [1]})
    # The port is free again.
    port = int(srv.url.rsplit(":", 1)[1])
    tf.serve(port=port).stop()


def runs_alone(code):
    """A process of its own runs it to its end."""
    done = subprocess.run([sys.executable, "-c", code], timeout=60, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_no_thread_is_there_before_the_server_and_none_after():
    code = (
        "import threading, pathlib, tickframe as tf\n"
        "def threads(): return sorted(p.read_text().strip() for p in pathlib.Path('/proc/self/task').glob('*/comm'))\n"
        "tf.table({'x': [1]}).filter(tf.col('x') == 1).to_dicts()\n"
        "before = threads()\n"
        "assert not any('serve' in name for name in before), before\n"
        "srv = tf.serve()\n"
        "assert len(threads()) > len(before)\n"
        "srv.stop()\n"
        "assert threads() == before, (threads(), before)\n"
        "tf.serve({'x': tf.table({'x': [1]})})\n"
    )
    runs_alone(code)


def test_an_import_begins_no_thread_and_opens_no_socket():
    """No runtime either, which waits on descriptors of its own."""
    code = (
        "import os, pathlib, threading\n"
        "def threads(): return sorted(p.read_text().strip() for p in pathlib.Path('/proc/self/task').glob('*/comm'))\n"
        "def opened():\n"
        "    for name in os.listdir('/proc/self/fd'):\n"
        "        try: where = os.readlink(f'/proc/self/fd/{name}')\n"
        "        except OSError: continue\n"
        "        if where.startswith(('socket:', 'anon_inode:')): yield where.split(':')[0] + where.split(':')[1][:8]\n"
        "def state(): return len(threads()), threading.active_count(), sorted(opened())\n"
        "before = state()\n"
        "import tickframe as tf\n"
        "assert state() == before, (before, state(), threads())\n"
        "srv = tf.serve(token='a-token')\n"
        "serving = state()\n"
        "assert serving[0] > before[0] and len(serving[2]) > len(before[2]), serving\n"
        "con = tf.connect(srv.url, 'a-token', graph=tf.Graph())\n"
        "assert state()[0] > serving[0], (serving, state())\n"
        "con.close()\n"
        "srv.stop()\n"
        "assert state()[2] == before[2], (before, state())\n"
    )
    runs_alone(code)


def unions():
    kinds, offsets = pa.array([0, 1, 0], pa.int8()), pa.array([0, 0, 1], pa.int32())
    return {
        "dense": pa.UnionArray.from_dense(kinds, offsets, [pa.array([1, 2]), pa.array(["x"])]),
        "sparse": pa.UnionArray.from_sparse(kinds, [pa.array([1, 0, 2]), pa.array(["", "x", ""])]),
    }


@pytest.mark.parametrize("mode", ["dense", "sparse"])
@pytest.mark.parametrize("nested", [False, True], ids=["plain", "in lists"])
def test_a_union_is_carried_as_it_is(srv, client, mode, nested):
    """It has no operations of its own; rows that have one are filtered, sorted and sent like others."""
    cells = unions()[mode]
    if nested:
        cells = pa.ListArray.from_arrays(pa.array([0, 1, 1, 3], pa.int32()), cells)
    name = f"union {mode} {nested}"
    sent = pa.table({"n": [1, 2, 3], "u": cells})
    upload(client, srv, name, sent)
    got = client.do_get(fl.Ticket(f"s/{name}".encode()), headers(srv.token)).read_all()
    got.validate(full=True)
    assert (got.to_pylist(), got.schema.types) == (sent.to_pylist(), sent.schema.types)
    turned = srv.tables[name].filter(tf.col("n") > 1).sort("n", descending=True).to_arrow()
    assert turned["u"].to_pylist() == sent["u"].to_pylist()[:0:-1]
    graph = tf.Graph()
    fed = tf.append_table(sent.schema, graph=graph)
    fed.append(got)
    graph.step()
    assert fed.to_arrow()["u"].to_pylist() == sent["u"].to_pylist()
    # Barrage has no union: who follows the table is told which column it is.
    writer, reader = client.do_exchange(fl.FlightDescriptor.for_command(b"dphn"), headers(srv.token))
    writer.write_metadata(asking("subscription", f"s/{name}".encode()))
    for ends in (reader.read_chunk, writer.close):
        with pytest.raises(pa.ArrowInvalid, match='column "u": Barrage does not carry the type'):
            ends()


def test_a_child_that_ends_leaves_its_parents_server_alone(srv, client):
    # A fork of its own: this process has threads of other tests.
    code = (
        "import os, sys, tickframe as tf, pyarrow.flight as fl\n"
        "srv = tf.serve({'t': tf.table({'x': [1]})})\n"
        "if not os.fork():\n"
        "    srv.stop()\n"
        "    sys.exit(0)\n"
        "assert os.wait()[1] == 0\n"
        "options = fl.FlightCallOptions(headers=[(b'authorization', b'Bearer ' + srv.token.encode())], timeout=20)\n"
        "print(fl.connect(srv.url).do_get(fl.Ticket(b's/t'), options).read_all().num_rows)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], timeout=60, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr


def test_tables_come_and_go_by_name(srv, client):
    srv.tables["more"] = tf.table({"x": [1]})
    assert sorted(srv.tables) == ["more", "trades"]
    assert srv.tables["more"].to_dicts() == [{"x": 1}]
    srv.tables["more"] = tf.table({"x": [2]})
    assert client.do_get(fl.Ticket(b"s/more"), headers(srv.token)).read_all().to_pydict() == {"x": [2]}
    del srv.tables["more"]
    with pytest.raises(pa.ArrowKeyError):
        client.do_get(fl.Ticket(b"s/more"), headers(srv.token)).read_all()
    with pytest.raises(KeyError):
        del srv.tables["more"]
    with pytest.raises(KeyError):
        srv.tables[5]
    assert repr(srv.tables) == "{'trades'}"


def test_without_a_token_anybody_reads():
    with pytest.warns(UserWarning, match="every program on this machine"):
        srv = tf.serve({"t": tf.table({"x": [1]})}, token=False)
    with srv, fl.connect(srv.url) as client:
        assert srv.token is None
        for given in [None, headers("Anonymous"), fl.FlightCallOptions(headers=[(b"authorization", b"Anonymous")])]:
            assert client.do_get(fl.Ticket(b"s/t"), given).read_all().num_rows == 1


def test_the_limits_are_told_by_name(srv):
    assert srv.limits == {
        "connections": 2048,
        "streams": 100,
        "header_list": 16 << 10,
        "pending_resets": 20,
        "control_message": 16 << 20,
        "data_message": 64 << 20,
        "keepalive_interval": 20_000,
        "keepalive_timeout": 10_000,
        "handshake": 5_000,
        "request": 300_000,
        "unary": 300_000,
        "script": 3_600_000,
        "sessions": 4096,
        "session": 300_000,
        "codes": 64,
        "code": 60_000,
        "patience": 5_000,
        "hold": 300_000,
        "exports": 100_000,
        "upload": 16 << 30,
        "storage_file": 4_000_000,
        "storage_files": 10_000,
        "storage": 1 << 30,
        "login_sessions": 1024,
        "login_exports": 200_000,
        "login_subscriptions": 4096,
        "login_memory": srv.limits["login_memory"],
    }


@pytest.mark.parametrize("rows", [0, 2])
@pytest.mark.parametrize("at", [0, 1])
def test_a_type_that_is_none_is_refused_with_its_column(srv, rows, at):
    cells = {"n": pa.array([1, 2][:rows], pa.int64())}
    wrong = {"wrong": pa.array([decimal.Decimal("0.00000001")] * rows, pa.decimal128(5, 8))}
    table = pa.table(cells | wrong if at else wrong | cells)
    with fl.connect(srv.url) as client:
        writer, _ = client.do_put(fl.FlightDescriptor.for_path("up"), table.schema, headers(srv.token))
        with pytest.raises(pa.ArrowInvalid, match=r'column "wrong": Decimal128\(5, 8\) is no type'), writer:
            writer.write_table(table)
    assert "up" not in srv.tables


def with_code(client, code):
    return fl.FlightCallOptions(headers=[client.authenticate_basic_token("page", code)])


def test_a_code_lets_somebody_in_once():
    with tf.serve({"t": T}) as srv, fl.connect(srv.url) as client:
        code, other = srv.code(), srv.code()
        assert code != other
        assert srv.token not in code
        assert code not in repr(srv)
        options = with_code(client, code)
        assert client.do_get(fl.Ticket(b"s/t"), options).read_all().num_rows == len(T)
        with pytest.raises(fl.FlightUnauthenticatedError, match="this code lets nobody in: it was used, or is too old"):
            with_code(client, code)
        # The session goes on, and the other code is as it was.
        assert client.do_get(fl.Ticket(b"s/t"), options).read_all().num_rows == len(T)
        bearer = fl.FlightCallOptions(headers=[(b"authorization", b"Bearer " + other.encode())])
        assert client.do_get(fl.Ticket(b"s/t"), bearer).read_all().num_rows == len(T)
        with pytest.raises(fl.FlightUnauthenticatedError, match="this code lets nobody in"):
            client.do_get(fl.Ticket(b"s/t"), bearer).read_all()
        with pytest.raises(fl.FlightUnauthenticatedError, match="this code lets nobody in"):
            with_code(client, "once-" + "0" * 32)


def test_a_code_is_of_one_login_and_of_one_server():
    with tf.serve({}, token={"ann": None, "bob": None}) as srv, tf.serve({}) as another:
        with pytest.raises(tf.errors.InvalidOperationError, match='there is no login "eve"'):
            srv.code("eve")
        with pytest.raises(tf.errors.TypeMismatchError, match="a login is named by a string, not int"):
            srv.code(1)
        with fl.connect(another.url) as client, pytest.raises(fl.FlightUnauthenticatedError):
            with_code(client, srv.code("bob"))
        with fl.connect(srv.url) as client:
            held = with_code(client, srv.code("bob"))
            counters = json.loads(next(iter(client.do_action("counters", held))).body.to_pybytes())
            assert counters["sessions"] == 1
    with pytest.raises(tf.errors.InvalidOperationError, match="the server was stopped"):
        srv.code()
    with pytest.warns(UserWarning, match="token=False"):
        asks_nobody = tf.serve({}, token=False)
    with asks_nobody, pytest.raises(tf.errors.InvalidOperationError, match="asks nobody for a token"):
        asks_nobody.code()


def test_only_so_many_codes_wait():
    with tf.serve({}) as srv:
        codes = [srv.code() for _ in range(srv.limits["codes"])]
        assert len(set(codes)) == 64
        with pytest.raises(tf.errors.ResourceError, match="64 codes wait to be used already"):
            srv.code()
        with fl.connect(srv.url) as client:
            with_code(client, codes[7])
        assert srv.code() not in codes


def test_logins_have_limits_of_their_own():
    tokens = {"ann": "word-of-ann", "bob": None}
    with tf.serve({"t": T}, token=tokens) as srv:
        assert srv.token == srv.tokens["ann"] == "word-of-ann"
        assert len(srv.tokens["bob"]) == 32
        assert srv.limits["login_sessions"] == 1024
        assert 0 < srv.limits["login_memory"] <= 16 << 30
        with fl.connect(srv.url) as client:
            options = fl.FlightCallOptions(timeout=20)
            for _ in range(1024):
                client.authenticate_basic_token("ann", "word-of-ann", options)
            words = "a login has at most 1024 sessions, and this one 'ann' has them"
            with pytest.raises(pa.ArrowException, match=words):
                client.authenticate_basic_token("ann", "word-of-ann", options)
            _, bearer = client.authenticate_basic_token("bob", srv.tokens["bob"], options)
            for given in [bearer.decode(), f"Bearer {srv.tokens['ann']}", f"Bearer {srv.tokens['bob']}"]:
                mine = fl.FlightCallOptions(headers=[(b"authorization", given.encode())], timeout=20)
                assert client.do_get(fl.Ticket(b"s/t"), mine).read_all().num_rows == 1
            with pytest.raises(fl.FlightUnauthenticatedError):
                client.authenticate_basic_token("ann", "word", options)
        with tf.connect(srv.url, token=srv.tokens["bob"], graph=tf.Graph()) as con:
            assert con.tables() == ["t"]


def test_a_resolver_that_fails_says_so():
    def fail(name):
        raise ValueError(f"there is no {name} today")

    def open_file(name):
        with open(f"/no folder/of this/{name}") as file:  # noqa: PTH123 - its message is what is asked for
            return file.read()

    resolvers = {"bad/": fail, "odd/": lambda name: 5, "open/": open_file}
    with tf.serve(resolvers=resolvers) as srv, fl.connect(srv.url) as client:
        with pytest.raises(pa.ArrowException, match='the resolver of "bad/" raised there is no x today'):
            client.do_get(fl.Ticket(b"bad/x"), headers(srv.token)).read_all()
        with pytest.raises(
            pa.ArrowException, match=r"No such file .*: 'of mine.csv' \(error [0-9a-f]{12}; the server's log"
        ):
            client.do_get(fl.Ticket(b"open/of mine.csv"), headers(srv.token)).read_all()
        with pytest.raises(pa.ArrowException, match='the resolver of "odd/" gave no table'):
            client.do_get(fl.Ticket(b"odd/x"), headers(srv.token)).read_all()


T = tf.table({"x": [1]})


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        ({"tables": [T]}, tf.errors.TypeMismatchError, "tables must be a mapping of names to tables, not list"),
        ({"tables": {"t": 5}}, tf.errors.TypeMismatchError, "'t' is int, not a Table"),
        ({"tables": {5: T}}, tf.errors.TypeMismatchError, "a table is named by a string, not int"),
        ({"tables": {"": T}}, tf.errors.InvalidOperationError, "name cannot be empty"),
        ({"port": "80"}, tf.errors.TypeMismatchError, "port must be an integer, not str"),
        ({"port": 70_000}, tf.errors.InvalidOperationError, "port must be in 0 … 65535, not 70000"),
        ({"token": {}}, tf.errors.InvalidOperationError, "token names nobody"),
        ({"token": {5: "a"}}, tf.errors.TypeMismatchError, "a login is named by a string, not int"),
        ({"token": {"a\n": "a"}}, tf.errors.InvalidOperationError, "is no name of a login"),
        ({"token": {"a": "x", "b": "x"}}, tf.errors.InvalidOperationError, "two logins have one token"),
        ({"token": {"a": "x y"}}, tf.errors.InvalidOperationError, "no spaces"),
        (
            {"token": 5},
            tf.errors.TypeMismatchError,
            "token must be a string, a mapping of names to strings, None or False",
        ),
        ({"token": "two words"}, tf.errors.InvalidOperationError, "printable ASCII letters and no spaces"),
        ({"host": 5}, tf.errors.TypeMismatchError, "host must be a string, not int"),
        ({"host": "no such host"}, tf.errors.InvalidOperationError, "host='no such host' is no address"),
        ({"resolvers": [len]}, tf.errors.TypeMismatchError, "resolvers must be a mapping"),
        ({"resolvers": {"db/": 5}}, tf.errors.TypeMismatchError, "must map strings to functions"),
        ({"resolvers": {"s/": len}}, tf.errors.InvalidOperationError, "is taken"),
        ({"resolvers": {"": len}}, tf.errors.InvalidOperationError, "is taken"),
    ],
)
def test_a_mistake_at_the_call_is_told(given, kind, words):
    with pytest.raises(kind, match=re.escape(words)):
        tf.serve(**given)


def test_a_port_that_is_taken_is_told(srv):
    port = int(srv.url.rsplit(":", 1)[1])
    with pytest.raises(OSError, match=rf"cannot listen on 127\.0\.0\.1:{port}"):
        tf.serve(port=port)
