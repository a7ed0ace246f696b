"""Partitioned tables: a live table of tables, one for each key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tickframe import _native
from tickframe.arguments import check_all, checked, instance, text
from tickframe.describe import named, short
from tickframe.errors import ColumnNotFoundError, DataError, InvalidOperationError, SchemaError, TypeMismatchError
from tickframe.graph import Graph
from tickframe.handles import is_table, table_class, table_of
from tickframe.names import pairs
from tickframe.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tickframe.expr import IntoExpr
    from tickframe.table import Table

__all__ = ["PartitionedProxy", "PartitionedTable", "from_constituent_tables", "from_partitioned_table"]


class Partition:
    """The rows of each group as a table: what `tf.agg.partition` asks of `Table.partitioned_agg_by`."""

    __slots__ = ("column", "include_by_columns")

    def __init__(self, column: object, include_by_columns: object) -> None:
        text(column, "partition", "column")
        if not isinstance(include_by_columns, bool):
            raise TypeError(f"partition: include_by_columns must be True or False, not {named(include_by_columns)}")
        self.column, self.include_by_columns = str(column), include_by_columns

    def __repr__(self) -> str:
        return f"tf.agg.partition({self.column!r})"


@check_all
class PartitionedTable:
    """A live table of constituents, one table for each key, as `Table.partition_by` makes it.

    Constituents come and go with their keys. Each is a table like any other: live, and updated by what changes in its
    rows alone.

    >>> import tickframe as tf
    >>> t = tf.table({"sym": ["A", "B", "A"], "px": [1.0, 2.0, 3.0]})
    >>> p = t.partition_by("sym")
    >>> p
    PartitionedTable by 'sym': 2 constituents
    >>> [len(each) for each in p], p.get("A").to_dict()["px"]
    ([2, 1], [1.0, 3.0])
    """

    __slots__ = ("__weakref__", "_beside", "_native")

    def __init__(self, native: _native.Partitioned, beside: tuple[str, Table] | None = None) -> None:
        if not isinstance(native, _native.Partitioned):
            raise TypeError(
                f"tf.PartitionedTable is the type of partitioned tables; t.partition_by(key) makes one of a table, not "
                f"{named(native)}"
            )
        self._native = native
        self._beside = beside

    def __repr__(self) -> str:
        keys, many = ", ".join(map(repr, self.key_columns)), len(self)
        return f"PartitionedTable by {keys}: {many} constituent{'' if many == 1 else 's'}"

    def __len__(self) -> int:
        return len(self._native.set())

    def __bool__(self) -> bool:
        raise TypeError("a partitioned table is neither true nor false; ask len(p) > 0")

    def __iter__(self) -> Iterator[Table]:
        return iter(self.constituent_tables())

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            if name.startswith("_"):
                raise AttributeError(f"'PartitionedTable' object has no attribute {name!r}", name=name, obj=self)
            raise AttributeError(
                f"a partitioned table has no {name!r}; its tables are p.get(key) and p.constituent_tables(), and one table "
                "of all is p.merge()",
                name=name,
                obj=self,
            )

    @property
    def key_columns(self) -> list[str]:
        """The names of the columns that it was partitioned by.

        >>> import tickframe as tf
        >>> t = tf.table({"sym": ["A", "B", "A"], "px": [1.0, 2.0, 3.0]})
        >>> t.partition_by("sym").key_columns
        ['sym']
        """
        return self._native.keys()

    @property
    def unique_keys(self) -> bool:
        """Whether no two constituents have one key.

        >>> import tickframe as tf
        >>> t = tf.table({"sym": ["A", "B", "A"], "px": [1.0, 2.0, 3.0]})
        >>> t.partition_by("sym").unique_keys
        True
        """
        return True

    @property
    def constituent_changes_permitted(self) -> bool:
        """Whether constituents may come and go: the table that was partitioned is live.

        >>> import tickframe as tf
        >>> t = tf.table({"sym": ["A", "B", "A"], "px": [1.0, 2.0, 3.0]})
        >>> live = tf.append_table({"sym": str}, graph=tf.Graph())
        >>> t.partition_by("sym").constituent_changes_permitted, live.partition_by("sym").constituent_changes_permitted
        (False, True)
        """
        return self._native.changes

    @property
    def graph(self) -> Graph | None:
        """The graph that it lives in; None of a static one.

        >>> import tickframe as tf
        >>> live = tf.append_table({"sym": str}, graph=tf.Graph())
        >>> live.partition_by("sym").graph == live.graph, tf.table({"sym": ["A"]}).partition_by("sym").graph
        (True, None)
        """
        graph = _native.graph_of(self._native.set())
        return None if graph is None else Graph._of(graph)

    @property
    def schema(self) -> Schema:
        """The columns of every constituent.

        >>> import tickframe as tf
        >>> tf.table({"sym": ["A"], "px": [1.5]}).partition_by("sym", drop_keys=True).schema
        Schema({'px': Float64})
        """
        return Schema._of(self._native.template().schema())

    @property
    def table(self) -> Table:
        """The keys as a table, as `keys` gives them, and beside them what `Table.partitioned_agg_by` aggregated."""
        return self.keys() if self._beside is None else self._beside[1]

    @property
    def constituent_column(self) -> str | None:
        """What `tf.agg.partition` called the constituents; None of other partitioned tables.

        >>> import tickframe as tf
        >>> t = tf.table({"sym": ["A", "B", "A"], "px": [1.0, 2.0, 3.0]})
        >>> p = t.partitioned_agg_by([tf.agg.partition("rows"), tf.agg.max_("top = px")], by="sym")
        >>> p.constituent_column, t.partition_by("sym").constituent_column
        ('rows', None)
        """
        return None if self._beside is None else self._beside[0]

    def keys(self) -> Table:
        """The keys that have rows, as a live table. A key whose last row goes leaves it, and comes back as a new row.

        >>> import tickframe as tf
        >>> t = tf.append_table({"sym": str, "px": float}, graph=tf.Graph())
        >>> keys = t.partition_by("sym").keys()
        >>> _ = t.append({"sym": ["B", "A", "B"], "px": [1.0, 2.0, 3.0]})
        >>> _ = t.graph.step()
        >>> keys.rows()
        [('B',), ('A',)]
        """
        return table_of(self._native.set()).select(*self.key_columns)

    def get(self, *key: object) -> Table | None:
        """The table of a key; None if no row has it now.

        It is one table for as long as somebody holds it. If its key empties, so does the table, and it fills again
        when the key comes back.

        >>> import tickframe as tf
        >>> t = tf.table({"sym": ["A", "B"], "day": [1, 1], "px": [1.0, 2.0]})
        >>> p = t.partition_by("sym", "day")
        >>> p.get("B", 1).rows(), p.get("B", 2)
        ([('B', 1, 2.0)], None)

        Args:
            *key: a value for each key column, in their order; or one tuple of them.

        Raises:
            ValueError: not as many values as key columns.
            TypeMismatchError: a value that the key column cannot hold.
        """
        names = self.key_columns
        values = tuple(key[0]) if len(key) == 1 and isinstance(key[0], (tuple, list)) and len(names) > 1 else key
        if len(values) != len(names):
            columns = "column" if len(names) == 1 else "columns"
            raise ValueError(f"get: give a value for each key {columns} ({', '.join(names)}), not {len(values)}")
        kinds = Schema._of(self._native.set().schema())
        try:
            given = _native.table(
                "get",
                {name: [value] for name, value in zip(names, values, strict=True)},
                Schema({name: kinds[name] for name in names})._native,
            )
        except (DataError, SchemaError, TypeError, OverflowError) as why:
            raise TypeMismatchError(f"get: {why}") from None
        found = self._native.find(given)
        return None if found is None else table_of(found)

    def get_constituent(self, key_values: object) -> Table | None:
        """The table of a key, by Deephaven's name: see `get`.

        >>> import tickframe as tf
        >>> t = tf.table({"sym": ["A", "B", "A"], "px": [1.0, 2.0, 3.0]})
        >>> p = t.partition_by("sym")
        >>> p.get_constituent("A").rows(), p.get_constituent("C")
        ([('A', 1.0), ('A', 3.0)], None)

        Args:
            key_values: the value of the key column, or a list of values if there are several.
        """
        return self.get(*key_values) if isinstance(key_values, (list, tuple)) else self.get(key_values)

    def constituent_tables(self) -> list[Table]:
        """The tables of all keys as they are now, in the order of `keys`. The list does not change; the tables do.

        >>> import tickframe as tf
        >>> t = tf.table({"sym": ["A", "B", "A"], "px": [1.0, 2.0, 3.0]})
        >>> [each.rows() for each in t.partition_by("sym").constituent_tables()]
        [[('A', 1.0), ('A', 3.0)], [('B', 2.0)]]
        """
        return [table_of(native) for native in self._native.tables()]

    def merge(self) -> Table:
        """All constituents as one table, one below the other in the order of `keys`.

        Rows of a constituent that comes are added, those of one that goes are removed.

        >>> import tickframe as tf
        >>> t = tf.table({"sym": ["A", "B", "A"], "px": [1.0, 2.0, 3.0]})
        >>> t.partition_by("sym").merge().rows()
        [('A', 1.0), ('A', 3.0), ('B', 2.0)]
        """
        return table_of(self._native.merge("merge"))

    def filter(self, *predicates: IntoExpr | Iterable[IntoExpr], **equals: Any) -> PartitionedTable:
        """The constituents whose keys pass: predicates are expressions over the key columns.

        >>> import tickframe as tf
        >>> t = tf.table({"sym": ["A", "B", "A"], "px": [1.0, 2.0, 3.0]})
        >>> t.partition_by("sym").filter(tf.col("sym") != "A").merge().rows()
        [('B', 2.0)]

        Args:
            *predicates: as in `Table.filter`.
            **equals: ``name=value`` for ``col(name) == value``.

        Raises:
            ColumnNotFoundError: a column that is no key.
        """
        try:
            chosen = table_of(self._native.set()).filter(*predicates, **equals)
        except ColumnNotFoundError as why:
            raise self._no_key("filter", why) from None
        return PartitionedTable(self._native.over(chosen._native))

    def _no_key(self, method: str, why: ColumnNotFoundError) -> ColumnNotFoundError:
        keys = self.key_columns
        error = ColumnNotFoundError(
            f"{method}: no key column {short(why.column)}; the constituents are told apart by {', '.join(map(repr, keys))}"
        )
        error.column, error.columns = why.column, keys
        return error

    def sort(
        self,
        *by: str | Sequence[str],
        descending: bool | Sequence[bool] = False,
        nulls_last: bool | Sequence[bool] = False,
    ) -> PartitionedTable:
        """The constituents in the order of their keys.

        >>> import tickframe as tf
        >>> t = tf.table({"sym": ["A", "B", "A"], "px": [1.0, 2.0, 3.0]})
        >>> t.partition_by("sym").sort("sym", descending=True).merge().rows()
        [('B', 2.0), ('A', 1.0), ('A', 3.0)]

        Args:
            *by: key columns; all of them without any.
            descending: for all of them, or for each.
            nulls_last: for all of them, or for each.

        Raises:
            ColumnNotFoundError: a column that is no key.
        """
        names: tuple[Any, ...] = by or tuple(self.key_columns)
        try:
            chosen = table_of(self._native.set()).sort(*names, descending=descending, nulls_last=nulls_last)
        except ColumnNotFoundError as why:
            raise self._no_key("sort", why) from None
        return PartitionedTable(self._native.over(chosen._native))

    def transform(self, fn: Callable[[Table], Table], dependencies: Iterable[Table] = ()) -> PartitionedTable:
        """What a function makes of each constituent: a partitioned table of the results.

        `fn` is called once for each constituent, and once for a table without rows, which tells the columns. The constituent of
        a key that comes is transformed in the step in which it comes. If `fn` raises for one, the result of that key has
        failed, and says why; the others live.

        >>> import tickframe as tf
        >>> t = tf.append_table({"sym": str, "px": float}, graph=tf.Graph())
        >>> p = t.partition_by("sym").transform(lambda each: each.tail(1))
        >>> last = p.merge()
        >>> _ = t.append({"sym": ["A", "B", "A"], "px": [1.0, 2.0, 3.0]})
        >>> _ = t.graph.step()
        >>> last.rows()
        [('A', 3.0), ('B', 2.0)]

        Args:
            fn: a function of a table that gives a table, always of the same columns. It may use other tables of the graph.
            dependencies: tables that `fn` uses for some constituents alone; those that it used as this was called are
                known.

        Raises:
            TypeError: `fn` is no function, or gives no table.
            TableFailedError: from a result, where `fn` raised for its constituent.
        """
        return _transformed("transform", self, fn, [], dependencies)

    def partitioned_transform(
        self, other: PartitionedTable, fn: Callable[[Table, Table], Table], dependencies: Iterable[Table] = ()
    ) -> PartitionedTable:
        """What a function makes of each two constituents of equal keys; keys that one side lacks are left out.

        >>> import tickframe as tf
        >>> t = tf.table({"sym": ["A", "B"], "px": [1.0, 2.0]}).partition_by("sym")
        >>> q = tf.table({"sym": ["A", "C"], "size": [7, 8]}).partition_by("sym")
        >>> t.partitioned_transform(q, lambda one, two: one.natural_join(two, on="sym")).merge().rows()
        [('A', 1.0, 7)]

        Args:
            other: a partitioned table with as many key columns, of the same types.
            fn: a function of two tables that gives a table.
            dependencies: as in `transform`.

        Raises:
            ValueError: another number of key columns.
        """
        instance(other, "partitioned_transform", "other", "PartitionedTable", "another partitioned table")
        mine, theirs = self.key_columns, other.key_columns
        if len(mine) != len(theirs):
            raise ValueError(
                f"partitioned_transform: one has {len(mine)} key columns ({', '.join(mine)}), the other {len(theirs)} "
                f"({', '.join(theirs)})"
            )
        on = [left if left == right else f"{left} = {right}" for left, right in zip(mine, theirs, strict=True)]
        both = table_of(self._native.set()).where_in(table_of(other._native.set()), on, nulls_equal=True)
        matching = PartitionedTable(self._native.over(both._native))
        return _transformed("partitioned_transform", matching, fn, [other], dependencies)

    def proxy(self, *, require_matching_keys: bool = True, sanity_check_joins: bool = True) -> PartitionedProxy:
        """All constituents as if they were one table: a method of a table that is called on it is called on each.

        >>> import tickframe as tf
        >>> t = tf.table({"sym": ["A", "B", "A"], "px": [1.0, 2.0, 3.0]})
        >>> t.partition_by("sym").proxy().tail(1).with_columns(px=tf.col("px") * 2).target.merge().rows()
        [('A', 6.0), ('B', 4.0)]

        Args:
            require_matching_keys: whether two proxies meet only if they have the same keys, as the method is called.
            sanity_check_joins: whether a join of two proxies is refused if one of its keys is in several constituents of a
                side, as the method is called: rows of different constituents do not meet.
        """
        return PartitionedProxy(self, require_matching_keys, sanity_check_joins)


@check_all
class PartitionedProxy:
    """The methods of a table, on each constituent of a partitioned table, as `PartitionedTable.proxy` gives them.

    An argument that is a proxy too stands for its constituent of the same key. The result is a proxy; `target` is the
    partitioned table behind it.
    """

    __slots__ = ("_checks", "_matches", "_target")

    def __init__(self, target: PartitionedTable, require_matching_keys: bool, sanity_check_joins: bool) -> None:
        instance(target, "PartitionedProxy", "target", "PartitionedTable", "a partitioned table")
        self._target, self._matches, self._checks = target, require_matching_keys, sanity_check_joins

    @property
    def target(self) -> PartitionedTable:
        """The partitioned table behind it."""
        return self._target

    def __repr__(self) -> str:
        return f"PartitionedProxy({self._target!r})"

    def __getattr__(self, name: str) -> Callable[..., PartitionedProxy]:
        if name.startswith("_"):
            raise AttributeError(f"'PartitionedProxy' object has no attribute {name!r}", name=name, obj=self)
        member = getattr(table_class(), name, None)
        if not callable(member):
            raise AttributeError(  # noqa: TRY004
                f"a proxy has no {name!r}: it has the methods of a table, which are called on each constituent; the "
                "partitioned table is p.target",
                name=name,
                obj=self,
            )

        def call(*args: object, **given: object) -> PartitionedProxy:
            return self._called(name, args, given)

        call.__name__ = call.__qualname__ = name
        return call

    def _called(self, name: str, args: tuple[Any, ...], given: dict[str, Any]) -> PartitionedProxy:
        others = [each for each in (*args, *given.values()) if isinstance(each, PartitionedProxy)]
        if len(others) > 1:
            raise TypeError(f"{name}: one proxy meets one other, not {len(others)}")

        def fn(table: Table, other: Table | None = None) -> Any:
            meant: Any = lambda each: other if isinstance(each, PartitionedProxy) else each  # noqa: E731
            return getattr(table, name)(*map(meant, args), **{key: meant(each) for key, each in given.items()})

        fn.__qualname__ = name
        if not others:
            made = _transformed(name, self._target, fn, [], [each for each in args if is_table(each)])
            return PartitionedProxy(made, self._matches, self._checks)
        [other] = others
        if self._matches:
            _same_keys(name, self._target, other._target)
        on = given.get("on", args[1] if len(args) > 1 else None)
        if self._checks and name in _JOINS and on is not None:
            for side, target in enumerate((self._target, other._target)):
                _in_one_constituent(name, target, [pair[side] for pair in pairs(on, name)])
        made = self._target.partitioned_transform(other._target, fn)
        return PartitionedProxy(made, self._matches, self._checks)


_JOINS = frozenset({"aj", "exact_join", "join", "join_asof", "natural_join", "raj", "range_join"})


def _same_keys(method: str, one: PartitionedTable, other: PartitionedTable) -> None:
    """Refuse partitioned tables of which one has a key that the other lacks."""
    left, right = one.keys().rows(), other.keys().rows()
    for mine, theirs, which in ((left, right, "the other"), (right, left, "this one")):
        lacking = [key for key in mine if key not in theirs]
        if lacking:
            raise ValueError(
                f"{method}: {which} has no constituent of the key {lacking[0]!r}; proxy(require_matching_keys=False) leaves "
                "out keys that one side lacks"
            )


def _in_one_constituent(method: str, target: PartitionedTable, on: list[str]) -> None:
    """Refuse a join whose keys are in several constituents."""
    if set(target.key_columns) <= set(on):
        return
    seen: dict[Any, int] = {}
    for at, table in enumerate(target):
        columns = [name for name in on if name in table.columns]
        for key in table.select(*columns).unique().rows() if columns else []:
            if seen.setdefault(key, at) != at:
                raise ValueError(
                    f"{method}: the key {key!r} of the join is in several constituents, and rows of different constituents do "
                    "not meet; proxy(sanity_check_joins=False) joins each with its own"
                )


@checked
def from_constituent_tables(tables: Sequence[Table]) -> PartitionedTable:
    """A partitioned table of these tables, which have the same columns. It has no key columns.

    >>> import tickframe as tf
    >>> p = tf.from_constituent_tables([tf.table({"x": [1]}), tf.table({"x": [2]})])
    >>> p.transform(lambda t: t.with_columns(y=tf.col("x") * 2)).merge().rows()
    [(1, 2), (2, 4)]

    Args:
        tables: at least one.

    Raises:
        SchemaError: columns that differ.
    """
    natives = _natives("from_constituent_tables", tables)
    return PartitionedTable(_native.partitioned_of("from_constituent_tables", natives))


@checked
def from_partitioned_table(keys: Table, tables: Sequence[Table]) -> PartitionedTable:
    """A partitioned table of these tables, each with its key: a row of a static table.

    >>> import tickframe as tf
    >>> keys = tf.table({"sym": ["A", "B"]})
    >>> p = tf.from_partitioned_table(keys, [tf.table({"x": [1]}), tf.table({"x": [2]})])
    >>> p.get("B").rows()
    [(2,)]

    Args:
        keys: a row for each table; no two are equal.
        tables: as many, of the same columns.

    Raises:
        InvalidOperationError: a live table of keys.
        SchemaError: columns that differ, or another number of tables than of keys.
        DataError: a key that stands twice.
    """
    instance(keys, "from_partitioned_table", "keys", "Table", "a table of keys")
    if keys.is_live:
        raise InvalidOperationError(
            "from_partitioned_table: the tables are fixed, so their keys are: give keys.snapshot()"
        )
    rows = keys.rows()
    twice = next((row for at, row in enumerate(rows) if row in rows[:at]), None)
    if twice is not None:
        raise DataError(f"from_partitioned_table: the key {twice!r} stands twice")
    natives = _natives("from_partitioned_table", tables)
    return PartitionedTable(_native.partitioned_of("from_partitioned_table", natives, keys._native))


def partitioned_agg(table: Table, partition: Partition, keys: list[str], facts: Table | None) -> PartitionedTable:
    """The constituents of a table by these columns, and what was aggregated of them."""
    made = split("partitioned_agg_by", table, keys, not partition.include_by_columns)
    return PartitionedTable(made._native, (partition.column, made.keys() if facts is None else facts))


def _natives(method: str, tables: Any) -> list[_native.Table]:
    if is_table(tables) or not hasattr(tables, "__iter__"):
        raise TypeError(f"{method}: give a list of tables, not {named(tables)}")
    natives: list[_native.Table] = []
    for table in tables:
        instance(table, method, "each of the tables", "Table", "a table")
        natives.append(table._native)
    return natives


def _transformed(
    method: str, of: PartitionedTable, fn: Callable[..., Table], others: list[PartitionedTable], read: Iterable[Table]
) -> PartitionedTable:
    if not callable(fn):
        raise TypeError(f"{method}: fn is a function that makes a table of a table, not {named(fn)}")
    natives: list[_native.Table] = []
    for table in [read] if is_table(read) else read:
        instance(table, method, "dependencies", "Table", "a table or a list of tables")
        natives.append(table._native)
    told: object = getattr(fn, "__qualname__", None)
    name = told if isinstance(told, str) else type(fn).__name__

    def call(tables: list[_native.Table]) -> _native.Table:
        made: object = fn(*(table_of(native) for native in tables))
        if not is_table(made):
            what = "None: does it lack a return?" if made is None else f"{named(made)}, which is no table"
            why: Any = TypeError(f"{method}: {name} gave {what}")
            why._of_what_it_gave = True
            raise why
        return made._native

    return PartitionedTable(of._native.transform(method, name, call, [each._native for each in others], natives))


def split(method: str, table: Table, keys: list[str], drop_keys: bool) -> PartitionedTable:
    """The constituents of a table by these columns."""
    return PartitionedTable(_native.partition_by(method, table._native, keys, drop_keys))
