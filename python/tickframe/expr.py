"""Expressions: ``tf.col("x") * 2`` and its methods, with polars' names.

An expression is a value that says what to compute; it is bound to a table's columns by the operation it is
given to, and evaluated on whole chunks. Nulls are contagious, comparison with null is null, and a filter
keeps only true. `and`, `or` and `not` cannot be overloaded in Python: write ``& | ~`` with parentheses.

>>> import tickframe as tf
>>> (tf.col("price") * tf.col("size")).alias("notional")
(col("price") * col("size")).alias("notional")
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias

from tickframe import _native
from tickframe.arguments import check_all, encodable
from tickframe.arithmetic import Arithmetic, Text
from tickframe.describe import named, short
from tickframe.dtypes import DataTypeLike
from tickframe.dtypes import dtype as as_dtype
from tickframe.errors import InvalidOperationError
from tickframe.foreign import array_like, operand
from tickframe.hints import EXPRESSIONS, nearest
from tickframe.namespaces.binary import BinaryNamespace
from tickframe.namespaces.datetime import DatetimeNamespace
from tickframe.namespaces.list import ListNamespace
from tickframe.namespaces.string import StringNamespace
from tickframe.namespaces.struct import StructNamespace

if TYPE_CHECKING:
    import datetime as _dt

    from tickframe.table import Table

__all__ = ["Expr", "IntoExpr"]

IntoExpr: TypeAlias = (
    "Expr | str | int | float | bool | bytes | _dt.datetime | _dt.date | _dt.time | _dt.timedelta | None"
)
"""What stands for an expression; whether a bare string is a column or a text is said by each function."""


def literal(other: object, operation: Text = "lit") -> _native.Expr:
    """An operand: an expression, or a literal (a string is a text here); `operation` is what the user called."""
    if isinstance(other, Expr):
        return other._native
    if isinstance(other, str):
        encodable(other, operation)
    return _native.Expr.literal(operand(other, operation, methods=Expr), operation)


def into_expr(item: object, operation: Text = "expression") -> Expr:
    """An argument of `select` and its like: a bare string is a column; `operation` is what the user called."""
    if isinstance(item, Expr):
        return item
    if isinstance(item, str):
        encodable(item, operation)
        return Expr(_native.Expr.column(item))
    return Expr(literal(item, operation))


def _choice(condition: Expr, value: Expr) -> _native.Expr:
    """The value where the condition holds, else null."""
    return _native.Expr.when(None, condition._native, value._native)


_RUNNING = frozenset(
    {"backward_fill", "forward_fill", "ewm_mean", "ewm_mean_by", "ewm_std", "ewm_var", "rank", "rle_id", "pct_change"}
    | {f"cum_{name}" for name in ("sum", "prod", "min", "max", "count", "mean")}
    | {
        f"rolling_{name}{by}"
        for name in ("sum", "mean", "min", "max", "std", "var", "median", "quantile", "count", "map")
        for by in ("", "_by")
    }
)
"""Names of polars whose values run on from row to row."""


class RunningValuesError(InvalidOperationError, AttributeError):
    """A method whose value runs on from row to row, which no operation has yet."""

    def __init__(self, name: Text) -> None:
        super().__init__(
            f"{name}: values that run on from row to row are not available yet, they come with update_by; until then "
            "compute them in a function that keeps state (tf.udf, in tf.Selectable(...).with_serial()) over an "
            "append-only table, of whole groups with the list functions of implode(), or of a snapshot: t.to_polars()"
        )
        self.name = name

    def __reduce__(self) -> tuple[Any, ...]:
        return (RunningValuesError, (self.name,))


@check_all
class Expr(Arithmetic):
    """What to compute for each row, or for each group of rows. Made by `col`, `lit`, `when` and operators."""

    __slots__ = ("_native",)

    def __init__(self, native: _native.Expr) -> None:
        self._native = native

    @staticmethod
    def _of(native: _native.Expr) -> Expr:
        return Expr(native)

    def _call(self, name: Text, *args: object, **options: object) -> Expr:
        return Expr(_native.Expr.call(name, [self._native, *(literal(arg, name) for arg in args)], **options))

    def _flipped(self, name: Text, other: object) -> Expr:
        return Expr(_native.Expr.call(name, [literal(other, name), self._native]))

    def __repr__(self) -> Text:
        return self._native.text()

    def __bool__(self) -> bool:
        msg = (
            "the truth of an expression is known only row by row: combine conditions with & | ~ (in parentheses), "
            "not with and, or, not, if; compare expressions with meta_eq; a choice is tf.when, a range is_between, one of "
            "several is_in, the greater of two tf.max_horizontal"
        )
        raise TypeError(msg)

    def __getitem__(self, index: object) -> NoReturn:
        raise TypeError(
            "an expression has no values to go through or to index: those of a table are t[name].to_list(), the element of "
            "a list .list.get(i), a part of a text .str.slice(i, n); sum(...) over rows is .sum(), x in ... is .is_in([x])"
        )

    def __len__(self) -> int:
        raise TypeError(
            "an expression has no length: rows are counted by tf.len() in an aggregation, or len(t), characters by "
            ".str.len_chars(), elements by .list.len()"
        )

    def __array__(self, dtype: object = None, copy: bool | None = None) -> Any:
        """One object, not a sequence: NumPy's functions of one value call the method of their name."""
        import numpy

        array = numpy.empty(1, dtype=object)
        array[0] = self
        return array.reshape(())

    def __array_function__(self, func: Any, kinds: object, args: tuple[Any, ...], named: dict[Text, Any]) -> Any:
        del kinds
        if func.__name__ in {"where", "select", "choose", "piecewise"}:
            raise TypeError(
                f"numpy.{func.__name__}: an expression has a value in each row, and a choice by them is "
                "tf.when(condition).then(value).otherwise(other)"
            )
        return func._implementation(*args, **named)

    def __float__(self) -> float:
        raise TypeError(
            "an expression is no number: it has a value in each row; write .cast(tf.Float64), and functions of the math "
            "module as methods: .log(), .sqrt(), .exp()"
        )

    def __int__(self) -> int:
        raise TypeError("an expression is no number: it has a value in each row; write .cast(tf.Int64)")

    def __pos__(self) -> Expr:
        return self

    def __round__(self, ndigits: int | None = None) -> Expr:
        return self.round(0 if ndigits is None else ndigits)

    def __getattr__(self, name: Text) -> Any:
        if name in _RUNNING:
            raise RunningValuesError(name)
        other = EXPRESSIONS.get(name)
        hint = f"; here it is {other}" if other else nearest(name, dir(type(self)))
        raise AttributeError(f"an expression has no {name!r}{hint}", name=name, obj=self)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_from_json, (self._native.to_json(),))

    def is_in(self, values: Iterable[object] | Expr | Table, *, nulls_equal: bool = False) -> Expr:
        """Whether the value is one of `values`; null is in nothing, unless `nulls_equal`.

        The values of a table of one column are followed as it changes; a filter by it is `Table.where_in`. A list, a
        Series and ``t["k"]`` are what they hold now.

        >>> import tickframe as tf
        >>> t = tf.table({"x": [1, 2, None]})
        >>> t.with_columns(y=tf.col("x").is_in([2, 3])).to_dict()["y"]
        [False, True, None]

        >>> watched = t.filter(tf.col("x") > 1).select("x")
        >>> t.filter(tf.col("x").is_in(watched)).to_dict()
        {'x': [2]}

        Args:
            values: a list, set, Series, column or array, as it is now; or a table of one column.
            nulls_equal: whether null is in a list that has null, and in no other.

        Raises:
            InvalidOperationError: a table of several columns.
        """
        table = getattr(values, "_native", None)
        if isinstance(table, _native.Table):
            return Expr(self._native.in_table(table, nulls_equal))
        if isinstance(values, Expr):
            return self._call("is_in", values, nulls_equal=nulls_equal)
        if isinstance(values, str):
            raise TypeError(f"is_in: {named(values)} is no list of values; write a list of them")
        if isinstance(values, (list, tuple)):
            for value in values[:_LOOKED_AT]:
                if callable(value):
                    operand(value, "is_in", methods=Expr)
        return self._call("is_in", Expr(_native.Expr.values(values, "is_in")), nulls_equal=nulls_equal)

    def is_between(self, lower: object, upper: object, closed: Text = "both") -> Expr:
        """Whether the value lies between two bounds (a bare string is a column); `closed` is ``"both"``, ``"left"``, ``"right"`` or ``"none"``."""
        given: object = closed
        if not isinstance(given, str) or given not in {"both", "left", "right", "none"}:
            raise ValueError(f'closed must be "both", "left", "right" or "none", not {short(closed)}')
        bounds = into_expr(lower, "is_between"), into_expr(upper, "is_between")
        return self._call("is_between", *bounds, closed=closed)

    def clip(self, lower: object = None, upper: object = None) -> Expr:
        """No less than `lower`, no more than `upper`; None does not bind."""
        return self._call("clip", into_expr(lower, "clip"), into_expr(upper, "clip"))

    # Nulls and NaN ----------------------------------------------------------------------------------------

    def is_null(self) -> Expr:
        """Whether there is no value. NaN is a value."""
        return self._call("is_null")

    def is_not_null(self) -> Expr:
        """Whether there is a value."""
        return self._call("is_not_null")

    def is_nan(self) -> Expr:
        """Whether the value is NaN; null stays null."""
        return self._call("is_nan")

    def is_not_nan(self) -> Expr:
        """Whether the value is not NaN; null stays null."""
        return self._call("is_not_nan")

    def is_finite(self) -> Expr:
        """Whether the value is neither NaN nor infinite."""
        return self._call("is_finite")

    def is_infinite(self) -> Expr:
        """Whether the value is infinite."""
        return self._call("is_infinite")

    def fill_null(self, value: object) -> Expr:
        """`value` where there is none."""
        return self._call("fill_null", value)

    def fill_nan(self, value: object) -> Expr:
        """`value` where there is NaN; None makes it null."""
        return self._call("fill_nan", value)

    def shift(self, n: int = 1, *, fill_value: object = None) -> Expr:
        """The value `n` rows earlier, later if negative; `fill_value` where there is no such row.

        >>> import tickframe as tf
        >>> t = tf.table({"x": [1, None, 3]})
        >>> t.select(tf.col("x").shift().alias("a"), tf.col("x").shift(-1, fill_value=0).alias("b")).to_dict()
        {'a': [None, 1, None], 'b': [None, 3, 0]}

        With `over`, `n` rows earlier in the row's group:

        >>> t = tf.table({"k": ["a", "b", "a"], "x": [1, 2, 3]})
        >>> t.select(tf.col("x").shift().over("k")).to_dict()
        {'x': [None, None, 1]}
        """
        shifted = self._call("shift", n=n)
        if fill_value is None:
            return shifted
        is_row = Expr(literal(True))._call("shift", n=n)
        return Expr(_choice(is_row, shifted).otherwise(literal(fill_value)))

    def diff(self, n: int = 1) -> Expr:
        """The value less the one `n` rows earlier; null where there is no such row.

        >>> import tickframe as tf
        >>> tf.table({"x": [1, 4, 9]}).select(tf.col("x").diff()).to_dict()
        {'x': [None, 3, 5]}
        """
        return self - self.shift(n)

    def get(self, index: object) -> Expr:
        """The cell of this column at a position of the table; null outside it. For static and blink tables.

        >>> import tickframe as tf
        >>> tf.table({"x": [10, 20], "at": [1, 5]}).with_columns(y=tf.col("x").get(tf.col("at"))).to_dict()
        {'x': [10, 20], 'at': [1, 5], 'y': [20, None]}
        """
        return self._call("get", index)

    # Types and names --------------------------------------------------------------------------------------

    def alias(self, name: Text) -> Expr:
        """The same values under another name."""
        return Expr(self._native.alias(name))

    def cast(self, to: DataTypeLike, *, strict: bool = True) -> Expr:
        """Another type; a value that does not fit is an error naming row and value, or null unless `strict`."""
        return Expr(self._native.cast(as_dtype(to)._spec, strict))

    # Aggregates -------------------------------------------------------------------------------------------

    def _aggregate(self, name: Text, **options: Any) -> Expr:
        return Expr(_native.Expr.aggregate(name, [self._native], **options))

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
        return Expr(_native.Expr.aggregate("len", [])).alias(self._native.output_name())

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

    def product(self) -> Expr:
        """The product of the values that are not null; null if there are none. Integers wrap.

        >>> import tickframe as tf
        >>> tf.table({"x": [2, None, -3]}).select(tf.col("x").product()).to_dict()
        {'x': [-6]}
        """
        return self._aggregate("product")

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
        places = (
            into_expr(order_by, "order_by")
            .implode()
            ._call("list.arg_sort", descending=descending, nulls_last=nulls_last)
        )
        return self.implode()._call("list.get", places._call("list.get", place))

    def abs_sum(self) -> Expr:
        """The sum of the values without their signs; of nothing, 0."""
        return self.abs().sum()

    def weighted_sum(self, weight: IntoExpr) -> Expr:
        """The sum of each value times its weight, a Float64; pairs with a null are left out, of no pair it is null.

        Args:
            weight: a column or an expression.
        """
        return (self.cast("float64") * into_expr(weight, "weighted_sum")).sum(min_count=1)

    def weighted_mean(self, weight: IntoExpr) -> Expr:
        """The mean in which each value counts as much as its weight; pairs with a null are left out, of none it is null.

        >>> import tickframe as tf
        >>> t = tf.table({"price": [10, 20, None], "size": [3, 1, 5]})
        >>> t.select(vwap=tf.col("price").weighted_mean("size")).to_dict()
        {'vwap': [12.5]}

        Args:
            weight: a column or an expression.
        """
        weights = into_expr(weight, "weighted_mean")
        return self.weighted_sum(weights) / Expr(_choice(self.is_not_null(), weights)).sum()

    def count_where(self, predicate: IntoExpr) -> Expr:
        """In how many rows `predicate` is true, under the name of this column.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "a", "b"], "x": [1, 5, None]})
        >>> t.group_by("k").agg(big=tf.col("x").count_where(tf.col("x") > 3)).to_dicts()
        [{'k': 'a', 'big': 1}, {'k': 'b', 'big': 0}]

        Args:
            predicate: a Boolean column or expression.
        """
        counted = Expr(_choice(into_expr(predicate, "count_where"), Expr(literal(True)))).count()
        return counted.alias(self._native.output_name())

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
        only = _choice(distinct == 1, self.min())
        return Expr(_native.Expr.when(only, (distinct > 1)._native, literal(sentinel)))

    def over(
        self,
        partition_by: IntoExpr | Iterable[IntoExpr] | None = None,
        *more: IntoExpr,
        order_by: IntoExpr | Iterable[IntoExpr] | None = None,
        descending: bool = False,
        nulls_last: bool = False,
    ) -> Expr:
        """The same with aggregates taken over the row's group, shift and diff within it: one value a row, kept true.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "b", "a"], "x": [1, 2, 3]})
        >>> t.with_columns(share=tf.col("x") / tf.col("x").sum().over("k")).to_dict()["share"]
        [0.25, 1.0, 0.75]
        >>> t.with_columns(change=tf.col("x").diff().over("k")).to_dict()["change"]
        [None, None, 2]

        Args:
            partition_by: columns or expressions; rows equal in them are one group, null being a value as any other.
                Without them all rows are one group, as for an aggregate without ``over``.
            *more: further ones.
            order_by: the order in which `first` and `last` are meant, rows that compare equal as they come. Sums, counts
                and extremes are the same in every order. `shift` and `diff` go by the order of the rows.
            descending: the greatest first.
            nulls_last: nulls last, not first.

        Raises:
            InvalidOperationError: a position, the clock or random numbers within groups; `order_by` with `shift` or
                `diff`.
        """
        by = [] if partition_by is None else flatten([partition_by])
        order = [] if order_by is None else flatten([order_by])
        groups = [into_expr(item, "over")._native for item in flatten([by, *more])]
        return Expr(
            self._native.over(groups, [into_expr(item, "over")._native for item in order], descending, nulls_last)
        )

    # About the expression itself --------------------------------------------------------------------------

    def meta_eq(self, other: Expr) -> bool:
        """Whether two expressions are the same tree. ``==`` makes a new expression instead."""
        return self._native.same(other._native)

    def meta_output_name(self) -> Text:
        """The name of the column it makes."""
        return self._native.output_name()

    def meta_columns(self) -> list[Text]:
        """The columns it reads, each once."""
        return self._native.columns()

    @property
    def list(self) -> ListNamespace:
        """Functions of lists."""
        return ListNamespace(self)

    @property
    def struct(self) -> StructNamespace:
        """Functions of structs."""
        return StructNamespace(self)

    @property
    def bin(self) -> BinaryNamespace:
        """Functions of bytes."""
        return BinaryNamespace(self)

    @property
    def str(self) -> StringNamespace:
        """Functions of strings."""
        return StringNamespace(self)

    @property
    def dt(self) -> DatetimeNamespace:
        """Functions of dates, times, instants and durations."""
        return DatetimeNamespace(self)


def _from_json(text: str) -> Expr:
    return Expr(_native.Expr.from_json(text))


_MOST_ARGUMENTS = 1 << 18
_LOOKED_AT = 64  # values of a list that are looked at before they are read as one type
_DEEPEST_ARGUMENTS = 16


def flatten(items: Iterable[object]) -> list[object]:
    """The arguments of a method that takes several, or one list of them; not without end, and not in themselves."""
    flat: list[object] = []
    # Level by level on a stack: a list that holds itself ends in words.
    open_lists = [iter(items)]
    while open_lists:
        for item in open_lists[-1]:
            if isinstance(item, Iterable) and not isinstance(item, (str, bytes, Expr, Mapping)) and not _has_rows(item):
                if builtins.len(open_lists) > _DEEPEST_ARGUMENTS:
                    raise TypeError(f"arguments are lists in lists, more than {_DEEPEST_ARGUMENTS} deep")
                open_lists.append(iter(item))
                break
            if builtins.len(flat) >= _MOST_ARGUMENTS:
                raise TypeError(
                    f"more than {_MOST_ARGUMENTS} arguments; give what is to be computed, not a column of values"
                )
            flat.append(item)
        else:
            open_lists.pop()
    return flat


def _has_rows(item: object) -> bool:
    """Whether it is data, not a list of arguments: a frame, or an array of what are no names."""
    if array_like(item):
        values: Any = item
        return not all(isinstance(each, str) for each in values)
    return hasattr(item, "__arrow_c_stream__")


def expressions(items: Iterable[object], named: Mapping[str, object], operation: str = "agg") -> list[_native.Expr]:
    """The arguments of `agg` and its like, as native expressions."""
    made = [into_expr(item, operation)._native for item in flatten(items)]
    made.extend(into_expr(item, f"{operation}: {name}").alias(name)._native for name, item in named.items())
    return made
