"""What the server takes to send a table and to take one in, beside a stock Flight server; and what a follower costs a cycle.

    python benches/transport.py [rows]

One run, over loopback, every server in a process of its own; medians of seven after two to warm up, in turn. The client is
`pyarrow.flight` for both. An upload is let go once it was taken, as the stock server does. The follower is `pydeephaven-ticking`. Needs the
extension as `make release` builds it.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.flight as fl

import tickframe as tf

WARM, TIMES = 2, 7
FOLLOWED, CHANGED, CYCLES = 1_000_000, 10_000, 60


def rows_of(count: int) -> pa.Table:
    """Six columns of numbers and times."""
    drawn = np.random.default_rng(1)
    columns = {name: drawn.random(count) for name in ("a", "b", "c")}
    whole = {"sym": drawn.integers(0, 1000, count).astype("int32"), "n": drawn.integers(0, 10**9, count)}
    stamp = pa.array(drawn.integers(0, 10**18, count), pa.timestamp("ns", "UTC"))
    return pa.table({**whole, **columns, "t": stamp})


class Stock(fl.FlightServerBase):
    """As `pyarrow` has it."""

    def __init__(self, table: pa.Table) -> None:
        super().__init__("grpc://127.0.0.1:0")
        self.table = table

    def do_get(self, _context: object, _ticket: fl.Ticket) -> fl.RecordBatchStream:
        """All rows."""
        return fl.RecordBatchStream(self.table)

    def do_put(self, _context: object, _descriptor: object, reader: Any, _writer: object) -> None:
        """Reads all, and lets it go."""
        reader.read_all()


def serve(kind: str, count: int) -> None:
    """Be one of the servers until the process is ended."""
    table = rows_of(count).combine_chunks()
    if kind == "stock":
        stock = Stock(table)
        print("@", f"grpc://127.0.0.1:{stock.port}", "none", flush=True)
        stock.serve()
    ours = tf.serve({"t": tf.table(table)})
    print("@", ours.url, ours.token, flush=True)
    while True:
        time.sleep(0.005)
        for name in [name for name in ours.tables if name != "t"]:
            del ours.tables[name]


def started(kind: str, *words: str) -> tuple[subprocess.Popen[str], str, str]:
    """A process of this file that tells where it listens."""
    command = [sys.executable, os.path.abspath(__file__), kind, *words]  # noqa: PTH100
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603
    for line in process.stdout or ():
        if line.startswith("@"):
            _, url, token = line.split()
            return process, url, token
    raise RuntimeError(f"{kind} did not start")


def transport(count: int) -> None:
    """DoGet and DoPut of both, in turn."""
    local = rows_of(count)
    servers = {kind: started(kind, str(count)) for kind in ("stock", "ours")}
    taken: dict[tuple[str, str], list[float]] = {}
    try:
        for at in range(WARM + TIMES):
            for kind, (_, url, token) in servers.items():
                options = fl.FlightCallOptions(headers=[(b"authorization", f"Bearer {token}".encode())])
                with fl.connect(url) as client:
                    start = time.perf_counter()
                    got = client.do_get(fl.Ticket(b"s/t"), options).read_all().num_rows
                    get = time.perf_counter() - start
                    if got != count:
                        raise RuntimeError(f"{kind} sent {got} rows")
                    writer, reader = client.do_put(fl.FlightDescriptor.for_path(f"p{at}"), local.schema, options)
                    start = time.perf_counter()
                    writer.write_table(local, 1 << 16)
                    writer.done_writing()
                    while kind == "ours" and reader.read() is not None:
                        pass
                    writer.close()
                    put = time.perf_counter() - start
                if at >= WARM:
                    taken.setdefault((kind, "DoGet"), []).append(get)
                    taken.setdefault((kind, "DoPut"), []).append(put)
                time.sleep(0.05)
    finally:
        for process, _, _ in servers.values():
            process.kill()
    for call, bar in (("DoGet", 1.0), ("DoPut", 0.8)):
        stock, ours = (statistics.median(taken[kind, call]) for kind in ("stock", "ours"))
        print(
            f"{call} of {count:,} rows of {local.num_columns}: ours {ours * 1e3:.0f} ms ({local.nbytes / ours / 1e9:.2f} GB/s), stock "
            f"{stock * 1e3:.0f} ms: {stock / ours:.2f} (bar: {bar})"
        )


def follow(url: str, token: str) -> None:
    """Follow a table until the process is ended."""
    import pydeephaven as dh
    from pydeephaven_ticking.table_listener import listen

    kind = "io.deephaven.authentication.psk.PskAuthenticationHandler"
    session = dh.Session(host="127.0.0.1", port=int(url.rsplit(":", 1)[1]), auth_type=kind, auth_token=token)
    came = threading.Event()

    def on_update(update: Any) -> None:
        for chunk in update.added_chunks(1 << 16):
            if len(chunk["x"]):
                came.set()

    listen(session.open_table("t"), on_update).start()
    came.wait()
    print("@ follows it", flush=True)
    time.sleep(3600)


def cycles() -> None:
    """What a step takes that changes 10,000 of a million rows, alone and with a follower."""
    graph = tf.Graph()
    table = tf.keyed_table({"id": int, "x": float}, key="id", graph=graph)
    table.upsert({"id": np.arange(FOLLOWED), "x": np.zeros(FOLLOWED)})
    graph.step()
    doubled = table.with_columns(y=tf.col("x") * 2)
    drawn = np.random.default_rng(2)

    def step() -> float:
        table.upsert({"id": drawn.choice(FOLLOWED, CHANGED, replace=False), "x": drawn.random(CHANGED)})
        start = time.perf_counter()
        graph.step()
        taken = time.perf_counter() - start
        time.sleep(0.05)
        return taken

    with tf.serve({"t": doubled}) as server:
        medians = []
        for followed in (False, True):
            follower = started("follow", server.url, server.token or "") if followed else None
            for _ in range(10):
                step()
            medians.append(statistics.median(step() for _ in range(CYCLES)))
            if follower:
                follower[0].kill()
    alone, beside = medians
    print(
        f"a cycle of {CHANGED:,} changes in {FOLLOWED:,} rows: {alone * 1e3:.2f} ms alone, {beside * 1e3:.2f} ms with a follower: "
        f"{beside / alone:.2f} (bar: 1.2)"
    )


if __name__ == "__main__":
    given = sys.argv[1:]
    if given and given[0] == "follow":
        follow(*given[1:])
    elif given and given[0] in {"stock", "ours"}:
        serve(given[0], int(given[1]))
    else:
        transport(int(given[0]) if given else 10_000_000)
        cycles()
