"""Spans of time and timeouts, as callers write them."""

from __future__ import annotations

import datetime
import math
from typing import Any, SupportsFloat

from tickframe import _native
from tickframe.arguments import encodable
from tickframe.describe import named, short

__all__: list[str] = []

_LONGEST_SPAN = 2**63 - 1
_MOST_SECONDS = 2**34
_LONGEST_TIMEOUT = 2**33


def nanoseconds(span: float | str | datetime.timedelta, what: str = "a span of time") -> int:
    """A span of time in nanoseconds: seconds, a timedelta, or text such as ``"1h30m"`` or ``"PT1H30M"``.

    Raises:
        TypeError: what is none of them; `what` names the argument.
        ValueError: a text that is no span, a number that is not finite.
    """
    counted = _nanoseconds(span, what)
    if counted is None or abs(counted) > _LONGEST_SPAN:
        raise ValueError(f"{what}: {short(span)} is beyond the 292 years that nanoseconds reach")
    return counted


def _nanoseconds(span: float | str | datetime.timedelta, what: str) -> int | None:
    if isinstance(span, datetime.timedelta):
        return (span.days * 86400 + span.seconds) * 10**9 + span.microseconds * 1000
    if isinstance(span, str):
        encodable(span, what)
        counted = _native.span_of_time(span.strip())
        if counted is None:
            raise ValueError(f'{what}: {short(span)} is no span of time; write "2h", "90s", "1h30m", or "PT1H30M"')
        return counted
    number: object = span
    if isinstance(number, bool) or not hasattr(number, "__float__"):
        raise TypeError(
            f'{what}: a span of time is a number of seconds, a timedelta or a text such as "2h", not {named(span)}'
        )
    if not isinstance(span, int) and not math.isfinite(span := float(span)):
        raise ValueError(f"{what}: {span} seconds are no span of time")
    if not abs(span) < _MOST_SECONDS:
        return None
    return span * 10**9 if isinstance(span, int) else round(float(span) * 10**9)


def distance(tolerance: float | str | datetime.timedelta, operation: str) -> tuple[float, bool]:
    """A tolerance, and whether it is a span of time in nanoseconds; a plain number is of what its stamps say.

    Raises:
        TypeError: what is no number, timedelta or text.
        ValueError: below 0, or not finite.
    """
    is_span = isinstance(tolerance, (str, datetime.timedelta))
    nanoseconds(tolerance, f"{operation}: tolerance")
    far: Any = nanoseconds(tolerance) if is_span else tolerance
    if far < 0:
        raise ValueError(f"{operation}: tolerance must not be negative, not {short(tolerance)}")
    return (far.__index__() if hasattr(far, "__index__") else float(far)), is_span


def seconds(timeout: object, operation: str) -> float | None:
    """A timeout as it was given, or an error that says what it is."""
    if timeout is None:
        return None
    if isinstance(timeout, SupportsFloat) and not isinstance(timeout, bool):
        if float(timeout) > _LONGEST_TIMEOUT:
            raise ValueError(f"{operation}: timeout is at most {_LONGEST_TIMEOUT} seconds; None waits for ever")
        return float(timeout)
    raise TypeError(f"{operation}: timeout is a number of seconds, or None, not {short(timeout)}")
