"""What a formula costs: read, lowered for a table, and followed while rows change.

    python benches/formulas.py [--record] [--rows 1000000]

Microseconds of the processor's time to read a text and to lower it for the columns of a table, the least of many; then the
median of a step that changes 10,000 rows of a live table under no formula and under each of four. `--record` keeps the two
tables as `formulas` and `live-formulas`. Needs the extension as `make release` builds it.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
import time
from typing import TYPE_CHECKING, Any

import figures
import numpy as np

import tickframe as tf
from tickframe import _native

if TYPE_CHECKING:
    from collections.abc import Callable

CHANGED, STEPS, CALLS = 10_000, 30, 300
TEXTS = {
    "`where X > limit && Y in 1.0, 2.0`": ("X > limit && Y in 1.0, 2.0", True),
    "`Z = X * limit + Y`": ("Z = X * limit + Y", False),
    "a choice with `in`, two functions and a method": (
        "Z = Y in 1.0, 2.0 ? abs(X - limit) : S.length() > 2 ? sqrt(Y) : X",
        False,
    ),
}
LIVE: dict[str, Callable[[tf.Table], tf.Table]] = {
    "source alone": lambda t: t,
    "`Y = X * 2`": lambda t: t.update("Y = X * 2"),
    "the same as `update_view`": lambda t: t.update_view("Y = X * 2"),
    "`Y = X - X_[i-1]`": lambda t: t.update("Y = X - X_[i-1]"),
    "`where X > X_[i-1]`": lambda t: t.where("X > X_[i-1]"),
}
CHANGES = ("modified at random", "appended", "removed, every second", "modified in another column")


def least(call: Callable[[], object]) -> float:
    """Microseconds of the processor's time."""
    found = []
    for _ in range(CALLS):
        start = time.thread_time_ns()
        call()
        found.append(time.thread_time_ns() - start)
    return min(found) / 1e3


def read_and_lowered() -> list[list[str]]:
    """A row for each thing that is done with a formula, a cell for each text."""
    table = tf.table({"X": [1.0, 2.0], "Y": [1.0, 3.0], "S": ["a", "abc"]})
    rows: dict[str, list[str]] = {}
    for text, condition in TEXTS.values():
        operation = "where" if condition else "update"
        numbers = itertools.count(1)
        anew = iter([text.replace("X", f"X{next(numbers)}", 1) for _ in range(CALLS)])
        parsed = _native.Formula(text, condition, operation)

        def lowered(of: _native.Table | None, read: Any = parsed, o: str = operation, n: Any = numbers) -> object:
            return read.lower(o, {"limit": next(n)}, {}, of, False)

        made: dict[str, Callable[[], object]] = {
            "read, a text never seen": lambda anew=anew, c=condition, o=operation: _native.Formula(next(anew), c, o),
            "the same text again": lambda t=text, c=condition, o=operation: _native.Formula(t, c, o),
            "lowered, with another value of `limit` each time": lambda lowered=lowered: lowered(None),
            "the same for the columns of a table": lambda lowered=lowered: lowered(table._native),  # noqa: SLF001
        }
        for name, call in made.items():
            rows.setdefault(name, [name]).append(f"{least(call):.1f}")
    return list(rows.values())


def stepped(change: str, make: Callable[[tf.Table], tf.Table], rows: int) -> tuple[float, str]:
    """Milliseconds of a step, and what is wrong with the rows after the last one."""
    draws = np.random.default_rng(1)
    source = tf.input_table({"X": tf.Float64, "W": tf.Float64}, graph=tf.Graph(period=0, threads=2))
    cells = lambda many: {"X": draws.random(many), "W": draws.random(many)}  # noqa: E731 - one expression
    source.apply(added=(tf.RowSet([(0, rows - 1)]), cells(rows)))
    source.graph.step()
    made = make(source)
    last, times = rows, []
    few = min(CHANGED, rows // (2 * STEPS))
    for at in range(STEPS):
        if change == "appended":
            source.apply(added=(tf.RowSet([(last, last + CHANGED - 1)]), cells(CHANGED)))
            last += CHANGED
        elif change == "removed, every second":
            source.apply(removed=tf.RowSet(np.arange(2 * few * at, 2 * few * (at + 1), 2)))
        else:
            keys = np.unique(draws.integers(0, rows, CHANGED))
            source.apply(
                modified=(tf.RowSet(keys), {"X" if change == "modified at random" else "W": draws.random(len(keys))})
            )
        start = time.perf_counter()
        source.graph.step()
        times.append(time.perf_counter() - start)
    wanted = make(tf.table(source.to_arrow()))
    wrong = "" if made.to_arrow().equals(wanted.to_arrow()) else "not the rows of the formula made anew"
    return statistics.median(times) * 1e3, wrong


def main() -> int:
    """Print both tables, and keep their lines if asked to."""
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--record", action="store_true")
    parse.add_argument("--rows", type=int, default=1_000_000)
    asked = parse.parse_args()
    keep = lambda name: name if asked.record else ""  # noqa: E731 - one expression, used twice
    command = f"python benches/formulas.py --rows {asked.rows}"
    columns = ["one formula, µs of the processor's time", *TEXTS]
    code = figures.laid_out(keep("formulas"), command, columns, read_and_lowered())
    lines, wrong = [], []
    for change in CHANGES:
        found = [stepped(change, make, asked.rows) for make in LIVE.values()]
        lines.append([change, *(f"{ms:.2f}" for ms, _ in found)])
        wrong += [(f"{name}, {change}", what) for name, (_, what) in zip(LIVE, found, strict=True) if what]
    columns = [f"{asked.rows:,} rows, live, {CHANGED:,} rows a cycle, p50 ms", *LIVE]
    return code or figures.laid_out(keep("live-formulas"), command, columns, lines, wrong)


if __name__ == "__main__":
    sys.exit(main())
