"""What a held snapshot costs the changes beside it, and what it holds.

    python benches/snapshot.py [rows]

A table of six Float64 columns, a million rows unless told; a cycle modifies rows in all of them: 10,000 in one stretch, or
10,000 anywhere, which lie in every block. p50 of 30 cycles in ms, each way in turn round after round: with nothing held, with a `to_arrow()` that
is held for good, and with one taken anew before each cycle and held until the next. The floor is np.copyto of the whole
table into memory in use. Bytes are what the process gained beside one table of Arrow. Needs a release build.
"""

from __future__ import annotations

import gc
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import tickframe as tf

if TYPE_CHECKING:
    from collections.abc import Callable

COLUMNS, CHANGED, CYCLES = "abcdef", 10_000, 30


def resident() -> int:
    """Bytes of memory that this process has now."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096


def main(rows: int) -> None:
    """Print the figures."""
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
    print(f"np.copyto of all {size / 1e6:.0f} MB: {statistics.median(copies) * 1e3:.2f} ms")
    for name, keys in (("10,000 in one stretch", stretch), ("10,000 anywhere", anywhere)):
        print(name)
        compare(keys, cycle, table, size)


def compare(keys: Callable[[], Any], cycle: Callable[[Any], float], table: tf.InputTable, size: int) -> None:
    """The three ways, in turn."""
    times: dict[str, list[float]] = {"nothing held": [], "one held for good": [], "one taken before each": []}
    gained: dict[str, float] = dict.fromkeys(times, 0.0)
    for _ in range(5):
        for way, spent in times.items():
            gc.collect()
            before = resident()
            held = table.to_arrow() if way == "one held for good" else None
            for _ in range(CYCLES // 5):
                if way == "one taken before each":
                    held = table.to_arrow()
                spent.append(cycle(keys()))
            gained[way] = max(gained[way], (resident() - before) / size)
            del held
            cycle(keys())
    alone = statistics.median(times["nothing held"])
    for way, spent in times.items():
        middle = statistics.median(spent)
        print(
            f"  {way:<24} {middle * 1e3:8.2f} ms   {middle / alone:5.1f} of nothing held   {gained[way]:5.2f} of the table gained"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
