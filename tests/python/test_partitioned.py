"""Partitioned tables: constituents that come and go, functions of each, one table of all."""

from __future__ import annotations

import gc
import re

import pytest

import tickframe as tf

ROWS = {"sym": ["A", "B", "A"], "day": [1, 1, 2], "px": [1.0, 2.0, 3.0]}


@pytest.fixture
def graph() -> tf.Graph:
    return tf.Graph()


@pytest.fixture
def trades(graph: tf.Graph) -> tf.KeyedTable:
    table = tf.keyed_table({"id": int, "sym": str, "px": float}, key="id", graph=graph)
    table.upsert({"id": [1, 2, 3], "sym": ["A", "B", "A"], "px": [1.0, 2.0, 3.0]})
    graph.step()
    return table


def test_static() -> None:
    p = tf.table(ROWS).partition_by("sym")
    assert [t.rows() for t in p] == [[("A", 1, 1.0), ("A", 2, 3.0)], [("B", 1, 2.0)]]
    assert (len(p), p.key_columns, p.unique_keys, p.constituent_changes_permitted) == (2, ["sym"], True, False)
    assert p.keys().rows() == p.table.rows() == [("A",), ("B",)]
    assert p.get("C") is None
    assert p.get_constituent("B").rows() == [("B", 1, 2.0)]
    assert list(p.schema) == ["sym", "day", "px"]
    assert p.merge().rows() == [("A", 1, 1.0), ("A", 2, 3.0), ("B", 1, 2.0)]
    assert repr(p) == "PartitionedTable by 'sym': 2 constituents"
    assert p.graph is None


def test_several_keys_and_none_of_them() -> None:
    p = tf.table(ROWS).partition_by("sym", "day", drop_keys=True)
    assert p.get("A", 2).rows() == p.get(("A", 2)).rows() == [(3.0,)]
    assert p.get_constituent(["A", 3]) is None
    assert p.merge().columns == ["px"]


def test_null_is_a_key() -> None:
    p = tf.table({"k": ["a", None, None], "x": [1, 2, 3]}).partition_by("k")
    assert p.get(None).rows() == [(None, 2), (None, 3)]


def test_live_constituents_come_and_go(trades: tf.KeyedTable, graph: tf.Graph) -> None:
    p = trades.partition_by("sym")
    a, merged = p.get("A"), p.merge()
    assert p.constituent_changes_permitted
    assert p.graph is graph
    trades.upsert({"id": [1, 4], "sym": ["B", "C"], "px": [10.0, 4.0]})
    graph.step()
    assert a.rows() == [(3, "A", 3.0)]
    assert p.keys().rows() == [("A",), ("B",), ("C",)]
    assert merged.rows() == [(3, "A", 3.0), (1, "B", 10.0), (2, "B", 2.0), (4, "C", 4.0)]
    trades.delete([3])
    graph.step()
    assert a.rows() == []
    assert p.get("A") is None
    assert p.keys().rows() == [("B",), ("C",)]
    trades.upsert({"id": 5, "sym": "A", "px": 5.0})
    graph.step()
    assert a.rows() == [(5, "A", 5.0)]
    assert p.keys().rows() == [("B",), ("C",), ("A",)]
    assert merged.rows()[-1] == (5, "A", 5.0)


def test_it_is_of_a_graph_that_runs() -> None:
    graph = tf.Graph(period=0)
    table = tf.append_table({"k": int, "x": int}, graph=graph)
    p = table.partition_by("k")
    total = p.transform(lambda t: t.group_by("k").agg(tf.col("x").sum())).merge()
    graph.start()
    try:
        for n in range(200):
            token = table.append({"k": [n % 17, n % 5], "x": [n, 1]})
            if n % 10 == 0:
                _ = p.get(n % 17), len(p.constituent_tables())
        token.wait()
    finally:
        graph.stop()
    wanted = table.group_by("k").agg(tf.col("x").sum()).rows()
    assert sorted(total.rows()) == sorted(wanted)


def test_filter_and_sort_are_of_keys(trades: tf.KeyedTable, graph: tf.Graph) -> None:
    p = trades.partition_by("sym")
    others, backward = p.filter(tf.col("sym") != "A").merge(), p.sort("sym", descending=True).merge()
    trades.upsert({"id": [4, 5], "sym": ["C", "A"], "px": [4.0, 5.0]})
    graph.step()
    assert others.rows() == [(2, "B", 2.0), (4, "C", 4.0)]
    assert [row[1] for row in backward.rows()] == ["C", "B", "A", "A", "A"]
    trades.upsert({"id": 6, "sym": "BB", "px": 6.0})
    graph.step()
    assert [row[1] for row in backward.rows()] == ["C", "BB", "B", "A", "A", "A"]
    assert p.sort().keys().rows() == [("A",), ("B",), ("BB",), ("C",)]


def test_a_function_of_each(trades: tf.KeyedTable, graph: tf.Graph) -> None:
    calls = []

    def top(t: tf.Table) -> tf.Table:
        calls.append(len(t))
        return t.sort("px").tail(1)

    p = trades.partition_by("sym").transform(top)
    merged = p.merge()
    assert calls == [0, 2, 1]
    trades.upsert({"id": [4, 5], "sym": ["C", "C"], "px": [4.0, 5.0]})
    graph.step()
    assert calls == [0, 2, 1, 2]
    assert merged.rows() == [(3, "A", 3.0), (2, "B", 2.0), (5, "C", 5.0)]
    assert p.get("C").rows() == [(5, "C", 5.0)]
    trades.upsert({"id": 4, "sym": "C", "px": 9.0})
    graph.step()
    assert p.get("C").rows() == [(4, "C", 9.0)]
    assert len(calls) == 4


def test_a_function_may_read_other_tables(trades: tf.KeyedTable, graph: tf.Graph) -> None:
    names = tf.keyed_table({"sym": str, "name": str}, key="sym", graph=graph)
    named = trades.partition_by("sym").transform(lambda t: t.natural_join(names, on="sym")).merge()
    names.upsert({"sym": ["A", "C"], "name": ["Alpha", "Gamma"]})
    trades.upsert({"id": 4, "sym": "C", "px": 4.0})
    graph.step()
    assert [(row[1], row[3]) for row in named.rows()] == [("A", "Alpha"), ("A", "Alpha"), ("B", None), ("C", "Gamma")]


def test_a_table_that_only_some_constituents_read_is_named(trades: tf.KeyedTable, graph: tf.Graph) -> None:
    names = tf.keyed_table({"sym": str, "name": str}, key="sym", graph=graph)

    def fn(t: tf.Table) -> tf.Table:
        of_c = len(t) and t.rows()[0][1] == "C"
        return (t.where_in(names, "sym") if of_c else t).select("sym")

    known = trades.partition_by("sym").transform(fn, dependencies=[names])
    names.upsert({"sym": ["C"], "name": ["Gamma"]})
    trades.upsert({"id": 4, "sym": "C", "px": 4.0})
    graph.step()
    assert known.get("C").rows() == [("C",)]
    assert known.get("A").rows() == [("A",), ("A",)]


def test_a_function_that_raises_fails_its_constituent(trades: tf.KeyedTable, graph: tf.Graph) -> None:
    def fn(t: tf.Table) -> tf.Table:
        if len(t) and t.rows()[0][1] == "C":
            raise ValueError("no C")
        return t

    p = trades.partition_by("sym").transform(fn)
    trades.upsert({"id": 4, "sym": "C", "px": 4.0})
    graph.step()
    with pytest.raises(tf.errors.TableFailedError, match=r"transform\(sym = C\).*raised ValueError: no C"):
        p.get("C")
    trades.upsert({"id": 1, "sym": "A", "px": 9.0})
    graph.step()
    assert p.get("A").rows() == [(1, "A", 9.0), (3, "A", 3.0)]


@pytest.mark.parametrize(
    ("fn", "kind", "message"),
    [
        (lambda t: None, TypeError, "gave None: does it lack a return?"),
        (lambda t: 7, TypeError, "which is no table"),
        (lambda t: t.select("z"), tf.errors.UdfError, "raised ColumnNotFoundError"),
    ],
)
def test_a_function_that_gives_no_table_is_told(trades: tf.KeyedTable, fn, kind, message: str) -> None:
    with pytest.raises((kind, tf.errors.ColumnNotFoundError), match=re.escape(message)):
        trades.partition_by("sym").transform(fn)


def test_results_are_alike(trades: tf.KeyedTable) -> None:
    p = trades.partition_by("sym").transform(lambda t: t.with_columns(px=1) if len(t) == 1 else t)
    with pytest.raises(tf.errors.TableFailedError, match=r'sym = B.*"px" Int64.*"px" Float64'):
        p.get("B")
    assert len(p.get("A")) == 2


def test_two_partitioned_tables(trades: tf.KeyedTable, graph: tf.Graph) -> None:
    sizes = tf.keyed_table({"sym": str, "size": int}, key="sym", graph=graph)
    p, q = trades.partition_by("sym"), sizes.partition_by("sym")
    kept = p.get("A"), q.get("A")
    both = p.partitioned_transform(q, lambda one, two: one.natural_join(two, on="sym")).merge()
    assert both.rows() == []
    sizes.upsert({"sym": ["A", "C"], "size": [7, 8]})
    trades.upsert({"id": [4, 1], "sym": ["C", "A"], "px": [4.0, 11.0]})
    graph.step()
    assert both.rows() == [(1, "A", 11.0, 7), (3, "A", 3.0, 7), (4, "C", 4.0, 8)]
    sizes.delete(["A"])
    graph.step()
    assert both.rows() == [(4, "C", 4.0, 8)]
    sizes.upsert({"sym": ["A"], "size": [9]})
    trades.upsert({"id": 1, "sym": "A", "px": 12.0})
    graph.step()
    assert sorted(both.rows()) == [(1, "A", 12.0, 9), (3, "A", 3.0, 9), (4, "C", 4.0, 8)]
    assert len(kept[0]) == 2


def test_proxies(trades: tf.KeyedTable, graph: tf.Graph) -> None:
    sizes = tf.keyed_table({"sym": str, "size": int}, key="sym", graph=graph)
    sizes.upsert({"sym": ["A", "B"], "size": [7, 8]})
    graph.step()
    x, y = trades.partition_by("sym").proxy(), sizes.partition_by("sym").proxy()
    assert isinstance(x.target, tf.PartitionedTable)
    joined = x.filter(tf.col("px") > 1).natural_join(y, on="sym").target.merge()
    assert joined.rows() == [(3, "A", 3.0, 7), (2, "B", 2.0, 8)]
    assert x.head(1).target.merge().rows() == [(1, "A", 1.0), (2, "B", 2.0)]
    with pytest.raises(AttributeError, match="a proxy has no 'columns'"):
        _ = x.columns
    trades.delete([2])
    graph.step()
    with pytest.raises(ValueError, match="this one has no constituent of the key"):
        x.natural_join(y, on="sym")
    loose = trades.partition_by("sym").proxy(require_matching_keys=False)
    assert len(loose.natural_join(y, on="sym").target) == 1


def test_joins_of_keys_in_several_constituents_are_refused() -> None:
    left = tf.table({"day": [1, 2], "sym": ["A", "A"]}).partition_by("day")
    right = tf.table({"day": [1, 2], "sym": ["A", "B"], "w": [1, 2]}).partition_by("day", drop_keys=True)
    right = tf.from_partitioned_table(tf.table({"day": [1, 2]}), right.constituent_tables())
    with pytest.raises(ValueError, match="is in several constituents"):
        left.proxy().natural_join(right.proxy(), on="sym")
    made = left.proxy(sanity_check_joins=False).natural_join(right.proxy(), on="sym").target.merge()
    assert made.rows() == [(1, "A", 1), (2, "A", None)]


def test_tables_that_are_there(graph: tf.Graph) -> None:
    one, two = (tf.append_table({"x": int}, graph=graph) for _ in range(2))
    p = tf.from_constituent_tables([one, two])
    merged = p.transform(lambda t: t.with_columns(y=tf.col("x") + 1)).merge()
    one.append({"x": [1]})
    two.append({"x": [5, 6]})
    graph.step()
    assert merged.rows() == [(1, 2), (5, 6), (6, 7)]
    assert (p.key_columns, p.constituent_changes_permitted, len(p)) == ([], False, 2)


@pytest.mark.parametrize(
    ("wrong", "kind", "message"),
    [
        (lambda: tf.table(ROWS).partition_by("syn"), tf.errors.ColumnNotFoundError, "did you mean"),
        (lambda: tf.table(ROWS).partition_by(), tf.errors.InvalidOperationError, "at least one key column"),
        (lambda: tf.table(ROWS).partition_by("sym", "sym"), tf.errors.DuplicateError, '"sym" would appear twice'),
        (lambda: tf.table(ROWS).partition_by(7), TypeError, "partition_by: the name of a column is a str"),
        (
            lambda: tf.blink_table({"k": str}, graph=tf.Graph()).partition_by("k"),
            tf.errors.InvalidOperationError,
            "remove_blink",
        ),
        (lambda: tf.table(ROWS).partition_by("sym").get(), ValueError, "give a value for each key column (sym)"),
        (lambda: tf.table(ROWS).partition_by("sym").get(7.5), tf.errors.TypeMismatchError, "get: "),
        (lambda: tf.table(ROWS).partition_by("sym").filter(tf.col("px") > 1), tf.errors.ColumnNotFoundError, "px"),
        (lambda: tf.table(ROWS).partition_by("sym").transform(7), TypeError, "transform: fn is a function"),
        (lambda: tf.table(ROWS).partition_by("sym").transform(lambda t: t, [7]), TypeError, "dependencies"),
        (lambda: tf.table(ROWS).partition_by("sym").partitioned_transform(7, max), TypeError, "another partitioned"),
        (
            lambda: (
                tf.table(ROWS).partition_by("sym").partitioned_transform(tf.table(ROWS).partition_by("sym", "day"), max)
            ),
            ValueError,
            "one has 1 key columns (sym), the other 2",
        ),
        (lambda: tf.from_constituent_tables([]), tf.errors.SchemaError, "at least one table"),
        (lambda: tf.from_constituent_tables(tf.table(ROWS)), TypeError, "give a list of tables"),
        (
            lambda: tf.from_constituent_tables([tf.table({"x": [1]}), tf.table({"x": ["a"]})]),
            tf.errors.SchemaError,
            'column "x" is Int64 in table 0, String in table 1',
        ),
        (
            lambda: tf.from_constituent_tables([tf.table({"x": [1]}), tf.table({"x": [1], "y": [1]})]),
            tf.errors.SchemaError,
            'table 1 has a column "y" that table 0 has not',
        ),
        (
            lambda: tf.from_partitioned_table(tf.table({"k": [1, 1]}), [tf.table({"x": [1]})] * 2),
            tf.errors.DataError,
            "the key (1,) stands twice",
        ),
        (
            lambda: tf.from_partitioned_table(tf.table({"k": [1]}), [tf.table({"x": [1]})] * 2),
            tf.errors.SchemaError,
            "1 keys for 2 tables",
        ),
        (lambda: tf.table(ROWS).partition_by("sym").nothing, AttributeError, "a partitioned table has no 'nothing'"),
        (lambda: bool(tf.table(ROWS).partition_by("sym")), TypeError, "ask len(p) > 0"),
        (lambda: tf.PartitionedTable(7), TypeError, "t.partition_by(key) makes one"),
    ],
)
def test_what_is_wrong_is_told(wrong, kind: type[BaseException], message: str) -> None:
    with pytest.raises(kind, match=re.escape(message)):
        wrong()


def test_a_failed_table_fails_its_constituents(graph: tf.Graph) -> None:
    table = tf.append_table({"k": str, "x": str}, graph=graph)
    numbers = table.with_columns(n=tf.col("x").cast(tf.Int64))
    p = numbers.partition_by("k")
    merged = p.merge()
    table.append({"k": ["a"], "x": ["1"]})
    graph.step()
    a = p.get("a")
    table.append({"k": ["b"], "x": ["one"]})
    graph.step()
    for gone in (a, merged):
        with pytest.raises(tf.errors.TableFailedError):
            gone.rows()
    with pytest.raises(tf.errors.TableFailedError):
        p.get("a")


def test_nothing_is_left_behind(trades: tf.KeyedTable, graph: tf.Graph) -> None:
    before = graph.counters()["nodes"]
    p = trades.partition_by("sym").transform(lambda t: t.filter(tf.col("px") > 1))
    merged = p.merge()
    for n in range(50):
        trades.upsert({"id": 100 + n, "sym": f"S{n}", "px": 2.0})
        graph.step()
        trades.delete([100 + n])
        graph.step()
    assert len(merged) == 2
    del p, merged
    gc.collect()
    graph.step()
    assert graph.counters()["nodes"] == before


def test_constituents_and_aggregates_beside_their_keys(trades: tf.KeyedTable, graph: tf.Graph) -> None:
    p = trades.partitioned_agg_by([tf.agg.sum_("total = px"), tf.agg.partition("rows"), tf.agg.count_("n")], by="sym")
    assert (p.key_columns, p.constituent_column, list(p.schema)) == (["sym"], "rows", ["id", "sym", "px"])
    assert p.table.rows() == [("A", 4.0, 2), ("B", 2.0, 1)]
    a, facts, merged = p.get("A"), p.table, p.merge()
    trades.upsert({"id": [1, 4], "sym": ["B", "C"], "px": [10.0, 4.0]})
    graph.step()
    assert facts.rows() == [("A", 3.0, 1), ("B", 12.0, 2), ("C", 4.0, 1)]
    assert [key for key, *_ in facts.rows()] == [key for (key,) in p.keys().rows()]
    assert a.rows() == [(3, "A", 3.0)]
    trades.delete([3])
    graph.step()
    assert facts.rows() == [("B", 12.0, 2), ("C", 4.0, 1)]
    assert merged.rows() == [(1, "B", 10.0), (2, "B", 2.0), (4, "C", 4.0)]
    thin = trades.partitioned_agg_by(tf.agg.partition("rows", include_by_columns=False), by=["sym"])
    assert list(thin.schema) == ["id", "px"]
    assert thin.table.rows() == thin.keys().rows() == [("B",), ("C",)]
    assert trades.partition_by("sym").constituent_column is None


def test_a_table_is_no_value_of_a_column() -> None:
    t, part = tf.table(ROWS), tf.agg.partition("rows")
    for ask in (
        lambda: t.agg_by(part, by="sym"),
        lambda: t.group_by("sym").agg(part),
        lambda: t.group_by("sym").agg(rows=part),
        lambda: t.rolling("day", period=2).agg(part),
        lambda: t.group_by_dynamic("day", every="2i").agg(part),
        lambda: t.range_join(t, on="day <= day", aggs=part),
    ):
        with pytest.raises(
            tf.errors.InvalidOperationError, match=r"tf\.agg\.partition\('rows'\) is a table.*partitioned_agg_by"
        ):
            ask()
    for aggs, many in ((tf.agg.sum_("px"), "none"), ([part, part], "2")):
        with pytest.raises(ValueError, match=rf"partitioned_agg_by: give one tf.agg.partition\(column\), not {many}"):
            t.partitioned_agg_by(aggs, by="sym")
    with pytest.raises(tf.errors.DuplicateError, match="'px' beside it"):
        t.partitioned_agg_by([tf.agg.partition("px"), tf.agg.sum_("px")], by="sym")
    with pytest.raises(tf.errors.InvalidOperationError, match=r"partitioned_agg_by.*blink"):
        tf.blink_table({"k": str}, graph=tf.Graph()).partitioned_agg_by(part, by="k")
    with pytest.raises(TypeError, match="include_by_columns must be True or False"):
        tf.agg.partition("rows", include_by_columns=1)
