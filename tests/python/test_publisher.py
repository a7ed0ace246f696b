"""Who feeds a table: a function before each step, one at the end; and tables that are closed."""

from __future__ import annotations

import asyncio
import gc
import logging
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import tickframe as tf

SECONDS = 60.0
SOURCES = {
    "append": lambda g, **more: tf.append_table({"x": int}, graph=g, **more),
    "blink": lambda g, **more: tf.blink_table({"x": int}, graph=g, **more),
    "keyed": lambda g, **more: tf.keyed_table({"x": int}, "x", graph=g, **more),
    "input": lambda g, **more: tf.input_table({"x": int}, graph=g, **more),
}


def spin(until, seconds=SECONDS):
    end = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < end, "it never came"
        time.sleep(0)


def give(t, x):
    if isinstance(t, tf.KeyedTable):
        return t.upsert({"x": x})
    return t.apply(added={x: {"x": x}}) if isinstance(t, tf.InputTable) else t.append({"x": x})


@pytest.mark.parametrize("kind", SOURCES)
def test_what_is_handed_over_as_a_step_opens_comes_in_that_step(g, kind):
    held = [1, 2]
    t = SOURCES[kind](g, on_flush=lambda table: [give(table, held.pop()) for _ in held[:1]])
    sizes = []
    for _ in range(3):
        g.step()
        sizes.append(sorted(t.to_dict()["x"]))
    assert sizes == ([[2], [1], []] if kind == "blink" else [[2], [1, 2], [1, 2]])


def test_a_running_graph_flushes_each_period(running):
    calls = []
    t = tf.append_table({"x": int}, graph=running, on_flush=lambda table: calls.append(table.append({"x": 1})))
    spin(lambda: len(t) >= 3)
    assert all(token.wait(SECONDS) for token in calls[:3])


def test_a_function_that_raises_is_told_and_the_third_time_let_be(g, caplog):
    calls = []

    def flushes(table):
        calls.append(table)
        raise ValueError(f"call {len(calls)}")

    t = tf.append_table({"x": int}, graph=g, on_flush=flushes)
    with caplog.at_level(logging.ERROR, "tickframe"):
        for _ in range(5):
            g.step()
        spin(lambda: sum("on_flush" in record.getMessage() for record in caplog.records) == 3)
    texts = [record.getMessage() for record in caplog.records if "on_flush" in record.getMessage()]
    assert "flushes of append_table raised ValueError: call 1" in texts[0]
    assert 'raise ValueError(f"call {len(calls)}")' in texts[0]
    assert "(the third time) and is called no more; its table lives" in texts[2]
    t.append({"x": 1})
    g.step()
    assert (len(calls), len(t), calls[0] is t) == (3, 1, True)


@pytest.mark.parametrize("raised", [SystemExit(3), asyncio.CancelledError()], ids=["exit", "cancelled"])
def test_what_would_end_a_program_is_let_be_at_once(g, caplog, raised):
    calls = []

    def flushes(table):
        calls.append(table)
        raise raised

    t = tf.append_table({"x": int}, graph=g, on_flush=flushes)
    with caplog.at_level(logging.ERROR, "tickframe"):
        for _ in range(3):
            g.step()
        spin(lambda: any("is called no more" in record.getMessage() for record in caplog.records))
    assert len(calls) == 1
    assert not t.is_failed


def test_ctrl_c_in_a_flush_is_raised_by_the_step_and_the_publisher_goes_on(g):
    calls = []

    def flushes(table):
        calls.append(table.append({"x": len(calls)}))
        if len(calls) == 1:
            raise KeyboardInterrupt

    t = tf.append_table({"x": int}, graph=g, on_flush=flushes)
    with pytest.raises(KeyboardInterrupt):
        g.step()
    g.step()
    assert t.to_dict() == {"x": [0, 1]}


def test_what_a_flush_may_not_do_is_refused_and_hangs_nothing(g):
    said = []

    def tries(what):
        try:
            what()
        except tf.errors.InvalidOperationError as refused:
            said.append(str(refused))

    def flushes(table):
        tries(table.graph.step)
        tries(lambda: table.wait(1))
        tries(lambda: table.append({"x": 1}).wait(1))
        tries(lambda: table.graph.frozen().__enter__())

    t = tf.append_table({"x": int}, graph=g, on_flush=flushes)
    g.step()
    assert len(said) == 4
    assert all("hang" in text for text in said)
    assert len(t) == 1


def test_flushes_and_writers_and_readers_at_once_do_not_hang(running):
    """Threads that want the GIL, the queue and the graph, and a function that wants them in a cycle."""
    made = [
        tf.append_table(
            {"x": int}, graph=running, on_flush=lambda t: t.append({"x": 1}), max_queued_rows=50, when_full="wait"
        )
        for _ in range(3)
    ]
    total = tf.concat(made)
    stop = threading.Event()

    def works(t):
        while not stop.is_set():
            t.append({"x": 2}).wait(SECONDS)
            with running.frozen():
                total.to_dict()
            total.filter(tf.col("x") > 1)

    threads = [threading.Thread(target=works, args=(t,)) for t in made]
    for thread in threads:
        thread.start()
    spin(lambda: len(total) > 300)
    stop.set()
    for thread in threads:
        thread.join(SECONDS)
    assert not any(thread.is_alive() for thread in threads)


@pytest.mark.parametrize("kind", SOURCES)
def test_a_closed_table_keeps_its_rows_and_takes_no_more(g, kind):
    ended = []
    t = SOURCES[kind](g, on_shutdown=lambda: ended.append(g.settled))
    give(t, 1)
    assert not t.is_closed
    t.close()
    t.close()
    assert t.is_closed
    with pytest.raises(tf.errors.InvalidOperationError, match="the table was closed; it takes no more rows"):
        give(t, 2)
    g.step()
    assert t.to_dict() == {"x": [1]}
    g.step()
    g.step()
    assert t.to_dict() == {"x": [] if kind == "blink" else [1]}
    assert ended == [2 if kind == "blink" else 1]
    with pytest.raises(tf.errors.InvalidOperationError, match="wait: the table was closed; it will never change"):
        t.wait(SECONDS)


def test_a_table_closed_in_a_transaction_is_judged_at_its_end(g):
    a, b = tf.append_table({"x": int}, graph=g), tf.append_table({"x": int}, graph=g)

    def all_of_it():
        with g.transaction():
            a.append({"x": 1})
            b.append({"x": 1})
            b.close()

    with pytest.raises(tf.errors.InvalidOperationError, match="was closed"):
        all_of_it()
    g.step()
    assert (len(a), len(b)) == (0, 0)


def test_a_call_that_waits_ends_when_its_table_is_closed(g):
    t = tf.append_table({"x": int}, graph=g, max_queued_rows=1, when_full="wait")
    t.append({"x": 1})
    said = []

    def feed():
        try:
            t.append({"x": 2})
        except tf.errors.InvalidOperationError as closed:
            said.append(str(closed))

    feeder = threading.Thread(target=feed)
    feeder.start()
    spin(lambda: t.counters()["waited_calls"] == 1)
    t.close()
    feeder.join(SECONDS)
    assert said == ["append: the table was closed; it takes no more rows"]


def test_the_loop_over_updates_ends_after_the_last_one(running):
    async def follows():
        t = tf.append_table({"x": int}, graph=running)
        other = tf.append_table({"x": int}, graph=running)
        both = tf.concat([t.filter(tf.col("x") > 0), other])
        seen = {"t": 0, "both": 0}

        async def counts(name, table):
            async for update in table.updates():
                seen[name] += len(update.added)

        tasks = [asyncio.ensure_future(counts("t", t)), asyncio.ensure_future(counts("both", both))]
        await asyncio.sleep(0)
        t.append({"x": [0, 1, 2]})
        t.close()
        await asyncio.wait_for(tasks[0], SECONDS)
        assert not tasks[1].done()
        other.append({"x": 3})
        other.close()
        await asyncio.wait_for(tasks[1], SECONDS)
        async for _ in t.updates():
            raise AssertionError("nothing comes")
        return seen

    assert asyncio.run(follows()) == {"t": 3, "both": 3}


def test_whoever_feeds_a_table_hears_once_that_it_failed_or_was_let_go(g, caplog):
    ended = []
    failed = tf.append_table({"x": int}, graph=g, on_shutdown=lambda: ended.append("failed"))
    failed.fail(ValueError("no"))
    g.step()
    failed.close()
    g.step()
    gone = tf.append_table({"x": int}, graph=g, on_shutdown=lambda: ended.append("gone"))
    del gone
    gc.collect()
    held = []
    held.append(
        tf.append_table(
            {"x": int}, graph=g, on_flush=lambda t, held=held: held, on_shutdown=lambda: ended.append("ring")
        )
    )
    g.step()
    del held
    gc.collect()
    with caplog.at_level(logging.ERROR, "tickframe"):
        bad = tf.append_table({"x": int}, graph=g, on_shutdown=lambda: 1 / 0)
        bad.close()
        g.step()
    assert ended == ["failed", "gone", "ring"]
    assert any(
        "on_shutdown" in record.getMessage() and "ZeroDivisionError" in record.getMessage() for record in caplog.records
    )


def test_the_end_of_the_program_ends_publishers():
    program = """
        import tickframe as tf
        g = tf.Graph(period=0)
        t = tf.append_table({"x": int}, graph=g, on_flush=lambda t: t.append({"x": 1}), on_shutdown=lambda: print("over"))
        g.start()
        while not len(t):
            pass
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert (done.stdout, done.returncode) == ("over\n", 0), done.stderr


def test_nothing_is_left_of_publishers(g):
    before = {name: g.counters()[name] for name in ("nodes", "listeners", "timers", "pending")}
    for _ in range(20):
        t = tf.blink_table({"x": int}, graph=g, on_flush=lambda t: t.append({"x": 1}), on_shutdown=lambda: None)
        g.step()
        t.close()
        g.step()
    del t
    gc.collect()
    g.step()
    assert {name: g.counters()[name] for name in before} == before


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"on_flush": 1}, "append_table: on_flush must be a function of the table, not an int"),
        ({"on_flush": lambda: None}, r"append_table: on_flush is called with the table, but is .*\(\)"),
        ({"on_shutdown": "x"}, "append_table: on_shutdown must be a function of nothing, not a str"),
        ({"on_shutdown": lambda x: x}, r"append_table: on_shutdown is called with nothing, but is .*\(x\)"),
    ],
)
def test_what_cannot_be_called_is_refused(g, given, says):
    with pytest.raises(TypeError, match=says):
        tf.append_table({"x": int}, graph=g, **given)
