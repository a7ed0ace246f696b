"""Following a table: what a listener is told, and how it is called.

One Python thread runs all listeners of a graph, in step order, after each step has settled and never inside a
cycle. A listener that raises is reported, and detached after three times, or at once if what it raised is no
`Exception` (SystemExit, KeyboardInterrupt, CancelledError …); its table lives, and nobody else notices.
"""

from __future__ import annotations

import functools
import logging
import os
import threading
import warnings
import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

from tickframe import _native
from tickframe.arguments import callable_with, text
from tickframe.describe import short
from tickframe.errors import InvalidOperationError, TableFailedError
from tickframe.expr import flatten
from tickframe.handles import serving_threads, table_of
from tickframe.logs import described, named, report

if TYPE_CHECKING:
    from tickframe.table import Table

__all__ = ["Subscription", "Update"]

_subscriptions: weakref.WeakValueDictionary[int, Subscription] = weakref.WeakValueDictionary()
_STRIKES = 3
_MISHAPS = 100
"""After so many mishaps of its own, one after the other, a listeners' thread makes room for a new one."""


class Update:
    """What one step did to one table. It may be kept: it then owns its rows, at the cost of their memory."""

    __slots__ = ("__weakref__", "_native")

    def __init__(self, native: _native.Update) -> None:
        self._native = native

    def __repr__(self) -> str:
        return (
            f"Update(step={self.step}, added={len(self.added)}, removed={len(self.removed)}, "
            f"modified={len(self.modified)}, modified_columns={self.modified_columns}, shifts={len(self.shifts)})"
        )

    @property
    def step(self) -> int:
        """The step that made the change.

        >>> import tickframe as tf
        >>> t = tf.append_table({"x": int}, graph=tf.Graph())
        >>> seen = []
        >>> held = t.subscribe(seen.append)
        >>> _ = t.graph.step()
        >>> _ = t.append({"x": 1}), t.graph.step()
        >>> [update.step for update in seen]
        [2]
        """
        return self._native.step

    @property
    def added(self) -> _native.RowSet:
        """Keys of rows that came, in the key space after the step."""
        return self._native.added

    @property
    def removed(self) -> _native.RowSet:
        """Keys of rows that went, in the key space before the step.

        >>> import tickframe as tf
        >>> t = tf.keyed_table({"id": int, "x": int}, key="id", graph=tf.Graph())
        >>> seen = []
        >>> held = t.subscribe(seen.append)
        >>> _ = t.upsert({"id": [7, 8], "x": [1, 2]})
        >>> _ = t.graph.step()
        >>> _ = t.delete({"id": 7})
        >>> _ = t.graph.step()
        >>> list(seen[1].removed), seen[1].removed_rows().to_dicts()
        ([0], [{'id': 7, 'x': 1}])
        """
        return self._native.removed

    @property
    def modified(self) -> _native.RowSet:
        """Keys of rows that changed, in the key space after the step."""
        return self._native.modified

    @property
    def rows_before(self) -> _native.RowSet:
        """Keys of all rows that there were before the step.

        >>> import tickframe as tf
        >>> t = tf.append_table({"x": int}, graph=tf.Graph())
        >>> seen = []
        >>> held = t.subscribe(seen.append, rows_before=True)
        >>> for x in (1, 2):
        ...     _ = t.append({"x": x})
        ...     _ = t.graph.step()
        >>> [(list(update.rows_before), list(update.added)) for update in seen]
        [([], [0]), ([0], [1])]

        Raises:
            InvalidOperationError: the subscription was made without ``rows_before=True``.
        """
        rows = self._native.rows_before
        if rows is None:
            raise InvalidOperationError(
                "rows_before: the rows before a step are kept for a listener that asks, subscribe(fn, rows_before=True)"
            )
        return rows

    @property
    def modified_columns(self) -> list[str]:
        """Columns in which some cell of `modified` changed; none when nothing is modified.

        >>> import tickframe as tf
        >>> t = tf.keyed_table({"id": int, "x": int}, key="id", graph=tf.Graph())
        >>> seen = []
        >>> held = t.subscribe(seen.append)
        >>> for x in (1, 2):
        ...     _ = t.upsert({"id": 7, "x": x})
        ...     _ = t.graph.step()
        >>> seen[0].modified_columns, seen[1].modified_columns, seen[1].modified_rows_before().to_dict()
        ([], ['x'], {'x': [1]})
        """
        return self._native.modified_columns

    @property
    def shifts(self) -> list[tuple[int, int, int]]:
        """(first, last, delta): ranges of keys before the step, both ends included, and how far they moved."""
        return self._native.shifts

    def _rows(self, rows: _native.Table) -> Table:
        return table_of(rows)

    def added_rows(self, columns: str | Sequence[str] | None = None) -> Table:
        """The rows that came, in key order."""
        return self._rows(self._native.added_rows(_names(columns)))

    def removed_rows(self, columns: str | Sequence[str] | None = None) -> Table:
        """The rows that went, as they were before the step, in key order."""
        return self._rows(self._native.removed_rows(_names(columns)))

    def modified_rows(self, columns: str | Sequence[str] | None = None) -> Table:
        """The rows that changed, as they are; without `columns` the modified columns."""
        return self._rows(self._native.modified_rows(_names(columns)))

    def modified_rows_before(self, columns: str | Sequence[str] | None = None) -> Table:
        """The same rows as they were before the step, pair by pair."""
        return self._rows(self._native.modified_rows_before(_names(columns)))


def _names(columns: str | Sequence[str] | None) -> list[str] | None:
    if columns is None:
        return None
    names: list[str] = []
    for name in flatten([columns]):
        text(name, "columns", "a column's name")
        names.append(str(name))
    return names


class Subscription:
    """A listener on a table. It ends with `cancel`, with its ``with`` block, or when neither it nor its table is held.

    Do not make one yourself: `Table.subscribe` does.
    """

    def __init__(
        self,
        fn: Callable[[Any], object],
        on_error: Callable[[BaseException], object] | None,
        table: str,
        on_end: Callable[[], None] | None = None,
    ) -> None:
        self.id = _native.next_subscription_id()
        self._fn = fn
        self._on_error = on_error
        self._on_end = on_end
        self._table = table
        self._strikes = 0
        self._native: _native.Subscription | _native.Steps | None = None

    @property
    def is_active(self) -> bool:
        """Whether it still hears of changes.

        >>> import tickframe as tf
        >>> t = tf.append_table({"x": int}, graph=tf.Graph())
        >>> with t.subscribe(print) as held:
        ...     active = held.is_active
        >>> active, held.is_active
        (True, False)
        """
        return self._native is not None and not self._native.is_cancelled

    def cancel(self) -> None:
        """Hear nothing more, not even what is under way."""
        _subscriptions.pop(self.id, None)
        if self._native is not None:
            self._native.cancel()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()

    def __del__(self) -> None:
        if getattr(self, "_native", None) is not None and self.is_active and _native is not None:
            warnings.warn(
                "a subscription was dropped while it was active: keep the Subscription or its table, or cancel it",
                ResourceWarning,
                stacklevel=2,
                source=self,
            )
            self.cancel()

    def _dispatch(self, message: _native.Update | BaseException | int | None) -> None:
        if message is None or isinstance(message, int):
            self._ended()
            return
        if isinstance(message, BaseException):
            self._failed(message)
            return
        self._call(Update(message))

    def _call(self, argument: Any) -> None:
        try:
            self._fn(argument)
        except Exception as raised:  # noqa: BLE001 - a listener may raise anything
            self._strikes += 1
            self._raised(raised, detached=self._strikes >= _STRIKES)
        except BaseException as raised:  # noqa: BLE001 - what would end a program ends its listening
            self._raised(raised, detached=True)

    def _raised(self, raised: BaseException, *, detached: bool) -> None:
        text = f"the listener {named(self._fn)} of {self._table} raised {described(raised)}"
        if detached:
            self.cancel()
            text += " (the third time)" if self._strikes >= _STRIKES else ""
            text += " and was detached; its table lives"
        if self._on_error is None or detached:
            report(logging.ERROR, text, raised if self._on_error is None else None)
        self._notify(raised)

    def _ended(self) -> None:
        """The table was closed: nothing comes any more."""
        self.cancel()
        if self._on_end is not None:
            self._on_end()

    def _failed(self, failure: BaseException) -> None:
        """The table failed, which the log was told by the table."""
        self.cancel()
        self._notify(failure)

    def _notify(self, raised: BaseException) -> None:
        if self._on_error is None:
            return
        try:
            self._on_error(raised)
        except Exception as again:  # noqa: BLE001 - as a listener
            report(logging.ERROR, f"on_error of the listener {named(self._fn)} raised {described(again)}", again)
        except BaseException as again:  # noqa: BLE001 - as a listener
            self.cancel()
            text = f"on_error of the listener {named(self._fn)} of {self._table} raised {described(again)}"
            report(logging.ERROR, f"{text}; it was detached; its table lives", again)


class _LateWarning:
    """Says once that a listener is late."""

    def __init__(self) -> None:
        self._warned = False

    def check(self, server: _native.Server) -> None:
        if not self._warned and server.merged:
            self._warned = True
            report(
                logging.WARNING,
                "a listener is late: more than 1,024 updates of its table, or more than 256 MiB of rows, wait for it; "
                "neighbours are merged into one equivalent update",
            )


def _serve(inbox: _native.Inbox, server: _native.Server) -> None:
    """The body of a graph's one listener thread. Nothing that a listener does ends it."""
    process, late, mishaps = os.getpid(), _LateWarning(), 0
    ended = False
    try:
        server.enter()
        while not ended and mishaps < _MISHAPS:
            try:
                while _serve_one(server, late):
                    mishaps = 0
                    # A listener may have forked: the child has this thread, and nothing to listen to.
                    if os.getpid() != process:
                        break
                ended = True
            except BaseException as raised:  # noqa: BLE001 - nothing ends listening
                server.done()
                mishaps += 1
                report(logging.ERROR, f"a listener could not be called: {described(raised)}", raised)
    finally:
        server.leave()
        serving_threads.discard(threading.current_thread())
        if not ended:
            served(inbox)


def _serve_one(server: _native.Server, late: _LateWarning) -> bool:
    taken = server.take()
    if taken is None:
        return False
    number, message = taken
    try:
        late.check(server)
        subscription = _subscriptions.get(number)
        if subscription is not None:
            subscription._dispatch(message)
    finally:
        del message, taken
        subscription = None
        server.done()
    return True


def _start(inbox: _native.Inbox) -> None:
    """A thread that serves, unless there is one."""
    server = inbox.claim()
    if server is None:
        return
    name = f"tickframe-listeners-{inbox.graph_id}"
    thread = threading.Thread(target=_serve, args=(inbox, server), name=name, daemon=True)
    serving_threads.add(thread)
    try:
        thread.start()
    except BaseException:
        serving_threads.discard(thread)
        server.leave()
        raise


def served(inbox: _native.Inbox) -> bool:
    """Whether there is a thread that serves; one is started if there is none."""
    try:
        _start(inbox)
    except Exception as raised:  # noqa: BLE001 - whoever asks has nothing to do with it
        text = f"the listeners of graph {inbox.graph_id} cannot be called, no thread starts: {described(raised)}"
        report(logging.ERROR, f"{text}; the next step by hand, or the next subscribe, tries again")
        return False
    return True


def follow(
    table: Table,
    fn: Callable[[Update], object],
    *,
    initial: bool,
    on_error: Callable[[BaseException], object] | None,
    columns: Sequence[str] | None,
    rows_before: bool = False,
    on_end: Callable[[], None] | None = None,
    operation: str = "subscribe",
    kind: type[Subscription] = Subscription,
) -> Subscription:
    """Subscribe `fn` to a table; see `Table.subscribe`."""
    callable_with(operation, fn, "fn", "one Update")
    if on_error is not None:
        callable_with(operation, on_error, "on_error", "one exception")
    graph = _native.graph_of(table._native)
    if graph is None:
        raise InvalidOperationError(f"{operation}: the table is static; it will never change")
    _start(graph.inbox())
    subscription = kind(fn, on_error, table._native.label, on_end)
    _subscriptions[subscription.id] = subscription
    try:
        held = _native.subscribe(table._native, subscription.id, initial, _names(columns), rows_before)
        subscription._native = held
        if initial and kind is Subscription and threading.current_thread() not in serving_threads:
            held.wait_heard()
    except BaseException:
        subscription.cancel()
        raise
    return subscription


class Updates(AsyncIterator[Update]):
    """The updates of a table, for ``async for``. Leaving the loop, or dropping it, ends the following."""

    def __init__(self, table: Table, mode: str, max_pending: int) -> None:
        if mode not in {"every", "latest"}:
            raise ValueError(f'mode must be "every" or "latest", not {short(mode)}')
        if max_pending < 1:
            raise ValueError(f"max_pending must be 1 or more, not {max_pending}")
        # Who follows without a loop does not wait for its import.
        import asyncio

        self._loop = asyncio.get_running_loop()
        # The listeners' thread adds to it and the loop takes from it: what waits is bounded also while the loop is blocked.
        self._pending: deque[Update] = deque()
        self._lock = threading.Lock()
        self._called = False
        self._most = 1 if mode == "latest" else max_pending
        self._mode = mode
        self._failure: BaseException | None = None
        self._woken = asyncio.Event()
        self._table = table
        self._subscription: Subscription | None = None
        self._over = False
        on_update, on_failure = _weakly(self, Updates._on_update), _weakly(self, Updates._failed)
        ended = _weakly(self, Updates._on_end)
        on_end = functools.partial(ended, None)
        self._subscription = follow(table, on_update, initial=False, on_error=on_failure, columns=None, on_end=on_end)
        if self._has_failed():
            self._cancel()

    def _on_update(self, update: Update) -> None:
        with self._lock:
            if len(self._pending) < self._most:
                self._pending.append(update)
            elif self._mode == "latest":
                self._pending[-1] = update
            elif self._failure is None:
                self._failure = InvalidOperationError(
                    f"updates: the loop fell {self._most} updates behind; "
                    'take them faster, raise max_pending=, or ask for mode="latest"'
                )
        self._call()

    def _failed(self, raised: BaseException) -> None:
        if isinstance(raised, TableFailedError):
            with self._lock:
                self._failure = self._failure or raised
            self._call()

    def _on_end(self, _: None) -> None:
        with self._lock:
            self._over = True
        self._call()

    def _call(self) -> None:
        """Wakes the loop, once until it has run. What it will not take any more ends the following."""
        if self._failure is not None:
            self._cancel()
        with self._lock:
            called, self._called = self._called, True
        if called:
            return
        try:
            self._loop.call_soon_threadsafe(self._wake)
        except RuntimeError:
            # The loop is closed.
            self._cancel()

    def _has_failed(self) -> bool:
        return self._failure is not None

    def _cancel(self) -> None:
        subscription = getattr(self, "_subscription", None)
        if subscription is not None:
            subscription.cancel()

    def _wake(self) -> None:
        with self._lock:
            self._called = False
        self._woken.set()

    def __aiter__(self) -> Updates:
        return self

    async def __anext__(self) -> Update:
        while True:
            with self._lock:
                if self._pending:
                    return self._pending.popleft()
                failure, over = self._failure, self._over
            if failure is not None:
                raise failure
            if over:
                raise StopAsyncIteration
            self._woken.clear()
            # What came before it was cleared woke nobody.
            if not self._pending and self._failure is None and not self._over:
                await self._woken.wait()

    async def aclose(self) -> None:
        """End the following."""
        self._cancel()

    def __del__(self) -> None:
        self._cancel()


def _weakly(owner: Updates, method: Callable[[Updates, Any], None]) -> Callable[[Any], None]:
    """The method, without holding whose it is."""
    held = weakref.ref(owner)

    def call(argument: Any) -> None:
        owner = held()
        if owner is not None:
            method(owner, argument)

    return call
