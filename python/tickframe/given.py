"""Tables that methods are given: a table as it is, a frame of another library as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tickframe import _native
from tickframe.describe import named
from tickframe.foreign import array_like
from tickframe.handles import is_table, table_of
from tickframe.optional import is_of_spark, spark

if TYPE_CHECKING:
    from tickframe.table import Table

__all__: list[str] = []


def given(operation: str, what: str, value: object) -> Table:
    """The table that an argument is; a frame of another library becomes one."""
    if is_table(value):
        return value
    if is_of_spark(value):
        made: Table = spark().from_spark(value)
        return made
    if isinstance(value, (dict, list)) or (hasattr(value, "__arrow_c_stream__") and not array_like(value)):
        return table_of(_native.table("table", value, None))
    raise TypeError(f"{operation}: {what} is a table or a frame, not {named(value)}")
