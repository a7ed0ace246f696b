"""What nobody is raised to is seen: on standard error, or where logging is configured, once."""

import subprocess
import sys

import pytest

START = """
import logging, sys, tickframe as tf
g = tf.Graph()
t = tf.append_table({"x": int}, graph=g)
"""
FAILS = """
bad = t.with_columns(y=tf.col("x").cast(tf.Int8))
below = bad.filter(tf.col("y") > 0)
for value in (1, 1000, 2):
    t.append({"x": value}); g.step()
"""
RAISES = """
def listener(update):
    raise ValueError("not today")
t.subscribe(listener)
for value in range(5):
    t.append({"x": value}); g.step()
"""
EXITS = """
def listener(update):
    sys.exit(3)
t.subscribe(listener)
for value in range(5):
    t.append({"x": value}); g.step()
"""
ROOT = 'logging.basicConfig(stream=sys.stdout, format="LOG %(message)s")\n'
OWN = """
handler = logging.StreamHandler(sys.stdout)
handler.setFormatter(logging.Formatter("LOG %(message)s"))
logging.getLogger("tickframe").addHandler(handler)
"""
SILENT = 'logging.getLogger("tickframe").addHandler(logging.NullHandler())\n'


def run(text):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", START + text], check=False, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


@pytest.mark.parametrize(
    ("text", "many", "words"),
    [
        (FAILS, 1, ["step 2", "with_columns", "cast", "1000"]),
        (
            RAISES,
            3,
            ["the listener listener of append_table raised ValueError: not today", "Traceback", "was detached"],
        ),
        (EXITS, 1, ["the listener listener of append_table raised SystemExit: 3 and was detached; its table lives"]),
    ],
    ids=["a table fails", "a listener raises", "a listener exits"],
)
@pytest.mark.parametrize("setting", ["", ROOT, OWN, SILENT], ids=["none", "root", "own", "silent"])
def test_it_is_seen_once_where_it_belongs(text, many, words, setting):
    out, err = run(setting + text)
    where, start = (err, "tickframe: ") if not setting else (out, "LOG ")
    if setting == SILENT:
        assert (out, err) == ("", "")
        return
    assert (err if setting else out) == ""
    assert all(word in where for word in words), where
    assert sum(line.startswith(start) for line in where.splitlines()) == many, where


def test_a_failing_table_with_listeners_is_told_once():
    _, err = run(
        "bad = t.with_columns(y=tf.col('x').cast(tf.Int8))\nbad.subscribe(print)\nbad.subscribe(print)\n"
        "t.append({'x': 1000}); g.step(); g.step()\n"
    )
    assert err.count("tickframe: ") == 1, err


def test_rows_that_are_passed_over_are_told_once():
    _, err = run(
        "n = t.with_columns(y=tf.col('x').cast(tf.Int8), on_error='null')\n"
        "for _ in range(3):\n    t.append({'x': 1000}); g.step()\n"
    )
    assert err.count("tickframe: ") == 1, err


def test_a_program_without_standard_error_goes_on():
    out, _ = run("sys.stderr = None\n" + RAISES + "print(g.settled)\n")
    assert out == "5\n"
