"""A plan that is optimised, the same pipeline call by call, and polars' lazy form: the shapes of TPC-H's queries 1 and 6.

    python benches/compare/plans.py [rows | lineitem.parquet] [--record plans]

Rows are drawn, or those of TPC-H's lineitem (`tpchgen-cli parquet -s 1 --tables lineitem`), all columns; money is Float64, tables
are in memory, each result is taken as Arrow. Times are the lowest of twelve rounds in turns, by as many threads as there are
cores; the answers are compared. Measure with a release build.

Beside the queries stand single steps over columns of floats: a sum of what a filter leaves, and computed columns.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import polars.testing
import tickframe as tf

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import figures

OURS = ["plan", "call by call"]
ROUNDS = 12
LAST = dt.date(1998, 9, 2)
YEAR = (dt.date(1994, 1, 1), dt.date(1995, 1, 1))


def rows(many: int) -> pl.DataFrame:
    """Lines of orders, as TPC-H has them."""
    rng = np.random.default_rng(1)
    days = np.datetime64("1992-01-01") + rng.integers(0, 2526, many).astype("timedelta64[D]")
    drawn = {
        "quantity": rng.integers(1, 51, many).astype(float),
        "price": rng.random(many) * 1e5,
        "discount": rng.integers(0, 11, many) / 100,
        "tax": rng.integers(0, 9, many) / 100,
        "flag": np.array(["A", "N", "R"])[rng.integers(0, 3, many)],
        "status": np.array(["F", "O"])[rng.integers(0, 2, many)],
        "shipped": days,
    }
    return pl.DataFrame(drawn).with_columns(pl.col("shipped").cast(pl.Date))


def lineitem(path: str) -> pl.DataFrame:
    """TPC-H's table, with the short names that the queries have."""
    short = {"extendedprice": "price", "returnflag": "flag", "linestatus": "status", "shipdate": "shipped"}
    frame = pl.read_parquet(path).rename(lambda name: short.get(name.removeprefix("l_"), name.removeprefix("l_")))
    return frame.with_columns(pl.col(pl.Decimal).cast(pl.Float64)).rechunk()


def query_1(table: Any, of: Any, length: Any) -> Any:
    """Sums and means of nearly all rows, by two texts."""
    paid = of("price") * (1 - of("discount"))
    priced = table.filter(of("shipped") <= LAST).with_columns(paid=paid, charge=paid * (1 + of("tax")))
    sums = [of(name).sum().alias(f"sum_{name}") for name in ("quantity", "price", "paid", "charge")]
    means = [of(name).mean().alias(f"mean_{name}") for name in ("quantity", "price", "discount")]
    return priced.group_by("flag", "status").agg(*sums, *means, length.alias("n")).sort("flag", "status")


def query_6(table: Any, of: Any, _: Any) -> Any:
    """One sum over a fiftieth of the rows."""
    first, last = YEAR
    year = (of("shipped") >= first) & (of("shipped") < last)
    few = table.filter(year & of("discount").is_between(0.05, 0.07) & (of("quantity") < 24))
    return few.select((of("price") * of("discount")).sum().alias("revenue"))


def half_sum(table: Any, of: Any, _: Any) -> Any:
    """One sum over half of the rows."""
    return table.filter(of("quantity") > 25).select(of("price").sum().alias("sum"))


def hundredth_sum(table: Any, of: Any, _: Any) -> Any:
    """One sum over a hundredth of the rows."""
    return table.filter(of("price") > 99_000).select(of("price").sum().alias("sum"))


def derived(table: Any, of: Any, _: Any) -> Any:
    """A column of three."""
    return table.select((of("price") * of("discount") + of("tax")).alias("x"))


def chosen(table: Any, of: Any, _: Any) -> Any:
    """A column of two, by a condition."""
    when = pl.when if of is pl.col else tf.when
    return table.select(when(of("quantity") > 25).then(of("price") * 2).otherwise(of("tax")).alias("x"))


def main() -> int:
    """Print the lowest times, and each as a ratio of polars'. 1 if an answer differs."""
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("rows", nargs="?", default="6000000")
    parse.add_argument("--record", default="")
    asked = parse.parse_args()
    given = asked.rows
    frame = rows(int(given)) if given.isdigit() else lineitem(given)
    table, lazy = tf.table(frame, name="lines"), frame.lazy()
    print(f"{frame.height:,} rows, {os.cpu_count()} cores, tickframe {tf.__version__}, polars {pl.__version__}")
    lines: list[dict[str, Any]] = []
    for query in (query_1, query_6, half_sum, hundredth_sum, derived, chosen):
        plan = query(table, tf.col, tf.len()).plan
        runs = {
            "polars, lazy": lambda query=query: query(lazy, pl.col, pl.len()).collect(),
            "call by call": lambda query=query: query(table, tf.col, tf.len()).to_polars(),
            "plan": lambda plan=plan: plan.collect(lines=table).to_polars(),
        }
        best = dict.fromkeys(runs, float("inf"))
        answers: dict[str, pl.DataFrame] = {}
        for _ in range(ROUNDS):
            for name, run in runs.items():
                start = time.perf_counter()
                answers[name] = run()
                best[name] = min(best[name], time.perf_counter() - start)
        wanted = answers["polars, lazy"]
        for name, answer in answers.items():
            ratio = best[name] / best["polars, lazy"]
            print(f"{query.__name__:13}  {name:12}  {best[name] * 1e3:8.1f} ms  {ratio:5.2f}")
            lines.append({"workload": query.__doc__.rstrip("."), "engine": name, "p50_ms": round(best[name] * 1e3, 3)})
            try:
                pl.testing.assert_frame_equal(answer, wanted, check_dtypes=False, rel_tol=1e-9)
            except AssertionError as wrong:
                lines[-1]["answer_ok"] = str(wrong)
    versions = {name: tf.__version__ for name in OURS} | {"polars, lazy": pl.__version__}
    engines = {name: {"version": version, "threads": os.cpu_count()} for name, version in versions.items()}
    run = figures.this_run(f"python benches/compare/plans.py {Path(given).name}")
    return figures.ended(lines, name=asked.record, run={**run, "engines": engines, "ours": OURS})


if __name__ == "__main__":
    sys.exit(main())
