"""Tables of random rows that change at random: the same by the same seed, and true to the rules of updates."""

from __future__ import annotations

import datetime as dt

import pytest

import tickframe as tf

SCHEMA = {
    "b": bool, "i": tf.Int8, "u": tf.UInt64, "n": int, "f": float, "s": str, "z": bytes, "d": dt.date, "c": dt.time,
    "t": tf.Datetime("ns", "UTC"), "l": tf.Datetime("ms"), "w": tf.Duration("us"), "p": tf.Decimal(9, 2), "q": tf.List(int),
}  # fmt: skip


def test_rows_are_those_of_their_seed():
    one, other = (tf.testing.random_rows(SCHEMA, 300, seed=3) for _ in range(2))
    assert one.schema == tf.Schema(SCHEMA)
    assert repr(one.to_dicts()) == repr(other.to_dicts())
    assert repr(one.to_dicts()) != repr(tf.testing.random_rows(SCHEMA, 300, seed=4).to_dicts())
    for name in SCHEMA:
        cells = one[name].to_list()
        assert 5 < sum(cell is None for cell in cells) < 80, name
        assert len({repr(cell) for cell in cells}) > 1, name
    whole = tf.testing.random_rows({"x": int}, 50, nulls=0)
    assert all(cell is not None for cell in whole["x"].to_list())
    assert len(tf.testing.random_rows({"x": int}, 0)) == 0


class Mirror:
    """What a listener makes of updates alone."""

    def __init__(self, t):
        self.rows, self.kinds = {}, set()
        t.subscribe(self.hear, initial=True)

    def hear(self, update):
        for key in update.removed:
            del self.rows[key]
        for first, last, delta in update.shifts:
            moving = [key for key in self.rows if first <= key <= last]
            moved = {key + delta: self.rows.pop(key) for key in moving}
            assert moved.keys().isdisjoint(self.rows)
            self.rows.update(moved)
        self.rows.update(zip(update.added, update.added_rows().to_dicts(), strict=True))
        for key, row in zip(update.modified, update.modified_rows().to_dicts(), strict=True):
            self.rows[key] = self.rows[key] | row
        parts = {"added": update.added, "removed": update.removed, "modified": update.modified, "shifts": update.shifts}
        self.kinds |= {name for name, part in parts.items() if len(part)}


@pytest.mark.parametrize("seed", range(8))
def test_changes_keep_the_rules_of_updates_and_are_those_of_their_seed(seed):
    made = [tf.testing.random_table(SCHEMA, seed=seed, rows=12, changes=5, graph=tf.Graph()) for _ in range(2)]
    mirrors = [Mirror(t) for t in made]
    for step in range(60):
        for t in made:
            if step % 3:
                t.change()
            t.change()
            t.graph.step()
    for t, mirror in zip(made, mirrors, strict=True):
        assert list(t.row_set) == sorted(mirror.rows)
        assert repr(t.to_dicts()) == repr([mirror.rows[key] for key in sorted(mirror.rows)])
        assert mirror.kinds == {"added", "removed", "modified", "shifts"}
    assert repr(made[0].to_dicts()) == repr(made[1].to_dicts())
    assert made[0].row_set == made[1].row_set


def test_what_stands_on_one_is_as_if_it_was_made_at_the_end():
    t = tf.testing.random_table({"k": str, "x": int}, seed=5, graph=tf.Graph())
    t.graph.step()
    makes = [
        lambda t: t.sort("x"),
        lambda t: t.filter(tf.col("x") > 0).group_by("k").agg(tf.col("x").sum(), tf.len()).sort("k"),
        lambda t: t.natural_join(t.unique(subset="k").rename({"x": "y"}), on="k"),
    ]
    live = [make(t) for make in makes]
    for _ in range(80):
        t.change()
        t.graph.step()
    for one, make in zip(live, makes, strict=True):
        assert one.to_dicts() == make(t.snapshot()).to_dicts()


def test_random_tables_are_named_and_live_where_they_are_asked_to():
    g = tf.Graph()
    t = tf.testing.random_table({"x": int}, rows=0, graph=g, name="feed")
    assert (t.graph, len(t), isinstance(t, tf.testing.RandomTable)) == (g, 0, True)
    assert "feed" in repr(t.head(1).plan)
    with g.transaction():
        t.change()
        t.change()
    g.step()


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (
            lambda: tf.testing.random_rows({"x": int}, 2**60),
            ValueError,
            "random_rows: n must be at most 1000000, for they are",
        ),
        (lambda: tf.testing.random_rows({"x": int}, -1), ValueError, "random_rows: n must be 0 or more, not -1"),
        (
            lambda: tf.testing.random_rows({"x": int}, 1, nulls=2),
            ValueError,
            "random_rows: nulls must be between 0 and 1, not 2",
        ),
        (
            lambda: tf.testing.random_rows({"x": int}, 1, seed="a"),
            TypeError,
            "random_rows: seed must be an int, not str",
        ),
        (
            lambda: tf.testing.random_table({"x": int}, nulls="a"),
            TypeError,
            "random_table: nulls is a number between 0 and 1",
        ),
        (lambda: tf.testing.random_table({"x": int}, rows=1.5), TypeError, "random_table: rows must be an int"),
        (
            lambda: tf.testing.random_rows({"x": tf.Struct({"a": int})}, 1),
            tf.errors.TypeMismatchError,
            "the column 'x' holds .*, of which no random values are drawn",
        ),
    ],
)
def test_what_is_refused(call, error, says):
    with pytest.raises(error, match=says):
        call()
