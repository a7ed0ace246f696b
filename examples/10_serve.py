"""You will see a table of this process read, followed in its changes and worked on by another one, which has no tickframe.

The server speaks Arrow Flight: any client of it can read and write. Here it is `pyarrow.flight`, in a process of its own.
"""

import subprocess
import sys

import tickframe as tf

READER = """
import sys

import pyarrow as pa
import pyarrow.flight as fl

url, token = sys.argv[1:]
options = fl.FlightCallOptions(headers=[(b"authorization", f"Bearer {token}".encode())])
with fl.connect(url) as client:
    for line in sys.stdin:  # one line for each time that it shall look
        rows = client.do_get(fl.Ticket(b"s/by_sym"), options).read_all().to_pylist()
        print("the other process reads", rows, flush=True)
    limits = pa.table({"sym": ["A", "B"], "most": [3.0, 3.0]})
    writer, _ = client.do_put(fl.FlightDescriptor.for_path("limits"), limits.schema, options)
    with writer:
        writer.write_table(limits)
"""

graph = tf.Graph()
trades = tf.append_table({"sym": str, "px": float}, graph=graph)
by_sym = trades.group_by("sym").agg(mean=tf.col("px").mean(), n=tf.len())

with tf.serve({"trades": trades, "by_sym": by_sym}) as srv:
    command = [sys.executable, "-c", READER, srv.url, srv.token or ""]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:  # noqa: S603
        if other.stdin and other.stdout:
            for prices in ([1.0, 2.0], [3.0, 8.0]):
                trades.append({"sym": ["A", "B"], "px": prices})
                graph.step()
                print("look", file=other.stdin, flush=True)
                print(other.stdout.readline(), end="")
    print("it left", list(srv.tables), "here:")
    over = by_sym.join(srv.tables["limits"], on="sym").filter(tf.col("mean") > tf.col("most"))
    print(over)
