"""What takes turns: checks that need a build of their own or more than two minutes.

    python scripts/turns.py             the turn of this commit, by the number of commits: what CI runs
    python scripts/turns.py --list      every turn and its command
    python scripts/turns.py NAME …      these
    python scripts/turns.py --all       every one, as `make deep` does

A turn never runs cold: where nothing has been compiled yet (`TICKFRAME_COLD=1`), it says so and stops. A shallow
clone has no number of commits; it takes the turn of the commit's own name.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

#: Name, command. A few fuzz targets at a time, two minutes of them.
TURNS: list[tuple[str, list[str]]] = [
    ("memory", ["bash", "scripts/sanitize.sh", "memory"]),
    ("fuzz-formulas", ["bash", "fuzz/run", "40", "formulas", "expressions", "requests"]),
    ("wheel", ["bash", "scripts/release_test.sh", "wheel"]),
    (
        "memory-python",
        ["bash", "scripts/sanitize.sh", "python", "not (hostile or limits or slow_clients or logins_apart)"],
    ),
    ("fuzz-apply", ["bash", "fuzz/run", "40", "apply", "casts", "bodies"]),
    ("threads", ["bash", "scripts/sanitize.sh", "threads"]),
    ("sdist", ["bash", "scripts/release_test.sh", "sdist"]),
    ("benches", ["make", "--no-print-directory", "benches"]),
    ("fuzz-plans", ["bash", "fuzz/run", "40", "plans", "rows", "credentials"]),
    (
        "memory-hostile",
        ["bash", "scripts/sanitize.sh", "python", "(hostile or limits or logins_apart) and not in_force"],
    ),
    ("fuzz-shifts", ["bash", "fuzz/run", "40", "roaring", "shifts", "tickets"]),
    ("fuzz-trees", ["bash", "fuzz/run", "40", "trees", "logs", "folders", "pages"]),
    ("fuzz-updates", ["bash", "fuzz/run", "40", "updates", "metadata", "files", "sessions"]),
]


def number() -> int:
    """The number of the commit: how many there are, or what its name begins with."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()

    if git("rev-parse", "--is-shallow-repository") == "true":
        return int(git("rev-parse", "HEAD")[:8], 16)
    return int(git("rev-list", "--count", "HEAD"))


def cold() -> bool:
    """Whether nothing had been compiled when this run began: what needs builds of its own is left to another run."""
    return os.environ.get("TICKFRAME_COLD") == "1"


def run(name: str, command: list[str]) -> bool:
    """Run one turn; whether it went well."""
    print(f"turn: {name}: {' '.join(command)}", flush=True)
    start = time.monotonic()
    done = subprocess.run(command, cwd=ROOT, check=False)
    print(
        f"turn: {name}: {'passed' if done.returncode == 0 else 'FAILED'} in {time.monotonic() - start:.0f} s",
        flush=True,
    )
    return done.returncode == 0


def main(arguments: list[str]) -> int:
    """Run what was asked for."""
    if arguments == ["--list"]:
        for name, command in TURNS:
            print(f"{name}: {' '.join(command)}")
        return 0
    if arguments == ["--all"]:
        return int(not all(list(map(run, *zip(*TURNS, strict=True)))))
    if arguments:
        chosen = [turn for turn in TURNS if turn[0] in arguments]
        unknown = set(arguments) - {name for name, _ in TURNS}
        if unknown:
            print(f"no turn is called {', '.join(sorted(unknown))}; there are {', '.join(name for name, _ in TURNS)}")
            return 2
        return int(not all(list(map(run, *zip(*chosen, strict=True)))))
    at = number()
    name, command = TURNS[at % len(TURNS)]
    if cold():
        print(f"turn: {name} would be the turn of commit {at}; nothing is compiled yet, so it is left to a warm run")
        return 0
    return 0 if run(f"{name} (commit {at})", command) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
