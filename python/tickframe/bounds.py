"""What operations hold of inputs that never end: how long, how much, and the warning where nothing was said."""

from __future__ import annotations

import json
import sys
import warnings
from typing import TYPE_CHECKING, Literal

from tickframe import _native
from tickframe.arguments import count
from tickframe.describe import named, short
from tickframe.durations import nanoseconds
from tickframe.handles import made

if TYPE_CHECKING:
    import datetime

    from tickframe.table import Table

__all__: list[str] = []

WhenManyHeld = Literal["evict", "error"]


def group_bounds(
    operation: str,
    state_ttl: float | str | datetime.timedelta | None,
    max_groups: int | None,
    when_full: object,
    keep_results: object = False,
) -> str | None:
    """Which groups an operation holds, as plans write it; None where nothing was said."""
    bounds = _bounds(operation, state_ttl, "max_groups", max_groups, when_full)
    if not isinstance(keep_results, bool):
        raise TypeError(f"{operation}: keep_results must be True or False, not {named(keep_results)}")
    if bounds is None:
        if keep_results:
            raise ValueError(f"{operation}: keep_results is of groups that are let go; say state_ttl= or max_groups=")
        return None
    return json.dumps(bounds | {"keep_results": keep_results})


def row_bounds(
    operation: str, state_ttl: float | str | datetime.timedelta | None, max_rows: int | None, when_full: object
) -> dict[str, object] | None:
    """Which rows an operation holds, as plans write it; None where nothing was said."""
    return _bounds(operation, state_ttl, "max_rows", max_rows, when_full)


def held(operation: str, bounds: dict[str, object] | None, *tables: Table) -> list[Table]:
    """The rows of tables that a join of them holds; where nothing was said, and one never ends, that is told."""
    if bounds is None:
        warn_of_rows(operation, *tables)
        return list(tables)
    return [made(operation, {"held_rows": bounds}, table) for table in tables]


def _bounds(
    operation: str,
    state_ttl: float | str | datetime.timedelta | None,
    what: str,
    most: int | None,
    when_full: object,
) -> dict[str, object] | None:
    if not isinstance(when_full, str) or when_full not in ("evict", "error"):
        raise ValueError(f'{operation}: when_full must be "evict" or "error", not {short(when_full)}')
    span = None if state_ttl is None else nanoseconds(state_ttl, f"{operation}: state_ttl")
    if span is not None and span < 0:
        raise ValueError(f"{operation}: state_ttl must be 0 or longer, not {short(state_ttl)}")
    if most is not None:
        most = count(most, f"{operation}: {what}")
        if most < 1:
            raise ValueError(f"{operation}: {what} must be 1 or more, not {most}")
    if when_full == "error" and most is None:
        raise ValueError(f'{operation}: when_full="error" is of {what}; say how many')
    if span is None and most is None:
        return None
    return {"state_ttl": span, what: most, "when_full": when_full}


def warn_of_groups(operation: str, table: Table, how: str) -> None:
    """Tells once a place that an operation holds a group for each key that ever comes."""
    kind = _endless(table)
    if kind is not None:
        _warn(
            f"{operation}: the rows of this {kind} never end, and a group is held for every key that ever comes; say which "
            f"are let go, {how}"
        )


def warn_of_windows(operation: str, table: Table, stamp: str) -> None:
    """Tells once a place that windows of a blink table are never closed."""
    if _endless(table) == "blink table":
        _warn(
            f"{operation}: the rows of this blink table never end, and no window of them is ever closed; say how late rows may "
            f"come, table.watermark({stamp!r}, delay=...)"
        )


def warn_of_rows(operation: str, *tables: Table) -> None:
    """Tells once a place that a join holds all rows that ever come."""
    for table in tables:
        if _endless(table) == "table with a watermark":
            _warn(
                f"{operation}: the rows of this table with a watermark never end, and all are held; say which are let go, "
                'state_ttl="1h" or max_rows=1_000_000'
            )
            return


def _endless(table: Table) -> str | None:
    """What a live table that only gains rows is called, if these are said to come without an end."""
    native = table._native
    if _native.graph_of(native) is None:
        return None
    known = table.attributes
    if known.get("blink"):
        return "blink table"
    grows = known.get("append_only") or known.get("add_only")
    return "table with a watermark" if grows and known.get("watermark") is not None else None


def _warn(message: str) -> None:
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "tickframe":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, UserWarning, stacklevel=level)
