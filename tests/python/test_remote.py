"""Tables of other processes, as live tables here."""

import os
import pathlib
import random
import signal
import stat
import subprocess
import sys
import time
import warnings

import pyarrow as pa
import pytest

import tickframe as tf

TLS = pathlib.Path(__file__).parent.parent / "golden" / "tls"


def until(done):
    deadline = time.monotonic() + 30
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.fixture
def there():
    graph = tf.Graph(period=0.001)
    graph.start()
    yield graph
    graph.stop()


@pytest.fixture
def here():
    graph = tf.Graph(period=0.001)
    graph.start()
    yield graph
    graph.stop()


def test_a_remote_table_follows_and_so_does_what_stands_on_it(there, here):
    trades = tf.append_table({"sym": str, "px": float}, graph=there)
    trades.append({"sym": ["A", "B"], "px": [1.0, 2.0]}).wait(10)
    with tf.serve({"trades": trades}, graph=there) as srv, tf.connect(srv.url, graph=here) as con:
        assert con.tables() == ["trades"]
        remote = con["trades"]
        assert con["trades"].plan == remote.plan
        sums = remote.group_by("sym").agg(tf.col("px").sum()).sort("sym")
        assert sums.to_dicts() == [{"sym": "A", "px": 1.0}, {"sym": "B", "px": 2.0}]
        trades.append({"sym": ["A", "C"], "px": [10.0, 3.0]}).wait(10)
        until(lambda: len(remote) == 4)
        assert sums.to_dicts() == [{"sym": "A", "px": 11.0}, {"sym": "B", "px": 2.0}, {"sym": "C", "px": 3.0}]
        state = con.states()["trades"]
        assert (state.connected, state.snapshots, state.trouble) == (True, 1, None)
        prices = con.table("trades", columns=["px"])
        assert prices.columns == ["px"]
        assert prices.to_dicts() == remote.select("px").to_dicts()
        assert sorted(con.states()) == ["trades", "trades[px]"]


def test_a_viewport_follows_its_places(there, here):
    trades = tf.append_table({"sym": str, "px": float}, graph=there)
    trades.append({"sym": ["A", "B", "C"], "px": [3.0, 1.0, 2.0]}).wait(10)
    tables = {"trades": trades, "sorted": trades.sort("px"), "blink": tf.blink_table({"x": int}, graph=there)}
    with tf.serve(tables, graph=there) as srv, tf.connect(srv.url, graph=here) as con:
        newest = con.table("trades", viewport=slice(-2, None))
        least = con.table("sorted", columns=["px"], viewport=slice(2))
        before = con.table("trades", viewport=slice(-3, -1))
        assert newest.to_dict() == {"sym": ["B", "C"], "px": [1.0, 2.0]}
        assert before["sym"].to_list() == ["A", "B"]
        assert least.to_dict() == {"px": [1.0, 2.0]}
        total = newest.select(tf.col("px").sum())
        trades.append({"sym": ["D"], "px": [0.5]}).wait(10)
        until(lambda: newest["sym"].to_list() == ["C", "D"] and least["px"].to_list() == [0.5, 1.0])
        until(lambda: before["sym"].to_list() == ["B", "C"])
        assert total.to_dict() == {"px": [2.5]}
        assert sorted(con.states()) == ["sorted[px][0:2]", "trades[-2:]", "trades[-3:-1]"]
        assert con.table("trades", viewport=slice(-2, None)).plan == newest.plan
        with pytest.raises(tf.errors.DataError, match=r"table .blink.: its rows live for one step; a viewport"):
            con.table("blink", viewport=slice(2))


@pytest.mark.parametrize(
    ("viewport", "kind", "text"),
    [
        (
            (0, 100),
            tf.errors.TypeMismatchError,
            r"must be a slice, slice\(0, 100\) for the first hundred rows.*not tuple",
        ),
        (slice("a", 3), tf.errors.TypeMismatchError, "whole numbers, not 'a'"),
        (slice(True, 3), tf.errors.TypeMismatchError, "whole numbers, not True"),
        (slice(0, 10, 2), ValueError, "a step of 1, not 2"),
        (slice(5, None), ValueError, "viewport 5: has no end"),
        (slice(None), ValueError, "viewport : has no end"),
        (slice(5, 5), ValueError, "viewport 5:5 holds no row"),
        (slice(-2, -3), ValueError, "viewport -2:-3 holds no row"),
        (slice(3, -3), ValueError, "viewport 3:-3 begins at one end of the table and ends at the other"),
        (slice(-3, 3), ValueError, "viewport -3:3 begins at one end"),
        (slice(0, 1 << 70), ValueError, "reaches beyond all tables"),
    ],
)
def test_viewports_without_a_meaning_are_told(here, viewport, kind, text):
    served = tf.serve({"t": tf.table({"a": [1]})})
    with served as srv, tf.connect(srv.url, graph=here) as con, pytest.raises(kind, match=text):
        con.table("t", viewport=viewport)


def test_every_type_that_goes_by_the_wire_comes_as_it_was(here):
    table = pa.table(
        {
            "b": pa.array([True, None]),
            "i8": pa.array([-128, None], pa.int8()),
            "u16": pa.array([65535, None], pa.uint16()),
            "u64": pa.array([2**64 - 1, None], pa.uint64()),
            "i64": pa.array([-(2**63), None], pa.int64()),
            "f": pa.array([-3.4028234663852886e38, None], pa.float32()),
            "s": pa.array(["", None]),
            "bin": pa.array([b"\x00\xff", None]),
            "dec": pa.array([None, "1.25"], pa.string()).cast(pa.decimal128(9, 2)),
            "ts": pa.array([1, None], pa.timestamp("us", "Europe/Berlin")),
            "d": pa.array([20000, None], pa.date32()),
            "t": pa.array([86399, None], pa.time32("s")),
            "dur": pa.array([-5, None], pa.duration("ms")),
            "l": pa.array([[1, None], None], pa.list_(pa.int32())),
            "dict": pa.array(["x", None]).dictionary_encode(),
        }
    )
    with tf.serve({"t": tf.table(table)}) as srv, tf.connect(srv.url, graph=here) as con:
        remote = con["t"]
        assert remote.schema == tf.table(table).schema
        assert remote.to_dicts() == tf.table(table).to_dicts()
        assert con.states()["t"].step == -1
        once = con.snapshot("t")
        assert once.schema == remote.schema
        assert once.to_dicts() == remote.to_dicts()


def test_a_snapshot_is_of_one_step_and_stays_as_it_is(there, here):
    trades = tf.append_table({"sym": str, "px": float}, graph=there)
    empty = tf.append_table({"a": int, "s": str}, graph=there)
    trades.append({"sym": ["A", "B", "C"], "px": [1.0, None, 3.0]}).wait(10)
    tables = {"trades": trades, "empty": empty, "none": tf.table({"a": [1, 2]}).select([])}
    with tf.serve(tables, graph=there) as srv, tf.connect(srv.url, graph=here) as con:
        before = con.snapshot("trades")
        trades.append({"sym": ["D"], "px": [4.0]}).wait(10)
        assert not before.is_live
        assert before.to_dict() == {"sym": ["A", "B", "C"], "px": [1.0, None, 3.0]}
        assert con.snapshot("trades", columns="px").to_dict() == {"px": [1.0, None, 3.0, 4.0]}
        assert con.snapshot("trades", columns=["px", "sym"]).columns == ["px", "sym"]
        assert con.snapshot("trades", viewport=slice(-1, None)).to_dicts() == [{"sym": "D", "px": 4.0}]
        assert con.snapshot("trades", columns=["sym"], viewport=slice(1, 3)).to_dict() == {"sym": ["B", "C"]}
        assert con.snapshot("trades", viewport=slice(10, 20)).to_dicts() == []
        assert con.snapshot("empty").to_dict() == {"a": [], "s": []}
        assert con.states() == {}
        # Parts of many rows come in pieces of the table there.
        many = tf.table({"a": list(range(300_000))}).sort("a", descending=True)
        srv.tables["many"] = many
        assert con.snapshot("many")["a"].to_list() == many["a"].to_list()
        for wrong, kind, text in [
            (lambda: con.snapshot("nothing"), tf.errors.NotFoundError, "nothing"),
            (lambda: con.snapshot("trades", columns=["x"]), tf.errors.ColumnNotFoundError, "x"),
            (lambda: con.snapshot("trades", columns=5), tf.errors.TypeMismatchError, "named by strings"),
            (lambda: con.snapshot("trades", viewport=slice(3, 1)), ValueError, "no row"),
            (lambda: con.snapshot(5), tf.errors.TypeMismatchError, "named by a string"),
            (lambda: con.snapshot("many", timeout=1e-9), tf.errors.TimeoutError, "no rows within"),
        ]:
            with pytest.raises(kind, match=text):
                wrong()
    with pytest.raises(tf.errors.TransportError, match="closed"):
        con.snapshot("trades")


def test_a_table_that_cannot_be_sent_is_refused_by_its_column(here):
    struct = tf.table(pa.table({"n": [1], "point": [{"x": 1}]}))
    with (
        tf.serve({"t": struct}) as srv,
        tf.connect(srv.url, graph=here) as con,
        pytest.raises(tf.errors.DataError, match="point"),
    ):
        con["t"]


def test_a_failed_table_fails_here_too(there, here):
    source = tf.append_table({"x": int}, graph=there)
    with tf.serve({"t": source}, graph=there) as srv, tf.connect(srv.url, graph=here) as con:
        remote = con["t"]
        source.fail(ValueError("the feed is broken"))
        until(lambda: _failed(remote))
        with pytest.raises(tf.errors.TableFailedError, match="the feed is broken"):
            remote.to_dicts()


def _failed(table):
    try:
        len(table)
    except tf.errors.TableFailedError:
        return True
    return False


def test_what_is_asked_wrongly_is_said_at_once(here):
    for url in ["", "127.0.0.1:1", "grpc://", "grpc://host", "ftp://host:1", "grpc://host:x", "grpc://host:1/path"]:
        with pytest.raises(tf.errors.InvalidOperationError, match="is no address"):
            tf.connect(url, graph=here)
    with pytest.raises(tf.errors.InvalidOperationError, match="no part of the address"):
        tf.connect("grpc://user:word@127.0.0.1:1", graph=here)
    with pytest.raises(tf.errors.TypeMismatchError, match="url must be a string"):
        tf.connect(5, graph=here)
    with pytest.raises(tf.errors.TypeMismatchError, match="token must be a string"):
        tf.connect("grpc://127.0.0.1:1", 5, graph=here)
    with pytest.raises(tf.errors.InvalidOperationError, match="no spaces"):
        tf.connect("grpc://127.0.0.1:1", "a b", graph=here)
    with pytest.raises(tf.errors.InvalidOperationError, match="is not encrypted"):
        tf.connect("grpc://127.0.0.1:1", tls=TLS / "authority.pem", graph=here)
    with pytest.raises(ValueError, match="no certificate"):
        tf.connect("grpc+tls://127.0.0.1:1", tls=b"nothing", graph=here)
    with pytest.raises(tf.errors.TransportError, match=r"grpc://127\.0\.0\.1:1: Connection refused"):
        tf.connect("grpc://127.0.0.1:1", graph=here)
    with tf.serve({"t": tf.table({"a": [1]})}, token="a-word") as srv:
        with pytest.raises(tf.errors.AuthError, match="the token is not the server's"):
            tf.connect(srv.url, "another", graph=here)
        with pytest.raises(tf.errors.AuthError):
            tf.connect(srv.url, False, graph=here)
        con = tf.connect(srv.url, graph=here)
        with pytest.raises(tf.errors.NotFoundError, match="nothing"):
            con["nothing"]
        with pytest.raises(tf.errors.ColumnNotFoundError, match="nothing"):
            con.table("t", columns=["nothing"])
        with pytest.raises(tf.errors.DuplicateError, match="'a' would appear twice"):
            con.table("t", columns=["a", "a"])
        with pytest.raises(tf.errors.TypeMismatchError, match="named by a string"):
            con[5]
        assert "a-word" not in repr(con) + con.url
        con.close()
        con.close()
        assert repr(con).endswith("closed>")
        with pytest.raises(tf.errors.TransportError, match="closed"):
            con.tables()


def test_tokens_are_found(here, monkeypatch):
    with tf.serve({"t": tf.table({"a": [1]})}) as srv:
        tf.connect(srv.url, graph=here).close()
        monkeypatch.setenv("TICKFRAME_TOKEN", srv.token)
        tf.connect(srv.url.replace("127.0.0.1", "localhost"), graph=here).close()
        monkeypatch.setenv("TICKFRAME_TOKEN", "wrong")
        with pytest.raises(tf.errors.AuthError):
            tf.connect(srv.url.replace("127.0.0.1", "localhost"), graph=here)


def test_a_token_that_was_drawn_is_found_by_other_programs_of_this_user(here, monkeypatch):
    folder = pathlib.Path(os.environ["XDG_RUNTIME_DIR"]) / "tickframe"
    code = (
        "import sys, tickframe as tf\nwith tf.connect(sys.argv[1], graph=tf.Graph()) as con:\n    print(con.tables())"
    )

    def other(srv):
        run = [sys.executable, "-W", "ignore", "-c", code, srv.url]
        return subprocess.run(run, capture_output=True, text=True, timeout=60, check=False)

    monkeypatch.delenv("TICKFRAME_TOKEN", raising=False)
    srv = tf.serve({"t": tf.table({"a": [1]})})
    file = folder / f"{srv.url.rsplit(':', 1)[1]}.token"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert other(srv).stdout == "['t']\n"
    # What others may read is no secret, and what a process left that is gone is none of a server that runs.
    file.chmod(0o644)
    assert "AuthError" in other(srv).stderr
    file.chmod(0o600)
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait(20)
    file.write_text(f"{srv.token}\n{gone.pid}\n", encoding="ascii")
    assert "AuthError" in other(srv).stderr
    srv.stop()
    assert file.exists()
    file.unlink()


def test_a_token_is_kept_as_long_as_its_server_runs(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    for token in ["given", {"ann": None}, False]:
        with warnings.catch_warnings(action="ignore"), tf.serve({}, token=token):
            assert list(tmp_path.rglob("*.token")) == []
    with tf.serve({}):
        assert len(list(tmp_path.rglob("*"))) == 2
    assert list(tmp_path.rglob("*.token")) == []
    (tmp_path / "tickframe").rmdir()
    (tmp_path / "tickframe").write_text("no folder", encoding="ascii")
    with tf.serve({"t": tf.table({"a": [1]})}) as srv, tf.connect(srv.url, graph=tf.Graph()) as con:
        assert con.tables() == ["t"]


def test_by_tls_who_is_believed_is_followed(here):
    pair = (TLS / "server.pem", TLS / "server.key")
    with tf.serve({"t": tf.table({"a": [1, 2]})}, tls=pair) as srv:
        with tf.connect(srv.url, tls=(TLS / "authority.pem").read_bytes(), graph=here) as con:
            assert con["t"].to_dicts() == [{"a": 1}, {"a": 2}]
        with pytest.raises(tf.errors.TransportError, match="TLS"):
            tf.connect(srv.url, graph=here)


SERVER = """
import sys, time
import tickframe as tf
graph = tf.Graph(period=0.001)
graph.start()
t = tf.append_table({"at": int, "life": int}, graph=graph)
srv = tf.serve({"t": t}, port=int(sys.argv[1]), token="a-word", graph=graph)
print(srv.url, flush=True)
at = 0
while True:
    t.append({"at": at, "life": int(sys.argv[2])})
    at += 1
    time.sleep(0.002)
"""


def test_a_server_that_is_killed_and_begins_again_is_followed_again(here):
    def start(port, life):
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", SERVER, str(port), str(life)], stdout=subprocess.PIPE, text=True
        )
        return process, process.stdout.readline().strip()

    process, url = start(0, 0)
    try:
        with tf.connect(url, "a-word", graph=here) as con:
            remote = con["t"]
            seen = []
            handle = remote.subscribe(lambda update: seen.append(update.step))
            for life in range(1, 4):
                until(lambda: len(remote) > 20)
                os.kill(process.pid, signal.SIGKILL)
                process.wait()
                process.stdout.close()
                kept = len(remote)
                until(lambda: not con.states()["t"].connected)
                assert len(remote) >= kept
                process, _ = start(int(url.rsplit(":", 1)[1]), life)
                # The rows are those of the new server, and none of the old one's.
                until(lambda life=life: len(remote) > 5 and remote.to_dict()["life"] == [life] * len(remote))
                rows = remote.to_dict()
                assert rows["at"] == list(range(len(rows["at"])))
            assert con.states()["t"].snapshots == 4
            assert seen
            handle.cancel()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


CLIENT = """
import sys, time
import tickframe as tf

graph = tf.Graph(period=0.002)
graph.start()
with tf.connect(sys.argv[1], "a-word", graph=graph) as con:
    sums = con["t"].group_by("life").agg(tf.col("at").sum())
    print("it follows", flush=True)
    while True:
        try:
            con.snapshot("t")
        except tf.errors.TickframeError:
            time.sleep(0.01)
"""


def test_servers_and_clients_killed_at_random_leave_the_others_right(here):
    drawn = random.Random(5)
    processes = {}

    def start(name, *words):
        command = [sys.executable, "-W", "ignore", "-c", *words]
        processes[name] = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        return processes[name].stdout.readline().strip()

    def kill(name):
        processes[name].kill()
        processes[name].wait()
        processes[name].stdout.close()

    url = start("server", SERVER, "0", "0")
    port, life = url.rsplit(":", 1)[1], 0
    try:
        assert start("one", CLIENT, url) == start("two", CLIENT, url) == "it follows"
        with tf.connect(url, "a-word", graph=here) as con:
            remote = con["t"]
            for _ in range(10):
                time.sleep(drawn.random() * 0.2)
                name = drawn.choice(sorted(processes))
                kill(name)
                if name == "server":
                    life += 1
                    start(name, SERVER, port, str(life))
                else:
                    start(name, CLIENT, url)
                until(lambda life=life: len(remote) > 5 and remote.to_dict()["life"] == [life] * len(remote))
                rows = remote.to_dict()["at"]
                assert rows == list(range(len(rows)))
                assert con.snapshot("t").to_dict()["at"][: len(rows)] == rows
    finally:
        for name in processes:
            kill(name)


def test_a_connection_that_is_closed_leaves_its_tables_as_they_are(there, here):
    source = tf.append_table({"x": int}, graph=there)
    source.append({"x": [1, 2]}).wait(10)
    with tf.serve({"t": source}, graph=there) as srv:
        con = tf.connect(srv.url, graph=here)
        remote = con["t"]
        con.close()
        source.append({"x": 3}).wait(10)
        here.step()
        assert remote.to_dict() == {"x": [1, 2]}
