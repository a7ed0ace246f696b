"""Frames and memory of others on their way into a table."""

from __future__ import annotations

from typing import Any

from tickframe.errors import TypeMismatchError

__all__ = ["Kept", "arrow_of_pandas"]


class Kept:
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
    try:
        import pyarrow
    except ImportError:
        raise ImportError(f"{operation}: pandas frames need pyarrow: pip install 'tickframe[arrow]'") from None
    if not hasattr(frame, "columns"):
        if frame.name is None:
            raise TypeMismatchError(f"{operation}: a Series without a name is no table; give {{'name': series}}")
        frame = frame.to_frame()
    for name, kind in zip(frame.columns, frame.dtypes, strict=True):
        if type(kind).__name__ == "PeriodDtype":
            message = f"{operation}: column {str(name)!r} holds periods; use .dt.to_timestamp() or .astype(str) first"
            raise TypeMismatchError(message)
    return pyarrow.Table.from_pandas(frame, preserve_index=False)
