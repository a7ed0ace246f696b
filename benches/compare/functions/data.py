"""Deterministic data of the functions. `python data.py [rows]` writes $BENCH_DATA/static_<rows>/functions.arrow."""
import os
import sys

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather as feather

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from harness import DATA

WORDS = ["stone", "river", "meadow", "harbour", "rover", "forest", "café", "glacier"]


def main(n):
    d = os.path.join(DATA, f"static_{n}")
    os.makedirs(d, exist_ok=True)
    path = os.path.join(d, "functions.arrow")
    if os.path.exists(path):
        return path
    rng = np.random.default_rng(20261121)
    first, last = np.datetime64("1950-01-01", "us").astype(np.int64), np.datetime64("2090-01-01", "us").astype(np.int64)
    ts = rng.integers(first, last, n, dtype=np.int64) * 1000
    codes = pa.array([f"K{i:06d}" for i in range(100_000)])
    notes = pa.array([
        f"{WORDS[i % 8]} and {WORDS[i // 8 % 8]} by the {WORDS[i // 64 % 8]} no. {i:05d}" for i in range(50_000)
    ])
    digits = rng.integers(0, 10 ** rng.integers(1, 10, n), dtype=np.int64)
    table = pa.table({
        "ts": pa.array(ts, pa.timestamp("ns")),
        "code": codes.take(pa.array(rng.integers(0, 100_000, n))),
        "note": notes.take(pa.array(rng.integers(0, 50_000, n))),
        "digits": pc.cast(pa.array(digits), pa.string()),
        "whole": rng.integers(-2**62, 2**62, n, dtype=np.int64),
        "small": rng.integers(0, 1_000_000, n, dtype=np.int64),
        "real": rng.uniform(-1e9, 1e9, n),
    })
    feather.write_feather(table, path + ".part", compression="uncompressed")
    os.rename(path + ".part", path)
    return path


if __name__ == "__main__":
    print(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000))
