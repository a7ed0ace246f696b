"""Following a table: listeners, the next update, and waiting for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from tickframe import _native
from tickframe.arguments import check_all
from tickframe.describe import named
from tickframe.durations import seconds
from tickframe.followers import next_update
from tickframe.handles import itself
from tickframe.listener import Subscription, Update, Updates, follow
from tickframe.names import names_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tickframe.names import Names

__all__: list[str] = []


@check_all
class Following:
    """What `Table` has for those who follow it."""

    __slots__ = ()

    if TYPE_CHECKING:
        _native: _native.Table
        _subscriptions: list[Subscription]

    def subscribe(
        self,
        fn: Callable[[Update], object],
        initial: bool = False,
        on_error: Callable[[BaseException], object] | None = None,
        columns: Names | None = None,
        rows_before: bool = False,
    ) -> Subscription:
        """Call `fn` with each `Update`, in step order, on the graph's one listener thread, after the step has settled.

        Args:
            fn: the listener, a function of one `Update`. If it raises three times it is detached, and at once if it raises
                what is no `Exception` (SystemExit, CancelledError); the table lives.
            initial: whether everything present comes first, as added rows, before this returns.
            on_error: called with what the listener raised, each time, and with TableFailedError if the table fails;
                without it the logger ``tickframe`` is told, or standard error if logging is not configured.
            columns: the columns whose rows a late listener will want; all without it.
            rows_before: whether each update keeps the keys of all rows before its step, `Update.rows_before`.

        Returns:
            The subscription. It lives until `cancel`, or until neither it nor its table is referenced any more.

        Raises:
            TypeError: `fn` or `on_error` cannot be called with one argument.
            InvalidOperationError: the table is static.
            TableFailedError: the table failed.
        """
        if not callable(fn):
            raise TypeError(f"subscribe: the listener is a function of one Update, not {named(fn)}")
        wanted = None if columns is None else names_of([columns], "subscribe")
        subscription = follow(
            itself(self), fn, initial=initial, on_error=on_error, columns=wanted, rows_before=rows_before
        )
        self._subscriptions[:] = [held for held in self._subscriptions if held.is_active]
        self._subscriptions.append(subscription)
        return subscription

    def listen(
        self,
        fn: Callable[[Update], object],
        initial: bool = False,
        on_error: Callable[[BaseException], object] | None = None,
        columns: Names | None = None,
        rows_before: bool = False,
    ) -> Subscription:
        """The name that Deephaven has for `subscribe`."""
        return self.subscribe(fn, initial, on_error, columns, rows_before)

    async def next(self, timeout: float | None = None) -> Update:  # noqa: ASYNC109 - as `wait` has it
        """The next update of this table: ``await t.next()``. For more than one, ``async for`` over `updates` misses none.

        >>> import asyncio
        >>> import tickframe as tf
        >>> async def main():
        ...     t = tf.append_table({"x": int}, graph=tf.Graph())
        ...     coming = asyncio.ensure_future(t.next(timeout=60))
        ...     await asyncio.sleep(0)  # lets it listen
        ...     _ = t.append({"x": [1, 2]})
        ...     await asyncio.to_thread(t.graph.step)
        ...     return (await coming).added
        >>> asyncio.run(main())
        RowSet([(0, 1)])

        Args:
            timeout: seconds; None waits for ever.

        Raises:
            TimeoutError: nothing changed in time.
            TableFailedError: the table failed.
            InvalidOperationError: a static or closed table; in a listener, under ``frozen()`` or inside ``transaction()``.
        """
        return await next_update(itself(self), timeout)

    def updates(self, mode: Literal["every", "latest"] = "every", max_pending: int = 1024) -> Updates:
        """The updates, for ``async for``; the loop ends when the table was closed, or all sources that it stands on.

        Args:
            mode: ``"every"`` update in order, or only the ``"latest"`` that is not taken yet.
            max_pending: with ``"every"``, how far the loop may fall behind before it is an error.
        """
        return Updates(itself(self), mode, max_pending)

    def wait(self, timeout: float | None = None) -> int:
        """Wait until the next update of this table.

        Args:
            timeout: seconds; None waits for ever.

        Returns:
            The step of the update.

        Raises:
            TimeoutError: nothing changed in time; it says so if the graph is not running.
            TableFailedError: the table failed.
            InvalidOperationError: in a listener, under ``frozen()`` or inside ``transaction()``; or the table was closed.
        """
        return _native.wait_for_change(self._native, seconds(timeout, "wait"))
