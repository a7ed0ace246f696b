"""A clock that is moved by hand, and instants as callers write them."""

from __future__ import annotations

import datetime as _dt
from typing import TYPE_CHECKING

from tickframe import _native
from tickframe.describe import named, short
from tickframe.durations import nanoseconds

if TYPE_CHECKING:
    from typing import TypeAlias

    Instant: TypeAlias = _dt.datetime | str

__all__ = ["ManualClock"]

_EPOCH = _dt.datetime(1970, 1, 1, tzinfo=_dt.UTC)
_FIRST = _dt.datetime(1677, 9, 21, 0, 12, 44, tzinfo=_dt.UTC)
_LAST = _dt.datetime(2262, 4, 11, 23, 47, 16, 854775, tzinfo=_dt.UTC)


class ManualClock:
    """A clock that stands still until it is moved: time tables, windows, `replay` and ``now()`` of its graphs follow it.

    >>> import tickframe as tf
    >>> clock = tf.testing.ManualClock("2024-05-01T12:00:00+00:00")
    >>> seconds = tf.time_table("1s", graph=tf.Graph(clock=clock))
    >>> _ = seconds.graph.step()
    >>> clock.advance("3s")
    datetime.datetime(2024, 5, 1, 12, 0, 3, tzinfo=datetime.timezone.utc)
    >>> _ = seconds.graph.step()
    >>> len(seconds)
    4

    A graph that was started waits for this clock between its steps as well: give it ``period=0``, or move the clock.

    Args:
        start: the instant that it shows at first, with its zone; 2000-01-01 in UTC without it.
    """

    __slots__ = ("__weakref__", "_native")

    def __init__(self, start: Instant = "2000-01-01T00:00:00+00:00") -> None:
        self._native = _native.ManualClock(instant(start, "ManualClock: start"))

    def __repr__(self) -> str:
        return f"ManualClock({self.now.isoformat()})"

    @property
    def now(self) -> _dt.datetime:
        """The instant that it shows, in UTC, in whole microseconds."""
        return _EPOCH + _dt.timedelta(microseconds=self._native.now_ns // 1000)

    def advance(self, span: float | str | _dt.timedelta) -> _dt.datetime:
        """Move the clock on. What is due runs in the next step: a graph that was started makes it, others by `Graph.step`.

        Args:
            span: seconds, a timedelta, or text such as ``"90s"``.

        Returns:
            The instant that it shows now.
        """
        nanos = nanoseconds(span, "advance")
        if nanos < 0:
            raise ValueError(f"advance: a clock does not go back; the span must be 0 or longer, not {short(span)}")
        if not self._native.advance(nanos):
            raise ValueError(f"advance: {short(span)} later is beyond the year 2262, the last that nanoseconds reach")
        return self.now


def instant(value: object, what: str) -> int:
    """An instant in nanoseconds since 1970, of a datetime or a text with a zone."""
    moment = value
    if isinstance(moment, str):
        try:
            moment = _dt.datetime.fromisoformat(moment)
        except ValueError:
            raise ValueError(f'{what} {short(value)} is no instant; write "2024-01-31T12:00:00+00:00"') from None
    if not isinstance(moment, _dt.datetime):
        raise TypeError(f"{what} is a datetime or a text with a zone, not {named(value)}")
    if moment.tzinfo is None:
        raise ValueError(f"{what} must have a zone, e.g. datetime(..., tzinfo=timezone.utc)")
    if not _FIRST <= moment <= _LAST:
        raise ValueError(
            f"{what} {moment.isoformat()} is outside 1677-09-21 … 2262-04-11, the time that nanoseconds reach"
        )
    return nanoseconds(moment - _EPOCH, what)
