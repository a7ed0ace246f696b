"""Tables as Arrow data, as frames of other libraries and as Python's own values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tickframe.arguments import check_all
from tickframe.optional import optional

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]
    import polars
    import pyarrow

    from tickframe._native import Table as NativeTable
    from tickframe.arguments import PrecisionLoss

__all__: list[str] = []


class _Views:
    """A table that leaves with its strings as views, as polars keeps them itself."""

    __slots__ = ("_native",)

    def __init__(self, native: NativeTable) -> None:
        self._native = native

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._native.stream(requested_schema, views=requested_schema is None)


@check_all
class Export:
    """What `Table` has of ways out."""

    __slots__ = ()

    if TYPE_CHECKING:
        _native: NativeTable

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._native.stream(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._native.schema().__arrow_c_schema__()

    def to_arrow(self) -> pyarrow.Table:
        """A ``pyarrow.Table`` of the settled step. Needs pyarrow."""
        return optional("pyarrow", "to_arrow()", "arrow").table(self)

    def to_polars(self) -> polars.DataFrame:
        """A polars frame of the settled step, without a copy of flat columns. Needs polars."""
        frame: polars.DataFrame = optional("polars", "to_polars()", "polars").DataFrame(_Views(self._native))
        return frame

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas frame with Arrow-backed columns; dictionaries are Categoricals. Needs pandas and pyarrow."""
        pandas = optional("pandas", "to_pandas()", "pandas")

        def mapped(kind: Any) -> Any:
            return None if hasattr(kind, "index_type") else pandas.ArrowDtype(kind)

        return self.to_arrow().to_pandas(types_mapper=mapped)

    def to_dicts(self, on_precision_loss: PrecisionLoss = "error") -> list[dict[str, Any]]:
        """A list of rows, in Python's own values.

        Args:
            on_precision_loss: what becomes of a value finer than a microsecond: ``"error"`` or ``"truncate"``.

        Raises:
            DataError: such a value, with ``"error"``.
        """
        return self._native.to_dicts(on_precision_loss)

    def to_dict(self, on_precision_loss: PrecisionLoss = "error") -> dict[str, list[Any]]:
        """A list of Python values for each column; see `to_dicts`."""
        return self._native.to_dict(on_precision_loss)
