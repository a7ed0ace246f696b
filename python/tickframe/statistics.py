"""The table that `Table.describe` gives: statistics of each column, in polars' shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tickframe import _native
from tickframe.describe import short
from tickframe.dtypes import Boolean, Float64, String
from tickframe.functions import col
from tickframe.handles import table_of
from tickframe.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal, TypeAlias

    from tickframe.dtypes import DataType
    from tickframe.expr import Expr
    from tickframe.table import Table

    Interpolation: TypeAlias = Literal["nearest", "lower", "higher", "midpoint", "linear"]

__all__: list[str] = []


def described(table: Table, percentiles: Sequence[float] | float | None, interpolation: Interpolation) -> Table:
    """The statistics of a static table, one a row, a column for each of its columns."""
    parts = _parts(percentiles)
    labels = ["count", "null_count", "mean", "std", "min", *(f"{part * 100:g}%" for part in parts), "max"]
    wanted: list[Expr] = []
    for at, (name, kind) in enumerate(zip(table.columns, table.dtypes, strict=True)):
        for label, value in _statistics(col(name), kind, parts, interpolation).items():
            wanted.append(value.alias(f"{at} {label}"))
    (found,) = table.select(wanted).to_dicts() if wanted else ({},)
    columns: dict[str, list[Any]] = {"statistic": labels}
    schema = {"statistic": String}
    for at, (name, kind) in enumerate(zip(table.columns, table.dtypes, strict=True)):
        own = "statistic" if name != "statistic" else "statistic of the table"
        columns[own if name == "statistic" else name] = [found.get(f"{at} {label}") for label in labels]
        schema[own if name == "statistic" else name] = Float64 if _is_number(kind) else String
    return table_of(_native.table("describe", columns, Schema(schema)._native))


def _parts(percentiles: object) -> list[float]:
    given = [] if percentiles is None else percentiles if isinstance(percentiles, (list, tuple)) else [percentiles]
    parts = []
    for part in given:
        if isinstance(part, bool) or not isinstance(part, (int, float)) or not 0 <= part <= 1:
            raise ValueError(f"describe: percentiles are numbers from 0 to 1, such as 0.5, not {short(part)}")
        parts.append(float(part))
    return sorted(set(parts))


def _is_number(kind: DataType) -> bool:
    return kind.is_numeric or kind == Boolean


def _statistics(value: Expr, kind: DataType, parts: list[float], interpolation: Interpolation) -> dict[str, Expr]:
    """What is told of a column of this type; numbers as Float64, all else as text."""
    counts = {"count": value.count(), "null_count": value.null_count()}
    if kind.is_numeric or kind == Boolean:
        number = value.cast("float64")
        extremes = {"mean": number.mean(), "min": number.min(), "max": number.max()}
        if kind.is_numeric:
            extremes["std"] = number.std()
            extremes |= {f"{part * 100:g}%": number.quantile(part, interpolation) for part in parts}
        return {label: each.cast("float64") for label, each in (counts | extremes).items()}
    ends: dict[str, Expr] = {}
    if kind.is_temporal or kind == String:
        ends = {"min": value.min(), "max": value.max()}
    if kind.is_temporal:
        ends |= {f"{part * 100:g}%": value.quantile(part, "nearest") for part in parts}
    return {label: each.cast("string") for label, each in (counts | ends).items()}
