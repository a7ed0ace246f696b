"""Values that run on from row to row: beside polars at random, over live tables step by step, and every error."""

from __future__ import annotations

import datetime as dt
import itertools
import math
import random

import polars as pl
import pytest

import tickframe as tf
from tickframe import col
from tickframe.errors import InvalidOperationError, TypeMismatchError

NAN = float("nan")
NUMBERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "f", "b")
EXACT = {
    "cum_sum": lambda x, r: x.cum_sum(reverse=r),
    "cum_prod": lambda x, r: x.cum_prod(reverse=r),
    "cum_min": lambda x, r: x.cum_min(reverse=r),
    "cum_max": lambda x, r: x.cum_max(reverse=r),
    "cum_count": lambda x, r: x.cum_count(reverse=r),
    "fill": lambda x, r: x.backward_fill() if r else x.forward_fill(),
    "fill 1": lambda x, r: x.backward_fill(1) if r else x.forward_fill(1),
    "shift": lambda x, r: x.shift(-2 if r else 1),
}
FADING = {
    "ewm_mean": lambda x: x.ewm_mean(com=1.5),
    "ewm_mean span": lambda x: x.ewm_mean(span=3, adjust=False, min_samples=2),
    "ewm_mean half": lambda x: x.ewm_mean(half_life=1.5, ignore_nulls=True),
    "ewm_sum": lambda x: x.ewm_sum(com=1.5),
    "ewm_sum nulls": lambda x: x.ewm_sum(alpha=0.25, ignore_nulls=True, min_samples=2),
    "ewm_std": lambda x: x.ewm_std(alpha=0.25),
    "ewm_std bias": lambda x: x.ewm_std(alpha=0.5, bias=True, ignore_nulls=True, min_samples=3),
    "ewm_var": lambda x: x.ewm_var(alpha=0.5, adjust=False),
}
RANKS = {
    f"rank {method} {descending}": (lambda x, m=method, d=descending: x.rank(m, descending=d))
    for method in ("average", "min", "max", "dense", "ordinal")
    for descending in (False, True)
}
BETWEEN = {
    "interpolate": lambda x: x.interpolate(),
    "pct_change": lambda x: x.pct_change(),
    "pct_change -2": lambda x: x.pct_change(-2),
}


def frame(seed: int, rows: int = 60) -> pl.DataFrame:
    """Random rows: nulls, NaN, every width of integers, keys and an order with ties and nulls."""
    dice = random.Random(seed)

    def some(make, nulls=0.25):
        return [None if dice.random() < nulls else make() for _ in range(rows)]

    small = lambda: dice.randint(-3, 3)  # noqa: E731
    return pl.DataFrame(
        {
            "k": some(lambda: dice.choice("abc"), 0.1),
            "o": some(lambda: dice.randint(0, 5), 0.15),
            "t": some(lambda: dice.randint(0, 20), 0.0),
            "i8": pl.Series(some(small), dtype=pl.Int8),
            "i16": pl.Series(some(small), dtype=pl.Int16),
            "i32": pl.Series(some(small), dtype=pl.Int32),
            "i64": pl.Series(some(small), dtype=pl.Int64),
            "u8": pl.Series(some(lambda: dice.randint(0, 9)), dtype=pl.UInt8),
            "u16": pl.Series(some(lambda: dice.randint(0, 9)), dtype=pl.UInt16),
            "u32": pl.Series(some(lambda: dice.randint(0, 9)), dtype=pl.UInt32),
            "f": pl.Series(some(lambda: dice.choice([0.5, 1.0, -2.0, 3.25, 0.125])), dtype=pl.Float64),
            "n": pl.Series(some(lambda: dice.choice([0.5, NAN, -2.0, 3.25, 1.0])), dtype=pl.Float64),
            "b": pl.Series(some(lambda: dice.random() < 0.5), dtype=pl.Boolean),
            "s": pl.Series(some(lambda: dice.choice(["x", "yy", "z"])), dtype=pl.String),
        }
    )


def same(mine: list[object], theirs: list[object], what: str) -> None:
    assert len(mine) == len(theirs), what
    for row, (ours, wanted) in enumerate(zip(mine, theirs, strict=True)):
        if isinstance(ours, float) and isinstance(wanted, (int, float)) and not isinstance(wanted, bool):
            close = math.isclose(ours, wanted, rel_tol=1e-9, abs_tol=1e-9) or (math.isnan(ours) and math.isnan(wanted))
            assert close or (math.isnan(wanted) and math.isnan(ours)), f"{what}, row {row}: {ours} is not {wanted}"
        else:
            assert ours == wanted, f"{what}, row {row}: {ours} is not {wanted}"


def windows(order: str | None):
    """Groups and orders, as both write them."""
    yield "alone", lambda e: e, lambda e: e
    yield "over k", lambda e: e.over("k"), lambda e: e.over("k")
    if order is not None:
        yield "over k by o", lambda e: e.over("k", order_by=order), lambda e: e.over("k", order_by=order)
        yield (
            "over k by o, down",
            lambda e: e.over("k", order_by=order, descending=True, nulls_last=True),
            lambda e: e.over("k", order_by=order, descending=True, nulls_last=True),
        )


def compare(rows: pl.DataFrame, name: str, make, order: str | None) -> None:
    t = tf.from_polars(rows)
    for window, mine, theirs in windows(order):
        ours = t.select(y=mine(make(col(name)))).to_dict()["y"]
        wanted = rows.select(y=theirs(make(pl.col(name))))["y"].to_list()
        same(ours, wanted, f"{make(col(name))!r} {window}")


@pytest.mark.parametrize("what", EXACT)
@pytest.mark.parametrize("reverse", [False, True])
def test_the_values_are_those_of_polars(what, reverse):
    for seed in range(3):
        # Polars leaves open in which order rows stand that compare equal.
        rows = frame(seed).with_columns(u=pl.Series(random.Random(seed).sample(range(60), 60)))
        names = (*NUMBERS, "n")
        if what in {"cum_count", "fill", "fill 1", "shift"}:
            names = (*names, "s")
        if what == "cum_prod":
            # Products of unsigned integers wrap as unsigned ones here.
            names = tuple(name for name in names if name[0] != "u")
        for name in names:
            compare(rows, name, lambda x: EXACT[what](x, reverse), "u")


@pytest.mark.parametrize("what", FADING)
def test_fading_values_are_those_of_polars(what):
    for seed in range(4):
        rows = frame(seed).with_columns(u=pl.Series(random.Random(seed).sample(range(60), 60)))
        for name in ("f", "i8", "i64", "u8", "n"):
            compare(rows, name, FADING[what], "u")


@pytest.mark.parametrize("what", RANKS)
def test_ranks_are_those_of_polars(what):
    for seed in range(3):
        for name in ("f", "i8", "n", "u16", "b", "s"):
            compare(frame(seed), name, RANKS[what], None)


@pytest.mark.parametrize("what", BETWEEN)
def test_what_lies_between_is_that_of_polars(what):
    for seed in range(3):
        rows = frame(seed).with_columns(u=pl.Series(random.Random(seed).sample(range(60), 60)))
        for name in ("f", "i16", "i64"):
            compare(rows, name, BETWEEN[what], "u")


def test_the_nearest_of_two_values():
    t = tf.table({"x": [None, 1, None, None, 4, None, 6, None]})
    assert t.select(col("x").interpolate("nearest")).to_dict()["x"] == [None, 1, 1, 4, 4, 6, 6, None]


@pytest.mark.parametrize(
    "of", [pl.Date, pl.Datetime("ns"), pl.Datetime("ns", "Europe/Berlin"), pl.Duration("ns"), pl.Time]
)
def test_times_lie_between_times(of):
    draw = random.Random(5)
    for _ in range(20):
        counts = [draw.choice([None, draw.randrange(10**6)]) for _ in range(40)]
        there = [at for at, count in enumerate(counts) if count is not None]
        # On the line, rounded down; polars does so with doubles, and misses whole numbers.
        line = counts.copy()
        for first, last in itertools.pairwise(there):
            for at in range(first, last):
                line[at] = counts[first] + (counts[last] - counts[first]) * (at - first) // (last - first)
        typed = lambda counts: tf.table(pl.DataFrame({"x": pl.Series(counts, dtype=pl.Int64).cast(of)}))  # noqa: E731
        found = typed(counts).select(col("x").interpolate())
        assert found.schema == typed(line).schema
        assert found.to_arrow().equals(typed(line).to_arrow())
        nearest = typed(counts).select(col("x").interpolate("nearest")).to_polars()
        assert nearest.equals(typed(counts).to_polars().select(pl.col("x").interpolate("nearest")))
    # Beyond what a double holds, and a product that 64 bits do not.
    first, far = 1_767_225_600_000_000_001, 3 * 10**18
    rows = tf.table({"x": [first, None, first + 2, -far, None, None, far]}).select(x=col("x").cast(tf.Datetime("ns")))
    numbers = rows.select(col("x").interpolate().cast(tf.Int64)).to_dict()["x"]
    assert numbers == [first, first + 1, first + 2, -far, -far + 2 * 10**18, -far + 4 * 10**18, far]


def test_values_that_fade_with_time_are_those_of_polars():
    start = dt.datetime(2026, 1, 1)
    for seed in range(4):
        rows = frame(seed).with_columns(u=pl.Series(random.Random(seed).sample(range(0, 600, 10), 60)))
        rows = rows.with_columns(at=pl.lit(start) + pl.duration(seconds="u"))
        t = tf.from_polars(rows)
        for name in ("f", "i32", "n"):
            for by, half, mine in (("u", "25i", 25), ("at", "25s", "25s"), ("at", "25s", dt.timedelta(seconds=25))):
                wanted = rows.select(y=pl.col(name).cast(pl.Float64).ewm_mean_by(by, half_life=half))["y"].to_list()
                ours = t.select(y=col(name).ewm_mean_by(by, half_life=mine)).to_dict()["y"]
                same(ours, wanted, f"{name} by {by}, {seed}")
                wanted = rows.select(y=pl.col(name).cast(pl.Float64).ewm_sum_by(by, half_life=half))["y"].to_list()
                ours = t.select(y=col(name).ewm_sum_by(by, half_life=mine)).to_dict()["y"]
                same(ours, wanted, f"sum of {name} by {by}, {seed}")


def test_rows_of_equal_order_stand_as_they_come():
    t = tf.table({"o": [1, 0, 1, None], "x": [1, 2, 3, 4]})
    assert t.select(col("x").cum_sum().over(order_by="o")).to_dict()["x"] == [7, 6, 10, 4]
    assert t.select(col("x").cum_sum(reverse=True).over(order_by="o")).to_dict()["x"] == [4, 6, 3, 10]


def test_what_is_made_of_them_stays_within_the_groups():
    t = tf.table({"k": ["a", "b", "a", "a"], "x": [1, 5, 2, 4]})
    made = t.select(
        a=(col("x").cum_sum() / col("x").sum()).over("k"),
        b=col("x").cum_sum().shift().over("k"),
        c=col("x").shift().cum_sum().over("k"),
        d=(col("x") - col("x").cum_max()).over("k"),
    )
    assert made.to_dict() == {
        "a": [1 / 7, 1.0, 3 / 7, 1.0],
        "b": [None, None, 1, 3],
        "c": [None, None, 1, 3],
        "d": [0, 0, 0, 0],
    }
    assert t.filter(col("x").cum_count().over("k") < 2).to_dict()["x"] == [1, 5]
    assert t.group_by("k").agg(n=col("x").cum_sum().over("k").max()).to_dict()["n"] == [7, 5]
    made = t.update_by([col("x").cum_sum().alias("s"), tf.update_by.cum_max("m = x")], by="k")
    assert made.select("s", "m").to_dict() == {"s": [1, 5, 3, 7], "m": [1, 5, 2, 4]}


ALL = {
    "sum": lambda x: x.cum_sum().over("k", order_by="o"),
    "back": lambda x: x.cum_max(reverse=True).over("k"),
    "fill": lambda x: x.backward_fill(2).over("k"),
    "fill by": lambda x: x.forward_fill().over("k", order_by="o"),
    "ewm": lambda x: x.ewm_mean(alpha=0.5).over("k"),
    "var": lambda x: x.ewm_var(alpha=0.5).over("k", order_by="o"),
    "rank": lambda x: x.rank().over("k"),
    "dense": lambda x: x.rank("dense", descending=True).over("k"),
    "ordinal": lambda x: x.rank("ordinal"),
    "between": lambda x: x.interpolate().over("k"),
    "part": lambda x: x.pct_change().over("k", order_by="o"),
    "windows": lambda x: x.rolling_sum(2, min_samples=1).over("k", order_by="o"),
    "sum fading": lambda x: x.ewm_sum(alpha=0.5).over("k"),
    "time": lambda x: x.ewm_mean_by("o", half_life=3).over("k"),
    "sum in time": lambda x: x.ewm_sum_by("o", half_life=3).over("k"),
}


@pytest.mark.parametrize("seed", range(4))
def test_a_live_table_is_what_its_rows_make(seed):
    dice = random.Random(seed)
    graph = tf.Graph()
    live = tf.input_table({"k": str, "o": int, "x": float}, graph=graph)
    made = live.with_columns(**{name: make(col("x")) for name, make in ALL.items()})
    keys: list[int] = []

    def row():
        x = None if dice.random() < 0.3 else float(dice.randint(-2, 2))
        return {"k": dice.choice("ab"), "o": dice.randint(0, 4), "x": x}

    for step in range(40):
        free = [key for key in range(60) if key not in keys]
        came = dice.sample(free, min(len(free), dice.randint(0, 4)))
        gone = dice.sample(keys, min(len(keys), dice.randint(0, 3)))
        rest = [key for key in keys if key not in gone]
        changed = dice.sample(rest, min(len(rest), dice.randint(0, 3)))
        live.apply(added={key: row() for key in came}, removed=gone, modified={key: row() for key in changed})
        keys = rest + came
        graph.step()
        anew = tf.table(live.to_dict(), schema={"k": str, "o": int, "x": float})
        wanted = anew.with_columns(**{name: make(col("x")) for name, make in ALL.items()})
        for name, cells in wanted.to_dict().items():
            same(made.to_dict()[name], cells, f"{name}, step {step}")
    late = live.with_columns(**{name: make(col("x")) for name, make in ALL.items()})
    assert repr(late.to_dict()) == repr(made.to_dict())


def test_differences_have_a_sign_and_parts_do_not_wrap():
    most, least = 2**63 - 1, -(2**63)
    for kind, cells, differences in [
        (tf.UInt8, [3, 0, 255], (tf.Int16, [-3, 255])),
        (tf.UInt16, [3, 0, 65535], (tf.Int32, [-3, 65535])),
        (tf.UInt32, [3, 0, 2**32 - 1], (tf.Int64, [-3, 2**32 - 1])),
        (tf.UInt64, [2**64 - 1, 2**64 - 4, 2**64 - 2], (tf.Int64, [-3, 2])),
        (tf.Int8, [3, 0, 7], (tf.Int8, [-3, 7])),
        (tf.Int64, [3, 0, most], (tf.Int64, [-3, most])),
        (tf.Float32, [3.0, 0.5, 1.0], (tf.Float32, [-2.5, 0.5])),
    ]:
        t = tf.table({"x": cells}, schema={"x": kind})
        made = t.select(d=col("x").diff(), b=-col("x").diff(-1), p=col("x").pct_change())
        assert made.dtypes[:2] == [differences[0]] * 2, kind
        assert made.to_dict()["d"] == [None, *differences[1]], kind
        assert made.to_dict()["b"] == [*differences[1], None], kind
        assert t.update_by(tf.update_by.delta("d = x")).to_dict()["d"] == [None, *differences[1]], kind
    t = tf.table({"k": [1, 1, 2, 2], "x": [-128, 127, 100, -128], "v": [[3, 0], [], None, [0, None]]}).cast(
        {"x": tf.Int8, "v": tf.List(tf.UInt8)}
    )
    made = t.select(p=col("x").pct_change(), o=col("x").pct_change().over("k"), v=col("v").list.diff())
    assert made.to_dict() == {
        "p": [None, -1.9921875, -27 / 127, -2.28],
        "o": [None, -1.9921875, None, -2.28],
        "v": [[None, -3], [], None, [None, None]],
    }
    assert tf.table({"x": [most, least]}).select(col("x").pct_change()).to_dict()["x"] == [None, -2.0]
    assert tf.table({"x": [0, 5]}).select(col("x").pct_change()).to_dict()["x"] == [None, float("inf")]


@pytest.mark.parametrize("made", [col("x").diff(), col("x").diff(-2), col("x").pct_change(3), (col("x") + 1).diff()])
def test_differences_are_read_again(made):
    assert eval(repr(made), vars(tf)).meta_eq(made)
    assert tf.Expr.__reduce__(made)


def test_errors():
    t = tf.table({"k": ["a"], "s": ["x"], "x": [1]})
    x = col("x")
    with pytest.raises(InvalidOperationError, match=r"cum_sum of an aggregate, as in col\(\"x\"\)\.sum\(\)"):
        x.sum().cum_sum()
    with pytest.raises(InvalidOperationError, match="an order of its own in another one"):
        x.rank().over("k", order_by="x")
    with pytest.raises(InvalidOperationError, match="an order of its own in another one"):
        x.ewm_mean_by("x", half_life=1).over("k", order_by="x")
    with pytest.raises(TypeMismatchError, match="cum_sum"):
        t.select(col("s").cum_sum())
    with pytest.raises(TypeMismatchError, match=r"ewm_mean.*holds String"):
        t.select(col("s").ewm_mean(alpha=0.5))
    with pytest.raises(ValueError, match="ewm_mean: give one of com=, span=, half_life= and alpha=, not none"):
        x.ewm_mean()
    with pytest.raises(ValueError, match="not com= and alpha="):
        x.ewm_mean(com=1, alpha=0.5)
    for name, bad, bound in (
        ("com", -1, "at least 0"),
        ("span", 0.5, "at least 1"),
        ("half_life", 0, "greater than 0"),
        ("alpha", 1.5, "greater than 0 and at most 1"),
    ):
        with pytest.raises(ValueError, match=f"ewm_std: {name} must be {bound}, not {bad}"):
            x.ewm_std(**{name: bad})
    with pytest.raises(ValueError, match="min_samples must be 0 or more"):
        x.ewm_mean(alpha=0.5, min_samples=-1)
    with pytest.raises(ValueError, match="forward_fill: limit must be 0 or more"):
        x.forward_fill(-1)
    with pytest.raises(ValueError, match="rank: method must be 'average'"):
        x.rank("random")
    with pytest.raises(ValueError, match="interpolate: method must be 'linear', 'nearest'"):
        x.interpolate("cubic")
    with pytest.raises(ValueError, match="half_life must be greater than 0"):
        x.ewm_mean_by("x", half_life=0)
    with pytest.raises(TypeMismatchError, match="stamps of whole numbers know no seconds"):
        t.select(x.ewm_mean_by("x", half_life="5s"))
    with pytest.raises(TypeMismatchError, match="holds String"):
        t.select(x.ewm_mean_by("s", half_life="5s"))
    with pytest.raises(InvalidOperationError, match="on_error"):
        t.with_columns((x + 1).cum_sum().over("k").alias("y"), on_error="null")


def test_over_a_blink_table_values_run_on_in_the_order_in_which_rows_come():
    graph = tf.Graph()
    blink = tf.blink_table({"x": int}, graph=graph)
    made = blink.with_columns(s=col("x").cum_sum())
    for x in (1, 2, 3):
        blink.append({"x": x})
        graph.step()
    assert made.to_dict() == {"x": [3], "s": [6]}
    for made in (col("x").cum_sum(reverse=True), col("x").cum_sum().over(order_by="x"), col("x").rank()):
        with pytest.raises(InvalidOperationError, match="blink"):
            blink.with_columns(y=made)


def test_an_expression_is_read_again():
    scope = {name: getattr(tf, name) for name in ("col", "lit")}
    x = col("x")
    for made in (
        x.cum_sum(reverse=True).over("k", order_by="t", descending=True),
        x.forward_fill(3),
        x.backward_fill(),
        x.ewm_var(com=2, bias=True),
        x.ewm_mean(span=5, min_samples=3).over("k"),
        x.ewm_mean_by("t", half_life="5m").over("k"),
        x.ewm_sum(half_life=2, ignore_nulls=True),
        x.ewm_sum_by("t", half_life="5m").over("k"),
        x.rank("dense", descending=True),
        x.interpolate("nearest"),
        x.rolling_sum(3).over("k", order_by="t"),
    ):
        again = eval(repr(made), scope)
        assert again.meta_eq(made) or repr(again) == repr(made)


def test_the_mean_so_far_is_null_at_a_null_and_goes_on_behind_it():
    rows = tf.table({"k": ["a", "b", "a", "a"], "x": [1, 5, None, 4]})
    mean = tf.col("x").cum_mean
    assert rows.select(m=mean()).to_dict() == {"m": [1.0, 3.0, None, 10 / 3]}
    assert rows.select(m=mean().over("k")).to_dict() == {"m": [1.0, 5.0, None, 2.5]}
    assert rows.select(m=mean(reverse=True)).to_dict() == {"m": [10 / 3, 4.5, None, 4.0]}
