"""Filters by Deephaven's names: each is a Boolean expression, and goes wherever a predicate goes.

The first argument is a column, by its name or as an expression; what stands beside it is a value, in which a text is itself.

>>> import tickframe as tf
>>> from tickframe import filters
>>> t = tf.table({"k": ["a", "b", None], "x": [1, 2, 3]})
>>> t.where(filters.or_([filters.eq("k", "a"), filters.gt("x", 2)])).rows()
[('a', 1), (None, 3)]
>>> filters.eq("k", "a")
(col("k") == "a")
"""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Literal

from tickframe.arguments import text
from tickframe.describe import named, short
from tickframe.errors import FormulaError
from tickframe.expr import Expr, flatten
from tickframe.functions import col

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tickframe.table import Table

__all__ = [
    "and_",
    "eq",
    "ge",
    "gt",
    "in_",
    "is_not_null",
    "is_null",
    "le",
    "lt",
    "ne",
    "not_",
    "or_",
    "pattern",
]


def _column(operation: str, given: str | Expr) -> Expr:
    if isinstance(given, Expr):
        return given
    text(given, operation, "the column")
    return col(given)


def _filter(operation: str, given: object) -> Expr:
    if not isinstance(given, Expr):
        raise TypeError(f"{operation}: a filter is an expression such as eq(name, value), not {named(given)}")
    return given


def eq(column: str | Expr, value: object) -> Expr:
    """Whether it is this value; None is for null.

    Args:
        column: a column by its name, or an expression.
        value: a value, in which a text is itself; another column is an expression, ``tf.col(name)``.
    """
    of = _column("eq", column)
    return of.is_null() if value is None else of == value


def ne(column: str | Expr, value: object) -> Expr:
    """Whether it is another value than this; None is for null.

    >>> import tickframe as tf
    >>> from tickframe import filters
    >>> t = tf.table({"k": ["a", "b", None], "x": [1, 2, 3]})
    >>> t.where(filters.ne("k", "a")).rows()
    [('b', 2)]

    Args:
        column: as in `eq`.
        value: as in `eq`.
    """
    of = _column("ne", column)
    return of.is_not_null() if value is None else of != value


def lt(column: str | Expr, value: object) -> Expr:
    """Whether it is less.

    >>> import tickframe as tf
    >>> from tickframe import filters
    >>> t = tf.table({"k": ["a", "b", None], "x": [1, 2, 3]})
    >>> t.where(filters.lt("x", 2)).rows()
    [('a', 1)]

    Args:
        column: as in `eq`.
        value: as in `eq`.
    """
    return _column("lt", column) < value


def le(column: str | Expr, value: object) -> Expr:
    """Whether it is less or equal.

    >>> import tickframe as tf
    >>> from tickframe import filters
    >>> t = tf.table({"k": ["a", "b", None], "x": [1, 2, 3]})
    >>> t.where(filters.le("x", 2)).rows()
    [('a', 1), ('b', 2)]

    Args:
        column: as in `eq`.
        value: as in `eq`.
    """
    return _column("le", column) <= value


def gt(column: str | Expr, value: object) -> Expr:
    """Whether it is greater.

    Args:
        column: as in `eq`.
        value: as in `eq`.
    """
    return _column("gt", column) > value


def ge(column: str | Expr, value: object) -> Expr:
    """Whether it is greater or equal.

    Args:
        column: as in `eq`.
        value: as in `eq`.
    """
    return _column("ge", column) >= value


def in_(column: str | Expr, values: Iterable[object] | Table) -> Expr:
    """Whether it is one of these values; null is in nothing.

    >>> import tickframe as tf
    >>> tf.table({"x": [1, 2, None]}).filter(tf.filters.in_("x", [2, 3])).to_dict()
    {'x': [2]}

    Args:
        column: as in `eq`.
        values: a list, set, Series or array, as it is now; or a table of one column, which is followed.
    """
    return _column("in_", column).is_in(values)


def is_null(column: str | Expr) -> Expr:
    """Whether there is no value.

    >>> import tickframe as tf
    >>> from tickframe import filters
    >>> t = tf.table({"k": ["a", "b", None], "x": [1, 2, 3]})
    >>> t.where(filters.is_null("k")).rows()
    [(None, 3)]

    Args:
        column: as in `eq`.
    """
    return _column("is_null", column).is_null()


def is_not_null(column: str | Expr) -> Expr:
    """Whether there is a value.

    >>> import tickframe as tf
    >>> from tickframe import filters
    >>> t = tf.table({"k": ["a", "b", None], "x": [1, 2, 3]})
    >>> t.where(filters.is_not_null("k")).rows()
    [('a', 1), ('b', 2)]

    Args:
        column: as in `eq`.
    """
    return _column("is_not_null", column).is_not_null()


def pattern(column: str | Expr, regex: str, mode: Literal["matches", "find"] = "matches", invert: bool = False) -> Expr:
    """Whether a regular expression matches the text, whole or somewhere.

    >>> import tickframe as tf
    >>> t = tf.table({"s": ["cat", "cats", "dog", None]})
    >>> t.filter(tf.filters.pattern("s", "[a-z]at")).to_dict()
    {'s': ['cat']}
    >>> t.filter(tf.filters.pattern("s", "at", "find", invert=True)).to_dict()
    {'s': ['dog']}

    Args:
        column: as in `eq`; of texts.
        regex: the regular expression. It is matched in time that is linear in the text.
        mode: whether it ``"matches"`` the whole text, or is to be ``"find"`` somewhere in it.
        invert: whether it must not match; a null does neither.

    Raises:
        FormulaError: a text that is no regular expression.
    """
    text(regex, "pattern", "regex")
    given: object = mode
    if not isinstance(given, str) or given not in ("matches", "find"):
        raise ValueError(f'pattern: mode must be "matches" or "find", not {short(mode)}')
    if not isinstance(invert, bool):
        raise TypeError(f"pattern: invert is True or False, not {named(invert)}")
    of = _column("pattern", column)
    _refuse_no_regex(regex)
    found = of.str.contains(f"^(?:{regex})$" if mode == "matches" else regex)
    return ~found if invert else found


def _refuse_no_regex(regex: str) -> None:
    """Fails where it is used first, of a table without rows."""
    from tickframe.constructors import table

    try:
        table({"text": []}, schema={"text": str}).filter(col("text").str.contains(regex))
    except FormulaError as error:
        why = str(error).removeprefix("filter: str.contains: ")
        raise FormulaError(f"pattern: {short(regex)} is no regular expression: {why}") from None


def and_(*filters: Expr | Iterable[Expr]) -> Expr:
    """Whether all are true.

    Args:
        *filters: filters, or a list of them; at least one.
    """
    return _joined("and_", filters, operator.and_)


def or_(*filters: Expr | Iterable[Expr]) -> Expr:
    """Whether one of them is true.

    Args:
        *filters: filters, or a list of them; at least one.
    """
    return _joined("or_", filters, operator.or_)


def not_(filter: Expr) -> Expr:
    """Whether it is false; null stays null.

    >>> import tickframe as tf
    >>> from tickframe import filters
    >>> t = tf.table({"k": ["a", "b", None], "x": [1, 2, 3]})
    >>> t.where(filters.not_(filters.in_("k", ["a"]))).rows()
    [('b', 2)]

    Args:
        filter: a filter.
    """
    return ~_filter("not_", filter)


def _joined(operation: str, filters: Iterable[object], join: Callable[[Expr, Expr], Expr]) -> Expr:
    each = [_filter(operation, one) for one in flatten(filters)]
    if not each:
        raise ValueError(f"{operation}: give at least one filter")
    return functools.reduce(join, each)
