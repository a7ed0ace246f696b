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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypeGuard

from tickframe import _native
from tickframe.aggregates import Aggregates
from tickframe.arguments import check_all, encodable
from tickframe.arithmetic import Arithmetic, Text
from tickframe.chosen import where
from tickframe.compares import Compares
from tickframe.describe import named, short
from tickframe.dtypes import DataTypeLike
from tickframe.dtypes import dtype as as_dtype
from tickframe.errors import InvalidOperationError
from tickframe.foreign import array_like, operand
from tickframe.hints import EXPRESSIONS, RUNNING, UnknownNameError, unknown
from tickframe.namespaces.binary import BinaryNamespace
from tickframe.namespaces.datetime import DatetimeNamespace
from tickframe.namespaces.list import ListNamespace
from tickframe.namespaces.name import NameNamespace
from tickframe.namespaces.string import StringNamespace
from tickframe.namespaces.struct import StructNamespace
from tickframe.rolling import Rolls
from tickframe.rolling_lists import RollsLists
from tickframe.running import Runs

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


_NONE_GIVEN = object()
"""In place of an argument that may be None."""


class RunningValuesError(InvalidOperationError, AttributeError):
    """A method whose value runs on from row to row, of which there is no expression yet."""

    def __init__(self, name: Text) -> None:
        what = "of those there are, t.update_by(tf.update_by.cum_sum(...), by=...) is one; until then"
        super().__init__(
            f"{name}: an expression of values that run on from row to row is not available yet; {what}, or "
            "compute them of whole groups with the list functions of implode(), or of a snapshot: t.to_polars()"
        )
        self.name = name

    def __reduce__(self) -> tuple[Any, ...]:
        return (RunningValuesError, (self.name,))


@check_all
class Expr(Arithmetic, Aggregates, Compares, Rolls, RollsLists, Runs):
    """What to compute for each row, or for each group of rows. Made by `col`, `lit`, `when` and operators."""

    __slots__ = ("_native",)
    _is_expression = True

    def __init__(self, native: _native.Expr) -> None:
        self._native = native

    @staticmethod
    def _of(native: _native.Expr) -> Expr:
        return Expr(native)

    @staticmethod
    def _from(item: object, operation: Text) -> Expr:
        return into_expr(item, operation)

    @staticmethod
    def _value(item: object, operation: Text) -> Expr:
        return Expr(literal(item, operation))

    def _for(self, columns: Sequence[Text] | None) -> Sequence[Expr]:
        """The expressions that it stands for over a table of these columns."""
        del columns
        return (self,)

    def _renamed(self, name_of: Callable[[Text], Text] | None) -> Expr:
        """Under the name that a function makes of its own; without one under that of the first column it reads."""
        if name_of is not None:
            return self.alias(name_of(self._native.output_name()))
        read = self._native.columns()
        return self.alias(read[0]) if read else self

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

    def __getitem__(self, index: object) -> Expr:
        """Of lists the element at a place, or those of a slice; of structs a field by its name.

        >>> import tickframe as tf
        >>> t = tf.table({"v": [[3, 1, 2]], "p": [{"a": 1}]})
        >>> t.select(first=tf.col("v")[0], rest=tf.col("v")[1:], a=tf.col("p")["a"]).to_dicts()
        [{'first': 3, 'rest': [1, 2], 'a': 1}]
        """
        if isinstance(index, builtins.str):
            return self.struct.field(index)
        if isinstance(index, slice):
            start, stop, step = index.start or 0, index.stop, index.step
            if step in {None, 1} and all(isinstance(at, (int, type(None))) for at in (start, stop)):
                if stop is None:
                    return self.list.slice(start)
                if (start < 0) == (stop < 0):
                    return self.list.slice(start, max(stop - start, 0))
            raise TypeError(
                f"a slice of lists counts both ends from the same side, by ones: [1:3], [-3:-1]; not {short(index)}"
            )
        if isinstance(index, (int, Expr)) and not isinstance(index, bool):
            return self.list.get(index)
        raise TypeError(
            f"an expression of lists is indexed by places, one of structs by the names of fields, not by {short(index)}; "
            "the values of a table are t[name], a part of a text is .str.slice(i, n)"
        )

    def __iter__(self) -> NoReturn:
        raise TypeError(
            "an expression has no values to go through: those of a table are t[name].to_list(), the element of a list "
            ".list.get(i), a part of a text .str.slice(i, n); sum(...) over rows is .sum(), x in ... is .is_in([x])"
        )

    def __contains__(self, item: object) -> NoReturn:
        self.__iter__()

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
        if name in RUNNING:
            raise RunningValuesError(name)
        hint = lambda: unknown(name, "expression", EXPRESSIONS, dir(type(self)))  # noqa: E731
        raise UnknownNameError(f"an expression has no {name!r}", name, self, hint)

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

    def repeat_by(self, by: object) -> Expr:
        """A list of the value, `by` times; null where `by` is.

        >>> import tickframe as tf
        >>> tf.table({"x": ["a", "b", None], "n": [2, 0, 1]}).select(tf.col("x").repeat_by("n")).to_dict()
        {'x': [['a', 'a'], [], [None]]}

        Args:
            by: how often; a bare string is a column.

        Raises:
            DataError: a number below 0, or more elements than there is memory for.
        """
        return self._call("repeat_by", into_expr(by, "repeat_by"))

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
        return Expr(where(is_row, shifted)._native.otherwise(literal(fill_value)))

    def diff(self, n: int = 1) -> Expr:
        """The value less the one `n` rows earlier; null where there is no such row. Of unsigned numbers it has a sign.

        >>> import tickframe as tf
        >>> tf.table({"x": [1, 4, 9]}).select(tf.col("x").diff()).to_dict()
        {'x': [None, 3, 5]}
        >>> tf.table({"x": [3, 1]}, schema={"x": tf.UInt8}).select(tf.col("x").diff()).rows()
        [(None,), (-2,)]
        """
        return self._call("difference", self.shift(n))

    def get(self, index: object) -> Expr:
        """The cell of this column at a position of the table; null outside it. For static and blink tables.

        >>> import tickframe as tf
        >>> tf.table({"x": [10, 20], "at": [1, 5]}).with_columns(y=tf.col("x").get(tf.col("at"))).to_dict()
        {'x': [10, 20], 'at': [1, 5], 'y': [20, None]}
        """
        return self._call("get", index)

    def replace(self, old: object, new: object = _NONE_GIVEN) -> Expr:
        """Other values for some, which are given as ``{old: new}``, or as two lists, or as two values; the rest stay.

        >>> import tickframe as tf
        >>> t = tf.table({"side": ["B", "S", None]})
        >>> t.select(tf.col("side").replace({"B": "buy", "S": "sell", None: "?"})).to_dict()
        {'side': ['buy', 'sell', '?']}

        Args:
            old: a dict of old and new values; or the old value, or a list of them.
            new: the new value, or a list of as many; one new value stands for all old ones.

        Raises:
            ValueError: lists of different lengths.
        """
        pairs = _replaced(old, new)
        made: _native.Expr | None = None
        for was, becomes in pairs:
            one = literal(was, "replace")
            made = _native.Expr.when(made, self.eq_missing(Expr(one))._native, literal(becomes, "replace"))
        return self if made is None else Expr(made.otherwise(self._native)).alias(self._native.output_name())

    def is_duplicated(self) -> Expr:
        """Whether several rows have this value; null is a value as any other.

        >>> import tickframe as tf
        >>> t = tf.table({"x": [1, 2, 1]})
        >>> t.select(twice=tf.col("x").is_duplicated(), once=tf.col("x").is_unique()).to_dict()
        {'twice': [True, False, True], 'once': [False, True, False]}
        """
        return (self.len().over(self) > 1).alias(self._native.output_name())

    def is_unique(self) -> Expr:
        """Whether no other row has this value; null is a value as any other."""
        return (self.len().over(self) == 1).alias(self._native.output_name())

    # Types and names --------------------------------------------------------------------------------------

    def alias(self, name: Text) -> Expr:
        """The same values under another name."""
        return Expr(self._native.alias(name))

    def cast(self, to: DataTypeLike, *, strict: bool = True) -> Expr:
        """Another type; a value that does not fit is an error naming row and value, or null unless `strict`."""
        return Expr(self._native.cast(as_dtype(to)._spec, strict))

    # Groups of rows --------------------------------------------------------------------------------

    def over(
        self,
        partition_by: IntoExpr | Iterable[IntoExpr] | None = None,
        *more: IntoExpr,
        order_by: IntoExpr | Iterable[IntoExpr] | None = None,
        descending: bool = False,
        nulls_last: bool = False,
    ) -> Expr:
        """The same with aggregates taken over the row's group, and what reads other rows within it: one value a row, kept true.

        >>> import tickframe as tf
        >>> t = tf.table({"k": ["a", "b", "a"], "x": [1, 2, 3]})
        >>> t.with_columns(share=tf.col("x") / tf.col("x").sum().over("k")).to_dict()["share"]
        [0.25, 1.0, 0.75]
        >>> t.with_columns(change=tf.col("x").diff().over("k")).to_dict()["change"]
        [None, None, 2]
        >>> t.with_columns(sofar=tf.col("x").cum_sum().over("k", order_by="x", descending=True)).to_dict()["sofar"]
        [4, 2, 3]

        Args:
            partition_by: columns or expressions; rows equal in them are one group, null being a value as any other.
                Without them all rows are one group, as for an aggregate without ``over``.
            *more: further ones.
            order_by: the order in which `first`, `last`, `shift`, `diff`, `cum_sum` and its like, fills and windows of rows
                are meant, rows that compare equal as they come; the order of the rows without it. Sums, counts and
                extremes are the same in every order.
            descending: the greatest first.
            nulls_last: nulls last, not first.

        Raises:
            InvalidOperationError: a position, the clock or random numbers within groups; `order_by` with what goes by an
                order of its own: windows between stamps, `ewm_mean_by`, `rank`.
        """
        by = [] if partition_by is None else flatten([partition_by])
        order = [] if order_by is None else flatten([order_by])
        groups = [each._native for item in flatten([by, *more]) for each in into_expr(item, "over")._for(None)]
        return Expr(
            self._native.over(groups, [into_expr(item, "over")._native for item in order], descending, nulls_last)
        )

    def pipe(self, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """``function(self, *args, **options)``."""
        return function(self, *args, **options)

    # About the expression itself --------------------------------------------------------------------------

    def meta_eq(self, other: Expr) -> bool:
        """Whether two expressions are the same tree. ``==`` makes a new expression instead.

        >>> import tickframe as tf
        >>> x = tf.col("x")
        >>> (x + 1).meta_eq(tf.col("x") + 1), (x + 1).meta_eq(1 + x)
        (True, False)
        """
        return self._native.same(other._native)

    def meta_output_name(self) -> Text:
        """The name of the column it makes.

        >>> import tickframe as tf
        >>> tf.col("x").sum().alias("total").meta_output_name(), (tf.col("x") * 2).meta_output_name()
        ('total', 'x')
        """
        return self._native.output_name()

    def meta_columns(self) -> list[Text]:
        """The columns it reads, each once.

        >>> import tickframe as tf
        >>> (tf.col("x") * tf.col("y") + tf.col("x")).meta_columns()
        ['x', 'y']
        """
        return self._native.columns()

    @property
    def name(self) -> NameNamespace:
        """Other names, made of the one it has."""
        return NameNamespace(self)

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


def _replaced(old: object, new: object) -> list[tuple[object, object]]:
    """The old values, each with its new one."""
    if isinstance(old, Mapping):
        if new is not _NONE_GIVEN:
            raise TypeError("replace: give a dict of old and new values, or the two apart, not both")
        return list(old.items())
    if new is _NONE_GIVEN:
        raise TypeError(f"replace: give the new value for {short(old)} as well, or a dict of old and new values")
    if isinstance(old, (list, tuple)):
        if not isinstance(new, (list, tuple)):
            return [(was, new) for was in old]
        if builtins.len(old) != builtins.len(new):
            raise ValueError(f"replace: {builtins.len(old)} old values, {builtins.len(new)} new ones")
        return list(zip(old, new, strict=True))
    return [(old, new)]


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
            if not isinstance(item, (str, Expr)) and _is_nested(item):
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


def _is_nested(item: object) -> TypeGuard[Iterable[object]]:
    return isinstance(item, Iterable) and not isinstance(item, (bytes, Mapping)) and not _has_rows(item)


def _has_rows(item: object) -> bool:
    """Whether it is data, not a list of arguments: a frame, or an array of what are no names."""
    if array_like(item):
        values: Any = item
        return not all(isinstance(each, str) for each in values)
    return hasattr(item, "__arrow_c_stream__")


def spread(
    items: Iterable[object], named: Mapping[str, object], columns: Sequence[str], operation: str
) -> Iterator[tuple[Expr, str | None]]:
    """The arguments of `select` and its like, over a table of these columns: expressions of one column, and given names."""
    for item in flatten(items):
        yield from ((into_expr(each, operation), None) for each in into_expr(item, operation)._for(columns))
    for name, item in named.items():
        each = into_expr(item, f"{operation}: {name}")._for(columns)
        if builtins.len(each) != 1:
            raise TypeError(
                f"{operation}: {name} is the name of one column, and {short(item)} stands for {builtins.len(each)}; give it without a "
                f'name, or make their names: .name.prefix("{name}_")'
            )
        yield into_expr(each[0], f"{operation}: {name}"), name
