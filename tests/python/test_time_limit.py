"""A test that hangs fails, and says where."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path


def test_a_test_that_hangs_ends_the_run_with_its_stack(tmp_path: Path) -> None:
    """The limit of `conftest.py`, lowered to a second, over a lock that nobody opens."""
    shutil.copy(Path(__file__).with_name("conftest.py"), tmp_path)
    hangs = (
        "import threading\n\n\ndef test_that_hangs():\n    threading.Lock().acquire() and threading.Event().wait()\n"
    )
    (tmp_path / "test_hang.py").write_text(hangs, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, "--rootdir", str(tmp_path), str(tmp_path)]
    environment = {**os.environ, "TICKFRAME_TEST_LIMIT": "1"}
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert "Timeout" in done.stderr
    assert "test_that_hangs" in done.stderr


RUNNER = Path(__file__).parents[2] / "scripts" / "run_test.py"
#: What libtest says, and then neither an end nor anything else.
HANGS = """#!/bin/sh
echo "test one::ends has been running for over 60 seconds"
echo "test one::hangs has been running for over 60 seconds"
echo "test one::ends ... ok"
exec cat {fifo}
"""


def rust_test(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    """A program in the place of Rust's test programs, run as cargo runs them."""
    program = folder / "deps" / "tests-1"
    program.parent.mkdir()
    program.write_text(text, encoding="utf-8")
    program.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TICKFRAME_")}
    environment["TICKFRAME_TEST_LIMIT"] = "1"
    return subprocess.run(
        [RUNNER, program, "--quiet"], env=environment, check=False, capture_output=True, text=True, timeout=60
    )


def test_a_rust_test_that_hangs_fails_by_its_name(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    done = rust_test(tmp_path, HANGS.format(fifo=tmp_path / "fifo"))
    assert done.returncode != 0
    assert "test one::hangs hangs: it has not ended 61 s after it began" in done.stdout
    assert "one::ends hangs" not in done.stdout


def test_rust_tests_that_end_are_not_disturbed(tmp_path: Path) -> None:
    done = rust_test(tmp_path, '#!/bin/sh\necho "test a ... ok"\necho "test b ... FAILED"\necho "$@"\nexit 101\n')
    assert done.returncode == 101
    assert done.stdout == "test b ... FAILED\n\n"
