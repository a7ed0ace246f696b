"""Run every law, and random graphs, for as many random steps as asked; say what ran, in a line for tests/RUNS.md.

    python scripts/prove.py --steps 5000000 --seed 1000 [--schedules 100000]

Half of the steps go to graphs and pipelines of operations, half to the laws of single operations. A divergence ends
the run with the line that replays it.
"""

import argparse
import datetime
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CARGO = ["cargo", "test", "--profile", "ci", "--quiet"]
#: Tests that make random steps: packages, and the filters that find them there.
COMPOSED = ["-p", "tickframe-tests", "--test", "tests", "--", "equal_the_model"]
SINGLE = ["-p", "tickframe-engine", "--lib", "--", "law"]


def tests_of(which: list[str]) -> list[str]:
    """The names of the tests that a filter finds."""
    listing = subprocess.run([*CARGO, *which, "--list"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return re.findall(r"^(\S+): test$", listing, re.MULTILINE)


def run(which: list[str], steps: int, seed: int) -> tuple[int, int]:
    """Steps made and cases drawn by some tests, each of which gets the same share."""
    share = max(1, steps // max(1, len(tests_of(which))))
    environment = {**os.environ, "TICKFRAME_STEPS": str(share), "TICKFRAME_SEED": str(seed), "RUST_BACKTRACE": "0"}
    done = subprocess.run([*CARGO, *which, "--nocapture"], cwd=ROOT, env=environment, check=False, capture_output=True)
    text = done.stdout.decode(errors="replace")
    laws = re.findall(r"law (\S+): seeds (\d+)\.\.(\d+), (\d+) steps", text)
    for name, first, last, made in laws:
        print(f"  {name}: {int(last) - int(first)} cases, {made} steps")
    if done.returncode:
        sys.exit(f"{text}\n{done.stderr.decode(errors='replace')}")
    return sum(int(law[3]) for law in laws), sum(int(law[2]) - int(law[1]) for law in laws)


def schedules(many: int, seed: int) -> None:
    """So many schedules of the whole graph."""
    which = ["-p", "tickframe-graph", "--features", "shuttle", "--lib", "--", "shuttled"]
    environment = {**os.environ, "TICKFRAME_SCHEDULES": str(many), "TICKFRAME_SEED": str(seed)}
    subprocess.run([*CARGO, *which], cwd=ROOT, env=environment, check=True)


def main() -> None:
    """Read the arguments, run, report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--schedules", type=int, default=0)
    asked = parser.parse_args()
    start = time.monotonic()
    composed_steps, graphs = run(COMPOSED, asked.steps // 2, asked.seed)
    single_steps, cases = run(SINGLE, asked.steps // 2, asked.seed)
    if asked.schedules:
        schedules(asked.schedules, asked.seed)
    seconds = time.monotonic() - start
    today = datetime.datetime.now(tz=datetime.UTC).date()
    print(
        f"| {today} | {asked.seed} | {composed_steps + single_steps:,} | {graphs:,} | {cases:,} "
        f"| {asked.schedules:,} | {seconds / 60:.1f} | 0 |"
    )


if __name__ == "__main__":
    main()
