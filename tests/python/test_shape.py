"""Tables in another shape: lists taken apart, keys closed up, and what each refuses."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pyarrow as pa
import pytest

import tickframe as tf

LISTS = {
    "k": ["a", "b", "c", "d"],
    "v": [[1, 2], [], None, [3, None]],
    "w": [["x", "y"], [], None, ["z", None]],
}
SCHEMA = {"k": str, "v": tf.List(int), "w": tf.List(str)}


def static() -> tf.Table:
    return tf.table(LISTS, schema=SCHEMA)


def live() -> tf.Table:
    t = tf.append_table(SCHEMA, graph=tf.Graph())
    for at in range(4):
        t.append({name: [values[at]] for name, values in LISTS.items()})
    t.graph.step()
    return t


@pytest.fixture(params=[static, live], ids=["static", "live"])
def t(request: pytest.FixtureRequest) -> tf.Table:
    return request.param()


# explode, ungroup -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("empty_as_null", [False, True])
@pytest.mark.parametrize("keep_nulls", [False, True])
@pytest.mark.parametrize("columns", [["v"], ["w"], ["v", "w"]])
def test_explode_beside_polars(t, columns, empty_as_null, keep_nulls):
    options = {"empty_as_null": empty_as_null, "keep_nulls": keep_nulls}
    wanted = pl.DataFrame(LISTS).explode(columns, **options)
    assert t.explode(columns, **options).to_dicts() == wanted.to_dicts()
    assert t.explode(*columns, **options).to_dicts() == wanted.to_dicts()
    assert t.explode(columns, **options).schema["v"] == (tf.Int64 if "v" in columns else tf.List(tf.Int64))


def test_ungroup_leaves_nulls_out(t):
    rows = [("a", 1, "x"), ("a", 2, "y"), ("d", 3, "z"), ("d", None, None)]
    assert t.ungroup().rows() == rows
    assert t.ungroup("v", "w").rows() == rows
    assert t.ungroup(["v"]).to_dict()["v"] == [1, 2, 3, None]


def test_lists_of_several_lengths_are_filled_up():
    t = tf.table({"v": [[1, 2], None, []], "w": [["x"], ["y"], ["z"]]})
    assert t.ungroup(null_fill=True).rows() == [(1, "x"), (2, None), (None, "y"), (None, "z")]


def test_every_layout_of_lists_and_type_of_values():
    day = dt.date(2024, 1, 1)
    for kind, values, wanted in [
        (pa.large_list(pa.int8()), [[1], None, [2, 3]], [1, None, 2, 3]),
        (pa.list_(pa.int16(), 2), [[1, 2], None, [3, None]], [1, 2, None, 3, None]),
        (pa.list_(pa.string()), [["a"], [], [None, "c" * 40]], ["a", None, "c" * 40]),
        (pa.list_(pa.date32()), [[day]], [day]),
        (pa.list_(pa.list_(pa.int64())), [[[1], []], [None]], [[1], [], None]),
        (pa.list_(pa.struct([("a", pa.int64())])), [[{"a": 1}, None]], [{"a": 1}, None]),
        (pa.list_(pa.dictionary(pa.int8(), pa.string())), [["x", "y"], ["x"]], ["x", "y", "x"]),
    ]:
        table = pa.table({"v": pa.array(values, kind), "at": list(range(len(values)))})
        for given in (tf.from_arrow(table), _live(table)):
            exploded = given.explode("v")
            assert exploded.to_dict()["v"] == wanted, kind
            assert exploded.sort("at", descending=True).reverse().to_dict()["at"] == exploded.to_dict()["at"]


def _live(table: pa.Table) -> tf.Table:
    source = tf.append_table(table.schema, graph=tf.Graph())
    source.append(table)
    source.graph.step()
    return source


def test_lists_grow_and_shrink():
    graph = tf.Graph()
    t = tf.keyed_table({"k": str, "v": tf.List(int)}, key="k", graph=graph)
    t.upsert({"k": ["a", "b"], "v": [[1], [2]]})
    graph.step()
    exploded = t.explode("v")
    seen: list[tuple[int, int, int]] = []
    held = exploded.subscribe(lambda u: seen.append((len(u.added), len(u.removed), len(u.modified))))
    for values, change in [
        ([1, 5], (1, 0, 0)),
        ([1, 6, 7], (1, 0, 1)),
        ([9], (0, 2, 1)),
        (list(range(1_000)), (999, 0, 1)),
        (None, (0, 999, 1)),
        ([], (0, 1, 0)),
    ]:
        t.upsert({"k": ["a"], "v": [values]})
        graph.step()
        assert seen.pop() == change
        assert exploded.to_dicts() == t.snapshot().explode("v").to_dicts()
    t.delete(["b"])
    graph.step()
    assert seen == [(0, 1, 0)]
    assert len(exploded) == 0
    held.cancel()


def test_ungrouping_what_was_grouped_gives_the_rows_again():
    t = tf.table({"k": ["a", "b", "a"], "x": [1, 2, 3], "y": [None, "b", "c"]})
    grouped = t.group_by("k").agg(tf.col("x").implode(), tf.col("y").implode())
    assert grouped.ungroup().to_dicts() == t.sort("k").to_dicts()


def test_blink_rows_pass():
    graph = tf.Graph()
    t = tf.blink_table({"v": tf.List(int)}, graph=graph)
    exploded = t.explode("v")
    assert exploded.attributes["blink"]
    t.append({"v": [[1, 2], [3]]})
    graph.step()
    assert exploded.to_dict() == {"v": [1, 2, 3]}
    graph.step()
    assert len(exploded) == 0


def test_what_explode_refuses(t):
    with pytest.raises(tf.errors.ColumnNotFoundError, match='explode: no column "vv"'):
        t.explode("vv")
    with pytest.raises(tf.errors.TypeMismatchError, match='explode: column "k" is String; lists are taken apart'):
        t.explode("k")
    with pytest.raises(tf.errors.TypeMismatchError, match='ungroup: column "k" is String'):
        t.ungroup("k")
    with pytest.raises(tf.errors.SchemaError, match="ungroup: at least one column of lists is needed"):
        t.select("k").ungroup()
    with pytest.raises(tf.errors.SchemaError, match="explode: at least one column of lists is needed"):
        t.explode([])
    with pytest.raises(TypeError, match="explode: the name of a column is a str, not"):
        t.explode(1)
    with pytest.raises(TypeError, match="explode: keep_nulls is True or False"):
        t.explode("v", keep_nulls="no")


def test_lists_that_differ_in_length_are_told_with_their_row():
    words = 'in the row with key 1, "v" gives 2 rows and "w" 1; lists that are taken apart together are of one length'
    t = tf.table({"v": [[1], [1, 2]], "w": [[1], [3]]})
    with pytest.raises(tf.errors.DataError, match="explode: " + words):
        t.explode("v", "w")
    source = tf.append_table({"v": tf.List(int), "w": tf.List(int)}, graph=tf.Graph())
    exploded = source.explode("v", "w")
    source.append({"v": [[1], [1, 2]], "w": [[1], [3]]})
    source.graph.step()
    with pytest.raises(tf.errors.TableFailedError, match=words) as raised:
        exploded.to_dicts()
    assert raised.value.culprit.startswith('explode("v", "w")') or raised.value.culprit.startswith("explode(")


# flatten --------------------------------------------------------------------------------------------------------------


def test_flatten_closes_up():
    graph = tf.Graph()
    t = tf.keyed_table({"k": int, "x": str}, key="k", graph=graph)
    t.upsert({"k": [1, 2, 3], "x": ["a", "b", "c"]})
    graph.step()
    flat = t.filter(tf.col("k") != 2).flatten()
    assert flat.attributes["flat"]
    assert (flat.row_set.ranges(), flat.to_dict()["x"]) == ([(0, 1)], ["a", "c"])
    t.delete([1])
    t.upsert({"k": [4], "x": ["d"]})
    graph.step()
    assert (flat.row_set.ranges(), flat.to_dict()["x"]) == ([(0, 1)], ["c", "d"])
    assert flat.flatten().to_dicts() == flat.to_dicts()
    assert tf.table({"x": [1]}).flatten().to_dict() == {"x": [1]}


# pivot, unpivot -------------------------------------------------------------------------------------------------------

TRADES = {
    "day": ["mo", "mo", "tu", None, "we"],
    "side": ["buy", "sell", "buy", "buy", None],
    "size": [1, 2, 3, 4, 5],
    "px": [1.5, 2.5, None, 4.5, 5.5],
}


def trades(request: pytest.FixtureRequest) -> tf.Table:
    if request.param == "static":
        return tf.table(TRADES)
    t = tf.append_table(tf.table(TRADES).schema, graph=tf.Graph())
    for at in range(5):
        t.append({name: [values[at]] for name, values in TRADES.items()})
        t.graph.step()
    return t


trades = pytest.fixture(params=["static", "live"])(trades)


def sorted_rows(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    return sorted(rows, key=repr)


@pytest.mark.parametrize("aggregate", ["min", "max", "first", "last", "sum", "mean", "median", "len"])
@pytest.mark.parametrize("values", ["size", ["size", "px"], None])
def test_pivot_beside_polars(trades, aggregate, values):
    wanted = (
        pl.LazyFrame(TRADES)
        .pivot("side", ["buy", "sell", None], index="day", values=values, aggregate_function=aggregate)
        .collect()
    )
    found = trades.pivot("side", ["buy", "sell", None], index="day", values=values, aggregate_function=aggregate)
    assert found.columns == wanted.columns
    assert sorted_rows(found.to_dicts()) == sorted_rows(wanted.to_dicts())


def test_pivot_of_several_columns_and_of_none(trades):
    given = [("buy", "mo"), (None, "we")]
    found = trades.pivot(["side", "day"], given, index=[], values="size", aggregate_function="sum")
    assert found.to_dicts() == [{'{"buy","mo"}': 1, '{null,"we"}': 5}]
    spread = trades.pivot("side", ["buy"], index="day", values="size", aggregate_function=lambda x: x.max() - x.min())
    assert spread.to_dict()["buy"] == [0, 0, 0, None]


def test_values_that_become_names():
    day = dt.date(2024, 1, 2)
    t = tf.table({"i": [1, 1], "b": [True, None], "d": [day, day], "n": [7, 8], "v": [1, 2]})
    assert t.pivot("b", [True, False, None], index="i", values="v", aggregate_function="sum").columns[1:] == [
        "true",
        "false",
        "null",
    ]
    assert t.pivot("d", [day], index="i", values="v", aggregate_function="sum").to_dicts() == [
        {"i": 1, "2024-01-02": 3}
    ]
    assert t.pivot("n", [8], index="i", values=["v", "n"], aggregate_function="sum", separator=" of ").to_dicts() == [
        {"i": 1, "v of 8": 2, "n of 8": 8}
    ]


@pytest.mark.parametrize(
    "values",
    [
        [1.0, float("nan"), 1e20, 1e-7],
        [dt.datetime(2024, 1, 1, 3), dt.datetime(2024, 1, 1, 3, 0, 0, 5)],
        [dt.datetime(2024, 1, 1, 3, tzinfo=dt.UTC)],
        [dt.time(3, 4)],
        [b"ab"],
    ],
)
def test_names_of_values_are_those_of_polars(values):
    q = pl.DataFrame({"on": values, "k": [0] * len(values), "v": [1] * len(values)})
    wanted = q.pivot("on", on_columns=values, index="k", values="v", aggregate_function="sum")
    found = tf.from_polars(q).pivot("on", values, index="k", values="v", aggregate_function="sum")
    assert found.columns == wanted.columns


def test_a_pivot_follows_its_table():
    graph = tf.Graph()
    t = tf.keyed_table({"id": int, "day": str, "side": str, "size": int}, key="id", graph=graph)
    wide = t.pivot("side", ["buy", "sell"], index="day", values="size", aggregate_function="sum")
    seen = []
    held = wide.subscribe(lambda u: seen.append((len(u.added), len(u.removed), u.modified_columns)))
    for rows, change in [
        ({"id": [1], "day": ["mo"], "side": ["buy"], "size": [5]}, (1, 0, [])),
        ({"id": [2], "day": ["mo"], "side": ["sell"], "size": [7]}, (0, 0, ["sell"])),
        ({"id": [3], "day": ["tu"], "side": ["gift"], "size": [7]}, (1, 0, [])),
        ({"id": [2], "day": ["mo"], "side": ["buy"], "size": [7]}, (0, 0, ["buy", "sell"])),
    ]:
        t.upsert(rows)
        graph.step()
        assert seen.pop() == change
    assert wide.to_dicts() == [{"day": "mo", "buy": 12, "sell": 0}, {"day": "tu", "buy": 0, "sell": 0}]
    held.cancel()


def test_what_pivot_refuses(trades):
    def wide(*on, index="day", values="size", how="sum", columns=("buy",)):
        return trades.pivot(*(on or ("side",)), columns, index=index, values=values, aggregate_function=how)

    for call, kind, words in [
        (lambda: wide("sid"), tf.errors.ColumnNotFoundError, "pivot: no column 'sid'"),
        (lambda: wide(index="d"), tf.errors.ColumnNotFoundError, "pivot: no column 'd'"),
        (lambda: wide(values="s"), tf.errors.ColumnNotFoundError, "pivot: no column 's'"),
        (lambda: wide(columns=("buy", "buy")), tf.errors.DuplicateError, 'pivot: column "buy" would appear twice'),
        (lambda: wide(columns=("day",)), tf.errors.DuplicateError, 'pivot: column "day" would appear twice'),
        (
            lambda: wide(columns=[1]),
            tf.errors.TypeMismatchError,
            "pivot: 1 of on_columns is no value of the column 'side', which is String",
        ),
        (lambda: wide(values="day", how="mean"), tf.errors.TypeMismatchError, "pivot: mean does not take String"),
        (lambda: wide(columns="buy"), TypeError, "pivot: on_columns is a list of values, not a str"),
        (lambda: wide(columns=[]), ValueError, "pivot: on_columns is empty"),
        (lambda: wide(columns=range(10**12)), ValueError, "pivot: on_columns has more than 4096 values"),
        (
            lambda: wide(["side", "day"], index="px"),
            TypeError,
            "pivot: of 2 columns each of on_columns is a tuple of 2",
        ),
        (lambda: wide(how=None), ValueError, "pivot: several values may meet in a cell; aggregate_function is one of"),
        (lambda: wide(how="mode"), ValueError, "pivot: there is no aggregate 'mode'"),
        (lambda: wide(how=3), TypeError, "pivot: there is no aggregate 3"),
        (lambda: wide(how=lambda x: x), TypeError, "pivot: aggregate_function gives the values as they are"),
        (lambda: wide(how=len), TypeError, "pivot: aggregate_function is given an expression and gives one"),
        (lambda: wide(how=lambda _: 1), TypeError, "pivot: aggregate_function gives an expression, not an int"),
        (lambda: wide(how=lambda _: tf.col("size")), tf.errors.InvalidOperationError, "pivot: .* one value a row"),
        (lambda: wide(index=None, values=None), ValueError, "pivot: give index=, the columns that tell rows apart"),
    ]:
        with pytest.raises(kind, match=words):
            call()


@pytest.mark.parametrize(
    "options", [{"on": ["size", "px"], "index": "day"}, {"on": ["px"]}, {"index": ["day", "side"]}]
)
def test_unpivot_beside_polars(trades, options):
    wanted = pl.DataFrame(TRADES).unpivot(**options)
    found = trades.unpivot(**options)
    assert found.columns == wanted.columns
    assert found.to_dicts() == wanted.to_dicts()
    named = trades.unpivot(**options, variable_name="what", value_name="how much")
    assert named.columns[-2:] == ["what", "how much"]


def test_an_unpivoted_table_modifies_the_rows_of_the_column_that_changed():
    graph = tf.Graph()
    t = tf.keyed_table({"id": int, "x": int, "y": float}, key="id", graph=graph)
    t.upsert({"id": [1, 2], "x": [1, 2], "y": [0.5, 1.5]})
    graph.step()
    long = t.unpivot(index="id")
    seen = []
    held = long.subscribe(lambda u: seen.append((u.modified_rows().to_dicts(), u.added_rows().to_dicts())))
    t.upsert({"id": [2], "x": [9], "y": [1.5]})
    graph.step()
    assert seen == [([{"value": 9.0}], [])]
    assert long.rows() == [(1, "x", 1.0), (2, "x", 9.0), (1, "y", 0.5), (2, "y", 1.5)]
    held.cancel()


def test_what_unpivot_refuses(trades):
    for call, kind, words in [
        (lambda: trades.unpivot("sid"), tf.errors.ColumnNotFoundError, "unpivot: no column 'sid'"),
        (lambda: trades.unpivot("size", index="d"), tf.errors.ColumnNotFoundError, "unpivot: no column 'd'"),
        (lambda: trades.unpivot([]), ValueError, "unpivot: there is no column to make rows of"),
        (lambda: trades.unpivot(index=trades.columns), ValueError, "unpivot: there is no column to make rows of"),
        (lambda: trades.unpivot(["day", "size"]), tf.errors.TypeMismatchError, "unpivot: columns 'day' and 'size'"),
        (
            lambda: trades.unpivot("px", index="day", value_name="day"),
            tf.errors.DuplicateError,
            'unpivot: column "day" would appear twice',
        ),
    ]:
        with pytest.raises(kind, match=words):
            call()


# Columns --------------------------------------------------------------------------------------------------------------


def test_unnest_beside_polars():
    data = {"k": ["a", "b"], "at": [{"x": 1, "y": None}, None], "to": [{"z": "p"}, {"z": "q"}]}
    t, frame = tf.table(data), pl.DataFrame(data)
    for options in ({}, {"separator": "."}):
        assert t.unnest("at", "to", **options).to_dicts() == frame.unnest("at", "to", **options).to_dicts()
        assert t.unnest(["at"], **options).to_dicts() == frame.unnest("at", **options).to_dicts()
        assert t.unnest(**options).columns == t.unnest("at", "to", **options).columns
    assert t.select("k").unnest().columns == ["k"]
    for call, kind, words in [
        (
            lambda: t.unnest("k"),
            tf.errors.TypeMismatchError,
            "unnest: column 'k' is String; fields are those of structs",
        ),
        (lambda: t.unnest("q"), tf.errors.ColumnNotFoundError, "unnest: no column 'q'"),
        (lambda: t.rename({"k": "x"}).unnest("at"), tf.errors.DuplicateError, 'unnest: column "x" would appear twice'),
    ]:
        with pytest.raises(kind, match=words):
            call()


def test_select_distinct_takes_formulas(trades):
    half = 2
    assert trades.select_distinct("Day = day", "Odd = size % half").shape == (5, 2)
    assert sorted_rows(trades.select_distinct("side").to_dicts()) == sorted_rows(
        trades.select("side").unique().to_dicts()
    )
    assert trades.select_distinct().shape == (5, 4)
    assert half == 2
    with pytest.raises(tf.errors.ColumnNotFoundError, match='select_distinct: no column "nope"'):
        trades.select_distinct("Q = nope")


def test_move_columns(trades):
    assert trades.move_columns(0, "px").columns == ["px", "day", "side", "size"]
    assert trades.move_columns(-1, ["day", "side"]).columns == ["size", "px", "day", "side"]
    assert trades.move_columns(-2, "day").columns == ["side", "size", "day", "px"]
    with pytest.raises(ValueError, match="move_columns: 3 other columns, so index is at most 3, not 4"):
        trades.move_columns(4, "px")
    with pytest.raises(tf.errors.ColumnNotFoundError, match="move_columns: no column 'p'"):
        trades.move_columns(0, "p")


# Utilities ------------------------------------------------------------------------------------------------------------


def test_with_attributes():
    t = tf.append_table({"x": int}, graph=tf.Graph())
    named = t.with_attributes({"unit": "m"}).with_attributes({"of": [1]})
    assert dict(named.attributes) == {**t.attributes, "unit": "m", "of": [1]}
    assert "unit" not in t.attributes
    assert "unit" not in named.head(1).attributes
    assert named.filter(tf.col("x") > 1)._native.identity == t.filter(tf.col("x") > 1)._native.identity
    with pytest.raises(ValueError, match="with_attributes: 'blink' is a contract, which a table keeps or does not"):
        t.with_attributes({"blink": True})
    with pytest.raises(TypeError, match="with_attributes: give a dict"):
        t.with_attributes("unit")
    with pytest.raises(TypeError, match="with_attributes: the name of an attribute is a str"):
        t.with_attributes({1: 2})


def test_to_string():
    t = tf.table({"x": range(100), "y": range(100)})
    assert t.to_string(100).count("┆") == 103
    assert "y" not in t.to_string(columns="x")
    assert t.to_string() == str(t)
    with pytest.raises(ValueError, match="to_string: n is from 1 to 65536, not 0"):
        t.to_string(0)
    with pytest.raises(tf.errors.ColumnNotFoundError):
        t.to_string(columns="z")


def test_cells_inside_cells_are_told_apart_as_others():
    nan = float("nan")
    stamps = pa.struct([("t", pa.timestamp("ns")), ("f", pa.float64())])
    maps = pa.map_(pa.string(), pa.float64())

    def made(stamp, value):
        columns = {
            "s": pa.array([{"t": stamp, "f": nan}, None], stamps),
            "m": pa.array([[("a", nan), ("b", value)], None], maps),
            "l": pa.array([[nan, None], []], pa.list_(pa.float64())),
        }
        return tf.from_arrow(pa.table(columns))

    assert tf.table_diff(made(1001, 1.0), made(1001, 1.0), 9) == ""
    assert tf.table_diff(made(1001, nan), made(1001, nan), 9) == ""
    found = tf.table_diff(made(1001, 1.0), made(1002, 2.0), 9).split("\n")
    assert len(found) == 2
    assert "000001001" in found[0]
    assert "000001002" in found[0]
    assert found[1].startswith("row 0: column 'm' is")


def test_table_diff():
    nan = float("nan")
    stamps = pa.array([1, 2, 3], pa.timestamp("ns"))
    t = tf.table({"x": [1, 2, 3], "f": [nan, None, 0.5], "l": [[1], None, [2]], "at": stamps})
    assert tf.table_diff(t, t) == ""
    assert tf.table_diff(t, t.select("f", "x", "at", "l"), ignore_column_order=True) == ""
    assert tf.table_diff(t, t.select("f", "x", "at", "l")).startswith(
        "the columns are ['x', 'f', 'l', 'at'] in the first"
    )
    other = tf.table(
        {"x": [1, 5, 3], "f": [nan, 1.0, 0.5], "l": [[1], None, [3]], "at": pa.array([1, 2, 4], stamps.type)}
    )
    found = tf.table_diff(t, other, max_diffs=9).split("\n")
    assert found[:3] == [
        "row 1: column 'x' is 2 in the first, 5 in the second",
        "row 1: column 'f' is None in the first, 1.0 in the second",
        "row 2: column 'l' is [2] in the first, [3] in the second",
    ]
    assert len(found) == 4
    assert found[3] == (
        "row 2: column 'at' is 1970-01-01T00:00:00.000000003 in the first, 1970-01-01T00:00:00.000000004 in the second"
    )
    assert tf.table_diff(t, other) == found[0]
    assert tf.table_diff(t, t.head(2)) == "3 rows in the first, 2 in the second"
    assert (
        tf.table_diff(t, t.rename({"x": "y"}), 2)
        == "column 'x' is in the first alone\ncolumn 'y' is in the second alone"
    )
    assert tf.table_diff(t, t.cast({"x": float})) == "column 'x' is Int64 in the first, Float64 in the second"
    with pytest.raises(TypeError, match="table_diff: b is a table, not"):
        tf.table_diff(t, {"x": [1]})
    with pytest.raises(ValueError, match="table_diff: max_diffs must be 0 or more"):
        tf.table_diff(t, t, -1)


def test_live_tables_of_one_graph_are_compared_at_one_step():
    t = tf.append_table({"x": int}, graph=tf.Graph())
    doubled = t.with_columns(tf.col("x") * 2)
    t.append({"x": [0, 1]})
    t.graph.step()
    assert tf.table_diff(t, doubled) == "row 1: column 'x' is 1 in the first, 2 in the second"


# Rows by position -----------------------------------------------------------------------------------------------------


def test_both_ends_of_a_slice_may_go_with_the_size():
    source = tf.append_table({"x": int}, graph=tf.Graph())
    cases = {
        (1, -1): None,
        (-3, 4): None,
        (None, -2): None,
        (2, None): None,
        (-2, None): None,
        (4, 1): None,
        (0, 3): None,
    }
    live = {ends: source.slice(start=ends[0], stop=ends[1]) for ends in cases if ends != (None, None)}
    indexed = {ends: source[ends[0] : ends[1]] for ends in cases}
    for rows in ([], [1], [2, 3], [4, 5, 6, 7]):
        source.append({"x": rows})
        source.graph.step()
        now = source.to_dict()["x"]
        for ends in cases:
            wanted = now[ends[0] : ends[1]]
            assert live[ends].to_dict()["x"] == indexed[ends].to_dict()["x"] == wanted, (ends, now)
            assert source.snapshot().slice(start=ends[0], stop=ends[1]).to_dict()["x"] == wanted


@pytest.mark.parametrize("size", [0, 1, 3, 10])
def test_parts_of_the_rows(size):
    t = tf.table({"x": list(range(size))}, schema={"x": int})
    for part in (0, 0.1, 0.5, 0.99, 1):
        assert t.head_pct(part).height == t.tail_pct(part).height == -int(-part * size // 1)
        assert t.slice_pct(part, 1).height == size - int(part * size)
    assert t.slice_pct(0.5, 0.2).height == 0
    assert t.tail_pct(0.5).to_dict()["x"] == list(range(size))[size - -(-size // 2) :]


def test_percentages_are_meant_as_they_are_written():
    for size in (10, 50, 100, 200, 1000):
        t = tf.empty_table(size)
        for percent in range(101):
            rows = percent * size
            assert t.head_pct(percent / 100).height == t.tail_pct(percent / 100).height == -(-rows // 100)
            assert t.slice_pct(percent / 100, 1).height == size - rows // 100
    assert tf.empty_table(900).head_pct(1 / 3).height == tf.empty_table(900).slice_pct(2 / 3, 1).height == 300


def test_what_parts_refuse():
    t = tf.table({"x": [1]})
    blink = tf.blink_table({"x": int}, graph=tf.Graph())
    for call, kind, words in [
        (lambda: t.head_pct(1.5), ValueError, "head_pct: pct is a part of the rows, from 0 to 1, not 1.5"),
        (lambda: t.tail_pct(float("nan")), ValueError, "tail_pct: pct is a part of the rows, from 0 to 1, not nan"),
        (lambda: t.slice_pct(-1, 1), ValueError, "slice_pct: start_pct is a part of the rows"),
        (lambda: t.slice_pct(0, "1"), TypeError, "slice_pct: end_pct is a number from 0 to 1, not"),
        (lambda: t.slice(1, stop=2), TypeError, "slice: give offset and length, or start= and stop="),
        (t.slice, TypeError, "slice: offset must be an int, not NoneType"),
        (lambda: t.slice(start=0.5, stop=1), TypeError, "slice: start must be an int"),
        (
            lambda: blink.head_pct(0.5),
            tf.errors.InvalidOperationError,
            "head_pct: the rows of a blink table live for one",
        ),
        (
            lambda: blink.slice(start=1, stop=-1),
            tf.errors.InvalidOperationError,
            "slice: the rows of a blink table live",
        ),
        *(
            (cut, tf.errors.InvalidOperationError, "slice: the rows of a blink table live for one step.*head and tail")
            for cut in (
                lambda: blink.slice(0, 2),
                lambda: blink.slice(-2, 2),
                lambda: blink.slice(start=0, stop=2),
                lambda: blink[:2],
                lambda: blink[-2:],
            )
        ),
        (lambda: t.flatten(1), TypeError, r"^flatten\(\) takes 1 positional argument"),
        (lambda: t.slice_pct(0.1), TypeError, r"^slice_pct\(\) missing 1 required positional argument"),
        (lambda: t.to_string(2, "zz"), tf.errors.ColumnNotFoundError, "to_string: no column 'zz'"),
        (lambda: t.select_distinct("X = x", "X = x"), tf.errors.DuplicateError, 'select_distinct: column "X" would'),
        (lambda: t.group_by("x").head(-1), ValueError, "head: n must be 0 or more, not -1"),
        (lambda: t.group_by().tail(1), ValueError, "tail: group_by names no column"),
        (lambda: tf.ring_table(t, -1), ValueError, "ring_table: n must be 1 or more, not -1"),
    ]:
        with pytest.raises(kind, match=words):
            call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: t.explode(), r"^explode\(\) missing 1 required positional argument: 'columns'"),
        (lambda t: t.pivot("x", index="x"), r"^pivot\(\) missing 1 required positional argument: 'on_columns'"),
        (lambda t: t.sort(), r"^sort\(\) missing 1 required positional argument: 'by'"),
    ],
)
def test_a_missing_argument_is_told_of_the_method(call, message):
    with pytest.raises(TypeError, match=message):
        call(tf.table({"x": [1]}))
