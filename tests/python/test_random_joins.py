"""Random joins, orders and shapes beside polars, over static tables and live ones that change."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

import tickframe as tf
from beside_polars import Changing, beside, numbers

START = dt.datetime(1969, 12, 31, 23, 59, 55, tzinfo=dt.UTC)
NAN = float("nan")
LEFT = {
    "a": pl.Int64, "n": pl.Int8, "f": pl.Float64, "s": pl.String, "c": pl.Categorical, "p": pl.Decimal(9, 2),
    "t": pl.Datetime("ns", "UTC"), "d": pl.Date, "b": pl.Boolean, "v": pl.Int64, "q": pl.List(pl.Int64),
}  # fmt: skip
#: The same names in types that compare with those.
RIGHT = {
    "a": pl.Int32, "n": pl.UInt16, "f": pl.Float32, "s": pl.String, "c": pl.Categorical, "p": pl.Decimal(9, 2),
    "t": pl.Datetime("ms", "UTC"), "d": pl.Date, "b": pl.Boolean, "v": pl.Int64, "w": pl.Float64,
}  # fmt: skip
MAKERS = {
    "a": lambda draw: draw.choice([None, *range(-1, 4)]),
    "n": lambda draw: draw.choice([None, 0, 1, 2]),
    "f": lambda draw: draw.choice([None, NAN, 0.0, -0.0, 1.0, 2.0, 0.5]),
    "s": lambda draw: draw.choice([None, "", "a", "b", "a long text of many letters"]),
    "c": lambda draw: draw.choice([None, "x", "y"]),
    "p": lambda draw: draw.choice([None, Decimal("0.50"), Decimal("1.00"), Decimal("-2.25")]),
    "t": lambda draw: draw.choice([None, *(START + dt.timedelta(seconds=at) for at in range(10))]),
    "d": lambda draw: draw.choice([None, dt.date(1970, 1, 1), dt.date(1969, 2, 28)]),
    "b": lambda draw: draw.choice([None, True, False]),
    "v": lambda draw: draw.randrange(100),
    "q": lambda draw: draw.choice([None, [], [1], [1, None, 3]]),
    "w": lambda draw: draw.choice([None, 0.5, 1.5, NAN]),
}  # fmt: skip
#: In what keys of both sides meet: polars wants the types to be the same, ours compare as the numbers that they are.
MEET = {
    "a": pl.Int64, "n": pl.Int32, "f": pl.Float64, "t": pl.Datetime("ns", "UTC"),
}  # fmt: skip

Case = tuple[Callable[[tf.Table, tf.Table], tf.Table], Callable[[pl.DataFrame, pl.DataFrame], pl.DataFrame], str, bool]


def alike(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.cast({name: kind for name, kind in MEET.items() if name in frame.columns})


def joined(draw: random.Random) -> Case:
    how = draw.choice(["inner", "left", "right", "full", "semi", "anti"])
    on = draw.sample(["a", "n", "f", "s", "c", "p", "t", "d", "b"], draw.choice([1, 1, 2, 3]))
    named: dict[str, Any] = {"nulls_equal": draw.random() < 0.5, "suffix": draw.choice(["_right", "_r"])}
    if how not in ("semi", "anti"):
        named["coalesce"] = draw.choice([None, True, False])
    order = "right_left" if how == "right" else "left_right"
    return (
        lambda a, b: a.join(b, on, how, **named),
        lambda a, b: alike(a).join(alike(b), on=on, how=how, maintain_order=order, **named),
        f"join({on}, {how}, {named})", True,
    )  # fmt: skip


def member(draw: random.Random) -> Case:
    on = draw.sample(["a", "n", "f", "s", "c", "p", "t", "d", "b"], draw.choice([1, 1, 2]))
    equal, inside = draw.random() < 0.5, draw.random() < 0.5
    return (
        lambda a, b: (a.where_in if inside else a.where_not_in)(b, on, nulls_equal=equal),
        lambda a, b: alike(a).join(
            alike(b), on=on, how="semi" if inside else "anti", nulls_equal=equal, maintain_order="left"
        ),
        f"where_in({on}, {equal}, {inside})", True,
    )  # fmt: skip


def as_of(draw: random.Random) -> Case:
    """Rows by the nearest stamp. Polars wants both sides in order, and lets NaN match; a null stamp matches nothing."""
    on = draw.choice(["t", "a", "f", "d", "v"])
    strategy = draw.choice(["backward", "forward", "nearest"])
    by = draw.choice([None, None, ["s"], ["n"], ["s", "b"]])
    named: dict[str, Any] = {"strategy": strategy, "by": by, "allow_exact_matches": draw.random() < 0.8}
    if draw.random() < 0.4:
        named["tolerance"] = {"t": dt.timedelta(seconds=1), "d": dt.timedelta(days=2), "f": 0.5}.get(on, 2)

    def theirs(a: pl.DataFrame, b: pl.DataFrame) -> pl.DataFrame:
        one, other = alike(a).with_row_index("at"), alike(b)
        usable = pl.col(on).is_not_null() & (pl.col(on).is_not_nan() if on == "f" else True)
        for each in by or ():
            usable &= pl.col(each).is_not_null()
        there, rest = one.filter(usable), one.filter(~usable)
        made = there.sort(on, maintain_order=True).join_asof(
            other.filter(usable).sort(on, maintain_order=True), on=on, check_sortedness=False, **named
        )
        return pl.concat([made, rest], how="diagonal_relaxed").sort("at").drop("at")

    return lambda a, b: a.join_asof(b, on, **named), theirs, f"join_asof({on}, {named})", True


def where(draw: random.Random) -> Case:
    tests = []
    for _ in range(draw.choice([1, 1, 2, 3])):
        one = draw.choice(["a", "f", "v", "n", "t", "s"])
        tests.append((one, draw.choice(["eq", "lt", "le", "gt", "ge", "ne"])))

    def made(m: Any) -> list[Any]:
        return [getattr(m.col(one), name)(m.col(f"{one}_right")) for one, name in tests]

    return (
        lambda a, b: a.join_where(b, *made(tf)),
        lambda a, b: alike(a).join_where(alike(b), *made(pl)),
        f"join_where({tests})", False,
    )  # fmt: skip


def in_order(draw: random.Random) -> Case:
    by = draw.sample(["a", "n", "f", "s", "p", "t", "d", "b", "v"], draw.choice([1, 2, 3]))
    descending = [draw.random() < 0.5 for _ in by]
    last = [draw.random() < 0.5 for _ in by]
    return (
        lambda a, b: a.sort(by, descending=descending, nulls_last=last),
        lambda a, b: a.sort(by, descending=descending, nulls_last=last, maintain_order=True),
        f"sort({by}, {descending}, {last})", True,
    )  # fmt: skip


def greatest(draw: random.Random) -> Case:
    """The rows at one end. Ours are those of a stable sort; polars leaves open which of equals it takes."""
    by = draw.sample(["a", "n", "f", "s", "p", "t", "d", "b", "v"], draw.choice([1, 2]))
    reverse = [draw.random() < 0.5 for _ in by]
    k, top = draw.choice([0, 1, 3, 100]), draw.random() < 0.5
    name = "top_k" if top else "bottom_k"
    down = [not each if top else each for each in reverse]
    return (
        lambda a, b: getattr(a, name)(k, by=by, reverse=reverse),
        lambda a, b: a.sort(by, descending=down, nulls_last=True, maintain_order=True).head(k),
        f"{name}({k}, {by}, {reverse})", True,
    )  # fmt: skip


def distinct(draw: random.Random) -> Case:
    of = draw.sample(["a", "n", "f", "s", "c", "p", "t", "d", "b"], draw.choice([1, 2]))
    keep = draw.choice(["first", "last"])
    return (
        lambda a, b: a.unique(of, keep=keep),
        lambda a, b: a.unique(of, keep=keep, maintain_order=True),
        f"unique({of}, {keep})", False,
    )  # fmt: skip


def reshaped(draw: random.Random) -> Case:
    kind = draw.randrange(4)
    if kind == 0:
        on = draw.sample(["a", "n", "f", "v"], draw.choice([1, 2, 3]))
        return (
            lambda a, b: a.unpivot(on, index=["s", "d"]),
            lambda a, b: a.unpivot(on, index=["s", "d"]),
            f"unpivot({on})", True,
        )  # fmt: skip
    if kind == 1:
        empty, keep = draw.random() < 0.5, draw.random() < 0.5
        return (
            lambda a, b: a.select("a", "q", "v").explode("q", empty_as_null=empty, keep_nulls=keep),
            lambda a, b: a.select("a", "q", "v").explode("q", empty_as_null=empty, keep_nulls=keep),
            f"explode({empty}, {keep})", True,
        )  # fmt: skip
    if kind == 2:
        how = draw.choice(["vertical_relaxed", "diagonal_relaxed"])
        names = ["a", "n", "f", "s", "v"]
        more = ["w"] if how == "diagonal_relaxed" else []
        return (
            lambda a, b: tf.concat([a.select(*names), b.select(*names, *more), a.select(*names)], how=how),
            lambda a, b: pl.concat([a.select(names), b.select(names + more), a.select(names)], how=how),
            f"concat({how})", True,
        )  # fmt: skip
    name, of = draw.choice(["sum", "min", "max", "len", "mean", "first", "last"]), draw.choice(["v", "f", "a"])
    index = draw.choice(["s", "a", "b"])
    of = "v" if index == of else of
    return (
        lambda a, b: a.pivot("n", [0, 1, None], index=index, values=of, aggregate_function=name),
        lambda a, b: a.pivot("n", on_columns=pl.Series([0, 1, None], dtype=pl.Int8), index=index, values=of, aggregate_function=name),
        f"pivot({index}, {of}, {name})", False,
    )  # fmt: skip


KINDS = [joined, joined, joined, member, as_of, as_of, where, in_order, greatest, distinct, reshaped]


@pytest.mark.parametrize("part", range(4))
def test_tables_are_those_of_polars(part: int) -> None:
    for number in numbers(part, 90):
        draw = random.Random(number)
        graph = tf.Graph()
        left, right = (Changing(schema, MAKERS, draw, graph) for schema in (LEFT, RIGHT))
        ours, theirs, shown, ordered = draw.choice(KINDS)(draw)
        beside([left, right], ours, theirs, f"seed {number}: {shown}", ordered=ordered)
