"""Shaping a whole table by what its cells are: types, nulls, row numbers. Each follows its table."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tickframe import _native
from tickframe.arguments import check_all
from tickframe.describe import named, short
from tickframe.dtypes import Binary, Boolean, DataType, Date, Datetime, Duration, String, Time
from tickframe.dtypes import dtype as as_dtype
from tickframe.errors import ColumnNotFoundError, DuplicateError
from tickframe.expr import Expr
from tickframe.functions import col
from tickframe.handles import itself
from tickframe.names import names_of
from tickframe.schema import ColumnNames
from tickframe.several import every

if TYPE_CHECKING:
    from tickframe.arguments import OnError
    from tickframe.dtypes import DataTypeLike
    from tickframe.names import Names
    from tickframe.table import Table

__all__: list[str] = []

_KINDS: dict[type, Any] = {
    bool: Boolean,
    str: String,
    bytes: Binary,
    dt.datetime: Datetime,
    dt.date: Date,
    dt.time: Time,
    dt.timedelta: Duration,
}
"""Of Python values that are no numbers, the columns that they fill."""


@check_all
class Cells:
    """What `Table` has of operations on all its columns at once."""

    __slots__ = ()

    def limit(self, n: int = 5) -> Table:
        """The first `n` rows: `head`, by another name.

        >>> import tickframe as tf
        >>> tf.table({"x": [3, 1, 2]}).limit(2).to_dict()
        {'x': [3, 1]}
        """
        return itself(self).head(n)

    def with_row_index(self, name: str = "index", offset: int = 0) -> Table:
        """The number of each row in a column before the others; of a table that only grows at its end, or a static one.

        >>> import tickframe as tf
        >>> tf.table({"x": ["a", "b"]}).with_row_index("n", offset=1).to_dicts()
        [{'n': 1, 'x': 'a'}, {'n': 2, 'x': 'b'}]

        Args:
            name: the name of the column, an Int64.
            offset: the number of the first row.

        Raises:
            FormulaError: a live table in which rows come and go before others, whose numbers would change.
            DuplicateError: a column of this name is there.
        """
        table = itself(self)
        if name in table.columns:
            raise DuplicateError(f"with_row_index: there is a column {name!r}; give another name: with_row_index(name)")
        at = Expr(_native.Expr.call("row_position", []))
        # In formulas a column called i stands in front of the number of the row.
        aside: dict[str, str] = {
            known: _unknown(table, f"{known} of the table") for known in ("i", "ii") if known in table.columns
        }
        number = (at + offset if offset else at).alias(name)
        apart = table.rename(aside) if aside else table
        made = apart._columns("with_row_index", [number, every()], {}, after=False, on_error="fail")
        return made.rename({hidden: known for known, hidden in aside.items()}) if aside else made

    # Types ------------------------------------------------------------------------------------------------

    def cast(
        self,
        dtypes: Mapping[str | DataType, DataTypeLike] | DataTypeLike,
        *,
        strict: bool = True,
        on_error: OnError = "fail",
    ) -> Table:
        """Other types for some columns, or for all; values that do not fit are errors, or null unless `strict`.

        >>> import tickframe as tf
        >>> t = tf.table({"x": ["1", "2"], "y": [1, 2]})
        >>> t.cast({"x": tf.Int64}).to_dict(), t.cast({tf.Int64: tf.Float64})["y"].dtype, t.cast(str).dtypes
        ({'x': [1, 2], 'y': [1, 2]}, Float64, [String, String])

        Args:
            dtypes: by the name of a column, or by a type that columns have, the type wanted; or one type for all.
            strict: whether a value that does not fit is an error.
            on_error: as in `Table.select`.

        Raises:
            ColumnNotFoundError: an unknown column.
        """
        table = itself(self)
        if not isinstance(dtypes, Mapping):
            return table.with_columns(every().cast(dtypes, strict=strict), on_error=on_error)
        wanted: dict[str, DataType] = {}
        for key, kind in dtypes.items():
            wanted |= dict.fromkeys(_columns_of(table, key), as_dtype(kind))
        made = [col(name).cast(kind, strict=strict) for name, kind in wanted.items()]
        return table.with_columns(made, on_error=on_error)

    # Nulls ------------------------------------------------------------------------------------------------

    def null_count(self) -> Table:
        """One row: how many cells of each column are null.

        >>> import tickframe as tf
        >>> tf.table({"x": [1, None], "y": ["a", "b"]}).null_count().to_dicts()
        [{'x': 1, 'y': 0}]
        """
        return itself(self).select(every().null_count())

    def drop_nulls(self, subset: Names | None = None) -> Table:
        """The rows without a null.

        >>> import tickframe as tf
        >>> t = tf.table({"x": [1, None], "y": [None, "b"]})
        >>> len(t.drop_nulls()), t.drop_nulls("x").to_dicts()
        (0, [{'x': 1, 'y': None}])

        Args:
            subset: the columns that are looked at; all without it.
        """
        table = itself(self)
        names = table.columns if subset is None else known(table, subset, "drop_nulls")
        return table.filter([col(name).is_not_null() for name in names])

    def drop_nans(self, subset: Names | None = None) -> Table:
        """The rows without a NaN; null is none.

        Args:
            subset: the columns of floats that are looked at; all of them without it.
        """
        table = itself(self)
        floats = [name for name, kind in table.schema.items() if kind.is_float]
        names = floats if subset is None else known(table, subset, "drop_nans")
        return table.filter([col(name).is_not_nan().fill_null(value=True) for name in names])

    def fill_null(self, value: object) -> Table:
        """A value in the place of null, in the columns of its kind: numbers, texts, booleans, …; others stay.

        >>> import tickframe as tf
        >>> t = tf.table({"x": [1, None], "s": ["a", None]})
        >>> t.fill_null(0).to_dict(), t.fill_null("-").to_dict()["s"]
        ({'x': [1, 0], 's': ['a', None]}, ['a', '-'])

        Args:
            value: the value, or an expression, which fills every column.
        """
        table = itself(self)
        if isinstance(value, Expr):
            return table.with_columns(every().fill_null(value))
        names = [name for name, kind in table.schema.items() if _is_of_kind(value, kind)]
        return table.with_columns([col(name).fill_null(value) for name in names]) if names else table

    def fill_nan(self, value: float | Expr | None) -> Table:
        """A value in the place of NaN, in all columns of floats; None makes it null."""
        table = itself(self)
        names = [name for name, kind in table.schema.items() if kind.is_float]
        return table.with_columns([col(name).fill_nan(value) for name in names]) if names else table


def _unknown(table: Table, name: str) -> str:
    """A name that no column has."""
    while name in table.columns:
        name += "_"
    return name


def _columns_of(table: Table, key: object) -> list[str]:
    """The columns that a key of `cast` means: one by its name, or all of a type."""
    if not isinstance(key, (str, Expr)):
        wanted = as_dtype(key)
        return [name for name, kind in table.schema.items() if kind == wanted]
    return known(table, key, "cast")


def known(table: Table, given: Names | Sequence[Names], operation: str) -> list[str]:
    """The names of columns of the table, each once."""
    columns = ColumnNames(table._native)
    names = list(dict.fromkeys(names_of([given], operation, columns)))
    for name in names:
        if name not in columns:
            error = ColumnNotFoundError(f"{operation}: no column {short(name)}; the columns are {columns}")
            error.column, error.columns = name, columns
            raise error
    return names


def _is_of_kind(value: object, kind: DataType) -> bool:
    """Whether a value is one for columns of this type."""
    plain = next((known for python, known in _KINDS.items() if type(value) is python), None)
    if plain is not None:
        return bool(kind == plain)
    if isinstance(value, (int, float, decimal.Decimal)):
        return kind.is_numeric
    raise TypeError(
        f"fill_null: {named(value)} is no value of a column; give a number, a text, True, a date or the like, or an "
        "expression"
    )
