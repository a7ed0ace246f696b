"""Values that run on from row to row of a group, by polars' names: methods of `Expr`."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Literal

from tickframe.arguments import check_all, choice, count
from tickframe.describe import named, short
from tickframe.rolling import reach

if TYPE_CHECKING:
    import datetime

    from tickframe._native import Expr as NativeExpr
    from tickframe.arithmetic import Text
    from tickframe.expr import Expr, IntoExpr

__all__: list[str] = []

RankMethod = Literal["average", "min", "max", "dense", "ordinal"]
InterpolationMethod = Literal["linear", "nearest"]
METHODS = ("average", "min", "max", "dense", "ordinal")
BETWEEN = ("linear", "nearest")


def alpha_of(name: str, com: object, span: object, half_life: object, alpha: object) -> float:
    """How much of the weight a row takes from those before it."""
    given = {"com": com, "span": span, "half_life": half_life, "alpha": alpha}
    there = {key: value for key, value in given.items() if value is not None}
    if len(there) != 1:
        what = " and ".join(f"{key}=" for key in there) or "none"
        raise ValueError(f"{name}: give one of com=, span=, half_life= and alpha=, not {what}")
    ((key, value),) = there.items()
    if isinstance(value, (bool, str)) or not hasattr(value, "__float__"):
        raise TypeError(f"{name}: {key} is a number, not {named(value)}")
    number = float(value)
    least, most = {"com": (0.0, math.inf), "span": (1.0, math.inf), "half_life": (0.0, math.inf), "alpha": (0.0, 1.0)}[
        key
    ]
    open_at_least = key in {"half_life", "alpha"}
    if not least <= number <= most or (open_at_least and number == least) or math.isinf(number):
        bound = f"greater than {least:g}" if open_at_least else f"at least {least:g}"
        bound += " and at most 1" if key == "alpha" else ""
        raise ValueError(f"{name}: {key} must be {bound}, not {short(value)}")
    if key == "com":
        return 1.0 / (1.0 + number)
    if key == "span":
        return 2.0 / (number + 1.0)
    if key == "half_life":
        return -math.expm1(-math.log(2.0) / number)
    return number


@check_all
class Runs:
    """What `Expr` has of values that run on from row to row."""

    __slots__ = ()

    if TYPE_CHECKING:
        _native: NativeExpr

        @staticmethod
        def _of(native: NativeExpr) -> Expr: ...

        @staticmethod
        def _from(item: object, operation: Text) -> Expr: ...

        def shift(self, n: int = 1) -> Expr: ...

        def _call(self, name: Text, *args: object, **options: object) -> Expr: ...

    def _runs(self, of: object, *, backward: bool = False, by: Expr | None = None) -> Expr:
        kind = {"of": of, "backward": backward}
        return self._of(self._native.running(json.dumps(kind), None if by is None else by._native))

    def cum_sum(self, *, reverse: bool = False) -> Expr:
        """The sum of the values so far, from the first row on; null where the row has no value.

        With ``.over(keys)`` it runs within the row's group, with ``.over(keys, order_by=...)`` in that order. A row that comes,
        goes or changes is felt by the rows behind it; one at the end reads itself alone.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "b", "a"], "t": [2, 1, 1], "x": [1, 2, 4]})
        >>> t.with_columns(s=tf.col("x").cum_sum().over("k")).to_dict()["s"]
        [1, 2, 5]
        >>> t.with_columns(s=tf.col("x").cum_sum().over("k", order_by="t")).to_dict()["s"]
        [5, 2, 4]

        Args:
            reverse: from the last row to the first.

        Raises:
            InvalidOperationError: of an aggregate; in another order, or reversed, over a blink table.
            TypeMismatchError: of what is no number.
        """
        return self._runs("sum", backward=reverse)

    def cum_prod(self, *, reverse: bool = False) -> Expr:
        """The product of the values so far; otherwise as `cum_sum`.

        Args:
            reverse: as in `cum_sum`.
        """
        return self._runs("prod", backward=reverse)

    def cum_min(self, *, reverse: bool = False) -> Expr:
        """The least of the values so far, NaN only where nothing else has come; otherwise as `cum_sum`.

        Args:
            reverse: as in `cum_sum`.
        """
        return self._runs("min", backward=reverse)

    def cum_max(self, *, reverse: bool = False) -> Expr:
        """The greatest of the values so far, NaN only where nothing else has come; otherwise as `cum_sum`.

        Args:
            reverse: as in `cum_sum`.
        """
        return self._runs("max", backward=reverse)

    def cum_mean(self, *, reverse: bool = False) -> Expr:
        """The mean of the values so far; otherwise as `cum_sum`.

        Args:
            reverse: as in `cum_sum`.
        """
        return self._runs("mean", backward=reverse)

    def cum_count(self, *, reverse: bool = False) -> Expr:
        """How many values there are so far; a row without one has the number before it.

        Args:
            reverse: as in `cum_sum`.
        """
        return self._runs("count", backward=reverse)

    def forward_fill(self, limit: int | None = None) -> Expr:
        """The last value in place of each null behind it, within the group with ``.over(keys)``.

        A value that changes is felt as far as the next one.

        >>> import tickframe as tf
        >>> t = tf.table({"x": [1, None, None, 4]})
        >>> t.select(a=tf.col("x").forward_fill(), b=tf.col("x").forward_fill(1)).to_dict()
        {'a': [1, 1, 1, 4], 'b': [1, 1, None, 4]}

        Args:
            limit: of so many nulls that follow one another; of all without it.
        """
        return self._fill("forward_fill", limit, backward=False)

    def backward_fill(self, limit: int | None = None) -> Expr:
        """The next value in place of each null before it; otherwise as `forward_fill`.

        Args:
            limit: as in `forward_fill`.
        """
        return self._fill("backward_fill", limit, backward=True)

    def _fill(self, name: Text, limit: int | None, *, backward: bool) -> Expr:
        most = None if limit is None else count(limit, f"{name}: limit")
        return self._runs({"fill": {} if most is None else {"limit": most}}, backward=backward)

    def pct_change(self, n: int = 1) -> Expr:
        """By which part the value is more than the one `n` rows earlier: ``(x - x.shift(n)) / x.shift(n)``.

        >>> import tickframe as tf
        >>> tf.table({"x": [4, 5, None]}).select(tf.col("x").pct_change()).to_dict()
        {'x': [None, 0.25, None]}

        Args:
            n: how many rows; later ones if negative.
        """
        return self._call("relative_change", self.shift(n))

    def interpolate(self, method: InterpolationMethod = "linear") -> Expr:
        """A value in place of each null between two values: on the line between them, or the nearer of both.

        On the line numbers are doubles; dates, times and durations keep their type and are rounded down to whole units of it.

        >>> import datetime as dt
        >>> import tickframe as tf
        >>> tf.table({"x": [1, None, 4, None]}).select(tf.col("x").interpolate()).to_dict()
        {'x': [1.0, 2.5, 4.0, None]}
        >>> days = tf.table({"d": [dt.date(2024, 1, 1), None, dt.date(2024, 1, 3)]})
        >>> days.select(tf.col("d").interpolate())["d"].to_list()[1]
        datetime.date(2024, 1, 2)

        Args:
            method: ``"linear"``, or ``"nearest"``, which keeps the type; half way it is the later value.

        Raises:
            ValueError: another method.
        """
        choice(method, "interpolate", "method", BETWEEN)
        if method not in BETWEEN:
            raise ValueError(f"interpolate: method must be {', '.join(map(repr, BETWEEN))}, not {short(method)}")
        return self._runs({"interpolate": {"nearest": method == "nearest"}})

    def rank(self, method: RankMethod = "average", *, descending: bool = False) -> Expr:
        """The place of the value in the order of all values, from 1; a null has none, NaN is the greatest.

        With ``.over(keys)`` among the values of the row's group. A value that comes or goes moves the place of every value
        behind it: an update costs the rows behind the least value that changed.

        >>> import tickframe as tf
        >>> x = tf.col("x")
        >>> tf.table({"x": [3, 1, 3]}).select(a=x.rank(), b=x.rank("min"), c=x.rank("ordinal")).to_dict()
        {'a': [2.5, 1.0, 2.5], 'b': [2, 1, 2], 'c': [2, 1, 3]}

        Args:
            method: the place of equal values: ``"average"`` the mean of theirs, ``"min"`` the first, ``"max"`` the last,
                ``"dense"`` the first where equal values take one place, ``"ordinal"`` each its own, in the order of rows.
            descending: the greatest has place 1.

        Raises:
            ValueError: another method.
        """
        choice(method, "rank", "method", METHODS)
        if method not in METHODS:
            raise ValueError(f"rank: method must be {', '.join(map(repr, METHODS))}, not {short(method)}")
        return self._runs({"rank": {"method": method, "descending": descending}})

    def _ewm(self, of: Text, alpha: float, adjust: bool, least: int, ignore_nulls: bool, bias: bool) -> Expr:
        options = {"of": of, "alpha": alpha, "adjust": adjust, "ignore_nulls": ignore_nulls, "bias": bias}
        return self._runs({"ewm": {**options, "min_samples": count(least, f"ewm_{of}: min_samples")}})

    def ewm_mean(
        self,
        *,
        com: float | None = None,
        span: float | None = None,
        half_life: float | None = None,
        alpha: float | None = None,
        adjust: bool = True,
        min_samples: int = 1,
        ignore_nulls: bool = False,
    ) -> Expr:
        """The mean of the values so far, in which the weight of a value fades with each row; null where the row has none.

        One of `com`, `span`, `half_life` and `alpha` says how fast.

        >>> import tickframe as tf
        >>> tf.table({"x": [1.0, 4.0]}).select(tf.col("x").ewm_mean(alpha=0.5)).to_dict()
        {'x': [1.0, 3.0]}

        Args:
            com: ``alpha = 1 / (1 + com)``, 0 or more.
            span: ``alpha = 2 / (span + 1)``, 1 or more.
            half_life: after so many rows half of a weight is left.
            alpha: how much of the weight a row takes from those before it, at most 1.
            adjust: whether the first value weighs as much as any other; else ``y = (1 - alpha) * y_before + alpha * x``.
            min_samples: of fewer values the result is null.
            ignore_nulls: whether weights fade with values alone, not with each row.

        Raises:
            ValueError: none or several of the four, or one out of its range.
        """
        rate = alpha_of("ewm_mean", com, span, half_life, alpha)
        return self._ewm("mean", rate, adjust, min_samples, ignore_nulls, False)

    def ewm_var(
        self,
        *,
        com: float | None = None,
        span: float | None = None,
        half_life: float | None = None,
        alpha: float | None = None,
        adjust: bool = True,
        bias: bool = False,
        min_samples: int = 1,
        ignore_nulls: bool = False,
    ) -> Expr:
        """The variance of the values so far, in which the weight of a value fades with each row; otherwise as `ewm_mean`.

        Args:
            com: as in `ewm_mean`.
            span: as in `ewm_mean`.
            half_life: as in `ewm_mean`.
            alpha: as in `ewm_mean`.
            adjust: as in `ewm_mean`.
            bias: whether it is the variance of the values themselves, not of what they are drawn from.
            min_samples: as in `ewm_mean`.
            ignore_nulls: as in `ewm_mean`.
        """
        rate = alpha_of("ewm_var", com, span, half_life, alpha)
        return self._ewm("var", rate, adjust, min_samples, ignore_nulls, bias)

    def ewm_std(
        self,
        *,
        com: float | None = None,
        span: float | None = None,
        half_life: float | None = None,
        alpha: float | None = None,
        adjust: bool = True,
        bias: bool = False,
        min_samples: int = 1,
        ignore_nulls: bool = False,
    ) -> Expr:
        """The standard deviation: the root of `ewm_var`.

        Args:
            com: as in `ewm_mean`.
            span: as in `ewm_mean`.
            half_life: as in `ewm_mean`.
            alpha: as in `ewm_mean`.
            adjust: as in `ewm_mean`.
            bias: as in `ewm_var`.
            min_samples: as in `ewm_mean`.
            ignore_nulls: as in `ewm_mean`.
        """
        rate = alpha_of("ewm_std", com, span, half_life, alpha)
        return self._ewm("std", rate, adjust, min_samples, ignore_nulls, bias)

    def ewm_sum(
        self,
        *,
        com: float | None = None,
        span: float | None = None,
        half_life: float | None = None,
        alpha: float | None = None,
        min_samples: int = 1,
        ignore_nulls: bool = False,
    ) -> Expr:
        """The sum of the values so far, in which a value fades with each row: ``y = (1 - alpha) * y_before + x``.

        >>> import tickframe as tf
        >>> tf.table({"x": [1, 2, 3]}).select(tf.col("x").ewm_sum(alpha=0.5)).to_dict()
        {'x': [1.0, 2.5, 4.25]}

        Args:
            com: as in `ewm_mean`.
            span: as in `ewm_mean`.
            half_life: as in `ewm_mean`.
            alpha: as in `ewm_mean`.
            min_samples: as in `ewm_mean`.
            ignore_nulls: whether values fade with values alone, not with each row.

        Raises:
            ValueError: none or several of the four, or one out of its range.
        """
        rate = alpha_of("ewm_sum", com, span, half_life, alpha)
        return self._ewm("sum", rate, True, min_samples, ignore_nulls, False)

    def ewm_mean_by(self, by: IntoExpr, *, half_life: float | str | datetime.timedelta) -> Expr:
        """The mean of the values so far in the order of their stamps, in which values fade with time; null where the row has none.

        ``y = a * y_before + (1 - a) * x`` with ``a = 0.5 ** (dt / half_life)``.

        >>> import tickframe as tf
        >>> t = tf.table({"t": [0, 1, 3], "x": [1.0, 3.0, 4.0]})
        >>> t.select(tf.col("x").ewm_mean_by("t", half_life=1)).to_dict()
        {'x': [1.0, 2.0, 3.5]}

        Args:
            by: the column of stamps, instants, dates or whole numbers, in any order; a row without one has no value.
            half_life: after so long half of a value is left: seconds, a timedelta or a text such as ``"5m"``; of whole
                numbers a number.

        Raises:
            ValueError: a half life that is not greater than 0.
            TypeMismatchError: stamps of another type.
        """
        return self._fading("ewm_mean_by", by, half_life)

    def ewm_sum_by(self, by: IntoExpr, *, half_life: float | str | datetime.timedelta) -> Expr:
        """The sum of the values so far in the order of their stamps, in which values fade with time; null where the row has none.

        ``y = a * y_before + x`` with ``a = 0.5 ** (dt / half_life)``.

        >>> import tickframe as tf
        >>> t = tf.table({"t": [0, 1, 3], "x": [1, 3, 4]})
        >>> t.select(tf.col("x").ewm_sum_by("t", half_life=1)).to_dict()
        {'x': [1.0, 3.5, 4.875]}

        Args:
            by: as in `ewm_mean_by`.
            half_life: as in `ewm_mean_by`.

        Raises:
            ValueError: a half life that is not greater than 0.
            TypeMismatchError: stamps of another type.
        """
        return self._fading("ewm_sum_by", by, half_life)

    def _fading(self, name: Text, by: IntoExpr, half_life: float | str | datetime.timedelta) -> Expr:
        given = reach(half_life, f"{name}: half_life")
        (far,) = given.values()
        if not far > 0:  # type: ignore[operator]
            raise ValueError(f"{name}: half_life must be greater than 0, not {short(half_life)}")
        stamps = self._from(by, name)
        if stamps._native.bare_column() is None and not stamps._native.columns():
            raise TypeError(f"{name}: by is the column of stamps, not {named(by)}")
        return self._runs({name: {"half_life": given}}, by=stamps)
