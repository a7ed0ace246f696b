"""Random windows and values that run on, beside polars, over static tables and live ones that change."""

from __future__ import annotations

import datetime as dt
import random
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import tickframe as tf
from beside_polars import Changing, beside, numbers

if TYPE_CHECKING:
    from collections.abc import Callable

START = dt.datetime(1969, 12, 31, 23, 59, 50, tzinfo=dt.UTC)
SCHEMA = {
    "k": pl.String, "g": pl.Int64, "o": pl.Int64, "t": pl.Datetime("ns", "UTC"), "m": pl.Datetime("ms"), "d": pl.Date,
    "x": pl.Int64, "s": pl.Int8, "u": pl.UInt8, "w": pl.UInt32, "b": pl.Boolean, "y": pl.Float64, "z": pl.Float32,
}  # fmt: skip
NAN, INF = float("nan"), float("inf")
MAKERS = {
    "k": lambda draw: draw.choice(["a", "b", "c", None]),
    "g": lambda draw: draw.randrange(3),
    "o": lambda draw: draw.randrange(-4, 12),
    "t": lambda draw: START + dt.timedelta(milliseconds=500 * draw.randrange(60)),
    "m": lambda draw: (START + dt.timedelta(seconds=draw.randrange(40))).replace(tzinfo=None),
    "d": lambda draw: dt.date(1969, 12, 25) + dt.timedelta(days=draw.randrange(20)),
    "x": lambda draw: draw.choice([None, *range(-3, 6)]),
    "s": lambda draw: draw.choice([None, -128, 127, 100, *range(-3, 4)]),
    "u": lambda draw: draw.choice([None, 255, 200, 0, 1, 2, 3]),
    "w": lambda draw: draw.choice([None, 2**32 - 1, 0, 1, 2, 3]),
    "b": lambda draw: draw.choice([None, True, False]),
    "y": lambda draw: draw.choice([None, None, *([NAN, INF, -INF] if draw.random() < 0.3 else []), -1.5, 0.0, 0.5, 2.25, 7.0]),
    "z": lambda draw: draw.choice([None, -1.5, 0.0, 0.5, 2.25, 7.0]),
}  # fmt: skip

CLOSED = ["left", "right", "both", "none"]

Pair = tuple[tf.Expr, pl.Expr]


def column(draw: random.Random, of: str = "xsuwyz") -> Pair:
    name = draw.choice(of)
    return tf.col(name), pl.col(name)


def finite(name: str) -> Pair:
    """The column without infinities: in polars what lies half way to one, and what fades after one, is NaN."""
    if name != "y":
        return tf.col(name), pl.col(name)
    ours, theirs = tf.col("y"), pl.col("y")
    theirs = pl.when(theirs.is_infinite()).then(None).otherwise(theirs)
    return tf.when(ours.is_infinite()).then(None).otherwise(ours), theirs


def middle(pair: Pair, name: str) -> Pair:
    return finite("y") if name == "median" and repr(pair[0]) == 'col("y")' else pair


def wide(pair: Pair, name: str) -> Pair:
    """The column as polars is to see it: sums of whole numbers are Int64 here, means and deviations Float64."""
    kind = pl.Int64 if name in ("sum", "cum_sum") and repr(pair[0])[5] in "suw" else pl.Float64
    narrow = repr(pair[0]) == 'col("z")' and name not in ("sum", "cum_sum", "min", "max")
    return pair[0], pair[1].cast(kind) if narrow or kind == pl.Int64 else pair[1]


def extreme(pair: Pair, name: str, *args: Any, **how: Any) -> Pair:
    """The least or greatest in a window: NaN is none here, unless there is nothing else."""
    of, least = pair[1], how.pop("min_samples")
    needed = args[-1] if least is None else least
    values = getattr(of.is_not_null().cast(pl.Int64), name.replace("min", "sum").replace("max", "sum"))(
        *args, min_samples=1, **how
    )
    numbers = getattr(of.fill_nan(None), name)(*args, min_samples=1, **how)
    theirs = pl.when(values >= needed).then(pl.coalesce(numbers, NAN))
    return getattr(pair[0], name)(*args, min_samples=least, **how), theirs


def both(pair: Pair, name: str, *args: Any, **named: Any) -> Pair:
    return getattr(pair[0], name)(*args, **named), getattr(pair[1], name)(*args, **named)


def rolled(draw: random.Random) -> Pair:
    """An aggregate of a window of rows."""
    size = draw.choice([1, 2, 3, 5, 30])
    how = {"min_samples": draw.choice([None, 1, 2]), "center": draw.random() < 0.3}
    if how["min_samples"] and how["min_samples"] > size:
        how["min_samples"] = size
    name = draw.choice(["sum", "mean", "min", "max", "std", "var", "median"])
    of = column(draw)
    if name in ("min", "max") and repr(of[0]) == 'col("y")':
        return extreme(of, f"rolling_{name}", size, **how)
    return both(wide(middle(of, name), name), f"rolling_{name}", size, **how)


def rolled_by(draw: random.Random) -> Pair:
    """An aggregate of a window of time."""
    by = draw.choice(["o", "t", "m", "d"])
    size = draw.choice({"o": ["1i", "3i", "40i"], "d": ["1d", "3d", "1w"]}.get(by, ["500ms", "1s", "3s", "1h"]))
    # Between two whole numbers side by side there is none, which is refused here.
    ends = ["left", "right", "both"] + ["none"] * (size[0] != "1" or by in "tm")
    how = {"min_samples": draw.choice([1, 1, 2, 3]), "closed": draw.choice(ends)}
    name = draw.choice(["sum", "mean", "min", "max", "std", "var", "median"])
    of = column(draw)
    if name in ("min", "max") and repr(of[0]) == 'col("y")':
        return extreme(of, f"rolling_{name}_by", by, size, **how)
    return both(wide(middle(of, name), name), f"rolling_{name}_by", by, size, **how)


def shaped(draw: random.Random) -> Pair:
    """Parts of the way from the least to the greatest, skew and kurtosis, of a window of rows or of time."""
    of, least = finite(draw.choice("xy")), draw.choice([1, 2, 3])
    part = {"quantile": draw.choice([0.0, 0.25, 0.5, 0.9, 1.0]), "min_samples": least}
    part["interpolation"] = draw.choice(["nearest", "lower", "higher", "midpoint", "linear"])
    way = draw.random()
    if way < 0.4:
        return both(of, "rolling_quantile", window_size=draw.choice([3, 4, 30]), center=draw.random() < 0.3, **part)
    if way < 0.7:
        return both(of, "rolling_quantile_by", "t", window_size="3s", closed=draw.choice(CLOSED), **part)
    name, size = draw.choice(["rolling_skew", "rolling_kurtosis"]), draw.choice([3, 5, 30])
    return both((tf.col("x"), pl.col("x")), name, size, min_samples=least, bias=draw.random() < 0.5)


def faded_by(draw: random.Random) -> Pair:
    by, half = draw.choice([("o", "2i"), ("t", "2s"), ("m", "1s"), ("d", "3d")])
    return both(wide(finite(draw.choice("xyz")), "ewm"), "ewm_mean_by", by, half_life=half)


def faded(draw: random.Random) -> Pair:
    rate = draw.choice([{"alpha": 0.3}, {"alpha": 1.0}, {"com": 2}, {"span": 3}, {"half_life": 1.5}])
    how = {"adjust": draw.random() < 0.5, "min_samples": draw.choice([1, 2]), "ignore_nulls": draw.random() < 0.5}
    name = draw.choice(["mean", "std", "var"])
    if name != "mean":
        how["bias"] = draw.random() < 0.5
    # The deviation of the one value NaN is NaN here, and nought in polars.
    of = finite(draw.choice("xyz" if name == "mean" else "xz"))
    return both(wide(of, "ewm"), f"ewm_{name}", **rate, **how)


def run(draw: random.Random) -> Pair:
    of, kind = column(draw), draw.randrange(14)
    if kind < 2:
        name = draw.choice(["cum_sum", "cum_min", "cum_max"])
        return both(wide(of, name), name, reverse=draw.random() < 0.3)
    if kind == 2:
        reverse = draw.random() < 0.3
        return of[0].cum_count(reverse=reverse), of[1].cum_count(reverse=reverse).cast(pl.Int64)
    if kind == 3:
        n = draw.choice([-2, -1, 0, 1, 2, 50])
        return both(of, "shift", n) if draw.random() < 0.7 else both(of, "shift", n, fill_value=1)
    if kind == 4:
        return both(of, "diff", draw.choice([1, 2, -1, 0]))
    if kind == 5:
        return both(of, "pct_change", draw.choice([1, 2, -1]))
    if kind == 6:
        return both(of, draw.choice(["forward_fill", "backward_fill"]), draw.choice([None, 1, 2, 0]))
    if kind == 7:
        return both(of, "interpolate", draw.choice(["linear", "nearest"]))
    if kind == 10:
        name = draw.choice(["is_first_distinct", "is_last_distinct", "is_unique", "is_duplicated"])
        of = column(draw, "xsyzbkdg")
        ours, theirs = both(of, name)
        return ours.cast(tf.Int64), theirs.cast(pl.Int64)
    if kind == 11:
        ours, theirs = both(column(draw, "xsyzbd"), "shift", draw.choice([-1, 1, 2]))
        return ours.is_null().cast(tf.Int64), theirs.is_null().cast(pl.Int64)
    if kind == 12:
        return both(wide((tf.col("x"), pl.col("x")), "cum_sum"), "cum_prod", reverse=draw.random() < 0.3)
    method = draw.choice(["average", "min", "max", "dense", "ordinal"])
    ours, theirs = both(of, "rank", method, descending=draw.random() < 0.5)
    return (ours, theirs) if method == "average" else (ours, theirs.cast(pl.Int64))


#: What goes by an order of its own, or by none.
OWN_ORDER = ["rank", "_by(", "distinct", "is_unique", "is_duplicated"]


def value(draw: random.Random) -> Pair:
    """A window or a run, over groups or not."""
    make = draw.choice([rolled, rolled, rolled_by, rolled_by, shaped, faded, faded_by, run, run, run])
    ours, theirs = make(draw)
    way = draw.random()
    if way < 0.35:
        return both((ours, theirs), "over", draw.choice(["k", "g", ["k", "g"]]))
    if way < 0.6 and not any(name in repr(ours) for name in OWN_ORDER):
        how = {"order_by": draw.choice(["o", "t"]), "descending": draw.random() < 0.3}
        return both((ours, theirs), "over", draw.choice(["k", "g"]), **how)
    return ours, theirs


def expression(draw: random.Random) -> Pair:
    """A value alone, in arithmetic or a condition."""
    ours, theirs = value(draw)
    way = draw.random()
    if way < 0.5:
        return ours, theirs
    ours, theirs = ours.cast(tf.Float64), theirs.cast(pl.Float64)
    other = value(draw) if draw.random() < 0.3 else column(draw)
    mine, its = other[0].cast(tf.Float64), other[1].cast(pl.Float64)
    if way < 0.6:
        return ours + mine, theirs + its
    if way < 0.7:
        return ours * mine, theirs * its
    if way < 0.85:
        return tf.when(ours > mine).then(ours).otherwise(mine), pl.when(theirs > its).then(theirs).otherwise(its)
    return ours.fill_null(mine) - 1, theirs.fill_null(its) - 1


AGGREGATES = ["sum", "mean", "min", "max", "first", "last", "median", "std", "n_unique", "count"]


def aggregates(draw: random.Random) -> tuple[list[tf.Expr], list[pl.Expr]]:
    """Three of them, and how many rows. Counts are Int64 here."""
    drawn = [(draw.choice("xsyb"), draw.choice(AGGREGATES)) for _ in range(3)]
    drawn = [(of, "count" if of == "b" else name) for of, name in drawn]
    made = [both(middle((tf.col(of), pl.col(of)), name), name) for of, name in drawn]
    ours = [each[0].alias(f"v{at}") for at, each in enumerate(made)]
    theirs = [each[1].alias(f"v{at}") for at, each in enumerate(made)]
    return [tf.len().alias("n"), *ours], [pl.len().alias("n"), *theirs]


def within(closed: str, stamp: pl.Expr, low: pl.Expr, high: pl.Expr) -> pl.Expr:
    above = stamp >= low if closed in ("left", "both") else stamp > low
    return above & (stamp <= high if closed in ("right", "both") else stamp < high)


#: Lengths of windows, and how far their starts are moved.
CLOCK = ["1s", "7s", "1m", "30m", "1h", "6h"]
CALENDAR = ["1d", "2d", "1w", "1mo", "3mo", "1q", "1y"]
ZONES = [None, "UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"]
#: Around the hours at which clocks are set, and before 1970.
SET = [dt.datetime(2024, 3, 31, 0, 59), dt.datetime(2024, 10, 27, 0, 30), dt.datetime(2024, 11, 3, 5, 30),
       dt.datetime(2024, 4, 6, 14, 45), dt.datetime(1969, 12, 31, 22), dt.datetime(2024, 2, 29, 12)]  # fmt: skip


def stamps(spread: int, *, zoned: bool) -> Callable[[random.Random], dt.datetime]:
    """What draws instants so many seconds about those."""

    def one(draw: random.Random) -> dt.datetime:
        made = draw.choice(SET) + dt.timedelta(seconds=draw.randrange(-spread, spread))
        return made.replace(tzinfo=dt.UTC) if zoned else made

    return one


def dynamic(draw: random.Random) -> tuple[Any, Any, str]:
    index = draw.choice(["t", "t", "d"])
    every = draw.choice(CALENDAR if index == "d" else CLOCK + CALENDAR)
    number, unit = int("".join(filter(str.isdigit, every))), every.lstrip("0123456789")
    period = draw.choice([None, None, None, f"{2 * number}{unit}", f"{3 * number}{unit}"])
    offset = draw.choice(["0d", "0d", f"{number}{unit}", f"-{number}{unit}", "-1d" if index == "d" else "-10s"])
    closed, label = draw.choice(CLOSED), draw.choice(["left", "right"])
    keys = draw.choice([[], ["k"], ["g"]])
    ours, theirs = aggregates(draw)
    how = {"every": every, "period": period, "offset": offset, "closed": closed, "label": label}

    def live(t: tf.Table) -> tf.Table:
        made = t.group_by_dynamic(index, include_boundaries=True, group_by=keys or None, **how)
        return made.agg(*ours).select(*keys, index, "_lower_boundary", "_upper_boundary", "n", "v0", "v1", "v2")

    def theirs_of(frame: pl.DataFrame) -> pl.DataFrame:
        """Each row in each window that holds it, window by window."""
        base = pl.col(index).dt.truncate(every)
        near = [base.dt.offset_by(f"{at * number}{unit}") for at in range(-14, 15)]
        near += [each.dt.offset_by(by) for each in near for by in ("1h", "-1h")] if unit == "h" else []
        cuts = pl.concat_list([each.dt.truncate(every) for each in near]).list.unique().list.sort().alias("cut")
        rows = frame.with_row_index("at").with_columns(cuts).explode("cut", empty_as_null=True, keep_nulls=True)
        low, next_low = pl.col("cut").dt.offset_by(offset), pl.col("cut").shift(-1).over("at").dt.offset_by(offset)
        rows = rows.with_columns(
            _lower_boundary=low, _upper_boundary=next_low if period is None else low.dt.offset_by(period)
        )
        met = within(closed, pl.col(index), pl.col("_lower_boundary"), pl.col("_upper_boundary"))
        groups = rows.filter(met).sort("at").group_by([*keys, "_lower_boundary"], maintain_order=True)
        made = groups.agg(pl.col("_upper_boundary").first(), *theirs)
        labels = pl.col("_lower_boundary" if label == "left" else "_upper_boundary").alias(index)
        return made.with_columns(labels).select(
            *keys, index, "_lower_boundary", "_upper_boundary", "n", "v0", "v1", "v2"
        )

    return live, theirs_of, f"{index} {how} {keys} {ours!r}"


def runs(draw: random.Random) -> tuple[Any, Any, str]:
    """Sessions: a row begins a new one if it is more than so much later than the row before it."""
    gap, keys = draw.choice([1, 30, 3600, 86400 * 3]), draw.choice([[], ["k"], ["g"]])
    ours, theirs = aggregates(draw)

    def live(t: tf.Table) -> tf.Table:
        made = t.session("t", gap=gap, group_by=keys or None).agg(*ours)
        return made.select(*keys, "session_start", "session_end", "n", "v0", "v1", "v2")

    def theirs_of(frame: pl.DataFrame) -> pl.DataFrame:
        rows = frame.with_row_index("at").sort("t", maintain_order=True)
        later = pl.col("t").diff() > pl.duration(seconds=gap)
        rows = rows.with_columns(run=(later.over(keys) if keys else later).fill_null(False))
        run = pl.col("run").cast(pl.Int64).cum_sum()
        rows = rows.with_columns(run=run.over(keys) if keys else run).sort("at")
        ends = [pl.col("t").min().alias("session_start"), pl.col("t").max().alias("session_end")]
        made = rows.group_by([*keys, "run"], maintain_order=True).agg(*ends, *theirs)
        return made.select(*keys, "session_start", "session_end", "n", "v0", "v1", "v2")

    return live, theirs_of, f"session({gap}, {keys}) {ours!r}"


def moving(draw: random.Random) -> tuple[Any, Any, str]:
    period = draw.choice(["1s", "30s", "30m", "3h", "30h"])
    offset = draw.choice([None, None, "0s", "-30m", "10s", "-40h"])
    closed, keys = draw.choice(CLOSED), draw.choice([[], ["k"], ["g"]])
    ours, theirs = aggregates(draw)

    def live(t: tf.Table) -> tf.Table:
        made = t.rolling("t", period=period, offset=offset, closed=closed, group_by=keys or None).agg(*ours)
        return made.select(*keys, "t", "n", "v0", "v1", "v2")

    def theirs_of(frame: pl.DataFrame) -> pl.DataFrame:
        """The rows of each row's window, of all pairs of rows."""
        low = pl.col("t").dt.offset_by(f"-{period}" if offset is None else offset)
        rows = frame.with_row_index("at")
        own = rows.select("at", *keys, "t", low=low, high=low.dt.offset_by(period))
        others = (
            rows.rename({"t": "stamp", "at": "it"}).drop(keys) if not keys else rows.rename({"t": "stamp", "at": "it"})
        )
        pairs = own.join(others, on=keys, nulls_equal=True) if keys else own.join(others, how="cross")
        met = pairs.filter(within(closed, pl.col("stamp"), pl.col("low"), pl.col("high"))).sort("at", "stamp", "it")
        made = met.group_by("at").agg(theirs)
        made = own.join(made, on="at", how="left", maintain_order="left")
        nothing = [pl.col("n").fill_null(0)]
        for at, each in enumerate(ours[1:]):
            if any(name in repr(each) for name in (".sum()", ".count()", ".n_unique()")):
                nothing.append(pl.col(f"v{at}").fill_null(0))
        return made.with_columns(nothing).select(*keys, "t", "n", "v0", "v1", "v2")

    return live, theirs_of, f"rolling({period}, {offset}, {closed}, {keys}) {ours!r}"


@pytest.mark.parametrize("part", range(4))
def test_values_are_those_of_polars(part: int) -> None:
    for number in numbers(part, 90):
        draw = random.Random(number)
        source = Changing(SCHEMA, MAKERS, draw, tf.Graph())
        ours, theirs = expression(draw)
        beside(
            [source],
            lambda t, ours=ours: t.select("k", ours.alias("v")),
            lambda frame, theirs=theirs: frame.select("k", theirs.alias("v")),
            f"seed {number}: {ours!r}",
        )


@pytest.mark.parametrize("part", range(4))
def test_windows_of_time_are_those_of_polars(part: int) -> None:
    for number in numbers(part, 50):
        draw = random.Random(number)
        zone, unit = draw.choice(ZONES), draw.choice(["ns", "us", "ms"])
        instants = stamps(draw.choice([60, 3600 * 3, 86400 * 40]), zoned=zone is not None)
        source = Changing({**SCHEMA, "t": pl.Datetime(unit, zone)}, {**MAKERS, "t": instants}, draw, tf.Graph())
        ours, theirs, shown = draw.choice([dynamic, dynamic, moving, runs])(draw)
        beside([source], ours, theirs, f"seed {number}, {zone}: {shown}", ordered=False)
