"""Tables: what they are, and every operation on them.

A `Table` is static or live. A live one keeps itself true: as rows are added, removed or modified at its sources it
is updated in the same cycle, by work proportional to the change. Static and live tables take the same operations,
with equal results on equal data.
"""

from __future__ import annotations

import datetime as _dt
import math
import re
import sys
from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Protocol, TypeAlias, overload

from tickframe import _native
from tickframe import control as _control
from tickframe import formulas as _formulas
from tickframe.agg import pair
from tickframe.arguments import check_all, checked, encodable, flag, instance
from tickframe.arguments import rows as bounded
from tickframe.display import as_html, as_text, figures
from tickframe.dtypes import Boolean, DataType
from tickframe.errors import ColumnNotFoundError
from tickframe.expr import Expr, IntoExpr, col, expressions, flatten, into_expr
from tickframe.expr import len as len_
from tickframe.foreign import array_like, mask_of, named, of_rows, short
from tickframe.graph import Graph
from tickframe.hints import TABLES, nearest, no_arithmetic
from tickframe.listener import Subscription, Update, Updates, follow, seconds
from tickframe.schema import Schema, SchemaLike

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import pandas  # type: ignore[import-untyped]
    import polars
    import pyarrow

    from tickframe.control import Filter, Selectable

__all__ = [
    "Column",
    "GroupBy",
    "Plan",
    "Table",
    "concat",
    "empty_table",
    "from_arrow",
    "from_dicts",
    "from_pandas",
    "from_polars",
    "merge",
    "table",
]

PrecisionLoss: TypeAlias = Literal["error", "truncate"]
OnError: TypeAlias = Literal["fail", "null", "drop"]
Names: TypeAlias = "str | Sequence[str]"


class Frame(Protocol):
    """A frame of another library: polars, pandas, pyarrow, DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


def names_of(items: Iterable[object], what: str) -> list[str]:
    """The arguments of a method that takes names: several, or one list of them."""
    names: list[str] = []
    for item in flatten(items):
        if isinstance(item, Expr):
            bare = item._native.bare_column()
            if bare is None:
                raise TypeError(
                    f"{what}: {short(item)} is no column but has to be computed; make it one first, "
                    f"t.with_columns(name={short(item)}), and give its name"
                )
            names.append(bare)
        elif isinstance(item, str):
            encodable(item, what)
            names.append(item)
        else:
            raise TypeError(f"{what}: the name of a column is a str, not {named(item)}")
    return names


_MOST = 2**63 - 1
_MOST_KEYS = 1 << 12


def _count(n: int, what: str) -> int:
    if isinstance(n, bool) or not hasattr(n, "__index__"):
        raise TypeError(f"{what} must be an int, not {type(n).__name__}")
    number = n.__index__()
    if number < 0:
        raise ValueError(f"{what} must be 0 or more, not {number}")
    if number > _MOST:
        raise ValueError(f"{what} must be at most {_MOST}, not {number}")
    return number


def _pairs(on: object, what: str) -> list[tuple[str, str]]:
    """Key columns as (left, right): names, or ``"Left = Right"``."""
    return [pair(name) for name in names_of([on], what)]


@check_all
class Table:
    """Rows in order, in named and typed columns. Make one with `tf.table`, a live source, or an operation.

    >>> import tickframe as tf
    >>> tf.table({"sym": ["A", "B"], "px": [1.5, None]})
    shape: (2, 2)
    ┌────────┬─────────┐
    │ sym    ┆ px      │
    │ ---    ┆ ---     │
    │ String ┆ Float64 │
    ╞════════╪═════════╡
    │ A      ┆ 1.5     │
    │ B      ┆ null    │
    └────────┴─────────┘
    """

    __slots__ = ("__weakref__", "_graph", "_native", "_subscriptions")

    def __init__(self, native: _native.Table) -> None:
        if not isinstance(native, _native.Table):
            raise TypeError(f"tf.Table is the type of tables; tf.table(data) makes one of {named(native)}")
        self._native = native
        graph = native.graph()
        self._graph = None if graph is None else Graph._of(graph)
        self._subscriptions: list[Subscription] = []

    # What it is -------------------------------------------------------------------------------------------

    @property
    def schema(self) -> Schema:
        """Ordered mapping from name to type; also anything that reads ``__arrow_c_schema__``."""
        return Schema._of(self._native.schema())

    @property
    def columns(self) -> list[str]:
        """Column names, in order."""
        return self._native.column_names()

    @property
    def dtypes(self) -> list[DataType]:
        """Column types, in order."""
        return self.schema.dtypes()

    @property
    def is_live(self) -> bool:
        """Whether it may change."""
        return self._native.is_live

    @property
    def graph(self) -> Graph | None:
        """The graph it lives in; None for a static table."""
        return self._graph

    @property
    def attributes(self) -> Mapping[str, Any]:
        """The contracts it keeps: append_only, add_only, blink, flat, key, sorted_by. What does not hold is absent."""
        return MappingProxyType(self._native.attributes())

    @property
    def row_set(self) -> _native.RowSet:
        """The row keys at the settled step."""
        return self._native.row_set()

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self._native.row_set().size, len(self.columns)

    def __len__(self) -> int:
        rows = self._native.row_set().size
        if rows > sys.maxsize:
            raise OverflowError(f"the table has {rows} rows, more than len() can say; use .shape")
        return rows

    def __bool__(self) -> bool:
        raise TypeError("a table is neither true nor false; ask len(t) > 0")

    def __iter__(self) -> NoReturn:
        raise TypeError("a table is not gone through as it is; its rows are t.to_dicts(), its columns t.columns")

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            if name.startswith("_"):
                raise AttributeError(f"'Table' object has no attribute {name!r}", name=name, obj=self)
            other = TABLES.get(name)
            hint = f"; here it is {other}" if other else nearest(name, dir(type(self)))
            if name != "columns" and name in self.columns:
                hint = f"; the column is tf.col({name!r}) in an expression, and its values now are t[{name!r}]"
            raise AttributeError(f"a table has no {name!r}{hint}", name=name, obj=self)

        def __setattr__(self, name: str, value: object) -> None:
            try:
                object.__setattr__(self, name, value)
            except AttributeError:
                column = name if name.isidentifier() else "name"
                raise AttributeError(
                    f"a table is not changed by t.{short(name)[1:-1]} = ...: a new column makes a new table, "
                    f"t.with_columns({column}=...), and other names are t.rename({{old: new}})",
                    name=name,
                    obj=self,
                ) from None

        def __setitem__(self, name: object, value: object) -> None:
            raise TypeError(
                f"a table is not changed by t[{short(name)}] = ...: a new column makes a new table, "
                "t.with_columns(name=...); rows change where they come from, by append, upsert or apply"
            )

        def __delitem__(self, name: object) -> None:
            raise TypeError(
                f"a table is not changed by del t[{short(name)}]: t.drop({short(name)}) makes one without it"
            )

        def __reduce__(self) -> tuple[object, ...]:
            raise TypeError(
                "a table is not pickled or copied: its rows as they are now are t.snapshot(), and what travels is "
                "t.to_arrow() or t.to_polars()"
            )

        def __copy__(self) -> Table:
            return self

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self.columns

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)

    @property
    def errors(self) -> Table:
        """The rows this table could not compute: operation, column, row_key, step, message.

        Rows of step *n* are there at *n*; those of the table's making come with the next step. Live and append-only
        if this table is live; empty for a table made without ``on_error``.

        >>> import tickframe as tf
        >>> t = tf.table({"x": ["1", "one"]})
        >>> n = t.with_columns(n=tf.col("x").cast(tf.Int64), on_error="null")
        >>> n.to_dict()["n"], n.errors.to_dict()["row_key"]
        ([1, None], [1])
        """
        return Table(self._native.errors())

    def explain(self) -> str:
        """The plan: this operation and those below it, one a line.

        Each line has the rows now and, if there are any, the bytes it owns and the entries of state it keeps (groups,
        keys of joins). What stands at another place already is told by "(above)". Below an operation stands how each of
        its expressions is computed (native passes, in which operations are fused; kernels over whole chunks; functions
        of the user) and which changes make it be computed again, of the rows that they touch.

        >>> import tickframe as tf
        >>> t = tf.append_table({"x": int}, graph=tf.Graph())
        >>> print(t.filter(tf.col("x") * 2 > 1).head(3).explain())
        head · 0 rows
          filter(((col("x") * 2) > 1)) · 0 rows
          | ((col("x") * 2) > 1): native pass of 2 operations; changes with col("x")
            append_table · 0 rows
        """
        lines: list[str] = []
        seen: set[int] = set()
        # A list, not recursion: a chain may be thousands of operations long.
        waiting = [(self._native, 0)]
        while waiting:
            native, depth = waiting.pop()
            indent = "  " * min(depth, _DEEPEST_INDENT)
            again = native.identity in seen
            seen.add(native.identity)
            failed = " · failed" if native.is_live and native.failure() is not None else ""
            shown = " (above)" if again else f" · {figures(*native.figures())}{failed}"
            lines.append(indent + native.label + shown)
            if not again:
                lines.extend(f"{indent}| {how}" for how in native.expressions())
                waiting.extend((below, depth + 1) for below in reversed(native.inputs()))
        return "\n".join(lines)

    @property
    def plan(self) -> Plan:
        """What was asked for, down to the sources; plans are compared by ``==``.

        >>> import tickframe as tf
        >>> t = tf.table({"X": [1, 2]})
        >>> t.update("Y = X * 2").plan == t.update((tf.col("X") * 2).alias("Y")).plan
        True
        >>> t.update("Y = X * 2").plan == t.update("Y = X * 3").plan
        False
        """
        return Plan(self._native)

    # Taking it out ----------------------------------------------------------------------------------------

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._native.stream(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._native.schema().__arrow_c_schema__()

    def snapshot(self) -> Table:
        """A static copy at the settled step; it costs O(columns) and shares the blocks."""
        return Table(self._native.snapshot())

    def collect(self) -> Table:
        """The same as `snapshot`."""
        return self.snapshot()

    def to_arrow(self) -> pyarrow.Table:
        """A ``pyarrow.Table`` of the settled step. Needs pyarrow."""
        return _optional("pyarrow", "to_arrow()", "arrow").table(self)

    def to_polars(self) -> polars.DataFrame:
        """A polars frame of the settled step, without a copy of flat columns. Needs polars."""
        frame: polars.DataFrame = _optional("polars", "to_polars()", "polars").DataFrame(_Views(self._native))
        return frame

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas frame with Arrow-backed columns; dictionaries are Categoricals. Needs pandas and pyarrow."""
        pandas = _optional("pandas", "to_pandas()", "pandas")

        def mapped(kind: Any) -> Any:
            return None if hasattr(kind, "index_type") else pandas.ArrowDtype(kind)

        return self.to_arrow().to_pandas(types_mapper=mapped)

    def to_dicts(self, on_precision_loss: PrecisionLoss = "error") -> list[dict[str, Any]]:
        """A list of rows, in Python's own values.

        Args:
            on_precision_loss: what becomes of a value finer than a microsecond: ``"error"`` or ``"truncate"``.

        Raises:
            DataError: such a value, with ``"error"``.
        """
        return self._native.to_dicts(on_precision_loss)

    def to_dict(self, on_precision_loss: PrecisionLoss = "error") -> dict[str, list[Any]]:
        """A list of Python values for each column; see `to_dicts`."""
        return self._native.to_dict(on_precision_loss)

    @overload
    def __getitem__(self, names: str) -> Column: ...
    @overload
    def __getitem__(self, names: tuple[str, ...] | list[str]) -> Table: ...
    def __getitem__(self, names: str | tuple[str, ...] | list[str]) -> Column | Table:
        """One column by its name; several by a tuple or list of names, as a table."""
        if isinstance(names, str):
            encodable(names, "t[...]")
            return Column(self._native.column(names))
        given: object = names
        if isinstance(given, (tuple, list)) and all(isinstance(name, str) for name in given):
            return self.select(*given)
        what = short(given) if isinstance(given, tuple) else named(given)
        raise TypeError(
            f'a table is indexed by names of columns, t["a"] or t["a", "b"], not by {what}; rows are t.head(n), t.tail(n), '
            "t.slice(offset, length), t.filter(...), cells t.to_dicts()[0]['a']"
        )

    # Rows -------------------------------------------------------------------------------------------------

    def filter(
        self,
        *predicates: IntoExpr | Filter | Iterable[IntoExpr | Filter],
        on_error: OnError = "fail",
        **equals: object,
    ) -> Table:
        """The rows for which every predicate is true; null counts as false.

        Args:
            *predicates: Boolean expressions; a bare string is a Boolean column. For a static table also a mask: a list,
                array or Series of bools as long as it, in which null counts as false.
            on_error: what becomes of a row whose predicate fails (a strict cast, a user's function that raises):
                ``"fail"`` the table, or, with ``"null"`` and ``"drop"``, the row does not pass. Both are told in `errors`.
            **equals: ``name=value`` for ``col(name) == value``.

        Raises:
            ColumnNotFoundError: an unknown column.
            TypeMismatchError: a predicate that is not Boolean.
            InvalidOperationError: a mask over a live table, whose rows change.
            ValueError: a mask of another length than the table.
        """
        kept, rest = self._masked("filter", predicates)
        plain, controls = _control.taken(flatten(rest), _control.Filter, "filter")
        made = kept._expressions("filter", plain, {})
        made.extend((col(name) == value)._native for name, value in equals.items())
        turns = _control.turns(made, controls, filters=True)
        return Table(_native.filter("filter", kept._native, made, turns, on_error)) if made else kept

    def _masked(self, operation: str, predicates: Sequence[object]) -> tuple[Table, list[object]]:
        """The rows that all masks among the predicates keep, and the other predicates."""
        rest: list[object] = []
        whole: bytes | None = None
        for item in predicates:
            mask = mask_of(item)
            if mask is None:
                rest.append(item)
                continue
            if not self.is_live and len(mask) != len(self):
                raise ValueError(f"{operation}: the mask has {len(mask)} values, the table {len(self)} rows")
            whole = mask if whole is None else bytes(map(int.__and__, whole, mask))
        return (self if whole is None else Table(_native.masked(operation, self._native, whole))), rest

    def where(self, *filters: IntoExpr | Filter | Iterable[IntoExpr | Filter], on_error: OnError = "fail") -> Table:
        """The rows for which every filter is true; a string is a formula, in which a lone ``=`` is equality.

        >>> import tickframe as tf
        >>> tf.table({"X": [1, 2, 3]}).where("X in 1, 3", "X = 3").to_dict()
        {'X': [3]}

        Args:
            *filters: formulas or Boolean expressions. Names that are no columns are variables of the caller.
            on_error: as in `filter`.

        Raises:
            FormulaError: a text that is no formula; the message shows the place.
            ColumnNotFoundError: a name that is neither column nor variable.
            TypeMismatchError: a filter that is not Boolean.
        """
        kept, rest = self._masked("where", filters)
        return Table(_formulas.where(kept._native, rest, sys._getframe(1), "where", on_error))

    def head(self, n: int = 5) -> Table:
        """The first `n` rows; of a blink table the first that ever were, which stay."""
        return Table(_native.head(self._native, _count(n, "head: n")))

    def tail(self, n: int = 5) -> Table:
        """The last `n` rows; of a blink table the last that ever were, of which each stays until newer ones come."""
        return Table(_native.tail(self._native, _count(n, "tail: n")))

    def slice(self, offset: int, length: int | None = None) -> Table:
        """`length` rows from `offset`, which counts from the end if negative; all of the rest without a length.

        Raises:
            InvalidOperationError: a blink table, whose rows live for one step; `head` and `tail` keep them.
        """
        at: object = offset
        if isinstance(at, bool) or not hasattr(at, "__index__"):
            raise TypeError(f"slice: offset must be an int, not {type(at).__name__}")
        if not -_MOST <= offset <= _MOST:
            raise ValueError(f"slice: offset must be within {_MOST}, not {offset}")
        return Table(_native.slice(self._native, offset, None if length is None else _count(length, "slice: length")))

    def sort(
        self,
        by: IntoExpr | Iterable[IntoExpr],
        *more_by: IntoExpr,
        descending: bool | Sequence[bool] = False,
        nulls_last: bool | Sequence[bool] = False,
    ) -> Table:
        """The rows in order of one or several columns; stable, ties keep their order.

        Args:
            by: a column or several; an expression is made a column by `with_columns` first.
            *more_by: further columns.
            descending: for all columns, or for each.
            nulls_last: nulls come first in both directions unless this says otherwise. NaN is the greatest value.
        """
        names = names_of([by, *more_by], "sort")
        descends, last = _flags(descending, names, "descending"), _flags(nulls_last, names, "nulls_last")
        return Table(_native.sort(self._native, list(zip(names, descends, last, strict=True))))

    def unique(self, subset: Names | None = None, keep: Literal["first", "last", "any"] = "first") -> Table:
        """One row of each distinct combination of values.

        Args:
            subset: the columns that decide; all without it.
            keep: which row stays, ``"first"`` or ``"last"``; ``"any"`` is the first.
        """
        if keep not in {"first", "last", "any"}:
            raise ValueError(f'keep must be "first", "last" or "any", not {short(keep)}')
        names = None if subset is None else names_of([subset], "unique")
        return Table(_native.unique(self._native, names, keep == "last"))

    def first_by(self, by: Names) -> Table:
        """The first row of each group."""
        return Table(_native.first_by(self._native, names_of([by], "first_by")))

    def last_by(self, by: Names) -> Table:
        """The last row of each group."""
        return Table(_native.last_by(self._native, names_of([by], "last_by")))

    # Columns ----------------------------------------------------------------------------------------------

    def select(
        self,
        *exprs: IntoExpr | Selectable | Iterable[IntoExpr | Selectable],
        on_error: OnError = "fail",
        **named: IntoExpr,
    ) -> Table:
        """Only these columns: names, expressions, or ``name=expression``. Passed columns are shared.

        Args:
            *exprs: names or expressions.
            on_error: what becomes of a row whose expression fails (a strict cast, a user's function that raises):
                ``"fail"`` the table, the cell is ``"null"``, or the row is left out (``"drop"``) until a change makes it
                computable. Both are told in `errors`.
            **named: ``name=expression``.

        Raises:
            ColumnNotFoundError: an unknown column.
            DuplicateError: a name made twice.
        """
        return self._columns("select", exprs, named, after=False, on_error=on_error)

    def with_columns(
        self,
        *exprs: IntoExpr | Selectable | Iterable[IntoExpr | Selectable],
        on_error: OnError = "fail",
        **named: IntoExpr,
    ) -> Table:
        """All columns, replaced by or followed by these; each expression sees the columns of this table.

        Args:
            *exprs: names or expressions.
            on_error: as in `select`.
            **named: ``name=expression``.

        >>> import tickframe as tf
        >>> tf.table({"x": [1, 2]}).with_columns(y=tf.col("x") / 2).to_dicts()
        [{'x': 1, 'y': 0.5}, {'x': 2, 'y': 1.0}]
        """
        return self._columns("with_columns", exprs, named, after=True, on_error=on_error)

    def update(
        self, *formulas: IntoExpr | Selectable | Iterable[IntoExpr | Selectable], on_error: OnError = "fail"
    ) -> Table:
        """All columns, replaced by or followed by new ones; each formula sees those to its left as well.

        >>> import tickframe as tf
        >>> tf.table({"X": [1, 2]}).update("Y = X * 2", "Z = Y + 1").to_dicts()
        [{'X': 1, 'Y': 2, 'Z': 3}, {'X': 2, 'Y': 4, 'Z': 5}]

        Args:
            *formulas: ``"New = formula"`` or named expressions, or a list of them.
            on_error: as in `select`.

        Raises:
            FormulaError: a text that is no formula; the message shows the place.
            ColumnNotFoundError: a name that is neither column nor variable.
        """
        return Table(_formulas.update(self._native, formulas, sys._getframe(1), "update", "stored", on_error)[0])

    def update_view(self, *formulas: IntoExpr | Selectable | Iterable[IntoExpr], on_error: OnError = "fail") -> Table:
        """As `update`, but nothing is stored: the new columns are computed each time they are read.

        >>> import tickframe as tf
        >>> tf.table({"X": [1, 2]}).update_view("Y = X * 2").to_dict()
        {'X': [1, 2], 'Y': [2, 4]}

        Args:
            *formulas: texts or expressions.
            on_error: as in `select`; columns whose failures are passed over are stored.

        Raises:
            InvalidOperationError: ``now()`` and ``today()``, of which two reads would differ; serial columns and
                barriers. `update` takes them.
        """
        frame = sys._getframe(1)
        return Table(_formulas.update(self._native, formulas, frame, "update_view", "on read", on_error)[0])

    def view(self, *formulas: IntoExpr | Selectable | Iterable[IntoExpr], on_error: OnError = "fail") -> Table:
        """Only these columns, computed when they are read; each formula sees those of this table and to its left.

        Raises:
            InvalidOperationError: as for `update_view`.
        """
        made, names = _formulas.update(self._native, formulas, sys._getframe(1), "view", "on read", on_error)
        return Table(_native.choose(made, names, on_error != "fail"))

    def lazy_update(self, *formulas: IntoExpr | Iterable[IntoExpr], on_error: OnError = "fail") -> Table:
        """As `update_view`, but what was computed is kept: a formula is computed once for each distinct input.

        >>> import tickframe as tf
        >>> calls = []
        >>> def slow(x: int) -> int:
        ...     calls.append(x)
        ...     return x * x
        >>> t = tf.table({"X": [3, 4, 3, 3]}).lazy_update("Y = slow(X)")
        >>> t.to_dict()["Y"], t.to_dict()["Y"], sorted(calls)
        ([9, 16, 9, 9], [9, 16, 9, 9], [3, 4])

        Args:
            *formulas: texts or expressions.
            on_error: as in `select`; columns whose failures are passed over are stored, and computed once a row.

        Raises:
            InvalidOperationError: neighbours, positions and the clock, which the columns of a row do not tell.
        """
        frame = sys._getframe(1)
        return Table(_formulas.update(self._native, formulas, frame, "lazy_update", "once per input", on_error)[0])

    def _columns(
        self,
        operation: str,
        exprs: Iterable[object],
        named: Mapping[str, object],
        *,
        after: bool,
        on_error: OnError,
    ) -> Table:
        plain, controls = _control.taken(flatten(exprs), _control.Selectable, operation)
        made = self._expressions(operation, plain, named)
        turns = _control.turns(made, controls, filters=False)
        return Table(_native.columns(operation, self._native, made, turns, "stored", after, on_error))

    def _expressions(self, operation: str, items: Iterable[object], named: Mapping[str, object]) -> list[_native.Expr]:
        made = []
        for item in flatten(items):
            if isinstance(item, str) and _FORMULA.search(item) and item not in self.columns:
                raise self._formula_as_name(operation, item)
            made.append(_formulas.over(into_expr(item, operation), self._native, operation))
        for name, item in named.items():
            if isinstance(item, (list, tuple)) or array_like(item):
                raise TypeError(f"{operation}: {name}: {of_rows(_listed(item))}")
            expression = into_expr(item, f"{operation}: {name}")
            made.append(_formulas.over(expression, self._native, operation).alias(name))
        return made

    def _formula_as_name(self, operation: str, text: str) -> ColumnNotFoundError:
        formulas = "where" if operation == "filter" else "update, view"
        error = ColumnNotFoundError(
            f"{operation}: no column {text!r}; the columns are {self.columns}. A string is a column's name here: formulas "
            f"go to {formulas}, or tf.formula({text!r})"
        )
        error.column, error.columns = text, self.columns
        return error

    def drop(self, *names: Names) -> Table:
        """All columns but these."""
        return Table(_native.drop(self._native, names_of(names, "drop")))

    def rename(self, mapping: Mapping[str, str]) -> Table:
        """Other names for some columns: ``{old: new}``."""
        given: object = mapping
        if not isinstance(given, Mapping):
            raise TypeError(f'rename: give a dict, {{"old": "new"}}, not {named(given)}')
        names_of([*given, *given.values()], "rename")
        unknown = [(old, new) for old, new in given.items() if old not in self.columns and new in self.columns]
        if unknown:
            (old, new), *_ = unknown
            error = ColumnNotFoundError(
                f"rename: no column {old!r}, but there is {new!r}: old names come first, {{{new!r}: {old!r}}}; the columns "
                f"are {self.columns}"
            )
            error.column, error.columns = old, self.columns
            raise error
        return Table(_native.rename(self._native, list(mapping.items())))

    def pipe(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """``fn(self, *args, **kwargs)``."""
        return fn(self, *args, **kwargs)

    # Groups -----------------------------------------------------------------------------------------------

    def group_by(
        self,
        *keys: IntoExpr | Iterable[IntoExpr],
        maintain_order: bool = True,
        on_error: OnError = "fail",
        **named: IntoExpr,
    ) -> GroupBy:
        """Groups of equal keys, in order of first appearance; null is a key of its own.

        Args:
            *keys: columns or expressions.
            maintain_order: accepted for polars' sake, and always true.
            on_error: what becomes of a row whose key, or whose value to be aggregated, fails (a strict cast, a user's
                function that raises): ``"fail"`` the table, that value is ``"null"``, or the row is in no group
                (``"drop"``) until a change makes it computable. So for an expression over aggregates: the cell is null,
                or the group is left out. All are told in `errors` of the result.
            **named: ``name=expression`` keys.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "a", "b"], "x": ["1", "one", "3"]})
        >>> n = t.group_by("k", on_error="null").agg(total=tf.col("x").cast(tf.Int64).sum())
        >>> n.to_dicts(), n.errors.to_dict()["row_key"]
        ([{'k': 'a', 'total': 1}, {'k': 'b', 'total': 3}], [1])
        """
        del maintain_order
        made = [into_expr(key, "group_by") for key in flatten(keys)]
        if len(made) > _MOST_KEYS:
            raise ValueError(f"group_by: {len(made)} keys, more than {_MOST_KEYS}; give columns, not values")
        made.extend(into_expr(key, f"group_by: {name}").alias(name) for name, key in named.items())
        return GroupBy(self, made, on_error)

    def agg_by(
        self, aggs: Expr | Iterable[Expr | Iterable[Expr]], by: Names | None = None, on_error: OnError = "fail"
    ) -> Table:
        """One row a group: aggregates of `tf.agg` or expressions; without `by` one row for the whole table.

        Over a blink table rows accumulate. A group that empties is forgotten; its key comes back at the end.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "b", "a"], "x": [1, 2, 3]})
        >>> t.agg_by([tf.agg.sum_("total = x"), tf.agg.count_("n")], by="k").to_dicts()
        [{'k': 'a', 'total': 4, 'n': 2}, {'k': 'b', 'total': 2, 'n': 1}]

        Args:
            aggs: aggregates or expressions of them.
            by: key columns.
            on_error: as in `group_by`.
        """
        keys = [] if by is None else [col(name)._native for name in names_of([by], "agg_by")]
        made = _aggregates("agg_by", self, [aggs], {})
        return Table(_native.aggregate("agg_by", self._native, keys, made, on_error))

    # Joins ------------------------------------------------------------------------------------------------

    def natural_join(
        self,
        other: Table | Frame,
        on: Names,
        joins: Names | None = None,
        *,
        suffix: str | None = None,
        multiple: Literal["error", "first", "last"] = "error",
        nulls_equal: bool = False,
        on_error: OnError = "fail",
    ) -> Table:
        """All rows of this table, each with the columns of the one row of `other` that has its key, or nulls.

        Args:
            other: the right table.
            on: key columns, ``"K"`` or ``"Left = Right"``.
            joins: right columns, ``"C"`` or ``"New = Old"``; all but the keys without it.
            suffix: appended to a right name that this table has too; without it such a name is an error.
            multiple: what to do where a row meets several right rows: the table fails and names the key, or the
                first or last of them is taken.
            nulls_equal: whether a null key matches a null key.
            on_error: with ``multiple="error"``, what becomes of a row that meets several right rows: ``"fail"`` the
                table, the right columns are ``"null"``, or the row is left out (``"drop"``) as long as there are several.
                Both are told in `errors`.

        Raises:
            ColumnNotFoundError: an unknown column.
            TypeMismatchError: keys that do not compare.
            MatchError: a row meets several right rows. Of a live table it is the cause of its failure.
        """
        right = _right("natural_join", other)
        if multiple not in {"error", "first", "last"}:
            raise ValueError(f'natural_join: multiple must be "error", "first" or "last", not {short(multiple)}')
        added = None if joins is None else _pairs(joins, "natural_join")
        return Table(
            _native.natural_join(
                "natural_join",
                self._native,
                right._native,
                _pairs(on, "natural_join"),
                added,
                suffix,
                multiple,
                nulls_equal,
                on_error,
            )
        )

    def where_in(self, set_table: Table | Frame, cols: Names, *, nulls_equal: bool = False) -> Table:
        """The rows whose key is among the keys of `set_table`, as both change.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "b", None], "x": [1, 2, 3]})
        >>> watched = tf.table({"name": ["b", "c"]})
        >>> t.where_in(watched, "k = name").to_dicts()
        [{'k': 'b', 'x': 2}]
        >>> t.where_not_in(watched, "k = name").to_dict()["x"]
        [1, 3]

        Args:
            set_table: the table of keys; how often it has one does not matter.
            cols: the key columns, ``"K"`` or ``"Left = Right"``.
            nulls_equal: whether a null key is among keys that have null; without it null is in no set.

        Raises:
            ColumnNotFoundError: an unknown column, of this table or of `set_table`.
            TypeMismatchError: keys of types that do not compare.
        """
        return self._member("where_in", set_table, cols, inside=True, nulls_equal=nulls_equal)

    def where_not_in(self, set_table: Table | Frame, cols: Names, *, nulls_equal: bool = False) -> Table:
        """The rows that `where_in` leaves out. A null key has no match, so its row stays; ``~is_in`` drops it.

        Args:
            set_table: as in `where_in`.
            cols: as in `where_in`.
            nulls_equal: as in `where_in`.
        """
        return self._member("where_not_in", set_table, cols, inside=False, nulls_equal=nulls_equal)

    def _member(self, operation: str, set_table: object, cols: Names, *, inside: bool, nulls_equal: bool) -> Table:
        if isinstance(set_table, (str, list, tuple, set, frozenset, range)) or array_like(set_table):
            raise TypeError(f"{operation}: the set is a table, not {named(set_table)}; a list goes to is_in")
        others = _right(operation, set_table)
        keys = _pairs(cols, operation)
        return Table(_native.where_in(operation, self._native, others._native, keys, inside, nulls_equal))

    def join_asof(
        self,
        other: Table | Frame,
        on: str | None = None,
        *,
        left_on: str | None = None,
        right_on: str | None = None,
        by: Names | None = None,
        by_left: Names | None = None,
        by_right: Names | None = None,
        strategy: Literal["backward", "forward", "nearest"] = "backward",
        tolerance: float | str | _dt.timedelta | None = None,
        allow_exact_matches: bool = True,
        joins: Names | None = None,
        suffix: str = "_right",
    ) -> Table:
        """All rows of this table, each with the right row nearest in order.

        Args:
            other: the right table.
            on: the ordered column of both sides; or `left_on` and `right_on`.
            left_on: the ordered column of this table.
            right_on: the ordered column of `other`.
            by: columns that must be equal; ``"K"`` or ``"Left = Right"``.
            by_left: the same, with `by_right`, as two lists.
            by_right: see `by_left`.
            strategy: ``"backward"`` takes the last right row at or before, ``"forward"`` the first at or after,
                ``"nearest"`` the nearer, at equal distance the later.
            tolerance: greatest distance, inclusive. Of times a timedelta, a text such as ``"2h"``, or a number of seconds;
                of dates it is of whole days (``"2d"``); of numbers a number.
            allow_exact_matches: whether an equal value matches.
            joins: right columns, ``"C"`` or ``"New = Old"``; all but the keys without it.
            suffix: appended to a right name that this table has too.

        Raises:
            ColumnNotFoundError: an unknown column.
            TypeMismatchError: stamps or keys that do not compare; a tolerance that is no distance between such stamps.
            ValueError: a tolerance below 0, or one that is not finite.
        """
        right = _right("join_asof", other)
        if on is not None:
            if left_on is not None or right_on is not None:
                raise TypeError("join_asof: give on, or left_on and right_on, not both")
            stamp = pair(*names_of([on], "join_asof"))
        elif left_on is not None and right_on is not None:
            stamp = (left_on, right_on)
        else:
            raise TypeError("join_asof: give on, or left_on and right_on")
        if strategy not in {"backward", "forward", "nearest"}:
            raise ValueError(f'join_asof: strategy must be "backward", "forward" or "nearest", not {short(strategy)}')
        keys = [] if by is None else _pairs(by, "join_asof")
        if by_left is not None and by_right is not None:
            keys.extend(zip(names_of([by_left], "join_asof"), names_of([by_right], "join_asof"), strict=True))
        added = None if joins is None else _pairs(joins, "join_asof")
        far, is_span = (None, False) if tolerance is None else distance(tolerance)
        return Table(
            _native.join_asof(
                "join_asof",
                self._native,
                right._native,
                stamp,
                keys,
                strategy,
                far,
                is_span,
                allow_exact_matches,
                added,
                suffix,
            )
        )

    # Following --------------------------------------------------------------------------------------------

    def subscribe(
        self,
        fn: Callable[[Update], object],
        initial: bool = False,
        on_error: Callable[[BaseException], object] | None = None,
        columns: Names | None = None,
    ) -> Subscription:
        """Call `fn` with each `Update`, in step order, on the graph's one listener thread, after the step has settled.

        Args:
            fn: the listener, a function of one `Update`. If it raises three times it is detached, and at once if it raises
                what is no `Exception` (SystemExit, CancelledError); the table lives.
            initial: whether everything present comes first, as added rows, before this returns.
            on_error: called with what the listener raised, each time, and with TableFailedError if the table fails;
                without it the logger ``tickframe`` is told, or standard error if logging is not configured.
            columns: the columns whose rows a late listener will want; all without it.

        Returns:
            The subscription. It lives until `cancel`, or until neither it nor its table is referenced any more.

        Raises:
            TypeError: `fn` or `on_error` cannot be called with one argument.
            InvalidOperationError: the table is static.
            TableFailedError: the table failed.
        """
        if not callable(fn):
            raise TypeError(f"subscribe: the listener is a function of one Update, not {named(fn)}")
        wanted = None if columns is None else names_of([columns], "subscribe")
        subscription = follow(self, fn, initial=initial, on_error=on_error, columns=wanted)
        self._subscriptions = [held for held in self._subscriptions if held.is_active]
        self._subscriptions.append(subscription)
        return subscription

    def updates(self, mode: Literal["every", "latest"] = "every", max_pending: int = 1024) -> Updates:
        """The updates, for ``async for``.

        Args:
            mode: ``"every"`` update in order, or only the ``"latest"`` that is not taken yet.
            max_pending: with ``"every"``, how far the loop may fall behind before it is an error.
        """
        return Updates(self, mode, max_pending)

    def wait(self, timeout: float | None = None) -> int:
        """Wait until the next update of this table.

        Args:
            timeout: seconds; None waits for ever.

        Returns:
            The step of the update.

        Raises:
            TimeoutError: nothing changed in time; it says so if the graph is not running.
            TableFailedError: the table failed.
            InvalidOperationError: in a listener, under ``frozen()`` or inside ``transaction()``.
        """
        return self._native.wait(seconds(timeout, "wait"))


class _Views:
    """A table that leaves with its strings as views, as polars keeps them itself."""

    __slots__ = ("_native",)

    def __init__(self, native: _native.Table) -> None:
        self._native = native

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._native.stream(requested_schema, views=requested_schema is None)


class Plan:
    """What a table was asked to be. Two are equal if they ask the same of the same sources."""

    __slots__ = ("_print", "_text")

    def __init__(self, native: _native.Table) -> None:
        self._print = native.print
        self._text = native.label

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and self._print == other._print

    def __hash__(self) -> int:
        return hash(self._print)

    def __repr__(self) -> str:
        return f"<Plan {self._text}>"


@check_all
class GroupBy:
    """Groups of a table, as `Table.group_by` gives them."""

    __slots__ = ("_keys", "_on_error", "_table")

    def __init__(self, table: Table, keys: list[Expr], on_error: OnError) -> None:
        self._table = table
        self._keys = keys
        self._on_error: OnError = on_error

    def __repr__(self) -> str:
        keys = ", ".join(str(key) for key in self._keys)
        return f"GroupBy({keys}): say what to compute of each group, .agg(tf.col(name).sum()), .len() …"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            raise AttributeError(
                f"groups have no {name!r}{nearest(name, dir(type(self)))}; say what to compute of each group, "
                ".agg(tf.col(name).sum()), .len() …: that is a table",
                name=name,
                obj=self,
            )

        def __getitem__(self, name: object) -> object:
            column = short(name) if isinstance(name, str) else "name"
            raise TypeError(f"groups are not indexed: aggregates of a column are .agg(tf.col({column}).sum())")

        def __iter__(self) -> object:
            raise TypeError(
                "groups are not gone through: .agg(...) makes a table of them, .agg(tf.col(name).implode()) of lists"
            )

    def agg(self, *aggs: IntoExpr | Iterable[IntoExpr], **named: IntoExpr) -> Table:
        """One row a group, with these aggregates: ``col("x").sum().alias("total")`` or ``total=col("x").sum()``."""
        native = self._table._native
        keys = [_formulas.over(key, native, "group_by") for key in self._keys]
        made = _aggregates("agg", self._table, aggs, named)
        return Table(_native.aggregate("group_by", native, keys, made, self._on_error))

    def _all(self, aggregate: Callable[[Expr], Expr]) -> Table:
        keys = {key._native.output_name() for key in self._keys}
        return self.agg(*(aggregate(col(name)) for name in self._table.columns if name not in keys))

    def len(self, name: str = "len") -> Table:
        """How many rows each group has."""
        return self.agg(len_().alias(name))

    def count(self) -> Table:
        """How many values of each other column are not null."""
        return self._all(Expr.count)

    def sum(self) -> Table:
        """The sum of each other column."""
        return self._all(Expr.sum)

    def mean(self) -> Table:
        """The mean of each other column."""
        return self._all(Expr.mean)

    def min(self) -> Table:
        """The least value of each other column."""
        return self._all(Expr.min)

    def max(self) -> Table:
        """The greatest value of each other column."""
        return self._all(Expr.max)

    def median(self) -> Table:
        """The value in the middle of each other column."""
        return self._all(Expr.median)

    def quantile(
        self,
        quantile: float,
        interpolation: Literal["nearest", "lower", "higher", "midpoint", "linear"] = "nearest",
    ) -> Table:
        """The value of each other column at a part of the way from the least to the greatest."""
        return self._all(lambda of: of.quantile(quantile, interpolation))

    def n_unique(self) -> Table:
        """How many distinct values each other column has; null counts as one."""
        return self._all(Expr.n_unique)

    def first(self) -> Table:
        """The first value of each other column."""
        return self._all(Expr.first)

    def last(self) -> Table:
        """The last value of each other column."""
        return self._all(Expr.last)


@check_all
class Column:
    """One column of a table, as it was when taken out."""

    __slots__ = ("__weakref__", "_native")

    def __init__(self, native: _native.Column) -> None:
        self._native = native

    @property
    def name(self) -> str:
        """Its name."""
        return self._native.name

    @property
    def dtype(self) -> DataType:
        """Its type."""
        return Schema._of(self._native.schema()).dtypes()[0]

    def __len__(self) -> int:
        return len(self._native)

    def __repr__(self) -> str:
        return f"Column({self.name!r}, {self.dtype!r}, {len(self)} rows)"

    def to_list(self, on_precision_loss: PrecisionLoss = "error") -> list[Any]:
        """Its cells as Python values."""
        return self._native.to_list(on_precision_loss)

    def to_numpy(self) -> Any:
        """Its cells as a NumPy array; numbers with nulls become floats with NaN, anything else objects. Needs numpy."""
        numpy = _optional("numpy", "to_numpy()", "numpy")
        kind = self.dtype
        if kind.is_numeric and self._native.null_count() == 0 and (kind.is_integer or kind.is_float):
            return numpy.frombuffer(self._native.raw(), dtype=repr(kind).lower())
        if kind.is_temporal and repr(kind).startswith(("Datetime", "Duration")) and self._native.null_count() == 0:
            unit = str(kind._spec[1])
            code = "datetime64" if repr(kind).startswith("Datetime") else "timedelta64"
            return numpy.frombuffer(self._native.raw(), dtype="int64").view(f"{code}[{unit}]")
        cells = self.to_list("truncate")
        if kind.is_integer or kind.is_float:
            return numpy.array([float("nan") if cell is None else cell for cell in cells], dtype="float64")
        return numpy.array(cells, dtype=bool if kind == Boolean and None not in cells else object)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        del copy
        array = self.to_numpy()
        return array if dtype is None else array.astype(dtype)

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        del requested_schema
        return self._native.array()


no_arithmetic(Column)


def _optional(package: str, what: str, extra: str) -> Any:
    """A package that is wanted by one method only."""
    import importlib

    try:
        return importlib.import_module(package)
    except ImportError as why:
        raise ImportError(f"{what} needs {package}: pip install 'tickframe[{extra}]'") from why


def _flags(given: bool | Sequence[bool], names: list[str], what: str) -> list[bool]:
    if isinstance(given, bool):
        return [given] * len(names)
    several: object = given
    if not isinstance(several, (list, tuple)) and not array_like(several):
        raise TypeError(f"sort: {what} is True or False, or a list of them, not {named(given)}")
    flags = list(given)
    for each in flags:
        flag(each, "sort", what)
    if len(flags) != len(names):
        raise ValueError(f"sort: {what} has {len(flags)} values for {len(names)} columns")
    return flags


_UNITS = {
    "ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9,
    "m": 60 * 10**9, "h": 3600 * 10**9, "d": 86400 * 10**9, "w": 7 * 86400 * 10**9,
}  # fmt: skip


_DEEPEST_INDENT = 64
_LONGEST_SPAN = 2**63 - 1
_MOST_SECONDS = 2**34
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(ns|us|µs|ms|[smhdw])", re.IGNORECASE)
_ISO = re.compile(
    r"P(?:(?P<w>\d+)W)?(?:(?P<d>\d+)D)?(?:T(?:(?P<h>\d+)H)?(?:(?P<m>\d+)M)?(?:(?P<s>\d+(?:\.\d+)?)S)?)?", re.IGNORECASE
)


def nanoseconds(span: float | str | _dt.timedelta, what: str = "a span of time") -> int:
    """A span of time in nanoseconds: seconds, a timedelta, or text such as ``"1h30m"`` or ``"PT1H30M"``.

    Raises:
        TypeError: what is none of them; `what` names the argument.
        ValueError: a text that is no span, a number that is not finite.
    """
    counted = _nanoseconds(span, what)
    if counted is None or abs(counted) > _LONGEST_SPAN:
        raise ValueError(f"{what}: {short(span)} is beyond the 292 years that nanoseconds reach")
    return counted


def _nanoseconds(span: float | str | _dt.timedelta, what: str) -> int | None:
    if isinstance(span, _dt.timedelta):
        return (span.days * 86400 + span.seconds) * 10**9 + span.microseconds * 1000
    if isinstance(span, str):
        iso = _ISO.fullmatch(span.strip())
        found = iso is not None and [(number, unit) for unit, number in iso.groupdict().items() if number]
        parts = found or _SPAN.findall(span)
        whole = found or "".join(f"{number}{unit}" for number, unit in parts) == span.replace(" ", "")
        if not parts or not whole:
            raise ValueError(f'{what}: {short(span)} is no span of time; write "2h", "90s", "1h30m", or "PT1H30M"')
        if any(len(number) > 19 for number, _ in parts):
            return None
        return sum(int(Decimal(number) * _UNITS[unit.lower()]) for number, unit in parts)
    number: object = span
    if isinstance(number, bool) or not hasattr(number, "__float__"):
        raise TypeError(
            f'{what}: a span of time is a number of seconds, a timedelta or a text such as "2h", not {named(span)}'
        )
    if not isinstance(span, int) and not math.isfinite(span := float(span)):
        raise ValueError(f"{what}: {span} seconds are no span of time")
    if not abs(span) < _MOST_SECONDS:
        return None
    return span * 10**9 if isinstance(span, int) else round(float(span) * 10**9)


def distance(tolerance: float | str | _dt.timedelta) -> tuple[float, bool]:
    """A tolerance, and whether it is a span of time in nanoseconds; a plain number is of what its stamps say.

    Raises:
        TypeError: what is no number, timedelta or text.
        ValueError: below 0, or not finite.
    """
    is_span = isinstance(tolerance, (str, _dt.timedelta))
    nanoseconds(tolerance, "join_asof: tolerance")
    far: Any = nanoseconds(tolerance) if is_span else tolerance
    if far < 0:
        raise ValueError(f"join_asof: tolerance must not be negative, not {short(tolerance)}")
    return (far.__index__() if hasattr(far, "__index__") else float(far)), is_span


_FORMULA = re.compile(r"[=<>!&|?()*/%+]")
"""What stands in formulas and seldom in names."""


def _right(operation: str, other: object) -> Table:
    """The other table of a join; a frame of another library becomes one."""
    if isinstance(other, Table):
        return other
    given = type(other).__module__.startswith("pyspark.") or isinstance(other, (dict, list))
    if (given or hasattr(other, "__arrow_c_stream__")) and not array_like(other):
        return table(other)
    raise TypeError(f"{operation}: the other side is a table or a frame, not {named(other)}")


def _listed(values: Any) -> str:
    return f"{named(values)} of {len(values)} values" if isinstance(values, (list, tuple)) else named(values)


def _aggregates(
    operation: str, table: Table, items: Iterable[object], named: Mapping[str, object]
) -> list[_native.Expr]:
    """The aggregates given to `agg`; what pandas would take is told."""
    flat = flatten(items)
    for name, item in named.items():
        if isinstance(item, str) and item not in table.columns and hasattr(Expr, item):
            error = ColumnNotFoundError(
                f"{operation}: {name}={item!r} is the column {item!r}, which the table has not; write "
                f"{name}=tf.col({name!r}).{item}()"
            )
            error.column, error.columns = item, table.columns
            raise error
    return expressions(flat, named, operation)


@checked
def table(data: object, schema: SchemaLike | None = None, *, copy: bool | None = None) -> Table:
    """A static table.

    Args:
        data: a dict of lists or arrays, a list of rows (dicts, dataclasses, named tuples), an iterator of either, or
            anything with ``__arrow_c_stream__`` or ``__arrow_c_array__`` (pyarrow, polars, pandas, duckdb, another
            Table). The index of a pandas frame is left out: ``frame.reset_index()`` makes columns of it.
        schema: the types wanted; only widening that loses nothing is done.
        copy: whether memory is copied. None lets its maker decide: what polars, DuckDB and this package hold is never
            written to and stays where it is; NumPy, pandas, pyarrow and unknown makers let others write, so that is
            copied. True copies all. False copies no Arrow memory and no contiguous NumPy array of numbers: you promise
            that nobody writes to it as long as the table, or anything made of it, is in use; who does changes the table,
            makes results wrong, or ends the process.

    Raises:
        SchemaError: columns of unequal length, missing or extra ones.
        TypeMismatchError: a value that is not of its column's type.
        DataError: more than 100,000 columns, types nested more than 64 deep, names of more than 64 KB, Arrow data that
            is not what its type says.
    """
    if isinstance(data, Table) and schema is None and copy is not True:
        return data.snapshot()
    if type(data).__module__.startswith("pyspark."):
        from tickframe.spark import from_spark

        made = from_spark(data)
        return made if schema is None else table(made, schema)
    return Table(_native.table("table", data, None if schema is None else Schema(schema)._native, copy))


def from_dicts(rows: Iterable[object], schema: SchemaLike | None = None) -> Table:
    """A static table of rows: dicts, dataclasses or named tuples; a missing key is null."""
    bounded(rows, "from_dicts")
    wanted = None if schema is None else Schema(schema)._native
    return Table(_native.table("from_dicts", list(rows), wanted))


@checked
def from_arrow(data: object, *, copy: bool | None = None) -> Table:
    """A static table of anything that speaks the Arrow capsule protocol.

    Args:
        data: has ``__arrow_c_stream__`` or ``__arrow_c_array__``.
        copy: as for `table`: None copies what others may write to, so also what pyarrow holds.
    """
    module = type(data).__module__
    if module.startswith("pyspark."):
        from tickframe.spark import from_spark

        return from_spark(data)
    if not hasattr(data, "__arrow_c_stream__") and not hasattr(data, "__arrow_c_array__"):
        raise TypeError(f"from_arrow: {type(data).__name__} has neither __arrow_c_stream__ nor __arrow_c_array__")
    return Table(_native.table("from_arrow", data, None, copy))


def from_polars(frame: polars.DataFrame | polars.Series) -> Table:
    """A static table of a polars frame, or of a series that has a name; a lazy frame has to be collected first.

    Its memory is not copied.
    """
    if not hasattr(frame, "__arrow_c_stream__"):
        raise TypeError(f"from_polars: {type(frame).__name__} is no DataFrame; a LazyFrame has to be collected first")
    return Table(_native.table("from_polars", frame, None))


@checked
def from_pandas(frame: pandas.DataFrame | pandas.Series[Any], *, copy: bool | None = None) -> Table:
    """A static table of a pandas frame, or of a series that has a name. Needs pyarrow.

    NaN in a column of NumPy floats is null, as pandas means it. The index is left out: ``frame.reset_index()`` makes
    columns of it.

    Args:
        frame: the frame or series.
        copy: as for `table`; only False leaves its memory where it is.
    """
    if type(frame).__name__ not in {"DataFrame", "Series"}:
        raise TypeError(f"from_pandas: {type(frame).__name__} is no pandas DataFrame or Series")
    return Table(_native.table("from_pandas", frame, None, copy))


@checked
def empty_table(n: int) -> Table:
    """A static table of `n` rows and no columns."""
    return Table(_native.empty_table(_count(n, "empty_table: n")))


@checked
def concat(tables: Iterable[Table], how: Literal["vertical"] = "vertical") -> Table:
    """The rows of several tables of one schema, one table after the other."""
    if isinstance(tables, Table):
        raise TypeError("concat: give a list of tables, concat([a, b]), or merge(a, b)")
    given: object = how
    if not (isinstance(given, str) and given == "vertical"):
        raise ValueError(f'concat: how must be "vertical", not {short(how)}')
    natives = []
    for each in tables:
        instance(each, "concat", "each of the tables", "Table", "a table")
        natives.append(each._native)
    if not natives:
        raise ValueError("concat: give at least one table")
    return Table(_native.concat(natives))


def merge(*tables: Table | Iterable[Table]) -> Table:
    """`concat`, by Deephaven's name."""
    flat: list[Any] = flatten(tables)
    for each in flat:
        instance(each, "merge", "each argument", "Table", "a table")
    return concat(flat)
