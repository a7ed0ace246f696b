"""Values beside others of their column: the first of equal ones, peaks, bins between bounds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tickframe import _native
from tickframe.arguments import check_all
from tickframe.describe import named, short

if TYPE_CHECKING:
    from tickframe._native import Expr as NativeExpr
    from tickframe.arithmetic import Text
    from tickframe.expr import Expr

__all__: list[str] = []

_MOST_BINS = 1000


def _bounds(name: str, breaks: Sequence[float], what: str) -> list[float]:
    """Numbers that part bins, in order and each once."""
    if isinstance(breaks, (str, bytes)) or not isinstance(breaks, Sequence):
        raise TypeError(f"{name}: {what} is a list of numbers, not {named(breaks)}")
    if len(breaks) >= _MOST_BINS:
        raise ValueError(f"{name}: {what} parts more than {_MOST_BINS:,} bins")
    for each in breaks:
        if isinstance(each, bool) or not isinstance(each, (int, float)):
            raise TypeError(f"{name}: {what} is a list of numbers; {short(each)} is none")
        if math.isnan(each):
            raise ValueError(f"{name}: {what} has NaN, which parts no bins")
    if len(set(breaks)) < len(breaks):
        twice = next(each for at, each in enumerate(breaks) if each in breaks[:at])
        raise ValueError(f"{name}: {what} has {twice!r} twice")
    return sorted(breaks)


def _labels(name: str, labels: Sequence[str], bins: int) -> list[str]:
    """A text for each bin."""
    if isinstance(labels, (str, bytes)) or not isinstance(labels, Sequence):
        raise TypeError(f"{name}: labels is a list of texts, not {named(labels)}")
    for each in labels:
        if not isinstance(each, str):
            raise TypeError(f"{name}: labels is a list of texts; {short(each)} is none")
    if len(labels) != bins:
        raise ValueError(f"{name}: {bins} bins need as many labels, not {len(labels)}")
    return list(labels)


def _written(breaks: Sequence[float], left_closed: bool) -> list[str]:
    """Bins as their bounds say: ``(1, 2]``, or ``[1, 2)``."""
    ends = ["-inf", *(f"{each:g}" if float(f"{each:g}") == each else repr(each) for each in breaks), "inf"]
    opens, closes = "[)" if left_closed else "(]"
    return [f"{opens}{low}, {high}{closes}" for low, high in itertools.pairwise(ends)]


@check_all
class Compares:
    """What `Expr` has of values beside others of their column."""

    __slots__ = ()

    if TYPE_CHECKING:
        _native: NativeExpr

        @staticmethod
        def _of(native: NativeExpr) -> Expr: ...

        @staticmethod
        def _value(item: object, operation: Text) -> Expr: ...

        def is_null(self) -> Expr: ...
        def is_not_null(self) -> Expr: ...
        def is_nan(self) -> Expr: ...
        def quantile(self, quantile: float, interpolation: Any = "nearest") -> Expr: ...

    def is_first_distinct(self) -> Expr:
        """Whether no row before this one has its value; null is a value as any other.

        >>> import tickframe as tf
        >>> t = tf.table({"x": [1, 2, 1]})
        >>> t.select(first=tf.col("x").is_first_distinct(), last=tf.col("x").is_last_distinct()).to_dict()
        {'first': [True, True, False], 'last': [False, True, True]}
        """
        return self._among_equals(reverse=False)

    def is_last_distinct(self) -> Expr:
        """Whether no row behind this one has its value; null is a value as any other."""
        return self._among_equals(reverse=True)

    def _among_equals(self, *, reverse: bool) -> Expr:
        this: Any = self
        one: Any = self._value(1, "is_last_distinct" if reverse else "is_first_distinct")
        nth = one.cum_count(reverse=reverse).over(this)
        return self._of((nth == 1)._native.alias(self._native.output_name()))

    def peak_max(self) -> Expr:
        """Whether the value is greater than those of both neighbours; at an end, than that of the one; of one row false.

        >>> import tickframe as tf
        >>> tf.table({"x": [3, 1, 3, 2, 2, 5]}).select(tf.col("x").peak_max()).to_dict()
        {'x': [True, False, True, False, False, True]}
        """
        this: Any = self
        return self._peak(lambda other: this > other)

    def peak_min(self) -> Expr:
        """Whether the value is less than those of both neighbours; at an end, than that of the one; of one row false."""
        this: Any = self
        return self._peak(lambda other: this < other)

    def _peak(self, beats: Any) -> Expr:
        this: Any = self
        # A row that is not there differs from a null: where there is one, the flag beside it is true.
        there = this.is_null().is_not_null()
        sides = [(beats(this.shift(n)), there.shift(n).is_null()) for n in (1, -1)]
        (before, first), (behind, last) = ((beaten | (none & this.is_not_null()), none) for beaten, none in sides)
        return self._of((before & behind & ~(first & last))._native.alias(self._native.output_name()))

    def cut(
        self,
        breaks: Sequence[float],
        *,
        labels: Sequence[str] | None = None,
        left_closed: bool = False,
    ) -> Expr:
        """The bin between bounds in which the value lies, as text; null of null and NaN.

        >>> import tickframe as tf
        >>> t = tf.table({"x": [-2, 0, 3, None]})
        >>> t.select(bin=tf.col("x").cut([0, 2.5]), sign=tf.col("x").cut([-1, 0], labels=["low", "mid", "high"])).to_dict()
        {'bin': ['(-inf, 0]', '(-inf, 0]', '(2.5, inf]', None], 'sign': ['low', 'mid', 'high', None]}

        Args:
            breaks: where one bin ends and the next begins.
            labels: what bins are called, one more than `breaks`; by their bounds without it.
            left_closed: whether a value that equals a bound lies in the bin that begins there; else in the one that ends.
        """
        bounds = _bounds("cut", breaks, "breaks")
        names = _written(bounds, left_closed) if labels is None else _labels("cut", labels, len(bounds) + 1)
        return self._binned("cut", bounds, names, left_closed)

    def qcut(
        self,
        quantiles: Sequence[float] | int,
        *,
        labels: Sequence[str],
        left_closed: bool = False,
    ) -> Expr:
        """The bin between quantiles of the column in which the value lies, as text; within groups with ``.over(keys)``.

        >>> import tickframe as tf
        >>> t = tf.table({"x": [1, 2, 3, 4]})
        >>> t.select(tf.col("x").qcut(2, labels=["lower", "upper"])).to_dict()
        {'x': ['lower', 'lower', 'upper', 'upper']}

        Args:
            quantiles: parts of the way from the least value to the greatest, from 0 to 1; or how many bins of equal size.
            labels: what bins are called.
            left_closed: as in `cut`.
        """
        given: Any = quantiles
        if isinstance(given, int) and not isinstance(given, bool):
            if not 1 <= given <= _MOST_BINS:
                raise ValueError(f"qcut: the number of bins is from 1 to {_MOST_BINS:,}, not {short(given)}")
            given = [at / given for at in range(1, given)]
        parts = _bounds("qcut", given, "quantiles")
        outside = next((part for part in parts if not 0 <= part <= 1), None)
        if outside is not None:
            raise ValueError(f"qcut: a quantile is from 0 to 1, not {outside!r}")
        ends = [self.quantile(part, "linear") for part in parts]
        return self._binned("qcut", ends, _labels("qcut", labels, len(parts) + 1), left_closed)

    def _binned(self, name: Text, ends: Sequence[Any], labels: Sequence[str], left_closed: bool) -> Expr:
        """The label of the first bin whose end is not passed; null of null and NaN."""
        this: Any = self
        texts = [self._value(label, name)._native for label in labels]
        made: _native.Expr | None = None
        for end, label in zip(ends, texts, strict=False):
            inside = this < end if left_closed else this <= end
            made = _native.Expr.when(made, inside._native, label)
        chosen = texts[-1] if made is None else made.otherwise(texts[-1])
        there = _native.Expr.when(None, (self.is_not_null() & ~self.is_nan())._native, chosen)
        return self._of(there.alias(self._native.output_name()))
