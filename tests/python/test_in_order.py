"""Tables whose rows are in order: asserted, believed, merged; they are not sorted again."""

import pyarrow as pa
import pytest

import tickframe as tf
from tickframe.errors import ColumnNotFoundError, DataError, SchemaError, TableFailedError, TypeMismatchError

NAN = float("nan")


@pytest.fixture
def graph():
    return tf.Graph()


def test_rows_out_of_order_are_refused_at_the_call():
    table = tf.table({"t": [1, 3, 2], "s": ["a", None, "b"]})
    with pytest.raises(
        DataError, match="assert_sorted: the rows are not in order of t: at row key 2 stands 2, after 3 at row key 1"
    ):
        table.assert_sorted("t")
    with pytest.raises(DataError, match="of s: at row key 1 stands null, after a at row key 0"):
        table.assert_sorted("s")
    with pytest.raises(DataError, match="of t descending"):
        table.assert_sorted("t", descending=True)
    with pytest.raises(DataError, match="at row key 1 stands 3, null, after 1, a at row key 0"):
        table.assert_sorted("t", "s", descending=[True, False])


def test_nulls_and_nan_have_their_place():
    table = tf.table({"x": [None, None, -0.0, 0.0, 1.0, NAN, NAN]})
    assert table.assert_sorted("x").attributes["sorted_by"] == (("x", False),)
    last = tf.table({"x": [NAN, 1.0, None]})
    kept = last.assert_sorted("x", descending=True, nulls_last=True)
    assert str(kept.rows()) == str(last.rows())
    assert "sorted_by" not in kept.attributes


def test_a_row_out_of_order_fails_the_table_and_what_stands_on_it(graph):
    table = tf.keyed_table({"k": int, "t": int}, key="k", graph=graph)
    rising = table.assert_sorted("t")
    doubled = rising.update("D = t * 2")
    table.upsert({"k": [1, 2, 3], "t": [1, 3, 3]})
    graph.step()
    assert rising["t"].to_list() == [1, 3, 3]
    table.upsert({"k": [2], "t": [2]})
    graph.step()
    table.delete([1])
    graph.step()
    assert doubled["D"].to_list() == [4, 6]
    table.upsert({"k": [2], "t": [9]})
    graph.step()
    for failed in (rising, doubled):
        with pytest.raises(
            TableFailedError, match="assert_sorted: the rows are not in order of t: at row key 2 stands 3"
        ):
            len(failed)
    assert len(table) == 2


def test_what_is_in_order_is_not_sorted_again(graph):
    table = tf.append_table({"t": int, "x": int}, graph=graph)
    table.append({"t": [1, 1, 2], "x": [3, 2, 1]})
    graph.step()
    known = table.with_order_for_column("t", "x")
    nodes = graph.counters()["nodes"]
    again = known.sort("t")
    assert again.attributes["append_only"]
    assert again["x"].to_list() == [3, 2, 1]
    assert not known.sort("x").attributes.get("append_only")
    assert not known.sort("t", descending=True).attributes.get("append_only")
    assert graph.counters()["nodes"] > nodes
    still = tf.table({"t": [1, 2, 3]}).sort("t")
    assert still.sort("t").to_dict() == still.to_dict()
    assert still.filter(tf.col("t") > 1).sort("t").head(1).to_dict() == {"t": [2]}


def test_merged_tables_follow_their_inputs(graph):
    a = tf.append_table({"t": int, "of": str}, graph=graph)
    b = tf.keyed_table({"t": int, "of": str}, key="of", graph=graph)
    merged = tf.merge_sorted([a, b.sort("t")], "t")
    both = tf.concat([a, b]).sort("t")
    a.append({"t": [1, 5], "of": ["a1", "a5"]})
    b.upsert({"t": [5, 2], "of": ["b5", "b2"]})
    graph.step()
    assert merged.rows() == [(1, "a1"), (2, "b2"), (5, "a5"), (5, "b5")]
    assert merged.attributes["sorted_by"] == (("t", False),)
    b.upsert({"t": [9], "of": ["b2"]})
    a.append({"t": [5], "of": ["a6"]})
    graph.step()
    assert merged.rows() == both.rows()
    a.append({"t": [4], "of": ["late"]})
    graph.step()
    with pytest.raises(
        TableFailedError,
        match="merge_sorted: the rows of table 0 are not in order of t: at row key 3 stands 4, after 5",
    ):
        len(merged)
    assert len(both) == 6


def test_many_tables_in_any_direction():
    parts = [tf.table({"x": [start + 3 * row for row in range(50)]}).sort("x", descending=True) for start in range(5)]
    merged = tf.merge_sorted(parts, "x", descending=True)
    assert merged["x"].to_list() == sorted((x for part in parts for x in part["x"].to_list()), reverse=True)
    ends = [tf.table({"x": [1, None]}), tf.table({"x": [None]}, schema={"x": int})]
    assert tf.merge_sorted(ends, "x", nulls_last=True).to_dict() == {"x": [1, None, None]}
    assert tf.merge_sorted([tf.table({"x": [2]})], ["x"]).to_dict() == {"x": [2]}


def test_plans_know_them():
    table = tf.table({"t": [1, 2]}, name="t")
    for made in (table.assert_sorted("t"), table.with_order_for_column("t"), table.merge_sorted(table, "t")):
        plan = tf.Plan.from_json(made.plan.to_json())
        assert plan == made.plan
        assert plan.collect(t=table).to_dict() == made.to_dict()


def test_sort_descending():
    assert tf.table({"x": [1, 3, 2]}).sort_descending("x").to_dict() == {"x": [3, 2, 1]}


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda t: t.assert_sorted("y"), ColumnNotFoundError, 'assert_sorted: no column "y"'),
        (lambda t: t.assert_sorted([]), SchemaError, "assert_sorted: at least one column is needed"),
        (
            lambda t: t.assert_sorted(tf.col("x") + 1),
            TypeError,
            "assert_sorted: .* is no column but has to be computed",
        ),
        (
            lambda t: t.assert_sorted("x", descending=[True, False]),
            ValueError,
            "assert_sorted: descending has 2 values",
        ),
        (lambda t: t.with_order_for_column("y"), ColumnNotFoundError, 'with_order_for_column: no column "y"'),
        (lambda t: t.with_order_for_column("m"), TypeMismatchError, "with_order_for_column: the column .m. holds"),
        (lambda t: t.merge_sorted(t.drop("x"), "x"), SchemaError, "merge_sorted: table 1 has no column"),
        (lambda t: t.merge_sorted(t, "y"), ColumnNotFoundError, 'merge_sorted: no column "y"'),
        (lambda t: t.merge_sorted(1, "x"), TypeError, "merge_sorted: other is a table, not an int"),
        (lambda t: tf.merge_sorted(t, "x"), TypeError, "merge_sorted: give a list of tables"),
        (lambda t: tf.merge_sorted([], "x"), ValueError, "merge_sorted: give at least one table"),
        (lambda t: tf.merge_sorted([t, 3], "x"), TypeError, "merge_sorted: each of the tables is a table"),
        (
            lambda t: tf.merge_sorted([t, tf.concat([t, t])], "x"),
            DataError,
            "merge_sorted: the rows of table 1 are not in order of x",
        ),
    ],
)
def test_mistakes_are_named(call, error, text):
    maps = pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int64()))
    table = tf.table(pa.table({"x": [1, 2], "m": maps}))
    with pytest.raises(error, match=text):
        call(table)


def test_a_column_made_anew_is_in_no_order():
    table = tf.append_table({"x": int, "y": int}, graph=tf.Graph())
    table.append({"x": [3, 1, 2], "y": [1, 2, 3]})
    table.graph.step()
    x = tf.col("x")
    for start in (table, table.snapshot()):
        ordered = start.sort("x")
        for made in (
            ordered.with_columns(x=-x),
            ordered.with_columns(x=x.shift(-1)),
            ordered.update("x = 10 - x"),
            ordered.update("x = x_[i-1] == null ? 9 : 0"),
            ordered.update_view("x = -x"),
            ordered.lazy_update("x = -x"),
            ordered.select(x=-x),
            ordered.with_columns(x=x.max().over("y") * -1),
            ordered.rename({"x": "y", "y": "x"}),
            ordered.natural_join(start.rename({"x": "z"}), on="y").rename({"z": "w"}).with_columns(x=-tf.col("w")),
        ):
            keys = made.sort("x")["x"].to_list()
            assert keys == sorted(keys, key=lambda key: (key is not None, key)), str(made.plan)
