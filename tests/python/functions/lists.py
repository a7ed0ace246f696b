"""Functions of lists and structs."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

import tickframe as tf
from functions.rows import DATA, NAN, But, Rows, p, pairs, q, x, y

rows = Rows()
add = rows.add

L, M = x.list, p.list
for data in ("lists", "float_lists", "text_lists"):
    add("list.len", data, L.len(), polars=M.len(), pyarrow=pc.list_value_length, duckdb="len(x)")
    add("list.first", data, L.first(), polars=M.first())
    add("list.last", data, L.last(), polars=M.last())
    add("list.reverse", data, L.reverse(), polars=M.reverse())
    add("list.min", data, L.min(), polars=M.min(), zeros=False)
    add("list.max", data, L.max(), polars=M.max(), zeros=False)
    add("list.sort", data, L.sort(), polars=M.sort(), zeros=False)
    add(
        "list.sort",
        data,
        L.sort(descending=True, nulls_last=True),
        polars=M.sort(descending=True, nulls_last=True),
        zeros=False,
    )
    add("list.unique", data, L.unique(), polars=M.unique(maintain_order=True), zeros=False)
    for n in (0, 1, 2, 30):
        add("list.head", data, L.head(n), polars=M.head(n))
        add("list.tail", data, L.tail(n), polars=M.tail(n))
        add("list.slice", data, L.slice(n, 2), polars=M.slice(n, 2))
    add("list.slice", data, L.slice(1), polars=M.slice(1))
    add("list.gather", data, L.gather([0, -1, 3]), polars=M.gather([0, -1, 3], null_on_oob=True))
    add("list.drop_nulls", data, L.drop_nulls(), polars=M.drop_nulls())
    add("list.n_unique", data, L.n_unique(), polars=M.n_unique())
    add("list.count", data, L.count(), polars=M.drop_nulls().list.len())
    add("list.count_distinct", data, L.count_distinct(), polars=M.drop_nulls().list.n_unique())
SMALL_LISTS = [None, [], [None], [1], [3, 1, 2], [None, 2, None, 2], [-7, 0, 7, 7], list(range(20))]
DATA["small_lists"] = {"x": pa.array(SMALL_LISTS, pa.list_(pa.int64()))}
NO_FACTOR = But(
    lambda cells: not [cell for cell in cells if cell is not None],
    lambda _: None,
    "an aggregate of no value is null, but for sum and count",
)
add("list.arg_min", "small_lists", L.arg_min(), polars=M.arg_min())
add("list.arg_max", "small_lists", L.arg_max(), polars=M.arg_max())
add("list.median", "small_lists", L.median(), polars=M.median())
add("list.std", "small_lists", L.std(), polars=M.std(), near=1e-15)
add("list.var", "small_lists", L.var(), polars=M.var(), near=1e-15)
add(
    "list.quantile",
    "small_lists",
    L.quantile(0.25),
    polars=M.eval(pl.element().quantile(0.25, "nearest")).list.first(),
)
add("list.product", "small_lists", L.product(), NO_FACTOR, polars=M.eval(pl.element().product()).list.first())
add("list.abs_mean", "small_lists", L.abs_mean(), polars=M.eval(pl.element().abs().mean()).list.first())
add(
    "list.count_positive", "lists", L.count_positive(),
    polars=M.eval(pl.element().filter(pl.element() > 0)).list.len(), duckdb="len(list_filter(x, lambda e: e > 0))",
)  # fmt: skip
add("list.count_positive", "float_lists", L.count_positive(), wanted=[None, 0, 0, 0, 1, 1, 0, 1, 3, 1])
add("list.get", "lists*index", L.get(y), polars=M.get(q, null_on_oob=True))
add("list.sum", "lists", L.sum(), polars=M.sum())
add("list.sum", "float_lists", L.sum(), polars=M.sum(), near=1e-15, zeros=False)
add("list.mean", "float_lists", L.mean(), polars=M.mean(), near=1e-15, zeros=False)
add("list.contains", "lists*item", L.contains(y), polars=M.contains(q))
add("list.contains", "float_lists", L.contains(NAN), polars=M.contains(NAN))
add("list.contains", "text_lists", L.contains("a"), polars=M.contains("a"))
add("list.join", "text_lists", L.join("-"), polars=M.join("-", ignore_nulls=True))


def order_of(cells: list[Any]) -> list[tuple[Any, ...]]:
    """What puts a list in its order: null is the least of all, NaN the greatest."""
    is_nan = [isinstance(cell, float) and math.isnan(cell) for cell in cells]
    bare = [cell.encode() if isinstance(cell, str) else cell for cell in cells]
    return [(0,) if cell is None else (2,) if nan else (1, cell) for cell, nan in zip(bare, is_nan, strict=True)]


HOLDS_NULL, LEAST_OF_ALL = (lambda a, b: None in a + b), "null is the least of all, in DuckDB the greatest"
for data in ("lists", "float_lists", "text_lists"):
    both = f"{data}*{data}"
    DATA[both] = pairs(DATA[data]["x"], DATA[data]["x"])
    add("__eq__", both, x == y, polars=p == q, duckdb="x = y")
    add("__ne__", both, x != y, polars=p != q, duckdb="x <> y")
    add("eq_missing", both, x.eq_missing(y), polars=p.eq_missing(q))
    add("ne_missing", both, x.ne_missing(y), polars=p.ne_missing(q))
    less = But(HOLDS_NULL, lambda a, b: order_of(a) < order_of(b), LEAST_OF_ALL)
    add("__lt__", both, x < y, less, duckdb="x < y")
    at_least = But(HOLDS_NULL, lambda a, b: order_of(a) >= order_of(b), LEAST_OF_ALL)
    add("__ge__", both, x >= y, at_least, duckdb="x >= y")
add("struct", "text*text", tf.struct(x, y), polars=pl.struct(p, q))
add("struct", "i64*i64", tf.struct(x, twice=y * 2), polars=pl.struct(p, twice=q * 2))
add("struct.field", "structs", x.struct.field("a"), polars=p.struct.field("a"))
add("struct.field", "structs", x.struct.field("b"), polars=p.struct.field("b"))
add("struct.rename_fields", "structs", x.struct.rename_fields(["c", "d"]), polars=p.struct.rename_fields(["c", "d"]))
