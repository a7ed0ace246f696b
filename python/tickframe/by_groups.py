"""Operations that give one row a group: `agg_by`, `unique`, and by Deephaven's names one aggregate of every column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

from tickframe import _native
from tickframe.agg import Everywhere
from tickframe.arguments import check_all, text
from tickframe.bounds import group_bounds, warn_of_groups
from tickframe.describe import named, short
from tickframe.errors import DuplicateError
from tickframe.expr import Expr, flatten
from tickframe.functions import col
from tickframe.functions import len as len_
from tickframe.group_by import aggregates, named_groups
from tickframe.handles import itself, table_of
from tickframe.names import names_of
from tickframe.partitioned import Partition, partitioned_agg, split
from tickframe.schema import ColumnNames

if TYPE_CHECKING:
    import datetime
    from collections.abc import Callable, Iterable, Sequence

    from tickframe.arguments import OnError
    from tickframe.bounds import WhenManyHeld
    from tickframe.expr import IntoExpr
    from tickframe.names import Names
    from tickframe.partitioned import PartitionedTable
    from tickframe.table import Table

__all__: list[str] = []


@check_all
class ByGroups:
    """What `Table` has of operations that give one row a group."""

    __slots__ = ()

    def partition_by(self, *keys: Names, drop_keys: bool = False) -> PartitionedTable:
        """A table for each key: a live table of live tables, which come and go with their keys.

        >>> import tickframe as tf
        >>> t = tf.append_table({"sym": str, "px": float}, graph=tf.Graph())
        >>> p = t.partition_by("sym", drop_keys=True)
        >>> _ = t.append({"sym": ["A", "B", "A"], "px": [1.0, 2.0, 3.0]})
        >>> _ = t.graph.step()
        >>> len(p), p.get("A").rows()
        (2, [(1.0,), (3.0,)])

        Args:
            *keys: the columns whose values make a constituent. Null is a value like any other.
            drop_keys: whether constituents are without these columns.

        Raises:
            ColumnNotFoundError: an unknown column.
            InvalidOperationError: a blink table, whose rows live for one step, or no column at all.
            TypeMismatchError: a column of a type of which there is no key.
        """
        return split(
            "partition_by", itself(self), names_of(keys, "partition_by", ColumnNames(itself(self)._native)), drop_keys
        )

    def partitioned_agg_by(
        self, aggs: IntoExpr | Partition | Iterable[IntoExpr | Partition], by: Names
    ) -> PartitionedTable:
        """A table for each key, as `partition_by` makes them, and beside the keys aggregates of their rows.

        >>> import tickframe as tf
        >>> t = tf.table({"sym": ["A", "B", "A"], "px": [1.0, 2.0, 3.0]})
        >>> p = t.partitioned_agg_by([tf.agg.partition("rows"), tf.agg.max_("top = px")], by="sym")
        >>> p.table.rows(), p.get("A").rows()
        ([('A', 3.0), ('B', 2.0)], [('A', 1.0), ('A', 3.0)])

        Args:
            aggs: one `tf.agg.partition`, and aggregates as in `agg_by`; they are the columns of `PartitionedTable.table`.
            by: the columns whose values make a constituent. Null is a value like any other.

        Raises:
            ColumnNotFoundError: an unknown column.
            DuplicateError: a name made twice.
            InvalidOperationError: a blink table, whose rows live for one step, or no column at all.
            ValueError: no `tf.agg.partition`, or several.
        """
        keys = names_of([by], "partitioned_agg_by", ColumnNames(itself(self)._native))
        flat = flatten([aggs])
        partitions = [item for item in flat if isinstance(item, Partition)]
        if len(partitions) != 1:
            raise ValueError(
                f"partitioned_agg_by: give one tf.agg.partition(column), not {len(partitions) or 'none'}; t.agg_by gives "
                "aggregates alone"
            )
        [partition] = partitions
        rest = cast("list[Expr]", [item for item in flat if not isinstance(item, Partition)])
        table = itself(self)
        facts = table.agg_by(rest, by=keys) if rest else None
        taken = keys if facts is None else facts.columns
        if partition.column in taken:
            raise DuplicateError(f"partitioned_agg_by: {partition!r}: there is a column {partition.column!r} beside it")
        return partitioned_agg(table, partition, keys, facts)

    def unique(
        self,
        subset: Names | None = None,
        keep: Literal["first", "last", "any"] = "first",
        *,
        state_ttl: float | str | datetime.timedelta | None = None,
        max_groups: int | None = None,
        when_full: WhenManyHeld = "evict",
        keep_results: bool = False,
    ) -> Table:
        """One row of each distinct combination of values.

        Args:
            subset: the columns that decide; all without it.
            keep: which row stays, ``"first"`` or ``"last"``; ``"any"`` is the first.
            state_ttl: how long after its last row a combination is held, as in `group_by`. One that comes again later is new.
            max_groups: how many combinations are held, as in `group_by`.
            when_full: as in `group_by`.
            keep_results: as in `group_by`. With ``keep="first"`` over a stream the result is then the stream without what came
                again within `state_ttl`.
        """
        if keep not in {"first", "last", "any"}:
            raise ValueError(f'keep must be "first", "last" or "any", not {short(keep)}')
        names = None if subset is None else names_of([subset], "unique", ColumnNames(itself(self)._native))
        bounds = group_bounds("unique", state_ttl, max_groups, when_full, keep_results)
        if bounds is None:
            warn_of_groups("unique", itself(self), 'state_ttl="1h" or max_groups=1_000_000')
        return table_of(_native.unique(itself(self)._native, names, keep == "last", bounds))

    def first_by(self, by: Names) -> Table:
        """The first row of each group; `unique` bounds how many are held."""
        warn_of_groups("first_by", itself(self), 'unique(..., state_ttl="1h") or unique(..., max_groups=1_000_000)')
        return table_of(
            _native.first_by(itself(self)._native, names_of([by], "first_by", ColumnNames(itself(self)._native)))
        )

    def last_by(self, by: Names) -> Table:
        """The last row of each group; ``unique(keep="last")`` bounds how many are held."""
        warn_of_groups("last_by", itself(self), 'unique(..., keep="last", state_ttl="1h") or max_groups=1_000_000')
        return table_of(
            _native.last_by(itself(self)._native, names_of([by], "last_by", ColumnNames(itself(self)._native)))
        )

    def agg_by(
        self,
        aggs: Expr | Iterable[Expr | Iterable[Expr]],
        by: Names | None = None,
        on_error: OnError = "fail",
        *,
        preserve_empty: bool = False,
        initial_groups: Table | None = None,
        state_ttl: float | str | datetime.timedelta | None = None,
        max_groups: int | None = None,
        when_full: WhenManyHeld = "evict",
        keep_results: bool = False,
    ) -> Table:
        """One row a group: aggregates of `tf.agg` or expressions; without `by` one row for the whole table.

        An empty table gives no row; `select` of aggregates always gives one. Over a blink table rows accumulate. A group
        that empties is forgotten; its key comes back at the end.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "b", "a"], "x": [1, 2, 3]})
        >>> t.agg_by([tf.agg.sum_("total = x"), tf.agg.count_("n")], by="k").to_dicts()
        [{'k': 'a', 'total': 4, 'n': 2}, {'k': 'b', 'total': 2, 'n': 1}]

        Groups that are known beforehand stand in the order of their table:

        >>> sides = tf.table({"k": ["c", "b"]})
        >>> t.agg_by(tf.agg.sum_("x"), by="k", initial_groups=sides).rows()
        [('b', 2), ('a', 4)]
        >>> t.agg_by(tf.agg.sum_("x"), by="k", initial_groups=sides, preserve_empty=True).rows()
        [('c', 0), ('b', 2), ('a', 4)]

        Args:
            aggs: aggregates or expressions of them.
            by: key columns.
            on_error: as in `group_by`.
            preserve_empty: whether a group that emptied stays, with what the aggregates make of nothing: memory then goes
                with the keys that ever were. Without `by` there is then a row of an empty table too.
            initial_groups: a static table with the key columns: its groups come first, in its order. With `preserve_empty`
                they are there from the start.
            state_ttl: as in `group_by`, and so the others.
            max_groups: as in `group_by`.
            when_full: as in `group_by`.
            keep_results: as in `group_by`.
        """
        keys = (
            []
            if by is None
            else [col(name)._native for name in names_of([by], "agg_by", ColumnNames(itself(self)._native))]
        )
        bounds = group_bounds("agg_by", state_ttl, max_groups, when_full, keep_results)
        if keys and bounds is None:
            warn_of_groups("agg_by", itself(self), 'state_ttl="1h" or max_groups=1_000_000')
        made = aggregates("agg_by", itself(self), [aggs], {}, groups=keys)
        initial = named_groups("agg_by", initial_groups)
        return table_of(
            _native.aggregate("agg_by", itself(self)._native, keys, made, on_error, preserve_empty, initial, bounds)
        )

    def sum_by(self, by: Names | None = None) -> Table:
        """The sum of each other column, one row a group.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "b", "a"], "x": [1, 2, 3]})
        >>> t.sum_by("k").rows(), t.max_by("k").rows(), t.drop("k").avg_by().rows()
        ([('a', 4), ('b', 2)], [('a', 3), ('b', 2)], [(2.0,)])

        Args:
            by: the columns that make groups; without it there is one row for the whole table, and none of an empty one.
        """
        return _each("sum_by", itself(self), by, Expr.sum)

    def abs_sum_by(self, by: Names | None = None) -> Table:
        """The sum of the absolute values of each other column, one row a group.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "a", "b"], "x": [3, -1, 2]})
        >>> t.abs_sum_by("k").rows()
        [('a', 4), ('b', 2)]

        Args:
            by: as in `sum_by`.
        """
        return _each("abs_sum_by", itself(self), by, Expr.abs_sum)

    def avg_by(self, by: Names | None = None) -> Table:
        """The mean of each other column, one row a group.

        Args:
            by: as in `sum_by`.
        """
        return _each("avg_by", itself(self), by, Expr.mean)

    def min_by(self, by: Names | None = None) -> Table:
        """The least value of each other column, one row a group.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "a", "b"], "x": [3, -1, 2]})
        >>> t.min_by("k").rows()
        [('a', -1), ('b', 2)]

        Args:
            by: as in `sum_by`.
        """
        return _each("min_by", itself(self), by, Expr.min)

    def max_by(self, by: Names | None = None) -> Table:
        """The greatest value of each other column, one row a group.

        Args:
            by: as in `sum_by`.
        """
        return _each("max_by", itself(self), by, Expr.max)

    def median_by(self, by: Names | None = None) -> Table:
        """The value in the middle of each other column, one row a group.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "a", "b"], "x": [3, -1, 2]})
        >>> t.median_by("k").rows()
        [('a', 1.0), ('b', 2.0)]

        Args:
            by: as in `sum_by`.
        """
        return _each("median_by", itself(self), by, Expr.median)

    def std_by(self, by: Names | None = None) -> Table:
        """The standard deviation of each other column, one row a group.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "a", "a", "b"], "x": [1, 3, 5, 2]})
        >>> t.std_by("k").rows()
        [('a', 2.0), ('b', None)]

        Args:
            by: as in `sum_by`.
        """
        return _each("std_by", itself(self), by, Expr.std)

    def var_by(self, by: Names | None = None) -> Table:
        """The variance of each other column, one row a group.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "a", "a", "b"], "x": [1, 3, 5, 2]})
        >>> t.var_by("k").rows()
        [('a', 4.0), ('b', None)]

        Args:
            by: as in `sum_by`.
        """
        return _each("var_by", itself(self), by, Expr.var)

    def agg_all_by(
        self,
        agg: Callable[[Expr], Expr] | Sequence[Expr],
        by: Names | None = None,
        *,
        on_error: OnError = "fail",
    ) -> Table:
        """One aggregate of each other column, one row a group.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "b", "a"], "x": [1, 2, 3], "y": [1.5, None, 2.5]})
        >>> t.agg_all_by(tf.agg.avg(), by="k").rows()
        [('a', 2.0, 2.0), ('b', 2.0, None)]
        >>> t.agg_all_by(lambda x: x.max() - x.min(), by="k").rows()
        [('a', 2, 1.0), ('b', 0, None)]

        Args:
            agg: an aggregate of `tf.agg` without columns, ``tf.agg.avg()``, or a function of a column's expression.
            by: as in `sum_by`.
            on_error: as in `agg_by`.
        """
        aggregate = agg.of if isinstance(agg, Everywhere) else agg
        if not callable(aggregate) or (isinstance(agg, Everywhere) and agg):
            given = "one of columns of its own" if isinstance(agg, Everywhere) else named(agg)
            raise TypeError(f"agg_all_by: agg is an aggregate without columns, tf.agg.avg(), not {given}")
        return _each("agg_all_by", itself(self), by, aggregate, on_error=on_error)

    def count_by(self, col: str, by: Names | None = None) -> Table:
        """How many rows each group has, in a column of this name.

        >>> import tickframe as tf
        >>> tf.table({"k": ["a", "b", "a"]}).count_by("n", "k").rows()
        [('a', 2), ('b', 1)]

        Args:
            col: the name of the new column.
            by: as in `sum_by`.
        """
        text(col, "count_by", "col")
        keys = [] if by is None else names_of([by], "count_by", ColumnNames(itself(self)._native))
        return itself(self).agg_by([len_().alias(col)], keys)

    def weighted_avg_by(self, wcol: str, by: Names | None = None) -> Table:
        """The mean of each other column, weighted by this one, one row a group.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "a"], "x": [10, 20], "size": [3, 1]})
        >>> t.weighted_avg_by("size", "k").rows()
        [('a', 12.5)]

        Args:
            wcol: the column of weights.
            by: as in `sum_by`.
        """
        return _each("weighted_avg_by", itself(self), by, lambda of: of.weighted_mean(col(wcol)), wcol)

    def weighted_sum_by(self, wcol: str, by: Names | None = None) -> Table:
        """The sum of each other column times this one, one row a group.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "a"], "x": [10, 20], "size": [3, 1]})
        >>> t.weighted_sum_by("size", "k").rows()
        [('a', 50.0)]

        Args:
            wcol: the column of weights.
            by: as in `sum_by`.
        """
        return _each("weighted_sum_by", itself(self), by, lambda of: of.weighted_sum(col(wcol)), wcol)


def _each(
    operation: str,
    table: Table,
    by: Names | None,
    aggregate: Callable[[Expr], Expr],
    weight: str | None = None,
    on_error: OnError = "fail",
) -> Table:
    keys = [] if by is None else names_of([by], operation, ColumnNames(table._native))
    left_out = {*keys, weight}
    made = [aggregate(col(name)) for name in table.columns if name not in left_out]
    if not made:
        raise ValueError(f"{operation}: no column is left beside {', '.join(map(repr, keys)) or 'the weights'}")
    return table.agg_by(made, keys, on_error=on_error)
