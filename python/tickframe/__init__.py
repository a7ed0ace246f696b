"""Live tables for Python: every derived table is kept true by work proportional to the change.

>>> import tickframe as tf
>>> g = tf.Graph()
>>> trades = tf.append_table({"sym": str, "px": float, "size": int}, graph=g)
>>> totals = trades.group_by("sym").agg(tf.col("size").sum().alias("total"))
>>> _ = trades.append({"sym": ["A", "B", "A"], "px": [1.0, 2.0, 1.5], "size": [10, 20, 30]})
>>> _ = g.step()
>>> totals.to_dicts()
[{'sym': 'A', 'total': 40}, {'sym': 'B', 'total': 20}]
"""

from __future__ import annotations

import warnings as _warnings
from typing import TYPE_CHECKING as _TYPE_CHECKING

from tickframe import _native, agg, errors, filters, selectors, testing, update_by
from tickframe import hints as _hints
from tickframe import logs as _logs
from tickframe._native import RowSet
from tickframe.across import (
    all_horizontal,
    any_horizontal,
    coalesce,
    concat_str,
    format,
    max_horizontal,
    mean_horizontal,
    min_horizontal,
    struct,
    sum_horizontal,
)
from tickframe.column import Column
from tickframe.config import Config
from tickframe.constructors import (
    empty_table,
    from_arrow,
    from_dicts,
    from_pandas,
    from_polars,
    functions,
    table,
)
from tickframe.control import Barrier, Filter, Selectable
from tickframe.delta import read_delta, scan_delta
from tickframe.differences import table_diff
from tickframe.dtypes import (
    Array,
    Binary,
    Boolean,
    DataType,
    Date,
    Datetime,
    Decimal,
    Dictionary,
    Duration,
    FixedBinary,
    Float16,
    Float32,
    Float64,
    Int8,
    Int16,
    Int32,
    Int64,
    Interval,
    List,
    Map,
    Null,
    Object,
    String,
    Struct,
    Time,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    dtype,
)
from tickframe.durable import Positions, Tables
from tickframe.expr import Expr
from tickframe.files import (
    DEAD_LETTERS,
    read_csv,
    read_ipc,
    read_json,
    read_orc,
    read_parquet,
)
from tickframe.followers import listen, merged_listen
from tickframe.formulas import formula
from tickframe.functions import (
    arctan2,
    col,
    concat_list,
    corr,
    cov,
    element,
    from_epoch,
    int_ranges,
    len,
    lit,
    now,
    random_bool,
    random_float,
    random_gaussian,
    random_int,
    variable,
)
from tickframe.generators import function_generated_table, incremental_release, replay
from tickframe.graph import Graph, default_graph
from tickframe.group_by import GroupBy
from tickframe.iceberg import read_iceberg
from tickframe.joins import multi_join
from tickframe.kinds import add_only_to_blink, blink_to_append_only, remove_blink, ring_table
from tickframe.listener import Subscription, Update
from tickframe.partitioned import (
    PartitionedProxy,
    PartitionedTable,
    from_constituent_tables,
    from_partitioned_table,
)
from tickframe.plan import Plan
from tickframe.reductions import (
    all,
    any,
    approx_n_unique,
    count,
    exclude,
    first,
    implode,
    last,
    max,
    mean,
    median,
    min,
    n_unique,
    nth,
    quantile,
    std,
    sum,
    var,
)
from tickframe.remote import Connection, RemoteState, connect
from tickframe.restoring import restore
from tickframe.rolled import RollingGroups
from tickframe.scanning import scan_csv, scan_ipc, scan_ndjson, scan_parquet
from tickframe.schema import Schema
from tickframe.scopes import scope
from tickframe.server import Server, serve
from tickframe.sources import (
    AppendTable,
    BlinkTable,
    FileTable,
    InputTable,
    KeyedTable,
    Token,
    append_table,
    blink_table,
    input_table,
    keyed_table,
    time_table,
)
from tickframe.stacking import concat, merge, merge_sorted
from tickframe.synced import sync_filter, sync_to_leader
from tickframe.table import Table
from tickframe.time_groups import TimeGroups
from tickframe.udf.api import Udf, udf
from tickframe.versions import show_versions
from tickframe.when import when

if _TYPE_CHECKING:
    from tickframe import spark
    from tickframe.spark import from_spark

__version__ = _native.__version__
_logs.set_up()
if _native.CHECKED:
    _warnings.warn(
        "this build of tickframe checks itself at every step and is many times slower; "
        "measure with `make wheel` or `make release`",
        RuntimeWarning,
        stacklevel=2,
    )


if not _TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Spark's half is imported when it is first asked for."""
        if name in {"spark", "from_spark"}:
            import importlib

            module = importlib.import_module("tickframe.spark")
            return module if name == "spark" else module.from_spark
        if name.startswith("__"):
            raise AttributeError(f"module 'tickframe' has no attribute {name!r}")
        hint = _hints.unknown(name, "module", _hints.MODULE, __all__)
        raise AttributeError(f"module 'tickframe' has no attribute {name!r}{hint}")


__all__ = [
    "DEAD_LETTERS",
    "AppendTable",
    "Array",
    "Barrier",
    "Binary",
    "BlinkTable",
    "Boolean",
    "Column",
    "Config",
    "Connection",
    "DataType",
    "Date",
    "Datetime",
    "Decimal",
    "Dictionary",
    "Duration",
    "Expr",
    "FileTable",
    "Filter",
    "FixedBinary",
    "Float16",
    "Float32",
    "Float64",
    "Graph",
    "GroupBy",
    "InputTable",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Interval",
    "KeyedTable",
    "List",
    "Map",
    "Null",
    "Object",
    "PartitionedProxy",
    "PartitionedTable",
    "Plan",
    "Positions",
    "RemoteState",
    "RollingGroups",
    "RowSet",
    "Schema",
    "Selectable",
    "Server",
    "String",
    "Struct",
    "Subscription",
    "Table",
    "Tables",
    "Time",
    "TimeGroups",
    "Token",
    "UInt8",
    "UInt16",
    "UInt32",
    "UInt64",
    "Udf",
    "Update",
    "__version__",
    "add_only_to_blink",
    "agg",
    "all",
    "all_horizontal",
    "any",
    "any_horizontal",
    "append_table",
    "approx_n_unique",
    "arctan2",
    "blink_table",
    "blink_to_append_only",
    "coalesce",
    "col",
    "concat",
    "concat_list",
    "concat_str",
    "connect",
    "corr",
    "count",
    "cov",
    "default_graph",
    "dtype",
    "element",
    "empty_table",
    "errors",
    "exclude",
    "filters",
    "first",
    "format",
    "formula",
    "from_arrow",
    "from_constituent_tables",
    "from_dicts",
    "from_epoch",
    "from_pandas",
    "from_partitioned_table",
    "from_polars",
    "from_spark",
    "function_generated_table",
    "functions",
    "implode",
    "incremental_release",
    "input_table",
    "int_ranges",
    "keyed_table",
    "last",
    "len",
    "listen",
    "lit",
    "max",
    "max_horizontal",
    "mean",
    "mean_horizontal",
    "median",
    "merge",
    "merge_sorted",
    "merged_listen",
    "min",
    "min_horizontal",
    "multi_join",
    "n_unique",
    "now",
    "nth",
    "quantile",
    "random_bool",
    "random_float",
    "random_gaussian",
    "random_int",
    "read_csv",
    "read_delta",
    "read_iceberg",
    "read_ipc",
    "read_json",
    "read_orc",
    "read_parquet",
    "remove_blink",
    "replay",
    "restore",
    "ring_table",
    "scan_csv",
    "scan_delta",
    "scan_ipc",
    "scan_ndjson",
    "scan_parquet",
    "scope",
    "selectors",
    "serve",
    "show_versions",
    "spark",
    "std",
    "struct",
    "sum",
    "sum_horizontal",
    "sync_filter",
    "sync_to_leader",
    "table",
    "table_diff",
    "testing",
    "time_table",
    "udf",
    "update_by",
    "var",
    "variable",
    "when",
]
