"""You will see a table fill itself: a derived table is true again after every step, without being asked.

A graph moves in steps. Rows that are appended wait; a step takes them all, and updates every table that
depends on them by work proportional to the change.
"""

import tickframe as tf

graph = tf.Graph()  # never started: it moves only when we say step()
trades = tf.append_table({"sym": str, "price": float, "size": int}, graph=graph)
notional = trades.with_columns(notional=tf.col("price") * tf.col("size"))

trades.append({"sym": "A", "price": 10.0, "size": 3})  # one row: a dict of scalars
print("before the step:", len(notional), "rows")

step = graph.step()
print("after step", step)
print(notional)

trades.append({"sym": ["B", "A"], "price": [20.0, 11.0], "size": [1, 2]})  # many: a dict of lists
graph.step()
print(notional.to_dicts()[-1])
