"""Following a table: what a listener is told, and how it is called.

One Python thread runs all listeners of a graph, in step order, after each step has settled and never inside a
cycle. A listener that raises is reported, and detached after three times; its table lives.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import warnings
import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

from tickframe import _native
from tickframe.errors import InvalidOperationError, TableFailedError
from tickframe.graph import serving_threads

if TYPE_CHECKING:
    from tickframe.table import Table

__all__ = ["Subscription", "Update"]

logger = logging.getLogger("tickframe")
_subscriptions: weakref.WeakValueDictionary[int, Subscription] = weakref.WeakValueDictionary()
_STRIKES = 3


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
        """The step that made the change."""
        return self._native.step

    @property
    def added(self) -> _native.RowSet:
        """Keys of rows that came, in the key space after the step."""
        return self._native.added

    @property
    def removed(self) -> _native.RowSet:
        """Keys of rows that went, in the key space before the step."""
        return self._native.removed

    @property
    def modified(self) -> _native.RowSet:
        """Keys of rows that changed, in the key space after the step."""
        return self._native.modified

    @property
    def modified_columns(self) -> list[str]:
        """Columns in which some cell of `modified` changed; none when nothing is modified."""
        return self._native.modified_columns

    @property
    def shifts(self) -> list[tuple[int, int, int]]:
        """(first, last, delta): ranges of keys before the step, both ends included, and how far they moved."""
        return self._native.shifts

    def _rows(self, rows: _native.Table) -> Table:
        from tickframe.table import Table as TableClass

        return TableClass(rows)

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
    return [columns] if isinstance(columns, str) else list(columns)


class Subscription:
    """A listener on a table. It ends with `cancel`, with its ``with`` block, or when neither it nor its table is held.

    Do not make one yourself: `Table.subscribe` does.
    """

    def __init__(
        self,
        fn: Callable[[Update], object],
        on_error: Callable[[BaseException], object] | None,
    ) -> None:
        self.id = _native.next_subscription_id()
        self._fn = fn
        self._on_error = on_error
        self._strikes = 0
        self._native: _native.Subscription | None = None
        _subscriptions[self.id] = self

    @property
    def is_active(self) -> bool:
        """Whether it still hears of changes."""
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

    def _hear(self, word: _native.Update | BaseException) -> None:
        if isinstance(word, BaseException):
            self._tell(word)
            self.cancel()
            return
        try:
            self._fn(Update(word))
        except Exception as raised:
            self._strikes += 1
            self._tell(raised)
            if self._strikes >= _STRIKES:
                logger.exception(
                    "listener %r raised %d times and was detached; its table lives", self._fn, self._strikes
                )
                self.cancel()

    def _tell(self, raised: BaseException) -> None:
        if self._on_error is None:
            logger.error("listener %r raised", self._fn, exc_info=raised)
            return
        try:
            self._on_error(raised)
        except Exception:
            logger.exception("on_error of listener %r raised", self._fn)


def _serve(inbox: _native.Inbox) -> None:
    """The body of a graph's one listener thread."""
    scope = inbox.scope()
    told = False
    try:
        while (taken := inbox.take()) is not None:
            number, word = taken
            try:
                if not told and inbox.merged:
                    told = True
                    logger.warning(
                        "a listener is late: more than 1,024 updates, or more than 256 MiB of rows, wait for it; "
                        "neighbours are merged into one equivalent update"
                    )
                subscription = _subscriptions.get(number)
                if subscription is not None:
                    subscription._hear(word)
            except Exception:
                logger.exception("a listener could not be called")
            finally:
                del word, taken
                subscription = None
                inbox.done()
    finally:
        scope.leave()
        serving_threads.discard(threading.current_thread())


def follow(
    table: Table,
    fn: Callable[[Update], object],
    *,
    initial: bool,
    on_error: Callable[[BaseException], object] | None,
    columns: Sequence[str] | None,
) -> Subscription:
    """Subscribe `fn` to a table; see `Table.subscribe`."""
    graph = table._native.graph()
    if graph is None:
        raise InvalidOperationError("subscribe: the table is static; it will never change")
    inbox = graph.inbox()
    if inbox.claim():
        thread = threading.Thread(target=_serve, args=(inbox,), name=f"tickframe-listeners-{graph.id}", daemon=True)
        serving_threads.add(thread)
        thread.start()
    subscription = Subscription(fn, on_error)
    subscription._native = table._native.subscribe(subscription.id, initial, _names(columns))
    if initial and threading.current_thread() not in serving_threads:
        subscription._native.wait_heard()
    return subscription


class Updates(AsyncIterator[Update]):
    """The updates of a table, for ``async for``. Leaving the loop, or dropping it, ends the following."""

    def __init__(self, table: Table, mode: str, max_pending: int) -> None:
        if mode not in {"every", "latest"}:
            raise ValueError(f'mode must be "every" or "latest", not {mode!r}')
        if max_pending < 1:
            raise ValueError(f"max_pending must be 1 or more, not {max_pending}")
        self._loop = asyncio.get_running_loop()
        self._pending: deque[Update] = deque(maxlen=1 if mode == "latest" else max_pending)
        self._mode = mode
        self._failure: BaseException | None = None
        self._woken = asyncio.Event()
        self._dropped = 0
        self._table = table
        self._subscription = follow(table, self._heard, initial=False, on_error=self._failed, columns=None)

    def _heard(self, update: Update) -> None:
        self._loop.call_soon_threadsafe(self._push, update)

    def _failed(self, raised: BaseException) -> None:
        if isinstance(raised, TableFailedError):
            self._loop.call_soon_threadsafe(self._end, raised)

    def _push(self, update: Update) -> None:
        if self._mode == "every" and len(self._pending) == self._pending.maxlen:
            self._end(
                InvalidOperationError(
                    f"updates: the loop fell {self._pending.maxlen} updates behind; "
                    'take them faster, raise max_pending=, or ask for mode="latest"'
                )
            )
            return
        self._pending.append(update)
        self._woken.set()

    def _end(self, failure: BaseException) -> None:
        self._failure = failure
        self._subscription.cancel()
        self._woken.set()

    def __aiter__(self) -> Updates:
        return self

    async def __anext__(self) -> Update:
        while not self._pending:
            if self._failure is not None:
                raise self._failure
            self._woken.clear()
            await self._woken.wait()
        return self._pending.popleft()

    async def aclose(self) -> None:
        """End the following."""
        self._subscription.cancel()

    def __del__(self) -> None:
        subscription: Any = getattr(self, "_subscription", None)
        if subscription is not None:
            subscription.cancel()
