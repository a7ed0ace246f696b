"""Live sources: tables that are fed from outside the graph.

Feeding queues and returns; the next cycle takes all that is queued. Data of one call is never split over steps, and
calls keep their order per source. What does not fit the schema raises at the call, and nothing of it is applied.

What may wait for a step is bounded, ``max_queued_rows=``; ``when_full=`` says what becomes of a call for which there is no
room: it raises a `ResourceError`, it waits until a step has taken what is queued, or, in a blink table, the oldest calls are
dropped. `counters` of the table tells how often.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from tickframe import _native
from tickframe.arguments import checked, count, rows
from tickframe.clocks import instant
from tickframe.describe import named, short
from tickframe.durable import POSITIONS, positions_by
from tickframe.durations import nanoseconds, seconds
from tickframe.errors import TickframeError
from tickframe.graph import Graph, graph_for_source
from tickframe.names import input_name, names_of
from tickframe.publisher import Fed, Publisher, door, publisher
from tickframe.schema import Schema, SchemaLike
from tickframe.table import Table

if TYPE_CHECKING:
    import datetime as _dt
    from collections.abc import Callable, Iterable, Mapping

    from tickframe.names import Names

__all__ = [
    "AppendTable",
    "BlinkTable",
    "FileTable",
    "InputTable",
    "KeyedTable",
    "Token",
    "append_table",
    "blink_table",
    "input_table",
    "keyed_table",
    "time_table",
]


WhenFull: TypeAlias = Literal["error", "wait"]

_MOST_QUEUED_ROWS = 100_000_000
"""What may wait for a step where nothing else is said."""


class Token:
    """A promise: the step in which data becomes visible."""

    __slots__ = ("_graph", "_native")

    def __init__(self, native: _native.Token, graph: Graph | None) -> None:
        self._native = native
        self._graph = graph

    def __repr__(self) -> str:
        try:
            step = self._native.step
        except TickframeError as lost:
            return f"Token({lost})"
        return "Token(waiting)" if step is None else f"Token(step={step})"

    @property
    def step(self) -> int | None:
        """The step, or None while it has not come.

        >>> import tickframe as tf
        >>> t = tf.append_table({"x": int}, graph=tf.Graph())
        >>> token = t.append({"x": 1})
        >>> token.step, t.graph.step(), token.step
        (None, 1, 1)
        """
        return self._native.step

    def wait(self, timeout: float | None = None) -> int:
        """Wait until the data is visible and, if its source is durable, on disk.

        >>> import tickframe as tf
        >>> g = tf.Graph()
        >>> g.start()
        >>> t = tf.append_table({"x": int}, graph=g)
        >>> step = t.append({"x": 1}).wait(timeout=60)
        >>> g.stop()
        >>> t.to_dict(), t.last_step == step
        ({'x': [1]}, True)

        Args:
            timeout: seconds; None waits for ever.

        Returns:
            The step in which it became visible.

        Raises:
            TimeoutError: it did not in time; it names ``stop`` if the graph is not running.
            CancelledError: its transaction was rolled back, its table let go, or its rows dropped to make room for newer.
            InvalidOperationError: in a listener, under ``frozen()`` or inside ``transaction()``.
            StorageError: the rows are visible, but the disk does not take them; it is tried again.
        """
        return self._native.wait(seconds(timeout, "wait"))


class _SourceTable(Table):
    """A table with a source behind it."""

    __slots__ = ("_publisher", "_source")

    def __init__(
        self, source: _native.Source, name: str | None = None, graph: Graph | None = None, by: Publisher | None = None
    ) -> None:
        table = source.table()
        super().__init__(table if name is None else table.named(input_name(name)))
        self._source = source
        self._publisher = by
        if by is not None and graph is not None:
            by.begins(self, graph)

    def fail(self, error: BaseException) -> None:
        """Let the table fail in the next step, with `error` as the cause; its descendants fail with it.

        >>> import tickframe as tf
        >>> t = tf.append_table({"x": int}, graph=tf.Graph())
        >>> doubled = t.with_columns(y=tf.col("x") * 2)
        >>> t.fail(ConnectionError("the feed is gone"))
        >>> _ = t.graph.step()
        >>> t.is_failed, doubled.is_failed
        (True, True)
        """
        if not isinstance(error, BaseException):
            raise TypeError(f"fail: give the error that is the cause, ValueError(...), not {named(error)}")
        self._source.fail(error)

    def close(self) -> None:
        """Take in nothing more: every later call raises `InvalidOperationError`. Closing it again does nothing.

        What is queued comes with the next step; after it the rows stay as they are, but those of a blink table, which go in
        the step after. Then ``async for`` over updates of the table ends, and over those of tables that stand on closed ones
        alone; `wait` raises, and `on_shutdown` is called.

        >>> import tickframe as tf
        >>> trades = tf.append_table({"x": int}, graph=tf.Graph())
        >>> token = trades.append({"x": 1})
        >>> trades.close()
        >>> trades.graph.step(), trades.to_dict(), trades.is_closed
        (1, {'x': [1]}, True)
        """
        self._source.close()

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._source.is_closed

    def counters(self) -> dict[str, int]:
        """What waits for a step, and what became of calls for which there was no room.

        Returns:
            ``queued_calls``, ``queued_rows`` that wait now, of at most ``max_queued_rows``; ``refused_calls`` that raised,
            ``waited_calls`` that waited for room, ``dropped_calls`` and ``dropped_rows`` that went to make it.

        >>> import tickframe as tf
        >>> trades = tf.append_table({"x": int}, graph=tf.Graph(), max_queued_rows=3)
        >>> token = trades.append({"x": [1, 2]})
        >>> try:
        ...     trades.append({"x": [3, 4]})
        ... except tf.errors.ResourceError as full:
        ...     print(full)
        append: the queue of this table is full: 2 rows wait for a step, the call brings 2, and max_queued_rows=3; run steps more often, or make the table with when_full="wait" or more rows
        >>> trades.counters()["queued_rows"], trades.counters()["refused_calls"]
        (2, 1)
        """
        return self._source.counters()


class AppendTable(_SourceTable):
    """A live table to which rows are appended."""

    __slots__ = ()

    def append(self, data: object) -> Token:
        """Queue rows: whatever `tf.table` takes, or one dict of scalars for a single row.

        >>> import tickframe as tf
        >>> t = tf.append_table({"sym": str, "px": float}, graph=tf.Graph())
        >>> _ = t.append({"sym": ["A", "B"], "px": [1.5, 2.5]})
        >>> _ = t.append({"sym": "A", "px": 3.5})
        >>> t.graph.step(), t.rows()
        (1, [('A', 1.5), ('B', 2.5), ('A', 3.5)])
        """
        return Token(self._source.append(data), self._graph)


class Followed(Protocol):
    """What looks for files that come."""

    def refresh(self, table: FileTable) -> int: ...

    def end(self) -> None: ...


class FileTable(_SourceTable):
    """A live table of files that come; made by `scan_parquet`, `scan_csv`, `scan_ndjson`, `scan_ipc` and `scan_delta`."""

    __slots__ = ("_followed",)

    def __init__(self, source: _native.Source, followed: Followed) -> None:
        super().__init__(source)
        self._followed = followed

    def refresh(self) -> int:
        """Look for files that came: their rows come with the next step.

        >>> import pathlib, tempfile, tickframe as tf
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tf.table({"x": [1]}).write_parquet(pathlib.Path(folder, "1.parquet"))
        ...     t = tf.scan_parquet(folder, refresh="manual", graph=tf.Graph())
        ...     tf.table({"x": [2]}).write_parquet(pathlib.Path(folder, "2.parquet"))
        ...     found = t.refresh(), t.graph.step() > 0, t.to_dict()
        >>> found
        (1, True, {'x': [1, 2]})

        Returns:
            How many files were read.

        Raises:
            DataError: a file that cannot be read; the table fails with the same error.
            StorageError: a file that was removed or written anew after it was read; the table fails with the same error.
        """
        return self._followed.refresh(self)

    def close(self) -> None:
        """Look for no more files; what was read comes with the next step, and then the table stays as it is.

        >>> import pathlib, tempfile, tickframe as tf
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tf.table({"x": [1]}).write_parquet(pathlib.Path(folder, "1.parquet"))
        ...     t = tf.scan_parquet(folder, refresh="manual", graph=tf.Graph())
        ...     t.close()
        ...     _ = t.graph.step()
        ...     found = t.is_closed, t.to_dict()
        >>> found
        (True, {'x': [1]})
        """
        self._followed.end()
        super().close()


class BlinkTable(_SourceTable):
    """A live table whose rows live for one step."""

    __slots__ = ()

    def append(self, data: object) -> Token:
        """Queue rows: whatever `tf.table` takes, or one dict of scalars for a single row.

        >>> import tickframe as tf
        >>> t = tf.blink_table({"x": int}, graph=tf.Graph())
        >>> total = t.sum_by()
        >>> for x in (1, 2):
        ...     _ = t.append({"x": x}), t.graph.step()
        >>> t.rows(), total.rows()
        ([(2,)], [(3,)])
        """
        return Token(self._source.append(data), self._graph)


class KeyedTable(_SourceTable):
    """A live table of one row a key."""

    __slots__ = ("_key",)
    _key: list[str]

    def upsert(self, data: object) -> Token:
        """Queue rows: a new key is an added row at the end, a known one is modified where its values differ.

        The last duplicate inside one call wins; equal data is no update.
        """
        return Token(self._source.upsert(data), self._graph)

    def delete(self, keys: object) -> Token:
        """Queue the removal of keys: a list of scalars (one key column), or data with the key columns."""
        rows(keys, "delete")
        return Token(self._source.delete(keys), self._graph)

    def replace(self, data: object) -> Token:
        """Queue rows that are to be all there is: what they do not name goes, the rest is as in `upsert`.

        >>> import tickframe as tf
        >>> t = tf.keyed_table({"id": int, "x": int}, key="id", graph=tf.Graph())
        >>> for given in ({"id": [1, 2], "x": [10, 20]}, {"id": [2, 3], "x": [21, 30]}):
        ...     _ = t.replace(given), t.graph.step()
        >>> t.rows()
        [(2, 21), (3, 30)]
        """
        return Token(self._source.replace(data), self._graph)


class InputTable(_SourceTable):
    """A live table that is changed by row key: the update model by hand."""

    __slots__ = ()

    def apply(
        self,
        added: tuple[object, object] | Mapping[int, Mapping[str, object]] | None = None,
        removed: object = None,
        modified: tuple[object, object] | Mapping[int, Mapping[str, object]] | None = None,
        shifted: Iterable[tuple[int, int, int]] | None = None,
    ) -> Token:
        """Queue a change: removed (keys before), then shifted, then modified and added (keys after).

        Args:
            added: ``(keys, data)`` or ``{key: {column: value}}``: new keys and their rows.
            removed: keys that go; anything `tf.RowSet` takes.
            modified: as `added`, with only the columns that change.
            shifted: ``(first, last, delta)``, both ends included.

        Raises:
            DataError: it breaks the update law (adds a present key, removes an absent one, a shift that reorders
                or collides); nothing is applied.
        """
        moves = None if shifted is None else [(int(first), int(last), int(delta)) for first, last, delta in shifted]
        return Token(self._source.apply(added, removed, modified, moves), self._graph)


def _fed(
    operation: str,
    most: int | None,
    when_full: str,
    by: Publisher | None,
    name: str | None,
    durable: bool = False,
) -> Fed:
    """The room of a queue and its publisher, as the engine takes them."""
    if when_full not in {"error", "wait", "drop_oldest"} or (when_full == "drop_oldest" and operation != "blink_table"):
        words = '"error", "wait" or "drop_oldest"' if operation == "blink_table" else '"error" or "wait"'
        why = "; only rows of blink tables, which nobody keeps, may be dropped" if when_full == "drop_oldest" else ""
        raise ValueError(f"{operation}: when_full must be {words}, not {short(when_full)}{why}")
    rows = _MOST_QUEUED_ROWS if most is None else count(most, f"{operation}: max_queued_rows")
    if rows == 0:
        raise ValueError(f"{operation}: max_queued_rows must be 1 or more, not 0")
    if not isinstance(durable, bool):
        raise TypeError(f"{operation}: durable is True or False, not {short(durable)}")
    return rows, when_full, door(by), None if name is None else input_name(name), durable


@checked
def append_table(
    schema: SchemaLike,
    graph: Graph | None = None,
    *,
    name: str | None = None,
    durable: bool = False,
    max_queued_rows: int | None = None,
    when_full: WhenFull = "error",
    on_flush: Callable[[AppendTable], object] | None = None,
    on_shutdown: Callable[[], object] | None = None,
) -> AppendTable:
    """A live table to which rows are appended.

    Args:
        schema: a mapping from name to type, or anything with ``__arrow_c_schema__``.
        graph: where it lives; the default graph without it.
        name: its name as an input of plans, and in `Graph.tables`; see `Plan`.
        durable: whether the folder of the graph, ``Graph(durable=...)``, keeps what it stores: `Token.wait` returns when the rows
            are visible and on disk, and a restart finds them under `name`, which it needs.
        max_queued_rows: rows that may wait for a step; 100 million without it. A call counts as one row at least, and is
            never split: one of more rows than this is refused.
        when_full: a call for which there is no room is an ``"error"``, or waits (``"wait"``) until a step has taken what is
            queued; of several that wait, those get in for which there is room, in no order. Inside a cycle, a listener,
            ``frozen()`` or a transaction nothing waits: there it is an error. A transaction asks for room at its end, and waits
            there; all of it is queued, or nothing.
        on_flush: called with the table as each step opens, before it takes what is queued: what is appended there comes in
            that step. It runs inside the step and must not wait. A graph that runs by itself makes a step each period for it.
            If it raises three times it is called no more.
        on_shutdown: called once, without arguments: when the table was closed and its last step is over, when it failed, when
            it was let go, or at the end of the program.

    Raises:
        ResourceError: by a call for which there is no room.

    >>> import tickframe as tf
    >>> trades = tf.append_table({"sym": str, "px": float}, graph=tf.Graph())
    >>> token = trades.append({"sym": "A", "px": 1.5})
    >>> trades.graph.step(), token.step, trades.to_dicts()
    (1, 1, [{'sym': 'A', 'px': 1.5}])
    """
    by = publisher("append_table", on_flush, on_shutdown)
    fed = _fed("append_table", max_queued_rows, when_full, by, name, durable)
    graph = graph_for_source(graph)
    made = AppendTable(_native.Source.append_table(graph._native, Schema(schema)._native, fed), name, graph, by)
    graph._note(name, made, durable=durable)
    return made


@checked
def blink_table(
    schema: SchemaLike,
    graph: Graph | None = None,
    *,
    name: str | None = None,
    max_queued_rows: int | None = None,
    when_full: Literal["error", "wait", "drop_oldest"] = "error",
    on_flush: Callable[[BlinkTable], object] | None = None,
    on_shutdown: Callable[[], object] | None = None,
) -> BlinkTable:
    """A live table whose rows live for one step; see `append_table`. Aggregations over it accumulate.

    Args:
        schema: as in `append_table`.
        graph: where it lives; the default graph without it.
        name: its name as an input of plans; see `Plan`.
        max_queued_rows: rows that may wait for a step; 100 million without it.
        when_full: as in `append_table`; or ``"drop_oldest"``: the oldest calls that wait are dropped until there is room,
            whole, and with all of their transaction. Calls of a transaction that feeds other tables as well stay.
        on_flush: called with the table as each step opens; see `append_table`.
        on_shutdown: called once, at the end of the table; see `append_table`.

    >>> import tickframe as tf
    >>> ticks = tf.blink_table({"x": int}, graph=tf.Graph(), max_queued_rows=2, when_full="drop_oldest")
    >>> for x in range(5):
    ...     token = ticks.append({"x": x})
    >>> ticks.graph.step(), ticks.to_dict(), ticks.counters()["dropped_rows"]
    (1, {'x': [3, 4]}, 3)
    """
    by = publisher("blink_table", on_flush, on_shutdown)
    fed = _fed("blink_table", max_queued_rows, when_full, by, name)
    graph = graph_for_source(graph)
    made = BlinkTable(_native.Source.blink_table(graph._native, Schema(schema)._native, fed), name, graph, by)
    graph._note(name, made, durable=False)
    return made


@checked
def keyed_table(
    schema: SchemaLike,
    key: Names,
    graph: Graph | None = None,
    *,
    name: str | None = None,
    durable: bool = False,
    max_queued_rows: int | None = None,
    when_full: WhenFull = "error",
    on_flush: Callable[[KeyedTable], object] | None = None,
    on_shutdown: Callable[[], object] | None = None,
) -> KeyedTable:
    """A live table of one row a key.

    Args:
        schema: as in `append_table`.
        key: the column, or columns, by whose values rows are known.
        graph: where it lives; the default graph without it.
        name: its name as an input of plans, and in `Graph.tables`; see `Plan`.
        durable: whether the folder of the graph, ``Graph(durable=...)``, keeps what it stores: `Token.wait` returns when the rows
            are visible and on disk, and a restart finds them under `name`, which it needs.
        max_queued_rows: rows that may wait for a step, and keys to be deleted; 100 million without it.
        when_full: what becomes of a call for which there is no room, as in `append_table`.
        on_flush: called with the table as each step opens; see `append_table`.
        on_shutdown: called once, at the end of the table; see `append_table`.

    >>> import tickframe as tf
    >>> last = tf.keyed_table({"sym": str, "px": float}, key="sym", graph=tf.Graph())
    >>> _ = last.upsert({"sym": ["A", "B", "A"], "px": [1.0, 2.0, 3.0]})
    >>> _ = last.graph.step()
    >>> last.to_dict()
    {'sym': ['A', 'B'], 'px': [3.0, 2.0]}
    """
    by = publisher("keyed_table", on_flush, on_shutdown)
    fed = _fed("keyed_table", max_queued_rows, when_full, by, name, durable)
    graph = graph_for_source(graph)
    keys = names_of([key], "keyed_table")
    made = KeyedTable(_native.Source.keyed_table(graph._native, Schema(schema)._native, keys, fed), name, graph, by)
    made._key = list(keys)
    graph._note(name, made, durable=durable)
    return made


@checked
def input_table(
    schema: SchemaLike,
    graph: Graph | None = None,
    *,
    name: str | None = None,
    durable: bool = False,
    max_queued_rows: int | None = None,
    when_full: WhenFull = "error",
    on_flush: Callable[[InputTable], object] | None = None,
    on_shutdown: Callable[[], object] | None = None,
) -> InputTable:
    """A live table that is changed by row key: the raw door for tests and bridges; see `InputTable.apply`.

    Args:
        schema: as in `append_table`.
        graph: where it lives; the default graph without it.
        name: its name as an input of plans, and in `Graph.tables`; see `Plan`.
        durable: whether the folder of the graph, ``Graph(durable=...)``, keeps what it stores: `Token.wait` returns when the rows
            are visible and on disk, and a restart finds them under `name`, which it needs.
        max_queued_rows: rows that may wait for a step, added and modified; 100 million without it.
        when_full: what becomes of a call for which there is no room, as in `append_table`.
        on_flush: called with the table as each step opens; see `append_table`.
        on_shutdown: called once, at the end of the table; see `append_table`.
    """
    by = publisher("input_table", on_flush, on_shutdown)
    fed = _fed("input_table", max_queued_rows, when_full, by, name, durable)
    graph = graph_for_source(graph)
    made = InputTable(_native.Source.input_table(graph._native, Schema(schema)._native, fed), name, graph, by)
    graph._note(name, made, durable=durable)
    return made


@checked
def time_table(
    period: float | str | _dt.timedelta,
    start: _dt.datetime | str | None = None,
    blink: bool = False,
    graph: Graph | None = None,
    *,
    name: str | None = None,
) -> Table:
    """A live table with one column ``Timestamp``: a row every `period`.

    Args:
        period: seconds, a timedelta, or text such as ``"1s"``.
        start: the first stamp, with its zone; a start in the past fills at once. Without it, now rounded down.
        blink: whether a row lives for one step only.
        graph: where it lives; the default graph without it.
        name: its name as an input of plans; see `Plan`.
    """
    every = nanoseconds(period, "time_table: period")
    if every <= 0:
        raise ValueError(f"time_table: period must be longer than zero, not {short(period)}")
    moment = None if start is None else instant(start, "time_table: start")
    graph = graph_for_source(graph)
    made = _native.time_table(graph._native, every, moment, blink)
    return Table(made if name is None else made.named(input_name(name)))


def _positions(graph: Graph) -> KeyedTable:
    """The table in which a graph keeps how far sources outside were read."""
    return keyed_table({"source": str, "position": str}, "source", graph=graph, name=POSITIONS, durable=True)


positions_by(_positions)
