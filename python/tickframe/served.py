"""What a server can serve: tables, partitioned tables, and data frames of pandas."""

from __future__ import annotations

import sys
from typing import Any

from tickframe import _native
from tickframe.handles import is_table, table_of
from tickframe.partitioned import PartitionedTable

__all__: list[str] = []


def _is_frame(value: object) -> bool:
    # Who has a frame has imported pandas.
    kind = getattr(sys.modules.get("pandas"), "DataFrame", None)
    return kind is not None and isinstance(value, kind)


def is_served(value: object) -> bool:
    """Whether it can be served."""
    return is_table(value) or isinstance(value, PartitionedTable) or _is_frame(value)


def native_of(value: Any) -> _native.Table | _native.Partitioned | _native.Frame:
    """What the server holds of it. Of a frame: the rows that it has now."""
    if _is_frame(value):
        from tickframe.constructors import from_pandas

        return _native.Frame(from_pandas(value)._native)
    native: _native.Table | _native.Partitioned = value._native
    return native


def value_of(native: _native.Table | _native.Partitioned | _native.Frame) -> Any:
    """The other way round; of a frame a new one with the same rows."""
    if isinstance(native, _native.Frame):
        return table_of(native.rows).to_pandas()
    return PartitionedTable(native) if isinstance(native, _native.Partitioned) else table_of(native)
