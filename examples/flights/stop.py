"""Ctrl-C, heard between calls: in the middle of one it would leave Spark's connection half used."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


class Stop:
    """Takes the signal over from Spark, whose own handler calls Spark from inside whatever call was running."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._asked = threading.Event()
        self._cancels = False
        signal.signal(signal.SIGINT, lambda *_: self._hear())

    def _hear(self) -> None:
        if not self._asked.is_set() and self._cancels:
            # On a thread, and so a connection, of its own.
            threading.Thread(target=self._spark.sparkContext.cancelAllJobs, daemon=True).start()
        self._asked.set()

    @property
    def asked(self) -> bool:
        """Whether somebody wants it to stop."""
        return self._asked.is_set()

    def pause(self, seconds: float) -> None:
        """Wait, and raise KeyboardInterrupt as soon as somebody wants it to stop."""
        if self._asked.wait(seconds):
            raise KeyboardInterrupt

    @contextmanager
    def cancelling(self) -> Iterator[None]:
        """Long jobs run here: they are cancelled rather than waited for."""
        self._cancels = True
        try:
            yield
        finally:
            self._cancels = False
        self.pause(0)
