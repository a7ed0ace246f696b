"""Square brackets: ``t["x"]``, ``t["x", "y"]``, ``t[1:3]``, ``t[0]``, ``t[0, "x"]``, and those of a column of values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tickframe.arguments import encodable
from tickframe.column import Column
from tickframe.describe import named, short
from tickframe.errors import ColumnNotFoundError
from tickframe.places import is_place, place

if TYPE_CHECKING:
    from tickframe.table import Table

__all__: list[str] = []


def column_name(table: Table, column: object, what: str) -> str:
    """The name of a column that is given by its name or place."""
    if isinstance(column, str):
        encodable(column, what)
        return column
    names = table.columns
    if not is_place(column):
        raise TypeError(f"{what}: a column is given by its name or its place, not by {named(column)}")
    if not -len(names) <= column < len(names):
        error = ColumnNotFoundError(f"{what}: there is no column {short(column)}; the columns are {names}")
        error.column, error.columns = str(column), names
        raise error
    return names[column]


def indexed(table: Table, at: object) -> Any:
    """What stands in the brackets behind a table, and so what it means."""
    if isinstance(at, str):
        encodable(at, "t[...]")
        return Column(table._native.column(at))
    if isinstance(at, (tuple, list)) and all(isinstance(name, str) for name in at):
        return table.select(*at)
    if isinstance(at, slice) or is_place(at):
        return _rows(table, at)
    if isinstance(at, tuple) and len(at) == 2 and (isinstance(at[0], slice) or is_place(at[0])):
        rows, columns = at
        if is_place(rows) and (isinstance(columns, str) or is_place(columns)):
            return table.item(rows, columns)
        if isinstance(columns, slice) and columns == slice(None):
            return _rows(table, rows)
        several = columns if isinstance(columns, (list, tuple)) else [columns]
        names = [column_name(table, column, "t[rows, columns]") for column in several]
        picked = _rows(table, rows)
        return picked.select(*names) if isinstance(columns, (list, tuple)) else Column(picked._native.column(names[0]))
    what = short(at) if isinstance(at, tuple) else named(at)
    raise TypeError(
        't[...] takes names of columns, t["a"] or t["a", "b"], a slice of rows, t[1:3], a row, t[0], or a cell, t[0, "a"]; '
        f"not {what}. Rows by a condition or a mask are t.filter(...)"
    )


def _rows(table: Table, at: slice | int) -> Table:
    """One row as a table, or those of a slice; they follow the table."""
    if not isinstance(at, slice):
        if not table.is_live:
            return table.slice(place(at, len(table), "t[...]: rows"), 1)
        return table.slice(at.__index__(), 1)
    start, stop = _ends(at)
    if not table.is_live:
        first, end, _ = slice(start, stop).indices(table.shape[0])
        return table.slice(first, max(end - first, 0))
    if stop is None:
        return table.slice(start or 0)
    if ((start or 0) < 0) != (stop < 0):
        return table.slice(start=start or 0, stop=stop)
    return table.slice(start or 0, max(stop - (start or 0), 0))


def _ends(at: slice) -> tuple[int | None, int | None]:
    """The ends of a slice by ones."""
    if at.step not in {None, 1} or not all(end is None or is_place(end) for end in (at.start, at.stop)):
        raise TypeError("t[...]: a slice of rows goes from one whole number to another, by ones: t[1:3]")
    return at.start, at.stop
