"""join_now, join_asof_now: each row keeps what it met as it came, and what they say of mistakes."""

from __future__ import annotations

import polars as pl
import pytest

import tickframe as tf
from tickframe.errors import (
    ColumnNotFoundError,
    DuplicateError,
    MatchError,
    SchemaError,
    TableFailedError,
    TypeMismatchError,
)


def test_rows_keep_what_they_met():
    g = tf.Graph()
    orders = tf.keyed_table({"id": int, "sym": str, "size": int}, key="id", graph=g)
    prices = tf.keyed_table({"sym": str, "price": float, "place": str}, key="sym", graph=g)
    bought = orders.join_now(prices, "sym", joins=["price", "at = place"])
    assert bought.columns == ["id", "sym", "size", "price", "at"]
    prices.upsert({"sym": ["A", "B"], "price": [1.0, 2.0], "place": ["x", "y"]})
    orders.upsert({"id": [1, 2, 3], "sym": ["A", "C", None], "size": [10, 20, 30]})
    g.step()
    assert bought["price"].to_list() == [1.0, None, None]
    prices.upsert({"sym": ["A", "C"], "price": [1.5, 3.0], "place": ["z", "z"]})
    orders.upsert({"id": [4], "sym": ["A"], "size": [40]})
    g.step()
    assert bought["price"].to_list() == [1.0, None, None, 1.5]
    orders.upsert({"id": [1, 2], "sym": ["A", "B"], "size": [11, 21]})
    prices.delete(["A"])
    g.step()
    assert bought["price"].to_list() == [1.0, 2.0, None, 1.5]
    assert bought["at"].to_list() == ["x", "y", None, "z"]
    assert bought["size"].to_list() == [11, 21, 30, 40]
    orders.delete([1])
    g.step()
    assert bought["id"].to_list() == [2, 3, 4]


def test_by_time():
    g = tf.Graph()
    trades = tf.append_table({"sym": str, "t": int}, graph=g)
    quotes = tf.append_table({"sym": str, "at": int, "bid": float}, graph=g)
    priced = trades.join_asof_now(quotes, left_on="t", right_on="at", by="sym", tolerance=3)
    later = trades.join_asof_now(quotes, left_on="t", right_on="at", by="sym", strategy="forward")
    follows = trades.join_asof(quotes, left_on="t", right_on="at", by="sym", tolerance=3)
    for quote, trade in [((1, 1.0), 5), ((4, 2.0), 5), ((6, 3.0), 9), ((9, 4.0), 9)]:
        quotes.append({"sym": "A", "at": quote[0], "bid": quote[1]})
        trades.append({"sym": "A", "t": trade})
        g.step()
    assert priced["bid"].to_list() == [None, 2.0, 3.0, 4.0]
    assert later["bid"].to_list() == [None, None, None, 4.0]
    assert follows["bid"].to_list() == [2.0, 2.0, 4.0, 4.0]
    assert priced.attributes.get("append_only") is True


def test_static_tables_frames_and_plans():
    left = tf.table({"k": ["a", "b"], "v": [1, 2]})
    joined = left.join_now(pl.DataFrame({"k": ["b", "b"], "v": [3, 4]}), on="k", suffix="_then", multiple="last")
    assert joined.to_dict() == {"k": ["a", "b"], "v": [1, 2], "v_then": [None, 4]}
    assert "join_now" in str(joined.plan)
    again = tf.Plan.from_json(joined.plan.to_json())
    assert again.run(**dict(zip(again.inputs, [left, left], strict=True)))["v_then"].to_list() == [1, 2]


def test_a_second_match_is_an_error():
    left, twice = tf.table({"k": ["a"]}), tf.table({"k": ["a", "a"], "v": [1, 2]})
    with pytest.raises(
        MatchError, match=r"join_now: the key \(a\) has several rows in the right table; join_now takes at most one"
    ):
        left.join_now(twice, on="k")
    assert left.join_now(twice, on="k", multiple="first")["v"].to_list() == [1]
    g = tf.Graph()
    live = tf.append_table({"k": str}, graph=g)
    joined = live.join_now(twice, on="k")
    live.append({"k": "b"})
    g.step()
    assert len(joined) == 1
    live.append({"k": "a"})
    g.step()
    with pytest.raises(TableFailedError, match=r"the key \(a\) has several rows"):
        joined.to_dict()


def test_mistakes_are_told():
    left, right = tf.table({"k": ["a"], "t": [1]}), tf.table({"k": ["a"], "t": [2]})
    with pytest.raises(DuplicateError, match='join_now: column "t" would appear twice'):
        left.join_now(right, on="k")
    with pytest.raises(ColumnNotFoundError, match='join_now: no column "y"'):
        left.join_now(right, on="y")
    with pytest.raises(TypeMismatchError, match='join_now: the keys "k"'):
        left.join_now(right, on="k = t")
    with pytest.raises(SchemaError, match=r"join_now: at least one key column is needed \(on=\)"):
        left.join_now(right, on=[])
    with pytest.raises(ValueError, match=r'join_now: multiple must be "error", "first" or "last", not .all'):
        left.join_now(right, on="k", multiple="all")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="join_now: the other side is a table or a frame, not an int"):
        left.join_now(5, on="k")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="join_asof_now: give on, or left_on and right_on"):
        left.join_asof_now(right)
    with pytest.raises(TypeError, match="join_asof_now: give on, or left_on and right_on, not both"):
        left.join_asof_now(right, "t", left_on="t")
    with pytest.raises(ValueError, match='join_asof_now: strategy must be "backward", "forward" or "nearest", not'):
        left.join_asof_now(right, "t", strategy="near")  # type: ignore[arg-type]
    with pytest.raises(TypeMismatchError, match="join_asof_now: the stamps"):
        left.join_asof_now(right, "k")
