"""range_join: aggregates of the rows in a range, as both sides change, and what it says of mistakes."""

from __future__ import annotations

import math
import random

import polars as pl
import pytest

import tickframe as tf
from tickframe import agg
from tickframe.errors import ColumnNotFoundError, DuplicateError, FormulaError, SchemaError, TypeMismatchError

LEFT = {"k": ["a", "a", "b", None], "lo": [10, 15, 0, 0], "hi": [20, 30, 99, 99]}
RIGHT = {"k": ["a", "a", "a", "b", None], "x": [20, 10, 30, None, 5], "v": [1, 2, 4, 8, 16]}


def found(on: str, of: str = "v") -> list[object]:
    return tf.table(LEFT).range_join(tf.table(RIGHT), on, agg.group(f"all = {of}"))["all"].to_list()


def test_rows_stand_in_the_order_of_their_values():
    assert found("k, lo <= x <= hi") == [[2, 1], [1, 4], [], []]
    assert found("k, lo <= x <= hi", "x") == [[10, 20], [20, 30], [], []]
    assert found("lo <= x <= hi", "x") == [[10, 20], [20, 30], [5, 10, 20, 30], [5, 10, 20, 30]]


def test_ends_are_inside_or_not_or_reach():
    assert found("k,lo<x<hi", "x") == [[], [20], [], []]
    assert found("k, lo < x <= hi", "x") == [[20], [20, 30], [], []]
    assert found("k, lo <= x < hi", "x") == [[10], [20], [], []]
    assert found("k, <- lo <= x < hi", "x") == [[10], [10, 20], [], []]
    assert found("k, lo <= x <= hi ->", "x") == [[10, 20], [20, 30], [], []]
    assert found("k, <- lo <= x <= hi ->", "x") == [[10, 20], [10, 20, 30], [], []]
    assert found("k, lo <= x", "x") == [[10, 20, 30], [20, 30], [], []]
    assert found("k, hi > x", "x") == [[10], [10, 20], [], []]
    assert found("k, <- lo <= x", "x") == [[10, 20, 30], [10, 20, 30], [], []]
    assert found("k, hi >= x ->", "x") == [[10, 20], [10, 20, 30], [], []]


def test_bounds_that_are_none():
    left = tf.table({"lo": [None, 2.0, 3.0, math.nan, 2.0], "hi": [2.0, None, 1.0, 1.0, 2.0]})
    right = tf.table({"x": [1.0, 2.0, 3.0, math.nan, None], "v": [1, 2, 4, 8, 16]})
    sums = [agg.sum_("s = v"), agg.group("all = v"), agg.count_("n"), agg.max_("most = v")]
    closed = left.range_join(right, "lo <= x <= hi", sums).to_dict()
    assert closed["s"] == [3, 6, None, None, 2]
    assert closed["all"] == [[1, 2], [2, 4], None, None, [2]]
    assert closed["n"] == [2, 2, None, None, 1]
    opened = left.range_join(right, "lo < x < hi", sums).to_dict()
    assert (opened["s"][4], opened["all"][4], opened["n"][4], opened["most"][4]) == (0, [], 0, None)


def test_expressions_of_aggregates():
    left, right = tf.table(LEFT), tf.table(RIGHT)
    joined = left.range_join(
        right, "k, lo <= x <= hi", [(tf.col("v") * 2).sum() / tf.len(), tf.col("x").mean().alias("m")]
    )
    assert joined.columns == ["k", "lo", "hi", "v", "m"]
    assert joined.to_dict()["v"][:2] == [3.0, 5.0]
    assert joined.to_dict()["m"] == [15.0, 25.0, None, None]
    ago = left.range_join(right, "k, lo <= x <= hi", tf.col("v").shift(1).last().alias("p"))
    assert ago["p"].to_list() == [None, 2, None, None]


def test_frames_plans_and_attributes():
    g = tf.Graph()
    ranges = tf.append_table({"lo": int, "hi": int}, graph=g)
    joined = ranges.range_join(pl.DataFrame({"x": [1, 2, 3]}), "lo <= x <= hi", tf.len().alias("n"))
    ranges.append({"lo": [1, 3], "hi": [2, 3]})
    g.step()
    assert joined["n"].to_list() == [2, 1]
    assert joined.attributes.get("append_only") is True
    again = tf.Plan.from_json(joined.plan.to_json())
    names = list(again.inputs)
    tables = [tf.table({"lo": [0], "hi": [9]}), tf.table({"x": [1, 2, 3]})]
    assert again.run(**dict(zip(names, tables, strict=True)))["n"].to_list() == [3]


KINDS = {
    "sum": (agg.sum_("out = v"), sum),
    "len": (tf.len().alias("out"), len),
    "min": (agg.min_("out = v"), lambda values: min(values, default=None)),
    "max": (agg.max_("out = v"), lambda values: max(values, default=None)),
    "mean": (agg.avg("out = v"), lambda values: sum(values) / len(values) if values else None),
    "first": (agg.first("out = v"), lambda values: values[0] if values else None),
    "last": (agg.last("out = v"), lambda values: values[-1] if values else None),
    "group": (agg.group("out = v"), list),
    "n_unique": (tf.col("v").n_unique().alias("out"), lambda values: len(set(values))),
}


@pytest.mark.parametrize("kind", KINDS)
def test_it_follows_both_sides(kind: str):
    made, wanted = KINDS[kind]
    chance = random.Random(kind)
    g = tf.Graph()
    left = tf.keyed_table({"id": int, "k": str, "lo": int, "hi": int}, key="id", graph=g)
    right = tf.keyed_table({"id": int, "k": str, "x": int, "v": int}, key="id", graph=g)
    joined = left.range_join(right, "k, lo <= x < hi", made)
    for _ in range(60):
        for table, names in ((left, ("lo", "hi")), (right, ("x", "v"))):
            if chance.random() < 0.7:
                ids = chance.sample(range(20), 3)
                row = {"id": ids, "k": [chance.choice("ab") for _ in ids]}
                low = [chance.randrange(20) for _ in ids]
                row |= {names[0]: low, names[1]: [each + chance.randrange(8) for each in low]}
                table.upsert(row)
            if chance.random() < 0.3:
                table.delete(chance.sample(range(20), 2))
        g.step()
        rows = sorted(right.to_dicts(), key=lambda row: row["x"])
        for row in joined.to_dicts():
            inside = [other["v"] for other in rows if other["k"] == row["k"] and row["lo"] <= other["x"] < row["hi"]]
            assert row["out"] == wanted(inside)


def test_mistakes_are_told():
    left, right = tf.table(LEFT), tf.table(RIGHT)
    sums = agg.sum_("s = v")
    for wrong in (
        "x",
        "lo = x",
        "lo < x <",
        "< x < hi",
        "lo < x > hi",
        "lo <- x",
        "lo <= x ->",
        "<- hi >= x",
        "k, ",
        "lo == x",
    ):
        with pytest.raises(
            ValueError, match='range_join: the last of on is a range, "begin < x < end" with < or <= at'
        ):
            left.range_join(right, wrong, sums)
    with pytest.raises(
        ValueError, match="range_join: an end with an arrow is written with <=, not <: '<- lo < x < hi'"
    ):
        left.range_join(right, "<- lo < x < hi", sums)
    with pytest.raises(ValueError, match="range_join: an end with an arrow is written with >=, not >: 'hi > x ->'"):
        left.range_join(right, "hi > x ->", sums)
    with pytest.raises(ValueError, match="range_join: on names a range, at least"):
        left.range_join(right, [], sums)
    with pytest.raises(ColumnNotFoundError, match='range_join: no column "low"'):
        left.range_join(right, "low <= x", sums)
    with pytest.raises(ColumnNotFoundError, match='range_join: no column "y"'):
        left.range_join(right, "lo <= y", sums)
    with pytest.raises(ColumnNotFoundError, match=r'range_join.*"w"'):
        left.range_join(right, "lo <= x", agg.sum_("s = w"))
    with pytest.raises(
        TypeMismatchError, match=r'range_join: the bound "lo" \(Int64\) and the column "k" \(String\) do not'
    ):
        left.range_join(right, "lo <= k", sums)
    with pytest.raises(TypeMismatchError, match="range_join: the keys"):
        left.range_join(right, "k = v, lo <= x", sums)
    with pytest.raises(DuplicateError, match='range_join: column "lo" would appear twice'):
        left.range_join(right, "lo <= x", agg.sum_("lo = v"))
    with pytest.raises(DuplicateError, match='range_join: column "lo" would appear twice'):
        left.range_join(right, "lo <= x", (tf.col("v").sum() + 1).alias("lo"))
    with pytest.raises(DuplicateError, match='range_join: column "s" would appear twice'):
        left.range_join(right, "lo <= x", [sums, sums])
    with pytest.raises(tf.errors.InvalidOperationError, match=r"range_join: .*has one value a row, not one a group"):
        left.range_join(right, "lo <= x", tf.col("v"))
    with pytest.raises((TypeMismatchError, FormulaError), match=r"range_join: .*sum.*String"):
        left.range_join(right, "lo <= x", agg.sum_("s = k"))
    with pytest.raises(SchemaError, match=r"range_join: at least one aggregate is needed \(aggs=\)"):
        left.range_join(right, "lo <= x", [])
    with pytest.raises(TypeError, match="range_join: the other side is a table or a frame, not an int"):
        left.range_join(5, "lo <= x", sums)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="range_join: the name of a column is a str, not an int"):
        left.range_join(right, 5, sums)  # type: ignore[arg-type]
