"""You will see trades meet their reference data and the quote that was valid at their moment; both sides move.

`natural_join` adds the one matching row of the right table, or nulls. `join_asof` adds the last one at or before.
"""

import datetime as dt

import tickframe as tf

UTC = dt.timezone.utc  # noqa: UP017 - reads better here
NOON = dt.datetime(2024, 7, 1, 12, tzinfo=UTC)


def at(second: int) -> dt.datetime:
    """Noon and so many seconds."""
    return NOON + dt.timedelta(seconds=second)


graph = tf.Graph()
stamp = tf.Datetime("ns", "UTC")
trades = tf.append_table({"sym": str, "time": stamp, "size": int}, graph=graph)
quotes = tf.append_table({"sym": str, "time": stamp, "bid": float}, graph=graph)
names = tf.keyed_table({"sym": str, "name": str}, key="sym", graph=graph)

priced = trades.natural_join(names, on="sym").join_asof(
    quotes, on="time", by="sym", tolerance="10s", joins=["bid", "quoted = time"]
)

quotes.append({"sym": ["A", "A", "B"], "time": [at(0), at(5), at(1)], "bid": [9.0, 9.5, 20.0]})
trades.append({"sym": ["A", "A", "B"], "time": [at(3), at(5), at(30)], "size": [1, 2, 3]})
names.upsert({"sym": "A", "name": "Apple"})
graph.step()
print(priced.select("sym", "name", "size", "bid"))

names.upsert({"sym": ["A", "B"], "name": ["Apple Inc", "Boeing"]})  # the right side changes: rows are modified
quotes.append({"sym": "B", "time": at(29), "bid": 21.0})
graph.step()
print(priced.select("sym", "name", "size", "bid"))
