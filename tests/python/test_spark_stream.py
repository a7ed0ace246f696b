"""Structured Streaming queries as live tables, and all that can go wrong with them."""

from __future__ import annotations

import datetime as dt
import os
import threading
import warnings

import pyarrow as pa
import pytest

import tickframe as tf

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore:.*cannot be taken up again:UserWarning")]

WAIT = 60  # seconds; a deadline for a machine that is busy, never a measure


@pytest.fixture
def graph(running):
    return running


@pytest.fixture
def follow(graph):
    """`from_spark_stream` on the running graph; every feed is stopped at the end."""
    feeds = []

    def start(frame, **options):
        options.setdefault("graph", graph)
        feeds.append(tf.spark.from_spark_stream(frame, **options))
        return feeds[-1]

    yield start
    for feed in feeds:
        feed.stop()


def ids(table):
    return [row["id"] for row in table.to_dicts()]


# The three modes


def test_appended_rows_arrive_a_batch_a_step_in_the_order_asked_for(inbox, follow):
    box = inbox("id long, name string")
    feed = follow(box.stream(), mode="append", order_by="id")
    box.put(pa.table({"id": [2, 1], "name": ["b", "a"]}))
    feed.await_batch(0, WAIT)
    assert feed.table.to_dicts() == [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]
    box.put(pa.table({"id": [4, 3], "name": ["d", "c"]}))
    assert feed.await_batch(1, WAIT) == 1
    assert ids(feed.table) == [1, 2, 3, 4]
    assert (feed.last_batch, feed.error, feed.query.isActive) == (1, None, True)


def test_a_batch_is_one_update(inbox, follow):
    box = inbox("id long")
    feed = follow(box.stream(), mode="append", order_by="id", one_step_per_batch=True)
    seen, complete = [], threading.Event()

    def note(update):
        seen.append(len(update.added))
        if sum(seen) == 70_001:
            complete.set()

    with feed.table.subscribe(note):
        box.put(pa.table({"id": list(range(70_000))}))  # more than one Arrow batch of Spark's
        feed.await_batch(0, WAIT)
        box.put(pa.table({"id": [1]}))
        feed.await_batch(1, WAIT)
        assert complete.wait(WAIT)
    assert seen == [70_000, 1]


def test_rows_of_a_stream_that_come_late_are_told(inbox, follow):
    """Windows over a watermark close by the batches of the query, as Spark's do."""
    box = inbox("at timestamp, clicks long")
    feed = follow(box.stream(), mode="append", order_by="at")
    timely = feed.table.watermark("at", delay="10m")
    hours = timely.group_by_dynamic("at", every="1h", emit="final", late="table").agg(tf.col("clicks").sum())
    start = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
    batches = [[(5, 1), (50, 2)], [(55, 4), (80, 8)], [(58, 16), (75, 32)], [(200, 64)]]
    for batch, rows in enumerate(batches):
        stamps = pa.array([start + dt.timedelta(minutes=minute) for minute, _ in rows], pa.timestamp("us", "UTC"))
        box.put(pa.table({"at": stamps, "clicks": [clicks for _, clicks in rows]}))
        feed.await_batch(batch, WAIT)
    assert hours["clicks"].to_list() == [7, 40]
    assert hours.late["clicks"].to_list() == [16]
    assert hours.counted["late"] == 1


def test_update_keeps_the_last_row_of_each_key(inbox, follow):
    box = inbox("id long, n long")
    feed = follow(box.stream(), mode="update", key="id")
    box.put(pa.table({"id": [1, 2], "n": [10, 20]}))
    feed.await_batch(0, WAIT)
    box.put(pa.table({"id": [2, 3, 2], "n": [21, 30, 22]}))
    feed.await_batch(1, WAIT)
    assert feed.table.to_dicts() == [{"id": 1, "n": 10}, {"id": 2, "n": 22}, {"id": 3, "n": 30}]


def test_update_takes_tombstones(inbox, follow):
    box = inbox("id long, n long, op string")
    feed = follow(box.stream(), mode="update", key="id", delete_when="op = 'D'")
    box.put(pa.table({"id": [1, 2, 3], "n": [10, 20, 30], "op": ["I", None, "I"]}))
    feed.await_batch(0, WAIT)
    box.put(pa.table({"id": [1, 1, 2, 9], "n": [11, 11, 21, 0], "op": ["U", "D", "U", "D"]}))
    feed.await_batch(1, WAIT)
    assert feed.table.to_dicts() == [{"id": 2, "n": 21, "op": "U"}, {"id": 3, "n": 30, "op": "I"}]


def test_an_aggregation_of_sparks_updates_its_groups(inbox, follow):
    box = inbox("id long, k string")
    feed = follow(box.stream().groupBy("k").count(), mode="update", key="k")
    box.put(pa.table({"id": [1, 2, 3], "k": ["a", "b", None]}))
    feed.await_batch(0, WAIT)
    box.put(pa.table({"id": [4], "k": ["a"]}))
    feed.await_batch(1, WAIT)
    assert {row["k"]: row["count"] for row in feed.table.to_dicts()} == {"a": 2, "b": 1, None: 1}


def test_complete_changes_by_the_difference(inbox, follow):
    box = inbox("id long, k string")
    top = box.stream().groupBy("k").count().orderBy("count", ascending=False).limit(2)
    feed = follow(top, mode="complete", key="k")
    box.put(pa.table({"id": [1, 2, 3, 4, 5], "k": ["a", "a", "a", None, None]}))
    feed.await_batch(0, WAIT)
    assert {row["k"]: row["count"] for row in feed.table.to_dicts()} == {"a": 3, None: 2}
    box.put(pa.table({"id": [6] * 4, "k": ["c"] * 4}))
    feed.await_batch(1, WAIT)
    assert {row["k"]: row["count"] for row in feed.table.to_dicts()} == {"a": 3, "c": 4}


def test_complete_without_a_key_is_allowed_and_warned(inbox, follow):
    box = inbox("k string")
    with pytest.warns(UserWarning, match="key="):
        feed = follow(box.stream().groupBy("k").count(), mode="complete")
    box.put(pa.table({"k": ["a", "b"]}))
    feed.await_batch(0, WAIT)
    box.put(pa.table({"k": ["a"]}))
    feed.await_batch(1, WAIT)
    assert {row["k"]: row["count"] for row in feed.table.to_dicts()} == {"a": 2, "b": 1}


def test_on_a_graph_stepped_by_hand_a_batch_waits_for_the_step(inbox, follow):
    graph = tf.Graph()
    box = inbox("id long")
    feed = follow(box.stream(), mode="append", graph=graph)
    box.put(pa.table({"id": [1, 2]}))
    box.put(pa.table({"id": [3]}))
    feed.await_batch(1, WAIT)
    assert len(feed.table) == 0
    graph.step()
    assert ids(feed.table) == [1, 2, 3]


# Exactly once


def test_a_batch_that_comes_again_is_applied_once(spark, inbox, follow):
    box = inbox("id long")
    feed = follow(box.stream(), mode="append")
    box.put(pa.table({"id": [1]}))
    feed.await_batch(0, WAIT)
    feed._foreach_batch(spark.createDataFrame([(1,)], "id long"), 0)
    assert ids(feed.table) == [1]
    assert feed.error is None


def test_a_durable_checkpoint_over_a_forgetful_table_is_refused(inbox, follow, tmp_path):
    box, checkpoint = inbox("id long"), tmp_path / "checkpoint"
    with pytest.warns(UserWarning, match="cannot be taken up again"):
        feed = follow(box.stream(), mode="append", checkpoint=checkpoint)
    box.put(pa.table({"id": [1]}))
    feed.await_batch(0, WAIT)
    feed.query.processAllAvailable()  # Spark's own commit follows ours
    feed.stop()
    box.put(pa.table({"id": [2]}))
    with pytest.raises(tf.errors.GapError) as refused:
        follow(box.stream(), mode="append", checkpoint=checkpoint)
    for part in ("persist=", "fresh checkpoint", "up to 0", str(checkpoint)):
        assert part in str(refused.value)
    with pytest.warns(UserWarning, match="will not send the missing ones again"):
        feed = follow(box.stream(), mode="append", checkpoint=checkpoint, on_gap="ignore")
    feed.await_batch(1, WAIT)
    assert ids(feed.table) == [2]


def test_a_gap_inside_a_run_fails_the_table(spark, inbox, follow):
    box = inbox("id long")
    feed = follow(box.stream(), mode="append")
    box.put(pa.table({"id": [1]}))
    feed.await_batch(0, WAIT)
    with pytest.raises(tf.errors.GapError, match="batch 5 came, the last one in the table is 0"):
        feed._foreach_batch(spark.createDataFrame([(1,)], "id long"), 5)
    assert isinstance(feed.error, tf.errors.GapError)


@pytest.mark.parametrize(
    ("mode", "options", "expected"),
    [
        ("append", {}, [(1, 10), (2, 20), (2, 21), (3, 30)]),
        ("update", {"key": "id"}, [(1, 10), (2, 21), (3, 30)]),
        ("update", {"key": "id", "delete_when": "n = 20"}, [(1, 10), (2, 21), (3, 30)]),
    ],
)
def test_a_table_with_a_memory_is_taken_up_again(inbox, follow, tmp_path, mode, options, expected):
    box = inbox("id long, n long")
    options = {**options, "mode": mode, "checkpoint": tmp_path / "checkpoint", "persist": tmp_path / "state"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        feed = follow(box.stream(), **options)
    box.put(pa.table({"id": [1, 2], "n": [10, 20]}))
    feed.await_batch(0, WAIT)
    feed.query.processAllAvailable()
    feed.stop()
    box.put(pa.table({"id": [2, 3], "n": [21, 30]}))
    feed = follow(box.stream(), **options)
    feed.await_batch(1, WAIT)
    assert [(row["id"], row["n"]) for row in feed.table.to_dicts()] == expected


@pytest.mark.parametrize(
    ("mode", "options", "expected"),
    [
        ("append", {}, [(1, 10), (2, 20), (2, 21), (3, 30)]),
        ("append", {"ring": 3}, [(2, 20), (2, 21), (3, 30)]),
        ("update", {"key": "id"}, [(1, 10), (2, 21), (3, 30)]),
        ("update", {"key": "id", "delete_when": "n = 20"}, [(1, 10), (2, 21), (3, 30)]),
    ],
)
def test_a_durable_table_goes_on_with_its_graph(inbox, follow, tmp_path, mode, options, expected):
    box = inbox("id long, n long")
    options = {**options, "mode": mode, "checkpoint": tmp_path / "checkpoint", "durable": True, "name": "ticks"}
    batches = [([1, 2], [10, 20]), ([2, 3], [21, 30])]
    for number, (keys, values) in enumerate(batches):
        with tf.Graph(durable=tmp_path / "graph", period=0.01) as graph, warnings.catch_warnings():
            warnings.simplefilter("error")
            graph.start()
            feed = follow(box.stream(), graph=graph, **options)
            box.put(pa.table({"id": keys, "n": values}))
            feed.await_batch(number, WAIT)
            feed.query.processAllAvailable()
            feed.stop()
            seen = [(row["id"], row["n"]) for row in feed.table.to_dicts()]
            assert graph.positions["spark/ticks"]["batch"] == number
    assert seen == expected
    # What `tf.restore` makes of the folder is taken up as well, and the feed of a restored graph goes on in it.
    with tf.restore(tmp_path / "graph") as graph:
        graph.start()
        feed = follow(box.stream(), graph=graph, **options)
        assert graph.tables["ticks"] is feed._kind.source
        box.put(pa.table({"id": [4], "n": [40]}))
        feed.await_batch(2, WAIT)
        feed.stop()
        assert (4, 40) in [(row["id"], row["n"]) for row in feed.table.to_dicts()]


@pytest.mark.parametrize("key", [None, "k"])
def test_a_durable_whole_result_goes_on_with_its_graph(inbox, follow, tmp_path, key):
    box = inbox("k string")
    options = {"mode": "complete", "key": key, "checkpoint": tmp_path / "checkpoint", "durable": True, "name": "counts"}
    for number, keys in enumerate([["a", "b"], ["a"]]):
        with tf.Graph(durable=tmp_path / "graph", period=0.01) as graph, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            graph.start()
            feed = follow(box.stream().groupBy("k").count(), graph=graph, **options)
            box.put(pa.table({"k": keys}))
            feed.await_batch(number, WAIT)
            feed.query.processAllAvailable()
            feed.stop()
            seen = {row["k"]: row["count"] for row in feed.table.to_dicts()}
            assert len(feed.table) == 2
    assert seen == {"a": 2, "b": 1}


def test_spark_hears_of_a_durable_batch_only_when_it_is_on_disk(inbox, follow, tmp_path):
    box, checkpoint = inbox("id long"), tmp_path / "checkpoint"
    options = {"mode": "append", "checkpoint": checkpoint, "durable": True, "name": "ticks"}
    graph = tf.Graph(durable=tmp_path / "graph")  # nobody steps it
    feed = follow(box.stream(), graph=graph, **options)
    box.put(pa.table({"id": [1]}))
    feed.await_batch(0, WAIT)
    assert len(feed.table) == 0
    feed.stop()
    assert feed.error is None
    assert not list(checkpoint.glob("commits/0"))
    with pytest.raises(
        tf.errors.InvalidOperationError, match=r"a batch of 'ticks' waits for a step; call graph.step\(\) first"
    ):
        follow(box.stream(), graph=graph, **options)
    graph.close()  # with a last step: the batch is in the folder, and Spark will send it again
    with tf.Graph(durable=tmp_path / "graph", period=0.01) as graph:
        graph.start()
        feed = follow(box.stream(), graph=graph, **options)
        assert ids(feed.table) == [1]
        box.put(pa.table({"id": [2]}))
        feed.await_batch(1, WAIT)
        assert ids(feed.table) == [1, 2]
        feed.stop()


def test_a_durable_batch_that_spark_plans_anew_is_refused(inbox, follow, tmp_path):
    box, checkpoint = inbox("id long"), tmp_path / "checkpoint"
    options = {"mode": "append", "checkpoint": checkpoint, "durable": True, "name": "ticks"}
    with tf.Graph(durable=tmp_path / "graph", period=0.01) as graph:
        graph.start()
        feed = follow(box.stream(), graph=graph, **options)
        box.put(pa.table({"id": [1]}))
        feed.await_batch(0, WAIT)
        feed.query.processAllAvailable()
        feed.stop()
        for lost in [*checkpoint.glob("**/0"), *checkpoint.glob("**/.0.crc")]:
            if lost.is_file():
                lost.unlink()
        box.put(pa.table({"id": [2]}))
        os.utime(box.folder / "000000.parquet", (1_800_000_000, 1_800_000_000))
        feed = follow(box.stream(), graph=graph, **options)
        with pytest.raises(
            tf.errors.TableFailedError, match=r"holds batch 0 as it was read from .* rows would be lost"
        ):
            feed.await_batch(1, WAIT)
        feed.stop()


def test_a_durable_table_of_another_stream_is_refused(inbox, follow, tmp_path):
    box = inbox("id long")
    options = {"mode": "append", "durable": True, "name": "ticks"}
    with tf.Graph(durable=tmp_path / "graph", period=0.01) as graph:
        graph.start()
        feed = follow(box.stream(), graph=graph, checkpoint=tmp_path / "one", **options)
        box.put(pa.table({"id": [1]}))
        feed.await_batch(0, WAIT)
        feed.stop()
        with pytest.raises(tf.errors.CheckpointError, match="every row would come twice"):
            follow(box.stream(), graph=graph, checkpoint=tmp_path / "two", **options)
        with pytest.raises(
            tf.errors.InvalidOperationError, match=r"'ticks' that is no KeyedTable with the key \['id'\]"
        ):
            follow(box.stream(), graph=graph, checkpoint=tmp_path / "one", **{**options, "mode": "update", "key": "id"})
        graph.positions["spark/other"] = 3
        graph.step()
        with pytest.raises(tf.errors.CheckpointError, match=r"positions\['spark/other'\] is none of a stream: 3"):
            follow(box.stream(), graph=graph, checkpoint=tmp_path / "three", **{**options, "name": "other"})


def test_a_batch_that_failed_after_it_was_kept_comes_again_and_is_not_doubled(inbox, follow, tmp_path, monkeypatch):
    box = inbox("id long")
    options = {"mode": "append", "checkpoint": tmp_path / "checkpoint", "persist": tmp_path / "state"}
    feed = follow(box.stream(), **options)
    monkeypatch.setattr(feed, "_settle", lambda _token: 1 / 0)  # dies between our commit and Spark's
    box.put(pa.table({"id": [1]}))
    with pytest.raises(tf.errors.TableFailedError):
        feed.await_batch(0, WAIT)
    feed.stop()
    feed = follow(box.stream(), **options)
    box.put(pa.table({"id": [2]}))
    feed.await_batch(1, WAIT)
    assert ids(feed.table) == [1, 2]


def test_a_batch_that_spark_plans_anew_over_other_offsets_is_refused(inbox, follow, tmp_path):
    box = inbox("id long")
    checkpoint = tmp_path / "checkpoint"
    options = {"mode": "append", "checkpoint": checkpoint, "persist": tmp_path / "state"}
    feed = follow(box.stream(), **options)
    box.put(pa.table({"id": [1]}))
    feed.await_batch(0, WAIT)
    feed.query.processAllAvailable()
    feed.stop()
    # A loss of power took Spark's files of this batch, and more had come by then.
    for lost in [*checkpoint.glob("**/0"), *checkpoint.glob("**/.0.crc")]:
        if lost.is_file():
            lost.unlink()
    box.put(pa.table({"id": [2]}))
    os.utime(box.folder / "000000.parquet", (1_800_000_000, 1_800_000_000))
    feed = follow(box.stream(), **options)
    with pytest.raises(tf.errors.TableFailedError, match=r"holds batch 0 as it was read from .* rows would be lost"):
        feed.await_batch(1, WAIT)
    assert isinstance(feed.error, tf.errors.CheckpointError)


def test_a_memory_of_another_query_is_refused(inbox, follow, tmp_path):
    box = inbox("id long")
    feed = follow(box.stream(), mode="append", checkpoint=tmp_path / "one", persist=tmp_path / "state")
    box.put(pa.table({"id": [1]}))
    feed.await_batch(0, WAIT)
    feed.stop()
    with pytest.raises(tf.errors.CheckpointError, match="every row would come twice"):
        follow(box.stream(), mode="append", checkpoint=tmp_path / "two", persist=tmp_path / "state")
    with pytest.raises(tf.errors.CheckpointError, match="was written as"):
        follow(box.stream(), mode="update", key="id", checkpoint=tmp_path / "one", persist=tmp_path / "state")


# Failures


def test_an_exception_inside_a_batch_is_seen_on_the_feed_and_the_table(inbox, follow):
    box = inbox("id long")
    frame = box.stream().selectExpr("if(id = 13, raise_error('thirteen is not allowed'), id) AS id")
    feed = follow(frame, mode="append")
    box.put(pa.table({"id": [1]}))
    feed.await_batch(0, WAIT)
    box.put(pa.table({"id": [13]}))
    with pytest.raises(tf.errors.TableFailedError, match="thirteen is not allowed") as failed:
        feed.await_batch(1, WAIT)
    assert failed.value.__cause__ is feed.error
    feed._watcher.join(WAIT)
    assert not feed.query.isActive
    assert "failed" in repr(feed)
    with pytest.raises(tf.errors.TableFailedError, match="thirteen is not allowed"):
        feed.table.to_dicts()


def test_a_query_that_dies_between_batches_fails_the_table(spark, follow, tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    feed = follow(spark.readStream.schema("id long").parquet(str(source)), mode="append")
    (source / "broken.parquet").write_bytes(b"this is no Parquet file")
    with pytest.raises(tf.errors.TableFailedError):
        feed.await_batch(0, WAIT)
    assert feed.error is not None


def test_a_batch_whose_schema_changed_is_refused_with_both_schemas(spark, inbox, follow):
    box = inbox("id long, name string")
    feed = follow(box.stream(), mode="append")
    box.put(pa.table({"id": [1], "name": ["a"]}))
    feed.await_batch(0, WAIT)
    changed = spark.createDataFrame([("2", "b")], "id string, name string")
    with pytest.raises(tf.errors.SchemaError) as refused:
        feed._foreach_batch(changed, 1)
    assert "(id bigint, name string)" in str(refused.value)
    assert "(id string, name string)" in str(refused.value)
    assert isinstance(feed.error, tf.errors.SchemaError)


def test_waiting_has_an_end(inbox, follow):
    box = inbox("id long")
    feed = follow(box.stream(), mode="append")
    with pytest.raises(tf.errors.TimeoutError, match=r"batch 0 did not come within 0\.1 s"):
        feed.await_batch(0, 0.1)
    feed.stop()
    feed.stop()
    with pytest.raises(tf.errors.CancelledError, match="ended before batch 0"):
        feed.await_batch(0, WAIT)


def test_a_query_that_ends_by_itself_leaves_the_table(inbox, follow):
    box = inbox("id long")
    box.put(pa.table({"id": [1]}))
    box.put(pa.table({"id": [2]}))
    feed = follow(box.stream(), mode="append", trigger={"availableNow": True})
    feed.await_batch(1, WAIT)
    feed._watcher.join(WAIT)
    assert feed.error is None
    assert ids(feed.table) == [1, 2]


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"mode": "upsert"}, ValueError, "'append', 'update' or 'complete'"),
        ({"mode": "append", "key": "id"}, ValueError, "every row is new"),
        ({"mode": "update"}, ValueError, "needs key="),
        ({"mode": "update", "key": "no"}, tf.errors.ColumnNotFoundError, "'no'.*id, name"),
        ({"mode": "append", "order_by": "no"}, tf.errors.ColumnNotFoundError, "'no'.*id, name"),
        ({"mode": "update", "key": "id", "blink": True}, ValueError, "blink="),
        ({"mode": "append", "delete_when": "true"}, ValueError, "tombstones"),
        ({"mode": "append", "persist": "somewhere"}, ValueError, "checkpoint="),
        ({"mode": "append", "durable": True}, tf.errors.InvalidOperationError, r"tf\.Graph\(durable="),
        ({"mode": "append", "on_gap": "hope"}, ValueError, "'error' or 'ignore'"),
    ],
)
def test_wrong_arguments_are_told_before_anything_starts(spark, inbox, follow, options, error, text):
    box = inbox("id long, name string")
    with pytest.raises(error, match=text):
        follow(box.stream(), **options)
    assert not spark.streams.active
