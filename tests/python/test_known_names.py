"""Names of other libraries: each is one of ours, or is told with what does it here, or that it is not there yet."""

from __future__ import annotations

import pickle
import re
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from polars.dataframe.group_by import GroupBy
from pyspark.sql import Column as SparkColumn
from pyspark.sql.classic.dataframe import DataFrame as SparkFrame

import tickframe as tf
from tickframe import hints
from tickframe.hints import EXPRESSIONS, GROUPS, MODULE, NOT_YET, RUNNING, SPACES, TABLES

#: Names of Deephaven, whose client is no dependency.
DEEPHAVEN = [
    "abs_sum_by",
    "agg_by",
    "aj",
    "avg_by",
    "columns_names",
    "count_by",
    "drop_columns",
    "exact_join",
    "first_by",
    "first_last_by",
    "group_by",
    "head_by",
    "last_by",
    "layout_hints",
    "lazy_update",
    "listen",
    "max_by",
    "median_by",
    "merge",
    "meta_table",
    "min_by",
    "move_columns",
    "natural_join",
    "new_table",
    "partition_by",
    "raj",
    "range_join",
    "remove_blink",
    "rename_columns",
    "ring_table",
    "rollup",
    "select_distinct",
    "snapshot_when",
    "sort_descending",
    "std_by",
    "sum_by",
    "tail_by",
    "tree",
    "ungroup",
    "update_by",
    "update_view",
    "var_by",
    "view",
    "where",
    "where_in",
    "where_not_in",
]
#: What people write who mean something near.
NEAR = [
    "pivot",
    "alias",
    "asc",
    "avg",
    "col_",
    "concat",
    "count_match",
    "dayofweek",
    "dayofyear",
    "days",
    "floor",
    "get",
    "len",
    "lengths",
    "lower",
    "lstrip",
    "n_chars",
    "rstrip",
    "size",
    "startswith",
    "endswith",
    "strip",
    "take",
    "title",
    "total_seconds_",
    "transaction",
    "tz_convert",
    "tz_localize",
    "upper",
    "values",
    "when_",
    "to_df",
    "to_list",
    "to_numpy",
    "tolist",
    "append",
    "insert",
    "upsert",
    "expr",
    "read_json",
    "row_number",
    "cat",
    "window",
    "apply",
    "copy",
    "contains",
    "map",
    "sample_by",
    "withWatermark",
    "item",
    "items",
    "select",
    "datetime",
    "date",
    "time",
]


def public(*kinds: Any) -> set[str]:
    """The public names of some classes."""
    return {name for kind in kinds for name in dir(kind) if not name.startswith("_")}


X, PX = tf.col("x"), pl.col("x")
STR, DT = pd.Series(["a"]).str, pd.Series(pd.to_datetime(["2024"])).dt
#: By the kind of thing: the names here, what is told of others, the names that polars has, and those of other libraries.
KINDS: dict[str, tuple[set[str], dict[str, str], set[str], set[str]]] = {
    "table": (
        public(tf.Table),
        TABLES,
        public(pl.DataFrame, pl.LazyFrame) - {"from_lazyframe_resolver", "remote"},
        public(pd.DataFrame, SparkFrame, pa.Table, duckdb.DuckDBPyRelation),
    ),
    "groups": (public(tf.GroupBy), GROUPS, public(GroupBy), public(pd.core.groupby.DataFrameGroupBy)),
    "expression": (
        public(tf.Expr) | RUNNING,
        EXPRESSIONS,
        public(pl.Expr) - {"deserialize"},
        public(pd.Series, SparkColumn),
    ),
    "module": (set(tf.__all__), MODULE, set(pl.__all__), set()),
    **{
        space: (
            public(getattr(X, space)),
            SPACES[space],
            public(getattr(PX, space)),
            public({"str": STR, "dt": DT}.get(space)),
        )
        for space in SPACES
    },
}
#: Names of the module of polars that say nothing about data: engines, credentials, extension types, caches, readers of theirs.
OTHERS_OWN = re.compile(
    r"[A-Z]|.*(?:extension_type|string_cache|plugin|torch|database|clipboard|metadata|_schema|_stream|lance|iceberg|thread_pool|"
    r"index_type|collect_all_async|defer|dtype|pyarrow|external_reader)|api$|from_dataframe$|from_repr$|json_normalize$|"
    r"escape_regex$|struct_with_fields$"
)


@pytest.mark.parametrize("kind", KINDS)
def test_every_name_of_polars_is_told(kind: str) -> None:
    ours, told, polars, _ = KINDS[kind]
    silent = polars - ours - set(told) - NOT_YET[kind]
    if kind == "module":
        silent = {name for name in silent if not OTHERS_OWN.match(name)}
    assert silent == set()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_told_is_a_name_elsewhere_and_none_here(kind: str) -> None:
    ours, told, polars, others = KINDS[kind]
    assert ours & (set(told) | NOT_YET[kind]) == set(), "a name that there is: its row is to be deleted"
    assert set(told) & NOT_YET[kind] == set()
    elsewhere = polars | others | set(DEEPHAVEN) | set(NEAR)
    if kind == "module":
        elsewhere |= {f"{verb}_{what}" for verb in ("read", "scan") for what in ("avro", "excel", "ods")}
    assert (set(told) | NOT_YET[kind]) - elsewhere == set(), "no library has this name"


#: Methods as hints write them: `group_by(...)`, `.list.head(n)`, `tf.struct`.
CALLED = re.compile(r"(?<![\w.])(tf\.)?([a-z_]\w*)(?:\.([a-z_]\w*))?\(")
#: What stands in hints and is no method of ours: Python's own, other libraries', examples.
PYTHONS = {"len", "str", "print", "datetime", "polars", "floor", "cast"}

ATTRIBUTES = {"columns.index", "graph.snapshot", "graph.transaction", "schema.items"}


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_hint_names_is_there(kind: str) -> None:
    of = {"table": tf.Table, "groups": tf.GroupBy, "expression": tf.Expr, "module": tf}.get(kind)
    of = of if of is not None else type(getattr(X, kind))
    for name, hint in KINDS[kind][1].items():
        for module, called, inner in CALLED.findall(hint):
            if module:
                found = getattr(tf, called)
                assert not inner or hasattr(found, inner), f"{name}: {hint}"
            elif called in {"t", "table"}:
                assert hasattr(tf.Table, inner) or inner == "to_polars", f"{name}: {hint}"
            elif called not in PYTHONS and f"{called}.{inner}" not in ATTRIBUTES:
                spaces = [of, tf.Table, tf.Expr, tf.GroupBy, tf]
                assert any(hasattr(space, called) for space in spaces), f"{name}: {hint}: no {called}"
                assert not inner or hasattr(getattr(X, called, None), inner) or hasattr(X, inner), f"{name}: {hint}"


def said(call: Any) -> str:
    with pytest.raises(AttributeError) as caught:
        call()
    return str(caught.value)


def test_the_words() -> None:
    t = tf.table({"x": [1]})
    assert said(lambda: t.withColumn) == "a table has no 'withColumn'; here it is with_columns"
    assert said(lambda: t.groupby).endswith("here it is group_by")
    assert said(lambda: t.first_last_by).endswith("here it is first_by or last_by")
    assert said(lambda: t.rollup) == "a table has no 'rollup': it is not there yet"
    assert said(lambda: t.num_rows) == "a table has no 'num_rows'; here it is len(t)"
    assert said(lambda: t.melt) == "a table has no 'melt'; here it is unpivot"
    assert said(lambda: t.group_by("x").pivot).startswith("groups have no 'pivot'; here it is t.pivot(on, on_columns")
    assert said(lambda: X.mode) == "an expression has no 'mode': it is not there yet"
    assert said(lambda: X.list.explode) == ".list has no 'explode': it is not there yet"
    assert said(lambda: X.str.upper) == ".str has no 'upper'; here it is to_uppercase()"
    assert said(lambda: X.name.sufix).endswith("did you mean 'suffix'?")
    assert said(lambda: tf.colm).endswith("did you mean 'col'?")
    assert said(lambda: t.selec).endswith("did you mean 'select'?")
    assert said(lambda: t.group_by("x").cov).startswith("groups have no 'cov'; here it is agg(tf.cov(a, b))")
    assert said(lambda: tf.read_avro).endswith("tf.table(polars.read_avro(path))")
    assert said(lambda: tf.sql) == "module 'tickframe' has no attribute 'sql': it is not there yet"


def test_who_asks_whether_a_name_is_there_does_not_wait_for_the_nearest_one(monkeypatch):
    """Frames of other libraries, and our own, ask each value for a dozen names."""
    compared = []
    monkeypatch.setattr(hints, "nearest", lambda name, _: compared.append(name) or "")
    table = tf.table({"x": [1]})
    for value in (table, tf.col("x"), tf.col("x").str):
        assert not hasattr(value, "to_pylists")
    table.filter(tf.col("x") > 0).with_columns(y=tf.col("x") + 1)
    assert compared == []
    with pytest.raises(AttributeError, match="has no 'to_pylists'"):
        table.to_pylists  # noqa: B018
    assert compared == ["to_pylists"]
    told = pickle.loads(pickle.dumps(hints.UnknownNameError("a table has no 'x'", "x", None, lambda: "; nor here")))
    assert type(told) is AttributeError
    assert str(told) == "a table has no 'x'; nor here"
