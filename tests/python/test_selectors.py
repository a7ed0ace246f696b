"""Selectors beside polars' own, over a table with a column of each type; and wherever names of columns go."""

from __future__ import annotations

import datetime as dt
import pickle
from decimal import Decimal
from typing import Any

import polars as pl
import polars.selectors as theirs
import pytest

import tickframe as tf
import tickframe.selectors as ours
from tickframe.errors import ColumnNotFoundError

ROWS = {
    "i8": pl.Series([1, 2], dtype=pl.Int8),
    "i64": pl.Series([1, 2]),
    "u16": pl.Series([1, 2], dtype=pl.UInt16),
    "f32": pl.Series([1.5, 2.5], dtype=pl.Float32),
    "f64": pl.Series([1.5, 2.5]),
    "dec": pl.Series([Decimal("1.5"), Decimal("2.5")], dtype=pl.Decimal(10, 2)),
    "b": pl.Series([True, False]),
    "text": pl.Series(["a", "b"]),
    "Größe": pl.Series(["a", "b"]),
    "cat": pl.Series(["a", "b"], dtype=pl.Categorical),
    "raw": pl.Series([b"a", b"b"]),
    "day": pl.Series([dt.date(2024, 1, 1)] * 2),
    "clock": pl.Series([dt.time(1)] * 2),
    "at_us": pl.Series([dt.datetime(2024, 1, 1)] * 2, dtype=pl.Datetime("us")),
    "at_utc": pl.Series([dt.datetime(2024, 1, 1)] * 2, dtype=pl.Datetime("ns", "UTC")),
    "at_rome": pl.Series([dt.datetime(2024, 1, 1)] * 2, dtype=pl.Datetime("ms", "Europe/Rome")),
    "span_us": pl.Series([dt.timedelta(1)] * 2, dtype=pl.Duration("us")),
    "span_ms": pl.Series([dt.timedelta(1)] * 2, dtype=pl.Duration("ms")),
    "list": pl.Series([[1], [2]]),
    "arr": pl.Series([[1, 2], [3, 4]], dtype=pl.Array(pl.Int64, 2)),
    "rec": pl.Series([{"x": 1}, {"x": 2}]),
    "2024": pl.Series([1, 2]),
    "a b": pl.Series([1, 2]),
}
FRAME = pl.DataFrame(ROWS)
TABLE = tf.table(FRAME)


def kinds(m: Any) -> Any:
    """The module whose types a selector takes."""
    return pl if m is theirs else tf


SAME: dict[str, Any] = {
    **{
        name: lambda m, name=name: getattr(m, name)()
        for name in [
            "all",
            "alpha",
            "alphanumeric",
            "array",
            "binary",
            "boolean",
            "categorical",
            "date",
            "datetime",
            "decimal",
            "digit",
            "duration",
            "empty",
            "first",
            "float",
            "integer",
            "last",
            "list",
            "nested",
            "numeric",
            "signed_integer",
            "string",
            "struct",
            "temporal",
            "time",
            "unsigned_integer",
        ]
    },
    "string, categories": lambda m: m.string(include_categorical=True),
    "alpha, ascii": lambda m: m.alpha(ascii_only=True),
    "alpha, spaces": lambda m: m.alpha(ignore_spaces=True),
    "alphanumeric, ascii, spaces": lambda m: m.alphanumeric(ascii_only=True, ignore_spaces=True),
    "digit, ascii": lambda m: m.digit(ascii_only=True),
    "names": lambda m: m.by_name("text", ["i8"], "b"),
    "names, some": lambda m: m.by_name("text", "none", require_all=False),
    "places": lambda m: m.by_index(3, range(2), -1),
    "int": lambda m: m.by_dtype(int),
    "types": lambda m: m.by_dtype(kinds(m).Float64, [kinds(m).Datetime, kinds(m).String]),
    "python types": lambda m: m.by_dtype(float, str, dt.datetime, dt.timedelta, bool, bytes, dt.date, dt.time),
    "one unit": lambda m: m.datetime("us"),
    "units": lambda m: m.datetime(["ms", "ns"]),
    "any zone": lambda m: m.datetime(time_zone="*"),
    "no zone": lambda m: m.datetime(time_zone=None),
    "zones": lambda m: m.datetime(time_zone=["UTC", "Asia/Tokyo"]),
    "unit of spans": lambda m: m.duration("ms"),
    "matches": lambda m: m.matches("^[if]\\d+$"),
    "contains": lambda m: m.contains("_u", "Gr"),
    "starts": lambda m: m.starts_with("at_", "i"),
    "ends": lambda m: m.ends_with("64", "e"),
    "dots are dots": lambda m: m.contains("."),
    "exclude": lambda m: m.exclude("i8", kinds(m).String, m.temporal()),
    "or": lambda m: m.numeric() | m.string(),
    "and": lambda m: m.numeric() & m.starts_with("i"),
    "less": lambda m: m.numeric() - m.integer(),
    "either": lambda m: m.numeric() ^ m.by_name("i8", "text"),
    "not": lambda m: ~m.numeric(),
    "of three": lambda m: ~(m.numeric() | m.string()) - m.temporal(),
    "order of names is lost": lambda m: m.by_name("text", "i8") | m.by_name("b"),
    "but one": lambda m: m.numeric().exclude("i8", "none"),
}
COMPUTED: dict[str, Any] = {
    "times": lambda m: m.integer() * 2,
    "all but a type": lambda m: kinds(m).all().exclude(kinds(m).String).count(),
    "all but types and names": lambda m: kinds(m).all().exclude([kinds(m).Int8, kinds(m).Boolean]).count(),
    "some but a type": lambda m: kinds(m).col("text", "i8", "b").exclude("b").count(),
    "less one": lambda m: m.signed_integer() - 1,
    "sums": lambda m: m.float().sum().name.prefix("sum_"),
    "not of values": lambda m: ~m.boolean().as_expr(),
    "and of values": lambda m: m.boolean() & True,
    "of a set": lambda m: (m.numeric() - m.decimal()).max(),
    "texts": lambda m: m.string().str.to_uppercase(),
}


@pytest.mark.parametrize("which", SAME)
def test_the_columns_are_those_of_polars(which: str) -> None:
    select = SAME[which]
    assert list(ours.expand_selector(TABLE, select(ours))) == FRAME.select(select(theirs)).columns
    assert list(ours.expand_selector(TABLE.schema, select(ours))) == FRAME.select(select(theirs)).columns


@pytest.mark.parametrize("which", COMPUTED)
def test_what_is_computed_of_them_is_that_of_polars(which: str) -> None:
    compute = COMPUTED[which]
    assert TABLE.select(compute(ours)).to_dict() == FRAME.select(compute(theirs)).to_dict(as_series=False)


@pytest.fixture
def t() -> tf.Table:
    return tf.table(
        {"k": ["a", "b", "a"], "x": [3, 1, 2], "y": [1.5, None, 2.5], "l": [[1], [2], [3]], "s": [{"f": 1}] * 3}
    )


def test_selectors_go_where_names_go(t: tf.Table) -> None:
    cs = ours
    assert t.drop(cs.nested()).columns == ["k", "x", "y"]
    assert t.sort(cs.integer())["x"].to_list() == [1, 2, 3]
    assert t.unique(cs.string())["x"].to_list() == [3, 1]
    assert t.first_by(cs.string())["x"].to_list() == [3, 1]
    assert t.last_by(cs.string())["x"].to_list() == [2, 1]
    assert t.drop_nulls(cs.numeric())["x"].to_list() == [3, 2]
    assert t.unpivot(cs.numeric(), index=cs.string()).height == 6
    assert t.explode(cs.list())["l"].to_list() == [1, 2, 3]
    assert t.unnest(cs.struct()).columns[-1] == "f"
    assert t.cast({cs.integer(): tf.Float64})["x"].dtype == tf.Float64
    assert t.group_by(cs.string()).agg(cs.numeric().sum()).rows() == [("a", 5, 4.0), ("b", 1, 0.0)]
    assert t.agg_by(cs.integer().max(), cs.string()).rows() == [("a", 3), ("b", 1)]
    assert t.partition_by(cs.string()).key_columns == ["k"]
    assert t.update_by(tf.update_by.cum_sum("c = x"), by=cs.string())["c"].to_list() == [3, 1, 5]
    assert t.with_columns(cs.numeric().fill_null(0))["y"].to_list() == [1.5, 0.0, 2.5]
    assert t.filter((cs.numeric() > 1).is_not_null()).height == 2
    assert t.select(tf.max_horizontal(cs.numeric()).alias("m"))["m"].to_list() == [3.0, 1.0, 2.5]
    assert t.where(cs.integer() > 1).height == 2
    assert t.count_by("n", cs.string()).rows() == [("a", 2), ("b", 1)]
    assert t.select(tf.col(tf.Int64, tf.Float64)).columns == ["x", "y"]
    assert t.select(tf.exclude(tf.String)).columns == ["x", "y", "l", "s"]
    assert t.select(tf.all().exclude(cs.numeric(), "l")).columns == ["k", "s"]
    assert t.select(tf.all().exclude(tf.String).exclude(int).exclude("l", "s").sum()).rows() == [(4.0,)]


def test_of_groups_keys_are_no_columns(t: tf.Table) -> None:
    assert t.group_by("x").agg(ours.numeric().sum()).columns == ["x", "y"]


def test_live_tables_take_them(g: tf.Graph) -> None:
    live = tf.append_table({"k": str, "x": int, "y": float}, graph=g)
    sums = live.group_by("k").agg(ours.numeric().sum())
    live.append({"k": ["a", "a"], "x": [1, 2], "y": [0.5, 0.25]})
    g.step()
    assert sums.rows() == [("a", 3, 0.75)]


def test_they_are_written_as_they_were_made_and_travel() -> None:
    made = ours.numeric() - ours.by_name("x") | ours.datetime("us", "UTC")
    assert repr(made) == "((cs.numeric() - cs.by_name('x')) | cs.datetime(time_unit='us', time_zone='UTC'))"
    again = pickle.loads(pickle.dumps(made))
    assert repr(again) == repr(made)
    assert ours.is_selector(again)
    assert repr(ours.numeric().sum()) == "cs.numeric().sum()"
    less = tf.all().exclude(tf.String, ours.temporal()).sum()
    assert repr(pickle.loads(pickle.dumps(less))) == repr(less)
    assert repr(less) == "all().exclude((cs.temporal() | cs.by_dtype(String))).sum()"
    assert ours.expand_selector(TABLE, pickle.loads(pickle.dumps(ours.float()))) == ("f32", "f64")


MISTAKES: dict[str, tuple[Any, type[Exception], str]] = {
    "no such name": (lambda t: t.select(ours.by_name("pxx")), ColumnNotFoundError, "no column 'pxx'; the columns are"),
    "no such place": (lambda t: t.select(ours.by_index(9)), ColumnNotFoundError, "no column at 9; there are 5"),
    "a place that is none": (lambda t: ours.by_index("x"), TypeError, "cs.by_index: a place is an int, not"),
    "a name that is none": (lambda t: ours.by_name(3), TypeError, "cs.by_name: a name is a str, not"),
    "no name": (lambda t: ours.starts_with(), TypeError, "cs.starts_with: give a name, at least"),
    "no type": (lambda t: ours.by_dtype(), TypeError, "cs.by_dtype: give a type, at least"),
    "what is no type": (lambda t: ours.by_dtype("float65"), TypeError, "float65"),
    "a pattern": (lambda t: ours.matches("(x"), ValueError, r"cs.matches: '\(x' is no regular expression"),
    "a unit": (lambda t: ours.datetime("h"), ValueError, 'cs.datetime: a time unit is "s", "ms", "us" or "ns"'),
    "a zone": (lambda t: ours.datetime(time_zone=3), TypeError, "cs.datetime: a time zone is a str or None, not"),
    "an expression left out": (lambda t: ours.exclude(tf.col("x")), TypeError, "cs.exclude: .* is neither a name nor"),
    "an expression left out of all": (
        lambda t: tf.all().exclude(tf.col("x")),
        TypeError,
        'exclude: col."x". is neither a name nor',
    ),
    "left out of what is computed": (lambda t: tf.all().sum().exclude(int), TypeError, "exclude stands first"),
    "where no table is": (
        lambda t: tf.concat([t]).join(t, on=ours.string()),
        TypeError,
        "stands for columns of a table",
    ),
    "no selector": (lambda t: ours.expand_selector(t, tf.col("x")), TypeError, "is no selector"),
    "no table": (lambda t: ours.expand_selector(3, ours.all()), TypeError, "give a table or a schema"),
    "types and names": (lambda t: tf.col("x", tf.Int64), TypeError, "col: "),
}


@pytest.mark.parametrize("which", MISTAKES)
def test_mistakes_are_told(t: tf.Table, which: str) -> None:
    call, kind, told = MISTAKES[which]
    with pytest.raises(kind, match=told):
        call(t)
