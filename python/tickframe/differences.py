"""What differs between two tables, as they are now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tickframe.arguments import checked, count, instance
from tickframe.describe import short
from tickframe.errors import TickframeError

if TYPE_CHECKING:
    from tickframe.column import Column
    from tickframe.table import Table

__all__ = ["table_diff"]


@checked
def table_diff(a: Table, b: Table, max_diffs: int = 1, *, ignore_column_order: bool = False) -> str:
    """What differs between two tables, as they are now: a line a difference, empty if they are equal.

    Null equals null and NaN equals NaN, also inside lists, structs and maps. Tables of one graph are compared at one step.

    >>> import tickframe as tf
    >>> a, b = tf.table({"x": [1, 2, 3]}), tf.table({"x": [1, 5, 9]})
    >>> print(tf.table_diff(a, b, max_diffs=9))
    row 1: column 'x' is 2 in the first, 5 in the second
    row 2: column 'x' is 3 in the first, 9 in the second
    >>> tf.table_diff(a, a)
    ''

    Args:
        a: the first table.
        b: the second.
        max_diffs: how many differences are told at most.
        ignore_column_order: whether the columns may stand in another order.
    """
    for table, name in ((a, "a"), (b, "b")):
        instance(table, "table_diff", name, "Table", "a table")
    most = count(max_diffs, "table_diff: max_diffs")
    told: list[str] = []
    left, right = _now(a, b)
    kinds, others = left.schema, right.schema
    names = [name for name in kinds if name in others]
    told.extend(f"column {name!r} is in the first alone" for name in kinds if name not in others)
    told.extend(f"column {name!r} is in the second alone" for name in others if name not in kinds)
    if not (told or ignore_column_order or [*kinds] == [*others]):
        told.append(f"the columns are {[*kinds]} in the first, {[*others]} in the second")
    alike = [name for name in names if kinds[name] == others[name]]
    told.extend(
        f"column {name!r} is {kinds[name]!r} in the first, {others[name]!r} in the second"
        for name in names
        if name not in alike
    )
    if left.height != right.height:
        told.append(f"{left.height} rows in the first, {right.height} in the second")
    rows = min(left.height, right.height)
    left, right = left.head(rows), right.head(rows)
    found: list[tuple[int, int, str]] = []
    for at, name in enumerate(alike):
        if len(told) >= most:
            break
        cells = _cells(left, right, name, most)
        found.extend(
            (row, at, f"row {row}: column {name!r} is {one} in the first, {other} in the second")
            for row, one, other in cells
        )
    told.extend(text for _, _, text in sorted(found))
    return "\n".join(told[:most])


def _now(a: Table, b: Table) -> tuple[Table, Table]:
    """Both tables as they are now, at one step if they live in one graph."""
    if a.graph is not None and a.graph is b.graph:
        left, right = a.graph.snapshot(a, b)
        return left, right
    return a.snapshot(), b.snapshot()


def _cells(left: Table, right: Table, name: str, most: int) -> list[tuple[int, str, str]]:
    """Row and both cells, where those of a column differ."""
    one, other = left[name], right[name]
    rows = one._native.differing(other._native, most)
    return [(row, *_shown(one[row : row + 1], other[row : row + 1])) for row in rows]


def _shown(one: Column, other: Column) -> tuple[str, str]:
    """Two cells as Python has them, or whole as text if it has no such value."""
    try:
        return short(one.to_list()[0]), short(other.to_list()[0])
    except (TickframeError, ValueError, OverflowError):
        first, second = (str(each._native.texts()[0]) for each in (one, other))
        return first, second
