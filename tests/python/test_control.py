"""Who may run beside whom: recorded orders and overlaps of Python functions."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import tickframe as tf
from tickframe.errors import InvalidOperationError

# Two calls for a function that sees its rows in order, and an even number, two at a time, for one that need not.
ROWS = 2_200_000
DEADLINE = 20.0


@pytest.fixture
def t() -> tf.Table:
    return tf.table({"x": np.arange(ROWS, dtype=np.int64)})


class Recorder:
    """Makes functions of a chunk that note when they begin and end, and which rows they saw."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.events: list[tuple[str, str, int]] = []

    def note(self, name: str, what: str, first: int) -> None:
        with self.lock:
            self.events.append((name, what, first))

    def make(self, name: str, meet: threading.Barrier | None = None, stateful: bool | None = None) -> tf.Udf:
        def body(x):
            self.note(name, "begins", int(x[0]))
            if meet is not None:
                meet.wait(DEADLINE)
            self.note(name, "ends", int(x[0]))
            return x + 1

        body.__name__ = name
        return tf.udf(returns=tf.Int64, on="numpy", stateful=stateful)(body)

    def order(self) -> list[str]:
        """Names in the order of their first beginning."""
        return list(dict.fromkeys(name for name, what, _ in self.events if what == "begins"))

    def firsts(self, name: str) -> list[int]:
        return [first for other, what, first in self.events if other == name and what == "begins"]

    def apart(self) -> bool:
        """Whether no call began while another had not ended."""
        inside = 0
        for _, what, _ in self.events:
            inside += 1 if what == "begins" else -1
            if inside > 1:
                return False
        return True

    def done_before(self, one: str, other: str) -> bool:
        last = max(at for at, event in enumerate(self.events) if event[0] == one)
        first = min(at for at, event in enumerate(self.events) if event[0] == other)
        return last < first


def chunked(firsts: list[int]) -> bool:
    return firsts == sorted(firsts) and len(firsts) > 1


def test_stateful_columns_see_all_rows_in_order_one_after_the_other(t: tf.Table) -> None:
    seen = Recorder()
    a, b = seen.make("a"), seen.make("b")
    t.with_columns(a("x").alias("p"), b("x").alias("q"))
    assert seen.apart()
    assert seen.done_before("a", "b")
    assert chunked(seen.firsts("a"))
    assert chunked(seen.firsts("b"))


def test_stateless_chunks_overlap(t: tf.Table) -> None:
    seen = Recorder()
    # Two calls meet inside the function, or the barrier breaks.
    both = seen.make("both", threading.Barrier(2), stateful=False)
    t.with_columns(both("x").alias("p"))
    assert not seen.apart()


def test_the_property_makes_open_functions_stateless(t: tf.Table) -> None:
    seen = Recorder()
    meets = seen.make("meets", threading.Barrier(2))
    with tf.Config(**{"QueryTable.statelessSelectByDefault": True}):
        t.with_columns(meets("x").alias("p"))
    assert not seen.apart()


def test_stateless_columns_overlap_and_a_stateful_function_stays_alone() -> None:
    small = tf.table({"x": [1, 2, 3]})
    seen = Recorder()
    meet = threading.Barrier(2)
    a, b = seen.make("a", meet), seen.make("b", meet)
    with tf.Config(stateless_select=True):
        small.with_columns(a("x").alias("p"), b("x").alias("q"))
    assert not seen.apart()
    alone = Recorder()
    c, d = alone.make("c", stateful=True), alone.make("d", stateful=True)
    with tf.Config(stateless_select=True, serial_implicit_barriers=True):
        small.with_columns(c("x").alias("p"), d("x").alias("q"))
    assert alone.apart()


def test_serial_columns_are_barriers_to_each_other_unless_the_property_says_no(t: tf.Table) -> None:
    def run(seen: Recorder, meet: threading.Barrier | None, **settings: object) -> None:
        a, b = seen.make("a", meet, stateful=False), seen.make("b", meet, stateful=False)
        serial = [tf.Selectable(f("x").alias(name)).with_serial() for f, name in ((a, "p"), (b, "q"))]
        with tf.Config(**settings):
            t.with_columns(serial)

    seen = Recorder()
    run(seen, None)
    assert seen.apart()
    assert chunked(seen.firsts("a"))
    overlapping = Recorder()
    run(overlapping, threading.Barrier(2), **{"QueryTable.serialSelectImplicitBarriers": False})
    assert not overlapping.apart()
    # Each is still in order by itself.
    assert chunked(overlapping.firsts("a"))
    assert chunked(overlapping.firsts("b"))
    # The default is the opposite of the property about select.
    by_default = Recorder()
    run(by_default, threading.Barrier(2), **{"QueryTable.statelessSelectByDefault": True})
    assert not by_default.apart()


def test_a_respecter_starts_when_its_declarer_has_finished_all_rows(t: tf.Table) -> None:
    seen = Recorder()
    a, b = seen.make("a", stateful=False), seen.make("b", stateful=False)
    done = tf.Barrier()
    first = tf.Selectable(a("x").alias("p")).with_declared_barriers(done)
    then = tf.Selectable(b("x").alias("q")).with_respected_barriers(done)
    t.select(first, then)
    assert seen.done_before("a", "b")
    live = Recorder()
    a, b = live.make("a", stateful=False), live.make("b", stateful=False)
    g = tf.Graph()
    source = tf.append_table({"x": int}, graph=g)
    first = tf.Selectable(a("x").alias("p")).with_declared_barriers(done)
    then = tf.Selectable(b("x").alias("q")).with_respected_barriers(done)
    kept = source.with_columns(first, then)
    source.append({"x": np.arange(ROWS, dtype=np.int64)})
    live.events.clear()
    g.step()
    assert live.done_before("a", "b")
    assert len(kept) == ROWS


def test_a_used_column_is_complete_before_the_one_that_uses_it(t: tf.Table) -> None:
    seen = Recorder()
    a, b = seen.make("a", stateful=False), seen.make("b", stateful=False)
    made = t.update(a("x").alias("p"), b("p").alias("q"))
    assert seen.done_before("a", "b")
    assert made["q"].to_list()[:2] == [2, 3]


def passing(seen: list[list[int]], keep: int):
    @tf.udf(returns=tf.Boolean, on="numpy")
    def passes(x):
        seen.append(x.tolist())
        return x % keep == 0

    return passes


def test_a_serial_filter_keeps_its_place_and_sees_what_passed() -> None:
    small = tf.table({"x": list(range(12))})
    first: list[list[int]] = []
    second: list[list[int]] = []
    kept = small.filter(
        tf.Filter(passing(first, 2)("x")).with_serial(),
        tf.Filter(passing(second, 3)("x")).with_serial(),
        tf.col("x") > 0,
    )
    assert kept.to_dict() == {"x": [6]}
    assert first == [list(range(12))]
    assert second == [[0, 2, 4, 6, 8, 10]]


def test_cheap_filters_go_first_unless_order_forbids() -> None:
    small = tf.table({"x": list(range(12))})
    seen: list[list[int]] = []
    with tf.Config(**{"QueryTable.statelessFiltersByDefault": True}):
        small.filter(passing(seen, 2)("x"), tf.col("x") > 8)
    assert seen == [[9, 10, 11]]
    seen.clear()
    small.filter(passing(seen, 2)("x"), tf.col("x") > 8)
    assert seen == [list(range(12))]
    seen.clear()
    opened = tf.Barrier()
    with tf.Config(stateless_filters=True):
        small.where(
            tf.Filter(passing(seen, 2)("x")).with_declared_barriers(opened),
            tf.Filter("x > 8").with_respected_barriers(opened),
        )
    assert seen == [list(range(12))]


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda b: [tf.Selectable("P = x").with_respected_barriers(b)], "barrier"),
        (
            lambda b: [
                tf.Selectable("P = x").with_respected_barriers(b),
                tf.Selectable("Q = x").with_declared_barriers(b),
            ],
            "barrier",
        ),
        (
            lambda b: [
                tf.Selectable("P = x").with_declared_barriers(b),
                tf.Selectable("Q = x").with_declared_barriers(b),
            ],
            "barrier",
        ),
        (lambda b: [tf.Selectable("P = x").with_declared_barriers(b).with_respected_barriers(b)], "barrier"),
        (lambda b: [tf.Selectable("P = x").with_declared_barriers("b")], "barrier"),
        (lambda b: [tf.Filter("x > 1").with_serial()], "serial"),
    ],
)
def test_misuse_raises_at_the_call(t: tf.Table, make, word: str) -> None:
    with pytest.raises(InvalidOperationError, match=word):
        t.update(*make(tf.Barrier()))


def test_views_refuse_serial_columns_and_barriers() -> None:
    small = tf.table({"x": [1]})
    for one in (
        tf.Selectable("Y = x + 1").with_serial(),
        tf.Selectable("Y = x + 1").with_declared_barriers(tf.Barrier()),
    ):
        for method in (small.view, small.update_view, small.lazy_update):
            with pytest.raises(InvalidOperationError, match="serial"):
                method(one)
    with pytest.raises(InvalidOperationError, match="serial"):
        small.filter(tf.Selectable("Y = x"))


def test_each_method_gives_a_new_object() -> None:
    plain = tf.Filter("x > 1")
    barrier = tf.Barrier()
    assert plain.with_serial() is not plain
    assert "serial" not in repr(plain)
    assert "serial" in repr(plain.with_serial().with_declared_barriers(barrier))
    assert tf.Barrier() != barrier


def test_properties_have_two_names() -> None:
    with tf.Config(**{"PeriodicUpdateGraph.updateThreads": 1, "OperationInitializationThreadPool.threads": 1}):
        tf.Graph()
    with pytest.raises(TypeError, match="twice"):
        tf.Config(**{"QueryTable.statelessSelectByDefault": True, "stateless_select": True})
    with pytest.raises(TypeError, match=r"QueryTable\.statelessSelectByDefault"):
        tf.Config(stateless=True)
