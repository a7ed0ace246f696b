"""Interrupts and exits: Ctrl-C and `sys.exit` are the caller's, and a program ends with its own code.

Programs of their own run in child processes. How often the ends are tried: ``TICKFRAME_EXIT_RUNS`` (20).
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import tickframe as tf

RUNS = int(os.environ.get("TICKFRAME_EXIT_RUNS", "20"))

HEAD = """
import logging, os, signal, sys, threading, time
import tickframe as tf
logging.disable(logging.CRITICAL)
"""

BUSY = """
def busy():
    g = tf.Graph(period=0)
    t = tf.append_table({"x": int}, graph=g)
    began = threading.Event()
    @tf.udf(returns=tf.Int64)
    def slow(x):
        if len(x):
            began.set()
            for _ in range(50):
                time.sleep(0.002)
        return x
    r = t.with_columns(y=slow("x"))
    g.start()
    t.append({"x": [1]})
    began.wait(30)
"""

ENDS = {
    # The graph's last handle is gone while a function runs in its thread.
    "handles gone": (BUSY + "busy()\nbusy()\nsys.exit(3)\n", 3),
    # Tables are held, the graph is not.
    "tables held": (BUSY.replace("began.wait(30)", "began.wait(30)\n    return r") + "r = busy()\n", 0),
    "an error": (BUSY + "busy()\nraise ValueError('own')\n", 1),
    # A daemon thread that starts operations with functions for ever.
    "a daemon starts operations": (
        """
g = tf.Graph()
t = tf.append_table({"x": int}, graph=g)
t.append({"x": [1, 2, 3]}); g.step()
began = threading.Event()
def work():
    n = 0
    while True:
        n += 1
        @tf.udf(returns=tf.Int64)
        def f(x):
            began.set()
            return x
        t.with_columns(y=f("x") + n)
threading.Thread(target=work, daemon=True).start()
began.wait(30)
sys.exit(4)
""",
        4,
    ),
    # A daemon thread whose function calls the engine in turn, while the program ends and after.
    "a function calls the engine": (
        """
import tickframe.graph as end
g = tf.Graph()
t = tf.append_table({"x": int}, graph=g)
t.append({"x": [1, 2, 3]}); g.step()
began, ends = threading.Event(), threading.Event()
native = end._native.end_functions
def ending(seconds):
    ends.set()
    running = native(seconds)
    assert not running, running
    os._exit(6)
end._native.end_functions = ending
@tf.udf(returns=tf.Int64)
def f(x):
    began.set()
    while not ends.is_set():
        g.counters()
    for _ in range(20_000):
        g.counters()
    return x
threading.Thread(target=lambda: t.with_columns(y=f("x")), daemon=True).start()
began.wait(30)
sys.exit(4)
""",
        6,
    ),
    # The same in one that waits for a step that never comes.
    "a daemon waits": (
        """
g = tf.Graph()
t = tf.append_table({"x": int}, graph=g)
began = threading.Event()
def work():
    token = t.append({"x": [1]})
    began.set()
    token.wait()
threading.Thread(target=work, daemon=True).start()
began.wait(30)
sys.exit(5)
""",
        5,
    ),
}


def child(source: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", HEAD + source], capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("name", ENDS)
def test_a_program_ends_with_its_own_code_whatever_runs(name: str) -> None:
    source, code = ENDS[name]
    # Several at once: most of the time they wait.
    with ThreadPoolExecutor(4) as together:
        ended = list(together.map(child, [source] * RUNS))
    for done in ended:
        assert done.returncode == code, done.stderr
        assert "Fatal" not in done.stderr
        assert "the end of the program waited" not in done.stderr


LEAVING = {
    "idle": "",
    "a function that is inside": """
def slow(x: int) -> int:
    time.sleep(0.05); return x
s = t.update("y = slow(x)")
for i in range(100): t.append({"x": i})
""",
    "a listener that is late": """
t.subscribe(lambda update: time.sleep(0.05))
for i in range(100): t.append({"x": i})
""",
    "a thread that waits": """
import threading
started = threading.Event()
def waits():
    started.set()
    try: t.filter(tf.col("x") > 10**9).wait()
    except BaseException: pass
threading.Thread(target=waits, daemon=True).start(); started.wait()
""",
    "the shared lock held": "lock = g.frozen(); lock.__enter__(); t.append({'x': 1})",
    "an exception": "t.append({'x': 1}); raise SystemExit(0)",
    "a failing table": """
bad = t.select(y=tf.col("x").cast(tf.Int8))
t.append({"x": 1000})
""",
}


@pytest.mark.parametrize("what", LEAVING)
def test_the_interpreter_leaves_a_live_graph_cleanly(what: str) -> None:
    code = """
logging.disable(logging.NOTSET)
g = tf.Graph(period=0); g.start()
t = tf.append_table({"x": int}, graph=g)
t.append({"x": 0}).wait(30)
print("up", flush=True)
"""
    done = child(code + LEAVING[what])
    assert (done.returncode, done.stdout.strip()) == (0, "up"), done.stderr
    assert "panicked" not in done.stderr
    assert "Fatal" not in done.stderr


@pytest.mark.parametrize("body", ["while True: pass", "time.sleep(1000)", "while True: time.sleep(0.001)"])
def test_a_function_that_never_returns_is_named_and_the_program_ends(body: str) -> None:
    source = f"""
import tickframe.graph
tickframe.graph._EXIT_SECONDS, tickframe.graph._LAST_SECONDS = 0.2, 0.2
g = tf.Graph(period=0)
t = tf.append_table({{"x": int}}, graph=g)
began = threading.Event()
@tf.udf(returns=tf.Int64)
def endless(x):
    if len(x):
        began.set()
        {body}
    return x
r = t.with_columns(y=endless("x"))
g.start()
t.append({{"x": [1]}})
began.wait(30)
print("written", flush=False)
sys.exit(7)
"""
    done = child(source)
    assert (done.returncode, done.stdout) == (7, "written\n"), done.stderr
    assert "waited 0.2 s for endless" in done.stderr


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit])
@pytest.mark.parametrize("live", [True, False])
def test_an_interrupt_as_an_operation_starts_is_raised_itself_and_leaves_nothing(
    kind: type[BaseException], live: bool
) -> None:
    graph = tf.Graph()
    table = tf.append_table({"x": int}, graph=graph)
    table.append({"x": [1, 2, 3]})
    graph.step()
    source = table if live else table.snapshot()
    interrupting = [True]

    @tf.udf(returns=tf.Int64, scalar=True)
    def f(x: int) -> int:
        if interrupting[0]:
            raise kind("enough")
        return x

    before = graph.counters()["nodes"]
    for on_error in ("fail", "null"):
        with pytest.raises(kind, match="enough"):
            source.with_columns(y=f("x"), on_error=on_error)
    assert graph.counters()["nodes"] - before <= 1  # the table of errors
    interrupting[0] = False
    assert source.with_columns(y=f("x")).to_dict()["y"] == [1, 2, 3]


def doubling() -> tuple[Any, list[BaseException]]:
    """A function that doubles numbers, and what it raises at its next calls."""
    raising: list[BaseException] = []

    @tf.udf(returns=tf.Int64, scalar=True, stateful=False)
    def f(x: int) -> int:
        if raising:
            raise raising.pop()
        return x * 2

    return f, raising


def diamond() -> tuple[tf.Graph, tf.Table, list[tf.Table], list[BaseException]]:
    """A table, what lies below it with and without a function, and what the function raises next."""
    graph = tf.Graph(threads=2)
    table = tf.keyed_table({"k": int, "x": int}, key="k", graph=graph)
    f, raising = doubling()
    doubled = table.with_columns(y=f("x"))
    kept = table.filter(f("x") > 4)
    below = fan(table, doubled, kept)
    return graph, table, below, raising


def fan(table: tf.Table, doubled: tf.Table, kept: tf.Table) -> list[tf.Table]:
    """What hangs below a computed column and a filter, and they themselves."""
    return [
        doubled,
        kept,
        doubled.filter(tf.col("y") > 2),
        doubled.select("k", z=tf.col("y") + 1),
        doubled.group_by("k").agg(s=tf.col("y").sum()),
        doubled.sort("y"),
        doubled.natural_join(table.select("k", w="x"), "k"),
        kept.head(2),
    ]


def states(tables: list[tf.Table]) -> list[dict[str, list[object]]]:
    return [table.to_dict() for table in tables]


CHANGES = [
    lambda t: t.upsert({"k": [1, 2, 9], "x": [7, 0, 5]}),
    lambda t: (t.delete([2, 3]), t.upsert({"k": [6], "x": [8]})),
    lambda t: (t.delete([1]), t.upsert({"k": [4, 1], "x": [-1, 3]})),
    lambda t: t.upsert({"k": [5], "x": [100]}),
]


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_step_that_is_interrupted_ends_and_the_next_one_makes_up_for_it(
    kind: type[BaseException], times: int
) -> None:
    graph, table, below, raising = diamond()
    table.upsert({"k": [1, 2, 3, 4], "x": [1, 2, 3, 4]})
    graph.step()
    heard: list[list[int]] = [[] for _ in below]
    subscriptions = [
        one.subscribe(lambda u, own=own: own.append(u.step)) for one, own in zip(below, heard, strict=True)
    ]
    for start in range(len(CHANGES)):
        last = states(below)
        step = graph.settled
        for number in range(times):
            CHANGES[(start + number) % len(CHANGES)](table)
            # A row that is new each time: the function is called.
            table.upsert({"k": [60 + graph.settled], "x": [graph.settled]})
            raising[:] = [kind("enough"), kind("enough")]
            with pytest.raises(kind, match="enough"):
                graph.step()
            raising.clear()
            assert graph.settled == step + number + 1, "the step is over"
        assert states(below[:1]) == last[:1], "it shows its last state"
        assert graph.counters()["failed_nodes"] == 0
        graph.step()
        whole = below[0].snapshot().to_dict()
        assert whole["y"] == [x * 2 for x in table.to_dict()["x"]]
        fresh = diamond_below(table)
        assert states(below) == states(fresh), "equal to what is made anew"
        assert all(steps == sorted(set(steps)) for steps in heard), "one change a step at most"
    for subscription in subscriptions:
        subscription.cancel()


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("blink", [False, True])
def test_an_operation_that_cannot_stop_comes_to_its_end_and_the_interrupt_is_told(
    kind: type[BaseException], blink: bool
) -> None:
    graph = tf.Graph(threads=2)
    source = tf.blink_table({"k": int, "x": int}, graph=graph) if blink else tf.append_table(
        {"k": int, "x": int}, graph=graph
    )  # fmt: skip
    f, raising = doubling()

    def below(y: tf.Expr) -> list[tf.Table]:
        view = source.update_view(y.alias("y"))
        tables = [
            view.group_by("k").agg(s=tf.col("y").sum(), m=tf.col("y").max()),
            view.sort("y").select("k"),
            view.where_in(tf.table({"y": [4, 8, 12]}), "y").select("k", "x"),
        ]
        return tables if not blink else [*tables, source.with_columns(y=y), source.filter(y > 4)]

    touched, native = below(f("x")), below(tf.col("x") * 2)
    for start in range(6):
        source.append({"k": [start % 2, 7], "x": [start, 2]})
        raising[:] = [kind("enough"), kind("enough")][: 1 + start % 2]
        with pytest.raises(kind, match="enough"):
            graph.step()
        assert not raising
        assert graph.counters()["failed_nodes"] == 0
        assert states(touched) == states(native), "rows of this step"
    graph.step()
    assert states(touched) == states(native)


def diamond_below(table: tf.Table) -> list[tf.Table]:
    """The same tables made anew, of native expressions."""
    doubled = table.with_columns(y=tf.col("x") * 2)
    kept = table.filter(tf.col("x") * 2 > 4)
    return fan(table, doubled, kept)


def test_in_a_graph_of_its_own_a_function_that_exits_fails_its_table() -> None:
    graph, table, below, raising = diamond()
    raising[:] = [SystemExit("mine"), SystemExit("mine")]
    graph.start()
    try:
        table.upsert({"k": [1], "x": [1]}).wait(30)
        with pytest.raises(tf.errors.TableFailedError) as raised:
            below[0].to_dict()
        assert isinstance(raised.value.__cause__, tf.errors.UdfError)
        assert isinstance(raised.value.__cause__.__cause__, SystemExit)
    finally:
        graph.stop()


def test_a_function_that_asks_for_its_own_operation_gets_one_or_is_told() -> None:
    graph = tf.Graph()
    table = tf.append_table({"x": int}, graph=graph)
    table.append({"x": [1, 2]})
    graph.step()
    for most in (2, 1000):
        calls = [0]

        @tf.udf(returns=tf.Int64, stateful=False)
        def f(x: object, calls: list[int] = calls, most: int = most) -> object:
            calls[0] += 1
            if calls[0] < most:
                table.with_columns(y=f("x"))
            return x

        if most == 2:
            assert table.with_columns(y=f("x")).to_dict()["y"] == [1, 2]
        else:
            with pytest.raises(tf.errors.UdfError, match="outside of the function"):
                table.with_columns(y=f("x"))


def test_ctrl_c_is_heard_while_another_thread_makes_the_same_table() -> None:
    source = """
g = tf.Graph(); t = tf.append_table({"x": int}, graph=g); t.append({"x": [1]}); g.step()
began, go = threading.Event(), threading.Event()
@tf.udf(returns=tf.Int64)
def f(x):
    if len(x) and threading.current_thread() is not threading.main_thread():
        began.set(); go.wait(30)
    return x
e = f("x")
th = threading.Thread(target=lambda: t.with_columns(y=e)); th.start(); began.wait(30)
try:
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    t.with_columns(y=e)
except KeyboardInterrupt:
    print("heard")
go.set(); th.join()
"""
    done = child(source)
    assert (done.returncode, done.stdout) == (0, "heard\n"), done.stderr


WAITS = """
rows = {"x": list(range(200_000))}
g = tf.Graph(threads=3, init_threads=3); t = tf.append_table({"x": int}, graph=g)
others = threading.Event()
@tf.udf(returns=tf.Int64, stateful=False)
def f(x):
    if len(x) and threading.current_thread() is not threading.main_thread():
        others.set()
        while endless:
            time.sleep(0.001)
    elif len(x):
        others.wait(30)
    return x
def beep():
    others.wait(30); os.kill(os.getpid(), signal.SIGINT)
def later(number, frame):
    # An error of the program's own, which is no interrupt, is raised where the engine waits, not inside the function.
    while frame is not None:
        if frame.f_code.co_filename.endswith("adapters.py"):
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            return
        frame = frame.f_back
    raise OSError("enough")
signal.signal(signal.SIGALRM, later)
signal.signal(signal.SIGINT, HANDLER)
endless = True
threading.Thread(target=beep).start()
try:
    WORK
except HEARD as why:
    print("heard", type(why).__name__, flush=True)
endless = False
"""

WORKS = {
    # The rows are split over the threads that initialise.
    "an operation starts": (
        "t.append(rows); g.step(); t.with_columns(y=f('x'))",
        "assert t.with_columns(y=f('x')).to_dict()['y'] == rows['x']",
    ),
    # The same in a step, over those that update.
    "a step": (
        "r = t.with_columns(y=f('x')); t.append(rows); g.step()",
        "g.step(); assert r.to_dict()['y'] == rows['x']; assert g.counters()['failed_nodes'] == 0",
    ),
    # Tables that run side by side, each on a thread of its own.
    "a step of several tables": (
        "r = [t.with_columns(y=f('x') + n) for n in range(6)]; t.append({'x': [1, 2]}); g.step()",
        "g.step(); assert [one.to_dict()['y'] for one in r] == [[1 + n, 2 + n] for n in range(6)]",
    ),
    "a static table": (
        "s = tf.table(rows); s.with_columns(y=f('x'))",
        "assert s.with_columns(y=f('x')).to_dict()['y'] == rows['x']",
    ),
}


@pytest.mark.parametrize("name", WORKS)
@pytest.mark.parametrize(
    ("handler", "heard"),
    [("signal.default_int_handler", "KeyboardInterrupt"), ("later", "OSError")],
)
def test_ctrl_c_is_heard_while_other_threads_run_a_function(name: str, handler: str, heard: str) -> None:
    work, after = WORKS[name]
    source = WAITS.replace("HANDLER", handler).replace("HEARD", heard).replace("WORK", work)
    done = child(source + after + "\n")
    assert (done.returncode, done.stdout) == (0, f"heard {heard}\n"), done.stderr


@pytest.mark.parametrize(
    ("on", "given", "text"),
    [
        ("numpy", None, "gave None: does it lack a return"),
        ("numpy", 5, "gave one value; it must give a column of 3 values"),
        ("arrow", None, "gave None: does it lack a return"),
        ("arrow", [1], "gave 1 values for 3 rows"),
        ("numpy", [1], "gave 1 values for 3 rows"),
    ],
)
def test_a_function_that_gives_no_column_is_told_so(on: str, given: object, text: str) -> None:
    @tf.udf(returns=tf.Int64, on=on)  # type: ignore[call-overload]
    def wrong(x: object) -> object:
        return given

    with pytest.raises(tf.errors.UdfError, match=text) as raised:
        tf.table({"x": [1, 2, 3]}).with_columns(y=wrong("x"))
    assert "wrong" in str(raised.value)
    assert 'column "y"' in str(raised.value)


def test_a_failing_function_is_named_with_row_and_column_and_the_expression_once() -> None:
    def halve(x: int) -> int:
        return 12 // x

    f = tf.udf(returns=tf.Int64, scalar=True)(halve)
    graph = tf.Graph()
    table = tf.append_table({"x": int}, graph=graph)
    made = table.with_columns(y=f("x"))
    table.append({"x": [1, 0]})
    graph.step()
    with pytest.raises(tf.errors.TableFailedError) as raised:
        made.to_dict()
    text = str(raised.value)
    assert "with_columns: row 1: halve(0) raised ZeroDivisionError" in text
    assert 'making column "y"' in text
    assert text.count('halve(col("x"))') == 1


def test_threads_that_want_the_same_table_get_one() -> None:
    graph = tf.Graph()
    table = tf.append_table({"x": int}, graph=graph)
    together = threading.Barrier(4)
    made: list[tf.Table] = []

    def ask() -> None:
        together.wait()
        made.append(table.with_columns(y=tf.col("x") + 1))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert graph.counters()["nodes"] == 2
    assert len(made) == 4


@pytest.mark.parametrize(("started", "total"), [(True, 111), (False, 100)])
def test_a_slow_function_over_a_blink_table_keeps_no_step_waiting(started: bool, total: int) -> None:
    # The next cycle by itself is an hour away: all steps are by hand.
    graph = tf.Graph(period=3600)
    blink = tf.blink_table({"x": int}, graph=graph)
    blink.append({"x": [1]})
    graph.step()
    if started:
        graph.start()
    first = [True]

    def more() -> None:
        for value in (10, 100):
            blink.append({"x": [value]})
            graph.step()

    @tf.udf(returns=tf.Int64, scalar=True)
    def f(x: int) -> int:
        if first:
            first.clear()
            thread = threading.Thread(target=more, daemon=True)
            thread.start()
            thread.join(60)
            assert not thread.is_alive(), "the step waits for the function"
        return x

    summed = blink.update_view(f("x").alias("y")).group_by().agg(s=tf.col("y").sum())
    assert summed.to_dict() == {"s": [total]}
    blink.append({"x": [1000]})
    graph.step()
    assert summed.to_dict() == {"s": [total + 1000]}
    graph.stop()
