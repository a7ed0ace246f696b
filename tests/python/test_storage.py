"""What storage holds and gives out: memory that follows the rows, keys of any depth."""

import numpy as np
import pyarrow as pa

import tickframe as tf


def test_a_window_that_moves_on_holds_memory_for_its_rows() -> None:
    graph = tf.Graph(threads=1)
    columns, rows = 10, 1_000
    table = tf.input_table({f"c{i}": float for i in range(columns)}, graph=graph)
    data = {f"c{i}": np.arange(rows, dtype=float) for i in range(columns)}
    first, most = 0, 0
    for _ in range(600):
        removed = range(first - 2 * rows, first - rows) if first >= 2 * rows else None
        table.apply(added=(range(first, first + rows), data), removed=removed)
        first += rows
        graph.step()
        most = max(most, graph.counters()["bytes_held"])
    assert len(table) == 2 * rows
    assert most <= 8 * (2 * rows * columns * 8) + (1 << 20)


def test_keys_of_deeply_nested_lists_are_told_apart() -> None:
    cells = pa.array([1, 2, 1, None, 2])
    for _ in range(60):
        cells = pa.FixedSizeListArray.from_arrays(cells, 1)
    table = tf.table(pa.table({"x": cells, "n": range(5)}))
    assert len(table.unique("x")) == 3
    counts = table.group_by("x").agg(n=tf.len())
    assert sorted(counts["n"].to_list()) == [1, 2, 2]
    assert len(table.sort("x")) == 5
