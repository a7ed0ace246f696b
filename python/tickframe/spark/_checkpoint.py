"""What a Spark checkpoint folder says about the query that wrote it: its identity and how far it had come."""

from __future__ import annotations

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
        jvm = spark._jvm
        root = jvm.org.apache.hadoop.fs.Path(path)
        files = root.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())
        metadata = jvm.org.apache.hadoop.fs.Path(root, "metadata")
        if not files.exists(metadata):
            return cls(path, None, -1)
        stream = files.open(metadata)
        try:
            query_id = json.loads(bytes(stream.readAllBytes()))["id"]
        finally:
            stream.close()
        commits = jvm.org.apache.hadoop.fs.Path(root, "commits")
        found = files.listStatus(commits) if files.exists(commits) else []
        done = [name for status in found if (name := status.getPath().getName()).isdecimal()]
        return cls(path, query_id, max(map(int, done), default=-1))
