"""Aggregates beside the rows they are of: ``col("x").sum().over("k")``."""

import pytest

import tickframe as tf
from tickframe import col

DATA = {"k": ["a", "b", "a", None, None], "g": [2, 1, 1, 1, None], "x": [1, 2, 3, 4, None]}


@pytest.fixture
def t():
    t = tf.append_table({"k": str, "g": int, "x": int}, graph=tf.Graph())
    t.append(DATA)
    t.graph.step()
    return t


def test_every_aggregate_there_is(t):
    made = t.select(
        col("x").sum().over("k").alias("sum"),
        col("x").mean().over("k").alias("mean"),
        col("x").min().over("k").alias("min"),
        col("x").max().over("k").alias("max"),
        col("x").count().over("k").alias("count"),
        col("x").len().over("k").alias("len"),
        col("x").first().over("k").alias("first"),
        col("x").last().over("k").alias("last"),
        col("x").var(ddof=0).over("k").alias("var"),
    )
    assert made.to_dict() == {
        "sum": [4, 2, 4, 4, 4],
        "mean": [2.0, 2.0, 2.0, 4.0, 4.0],
        "min": [1, 2, 1, 4, 4],
        "max": [3, 2, 3, 4, 4],
        "count": [2, 1, 2, 1, 1],
        "len": [2, 1, 2, 2, 2],
        "first": [1, 2, 1, 4, 4],
        "last": [3, 2, 3, None, None],
        "var": [1.0, 0.0, 1.0, 0.0, 0.0],
    }


def test_beside_other_expressions_and_over_several_groups(t):
    made = t.with_columns(
        share=col("x") / col("x").sum().over("k"),
        within=(col("x") - col("x").mean()).over("g", "k"),
        of_all=col("x").sum().over(),
        shifted=col("x").max().over("k").shift(),
        by_parity=tf.len().over(col("g") % 2),
    )
    assert made.columns == ["k", "g", "x", "share", "within", "of_all", "shifted", "by_parity"]
    cells = made.to_dict()
    assert cells["share"] == [0.25, 1.0, 0.75, 1.0, None]
    assert cells["within"] == [0.0, 0.0, 0.0, 0.0, None]
    assert cells["of_all"] == [10] * 5
    assert cells["shifted"] == [None, 3, 2, 3, 4]
    assert cells["by_parity"] == [1, 3, 3, 3, 1]


def test_aggregates_of_the_whole_table(t):
    assert t.with_columns(d=col("x") - col("x").min()).to_dict()["d"] == [0, 1, 2, 3, None]
    assert t.filter(col("x") > col("x").mean()).to_dict()["x"] == [3, 4]
    assert t.select(col("x").sum(), n=tf.len()).to_dict() == {"x": [10], "n": [5]}
    assert t.select(col("x"), col("x").sum().alias("s")).to_dict()["s"] == [10] * 5


def test_it_follows_its_groups_and_tells_no_others():
    t = tf.keyed_table({"id": int, "k": str, "x": int}, key="id", graph=tf.Graph())
    made = t.with_columns(s=col("x").sum().over("k"))
    t.upsert({"id": [1, 2, 3], "k": ["a", "b", "a"], "x": [1, 2, 3]})
    t.graph.step()
    told = []
    with made.subscribe(lambda u: told.append((len(u.added), u.modified.to_numpy().tolist(), u.modified_columns))):
        t.upsert({"id": [2], "k": ["b"], "x": [5]})
        t.graph.step()
        t.upsert({"id": [4], "k": ["a"], "x": [1]})
        t.graph.step()
    assert told == [(0, [1], ["x", "s"]), (1, [0, 2], ["s"])]
    assert made.to_dict()["s"] == [5, 5, 5, 5]


def test_first_in_an_order(t):
    made = t.select(
        col("x").first().over("k", order_by="g").alias("least"),
        col("x").first().over("k", order_by="g", descending=True).alias("most"),
        col("x").sum().over("k", order_by="g").alias("sum"),
    )
    assert made.to_dict() == {
        "least": [3, 2, 3, None, None],
        "most": [1, 2, 1, None, None],
        "sum": [4, 2, 4, 4, 4],
    }
    assert t.select(col("x").first().over("k", order_by="g", nulls_last=True).alias("last")).to_dict()["last"] == [
        3,
        2,
        3,
        4,
        4,
    ]


def test_over_in_views_formulas_and_aggregations(t):
    total = col("x").sum().over("k").alias("s")
    assert t.update(total, "y = s * 2").to_dict()["y"] == [8, 4, 8, 8, 8]
    assert t.view(total).to_dict() == {"s": [4, 2, 4, 4, 4]}
    assert t.update_view(total).to_dict()["s"] == [4, 2, 4, 4, 4]
    assert t.group_by("g").agg(m=col("x").sum().over("k").max()).to_dict()["m"] == [1, 4, 0]
    assert t.where("x > 1", col("x") < col("x").sum().over("k")).to_dict()["x"] == [3]


def test_it_reads_back_and_is_shown_as_it_was_written(t):
    made = col("x").sum().over("k", col("g") % 2, order_by="x", descending=True)
    assert repr(made) == 'col("x").sum().over(col("k"), (col("g") % 2), order_by=[col("x")], descending=True)'
    assert eval(repr(made), {"col": col}).meta_eq(made)
    share = (col("x") / col("x").sum().over("k")).alias("share")
    text = t.with_columns(share).explain()
    assert 'with_columns((col("x") / col("x").sum().over(col("k"))).alias("share"))' in text
    assert "\0" not in text
    assert "\0" not in t.group_by("k").agg((col("x").sum() / tf.len()).alias("r")).explain()
    assert t.with_columns(share).plan == t.with_columns(share).plan


def test_columns_in_between_leave_no_trace(t):
    """Computed keys, groups of groups, neighbours and sets are columns for themselves, whose fields say what they are."""
    most = (col("x").sum().over(col("g") % 2) - col("x")).max()
    made = [
        t.with_columns(m=most.over("k"), n=col("x").shift(1).over("k"), s=col("x").sum().over("k")),
        t.select(col("x").sum().over("k"), known=(col("x") + 1).is_in(tf.table({"v": [2, 3]}))),
        t.group_by((col("g") % 2).alias("odd")).agg((col("x").sum() / tf.len()).alias("r")),
        t.filter(col("x") > col("x").mean().over(col("g") % 2)),
    ]
    for table in made:
        assert not any("\0" in name for name in table.columns)
        assert all(not field.metadata for field in table.to_arrow().schema)
        assert "\0" not in table.explain()


def test_what_is_refused_says_why(t):
    with pytest.raises(
        tf.errors.InvalidOperationError, match=r"an order of its own in another one.*leave order_by out"
    ):
        col("x").rank().over("k", order_by="g")
    with pytest.raises(tf.errors.InvalidOperationError, match=r"the clock or random numbers over groups"):
        (col("x") + tf.random_int(0, 5)).over("k")
    with pytest.raises(tf.errors.TypeMismatchError, match=r"\+ does not take|takes|String") as told:
        t.with_columns(y=col("k") + col("x").sum().over("k"))
    assert "\0" not in str(told.value)
    with pytest.raises(tf.errors.ColumnNotFoundError, match='"y"') as told:
        t.with_columns(z=col("y") + col("x").sum().over("k"))
    assert "\0" not in str(told.value)
    blink = tf.blink_table({"k": str, "x": int}, graph=tf.Graph())
    with pytest.raises(tf.errors.InvalidOperationError, match=r"blink.*agg_by, and natural_join"):
        blink.with_columns(s=col("x").sum().over("k"))
    with pytest.raises(tf.errors.InvalidOperationError, match="make the expression a column first"):
        t.with_columns(s=(col("x") * 2).sum().over("k"), on_error="null")
    with pytest.raises(tf.errors.InvalidOperationError, match=r"sum\(\) aggregates many rows"):
        t.select(col("x").sum().max())
