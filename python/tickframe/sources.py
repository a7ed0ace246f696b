"""Live sources: tables that are fed from outside the graph.

Feeding queues and returns; the next cycle takes all that is queued. Data of one call is never split over steps, and
calls keep their order per source. What does not fit the schema raises at the call, and nothing of it is applied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tickframe import _native
from tickframe.arguments import checked, rows
from tickframe.describe import named, short
from tickframe.durations import nanoseconds, seconds
from tickframe.errors import TickframeError
from tickframe.graph import Graph, graph_for_source
from tickframe.names import input_name, names_of
from tickframe.schema import Schema, SchemaLike
from tickframe.table import Table
from tickframe.testing import instant

if TYPE_CHECKING:
    import datetime as _dt
    from collections.abc import Iterable, Mapping

    from tickframe.names import Names

__all__ = [
    "AppendTable",
    "BlinkTable",
    "InputTable",
    "KeyedTable",
    "Token",
    "append_table",
    "blink_table",
    "input_table",
    "keyed_table",
    "time_table",
]


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
        """The step, or None while it has not come."""
        return self._native.step

    def wait(self, timeout: float | None = None) -> int:
        """Wait until the data is visible.

        Args:
            timeout: seconds; None waits for ever.

        Returns:
            The step in which it became visible.

        Raises:
            TimeoutError: it did not in time; it names ``stop`` if the graph is not running.
            CancelledError: its transaction was rolled back, or its table let go.
            InvalidOperationError: in a listener, under ``frozen()`` or inside ``transaction()``.
        """
        return self._native.wait(seconds(timeout, "wait"))


class _SourceTable(Table):
    """A table with a source behind it."""

    __slots__ = ("_source",)

    def __init__(self, source: _native.Source, name: str | None = None) -> None:
        table = source.table()
        super().__init__(table if name is None else table.named(input_name(name)))
        self._source = source

    def fail(self, error: BaseException) -> None:
        """Let the table fail in the next step, with `error` as the cause; its descendants fail with it."""
        if not isinstance(error, BaseException):
            raise TypeError(f"fail: give the error that is the cause, ValueError(...), not {named(error)}")
        self._source.fail(error)


class AppendTable(_SourceTable):
    """A live table to which rows are appended."""

    __slots__ = ()

    def append(self, data: object) -> Token:
        """Queue rows: whatever `tf.table` takes, or one dict of scalars for a single row."""
        return Token(self._source.append(data), self._graph)


class BlinkTable(_SourceTable):
    """A live table whose rows live for one step."""

    __slots__ = ()

    def append(self, data: object) -> Token:
        """Queue rows: whatever `tf.table` takes, or one dict of scalars for a single row."""
        return Token(self._source.append(data), self._graph)


class KeyedTable(_SourceTable):
    """A live table of one row a key."""

    __slots__ = ()

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
        """Queue rows that are to be all there is: what they do not name goes, the rest is as in `upsert`."""
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


@checked
def append_table(schema: SchemaLike, graph: Graph | None = None, *, name: str | None = None) -> AppendTable:
    """A live table to which rows are appended.

    Args:
        schema: a mapping from name to type, or anything with ``__arrow_c_schema__``.
        graph: where it lives; the default graph without it.
        name: its name as an input of plans; see `Plan`.

    >>> import tickframe as tf
    >>> trades = tf.append_table({"sym": str, "px": float}, graph=tf.Graph())
    >>> token = trades.append({"sym": "A", "px": 1.5})
    >>> trades.graph.step(), token.step, trades.to_dicts()
    (1, 1, [{'sym': 'A', 'px': 1.5}])
    """
    graph = graph_for_source(graph)
    return AppendTable(_native.Source.append_table(graph._native, Schema(schema)._native), name)


@checked
def blink_table(schema: SchemaLike, graph: Graph | None = None, *, name: str | None = None) -> BlinkTable:
    """A live table whose rows live for one step; see `append_table`. Aggregations over it accumulate."""
    graph = graph_for_source(graph)
    return BlinkTable(_native.Source.blink_table(graph._native, Schema(schema)._native), name)


@checked
def keyed_table(schema: SchemaLike, key: Names, graph: Graph | None = None, *, name: str | None = None) -> KeyedTable:
    """A live table of one row a key.

    >>> import tickframe as tf
    >>> last = tf.keyed_table({"sym": str, "px": float}, key="sym", graph=tf.Graph())
    >>> _ = last.upsert({"sym": ["A", "B", "A"], "px": [1.0, 2.0, 3.0]})
    >>> _ = last.graph.step()
    >>> last.to_dict()
    {'sym': ['A', 'B'], 'px': [3.0, 2.0]}
    """
    graph = graph_for_source(graph)
    keys = names_of([key], "keyed_table")
    return KeyedTable(_native.Source.keyed_table(graph._native, Schema(schema)._native, keys), name)


@checked
def input_table(schema: SchemaLike, graph: Graph | None = None, *, name: str | None = None) -> InputTable:
    """A live table that is changed by row key: the raw door for tests and bridges; see `InputTable.apply`."""
    graph = graph_for_source(graph)
    return InputTable(_native.Source.input_table(graph._native, Schema(schema)._native), name)


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
