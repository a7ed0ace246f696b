"""Frames and memory of other libraries on their way into a table."""

from __future__ import annotations

from typing import Any

from tickframe.errors import TypeMismatchError

_PLAIN = {"i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"}

__all__ = ["Unshared", "arrow_of_categories", "arrow_of_pandas", "plain_columns"]


class Unshared:
    """Arrow data that nobody else holds, so that nobody writes to it and it need not be copied.

    Args:
        data: anything with ``__arrow_c_stream__``, just made and given away.
    """

    __slots__ = ("_data",)

    def __init__(self, data: Any) -> None:
        self._data = data

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._data.__arrow_c_stream__(requested_schema)


def arrow_of_pandas(operation: str, frame: Any) -> Any:
    """A pandas frame, or a series with a name, as a ``pyarrow.Table`` without its index.

    Raises:
        TypeMismatchError: a column of periods, which Arrow knows only as numbers, or a series without a name.
    """
    pyarrow = _pyarrow(operation, "frames")
    if not hasattr(frame, "columns"):
        if frame.name is None:
            raise TypeMismatchError(f"{operation}: a Series without a name is no table; give {{'name': series}}")
        frame = frame.to_frame()
    for name, kind in zip(frame.columns, frame.dtypes, strict=True):
        if type(kind).__name__ == "PeriodDtype":
            message = f"{operation}: column {str(name)!r} holds periods; use .dt.to_timestamp() or .astype(str) first"
            raise TypeMismatchError(message)
    return pyarrow.Table.from_pandas(frame, preserve_index=False)


def arrow_of_categories(operation: str, cells: Any) -> Any:
    """A pandas Categorical, or a series or index of one, as a ``pyarrow`` dictionary: its codes, categories and their order."""
    return _pyarrow(operation, "categories").array(cells, from_pandas=True)


def _pyarrow(operation: str, what: str) -> Any:
    try:
        import pyarrow
    except ImportError:
        raise ImportError(f"{operation}: pandas {what} need pyarrow: pip install 'tickframe[arrow]'") from None
    return pyarrow


def plain_columns(frame: Any) -> tuple[dict[str, Any], Any]:
    """The columns of a pandas frame that NumPy holds as plain numbers, and a frame of all others.

    A plain column is copied once, straight from the memory that pandas holds; pyarrow would make a second pass over it.
    A frame whose columns are not named by distinct texts is left whole, and so is a series.
    """
    names = list(getattr(frame, "columns", ()))
    if not names or not all(type(name) is str for name in names) or len(set(names)) < len(names):
        return {}, frame
    kinds = dict(zip(names, frame.dtypes, strict=True))
    plain = {
        name: frame[name].to_numpy(copy=False)
        for name, kind in kinds.items()
        if type(kind).__module__.startswith("numpy") and kind.str[1:] in _PLAIN
    }
    return plain, frame[[name for name in names if name not in plain]]
