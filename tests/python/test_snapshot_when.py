"""Rows as they were when another table last changed: the four forms, the stamps, and what is refused."""

from __future__ import annotations

import pytest

import tickframe as tf
from tickframe.errors import ColumnNotFoundError, DuplicateError, InvalidOperationError


@pytest.fixture
def base(g):
    table = tf.keyed_table({"k": str, "x": int}, key="k", graph=g)
    table.upsert({"k": ["a", "b"], "x": [1, 2]})
    g.step()
    return table


@pytest.fixture
def trigger(g):
    return tf.append_table({"at": int, "by": str}, graph=g)


def rows(table: tf.Table) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in table.to_dicts()]


def told(table: tf.Table) -> list[tuple[int, int, int]]:
    seen: list[tuple[int, int, int]] = []
    table.subscribe(lambda u: seen.append((len(u.added), len(u.removed), len(u.modified))))
    return seen


def test_a_copy_each_time_the_trigger_changes(g, base, trigger):
    taken = base.snapshot_when(trigger)
    seen = told(taken)
    assert taken.columns == ["k", "x", "at", "by"]
    base.upsert({"k": ["c"], "x": [3]})
    g.step()
    assert rows(taken) == []
    trigger.append({"at": [7, 8], "by": ["u", "v"]})
    g.step()
    assert rows(taken) == [("a", 1, 8, "v"), ("b", 2, 8, "v"), ("c", 3, 8, "v")]
    base.delete(["a"])
    g.step()
    assert len(taken) == 3
    trigger.append({"at": 9, "by": None})
    g.step()
    assert rows(taken) == [("b", 2, 9, None), ("c", 3, 9, None)]
    assert seen == [(3, 0, 0), (2, 3, 0)]
    assert dict(taken.attributes) == {"flat": True}


def test_the_first_copy_at_once_has_no_stamp(base, trigger):
    taken = base.snapshot_when(trigger, stamp_cols="at", initial=True)
    assert rows(taken) == [("a", 1, None), ("b", 2, None)]


def test_what_changed_since_the_last_time(g, base, trigger):
    taken = base.snapshot_when(trigger, "at", incremental=True)
    seen = told(taken)
    trigger.append({"at": 1, "by": "u"})
    g.step()
    base.upsert({"k": ["b", "c"], "x": [5, 3]})
    g.step()
    base.delete(["a"])
    g.step()
    trigger.append({"at": 2, "by": "u"})
    g.step()
    assert rows(taken) == [("b", 5, 2), ("c", 3, 2)]
    base.upsert({"k": ["c"], "x": [4]})
    trigger.append({"at": 3, "by": "u"})
    g.step()
    assert rows(taken) == [("b", 5, 2), ("c", 4, 3)]
    trigger.append({"at": 4, "by": "u"})
    g.step()
    assert seen == [(2, 0, 0), (1, 1, 1), (0, 0, 1)]


def test_earlier_copies_stay(g, base, trigger):
    taken = base.snapshot_when(trigger, "at", initial=True, history=True)
    for at in (1, 2):
        base.upsert({"k": ["b"], "x": [at * 10]})
        trigger.append({"at": at, "by": "u"})
        g.step()
    assert rows(taken) == [("a", 1, None), ("b", 2, None), ("a", 1, 1), ("b", 10, 1), ("a", 1, 2), ("b", 20, 2)]
    assert taken.attributes["append_only"] is True


def test_a_blink_trigger_and_a_blink_table(g):
    base, trigger = (tf.blink_table({name: int}, graph=g) for name in ("x", "at"))
    taken = base.snapshot_when(trigger)
    seen = told(taken)
    base.append({"x": [1, 2]})
    trigger.append({"at": 5})
    g.step()
    g.step()
    g.step()
    assert rows(taken) == [(1, 5), (2, 5)]
    assert seen == [(2, 0, 0)]


def test_static_tables():
    base, trigger = tf.table({"x": [1, 2]}), tf.table({"at": [3, 4]})
    assert rows(base.snapshot_when(trigger, initial=True)) == [(1, 4), (2, 4)]
    made = base.snapshot_when(trigger)
    assert (rows(made), made.columns) == ([], ["x", "at"])
    assert tf.Plan.from_json(made.plan.to_json()) == made.plan
    assert rows(base.snapshot_when(trigger, [], initial=True)) == [(1,), (2,)]


def test_what_is_refused(g, base, trigger):
    with pytest.raises(DuplicateError, match='snapshot_when: column "x" would appear twice'):
        base.snapshot_when(tf.table({"x": [1]}))
    with pytest.raises(ColumnNotFoundError, match='snapshot_when: no column "nope"'):
        base.snapshot_when(trigger, "nope")
    with pytest.raises(InvalidOperationError, match="snapshot_when: history and incremental exclude each other"):
        base.snapshot_when(trigger, history=True, incremental=True)
    with pytest.raises(InvalidOperationError, match="give an append-only trigger, such as a time_table"):
        trigger.snapshot_when(base, history=True)
    with pytest.raises(InvalidOperationError, match="rows of a blink table are gone by then"):
        tf.blink_table({"z": int}, graph=g).snapshot_when(trigger, incremental=True)
    with pytest.raises(TypeError, match="snapshot_when: trigger is a table, not"):
        base.snapshot_when(5)
    with pytest.raises(TypeError, match="snapshot_when: initial is True or False, not"):
        base.snapshot_when(trigger, initial=1)
