"""Windows that move along with their row: ``rolling_sum(3).over("k")``, ``t.rolling(...)``, with polars and pandas as oracles."""

from __future__ import annotations

import datetime as dt
import math
import random

import numpy as np
import pandas as pd
import polars as pl
import pytest

import tickframe as tf
from tickframe import col

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def rows(seed: int, count: int) -> dict[str, list[object]]:
    draw = random.Random(seed)
    return {
        "k": [draw.choice(["a", "b", None]) for _ in range(count)],
        "i": [draw.randrange(count // 2 + 1) for _ in range(count)],
        "t": [START + dt.timedelta(seconds=draw.randrange(count + 1)) for _ in range(count)],
        "n": [draw.choice([None, draw.randrange(-50, 50)]) for _ in range(count)],
        "x": [draw.choice([None, draw.randrange(100) / 4]) for _ in range(count)],
    }


def frame(seed: int, count: int) -> pl.DataFrame:
    types = {"k": pl.String, "i": pl.Int64, "t": pl.Datetime("ns", "UTC"), "n": pl.Int64, "x": pl.Float64}
    return pl.DataFrame(rows(seed, count), schema=types)


def close(found: list[object], wanted: list[object]) -> bool:
    def same(one: object, other: object) -> bool:
        if one is None or other is None:
            return one is other
        if math.isnan(other):  # type: ignore[arg-type]
            return math.isnan(one)  # type: ignore[arg-type]
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)  # type: ignore[arg-type]

    return len(found) == len(wanted) and all(map(same, found, wanted))


def check(ours: tf.Table, theirs: pl.DataFrame) -> None:
    assert ours.columns == theirs.columns
    for name in theirs.columns:
        if name.startswith("r_"):
            assert close(ours.to_dict()[name], theirs[name].to_list()), name


KINDS = ["sum", "mean", "min", "max", "std", "var", "median"]


@pytest.mark.parametrize(
    ("size", "least", "center"), [(1, 1, False), (3, None, False), (4, 2, True), (5, 1, True), (50, 1, False)]
)
@pytest.mark.parametrize("count", [0, 1, 60])
def test_windows_of_rows_as_polars_has_them(size: int, least: int | None, center: bool, count: int) -> None:
    given = frame(size, count)

    def made(c) -> list:
        how = {"min_samples": least, "center": center}
        plain = [
            getattr(c(of), f"rolling_{kind}")(size, **how).alias(f"r_{kind}_{of}") for kind in KINDS for of in "nx"
        ]
        quantile = c("x").rolling_quantile(0.3, "linear", window_size=size, **how).alias("r_q")
        return [*plain, quantile, *(each.over("k").name.suffix("_k") for each in [*plain, quantile])]

    check(tf.table(given).with_columns(made(col)), given.with_columns(made(pl.col)))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("size", "least", "center"), [(3, None, False), (6, 2, True), (9, 1, True), (50, 1, False)])
def test_shapes_of_windows_as_polars_has_them(size: int, least: int | None, center: bool, bias: bool) -> None:
    given = frame(size, 60).with_columns(s=pl.lit(3.0), x=pl.col("x").fill_null(1.5))

    def made(c) -> list:
        how = {"min_samples": least, "center": center, "bias": bias}
        return [
            *(c(of).rolling_skew(size, **how).alias(f"r_skew_{of}") for of in "xs"),
            *(c("x").rolling_kurtosis(size, fisher=f, **how).alias(f"r_kurtosis_{f}") for f in (True, False)),
        ]

    check(tf.table(given).with_columns(made(col)), given.with_columns(made(pl.col)))


@pytest.mark.parametrize("closed", ["left", "right", "both", "none"])
@pytest.mark.parametrize("count", [1, 60])
def test_windows_of_time_as_polars_has_them(closed: str, count: int) -> None:
    given = frame(count, count)

    def made(c) -> list:
        how = {"closed": closed, "min_samples": 1}
        plain = [
            getattr(c(of), f"rolling_{kind}_by")(by, size, **how).alias(f"r_{kind}_{of}_{by}")
            for kind in KINDS
            for of in "nx"
            for by, size in (("i", "3i"), ("t", "5s"))
        ]
        return [*plain, *(each.over("k").name.suffix("_k") for each in plain)]

    check(tf.table(given).with_columns(made(col)), given.with_columns(made(pl.col)))


@pytest.mark.parametrize("closed", ["left", "right", "both", "none"])
def test_rolling_groups_as_polars_has_them(closed: str) -> None:
    given = frame(3, 50).sort("t")

    def made(c, size) -> list:
        return [c("n").sum().alias("r_s"), c("x").max().alias("r_m"), size().alias("r_n")]

    ours = tf.table(given).rolling("t", period="7s", closed=closed).agg(made(col, tf.len))
    check(ours, given.rolling("t", period="7s", closed=closed).agg(made(pl.col, pl.len)))
    ahead = tf.table(given).rolling("t", period="7s", offset="-2s", closed=closed).agg(made(col, tf.len))
    check(ahead, given.rolling("t", period="7s", offset="-2s", closed=closed).agg(made(pl.col, pl.len)))


def test_windows_that_look_ahead_as_pandas_has_them() -> None:
    given = frame(9, 80)
    ours = tf.table(given).with_columns(r=col("n").rolling_sum(before=0, after=3, min_samples=1)).to_dict()["r"]
    indexer = pd.api.indexers.FixedForwardWindowIndexer(window_size=4)
    wanted = given["n"].cast(pl.Float64).to_pandas().rolling(indexer, min_periods=1).sum()
    assert close(ours, [None if math.isnan(each) else each for each in wanted])


def test_a_window_beside_its_row() -> None:
    t = tf.table({"x": [1, 2, 3, 4, 5]})
    made = t.with_columns(
        before=col("x").rolling_sum(before=3, after=-1, min_samples=1), behind=col("x").rolling_max(before=-1, after=2)
    )
    assert made.to_dict()["before"] == [None, 1, 3, 6, 9]
    assert made.to_dict()["behind"] == [3, 4, 5, None, None]


@pytest.mark.parametrize("seed", range(3))
def test_a_live_table_follows_every_change(seed: int) -> None:
    draw = random.Random(seed)
    t = tf.keyed_table({"id": int, "k": str, "i": int, "x": float}, key="id", graph=tf.Graph())
    made = t.with_columns(
        a=col("x").rolling_sum(3, min_samples=1).over("k"),
        b=col("x").rolling_std(before=1, after=1, min_samples=2).over("k"),
        c=col("x").rolling_max_by("i", 4).over("k"),
        d=col("x").rolling_median_by("i", before=2, after=2, closed="both"),
        e=(col("x") - col("x").rolling_mean(4, min_samples=1)).over("k"),
    )
    rolled = t.rolling("i", period=3, group_by="k").agg(s=col("x").sum(), n=tf.len())
    for _ in range(30):
        for _ in range(draw.randrange(1, 5)):
            if draw.random() < 0.7:
                k = draw.choice(["a", "b", None])
                x = draw.choice([None, 0.1, 1e15, -3.0, float(draw.randrange(9))])
                t.upsert({"id": draw.randrange(25), "k": k, "i": draw.randrange(12), "x": x})
            elif len(t):
                t.delete([draw.choice(t.to_dict()["id"])])
        t.graph.step()
        again = t.snapshot()
        fresh = again.with_columns(
            a=col("x").rolling_sum(3, min_samples=1).over("k"),
            b=col("x").rolling_std(before=1, after=1, min_samples=2).over("k"),
            c=col("x").rolling_max_by("i", 4).over("k"),
            d=col("x").rolling_median_by("i", before=2, after=2, closed="both"),
            e=(col("x") - col("x").rolling_mean(4, min_samples=1)).over("k"),
        )
        assert made.to_dicts() == fresh.to_dicts()
        assert (
            rolled.to_dicts() == again.rolling("i", period=3, group_by="k").agg(s=col("x").sum(), n=tf.len()).to_dicts()
        )


def test_equal_values_have_no_deviation_whatever_was_before() -> None:
    t = tf.append_table({"x": float}, graph=tf.Graph())
    made = t.with_columns(d=col("x").rolling_std(3), v=col("x").rolling_var(3))
    for x in [1e300, float("nan"), float("inf"), -7.3, *[0.1] * 5]:
        t.append({"x": x})
        t.graph.step()
    assert made.to_dict()["d"][-3:] == [0.0] * 3
    assert made.to_dict()["v"][-3:] == [0.0] * 3


def test_windows_of_windows_are_within_the_groups_of_the_outer() -> None:
    t = tf.table({"k": ["a", "b", "a", "b"], "x": [1, 10, 2, 20]})
    twice = col("x").rolling_sum(2, min_samples=1).rolling_max(2, min_samples=1).over("k")
    assert t.with_columns(m=twice).to_dict()["m"] == [1, 10, 3, 30]
    share = col("x") / col("x").rolling_sum(2, min_samples=1).over("k")
    assert t.select(s=share).to_dict()["s"] == [1.0, 1.0, 2 / 3, 2 / 3]
    assert t.filter(col("x") > col("x").rolling_mean(2, min_samples=1)).to_dict()["x"] == [10, 20]


def test_a_stamp_that_is_missing_is_in_no_window() -> None:
    t = tf.table({"i": [1, None, 2], "x": [1, 2, 4]})
    assert t.with_columns(s=col("x").rolling_sum_by("i", 9)).to_dict()["s"] == [1, None, 5]
    assert t.rolling("i", period=9).agg(x=col("x").sum()).to_dict() == {"i": [1, None, 2], "x": [1, None, 5]}


def test_attributes_that_are_kept() -> None:
    t = tf.append_table({"i": int, "x": int}, graph=tf.Graph())
    kept = lambda made: [made.attributes.get("append_only") is True, made.attributes.get("flat") is True]  # noqa: E731
    assert kept(t.with_columns(s=col("x").rolling_sum(3))) == [True, True]
    assert kept(t.with_columns(s=col("x").rolling_sum(before=1, after=1))) == [False, True]
    assert kept(t.with_columns(s=col("x").rolling_sum_by("i", 3))) == [False, True]


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (lambda: col("x").rolling_sum(0), "rolling_sum: window_size must be 1 or more, not 0"),
        (lambda: col("x").rolling_sum(), "rolling_sum: give window_size=, or before= and after="),
        (lambda: col("x").rolling_sum(2, before=1), "rolling_sum: give window_size=, or before= and after=, not both"),
        (lambda: col("x").rolling_mean(before=1, center=True), "rolling_mean: center=True is of a window_size"),
        (
            lambda: col("x").rolling_max(before=1, after=-2),
            "rolling_max: a window from 1 rows before the row to -2 behind",
        ),
        (lambda: col("x").rolling_max(2, min_samples=3), "rolling_max: min_samples must be from 0 to 2"),
        (lambda: col("x").rolling_sum(2, weights=[1, 2]), "rolling_sum: weights that go with the place"),
        (lambda: col("x").rolling_sum_by("t", "0s"), "rolling_sum_by: window_size must be greater than 0, not '0s'"),
        (lambda: col("x").rolling_sum_by("t", -1), "rolling_sum_by: window_size must be greater than 0, not -1"),
        (lambda: col("x").rolling_sum_by("t"), "rolling_sum_by: give window_size=, or before= and after="),
        (
            lambda: col("x").rolling_sum_by("t", "1s", after="1s"),
            "rolling_sum_by: give window_size=, or before= and after=, not",
        ),
        (
            lambda: col("x").rolling_sum_by("t", "1s", min_samples=-1),
            "rolling_sum_by: min_samples must be 0 or more, not -1",
        ),
        (
            lambda: col("x").rolling_sum_by("t", "1 parsec"),
            "rolling_sum_by: window_size: '1 parsec' is no span of time",
        ),
    ],
)
def test_arguments_without_a_meaning(made, text: str) -> None:
    with pytest.raises(ValueError) as found:
        made()
    assert str(found.value).startswith(text)


def test_what_the_table_refuses() -> None:
    t = tf.table({"s": ["a"], "f": [1.0], "i": [1], "t": [START], "x": [1]})
    with pytest.raises(
        tf.errors.TypeMismatchError, match='"s" holds String, and a window in time is of times, dates or whole'
    ):
        t.with_columns(y=col("x").rolling_sum_by("s", "1s"))
    with pytest.raises(tf.errors.TypeMismatchError, match='"f" holds Float64'):
        t.rolling("f", period=3).agg(tf.len())
    with pytest.raises(tf.errors.TypeMismatchError, match=r'stamps in "i" are numbers .Int64.*no span of time'):
        t.with_columns(y=col("x").rolling_sum_by("i", "1s"))
    with pytest.raises(
        tf.errors.InvalidOperationError, match=r"whole numbers, so a window of them is a whole number, not 1\.5"
    ):
        t.with_columns(y=col("x").rolling_sum_by("i", 1.5))
    with pytest.raises(tf.errors.InvalidOperationError, match="ends before it begins"):
        t.with_columns(y=col("x").rolling_sum_by("i", before=1, after=-2))
    with pytest.raises(tf.errors.ColumnNotFoundError, match='"q"'):
        t.with_columns(y=col("x").rolling_sum_by("q", 1))
    with pytest.raises(tf.errors.ColumnNotFoundError, match='"q"'):
        t.rolling("t", period="1s", group_by="q").agg(tf.len())
    with pytest.raises(TypeError, match="rolling_sum_by: by is the column of stamps, not"):
        col("x").rolling_sum_by(3, "1s")
    with pytest.raises(tf.errors.InvalidOperationError, match=r"an order of its own in another one"):
        col("x").rolling_sum_by("i", 2).over("s", order_by="i")
    with pytest.raises(ValueError, match="rolling: period must be greater than 0, not '0s'"):
        t.rolling("t", period="0s")
    with pytest.raises(TypeError, match="rolling: period and offset are both spans of time, or both numbers"):
        t.rolling("t", period="1s", offset=3)
    with pytest.raises(tf.errors.DuplicateError, match='"t"'):
        t.rolling("t", period="1s").agg(t=tf.len())
    with pytest.raises(tf.errors.InvalidOperationError, match="has one value a row, not one a group"):
        t.rolling("t", period="1s").agg(col("x"))
    blink = tf.blink_table({"t": dt.datetime, "x": int}, graph=tf.Graph())
    with pytest.raises(
        tf.errors.InvalidOperationError, match=r"rolling: windows of rows over a blink table.*blink_to_append_only"
    ):
        blink.rolling("t", period="1s").agg(tf.len())
    with pytest.raises(tf.errors.InvalidOperationError, match=r"over a blink table|of a blink table"):
        blink.with_columns(s=col("x").rolling_sum(2))


def test_they_are_shown_as_they_are_written() -> None:
    assert str(col("x").rolling_sum(3)) == 'col("x").rolling_sum(3, min_samples=3)'
    assert str(col("x").rolling_mean(3).over("k")) == 'col("x").rolling_mean(3, min_samples=3).over(col("k"))'
    by = col("x").rolling_max_by("t", "90s")
    assert str(by) == 'col("x").rolling_max_by(col("t"), before="90s", after=0, closed="right", min_samples=1)'
    assert repr(tf.table({"t": [1]}).rolling("t", period=1)).startswith("RollingGroups('t'): say what to compute")


CELLS: dict[str, list[object]] = {
    "k": ["a", "b", "a", "a", "b", "a", None],
    "t": [START + dt.timedelta(seconds=each) for each in (0, 0, 2, 2, 3, 9, 9)],
    "x": [1.5, 2.0, None, 4.0, 8.0, 1.5, 3.0],
    "w": [1.0, 2.0, 3.0, None, 1.0, 2.0, 1.0],
    "n": [3, 5, 7, None, 2, 2, 9],
}
DH = tf.update_by


def seen(at: int, by_time: bool) -> list[int]:
    """The rows in the window of a row: two before it and one behind, or 2 s before it and 1 s behind."""
    group = [other for other in range(7) if CELLS["k"][other] == CELLS["k"][at]]
    if not by_time:
        place = group.index(at)
        return group[max(place - 1, 0) : place + 2]
    stamp = lambda row: (CELLS["t"][row] - START).total_seconds()  # type: ignore[operator] # noqa: E731
    return [other for other in group if stamp(at) - 2 <= stamp(other) <= stamp(at) + 1]


def spread(values: list[float]) -> float | None:
    if len(values) < 2:
        return None
    mean = sum(values) / len(values)
    return math.sqrt(sum((each - mean) ** 2 for each in values) / (len(values) - 1))


def weighted(rows: list[int]) -> float | None:
    pairs = [(CELLS["x"][row], CELLS["w"][row]) for row in rows]
    pairs = [(x, w) for x, w in pairs if x is not None and w is not None]
    return sum(x * w for x, w in pairs) / sum(w for _, w in pairs) if pairs else None  # type: ignore[operator,misc]


OPERATORS = {
    "sum": sum,
    "avg": lambda values: sum(values) / len(values) if values else None,
    "min": lambda values: min(values, default=None),
    "max": lambda values: max(values, default=None),
    "count": len,
    "std": spread,
    "prod": lambda values: math.prod(values) if values else None,
}


@pytest.mark.parametrize("by_time", [False, True])
def test_operators_of_update_by_beside_a_plain_loop(by_time: bool) -> None:
    t = tf.table(CELLS)

    def made(name: str, *columns: object) -> object:
        if by_time:
            stamps: list[object] = ["t"]
            return getattr(DH, f"rolling_{name}_time")(*stamps, *columns, rev_time="2s", fwd_time=1)
        return getattr(DH, f"rolling_{name}_tick")(*columns, rev_ticks=2, fwd_ticks=1)

    ops = [made(name, f"{name} = x") for name in OPERATORS]
    ops += [made("wavg", "w", "wavg = x"), made("group", "group = x"), made("count_where", "big", "x > 1.6")]
    ops += [made("formula", "range", col("x").max() - col("x").min())]
    found = t.update_by(ops, by="k").to_dict()
    for at in range(7):
        rows = seen(at, by_time)
        values = [CELLS["x"][row] for row in rows if CELLS["x"][row] is not None]
        for name, how in OPERATORS.items():
            assert close([found[name][at]], [how(values)]), (name, at)  # type: ignore[operator]
        assert close([found["wavg"][at]], [weighted(rows)]), at
        assert found["group"][at] == [CELLS["x"][row] for row in rows]
        assert found["big"][at] == sum(each > 1.6 for each in values)  # type: ignore[operator]
        assert found["range"][at] == (max(values) - min(values) if values else None)  # type: ignore[type-var,operator]


def test_operators_without_columns_are_of_all_that_they_take() -> None:
    t = tf.table({"k": ["a", "a"], "x": [1, 2], "s": ["u", "v"]})
    assert t.update_by(DH.rolling_sum_tick(rev_ticks=2), by="k").to_dict() == {
        "k": ["a", "a"],
        "x": [1, 3],
        "s": ["u", "v"],
    }
    assert t.update_by(DH.rolling_max_tick(rev_ticks=2), by="k").to_dict() == {
        "k": ["a", "a"],
        "x": [1, 2],
        "s": ["u", "v"],
    }
    of_none = t.update_by(DH.rolling_sum_tick("z = x", rev_ticks=-1, fwd_ticks=2)).to_dict()["z"]
    assert of_none == [0, 0]


@pytest.mark.parametrize(
    ("made", "kind", "text"),
    [
        (
            lambda: DH.rolling_sum_tick("x", rev_ticks=0),
            ValueError,
            "rolling_sum_tick: a window of rev_ticks=0 and fwd_ticks=0",
        ),
        (
            lambda: DH.rolling_sum_tick("x", rev_ticks=2, fwd_ticks=-2),
            ValueError,
            "rolling_sum_tick: a window of rev_ticks=2",
        ),
        (
            lambda: DH.rolling_sum_tick("x", rev_ticks=1.5),
            TypeError,
            "rolling_sum_tick: rev_ticks must be an int, not float",
        ),
        (
            lambda: DH.rolling_sum_time("t", "x", rev_time="-5s"),
            ValueError,
            "rolling_sum_time: a window of rev_time='-5s'",
        ),
        (
            lambda: DH.rolling_sum_time("t", "x", rev_time="soon"),
            ValueError,
            "rolling_sum_time: rev_time: 'soon' is no span",
        ),
        (lambda: DH.rolling_sum_time(5, "x", rev_time="5s"), TypeError, "rolling_sum_time: ts_col is a str, not"),
        (
            lambda: DH.rolling_count_where_tick("n", 5, rev_ticks=2),
            TypeError,
            "rolling_count_where_tick: predicate is a formula",
        ),
        (
            lambda: DH.rolling_formula_tick("n", col("x"), rev_ticks=2),
            TypeError,
            "rolling_formula_tick: formula is a text such as",
        ),
    ],
)
def test_operators_that_have_no_meaning(made, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as found:
        made()
    assert str(found.value).startswith(text)


def test_stamps_that_go_back_are_named() -> None:
    t = tf.table({"k": ["a", "b", "a"], "i": [5, 1, 4], "x": [1, 2, 3]})
    op = DH.rolling_sum_time("i", "s = x", rev_time=3)
    with pytest.raises(
        tf.errors.DataError, match=r'the stamps in "i" must not go back within its group: at row key 2 stands 4'
    ):
        t.update_by(op, by="k")
    assert t.update_by(op, by=["k", "i"]).to_dict()["s"] == [1, 2, 3]


def test_ten_rows_that_come_read_their_windows_and_no_more() -> None:
    t = tf.append_table({"x": int}, graph=tf.Graph())
    made = t.with_columns(s=col("x").rolling_sum(100, min_samples=1))
    t.append({"x": list(range(5_000))})
    t.graph.step()
    t.append({"x": [1] * 10})
    t.graph.step()
    assert made.to_dict()["s"][-1] == sum(range(4910, 5_000)) + 10


def test_windows_do_not_drift_over_a_million_rows(g: tf.Graph) -> None:
    """What passed through a window leaves nothing behind: of equal values the deviation is 0, whatever went before."""
    draw = np.random.default_rng(7)
    wild = draw.uniform(-1, 1, 900_000) * 10.0 ** draw.integers(-12, 15, 900_000)
    values = np.concatenate([wild, np.full(100_000, 0.1)])
    t = tf.append_table({"x": float}, graph=g)
    x = col("x")
    made = t.select(mean=x.rolling_mean(100), std=x.rolling_std(100), total=x.rolling_sum(100)).tail(99_900)
    for part in np.array_split(values, 20):
        t.append({"x": part})
        g.step()
    shown = made.to_dict()
    assert set(shown["std"]) == {0.0}
    assert set(shown["mean"]) == {0.1}
    assert set(shown["total"]) == {math.fsum([0.1] * 100)}


def test_expressions_over_aggregates_of_what_is_computed():
    frame = pl.DataFrame({"t": [1, 2, 3, 5], "x": [1, 4, 2, 8]})
    made = [((c("x") * 2).max() * 100 + c("x").sum()).alias("m") - (c("x") + 1).min() for c in (tf.col, pl.col)]
    ours = tf.table(frame).rolling("t", period=2).agg(made[0].alias("m"))
    assert ours.rows() == frame.rolling("t", period="2i").agg(made[1].alias("m")).rows()
