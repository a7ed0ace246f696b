"""`update_by`: values that run over the rows of groups, beside a plain loop and polars; the words of every refusal."""

from __future__ import annotations

import datetime as dt
import math
import random

import polars as pl
import pytest

import tickframe as tf
from tickframe import col, update_by
from tickframe.update_by import OperationControl

TABLE = tf.table({"k": ["a", "b", "a", "a", None], "x": [1, 2, None, 4, 5], "y": [1.0, float("nan"), 3.0, 4.0, 5.0]})
START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def column(operator, table=TABLE, by="k"):
    return table.update_by(operator, by=by).to_dict()["z"]


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        (update_by.cum_sum("z = x"), [1, 2, 1, 5, 5]),
        (update_by.cum_prod("z = x"), [1, 2, 1, 4, 5]),
        (update_by.cum_min("z = k"), ["a", "b", "a", "a", None]),
        (update_by.cum_max("z = x"), [1, 2, 1, 4, 5]),
        (update_by.cum_mean("z = x"), [1.0, 2.0, 1.0, 2.5, 5.0]),
        (update_by.cum_count_where("z", "x > 1"), [0, 1, 0, 1, 1]),
        (update_by.cum_count_where("z", col("x") > 1), [0, 1, 0, 1, 1]),
        (update_by.forward_fill("z = x"), [1, 2, 1, 4, 5]),
        (update_by.delta("z = x"), [None, None, None, None, None]),
        (update_by.delta("z = y"), [None, None, 2.0, 1.0, None]),
        (update_by.delta("z = x", delta_control="value_dominates"), [1, 2, None, 4, 5]),
        (update_by.delta("z = x", delta_control=update_by.DeltaControl.ZERO_DOMINATES), [0, 0, None, 0, 0]),
        (update_by.shift(1, "z = x"), [None, None, 1, None, None]),
        (update_by.shift(-1, "z = x"), [None, None, 4, None, None]),
        ((col("x") - col("x").min()).alias("z"), [0, 0, None, 3, 0]),
        ((col("x") * 2).alias("z"), [2, 4, None, 8, 10]),
    ],
)
def test_a_column_of_each_operator(operator, expected):
    assert column(operator) == expected


def fading(cells, left, how):
    made, value = [], None
    for cell in cells:
        if cell is not None:
            value = cell if value is None else how(left, value, cell)
        made.append(value)
    return made


HOW = {
    "ema": lambda a, y, x: a * y + (1 - a) * x,
    "ems": lambda a, y, x: a * y + x,
    "emmin": lambda a, y, x: min(a * y, x),
    "emmax": lambda a, y, x: max(a * y, x),
}


@pytest.mark.parametrize("name", HOW)
def test_values_fade_by_rows_and_by_time(name):
    draw = random.Random(5)
    cells = [draw.uniform(-5, 5) if draw.random() < 0.8 else None for _ in range(200)]
    stamps = [START + dt.timedelta(seconds=2 * at) for at in range(200)]
    table = tf.table({"t": stamps, "x": cells})
    by_rows = getattr(update_by, f"{name}_tick")(3, "z = x")
    expected = fading(cells, math.exp(-1 / 3), HOW[name])
    assert column(by_rows, table, None) == pytest.approx(expected)
    whole = table.drop_nulls()
    by_time = getattr(update_by, f"{name}_time")("t", "6s", "z = x")
    for span in ("6s", 6, dt.timedelta(seconds=6)):
        assert column(getattr(update_by, f"{name}_time")("t", span, "z = x"), whole, None) == column(
            by_time, whole, None
        )
    even = table.with_columns(x=col("x").fill_null(0.5))
    expected = fading(even.to_dict()["x"], math.exp(-1 / 3), HOW[name])
    assert column(by_time, even, None) == pytest.approx(expected)


def test_the_deviation_of_equal_values_is_nothing():
    table = tf.table({"x": [2.5] * 50})
    assert column(update_by.emstd_tick(3, "z = x"), table, None) == [None] + [0.0] * 49
    a = math.exp(-1 / 2)
    made = column(update_by.emstd_tick(2, "z = x"), tf.table({"x": [1.0, 3.0]}), None)
    assert made == [None, pytest.approx(math.sqrt(a * (1 - a) * 4))]


def test_what_null_and_nan_do():
    table = tf.table({"x": [1.0, None, float("nan"), 3.0]})
    made = lambda **how: column(update_by.ems_tick(1e12, "z = x", op_control=OperationControl(**how)), table, None)  # noqa: E731
    assert made() == pytest.approx([1, 1, 1, 4])
    assert made(on_null="reset") == [1, None, None, 3]
    assert made(on_null=update_by.BadDataBehavior.RESET, on_nan="poison")[:2] == [1, None]
    assert all(map(math.isnan, made(on_nan="poison")[2:]))
    with pytest.raises(tf.errors.DataError, match=r"ems_tick.*null in the row with key 1"):
        made(on_null="throw")
    with pytest.raises(tf.errors.DataError, match=r"ems_tick.*NaN in the row with key 2"):
        made(on_nan="throw")


def test_rows_without_a_stamp_have_no_part():
    table = tf.table({"t": [START, None, START + dt.timedelta(seconds=1)], "x": [1.0, 100.0, 1.0]})
    assert column(update_by.ema_time("t", 1, "z = x"), table, None) == [1.0, None, 1.0]


def test_names_and_places():
    made = TABLE.update_by([update_by.cum_sum("x"), [update_by.cum_max("m = x")]], by=["k"])
    assert made.columns == ["k", "x", "y", "m"]
    assert made.to_dict()["x"] == [1, 2, 1, 5, 5]
    # What replaces a column is not seen by the others.
    assert made.to_dict()["m"] == [1, 2, 1, 4, 5]
    assert TABLE.update_by(update_by.cum_sum(), by="k").columns == TABLE.columns
    assert TABLE.update_by(update_by.forward_fill()).to_dict()["k"][-1] == "a"
    assert repr(update_by.cum_sum("z = x", "y")) == 'tf.update_by.cum_sum("z = x", "y")'
    assert repr(OperationControl(on_nan="throw")) == "tf.update_by.OperationControl(on_null='skip', on_nan='throw')"


def test_it_follows_its_table():
    graph = tf.Graph()
    source = tf.keyed_table({"id": int, "k": str, "x": float}, key="id", graph=graph)
    operators = [
        update_by.cum_sum("s = x"),
        update_by.cum_min("m = x"),
        update_by.ema_tick(4, "e = x"),
        update_by.forward_fill("f = x"),
        update_by.cum_count_where("n", "x > 0"),
    ]
    live = source.update_by(operators, by="k")
    draw = random.Random(3)
    for _ in range(40):
        rows = [
            {"id": draw.randrange(60), "k": draw.choice("ab"), "x": draw.choice([None, -1.5, 2.0, 7.25])}
            for _ in range(draw.randrange(1, 6))
        ]
        source.upsert(rows)
        if draw.random() < 0.5 and len(source):
            source.delete([draw.choice(source.to_dict()["id"])])
        graph.step()
        assert live.rows() == source.snapshot().update_by(operators, by="k").rows()


def test_over_blink_tables_what_is_known_stays():
    graph = tf.Graph()
    source = tf.blink_table({"k": str, "x": int}, graph=graph)
    live = source.update_by([update_by.cum_sum("s = x"), update_by.forward_fill("f = x")], by="k")
    source.append({"k": ["a", "b"], "x": [1, 2]})
    graph.step()
    assert live.rows() == [("a", 1, 1, 1), ("b", 2, 2, 2)]
    source.append({"k": ["a", "a"], "x": [5, None]})
    graph.step()
    assert live.rows() == [("a", 5, 6, 5), ("a", None, 6, 5)]
    graph.step()
    assert live.rows() == []


def test_beside_polars():
    draw = random.Random(11)
    cells = [draw.uniform(-1, 1) for _ in range(500)]
    keys = [draw.choice("abc") for _ in range(500)]
    ours = tf.table({"k": keys, "x": cells}).update_by(
        [
            update_by.cum_sum("sum = x"),
            update_by.cum_prod("prod = x"),
            update_by.cum_min("min = x"),
            update_by.cum_max("max = x"),
            update_by.ema_tick(5, "ema = x"),
        ],
        by="k",
    )
    x = pl.col("x")
    theirs = pl.DataFrame({"k": keys, "x": cells}).with_columns(
        sum=x.cum_sum().over("k"),
        prod=x.cum_prod().over("k"),
        min=x.cum_min().over("k"),
        max=x.cum_max().over("k"),
        ema=x.ewm_mean(alpha=1 - math.exp(-1 / 5), adjust=False).over("k"),
    )
    for name in ("sum", "prod", "min", "max", "ema"):
        assert ours.to_dict()[name] == pytest.approx(theirs[name].to_list())


def test_sums_do_not_drift():
    graph = tf.Graph()
    source = tf.append_table({"x": float}, graph=graph)
    live = source.update_by(update_by.cum_sum("s = x"))
    for _ in range(20):
        source.append({"x": [1e16, 1.0, -1e16] * 500})
        graph.step()
    assert live.to_dict()["s"][-1] == 10_000.0


def test_plans_know_it():
    plan = TABLE.update_by([update_by.cum_sum("z = x"), update_by.cum_count_where("n", "y > 2")], by="k").plan
    assert tf.Plan.from_json(plan.to_json()) == plan
    assert "z = cum_sum" in str(plan)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: TABLE.update_by("x"), TypeError, "ops are operators of tf.update_by or expressions"),
        (lambda: TABLE.update_by([]), tf.errors.SchemaError, "at least one operator"),
        (lambda: TABLE.update_by(update_by.cum_sum("z = q")), tf.errors.ColumnNotFoundError, '"q"'),
        (lambda: TABLE.update_by(update_by.cum_sum("z = x"), by="q"), tf.errors.ColumnNotFoundError, '"q"'),
        (lambda: TABLE.update_by(update_by.cum_sum("k = x"), by="k"), tf.errors.InvalidOperationError, "would replace"),
        (lambda: TABLE.update_by(update_by.cum_sum("z = x", "z = y")), tf.errors.DuplicateError, '"z"'),
        (lambda: TABLE.update_by(update_by.cum_sum("z = k")), tf.errors.TypeMismatchError, "cum_sum of the column"),
        (lambda: TABLE.update_by(update_by.cum_mean("z = k")), tf.errors.TypeMismatchError, "a mean is of numbers"),
        (
            lambda: TABLE.update_by(update_by.ema_tick(1, "z = k")),
            tf.errors.TypeMismatchError,
            "what fades is a number",
        ),
        (lambda: TABLE.update_by(update_by.cum_count_where("n", col("x"))), tf.errors.TypeMismatchError, "Boolean"),
        (
            lambda: TABLE.update_by(update_by.ema_time("x", "1s", "z = y")),
            tf.errors.TypeMismatchError,
            "stamps of whole numbers know no seconds",
        ),
        (
            lambda: TABLE.update_by(update_by.ema_time("k", 1, "z = y")),
            tf.errors.TypeMismatchError,
            "instants, dates or whole numbers",
        ),
        (lambda: TABLE.update_by(update_by.ema_time("q", 1, "z = y")), tf.errors.ColumnNotFoundError, '"q"'),
        (lambda: tf.table({"k": ["a"]}).update_by(update_by.cum_sum()), ValueError, "no column is named"),
        (lambda: update_by.ema_tick(0, "x"), ValueError, "greater than 0"),
        (lambda: update_by.ema_tick(float("nan"), "x"), ValueError, "greater than 0"),
        (lambda: update_by.ema_tick("3", "x"), TypeError, "a number of rows"),
        (lambda: update_by.ema_time("t", 0, "x"), ValueError, "decay_time must be positive"),
        (lambda: update_by.ema_time("t", "-1s", "x"), ValueError, "decay_time must be positive"),
        (lambda: update_by.ema_time(3, 1, "x"), TypeError, "ts_col is a str"),
        (lambda: update_by.ema_tick(1, "x", op_control="skip"), TypeError, "OperationControl"),
        (lambda: OperationControl(on_null="never"), ValueError, "on_null must be 'skip'"),
        (lambda: OperationControl(on_nan=3), TypeError, "on_nan must be"),
        (lambda: update_by.delta("x", delta_control="none"), ValueError, "delta_control must be"),
        (lambda: update_by.delta("x", delta_control=1), TypeError, "delta_control must be"),
        (lambda: update_by.cum_count_where("n", 3), TypeError, "a formula or an expression"),
        (lambda: update_by.cum_sum(3), TypeError, "a column is a str"),
        (lambda: update_by.cum_sum("= x"), ValueError, "New = Old"),
    ],
)
def test_what_cannot_be_is_told(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_stamps_must_not_decrease_within_a_group():
    stamps = [START + dt.timedelta(seconds=s) for s in (5, 1, 4)]
    table = tf.table({"k": ["a", "b", "a"], "t": stamps, "x": [1.0, 2.0, 3.0]})
    with pytest.raises(
        tf.errors.DataError, match=r'stamps of "t" must not decrease.*row with key 2.*sort by "t" first'
    ):
        table.update_by(update_by.ema_time("t", 1, "z = x"), by="k")
    graph = tf.Graph()
    source = tf.append_table({"t": tf.Datetime("ns", "UTC"), "x": float}, graph=graph)
    live = source.update_by(update_by.ema_time("t", 1, "z = x"))
    source.append({"t": stamps[:1], "x": [1.0]})
    graph.step()
    source.append({"t": stamps[1:2], "x": [1.0]})
    graph.step()
    with pytest.raises(tf.errors.TickframeError, match="row with key 1"):
        live.rows()


def test_decimals_that_leave_their_range_are_told():
    from decimal import Decimal

    table = tf.table({"x": [Decimal("9" * 38), Decimal(1)]}, schema={"x": tf.Decimal(38, 0)})
    with pytest.raises(tf.errors.DataError, match="leaves the range of its type in the row with key 1"):
        table.update_by(update_by.cum_sum("z = x"))


def test_stamps_may_be_whole_numbers():
    table = tf.table({"t": [0, 1, 3], "x": [1.0, 3.0, 4.0]})
    found = table.update_by(update_by.ema_time("t", 2, "z = x")).to_dict()["z"]
    first = math.exp(-0.5) + (1 - math.exp(-0.5)) * 3
    assert found == pytest.approx([1.0, first, math.exp(-1) * first + (1 - math.exp(-1)) * 4])


def test_values_begin_anew_where_a_condition_is_true():
    table = tf.table({"k": ["a", "b", "a", "a", "b"], "d": [1, 1, 1, 2, 2], "x": [1, 2, 3, 4, 5]})
    ops = [update_by.cum_sum("s = x"), update_by.shift(1, "p = x"), update_by.rolling_sum_tick("r = x", rev_ticks=2)]
    found = table.update_by(ops, by="k", reset="x == 4")
    assert found.select("s", "p", "r").rows() == [(1, None, 1), (2, None, 2), (4, 1, 4), (4, None, 4), (7, 2, 7)]
    assert found.columns == ["k", "d", "x", "s", "p", "r"]
    day = col("d") != col("d").shift()
    assert table.update_by(update_by.cum_sum("s = x"), by="k", reset=day).to_dict()["s"] == [1, 2, 4, 4, 5]
    assert table.update_by(update_by.cum_sum("s = x"), reset=day).to_dict()["s"] == [1, 3, 6, 4, 9]
    least = 3  # noqa: F841
    assert table.update_by(update_by.cum_sum("s = x"), reset="x == least").to_dict()["s"] == [1, 3, 3, 7, 12]
    with pytest.raises(TypeError, match="reset is a formula or an expression, not an int"):
        table.update_by(update_by.cum_sum("s = x"), reset=3)  # type: ignore[arg-type]
    with pytest.raises(tf.errors.TypeMismatchError, match="Boolean"):
        table.update_by(update_by.cum_sum("s = x"), reset=col("x"))


def test_a_condition_that_changes_joins_runs_and_parts_them():
    graph = tf.Graph()
    source = tf.input_table({"x": int, "new": bool}, graph=graph)
    live = source.update_by(update_by.cum_sum("s = x"), reset=col("new"))
    source.apply(added={row: {"x": row, "new": row == 3} for row in range(1, 6)})
    graph.step()
    assert live.to_dict()["s"] == [1, 3, 3, 7, 12]
    source.apply(modified={3: {"new": False}, 5: {"new": True}})
    graph.step()
    assert live.to_dict()["s"] == [1, 3, 6, 10, 5]
    source.apply(removed=[5])
    graph.step()
    assert live.to_dict()["s"] == [1, 3, 6, 10]


def test_a_formula_of_a_window_is_a_text():
    factor = 10
    t = tf.table(
        {"k": ["a", "b", "a", "a"], "t": [START + dt.timedelta(seconds=s) for s in (0, 0, 5, 60)], "x": [1, 5, 2, 9]}
    )
    ticks = update_by.rolling_formula_tick("z", "(max(x) - min(x)) * factor", rev_ticks=2)
    assert column(ticks, t) == [0, 0, 10, 70]
    times = update_by.rolling_formula_time("t", "z", "sum(x * x) + x[0]", rev_time="10s")
    assert column(times, t) == [2, 30, 6, 90]
    spread = (col("x").max() - col("x").min()) * 10
    assert column(update_by.rolling_formula_tick("z", spread, rev_ticks=2), t) == column(ticks, t)
    del factor
    with pytest.raises(tf.errors.FormulaError, match="max"):
        update_by.rolling_formula_tick("z", "max(x", rev_ticks=2)
    with pytest.raises(tf.errors.ColumnNotFoundError, match="nothing"):
        t.update_by(update_by.rolling_formula_tick("z", "max(nothing)", rev_ticks=2))
