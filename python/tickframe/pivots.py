"""Cells between rows and columns: tables made longer or wider, fields of structs as columns. Each follows its table."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import math
import re
import sys
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from tickframe import _native, sequential
from tickframe.arguments import check_all
from tickframe.cells import known
from tickframe.describe import named, short
from tickframe.dtypes import Struct, from_spec
from tickframe.errors import TickframeError, TypeMismatchError
from tickframe.expr import Expr
from tickframe.functions import col, lit
from tickframe.group_by import aggregates
from tickframe.handles import itself, made, table_of
from tickframe.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tickframe.arguments import OnError
    from tickframe.dtypes import DataType
    from tickframe.expr import IntoExpr
    from tickframe.names import Names
    from tickframe.table import Table

__all__: list[str] = []

PivotAggregate: TypeAlias = (
    "Literal['abs_sum', 'all', 'any', 'approx_n_unique', 'arg_max', 'arg_min', 'count', 'count_distinct', "
    "'first', 'freeze', 'implode', 'kurtosis', 'last', 'len', 'max', 'mean', 'median', 'min', 'n_unique', 'nan_max', "
    "'nan_min', 'null_count', 'only', 'product', 'skew', 'std', 'sum', 'var'] "
    "| Callable[[Any], Expr]"
)

_MOST_COLUMNS = 1 << 12
_NAMES = """
    abs_sum all any approx_n_unique arg_max arg_min count count_distinct first freeze implode kurtosis last len max mean
    median min n_unique nan_max nan_min null_count only product skew std sum var
"""
_AGGREGATES = tuple(_NAMES.split())


@check_all
class Pivots:
    """What `Table` has of operations that make rows of columns, and columns of rows."""

    __slots__ = ()

    def unpivot(
        self,
        on: Names | None = None,
        *,
        index: Names | None = None,
        variable_name: str | None = None,
        value_name: str | None = None,
    ) -> Table:
        """A row for each cell of some columns: the name of its column, its value, and the columns that stay.

        The rows of one column stand together, one column after the other.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "b"], "x": [1, 2], "y": [3.5, None]})
        >>> t.unpivot(["x", "y"], index="k").rows()
        [('a', 'x', 1.0), ('b', 'x', 2.0), ('a', 'y', 3.5), ('b', 'y', None)]

        Args:
            on: the columns that become rows; all but `index` without it. Their types meet in one that holds the values of all.
            index: the columns that stay.
            variable_name: the name of the column of names; ``"variable"`` without it.
            value_name: the name of the column of values; ``"value"`` without it.

        Raises:
            ColumnNotFoundError: an unknown column.
            TypeMismatchError: columns whose types do not meet, such as numbers and texts.
            DuplicateError: a name made twice.
        """
        table = itself(self)
        stay = [] if index is None else known(table, index, "unpivot")
        names = known(table, on, "unpivot") if on is not None else [name for name in table.columns if name not in stay]
        if not names:
            raise ValueError("unpivot: there is no column to make rows of; give on=, or fewer columns as index=")
        types = table.schema
        meet = types[names[0]]
        for name in names[1:]:
            operation = f"unpivot: columns {names[0]!r} and {name!r}"
            meet = from_spec(_native.common_type(operation, meet._spec, types[name]._spec))

        def part(name: str) -> Table:
            value = col(name) if types[name]._spec == meet._spec else col(name).cast(meet)
            variable = lit(name).alias(variable_name or "variable")
            return _on_read("unpivot", table, [*map(col, stay), variable, value.alias(value_name or "value")])

        return made("unpivot", "concat", *map(part, names))

    def pivot(
        self,
        on: Names,
        on_columns: Iterable[object],
        *,
        index: Names | None = None,
        values: Names | None = None,
        aggregate_function: PivotAggregate | None = None,
        separator: str = "_",
        on_error: OnError = "fail",
    ) -> Table:
        """A row for each value of `index`, with a column for each value of `on` that is given.

        The columns are fixed, so that the table may be live: rows with another value of `on` are in no column, but their
        `index` has a row. A cell that no row meets holds what the aggregate makes of nothing: 0 for ``"sum"`` and ``"len"``,
        else null.

        >>> import tickframe as tf
        >>> t = tf.table({"day": [1, 1, 2], "side": ["buy", "sell", "buy"], "size": [5, 7, 9]})
        >>> t.pivot("side", ["buy", "sell"], index="day", values="size", aggregate_function="sum").to_dicts()
        [{'day': 1, 'buy': 5, 'sell': 7}, {'day': 2, 'buy': 9, 'sell': 0}]

        Args:
            on: the column, or columns, whose values become columns.
            on_columns: the values, each of which becomes a column by its name; of several columns tuples.
            index: the columns that tell rows apart; without it all others. Null is a key of its own.
            values: the columns whose values stand in the cells; without it all others. Of several, names begin with theirs.
            aggregate_function: what becomes of the values that meet in a cell: a name, or a function of an expression.
            separator: stands between the name of a column of values and the value of `on`.
            on_error: what becomes of rows whose aggregated value cannot be computed: `"fail"`, `"null"` or `"drop"`.

        Raises:
            ColumnNotFoundError: an unknown column.
            TypeMismatchError: a value that `on` cannot have, or an aggregate that the values have not.
            DuplicateError: a name made twice.
            ValueError: neither index nor values, or no aggregate.
        """
        table = itself(self)
        turned = known(table, on, "pivot")
        tuples, of = _tuples(on_columns, turned), _aggregate(aggregate_function)
        if index is None and values is None:
            raise ValueError(
                "pivot: give index=, the columns that tell rows apart, or values=, those that fill the cells"
            )
        keys = None if index is None else known(table, index, "pivot")
        filled = None if values is None else known(table, values, "pivot")
        if filled is None:
            filled = [name for name in table.columns if name not in turned and name not in (keys or ())]
        if keys is None:
            keys = [name for name in table.columns if name not in turned and name not in filled]
        floats = [any(isinstance(each[at], float) for each in tuples) for at in range(len(turned))]
        labels = [_label(each, floats) for each in tuples]
        names = [label if len(filled) == 1 else f"{name}{separator}{label}" for name in filled for label in labels]
        listed = _listed(table, turned, tuples)
        taken, apart = set(table.columns), (f"cell {at}" for at in itertools.count())
        columns = [of(col(name)).alias(next(each for each in apart if each not in taken)) for name in filled]
        how = json.dumps({"index": keys, "on": turned, "names": names})
        cells = aggregates("pivot", table, columns, {}, groups=[col(name)._native for name in (*keys, *turned)])
        return table_of(_native.pivot("pivot", table._native, listed, how, cells, on_error))

    def unnest(self, *columns: Names, separator: str | None = None) -> Table:
        """The fields of structs as columns, in the place of the structs.

        >>> import tickframe as tf
        >>> t = tf.table({"at": [{"x": 1, "y": 2}, None], "k": ["a", "b"]})
        >>> t.unnest("at").to_dicts()
        [{'x': 1, 'y': 2, 'k': 'a'}, {'x': None, 'y': None, 'k': 'b'}]

        Args:
            *columns: columns of structs; all of them without any.
            separator: with it names are those of the column and the field, with this between them.

        Raises:
            ColumnNotFoundError: an unknown column.
            TypeMismatchError: a column that holds no structs.
            DuplicateError: a field by the name of another column; give a separator.
        """
        table = itself(self)
        schema = table.schema
        structs = [name for name, kind in schema.items() if isinstance(kind, Struct)]
        names = known(table, columns, "unnest") if columns else structs
        for name in names:
            if name not in structs:
                raise TypeMismatchError(f"unnest: column {name!r} is {schema[name]!r}; fields are those of structs")
        if not names:
            return table

        def parts(name: str, kind: DataType) -> list[Expr]:
            if name not in names or not isinstance(kind, Struct):
                return [col(name)]
            prefix = "" if separator is None else name + separator
            return [col(name).struct.field(field).alias(prefix + field) for field in kind.fields]

        return _on_read("unnest", table, [each for name, kind in schema.items() for each in parts(name, kind)])

    def select_distinct(self, *formulas: IntoExpr | Iterable[IntoExpr], on_error: OnError = "fail") -> Table:
        """One row of each distinct combination of these columns: ``view(...).unique()``, by Deephaven's name.

        >>> import tickframe as tf
        >>> tf.table({"X": [1, 2, 3]}).select_distinct("Odd = X % 2").to_dict()
        {'Odd': [1, 0]}

        Args:
            *formulas: names, ``"New = formula"`` or expressions; all columns without any.
            on_error: as in `view`.
        """
        table, frame = itself(self), sys._getframe(1)
        if not formulas:
            return table.unique()
        seen = sequential.update(table._native, formulas, frame, "select_distinct", "on read", on_error, after=False)
        return table_of(seen).unique()

    def move_columns(self, index: int, columns: Names) -> Table:
        """The same columns, some of them at another place.

        >>> import tickframe as tf
        >>> tf.table({"a": [1], "b": [2], "c": [3]}).move_columns(0, ["c"]).columns
        ['c', 'a', 'b']

        Args:
            index: how many of the other columns stand before them; from the end if negative, where -1 is the end.
            columns: their names.

        Raises:
            ColumnNotFoundError: an unknown column.
            ValueError: a place beyond the columns.
        """
        table = itself(self)
        names = known(table, columns, "move_columns")
        rest = [name for name in table.columns if name not in names]
        at = index if index >= 0 else len(rest) + 1 + index
        if not 0 <= at <= len(rest):
            raise ValueError(f"move_columns: {len(rest)} other columns, so index is at most {len(rest)}, not {index}")
        return made("move_columns", {"choose": {"names": [*rest[:at], *names, *rest[at:]]}}, table)


def _on_read(operation: str, table: Table, columns: Sequence[Expr]) -> Table:
    """The table of these columns, of which nothing is stored."""
    return table_of(
        _native.columns(operation, table._native, [each._native for each in columns], None, "on read", False)
    )


def _aggregate(function: object) -> Callable[[Any], Expr]:
    """What a cell holds of the values that meet in it."""
    if callable(function):

        def called(values: Any) -> Expr:
            try:
                found = function(values)
            except TypeError as why:
                raise TypeError(
                    "pivot: aggregate_function is given an expression and gives one, lambda x: x.std(); "
                    f"{getattr(function, '__qualname__', named(function))} raised a TypeError"
                ) from why
            if found is values:
                raise TypeError(
                    "pivot: aggregate_function gives the values as they are, and several may meet in a cell; aggregate "
                    "them, lambda x: x.std()"
                )
            if not isinstance(found, Expr):
                raise TypeError(f"pivot: aggregate_function gives an expression, not {named(found)}")
            return found

        return called
    if not isinstance(function, str) or function not in _AGGREGATES:
        given = "several values may meet in a cell" if function is None else f"there is no aggregate {short(function)}"
        each = ", ".join(map(repr, _AGGREGATES))
        kind = ValueError if function is None or isinstance(function, str) else TypeError
        raise kind(f"pivot: {given}; aggregate_function is one of {each}, or a function: lambda x: x.quantile(0.9)")
    return lambda values: getattr(values, function)()


def _tuples(given: object, on: list[str]) -> list[tuple[object, ...]]:
    """The values of the columns that are turned, a tuple for each new column."""
    if isinstance(given, (str, bytes, dict)) or not hasattr(given, "__iter__"):
        raise TypeError(f"pivot: on_columns is a list of values, not {named(given)}")
    items = list(itertools.islice(given, _MOST_COLUMNS + 1))
    if len(items) > _MOST_COLUMNS:
        raise ValueError(f"pivot: on_columns has more than {_MOST_COLUMNS} values; each is a column")
    if not items:
        raise ValueError("pivot: on_columns is empty; give the values that become columns")
    if len(on) == 1:
        return [(item,) for item in items]
    for item in items:
        if not isinstance(item, (tuple, list)) or len(item) != len(on):
            raise TypeError(
                f"pivot: of {len(on)} columns each of on_columns is a tuple of {len(on)} values, not {short(item)}"
            )
    return [tuple(item) for item in items]


def _listed(table: Table, on: list[str], tuples: list[tuple[object, ...]]) -> _native.Table:
    """The values that become columns, as a table of them; the first that its column cannot have is refused."""
    kinds = {name: table.schema[name] for name in on}

    def of(rows: list[tuple[object, ...]]) -> _native.Table:
        columns = {name: [row[at] for row in rows] for at, name in enumerate(on)}
        return _native.table("pivot", columns, Schema(kinds)._native)

    try:
        return of(tuples)
    except (TickframeError, TypeError, ValueError, OverflowError):
        for row in tuples:
            for name, value in zip(on, row, strict=True):
                try:
                    _native.table("pivot", {name: [value]}, Schema({name: kinds[name]})._native)
                except (TickframeError, TypeError, ValueError, OverflowError) as why:
                    raise TypeMismatchError(
                        f"pivot: {short(value)} of on_columns is no value of the column {name!r}, which is {kinds[name]!r}"
                    ) from why
        raise


def _label(values: tuple[object, ...], floats: list[bool]) -> str:
    """The name of the column of these values, as polars has it; `floats`: whether floats stand among those of a place."""
    if len(values) == 1:
        return values[0] if isinstance(values[0], str) else _text(values[0], as_float=floats[0])
    each = zip(values, floats, strict=True)
    texts = [f'"{value}"' if isinstance(value, str) else _text(value, as_float=flag) for value, flag in each]
    return "{" + ",".join(texts) + "}"


def _text(value: object, *, as_float: bool) -> str:
    """A value as polars casts it to text."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, dt.datetime):
        return value.isoformat(" ", "microseconds")
    if isinstance(value, float) or (as_float and isinstance(value, int)):
        number = float(value)
        return "NaN" if math.isnan(number) else re.sub(r"e([+-])0", r"e\1", repr(number))
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
