"""Whole frames across the border with Spark."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from decimal import Decimal

import pyarrow as pa
import pytest

import tickframe as tf

pytestmark = pytest.mark.spark

UTC = dt.UTC


def test_a_frame_becomes_a_table_in_the_order_asked_for(spark):
    frame = spark.createDataFrame([(3, "c"), (1, "a"), (None, "n"), (2, "b")], "id long, name string")
    table = tf.spark.from_spark(frame, order_by="id")
    assert not table.is_live
    assert table.to_dicts() == [
        {"id": None, "name": "n"},
        {"id": 1, "name": "a"},
        {"id": 2, "name": "b"},
        {"id": 3, "name": "c"},
    ]


def test_every_type_survives_the_way_in_and_out(spark):
    frame = spark.sql("""
        SELECT 1Y AS i8, 2S AS i16, 3 AS i32, 4L AS i64, 1.5F AS f32, 2.5D AS f64, true AS b, 'text' AS s,
               X'0102' AS bin, DATE'2013-01-02' AS d, TIMESTAMP'2013-01-02 03:04:05.678901' AS t,
               TIMESTAMP_NTZ'2013-01-02 03:04:05' AS n, 12.34BD AS dec, INTERVAL '1 02:03:04' DAY TO SECOND AS dur
        UNION ALL SELECT null, null, null, null, null, null, null, null, null, null, null, null, null, null""")
    table = tf.spark.from_spark(frame, order_by="i64")
    empty, full = table.to_dicts()
    assert set(empty.values()) == {None}
    assert full == {
        "i8": 1,
        "i16": 2,
        "i32": 3,
        "i64": 4,
        "f32": 1.5,
        "f64": 2.5,
        "b": True,
        "s": "text",
        "bin": b"\x01\x02",
        "d": dt.date(2013, 1, 2),
        "t": dt.datetime(2013, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
        "n": dt.datetime(2013, 1, 2, 3, 4, 5),
        "dec": Decimal("12.34"),
        "dur": dt.timedelta(days=1, hours=2, minutes=3, seconds=4),
    }
    back = tf.spark.to_spark(table, spark)
    assert [(field.name, field.dataType) for field in back.schema] == [(f.name, f.dataType) for f in frame.schema]
    assert sorted(map(str, back.collect())) == sorted(map(str, frame.collect()))


def test_lists_and_structs_are_carried(spark):
    frame = spark.sql("SELECT array(1, 2) AS xs, named_struct('a', 1, 'b', 'x') AS s")
    table = tf.spark.from_spark(frame)
    assert table.to_dicts() == [{"xs": [1, 2], "s": {"a": 1, "b": "x"}}]
    assert tf.spark.to_spark(table, spark).collect() == frame.collect()


def test_a_doubled_key_is_named(spark):
    frame = spark.createDataFrame([(1, "a"), (2, "b"), (1, "c")], "id long, name string")
    with pytest.raises(tf.errors.MatchError, match=r"2 rows share the key \{'id': 1\}"):
        tf.spark.from_spark(frame, key="id")


def test_an_unknown_order_is_told_with_the_valid_names(spark):
    with pytest.raises(tf.errors.ColumnNotFoundError, match=r"'time'.*id"):
        tf.spark.from_spark(spark.range(3), order_by="time")


def test_a_stream_is_no_frame_and_a_frame_no_stream(spark):
    stream = spark.readStream.format("rate").load()
    with pytest.raises(tf.errors.InvalidOperationError, match="from_spark_stream"):
        tf.spark.from_spark(stream)
    with pytest.raises(tf.errors.InvalidOperationError, match=r"no stream.*from_spark"):
        tf.spark.from_spark_stream(spark.range(3), mode="append")


def test_what_needs_the_server_says_so(spark):
    with pytest.raises(tf.errors.InvalidOperationError, match="server"):
        tf.spark.from_spark(spark.range(3), via="push")
    with pytest.raises(tf.errors.InvalidOperationError, match="server"):
        tf.spark.from_spark_stream(spark.readStream.format("rate").load(), mode="append", via="sink")
    with pytest.raises(Exception, match=r"tf\.spark\.to_spark"):
        spark.read.format("tickframe").load()


def test_the_data_source_is_light():
    """PySpark imports it in a fresh worker before any query that names a data source."""
    code = (
        "import sys, pyspark_tickframe; print(sorted({'tickframe', 'pandas', 'numpy', 'pyarrow'} & set(sys.modules)))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


def test_columns_and_rows_are_chosen_on_the_way_out(spark):
    table = tf.table({"id": [1, 2, 3], "name": ["a", "b", None]})
    frame = tf.spark.to_spark(table, spark, columns=["name"], where=tf.col("id") >= 2)
    assert frame.columns == ["name"]
    assert sorted(row.name or "" for row in frame.collect()) == ["", "b"]


def test_a_live_table_goes_out_as_it_is_settled(spark):
    graph = tf.Graph()
    live = tf.append_table({"id": tf.Int64}, graph=graph)
    assert tf.spark.to_spark(live, spark).count() == 0
    live.append({"id": [1, 2]})
    graph.step()
    live.append({"id": [3]})
    assert sorted(row.id for row in tf.spark.to_spark(live, spark).collect()) == [1, 2]


def test_nanoseconds_are_never_cut_in_silence(spark):
    fine = tf.table(pa.table({"at": pa.array([1_000, 1_001], pa.timestamp("ns", "UTC"))}))
    with pytest.raises(tf.errors.DataError, match=r"column 'at'.*truncate"):
        tf.spark.to_spark(fine, spark)
    cut = tf.spark.to_spark(fine, spark, on_precision_loss="truncate").collect()
    assert [row.at for row in cut] == [cut[0].at, cut[0].at]
    whole = tf.table(pa.table({"at": pa.array([1_000, 2_000], pa.timestamp("ns", "UTC"))}))
    assert tf.spark.to_spark(whole, spark).count() == 2


def test_types_spark_refuses_are_widened(spark):
    table = tf.table(
        pa.table(
            {
                "u32": pa.array([2**32 - 1], pa.uint32()),
                "u64": pa.array([2**64 - 1], pa.uint64()),
                "f16": pa.array([1.5], pa.float32()).cast(pa.float16()),
                "text": pa.array(["a"], pa.string_view()),
                "day": pa.array([86_400_000], pa.date64()),
            }
        )
    )
    (row,) = tf.spark.to_spark(table, spark).collect()
    assert row.asDict() == {
        "u32": 2**32 - 1,
        "u64": Decimal(2**64 - 1),
        "f16": 1.5,
        "text": "a",
        "day": dt.date(1970, 1, 2),
    }
