"""join_where: the pairs of rows that pass, beside polars, and what it says of mistakes."""

from __future__ import annotations

import polars as pl
import pytest

import tickframe as tf
from tickframe import col
from tickframe.errors import (
    ColumnNotFoundError,
    DuplicateError,
    InvalidOperationError,
    ResourceError,
    SchemaError,
    TypeMismatchError,
)

LEFT = {"k": ["a", "b", "a", None], "lo": [1, 4, 6, 0], "hi": [5, 9, None, 9]}
RIGHT = {"k": ["a", "a", "b", None], "x": [2, 7, 5, 3], "f": [1.0, float("nan"), 3.0, None]}

PREDICATES = {
    "an equality": lambda c: [c("k") == c("k_right")],
    "the other way round": lambda c: [c("k_right") == c("k")],
    "an equality and a band": lambda c: [c("k") == c("k_right"), c("lo") <= c("x"), c("x") < c("hi")],
    "one conjunction": lambda c: [(c("k") == c("k_right")) & (c("lo") <= c("x")) & (c("x") < c("hi"))],
    "a band alone": lambda c: [(c("lo") <= c("x")), (c("x") < c("hi"))],
    "an inequality": lambda c: [c("lo") != c("x")],
    "of numbers of two types": lambda c: [c("lo") == c("f")],
    "of sums": lambda c: [c("lo") + 1 == c("x")],
}


@pytest.mark.parametrize("name", PREDICATES)
def test_it_has_the_pairs_of_polars(name: str):
    ours = tf.table(LEFT).join_where(tf.table(RIGHT), *PREDICATES[name](col)).to_polars()
    theirs = pl.DataFrame(LEFT).join(pl.DataFrame(RIGHT), how="cross").filter(*PREDICATES[name](pl.col))
    assert ours.equals(theirs)


def test_pairs_come_change_and_go():
    g = tf.Graph()
    orders = tf.keyed_table({"id": int, "sym": str, "limit": int}, key="id", graph=g)
    quotes = tf.keyed_table({"sym": str, "ask": int}, key="sym", graph=g)
    fits = orders.join_where(quotes, col("sym") == col("sym_right"), col("ask") <= col("limit"))
    assert "join_where" in str(fits.plan)
    orders.upsert({"id": [1, 2, 3], "sym": ["A", "A", "B"], "limit": [10, 20, 30]})
    quotes.upsert({"sym": ["A", "B"], "ask": [15, 40]})
    g.step()
    assert fits["id"].to_list() == [2]
    quotes.upsert({"sym": ["A", "B"], "ask": [9, 30]})
    g.step()
    assert fits["id"].to_list() == [1, 2, 3]
    orders.delete([2])
    quotes.delete(["B"])
    g.step()
    assert fits.to_dicts() == [{"id": 1, "sym": "A", "limit": 10, "sym_right": "A", "ask": 9}]


def test_formulas_and_frames():
    joined = tf.table(LEFT).join_where(pl.DataFrame(RIGHT), tf.formula("k == k_right && x > lo"))
    assert joined.to_dict()["x"] == [2, 7, 5, 7]


def test_mistakes_are_told():
    left, right = tf.table(LEFT), tf.table(RIGHT)
    with pytest.raises(SchemaError, match="join_where: at least one predicate is needed"):
        left.join_where(right)
    with pytest.raises(ColumnNotFoundError, match='join_where: no column "y"'):
        left.join_where(right, col("lo") < col("y"))
    with pytest.raises(TypeMismatchError, match=r"join_where: .*Int64"):
        left.join_where(right, col("lo") + col("x"))
    with pytest.raises(TypeMismatchError, match=r"join_where: .*String"):
        left.join_where(right, col("k") == col("x"))
    with pytest.raises(DuplicateError, match='join_where: column "k" would appear twice'):
        left.join_where(right, col("lo") < col("x"), suffix="")
    with pytest.raises(InvalidOperationError, match=r"join_where: .*reads other rows than the two of a pair"):
        left.join_where(right, col("lo") < col("x").shift(1))
    with pytest.raises(InvalidOperationError, match=r"join_where: .*reads other rows than the two of a pair"):
        left.join_where(right, col("lo") < col("x").max())
    with pytest.raises(TypeError, match="join_where: the other side is a table or a frame, not an int"):
        left.join_where(5, col("lo") < col("x"))  # type: ignore[arg-type]
    many = tf.empty_table(200_000).update("I = i")
    with pytest.raises(ResourceError):
        many.join_where(many.view("J = I"), col("I") < col("J"))
