"""Tables of one kind made of those of another: results as their tables change, and what is refused."""

from __future__ import annotations

import contextlib
import time

import pytest

import tickframe as tf
from tickframe.errors import InvalidOperationError, TableFailedError

KINDS = [tf.blink_to_append_only, tf.add_only_to_blink, tf.remove_blink, lambda t: tf.ring_table(t, 5)]


def push(table: tf.AppendTable | tf.BlinkTable, *values: int) -> None:
    if values:
        table.append({"x": list(values)})
    assert table.graph is not None
    table.graph.step()


def xs(table: tf.Table) -> list[int]:
    return table.to_dict()["x"]


@pytest.mark.parametrize("source", [tf.append_table, tf.blink_table])
def test_a_ring_has_the_last_rows_that_came(source, g):
    table = source({"x": int}, graph=g)
    push(table, 1, 2, 3, 4)
    ring = tf.ring_table(table, 3)
    steps = []
    kept = ring.subscribe(lambda u: steps.append((u.removed_rows().to_dict()["x"], u.added_rows().to_dict()["x"])))
    start = xs(ring)
    for values in ((), (5,), (6, 7, 8, 9)):
        push(table, *values)
    assert start == [2, 3, 4]
    assert steps == [([2], [5]), ([3, 4, 5], [7, 8, 9])]
    assert xs(ring) == [7, 8, 9]
    assert dict(ring.attributes) == {}
    kept.cancel()


def test_what_a_ring_keeps_was_removed_long_ago(g):
    table = tf.keyed_table({"k": int, "x": int}, key="k", graph=g)
    ring = tf.ring_table(table, 3)
    table.upsert({"k": [1, 2], "x": [1, 2]})
    g.step()
    table.delete([1, 2])
    g.step()
    assert (len(table), xs(ring)) == (0, [1, 2])
    table.upsert({"k": [1, 3], "x": [7, 8]})
    g.step()
    assert xs(ring) == [2, 7, 8]
    table.upsert({"k": [3], "x": [9]})
    g.step()
    with pytest.raises(TableFailedError, match="ring_table: a row of its table was modified") as told:
        len(ring)
    assert "append_table or a blink_table" in str(told.value)
    assert xs(table) == [7, 9]


def test_what_is_made_later_begins_later(g):
    """Whether somebody holds one that was made before changes nothing."""
    grown, blink = tf.append_table({"x": int}, graph=g), tf.blink_table({"x": int}, graph=g)
    keyed = tf.keyed_table({"x": int, "v": int}, key="x", graph=g)

    def all_of_them():
        return [
            tf.add_only_to_blink(grown).agg_by(tf.agg.sum_("x")),
            tf.ring_table(blink, 9),
            tf.blink_to_append_only(blink),
            blink.agg_by(tf.agg.sum_("x")),
            blink.group_by("x").len(),
            blink.head(9),
            blink.tail(9),
            blink.unique(),
            keyed.snapshot_when(grown, []),
            grown.join_now(keyed, "x"),
            grown.join_asof_now(keyed, on="x"),
        ]

    held = all_of_them()
    for x in range(3):
        push(grown, x)
        push(blink, x)
        keyed.upsert({"x": x, "v": x})
        g.step()
    later = [t.to_dict() for t in all_of_them()]
    assert all(one.to_dict() != other for one, other in list(zip(held, later, strict=True))[1:])
    assert later[0] == {"x": [3]}
    held.clear()
    assert later == [t.to_dict() for t in all_of_them()]
    # What depends on the rows that are there alone is one table.
    nodes = g.counters()["nodes"]
    alike = [grown.filter(tf.col("x") > 1) for _ in range(2)]
    assert (len(alike), g.counters()["nodes"]) == (2, nodes + 1)


def test_a_blink_table_is_kept(g):
    table = tf.blink_table({"x": int}, graph=g)
    push(table, 1)
    kept = tf.blink_to_append_only(table)
    push(table, 2, 3)
    push(table)
    assert (xs(kept), len(table)) == ([1, 2, 3], 0)
    assert kept.attributes["append_only"] is True
    assert tf.blink_to_append_only(table) is not kept
    assert xs(tf.blink_to_append_only(kept)) == [1, 2, 3]


def test_what_is_added_lives_for_a_step(g):
    table = tf.append_table({"x": int}, graph=g)
    push(table, 1, 2)
    fresh = tf.add_only_to_blink(table)
    total = fresh.agg_by(tf.agg.sum_("x"))
    assert fresh.attributes["blink"] is True
    seen = [xs(fresh)]
    for values in ((3,), (), (), (4, 5)):
        push(table, *values)
        seen.append(xs(fresh))
    assert seen == [[1, 2], [3], [], [], [4, 5]]
    assert xs(total) == [15]
    assert xs(tf.blink_to_append_only(fresh)) == [4, 5]
    assert xs(tf.add_only_to_blink(fresh)) == [4, 5]


def test_rows_go_without_a_step_of_their_table():
    """A table with rows is pending work: a graph that runs by itself empties it."""
    g = tf.Graph(period=0)
    table = tf.append_table({"x": int}, graph=g)
    fresh = tf.add_only_to_blink(table)
    seen = []
    fresh.subscribe(lambda u: seen.append((len(u.added), len(u.removed))))
    g.start()
    try:
        table.append({"x": [1, 2]}).wait(60)
        # The update may come between a look and a wait, so no wait is long.
        deadline = time.monotonic() + 60
        while len(seen) < 2 and time.monotonic() < deadline:
            with contextlib.suppress(tf.errors.TimeoutError):
                fresh.wait(0.1)
    finally:
        g.stop()
    assert seen == [(2, 0), (0, 2)]


def test_ordinary_meaning_over_a_blink_table(g):
    table = tf.blink_table({"k": str, "x": int}, graph=g)
    plain = tf.remove_blink(table)
    assert "blink" not in plain.attributes
    groups = plain.group_by("k").agg(tf.col("x").sum())
    last = plain.slice(-1)
    for k, x in [("a", 1), ("b", 2)]:
        table.append({"k": k, "x": x})
        g.step()
        assert groups.to_dict() == {"k": [k], "x": [x]}
        assert xs(last) == [x]
    g.step()
    assert (len(groups), len(last), len(plain)) == (0, 0, 0)


@pytest.mark.parametrize("make", KINDS)
def test_a_static_table_is_given_as_it_is(make):
    t = tf.table({"x": [1, 2, None]})
    made = make(t)
    assert made.to_dict() == t.to_dict()
    assert not made.is_live
    assert tf.Plan.from_json(made.plan.to_json()) == made.plan
    assert make(tf.empty_table(3)).shape == (3, 0)
    assert made.plan.run(input_0=tf.table({"x": [7]})).to_dict() == {"x": [7]}


def test_what_remembers_is_a_node_of_its_own(g):
    table = tf.blink_table({"x": int}, graph=g)
    before = g.counters()["nodes"]
    made = [make(table) for make in KINDS for _ in range(2)]
    assert g.counters()["nodes"] == before + 6, "blink tables stay, and remove_blink alone, are one node each"
    del made


def test_what_is_refused(g):
    table = tf.keyed_table({"k": int, "x": int}, key="k", graph=g)
    with pytest.raises(
        InvalidOperationError, match=r"blink_to_append_only: the table is no blink table.*tf.ring_table\(t, n\)"
    ):
        tf.blink_to_append_only(table)
    with pytest.raises(InvalidOperationError, match="add_only_to_blink: rows of the table may be removed or modified"):
        tf.add_only_to_blink(table)
    with pytest.raises(ValueError, match="ring_table: n must be 1 or more, not 0"):
        tf.ring_table(table, 0)
    with pytest.raises(ValueError, match="ring_table: n must be 1 or more, not -1"):
        tf.ring_table(table, -1)
    with pytest.raises(TypeError, match="ring_table: n must be an int, not str"):
        tf.ring_table(table, "3")
    for name in ("ring_table", "blink_to_append_only", "add_only_to_blink", "remove_blink"):
        with pytest.raises(TypeError, match=f"{name}: t is a table, not a list"):
            getattr(tf, name)([1], *([3] if name == "ring_table" else []))
