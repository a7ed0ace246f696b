"""What it costs that rows outlive the process: beside the disk's own write and sync, and beside the same calls without it.

``python benches/durable.py [rows] [--rust] [--record]`` prints each figure with its bar, with ``--rust`` also that of
``cargo bench -p tickframe-benches --bench journal``, and keeps them for ``benches/RESULTS.md``. Times are medians, or percentiles of
one run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from figures import laid_out

import tickframe as tf

if TYPE_CHECKING:
    from collections.abc import Callable

SCHEMA = {"id": int, "sym": str, "px": float, "size": int, "side": str, "ts": tf.Datetime("ns")}


def drawn(first: int, rows: int) -> pa.Table:
    """Rows of a day's trades."""
    dice = np.random.default_rng(first + 7)
    return pa.table(
        {
            "id": np.arange(first, first + rows),
            "sym": pa.array([f"SYM{n}" for n in range(100)]).take(pa.array(dice.integers(0, 100, rows))),
            "px": np.round(dice.random(rows) * 1000, 2),
            "size": dice.integers(1, 10_000, rows),
            "side": pa.array(["buy", "sell"]).take(pa.array(dice.integers(0, 2, rows))),
            "ts": np.datetime64("2024-05-01", "ns") + np.arange(rows).astype("timedelta64[ms]"),
        }
    )


def least(work: Callable[[], object], times: int = 3) -> float:
    """The least time, in milliseconds."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        found.append((time.perf_counter() - began) * 1e3)
    return min(found)


def median(times: list[float]) -> float:
    """The middle one."""
    return sorted(times)[len(times) // 2]


TOLD: list[list[str]] = []
WRONG: list[tuple[str, str]] = []


def told(what: str, figure: float, bar: str) -> None:
    """Print a line."""
    print(f"{what:<78} {figure:8.2f}  {bar}", flush=True)
    TOLD.append([what.strip(), f"{figure:.2f}", bar.removeprefix("bar ")])


def singles_from_rust() -> None:
    """Single rows from Rust, in groups."""
    root = Path(__file__).resolve().parent.parent
    command = ["cargo", "bench", "-p", "tickframe-benches", "--bench", "journal"]
    done = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)  # noqa: S603 - our own bench
    words = done.stdout.split()
    rate, without = (float(words[words.index("million") + step]) for step in (-1, 2))
    told(f"single rows a second from Rust, millions; {without:.2f} without", rate, "bar 1.0")


def appends(folder: Path) -> None:
    """10,000 rows a call, each waited for, beside a file that is written and synced."""
    rows = drawn(0, 10_000)
    with tf.Graph(durable=folder / "appends") as graph:
        table = tf.append_table(SCHEMA, graph=graph, name="t", durable=True)
        ours, disk = [], []
        before = sum(file.stat().st_size for file in (folder / "appends").iterdir())
        with (folder / "raw").open("wb", buffering=0) as raw:
            for round_ in range(60):
                began = time.perf_counter()
                token = table.append(rows)
                graph.step()
                token.wait()
                ours.append((time.perf_counter() - began) * 1e3)
                if round_ == 0:
                    size = sum(file.stat().st_size for file in (folder / "appends").iterdir()) - before
                    content = os.urandom(size)
                began = time.perf_counter()
                raw.write(content)
                os.fdatasync(raw.fileno())
                disk.append((time.perf_counter() - began) * 1e3)
    told(f"append of 10,000 rows, waited for, ms; the disk alone {median(disk):.2f}", median(ours), "")
    told("  of the disk's own write and sync", median(ours) / median(disk), "bar 2.0")


def singles(folder: Path) -> None:
    """Single rows from Python, by a graph that runs by itself."""
    rates = {}
    for durable in (False, True, False, True):
        graph = tf.Graph(period=0.005, durable=folder / "singles" if durable else None)
        table = tf.append_table({"x": int, "s": str}, graph=graph, name=f"t{len(rates)}", durable=durable)
        graph.start()
        count = 20_000
        began = time.perf_counter()
        for n in range(count):
            token = table.append({"x": n, "s": "text"})
        token.wait()
        rate = count / (time.perf_counter() - began)
        rates[durable] = max(rate, rates.get(durable, 0.0))
        graph.close()
    told(f"single rows a second from Python, thousands; {rates[False] / 1e3:.0f} without", rates[True] / 1e3, "")
    told("  of the same calls without durable", rates[True] / rates[False], "bar 0.7")


def checkpoints(folder: Path, rows: int) -> None:
    """A keyed table whose rows are saved, then again after a hundredth of them changed; cycles beside it; the way back."""
    graph = tf.Graph()
    table = tf.keyed_table(SCHEMA, "id", graph=graph, name="t", max_queued_rows=rows + 1)
    for first in range(0, rows, 1_000_000):
        table.upsert(drawn(first, min(1_000_000, rows - first)))
        graph.step()
    began = time.perf_counter()
    first = graph.checkpoint(folder / "saved")
    took = time.perf_counter() - began
    raw = raw_speed(folder, first["bytes"])
    told(f"checkpoint of {rows:,} rows, {first['bytes'] / 1e6:,.0f} MB, s", took, "")
    told("  of the disk's bandwidth", first["bytes"] / took / raw, "bar 0.5")
    changed = drawn(rows // 2, rows // 100)
    table.upsert(changed)
    graph.step()
    began = time.perf_counter()
    second = graph.checkpoint(folder / "saved")
    told("second, 1 % changed side by side: time of the first", (time.perf_counter() - began) / took, "bar 0.05")
    told("  bytes of the first", second["bytes"] / first["bytes"], "bar 0.05")
    scattered = drawn(0, rows // 100).set_column(0, "id", pa.array(np.arange(0, rows, 100)[: rows // 100]))
    table.upsert(scattered)
    graph.step()
    began = time.perf_counter()
    third = graph.checkpoint(folder / "saved")
    told("third, 1 % changed here and there: time of the first", (time.perf_counter() - began) / took, "bar 0.10")
    told("  bytes of the first", third["bytes"] / first["bytes"], "bar 0.10")
    cycles(graph, table, rows, 200)
    alone = cycles(graph, table, rows, 2000)
    other = threading.Thread(target=graph.checkpoint, args=(folder / "aside",))
    other.start()
    beside = []
    while other.is_alive():
        beside += cycles(graph, table, rows, 1)
    told(
        f"cycle of 1,000 changes beside a checkpoint, p99 of {len(beside)} to without",
        p99(beside) / p99(alone),
        "bar 1.5",
    )
    began = time.perf_counter()
    restored = tf.restore(folder / "saved")
    count = len(restored.tables["t"])
    told(f"restore of {count:,} rows, s", time.perf_counter() - began, "bar 10")
    ids = pc.sum(restored.tables["t"].to_arrow()["id"]).as_py()
    if count != rows or ids != rows * (rows - 1) // 2:
        WRONG.append(("restore", f"{count:,} rows whose ids sum to {ids}"))


def cycles(graph: tf.Graph, table: tf.KeyedTable, rows: int, count: int) -> list[float]:
    """Times of steps that change 1,000 rows each."""
    took = []
    for _ in range(count):
        at = np.random.default_rng(len(took)).integers(0, rows - 1000)
        table.upsert(drawn(int(at), 1000))
        began = time.perf_counter()
        graph.step()
        took.append((time.perf_counter() - began) * 1e3)
    return took


def p99(times: list[float]) -> float:
    """What one in a hundred exceeds."""
    return sorted(times)[int(len(times) * 0.99)] if times else float("nan")


def raw_speed(folder: Path, size: int) -> float:
    """Bytes a second that the disk takes, synced at the end."""
    content = os.urandom(16 << 20)
    began = time.perf_counter()
    with (folder / "bandwidth").open("wb", buffering=0) as file:
        for _ in range(max(size // len(content), 1)):
            file.write(content)
        os.fsync(file.fileno())
    return max(size // len(content), 1) * len(content) / (time.perf_counter() - began)


def main(rows: int, *, rust: bool, record: bool) -> int:
    """Print all figures."""
    folder = Path(tempfile.mkdtemp())
    try:
        appends(folder)
        singles(folder)
        checkpoints(folder, rows)
        if rust:
            singles_from_rust()
        command = f"python benches/durable.py {rows}{' --rust' if rust else ''}"
        return laid_out("durable" if record else "", command, [" ", "figure", "bar"], TOLD, WRONG)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    given = [word for word in sys.argv[1:] if not word.startswith("--")]
    sys.exit(main(int(given[0]) if given else 10_000_000, rust="--rust" in sys.argv, record="--record" in sys.argv))
