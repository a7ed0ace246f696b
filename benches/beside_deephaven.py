"""A Deephaven server for the benches of the server to stand beside, in a process of its own and of an environment of its own.

    python benches/beside_deephaven.py table ROWS | row

Run by the Python of an environment that holds `deephaven-server`, which `BENCH_DEEPHAVEN` names; it wants a Java of 17 or newer. Prints
`@ url` once it listens. `table` binds `t` to a million-row-and-more table of six columns of numbers and times. `row` binds `t` to a table to
which each line that comes adds one row with the time at which it came; cycles and updates wait for nothing.
"""

import socket
import sys
import time

from deephaven_server import Server


def started(*words: str) -> Server:
    """A server on a port of its own; two processors, as the other servers have."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    memory = ["-Xmx10g", "-Xms10g", "-XX:ActiveProcessorCount=2"]
    anybody = [
        "-DAuthHandlers=io.deephaven.auth.AnonymousAuthenticationHandler",
        "-Dauthentication.anonymous.warn=false",
    ]
    server = Server(host="127.0.0.1", port=port, jvm_args=[*memory, *anybody, *words])
    server.start()
    return server


def table(count: int) -> None:
    """The columns that `transport.py` sends, as the server would have them itself."""
    server = started()
    from deephaven import empty_table

    import __main__

    random = ["a = Math.random()", "b = Math.random()", "c = Math.random()"]
    whole = ["sym = (int)(Math.random() * 1000)", "n = (long)(Math.random() * 1e9)"]
    stamp = ["t = epochNanosToInstant((long)(Math.random() * 1e18))"]
    __main__.t = empty_table(count).update([*whole, *random, *stamp]).select()
    told(server)


def row() -> None:
    """One row for each line that comes."""
    server = started("-Dbarrage.minUpdateInterval=1", "-DPeriodicUpdateGraph.targetCycleDurationMillis=1")
    from deephaven import DynamicTableWriter
    from deephaven import dtypes as dht

    import __main__

    writer = DynamicTableWriter({"at": dht.int64, "sent": dht.int64})
    __main__.t = writer.table
    told(server)
    for at, _ in enumerate(sys.stdin):
        writer.write_row(at, time.perf_counter_ns())


def told(server: Server) -> None:
    """Say where it listens."""
    print("@", f"grpc://127.0.0.1:{server.port}", "Anonymous", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "row":
        row()
    else:
        table(int(sys.argv[2]))
        time.sleep(3600)
