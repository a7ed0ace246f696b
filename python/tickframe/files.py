"""Files as static tables: CSV, JSON, Parquet and Arrow IPC by the engine; ORC, Delta and Iceberg through their own packages.

A path may be a file, a pattern (``"day=*/*.parquet"``), a directory, a list of these, bytes, or an object with ``read()``.
Directories called ``key=value`` are columns. ``.gz`` and ``.zst`` are read as what they hold. A path with a scheme
(``s3://bucket/day=1``) is read through fsspec, if that is installed.
"""

from __future__ import annotations

import io
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from tickframe import _native
from tickframe.arguments import checked, count
from tickframe.describe import named, short
from tickframe.dtypes import Int64, String
from tickframe.errors import DataError, MissingFileError
from tickframe.logs import report
from tickframe.optional import optional
from tickframe.paths import one_of, path_of, texts
from tickframe.schema import Schema
from tickframe.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tickframe.arguments import OnError
    from tickframe.schema import SchemaLike
    from tickframe.sources import AppendTable

__all__ = [
    "DEAD_LETTERS",
    "read_csv",
    "read_ipc",
    "read_json",
    "read_orc",
    "read_parquet",
]

ENDINGS = {
    "csv": [".csv", ".tsv", ".csv.gz", ".csv.zst", ".tsv.gz", ".tsv.zst"],
    "json": [
        ".json",
        ".ndjson",
        ".jsonl",
        ".json.gz",
        ".ndjson.gz",
        ".jsonl.gz",
        ".json.zst",
        ".ndjson.zst",
        ".jsonl.zst",
    ],
    "parquet": [".parquet", ".pq"],
    "ipc": [".arrow", ".feather", ".ipc", ".arrows"],
    "orc": [".orc"],
}
"""What files of a directory end with."""

Given: TypeAlias = "tuple[str | None, str, bytes | None, list[tuple[str, str | None]]]"
Progress: TypeAlias = "Callable[[int, int], object]"
Refused: TypeAlias = "list[tuple[str, int, str, str]]"

DEAD_LETTERS = Schema({"source": String, "position": Int64, "record": String, "reason": String})
"""The columns of a table of dead letters: the file, the line in it where the record begins, the record, what is wrong."""

WANTED: dict[str, Any] = {
    "columns": None,
    "n_rows": None,
    "schema": None,
    "schema_overrides": None,
    "infer_schema_length": 1000,
    "on_error": "fail",
    "null_values": [],
    "separator": ",",
    "quote_char": '"',
    "comment_prefix": None,
    "has_header": True,
    "skip_rows": 0,
    "try_parse_dates": False,
    "strict": False,
}


def found(operation: str, kind: str, source: object) -> list[Given]:
    """The files that a caller names."""
    if isinstance(source, (list, tuple)):
        return [one for each in source for one in _found(operation, kind, each)]
    return _found(operation, kind, source)


def _found(operation: str, kind: str, source: object) -> list[Given]:
    if isinstance(source, (bytes, bytearray, memoryview)):
        return [(None, "bytes", bytes(source), [])]
    if hasattr(source, "read"):
        held = source.read()
        name = getattr(source, "name", None)
        data = held.encode() if isinstance(held, str) else held
        if not isinstance(data, bytes):
            raise TypeError(f"{operation}: read() of {named(source)} gave {named(data)}; bytes or text are read")
        return [(None, name if isinstance(name, str) else named(source), data, [])]
    if not isinstance(source, (str, os.PathLike)):
        raise TypeError(
            f"{operation}: give a path, a pattern, a list of paths, bytes, or an object with read(), not {named(source)}"
        )
    path = path_of(operation, source)
    if "://" in path:
        return _remote(operation, kind, path)
    there = _native.find_files(operation, str(Path(path).expanduser()), ENDINGS[kind])
    if not there:
        raise _native_missing(operation, path, kind)
    return [(str(one), str(one), None, partitions) for one, partitions in there]


def _native_missing(operation: str, path: str, kind: str) -> Exception:
    if Path(path).is_dir():
        text = f"{operation}: {path}: no file in it ends with {' or '.join(ENDINGS[kind][:3])}"
    else:
        text = f"{operation}: {path}: no file is called so"
    missing = MissingFileError(text)
    missing.errno, missing.filename = 2, path
    return missing


def _remote(operation: str, kind: str, path: str) -> list[Given]:
    """Files that fsspec knows how to reach."""
    fsspec = optional("fsspec", f"{operation} of {path.split('://', 1)[0]}://", "remote")
    system, root = fsspec.core.url_to_fs(path)
    if any(mark in root for mark in "*?["):
        names = sorted(system.glob(root))
    elif system.isdir(root):
        names = sorted(name for name in system.find(root) if name.endswith(tuple(ENDINGS[kind])))
    else:
        names = [root]
    if not names:
        raise _native_missing(operation, path, kind)
    made: list[Given] = []
    for name in names:
        below = name[len(root) :].split("/")[:-1] if name.startswith(root) else []
        parts = [part.split("=", 1) for part in below if "=" in part]
        made.append((None, name, system.cat_file(name), [(key, value) for key, value in parts]))
    return made


def wanted(operation: str, **given: Any) -> dict[str, Any]:
    """What the engine is asked for: of what was not given, what is meant by that."""
    chosen = {**WANTED, **given}
    for one in ("schema", "schema_overrides"):
        if chosen[one] is not None:
            chosen[one] = Schema(chosen[one])._native
    if chosen["columns"] is not None:
        chosen["columns"] = texts(operation, "columns", chosen["columns"])
    for one in ("n_rows", "infer_schema_length", "skip_rows"):
        if chosen[one] is not None:
            chosen[one] = count(chosen[one], f"{operation}: {one}")
    for one in ("separator", "quote_char", "comment_prefix"):
        letter = chosen[one]
        if letter is None and one != "separator":
            continue
        if not isinstance(letter, str) or len(letter) != 1 or not letter.isascii() or letter in "\r\n":
            raise ValueError(f"{operation}: {one} is one ASCII character, not {short(letter)}")
    if chosen["separator"] == chosen["quote_char"]:
        raise ValueError(f"{operation}: separator and quote_char are both {short(chosen['separator'])}")
    chosen["null_values"] = texts(operation, "null_values", chosen["null_values"])
    return chosen


def read(
    operation: str,
    kind: str,
    source: object,
    chosen: dict[str, Any],
    progress: Progress | None = None,
    dead_letter: AppendTable | None = None,
) -> Table:
    """Read what a caller names; what was not taken as it is goes to `dead_letter`, or is told in the log."""
    if progress is not None and not callable(progress):
        raise TypeError(f"{operation}: progress is a function of two numbers, not {named(progress)}")
    if dead_letter is not None and not hasattr(dead_letter, "append"):
        raise TypeError(f"{operation}: dead_letter is a table with append(), not {named(dead_letter)}")
    table, refused = _native.read_files(operation, kind, found(operation, kind, source), chosen, progress, None)
    tell(operation, chosen["on_error"], refused, dead_letter)
    return Table(table)


def tell(operation: str, on_error: str, refused: Refused, dead_letter: AppendTable | None) -> None:
    """Nothing is left out in silence."""
    if not refused:
        return
    if dead_letter is not None:
        columns = zip(DEAD_LETTERS.names(), zip(*refused, strict=True), strict=True)
        dead_letter.append({name: list(values) for name, values in columns})
        return
    source, position, _, reason = refused[0]
    what = "left out" if on_error == "drop" else "taken with nulls"
    many = f"{len(refused):,} records were" if len(refused) > 1 else "1 record was"
    report(logging.WARNING, f"{operation}: {many} {what}; the first: {source}, line {position}: {reason}")


@checked
def read_csv(
    source: object,
    *,
    columns: Sequence[str] | None = None,
    schema: SchemaLike | None = None,
    schema_overrides: SchemaLike | None = None,
    has_header: bool = True,
    separator: str = ",",
    quote_char: str | None = '"',
    comment_prefix: str | None = None,
    null_values: str | Sequence[str] = (),
    skip_rows: int = 0,
    n_rows: int | None = None,
    infer_schema_length: int | None = 1000,
    try_parse_dates: bool = False,
    on_error: OnError = "fail",
    dead_letter: AppendTable | None = None,
    progress: Progress | None = None,
) -> Table:
    r"""A static table of CSV files.

    An unquoted empty field is null, a quoted one the empty text. Integers beyond 64 bits stay texts, so that no digit is lost.

    Args:
        source: a path, a pattern, a directory, a list of these, bytes, or an object with ``read()``; ``.gz`` and ``.zst`` too.
        columns: the columns that are read, in this order.
        schema: names and types of all columns. With a header they are matched by name, without one by place.
        schema_overrides: types of some columns; those of the others are inferred.
        has_header: whether the first record names the columns; else they are ``column_1``, ``column_2`` …
        separator: one character between fields.
        quote_char: what fields stand in that hold separators or line breaks; None for no such thing.
        comment_prefix: lines that begin with this character are passed over.
        null_values: fields that are null.
        skip_rows: so many lines are passed over before the header.
        n_rows: so many rows are read.
        infer_schema_length: types are inferred of so many records; None looks at the first megabyte.
        try_parse_dates: whether texts like ``2024-05-01`` and ``2024-05-01T10:00:00Z`` become dates and instants.
        on_error: a record that cannot be read fails the call (``"fail"``), has nulls (``"null"``), or is left out (``"drop"``).
        dead_letter: an append table with the columns `DEAD_LETTERS`, to which records go that were not taken as they are;
            without one the log tells how many.
        progress: called with bytes done and bytes in all.

    Raises:
        MissingFileError: there is no such file.
        DataError: a cell is not of its column's type, a record has too few fields; with file, line and column.
        SchemaError: columns that the schema or the first file does not have.

    >>> import tickframe as tf
    >>> tf.read_csv(b"sym,px\nA,1.5\nB,\n").to_dicts()
    [{'sym': 'A', 'px': 1.5}, {'sym': 'B', 'px': None}]
    >>> tf.read_csv(b"sym,px\nA,1.5\nB,two\n", schema_overrides={"px": float})
    Traceback (most recent call last):
    ...
    tickframe.errors.DataError: read_csv: bytes, line 3, column "px": "two" is no Float64; schema_overrides= gives the column another type, infer_schema_length=None looks further, on_error="null" or "drop" goes on
    """
    chosen = wanted(
        "read_csv",
        columns=columns,
        schema=schema,
        schema_overrides=schema_overrides,
        has_header=has_header,
        separator=separator,
        quote_char=quote_char,
        comment_prefix=comment_prefix,
        null_values=null_values,
        skip_rows=skip_rows,
        n_rows=n_rows,
        infer_schema_length=infer_schema_length,
        try_parse_dates=try_parse_dates,
        on_error=on_error,
    )
    return read("read_csv", "csv", source, chosen, progress, dead_letter)


@checked
def read_json(
    source: object,
    *,
    columns: Sequence[str] | None = None,
    schema: SchemaLike | None = None,
    schema_overrides: SchemaLike | None = None,
    n_rows: int | None = None,
    infer_schema_length: int | None = 1000,
    extra_fields: Literal["ignore", "error"] = "ignore",
    on_error: OnError = "fail",
    dead_letter: AppendTable | None = None,
    progress: Progress | None = None,
) -> Table:
    r"""A static table of JSON: a record on each line, or one array of records; told apart by the first character.

    A field that a record does not have is null. Objects are structs, arrays are lists. Integers of 64 bits are exact; a column
    of whole numbers takes no fraction. A field of several kinds is a text: its JSON.

    Args:
        source: as in `read_csv`.
        columns: the columns that are read, in this order.
        schema: names and types of all columns.
        schema_overrides: types of some columns, also of those that no record of the sample has.
        n_rows: so many rows are read.
        infer_schema_length: types are inferred of so many records; None looks at the first megabyte.
        extra_fields: a field that is no column is passed over (``"ignore"``), or an ``"error"``.
        on_error: as in `read_csv`.
        dead_letter: as in `read_csv`.
        progress: called with bytes done and bytes in all.

    Raises:
        MissingFileError: there is no such file.
        DataError: text that is no JSON, a value that is not of its column's type; with file, line and column.

    >>> import tickframe as tf
    >>> tf.read_json(b'{"sym": "A", "px": 1.5}\n{"sym": "B"}\n').to_dicts()
    [{'sym': 'A', 'px': 1.5}, {'sym': 'B', 'px': None}]
    >>> tf.read_json(b'[{"n": 9007199254740993, "tags": ["x"]}]').to_dicts()
    [{'n': 9007199254740993, 'tags': ['x']}]
    """
    chosen = wanted(
        "read_json",
        columns=columns,
        schema=schema,
        schema_overrides=schema_overrides,
        n_rows=n_rows,
        infer_schema_length=infer_schema_length,
        strict=_extra("read_json", extra_fields),
        on_error=on_error,
    )
    return read("read_json", "json", source, chosen, progress, dead_letter)


def _extra(operation: str, extra_fields: str) -> bool:
    one_of(operation, "extra_fields", extra_fields, ("ignore", "error"))
    return extra_fields == "error"


@checked
def read_parquet(
    source: object,
    *,
    columns: Sequence[str] | None = None,
    n_rows: int | None = None,
    progress: Progress | None = None,
) -> Table:
    """A static table of Parquet files, in memory. `scan_parquet` leaves them where they are.

    Args:
        source: as in `read_csv`. Directories called ``key=value`` are columns after those of the files.
        columns: the columns that are read, in this order.
        n_rows: so many rows are read.
        progress: called with bytes done and bytes in all.

    Raises:
        MissingFileError: there is no such file.
        DataError: a file that is no Parquet, or no whole one; with its name.
        SchemaError: a file that does not have the columns of the first, in their types.
    """
    chosen = wanted("read_parquet", columns=columns, n_rows=n_rows)
    return read("read_parquet", "parquet", source, chosen, progress)


@checked
def read_ipc(
    source: object,
    *,
    columns: Sequence[str] | None = None,
    n_rows: int | None = None,
    progress: Progress | None = None,
) -> Table:
    """A static table of Arrow IPC, files or streams; Feather is that.

    >>> import pathlib, tempfile, tickframe as tf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "quotes.arrow")
    ...     tf.table({"sym": ["A", "B", "A"], "px": [1.5, 2.5, 3.5]}).write_ipc(path)
    ...     t = tf.read_ipc(path, columns=["px"], n_rows=2)
    >>> t.to_dict()
    {'px': [1.5, 2.5]}

    Args:
        source: as in `read_csv`.
        columns: the columns that are read, in this order.
        n_rows: so many rows are read.
        progress: called with bytes done and bytes in all.

    Raises:
        MissingFileError: there is no such file.
        DataError: a file that is no Arrow IPC, or no whole one; with its name.
    """
    return read("read_ipc", "ipc", source, wanted("read_ipc", columns=columns, n_rows=n_rows), progress)


@checked
def read_orc(source: object, *, columns: Sequence[str] | None = None) -> Table:
    """A static table of ORC files. Needs pyarrow.

    >>> import pathlib, tempfile, tickframe as tf
    >>> import pyarrow as pa
    >>> from pyarrow import orc
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "quotes.orc")
    ...     orc.write_table(pa.table({"sym": ["A", "B"], "px": [1.5, 2.5]}), path)
    ...     t = tf.read_orc(path)
    >>> t.rows()
    [('A', 1.5), ('B', 2.5)]

    Args:
        source: as in `read_csv`.
        columns: the columns that are read, in this order.

    Raises:
        MissingFileError: there is no such file.
        DataError: a file that is no ORC; with its name.
    """
    chosen = None if columns is None else texts("read_orc", "columns", columns)
    orc = optional("pyarrow.orc", "read_orc", "arrow")
    tables = []
    for path, name, data, _ in found("read_orc", "orc", source):
        try:
            read_one = orc.read_table(path if data is None else io.BytesIO(data), columns=chosen)
        except (OSError, ValueError, KeyError) as raised:
            raise DataError(f"read_orc: {name}: {raised}") from raised
        tables.append(read_one if chosen is None else read_one.select(chosen))
    pyarrow = optional("pyarrow", "read_orc", "arrow")
    return Table(_native.table("read_orc", pyarrow.concat_tables(tables), None, None))
