"""The server, used by a client that is not ours: `pydeephaven`, as its package installs it."""

import datetime as dt

import pyarrow as pa
import pydeephaven as dh
import pytest
from pydeephaven import agg, filters, updateby
from pydeephaven.dherror import DHError
from pydeephaven.table import MultiJoinInput, multi_join
from pydeephaven.ticket import SharedTicket

import tickframe as tf
from deephaven_clients import PSK, collected_between_calls, column, connect, port_of, refused, rows

__all__ = ["collected_between_calls"]


@pytest.fixture(scope="module")
def srv(graph):
    with tf.serve({"trades": tf.table({"sym": ["A", "B", "A"], "px": [1.0, 2.0, 3.0]})}, graph=graph) as server:
        yield server


@pytest.fixture
def session(srv):
    session = connect(srv)
    yield session
    session.close()


@pytest.fixture
def t(session):
    return session.import_table(
        pa.table(
            {
                "k": ["a", "b", "a", "b", "a"],
                "x": pa.array([1, 2, 3, 4, None], pa.int64()),
                "y": [1.5, 2.5, 3.5, 4.5, 5.5],
                "s": ["one", "two", "Three", None, "five"],
            }
        )
    )


def test_a_session_opens_makes_tables_and_closes(srv):
    session = connect(srv)
    assert session.is_alive
    made = session.empty_table(3).update(["X = i", "Y = X * 2"])
    assert rows(made) == [{"X": 0, "Y": 0}, {"X": 1, "Y": 2}, {"X": 2, "Y": 4}]
    assert (made.size, made.is_refreshing) == (3, False)
    session.close()
    assert not session.is_alive


def test_a_wrong_token_opens_no_session(srv):
    with pytest.raises(DHError):
        dh.Session(host="127.0.0.1", port=port_of(srv), auth_type=PSK, auth_token="wrong")


def test_tables_of_the_scope(srv, session, t):
    assert "trades" in session.tables
    assert rows(session.open_table("trades"))[2] == {"sym": "A", "px": 3.0}
    session.bind_table("mine", t)
    assert "mine" in session.tables
    assert srv.tables["mine"].to_dict()["x"] == [1, 2, 3, 4, None]
    with connect(srv) as other:
        assert column(other.open_table("mine"), "k") == ["a", "b", "a", "b", "a"]
    del srv.tables["mine"]
    with refused("mine"):
        session.open_table("mine")


def test_tables_are_shared_by_ticket(srv, session, t):
    ticket = SharedTicket.random_ticket()
    session.publish_table(ticket, t)
    with connect(srv) as other:
        assert column(other.fetch_table(ticket), "x") == [1, 2, 3, 4, None]


def test_imports_keep_their_types(session):
    given = pa.table(
        {
            "b": [True, None],
            "i": pa.array([1, None], pa.int32()),
            "f": pa.array([1.5, None], pa.float32()),
            "t": pa.array([dt.datetime(2024, 3, 31, tzinfo=dt.UTC), None], pa.timestamp("ns", "UTC")),
            "s": ["x", None],
        }
    )
    assert session.import_table(given).to_arrow().equals(given)


def test_columns(t):
    assert rows(t.select(["x", "z = y + x"]))[0] == {"x": 1, "z": 2.5}
    assert t.select().to_arrow().column_names == ["k", "x", "y", "s"]
    assert t.view(["z = x"]).to_arrow().column_names == ["z"]
    assert column(t.update_view(["z = x + 1"]), "z") == [2, 3, 4, 5, None]
    assert column(t.lazy_update(["z = x + 1", "w = z * 2"]), "w") == [4, 6, 8, 10, None]
    assert t.drop_columns(["x", "s"]).to_arrow().column_names == ["k", "y"]
    assert column(t.select_distinct(["k"]), "k") == ["a", "b"]


def test_rows(t):
    assert column(t.head(2), "x") == [1, 2]
    assert column(t.tail(2), "x") == [4, None]
    assert column(t.slice(1, 3), "x") == [2, 3]
    assert column(t.slice(-2, 0), "x") == [4, None]
    assert column(t.slice(-3, -1), "x") == [3, 4]
    assert (column(t.slice(4, -4), "x"), column(t.slice(-1, 2), "x")) == ([], [])
    for start, stop in [(3, 1), (-1, -3), (2, 0)]:
        with refused(f"it begins at {start}, behind its end at {stop}"):
            t.slice(start, stop)
    assert column(t.head_by(1, ["k"]), "x") == [1, 2]
    assert column(t.tail_by(1, ["k"]), "x") == [None, 4]
    assert column(t.where(["x > 1", "y < 4"]), "x") == [2, 3]
    assert column(t.where("k = `a`"), "x") == [1, 3, None]
    assert column(t.snapshot(), "x") == [1, 2, 3, 4, None]


def test_order_has_nulls_where_the_client_expects_them(t):
    assert column(t.sort(["x"]), "x") == [None, 1, 2, 3, 4]
    assert column(t.sort_descending(["x"]), "x") == [4, 3, 2, 1, None]
    by = t.sort(["k", "y"], [dh.SortDirection.DESCENDING, dh.SortDirection.ASCENDING])
    assert column(by, "y") == [2.5, 4.5, 1.5, 3.5, 5.5]


FILTERED = {
    "eq": (filters.eq(filters.ColumnName("k"), "b"), [2, 4]),
    "eq_any_case": (filters.eq(filters.ColumnName("s"), "three", case_sensitive=False), [3]),
    "ne": (filters.ne(filters.ColumnName("x"), 2), [1, 3, 4, None]),
    "lt": (filters.lt(filters.ColumnName("x"), 3), [1, 2]),
    "lt_literal_first": (filters.lt(3, filters.ColumnName("x")), [4]),
    "le": (filters.le(filters.ColumnName("x"), 3.0), [1, 2, 3]),
    "gt": (filters.gt(filters.ColumnName("y"), filters.ColumnName("x")), [1, 2, 3, 4]),
    "ge": (filters.ge(filters.ColumnName("y"), 3.5), [3, 4, None]),
    "in_": (filters.in_("k", ["b", "c"]), [2, 4]),
    "is_null": (filters.is_null("s"), [4]),
    "is_not_null": (filters.is_not_null("x"), [1, 2, 3, 4]),
    "contains": (filters.contains("s", "e"), [1, 3, None]),
    "contains_any_case": (filters.contains("s", "T", case_sensitive=False), [2, 3]),
    "contains_not": (filters.contains("s", "e", invert=True), [2]),
    "matches": (filters.matches("s", "t.*"), [2]),
    "matches_any_case": (filters.matches("s", "t.*", case_sensitive=False), [2, 3]),
    "and_": (filters.and_([filters.eq(filters.ColumnName("k"), "a"), filters.is_not_null("x")]), [1, 3]),
    "or_": (filters.or_([filters.is_null("x"), filters.is_null("s")]), [4, None]),
    "not_": (filters.not_(filters.in_("k", ["b"])), [1, 3, None]),
}


@pytest.mark.parametrize("name", FILTERED)
def test_structured_filters(t, name):
    given, expected = FILTERED[name]
    assert column(t.where(given), "x") == expected


def test_joins(session, t):
    right = session.import_table(pa.table({"k": ["a", "b", None], "name": ["Ann", "Bob", "Nil"]}))
    assert column(t.natural_join(right, ["k"], ["name"]), "name") == ["Ann", "Bob", "Ann", "Bob", "Ann"]
    assert column(t.exact_join(right, ["k"], ["who = name"]), "who") == ["Ann", "Bob", "Ann", "Bob", "Ann"]
    assert column(t.join(right, ["k"], ["name"]), "name") == ["Ann", "Bob", "Ann", "Bob", "Ann"]
    assert t.join(right.drop_columns(["k"])).size == 15
    assert column(t.where_in(right.where("name = `Ann`"), ["k"]), "x") == [1, 3, None]
    assert column(t.where_not_in(right.where("name = `Ann`"), ["k"]), "x") == [2, 4]
    nulls = session.import_table(pa.table({"k": pa.array([None], pa.string())}))
    assert column(nulls.natural_join(right, ["k"], ["name"]), "name") == ["Nil"]


def test_joins_in_order(session):
    left = session.import_table(pa.table({"t": [1, 5, 9]}))
    right = session.import_table(pa.table({"u": [2, 5, 10], "v": ["a", "b", "c"]}))
    assert column(left.aj(right, ["t >= u"], ["v"]), "v") == [None, "b", "b"]
    assert column(left.aj(right, ["t > u"], ["v"]), "v") == [None, "a", "b"]
    assert column(left.raj(right, ["t <= u"], ["v"]), "v") == ["a", "b", "c"]


def test_multi_join(session):
    one = session.import_table(pa.table({"k": ["a", "b"], "x": [1, 2]}))
    two = session.import_table(pa.table({"k": ["b", "c"], "y": [3, 4]}))
    joined = multi_join([MultiJoinInput(one, on="k"), MultiJoinInput(two, on="k")]).table
    assert rows(joined) == [
        {"k": "a", "x": 1, "y": None},
        {"k": "b", "x": 2, "y": 3},
        {"k": "c", "x": None, "y": 4},
    ]


def test_merge_and_ungroup(session, t):
    assert session.merge_tables([t.head(1), t.tail(1)]).size == 2
    assert column(session.merge_tables([t, t], order_by="y"), "y")[:4] == [1.5, 1.5, 2.5, 2.5]
    grouped = t.group_by(["k"])
    assert column(grouped, "x") == [[1, 3, None], [2, 4]]
    assert column(grouped.ungroup(), "x") == [1, 3, None, 2, 4]


def test_a_table_without_lists_has_nothing_to_ungroup(t):
    assert rows(t.ungroup()) == rows(t)


def test_meta_table(t):
    assert rows(t.meta_table)[1] == {
        "Name": "x", "DataType": "long", "ColumnType": "Normal", "IsPartitioning": False
    }  # fmt: skip


AGGREGATED = {
    "sum_": ([agg.sum_(["v = x"])], [4, 6]),
    "avg": ([agg.avg(["v = y"])], [3.5, 3.5]),
    "abs_sum": ([agg.abs_sum(["v = x"])], [4, 6]),
    "min_": ([agg.min_(["v = y"])], [1.5, 2.5]),
    "max_": ([agg.max_(["v = y"])], [5.5, 4.5]),
    "first": ([agg.first(["v = s"])], ["one", "two"]),
    "last": ([agg.last(["v = s"])], ["five", None]),
    "count_": ([agg.count_("v")], [3, 2]),
    "count_distinct": ([agg.count_distinct(["v = x"])], [2, 2]),
    "count_distinct_nulls": ([agg.count_distinct(["v = x"], count_nulls=True)], [3, 2]),
    "distinct": ([agg.distinct(["v = x"])], [[1, 3], [2, 4]]),
    "group": ([agg.group(["v = x"])], [[1, 3, None], [2, 4]]),
    "median": ([agg.median(["v = y"])], [3.5, 3.5]),
    "pct": ([agg.pct(0.9, ["v = y"])], [5.5, 4.5]),
    "std": ([agg.std(["v = y"])], [2.0, 1.4142135623730951]),
    "var": ([agg.var(["v = y"])], [4.0, 2.0]),
    "unique": ([agg.unique(["v = k"])], ["a", "b"]),
    "weighted_avg": ([agg.weighted_avg("x", ["v = y"])], [3.0, 23 / 6]),
    "weighted_sum": ([agg.weighted_sum("x", ["v = y"])], [12.0, 23.0]),
    "sorted_first": ([agg.sorted_first("y", ["v = s"])], ["one", "two"]),
    "sorted_last": ([agg.sorted_last("y", ["v = x"])], [None, 4]),
    "count_where": ([agg.count_where("v", ["x > 1", "y < 4"])], [1, 1]),
    "formula": ([agg.formula("v = max(y) - min(y)")], [4.0, 2.0]),
    "formula_of_each": ([agg.formula("max(each)", "each", ["v = y"])], [5.5, 4.5]),
}


@pytest.mark.parametrize("name", AGGREGATED)
def test_aggregations(t, name):
    given, expected = AGGREGATED[name]
    assert column(t.agg_by(given, ["k"]), "v") == expected


def test_the_middle_of_two_is_the_lesser_or_their_mean(session):
    small, wide = [1, 2, 3, 4], [2**62 + 1, 2**62 + 3, 2**62 + 5, 2**62 + 7]
    table = session.import_table(
        pa.table({"i": pa.array(small, pa.int32()), "l": wide, "f": pa.array(small, pa.float32()), "s": list("abcd")})
    )
    of = {0.5: 1, 0.4: 1, 0.6: 2, 0.0: 0, 1.0: 3}
    for part, place in of.items():
        got = table.agg_by([agg.pct(part, ["i", "l", "f", "s"])], []).to_arrow()
        assert got.to_pylist() == [{"i": small[place], "l": wide[place], "f": small[place], "s": "abcd"[place]}]
        assert got.schema.types == [pa.int32(), pa.int64(), pa.float32(), pa.string()]
    mean = [agg.pct(0.5, ["a = i", "b = f"], average_evenly_divided=True), agg.median(["c = i", "d = f"])]
    assert rows(table.agg_by(mean, [])) == [{"a": 2.5, "b": 2.5, "c": 2.5, "d": 2.5}]
    lesser = agg.median(["i", "l", "f"], average_evenly_divided=False)
    assert rows(table.agg_by([lesser], [])) == [{"i": 2, "l": wide[1], "f": 2.0}]
    odd = table.head(3)
    assert rows(odd.agg_by([agg.pct(0.5, ["i", "l"]), agg.median(["f", "m = i"])], [])) == [
        {"i": 2, "l": wide[1], "f": 2.0, "m": 2.0}
    ]


def test_what_is_not_unique_is_the_sentinel(session):
    keys = ["null", "null", "one", "one", "two", "two", "both", "both"]
    table = session.import_table(pa.table({"k": keys, "v": pa.array([None, None, 1, 1, 1, 2, 1, None], pa.int64())}))
    for nulls, expected in {False: [-9, 1, -9, 1], True: [None, 1, -9, -9]}.items():
        made = table.agg_by([agg.unique(["v"], include_nulls=nulls, non_unique_sentinel=-9)], ["k"])
        assert column(made, "v") == expected


def test_what_has_no_rows_has_no_aggregates(session, t):
    none = t.where(["x > 9"])
    for made in [
        none.agg_by([agg.count_("n"), agg.sum_(["x"])], []), none.count_by("n"), none.view(["x"]).sum_by([]),
        none.view(["x"]).agg_all_by(agg.max_(), []), none.first_by([]), none.group_by([]),
    ]:  # fmt: skip
        assert rows(made) == []
    live = session.input_table(schema=pa.schema([("x", pa.int64())]))
    counted = live.agg_by([agg.count_("n"), agg.sum_(["x"])], [])
    assert rows(counted) == []
    live.add(session.import_table(pa.table({"x": [3, 4]})))
    assert rows(counted) == [{"n": 2, "x": 7}]


def test_a_nan_is_the_least_and_the_greatest(session):
    table = session.import_table(pa.table({"f": [1.0, float("nan"), None, 3.0], "k": ["a", "a", "b", "b"]}))
    made = rows(table.agg_by([agg.min_(["lo = f"]), agg.max_(["hi = f"])], ["k"]))
    assert str(made) == "[{'k': 'a', 'lo': nan, 'hi': nan}, {'k': 'b', 'lo': 3.0, 'hi': 3.0}]"


def test_whole_numbers_by_whole_weights_are_whole(session):
    table = session.import_table(pa.table({"v": pa.array([3, 4], pa.int16()), "w": [10, 1], "f": [0.5, 1.0]}))
    made = table.agg_by([agg.weighted_sum("w", ["a = v"]), agg.weighted_sum("f", ["b = v"])], []).to_arrow()
    assert (made.schema.types, made.to_pylist()) == ([pa.int64(), pa.float64()], [{"a": 34, "b": 5.5}])


def test_aggregations_of_all_columns(session, t):
    assert rows(t.drop_columns(["s"]).agg_all_by(agg.last(), ["k"])) == [
        {"k": "a", "x": None, "y": 5.5},
        {"k": "b", "x": 4, "y": 4.5},
    ]
    numbers = t.drop_columns(["s"])
    for made, expected in [
        (numbers.sum_by(["k"]), [4, 6]),
        (numbers.avg_by(["k"]), [2.0, 3.0]),
        (numbers.min_by(["k"]), [1, 2]),
        (numbers.max_by(["k"]), [3, 4]),
        (numbers.median_by(["k"]), [2.0, 3.0]),
        (numbers.first_by(["k"]), [1, 2]),
        (numbers.last_by(["k"]), [None, 4]),
    ]:
        assert column(made, "x") == expected
    assert column(numbers.std_by(["k"]), "y") == [2.0, 1.4142135623730951]
    assert column(numbers.var_by(["k"]), "y") == [4.0, 2.0]
    assert rows(t.count_by("n", ["k"])) == [{"k": "a", "n": 3}, {"k": "b", "n": 2}]
    assert t.agg_by([agg.sum_(["x"])], []).size == 1
    with pytest.raises(DHError):
        t.agg_by([agg.sum_()], ["k"])


UPDATED = {
    "cum_sum": (updateby.cum_sum(["v = x"]), [1, 2, 4, 6, 4]),
    "cum_prod": (updateby.cum_prod(["v = x"]), [1, 2, 3, 8, 3]),
    "cum_min": (updateby.cum_min(["v = y"]), [1.5, 2.5, 1.5, 2.5, 1.5]),
    "cum_max": (updateby.cum_max(["v = y"]), [1.5, 2.5, 3.5, 4.5, 5.5]),
    "forward_fill": (updateby.forward_fill(["v = x"]), [1, 2, 3, 4, 3]),
    "delta": (updateby.delta(["v = y"]), [None, None, 2.0, 2.0, 2.0]),
    "rolling_sum_tick": (updateby.rolling_sum_tick(["v = y"], rev_ticks=2), [1.5, 2.5, 5.0, 7.0, 9.0]),
    "rolling_avg_tick": (updateby.rolling_avg_tick(["v = y"], rev_ticks=2), [1.5, 2.5, 2.5, 3.5, 4.5]),
    "rolling_min_tick": (updateby.rolling_min_tick(["v = y"], rev_ticks=2), [1.5, 2.5, 1.5, 2.5, 3.5]),
    "rolling_max_tick": (updateby.rolling_max_tick(["v = y"], rev_ticks=2), [1.5, 2.5, 3.5, 4.5, 5.5]),
    "rolling_prod_tick": (updateby.rolling_prod_tick(["v = y"], rev_ticks=2), [1.5, 2.5, 5.25, 11.25, 19.25]),
    "rolling_count_tick": (updateby.rolling_count_tick(["v = x"], rev_ticks=2), [1, 1, 2, 2, 1]),
    "rolling_group_tick": (updateby.rolling_group_tick(["v = x"], rev_ticks=2), [[1], [2], [1, 3], [2, 4], [3, None]]),
    "rolling_std_tick": (
        updateby.rolling_std_tick(["v = y"], rev_ticks=2),
        [None, None, 1.4142135623730951, 1.4142135623730951, 1.4142135623730951],
    ),
    "rolling_wavg_tick": (
        updateby.rolling_wavg_tick(wcol="y", cols=["v = y"], rev_ticks=2),
        [1.5, 2.5, 2.9, pytest.approx(26.5 / 7), pytest.approx(42.5 / 9)],
    ),
    "cum_count_where": (updateby.cum_count_where("v", "x > 1"), [0, 1, 1, 2, 1]),
    "rolling_count_where_tick": (updateby.rolling_count_where_tick("v", "x > 1", rev_ticks=2), [0, 1, 1, 2, 1]),
    "rolling_formula_tick": (
        updateby.rolling_formula_tick(formula="sum(each)", formula_param="each", cols=["v = y"], rev_ticks=2),
        [1.5, 2.5, 5.0, 7.0, 9.0],
    ),
}


@pytest.mark.parametrize("name", UPDATED)
def test_update_by(t, name):
    given, expected = UPDATED[name]
    assert column(t.update_by([given], ["k"]), "v") == expected


def test_values_that_fade_and_windows_of_time(session):
    stamps = [dt.datetime(2024, 3, 31, 12, 0, second, tzinfo=dt.UTC) for second in (0, 1, 3, 6)]
    t = session.import_table(pa.table({"t": pa.array(stamps, pa.timestamp("ns", "UTC")), "y": [1.0, 2.0, 3.0, 4.0]}))
    local = tf.table({"t": stamps, "y": [1.0, 2.0, 3.0, 4.0]})
    ours = tf.update_by
    for theirs, mine in [
        (updateby.ema_tick(2, ["v = y"]), ours.ema_tick(2, "v = y")),
        (updateby.ems_tick(2, ["v = y"]), ours.ems_tick(2, "v = y")),
        (updateby.emmin_tick(2, ["v = y"]), ours.emmin_tick(2, "v = y")),
        (updateby.emmax_tick(2, ["v = y"]), ours.emmax_tick(2, "v = y")),
        (updateby.emstd_tick(2, ["v = y"]), ours.emstd_tick(2, "v = y")),
        (updateby.ema_time("t", "PT00:00:02", ["v = y"]), ours.ema_time("t", "2s", "v = y")),
        (updateby.ems_time("t", "PT2S", ["v = y"]), ours.ems_time("t", "2s", "v = y")),
    ]:
        assert column(t.update_by([theirs]), "v") == local.update_by(mine).to_dict()["v"]
    window = updateby.rolling_sum_time("t", ["v = y"], rev_time="PT00:00:02")
    assert column(t.update_by([window]), "v") == [1.0, 3.0, 5.0, 4.0]
    window = updateby.rolling_count_time("t", ["v = y"], rev_time="PT1S", fwd_time="PT2S")
    assert column(t.update_by([window]), "v") == [2, 3, 1, 1]


def test_time_and_input_tables(session, graph):
    ticks = session.time_table("PT00:00:00.01")
    assert ticks.is_refreshing
    assert ticks.to_arrow().column_names == ["Timestamp"]
    schema = pa.schema([("k", pa.string()), ("v", pa.int64())])
    keyed = session.input_table(schema=schema, key_cols=["k"])
    keyed.add(session.import_table(pa.table({"k": ["a", "b"], "v": [1, 2]})))
    assert rows(keyed) == [{"k": "a", "v": 1}, {"k": "b", "v": 2}]
    keyed.add(session.import_table(pa.table({"k": ["a"], "v": [7]})))
    assert column(keyed, "v") == [7, 2]
    keyed.delete(session.import_table(pa.table({"k": ["a"]})))
    assert rows(keyed) == [{"k": "b", "v": 2}]
    appended = session.input_table(schema=schema)
    appended.add(session.import_table(pa.table({"k": ["x"], "v": [1]})))
    assert rows(appended.update(["w = v + 1"])) == [{"k": "x", "v": 1, "w": 2}]
    with refused("no column"):
        appended.add(session.import_table(pa.table({"other": [1]})))


def test_a_query_is_one_batch(session, t):
    query = session.query(t).update(["z = x * 2"]).where(["z > 2"]).sort(["z"]).head(2)
    assert column(query.exec(), "z") == [4, 6]
    with refused("nothing"):
        session.query(t).update(["z = nothing"]).head(1).exec()


def test_mistakes_are_told_in_the_clients_own_words(session, t):
    with refused("nothing"):
        t.update(["z = nothing + 1"])
    with refused("Boolean"):
        t.where(["x + 1"])
    with refused("nothing"):
        t.sort(["nothing"])
    with refused("nothing"):
        t.drop_columns(["nothing"])
    with refused("scripts"):
        session.run_script("x = 1")
    assert session.is_alive


TIMED = [
    ("ema_time", {}), ("ems_time", {}), ("emmin_time", {}), ("emmax_time", {}), ("emstd_time", {}),
    ("rolling_sum_time", {}), ("rolling_avg_time", {}), ("rolling_min_time", {}), ("rolling_max_time", {}),
    ("rolling_prod_time", {}), ("rolling_count_time", {}), ("rolling_group_time", {}), ("rolling_std_time", {}),
    ("rolling_wavg_time", {"wcol": "y"}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "more"), TIMED)
def test_operators_by_time_are_those_of_this_package(session, name, more):
    stamps = [dt.datetime(2024, 3, 31, 12, 0, second, tzinfo=dt.UTC) for second in (0, 1, 3, 6, 6, 20)]
    cells = {"t": stamps, "k": ["a", "b", "a", "a", "b", "a"], "y": [1.0, 2.0, None, 4.0, 5.0, 6.0]}
    remote = session.import_table(tf.table(cells).to_arrow())
    theirs, ours = getattr(updateby, name), getattr(tf.update_by, name)
    if name.startswith("rolling"):
        sent = theirs(ts_col="t", cols=["v = y"], rev_time="PT00:00:03", fwd_time="PT1S", **more)
        own = ours("t", *more.values(), "v = y", rev_time="3s", fwd_time="1s")
    else:
        sent, own = theirs("t", "PT2S", ["v = y"]), ours("t", "2s", "v = y")
    expected = tf.table(cells).update_by(own, by="k").to_dict()["v"]
    if name == "rolling_sum_time":  # the sum of nothing is null to this client
        expected = [None if of == 0 else of for of in expected]
    assert column(remote.update_by([sent], ["k"]), "v") == expected


def test_conditions_and_formulas_over_windows_of_time(session):
    stamps = [dt.datetime(2024, 3, 31, 12, 0, second, tzinfo=dt.UTC) for second in (0, 1, 3)]
    t = session.import_table(tf.table({"t": stamps, "y": [1.0, 2.0, 3.0]}).to_arrow())
    counted = updateby.rolling_count_where_time("t", "n", "y > 1", rev_time="PT2S")
    summed = updateby.rolling_formula_time("t", "max(each) - min(each)", "each", ["d = y"], rev_time="PT2S")
    assert rows(t.update_by([counted, summed]).view(["n", "d"])) == [
        {"n": 0, "d": 0.0},
        {"n": 1, "d": 1.0},
        {"n": 2, "d": 1.0},
    ]


def test_bad_data_goes_as_the_controls_say(session):
    t = session.import_table(pa.table({"y": [1.0, None, 3.0]}))
    reset = updateby.OperationControl(on_null=updateby.BadDataBehavior.RESET)
    assert column(t.update_by([updateby.ema_tick(2, ["v = y"], reset)]), "v") == [1.0, None, 3.0]
    throw = updateby.OperationControl(on_null=updateby.BadDataBehavior.THROW)
    with refused("null"):
        t.update_by([updateby.ema_tick(2, ["v = y"], throw)])
    value = updateby.delta(["v = y"], updateby.DeltaControl.VALUE_DOMINATES)
    zero = updateby.delta(["w = y"], updateby.DeltaControl.ZERO_DOMINATES)
    assert rows(t.update_by([value, zero]).view(["v", "w"])) == [
        {"v": 1.0, "w": 0.0},
        {"v": None, "w": None},
        {"v": 3.0, "w": 0.0},
    ]


def test_snapshots_at_a_trigger(session, graph):
    schema = pa.schema([("v", pa.int64())])
    base, trigger = session.input_table(schema=schema), session.input_table(schema=pa.schema([("at", pa.int64())]))
    seen = base.snapshot_when(trigger, initial=True)
    later = base.snapshot_when(trigger, stamp_cols=["at"])
    base.add(session.import_table(pa.table({"v": [1]})))
    assert (seen.to_arrow().num_rows, later.to_arrow().num_rows) == (0, 0)
    trigger.add(session.import_table(pa.table({"at": [5]})))
    assert rows(later) == [{"v": 1, "at": 5}]
    with refused("history"):
        base.snapshot_when(trigger, initial=True, history=True)


def test_tickets_are_passed_on_and_given_back(srv, session, t):
    ticket = SharedTicket.random_ticket()
    session.publish(t.ticket, ticket)
    export = session.fetch(ticket)
    session.release(export)
    kept = t.head(2)
    assert not kept.is_closed
    kept.close()
    assert kept.is_closed
    with refused("DEPENDENCY_RELEASED"):
        kept.head(1)


def test_what_is_not_here_says_so(session, t):
    with refused("is no table here"):
        t.agg_by([agg.partition("p")], ["k"])
    with refused("scripts"):
        session.run_script("x = 1")
    assert session.exportable_objects.keys() >= {"trades"}


def test_a_query_has_every_operation(session, t):
    other = session.import_table(pa.table({"k": ["a", "b"], "z": [10, 20], "u": [0.0, 5.0]}))
    query = session.query(t)
    query = query.update(["w = x + 1"]).lazy_update(["w2 = w * 2"]).update_view(["w3 = w2"]).drop_columns(["w3"])
    query = query.natural_join(other, ["k"], ["z"]).exact_join(other, ["k"], ["z2 = z"]).join(other, ["k"], ["z3 = z"])
    query = query.aj(other, ["k", "y >= u"], ["a = z"]).raj(other, ["k", "y <= u"], ["b = z"])
    query = query.where_in(other, ["k"]).sort(["y"]).slice(0, 5).head(5).tail(5)
    query = query.head_by(3, ["k"]).tail_by(3, ["k"]).update_by([updateby.cum_sum(["c = y"])], ["k"])
    assert column(query.select(["k", "y", "z", "z2", "z3", "a", "b", "c", "w2"]).snapshot().exec(), "z") == [
        10, 10, 10, 20, 20
    ]  # fmt: skip
    numbers = ["k", "x", "y"]
    for name in ["avg_by", "sum_by", "min_by", "max_by", "median_by", "std_by", "var_by", "first_by", "last_by"]:
        made = getattr(session.query(t).view(numbers), name)(["k"])
        assert column(made.exec(), "k") == ["a", "b"], name
    assert column(session.query(t).view(numbers).group_by(["k"]).ungroup().exec(), "x") == [1, 3, None, 2, 4]
    assert column(session.query(t).count_by("n", ["k"]).exec(), "n") == [3, 2]
    assert column(session.query(t).agg_by([agg.max_(["x"])], ["k"]).exec(), "x") == [3, 4]
    assert column(session.query(t).view(numbers).agg_all_by(agg.max_(), ["k"]).exec(), "x") == [3, 4]
    assert column(session.query(t).select_distinct(["k"]).where_not_in(other.head(1), ["k"]).exec(), "k") == ["b"]
    assert session.query(t).where(["x > 2"]).exec().size == 2
    trigger = session.input_table(schema=pa.schema([("at", pa.int64())]))
    assert session.query(t).snapshot_when(trigger, initial=True).exec().to_arrow().num_rows == 5
