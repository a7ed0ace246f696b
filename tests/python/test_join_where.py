"""join_where: the pairs of rows that pass, beside polars, and what it says of mistakes."""

from __future__ import annotations

import random

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

LEFT = {"k": ["a", "b", "a", None], "lo": [1, 4, 6, 0], "hi": [5, 9, None, 9], "g": [2.0, float("nan"), 1.0, None]}
RIGHT = {"k": ["a", "a", "b", None], "x": [2, 7, 5, 3], "f": [1.0, float("nan"), 3.0, None]}

PREDICATES = {
    "an equality": lambda c: [c("k") == c("k_right")],
    "the other way round": lambda c: [c("k_right") == c("k")],
    "an equality and a band": lambda c: [c("k") == c("k_right"), c("lo") <= c("x"), c("x") < c("hi")],
    "one conjunction": lambda c: [(c("k") == c("k_right")) & (c("lo") <= c("x")) & (c("x") < c("hi"))],
    "a band alone": lambda c: [(c("lo") <= c("x")), (c("x") < c("hi"))],
    "below a column": lambda c: [c("x") < c("hi"), c("k") == c("k_right")],
    "between columns of the right": lambda c: [c("x") >= c("lo"), c("f") <= c("g"), c("lo") > c("x") - 3],
    "of floats, with NaN": lambda c: [c("g") >= c("f")],
    "of floats, above": lambda c: [c("f") > c("g"), c("k") != c("k_right")],
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


def test_ranges_of_live_tables_have_the_pairs_of_polars():
    draw, g = random.Random(5), tf.Graph()
    left = tf.keyed_table({"id": int, "k": str, "lo": int, "hi": int}, key="id", graph=g)
    right = tf.keyed_table({"no": int, "k": str, "x": int, "y": int}, key="no", graph=g)
    tests = {
        "between": [col("k") == col("k_right"), col("lo") <= col("x"), col("x") < col("hi")],
        "around": [col("x") <= col("lo"), col("lo") < col("y")],
        "above": [col("y") > col("hi"), col("k") == col("k_right"), col("id") != col("no")],
    }
    live = {name: left.join_where(right, *each) for name, each in tests.items()}
    for _ in range(40):
        for table, key, names in ((left, "id", ["lo", "hi"]), (right, "no", ["x", "y"])):
            for _ in range(draw.randrange(4)):
                row = {key: draw.randrange(12), "k": draw.choice(["a", "b", None])}
                table.upsert({**row, **{name: draw.choice([None, *range(9)]) for name in names}})
            if draw.random() < 0.5:
                held = table[key].to_list()
                table.delete(draw.sample(held, min(len(held), 2)))
        g.step()
        for name, each in tests.items():
            fresh = tf.table(left.to_polars()).join_where(tf.table(right.to_polars()), *each)
            assert live[name].to_polars().equals(fresh.to_polars()), name
    crossed = left.to_polars().join(right.to_polars(), how="cross")
    wanted = crossed.filter(pl.col("x") <= pl.col("lo"), pl.col("lo") < pl.col("y"))
    assert live["around"].to_polars().sort("id", "no").equals(wanted.sort("id", "no"))


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
    with pytest.raises(InvalidOperationError, match=r"join_where: .*depends on more than the two rows of a pair"):
        left.join_where(right, col("lo") < col("x").shift(1))
    with pytest.raises(InvalidOperationError, match=r"join_where: .*depends on more than the two rows of a pair"):
        left.join_where(right, col("lo") < col("x").max())
    with pytest.raises(TypeError, match="join_where: the other side is a table or a frame, not an int"):
        left.join_where(5, col("lo") < col("x"))  # type: ignore[arg-type]
    many = tf.empty_table(200_000).update("I = i")
    with pytest.raises(ResourceError, match="join_where: there are 19999900000 pairs of rows"):
        many.join_where(many.view("J = I"), col("I") < col("J"))
