"""Tables that outlive their process: restarts, checkpoints, kept tables, and what is told when they cannot."""

from __future__ import annotations

import datetime as dt
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from decimal import Decimal
from typing import TYPE_CHECKING

import polars as pl
import pytest

import tickframe as tf

if TYPE_CHECKING:
    from pathlib import Path


def opened(path: Path) -> tuple[tf.Graph, tf.AppendTable, tf.KeyedTable]:
    graph = tf.Graph(durable=path)
    trades = tf.append_table({"n": int, "sym": str}, graph=graph, name="trades", durable=True)
    last = tf.keyed_table({"sym": str, "n": int}, "sym", graph=graph, name="last", durable=True)
    return graph, trades, last


def test_a_program_that_starts_again_finds_its_rows_and_row_keys(tmp_path: Path) -> None:
    graph, trades, last = opened(tmp_path / "state")
    with graph.transaction():
        trades.append({"n": [1, 2], "sym": ["A", "B"]})
        token = last.upsert({"sym": ["A", "B", "C"], "n": [1, 2, 3]})
    graph.step()
    assert token.wait(timeout=30) == 1
    last.delete(["A"])
    last.upsert({"sym": "B", "n": 20})
    graph.step()
    graph.close()

    graph, trades, last = opened(tmp_path / "state")
    assert trades.to_dict() == {"n": [1, 2], "sym": ["A", "B"]}
    assert last.to_dict() == {"sym": ["B", "C"], "n": [20, 3]}
    counts = trades.group_by("sym").agg(tf.len().alias("n"))
    trades.append({"n": 3, "sym": "A"})
    last.upsert({"sym": "A", "n": 9})
    graph.step()
    assert counts.to_dict() == {"sym": ["A", "B"], "n": [2, 1]}
    assert last.to_dict() == {"sym": ["B", "C", "A"], "n": [20, 3, 9]}
    graph.close()


def test_every_type_comes_back(tmp_path: Path) -> None:
    columns = {
        "b": tf.Boolean, "i": tf.Int8, "u": tf.UInt64, "f": tf.Float32, "s": tf.String, "y": tf.Binary,
        "d": tf.Date, "t": tf.Time, "at": tf.Datetime("ms", "Europe/Berlin"), "for": tf.Duration("us"),
        "m": tf.Decimal(20, 3), "c": tf.Dictionary(tf.String, tf.Int16), "l": tf.List(tf.List(tf.Int32)),
        "o": tf.Struct({"x": tf.Int64, "y": tf.String}), "a": tf.Array(tf.Float64, 2),
    }  # fmt: skip
    rows = {
        "b": [True, None, False], "i": [-128, 127, None], "u": [None, 2**64 - 1, 0], "f": [float("nan"), -0.0, None],
        "s": ["", None, "a text of more than twelve bytes"], "y": [b"", b"\0\xff", None],
        "d": [dt.date(1, 1, 1), None, dt.date(9999, 12, 31)], "t": [dt.time(23, 59, 59, 999999), None, dt.time(0)],
        "at": [dt.datetime(2024, 10, 27, 0, 30, tzinfo=dt.UTC), None, dt.datetime(1970, 1, 1, tzinfo=dt.UTC)],
        "for": [dt.timedelta(microseconds=-1), None, dt.timedelta(days=1)], "m": [Decimal("-1.125"), None, Decimal("0.001")],
        "c": ["A", None, "A"], "l": [[[1], None, []], None, []], "o": [{"x": 1, "y": None}, None, {"x": None, "y": "z"}],
        "a": [[1.5, None], None, [2.5, 3.5]],
    }  # fmt: skip
    graph = tf.Graph(durable=tmp_path / "state")
    table = tf.append_table(columns, graph=graph, name="t", durable=True)
    table.append(rows)
    graph.step()
    before = table.to_arrow()
    graph.checkpoint(tmp_path / "saved")
    graph.close()
    for folder in ["state", "saved"]:
        with tf.restore(tmp_path / folder) as restored:
            after = restored.tables["t"].to_arrow()
            assert after.schema == before.schema
            assert repr(after.to_pylist()) == repr(before.to_pylist())


def test_tables_without_a_journal_are_saved_by_checkpoints_and_cost_what_changed(tmp_path: Path) -> None:
    graph = tf.Graph()
    trades = tf.append_table({"n": int, "sym": str}, graph=graph, name="trades")
    orders = tf.keyed_table({"id": int, "qty": int}, "id", graph=graph, name="orders")
    trades.append({"n": list(range(200_000)), "sym": ["A"] * 200_000})
    orders.upsert({"id": list(range(100_000)), "qty": [1] * 100_000})
    graph.step()
    first = graph.checkpoint(tmp_path / "saved")
    assert first["whole"]
    assert first["tables"] == 2
    trades.append({"n": [-1], "sym": ["B"]})
    orders.upsert({"id": list(range(0, 100_000, 100)), "qty": [2] * 1000})
    orders.delete([50])
    graph.step()
    second = graph.checkpoint(tmp_path / "saved")
    assert not second["whole"]
    assert second["bytes"] < first["bytes"] / 20
    graph.step()
    assert graph.checkpoint(tmp_path / "saved")["bytes"] == 0
    restored = tf.restore(tmp_path / "saved")
    assert restored.durable is None
    assert restored.tables["trades"].to_dict() == trades.to_dict()
    assert restored.tables["orders"].to_dict() == orders.to_dict()
    # It goes on as the other would.
    for side, one in [(graph, orders), (restored, restored.tables["orders"])]:
        one.upsert({"id": [50, 7], "qty": [5, 6]})
        side.step()
    assert restored.tables["orders"].to_dict() == orders.to_dict()


def test_kept_tables_come_back_and_go_on(tmp_path: Path) -> None:
    ref = tf.table({"sym": ["A", "B"], "name": ["Alpha", "Beta"]})

    @tf.udf
    def double(x: int) -> int:
        return 2 * x

    with tf.Graph(durable=tmp_path / "state") as graph:
        trades = tf.append_table({"n": int, "sym": str}, graph=graph, name="trades", durable=True)
        joined = trades.update("m = double(n)").join(ref, on="sym", how="left").group_by("name").agg(tf.col("m").sum())
        graph.keep("totals", joined)
        trades.append({"n": [1, 2, 3], "sym": ["A", "B", "A"]})
        graph.step()
        expected = joined.to_dict()
        assert graph.tables["totals"] is joined
    with tf.restore(tmp_path / "state", functions={"double": double}) as graph:
        totals = graph.tables["totals"]
        assert totals.to_dict() == expected
        graph.tables["trades"].append({"n": 10, "sym": "B"})
        graph.step()
        assert totals.to_dict() == {"name": ["Alpha", "Beta"], "m": [8, 24]}
    with pytest.raises(tf.errors.DataError, match="double"):
        tf.restore(tmp_path / "state")
    # A folder that could not be taken up is free again.
    tf.restore(tmp_path / "state", functions={"double": double}).close()


def test_a_table_saves_the_inputs_it_stands_on(tmp_path: Path) -> None:
    graph = tf.Graph()
    a = tf.append_table({"x": int}, graph=graph, name="a")
    b = tf.append_table({"x": int}, graph=graph, name="b")
    a.append({"x": [1, 2, 3]})
    b.append({"x": 1})
    graph.step()
    big = a.filter(tf.col("x") > 1)
    assert big.checkpoint(tmp_path / "a", "big")["tables"] == 1
    restored = tf.restore(tmp_path / "a")
    assert list(restored.tables) == ["a", "big"]
    assert restored.tables["big"].to_dict() == {"x": [2, 3]}
    assert a.checkpoint(tmp_path / "only")["tables"] == 1
    assert list(tf.restore(tmp_path / "only").tables) == ["a"]


def breaks(graph: tf.Graph, trades: tf.AppendTable) -> None:
    with graph.transaction():
        trades.append({"x": 2})
        graph.positions["exchange"] = {"offset": 18}
        raise RuntimeError


def test_positions_are_kept_with_the_rows(tmp_path: Path) -> None:
    with tf.Graph(durable=tmp_path / "state") as graph:
        trades = tf.append_table({"x": int}, graph=graph, name="trades", durable=True)
        with graph.transaction():
            trades.append({"x": 1})
            graph.positions["exchange"] = {"offset": 17}
        graph.step()
        with pytest.raises(RuntimeError):
            breaks(graph, trades)
        graph.step()
        assert dict(graph.positions) == {"exchange": {"offset": 17}}
        with pytest.raises(TypeError, match="JSON"):
            graph.positions["bad"] = object()
    with tf.restore(tmp_path / "state") as graph:
        assert graph.positions["exchange"] == {"offset": 17}
        assert list(graph.tables) == ["trades"]
        del graph.positions["exchange"]
        graph.step()
        assert len(graph.positions) == 0
    with pytest.raises(tf.errors.InvalidOperationError, match="keeps nothing on disk"):
        _ = tf.Graph().positions


def test_mistakes_are_told(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with pytest.raises(
        tf.errors.InvalidOperationError, match=r"append_table: durable=True wants a graph with a folder"
    ):
        tf.append_table({"x": int}, graph=tf.Graph(), name="t", durable=True)
    with pytest.raises(tf.errors.CheckpointError, match="no such folder"):
        tf.restore(tmp_path / "nowhere")
    with pytest.raises(tf.errors.InvalidOperationError, match="no folder of its own"):
        tf.Graph().checkpoint()
    with pytest.raises(TypeError, match="path of a folder"):
        tf.Graph(durable=7)  # type: ignore[arg-type]
    with tf.Graph(durable=state) as graph:
        with pytest.raises(tf.errors.InvalidOperationError, match="wants a name="):
            tf.append_table({"x": int}, graph=graph, durable=True)
        table = tf.append_table({"x": int}, graph=graph, name="t", durable=True)
        with pytest.raises(tf.errors.InvalidOperationError, match=r"already: graph.tables\[\"t\"\]"):
            tf.append_table({"x": int}, graph=graph, name="t", durable=True)
        with pytest.raises(tf.errors.CheckpointError, match="in use"):
            tf.Graph(durable=state)
        with pytest.raises(tf.errors.CheckpointError, match="in use"):
            tf.restore(state)
        unnamed = tf.append_table({"x": int}, graph=graph)
        with pytest.raises(tf.errors.InvalidOperationError, match="without a name"):
            graph.keep("k", unnamed.filter(tf.col("x") > 1))
        clock = tf.time_table(1.0, graph=graph)
        with pytest.raises(tf.errors.InvalidOperationError, match="no checkpoint saves"):
            graph.keep("k", clock.head(2))
        with pytest.raises(tf.errors.InvalidOperationError, match="not live in this graph"):
            graph.keep("k", tf.table({"x": [1]}))
        with pytest.raises(tf.errors.InvalidOperationError, match="a source named 't'"):
            graph.keep("t", table.head(1))
        with pytest.raises(KeyError, match=r"no table named 'u'; the names are \['t'\]"):
            _ = graph.tables["u"]
    with pytest.raises(tf.errors.InvalidOperationError, match="was closed"):
        table.append({"x": 1})
    graph.close()
    with tf.Graph(durable=state) as graph:
        with pytest.raises(tf.errors.SchemaError, match=r"column \"x\" is Int64, not Utf8"):
            tf.append_table({"x": str}, graph=graph, name="t", durable=True)
        with pytest.raises(tf.errors.InvalidOperationError, match="say durable=True"):
            tf.append_table({"x": int}, graph=graph, name="t")
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "notes.txt").write_text("mine")
    with pytest.raises(tf.errors.CheckpointError, match=r"notes\.txt"):
        tf.Graph(durable=foreign)
    saved = tmp_path / "saved"
    tf.Graph().checkpoint(saved)
    with pytest.raises(tf.errors.CheckpointError, match="holds checkpoints"):
        tf.Graph(durable=saved)
    with pytest.raises(tf.errors.CheckpointError, match="folder of a durable graph"):
        tf.Graph().checkpoint(state)


def test_damage_names_the_file_and_a_newer_version_is_told(tmp_path: Path) -> None:
    with tf.Graph(durable=tmp_path / "state") as graph:
        table = tf.append_table({"x": int}, graph=graph, name="t", durable=True)
        for x in range(5):
            table.append({"x": x})
            graph.step()
    log = next((tmp_path / "state").glob("segment-*.log"))
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 0xFF
    log.write_bytes(content)
    with pytest.raises(tf.errors.CheckpointError, match=r"segment-.*byte \d+"):
        tf.restore(tmp_path / "state")
    manifest = tmp_path / "state" / "MANIFEST.json"
    manifest.write_text('{"format": 99}\n')
    with pytest.raises(tf.errors.CheckpointError, match="format 99"):
        tf.restore(tmp_path / "state")


def test_a_disk_that_fails_refuses_calls_and_goes_on_when_it_works(tmp_path: Path) -> None:
    """A file system of one megabyte fills up; what was acknowledged is there, and room lets it go on."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "none", disk], check=False, capture_output=True
    ).returncode:
        limited(tmp_path)
        return
    try:
        filled(disk)
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def filled(disk: Path) -> None:
    graph = tf.Graph(durable=disk / "state")
    table = tf.append_table({"s": str}, graph=graph, name="t", durable=True)
    other = tf.append_table({"x": int}, graph=graph, name="other")
    ballast = disk / "ballast"
    ballast.write_bytes(b"x" * 500_000)
    acknowledged, failed = 0, None
    while failed is None and acknowledged < 100:
        try:
            token = table.append({"s": "y" * 50_000})
            graph.step()
            token.wait(timeout=30)
            acknowledged += 1
        except tf.errors.StorageError as error:
            failed = error
    assert failed is not None
    assert failed.errno == 28
    assert "not on disk" in str(failed) or "cannot be written" in str(failed)
    assert 1 <= acknowledged < 20
    shown = len(table)
    # What is not durable goes on.
    other.append({"x": 1})
    graph.step()
    assert len(other) == 1
    ballast.unlink()
    deadline = time.monotonic() + 30
    while True:
        try:
            token = table.append({"s": "last"})
            break
        except tf.errors.StorageError:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    graph.step()
    token.wait(timeout=30)
    graph.close()
    with tf.restore(disk / "state") as graph:
        assert len(graph.tables["t"]) == shown + 1
        assert graph.tables["t"].to_dict()["s"][-1] == "last"


def limited(tmp_path: Path) -> None:
    """Where no file system can be mounted: a limit of the size of files, in a process of its own."""
    script = """
import resource, signal, sys
import tickframe as tf
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
graph = tf.Graph(durable=sys.argv[1])
table = tf.append_table({"s": str}, graph=graph, name="t", durable=True)
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
acknowledged = 0
try:
    for _ in range(100):
        token = table.append({"s": "y" * 50_000})
        graph.step()
        token.wait(timeout=30)
        acknowledged += 1
except tf.errors.StorageError as failed:
    assert failed.errno == 27, failed
shown = len(table)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
graph.close()
print(acknowledged, shown)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "state"], capture_output=True, text=True, timeout=120, check=True
    )
    acknowledged, shown = map(int, done.stdout.split())
    with tf.restore(tmp_path / "state") as graph:
        assert acknowledged <= len(graph.tables["t"]) <= shown


WRITER = """
import sys, time
import tickframe as tf

folder, period = sys.argv[1], float(sys.argv[2])
graph = tf.Graph(period=period, durable=folder)
trades = tf.append_table({"n": int, "text": str}, graph=graph, name="trades", durable=True)
last = tf.keyed_table({"k": int, "n": int}, "k", graph=graph, name="last", durable=True)
graph.start()
n = len(trades)
print("begun", n, flush=True)
while True:
    with graph.transaction():
        trades.append({"n": list(range(n, n + 5)), "text": [str(x) for x in range(n, n + 5)]})
        token = last.upsert({"k": [x % 7 for x in range(n, n + 5)], "n": list(range(n, n + 5))})
    n += 5
    if n % 10 == 0:
        token.wait(timeout=60)
        print("kept", n, flush=True)
    if n % 1000 == 0:
        graph.checkpoint()
"""


def killed(folder: Path, after: float, period: float) -> int:
    """Lets a process write, ends it without a word, and gives what it was told is on disk."""
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, folder, str(period)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        begun = process.stdout.readline()
        assert begun.startswith("begun")
        kept = int(begun.split()[1])
        time.sleep(after)
        os.kill(process.pid, signal.SIGKILL)
        for line in process.stdout:
            # The last one may have been cut off.
            if line.endswith("\n"):
                kept = int(line.split()[1])
    return kept


KILLS = int(os.environ.get("TICKFRAME_KILLS", "25"))


def test_a_process_that_is_killed_loses_nothing_it_acknowledged(tmp_path: Path) -> None:
    dice = random.Random(7)
    folder = tmp_path / "state"
    most = 0
    for _ in range(KILLS):
        kept = killed(folder, dice.uniform(0.0, 0.25), dice.choice([0.0, 0.0, 0.003]))
        copy = tmp_path / "copy"
        shutil.copytree(folder, copy)
        with tf.restore(copy) as graph:
            trades, last = graph.tables["trades"].to_dict(), graph.tables["last"].to_dict()
        shutil.rmtree(copy)
        n = len(trades["n"])
        assert n >= kept >= most
        assert n % 5 == 0
        assert trades["n"] == list(range(n))
        assert trades["text"] == [str(x) for x in range(n)]
        expected = {x % 7: x for x in range(n)}
        assert dict(zip(last["k"], last["n"], strict=True)) == expected
        most = n


def test_the_end_of_a_program_writes_what_waits(tmp_path: Path) -> None:
    script = """
import sys
import tickframe as tf
graph = tf.Graph(durable=sys.argv[1])
table = tf.append_table({"x": int}, graph=graph, name="t", durable=True)
for x in range(200):
    table.append({"x": x})
    graph.step()
"""
    subprocess.run([sys.executable, "-c", script, tmp_path / "state"], timeout=60, check=True)
    with tf.restore(tmp_path / "state") as graph:
        assert graph.tables["t"].to_dict() == {"x": list(range(200))}


def test_close_takes_what_is_queued_and_a_forked_child_leaves_the_folder_alone(tmp_path: Path) -> None:
    graph = tf.Graph(durable=tmp_path / "state")
    table = tf.append_table({"x": int}, graph=graph, name="t", durable=True)
    table.append({"x": 1})
    graph.step()
    script = "import os, sys; pid = os.fork(); sys.exit(0) if pid == 0 else sys.exit(os.waitpid(pid, 0)[1])"
    forked = f"""
import tickframe as tf
graph = tf.Graph(durable={str(tmp_path / "forked")!r})
table = tf.append_table({{"x": int}}, graph=graph, name="t", durable=True)
token = table.append({{"x": 1}})
graph.step()
token.wait()
{script}
"""
    subprocess.run([sys.executable, "-c", forked], timeout=60, check=True)
    table.append({"x": 2})
    graph.close()
    graph.close()
    with tf.restore(tmp_path / "state") as graph:
        assert graph.tables["t"].to_dict() == {"x": [1, 2]}
    with tf.restore(tmp_path / "forked") as graph:
        assert graph.tables["t"].to_dict() == {"x": [1]}


def test_a_log_that_grows_is_replaced_by_the_tables(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with tf.Graph(durable=state) as graph:
        table = tf.keyed_table({"k": int, "text": str}, "k", graph=graph, name="t", durable=True)
        for round_ in range(260):
            token = table.upsert({"k": list(range(5000)), "text": [f"{round_:0200}"] * 5000})
            graph.step()
            if round_ % 8 == 7:
                token.wait(timeout=60)
        expected = table.to_dict()
    held = sum(file.stat().st_size for file in state.iterdir())
    # 260 MB were written. What stays is the base, the segment with its last record (64 MB), and at most as much behind it.
    assert held < 200_000_000
    with tf.restore(state) as graph:
        assert graph.tables["t"].to_dict() == expected


def test_rows_and_how_far_their_source_was_read_share_a_commit(tmp_path: Path) -> None:
    """What a reader of an outside source does: rows and its offset in one transaction."""
    source = list(range(100))
    for _ in range(4):
        with tf.Graph(durable=tmp_path / "state") as graph:
            table = tf.append_table({"x": int}, graph=graph, name="t", durable=True)
            begin = graph.positions.get("outside", 0)
            for at in range(begin, min(begin + 40, len(source)), 10):
                with graph.transaction():
                    table.append({"x": source[at : at + 10]})
                    graph.positions["outside"] = at + 10
                graph.step()
    with tf.restore(tmp_path / "state") as graph:
        assert graph.tables["t"].to_dict()["x"] == source
        assert json.dumps(dict(graph.positions)) == '{"outside": 100}'
        assert pl.DataFrame(graph.tables["t"]).height == 100
