"""Tables in another shape: lists taken apart, keys closed up, and what each refuses."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pyarrow as pa
import pytest

import tickframe as tf

LISTS = {
    "k": ["a", "b", "c", "d"],
    "v": [[1, 2], [], None, [3, None]],
    "w": [["x", "y"], [], None, ["z", None]],
}
SCHEMA = {"k": str, "v": tf.List(int), "w": tf.List(str)}


def static() -> tf.Table:
    return tf.table(LISTS, schema=SCHEMA)


def live() -> tf.Table:
    t = tf.append_table(SCHEMA, graph=tf.Graph())
    for at in range(4):
        t.append({name: [values[at]] for name, values in LISTS.items()})
    t.graph.step()
    return t


@pytest.fixture(params=[static, live], ids=["static", "live"])
def t(request: pytest.FixtureRequest) -> tf.Table:
    return request.param()


# explode, ungroup -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("empty_as_null", [False, True])
@pytest.mark.parametrize("keep_nulls", [False, True])
@pytest.mark.parametrize("columns", [["v"], ["w"], ["v", "w"]])
def test_explode_beside_polars(t, columns, empty_as_null, keep_nulls):
    options = {"empty_as_null": empty_as_null, "keep_nulls": keep_nulls}
    wanted = pl.DataFrame(LISTS).explode(columns, **options)
    assert t.explode(columns, **options).to_dicts() == wanted.to_dicts()
    assert t.explode(*columns, **options).to_dicts() == wanted.to_dicts()
    assert t.explode(columns, **options).schema["v"] == (tf.Int64 if "v" in columns else tf.List(tf.Int64))


def test_ungroup_leaves_nulls_out(t):
    rows = [("a", 1, "x"), ("a", 2, "y"), ("d", 3, "z"), ("d", None, None)]
    assert t.ungroup().rows() == rows
    assert t.ungroup("v", "w").rows() == rows
    assert t.ungroup(["v"]).to_dict()["v"] == [1, 2, 3, None]


def test_lists_of_several_lengths_are_filled_up():
    t = tf.table({"v": [[1, 2], None, []], "w": [["x"], ["y"], ["z"]]})
    assert t.ungroup(null_fill=True).rows() == [(1, "x"), (2, None), (None, "y"), (None, "z")]


def test_every_layout_of_lists_and_type_of_values():
    day = dt.date(2024, 1, 1)
    for kind, values, wanted in [
        (pa.large_list(pa.int8()), [[1], None, [2, 3]], [1, None, 2, 3]),
        (pa.list_(pa.int16(), 2), [[1, 2], None, [3, None]], [1, 2, None, 3, None]),
        (pa.list_(pa.string()), [["a"], [], [None, "c" * 40]], ["a", None, "c" * 40]),
        (pa.list_(pa.date32()), [[day]], [day]),
        (pa.list_(pa.list_(pa.int64())), [[[1], []], [None]], [[1], [], None]),
        (pa.list_(pa.struct([("a", pa.int64())])), [[{"a": 1}, None]], [{"a": 1}, None]),
        (pa.list_(pa.dictionary(pa.int8(), pa.string())), [["x", "y"], ["x"]], ["x", "y", "x"]),
    ]:
        table = pa.table({"v": pa.array(values, kind), "at": list(range(len(values)))})
        for given in (tf.from_arrow(table), _live(table)):
            exploded = given.explode("v")
            assert exploded.to_dict()["v"] == wanted, kind
            assert exploded.sort("at", descending=True).reverse().to_dict()["at"] == exploded.to_dict()["at"]


def _live(table: pa.Table) -> tf.Table:
    source = tf.append_table(table.schema, graph=tf.Graph())
    source.append(table)
    source.graph.step()
    return source


def test_lists_grow_and_shrink():
    graph = tf.Graph()
    t = tf.keyed_table({"k": str, "v": tf.List(int)}, key="k", graph=graph)
    t.upsert({"k": ["a", "b"], "v": [[1], [2]]})
    graph.step()
    exploded = t.explode("v")
    seen: list[tuple[int, int, int]] = []
    held = exploded.subscribe(lambda u: seen.append((len(u.added), len(u.removed), len(u.modified))))
    for values, change in [
        ([1, 5], (1, 0, 0)),
        ([1, 6, 7], (1, 0, 1)),
        ([9], (0, 2, 1)),
        (list(range(1_000)), (999, 0, 1)),
        (None, (0, 999, 1)),
        ([], (0, 1, 0)),
    ]:
        t.upsert({"k": ["a"], "v": [values]})
        graph.step()
        assert seen.pop() == change
        assert exploded.to_dicts() == t.snapshot().explode("v").to_dicts()
    t.delete(["b"])
    graph.step()
    assert seen == [(0, 1, 0)]
    assert len(exploded) == 0
    held.cancel()


def test_ungrouping_what_was_grouped_gives_the_rows_again():
    t = tf.table({"k": ["a", "b", "a"], "x": [1, 2, 3], "y": [None, "b", "c"]})
    grouped = t.group_by("k").agg(tf.col("x").implode(), tf.col("y").implode())
    assert grouped.ungroup().to_dicts() == t.sort("k").to_dicts()


def test_blink_rows_pass():
    graph = tf.Graph()
    t = tf.blink_table({"v": tf.List(int)}, graph=graph)
    exploded = t.explode("v")
    assert exploded.attributes["blink"]
    t.append({"v": [[1, 2], [3]]})
    graph.step()
    assert exploded.to_dict() == {"v": [1, 2, 3]}
    graph.step()
    assert len(exploded) == 0


def test_what_explode_refuses(t):
    with pytest.raises(tf.errors.ColumnNotFoundError, match='explode: no column "vv"'):
        t.explode("vv")
    with pytest.raises(tf.errors.TypeMismatchError, match='explode: column "k" is String; lists are taken apart'):
        t.explode("k")
    with pytest.raises(tf.errors.TypeMismatchError, match='ungroup: column "k" is String'):
        t.ungroup("k")
    with pytest.raises(tf.errors.SchemaError, match="ungroup: at least one column of lists is needed"):
        t.select("k").ungroup()
    with pytest.raises(tf.errors.SchemaError, match="explode: at least one column of lists is needed"):
        t.explode([])
    with pytest.raises(TypeError, match="explode: the name of a column is a str, not"):
        t.explode(1)
    with pytest.raises(TypeError, match="explode: keep_nulls is True or False"):
        t.explode("v", keep_nulls="no")


def test_lists_that_differ_in_length_are_told_with_their_row():
    words = 'in the row with key 1 "v" gives 2 rows and "w" 1; lists that are taken apart together are of one length'
    t = tf.table({"v": [[1], [1, 2]], "w": [[1], [3]]})
    with pytest.raises(tf.errors.DataError, match="explode: " + words):
        t.explode("v", "w")
    source = tf.append_table({"v": tf.List(int), "w": tf.List(int)}, graph=tf.Graph())
    exploded = source.explode("v", "w")
    source.append({"v": [[1], [1, 2]], "w": [[1], [3]]})
    source.graph.step()
    with pytest.raises(tf.errors.TableFailedError, match=words) as raised:
        exploded.to_dicts()
    assert raised.value.culprit.startswith('explode("v", "w")') or raised.value.culprit.startswith("explode(")


# flatten --------------------------------------------------------------------------------------------------------------


def test_flatten_closes_up():
    graph = tf.Graph()
    t = tf.keyed_table({"k": int, "x": str}, key="k", graph=graph)
    t.upsert({"k": [1, 2, 3], "x": ["a", "b", "c"]})
    graph.step()
    flat = t.filter(tf.col("k") != 2).flatten()
    assert flat.attributes["flat"]
    assert (flat.row_set.ranges(), flat.to_dict()["x"]) == ([(0, 1)], ["a", "c"])
    t.delete([1])
    t.upsert({"k": [4], "x": ["d"]})
    graph.step()
    assert (flat.row_set.ranges(), flat.to_dict()["x"]) == ([(0, 1)], ["c", "d"])
    assert flat.flatten().to_dicts() == flat.to_dicts()
    assert tf.table({"x": [1]}).flatten().to_dict() == {"x": [1]}
