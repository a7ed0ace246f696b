"""One column, taken out of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from tickframe.arguments import check_all
from tickframe.dtypes import Boolean, DataType
from tickframe.optional import optional
from tickframe.schema import Schema

if TYPE_CHECKING:
    from tickframe import _native
    from tickframe.arguments import PrecisionLoss

__all__ = ["Column"]


@check_all
class Column:
    """One column of a table, as it was when taken out."""

    __slots__ = ("__weakref__", "_native")

    def __init__(self, native: _native.Column) -> None:
        self._native = native

    @property
    def name(self) -> str:
        """Its name."""
        return self._native.name

    @property
    def dtype(self) -> DataType:
        """Its type."""
        return Schema._of(self._native.schema()).dtypes()[0]

    def __len__(self) -> int:
        return len(self._native)

    def __repr__(self) -> str:
        return f"Column({self.name!r}, {self.dtype!r}, {len(self)} rows)"

    def to_list(self, on_precision_loss: PrecisionLoss = "error") -> list[Any]:
        """Its cells as Python values."""
        return self._native.to_list(on_precision_loss)

    def to_numpy(self) -> Any:
        """Its cells as a NumPy array; numbers with nulls become floats with NaN, anything else objects. Needs numpy."""
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
