"""Watermarks: what passes them on, which rows are late, when windows close, and what is kept of them."""

from __future__ import annotations

import datetime as dt
import random
from typing import Any

import pytest

import tickframe as tf
from tickframe import col

START = dt.datetime(2024, 5, 1)


def at(minute: float) -> dt.datetime:
    return START + dt.timedelta(minutes=minute)


def fed(g: tf.Graph, kind: Any = tf.append_table) -> Any:
    return kind({"t": tf.Datetime("ns"), "k": str, "x": int}, graph=g)


def feed(t: Any, *rows: tuple[float, str, int]) -> None:
    t.append({"t": [at(row[0]) for row in rows], "k": [row[1] for row in rows], "x": [row[2] for row in rows]})
    t.graph.step()


def mark(t: tf.Table) -> Any:
    shown = t.watermark_table
    assert shown is not None
    return shown["watermark"].to_list()[0]


def test_a_watermark_never_goes_back(g: tf.Graph) -> None:
    t = tf.keyed_table({"id": int, "t": tf.Datetime("ns")}, key="id", graph=g)
    timely = t.watermark("t", delay="5m")
    assert timely.attributes["watermark"] == "t"
    assert mark(timely) is None
    for minute, seen in [(20, 15), (10, 15), (30, 25)]:
        t.upsert({"id": 1, "t": at(minute)})
        g.step()
        assert mark(timely) == at(seen)
    t.delete([1])
    g.step()
    assert mark(timely) == at(25)
    assert timely.rows() == []


def test_it_is_passed_on_by_what_keeps_its_column(g: tf.Graph) -> None:
    t = fed(g).watermark("t", delay=0)
    kept = [
        t.filter(col("x") > 1),
        t.with_columns(y=col("x") + 1),
        t.select("t", "x"),
        t.drop("x"),
        t.rename({"x": "y"}),
        t.sort("x"),
        t.tail(5),
        tf.merge(t, t.filter(col("x") > 1)),
    ]
    assert [one.attributes.get("watermark") for one in kept] == ["t"] * len(kept)
    assert t.rename({"t": "time"}).attributes["watermark"] == "time"
    assert t.select(time="t").attributes["watermark"] == "time"
    lost = [t.select("x"), t.drop("t"), t.with_columns(t=col("t").dt.truncate("1h")), t.group_by("k").len()]
    lost += [tf.merge(t, fed(g))]
    assert [one.attributes.get("watermark") for one in lost] == [None] * len(lost)
    assert all(one.watermark_table is None for one in lost)


def test_the_least_of_those_that_are_merged_counts() -> None:
    clock = tf.testing.ManualClock("2024-05-01T12:00:00+00:00")
    g = tf.Graph(clock=clock)
    a, b = fed(g), fed(g)
    both = tf.merge(a.watermark("t", delay=0, idle_after="10s"), b.watermark("t", delay=0, idle_after="10s"))
    feed(a, (10, "a", 1))
    assert mark(both) is None
    feed(b, (5, "a", 1))
    assert mark(both) == at(5)
    feed(a, (30, "a", 1))
    clock.advance("10s")
    feed(a, (31, "a", 1))
    assert mark(both) == at(31)  # b is idle
    feed(b, (7, "a", 1))
    assert mark(both) == at(31)
    feed(a, (40, "a", 1))
    assert mark(both) == at(31)
    feed(b, (35, "a", 1))
    assert mark(both) == at(35)


@pytest.mark.parametrize("kind", [tf.append_table, tf.blink_table])
def test_late_rows_are_counted_and_dropped(g: tf.Graph, kind: Any) -> None:
    t = fed(g, kind)
    made = t.watermark("t", delay="10m").group_by_dynamic("t", every="1h", group_by="k").agg(col("x").sum())
    assert dict(made.counted) == {"late": 0, "late_removals": 0, "held_rows": 0}
    assert made.late is None
    feed(t, (5, "a", 1), (55, "a", 2))
    feed(t, (50, "a", 4), (44, "a", 8), (75, "a", 16))
    feed(t, (59, "a", 32), (64, "a", 64), (65, "a", 128))
    assert made.rows() == [("a", START, 7), ("a", at(60), 144)]
    assert made.counted["late"] == 3


def test_a_batch_is_judged_by_the_watermark_of_the_one_before(g: tf.Graph) -> None:
    t = fed(g)
    made = t.watermark("t", delay=0).group_by_dynamic("t", every="1h").len()
    feed(t, (500, "a", 1), (5, "a", 1))
    assert made["len"].to_list() == [1, 1]
    feed(t, (5, "a", 1))
    assert made["len"].to_list() == [1, 1]


def test_final_windows_are_sent_once_and_only_added(g: tf.Graph) -> None:
    t = fed(g)
    timely = t.watermark("t", delay="10m")
    made = timely.group_by_dynamic("t", every="1h", group_by="k", emit="final").agg(col("x").sum())
    assert made.attributes["append_only"]
    feed(t, (5, "a", 1), (10, "b", 2), (65, "a", 4))
    assert made.rows() == []
    feed(t, (59, "a", 8), (70, "a", 16))
    assert made.rows() == [("a", START, 9), ("b", START, 2)]
    feed(t, (1, "a", 1), (200, "a", 1))
    assert made.rows() == [("a", START, 9), ("b", START, 2), ("a", at(60), 20)]
    assert made.counted["late"] == 1


def test_final_sessions_are_sent_when_no_row_can_join_them(g: tf.Graph) -> None:
    t = fed(g)
    made = t.watermark("t", delay=0).session("t", gap="10m", group_by="k", emit="final").agg(col("x").sum())
    feed(t, (0, "a", 1), (12, "a", 2))
    assert made.rows() == [("a", at(0), at(0), 1)]
    feed(t, (22, "a", 4))
    assert len(made) == 1
    feed(t, (32, "b", 8))
    assert len(made) == 1  # a row at the watermark would still join
    feed(t, (33, "b", 8))
    assert made.rows() == [("a", at(0), at(0), 1), ("a", at(12), at(22), 6)]


def test_late_rows_count_within_the_lateness_that_is_allowed(g: tf.Graph) -> None:
    t = fed(g)
    how: Any = {"every": "1h", "late": "keep", "allowed_lateness": "30m", "emit": "final"}
    made = t.watermark("t", delay=0).group_by_dynamic("t", **how).agg(col("x").sum())
    feed(t, (10, "a", 1), (80, "a", 2))
    feed(t, (50, "a", 4))
    feed(t, (49, "a", 8))
    assert made.rows() == []
    feed(t, (90, "a", 16))
    assert made.rows() == [(START, 5)]
    assert made.counted["late"] == 1


def test_late_rows_are_a_table(g: tf.Graph) -> None:
    t = tf.keyed_table({"id": int, "t": tf.Datetime("ns"), "x": int}, key="id", graph=g)
    made = t.watermark("t", delay=0).group_by_dynamic("t", every="1h", late="table").agg(col("x").sum())
    late = made.late
    assert late is not None
    assert late.columns == ["id", "t", "x", "_change"]
    t.upsert({"id": [1, 2], "t": [at(10), at(70)], "x": [1, 2]})
    g.step()
    t.upsert({"id": [1, 3, 4], "t": [at(10), at(20), at(75)], "x": [5, 6, 7]})  # a late change, a late row, one in time
    g.step()
    t.delete([1])
    g.step()
    assert late.select("id", "x", "_change").rows() == [
        (1, 1, "removed"),
        (1, 5, "added"),
        (3, 6, "added"),
        (1, 5, "removed"),
    ]
    assert made.rows() == [(START, 1), (at(60), 9)]
    assert dict(made.counted) == {"late": 2, "late_removals": 2, "held_rows": 2}
    assert late.attributes["append_only"]


@pytest.mark.parametrize("keep", [True, False])
def test_closed_windows_stay_or_go(g: tf.Graph, keep: bool) -> None:
    t = fed(g)
    made = t.watermark("t", delay=0).group_by_dynamic("t", every="1h", keep_results=keep).agg(col("x").sum())
    for hour in range(5):
        feed(t, (60 * hour, "a", hour))
    assert made["x"].to_list() == ([0, 1, 2, 3, 4] if keep else [3, 4])


def test_a_correction_of_a_row_in_time_is_applied(g: tf.Graph) -> None:
    t = tf.keyed_table({"id": int, "t": tf.Datetime("ns"), "x": int}, key="id", graph=g)
    made = t.watermark("t", delay="1h").group_by_dynamic("t", every="1h").agg(col("x").sum())
    t.upsert({"id": [1, 2], "t": [at(10), at(70)], "x": [1, 2]})
    g.step()
    t.upsert({"id": [1], "t": [at(20)], "x": [8]})
    g.step()
    assert made.rows() == [(START, 8), (at(60), 2)]
    t.delete([2])
    g.step()
    assert made.rows() == [(START, 8)]


def test_what_windows_were_made_of_is_freed(g: tf.Graph) -> None:
    """A million keys through windows of ten thousand rows: what is held does not grow."""
    t = tf.blink_table({"t": tf.Datetime("ns"), "k": int}, graph=g)
    made = t.watermark("t", delay=0).group_by_dynamic("t", every="10s", group_by="k", emit="final").len()
    totals = made.agg_by(tf.agg.count_("n"))
    held: list[int] = []

    def entries(table: tf.Table) -> int:
        return sum(int(one.figures()[2]) for one in below(table))

    second = dt.timedelta(seconds=1)
    for step in range(100):
        keys = range(step * 10_000, (step + 1) * 10_000)
        first = START + step * 10 * second
        t.append({"t": [first + (key % 10) * second for key in keys], "k": list(keys)})
        g.step()
        held.append(entries(made))
    assert totals["n"].to_list() == [990_000]
    assert max(held[3:]) <= max(held[:3])


def below(table: tf.Table) -> list[Any]:
    """A table, and those that it stands on."""
    found: list[Any] = []
    waiting: list[Any] = [table._native]
    while waiting:
        one = waiting.pop()
        if all(one.identity != known.identity for known in found):
            found.append(one)
            waiting += one.inputs()
    return found


@pytest.mark.parametrize("sessions", [False, True])
def test_windows_of_late_rows_travel_in_plans(g: tf.Graph, sessions: bool) -> None:
    t = fed(g)
    timely = t.watermark("t", delay="1m").filter(col("x") > 0)
    how: Any = {"emit": "final", "late": "table", "group_by": "k"}
    groups = timely.session("t", gap="5m", **how) if sessions else timely.group_by_dynamic("t", every="1h", **how)
    made = groups.agg(col("x").sum())
    plan = tf.Plan.from_json(made.plan.to_json())
    again = plan.run(input_0=t)
    feed(t, (5, "a", 1), (400, "b", 2))
    feed(t, (300, "b", 2))
    assert again.rows() == made.rows() != []
    assert again.late is not None
    assert len(again.late) == 1


def test_windows_over_static_rows_are_one_batch() -> None:
    t = tf.table({"t": [at(400), at(5), at(6)], "x": [1, 2, 3]})
    timely = t.watermark("t", delay=0)
    assert timely.group_by_dynamic("t", every="1h", emit="final").agg(col("x").sum()).rows() == [(START, 5)]
    assert len(timely.group_by_dynamic("t", every="1h").len()) == 2


def test_a_row_without_a_time_is_counted(g: tf.Graph) -> None:
    t = fed(g)
    timely = t.watermark("t", delay=0)
    made = timely.group_by_dynamic("t", every="1h", on_error="drop").len()
    failing = timely.group_by_dynamic("t", every="1h").len()
    t.append({"t": [at(5), None], "k": ["a", "a"], "x": [1, 1]})
    g.step()
    assert made["len"].to_list() == [1]
    assert len(made.errors) == 1
    with pytest.raises(tf.errors.TickframeError, match="a row without a time belongs to no window"):
        failing.rows()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("emit", ["update", "final"])
def test_windows_are_those_of_the_rows_in_time(g: tf.Graph, seed: int, emit: Any) -> None:
    draw = random.Random(seed)
    t = fed(g)
    timely = t.watermark("t", delay="20m")
    made = timely.group_by_dynamic("t", every="30m", period="1h", group_by="k", emit=emit).agg(col("x").sum())
    kept: list[tuple[float, str, int]] = []
    seen = limit = -1e9
    for step in range(40):
        batch = [
            (step * 7 + draw.uniform(-60, 10), draw.choice("ab"), draw.randrange(9)) for _ in range(draw.randrange(5))
        ]
        kept += [row for row in batch if row[0] >= limit]
        seen = max([seen, *(row[0] for row in batch)])
        limit = seen - 20
        if batch:
            feed(t, *batch)
    sums: dict[tuple[str, int], int] = {}
    for minute, k, x in kept:
        for start in (int(minute // 30) - 1, int(minute // 30)):
            sums[k, start] = sums.get((k, start), 0) + x
    wanted = {(k, at(30 * start), x) for (k, start), x in sums.items() if emit == "update" or 30 * start + 60 <= limit}
    assert set(made.rows()) == wanted


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda t: t.watermark("q", delay=0), tf.errors.ColumnNotFoundError, "watermark"),
        (lambda t: t.watermark("x", delay=0), tf.errors.TypeMismatchError, "a watermark is of instants or dates"),
        (lambda t: t.watermark("t", delay=-1), ValueError, "watermark: delay must be 0 or longer, not -1"),
        (lambda t: t.watermark("t", delay="soon"), ValueError, "watermark: delay"),
        (lambda t: t.watermark("t", delay=0, idle_after="-1s"), ValueError, "idle_after must be 0 or longer"),
        (lambda t: windows(t, emit="final"), tf.errors.InvalidOperationError, 't.watermark\\("t", delay="10s"\\)'),
        (lambda t: windows(t, late="table"), tf.errors.InvalidOperationError, "has none over"),
        (lambda t: windows(t, keep_results=False), tf.errors.InvalidOperationError, "has none over"),
        (lambda t: t.session("t", gap=1, emit="final").len(), tf.errors.InvalidOperationError, "session: emit, late"),
        (lambda t: windows(marked(t), late="keep"), ValueError, 'say for how long: allowed_lateness="1h"'),
        (lambda t: windows(marked(t), allowed_lateness=1), ValueError, '"drop" drops all that are late'),
        (lambda t: windows(marked(t), late="keep", allowed_lateness=-1), ValueError, "allowed_lateness must be 0"),
        (lambda t: windows(marked(t), emit="last"), ValueError, 'emit must be "update" or "final"'),
        (lambda t: windows(marked(t), late="never"), ValueError, 'late must be "drop", "keep" or "table"'),
        (lambda t: windows(marked(t), keep_results=1), TypeError, "keep_results is True or False, not an int"),
        (
            lambda t: windows(marked(t), emit="final", keep_results=False),
            tf.errors.InvalidOperationError,
            "sends each window once, and keeps it",
        ),
        (lambda t: windows(marked(t.rename({"x": "_change"})), late="table"), tf.errors.DuplicateError, "_change"),
    ],
)
def test_what_cannot_be_is_told(g: tf.Graph, call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(fed(g))


def marked(t: tf.Table) -> tf.Table:
    return t.watermark("t", delay=0)


def windows(t: tf.Table, **how: Any) -> tf.Table:
    return t.group_by_dynamic("t", every="1h", **how).len()
