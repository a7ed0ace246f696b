"""Groups that stay without rows, and groups in a given order: `preserve_empty` and `initial_groups`."""

from __future__ import annotations

import random

import pytest

import tickframe as tf
from tickframe import col
from tickframe.errors import ColumnNotFoundError, InvalidOperationError

SCHEMA = {"id": int, "k": str, "x": int}


def keyed():
    return tf.keyed_table(SCHEMA, key="id", graph=tf.Graph(period=None))


def test_a_group_that_emptied_stays_and_fills_again():
    t = keyed()
    sums = t.group_by("k", preserve_empty=True).agg(
        col("x").sum(), n=tf.len(), most=col("x").max(), all=col("x").implode(), first=col("x").first()
    )
    t.upsert({"id": [1, 2], "k": ["a", "b"], "x": [1, 2]})
    t.graph.step()
    t.delete([1])
    t.graph.step()
    assert sums.rows() == [("a", 0, 0, None, [], None), ("b", 2, 1, 2, [2], 2)]
    t.upsert({"id": [3, 4], "k": ["c", "a"], "x": [5, 6]})
    t.graph.step()
    assert sums.rows() == [("a", 6, 1, 6, [6], 6), ("b", 2, 1, 2, [2], 2), ("c", 5, 1, 5, [5], 5)]


def test_named_groups_stand_in_their_order():
    t, named = keyed(), tf.table({"k": ["c", "a", "c", None], "note": [1, 2, 3, 4]})
    present = t.agg_by(tf.agg.sum_("x"), by="k", initial_groups=named)
    all_of_them = t.agg_by(tf.agg.sum_("x"), by="k", initial_groups=named, preserve_empty=True)
    assert present.rows() == []
    assert all_of_them.rows() == [("c", 0), ("a", 0), (None, 0)]
    t.upsert({"id": [1, 2, 3], "k": ["b", "a", None], "x": [1, 2, 3]})
    t.graph.step()
    assert present.rows() == [("a", 2), (None, 3), ("b", 1)]
    t.upsert({"id": [2, 4], "k": ["c", "c"], "x": [4, 5]})
    t.delete([1])
    t.graph.step()
    assert present.rows() == [("c", 9), (None, 3)]
    assert all_of_them.rows() == [("c", 9), ("a", 0), (None, 3), ("b", 0)]


def test_without_a_key_there_is_a_row_of_an_empty_table():
    t = keyed()
    assert t.agg_by(tf.agg.count_("n")).rows() == []
    sums = t.agg_by([tf.agg.count_("n"), tf.agg.sum_("x"), tf.agg.last("l = x")], preserve_empty=True)
    assert sums.rows() == [(0, 0, None)]
    t.upsert({"id": 1, "k": "a", "x": 7})
    t.graph.step()
    assert sums.rows() == [(1, 7, 7)]


def test_rows_of_a_blink_table_fill_named_groups():
    t = tf.blink_table({"k": str, "x": int}, graph=tf.Graph(period=None))
    made = t.agg_by(
        [tf.agg.first("f = x"), tf.agg.sum_("x")], by="k", initial_groups=tf.table({"k": ["a"]}), preserve_empty=True
    )
    assert made.rows() == [("a", None, 0)]
    for x in (3, 4):
        t.append({"k": ["a", "b"], "x": [x, x]})
        t.graph.step()
    assert made.rows() == [("a", 3, 7), ("b", 3, 7)]


def test_expressions_over_aggregates_and_computed_keys():
    t = tf.table({"x": [1, 2, 3]})
    made = t.group_by(
        odd=col("x") % 2 == 1, initial_groups=tf.table({"odd": [None, False, True]}), preserve_empty=True
    ).agg(share=col("x").sum() / tf.len())
    assert repr(made.rows()) == "[(None, nan), (False, 2.0), (True, 2.0)]"


@pytest.mark.parametrize("preserve", [False, True])
def test_what_is_sent_is_what_there_is(preserve):
    t, dice = keyed(), random.Random(5)
    named = tf.table({"k": ["d", "b", "a"]})
    made = t.agg_by(tf.agg.sum_("x"), by="k", initial_groups=named, preserve_empty=preserve)
    seen = {row["k"]: row["x"] for row in made.to_dicts()}

    def note(update):
        for row in tf.table(update.removed_rows()).to_dicts():
            del seen[row["k"]]
        for part in (update.added_rows(), update.modified_rows(columns=["k", "x"])):
            seen.update((row["k"], row["x"]) for row in tf.table(part).to_dicts())

    with made.subscribe(note):
        for _ in range(60):
            ids = dice.sample(range(9), 2)
            t.upsert({"id": ids, "k": [dice.choice("abcd") for _ in ids], "x": ids})
            t.delete(dice.sample(range(9), 3))
            t.graph.step()
            assert seen == {row["k"]: row["x"] for row in made.to_dicts()}
            rows = t.to_dicts()
            present = {k: sum(row["x"] for row in rows if row["k"] == k) for k in {row["k"] for row in rows}}
            assert {k: x for k, x in seen.items() if k in present} == present
            assert all(seen[k] == 0 for k in set(seen) - set(present))
            assert preserve or seen == present
            order = [row["k"] for row in made.to_dicts()]
            assert [k for k in order if k in "dba"] == [k for k in "dba" if k in seen]
            assert "c" not in order or order[-1] == "c"


def test_a_plan_writes_them_down():
    t = tf.table({"k": ["a"], "x": [1]}, name="t")
    made = t.agg_by(tf.agg.sum_("x"), by="k", preserve_empty=True)
    plan = tf.Plan.from_json(made.plan.to_json())
    assert plan == made.plan
    assert plan.collect(t=t).rows() == [("a", 1)]
    assert t.agg_by(tf.agg.sum_("x"), by="k").plan != made.plan


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda t: t.agg_by(tf.agg.sum_("x"), by="k", initial_groups=tf.table({"q": [1]})),
            ColumnNotFoundError,
            "initial_groups.*no column",
        ),
        (
            lambda t: t.agg_by(tf.agg.sum_("x"), by="k", initial_groups=tf.table({"k": [1]})),
            InvalidOperationError,
            r"column \"k\" of initial_groups is Int64, and String in the table; cast it",
        ),
        (
            lambda t: t.agg_by(tf.agg.sum_("x"), initial_groups=tf.table({"k": ["a"]})),
            InvalidOperationError,
            "agg_by: initial_groups are groups of keys; give by= too",
        ),
        (
            lambda t: t.group_by("k", initial_groups=keyed()).agg(tf.len()),
            InvalidOperationError,
            r"group_by: initial_groups is a table that does not change: give its snapshot\(\)",
        ),
        (
            lambda t: t.group_by("k", initial_groups=["a"]),
            TypeError,
            "group_by: initial_groups is a table with the key",
        ),
        (
            lambda t: t.agg_by(tf.agg.sum_("x"), initial_groups="a"),
            TypeError,
            "agg_by: initial_groups is a table with the key",
        ),
        (lambda t: t.agg_by(tf.agg.sum_("x"), preserve_empty=1), TypeError, "preserve_empty is True or False"),
        (
            lambda t: t.group_by("k", preserve_empty=True).head(1),
            ValueError,
            "preserve_empty and initial_groups are of aggregates",
        ),
    ],
)
def test_mistakes_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call(tf.table({"k": ["a"], "x": [1]}))
