"""Data types, by polars' names: ``tf.Int64``, ``tf.Datetime("ns", "UTC")``, ``tf.List(tf.Int64)``.

A type is a value: two types are equal when they mean the same cells, whatever their layout in memory
(a ``utf8`` and a ``large_utf8`` column both are ``tf.String``). Wherever a type is asked for, the Python
type (``int``) and the name (``"int64"``, ``"list[str]"``) do as well.

>>> import tickframe as tf
>>> tf.dtype(int), tf.dtype("datetime[ns, UTC]"), tf.dtype("list[str]")
(Int64, Datetime('ns', 'UTC'), List(String))
>>> tf.Datetime("ms") == tf.Datetime
True
"""

from __future__ import annotations

import datetime as _dt
import decimal as _decimal
import importlib
import typing
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from tickframe import _native
from tickframe.arguments import text, whole
from tickframe.describe import named, short
from tickframe.errors import DataError

if TYPE_CHECKING:
    import types
    from collections.abc import Mapping
    from typing import Self

__all__ = [
    "Array",
    "Binary",
    "Boolean",
    "DataType",
    "DataTypeLike",
    "Date",
    "Datetime",
    "Decimal",
    "Dictionary",
    "Duration",
    "FixedBinary",
    "Float16",
    "Float32",
    "Float64",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Interval",
    "List",
    "Map",
    "Null",
    "Object",
    "String",
    "Struct",
    "Time",
    "UInt8",
    "UInt16",
    "UInt32",
    "UInt64",
    "dtype",
]

Spec: TypeAlias = tuple[object, ...]
"""A type as nested tuples, the form in which it crosses into Rust: ``("list", ("int64",))``."""


_DEEPEST = 64


def _nesting(spec: Spec) -> int:
    """How many types deep a type is: 0 for a number, 1 for a list of numbers."""
    inner = [part for part in spec[1:] if isinstance(part, tuple)]
    if spec[0] == "struct":
        inner = [kind for _, kind in inner[0]]
    return 1 + max(map(_nesting, inner), default=0) if inner else 0


class DataType:
    """What the cells of a column are. Compare with ``==``; a class stands for any of its instances."""

    __slots__ = ("_spec",)
    _spec: Spec

    def __init__(self, spec: Spec) -> None:
        if _nesting(spec) > _DEEPEST:
            raise DataError(f"types are nested more than {_DEEPEST} deep")
        self._spec = spec

    def __call__(self) -> Self:
        """Itself, so that ``tf.Int64()`` is ``tf.Int64``."""
        return self

    def _meaning(self) -> object:
        """What decides equality; layouts of one meaning share it."""
        return self._spec

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DataType):
            return self._meaning() == other._meaning()
        if isinstance(other, type) and issubclass(other, DataType):
            return other is not DataType and isinstance(self, other)
        return NotImplemented

    def __hash__(self) -> int:
        # A class equals its instances, so all instances of one class share their hash with it as far
        # as a set can tell: by the class alone.
        return hash(type(self)) if type(self) is not _Plain else hash(self._meaning())

    def __repr__(self) -> str:
        return type(self).__name__

    def __reduce__(self) -> tuple[object, ...]:
        return (from_spec, (self._spec,))

    @property
    def is_numeric(self) -> bool:
        """Whether arithmetic is defined: integers, floats, decimals.

        >>> import tickframe as tf
        >>> tf.Float64.is_numeric, tf.Decimal(10, 2).is_numeric, tf.Duration().is_numeric
        (True, True, False)
        """
        return str(self._spec[0]).startswith(("int", "uint", "float", "decimal")) and self._spec[0] != "interval"

    @property
    def is_integer(self) -> bool:
        """Whether the cells are whole numbers.

        >>> import tickframe as tf
        >>> tf.UInt8.is_integer, tf.Float64.is_integer
        (True, False)
        """
        return str(self._spec[0]).startswith(("int", "uint")) and self._spec[0] != "interval"

    @property
    def is_float(self) -> bool:
        """Whether the cells are IEEE floats.

        >>> import tickframe as tf
        >>> tf.Float32.is_float, tf.Decimal(10, 2).is_float
        (True, False)
        """
        return str(self._spec[0]).startswith("float")

    @property
    def is_temporal(self) -> bool:
        """Whether the cells are dates, times, instants or durations.

        >>> import tickframe as tf
        >>> tf.Date.is_temporal, tf.Duration().is_temporal, tf.Int64.is_temporal
        (True, True, False)
        """
        return str(self._spec[0]) in {"date32", "date64", "time32", "time64", "timestamp", "duration"}


_PLAIN_NAMES: dict[str, str] = {
    "null": "Null",
    "bool": "Boolean",
    "int8": "Int8",
    "int16": "Int16",
    "int32": "Int32",
    "int64": "Int64",
    "uint8": "UInt8",
    "uint16": "UInt16",
    "uint32": "UInt32",
    "uint64": "UInt64",
    "float16": "Float16",
    "float32": "Float32",
    "float64": "Float64",
    "utf8": "String",
    "large_utf8": "String",
    "utf8_view": "String",
    "binary": "Binary",
    "large_binary": "Binary",
    "binary_view": "Binary",
    "date32": "Date",
    "date64": "Date",
    "time32": "Time",
    "time64": "Time",
}


class _Plain(DataType):
    """A type without parameters that a user would name."""

    __slots__ = ()

    def _meaning(self) -> object:
        return _PLAIN_NAMES[str(self._spec[0])]

    def __repr__(self) -> str:
        return _PLAIN_NAMES[str(self._spec[0])]


Null: DataType = _Plain(("null",))
Boolean: DataType = _Plain(("bool",))
Int8: DataType = _Plain(("int8",))
Int16: DataType = _Plain(("int16",))
Int32: DataType = _Plain(("int32",))
Int64: DataType = _Plain(("int64",))
UInt8: DataType = _Plain(("uint8",))
UInt16: DataType = _Plain(("uint16",))
UInt32: DataType = _Plain(("uint32",))
UInt64: DataType = _Plain(("uint64",))
Float16: DataType = _Plain(("float16",))
Float32: DataType = _Plain(("float32",))
Float64: DataType = _Plain(("float64",))
String: DataType = _Plain(("utf8",))
Binary: DataType = _Plain(("binary",))
Date: DataType = _Plain(("date32",))
Time: DataType = _Plain(("time64", "ns"))

_UNITS = ("s", "ms", "us", "ns")


def _unit(given: object) -> str:
    unit = given if isinstance(given, str) else None
    if unit not in _UNITS:
        message = f"unit must be one of {', '.join(_UNITS)}, not {short(given)}"
        raise ValueError(message)
    return unit


class Datetime(DataType):
    """An instant: nanoseconds inside, whatever the declared unit.

    Args:
        unit: ``"s"``, ``"ms"``, ``"us"`` or ``"ns"``; what leaves through Arrow.
        zone: a zone of the IANA table, or None for a time without zone.
    """

    __slots__ = ()

    def __init__(self, unit: str = "ns", zone: str | None = None) -> None:
        if zone is not None:
            text(zone, "Datetime", "zone")
        super().__init__(("timestamp", _unit(unit), zone))

    @property
    def unit(self) -> str:
        """The declared unit.

        >>> import tickframe as tf
        >>> tf.Datetime("ms", "UTC").unit
        'ms'
        """
        return str(self._spec[1])

    @property
    def zone(self) -> str | None:
        """The zone, or None.

        >>> import tickframe as tf
        >>> tf.Datetime("ms", "UTC").zone, tf.Datetime().zone
        ('UTC', None)
        """
        return None if self._spec[2] is None else str(self._spec[2])

    def __repr__(self) -> str:
        return f"Datetime({self.unit!r})" if self.zone is None else f"Datetime({self.unit!r}, {self.zone!r})"


class Duration(DataType):
    """A span of time, in nanoseconds inside.

    Args:
        unit: ``"s"``, ``"ms"``, ``"us"`` or ``"ns"``; what leaves through Arrow.
    """

    __slots__ = ()

    def __init__(self, unit: str = "ns") -> None:
        super().__init__(("duration", _unit(unit)))

    @property
    def unit(self) -> str:
        """The declared unit.

        >>> import tickframe as tf
        >>> tf.Duration("us").unit
        'us'
        """
        return str(self._spec[1])

    def __repr__(self) -> str:
        return f"Duration({self.unit!r})"


class Decimal(DataType):
    """An exact decimal number of at most ``precision`` digits, ``scale`` of them after the point.

    >>> import tickframe as tf
    >>> import decimal
    >>> tf.table({"paid": [decimal.Decimal("1.25")]}).cast({"paid": tf.Decimal(10, 2)}).schema
    Schema({'paid': Decimal(10, 2)})
    """

    __slots__ = ()
    _NARROW: ClassVar[int] = 38
    _WIDE: ClassVar[int] = 76

    def __init__(self, precision: int = 38, scale: int = 0) -> None:
        whole(precision, "Decimal", "precision")
        whole(scale, "Decimal", "scale")
        if not 1 <= precision <= self._WIDE:
            message = f"precision must be 1 … {self._WIDE}, not {precision}"
            raise ValueError(message)
        super().__init__(("decimal128" if precision <= self._NARROW else "decimal256", precision, scale))

    def _meaning(self) -> object:
        return ("decimal", *self._spec[1:])

    def __repr__(self) -> str:
        return f"Decimal({self._spec[1]}, {self._spec[2]})"


class Interval(DataType):
    """A calendar period: months, days and nanoseconds, equal field by field, without order.

    >>> import tickframe as tf
    >>> tf.Interval() == tf.Interval, tf.Interval().is_temporal
    (True, False)
    """

    __slots__ = ()

    def __init__(self, unit: str = "month_day_nano") -> None:
        super().__init__(("interval", unit))


class FixedBinary(DataType):
    """Binary cells of one width.

    >>> import tickframe as tf
    >>> tf.append_table({"id": tf.FixedBinary(16)}, graph=tf.Graph()).schema
    Schema({'id': FixedBinary(16)})
    """

    __slots__ = ()

    def __init__(self, width: int) -> None:
        whole(width, "FixedBinary", "width")
        super().__init__(("fixed_binary", width))

    def __repr__(self) -> str:
        return f"FixedBinary({self._spec[1]})"


def _inner(spec: object) -> DataType:
    if not isinstance(spec, tuple):
        message = f"not a type: {short(spec)}"
        raise TypeError(message)
    return from_spec(spec)


class List(DataType):
    """A list of any length per cell."""

    __slots__ = ()

    def __init__(self, inner: DataTypeLike) -> None:
        super().__init__(("list", dtype(inner)._spec))

    @property
    def inner(self) -> DataType:
        """The type of the elements.

        >>> import tickframe as tf
        >>> tf.List(tf.List(int)).inner
        List(Int64)
        """
        return _inner(self._spec[1])

    def _meaning(self) -> object:
        return ("list", self.inner)

    def __repr__(self) -> str:
        return f"List({self.inner!r})"


class Array(DataType):
    """A list of one length per cell."""

    __slots__ = ()

    def __init__(self, inner: DataTypeLike, width: int) -> None:
        whole(width, "Array", "width")
        super().__init__(("fixed_list", dtype(inner)._spec, width))

    @property
    def inner(self) -> DataType:
        """The type of the elements.

        >>> import tickframe as tf
        >>> tf.Array(float, 3).inner
        Float64
        """
        return _inner(self._spec[1])

    def __repr__(self) -> str:
        return f"Array({self.inner!r}, {self._spec[2]})"


class Struct(DataType):
    """Named fields per cell, given as a mapping from name to type."""

    __slots__ = ()

    def __init__(self, fields: Mapping[str, DataTypeLike]) -> None:
        super().__init__(("struct", tuple((name, dtype(kind)._spec) for name, kind in fields.items())))

    @property
    def fields(self) -> dict[str, DataType]:
        """Name and type of each field, in order.

        >>> import tickframe as tf
        >>> tf.Struct({"row": int, "name": str}).fields["name"]
        String
        """
        pairs = self._spec[1]
        return {str(name): _inner(spec) for name, spec in pairs} if isinstance(pairs, tuple) else {}

    def __repr__(self) -> str:
        return f"Struct({self.fields!r})"


class Map(DataType):
    """Pairs of key and value per cell; passed on, never compared.

    >>> import tickframe as tf
    >>> tf.append_table({"tags": tf.Map(str, int)}, graph=tf.Graph()).schema
    Schema({'tags': Map(String, Int64)})
    """

    __slots__ = ()

    def __init__(self, key: DataTypeLike, value: DataTypeLike) -> None:
        super().__init__(("map", dtype(key)._spec, dtype(value)._spec))

    def __repr__(self) -> str:
        return f"Map({_inner(self._spec[1])!r}, {_inner(self._spec[2])!r})"


class Dictionary(DataType):
    """Codes into a table of values: equal and ordered by value, the codes are a matter of storage.

    Columns of polars' Enum, pandas' ordered Categorical and Arrow's ordered dictionaries have this type too. They keep their
    categories and the order of these; what would compare their cells by value (``<``, ``sort``, ``min`` …) is refused.
    """

    __slots__ = ()

    def __init__(self, value: DataTypeLike, index: DataTypeLike = "int32") -> None:
        super().__init__(("dictionary", dtype(index)._spec, dtype(value)._spec))

    @property
    def inner(self) -> DataType:
        """The type of the values.

        >>> import tickframe as tf
        >>> tf.Dictionary(str).inner
        String
        """
        return _inner(self._spec[2])

    def __repr__(self) -> str:
        return f"Dictionary({self.inner!r})"


class Object(DataType):
    """An Arrow type that tickframe carries and exports without looking inside.

    >>> import tickframe as tf
    >>> import pyarrow as pa
    >>> schema = tf.from_arrow(pa.table({"at": pa.array([], pa.list_view(pa.int64()))})).schema
    >>> schema["at"], schema["at"] == tf.Object
    (Object('ListView(Int64)'), True)
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Object({self._spec[1]!r})"


DataTypeLike: TypeAlias = "DataType | type | str | types.GenericAlias | types.UnionType"
"""A type, its class, a Python type, a type of pyarrow, polars or NumPy, or a name."""

_BY_PYTHON: dict[object, DataType] = {
    int: Int64,
    float: Float64,
    str: String,
    bool: Boolean,
    bytes: Binary,
    _dt.datetime: Datetime("ns"),
    _dt.date: Date,
    _dt.time: Time,
    _dt.timedelta: Duration("ns"),
    _decimal.Decimal: Decimal(38, 9),
    type(None): Null,
}

_BY_NAME: dict[str, DataType] = {
    **{name: _Plain((name,)) for name in _PLAIN_NAMES if not name.startswith("time")},
    "boolean": Boolean,
    "byte": Int8,
    "short": Int16,
    "int": Int64,
    "long": Int64,
    "float": Float64,
    "double": Float64,
    "str": String,
    "string": String,
    "bytes": Binary,
    **{
        f"{sign}{bits}": _Plain((f"{name}{bits}",))
        for sign, name in (("i", "int"), ("u", "uint"))
        for bits in (8, 16, 32, 64)
    },
    **{f"f{bits}": _Plain((f"float{bits}",)) for bits in (16, 32, 64)},
    "date": Date,
    "time": Time,
}


def dtype(kind: DataTypeLike | object) -> DataType:
    """The type that `kind` names.

    Args:
        kind: a type, the class of a type (``tf.Datetime``), a Python type (``int``, ``list[int]``), a type of pyarrow,
            polars or NumPy, or a name.

    Raises:
        TypeError: `kind` names no type.
    """
    if isinstance(kind, DataType):
        return kind
    if isinstance(kind, str):
        return _parse(kind)
    found = _BY_PYTHON.get(kind) if isinstance(kind, type) else None
    if found is not None:
        return found
    if isinstance(kind, type) and issubclass(kind, DataType) and kind in {Datetime, Duration, Decimal, Interval}:
        made: object = kind()
        if isinstance(made, DataType):
            return made
    meant = _foreign(kind)
    if meant is not None:
        return meant
    shown = repr(kind) if isinstance(kind, (type, int, float)) or typing.get_args(kind) else named(kind)
    message = f"{shown} is no data type; write tf.Int64, a Python type such as int, or a name such as 'int64'"
    raise TypeError(message)


def _foreign(kind: object) -> DataType | None:
    """The type that a type of pyarrow, polars or NumPy, or ``list[int]`` and ``int | None`` mean; None for another."""
    arguments = [part for part in typing.get_args(kind) if part is not type(None)]
    if len(arguments) == 1:
        return List(dtype(arguments[0])) if typing.get_origin(kind) is list else dtype(arguments[0])
    owner = kind if isinstance(kind, type) else type(kind)
    library = owner.__module__.partition(".")[0]
    if library == "numpy":
        name = str(getattr(kind, "name", getattr(kind, "__name__", "")))
        return _BY_NAME.get("str" if name.startswith("str") else name.rstrip("_"))
    if library not in {"pyarrow", "polars"}:
        return None
    package: Any = importlib.import_module(library)
    try:
        schema = package.schema([("x", kind)]) if library == "pyarrow" else package.Schema({"x": kind})
    except (TypeError, ValueError):  # it is of that library, and no type
        return None
    return from_spec(_native.Schema.from_arrow(schema).specs()[0][1])


def _parse(text: str) -> DataType:
    name, _, rest = text.strip().replace("(", "[").replace(")", "]").partition("[")
    name = name.strip().lower()
    found = _BY_NAME.get(name)
    if not rest and found is not None:
        return found
    arguments = [part.strip() for part in rest.rstrip().removesuffix("]").split(",")] if rest else []
    if name in {"category", "categorical"} and not rest:
        return Dictionary(String)
    if name in {"datetime", "timestamp"}:
        return Datetime(arguments[0] if arguments else "ns", arguments[1] if len(arguments) > 1 else None)
    if name == "duration":
        return Duration(arguments[0] if arguments else "ns")
    if name == "decimal" and arguments:
        return Decimal(int(arguments[0]), int(arguments[1]) if len(arguments) > 1 else 0)
    if name == "list" and rest:
        return List(_parse(rest.rstrip().removesuffix("]")))
    message = (
        f"{short(text)} names no data type; try 'int64', 'float64', 'str', 'bool', 'datetime[ns, UTC]', 'list[int64]'"
    )
    raise TypeError(message)


_CLASSES: dict[str, type[DataType]] = {
    "timestamp": Datetime,
    "duration": Duration,
    "decimal128": Decimal,
    "decimal256": Decimal,
    "decimal32": Decimal,
    "decimal64": Decimal,
    "interval": Interval,
    "fixed_binary": FixedBinary,
    "list": List,
    "large_list": List,
    "fixed_list": Array,
    "struct": Struct,
    "map": Map,
    "dictionary": Dictionary,
}


def from_spec(spec: Spec) -> DataType:
    """The type that Rust describes by nested tuples."""
    name = str(spec[0])
    made = DataType.__new__(_Plain if name in _PLAIN_NAMES else _CLASSES.get(name, Object))
    DataType.__init__(made, spec)
    return made
