"""You will see windows of time and sessions that follow rows which come late, are corrected, and go.

Rows need no order. A row that comes late is counted in the window of its time, and may join two sessions.
"""

import datetime as dt

import tickframe as tf


def at(hour: int, minute: int) -> dt.datetime:
    return dt.datetime(2024, 3, 31, hour, minute, tzinfo=dt.UTC)


graph = tf.Graph()
clicks = tf.keyed_table({"id": int, "t": tf.Datetime("ns", "UTC"), "user": str}, key="id", graph=graph)

hours = clicks.group_by_dynamic("t", every="1h").agg(clicks=tf.len(), users=tf.col("user").n_unique())
running = clicks.group_by_dynamic("t", every="1h", period="3h").len("clicks in 3 hours")
visits = clicks.session("t", gap="30m", group_by="user").len("clicks")

times = [at(9, 0), at(9, 20), at(10, 10), at(10, 15)]
clicks.upsert({"id": [1, 2, 3, 4], "t": times, "user": ["ann", "ann", "ann", "bob"]})
graph.step()
print(hours)
print(visits)

clicks.upsert({"id": 5, "t": at(9, 45), "user": "ann"})  # late: ann was there all the time
graph.step()
print(visits)

clicks.delete([2])  # and that one was a mistake: two visits again
graph.step()
print(visits)
print(running.sort("t"))
