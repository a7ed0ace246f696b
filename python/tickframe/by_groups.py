"""One aggregate of every column, by Deephaven's names: `sum_by` and its like. Each follows its table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tickframe.agg import Everywhere
from tickframe.arguments import check_all, text
from tickframe.describe import named
from tickframe.expr import Expr
from tickframe.functions import col
from tickframe.functions import len as len_
from tickframe.handles import itself
from tickframe.names import names_of
from tickframe.partitioned import split

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tickframe.arguments import OnError
    from tickframe.names import Names
    from tickframe.partitioned import PartitionedTable
    from tickframe.table import Table

__all__: list[str] = []


@check_all
class ByGroups:
    """What `Table` has of operations that give one row a group, with one aggregate of every other column."""

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
        return split("partition_by", itself(self), names_of(keys, "partition_by"), drop_keys)

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

        Args:
            by: as in `sum_by`.
        """
        return _each("median_by", itself(self), by, Expr.median)

    def std_by(self, by: Names | None = None) -> Table:
        """The standard deviation of each other column, one row a group.

        Args:
            by: as in `sum_by`.
        """
        return _each("std_by", itself(self), by, Expr.std)

    def var_by(self, by: Names | None = None) -> Table:
        """The variance of each other column, one row a group.

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
        keys = [] if by is None else names_of([by], "count_by")
        return itself(self).agg_by([len_().alias(col)], keys)

    def weighted_avg_by(self, wcol: str, by: Names | None = None) -> Table:
        """The mean of each other column, weighted by this one, one row a group.

        Args:
            wcol: the column of weights.
            by: as in `sum_by`.
        """
        return _each("weighted_avg_by", itself(self), by, lambda of: of.weighted_mean(col(wcol)), wcol)

    def weighted_sum_by(self, wcol: str, by: Names | None = None) -> Table:
        """The sum of each other column times this one, one row a group.

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
    keys = [] if by is None else names_of([by], operation)
    left_out = {*keys, weight}
    made = [aggregate(col(name)) for name in table.columns if name not in left_out]
    if not made:
        raise ValueError(f"{operation}: no column is left beside {', '.join(map(repr, keys)) or 'the weights'}")
    return table.agg_by(made, keys, on_error=on_error)
