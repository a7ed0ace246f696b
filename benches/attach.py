"""What an operation costs before any row: attached, chained, and passed by a change of one row.

    python benches/attach.py [--record attach]

Microseconds of the wall clock, the lowest of seven rounds. Needs the extension as `make release` builds it. Bars: an operation
attached in 60 µs, a thousand chained in 0.1 s, 2 µs for each `with_columns` that a change of one row passes.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from typing import TYPE_CHECKING

import figures

import tickframe as tf
from tickframe import col

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 7
MANY = 1_000
CHAIN = 100


def best(once: Callable[[], object]) -> float:
    """Seconds of the fastest round."""
    found = float("inf")
    for _ in range(ROUNDS):
        gc.collect()
        start = time.perf_counter()
        kept = once()
        found = min(found, time.perf_counter() - start)
        del kept
    return found


def sources() -> dict[str, tf.Table]:
    """Ten rows, static and live."""
    rows = {"k": ["A", "B"] * 5, "x": list(range(10))}
    live = tf.append_table({"k": str, "x": int}, graph=tf.Graph(period=0, threads=2))
    live.append(rows)
    live.graph.step()
    return {"static": tf.table(rows), "live": live}


# Each differs from call to call, so that nothing is found made already.
OPERATIONS: dict[str, Callable[[tf.Table, int, list[tf.Table]], tf.Table]] = {
    "`filter`": lambda t, i, _: t.filter(col("x") > i),
    "`where`, a formula": lambda t, i, _: t.where(f"x > {i}"),
    "`with_columns`": lambda t, i, _: t.with_columns(y=col("x") + i),
    "`rename`": lambda t, i, _: t.rename({"x": f"x{i}"}),
    "`group_by`, a sum": lambda t, i, _: t.group_by("k").agg(col("x").sum().alias(f"x{i}")),
    "`natural_join`": lambda t, i, others: t.natural_join(others[i], on="k"),
    "`sort` and `head`, two nodes": lambda t, i, _: t.sort("x").head(i),
    "`update`, two formulas, two nodes": lambda t, i, _: t.update([f"y = x + {i}", "z = y * 2"]),
    "`over`, a sum of a computed column, four nodes": lambda t, i, _: t.with_columns(y=(col("x") + i).sum().over("k")),
}


def chained(table: tf.Table, many: int) -> tf.Table:
    """So many operations, each on the one before."""
    for at in range(many // 2):
        table = table.with_columns(x=col("x") + at).filter(col("x") >= at)
    return table


def one_row(many: int) -> float:
    """Seconds of a step that appends a row below so many `with_columns`."""
    source = tf.append_table({"x": int}, graph=tf.Graph(period=0, threads=2))
    last = source
    for at in range(many):
        last = last.with_columns(x=col("x") + at)
    found = float("inf")
    for _ in range(500):
        source.append({"x": 1})
        start = time.perf_counter()
        source.graph.step()
        found = min(found, time.perf_counter() - start)
    if len(last) != 500:
        raise RuntimeError(f"{len(last)} rows came through, not 500")
    return found


def main() -> int:
    """Print the table, and keep its lines if asked to."""
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--record", default="")
    asked = parse.parse_args()
    tables = sources()
    others = [[t.filter(col("x") < 2).select("k", y=col("x") + i) for i in range(MANY)] for t in tables.values()]
    rows = []
    for name, make in OPERATIONS.items():
        cells = [
            best(lambda t=t, make=make, of=of: [make(t, i, of) for i in range(MANY)]) / MANY * 1e6
            for t, of in zip(tables.values(), others, strict=True)
        ]
        rows.append([f"{name}, attached, µs", *(f"{cell:.1f}" for cell in cells), "60"])
    cells = [best(lambda t=t: chained(t, MANY)) for t in tables.values()]
    rows.append([f"{MANY:,} operations chained, s", *(f"{cell:.3f}" for cell in cells), "0.1"])
    passed = (one_row(CHAIN) - one_row(0)) / CHAIN * 1e6
    rows.append([f"one row past each of {CHAIN} `with_columns`, µs", "", f"{passed:.2f}", "2"])
    return figures.laid_out(asked.record, "python benches/attach.py", ["", *tables, "bar"], rows)


if __name__ == "__main__":
    sys.exit(main())
