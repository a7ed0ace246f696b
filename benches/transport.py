"""What the server takes to send a table and to take one in, beside a stock Flight server; and what a follower costs a cycle.

    python benches/transport.py [rows] [--record transport]

One run, over loopback, every server in a process of its own; medians of seven after two to warm up, in turn. The client is
`pyarrow.flight` for all, and `tf.connect` besides: rows read once, and a followed table with all rows. An upload is let go once it was
taken, as the stock server does. Where `BENCH_DEEPHAVEN` names the Python of an environment with `deephaven-server`, that server stands
beside, three times instead of seven. The client's own ceiling is what `pyarrow` takes to read the same stream from memory. The follower is
`pydeephaven-ticking`. Needs the extension as `make release` builds it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import threading
import time
from typing import Any

import figures
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.flight as fl

import tickframe as tf

WARM, TIMES, DEEPHAVEN_TIMES = 2, 7, 3
DEEPHAVEN = os.environ.get("BENCH_DEEPHAVEN")
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
    """A process of this file, or of the other server's, that tells where it listens."""
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
    own = [sys.executable, os.path.join(here, "transport.py"), kind]  # noqa: PTH118
    beside = [DEEPHAVEN or "", os.path.join(here, "beside_deephaven.py"), "table"]  # noqa: PTH118
    command = [*(beside if kind == "deephaven" else own), *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603
    for line in process.stdout or ():
        if line.startswith("@"):
            _, url, token = line.split()
            return process, url, token
    raise RuntimeError(f"{kind} did not start")


def asked(kind: str, url: str, token: str, at: int, local: pa.Table) -> dict[str, float]:
    """The time of one DoGet and of one DoPut of all rows."""
    word = token if kind == "deephaven" else f"Bearer {token}"
    options = fl.FlightCallOptions(headers=[(b"authorization", word.encode())])
    path = ("export", str(at + 1)) if kind == "deephaven" else (f"p{at}",)
    with fl.connect(url) as client:
        start = time.perf_counter()
        got = client.do_get(fl.Ticket(b"s/t"), options).read_all()
        get = time.perf_counter() - start
        # The columns of Deephaven's are drawn there.
        if got.num_rows != local.num_rows or (kind != "deephaven" and pc.sum(got["n"]) != pc.sum(local["n"])):
            raise RuntimeError(f"{kind} sent {got.num_rows} rows, or others")
        writer, reader = client.do_put(fl.FlightDescriptor.for_path(*path), local.schema, options)
        start = time.perf_counter()
        writer.write_table(local, 1 << 16)
        writer.done_writing()
        while kind != "stock" and reader.read() is not None:
            pass
        writer.close()
        return {"DoGet": get, "DoPut": time.perf_counter() - start}


def connected(url: str, token: str, count: int) -> dict[str, float]:
    """The time from a question of our own client to its table of all rows, read once and followed."""
    times = {}
    with tf.connect(url, token) as con:
        for call, ask in (("snapshot", con.snapshot), ("follow", con.table)):
            start = time.perf_counter()
            table = ask("t")
            times[call] = time.perf_counter() - start
            if len(table) != count:
                raise RuntimeError(f"{call} has {len(table)} rows")
            del table
    return times


def ceiling(local: pa.Table) -> float:
    """The time that the client takes for the same batches where no socket is: a stream in memory, read whole with its bytes copied once."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, local.schema) as writer:
        writer.write_table(local, 1 << 16)
    held = sink.getvalue().to_pybytes()
    start = time.perf_counter()
    pa.ipc.open_stream(pa.py_buffer(bytes(bytearray(held)))).read_all()
    return time.perf_counter() - start


def transport(count: int) -> list[list[str]]:
    """DoGet and DoPut of all servers, in turn: a row of the table for each."""
    local = rows_of(count)
    kinds = ("stock", "ours", *(["deephaven"] if DEEPHAVEN else []))
    servers = {kind: started(kind, str(count)) for kind in kinds}
    taken: dict[tuple[str, str], list[float]] = {}
    try:
        for at in range(WARM + TIMES):
            for kind, (_, url, token) in servers.items():
                if kind == "deephaven" and at >= WARM + DEEPHAVEN_TIMES:
                    continue
                times = asked(kind, url, token, at, local)
                if kind == "ours":
                    times |= connected(url, token, count)
                if at >= WARM:
                    for call, time_ in times.items():
                        taken.setdefault((kind, call), []).append(time_)
                time.sleep(0.05)
        ours_alone = statistics.median(ceiling(local) for _ in range(3))
    finally:
        for process, _, _ in servers.values():
            process.kill()
    middle = {key: statistics.median(values) for key, values in taken.items()}

    rows = []

    def told(what: str, ours: float, beside: str, other: float, bar: str) -> None:
        rows.append([what, f"{ours * 1e3:.0f} ms", f"{beside} {other * 1e3:.0f} ms", f"{other / ours:.2f}", bar])

    stock = middle["stock", "DoGet"]
    told("DoGet, by `pyarrow.flight`", middle["ours", "DoGet"], "stock Flight server", stock, "1.0")
    told("`con.snapshot`, our own client", middle["ours", "snapshot"], "stock server by `pyarrow.flight`", stock, "1.3")
    told("`con.table`, followed from then on", middle["ours", "follow"], "the same", stock, "")
    told(
        "DoPut, bodies validated",
        middle["ours", "DoPut"],
        "stock server, which validates nothing,",
        middle["stock", "DoPut"],
        "0.8",
    )
    if DEEPHAVEN:
        told("DoGet", middle["ours", "DoGet"], "Deephaven", middle["deephaven", "DoGet"], "10")
        told("DoPut", middle["ours", "DoPut"], "Deephaven", middle["deephaven", "DoPut"], "10")
    told("DoGet: what the client itself can do", middle["ours", "DoGet"], "a stream in memory", ours_alone, "")
    return rows


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


def cycles() -> list[str]:
    """What a step takes that changes 10,000 of a million rows, alone and with a follower: a row of the table."""
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
    what = f"a cycle of {CHANGED:,} changes in {FOLLOWED:,} rows, with a follower in another process"
    return [what, f"{beside * 1e3:.2f} ms", f"alone {alone * 1e3:.2f} ms", f"{alone / beside:.2f}", "0.83"]


def main() -> int:
    """Print the table, and keep its lines if asked to."""
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("rows", nargs="?", type=int, default=10_000_000)
    parse.add_argument("--record", default="")
    asked = parse.parse_args()
    rows = [*transport(asked.rows), cycles()]
    columns = [f"{asked.rows:,} rows of six columns", "ours", "beside", "ratio", "bar, at least"]
    return figures.laid_out(asked.record, f"python benches/transport.py {asked.rows}", columns, rows)


if __name__ == "__main__":
    given = sys.argv[1:]
    if given and given[0] == "follow":
        follow(*given[1:])
    elif given and given[0] in {"stock", "ours"}:
        serve(given[0], int(given[1]))
    else:
        sys.exit(main())
