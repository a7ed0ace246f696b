"""Random expressions over groups, beside polars: whatever reads other rows inside an aggregate, under `over`, or in its keys."""

from __future__ import annotations

import math
import os
import random
from typing import Any

import polars as pl
import pytest

import tickframe as tf

AGGREGATES = ["sum", "mean", "min", "max", "count", "n_unique", "first", "last", "std", "var", "median", "null_count"]
COUNTS = {"count", "n_unique", "null_count"}
OF_ROWS = ["cum_sum", "cum_max", "cum_min", "cum_count", "diff", "shift", "forward_fill", "backward_fill", "rank"]
OF_ROWS += ["is_unique", "is_duplicated", "is_null", "is_first_distinct", "is_last_distinct"]
SCHEMA = {"k": pl.String, "g": pl.Int64, "x": pl.Int64, "y": pl.Float64}


def rows(draw: random.Random) -> pl.DataFrame:
    count = draw.choice([0, 1, 2, 7, 20])
    values = {
        "k": [draw.choice(["a", "b", "c", None]) for _ in range(count)],
        "g": [draw.randrange(3) for _ in range(count)],
        "x": [draw.choice([None, *range(-3, 6)]) for _ in range(count)],
        "y": [draw.choice([None, None, float("nan"), -1.5, 0.0, 0.5, 2.25, 7.0]) for _ in range(count)],
    }
    return pl.DataFrame(values, schema=SCHEMA)


def a_row(m: Any, draw: random.Random, depth: int) -> Any:
    """One value a row."""
    kind = draw.random()
    if depth == 0 or kind < 0.3:
        return m.col(draw.choice(["x", "y", "g"]))
    inner = a_row(m, draw, depth - 1)
    if kind < 0.5:
        other, operator = a_row(m, draw, depth - 1), draw.choice("+-*")
        return inner + other if operator == "+" else inner - other if operator == "-" else inner * other
    if kind < 0.75:
        name = draw.choice(OF_ROWS)
        made = getattr(inner, name)()
        number = m.Int64 if name.startswith("is_") else m.Float64
        return made.cast(number) if name.startswith("is_") or name in {"cum_count", "rank"} else made
    if kind < 0.85:
        return inner.over("g") if draw.random() < 0.5 else a_group(m, draw, depth - 1).over(draw.choice(["g", "k"]))
    if kind < 0.93:
        condition = a_row(m, draw, depth - 1) > draw.choice([0, 1])
        return m.when(condition).then(inner).otherwise(a_row(m, draw, depth - 1))
    return inner.fill_null(draw.choice([0, 1]))


def a_group(m: Any, draw: random.Random, depth: int) -> Any:
    """One value a group."""
    of = a_row(m, draw, depth)
    if draw.random() < 0.25:
        of = of.filter(a_row(m, draw, max(depth - 1, 0)) > 0)
    name = draw.choice(AGGREGATES)
    made = getattr(of, name)()
    return made.cast(m.Int64) if name in COUNTS else made


def near(ours: list[Any], theirs: list[Any]) -> bool:
    """Whether values are the same, floats but for the order in which they are added up."""

    def same(one: Any, other: Any) -> bool:
        if one is None or other is None:
            return one is other
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-7) or (math.isnan(one) and math.isnan(other))

    return len(ours) == len(theirs) and all(map(same, ours, theirs))


def asked(m: Any, of: Any, way: str, number: int) -> list[Any]:
    draw = random.Random(number)
    if way == "over":
        return list(of.select(a_row(m, draw, 3).over("k").alias("v"))["v"].to_list())
    made = a_group(m, draw, 3).alias("v")
    if way == "whole":
        return list((of.select(made) if m is pl else of.agg_by(made))["v"].to_list())
    return list(of.group_by("k", maintain_order=True).agg(made)["v"].to_list())


@pytest.mark.parametrize("part", range(8))
def test_values_are_those_of_polars(part: int) -> None:
    seed = int(os.environ.get("TICKFRAME_SEED", "0")) + part
    draw, compared = random.Random(seed), 0
    for _ in range(150):
        frame, way, number = rows(draw), draw.choice(["groups", "over", "whole"]), draw.randrange(1 << 40)
        if way == "whole" and frame.is_empty():
            continue  # no row, where polars has one
        try:
            theirs = asked(pl, frame, way, number)
        except pl.exceptions.PolarsError:
            continue  # Booleans are not summed, and their like
        shown = a_row(tf, random.Random(number), 3) if way == "over" else a_group(tf, random.Random(number), 3)
        ours = asked(tf, tf.table(frame), way, number)
        assert near(ours, theirs), f"{way}, seed {seed}: {shown!r} of {frame.to_dicts()}: {ours}, and not {theirs}"
        compared += 1
    assert compared > 75
