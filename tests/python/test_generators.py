"""Sources that nobody feeds: what a function gives, and tables given out in portions."""

from __future__ import annotations

import pytest

import tickframe as tf
from tickframe.errors import InvalidOperationError, SchemaError, TableFailedError, TypeMismatchError, UdfError


def test_a_result_is_compared_with_the_last(g):
    trigger = tf.append_table({"n": int}, graph=g)
    results = [
        {"x": [1, 2], "s": ["a", "b"]},
        {"x": [1, 3, 4], "s": ["a", "b", "c"]},
        {"x": [1], "s": ["a"]},
        {"x": [1], "s": ["a"]},
    ]
    given = iter(results)
    made = tf.function_generated_table(lambda _: next(given), when=trigger)
    told = []
    made.subscribe(
        lambda u: told.append((u.added.ranges(), u.removed.ranges(), u.modified.ranges(), u.modified_columns))
    )
    seen = [made.to_dict()]
    for n in range(3):
        trigger.append({"n": n})
        g.step()
        seen.append(made.to_dict())
    assert seen == results
    assert told == [([(2, 2)], [], [(1, 1)], ["x"]), ([], [(1, 2)], [], [])]
    assert dict(made.attributes) == {"flat": True}


def test_it_is_called_as_time_passes():
    clock = tf.testing.ManualClock()
    g = tf.Graph(clock=clock)
    calls = []

    def count() -> dict[str, list[int]]:
        calls.append(clock.now)
        return {"calls": [len(calls)]}

    made = tf.function_generated_table(count, every="10s", graph=g)
    for _ in range(3):
        g.step()
    assert made.to_dict() == {"calls": [1]}
    clock.advance("25s")
    g.step()
    clock.advance("5s")
    g.step()
    clock.advance("5s")
    g.step()
    assert made.to_dict() == {"calls": [3]}


def test_it_sees_its_tables_as_they_are_in_the_step(g):
    a, b = (tf.append_table({"x": int}, graph=g) for _ in range(2))
    doubled = a.with_columns(y=tf.col("x") * 2)
    still = tf.table({"z": [7]})
    made = tf.function_generated_table(
        lambda d, b, s: {"y": [sum(d["y"])], "b": [len(b)], "z": [s[0, "z"]], "live": [d.is_live]},
        when=[doubled, b, still],
    )
    a.append({"x": [1, 2]})
    b.append({"x": 9})
    g.step()
    assert made.to_dict() == {"y": [6], "b": [1], "z": [7], "live": [False]}
    runs = g.counters()["node_runs"]
    g.step()
    assert g.counters()["node_runs"] == runs


def test_a_function_that_raises_fails_its_own_table(g):
    trigger = tf.append_table({"n": int}, graph=g)

    def inverse(t: tf.Table) -> dict[str, list[float]]:
        return {"x": [1 / n for n in t["n"]]}

    made = tf.function_generated_table(inverse, when=trigger, schema={"x": float})
    below = made.with_columns(y=tf.col("x") + 1)
    trigger.append({"n": [1, 2]})
    g.step()
    assert below.to_dict()["y"] == [2.0, 1.5]
    trigger.append({"n": 0})
    g.step()
    with pytest.raises(TableFailedError, match=r"function_generated_table.*inverse raised ZeroDivisionError") as told:
        len(below)
    assert isinstance(told.value.__cause__, UdfError)
    assert isinstance(told.value.__cause__.__cause__, ZeroDivisionError)
    assert len(trigger) == 3


@pytest.mark.parametrize(
    ("second", "why"),
    [
        ({"x": ["a"]}, 'column "x" is Int64, but row 0 holds'),
        ({"y": [1]}, "y"),
        (None, "gave None: does it lack a return"),
        ({"x": [1], "y": [1]}, "y"),
    ],
)
def test_later_results_have_the_columns_of_the_first(second, why, g):
    trigger = tf.append_table({"n": int}, graph=g)
    results = iter([{"x": [1]}, second])
    made = tf.function_generated_table(lambda _: next(results), when=trigger)
    trigger.append({"n": 1})
    g.step()
    with pytest.raises(TableFailedError, match=why):
        len(made)


def test_what_is_refused(g):
    with pytest.raises(ValueError, match="say when it is called again, every= so long or when= tables change"):
        tf.function_generated_table(dict)
    with pytest.raises(TypeError, match="function_generated_table: fn is a function that gives rows, not"):
        tf.function_generated_table({"x": [1]}, every=1)
    with pytest.raises(ValueError, match="function_generated_table: every must be longer than zero, not 0"):
        tf.function_generated_table(dict, every=0)
    with pytest.raises(TypeError, match="function_generated_table: when is a table or a list of tables, not"):
        tf.function_generated_table(dict, when=["t"])
    with pytest.raises(TypeError, match="function_generated_table: when is a table or a list of tables, not an int"):
        tf.function_generated_table(dict, when=5)
    with pytest.raises(UdfError, match=r"function_generated_table: .*<lambda> raised ZeroDivisionError: ") as told:
        tf.function_generated_table(lambda: 1 / 0, every=1, graph=g)
    assert isinstance(told.value.__cause__, ZeroDivisionError)
    with pytest.raises(TypeError, match=r"function_generated_table: .*<lambda> gave None"):
        tf.function_generated_table(lambda: None, every=1, graph=g)


def test_a_first_result_without_rows_says_its_columns(g):
    trigger = tf.append_table({"n": int}, graph=g)
    with pytest.raises(
        SchemaError, match=r'function_generated_table: .* gave no value in column "x" at first.*schema='
    ):
        tf.function_generated_table(lambda t: {"x": list(t["n"])}, when=trigger)
    made = tf.function_generated_table(lambda t: {"x": list(t["n"])}, when=trigger, schema={"x": int})
    trigger.append({"n": 1})
    g.step()
    assert made.to_dict() == {"x": [1]}


def test_another_graph_than_that_of_the_tables_is_refused(g):
    trigger = tf.append_table({"n": int}, graph=g)
    assert tf.function_generated_table(lambda t: {"n": [len(t)]}, when=trigger, graph=g).graph is g
    assert tf.incremental_release(trigger, 1, 1, graph=g).graph is g
    with pytest.raises(ValueError, match="function_generated_table: it lives in the graph of those tables"):
        tf.function_generated_table(lambda t: {"n": [len(t)]}, when=trigger, graph=tf.Graph())
    with pytest.raises(ValueError, match="incremental_release: it lives in the graph of that table"):
        tf.incremental_release(trigger, 1, 1, graph=tf.Graph())
    with pytest.raises(TypeError, match="replay: give a list of tables, not an int"):
        tf.replay(5, "t")
    with pytest.raises(TypeError, match="replay: ts is the name of a column, or one for each table, not an int"):
        tf.replay([tf.table({"t": [1]})], 5)


def test_a_step_inside_such_a_function_is_refused(g):
    trigger = tf.append_table({"n": int}, graph=g)
    made = tf.function_generated_table(lambda t: {"x": [len(t) and g.step()]}, when=trigger)
    trigger.append({"n": 1})
    g.step()
    with pytest.raises(TableFailedError, match="InvalidOperationError"):
        len(made)


def test_a_static_table_in_portions(g):
    t = tf.table({"x": list(range(7))})
    part = tf.incremental_release(t.filter(tf.col("x") != 3), 1, 2, graph=g)
    seen = [part.to_dict()["x"]]
    for _ in range(4):
        g.step()
        seen.append(part.to_dict()["x"])
    assert seen == [[0], [0, 1, 2], [0, 1, 2, 4, 5], [0, 1, 2, 4, 5, 6], [0, 1, 2, 4, 5, 6]]
    assert part.attributes["append_only"] is True
    assert g.counters()["pending"] == 0


def test_a_table_that_grows_in_portions(g):
    t = tf.append_table({"x": int}, graph=g)
    t.append({"x": [1, 2, 3]})
    g.step()
    part = tf.incremental_release(t, 0, 2)
    total = part.agg_by(tf.agg.sum_("x"))
    sizes = [len(part)]
    for step in range(5):
        if step == 1:
            t.append({"x": [4, 5, 6]})
        g.step()
        sizes.append(len(part))
    assert sizes == [0, 2, 4, 6, 6, 6]
    assert total.to_dict() == {"x": [21]}
    assert part.attributes["append_only"] is True


def test_what_portions_refuse(g):
    keyed = tf.keyed_table({"k": int}, key="k", graph=g)
    with pytest.raises(
        InvalidOperationError, match="incremental_release: rows of the table may be removed or modified"
    ):
        tf.incremental_release(keyed, 1, 1)
    t = tf.table({"x": [1]})
    with pytest.raises(ValueError, match="incremental_release: per_cycle must be 1 or more, not 0"):
        tf.incremental_release(t, 1, 0, graph=g)
    with pytest.raises(ValueError, match="incremental_release: init must be 0 or more, not -1"):
        tf.incremental_release(t, -1, 1, graph=g)
    with pytest.raises(TypeError, match="incremental_release: t is a table, not"):
        tf.incremental_release([1], 1, 1, graph=g)
    assert len(tf.incremental_release(tf.empty_table(3), 9, 1, graph=g)) == 3


def test_errors_are_those_of_the_package():
    assert issubclass(SchemaError, tf.errors.TickframeError)
    assert issubclass(TypeMismatchError, tf.errors.TickframeError)
