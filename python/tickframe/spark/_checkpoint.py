"""What a Spark checkpoint folder says about the query that wrote it: its identity and how far it had come."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class SparkCheckpoint:
    """The facts of a checkpoint folder, on whatever file system Spark reaches."""

    path: str
    query_id: str | None
    """The query that owns the folder; None when it is fresh."""
    committed: int
    """The last batch that Spark holds for done, -1 for none."""

    @classmethod
    def read(cls, spark: Any, path: str) -> SparkCheckpoint:
        """Look into a checkpoint folder through Spark's own file systems.

        Args:
            spark: a classic ``SparkSession``.
            path: as given to ``checkpointLocation``; it need not exist.
        """
        folder = _Folder(spark, path)
        metadata = folder.read("metadata")
        if metadata is None:
            return cls(path, None, -1)
        done = [name for name in folder.names("commits") if name.isdecimal()]
        return cls(path, json.loads(metadata)["id"], max(map(int, done), default=-1))


def source_of(spark: Any, path: str, batch: int) -> str:
    """Where Spark reads a batch from: the offsets of its sources as they stand in the checkpoint.

    A source of files names only an entry of its own log there; the files of that entry are told by a digest.

    Args:
        spark: a classic ``SparkSession``.
        path: the checkpoint folder.
        batch: a batch that is under way, or done.
    """
    folder = _Folder(spark, path)
    planned = folder.read(f"offsets/{batch}")
    if planned is None:
        return ""
    # A version and what Spark notes of the run, the time among it, come first.
    lines = planned.decode().splitlines()[2:]
    for number, offset in enumerate(lines):
        entry = _entry(offset)
        if entry is not None:
            listed = folder.read(f"sources/{number}/{entry}") or folder.read(f"sources/{number}/{entry}.compact")
            lines[number] += " " + hashlib.sha256(listed or b"").hexdigest()
    return "\n".join(lines)


def _entry(offset: str) -> int | None:
    try:
        entry = json.loads(offset)["logOffset"]
    except (ValueError, TypeError, KeyError):
        return None
    return entry if isinstance(entry, int) else None


class _Folder:
    """A folder on whatever file system Spark reaches."""

    def __init__(self, spark: Any, path: str) -> None:
        self._path = spark._jvm.org.apache.hadoop.fs.Path
        self._root = self._path(path)
        self._files = self._root.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())

    def read(self, name: str) -> bytes | None:
        """A small file, None if it is not there."""
        path = self._path(self._root, name)
        if not self._files.exists(path):
            return None
        stream = self._files.open(path)
        try:
            return bytes(stream.readAllBytes())
        finally:
            stream.close()

    def names(self, name: str) -> list[str]:
        """The names in a folder beneath, none if it is not there."""
        path = self._path(self._root, name)
        found = self._files.listStatus(path) if self._files.exists(path) else []
        return [status.getPath().getName() for status in found]
