"""Live sources: what they take, what they refuse, when it becomes visible."""

import datetime as dt
import threading

import numpy as np
import pyarrow as pa
import pytest

import tickframe as tf
from tickframe import col

SCHEMA = {"k": str, "x": int, "f": float}


@pytest.fixture
def t(g):
    return tf.append_table(SCHEMA, graph=g)


def test_nothing_is_visible_before_its_step(g, t):
    token = t.append({"k": ["a"], "x": [1], "f": [0.5]})
    assert (len(t), token.step) == (0, None)
    assert g.step() == 1
    assert (len(t), token.step, token.wait(0)) == (1, 1, 1)


@pytest.mark.parametrize(
    "data",
    [
        {"k": "a", "x": 1, "f": 0.5},
        {"f": [0.5], "x": [1], "k": ["a"]},
        [{"k": "a", "x": 1, "f": 0.5}],
        {"k": np.array(["a"]), "x": np.array([1], dtype="int32"), "f": np.array([0.5], dtype="float32")},
        pa.table({"k": pa.array(["a"], pa.large_string()), "x": pa.array([1], pa.int8()), "f": [0.5]}),
        pa.record_batch({"k": pa.array(["a"]).dictionary_encode(), "x": [1], "f": [0.5]}),
    ],
    ids=["scalars", "lists", "dicts", "numpy", "arrow", "dictionary"],
)
def test_every_form_of_rows(g, t, data):
    t.append(data)
    g.step()
    assert t.to_dicts() == [{"k": "a", "x": 1, "f": 0.5}]


@pytest.mark.parametrize(
    ("data", "error", "says"),
    [
        ({"k": ["a"], "x": ["y"], "f": [0.5]}, tf.errors.TypeMismatchError, ['append: column "x"', "Int64", "str"]),
        (
            {"k": ["a"], "x": np.array([0.5]), "f": [0.5]},
            tf.errors.TypeMismatchError,
            ['column "x"', "Int64", "Float64"],
        ),
        ({"k": ["a"], "x": [1.0], "f": [0.5]}, tf.errors.TypeMismatchError, ['column "x"', "Int64", "float"]),
        ({"k": ["a"], "x": [True], "f": [0.5]}, tf.errors.TypeMismatchError, ['column "x"', "bool"]),
        ({"k": ["a"], "x": [2**63], "f": [0.5]}, tf.errors.DataError, ['column "x"', "out of its range"]),
        ({"k": ["a"], "x": [1]}, tf.errors.SchemaError, ['missing column "f"']),
        ({"k": ["a"], "x": [1], "f": [1.0], "g": [2]}, tf.errors.SchemaError, ['extra column "g"']),
        (
            {"k": ["a", "b"], "x": [1], "f": [1.0]},
            tf.errors.SchemaError,
            ["unequal length", '"k" has 2 rows', '"x" has 1'],
        ),
        ({"k": "a", "x": [1, 2], "f": 1.0}, tf.errors.SchemaError, ['column "k" is one value', '"x" has 2 rows']),
        ("rows", tf.errors.TypeMismatchError, ["str is no table"]),
    ],
)
def test_what_does_not_fit_raises_and_nothing_of_it_is_applied(g, t, data, error, says):
    with pytest.raises(error) as raised:
        t.append(data)
    for part in says:
        assert part in str(raised.value)
    g.step()
    assert len(t) == 0
    t.append({"k": "a", "x": 1, "f": 0.5})
    g.step()
    assert len(t) == 1


def test_a_batch_whose_schema_changed_is_refused_whole(g, t):
    with pytest.raises(tf.errors.SchemaError, match='missing column "f" and extra column "new"'):
        t.append(pa.table({"k": ["a"], "x": [1], "new": [0.5]}))
    g.step()
    assert len(t) == 0


def test_keyed_tables(g):
    t = tf.keyed_table({"k": str, "v": int}, key="k", graph=g)
    heard = []
    t.subscribe(lambda update: heard.append((update.added.ranges(), update.modified.ranges(), len(update.removed))))
    t.upsert({"k": ["a", "b", "a"], "v": [1, 2, 3]})
    g.step()
    assert t.to_dict() == {"k": ["a", "b"], "v": [3, 2]}
    t.upsert({"k": ["a", "c", None], "v": [3, 4, 5]})
    g.step()
    t.delete(["b", "nobody"])
    g.step()
    t.upsert({"k": "a", "v": 3})
    g.step()
    assert t.to_dict() == {"k": ["a", "c", None], "v": [3, 4, 5]}
    assert heard == [([(0, 1)], [], 0), ([(2, 3)], [], 0), ([], [], 1)]
    assert t.attributes["key"] == ("k",)
    with pytest.raises(tf.errors.ColumnNotFoundError, match='"kk"'):
        tf.keyed_table({"k": str}, key="kk", graph=g)


def test_deletes_by_several_keys(g):
    t = tf.keyed_table({"a": int, "b": str, "v": int}, key=["a", "b"], graph=g)
    t.upsert({"a": [1, 1, 2], "b": ["x", "y", "x"], "v": [1, 2, 3]})
    t.delete({"a": [1], "b": ["x"]})
    g.step()
    assert t.to_dict()["v"] == [2, 3]
    with pytest.raises(tf.errors.SchemaError, match="keyed by"):
        t.delete([1])


def test_blink_rows_live_for_one_step_and_aggregations_accumulate(g):
    t = tf.blink_table({"x": int}, graph=g)
    total = t.agg_by(tf.agg.sum_("total = x"))
    for value in (1, 2):
        t.append({"x": value})
        g.step()
        assert t.to_dict() == {"x": [value]}
    g.step()
    assert len(t) == 0
    assert total.to_dict() == {"total": [3]}


def test_input_tables_speak_row_keys(g):
    t = tf.input_table({"v": str}, graph=g)
    t.apply(added=([2, 0, 1, 3], {"v": ["c", "a", "b", "d"]}))
    g.step()
    assert t.to_dict()["v"] == ["a", "b", "c", "d"]
    heard = []
    t.subscribe(heard.append)
    t.apply(removed=[1], shifted=[(2, 3, -1)], added={3: {"v": "e"}}, modified={2: {"v": "D"}})
    g.step()
    assert t.to_dict()["v"] == ["a", "c", "D", "e"]
    (update,) = heard
    assert (update.removed.ranges(), update.shifts, update.modified.ranges()) == ([(1, 1)], [(2, 3, -1)], [(2, 2)])
    assert update.modified_rows().to_dict() == {"v": ["D"]}
    assert update.modified_rows_before().to_dict() == {"v": ["d"]}
    assert update.removed_rows().to_dict() == {"v": ["b"]}
    assert update.added_rows().to_dict() == {"v": ["e"]}
    t.apply(added=[], removed=tf.RowSet([]), modified=None, shifted=[])


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ({"added": {0: {"v": "x"}}}, "added rows that are there already"),
        ({"removed": [9]}, "removed rows that are not there"),
        ({"modified": {9: {"v": "x"}}}, "modified rows that are not there"),
        ({"shifted": [(0, 0, 0)]}, "moved by something other than 0"),
        ({"shifted": [(0, 0, 1)]}, "nothing was applied"),
    ],
)
def test_what_breaks_the_update_law_is_a_data_error_and_applies_nothing(g, call, says):
    t = tf.input_table({"v": str}, graph=g)
    t.apply(added=([0, 1], {"v": ["a", "b"]}))
    with pytest.raises(tf.errors.DataError, match=says):
        t.apply(**call)
    g.step()
    assert t.to_dict()["v"] == ["a", "b"]


def test_input_tables_name_wrong_columns_and_counts(g):
    t = tf.input_table({"v": str}, graph=g)
    with pytest.raises(tf.errors.SchemaError, match="2 keys, but 1 rows"):
        t.apply(added=([0, 1], {"v": ["a"]}))
    t.apply(added=([0], {"v": ["a"]}))
    with pytest.raises(tf.errors.ColumnNotFoundError, match='"w"'):
        t.apply(modified={0: {"w": "x"}})


def test_transactions_land_in_one_step_or_in_none(g, t):
    with g.transaction():
        one = t.append({"k": "a", "x": 1, "f": 1.0})
        two = t.append({"k": "b", "x": 2, "f": 2.0})
        with pytest.raises(tf.errors.SchemaError):
            t.append({"k": "c"})
        with pytest.raises(tf.errors.InvalidOperationError, match="transaction"):
            g.step()
    assert g.step() == one.step == two.step
    with pytest.raises(ZeroDivisionError), g.transaction():  # noqa: PT012 - the append must be inside
        lost = t.append({"k": "c", "x": 3, "f": 3.0})
        raise ZeroDivisionError
    g.step()
    assert len(t) == 2
    with pytest.raises(tf.errors.CancelledError, match="rolled back"):
        lost.wait(1)
    assert repr(lost) == "Token(the transaction was rolled back)"


def test_a_token_of_a_table_that_was_let_go_is_cancelled(g):
    t = tf.append_table({"x": int}, graph=g)
    seen = t.append({"x": 1})
    g.step()
    lost = t.append({"x": 2})
    del t
    with pytest.raises(tf.errors.CancelledError, match="the table was let go before the step"):
        lost.wait(1)
    assert seen.wait(0) == 1


def test_time_tables(g):
    start = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    t = tf.time_table("1h", start=start, graph=g)
    g.step()
    assert t.head(2).to_dict() == {"Timestamp": [start, start + dt.timedelta(hours=1)]}
    with pytest.raises(ValueError, match="longer than zero"):
        tf.time_table(0, graph=g)
    with pytest.raises(ValueError, match="must have a zone"):
        tf.time_table(1, start=dt.datetime(2024, 1, 1), graph=g)


def test_a_source_may_be_failed_by_its_feeder(g, t):
    doubled = t.with_columns(y=col("x") * 2)
    t.fail(RuntimeError("the broker is gone"))
    g.step()
    with pytest.raises(tf.errors.TableFailedError, match="the broker is gone") as raised:
        len(doubled)
    assert isinstance(raised.value.__cause__, RuntimeError)
    with pytest.raises((tf.errors.TableFailedError, RuntimeError), match="the broker is gone"):
        t.append({"k": "a", "x": 1, "f": 1.0})


def test_many_threads_may_append(g, t):
    def feed(name):
        for value in range(50):
            t.append({"k": name, "x": value, "f": 0.0})

    threads = [threading.Thread(target=feed, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    g.step()
    rows = t.to_dicts()
    assert len(rows) == 200
    for name in "abcd":
        assert [row["x"] for row in rows if row["k"] == name] == list(range(50))


def test_int_by_zero_is_null(g, t):
    divided = t.select((col("x") // 0).alias("q"), (col("x") % 0).alias("r"))
    t.append({"k": "a", "x": 1, "f": 1.0})
    g.step()
    assert divided.to_dict() == {"q": [None], "r": [None]}
