"""All engines of a family in one run, and the ratios: python run.py [--family incremental] [--rows N] [--only p1,p2].

`--record NAME` keeps the lines in `benches/figures/NAME.jsonl`, of which `make figures` makes the table of `RESULTS.md`. An answer
that differs ends the run with 1, and so does an engine that crashes; neither run is kept.

Each engine runs in a process of its own, one after the other, twice round, and the lower p50 of each counts: a
neighbour's load only slows. Deephaven needs an environment of its own: BENCH_DEEPHAVEN names its Python (packages
deephaven-server 42.7, numpy of the same version as here); without it, it is left out and the table says so. The C floors are
compiled with `cc`.

`--growth` asks what rows cost that did not change: a live table of a tenth of the rows and one of all, beside the C
floors of both.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import figures

ENGINES = {
    "incremental": ["tickframe", "tickframe_sources", "tickframe_started", "polars", "duckdb", "deephaven"],
    "static_ops": ["tickframe", "polars", "duckdb"],
    "functions": ["tickframe", "polars", "duckdb"],
}
GROWING = "where,update,wus,join"
OURS = ("tickframe", "tickframe-sources", "tickframe-started")
KEPT = ("workload", "engine", "size", "p50_ms", "p99_ms", "max_ms", "median", "min", "max", "cycles", "warm_cycles", "reps", "init_s",
        "rss_mb", "noise", "rows", "check", "answer_ok")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--family", default="incremental", choices=list(ENGINES))
    ap.add_argument("--rows", type=int)
    ap.add_argument("--only", default="")
    ap.add_argument("--engines", default="")
    ap.add_argument("--rounds", type=int, default=2)
    ap.add_argument("--seconds", default="8")
    ap.add_argument("--record", default="")
    ap.add_argument("--growth", action="store_true")
    ap.add_argument("--out", default=os.path.join(tempfile.gettempdir(), "tickframe-bench.jsonl"))
    a = ap.parse_args()
    if a.growth:
        sys.exit(growth(a))
    rows = a.rows or (1_000_000 if a.family == "incremental" else 10_000_000)
    engines = a.engines.replace("-", "_").split(",") if a.engines else ENGINES[a.family]
    open(a.out, "w").close()
    if a.family != "incremental":
        subprocess.check_call([sys.executable, os.path.join(HERE, a.family, "data.py"), str(rows)])
    run_all(a, engines, rows, a.only)
    floors = c_floors(rows) if a.family == "incremental" else {}
    agree = report(a.out, a.family, floors, a.record, command_line())
    print("lines:", a.out)
    sys.exit(0 if agree else 1)


def command_line():
    """What made these lines, for the first one; `--record` and `--out` say only where they go."""
    words, kept = iter(sys.argv[1:]), []
    for word in words:
        if word in {"--record", "--out"}:
            next(words, None)
        elif not word.startswith(("--record=", "--out=")):
            kept.append(word)
    return shlex.join(["python", "benches/compare/run.py", *kept])


def run_all(a, engines, rows, only):
    """Every engine, round after round: their lines go into a file."""
    for _ in range(a.rounds):
        for engine in engines:
            python = os.environ.get("BENCH_DEEPHAVEN", "") if engine == "deephaven" else sys.executable
            if not python:
                print("deephaven: left out, BENCH_DEEPHAVEN names no Python", flush=True)
                continue
            command = [python, os.path.join(HERE, a.family, "run.py"), engine, "--rows", str(rows), "--out", a.out]
            command += ["--only", only] if only else []
            command += ["--seconds", a.seconds] if a.family == "incremental" else []
            figures.engine(command, a.out, engine, {"BENCH_QUIET_S": "5", "BENCH_ANSWERS": sys.executable, **os.environ})


def growth(a):
    """The table of two sizes. 1 if an answer is wrong."""
    large = a.rows or 10_000_000
    small = large // 10
    engines, only = (a.engines or "tickframe").replace("-", "_").split(","), a.only or GROWING
    lines = {}
    for rows in (small, large):
        open(a.out, "w").close()
        run_all(a, engines, rows, only)
        with open(a.out) as f:
            lines[rows] = [r for r in map(json.loads, f) if "skipped" not in r]
        if figures.ended(lines[rows]):
            return 1
    best = {rows: figures.lowest(of) for rows, of in lines.items()}
    floors = {rows: c_floors(rows) for rows in best}
    peers = sorted({line["engine"] for line in lines[large]} - set(OURS))
    table = []
    for workload, cells in best[large].items():
        ours = [figures.milliseconds(best[rows][workload]["tickframe"]) for rows in (small, large)]
        floor = floors[large][workload] / floors[small][workload] if workload in floors[large] else None
        bar = 1.2 if workload.endswith("/append") else max(1.5, 1.5 * (floor or 1))
        row = [workload, *map(figures.shown, ours), f"{ours[1] / ours[0]:.1f}", f"{floor:.1f}" if floor else "", f"{bar:.1f}"]
        for peer in peers:
            times = [figures.milliseconds(best[rows][workload][peer]) if peer in best[rows][workload] else None for rows in best]
            row.append(figures.shown(times[1]) if times[1] else "")
            row.append(f"{times[1] / times[0]:.1f}" if all(times) else "")
        table.append(row)
    columns = ["ms", f"{small:,} rows", f"{large:,} rows", "growth", "floor's growth", "bar"]
    columns += [column for peer in peers for column in (f"{peer}, {large:,} rows", "growth")]
    return figures.laid_out(a.record, command_line(), columns, table)


def c_floors(rows):
    """p50 of the same work as plain C loops, in ms."""
    binary = os.path.join(tempfile.mkdtemp(), "floor")
    source = os.path.join(HERE, "common", "floor.c")
    subprocess.check_call(["cc", "-O3", "-march=native", f"-DN={rows}", source, "-o", binary, "-lm", "-lpthread"])
    lines = map(json.loads, subprocess.check_output([binary], text=True).splitlines())
    return {r["workload"].removeprefix("floor:"): round(r["p50_us"] / 1e3, 4) for r in lines}


def engines_of(lines):
    """{engine: its version and threads}, as the lines say."""
    return {r["engine"]: {"version": r["version"], **({"threads": r["threads"]} if "threads" in r else {})}
            for r in lines if "version" in r and figures.milliseconds(r) is not None}


def report(path, family, floors, record, command):
    """Print the table, and write the lines that it stands on if they are to be kept. True if all answers agree."""
    with open(path) as f:
        lines = [r for r in map(json.loads, f) if "skipped" not in r and not r["workload"].startswith("_")]
    run = {**figures.this_run(command), "engines": engines_of(lines), "ours": list(OURS),
           **({"floors": floors} if floors else {})}
    if figures.ended(lines):
        return False
    print(figures.table(run, lines))
    if record:
        kept = [line for cells in figures.lowest(lines).values() for line in cells.values()]
        figures.keep(record, run, map(trimmed, kept))
    return True


def trimmed(line):
    """What of a measurement is kept: not what the first line says for all."""
    return {name: line[name] for name in KEPT if name in line}


if __name__ == "__main__":
    main()
