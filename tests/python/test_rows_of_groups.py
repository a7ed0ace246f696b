"""What reads other rows inside an aggregate, or over groups: rows of the group, as polars has it; and under changes."""

from __future__ import annotations

import datetime as dt
import random
from typing import Any

import polars as pl
import pytest

import tickframe as tf
from tickframe.errors import InvalidOperationError


def x(m: Any) -> Any:
    return m.col("x")


AGGREGATES: dict[str, Any] = {
    "differences": lambda m: x(m).diff().max(),
    "shifted": lambda m: (x(m) - x(m).shift(1)).sum(),
    "shifted ahead": lambda m: x(m).shift(-1).first(),
    "running": lambda m: x(m).cum_sum().last(),
    "running, times": lambda m: (x(m).cum_sum() * 2).max(),
    "ranks": lambda m: (x(m).rank() * m.col("y")).sum(),
    "windows": lambda m: x(m).rolling_sum(2).max(),
    "filled": lambda m: m.col("z").forward_fill().sum(),
    "off the mean": lambda m: (x(m) - x(m).mean()).max(),
    "squares off the mean": lambda m: ((x(m) - x(m).mean()) * (x(m) - x(m).mean())).sum(),
    "duplicates": lambda m: x(m).is_duplicated().any(),
    "once": lambda m: x(m).is_unique().sum().cast(m.Int64),
    "first of its equals": lambda m: x(m).is_first_distinct().sum().cast(m.Int64),
    "those once": lambda m: x(m).filter(x(m).is_unique()).sum(),
    "above the mean": lambda m: x(m).filter(x(m) > x(m).mean()).count().cast(m.Int64),
    "over others": lambda m: x(m).sum().over("y").max(),
    "two": lambda m: x(m).diff().sum() + x(m).cum_max().min(),
    "of what is in order": lambda m: x(m).shift(1).drop_nulls().last(),
}
OVER: dict[str, Any] = {
    **{name: lambda m, of=of: of(m).over("k") for name, of in AGGREGATES.items()},
    "duplicates, a row": lambda m: x(m).is_duplicated().over("k"),
    "once, a row": lambda m: x(m).is_unique().over("k"),
    "over, over": lambda m: (x(m).sum().over("y") * 2).over("k"),
    "over, over over": lambda m: (x(m).sum().over("y") + x(m).max()).over("k").max().over("z"),
    "running over, over": lambda m: x(m).cum_sum().over("y").over("k"),
    "running, over over": lambda m: (x(m).cum_sum() - x(m).sum().over("y")).over("k"),
    "same again": lambda m: x(m).sum().over("k").over("k"),
}


def near(columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Columns whose floats are rounded, for sums in another order."""
    return {
        name: [round(each, 9) if isinstance(each, float) else each for each in values]
        for name, values in columns.items()
    }


def rows(seed: int, count: int) -> dict[str, list[Any]]:
    draw = random.Random(seed)
    return {
        "k": [draw.choice(["a", "b", "c", None]) for _ in range(count)],
        "x": [draw.randrange(8) for _ in range(count)],
        "y": [draw.randrange(3) for _ in range(count)],
        "z": [draw.choice([None, 1, 2]) for _ in range(count)],
    }


SCHEMA = {"k": pl.String, "x": pl.Int64, "y": pl.Int64, "z": pl.Int64}


@pytest.mark.parametrize("count", [1, 2, 60])
@pytest.mark.parametrize("which", AGGREGATES)
def test_aggregates_read_rows_of_their_group(which: str, count: int) -> None:
    frame, of = pl.DataFrame(rows(count, count), schema=SCHEMA), AGGREGATES[which]
    theirs = frame.group_by("k", maintain_order=True).agg(of(pl).alias("v"))
    table = tf.table(frame)
    assert near(table.group_by("k").agg(of(tf).alias("v")).to_dict()) == near(theirs.to_dict(as_series=False))
    assert near(table.agg_by(of(tf).alias("v"), "k").to_dict()) == near(theirs.to_dict(as_series=False))


@pytest.mark.parametrize("which", AGGREGATES)
def test_without_keys_all_rows_are_one_group(which: str) -> None:
    frame, of = pl.DataFrame(rows(5, 60), schema=SCHEMA), AGGREGATES[which]
    theirs = frame.select(of(pl).alias("v")).to_dict(as_series=False)
    assert near(tf.table(frame).agg_by(of(tf).alias("v")).to_dict()) == near(theirs)


def test_keys_may_be_computed() -> None:
    frame = pl.DataFrame(rows(5, 60), schema=SCHEMA)
    theirs = frame.group_by((pl.col("y") % 2).alias("odd"), "k", maintain_order=True).agg(pl.col("x").diff().sum())
    made = tf.table(frame).group_by((tf.col("y") % 2).alias("odd"), "k").agg(tf.col("x").diff().sum())
    assert made.to_dict() == theirs.to_dict(as_series=False)


@pytest.mark.parametrize("count", [1, 2, 60])
@pytest.mark.parametrize("which", OVER)
def test_over_is_within_over(which: str, count: int) -> None:
    frame, of = pl.DataFrame(rows(count, count), schema=SCHEMA), OVER[which]
    theirs = frame.select(of(pl).alias("v")).to_dict(as_series=False)
    assert near(tf.table(frame).select(of(tf).alias("v")).to_dict()) == near(theirs)


@pytest.mark.parametrize("which", [*AGGREGATES, *(name for name in OVER if name not in AGGREGATES)])
def test_they_follow_their_table(which: str, g: tf.Graph) -> None:
    def derived(of: tf.Table) -> tf.Table:
        if which in AGGREGATES:
            return of.group_by("k").agg(AGGREGATES[which](tf).alias("v")).sort("k")
        return of.select(OVER[which](tf).alias("v"))

    keyed = tf.keyed_table({"id": int, "k": str, "x": int, "y": int, "z": int}, key="id", graph=g)
    live = derived(keyed.sort("id"))
    draw = random.Random(11)
    for step in range(25):
        ids = sorted(draw.sample(range(30), draw.randrange(1, 9)))
        keyed.upsert({"id": ids, **rows(step, len(ids))})
        if step % 3 == 2:
            keyed.delete({"id": draw.sample(range(30), 4)})
        g.step()
        again = derived(tf.table(keyed.sort("id").to_arrow()))
        assert near(live.to_dict()) == near(again.to_dict())


def test_of_a_pivot_rows_are_those_of_the_cell() -> None:
    t = tf.table({"k": ["a", "a", "a", "b"], "on": ["u", "v", "u", "u"], "x": [1, 100, 4, 9]})
    made = t.pivot("on", ["u", "v"], index="k", values="x", aggregate_function=lambda of: of.diff().sum())
    assert made.rows() == [("a", 3, 0), ("b", 0, 0)]


WINDOWED: dict[str, Any] = {
    "group_by_dynamic": lambda t, of: t.group_by_dynamic("t", every="10s").agg(of),
    "rolling": lambda t, of: t.rolling("t", period="5s").agg(of),
    "session": lambda t, of: t.session("t", gap="5s").agg(of),
}


@pytest.mark.parametrize("which", WINDOWED)
def test_windows_refuse_what_reads_other_rows(which: str) -> None:
    t = tf.table({"t": [dt.datetime(2024, 1, 1, second=at) for at in (1, 2, 30)], "x": [1, 5, 9]})
    with pytest.raises(
        InvalidOperationError,
        match=r"diff\(1\)\.max\(\) .* is not available within windows; make it a column before",
    ):
        WINDOWED[which](t, tf.col("x").diff().max())
    before = t.with_columns(d=tf.col("x").diff())
    assert WINDOWED[which](before, tf.col("d").max()).height > 0


def test_a_rank_of_what_reads_other_rows_is_in_the_order_of_the_rows() -> None:
    frame = pl.DataFrame({"k": ["a", "b", "a", "a", "b"], "x": [4, None, 3, 9, 5]})

    def ranks(m: Any) -> list[Any]:
        of = [x(m).shift(1).rank(), x(m).diff().rank("min"), x(m).shift(1).rank("dense").over("k")]
        return [each.cast(m.Float64).alias(str(at)) for at, each in enumerate(of)]

    assert tf.table(frame).select(ranks(tf)).to_dict() == frame.select(ranks(pl)).to_dict(as_series=False)
