"""What a feed keeps on disk: batches, where they came from, and what is said when a file is not as it was left."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pytest

import tickframe as tf
from tickframe.spark._log import BatchLog
from tickframe.spark._modes import DELETE, mode_of

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.int64())])


@pytest.fixture
def opened(tmp_path):
    """Opens the log of one folder; each is closed before the next, and at the end."""
    logs = []

    def start(mode="append", schema=SCHEMA):
        for log in logs:
            log.close()
        logs.append(BatchLog(tmp_path / "deep" / "state", mode, schema))
        return logs[-1]

    yield start
    for log in logs:
        log.close()


def batch(*rows, schema=SCHEMA):
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema=schema)


def kept(log):
    return [[tuple(row.values()) for row in rows.to_pylist()] for rows in log.read()]


def test_batches_are_read_as_they_were_written(opened):
    log = opened()
    assert (log.last, log.query_id, len(log)) == (-1, None, 0)
    log.bind("q")
    for number in range(4):
        log.write(number, batch((number, 1)), f"offsets {number}")
    log = opened()
    assert (log.last, log.query_id, kept(log)) == (3, "q", [[(number, 1)] for number in range(4)])
    assert [log.source_of(number) for number in (0, 3, 4)] == ["offsets 0", "offsets 3", None]
    log.write(3, batch((9, 9)), whole=True)
    log = opened()
    assert (log.last, kept(log), len(log)) == (3, [[(9, 9)]], 1)
    assert [log.source_of(number) for number in (0, 3)] == ["offsets 0", "offsets 3"], "Spark may still send them again"


def test_batches_that_were_passed_over_are_noted(opened):
    log = opened()
    log.write(2, batch((2, 1)))
    log.write(5, batch((5, 1)))
    with pytest.raises(tf.errors.CheckpointError, match="record 4 cannot follow 5: numbers ascend"):
        log.write(4, batch((4, 1)))
    log = opened()
    assert (log.last, kept(log)) == (5, [[(2, 1)], [(5, 1)]])
    assert [kind for _, kind, *_ in log._native.read()] == ["after_gap", "after_gap"]


def test_a_folder_in_use_is_refused_here_and_in_another_process(opened, tmp_path):
    log = opened()
    text = "in use by another process, or another log of this one"
    with pytest.raises(tf.errors.CheckpointError, match=text):
        BatchLog(tmp_path / "deep" / "state", "append", SCHEMA)
    script = f"import tickframe._native as n; n.Log({log.path!r})"
    other = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert text in other.stderr
    log.write(0, batch((0, 0)))
    log.close()
    with pytest.raises(tf.errors.InvalidOperationError, match="closed"):
        log.write(1, batch((1, 1)))


def test_damage_names_the_file_and_the_place(opened, tmp_path):
    log = opened()
    for number in range(3):
        log.write(number, batch((77, number)))
    log.close()
    file = tmp_path / "deep" / "state" / "segment-000000000000.log"
    good = file.read_bytes()
    at = good.index((77).to_bytes(8, "little"))
    file.write_bytes(good[:at] + b"\x4e" + good[at + 1 :])
    with pytest.raises(tf.errors.CheckpointError, match=rf"{file}: the rows of a record do not match .* at byte 0;"):
        kept(opened())
    file.write_bytes(good[:-3])
    assert kept(opened()) == [[(77, 0)], [(77, 1)]]


def test_folders_of_another_format_are_refused(opened, tmp_path):
    folder = tmp_path / "deep" / "state"
    folder.mkdir(parents=True)
    (folder / "query.json").write_text('{"format": 1}')
    with pytest.raises(tf.errors.CheckpointError, match=r"query\.json but no MANIFEST\.json.*an older version"):
        opened()


def test_a_log_is_read_only_as_it_was_written(opened):
    opened().bind("q")
    with pytest.raises(tf.errors.CheckpointError, match=r"was written as .*append.*, the stream is .*update"):
        opened("update")
    assert opened().query_id == "q", "the refused one has let the folder go"


def test_an_unwritable_folder_is_an_error_of_storage(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(tf.errors.StorageError) as raised:
        BatchLog(tmp_path / "file" / "state", "append", SCHEMA)
    assert isinstance(raised.value, OSError)
    assert str(tmp_path / "file") in str(raised.value.filename)
    assert raised.value.errno is not None


def test_compaction_leaves_the_rows_in_their_order_and_no_tombstones(opened):
    schema = SCHEMA.append(pa.field(DELETE, pa.bool_()))
    batches = [
        batch((1, 10, None), (2, 20, False), (3, 30, None), schema=schema),
        batch((1, 0, True), (9, 0, True), schema=schema),
        batch((2, 21, None), (1, 11, None), (None, 5, None), schema=schema),
        batch((3, 0, True), (3, 31, None), (4, 0, True), schema=schema),
    ]
    log, live = opened("update", schema), tf.Graph()
    kind = mode_of("update", SCHEMA, ["k"], blink=False, ring=None, deletes=True, graph=live, durable=None)
    for number, rows in enumerate(batches):
        log.write(number, rows)
        with live.transaction():
            kind.apply(rows)
        live.step()
    before = kind.table.to_dict()
    assert before == {"k": [2, 3, 1, None], "v": [21, 31, 11, 5]}
    for compacted in (False, True):
        log = opened("update", schema)
        if compacted:
            (one,) = kind.restored(log.read())
            log.write(3, one, whole=True)
            assert one.num_rows == 4
        graph = tf.Graph()
        again = mode_of("update", SCHEMA, ["k"], blink=False, ring=None, deletes=True, graph=graph, durable=None)
        for rows in again.restored(log.read()):
            again.apply(rows)
        graph.step()
        assert again.table.to_dict() == before


def test_the_cost_of_a_batch_does_not_grow_with_their_number(opened):
    log = opened()
    for number in range(300):
        log.write(number, batch((number, 0)))
    kind = mode_of("append", SCHEMA, [], blink=False, ring=None, deletes=False, graph=tf.Graph(), durable=None)
    assert not kind.compacts, "appended batches are never read again"
    assert log.wants_whole(256)
    log.write(299, pa.concat_tables(log.read()), whole=True)
    for number in range(300, 302):
        log.write(number, batch((number, 0)))
        assert not log.wants_whole(1), "what was written since is less than the whole"
