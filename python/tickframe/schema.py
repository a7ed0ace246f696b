"""The names and types of a table's columns, in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from tickframe import _native
from tickframe.describe import short
from tickframe.dtypes import DataType, DataTypeLike, dtype, from_spec

__all__ = ["ColumnNames", "Schema", "SchemaLike"]


NativeSchema: TypeAlias = _native.Schema


class Schema(Mapping[str, DataType]):
    """An ordered mapping from column name to type; also anything that reads ``__arrow_c_schema__``.

    Args:
        columns: a mapping from name to type, a list of pairs, or anything with ``__arrow_c_schema__``.

    >>> import tickframe as tf
    >>> tf.Schema({"name": str, "at": tf.Datetime("ns", "UTC")})
    Schema({'name': String, 'at': Datetime('ns', 'UTC')})
    """

    __slots__ = ("_columns", "_native")
    _columns: dict[str, DataType]
    _native: NativeSchema

    def __init__(self, columns: SchemaLike) -> None:
        if isinstance(columns, Schema):
            self._native = columns._native
        elif hasattr(columns, "__arrow_c_schema__"):
            self._native = _native.Schema.from_arrow(columns)
        elif isinstance(columns, Mapping):
            self._native = _native.Schema([(name, dtype(kind)._spec) for name, kind in columns.items()])
        elif isinstance(columns, (list, tuple)) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in columns):
            self._native = _native.Schema([(name, dtype(kind)._spec) for name, kind in columns])
        else:
            message = (
                f"a schema is a mapping from name to type, or has __arrow_c_schema__; got {type(columns).__name__}"
            )
            raise TypeError(message)
        self._columns = {name: from_spec(spec) for name, spec in self._native.specs()}

    @classmethod
    def _of(cls, native: NativeSchema) -> Schema:
        made = cls.__new__(cls)
        made._native = native
        made._columns = {name: from_spec(spec) for name, spec in native.specs()}
        return made

    def names(self) -> list[str]:
        """Column names, in order.

        >>> import tickframe as tf
        >>> tf.Schema({"sym": str, "px": float}).names()
        ['sym', 'px']
        """
        return list(self._columns)

    def dtypes(self) -> list[DataType]:
        """Column types, in order.

        >>> import tickframe as tf
        >>> tf.Schema({"sym": str, "px": float}).dtypes()
        [String, Float64]
        """
        return list(self._columns.values())

    def __getitem__(self, name: str) -> DataType:
        given: object = name
        if not isinstance(given, str) or given not in self._columns:
            raise KeyError(f"no column {short(name)} in the schema")
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        return list(self.items()) == list(other.items())

    def __hash__(self) -> int:
        return hash(tuple(self._columns))

    def __repr__(self) -> str:
        return f"Schema({self._columns!r})"

    def __arrow_c_schema__(self) -> object:
        return self._native.__arrow_c_schema__()

    def __reduce__(self) -> tuple[object, ...]:
        return (Schema, (self._columns,))


SchemaLike: TypeAlias = "Mapping[str, DataTypeLike] | Sequence[tuple[str, DataTypeLike]] | _native.ArrowSchema | Schema"
"""A mapping from name to type, pairs of both, or anything with ``__arrow_c_schema__``."""


class ColumnNames(list[str]):
    """The names of a table's columns, in order; their types are looked up by who asks for them."""

    __slots__ = ("_of",)

    def __init__(self, of: _native.Table | Schema, names: Sequence[str] | None = None) -> None:
        every = of.names() if isinstance(of, Schema) else of.column_names()
        super().__init__(every if names is None else names)
        self._of = of

    def types(self) -> dict[str, DataType]:
        """The type of each of these columns."""
        schema = self._of if isinstance(self._of, Schema) else Schema._of(self._of.schema())
        return {name: schema[name] for name in self}
