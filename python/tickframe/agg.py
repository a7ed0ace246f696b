"""Aggregates by Deephaven's names, for `Table.agg_by`: each takes ``"Out = In"`` strings, or plain names.

They are the expressions ``col("In").sum().alias("Out")`` and mix with them freely.

>>> import tickframe as tf
>>> tf.agg.sum_("total = x")
[col("x").sum().alias("total")]
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tickframe import _native
from tickframe.arguments import text
from tickframe.describe import named
from tickframe.expr import Expr, flatten
from tickframe.formulas import Formula, OverGroups
from tickframe.functions import col, lit
from tickframe.functions import corr as _corr
from tickframe.functions import cov as _cov
from tickframe.functions import len as len_
from tickframe.names import pair
from tickframe.partitioned import Partition
from tickframe.when import when

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = [
    "abs_sum",
    "approx_n_unique",
    "approx_quantile",
    "avg",
    "corr",
    "count_",
    "count_distinct",
    "count_where",
    "cov",
    "distinct",
    "first",
    "first_row_key",
    "formula",
    "freeze",
    "group",
    "last",
    "last_row_key",
    "max_",
    "median",
    "min_",
    "partition",
    "pct",
    "product",
    "sorted_first",
    "sorted_last",
    "std",
    "sum_",
    "unique",
    "var",
    "weighted_avg",
    "weighted_std",
    "weighted_sum",
    "weighted_var",
]


class Everywhere(list[Expr]):
    """Aggregates of some columns, and the function that makes one: `Table.agg_all_by` gives it every column."""

    def __init__(self, made: Iterable[Expr], of: Callable[[Expr], Expr]) -> None:
        super().__init__(made)
        self.of = of


def _each(columns: tuple[str | list[str], ...], aggregate: Callable[[Expr], Expr]) -> list[Expr]:
    names: list[str] = []
    for item in flatten(columns):
        text(item, "an aggregate of tf.agg", "a column")
        names.append(str(item))
    return Everywhere((aggregate(col(of)).alias(out) for out, of in map(pair, names)), aggregate)


def sum_(*columns: str | list[str], min_count: int = 0) -> list[Expr]:
    """Sums; null when fewer than `min_count` values are there."""
    return _each(columns, lambda of: of.sum(min_count=min_count))


def avg(*columns: str | list[str]) -> list[Expr]:
    """Means."""
    return _each(columns, Expr.mean)


def min_(*columns: str | list[str]) -> list[Expr]:
    """Least values.

    >>> import tickframe as tf
    >>> t = tf.table({"k": ["a", "a", "b"], "x": [3, -1, 2]})
    >>> t.agg_by(tf.agg.min_("least = x"), by="k").rows()
    [('a', -1), ('b', 2)]
    """
    return _each(columns, Expr.min)


def max_(*columns: str | list[str]) -> list[Expr]:
    """Greatest values."""
    return _each(columns, Expr.max)


def std(*columns: str | list[str]) -> list[Expr]:
    """Standard deviations (one degree of freedom less).

    >>> import tickframe as tf
    >>> t = tf.table({"k": ["a", "a", "a", "b"], "x": [1, 3, 5, 2]})
    >>> t.agg_by(tf.agg.std("spread = x"), by="k").rows()
    [('a', 2.0), ('b', None)]
    """
    return _each(columns, Expr.std)


def var(*columns: str | list[str]) -> list[Expr]:
    """Variances (one degree of freedom less).

    >>> import tickframe as tf
    >>> t = tf.table({"k": ["a", "a", "a", "b"], "x": [1, 3, 5, 2]})
    >>> t.agg_by(tf.agg.var("spread = x"), by="k").rows()
    [('a', 4.0), ('b', None)]
    """
    return _each(columns, Expr.var)


def product(*columns: str | list[str]) -> list[Expr]:
    """Products; null of no value.

    >>> import tickframe as tf
    >>> t = tf.table({"k": ["a", "a", "b"], "x": [3, -1, 2]})
    >>> t.agg_by(tf.agg.product("x"), by="k").rows()
    [('a', -3), ('b', 2)]
    """
    return _each(columns, Expr.product)


def freeze(*columns: str | list[str]) -> list[Expr]:
    """Values of the row that was first as the group came: they stay while the group has rows.

    >>> import tickframe as tf
    >>> t = tf.keyed_table({"id": int, "k": str, "x": int}, key="id", graph=tf.Graph())
    >>> frozen = t.agg_by([tf.agg.freeze("began = x"), tf.agg.last("is = x")], by="k")
    >>> for x in (1, 2):
    ...     _ = t.upsert({"id": 1, "k": "a", "x": x})
    ...     _ = t.graph.step()
    >>> frozen.rows()
    [('a', 1, 2)]
    """
    return _each(columns, Expr.freeze)


def first(*columns: str | list[str]) -> list[Expr]:
    """Values of the first row.

    >>> import tickframe as tf
    >>> t = tf.table({"k": ["a", "a", "b"], "x": [3, -1, 2]})
    >>> t.agg_by(tf.agg.first("x"), by="k").rows()
    [('a', 3), ('b', 2)]
    """
    return _each(columns, Expr.first)


def last(*columns: str | list[str]) -> list[Expr]:
    """Values of the last row.

    >>> import tickframe as tf
    >>> t = tf.table({"k": ["a", "a", "b"], "x": [3, -1, 2]})
    >>> t.agg_by(tf.agg.last("x"), by="k").rows()
    [('a', -1), ('b', 2)]
    """
    return _each(columns, Expr.last)


def abs_sum(*columns: str | list[str]) -> list[Expr]:
    """Sums of the values without their signs.

    >>> import tickframe as tf
    >>> t = tf.table({"k": ["a", "a", "b"], "x": [3, -1, 2]})
    >>> t.agg_by(tf.agg.abs_sum("moved = x"), by="k").rows()
    [('a', 4), ('b', 2)]
    """
    return _each(columns, Expr.abs_sum)


def weighted_avg(weight: str, *columns: str | list[str]) -> list[Expr]:
    """Means in which each value counts as much as its weight.

    >>> import tickframe as tf
    >>> t = tf.table({"k": ["a", "a"], "price": [10, 20], "size": [3, 1]})
    >>> t.agg_by([tf.agg.weighted_avg("size", "vwap = price"), tf.agg.median("mid = price")], by="k").to_dicts()
    [{'k': 'a', 'vwap': 12.5, 'mid': 15.0}]
    """
    return _each(columns, lambda of: of.weighted_mean(weight))


def weighted_sum(weight: str, *columns: str | list[str]) -> list[Expr]:
    """Sums of each value times its weight.

    >>> import tickframe as tf
    >>> t = tf.table({"k": ["a", "a"], "x": [10, 20], "size": [3, 1]})
    >>> t.agg_by(tf.agg.weighted_sum("size", "value = x"), by="k").rows()
    [('a', 50.0)]
    """
    return _each(columns, lambda of: of.weighted_sum(weight))


def weighted_var(weight: str, *columns: str | list[str]) -> list[Expr]:
    """Variances in which each value counts as much as its weight, as `Expr.weighted_var` has them.

    >>> import tickframe as tf
    >>> t = tf.table({"k": ["a", "a"], "x": [10, 20], "size": [3, 1]})
    >>> t.agg_by(tf.agg.weighted_var("size", "spread = x"), by="k").rows()
    [('a', 50.0)]
    """
    return _each(columns, lambda of: of.weighted_var(weight))


def weighted_std(weight: str, *columns: str | list[str]) -> list[Expr]:
    """Standard deviations in which each value counts as much as its weight.

    >>> import tickframe as tf
    >>> t = tf.table({"k": ["a", "a"], "x": [10, 20], "size": [3, 1]})
    >>> t.agg_by(tf.agg.weighted_std("size", "spread = x"), by="k").rows()
    [('a', 7.0710678118654755)]
    """
    return _each(columns, lambda of: of.weighted_std(weight))


def cov(other: str, *columns: str | list[str]) -> list[Expr]:
    """Covariances with another column.

    >>> import tickframe as tf
    >>> t = tf.table({"k": ["a", "a", "a"], "x": [1, 2, 4], "y": [2.0, 4.0, 8.0]})
    >>> t.agg_by([tf.agg.cov("y", "cov = x"), tf.agg.corr("y", "corr = x")], by="k").to_dicts()
    [{'k': 'a', 'cov': 4.666666666666667, 'corr': 1.0}]
    """
    return _each(columns, lambda of: _cov(of, other))


def corr(other: str, *columns: str | list[str]) -> list[Expr]:
    """Correlations with another column, from -1 to 1."""
    return _each(columns, lambda of: _corr(of, other))


def median(*columns: str | list[str]) -> list[Expr]:
    """Values in the middle."""
    return _each(columns, Expr.median)


def pct(percentile: float, *columns: str | list[str]) -> list[Expr]:
    """Values at a part of the way from the least, 0, to the greatest, 1; the nearest there is.

    >>> import tickframe as tf
    >>> t = tf.table({"k": ["a"] * 11, "x": list(range(11))})
    >>> t.agg_by([tf.agg.pct(0.0, "least = x"), tf.agg.pct(0.9, "high = x")], by="k").rows()
    [('a', 0.0, 9.0)]
    """
    return _each(columns, lambda of: of.quantile(percentile))


def approx_quantile(quantile: float, *columns: str | list[str]) -> list[Expr]:
    """As `pct`, of the right rank and off by less than 1/512 of the value, in little memory.

    >>> import tickframe as tf
    >>> t = tf.table({"k": ["a"] * 11, "x": list(range(11))})
    >>> t.agg_by(tf.agg.approx_quantile(0.9, "high = x"), by="k").rows()
    [('a', 9.015625)]
    """
    return _each(columns, lambda of: of.approx_quantile(quantile))


def approx_n_unique(*columns: str | list[str]) -> list[Expr]:
    """About how many distinct values there are, as `Expr.approx_n_unique` has it.

    >>> import tickframe as tf
    >>> t = tf.table({"k": ["a", "a", "a"], "x": [7, 7, 8]})
    >>> t.agg_by(tf.agg.approx_n_unique("about = x"), by="k").rows()
    [('a', 2)]
    """
    return _each(columns, Expr.approx_n_unique)


def count_distinct(*columns: str | list[str], count_nulls: bool = False) -> list[Expr]:
    """How many distinct values there are; null is one of them only with `count_nulls`.

    >>> import tickframe as tf
    >>> t = tf.table({"k": ["a", "a", "a"], "x": [7, 7, None]})
    >>> t.agg_by([tf.agg.count_distinct("n = x"), tf.agg.count_distinct("m = x", count_nulls=True)], by="k").rows()
    [('a', 1, 2)]
    """
    return _each(columns, Expr.n_unique if count_nulls else Expr.count_distinct)


def distinct(*columns: str | list[str]) -> list[Expr]:
    """The distinct values in order, as a list without null.

    >>> import tickframe as tf
    >>> t = tf.table({"k": ["a", "a", "a"], "x": [8, 7, 8]})
    >>> t.agg_by(tf.agg.distinct("x"), by="k").rows()
    [('a', [7, 8])]
    """
    return _each(columns, lambda of: of.implode().list.drop_nulls().list.unique().list.sort())


def unique(*columns: str | list[str], non_unique_sentinel: object = None) -> list[Expr]:
    """The one distinct value; the sentinel if there are several, null if there is none.

    >>> import tickframe as tf
    >>> t = tf.table({"k": ["a", "a", "b", "b"], "x": [7, 7, 7, 8]})
    >>> t.agg_by(tf.agg.unique("x", non_unique_sentinel=-1), by="k").rows()
    [('a', 7), ('b', -1)]
    """
    return _each(columns, lambda of: of.only(non_unique_sentinel))


def group(*columns: str | list[str]) -> list[Expr]:
    """All values as a list, in the order of their rows."""
    return _each(columns, Expr.implode)


def sorted_first(order_by: str, *columns: str | list[str]) -> list[Expr]:
    """Values of the row that is first in the order of a column.

    >>> import tickframe as tf
    >>> t = tf.table({"k": ["a", "a"], "at": [2, 1], "px": [1.5, 2.5]})
    >>> t.agg_by(tf.agg.sorted_first("at", "open = px"), by="k").rows()
    [('a', 2.5)]
    """
    return _each(columns, lambda of: of.first(order_by=order_by))


def sorted_last(order_by: str, *columns: str | list[str]) -> list[Expr]:
    """Values of the row that is last in the order of a column.

    >>> import tickframe as tf
    >>> t = tf.table({"k": ["a", "a"], "at": [2, 1], "px": [1.5, 2.5]})
    >>> t.agg_by(tf.agg.sorted_last("at", "close = px"), by="k").rows()
    [('a', 1.5)]
    """
    return _each(columns, lambda of: of.last(order_by=order_by))


def count_where(column: str, predicate: str | Expr) -> list[Expr]:
    """In how many rows a formula is true, in a column of this name.

    >>> import tickframe as tf
    >>> t = tf.table({"k": ["a", "a"], "x": [1, 5]})
    >>> t.agg_by(tf.agg.count_where("big", "x > 3"), by="k").to_dicts()
    [{'k': 'a', 'big': 1}]
    """
    text(column, "count_where", "column")
    if not isinstance(predicate, (str, Expr)):
        raise TypeError(f"count_where: predicate is a formula or an expression, not {named(predicate)}")
    given = (
        Formula(predicate, sys._getframe(1), "count_where", filter=True) if isinstance(predicate, str) else predicate
    )
    return [when(given).then(lit(True)).count().alias(column)]


def formula(*formulas: str | list[str]) -> list[Expr]:
    """Any formula over groups, in which a column is the list of its values in the rows of the group.

    A group that a change touches is computed again.

    >>> import tickframe as tf
    >>> t = tf.table({"k": ["a", "a", "b"], "price": [10.0, 20.0, 5.0], "size": [3, 1, 2]})
    >>> made = tf.agg.formula("vwap = sum(price * size) / sum(size)", "most = max(price) - min(price)")
    >>> t.agg_by(made, by="k").rows()
    [('a', 12.5, 10.0), ('b', 5.0, 0.0)]

    Args:
        *formulas: ``"Out = formula"``, one value a group: a number, or a list.

    Raises:
        FormulaError: a text that is no formula, or one without a name.
        InvalidOperationError: a blink table, of which lists would grow for ever.
    """
    made: list[Expr] = []
    for each in flatten(formulas):
        text(each, "tf.agg.formula", "a formula")
        made.append(OverGroups(str(each), sys._getframe(1)))
    return made


def count_(column: str) -> list[Expr]:
    """How many rows there are, in a column of this name."""
    text(column, "count_", "column")
    return [len_().alias(column)]


def first_row_key(column: str) -> list[Expr]:
    """The row key of the first row, in a column of this name.

    Row keys are those of the table that is aggregated; where its rows shift, the value changes with them.

    >>> import tickframe as tf
    >>> t = tf.table({"k": ["a", "b", "a"]})
    >>> t.agg_by([tf.agg.first_row_key("first"), tf.agg.last_row_key("last")], by="k").rows()
    [('a', 0, 2), ('b', 1, 1)]
    """
    return _of_row_keys("first_row_key", column, Expr.first)


def last_row_key(column: str) -> list[Expr]:
    """The row key of the last row, in a column of this name; as `first_row_key`."""
    return _of_row_keys("last_row_key", column, Expr.last)


def _of_row_keys(name: str, column: str, aggregate: Callable[[Expr], Expr]) -> list[Expr]:
    text(column, name, "column")
    return [aggregate(Expr(_native.Expr.call("row_key", []))).alias(column)]


def partition(column: str, *, include_by_columns: bool = True) -> Partition:
    """The rows of each group as a table of their own, for `Table.partitioned_agg_by`.

    Args:
        column: what the constituents are called.
        include_by_columns: whether they have the columns by which rows are grouped.
    """
    return Partition(column, include_by_columns)
