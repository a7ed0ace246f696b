"""You will see windows of time that close: rows that come too late, what is kept of them, and results that are sent once.

A watermark says up to which time rows have come. By it an endless stream is counted in the memory of the windows that are open.
"""

import datetime as dt

import tickframe as tf


def at(hour: int, minute: int) -> dt.datetime:
    return dt.datetime(2024, 3, 31, hour, minute, tzinfo=dt.UTC)


graph = tf.Graph()
clicks = tf.blink_table({"t": tf.Datetime("ns", "UTC"), "user": str}, graph=graph)
timely = clicks.watermark("t", delay="10m")  # rows come ten minutes late at most, or so we think

hours = timely.group_by_dynamic("t", every="1h", emit="final", late="table").agg(clicks=tf.len())
visits = timely.session("t", gap="30m", group_by="user", late="keep", allowed_lateness="1h").len("clicks")

batches = [
    [(at(9, 0), "ann"), (at(9, 20), "ann"), (at(9, 50), "bob")],
    [(at(10, 5), "ann"), (at(9, 58), "bob")],  # in time: the watermark was 9:40
    [(at(10, 30), "bob")],  # the watermark is 10:20, and the window of nine o'clock closes
    [(at(9, 45), "ann")],  # too late for it; ann's visit is still open
]
for batch in batches:
    clicks.append({"t": [t for t, _ in batch], "user": [user for _, user in batch]})
    graph.step()
    print(hours.rows())

print(timely.watermark_table)
print(hours.late)
print(visits)
print(dict(hours.counted))
