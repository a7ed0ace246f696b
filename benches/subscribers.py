"""What subscribers cost, and how soon they know: a row on its way to another process, viewports, one that does not read, sessions.

    python benches/subscribers.py [row | viewports | stalled | sessions] [seconds] [--record subscribers]

Over loopback, servers in a process of their own but where it is their cycle that is measured. Times are of one clock, which all processes of
a machine share. Where `BENCH_DEEPHAVEN` names the Python of an environment with `deephaven-server`, one row to a listener of
`pydeephaven-ticking` there stands beside. `BENCH_VIEWPORTS` says how many viewports, in each of some runs. Needs the extension as `make release` builds it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import struct
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import figures
import numpy as np
import pyarrow.flight as fl

import tickframe as tf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROWS, CHANGED, SHOWN = 1_000_000, 1_000, 40
VIEWPORTS = [int(word) for word in os.environ.get("BENCH_VIEWPORTS", "100,1000").split(",")]
DEEPHAVEN = os.environ.get("BENCH_DEEPHAVEN")
WORD = "a-word-of-this-bench"
ROWS_TOLD: list[list[str]] = []
WRONG: list[tuple[str, str]] = []


def tell(what: str, measured: str, bar: str = "") -> None:
    """A row of the table."""
    print(f"{what}: {measured}{f' (bar: {bar})' * bool(bar)}", flush=True)
    ROWS_TOLD.append([what, measured, bar])


# What asks for a viewport, as bytes: the flatbuffers of Barrage, written from their front to their end.


class _Words:
    def __init__(self) -> None:
        self.bytes = bytearray(4)

    def vector(self, content: bytes) -> int:
        self.bytes += bytes(-len(self.bytes) % 4)
        at = len(self.bytes)
        self.bytes += struct.pack("<I", len(content)) + content
        return at

    def table(self, *fields: int | bool | Callable[[], int] | None) -> int:
        size = 4 + 2 * len(fields)
        self.bytes += bytes(-(len(self.bytes) + size) % 4)
        words = len(self.bytes)
        self.bytes += bytes(size)
        at = len(self.bytes)
        self.bytes += struct.pack("<i", size)
        places = {}
        for number, field in enumerate(fields):
            if field is not None:
                places[number] = len(self.bytes) - at
                self.bytes += bytes([field, 0, 0, 0]) if isinstance(field, bool) else bytes(4)
                if isinstance(field, int) and not isinstance(field, bool):
                    self.bytes[-4:] = struct.pack("<I", field)
        struct.pack_into("<HH", self.bytes, words, size, len(self.bytes) - at)
        for number, place in places.items():
            struct.pack_into("<H", self.bytes, words + 4 + 2 * number, place)
            field = fields[number]
            if callable(field):
                struct.pack_into("<I", self.bytes, at + place, field() - at - place)
        return at

    def done(self, root: int) -> bytes:
        struct.pack_into("<I", self.bytes, 0, root)
        return bytes(self.bytes)


def wanted(name: str, rows: tuple[int, int] | None, interval: int) -> bytes:
    """The request for a table, or for a range of its positions."""
    inner = _Words()
    viewport = None
    if rows is not None:
        content = b"\x0b" + struct.pack("<q", rows[0]) + b"\x0b" + struct.pack("<q", rows[0] - rows[1]) + b" "
        viewport = lambda: inner.vector(content)  # noqa: E731 - the words of one table
    options = lambda: inner.table(None, None, interval, None, None, True)  # noqa: E731 - as above
    ticket = lambda: inner.vector(f"s/{name}".encode())  # noqa: E731 - as above
    request = inner.done(inner.table(ticket, None, viewport, options))
    outer = _Words()
    return outer.done(outer.table(0x6E687064, 5, lambda: outer.vector(request)))


def step_of(metadata: bytes) -> int:
    """The last step that an update covers."""
    (root,) = struct.unpack_from("<I", metadata)
    words = root - struct.unpack_from("<i", metadata, root)[0]
    at = root + struct.unpack_from("<H", metadata, words + 4 + 2 * 2)[0]
    nested = metadata[at + struct.unpack_from("<I", metadata, at)[0] + 4 :]
    (root,) = struct.unpack_from("<I", nested)
    words = root - struct.unpack_from("<i", nested, root)[0]
    place = struct.unpack_from("<H", nested, words + 4 + 2)[0]
    return struct.unpack_from("<q", nested, root + place)[0] if place else 0


def followed(client: fl.FlightClient, request: bytes) -> tuple[Any, Any]:
    """A subscription: what is sent, and what comes."""
    options = fl.FlightCallOptions(headers=[(b"authorization", b"Bearer " + WORD.encode())])
    writer, reader = client.do_exchange(fl.FlightDescriptor.for_command(b"dphn"), options)
    writer.write_metadata(request)
    return writer, reader


def held() -> int:
    """Bytes of memory that this process has."""
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 - no file of a disk
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def started(*words: str) -> tuple[subprocess.Popen[str], Iterator[str]]:
    """A process of this file, and what it tells."""
    command = [sys.executable, "-W", "ignore", os.path.abspath(__file__), *words]  # noqa: PTH100
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603
    return process, (line[2:].strip() for line in process.stdout or () if line.startswith("@ "))


def say(text: object) -> None:
    """Tell the process that started this one."""
    print("@", text, flush=True)


def part(values: list[float], share: float) -> float:
    """The value below which this share lies."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


# One row to a remote listener.


def row_server() -> None:
    """Append a row whenever a line comes, with the time at which it was."""
    graph = tf.Graph(period=0)
    graph.start()
    table = tf.append_table({"at": int, "sent": int}, graph=graph)
    server = tf.serve({"t": table}, token=WORD, graph=graph)
    say(server.url)
    for at, _ in enumerate(sys.stdin):
        table.append({"at": at, "sent": time.perf_counter_ns()})


def row(seconds: float) -> None:
    """How long a row is on its way from `append` there to a listener here."""
    process, told = started("row-server")
    graph = tf.Graph(period=0)
    graph.start()
    try:
        with tf.connect(next(told), WORD, graph=graph) as con:
            remote = con["t"]
            taken: list[float] = []
            came = threading.Event()

            def on_update(update: Any) -> None:
                now = time.perf_counter_ns()
                taken.extend((now - cells["sent"]) / 1e3 for cells in update.added_rows(["sent"]).to_dicts())
                came.set()

            handle = remote.subscribe(on_update)
            end = time.perf_counter() + seconds
            while time.perf_counter() < end:
                came.clear()
                print("row", file=process.stdin, flush=True)
                came.wait(10)
                time.sleep(0.005)
            handle.cancel()
    finally:
        process.kill()
    told_of("a Python listener of `tf.connect` in another process", taken, "1 ms")
    if DEEPHAVEN:
        told_of("a listener of Deephaven's client, `pydeephaven-ticking`", row_beside(seconds), "")


def told_of(whom: str, taken: list[float], bar: str) -> None:
    """What a row took, without what warmed up."""
    taken = taken[len(taken) // 10 :]
    if not taken:
        WRONG.append((whom, "no row came"))
        return
    middle, late = statistics.median(taken) / 1e3, part(taken, 0.99) / 1e3
    tell(f"one row appended to {whom}, p50 of {len(taken):,}; p99", f"{middle:.2f} ms; {late:.2f} ms", bar)


def row_beside(seconds: float) -> list[float]:
    """The same of a Deephaven server and its own client."""
    import pydeephaven as dh
    from pydeephaven_ticking.table_listener import listen

    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
    words = [DEEPHAVEN or "", f"{here}/beside_deephaven.py", "row"]
    pipe = subprocess.PIPE
    process = subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True)  # noqa: S603
    taken: list[float] = []
    try:
        url = next(line.split()[1] for line in process.stdout or () if line.startswith("@ "))
        session = dh.Session(host="127.0.0.1", port=int(url.rsplit(":", 1)[1]))
        came = threading.Event()

        def on_update(update: Any) -> None:
            now = time.perf_counter_ns()
            taken.extend((now - int(sent)) / 1e3 for sent in update.added("sent")["sent"])
            came.set()

        listen(session.open_table("t"), on_update).start()
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            came.clear()
            print("row", file=process.stdin, flush=True)
            came.wait(10)
            time.sleep(0.005)
    finally:
        process.kill()
    return taken


# Viewports.


def viewports_server(seconds: float) -> None:
    """A sorted million rows that change while somebody follows them."""
    graph = tf.Graph()
    table = tf.keyed_table({"id": int, "x": float}, key="id", graph=graph)
    drawn = np.random.default_rng(3)
    table.upsert({"id": np.arange(ROWS), "x": drawn.random(ROWS)})
    graph.step()
    ordered = table.sort("x")
    server = tf.serve({"t": ordered}, token=WORD, graph=graph)
    ended: dict[int, int] = {}

    def steps(seconds: float) -> None:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            table.upsert({"id": drawn.choice(ROWS, CHANGED, replace=False), "x": drawn.random(CHANGED)})
            step = graph.step()
            ended[step] = time.perf_counter_ns()
            time.sleep(0.05)

    # What the tables hold themselves is there before somebody follows.
    steps(seconds)
    before, blocks = held(), graph.counters()["bytes_held"]
    say(server.url)
    sys.stdin.readline()
    steps(seconds)
    copied = graph.counters()["bytes_held"] - blocks
    say(f"{held() - before} {copied}")
    for step, at in ended.items():
        say(f"{step} {at}")
    say("end")
    sys.stdin.readline()


def viewports(seconds: float, many: int) -> None:
    """How long an update is on its way from the end of its step to the client, for each of many windows."""
    process, told = started("viewports-server", str(seconds))
    came: list[tuple[int, int]] = []
    failed: list[str] = []
    open_: list[Any] = []
    first = threading.Barrier(many + 1)
    try:
        url = next(told)
        drawn = np.random.default_rng(4)

        def read(begin: int) -> None:
            client = fl.connect(url)
            writer, reader = followed(client, wanted("t", (begin, begin + SHOWN - 1), 100))
            open_.append((client, writer))
            reader.read_chunk()
            first.wait()
            try:
                while True:
                    chunk = reader.read_chunk()
                    if chunk.app_metadata is not None:
                        came.append((step_of(chunk.app_metadata.to_pybytes()), time.perf_counter_ns()))
            except (fl.FlightError, StopIteration, OSError) as error:
                failed.append(str(error))

        for begin in drawn.integers(0, ROWS - SHOWN, many):
            threading.Thread(target=read, args=(int(begin),), daemon=True).start()
        first.wait()
        print("begin", file=process.stdin, flush=True)
        grown, copied = map(int, next(told).split())
        wrong = len(failed)
        ended = dict(tuple(map(int, line.split())) for line in iter(told.__next__, "end"))
        late = [(at - ended[step]) / 1e6 for step, at in came if step in ended]
    finally:
        process.kill()
    what = f"{many:,} viewports of {SHOWN} rows at 10 Hz on {ROWS:,} sorted rows, {CHANGED:,} changes a step"
    if wrong or not late:
        WRONG.append((what, f"{wrong} errors, {len(late)} updates"))
        return
    tell(f"{what}: p99 from the end of a step to the client", f"{part(late, 0.99):.0f} ms", "200 ms")
    tell(
        "the same, memory of each, without blocks of the tables", f"{(grown - copied) / many / 2**20:.2f} MiB", "1 MiB"
    )
    tell("the same, blocks of the tables that are copied since somebody reads them", f"{copied / 2**20:.0f} MiB", "")


# One that does not read.


def silent(url: str) -> None:
    """Follow a table, and read nothing."""
    client = fl.connect(url)
    kept = followed(client, wanted("t", None, 1))
    say("follows")
    time.sleep(3600)
    del kept


def stalled(seconds: float) -> None:
    """What a step at full rate takes, and what memory, alone and with one who does not read."""
    graph = tf.Graph()
    table = tf.keyed_table({"id": int, "x": float}, key="id", graph=graph)
    table.upsert({"id": np.arange(ROWS), "x": np.zeros(ROWS)})
    graph.step()
    drawn = np.random.default_rng(2)

    def steps(seconds: float) -> list[float]:
        taken = []
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            table.upsert({"id": drawn.choice(ROWS, 10 * CHANGED, replace=False), "x": drawn.random(10 * CHANGED)})
            start = time.perf_counter()
            graph.step()
            taken.append(time.perf_counter() - start)
        return taken

    with tf.serve({"t": table}, token=WORD) as server:
        steps(seconds / 4)
        alone = steps(seconds)
        before = held()
        process, told = started("silent", server.url)
        next(told)
        time.sleep(0.5)
        try:
            beside = steps(seconds)
        finally:
            process.kill()
        grown = held() - before
    what = f"a client that reads nothing beside {10 * CHANGED:,} changes a step at full rate for {seconds:.0f} s"
    tell(f"{what}: memory", f"{grown / 2**20:.0f} MiB", "64 MiB")
    ratio = part(beside, 0.99) / part(alone, 0.99)
    tell("the same, p99 of a step, with it to without", f"{ratio:.2f}", "1.1")


# Sessions.


def sessions_server() -> None:
    """Serve, and tell what memory there is whenever a line comes."""
    server = tf.serve({"t": tf.table({"a": [1, 2, 3]})}, token=WORD)
    say(server.url)
    for _ in sys.stdin:
        say(held())


def sessions() -> None:
    """What sessions leave behind that were opened, used and closed."""
    import pydeephaven as dh

    process, told = started("sessions-server")
    kind = "io.deephaven.authentication.psk.PskAuthenticationHandler"

    def opened(count: int, port: int) -> int:
        for _ in range(count):
            session = dh.Session(host="127.0.0.1", port=port, auth_type=kind, auth_token=WORD)
            session.open_table("t").update(["b = a * 2"]).to_arrow()
            session.close()
        time.sleep(1)
        print("now", file=process.stdin, flush=True)
        return int(next(told))

    try:
        port = int(next(told).rsplit(":", 1)[1])
        first = opened(100, port)
        more = opened(500, port)
    finally:
        process.kill()
    tell("500 sessions opened, used and closed, after 100", f"{(more - first) / 2**20:.2f} MiB", "2 MiB")


def main() -> int:
    """Print the table, and keep its lines if asked to."""
    chosen: dict[str, Callable[[float], object]] = {
        "row": row,
        "stalled": stalled,
        "sessions": lambda _: sessions(),
        "viewports": lambda seconds: [viewports(seconds, many) for many in VIEWPORTS],
    }
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("what", nargs="?", default="all", choices=["all", *chosen])
    parse.add_argument("seconds", nargs="?", type=float, default=10.0)
    parse.add_argument("--record", default="")
    asked = parse.parse_args()
    for name, run in chosen.items():
        if asked.what in {"all", name}:
            run(asked.seconds)
    command = f"python benches/subscribers.py {asked.what} {asked.seconds:g}"
    return figures.laid_out(asked.record, command, ["", "measured", "bar"], ROWS_TOLD, WRONG)


if __name__ == "__main__":
    what, *rest = sys.argv[1:] or ["all"]
    length = float(rest[0]) if rest and what.endswith("-server") else 10.0
    if what == "silent":
        silent(rest[0])
    elif what.endswith("-server"):
        {"row-server": row_server, "sessions-server": sessions_server}.get(what, lambda: viewports_server(length))()
    else:
        code = main()
        sys.stdout.flush()
        os._exit(code)  # threads that read would be waited for
