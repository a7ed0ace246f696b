"""What a table answers to what people try first: the value that is meant, or an error that says what to write.

Each table of cases stands for a class: a new neighbour is a new line.
"""

import datetime as dt
import math
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tickframe as tf

C = tf.col
UTC = dt.UTC
DAY = dt.date(2024, 1, 1)
NOON = dt.datetime(2024, 1, 1, 12)


def days(*numbers):
    return [DAY + dt.timedelta(days=number) for number in numbers]


def at(*seconds):
    return [NOON + dt.timedelta(seconds=second) for second in seconds]


def live(data):
    """The same rows in a live table."""
    graph = tf.Graph()
    source = tf.append_table(tf.table(data).schema, graph=graph)
    source.append(data)
    graph.step()
    return source


def told(wanted, call, kind=Exception):
    """The call raises, and its message has all of these words."""
    with pytest.raises(kind) as caught:
        call()
    text = str(caught.value)
    assert not isinstance(caught.value, tf.errors.InternalError), text
    missing = [word for word in wanted if word not in text]
    assert not missing, f"{missing} are not in: {text}"
    for inner in ("Utf8View", "BinaryView", "has no attribute '_native'", "object at 0x", "DataType::"):
        assert inner not in text, text


# join_asof: how far apart stamps may be

DATES = (days(9), days(1, 8))
TIMES = (at(10), at(4, 9))
SPANS = (TIMES[0], [TIMES[0][0] - dt.timedelta(seconds=5)])
INTS = ([10], [4])
FLOATS = ([1.0], [0.25])

TOLERANCES = [
    (DATES, "2d", 1),
    (DATES, "1d", 1),
    ((days(9), days(1)), "2d", None),
    ((days(9), days(7)), dt.timedelta(days=2), 0),
    ((days(9), days(7)), 2 * 86400, 0),
    ((days(9), days(9)), "0s", 0),
    (TIMES, "1s", 1),
    (SPANS, 5, 0),
    (SPANS, 5.0, 0),
    (SPANS, 4, None),
    (SPANS, np.int64(5), 0),
    (SPANS, dt.timedelta(seconds=5), 0),
    (SPANS, "PT5S", 0),
    ((at(1), at(0.5)), 0.5, 0),
    ((at(1), at(0.5)), 0.25, None),
    (INTS, 6, 0),
    (INTS, 5, None),
    (INTS, 6.5, 0),
    (FLOATS, 1, 0),
    (FLOATS, 0.75, 0),
    (FLOATS, 0.5, None),
    ((FLOATS[0], [1.0]), 0, 0),
]

NO_TOLERANCES = [
    (DATES, 5, ["whole days", '"2d"', "seconds"]),
    (DATES, "36h", ["whole days"]),
    (INTS, "5s", ["numbers (Int64)", "a tolerance is a number"]),
    (INTS, dt.timedelta(1), ["numbers (Int64)"]),
    (FLOATS, "5s", ["numbers (Float64)"]),
    (TIMES, -1, ["tolerance", "negative"]),
    (TIMES, dt.timedelta(-1), ["negative"]),
    (INTS, -1, ["negative"]),
    (FLOATS, math.nan, ["tolerance", "nan"]),
    (FLOATS, math.inf, ["tolerance", "inf"]),
    (TIMES, "soon", ["tolerance", "'soon'", '"2h"']),
    (TIMES, True, ["tolerance", "bool"]),
    (TIMES, [1], ["tolerance", "list"]),
]


@pytest.mark.parametrize("make", [tf.table, live], ids=["static", "live"])
@pytest.mark.parametrize(("stamps", "tolerance", "wanted"), TOLERANCES)
def test_a_tolerance_is_of_what_the_stamps_are(make, stamps, tolerance, wanted):
    left, right = make({"t": stamps[0]}), tf.table({"t": stamps[1], "w": list(range(len(stamps[1])))})
    assert left.join_asof(right, on="t", tolerance=tolerance).to_dict()["w"] == [wanted]


@pytest.mark.parametrize(("stamps", "tolerance", "words"), NO_TOLERANCES)
def test_a_tolerance_that_is_none_is_refused(stamps, tolerance, words):
    left, right = tf.table({"t": stamps[0]}), tf.table({"t": stamps[1], "w": list(range(len(stamps[1])))})
    told(["join_asof", *words], lambda: left.join_asof(right, on="t", tolerance=tolerance))


def test_the_nearest_float_is_nearest_by_its_value():
    left, right = tf.table({"t": [1.0, 40.0]}), tf.table({"t": [0.0, 3.0, 100.0], "w": [0, 3, 100]})
    assert left.join_asof(right, on="t", strategy="nearest").to_dict()["w"] == [0, 3]


# Masks

MASKED = {"x": [1, 2, 3, 4], "s": ["a", "b", None, "d"]}
MASKS = [
    [True, False, True, False],
    (True, False, True, False),
    [True, None, True, False],
    np.array([True, False, True, False]),
    np.ma.array([True, True, True, False], mask=[False, True, False, False]),
    np.array([True, None, True, False], dtype=object),
    pl.Series([True, None, True, False]),
    pd.Series([True, False, True, False]),
    pd.Series([True, None, True, False], dtype="boolean"),
    pd.Series([True, False, True, False], dtype="bool[pyarrow]"),
    pa.array([True, None, True, False]),
    pa.chunked_array([[True, None], [True, False]]),
    tf.table({"m": [True, None, True, False]})["m"],
]


@pytest.mark.parametrize("mask", MASKS, ids=lambda mask: f"{type(mask).__module__}.{type(mask).__name__}")
def test_a_mask_selects_rows_of_a_static_table(mask):
    t = tf.table(MASKED)
    assert t.filter(mask).to_dict() == {"x": [1, 3], "s": ["a", None]}
    assert t.where(mask).to_dict()["x"] == [1, 3]
    assert t.filter(mask, C("x") > 1).to_dict()["x"] == [3]
    assert t.filter(C("x") > 0).filter(mask).head(1).to_dict()["x"] == [1]
    told(["filter", "4 values", "3 rows"], lambda: t.head(3).filter(mask), ValueError)
    told(["live", "snapshot"], lambda: live({"x": [1, 2, 3, 4]}).filter(mask), tf.errors.InvalidOperationError)


def test_masks_of_a_table_that_was_filtered_count_its_own_rows():
    t = tf.table({"x": list(range(10))}).filter(C("x") % 2 == 1)
    assert t.filter([False, True, False, True, True]).to_dict() == {"x": [3, 7, 9]}
    assert t.filter([True] * 5, [False] * 4 + [True]).to_dict() == {"x": [9]}


# Indexing

INDEXES = [("x", 0), [0, 1], None, C("x"), 1.5, {"x": 1}, True, (True, "x"), [True, False], {"x"}]


@pytest.mark.parametrize("index", INDEXES, ids=repr)
def test_a_table_is_indexed_by_names_and_places(index):
    told(['t["a", "b"]', "t[1:3]", "t.filter(...)"], lambda: tf.table({"x": [1]})[index], TypeError)


def test_names_index_and_rows_are_not_gone_through():
    t = tf.table({"x": [1], "y": [2]})
    assert t["y", "x"].to_dict() == {"y": [2], "x": [1]}
    assert t[["y"]].columns == ["y"]
    assert t["x"].to_list() == [1]
    told(["to_dicts"], lambda: list(t), TypeError)


# Logic in formulas

BITS = {"A": [1, 2, 0], "B": [3, 0, 0], "F": [1.0, 0.0, 2.0], "T": [True, False, None]}
REFUSED_LOGIC = [
    "!A",
    "not A",
    "A && B",
    "A and 1",
    "A || T",
    "T or B",
    "(A & B) && T",
    "A + 1 && T",
    "!(A | B)",
    "T && !A",
]


@pytest.mark.parametrize("formula", REFUSED_LOGIC)
def test_words_of_logic_take_conditions(formula):
    t = tf.table(BITS)
    told(["Int64", "conditions", "^"], lambda: t.update(f"Y = {formula}"), tf.errors.TypeMismatchError)
    told(["Int64", "conditions", "^"], lambda: t.where(formula), tf.errors.TypeMismatchError)


@pytest.mark.parametrize(
    ("formula", "wanted"),
    [
        ("A & B", [1, 0, 0]),
        ("A | B", [3, 2, 0]),
        ("~A", [-2, -3, -1]),
        ("A > 0 && B > 0", [True, False, False]),
        ("not T", [False, True, None]),
        ("!(A > 1) || T", [True, False, True]),
        ("T && null", [None, False, None]),
    ],
)
def test_bits_and_conditions(formula, wanted):
    assert tf.table(BITS).update(f"Y = {formula}").to_dict()["Y"] == wanted


# Times with a zone beside times without one

AWARE = NOON.replace(tzinfo=UTC)
ZONED = {"a": [AWARE], "n": [NOON]}
MIXED = [
    C("a") > NOON,
    C("n") == AWARE,
    C("a") == C("n"),
    C("a").eq_missing(C("n")),
    C("a").is_in([NOON]),
    C("n").is_in([AWARE]),
    C("a").is_between(NOON, NOON),
    C("a") - C("n") > dt.timedelta(0),
    tf.when(C("a") > NOON).then(1).otherwise(2) == 1,
]


@pytest.mark.parametrize("expression", MIXED, ids=repr)
def test_a_clock_without_a_zone_is_no_instant(expression):
    told(["time zone", "replace_time_zone"], lambda: tf.table(ZONED).filter(expression), tf.errors.TypeMismatchError)


def test_the_same_of_variables_in_formulas():
    naive = NOON  # noqa: F841
    with pytest.raises(tf.errors.TypeMismatchError, match="time zone"):
        tf.table(ZONED).where("a > naive")
    assert len(tf.table(ZONED).filter(C("a") == AWARE, C("n") == NOON)) == 1


# Aggregates of no row

TOTALS = {
    "sum": (C("x").sum(), 0),
    "count": (C("x").count(), 0),
    "len": (tf.len(), 0),
    "n_unique": (C("x").n_unique(), 0),
    "mean": (C("x").mean(), None),
    "min": (C("x").min(), None),
    "max": (C("x").max(), None),
    "first": (C("x").first(), None),
    "last": ((C("x") + 1).last(), None),
    "median": (C("x").median(), None),
    "std": (C("x").std(), None),
    "product": (C("x").product(), None),
    "implode": (C("x").implode(), []),
    "of two": (C("x").sum() + tf.len() * 2, 0),
    "ratio": (C("x").sum() / tf.len(), math.nan),
}


@pytest.mark.parametrize("name", TOTALS)
def test_an_aggregate_in_select_has_one_row_always(name):
    expression, wanted = TOTALS[name]
    graph = tf.Graph()
    source = tf.keyed_table({"k": int, "x": int}, key=["k"], graph=graph)
    total = source.select(y=expression)
    grouped = source.agg_by(expression.alias("y"))

    def same(table):
        found = table.to_dict()["y"]
        assert len(found) == 1
        assert repr(found) == repr([wanted])

    same(total)
    same(tf.table({"x": [1]}).filter(C("x") > 1).select(y=expression))
    assert len(grouped) == 0
    full = {"k": [1, 2], "x": [5, 7]}
    for _ in range(2):
        source.upsert(full)
        graph.step()
        assert repr(total.to_dict()) == repr(tf.table(full).select(y=expression).to_dict())
        source.delete([1, 2])
        graph.step()
        same(total)
        assert len(grouped) == 0


# Means of decimals


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        (["1.00", "2.00", "2.00"], "1.666667"),
        (["-1.00", "-2.00", "-2.00"], "-1.666667"),
        (["0.01", "0.02"], "0.015000"),
        (["1.00", None], "1.000000"),
        ([None], None),
    ],
)
def test_the_mean_of_decimals_is_a_decimal(values, wanted):
    data = {"x": pa.array([None if value is None else Decimal(value) for value in values], pa.decimal128(5, 2))}
    wanted = None if wanted is None else Decimal(wanted)
    for t in (tf.table(data), live(pa.table(data))):
        mean = t.select(C("x").mean())
        assert repr(mean.dtypes[0]) == "Decimal(9, 6)"
        assert mean.to_dict()["x"] == [wanted]
    assert tf.table(data).with_columns(m=C("x").mean().over(C("x").is_null())).dtypes[1] == tf.Decimal(9, 6)


def test_a_mean_lies_exactly_in_the_middle_and_goes_away_from_zero():
    mean = pa.array([Decimal("0.00001"), Decimal("0.00002")], pa.decimal128(38, 38 - 0))
    assert tf.table({"x": mean}).select(C("x").mean()).dtypes == [tf.Decimal(38, 38)]
    near = pa.array([Decimal(1), Decimal(0)], pa.decimal128(38, 0))
    assert tf.table({"x": near}).select(C("x").mean()).to_dict()["x"] == [Decimal("0.5")]
    third = pa.array([Decimal(value) for value in (1, 0, 0, 0, 0, 0, 0, 0)] * 4 + [Decimal(0)] * 0, pa.decimal128(5, 0))
    assert tf.table({"x": third}).select(C("x").mean()).to_dict()["x"] == [Decimal("0.1250")]
    half = pa.array([Decimal(1)] + [Decimal(0)] * 31, pa.decimal128(5, 0))
    for sign in (1, -1):
        values = pa.array([sign * value.as_py() for value in half], pa.decimal128(5, 0))
        assert tf.table({"x": values}).select(C("x").mean()).to_dict()["x"] == [sign * Decimal("0.0313")]


def test_a_mean_that_does_not_fit_says_so():
    most = pa.array([Decimal(10) ** 37], pa.decimal128(38, 0))
    told(["mean", "38 digits", "Float64"], lambda: tf.table({"x": most}).select(C("x").mean()), tf.errors.DataError)


# Types and schemas

TYPES = [
    (pa.int64(), tf.Int64),
    (pa.timestamp("ns", "UTC"), tf.Datetime("ns", "UTC")),
    (pl.Int64, tf.Int64),
    (pl.Datetime("us"), tf.Datetime("us")),
    (np.dtype("int32"), tf.Int32),
    (np.float64, tf.Float64),
    (list[int], tf.List(tf.Int64)),
    (list[list[str]], tf.List(tf.List(tf.String))),
    (int | None, tf.Int64),
    ("i64", tf.Int64),
    ("u8", tf.UInt8),
    ("f32", tf.Float32),
    ("decimal(10,2)", tf.Decimal(10, 2)),
    ("decimal[10, 2]", tf.Decimal(10, 2)),
    ("category", tf.Dictionary(tf.String)),
]


@pytest.mark.parametrize(("given", "wanted"), TYPES, ids=repr)
def test_a_type_is_named_in_many_ways(given, wanted):
    assert tf.dtype(given) == wanted
    assert tf.Schema([("x", given)]) == {"x": wanted}


def test_schemas_of_other_libraries():
    assert tf.Schema(pl.Schema({"x": pl.Int64, "s": pl.String})) == {"x": tf.Int64, "s": tf.String}
    assert tf.Schema(pa.schema([("x", pa.int8())])) == {"x": tf.Int8}
    for wrong in ("number", 5, int | str, object(), dict):
        told(["data type", "int64"], lambda wrong=wrong: tf.dtype(wrong), TypeError)


def test_the_greatest_of_a_dictionary():
    column = pa.array(["b", "a", None, "c"]).dictionary_encode()
    t = tf.table({"k": [1, 1, 2, 2], "x": column})
    assert t.select(a=C("x").min(), b=C("x").max()).to_dict() == {"a": ["a"], "b": ["c"]}
    assert t.group_by("k").agg(C("x").max()).to_dict()["x"] == ["b", "c"]


# What is no expression

FOREIGN = {
    "polars": (pl.col("x"), ["polars expression", "tf.col"]),
    "polars when": (pl.when(pl.col("x") > 1), ["when"]),
    "lambda": (lambda x: x, ["lambda", "tf.udf"]),
    "function": (told, ["function told", "tf.udf"]),
    "type": (int, ["type int", "cast"]),
    "module": (math, ["module math"]),
    "when": (tf.when(C("x") > 1), [".then(value)"]),
    "series": (pd.Series([1, 2]), ["pandas Series", "t.with_columns(name=values)"]),
    "array": (np.array([1, 2]), ["NumPy array", "t.with_columns(name=values)"]),
    "polars series": (pl.Series([1, 2]), ["polars Series"]),
    "arrow": (pa.array([1, 2]), ["pyarrow"]),
    "column": (tf.table({"x": [1]})["x"], ["Column"]),
    "frame": (pd.DataFrame({"x": [1]}), ["pandas DataFrame", "joins"]),
    "polars frame": (pl.DataFrame({"x": [1]}), ["polars DataFrame"]),
    "lazy": (pl.LazyFrame({"x": [1]}), ["LazyFrame"]),
    "table": (tf.table({"x": [1]}), ["a tickframe Table"]),
    "iterator": (iter([1]), ["list(...)"]),
}
DOORS = {
    "operand": lambda t, given: t.filter(C("x") == given),
    "flipped": lambda t, given: t.filter(C("x").fill_null(given) > 1),
    "lit": lambda t, given: t.select(tf.lit(given)),
    "with_columns": lambda t, given: t.with_columns(y=given),
    "select": lambda t, given: t.select(y=given),
    "when": lambda t, given: t.select(tf.when(given).then(1)),
    "then": lambda t, given: t.select(tf.when(C("x") > 1).then(given)),
    "otherwise": lambda t, given: t.select(tf.when(C("x") > 1).then(1).otherwise(given)),
    "coalesce": lambda t, given: t.select(tf.coalesce("x", given) if not hasattr(given, "__next__") else tf.lit(given)),
    "group_by": lambda t, given: t.group_by(k=given),
    "agg": lambda t, given: t.group_by("x").agg(y=given),
    "equals": lambda t, given: t.filter(x=given),
    "between": lambda t, given: t.filter(C("x").is_between(given, 1)),
    "count_where": lambda t, given: t.agg_by(C("x").count_where(given)),
    "positional": lambda t, given: t.with_columns(given if not hasattr(given, "__next__") else tf.lit(given)),
}


#: What `select` and `with_columns` take as the values of a column.
COLUMNS = {"series", "array", "polars series", "arrow", "column"}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", FOREIGN)
def test_what_is_no_expression_is_named(door, name):
    given, words = FOREIGN[name]
    if name in COLUMNS and door in {"with_columns", "select"}:
        t = tf.table({"x": [1, 2]})
        assert DOORS[door](t.head(len(given)), given)["y"].to_list() == list(tf.table({"y": given})["y"])
        return
    if name in COLUMNS and door == "positional":
        words = ["has no name", "with_columns(name=values)"] if name != "column" else ["x has 1 values"]
    told(words, lambda: DOORS[door](tf.table({"x": [1, 2]}), given), ValueError if words[0][0] == "x" else TypeError)


@pytest.mark.parametrize("missing", [None, pd.NaT, pd.NA], ids=repr)
def test_what_is_missing_elsewhere_is_null(missing):
    t = tf.table({"x": [1, None]})
    assert t.select(y=tf.coalesce("x", missing)).to_dict()["y"] == [1, None]
    assert t.filter(C("x").eq_missing(missing)).to_dict()["x"] == [None]


RIGHT = {"k": ["a"], "w": [1]}


@pytest.mark.parametrize(
    "make", [tf.table, pl.DataFrame, pd.DataFrame, pa.table, dict], ids=["tf", "pl", "pd", "pa", "dict"]
)
def test_frames_stand_on_the_right_of_joins(make):
    t, right = tf.table({"k": ["a", "b"]}), make(RIGHT)
    assert t.natural_join(right, on="k").to_dict()["w"] == [1, None]
    assert t.where_in(right, "k").to_dict()["k"] == ["a"]
    stamped = tf.table({"w": [2]})
    assert stamped.join_asof(right, on="w", joins="k").to_dict()["k"] == ["a"]


@pytest.mark.parametrize(
    "wrong",
    [None, 5, "k", pl.LazyFrame(RIGHT), pl.col("k"), lambda: 1, pl.Series(["a"])],
    ids=lambda wrong: type(wrong).__name__,
)
def test_what_is_no_frame_is_named(wrong):
    t = tf.table({"k": ["a", "b"]})
    told(["natural_join", "table"], lambda: t.natural_join(wrong, on="k"), TypeError)
    told(["where_in", "table"], lambda: t.where_in(wrong, "k"), TypeError)


# Messages

T = tf.table({"sym": ["A", "B"], "x": [1, 2], "q": [{"a": 1, "b": 2.0}, None]})
MESSAGES = {
    "string filter": (lambda: T.filter("sym"), ["filter", "Boolean", "String"]),
    "string where": (lambda: T.where("sym"), ["where", "Boolean", "String", "^"]),
    "formula in filter": (lambda: T.filter("x > 1"), ["'x > 1'", "where", "tf.formula"]),
    "formula in select": (lambda: T.select("Y = x * 2"), ["'Y = x * 2'", "update", "tf.formula"]),
    "agg by name": (lambda: T.group_by("sym").agg(x="sum"), ["'sum'", "tf.col('x').sum()"]),
    "agg by dict": (lambda: T.group_by("sym").agg({"x": "sum"}), ["dict", "tf.col('x').sum()"]),
    "filter by dict": (lambda: T.filter({"x": 1}), ["dict", "write tf.col('x') == 1"]),
    "select by dict": (lambda: T.select({"x": "y"}), ["dict", "write tf.col('x').alias('y')"]),
    "list as column": (lambda: T.with_columns(y=[1, 2]), ["y: a list of 2 values", "an array or a Series"]),
    "listener": (lambda: T.subscribe("x"), ["subscribe", "function of one Update", "str"]),
    "concat": (lambda: tf.concat(T, T), ["concat([a, b])"]),
    "wait": (lambda: live({"x": [1]}).wait("soon"), ["wait: timeout", "a number of seconds", "'soon'"]),
    "drop": (lambda: T.drop(C("x") * -1), ["drop", "with_columns"]),
    "tf.Table": (lambda: tf.Table({"x": [1]}), ["tf.table(data)"]),
    "tf.DataFrame": (lambda: tf.DataFrame, ["tf.table(data)"]),
    "tf.colm": (lambda: tf.colm, ["'col'"]),
    "selec": (lambda: T.selec, ["'select'"]),
    "groupby": (lambda: T.groupby, ["group_by"]),
    "cols": (lambda: C("x").fill_null(C("a", "b")), ['col("a", "b") stands for several columns']),
    "count_where": (lambda: T.agg_by(tf.agg.count_where("n", C("x"))), ["Int64"]),
    "count_where formula": (lambda: T.agg_by(tf.agg.count_where("n", "x")), ["Int64"]),
    "to_date": (lambda: T.select(C("sym").str.to_date("%Y")), ['"%Y"']),
    "bad rows": (lambda: tf.Config(rows="a"), ["rows", "'a'"]),
    "bad period": (lambda: tf.time_table("often"), ["'often'", '"2h"']),
}


def untyped(x):
    return x


MESSAGES |= {
    "ddof": (lambda: T.select(C("x").std(ddof=-5)), ["std", "ddof", "-5"]),
    "module in a formula": (lambda: T.update("Y = np.sqrt(x)"), ['"np"', "sqrt(x)", "^"]),
    "Math": (lambda: T.update("Y = Math.sqrt(x)"), ["sqrt(x), not Math.sqrt(x)"]),
    "untyped function": (lambda: T.update("Y = untyped(x)"), ["untyped", "-> int", "tf.udf", "^"]),
    "is_in text": (lambda: C("sym").is_in("AB"), ["is_in", "a str", "list"]),
    "is_in lambda": (lambda: C("sym").is_in([lambda: 1]), ["is_in", "a lambda"]),
    "huge head": (lambda: T.head(2**70), ["head", "at most"]),
    "huge slice": (lambda: T.slice(2**70), ["slice", "offset"]),
    "slice by text": (lambda: T.slice("a"), ["slice", "offset", "str"]),
    "rename list": (lambda: T.rename(["a"]), ["rename", "dict", "a list"]),
    "rename to a number": (lambda: T.rename({"x": 1}), ["rename", "an int"]),
    "asof on": (lambda: T.join_asof(T, on=5), ["join_asof", "an int"]),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_says_what_to_write(name):
    call, words = MESSAGES[name]
    told(words, call)


def test_hints_are_near():
    for name in ("rle", "mode"):
        with pytest.raises(AttributeError) as caught:
            getattr(C("x"), name)
        assert "did you mean" not in str(caught.value)


def test_a_strict_cast_tells_the_expression_once():
    with pytest.raises(tf.errors.DataError) as caught:
        T.with_columns(y=C("sym").cast(tf.Int64))
    assert str(caught.value).count('col("sym")') == 1
    assert "with_columns" in str(caught.value)
    assert '"y"' in str(caught.value)


def test_a_field_has_its_own_name():
    assert T.select(C("q").struct.field("b")).to_dict() == {"b": [2.0, None]}


def test_a_long_chain_is_explained():
    t = tf.append_table({"x": int}, graph=tf.Graph())
    for at in range(1100):
        t = t.rename({t.columns[0]: f"x{at}"})
    assert len(t.explain().splitlines()) == 1101


# Spans, zones and bins in formulas

STAMPS = tf.table({"t": [dt.datetime(2024, 2, 15, 6, tzinfo=UTC), dt.datetime(2024, 3, 1, tzinfo=UTC)]})
FORMULAS = [
    ("lowerBin(t, `1mo`)", [dt.datetime(2024, 2, 1, tzinfo=UTC), dt.datetime(2024, 3, 1, tzinfo=UTC)]),
    ("upperBin(t, `1mo`)", [dt.datetime(2024, 3, 1, tzinfo=UTC), dt.datetime(2024, 3, 1, tzinfo=UTC)]),
    ("upperBin(t, `1q`)", [dt.datetime(2024, 4, 1, tzinfo=UTC)] * 2),
    ("lowerBin(t, `1mo`, `1d`)", [dt.datetime(2024, 2, 2, tzinfo=UTC)] * 2),
    ("lowerBin(t, `PT1h`)", [dt.datetime(2024, 2, 15, 6, tzinfo=UTC), dt.datetime(2024, 3, 1, tzinfo=UTC)]),
    ("t + 'PT1h'", [dt.datetime(2024, 2, 15, 7, tzinfo=UTC), dt.datetime(2024, 3, 1, 1, tzinfo=UTC)]),
]


@pytest.mark.parametrize(("formula", "wanted"), FORMULAS)
def test_spans_in_formulas(formula, wanted):
    assert STAMPS.update(f"Y = {formula}").to_dict()["Y"] == wanted


@pytest.mark.parametrize(
    ("short", "full"), [("ET", "America/New_York"), ("NY", "America/New_York"), ("JP", "Asia/Tokyo")]
)
def test_short_names_of_zones(short, full):
    for made in (
        STAMPS.select(C("t").dt.convert_time_zone(short)),
        STAMPS.update(f"t = toZonedDateTime(t, `{short}`)"),
    ):
        assert made.dtypes == [tf.Datetime("ns", full)]
    told(["Mars", '"ET"'], lambda: STAMPS.select(C("t").dt.convert_time_zone("Mars")))


# Display


def test_cells_stand_under_each_other():
    t = tf.table({"a": ["日本", "é", "ab\tc\x00", "x" * 50], "s" * 60: [1, 2, 3, 4]})
    lines = repr(t).splitlines()[1:]
    wide = {sum(2 if each in "日本" else 1 for each in line) for line in lines}
    assert len(wide) == 1
    assert "\\t" in repr(t)
    assert "\\x00" in repr(t)
    assert "s" * 40 not in repr(t)


def test_a_length_of_time_reads_well():
    spans = [dt.timedelta(days=3, hours=2), dt.timedelta(seconds=-1.5), dt.timedelta(0), dt.timedelta(minutes=61), None]
    shown = repr(tf.table({"d": spans}))
    for text in ("3d 2h", "-1.5s", " 0s", "1h 1m", "null"):
        assert text in shown


def test_a_line_is_as_wide_as_the_settings_say():
    t = tf.table({f"column {at}": [at] for at in range(8)})
    for width in (20, 40, 60, 200):
        with tf.Config(width=width):
            assert max(len(line) for line in repr(t).splitlines()) <= width
            assert len({len(line) for line in repr(t).splitlines()[1:]}) == 1
