"""Functions that make expressions: columns, values, instants, random numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from tickframe import _native
from tickframe.arguments import checked, encodable
from tickframe.chosen import Chosen
from tickframe.describe import named, short
from tickframe.dtypes import DataType, DataTypeLike, Datetime
from tickframe.dtypes import dtype as as_dtype
from tickframe.expr import Expr, IntoExpr, into_expr, literal
from tickframe.foreign import operand
from tickframe.selectors import by_dtype
from tickframe.several import several

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "arctan2",
    "col",
    "concat_list",
    "cov",
    "element",
    "from_epoch",
    "int_ranges",
    "len",
    "lit",
    "now",
    "random_bool",
    "random_float",
    "random_gaussian",
    "random_int",
    "variable",
]


def col(name: str | DataType | type | Sequence[str], *more: str | DataType | type) -> Expr:
    """The column called `name`; with several names, each of those columns, with what is done with it.

    >>> import tickframe as tf
    >>> t = tf.table({"a": [1, 2], "b": [3, 4], "c": [5, 6]})
    >>> t.select(tf.col("a", "c").sum() * 10).to_dicts()
    [{'a': 30, 'c': 110}]

    With types, each column of one of them, as `selectors.by_dtype`:

    >>> tf.table({"a": [1], "s": ["x"]}).select(tf.col(tf.Int64)).columns
    ['a']
    """
    names: list[object] = list(name) if isinstance(name, (list, tuple)) else [name]
    names.extend(more)
    if names and all(isinstance(each, (DataType, type)) for each in names):
        return by_dtype(*names)
    for each in names:
        if not isinstance(each, str):
            raise TypeError(f"col: the name of a column is a str, not {named(each)}")
        encodable(each, "col")
    if isinstance(name, str) and not more:
        return Expr(_native.Expr.column(name))
    return several([str(each) for each in names])


def now() -> Expr:
    """The instant at which the step began; one for all rows and tables of a step.

    A column of it follows the clock. A filter that compares a column of instants with it, or with so much before or after it,
    lets rows go when their time has come:

    >>> import datetime as dt
    >>> import tickframe as tf
    >>> clock = tf.testing.ManualClock("2024-05-01T12:00:00+00:00")
    >>> events = tf.append_table({"t": tf.Datetime("ns", "UTC")}, graph=tf.Graph(clock=clock))
    >>> recent = events.filter(tf.col("t") > tf.now() - dt.timedelta(minutes=5))
    >>> token = events.append({"t": [clock.now]})
    >>> before, _ = events.graph.step(), clock.advance("5m")
    >>> after = events.graph.step()
    >>> events.height, recent.height
    (1, 0)
    """
    return Expr(_native.Expr.now())


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


def element() -> Expr:
    """An element of the lists of ``.list.eval(...)``.

    >>> import tickframe as tf
    >>> tf.table({"v": [[3, 1], [2]]}).select(tf.col("v").list.eval(tf.element() ** 2)).to_dict()
    {'v': [[9, 1], [4]]}
    """
    return Expr(_native.Expr.call("element", []))


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
    return Expr(_native.Expr.aggregate("cov", _pair("cov", a, b), ddof=ddof))


@checked
def corr(a: IntoExpr, b: IntoExpr) -> Expr:
    """The correlation of two columns (Pearson's), from -1 to 1; NaN where one is constant.

    Pairs with a null are left out; of fewer than two it is null.

    >>> import tickframe as tf
    >>> t = tf.table({"k": ["a", "a", "a", "b"], "x": [1, 2, 4, 3], "y": [2.0, 4.0, 8.0, 1.0]})
    >>> t.group_by("k").agg(r=tf.corr("x", "y")).to_dicts()
    [{'k': 'a', 'r': 1.0}, {'k': 'b', 'r': None}]

    Args:
        a: a column or an expression; a bare string is a column. The result has its name.
        b: the other one.

    Raises:
        TypeMismatchError: values that are no numbers.
    """
    return Expr(_native.Expr.aggregate("corr", _pair("corr", a, b)))


@checked
def concat_list(*exprs: IntoExpr) -> Expr:
    """A list of the values of several columns; one that holds lists gives their elements.

    Null is an element; a list that is null makes the whole null. In formulas it is ``enlist``.

    >>> import tickframe as tf
    >>> t = tf.table({"v": [[1, 2], None], "n": [3, 4]})
    >>> t.select(a=tf.concat_list("v", "n"), b=tf.concat_list("n", 0)).to_dicts()
    [{'a': [1, 2, 3], 'b': [3, 0]}, {'a': None, 'b': [4, 0]}]

    Args:
        exprs: columns or expressions, one at least; a bare string is a column. The result has the first one's name.

    Raises:
        TypeMismatchError: values that have no common type.
    """
    return Expr(_native.Expr.call("concat_list", [into_expr(each, "concat_list")._native for each in exprs]))


@checked
def int_ranges(start: IntoExpr, end: IntoExpr = None, step: IntoExpr = 1, *, closed: bool = False) -> Expr:
    """Lists of the whole numbers from `start` to before `end`; null where one of them is.

    >>> import tickframe as tf
    >>> t = tf.table({"n": [3, 0, None]})
    >>> t.select(up=tf.int_ranges("n"), down=tf.int_ranges("n", -2, -2)).to_dict()
    {'up': [[0, 1, 2], [], None], 'down': [[3, 1, -1], [0], None]}

    In formulas ``sequence(start, end, step)`` has `end` in it.

    Args:
        start: the first number; a bare string is a column, as for the others.
        end: none of the numbers reaches it. Without it they go from 0 to before `start`.
        step: from one to the next; negative numbers go down.
        closed: whether `end` itself may be one of them.

    Raises:
        TypeMismatchError: bounds that are no integers.
        DataError: a step of 0, or more elements than there is memory for.
    """
    given = (0, start, step) if end is None else (start, end, step)
    bounds = [into_expr(each, "int_ranges")._native for each in given]
    return Expr(_native.Expr.call("int_ranges", bounds, closed=closed))


def _pair(operation: str, *columns: IntoExpr | Chosen) -> list[_native.Expr]:
    """Two columns; rows that are not chosen have no pair."""
    return [(each.seen() if isinstance(each, Chosen) else into_expr(each, operation))._native for each in columns]


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
