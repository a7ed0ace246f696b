"""Rows by position: the first, the last, those between. Each follows its table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tickframe import _native
from tickframe.arguments import check_all, count
from tickframe.describe import named, short
from tickframe.handles import itself, made, table_of

if TYPE_CHECKING:
    from tickframe.table import Table

__all__: list[str] = []

_MOST = 2**63 - 1


@check_all
class Extents:
    """What `Table` has of operations that keep rows by position."""

    __slots__ = ()

    def head(self, n: int = 5) -> Table:
        """The first `n` rows; of a blink table the first that ever were, which stay."""
        return table_of(_native.head(itself(self)._native, count(n, "head: n")))

    def tail(self, n: int = 5) -> Table:
        """The last `n` rows; of a blink table the last that ever were, of which each stays until newer ones come."""
        return table_of(_native.tail(itself(self)._native, count(n, "tail: n")))

    def slice(
        self,
        offset: int | None = None,
        length: int | None = None,
        *,
        start: int | None = None,
        stop: int | None = None,
    ) -> Table:
        """`length` rows from `offset`, which counts from the end if negative; all of the rest without a length.

        >>> import tickframe as tf
        >>> t = tf.table({"x": [1, 2, 3, 4]})
        >>> t.slice(1, 2).to_dict(), t.slice(-1).to_dict(), t.slice(start=1, stop=-1).to_dict()
        ({'x': [2, 3]}, {'x': [4]}, {'x': [2, 3]})

        Args:
            offset: the first of them.
            length: how many.
            start: in place of both, the position of the first, from the end if negative; the first row without it.
            stop: the position after the last, from the end if negative; the end of the table without it.

        Raises:
            InvalidOperationError: a blink table, whose rows live for one step; `head` and `tail` keep them.
        """
        if start is not None or stop is not None:
            if offset is not None or length is not None:
                raise TypeError("slice: give offset and length, or start= and stop=")
            if stop is not None:
                return made("slice", {"extent": {"between": {"start": start or 0, "stop": stop}}}, itself(self))
            offset = start
        at: object = offset
        if isinstance(at, bool) or not hasattr(at, "__index__") or offset is None:
            raise TypeError(f"slice: offset must be an int, not {type(at).__name__}")
        if not -_MOST <= offset <= _MOST:
            raise ValueError(f"slice: offset must be within {_MOST}, not {offset}")
        most = None if length is None else count(length, "slice: length")
        return table_of(_native.slice(itself(self)._native, offset, most))

    def head_pct(self, pct: float) -> Table:
        """The first rows, as a part of all, rounded up. 0.07 of 100 rows are 7: the part is meant as it is written.

        >>> import tickframe as tf
        >>> t = tf.table({"x": [1, 2, 3, 4, 5]})
        >>> t.head_pct(0.5).to_dict(), t.tail_pct(0.1).to_dict(), t.slice_pct(0.2, 0.7).to_dict()
        ({'x': [1, 2, 3]}, {'x': [5]}, {'x': [2, 3]})

        Args:
            pct: the part, from 0 to 1.

        Raises:
            InvalidOperationError: a blink table, whose rows live for one step.
        """
        return _part("head_pct", itself(self), "head", {"part": (pct, "pct")})

    def tail_pct(self, pct: float) -> Table:
        """The last rows, as a part of all, rounded up.

        Args:
            pct: the part, from 0 to 1.

        Raises:
            InvalidOperationError: a blink table, whose rows live for one step.
        """
        return _part("tail_pct", itself(self), "tail", {"part": (pct, "pct")})

    def slice_pct(self, start_pct: float, end_pct: float) -> Table:
        """The rows from a part of all to another, both rounded down.

        Args:
            start_pct: where they begin, from 0 to 1.
            end_pct: where they end, from 0 to 1.

        Raises:
            InvalidOperationError: a blink table, whose rows live for one step.
        """
        return _part(
            "slice_pct", itself(self), "part", {"start": (start_pct, "start_pct"), "stop": (end_pct, "end_pct")}
        )


def _part(method: str, table: Table, kind: str, parts: dict[str, tuple[object, str]]) -> Table:
    """The table of a part of the rows."""
    given: dict[str, float] = {}
    for name, (part, parameter) in parts.items():
        if isinstance(part, bool) or not isinstance(part, (int, float)):
            raise TypeError(f"{method}: {parameter} is a number from 0 to 1, not {named(part)}")
        if not 0 <= part <= 1:
            raise ValueError(f"{method}: {parameter} is a part of the rows, from 0 to 1, not {short(part)}")
        given[name] = float(part)
    return made(method, {"extent": {kind: given}}, table)
