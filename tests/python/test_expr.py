"""Expression objects: what they print, what they refuse, what they compute."""

import datetime as dt
import pickle

import pytest

import tickframe as tf
from tickframe import col, lit

EXPRESSIONS = [
    (col("a") + 1) * col("b") / 2 // 3 % 4,
    -(col("a") ** 2),
    (col("a") > 1) & ~(col("b").is_null() | (col("c") == "x")),
    tf.when(col("a") > 1).then("x").when(col("b").is_null()).then(lit("y")).otherwise(lit(None)),
    col("a").cast(tf.Float64).fill_null(0.0).round(2).alias("z"),
    col("s").str.contains("a|b").alias("m"),
    col("s").str.slice(1, 2).str.to_uppercase(),
    col("t").dt.truncate("1h"),
    col("t") + dt.timedelta(hours=1),
    col("a").is_in([1, 2]),
    col("a").is_between(1, 2, closed="left"),
    col("a").sum().alias("total"),
    tf.len().alias("n"),
    tf.coalesce("a", col("b"), lit(0)),
]


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=repr)
def test_the_repr_makes_the_expression_again(expression):
    scope = {name: getattr(tf, name) for name in tf.__all__ if name not in {"spark", "from_spark"}}
    assert eval(repr(expression), {"tf": tf, **scope}).meta_eq(expression)
    assert pickle.loads(pickle.dumps(expression)).meta_eq(expression)


def test_truth_is_refused_and_the_way_out_is_named():
    with pytest.raises(TypeError, match=r"& \| ~"):
        bool(col("a") == 1)
    with pytest.raises(TypeError, match="meta_eq"):
        [col("b")].count(col("a"))


def test_meta_eq_compares_trees():
    assert (col("a") + 1).meta_eq(col("a") + 1)
    assert not (col("a") + 1).meta_eq(col("a") + 1.0)
    assert col("a").sum().alias("x").meta_output_name() == "x"
    assert (col("b") * col("a")).meta_columns() == ["b", "a"]


def compute(expression, **columns):
    return tf.table(columns).select(expression.alias("out")).to_dict()["out"]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (col("a") / 2, [3.5, -3.5, None]),
        (col("a") // 2, [3, -4, None]),
        (col("a") % 2, [1, 1, None]),
        (col("a") // 0, [None, None, None]),
        (col("a") % 0, [None, None, None]),
        (col("a").abs(), [7, 7, None]),
        (col("a").fill_null(0), [7, -7, 0]),
        (col("a").is_null(), [False, False, True]),
        (col("a") > 0, [True, False, None]),
        ((col("a") > 0) | lit(True), [True, True, True]),
        (col("a").is_in([7, None]), [True, False, None]),
        (col("a").is_between(-7, 0), [False, True, None]),
        (col("a").cast(tf.String), ["7", "-7", None]),
        (tf.when(col("a") > 0).then(lit("pos")).otherwise(lit("other")), ["pos", "other", "other"]),
        (tf.coalesce(col("a"), lit(1)), [7, -7, 1]),
        (lit(5), [5, 5, 5]),
    ],
    ids=repr,
)
def test_numbers(expression, expected):
    assert compute(expression, a=[7, -7, None]) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (col("s").str.len_chars(), [5, 2, None]),
        (col("s").str.to_uppercase(), ["HELLO", "ÉA", None]),
        (col("s").str.contains("l+o"), [True, False, None]),
        (col("s").str.starts_with("h"), [True, False, None]),
        (col("s").str.ends_with("a"), [False, True, None]),
        (col("s").str.slice(1, 3), ["ell", "a", None]),
        (col("s").str.replace("l", "L"), ["heLlo", "éa", None]),
        (col("s").str.strip_chars("ho"), ["ell", "éa", None]),
    ],
    ids=repr,
)
def test_strings(expression, expected):
    assert compute(expression, s=["hello", "éa", None]) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (col("t").dt.year(), 2013),
        (col("t").dt.month(), 1),
        (col("t").dt.hour(), 5),
        (col("t").dt.weekday(), 2),
        (col("t").dt.truncate("1h"), dt.datetime(2013, 1, 1, 5)),
        (col("t") + dt.timedelta(minutes=45), dt.datetime(2013, 1, 1, 6, 0)),
        (col("t") - col("t"), dt.timedelta(0)),
    ],
    ids=repr,
)
def test_times(expression, expected):
    assert compute(expression, t=[dt.datetime(2013, 1, 1, 5, 15)]) == [expected]


def test_str_plus_int_is_refused_with_advice():
    with pytest.raises(tf.errors.TypeMismatchError, match="cast"):
        tf.table({"s": ["a"], "i": [1]}).select(col("s") + col("i"))


def test_a_strict_cast_names_the_value():
    t = tf.table({"s": ["1", "x"]})
    with pytest.raises(tf.errors.DataError, match="x"):
        t.select(col("s").cast(tf.Int64))
    assert t.select(col("s").cast(tf.Int64, strict=False)).to_dict() == {"s": [1, None]}


def test_numbers_and_dates_beyond_what_is_cast_to():
    day, most = 86_400 * 10**9, 2**63 - 1
    t = tf.table({"x": [most, -most - 1, day, -1, day - 1000, None]})
    assert t.select(col("x").cast(tf.Time, strict=False)).to_dict()["x"] == [
        *[None] * 4,
        dt.time(23, 59, 59, 999999),
        None,
    ]
    with pytest.raises(tf.errors.DataError, match="row 0: the value is no Time; cast with strict=False for null"):
        t.select(col("x").cast(tf.Time))
    for kind, second in [("ms", 1_000), ("us", 1_000_000)]:
        t = tf.table({"x": [most, -most - 1, second, -second, None]})
        for to, begin in [(tf.Datetime(kind), dt.datetime(1970, 1, 1)), (tf.Duration(kind), dt.timedelta(0))]:
            made = t.select(col("x").cast(to, strict=False)).to_dict()["x"]
            assert made == [None, None, begin + dt.timedelta(seconds=1), begin - dt.timedelta(seconds=1), None]
            with pytest.raises(tf.errors.DataError, match="row 0: the result is outside the range"):
                t.select(col("x").cast(to))
    dates = tf.table({"d": [dt.date(1, 1, 1), dt.date(2020, 1, 1), None]})
    for to in (tf.Datetime("us"), tf.Datetime("ns", "Europe/Berlin")):
        made = dates.select(col("d").cast(to, strict=False)).to_dict()["d"]
        assert made[::2] == [None, None]
        assert made[1].replace(tzinfo=None) == dt.datetime(2020, 1, 1)
        with pytest.raises(tf.errors.DataError, match="row 0: the result is outside the range of instants"):
            dates.select(col("d").cast(to))


def test_a_float_counts_in_the_unit_it_is_cast_to():
    t = tf.table({"x": [2.5, -2.5, None, float("nan"), 1e300]})
    for kind, one in [("ms", dt.timedelta(milliseconds=2)), ("us", dt.timedelta(microseconds=2))]:
        made = t.select(
            at=col("x").cast(tf.Datetime(kind), strict=False), long=col("x").cast(tf.Duration(kind), strict=False)
        )
        begin = dt.datetime(1970, 1, 1)
        assert made.to_dict() == {
            "at": [begin + one, begin - one, None, None, None], "long": [one, -one, None, None, None],
        }  # fmt: skip
    with pytest.raises(tf.errors.DataError, match="row 3"):
        t.select(col("x").cast(tf.Datetime("us")))


def test_membership_in_what_holds_values() -> None:
    import numpy as np
    import pyarrow as pa

    t = tf.table({"x": [1, 2, None], "k": [2, 3, 2]})
    holders = [[2, 3], {2, 3}, range(2, 4), t["k"], np.array([2, 3]), pa.array([2, 3]), pa.chunked_array([[2], [3]])]
    for holder in holders:
        assert t.select(tf.col("x").is_in(holder).alias("y"))["y"].to_list() == [False, True, None], holder
    import polars as pl

    assert len(t.filter(tf.col("x").is_in(pl.Series([2, None])))) == 1
    assert len(t.filter(tf.col("x").is_in(pl.Series([2, None]), nulls_equal=True))) == 2
    wanted = [1, 2]  # noqa: F841 (the formula reads it)
    assert len(t.where("x in wanted")) == 2


def test_the_deepest_expression_is_pickled() -> None:
    deep = tf.col("x")
    for _ in range(127):
        deep = -deep
    with pytest.raises(tf.errors.TickframeError, match="128"):
        -deep  # noqa: B018  # it is refused as it is made
    assert pickle.loads(pickle.dumps(deep)).meta_eq(deep)


def test_an_expression_that_was_pickled_before_is_read() -> None:
    made = (col("x") * 2).alias("y")
    # What a pickle names has to stay where it is.
    pickled = b"ctickframe.expr\n_from_json\n(V" + made._native.to_json().encode() + b"\ntR."
    assert pickle.loads(pickled).meta_eq(made)
