"""Operators for `Table.update_by`, by Deephaven's names: each takes ``"Out = In"`` strings, or plain names.

A value runs from the first row of its group on, or is of the row before. Without a column an operator is of all columns that it
takes, and each keeps its name.

>>> import tickframe as tf
>>> t = tf.table({"k": ["a", "b", "a"], "x": [1, None, 3]})
>>> t.update_by([tf.update_by.cum_sum("total = x"), tf.update_by.delta("step = x")], by="k").to_dicts()[2]
{'k': 'a', 'x': 3, 'total': 4, 'step': 2}
"""

from __future__ import annotations

import enum
import sys
from typing import TYPE_CHECKING

from tickframe.arguments import checked, instance, text
from tickframe.describe import named, short
from tickframe.durations import nanoseconds
from tickframe.expr import Expr
from tickframe.formulas import Formula
from tickframe.functions import col
from tickframe.operators import Operator
from tickframe.rolling_operators import (
    rolling_avg_tick,
    rolling_avg_time,
    rolling_count_tick,
    rolling_count_time,
    rolling_count_where_tick,
    rolling_count_where_time,
    rolling_formula_tick,
    rolling_formula_time,
    rolling_group_tick,
    rolling_group_time,
    rolling_max_tick,
    rolling_max_time,
    rolling_min_tick,
    rolling_min_time,
    rolling_prod_tick,
    rolling_prod_time,
    rolling_std_tick,
    rolling_std_time,
    rolling_sum_tick,
    rolling_sum_time,
    rolling_wavg_tick,
    rolling_wavg_time,
)
from tickframe.when import when

if TYPE_CHECKING:
    import datetime

    from tickframe.dtypes import DataType

__all__ = [
    "BadDataBehavior",
    "DeltaControl",
    "OperationControl",
    "Operator",
    "cum_count_where",
    "cum_max",
    "cum_mean",
    "cum_min",
    "cum_prod",
    "cum_sum",
    "delta",
    "ema_tick",
    "ema_time",
    "emmax_tick",
    "emmax_time",
    "emmin_tick",
    "emmin_time",
    "ems_tick",
    "ems_time",
    "emstd_tick",
    "emstd_time",
    "forward_fill",
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
    "shift",
]


class BadDataBehavior(enum.Enum):
    """What a null or a NaN does to a value that fades.

    >>> import tickframe as tf
    >>> from tickframe.update_by import BadDataBehavior, OperationControl, ema_tick
    >>> t = tf.table({"x": [1.0, None, 5.0]})
    >>> def mean(on_null: BadDataBehavior) -> list:
    ...     return t.update_by(ema_tick(2, "y = x", op_control=OperationControl(on_null=on_null))).to_dict()["y"]
    >>> mean(BadDataBehavior.RESET), mean(BadDataBehavior.POISON)
    ([1.0, None, 5.0], [1.0, nan, nan])
    >>> [round(y, 2) for y in mean(BadDataBehavior.SKIP)]
    [1.0, 1.0, 2.57]
    >>> mean(BadDataBehavior.THROW)
    Traceback (most recent call last):
        ...
    tickframe.errors.DataError: update_by: ema_tick("x") meets a null in the row with key 1, and on_null refuses it
    """

    SKIP = "skip"
    """It is passed over: the row has the value before it."""
    RESET = "reset"
    """The value begins anew behind it; the row has none."""
    THROW = "throw"
    """The table fails and names the row."""
    POISON = "poison"
    """The value is NaN from there on."""


class DeltaControl(enum.Enum):
    """What a difference is where the row before has no value, or there is none.

    >>> import tickframe as tf
    >>> from tickframe.update_by import DeltaControl, delta
    >>> t = tf.table({"x": [3, 5]})
    >>> def steps(control: DeltaControl) -> list:
    ...     return t.update_by(delta("d = x", delta_control=control)).to_dict()["d"]
    >>> steps(DeltaControl.NULL_DOMINATES), steps(DeltaControl.VALUE_DOMINATES), steps(DeltaControl.ZERO_DOMINATES)
    ([None, 2], [3, 2], [0, 2])
    """

    NULL_DOMINATES = "null_dominates"
    """Null."""
    VALUE_DOMINATES = "value_dominates"
    """The value itself."""
    ZERO_DOMINATES = "zero_dominates"
    """Zero."""


class OperationControl:
    """What null and NaN do to values that fade: an argument of the `ema_` family.

    >>> import tickframe as tf
    >>> control = tf.update_by.OperationControl(on_null="reset")
    >>> t = tf.table({"x": [1.0, None, 5.0]}).update_by(tf.update_by.ema_tick(2, "y = x", op_control=control))
    >>> t.to_dict()["y"]
    [1.0, None, 5.0]
    """

    __slots__ = ("_on_nan", "_on_null")

    def __init__(self, on_null: BadDataBehavior | str = "skip", on_nan: BadDataBehavior | str = "skip") -> None:
        self._on_null, self._on_nan = _behaviour(on_null, "on_null"), _behaviour(on_nan, "on_nan")

    def __repr__(self) -> str:
        return f"tf.update_by.OperationControl(on_null={self._on_null!r}, on_nan={self._on_nan!r})"


def _behaviour(given: object, parameter: str) -> str:
    value = given.value if isinstance(given, BadDataBehavior) else given
    words = [each.value for each in BadDataBehavior]
    if not isinstance(value, str) or value not in words:
        kind = ValueError if isinstance(value, str) else TypeError
        raise kind(f"OperationControl: {parameter} must be {', '.join(map(repr, words))}, not {short(given)}")
    return str(value)


def _numeric(kind: DataType) -> bool:
    return kind.is_numeric


def _any(kind: DataType) -> bool:
    del kind
    return True


def _cumulative(name: str, of: str, columns: tuple[str | list[str], ...]) -> Operator:
    return Operator(name, {"running": {"cumulative": {"of": of}}}, columns, _numeric)


def cum_sum(*columns: str | list[str]) -> Operator:
    """The sum of the values so far; a null passes on the sum before it, and there is none before the first value.

    >>> import tickframe as tf
    >>> tf.table({"x": [1, None, 3]}).update_by(tf.update_by.cum_sum("total = x")).to_dict()["total"]
    [1, 1, 4]

    Args:
        *columns: ``"Out = In"`` or names; all numeric columns without any.
    """
    return _cumulative("cum_sum", "sum", columns)


def cum_prod(*columns: str | list[str]) -> Operator:
    """The product of the values so far; integers wrap.

    >>> import tickframe as tf
    >>> t = tf.table({"x": [3, 1, 2]})
    >>> t.update_by(tf.update_by.cum_prod("y = x")).to_dict()["y"]
    [3, 3, 6]

    Args:
        *columns: as in `cum_sum`.
    """
    return _cumulative("cum_prod", "product", columns)


def cum_min(*columns: str | list[str]) -> Operator:
    """The least of the values so far; NaN only where nothing else has come.

    >>> import tickframe as tf
    >>> t = tf.table({"x": [3, 1, 2]})
    >>> t.update_by(tf.update_by.cum_min("y = x")).to_dict()["y"]
    [3, 1, 1]

    Args:
        *columns: as in `cum_sum`, of any type with an order.
    """
    return _cumulative("cum_min", "min", columns)


def cum_max(*columns: str | list[str]) -> Operator:
    """The greatest of the values so far; NaN only where nothing else has come.

    Args:
        *columns: as in `cum_min`.
    """
    return _cumulative("cum_max", "max", columns)


def cum_mean(*columns: str | list[str]) -> Operator:
    """The mean of the values so far.

    >>> import tickframe as tf
    >>> t = tf.table({"x": [3, 1, 2]})
    >>> t.update_by(tf.update_by.cum_mean("y = x")).to_dict()["y"]
    [3.0, 2.0, 2.0]

    Args:
        *columns: as in `cum_sum`.
    """
    return _cumulative("cum_mean", "mean", columns)


def cum_count_where(column: str, predicate: str | Expr) -> Operator:
    """In how many rows so far a formula is true, in a column of this name.

    >>> import tickframe as tf
    >>> tf.table({"x": [1, 5, 9]}).update_by(tf.update_by.cum_count_where("big", "x > 3")).to_dict()["big"]
    [0, 1, 2]

    Args:
        column: the name of the new column.
        predicate: a formula, or a Boolean expression.
    """
    text(column, "cum_count_where", "column")
    if not isinstance(predicate, (str, Expr)):
        raise TypeError(f"cum_count_where: predicate is a formula or an expression, not {named(predicate)}")
    frame = sys._getframe(1)
    given = Formula(predicate, frame, "cum_count_where", filter=True) if isinstance(predicate, str) else predicate
    kind = {"running": {"cumulative": {"of": "count_true"}}}
    return Operator("cum_count_where", kind, [column], None, lambda _: given)


def forward_fill(*columns: str | list[str]) -> Operator:
    """The last value that is not null.

    >>> import tickframe as tf
    >>> tf.table({"x": ["a", None, "b"]}).update_by(tf.update_by.forward_fill("x")).to_dict()["x"]
    ['a', 'a', 'b']

    Args:
        *columns: ``"Out = In"`` or names; all columns without any.
    """
    return Operator("forward_fill", {"running": "forward_fill"}, columns, _any)


def delta(*columns: str | list[str], delta_control: DeltaControl | str = "null_dominates") -> Operator:
    """The difference to the value of the row before; null where the value itself is null.

    >>> import tickframe as tf
    >>> t = tf.table({"x": [4, 6, None, 7]})
    >>> t.update_by([tf.update_by.delta("a = x"), tf.update_by.delta("b = x", delta_control="value_dominates")]).rows()
    [(4, None, 4), (6, 2, 2), (None, None, None), (7, None, 7)]

    Args:
        *columns: as in `cum_sum`.
        delta_control: what it is where the row before has no value: ``"null_dominates"`` null, ``"value_dominates"`` the
            value, ``"zero_dominates"`` zero.
    """
    given: object = delta_control
    control = given.value if isinstance(given, DeltaControl) else given
    words = [each.value for each in DeltaControl]
    if not isinstance(control, str) or control not in words:
        kind = ValueError if isinstance(control, str) else TypeError
        raise kind(f"delta: delta_control must be {', '.join(map(repr, words))}, not {short(given)}")

    def difference(name: str) -> Expr:
        of, before = col(name), col(name).shift(1)
        if control == "null_dominates":
            return of.diff()
        alone = of if control == "value_dominates" else of - of
        return when(before.is_null()).then(alone).otherwise(of.diff())

    return Operator("delta", "value", columns, _numeric, difference)


@checked
def shift(n: int, *columns: str | list[str]) -> Operator:
    """The value of the row so many before in the group, after it if negative; null where there is none.

    >>> import tickframe as tf
    >>> t = tf.table({"x": [3, 1, 2]})
    >>> t.update_by(tf.update_by.shift(1, "before = x")).to_dict()["before"]
    [None, 3, 1]

    Args:
        n: how many rows.
        *columns: as in `forward_fill`.
    """
    return Operator("shift", "value", columns, _any, lambda name: col(name).shift(n))


def _by_ticks(
    name: str, of: str, ticks: object, columns: tuple[str | list[str], ...], control: OperationControl | None
) -> Operator:
    number: object = ticks
    if isinstance(number, bool) or not hasattr(number, "__float__"):
        raise TypeError(f"{name}: decay_ticks is a number of rows, not {named(number)}")
    rows = float(number)
    if not 0 < rows < float("inf"):
        raise ValueError(f"{name}: decay_ticks must be greater than 0, not {short(number)}")
    return _fading(name, of, {"ticks": rows}, columns, control)


def _by_time(
    name: str,
    of: str,
    stamp: str,
    time: float | str | datetime.timedelta,
    columns: tuple[str | list[str], ...],
    control: OperationControl | None,
) -> Operator:
    text(stamp, name, "ts_col")
    nanos = nanoseconds(time, f"{name}: decay_time")
    if nanos <= 0:
        raise ValueError(f"{name}: decay_time must be positive, not {short(time)}")
    clock: dict[str, object] = {"stamp": stamp, "nanos": float(nanos)}
    given: object = time
    if not isinstance(given, str) and hasattr(given, "__float__"):
        clock["counted"] = True
    return _fading(name, of, {"time": clock}, columns, control)


def _fading(
    name: str,
    of: str,
    clock: dict[str, object],
    columns: tuple[str | list[str], ...],
    control: OperationControl | None,
) -> Operator:
    kind: dict[str, object] = {"of": of, "clock": clock}
    if control is not None:
        instance(control, name, "op_control", "OperationControl", "a tf.update_by.OperationControl")
        kind["control"] = {"on_null": control._on_null, "on_nan": control._on_nan}
    return Operator(name, {"running": {"decay": kind}}, columns, _numeric)


def ema_tick(decay_ticks: float, *columns: str | list[str], op_control: OperationControl | None = None) -> Operator:
    """The exponential moving mean by rows: ``y = a * y_before + (1 - a) * x`` with ``a = exp(-1 / decay_ticks)``.

    >>> import tickframe as tf
    >>> t = tf.table({"x": [1.0, 3.0]}).update_by(tf.update_by.ema_tick(1, "mean = x"))
    >>> [round(each, 3) for each in t.to_dict()["mean"]]
    [1.0, 2.264]

    Args:
        decay_ticks: after so many rows the e-th part is left of a value.
        *columns: as in `cum_sum`.
        op_control: what null and NaN do; they are passed over without it.
    """
    return _by_ticks("ema_tick", "mean", decay_ticks, columns, op_control)


def ema_time(
    ts_col: str,
    decay_time: float | str | datetime.timedelta,
    *columns: str | list[str],
    op_control: OperationControl | None = None,
) -> Operator:
    """The exponential moving mean by time: as `ema_tick`, with ``a = exp(-dt / decay_time)``.

    >>> import datetime as dt
    >>> import tickframe as tf
    >>> stamps = [dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc) + dt.timedelta(seconds=s) for s in (0, 10)]
    >>> t = tf.table({"t": stamps, "x": [1.0, 3.0]}).update_by(tf.update_by.ema_time("t", "10s", "mean = x"))
    >>> [round(each, 3) for each in t.to_dict()["mean"]]
    [1.0, 2.264]

    Args:
        ts_col: the column of stamps, which must not decrease within a group. A row without a stamp has no value, and no part
            in any.
        decay_time: after so long the e-th part is left of a value: seconds, a timedelta or a text such as ``"5m"``; where
            the stamps are whole numbers a number of theirs.
        *columns: as in `cum_sum`.
        op_control: as in `ema_tick`.
    """
    return _by_time("ema_time", "mean", ts_col, decay_time, columns, op_control)


def ems_tick(decay_ticks: float, *columns: str | list[str], op_control: OperationControl | None = None) -> Operator:
    """The exponential moving sum: ``y = a * y_before + x``; otherwise as `ema_tick`.

    >>> import tickframe as tf
    >>> t = tf.table({"x": [4.0, 1.0, 3.0]})
    >>> made = t.update_by(tf.update_by.ems_tick(2, "y = x"))
    >>> [y and round(y, 3) for y in made.to_dict()["y"]]
    [4.0, 3.426, 5.078]

    Args:
        decay_ticks: as in `ema_tick`.
        *columns: as in `cum_sum`.
        op_control: as in `ema_tick`.
    """
    return _by_ticks("ems_tick", "sum", decay_ticks, columns, op_control)


def ems_time(
    ts_col: str,
    decay_time: float | str | datetime.timedelta,
    *columns: str | list[str],
    op_control: OperationControl | None = None,
) -> Operator:
    """As `ems_tick`, fading with time as `ema_time` does.

    >>> import tickframe as tf
    >>> t = tf.table({"t": [0, 1, 3], "x": [4.0, 1.0, 3.0]})
    >>> made = t.update_by(tf.update_by.ems_time("t", 2, "y = x"))
    >>> [y and round(y, 3) for y in made.to_dict()["y"]]
    [4.0, 3.426, 4.26]

    Args:
        ts_col: as in `ema_time`.
        decay_time: as in `ema_time`.
        *columns: as in `cum_sum`.
        op_control: as in `ema_tick`.
    """
    return _by_time("ems_time", "sum", ts_col, decay_time, columns, op_control)


def emmin_tick(decay_ticks: float, *columns: str | list[str], op_control: OperationControl | None = None) -> Operator:
    """The exponential moving minimum: ``y = min(a * y_before, x)``; otherwise as `ema_tick`.

    >>> import tickframe as tf
    >>> t = tf.table({"x": [4.0, 1.0, 3.0]})
    >>> made = t.update_by(tf.update_by.emmin_tick(2, "y = x"))
    >>> [y and round(y, 3) for y in made.to_dict()["y"]]
    [4.0, 1.0, 0.607]

    Args:
        decay_ticks: as in `ema_tick`.
        *columns: as in `cum_sum`.
        op_control: as in `ema_tick`.
    """
    return _by_ticks("emmin_tick", "min", decay_ticks, columns, op_control)


def emmin_time(
    ts_col: str,
    decay_time: float | str | datetime.timedelta,
    *columns: str | list[str],
    op_control: OperationControl | None = None,
) -> Operator:
    """As `emmin_tick`, fading with time as `ema_time` does.

    >>> import tickframe as tf
    >>> t = tf.table({"t": [0, 1, 3], "x": [4.0, 1.0, 3.0]})
    >>> made = t.update_by(tf.update_by.emmin_time("t", 2, "y = x"))
    >>> [y and round(y, 3) for y in made.to_dict()["y"]]
    [4.0, 1.0, 0.368]

    Args:
        ts_col: as in `ema_time`.
        decay_time: as in `ema_time`.
        *columns: as in `cum_sum`.
        op_control: as in `ema_tick`.
    """
    return _by_time("emmin_time", "min", ts_col, decay_time, columns, op_control)


def emmax_tick(decay_ticks: float, *columns: str | list[str], op_control: OperationControl | None = None) -> Operator:
    """The exponential moving maximum: ``y = max(a * y_before, x)``; otherwise as `ema_tick`.

    >>> import tickframe as tf
    >>> t = tf.table({"x": [4.0, 1.0, 3.0]})
    >>> made = t.update_by(tf.update_by.emmax_tick(2, "y = x"))
    >>> [y and round(y, 3) for y in made.to_dict()["y"]]
    [4.0, 2.426, 3.0]

    Args:
        decay_ticks: as in `ema_tick`.
        *columns: as in `cum_sum`.
        op_control: as in `ema_tick`.
    """
    return _by_ticks("emmax_tick", "max", decay_ticks, columns, op_control)


def emmax_time(
    ts_col: str,
    decay_time: float | str | datetime.timedelta,
    *columns: str | list[str],
    op_control: OperationControl | None = None,
) -> Operator:
    """As `emmax_tick`, fading with time as `ema_time` does.

    >>> import tickframe as tf
    >>> t = tf.table({"t": [0, 1, 3], "x": [4.0, 1.0, 3.0]})
    >>> made = t.update_by(tf.update_by.emmax_time("t", 2, "y = x"))
    >>> [y and round(y, 3) for y in made.to_dict()["y"]]
    [4.0, 2.426, 3.0]

    Args:
        ts_col: as in `ema_time`.
        decay_time: as in `ema_time`.
        *columns: as in `cum_sum`.
        op_control: as in `ema_tick`.
    """
    return _by_time("emmax_time", "max", ts_col, decay_time, columns, op_control)


def emstd_tick(decay_ticks: float, *columns: str | list[str], op_control: OperationControl | None = None) -> Operator:
    """The exponential moving standard deviation, about the moving mean; none at the first value; otherwise as `ema_tick`.

    >>> import tickframe as tf
    >>> t = tf.table({"x": [4.0, 1.0, 3.0]})
    >>> made = t.update_by(tf.update_by.emstd_tick(2, "y = x"))
    >>> [y and round(y, 3) for y in made.to_dict()["y"]]
    [None, 1.466, 1.145]

    Args:
        decay_ticks: as in `ema_tick`.
        *columns: as in `cum_sum`.
        op_control: as in `ema_tick`.
    """
    return _by_ticks("emstd_tick", "std", decay_ticks, columns, op_control)


def emstd_time(
    ts_col: str,
    decay_time: float | str | datetime.timedelta,
    *columns: str | list[str],
    op_control: OperationControl | None = None,
) -> Operator:
    """As `emstd_tick`, fading with time as `ema_time` does.

    >>> import tickframe as tf
    >>> t = tf.table({"t": [0, 1, 3], "x": [4.0, 1.0, 3.0]})
    >>> made = t.update_by(tf.update_by.emstd_time("t", 2, "y = x"))
    >>> [y and round(y, 3) for y in made.to_dict()["y"]]
    [None, 1.466, 0.893]

    Args:
        ts_col: as in `ema_time`.
        decay_time: as in `ema_time`.
        *columns: as in `cum_sum`.
        op_control: as in `ema_tick`.
    """
    return _by_time("emstd_time", "std", ts_col, decay_time, columns, op_control)
