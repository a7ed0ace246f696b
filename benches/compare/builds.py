"""Two builds of tickframe in turn: python builds.py OLD NEW [--family incremental,static_ops] [--rounds 5] [--only a,b] [--record builds]

OLD and NEW are folders that hold an installed wheel each (`pip install --target FOLDER --no-deps WHEEL`). Both run the same
workloads, old and new in turn, round after round, so that a slow minute of the machine meets both. The lowest p50 of a
workload counts. Printed: the ratio new / old of each, their geometric mean, and what lies beyond ten percent. Answers of both
are compared; one that differs, or a build that crashes, ends the run with 1, and it is not kept.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import figures

FAR = 1.10
FAMILIES = ["incremental", "static_ops", "functions"]


def lines_of(family: str, asked: argparse.Namespace) -> tuple[str, list[dict]]:
    """How many rows a family had, and the lines of both builds; the engine of a line is its build."""
    rows = asked.rows or (1_000_000 if family == "incremental" else 10_000_000)
    if family != "incremental":
        subprocess.check_call([sys.executable, os.path.join(HERE, family, "data.py"), str(rows)])
    out = {name: tempfile.mkstemp(suffix=f"-{name}.jsonl")[1] for name in ("old", "new")}
    command = [sys.executable, os.path.join(HERE, family, "run.py"), asked.engine, "--rows", str(rows)]
    command += ["--only", asked.only] if asked.only else []
    command += ["--seconds", asked.seconds] if family == "incremental" else []
    for at in range(asked.rounds):
        # The order changes too: the second of a pair finds a warmer machine.
        for name in ("old", "new") if at % 2 == 0 else ("new", "old"):
            folder = os.path.abspath(asked.old if name == "old" else asked.new)
            environment = {"BENCH_QUIET_S": "5", **os.environ, "PYTHONPATH": folder}
            figures.engine([*command, "--out", out[name]], out[name], name, environment)
    lines = []
    for name, path in out.items():
        with open(path, encoding="utf-8") as file:
            lines += [{**line, "engine": name} for line in map(json.loads, file)]
        os.unlink(path)
    return f"{rows:,}", [line for line in lines if "skipped" not in line and not line["workload"].startswith("_")]


def main() -> int:
    """Run, then print."""
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("old")
    parse.add_argument("new")
    parse.add_argument("--family", default="incremental", help=f"some of {','.join(FAMILIES)}")
    parse.add_argument("--engine", default="tickframe", choices=["tickframe", "tickframe_sources"])
    parse.add_argument("--rows", type=int)
    parse.add_argument("--rounds", type=int, default=5)
    parse.add_argument("--only", default="")
    parse.add_argument("--seconds", default="1")
    parse.add_argument("--record", default="")
    asked = parse.parse_args()
    table = []
    for family in asked.family.split(","):
        rows, lines = lines_of(family, asked)
        if figures.ended(lines):
            return 1
        best = figures.lowest(lines)
        ratios = {}
        print("| workload | old ms | new ms | new / old |")
        print("|---|---|---|---|")
        for workload, cells in best.items():
            if {"old", "new"} <= cells.keys():
                old, new = (figures.milliseconds(cells[name]) for name in ("old", "new"))
                ratios[workload] = new / old
                print(f"| {workload} | {old:.3f} | {new:.3f} | {ratios[workload]:.3f} |")
        far = ", ".join(f"`{workload}` {ratio:.2f}" for workload, ratio in ratios.items() if ratio > FAR)
        mean = figures.mean_of(list(ratios.values()))
        table.append([f"{family}, {rows} rows", f"**{mean:.3f}**", str(len(ratios)), far or "none"])
    command = f"python benches/compare/builds.py OLD NEW --family {asked.family} --rounds {asked.rounds}"
    return figures.laid_out(asked.record, command, [" ", "geometric mean", "cells", f"beyond {FAR:.2f}"], table)


if __name__ == "__main__":
    sys.exit(main())
