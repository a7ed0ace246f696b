"""Every option of `pydeephaven`, as its documentation has it, with answers that were worked out by hand."""

import datetime as dt
import itertools
import math
import pathlib
import re
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pydeephaven as dh
import pytest
from pydeephaven import agg, filters, updateby
from pydeephaven.dherror import DHError
from pydeephaven.experimental.plugin_client import Fetchable, PluginClient
from pydeephaven.table import InputTable, MultiJoinInput, MultiJoinTable
from pydeephaven.ticket import ExportTicket, ScopeTicket, ServerObject, SharedTicket
from pydeephaven.updateby import BadDataBehavior, DeltaControl, MathContext, OperationControl

import tickframe as tf
from deephaven_clients import PSK, collected_between_calls, column, connect, deephaven_calls, port_of, rows

__all__ = ["collected_between_calls"]

TESTS = pathlib.Path(__file__).parent
TLS = TESTS.parent / "golden" / "tls"
PAGE = TESTS.parent.parent / "docs" / "deephaven-clients.md"
SECOND = 1_000_000_000
ASCENDING, DESCENDING = dh.SortDirection.ASCENDING, dh.SortDirection.DESCENDING


@pytest.fixture(scope="module")
def srv(graph):
    trades = tf.append_table({"sym": str, "px": float}, graph=graph)
    trades.append({"sym": ["A", "B", "A"], "px": [1.0, 2.0, 3.0]}).wait(10)
    with tf.serve({"trades": trades, "by_sym": trades.partition_by("sym")}, graph=graph) as server:
        yield server


@pytest.fixture
def session(srv):
    session = connect(srv)
    yield session
    session.close()


@pytest.fixture
def made(session):
    """Makes a table of columns."""

    def make(**columns):
        return session.import_table(pa.table(columns))

    return make


@pytest.fixture
def both(session):
    """Runs an operation twice, by a call of its own and in a batch; both say the same."""

    def run(table, name, *args, **options):
        plain = getattr(table, name)(*args, **options).to_arrow().to_pydict()
        batch = getattr(session.query(table), name)(*args, **options).exec().to_arrow().to_pydict()
        assert repr(batch) == repr(plain)
        return plain

    return run


def wrong(session, table, name, *args, **options):
    """An operation that goes neither by a call of its own nor in a batch, for a reason that the server tells."""
    for run in (
        lambda: getattr(table, name)(*args, **options),
        lambda: getattr(session.query(table), name)(*args, **options).exec(),
    ):
        with pytest.raises(DHError) as caught:
            run()
        told(caught.value)


def told(error):
    """The mistake is the caller's, as far as the server says."""
    while error is not None:
        assert not any(code in str(error) for code in ("StatusCode.INTERNAL", "StatusCode.UNKNOWN")), error
        error = error.__cause__ or error.__context__


SILENT = {
    "median of texts": lambda t: t.agg_by(agg.median("k"), []),
    "part of texts": lambda t: t.agg_by(agg.pct(0.5, "k", average_evenly_divided=True), []),
    "null that is a value, without a sentinel": lambda t: t.agg_by(agg.unique("x", include_nulls=True), "k"),
    "nulls alone that are a value": lambda t: t.where("isNull(x)").agg_by(agg.unique("x", True, np.int64(7)), "k"),
    "sum of texts": lambda t: t.sum_by(),
    "sum of texts by name": lambda t: t.agg_by(agg.sum_("k"), []),
    "numbers of any case": lambda t: t.where(filters.in_("x", [1, 2], case_sensitive=False)),
    "equal numbers of any case": lambda t: t.where(filters.eq(filters.ColumnName("x"), 2, case_sensitive=False)),
    "in nothing": lambda t: t.where(filters.in_("x", [])),
    "no filters": lambda t: t.where([]),
    "a pattern that is none": lambda t: t.where(filters.matches("k", "(")),
    "less than a text": lambda t: t.where(filters.lt(filters.ColumnName("x"), "a")),
    "a slice to zero": lambda t: t.slice(2, 0),
    "fewer rows than none": lambda t: t.head(-1),
    "a part beyond the whole": lambda t: t.agg_by(agg.pct(1.5, "y"), []),
    "a window that ends before it begins": lambda t: t.update_by(updateby.rolling_sum_tick("v = y", 1, -5)),
    "decay by nothing": lambda t: t.update_by(updateby.ema_tick(0.0, "v = y")),
    "no columns": lambda t: t.drop_columns([]),
    "no order": lambda t: t.sort([]),
    "fewer directions than columns": lambda t: t.sort(["k", "y"], DESCENDING),
    "bits below zero": lambda t: t.join(t.view(["k", "z = y"]), "k", reserve_bits=-1),
}


@pytest.mark.parametrize("what", SILENT)
def test_where_the_documentation_is_silent_there_is_an_answer_or_a_reason(t, what):
    try:
        made = SILENT[what](t)
    except (DHError, ValueError, TypeError) as error:
        told(error)
    else:
        made.to_arrow()


def near(expected):
    """The same, but for the last digits."""
    if isinstance(expected, list):
        return [near(each) for each in expected]
    return pytest.approx(expected, rel=1e-9, nan_ok=True) if isinstance(expected, float) else expected


@pytest.fixture
def t(made):
    return made(k=["a", "b", "a", "b", "a"], x=[1, 2, 3, 4, None], y=[1.5, 2.5, 3.5, 4.5, 5.5])


@pytest.mark.parametrize("name", ["update", "lazy_update", "update_view"])
def test_new_columns_stand_beside_the_old_ones(both, t, name):
    short = t.view(["x", "y"]).head(2)
    assert both(short, name, "z = x + 1") == {"x": [1, 2], "y": [1.5, 2.5], "z": [2, 3]}
    assert both(short, name, ["z = x + 1", "w = z * 2"])["w"] == [4, 6]


@pytest.mark.parametrize("name", ["view", "select"])
def test_new_columns_stand_alone(both, t, name):
    assert both(t, name, "z = x + 1") == {"z": [2, 3, 4, 5, None]}
    assert both(t, name, ["y", "z = y * 2"]) == {"y": [1.5, 2.5, 3.5, 4.5, 5.5], "z": [3.0, 5.0, 7.0, 9.0, 11.0]}


def test_columns_are_chosen_left_out_and_made_distinct(both, made, t):
    assert list(both(t, "select")) == ["k", "x", "y"]
    assert list(both(t, "drop_columns", "x")) == ["k", "y"]
    assert list(both(t, "drop_columns", ["x", "k"])) == ["y"]
    twice = made(k=["b", "a", "b", "b"], x=[1, 2, 1, 3])
    assert both(twice, "select_distinct", "k") == {"k": ["b", "a"]}
    assert both(twice, "select_distinct", ["x", "k"]) == {"x": [1, 2, 3], "k": ["b", "a", "b"]}
    assert both(twice, "select_distinct") == {"k": ["b", "a", "b"], "x": [1, 2, 3]}


def test_order_of_one_and_of_several_columns(both, t):
    assert both(t, "sort", "y", DESCENDING)["y"] == [5.5, 4.5, 3.5, 2.5, 1.5]
    assert both(t, "sort", "y", ASCENDING)["y"] == [1.5, 2.5, 3.5, 4.5, 5.5]
    assert both(t, "sort", ["k", "y"])["y"] == [1.5, 3.5, 5.5, 2.5, 4.5]
    assert both(t, "sort", ["k", "y"], [DESCENDING, ASCENDING])["y"] == [2.5, 4.5, 1.5, 3.5, 5.5]
    assert both(t, "sort", order_by=["k", "y"], order=[ASCENDING, DESCENDING])["y"] == [5.5, 3.5, 1.5, 4.5, 2.5]
    assert column(t.sort_descending("y"), "y") == [5.5, 4.5, 3.5, 2.5, 1.5]
    assert column(t.sort_descending(["y"]), "y") == [5.5, 4.5, 3.5, 2.5, 1.5]


def test_rows_of_the_beginning_and_the_end(both, t):
    assert both(t, "head", 2)["y"] == [1.5, 2.5]
    assert both(t, "head", 9)["y"] == [1.5, 2.5, 3.5, 4.5, 5.5]
    assert both(t, "tail", num_rows=2)["y"] == [4.5, 5.5]
    assert both(t, "tail", 0)["y"] == []
    assert both(t, "head_by", 1, "k")["y"] == [1.5, 2.5]
    assert sorted(both(t, "head_by", num_rows=2, by=["k"])["y"]) == [1.5, 2.5, 3.5, 4.5]
    assert sorted(both(t, "tail_by", 1, "k")["y"]) == [4.5, 5.5]
    assert sorted(both(t, "tail_by", num_rows=1, by=["k", "x"])["y"]) == [1.5, 2.5, 3.5, 4.5, 5.5]


SLICED = {
    (0, 5): [0, 1, 2, 3, 4],
    (-5, 0): [5, 6, 7, 8, 9],
    (2, 6): [2, 3, 4, 5],
    (3, 3): [],
    (8, 20): [8, 9],
    (20, 30): [],
    (-6, -2): [4, 5, 6, 7],
    (-2, -1): [8],
    (-20, -8): [0, 1],
    (2, -3): [2, 3, 4, 5, 6],
    (1, -1): [1, 2, 3, 4, 5, 6, 7, 8],
    (6, -7): [],
    (2, -20): [],
    (-6, 8): [4, 5, 6, 7],
    (-20, 3): [0, 1, 2],
}


@pytest.mark.parametrize(("start", "stop"), SLICED)
def test_slices_count_from_either_end(both, made, start, stop):
    assert both(made(x=list(range(10))), "slice", start=start, stop=stop)["x"] == SLICED[start, stop]


@pytest.mark.parametrize(("start", "stop"), [(6, 2), (-2, -6)])
def test_slices_that_end_before_they_begin_are_mistakes(session, made, start, stop):
    wrong(session, made(x=list(range(10))), "slice", start, stop)


def test_filters_are_texts_and_objects_one_and_several(both, t):
    x, y = filters.ColumnName("x"), filters.ColumnName("y")
    assert both(t, "where", "x > 1")["x"] == [2, 3, 4]
    assert both(t, "where", ["x > 1", "y < 4"])["x"] == [2, 3]
    assert both(t, "where", filters.gt(x, 1))["x"] == [2, 3, 4]
    assert both(t, "where", [filters.gt(x, 1), filters.lt(y, 4.0)])["x"] == [2, 3]


INSTANTS = [dt.datetime(2024, 3, 31, hour, tzinfo=dt.UTC) for hour in (1, 2, 3)]
TESTED = {
    "i": pa.array([1, 2, 3, None], pa.int64()),
    "j": pa.array([2, 2, 2, None], pa.int64()),
    "f": [0.5, 1.5, 2.5, None],
    "b": [True, False, True, None],
    "s": ["one", "Two", "three", None],
    "u": ["One", "Two", "x", None],
    "t": pa.array([*INSTANTS, None], pa.timestamp("ns", "UTC")),
    "n": [0, 1, 2, 3],
}
MIDDLE = INSTANTS[1]
MIDDLES = [MIDDLE, pd.Timestamp(MIDDLE), np.datetime64("2024-03-31T02:00:00")]
NAME = filters.ColumnName
BOUNDS = {"i": 2, "f": 1.5, "s": "one"}
# Texts go by their characters: "Two" < "one" < "three".
COMPARED = {
    "eq": {"i": [1], "f": [1], "s": [0]},
    "ne": {"i": [0, 2], "f": [0, 2], "s": [1, 2]},
    "lt": {"i": [0], "f": [0], "s": [1]},
    "le": {"i": [0, 1], "f": [0, 1], "s": [0, 1]},
    "gt": {"i": [2], "f": [2], "s": [2]},
    "ge": {"i": [1, 2], "f": [1, 2], "s": [0, 2]},
}
TURNED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


@pytest.fixture
def tested(session):
    return session.import_table(pa.table(TESTED))


@pytest.mark.parametrize("name", COMPARED)
def test_columns_are_compared_with_values_and_with_columns(tested, name):
    make, turned = getattr(filters, name), getattr(filters, TURNED[name])
    values = [(of, value, COMPARED[name][of]) for of, value in BOUNDS.items()]
    values += [("t", value, COMPARED[name]["i"]) for value in MIDDLES]
    some = tested.head(3)
    for of, value, expected in values:
        assert column(some.where(make(NAME(of), value)), "n") == expected, (of, value)
        assert column(some.where(turned(value, NAME(of))), "n") == expected, (of, value)
    assert column(some.where(make(NAME("i"), NAME("j"))), "n") == COMPARED[name]["i"]


def test_instants_are_compared_with_days(tested):
    before, after = dt.date(2024, 3, 29), dt.date(2024, 4, 2)
    for given in (filters.gt(NAME("t"), before), filters.ge(after, NAME("t")), filters.ne(before, NAME("t"))):
        assert column(tested.head(3).where(given), "n") == [0, 1, 2]
    for given in (filters.lt(NAME("t"), before), filters.le(after, NAME("t")), filters.eq(NAME("t"), after)):
        assert column(tested.head(3).where(given), "n") == []


def test_truths_and_texts_of_any_case_are_equal_or_not(tested):
    some = tested.head(3)
    for make, of_true, of_false, exact, any_case in [
        (filters.eq, [0, 2], [1], [1], [0, 1]),
        (filters.ne, [1], [0, 2], [0, 2], [2]),
    ]:
        assert column(some.where(make(NAME("b"), True)), "n") == of_true
        assert column(some.where(make(False, NAME("b"))), "n") == of_false
        assert column(some.where(make(NAME("s"), NAME("u"), case_sensitive=True)), "n") == exact
        assert column(some.where(make(NAME("s"), NAME("u"), case_sensitive=False)), "n") == any_case
        assert column(some.where(make("ONE", NAME("s"), case_sensitive=False)), "n") == (
            [0] if make is filters.eq else [1, 2]
        )


CHOSEN = {
    "whole": (filters.in_("i", [1, 3, 7]), [0, 2]),
    "real": (filters.in_("f", [0.5, 2.5]), [0, 2]),
    "true": (filters.in_("b", [True]), [0, 2]),
    "text": (filters.in_("s", ["one", "two"]), [0]),
    "text_as_it_is": (filters.in_("s", ["one", "two"], case_sensitive=True), [0]),
    "text_of_any_case": (filters.in_("s", ["ONE", "two"], case_sensitive=False), [0, 1]),
    "null": (filters.is_null("s"), [3]),
    "null_number": (filters.is_null("f"), [3]),
    "not_null": (filters.is_not_null("s"), [0, 1, 2]),
    "contains": (filters.contains("s", "T"), [1]),
    "contains_any_case": (filters.contains("s", "T", case_sensitive=False), [1, 2]),
    "contains_not": (filters.contains("s", "T", invert=True), [0, 2]),
    "contains_not_any_case": (filters.contains("s", "T", True, False), [0]),
    "contains_signs": (filters.contains("s", ".", invert=False, case_sensitive=True), []),
    "matches": (filters.matches("s", "[a-z]*e"), [0, 2]),
    "matches_any_case": (filters.matches("s", "T.*", case_sensitive=False), [1, 2]),
    "matches_not": (filters.matches("s", "T.*", invert=True), [0, 2]),
    "matches_not_any_case": (filters.matches("s", "T.*", True, False), [0]),
    "matches_either": (filters.matches("s", "one|two", invert=False, case_sensitive=True), [0]),
    "or_": (filters.or_([filters.is_null("i"), filters.eq(NAME("i"), 2)]), [1, 3]),
    "or_of_one": (filters.or_([filters.eq(NAME("i"), 2)]), [1]),
    "and_": (filters.and_([filters.is_not_null("i"), filters.ne(NAME("i"), 2), filters.gt(NAME("f"), 1)]), [2]),
    "not_": (filters.not_(filters.is_null("i")), [0, 1, 2]),
    "not_in": (filters.not_(filters.in_("i", [1, 3])), [1, 3]),
    "not_contains": (filters.not_(filters.contains("s", "T")), [0, 2, 3]),
    "not_less": (filters.not_(filters.lt(NAME("i"), 2)), [1, 2, 3]),
    "not_and": (filters.not_(filters.and_([filters.eq(NAME("i"), 2), filters.eq(NAME("b"), False)])), [0, 2, 3]),
    "deep": (
        filters.or_([filters.and_([filters.eq(NAME("b"), True), filters.gt(NAME("i"), 1)]), filters.is_null("u")]),
        [2, 3],
    ),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_structured_filters_choose_these_rows(both, tested, name):
    given, expected = CHOSEN[name]
    assert both(tested, "where", given)["n"] == expected


@pytest.fixture
def people(made):
    return made(k=["a", "b", None], j=["a", "b", "c"], name=["Ann", "Bob", "Nil"], age=[30, 40, 50])


@pytest.mark.parametrize("name", ["natural_join", "exact_join", "join"])
def test_joins_match_by_one_name_or_two_and_add_some_columns_or_all(both, made, people, name):
    left = made(k=["a", "b", "a"], x=[1, 2, 3])
    assert both(left, name, people, "k", "name") == {
        "k": ["a", "b", "a"],
        "x": [1, 2, 3],
        "name": ["Ann", "Bob", "Ann"],
    }
    assert both(left, name, people, on=["k"], joins=["who = name", "age"]) == {
        "k": ["a", "b", "a"], "x": [1, 2, 3], "who": ["Ann", "Bob", "Ann"], "age": [30, 40, 30]
    }  # fmt: skip
    assert both(left, name, people, "k = j", "name")["name"] == ["Ann", "Bob", "Ann"]
    assert both(left, name, people, ["k", "k = j"], ["name"])["name"] == ["Ann", "Bob", "Ann"]
    rest = both(left, name, people.drop_columns(["j"]), "k")
    assert rest == {"k": ["a", "b", "a"], "x": [1, 2, 3], "name": ["Ann", "Bob", "Ann"], "age": [30, 40, 30]}
    assert both(left, name, people.drop_columns(["k"]), ["k = j"])["age"] == [30, 40, 30]


def test_several_right_rows_go_as_the_type_of_the_join_says(session, both, made):
    kinds = dh.NaturalJoinType
    left, two = made(k=["a", "b", "c"]), made(k=["a", "a", "b"], v=[1, 2, 3])
    for kind in (kinds.ERROR_ON_DUPLICATE, kinds.EXACTLY_ONE_MATCH):
        wrong(session, left, "natural_join", two, "k", type=kind)
    wrong(session, left, "natural_join", two, "k")
    assert both(left, "natural_join", two, "k", type=kinds.FIRST_MATCH)["v"] == [1, 3, None]
    assert both(left, "natural_join", two, ["k"], ["v"], kinds.LAST_MATCH)["v"] == [2, 3, None]
    one = two.tail(2)
    assert both(left, "natural_join", one, "k", type=kinds.ERROR_ON_DUPLICATE)["v"] == [2, 3, None]
    wrong(session, left, "natural_join", one, "k", type=kinds.EXACTLY_ONE_MATCH)
    assert both(left.head(2), "natural_join", one, "k", type=kinds.EXACTLY_ONE_MATCH)["v"] == [2, 3]
    wrong(session, left, "exact_join", one, "k")
    wrong(session, left, "exact_join", two, "k")


def test_a_join_has_every_match_and_without_columns_every_pair(both, made):
    left, right = (
        made(a=[1, 1, 2, 3], b=["x", "y", "x", "x"]),
        made(c=[1, 1, 2, 4], b=["x", "x", "x", "x"], v=[1, 2, 3, 4]),
    )
    assert both(left, "join", right, ["a = c", "b"], "v") == {"a": [1, 1, 2], "b": ["x", "x", "x"], "v": [1, 2, 3]}
    assert both(left, "join", right, on="a = c", joins=["v", "o = b"], reserve_bits=2) == {
        "a": [1, 1, 1, 1, 2],
        "b": ["x", "x", "y", "y", "x"],
        "v": [1, 2, 1, 2, 3],
        "o": ["x", "x", "x", "x", "x"],
    }
    pairs = both(left.view("a").head(2), "join", right.view(["c", "v"]).tail(2), reserve_bits=20)
    assert pairs == {"a": [1, 1, 1, 1], "c": [2, 4, 2, 4], "v": [3, 4, 3, 4]}
    assert both(left.head(1), "join", right.head(2), joins="v")["v"] == [1, 2]


AS_OF = {
    "aj": {">=": ["a", "a", "c"], ">": [None, "a", "b"]},
    "raj": {"<=": ["a", "b", "c"], "<": ["b", "b", None]},
}


@pytest.mark.parametrize("name", AS_OF)
def test_joins_in_order_take_the_closest_row(session, both, made, name):
    left, right = made(t=[2, 4, 9], k=["x", "x", "y"]), made(u=[2, 5, 9], v=["a", "b", "c"], j=["x", "x", "x"])
    for sign, expected in AS_OF[name].items():
        assert both(left, name, right, f"t {sign} u", "v") == {"t": [2, 4, 9], "k": ["x", "x", "y"], "v": expected}
        assert both(left, name, right, [f"t{sign}u"], ["w = v"])["w"] == expected
        within = [*expected[:2], None]
        assert both(left, name, right, on=["k = j", f"t {sign} u"], joins=["v"])["v"] == within
    common = right.view(["t = u", "v", "k = j"])
    equal = next(iter(AS_OF[name].values()))
    assert both(left, name, common, "t", "v")["v"] == equal
    assert both(left, name, common, ["k", "t"])["v"] == [*equal[:2], None]
    assert both(left.view("t"), name, common, ["t"]) == {"t": [2, 4, 9], "v": equal, "k": ["x", "x", "x"]}
    assert both(left.view("t"), name, right, f"t {'>=' if name == 'aj' else '<='} u")["v"] == equal
    other = "<" if name == "aj" else ">"
    wrong(session, left, name, right, f"t {other} u", "v")


def test_rows_whose_values_another_table_has_or_has_not(both, made, t):
    wanted = made(k=["a", "c"], j=["b", "b"], x=[3, 2])
    assert both(t, "where_in", wanted, "k")["y"] == [1.5, 3.5, 5.5]
    assert both(t, "where_in", filter_table=wanted, cols=["k", "x"])["y"] == [3.5]
    assert both(t, "where_in", wanted, "k = j")["y"] == [2.5, 4.5]
    assert both(t, "where_not_in", wanted, "k")["y"] == [2.5, 4.5]
    assert both(t, "where_not_in", filter_table=wanted, cols=["k", "x"])["y"] == [1.5, 2.5, 4.5, 5.5]
    assert both(t, "where_not_in", wanted, "k = j")["y"] == [1.5, 3.5, 5.5]


def sorted_rows(table):
    return sorted(table.to_arrow().to_pylist(), key=lambda row: row["k"])


def test_tables_are_joined_by_the_keys_of_all(made):
    one, two, three = made(k=["a", "b"], x=[1, 2]), made(k=["b", "c"], y=[3, 4]), made(j=["a", "d"], x=[5, 6], y=[7, 8])
    joined = dh.table.multi_join([one, two], on="k")
    assert isinstance(joined, MultiJoinTable)
    expected = [{"k": "a", "x": 1, "y": None}, {"k": "b", "x": 2, "y": 3}, {"k": "c", "x": None, "y": 4}]
    assert sorted_rows(joined.table) == expected
    assert sorted_rows(dh.table.multi_join([one, two], ["k"]).table) == expected
    assert sorted_rows(dh.table.multi_join(one, "k").table) == [{"k": "a", "x": 1}, {"k": "b", "x": 2}]
    assert sorted_rows(dh.table.multi_join(three, "k = j").table) == [
        {"k": "a", "x": 5, "y": 7},
        {"k": "d", "x": 6, "y": 8},
    ]
    assert sorted_rows(dh.table.multi_join(MultiJoinInput(two, "k")).table) == [{"k": "b", "y": 3}, {"k": "c", "y": 4}]
    several = [
        MultiJoinInput(one, on="k"),
        MultiJoinInput(table=two, on=["k"], joins="y"),
        MultiJoinInput(three, "k = j", ["z = x"]),
        MultiJoinInput(three, ["k = j"], ["u = y", "w = x"]),
    ]
    none = {"x": None, "y": None, "z": None, "u": None, "w": None}
    assert sorted_rows(dh.table.multi_join(input=several).table) == [
        {**none, "k": "a", "x": 1, "z": 5, "u": 7, "w": 5},
        {**none, "k": "b", "x": 2, "y": 3},
        {**none, "k": "c", "y": 4},
        {**none, "k": "d", "z": 6, "u": 8, "w": 6},
    ]
    pairs = [made(k=["a", "a"], l=[1, 2], x=[3, 4]), made(k=["a"], l=[2], y=[5])]
    assert rows(dh.table.multi_join(pairs, ["k", "l"]).table) == [
        {"k": "a", "l": 1, "x": 3, "y": None}, {"k": "a", "l": 2, "x": 4, "y": 5}
    ]  # fmt: skip


def test_tables_with_a_key_twice_are_not_joined(made):
    with pytest.raises(DHError) as caught:
        dh.table.multi_join([made(k=["a", "a"], x=[1, 2]), made(k=["a"], y=[1])], on="k")
    told(caught.value)
    with pytest.raises(DHError):
        dh.table.multi_join([MultiJoinInput(made(k=["a"], x=[1]), "k")], on="k")


def test_lists_are_unwrapped_and_filled_up(session, both, made):
    t = made(k=["a", "b"], x=[[1, 2, 3], [4]], y=[[1.5], [2.5]])
    even = t.view(["k", "x"])
    assert both(even, "ungroup") == {"k": ["a", "a", "a", "b"], "x": [1, 2, 3, 4]}
    assert both(t, "ungroup") == {"k": ["a", "a", "a", "b"], "x": [1, 2, 3, 4], "y": [1.5, None, None, 2.5]}
    assert both(t, "ungroup", null_fill=True)["y"] == [1.5, None, None, 2.5]
    assert both(t, "ungroup", "x")["y"] == [[1.5], [1.5], [1.5], [2.5]]
    assert both(t, "ungroup", cols=["x", "y"], null_fill=True)["y"] == [1.5, None, None, 2.5]
    assert both(t, "ungroup", ["y"], False)["x"] == [[1, 2, 3], [4]]
    assert both(even, "ungroup", null_fill=False) == {"k": ["a", "a", "a", "b"], "x": [1, 2, 3, 4]}
    wrong(session, t, "ungroup", null_fill=False)
    wrong(session, t, "ungroup", ["x", "y"], False)


BY = {
    "first_by": ({"x": [1], "y": [1.5]}, {"x": [1, 2], "y": [1.5, 2.5]}),
    "last_by": ({"x": [None], "y": [5.5]}, {"x": [None, 4], "y": [5.5, 4.5]}),
    "sum_by": ({"x": [10], "y": [17.5]}, {"x": [4, 6], "y": [10.5, 7.0]}),
    "avg_by": ({"x": [2.5], "y": [3.5]}, {"x": [2.0, 3.0], "y": [3.5, 3.5]}),
    "std_by": (
        {"x": [1.2909944487358056], "y": [1.5811388300841898]},
        {"x": [1.4142135623730951, 1.4142135623730951], "y": [2.0, 1.4142135623730951]},
    ),
    "var_by": ({"x": [1.6666666666666667], "y": [2.5]}, {"x": [2.0, 2.0], "y": [4.0, 2.0]}),
    "median_by": ({"x": [2.5], "y": [3.5]}, {"x": [2.0, 3.0], "y": [3.5, 3.5]}),
    "min_by": ({"x": [1], "y": [1.5]}, {"x": [1, 2], "y": [1.5, 2.5]}),
    "max_by": ({"x": [4], "y": [5.5]}, {"x": [3, 4], "y": [5.5, 4.5]}),
    "group_by": (
        {"x": [[1, 2, 3, 4, None]], "y": [[1.5, 2.5, 3.5, 4.5, 5.5]]},
        {"x": [[1, 3, None], [2, 4]], "y": [[1.5, 3.5, 5.5], [2.5, 4.5]]},
    ),
}


@pytest.mark.parametrize("name", BY)
def test_whole_tables_and_groups_by_one_or_several_columns(both, t, name):
    whole, groups = BY[name]
    expected = {column: near(cells) for column, cells in whole.items()}
    assert both(t.view(["x", "y"]), name) == expected
    expected = {"k": ["a", "b"], **{column: near(cells) for column, cells in groups.items()}}
    assert both(t, name, "k") == expected
    assert both(t, name, by=["k"]) == expected
    assert both(t.update(["g = k"]), name, ["k", "g"]) == {"k": ["a", "b"], "g": ["a", "b"], **expected}


def test_rows_are_counted(both, t):
    assert both(t, "count_by", "n") == {"n": [5]}
    assert both(t, "count_by", "n", "k") == {"k": ["a", "b"], "n": [3, 2]}
    assert both(t, "count_by", col="n", by=["k", "x"]) == {
        "k": ["a", "b", "a", "b", "a"], "x": [1, 2, 3, 4, None], "n": [1, 1, 1, 1, 1]
    }  # fmt: skip


AGGREGATED = {
    "sum_": ((), [5.0, 2.0]),
    "abs_sum": ((), [5.0, 7.0]),
    "avg": ((), [2.5, 1.0]),
    "min_": ((), [1.5, -2.5]),
    "max_": ((), [3.5, 4.5]),
    "first": ((), [1.5, -2.5]),
    "last": ((), [None, 4.5]),
    "std": ((), [1.4142135623730951, 4.949747468305833]),
    "var": ((), [2.0, 24.5]),
    "median": ((), [2.5, 1.0]),
    "pct": ((0.5,), [1.5, -2.5]),
    "count_distinct": ((), [2, 2]),
    "group": ((), [[1.5, 3.5, None], [-2.5, 4.5]]),
    "distinct": ((), [[1.5, 3.5], [-2.5, 4.5]]),
    "unique": ((), [None, None]),
    "weighted_avg": (("w",), [3.0, 13 / 6]),
    "weighted_sum": (("w",), [12.0, 13.0]),
    "sorted_first": (("o",), [3.5, -2.5]),
    "sorted_last": (("o",), [None, 4.5]),
    "formula": (("max(each) - min(each)", "each"), [2.0, 7.0]),
}


@pytest.fixture
def measured(made):
    return made(
        k=["a", "b", "a", "b", "a"],
        v=[1.5, -2.5, 3.5, 4.5, None],
        w=[1, 2, 3, 4, 5],
        o=[5, 1, 4, 2, 6],
    )


@pytest.mark.parametrize("name", AGGREGATED)
def test_aggregations_of_one_of_several_and_of_all_columns(both, measured, name):
    given, expected = AGGREGATED[name]
    make, expected = getattr(agg, name), near(expected)
    assert both(measured, "agg_by", make(*given, cols="v"), "k") == {"k": ["a", "b"], "v": expected}
    assert both(measured, "agg_by", [make(*given, cols=["n = v", "v"])], by=["k"]) == {
        "k": ["a", "b"], "n": expected, "v": expected
    }  # fmt: skip
    both_keys = both(measured.update("g = k"), "agg_by", [agg.count_("n"), make(*given, cols="v")], ["k", "g"])
    assert both_keys == {"k": ["a", "b"], "g": ["a", "b"], "n": [3, 2], "v": expected}
    names = ["k", "v", *[each for each in given if each in {"w", "o"}]]
    assert both(measured.view(names), "agg_all_by", make(*given), "k")["v"] == expected
    assert both(measured.view(names), "agg_all_by", agg=make(*given, cols="nothing"), by=["k"])["v"] == expected


def test_aggregations_that_count_go_not_over_all_columns(session, measured):
    for given in (agg.count_("n"), agg.count_where("n", "w > 1")):
        with pytest.raises(DHError) as caught:
            measured.agg_all_by(given, "k")
        told(caught.value)


def test_conditions_are_counted(both, measured):
    assert both(measured, "agg_by", agg.count_where("n", "w > 1"), "k")["n"] == [2, 2]
    assert both(measured, "agg_by", agg.count_where(col="n", filters=["w > 1", "v > 0"]), "k")["n"] == [1, 1]
    assert both(measured, "agg_by", agg.count_where("n", ["isNull(v)"]), "k")["n"] == [1, 0]


MIDDLE_OF = {
    "median": (agg.median("v"), [2, 25]),
    "median_of_both": (agg.median("v", average_evenly_divided=True), [2, 25]),
    "median_that_is_less": (agg.median("v", average_evenly_divided=False), [2, 20]),
    "half": (agg.pct(0.5, "v"), [2, 20]),
    "half_that_is_less": (agg.pct(0.5, "v", average_evenly_divided=False), [2, 20]),
    "half_of_both": (agg.pct(percentile=0.5, cols="v", average_evenly_divided=True), [2, 25]),
    "least": (agg.pct(0.0, "v"), [1, 10]),
    "greatest": (agg.pct(1.0, "v"), [3, 40]),
    "least_of_both": (agg.pct(0.0, "v", average_evenly_divided=True), [1, 10]),
    "greatest_of_both": (agg.pct(1.0, "v", average_evenly_divided=True), [3, 40]),
}


@pytest.mark.parametrize("kind", [pa.float64(), pa.int64()])
@pytest.mark.parametrize("name", MIDDLE_OF)
def test_values_in_the_middle(both, made, name, kind):
    given, expected = MIDDLE_OF[name]
    t = made(k=["odd"] * 3 + ["even"] * 4, v=pa.array([3, 1, 2, 40, 10, 30, 20], kind))
    assert both(t, "agg_by", given, "k")["v"] == expected


def test_values_in_the_middle_that_are_no_numbers(both, made):
    stamps = pa.array([INSTANTS[2], INSTANTS[0], INSTANTS[1]], pa.timestamp("ns", "UTC"))
    t = made(s=["c", "a", "b"], t=stamps)
    for given in (agg.median(["s", "t"], average_evenly_divided=False), agg.pct(0.5, ["s", "t"])):
        assert both(t, "agg_by", given, []) == {"s": ["b"], "t": [INSTANTS[1]]}


@pytest.mark.parametrize("average", [True, False])
def test_a_part_that_does_not_halve_a_group_is_a_value_of_it(both, made, average):
    t = made(v=[5.0, 1.0, 4.0, 2.0, 3.0])
    assert both(t, "agg_by", agg.pct(0.25, "v", average_evenly_divided=average), [])["v"] == [2.0]
    assert both(t, "agg_by", agg.pct(0.75, "v", average_evenly_divided=average), [])["v"] == [4.0]
    (part,) = both(t.head(4), "agg_by", agg.pct(0.3, "v", average_evenly_divided=average), [])["v"]
    assert part in {1.0, 2.0, 4.0, 5.0}


def test_nulls_are_counted_and_listed_if_they_are_asked_for(both, made):
    t = made(k=["a", "a", "a", "b", "b", "c"], v=[2, None, 2, 1, 2, None])
    for given, expected in [
        (agg.count_distinct("v"), [1, 2, 0]),
        (agg.count_distinct("v", count_nulls=False), [1, 2, 0]),
        (agg.count_distinct("v", count_nulls=True), [2, 2, 1]),
    ]:
        assert both(t, "agg_by", given, "k")["v"] == expected
    for given, expected in [
        (agg.distinct("v"), [[2], [1, 2], []]),
        (agg.distinct("v", include_nulls=False), [[2], [1, 2], []]),
        (agg.distinct("v", include_nulls=True), [[None, 2], [1, 2], [None]]),
    ]:
        lists = both(t, "agg_by", given, "k")["v"]
        assert [sorted(each or [], key=lambda cell: cell or 0) for each in lists] == expected


SENTINELS = [
    (pa.int8(), np.int8(-1), 1, 2, -1),
    (pa.int16(), np.int16(-1), 1, 2, -1),
    (pa.uint16(), np.uint16(90), 65, 66, 90),
    (pa.int32(), np.int32(-1), 1, 2, -1),
    (pa.int64(), np.int64(-1), 1, 2, -1),
    (pa.int64(), -1, 1, 2, -1),
    (pa.float32(), np.float32(-0.5), 1.0, 2.0, -0.5),
    (pa.float64(), np.float64(-0.5), 1.0, 2.0, -0.5),
    (pa.float64(), -0.5, 1.0, 2.0, -0.5),
    (pa.string(), "several", "x", "y", "several"),
    (pa.bool_(), True, False, True, True),
    (pa.bool_(), False, True, False, False),
]


@pytest.mark.parametrize(("kind", "sentinel", "one", "other", "shown"), SENTINELS)
def test_a_value_that_is_not_alone_is_told_by_another(both, made, kind, sentinel, one, other, shown):
    t = made(k=["one", "one", "two", "two", "some", "some"], v=pa.array([one, one, one, other, one, None], kind))
    for nulls, expected in [(False, [one, shown, one]), (True, [one, shown, shown])]:
        given = agg.unique("v", include_nulls=nulls, non_unique_sentinel=sentinel)
        assert both(t, "agg_by", given, "k")["v"] == expected


@pytest.mark.parametrize(("kind", "sentinel", "one", "other", "shown"), SENTINELS)
def test_a_group_of_nulls_has_no_value_of_its_own(both, made, kind, sentinel, one, other, shown):
    t = made(k=["some", "none", "none"], v=pa.array([one, None, None], kind))
    assert both(t, "agg_by", agg.unique("v", non_unique_sentinel=sentinel), "k")["v"] == [one, shown]
    assert both(t, "agg_by", agg.unique("v"), "k")["v"] == [one, None]


def test_a_sentinel_is_of_one_of_these_types():
    for sentinel in (np.uint8(1), np.complex64(1), object()):
        with pytest.raises(TypeError):
            agg.unique("v", non_unique_sentinel=sentinel)


def test_formulas_over_groups_name_their_columns_or_a_word(both, measured):
    named = agg.formula("r = sum(w) * max(o) + count(v)")
    assert both(measured, "agg_by", named, "k") == {"k": ["a", "b"], "r": [9 * 6 + 2, 6 * 2 + 2]}
    each = agg.formula(formula="max(each) - min(each)", formula_param="each", cols=["p = w", "q = o"])
    assert both(measured, "agg_by", [each], ["k"]) == {"k": ["a", "b"], "p": [4, 2], "q": [2, 1]}
    assert both(measured, "agg_by", agg.formula("sum(x) + 1", "x", "o"), "k")["o"] == [16, 4]
    cells = both(measured, "agg_by", agg.formula("r = (w + o) * w"), "k")
    assert cells["r"] == [[6, 21, 55], [6, 24]]


@pytest.fixture
def line(made):
    return made(i=list(range(1, 13)))


WINDOWS = {
    (1, 0): lambda at: range(at, at + 1),
    (10, 0): lambda at: range(at - 9, at + 1),
    (0, 10): lambda at: range(at + 1, at + 11),
    (10, 10): lambda at: range(at - 9, at + 11),
    (10, -5): lambda at: range(at - 9, at - 4),
    (11, -1): lambda at: range(at - 10, at),
    (-5, 10): lambda at: range(at + 6, at + 11),
}


@pytest.mark.parametrize(("back", "ahead"), WINDOWS)
def test_windows_of_rows_are_those_of_the_documentation(both, line, back, ahead):
    expected = [[each for each in WINDOWS[back, ahead](at) if 1 <= each <= 12] for at in range(1, 13)]
    made = both(line, "update_by", updateby.rolling_group_tick("v = i", rev_ticks=back, fwd_ticks=ahead))
    assert [each or [] for each in made["v"]] == expected


#: Over 1, 2, 3, 4: with the row before and the one behind; with the row before alone, from the second row on; with the
#: second row behind alone, of the first two rows; by time.
ROLLED = {
    "sum": ({}, [3.0, 6.0, 9.0, 7.0], [1.0, 2.0, 3.0], [3.0, 4.0], [3.0, 3.0, 5.0, 4.0]),
    "avg": ({}, [1.5, 2.0, 3.0, 3.5], [1.0, 2.0, 3.0], [3.0, 4.0], [1.5, 1.5, 2.5, 4.0]),
    "min": ({}, [1.0, 1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [3.0, 4.0], [1.0, 1.0, 2.0, 4.0]),
    "max": ({}, [2.0, 3.0, 4.0, 4.0], [1.0, 2.0, 3.0], [3.0, 4.0], [2.0, 2.0, 3.0, 4.0]),
    "prod": ({}, [2.0, 6.0, 24.0, 12.0], [1.0, 2.0, 3.0], [3.0, 4.0], [2.0, 2.0, 6.0, 4.0]),
    "count": ({}, [2, 3, 3, 2], [1, 1, 1], [1, 1], [2, 2, 2, 1]),
    "group": (
        {},
        [[1.0, 2.0], [1.0, 2.0, 3.0], [2.0, 3.0, 4.0], [3.0, 4.0]],
        [[1.0], [2.0], [3.0]],
        [[3.0], [4.0]],
        [[1.0, 2.0], [1.0, 2.0], [2.0, 3.0], [4.0]],
    ),
    "std": ({}, [0.7071067811865476, 1.0, 1.0, 0.7071067811865476], None, None, [0.7071067811865476] * 3),
    "wavg": ({"wcol": "w"}, [5 / 3, 14 / 6, 29 / 9, 25 / 7], [1.0, 2.0, 3.0], [3.0, 4.0], [5 / 3, 5 / 3, 13 / 5, 4.0]),
    "formula": (
        {"formula": "max(each) - min(each)", "formula_param": "each"},
        [1.0, 2.0, 2.0, 1.0],
        [0.0, 0.0, 0.0],
        [0.0, 0.0],
        [1.0, 1.0, 1.0, 0.0],
    ),
    "count_where": ({"filters": "y > 2"}, [0, 1, 2, 2], [0, 0, 1], [1, 1], [0, 0, 1, 1]),
}


def rolling(name, by, output, **window):
    """The operator, with what it is of as a text and as a list."""
    make, options = getattr(updateby, f"rolling_{name}_{by}"), ROLLED[name][0]
    if name == "count_where":
        return [make(col=output, filters=filters, **window) for filters in (options["filters"], [options["filters"]])]
    return [make(cols=cols, **options, **window) for cols in (f"{output} = y", [f"{output} = y"])]


@pytest.fixture
def steps(made):
    """Four rows at 0, 1, 3 and 6 seconds."""
    stamps = [dt.datetime(2024, 3, 31, 12, 0, second, tzinfo=dt.UTC) for second in (0, 1, 3, 6)]
    return made(t=pa.array(stamps, pa.timestamp("ns", "UTC")), y=[1.0, 2.0, 3.0, 4.0], w=[1, 2, 3, 4])


@pytest.mark.parametrize("name", ROLLED)
def test_operators_over_windows_of_rows(both, steps, name):
    around, before, after = ROLLED[name][1:4]
    for given in rolling(name, "tick", "v", rev_ticks=2, fwd_ticks=1):
        assert both(steps, "update_by", given)["v"] == near(around)
    if before is not None:
        for given in rolling(name, "tick", "v", rev_ticks=2, fwd_ticks=-1):
            assert both(steps, "update_by", [given])["v"][1:] == near(before)
        for given in rolling(name, "tick", "v", rev_ticks=-1, fwd_ticks=2):
            assert both(steps, "update_by", ops=[given])["v"][:2] == near(after)
    alone = rolling(name, "tick", "v", rev_ticks=1)[0]
    assert len(both(steps, "update_by", alone)["v"]) == 4


@pytest.mark.parametrize("name", ROLLED)
@pytest.mark.parametrize(
    ("back", "ahead"), [(2 * SECOND, SECOND), ("PT00:00:02", "PT00:00:01"), ("PT2S", "PT1S"), ("PT00:00:2.0", "PT1.0S")]
)
def test_operators_over_windows_of_time(both, steps, name, back, ahead):
    expected = ROLLED[name][4]
    for given in rolling(name, "time", "v", ts_col="t", rev_time=back, fwd_time=ahead):
        assert both(steps, "update_by", given)["v"][: len(expected)] == near(expected)


#: Of rows at minute 0, 5, 5, 10, 16 and 20.
SPANS = [
    (0, 0, [[1], [2, 3], [2, 3], [4], [5], [6]]),
    ("PT00:10:00", "0", [[1], [1, 2, 3], [1, 2, 3], [1, 2, 3, 4], [4, 5], [4, 5, 6]]),
    (0, 600_000_000_000, [[1, 2, 3, 4], [2, 3, 4], [2, 3, 4], [4, 5, 6], [5, 6], [6]]),
    (
        "PT00:10:00",
        "PT00:10:00",
        [[1, 2, 3, 4], [1, 2, 3, 4], [1, 2, 3, 4], [1, 2, 3, 4, 5, 6], [4, 5, 6], [4, 5, 6]],
    ),
    ("PT00:10:00", "-PT00:05:00", [[], [1], [1], [1, 2, 3], [4], [4]]),
    (600 * SECOND, -300 * SECOND, [[], [1], [1], [1, 2, 3], [4], [4]]),
    ("-PT00:05:00", "PT00:10:00", [[2, 3, 4], [4], [4], [5, 6], [], []]),
    (-300 * SECOND, 600 * SECOND, [[2, 3, 4], [4], [4], [5, 6], [], []]),
]


@pytest.mark.parametrize(("back", "ahead", "expected"), SPANS)
def test_windows_of_time_are_those_of_the_documentation(both, made, back, ahead, expected):
    stamps = [dt.datetime(2024, 3, 31, 12, minute, tzinfo=dt.UTC) for minute in (0, 5, 5, 10, 16, 20)]
    t = made(t=pa.array(stamps, pa.timestamp("ns", "UTC")), i=[1, 2, 3, 4, 5, 6])
    given = updateby.rolling_group_time("t", "v = i", back, ahead)
    assert [each or [] for each in both(t, "update_by", given)["v"]] == expected


@pytest.mark.parametrize("length", ["PT00:00:.001", "PT00:00:00.001", "PT0.001S"])
def test_a_thousandth_of_a_second_in_each_form(both, made, length):
    stamps = [dt.datetime(2024, 3, 31, 12, 0, 0, micros, tzinfo=dt.UTC) for micros in (0, 1000, 2500)]
    t = made(t=pa.array(stamps, pa.timestamp("ns", "UTC")), i=[1, 2, 3])
    assert both(t, "update_by", updateby.rolling_sum_time("t", "v = i", length))["v"] == [1, 3, 3]
    made = both(t, "update_by", updateby.ems_time("t", length, "v = i"))["v"]
    assert made == near([1.0, 2 + math.exp(-1), 3 + math.exp(-1.5) * (2 + math.exp(-1))])


@pytest.mark.parametrize("name", ROLLED)
def test_a_row_without_a_time_is_in_no_window_and_has_none(both, made, name):
    stamps = [dt.datetime(2024, 3, 31, 12, tzinfo=dt.UTC), None, dt.datetime(2024, 3, 31, 12, 0, 1, tzinfo=dt.UTC)]
    t = made(t=pa.array(stamps, pa.timestamp("ns", "UTC")), y=[3.0, 50.0, 4.0], w=[1, 1, 1])
    expected = {
        "sum": [3.0, 7.0], "avg": [3.0, 3.5], "min": [3.0, 3.0], "max": [3.0, 4.0], "prod": [3.0, 12.0], "count": [1, 2],
        "group": [[3.0], [3.0, 4.0]], "std": [None, 0.7071067811865476], "wavg": [3.0, 3.5], "formula": [0.0, 1.0],
        "count_where": [1, 2],
    }[name]  # fmt: skip
    made = both(t, "update_by", rolling(name, "time", "v", ts_col="t", rev_time="PT5S")[0])["v"]
    assert [made[0], made[2]][name == "std" :] == near(expected)[name == "std" :]
    assert made[1] is None


def test_operators_without_names_take_all_columns(both, steps):
    numbers = steps.view(["y", "w"])
    for given, expected in [
        (updateby.cum_sum([]), {"y": [1.0, 3.0, 6.0, 10.0], "w": [1, 3, 6, 10]}),
        (updateby.cum_prod([]), {"y": [1.0, 2.0, 6.0, 24.0], "w": [1, 2, 6, 24]}),
        (updateby.cum_min([]), {"y": [1.0] * 4, "w": [1] * 4}),
        (updateby.cum_max([]), {"y": [1.0, 2.0, 3.0, 4.0], "w": [1, 2, 3, 4]}),
        (updateby.forward_fill([]), {"y": [1.0, 2.0, 3.0, 4.0], "w": [1, 2, 3, 4]}),
        (updateby.rolling_sum_tick([], 2), {"y": [1.0, 3.0, 5.0, 7.0], "w": [1, 3, 5, 7]}),
        (updateby.rolling_count_tick([], 2), {"y": [1, 2, 2, 2], "w": [1, 2, 2, 2]}),
        (updateby.rolling_formula_tick("max(each)", "each", [], 2), {"y": [1.0, 2.0, 3.0, 4.0], "w": [1, 2, 3, 4]}),
        (updateby.rolling_wavg_tick("w", ["y"], 2), {"y": [1.0, 5 / 3, 13 / 5, 25 / 7], "w": [1, 2, 3, 4]}),
    ]:
        assert both(numbers, "update_by", given) == {name: near(cells) for name, cells in expected.items()}
    delta = both(numbers, "update_by", updateby.delta([]))
    assert {name: cells[1:] for name, cells in delta.items()} == {"y": [1.0, 1.0, 1.0], "w": [1, 1, 1]}


RUN = {
    "cum_sum": [1, 2, 4, 6, 4],
    "cum_prod": [1, 2, 3, 8, 3],
    "cum_min": [1, 2, 1, 2, 1],
    "cum_max": [1, 2, 3, 4, 3],
    "forward_fill": [1, 2, 3, 4, 3],
}


@pytest.mark.parametrize("name", RUN)
def test_operators_that_run_on_in_each_group(both, t, name):
    make = getattr(updateby, name)
    assert both(t, "update_by", make("v = x"), "k")["v"] == RUN[name]
    assert both(t, "update_by", [make(["x"])], by=["k"])["x"] == RUN[name]
    whole = both(t.update("g = 1"), "update_by", [make("v = x"), updateby.cum_sum("s = y")], ["k", "g"])
    assert (whole["v"], whole["s"]) == (RUN[name], [1.5, 2.5, 5.0, 7.0, 10.5])


def test_conditions_are_counted_as_rows_run_on(both, t):
    assert both(t, "update_by", updateby.cum_count_where("n", "x > 1"))["n"] == [0, 1, 2, 3, 3]
    both_hold = updateby.cum_count_where(col="n", filters=["x > 1", "y < 4"])
    assert both(t, "update_by", [both_hold], "k")["n"] == [0, 1, 1, 1, 1]


def test_a_difference_behind_a_null_goes_as_its_control_says(both, made):
    t = made(y=[1.0, None, 3.0, 5.0], i=[1, None, 3, 5])
    for name in ("y", "i"):
        for control, expected in [
            (DeltaControl.NULL_DOMINATES, [None, None, 2]),
            (DeltaControl.VALUE_DOMINATES, [None, 3, 2]),
            (DeltaControl.ZERO_DOMINATES, [None, 0, 2]),
        ]:
            given = updateby.delta(f"v = {name}", delta_control=control)
            assert both(t, "update_by", given)["v"][1:] == expected
            assert both(t, "update_by", [updateby.delta([f"{name}"], control)])[name][1:] == expected


#: What halves with each row, over 4, 1 and 2, as far as the documentation has it.
HALF = 1 / math.log(2)
FADED = {
    "ema": [4.0, 2.5, 2.25],
    "ems": [4.0, 3.0, 3.5],
    "emmax": [4.0, 2.0, 2.0],
    "emmin": [4.0, 1.0, 0.5],
    "emstd": [None, 1.5],
}


def fading(name, by, cols, control, decay):
    make = getattr(updateby, f"{name}_{by}")
    if by == "tick":
        return make(decay_ticks=decay, cols=cols, op_control=control)
    return make(ts_col="t", decay_time=decay, cols=cols, op_control=control)


def stamped(made, cells):
    stamps = [dt.datetime(2024, 3, 31, 12, 0, second, tzinfo=dt.UTC) for second in range(len(cells))]
    return made(t=pa.array(stamps, pa.timestamp("ns", "UTC")), y=pa.array(cells, pa.float64()))


@pytest.mark.parametrize("name", FADED)
@pytest.mark.parametrize(
    ("by", "decay"),
    [("tick", HALF), ("time", round(HALF * SECOND)), ("time", "PT1.442695041S"), ("time", "PT00:00:01.442695041")],
)
def test_values_that_fade(both, made, name, by, decay):
    t = stamped(made, [4.0, 1.0, 2.0])
    expected = FADED[name]
    first = expected[0] is None
    for cols in ("v = y", ["v = y"]):
        cells = both(t, "update_by", fading(name, by, cols, None, decay))["v"][: len(expected)]
        assert cells[first:] == [pytest.approx(each, rel=1e-8) for each in expected[first:]]
    assert len(both(t.view(["t", "y"]), "update_by", fading(name, by, [], None, decay))["y"]) == 3


@pytest.mark.parametrize("name", FADED)
@pytest.mark.parametrize(("by", "decay"), [("tick", HALF), ("time", "PT1.442695041S")])
def test_what_is_no_value_goes_as_the_controls_say(session, both, made, name, by, decay):
    for bad, option in [(None, "on_null"), (math.nan, "on_nan")]:
        t = stamped(made, [bad, 4.0, bad, 1.0])
        clean = stamped(made, [4.0, 1.0])

        def run(table, control):
            return both(table, "update_by", fading(name, by, ["v = y"], control, decay))["v"]

        throw, reset, poison, skip = (
            OperationControl(**{option: behavior})
            for behavior in (BadDataBehavior.THROW, BadDataBehavior.RESET, BadDataBehavior.POISON, BadDataBehavior.SKIP)
        )
        wrong(session, t, "update_by", fading(name, by, "v = y", throw, decay))
        fine = run(clean, throw)
        assert repr(run(t, reset)[3]) == repr(run(stamped(made, [1.0]), throw)[0])
        assert math.isnan(run(t, poison)[3])
        # Whether what is passed over takes time, as rows go by: the documentation has no word of it.
        if by == "tick":
            assert run(t, skip)[3] == near(fine[1])
        assert repr(run(t, OperationControl())) == repr(run(t, None)) == repr(run(t, skip))


@pytest.mark.parametrize("context", MathContext)
def test_a_context_for_big_numbers_leaves_others_as_they_are(both, made, context):
    t = stamped(made, [4.0, 1.0, 2.0])
    control = OperationControl(BadDataBehavior.SKIP, BadDataBehavior.SKIP, big_value_context=context)
    assert both(t, "update_by", updateby.ema_tick(HALF, "v = y", control))["v"] == near([4.0, 2.5, 2.25])
    assert both(t, "update_by", updateby.emmax_time("t", "PT1.442695041S", "v = y", control))["v"][0] == 4.0


def test_operations_are_one_or_several(both, t):
    assert both(t, "update_by", updateby.cum_sum("v = y"))["v"] == [1.5, 4.0, 7.5, 12.0, 17.5]
    several = [updateby.cum_sum("v = y"), updateby.cum_max("m = x")]
    assert both(t, "update_by", several, by="k")["m"] == [1, 2, 3, 4, 3]


SCHEMA = pa.schema([("k", pa.string()), ("v", pa.int64())])


@pytest.mark.parametrize("name", ["table", "query"])
def test_copies_at_a_trigger_have_the_stamps_that_were_asked_for(session, made, name):
    base = session.input_table(SCHEMA, key_cols="k")
    trigger = session.input_table(schema=pa.schema([("at", pa.int64()), ("by", pa.string())]))
    base.add(made(k=["a", "b"], v=[1, 2]))

    def when(*args, **options):
        if name == "table":
            return base.snapshot_when(*args, **options)
        return session.query(base).snapshot_when(*args, **options).exec()

    every, one, two = when(trigger), when(trigger, "at"), when(trigger, stamp_cols=["by", "at"])
    first = when(trigger, "at", initial=True)
    some = when(trigger, ["at"], incremental=True)
    both_at_once = when(trigger, "at", True, True)
    kept = when(trigger, "at", initial=False, incremental=False, history=True)
    for empty in (every, one, two, some, kept):
        assert rows(empty) == []
    assert rows(first) == rows(both_at_once) == [{"k": "a", "v": 1, "at": None}, {"k": "b", "v": 2, "at": None}]
    trigger.add(made(at=[7, 8], by=["x", "y"]))
    stamped_rows = [{"k": "a", "v": 1, "at": 8}, {"k": "b", "v": 2, "at": 8}]
    assert rows(every) == [{**row, "by": "y"} for row in stamped_rows]
    assert rows(one) == rows(first) == rows(some) == rows(kept) == stamped_rows
    assert rows(two) == [{"k": "a", "v": 1, "by": "y", "at": 8}, {"k": "b", "v": 2, "by": "y", "at": 8}]
    assert sorted_rows(both_at_once) == [{"k": "a", "v": 1, "at": None}, {"k": "b", "v": 2, "at": None}]
    base.add(made(k=["b", "c"], v=[5, 3]))
    trigger.add(made(at=[9], by=["z"]))
    now = [{"k": "a", "v": 1, "at": 9}, {"k": "b", "v": 5, "at": 9}, {"k": "c", "v": 3, "at": 9}]
    assert sorted_rows(one) == sorted_rows(first) == now
    changed = [{"k": "a", "v": 1, "at": 8}, {"k": "b", "v": 5, "at": 9}, {"k": "c", "v": 3, "at": 9}]
    assert sorted_rows(some) == changed
    assert sorted_rows(both_at_once) == [{**changed[0], "at": None}, *changed[1:]]
    assert sorted(rows(kept), key=repr) == sorted([*stamped_rows, *now], key=repr)
    for option in ("initial", "incremental"):
        with pytest.raises(DHError) as caught:
            when(trigger, "at", history=True, **{option: True})
        told(caught.value)


@pytest.mark.parametrize(
    ("stamps", "expected"), [("w = v", {"w": [6, 6]}), (["at", "w = v"], {"at": [8, 8], "w": [6, 6]})]
)
def test_stamps_get_other_names(both, made, stamps, expected):
    base, trigger = made(v=[1, 2]), made(at=[7, 8], v=[5, 6])
    taken = both(base, "snapshot_when", trigger_table=trigger, stamp_cols=stamps, initial=True)
    assert taken == {"v": [1, 2], **expected}


def test_a_copy_stays_as_it_is(session, made):
    base = session.input_table(schema=SCHEMA)
    base.add(made(k=["a"], v=[1]))
    copies = [base.snapshot(), session.query(base).snapshot().exec()]
    base.add(made(k=["b"], v=[2]))
    assert [column(copy, "v") for copy in copies] == [[1], [1]]
    assert [copy.is_refreshing for copy in [base, *copies]] == [True, False, False]


def test_input_tables_have_keys_one_or_several_or_none(session, made):
    for keys in ("k", ["k"]):
        keyed = session.input_table(schema=SCHEMA, key_cols=keys, blink_table=False)
        assert isinstance(keyed, InputTable)
        keyed.add(made(k=["a", "b"], v=[1, 2]))
        keyed.add(table=made(k=["a"], v=[7]))
        assert sorted_rows(keyed) == [{"k": "a", "v": 7}, {"k": "b", "v": 2}]
        keyed.delete(made(k=["a", "c"]))
        assert rows(keyed) == [{"k": "b", "v": 2}]
    pairs = session.input_table(pa.schema([*SCHEMA, ("w", pa.float64())]), key_cols=["k", "v"])
    pairs.add(made(k=["a", "a"], v=[1, 2], w=[0.5, 1.5]))
    pairs.add(made(k=["a"], v=[2], w=[2.5]))
    assert sorted(column(pairs, "w")) == [0.5, 2.5]
    pairs.delete(table=made(k=["a"], v=[1]))
    assert rows(pairs) == [{"k": "a", "v": 2, "w": 2.5}]
    plain = session.input_table(SCHEMA)
    plain.add(made(k=["a", "a"], v=[1, 1]))
    plain.add(made(k=["a"], v=[2]))
    assert column(plain, "v") == [1, 1, 2]
    with pytest.raises(PermissionError):
        plain.delete(made(k=["a"]))


@pytest.mark.parametrize("keys", [None, "k"])
def test_input_tables_are_made_like_another(session, made, keys):
    first = made(k=["a"], v=[1])
    like = session.input_table(init_table=first, key_cols=keys)
    assert like.to_arrow().schema.names == ["k", "v"]
    like.add(made(k=["b"], v=[2]))
    assert {"k": "b", "v": 2} in rows(like)
    assert rows(first) == [{"k": "a", "v": 1}]


def test_an_input_table_wants_columns_and_does_not_blink_by_keys(session):
    with pytest.raises((ValueError, DHError)):
        session.input_table()
    with pytest.raises((ValueError, DHError)):
        session.input_table(schema=SCHEMA, key_cols="k", blink_table=True)


def test_input_tables_that_blink_forget(session, made):
    blinking = session.input_table(schema=SCHEMA, blink_table=True)
    like = session.input_table(init_table=made(k=["a"], v=[1]), blink_table=True)
    plain = session.input_table(schema=SCHEMA, blink_table=False)
    for table in (blinking, like, plain):
        table.add(made(k=["b"], v=[2]))
    assert wait(lambda: rows(blinking) == rows(like) == [])
    assert rows(plain) == [{"k": "b", "v": 2}]


def wait(holds, seconds=20):
    until = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def nanos(table):
    return table.to_arrow()["Timestamp"].cast(pa.int64()).to_pylist()


@pytest.mark.parametrize("period", [20_000_000, "PT00:00:00.02", "PT00:00:.02", "PT0.02S"])
def test_times_are_a_period_apart(session, period):
    begun = time.time_ns()
    ticks = session.time_table(period=period, blink_table=False)
    assert ticks.is_refreshing
    assert wait(lambda: len(nanos(ticks)) >= 5)
    times = nanos(ticks)
    assert {b - a for a, b in itertools.pairwise(times)} == {20_000_000}
    assert times[0] > begun - SECOND


def test_times_begin_where_they_are_told_to(session):
    begin = (time.time_ns() // SECOND - 3) * SECOND
    text = dt.datetime.fromtimestamp(begin // SECOND, dt.UTC).strftime("%Y-%m-%dT%H:%M:%S")
    for start in (begin, f"{text}Z", f"{text} UTC", f"{text}.000Z"):
        ticks = session.time_table(SECOND // 2, start_time=start)
        assert wait(lambda ticks=ticks: len(nanos(ticks)) >= 5)
        times = nanos(ticks)
        assert begin <= times[0] <= begin + SECOND // 2
        assert {b - a for a, b in itertools.pairwise(times)} == {SECOND // 2}
        assert times[0] % (SECOND // 2) == 0
    ahead = session.time_table("PT1S", start_time=begin + 3600 * SECOND)
    assert nanos(ahead) == []


def test_times_that_blink_are_those_of_the_last_step(session):
    begin = time.time_ns()
    ticks = session.time_table("PT00:00:00.02", start_time=begin)
    blinking = session.time_table("PT00:00:00.02", begin, blink_table=True)
    assert wait(lambda: len(nanos(ticks)) >= 30)
    seen = nanos(blinking)
    assert len(seen) < len(nanos(ticks))
    assert all((each - begin) % 20_000_000 == 0 for each in seen)


def test_tables_are_put_together_in_turn_or_in_order(session, made):
    one, two = made(x=[1, 4], s=["a", "b"]), made(x=[2, 3], s=["c", "d"])
    assert column(session.merge_tables([one, two]), "x") == [1, 4, 2, 3]
    assert rows(session.merge_tables(tables=[one, two], order_by="x")) == [
        {"x": 1, "s": "a"}, {"x": 2, "s": "c"}, {"x": 3, "s": "d"}, {"x": 4, "s": "b"}
    ]  # fmt: skip
    assert column(session.merge_tables([one]), "s") == ["a", "b"]


def test_empty_tables_have_rows_and_no_columns(session):
    made = session.empty_table(3)
    assert (made.size, made.to_arrow().num_columns) == (3, 0)
    assert column(session.empty_table(size=2).update("X = i"), "X") == [0, 1]


def test_columns_are_told_of_as_a_table(session):
    kinds = pa.schema([("b", pa.bool_()), ("i", pa.int32()), ("d", pa.float64())])
    meta = session.import_table(data=kinds.empty_table()).meta_table.to_arrow().to_pydict()
    assert (meta["Name"], meta["DataType"]) == (["b", "i", "d"], ["java.lang.Boolean", "int", "double"])


def test_queries_are_of_a_table(session, t):
    assert column(session.query(table=t).view("x").head(2).exec(), "x") == [1, 2]


OPENED = [
    {"auth_type": PSK, "never_timeout": True, "session_type": "python", "use_tls": False},
    {"auth_type": PSK, "never_timeout": False, "client_opts": [("grpc.min_reconnect_backoff_ms", 2000)]},
    {"auth_type": PSK, "extra_headers": {b"x-of-mine": b"a value"}},
    {"auth_type": "Basic"},
]


@pytest.mark.parametrize("options", OPENED)
def test_sessions_are_opened_in_each_way(srv, options):
    token = f"ann:{srv.token}" if options["auth_type"] == "Basic" else srv.token
    with dh.Session(host="127.0.0.1", port=port_of(srv), auth_token=token, **options) as session:
        assert (session.host, session.port) == ("127.0.0.1", port_of(srv))
        assert session.is_alive
        assert rows(session.open_table("trades"))[0] == {"sym": "A", "px": 1.0}
    assert not session.is_alive


@pytest.mark.parametrize("options", [{}, {"auth_type": "Anonymous"}, {"auth_type": "Basic", "auth_token": "ann:wrong"}])
def test_strangers_open_no_session(srv, options):
    with pytest.raises(DHError) as caught:
        dh.Session("127.0.0.1", port_of(srv), **options)
    told(caught.value)


def test_strangers_come_in_where_all_may():
    with pytest.warns(Warning, match="token"):
        open_to_all = tf.serve({"t": tf.table({"x": [1]})}, token=False)
    with (
        open_to_all,
        dh.Session("127.0.0.1", port_of(open_to_all), auth_type="Anonymous", auth_token="ignored") as session,
    ):
        assert rows(session.open_table("t")) == [{"x": 1}]


def test_sessions_are_opened_by_tls():
    certificate, key = (TLS / "server.pem").read_bytes(), (TLS / "server.key").read_bytes()
    with tf.serve({"t": tf.table({"x": [1]})}, tls=(certificate, key)) as secret:
        given = {"host": "localhost", "port": port_of(secret), "auth_type": PSK, "auth_token": secret.token}
        roots = (TLS / "authority.pem").read_bytes()
        with dh.Session(
            **given, use_tls=True, tls_root_certs=roots, client_cert_chain=certificate, client_private_key=key
        ) as session:
            assert rows(session.open_table("t")) == [{"x": 1}]
        named = [("grpc.ssl_target_name_override", "localhost")]
        given["host"] = "127.0.0.1"
        with dh.Session(**given, use_tls=True, tls_root_certs=roots, client_opts=named) as session:
            assert session.tables == ["t"]
        with pytest.raises(DHError):
            dh.Session(**given, use_tls=True, tls_root_certs=(TLS / "expired.pem").read_bytes())


def test_scripts_run_where_there_is_a_console():
    with tf.serve({}, console=True) as srv, connect(srv) as session:
        for systemic in (None, True, False):
            session.run_script(f"t = tf.table({{'x': ['{systemic}']}})", systemic=systemic)
            assert rows(session.open_table("t")) == [{"x": str(systemic)}]
        with pytest.raises(DHError):
            session.run_script("nothing")


def test_names_are_bound_for_all_and_bound_anew(srv, session, made):
    session.bind_table("bound", made(x=[1]))
    with connect(srv) as other:
        assert rows(other.open_table("bound")) == [{"x": 1}]
        other.bind_table(name="bound", table=other.empty_table(2).update("y = i"))
        assert {"bound", "trades"} <= set(other.tables)
    assert rows(session.open_table(name="bound")) == [{"y": 0}, {"y": 1}]
    assert {"bound", "trades", "by_sym"} <= session.exportable_objects.keys()
    del srv.tables["bound"]
    with pytest.raises(DHError) as caught:
        session.open_table("bound")
    told(caught.value)


def test_a_table_is_shared_until_it_is_closed(srv, session, made):
    shared, table = SharedTicket.random_ticket(), made(x=[1])
    assert len({shared.bytes, SharedTicket.random_ticket().bytes}) == 2
    assert shared.pb_ticket.ticket == shared.bytes
    session.publish_table(ticket=shared, table=table)
    with connect(srv) as other:
        assert rows(other.fetch_table(shared)) == [{"x": 1}]
        table.close()
        assert table.is_closed
        with pytest.raises(DHError) as caught:
            other.fetch_table(ticket=shared)
        told(caught.value)


def test_a_table_is_shared_until_its_session_ends(srv, session):
    shared = SharedTicket.random_ticket()
    with connect(srv) as other:
        table = other.empty_table(3)
        other.publish_table(shared, table)
        assert session.fetch_table(shared).size == 3
    with pytest.raises(DHError) as caught:
        session.fetch_table(shared)
    told(caught.value)


def test_tickets_are_given_back(session, made):
    table = made(x=[1])
    session.release(table.ticket)
    with pytest.raises(DHError) as caught:
        table.head(1)
    told(caught.value)


def test_objects_that_are_no_tables_are_shared(srv, session):
    shared = SharedTicket.random_ticket()
    here = session.fetch(ScopeTicket.scope_ticket("by_sym"))
    assert isinstance(here, ExportTicket)
    session.publish(source_ticket=here, result_ticket=shared)
    with connect(srv) as other:
        there = other.fetch(ticket=shared)
        client = other.plugin_client(server_obj=ServerObject("PartitionedTable", there))
        _, references = next(client.resp_stream)
        assert column(references[0].fetch(), "sym") == ["A", "B"]
        client.close()


def test_an_object_sends_what_it_refers_to(session):
    by_sym = ServerObject(type="PartitionedTable", ticket=ScopeTicket.scope_ticket("by_sym"))
    assert (by_sym.pb_typed_ticket.type, by_sym.pb_ticket.ticket) == ("PartitionedTable", b"s/by_sym")
    client = session.plugin_client(by_sym)
    assert isinstance(client, PluginClient)
    payload, (keys,) = next(client.resp_stream)
    assert isinstance(payload, bytes)
    assert isinstance(keys, Fetchable)
    assert keys.type == keys.pb_typed_ticket.type == "Table"
    table = keys.fetch()
    assert column(table, "sym") == ["A", "B"]
    keys.close()
    with pytest.raises(DHError) as caught:
        table.to_arrow()
    told(caught.value)
    client.close()
    assert session.is_alive


def test_streams_of_an_object_are_closed_each(session):
    client = session.plugin_client(session.exportable_objects["by_sym"])
    next(client.resp_stream)
    client.req_stream.close()
    client.resp_stream.close()
    client.close()
    client = session.plugin_client(session.exportable_objects["by_sym"])
    client.req_stream.write(payload=b"words", references=[session.open_table("trades")])
    client.close()
    assert session.is_alive


REFUSED = {
    "Session.run_script": lambda session, t: session.run_script("x = 1"),
    "agg.partition": lambda session, t: t.agg_by(
        [agg.partition("p", include_by_columns=True), agg.partition(col="q", include_by_columns=False)], "k"
    ),
    "updateby.rolling_formula": lambda session, t: t.update_by(
        updateby.rolling_formula_tick("v = sum(x) + sum(y)", "", [], rev_ticks=2)
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_ends_in_an_error_is_told_so(session, t, name):
    with pytest.raises(DHError) as caught:
        REFUSED[name](session, t)
    told(caught.value)


def test_a_call_counts_by_its_owner_once_the_server_has_taken_it(session, t, monkeypatch):
    called = {}
    monkeypatch.setattr(deephaven_calls, "CALLED", called)
    given = agg.first("y")
    wrong(session, t, "agg_by", given, "nothing")
    assert called.keys() == {"Session.query"}
    t.agg_by(given, ["k"])
    assert called.keys() == {"Session.query", "Table.agg_by", "agg.first"}
    assert called["Table.agg_by"]["by"] >= {"list[str]"}
    assert called["agg.first"]["cols"] >= {"str"}
    query = session.query(t).head(1)
    assert "Query.head" not in called
    query.exec()
    assert called["Query.head"]["num_rows"] >= {"int"}
    assert "Table.head" not in called


def test_an_annotation_is_read_as_the_kinds_that_it_names():
    expected = deephaven_calls.expected
    assert expected("Optional[Union[str, list[str]]]") == {"str", "list[str]"}
    assert expected("Sequence[Union[bool, int]]") == {"list[bool]", "list[int]"}
    assert expected("Optional[list[tuple[str, Union[int, str]]]]") == {"list"}
    assert expected("Optional[dict[bytes, bytes]]") == {"dict"}
    assert expected("Optional[list[SortDirection]]") == {
        "list[SortDirection.ASCENDING]",
        "list[SortDirection.DESCENDING]",
    }
    assert expected(bool) == {"True", "False"}
    assert expected(DeltaControl) == {f"DeltaControl.{each.name}" for each in DeltaControl}


def refused_by_the_page():
    """The names of the table under "These end in an error"."""
    text = PAGE.read_text(encoding="utf-8").partition("These end in an error")[2]
    table = next(part for part in text.split("\n\n") if part.startswith("|"))
    return set(re.findall(r"`(\w+\.\w+)`", "\n".join(line.split("|")[1] for line in table.splitlines())))


def test_every_call_and_every_option_of_the_client_has_come_to_something(request):
    here = {name for name, of in globals().items() if name.startswith("test_") and callable(of)}
    run = [item for item in request.session.items if item.path == request.path]
    if {item.originalname for item in run} != here or run[-1].name != request.node.name:
        pytest.skip("only the whole file makes every call")
    called, tried = deephaven_calls.CALLED, deephaven_calls.TRIED
    never = set(deephaven_calls.KNOWN) - called.keys()
    assert never == {"agg.partition"}
    assert refused_by_the_page() == REFUSED.keys()
    missing = {}
    for name, signature in deephaven_calls.KNOWN.items():
        seen = (tried if name in never else called).get(name, {})
        for parameter in signature.parameters.values() if signature else ():
            if lacks := deephaven_calls.expected(parameter.annotation) - seen.get(parameter.name, set()):
                missing[f"{name}({parameter.name})"] = lacks
    assert missing == {}
