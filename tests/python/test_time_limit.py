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
