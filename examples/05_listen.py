"""You will see what changed, step by step, told by the table itself while the graph runs on its own.

A listener is called after each step has settled, on one Python thread and never inside a cycle. An update says
which rows were added, removed and modified, and has their values before and after.
"""

import threading

import tickframe as tf

graph = tf.Graph(period=0)  # a cycle starts as soon as data is there
prices = tf.keyed_table({"sym": str, "price": float}, key="sym", graph=graph)
cheap = prices.filter(tf.col("price") < 100)
heard = threading.Event()


def tell(update: tf.Update) -> None:
    """Print one change of the cheap ones."""
    for row in update.added_rows().to_dicts():
        print(f"step {update.step}: + {row}")
    for row in update.removed_rows().to_dicts():
        print(f"step {update.step}: - {row}")
    names = cheap.columns
    after = update.modified_rows(names).to_dicts()
    for old, new in zip(update.modified_rows_before(names).to_dicts(), after, strict=True):
        print(f"step {update.step}: ~ {old} -> {new}")
    if "last" in update.added_rows().to_dict()["sym"]:
        heard.set()


with cheap.subscribe(tell):
    graph.start()
    prices.upsert({"sym": ["A", "B"], "price": [90.0, 120.0]}).wait()
    prices.upsert({"sym": ["A", "B"], "price": [95.0, 99.0]}).wait()  # A changes, B becomes cheap
    prices.upsert({"sym": "A", "price": 101.0}).wait()  # A leaves
    prices.upsert({"sym": "last", "price": 1.0}).wait()
    heard.wait(timeout=30)
graph.stop()
