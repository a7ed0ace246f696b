"""Files beside polars and DuckDB, in one run, as many threads as there are cores each; the result read.

    python benches/files.py [rows] [--record files]

Milliseconds, the least of three of each, in turn, and ours as a ratio of the better of the two. All writers sync. What each
reads, and what is read of the file that each wrote, is compared: rows and sums. Needs a release build.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import figures
import numpy as np
import polars as pl

import tickframe as tf

if TYPE_CHECKING:
    from collections.abc import Callable


def least(works: dict[str, Callable[[], Any]]) -> tuple[dict[str, float], dict[str, Any]]:
    """The least time of three of each in turn, in milliseconds, and what the last call of each gave."""
    times = dict.fromkeys(works, math.inf)
    gave: dict[str, Any] = {}
    for _ in range(3):
        for name, work in works.items():
            gave.pop(name, None)
            began = time.perf_counter()
            gave[name] = work()
            times[name] = min(times[name], (time.perf_counter() - began) * 1e3)
    return times, gave


def sums(made: Any) -> tuple[int, int, float]:
    """Rows, whole numbers and prices of a table of any engine."""
    frame = (
        made if isinstance(made, pl.DataFrame) else pl.DataFrame(made.to_arrow() if hasattr(made, "to_arrow") else made)
    )
    return frame.height, int(frame["id"].sum() + frame["size"].sum()), round(float(frame["px"].sum()), 2)


def synced(write: Callable[[], object], path: str) -> None:
    """Write a file, and wait until it is on disk as a file of ours is when its call returns."""
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


QUERY = "select sym, sum(px * size) as v from '{}' where size > 5000 group by sym"
READERS = {"parquet": pl.read_parquet, "csv": pl.read_csv, "ndjson": pl.read_ndjson}
Works = dict[str, "dict[str, Callable[[], Any]]"]


def scans(at: str, sql: duckdb.DuckDBPyConnection) -> dict[str, Callable[[], Any]]:
    """A filter and a sum for each symbol, of a Parquet file that is opened anew."""

    def of(scan: Any, col: Any) -> Any:
        rows = scan(at).filter(col("size") > 5000)
        return rows.group_by("sym").agg((col("px") * col("size")).sum().alias("v"))

    return {
        "tickframe": lambda: of(tf.scan_parquet, tf.col).to_dict(),
        "polars": lambda: of(pl.scan_parquet, pl.col).collect(),
        "duckdb": lambda: sql.sql(QUERY.format(at)).to_arrow_table(),
    }


def reads(at: dict[str, str], sql: duckdb.DuckDBPyConnection) -> Works:
    """Each format, read whole."""

    def duck(of: str) -> Callable[[], Any]:
        return lambda: sql.execute(f"create or replace table t as select * from {of}")  # noqa: S608 - our own files

    ndjson, csv, parquet, ipc = (at[kind] for kind in ("ndjson", "csv", "parquet", "arrow"))
    return {
        "read Parquet": {
            "tickframe": lambda: tf.read_parquet(parquet),
            "polars": lambda: pl.read_parquet(parquet),
            "duckdb": duck(f"'{parquet}'"),
        },
        "read CSV": {
            "tickframe": lambda: tf.read_csv(csv),
            "polars": lambda: pl.read_csv(csv),
            "duckdb": duck(f"read_csv('{csv}')"),
        },
        "read JSON lines": {
            "tickframe": lambda: tf.read_json(ndjson),
            "polars": lambda: pl.read_ndjson(ndjson),
            "duckdb": duck(f"read_json('{ndjson}')"),
        },
        "read IPC": {"tickframe": lambda: tf.read_ipc(ipc), "polars": lambda: pl.read_ipc(ipc)},
    }


def writes(frame: pl.DataFrame, new: Callable[[str, str], str], sql: duckdb.DuckDBPyConnection) -> Works:
    """Each format, written whole, to a file of each engine."""
    table = tf.table(frame)

    def of(kind: str, ours: Any, theirs: Any, options: str) -> dict[str, Callable[[], Any]]:
        mine, polars, duck = (new(engine, kind) for engine in ("tickframe", "polars", "duckdb"))
        return {
            "tickframe": lambda: ours(mine),
            "polars": lambda: synced(lambda: theirs(polars), polars),
            "duckdb": lambda: synced(lambda: sql.execute(f"copy (from frame) to '{duck}' ({options})"), duck),
        }

    return {
        "write Parquet (zstd)": of(
            "parquet", table.write_parquet, frame.write_parquet, "format parquet, compression zstd"
        ),
        "write CSV": of("csv", table.write_csv, frame.write_csv, "format csv"),
        "write JSON lines": of("ndjson", table.write_ndjson, frame.write_ndjson, "format json"),
    }


def answer(what: str, engine: str, made: Any, new: Callable[[str, str], str], sql: duckdb.DuckDBPyConnection) -> Any:
    """What a work gave, to compare: groups and their sum, or the sums of what was read, or is read of what was written."""
    if what.startswith("scan"):
        frame = made if isinstance(made, pl.DataFrame) else pl.DataFrame(made)
        return frame.height, 0, float(frame["v"].sum())
    if what.startswith("write"):
        kind = {"Parquet": "parquet", "CSV": "csv", "JSON": "ndjson"}[what.split()[1]]
        return sums(READERS[kind](new(engine, kind)))
    return sums(sql.table("t").to_arrow_table() if engine == "duckdb" else made)


def main() -> int:
    """Print the table, and keep its lines if asked to."""
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("rows", nargs="?", type=int, default=10_000_000)
    parse.add_argument("--record", default="")
    asked = parse.parse_args()
    sql = duckdb.connect()
    sql.execute(f"set threads to {os.cpu_count()}")
    frame = drawn(asked.rows)
    sql.register("frame", frame.to_arrow())
    lines: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        at = {kind: str(folder / f"a.{kind}") for kind in ("parquet", "csv", "ndjson", "arrow")}
        frame.write_parquet(at["parquet"])
        frame.write_csv(at["csv"])
        frame.write_ndjson(at["ndjson"])
        frame.write_ipc(at["arrow"])
        new = lambda engine, kind: str(folder / f"{engine}.{kind}")  # noqa: E731 - one expression
        works = {"scan Parquet, filter, group": scans(at["parquet"], sql), **reads(at, sql), **writes(frame, new, sql)}
        for what, engines in works.items():
            times, gave = least(engines)
            for engine, ms in times.items():
                rows, whole, prices = answer(what, engine, gave.pop(engine), new, sql)
                check = {"whole": float(whole), "prices": prices}
                cells = {"p50_ms": round(ms, 3), "rows": rows, "check": check}
                lines.append({"workload": what, "engine": engine, **cells})
            told = "  ".join(f"{engine} {ms:8.1f}" for engine, ms in times.items())
            print(f"{what:30}{told}", flush=True)
    versions = {"tickframe": tf.__version__, "polars": pl.__version__, "duckdb": duckdb.__version__}
    run = {
        **figures.this_run(f"python benches/files.py {asked.rows}"),
        "engines": {engine: {"version": version, "threads": os.cpu_count()} for engine, version in versions.items()},
        "ours": ["tickframe"],
    }
    return figures.ended(lines, name=asked.record, run=run)


if __name__ == "__main__":
    sys.exit(main())
