"""Tables into files. A file is there as a whole or not at all: it is written aside, synced, and renamed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from tickframe import _native
from tickframe.arguments import check_all, count
from tickframe.describe import named, short
from tickframe.durable import checkpoint_of
from tickframe.errors import InvalidOperationError
from tickframe.handles import itself
from tickframe.paths import one_of, path_of, texts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tickframe._native import Table as NativeTable
    from tickframe.table import Table

__all__: list[str] = []

Codec: TypeAlias = Literal["zstd", "snappy", "gzip", "brotli", "lz4", "uncompressed"]

_FORM: dict[str, Any] = {
    "separator": ",",
    "quote_char": '"',
    "include_header": True,
    "null_value": "",
    "escape_formulas": False,
    "compression": "uncompressed",
    "compression_level": None,
    "row_group_size": 1 << 20,
    "sorted_by": [],
}


@check_all
class Writing:
    """What `Table` has of files."""

    __slots__ = ()

    if TYPE_CHECKING:
        _native: NativeTable

        def snapshot(self) -> Table: ...

    def checkpoint(self, path: str | os.PathLike[str], name: str = "table") -> dict[str, Any]:
        """Save the sources that the table stands on, and what it is made of them; see `Graph.checkpoint`.

        >>> import tempfile, tickframe as tf
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     trades = tf.append_table({"px": float}, graph=tf.Graph(), name="trades")
        ...     dear = trades.filter(tf.col("px") > 2)
        ...     _ = trades.append({"px": [1.5, 2.5]})
        ...     _ = trades.graph.step()
        ...     done = dear.checkpoint(folder, "dear")
        ...     tf.restore(folder).tables["dear"].to_dict()
        {'px': [2.5]}

        Args:
            path: a folder, made if it is not there.
            name: under which `Graph.tables` of the restored graph has the table.

        Returns:
            As `Graph.checkpoint`.

        Raises:
            InvalidOperationError: the table is static, or stands on a source without a name or one that no checkpoint saves.
            CheckpointError: the folder is in use, holds something else, or is damaged.
            StorageError: the disk fails; what was saved before is as it was.
        """
        return checkpoint_of(itself(self), path, name)

    def write_parquet(
        self,
        target: object,
        *,
        partition_by: str | Sequence[str] | None = None,
        compression: Codec = "zstd",
        compression_level: int | None = None,
        row_group_size: int = 1 << 20,
        progress: Callable[[int, int], object] | None = None,
    ) -> None:
        """Write the rows of the settled step as Parquet.

        Args:
            target: a path, or an object with ``write()``. Its directory is made if it is not there.
            partition_by: columns of which each combination of values is a file in directories called ``key=value``; `target`
                is the directory then. Their rows are in their order; files of the same name are replaced.
            compression: the codec.
            compression_level: how hard it tries: 1 to 22 for zstd, 0 to 10 for gzip, 0 to 11 for brotli.
            row_group_size: rows of a row group.
            progress: called with row groups (files, with `partition_by`) done and in all.

        Raises:
            StorageError: the disk is full, or fails; what was there before is untouched.

        >>> import tempfile, tickframe as tf
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tf.table({"day": [1, 1, 2], "px": [1.0, 2.0, 3.0]}).write_parquet(folder, partition_by="day")
        ...     tf.read_parquet(f"{folder}/day=2").to_dicts()
        [{'px': 3.0}]
        """
        codecs = ("zstd", "snappy", "gzip", "brotli", "lz4", "uncompressed")
        one_of("write_parquet", "compression", compression, codecs)
        if count(row_group_size, "write_parquet: row_group_size") == 0:
            raise ValueError("write_parquet: row_group_size must be 1 or more, not 0")
        held = self._native.attributes() if partition_by is None else {}
        form = {
            "compression": compression,
            "compression_level": compression_level,
            "row_group_size": row_group_size,
            "sorted_by": list(held.get("sorted_by", ())),
        }
        self._write("write_parquet", "parquet", target, form, partition_by, progress)

    def write_csv(
        self,
        target: object,
        *,
        separator: str = ",",
        quote_char: str = '"',
        include_header: bool = True,
        null_value: str = "",
        escape_formulas: bool = False,
        partition_by: str | Sequence[str] | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> None:
        """Write the rows of the settled step as CSV.

        A null is `null_value`, the empty text stands in quotes: both come back by `read_csv`.

        Args:
            target: a path, or an object with ``write()``.
            separator: one character between fields.
            quote_char: what fields stand in that hold separators, quotes or line breaks.
            include_header: whether the first line names the columns.
            null_value: what a null is written as.
            escape_formulas: whether texts that begin with ``=``, ``+``, ``-`` or ``@`` get an apostrophe before them, so that no
                spreadsheet runs them.
            partition_by: as in `write_parquet`.
            progress: called with parts done and in all.

        Raises:
            SchemaError: a column of lists or structs, which CSV cannot hold.
            StorageError: the disk is full, or fails; what was there before is untouched.

        >>> import io, tickframe as tf
        >>> out = io.BytesIO()
        >>> tf.table({"sym": ["A", "", None], "px": [1.5, None, 2.0]}).write_csv(out)
        >>> print(out.getvalue().decode())
        sym,px
        A,1.5
        "",
        ,2.0
        <BLANKLINE>
        """
        form = {
            "separator": _letter(separator, "separator"),
            "quote_char": _letter(quote_char, "quote_char"),
            "include_header": include_header,
            "null_value": null_value,
            "escape_formulas": escape_formulas,
        }
        if separator == quote_char:
            raise ValueError(f"write_csv: separator and quote_char are both {short(separator)}")
        self._write("write_csv", "csv", target, form, partition_by, progress)

    def write_json(self, target: object, *, progress: Callable[[int, int], object] | None = None) -> None:
        """Write the rows of the settled step as one JSON array of records.

        Instants are written as ISO 8601; NaN and the infinities, which JSON does not have, as null.

        >>> import tickframe as tf
        >>> import io
        >>> out = io.BytesIO()
        >>> tf.table({"sym": ["A", "B"], "px": [1.5, None]}).write_json(out)
        >>> print(out.getvalue().decode().strip())
        [
        {"sym":"A","px":1.5},
        {"sym":"B","px":null}
        ]

        Args:
            target: a path, or an object with ``write()``.
            progress: called with parts done and in all.
        """
        self._write("write_json", "json", target, {}, None, progress)

    def write_ndjson(
        self,
        target: object,
        *,
        partition_by: str | Sequence[str] | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> None:
        """Write the rows of the settled step as JSON, a record on each line; see `write_json`.

        Args:
            target: a path, or an object with ``write()``.
            partition_by: as in `write_parquet`.
            progress: called with parts done and in all.

        >>> import io, tickframe as tf
        >>> out = io.BytesIO()
        >>> tf.table({"sym": ["A"], "tags": [["x", "y"]]}).write_ndjson(out)
        >>> print(out.getvalue().decode().strip())
        {"sym":"A","tags":["x","y"]}
        """
        self._write("write_ndjson", "ndjson", target, {}, partition_by, progress)

    def write_ipc(
        self,
        target: object,
        *,
        compression: Literal["zstd", "lz4", "uncompressed"] = "uncompressed",
        stream: bool = False,
        partition_by: str | Sequence[str] | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> None:
        """Write the rows of the settled step as Arrow IPC; Feather is that.

        >>> import tickframe as tf
        >>> import io
        >>> out = io.BytesIO()
        >>> tf.table({"sym": ["A", "B"], "px": [1.5, 2.5]}).write_ipc(out, compression="zstd")
        >>> tf.read_ipc(io.BytesIO(out.getvalue())).rows()
        [('A', 1.5), ('B', 2.5)]

        Args:
            target: a path, or an object with ``write()``.
            compression: the codec of its buffers.
            stream: whether it is a stream (``.arrows``) and not a file.
            partition_by: as in `write_parquet`.
            progress: called with batches done and in all.
        """
        kind = "ipc_stream" if stream else "ipc"
        self._write("write_ipc", kind, target, {"compression": compression}, partition_by, progress)

    def refresh(self) -> int:
        """Look for files that came, in a table that follows files; see `FileTable.refresh`.

        Raises:
            InvalidOperationError: the table follows no files.
        """
        raise InvalidOperationError(
            'refresh: this table follows no files; tf.scan_parquet(path, refresh="manual") makes one that does'
        )

    def _write(
        self,
        operation: str,
        kind: str,
        target: object,
        given: dict[str, Any],
        partition_by: str | Sequence[str] | None,
        progress: Callable[[int, int], object] | None,
    ) -> None:
        if progress is not None and not callable(progress):
            raise TypeError(f"{operation}: progress is a function of two numbers, not {named(progress)}")
        form = {**_FORM, **given}
        if hasattr(target, "write"):
            if partition_by is not None:
                raise ValueError(f"{operation}: with partition_by the target is a directory, not {named(target)}")
            target.write(_native.file_bytes(operation, kind, self._native, form, progress))
            return
        if not isinstance(target, (str, os.PathLike)):
            raise TypeError(f"{operation}: give a path or an object with write(), not {named(target)}")
        place = path_of(operation, target)
        if "://" in place:
            raise ValueError(
                f"{operation}: {short(place)} is no path of this machine; write into an object that has write(), "
                f"such as fsspec.open(…, 'wb')"
            )
        path = str(Path(place).expanduser())
        if partition_by is None:
            _native.write_file(operation, kind, self._native, path, form, progress)
            return
        keys = texts(operation, "partition_by", partition_by)
        if not keys:
            raise ValueError(f"{operation}: partition_by names no column")
        ordered = self.snapshot().sort(keys)
        rest = [name for name in ordered.columns if name not in keys]
        if not rest:
            raise ValueError(f"{operation}: partition_by names all columns, and nothing is left for the files")
        ending = {"parquet": ".parquet", "csv": ".csv", "ndjson": ".ndjson", "ipc": ".arrow", "ipc_stream": ".arrows"}[
            kind
        ]
        names = (path, f"part-0{ending}")
        chosen = ordered.select(*keys, *rest)._native
        _native.write_partitions(operation, kind, chosen, len(keys), names, form, progress)


def _letter(given: object, parameter: str) -> str:
    if not isinstance(given, str) or len(given) != 1 or not given.isascii() or given in "\r\n":
        raise ValueError(f"write_csv: {parameter} is one ASCII character, not {short(given)}")
    return given
