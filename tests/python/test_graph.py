"""The graph: steps, waiting, snapshots, transactions, threads, processes."""

import os
import subprocess
import sys
import threading

import pytest

import tickframe as tf
from tickframe import col


def test_steps_are_counted_and_run_even_if_nothing_is_pending(g):
    assert [g.step(), g.step(), g.settled] == [1, 2, 2]
    assert g.counters()["cycles"] == 2


def test_a_running_graph_takes_what_comes(running):
    t = tf.append_table({"x": int}, graph=running)
    total = t.agg_by(tf.agg.sum_("x"))
    for value in range(10):
        step = t.append({"x": value}).wait(30)
        assert running.settled >= step
    assert total.to_dict() == {"x": [45]}


def test_waiting_on_a_stopped_graph_raises_after_its_timeout_naming_stop_and_step_still_works(running):
    t = tf.append_table({"x": int}, graph=running)
    running.stop()
    token = t.append({"x": 1})
    for wait in (token.wait, t.wait):
        with pytest.raises(tf.errors.TimeoutError, match=r"waited 0\.\d{1,3} s for step .*`stop\(\)`") as raised:
            wait(0.05)
        assert isinstance(raised.value, TimeoutError)
    assert running.step() == token.wait(0)
    assert len(t) == 1
    running.start()
    assert t.append({"x": 2}).wait(30) > token.step


def test_waiting_for_a_table_gives_the_step_of_its_next_update(running):
    t = tf.append_table({"x": int}, graph=running)
    big = t.filter(col("x") > 10)
    feeder = threading.Timer(0.05, lambda: [t.append({"x": 1}), t.append({"x": 11})])
    feeder.start()
    step = big.wait(30)
    assert big.to_dict() == {"x": [11]}
    assert step <= running.settled
    with pytest.raises(tf.errors.TimeoutError, match="did not settle"):
        big.wait(0.05)


def test_nothing_runs_while_frozen_and_waiting_there_is_refused(g):
    t = tf.append_table({"x": int}, graph=g)
    with g.frozen(), g.frozen():
        token = t.append({"x": 1})
        for call in (g.step, lambda: token.wait(1), lambda: t.wait(1)):
            with pytest.raises(tf.errors.InvalidOperationError, match="frozen"):
                call()
    g.step()
    assert len(t) == 1


def test_waiting_inside_a_transaction_is_refused(g):
    t = tf.append_table({"x": int}, graph=g)
    with g.transaction():
        token = t.append({"x": 1})
        for call in (g.step, lambda: token.wait(1), lambda: t.wait(1)):
            with pytest.raises(tf.errors.InvalidOperationError, match="transaction"):
                call()
    assert g.step() == token.wait(1)
    assert len(t) == 1


def test_inside_a_users_function_nothing_waits_for_the_graph(g):
    t = tf.append_table({"x": int}, graph=g)
    refused = []

    def asks(x: int) -> int:
        for call in (g.step, lambda: t.wait(1), lambda: g.frozen().__enter__()):
            try:
                call()
            except tf.errors.InvalidOperationError as error:
                refused.append(str(error))
        return x

    asked = t.update("y = asks(x)")
    t.append({"x": 1})
    g.step()
    assert asked.to_dict() == {"x": [1], "y": [1]}
    assert len(refused) == 3
    # The same as the operation starts over what is there.
    again = t.update("z = asks(x)")
    assert len(again) == 1
    assert len(refused) == 6


def test_snapshots_are_of_one_step_and_stay(g):
    t = tf.append_table({"x": int}, graph=g)
    double = t.select((col("x") * 2).alias("y"))
    t.append({"x": [1, 2]})
    g.step()
    a, b = g.snapshot(t, double)
    t.append({"x": 3})
    g.step()
    assert (a.to_dict(), b.to_dict()) == ({"x": [1, 2]}, {"y": [2, 4]})
    assert not a.is_live
    assert len(t.snapshot()) == 3
    with pytest.raises(tf.errors.InvalidOperationError, match="another graph"):
        tf.Graph().snapshot(t)


def test_a_snapshot_is_of_tables_one_by_one(g):
    t = tf.append_table({"x": int}, graph=g)
    with pytest.raises(TypeError, match=r"one by one, not list: snapshot\(a, b\)"):
        g.snapshot([t, t])


def test_dropping_the_last_handle_frees_the_branch(g):
    t = tf.append_table({"x": int}, graph=g)
    nodes = g.counters()["nodes"]
    derived = t.filter(col("x") > 1).with_columns(y=col("x") + 1).sort("y").head(3)
    assert g.counters()["nodes"] == nodes + 4
    del derived
    assert g.counters()["nodes"] == nodes


def test_describe_shows_the_tree(g):
    t = tf.append_table({"x": int}, graph=g)
    kept = t.filter(col("x") > 1)
    t.append({"x": 2})
    g.step()
    lines = g.describe().splitlines()
    assert "append_table" in lines[1]
    assert lines[2].startswith("    filter")
    assert len(kept) == 1


def test_the_graph_is_drawn_for_graphviz_and_mermaid(g):
    t = tf.append_table({"x": int}, graph=g)
    kept = t.filter(col("x") > 1)
    dot, mermaid = g.to_dot().splitlines(), g.to_mermaid().splitlines()
    assert (dot[0], dot[-1]) == ("digraph tickframe {", "}")
    assert "  n0 -> n1;" in dot
    assert mermaid[0] == "flowchart TD"
    assert mermaid[1].startswith('  n0["append_table')
    assert mermaid[2].startswith('  n1["filter')
    assert mermaid[3] == "  n0 --> n1"
    assert len(kept) == 0


def test_a_thousand_pipelines_of_ten_come_and_go_and_the_counters_are_where_they_were(g):
    t = tf.append_table({"k": str, "x": int}, graph=g)
    t.append({"k": ["a", "b"], "x": [1, 2]})
    g.step()

    def pipeline(number):
        first = t.filter(col("x") > number % 3).with_columns(y=col("x") + number).sort("y").head(5)
        second = first.with_columns(z=col("y") * 2).filter(col("z") > number).rename({"z": "w"})
        return second.drop("y").tail(3).group_by("k").agg(n=col("w").max())

    kept = ("nodes", "listeners", "bytes_held", "undo_bytes", "queue_bytes", "pending", "timers", "troubles")
    made = pipeline(0)
    assert g.counters()["nodes"] == 11
    del made
    g.step()
    before = g.counters()
    for number in range(1_000):
        made = pipeline(number)
        if number % 10 == 0:
            g.step()
        del made
    g.step()
    after = g.counters()
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}


@pytest.mark.parametrize("wrong", [{"period": -1}, {"threads": 0}, {"init_threads": -2}])
def test_wrong_settings(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        tf.Graph(**wrong)


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, **environment},
    )


def test_the_default_graph_starts_itself_unless_told_not_to():
    code = "import tickframe as tf; t = tf.append_table({'x': int}); print(tf.default_graph().is_started, t.append({'x': 1}).wait(30) > 0)"
    told = run(code)
    assert told.stdout.split() == ["True", "True"], told.stderr
    code = "import tickframe as tf; t = tf.append_table({'x': int}); print(tf.default_graph().is_started)"
    assert run(code, TICKFRAME_AUTOSTART="0").stdout.split() == ["False"]


def test_a_process_with_a_running_graph_and_a_listener_ends_by_itself():
    code = """
import tickframe as tf
g = tf.Graph(period=0); g.start()
t = tf.append_table({"x": int}, graph=g)
t.subscribe(lambda u: None)
for i in range(100): t.append({"x": i})
print("end")
"""
    told = run(code)
    assert (told.returncode, told.stdout.strip()) == (0, "end"), told.stderr


def test_ctrl_c_ends_a_wait():
    code = """
import signal, threading, os, tickframe as tf
t = tf.append_table({"x": int}, graph=tf.Graph())
threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try: t.append({"x": 1}).wait()
except KeyboardInterrupt: print("interrupted")
"""
    told = run(code)
    assert told.stdout.strip() == "interrupted", told.stderr


def test_after_a_fork_the_graph_says_why_it_is_inert_and_the_child_may_make_its_own():
    code = """
import os, sys, tickframe as tf
g = tf.Graph(period=0); g.start()
t = tf.append_table({"x": int}, graph=g)
t.append({"x": 1}).wait(30)
child = os.fork()
if child == 0:
    try:
        len(t)
    except tf.errors.InvalidOperationError as error:
        print("fork" in str(error), repr(g) == "Graph(of the process that this one was forked from)")
    u = tf.append_table({"x": int}, graph=tf.Graph())
    u.append({"x": 1}); u.graph.step()
    print(len(u)); sys.stdout.flush(); os._exit(0)
os.waitpid(child, 0)
print(len(t))
"""
    told = run(code)
    assert told.stdout.split() == ["True", "True", "1", "1"], told.stderr


def test_importing_starts_no_thread_and_needs_no_other_package():
    code = """
import sys, threading
for name in ("pyarrow", "polars", "pandas", "numpy", "pyspark"): sys.modules[name] = None
import tickframe as tf
t = tf.table({"x": [1, 2], "s": ["a", None]})
print(t.filter(tf.col("x") > 1).to_dicts(), threading.active_count())
try: t.to_polars()
except ImportError as error: print(error)
"""
    told = run(code)
    assert told.stdout.splitlines() == [
        "[{'x': 2, 's': None}] 1",
        "to_polars() needs polars: pip install 'tickframe[polars]'",
    ], told.stderr


def test_readers_writers_and_droppers_on_many_threads_never_hang(running):
    t = tf.append_table({"x": int}, graph=running)
    over = threading.Event()
    trouble = []

    def read():
        while not over.is_set():
            try:
                derived = t.filter(col("x") % 2 == 0)
                rows = derived.to_dict()["x"]
                assert rows == sorted(rows)
                repr(derived)
            except Exception as error:  # noqa: BLE001 - whatever it is, the test shows it
                trouble.append(error)
                return

    heard = []
    with t.subscribe(lambda update: heard.append(len(update.added_rows()))):
        threads = [threading.Thread(target=read) for _ in range(3)]
        for thread in threads:
            thread.start()
        for value in range(200):
            t.append({"x": value})
        t.append({"x": 200}).wait(60)
        over.set()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
        running.stop()
        running.step()
    assert trouble == []
    assert sum(heard) == 201
