"""Every operation, on static and on live tables alike, and what each refuses."""

import datetime as dt

import pytest

import tickframe as tf
from tickframe import col

DATA = {"k": ["a", "b", "a", None, "b"], "x": [1, 2, 3, 4, None], "f": [0.5, 1.5, 2.5, 3.5, 4.5]}
SCHEMA = {"k": str, "x": int, "f": float}


def static():
    return tf.table(DATA)


def live():
    t = tf.append_table(SCHEMA, graph=tf.Graph())
    for at in range(5):
        t.append({name: values[at] for name, values in DATA.items()})
    t.graph.step()
    return t


@pytest.fixture(params=[static, live], ids=["static", "live"])
def t(request):
    return request.param()


def grown(operation):
    """The operation over a table that grows row by row, beside the same over all rows at once."""
    source = tf.append_table(SCHEMA, graph=tf.Graph())
    result = operation(source)
    for at in range(5):
        source.append({name: values[at] for name, values in DATA.items()})
        source.graph.step()
    return result.to_dicts(), operation(static()).to_dicts()


OPERATIONS = {
    "filter": lambda t: t.filter(col("x") > 1, k="a"),
    "select": lambda t: t.select("k", (col("x") * 2).alias("y"), z=col("f")),
    "with_columns": lambda t: t.with_columns(x=col("x") + 1, y=col("f").floor()),
    "drop": lambda t: t.drop("f"),
    "rename": lambda t: t.rename({"x": "ecks"}),
    "head": lambda t: t.head(2),
    "tail": lambda t: t.tail(2),
    "slice": lambda t: t.slice(-3, 2),
    "group_by": lambda t: t.group_by("k").agg(
        tf.len(), col("x").sum().alias("s"), m=col("f").mean(), c=col("x").count()
    ),
    "spread": lambda t: t.group_by("k").agg(lo=col("f").min(), hi=col("f").max(), sd=col("f").std(), v=col("f").var()),
    "agg_by": lambda t: t.agg_by([tf.agg.first("a = x"), tf.agg.last("b = x")], by="k"),
    "whole": lambda t: t.agg_by([tf.agg.sum_("s = f"), tf.agg.count_("n")]),
    "computed key": lambda t: t.group_by((col("f") > 2).alias("late")).len(),
    "unique": lambda t: t.select("k").unique(),
    "unique last": lambda t: t.unique(subset="k", keep="last"),
    "first_by": lambda t: t.first_by("k"),
    "last_by": lambda t: t.last_by("k"),
    "sort": lambda t: t.sort("k", "x", descending=[True, False]),
    "reverse": lambda t: t.reverse(),
    "explode": lambda t: t.with_columns(l=col("k").str.split("")).explode("l"),
    "flatten": lambda t: t.filter(col("x") > 1).flatten(),
    "natural_join": lambda t: t.natural_join(tf.table({"k": ["a", "b"], "name": ["A", "B"]}), on="k"),
    "join": lambda t: t.join(tf.table({"k": ["a", "b", "a"], "name": ["A", "B", "C"]}), on="k"),
    "left join": lambda t: t.join(tf.table({"k": ["a", "a"], "name": ["A", "C"]}), on="k", how="left"),
    "join_asof": lambda t: t.join_asof(tf.table({"f": [1.0, 3.0], "r": ["one", "three"]}), on="f"),
    "concat": lambda t: tf.concat([t, static()]) if not t.is_live else tf.concat([t, t]).head(len(t)),
}


@pytest.mark.parametrize("name", [name for name in OPERATIONS if name != "concat"])
def test_growing_row_by_row_gives_what_all_at_once_gives(name):
    incremental, at_once = grown(OPERATIONS[name])
    if name in {"group_by", "spread", "agg_by", "computed key", "unique last", "last_by"}:
        incremental, at_once = sorted(incremental, key=repr), sorted(at_once, key=repr)
    assert incremental == at_once


def test_what_they_mean(t):
    assert t.filter(col("x") > 1).to_dict()["x"] == [2, 3, 4]
    assert t.select("k", (col("x") * 2).alias("y")).columns == ["k", "y"]
    assert t.head(2).to_dict()["x"] == [1, 2]
    assert t.tail(2).to_dict()["x"] == [4, None]
    assert t.group_by("k").agg(col("x").sum().alias("s")).to_dict() == {"k": ["a", "b", None], "s": [4, 2, 4]}
    assert t.agg_by(tf.agg.sum_("s = x", min_count=3), by="k").to_dict()["s"] == [None, None, None]
    assert t.sort("x", descending=True).to_dict()["x"] == [None, 4, 3, 2, 1]
    assert t.sort("x", nulls_last=True).to_dict()["x"] == [1, 2, 3, 4, None]
    assert t.reverse().to_dict()["k"] == ["b", None, "a", "b", "a"]
    assert t.reverse().reverse().to_dicts() == t.to_dicts()
    assert t.natural_join(tf.table({"k": ["a"], "v": [9]}), on="k").to_dict()["v"] == [9, None, 9, None, None]
    assert t.join_asof(tf.table({"f": [1.0, 3.0], "r": [1, 3]}), on="f").to_dict()["r"] == [None, 1, 1, 3, 3]
    assert tf.concat([t, t]).shape == (10, 3)


def test_as_of_by_tolerance_and_direction():
    def minutes(*at):
        return [dt.datetime(2024, 1, 1, 0, minute) for minute in at]

    left = tf.table({"s": ["a", "a", "b"], "t": minutes(5, 9, 5)})
    right = tf.table({"s": ["a", "b", "a"], "t": minutes(4, 6, 9), "v": [1, 2, 3]})

    def join(**options):
        return left.join_asof(right, on="t", by="s", **options).to_dict()["v"]

    assert join() == [1, 3, None]
    assert join(strategy="forward") == [3, 3, 2]
    assert join(allow_exact_matches=False) == [1, 1, None]
    assert join(tolerance="30s") == [None, 3, None]
    assert join(tolerance=dt.timedelta(minutes=1)) == [1, 3, None]


def test_the_same_operation_twice_is_one_node():
    t = live()
    kept = t.filter(col("x") > 1)
    assert t.filter(col("x") > 1)._native.identity == kept._native.identity


def test_an_unknown_column_lists_the_valid_ones_and_suggests_the_nearest(t):
    t = t.rename({"f": "price"})
    calls = {
        "filter": lambda: t.filter(col("prise") > 1),
        "select": lambda: t.select("prise"),
        "with_columns": lambda: t.with_columns(y=col("prise") * 2),
        "drop": lambda: t.drop("prise"),
        "rename": lambda: t.rename({"prise": "y"}),
        "sort": lambda: t.sort("prise"),
        "group_by": lambda: t.group_by("prise").len(),
        "agg_by": lambda: t.agg_by(tf.agg.sum_("prise"), by="k"),
        "natural_join": lambda: t.natural_join(t, on="prise"),
        "join": lambda: t.join(t, on="prise"),
        "last_by": lambda: t.last_by("prise"),
    }
    for operation, call in calls.items():
        with pytest.raises(tf.errors.ColumnNotFoundError) as raised:
            call()
        text = str(raised.value)
        assert text.startswith(operation), text
        for part in ['"prise"', '"price"', '"k"', '"x"']:
            assert part in text, text
        assert raised.value.column == "prise"
        assert raised.value.columns[0] == "price"
        assert isinstance(raised.value, KeyError)


def test_a_filter_that_is_not_boolean(t):
    with pytest.raises(tf.errors.TypeMismatchError, match=r"filter.*(Boolean|boolean)"):
        t.filter(col("x") + 1)


def test_a_name_made_twice(t):
    with pytest.raises(tf.errors.DuplicateError, match='"k" would appear twice'):
        t.select("k", col("x").alias("k"))
    with pytest.raises(tf.errors.DuplicateError, match='"x"'):
        t.rename({"k": "x"})


def test_an_aggregate_outside_an_aggregation_and_the_other_way_round(t):
    # Aggregates alone are one row, beside other columns one value in every row.
    assert t.select(col("x").sum()).to_dict() == {"x": [10]}
    assert t.select("k", col("x").sum()).to_dict()["x"] == [10] * 5
    with pytest.raises(tf.errors.InvalidOperationError, match=r"sum\(\) aggregates many rows"):
        t.select(col("x").sum().max())
    with pytest.raises(tf.errors.InvalidOperationError, match=r"sum\(\) aggregates many rows"):
        tf.append_table({"x": int}, graph=tf.Graph()).select(col("x").sum().max())
    with pytest.raises(tf.errors.InvalidOperationError, match="group_by"):
        t.group_by("k").agg(col("x") + 1)


def test_wrong_plain_arguments_are_pythons_own_errors(t):
    with pytest.raises(ValueError, match="n must be 0 or more"):
        t.head(-1)
    with pytest.raises(TypeError, match="n must be an int"):
        t.head(1.5)
    with pytest.raises(ValueError, match="keep must be"):
        t.unique(keep="middle")
    with pytest.raises(ValueError, match="strategy must be"):
        t.join_asof(t, on="f", strategy="sideways")
    with pytest.raises(TypeError, match="left_on and right_on"):
        t.join_asof(t)
    with pytest.raises(ValueError, match="descending has 2 values for 1"):
        t.sort("x", descending=[True, False])
    with pytest.raises(TypeError, match="ask len"):
        bool(t)


def test_inputs_of_two_graphs():
    with pytest.raises(tf.errors.InvalidOperationError, match="two graphs"):
        tf.concat([live(), live()])


def test_natural_join_with_two_right_rows_fails_that_table_alone_and_names_the_key():
    graph = tf.Graph()
    left = tf.append_table({"k": str}, graph=graph)
    right = tf.append_table({"k": str, "v": int}, graph=graph)
    joined = left.natural_join(right, on="k")
    counted = left.group_by("k").len()
    below = joined.filter(col("v") > 0)
    left.append({"k": ["seven"]})
    right.append({"k": ["seven", "seven"], "v": [1, 2]})
    step = graph.step()
    for failed in (joined, below):
        with pytest.raises(tf.errors.TableFailedError, match="seven") as raised:
            failed.to_dicts()
        assert raised.value.step == step
        assert raised.value.culprit.startswith("natural_join")
        assert isinstance(raised.value.__cause__, tf.errors.MatchError)
    assert counted.to_dicts() == [{"k": "seven", "len": 1}]
    assert "failed" in repr(joined)
    left.append({"k": ["eight"]})
    graph.step()
    assert len(counted) == 2
    assert graph.counters()["failed_nodes"] >= 1


def test_attributes_and_the_plan():
    t = live()
    assert t.attributes["append_only"] is True
    assert t.sort("x").attributes.get("append_only") is None
    with pytest.raises(TypeError):
        t.attributes["append_only"] = False
    assert t.filter(col("x") > 1).head(2).explain().splitlines()[0] == "head · 2 rows"
    assert "append-only · append_table · step 1" in repr(t)
