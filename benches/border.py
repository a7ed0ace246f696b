"""How fast the border copies: a pandas frame of 10 million rows and 6 columns against np.copyto, in one run.

python benches/border.py    (a release build; 1.5 GB of memory)
"""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pyarrow as pa

import tickframe as tf

ROWS, COLUMNS, ROUNDS = 10_000_000, 6, 5


def best(run: object) -> float:
    """The least of some rounds, in seconds."""
    spent = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        run()  # type: ignore[operator]
        spent.append(time.perf_counter() - start)
    return min(spent)


def main() -> None:
    """Print gigabytes a second."""
    cells = np.random.default_rng(1).random((COLUMNS, ROWS))
    frame = pd.DataFrame(cells.T, columns=list("abcdef"), copy=False)
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    size = cells.nbytes / 1e9
    room = np.empty_like(cells)
    print(f"np.copyto, memory in use   {size / best(lambda: np.copyto(room, cells)):6.2f} GB/s")
    print(f"np.copyto, memory anew     {size / best(lambda: np.copyto(np.empty_like(cells), cells)):6.2f} GB/s")
    print(f"tf.table(pyarrow)          {size / best(lambda: tf.table(arrow)):6.2f} GB/s")
    print(f"tf.table(pandas)           {size / best(lambda: tf.table(frame)):6.2f} GB/s")
    print(f"  of it pandas to pyarrow  {best(lambda: pa.Table.from_pandas(frame, preserve_index=False)) * 1e3:6.1f} ms")


if __name__ == "__main__":
    main()
