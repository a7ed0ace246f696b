"""What may wait for a step is bounded: calls that are refused, that wait, and that push out older ones."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
import time

import pytest

import tickframe as tf

SECONDS = 60.0


def spin(until, seconds=SECONDS):
    end = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < end, "it never came"
        time.sleep(0)


def test_a_full_queue_refuses_a_call_whole_and_counts_it():
    t = tf.append_table({"x": int}, graph=tf.Graph(), max_queued_rows=3)
    t.append({"x": [1, 2]})
    with pytest.raises(tf.errors.ResourceError) as full:
        t.append({"x": [3, 4]})
    assert str(full.value) == (
        "append: the queue of this table is full: 2 rows wait for a step, the call brings 2, and max_queued_rows=3; "
        'run steps more often, or make the table with when_full="wait" or more rows'
    )
    with pytest.raises(
        tf.errors.ResourceError, match=r"a call of 4 rows is more than the queue .* max_queued_rows=3; "
    ):
        t.append({"x": [1, 2, 3, 4]})
    assert t.counters() == {
        "queued_calls": 1, "queued_rows": 2, "max_queued_rows": 3, "refused_calls": 2, "waited_calls": 0,
        "dropped_calls": 0, "dropped_rows": 0,
    }  # fmt: skip
    t.graph.step()
    assert t.to_dict() == {"x": [1, 2]}
    t.append({"x": [3, 4]})
    t.graph.step()
    assert t.to_dict() == {"x": [1, 2, 3, 4]}


def test_every_kind_of_source_has_a_bound_and_a_default():
    g = tf.Graph()
    schema = {"k": str, "x": int}
    made = [
        tf.append_table(schema, g, max_queued_rows=2),
        tf.blink_table(schema, g, max_queued_rows=2),
        tf.keyed_table(schema, "k", g, max_queued_rows=2),
        tf.input_table(schema, g, max_queued_rows=2),
    ]
    rows = {"k": ["a", "b", "c"], "x": [1, 2, 3]}
    calls = [made[0].append, made[1].append, made[2].upsert, lambda data: made[3].apply(added=([1, 2, 3], data))]
    for table, call in zip(made, calls, strict=True):
        with pytest.raises(tf.errors.ResourceError, match="max_queued_rows=2"):
            call(rows)
        assert table.counters()["refused_calls"] == 1
    assert tf.append_table(schema, g).counters()["max_queued_rows"] == 100_000_000
    with pytest.raises(tf.errors.ResourceError, match="max_queued_rows=2"):
        made[2].delete(["a", "b", "c"])


@pytest.mark.parametrize(
    ("make", "given", "error", "says"),
    [
        (tf.append_table, {"max_queued_rows": 0}, ValueError, "append_table: max_queued_rows must be 1 or more, not 0"),
        (
            tf.append_table,
            {"max_queued_rows": -1},
            ValueError,
            "append_table: max_queued_rows must be 0 or more, not -1",
        ),
        (tf.blink_table, {"max_queued_rows": 1.5}, TypeError, "blink_table: max_queued_rows must be an int, not float"),
        (tf.append_table, {"when_full": "block"}, ValueError, 'append_table: when_full must be "error" or "wait", not'),
        (
            tf.input_table,
            {"when_full": "drop_oldest"},
            ValueError,
            'input_table: when_full must be "error" or "wait", not .drop_oldest.; only rows of blink tables',
        ),
        (
            tf.blink_table,
            {"when_full": "x"},
            ValueError,
            'blink_table: when_full must be "error", "wait" or "drop_oldest"',
        ),
        (tf.append_table, {"when_full": 1}, TypeError, 'append_table: when_full must be "error" or "wait", not 1'),
    ],
)
def test_what_bounds_are_refused(make, given, error, says):
    with pytest.raises(error, match=says):
        make({"x": int}, tf.Graph(), **given)


def test_a_blink_table_drops_its_oldest_calls_and_their_tokens_tell():
    t = tf.blink_table({"x": int}, graph=tf.Graph(), max_queued_rows=4, when_full="drop_oldest")
    tokens = [t.append({"x": [x, x]}) for x in range(4)]
    with pytest.raises(tf.errors.CancelledError, match=r"the rows were dropped: .* \(max_queued_rows=4\)"):
        tokens[1].wait(0)
    assert t.graph.step() == tokens[3].wait()
    assert t.to_dict() == {"x": [2, 2, 3, 3]}
    counts = t.counters()
    assert (counts["dropped_calls"], counts["dropped_rows"], counts["queued_rows"]) == (2, 4, 0)


def test_a_transaction_is_queued_whole_or_not_at_all():
    g = tf.Graph()
    a, b = (tf.append_table({"x": int}, graph=g, max_queued_rows=2) for _ in range(2))
    b.append({"x": [0]})
    tokens = []

    def both():
        with g.transaction():
            tokens.append(a.append({"x": [1]}))
            b.append({"x": [2, 3]})

    with pytest.raises(tf.errors.ResourceError, match="the queue of this table is full"):
        both()
    with pytest.raises(tf.errors.CancelledError):
        tokens[0].wait(0)
    g.step()
    assert (len(a), len(b)) == (0, 1)


def test_a_call_that_waits_gets_in_when_a_step_has_made_room():
    t = tf.append_table({"x": int}, graph=tf.Graph(), max_queued_rows=2, when_full="wait")
    done = []

    def feed():
        for x in range(20):
            t.append({"x": [x]})
            done.append(x)

    feeder = threading.Thread(target=feed)
    feeder.start()
    spin(lambda: t.counters()["waited_calls"] == 1)
    assert done == [0, 1]
    while feeder.is_alive():
        t.graph.step()
    feeder.join()
    t.graph.step()
    assert t.to_dict()["x"] == list(range(20))
    assert t.counters()["refused_calls"] == 0


def test_a_running_graph_takes_what_waits():
    with_graph = tf.Graph(period=0)
    t = tf.append_table({"x": int}, graph=with_graph, max_queued_rows=3, when_full="wait")
    with_graph.start()
    try:
        for x in range(500):
            token = t.append({"x": [x, x]})
        token.wait(SECONDS)
        assert len(t) == 1000
    finally:
        with_graph.stop()


def test_where_a_wait_would_hang_it_is_refused():
    g = tf.Graph()
    t = tf.append_table({"x": int}, graph=g, max_queued_rows=1, when_full="wait")
    other = tf.append_table({"x": int}, graph=g)
    t.append({"x": 1})
    with g.frozen(), pytest.raises(tf.errors.InvalidOperationError, match=r"append: the queue .* is full.*frozen\(\)"):
        t.append({"x": 2})
    heard = []

    def listens(_update):
        try:
            t.append({"x": [1]})
            t.append({"x": [2]})
        except tf.errors.InvalidOperationError as refused:
            heard.append(str(refused))

    with other.subscribe(listens):
        other.append({"x": 1})
        g.step()
    assert len(heard) == 1
    assert "from inside a listener" in heard[0]

    def calls(x: int) -> int:
        t.append({"x": [x]})
        t.append({"x": [x]})
        return x

    g.step()
    with pytest.raises(tf.errors.UdfError, match=r"append: the queue .* is full.*user.s function"):
        other.update("Y = calls(x)")
    assert t.counters()["refused_calls"] == 3


def test_a_wait_ends_when_the_table_fails():
    t = tf.append_table({"x": int}, graph=tf.Graph(), max_queued_rows=1, when_full="wait")
    t.append({"x": 1})
    raised = []

    def feed():
        try:
            t.append({"x": 2})
        except ValueError as error:
            raised.append(str(error))

    feeder = threading.Thread(target=feed)
    feeder.start()
    spin(lambda: t.counters()["waited_calls"] == 1)
    t.fail(ValueError("the feed broke"))
    feeder.join(SECONDS)
    assert raised == ["the feed broke"]


def test_ctrl_c_ends_a_wait():
    program = """
        import os, signal, threading, tickframe as tf
        t = tf.append_table({"x": int}, graph=tf.Graph(), max_queued_rows=1, when_full="wait")
        t.append({"x": 1})

        def interrupt():
            while not t.counters()["waited_calls"]:
                pass
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=interrupt).start()
        try:
            t.append({"x": 2})
        except KeyboardInterrupt:
            print("interrupted", t.counters()["queued_rows"])
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert (done.stdout, done.returncode) == ("interrupted 1\n", 0), done.stderr
