"""Tables of Apache Iceberg, as they are at a snapshot."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from tickframe import _native
from tickframe.arguments import checked
from tickframe.describe import named, short
from tickframe.errors import ColumnNotFoundError, DataError, MissingFileError
from tickframe.optional import optional
from tickframe.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["read_iceberg"]


@checked
def read_iceberg(source: Any, *, snapshot_id: int | None = None, columns: Sequence[str] | None = None) -> Table:
    """A static table of an Iceberg table, as of a snapshot. Needs pyiceberg.

    >>> import tempfile, tickframe as tf
    >>> import pyarrow as pa
    >>> from pyiceberg.catalog.sql import SqlCatalog
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     catalog = SqlCatalog("local", uri="sqlite://", warehouse="file://" + folder)
    ...     catalog.create_namespace("shop")
    ...     rows = pa.table({"sym": ["A", "B"], "n": [1, 2]})
    ...     orders = catalog.create_table("shop.orders", schema=rows.schema)
    ...     orders.append(rows)
    ...     t = tf.read_iceberg(orders, columns=["n"])
    >>> t.to_dict()
    {'n': [1, 2]}

    Args:
        source: a table of pyiceberg, or the path of a metadata file.
        snapshot_id: which; the newest without it.
        columns: the columns that are read, in this order.

    Raises:
        MissingFileError: there is no metadata file at this place.
        ColumnNotFoundError: an unknown column.
        DataError: an unknown snapshot, or files that cannot be read.
    """
    if isinstance(source, (str, os.PathLike)):
        source = _of_metadata(os.fspath(source))
    elif not hasattr(source, "scan"):
        raise TypeError(
            f"read_iceberg: source is a table of pyiceberg or the path of a metadata file, not {named(source)}"
        )
    if snapshot_id is not None and source.snapshot_by_id(snapshot_id) is None:
        known = [each.snapshot_id for each in source.snapshots()]
        raise DataError(f"read_iceberg: there is no snapshot {snapshot_id}; there are {known}")
    names = [field.name for field in source.schema().fields]
    wanted = None if columns is None else list(columns)
    for name in wanted or ():
        if name not in names and snapshot_id is None:
            error = ColumnNotFoundError(f"read_iceberg: no column {short(name)}; the columns are {names}")
            error.column, error.columns = name, names
            raise error
    try:
        held = source.scan(selected_fields=tuple(wanted or ("*",)), snapshot_id=snapshot_id).to_arrow()
    except (ValueError, OSError) as raised:
        raise DataError(f"read_iceberg: {raised}") from raised
    return Table(_native.table("read_iceberg", held if wanted is None else held.select(wanted), None, None))


def _of_metadata(path: str) -> Any:
    static = optional("pyiceberg.table", "read_iceberg", "iceberg").StaticTable
    try:
        return static.from_metadata(path)
    except FileNotFoundError as raised:
        missing = MissingFileError(f"read_iceberg: {path}: there is no metadata of an Iceberg table")
        missing.errno, missing.filename = 2, path
        raise missing from raised
    except (ValueError, OSError) as raised:
        raise DataError(f"read_iceberg: {path}: {raised}") from raised
