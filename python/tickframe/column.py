"""One column, taken out of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, overload

from tickframe.arguments import check_all
from tickframe.describe import named
from tickframe.display import column_text
from tickframe.dtypes import Boolean, DataType
from tickframe.foreign import operand
from tickframe.optional import optional
from tickframe.places import is_place, place
from tickframe.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tickframe import _native
    from tickframe.arguments import PrecisionLoss

__all__ = ["Column"]

_AT_ONCE = 1 << 12
"""Cells that become Python values at a time."""


@check_all
class Column:
    """One column of a table, as it was when taken out: its values, in order.

    >>> import tickframe as tf
    >>> prices = tf.table({"price": [1.5, None, 3.0]})["price"]
    >>> prices
    shape: (3,)
    Column: 'price' [Float64]
    [
        1.5
        null
        3.0
    ]
    >>> list(prices), prices[-1], prices[:1].to_list(), prices.null_count()
    ([1.5, None, 3.0], 3.0, [1.5], 1)
    """

    __slots__ = ("__weakref__", "_native")

    def __init__(self, native: _native.Column) -> None:
        self._native = native

    @property
    def name(self) -> str:
        """Its name.

        >>> import tickframe as tf
        >>> tf.table({"x": [3, 1]})["x"].name
        'x'
        """
        return self._native.name

    @property
    def dtype(self) -> DataType:
        """Its type."""
        return Schema._of(self._native.schema()).dtypes()[0]

    def __len__(self) -> int:
        return len(self._native)

    def __repr__(self) -> str:
        return column_text(self)

    def __iter__(self) -> Iterator[Any]:
        """Its cells as Python values, some at a time; one finer than a microsecond is an error, as for `to_list`."""
        for first in range(0, len(self), _AT_ONCE):
            yield from self._native.slice(first, _AT_ONCE).to_list("error")

    def __contains__(self, value: object) -> bool:
        wanted = operand(value, f"in t[{self.name!r}]", methods=Column)
        return wanted in self.to_list("truncate")

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> Column: ...
    def __getitem__(self, index: int | slice) -> Any:
        """The cell at a place, from the end if negative; of a slice the column of those cells."""
        if isinstance(index, slice):
            first, end, step = index.indices(len(self))
            if step != 1:
                raise TypeError("a column is sliced by ones, c[1:3]; other steps are those of c.to_list()[...]")
            return Column(self._native.slice(first, max(end - first, 0)))
        if not is_place(index):
            raise TypeError(f"a column is indexed by a place or a slice, not by {named(index)}")
        return self._native.slice(place(index, len(self), f"t[{self.name!r}][...]: cells"), 1).to_list("error")[0]

    def null_count(self) -> int:
        """How many of its cells are null."""
        return self._native.null_count()

    def to_list(self, on_precision_loss: PrecisionLoss = "error") -> list[Any]:
        """Its cells as Python values."""
        return self._native.to_list(on_precision_loss)

    def to_numpy(self) -> Any:
        """Its cells as a NumPy array; numbers with nulls become floats with NaN, anything else objects. Needs numpy.

        >>> import tickframe as tf
        >>> tf.table({"x": [3, None, 1]})["x"].to_numpy()
        array([ 3., nan,  1.])
        """
        numpy = optional("numpy", "to_numpy()", "numpy")
        kind = self.dtype
        if kind.is_numeric and self._native.null_count() == 0 and (kind.is_integer or kind.is_float):
            return numpy.frombuffer(self._native.raw(), dtype=repr(kind).lower())
        if kind.is_temporal and repr(kind).startswith(("Datetime", "Duration")) and self._native.null_count() == 0:
            unit = str(kind._spec[1])
            code = "datetime64" if repr(kind).startswith("Datetime") else "timedelta64"
            return numpy.frombuffer(self._native.raw(), dtype="int64").view(f"{code}[{unit}]")
        cells = self.to_list("truncate")
        if kind.is_integer or kind.is_float:
            return numpy.array([float("nan") if cell is None else cell for cell in cells], dtype="float64")
        return numpy.array(cells, dtype=bool if kind == Boolean and None not in cells else object)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        del copy
        array = self.to_numpy()
        return array if dtype is None else array.astype(dtype)

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        del requested_schema
        return self._native.array()


_SIGNS = {
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq": "==",
    "ne": "!=",
    "and": "&",
    "or": "|",
    "xor": "^",
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
}
_REVERSED = ("and", "or", "xor", "add", "sub", "mul", "truediv", "floordiv", "mod", "pow")


def _refuse_operators(kind: type) -> None:
    """Let every operator of the class, whose objects have a name, say that it is one of expressions."""

    def refusing(sign: str) -> object:
        def refused(self: Column, other: object) -> NoReturn:
            del other
            shown = repr(self.name)
            raise TypeError(
                f"{sign}: t[{shown}] are the values of a column, taken out; in filter, with_columns and the like write "
                f"the expression tf.col({shown}) {sign} ..., and for values now t[{shown}].to_numpy() {sign} ..."
            )

        return refused

    for word, sign in _SIGNS.items():
        setattr(kind, f"__{word}__", refusing(sign))
    for word in _REVERSED:
        setattr(kind, f"__r{word}__", refusing(_SIGNS[word]))


_refuse_operators(Column)
