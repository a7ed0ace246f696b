"""Places of rows and cells: whole numbers from 0, from the end if negative."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tickframe.describe import short

if TYPE_CHECKING:
    from typing import TypeGuard

__all__: list[str] = []


def is_place(value: object) -> TypeGuard[int]:
    """Whether it is a whole number that may be a place; True and False are none."""
    return hasattr(value, "__index__") and not isinstance(value, bool) and type(value).__name__ not in {"bool_", "bool"}


def place(index: int, count: int, what: str) -> int:
    """A place from the start, of one that counts from the end if negative.

    Raises:
        IndexError: there is none.
    """
    at = index.__index__()
    if not -count <= at < count:
        raise IndexError(f"{what}: there is no {short(at)} among {count}")
    return at + count if at < 0 else at
