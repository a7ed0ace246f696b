"""Calls that block: where they would hang they are refused at once and say why, and Ctrl-C ends them."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

import tickframe as tf
from tickframe import col
from tickframe.errors import InvalidOperationError


def refusals(calls):
    """The messages with which calls were refused; one that was not is an error here."""
    texts = []
    for call in calls:
        with pytest.raises(InvalidOperationError) as raised:
            call()
        texts.append(str(raised.value))
    return texts


def test_the_shared_lock_is_not_upgraded(g, t):
    settled = g.settled
    with g.frozen():
        (text,) = refusals([g.step])
        assert "frozen" in text
        assert g.settled == settled
    assert g.step() == settled + 1


def test_data_is_not_waited_for_under_the_shared_lock(g, t):
    with g.frozen():
        token = t.append({"x": 1})
        texts = refusals([lambda: token.wait(60), lambda: t.wait(60), lambda: t.append({"x": 2}).wait(60)])
    assert all("frozen" in text for text in texts)
    g.step()
    assert t.to_dict() == {"x": [1, 2]}


def inside_a_cycle(g, t, calls):
    """What a user's function is told that makes these calls while a step runs, on whatever thread that is."""
    texts = []

    def asks(x: int) -> int:
        texts.extend(refusals(calls))
        return x

    made = t.update("y = asks(x)")
    t.append({"x": 1})
    g.step()
    assert made.to_dict() == {"x": [1], "y": [1]}
    return texts


def test_no_blocking_call_is_made_inside_a_cycle(g, t):
    later = tf.append_table({"x": int}, graph=g)
    settled = g.settled
    calls = [g.step, lambda: t.wait(60), lambda: later.append({"x": 9}).wait(60), lambda: g.frozen().__enter__()]
    texts = inside_a_cycle(g, t, calls)
    assert len(texts) == len(calls)
    assert (g.settled, len(later)) == (settled + 1, 0)
    g.step()
    assert len(later) == 1


def test_no_blocking_call_is_made_inside_a_listener(g, t):
    texts = []
    calls = [g.step, lambda: t.wait(60), lambda: t.append({"x": 9}).wait(60)]
    with t.subscribe(lambda update: texts.extend(refusals(calls))):
        t.append({"x": 1})
        g.step()
    assert len(texts) == 3
    assert all("listener" in text for text in texts)


def test_no_blocking_call_is_made_inside_a_transaction(g, t):
    with g.transaction():
        token = t.append({"x": 1})
        texts = refusals([g.step, lambda: token.wait(60), lambda: t.wait(60)])
    assert all("transaction" in text for text in texts)


def test_a_listener_of_another_graph_may_wait(g, t):
    other = tf.Graph()
    done = []
    with t.subscribe(lambda update: done.append(other.step())):
        t.append({"x": 1})
        g.step()
    assert done == [1]


def run(code):
    told = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert told.stderr == "", told.stderr
    return told


def test_in_the_child_of_a_fork_every_call_says_so():
    code = """
import os, sys, tickframe as tf
g = tf.Graph(period=0); g.start()
t = tf.append_table({"x": int}, graph=g)
token = t.append({"x": 1}); token.wait(30)
child = os.fork()
if child == 0:
    calls = [lambda: len(t), lambda: t.to_dict(), g.step, lambda: t.append({"x": 2}), lambda: t.wait(1),
             lambda: t.filter(tf.col("x") > 0), lambda: t.subscribe(print), g.frozen().__enter__, lambda: g.snapshot(t)]
    for number, call in enumerate(calls):
        try: call()
        except tf.errors.InvalidOperationError as error: print(number, "fork" in str(error))
        else: print(number, "not refused")
    sys.stdout.flush(); os._exit(0)
os.waitpid(child, 0)
print(len(t))
"""
    lines = run(code).stdout.splitlines()
    assert lines == [f"{number} True" for number in range(9)] + ["1"]


@pytest.mark.parametrize("wait", ["token.wait()", "t.filter(tf.col('x') > 5).wait()", "token.wait(60)"])
def test_ctrl_c_ends_a_wait_and_the_graph_goes_on(wait):
    code = f"""
import signal, threading, os, tickframe as tf
g = tf.Graph()
t = tf.append_table({{"x": int}}, graph=g)
token = t.append({{"x": 1}})
threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try: {wait}
except KeyboardInterrupt: print("interrupted", g.step(), len(t))
"""
    assert run(code).stdout.strip() == "interrupted 1 1"


def test_a_wait_of_another_thread_is_not_ended_by_the_main_one(g, t):
    seen = []
    waiting = threading.Thread(target=lambda: seen.append(t.wait(60)))
    waiting.start()
    while not seen:
        t.append({"x": 1})
        g.step()
        waiting.join(0.01)
    waiting.join(60)
    assert seen[0] <= g.settled
    assert len(t.filter(col("x") == 1)) == len(t)
