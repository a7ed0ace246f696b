"""Values beside others of their column, as polars has them; and under changes, as of a table made anew."""

from __future__ import annotations

import random
from typing import Any

import polars as pl
import pytest

import tickframe as tf

BINS: list[float] = [-1, 0.5, 2]
SAME: dict[str, Any] = {
    "first": lambda m: m.col("x").is_first_distinct(),
    "last": lambda m: m.col("x").is_last_distinct(),
    "first text": lambda m: m.col("s").is_first_distinct(),
    "greater": lambda m: m.col("u").peak_max(),
    "less": lambda m: m.col("u").peak_min(),
    "of integers": lambda m: m.col("n").peak_max(),
    "bins": lambda m: m.col("x").cut(BINS).cast(m.String),
    "closed bins": lambda m: m.col("x").cut(BINS[::-1], left_closed=True).cast(m.String),
    "named bins": lambda m: m.col("n").cut(BINS, labels=["a", "b", "c", "d"]).cast(m.String),
    "one bin": lambda m: m.col("n").cut([], labels=["all"]).cast(m.String),
    "quantiles": lambda m: m.col("u").qcut([0.25, 0.5], labels=["a", "b", "c"]).cast(m.String),
    "quantiles, closed": lambda m: m.col("u").qcut([0.9, 0.1], labels=["a", "b", "c"], left_closed=True).cast(m.String),
    "quantiles, thirds": lambda m: m.col("u").qcut(3, labels=["a", "b", "c"]).cast(m.String),
    "over": lambda m: m.col("n").is_first_distinct().over("s"),
    "peaks over": lambda m: m.col("n").peak_max().over("s"),
    "several": lambda m: m.col("x", "n").is_first_distinct(),
}


def rows(seed: int, count: int) -> dict[str, list[Any]]:
    draw = random.Random(seed)
    return {
        "x": [draw.choice([None, float("nan"), -1.5, -1.0, 0.0, 0.5, 2.0, 3.0, float("inf")]) for _ in range(count)],
        "n": [draw.choice([-1, 0, 1, 2, 3, 3]) for _ in range(count)],
        "u": draw.sample(range(-500, 500), count),
        "s": [draw.choice([None, "a", "b"]) for _ in range(count)],
    }


PEAKS = {"greater", "less", "of integers", "peaks over"}
"""What polars has of ends by comparing with 0."""


@pytest.mark.parametrize(
    ("which", "count"),
    [
        (which, count)
        for which in SAME
        if which not in PEAKS
        for count in (0, 1, 2, 40)
        if "quantiles" not in which or count > 2
    ],
)
def test_values_are_those_of_polars(which: str, count: int) -> None:
    schema = {"x": pl.Float64, "n": pl.Int64, "u": pl.Int64, "s": pl.String}
    frame = pl.DataFrame(rows(count, count), schema=schema)
    made = tf.table(frame).select(SAME[which](tf)).to_dict()
    assert pl.DataFrame(made, schema=frame.select(SAME[which](pl)).schema).equals(frame.select(SAME[which](pl)))


@pytest.mark.parametrize(
    "values", [[], [3], [1, 2], [2, 1], [2, 2], [3, 1, 3, 2, 2, 5], [-5, -2, -9, -9, -1, -3], [0.5, -0.5, 0]]
)
def test_peaks_are_greater_than_each_neighbour(values: list[float]) -> None:
    def peaks(sign: int) -> list[bool]:
        signed = [sign * value for value in values]
        beside = [signed[max(at - 1, 0) : at] + signed[at + 1 : at + 2] for at in range(len(signed))]
        return [bool(near) and all(value > each for each in near) for value, near in zip(signed, beside, strict=True)]

    x = tf.col("x")
    made = tf.table({"x": values}, schema={"x": float}).select(top=x.peak_max(), low=x.peak_min()).to_dict()
    assert made == {"top": peaks(1), "low": peaks(-1)}


def test_peaks_within_groups() -> None:
    t = tf.table({"k": ["a", "b", "a", "b", "a", "c"], "x": [1, 5, 3, 4, 2, 9]})
    assert t.select(tf.col("x").peak_max().over("k")).to_dict() == {"x": [False, True, True, False, False, False]}


@pytest.mark.parametrize("which", SAME)
def test_they_follow_their_table(which: str, g: tf.Graph) -> None:
    keyed = tf.keyed_table({"id": int, "x": float, "n": int, "u": int, "s": str}, key="id", graph=g)
    derived = keyed.sort("id").select(SAME[which](tf))
    draw = random.Random(7)
    for step in range(30):
        ids = sorted(draw.sample(range(40), draw.randrange(1, 12)))
        keyed.upsert({"id": ids, **rows(step, len(ids))})
        if step % 3 == 2:
            keyed.delete({"id": draw.sample(range(40), 5)})
        g.step()
        again = tf.table(keyed.sort("id").to_arrow()).select(SAME[which](tf))
        assert repr(derived.to_dict()) == repr(again.to_dict())


MISTAKES: dict[str, tuple[Any, type[Exception], str]] = {
    "a text": (lambda x: x.cut("12"), TypeError, "cut: breaks is a list of numbers, not"),
    "texts": (lambda x: x.cut(["1"]), TypeError, "cut: breaks is a list of numbers; '1' is none"),
    "twice": (lambda x: x.cut([1, 2, 1]), ValueError, "cut: breaks has 1 twice"),
    "NaN": (lambda x: x.cut([float("nan")]), ValueError, "cut: breaks has NaN"),
    "labels": (lambda x: x.cut([1], labels=["a"]), ValueError, "cut: 2 bins need as many labels, not 1"),
    "no labels": (lambda x: x.cut([1], labels=[1, 2]), TypeError, "cut: labels is a list of texts; 1 is none"),
    "outside": (lambda x: x.qcut([0.5, 2], labels=["a"] * 3), ValueError, "qcut: a quantile is from 0 to 1, not 2"),
    "too many": (lambda x: x.cut(range(1000)), ValueError, "cut: breaks parts more than 1,000 bins"),
    "no bins": (lambda x: x.qcut(0, labels=["a"]), ValueError, "qcut: the number of bins is from 1 to 1,000, not 0"),
}


@pytest.mark.parametrize("which", MISTAKES)
def test_mistakes_are_told(which: str) -> None:
    call, kind, told = MISTAKES[which]
    with pytest.raises(kind, match=told):
        call(tf.col("x"))


def test_a_thousand_bins() -> None:
    t = tf.table({"x": [-1, 500, 5000]})
    assert t.select(tf.col("x").cut(list(range(999)))).to_dict() == {"x": ["(-inf, 0]", "(499, 500]", "(998, inf]"]}
