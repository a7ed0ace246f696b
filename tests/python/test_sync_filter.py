"""Rows that belong together, told by a sequence id: shown in several tables in one step, when all of them are there."""

from __future__ import annotations

import pytest

import tickframe as tf


def tables(g, many=2):
    return [tf.append_table({"k": str, "i": int, "v": int}, graph=g) for _ in range(many)]


def give(t, *rows):
    t.append({"k": [k for k, _, _ in rows], "i": [i for _, i, _ in rows], "v": [v for _, _, v in rows]})


def values(made):
    return [t.to_dict()["v"] for t in made]


def test_rows_of_an_id_come_in_all_tables_in_the_step_that_completes_it(g):
    given = tables(g, 3)
    made = tf.sync_filter(given, by="k", id="i")
    heard = []
    tf.merged_listen(
        made, lambda updates: heard.append([(len(u.added), len(u.removed)) if u else None for u in updates])
    )
    give(given[0], ("a", 1, 1), ("a", 1, 2), ("b", 4, 3), (None, 1, 4))
    give(given[1], ("a", 1, 5), (None, 1, 6), ("b", 3, 7))
    g.step()
    assert values(made) == [[], [], []]
    give(given[2], ("a", 1, 8), ("b", 4, 9))
    g.step()
    assert values(made) == [[1, 2], [5], [8]]
    give(given[0], ("a", 2, 10), ("a", None, 0))
    give(given[1], ("a", 2, 11), ("a", 3, 12))
    g.step()
    assert values(made) == [[1, 2], [5], [8]]
    give(given[2], ("a", 2, 13), ("a", 3, 14))
    g.step()
    assert values(made) == [[10], [11], [13]]
    give(given[0], ("a", 2, 15))
    g.step()
    assert values(made) == [[10, 15], [11], [13]]
    assert heard == [[(2, 0), (1, 0), (1, 0)], [(1, 2), (1, 1), (1, 1)], [(1, 0), None, None]]


def test_ids_may_have_other_names_and_tables_may_be_static(g):
    [live] = tables(g, 1)
    static = tf.table({"k": ["a", "a"], "seq": [1, 2], "w": ["one", "two"]})
    one, other = tf.sync_filter([live, static], "k", ["i", "seq"])
    give(live, ("a", 2, 5))
    g.step()
    assert (one.to_dict()["v"], other.to_dict()["w"]) == ([5], ["two"])
    both = tf.sync_filter([static, static], "k", "seq")
    assert [t.is_live for t in both] == [False, False]
    assert both[0].to_dict()["w"] == ["two"]


def test_results_are_plans(g):
    made = tf.sync_filter(tables(g), "k", "i")
    assert "sync_filter" in repr(made[1].plan)
    assert tf.Plan.from_json(made[1].plan.to_json()) == made[1].plan


def test_the_leader_says_which_rows_belong_together(g):
    leader = tf.append_table({"k": str, "q": int, "n": int, "v": int}, graph=g)
    quotes, news = tables(g)
    made = tf.sync_to_leader(leader, [quotes, news], by="k", ids=["q", "n"], id="i")
    leader.append({"k": ["a", "a", "b"], "q": [1, 3, None], "n": [1, 2, 1], "v": [100, 101, 102]})
    give(quotes, ("a", 1, 1), ("a", 2, 2), ("a", 3, 3))
    give(news, ("a", 1, 4), ("b", 1, 5))
    g.step()
    assert values(made) == [[100], [1], [4]]
    give(news, ("a", 2, 6), ("a", 2, 7))
    g.step()
    assert values(made) == [[101], [3], [6, 7]]


def test_what_is_refused(g):
    a, b = tables(g)
    blink = tf.blink_table({"k": str, "i": int}, graph=g)
    refused = [
        (lambda: tf.sync_filter(a, "k", "i"), TypeError, r"sync_filter: tables is a list of tables, \[a, b\]"),
        (lambda: tf.sync_filter([], "k", "i"), ValueError, "sync_filter: tables is a list of at least one table"),
        (lambda: tf.sync_filter([a, 1], "k", "i"), TypeError, "sync_filter: each of the tables is a table, not an int"),
        (lambda: tf.sync_filter([a, b], "k", ["i"]), ValueError, "sync_filter: id names 1 columns for 2 tables"),
        (
            lambda: tf.sync_filter([a, b], "k", [1, 2]),
            TypeError,
            "sync_filter: id is the name of a column, or one for each",
        ),
        (lambda: tf.sync_filter([a, b], "x", "i"), tf.errors.ColumnNotFoundError, 'sync_filter: no column "x"'),
        (
            lambda: tf.sync_filter([a, b], [], "i"),
            tf.errors.SchemaError,
            "sync_filter: at least one key column is needed",
        ),
        (lambda: tf.sync_filter([a, b], "i", "i"), tf.errors.SchemaError, 'the column "i" is a key and an id'),
        (
            lambda: tf.sync_filter([a, b], "i", "k"),
            tf.errors.TypeMismatchError,
            'column "k" of table 0 holds String; ids are',
        ),
        (lambda: tf.sync_filter([a, blink], "k", "i"), tf.errors.InvalidOperationError, "table 1 is a blink table"),
        (lambda: tf.sync_to_leader(a, [b], "k", ["i", "v"], "i"), ValueError, "ids names 2 columns for 1 followers"),
        (lambda: tf.sync_to_leader(a, [], "k", [], "i"), ValueError, "followers is a list of at least one table"),
        (lambda: tf.sync_to_leader(1, [b], "k", "i", "i"), TypeError, "sync_to_leader: leader is a table, not an int"),
    ]
    for call, error, says in refused:
        with pytest.raises(error, match=says):
            call()
    elsewhere = tables(tf.Graph(), 1)[0]
    with pytest.raises(tf.errors.InvalidOperationError, match="two graphs"):
        tf.sync_filter([a, elsewhere], "k", "i")
