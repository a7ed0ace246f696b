"""The order of rows: sorted, the other way round, the first of them by value. Each follows its table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from tickframe import _native
from tickframe.arguments import check_all, count, flag, instance
from tickframe.describe import named
from tickframe.expr import Expr, flatten
from tickframe.foreign import array_like
from tickframe.formulas import bind
from tickframe.handles import itself, made, table_of
from tickframe.names import names_of
from tickframe.schema import ColumnNames

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tickframe.expr import IntoExpr
    from tickframe.names import Names
    from tickframe.table import Table

__all__: list[str] = []


@check_all
class Order:
    """What `Table` has of operations that put rows in order."""

    __slots__ = ()

    def sort(
        self,
        by: IntoExpr | Iterable[IntoExpr],
        *more_by: IntoExpr,
        descending: bool | Sequence[bool] = False,
        nulls_last: bool | Sequence[bool] = False,
    ) -> Table:
        """The rows in order of one or several columns; stable, ties keep their order.

        >>> import tickframe as tf
        >>> t = tf.table({"x": [-3, 1, 2]})
        >>> t.sort("x", descending=True).to_dict(), t.sort(tf.col("x").abs()).to_dict()
        ({'x': [2, 1, -3]}, {'x': [1, 2, -3]})

        Args:
            by: a column or an expression, or several: the first that differs decides.
            *more_by: further ones.
            descending: for all columns, or for each.
            nulls_last: nulls come first in both directions unless this says otherwise. NaN is the greatest value.
        """
        given = itself(self)
        table, names = _with_keys(given, [by, *more_by])
        descends, last = _flags(descending, names, "descending"), _flags(nulls_last, names, "nulls_last")
        ordered = table_of(_native.sort(table._native, list(zip(names, descends, last, strict=True))))
        return ordered if table is given else table_of(_native.choose(ordered._native, given.columns))

    def sort_descending(self, by: IntoExpr | Iterable[IntoExpr], *more_by: IntoExpr) -> Table:
        """`sort`, the greatest first, by Deephaven's name.

        >>> import tickframe as tf
        >>> tf.table({"x": [3, 1, 2]}).sort_descending("x").to_dict()
        {'x': [3, 2, 1]}
        """
        return itself(self).sort(by, *more_by, descending=True)

    def assert_sorted(
        self,
        by: Names,
        *more_by: str,
        descending: bool | Sequence[bool] = False,
        nulls_last: bool | Sequence[bool] = False,
    ) -> Table:
        """The same rows, which must be in this order; each change is looked at, and a row out of order fails the table.

        >>> import tickframe as tf
        >>> tf.table({"x": [1, 5, 4]}).assert_sorted("x")
        Traceback (most recent call last):
            ...
        tickframe.errors.DataError: assert_sorted: the rows are not in order of x: at row key 2 stands 4, after 5 at row key 1
        >>> tf.table({"x": [1, 5]}).assert_sorted("x").attributes["sorted_by"]
        (('x', False),)

        Args:
            by: a column, or several: the first that differs decides.
            *more_by: further ones.
            descending: for all columns, or for each.
            nulls_last: as in `sort`.

        Raises:
            DataError: rows that are not in this order.
        """
        return _in_order("assert_sorted", itself(self), [by, *more_by], descending, nulls_last, checked=True)

    def with_order_for_column(self, by: Names, *more_by: str, descending: bool | Sequence[bool] = False) -> Table:
        """The same rows, which are believed to be in this order: `sort` by it gives them as they are.

        >>> import tickframe as tf
        >>> t = tf.table({"t": [1, 2, 3]}).with_order_for_column("t")
        >>> t.attributes["sorted_by"]
        (('t', False),)

        Nothing is checked; `assert_sorted` is for rows that may come out of order.

        Args:
            by: a column, or several.
            *more_by: further ones.
            descending: for all columns, or for each.
        """
        return _in_order("with_order_for_column", itself(self), [by, *more_by], descending, False, checked=False)

    def merge_sorted(self, other: Table, by: Names) -> Table:
        """`tf.merge_sorted` of this table and another.

        >>> import tickframe as tf
        >>> tf.table({"x": [1, 4]}).merge_sorted(tf.table({"x": [2, 4]}), "x").to_dict()
        {'x': [1, 2, 4, 4]}

        Args:
            other: a table of the same columns.
            by: the columns in whose order both are, the least first.

        Raises:
            SchemaError: tables whose columns differ.
            DataError: rows of a table that are not in this order.
        """
        instance(other, "merge_sorted", "other", "Table", "a table")
        return merged_in_order([itself(self), other], by, False, False)

    def reverse(self) -> Table:
        """The rows in the opposite order, the last one first.

        >>> import tickframe as tf
        >>> t = tf.append_table({"x": int}, graph=tf.Graph())
        >>> latest = t.reverse()
        >>> for x in [1, 2, 3]:
        ...     _ = t.append({"x": x})
        ...     _ = t.graph.step()
        >>> latest.to_dict()
        {'x': [3, 2, 1]}
        """
        return made("reverse", "reverse", itself(self))

    def top_k(self, k: int, *, by: IntoExpr | Iterable[IntoExpr], reverse: bool | list[bool] = False) -> Table:
        """The `k` rows with the greatest values, the greatest first; nulls are the last to be taken.

        >>> import tickframe as tf
        >>> t = tf.table({"x": [1, 9, None, 5]})
        >>> t.top_k(2, by="x").to_dict(), t.bottom_k(2, by="x").to_dict()
        ({'x': [9, 5]}, {'x': [1, 5]})

        Args:
            k: how many.
            by: a column or an expression, or several of which the first that differs decides.
            reverse: whether the least come first, for all or for each.
        """
        return _first(itself(self), "top_k", k, by, reverse, greatest=True)

    def bottom_k(self, k: int, *, by: IntoExpr | Iterable[IntoExpr], reverse: bool | list[bool] = False) -> Table:
        """The `k` rows with the least values, the least first; nulls are the last to be taken.

        Args:
            k: how many.
            by: as in `top_k`.
            reverse: whether the greatest come first, for all or for each.
        """
        return _first(itself(self), "bottom_k", k, by, reverse, greatest=False)

    def head_by(self, n: int, by: Names) -> Table:
        """The first `n` rows of each group; groups in order of first appearance, key columns first.

        >>> import tickframe as tf
        >>> t = tf.table({"x": [1, 2, 3, 4], "k": ["a", "b", "a", "a"]})
        >>> t.head_by(2, "k").rows()
        [('a', 1), ('a', 3), ('b', 2)]
        >>> t.tail_by(1, "k").rows()
        [('a', 4), ('b', 2)]

        Args:
            n: how many of each group.
            by: the columns that make groups; null is a key of its own.

        Raises:
            InvalidOperationError: a blink table, whose rows live for one step.
        """
        return of_groups(itself(self), "head_by", n, by, "first")

    def tail_by(self, n: int, by: Names) -> Table:
        """The last `n` rows of each group, in row order; groups in order of first appearance, key columns first.

        Args:
            n: how many of each group.
            by: as in `head_by`.

        Raises:
            InvalidOperationError: a blink table, whose rows live for one step.
        """
        return of_groups(itself(self), "tail_by", n, by, "last")


def _first(
    table: Table,
    operation: str,
    k: int,
    by: IntoExpr | Iterable[IntoExpr],
    reverse: bool | list[bool],
    *,
    greatest: bool,
) -> Table:
    """The first rows by value, whose nulls are last."""
    rows = count(k, f"{operation}: k")
    keyed, names = _with_keys(table, [by], operation)
    flags = _flags(reverse, names, "reverse", operation)
    keys = [
        {"column": name, "descending": bool(flag) != greatest, "nulls_last": True}
        for name, flag in zip(names, flags, strict=True)
    ]
    first = made(operation, {"top_k": {"by": keys, "rows": rows}}, keyed)
    return first if keyed is table else table_of(_native.choose(first._native, table.columns))


def ordered_by(
    operation: str,
    by: Iterable[object],
    descending: bool | Sequence[bool],
    nulls_last: bool | Sequence[bool],
) -> list[dict[str, object]]:
    """Columns to sort by, as plans write them."""
    names = names_of(by, operation)
    descends = _flags(descending, names, "descending", operation)
    last = _flags(nulls_last, names, "nulls_last", operation)
    return [
        {"column": name, "descending": bool(down), "nulls_last": bool(end)}
        for name, down, end in zip(names, descends, last, strict=True)
    ]


def merged_in_order(
    tables: Sequence[Table], by: Names, descending: bool | Sequence[bool], nulls_last: bool | Sequence[bool]
) -> Table:
    """The rows of tables in order, in that order."""
    keys = ordered_by("merge_sorted", [by], descending, nulls_last)
    return made("merge_sorted", {"merge_sorted": {"by": keys}}, *tables)


def _in_order(
    operation: str,
    table: Table,
    by: Iterable[object],
    descending: bool | Sequence[bool],
    nulls_last: bool | Sequence[bool],
    *,
    checked: bool,
) -> Table:
    keys = ordered_by(operation, by, descending, nulls_last)
    return made(operation, {"in_order": {"by": keys, "checked": checked}}, table)


def of_groups(table: Table, operation: str, n: int, by: Names, keep: Literal["first", "last"]) -> Table:
    """Rows at one end of each group, the key columns first."""
    keys = names_of([by], operation)
    if not keys:
        named_by = "group_by names no column" if operation in {"head", "tail"} else "by names a column, at least"
        raise ValueError(f"{operation}: {named_by}; t.head and t.tail are of all rows")
    rows = count(n, f"{operation}: n")
    limited = made(operation, {"group_limit": {"keys": keys, "rows": rows, "keep": keep}}, table)
    names = list(dict.fromkeys([*keys, *table.columns]))
    return limited if names == table.columns else table_of(_native.choose(limited._native, names))


def _with_keys(table: Table, by: Iterable[object], operation: str = "sort") -> tuple[Table, list[str]]:
    """The table with a column for each expression that has to be computed, and the names of all columns to sort by."""
    columns = ColumnNames(table._native)
    names: list[str] = []
    computed: dict[str, _native.Expr] = {}
    for item in flatten(by):
        for each in item._for(columns) if isinstance(item, Expr) else (item,):
            bound = bind(each, table._native, operation) if isinstance(each, Expr) else None
            if bound is None or bound.bare_column() is not None:
                names.extend(names_of([each], operation))
                continue
            name = bound.text()
            while name in columns or name in computed:
                name += " "
            computed[name] = bound.alias(name)
            names.append(name)
    if not computed:
        return table, names
    return table_of(_native.columns(operation, table._native, list(computed.values()), None, "stored", True)), names


def _flags(given: bool | Sequence[bool], names: list[str], what: str, operation: str = "sort") -> list[bool]:
    if isinstance(given, bool):
        return [given] * len(names)
    several: object = given
    if not isinstance(several, (list, tuple)) and not array_like(several):
        raise TypeError(f"{operation}: {what} is True or False, or a list of them, not {named(given)}")
    flags = list(given)
    for each in flags:
        flag(each, operation, what)
    if len(flags) != len(names):
        raise ValueError(f"{operation}: {what} has {len(flags)} values for {len(names)} columns")
    return flags
