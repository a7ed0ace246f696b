"""Aggregates by Deephaven's names, for `Table.agg_by`: each takes ``"Out = In"`` strings, or plain names.

They are the expressions ``col("In").sum().alias("Out")`` and mix with them freely.

>>> import tickframe as tf
>>> tf.agg.sum_("total = x")
[col("x").sum().alias("total")]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tickframe.expr import Columns, Expr, col
from tickframe.expr import len as len_

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["avg", "count_", "first", "last", "max_", "min_", "std", "sum_", "var"]


def pair(text: str) -> tuple[str, str]:
    """``"New = Old"`` as (new, old); a plain name is both."""
    new, equals, old = text.partition("=")
    new, old = new.strip(), old.strip()
    if not new or (equals and not old):
        raise ValueError(f'{text!r} is no "New = Old" and no name')
    return new, old if equals else new


def _each(columns: tuple[str | list[str], ...], aggregate: Callable[[Expr], Expr]) -> Columns:
    names = [name for item in columns for name in ([item] if isinstance(item, str) else item)]
    made = Columns()
    for name in names:
        out, of = pair(name)
        made.append(aggregate(col(of)).alias(out))
    return made


def sum_(*columns: str | list[str], min_count: int = 0) -> Columns:
    """Sums; null when fewer than `min_count` values are there."""
    return _each(columns, lambda of: of.sum(min_count=min_count))


def avg(*columns: str | list[str]) -> Columns:
    """Means."""
    return _each(columns, Expr.mean)


def min_(*columns: str | list[str]) -> Columns:
    """Least values."""
    return _each(columns, Expr.min)


def max_(*columns: str | list[str]) -> Columns:
    """Greatest values."""
    return _each(columns, Expr.max)


def std(*columns: str | list[str]) -> Columns:
    """Standard deviations (one degree of freedom less)."""
    return _each(columns, Expr.std)


def var(*columns: str | list[str]) -> Columns:
    """Variances (one degree of freedom less)."""
    return _each(columns, Expr.var)


def first(*columns: str | list[str]) -> Columns:
    """Values of the first row."""
    return _each(columns, Expr.first)


def last(*columns: str | list[str]) -> Columns:
    """Values of the last row."""
    return _each(columns, Expr.last)


def count_(column: str) -> Columns:
    """How many rows there are, in a column of this name."""
    return Columns([len_().alias(column)])
