"""Groups of a table, on their way to aggregates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from tickframe import _native, describe, formulas
from tickframe.arguments import check_all
from tickframe.bounds import warn_of_groups
from tickframe.describe import short
from tickframe.errors import ColumnNotFoundError, InvalidOperationError
from tickframe.expr import Expr, flatten, spread
from tickframe.functions import col
from tickframe.functions import len as len_
from tickframe.handles import is_table, table_of
from tickframe.hints import GROUPS, unknown
from tickframe.order import of_groups
from tickframe.partitioned import Partition
from tickframe.schema import ColumnNames

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tickframe.arguments import OnError
    from tickframe.expr import IntoExpr
    from tickframe.table import Table

__all__ = ["GroupBy"]


@check_all
class GroupBy:
    """Groups of a table, as `Table.group_by` gives them."""

    __slots__ = ("_bounds", "_initial", "_keys", "_on_error", "_preserve_empty", "_table")

    def __init__(
        self,
        table: Table,
        keys: list[Expr],
        on_error: OnError,
        preserve_empty: bool = False,
        initial_groups: Table | None = None,
        bounds: str | None = None,
    ) -> None:
        self._table = table
        self._keys = keys
        self._on_error: OnError = on_error
        self._preserve_empty = preserve_empty
        self._initial = named_groups("group_by", initial_groups)
        self._bounds = bounds

    def __repr__(self) -> str:
        keys = ", ".join(str(key) for key in self._keys)
        return f"GroupBy({keys}): say what to compute of each group, .agg(tf.col(name).sum()), .len() …"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            raise AttributeError(
                f"groups have no {name!r}{unknown(name, 'groups', GROUPS, dir(type(self)))}; say what to compute of each group, "
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
        """One row a group, with these aggregates: ``col("x").sum().alias("total")`` or ``total=col("x").sum()``.

        What an aggregate is of may be made of other rows: those of the group.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "b", "a", "b"], "x": [1, 10, 3, 15]})
        >>> x = tf.col("x")
        >>> t.group_by("k").agg(step=x.diff().max(), off=(x - x.mean()).max()).rows()
        [('a', 2, 1.0), ('b', 5, 2.5)]
        """
        native = self._table._native
        keys = [formulas.bind(key, native, "group_by") for key in self._keys]
        taken = {key.bare_column() for key in keys}
        columns = [name for name in self._table.columns if name not in taken]
        made = aggregates("agg", self._table, aggs, named, columns, keys)
        standing = (self._preserve_empty, self._initial, self._bounds)
        if keys and self._bounds is None:
            warn_of_groups("group_by", self._table, 'state_ttl="1h" or max_groups=1_000_000')
        return table_of(_native.aggregate("group_by", native, keys, made, self._on_error, *standing))

    def _all(self, aggregate: Callable[[Expr], Expr]) -> Table:
        keys = {key._native.output_name() for key in self._keys}
        return self.agg(*(aggregate(col(name)) for name in self._table.columns if name not in keys))

    def head(self, n: int = 5) -> Table:
        """The first `n` rows of each group, as `Table.head_by` gives them; computed keys are columns of the result.

        >>> import tickframe as tf
        >>> tf.table({"x": [1, 2, 3, 4]}).group_by(odd=tf.col("x") % 2).head(1).rows()
        [(1, 1), (0, 2)]

        Args:
            n: how many of each group.
        """
        table, keys = self._keyed()
        return of_groups(table, "head", n, keys, "first")

    def tail(self, n: int = 5) -> Table:
        """The last `n` rows of each group, as `Table.tail_by` gives them; computed keys are columns of the result.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "a", "b"], "x": [3, 1, 2]})
        >>> t.group_by("k").tail(1).rows()
        [('a', 1), ('b', 2)]

        Args:
            n: how many of each group.
        """
        table, keys = self._keyed()
        return of_groups(table, "tail", n, keys, "last")

    def _keyed(self) -> tuple[Table, list[str]]:
        """The table with the keys as columns, and their names."""
        if self._bounds is not None:
            raise ValueError(
                "state_ttl and max_groups are of aggregates, one row a group; head and tail give rows of the table"
            )
        if self._preserve_empty or self._initial is not None:
            raise ValueError(
                "preserve_empty and initial_groups are of aggregates, one row a group; head and tail give rows of the table"
            )
        names = [key._native.output_name() for key in self._keys]
        bare = [key._native.bare_column() for key in self._keys]
        if bare == names:
            return self._table, names
        return self._table.with_columns(*self._keys, on_error=self._on_error), names

    def all(self) -> Table:
        """All values of each other column, in the order of their rows, as lists.

        >>> import tickframe as tf
        >>> tf.table({"k": ["a", "b", "a"], "x": [1, 2, 3]}).group_by("k").all().rows()
        [('a', [1, 3]), ('b', [2])]
        """
        return self._all(Expr.implode)

    def len(self, name: str = "len") -> Table:
        """How many rows each group has.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "a", "b"], "x": [3, 1, 2]})
        >>> t.group_by("k").len().rows()
        [('a', 2), ('b', 1)]
        """
        return self.agg(len_().alias(name))

    def count(self) -> Table:
        """How many values of each other column are not null.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "a", "b"], "x": [3, 1, 2]})
        >>> t.group_by("k").count().rows()
        [('a', 2), ('b', 1)]
        """
        return self._all(Expr.count)

    def sum(self) -> Table:
        """The sum of each other column.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "a", "b"], "x": [3, 1, 2]})
        >>> t.group_by("k").sum().rows()
        [('a', 4), ('b', 2)]
        """
        return self._all(Expr.sum)

    def mean(self) -> Table:
        """The mean of each other column.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "a", "b"], "x": [3, 1, 2]})
        >>> t.group_by("k").mean().rows()
        [('a', 2.0), ('b', 2.0)]
        """
        return self._all(Expr.mean)

    def min(self) -> Table:
        """The least value of each other column.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "a", "b"], "x": [3, 1, 2]})
        >>> t.group_by("k").min().rows()
        [('a', 1), ('b', 2)]
        """
        return self._all(Expr.min)

    def max(self) -> Table:
        """The greatest value of each other column.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "a", "b"], "x": [3, 1, 2]})
        >>> t.group_by("k").max().rows()
        [('a', 3), ('b', 2)]
        """
        return self._all(Expr.max)

    def std(self, ddof: int = 1) -> Table:
        """The standard deviation of each other column.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "a", "a", "b"], "x": [1, 3, 5, 2]})
        >>> t.group_by("k").std().rows()
        [('a', 2.0), ('b', None)]
        """
        return self._all(lambda of: of.std(ddof))

    def var(self, ddof: int = 1) -> Table:
        """The variance of each other column.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "a", "a", "b"], "x": [1, 3, 5, 2]})
        >>> t.group_by("k").var().rows()
        [('a', 4.0), ('b', None)]
        """
        return self._all(lambda of: of.var(ddof))

    def product(self) -> Table:
        """The product of each other column.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "a", "b"], "x": [3, 1, 2]})
        >>> t.group_by("k").product().rows()
        [('a', 3), ('b', 2)]
        """
        return self._all(Expr.product)

    def median(self) -> Table:
        """The value in the middle of each other column.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "a", "b"], "x": [3, 1, 2]})
        >>> t.group_by("k").median().rows()
        [('a', 2.0), ('b', 2.0)]
        """
        return self._all(Expr.median)

    def quantile(
        self,
        quantile: float,
        interpolation: Literal["nearest", "lower", "higher", "midpoint", "linear"] = "nearest",
    ) -> Table:
        """The value of each other column at a part of the way from the least to the greatest.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "a", "a", "b"], "x": [1, 3, 5, 2]})
        >>> t.group_by("k").quantile(0.5).rows()
        [('a', 3.0), ('b', 2.0)]
        """
        return self._all(lambda of: of.quantile(quantile, interpolation))

    def n_unique(self) -> Table:
        """How many distinct values each other column has; null counts as one.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "a", "b"], "x": [3, 1, 2]})
        >>> t.group_by("k").n_unique().rows()
        [('a', 2), ('b', 1)]
        """
        return self._all(Expr.n_unique)

    def first(self) -> Table:
        """The first value of each other column.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "a", "b"], "x": [3, 1, 2]})
        >>> t.group_by("k").first().rows()
        [('a', 3), ('b', 2)]
        """
        return self._all(Expr.first)

    def last(self) -> Table:
        """The last value of each other column.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "a", "b"], "x": [3, 1, 2]})
        >>> t.group_by("k").last().rows()
        [('a', 1), ('b', 2)]
        """
        return self._all(Expr.last)


def named_groups(operation: str, groups: Table | None) -> _native.Table | None:
    """The table of `initial_groups`."""
    if groups is None:
        return None
    if not is_table(groups):
        raise TypeError(f"{operation}: initial_groups is a table with the key columns, not {describe.named(groups)}")
    return groups._native


def aggregates(
    operation: str,
    table: Table,
    items: Iterable[object],
    named: Mapping[str, object],
    columns: Sequence[str] | None = None,
    groups: Sequence[_native.Expr] | None = None,
    *,
    in_windows: bool = False,
) -> list[_native.Expr]:
    """The aggregates given to `agg`, `columns` being those that `tf.all()` means; what pandas would take is told.

    What an aggregate is of may read other rows: those of the group, whose keys are `groups`; without them those of the table.
    In windows it may not.
    """
    flat = flatten(items)
    for item in (*flat, *named.values()):
        if isinstance(item, Partition):
            raise InvalidOperationError(
                f"{operation}: {item!r} is a table, which is no value of a column; t.partitioned_agg_by([...], by=...) gives the "
                "rows of each group as a table, and aggregates beside their keys"
            )
    for name, item in named.items():
        if isinstance(item, str) and item not in table.columns and hasattr(Expr, item):
            error = ColumnNotFoundError(
                f"{operation}: {name}={item!r} is the column {item!r}, which the table has not; write "
                f"{name}=tf.col({name!r}).{item}()"
            )
            error.column, error.columns = item, table.columns
            raise error
    made = spread(flat, named, ColumnNames(table._native, columns), operation)
    bound = [(_within(_of_lists(each, table, operation), groups, operation, in_windows), name) for each, name in made]
    return [each if name is None else each.alias(name) for each, name in bound]


def _within(
    made: _native.Expr, groups: Sequence[_native.Expr] | None, operation: str, in_windows: bool
) -> _native.Expr:
    """The aggregate, what it is of reading rows of the group alone."""
    if not made.aggregates_other_rows():
        return made
    if in_windows:
        raise InvalidOperationError(
            f"{operation}: {made.text()} aggregates what is made of several rows, which is not available within windows; make it a "
            "column before, with_columns(name=...), and say there of which groups it is: .over(keys)"
        )
    return made if groups is None else made.of_groups(list(groups))


def _of_lists(item: Expr, table: Table, operation: str) -> _native.Expr:
    """A formula over groups is read for lists of the table's columns."""
    if not isinstance(item, formulas.OverGroups):
        return item._native
    return formulas.bind(item, of_lists(operation, table._native), operation)


def of_lists(operation: str, table: _native.Table) -> _native.Table:
    """A table whose columns are lists of those of another, without rows."""
    lists = [col(name).implode()._native for name in table.column_names()]
    return _native.columns(operation, _native.without_rows(table), lists, None, "stored", False)
