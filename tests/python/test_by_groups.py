"""`sum_by` and its like, by Deephaven's names; names and types as a table; tables a slice at a time."""

import pytest

import tickframe as tf
from tickframe import col

TABLE = tf.table({"k": ["a", "b", "a", None], "x": [1, -2, 3, None], "y": [1.0, 2.0, 4.0, 8.0]})


@pytest.mark.parametrize(
    ("name", "aggregate"),
    [
        ("sum_by", lambda of: of.sum()),
        ("abs_sum_by", lambda of: of.abs_sum()),
        ("avg_by", lambda of: of.mean()),
        ("min_by", lambda of: of.min()),
        ("max_by", lambda of: of.max()),
        ("median_by", lambda of: of.median()),
        ("std_by", lambda of: of.std()),
        ("var_by", lambda of: of.var()),
    ],
)
def test_one_aggregate_of_each_other_column(name, aggregate):
    by = getattr(TABLE, name)
    assert by("k").rows() == TABLE.group_by("k").agg(aggregate(col("x")), aggregate(col("y"))).rows()
    assert by(["k", "x"]).rows() == TABLE.group_by("k", "x").agg(aggregate(col("y"))).rows()
    whole = getattr(TABLE.drop("k"), name)()
    assert whole.rows() == TABLE.select(aggregate(col("x")), aggregate(col("y"))).rows()


def test_counts_and_weights():
    assert TABLE.count_by("n", "k").rows() == [("a", 2), ("b", 1), (None, 1)]
    assert TABLE.count_by("n").rows() == [(4,)]
    assert TABLE.weighted_avg_by("y", "k").rows() == TABLE.group_by("k").agg(col("x").weighted_mean(col("y"))).rows()
    assert TABLE.drop("k").weighted_sum_by("y").to_dict() == {"x": [9.0]}


def test_they_follow_their_table():
    graph = tf.Graph()
    live = tf.keyed_table({"id": int, "k": str, "x": int}, key="id", graph=graph)
    sums = live.drop("id").sum_by("k")
    live.upsert({"id": [1, 2], "k": ["a", "a"], "x": [1, 2]})
    graph.step()
    live.delete([1])
    graph.step()
    assert sums.rows() == [("a", 2)]


def test_slices_and_types():
    assert [part.height for part in TABLE.iter_slices(3)] == [3, 1]
    assert list(TABLE.head(0).iter_slices()) == []
    assert TABLE.meta_table.to_dict() == {"Name": ["k", "x", "y"], "DataType": ["String", "Int64", "Float64"]}
    assert TABLE.coalesce() is TABLE


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda t: t.sum_by("q"), tf.errors.ColumnNotFoundError, 'no column "q"'),
        (lambda t: t.sum_by(1), TypeError, "sum_by: the name of a column is a str"),
        (lambda t: t.select("k").sum_by("k"), ValueError, "sum_by: no column is left beside 'k'"),
        (lambda t: t.count_by(1, "k"), TypeError, "count_by: col is a str"),
        (lambda t: t.weighted_avg_by("q", "k"), tf.errors.ColumnNotFoundError, 'no column "q"'),
        (lambda t: t.select("y").weighted_sum_by("y"), ValueError, "weighted_sum_by: no column is left"),
        (lambda t: t.iter_slices(0), ValueError, "iter_slices: n_rows must be 1 or more"),
        (lambda t: t.iter_slices("a"), TypeError, "iter_slices: n_rows"),
    ],
)
def test_mistakes_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call(TABLE)
