"""Aggregates by Deephaven's names, for `Table.agg_by`: each takes ``"Out = In"`` strings, or plain names.

They are the expressions ``col("In").sum().alias("Out")`` and mix with them freely.

>>> import tickframe as tf
>>> tf.agg.sum_("total = x")
[col("x").sum().alias("total")]
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tickframe.arguments import text
from tickframe.describe import named
from tickframe.expr import Expr, flatten
from tickframe.formulas import Formula
from tickframe.functions import col, lit
from tickframe.functions import len as len_
from tickframe.names import pair
from tickframe.when import when

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "abs_sum",
    "avg",
    "count_",
    "count_distinct",
    "count_where",
    "distinct",
    "first",
    "group",
    "last",
    "max_",
    "median",
    "min_",
    "pct",
    "sorted_first",
    "sorted_last",
    "std",
    "sum_",
    "unique",
    "var",
    "weighted_avg",
    "weighted_sum",
]


def _each(columns: tuple[str | list[str], ...], aggregate: Callable[[Expr], Expr]) -> list[Expr]:
    names: list[str] = []
    for item in flatten(columns):
        text(item, "an aggregate of tf.agg", "a column")
        names.append(str(item))
    return [aggregate(col(of)).alias(out) for out, of in map(pair, names)]


def sum_(*columns: str | list[str], min_count: int = 0) -> list[Expr]:
    """Sums; null when fewer than `min_count` values are there."""
    return _each(columns, lambda of: of.sum(min_count=min_count))


def avg(*columns: str | list[str]) -> list[Expr]:
    """Means."""
    return _each(columns, Expr.mean)


def min_(*columns: str | list[str]) -> list[Expr]:
    """Least values."""
    return _each(columns, Expr.min)


def max_(*columns: str | list[str]) -> list[Expr]:
    """Greatest values."""
    return _each(columns, Expr.max)


def std(*columns: str | list[str]) -> list[Expr]:
    """Standard deviations (one degree of freedom less)."""
    return _each(columns, Expr.std)


def var(*columns: str | list[str]) -> list[Expr]:
    """Variances (one degree of freedom less)."""
    return _each(columns, Expr.var)


def first(*columns: str | list[str]) -> list[Expr]:
    """Values of the first row."""
    return _each(columns, Expr.first)


def last(*columns: str | list[str]) -> list[Expr]:
    """Values of the last row."""
    return _each(columns, Expr.last)


def abs_sum(*columns: str | list[str]) -> list[Expr]:
    """Sums of the values without their signs."""
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
    """Sums of each value times its weight."""
    return _each(columns, lambda of: of.weighted_sum(weight))


def median(*columns: str | list[str]) -> list[Expr]:
    """Values in the middle."""
    return _each(columns, Expr.median)


def pct(percentile: float, *columns: str | list[str]) -> list[Expr]:
    """Values at a part of the way from the least, 0, to the greatest, 1; the nearest there is."""
    return _each(columns, lambda of: of.quantile(percentile))


def count_distinct(*columns: str | list[str], count_nulls: bool = False) -> list[Expr]:
    """How many distinct values there are; null is one of them only with `count_nulls`."""
    return _each(columns, Expr.n_unique if count_nulls else Expr.count_distinct)


def distinct(*columns: str | list[str]) -> list[Expr]:
    """The distinct values in order, as a list without null."""
    return _each(columns, lambda of: of.implode().list.drop_nulls().list.unique().list.sort())


def unique(*columns: str | list[str], non_unique_sentinel: object = None) -> list[Expr]:
    """The one distinct value; the sentinel if there are several, null if there is none."""
    return _each(columns, lambda of: of.only(non_unique_sentinel))


def group(*columns: str | list[str]) -> list[Expr]:
    """All values as a list, in the order of their rows."""
    return _each(columns, Expr.implode)


def sorted_first(order_by: str, *columns: str | list[str]) -> list[Expr]:
    """Values of the row that is first in the order of a column."""
    return _each(columns, lambda of: of.first(order_by=order_by))


def sorted_last(order_by: str, *columns: str | list[str]) -> list[Expr]:
    """Values of the row that is last in the order of a column."""
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


def count_(column: str) -> list[Expr]:
    """How many rows there are, in a column of this name."""
    text(column, "count_", "column")
    return [len_().alias(column)]
