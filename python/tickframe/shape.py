"""Other rows and columns of the same cells: lists taken apart, tables made longer or wider. Each follows its table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tickframe.arguments import check_all
from tickframe.dtypes import Array, List
from tickframe.handles import itself, made
from tickframe.names import names_of
from tickframe.schema import ColumnNames

if TYPE_CHECKING:
    from tickframe.names import Names
    from tickframe.table import Table

__all__: list[str] = []


@check_all
class Shape:
    """What `Table` has of operations that give its cells another place."""

    __slots__ = ()

    # Rows -------------------------------------------------------------------------------------------------

    def explode(
        self, columns: Names, *more_columns: str, empty_as_null: bool = False, keep_nulls: bool = True
    ) -> Table:
        """A row for each value of the lists of a column; the other columns are repeated.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "b", "c"], "v": [[1, 2], [], None]})
        >>> t.explode("v").to_dicts()
        [{'k': 'a', 'v': 1}, {'k': 'a', 'v': 2}, {'k': 'c', 'v': None}]

        Args:
            columns: a column of lists, or several, whose lists are of one length in each row.
            *more_columns: further ones.
            empty_as_null: whether an empty list gives a row, with null; else it gives none.
            keep_nulls: whether null gives a row, with null.

        Raises:
            ColumnNotFoundError: an unknown column.
            TypeMismatchError: a column that holds no lists.
            DataError: lists of one row that differ in length; `ungroup` fills them up with ``null_fill=True``.
        """
        names = names_of([columns, *more_columns], "explode", ColumnNames(itself(self)._native))
        return _exploded("explode", itself(self), names, empty_as_null=empty_as_null, keep_nulls=keep_nulls)

    def ungroup(self, *columns: Names, null_fill: bool = False) -> Table:
        """As `explode`, by Deephaven's name: a null gives no row, and without columns all lists are taken apart.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "b"], "v": [[1, 2], None], "w": [["x"], None]})
        >>> t.ungroup(null_fill=True).to_dicts()
        [{'k': 'a', 'v': 1, 'w': 'x'}, {'k': 'a', 'v': 2, 'w': None}]

        Args:
            *columns: columns of lists; all of them without any.
            null_fill: whether the lists of a row may differ in length: the shorter ones are filled up with nulls.

        Raises:
            ColumnNotFoundError: an unknown column.
            SchemaError: no column holds lists.
            TypeMismatchError: a column that holds no lists.
            DataError: lists of one row that differ in length.
        """
        table = itself(self)
        names = names_of(columns, "ungroup", ColumnNames(table._native))
        if not names:
            names = [name for name, kind in table.schema.items() if isinstance(kind, (List, Array))]
        return _exploded("ungroup", table, names, keep_nulls=False, null_fill=null_fill)

    def flatten(self) -> Table:
        """The same rows at the keys 0, 1, 2 …, whatever comes and goes.

        >>> import tickframe as tf
        >>> t = tf.table({"x": [1, 2, 3]}).filter(tf.col("x") > 1)
        >>> t.row_set.ranges(), t.flatten().row_set.ranges(), t.flatten().to_dict()
        ([(1, 2)], [(0, 1)], {'x': [2, 3]})
        """
        return made("flatten", "flatten", itself(self))


def _exploded(
    method: str,
    table: Table,
    columns: list[str],
    *,
    empty_as_null: bool = False,
    keep_nulls: bool = True,
    null_fill: bool = False,
) -> Table:
    """The table of an `explode`."""
    options = {"empty_as_null": empty_as_null, "keep_nulls": keep_nulls, "null_fill": null_fill}
    return made(method, {"explode": {"columns": columns, **options}}, table)
