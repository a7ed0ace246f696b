"""Every function of rows against polars, pyarrow and DuckDB, cell by cell, on the odd values of each type.

A row of the tables in `functions/` is one use of a function: the data it sees, our expression, and the same for one or
more peers. Where we differ by decision the row says for which cells, what ours is, and which rule it follows; a peer that
comes to agree fails the test, so that no excuse outlives its reason. What no peer has is written out. A method of
expressions, or a function of formulas, that stands in no row fails too.
"""

from __future__ import annotations

import ast
import datetime as dt
import inspect
import math
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import tickframe as tf
from functions import lists, numbers, text, time
from functions.formulas import FORMULAS
from functions.rows import DATA, NS, Row, x, y
from functions.text import S
from functions.time import D
from tickframe import _native
from tickframe.errors import TickframeError

ROWS = [*numbers.rows, *text.rows, *time.rows, *lists.rows]


def cells(array: Any) -> list[Any]:
    """What stands in an array: instants, dates and durations as whole numbers, of nanoseconds or of days."""
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    kind = array.type
    if pa.types.is_date32(kind):
        array = array.cast(pa.int32())
    elif pa.types.is_temporal(kind):
        to = {"ti": pa.time64("ns"), "du": pa.duration("ns")}.get(str(kind)[:2], NS)
        if pa.types.is_timestamp(kind):
            to = pa.timestamp("ns", kind.tz)
        array = array.cast(to).cast(pa.int64())
    return array.to_pylist()


def same(row: Row, wanted: Any, found: Any) -> bool:
    """Whether two cells are equal, as the row asks."""
    if isinstance(wanted, (list, tuple)) and isinstance(found, (list, tuple)):
        return len(wanted) == len(found) and all(same(row, *both) for both in zip(wanted, found, strict=True))
    if wanted is None or found is None:
        return wanted is found
    if isinstance(wanted, float) and isinstance(found, float):
        if math.isnan(wanted) or math.isnan(found):
            return math.isnan(wanted) and math.isnan(found)
        if wanted == found:
            return not row.zeros or wanted != 0 or math.copysign(1, wanted) == math.copysign(1, found)
        return row.near > 0 and math.isclose(wanted, found, rel_tol=row.near, abs_tol=1e-323)
    return bool(wanted == found)


def of_polars(columns: dict[str, pa.Array], expression: pl.Expr) -> Any:
    frame = pl.from_arrow(pa.table(columns))
    assert isinstance(frame, pl.DataFrame)
    return frame.select(out=expression).to_arrow()["out"]


def of_duckdb(columns: dict[str, pa.Array], sql: str) -> Any:
    data = pa.table(columns)
    return duckdb.sql(f"SELECT {sql} AS out FROM data").to_arrow_table()["out"] if len(data) else data["x"]


def ours(columns: dict[str, pa.Array], expression: tf.Expr) -> Any:
    return pa.table(tf.from_arrow(pa.table(columns)).select(out=expression))["out"]


def peers(row: Row, columns: dict[str, pa.Array]) -> dict[str, list[Any]]:
    """What each peer says, or what was written down."""
    said = {}
    if row.polars is not None:
        said["polars"] = cells(of_polars(columns, row.polars))
    if row.pyarrow is not None:
        said["pyarrow"] = cells(row.pyarrow(*columns.values()))
    if row.duckdb is not None:
        said["duckdb"] = cells(of_duckdb(columns, row.duckdb))
    if row.wanted is not None:
        said["what is written"] = row.wanted
    return said


def label(row: Row) -> str:
    return f"{row.name}-{row.data}"


@pytest.mark.parametrize("row", ROWS, ids=label)
def test_function_equals_its_peers(row: Row):
    columns = DATA[row.data]
    found = cells(ours(columns, row.ours))
    given = list(zip(*(cells(column) for column in columns.values()), strict=True))
    said = peers(row, columns)
    assert said, f"{row.name}: nobody to compare with"
    wrong = []
    for peer, wanted in said.items():
        excused: set[str] = set()
        for at, values in enumerate(given):
            if same(row, wanted[at], found[at]):
                continue
            but = next((but for but in row.but if peer in but.peers and None not in values and but.when(*values)), None)
            if but is None or not same(row, but.ours(*values), found[at]):
                wrong.append(
                    f"{values!r}: {found[at]!r}, {peer}: {wanted[at]!r}" + (f", by rule {but.rule}" if but else "")
                )
            else:
                excused.add(but.rule)
        stale = [but.rule for but in row.but if peer in but.peers and but.rule not in excused]
        wrong.extend(f"{peer} no longer differs: {rule}" for rule in stale)
    assert not wrong, f"{row.ours!r} of {row.data}\n" + "\n".join(wrong[:20])
    # Of nothing comes nothing, of the same type; cells that begin elsewhere in memory are the same cells.
    empty = ours({name: column.slice(0, 0) for name, column in columns.items()}, row.ours)
    assert (len(empty), empty.type) == (0, ours(columns, row.ours).type)
    twice = {name: pa.concat_arrays([column, column]).slice(1) for name, column in columns.items()}
    assert repr(cells(ours(twice, row.ours))) == repr([*found[1:], *found])


@pytest.mark.parametrize(("text", "data", "meant"), FORMULAS, ids=[text for text, *_ in FORMULAS])
def test_formula_means_its_expression(text: str, data: str, meant: tf.Expr):
    columns = DATA[data]
    wanted, found = (ours(columns, made) for made in (meant, tf.formula(text)))
    assert (found.type, repr(cells(found))) == (wanted.type, repr(cells(wanted)))


FAILING = [
    ("i64", x.cast(tf.Int32), "row 1: the value does not fit Int32.*value -9223372036854775808"),
    ("f64", x.cast(tf.Int64), "row 1: the value does not fit Int64.*value NaN"),
    ("i8", x.cast(tf.UInt8), "row 1: the value does not fit UInt8.*value -128"),
    ("text", x.cast(tf.Int64), "row 1.*no Int64"),
    ("text", x.cast(tf.Float64), "row 1.*no Float64"),
    ("read_dates", S.to_date(), "row 5: the text is no date.*2023-02-29"),
    ("read_instants", S.to_datetime(), "row 4: the text is no instant.*2023-02-29"),
    ("instants", x + tf.lit(1, tf.Duration("ns")), "row 2.*outside the range"),
    ("instants", D.truncate("1d"), "row 1.*outside the range of instants"),
    ("instants", D.offset_by("1y"), "row 2.*outside the range of instants"),
    ("instants", D.month_start(), "row 1.*outside the range of instants"),
    ("dates", D.combine(dt.time(9, 30)), "row 1.*outside the range of instants"),
]


@pytest.mark.parametrize(("data", "expression", "message"), FAILING, ids=[repr(row[1]) for row in FAILING])
def test_what_has_no_value_is_named_with_its_row(data: str, expression: tf.Expr, message: str):
    with pytest.raises(TickframeError, match=message):
        ours(DATA[data], expression)


#: Functions whose tests stand elsewhere, and where.
ELSEWHERE = {
    "shift": "test_context_expressions.py", "diff": "test_context_expressions.py", "get": "test_context_expressions.py", "alias": "test_expr.py",
    "meta_eq": "test_expr.py", "meta_output_name": "test_expr.py", "meta_columns": "test_expr.py",
    **dict.fromkeys(("sum", "mean", "min", "max", "std", "var", "count", "len", "n_unique", "first", "last"), "test_model.py"),
    **dict.fromkeys(
        ("absAvg", "avg", "countDistinct", "distinct", "indexOfMax", "indexOfMin", "median", "nth", "percentile", "product",
         "size", "sort", "sortDescending", "split", "subVector", "unique"),
        "test_vectors.py",
    ),
    **dict.fromkeys(
        ("random", "randomBool", "randomDouble", "randomFloat", "randomGaussian", "randomInt", "randomLong"), "test_random.py"
    ),
    "over": "test_over.py",
    "rolling_rank": "test_rolling_rank.py", "rolling_rank_by": "test_rolling_rank.py",
    "rolling_kurtosis": "test_rolling.py", "rolling_skew": "test_rolling.py",
    **dict.fromkeys(
        (f"rolling_{name}{by}" for by in ("", "_by")
         for name in ("sum", "mean", "min", "max", "std", "var", "median", "quantile")),
        "test_rolling.py",
    ),
    **dict.fromkeys(
        ("backward_fill", "cum_count", "cum_max", "cum_mean", "cum_min", "cum_prod", "cum_sum", "ewm_mean", "ewm_mean_by",
         "ewm_std", "ewm_sum", "ewm_sum_by", "ewm_var", "forward_fill", "interpolate", "pct_change", "rank"),
        "test_running.py",
    ),
    **dict.fromkeys(
        ("__getitem__", "add", "all", "and_", "any", "drop_nans", "drop_nulls", "eq", "filter", "floordiv", "ge", "gt",
         "is_duplicated", "is_unique", "le", "lt", "mod", "mul", "ne", "neg", "not_", "null_count", "or_", "pipe", "replace",
         "sort_by", "sub", "truediv", "xor"),
        "test_everyday_expressions.py",
    ),
    **dict.fromkeys(
        ("abs_sum", "approx_n_unique", "approx_quantile", "arg_max", "arg_min", "count_distinct", "count_where", "freeze",
         "implode", "kurtosis", "list.arg_sort", "median", "only", "product", "quantile", "skew", "weighted_mean", "weighted_std", "weighted_sum",
         "weighted_var"),
        "test_aggregates.py",
    ),
    **dict.fromkeys(
        ("cut", "is_first_distinct", "is_last_distinct", "peak_max", "peak_min", "qcut"), "test_compares.py"
    ),
    **dict.fromkeys(("nan_min", "nan_max"), "test_table.py"), **dict.fromkeys(("now", "today"), "test_context_expressions.py"),
}  # fmt: skip


def written() -> set[str]:
    """Methods of expressions and of their name spaces, and functions that make expressions."""
    spaces = {"str": x.str, "dt": x.dt, "bin": x.bin, "list": x.list, "struct": x.struct}
    found = {f"{space}.{name}" for space, of in spaces.items() for name in dir(of) if name[0] != "_"}
    for name in dir(tf.Expr):
        member = getattr(tf.Expr, name)
        operator = (
            name.startswith("__") and name.endswith("__") and "Expr" in str(getattr(member, "__annotations__", ""))
        )
        if inspect.isfunction(member) and name != "__init__" and (operator or name[0] != "_"):
            found.add(name)
    return found | {"coalesce", "when", "arctan2", "min_horizontal", "max_horizontal"}


DECLARED = _native.functions()
EXAMPLES = {name: example for _, name, example, _ in _native.formula_functions()}


def in_python(name: str) -> Any:
    """What the declaration's name means in Python: a method of an expression, or a function of the module."""
    space, _, method = name.rpartition(".")
    found = getattr(getattr(x, space) if space else x, method, None)
    return found if callable(found) else getattr(tf, name)


@pytest.mark.parametrize(
    "declared", [each for each in DECLARED if each["kind"] in {"method", "function"}], ids=lambda each: each["name"]
)
def test_python_takes_what_is_declared(declared: dict[str, Any]):
    parameters = dict(inspect.signature(in_python(declared["name"])).parameters)
    for option, default in declared["options"]:
        given = parameters.pop(option).default
        assert str(given) == str(ast.literal_eval(default)), option
    subject = int(declared["kind"] == "method")
    needed = [each for each in parameters.values() if each.default is each.empty]
    assert len([each for each in needed if each.kind is not each.VAR_POSITIONAL]) <= declared["least"] - subject
    assert declared["most"] is None or len(parameters) >= declared["most"] - subject
    assert any(each.kind is each.VAR_POSITIONAL for each in needed) == (declared["most"] is None)


@pytest.mark.parametrize("declared", DECLARED, ids=lambda each: each["name"])
def test_declared_examples_are_of_their_function(declared: dict[str, Any]):
    sign = {"operator": declared["name"].replace("neg", "-"), "formula": ""}
    written = sign.get(declared["kind"], f"{declared['name']}(")
    assert written in repr(eval(declared["example"], {"tf": tf, "col": tf.col}))
    for name in declared["formulas"]:
        # A name that means several functions has one example.
        others = [each["name"] for each in DECLARED if name in each["formulas"]]
        assert written in repr(tf.formula(EXAMPLES[name])) or declared["name"] != others[0], name


def test_options_are_those_that_are_declared():
    call = _native.Expr.call
    assert repr(tf.Expr(call("list.std", [x._native]))) == repr(x.list.std())
    with pytest.raises(TypeError, match=r"list\.std has no option digits"):
        call("list.std", [x._native], digits=2)
    with pytest.raises(ValueError, match='closed must be "both", "left", "right" or "none", not "open"'):
        call("is_between", [x._native, y._native, y._native], closed="open")


def test_functions_are_a_table_of_what_is_declared():
    table = tf.functions()
    named = {row["name"]: row for row in table.to_dicts() if row["name"] is not None}
    assert named.keys() == {each["name"] for each in DECLARED if each["kind"] != "formula"}
    assert named["list.sort"]["options"] == ["descending=False", "nulls_last=False"]
    assert (named["coalesce"]["least"], named["coalesce"]["most"]) == (1, None)
    assert set(EXAMPLES) == {name for row in table.to_dicts() for name in row["formulas"]}
    assert table.filter(tf.col("formulas").list.contains("countDistinct")).to_dict()["name"] == ["list.count_distinct"]


def test_every_method_of_expressions_stands_in_a_row():
    assert written() - {row.name for row in ROWS} - set(ELSEWHERE) == set()


def test_every_function_of_formulas_stands_in_a_row():
    called = {
        name.split(".")[-1] for text, *_ in FORMULAS for name in text.replace("(", " (").split() if name[0] != "("
    }
    # Another name for a declared function is tried where that is; what it means is the declaration's to say.
    of_rows = {name for each in DECLARED if each["name"] in {row.name for row in ROWS} for name in each["formulas"]}
    assert set(EXAMPLES) - called - set(ELSEWHERE) - of_rows == set()
