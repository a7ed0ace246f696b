"""Columns computed on read, neighbours, positions, whole columns and the clock, as a user meets them."""

from __future__ import annotations

import datetime as dt

import pytest

import tickframe as tf
from tickframe.errors import (
    ColumnNotFoundError,
    DataError,
    FormulaError,
    InvalidOperationError,
    TableFailedError,
    UdfError,
)


@pytest.fixture
def t() -> tf.Table:
    return tf.table({"X": [1, 2, 3, 4], "S": ["a", None, "c", "d"]})


@pytest.mark.parametrize("method", ["update", "update_view"])
def test_neighbours_of_a_static_table(t: tf.Table, method: str) -> None:
    back = 2  # noqa: F841 (the formula reads it)
    made = getattr(t, method)("P = X_[i-1]", "N = X_[ii + back]", "D = X - X_[(i)-1]", "T = S_[i+1]")
    assert made["P"].to_list() == [None, 1, 2, 3]
    assert made["N"].to_list() == [3, 4, None, None]
    assert made["D"].to_list() == [None, 1, 1, 1]
    assert made["T"].to_list() == [None, "c", "d", None]


def test_shift_is_the_same_node_as_the_formula(g: tf.Graph) -> None:
    source = tf.append_table({"X": int}, graph=g)
    by_text = source.with_columns(tf.formula("P = X_[i-1]"))
    by_object = source.with_columns(tf.col("X").shift(1).alias("P"))
    nodes = g.counters()["nodes"]
    assert source.with_columns(tf.col("X").shift().alias("P")) is not by_text
    assert g.counters()["nodes"] == nodes
    source.append({"X": [5, 6]})
    g.step()
    assert by_text.to_dict() == by_object.to_dict() == {"X": [5, 6], "P": [None, 5]}


def test_only_the_rows_around_a_change_are_told(g: tf.Graph) -> None:
    source = tf.input_table({"X": int}, graph=g)
    made = source.update("P = X_[i-1]")
    updates = []
    with made.subscribe(updates.append):
        source.apply(added=(range(0, 1000, 10), {"X": list(range(100))}))
        g.step()
        source.apply(removed=[500])
        g.step()
        assert updates[-1].modified.ranges() == [(510, 510)]
        assert updates[-1].modified_columns == ["P"]
        source.apply(added=([505], {"X": [7]}))
        g.step()
        assert updates[-1].modified.ranges() == [(510, 510)]
        source.apply(shifted=[(510, 999, 5000)])
        count = len(updates)
        g.step()
        assert len(updates) == count + 1
        assert updates[-1].modified.ranges() == []


def test_filters_and_aggregates_of_neighbours(g: tf.Graph) -> None:
    source = tf.append_table({"k": str, "x": int}, graph=g)
    rising = source.where("x > x_[i-1]")
    steps = source.group_by("k").agg((tf.col("x") - tf.col("x").shift()).sum().alias("s"))
    source.append({"k": ["a", "b", "a", "b"], "x": [1, 3, 2, 7]})
    g.step()
    assert rising.to_dict() == {"k": ["b", "b"], "x": [3, 7]}
    assert steps.to_dict() == {"k": ["a", "b"], "s": [1, 4]}
    assert rising.columns == ["k", "x"]


def test_positions_and_keys(g: tf.Graph, t: tf.Table) -> None:
    assert t.update("I = i * 10", "K = k").to_dict()["I"] == [0, 10, 20, 30]
    source = tf.append_table({"X": int}, graph=g)
    made = source.update("I = ii", "K = k", "Odd = i % 2 == 1")
    source.append({"X": [7, 8]})
    g.step()
    source.append({"X": [9]})
    g.step()
    assert made.to_dict() == {"X": [7, 8, 9], "I": [0, 1, 2], "K": [0, 1, 2], "Odd": [False, True, False]}
    moving = tf.keyed_table({"X": int}, key="X", graph=g)
    with pytest.raises(
        FormulaError, match=r"append-only or blink(?s:.)*shift\(n\)(?s:.)*update_by(?s:.)*I = i"
    ) as caught:
        moving.update("I = i")
    assert caught.value.text == "I = i"
    with pytest.raises(FormulaError, match="add-only or blink"):
        moving.where("k > 3")
    with pytest.raises(FormulaError, match="static or blink"):
        moving.update("First = X_[0]")


def test_whole_columns(t: tf.Table) -> None:
    made = t.update("First = X_[0]", "Mirror = X_[X_.size() - 1 - i]", "Out = X_[i + X]", "N = S_.size()")
    assert made["First"].to_list() == [1, 1, 1, 1]
    assert made["Mirror"].to_list() == [4, 3, 2, 1]
    assert made["Out"].to_list() == [2, 4, None, None]
    assert made["N"].to_list() == [4, 4, 4, 4]
    assert eval(repr(tf.formula("X_[X]")), {**vars(tf)}).meta_eq(tf.formula("X_[X]"))


def test_a_view_stores_nothing_and_reads_the_step_before(g: tf.Graph) -> None:
    source = tf.keyed_table({"k": str, "v": int}, key="k", graph=g)
    view = source.view("k", "Twice = v * 2", "Four = Twice * 2")
    seen = []
    with view.subscribe(lambda u: seen.append((u.modified_columns, tf.table(u.modified_rows_before()).to_dicts()))):
        source.upsert({"k": ["a", "b"], "v": [1, 2]})
        g.step()
        held = view.snapshot()
        source.upsert({"k": "a", "v": 5})
        g.step()
    assert view.to_dict() == {"k": ["a", "b"], "Twice": [10, 4], "Four": [20, 8]}
    assert held.to_dict()["Four"] == [4, 8]
    assert seen[-1] == (["Twice", "Four"], [{"Twice": 2, "Four": 4}])


def test_what_hangs_below_a_view_follows(g: tf.Graph) -> None:
    source = tf.append_table({"k": str, "v": int}, graph=g)
    view = source.update_view("w = v + 1")
    total = view.group_by("k").agg(tf.col("w").sum())
    ordered = view.sort("w", descending=True)
    source.append({"k": ["a", "b", "a"], "v": [1, 2, 3]})
    g.step()
    assert total.to_dict() == {"k": ["a", "b"], "w": [6, 3]}
    assert ordered["w"].to_list() == [4, 3, 2]


def test_an_error_on_read_names_the_row_and_the_operation(t: tf.Table) -> None:
    view = t.update_view("Y = (byte)(X * 100)")
    with pytest.raises(DataError, match=r"update_view: row 1: .*200"):
        view.to_dict()

    def fails(x: int) -> int:
        raise ValueError("no")

    with pytest.raises(UdfError, match="fails") as caught:
        t.update_view("Y = fails(X)").to_dict()
    assert isinstance(caught.value.__cause__, ValueError)


def test_errors_of_updates_name_the_users_own_operation(g: tf.Graph) -> None:
    source = tf.append_table({"X": int}, graph=g)
    made = source.update("Y = (byte)X")
    source.append({"X": [1000]})
    g.step()
    with pytest.raises(TableFailedError, match=r"update\(.*update: row 0") as caught:
        made.to_dict()
    assert caught.value.culprit.startswith("update(")


def test_views_refuse_the_clock_and_name_the_remedy(t: tf.Table) -> None:
    for text in ("Y = now()", "Y = today()", "Y = X > 1 ? now() : null"):
        with pytest.raises(InvalidOperationError, match="use update or with_columns"):
            t.update_view(text)


def test_the_clock_moves_cells(g: tf.Graph) -> None:
    source = tf.append_table({"T": tf.Datetime("ns", "UTC")}, graph=g)
    made = source.update("Age = now() - T", "Now = now()")
    today = source.update("D = today()")
    source.append({"T": dt.datetime(2020, 1, 1, tzinfo=dt.UTC)})
    g.step()
    first = made.to_dicts(on_precision_loss="truncate")[0]
    updates = []
    with made.subscribe(updates.append), today.subscribe(updates.append):
        g.step()
    assert [update.modified_columns for update in updates] == [["Age", "Now"]]
    then = made.to_dicts(on_precision_loss="truncate")[0]
    assert then["Now"] > first["Now"]
    assert then["Age"] > first["Age"]
    assert not made.attributes.get("append_only")
    assert today["D"].to_list() == [dt.datetime.now(dt.UTC).date()]


def test_a_filter_on_the_clock_lets_rows_go(g: tf.Graph) -> None:
    source = tf.append_table({"T": tf.Datetime("ns", "UTC")}, graph=g)
    recent = source.where("T > now() - SECOND * 3600")
    soon = source.where("T > now()")
    now = dt.datetime.now(dt.UTC)
    source.append({"T": [now - dt.timedelta(hours=2), now, now + dt.timedelta(hours=1)]})
    g.step()
    g.step()
    assert len(recent) == 2
    assert len(soon) == 1


def test_lazy_update_counts_its_calls(g: tf.Graph) -> None:
    calls = []

    def slow(x: int) -> int:
        calls.append(x)
        return x * 10

    source = tf.keyed_table({"k": int, "x": int}, key="k", graph=g)
    made = source.lazy_update("Y = slow(x)")
    below = made.where("Y > 10")
    source.upsert({"k": [1, 2, 3], "x": [1, 2, 1]})
    g.step()
    source.upsert({"k": [1, 3], "x": [2, 2]})
    g.step()
    assert made["Y"].to_list() == [20, 20, 20]
    assert len(below) == 3
    assert sorted(calls) == [1, 2]
    for text in ("Z = x_[i-1]", "Z = now()"):
        with pytest.raises(InvalidOperationError, match="use update"):
            source.lazy_update(text)


def test_an_unknown_array_is_an_unknown_column(t: tf.Table) -> None:
    with pytest.raises(ColumnNotFoundError, match="Q"):
        t.update("Y = Q_[i-1]")


def test_a_kept_snapshot_of_a_lazy_table_is_read_steps_later():
    g = tf.Graph()
    t = tf.append_table({"X": int}, graph=g)
    lazy = t.lazy_update("Y = X * 2")
    t.append({"X": [1, 2]})
    g.step()
    kept = lazy.snapshot()
    for value in range(3):
        t.append({"X": [value]})
        g.step()
    assert kept.to_dict() == {"X": [1, 2], "Y": [2, 4]}
