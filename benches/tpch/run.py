"""TPC-H: our 22 queries, polars' lazy frames and DuckDB, with the result read; and live, batch after batch.

    python benches/tpch/run.py FOLDER [--scale 1] [--scan | --live] [--record tpch]

The tables are made in FOLDER by `tpchgen-cli` unless they are there. They are held in memory, money is Float64, every result
is taken as Arrow, each engine has as many threads as there are cores. Times are the lowest of the rounds, which take turns;
answers are compared with those of DuckDB, and one that differs ends the run with 1 and is not kept. With `--scan` we, polars
and DuckDB read Parquet, opened anew for each run. With `--live` all queries stand on one graph while a thousandth of the
orders goes and as many come; the answers after the last batch are compared. Measure with a release build.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeAlias

import duckdb
import polars as pl

import tickframe as tf

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import figures
from tpch.answers import difference
from tpch.data import generated, in_duckdb, in_files, in_polars, in_tickframe
from tpch.live import Live, batches
from tpch.queries import QUERIES
from tpch.sql import sql

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

ROUNDS, BATCHES = 5, 12


Runs: TypeAlias = "dict[str, Callable[[], pa.Table]]"


def static(tables: dict[str, pa.Table], scale: float, numbers: list[int]) -> list[dict[str, Any]]:
    """The lowest time of each query by each engine, of tables in memory."""
    ours, theirs, database = in_tickframe(tables, scale), in_polars(tables, scale), in_duckdb(tables)

    def runs(number: int) -> Runs:
        query = QUERIES[number]
        plan = query(ours, tf).plan
        given = {name: getattr(ours, name) for name in plan.inputs}
        return {
            "plan": lambda: plan.collect(**given).to_arrow(),
            "call by call": lambda: query(ours, tf).to_arrow(),
            "polars": lambda: query(theirs, pl).collect().to_arrow(),
            "duckdb": lambda: database.sql(sql(number, scale)).to_arrow_table(),
        }

    return lowest(runs, numbers)


def scanned(tables: dict[str, pa.Table], scale: float, numbers: list[int], folder: Path) -> list[dict[str, Any]]:
    """The lowest time of each query by each engine, of files that are opened anew each time."""
    ours, files, database = in_tickframe(tables, scale), in_files(tables, folder / "plain"), duckdb.connect()
    for name, file in files.items():
        database.execute(f"create view {name} as select * from '{file}'")

    def runs(number: int) -> Runs:
        query = QUERIES[number]
        plan = query(ours, tf).plan
        frames = lambda: SimpleNamespace(scale=scale, **{name: pl.scan_parquet(file) for name, file in files.items()})  # noqa: E731
        return {
            "plan": lambda: plan.collect(**{name: tf.scan_parquet(files[name]) for name in plan.inputs}).to_arrow(),
            "polars": lambda: query(frames(), pl).collect().to_arrow(),
            "duckdb": lambda: database.sql(sql(number, scale)).to_arrow_table(),
        }

    return lowest(runs, numbers)


def lowest(of: Callable[[int], Runs], numbers: list[int]) -> list[dict[str, Any]]:
    """The lowest time of each query by each engine; answers are compared."""
    lines = []
    names: list[str] = []
    for number in numbers:
        runs = of(number)
        names = list(runs)
        best = dict.fromkeys(runs, float("inf"))
        answers: dict[str, list[tuple[Any, ...]]] = {}
        for round_ in range(ROUNDS):
            for name, run in runs.items():
                start = time.perf_counter()
                answer = run()
                best[name] = min(best[name], time.perf_counter() - start)
                if round_ == 0:
                    answers[name] = list(zip(*(column.to_pylist() for column in answer.columns), strict=True))
        for name in runs:
            wrong = difference(answers[name], answers["duckdb"])
            lines.append({"workload": f"query {number}", "engine": name, "p50_ms": round(best[name] * 1e3, 3)})
            if wrong:
                lines[-1]["answer_ok"] = wrong
        told = "  ".join(f"{name} {best[name] * 1e3:8.1f}" for name in runs)
        print(f"{number:3}  {told}  {best['plan'] / best['polars']:5.2f}", flush=True)
    for name in names:
        total = sum(line["p50_ms"] for line in lines if line["engine"] == name)
        lines.append({"workload": "all", "engine": name, "p50_ms": round(total, 3)})
        print(f"{name:13} {total:9.1f} ms")
    return lines


def live(tables: dict[str, pa.Table], scale: float, numbers: list[int]) -> list[dict[str, Any]]:
    """The median time of a batch: with each query alone on its graph, and with all on one."""
    lines = []
    moved = in_duckdb(tables)
    for batch in islice(batches(tables, 0.001, seed=1), BATCHES):
        batch.into(moved)
    for several in [*([number] for number in numbers), numbers]:
        start = time.perf_counter()
        world = Live(tables, scale, several)
        started, times = time.perf_counter() - start, []
        for batch in islice(batches(tables, 0.001, seed=1), BATCHES):
            start = time.perf_counter()
            world.take(batch)
            for answer in world.answers.values():
                answer.to_arrow()
            times.append(time.perf_counter() - start)
        name = f"query {several[0]}" if several != numbers else "all"
        middle = statistics.median(times) * 1e3
        lines.append({"workload": name, "engine": "a batch", "p50_ms": round(middle, 3)})
        for number, answer in world.answers.items():
            wrong = difference(answer.rows(), moved.sql(sql(number, scale)).fetchall())
            if wrong:
                lines[-1]["answer_ok"] = f"query {number}: {wrong}"
        print(f"{name:10} started in {started:6.2f} s, a batch {middle:9.3f} ms", flush=True)
    return lines


def main() -> int:
    """Measure, and print as it goes. 1 if an answer is wrong."""
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("folder", type=Path)
    parse.add_argument("--scale", type=float, default=1.0)
    parse.add_argument("--queries", type=int, nargs="*", default=list(QUERIES))
    parse.add_argument("--live", action="store_true")
    parse.add_argument("--scan", action="store_true")
    parse.add_argument("--record", default="")
    asked = parse.parse_args()
    tables = generated(asked.folder, asked.scale)
    if asked.scan:
        lines = scanned(tables, asked.scale, asked.queries, asked.folder)
    else:
        lines = (live if asked.live else static)(tables, asked.scale, asked.queries)
    made = {"plan": tf, "call by call": tf, "a batch": tf, "polars": pl, "duckdb": duckdb}
    used = {line["engine"] for line in lines}
    engines = {
        name: {"version": module.__version__, "threads": os.cpu_count()}
        for name, module in made.items()
        if name in used
    }
    ours = [name for name in ("plan", "call by call", "a batch") if name in used]
    run = figures.this_run(
        f"python benches/tpch/run.py FOLDER --scale {asked.scale:g}{' --live' * asked.live}{' --scan' * asked.scan}"
    )
    return figures.ended(lines, name=asked.record, run={**run, "engines": engines, "ours": ours})


if __name__ == "__main__":
    sys.exit(main())
