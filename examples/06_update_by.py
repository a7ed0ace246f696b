"""You will see values that run over the rows of groups: totals, fading means and steps, kept true as rows come and change.

`update_by` leaves the rows as they are and puts columns beside them. A row at the end of its group costs no more than itself; a
change before it is carried on as far as it is felt.
"""

import tickframe as tf
from tickframe.update_by import cum_max, cum_sum, delta, ema_tick

graph = tf.Graph()
trades = tf.keyed_table({"id": int, "sym": str, "price": float, "size": int}, key="id", graph=graph)
running = trades.update_by(
    [cum_sum("volume = size"), cum_max("high = price"), delta("step = price"), ema_tick(2, "mean = price")], by="sym"
)


def show(what: str) -> None:
    """Print the table as it is now."""
    print(what)
    for row in running.with_columns(mean=tf.col("mean").round(2)).drop("size").rows():
        print("  ", *row)


trades.upsert({"id": [1, 2, 3], "sym": ["A", "B", "A"], "price": [10.0, 5.0, 12.0], "size": [100, 50, 10]})
graph.step()
show("three trades")

trades.upsert({"id": 4, "sym": "A", "price": 11.0, "size": 40})
graph.step()
show("one more, at the end of its group")

trades.upsert({"id": 1, "sym": "A", "price": 20.0, "size": 90})
graph.step()
show("the first is corrected: what stands behind it follows")
