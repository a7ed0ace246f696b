"""Aggregates: methods of `Expr` that make one value of a group of rows, and that choose the rows of the group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast

from tickframe import _native
from tickframe.arguments import check_all
from tickframe.chosen import Chosen, Order, where

if TYPE_CHECKING:
    from tickframe._native import Expr as NativeExpr
    from tickframe.arithmetic import Text
    from tickframe.expr import Expr, IntoExpr

__all__: list[str] = []


@check_all
class Aggregates:
    """What `Expr` has of aggregates."""

    __slots__ = ()

    if TYPE_CHECKING:
        _native: NativeExpr

        @staticmethod
        def _of(native: NativeExpr) -> Expr: ...

        @staticmethod
        def _from(item: object, operation: Text) -> Expr: ...

        @staticmethod
        def _value(item: object, operation: Text) -> Expr: ...

    def _aggregate(self, name: Text, **options: Any) -> Expr:
        return self._of(_native.Expr.aggregate(name, [self._native], **options))

    def sum(self, *, min_count: int = 0) -> Expr:
        """The sum of the values that are not null; null if there are fewer than `min_count`."""
        return self._aggregate("sum", min_count=min_count)

    def mean(self) -> Expr:
        """The mean of the values that are not null; null if there are none."""
        return self._aggregate("mean")

    def min(self) -> Expr:
        """The least value; NaN only if nothing else is there."""
        return self._aggregate("min")

    def max(self) -> Expr:
        """The greatest value; NaN only if nothing else is there."""
        return self._aggregate("max")

    def nan_min(self) -> Expr:
        """The least value; NaN if there is one."""
        return self._aggregate("nan_min")

    def nan_max(self) -> Expr:
        """The greatest value; NaN if there is one."""
        return self._aggregate("nan_max")

    def std(self, ddof: int = 1) -> Expr:
        """The standard deviation; null for one value with ``ddof=1``."""
        return self._aggregate("std", ddof=ddof)

    def var(self, ddof: int = 1) -> Expr:
        """The variance; null for one value with ``ddof=1``."""
        return self._aggregate("var", ddof=ddof)

    def count(self) -> Expr:
        """How many values are not null."""
        return self._aggregate("count")

    def len(self) -> Expr:
        """How many rows there are, nulls included."""
        return self._of(_native.Expr.aggregate("len", [])).alias(self._native.output_name())

    def n_unique(self) -> Expr:
        """How many distinct values there are; null counts as one, NaN as one, both zeros as one.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "a", "b"], "x": [1, 1, None]})
        >>> t.group_by("k").agg(n=tf.col("x").n_unique(), d=tf.col("x").count_distinct()).to_dicts()
        [{'k': 'a', 'n': 1, 'd': 1}, {'k': 'b', 'n': 1, 'd': 0}]

        Raises:
            TypeMismatchError: maps and unions, whose values cannot be told apart.
        """
        return self._aggregate("n_unique")

    def count_distinct(self) -> Expr:
        """How many distinct values there are, without null."""
        return self._aggregate("count_distinct")

    def median(self) -> Expr:
        """The value in the middle, a Float64: of two the mean; NaN is the greatest. Of dates and texts the lower one.

        >>> import tickframe as tf
        >>> t = tf.table({"x": [1, 2, 4, 100, None]})
        >>> t.select(m=tf.col("x").median(), q=tf.col("x").quantile(0.9)).to_dict()
        {'m': [3.0], 'q': [100.0]}

        Raises:
            TypeMismatchError: values without an order.
        """
        return self._aggregate("median")

    def quantile(
        self,
        quantile: float,
        interpolation: Literal["nearest", "lower", "higher", "midpoint", "linear"] = "nearest",
    ) -> Expr:
        """The value at a part of the way from the least to the greatest, a Float64; null of no value.

        Args:
            quantile: from 0, the least, to 1, the greatest.
            interpolation: what is taken between two values; ``"nearest"`` takes the later in the middle. Of dates,
                texts and other values that are no numbers ``"nearest"``, ``"lower"`` or ``"higher"``.

        Raises:
            TypeMismatchError: values without an order, or nothing between two of them.
            ValueError: a part beyond 0 and 1.
        """
        return self._aggregate("quantile", quantile=quantile, interpolation=interpolation)

    def approx_quantile(self, quantile: float) -> Expr:
        """About the value at a part of the way from the least to the greatest, off by less than 1/512 of itself: a Float64.

        It is of the nearest rank, whatever the values and their order. What is kept of a group does not grow with its rows, and
        a row that leaves is taken away again.

        >>> import tickframe as tf
        >>> t = tf.table({"x": list(range(1, 1001))})
        >>> t.select(tf.col("x").approx_quantile(0.9)).to_dict()
        {'x': [901.0]}

        Args:
            quantile: from 0, the least, to 1, the greatest.

        Raises:
            TypeMismatchError: values that are no numbers.
            ValueError: a part beyond 0 and 1.
        """
        return self._aggregate("approx_quantile", quantile=quantile)

    def approx_n_unique(self) -> Expr:
        """About how many distinct values there are; null counts as one. The standard error is 1.6%; up to 512 are counted.

        At most 4 KiB are kept of a group, from which no value can be taken away.

        >>> import tickframe as tf
        >>> tf.table({"x": [1, 2, 2, None]}).select(tf.col("x").approx_n_unique()).to_dict()
        {'x': [3]}

        Raises:
            InvalidOperationError: a live table whose rows may leave or change; `n_unique` takes it.
            TypeMismatchError: maps and unions, whose values cannot be told apart.
        """
        return self._aggregate("approx_n_unique")

    def freeze(self) -> Expr:
        """The value that the first row had as the group came; it stays as it is while the group has rows.

        >>> import tickframe as tf
        >>> t = tf.keyed_table({"id": int, "k": str, "price": float}, key="id", graph=tf.Graph(period=None))
        >>> opened = t.group_by("k").agg(tf.col("price").freeze(), now=tf.col("price").first())
        >>> for price in (10.0, 11.0):
        ...     _ = t.upsert({"id": [1], "k": ["a"], "price": [price]}), t.graph.step()
        >>> opened.to_dicts()
        [{'k': 'a', 'price': 10.0, 'now': 11.0}]
        """
        return self._aggregate("freeze")

    def product(self) -> Expr:
        """The product of the values that are not null; null if there are none. Integers wrap.

        >>> import tickframe as tf
        >>> tf.table({"x": [2, None, -3]}).select(tf.col("x").product()).to_dict()
        {'x': [-6]}
        """
        return self._aggregate("product")

    def skew(self, *, bias: bool = True) -> Expr:
        """How far the values lean to one side: their third central moment, in standard deviations. A changed group is read again.

        Null of no value, NaN of values that are all the same, and where one is NaN or infinite.

        >>> import tickframe as tf
        >>> tf.table({"x": [1, 2, 4, 4, 9]}).select(tf.col("x").skew().round(6)).to_dict()
        {'x': [0.859117]}

        Args:
            bias: whether it is of these values alone; with ``False`` an estimate of that of all from which they were drawn,
                null of fewer than 3.
        """
        return self._aggregate("skew", bias=bias)

    def kurtosis(self, *, fisher: bool = True, bias: bool = True) -> Expr:
        """How heavy the tails of the values are: their fourth central moment over the square of their variance, less 3.

        Null of no value, NaN of values that are all the same, and where one is NaN or infinite. A changed group is read again.

        >>> import tickframe as tf
        >>> tf.table({"x": [1, 2, 4, 9]}).select(a=tf.col("x").kurtosis(), b=tf.col("x").kurtosis(fisher=False)).to_dicts()
        [{'a': -1.0, 'b': 2.0}]

        Args:
            fisher: whether that of the normal distribution, 3, is subtracted.
            bias: whether it is of these values alone; with ``False`` an estimate of that of all from which they were drawn,
                null of fewer than 4.
        """
        return self._aggregate("kurtosis", fisher=fisher, bias=bias)

    def implode(self) -> Expr:
        """All values in the order of their rows, null or not, as a list. A changed group is read again.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "b", "a"], "x": [3, None, 1]})
        >>> t.group_by("k").agg(tf.col("x").implode()).to_dicts()
        [{'k': 'a', 'x': [3, 1]}, {'k': 'b', 'x': [None]}]

        Raises:
            InvalidOperationError: a blink table, of which the list would grow for ever.
        """
        return self._aggregate("implode")

    def arg_min(self) -> Expr:
        """The place among the rows, from 0, of the least value, the first of equals; null of no value."""
        return self._aggregate("arg_min")

    def arg_max(self) -> Expr:
        """The place among the rows, from 0, of the greatest value, the first of equals; null of no value."""
        return self._aggregate("arg_max")

    def first(self, *, order_by: IntoExpr | None = None, descending: bool = False, nulls_last: bool = False) -> Expr:
        """The value of the first row, null or not; with `order_by` of the row that comes first in that order.

        >>> import tickframe as tf
        >>> t = tf.table({"x": ["a", "b", "c"], "t": [2, 1, 1]})
        >>> t.select(a=tf.col("x").first(), b=tf.col("x").first(order_by="t"), c=tf.col("x").last(order_by="t")).to_dicts()
        [{'a': 'a', 'b': 'b', 'c': 'a'}]

        Args:
            order_by: a column or an expression; rows that compare equal come as they stand in the table.
            descending: the greatest first.
            nulls_last: nulls last, not first.
        """
        if order_by is None:
            return self._aggregate("first")
        return self._ordered(order_by, descending, nulls_last, 0)

    def last(self, *, order_by: IntoExpr | None = None, descending: bool = False, nulls_last: bool = False) -> Expr:
        """The value of the last row, null or not; with `order_by` of the row that comes last in that order."""
        if order_by is None:
            return self._aggregate("last")
        return self._ordered(order_by, descending, nulls_last, -1)

    def _ordered(self, order_by: object, descending: bool, nulls_last: bool, place: int) -> Expr:
        if isinstance(order_by, (tuple, set)) or type(order_by).__name__ == "list":
            raise TypeError(
                "order_by of first and last is one column or expression; for several sort the table first: "
                "t.sort([...]).group_by(...).agg(col(...).first())"
            )
        places = Order(self._from(order_by, "order_by"), descending, nulls_last).places()
        return self.implode().list.get(places.list.get(place))

    def abs_sum(self) -> Expr:
        """The sum of the values without their signs; of nothing, 0."""
        return _itself(self).abs().sum()

    def weighted_sum(self, weight: IntoExpr) -> Expr:
        """The sum of each value times its weight, a Float64; pairs with a null are left out, of no pair it is null.

        Args:
            weight: a column or an expression.
        """
        return (_itself(self).cast("float64") * self._from(weight, "weighted_sum")).sum(min_count=1)

    def weighted_mean(self, weight: IntoExpr) -> Expr:
        """The mean in which each value counts as much as its weight; pairs with a null are left out, of none it is null.

        >>> import tickframe as tf
        >>> t = tf.table({"price": [10, 20, None], "size": [3, 1, 5]})
        >>> t.select(vwap=tf.col("price").weighted_mean("size")).to_dict()
        {'vwap': [12.5]}

        Args:
            weight: a column or an expression.
        """
        weights = self._from(weight, "weighted_mean")
        return self.weighted_sum(weights) / where(_itself(self).is_not_null(), weights).sum()

    def weighted_var(self, weight: IntoExpr) -> Expr:
        """The variance in which each value counts as much as its weight; equal weights give `var`.

        Pairs with a null are left out; of fewer than two it is null. It is NaN where weights leave nothing to divide by (all
        but one are 0), and where a value or a weight is NaN, infinite or beyond 1e60.

        >>> import tickframe as tf
        >>> t = tf.table({"x": [1.0, 2.0, 4.0, None], "w": [2, 1, 1, 9]})
        >>> t.select(v=tf.col("x").weighted_var("w"), s=tf.col("x").weighted_std("w")).to_dicts()
        [{'v': 2.4, 's': 1.5491933384829668}]

        Args:
            weight: a column or an expression of numbers.

        Raises:
            TypeMismatchError: values or weights that are no numbers.
        """
        return self._weighted("weighted_var", weight)

    def weighted_std(self, weight: IntoExpr) -> Expr:
        """The standard deviation in which each value counts as much as its weight, as `weighted_var` has it.

        Args:
            weight: a column or an expression of numbers.
        """
        return self._weighted("weighted_std", weight)

    def _weighted(self, name: Text, weight: object) -> Expr:
        return self._of(_native.Expr.aggregate(name, [self._native, self._from(weight, name)._native]))

    def count_where(self, predicate: IntoExpr) -> Expr:
        """In how many rows `predicate` is true, under the name of this column.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "a", "b"], "x": [1, 5, None]})
        >>> t.group_by("k").agg(big=tf.col("x").count_where(tf.col("x") > 3)).to_dicts()
        [{'k': 'a', 'big': 1}, {'k': 'b', 'big': 0}]

        Args:
            predicate: a Boolean column or expression.
        """
        return self._counted(self._from(predicate, "count_where"))

    def _counted(self, predicate: Expr) -> Expr:
        counted = where(predicate, self._of(_native.Expr.literal(True))).count()
        return counted.alias(self._native.output_name())

    def null_count(self) -> Expr:
        """How many values are null.

        >>> import tickframe as tf
        >>> tf.table({"x": [1, None, None]}).select(tf.col("x").null_count()).to_dict()
        {'x': [2]}
        """
        return self._counted(_itself(self).is_null())

    def any(self, *, ignore_nulls: bool = True) -> Expr:
        """Whether any value is true; of nothing, false.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "a", "b"], "late": [True, None, False]})
        >>> t.group_by("k").agg(any=tf.col("late").any(), all=tf.col("late").all()).to_dicts()
        [{'k': 'a', 'any': True, 'all': True}, {'k': 'b', 'any': False, 'all': False}]

        Args:
            ignore_nulls: whether a null counts as if it were not there; else it is unknown, and where it decides the
                result is null.
        """
        return self._of_truth(decisive=True, ignore_nulls=ignore_nulls)

    def all(self, *, ignore_nulls: bool = True) -> Expr:
        """Whether all values are true; of nothing, true.

        Args:
            ignore_nulls: as in `any`.
        """
        return self._of_truth(decisive=False, ignore_nulls=ignore_nulls)

    def _of_truth(self, *, decisive: bool, ignore_nulls: bool) -> Expr:
        """Whether the decisive value is there, or, of false, is not."""
        value = _itself(self)
        decided = self._counted(value if decisive else ~value) > 0
        found = decided if decisive else ~decided
        if ignore_nulls:
            return found
        unknown = where(~(self.null_count() > 0) | decided, found)
        return unknown.alias(self._native.output_name())

    def only(self, sentinel: object = None) -> Expr:
        """The one distinct value there is, nulls left out; `sentinel` if there are several, null if there is none.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "a", "b", "b"], "x": [1, None, 2, 3]})
        >>> t.group_by("k").agg(tf.col("x").only(sentinel=-1)).to_dicts()
        [{'k': 'a', 'x': 1}, {'k': 'b', 'x': -1}]

        Args:
            sentinel: what stands for several values.
        """
        distinct = self.count_distinct()
        only = where(distinct == 1, self.min())._native
        return self._of(_native.Expr.when(only, (distinct > 1)._native, self._value(sentinel, "only")._native))

    # Which rows of the group ------------------------------------------------------------------------------

    def filter(self, *predicates: IntoExpr) -> Chosen:
        """The values of the rows of the group for which every predicate is true, for the aggregate that follows.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "a", "b"], "side": ["buy", "sell", "sell"], "size": [1, 5, 7]})
        >>> bought = tf.col("size").filter(tf.col("side") == "buy")
        >>> t.group_by("k").agg(n=bought.len(), bought=bought.sum(), first=bought.first()).to_dicts()
        [{'k': 'a', 'n': 1, 'bought': 1, 'first': 1}, {'k': 'b', 'n': 0, 'bought': 0, 'first': None}]

        Args:
            *predicates: Boolean columns or expressions; null counts as false. Rows of a table are `Table.filter`.
        """
        return Chosen(_itself(self)).filter(*predicates)

    def drop_nulls(self) -> Chosen:
        """The values that are not null, for the aggregate that follows: ``col("x").drop_nulls().last()``."""
        return Chosen(_itself(self)).filter(_itself(self).is_not_null())

    def drop_nans(self) -> Chosen:
        """The values that are not NaN, nulls included, for the aggregate that follows."""
        return Chosen(_itself(self)).filter(_itself(self).is_not_nan().fill_null(value=True))

    def sort_by(self, by: IntoExpr, *more_by: IntoExpr, descending: bool = False, nulls_last: bool = False) -> Chosen:
        """The values of the group in the order of another column, for the `first`, `last` or `implode` that follows.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "a", "a"], "x": ["p", "q", "r"], "at": [2, 1, 3]})
        >>> ordered = tf.col("x").sort_by("at")
        >>> t.group_by("k").agg(first=ordered.first(), all=ordered.implode()).to_dicts()
        [{'k': 'a', 'first': 'q', 'all': ['q', 'p', 'r']}]

        Args:
            by: a column or an expression; rows that compare equal come as they stand in the table.
            *more_by: there is one order as yet; for several columns sort the table first.
            descending: the greatest first.
            nulls_last: nulls last, not first.
        """
        return Chosen(_itself(self)).sort_by(by, *more_by, descending=descending, nulls_last=nulls_last)


def _itself(of: Aggregates) -> Expr:
    """The expression that these methods are of."""
    return cast("Expr", of)
