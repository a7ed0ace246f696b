"""Tables that outlive their process: durable graphs, checkpoints, and the way back.

``Graph(durable=folder)`` keeps in the folder what its durable sources store; a program that is killed and started again finds
them as they were. `Graph.checkpoint` saves sources that are not durable as well, and `restore` makes a graph of what was saved.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from tickframe import _native
from tickframe.arguments import instance
from tickframe.arguments import text as _text
from tickframe.describe import named, short
from tickframe.errors import InvalidOperationError
from tickframe.handles import table_of
from tickframe.paths import path_of
from tickframe.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from tickframe.sources import KeyedTable, Token
    from tickframe.table import Table

__all__ = ["Positions", "Tables"]

POSITIONS = "tickframe.positions"
"""The table of positions: no user's name."""

_makers: list[Callable[[Any], KeyedTable]] = []
_Told = tuple[str, str, list[str], bool, Any]
_ToldPlan = tuple[str, str, list[tuple[str, str]]]


class Tables(Mapping[str, "Table"]):
    """The tables of a graph by name: named sources that are in use, tables that are kept, and what was restored."""

    def __init__(self, graph: DurableParts) -> None:
        self._of = graph

    def __getitem__(self, name: str) -> Table:
        found = self._of._found(name)
        if found is None:
            found = self._of._rebuilt(name)
        if found is None:
            raise KeyError(f"the graph has no table named {name!r}; the names are {sorted(self)}")
        return found

    def __iter__(self) -> Iterator[str]:
        known = [*self._of._held, *self._of._named, *self._of._plans]
        return iter([name for name in dict.fromkeys(known) if name != POSITIONS])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __repr__(self) -> str:
        return f"Tables({', '.join(self)})"


class Positions(MutableMapping[str, Any]):
    """How far each source outside has been read: names, and values that JSON can say, kept with the rows.

    What is set inside a `Graph.transaction` is on disk together with the rows of the transaction, or not at all.

    >>> import tempfile, tickframe as tf
    >>> with tempfile.TemporaryDirectory() as folder, tf.Graph(durable=folder) as g:
    ...     g.positions["exchange"] = 17
    ...     _ = g.step()
    ...     found = g.positions["exchange"], g.positions.get("elsewhere"), repr(g.positions)
    >>> found
    (17, None, "Positions({'exchange': 17})")
    """

    def __init__(self, table: KeyedTable) -> None:
        self._table = table
        self._put_last: dict[str, Token] = {}

    def _all(self) -> dict[str, str]:
        held = self._table.snapshot().to_dict()
        return dict(zip(held["source"], held["position"], strict=True))

    def __getitem__(self, source: str) -> Any:
        return json.loads(self._all()[source])

    def __setitem__(self, source: str, position: Any) -> None:
        self._put(source, position)

    def _put(self, source: str, position: Any) -> Token:
        """Set a position. Its token tells when it is on disk."""
        _text(source, "positions", "the name of a source")
        try:
            written = json.dumps(position)
        except (TypeError, ValueError) as cause:
            raise TypeError(f"positions: {short(position)} cannot be written as JSON: {cause}") from None
        self._put_last[source] = token = self._table.upsert({"source": source, "position": written})
        return token

    def __delitem__(self, source: str) -> None:
        if source not in self._all():
            raise KeyError(source)
        self._table.delete([source])

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._table)

    def __repr__(self) -> str:
        return f"Positions({ {name: self[name] for name in self} })"


class DurableParts:
    """What a graph has for tables that outlive it."""

    _native: _native.Graph

    def _begin_durable(self) -> None:
        self._held: dict[str, Table] = {}
        self._lasting: dict[str, Table] = {}
        self._named: WeakValueDictionary[str, Table] = WeakValueDictionary()
        self._plans: dict[str, _ToldPlan] = {}
        self._fixed: dict[str, Table] = {}
        self._functions: Mapping[str, Callable[..., Any]] | None = None
        self._positions: Positions | None = None

    def _note(self, name: str | None, table: Table, *, durable: bool) -> None:
        """A named source is there."""
        if name is None:
            return
        if durable:
            self._held[name] = self._lasting[name] = table
        elif name not in self._held:
            self._named[name] = table

    def _found(self, name: str) -> Table | None:
        held = self._held.get(name)
        return self._named.get(name) if held is None else held

    def _rebuilt(self, name: str) -> Table | None:
        """A kept table whose plan was saved, made when it is first asked for."""
        told = self._plans.get(name)
        if told is None:
            return None
        _, text, inputs = told
        plan = Plan.from_json(text, functions=self._functions)
        given = {saved: self.tables[saved] for _, saved in inputs}
        made = plan.run(**{needed: given[saved] for needed, saved in inputs})
        self._held[name] = made
        return made

    @property
    def durable(self) -> str | None:
        """The folder in which durable sources keep what they store; None of a graph without one.

        >>> import pathlib, tempfile, tickframe as tf
        >>> with tempfile.TemporaryDirectory() as folder, tf.Graph(durable=folder) as g:
        ...     kept = pathlib.Path(g.durable) == pathlib.Path(folder)
        >>> kept, tf.Graph().durable
        (True, None)
        """
        path = _native.durable_path(self._native)
        return None if path is None else os.fspath(path)

    @property
    def tables(self) -> Tables:
        """Sources that have a ``name=``, tables that are kept (`keep`), and restored ones, by name.

        >>> import tickframe as tf
        >>> g = tf.Graph()
        >>> trades = tf.append_table({"px": float}, graph=g, name="trades")
        >>> g.tables["trades"] is trades, list(g.tables)
        (True, ['trades'])
        """
        return Tables(self)

    @property
    def positions(self) -> Positions:
        """How far each source outside has been read, kept with the rows: a mapping from names to what JSON can say.

        >>> import tempfile, tickframe as tf
        >>> with tempfile.TemporaryDirectory() as folder, tf.Graph(durable=folder) as g:
        ...     trades = tf.append_table({"px": float}, graph=g, name="trades", durable=True)
        ...     with g.transaction():
        ...         _ = trades.append({"px": 1.5})
        ...         g.positions["exchange"] = 17
        ...     _ = g.step()
        ...     dict(g.positions)
        {'exchange': 17}

        Raises:
            InvalidOperationError: the graph has no folder, ``Graph(durable=...)``.
        """
        if self._positions is None:
            if self.durable is None:
                raise InvalidOperationError(
                    'positions: this graph keeps nothing on disk; make it with tf.Graph(durable="folder")'
                )
            self._positions = Positions(_makers[0](self))
        return self._positions

    def keep(self, name: str, table: Table) -> None:
        """Keep a table that is derived from named sources: it is in `tables`, and a checkpoint saves its plan.

        Its rows are not saved: they are computed anew from the restored sources. In a durable graph the plan is on disk when
        this returns.

        >>> import tempfile, tickframe as tf
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with tf.Graph(durable=folder) as g:
        ...         trades = tf.append_table({"px": float}, graph=g, name="trades", durable=True)
        ...         g.keep("dear", trades.filter(tf.col("px") > 2))
        ...         _ = trades.append({"px": [1.5, 2.5]})
        ...         _ = g.step()
        ...     with tf.restore(folder) as g:
        ...         g.tables["dear"].to_dict()
        {'px': [2.5]}

        Args:
            name: under which it is found in `tables`.
            table: a live table of this graph.

        Raises:
            InvalidOperationError: it stands on a source without a name, or on one that no checkpoint saves (a time table,
                say); or another table has the name.
        """
        _text(name, "keep", "name")
        instance(table, "keep", "table", "Table", "a live table of this graph")
        if table.graph != self:
            raise InvalidOperationError("keep: the table is not live in this graph")
        standing = self._found(name)
        if standing is not None and name not in self._plans and standing is not table:
            raise InvalidOperationError(f"keep: the graph has a source named {name!r}; give another name")
        plan, inputs = _native.saved_plan("keep", name, table._native)
        told = (name, plan, [(given, given) for given, _ in inputs])
        fixed = {given: table_of(source) for given, source in inputs if not source.is_live}
        if self.durable is not None:
            _native.checkpoint(
                self._native, None, [], [(given, source._native) for given, source in fixed.items()], [told]
            )
        self._held[name] = table
        self._plans[name] = told
        self._fixed.update(fixed)

    def checkpoint(self, path: str | os.PathLike[str] | None = None) -> dict[str, Any]:
        """Save every source of the graph as it is after the last step, durable or not, and the plans of kept tables.

        Cycles go on meanwhile. The first checkpoint in a folder writes all rows, later ones what changed since; `restore`
        makes a graph of it.

        >>> import tempfile, tickframe as tf
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     g = tf.Graph()
        ...     trades = tf.append_table({"px": float}, graph=g, name="trades")
        ...     _ = trades.append({"px": [1.5, 2.5]})
        ...     _ = g.step()
        ...     done = g.checkpoint(folder)
        ...     done["step"], done["tables"], tf.restore(folder).tables["trades"].to_dict()
        (1, 1, {'px': [1.5, 2.5]})

        Args:
            path: a folder; the graph's own without it. It is made if it is not there.

        Returns:
            ``step`` whose rows are saved, ``tables``, ``bytes`` written, and whether all rows were written, ``whole``.

        Raises:
            InvalidOperationError: there is no path, and the graph has no folder of its own.
            CheckpointError: the folder is in use, holds something else, or is damaged.
            StorageError: the disk fails; what was saved before is as it was.
        """
        where = None if path is None else folder_of(path, "checkpoint")
        fixed = [(name, table._native) for name, table in self._fixed.items()]
        return _native.checkpoint(self._native, where, None, fixed, list(self._plans.values()))

    def close(self) -> None:
        """Stop the graph, wait until what its durable sources stored is on disk, and let its folder go.

        What is queued comes in a last step. Durable sources take nothing more; tables stay readable. Closing again does nothing.

        >>> import tempfile, tickframe as tf
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     g = tf.Graph(durable=folder)
        ...     t = tf.append_table({"x": int}, name="trades", durable=True, graph=g)
        ...     _ = t.append({"x": 1})
        ...     g.close()
        ...     with tf.restore(folder) as again:
        ...         rows = again.tables["trades"].to_dict()
        >>> rows
        {'x': [1]}

        Raises:
            StorageError: something could not be written.
        """
        self._native.stop()
        if self.durable is not None:
            self._native.step()
        _native.close_durable(self._native)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def folder_of(path: object, operation: str) -> str:
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"{operation}: the path of a folder is a str or a Path, not {named(path)}")
    found = path_of(operation, path)
    if not found:
        raise ValueError(f"{operation}: {short(path)} is no path of a folder")
    return found


def positions_by(make: Callable[[Any], KeyedTable]) -> None:
    """How the table of positions of a graph is made; said once, by the module of sources."""
    _makers.append(make)


def opened(graph: DurableParts, path: object) -> None:
    """Open the durable folder of a graph."""
    _, kept = _native.open_durable(graph._native, folder_of(path, "Graph(durable=...)"))
    graph._plans = {told[0]: told for told in kept}


def checkpoint_of(table: Table, path: str | os.PathLike[str], name: str) -> dict[str, Any]:
    """Save the sources that a table stands on, and its plan; see `Table.checkpoint`."""
    _text(name, "checkpoint", "name")
    where = folder_of(path, "checkpoint")
    if table.graph is None:
        raise InvalidOperationError(
            "checkpoint: the table is static, and will be what it is: write it to a file, t.write_parquet(path)"
        )
    plan, inputs = _native.saved_plan("checkpoint", name, table._native)
    live = [source for _, source in inputs if source.is_live]
    fixed = [(given, source) for given, source in inputs if not source.is_live]
    source = any(source.identity == table._native.identity for source in live)
    kept = [] if source else [(name, plan, [(given, given) for given, _ in inputs])]
    return _native.checkpoint(table.graph._native, where, live, fixed, kept)
