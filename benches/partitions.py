"""What a step costs over 1,000 partitions, beside the same over one table.

    python benches/partitions.py [--record partitions]

1,000 partitions of 1,000 rows; a filter and an aggregation of each, merged. A step changes 10,000 rows anywhere. Beside it the same
filter and an aggregation by the key of the partitions over the whole table, in turns. Both results are compared after each step.
Milliseconds of the wall clock, the median of 25 steps. Needs the extension as `make release` builds it. Bar: 3 times.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from typing import TYPE_CHECKING

import figures

import tickframe as tf
from tickframe import col

if TYPE_CHECKING:
    from collections.abc import Callable

PARTITIONS, ROWS, CHANGES, STEPS = 1_000, 1_000, 10_000, 25


def aggregated(table: tf.Table) -> tf.Table:
    """A filter and an aggregation, by the key of the partitions and another one."""
    return table.filter(col("x") > 100).group_by("k", "g").agg(col("x").sum(), m=col("x").max())


def whole(table: tf.Table) -> tf.Table:
    """The same over the whole table."""
    return aggregated(table)


def merged(table: tf.Table) -> tf.Table:
    """The same over each partition, as one table."""
    return table.partition_by("k").transform(aggregated).merge()


def apart(table: tf.Table) -> tf.Table:
    """The same where each partition has nodes of its own."""
    return table.partition_by("k").transform(lambda each: aggregated(each.slice(0))).merge()


def measured(make: Callable[[tf.Table], tf.Table]) -> tuple[float, float, list[tuple[object, ...]]]:
    """Milliseconds of the start and of a step, and the rows after the last one."""
    draws = random.Random(1)  # noqa: S311 - rows of a bench
    graph = tf.Graph(period=0, threads=2)
    source = tf.keyed_table({"id": int, "k": int, "g": int, "x": int}, key="id", graph=graph)
    many = PARTITIONS * ROWS
    ids = list(range(many))
    values = lambda: [draws.randrange(1_000) for _ in ids]  # noqa: E731 - one expression, used twice
    source.upsert(
        {"id": ids, "k": [at % PARTITIONS for at in ids], "g": [at // 1_000 % 4 for at in ids], "x": values()}
    )
    graph.step()
    start = time.perf_counter()
    made = make(source)
    began = time.perf_counter() - start
    times = []
    for _ in range(STEPS):
        some = draws.sample(ids, CHANGES)
        change = {
            "id": some,
            "k": [at % PARTITIONS for at in some],
            "g": [at // 1_000 % 4 for at in some],
            "x": [draws.randrange(1_000) for _ in some],
        }
        source.upsert(change)
        start = time.perf_counter()
        graph.step()
        times.append(time.perf_counter() - start)
    return began * 1e3, statistics.median(times) * 1e3, sorted(made.select("k", "g", "x", "m").rows())


def main() -> int:
    """Print the table, and keep its lines if asked to."""
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--record", default="")
    asked = parse.parse_args()
    ways: dict[str, Callable[[tf.Table], tf.Table]] = {
        "one table": whole,
        "partitions, one plan": merged,
        "partitions, a node each": apart,
    }
    found = {name: measured(make) for name, make in ways.items()}
    (_, least, rows), *_ = found.values()
    wrong = [(name, "other rows than one table") for name, (_, _, other) in found.items() if other != rows]
    lines = [[name, f"{began:.0f}", f"{step:.2f}", f"{step / least:.1f}"] for name, (began, step, _) in found.items()]
    columns = ["", "started, ms", "a step, ms", "of one table"]
    return figures.laid_out(asked.record, "python benches/partitions.py", columns, lines, wrong)


if __name__ == "__main__":
    sys.exit(main())
