"""Every door, every kind of Python value: the answer is right or an error that reads well.

Doors are found by walking the signatures of every public callable; a parameter that no row of this file knows how to
fill fails the test. Each door is a forked child with a limit of memory: it may not die of a signal, take ten seconds
for a value, raise an `InternalError`, or show a reader Rust's own words.
"""

from __future__ import annotations

import array
import collections
import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import inspect
import io
import itertools
import math
import multiprocessing
import os
import pathlib
import re
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import types
import uuid
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.orc
import pytest

import tickframe as tf

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

#: Memory a child may take beside what it began with.
MEMORY = 3 << 30
#: Seconds one value may take.
SECONDS = 10
#: What no reader should meet.
UNREADABLE = re.compile(
    r"Some\(|None\)\)|called `|unwrap|panicked|\bUtf8View\b|\bUtf8\b|BinaryView|\.rs:\d|PyErr|Err\(|Ok\(|"
    r"object has no attribute '_|is not an instance of|cannot be (?:converted|cast) (?:to|as) '|"
    r"C Data interface|has no attribute 'graph'|unexpected keyword|0x[0-9a-f]{8,}|\bArrowError\b|_native\."
)
#: Beside the package's own errors.
PLAIN = (TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError, NotImplementedError)
NOT_PLAIN = (RecursionError, UnicodeError)


class Color(enum.Enum):
    RED = 1


@dataclasses.dataclass
class Point:
    x: int
    y: int


Pair = collections.namedtuple("Pair", "x y")  # noqa: PYI024 - callers have untyped ones


class Odd:
    """Everything that can be asked of it goes wrong."""

    def __bool__(self):
        raise RuntimeError("no bool of this")

    def __eq__(self, other):
        raise RuntimeError("no equality of this")

    __hash__ = None

    def __len__(self):
        return -1  # noqa: PLE0303 - that is what is odd

    def __iter__(self):
        raise RuntimeError("no items of this")

    def __repr__(self):
        raise RuntimeError("no repr of this")

    def __getattr__(self, name):
        raise RuntimeError(f"no {name} of this")


class Endless(Odd):
    """Answers everything with itself."""

    def __getattr__(self, name):
        if name.startswith(("__array", "__arrow")):
            raise AttributeError(name)
        return self

    def __call__(self, *args, **kwargs):
        return self

    def __iter__(self):
        return iter([self])

    def __len__(self):
        return 1

    def __bool__(self):
        return True

    def __repr__(self):
        return "Endless()"


class Arrowless:
    """Says that it speaks Arrow, and gives something else."""

    def __init__(self, answer):
        self.answer = answer

    def __arrow_c_stream__(self, requested_schema=None):
        return self.answer

    def __arrow_c_array__(self, requested_schema=None):
        return self.answer

    def __arrow_c_schema__(self):
        return self.answer


class Number(int):
    def __index__(self):
        raise RuntimeError("no index of this")


class Words(str):  # noqa: SLOT000 - as users write them
    def __str__(self):
        raise RuntimeError("no text of this")

    __repr__ = __str__


class Gone(dict):
    def __getitem__(self, key):
        raise RuntimeError("no item of this")

    def items(self):
        raise RuntimeError("no items of this")


def holds_itself() -> list[Any]:
    """A list whose only item it is."""
    own: list[Any] = []
    own.append(own)
    return own


def keeps_itself() -> dict[str, Any]:
    """A dict whose only value it is."""
    own: dict[str, Any] = {}
    own["x"] = own
    return own


def nested(depth: int, wrap: Callable[[Any], Any]) -> Any:
    """A value in so many others."""
    value: Any = 1
    for _ in range(depth):
        value = wrap(value)
    return value


#: Every kind of value, made anew for each call.
VALUES: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "True": lambda: True,
    "0": lambda: 0,
    "-1": lambda: -1,
    "1": lambda: 1,
    "2**62": lambda: 2**62,
    "2**63": lambda: 2**63,
    "-2**63": lambda: -(2**63),
    "10**400": lambda: 10**400,
    "0.5": lambda: 0.5,
    "-0.5": lambda: -0.5,
    "nan": lambda: math.nan,
    "inf": lambda: math.inf,
    "1e300": lambda: 1e300,
    "complex": lambda: 1j,
    "empty text": str,
    "x": lambda: "x",
    "no such column": lambda: "no_such",
    "formula": lambda: "x + 1",
    "broken formula": lambda: "x + (",
    "NUL": lambda: "\0",
    "surrogate": lambda: "\ud800",
    "megabyte": lambda: "a" * 1_000_000,
    "brackets": lambda: "(" * 60_000,
    "duration text": lambda: "1h",
    "bytes": lambda: b"abc",
    "bytearray": lambda: bytearray(b"abc"),
    "memoryview": lambda: memoryview(b"abc"),
    "array": lambda: array.array("i", [1, 2]),
    "[]": list,
    "[1]": lambda: [1],
    "[None]": lambda: [None],
    "['x']": lambda: ["x"],
    "['x','x']": lambda: ["x", "x"],
    "mixed list": lambda: [1, "a", None, 2.5],
    "bools": lambda: [True, False],
    "list of dicts": lambda: [{"x": 1}, {"y": "a"}],
    "list of lists": lambda: [[1], [2, 3]],
    "100,000 numbers": lambda: list(range(100_000)),
    "100,000 texts": lambda: [f"c{n}" for n in range(100_000)],
    "deep list": lambda: nested(200, lambda value: [value]),
    "very deep list": lambda: nested(100_000, lambda value: [value]),
    "holds itself": holds_itself,
    "()": tuple,
    "(1, 2)": lambda: (1, 2),
    "{}": dict,
    "{'x': 1}": lambda: {"x": 1},
    "{'x': 'sum'}": lambda: {"x": "sum"},
    "{'x': [1, 2]}": lambda: {"x": [1, 2]},
    "{1: 2}": lambda: {1: 2},
    "deep dict": lambda: nested(200, lambda value: {"x": value}),
    "very deep dict": lambda: nested(50_000, lambda value: {"x": value}),
    "keeps itself": keeps_itself,
    "set": lambda: {1, 2},
    "frozenset": lambda: frozenset("ab"),
    "range": lambda: range(3),
    "huge range": lambda: range(2**40),
    "strided range": lambda: range(0, 2**44, 2),
    "generator": lambda: (n for n in (1, 2)),
    "iterator": lambda: iter([1, 2]),
    "map": lambda: map(str, [1]),
    "lambda": lambda: lambda x: x,
    "builtin": lambda: len,
    "type": lambda: int,
    "list[int]": lambda: list[int],
    "int | None": lambda: int | None,
    "module": lambda: math,
    "Ellipsis": lambda: ...,
    "NotImplemented": lambda: NotImplemented,
    "slice": lambda: slice(1, 3),
    "object": object,
    "exception": lambda: ValueError("one"),
    "naive datetime": lambda: dt.datetime(2024, 2, 29, 12),
    "aware datetime": lambda: dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC),
    "datetime.min": lambda: dt.datetime.min,  # noqa: DTZ901
    "datetime.max": lambda: dt.datetime.max,  # noqa: DTZ901
    "date": lambda: dt.date(2024, 2, 29),
    "time": lambda: dt.time(12, 30),
    "timedelta": lambda: dt.timedelta(seconds=5),
    "timedelta.max": lambda: dt.timedelta.max,
    "Decimal": lambda: decimal.Decimal("1.50"),
    "Decimal NaN": lambda: decimal.Decimal("NaN"),
    "Decimal 1E+999": lambda: decimal.Decimal("1E+999"),
    "Decimal of 60 digits": lambda: decimal.Decimal("1" * 60),
    "Fraction": lambda: fractions.Fraction(1, 3),
    "UUID": lambda: uuid.UUID(int=1),
    "Enum": lambda: Color.RED,
    "dataclass": lambda: Point(1, 2),
    "namedtuple": lambda: Pair(1, 2),
    "Path": lambda: pathlib.PurePosixPath("a/b"),
    "np.int64": lambda: np.int64(1),
    "np.float32": lambda: np.float32(1.5),
    "np.bool_": lambda: np.bool_(True),
    "np.str_": lambda: np.str_("x"),
    "np.datetime64": lambda: np.datetime64("2024-01-01"),
    "np NaT": lambda: np.datetime64("NaT"),
    "np scalar array": lambda: np.array(1),
    "np array": lambda: np.array([1, 2]),
    "np 2-d": lambda: np.zeros((2, 2)),
    "np mask": lambda: np.array([True, False]),
    "np masked": lambda: np.ma.masked_array([1, 2], [True, False]),
    "np objects": lambda: np.array([1, "a", None], dtype=object),
    "np structured": lambda: np.zeros(2, dtype=[("a", "i4"), ("b", "f8")]),
    "np complex": lambda: np.zeros(2, dtype=complex),
    "np dtype": lambda: np.dtype("int64"),
    "pd.Series": lambda: pd.Series([1, 2]),
    "pd.DataFrame": lambda: pd.DataFrame({"x": [1, 2]}),
    "pd.NaT": lambda: pd.NaT,
    "pd.NA": lambda: pd.NA,
    "pd.Timestamp": lambda: pd.Timestamp("2024-01-01", tz="Europe/Berlin"),
    "pd.Timedelta": lambda: pd.Timedelta("1h"),
    "pd.Categorical": lambda: pd.Categorical(["a", "b"]),
    "pd.Period": lambda: pd.Period("2024-01"),
    "pd.Index": lambda: pd.Index([1, 2]),
    "pl.Series": lambda: pl.Series("x", [1, 2]),
    "pl structs": lambda: pl.Series("x", [{"a": 1}, {"a": 2}]),
    "pl mask": lambda: pl.Series([True, False]),
    "pl.DataFrame": lambda: pl.DataFrame({"x": [1, 2]}),
    "pl.LazyFrame": lambda: pl.LazyFrame({"x": [1, 2]}),
    "pl.col": lambda: pl.col("x"),
    "pl.when": lambda: pl.when(pl.col("x") > 1),
    "pl.Schema": lambda: pl.Schema({"x": pl.Int64}),
    "pl.Int64": lambda: pl.Int64,
    "pl.Enum": lambda: pl.Series("x", ["b", "a"], dtype=pl.Enum(["b", "a"])),
    "pl.Object": lambda: pl.Series("x", [object()], dtype=pl.Object),
    "pa.array": lambda: pa.array([1, 2]),
    "pa.table": lambda: pa.table({"x": [1, 2]}),
    "pa.chunked": lambda: pa.chunked_array([[1], [2]]),
    "pa.scalar": lambda: pa.scalar(1),
    "pa.int64": pa.int64,
    "pa.schema": lambda: pa.schema([("x", pa.int64())]),
    "pa deep type": lambda: pa.schema([("x", nested(300, lambda kind: pa.list_(pa.int64() if kind == 1 else kind)))]),
    "pa union": lambda: pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])]),
    "tf.col": lambda: tf.col("x"),
    "tf.col of two": lambda: tf.col("x", "y"),
    "no such tf.col": lambda: tf.col("no_such"),
    "tf.lit": lambda: tf.lit(1),
    "aggregate": lambda: tf.col("x").sum(),
    "unfinished when": lambda: tf.when(tf.col("x") > 1),
    "tf.Int64": lambda: tf.Int64,
    "tf.Schema": lambda: tf.table({"x": [1]}).schema,
    "tf.table": lambda: tf.table({"x": [1, 2]}),
    "live table": lambda: tf.append_table({"x": int}, graph=tf.Graph()),
    "tf.Column": lambda: tf.table({"x": [1, 2]})["x"],
    "tf.GroupBy": lambda: tf.table({"x": [1, 2]}).group_by("x"),
    "tf.TimeGroups": lambda: tf.table({"x": [dt.datetime(2024, 1, 1)]}).session("x", gap=1),
    "tf.Graph": tf.Graph,
    "tf.RowSet": lambda: tf.RowSet([1, 2]),
    "tf.Udf": lambda: tf.udf(abs, returns=tf.Int64),
    "tf.Table": lambda: tf.Table,
    "Odd": Odd,
    "Endless": Endless,
    "Number": lambda: Number(3),
    "Words": lambda: Words("x"),
    "Gone": lambda: Gone(x=1),
    "Arrow of None": lambda: Arrowless(None),
    "Arrow of a text": lambda: Arrowless("capsule"),
    "Arrow of a pair": lambda: Arrowless((None, None)),
    "mappingproxy": lambda: types.MappingProxyType({"x": 1}),
    "str method": lambda: "x".upper,
    "counter": itertools.count,
}


class World:
    """Tables that calls are made on."""

    def __init__(self):
        self.graph = tf.Graph()
        columns = {"x": [1, 2, None], "y": [1.5, math.nan, 2.0], "s": ["a", None, "b"], "b": [True, False, None]}
        times = [dt.datetime(2024, 1, day) for day in (1, 2, 3)]
        self.table = tf.table({**columns, "t": times, "d": [time.date() for time in times], "l": [[1], [], None]})
        more = {"q": [{"a": 1}, {"a": 2}, None], "z": [b"a", b"", None], "w": [dt.timedelta(1), None, dt.timedelta(2)]}
        self.table = tf.table({**self.table.to_dict(), **more})
        self.right = tf.table({"x": [1, 2], "w": [5, 6], "t": times[:2]})
        self.append = tf.append_table({"x": int, "s": str}, graph=self.graph)
        self.blink = tf.blink_table({"x": int, "s": str}, graph=self.graph)
        self.keyed = tf.keyed_table({"x": int, "s": str}, key="x", graph=self.graph)
        self.input = tf.input_table({"x": int, "s": str}, graph=self.graph)
        self.updates: list[tf.Update] = []
        self.subscription = self.append.subscribe(self.updates.append)
        self.token = self.append.append({"x": [1, 2], "s": ["a", "b"]})
        self.graph.step()

    def use(self, result: Any) -> None:
        """Look at what a call gave, as its caller would."""
        if isinstance(result, tf.Table):
            if result.is_live:
                result.graph.step() if hasattr(result, "graph") else self.graph.step()
            if len(result) < 1000:
                result.to_dict(on_precision_loss="truncate")
        elif isinstance(result, tf.Expr):
            made = self.table.select(out=result)
            made.to_dict(on_precision_loss="truncate")
        elif isinstance(result, (tf.GroupBy, tf.TimeGroups)):
            result.len().to_dict(on_precision_loss="truncate")
        elif isinstance(result, (tf.Column, tf.RowSet, tf.DataType, tf.Schema, tf.Token)):
            repr(result)


def namespaces() -> dict[str, Any]:
    """The name spaces of expressions."""
    own = {"str": tf.col("s").str, "dt": tf.col("t").dt, "list": tf.col("l").list}
    return {**own, "struct": tf.col("q").struct, "bin": tf.col("z").bin, "name": tf.col("x").name}


#: What a parameter is given while another one is tried: by the door and the name, or by the name alone.
BASE: dict[str, Callable[[World], Any]] = {
    "at": lambda w: 0,
    "by": lambda w: "s",
    "dtypes": lambda w: {"x": tf.Float64},
    "function": lambda w: str.upper,
    "indices": lambda w: [0],
    "k": lambda w: 2,
    "new": lambda w: "b",
    "old": lambda w: "a",
    "columns": lambda w: ["x"],
    "condition": lambda w: tf.col("x") > 1,
    "encoding": lambda w: "hex",
    "error": lambda w: ValueError("one"),
    "every": lambda w: "1h",
    "exponent": lambda w: 2,
    "frame": lambda w: pd.DataFrame({"x": [1, 2]}),
    "key_or_rowset": lambda w: 1,
    "length": lambda w: 2,
    "literal": lambda w: "a",
    "lower": lambda w: 0,
    "offset": lambda w: 0,
    "order_by": lambda w: "x",
    "part": lambda w: "a",
    "percentile": lambda w: 0.5,
    "pos": lambda w: 0,
    "prefix": lambda w: "a",
    "q": lambda w: 0.5,
    "separator": lambda w: ",",
    "source": lambda w: FILES["csv"],
    "target": lambda w: io.BytesIO(),
    "suffix": lambda w: "a",
    "to": lambda w: tf.Float64,
    "upper": lambda w: 5,
    "weight": lambda w: tf.col("x"),
    "weights": lambda w: tf.col("l"),
    "x": lambda w: tf.col("x"),
    "y": lambda w: tf.col("y"),
    "aggs": lambda w: [tf.col("x").sum()],
    "cols": lambda w: "x",
    "column": lambda w: tf.col("x"),
    "data": lambda w: {"x": [1], "s": ["a"]},
    "decay_ticks": lambda w: 2.0,
    "decay_time": lambda w: "1m",
    "dtype": lambda w: None,
    "edges": lambda w: [0, 1],
    "exprs": lambda w: tf.col("x"),
    "fields": lambda w: {"a": tf.Int64},
    "fn": lambda w: lambda *given: given[0] if given else None,
    "form": lambda w: "%Y",
    "format": lambda w: "%Y-%m-%d",
    "formulas": lambda w: "z = x + 1",
    "filters": lambda w: "x > 1",
    "high": lambda w: 10,
    "index": lambda w: 0,
    "init": lambda w: 1,
    "inner": lambda w: tf.Int64,
    "item": lambda w: tf.col("x"),
    "items": lambda w: tf.col("x"),
    "key": lambda w: tf.String,
    "key_values": lambda w: "a",
    "keys": lambda w: "s",
    "kind": lambda w: tf.Int64,
    "low": lambda w: 0,
    "mapping": lambda w: {"x": "xx"},
    "more": lambda w: "s",
    "n": lambda w: 2,
    "name": lambda w: "x",
    "names": lambda w: "x",
    "on": lambda w: "x",
    "on_columns": lambda w: [1, 2],
    "ops": lambda w: tf.update_by.cum_sum("total = x"),
    "other": lambda w: w.right,
    "pattern": lambda w: "a",
    "pct": lambda w: 0.5,
    "start_pct": lambda w: 0.2,
    "end_pct": lambda w: 0.8,
    "per_cycle": lambda w: 2,
    "gap": lambda w: "5m",
    "delay": lambda w: "5m",
    "idle_after": lambda w: "5m",
    "emit": lambda w: "update",
    "late": lambda w: "table",
    "allowed_lateness": lambda w: "5m",
    "keep_results": lambda w: True,
    "index_column": lambda w: "t",
    "period": lambda w: 1.0,
    "predicate": lambda w: tf.col("x") > 1,
    "predicates": lambda w: tf.col("x") > 1,
    "quantile": lambda w: 0.5,
    "rev_ticks": lambda w: 2,
    "rev_time": lambda w: "5s",
    "right": lambda w: w.right,
    "rows": lambda w: [{"x": 1}],
    "schema": lambda w: {"x": int, "s": str},
    "set_table": lambda w: w.right,
    "tables": lambda w: [w.right, w.right],
    "template": lambda w: "{}",
    "text": lambda w: "x + 1",
    "then": lambda w: 1,
    "ts_col": lambda w: "t",
    "weight_col": lambda w: "x",
    "unit": lambda w: "ns",
    "value": lambda w: "a",
    "values": lambda w: tf.col("x"),
    "width": lambda w: 2,
    "window": lambda w: "5m",
    "zone": lambda w: "UTC",
}


def plan() -> tf.Plan:
    """A plan whose input has the name by which values are tried."""
    return tf.table({"x": [1, 2]}, name="extra").filter(tf.col("x") > 1).plan


def doors() -> dict[str, Callable[[World], Callable[..., Any]]]:
    """Every public callable, as a function of the world."""
    found: dict[str, Callable[[World], Callable[..., Any]]] = {}

    def walk(prefix: str, kind: type, bound: Callable[[World], Any]) -> None:
        for base in kind.__mro__:
            if base.__module__.partition(".")[0] != "tickframe" or (
                kind is not tf.Table and issubclass(tf.Table, base)
            ):
                continue
            for name, member in vars(base).items():
                plain = member.__func__ if isinstance(member, (staticmethod, classmethod)) else member
                public = not name.startswith("_") or name in OPERATORS
                if public and callable(plain) and not isinstance(member, property):
                    found.setdefault(f"{prefix}.{name}", lambda w, name=name: getattr(bound(w), name))

    for name in tf.__all__:
        member = getattr(tf, name)
        if inspect.ismodule(member) or not callable(member):
            continue
        if inspect.isclass(member) and name in INSTANCES:
            walk(name, member, INSTANCES[name])
        if not (inspect.isclass(member) and name in NOT_MADE_BY_USERS):
            found[name] = lambda w, member=member: member
    modules = {"agg": tf.agg, "filters": tf.filters, "selectors": tf.selectors, "update_by": tf.update_by}
    for prefix, module in modules.items():
        for name, member in vars(module).items():
            if name in module.__all__ and inspect.isfunction(member):
                found[f"{prefix}.{name}"] = lambda w, member=member: member
    for name, space in namespaces().items():
        walk(name, type(space), lambda w, name=name: namespaces()[name])
    return found


#: Methods that an operator calls.
OPERATORS = {"__add__", "__radd__", "__eq__", "__lt__", "__and__", "__truediv__", "__pow__", "__getitem__", "__or__"}
OPERATORS |= {"__contains__"}


def files() -> dict[str, bytes]:
    """The same rows as bytes of each format."""
    rows = tf.table({"x": [1, 2], "s": ["a", "b"]})
    out = {kind: io.BytesIO() for kind in ("csv", "ndjson", "parquet", "ipc", "orc")}
    for kind in ("csv", "ndjson", "parquet", "ipc"):
        getattr(rows, f"write_{kind}")(out[kind])
    pyarrow.orc.write_table(rows.to_arrow(), out["orc"])
    return {kind: held.getvalue() for kind, held in out.items()}


FILES = files()


def saved() -> str:
    """A folder of a checkpoint, in the folder of the child."""
    tf.Graph().checkpoint("past")
    return "past"


#: Something of each class, to call methods of.
INSTANCES: dict[str, Callable[[World], Any]] = {
    "AppendTable": lambda w: w.append,
    "BlinkTable": lambda w: w.blink,
    "Column": lambda w: w.table["x"],
    "Expr": lambda w: tf.col("x"),
    "Graph": lambda w: w.graph,
    "GroupBy": lambda w: w.table.select("s", "x", "y").group_by("s"),
    "RollingGroups": lambda w: w.table.select("t", "x").rolling("t", period="5s"),
    "InputTable": lambda w: w.input,
    "KeyedTable": lambda w: w.keyed,
    "PartitionedTable": lambda w: w.table.select("s", "x", "y").partition_by("s"),
    "Plan": lambda w: plan(),
    "RowSet": lambda w: tf.RowSet([1, 2, 5]),
    "Schema": lambda w: w.table.schema,
    "Table": lambda w: w.table,
    "TimeGroups": lambda w: w.table.with_columns(t=tf.lit(dt.datetime(2024, 1, 1))).group_by_dynamic("t", every="1h"),
    "Token": lambda w: w.token,
    "Update": lambda w: w.updates[0],
}
#: Classes whose objects the package hands out; calling them is refused in words, which the test of messages reads.
NOT_MADE_BY_USERS = {"AppendTable", "BlinkTable", "Column", "DataType", "Expr", "GroupBy", "InputTable", "KeyedTable"}
NOT_MADE_BY_USERS |= {
    "FileTable",
    "Object",
    "PartitionedProxy",
    "PartitionedTable",
    "Plan",
    "RollingGroups",
    "Subscription",
    "Table",
    "TimeGroups",
    "Token",
    "Udf",
    "Update",
}
#: Doors that need what a test of their own sets up.
ELSEWHERE = {
    "from_spark": "tests/python/test_spark.py",
    "Table.pipe": "calls what it is given, whose errors are its own",
    "Expr.pipe": "as Table.pipe",
    "Table.wait": "waits for an update: test_listener.py",
    "Table.updates": "asyncio: test_listener.py",
    "Table.next": "asyncio: test_followers.py",
    "Connection": "is made by connect: test_remote.py",
    "RemoteState": "is made by Connection.states: test_remote.py",
    "Server": "is made by serve: test_server.py",
    "read_delta": "needs a package of its own: test_delta.py",
    "scan_delta": "needs a package of its own: test_delta.py",
    "read_iceberg": "needs a package of its own: test_delta.py",
    "Graph.start": "",
    "Graph.close": "",
    "Graph.keep": "wants a source with a name: test_durable.py",
    "Table.checkpoint": "wants a source with a name: test_durable.py",
    "Positions": "is made by Graph.positions: test_durable.py",
    "Tables": "is made by Graph.tables: test_durable.py",
    "Graph.stop": "",
}


def parameters(call: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The parameters of a callable; none where Python cannot tell them."""
    try:
        return dict(inspect.signature(call).parameters)
    except ValueError:
        return {}


def base_of(door: str, name: str) -> Callable[[World], Any] | None:
    """What a parameter is given while another is tried."""
    return OVERRIDES.get((door, name)) or BASE.get(name)


#: Where the name alone says too little.
OVERRIDES: dict[tuple[str, str], Callable[[World], Any]] = {
    ("Table.rolling", "index_column"): lambda w: "t",
    ("Table.rolling", "offset"): lambda w: "-5s",
    ("Table.rolling", "period"): lambda w: "5s",
    ("update_by.rolling_count_where_tick", "column"): lambda w: "n",
    ("update_by.rolling_count_where_time", "column"): lambda w: "n",
    ("update_by.rolling_formula_tick", "column"): lambda w: "n",
    ("update_by.rolling_formula_tick", "formula"): lambda w: tf.col("x").sum(),
    ("update_by.rolling_formula_time", "column"): lambda w: "n",
    ("update_by.rolling_formula_time", "formula"): lambda w: tf.col("x").sum(),
    ("Table.time_window", "ts"): lambda w: "t",
    ("Table.watermark", "ts"): lambda w: "t",
    ("Table.most_recent", "ts"): lambda w: "t",
    ("Table.most_recent", "period"): lambda w: "1h",
    ("Table.session", "ts"): lambda w: "t",
    ("listen", "t"): lambda w: w.append,
    ("merged_listen", "tables"): lambda w: [w.append, w.keyed],
    ("sync_filter", "by"): lambda w: "w",
    ("sync_filter", "id"): lambda w: "x",
    ("sync_to_leader", "by"): lambda w: "w",
    ("sync_to_leader", "followers"): lambda w: [w.right],
    ("sync_to_leader", "id"): lambda w: "x",
    ("sync_to_leader", "ids"): lambda w: ["x"],
    ("sync_to_leader", "leader"): lambda w: w.right,
    ("Table.snapshot_when", "stamp_cols"): lambda w: "w2",
    ("Table.snapshot_when", "trigger"): lambda w: w.right.select("w").rename({"w": "w2"}),
    ("PartitionedTable.partitioned_transform", "fn"): lambda w: lambda one, two: one,
    ("PartitionedTable.partitioned_transform", "other"): lambda w: w.right.partition_by("w"),
    ("PartitionedTable.transform", "fn"): lambda w: lambda t: t,
    ("from_constituent_tables", "tables"): lambda w: [w.right],
    ("from_partitioned_table", "keys"): lambda w: tf.table({"k": [1]}),
    ("from_partitioned_table", "tables"): lambda w: [w.right],
    ("add_only_to_blink", "t"): lambda w: w.append,
    ("blink_to_append_only", "t"): lambda w: w.blink,
    ("function_generated_table", "fn"): lambda w: lambda *given: {"x": [1], "s": ["a"]},
    ("incremental_release", "t"): lambda w: w.table,
    ("remove_blink", "t"): lambda w: w.blink,
    ("connect", "url"): lambda w: "grpc://127.0.0.1:1",
    ("replay", "tables"): lambda w: [w.right],
    ("replay", "ts"): lambda w: "t",
    ("ring_table", "t"): lambda w: w.append,
    ("agg.weighted_avg", "weight"): lambda w: "x",
    ("agg.weighted_sum", "weight"): lambda w: "x",
    ("Table.count_by", "col"): lambda w: "n",
    ("Table.weighted_avg_by", "wcol"): lambda w: "y",
    ("Table.weighted_sum_by", "wcol"): lambda w: "y",
    ("update_by.cum_count_where", "column"): lambda w: "n",
    ("selectors.expand_selector", "target"): lambda w: w.table,
    ("selectors.is_selector", "given"): lambda w: tf.selectors.numeric(),
    ("selectors.expand_selector", "selector"): lambda w: tf.selectors.numeric(),
    ("filters.not_", "filter"): lambda w: tf.col("x") == 1,
    ("filters.pattern", "column"): lambda w: "s",
    ("filters.pattern", "regex"): lambda w: "a+",
    ("int_ranges", "start"): lambda w: 0,
    ("int_ranges", "end"): lambda w: tf.col("n"),
    ("Expr.cut", "breaks"): lambda w: [1, 2],
    ("Expr.qcut", "quantiles"): lambda w: [0.2, 0.5],
    ("Expr.qcut", "labels"): lambda w: ["a", "b", "c"],
    ("Expr.repeat_by", "by"): lambda w: 2,
    ("cov", "a"): lambda w: tf.col("x"),
    ("cov", "b"): lambda w: tf.col("y"),
    ("corr", "a"): lambda w: tf.col("x"),
    ("corr", "b"): lambda w: tf.col("y"),
    ("Table.agg_all_by", "agg"): lambda w: tf.agg.count_distinct(),
    ("dt.offset_by", "by"): lambda w: "1h",
    ("dt.combine", "time"): lambda w: dt.time(9, 30),
    ("nth", "indices"): lambda w: 0,
    ("from_polars", "frame"): lambda w: pl.DataFrame({"x": [1, 2]}),
    ("KeyedTable.delete", "keys"): lambda w: [1],
    ("keyed_table", "key"): lambda w: "x",
    ("Dictionary", "value"): lambda w: tf.String,
    ("Expr.eq_missing", "other"): lambda w: 1,
    ("Expr.ewm_sum_by", "by"): lambda w: "t",
    ("Expr.ewm_sum_by", "half_life"): lambda w: "5s",
    ("Expr.ewm_mean_by", "by"): lambda w: "t",
    ("Expr.ewm_mean_by", "half_life"): lambda w: "5s",
    ("Expr.is_in", "other"): lambda w: [1],
    ("Expr.meta_eq", "other"): lambda w: tf.col("x"),
    ("Expr.ne_missing", "other"): lambda w: 1,
    ("Graph.snapshot", "tables"): lambda w: w.append,
    ("Graph.checkpoint", "path"): lambda w: "saved",
    ("restore", "path"): lambda w: saved(),
    ("KeyedTable.replace", "data"): lambda w: {"x": [1], "s": ["a"]},
    ("Map", "value"): lambda w: tf.Int64,
    ("Plan.from_json", "text"): lambda w: plan().to_json(),
    ("RowSet.from_roaring", "data"): lambda w: tf.RowSet([1]).to_roaring(),
    ("RowSet.position_of", "key"): lambda w: 1,
    ("multi_join", "inputs"): lambda w: [w.right, w.right],
    ("Table.natural_join", "joins"): lambda w: "w2 = w",
    ("Table.with_attributes", "attributes"): lambda w: {"flavour": "plain"},
    ("Table.exact_join", "joins"): lambda w: "w2 = w",
    ("Table.subscribe", "fn"): lambda w: lambda update: None,
    ("from_arrow", "data"): lambda w: pa.table({"x": [1]}),
    ("Schema", "columns"): lambda w: {"x": int},
    ("str.split", "by"): lambda w: ",",
    ("list.eval", "expr"): lambda w: tf.element(),
    ("read_json", "source"): lambda w: FILES["ndjson"],
    ("scan_ndjson", "source"): lambda w: FILES["ndjson"],
    ("read_parquet", "source"): lambda w: FILES["parquet"],
    ("scan_parquet", "source"): lambda w: FILES["parquet"],
    ("read_ipc", "source"): lambda w: FILES["ipc"],
    ("scan_ipc", "source"): lambda w: FILES["ipc"],
    ("read_orc", "source"): lambda w: FILES["orc"],
    ("Table.write_csv", "separator"): lambda w: ";",
    ("table_diff", "a"): lambda w: w.right,
    ("table_diff", "b"): lambda w: w.right,
}


def arguments(door: str, call: Callable[..., Any], world: World, tried: str | None, value: Any) -> tuple[list, dict]:
    """The arguments of a call in which one parameter is tried and the others are as they should be."""
    args: list[Any] = []
    named: dict[str, Any] = {}
    open_positions = True
    for name, parameter in parameters(call).items():
        base = base_of(door, name)
        if name == tried:
            given = value
        elif parameter.kind is parameter.VAR_KEYWORD or (parameter.default is not parameter.empty):
            open_positions = open_positions and parameter.kind is parameter.VAR_KEYWORD
            continue
        elif base is not None:
            given = base(world)
        elif parameter.kind is parameter.VAR_POSITIONAL:
            continue
        else:
            raise LookupError(f"{door}: no row says what {name} is given")
        if parameter.kind is parameter.VAR_KEYWORD:
            named["extra"] = given
        elif parameter.kind is parameter.VAR_POSITIONAL or (
            open_positions and parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        ):
            args.append(given)
        else:
            named[name] = given
    return args, named


def complaint(error: BaseException) -> str | None:
    """What a reader would say against an error."""
    try:
        text = str(error)
    except Exception as broken:  # noqa: BLE001
        return f"its text raises {broken!r}"
    kind = type(error).__name__
    own = isinstance(error, tf.errors.TickframeError)
    if isinstance(error, tf.errors.InternalError):
        return f"InternalError: {text[:300]}"
    if isinstance(error, RuntimeError) and re.fullmatch(r"no \S+ of this", text):
        return None
    if isinstance(error, NOT_PLAIN) and not own:
        return f"{kind}: {text[:200]}"
    if isinstance(error, MemoryError) and not own:
        return f"MemoryError: {text[:100]}"
    if not own and not isinstance(error, PLAIN):
        return f"{kind} is no error of ours: {text[:200]}"
    if not text.strip():
        return f"{kind} without a word"
    if len(text) > 4000:
        return f"{kind} of {len(text)} characters"
    if found := UNREADABLE.search(text):
        return f"{kind} says {found.group()!r}: {text[:300]}"
    return None


def try_door(door: str, opened: Callable[[World], Callable[..., Any]], report: Callable[[str], None]) -> None:
    """Try every value in every parameter; tell what is tried, and what is wrong with it."""
    world = World()
    for name, parameter in parameters(opened(world)).items():
        for label, make in VALUES.items():
            if label == "counter" and not parameter.annotation:
                continue
            if (door, name, label) in MEANT or (name, label) in MEANT:
                continue
            report(f"?{name}={label}")
            start = time.monotonic()
            try:
                call = opened(world)
                args, named = arguments(door, call, world, name, make())
                world.use(call(*args, **named))
            except BaseException as error:  # noqa: BLE001
                if wrong := complaint(error):
                    report(f"!{name}={label}: {' '.join(wrong.split())}")
            if time.monotonic() - start > SECONDS:
                report(f"!{name}={label}: took {time.monotonic() - start:.0f} s")


#: Calls that are meant to go on: an endless iterator is read until memory or patience ends.
MEANT = {(name, "counter") for name in [*BASE, "initial", "ranges_or_keys", "removed"]}


def child(door: str, pipe: Connection, folder: str) -> None:
    """Tries one door with little memory, and writes what is tried and what is wrong."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    now = int(pathlib.Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, now + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(1000)
    # Any text is a path: what is written goes here.
    os.chdir(folder)
    code = 1
    try:
        try_door(door, DOORS[door], lambda line: os.write(pipe.fileno(), line.encode(errors="replace") + b"\n"))
        code = 0
    except BaseException as error:  # noqa: BLE001
        os.write(pipe.fileno(), f"!the test itself: {error!r}\n".encode(errors="replace"))
    finally:
        os._exit(code)


#: Children are forked from a process that has no threads: a lock that one of them held would be held for ever.
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload([__name__])


def run_door(door: str) -> list[str]:
    """What is wrong with a door, from a child that tries it."""
    pipe, writing = FORKS.Pipe(duplex=False)
    folder = tempfile.mkdtemp()
    process = FORKS.Process(target=child, args=(door, writing, folder))
    process.start()
    writing.close()
    wrong: list[str] = []
    trying, left = "nothing", b""
    while True:
        if not select.select([pipe], [], [], SECONDS + 5)[0]:
            process.kill()
            wrong.append(f"{trying}: no answer for {SECONDS + 5} s")
            break
        got = os.read(pipe.fileno(), 1 << 16)
        if not got:
            break
        *lines, left = (left + got).split(b"\n")
        for line in lines:
            text = line.decode(errors="replace")
            if text.startswith("?"):
                trying = text[1:]
            else:
                wrong.append(text[1:])
    process.join()
    pipe.close()
    shutil.rmtree(folder, ignore_errors=True)
    died_of = -(process.exitcode or 0)
    if died_of > 0 and died_of != signal.SIGKILL:
        wrong.append(f"{trying}: died of {signal.Signals(died_of).name}")
    return [f"{door}({line})" for line in wrong]


DOORS = {name: door for name, door in sorted(doors().items()) if name not in ELSEWHERE}


@pytest.mark.parametrize("door", DOORS)
def test_every_value_at_every_door(door):
    assert run_door(door) == []


def test_every_parameter_has_a_row(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some rows write files
    world = World()
    missing = []
    for door, opened in DOORS.items():
        try:
            arguments(door, opened(world), world, None, None)
        except LookupError as why:
            missing.append(str(why))
    assert missing == []
