"""The `rolling_` operators of `tf.update_by`: aggregates of a window that moves along with each row, by rows or by time.

>>> import tickframe as tf
>>> t = tf.table({"k": ["a", "b", "a", "a"], "x": [1, 2, 3, 4]})
>>> t.update_by(tf.update_by.rolling_sum_tick("s = x", rev_ticks=2), by="k").to_dict()["s"]
[1, 2, 4, 7]
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from tickframe.arguments import checked, text, whole
from tickframe.describe import named, short
from tickframe.expr import Expr
from tickframe.formulas import Formula, OverGroups
from tickframe.functions import col, lit
from tickframe.group_by import of_lists
from tickframe.operators import Operator
from tickframe.rolling import reach
from tickframe.when import when

if TYPE_CHECKING:
    import datetime
    from collections.abc import Callable
    from types import FrameType
    from typing import TypeAlias

    from tickframe import _native
    from tickframe.dtypes import DataType

    Span: TypeAlias = float | str | datetime.timedelta
    Window: TypeAlias = "tuple[str, Expr | None]"

__all__ = [
    "rolling_avg_tick",
    "rolling_avg_time",
    "rolling_count_tick",
    "rolling_count_time",
    "rolling_count_where_tick",
    "rolling_count_where_time",
    "rolling_formula_tick",
    "rolling_formula_time",
    "rolling_group_tick",
    "rolling_group_time",
    "rolling_max_tick",
    "rolling_max_time",
    "rolling_min_tick",
    "rolling_min_time",
    "rolling_prod_tick",
    "rolling_prod_time",
    "rolling_std_tick",
    "rolling_std_time",
    "rolling_sum_tick",
    "rolling_sum_time",
    "rolling_wavg_tick",
    "rolling_wavg_time",
]


def _numeric(kind: DataType) -> bool:
    return kind.is_numeric


def _any(kind: DataType) -> bool:
    del kind
    return True


def _ticks(name: str, rev: int, fwd: int) -> Window:
    """The window of rows as plans write it."""
    whole(rev, name, "rev_ticks")
    whole(fwd, name, "fwd_ticks")
    if rev + fwd <= 0:
        raise ValueError(
            f"{name}: a window of rev_ticks={rev} and fwd_ticks={fwd} has no row in it; rev_ticks counts the row itself"
        )
    return json.dumps({"frame": {"rows": {"back": rev - 1, "ahead": fwd}}, "least": 0}), None


def _times(name: str, ts_col: str, rev: object, fwd: object) -> Window:
    """The window of time as plans write it, and the column of stamps."""
    text(ts_col, name, "ts_col")
    back, ahead = reach(rev, f"{name}: rev_time"), reach(fwd, f"{name}: fwd_time")
    if _nanos(back) + _nanos(ahead) < 0:
        raise ValueError(f"{name}: a window of rev_time={short(rev)} and fwd_time={short(fwd)} ends before it begins")
    window = {"range": {"back": back, "ahead": ahead, "closed": "Both", "ordered": True}}
    return json.dumps({"frame": window, "least": 0}), col(ts_col)


def _nanos(far: dict[str, Any]) -> float:
    ((kind, number),) = far.items()
    nanos: float = number if kind == "span" else number * 10**9
    return nanos


def _moving(aggregate: Expr, window: Window) -> Expr:
    frame, stamps = window
    return Expr(aggregate._native.rolling(frame, None if stamps is None else stamps._native))


def _rolled(
    name: str,
    columns: tuple[str | list[str], ...],
    suits: Callable[[DataType], bool],
    window: Window,
    aggregate: Callable[[Expr], Expr],
) -> Operator:
    return Operator(name, "value", columns, suits, lambda of: _moving(aggregate(col(of)), window))


def _where(name: str, column: str, predicate: str | Expr, window: Window, frame: Any) -> Operator:
    text(column, name, "column")
    if not isinstance(predicate, (str, Expr)):
        raise TypeError(f"{name}: predicate is a formula or an expression, not {named(predicate)}")
    given = Formula(predicate, frame, name, filter=True) if isinstance(predicate, str) else predicate
    counted = when(given).then(lit(True)).count()
    return Operator(name, "value", [column], None, lambda _: _moving(counted, window))


class _OverWindows(OverGroups):
    """A formula in which a column is the list of its values in a window."""

    __slots__ = ("_window",)

    def __init__(self, text: str, frame: FrameType, window: Window) -> None:
        super().__init__(text, frame)
        self._window = window

    def _lower(self, operation: str, table: _native.Table | None, live: bool = False) -> _native.Expr:
        frame, stamps = self._window
        lists = None if table is None else of_lists(operation, table)
        return super()._lower(operation, lists, live).rolling(frame, None if stamps is None else stamps._native)


def _formula(name: str, column: str, formula: str | Expr, window: Window, frame: FrameType) -> Operator:
    text(column, name, "column")
    given: object = formula
    if isinstance(given, str):
        made = _OverWindows(f"{column} = {given}", frame, window)
        return Operator(name, "value", [column], None, lambda _: made)
    if not isinstance(given, Expr) or not given._native.is_aggregate():
        raise TypeError(
            f'{name}: formula is a text such as "max(x) - min(x)", or an expression over aggregates, such as '
            'tf.col("x").max() - tf.col("x").min()'
        )
    return Operator(name, "value", [column], None, lambda _: _moving(given, window))


@checked
def rolling_sum_tick(*columns: str | list[str], rev_ticks: int, fwd_ticks: int = 0) -> Operator:
    """The sum of the values in a window of rows; 0 of no value.

    >>> import tickframe as tf
    >>> t = tf.table({"x": [1, 2, 3, 4]})
    >>> t.update_by(tf.update_by.rolling_sum_tick("s = x", rev_ticks=2, fwd_ticks=1)).to_dict()["s"]
    [3, 6, 9, 7]

    Args:
        *columns: ``"Out = In"`` or names; all numeric columns without any.
        rev_ticks: how many rows before, the row itself counted; 0 begins behind it, and negative values further.
        fwd_ticks: how many rows behind it; negative, the window ends before it.
    """
    return _rolled(
        "rolling_sum_tick", columns, _numeric, _ticks("rolling_sum_tick", rev_ticks, fwd_ticks), lambda of: of.sum()
    )


@checked
def rolling_avg_tick(*columns: str | list[str], rev_ticks: int, fwd_ticks: int = 0) -> Operator:
    """The mean of the values in a window of rows.

    >>> import tickframe as tf
    >>> t = tf.table({"x": [1, 2, 6, 4]})
    >>> t.update_by(tf.update_by.rolling_avg_tick("y = x", rev_ticks=2)).to_dict()["y"]
    [1.0, 1.5, 4.0, 5.0]

    Args:
        *columns: ``"Out = In"`` or names; all numeric columns without any.
        rev_ticks: as in `rolling_sum_tick`.
        fwd_ticks: as in `rolling_sum_tick`.
    """
    return _rolled(
        "rolling_avg_tick", columns, _numeric, _ticks("rolling_avg_tick", rev_ticks, fwd_ticks), lambda of: of.mean()
    )


@checked
def rolling_min_tick(*columns: str | list[str], rev_ticks: int, fwd_ticks: int = 0) -> Operator:
    """The least of the values in a window of rows; NaN only if nothing else is there.

    >>> import tickframe as tf
    >>> t = tf.table({"x": [1, 2, 6, 4]})
    >>> t.update_by(tf.update_by.rolling_min_tick("y = x", rev_ticks=2)).to_dict()["y"]
    [1, 1, 2, 4]

    Args:
        *columns: ``"Out = In"`` or names; all columns without any.
        rev_ticks: as in `rolling_sum_tick`.
        fwd_ticks: as in `rolling_sum_tick`.
    """
    return _rolled(
        "rolling_min_tick", columns, _any, _ticks("rolling_min_tick", rev_ticks, fwd_ticks), lambda of: of.min()
    )


@checked
def rolling_max_tick(*columns: str | list[str], rev_ticks: int, fwd_ticks: int = 0) -> Operator:
    """The greatest of the values in a window of rows; NaN only if nothing else is there.

    >>> import tickframe as tf
    >>> t = tf.table({"x": [1, 2, 6, 4]})
    >>> t.update_by(tf.update_by.rolling_max_tick("y = x", rev_ticks=2)).to_dict()["y"]
    [1, 2, 6, 6]

    Args:
        *columns: ``"Out = In"`` or names; all columns without any.
        rev_ticks: as in `rolling_sum_tick`.
        fwd_ticks: as in `rolling_sum_tick`.
    """
    return _rolled(
        "rolling_max_tick", columns, _any, _ticks("rolling_max_tick", rev_ticks, fwd_ticks), lambda of: of.max()
    )


@checked
def rolling_count_tick(*columns: str | list[str], rev_ticks: int, fwd_ticks: int = 0) -> Operator:
    """How many values that are not null a window of rows has.

    >>> import tickframe as tf
    >>> t = tf.table({"x": [1, 2, 6, 4]})
    >>> t.update_by(tf.update_by.rolling_count_tick("y = x", rev_ticks=2)).to_dict()["y"]
    [1, 2, 2, 2]

    Args:
        *columns: ``"Out = In"`` or names; all columns without any.
        rev_ticks: as in `rolling_sum_tick`.
        fwd_ticks: as in `rolling_sum_tick`.
    """
    return _rolled(
        "rolling_count_tick", columns, _any, _ticks("rolling_count_tick", rev_ticks, fwd_ticks), lambda of: of.count()
    )


@checked
def rolling_std_tick(*columns: str | list[str], rev_ticks: int, fwd_ticks: int = 0) -> Operator:
    """The standard deviation of the values in a window of rows; of equal values it is 0.

    >>> import tickframe as tf
    >>> t = tf.table({"x": [1, 2, 6, 4]})
    >>> t.update_by(tf.update_by.rolling_std_tick("y = x", rev_ticks=2)).to_dict()["y"]
    [None, 0.7071067811865476, 2.8284271247461903, 1.4142135623730951]

    Args:
        *columns: ``"Out = In"`` or names; all numeric columns without any.
        rev_ticks: as in `rolling_sum_tick`.
        fwd_ticks: as in `rolling_sum_tick`.
    """
    return _rolled(
        "rolling_std_tick", columns, _numeric, _ticks("rolling_std_tick", rev_ticks, fwd_ticks), lambda of: of.std()
    )


@checked
def rolling_prod_tick(*columns: str | list[str], rev_ticks: int, fwd_ticks: int = 0) -> Operator:
    """The product of the values in a window of rows; integers wrap.

    >>> import tickframe as tf
    >>> t = tf.table({"x": [1, 2, 6, 4]})
    >>> t.update_by(tf.update_by.rolling_prod_tick("y = x", rev_ticks=2)).to_dict()["y"]
    [1, 2, 12, 24]

    Args:
        *columns: ``"Out = In"`` or names; all numeric columns without any.
        rev_ticks: as in `rolling_sum_tick`.
        fwd_ticks: as in `rolling_sum_tick`.
    """
    return _rolled(
        "rolling_prod_tick",
        columns,
        _numeric,
        _ticks("rolling_prod_tick", rev_ticks, fwd_ticks),
        lambda of: of.product(),
    )


@checked
def rolling_wavg_tick(weight_col: str, *columns: str | list[str], rev_ticks: int, fwd_ticks: int = 0) -> Operator:
    """The mean of the values in a window of rows, in which each counts as much as its weight.

    >>> import tickframe as tf
    >>> t = tf.table({"x": [10, 20, 60], "size": [3, 1, 1]})
    >>> t.update_by(tf.update_by.rolling_wavg_tick("size", "y = x", rev_ticks=2)).to_dict()["y"]
    [10.0, 12.5, 40.0]

    Args:
        weight_col: the column of weights.
        *columns: ``"Out = In"`` or names; all numeric columns without any.
        rev_ticks: as in `rolling_sum_tick`.
        fwd_ticks: as in `rolling_sum_tick`.
    """
    return _rolled(
        "rolling_wavg_tick",
        columns,
        _numeric,
        _ticks("rolling_wavg_tick", rev_ticks, fwd_ticks),
        lambda of: of.weighted_mean(weight_col),
    )


@checked
def rolling_group_tick(*columns: str | list[str], rev_ticks: int, fwd_ticks: int = 0) -> Operator:
    """The values in a window of rows as a list, nulls included.

    >>> import tickframe as tf
    >>> t = tf.table({"x": [1, 2, 6, 4]})
    >>> t.update_by(tf.update_by.rolling_group_tick("y = x", rev_ticks=2)).to_dict()["y"]
    [[1], [1, 2], [2, 6], [6, 4]]

    Args:
        *columns: ``"Out = In"`` or names; all columns without any.
        rev_ticks: as in `rolling_sum_tick`.
        fwd_ticks: as in `rolling_sum_tick`.
    """
    return _rolled(
        "rolling_group_tick", columns, _any, _ticks("rolling_group_tick", rev_ticks, fwd_ticks), lambda of: of.implode()
    )


def rolling_count_where_tick(column: str, predicate: str | Expr, *, rev_ticks: int, fwd_ticks: int = 0) -> Operator:
    """In how many rows of a window of rows a formula is true, in a column of this name.

    >>> import tickframe as tf
    >>> t = tf.table({"x": [1, 2, 6, 4]})
    >>> t.update_by(tf.update_by.rolling_count_where_tick("big", "x > 1", rev_ticks=2)).to_dict()["big"]
    [0, 1, 2, 2]

    Args:
        column: the name of the new column.
        predicate: a formula, or a Boolean expression.
        rev_ticks: as in `rolling_sum_tick`.
        fwd_ticks: as in `rolling_sum_tick`.
    """
    return _where(
        "rolling_count_where_tick",
        column,
        predicate,
        _ticks("rolling_count_where_tick", rev_ticks, fwd_ticks),
        sys._getframe(1),
    )


def rolling_formula_tick(column: str, formula: str | Expr, *, rev_ticks: int, fwd_ticks: int = 0) -> Operator:
    """Any expression over aggregates of a window of rows, in a column of this name.

    >>> import tickframe as tf
    >>> spread = tf.col("x").max() - tf.col("x").min()
    >>> t = tf.table({"x": [1, 5, 2]})
    >>> t.update_by(tf.update_by.rolling_formula_tick("spread", spread, rev_ticks=2)).to_dict()["spread"]
    [0, 4, 3]
    >>> t.update_by(tf.update_by.rolling_formula_tick("spread", "max(x) - min(x)", rev_ticks=2)).to_dict()["spread"]
    [0, 4, 3]

    Args:
        column: the name of the new column.
        formula: a formula, in which a column is the list of its values in the window, or an expression over aggregates, such as
            ``tf.col("x").max() - tf.col("x").min()``.
        rev_ticks: as in `rolling_sum_tick`.
        fwd_ticks: as in `rolling_sum_tick`.
    """
    return _formula(
        "rolling_formula_tick", column, formula, _ticks("rolling_formula_tick", rev_ticks, fwd_ticks), sys._getframe(1)
    )


@checked
def rolling_sum_time(ts_col: str, *columns: str | list[str], rev_time: Span, fwd_time: Span = 0) -> Operator:
    """The sum of the values in a window of time; 0 of no value.

    >>> import tickframe as tf
    >>> t = tf.table({"t": [1, 2, 2, 9], "x": [1, 2, 3, 4]})
    >>> t.update_by(tf.update_by.rolling_sum_time("t", "s = x", rev_time=1)).to_dict()["s"]
    [1, 6, 6, 4]

    Args:
        ts_col: the column of stamps, which must not go back within a group; a row without one has no value, and no part
            in any.
        *columns: ``"Out = In"`` or names; all numeric columns without any.
        rev_time: how long before the row's stamp the window begins: seconds, a timedelta or a text such as ``"5m"``;
            negative, it begins behind it. Both ends belong to it.
        fwd_time: how long behind the row's stamp it ends; negative, before it.
    """
    return _rolled(
        "rolling_sum_time",
        columns,
        _numeric,
        _times("rolling_sum_time", ts_col, rev_time, fwd_time),
        lambda of: of.sum(),
    )


@checked
def rolling_avg_time(ts_col: str, *columns: str | list[str], rev_time: Span, fwd_time: Span = 0) -> Operator:
    """The mean of the values in a window of time.

    >>> import tickframe as tf
    >>> t = tf.table({"t": [0, 1, 5, 6], "x": [1, 2, 6, 4]})
    >>> t.update_by(tf.update_by.rolling_avg_time("t", "y = x", rev_time=2)).to_dict()["y"]
    [1.0, 1.5, 6.0, 5.0]

    Args:
        ts_col: as in `rolling_sum_time`.
        *columns: ``"Out = In"`` or names; all numeric columns without any.
        rev_time: as in `rolling_sum_time`.
        fwd_time: as in `rolling_sum_time`.
    """
    return _rolled(
        "rolling_avg_time",
        columns,
        _numeric,
        _times("rolling_avg_time", ts_col, rev_time, fwd_time),
        lambda of: of.mean(),
    )


@checked
def rolling_min_time(ts_col: str, *columns: str | list[str], rev_time: Span, fwd_time: Span = 0) -> Operator:
    """The least of the values in a window of time; NaN only if nothing else is there.

    >>> import tickframe as tf
    >>> t = tf.table({"t": [0, 1, 5, 6], "x": [1, 2, 6, 4]})
    >>> t.update_by(tf.update_by.rolling_min_time("t", "y = x", rev_time=2)).to_dict()["y"]
    [1, 1, 6, 4]

    Args:
        ts_col: as in `rolling_sum_time`.
        *columns: ``"Out = In"`` or names; all columns without any.
        rev_time: as in `rolling_sum_time`.
        fwd_time: as in `rolling_sum_time`.
    """
    return _rolled(
        "rolling_min_time", columns, _any, _times("rolling_min_time", ts_col, rev_time, fwd_time), lambda of: of.min()
    )


@checked
def rolling_max_time(ts_col: str, *columns: str | list[str], rev_time: Span, fwd_time: Span = 0) -> Operator:
    """The greatest of the values in a window of time; NaN only if nothing else is there.

    >>> import tickframe as tf
    >>> t = tf.table({"t": [0, 1, 5, 6], "x": [1, 2, 6, 4]})
    >>> t.update_by(tf.update_by.rolling_max_time("t", "y = x", rev_time=2)).to_dict()["y"]
    [1, 2, 6, 6]

    Args:
        ts_col: as in `rolling_sum_time`.
        *columns: ``"Out = In"`` or names; all columns without any.
        rev_time: as in `rolling_sum_time`.
        fwd_time: as in `rolling_sum_time`.
    """
    return _rolled(
        "rolling_max_time", columns, _any, _times("rolling_max_time", ts_col, rev_time, fwd_time), lambda of: of.max()
    )


@checked
def rolling_count_time(ts_col: str, *columns: str | list[str], rev_time: Span, fwd_time: Span = 0) -> Operator:
    """How many values that are not null a window of time has.

    >>> import tickframe as tf
    >>> t = tf.table({"t": [0, 1, 5, 6], "x": [1, 2, 6, 4]})
    >>> t.update_by(tf.update_by.rolling_count_time("t", "y = x", rev_time=2)).to_dict()["y"]
    [1, 2, 1, 2]

    Args:
        ts_col: as in `rolling_sum_time`.
        *columns: ``"Out = In"`` or names; all columns without any.
        rev_time: as in `rolling_sum_time`.
        fwd_time: as in `rolling_sum_time`.
    """
    return _rolled(
        "rolling_count_time",
        columns,
        _any,
        _times("rolling_count_time", ts_col, rev_time, fwd_time),
        lambda of: of.count(),
    )


@checked
def rolling_std_time(ts_col: str, *columns: str | list[str], rev_time: Span, fwd_time: Span = 0) -> Operator:
    """The standard deviation of the values in a window of time; of equal values it is 0.

    >>> import tickframe as tf
    >>> t = tf.table({"t": [0, 1, 5, 6], "x": [1, 2, 6, 4]})
    >>> t.update_by(tf.update_by.rolling_std_time("t", "y = x", rev_time=2)).to_dict()["y"]
    [None, 0.7071067811865476, None, 1.4142135623730951]

    Args:
        ts_col: as in `rolling_sum_time`.
        *columns: ``"Out = In"`` or names; all numeric columns without any.
        rev_time: as in `rolling_sum_time`.
        fwd_time: as in `rolling_sum_time`.
    """
    return _rolled(
        "rolling_std_time",
        columns,
        _numeric,
        _times("rolling_std_time", ts_col, rev_time, fwd_time),
        lambda of: of.std(),
    )


@checked
def rolling_prod_time(ts_col: str, *columns: str | list[str], rev_time: Span, fwd_time: Span = 0) -> Operator:
    """The product of the values in a window of time; integers wrap.

    >>> import tickframe as tf
    >>> t = tf.table({"t": [0, 1, 5, 6], "x": [1, 2, 6, 4]})
    >>> t.update_by(tf.update_by.rolling_prod_time("t", "y = x", rev_time=2)).to_dict()["y"]
    [1, 2, 6, 24]

    Args:
        ts_col: as in `rolling_sum_time`.
        *columns: ``"Out = In"`` or names; all numeric columns without any.
        rev_time: as in `rolling_sum_time`.
        fwd_time: as in `rolling_sum_time`.
    """
    return _rolled(
        "rolling_prod_time",
        columns,
        _numeric,
        _times("rolling_prod_time", ts_col, rev_time, fwd_time),
        lambda of: of.product(),
    )


@checked
def rolling_wavg_time(
    ts_col: str, weight_col: str, *columns: str | list[str], rev_time: Span, fwd_time: Span = 0
) -> Operator:
    """The mean of the values in a window of time, in which each counts as much as its weight.

    >>> import tickframe as tf
    >>> t = tf.table({"t": [0, 1, 5], "x": [10, 20, 60], "size": [3, 1, 1]})
    >>> t.update_by(tf.update_by.rolling_wavg_time("t", "size", "y = x", rev_time=2)).to_dict()["y"]
    [10.0, 12.5, 60.0]

    Args:
        ts_col: as in `rolling_sum_time`.
        weight_col: the column of weights.
        *columns: ``"Out = In"`` or names; all numeric columns without any.
        rev_time: as in `rolling_sum_time`.
        fwd_time: as in `rolling_sum_time`.
    """
    return _rolled(
        "rolling_wavg_time",
        columns,
        _numeric,
        _times("rolling_wavg_time", ts_col, rev_time, fwd_time),
        lambda of: of.weighted_mean(weight_col),
    )


@checked
def rolling_group_time(ts_col: str, *columns: str | list[str], rev_time: Span, fwd_time: Span = 0) -> Operator:
    """The values in a window of time as a list, nulls included.

    >>> import tickframe as tf
    >>> t = tf.table({"t": [0, 1, 5, 6], "x": [1, 2, 6, 4]})
    >>> t.update_by(tf.update_by.rolling_group_time("t", "y = x", rev_time=2)).to_dict()["y"]
    [[1], [1, 2], [6], [6, 4]]

    Args:
        ts_col: as in `rolling_sum_time`.
        *columns: ``"Out = In"`` or names; all columns without any.
        rev_time: as in `rolling_sum_time`.
        fwd_time: as in `rolling_sum_time`.
    """
    return _rolled(
        "rolling_group_time",
        columns,
        _any,
        _times("rolling_group_time", ts_col, rev_time, fwd_time),
        lambda of: of.implode(),
    )


def rolling_count_where_time(
    ts_col: str, column: str, predicate: str | Expr, *, rev_time: Span, fwd_time: Span = 0
) -> Operator:
    """In how many rows of a window of time a formula is true, in a column of this name.

    >>> import tickframe as tf
    >>> t = tf.table({"t": [0, 1, 5, 6], "x": [1, 2, 6, 4]})
    >>> t.update_by(tf.update_by.rolling_count_where_time("t", "big", "x > 1", rev_time=2)).to_dict()["big"]
    [0, 1, 1, 2]

    Args:
        ts_col: as in `rolling_sum_time`.
        column: the name of the new column.
        predicate: a formula, or a Boolean expression.
        rev_time: as in `rolling_sum_time`.
        fwd_time: as in `rolling_sum_time`.
    """
    return _where(
        "rolling_count_where_time",
        column,
        predicate,
        _times("rolling_count_where_time", ts_col, rev_time, fwd_time),
        sys._getframe(1),
    )


def rolling_formula_time(
    ts_col: str, column: str, formula: str | Expr, *, rev_time: Span, fwd_time: Span = 0
) -> Operator:
    """Any expression over aggregates of a window of time, in a column of this name.

    >>> import tickframe as tf
    >>> t = tf.table({"t": [0, 1, 5, 6], "x": [1, 2, 6, 4]})
    >>> t.update_by(tf.update_by.rolling_formula_time("t", "range", "max(x) - min(x)", rev_time=2)).to_dict()["range"]
    [0, 1, 0, 2]

    Args:
        ts_col: as in `rolling_sum_time`.
        column: the name of the new column.
        formula: as in `rolling_formula_tick`.
        rev_time: as in `rolling_sum_time`.
        fwd_time: as in `rolling_sum_time`.
    """
    return _formula(
        "rolling_formula_time",
        column,
        formula,
        _times("rolling_formula_time", ts_col, rev_time, fwd_time),
        sys._getframe(1),
    )
