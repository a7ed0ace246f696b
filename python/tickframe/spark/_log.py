"""Batches on disk, so that a restart finds the table as Spark believes it to be.

Each batch is one Arrow IPC file named by its number and written whole before the table shows it: rows and batch number
become durable in one rename. A file marked *whole* holds everything up to its number, and those before it are gone.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from tickframe import errors
from tickframe.spark._types import pyarrow

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 1


class BatchLog:
    """The durable batches of one streaming query.

    Args:
        path: a folder of this log's own; made if it is not there.
        mode: the output mode of the query; a log is read back only in the mode it was written in.
        schema: the columns of the batches.
    """

    def __init__(self, path: str | os.PathLike[str], mode: str, schema: pa.Schema) -> None:
        self.path = Path(path)
        self._note = self.path / "query.json"
        self._about = {"format": FORMAT, "mode": mode, "schema": [[field.name, str(field.type)] for field in schema]}
        self.path.mkdir(parents=True, exist_ok=True)
        self.query_id: str | None = None
        if self._note.exists():
            self.query_id = self._read_note()
        for unfinished in self.path.glob("*.part"):
            unfinished.unlink()
        self._numbers = sorted(int(file.stem.removeprefix("batch-")) for file in self.path.glob("batch-*.arrow"))

    @property
    def last(self) -> int:
        """The last durable batch, -1 for none."""
        return self._numbers[-1] if self._numbers else -1

    def __len__(self) -> int:
        """The number of files."""
        return len(self._numbers)

    def bind(self, query_id: str) -> None:
        """Note whose batches these are; the first batch is written only after it."""
        if self.query_id != query_id:
            self._commit(self._note, json.dumps({"query_id": query_id, **self._about}).encode())
            self.query_id = query_id

    def write(self, number: int, rows: pa.Table, *, whole: bool = False) -> None:
        """Make one batch durable.

        Args:
            number: Spark's batch id.
            rows: what the batch holds.
            whole: the rows are the state up to this batch, and replace all files before it.
        """
        pa = pyarrow()
        sink = pa.BufferOutputStream()
        marked = rows.replace_schema_metadata({"tickframe.whole": "1"} if whole else None)
        with pa.ipc.new_file(sink, marked.schema) as writer:
            writer.write_table(marked)
        self._commit(self._file(number), memoryview(sink.getvalue()))
        if number not in self._numbers:
            self._numbers.append(number)
        if whole:
            for older in self._numbers[:-1]:
                self._file(older).unlink()
            self._numbers = [number]

    def read(self) -> list[pa.Table]:
        """The durable batches in order, from the last whole one on."""
        pa = pyarrow()
        tables = []
        for number in reversed(self._numbers):
            table = pa.ipc.open_file(pa.memory_map(str(self._file(number)))).read_all()
            whole = (table.schema.metadata or {}).get(b"tickframe.whole") == b"1"
            tables.append(table.replace_schema_metadata(None))
            if whole:
                break
        return tables[::-1]

    def _file(self, number: int) -> Path:
        return self.path / f"batch-{number:012d}.arrow"

    def _read_note(self) -> str:
        try:
            note = json.loads(self._note.read_text(encoding="utf-8"))
            query_id = str(note.pop("query_id"))
        except (OSError, ValueError, KeyError) as cause:
            message = f"persist: {self._note} cannot be read: {cause}"
            raise errors.CheckpointError(message) from cause
        if note != self._about:
            message = f"persist: {self.path} was written as {note}, the stream is {self._about}"
            raise errors.CheckpointError(message)
        return query_id

    def _commit(self, target: Path, content: bytes | memoryview) -> None:
        """Replace a file by a whole new one; after a crash there is the old or the new, never a piece."""
        part = target.with_name(target.name + ".part")
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.rename(target)
        folder = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
