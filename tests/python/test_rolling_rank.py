"""Ranks within windows, as polars has them; and under changes, as of a table made anew."""

from __future__ import annotations

import random
from typing import Any

import polars as pl
import pytest

import tickframe as tf

METHODS = ("average", "min", "max", "dense")


def column(seed: int, count: int) -> list[float | None]:
    draw = random.Random(seed)
    return [draw.choice([None, float("nan"), -1.0, 0.0, 0.5, 2.0, 2.0, 3.0]) for _ in range(count)]


@pytest.mark.parametrize("least", [1, 2, None])
@pytest.mark.parametrize("size", [2, 3, 8])
@pytest.mark.parametrize("method", METHODS)
def test_ranks_are_those_of_polars(method: Any, size: int, least: int | None) -> None:
    for count in (0, 1, 60):
        frame = pl.DataFrame({"x": column(count, count)}, schema={"x": pl.Float64})
        theirs = frame.select(pl.col("x").rolling_rank(size, method, min_samples=least))["x"].to_list()
        made = tf.table(frame).select(tf.col("x").rolling_rank(size, method, min_samples=least))
        assert made["x"].to_list() == theirs


@pytest.mark.parametrize("method", METHODS)
def test_of_stamps_the_window_is_of_time(method: Any) -> None:
    draw = random.Random(5)
    stamps = sorted(draw.sample(range(100), 40))
    values = column(4, 40)
    made = tf.table({"t": stamps, "x": values}).select(r=tf.col("x").rolling_rank_by("t", 6, method))["r"].to_list()
    for at, stamp in enumerate(stamps):
        seen = [value for when, value in zip(stamps[: at + 1], values, strict=False) if when > stamp - 6]
        rows = tf.table({"x": seen}, schema={"x": float})
        whole = rows.select(r=tf.col("x").rolling_rank(len(seen), method, min_samples=1))["r"].to_list()
        assert made[at] == whole[-1]


def test_within_groups() -> None:
    t = tf.table({"k": ["a", "b", "a", "b", "a"], "x": [3, 1, 5, 0, 4]})
    made = t.select(tf.col("x").rolling_rank(2, "min", min_samples=1).over("k"))
    assert made["x"].to_list() == [1, 1, 2, 1, 1]


@pytest.mark.parametrize("method", METHODS)
def test_they_follow_their_table(method: Any, g: tf.Graph) -> None:
    keyed = tf.keyed_table({"id": int, "k": int, "x": float}, key="id", graph=g)
    ranks = tf.col("x").rolling_rank(3, method, min_samples=1)
    live = keyed.sort("id").select(all=ranks, of_group=ranks.over("k"))
    draw = random.Random(3)
    for step in range(25):
        ids = sorted(draw.sample(range(30), draw.randrange(1, 9)))
        keyed.upsert({"id": ids, "k": [draw.randrange(3) for _ in ids], "x": column(step, len(ids))})
        if step % 3 == 2:
            keyed.delete({"id": draw.sample(range(30), 4)})
        g.step()
        again = tf.table(keyed.sort("id").to_arrow()).select(all=ranks, of_group=ranks.over("k"))
        assert live.to_dict() == again.to_dict()


def test_mistakes_are_told() -> None:
    with pytest.raises(ValueError, match="rolling_rank: method must be 'average', 'min', 'max', 'dense', not 'random'"):
        tf.col("x").rolling_rank(3, "random")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="rolling_rank: give window_size="):
        tf.col("x").rolling_rank()
