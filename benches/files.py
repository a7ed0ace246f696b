"""Files beside polars and DuckDB, in one run, with the same threads; the result read.

``PYTHONPATH=… python benches/files.py [rows]`` prints the least time of three of each, and ours as a ratio of the better of the two.
"""

from __future__ import annotations

import math
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import polars as pl

import tickframe as tf

if TYPE_CHECKING:
    from collections.abc import Callable


def least(work: Callable[[], object]) -> float:
    """The least time of three, in milliseconds."""
    times = []
    for _ in range(3):
        began = time.perf_counter()
        work()
        times.append((time.perf_counter() - began) * 1e3)
    return min(times)


def synced(write: Callable[[], object], path: str) -> None:
    """Write a file and wait until it is on disk, as a file of ours is when its call returns."""
    write()
    with Path(path).open("rb") as file:
        os.fsync(file.fileno())


def drawn(rows: int) -> pl.DataFrame:
    """Rows of a day's trades."""
    dice = np.random.default_rng(7)
    return pl.DataFrame(
        {
            "id": np.arange(rows),
            "sym": dice.choice([f"SYM{n}" for n in range(100)], rows),
            "px": np.round(dice.random(rows) * 1000, 2),
            "size": dice.integers(1, 10_000, rows),
            "side": dice.choice(["buy", "sell"], rows),
            "ts": (np.datetime64("2024-05-01") + np.arange(rows).astype("timedelta64[ms]")).astype("datetime64[ns]"),
        }
    )


def main(rows: int) -> None:
    """Print the table."""
    sql = duckdb.connect()
    sql.execute("set threads to 2")
    frame = drawn(rows)
    table = tf.table(frame)
    sql.register("frame", frame.to_arrow())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        at = {kind: str(folder / f"a.{kind}") for kind in ("parquet", "csv", "ndjson", "arrow")}
        frame.write_parquet(at["parquet"])
        frame.write_csv(at["csv"])
        frame.write_ndjson(at["ndjson"])
        frame.write_ipc(at["arrow"])
        new = str(folder / "new")
        query = "select sym, sum(px * size) from '{}' where size > 5000 group by sym"

        def ours_of_scan() -> object:
            rows = tf.scan_parquet(at["parquet"]).filter(tf.col("size") > 5000)
            return rows.group_by("sym").agg((tf.col("px") * tf.col("size")).sum().alias("v")).to_dict()

        def polars_of_scan() -> object:
            rows = pl.scan_parquet(at["parquet"]).filter(pl.col("size") > 5000)
            return rows.group_by("sym").agg((pl.col("px") * pl.col("size")).sum()).collect()

        works: dict[str, tuple[Callable[[], object], Callable[[], object], Callable[[], object] | None]] = {
            "scan parquet, filter, group": (
                ours_of_scan,
                polars_of_scan,
                lambda: sql.execute(query.format(at["parquet"])).fetchall(),
            ),
            "read parquet": (
                lambda: tf.read_parquet(at["parquet"]),
                lambda: pl.read_parquet(at["parquet"]),
                lambda: sql.execute(f"create or replace table t as select * from '{at['parquet']}'"),  # noqa: S608
            ),
            "read csv": (
                lambda: tf.read_csv(at["csv"]),
                lambda: pl.read_csv(at["csv"]),
                lambda: sql.execute(f"create or replace table t as select * from read_csv('{at['csv']}')"),  # noqa: S608
            ),
            "read json lines": (
                lambda: tf.read_json(at["ndjson"]),
                lambda: pl.read_ndjson(at["ndjson"]),
                lambda: sql.execute(f"create or replace table t as select * from read_json('{at['ndjson']}')"),  # noqa: S608
            ),
            "read ipc": (lambda: tf.read_ipc(at["arrow"]), lambda: pl.read_ipc(at["arrow"]), None),
            "write parquet (zstd)": (
                lambda: table.write_parquet(new),
                lambda: synced(lambda: frame.write_parquet(new), new),
                lambda: synced(
                    lambda: sql.execute(f"copy (from frame) to '{new}' (format parquet, compression zstd)"), new
                ),
            ),
            "write csv": (
                lambda: table.write_csv(new),
                lambda: synced(lambda: frame.write_csv(new), new),
                lambda: synced(lambda: sql.execute(f"copy (from frame) to '{new}' (format csv)"), new),
            ),
            "write json lines": (
                lambda: table.write_ndjson(new),
                lambda: synced(lambda: frame.write_ndjson(new), new),
                lambda: synced(lambda: sql.execute(f"copy (from frame) to '{new}' (format json)"), new),
            ),
        }
        print(f"{'':30}{'tickframe':>10}{'polars':>10}{'duckdb':>10}{'ratio':>8}   ({rows:,} rows, ms)")
        for what, (ours, polars, duck) in works.items():
            times = [least(work) if work else float("nan") for work in (ours, polars, duck)]
            better = min(one for one in times[1:] if not math.isnan(one))
            print(f"{what:30}{times[0]:10.0f}{times[1]:10.0f}{times[2]:10.0f}{times[0] / better:8.2f}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000)
