"""`head_by` and `tail_by`: rows at one end of each group."""

from __future__ import annotations

import re

import polars as pl
import pytest

import tickframe as tf

DATA = {"x": [1, 2, 3, 4, 5, 6], "k": ["a", "b", "a", None, "a", None], "y": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}


@pytest.mark.parametrize("n", [1, 2, 100])
def test_as_polars(n: int) -> None:
    table, frame = tf.table(DATA), pl.DataFrame(DATA)
    groups = frame.group_by("k", maintain_order=True)
    for ours, theirs in (
        (table.head_by(n, "k"), groups.head(n)),
        (table.group_by("k").head(n), groups.head(n)),
        (table.tail_by(n, "k"), groups.tail(n)),
        (table.group_by("k").tail(n), groups.tail(n)),
    ):
        assert ours.columns == theirs.columns
        assert ours.rows() == theirs.rows()


def test_several_and_computed_keys() -> None:
    table = tf.table({"x": [1, 2, 3, 4], "a": [1, 1, 1, 2], "b": [1, 1, 2, 2]})
    assert table.head_by(1, ["b", "a"]).rows() == [(1, 1, 1), (2, 1, 3), (2, 2, 4)]
    odd = table.group_by((tf.col("x") % 2).alias("odd")).tail(1)
    assert odd.select("odd", "x").rows() == [(1, 3), (0, 4)]


def test_live_rows_come_and_go() -> None:
    graph = tf.Graph()
    table = tf.keyed_table({"id": int, "k": str, "v": int}, key="id", graph=graph)
    first, last = table.head_by(2, "k"), table.tail_by(1, "k")
    table.upsert({"id": [1, 2, 3, 4], "k": ["a", "b", "a", "a"], "v": [1, 2, 3, 4]})
    graph.step()
    assert first.rows() == [("a", 1, 1), ("a", 3, 3), ("b", 2, 2)]
    assert last.rows() == [("a", 4, 4), ("b", 2, 2)]
    table.delete([1])
    table.upsert({"id": [3, 5], "k": ["b", "c"], "v": [30, 5]})
    graph.step()
    assert first.rows() == [("a", 4, 4), ("b", 2, 2), ("b", 3, 30), ("c", 5, 5)]
    assert last.rows() == [("a", 4, 4), ("b", 3, 30), ("c", 5, 5)]


def test_as_a_plan() -> None:
    table = tf.table(DATA, name="given")
    plan = tf.Plan.from_json(table.head_by(1, "k").filter(tf.col("k") == "a").plan.to_json())
    assert plan.collect(given=table).rows() == [("a", 1, 1.0)]


@pytest.mark.parametrize(
    ("wrong", "kind", "message"),
    [
        (lambda t: t.head_by(-1, "k"), ValueError, "head_by: n"),
        (lambda t: t.head_by(1.5, "k"), TypeError, "head_by: n"),
        (lambda t: t.head_by(1, "q"), tf.errors.ColumnNotFoundError, 'head_by: no column "q"'),
        (lambda t: t.tail_by(1, []), ValueError, "tail_by: by names a column, at least"),
        (lambda t: t.tail_by(1, 3), TypeError, "tail_by: the name of a column is a str, not"),
        (lambda t: t.group_by("k").head(-1), ValueError, "head: n"),
    ],
)
def test_mistakes_are_told(wrong: object, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=re.escape(message)):
        wrong(tf.table(DATA))  # type: ignore[operator]


def test_rows_of_one_step_are_refused() -> None:
    blink = tf.blink_table({"k": str}, graph=tf.Graph())
    with pytest.raises(tf.errors.InvalidOperationError, match="head_by: the rows of a blink table live for one step"):
        blink.head_by(1, "k")


def test_no_rows_of_each_group() -> None:
    table = tf.table(DATA)
    assert table.head_by(0, "k").rows() == table.tail_by(0, "k").rows() == []
