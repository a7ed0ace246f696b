"""What a function takes and gives: its hints, and the type that a call with no rows gives."""

from __future__ import annotations

import inspect
import typing
from typing import TYPE_CHECKING, Any, TypeAlias

from tickframe import _native
from tickframe.column import Column
from tickframe.dtypes import from_spec
from tickframe.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Callable

Specs: TypeAlias = "list[tuple[Any, ...]]"


def is_series(hint: object) -> bool:
    """Whether a hint is polars' Series."""
    # A hint that is only a text names what a function's own scope imported.
    if isinstance(hint, str):
        return hint in {"pl.Series", "polars.Series"}
    return getattr(hint, "__name__", "") == "Series" and getattr(hint, "__module__", "").startswith("polars")


def hints_of(fn: Callable[..., Any]) -> dict[str, Any]:
    """The type hints of a function; none where they cannot be read."""
    try:
        return typing.get_type_hints(fn)
    except (NameError, TypeError):
        return {}


def _is_optional(hint: object) -> bool:
    return type(None) in typing.get_args(hint)


def without_none(hint: Any) -> Any:
    """The type of ``T | None``."""
    rest = [part for part in typing.get_args(hint) if part is not type(None)]
    return rest[0] if _is_optional(hint) and len(rest) == 1 else hint


def takes_none(fn: Callable[..., Any], hints: dict[str, Any]) -> list[bool]:
    """For each parameter whether its hint allows None."""
    try:
        names = list(inspect.signature(fn).parameters)
    except (TypeError, ValueError):
        return []
    return [_is_optional(hints.get(name)) for name in names]


def once(ask: Callable[[Specs], tuple[object, ...]]) -> Callable[[Specs], tuple[object, ...]]:
    """Asked once for each list of types."""
    known: dict[str, tuple[object, ...]] = {}

    def answer(specs: Specs) -> tuple[object, ...]:
        key = repr(specs)
        if key not in known:
            known[key] = ask(specs)
        return known[key]

    return answer


def _empty_column(spec: tuple[Any, ...]) -> _native.Column:
    """A column of this type without rows."""
    return _native.table("table", {"a": []}, Schema({"a": from_spec(spec)})._native).column("a")


def _result_of_numpy(fn: Callable[..., Any], name: str, specs: Specs) -> tuple[object, ...]:
    """The type that a NumPy function gives for these types, told by a call with no rows."""
    import numpy as np

    result = np.asarray(fn(*(np.empty(0, dtype=_empty_column(spec).code or "object") for spec in specs)))
    kind = np.datetime_data(result.dtype)[0] if result.dtype.kind in "Mm" else None
    if result.dtype.kind == "M":
        return ("timestamp", kind, None)
    if result.dtype.kind == "m":
        return ("duration", kind)
    if result.dtype.kind not in "iufb":
        raise TypeError(f"{name} gives {result.dtype}: say what it returns with returns=")
    return ("bool",) if result.dtype.kind == "b" else (result.dtype.name,)


def _result_of_arrow(fn: Callable[..., Any], name: str, specs: Specs) -> tuple[object, ...]:
    """The type that a function of pyarrow arrays gives, told by a call with no rows."""
    import pyarrow as pa

    result = fn(*(pa.array(Column(_empty_column(spec))) for spec in specs))
    return _spec_of(result, name)


def _result_of_polars(fn: Callable[..., Any], name: str, specs: Specs) -> tuple[object, ...]:
    """The type that a function of polars Series gives, told by a call with no rows."""
    import polars as pl

    result = fn(*(pl.Series("", Column(_empty_column(spec))) for spec in specs))
    return _spec_of(result, name)


def _spec_of(result: Any, name: str) -> tuple[object, ...]:
    if not hasattr(result, "__arrow_c_array__") and not hasattr(result, "__arrow_c_stream__"):
        raise TypeError(f"{name} gives {type(result).__name__}, no column: say what it returns with returns=")
    return Schema._of(_native.table("table", {"result": result}, None).schema())["result"]._spec


RESULTS: dict[str, Any] = {"arrow": _result_of_arrow, "numpy": _result_of_numpy, "polars": _result_of_polars}
