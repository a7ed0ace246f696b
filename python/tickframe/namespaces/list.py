"""Functions of lists: ``col("x").list``.

>>> import tickframe as tf
>>> t = tf.table({"s": ["b,a,b", None], "p": [{"x": 1, "y": 2.5}, {"x": 3, "y": None}]})
>>> parts = tf.col("s").str.split(",")
>>> t.select(n=parts.list.len(), all=parts.list.unique().list.sort().list.join("+")).to_dicts()
[{'n': 3, 'all': 'a+b'}, {'n': None, 'all': None}]
>>> t.select(tf.col("p").struct.field("y").alias("y")).to_dict()
{'y': [2.5, None]}

Arithmetic goes element by element, of lists of equal length and of a list and a value:

>>> v = tf.table({"a": [[1, 2], [3]], "b": [[10, 20], [30]], "n": [2, 3]})
>>> v.select(c=tf.col("a") + tf.col("b"), d=tf.col("a") * tf.col("n")).to_dicts()
[{'c': [11, 22], 'd': [2, 4]}, {'c': [33], 'd': [9]}]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tickframe import _native
from tickframe.arguments import check_all
from tickframe.chosen import Chosen
from tickframe.namespaces import Namespace

if TYPE_CHECKING:
    from tickframe.expr import Expr, IntoExpr

__all__ = ["ListNamespace"]


@check_all
class ListNamespace(Namespace):
    """Functions of lists: ``col("x").list``. A null list stays null; reductions leave null elements out."""

    __slots__ = ()
    _PREFIX = "list"

    def len(self) -> Expr:
        """How many elements, nulls counted."""
        return self._call("len")

    def get(self, index: object) -> Expr:
        """The element at a place, from the end if negative; null outside the list."""
        return self._call("get", index)

    def gather(self, indices: object) -> Expr:
        """The elements at the places of another list, from the end if negative; null for a place outside the list.

        >>> import tickframe as tf
        >>> t = tf.table({"v": [[30, 10, 20]], "at": [[2, 0, 9]]})
        >>> t.select(a=tf.col("v").list.gather([-1, 0]), b=tf.col("v").list.gather(tf.col("at"))).to_dicts()
        [{'a': [20, 30], 'b': [20, 30, None]}]

        Args:
            indices: a list of places, or an expression of lists.
        """
        if isinstance(indices, (list, tuple)):
            indices = self._expr._of(_native.Expr.values(indices, "list.gather"))
        return self._call("gather", indices)

    def eval(self, expr: IntoExpr | Chosen) -> Expr:
        """What an expression of `tf.element` makes of the elements of each list, as polars has it.

        A value for each element is a list as long as the list; one value, of an aggregate, a list of one element. The elements of
        a list are one group, in their order: ``tf.element().sum()`` is of the list, ``shift`` and ``cum_sum`` stay within it.

        >>> import tickframe as tf
        >>> t = tf.table({"v": [[3, 1, 2], [], None, [5]]})
        >>> v, x = tf.col("v").list, tf.element()
        >>> t.select(twice=v.eval(x * 2), off=v.eval(x - x.min()))["twice"].to_list()
        [[6, 2, 4], [], None, [10]]
        >>> t.select(v.eval(x.filter(x > 1)))["v"].to_list(), t.select(v.eval(x.rank()))["v"].to_list()
        ([[3, 2], [], None, [5]], [[3.0, 1.0, 2.0], [], None, [1.0]])

        Args:
            expr: an expression of `tf.element` and of values, or some elements: ``element().filter(...)``,
                ``element().sort_by(...)``.

        Raises:
            InvalidOperationError: an expression that reads columns, other tables, or a function of yours.
            DataError: an element of which there is no value; its row and its place are named.
        """
        if isinstance(expr, Chosen):
            if expr._order is None and expr._where is not None:
                return self._expr._of(self._expr._native.list_eval(expr._value._native, expr._where._native))
            return self.eval(expr.implode()).list.first()
        return self._expr._of(self._expr._native.list_eval(self._expr._from(expr, "list.eval")._native, None))

    def first(self) -> Expr:
        """The first element."""
        return self._call("first")

    def last(self) -> Expr:
        """The last element."""
        return self._call("last")

    def slice(self, offset: object, length: object = None) -> Expr:
        """`length` elements from `offset`, which counts from the end if negative; the rest without a length, or a negative one."""
        return self._call("slice", offset) if length is None else self._call("slice", offset, length)

    def head(self, n: object = 5) -> Expr:
        """The first `n` elements; all of them if `n` is negative, as in polars."""
        return self._call("head", n)

    def tail(self, n: object = 5) -> Expr:
        """The last `n` elements; if `n` is negative all but the first so many."""
        return self._call("tail", n)

    def sum(self) -> Expr:
        """The sum; of nothing, 0."""
        return self._call("sum")

    def mean(self) -> Expr:
        """The mean; of nothing, null."""
        return self._call("mean")

    def min(self) -> Expr:
        """The least element; NaN only where nothing else is."""
        return self._call("min")

    def max(self) -> Expr:
        """The greatest element; NaN only where nothing else is."""
        return self._call("max")

    def contains(self, item: object) -> Expr:
        """Whether `item` is one of the elements; null is in nothing."""
        return self._call("contains", item)

    def join(self, separator: object) -> Expr:
        """The strings with `separator` between them; nulls are left out."""
        return self._call("join", separator)

    def sort(self, *, descending: bool = False, nulls_last: bool = False) -> Expr:
        """The elements in order."""
        return self._call("sort", descending=descending, nulls_last=nulls_last)

    def arg_sort(self, *, descending: bool = False, nulls_last: bool = False) -> Expr:
        """The places of the elements in order, from 0; equal ones as they stand."""
        return self._call("arg_sort", descending=descending, nulls_last=nulls_last)

    def unique(self) -> Expr:
        """Each distinct element once, where it first stands."""
        return self._call("unique")

    def reverse(self) -> Expr:
        """The elements in the opposite order."""
        return self._call("reverse")

    def drop_nulls(self) -> Expr:
        """The elements that are not null."""
        return self._call("drop_nulls")

    def count(self) -> Expr:
        """How many elements are not null."""
        return self._call("count")

    def count_positive(self) -> Expr:
        """How many elements are greater than 0; NaN is not."""
        return self._call("count_positive")

    def count_negative(self) -> Expr:
        """How many elements are less than 0; NaN is not."""
        return self._call("count_negative")

    def count_zero(self) -> Expr:
        """How many elements are 0."""
        return self._call("count_zero")

    def sem(self) -> Expr:
        """The standard error of the mean, `std` by the root of their number; null of fewer than two."""
        return self._call("sem")

    def t_stat(self) -> Expr:
        """The mean in standard errors; null of fewer than two."""
        return self._call("t_stat")

    def weighted_mean(self, weights: object) -> Expr:
        """The mean in which each element counts as much as its weight; a pair with a null is left out.

        >>> import tickframe as tf
        >>> t = tf.table({"v": [[1.0, 2.0, 4.0]], "w": [[2, 1, 1]]})
        >>> v = tf.col("v").list
        >>> t.select(mean=v.weighted_mean(tf.col("w")), var=v.weighted_var(tf.col("w"))).to_dicts()
        [{'mean': 2.0, 'var': 2.4}]

        Args:
            weights: lists of as many numbers.
        """
        return self._call("weighted_mean", weights)

    def weighted_sum(self, weights: object) -> Expr:
        """The sum of each element times its weight."""
        return self._call("weighted_sum", weights)

    def weighted_var(self, weights: object) -> Expr:
        """The variance in which each element counts as much as its weight; equal weights give `var`."""
        return self._call("weighted_var", weights)

    def weighted_std(self, weights: object) -> Expr:
        """The standard deviation in which each element counts as much as its weight."""
        return self._call("weighted_std", weights)

    def weighted_sem(self, weights: object) -> Expr:
        """The standard error of the weighted mean; equal weights give `sem`."""
        return self._call("weighted_sem", weights)

    def weighted_t_stat(self, weights: object) -> Expr:
        """The weighted mean in its standard errors."""
        return self._call("weighted_t_stat", weights)

    def cov(self, other: object) -> Expr:
        """The covariance with the elements of another list, one degree of freedom less; a pair with a null is left out."""
        return self._call("cov", other)

    def corr(self, other: object) -> Expr:
        """The correlation with the elements of another list, from -1 to 1; NaN where one is constant."""
        return self._call("corr", other)

    def cum_sum(self) -> Expr:
        """Running sums; integers wrap. A null stays null, and the sum goes on behind it.

        >>> import tickframe as tf
        >>> t = tf.table({"v": [[3, None, 1, 2]]})
        >>> v = tf.col("v").list
        >>> t.select(sum=v.cum_sum(), least=v.cum_min(), diff=v.diff(), rank=v.rank()).to_dicts()
        [{'sum': [3, None, 4, 6], 'least': [3, None, 1, 1], 'diff': [None, None, None, 1], 'rank': [3.0, None, 1.0, 2.0]}]
        """
        return self._call("cum_sum")

    def cum_prod(self) -> Expr:
        """Running products; integers wrap."""
        return self._call("cum_prod")

    def cum_min(self) -> Expr:
        """The least element so far."""
        return self._call("cum_min")

    def cum_max(self) -> Expr:
        """The greatest element so far."""
        return self._call("cum_max")

    def diff(self, n: object = 1) -> Expr:
        """Each element less the one that stands so many before it; null where there is none.

        Args:
            n: how many before, behind it if negative.
        """
        return self._call("diff", n)

    def forward_fill(self) -> Expr:
        """The last element that was not null in place of each null."""
        return self._call("forward_fill")

    def rank(self) -> Expr:
        """The place of each element in order, from 1; equal ones share the mean of theirs, a null has none."""
        return self._call("rank")

    def index_of(self, item: object) -> Expr:
        """The position of the first element that is equal; null if there is none."""
        return self._call("index_of", item)

    def bin_search(self, item: object) -> Expr:
        """The position of a value in an ascending list; if it is not there, -1 less the position where it would stand."""
        return self._call("bin_search", item)

    def n_unique(self) -> Expr:
        """How many distinct elements there are; null counts as one."""
        return self._call("n_unique")

    def count_distinct(self) -> Expr:
        """How many distinct elements there are, without null."""
        return self._call("count_distinct")

    def abs_mean(self) -> Expr:
        """The mean of the elements without their signs; of nothing, null."""
        return self._call("abs_mean")

    def product(self) -> Expr:
        """The product; of nothing, null. Integers wrap."""
        return self._call("product")

    def median(self) -> Expr:
        """The element in the middle, or the mean of the two; of nothing, null."""
        return self._call("median")

    def quantile(self, q: object) -> Expr:
        """The element at a part of the way from the least to the greatest, the nearest there is.

        >>> import tickframe as tf
        >>> t = tf.table({"v": [[1, 2, 3, 4], []]})
        >>> t.select(q=tf.col("v").list.quantile(0.9), m=tf.col("v").list.median(), s=tf.col("v").list.var()).to_dict()
        {'q': [4.0, None], 'm': [2.5, None], 's': [1.6666666666666667, None]}
        """
        return self._call("quantile", q)

    def std(self, ddof: int = 1) -> Expr:
        """The standard deviation; null of one element with ``ddof=1``."""
        return self._call("std", ddof=ddof)

    def var(self, ddof: int = 1) -> Expr:
        """The variance; null of one element with ``ddof=1``."""
        return self._call("var", ddof=ddof)

    def skew(self, *, bias: bool = True) -> Expr:
        """How far the elements lean to one side, as `Expr.skew` gives it."""
        return self._call("skew", bias=bias)

    def kurtosis(self, *, fisher: bool = True, bias: bool = True) -> Expr:
        """How heavy the tails of the elements are, as `Expr.kurtosis` gives it."""
        return self._call("kurtosis", fisher=fisher, bias=bias)

    def arg_min(self) -> Expr:
        """The place of the least element, the first of equal ones; null of nothing."""
        return self._call("arg_min")

    def arg_max(self) -> Expr:
        """The place of the greatest element, the first of equal ones; null of nothing."""
        return self._call("arg_max")
