"""You will see a table for each key, which comes with the first row of its key and goes with the last.

A function is applied to each constituent in the step in which it comes, and the results stacked follow every change.
"""

import tickframe as tf

graph = tf.Graph()
trades = tf.keyed_table({"id": int, "sym": str, "price": float}, key="id", graph=graph)
by_sym = trades.partition_by("sym")


def extremes(constituent: tf.Table) -> tf.Table:
    """The least and the greatest price of one symbol."""
    return constituent.group_by("sym").agg(low=tf.col("price").min(), high=tf.col("price").max())


summary = by_sym.transform(extremes).merge()

trades.upsert({"id": [1, 2, 3], "sym": ["A", "B", "A"], "price": [10.0, 20.0, 12.0]})
graph.step()
print(by_sym, summary.rows())

trades.upsert({"id": [4, 3], "sym": ["C", "A"], "price": [7.0, 15.0]})  # C comes, and a price of A is corrected
graph.step()
print(by_sym, summary.rows())

trades.delete([2])  # the last row of B
graph.step()
print(by_sym, summary.rows())

print(by_sym.filter(sym="A").merge().rows())
