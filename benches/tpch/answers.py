"""Whether two answers to a query of TPC-H are equal."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

__all__ = ["difference"]

Rows = list[tuple[Any, ...]]


def difference(found: Rows, wanted: Rows) -> str | None:
    """The first thing in which an answer is not the one of SQL; None if there is none.

    Floats agree to nine digits. A decimal agrees with a float that rounds to it: quotients have no exact scale in common.
    The sum of no rows is 0 here and null in SQL.
    """
    if len(found) != len(wanted):
        return f"{len(found)} rows, not {len(wanted)}"
    for row, (mine, theirs) in enumerate(zip(found, wanted, strict=True)):
        if len(mine) != len(theirs) or not all(map(_same, mine, theirs)):
            return f"row {row} is {mine}, not {theirs}"
    return None


def _same(mine: Any, theirs: Any) -> bool:
    if theirs is None:
        return mine in (None, 0)
    if isinstance(mine, Decimal) and isinstance(theirs, float):
        return abs(mine - Decimal(theirs)) <= Decimal((0, (1,), mine.as_tuple().exponent))  # type: ignore[arg-type]
    if isinstance(mine, float) and isinstance(theirs, float):
        return math.isclose(mine, theirs, rel_tol=1e-9)
    return bool(mine == theirs)
