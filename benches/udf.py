"""User functions beside calls of the same functions on whole arrays: best of many, in one run.

    make release && .venv/bin/python benches/udf.py

One million rows, `select` of a static table; the bars are 1.1 for `np.exp`, 1.5 for `a*b+c`, and 1.3 for a plain function
against `pa.array([f(x) for x in column.to_pylist()])`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

import tickframe as tf

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = 1_000_000


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


def main() -> None:
    """Measure and print the table."""
    rng = np.random.default_rng(7)
    a, b, c = (rng.random(ROWS) for _ in range(3))
    t = tf.table({"a": a, "b": b, "c": c})
    shapes = {"stateful": True, "stateless, two threads": False}
    print("| | ours ms | on the whole arrays ms | ratio (bar) |\n|---|---|---|---|")
    for label, stateful in shapes.items():
        exp = tf.udf(returns=float, on="numpy", stateful=stateful)(np.exp)
        ours, whole = best(300, lambda exp=exp: t.select(exp("a").alias("y")), lambda: np.exp(a))
        print(f"| `np.exp`, {label} | {ours:.2f} | {whole:.2f} | {ours / whole:.2f} (1.1) |")
        line = tf.udf(returns=float, on="numpy", stateful=stateful)(lambda a, b, c: a * b + c)
        ours, whole = best(300, lambda line=line: t.select(line("a", "b", "c").alias("y")), lambda: a * b + c)
        print(f"| `a*b+c`, {label} | {ours:.2f} | {whole:.2f} | {ours / whole:.2f} (1.5) |")
    scalar = tf.udf(returns=float, scalar=True)(third)
    column = pa.array(a)
    ours, whole = best(
        10, lambda: t.select(scalar("a").alias("y")), lambda: pa.array([third(v) for v in column.to_pylist()])
    )
    print(f"| a plain Python function of one row | {ours:.1f} | {whole:.1f} | {ours / whole:.2f} (1.3) |")


if __name__ == "__main__":
    main()
