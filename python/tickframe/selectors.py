"""Columns chosen by their types and names: what polars calls selectors.

A selector stands for as many columns as the table has of its kind. It takes every method and operator of expressions, and goes
wherever names of columns go. Selectors are sets: ``a | b``, ``a & b``, ``a - b``, ``a ^ b``, ``~a``.

>>> import tickframe as tf
>>> import tickframe.selectors as cs
>>> t = tf.table({"sym": ["A", "B"], "px": [1.5, 2.5], "size": [10, 20]})
>>> t.select(cs.numeric() * 2).to_dict()
{'px': [3.0, 5.0], 'size': [20, 40]}
>>> t.select(cs.numeric() - cs.integer(), ~cs.numeric()).columns
['px', 'sym']
>>> t.drop(cs.float()).columns, t.group_by(cs.string()).agg(cs.integer().sum()).to_dicts()[0]
(['sym', 'size'], {'sym': 'A', 'size': 10})
"""

from __future__ import annotations

import builtins
import datetime as _dt
import decimal as _decimal
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from tickframe import _native
from tickframe import dtypes as types
from tickframe.describe import named, short
from tickframe.dtypes import DataType
from tickframe.errors import ColumnNotFoundError
from tickframe.expr import Expr, flatten
from tickframe.schema import ColumnNames, Schema
from tickframe.several import Columns, column

if TYPE_CHECKING:
    from tickframe.table import Table

__all__ = [
    "Selector",
    "all",
    "alpha",
    "alphanumeric",
    "array",
    "binary",
    "boolean",
    "by_dtype",
    "by_index",
    "by_name",
    "categorical",
    "contains",
    "date",
    "datetime",
    "decimal",
    "digit",
    "duration",
    "empty",
    "ends_with",
    "exclude",
    "expand_selector",
    "first",
    "float",
    "integer",
    "is_selector",
    "last",
    "list",
    "matches",
    "nested",
    "numeric",
    "object",
    "signed_integer",
    "starts_with",
    "string",
    "struct",
    "temporal",
    "time",
    "unsigned_integer",
]

Kind: TypeAlias = "DataType | type"


@dataclass(frozen=True, repr=False)
class _Set:
    """What a selector chooses of a table's columns."""

    text: str

    def chosen(self, columns: ColumnNames) -> Sequence[str]:
        """The names that are chosen, in order."""
        raise NotImplementedError

    def __call__(self, columns: Sequence[str] | None) -> builtins.list[Expr]:
        """The chosen columns of a table."""
        if not isinstance(columns, ColumnNames):
            raise TypeError(f"{self} stands for columns of a table; names of columns are taken here")
        return [column(name) for name in self.chosen(columns)]

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True, repr=False)
class _OfType(_Set):
    """Columns by their types: each is a type, or the class of one."""

    kinds: tuple[Kind, ...]

    def chosen(self, columns: ColumnNames) -> Sequence[str]:
        return [name for name, kind in columns.types().items() if builtins.any(kind == wanted for wanted in self.kinds)]


@dataclass(frozen=True, repr=False)
class _Whose(_Set):
    """Columns whose type has a property, by its name."""

    holds: tuple[str, ...]

    def chosen(self, columns: ColumnNames) -> Sequence[str]:
        return [
            name for name, kind in columns.types().items() if builtins.all(getattr(kind, each) for each in self.holds)
        ]


@dataclass(frozen=True, repr=False)
class _Instants(_Set):
    """Columns of instants of some units and zones; ``"*"`` is any zone, None is none."""

    units: tuple[str, ...]
    zones: tuple[str | None, ...]

    def chosen(self, columns: ColumnNames) -> Sequence[str]:
        return [
            name
            for name, kind in columns.types().items()
            if isinstance(kind, types.Datetime) and kind.unit in self.units and self._in_zone(kind.zone)
        ]

    def _in_zone(self, zone: str | None) -> bool:
        return zone in self.zones or (zone is not None and "*" in self.zones)


@dataclass(frozen=True, repr=False)
class _Matching(_Set):
    """Columns whose names have a pattern."""

    pattern: str

    def chosen(self, columns: ColumnNames) -> Sequence[str]:
        return [name for name in columns if re.search(self.pattern, name)]


@dataclass(frozen=True, repr=False)
class _Named(_Set):
    """Columns by their names, in the order that is given."""

    names: tuple[str, ...]
    all_there: bool = True

    def chosen(self, columns: ColumnNames) -> Sequence[str]:
        for name in self.names:
            if self.all_there and name not in columns:
                error = ColumnNotFoundError(
                    f"{self}: no column {short(name)}; the columns are {builtins.list(columns)}"
                )
                error.column, error.columns = name, builtins.list(columns)
                raise error
        return [name for name in self.names if name in columns]


@dataclass(frozen=True, repr=False)
class _Placed(_Set):
    """Columns by their places, in the order that is given."""

    places: tuple[int, ...]
    all_there: bool = True

    def chosen(self, columns: ColumnNames) -> Sequence[str]:
        width = len(columns)
        there = [place for place in self.places if -width <= place < width]
        if self.all_there and len(there) < len(self.places):
            missing = next(place for place in self.places if place not in there)
            raise ColumnNotFoundError(f"{self}: no column at {missing}; there are {width}, {builtins.list(columns)}")
        return builtins.list(dict.fromkeys(columns[place] for place in there))


@dataclass(frozen=True, repr=False)
class _Both(_Set):
    """What two selectors choose, put together by an operator of sets; in the order of the table."""

    one: _Set
    other: _Set
    operator: str

    def chosen(self, columns: ColumnNames) -> Sequence[str]:
        one, other = set(self.one.chosen(columns)), set(self.other.chosen(columns))
        meet = {"|": one | other, "&": one & other, "-": one - other, "^": one ^ other}[self.operator]
        return [name for name in columns if name in meet]


class Selector(Columns):
    """Columns of a table by their types and names; made by the functions of this module."""

    __slots__ = ()

    def __init__(self, chosen: _Set) -> None:
        super().__init__(chosen)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Selector, (self._root,))

    def _with(self, other: Any, operator: str) -> Selector:
        return Selector(_Both(f"({self._root} {operator} {other._root})", self._root, other._root, operator))

    def __or__(self, other: Any) -> Expr:
        return self._with(other, "|") if isinstance(other, Selector) else super().__or__(other)

    def __and__(self, other: Any) -> Expr:
        return self._with(other, "&") if isinstance(other, Selector) else super().__and__(other)

    def __sub__(self, other: Any) -> Expr:
        return self._with(other, "-") if isinstance(other, Selector) else super().__sub__(other)

    def __xor__(self, other: Any) -> Expr:
        return self._with(other, "^") if isinstance(other, Selector) else super().__xor__(other)

    def __invert__(self) -> Selector:
        return all()._with(self, "-")

    def exclude(self, *given: Any) -> Selector:
        """The same columns but some: names, types, or other selectors.

        >>> import tickframe as tf
        >>> import tickframe.selectors as cs
        >>> tf.table({"k": [1], "x": [1.5], "y": [2.5]}).select(cs.float().exclude("y")).columns
        ['x']
        """
        return self._with(left_out("cs.exclude", given), "-")

    def as_expr(self) -> Expr:
        """The columns as expressions, whose operators are those of values: ``~cs.boolean().as_expr()``.

        >>> import tickframe as tf
        >>> import tickframe.selectors as cs
        >>> tf.table({"k": ["a"], "b": [True]}).select(~cs.boolean().as_expr()).to_dict()
        {'b': [False]}
        """
        return Columns(self._root)


def _call(function: str, *given: Any, **options: Any) -> str:
    """A call of a function as its text."""
    arguments = [*map(repr, given), *(f"{name}={value!r}" for name, value in options.items())]
    return f"cs.{function}({', '.join(arguments)})"


def _texts(function: str, given: Iterable[Any]) -> tuple[str, ...]:
    texts = flatten(given)
    for each in texts:
        if not isinstance(each, str):
            raise TypeError(f"cs.{function}: a name is a str, not {named(each)}")
    if not texts:
        raise TypeError(f"cs.{function}: give a name, at least")
    return tuple(str(each) for each in texts)


_OF_PYTHON: dict[Any, tuple[Kind, ...]] = {
    int: (
        *(types.Int8, types.Int16, types.Int32, types.Int64),
        *(types.UInt8, types.UInt16, types.UInt32, types.UInt64),
    ),
    builtins.float: (types.Float16, types.Float32, types.Float64),
    _dt.datetime: (types.Datetime,),
    _dt.timedelta: (types.Duration,),
    _decimal.Decimal: (types.Decimal,),
    builtins.list: (types.List,),
    dict: (types.Struct,),
}
"""What a Python type means here: each type whose values it holds."""


def _kinds(function: str, given: Iterable[Any]) -> tuple[Kind, ...]:
    """The types that are meant, of ours, of Python, of polars, of pyarrow, or by their names."""
    flat = flatten(given)
    if not flat:
        raise TypeError(f"cs.{function}: give a type, at least")
    found: builtins.list[Kind] = []
    for each in flat:
        wanted: Any = each
        if isinstance(wanted, type) and wanted in _OF_PYTHON:
            found.extend(_OF_PYTHON[wanted])
        elif isinstance(wanted, type) and issubclass(wanted, DataType) and wanted is not DataType:
            found.append(wanted)
        else:
            found.append(types.dtype(wanted))
    return tuple(found)


def left_out(function: str, given: Iterable[Any]) -> Selector:
    """What is left out: names, types and selectors."""
    flat = flatten(given)
    names = tuple(each for each in flat if isinstance(each, str))
    kinds = [each for each in flat if not isinstance(each, (str, Selector))]
    for each in kinds:
        if isinstance(each, Expr):
            raise TypeError(f"{function}: {short(each)} is neither a name nor a type nor a selector")
    parts: builtins.list[Any] = [each for each in flat if isinstance(each, Selector)]
    if names:
        parts.append(by_name(*names, require_all=False))
    if kinds:
        parts.append(by_dtype(*kinds))
    if not parts:
        raise TypeError(f"{function}: say which columns: names, types or selectors")
    made: Selector = parts[0]
    for part in parts[1:]:
        made = made._with(part, "|")
    return made


def _of_type(function: str, *kinds: Kind) -> Selector:
    return Selector(_OfType(_call(function), kinds))


def _whose(function: str, *holds: str) -> Selector:
    return Selector(_Whose(_call(function), holds))


# By name and place ----------------------------------------------------------------------------------------


def all() -> Selector:
    """All columns."""
    return Selector(_Matching(_call("all"), ""))


def empty() -> Selector:
    """No column.

    >>> import tickframe as tf
    >>> import tickframe.selectors as cs
    >>> tf.table({"sym": ["A"], "px": [1.5]}).select("sym", cs.empty()).columns
    ['sym']
    """
    return Selector(_Named(_call("empty"), ()))


def by_name(*names: str | Sequence[str], require_all: bool = True) -> Selector:
    """Columns by their names, in the order given.

    Args:
        *names: names, or lists of them.
        require_all: whether a name that the table has not is an error.

    >>> import tickframe as tf
    >>> import tickframe.selectors as cs
    >>> tf.table({"x": [1], "y": [2]}).select(cs.by_name("y", "x", "z", require_all=False)).columns
    ['y', 'x']
    """
    texts = tuple(dict.fromkeys(_texts("by_name", names)))
    options = {} if require_all else {"require_all": False}
    return Selector(_Named(_call("by_name", *texts, **options), texts, bool(require_all)))


def by_index(*indices: int | Sequence[int], require_all: bool = True) -> Selector:
    """Columns by their places, in the order given; negative ones count from the end.

    >>> import tickframe as tf
    >>> import tickframe.selectors as cs
    >>> tf.table({"x": [1], "y": [2], "z": [3]}).select(cs.by_index(-1, 0)).columns
    ['z', 'x']
    """
    flat: builtins.list[Any] = flatten(indices)
    for each in flat:
        if not isinstance(each, int) or isinstance(each, bool):
            raise TypeError(f"cs.by_index: a place is an int, not {named(each)}")
    options = {} if require_all else {"require_all": False}
    return Selector(_Placed(_call("by_index", *flat, **options), tuple(flat), bool(require_all)))


def first() -> Selector:
    """The first column."""
    return Selector(_Placed(_call("first"), (0,)))


def last() -> Selector:
    """The last column."""
    return Selector(_Placed(_call("last"), (-1,)))


def matches(pattern: str) -> Selector:
    """Columns in whose names a regular expression is found.

    >>> import tickframe as tf
    >>> import tickframe.selectors as cs
    >>> tf.table({"bid": [1], "ask": [2], "bid_size": [3]}).select(cs.matches("^bid")).columns
    ['bid', 'bid_size']
    """
    (text,) = _texts("matches", [pattern])
    try:
        re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"cs.matches: {short(text)} is no regular expression: {error}") from None
    return Selector(_Matching(_call("matches", text), text))


def _having(function: str, given: Sequence[str], before: str, after: str) -> Selector:
    texts = _texts(function, given)
    pattern = f"{before}(?:{'|'.join(map(re.escape, texts))}){after}"
    return Selector(_Matching(_call(function, *texts), pattern))


def contains(*substring: str) -> Selector:
    """Columns whose names contain one of these texts."""
    return _having("contains", substring, "", "")


def starts_with(*prefix: str) -> Selector:
    """Columns whose names start with one of these texts.

    >>> import tickframe as tf
    >>> import tickframe.selectors as cs
    >>> tf.table({"bid": [1], "bid_size": [2], "ask": [3]}).select(cs.starts_with("bid")).columns
    ['bid', 'bid_size']
    """
    return _having("starts_with", prefix, r"\A", "")


def ends_with(*suffix: str) -> Selector:
    """Columns whose names end with one of these texts.

    >>> import tickframe as tf
    >>> import tickframe.selectors as cs
    >>> tf.table({"bid": [1], "bid_size": [2], "ask_size": [3]}).drop(cs.ends_with("_size")).columns
    ['bid']
    """
    return _having("ends_with", suffix, "", r"\Z")


def _letters(function: str, other: str, ascii_only: bool, ignore_spaces: bool) -> Selector:
    """Columns whose names have only letters, and what `other` names."""
    letters = "a-zA-Z" if ascii_only else r"^\W\d_"
    space = " " if ignore_spaces else ""
    pattern = rf"\A(?:[{letters}]|[{other}{space}])+\Z" if other or space else rf"\A[{letters}]+\Z"
    options = {name: True for name, on in {"ascii_only": ascii_only, "ignore_spaces": ignore_spaces}.items() if on}
    return Selector(_Matching(_call(function, **options), pattern))


def alpha(*, ascii_only: bool = False, ignore_spaces: bool = False) -> Selector:
    """Columns whose names have only letters.

    Args:
        ascii_only: whether only those from a to z are letters.
        ignore_spaces: whether spaces may be between them.
    """
    return _letters("alpha", "", ascii_only, ignore_spaces)


def alphanumeric(*, ascii_only: bool = False, ignore_spaces: bool = False) -> Selector:
    """Columns whose names have only letters and digits; arguments as of `alpha`.

    >>> import tickframe as tf
    >>> import tickframe.selectors as cs
    >>> tf.table({"px": [1], "px2": [2], "px_3": [3]}).select(cs.alphanumeric()).columns
    ['px', 'px2']
    """
    return _letters("alphanumeric", "0-9" if ascii_only else r"\d", ascii_only, ignore_spaces)


def digit(*, ascii_only: bool = False) -> Selector:
    """Columns whose names have only digits.

    >>> import tickframe as tf
    >>> import tickframe.selectors as cs
    >>> tf.table({"sym": ["A"], "2024": [1.0], "2025": [2.0]}).select(cs.digit()).columns
    ['2024', '2025']
    """
    options = {"ascii_only": True} if ascii_only else {}
    return Selector(_Matching(_call("digit", **options), r"\A[0-9]+\Z" if ascii_only else r"\A\d+\Z"))


def exclude(*given: str | Kind | Selector | Sequence[str]) -> Selector:
    """All columns but some: names, types, or what other selectors choose.

    >>> import tickframe as tf
    >>> import tickframe.selectors as cs
    >>> tf.table({"k": ["a"], "x": [1], "y": [2.5]}).select(cs.exclude("k", tf.Float64)).columns
    ['x']
    """
    return all()._with(left_out("cs.exclude", given), "-")


# By type --------------------------------------------------------------------------------------------------


def by_dtype(*kinds: Any) -> Selector:
    """Columns of some types.

    Args:
        *kinds: types, or lists of them. The class of a type means all of its types: ``tf.Datetime`` those of every unit and
            zone. ``int`` and ``float`` mean those of every width.

    >>> import tickframe as tf
    >>> import tickframe.selectors as cs
    >>> t = tf.table({"x": [1], "y": [2.5], "s": ["a"]}).cast({"x": tf.Int32})
    >>> t.select(cs.by_dtype(int, tf.String)).columns
    ['x', 's']
    """
    found = _kinds("by_dtype", kinds)
    return Selector(_OfType(_call("by_dtype", *found), found))


def numeric() -> Selector:
    """Columns of numbers: integers, floats and decimals."""
    return _whose("numeric", "is_numeric")


def integer() -> Selector:
    """Columns of whole numbers."""
    return _whose("integer", "is_integer")


def signed_integer() -> Selector:
    """Columns of whole numbers that may be negative."""
    return _of_type("signed_integer", types.Int8, types.Int16, types.Int32, types.Int64)


def unsigned_integer() -> Selector:
    """Columns of whole numbers that are never negative."""
    return _of_type("unsigned_integer", types.UInt8, types.UInt16, types.UInt32, types.UInt64)


def float() -> Selector:
    """Columns of floats."""
    return _whose("float", "is_float")


def decimal() -> Selector:
    """Columns of decimals, of every precision and scale."""
    return _of_type("decimal", types.Decimal)


def boolean() -> Selector:
    """Columns of truth values."""
    return _of_type("boolean", types.Boolean)


def string(*, include_categorical: bool = False) -> Selector:
    """Columns of texts.

    Args:
        include_categorical: whether dictionaries of texts are meant too.
    """
    kinds: tuple[Kind, ...] = (types.String, types.Dictionary) if include_categorical else (types.String,)
    options = {"include_categorical": True} if include_categorical else {}
    return Selector(_OfType(_call("string", **options), kinds))


def categorical() -> Selector:
    """Columns that are dictionaries: polars' Categorical and Enum."""
    return _of_type("categorical", types.Dictionary)


def binary() -> Selector:
    """Columns of bytes."""
    return _of_type("binary", types.Binary, types.FixedBinary)


def temporal() -> Selector:
    """Columns of dates, times, instants or durations.

    >>> import datetime as dt
    >>> import tickframe as tf
    >>> import tickframe.selectors as cs
    >>> tf.table({"day": [dt.date(2024, 1, 31)], "at": [dt.time(9, 30)], "px": [1.5]}).select(cs.temporal()).columns
    ['day', 'at']
    """
    return _whose("temporal", "is_temporal")


def date() -> Selector:
    """Columns of dates."""
    return _of_type("date", types.Date)


def time() -> Selector:
    """Columns of times of the day."""
    return _of_type("time", types.Time)


_UNITS = ("s", "ms", "us", "ns")


def _units(function: str, given: str | Sequence[str] | None) -> tuple[str, ...]:
    units = _UNITS if given is None else _texts(function, [given])
    for unit in units:
        if unit not in _UNITS:
            raise ValueError(f'cs.{function}: a time unit is "s", "ms", "us" or "ns", not {short(unit)}')
    return units


def datetime(
    time_unit: str | Sequence[str] | None = None, time_zone: str | Sequence[str | None] | None = ("*", None)
) -> Selector:
    """Columns of instants.

    Args:
        time_unit: ``"s"``, ``"ms"``, ``"us"`` or ``"ns"``, or several; each without it.
        time_zone: a zone, or several; ``"*"`` is any zone, None is none.

    >>> import tickframe as tf
    >>> import tickframe.selectors as cs
    >>> t = tf.append_table({"here": tf.Datetime("us"), "utc": tf.Datetime("ns", "UTC")}, graph=tf.Graph())
    >>> t.select(cs.datetime(time_zone="*")).columns, t.select(cs.datetime("us")).columns
    (['utc'], ['here'])
    """
    units = _units("datetime", time_unit)
    zones: tuple[Any, ...] = tuple(flatten([time_zone]))
    for zone in zones:
        if not (zone is None or isinstance(zone, str)):
            raise TypeError(f"cs.datetime: a time zone is a str or None, not {named(zone)}")
    options: dict[str, Any] = {} if time_unit is None else {"time_unit": time_unit}
    options |= {} if zones == ("*", None) else {"time_zone": zones[0] if len(zones) == 1 else zones}
    return Selector(_Instants(_call("datetime", **options), units, zones))


def duration(time_unit: str | Sequence[str] | None = None) -> Selector:
    """Columns of durations, of some units or of all."""
    units = _units("duration", time_unit)
    options = {} if time_unit is None else {"time_unit": time_unit}
    return Selector(_OfType(_call("duration", **options), tuple(types.Duration(unit) for unit in units)))


def nested() -> Selector:
    """Columns of lists, arrays, structs or maps."""
    return _of_type("nested", types.List, types.Array, types.Struct, types.Map)


def list() -> Selector:
    """Columns of lists."""
    return _of_type("list", types.List)


def array() -> Selector:
    """Columns of lists of one fixed length."""
    return _of_type("array", types.Array)


def struct() -> Selector:
    """Columns of structs."""
    return _of_type("struct", types.Struct)


def object() -> Selector:
    """Columns of Arrow types that are carried without looking inside."""
    return _of_type("object", types.Object)


# Of selectors ---------------------------------------------------------------------------------------------


def is_selector(given: Any) -> bool:
    """Whether it is a selector.

    >>> import tickframe as tf
    >>> import tickframe.selectors as cs
    >>> cs.is_selector(cs.numeric()), cs.is_selector(cs.numeric() * 2), cs.is_selector(tf.col("x"))
    (True, False, False)
    """
    return isinstance(given, Selector)


def expand_selector(target: Table | Mapping[str, Any], selector: Selector) -> tuple[str, ...]:
    """The names of the columns that a selector chooses of a table or a schema.

    >>> import tickframe as tf
    >>> import tickframe.selectors as cs
    >>> cs.expand_selector(tf.Schema({"s": str, "x": int}), cs.numeric())
    ('x',)
    """
    if not isinstance(selector, Selector):
        raise TypeError(f"cs.expand_selector: {short(selector)} is no selector")
    native = getattr(target, "_native", None)
    if isinstance(native, _native.Table):
        return tuple(selector._root.chosen(ColumnNames(native)))
    if not isinstance(target, Mapping):
        raise TypeError(f"cs.expand_selector: give a table or a schema, not {named(target)}")
    return tuple(selector._root.chosen(ColumnNames(Schema(target))))
