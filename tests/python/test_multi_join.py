"""multi_join: one row for each key of any table, beside polars' full joins, and what it says of mistakes."""

from __future__ import annotations

import polars as pl
import pyarrow as pa
import pytest

import tickframe as tf
from tickframe.errors import (
    ColumnNotFoundError,
    DuplicateError,
    InvalidOperationError,
    MatchError,
    SchemaError,
    TableFailedError,
    TypeMismatchError,
)

BIDS = {"sym": ["A", "B"], "day": [1, 1], "bid": [1.0, 2.0]}
ASKS = {"sym": ["B", "C"], "day": [1, 2], "ask": [2.5, 3.5]}
SIZES = {"day": [2, 3], "sym": ["C", "A"], "size": [7, 8]}


def test_every_key_has_one_row():
    joined = tf.multi_join([tf.table(BIDS), tf.table(ASKS), pl.DataFrame(SIZES)], on=["sym", "day"])
    assert joined.columns == ["sym", "day", "bid", "ask", "size"]
    frames = [pl.DataFrame(each) for each in (BIDS, ASKS, SIZES)]
    wanted = frames[0]
    for frame in frames[1:]:
        wanted = wanted.join(frame, on=["sym", "day"], how="full", coalesce=True)
    assert joined.to_polars().sort("sym", "day").equals(wanted.select(joined.columns).sort("sym", "day"))
    assert joined["sym"].to_list() == ["A", "B", "C", "A"]
    assert tf.multi_join([tf.table(BIDS)], on=["sym", "day"]).to_dict() == BIDS


def test_numbers_of_different_types_meet():
    small = tf.table({"k": [1, 2], "a": [1, 2]}).cast({"k": tf.Int8})
    joined = tf.multi_join([small, tf.table({"k": [2, 300], "b": [3, 4]})], on="k")
    assert joined.to_dict() == {"k": [1, 2, 300], "a": [1, 2, None], "b": [None, 3, 4]}
    assert joined.schema["k"] == tf.Int64


def test_null_keys():
    one, other = tf.table({"k": [None, "a"], "x": [1, 2]}), tf.table({"k": [None, "b"], "y": [3, 4]}).head(1)
    assert tf.multi_join([one, other], on="k").to_dict() == {"k": [None, "a"], "x": [None, 2], "y": [None, None]}
    equal = tf.multi_join([one, other], on="k", nulls_equal=True)
    assert equal.to_dict() == {"k": [None, "a"], "x": [1, 2], "y": [3, None]}


def test_it_follows_its_inputs():
    g = tf.Graph()
    bids = tf.keyed_table({"sym": str, "bid": float}, key="sym", graph=g)
    asks = tf.keyed_table({"sym": str, "ask": float}, key="sym", graph=g)
    news = tf.blink_table({"sym": str, "text": str}, graph=g)
    prices = tf.multi_join([bids, asks, news], on="sym")
    bids.upsert({"sym": ["A", "B"], "bid": [1.0, 2.0]})
    news.append({"sym": ["C"], "text": ["up"]})
    g.step()
    assert prices.to_dict() == {
        "sym": ["A", "B", "C"],
        "bid": [1.0, 2.0, None],
        "ask": [None] * 3,
        "text": [None, None, "up"],
    }
    asks.upsert({"sym": "B", "ask": 2.5})
    bids.delete(["A"])
    g.step()
    assert prices.to_dicts() == [{"sym": "B", "bid": 2.0, "ask": 2.5, "text": None}]
    assert tf.multi_join([bids, asks, news], on="sym").to_dicts() == prices.to_dicts()
    assert str(prices.plan).count("multi_join") == 1


def test_a_second_row_of_a_key_fails_it():
    twice = tf.table({"k": ["a", "a"], "y": [1, 2]})
    with pytest.raises(
        MatchError, match=r"multi_join: the key \(a\) has several rows in table 1; multi_join takes at most one"
    ):
        tf.multi_join([tf.table({"k": ["b"], "x": [1]}), twice], on="k")
    g = tf.Graph()
    live = tf.append_table({"k": str, "y": int}, graph=g)
    joined = tf.multi_join([live, tf.table({"k": ["b"], "x": [1]})], on="k")
    live.append({"k": ["c", "c"], "y": [1, 2]})
    g.step()
    with pytest.raises(TableFailedError, match=r"the key \(c\) has several rows in table 0"):
        joined.to_dict()


def test_mistakes_are_told():
    a, b = tf.table({"k": ["a"], "x": [1]}), tf.table({"k": ["a"], "x": [2]})
    clash = [tf.table({"k": ["a"], "x": [each]}) for each in range(3)]
    assert tf.multi_join(clash[:2], on="k", suffix="_right").to_dicts() == [{"k": "a", "x": 0, "x_right": 1}]
    with pytest.raises(DuplicateError, match='multi_join: column "x_right" would appear twice'):
        tf.multi_join(clash, on="k", suffix="_right")
    with pytest.raises(DuplicateError, match='multi_join: column "x" would appear twice'):
        tf.multi_join([a, b], on="k")
    with pytest.raises(ColumnNotFoundError, match='multi_join: table 0: no column "y"'):
        tf.multi_join([a, b], on="y")
    with pytest.raises(
        TypeMismatchError, match='multi_join: the key "k" is String in table 0, Int64 in table 1, which do not'
    ):
        tf.multi_join([a, tf.table({"k": [1]})], on="k")
    with pytest.raises(TypeMismatchError, match=r"multi_join: .*Map"):
        tf.multi_join(
            [tf.from_arrow(pa.table({"k": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64()))}))], on="k"
        )
    with pytest.raises(SchemaError, match=r"multi_join: at least one key column is needed \(on=\)"):
        tf.multi_join([a], on=[])
    with pytest.raises(ValueError, match="multi_join: give at least one table"):
        tf.multi_join([], on="k")
    with pytest.raises(TypeError, match=r"multi_join: give a list of tables, multi_join\(\[a, b\], on=...\)"):
        tf.multi_join(a, on="k")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="multi_join: inputs is a list of tables, not an int"):
        tf.multi_join(5, on="k")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="multi_join: each of the inputs is a table or a frame, not an int"):
        tf.multi_join([a, 5], on="k")  # type: ignore[list-item]
    with pytest.raises(TypeError, match="multi_join: the name of a column is a str, not an int"):
        tf.multi_join([a], on=5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="multi_join: nulls_equal is True or False"):
        tf.multi_join([a], on="k", nulls_equal=1)  # type: ignore[arg-type]
    with pytest.raises(InvalidOperationError, match="multi_join: blink tables alone"):
        tf.multi_join([tf.blink_table({"k": str}, graph=tf.Graph())], on="k")
