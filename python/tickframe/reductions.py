"""Aggregates of columns by their names, ``tf.sum("x")``, and all columns of a table, ``tf.all()``."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Literal

from tickframe.arguments import checked, whole
from tickframe.functions import col
from tickframe.functions import len as len_
from tickframe.selectors import exclude as but
from tickframe.several import at, every

if TYPE_CHECKING:
    from tickframe.dtypes import DataType
    from tickframe.expr import Expr

__all__ = [
    "all",
    "any",
    "approx_n_unique",
    "count",
    "exclude",
    "first",
    "implode",
    "last",
    "max",
    "mean",
    "median",
    "min",
    "n_unique",
    "nth",
    "quantile",
    "std",
    "sum",
    "var",
]


@checked
def all(*names: str, ignore_nulls: bool = True) -> Expr:
    """All columns of the table it is given to; in ``group_by(...).agg`` all but the keys. Of named ones whether all are true.

    >>> import tickframe as tf
    >>> t = tf.table({"k": ["a", "a", "b"], "x": [1, 2, 3], "y": [1.5, None, 2.5]})
    >>> t.group_by("k").agg(tf.all().sum()).to_dicts()
    [{'k': 'a', 'x': 3, 'y': 1.5}, {'k': 'b', 'x': 3, 'y': 2.5}]
    >>> t.select(tf.all().null_count()).to_dicts()
    [{'k': 0, 'x': 0, 'y': 1}]

    Args:
        *names: Boolean columns.
        ignore_nulls: of named columns, whether a null counts as if it were not there.
    """
    return col(*names).all(ignore_nulls=ignore_nulls) if names else every()


@checked
def any(*names: str, ignore_nulls: bool = True) -> Expr:
    """Whether any value of a column is true; of several columns each.

    >>> import tickframe as tf
    >>> t = tf.table({"late": [False, True], "lost": [False, None]})
    >>> t.select(tf.any("late", "lost")).to_dicts()
    [{'late': True, 'lost': False}]
    """
    return col(*names).any(ignore_nulls=ignore_nulls)


def exclude(*names: str | DataType | type) -> Expr:
    """All columns of the table it is given to but these; also by types, as `selectors.exclude`.

    >>> import tickframe as tf
    >>> t = tf.table({"k": ["a"], "x": [1], "y": [2]})
    >>> t.select("k", tf.exclude("k") * 10).to_dicts()
    [{'k': 'a', 'x': 10, 'y': 20}]
    """
    return every(names) if builtins.all(isinstance(each, str) for each in names) else but(*names)


def nth(*indices: int) -> Expr:
    """The column at a place of the table it is given to, from 0, from the end if negative.

    >>> import tickframe as tf
    >>> tf.table({"k": ["a"], "x": [1]}).select(tf.nth(-1)).to_dicts()
    [{'x': 1}]
    """
    if len(indices) != 1:
        raise TypeError(f"nth takes one place, not {len(indices)}; several columns are tf.col of their names")
    whole(indices[0], "nth", "the place")
    return at(indices[0])


def count(*names: str) -> Expr:
    """How many values of a column are not null; without a name how many rows there are.

    >>> import tickframe as tf
    >>> tf.table({"x": [1, None]}).select(tf.count("x"), n=tf.count()).to_dicts()
    [{'x': 1, 'n': 2}]
    """
    return col(*names).count() if names else len_()


def sum(*names: str) -> Expr:
    """The sum of a column; of several columns each.

    >>> import tickframe as tf
    >>> t = tf.table({"k": ["a", "a", "b"], "x": [1, 2, 3], "y": [1.5, None, 2.5]})
    >>> t.group_by("k").agg(tf.sum("x", "y"), most=tf.max("x")).to_dicts()
    [{'k': 'a', 'x': 3, 'y': 1.5, 'most': 2}, {'k': 'b', 'x': 3, 'y': 2.5, 'most': 3}]
    """
    return col(*names).sum()


def mean(*names: str) -> Expr:
    """The mean of a column; of several columns each.

    >>> import tickframe as tf
    >>> t = tf.table({"x": [3, 1, 2], "y": [1.0, 2.5, 4.0]})
    >>> t.select(tf.mean("x", "y")).rows()
    [(2.0, 2.5)]
    """
    return col(*names).mean()


def min(*names: str) -> Expr:
    """The least value of a column; of several columns each. The least of a row is `min_horizontal`.

    >>> import tickframe as tf
    >>> t = tf.table({"x": [3, 1, 1], "y": [1.0, 2.5, 4.0]})
    >>> t.select(tf.min("x", "y")).rows()
    [(1, 1.0)]
    """
    return col(*names).min()


def max(*names: str) -> Expr:
    """The greatest value of a column; of several columns each. The greatest of a row is `max_horizontal`."""
    return col(*names).max()


def median(*names: str) -> Expr:
    """The value in the middle of a column; of several columns each.

    >>> import tickframe as tf
    >>> t = tf.table({"x": [3, 1, 1], "y": [1.0, 2.5, 4.0]})
    >>> t.select(tf.median("x", "y")).rows()
    [(1.0, 2.5)]
    """
    return col(*names).median()


@checked
def std(*names: str, ddof: int = 1) -> Expr:
    """The standard deviation of a column; of several columns each.

    >>> import tickframe as tf
    >>> t = tf.table({"x": [3, 1, 2], "y": [1.0, 2.5, 4.0]})
    >>> t.select(tf.std("x", "y")).rows()
    [(1.0, 1.5)]
    """
    return col(*names).std(ddof)


@checked
def var(*names: str, ddof: int = 1) -> Expr:
    """The variance of a column; of several columns each.

    >>> import tickframe as tf
    >>> t = tf.table({"x": [3, 1, 2], "y": [1.0, 2.5, 4.0]})
    >>> t.select(tf.var("x", "y")).rows()
    [(1.0, 2.25)]
    """
    return col(*names).var(ddof)


@checked
def quantile(
    column: str,
    quantile: float,
    interpolation: Literal["nearest", "lower", "higher", "midpoint", "linear"] = "nearest",
) -> Expr:
    """The value of a column at a part of the way from the least to the greatest.

    >>> import tickframe as tf
    >>> t = tf.table({"x": [3, 1, 2], "y": [1.0, 2.5, 4.0]})
    >>> t.select(tf.quantile("y", 0.5), at=tf.quantile("x", 1.0)).to_dicts()
    [{'y': 2.5, 'at': 3.0}]
    """
    return col(column).quantile(quantile, interpolation)


def n_unique(*names: str) -> Expr:
    """How many distinct values a column has, null being one; of several columns each.

    >>> import tickframe as tf
    >>> t = tf.table({"x": [3, 1, 1], "y": [1.0, 2.5, 4.0]})
    >>> t.select(tf.n_unique("x", "y")).rows()
    [(2, 3)]
    """
    return col(*names).n_unique()


def approx_n_unique(*names: str) -> Expr:
    """About how many distinct values a column has, null being one; of several columns each.

    >>> import tickframe as tf
    >>> t = tf.table({"x": [3, 1, 1], "y": [1.0, 2.5, 4.0]})
    >>> t.select(tf.approx_n_unique("x", "y")).rows()
    [(2, 3)]
    """
    return col(*names).approx_n_unique()


def implode(*names: str) -> Expr:
    """All values of a column as a list; of several columns each.

    >>> import tickframe as tf
    >>> t = tf.table({"x": [3, 1, 1], "y": [1.0, 2.5, 4.0]})
    >>> t.select(tf.implode("x", "y")).rows()
    [([3, 1, 1], [1.0, 2.5, 4.0])]
    """
    return col(*names).implode()


def first(*names: str) -> Expr:
    """The value of a column in the first row; without a name the first column of the table.

    >>> import tickframe as tf
    >>> t = tf.table({"x": [3, 1, 2], "y": [1.0, 2.5, 4.0]})
    >>> t.select(tf.first("x", "y")).rows(), t.select(tf.first() * 2).to_dict()
    ([(3, 1.0)], {'x': [6, 2, 4]})
    """
    return col(*names).first() if names else at(0)


def last(*names: str) -> Expr:
    """The value of a column in the last row; without a name the last column of the table.

    >>> import tickframe as tf
    >>> t = tf.table({"x": [3, 1, 2], "y": [1.0, 2.5, 4.0]})
    >>> t.select(tf.last("x", "y")).rows(), t.select(tf.last() * 2).to_dict()
    ([(2, 4.0)], {'y': [2.0, 5.0, 8.0]})
    """
    return col(*names).last() if names else at(-1)
