"""Functions of lists and structs."""

from __future__ import annotations

import bisect
import math
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

import tickframe as tf
from functions.rows import DATA, NAN, But, Rows, p, pairs, q, x, y, z

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
E, P = tf.element(), pl.element()
for data in ("lists", "float_lists", "small_lists"):
    for mine, theirs in (
        (E * 2 + 1, P * 2 + 1),
        (E.is_null(), P.is_null()),
        (E.fill_null(0), P.fill_null(0)),
        (tf.when(E > 1).then(E).otherwise(0), pl.when(P > 1).then(P).otherwise(0)),
        (E.shift(1), P.shift(1)),
        (E.shift(-2), P.shift(-2)),
        (E.len(), P.len().cast(pl.Int64)),
        (E.count(), P.count().cast(pl.Int64)),
        (E.first(), P.first()),
        (E.last(), P.last()),
        (E.filter(E > 1), P.filter(P > 1)),
        (E.filter(E.is_null()), P.filter(P.is_null())),
        (E.filter(E > 1).count(), P.filter(P > 1).count().cast(pl.Int64)),
        (E.is_not_null().sum(), P.is_not_null().sum().cast(pl.Int64)),
        (E * E.len(), P * P.len().cast(pl.Int64)),
    ):
        add("list.eval", data, L.eval(mine), polars=M.eval(theirs), zeros=False)
for mine, theirs in (
    (E - E.min(), P - P.min()),
    (E.sum(), P.sum()),
    (E.sum() + E.max(), P.sum() + P.max()),
    ((E - E.mean()).abs().max(), (P - P.mean()).abs().max()),
    (E / E.max(), P / P.max()),
    (E.cum_sum(), P.cum_sum()),
    (E.cum_max(reverse=True), P.cum_max(reverse=True)),
    (E.forward_fill(), P.forward_fill()),
    (E.rank(), P.rank()),
    (E.diff(), P.diff()),
    (E.sort_by(-E), P.sort_by(-P)),
    (E.n_unique(), P.n_unique().cast(pl.Int64)),
):
    add("element", "small_lists", L.eval(mine), polars=M.eval(theirs), near=1e-12)
add("list.eval", "text_lists", L.eval(E.str.to_uppercase()), polars=M.eval(P.str.to_uppercase()))
add("list.eval", "text_lists", L.eval(E.str.len_chars().max()), polars=M.eval(P.str.len_chars().max().cast(pl.Int64)))
add("list.arg_min", "small_lists", L.arg_min(), polars=M.arg_min())
add("list.arg_max", "small_lists", L.arg_max(), polars=M.arg_max())
add("list.median", "small_lists", L.median(), polars=M.median())
add("list.std", "small_lists", L.std(), polars=M.std(), near=1e-15)
for bias in (True, False):
    add("list.skew", "small_lists", L.skew(bias=bias), polars=M.eval(P.skew(bias=bias)).list.first(), near=1e-9)
    for fisher in (True, False):
        mine, theirs = L.kurtosis(fisher=fisher, bias=bias), P.kurtosis(fisher=fisher, bias=bias)
        add("list.kurtosis", "small_lists", mine, polars=M.eval(theirs).list.first(), near=1e-9)
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


#: Lists of numbers, and weights beside them.
BESIDE = {
    "x": [None, [], [1.0], [2.0, None, 4.0], [1.0, 2.0, 4.0, 8.0], [0.1, 0.1, 0.1], [3.0, -1.0, 2.5]],
    "y": [[1.0], [], [2.0], [1.0, 5.0, None], [2.0, 1.0, 1.0, 4.0], [1.0, 2.0, 3.0], [0.5, 0.25, 2.0]],
}
DATA["weighted"] = {name: pa.array(cells, pa.list_(pa.float64())) for name, cells in BESIDE.items()}


def of_pairs(least: int, of: Any) -> list[Any]:
    """What a function gives for each row, of the pairs without a null; null of too few."""
    made = []
    for one, other in zip(BESIDE["x"], BESIDE["y"], strict=True):
        found = None if one is None else [pair for pair in zip(one, other, strict=True) if None not in pair]
        made.append(None if found is None or len(found) < least else of(found))
    return made


def mean(found: Any) -> float:
    first = found[0][0]
    return first + sum((a - first) * w for a, w in found) / sum(w for _, w in found)


def variance(found: Any) -> float:
    weights = sum(w for _, w in found)
    return sum(w * (a - mean(found)) ** 2 for a, w in found) / (weights - sum(w * w for _, w in found) / weights)


def error(found: Any) -> float:
    return math.sqrt(variance(found) * sum(w * w for _, w in found)) / sum(w for _, w in found)


def covariance(found: Any) -> float:
    first, second = (mean([(pair[at], 1.0) for pair in found]) for at in (0, 1))
    return sum((a - first) * (b - second) for a, b in found) / (len(found) - 1)


def correlation(found: Any) -> float:
    if len({a for a, _ in found}) == 1:
        return NAN
    own, other = [(a, a) for a, _ in found], [(b, b) for _, b in found]
    return covariance(found) / math.sqrt(covariance(own) * covariance(other))


for name, least, of in [
    ("weighted_mean", 1, mean),
    ("weighted_sum", 1, lambda found: sum(a * w for a, w in found)),
    ("weighted_var", 2, variance),
    ("weighted_std", 2, lambda found: math.sqrt(variance(found))),
    ("weighted_sem", 2, error),
    ("weighted_t_stat", 2, lambda found: mean(found) / error(found) if error(found) > 1e-9 else math.inf),
    ("cov", 2, covariance),
    ("corr", 2, correlation),
]:
    add(f"list.{name}", "weighted", getattr(L, name)(y), wanted=of_pairs(least, of), near=1e-9)
for name, of in [("sem", error), ("t_stat", lambda found: mean(found) / error(found))]:
    alone = [None if cells is None else [(cell, 1.0) for cell in cells if cell is not None] for cells in SMALL_LISTS]
    spread = [None if cells is None or len(cells) < 2 else cells for cells in alone]
    wanted = [None if cells is None else of(cells) if variance(cells) > 0 else None for cells in spread]
    constant = [cells is not None and variance(cells) == 0 for cells in spread]
    wanted = [
        (0.0 if name == "sem" else math.inf) if flat else cell for cell, flat in zip(wanted, constant, strict=True)
    ]
    add(f"list.{name}", "small_lists", getattr(L, name)(), wanted=wanted, near=1e-12)
add("list.count_negative", "lists", L.count_negative(), polars=M.eval(pl.element().filter(pl.element() < 0)).list.len())
add("list.count_zero", "lists", L.count_zero(), polars=M.eval(pl.element().filter(pl.element() == 0)).list.len())
add("list.count_zero", "float_lists", L.count_zero(), wanted=[None, 0, 0, 0, 0, 0, 2, 0, 0, 0])
add("list.cum_sum", "small_lists", L.cum_sum(), polars=M.eval(pl.element().cum_sum()))
add("list.cum_prod", "small_lists", L.cum_prod(), polars=M.eval(pl.element().cum_prod()))
add("list.cum_min", "small_lists", L.cum_min(), polars=M.eval(pl.element().cum_min()))
add("list.cum_max", "small_lists", L.cum_max(), polars=M.eval(pl.element().cum_max()))
add("list.forward_fill", "small_lists", L.forward_fill(), polars=M.eval(pl.element().forward_fill()))
add("list.forward_fill", "text_lists", L.forward_fill(), polars=M.eval(pl.element().forward_fill()))
add("list.rank", "small_lists", L.rank(), polars=M.eval(pl.element().rank()))
for n in (1, 2, -1):
    add("list.diff", "small_lists", L.diff(n), polars=M.diff(n))


def searched(cells: list[Any] | None, item: int) -> int | None:
    """Where a value stands in a list in order, or -1 less where it would."""
    if cells is None:
        return None
    kept = sorted(-(2**64) if cell is None else cell for cell in cells)
    at = bisect.bisect_left(kept, item)
    return at if item in kept else -1 - at


beside = list(zip(*(DATA["lists*item"][side].to_pylist() for side in "xy"), strict=True))
places = [None if cells is None or item not in cells else cells.index(item) for cells, item in beside]
add("list.index_of", "lists*item", L.index_of(y), wanted=places)
add("list.bin_search", "lists*item", L.sort().list.bin_search(y), wanted=[searched(*each) for each in beside])

NUMBERS = [None, 0, 1, 3, -2, 5]
ENDS = [(start, end, step) for start in NUMBERS for end in NUMBERS for step in (1, 2, -1, None)]
DATA["ranges"] = {name: pa.array(cells, pa.int64()) for name, cells in zip("xyz", zip(*ENDS, strict=True), strict=True)}
wanted = [None if None in ends else list(range(*ends)) for ends in ENDS]
add("int_ranges", "ranges", tf.int_ranges(x, y, z), wanted=wanted)
add(
    "int_ranges",
    "ranges",
    tf.int_ranges(x),
    wanted=[None if start is None else list(range(start)) for start, *_ in ENDS],
)
closed = [
    None if None in ends else list(range(ends[0], ends[1] + (ends[2] > 0) - (ends[2] < 0), ends[2])) for ends in ENDS
]
add("int_ranges", "ranges", tf.formula("sequence(x, y, z)"), wanted=closed)
add("int_ranges", "ranges", tf.int_ranges(x, y, z, closed=True), wanted=closed)
times = [None if end is None else max(end, 0) for _, end, _ in ENDS]
repeated = [None if many is None else [start] * many for (start, *_), many in zip(ENDS, times, strict=True)]
add("repeat_by", "ranges", x.repeat_by(y.clip(0, None)), wanted=repeated)
add("concat_list", "ranges", tf.concat_list(x, y, 7), wanted=[[start, end, 7] for start, end, _ in ENDS])
add("concat_list", "small_lists", tf.concat_list(x, x.list.len(), x), polars=pl.concat_list(p, p.list.len(), p))
add("concat_list", "text_lists", tf.concat_list("x", tf.lit("z")), polars=pl.concat_list("x", pl.lit("z")))
