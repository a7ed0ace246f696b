"""User functions beside calls of the same functions on whole arrays: best of many, in one run.

    make release && .venv/bin/python benches/udf.py [--record udf] [--rows 1000000]

`select` of a static table; the bars are 1.1 for `np.exp`, 1.5 for `a*b+c`, and 1.3 for a plain function against
`pa.array([f(x) for x in column.to_pylist()])`. The results of both are compared.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING, Any

import figures
import numpy as np
import pyarrow as pa

import tickframe as tf

if TYPE_CHECKING:
    from collections.abc import Callable

TIMES, FEW = 300, 10


def best(many: int, *calls: Callable[[], object]) -> list[float]:
    """Least time of each call in ms; one after the other, so that all meet the same minute."""
    least = [float("inf")] * len(calls)
    for _ in range(many):
        for at, call in enumerate(calls):
            start = time.perf_counter()
            call()
            least[at] = min(least[at], (time.perf_counter() - start) * 1e3)
    return least


def third(v: float) -> float:
    """A plain function of one row."""
    return v * 3.0 + 1.0


def main() -> int:
    """Print the table, and keep its lines if asked to."""
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--record", default="")
    parse.add_argument("--rows", type=int, default=1_000_000)
    asked = parse.parse_args()
    rng = np.random.default_rng(7)
    a, b, c = (rng.random(asked.rows) for _ in range(3))
    t = tf.table({"a": a, "b": b, "c": c})
    column = pa.array(a)
    works: list[tuple[str, int, Callable[[], tf.Table], Callable[[], Any], float]] = []
    for label, stateful in {"stateful": True, "stateless, two threads": False}.items():
        exp = tf.udf(returns=float, on="numpy", stateful=stateful)(np.exp)
        line = tf.udf(returns=float, on="numpy", stateful=stateful)(lambda a, b, c: a * b + c)
        works += [
            (f"`np.exp`, {label}", TIMES, lambda exp=exp: t.select(exp("a").alias("y")), lambda: np.exp(a), 1.1),
            (
                f"`a*b+c`, {label}",
                TIMES,
                lambda line=line: t.select(line("a", "b", "c").alias("y")),
                lambda: a * b + c,
                1.5,
            ),
        ]
    scalar = tf.udf(returns=float, scalar=True)(third)
    works.append(
        (
            "a plain Python function of one row, against a list comprehension through pyarrow",
            FEW,
            lambda: t.select(scalar("a").alias("y")),
            lambda: pa.array([third(v) for v in column.to_pylist()]),
            1.3,
        )
    )
    rows, wrong = [], []
    for name, many, ours, whole, bar in works:
        mine, theirs = best(many, ours, whole)
        rows.append([name, f"{mine:.2f}", f"{theirs:.2f}", f"{mine / theirs:.2f}", f"{bar}"])
        if not np.allclose(ours().to_arrow()["y"].to_numpy(), np.asarray(whole()), rtol=1e-12):
            wrong.append((name, "not what the function gives for the whole arrays"))
    columns = [
        f"{asked.rows:,} rows, `select` of a static table",
        "ours, ms",
        "on the whole arrays, ms",
        "ratio",
        "bar",
    ]
    return figures.laid_out(asked.record, f"python benches/udf.py --rows {asked.rows}", columns, rows, wrong)


if __name__ == "__main__":
    sys.exit(main())
