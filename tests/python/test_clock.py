"""What follows the clock: a clock moved by hand, windows of time, filters that compare with `now()`, replayed tables."""

from __future__ import annotations

import contextlib
import datetime as dt
import time

import pytest

import tickframe as tf
from tickframe.errors import (
    ColumnNotFoundError,
    DataError,
    DuplicateError,
    InvalidOperationError,
    TypeMismatchError,
)

NOON = dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)
NS = tf.Datetime("ns", "UTC")


def at(seconds: float) -> dt.datetime:
    return NOON + dt.timedelta(seconds=seconds)


@pytest.fixture
def clock() -> tf.testing.ManualClock:
    return tf.testing.ManualClock(NOON)


@pytest.fixture
def moved(clock) -> tf.Graph:
    return tf.Graph(clock=clock)


def test_a_clock_stands_still_until_it_is_moved(clock):
    assert clock.now == NOON
    assert clock.advance(1.5) == at(1.5)
    assert clock.advance("1m") == at(61.5)
    assert clock.advance(dt.timedelta(microseconds=1)) == at(61.500001)
    assert repr(clock) == "ManualClock(2024-05-01T12:01:01.500001+00:00)"
    assert tf.testing.ManualClock().now.year == 2000


def test_a_time_table_follows_it(clock, moved):
    ticks = tf.time_table("1s", graph=moved)
    moved.step()
    assert ticks.to_dict()["Timestamp"] == [NOON]
    moved.step()
    assert len(ticks) == 1
    clock.advance("2500ms")
    moved.step()
    assert ticks.to_dict()["Timestamp"] == [NOON, at(1), at(2)]


def until(table, rows):
    """Wait until there are so many rows. The last update may come between a look and a wait, so no wait is long."""
    deadline = time.monotonic() + 60
    while len(table) < rows:
        assert time.monotonic() < deadline, f"{len(table)} rows, not {rows}"
        with contextlib.suppress(tf.errors.TimeoutError):
            table.wait(0.1)


def test_a_started_graph_hears_of_it(clock):
    g = tf.Graph(period=0, clock=clock)
    ticks = tf.time_table("1h", graph=g)
    g.start()
    try:
        until(ticks, 1)
        clock.advance("2h")
        until(ticks, 3)
    finally:
        g.stop()
    assert ticks.to_dict()["Timestamp"][-1] == NOON + dt.timedelta(hours=2)


def test_what_a_clock_refuses(clock):
    with pytest.raises(ValueError, match="advance: a clock does not go back"):
        clock.advance(-1)
    with pytest.raises(ValueError, match="is beyond the year 2262"):
        clock.advance("100000d")
    with pytest.raises(TypeError, match="advance: a span of time is"):
        clock.advance(None)
    with pytest.raises(ValueError, match="ManualClock: start must have a zone"):
        tf.testing.ManualClock(dt.datetime(2024, 1, 1))
    with pytest.raises(ValueError, match="ManualClock: start 'noon' is no instant"):
        tf.testing.ManualClock("noon")
    with pytest.raises(TypeError, match="ManualClock: start is a datetime or a text with a zone, not"):
        tf.testing.ManualClock(7)
    with pytest.raises(TypeError, match=r"Graph: clock is a tf\.testing\.ManualClock, not"):
        tf.Graph(clock=7)


def test_a_row_ages_without_a_change(clock, moved):
    events = tf.append_table({"t": NS, "x": int}, graph=moved)
    recent = events.time_window("t", "10s", "recent")
    told = []
    recent.subscribe(lambda u: told.append((u.modified_columns, u.modified_rows().to_dict(), len(u.added))))
    events.append({"t": [NOON, at(-11), at(-10), None, at(5)], "x": [1, 2, 3, 4, 5]})
    moved.step()
    assert recent.to_dict()["recent"] == [True, False, True, None, True]
    runs = moved.counters()["node_runs"]
    moved.step()
    assert moved.counters()["node_runs"] == runs, "no row is old enough: nothing runs"
    clock.advance("10s")
    moved.step()
    assert recent.to_dict()["recent"] == [True, False, False, None, True]
    clock.advance(dt.timedelta(microseconds=1))
    moved.step()
    clock.advance("1h")
    moved.step()
    assert recent.to_dict()["recent"] == [False, False, False, None, False]
    assert [columns for columns, _, _ in told] == [[], ["recent"], ["recent"], ["recent"]]
    assert [added for _, _, added in told] == [5, 0, 0, 0]
    assert dict(recent.attributes) == {"flat": True}


def test_a_window_over_rows_that_change(clock, moved):
    orders = tf.keyed_table({"k": int, "t": NS}, key="k", graph=moved)
    recent = orders.time_window("t", 10, "recent")
    orders.upsert({"k": [1, 2, 3], "t": [NOON] * 3})
    moved.step()
    clock.advance("8s")
    orders.upsert({"k": [1], "t": [at(8)]})
    orders.delete([2])
    moved.step()
    clock.advance("8s")
    moved.step()
    assert recent.to_dict() == {"k": [1, 3], "t": [at(8), NOON], "recent": [True, False]}
    orders.upsert({"k": [3], "t": [at(16)]})
    moved.step()
    assert recent.to_dict()["recent"] == [True, True]


def test_a_window_of_other_units_and_of_static_tables():
    now = dt.datetime.now(dt.UTC)
    for unit in ("s", "ms", "us", "ns"):
        t = tf.table({"t": [now, now - dt.timedelta(hours=2)]}).cast({"t": tf.Datetime(unit, "Europe/Berlin")})
        assert t.time_window("t", "1h").to_dict()["in_window"] == [True, False]


def test_what_a_window_refuses():
    t = tf.table({"t": [NOON], "x": [1], "local": [dt.datetime(2024, 1, 1)]})
    with pytest.raises(ColumnNotFoundError, match='time_window: no column "nope"'):
        t.time_window("nope", 5)
    with pytest.raises(TypeMismatchError, match='time_window: the column "x" holds Int64, and a window takes instants'):
        t.time_window("x", 5)
    with pytest.raises(TypeMismatchError, match='time_window: the column "local" holds'):
        t.time_window("local", 5)
    with pytest.raises(DuplicateError, match='time_window: column "x" would appear twice'):
        t.time_window("t", 5, "x")
    with pytest.raises(ValueError, match="time_window: window must be 0 or longer, not -1"):
        t.time_window("t", -1)
    with pytest.raises(ValueError, match="time_window: window: 'soon' is no span of time"):
        t.time_window("t", "soon")
    with pytest.raises(TypeError, match="time_window: ts is a str, not"):
        t.time_window(5, 5)


SECONDS = dt.timedelta(seconds=1)
COMPARED = {
    "ts >= now() - 10s": lambda: tf.col("t") >= tf.now() - 10 * SECONDS,
    "ts > now() - 10s": lambda: tf.col("t") > tf.now() - 10 * SECONDS,
    "ts < now() - 10s": lambda: tf.col("t") < tf.now() - 10 * SECONDS,
    "ts <= now()": lambda: tf.col("t") <= tf.now(),
    "now() + 5s < ts": lambda: tf.now() + 5 * SECONDS < tf.col("t"),
    "now() >= ts": lambda: tf.now() >= tf.col("t"),
    "two sides": lambda: (tf.col("t") > tf.now() - 10 * SECONDS) & (tf.col("t") <= tf.now() - 2 * SECONDS),
    "beside others": lambda: (tf.col("t") > tf.now() - 10 * SECONDS) & (tf.col("x") % 2 == 0),
    "is between": lambda: tf.col("t").is_between(tf.now() - 10 * SECONDS, tf.now()),
    "is between, right": lambda: tf.col("t").is_between(tf.now() - 10 * SECONDS, tf.now(), closed="right"),
    "not earlier": lambda: ~(tf.col("t") < tf.now() - 10 * SECONDS),
    "ts + 10s > now()": lambda: tf.col("t") + 10 * SECONDS > tf.now(),
    "now() <= 10s + ts": lambda: tf.now() - 2 * SECONDS <= tf.col("t") + 8 * SECONDS,
    "either side": lambda: (tf.col("t") < tf.now() - 10 * SECONDS) | (tf.col("t") >= tf.now() - 2 * SECONDS),
    "not a bound": lambda: (tf.col("t") - tf.now()) > -10 * SECONDS,
}


@pytest.mark.parametrize("kind", COMPARED)
def test_a_filter_that_compares_with_the_clock(kind, clock, moved):
    """Rows come and go as they do where the filter is made anew in each step."""
    events = tf.append_table({"t": NS, "x": int}, graph=moved)
    kept = events.filter(COMPARED[kind]())
    for round_ in range(12):
        events.append({"t": [clock.now, at(3 * round_), None], "x": [round_, round_ + 1, 7]})
        moved.step()
        anew = events.snapshot()
        wanted = []
        for row in anew.to_dicts():
            t, now = row["t"], clock.now
            ten, two, five = (dt.timedelta(seconds=s) for s in (10, 2, 5))
            if t is not None:
                passes = {
                    "ts >= now() - 10s": t >= now - ten,
                    "ts > now() - 10s": t > now - ten,
                    "ts < now() - 10s": t < now - ten,
                    "ts <= now()": t <= now,
                    "now() + 5s < ts": now + five < t,
                    "now() >= ts": now >= t,
                    "two sides": now - ten < t <= now - two,
                    "beside others": t > now - ten and row["x"] % 2 == 0,
                    "is between": now - ten <= t <= now,
                    "is between, right": now - ten < t <= now,
                    "not earlier": t >= now - ten,
                    "ts + 10s > now()": t + ten > now,
                    "now() <= 10s + ts": now <= t + ten,
                    "either side": t < now - ten or t >= now - two,
                    "not a bound": t - now > -ten,
                }[kind]
                wanted += [row] if passes else []
        assert kept.to_dicts() == wanted, f"round {round_}"
        assert kept.columns == ["t", "x"]
        clock.advance(1 if round_ % 2 else 2.5)


def test_such_a_filter_runs_when_a_row_changes_sides(clock, moved):
    events = tf.append_table({"t": NS}, graph=moved)
    kept = [
        events.filter(tf.col("t") > tf.now() - dt.timedelta(minutes=1)),
        events.where("t > now() - SECOND * 60"),
        events.filter(~(tf.col("t") <= tf.now() - dt.timedelta(minutes=1))),
        events.filter(tf.col("t") + dt.timedelta(minutes=1) > tf.now()),
        events.filter(tf.col("t").is_between(tf.now() - dt.timedelta(minutes=1), tf.now(), closed="right")),
    ]
    events.append({"t": [NOON, at(30)]})
    moved.step()
    runs = moved.counters()["node_runs"]
    for _ in range(5):
        clock.advance("1s")
        moved.step()
    assert moved.counters()["node_runs"] == runs
    clock.advance("55s")
    moved.step()
    assert [t.to_dict()["t"] for t in kept] == [[at(30)]] * len(kept)
    assert "time_window" not in str(kept[0].plan)


def test_a_window_waits_for_one_instant(clock, moved):
    """A row whose stamp changes is waited for once, and one that is gone not at all."""
    orders = tf.keyed_table({"k": int, "t": NS}, key="k", graph=moved)
    recent = [orders.time_window("t", 60), orders.filter(tf.col("t") > tf.now() - 60 * SECONDS)]
    for at_ in range(50):
        orders.upsert({"k": [1], "t": [at(at_ / 10)]})
        moved.step()
        assert moved.counters()["timers"] <= len(recent)
    orders.delete([1])
    moved.step()
    assert moved.counters()["timers"] == 0
    assert [len(t) for t in recent] == [0, 0]


def test_rows_of_one_instant_are_replayed_in_one_step():
    """Also in a graph that runs by itself."""
    graph = tf.Graph(period=0)
    graph.start()
    try:
        for _ in range(5):
            tables = [tf.table({"t": [NOON, at(0.01)], "x": [each, each]}) for each in range(20)]
            live = tf.replay(tables, "t", graph=graph)
            deadline = time.monotonic() + 20
            while any(len(t) < 2 for t in live):
                assert time.monotonic() < deadline, "rows that never came"
            assert len({t.last_step for t in live}) == 1
    finally:
        graph.stop()


def test_the_end_of_time():
    clock = tf.testing.ManualClock("2262-04-11T23:47:16+00:00")
    graph = tf.Graph(clock=clock)
    seconds = tf.time_table("1s", graph=graph)
    graph.step()
    graph.step()
    assert (len(seconds), graph.counters()["pending"], graph.counters()["timers"]) == (1, 0, 0)
    for far in ("1600-01-01T00:00:00+00:00", dt.datetime(9000, 1, 1, tzinfo=dt.UTC)):
        with pytest.raises(ValueError, match=r"ManualClock: start .* is outside 1677-09-21 … 2262-04-11"):
            tf.testing.ManualClock(far)


def test_tables_are_replayed_together(clock, moved):
    trades = tf.table({"t": [at(0), at(1), at(1), at(5)], "px": [1.0, 2.0, 3.0, 4.0]})
    quotes = tf.table({"time": [at(-60), at(2)], "bid": [1, 2]})
    one, other = tf.replay([trades, quotes], ["t", "time"], speed=2, start=at(0), graph=moved)
    assert one.attributes["append_only"] is True
    sizes = []
    for _ in range(4):
        moved.step()
        sizes.append((len(one), len(other)))
        clock.advance(1)
    assert sizes == [(1, 1), (3, 2), (3, 2), (4, 2)]
    assert one.to_dicts() == trades.to_dicts()
    [again] = tf.replay([trades], "t", graph=moved)
    moved.step()
    assert len(again) == 1
    assert moved.counters()["timers"] > 0


def test_what_a_replay_refuses(moved):
    t = tf.table({"t": [at(0), at(2), at(1)], "n": [at(0), None, at(1)], "x": [1, 2, 3]})
    with pytest.raises(DataError, match='replay: row 2 is earlier than the row before it in column "t"'):
        tf.replay([t], "t", graph=moved)
    with pytest.raises(DataError, match='replay: row 1 has no stamp in column "n"; drop rows without one'):
        tf.replay([t], "n", graph=moved)
    with pytest.raises(
        TypeMismatchError, match='replay: the column "x" holds Int64, and rows are replayed by instants'
    ):
        tf.replay([t], "x", graph=moved)
    with pytest.raises(ColumnNotFoundError, match="replay: no column"):
        tf.replay([t], "nope", graph=moved)
    with pytest.raises(InvalidOperationError, match="replay: the table is live"):
        tf.replay([tf.append_table({"t": NS}, graph=moved)], "t", graph=moved)
    with pytest.raises(TypeError, match="replay: give a list of tables"):
        tf.replay(t, "t", graph=moved)
    with pytest.raises(TypeError, match="replay: each of the tables is a table, not"):
        tf.replay([7], "t", graph=moved)
    with pytest.raises(TypeError, match="replay: ts is the name of a column, or one for each table, not"):
        tf.replay([t], [7], graph=moved)
    with pytest.raises(ValueError, match="replay: ts names 2 columns for 1 tables"):
        tf.replay([t], ["t", "t"], graph=moved)
    for speed in (0, -1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="replay: speed must be between"):
            tf.replay([t], "t", speed=speed, graph=moved)
    with pytest.raises(TypeError, match="replay: speed is a number, not"):
        tf.replay([t], "t", speed="fast", graph=moved)
    with pytest.raises(ValueError, match="replay: start must have a zone"):
        tf.replay([t], "t", start=dt.datetime(2024, 1, 1), graph=moved)
