"""Run every law, and random graphs, for as many random steps as asked; say what ran, in a line for tests/RUNS.md.

    python scripts/prove.py --steps 20000000 --seed 1000 [--graphs 80000] [--schedules 1000000] [--record]

Steps are those of input tables, each followed by the check of every table that stands on it. Composed graphs take what
they need; of the other steps three fifths go to the law that draws from the registry of operations, the rest to
pipelines and to the laws of single operations. As many laws run at once as there are cores. A divergence ends the run
with the line that replays it, and with the case itself in a file under tests/regressions.

Without a seed it is drawn from the commit, so that no two landings make the same steps; it is printed, and replays them.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import datetime
import json
import os
import re
import resource
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RUNS = ROOT / "tests" / "RUNS.md"
CARGO = ["cargo", "test", "--profile", "ci", "--quiet"]
COMPOSED = "composed::composed_graphs_equal_the_model"
REGISTRY = "registry::every_operation_equals_the_model"
#: Steps of a composed graph, on average.
STEPS_A_GRAPH = 18
#: Of the steps that no composed graph takes: the law over the registry, and pipelines of operations.
REGISTRY_SHARE, PIPELINES_SHARE = 0.6, 0.1
#: Long laws are cut in pieces, so that every core has work to the end.
PIECES = 8
#: Laws of tables that are parted, made amid steps, emptied, made by several threads, or made by plans.
OTHERS = ("model::a_", "plans::a", "attaching::tables_made", "leaks::an_operation", "composed::the_number")
#: Seeds between two pieces.
APART = 1 << 24


@dataclass
class Task:
    """One test of one binary, with its share."""

    binary: Path
    folder: Path
    test: str
    steps: int
    seed: int


@dataclass
class Done:
    """What a task made."""

    test: str
    steps: int
    cases: int


def words(of: str) -> list[str]:
    """What the Makefile asks cargo for: the same for every stage, so that nothing is compiled twice."""
    told = subprocess.run(["make", "--no-print-directory", of], cwd=ROOT, check=True, capture_output=True, text=True)
    return shlex.split(told.stdout)


def binary(folder: str, of: str, *which: str) -> tuple[Path, Path]:
    """The compiled tests of a folder, and where they expect to run."""
    command = ["cargo", "test", *words(of), *which, "--no-run", "--message-format=json"]
    built = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    if built.returncode:
        sys.exit(built.stderr)
    for line in built.stdout.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["profile"]["test"]:
            place = Path(message["manifest_path"]).parent
            if place == ROOT / folder:
                return Path(message["executable"]), place
    sys.exit(f"{folder} has no tests")


def laws(of: Path, folder: Path, word: str) -> list[str]:
    """The names of the tests that make random steps."""
    listing = subprocess.run([str(of), word, "--list"], cwd=folder, check=True, capture_output=True, text=True).stdout
    return re.findall(r"^(\S+): test$", listing, re.MULTILINE)


def plan(steps: int, graphs: int, seed: int) -> list[Task]:
    """Who runs what; the longest first."""
    tests, tests_folder = binary("tests", "tests-words")
    engine, engine_folder = binary("crates/engine", "floors-words", "--lib")
    composed = graphs * STEPS_A_GRAPH
    rest = max(0, steps - composed)
    tasks: list[Task] = []

    def add(of: Path, folder: Path, test: str, share: float, pieces: int = 1) -> None:
        each = int(share / pieces) + 1
        tasks.extend(Task(of, folder, test, each, seed + piece * APART) for piece in range(pieces))

    beginnings = ("the_model", *OTHERS)
    pipelines = [
        name for word in beginnings for name in laws(tests, tests_folder, word) if name not in {COMPOSED, REGISTRY}
    ]
    singles = [name for name in laws(engine, engine_folder, "law") if re.search(r"::tests::(\w+::)*law\w*$", name)]
    if composed:
        add(tests, tests_folder, COMPOSED, composed, PIECES)
    if rest:
        add(tests, tests_folder, REGISTRY, rest * REGISTRY_SHARE, PIECES)
        for name in pipelines:
            add(tests, tests_folder, name, rest * PIPELINES_SHARE / len(pipelines))
        for name in singles:
            add(engine, engine_folder, name, rest * (1 - REGISTRY_SHARE - PIPELINES_SHARE) / len(singles))
    return tasks


def run(task: Task) -> Done:
    """Run one task to its end, or the whole run's."""
    environment = {**os.environ, "TICKFRAME_STEPS": str(task.steps), "TICKFRAME_SEED": str(task.seed)}
    environment["RUST_BACKTRACE"] = "0"
    command = [str(task.binary), "--exact", task.test, "--nocapture", "--test-threads=1"]
    done = subprocess.run(command, cwd=task.folder, env=environment, check=False, capture_output=True)
    text = done.stdout.decode(errors="replace")
    if done.returncode:
        raise SystemExit(f"{text}\n{done.stderr.decode(errors='replace')}")
    made = re.findall(r"law \S+: seeds (\d+)\.\.(\d+), (\d+) steps", text)
    if not made:
        raise SystemExit(f"{task.test} counted no steps: a law runs by `explore`, and counts them by `count_step`")
    return Done(
        task.test, sum(int(steps) for *_, steps in made), sum(int(last) - int(first) for first, last, _ in made)
    )


def seed_of_commit() -> int:
    """A number of the commit that is checked out: steps that no other landing makes."""
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, check=False, capture_output=True, text=True)
    if head.returncode:
        print("  no commit is known here: seed 0", flush=True)
        return 0
    return int(head.stdout[:12], 16)


def schedules(many: int, seed: int) -> None:
    """So many schedules of the whole graph."""
    which = ["-p", "tickframe-graph", "--features", "shuttle", "--lib", "--", "shuttled"]
    environment = {**os.environ, "TICKFRAME_SCHEDULES": str(many), "TICKFRAME_SEED": str(seed)}
    done = subprocess.run([*CARGO, *which], cwd=ROOT, env=environment, check=False, capture_output=True)
    if done.returncode:
        sys.exit(done.stdout.decode(errors="replace") + done.stderr.decode(errors="replace"))


def record(row: str) -> None:
    """Put a row under those that are there."""
    lines = RUNS.read_text(encoding="utf-8").splitlines()
    last = max(at for at, line in enumerate(lines) if line.startswith("|"))
    lines.insert(last + 1, row)
    RUNS.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    """Read the arguments, run, report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--graphs", type=int, default=None, help="composed graphs; otherwise one in 250 steps")
    parser.add_argument("--seed", type=int, default=None, help="otherwise drawn from the commit")
    parser.add_argument("--schedules", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="laws at once")
    parser.add_argument("--record", action="store_true", help="write the line into tests/RUNS.md")
    asked = parser.parse_args()
    graphs = asked.steps // 250 if asked.graphs is None else asked.graphs
    seed = seed_of_commit() if asked.seed is None else asked.seed
    print(f"  seed {seed}", flush=True)
    tasks = plan(asked.steps, graphs, seed)
    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
        try:
            done = list(pool.map(run, tasks))
        except SystemExit:
            pool.shutdown(cancel_futures=True)
            raise
    totals: dict[str, list[int]] = {}
    for each in done:
        total = totals.setdefault(each.test, [0, 0])
        total[0] += each.steps
        total[1] += each.cases
    for test, (steps, cases) in totals.items():
        print(f"  {test}: {cases:,} cases, {steps:,} steps")
    if asked.schedules:
        schedules(asked.schedules, seed)
    minutes = (time.monotonic() - start) / 60
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"  {minutes:.1f} min, {(used.ru_utime + used.ru_stime) / 60:.1f} min of CPU with what was compiled")
    steps = sum(steps for steps, _ in totals.values())
    made = totals.get(COMPOSED, [0, 0])[1]
    cases = sum(cases for _, cases in totals.values()) - made
    today = datetime.datetime.now(tz=datetime.UTC).date()
    row = f"| {today} | {seed} | {steps:,} | {made:,} | {cases:,} | {asked.schedules:,} | {minutes:.1f} | 0 |"
    print(row)
    if asked.record:
        record(row)


if __name__ == "__main__":
    main()
