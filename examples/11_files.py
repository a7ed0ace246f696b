"""You will see a directory of Parquet files as a live table: files come, a join follows, results go to a file.

A file is there as a whole or not at all, so whoever reads the directory meanwhile never sees half of one.
"""

import tempfile
from pathlib import Path

import tickframe as tf

folder = Path(tempfile.mkdtemp())
limits = tf.read_csv(b"sym,most\nA,2.5\nB,5.0\n")

graph = tf.Graph()
(folder / "in").mkdir()
trades = tf.scan_parquet(folder / "in", refresh="manual", schema={"sym": str, "px": float}, graph=graph)
last = trades.group_by("sym").agg(px=tf.col("px").last())
over = last.join(limits, on="sym").filter(tf.col("px") > tf.col("most"))

for number, (a, b) in enumerate([(1.0, 4.0), (3.0, 4.5), (2.0, 6.0)]):
    tf.table({"sym": ["A", "B"], "px": [a, b]}).write_parquet(folder / "in" / f"{number}.parquet")
    print("files that came:", trades.refresh())
    graph.step()
    print("over their limit:", over.to_dicts())
    over.write_ndjson(folder / "out" / "over.json")

print("the result, read back:", tf.read_json(folder / "out" / "over.json").to_dicts())

# A filter of what lies in files reads the row groups that may hold such rows, and no others.
ticks = tf.table({"n": range(1_000_000)}).with_columns(px=tf.col("n") * 0.5)
ticks.write_parquet(folder / "ticks.parquet", row_group_size=100_000)
print(tf.scan_parquet(folder / "ticks.parquet").filter(tf.col("n") >= 999_998))
