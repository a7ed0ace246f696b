"""The update graph: one integer of time, and the cycles that move it.

All changes that are pending when a cycle starts are taken together; at its end every table is consistent, and
only then listeners hear of it. Everything outside a listener reads at `Graph.settled`, the last step that is
complete in every table.
"""

from __future__ import annotations

import atexit
import ctypes
import logging
import os
import sys
import threading
import time
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from tickframe import _native
from tickframe.arguments import instance
from tickframe.config import memory_bytes, setting
from tickframe.describe import short
from tickframe.display import figures
from tickframe.durable import DurableParts, opened
from tickframe.durations import seconds
from tickframe.errors import InvalidOperationError
from tickframe.handles import is_table, serving_threads, table_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tickframe.clocks import ManualClock
    from tickframe.listener import Subscription
    from tickframe.sources import Token
    from tickframe.table import Table

__all__ = ["Graph", "default_graph"]

_known: WeakValueDictionary[int, Graph] = WeakValueDictionary()
_default: Graph | None = None
_default_lock = threading.Lock()


class Graph(DurableParts):
    """A graph of tables that are updated together.

    Args:
        period: least seconds between the starts of two automatic cycles; 0 runs each as soon as data is there.
        threads: threads that work inside a cycle; -1 is all cores.
        init_threads: threads that initialise new tables; -1 is all cores.
        memory: bytes that its tables, and rows that wait for a step, may hold, or text such as ``"2GB"``. A call that
            would bring more is refused with a `ResourceError` and applies nothing, and so is an operation whose table
            does not fit. Without it only the limit of the process counts, ``tf.Config(memory=...)``.
        clock: the clock that time tables and ``now()`` follow; the machine's without it. `tf.testing.ManualClock` is one for tests.
        durable: a folder in which sources with ``durable=True`` keep what they store; it is made if it is not there, and one
            process holds it at a time. Where it holds tables, sources made under their names begin with the saved rows.

    A graph that was never started runs only by `step`:

    >>> import tickframe as tf
    >>> g = tf.Graph()
    >>> t = tf.append_table({"x": int}, graph=g)
    >>> doubled = t.with_columns(y=tf.col("x") * 2)
    >>> token = t.append({"x": [1, 2]})
    >>> len(doubled), g.step(), len(doubled)
    (0, 1, 2)
    """

    def __init__(
        self,
        period: float | None = None,
        threads: int | None = None,
        init_threads: int | None = None,
        memory: int | str | None = None,
        clock: ManualClock | None = None,
        *,
        durable: str | os.PathLike[str] | None = None,
    ) -> None:
        least = _seconds(setting("period", period))
        working, starting = setting("threads", threads), setting("init_threads", init_threads)
        most = None if memory is None else memory_bytes(memory)
        if clock is not None:
            instance(clock, "Graph", "clock", "ManualClock", "a tf.testing.ManualClock")
        moved = None if clock is None else clock._native
        self._bind(_native.Graph(least, working, starting, most, moved))
        if durable is not None:
            opened(self, durable)

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError(
            "a graph is not pickled or copied: it lives in its process; make one where it is needed, tf.Graph()"
        )

    def _bind(self, native: _native.Graph) -> None:
        self._native = native
        self._subscriptions: list[Subscription] = []
        self._begin_durable()
        _start_log()
        _known[native.id] = self

    @classmethod
    def _of(cls, native: _native.Graph) -> Graph:
        known = _known.get(native.id)
        if known is not None:
            return known
        made = cls.__new__(cls)
        made._bind(native)
        return made

    def __repr__(self) -> str:
        try:
            settled = self._native.settled
        except InvalidOperationError:
            return "Graph(of the process that this one was forked from)"
        state = "running" if self._native.is_started else "stopped"
        return f"Graph({state}, step {settled}, period={self._native.period:g})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Graph) and self._native.id == other._native.id

    def __hash__(self) -> int:
        return hash(self._native.id)

    @property
    def period(self) -> float:
        """Least seconds between the starts of two automatic cycles.

        >>> import tickframe as tf
        >>> tf.Graph(period=0.5).period
        0.5
        """
        return self._native.period

    @property
    def settled(self) -> int:
        """The last step that is complete in every table."""
        return self._native.settled

    @property
    def is_started(self) -> bool:
        """Whether cycles run by themselves.

        >>> import tickframe as tf
        >>> g = tf.Graph()
        >>> g.start()
        >>> started = g.is_started
        >>> g.stop()
        >>> started, g.is_started
        (True, False)
        """
        return self._native.is_started

    def step(self) -> int:
        """Run one cycle now, even if nothing is pending.

        Returns:
            Its number. Listeners of the step have run when it returns.

        Raises:
            InvalidOperationError: in a listener, in a user's function, under `frozen` or inside `transaction`.
            KeyboardInterrupt, SystemExit: what ended a user's function in the step. The step is over; the tables below keep
                their last state, and the next step brings them up. In a graph that runs by itself functions hear no
                signal, and one that raises SystemExit has failed.
        """
        return self._native.step()

    def start(self) -> None:
        """Let cycles run by themselves, in a thread of the engine.

        Raises:
            ResourceError: the machine has no thread to give.
        """
        self._native.start()

    def stop(self) -> None:
        """Stop automatic cycles, after the one that is under way. `start` resumes; `step` works meanwhile.

        >>> import tickframe as tf
        >>> g = tf.Graph()
        >>> g.start()
        >>> g.stop()
        >>> g.is_started, g.step() > 0
        (False, True)
        """
        self._native.stop()

    def transaction(self) -> AbstractContextManager[None]:
        """Every append, upsert, delete and apply inside lands in one step, or, on an exception, in none.

        It takes what the thread that enters it does, or the asyncio task; several may be open at once, by others. A
        call inside it that raises and is caught loses that call alone. Left on another thread it ends there just the
        same. At its end all its calls are judged again against what others have queued meanwhile: all are queued, or
        none and leaving the block raises. Tokens of calls that will not land raise CancelledError.

        >>> import tickframe as tf
        >>> g = tf.Graph()
        >>> a, b = tf.append_table({"x": int}, graph=g), tf.append_table({"x": int}, graph=g)
        >>> with g.transaction():
        ...     one, two = a.append({"x": 1}), b.append({"x": 2})
        >>> g.step(), one.step, two.step
        (1, 1, 1)
        """
        return _Transaction(self._native)

    def wait(self, *tokens: Token, timeout: float | None = None) -> int:
        """Wait until the data of all these calls is visible in every table.

        >>> import tickframe as tf
        >>> g = tf.Graph(period=0)
        >>> a, b = tf.append_table({"x": int}, graph=g), tf.append_table({"x": int}, graph=g)
        >>> g.start()
        >>> step = g.wait(a.append({"x": 1}), b.append({"x": 2}), timeout=60)
        >>> len(a), len(b), g.settled >= step
        (1, 1, True)
        >>> g.stop()

        Args:
            *tokens: what the calls gave: `Token`.
            timeout: seconds for all of them together; None waits for ever.

        Returns:
            The last step in which one became visible.

        Raises:
            TimeoutError, CancelledError, InvalidOperationError: as `Token.wait`.
        """
        if not tokens:
            raise TypeError(
                "wait: give the tokens of calls, wait(t.append(...)); the next change of a table is t.wait()"
            )
        for token in tokens:
            instance(token, "wait", "each of the tokens", "Token", "what append, upsert, delete or apply gives")
            if token._graph is not None and token._graph != self:
                raise InvalidOperationError("wait: a token is of a table in another graph; wait for it there")
        most = seconds(timeout, "wait")
        until = None if most is None else time.monotonic() + most
        last = 0
        for token in tokens:
            last = max(last, token.wait(None if until is None else max(until - time.monotonic(), 0.0)))
        return last

    def after_step(
        self, fn: Callable[[int], object], on_error: Callable[[BaseException], object] | None = None
    ) -> Subscription:
        """Call `fn` with the number of each step, when it has settled and its listeners have been called.

        It is called as a listener of `Table.subscribe` is: on the graph's one listener thread, and detached when it has raised
        three times. One so late that more than 1,024 steps wait for it hears of the newest of these.

        >>> import tickframe as tf
        >>> g = tf.Graph()
        >>> with g.after_step(lambda step: print("step", step)):
        ...     _ = g.step()
        step 1

        Args:
            fn: a function of the number of the step.
            on_error: called with what `fn` raised, each time; without it the logger ``tickframe`` is told.

        Returns:
            The subscription. It lives until `Subscription.cancel`, or until neither it nor this graph is referenced any more.
        """
        from tickframe.followers import after_step

        made = after_step(self, fn, on_error)
        self._subscriptions = [held for held in self._subscriptions if held.is_active]
        self._subscriptions.append(made)
        return made

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """No step runs inside; several may hold it at once. `step` and `wait` inside raise InvalidOperationError."""
        held = self._native.frozen()
        try:
            yield
        finally:
            held.release()

    def snapshot(self, *tables: Table) -> list[Table]:
        """Static copies of several tables, all of one step. It shares their blocks and never waits for a cycle.

        >>> import tickframe as tf
        >>> g = tf.Graph()
        >>> t = tf.append_table({"x": int}, graph=g)
        >>> total = t.select(tf.col("x").sum())
        >>> for x in (1, 2):
        ...     held = g.snapshot(t, total)
        ...     _ = t.append({"x": x}), g.step()
        >>> [each.rows() for each in held], total.rows()
        ([[(1,)], [(1,)]], [(3,)])
        """
        for table in tables:
            if not is_table(table):
                raise TypeError(f"snapshot: takes tables, one by one, not {type(table).__name__}: snapshot(a, b)")
        return [table_of(taken) for taken in self._native.snapshot([table._native for table in tables])]

    def counters(self) -> dict[str, int]:
        """What the graph counts.

        >>> import tickframe as tf
        >>> g = tf.Graph()
        >>> t = tf.append_table({"x": int}, graph=g)
        >>> positive = t.filter(tf.col("x") > 0)
        >>> _ = t.append({"x": 1}), g.step()
        >>> g.counters()["nodes"], g.counters()["cycles"]
        (2, 1)

        Returns:
            ``nodes``, ``listeners``, ``cycles``, ``failed_nodes``; ``blocks_copied`` since the start (a block is
            copied when somebody holds it while it is edited); ``bytes_held`` by columns, ``undo_bytes`` of the step
            under way, ``source_bytes`` that wait in sources for a step, ``queue_bytes`` that wait for slow listeners,
            ``updates_merged`` because too many did;
            ``row_errors`` that operations passed over; ``formulas_read`` and ``expressions_planned`` by the whole
            process (a text that is known is not read again, whatever its variables hold); and a few more.
        """
        return self._native.counters()

    @property
    def errors(self) -> Table:
        """The rows that operations with ``on_error`` could not compute: operation, column, row_key, step, message.

        A live, append-only table; rows of step *n* are there at *n*. It lives as long as it is held, or a table made
        with ``on_error`` is. After a million rows faults are only counted (``counters()["row_errors"]``).

        >>> import tickframe as tf
        >>> g = tf.Graph()
        >>> t = tf.append_table({"x": str}, graph=g)
        >>> n = t.with_columns(n=tf.col("x").cast(tf.Int64), on_error="null")
        >>> token = t.append({"x": ["1", "one"]})
        >>> g.step(), n.to_dict()["n"]
        (1, [1, None])
        >>> g.errors.select("operation", "column", "row_key", "step").to_dicts()
        [{'operation': 'with_columns', 'column': 'n', 'row_key': 1, 'step': 1}]
        """
        return table_of(self._native.errors())

    @property
    def performance(self) -> Table:
        """What each node did in each cycle: step, node, operation, rows_in, rows_out, ns.

        A live table of the last 100,000 rows; the row of a whole cycle has no node and is called "cycle". Nothing is
        recorded while nobody holds it. Rows of step *n* come with the step after it, and start none by themselves.

        >>> import tickframe as tf
        >>> g = tf.Graph()
        >>> t = tf.append_table({"x": int}, graph=g)
        >>> p = g.performance
        >>> token = t.append({"x": [1, 2]})
        >>> g.step(), g.step()
        (1, 2)
        >>> p.select("step", "operation", "rows_out").head(1).to_dicts()
        [{'step': 1, 'operation': 'append_table', 'rows_out': 2}]
        """
        return table_of(self._native.performance())

    def describe(self) -> str:
        """The graph as a tree: each node with its rows, the bytes it owns, its last step, its runs and its time.

        >>> import tickframe as tf
        >>> g = tf.Graph()
        >>> t = tf.append_table({"x": int}, graph=g)
        >>> big = t.filter(tf.col("x") > 1)
        >>> print(g.describe())
        Graph(stopped, step 0, period=0.05)
          append_table · 0 rows · step 0 · 0 runs · 0.000 ms last, 0.000 ms in all
            filter((col("x") > 1)) · 0 rows · step 0 · 0 runs · 0.000 ms last, 0.000 ms in all
        """
        nodes = {node["id"]: node for node in self._native.timings()}
        children: dict[int, list[int]] = {}
        roots: list[int] = []
        for number, node in nodes.items():
            above = [parent for parent in node["parents"] if parent in nodes]
            for parent in above:
                children.setdefault(parent, []).append(number)
            if not above:
                roots.append(number)
        lines = [repr(self)]
        seen: set[int] = set()

        def show(number: int, depth: int) -> None:
            node, again = nodes[number], number in seen
            held = figures(node["rows"], node["bytes"], node["entries"])
            took = f"{node['last_ns'] / 1e6:.3f} ms last, {node['total_ns'] / 1e6:.3f} ms in all"
            shown = " (above)" if again else f" · {held} · step {node['step']} · {node['runs']} runs · {took}"
            lines.append("  " * depth + node["label"] + shown + (" · failed" if node["failed"] else ""))
            seen.add(number)
            if not again:
                for child in children.get(number, []):
                    show(child, depth + 1)

        for root in sorted(roots):
            show(root, 1)
        return "\n".join(lines)

    def to_dot(self) -> str:
        """The graph as text for Graphviz: ``dot -Tsvg``. Failed tables are red.

        >>> import tickframe as tf
        >>> g = tf.Graph()
        >>> t = tf.append_table({"x": int}, graph=g)
        >>> positive = t.filter(tf.col("x") > 0)
        >>> text = g.to_dot()
        >>> text.splitlines()[0], "->" in text
        ('digraph tickframe {', True)
        """
        return self._native.draw(mermaid=False)

    def to_mermaid(self) -> str:
        """The graph as a Mermaid flowchart, which code hosts and notebooks draw.

        >>> import tickframe as tf
        >>> g = tf.Graph()
        >>> t = tf.append_table({"x": int}, graph=g)
        >>> positive = t.filter(tf.col("x") > 0)
        >>> g.to_mermaid().splitlines()[0]
        'flowchart TD'
        """
        return self._native.draw(mermaid=True)


class _Transaction(AbstractContextManager[None]):
    """The block of `Graph.transaction`; it may be entered again when it has been left."""

    __slots__ = ("_graph", "_opened")

    def __init__(self, graph: _native.Graph) -> None:
        self._graph = graph
        self._opened: _native.Transaction | None = None

    def __enter__(self) -> None:
        if self._opened is not None:
            message = "transaction: this one is open already; ask the graph for another"
            raise InvalidOperationError(message)
        self._opened = self._graph.transaction()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        opened, self._opened = self._opened, None
        if opened is None:
            return
        if kind is None:
            opened.commit()
        else:
            opened.rollback()


def default_graph() -> Graph:
    """The graph of this process. It starts itself at the first live source, unless ``TICKFRAME_AUTOSTART=0``.

    >>> import tickframe as tf
    >>> tf.default_graph() is tf.default_graph(), isinstance(tf.default_graph(), tf.Graph)
    (True, True)
    """
    global _default  # noqa: PLW0603 - one per process is what it is for
    with _default_lock:
        if _default is None:
            _default = Graph()
        return _default


def _seconds(period: object) -> float:
    if isinstance(period, str) or not (hasattr(type(period), "__float__") or hasattr(type(period), "__index__")):
        raise TypeError(f"Graph: period is a number of seconds, not {short(period)}")
    given: Any = period
    return float(given)


def graph_for_source(graph: Graph | None) -> Graph:
    """The graph a new live source lives in; the default one is started by its first source."""
    if graph is not None:
        return graph
    chosen = default_graph()
    if not chosen.is_started and setting("autostart") and not _stopped_by_hand(chosen):
        chosen.start()
    return chosen


_autostarted: set[int] = set()


def _stopped_by_hand(graph: Graph) -> bool:
    """Whether it was started by itself before: then somebody stopped it, and it stays so."""
    if graph._native.id in _autostarted:
        return True
    _autostarted.add(graph._native.id)
    return False


_log_lock = threading.Lock()
_log_thread: threading.Thread | None = None


def _start_log() -> None:
    """One thread writes what the engine notes to the logger ``tickframe``; it starts with the first graph."""
    global _log_thread  # noqa: PLW0603 - one per process
    with _log_lock:
        if _log_thread is None:
            _native.end_events(ended=False)
            _log_thread = threading.Thread(target=_write_log, name="tickframe-log", daemon=True)
            _log_thread.start()


def _write_log() -> None:
    logger = logging.getLogger("tickframe")
    while (events := _native.take_events()) is not None:
        for level, text in events:
            logger.log(level, "%s", text)


def _forget_in_child() -> None:
    """After a fork the parent's graph is inert here; the child makes its own."""
    global _default, _default_lock, _log_lock, _log_thread  # noqa: PLW0603
    _log_lock, _log_thread = threading.Lock(), None
    _default = None
    _default_lock = threading.Lock()
    _autostarted.clear()


def _raise_in(thread: int, raises: bool) -> None:
    """Raise a KeyboardInterrupt in a thread, between two steps of what it runs; or no more what was to be raised there."""
    raised = ctypes.py_object(KeyboardInterrupt) if raises else None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), raised)


_EXIT_SECONDS = 15.0
"""How long functions that run may delay the end of the program."""

_LAST_SECONDS = 2.0
"""How long they have to end once they are interrupted."""


def _end_functions(seconds: float) -> None:
    """Wait for user functions that run, name those that do not return, and interrupt them. No other starts any more."""
    running = _native.end_functions(seconds)
    if not running:
        return
    names = ", ".join(sorted({name for name, _ in running}))
    sys.stderr.write(
        f"tickframe: the end of the program waited {_EXIT_SECONDS:g} s for {names}, and interrupts it now\n"
    )
    for _, thread in running:
        # In pure Python this ends it. What waits in a library of its own never sees it, and ends with the process.
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(SystemExit))
    _native.end_functions(_LAST_SECONDS)


def _end() -> None:
    until = time.monotonic() + _EXIT_SECONDS
    _native.stop_all(_EXIT_SECONDS)
    _native.end_events(ended=True)
    if _log_thread is not None:
        _log_thread.join(timeout=5)
    threads: Any = list(serving_threads)
    for thread in threads:
        if thread is not threading.current_thread():
            thread.join(timeout=5)
    _end_functions(until - time.monotonic())


atexit.register(_end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
