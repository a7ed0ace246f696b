"""All engines of a family in one run, and the ratios: python run.py [--family incremental] [--rows N] [--only p1,p2].

`--record NAME` keeps the lines in `benches/figures/NAME.jsonl`, of which `make figures` makes the table of `RESULTS.md`. An answer
that differs ends the run with 1, and so does an engine that crashes; neither run is kept.

Each engine runs in a process of its own, one after the other, twice round, and the lower p50 of each counts: a
neighbour's load only slows. Deephaven needs an environment of its own: BENCH_DEEPHAVEN names its Python (packages
deephaven-server 42.7, polars, numpy, pyarrow); without it, it is left out and the table says so. The C floors are
compiled with `cc`.
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
OURS = ("tickframe", "tickframe-sources", "tickframe-started")
KEPT = ("workload", "engine", "size", "p50_ms", "p99_ms", "max_ms", "median", "min", "max", "cycles", "reps", "init_s",
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
    ap.add_argument("--out", default=os.path.join(tempfile.gettempdir(), "tickframe-bench.jsonl"))
    a = ap.parse_args()
    rows = a.rows or (1_000_000 if a.family == "incremental" else 10_000_000)
    engines = a.engines.split(",") if a.engines else ENGINES[a.family]
    open(a.out, "w").close()
    if a.family != "incremental":
        subprocess.check_call([sys.executable, os.path.join(HERE, a.family, "data.py"), str(rows)])
    for _ in range(a.rounds):
        for engine in engines:
            python = os.environ.get("BENCH_DEEPHAVEN", "") if engine == "deephaven" else sys.executable
            if not python:
                print("deephaven: left out, BENCH_DEEPHAVEN names no Python", flush=True)
                continue
            command = [python, os.path.join(HERE, a.family, "run.py"), engine, "--rows", str(rows), "--out", a.out]
            command += ["--only", a.only] if a.only else []
            command += ["--seconds", a.seconds] if a.family == "incremental" else []
            figures.engine(command, a.out, engine, {"BENCH_QUIET_S": "5", **os.environ})
    floors = c_floors(rows) if a.family == "incremental" else {}
    command = "python benches/compare/run.py " + shlex.join(sys.argv[1:])
    agree = report(a.out, a.family, floors, a.record, command.rstrip())
    print("lines:", a.out)
    sys.exit(0 if agree else 1)


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
