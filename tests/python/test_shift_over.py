"""Neighbours within groups: ``col("x").shift(n).over("k")``, with polars as the oracle."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal

import polars as pl
import pytest

import tickframe as tf
from tickframe import col


def rows(seed: int, count: int) -> dict[str, list[object]]:
    draw = random.Random(seed)
    return {
        "k": [draw.choice(["a", "b", "c", None]) for _ in range(count)],
        "g": [draw.choice([0.0, -0.0, float("nan"), 1.5]) for _ in range(count)],
        "x": [draw.choice([None, draw.randrange(100)]) for _ in range(count)],
        "s": [draw.choice([None, f"text {draw.randrange(100)} that is longer than twelve"]) for _ in range(count)],
        "t": [dt.datetime(2026, 1, 1, tzinfo=dt.UTC) + dt.timedelta(hours=draw.randrange(9)) for _ in range(count)],
        "d": [draw.choice([None, Decimal(draw.randrange(100)) / 4]) for _ in range(count)],
        "l": [[draw.randrange(3)] * draw.randrange(3) for _ in range(count)],
    }


def shifted(c, n: int) -> list:
    return [
        *(c(name).shift(n).over("k").alias(f"{name}_k") for name in "kgxstdl"),
        c("x").shift(n).over("k", "g").alias("of_both"),
        c("x").shift(-n).over("g").alias("other_side"),
        (c("x") - c("x").shift(n)).over("k").alias("delta"),
        c("x").shift(n, fill_value=-1).over("k").alias("filled"),
    ]


@pytest.mark.parametrize("n", [1, 2, -1, -3, 50, 0])
@pytest.mark.parametrize("count", [0, 1, 7, 300])
def test_static_tables_as_polars_has_it(n: int, count: int) -> None:
    frame = pl.DataFrame(
        rows(n, count),
        schema={
            "k": pl.String, "g": pl.Float64, "x": pl.Int64, "s": pl.String, "t": pl.Datetime("ns", "UTC"),
            "d": pl.Decimal(10, 2), "l": pl.List(pl.Int64),
        },
    )  # fmt: skip
    assert tf.table(frame).with_columns(shifted(col, n)).to_polars().equals(frame.with_columns(shifted(pl.col, n)))


@pytest.mark.parametrize("seed", range(4))
def test_a_live_table_follows_every_change(seed: int) -> None:
    draw = random.Random(seed)
    t = tf.keyed_table({"id": int, "k": str, "x": int}, key="id", graph=tf.Graph())
    made = t.with_columns(
        a=col("x").shift(1).over("k"), b=col("x").shift(-2).over("k"), c=col("x").diff().over(col("x") % 2, "k")
    )
    for _ in range(40):
        ids = draw.sample(range(30), draw.randrange(1, 6))
        if draw.random() < 0.3:
            t.delete({"id": [one for one in ids if one in t["id"].to_list()]})
        else:
            t.upsert({"id": ids, "k": [draw.choice("abc") for _ in ids], "x": [draw.randrange(9) for _ in ids]})
        t.graph.step()
        p = pl.col("x")
        wanted = t.to_polars().with_columns(
            a=p.shift(1).over("k"), b=p.shift(-2).over("k"), c=p.diff().over(p % 2, "k")
        )
        assert made.to_polars().equals(wanted)


def test_rows_whose_neighbour_changed_are_told_and_no_others(g: tf.Graph) -> None:
    source = tf.input_table({"k": str, "x": int}, graph=g)
    made = source.with_columns(p=col("x").shift(1).over("k"))
    updates: list[tf.Update] = []
    with made.subscribe(updates.append):

        def told(**change: object) -> tuple[list[int], list[int], list[str]]:
            source.apply(**change)
            g.step()
            update = updates[-1]
            return update.added.to_numpy().tolist(), update.modified.to_numpy().tolist(), update.modified_columns

        source.apply(added=(range(1000), {"k": ["a", "b", "c", "d"] * 250, "x": list(range(1000))}))
        g.step()
        assert told(modified=([500], {"x": [-1]})) == ([], [500, 504], ["x", "p"])
        assert told(removed=[501]) == ([], [505], ["p"])
        assert told(added=([501], {"k": ["a"], "x": [7]})) == ([501], [504], ["p"])
        # A row that comes to another group: it has another neighbour, and so has the next row of either group.
        assert told(modified=([502], {"k": ["d"]})) == ([], [502, 503, 506], ["k", "p"])
        source.apply(shifted=[(900, 999, 50)])
        g.step()
        assert updates[-1].modified.to_numpy().tolist() == []
        assert updates[-1].shifts


def test_in_filters_views_aggregates_and_formulas(g: tf.Graph) -> None:
    t = tf.append_table({"k": str, "x": int}, graph=g)
    rising = t.filter(col("x") > col("x").shift().over("k"))
    view = t.update_view(col("x").shift().over("k").alias("p"))
    total = t.group_by("k").agg(steps=col("x").diff().over("k").sum())
    text = t.update(col("x").shift().over("k").alias("p"), "q = p * 2")
    most = t.select((col("x") - col("x").shift()).max().over("k").alias("m"))
    t.append({"k": ["a", "b", "a", "b"], "x": [1, 5, 3, 4]})
    g.step()
    t.append({"k": ["a", "b"], "x": [2, 6]})
    g.step()
    assert rising["x"].to_list() == [3, 6]
    assert view["p"].to_list() == [None, None, 1, 5, 3, 4]
    assert dict(zip(total["k"].to_list(), total["steps"].to_list(), strict=True)) == {"a": 1, "b": 1}
    assert text["q"].to_list() == [None, None, 2, 10, 6, 8]
    assert most["m"].to_list() == [2, 2, 2, 2, 2, 2]
    assert "\0" not in text.explain()
    assert 'col("x").shift(1).over(col("k"))' in text.explain()


def test_rows_that_live_for_one_step_have_neighbours_among_themselves(g: tf.Graph) -> None:
    t = tf.blink_table({"k": str, "x": int}, graph=g)
    made = t.with_columns(p=col("x").shift().over("k"))
    t.append({"k": ["a", "b", "a"], "x": [1, 2, 3]})
    g.step()
    assert made["p"].to_list() == [None, None, 1]
    t.append({"k": ["a"], "x": [4]})
    g.step()
    assert made["p"].to_list() == [None]


def test_attributes_and_types_are_those_of_a_shifted_column(g: tf.Graph) -> None:
    t = tf.append_table({"k": str, "x": tf.Int16}, graph=g)
    back, ahead = (t.with_columns(p=col("x").shift(n).over("k")) for n in (1, -1))
    assert back.attributes.get("append_only")
    assert not ahead.attributes.get("append_only")
    assert back.schema["p"] == t.with_columns(p=col("x").shift()).schema["p"] == tf.Int16


def test_what_is_refused_says_why() -> None:
    t = tf.table({"k": ["a"], "x": [1], "l": [{"a": 1}]})
    with pytest.raises(tf.errors.ColumnNotFoundError, match='"q"') as told:
        t.with_columns(y=col("q").shift().over("k"))
    assert "\0" not in str(told.value)
    with pytest.raises(tf.errors.ColumnNotFoundError, match='"q"'):
        t.with_columns(y=col("x").shift().over("q"))
    with pytest.raises(tf.errors.InvalidOperationError, match="make the expression a column first"):
        t.with_columns(y=(col("x") * 2).shift().over("k"), on_error="null")
