"""Tables of Delta Lake: as they are at a version, and followed from version to version."""

from __future__ import annotations

import functools
import operator
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tickframe import _native
from tickframe._native import RowSet
from tickframe.arguments import checked
from tickframe.describe import short
from tickframe.errors import ColumnNotFoundError, DataError, MissingFileError, SchemaError
from tickframe.graph import graph_for_source
from tickframe.looking import REFRESH, Looking, pause_of
from tickframe.optional import optional
from tickframe.paths import one_of
from tickframe.schema import Schema
from tickframe.sources import FileTable
from tickframe.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tickframe.graph import Graph
    from tickframe.looking import Refresh

__all__ = ["read_delta", "scan_delta"]


@checked
def read_delta(source: object, *, version: int | None = None, columns: Sequence[str] | None = None) -> Table:
    """A static table of a Delta table, as of a version. Needs deltalake.

    Rows that deletion vectors take out are left out. The order of rows is that of the files, by their time.

    >>> import tempfile, tickframe as tf
    >>> from deltalake import write_deltalake
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for n in (1, 2):
    ...         write_deltalake(folder, tf.table({"sym": ["A"], "n": [n]}).to_arrow(), mode="append")
    ...     first, newest = tf.read_delta(folder, version=0), tf.read_delta(folder, columns=["n"])
    >>> first.rows(), newest.height
    ([('A', 1)], 2)

    Args:
        source: the path or address of the table.
        version: which; the newest without it.
        columns: the columns that are read, in this order.

    Raises:
        MissingFileError: there is no Delta table at this place.
        ColumnNotFoundError: an unknown column.
        DataError: a log, a file or a deletion vector that cannot be read.
    """
    delta = _Delta("read_delta", source, version, columns)
    files = delta.files()
    return Table(_native.table("read_delta", delta.joined([delta.rows(file) for file in files]), None, None))


@checked
def scan_delta(
    source: object,
    *,
    columns: Sequence[str] | None = None,
    refresh: Refresh = "auto",
    every: object = 1.0,
    graph: Graph | None = None,
) -> Table:
    """A live table that follows a Delta table: each new version is one update. Needs deltalake.

    Rows of files that came are added; rows of files that went, and those that deletion vectors take out, are removed. Only files
    that are new are read. Where a version writes rows anew (an update, a merge, a compaction), they are removed and added.

    Args:
        source: the path or address of the table.
        columns: the columns of the table, in this order.
        refresh: ``"auto"`` looks for new versions each `every`, ``"manual"`` when `FileTable.refresh` is called;
            ``"static"`` is `read_delta`.
        every: how long between two looks, in seconds or as a duration.
        graph: where the table lives; the default graph without it.

    Raises:
        MissingFileError: there is no Delta table at this place.
        ColumnNotFoundError: an unknown column.
        DataError: a log, a file or a deletion vector that cannot be read; a live table fails with it.
        SchemaError: a version with other columns or types; the live table fails with it.
    """
    one_of("scan_delta", "refresh", refresh, REFRESH)
    if refresh == "static":
        return read_delta(source, columns=columns)
    pause = pause_of("scan_delta", every)
    delta = _Delta("scan_delta", source, None, columns)
    followed = _Followed(delta)
    graph = graph_for_source(graph)
    own = Schema(delta.schema())._native
    table = FileTable(
        _native.Source.input_table(graph._native, own, (100_000_000, "error", None, None, False)), followed
    )
    followed.begin(table)
    if refresh == "auto":
        followed.follow(table, pause)
    return table


@dataclass(frozen=True)
class _File:
    """A file of a version, and which of its rows a deletion vector takes out."""

    path: str
    uri: str
    partition: tuple[tuple[str, Any], ...]
    deleted: RowSet


class _Delta:
    """A Delta table as its own package reads the log."""

    def __init__(self, operation: str, source: object, version: int | None, columns: Sequence[str] | None) -> None:
        self.operation = operation
        self._package = optional("deltalake", operation, "delta")
        self._arrow = optional("pyarrow", operation, "delta")
        place: Any = os.fspath(source) if isinstance(source, os.PathLike) else source
        if not isinstance(place, str):
            raise TypeError(f"{operation}: source is a path or an address, not {short(source)}")
        self._place = place
        self._columns = None if columns is None else list(columns)
        self._held = self._call(lambda: self._package.DeltaTable(place, version=version))
        self._refuse_mapping()
        for name in self._columns or ():
            if name not in self._whole().names:
                names = self._whole().names
                error = ColumnNotFoundError(f"{operation}: no column {short(name)}; the columns are {names}")
                error.column, error.columns = name, names
                raise error

    def _call(self, ask: Any) -> Any:
        """What the package answers; its errors as ours."""
        errors = self._package.exceptions
        try:
            return ask()
        except errors.TableNotFoundError as raised:
            missing = MissingFileError(f"{self.operation}: {self._place}: there is no Delta table: {raised}")
            missing.errno, missing.filename = 2, self._place
            raise missing from raised
        except (errors.DeltaError, self._arrow.ArrowInvalid, OSError) as raised:
            raise DataError(f"{self.operation}: {self._place}: {raised}") from raised

    def _refuse_mapping(self) -> None:
        mode = self._held.metadata().configuration.get("delta.columnMapping.mode", "none")
        if mode != "none":
            raise DataError(
                f"{self.operation}: {self._place} maps its columns to other names in its files (delta.columnMapping.mode="
                f"{mode}), which is not read yet; deltalake.DeltaTable(path).scan() reads it: tf.table(...) of that"
            )

    @property
    def version(self) -> int:
        """The version that is held."""
        return int(self._held.version())

    def newer(self) -> bool:
        """Take up what the log has since; whether it has something."""
        before = self.version
        self._call(self._held.update_incremental)
        self._refuse_mapping()
        return self.version != before

    def _whole(self) -> Any:
        return self._arrow.schema(self._held.schema().to_arrow())

    def schema(self) -> Any:
        """The columns that are wanted, as Arrow has them."""
        whole = self._whole()
        return whole if self._columns is None else self._arrow.schema([whole.field(name) for name in self._columns])

    def files(self) -> list[_File]:
        """The files of the version, by their time."""
        added = self._arrow.table(self._call(lambda: self._held.get_add_actions(flatten=True))).to_pylist()
        added.sort(key=lambda each: (each["modification_time"], each["path"]))
        places = {self._relative(uri): uri for uri in self._held.file_uris()}
        deleted = self._deleted()
        return [
            _File(
                each["path"],
                places[self._relative(each["path"])],
                tuple((name[10:], value) for name, value in each.items() if name.startswith("partition.")),
                deleted.get(self._relative(each["path"]), RowSet([])),
            )
            for each in added
        ]

    def _relative(self, path: str) -> str:
        """A path of the log, from the folder of the table on."""
        root = self._held.table_uri.rstrip("/")
        for start in (root, root.removeprefix("file://")):
            if path.startswith(start + "/"):
                return path[len(start) + 1 :]
        return path

    def _deleted(self) -> dict[str, RowSet]:
        """Of files that have deletion vectors, the places of rows that are out."""
        if "deletionVectors" not in (self._held.protocol().reader_features or ()):
            return {}
        told = self._arrow.table(self._call(self._held.deletion_vectors))
        compute = optional("pyarrow.compute", self.operation, "delta")
        out = [compute.indices_nonzero(compute.invert(kept.values)) for kept in told["selection_vector"]]
        files = told["filepath"].to_pylist()
        return {self._relative(file): RowSet(rows) for file, rows in zip(files, out, strict=True)}

    def rows(self, file: _File) -> Any:
        """All rows of a file, those too that are out."""
        arrow, schema = self._arrow, self.schema()
        of_file = [name for name in schema.names if name not in dict(file.partition)]
        parquet = optional("pyarrow.parquet", self.operation, "delta")
        uri = file.uri if "://" in file.uri else f"file://{file.uri}"

        def read() -> Any:
            system, path = arrow.fs.FileSystem.from_uri(uri)
            with system.open_input_file(path) as opened:
                there = parquet.ParquetFile(opened)
                # A column that the table gained later is in no older file.
                names = [name for name in of_file if name in there.schema_arrow.names]
                return there.read(columns=names), there.metadata.num_rows

        optional("pyarrow.fs", self.operation, "delta")
        held, count = self._call(read)
        given = dict(file.partition)
        cells = []
        for field in schema:
            if field.name in held.schema.names:
                cells.append(held[field.name].cast(field.type))
            elif field.name in given:
                cells.append(arrow.repeat(arrow.scalar(given[field.name], field.type), count))
            else:
                cells.append(arrow.nulls(count, field.type))
        whole = arrow.table(cells, schema=schema) if cells else held
        return whole if self.operation == "scan_delta" else self.kept(whole, file.deleted)

    def kept(self, rows: Any, deleted: RowSet) -> Any:
        """The rows that no deletion vector takes out."""
        return self.at(rows, RowSet(range(rows.num_rows)) - deleted) if deleted else rows

    def at(self, rows: Any, places: RowSet) -> Any:
        """The rows at these places."""
        return self._arrow.concat_tables(
            [rows.slice(first, last - first + 1) for first, last in places.ranges()] or [rows.slice(0, 0)]
        )

    def joined(self, parts: Sequence[Any]) -> Any:
        """Rows of several files as one table."""
        return self._arrow.concat_tables(parts) if parts else self.schema().empty_table()


class _Followed(Looking):
    """A Delta table that is followed: where the rows of each file are."""

    def __init__(self, delta: _Delta) -> None:
        super().__init__("scan_delta")
        self._delta = delta
        self._schema = delta.schema()
        #: For each file its first row key, how many rows it has, and which of them are out.
        self._at: dict[str, tuple[int, int, RowSet]] = {}
        self._next = 0

    def begin(self, table: FileTable) -> None:
        """Bring the rows of the version that is held."""
        self._bring(table)

    def take(self, table: FileTable) -> int:
        """Bring what a newer version has, as one update."""
        if not self._delta.newer():
            return 0
        if self._delta.schema() != self._schema:
            raise SchemaError(
                f"scan_delta: version {self._delta.version} has other columns: {Schema(self._delta.schema())!r} and not "
                f"{Schema(self._schema)!r}; scan it anew"
            )
        return self._bring(table)

    def _bring(self, table: FileTable) -> int:
        now = {file.path: file for file in self._delta.files()}
        gone = [path for path in self._at if path not in now]
        removed = _together(_keys(first, RowSet(range(count)) - out) for first, count, out in map(self._at.pop, gone))
        added: list[tuple[RowSet, Any]] = []
        read = 0
        for path, file in now.items():
            if path in self._at:
                first, count, before = self._at[path]
                removed |= _keys(first, file.deleted - before)
                if back := before - file.deleted:
                    # An older version was restored.
                    added.append((_keys(first, back), self._delta.at(self._delta.rows(file), back)))
            else:
                rows = self._delta.rows(file)
                first, count = self._next, rows.num_rows
                self._next += count
                added.append((_keys(first, RowSet(range(count)) - file.deleted), self._delta.kept(rows, file.deleted)))
                read += 1
            self._at[path] = (first, count, file.deleted)
        added.sort(key=lambda each: each[0].key_at(0) if each[0] else 0)
        keys = _together(of for of, _ in added)
        if keys:
            rows = Table(_native.table("scan_delta", self._delta.joined([rows for _, rows in added]), None, None))
            table._source.apply((keys, rows), removed or None, None, None)
        elif removed:
            table._source.apply(None, removed, None, None)
        return read


def _keys(first: int, places: RowSet) -> RowSet:
    """The row keys of rows of a file whose first has this one."""
    return RowSet([(first + begin, first + end) for begin, end in places.ranges()])


def _together(sets: Iterable[RowSet]) -> RowSet:
    return functools.reduce(operator.or_, sets, RowSet([]))
