"""What looks for news at a place outside, again and again or when it is asked, and brings them to a live table."""

from __future__ import annotations

import atexit
import threading
import weakref
from typing import TYPE_CHECKING, Literal, TypeAlias

from tickframe.describe import short
from tickframe.durations import nanoseconds
from tickframe.errors import TickframeError

if TYPE_CHECKING:
    from tickframe.sources import FileTable

__all__: list[str] = []

Refresh: TypeAlias = Literal["static", "manual", "auto"]
REFRESH = ("static", "manual", "auto")


_looking: weakref.WeakSet[Looking] = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    """No thread reads a file while the program ends."""
    threads = []
    for one in list(_looking):
        one.end()
        threads.append(one.thread)
    for thread in threads:
        if thread is not None and thread is not threading.current_thread():
            thread.join(5)


class Looking:
    """Looks for news; what they are, `take` says."""

    def __init__(self, operation: str) -> None:
        self.operation = operation
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self.thread: threading.Thread | None = None
        _looking.add(self)

    def take(self, table: FileTable) -> int:
        """Bring what came to the table; how many files it was."""
        raise NotImplementedError

    def refresh(self, table: FileTable) -> int:
        """Look for files that came; how many were read. A table whose files cannot be read fails."""
        with self._lock:
            if self._ended.is_set():
                return 0
            try:
                return self.take(table)
            except (TickframeError, OSError, TypeError) as raised:
                self._ended.set()
                table.fail(raised)
                raise

    def follow(self, table: FileTable, every: float) -> None:
        """Look again and again, as long as there is somebody who has the table."""
        held = weakref.ref(table)
        name = f"tickframe {self.operation}"
        self.thread = threading.Thread(target=self._run, args=(held, every), name=name, daemon=True)
        self.thread.start()

    def _run(self, held: weakref.ref[FileTable], every: float) -> None:
        while not self._ended.wait(every):
            table = held()
            if table is None or table.is_closed:
                return
            try:
                self.refresh(table)
            except BaseException:  # noqa: BLE001 - the table has failed, and says why
                return
            del table

    def end(self) -> None:
        """Look no more."""
        self._ended.set()


def pause_of(operation: str, every: object) -> float:
    """Seconds between two looks."""
    pause = nanoseconds(every, f"{operation}: every") / 1e9  # type: ignore[arg-type]
    if pause <= 0:
        raise ValueError(f"{operation}: every must be longer than 0, not {short(every)}")
    return pause
