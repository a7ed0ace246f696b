"""Publishers: functions of whoever feeds a table, called as a step is about to take what is queued, and at the end.

A table holds its publisher, and the engine neither: a function that holds the table in turn makes a ring that Python
collects.
"""

from __future__ import annotations

import atexit
import functools
import logging
import threading
import traceback
import weakref
from typing import TYPE_CHECKING, TypeAlias

from tickframe import _native
from tickframe.arguments import callable_with
from tickframe.listener import _start as listens
from tickframe.listener import _subscriptions as hearers
from tickframe.logs import described, named, report

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tickframe.graph import Graph
    from tickframe.table import Table

__all__: list[str] = []

_STRIKES = 3

Fed: TypeAlias = "tuple[int, str, tuple[int, str, Callable[[], object] | None] | None, str | None, bool]"

_open: weakref.WeakSet[Publisher] = weakref.WeakSet()


class Publisher:
    """The functions of one table, and what became of them."""

    def __init__(
        self, operation: str, on_flush: Callable[[Any], object] | None, on_shutdown: Callable[[], object] | None
    ) -> None:
        self.id = _native.next_subscription_id()
        self._operation = operation
        self._on_flush, self._on_shutdown = on_flush, on_shutdown
        self._strikes = 0
        self._lock = threading.Lock()
        self._table: Callable[[], Table | None] | None = None

    def begins(self, table: Table, graph: Graph) -> None:
        """From here on it is called for this table."""
        self._table = weakref.ref(table)
        hearers[self.id] = self  # type: ignore[assignment]
        _open.add(self)
        listens(graph._native.inbox())

    def flush(self) -> object:
        """Called as a step opens, on its thread: False if there is nothing to call any more, else a text for the log."""
        if self._table is None:
            # Its table is being made.
            return None
        table, call = self._table(), self._on_flush
        if table is None or call is None:
            return False
        try:
            call(table)
        except KeyboardInterrupt:
            # Whoever steps by hand gets it.
            raise
        except BaseException as raised:  # noqa: BLE001 - it may raise anything
            self._strikes += 1
            detached = self._strikes >= _STRIKES or not isinstance(raised, Exception)
            text = f"on_flush {named(call)} of {self._operation} raised {described(raised)}"
            if detached:
                self._on_flush = None
                third = " (the third time)" if self._strikes >= _STRIKES else ""
                text += f"{third} and is called no more; its table lives"
            return f"{text}\n{_trace(raised)}"
        return None

    def _dispatch(self, _message: object) -> None:
        """The engine takes nothing in any more; called on the thread of the graph's listeners."""
        self.shut_down()

    def shut_down(self) -> None:
        """Tell whoever feeds the table, the first time."""
        with self._lock:
            call, self._on_shutdown, self._on_flush = self._on_shutdown, None, None
        _open.discard(self)
        if call is None:
            return
        try:
            call()
        except BaseException as raised:  # noqa: BLE001 - it may raise anything
            report(logging.ERROR, f"on_shutdown {named(call)} of {self._operation} raised {described(raised)}", raised)

    def __del__(self) -> None:
        # The table was let go without a word.
        if _native is not None:
            self.shut_down()


def _trace(raised: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(raised)).rstrip()
    except BaseException:  # noqa: BLE001 - an exception may have any method
        return "(its traceback cannot be shown)"


def _flush(held: Callable[[], Publisher | None]) -> object:
    publisher = held()
    return False if publisher is None else publisher.flush()


def publisher(
    operation: str, on_flush: Callable[[Any], object] | None, on_shutdown: Callable[[], object] | None
) -> Publisher | None:
    """A publisher of these functions, if there is one.

    Raises:
        TypeError: what cannot be called, or not so.
    """
    if on_flush is not None:
        callable_with(operation, on_flush, "on_flush", "the table")
    if on_shutdown is not None:
        callable_with(operation, on_shutdown, "on_shutdown", "nothing", 0)
    if on_flush is None and on_shutdown is None:
        return None
    return Publisher(operation, on_flush, on_shutdown)


def door(found: Publisher | None) -> tuple[int, str, Callable[[], object] | None] | None:
    """As the engine takes it."""
    if found is None:
        return None
    flush = None if found._on_flush is None else functools.partial(_flush, weakref.ref(found))
    return found.id, f"on_flush {named(found._on_flush)}", flush


def _end() -> None:
    """The program ends, and with it every graph."""
    for each in list(_open):
        each.shut_down()


atexit.register(_end)
