"""Sources that nobody feeds: what a function gives each time it is called, and rows that are given out bit by bit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tickframe import _native
from tickframe.arguments import checked, count, encodable, instance
from tickframe.clocks import instant
from tickframe.describe import named, short
from tickframe.durations import nanoseconds
from tickframe.graph import Graph, graph_for_source
from tickframe.handles import is_table, table_of
from tickframe.schema import Schema

if TYPE_CHECKING:
    import datetime
    from collections.abc import Callable, Iterable, Sequence

    from tickframe.schema import SchemaLike
    from tickframe.table import Table

__all__ = ["function_generated_table", "incremental_release", "replay"]


@checked
def function_generated_table(
    fn: Callable[..., object],
    *,
    every: float | str | datetime.timedelta | None = None,
    when: Table | Sequence[Table] | None = None,
    schema: SchemaLike | None = None,
    graph: Graph | None = None,
) -> Table:
    """A live table of what a function gives: called now, and again as time passes or tables change.

    A result is compared with the one before it by position: cells that differ are modified, a longer result adds rows at
    the end, a shorter one removes them there. A function that raises fails this table alone, and those made of it.

    >>> import tickframe as tf
    >>> trades = tf.append_table({"px": float}, graph=tf.Graph())
    >>> made = tf.function_generated_table(lambda t: {"rows": [len(t)], "px": [float(sum(t["px"]))]}, when=trades)
    >>> _ = trades.append({"px": [1.5, 2.5]})
    >>> _ = trades.graph.step()
    >>> made.to_dict()
    {'rows': [2], 'px': [4.0]}

    Args:
        fn: what gives the rows: whatever `tf.table` takes, always of the same columns. It runs inside the step
            and so must not wait; it is given the tables of `when`, static, as they are in that step.
        every: seconds, a timedelta, or text such as ``"10s"``: it is called again each time so long has passed.
        when: a table or several: it is called again in each step in which one of them changes.
        schema: the columns of the rows; those of the first result without it.
        graph: where it lives if none of the tables is live; the default graph without it.

    Raises:
        ValueError: neither `every` nor `when`; another graph than that of the tables.
        SchemaError: a first result with a column of no values, and no schema.
        UdfError: `fn` raised.
    """
    if not callable(fn):
        raise TypeError(f"function_generated_table: fn is a function that gives rows, not {named(fn)}")
    wanted: Any = () if when is None else [when] if is_table(when) else when
    given = _tables(wanted, "function_generated_table", "when", "a table or a list of tables")
    if every is None and not given:
        raise ValueError("function_generated_table: say when it is called again, every= so long or when= tables change")
    span = None if every is None else nanoseconds(every, "function_generated_table: every")
    if span is not None and span <= 0:
        raise ValueError(f"function_generated_table: every must be longer than zero, not {short(every)}")
    live = [table.graph for table in given if table.graph is not None]
    home = _home(graph, live[0] if live else None, "function_generated_table", "those tables")

    def call(natives: list[_native.Table]) -> object:
        return fn(*(table_of(native) for native in natives))

    name = getattr(fn, "__qualname__", type(fn).__name__)
    tables = [table._native for table in given]
    columns = None if schema is None else Schema(schema)._native
    return table_of(_native.function_generated_table(home._native, name, call, span, tables, columns))


@checked
def incremental_release(t: Table, init: int, per_cycle: int, graph: Graph | None = None) -> Table:
    """A table that is given out in portions: `init` rows at once, then `per_cycle` more in each step until all are there.

    >>> import tickframe as tf
    >>> part = tf.incremental_release(tf.table({"x": list(range(5))}), 2, 2, graph=tf.Graph())
    >>> sizes = [len(part)]
    >>> for _ in range(3):
    ...     _ = part.graph.step()
    ...     sizes.append(len(part))
    >>> sizes
    [2, 4, 5, 5]

    Args:
        t: a static table, or one that only grows.
        init: how many rows are there at once.
        per_cycle: how many more come in a step, 1 or more.
        graph: where it lives if the table is static; the default graph without it.

    Raises:
        InvalidOperationError: a table whose rows may be removed or modified.
    """
    instance(t, "incremental_release", "t", "Table", "a table")
    first, each = count(init, "incremental_release: init"), count(per_cycle, "incremental_release: per_cycle")
    if each == 0:
        raise ValueError("incremental_release: per_cycle must be 1 or more, not 0")
    home = _home(graph, t.graph, "incremental_release", "that table")
    return table_of(_native.incremental_release(home._native, t._native, first, each))


def replay(
    tables: Iterable[Table],
    ts: str | Sequence[str],
    *,
    speed: float = 1.0,
    start: datetime.datetime | str | None = None,
    graph: Graph | None = None,
) -> list[Table]:
    """Static tables as if they happened now: append-only tables in which each row appears when its instant comes.

    All of them follow one clock, and what is due in a step appears in all of them in that step.

    >>> import datetime as dt
    >>> import tickframe as tf
    >>> clock, noon = tf.testing.ManualClock(), dt.datetime(2024, 5, 1, 12, tzinfo=dt.timezone.utc)
    >>> history = tf.table({"t": [noon + dt.timedelta(seconds=s) for s in (0, 1, 5)], "px": [1.0, 1.5, 2.0]})
    >>> [live] = tf.replay([history], "t", speed=2.0, graph=tf.Graph(clock=clock))
    >>> sizes = []
    >>> for _ in range(4):
    ...     _ = live.graph.step()
    ...     sizes.append(len(live))
    ...     _ = clock.advance("1s")
    >>> sizes
    [1, 2, 2, 3]

    Args:
        tables: static tables, each in order of its instants.
        ts: the column of instants, of all tables or of each.
        speed: how many seconds of the tables pass in one second.
        start: where their clock begins, with its zone; at the first instant of all tables without it. Earlier rows are
            there in the first step.
        graph: where they live; the default graph without it.

    Returns:
        A live table for each.

    Raises:
        InvalidOperationError: a live table.
        TypeMismatchError: a column of something else than instants.
        DataError: a row without an instant, or with an earlier one than the row before it.
    """
    if is_table(tables):
        raise TypeError("replay: give a list of tables, replay([t], ...), which share one clock")
    several: object = tables
    if not hasattr(several, "__iter__"):
        raise TypeError(f"replay: give a list of tables, not {named(several)}")
    each = _tables(tables, "replay", "each of the tables", "a table")
    names: list[str] = []
    given: object = ts
    if not hasattr(given, "__iter__"):
        raise TypeError(f"replay: ts is the name of a column, or one for each table, not {named(given)}")
    for name in [ts] * len(each) if isinstance(ts, str) else ts:
        if not isinstance(name, str):
            raise TypeError(f"replay: ts is the name of a column, or one for each table, not {named(name)}")
        encodable(name, "replay")
        names.append(name)
    if len(names) != len(each):
        raise ValueError(
            f"replay: ts names {len(names)} columns for {len(each)} tables; give one for each, or one for all"
        )
    factor: object = speed
    if isinstance(factor, bool) or not isinstance(factor, (int, float)):
        raise TypeError(f"replay: speed is a number, not {named(factor)}")
    if not (math.isfinite(speed) and 1e-9 <= speed <= 1e9):
        raise ValueError(f"replay: speed must be between 1e-9 and 1e9, not {short(speed)}")
    begins = None if start is None else instant(start, "replay: start")
    if graph is not None:
        instance(graph, "replay", "graph", "Graph", "a tf.Graph")
    home = graph_for_source(graph)
    pairs = [(table._native, name) for table, name in zip(each, names, strict=True)]
    return [table_of(native) for native in _native.replay(home._native, pairs, float(speed), begins)]


def _home(asked: Graph | None, of: Graph | None, operation: str, tables: str) -> Graph:
    """Where a table lives: in the graph of those that it follows, else in the one that was asked for."""
    if asked is not None:
        instance(asked, operation, "graph", "Graph", "a tf.Graph")
    if of is None:
        return graph_for_source(asked)
    if asked is not None and asked is not of:
        raise ValueError(f"{operation}: it lives in the graph of {tables}, and graph= is another; leave graph out")
    return of


def _tables(given: Any, operation: str, parameter: str, remedy: str) -> list[Table]:
    """The tables; what is none is refused before the next one is taken."""
    if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__"):
        raise TypeError(f"{operation}: {parameter} is {remedy}, not {named(given)}")
    tables: list[Table] = []
    for each in given:
        instance(each, operation, parameter, "Table", remedy)
        tables.append(each)
    return tables
