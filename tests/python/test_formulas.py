"""Formula strings: the same tree as expression objects, the caller's variables, errors that show the place."""

from __future__ import annotations

import datetime as dt
import math
import pickle
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tickframe as tf
from tickframe.errors import ColumnNotFoundError, DataError, FormulaError, TableFailedError, TypeMismatchError

GLOBAL_LIMIT = 2
X = "shadowed by the column"


@pytest.fixture
def t() -> tf.Table:
    return tf.table(
        {
            "X": [1, 2, 3, None],
            "Y": [0.5, -1.5, float("nan"), None],
            "S": ["ab", "Cd", "", None],
            "T": [dt.datetime(2025, 1, 1, 9, 30, tzinfo=dt.UTC)] * 3 + [None],
        }
    )


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("Z = A * 2", (tf.col("A") * 2).alias("Z")),
        ("A + 1 - B", tf.col("A") + 1 - tf.col("B")),
        ("-A ** 2", -(tf.col("A") ** 2)),
        ("A > 1 && !(B < 2) || C", ((tf.col("A") > 1) & ~(tf.col("B") < 2)) | tf.col("C")),
        ("A // 2 % 3", tf.col("A") // 2 % 3),
        ("A ? 1 : `x`", tf.when(tf.col("A")).then(tf.lit(1)).otherwise(tf.lit("x"))),
        ("A == null", tf.col("A").is_null()),
        ("(int)A", tf.col("A").cast(tf.Int32)),
        ("(String)A", tf.col("A").cast(tf.String)),
        ("(Instant)A", tf.col("A").cast(tf.Datetime("ns", "UTC"))),
        ("(LocalDate)A", tf.col("A").cast(tf.Date)),
        ("(LocalTime)A", tf.col("A").cast(tf.Time)),
        ("(Duration)A", tf.col("A").cast(tf.Duration("ns"))),
        ("(decimal(10, 2))A", tf.col("A").cast(tf.Decimal(10, 2))),
        ("cast(A, Int8, strict=false)", tf.col("A").cast(tf.Int8, strict=False)),
        ("A.startsWith(`a`)", tf.col("A").str.starts_with("a")),
        ("A in 1, 2", tf.col("A").is_in([1, 2])),
        ("inRange(A, 1, B)", tf.col("A").is_between(1, "B")),
        ("A_[i-1]", tf.col("A").shift(1)),
        ("'2025-01-02'", tf.lit(dt.date(2025, 1, 2))),
        ("'09:30:00.5'", tf.lit(dt.time(9, 30, 0, 500_000))),
        ("'PT5M'", tf.lit(dt.timedelta(minutes=5))),
        ("5L", tf.lit(5, tf.Int64)),
        ("lowerBin(A, 5)", tf.col("A").lower_bin(5)),
        ("A.padStart(5, `*`)", tf.col("A").str.pad_start(5, "*")),
    ],
)
def test_a_string_is_the_tree_that_objects_make(text: str, made: tf.Expr) -> None:
    formula = tf.formula(text)
    assert formula.meta_eq(made), (formula, made)
    assert repr(formula) == repr(made)
    assert eval(repr(made), vars(tf)).meta_eq(made)
    assert pickle.loads(pickle.dumps(formula)).meta_eq(made)


def test_methods_with_deephavens_names_take_formulas(t: tf.Table) -> None:
    assert t.where("X > 1", "S != null").to_dict()["X"] == [2, 3]
    assert t.where(["X = 2"]).to_dict()["X"] == [2]
    assert t.where(tf.col("X") > 2, "Y == Y").to_dict()["X"] == [3]
    assert t.where() is not None
    made = t.update(["A = X * 2", "B = A + 1", "X = B"], "C = X")
    assert made.columns == ["X", "Y", "S", "T", "A", "B", "C"]
    assert made.to_dict()["C"] == [3, 5, 7, None]
    assert t.update("Q = S", tf.col("X").alias("R"))["R"].to_list() == [1, 2, 3, None]
    assert t.view("A = X * 2", "B = A + 1", "S").columns == ["A", "B", "S"]
    assert t.update_view("A = X").columns == ["X", "Y", "S", "T", "A"]
    assert t.update("X = X").columns == t.columns


def test_in_polars_methods_a_string_is_a_column_and_a_formula_needs_its_word(t: tf.Table) -> None:
    with pytest.raises(ColumnNotFoundError):
        t.select("A = X")
    assert t.select(tf.formula("A = X + S")).to_dict() == {"A": ["1ab", "2Cd", "3", None]}
    assert t.with_columns(A=tf.formula("X * 2")).to_dict()["A"] == [2, 4, 6, None]
    assert t.filter(tf.formula("X == GLOBAL_LIMIT")).to_dict()["X"] == [2]
    assert (tf.formula("X") + 1).meta_eq(tf.variable("X", X) + 1)


def test_names_are_columns_then_the_callers_variables(t: tf.Table) -> None:
    limit, wanted, nothing, fmt = 1, [1, 3], None, "!"
    since = dt.datetime(2025, 1, 1, tzinfo=dt.UTC)
    assert t.where("X > limit").to_dict()["X"] == [2, 3]
    assert t.where("X > GLOBAL_LIMIT").to_dict()["X"] == [3]
    assert t.where("X in wanted").to_dict()["X"] == [1, 3]
    assert t.where("X == nothing").to_dict()["X"] == [None]
    assert t.where("T > since && X = 1").to_dict()["X"] == [1]
    assert t.update("Z = S + fmt").to_dict()["Z"] == ["ab!", "Cd!", "!", None]

    def inner() -> tf.Expr:
        return tf.formula("X + limit + GLOBAL_LIMIT") if limit else tf.lit(0)

    least = 1
    assert [t.where("X > least && X <= most").to_dict()["X"] for most in (2, 3)] == [[2], [2, 3]]
    del least
    made = inner()
    limit = 100
    assert t.select(made.alias("Z")).to_dict()["Z"] == [4, 5, 6, None]
    narrow = tf.table({"N": [1]}).select(tf.col("N").cast(tf.Int8))
    small = 1
    assert narrow.update("A = N + small", "B = N + 1").dtypes == [tf.Int8, tf.Int64, tf.Int8]
    with pytest.raises(ColumnNotFoundError, match='the columns are "N"'):
        narrow.update("A = N + smal")
    # What is no value is no variable.
    module = threading
    with pytest.raises(ColumnNotFoundError):
        narrow.update("A = N + module")
    del module, since, wanted, nothing, fmt, small


@pytest.mark.parametrize(
    ("text", "kind", "carets"),
    [
        ("Z = X +", FormulaError, (7, 7)),
        ("Z = Q * 2", ColumnNotFoundError, (4, 5)),
        ("Z = X * S", TypeMismatchError, (4, 9)),
        ("Z = sqroot(X)", FormulaError, (4, 10)),
        ("Z = (short)(X * `a`)", TypeMismatchError, (11, 20)),
        ("Z = X_ + 1", FormulaError, (4, 6)),
        ("ßß = `é` + ß", ColumnNotFoundError, (11, 12)),
    ],
)
def test_errors_show_the_place(t: tf.Table, text: str, kind: type[Exception], carets: tuple[int, int]) -> None:
    with pytest.raises(kind) as caught:
        t.update(text)
    message = str(caught.value)
    first, formula, caret = message.splitlines()
    assert first.startswith("update: ")
    assert formula == f"  {text}"
    assert caret == "  " + " " * carets[0] + "^" * max(1, carets[1] - carets[0])
    assert caught.value.text == text  # type: ignore[attr-defined]
    assert caught.value.span == carets  # type: ignore[attr-defined]


def test_errors_of_each_method(t: tf.Table) -> None:
    with pytest.raises(TypeMismatchError, match=r"where: .*Boolean"):
        t.where("X + 1")
    with pytest.raises(FormulaError, match="formula: expected"):
        tf.formula("Y = = 2")
    with pytest.raises(FormulaError, match="a new column needs a name"):
        t.update("X + 1")
    with pytest.raises(ColumnNotFoundError, match=r"select: .*\n  Z = Nope \+ 1\n      \^\^\^\^"):
        t.select(tf.formula("Z = Nope + 1"))
    with pytest.raises(FormulaError) as caught:
        tf.formula("(")
    assert pickle.loads(pickle.dumps(caught.value)).span == caught.value.span


def test_a_live_table_keeps_its_formulas_true() -> None:
    g = tf.Graph(period=0)
    source = tf.append_table({"X": int, "S": str}, graph=g)
    limit = 2
    out = source.where("X > limit").update("Y = S.toUpperCase() + X")
    source.append({"X": [1, 3], "S": ["a", "b"]})
    g.step()
    assert out.to_dicts() == [{"X": 3, "S": "b", "Y": "B3"}]
    limit = 0
    source.append({"X": [2, 4], "S": ["c", "d"]})
    g.step()
    assert out.to_dict()["Y"] == ["B3", "D4"]
    assert limit == 0


def test_hostile_texts_fail_fast() -> None:
    for text in ["(" * 60_000, "!" * 60_000, "a." * 30_000, "`" * 65_000, "X+" * 40_000, "a" * 70_000, "((((((" * 100]:
        start = time.perf_counter()
        with pytest.raises(FormulaError):
            tf.formula(text)
        assert time.perf_counter() - start < 0.25


NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.floats() | st.booleans() | st.none()
LEAVES = st.sampled_from(["a", "b c", 'q"\\\n']).map(tf.col) | (NUMBERS | st.text() | st.binary()).map(tf.lit)


def _grown(inner: st.SearchStrategy[tf.Expr]) -> st.SearchStrategy[tf.Expr]:
    pairs = st.tuples(inner, inner)
    signs = st.sampled_from(["__add__", "__mul__", "__floordiv__", "__pow__", "__and__", "__or__", "__lt__", "__eq__"])
    return st.one_of(
        st.tuples(signs, pairs).map(lambda drawn: getattr(drawn[1][0], drawn[0])(drawn[1][1])),
        inner.map(lambda e: ~e),
        inner.map(lambda e: -e),
        inner.map(lambda e: e.cast(tf.Datetime("us", "Europe/Paris"), strict=False)),
        inner.map(lambda e: e.str.extract("(a)(b)", 2).str.pad_end(3).shift(-1)),
        inner.map(lambda e: e.is_in([1, None, "x"], nulls_equal=True).alias("é")),
        inner.map(lambda e: e.dt.truncate("1h").lower_bin(5, 1)),
        pairs.map(lambda e: tf.when(e[0]).then(e[1]).when(e[1]).then(e[0]).otherwise(tf.lit(None, tf.Int8))),
        pairs.map(lambda e: e[0].is_between(e[1], e[0], closed="left").sum(min_count=1)),
    )


@given(st.recursive(LEAVES, _grown, max_leaves=12))
@settings(max_examples=150, deadline=None)
def test_repr_reads_back(expr: tf.Expr) -> None:
    assert eval(repr(expr), vars(tf)).meta_eq(expr)


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize(
    ("method", "formulas", "plans"),
    [
        ("where", ["X > limit"], 1),
        # A conjunction is judged as the user wrote it, and its terms are filters of their own.
        ("where", ["X > limit && Y < limit + 0.25"], 3),
        ("where", ["X > limit", "Y != limit", "limit == limit"], 3),
        ("update", ["Z = X * limit + Y"], 1),
        ("update", ["Z = X * limit + Y", "W = Y > limit ? X : 0"], 2),
        ("view", ["Z = X + limit"], 1),
    ],
)
def test_formulas_that_differ_in_a_variable_are_read_once_and_planned_once_each(method, formulas, plans, live):
    graph = tf.Graph()
    if live:
        table: tf.Table = tf.append_table({"X": int, "Y": float}, graph=graph)
    else:
        table = tf.table({"X": [1, 2, 3], "Y": [1.0, 2.0, 3.0]})

    def counted() -> tuple[int, int]:
        counters = graph.counters()
        return counters["formulas_read"], counters["expressions_planned"]

    def make(limit: float) -> tf.Table:
        return getattr(table, method)(formulas)

    make(-1.0)
    read, planned = counted()
    made = [make(float(limit)) for limit in range(100)]
    again, later = counted()
    assert (again - read, later - planned, len(made)) == (0, 100 * plans, 100)


@pytest.mark.parametrize("sequel", [(), ("B = A3 + A4", "C = (int)(Y + 0 * B)")])
def test_every_formula_of_a_long_call_is_told_as_it_was_written(sequel):
    g = tf.Graph()
    t = tf.append_table({"Y": float}, graph=g)
    formulas = [f"A{n} = (int)Y + {n}" if n == 2 else f"A{n} = Y + {n}" for n in range(40)]
    made = t.update(formulas, *sequel)
    t.append({"Y": math.nan})
    g.step()
    with pytest.raises(TableFailedError) as raised:
        made.to_dict()
    assert "A0 = Y + 0, A1 = Y + 1, A2 = (int)Y + 2, " in raised.value.formula
    assert "in A2 = (int)Y + 2" in str(raised.value)


def test_a_formula_that_fails_on_a_row_is_told_as_it_was_written():
    g = tf.Graph()
    t = tf.append_table({"Y": float}, graph=g)
    made, kept = t.update("A = (int)Y * 2"), t.where("(int)Y > 0")
    objects = t.with_columns(A=tf.col("Y").cast(tf.Int32))
    t.append({"Y": math.nan})
    g.step()
    for table, text in ((made, "A = (int)Y * 2"), (kept, "(int)Y > 0"), (objects, 'col("Y").cast(Int32).alias("A")')):
        with pytest.raises(TableFailedError) as raised:
            table.to_dict()
        assert raised.value.formula == text
        assert f"in {text}" in str(raised.value)
    with pytest.raises(DataError, match=r"update: row 0.*value NaN.* in A = \(int\)Y$"):
        tf.table({"Y": [math.nan]}).update("A = (int)Y")
