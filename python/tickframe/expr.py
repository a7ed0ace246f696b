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
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias

from tickframe import _native
from tickframe.arguments import check_all, checked, encodable
from tickframe.dtypes import DataTypeLike, Datetime
from tickframe.dtypes import dtype as as_dtype
from tickframe.errors import InvalidOperationError
from tickframe.foreign import array_like, named, operand, short
from tickframe.hints import EXPRESSIONS, nearest

if TYPE_CHECKING:
    import datetime as _dt

    from tickframe.nested import BinaryNamespace, ListNamespace, StructNamespace
    from tickframe.table import Table

__all__ = [
    "Expr",
    "IntoExpr",
    "Then",
    "When",
    "arctan2",
    "coalesce",
    "col",
    "format",
    "from_epoch",
    "len",
    "lit",
    "max_horizontal",
    "min_horizontal",
    "random_bool",
    "random_float",
    "random_gaussian",
    "random_int",
    "variable",
    "when",
]

IntoExpr: TypeAlias = (
    "Expr | str | int | float | bool | bytes | _dt.datetime | _dt.date | _dt.time | _dt.timedelta | None"
)
"""What stands for an expression; whether a bare string is a column or a text is said by each function."""

_len = builtins.len

Text: TypeAlias = str
"""Inside `Expr` the name ``str`` is the namespace of string functions."""


def _value(other: object, operation: Text = "lit") -> _native.Expr:
    """An operand: an expression, or a literal (a string is a text here); `operation` is what the user called."""
    if isinstance(other, Expr):
        return other._native
    if isinstance(other, str):
        encodable(other, operation)
    return _native.Expr.literal(operand(other, operation), operation)


def into_expr(item: object, operation: Text = "expression") -> Expr:
    """An argument of `select` and its like: a bare string is a column; `operation` is what the user called."""
    if isinstance(item, Expr):
        return item
    if isinstance(item, str):
        encodable(item, operation)
        return Expr(_native.Expr.column(item))
    return Expr(_value(item, operation))


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
class Expr:
    """What to compute for each row, or for each group of rows. Made by `col`, `lit`, `when` and operators."""

    __slots__ = ("_native",)

    def __init__(self, native: _native.Expr) -> None:
        self._native = native

    def _call(self, name: Text, *args: object, **options: object) -> Expr:
        return Expr(_native.Expr.call(name, [self._native, *(_value(arg, name) for arg in args)], **options))

    def _flipped(self, name: Text, other: object) -> Expr:
        return Expr(_native.Expr.call(name, [_value(other, name), self._native]))

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

    def __round__(self, ndigits: int | None = None) -> Expr:
        return self.round(0 if ndigits is None else ndigits)

    def __getattr__(self, name: Text) -> Any:
        if name in _RUNNING:
            raise RunningValuesError(name)
        other = EXPRESSIONS.get(name)
        hint = f"; here it is {other}" if other else nearest(name, dir(type(self)))
        raise AttributeError(f"an expression has no {name!r}{hint}", name=name, obj=self)

    __hash__ = object.__hash__

    def __reduce__(self) -> tuple[Any, ...]:
        return (_from_json, (self._native.to_json(),))

    # Arithmetic -------------------------------------------------------------------------------------------

    def __add__(self, other: object) -> Expr:
        return self._call("+", other)

    def __radd__(self, other: object) -> Expr:
        return self._flipped("+", other)

    def __sub__(self, other: object) -> Expr:
        return self._call("-", other)

    def __rsub__(self, other: object) -> Expr:
        return self._flipped("-", other)

    def __mul__(self, other: object) -> Expr:
        return self._call("*", other)

    def __rmul__(self, other: object) -> Expr:
        return self._flipped("*", other)

    def __truediv__(self, other: object) -> Expr:
        return self._call("/", other)

    def __rtruediv__(self, other: object) -> Expr:
        return self._flipped("/", other)

    def __floordiv__(self, other: object) -> Expr:
        return self._call("//", other)

    def __rfloordiv__(self, other: object) -> Expr:
        return self._flipped("//", other)

    def __mod__(self, other: object) -> Expr:
        return self._call("%", other)

    def __rmod__(self, other: object) -> Expr:
        return self._flipped("%", other)

    def __pow__(self, other: object) -> Expr:
        return self._call("**", other)

    def __rpow__(self, other: object) -> Expr:
        return self._flipped("**", other)

    def __neg__(self) -> Expr:
        return self._call("neg")

    def __pos__(self) -> Expr:
        return self

    def __abs__(self) -> Expr:
        return self.abs()

    # Comparison and logic ---------------------------------------------------------------------------------

    def __eq__(self, other: object) -> Expr:  # type: ignore[override]
        return self._call("==", other)

    def __ne__(self, other: object) -> Expr:  # type: ignore[override]
        return self._call("!=", other)

    def __lt__(self, other: object) -> Expr:
        return self._call("<", other)

    def __le__(self, other: object) -> Expr:
        return self._call("<=", other)

    def __gt__(self, other: object) -> Expr:
        return self._call(">", other)

    def __ge__(self, other: object) -> Expr:
        return self._call(">=", other)

    def __and__(self, other: object) -> Expr:
        return self._call("&", other)

    def __rand__(self, other: object) -> Expr:
        return self._flipped("&", other)

    def __or__(self, other: object) -> Expr:
        return self._call("|", other)

    def __ror__(self, other: object) -> Expr:
        return self._flipped("|", other)

    def __xor__(self, other: object) -> Expr:
        return self._call("^", other)

    def __rxor__(self, other: object) -> Expr:
        return self._flipped("^", other)

    def __invert__(self) -> Expr:
        return self._call("~")

    def __lshift__(self, other: object) -> Expr:
        return self._call("<<", other)

    def __rshift__(self, other: object) -> Expr:
        return self._call(">>", other)

    def eq_missing(self, other: object) -> Expr:
        """Equal, where null equals null and the answer is never null."""
        return self._call("eq_missing", other)

    def ne_missing(self, other: object) -> Expr:
        """Not equal, where null equals null and the answer is never null."""
        return self._call("ne_missing", other)

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
                    operand(value, "is_in")
        return self._call("is_in", Expr(_native.Expr.values(values, "is_in")), nulls_equal=nulls_equal)

    def is_between(self, lower: object, upper: object, closed: Text = "both") -> Expr:
        """Whether the value lies between two bounds (a bare string is a column); `closed` is ``"both"``, ``"left"``, ``"right"`` or ``"none"``."""
        given: object = closed
        if not isinstance(given, str) or given not in {"both", "left", "right", "none"}:
            raise ValueError(f'closed must be "both", "left", "right" or "none", not {short(closed)}')
        bounds = into_expr(lower, "is_between"), into_expr(upper, "is_between")
        return self._call("is_between", *bounds, closed=closed)

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
        """
        shifted = self._call("shift", by=n)
        if fill_value is None:
            return shifted
        return when(lit(True)._call("shift", by=n)).then(shifted).otherwise(lit(fill_value))

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

    # Numbers ----------------------------------------------------------------------------------------------

    def abs(self) -> Expr:
        """Without its sign."""
        return self._call("abs")

    def sign(self) -> Expr:
        """-1, 0 or 1."""
        return self._call("sign")

    def sqrt(self) -> Expr:
        """The square root; NaN below zero."""
        return self._call("sqrt")

    def cbrt(self) -> Expr:
        """The cube root."""
        return self._call("cbrt")

    def exp(self) -> Expr:
        """e to this power."""
        return self._call("exp")

    def log(self, base: float | None = None) -> Expr:
        """The logarithm, natural without a base; NaN below zero."""
        return self._call("log") if base is None else self._call("log", base)

    def log10(self) -> Expr:
        """The decimal logarithm."""
        return self._call("log10")

    def log1p(self) -> Expr:
        """The natural logarithm of 1 + x, exact near zero."""
        return self._call("log1p")

    def round(self, decimals: int = 0) -> Expr:
        """To so many decimals; halves go to the even neighbour."""
        return self._call("round", decimals)

    def floor(self) -> Expr:
        """The next whole number below."""
        return self._call("floor")

    def ceil(self) -> Expr:
        """The next whole number above."""
        return self._call("ceil")

    def clip(self, lower: object = None, upper: object = None) -> Expr:
        """No less than `lower`, no more than `upper`; None does not bind."""
        return self._call("clip", into_expr(lower, "clip"), into_expr(upper, "clip"))

    def pow(self, exponent: object) -> Expr:
        """To this power."""
        return self._call("**", exponent)

    def sin(self) -> Expr:
        """The sine."""
        return self._call("sin")

    def cos(self) -> Expr:
        """The cosine."""
        return self._call("cos")

    def tan(self) -> Expr:
        """The tangent."""
        return self._call("tan")

    def arcsin(self) -> Expr:
        """The angle of this sine."""
        return self._call("arcsin")

    def arccos(self) -> Expr:
        """The angle of this cosine."""
        return self._call("arccos")

    def arctan(self) -> Expr:
        """The angle of this tangent."""
        return self._call("arctan")

    def sinh(self) -> Expr:
        """The hyperbolic sine."""
        return self._call("sinh")

    def cosh(self) -> Expr:
        """The hyperbolic cosine."""
        return self._call("cosh")

    def tanh(self) -> Expr:
        """The hyperbolic tangent."""
        return self._call("tanh")

    def degrees(self) -> Expr:
        """Radians as degrees."""
        return self._call("degrees")

    def radians(self) -> Expr:
        """Degrees as radians."""
        return self._call("radians")

    def lower_bin(self, width: object, offset: object = None) -> Expr:
        """The start of the bin of this width in which the value lies; bins are counted from `offset`."""
        return self._call("lower_bin", width) if offset is None else self._call("lower_bin", width, offset)

    def upper_bin(self, width: object, offset: object = None) -> Expr:
        """The end of the bin in which the value lies: the least bound that is not below it."""
        return self._call("upper_bin", width) if offset is None else self._call("upper_bin", width, offset)

    # Aggregates -------------------------------------------------------------------------------------------

    def _aggregate(self, name: Text, **options: Any) -> Expr:
        return Expr(_native.Expr.aggregate(name, self._native, **options))

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
        return self._aggregate("std", ddof=_degrees("std", ddof))

    def var(self, ddof: int = 1) -> Expr:
        """The variance; null for one value with ``ddof=1``."""
        return self._aggregate("var", ddof=_degrees("var", ddof))

    def count(self) -> Expr:
        """How many values are not null."""
        return self._aggregate("count")

    def len(self) -> Expr:
        """How many rows there are, nulls included."""
        return Expr(_native.Expr.aggregate("len", None)).alias(self._native.output_name())

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
        return self._aggregate("quantile", part=quantile, interpolation=interpolation)

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
        return self.weighted_sum(weights) / when(self.is_not_null()).then(weights).sum()

    def count_where(self, predicate: IntoExpr) -> Expr:
        """In how many rows `predicate` is true, under the name of this column.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "a", "b"], "x": [1, 5, None]})
        >>> t.group_by("k").agg(big=tf.col("x").count_where(tf.col("x") > 3)).to_dicts()
        [{'k': 'a', 'big': 1}, {'k': 'b', 'big': 0}]

        Args:
            predicate: a Boolean column or expression.
        """
        return when(into_expr(predicate, "count_where")).then(lit(True)).count().alias(self._native.output_name())

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
        return when(distinct == 1).then(self.min()).when(distinct > 1).then(lit(sentinel))

    def over(
        self,
        partition_by: IntoExpr | Iterable[IntoExpr] | None = None,
        *more: IntoExpr,
        order_by: IntoExpr | Iterable[IntoExpr] | None = None,
        descending: bool = False,
        nulls_last: bool = False,
    ) -> Expr:
        """The same with every aggregate taken over the row's group: one value a row, kept true as the group changes.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "b", "a"], "x": [1, 2, 3]})
        >>> t.with_columns(share=tf.col("x") / tf.col("x").sum().over("k")).to_dict()["share"]
        [0.25, 1.0, 0.75]

        Args:
            partition_by: columns or expressions; rows equal in them are one group, null being a value as any other.
                Without them all rows are one group, as for an aggregate without ``over``.
            *more: further ones.
            order_by: the order in which `first` and `last` are meant, rows that compare equal as they come. Sums, counts
                and extremes are the same in every order.
            descending: the greatest first.
            nulls_last: nulls last, not first.

        Raises:
            InvalidOperationError: shift and diff within groups, which are not there yet.
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
        from tickframe.nested import ListNamespace

        return ListNamespace(self)

    @property
    def struct(self) -> StructNamespace:
        """Functions of structs."""
        from tickframe.nested import StructNamespace

        return StructNamespace(self)

    @property
    def bin(self) -> BinaryNamespace:
        """Functions of bytes."""
        from tickframe.nested import BinaryNamespace

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


class _Namespace:
    __slots__ = ("_expr",)
    _PREFIX = ""

    def __init__(self, expr: Expr) -> None:
        self._expr = expr

    def _call(self, name: str, *args: object, **options: object) -> Expr:
        return self._expr._call(f"{self._PREFIX}.{name}", *args, **options)


@check_all
class StringNamespace(_Namespace):
    """Functions of strings: ``col("x").str``. Null stays null; characters are Unicode code points."""

    __slots__ = ()
    _PREFIX = "str"

    def len_chars(self) -> Expr:
        """How many characters."""
        return self._call("len_chars")

    def len_bytes(self) -> Expr:
        """How many bytes of UTF-8."""
        return self._call("len_bytes")

    def to_lowercase(self) -> Expr:
        """In small letters."""
        return self._call("to_lowercase")

    def to_uppercase(self) -> Expr:
        """In capital letters."""
        return self._call("to_uppercase")

    def contains(self, pattern: object, *, literal: bool = False) -> Expr:
        """Whether a regular expression matches somewhere, or `pattern` itself stands there if `literal`."""
        return self._call("contains", pattern, literal=literal)

    def starts_with(self, prefix: object) -> Expr:
        """Whether it begins so."""
        return self._call("starts_with", prefix)

    def ends_with(self, suffix: object) -> Expr:
        """Whether it ends so."""
        return self._call("ends_with", suffix)

    def slice(self, offset: object, length: object = None) -> Expr:
        """`length` characters from `offset`, which counts from the end if negative; all of the rest without a length."""
        return self._call("slice", offset) if length is None else self._call("slice", offset, length)

    def head(self, n: object) -> Expr:
        """The first `n` characters."""
        return self._call("head", n)

    def tail(self, n: object) -> Expr:
        """The last `n` characters."""
        return self._call("tail", n)

    def replace(self, pattern: object, value: object, *, literal: bool = False) -> Expr:
        """The first match replaced."""
        return self._call("replace", pattern, value, literal=literal)

    def replace_all(self, pattern: object, value: object, *, literal: bool = False) -> Expr:
        """Every match replaced."""
        return self._call("replace_all", pattern, value, literal=literal)

    def strip_chars(self, characters: object = None) -> Expr:
        """Without these characters at both ends; without white space if none are given."""
        return self._strip("strip_chars", characters)

    def strip_chars_start(self, characters: object = None) -> Expr:
        """Without these characters at the start."""
        return self._strip("strip_chars_start", characters)

    def strip_chars_end(self, characters: object = None) -> Expr:
        """Without these characters at the end."""
        return self._strip("strip_chars_end", characters)

    def _strip(self, name: str, characters: object) -> Expr:
        return self._call(name) if characters is None else self._call(name, characters)

    def strip_prefix(self, prefix: object) -> Expr:
        """Without this beginning, if it has it."""
        return self._call("strip_prefix", prefix)

    def strip_suffix(self, suffix: object) -> Expr:
        """Without this end, if it has it."""
        return self._call("strip_suffix", suffix)

    def zfill(self, length: object) -> Expr:
        """Filled with zeros on the left, behind a sign."""
        return self._call("zfill", length)

    def pad_start(self, length: object, fill_char: str = " ") -> Expr:
        """Filled at the start up to `length` characters."""
        return self._call("pad_start", length, fill_char)

    def pad_end(self, length: object, fill_char: str = " ") -> Expr:
        """Filled at the end up to `length` characters."""
        return self._call("pad_end", length, fill_char)

    def reverse(self) -> Expr:
        """The characters in the opposite order."""
        return self._call("reverse")

    def to_titlecase(self) -> Expr:
        """Each word with a capital letter at its start; words are runs of letters and digits."""
        return self._call("to_titlecase")

    def find(self, pattern: object, *, literal: bool = False) -> Expr:
        """Bytes before the first match of a regular expression, or of `pattern` itself if `literal`; null without one."""
        return self._call("find", pattern, literal=literal)

    def index_of(self, part: object) -> Expr:
        """Characters before the first occurrence, -1 without one."""
        return self._call("index_of", part)

    def count_matches(self, pattern: object, *, literal: bool = False) -> Expr:
        """How often a regular expression matches, or `pattern` itself stands there if `literal`."""
        return self._call("count_matches", pattern, literal=literal)

    def split(self, by: object) -> Expr:
        """The parts between occurrences of `by`, as a list; an empty one splits into characters."""
        return self._call("split", by)

    def extract_all(self, pattern: object) -> Expr:
        """All matches of a regular expression, as a list."""
        return self._call("extract_all", pattern)

    def extract(self, pattern: object, group_index: int = 1) -> Expr:
        """What a group of the first match holds, 0 for all of it; null without a match."""
        return self._call("extract", pattern, group=group_index)

    def to_integer(self, *, strict: bool = True) -> Expr:
        """The Int64 it reads as; text that is none is an error, or null unless `strict`."""
        return self._expr.cast("int64", strict=strict)

    def to_date(self, format: str | None = None, *, strict: bool = True) -> Expr:
        """The date it names, by a strptime format or ISO 8601."""
        return self._parsed("to_date", format, strict)

    def to_datetime(self, format: str | None = None, *, strict: bool = True) -> Expr:
        """The instant it names, by a strptime format or ISO 8601."""
        return self._parsed("to_datetime", format, strict)

    def _parsed(self, name: str, format: str | None, strict: bool) -> Expr:
        args = () if format is None else (format,)
        return self._call(name, *args, strict=strict)


@check_all
class DatetimeNamespace(_Namespace):
    """Functions of dates, times, instants and durations: ``col("x").dt``. Parts follow the column's zone."""

    __slots__ = ()
    _PREFIX = "dt"

    def year(self) -> Expr:
        """The year."""
        return self._call("year")

    def quarter(self) -> Expr:
        """The quarter, 1 to 4."""
        return self._call("quarter")

    def month(self) -> Expr:
        """The month, 1 to 12."""
        return self._call("month")

    def week(self) -> Expr:
        """The ISO week, 1 to 53."""
        return self._call("week")

    def weekday(self) -> Expr:
        """The day of the week, Monday 1 to Sunday 7."""
        return self._call("weekday")

    def ordinal_day(self) -> Expr:
        """The day of the year, from 1."""
        return self._call("ordinal_day")

    def day(self) -> Expr:
        """The day of the month, from 1."""
        return self._call("day")

    def hour(self) -> Expr:
        """The hour, 0 to 23."""
        return self._call("hour")

    def minute(self) -> Expr:
        """The minute."""
        return self._call("minute")

    def second(self) -> Expr:
        """The second."""
        return self._call("second")

    def millisecond(self) -> Expr:
        """The milliseconds of the second."""
        return self._call("millisecond")

    def microsecond(self) -> Expr:
        """The microseconds of the second."""
        return self._call("microsecond")

    def nanosecond(self) -> Expr:
        """The nanoseconds of the second."""
        return self._call("nanosecond")

    def date(self) -> Expr:
        """The date."""
        return self._call("date")

    def time(self) -> Expr:
        """The time of the day."""
        return self._call("time")

    def truncate(self, every: object) -> Expr:
        """The start of the window it lies in: ``"15m"``, ``"1h"``, ``"1d"``, ``"1mo"`` or a timedelta."""
        return self._call("truncate", every)

    def round(self, every: object) -> Expr:
        """The nearest start of a window."""
        return self._call("round", every)

    def offset_by(self, by: object) -> Expr:
        """Moved by a calendar period: ``"1mo"``, ``"-2d"``."""
        return self._call("offset_by", by)

    def strftime(self, format: str) -> Expr:
        """As text."""
        return self._call("strftime", format)

    def total_days(self) -> Expr:
        """Whole days of a duration."""
        return self._call("total_days")

    def total_hours(self) -> Expr:
        """Whole hours of a duration."""
        return self._call("total_hours")

    def total_minutes(self) -> Expr:
        """Whole minutes of a duration."""
        return self._call("total_minutes")

    def total_seconds(self) -> Expr:
        """Whole seconds of a duration."""
        return self._call("total_seconds")

    def total_milliseconds(self) -> Expr:
        """Whole milliseconds of a duration."""
        return self._call("total_milliseconds")

    def total_microseconds(self) -> Expr:
        """Whole microseconds of a duration."""
        return self._call("total_microseconds")

    def total_nanoseconds(self) -> Expr:
        """Nanoseconds of a duration."""
        return self._call("total_nanoseconds")

    def epoch(self, unit: str = "us") -> Expr:
        """Since 1970-01-01, in ``"s"``, ``"ms"``, ``"us"`` or ``"ns"``; ``"d"`` for days."""
        return self._call("epoch", unit)

    def convert_time_zone(self, zone: str) -> Expr:
        """The same instant, shown in another zone."""
        return self._call("convert_time_zone", zone)

    def replace_time_zone(self, zone: str | None) -> Expr:
        """The same wall-clock time in another zone; None takes the zone away."""
        return self._call("replace_time_zone", zone)

    def bin(self, width: object, offset: object = None) -> Expr:
        """The start of the bin of this width; widths as in `truncate`, or nanoseconds."""
        return self._expr.lower_bin(width, offset)

    def month_start(self) -> Expr:
        """The first day of the month."""
        return self._call("month_start")

    def month_end(self) -> Expr:
        """The last day of the month."""
        return self._call("month_end")


def _degrees(what: Text, ddof: object) -> int:
    if isinstance(ddof, int) and 0 <= ddof < 256:
        return ddof
    raise ValueError(f"{what}: ddof is a whole number from 0 to 255, not {short(ddof)}")


class When:
    """A condition that waits for its value: ``when(c).then(v)``."""

    __slots__ = ("_before", "_condition")

    def __init__(self, before: _native.Expr | None, condition: _native.Expr) -> None:
        self._before = before
        self._condition = condition

    def then(self, value: object) -> Then:
        """The value where the condition is true; a bare string is a column."""
        return Then(_native.Expr.when(self._before, self._condition, into_expr(value, "then")._native))


class Then(Expr):
    """A conditional; without `otherwise` it is null where no condition holds."""

    __slots__ = ()

    def when(self, condition: IntoExpr) -> When:
        """Another condition, looked at where no earlier one held."""
        return When(self._native, into_expr(condition, "when")._native)

    def otherwise(self, value: object) -> Expr:
        """The value where no condition holds; a null condition does not hold."""
        return Expr(self._native.otherwise(into_expr(value, "otherwise")._native))


class Columns(list[Expr]):
    """Several columns, given where one expression might stand: ``select(col("a", "b"))``."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            if name.startswith("_") or not hasattr(Expr, name):
                raise AttributeError(f"several columns have no {name!r}{nearest(name, dir(Expr))}")
            names = ", ".join(repr(each) for each in self)
            raise AttributeError(f"{name}() is a method of one column: [each.{name}() for each in ({names})]")


def col(name: str | Sequence[str], *more: str) -> Expr:
    """The column called `name`; with several names, all of those columns.

    >>> import tickframe as tf
    >>> t = tf.table({"a": [1], "b": [2], "c": [3]})
    >>> t.select(tf.col("a", "c")).to_dicts()
    [{'a': 1, 'c': 3}]
    """
    names: list[object] = list(name) if isinstance(name, (list, tuple)) else [name]
    names.extend(more)
    for each in names:
        if not isinstance(each, str):
            raise TypeError(f"col: the name of a column is a str, not {named(each)}")
        encodable(each, "col")
    if isinstance(name, str) and not more:
        return Expr(_native.Expr.column(name))
    columns: Any = Columns(Expr(_native.Expr.column(str(each))) for each in names)
    return columns  # type: ignore[no-any-return]


def lit(value: object, dtype: DataTypeLike | None = None) -> Expr:
    """A value that stands in every row; with `dtype`, cast to that type."""
    if isinstance(value, Expr):
        return value
    if dtype is None:
        return Expr(_value(value, "lit"))
    return Expr(_native.Expr.typed_literal(operand(value, "lit"), as_dtype(dtype)._spec))


@checked
def variable(name: str, value: object) -> Expr:
    """The column called `name`, or `value` where the table has none: a name that a formula read without a table."""
    return Expr(_native.Expr.call("variable", [_native.Expr.column(name), _value(value, "variable")]))


def when(condition: IntoExpr, **equals: object) -> When:
    """A choice by condition: ``when(c).then(v).otherwise(w)``.

    >>> import tickframe as tf
    >>> t = tf.table({"delay": [3.0, 70.0, None]})
    >>> late = tf.when(tf.col("delay") > 60).then(tf.lit("late")).otherwise(tf.lit("fine"))
    >>> t.select(late.alias("class")).to_dict()
    {'class': ['fine', 'late', 'fine']}
    """
    conditions = [into_expr(condition, "when"), *(col(name) == value for name, value in equals.items())]
    whole = conditions[0]
    for other in conditions[1:]:
        whole = whole & other
    return When(None, whole._native)


def len() -> Expr:
    """How many rows there are, in an aggregation."""
    return Expr(_native.Expr.aggregate("len", None))


def coalesce(*items: IntoExpr) -> Expr:
    """The first value that is not null; a bare string is a column."""
    return Expr(_native.Expr.call("coalesce", [into_expr(item, "coalesce")._native for item in flatten(items)]))


def min_horizontal(*items: IntoExpr) -> Expr:
    """The least of several columns in each row; nulls are left out."""
    return Expr(
        _native.Expr.call("min_horizontal", [into_expr(item, "min_horizontal")._native for item in flatten(items)])
    )


def max_horizontal(*items: IntoExpr) -> Expr:
    """The greatest of several columns in each row; nulls are left out."""
    return Expr(
        _native.Expr.call("max_horizontal", [into_expr(item, "max_horizontal")._native for item in flatten(items)])
    )


def _random(name: str, bounds: Iterable[object], seed: int | None) -> Expr:
    return Expr(_native.Expr.call(name, [into_expr(bound, name)._native for bound in bounds], seed=seed))


def random_float(low: IntoExpr = 0.0, high: IntoExpr = 1.0, *, seed: int | None = None) -> Expr:
    """A number from `low` to before `high`, drawn when the row is computed, and then kept.

    It is drawn again when a column in the same expression changes in that row. Stored columns have it; `view` and
    `update_view` refuse it, of which two reads would differ.

    >>> import tickframe as tf
    >>> t = tf.empty_table(3).with_columns(x=tf.random_float(seed=7))
    >>> t.to_dict() == tf.empty_table(3).with_columns(x=tf.random_float(seed=7)).to_dict()
    True

    Args:
        low: the least number; a bare string is a column, as for all bounds.
        high: a number above all that are drawn.
        seed: with it a row, known by its key, gets the same number whenever it is computed.
    """
    return _random("random_float", (low, high), seed)


def random_int(low: IntoExpr, high: IntoExpr, *, seed: int | None = None) -> Expr:
    """A whole number from `low` to before `high`, drawn as `random_float` is."""
    return _random("random_int", (low, high), seed)


def random_bool(*, seed: int | None = None) -> Expr:
    """True or false, drawn as `random_float` is."""
    return _random("random_bool", (), seed)


def random_gaussian(mean: IntoExpr = 0.0, std: IntoExpr = 1.0, *, seed: int | None = None) -> Expr:
    """A number of the normal distribution, drawn as `random_float` is."""
    return _random("random_gaussian", (mean, std), seed)


@checked
def format(template: str, *values: IntoExpr) -> Expr:
    """A text with a value at each place of a template; null where one of them is.

    Places are written as Python writes them: ``{}``, ``{:.2f}``, ``{:>8}``, ``{:05d}``, ``{:,}``, ``{:.1%}``; a bracket
    itself is ``{{``.

    >>> import tickframe as tf
    >>> t = tf.table({"s": ["tea", None], "p": [1234.5, 2.0]})
    >>> t.select(a=tf.format("{} costs {:,.2f}", "s", "p"), b=tf.format("{:>6}|", "s")).to_dict()
    {'a': ['tea costs 1,234.50', None], 'b': ['   tea|', None]}

    Args:
        template: the text, with as many places as there are values.
        *values: columns or expressions; a bare string is a column.

    Raises:
        FormulaError: a template that cannot be read, or places without values; told where the expression is used.
        TypeMismatchError: a value that is no number at a place for numbers.
    """
    given = [lit(template), *(into_expr(value, "format") for value in flatten(values))]
    return Expr(_native.Expr.call("format", [each._native for each in given]))


def from_epoch(column: IntoExpr, time_unit: Literal["s", "ms", "us", "ns", "d"] = "s") -> Expr:
    """The instant so many seconds, or other units, after 1970-01-01T00:00:00; of days the date.

    >>> import tickframe as tf
    >>> t = tf.table({"x": [1_700_000_000, None]})
    >>> t.select(tf.from_epoch("x")).to_dict()
    {'x': [datetime.datetime(2023, 11, 14, 22, 13, 20), None]}

    Args:
        column: counts; a bare string is a column.
        time_unit: what is counted.

    Raises:
        DataError: an instant beyond the years 1677 to 2262.
    """
    given: object = time_unit
    if not isinstance(given, str) or given not in {"s", "ms", "us", "ns", "d"}:
        raise ValueError(f'from_epoch: time_unit is "s", "ms", "us", "ns" or "d", not {short(time_unit)}')
    counted = into_expr(column, "from_epoch")
    if time_unit == "d":
        return counted.cast("int32").cast("date")
    return counted.cast(Datetime(time_unit))


def arctan2(y: IntoExpr, x: IntoExpr) -> Expr:
    """The angle of the point (x, y)."""
    return Expr(_native.Expr.call("arctan2", [into_expr(y, "arctan2")._native, into_expr(x, "arctan2")._native]))


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
