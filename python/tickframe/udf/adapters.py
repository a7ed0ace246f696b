"""How a function is called: once a row, or once a chunk with pyarrow arrays, NumPy arrays or polars Series."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from tickframe.column import Column
from tickframe.errors import UdfError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tickframe import _native

Body: TypeAlias = "Callable[[list[_native.Column], int], tuple[Any, Any]]"


def failed(name: str, args: str, why: Exception, row: int | None = None) -> UdfError:
    """The error of a call that raised, which names its arguments and its row."""
    error = UdfError(f"{name}({args}) raised {type(why).__name__}: {why}", row=row)
    error.__cause__ = why
    return error


def shown(values: tuple[object, ...]) -> str:
    """The arguments of a call as a message shows them."""
    longest = 60
    texts = (repr(value) for value in values)
    return ", ".join(text if len(text) <= longest else text[:longest] + "…" for text in texts)


def by_row(
    fn: Callable[..., Any], name: str, takes_none: list[bool], columns: list[_native.Column], rows: int
) -> tuple[Any, None]:
    """A loop over the rows."""
    del rows
    lists = [column.to_list("truncate") for column in columns]
    skipping = [cells for cells, takes in zip(lists, [*takes_none, *[False] * len(lists)], strict=False) if not takes]
    made: list[Any] = []
    try:
        # What was made stays in the list when a call raises: its length is the row.
        if not any(None in cells for cells in skipping):
            made.extend(map(fn, *lists))
        else:
            rows_checked = zip(zip(*lists, strict=True), zip(*skipping, strict=True), strict=True)
            made.extend(None if None in checked else fn(*row) for row, checked in rows_checked)
    except Exception as why:
        at = len(made)
        raise failed(name, shown(tuple(cells[at] for cells in lists)), why, at) from why
    return made, None


def _arrow(fn: Callable[..., Any], name: str, columns: list[_native.Column], rows: int) -> tuple[Any, None]:
    """pyarrow arrays in, anything that is a column out."""
    import pyarrow as pa

    arrays = [pa.array(Column(column)) for column in columns]
    try:
        return fn(*arrays), None
    except Exception as why:
        raise failed(name, f"{rows} rows", why) from why


def _polars(fn: Callable[..., Any], name: str, columns: list[_native.Column], rows: int) -> tuple[Any, None]:
    """polars Series in, anything that is a column out."""
    import polars as pl

    series = [pl.Series(getattr(column, "name", ""), Column(column)) for column in columns]
    try:
        return fn(*series), None
    except Exception as why:
        raise failed(name, f"{rows} rows", why) from why


def _numpy(fn: Callable[..., Any], name: str, columns: list[_native.Column], rows: int) -> tuple[Any, Any]:
    """NumPy arrays in and out; a row that is null in an argument is null in the result."""
    import numpy as np

    missing: Any = None
    arrays = []
    for column in columns:
        array, nulls = _array(column, np)
        if nulls is not None:
            missing = nulls if missing is None else missing | nulls
        arrays.append(array)
    try:
        given = fn(*arrays)
        return None if given is None else np.asarray(given), missing
    except Exception as why:
        raise failed(name, f"{rows} rows", why) from why


def _array(column: _native.Column, np: Any) -> tuple[Any, Any]:
    """The cells as an array, and which are null."""
    code = column.code or "object"
    missing = column.missing()
    nulls = None if missing is None else np.frombuffer(missing, dtype=bool)
    if code == "bool":
        return np.frombuffer(column.flags(), dtype=bool), nulls
    filled = nulls is not None and code.startswith("float")
    raw: Any = None if code == "object" else column.raw() if filled else column.memory()
    if raw is None:
        return np.array(column.to_list("truncate"), dtype=object), nulls
    array = np.frombuffer(raw, dtype=code)
    if filled:
        array[nulls] = float("nan")
    return array, nulls


BODIES: dict[str, Any] = {"arrow": _arrow, "numpy": _numpy, "polars": _polars}
