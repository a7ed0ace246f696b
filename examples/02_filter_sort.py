"""You will see a leaderboard: the three largest trades, always in order, while rows come in.

Operations are polars' by name and by meaning; expressions are built with `tf.col`. A static table (a snapshot,
say) takes the same operations.
"""

import tickframe as tf

graph = tf.Graph()
trades = tf.append_table({"sym": str, "price": float, "size": int}, graph=graph)

largest = (
    trades.filter((tf.col("size") > 0) & tf.col("price").is_not_null())
    .with_columns(
        notional=tf.col("price") * tf.col("size"),
        side=tf.when(tf.col("size") > 50).then(tf.lit("block")).otherwise(tf.lit("odd")),
    )
    .sort("notional", descending=True)
    .head(3)
)

for batch in (
    {"sym": ["A", "B", "C"], "price": [10.0, None, 30.0], "size": [10, 20, 1]},
    {"sym": ["B", "C"], "price": [21.0, 29.0], "size": [100, 40]},
):
    trades.append(batch)
    step = graph.step()
    print(f"step {step}: {len(trades)} trades, the largest are")
    print(largest)

before = largest.snapshot()  # static: it stays as it is
trades.append({"sym": "Z", "price": 1000.0, "size": 1000})
graph.step()
print("now", largest.to_dict()["sym"], "but the snapshot still says", before.to_dict()["sym"])
