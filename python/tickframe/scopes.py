"""Scopes: tables that are made inside are let go together at the end."""

from __future__ import annotations

import contextvars
import weakref
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Self

from tickframe.arguments import instance
from tickframe.errors import InvalidOperationError

if TYPE_CHECKING:
    from tickframe.table import Table

__all__ = ["Scope", "scope"]

_current: contextvars.ContextVar[Scope | None] = contextvars.ContextVar("tickframe_scope", default=None)


class Scope(AbstractContextManager["Scope"]):
    """The block of `scope`. Do not make one yourself."""

    def __init__(self) -> None:
        self._tables: weakref.WeakSet[Table] = weakref.WeakSet()
        self._above: Scope | None = None
        self._entered = False
        self._open = False

    def __repr__(self) -> str:
        state = "open" if self._open else "over" if self._entered else "not entered"
        return f"Scope({state}, {len(self._tables)} tables)"

    def __enter__(self) -> Self:
        if self._entered:
            raise InvalidOperationError("scope: this one was entered already; make another, tf.scope()")
        self._entered = self._open = True
        self._above = _current.get()
        _current.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._open = False
        if _current.get() is self:
            _current.set(self._above)
        for table in list(self._tables):
            table._release()
        self._tables.clear()

    def keep(self, *tables: Table) -> None:
        """Let these tables live on. In a scope inside another one they belong to the outer one from here on."""
        for table in tables:
            instance(table, "keep", "each of the tables", "Table", "a table")
        for table in tables:
            if table in self._tables:
                self._tables.discard(table)
                if self._above is not None and self._above._open:
                    self._above._tables.add(table)


def scope() -> Scope:
    """A block whose tables are let go at its end, all of them, whoever still holds one.

    What was made inside it, by this thread or asyncio task, leaves its graph: nothing updates it any more, its listeners are
    cancelled, its memory is free, and a use of it raises `InvalidOperationError`. Tables that `Scope.keep` names live on, with all
    that they stand on.

    >>> import tickframe as tf
    >>> t = tf.append_table({"x": int}, graph=tf.Graph())
    >>> with tf.scope() as block:
    ...     positive = t.filter(tf.col("x") > 0)
    ...     total = positive.agg_by(tf.agg.sum_("x"))
    ...     block.keep(total)
    >>> _ = t.append({"x": [-1, 2]})
    >>> _ = t.graph.step()
    >>> total.to_dict()
    {'x': [2]}
    >>> positive
    Table(let go at the end of its tf.scope())
    """
    return Scope()


def note(table: Table) -> None:
    """A table is made: it belongs to the scope that is open."""
    now = _current.get()
    if now is not None and now._open:
        now._tables.add(table)
