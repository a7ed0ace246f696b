"""Methods of tables that a user of polars types first: what they give, against polars, and that live ones follow."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tickframe as tf
from tickframe.errors import (
    ColumnNotFoundError,
    DuplicateError,
    FormulaError,
    InvalidOperationError,
    SchemaError,
    TypeMismatchError,
)

DATA: dict[str, list[Any]] = {
    "i": [3, None, 1, 7, -2],
    "f": [1.5, 2.5, None, 0.0, -1.0],
    "s": ["p", "q", "", None, "p"],
    "b": [True, None, False, True, None],
    "d": [dt.date(2024, 1, day) for day in (5, 3, 4, 1)] + [None],
    "at": [dt.datetime(2024, 1, day, 12) for day in (5, 3, 4, 1)] + [None],
}
T, P = tf.table(DATA), pl.DataFrame(DATA)


def live() -> tuple[tf.AppendTable, tf.Graph]:
    """The same columns, without a row yet."""
    graph = tf.Graph()
    return tf.append_table(dict(T.schema), graph=graph), graph


def fed(source: tf.AppendTable, graph: tf.Graph) -> None:
    """The rows, one a step."""
    for row in T.to_dicts():
        source.append(row)
        graph.step()


FOLLOWING: dict[str, Any] = {
    "cast one": (lambda t, m: t.cast({"i": m.Float64, "f": m.String})),
    "cast by type": (lambda t, m: t.cast({m.Int64: m.String})),
    "cast all": (lambda t, m: t.drop("at").cast(m.String)),
    "cast weakly": (lambda t, m: t.cast({"s": m.Int64}, strict=False)),
    "limit": (lambda t, m: t.limit(2)),
    "drop_nulls": (lambda t, m: t.drop_nulls()),
    "drop_nulls of some": (lambda t, m: t.drop_nulls(["i", "s"])),
    "drop_nulls of one": (lambda t, m: t.drop_nulls("b")),
    "drop_nans": (lambda t, m: t.with_columns(f=m.col("f") / m.col("i")).drop_nans()),
    "drop_nans of one": (lambda t, m: t.with_columns(n=m.col("f") / 0).drop_nans("n")),
    "fill_null number": (lambda t, m: t.fill_null(0)),
    "fill_null float": (lambda t, m: t.fill_null(0.5)),
    "fill_null text": (lambda t, m: t.fill_null("-")),
    "fill_null truth": (lambda t, m: t.fill_null(value=True)),
    "fill_null date": (lambda t, m: t.select("d", "i").fill_null(dt.date(2000, 1, 1))),
    "fill_null expression": (lambda t, m: t.select("i").fill_null(m.lit(5))),
    "fill_nan": (lambda t, m: t.with_columns(n=m.col("f") / 0).fill_nan(9.0)),
    "null_count": (lambda t, m: t.null_count()),
    "top_k": (lambda t, m: t.select("i", "s").top_k(2, by="i")),
    "bottom_k": (lambda t, m: t.select("i", "s").bottom_k(3, by="i")),
    "top_k of an expression": (lambda t, m: t.select("i").top_k(2, by=m.col("i") * -1)),
    "sort by an expression": (lambda t, m: t.sort(m.col("i").abs())),
    "sort by several": (lambda t, m: t.sort(m.col("i") % 2, "f", descending=[True, False], nulls_last=True)),
    "slice": (lambda t, m: t[1:3]),
    "slice to the end": (lambda t, m: t[2:]),
    "slice of the end": (lambda t, m: t[-2:]),
    "slice within the end": (lambda t, m: t[-4:-1]),
    "a row": (lambda t, m: t[1]),
    "the last row": (lambda t, m: t[-1]),
}


@pytest.mark.parametrize("name", FOLLOWING)
def test_tables_are_those_of_polars_and_follow(name: str) -> None:
    made = FOLLOWING[name]
    ours, theirs = made(T, tf), made(P, pl)
    assert ours.columns == theirs.columns
    assert repr(ours.to_dict()) == repr(theirs.to_dict(as_series=False))
    source, graph = live()
    follows = made(source, tf)
    assert follows.is_live
    fed(source, graph)
    assert repr(follows.to_dict()) == repr(ours.to_dict())


def test_row_numbers() -> None:
    assert T.with_row_index().to_dict() == P.with_row_index().to_dict(as_series=False)
    assert T.select("s").with_row_index("i").columns == ["i", "s"]
    assert T.with_row_index("n", 5)["n"].to_list() == [5, 6, 7, 8, 9]
    source, graph = live()
    numbered = source.with_row_index()
    fed(source, graph)
    assert numbered["index"].to_list() == [0, 1, 2, 3, 4]
    with pytest.raises(DuplicateError, match="there is a column 'i'"):
        T.with_row_index("i")
    with pytest.raises(FormulaError, match=r"with_row_index: .*append-only"):
        source.sort("i").with_row_index()


def test_size_and_cells() -> None:
    assert (T.height, T.width, T.is_empty(), T.head(0).is_empty()) == (5, 6, False, True)
    assert T.item(1, "f") == P.item(1, "f") == T[1, "f"] == T[1, 1]
    assert T.item(-1, -5) == P.item(-1, -5)
    assert T.select(tf.col("i").sum()).item() == 9
    assert T.row(2) == P.row(2)
    assert T.row(-1, named=True) == P.row(-1, named=True)
    assert T.rows() == P.rows()
    assert T.rows(named=True) == P.rows(named=True)
    assert list(T.iter_rows()) == P.rows()
    assert list(T.iter_rows(named=True)) == P.rows(named=True)
    assert list(tf.table({"x": range(10_000)}).iter_rows()) == [(x,) for x in range(10_000)]
    assert tf.empty_table(2).rows() == [(), ()]
    for wrong in (T.item, lambda: T.item(0), lambda: T.head(0).item()):
        with pytest.raises(ValueError, match="give a row and a column"):
            wrong()
    for wrong in (lambda: T.item(5, 0), lambda: T.row(-6), lambda: T[5], lambda: T[-6, "i"]):
        with pytest.raises(IndexError, match=r"there is no -?[56] among 5"):
            wrong()
    with pytest.raises(ColumnNotFoundError, match="no column 6"):
        T.item(0, 6)


def test_slices() -> None:
    assert T[:2, "i"].to_list() == [3, None]
    assert T[1:3, ["s", "i"]].to_dict() == {"s": ["q", ""], "i": [None, 1]}
    assert T[0, ["s"]].to_dict() == {"s": ["p"]}
    assert T[0, :].rows() == [P.row(0)]
    assert T[:-1].height == 4
    assert T[3:-4].height == 0
    for wrong in (slice(None, None, 2), slice("a", "b"), slice(1.5)):
        with pytest.raises(TypeError, match="by ones"):
            T[wrong]
    source, _ = live()
    assert source[:-1].to_dicts() == source.to_dicts()[:-1]
    blink = tf.blink_table({"x": int}, graph=tf.Graph())
    with pytest.raises(InvalidOperationError):
        blink[1:]


def test_statistics() -> None:
    frame = P.select("i", "f", "s", "d")
    made = T.select("i", "f", "s", "d").describe()
    theirs = frame.describe()
    assert made.columns == theirs.columns
    assert made["statistic"].to_list() == theirs["statistic"].to_list()
    assert made["i"].to_list() == pytest.approx(theirs["i"].to_list())
    assert made["f"].to_list() == pytest.approx(theirs["f"].to_list())
    assert made["s"].to_list() == theirs["s"].to_list()
    days = dict(zip(made["statistic"], made["d"], strict=True))
    assert (days["count"], days["null_count"], days["min"], days["max"]) == ("4", "1", "2024-01-01", "2024-01-05")
    assert T.select("b").describe([])["b"].to_list() == [3.0, 2.0, pytest.approx(2 / 3), None, 0.0, 1.0]
    assert tf.table({"v": [[1], None]}).describe(None)["v"].to_list() == ["1", "1", None, None, None, None]
    assert tf.table({"statistic": [1]}).describe(None).width == 2
    assert tf.empty_table(3).describe(0.1).columns == ["statistic"]
    with pytest.raises(ValueError, match="numbers from 0 to 1"):
        T.describe([1.5])


def test_samples() -> None:
    t = tf.table({"x": list(range(1000))})
    some = t.sample(50, seed=3)["x"].to_list()
    assert some == sorted(set(some))
    assert len(some) == 50
    assert t.sample(50, seed=3)["x"].to_list() == some != t.sample(50, seed=4)["x"].to_list()
    mixed = t.sample(50, seed=3, shuffle=True)["x"].to_list()
    assert sorted(mixed) == some != mixed
    assert len(t.sample()) == 1
    assert len(t.sample(fraction=0.25)) == 250
    source, graph = live()
    fed(source, graph)
    assert not source.sample(2).is_live
    for wrong in (lambda: t.sample(1001), lambda: t.sample(1, fraction=0.5), lambda: t.sample(fraction=1.5)):
        with pytest.raises(ValueError, match=r"sample: (1001 rows of 1000|give n or fraction|fraction is a part)"):
            wrong()


def test_a_glimpse(capsys: pytest.CaptureFixture[str]) -> None:
    T.select("i", "s").glimpse(max_items_per_column=3)
    assert capsys.readouterr().out == "Rows: 5\nColumns: 2\n$ i <Int64>  3, null, 1\n$ s <String> 'p', 'q', ''\n"
    assert T.select("f").glimpse(return_type="string") == "Rows: 5\nColumns: 1\n$ f <Float64> 1.5, 2.5, null, 0.0, -1.0"


VALUES: dict[str, Any] = {
    "numpy": np.arange(5),
    "polars": pl.Series("n", range(5)),
    "pandas": pd.Series(range(5), name="n"),
    "arrow": pa.array(range(5)),
    "column": tf.table({"n": list(range(5))})["n"],
}


@pytest.mark.parametrize("kind", VALUES)
def test_values_in_order_are_columns_of_static_tables(kind: str) -> None:
    given = VALUES[kind]
    assert T.with_columns(n=given).columns == [*T.columns, "n"]
    assert T.with_columns(tf.col("i") * 2, n=given)["n"].to_list() == list(range(5))
    assert T.with_columns(i=given)["i"].to_list() == list(range(5))
    assert T.with_columns(i=given).columns == T.columns
    assert T.select("s", n=given).to_dict() == {"s": DATA["s"], "n": list(range(5))}
    assert T.select(n=given).to_dict() == {"n": list(range(5))}
    kept = T.filter(tf.col("i") > 0)
    assert kept.with_columns(n=given[:3])["n"].to_list() == [0, 1, 2]
    source, _ = live()
    with pytest.raises(InvalidOperationError, match=r"the rows of a live table change.*t\.join.*t\.snapshot"):
        source.with_columns(n=given)
    with pytest.raises(ValueError, match="n has 5 values, the table 2 rows"):
        T.head(2).with_columns(n=given)
    with pytest.raises(ValueError, match="beside aggregates"):
        T.select(tf.col("i").sum(), n=given)


def test_values_with_a_name_need_no_other() -> None:
    assert T.with_columns(pl.Series("n", range(5)), pd.Series(range(5), name="m")).columns == [*T.columns, "n", "m"]
    with pytest.raises(TypeError, match="has no name"):
        T.with_columns(np.arange(5))


def test_a_column_shows_and_gives_its_values() -> None:
    column = T["i"]
    assert (list(column), len(column), column.null_count()) == (DATA["i"], 5, 1)
    assert (column[0], column[-1], column[1:3].to_list(), column[9:].to_list()) == (3, -2, [None, 1], [])
    assert 7 in column
    assert 8 not in column
    assert repr(column[:2]) == "shape: (2,)\nColumn: 'i' [Int64]\n[\n    3\n    null\n]"
    assert pd.Series(column).to_list()[3] == 7
    assert pl.Series(column[1:4]).to_list() == [None, 1, 7]
    assert pa.array(column[1:4]).to_pylist() == [None, 1, 7]
    assert np.asarray(T["f"][:2]).tolist() == [1.5, 2.5]
    long = repr(tf.table({"x": list(range(1000))})["x"])
    assert long.startswith("shape: (1000,)\n")
    assert "    …\n" in long
    assert long.endswith("    999\n]")
    assert len(long.splitlines()) < 20
    for wrong in ("i", 1.5, True, slice(None, None, 2)):
        with pytest.raises(TypeError):
            column[wrong]
    with pytest.raises(IndexError, match="there is no 5 among 5"):
        column[5]
    source, graph = live()
    joined = tf.concat([source, source])
    fed(source, graph)
    assert joined["i"][4:7].to_list() == [-2, 3, None]


A = {"x": [1, 2], "s": ["a", None]}
B = {"x": [2.5], "t": [True]}


def test_tables_of_other_columns_and_types_one_after_the_other() -> None:
    for how, first, second in [
        ("vertical_relaxed", {"x": A["x"]}, {"x": B["x"]}),
        ("diagonal", A, {"s": ["z"], "y": [1]}),
        ("diagonal_relaxed", A, B),
    ]:
        ours = tf.concat([tf.table(first), tf.table(second)], how=how)
        theirs = pl.concat([pl.DataFrame(first), pl.DataFrame(second)], how=how)
        assert ours.columns == theirs.columns
        assert ours.to_dict() == theirs.to_dict(as_series=False)
    graph = tf.Graph()
    a, b = tf.append_table({"x": int}, graph=graph), tf.append_table({"y": str, "x": float}, graph=graph)
    both = tf.concat([a, b], how="diagonal_relaxed")
    a.append({"x": 1})
    b.append({"y": "z", "x": 0.5})
    graph.step()
    assert both.to_dict() == {"x": [1.0, 0.5], "y": [None, "z"]}
    with pytest.raises(SchemaError):
        tf.concat([tf.table(A), tf.table(B)], how="vertical_relaxed")
    with pytest.raises(TypeMismatchError, match="concat: column 'x'"):
        tf.concat([tf.table({"x": [1]}), tf.table({"x": ["a"]})], how="vertical_relaxed")
    with pytest.raises(ValueError, match="side by side by join"):
        tf.concat([tf.table(A)], how="horizontal")  # type: ignore[arg-type]


def test_what_is_no_value_fills_nothing() -> None:
    for wrong in (None, [1], object()):
        with pytest.raises(TypeError, match="fill_null"):
            T.fill_null(wrong)
    assert T.select("s").fill_null(0).to_dict() == {"s": DATA["s"]}


def test_cast_names_what_is_missing() -> None:
    with pytest.raises(ColumnNotFoundError, match="cast: no column 'z'"):
        T.cast({"z": int})
    with pytest.raises(tf.errors.DataError, match="row 0"):
        T.cast({"s": tf.Int64})
    passed = T.cast({"s": tf.Int64}, on_error="null")
    assert (passed["s"].null_count(), len(passed.errors)) == (5, 4)


def test_where_one_of():
    t = tf.table({"X": [1, 2, 3, None], "S": ["a", "b", "a", "b"]})
    few = 1  # noqa: F841 - the formula reads it
    assert t.where_one_of("X = few", tf.col("X") > 2).to_dict()["X"] == [1, 3]
    assert t.where_one_of("X > 2", "S = `b`").to_dict()["X"] == [2, 3, None]
    assert t.where_one_of("X = 2").to_dict()["X"] == [2]
    assert t.where_one_of().rows() == t.rows()
    with pytest.raises(tf.errors.ColumnNotFoundError, match=r"where_one_of: .*Y"):
        t.where_one_of("X = 1", "Y = 2")
    with pytest.raises(tf.errors.TypeMismatchError, match="where_one_of"):
        t.where_one_of("X = 1", tf.col("X"))
    with pytest.raises(TypeError, match="where_one_of: a filter that runs in an order of its own"):
        t.where_one_of(tf.Filter("X = 1").with_serial(), "X = 2")


def test_last_step_and_failure():
    graph = tf.Graph()
    t = tf.append_table({"x": str}, graph=graph)
    numbers = t.with_columns(n=tf.col("x").cast(int))
    assert (tf.table({"x": [1]}).last_step, t.is_failed) == (0, False)
    t.append({"x": "1"})
    graph.step()
    assert t.last_step == numbers.last_step > 0
    t.append({"x": "one"})
    graph.step()
    assert (t.is_failed, numbers.is_failed) == (False, True)
