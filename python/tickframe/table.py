"""Tables: what they are, and every operation on them.

A `Table` is static or live. A live one is an incrementally maintained view: when rows are added, removed or modified
at its sources, it is updated in the same cycle, at a cost proportional to the change. Static and live tables take the
same operations, with equal results on equal data.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from tickframe import _native, control, sequential
from tickframe.arguments import check_all, text
from tickframe.beside import parted, with_values
from tickframe.bounds import group_bounds
from tickframe.by_groups import ByGroups
from tickframe.cells import Cells
from tickframe.describe import named, short
from tickframe.display import as_html, as_text
from tickframe.errors import ColumnNotFoundError, InvalidOperationError
from tickframe.export import Export
from tickframe.expr import flatten, spread
from tickframe.extents import Extents
from tickframe.following import Following
from tickframe.foreign import mask_of, of_rows
from tickframe.formulas import bind
from tickframe.functions import col
from tickframe.graph import Graph
from tickframe.group_by import GroupBy
from tickframe.handles import register
from tickframe.hints import TABLES, UnknownNameError, unknown
from tickframe.in_order import InOrder
from tickframe.joins import Joins
from tickframe.look import Look
from tickframe.names import names_of
from tickframe.operators import UpdateBy
from tickframe.order import Order
from tickframe.pivots import Pivots
from tickframe.plan import Plan, explained
from tickframe.schema import ColumnNames, Schema
from tickframe.scopes import note as in_scope
from tickframe.shape import Shape
from tickframe.windows import Windows
from tickframe.writing import Writing

if TYPE_CHECKING:
    import datetime
    from collections.abc import Callable, Iterable, Sequence

    from tickframe.arguments import OnError
    from tickframe.bounds import WhenManyHeld
    from tickframe.control import Filter, Selectable
    from tickframe.dtypes import DataType
    from tickframe.expr import IntoExpr
    from tickframe.listener import Subscription
    from tickframe.names import Names

__all__ = ["Table"]

_CONTRACTS = frozenset({"append_only", "add_only", "blink", "flat", "key", "sorted_by", "watermark"})
_MOST_KEYS = 1 << 12


@check_all
class Table(
    Look, Cells, Order, Extents, Shape, Pivots, ByGroups, UpdateBy, Windows, Joins, InOrder, Export, Writing, Following
):
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

    __slots__ = ("__weakref__", "_given", "_graph", "_native", "_subscriptions")

    def __init__(self, native: _native.Table) -> None:
        if not isinstance(native, _native.Table):
            raise TypeError(f"tf.Table is the type of tables; tf.table(data) makes one of {named(native)}")
        self._native = native
        graph = _native.graph_of(native)
        self._graph = None if graph is None else Graph._of(graph)
        self._subscriptions: list[Subscription] = []
        self._given: dict[str, object] = {}
        in_scope(self)

    # What it is -------------------------------------------------------------------------------------------

    @property
    def schema(self) -> Schema:
        """Ordered mapping from name to type; also anything that reads ``__arrow_c_schema__``."""
        return Schema._of(self._native.schema())

    @property
    def meta_table(self) -> Table:
        """Names and types as a table, by Deephaven's name.

        >>> import tickframe as tf
        >>> tf.table({"x": [1], "s": ["a"]}).meta_table.rows()
        [('x', 'Int64'), ('s', 'String')]
        """
        kinds = self.schema
        held = {"Name": list(kinds), "DataType": [repr(kind) for kind in kinds.values()]}
        return Table(_native.table("meta_table", held, Schema({"Name": str, "DataType": str})._native, None))

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
        """The contracts it keeps: append_only, add_only, blink, flat, key, sorted_by; the column of its `watermark`. What does not hold is absent.

        With them stands what `with_attributes` gave.
        """
        return MappingProxyType({**self._native.attributes(), **self._given})

    def with_attributes(self, attributes: Mapping[str, object]) -> Table:
        """The same table, with values of your own among its `attributes`. What is made of it does not have them.

        >>> import tickframe as tf
        >>> t = tf.table({"x": [1]}).with_attributes({"unit": "m"})
        >>> t.attributes["unit"], t.head(1).attributes.get("unit")
        ('m', None)

        Args:
            attributes: the values by their names, beside those that are there already.

        Raises:
            ValueError: the name of a contract, which the engine tells.
        """
        given: object = attributes
        if not isinstance(given, Mapping):
            raise TypeError(f'with_attributes: give a dict, {{"name": value}}, not {named(given)}')
        for name in given:
            text(name, "with_attributes", "the name of an attribute")
            if name in _CONTRACTS:
                raise ValueError(
                    f"with_attributes: {name!r} is a contract, which a table keeps or does not; give another name"
                )
        same = Table(self._native)
        same._given.update(self._given, **given)
        return same

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
        raise TypeError(
            "a table is not gone through as it is; its rows are t.iter_rows() or t.to_dicts(), its columns t.columns"
        )

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            if name in {"_native", "_source"}:
                raise InvalidOperationError(
                    "the table was let go at the end of its tf.scope(); what is to live on is named there, scope.keep(t)"
                )
            if name.startswith("_"):
                raise AttributeError(f"'Table' object has no attribute {name!r}", name=name, obj=self)
            if name != "columns" and name in self.columns:
                hint = f"; the column is tf.col({name!r}) in an expression, and its values now are t[{name!r}]"
                raise AttributeError(f"a table has no {name!r}{hint}", name=name, obj=self)
            suggested = lambda: unknown(name, "table", TABLES, dir(type(self)))  # noqa: E731
            raise UnknownNameError(f"a table has no {name!r}", name, self, suggested)

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

    def _release(self) -> None:
        """Let go of what stands behind it: its scope is over."""
        for held in self._subscriptions:
            held.cancel()
        self._subscriptions, self._given = [], {}
        for name in ("_native", "_source", "_publisher"):
            # A table that nobody feeds has no source.
            with contextlib.suppress(AttributeError, InvalidOperationError):
                delattr(self, name)

    def __repr__(self) -> str:
        try:
            _ = self._native
        except InvalidOperationError as gone:
            return f"Table({str(gone).partition('; ')[0].removeprefix('the table was ')})"
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

    def explain(self, format: Literal["text", "dot", "mermaid"] = "text") -> str:
        """The operation that made it and those below it, one a line.

        Of a live table these are the nodes of the graph; a static one stands on nothing, and shows its plan. Each node has the rows now and, if there are any, the bytes it owns and the entries of state it keeps (groups,
        keys of joins); of a live table, how often it was brought up to date and how long that took in the mean. What stands at another place already is told by "(above)". Below an operation stands how each of
        its expressions is computed (native passes, in which operations are fused; kernels over whole chunks; functions
        of the user) and which changes make it be computed again, of the rows that they touch.

        >>> import tickframe as tf
        >>> t = tf.append_table({"x": int}, graph=tf.Graph())
        >>> print(t.filter(tf.col("x") * 2 > 1).head(3).explain())
        head · 0 rows
          filter(((col("x") * 2) > 1)) · 0 rows
          | ((col("x") * 2) > 1): native pass of 2 operations; changes with col("x")
            append_table · 0 rows

        Args:
            format: ``"text"``; or a drawing, for Graphviz (``"dot"``) or ``"mermaid"``.
        """
        return explained(self._native, format)

    @property
    def plan(self) -> Plan:
        """What was asked for, down to the sources: a value that is compared, saved, and run over other tables.

        >>> import tickframe as tf
        >>> t = tf.table({"X": [1, 2]})
        >>> t.update("Y = X * 2").plan == t.update((tf.col("X") * 2).alias("Y")).plan
        True
        >>> t.update("Y = X * 2").plan == t.update("Y = X * 3").plan
        False
        """
        return Plan(_native.plan_of(self._native))

    # Taking it out ----------------------------------------------------------------------------------------

    def snapshot(self) -> Table:
        """A static copy at the settled step; it costs O(columns) and shares the blocks."""
        return Table(self._native.snapshot())

    def coalesce(self) -> Table:
        """The table itself, which holds its rows already; there for Deephaven's sake."""
        return self

    def collect(self) -> Table:
        """The same as `snapshot`."""
        return self.snapshot()

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
        plain, controls = control.unwrapped(flatten(rest), control.Filter, "filter")
        made = kept._expressions("filter", plain, {})
        made.extend((col(name) == value)._native for name, value in equals.items())
        order = control.execution_order(made, controls, filters=True)
        return Table(_native.filter("filter", kept._native, made, order, on_error)) if made else kept

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
        return Table(sequential.where(kept._native, rest, sys._getframe(1), "where", on_error))

    def where_one_of(self, *filters: IntoExpr | Iterable[IntoExpr], on_error: OnError = "fail") -> Table:
        """The rows for which one of the filters is true, at least; otherwise as `where`.

        >>> import tickframe as tf
        >>> tf.table({"X": [1, 2, 3]}).where_one_of("X = 1", tf.col("X") > 2).to_dict()
        {'X': [1, 3]}

        Args:
            *filters: formulas or Boolean expressions; all rows without any.
            on_error: as in `filter`.
        """
        return Table(sequential.where(self._native, filters, sys._getframe(1), "where_one_of", on_error, one_of=True))

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
            *exprs: names or expressions. For a static table also an array or a Series that has as many values as the table
                rows; such columns stand behind those that are computed.
            on_error: as in `select`.
            **named: ``name=expression``, or an array or a Series.

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
        return Table(sequential.update(self._native, formulas, sys._getframe(1), "update", "stored", on_error))

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
        return Table(sequential.update(self._native, formulas, frame, "update_view", "on read", on_error))

    def view(self, *formulas: IntoExpr | Selectable | Iterable[IntoExpr], on_error: OnError = "fail") -> Table:
        """Only these columns, computed when they are read; each formula sees those of this table and to its left.

        Raises:
            InvalidOperationError: as for `update_view`.
        """
        frame = sys._getframe(1)
        return Table(sequential.update(self._native, formulas, frame, "view", "on read", on_error, after=False))

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
        return Table(sequential.update(self._native, formulas, frame, "lazy_update", "once per input", on_error))

    def _columns(
        self,
        operation: str,
        exprs: Iterable[object],
        named: Mapping[str, object],
        *,
        after: bool,
        on_error: OnError,
    ) -> Table:
        rest, named, values = parted(operation, flatten(exprs), named)
        if values:
            computed = self if after else None
            if rest or named:
                computed = self._columns(operation, rest, named, after=after, on_error=on_error)
            return with_values(operation, self, computed, values)
        plain, controls = control.unwrapped(rest, control.Selectable, operation)
        made = self._expressions(operation, plain, named)
        order = control.execution_order(made, controls, filters=False)
        return Table(_native.columns(operation, self._native, made, order, "stored", after, on_error))

    def _expressions(self, operation: str, items: Iterable[object], named: Mapping[str, object]) -> list[_native.Expr]:
        made, flat, columns = [], flatten(items), ColumnNames(self._native)
        for item in flat:
            if isinstance(item, str) and _FORMULA.search(item) and item not in columns:
                raise self._formula_as_name(operation, item)
        for name, item in named.items():
            if isinstance(item, (list, tuple)):
                raise TypeError(f"{operation}: {name}: {of_rows(_listed(item))}")
        for expression, alias in spread(flat, named, columns, operation):
            native = bind(expression, self._native, operation)
            made.append(native if alias is None else native.alias(alias))
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
        return Table(_native.drop(self._native, names_of(names, "drop", ColumnNames(self._native))))

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
        preserve_empty: bool = False,
        initial_groups: Table | None = None,
        state_ttl: float | str | datetime.timedelta | None = None,
        max_groups: int | None = None,
        when_full: WhenManyHeld = "evict",
        keep_results: bool = False,
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
            preserve_empty: as in `agg_by`.
            initial_groups: as in `agg_by`.
            state_ttl: how long after its last row a group is held, of a live table that only gains rows or a blink table: seconds,
                a timedelta, or text such as ``"1h"``. It is told by the `watermark`, where the table has one, and the greatest
                time of the group's rows, else by the clock of the graph. Then the group is let go: its row leaves the result and
                its state is freed; if the key comes again it is a new group, at the end.
            max_groups: how many groups are held. Of more, those are let go that had no row for the longest time.
            when_full: with `max_groups`, whether groups are let go (``"evict"``), or the table fails with a ResourceError.
            keep_results: whether the row of a group that is let go stays in the result as it was.
            **named: ``name=expression`` keys.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "a", "b"], "x": ["1", "one", "3"]})
        >>> n = t.group_by("k", on_error="null").agg(total=tf.col("x").cast(tf.Int64).sum())
        >>> n.to_dicts(), n.errors.to_dict()["row_key"]
        ([{'k': 'a', 'total': 1}, {'k': 'b', 'total': 3}], [1])

        What a stream without an end leaves behind is bounded:

        >>> clicks = tf.blink_table({"user": str}, graph=tf.Graph())
        >>> last_two = clicks.group_by("user", max_groups=2).len()
        >>> for user in ["ann", "bob", "ann", "cid"]:
        ...     _ = clicks.append({"user": user})
        ...     _ = clicks.graph.step()
        >>> last_two.rows(), last_two.counted["evicted_groups"]
        ([('ann', 2), ('cid', 1)], 1)
        """
        del maintain_order
        flat = flatten(keys)
        if len(flat) > _MOST_KEYS:
            raise ValueError(f"group_by: {len(flat)} keys, more than {_MOST_KEYS}; give columns, not values")
        made = spread(flat, named, ColumnNames(self._native), "group_by")
        return GroupBy(
            self,
            [key if name is None else key.alias(name) for key, name in made],
            on_error,
            preserve_empty,
            initial_groups,
            group_bounds("group_by", state_ttl, max_groups, when_full, keep_results),
        )


_FORMULA = re.compile(r"[=<>!&|?()*/%+]")
"""What stands in formulas and seldom in names."""


def _listed(values: Any) -> str:
    return f"{named(values)} of {len(values)} values" if isinstance(values, (list, tuple)) else named(values)


register(Table)
