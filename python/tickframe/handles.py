"""The class of tables, for modules on which tables stand: graphs and listeners give tables out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Protocol, cast

from tickframe import _native

if TYPE_CHECKING:
    import threading
    from typing import TypeGuard

    from tickframe.table import Table

__all__: list[str] = []

_classes: list[type[Table]] = []

serving_threads: set[threading.Thread] = set()
"""The threads on which listeners run."""


def register(kind: type[Table]) -> None:
    """What `table_of` makes; said once, by the module of the class."""
    _classes.append(kind)


def table_of(native: _native.Table) -> Table:
    """The table that stands for a native one."""
    return _classes[0](native)


def table_class() -> type[Table]:
    """The class of tables."""
    return _classes[0]


class Handle(Protocol):
    """What holds a native table."""

    _native: _native.Table


def made(method: str, op: object, *tables: Handle) -> Table:
    """The table of an operation without expressions over these, given as plans write it."""
    return table_of(_native.apply(method, json.dumps(op), [table._native for table in tables]))


def itself(part: object) -> Table:
    """The table that a part of its methods is of."""
    return cast("Table", part)


def is_table(value: object) -> TypeGuard[Table]:
    """Whether it is a table of this package."""
    return isinstance(value, _classes[0])
