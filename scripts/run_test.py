#!/usr/bin/env python3
"""Run a program that cargo has built (`.cargo/config.toml`): a test that hangs fails, by its name.

libtest tells of each test that has been running for a minute. One that has not ended TICKFRAME_TEST_LIMIT seconds later
(900; 0 is for ever) is named, and the program is ended. Programs that are no tests, and tests that were asked to go on
for longer, run as they are.
"""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

LIMIT = int(os.environ.get("TICKFRAME_TEST_LIMIT", "900"))
#: Asked to run for as long as that takes: laws have a watchdog of their own.
LONG = ("TICKFRAME_STEPS", "TICKFRAME_SCHEDULES")
SLOW = re.compile(r"test (\S+) has been running for over 60 seconds")
ENDED = re.compile(r"test (\S+)(?: - should panic)? \.\.\. (?:ok|FAILED|ignored)")


class Watch:
    """The tests that have been running for a minute, each with when that was said."""

    def __init__(self) -> None:
        self.slow: dict[str, float] = {}
        self.hung: list[str] = []

    def hear(self, line: str) -> None:
        """Take in a line of the program."""
        if found := SLOW.search(line):
            self.slow.setdefault(found[1], time.monotonic())
        elif found := ENDED.search(line):
            self.slow.pop(found[1], None)
        elif line.strip() in {"ok", "FAILED"}:
            # One test at a time: what was said of it stands between its name and this.
            self.slow.clear()

    def end(self, program: subprocess.Popen[str]) -> None:
        """End the program where a test hangs."""
        while program.poll() is None:
            since = time.monotonic() - LIMIT
            self.hung = [name for name, told in list(self.slow.items()) if told < since]
            if self.hung:
                program.send_signal(signal.SIGABRT)
                return
            time.sleep(1)


def main(command: list[str]) -> int:
    """Run the program; its exit code."""
    is_test = Path(command[0]).parent.name == "deps" and not {"--bench", "--list"} & set(command)
    if not is_test or LIMIT == 0 or any(name in os.environ for name in LONG):
        os.execv(command[0], command)  # noqa: S606 - what cargo built
    quiet = {"--quiet", "-q"} & set(command)
    # Only where each test has a line of its own is it seen to end.
    program = subprocess.Popen(
        [word for word in command if word not in quiet], stdout=subprocess.PIPE, text=True, errors="replace"
    )
    watch = Watch()
    threading.Thread(target=watch.end, args=(program,), daemon=True).start()
    for line in program.stdout or ():
        watch.hear(line)
        if not (quiet and ENDED.match(line) and "FAILED" not in line):
            sys.stdout.write(line)
            sys.stdout.flush()
    code = program.wait()
    for name in watch.hung:
        print(f"test {name} hangs: it has not ended {LIMIT + 60} s after it began; TICKFRAME_TEST_LIMIT sets the limit")
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
