"""Rows that cannot be computed: `on_error`, the tables of errors and performance, tracebacks of failures."""

from __future__ import annotations

import logging.handlers
import pickle
import queue

import pytest

import tickframe as tf
from tickframe import col


def parsed(t, **options):
    return t.with_columns(n=col("x").cast(tf.Int64), **options)


def test_null_and_drop_and_fail(g):
    t = tf.append_table({"x": str}, graph=g)
    null, drop, fail = parsed(t, on_error="null"), parsed(t, on_error="drop"), parsed(t)
    t.append({"x": ["1", "one", "3"]})
    step = g.step()
    assert null.to_dict() == {"x": ["1", "one", "3"], "n": [1, None, 3]}
    assert drop.to_dict() == {"x": ["1", "3"], "n": [1, 3]}
    with pytest.raises(tf.errors.TableFailedError):
        len(fail)
    rows = g.errors.to_dicts()
    assert g.errors.columns == ["operation", "column", "row_key", "step", "message"]
    assert [(row["operation"], row["column"], row["row_key"], row["step"]) for row in rows] == [
        ("with_columns", "n", 1, step)
    ] * 2
    assert all("one" in row["message"] for row in rows)
    assert len(null.errors) == len(drop.errors) == 1
    assert null.errors.attributes["append_only"] is True
    assert len(t.errors) == 0


def test_a_row_comes_back_when_it_can_be_computed(g):
    t = tf.keyed_table({"k": str, "x": str}, key=["k"], graph=g)
    drop = parsed(t, on_error="drop")
    t.upsert({"k": ["a", "b"], "x": ["1", "bad"]})
    g.step()
    t.upsert({"k": ["b"], "x": ["2"]})
    g.step()
    assert drop.to_dict()["n"] == [1, 2]
    t.upsert({"k": ["a"], "x": ["worse"]})
    g.step()
    assert drop.to_dict()["n"] == [2]
    assert [row["row_key"] for row in drop.errors.to_dicts()] == [1, 0]


def test_a_users_function_that_raises(g):
    def half(x: int) -> int:
        if x % 2:
            raise ValueError(f"{x} is odd")
        return x // 2

    t = tf.append_table({"x": int}, graph=g)
    halves = t.select("x", tf.formula("h = half(x)"), on_error="null")
    even = t.filter(tf.formula("half(x) > 0"), on_error="drop")
    updated = t.update("H = half(x)", on_error="drop")
    t.append({"x": [2, 3, 4]})
    g.step()
    assert halves.to_dict()["h"] == [1, None, 2]
    assert even.to_dict()["x"] == updated.to_dict()["x"] == [2, 4]
    assert "3 is odd" in halves.errors.to_dicts()[0]["message"]
    assert even.errors.to_dicts()[0]["column"] is None
    assert updated.errors.to_dicts()[0]["operation"] == "update"
    assert g.counters()["row_errors"] == len(g.errors) == 3


def test_where_and_view_take_it_too(g):
    t = tf.append_table({"x": str}, graph=g)
    kept = t.where("(int)x > 1", on_error="null")
    seen = t.view("N = (int)x", on_error="null")
    t.append({"x": ["1", "two", "3"]})
    g.step()
    assert kept.to_dict() == {"x": ["3"]}
    assert seen.to_dict() == {"N": [1, None, 3]}


def test_static_tables_tell_their_errors():
    t = parsed(tf.table({"x": ["1", "one"]}), on_error="null")
    assert t.errors.to_dicts()[0]["row_key"] == 1
    assert not t.errors.is_live


def test_an_unknown_way_is_refused(g):
    t = tf.append_table({"x": str}, graph=g)
    with pytest.raises(ValueError, match='on_error must be "fail", "null" or "drop", not "skip"'):
        parsed(t, on_error="skip")


def test_errors_are_followed_like_any_table(g):
    t = tf.append_table({"x": str}, graph=g)
    kept = parsed(t, on_error="null")
    seen: list[tuple[int, list[int]]] = []

    def heard(update: tf.Update) -> None:
        rows = update.added_rows(["row_key"]).to_dict()["row_key"]
        seen.append((update.step, rows))

    following = kept.errors.subscribe(heard)
    t.append({"x": ["a"]})
    first = g.step()
    t.append({"x": ["1", "b"]})
    second = g.step()
    following.cancel()
    assert seen == [(first, [0]), (second, [2])]


def test_a_failure_knows_where_its_operation_was_made(g):
    t = tf.append_table({"x": str}, graph=g)
    made = parsed(t)
    below = made.filter(col("n") > 1)
    t.append({"x": ["bad"]})
    g.step()
    for failed in (made, below):
        with pytest.raises(tf.errors.TableFailedError) as raised:
            len(failed)
        assert __file__ in raised.value.created
        assert "in parsed" in raised.value.created.splitlines()[-1]
        assert f"[{raised.value.formula}]" not in str(raised.value), "the culprit's name says it already"
        assert "in test_a_failure_knows" in raised.value.created
        assert any("created here" in note for note in raised.value.__notes__)
        assert raised.value.culprit.startswith("with_columns")
        again = pickle.loads(pickle.dumps(raised.value))
        assert again.created == raised.value.created


def test_lines_of_one_function_are_told_apart(g):
    t = tf.append_table({"x": str}, graph=g)
    made = [
        t.with_columns(n=col("x").cast(tf.Int64)),
        t.with_columns(m=col("x").cast(tf.Int64)),
    ]
    made += [t.with_columns((col("x").cast(tf.Int64) + at).alias("n")) for at in range(2)]
    t.append({"x": ["bad"]})
    g.step()
    places = []
    for failed in made:
        with pytest.raises(tf.errors.TableFailedError) as raised:
            len(failed)
        places.append(raised.value.created)
    lines = [int(place.splitlines()[-1].split("line ")[1].split(",")[0]) for place in places]
    first = test_lines_of_one_function_are_told_apart.__code__.co_firstlineno
    assert [line - first for line in lines] == [3, 4, 6, 6]


def test_performance_tells_each_node_and_each_cycle(g):
    t = tf.append_table({"x": int}, graph=g)
    kept = t.filter(col("x") > 1)
    performance = g.performance
    t.append({"x": [1, 2, 3]})
    step = g.step()
    assert len(performance) == 0
    g.step()
    rows = performance.to_dicts()
    told = [(row["operation"].split("(")[0], row["rows_in"], row["rows_out"]) for row in rows if row["step"] == step]
    assert told == [("append_table", 0, 3), ("filter", 3, 2), ("cycle", 3, 5)]
    assert all(row["ns"] > 0 for row in rows[:1] + rows[2:3])
    assert [row["node"] is None for row in rows[:3]] == [False, False, True]
    assert len(kept) == 2


def test_figures_alone_start_no_cycle():
    g = tf.Graph(period=0)
    t = tf.append_table({"x": int}, graph=g)
    performance = g.performance
    g.start()
    t.append({"x": 1}).wait(10)
    settled = t.append({"x": 2}).wait(10)
    g.stop()
    assert g.settled == settled
    assert performance.columns == ["step", "node", "operation", "rows_in", "rows_out", "ns"]


def test_failures_and_the_first_row_passed_over_are_logged_by_one_thread(g):
    logger, told = logging.getLogger("tickframe"), queue.SimpleQueue()
    handler = logging.handlers.QueueHandler(told)
    logger.addHandler(handler)
    try:
        t = tf.append_table({"x": str}, graph=g)
        kept, failing = parsed(t, on_error="null"), parsed(t)
        t.append({"x": ["seven", "eight"]})
        g.step()
        # Other tests' failures may still be on their way.
        found = {}
        while len(found) < 2:
            record = told.get(timeout=30)
            if "seven" in record.getMessage():
                found[record.levelname] = record
    finally:
        logger.removeHandler(handler)
    assert "was passed over" in found["WARNING"].getMessage()
    assert "the table failed" in found["ERROR"].getMessage()
    assert __file__ in found["ERROR"].getMessage()
    assert {record.threadName for record in found.values()} == {"tickframe-log"}
    assert len(kept) == 2
    del failing


def test_describe_and_explain_tell_rows_and_bytes(g):
    t = tf.append_table({"x": int}, graph=g)
    total = t.group_by("x").len()
    t.append({"x": [1, 1, 2]})
    g.step()
    line = next(line for line in g.describe().splitlines() if "append_table" in line)
    assert "3 rows" in line
    assert "bytes" in line
    assert "step 1" in line
    assert "2 entries" in total.explain().splitlines()[0]


def test_columns_that_read_other_rows_pass_over_failures_too(g):
    t = tf.append_table({"x": str}, graph=g)
    before = t.with_columns(p=col("x").cast(tf.Int64).shift(1), on_error="null")
    t.append({"x": ["1", "one", "3"]})
    g.step()
    assert before.to_dict() == {"x": ["1", "one", "3"], "p": [None, 1, None]}
    assert len(before.errors) >= 1
    with pytest.raises(tf.errors.InvalidOperationError, match="would change what the others read"):
        t.with_columns(p=col("x").cast(tf.Int64).shift(1), on_error="drop")


def test_a_filter_that_reads_other_rows_passes_over_failures(g):
    t = tf.append_table({"x": str}, graph=g)
    rising = t.filter(col("x").cast(tf.Int64) > col("x").cast(tf.Int64).shift(1), on_error="null")
    t.append({"x": ["1", "one", "3", "4"]})
    g.step()
    assert rising.to_dict() == {"x": ["4"]}
    assert {row["row_key"] for row in rising.errors.to_dicts()} == {1}


def test_views_whose_failures_are_passed_over_are_told_once(g):
    t = tf.append_table({"X": str}, graph=g)
    shown = t.view("N = (int) X", on_error="null")
    wide = t.update_view("N = (int) X", on_error="drop")
    t.append({"X": ["1", "one"]})
    g.step()
    for _ in range(3):
        assert shown.to_dict() == {"N": [1, None]}
    assert wide.to_dict() == {"X": ["1"], "N": [1]}
    assert len(wide.errors) == 1


def test_a_failure_inside_what_another_row_reads_has_the_type_of_that_part(g):
    t = tf.append_table({"x": int}, graph=g)
    before = t.with_columns(p=col("x").cast(tf.Int8).shift(1) + 1.5, on_error="null")
    t.append({"x": [1, 1000, 3]})
    g.step()
    assert before.to_dict()["p"] == [None, 2.5, None]


def test_groups_take_it_for_keys_for_values_and_for_expressions_over_aggregates(g):
    t = tf.append_table({"k": str, "x": str}, graph=g)
    number = col("x").cast(tf.Int64)
    null = t.group_by("k", on_error="null").agg(number.sum().alias("s"), tf.len().alias("n"))
    drop = t.group_by("k", on_error="drop").agg(number.sum().alias("s"), tf.len().alias("n"))
    keyed = t.group_by(number.alias("key"), on_error="null").len()
    left = t.group_by(number.alias("key"), on_error="drop").len()
    small = t.agg_by((number.max() * 100).cast(tf.Int8).alias("most"), "k", on_error="null")
    fewer = t.agg_by((number.max() * 100).cast(tf.Int8).alias("most"), "k", on_error="drop")
    t.append({"k": ["a", "a", "b"], "x": ["1", "one", "3"]})
    step = g.step()
    assert null.to_dict() == {"k": ["a", "b"], "s": [1, 3], "n": [2, 1]}
    assert drop.to_dict() == {"k": ["a", "b"], "s": [1, 3], "n": [1, 1]}
    assert keyed.to_dict() == {"key": [1, None, 3], "len": [1, 1, 1]}
    assert left.to_dict() == {"key": [1, 3], "len": [1, 1]}
    assert small.to_dict() == {"k": ["a", "b"], "most": [100, None]}
    assert fewer.to_dict() == {"k": ["a"], "most": [100]}
    for table, operation, column in ((null, "group_by", "s"), (drop, "group_by", "s"), (keyed, "group_by", "key")):
        told = [(row["operation"], row["column"], row["row_key"], row["step"]) for row in table.errors.to_dicts()]
        assert told == [(operation, column, 1, step)], table
    # What is aggregated failed in row 1, what is made of the aggregate in group 1.
    assert [(row["column"], row["row_key"]) for row in small.errors.to_dicts()] == [("most", 1), ("most", 1)]
    assert 'col("x").cast(Int64).max()' in "".join(small.errors.to_dict()["message"])


def test_a_failing_key_names_the_method_and_the_users_text():
    t = tf.table({"x": ["1", "one"]})
    with pytest.raises(tf.errors.DataError, match=r'group_by: row 1: .*"one".* in col\("x"\).cast\(Int64\)') as raised:
        t.group_by(col("x").cast(tf.Int64)).len()
    assert "__key" not in str(raised.value)
    with pytest.raises(tf.errors.DataError, match=r'agg_by: row 0: .*col\("x"\).max\(\)') as raised:
        t.agg_by(col("x").max().cast(tf.Int64).alias("most"))
    assert "\\U0000" not in str(raised.value)
    assert "\0" not in str(raised.value)


def test_a_join_passes_over_rows_that_meet_several(g):
    left = tf.append_table({"k": str}, graph=g)
    right = tf.keyed_table({"id": int, "k": str, "v": int}, key="id", graph=g)
    null = left.natural_join(right, on="k", joins="v", on_error="null")
    drop = left.natural_join(right, on="k", joins="v", on_error="drop")
    left.append({"k": ["a", "b", "c"]})
    right.upsert({"id": [1, 2, 3], "k": ["a", "b", "b"], "v": [1, 2, 3]})
    g.step()
    assert null.to_dict() == {"k": ["a", "b", "c"], "v": [1, None, None]}
    assert drop.to_dict() == {"k": ["a", "c"], "v": [1, None]}
    for table in (null, drop):
        rows = table.errors.to_dicts()
        assert [(row["operation"], row["column"], row["row_key"]) for row in rows] == [("natural_join", None, 1)]
        assert "the key (b) has several rows in the right table" in rows[0]["message"]
    right.delete([2])
    g.step()
    assert null.to_dict()["v"] == drop.to_dict()["v"] == [1, 3, None]
    assert drop.to_dict()["k"] == ["a", "b", "c"]
    still = left.snapshot().natural_join(tf.table({"k": ["a", "a"], "v": [1, 2]}), on="k", on_error="null")
    assert still.to_dict() == {"k": ["a", "b", "c"], "v": [None] * 3}
    assert still.errors.to_dict()["row_key"] == [0]


def test_all_steps_of_one_call_are_told_by_its_result(g):
    t = tf.append_table({"X": str}, graph=g)
    made = t.update(["N = (int) X", "M = N + 1"], on_error="null")
    seen = t.view("N = (int) X", on_error="null")
    lazy = t.lazy_update("N = (int) X", on_error="null")
    t.append({"X": ["1", "one"]})
    g.step()
    assert made.to_dict() == {"X": ["1", "one"], "N": [1, None], "M": [2, None]}
    assert lazy.to_dict() == {"X": ["1", "one"], "N": [1, None]}
    for table, operation in ((made, "update"), (seen, "view"), (lazy, "lazy_update")):
        told = [(row["operation"], row["column"], row["row_key"]) for row in table.errors.to_dicts()]
        assert told == [(operation, "N", 1)], operation


def test_an_aggregate_of_all_columns_passes_over_rows(g):
    t = tf.append_table({"K": str, "S": str}, graph=g)
    sums = t.agg_all_by(lambda s: s.cast(tf.Int64).sum(), "K", on_error="null")
    t.append({"K": ["a", "a", "b"], "S": ["3", "no", "8"]})
    g.step()
    assert sums.to_dict() == {"K": ["a", "b"], "S": [3, 8]}
    assert sums.errors["row_key"].to_list() == [1]


def test_values_that_run_on_pass_over_rows(g):
    t = tf.keyed_table({"id": int, "k": str, "x": str}, key="id", graph=g)
    number = col("x").cast(tf.Int64)
    ops = [
        number.cum_sum().alias("sum"),
        number.shift(1).alias("before"),
        number.sum().alias("all"),
        (number.max() * 100).cast(tf.Int16).alias("most"),
        tf.update_by.rolling_formula_tick("two", number.sum(), rev_ticks=2),
    ]
    null, drop = (t.update_by(ops, by="k", on_error=how) for how in ("null", "drop"))
    t.upsert({"id": [1, 2, 3, 4], "k": ["a", "a", "b", "a"], "x": ["1", "one", "400", "3"]})
    step = g.step()
    made = null.drop("id", "k", "x").rows()
    assert made == [(1, None, 4, 300, 1), (None, 1, 4, 300, 1), (400, None, 400, None, 400), (4, None, 4, 300, 3)]
    assert drop.drop("k", "x").rows() == [(1, 1, None, 4, 300, 1), (4, 4, 1, 4, 300, 4)]
    for table in (null, drop):
        told = {(row["operation"], row["column"], row["row_key"], row["step"]) for row in table.errors.to_dicts()}
        assert {("update_by", key) for _, _, key, _ in told} == {("update_by", 1), ("update_by", 2)}, told
        assert {step} == {at for *_, at in told}
    t.upsert({"id": [2, 3], "k": ["a", "b"], "x": ["5", "7"]})
    g.step()
    assert null.rows() == drop.rows() == t.update_by(ops, by="k").rows()


def test_a_condition_to_begin_anew_passes_over_rows():
    t = tf.table({"x": [1, 2, 3, 4], "s": ["0", "0", "one", "1"]})
    made = t.update_by(tf.update_by.cum_sum("c = x"), reset=col("s").cast(tf.Int64) == 1, on_error="null")
    assert made["c"].to_list() == [1, 3, 6, 4]
    assert made.errors["row_key"].to_list() == [2]
    left = t.update_by(tf.update_by.cum_sum("c = x"), reset=col("s").cast(tf.Int64) == 1, on_error="drop")
    assert left["c"].to_list() == [1, 3, 4]
    with pytest.raises(tf.errors.DataError, match=r'update_by: row 2: .*"one"'):
        t.update_by(tf.update_by.cum_sum("c = x"), reset=col("s").cast(tf.Int64) == 1)


def test_windows_over_rows_pass_over_rows(g):
    t = tf.append_table({"t": int, "x": str}, graph=g)
    number = col("x").cast(tf.Int64)
    null, drop = (
        t.rolling("t", period=2, on_error=how).agg(
            number.sum().alias("s"), (number.max() * 100).cast(tf.Int16).alias("m")
        )
        for how in ("null", "drop")
    )
    t.append({"t": [1, 2, 3, 4], "x": ["1", "one", "400", "3"]})
    g.step()
    assert null.rows() == [(1, 1, 100), (2, 1, 100), (3, 400, None), (4, 403, None)]
    assert drop.rows() == [(1, 1, 100)]
    assert {row["operation"] for row in null.errors.to_dicts()} == {"rolling"}
    assert {row["row_key"] for row in null.errors.to_dicts()} == {1, 2, 3}
    with pytest.raises(ValueError, match='on_error must be "fail", "null" or "drop"'):
        t.rolling("t", period=2, on_error="skip").agg(tf.len())


@pytest.mark.parametrize("on_error", ["null", "drop"])
def test_joins_over_ranges_and_pivots_pass_over_rows(g, on_error):
    t = tf.append_table({"K": str, "X": int, "S": str}, graph=g)
    number = col("S").cast(tf.Int64)
    ranges = tf.table({"lo": [0, 5], "hi": [5, 9]})
    sums = ranges.range_join(t, "lo <= X < hi", number.sum().alias("sum"), on_error=on_error)
    wide = t.pivot(
        "K", ["a", "b"], index=[], values="S", aggregate_function=lambda s: s.cast(tf.Int64).sum(), on_error=on_error
    )
    pairs = ranges.join_where(t, col("X") >= col("lo"), number < col("hi"), on_error=on_error)
    t.append({"K": ["a", "b", "a"], "X": [1, 6, 7], "S": ["3", "no", "8"]})
    g.step()
    assert sums.to_dict()["sum"] == [3, 8]
    assert wide.to_dict() == {"a": [11], "b": [0]}
    assert sorted(pairs.select("lo", "X").rows()) == [(0, 1), (5, 7)]
    for made, operation in ((sums, "range_join"), (wide, "pivot"), (pairs, "join_where")):
        told = {row["operation"] for row in made.errors.to_dicts()}
        assert told == {operation}, operation
    with pytest.raises(ValueError, match='range_join: on_error must be "fail"'):
        ranges.range_join(t, "lo <= X < hi", number.sum().alias("sum"), on_error="skip")
    with pytest.raises(ValueError, match='join_where: on_error must be "fail"'):
        ranges.join_where(t, col("X") >= col("lo"), on_error="skip")
    with pytest.raises(ValueError, match='pivot: on_error must be "fail"'):
        t.pivot("K", ["a"], index=[], values="X", aggregate_function="sum", on_error="skip")


def test_every_operation_takes_it_or_has_nothing_that_can_fail_on_a_row():
    import inspect

    makes_tables = {
        name
        for name, method in inspect.getmembers(tf.Table, inspect.isfunction)
        if not name.startswith("_") and "Table" in str(inspect.signature(method).return_annotation)
    } - {"to_arrow"}
    taking = {name for name in makes_tables if "on_error" in inspect.signature(getattr(tf.Table, name)).parameters}
    assert taking == {
        "agg_all_by", "agg_by", "cast", "filter", "join_where", "lazy_update", "natural_join", "pivot", "range_join", "select",
        "select_distinct", "update", "update_by", "update_view", "view", "where", "where_one_of", "with_columns",
    }  # fmt: skip
    # What takes no expression computes nothing of a row. An order has a place for each row, so a key that cannot be computed
    # fails the table, `fill_nan` takes what stands for NaN, and `partitioned_agg_by` has rows that stand in a table of their own.
    parameters = {name: inspect.signature(getattr(tf.Table, name)).parameters.values() for name in makes_tables}
    computing = {name for name, given in parameters.items() if any("Expr" in str(each.annotation) for each in given)}
    assert computing - {
        "sort",
        "sort_descending",
        "top_k",
        "bottom_k",
        "fill_nan",
        "partitioned_agg_by",
    } == taking - {
        "natural_join",
        "cast",
        "pivot",
    }
    assert "on_error" in inspect.signature(tf.Table.group_by).parameters


def test_explain_tells_how_expressions_are_computed(g):
    def odd(x: int) -> bool:
        return x % 2 == 1

    t = tf.append_table({"x": int, "s": str}, graph=g)
    made = t.where("odd(x)").with_columns(y=col("x") * 2 + 1, z=col("s").cast(tf.Int64), p=col("x").shift(2))
    text = made.explain()
    assert 'y"): native pass of 2 operations; changes with col("x")' in text
    assert 'native kernel col("s").cast(Int64)' in text
    assert "up to 2 rows earlier" in text
    assert "function odd(" in text
    assert "rows in order on one thread" in text
    assert text.count("append_table") == 1
