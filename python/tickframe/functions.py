"""Functions that make expressions: columns, values, the row-wise functions of several columns, random numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from tickframe import _native
from tickframe.arguments import checked, encodable
from tickframe.describe import named, short
from tickframe.dtypes import DataTypeLike, Datetime
from tickframe.dtypes import dtype as as_dtype
from tickframe.expr import Expr, IntoExpr, flatten, into_expr, literal
from tickframe.foreign import operand
from tickframe.hints import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "arctan2",
    "coalesce",
    "col",
    "cov",
    "format",
    "from_epoch",
    "len",
    "lit",
    "max_horizontal",
    "min_horizontal",
    "random_bool",
    "random_float",
    "random_gaussian",
    "random_int",
    "variable",
]


class Columns(list[Expr]):
    """Several columns, given where one expression might stand: ``select(col("a", "b"))``."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            if name.startswith("_") or not hasattr(Expr, name):
                raise AttributeError(f"several columns have no {name!r}{nearest(name, dir(Expr))}")
            names = ", ".join(repr(each) for each in self)
            raise AttributeError(f"{name}() is a method of one column: [each.{name}() for each in ({names})]")


def col(name: str | Sequence[str], *more: str) -> Expr:
    """The column called `name`; with several names, all of those columns.

    >>> import tickframe as tf
    >>> t = tf.table({"a": [1], "b": [2], "c": [3]})
    >>> t.select(tf.col("a", "c")).to_dicts()
    [{'a': 1, 'c': 3}]
    """
    names: list[object] = list(name) if isinstance(name, (list, tuple)) else [name]
    names.extend(more)
    for each in names:
        if not isinstance(each, str):
            raise TypeError(f"col: the name of a column is a str, not {named(each)}")
        encodable(each, "col")
    if isinstance(name, str) and not more:
        return Expr(_native.Expr.column(name))
    columns: Any = Columns(Expr(_native.Expr.column(str(each))) for each in names)
    return columns  # type: ignore[no-any-return]


def lit(value: object, dtype: DataTypeLike | None = None) -> Expr:
    """A value that stands in every row; with `dtype`, cast to that type."""
    if isinstance(value, Expr):
        return value
    if dtype is None:
        return Expr(literal(value, "lit"))
    return Expr(_native.Expr.typed_literal(operand(value, "lit", methods=Expr), as_dtype(dtype)._spec))


@checked
def variable(name: str, value: object) -> Expr:
    """The column called `name`, or `value` where the table has none: a name that a formula read without a table."""
    return Expr(_native.Expr.call("variable", [_native.Expr.column(name), literal(value, "variable")]))


def len() -> Expr:
    """How many rows there are, in an aggregation."""
    return Expr(_native.Expr.aggregate("len", []))


@checked
def cov(a: IntoExpr, b: IntoExpr, *, ddof: int = 1) -> Expr:
    """The covariance of two columns, a Float64; pairs with a null are left out, of one pair it is null with ``ddof=1``.

    >>> import tickframe as tf
    >>> t = tf.table({"k": ["a", "a", "a", "b"], "x": [1, 2, 4, 3], "y": [2.0, 4.0, None, 1.0]})
    >>> t.group_by("k").agg(c=tf.cov("x", "y")).to_dicts()
    [{'k': 'a', 'c': 1.0}, {'k': 'b', 'c': None}]

    A row that leaves leaves no rounding behind: the result is that of the rows present.

    Args:
        a: a column or an expression; a bare string is a column. The result has its name.
        b: the other one.
        ddof: what is subtracted from the number of pairs in the divisor.

    Raises:
        TypeMismatchError: values that are no numbers.
    """
    pair = [into_expr(each, "cov")._native for each in (a, b)]
    return Expr(_native.Expr.aggregate("cov", pair, ddof=ddof))


def coalesce(*items: IntoExpr) -> Expr:
    """The first value that is not null; a bare string is a column."""
    return Expr(_native.Expr.call("coalesce", [into_expr(item, "coalesce")._native for item in flatten(items)]))


def min_horizontal(*items: IntoExpr) -> Expr:
    """The least of several columns in each row; nulls are left out."""
    return Expr(
        _native.Expr.call("min_horizontal", [into_expr(item, "min_horizontal")._native for item in flatten(items)])
    )


def max_horizontal(*items: IntoExpr) -> Expr:
    """The greatest of several columns in each row; nulls are left out."""
    return Expr(
        _native.Expr.call("max_horizontal", [into_expr(item, "max_horizontal")._native for item in flatten(items)])
    )


def _random(name: str, bounds: Iterable[object], seed: int | None) -> Expr:
    return Expr(_native.Expr.call(name, [into_expr(bound, name)._native for bound in bounds], seed=seed))


def random_float(low: IntoExpr = 0.0, high: IntoExpr = 1.0, *, seed: int | None = None) -> Expr:
    """A number from `low` to before `high`, drawn when the row is computed, and then kept.

    It is drawn again when a column in the same expression changes in that row. Stored columns have it; `view` and
    `update_view` refuse it, of which two reads would differ.

    >>> import tickframe as tf
    >>> t = tf.empty_table(3).with_columns(x=tf.random_float(seed=7))
    >>> t.to_dict() == tf.empty_table(3).with_columns(x=tf.random_float(seed=7)).to_dict()
    True

    Args:
        low: the least number; a bare string is a column, as for all bounds.
        high: a number above all that are drawn.
        seed: with it a row, known by its key, gets the same number whenever it is computed.
    """
    return _random("random_float", (low, high), seed)


def random_int(low: IntoExpr, high: IntoExpr, *, seed: int | None = None) -> Expr:
    """A whole number from `low` to before `high`, drawn as `random_float` is."""
    return _random("random_int", (low, high), seed)


def random_bool(*, seed: int | None = None) -> Expr:
    """True or false, drawn as `random_float` is."""
    return _random("random_bool", (), seed)


def random_gaussian(mean: IntoExpr = 0.0, std: IntoExpr = 1.0, *, seed: int | None = None) -> Expr:
    """A number of the normal distribution, drawn as `random_float` is."""
    return _random("random_gaussian", (mean, std), seed)


@checked
def format(template: str, *values: IntoExpr) -> Expr:
    """A text with a value at each place of a template; null where one of them is.

    Places are written as Python writes them: ``{}``, ``{:.2f}``, ``{:>8}``, ``{:05d}``, ``{:,}``, ``{:.1%}``; a bracket
    itself is ``{{``.

    >>> import tickframe as tf
    >>> t = tf.table({"s": ["tea", None], "p": [1234.5, 2.0]})
    >>> t.select(a=tf.format("{} costs {:,.2f}", "s", "p"), b=tf.format("{:>6}|", "s")).to_dict()
    {'a': ['tea costs 1,234.50', None], 'b': ['   tea|', None]}

    Args:
        template: the text, with as many places as there are values.
        *values: columns or expressions; a bare string is a column.

    Raises:
        FormulaError: a template that cannot be read, or places without values; told where the expression is used.
        TypeMismatchError: a value that is no number at a place for numbers.
    """
    given = [lit(template), *(into_expr(value, "format") for value in flatten(values))]
    return Expr(_native.Expr.call("format", [each._native for each in given]))


def from_epoch(column: IntoExpr, time_unit: Literal["s", "ms", "us", "ns", "d"] = "s") -> Expr:
    """The instant so many seconds, or other units, after 1970-01-01T00:00:00; of days the date.

    >>> import tickframe as tf
    >>> t = tf.table({"x": [1_700_000_000, None]})
    >>> t.select(tf.from_epoch("x")).to_dict()
    {'x': [datetime.datetime(2023, 11, 14, 22, 13, 20), None]}

    Args:
        column: counts; a bare string is a column.
        time_unit: what is counted.

    Raises:
        DataError: an instant beyond the years 1677 to 2262.
    """
    given: object = time_unit
    if not isinstance(given, str) or given not in {"s", "ms", "us", "ns", "d"}:
        raise ValueError(f'from_epoch: time_unit is "s", "ms", "us", "ns" or "d", not {short(time_unit)}')
    counted = into_expr(column, "from_epoch")
    if time_unit == "d":
        return counted.cast("int32").cast("date")
    return counted.cast(Datetime(time_unit))


def arctan2(y: IntoExpr, x: IntoExpr) -> Expr:
    """The angle of the point (x, y)."""
    return Expr(_native.Expr.call("arctan2", [into_expr(y, "arctan2")._native, into_expr(x, "arctan2")._native]))
