"""All engines of a family in one run, and the ratios: python run.py [--family incremental] [--rows N] [--only p1,p2].

Each engine runs in a process of its own, one after the other, twice round, and the lower p50 of each counts: a
neighbour's load only slows. Deephaven needs an environment of its own: BENCH_DEEPHAVEN names its Python (packages
deephaven-server 42.7, polars, numpy, pyarrow); without it, it is left out and the table says so. The C floors are
compiled with `cc`.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ENGINES = {
    "incremental": ["tickframe", "tickframe_sources", "polars", "duckdb", "deephaven"],
    "static_ops": ["tickframe", "polars", "duckdb"],
    "functions": ["tickframe", "polars", "duckdb"],
}
OURS = ("tickframe", "tickframe-sources")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--family", default="incremental", choices=list(ENGINES))
    ap.add_argument("--rows", type=int)
    ap.add_argument("--only", default="")
    ap.add_argument("--engines", default="")
    ap.add_argument("--rounds", type=int, default=2)
    ap.add_argument("--seconds", default="4")
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
            subprocess.call(command, env={**os.environ, "BENCH_QUIET_S": "5"}, stdout=subprocess.DEVNULL)
    floors = c_floors(rows) if a.family == "incremental" else {}
    report(a.out, a.family, floors)
    print("lines:", a.out)


def c_floors(rows):
    """p50 of the same work as plain C loops, in ms."""
    binary = os.path.join(tempfile.mkdtemp(), "floor")
    source = os.path.join(HERE, "common", "floor.c")
    subprocess.check_call(["cc", "-O3", "-march=native", f"-DN={rows}", source, "-o", binary, "-lm", "-lpthread"])
    lines = map(json.loads, subprocess.check_output([binary], text=True).splitlines())
    return {r["workload"].removeprefix("floor:"): r["p50_us"] / 1e3 for r in lines}


def report(path, family, floors):
    key = "p50_ms" if family == "incremental" else "median"
    best, wrong, answers = {}, [], {}
    for line in open(path):
        r = json.loads(line)
        if key not in r:
            if "error" in r:
                print("error:", r["engine"], r.get("workload"), r["error"])
            continue
        ms = r[key] if family == "incremental" else r[key] * 1e3
        cell = best.setdefault(r["workload"], {})
        if ms < cell.get(r["engine"], (math.inf,))[0]:
            cell[r["engine"]] = (ms, r.get("p99_ms"))
        if r.get("answer_ok") not in (True, None):
            wrong.append((r["engine"], r["workload"], r["answer_ok"]))
        if "check" in r:
            known = answers.setdefault(r["workload"], (r["engine"], r["rows"], r["check"]))
            if r["rows"] != known[1] or not math.isclose(r["check"], known[2], rel_tol=1e-9, abs_tol=0.01):
                wrong.append((r["engine"], r["workload"], f"{r['rows']} rows, {r['check']}; {known[0]}: {known[1:]}"))
    names = sorted({e for cell in best.values() for e in cell}, key=lambda e: (e not in OURS, e))
    print("| workload | " + " | ".join(names) + " | best peer / ours | ours / floor |")
    print("|---" * (len(names) + 3) + "|")
    ratios = {ours: [] for ours in OURS}
    for w, cell in best.items():
        peers = [ms for e, (ms, _) in cell.items() if e not in OURS]
        for ours in OURS:
            if ours in cell and peers:
                ratios[ours].append(min(peers) / cell[ours][0])
        mine = cell.get("tickframe", (None,))[0]
        ratio = f"{min(peers) / mine:.2f}" if peers and mine else "-"
        floor = f"{mine / floors[w]:.1f}" if mine and w in floors else "-"
        shown = [f"{cell[e][0]:.3f}" if e in cell else "-" for e in names]
        print(f"| {w} | " + " | ".join(shown) + f" | {ratio} | {floor} |")
    for ours, found in ratios.items():
        if found:
            mean = math.exp(sum(map(math.log, found)) / len(found))
            print(f"{ours}: best peer / ours, geometric mean {mean:.2f}, least {min(found):.2f}, {len(found)} workloads")
    for engine, workload, text in wrong:
        print("WRONG ANSWER:", engine, workload, text)


if __name__ == "__main__":
    main()
