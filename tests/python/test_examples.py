"""Every program of `examples/` runs to its end, and what README and the examples say they print is what they print."""

from __future__ import annotations

import copy
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted((ROOT / "examples").glob("*.py"))
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))

pytestmark = pytest.mark.example


def run(*arguments):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, timeout=300)


def promised(code):
    """The comments that follow a print: what the reader is told to expect."""
    return re.findall(r"^print\(.*\n((?:# .*\n?)+)", code, re.MULTILINE)


def printed(notebook):
    """What each cell printed."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return ["".join(output["text"] for output in cell.outputs if output.get("name") == "stdout") for cell in code]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_it_holds(notebook, tmp_path):
    held = nbformat.read(notebook, 4)
    ran = copy.deepcopy(held)
    NotebookClient(ran, timeout=120, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    assert any(printed(held))
    assert printed(ran) == printed(held)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_runs_and_shows_something(program):
    told = run(str(program))
    assert told.returncode == 0, told.stderr
    assert told.stdout.strip()


def test_the_first_example_of_the_readme_prints_what_it_says():
    code = re.search(
        r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )[1]
    expected = [line.removeprefix("# ") for block in promised(code) for line in block.splitlines()]
    assert len(expected) == 2
    told = run("-c", code)
    assert told.returncode == 0, told.stderr
    assert told.stdout.splitlines() == expected
