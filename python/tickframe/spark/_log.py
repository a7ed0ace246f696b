"""Batches on disk, so that a restart finds the table as Spark believes it to be.

Each batch is one record of the engine's log: Arrow IPC bytes under the batch's number, beside what Spark read it from.
It is durable before the table shows it. A record marked *whole* holds everything up to its number.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Literal

from tickframe import _native, errors
from tickframe.spark._memory import REPLANNED
from tickframe.spark._types import pyarrow

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

NOTE = "query.json"


class BatchLog:
    """The durable batches of one streaming query. The folder belongs to it until it is closed.

    Args:
        path: a folder of this log's own; made if it is not there.
        mode: the output mode of the query; a log is read back only in the mode it was written in.
        schema: the columns of the batches.

    Raises:
        errors.CheckpointError: the folder is in use, holds something else, or was written otherwise; a record was
            damaged, with the file and the place in it.
        errors.StorageError: the disk fails.
    """

    def __init__(self, path: str | os.PathLike[str], mode: str, schema: pa.Schema) -> None:
        self.path = os.fspath(path)
        self._about = {"mode": mode, "schema": [[field.name, str(field.type)] for field in schema]}
        self._native = _native.Log(self.path)
        self._sources: dict[int, str] = {}
        try:
            note = self._native.get_note(NOTE)
            self.query_id = None if note is None else self._read_note(note)
            self.last = -1 if self._native.last is None else self._native.last
        except BaseException:
            self._native.close()
            raise

    last: int
    """The last durable batch, -1 for none."""
    query_id: str | None
    """Whose batches these are, None before the first."""

    def __len__(self) -> int:
        """The number of records."""
        return len(self._native)

    def bind(self, query_id: str) -> None:
        """Note whose batches these are; the first batch is written only after it."""
        if self.query_id != query_id:
            self._native.put_note(NOTE, json.dumps({"query_id": query_id, **self._about}).encode())
            self.query_id = query_id

    def write(self, number: int, rows: pa.Table, source: str = "", *, whole: bool = False) -> None:
        """Make one batch durable. Numbers that were passed over are noted as missing.

        Args:
            number: Spark's batch id.
            rows: what the batch holds.
            source: where Spark read it from.
            whole: the rows are the state up to this batch, and replace all records before it.
        """
        pa = pyarrow()
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, rows.schema) as writer:
            writer.write_table(rows)
        known = {**self._sources, number: source or self._sources.get(number, "")}
        known = {old: known[old] for old in sorted(known)[-REPLANNED:]}
        kind: Literal["change", "after_gap", "whole"]
        kind = "whole" if whole else "change" if number == self.last + 1 else "after_gap"
        note = json.dumps(known if whole else {number: known[number]})
        self._native.append(number, kind, note, sink.getvalue().to_pybytes())
        self._sources, self.last = known, number

    def read(self) -> Iterator[pa.Table]:
        """The durable batches in order, from the last whole one on, one at a time."""
        pa = pyarrow()
        for _, kind, note, body in self._native.read():
            sources = {int(number): str(source) for number, source in json.loads(note).items()}
            self._sources = sources if kind == "whole" else {**self._sources, **sources}
            yield pa.ipc.open_stream(pa.py_buffer(body)).read_all()

    def wants_whole(self, records: int) -> bool:
        """Whether so many records have gathered, and more bytes than the last whole one has."""
        return self._native.wants_whole(records)

    def source_of(self, number: int) -> str | None:
        """Where a durable batch was read from; None if that is not known any more."""
        return self._sources.get(number) or None

    def close(self) -> None:
        """Let the folder go. Closing twice does nothing."""
        self._native.close()

    def _read_note(self, content: bytes) -> str:
        try:
            note = json.loads(content)
            query_id = str(note.pop("query_id"))
        except (ValueError, KeyError, AttributeError) as cause:
            message = f"persist: {os.path.join(self.path, NOTE)} cannot be read: {cause}"  # noqa: PTH118 - for a message
            raise errors.CheckpointError(message) from cause
        if note != self._about:
            message = f"persist: {self.path} was written as {note}, the stream is {self._about}"
            raise errors.CheckpointError(message)
        return query_id
