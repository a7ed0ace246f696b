"""Several tables as one: the rows of each, one table after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from tickframe import _native
from tickframe.arguments import checked, instance
from tickframe.describe import short
from tickframe.dtypes import from_spec
from tickframe.expr import Expr, flatten
from tickframe.functions import col, lit
from tickframe.order import merged_in_order
from tickframe.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tickframe.dtypes import DataType
    from tickframe.names import Names

__all__ = ["concat", "merge", "merge_sorted"]

How: TypeAlias = Literal["vertical", "vertical_relaxed", "diagonal", "diagonal_relaxed"]

_HOWS = ("vertical", "vertical_relaxed", "diagonal", "diagonal_relaxed")


@checked
def concat(
    tables: Iterable[Table],
    how: How = "vertical",
) -> Table:
    """The rows of several tables, one table after the other, as all of them change.

    >>> import tickframe as tf
    >>> a, b = tf.table({"x": [1], "s": ["a"]}), tf.table({"x": [2.5], "t": ["b"]})
    >>> tf.concat([a.select("x"), b.select("x")], how="vertical_relaxed").to_dict()
    {'x': [1.0, 2.5]}
    >>> tf.concat([a, b], how="diagonal_relaxed").to_dicts()
    [{'x': 1.0, 's': 'a', 't': None}, {'x': 2.5, 's': None, 't': 'b'}]

    Args:
        tables: the tables.
        how: ``"vertical"`` takes tables of one schema, ``"diagonal"`` those whose columns of one name have one type: a column
            that a table has not is null there. With ``"_relaxed"`` columns of one name meet in the type that holds the values of
            both.

    Raises:
        SchemaError: tables whose columns differ.
        TypeMismatchError: types that no type holds both of.
    """
    if isinstance(tables, Table):
        raise TypeError("concat: give a list of tables, concat([a, b]), or merge(a, b)")
    given: object = how
    if not (isinstance(given, str) and given in _HOWS):
        advice = "; tables are put side by side by join" if given in {"horizontal", "align"} else ""
        raise ValueError(
            f"concat: how must be {', '.join(map(repr, _HOWS[:-1]))} or {_HOWS[-1]!r}, not {short(how)}{advice}"
        )
    each = _tables("concat", tables)
    if given != "vertical":
        each = _alike(each, fill=given.startswith("diagonal"), widen=given.endswith("relaxed"))
    return Table(_native.concat([table._native for table in each]))


def merge(*tables: Table | Iterable[Table]) -> Table:
    """`concat`, by Deephaven's name.

    >>> import tickframe as tf
    >>> tf.merge(tf.table({"x": [1]}), tf.table({"x": [2]})).to_dict()
    {'x': [1, 2]}
    """
    flat: list[Any] = flatten(tables)
    for each in flat:
        instance(each, "merge", "each argument", "Table", "a table")
    return concat(flat)


@checked
def merge_sorted(
    tables: Iterable[Table],
    by: Names,
    *,
    descending: bool | Sequence[bool] = False,
    nulls_last: bool | Sequence[bool] = False,
) -> Table:
    """The rows of tables that are in order, in that order, as all of them change; of equal rows those of the first table come first.

    >>> import tickframe as tf
    >>> a, b = tf.table({"t": [1, 5], "of": ["a", "a"]}), tf.table({"t": [2, 5], "of": ["b", "b"]})
    >>> tf.merge_sorted([a, b], "t").rows()
    [(1, 'a'), (2, 'b'), (5, 'a'), (5, 'b')]

    Args:
        tables: tables of the same columns. One that is not known to be in order, as the result of `sort` is, is looked at, and
            so is each change of it.
        by: a column, or several: the first that differs decides.
        descending: for all columns, or for each.
        nulls_last: as in `Table.sort`.

    Raises:
        SchemaError: tables whose columns differ.
        DataError: rows of a table that are not in this order.
    """
    each = _tables("merge_sorted", tables)
    return merged_in_order(each, by, descending, nulls_last)


def _tables(operation: str, tables: Iterable[Table]) -> list[Table]:
    if isinstance(tables, Table):
        raise TypeError(f"{operation}: give a list of tables, {operation}([a, b])")
    each: list[Table] = []
    for item in tables:
        instance(item, operation, "each of the tables", "Table", "a table")
        each.append(item)
    if not each:
        raise ValueError(f"{operation}: give at least one table")
    return each


def _alike(tables: list[Table], *, fill: bool, widen: bool) -> list[Table]:
    """The tables, each with the columns of all in the types in which they meet; what is alike already stays as it is."""
    types: dict[str, DataType] = {}
    for table in tables if fill else tables[:1]:
        for name, kind in table.schema.items():
            types.setdefault(name, kind)
    for table in tables if widen else ():
        for name, kind in table.schema.items():
            known = types.get(name)
            if known is not None and known._spec != kind._spec:
                operation = f"concat: column {name!r}"
                types[name] = from_spec(_native.common_type(operation, known._spec, kind._spec))
    return [_made_like(table, types, fill=fill, widen=widen) for table in tables]


def _made_like(table: Table, types: dict[str, DataType], *, fill: bool, widen: bool) -> Table:
    """The table with these columns: null where it has none, cast where it has another type."""
    own = table.schema
    made: list[Expr] = []
    for name, kind in types.items():
        if name not in own:
            if fill:
                made.append(lit(None, kind).alias(name))
        elif widen and own[name]._spec != kind._spec:
            made.append(col(name).cast(kind))
        else:
            made.append(col(name))
    rest = [name for name in own if name not in types]  # of a vertical one: the engine tells what differs
    if [*own] == [*types] and all(own[name]._spec == kind._spec for name, kind in types.items()):
        return table
    return table.select(made, rest)
