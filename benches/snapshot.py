"""What a held snapshot costs the changes beside it, and what it holds.

    python benches/snapshot.py [rows] [--record snapshots]

A table of six Float64 columns, a million rows unless told; a cycle modifies rows in all of them: 10,000 in one stretch, or
10,000 anywhere, which lie in every block. p50 of 30 cycles in ms, each way in turn round after round: with nothing held, with a `to_arrow()` that
is held for good, and with one taken anew before each cycle and held until the next. The floor is np.copyto of the whole
table into memory in use. Bytes are what the process gained beside one table of Arrow. A held snapshot whose cells change is a
wrong answer. Needs a release build.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import figures
import numpy as np

import tickframe as tf

if TYPE_CHECKING:
    from collections.abc import Callable

COLUMNS, CHANGED, CYCLES = "abcdef", 10_000, 30


def resident() -> int:
    """Bytes of memory that this process has now."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096


WAYS = {
    "nothing": "nothing held",
    "one `to_arrow()` for good": "one held for good",
    "one taken anew before each cycle": "one taken before each",
}


def main() -> int:
    """Print the table, and keep its lines if asked to."""
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("rows", nargs="?", type=int, default=1_000_000)
    parse.add_argument("--record", default="")
    asked = parse.parse_args()
    rows = asked.rows
    draw = np.random.default_rng(1)
    cells = {name: draw.random(rows) for name in COLUMNS}
    table = tf.input_table(dict.fromkeys(COLUMNS, tf.Float64))
    graph = table.graph
    table.apply(added=(tf.RowSet([(0, rows - 1)]), cells))
    graph.step()

    def cycle(keys: np.ndarray[Any, Any]) -> float:
        values = {name: draw.random(len(keys)) for name in COLUMNS}
        chosen = tf.RowSet(keys)
        start = time.perf_counter()
        table.apply(modified=(chosen, values))
        graph.step()
        return time.perf_counter() - start

    def stretch() -> np.ndarray[Any, Any]:
        start = int(draw.integers(0, rows - CHANGED))
        return np.arange(start, start + CHANGED)

    def anywhere() -> np.ndarray[Any, Any]:
        return np.unique(draw.integers(0, rows, CHANGED))

    size = rows * 8 * len(COLUMNS)
    room = [np.empty(rows) for _ in COLUMNS]
    copies = []
    for _ in range(10):
        start = time.perf_counter()
        for goal, own in zip(room, cells.values(), strict=True):
            np.copyto(goal, own)
        copies.append(time.perf_counter() - start)
    floor = statistics.median(copies) * 1e3
    cases = {"10,000 in one stretch": stretch, "10,000 anywhere": anywhere}
    found = {name: compare(keys, cycle, table, size) for name, keys in cases.items()}
    lines = []
    for name, way in WAYS.items():
        cells_of = [f"{found[case][way][0]:.2f} ({found[case][way][1]:.1f})" for case in cases]
        lines.append([name, *cells_of, " and ".join(f"{found[case][way][2]:.2f}" for case in cases)])
    lines.append([f"`np.copyto` of all {size / 1e6:.0f} MB, beside it", f"{floor:.2f}", f"{floor:.2f}", ""])
    wrong = [
        (f"{way}, {case}", "cells of a held snapshot changed") for case, of in found.items() for way in of if of[way][3]
    ]
    columns = ["held", *cases, "gained"]
    return figures.laid_out(asked.record, f"python benches/snapshot.py {rows}", columns, lines, wrong)


def compare(
    keys: Callable[[], Any], cycle: Callable[[Any], float], table: tf.InputTable, size: int
) -> dict[str, tuple[float, float, float, bool]]:
    """Of each way, in turn: milliseconds, those of nothing held, tables gained, and whether a held cell changed."""
    times: dict[str, list[float]] = {way: [] for way in WAYS.values()}
    gained: dict[str, float] = dict.fromkeys(times, 0.0)
    changed: dict[str, bool] = dict.fromkeys(times, False)
    for _ in range(5):
        for way, spent in times.items():
            gc.collect()
            before = resident()
            held = table.to_arrow() if way == "one held for good" else None
            was = held["a"].to_numpy().sum() if held is not None else 0.0
            for _ in range(CYCLES // 5):
                if way == "one taken before each":
                    held = table.to_arrow()
                    was = held["a"].to_numpy().sum()
                spent.append(cycle(keys()))
            gained[way] = max(gained[way], (resident() - before) / size)
            changed[way] |= held is not None and held["a"].to_numpy().sum() != was
            del held
            cycle(keys())
    middle = {way: statistics.median(spent) for way, spent in times.items()}
    alone = middle["nothing held"]
    return {way: (middle[way] * 1e3, middle[way] / alone, gained[way], changed[way]) for way in times}


if __name__ == "__main__":
    sys.exit(main())
