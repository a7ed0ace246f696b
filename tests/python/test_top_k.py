"""`top_k` and `bottom_k`: the rows with the greatest or the least values, as a sort and its first rows."""

import random

import pytest

import tickframe as tf

NAN = float("nan")


def both(table, k, by, reverse=False):
    flags = reverse if isinstance(reverse, list) else [reverse] * (len(by) if isinstance(by, list) else 1)
    return [
        (table.top_k(k, by=by, reverse=reverse), table.sort(by, descending=[not x for x in flags], nulls_last=True)),
        (table.bottom_k(k, by=by, reverse=reverse), table.sort(by, descending=flags, nulls_last=True)),
    ]


def same(one, other):
    return str(one.rows()) == str(other.rows())


@pytest.mark.parametrize("k", [0, 1, 3, 100])
@pytest.mark.parametrize(
    ("by", "reverse"), [("x", False), ("s", True), (["s", "x"], [True, False]), (["b", "x"], False)]
)
def test_first_rows_of_a_sort(k, by, reverse):
    draw = random.Random(k)
    rows = range(300)
    table = tf.table(
        {
            "x": [draw.choice([None, NAN, -0.0, 0.0, 1.5, float(draw.randrange(40))]) for _ in rows],
            "s": [draw.choice([None, "", "a", "the same beginning, and a", "the same beginning, and b"]) for _ in rows],
            "b": [draw.choice([True, False, None]) for _ in rows],
            "n": list(rows),
        }
    )
    for first, ordered in both(table, k, by, reverse):
        assert same(first, ordered.head(k))
        assert first.attributes == ordered.head(k).attributes


def test_it_follows_its_table_through_a_storm_of_removals():
    graph = tf.Graph()
    table = tf.keyed_table({"k": int, "x": int}, key="k", graph=graph)
    draw = random.Random(1)
    table.upsert({"k": list(range(20_000)), "x": [draw.randrange(10_000) for _ in range(20_000)]})
    graph.step()
    first, ordered = table.top_k(10, by="x"), table.sort("x", descending=True, nulls_last=True).head(10)
    while len(table):
        gone = ordered["k"].to_list()
        best = table.sort("x", descending=True)["k"].to_list()[:1500]
        table.delete(best)
        graph.step()
        assert same(first, ordered), gone
    table.upsert({"k": [1, 2], "x": [5, 6]})
    graph.step()
    assert first.rows() == [(2, 6), (1, 5)]


def test_of_an_expression_and_of_a_blink_table():
    table = tf.table({"x": [1, -9, 5]})
    assert table.top_k(2, by=tf.col("x").abs()).to_dict() == {"x": [-9, 5]}
    assert table.bottom_k(1, by=[tf.col("x").abs(), "x"]).to_dict() == {"x": [1]}
    graph = tf.Graph()
    blink = tf.blink_table({"x": int}, graph=graph)
    first = blink.top_k(2, by="x")
    for x in ([1, 3, 2], [9]):
        blink.append({"x": x})
        graph.step()
    assert first.to_dict() == {"x": [3, 2]}


def test_plans_know_it():
    table = tf.table({"x": [3, 1, 2]}, name="t")
    first = table.top_k(2, by="x")
    plan = tf.Plan.from_json(first.plan.to_json())
    assert plan.collect(t=table).to_dict() == {"x": [3, 2]}
    assert str(plan).startswith('top_k(2, "x" descending nulls last)')
    assert "limit into sort" in table.sort("x").head(1).plan.explain()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda t: t.top_k(-1, by="x"), ValueError, "top_k: k"),
        (lambda t: t.top_k(1.5, by="x"), TypeError, "top_k: k"),
        (lambda t: t.bottom_k("1", by="x"), TypeError, "bottom_k: k"),
        (lambda t: t.top_k(1, by="y"), tf.errors.ColumnNotFoundError, 'top_k: no column "y"'),
        (lambda t: t.bottom_k(1, by=tf.col("y") + 1), tf.errors.ColumnNotFoundError, 'bottom_k: no column "y"'),
        (lambda t: t.top_k(1, by=[]), tf.errors.SchemaError, "top_k: at least one column is needed"),
        (lambda t: t.top_k(1, by="x", reverse=[True, False]), ValueError, "top_k: reverse has 2 values for 1 columns"),
        (lambda t: t.top_k(1, by="x", reverse=1), TypeError, "top_k: reverse"),
    ],
)
def test_mistakes_are_named(call, error, text):
    with pytest.raises(error, match=text):
        call(tf.table({"x": [1]}))
