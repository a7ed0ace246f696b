"""Every stage of `make test` compiles the same crates with the same features: otherwise they are compiled several times."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: What Cargo knows of a selection of crates, but not of what is built in it.
SELECTING = {"-p", "--features"}


def told(*command: str) -> str:
    """What a command prints."""
    environment = {name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "MAKELEVEL"}}
    return subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True).stdout


def features(words: list[str]) -> dict[str, set[str]]:
    """Each crate that is compiled for a selection, with the sets of features that it is compiled with."""
    selected = [part for at, word in enumerate(words) if word in SELECTING for part in (word, words[at + 1])]
    edges = ["-e", "normal,build,dev", "--prefix", "none", "--format", "{p}|{f}"]
    found: dict[str, set[str]] = {}
    for line in told("cargo", "tree", "--locked", *edges, *selected).splitlines():
        crate, bar, with_features = line.removesuffix(" (*)").partition("|")
        if bar:
            found.setdefault(crate, set()).add(with_features)
    return found


def test_every_crate_is_compiled_once() -> None:
    floors = features(shlex.split(told("make", "--no-print-directory", "floors-words")))
    for target in ("tests-words", "extension-words"):
        other = features(shlex.split(told("make", "--no-print-directory", target)))
        shared = floors.keys() & other.keys()
        assert len(shared) > 100
        twice = {crate: (floors[crate], other[crate]) for crate in shared if floors[crate] != other[crate]}
        assert not twice, f"{target} asks for other features than the floors"


def test_what_is_asked_of_the_extension_is_what_its_stages_build() -> None:
    words = shlex.split(told("make", "--no-print-directory", "extension-words"))
    asked = words[words.index("--features") + 1]
    for script in ("wheel_test.sh", "canaries.py", "sanitize.sh"):
        text = (ROOT / "scripts" / script).read_text(encoding="utf-8")
        assert set(re.findall(r"extension-module[a-z,-]*", text)) == {asked}, script


@pytest.mark.parametrize(("age", "runs"), [(10, True), (120, False), (None, True)])
def test_a_stage_for_which_there_is_no_time_left_says_so(age: int | None, runs: bool, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "TICKFRAME_STARTED"}
    environment["TICKFRAME_STAGES"] = str(tmp_path / "stages")
    if age is not None:
        environment["TICKFRAME_STARTED"] = str(int(time.time()) - age)
    command = ["bash", "scripts/stage.sh", "--within", "60", "a search", "false"]
    done = subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == (1 if runs else 0)
    noted = (tmp_path / "stages").read_text(encoding="utf-8")
    assert noted.endswith(
        "a search  FAILED (1)\n" if runs else "left to a run with more time; this one is older than 1 min\n"
    )
