"""Two builds of tickframe in turn: python builds.py OLD NEW [--family incremental] [--rounds 5] [--only a,b]

OLD and NEW are folders that hold an installed wheel each (`pip install --target FOLDER --no-deps WHEEL`). Both run the same
workloads, old and new in turn, round after round, so that a slow minute of the machine meets both. The lowest p50 of a
workload counts. Printed: the ratio new / old of each, their geometric mean, and what lies beyond ten percent.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FAR = 1.10


def lowest(path: str) -> dict[str, float]:
    """The lowest time of each workload among the lines of a file, in milliseconds."""
    found: dict[str, float] = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            cell = json.loads(line)
            if "error" in cell:
                print("error:", cell.get("workload"), cell["error"])
            ms = cell.get("p50_ms") or (cell["median"] * 1e3 if "median" in cell else None)
            if ms:
                found[cell["workload"]] = min(ms, found.get(cell["workload"], math.inf))
    return found


def main() -> None:
    """Run, then print."""
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("old")
    parse.add_argument("new")
    parse.add_argument("--family", default="incremental", choices=["incremental", "static_ops", "functions"])
    parse.add_argument("--engine", default="tickframe", choices=["tickframe", "tickframe_sources"])
    parse.add_argument("--rows", type=int)
    parse.add_argument("--rounds", type=int, default=5)
    parse.add_argument("--only", default="")
    parse.add_argument("--seconds", default="1")
    asked = parse.parse_args()
    rows = str(asked.rows or (1_000_000 if asked.family == "incremental" else 10_000_000))
    if asked.family != "incremental":
        subprocess.check_call([sys.executable, os.path.join(HERE, asked.family, "data.py"), rows])
    out = {name: tempfile.mkstemp(suffix=f"-{name}.jsonl")[1] for name in ("old", "new")}
    command = [sys.executable, os.path.join(HERE, asked.family, "run.py"), asked.engine, "--rows", rows]
    command += ["--only", asked.only] if asked.only else []
    command += ["--seconds", asked.seconds] if asked.family == "incremental" else []
    for at in range(asked.rounds):
        # The order changes too: the second of a pair finds a warmer machine.
        for name in ("old", "new") if at % 2 == 0 else ("new", "old"):
            folder = os.path.abspath(asked.old if name == "old" else asked.new)
            environment = {**os.environ, "PYTHONPATH": folder, "BENCH_QUIET_S": "5"}
            subprocess.call([*command, "--out", out[name]], env=environment, stdout=subprocess.DEVNULL)
    old, new = lowest(out["old"]), lowest(out["new"])
    both = [workload for workload in old if workload in new]
    print("| workload | old ms | new ms | new / old |")
    print("|---|---|---|---|")
    for workload in both:
        print(f"| {workload} | {old[workload]:.3f} | {new[workload]:.3f} | {new[workload] / old[workload]:.3f} |")
    ratios = {workload: new[workload] / old[workload] for workload in both}
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    far = ", ".join(workload for workload, ratio in ratios.items() if ratio > FAR)
    print(f"geometric mean {mean:.3f} of {len(ratios)}; beyond {FAR:.2f}: {far or 'none'}")


if __name__ == "__main__":
    main()
