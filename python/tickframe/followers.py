"""Following more than one change of one table: several tables at once, the steps of a graph, and the next change alone."""

from __future__ import annotations

import asyncio
import threading
import weakref
from typing import TYPE_CHECKING, Any, cast

from tickframe import _native
from tickframe.arguments import callable_with, checked, instance
from tickframe.durations import seconds
from tickframe.errors import InvalidOperationError, TableFailedError, TimeoutError
from tickframe.handles import is_table, serving_threads
from tickframe.listener import Subscription, Update, _start, _subscriptions, follow
from tickframe.names import names_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tickframe.graph import Graph
    from tickframe.names import Names
    from tickframe.table import Table

__all__ = ["listen", "merged_listen"]


class _OfSteps(Subscription):
    """A listener of the steps of a graph."""

    def _dispatch(self, message: _native.Update | BaseException | int | None) -> None:
        self._call(message)


class _Part(Subscription):
    """What a listener of several tables hears of one of them. It ends with the listener."""

    def __del__(self) -> None:
        if _native is not None:
            self.cancel()


class _Merged(Subscription):
    """A listener of several tables, called once a step."""

    def __init__(
        self, fn: Callable[[list[Update | None]], object], on_error: Callable[[BaseException], object] | None, many: int
    ) -> None:
        self._parts: list[Subscription] = []
        self._gathered: list[Update | None] = [None] * many
        self._open = many
        super().__init__(fn, on_error, f"{many} tables")

    def _gather(self, at: int, update: Update) -> None:
        # Of a late listener the notes of steps are merged, and the changes of tables are by themselves.
        if self._gathered[at] is not None:
            self._tell()
        self._gathered[at] = update

    def _tell(self) -> None:
        gathered, self._gathered = self._gathered, [None] * len(self._gathered)
        if any(update is not None for update in gathered):
            self._call(gathered)

    def _dispatch(self, _message: _native.Update | BaseException | int | None) -> None:
        self._tell()
        if self._open == 0:
            self.cancel()

    def _table_ended(self) -> None:
        self._open -= 1

    def cancel(self) -> None:
        super().cancel()
        for part in self._parts:
            part.cancel()


def after_step(
    graph: Graph, fn: Callable[[int], object], on_error: Callable[[BaseException], object] | None
) -> Subscription:
    """Follow the steps of a graph; see `Graph.after_step`."""
    callable_with("after_step", fn, "fn", "the number of a step")
    if on_error is not None:
        callable_with("after_step", on_error, "on_error", "one exception")
    _start(graph._native.inbox())
    subscription = _OfSteps(fn, on_error, "steps")
    _subscriptions[subscription.id] = subscription
    subscription._native = _native.follow_steps(graph._native, subscription.id, last=False)
    return subscription


@checked
def listen(
    t: Table,
    fn: Callable[[Update], object],
    initial: bool = False,
    on_error: Callable[[BaseException], object] | None = None,
    columns: Names | None = None,
) -> Subscription:
    """Call `fn` with each update of a table, as Deephaven writes it; see `Table.subscribe`.

    >>> import tickframe as tf
    >>> t = tf.append_table({"x": int}, graph=tf.Graph())
    >>> with tf.listen(t, lambda update: print(update.added)):
    ...     _ = t.append({"x": [1, 2]})
    ...     _ = t.graph.step()
    RowSet([(0, 1)])
    """
    instance(t, "listen", "t", "Table", "a table")
    wanted = None if columns is None else names_of([columns], "listen")
    return _held(
        follow(t, fn, initial=initial, on_error=on_error, columns=wanted, operation="listen"),
        [t],
    )


@checked
def merged_listen(
    tables: Iterable[Table],
    fn: Callable[[list[Update | None]], object],
    initial: bool = False,
    on_error: Callable[[BaseException], object] | None = None,
) -> Subscription:
    """Call `fn` once for each step in which any of several tables changed, with the updates of all of them together.

    It is called as a listener of `Table.subscribe` is: in step order, on the graph's one listener thread, after the step has
    settled, and detached when it has raised three times.

    >>> import tickframe as tf
    >>> g = tf.Graph()
    >>> a, b = tf.append_table({"x": int}, graph=g), tf.append_table({"x": int}, graph=g)
    >>> def shows(updates):
    ...     print([update and len(update.added) for update in updates])
    >>> with tf.merged_listen([a, b], shows):
    ...     _ = a.append({"x": [1, 2]}), b.append({"x": 3})
    ...     _ = g.step()
    ...     _ = b.append({"x": 4})
    ...     _ = g.step()
    [2, 1]
    [None, 1]

    Args:
        tables: live tables of one graph.
        fn: the listener, a function of a list: for each table, in their order, its update in the step, or None. A listener so
            late that updates are merged may hear of several steps at once, or of one in two calls.
        initial: whether everything present at one step comes first, as added rows, before this returns.
        on_error: called with what the listener raised, each time, and with TableFailedError, once, when one of the tables fails:
            that ends the subscription.

    Returns:
        The subscription. It ends with `cancel`, when all tables were closed, or when neither it nor one of the tables is held.

    Raises:
        InvalidOperationError: a static table, or tables of two graphs.
    """
    if is_table(tables):
        raise TypeError("merged_listen: give a list of tables, merged_listen([a, b], fn); of one it is t.subscribe(fn)")
    each: list[Table] = []
    for table in tables:
        instance(table, "merged_listen", "each of the tables", "Table", "a table")
        each.append(table)
    if not each:
        raise ValueError("merged_listen: there are no tables to listen to")
    callable_with("merged_listen", fn, "fn", "a list of updates")
    if on_error is not None:
        callable_with("merged_listen", on_error, "on_error", "one exception")
    for at, table in enumerate(each):
        if table.graph is None:
            raise InvalidOperationError(f"merged_listen: table {at} is static; it will never change")
        if table.graph != each[0].graph:
            raise InvalidOperationError(f"merged_listen: table {at} lives in another graph than table 0")
    graph = cast("Graph", each[0].graph)
    merged = _Merged(fn, on_error, len(each))
    held = weakref.ref(merged)
    # No step comes between: what the tables show is of one step.
    with graph.frozen():
        try:
            for at, table in enumerate(each):
                merged._parts.append(_part(table, at, held, initial))
            _subscriptions[merged.id] = merged
            merged._native = _native.follow_steps(graph._native, merged.id, last=initial)
        except BaseException:
            merged.cancel()
            raise
    if initial and threading.current_thread() not in serving_threads:
        graph._native.wait_heard()
    return _held(merged, each)


def _part(table: Table, at: int, held: Callable[[], _Merged | None], initial: bool) -> Subscription:
    def updated(update: Update) -> None:
        merged = held()
        if merged is not None:
            merged._gather(at, update)

    def failed(raised: BaseException) -> None:
        merged = held()
        if merged is not None and isinstance(raised, TableFailedError):
            merged._failed(raised)

    def ended() -> None:
        merged = held()
        if merged is not None:
            merged._table_ended()

    return follow(
        table,
        updated,
        initial=initial,
        on_error=failed,
        columns=None,
        on_end=ended,
        operation="merged_listen",
        kind=_Part,
    )


def _held(subscription: Subscription, tables: Sequence[Table]) -> Subscription:
    """It lives as long as one of the tables is held."""
    for table in tables:
        table._subscriptions = [each for each in table._subscriptions if each.is_active]
        table._subscriptions.append(subscription)
    return subscription


async def next_update(table: Table, timeout: float | None) -> Update:  # noqa: ASYNC109 - as `Table.wait` has it
    """The next update of a table; see `Table.next`."""
    most = seconds(timeout, "next")
    if table.graph is not None:
        table.graph._native.may_wait()
    loop = asyncio.get_running_loop()
    came: asyncio.Future[Update] = loop.create_future()

    def settle(do: Callable[[Any], None], argument: Any) -> None:
        if not came.done():
            do(argument)

    def tell(do: Callable[[Any], None], argument: Any) -> None:
        # The loop may be closed: then nobody waits.
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, do, argument)

    def closed() -> None:
        tell(came.set_exception, InvalidOperationError("next: the table was closed; it will never change"))

    subscription = follow(
        table,
        lambda update: tell(came.set_result, update),
        initial=False,
        on_error=lambda raised: tell(came.set_exception, raised),
        columns=None,
        on_end=closed,
        operation="next",
        kind=_Part,
    )
    try:
        await asyncio.wait([came], timeout=most)
        if not came.done():
            raise TimeoutError(f"next: the table did not change within {most:g} s (settled: step {_settled(table)})")
        return came.result()
    finally:
        subscription.cancel()


def _settled(table: Table) -> int:
    return 0 if table.graph is None else table.graph.settled
