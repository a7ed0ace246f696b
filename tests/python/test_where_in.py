"""Rows by whether their key is in a set that lives: ``where_in``, ``where_not_in``, ``is_in`` of a table."""

import pytest

import tickframe as tf
from tickframe import col


@pytest.fixture
def t():
    t = tf.append_table({"k": str, "x": int}, graph=tf.Graph())
    t.append({"k": ["a", "b", None, "a", "c"], "x": [1, 2, 3, 4, 5]})
    t.graph.step()
    return t


@pytest.fixture
def watched(t):
    return tf.keyed_table({"name": str, "since": int}, key="name", graph=t.graph)


def put(watched, *names):
    watched.upsert({"name": list(names), "since": [0] * len(names)})
    watched.graph.step()


def test_the_set_is_followed(t, watched):
    inside, outside = t.where_in(watched, "k = name"), t.where_not_in(watched, "k = name")
    assert inside.to_dict()["x"] == []
    assert outside.to_dict()["x"] == [1, 2, 3, 4, 5]
    put(watched, "a", "z")
    assert inside.to_dict()["x"] == [1, 4]
    assert outside.to_dict()["x"] == [2, 3, 5]
    t.append({"k": ["z"], "x": [6]})
    watched.delete(["a"])
    t.graph.step()
    assert inside.to_dict()["x"] == [6]
    assert outside.to_dict()["x"] == [1, 2, 3, 4, 5]


def test_only_rows_of_a_key_that_came_or_went_are_told(t, watched):
    told = []
    with t.where_in(watched, "k = name").subscribe(lambda u: told.append((len(u.added), len(u.removed)))):
        put(watched, "a")
        put(watched, "b", "z")
        put(watched, "a")
        watched.delete(["a", "z"])
        t.graph.step()
    assert told == [(2, 0), (1, 0), (0, 2)]


def test_null_keys(t, watched):
    put(watched, "a", None)
    assert t.where_in(watched, "k = name").to_dict()["x"] == [1, 4]
    assert t.where_in(watched, ["k = name"], nulls_equal=True).to_dict()["x"] == [1, 3, 4]
    assert t.where_not_in(watched, "k = name").to_dict()["x"] == [2, 3, 5]
    assert t.where_not_in(watched, "k = name", nulls_equal=True).to_dict()["x"] == [2, 5]


def test_is_in_a_live_set(t, watched):
    names = watched.select("name")
    inside = t.filter(col("k").is_in(names), col("x") > 1)
    outside = t.filter(~col("k").is_in(names))
    either = t.filter(col("k").is_in(names) | (col("x") == 5))
    flagged = t.with_columns(hot=col("k").is_in(names), known=col("k").is_in(names, nulls_equal=True))
    of_text = t.where("k in names && x < 4")
    not_of_text = t.where("k not in names")
    assert inside.explain().startswith('filter(col("k").is_in(table["name"]))')
    put(watched, "a", None)
    assert inside.to_dict()["x"] == [4]
    # Null is neither in a set nor not in it.
    assert outside.to_dict()["x"] == [2, 5]
    assert either.to_dict()["x"] == [1, 4, 5]
    assert flagged.to_dict()["hot"] == [True, False, None, True, False]
    assert flagged.to_dict()["known"] == [True, False, True, True, False]
    assert of_text.to_dict()["x"] == [1]
    assert not_of_text.to_dict()["x"] == [2, 5]
    put(watched, "b")
    assert inside.to_dict()["x"] == [2, 4]
    assert flagged.to_dict()["hot"] == [True, True, None, True, False]
    # What was taken out is what it was.
    assert t.filter(col("k").is_in(tf.table({"n": ["c"]})["n"])).to_dict()["x"] == [5]


def test_a_computed_value_is_looked_up_too(t, watched):
    names = watched.select("name")
    upper = t.filter(col("k").str.to_uppercase().is_in(names))
    put(watched, "B")
    assert upper.to_dict()["x"] == [2]


def test_what_is_refused_says_why(t, watched):
    with pytest.raises(tf.errors.ColumnNotFoundError, match=r"where_in.*\"q\""):
        t.where_in(watched, "q = name")
    with pytest.raises(tf.errors.TypeMismatchError, match=r"where_in.*\"x\" .* \"name\" .*cast one of them"):
        t.where_in(watched, "x = name")
    with pytest.raises(TypeError, match="a list goes to is_in"):
        t.where_in(["a"], "k")
    with pytest.raises(tf.errors.InvalidOperationError, match="one column, not 2: choose one of name, since"):
        col("k").is_in(watched)
    other = tf.append_table({"name": str}, graph=tf.Graph())
    with pytest.raises(tf.errors.InvalidOperationError, match="graph"):
        t.where_in(other, "k = name")
    names = watched.select("name")
    with pytest.raises(tf.errors.FormulaError, match="only behind in and not in"):
        t.where("k icase in names")
    with pytest.raises(tf.errors.FormulaError) as told:
        t.where("x > 1 && k in watched")
    several = (
        "a table as a set has one column, not 2: choose one of name, since with select, or use where_in for several"
    )
    assert str(told.value) == f"where: watched: {several}\n  x > 1 && k in watched\n                ^^^^^^^"
    with pytest.raises(tf.errors.FormulaError, match="watched is a table: it stands only behind in and not in"):
        t.update("a = k == watched")
    assert names.columns == ["name"]
