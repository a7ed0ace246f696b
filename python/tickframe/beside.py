"""Values in order, an array or a Series, as columns beside those of a static table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tickframe import _native
from tickframe.describe import named
from tickframe.errors import InvalidOperationError
from tickframe.foreign import array_like
from tickframe.handles import table_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tickframe.table import Table

__all__: list[str] = []


def parted(
    operation: str, items: Iterable[object], given: Mapping[str, object]
) -> tuple[list[object], dict[str, Any], dict[str, Any]]:
    """The arguments of `select` and its like: expressions, those with a name, and values in order by their names."""
    rest: list[object] = []
    values: dict[str, Any] = {}
    for item in items:
        if not array_like(item):
            rest.append(item)
            continue
        name = getattr(item, "name", None)
        if not isinstance(name, str) or not name:
            raise TypeError(f"{operation}: {named(item)} has no name; give it one: {operation}(name=values)")
        values[name] = item
    plain: dict[str, Any] = {}
    for name, item in given.items():
        (values if array_like(item) else plain)[name] = item
    return rest, plain, values


def with_values(operation: str, of: Table, made: Table | None, values: Mapping[str, Any]) -> Table:
    """The columns of `made`, with these values of the rows of `of` in place of or behind them.

    Raises:
        InvalidOperationError: the table is live.
        ValueError: not as many values as rows.
    """
    name, first = next(iter(values.items()))
    if of.is_live:
        raise InvalidOperationError(
            f"{operation}: {name}: {named(first)} has values in order, and the rows of a live table change: give each its key "
            f"and join them, t.join(tf.table({{'key': keys, {name!r}: values}}), on='key', how='left'), or take the rows as they "
            f"are now, t.snapshot().{operation}(...)"
        )
    columns: dict[str, Any] = {} if made is None else {each: made[each] for each in made.columns}
    rows = of.height
    for name, item in values.items():
        if len(item) != rows:
            raise ValueError(f"{operation}: {name} has {len(item)} values, the table {rows} rows")
        columns[name] = item
    if made is not None and made.height != rows:
        raise ValueError(f"{operation}: {next(iter(values))} has {rows} values beside aggregates, which have one")
    return table_of(_native.table(operation, columns))


def in_order(operation: str, table: Table, ranks: list[int]) -> Table:
    """The rows of a static table by these ranks, one for each."""
    name = "rank"
    while name in table.columns:
        name += "_"
    ranked = with_values(operation, table, table, {name: ranks})
    return table_of(_native.drop(_native.sort(ranked._native, [(name, False, False)]), [name]))
