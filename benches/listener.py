"""How long one row takes to a Python listener, and what the machine takes by itself.

    python benches/listener.py [rows]

Figures of one run, in microseconds: from `append` to the call of the listener (`period=0`; the bar is a p50 under 50), back
to back and with 1 ms and 20 ms between rows, when all threads sleep deeper; a wake-up between two Python threads, there and back, which is two hand-overs of the GIL; and the same row to `Token.wait`,
which needs no listener. Needs the extension as `make release` builds it.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING

import tickframe as tf

if TYPE_CHECKING:
    from collections.abc import Callable


def percentiles(name: str, once: Callable[[], int], rows: int, bar: str = "", pause: float = 0) -> None:
    """So many times, after a tenth as many to warm up, with a pause in seconds between two."""

    def paused() -> int:
        if pause:
            time.sleep(pause)
        return once()

    for _ in range(rows // 10):
        paused()
    times = sorted(paused() for _ in range(rows))
    p50, p90, p99 = (times[rows * of // 100] / 1e3 for of in (50, 90, 99))
    print(f"{name:<44} p50 {p50:>7.1f} µs   p90 {p90:>7.1f}   p99 {p99:>7.1f}{bar}")


def to_a_listener(rows: int) -> None:
    """From the append to the call."""
    graph = tf.Graph(period=0)
    table = tf.append_table({"x": int}, graph=graph)
    heard = threading.Semaphore(0)
    called = 0

    def listener(_update: tf.Update) -> None:
        nonlocal called
        called = time.perf_counter_ns()
        heard.release()

    def once() -> int:
        start = time.perf_counter_ns()
        table.append({"x": 1})
        heard.acquire()
        return called - start

    graph.start()
    with table.subscribe(listener):
        percentiles("append of one row to a Python listener", once, rows, " (bar: p50 50)")
        percentiles("the same, 1 ms between rows", once, min(rows, 5_000), pause=0.001)
        percentiles("the same, 20 ms between rows", once, min(rows, 500), pause=0.020)
    graph.stop()


def to_a_token(rows: int) -> None:
    """From the append to the return of its wait."""
    graph = tf.Graph(period=0)
    table = tf.append_table({"x": int}, graph=graph)

    def once() -> int:
        start = time.perf_counter_ns()
        table.append({"x": 1}).wait(60)
        return time.perf_counter_ns() - start

    graph.start()
    percentiles("append of one row to the end of its wait", once, rows)
    graph.stop()


def there_and_back(rows: int) -> None:
    """Two threads that wake each other."""
    there, back, over = threading.Semaphore(0), threading.Semaphore(0), threading.Event()

    def echo() -> None:
        while True:
            there.acquire()
            if over.is_set():
                return
            back.release()

    thread = threading.Thread(target=echo)
    thread.start()

    def once() -> int:
        start = time.perf_counter_ns()
        there.release()
        back.acquire()
        return time.perf_counter_ns() - start

    percentiles("a wake-up between Python threads, and back", once, rows)
    over.set()
    there.release()
    thread.join()


if __name__ == "__main__":
    many = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    to_a_listener(many)
    to_a_token(many)
    there_and_back(many)
