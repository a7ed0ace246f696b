"""The main job of the README: the flights of 2013, from Spark through live tables to the proof."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest

FLIGHTS = Path(__file__).parents[2] / "examples" / "flights"
sys.path.insert(0, str(FLIGHTS))

import proof  # noqa: E402 - a module of the example

DEADLINE = 300  # seconds, for a machine that is busy with other things


# The comparison itself: a proof that cannot fail proves nothing


BOARD = pa.table(
    {
        "carrier": ["AA", "B6", "DL"],
        "flights": [3, 2, 1],
        "mean_delay": [1.5, -2.0, None],
        "first": pa.array([1, 2, 3], pa.timestamp("us", "UTC")),
    }
)
GROUPED = SimpleNamespace(key=("carrier",), near=("mean_delay",), ordered=False)
RANKED = SimpleNamespace(key=("carrier",), near=(), ordered=True)


def with_column(name, values):
    place = BOARD.column_names.index(name)
    return BOARD.set_column(place, name, pa.array(values, BOARD.schema.field(name).type))


def test_equal_results_are_equal_in_any_order_and_unit():
    ours = BOARD.take([2, 0, 1]).set_column(3, "first", BOARD["first"].take([2, 0, 1]).cast(pa.timestamp("ns", "UTC")))
    verdict = proof.compare("board", ours, BOARD, GROUPED)
    assert (verdict.equal, verdict.cells, verdict.error) == (True, 12, 0.0)


def test_a_mean_may_differ_in_its_last_bits():
    near = proof.compare("board", with_column("mean_delay", [1.5 * (1 + 1e-12), -2.0, None]), BOARD, GROUPED)
    assert near.equal
    assert 0 < near.error < 1e-11
    far = proof.compare("board", with_column("mean_delay", [1.5 * (1 + 1e-6), -2.0, None]), BOARD, GROUPED)
    assert not far.equal


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (with_column("flights", [3, 2, 2]), r"{'carrier': 'DL'} flights: tickframe 2, Spark 1"),
        (with_column("mean_delay", [1.5, None, None]), r"{'carrier': 'B6'} mean_delay: tickframe None, Spark -2.0"),
        (with_column("mean_delay", [1.5, -2.0, 0.0]), r"{'carrier': 'DL'} mean_delay: tickframe 0.0, Spark None"),
        (with_column("carrier", ["AA", "B6", "UA"]), "carrier: tickframe 'UA', Spark 'DL'"),
        (with_column("first", [1, 2, 4]), "first: tickframe"),
        (BOARD.slice(1), "tickframe has 2 rows, Spark 3"),
        (BOARD.drop_columns(["flights"]), "column flights is only in Spark"),
        (BOARD.append_column("more", BOARD["flights"]), "column more is only in tickframe"),
    ],
)
def test_every_difference_is_found_and_told(changed, told):
    verdict = proof.compare("board", changed, BOARD, GROUPED)
    assert not verdict.equal
    assert any(told in line for line in verdict.differences), verdict.differences
    assert any("DIFFERENT" in line for line in proof.told([verdict]))


def test_where_order_is_part_of_the_answer_it_is_compared():
    assert not proof.compare("board", BOARD.take([1, 0, 2]), BOARD, RANKED).equal


# The program. Two weeks of the year; `make demo` plays all of it


@pytest.fixture(scope="session")
def out(tmp_path_factory):
    """One output folder for all runs, so that the data is prepared once."""
    return tmp_path_factory.mktemp("flights")


class Run:
    """The demo as a process of its own, in a session of its own, so that what it leaves behind can be seen."""

    def __init__(self, out, *options):
        command = [sys.executable, str(FLIGHTS), "--days", "14", "--out", str(out), *options]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
        )
        self.lines = []

    def until(self, enough):
        """Read lines until one is enough."""
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))
            if enough(line):
                return
        pytest.fail("the demo ended early:\n" + "\n".join(self.lines))

    def end(self):
        """Read to the end; the exit code."""
        rest, _ = self.process.communicate(timeout=DEADLINE)
        self.lines += rest.splitlines()
        return self.process.returncode

    @property
    def told(self):
        return "\n".join(self.lines)

    def leaves_nothing_behind(self):
        """Whether every process it started ends too."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                os.killpg(self.process.pid, 0)
            except ProcessLookupError:
                return True
            time.sleep(0.1)  # another program's end, which nothing announces
        return False


def rows_in(line):
    found = re.search(r"([\d,]+) of ([\d,]+) flights", line)
    return tuple(int(number.replace(",", "")) for number in found.groups()) if found else (0, 1)


@pytest.mark.spark
@pytest.mark.example
def test_two_weeks_are_proved_equal(out):
    run = Run(out, "--once")
    code = run.end()
    assert code == 0, run.told
    assert run.told.count("  equal") == 7
    assert "DIFFERENT" not in run.told
    assert "12,208 flights and 1,002 weather reports" in run.told
    for path in re.findall(r"^(?:wrote|drew) (\S+)", run.told, re.MULTILINE):
        assert Path(path).stat().st_size > 0
    assert (out / "mean_delay_by_carrier.png").read_bytes().startswith(b"\x89PNG")
    assert run.leaves_nothing_behind()


@pytest.mark.spark
@pytest.mark.example
def test_ctrl_c_stops_it_cleanly(out):
    run = Run(out, "--speed", "2")
    run.until(lambda line: rows_in(line)[0] > 0)
    os.kill(run.process.pid, signal.SIGINT)
    assert run.end() == 130, run.told
    assert "stopped" in run.lines[-1]
    assert "Traceback" not in run.told
    assert run.leaves_nothing_behind()


@pytest.mark.spark
@pytest.mark.example
def test_killed_half_way_it_goes_on_or_refuses(out, tmp_path):
    checkpoint = ("--checkpoint", str(tmp_path / "checkpoint"))
    run = Run(out, "--speed", "3", *checkpoint, "--persist")
    run.until(lambda line: rows_in(line)[0] * 2 > rows_in(line)[1])
    os.kill(run.process.pid, signal.SIGKILL)
    run.end()
    assert run.leaves_nothing_behind(), "Spark outlived the program"

    forgetful = Run(out, *checkpoint)
    assert forgetful.end() == 3, forgetful.told
    assert "refused to go on" in forgetful.told
    assert "persist=" in forgetful.told
    assert "fresh checkpoint" in forgetful.told

    mindful = Run(out, *checkpoint, "--persist")
    assert mindful.end() == 0, mindful.told
    assert mindful.told.count("  equal") == 7
