"""Listeners that do their worst: nobody stops the others, the graph, or the program."""

import _thread
import asyncio
import ctypes
import gc
import logging
import subprocess
import sys
import threading
import warnings

import pytest

import tickframe as tf


class Outcome(BaseException):
    """As a test's outcome is."""


class Mute(Exception):
    """It cannot be shown."""

    def __str__(self):
        raise Outcome

    __repr__ = __str__


AT_ONCE = [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError(), GeneratorExit(), Outcome("out")]


def steps(g, t, many):
    for value in range(many):
        t.append({"x": value})
        g.step()


@pytest.mark.parametrize("raised", AT_ONCE, ids=lambda raised: type(raised).__name__)
def test_what_would_end_a_program_detaches_its_listener_at_once_and_nobody_else(g, t, caplog, raised):
    heard, told = [], []

    def bad(update):
        raise raised

    logged = t.subscribe(bad)
    tell = t.subscribe(bad, on_error=told.append)
    t.subscribe(lambda update: heard.append(update.step))
    with caplog.at_level(logging.ERROR, "tickframe"):
        steps(g, t, 3)
    assert heard == [1, 2, 3]
    assert (logged.is_active, tell.is_active) == (False, False)
    assert told == [raised]
    assert sum("was detached" in record.message for record in caplog.records) == 2


@pytest.mark.parametrize("raised", [*AT_ONCE, ValueError("no"), Mute()], ids=lambda raised: type(raised).__name__)
def test_on_error_may_raise_too(g, t, caplog, raised):
    heard = []

    def bad(update):
        raise ValueError("first")

    def worse(error):
        raise raised

    listening = t.subscribe(bad, on_error=worse)
    t.subscribe(lambda update: heard.append(update.step))
    with caplog.at_level(logging.ERROR, "tickframe"):
        steps(g, t, 4)
    assert heard == [1, 2, 3, 4]
    assert not listening.is_active
    assert "on_error of the listener" in caplog.text


def test_one_that_cannot_be_shown_is_reported_and_so_is_a_listener_that_cannot(g, t, caplog):
    class Hidden:
        def __call__(self, update):
            raise Mute

        def __repr__(self):
            raise Outcome

        def __getattr__(self, name):
            raise Mute(name)

    heard = []
    t.subscribe(Hidden())
    t.subscribe(lambda update: heard.append(update.step))
    with caplog.at_level(logging.ERROR, "tickframe"):
        steps(g, t, 4)
    assert heard == [1, 2, 3, 4]
    texts = [record.message for record in caplog.records]
    assert len(texts) == 3
    assert "a Hidden of append_table raised Mute: (it cannot be shown)" in texts[0]
    assert "was detached" in texts[2]


def test_a_handler_of_the_users_that_raises_stops_nobody(g, t, capsys):
    class Handler(logging.Handler):
        def emit(self, record):
            raise SystemExit(4)

    handler = Handler()
    logging.getLogger("tickframe").addHandler(handler)
    heard = []
    try:
        t.subscribe(lambda update: 1 // 0)
        t.subscribe(lambda update: heard.append(update.step))
        steps(g, t, 3)
    finally:
        logging.getLogger("tickframe").removeHandler(handler)
    assert heard == [1, 2, 3]
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_a_thread_that_cannot_start_leaves_nothing_behind_and_the_next_one_serves(g, t, monkeypatch):
    def no(self):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", no)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            t.subscribe(print)
    assert g.counters()["listeners"] == 0
    heard = []
    t.subscribe(lambda update: heard.append(update.step))
    steps(g, t, 2)
    assert heard == [1, 2]


def test_a_thread_that_dies_is_replaced_and_a_step_waits_for_no_dead_one(g, t, monkeypatch, caplog):
    from tickframe import listener

    heard, serve = [], listener._serve
    # The death of a thread that no `finally` sees: its frames are gone, and what they held.
    monkeypatch.setattr(listener, "_serve", lambda inbox, server: None)
    t.subscribe(lambda update: heard.append((update.step, threading.current_thread().name)))
    with caplog.at_level(logging.ERROR, "tickframe"), monkeypatch.context() as patched:
        for thread in threading.enumerate():
            if thread.name == f"tickframe-listeners-{g._native.id}":
                thread.join()

        def no(self):
            raise RuntimeError("can't start new thread")

        patched.setattr(threading.Thread, "start", no)
        steps(g, t, 1)
    assert heard == []
    assert "the next step by hand, or the next subscribe, tries again" in caplog.text
    monkeypatch.setattr(listener, "_serve", serve)
    steps(g, t, 1)
    assert [step for step, _ in heard] == [1, 2]


def test_listeners_that_meddle_with_others(g, t):
    heard, kept = [], {}

    def first(update):
        heard.append(("first", update.step))
        kept["second"].cancel()
        kept.pop("table", None)
        gc.collect()
        kept["third"] = t.subscribe(lambda update: heard.append(("third", update.step)), initial=True)
        kept["first"].cancel()

    kept["table"] = t.filter(tf.col("x") >= 0)
    kept["table"].subscribe(lambda update: heard.append(("filtered", update.step)))
    kept["first"] = t.subscribe(first)
    kept["second"] = t.subscribe(lambda update: heard.append(("second", update.step)))
    t.subscribe(lambda update: heard.append(("last", update.step)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        steps(g, t, 3)
    assert [step for name, step in heard if name == "last"] == [1, 2, 3]
    assert [step for name, step in heard if name == "first"] == [1]
    assert [step for name, step in heard if name == "second"] in ([], [1])
    assert [step for name, step in heard if name == "third"] == [1, 2, 3]


def test_a_listener_that_forks():
    text = """
import os, sys, threading
import tickframe as tf
g = tf.Graph()
t = tf.append_table({"x": int}, graph=g)
children, heard = [], []
def fork(update):
    child = os.fork()
    if child:
        children.append(child)
    # The child goes on as if nothing had happened, and ends.
t.subscribe(fork)
t.subscribe(lambda update: heard.append(update.step) )
for _ in range(2):
    t.append({"x": 1}); g.step()
for child in children:
    print(os.waitpid(child, 0)[1])
print(heard)
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", text], check=False, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.splitlines()[-1] == "[1, 2]", done
    assert len(done.stdout.splitlines()) == 3


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda t: t.subscribe("x"), "the listener is a function of one Update, not a str"),
        (lambda t: t.subscribe(None), "the listener is a function of one Update, not a NoneType"),
        (lambda t: t.subscribe(lambda: 1), r"fn is called with one Update, but is .*lambda.*\(\)"),
        (lambda t: t.subscribe(lambda a, b: 1), r"fn is called with one Update, but is .*lambda.*\(a, b\)"),
        (lambda t: t.subscribe(print, on_error=5), "on_error must be a function of one exception, not an int"),
        (lambda t: t.subscribe(print, on_error=lambda: 1), "on_error is called with one exception, but is"),
        (lambda t: t.wait("1s"), "wait: timeout is a number of seconds, or None, not '1s'"),
    ],
)
def test_what_cannot_be_called_or_waited_for_is_refused_at_the_call(g, t, make, text):
    with pytest.raises(TypeError, match=text):
        make(t)
    assert g.counters()["listeners"] == 0


@pytest.mark.parametrize("fn", [print, [].append, len, lambda *all: 1, lambda u, more=1: 1])
def test_what_takes_one_update_is_taken(g, t, fn):
    with t.subscribe(fn) as listening:
        assert listening.is_active


@pytest.mark.parametrize("followers", [1, 20, 200])
def test_late_followers_cost_bounded_memory_however_many_they_are(followers):
    running = tf.Graph(period=0)
    t = tf.keyed_table({"k": int, "v": int, "s": str}, key="k", graph=running)
    gate = threading.Event()
    told = {}

    def play(update):
        gate.wait(120)
        for row in update.added_rows().to_dicts():
            told[row["k"]] = row["v"]
        for row in update.modified_rows(["k", "v"]).to_dicts():
            told[row["k"]] = row["v"]

    columns = [None, ["k", "v"], ["v"]]
    listening = [t.subscribe(play)]
    listening += [t.subscribe(lambda update: None, columns=columns[at % 3]) for at in range(followers - 1)]
    running.start()
    held = []
    try:
        for step in range(3_000):
            rows = {"k": list(range(10)), "v": [step] * 10, "s": [f"a text of step {step}"] * 10}
            t.upsert(rows).wait(60)
            if step in (1_499, 2_999):
                held.append(running.counters()["queue_bytes"])
        assert running.counters()["updates_merged"] > 1_500
        # Twice the steps, the same room; 1,024 changes of ten rows, not of 200 followers.
        assert held[1] < 1.1 * held[0]
        assert held[1] < 40 << 20
        gate.set()
        running.stop()
        running.step()
        assert told == dict.fromkeys(range(10), 2_999)
        assert running.counters()["queue_bytes"] == 0
    finally:
        gate.set()
        running.stop()
        for one in listening:
            one.cancel()


def test_one_who_leaves_takes_what_waits_for_him_along():
    running = tf.Graph(period=0)
    t = tf.append_table({"x": int}, graph=running)
    gate, seen = threading.Event(), threading.Event()

    def slow(update):
        seen.set()
        gate.wait(60)

    blocking = t.subscribe(slow)
    late = t.subscribe(lambda update: None)
    running.start()
    try:
        for value in range(100):
            t.append({"x": value}).wait(60)
        assert seen.wait(60)
        assert running.counters()["queue_bytes"] > 0
        late.cancel()
        blocking.cancel()
        assert running.counters()["queue_bytes"] == 0
    finally:
        gate.set()
        running.stop()


def test_updates_are_bounded_while_their_loop_is_blocked(g, t):
    calls = []

    async def blocked(mode):
        loop = asyncio.get_running_loop()
        real = loop.call_soon_threadsafe
        loop.call_soon_threadsafe = lambda *given: (calls.append(1), real(*given))[1]
        updates = t.updates(mode=mode, max_pending=4)
        # The loop does not run meanwhile.
        steps(g, t, 50)
        return updates, [update async for update in updates] if mode == "every" else await anext(updates)

    with pytest.raises(tf.errors.InvalidOperationError, match="fell 4 updates behind"):
        asyncio.run(blocked("every"))
    assert len(calls) == 1
    assert g.counters()["listeners"] == 0
    calls.clear()
    updates, latest = asyncio.run(blocked("latest"))
    assert (latest.step, len(calls)) == (100, 1)
    # Its loop is closed: nobody takes what comes now.
    steps(g, t, 1)
    steps(g, t, 1)
    assert g.counters()["listeners"] == 0
    del updates


def test_updates_that_nobody_holds_end(g, t):
    async def follow():
        t.updates()

    gc.collect()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asyncio.run(follow())
        gc.collect()
    assert g.counters()["listeners"] == 0


def test_all_at_once(g, t, caplog):
    """An exception thrown into the thread from outside, endless recursion, steps, new listeners: the last one hears all."""

    class Twisted(Exception):
        @property
        def __cause__(self):
            raise Outcome

        def __repr__(self):
            raise MemoryError

    def thrown(update):
        here = ctypes.c_ulong(threading.get_ident())
        ctypes.pythonapi.PyThreadState_SetAsyncExc(here, ctypes.py_object(SystemExit))

    def endless(update):
        return endless(update)

    def stepping(update):
        g.step()

    def ending(update):
        _thread.exit()

    def group(update):
        raise ExceptionGroup("many", [ValueError(), ExceptionGroup("more", [SystemError()])])

    def twisted(update):
        raise Twisted

    def wordy(update):
        raise ValueError("x" * 1_000_000)

    def multiplying(update):
        for _ in range(5):
            t.subscribe(lambda update: None, initial=True)

    heard = []
    raising = (thrown, endless, stepping, ending, group, twisted, wordy)
    with caplog.at_level(logging.ERROR, "tickframe"):
        bad = [t.subscribe(fn) for fn in raising]
        good = [t.subscribe(multiplying), t.subscribe(lambda update: heard.append(update.step))]
        steps(g, t, 5)
    assert heard == [1, 2, 3, 4, 5]
    assert [one.is_active for one in bad] == [False] * len(raising), "who raised thrice is detached"
    assert [one.is_active for one in good] == [True, True]
    # Five more in each step, and these two.
    assert g.counters()["listeners"] == 5 * 5 + 2
    assert max(len(record.message) for record in caplog.records) < 1_000
