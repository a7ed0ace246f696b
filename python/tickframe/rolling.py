"""Aggregates of windows that move along with their row: the `rolling_` methods of `Expr`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

from tickframe.arguments import check_all, choice
from tickframe.describe import named, short
from tickframe.durations import nanoseconds

if TYPE_CHECKING:
    import datetime
    from typing import TypeAlias

    from tickframe._native import Expr as NativeExpr
    from tickframe.arithmetic import Text
    from tickframe.expr import Expr, IntoExpr

    Span: TypeAlias = float | str | datetime.timedelta

__all__: list[str] = []

Closed = Literal["left", "right", "both", "none"]
"""Which ends of a window belong to it."""
Interpolation = Literal["nearest", "lower", "higher", "midpoint", "linear"]
CLOSED = ("left", "right", "both", "none")

_MOST = 2**63 - 1
_LONGEST = 20


def reach(span: object, what: str) -> dict[str, object]:
    """How far a window reaches, as plans write it. A text ``"3i"`` is of three, as polars writes it."""
    given: Any = span
    if isinstance(given, str) and given[-1:] == "i" and given[:-1].lstrip("-").isdigit() and len(given) < _LONGEST:
        given = int(given[:-1])
    if isinstance(given, int) and not isinstance(given, bool):
        number = int(given)
        if abs(number) > _MOST:
            raise ValueError(f"{what} is at most {_MOST}, not {short(number)}")
        return {"whole": number}
    nanos = nanoseconds(given, what)
    is_number = not isinstance(given, str) and hasattr(given, "__float__")
    return {"number": float(given)} if is_number else {"span": nanos}


def _shorter(span: dict[str, object]) -> bool:
    (far,) = span.values()
    return far < 0  # type: ignore[operator]


def of_rows(
    name: str, size: int | None, center: bool, before: int | None, after: int | None
) -> tuple[dict[str, object], int]:
    """A window of rows as plans write it, and how many rows it has."""
    if size is None:
        if before is None and after is None:
            raise ValueError(f"{name}: give window_size=, or before= and after=")
        back, ahead = before or 0, after or 0
        if center:
            raise ValueError(f"{name}: center=True is of a window_size; before= and after= say where the row stands")
    else:
        if before is not None or after is not None:
            raise ValueError(f"{name}: give window_size=, or before= and after=, not both")
        if size < 1:
            raise ValueError(f"{name}: window_size must be 1 or more, not {size}")
        ahead = (size + 1) // 2 - 1 if center else 0
        back = size - 1 - ahead
    if back + ahead < 0:
        raise ValueError(f"{name}: a window from {back} rows before the row to {ahead} behind it has no row in it")
    return {"rows": {"back": back, "ahead": ahead}}, back + ahead + 1


def of_time(
    name: str, size: object, closed: str, before: object, after: object, *, ordered: bool = False
) -> dict[str, object]:
    """A window between stamps as plans write it."""
    if size is None:
        if before is None and after is None:
            raise ValueError(f"{name}: give window_size=, or before= and after=")
        back = reach(0 if before is None else before, f"{name}: before")
        ahead = reach(0 if after is None else after, f"{name}: after")
    else:
        if before is not None or after is not None:
            raise ValueError(f"{name}: give window_size=, or before= and after=, not both")
        back, ahead = reach(size, f"{name}: window_size"), {"whole": 0}
        if back in ({"span": 0}, {"whole": 0}, {"number": 0.0}) or _shorter(back):
            raise ValueError(f"{name}: window_size must be greater than 0, not {short(size)}")
    return {"range": {"back": back, "ahead": ahead, "closed": of_ends(name, closed), "ordered": ordered}}


def of_ends(name: str, closed: str) -> str:
    """Which ends belong to a window, as plans write it."""
    choice(closed, name, "closed", CLOSED)
    if closed not in CLOSED:
        raise ValueError(f"{name}: closed must be {', '.join(map(repr, CLOSED))}, not {short(closed)}")
    return closed.capitalize()


@check_all
class Rolls:
    """What `Expr` has of windows that move along with their row."""

    __slots__ = ()

    if TYPE_CHECKING:
        _native: NativeExpr

        @staticmethod
        def _of(native: NativeExpr) -> Expr: ...

        @staticmethod
        def _from(item: object, operation: Text) -> Expr: ...

        def sum(self) -> Expr: ...
        def mean(self) -> Expr: ...
        def min(self) -> Expr: ...
        def max(self) -> Expr: ...
        def median(self) -> Expr: ...
        def std(self, ddof: int = 1) -> Expr: ...
        def var(self, ddof: int = 1) -> Expr: ...
        def skew(self, *, bias: bool = True) -> Expr: ...
        def kurtosis(self, *, fisher: bool = True, bias: bool = True) -> Expr: ...
        def quantile(self, quantile: float, interpolation: Interpolation = "nearest") -> Expr: ...

    def _rolled(
        self,
        name: Text,
        aggregate: Expr,
        size: int | None,
        weights: object,
        least: int | None,
        center: bool,
        before: int | None,
        after: int | None,
    ) -> Expr:
        if weights is not None:
            raise ValueError(
                f"{name}: weights that go with the place in the window are not there; for weights of each row use "
                "tf.update_by.rolling_wavg_tick"
            )
        frame, rows = of_rows(name, size, center, before, after)
        least = rows if least is None else least
        if not 0 <= least <= rows:
            raise ValueError(f"{name}: min_samples must be from 0 to {rows}, the rows of the window, not {least}")
        return self._of(aggregate._native.rolling(json.dumps({"frame": frame, "least": least}), None))

    def _within(
        self,
        name: Text,
        aggregate: Expr,
        by: object,
        size: object,
        least: int,
        closed: str,
        before: object,
        after: object,
    ) -> Expr:
        if least < 0:
            raise ValueError(f"{name}: min_samples must be 0 or more, not {least}")
        window = {"frame": of_time(name, size, closed, before, after), "least": least}
        stamps = self._from(by, name)
        if stamps._native.bare_column() is None and not stamps._native.columns():
            raise TypeError(f"{name}: by is the column of stamps, not {named(by)}")
        return self._of(aggregate._native.rolling(json.dumps(window), stamps._native))

    def rolling_sum(
        self,
        window_size: int | None = None,
        weights: None = None,
        *,
        min_samples: int | None = None,
        center: bool = False,
        before: int | None = None,
        after: int | None = None,
    ) -> Expr:
        """The sum of the values in a window that moves along with the row.

        The window is of so many rows, in the order of rows; with ``.over(keys)`` it stays within the row's group.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "b", "a", "a"], "x": [1, 2, 3, 4]})
        >>> t.with_columns(s=tf.col("x").rolling_sum(2, min_samples=1).over("k")).to_dict()["s"]
        [1, 2, 4, 7]
        >>> t.with_columns(s=tf.col("x").rolling_sum(before=1, after=1)).to_dict()["s"]
        [None, 6, 9, None]

        Args:
            window_size: how many rows: the row itself and those before it.
            weights: not there; weigh the values themselves, or use `tf.update_by.rolling_wavg_tick`.
            min_samples: of fewer values the result is null; all rows of the window without it.
            center: whether the row stands in the middle of its window.
            before: in place of `window_size`, how many rows before the row; negative, its window begins behind it.
            after: how many rows behind the row; negative, its window ends before it.

        Raises:
            ValueError: a window of no row, `weights`, `window_size` together with `before` or `after`.
        """
        return self._rolled("rolling_sum", self.sum(), window_size, weights, min_samples, center, before, after)

    def rolling_mean(
        self,
        window_size: int | None = None,
        weights: None = None,
        *,
        min_samples: int | None = None,
        center: bool = False,
        before: int | None = None,
        after: int | None = None,
    ) -> Expr:
        """The mean of the values in a window that moves along with the row.

        Args:
            window_size: as in `rolling_sum`.
            weights: as in `rolling_sum`.
            min_samples: as in `rolling_sum`.
            center: as in `rolling_sum`.
            before: as in `rolling_sum`.
            after: as in `rolling_sum`.
        """
        return self._rolled("rolling_mean", self.mean(), window_size, weights, min_samples, center, before, after)

    def rolling_min(
        self,
        window_size: int | None = None,
        weights: None = None,
        *,
        min_samples: int | None = None,
        center: bool = False,
        before: int | None = None,
        after: int | None = None,
    ) -> Expr:
        """The least value in a window that moves along with the row; NaN only if nothing else is there.

        Args:
            window_size: as in `rolling_sum`.
            weights: as in `rolling_sum`.
            min_samples: as in `rolling_sum`.
            center: as in `rolling_sum`.
            before: as in `rolling_sum`.
            after: as in `rolling_sum`.
        """
        return self._rolled("rolling_min", self.min(), window_size, weights, min_samples, center, before, after)

    def rolling_max(
        self,
        window_size: int | None = None,
        weights: None = None,
        *,
        min_samples: int | None = None,
        center: bool = False,
        before: int | None = None,
        after: int | None = None,
    ) -> Expr:
        """The greatest value in a window that moves along with the row; NaN only if nothing else is there.

        Args:
            window_size: as in `rolling_sum`.
            weights: as in `rolling_sum`.
            min_samples: as in `rolling_sum`.
            center: as in `rolling_sum`.
            before: as in `rolling_sum`.
            after: as in `rolling_sum`.
        """
        return self._rolled("rolling_max", self.max(), window_size, weights, min_samples, center, before, after)

    def rolling_std(
        self,
        window_size: int | None = None,
        weights: None = None,
        *,
        min_samples: int | None = None,
        center: bool = False,
        before: int | None = None,
        after: int | None = None,
        ddof: int = 1,
    ) -> Expr:
        """The standard deviation of the values in a window that moves along with the row; of equal values it is 0.

        Args:
            window_size: as in `rolling_sum`.
            weights: as in `rolling_sum`.
            min_samples: as in `rolling_sum`.
            center: as in `rolling_sum`.
            before: as in `rolling_sum`.
            after: as in `rolling_sum`.
            ddof: subtracted from the number of values in the divisor.
        """
        return self._rolled("rolling_std", self.std(ddof), window_size, weights, min_samples, center, before, after)

    def rolling_var(
        self,
        window_size: int | None = None,
        weights: None = None,
        *,
        min_samples: int | None = None,
        center: bool = False,
        before: int | None = None,
        after: int | None = None,
        ddof: int = 1,
    ) -> Expr:
        """The variance of the values in a window that moves along with the row; of equal values it is 0.

        Args:
            window_size: as in `rolling_sum`.
            weights: as in `rolling_sum`.
            min_samples: as in `rolling_sum`.
            center: as in `rolling_sum`.
            before: as in `rolling_sum`.
            after: as in `rolling_sum`.
            ddof: subtracted from the number of values in the divisor.
        """
        return self._rolled("rolling_var", self.var(ddof), window_size, weights, min_samples, center, before, after)

    def rolling_skew(
        self,
        window_size: int | None = None,
        *,
        bias: bool = True,
        min_samples: int | None = None,
        center: bool = False,
        before: int | None = None,
        after: int | None = None,
    ) -> Expr:
        """How far the values in a window lean to one side, as `skew` gives it; the window moves along with the row.

        Args:
            window_size: as in `rolling_sum`.
            bias: as in `skew`.
            min_samples: as in `rolling_sum`.
            center: as in `rolling_sum`.
            before: as in `rolling_sum`.
            after: as in `rolling_sum`.
        """
        skew = self.skew(bias=bias)
        return self._rolled("rolling_skew", skew, window_size, None, min_samples, center, before, after)

    def rolling_kurtosis(
        self,
        window_size: int | None = None,
        *,
        fisher: bool = True,
        bias: bool = True,
        min_samples: int | None = None,
        center: bool = False,
        before: int | None = None,
        after: int | None = None,
    ) -> Expr:
        """How heavy the tails of the values in a window are, as `kurtosis` gives it; the window moves along with the row.

        Args:
            window_size: as in `rolling_sum`.
            fisher: as in `kurtosis`.
            bias: as in `kurtosis`.
            min_samples: as in `rolling_sum`.
            center: as in `rolling_sum`.
            before: as in `rolling_sum`.
            after: as in `rolling_sum`.
        """
        kurtosis = self.kurtosis(fisher=fisher, bias=bias)
        return self._rolled("rolling_kurtosis", kurtosis, window_size, None, min_samples, center, before, after)

    def rolling_median(
        self,
        window_size: int | None = None,
        weights: None = None,
        *,
        min_samples: int | None = None,
        center: bool = False,
        before: int | None = None,
        after: int | None = None,
    ) -> Expr:
        """The value in the middle of a window that moves along with the row, as `median` gives it.

        Args:
            window_size: as in `rolling_sum`.
            weights: as in `rolling_sum`.
            min_samples: as in `rolling_sum`.
            center: as in `rolling_sum`.
            before: as in `rolling_sum`.
            after: as in `rolling_sum`.
        """
        return self._rolled("rolling_median", self.median(), window_size, weights, min_samples, center, before, after)

    def rolling_quantile(
        self,
        quantile: float,
        interpolation: Interpolation = "nearest",
        window_size: int | None = None,
        weights: None = None,
        *,
        min_samples: int | None = None,
        center: bool = False,
        before: int | None = None,
        after: int | None = None,
    ) -> Expr:
        """The value at a part of the way through a window that moves along with the row, as `quantile` gives it.

        Args:
            quantile: the part, from 0 to 1.
            interpolation: what is taken between two values, as in `quantile`.
            window_size: as in `rolling_sum`.
            weights: as in `rolling_sum`.
            min_samples: as in `rolling_sum`.
            center: as in `rolling_sum`.
            before: as in `rolling_sum`.
            after: as in `rolling_sum`.
        """
        return self._rolled(
            "rolling_quantile",
            self.quantile(quantile, interpolation),
            window_size,
            weights,
            min_samples,
            center,
            before,
            after,
        )

    def rolling_sum_by(
        self,
        by: IntoExpr,
        window_size: Span | None = None,
        *,
        min_samples: int = 1,
        closed: Closed = "right",
        before: Span | None = None,
        after: Span | None = None,
    ) -> Expr:
        """The sum of the values in a window of time that moves along with the row.

        Rows with equal stamps see one another. With ``.over(keys)`` a window stays within the row's group.

        >>> import tickframe as tf
        >>> t = tf.table({"t": [1, 2, 2, 9], "x": [1, 2, 3, 4]})
        >>> t.with_columns(s=tf.col("x").rolling_sum_by("t", 2)).to_dict()["s"]
        [1, 6, 6, 4]
        >>> t.with_columns(s=tf.col("x").rolling_sum_by("t", before=0, after=8, closed="both")).to_dict()["s"]
        [10, 9, 9, 4]

        Args:
            by: the column of stamps: times, dates or whole numbers, in any order. A row without a stamp has no value, and no part in
                any.
            window_size: how long: a text such as ``"5m"``, a timedelta, or seconds; of whole numbers a number.
            min_samples: of fewer values the result is null.
            closed: which ends of the window belong to it: ``"right"``, ``"left"``, ``"both"``, ``"none"``.
            before: in place of `window_size`, how far before the row's stamp; negative, the window begins behind it.
            after: how far behind it; negative, the window ends before it.

        Raises:
            TypeMismatchError: stamps of another type, or a window of another kind than they are.
            ValueError: a window of no length, `window_size` together with `before` or `after`.
        """
        return self._within("rolling_sum_by", self.sum(), by, window_size, min_samples, closed, before, after)

    def rolling_mean_by(
        self,
        by: IntoExpr,
        window_size: Span | None = None,
        *,
        min_samples: int = 1,
        closed: Closed = "right",
        before: Span | None = None,
        after: Span | None = None,
    ) -> Expr:
        """The mean of the values in a window of time that moves along with the row.

        Args:
            by: as in `rolling_sum_by`.
            window_size: as in `rolling_sum_by`.
            min_samples: as in `rolling_sum_by`.
            closed: as in `rolling_sum_by`.
            before: as in `rolling_sum_by`.
            after: as in `rolling_sum_by`.
        """
        return self._within("rolling_mean_by", self.mean(), by, window_size, min_samples, closed, before, after)

    def rolling_min_by(
        self,
        by: IntoExpr,
        window_size: Span | None = None,
        *,
        min_samples: int = 1,
        closed: Closed = "right",
        before: Span | None = None,
        after: Span | None = None,
    ) -> Expr:
        """The least value in a window of time that moves along with the row; NaN only if nothing else is there.

        Args:
            by: as in `rolling_sum_by`.
            window_size: as in `rolling_sum_by`.
            min_samples: as in `rolling_sum_by`.
            closed: as in `rolling_sum_by`.
            before: as in `rolling_sum_by`.
            after: as in `rolling_sum_by`.
        """
        return self._within("rolling_min_by", self.min(), by, window_size, min_samples, closed, before, after)

    def rolling_max_by(
        self,
        by: IntoExpr,
        window_size: Span | None = None,
        *,
        min_samples: int = 1,
        closed: Closed = "right",
        before: Span | None = None,
        after: Span | None = None,
    ) -> Expr:
        """The greatest value in a window of time that moves along with the row; NaN only if nothing else is there.

        Args:
            by: as in `rolling_sum_by`.
            window_size: as in `rolling_sum_by`.
            min_samples: as in `rolling_sum_by`.
            closed: as in `rolling_sum_by`.
            before: as in `rolling_sum_by`.
            after: as in `rolling_sum_by`.
        """
        return self._within("rolling_max_by", self.max(), by, window_size, min_samples, closed, before, after)

    def rolling_std_by(
        self,
        by: IntoExpr,
        window_size: Span | None = None,
        *,
        min_samples: int = 1,
        closed: Closed = "right",
        before: Span | None = None,
        after: Span | None = None,
        ddof: int = 1,
    ) -> Expr:
        """The standard deviation of the values in a window of time that moves along with the row; of equal values it is 0.

        Args:
            by: as in `rolling_sum_by`.
            window_size: as in `rolling_sum_by`.
            min_samples: as in `rolling_sum_by`.
            closed: as in `rolling_sum_by`.
            before: as in `rolling_sum_by`.
            after: as in `rolling_sum_by`.
            ddof: subtracted from the number of values in the divisor.
        """
        return self._within("rolling_std_by", self.std(ddof), by, window_size, min_samples, closed, before, after)

    def rolling_var_by(
        self,
        by: IntoExpr,
        window_size: Span | None = None,
        *,
        min_samples: int = 1,
        closed: Closed = "right",
        before: Span | None = None,
        after: Span | None = None,
        ddof: int = 1,
    ) -> Expr:
        """The variance of the values in a window of time that moves along with the row; of equal values it is 0.

        Args:
            by: as in `rolling_sum_by`.
            window_size: as in `rolling_sum_by`.
            min_samples: as in `rolling_sum_by`.
            closed: as in `rolling_sum_by`.
            before: as in `rolling_sum_by`.
            after: as in `rolling_sum_by`.
            ddof: subtracted from the number of values in the divisor.
        """
        return self._within("rolling_var_by", self.var(ddof), by, window_size, min_samples, closed, before, after)

    def rolling_median_by(
        self,
        by: IntoExpr,
        window_size: Span | None = None,
        *,
        min_samples: int = 1,
        closed: Closed = "right",
        before: Span | None = None,
        after: Span | None = None,
    ) -> Expr:
        """The value in the middle of a window of time that moves along with the row, as `median` gives it.

        Args:
            by: as in `rolling_sum_by`.
            window_size: as in `rolling_sum_by`.
            min_samples: as in `rolling_sum_by`.
            closed: as in `rolling_sum_by`.
            before: as in `rolling_sum_by`.
            after: as in `rolling_sum_by`.
        """
        return self._within("rolling_median_by", self.median(), by, window_size, min_samples, closed, before, after)

    def rolling_quantile_by(
        self,
        by: IntoExpr,
        window_size: Span | None = None,
        *,
        quantile: float,
        interpolation: Interpolation = "nearest",
        min_samples: int = 1,
        closed: Closed = "right",
        before: Span | None = None,
        after: Span | None = None,
    ) -> Expr:
        """The value at a part of the way through a window of time that moves along with the row, as `quantile` gives it.

        Args:
            quantile: the part, from 0 to 1.
            interpolation: what is taken between two values, as in `quantile`.
            by: as in `rolling_sum_by`.
            window_size: as in `rolling_sum_by`.
            min_samples: as in `rolling_sum_by`.
            closed: as in `rolling_sum_by`.
            before: as in `rolling_sum_by`.
            after: as in `rolling_sum_by`.
        """
        return self._within(
            "rolling_quantile_by",
            self.quantile(quantile, interpolation),
            by,
            window_size,
            min_samples,
            closed,
            before,
            after,
        )
