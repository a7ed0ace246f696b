"""TPC-H's tables: made by `tpchgen-cli`, as Arrow, and as each engine holds them."""

from __future__ import annotations

import subprocess
from importlib.metadata import files
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from tpch.queries import TABLES

import tickframe as tf

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["generated", "in_duckdb", "in_files", "in_polars", "in_tickframe"]


def generated(folder: Path, scale: float, *, money: str = "float") -> dict[str, pa.Table]:
    """All tables at a scale, by name; money is `float` or `decimal`. Files that stand in the folder are not made again."""
    if not all((folder / f"{name}.parquet").exists() for name in TABLES):
        installed = files("tpchgen-cli") or []
        program = next(file for file in installed if file.stem == "tpchgen-cli").locate()
        subprocess.run([program, "parquet", "-s", str(scale), "--output-dir", folder], check=True, capture_output=True)
    return {name: _plain(pq.read_table(folder / f"{name}.parquet"), money) for name in TABLES}


def _plain(table: pa.Table, money: str) -> pa.Table:
    """Texts as every engine has them, money as asked, one chunk a column."""

    def plain(kind: pa.DataType) -> pa.DataType:
        if pa.types.is_decimal(kind) and money == "float":
            return pa.float64()
        return pa.string() if pa.types.is_string_view(kind) else kind

    schema = pa.schema([(field.name, plain(field.type)) for field in table.schema])
    columns = [column.cast(field.type) for column, field in zip(table.columns, schema, strict=True)]
    return pa.table(columns, schema=schema).combine_chunks()


def in_tickframe(tables: dict[str, pa.Table], scale: float) -> SimpleNamespace:
    """Static tables."""
    return SimpleNamespace(scale=scale, **{name: tf.from_arrow(table, name=name) for name, table in tables.items()})


def in_polars(tables: dict[str, pa.Table], scale: float) -> SimpleNamespace:
    """Lazy frames."""
    return SimpleNamespace(scale=scale, **{name: pl.from_arrow(table).lazy() for name, table in tables.items()})  # type: ignore[union-attr]


def in_files(tables: dict[str, pa.Table], folder: Path) -> dict[str, Path]:
    """Parquet of each as they are, by name."""
    folder.mkdir(exist_ok=True)
    for name, table in tables.items():
        pq.write_table(
            table, folder / f"{name}.parquet", compression="zstd", row_group_size=1 << 18, write_page_index=True
        )
    return {name: folder / f"{name}.parquet" for name in tables}


def in_duckdb(tables: dict[str, pa.Table]) -> Any:
    """A database with a copy of each."""
    database = duckdb.connect()
    for name, table in tables.items():
        database.register("given", table)
        database.execute(f"create table {name} as select * from given")
        database.unregister("given")
    return database
