"""The way back: a graph of what was saved in a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tickframe import _native, sources
from tickframe.arguments import checked
from tickframe.durable import POSITIONS, folder_of
from tickframe.graph import Graph
from tickframe.handles import table_of
from tickframe.schema import Schema

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    from tickframe.table import Table

__all__ = ["restore"]


@checked
def restore(
    path: str | os.PathLike[str],
    graph: Graph | None = None,
    *,
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> Graph:
    """A graph of what was saved in a folder: its sources with their rows and row keys, and its kept tables.

    A checkpoint is taken first, and then what a durable graph wrote after it. Of the folder of a durable graph
    (``Graph(durable=path)``) comes a durable graph that goes on in it; a folder of `Graph.checkpoint` or `Table.checkpoint` is
    read and let go. Results that depend on the path (aggregates over blink tables, rings, `Table.snapshot_when`) begin anew.

    >>> import tempfile, tickframe as tf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with tf.Graph(durable=folder) as g:
    ...         trades = tf.append_table({"px": float}, graph=g, name="trades", durable=True)
    ...         _ = trades.append({"px": 1.5})
    ...         _ = g.step()
    ...     with tf.restore(folder) as g:
    ...         _ = g.tables["trades"].append({"px": 2.5})
    ...         _ = g.step()
    ...         g.tables["trades"].to_dict()
    {'px': [1.5, 2.5]}

    Args:
        path: the folder.
        graph: a graph without tables of these names, in which the tables are made; a new one without it.
        functions: functions of the user that plans of kept tables call, by name.

    Returns:
        The graph; its tables are in `Graph.tables`.

    Raises:
        CheckpointError: there is no such folder, it is in use, was written by a newer version, or is damaged: the message names
            the file and the place in it.
        StorageError: the disk fails.
        DataError: a plan calls a function that is not in `functions`.
    """
    where = folder_of(path, "restore")
    made = Graph() if graph is None else graph
    try:
        _, saved, kept = _native.restore(made._native, where)
        made._functions = functions
        for name, kind, key, durable, columns in saved:
            if name == POSITIONS:
                continue
            schema = Schema._of(columns)
            table: Table
            if kind == "append_table":
                table = sources.append_table(schema, graph=made, name=name, durable=durable)
            elif kind == "keyed_table":
                table = sources.keyed_table(schema, key, graph=made, name=name, durable=durable)
            elif kind == "input_table":
                table = sources.input_table(schema, graph=made, name=name, durable=durable)
            elif kind == "blink_table":
                table = sources.blink_table(schema, graph=made, name=name)
            else:
                table = table_of(_native.fixed_table(made._native, name, columns))
            made._held[name] = table
        made._plans = {told[0]: told for told in kept}
        for name in made._plans:
            made._rebuilt(name)
    except BaseException:
        if graph is None:
            made.close()
        raise
    return made
