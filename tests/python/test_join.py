"""Every pair of rows with equal keys: ``join``, beside polars where it has the same."""

import itertools
import random

import polars as pl
import pytest

import tickframe as tf

LEFT = {"k": ["a", "b", "a", None, "c"], "v": [1, 2, 3, 4, 5]}
RIGHT = {"k": ["a", "d", "a", "b", None], "v": [10, 11, 12, 13, 14], "w": [1.5, 2.5, 3.5, 4.5, 5.5]}


@pytest.fixture
def sides():
    graph = tf.Graph()
    left = tf.input_table({"k": str, "v": int}, graph=graph)
    right = tf.input_table({"k": str, "w": int}, graph=graph)
    left.apply(added=([0, 10, 20], {"k": ["a", "b", "a"], "v": [1, 2, 3]}))
    right.apply(added=([0, 10], {"k": ["a", "c"], "w": [10, 30]}))
    graph.step()
    return left, right


def followed(table):
    """What a listener is told: how many rows came, went and changed, in which columns."""
    told = []

    def take(update):
        told.append((len(update.added), len(update.removed), len(update.modified), update.modified_columns))

    return table.subscribe(take), told


@pytest.mark.parametrize("how", ["inner", "left", "semi", "anti"])
@pytest.mark.parametrize("coalesce", [None, True, False])
@pytest.mark.parametrize("nulls_equal", [False, True])
@pytest.mark.parametrize(
    "names", [{"on": "k"}, {"on": ["k"]}, {"left_on": "k", "right_on": "k"}, {"left_on": "v", "right_on": "v"}]
)
def test_columns_and_rows_are_those_of_polars(how, coalesce, nulls_equal, names):
    if coalesce is not None and how in {"semi", "anti"}:
        coalesce = None
    ours = tf.table(LEFT).join(
        tf.table(RIGHT), how=how, suffix="_other", coalesce=coalesce, nulls_equal=nulls_equal, **names
    )
    theirs = pl.DataFrame(LEFT).join(
        pl.DataFrame(RIGHT),
        how=how,
        suffix="_other",
        coalesce=coalesce,
        nulls_equal=nulls_equal,
        maintain_order="left_right" if how in {"inner", "left"} else "left",
        **names,
    )
    assert ours.columns == theirs.columns
    assert ours.to_dicts() == theirs.to_dicts()


def test_random_tables_of_several_keys_are_joined_as_polars_does():
    draw = random.Random(4)

    def frame(rows, name):
        of = lambda values: [draw.choice(values) for _ in range(rows)]  # noqa: E731
        return pl.DataFrame(
            {"k": of(["a", "b", None]), "f": of([0.0, -0.0, float("nan"), 2.5]), name: list(range(rows))},
            schema={"k": pl.String, "f": pl.Float64, name: pl.Int64},
        )

    for rows, how in itertools.product([0, 1, 7, 60], ["inner", "left"]):
        left, right = frame(rows, "v"), frame(40, "w")
        theirs = left.join(right, on=["k", "f"], how=how, maintain_order="left_right")
        ours = tf.table(left).join(right, on=["k", "f"], how=how)
        assert ours.to_dict()["v"] == theirs["v"].to_list()
        assert ours.to_dict()["w"] == theirs["w"].to_list()


def test_keys_of_two_types_compare():
    left = tf.table({"k": [1, 2, 3]}).with_columns(tf.col("k").cast(tf.Int8))
    right = tf.table({"n": [3, 1, 1], "w": ["x", "y", "z"]})
    assert left.join(right, left_on="k", right_on="n").to_dict() == {"k": [1, 1, 3], "w": ["y", "z", "x"]}
    with pytest.raises(tf.errors.TypeMismatchError, match=r'join: the keys "k" \(Int8\) and "w" \(String\)'):
        left.join(right, left_on="k", right_on="w")


def test_both_sides_are_followed(sides):
    left, right = sides
    inner, outer = left.join(right, on="k"), left.join(right, on="k", how="left")
    assert inner.to_dict() == {"k": ["a", "a"], "v": [1, 3], "w": [10, 10]}
    assert outer.to_dict() == {"k": ["a", "b", "a"], "v": [1, 2, 3], "w": [10, None, 10]}
    right.apply(added=([5, 20], {"k": ["a", "b"], "w": [11, 20]}))
    left.graph.step()
    assert inner.to_dict()["w"] == outer.to_dict()["w"] == [10, 11, 20, 10, 11]
    # Both sides change in one step: a key moves over on the left as its rows go on the right.
    left.apply(modified=([0], {"k": ["c"]}))
    right.apply(removed=[0, 20])
    left.graph.step()
    assert inner.to_dict() == {"k": ["c", "a"], "v": [1, 3], "w": [30, 11]}
    assert outer.to_dict() == {"k": ["c", "b", "a"], "v": [1, 2, 3], "w": [30, None, 11]}


def test_updates_tell_what_changed(sides):
    left, right = sides
    joined = left.join(right, on="k")
    subscription, told = followed(joined)
    steps = [
        lambda: right.apply(modified=([0], {"w": [11]})),
        lambda: left.apply(modified=([0], {"v": [7]})),
        lambda: right.apply(modified=([10], {"w": [31]})),
        lambda: right.apply(shifted=[(0, 10, 100)]),
        lambda: left.apply(shifted=[(0, 20, 5)]),
        lambda: right.apply(added=([300], {"k": ["a"], "w": [12]})),
        lambda: left.apply(removed=[5]),
        lambda: left.apply(modified=([25], {"k": ["a"]})),
    ]
    with subscription:
        for step in steps:
            step()
            left.graph.step()
    assert told == [(0, 0, 2, ["w"]), (0, 0, 1, ["v"]), (2, 0, 0, []), (0, 2, 0, []), (0, 0, 2, ["k"])]


def test_a_left_join_with_one_match_keeps_the_rows_of_the_left_table(sides):
    left, right = sides
    joined = left.join(right, on="k", how="left", validate="m:1")
    assert joined.row_set == left.row_set
    assert joined.to_dict()["w"] == [10, None, 10]
    wide = left.join(right, on="k", how="left", validate="m:1", coalesce=False)
    assert wide.columns == ["k", "v", "k_right", "w"]
    assert wide.to_dict()["k_right"] == ["a", None, "a"]
    right.apply(added=([20], {"k": ["a"], "w": [11]}))
    left.graph.step()
    with pytest.raises(tf.errors.TableFailedError) as failed:
        joined.to_dict()
    assert 'join: the key (a) has several rows in the right table; validate="m:1" takes at most one' in str(
        failed.value
    )


@pytest.mark.parametrize(
    ("validate", "left", "right", "side"),
    [
        ("m:1", ["a"], ["a", "a"], "right"),
        ("1:m", ["a", "a"], ["a"], "left"),
        ("1:1", ["a", "a"], ["a"], "left"),
        ("1:1", ["a"], ["a", "a"], "right"),
    ],
)
@pytest.mark.parametrize("how", ["inner", "left"])
def test_validate_counts_the_rows_of_keys_that_meet(validate, left, right, side, how):
    # What has no row on the other side may be there more than once, and so may null.
    left, right = [*left, "b", "b", None, None], [*right, "c", "c", None, None]
    one, other = tf.table({"k": left}), tf.table({"k": right, "w": list(range(len(right)))})
    told = f'join: the key \\(a\\) has several rows in the {side} table; validate="{validate}" takes at most one'
    with pytest.raises(tf.errors.MatchError, match=told):
        one.join(other, on="k", how=how, validate=validate)
    fine = one.filter(tf.col("k").ne_missing("a")).join(other, on="k", how=how, validate=validate)
    assert len(fine) == (0 if how == "inner" else 4)


def test_validate_fails_a_live_table_that_breaks_it_at_the_end_of_a_step(sides):
    left, right = sides
    joined = left.join(right, on="k", validate="m:1")
    right.apply(removed=[0])
    right.apply(added=([1], {"k": ["a"], "w": [11]}))
    left.graph.step()
    assert joined.to_dict()["w"] == [11, 11]
    right.apply(added=([2], {"k": ["a"], "w": [12]}))
    left.graph.step()
    with pytest.raises(tf.errors.TableFailedError, match="validate="):
        len(joined)


def test_attributes():
    graph = tf.Graph()
    appended, blinking = tf.append_table({"k": str}, graph=graph), tf.blink_table({"k": str}, graph=graph)
    static = tf.table({"k": ["a", "a"], "w": [1, 2]})
    live = tf.keyed_table({"k": str, "w": int}, key="k", graph=graph)
    assert appended.join(static, on="k").attributes.get("append_only")
    assert appended.join(live, on="k").attributes.get("append_only") is None
    assert static.join(static, on="k").attributes.get("flat")
    seen = blinking.join(static, on="k")
    assert seen.attributes.get("blink")
    blinking.append({"k": ["a", "b"]})
    graph.step()
    assert seen.to_dict() == {"k": ["a", "a"], "w": [1, 2]}
    graph.step()
    assert len(seen) == 0


def test_a_table_joined_with_itself():
    table = tf.append_table({"k": str, "v": int}, graph=tf.Graph())
    joined = table.join(table, on="k")
    table.append({"k": ["a", "b", "a"], "v": [1, 2, 3]})
    table.graph.step()
    assert joined.to_dict() == {"k": ["a", "a", "b", "a", "a"], "v": [1, 1, 2, 3, 3], "v_right": [1, 3, 2, 1, 3]}


def test_a_frame_of_another_library_may_stand_on_the_right():
    assert tf.table(LEFT).join(pl.DataFrame(RIGHT), on="k").to_dict()["w"] == [1.5, 3.5, 4.5, 1.5, 3.5]


def test_mistakes_are_told():
    left, right = tf.table(LEFT), tf.table(RIGHT)
    with pytest.raises(ValueError, match=r'join: how must be "inner", "left", "semi" or "anti", not .full'):
        left.join(right, on="k", how="full")
    with pytest.raises(ValueError, match=r'join: validate must be "m:m", "m:1", "1:m" or "1:1", not .one'):
        left.join(right, on="k", validate="one")
    with pytest.raises(TypeError, match="join: give on, or left_on and right_on, not both"):
        left.join(right, on="k", left_on="k")
    for names in ({}, {"left_on": "k"}, {"right_on": "k"}):
        with pytest.raises(TypeError, match="join: give on, or left_on and right_on"):
            left.join(right, **names)
    with pytest.raises(ValueError, match="join: left_on has 2 columns, right_on 1; give as many on both sides"):
        left.join(right, left_on=["k", "v"], right_on=["k"])
    with pytest.raises(tf.errors.SchemaError, match=r"join: at least one key column is needed \(on=\)"):
        left.join(right, on=[])
    with pytest.raises(tf.errors.ColumnNotFoundError, match=r'join.*"zz"'):
        left.join(right, on="zz")
    with pytest.raises(tf.errors.DuplicateError, match=r'join.*"v"'):
        left.join(right, on="k", suffix="")
    with pytest.raises(TypeError, match="join: the other side is a table or a frame, not an int"):
        left.join(5, on="k")
