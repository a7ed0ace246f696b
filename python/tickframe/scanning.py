"""Files as tables that follow them: Parquet where it lies, and directories that grow as append-only tables."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tickframe import _native
from tickframe.arguments import checked
from tickframe.durations import nanoseconds
from tickframe.errors import DataError, MissingFileError, StorageError
from tickframe.files import found, read, tell, wanted
from tickframe.graph import graph_for_source
from tickframe.looking import REFRESH, Looking, pause_of
from tickframe.paths import one_of, path_of
from tickframe.schema import Schema
from tickframe.sources import FileTable
from tickframe.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tickframe.arguments import OnError
    from tickframe.files import Given
    from tickframe.graph import Graph
    from tickframe.looking import Refresh
    from tickframe.schema import SchemaLike
    from tickframe.sources import AppendTable

__all__ = ["scan_csv", "scan_ipc", "scan_ndjson", "scan_parquet"]

_ROOM = 256 << 20
"""Bytes of pages that a scanned table keeps."""


class _Followed(Looking):
    """Files of which some were read, and the table that they go to."""

    def __init__(
        self,
        operation: str,
        kind: str,
        source: object,
        chosen: dict[str, Any],
        dead_letter: AppendTable | None,
        settle: float,
    ) -> None:
        super().__init__(operation)
        self.kind, self.source, self.chosen = kind, source, chosen
        self._dead_letter = dead_letter
        self._settle = settle
        self._seen: dict[str, tuple[int, int]] = {}
        # Files that do not end as whole ones: their size, and since when.
        self._growing: dict[str, tuple[int, float]] = {}
        self._schema: _native.Schema | None = None

    def _stat(self, path: str) -> tuple[int, int]:
        told = Path(path).stat()
        return told.st_size, told.st_mtime_ns

    def _files(self) -> list[Given]:
        try:
            return found(self.operation, self.kind, self.source)
        except FileNotFoundError:
            # A pattern that nothing matches yet, a directory without files.
            if isinstance(self.source, (str, os.PathLike)):
                path = Path(path_of(self.operation, self.source)).expanduser()
                if path.is_dir() or any(mark in str(path) for mark in "*?["):
                    return []
            raise

    def begins(self, schema: SchemaLike | None) -> tuple[_native.Schema, list[_native.Table]]:
        """The schema of the table, and what is there already."""
        try:
            made = self._read()
        except FileNotFoundError as raised:
            if isinstance(raised, MissingFileError):
                raise
            missing = MissingFileError(f"{self.operation}: {raised.filename}: no such file or directory")
            missing.errno, missing.filename = raised.errno, raised.filename
            raise missing from None
        if made:
            self._schema = made[0].schema()
        elif schema is not None:
            self._schema = Schema(schema)._native
        else:
            raise ValueError(
                f"{self.operation}: no whole file is there yet, so that nothing says what columns there are; give schema="
            )
        return self._schema, made

    def _read(self) -> list[_native.Table]:
        """The files that came since the last time, each as a table."""
        made: list[_native.Table] = []
        given = self._files()
        there = {path for path, _, _, _ in given if path is not None}
        for seen, known in self._seen.items():
            try:
                now = self._stat(seen) if seen in there else None
            except OSError:
                now = None
            if now != known:
                what = "was removed" if now is None else "was written anew"
                raise StorageError(f"{self.operation}: {seen} {what} after it was read; a table of files only grows")
        for one in given:
            path = one[0]
            if path is None:
                raise TypeError(f"{self.operation}: files of this machine are followed, not {one[1]}")
            if path not in self._seen:
                table = self._one(path, one)
                if table is None:
                    # Later files wait for it: rows come in the order of names.
                    break
                made.append(table)
        return made

    def _one(self, path: str, one: Given) -> _native.Table | None:
        """A file as a table; None if it may still grow."""
        stat = self._stat(path)
        size, since = self._growing.get(path, (-1, 0.0))
        now = time.monotonic()
        if size != stat[0]:
            self._growing[path] = (stat[0], now)
            since = now
        settled = now - since >= self._settle
        if not settled and not self._is_whole(path):
            return None
        try:
            table, refused = _native.read_files(self.operation, self.kind, [one], self.chosen, None, self._schema)
        except DataError:
            if settled:
                raise
            return None
        if self._stat(path) != stat:
            # It was written to while it was read.
            return None
        self._growing.pop(path, None)
        self._seen[path] = stat
        self._schema = self._schema or table.schema()
        tell(self.operation, self.chosen["on_error"], refused, self._dead_letter)
        return table

    def _is_whole(self, path: str) -> bool:
        """Whether a file of text ends with a line; other formats say so themselves."""
        if self.kind not in ("csv", "json") or path.endswith((".gz", ".zst")):
            return True
        with Path(path).open("rb") as file:
            if file.seek(0, os.SEEK_END) == 0:
                return False
            file.seek(-1, os.SEEK_END)
            return file.read(1) in b"\n]"

    def take(self, table: FileTable) -> int:
        """Append the files that came."""
        made = self._read()
        for one in made:
            table._source.append(Table(one))
        return len(made)


def _scan(
    operation: str,
    kind: str,
    source: object,
    chosen: dict[str, Any],
    refresh: Refresh,
    every: object,
    settle: object,
    schema: SchemaLike | None,
    graph: Graph | None,
    dead_letter: AppendTable | None = None,
) -> Table:
    pause = pause_of(operation, every)
    patience = nanoseconds(settle, f"{operation}: settle") / 1e9  # type: ignore[arg-type]
    followed = _Followed(operation, kind, source, chosen, dead_letter, patience)
    own, there = followed.begins(schema)
    graph = graph_for_source(graph)
    table = FileTable(
        _native.Source.append_table(graph._native, own, (100_000_000, "error", None, None, False)), followed
    )
    for one in there:
        table._source.append(Table(one))
    if refresh == "auto":
        followed.follow(table, pause)
    return table


@checked
def scan_parquet(
    source: object,
    *,
    columns: Sequence[str] | None = None,
    refresh: Refresh = "static",
    every: object = 1.0,
    settle: object = 10.0,
    schema: SchemaLike | None = None,
    graph: Graph | None = None,
) -> Table:
    """A table over Parquet files that stay where they are: pages are read as their cells are touched.

    A filter that compares columns with constants passes over the row groups and pages of which the statistics, and the
    directories, say that no row of them can hold; its result is that of a filter on a copy. Of a column that no operation
    reads, nothing is read. Pages that were read last are kept, up to 256 MB.

    With ``refresh="auto"`` or ``"manual"`` it is a live append-only table: files that come are rows at the end, in the order of
    their names. Its rows are in memory.

    Args:
        source: a path, a pattern, a directory, or a list of these. Directories called ``key=value`` are columns.
        columns: the columns of the table, in this order.
        refresh: ``"static"`` has the files that are there now; ``"auto"`` looks for new ones each `every`, ``"manual"`` when
            `FileTable.refresh` is called.
        every: how long between two looks, in seconds or as a duration.
        settle: a file that does not end as a whole one is waited for while it grows and so long after; then the table fails
            and names it.
        schema: names and types, where no file may be there yet.
        graph: where a live table lives; the default graph without it.

    Raises:
        MissingFileError: there is no such file.
        DataError: a file that is no Parquet, or no whole one; with its name.
        SchemaError: a file that does not have the columns of the first, in their types.

    A file that is removed or written anew fails a live table, and the error names the file.
    """
    chosen = wanted("scan_parquet", columns=columns)
    one_of("scan_parquet", "refresh", refresh, REFRESH)
    if refresh == "static":
        given = found("scan_parquet", "parquet", source)
        table, _ = _native.scan_parquet("scan_parquet", given, chosen, _ROOM)
        return Table(table)
    return _scan("scan_parquet", "parquet", source, chosen, refresh, every, settle, schema, graph)


@checked
def scan_csv(
    source: object,
    *,
    columns: Sequence[str] | None = None,
    schema_overrides: SchemaLike | None = None,
    has_header: bool = True,
    separator: str = ",",
    quote_char: str | None = '"',
    comment_prefix: str | None = None,
    null_values: str | Sequence[str] = (),
    infer_schema_length: int | None = 1000,
    try_parse_dates: bool = False,
    on_error: OnError = "fail",
    dead_letter: AppendTable | None = None,
    refresh: Refresh = "static",
    every: object = 1.0,
    settle: object = 10.0,
    schema: SchemaLike | None = None,
    graph: Graph | None = None,
) -> Table:
    r"""A table of CSV files that come: see `read_csv` for how they are read, `scan_parquet` for how they are followed.

    Args:
        source: a path, a pattern, a directory, or a list of these.
        columns: as in `read_csv`.
        schema_overrides: as in `read_csv`.
        has_header: as in `read_csv`.
        separator: as in `read_csv`.
        quote_char: as in `read_csv`.
        comment_prefix: as in `read_csv`.
        null_values: as in `read_csv`.
        infer_schema_length: as in `read_csv`; all files have the types of the first.
        try_parse_dates: as in `read_csv`.
        on_error: as in `read_csv`; ``"fail"`` fails the table.
        dead_letter: as in `read_csv`.
        refresh: as in `scan_parquet`.
        every: as in `scan_parquet`.
        settle: as in `scan_parquet`; a whole file ends with a line.
        schema: names and types, where no file may be there yet.
        graph: where a live table lives; the default graph without it.

    >>> import pathlib, tempfile, tickframe as tf
    >>> graph = tf.Graph()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = pathlib.Path(folder, "1.csv").write_text("sym,px\nA,1.5\n")
    ...     trades = tf.scan_csv(folder, refresh="manual", graph=graph)
    ...     last = trades.group_by("sym").agg(tf.col("px").last())
    ...     written = pathlib.Path(folder, "2.csv").write_text("sym,px\nB,7.0\nA,2.5\n")
    ...     trades.refresh(), graph.step(), last.to_dicts()
    (1, 1, [{'sym': 'A', 'px': 2.5}, {'sym': 'B', 'px': 7.0}])
    """
    chosen = wanted(
        "scan_csv",
        columns=columns,
        schema_overrides=schema_overrides,
        has_header=has_header,
        separator=separator,
        quote_char=quote_char,
        comment_prefix=comment_prefix,
        null_values=null_values,
        infer_schema_length=infer_schema_length,
        try_parse_dates=try_parse_dates,
        on_error=on_error,
        schema=schema,
    )
    one_of("scan_csv", "refresh", refresh, REFRESH)
    if refresh == "static":
        return read("scan_csv", "csv", source, chosen, None, dead_letter)
    return _scan("scan_csv", "csv", source, chosen, refresh, every, settle, schema, graph, dead_letter)


@checked
def scan_ndjson(
    source: object,
    *,
    columns: Sequence[str] | None = None,
    schema_overrides: SchemaLike | None = None,
    infer_schema_length: int | None = 1000,
    on_error: OnError = "fail",
    dead_letter: AppendTable | None = None,
    refresh: Refresh = "static",
    every: object = 1.0,
    settle: object = 10.0,
    schema: SchemaLike | None = None,
    graph: Graph | None = None,
) -> Table:
    """A table of files of JSON lines that come: see `read_json` for how they are read, `scan_parquet` for how they are followed.

    >>> import pathlib, tempfile, tickframe as tf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tf.table({"x": [1, 2]}).write_ndjson(pathlib.Path(folder, "1.ndjson"))
    ...     t = tf.scan_ndjson(folder, refresh="manual", graph=tf.Graph())
    ...     tf.table({"x": [3]}).write_ndjson(pathlib.Path(folder, "2.ndjson"))
    ...     _ = t.refresh(), t.graph.step()
    >>> t.to_dict()
    {'x': [1, 2, 3]}

    Args:
        source: a path, a pattern, a directory, or a list of these.
        columns: as in `read_json`.
        schema_overrides: as in `read_json`.
        infer_schema_length: as in `read_json`; all files have the types of the first.
        on_error: as in `read_json`; ``"fail"`` fails the table.
        dead_letter: as in `read_csv`.
        refresh: as in `scan_parquet`.
        every: as in `scan_parquet`.
        settle: as in `scan_parquet`; a whole file ends with a line.
        schema: names and types, where no file may be there yet.
        graph: where a live table lives; the default graph without it.
    """
    chosen = wanted(
        "scan_ndjson",
        columns=columns,
        schema_overrides=schema_overrides,
        infer_schema_length=infer_schema_length,
        on_error=on_error,
        schema=schema,
    )
    one_of("scan_ndjson", "refresh", refresh, REFRESH)
    if refresh == "static":
        return read("scan_ndjson", "json", source, chosen, None, dead_letter)
    return _scan("scan_ndjson", "json", source, chosen, refresh, every, settle, schema, graph, dead_letter)


@checked
def scan_ipc(
    source: object,
    *,
    columns: Sequence[str] | None = None,
    refresh: Refresh = "static",
    every: object = 1.0,
    settle: object = 10.0,
    schema: SchemaLike | None = None,
    graph: Graph | None = None,
) -> Table:
    """A table of Arrow IPC files that come: see `read_ipc` for how they are read, `scan_parquet` for how they are followed.

    >>> import pathlib, tempfile, tickframe as tf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tf.table({"x": [1, 2]}).write_ipc(pathlib.Path(folder, "1.arrow"))
    ...     t = tf.scan_ipc(folder, refresh="manual", graph=tf.Graph())
    ...     tf.table({"x": [3]}).write_ipc(pathlib.Path(folder, "2.arrow"))
    ...     _ = t.refresh(), t.graph.step()
    ...     rows = t.to_dict()
    >>> rows
    {'x': [1, 2, 3]}

    Args:
        source: a path, a pattern, a directory, or a list of these.
        columns: the columns of the table, in this order.
        refresh: as in `scan_parquet`.
        every: as in `scan_parquet`.
        settle: as in `scan_parquet`.
        schema: names and types, where no file may be there yet.
        graph: where a live table lives; the default graph without it.
    """
    chosen = wanted("scan_ipc", columns=columns)
    one_of("scan_ipc", "refresh", refresh, REFRESH)
    if refresh == "static":
        return read("scan_ipc", "ipc", source, chosen)
    return _scan("scan_ipc", "ipc", source, chosen, refresh, every, settle, schema, graph)
