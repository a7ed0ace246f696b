"""Tables that begin with their recent rows, and then have all that come."""

from __future__ import annotations

import datetime as dt

import pytest

import tickframe as tf

NOON = dt.datetime(2024, 5, 1, 12)


def at(*minutes):
    return [None if m is None else NOON + dt.timedelta(minutes=m) for m in minutes]


@pytest.fixture
def trades(g):
    t = tf.append_table({"k": str, "t": dt.datetime, "x": int}, graph=g)
    t.append({"k": ["a", "b", "a", None, "a", "b"], "t": at(0, 1, 2, 3, None, 61), "x": [1, 2, 3, 4, 5, 6]})
    g.step()
    return t


def more(t):
    t.append({"k": ["c", "a"], "t": at(-90, 5), "x": [7, 8]})
    t.graph.step()


@pytest.mark.parametrize(
    ("make", "first"),
    [
        (lambda t: t.most_recent_rows(2), [5, 6]),
        (lambda t: t.most_recent_rows(0), []),
        (lambda t: t.most_recent_rows(99), [1, 2, 3, 4, 5, 6]),
        (lambda t: t.most_recent_rows(1, by="k"), [4, 5, 6]),
        (lambda t: t.most_recent_rows(2, by=["k"]), [2, 3, 4, 5, 6]),
        (lambda t: t.most_recent("t", "1h"), [2, 3, 4, 6]),
        (lambda t: t.most_recent("t", 0), [6]),
        (lambda t: t.most_recent("t", dt.timedelta(minutes=1), by="k"), [3, 4, 6]),
    ],
)
def test_it_begins_with_recent_rows_and_goes_on_with_all(trades, make, first):
    recent, still = make(trades), make(trades.snapshot())
    assert recent.to_dict()["x"] == still.to_dict()["x"] == first
    assert (recent.attributes.get("append_only"), still.is_live) == (True, False)
    total = recent.agg_by(tf.agg.sum_("x"))
    heard = []
    recent.subscribe(lambda update: heard.append(update.added_rows().to_dict()["x"]))
    more(trades)
    assert recent.to_dict()["x"] == [*first, 7, 8]
    assert total.to_dict()["x"] == [sum(first) + 15]
    assert heard == [[7, 8]]


def test_two_that_begin_at_two_times_are_two(trades):
    one = trades.most_recent_rows(1)
    more(trades)
    other = trades.most_recent_rows(1)
    assert (one.to_dict()["x"], other.to_dict()["x"]) == ([6, 7, 8], [8])


def test_what_is_refused(g, trades):
    with pytest.raises(tf.errors.ColumnNotFoundError, match='most_recent_rows: no column "y"'):
        trades.most_recent_rows(1, by="y")
    with pytest.raises(tf.errors.TypeMismatchError, match='most_recent: the column "x" holds Int64; what is recent'):
        trades.most_recent("x", "1h")
    with pytest.raises(ValueError, match="most_recent: period must be 0 or longer, not -1"):
        trades.most_recent("t", -1)
    with pytest.raises(ValueError, match="most_recent_rows: n must be 0 or more, not -1"):
        trades.most_recent_rows(-1)
    blink = tf.blink_table({"x": int}, graph=g)
    with pytest.raises(tf.errors.InvalidOperationError, match="most_recent_rows: rows of the table may be removed"):
        blink.most_recent_rows(1)
