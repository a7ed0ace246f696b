"""You will see totals that follow every change: rows come, are corrected, and go; no group is ever read again.

The source is keyed, so an upsert of a known key corrects its row, and the totals are corrected by the difference.
"""

import tickframe as tf

graph = tf.Graph()
orders = tf.keyed_table({"id": int, "shop": str, "amount": float}, key="id", graph=graph)

totals = orders.group_by("shop").agg(
    tf.len().alias("orders"),
    tf.col("amount").sum().alias("total"),
    tf.col("amount").mean().alias("mean"),
    tf.col("amount").max().alias("largest"),
)
everything = orders.agg_by([tf.agg.count_("orders"), tf.agg.sum_("total = amount")])

orders.upsert({"id": [1, 2, 3], "shop": ["north", "south", "north"], "amount": [10.0, 5.0, 20.0]})
graph.step()
print(totals)

orders.upsert({"id": 3, "shop": "south", "amount": 7.5})  # a correction: it moves to another shop
orders.delete([1])  # and the last order of the north is cancelled: its group goes
graph.step()
print(totals)
print(everything.to_dicts())
