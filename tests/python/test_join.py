"""Every pair of rows with equal keys: ``join``, beside polars and DuckDB where they have the same."""

import itertools
import random

import duckdb
import polars as pl
import pytest

import tickframe as tf

LEFT = {"k": ["a", "b", "a", None, "c"], "v": [1, 2, 3, 4, 5]}
RIGHT = {
    "k": ["a", "d", "a", "b", None],
    "v": [10, 11, 12, 13, 14],
    "w": [1.5, 2.5, 3.5, 4.5, 5.5],
    "u": [1, 5, 9, 1, 2],
}

# What polars is asked for, so that its rows stand as ours do.
ORDERS = {"inner": "left_right", "left": "left_right", "right": "right_left", "full": "left_right"}


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


@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "semi", "anti"])
@pytest.mark.parametrize("coalesce", [None, True, False])
@pytest.mark.parametrize("nulls_equal", [False, True])
@pytest.mark.parametrize(
    "names",
    [
        {"on": "k"},
        {"on": ["k"]},
        {"left_on": "k", "right_on": "k"},
        {"left_on": "v", "right_on": "v"},
        {"left_on": "v", "right_on": "u"},
    ],
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
        maintain_order=ORDERS.get(how, "left"),
        **names,
    )
    assert ours.columns == theirs.columns
    assert ours.to_dicts() == theirs.to_dicts()


def frame(draw, rows, name):
    """Random rows of two key columns and a number."""
    cells = {"k": ["a", "b", "c", None], "f": [0.0, -0.0, float("nan"), 2.5, None]}
    drawn = {column: [draw.choice(values) for _ in range(rows)] for column, values in cells.items()}
    return pl.DataFrame(drawn | {name: range(rows)}, schema={"k": pl.String, "f": pl.Float64, name: pl.Int64})


def too_many(left, right, validate, nulls_equal):
    """Whether a key that both sides have has several rows on a side that may have one."""
    met = left.join(right, on=["k", "f"], nulls_equal=nulls_equal)
    several_left, several_right = (met[name].is_duplicated().any() for name in ("w", "v"))
    return (validate in {"1:m", "1:1"} and several_left) or (validate in {"m:1", "1:1"} and several_right)


@pytest.mark.parametrize("nulls_equal", [False, True])
@pytest.mark.parametrize("validate", ["m:m", "m:1", "1:m", "1:1"])
@pytest.mark.parametrize("how", ["inner", "left", "right", "full"])
def test_random_tables_of_several_keys_are_joined_as_polars_does(how, validate, nulls_equal):
    draw = random.Random(4)
    refused = 0
    for rows in [0, 1, 2, 3, 4, 5, 7, 60]:
        left, right = frame(draw, rows, "v"), frame(draw, 40 if validate == "m:m" else rows, "w")
        options = {"on": ["k", "f"], "how": how, "nulls_equal": nulls_equal}
        ours = lambda: tf.table(left).join(tf.table(right), validate=validate, **options)  # noqa: E731, B023
        if too_many(left, right, validate, nulls_equal):
            refused += 1
            with pytest.raises(tf.errors.MatchError, match=f'validate="{validate}" takes at most one'):
                ours()
        else:
            theirs = left.join(right, maintain_order=ORDERS[how], **options)
            assert ours().columns == theirs.columns
            assert ours().to_dict()["v"] == theirs["v"].to_list()
            assert ours().to_dict()["w"] == theirs["w"].to_list()
    assert (refused > 0) == (validate != "m:m")


@pytest.mark.parametrize(
    ("how", "nulls_equal"), list(itertools.product(["inner", "left", "right", "full"], [False, True]))
)
def test_random_tables_are_joined_as_duckdb_does(how, nulls_equal):
    draw = random.Random(5)
    left, right = frame(draw, 40, "v"), frame(draw, 30, "w")
    meets = "IS NOT DISTINCT FROM" if nulls_equal else "="
    asked = f"SELECT v, w FROM one {how} JOIN other ON one.k {meets} other.k AND one.f {meets} other.f"
    database = duckdb.connect()
    database.register("one", left.to_arrow())
    database.register("other", right.to_arrow())
    theirs = database.execute(asked).fetchall()
    ours = tf.table(left).join(tf.table(right), on=["k", "f"], how=how, nulls_equal=nulls_equal).to_dict()
    assert sorted(zip(ours["v"], ours["w"], strict=True), key=repr) == sorted(theirs, key=repr)


def test_every_pair_of_rows():
    left, right = tf.table(LEFT), tf.table(RIGHT)
    theirs = pl.DataFrame(LEFT).join(pl.DataFrame(RIGHT), how="cross", suffix="_other", maintain_order="left_right")
    ours = left.join(right, how="cross", suffix="_other")
    assert ours.columns == theirs.columns
    assert ours.to_dicts() == theirs.to_dicts()
    assert len(left.filter(tf.col("v") > 9).join(right, how="cross")) == 0


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


def test_rows_of_both_sides_stand_alone_and_meet(sides):
    left, right = sides
    full = left.join(right, on="k", how="full", coalesce=True)
    by_right = left.join(right, on="k", how="right")
    assert full.to_dict() == {"k": ["a", "b", "a", "c"], "v": [1, 2, 3, None], "w": [10, None, 10, 30]}
    assert by_right.to_dict() == {"v": [1, 3, None], "k": ["a", "a", "c"], "w": [10, 10, 30]}
    subscription, told = followed(full)
    with subscription:
        left.apply(added=([5], {"k": ["c"], "v": [4]}))
        left.graph.step()
        assert full.to_dict() == {"k": ["a", "c", "b", "a"], "v": [1, 4, 2, 3], "w": [10, 30, None, 10]}
        assert by_right.to_dict()["v"] == [1, 3, 4]
        left.apply(removed=[0, 20])
        left.graph.step()
        assert full.to_dict() == {"k": ["c", "b", "a"], "v": [4, 2, None], "w": [30, None, 10]}
        assert by_right.to_dict() == {"v": [None, 4], "k": ["a", "c"], "w": [10, 30]}
        right.apply(modified=([0], {"w": [11]}))
        left.graph.step()
        right.apply(modified=([0], {"k": ["b"]}))
        left.graph.step()
    assert full.to_dict() == {"k": ["c", "b"], "v": [4, 2], "w": [30, 11]}
    assert told == [(1, 1, 0, []), (1, 2, 0, []), (0, 0, 1, ["w"]), (1, 2, 0, [])]


def test_keys_of_both_sides_coalesce_in_their_common_type():
    left = tf.table({"k": [1, 2], "v": ["x", "y"]}).with_columns(tf.col("k").cast(tf.Int8))
    right = tf.table({"n": [2, 1000], "w": [0.5, 1.5]})
    joined = left.join(right, left_on="k", right_on="n", how="full", coalesce=True)
    assert joined.to_dict() == {"k": [1, 2, 1000], "v": ["x", "y", None], "w": [None, 0.5, 1.5]}
    assert joined.schema["k"] == tf.Int64


def test_every_pair_of_live_rows(sides):
    left, right = sides
    crossed = left.join(right, how="cross")
    assert crossed.to_dict()["w"] == [10, 30] * 3
    right.apply(removed=[0])
    left.apply(added=([5], {"k": ["z"], "v": [9]}))
    left.graph.step()
    assert crossed.to_dict() == {
        "k": ["a", "z", "b", "a"],
        "v": [1, 9, 2, 3],
        "k_right": ["c"] * 4,
        "w": [30] * 4,
    }


def test_more_pairs_than_there_is_memory_for_are_refused_with_their_number():
    million = tf.empty_table(2**20).update("x = 1")
    for refused in (lambda: million.join(million, how="cross"), lambda: million.join(million, on="x", how="full")):
        with pytest.raises(tf.errors.ResourceError, match="join: there are 1099511627776 pairs of rows; it needs"):
            refused()


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
@pytest.mark.parametrize("how", ["inner", "left", "right", "full"])
def test_validate_counts_the_rows_of_keys_that_meet(validate, left, right, side, how):
    # What has no row on the other side may be there more than once, and so may null.
    left, right = [*left, "b", "b", None, None], [*right, "c", "c", None, None]
    one, other = tf.table({"k": left}), tf.table({"k": right, "w": list(range(len(right)))})
    told = f'join: the key \\(a\\) has several rows in the {side} table; validate="{validate}" takes at most one'
    with pytest.raises(tf.errors.MatchError, match=told):
        one.join(other, on="k", how=how, validate=validate)
    fine = one.filter(tf.col("k").ne_missing("a")).join(other, on="k", how=how, validate=validate)
    assert len(fine) == {"inner": 0, "left": 4, "right": len(right), "full": 4 + len(right)}[how]


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


def test_an_exact_join_has_one_match_for_every_row_at_the_end_of_every_step(sides):
    left, right = sides
    with pytest.raises(tf.errors.MatchError, match=r"exact_join: the key \(b\) has no row in the right table"):
        left.exact_join(right, on="k")
    right.apply(added=([20], {"k": ["b"], "w": [20]}))
    left.graph.step()
    exact = left.exact_join(right, "k", "price = w")
    assert exact.row_set == left.row_set
    assert exact.to_dict() == {"k": ["a", "b", "a"], "v": [1, 2, 3], "price": [10, 20, 10]}
    right.apply(removed=[0])
    right.apply(added=([30], {"k": ["a"], "w": [11]}))
    left.graph.step()
    assert exact.to_dict()["price"] == [11, 20, 11]
    right.apply(removed=[20])
    left.graph.step()
    with pytest.raises(tf.errors.TableFailedError, match=r"exact_join: the key \(b\) has no row in the right table"):
        len(exact)
    twice = tf.table({"k": ["a", "a"]})
    with pytest.raises(tf.errors.MatchError, match=r"key \(a\) has several rows .* an exact join takes exactly one"):
        tf.table({"k": ["a"]}).exact_join(twice, on="k")
    with pytest.raises(tf.errors.MatchError, match=r"the key \(null\) has no row"):
        tf.table({"k": ["a", None]}).exact_join(tf.table({"k": ["a", None]}), on="k")
    both = tf.table({"k": ["a", None]}).exact_join(tf.table({"k": ["a", None], "w": [1, 2]}), on="k", nulls_equal=True)
    assert both.to_dict()["w"] == [1, 2]


def test_as_of_joins_as_deephaven_writes_them():
    left = tf.table({"s": ["a", "a", "b"], "t": [3, 5, 5]})
    right = tf.table({"s": ["a", "a", "a", "b"], "u": [3, 5, 5, 6], "v": [1, 2, 3, 4]})
    found = lambda table: table.to_dict()["v"]  # noqa: E731
    assert found(left.aj(right, "s, t >= u")) == [1, 3, None]
    assert found(left.aj(right, ["s", "t > u"], joins=["v"])) == [None, 1, None]
    assert found(left.raj(right, ["s", "t <= u"])) == [1, 3, 4]
    assert found(left.raj(right, "t<u", "v")) == [3, 4, 4]
    stamps = right.rename({"u": "t"})
    assert found(left.aj(stamps, "s,t")) == [1, 3, None]
    assert left.aj(stamps, "s,t").columns == ["s", "t", "v"]
    assert left.aj(right, "s, t >= u").columns == ["s", "t", "u", "v"]
    for wrong in ("t <= u", "t == u", ">= u", "t >=", "t = u"):
        with pytest.raises(ValueError, match='aj: the last of on is the ordered column, "T", "T >= U" or "T > U", not'):
            left.aj(right, wrong)
    with pytest.raises(ValueError, match='raj: the last of on is the ordered column, "T", "T <= U" or "T < U", not'):
        left.raj(right, "t >= u")
    with pytest.raises(ValueError, match="aj: on names an ordered column, at least"):
        left.aj(right, [])


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
    with pytest.raises(ValueError, match=r'join: how must be "inner", "left", .*"semi" or "anti", not .outer'):
        left.join(right, on="k", how="outer")
    for names in ({"on": "k"}, {"left_on": "k"}, {"right_on": "k"}):
        with pytest.raises(TypeError, match="join: a cross join has every pair of rows; it takes no on"):
            left.join(right, how="cross", **names)
    with pytest.raises(tf.errors.InvalidOperationError, match="join: a cross join has no keys"):
        left.join(right, how="cross", validate="1:1")
    with pytest.raises(tf.errors.SchemaError, match="join: a full join that coalesces its keys"):
        left.join(right, left_on=["v", "v"], right_on=["v", "u"], how="full", coalesce=True)
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
