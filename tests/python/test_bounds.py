"""What operations hold of streams that never end: bounds, what is counted of them, and the warning where there is none."""

from __future__ import annotations

import datetime as dt
import warnings
from typing import TYPE_CHECKING, Any

import pytest

import tickframe as tf
from tickframe import col
from tickframe.testing import ManualClock

if TYPE_CHECKING:
    from collections.abc import Callable

START = dt.datetime(2024, 5, 1, 9)


def at(minute: float) -> dt.datetime:
    return START + dt.timedelta(minutes=minute)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def g(clock: ManualClock) -> tf.Graph:
    return tf.Graph(clock=clock)


def fed(g: tf.Graph, kind: Any = tf.blink_table) -> Any:
    return kind({"k": str, "t": dt.datetime, "x": int}, graph=g)


def feed(t: Any, *rows: tuple[float, str, int]) -> None:
    for minute, k, x in rows:
        t.append({"k": k, "t": at(minute), "x": x})
    t.graph.step()


def test_a_group_is_let_go_by_the_clock_alone(g: tf.Graph, clock: ManualClock) -> None:
    t = fed(g)
    sums = t.group_by("k", state_ttl="10s").agg(col("x").sum())
    feed(t, (0, "a", 1), (0, "b", 2))
    clock.advance(dt.timedelta(seconds=8))
    feed(t, (0, "a", 3))
    clock.advance(dt.timedelta(seconds=3))
    g.step()
    assert sums.rows() == [("a", 4)]
    assert sums.counters() == {"held_groups": 1, "evicted_groups": 1}
    feed(t, (0, "b", 5))
    assert sums.rows() == [("a", 4), ("b", 5)]


def test_a_group_is_let_go_by_the_watermark(g: tf.Graph) -> None:
    t = fed(g)
    sums = t.watermark("t", delay="5m").group_by("k", state_ttl="10m").agg(col("x").sum())
    feed(t, (0, "a", 1), (14, "b", 2))
    feed(t, (16, "b", 1))
    assert sums.rows() == [("a", 1), ("b", 3)]
    feed(t, (17, "c", 1))  # the watermark was at 11 before this step: later than 0 and ten minutes
    assert sums.rows() == [("b", 3), ("c", 1)]


@pytest.mark.parametrize("kind", [tf.blink_table, tf.append_table])
def test_of_too_many_groups_the_one_touched_longest_ago_goes(g: tf.Graph, kind: Any) -> None:
    t = fed(g, kind)
    made = t.group_by("k", max_groups=2).agg(col("x").sum(), col("x").last().alias("last"), n=tf.len())
    feed(t, (0, "a", 1), (0, "b", 2), (0, "a", 3))
    feed(t, (0, "c", 4))
    assert made.rows() == [("a", 4, 3, 2), ("c", 4, 4, 1)]
    feed(t, (0, "b", 5))
    assert made.rows() == [("c", 4, 4, 1), ("b", 5, 5, 1)]


def test_too_many_groups_may_be_an_error(g: tf.Graph) -> None:
    t = fed(g)
    made = t.group_by("k", max_groups=1, when_full="error").len()
    feed(t, (0, "a", 1), (0, "a", 1))
    assert made.rows() == [("a", 2)]
    feed(t, (0, "b", 1))
    with pytest.raises(tf.errors.TableFailedError, match="there are 2 groups, and max_groups=1") as failed:
        made.rows()
    assert isinstance(failed.value.__cause__, tf.errors.ResourceError)


def test_results_may_stay(g: tf.Graph) -> None:
    t = fed(g)
    once = t.unique("k", max_groups=1, keep_results=True)
    feed(t, (0, "a", 1))
    feed(t, (0, "b", 2), (0, "b", 3))
    feed(t, (0, "a", 4))
    assert once.select("k", "x").rows() == [("a", 1), ("b", 2), ("a", 4)]
    assert once.attributes.get("key") is None
    assert once.counters() == {"held_groups": 1, "evicted_groups": 2}


@pytest.mark.parametrize("kind", [tf.blink_table, tf.append_table])
def test_values_that_run_begin_anew(g: tf.Graph, kind: Any) -> None:
    t = fed(g, kind)
    made = t.update_by(tf.update_by.cum_sum("s = x"), by="k", max_groups=1)
    seen: list[int] = []
    for k, x in [("a", 1), ("a", 2), ("b", 5), ("a", 7)]:
        feed(t, (0, k, x))
        seen.append(made["s"].to_list()[-1])
    assert seen == [1, 3, 5, 7]
    assert made.counters() == {"held_groups": 1, "evicted_groups": 2}


def test_a_join_of_streams_is_bounded(g: tf.Graph) -> None:
    left, right = fed(g), fed(g)
    met = left.watermark("t", delay="1m").join(right.watermark("t", delay="1m"), on="k", state_ttl="10m")
    feed(left, (0, "a", 1))
    feed(right, (1, "a", 2))
    assert met.select("k", "x", "x_right").rows() == [("a", 1, 2)]
    feed(left, (20, "b", 1))
    feed(left, (20, "b", 1))
    assert met.rows() == []
    counted = met.counters()
    assert (counted["held_rows"], counted["evicted_rows"]) == (3, 1)
    feed(left, (1, "a", 1))  # too late
    assert met.counters()["late"] == 1


@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "semi", "anti"])
def test_each_join_takes_bounds(g: tf.Graph, how: Any) -> None:
    left, right = fed(g, tf.append_table), fed(g, tf.append_table)
    made = left.join(right.select("k", y="x"), on="k", how=how, max_rows=1)
    feed(left, (0, "a", 1), (0, "b", 2))
    feed(right, (0, "a", 3), (0, "b", 4))
    wanted = left.tail(1).join(right.select("k", y="x").tail(1), on="k", how=how)
    assert made.rows() == wanted.rows()


def test_natural_and_asof_joins_take_bounds(g: tf.Graph) -> None:
    left, right = fed(g, tf.append_table), fed(g, tf.append_table)
    others = right.select("k", "t", y="x")
    natural = left.natural_join(others, on="k", joins="y", max_rows=1)
    nearest = left.join_asof(others, on="t", by="k", joins="y", max_rows=1)
    feed(left, (5, "a", 1), (5, "b", 2))
    feed(right, (1, "b", 3), (2, "a", 4))
    assert natural["y"].to_list() == [None]
    assert nearest["y"].to_list() == [None]
    feed(right, (3, "b", 6))
    assert natural["y"].to_list() == [6]
    assert nearest["y"].to_list() == [6]


def test_joins_of_ranges_predicates_and_many_tables_take_bounds(g: tf.Graph) -> None:
    left, right = fed(g, tf.append_table), fed(g, tf.append_table)
    others = right.select("k", u="t", y="x")
    sums = left.range_join(others, on="k, x <= y", aggs=col("y").sum().alias("s"), max_rows=2)
    pairs = left.join_where(others, col("k") == col("k_right"), col("x") < col("y"), max_rows=2)
    both = tf.multi_join([left.select("k", "x"), others.select("k", "y")], on="k", max_rows=2)
    feed(left, (0, "a", 1), (1, "b", 2))
    feed(right, (0, "a", 10), (0, "b", 20))
    assert sums["s"].to_list() == [10, 20]
    assert pairs.select("k", "x", "y").rows() == [("a", 1, 10), ("b", 2, 20)]
    assert both.rows() == [("a", 1, 10), ("b", 2, 20)]
    left.append({"k": "c", "t": at(2), "x": 3})
    right.append({"k": "c", "t": at(2), "x": 30})
    g.step()
    assert sums.drop("t").rows() == [("b", 2, 20), ("c", 3, 30)]
    assert pairs.select("k", "x", "y").rows() == [("b", 2, 20), ("c", 3, 30)]
    assert both.rows() == [("b", 2, 20), ("c", 3, 30)]
    for made in (sums, pairs, both):
        assert (made.counters()["held_rows"], made.counters()["evicted_rows"]) == (4, 2)


def test_an_exact_join_lets_both_sides_go(g: tf.Graph) -> None:
    left, right = fed(g, tf.append_table), fed(g, tf.append_table)
    exact = left.exact_join(right.select("k", y="x"), on="k", joins="y", max_rows=1)
    for k, x in [("a", 1), ("b", 2)]:
        left.append({"k": k, "t": at(0), "x": x})
        right.append({"k": k, "t": at(0), "x": x * 10})
        g.step()
    assert exact.drop("t").rows() == [("b", 2, 20)]


def test_too_many_rows_may_be_an_error(g: tf.Graph) -> None:
    left, right = fed(g), fed(g)
    met = left.join(right, on="k", max_rows=1, when_full="error")
    feed(left, (0, "a", 1), (0, "b", 1))
    with pytest.raises(tf.errors.TableFailedError, match="there are 2 rows, and max_rows=1"):
        met.rows()


def test_open_windows_hold_so_many_rows(g: tf.Graph) -> None:
    t = fed(g)
    hours = t.watermark("t", delay="0s").group_by_dynamic("t", every="1h", max_rows=2).len()
    feed(t, (0, "a", 1), (1, "a", 1))
    assert hours.counters()["held_rows"] == 2
    feed(t, (61, "a", 1))
    with pytest.raises(tf.errors.TableFailedError, match="hold 3 rows, and max_rows=2"):
        hours.rows()


def test_many_keys_pass_through_few_groups() -> None:
    g = tf.Graph()
    t = tf.blink_table({"k": int, "x": int}, graph=g)
    sums = t.group_by("k", max_groups=10_000).agg(col("x").sum(), col("x").max().alias("most"))
    total = t.update_by(tf.update_by.cum_sum("s = x"), by="k", max_groups=10_000)
    held = []
    for part in range(100):
        keys = list(range(part * 10_000, (part + 1) * 10_000))
        t.append({"k": keys, "x": keys})
        g.step()
        held.append(g.counters()["bytes_held"])
    assert len(sums) == sums.counters()["held_groups"] == total.counters()["held_groups"] == 10_000
    assert sums.counters()["evicted_groups"] == 990_000
    assert held[-1] <= held[9] * 1.1, "memory is flat"


UNBOUNDED: list[tuple[str, Callable[[Any], Any], str]] = [
    ("group_by", lambda t: t.group_by("k").len(), "max_groups="),
    ("agg_by", lambda t: t.agg_by(tf.agg.count_("n"), by="k"), "max_groups="),
    ("unique", lambda t: t.unique("k"), "max_groups="),
    ("last_by", lambda t: t.last_by("k"), "unique"),
    ("first_by", lambda t: t.first_by("k"), "unique"),
    ("update_by", lambda t: t.update_by(tf.update_by.cum_sum("s = x"), by="k"), "max_groups="),
    ("session", lambda t: t.watermark("t", delay=1).group_by("k").len(), "state_ttl="),
    ("group_by_dynamic", lambda t: t.group_by_dynamic("t", every="1h").len(), "watermark("),
]


@pytest.mark.parametrize(("name", "make", "bound"), UNBOUNDED)
def test_what_never_ends_and_has_no_bound_is_told(g: tf.Graph, name: str, make: Any, bound: str) -> None:
    del name
    with pytest.warns(UserWarning, match=r"never end") as told:
        make(fed(g))
    assert bound in str(told[0].message)
    assert told[0].filename == __file__


def test_a_join_of_watermarks_without_a_bound_is_told(g: tf.Graph) -> None:
    t, other = fed(g, tf.append_table).watermark("t", delay=1), fed(g, tf.append_table)
    with pytest.warns(UserWarning, match=r"join: .* max_rows="):
        t.join(other, on="k")


def test_a_place_is_told_once(g: tf.Graph) -> None:
    t = fed(g)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        for _ in range(3):
            t.unique("k")
    assert len(told) == 1


def test_what_has_a_bound_or_an_end_is_not_told(g: tf.Graph) -> None:
    t = fed(g)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        t.group_by("k", max_groups=5).len()
        t.agg_by(tf.agg.count_("n"))
        t.unique("k", state_ttl=5)
        t.update_by(tf.update_by.cum_sum("s = x"), by="k", state_ttl="1h")
        t.update_by(tf.update_by.cum_sum("s = x"))
        t.watermark("t", delay=1).group_by_dynamic("t", every="1h").len()
        t.watermark("t", delay=1).session("t", gap="1h").len()
        fed(g, tf.append_table).group_by("k").len()
        tf.table({"k": ["a"]}).group_by("k").len()
        joined = fed(g, tf.append_table).watermark("t", delay=1)
        joined.join(fed(g, tf.append_table), on="k", max_rows=5)


WRONG: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (lambda t: t.group_by("k", max_groups=0).len(), ValueError, "max_groups must be 1 or more"),
    (lambda t: t.group_by("k", max_groups="5").len(), TypeError, "max_groups must be an int"),
    (lambda t: t.group_by("k", state_ttl=-1).len(), ValueError, "state_ttl must be 0 or longer"),
    (lambda t: t.group_by("k", state_ttl="soon").len(), ValueError, "no span of time"),
    (lambda t: t.group_by("k", max_groups=5, when_full="wait").len(), ValueError, "when_full must be"),
    (lambda t: t.join(t, on="k", max_rows=5, when_full=5), TypeError, 'when_full must be "evict" or "error", not 5'),
    (lambda t: t.group_by("k", state_ttl=5, when_full="error").len(), ValueError, "say how many"),
    (lambda t: t.group_by("k", keep_results=True).len(), ValueError, "say state_ttl= or max_groups="),
    (lambda t: t.group_by(max_groups=5).agg(n=tf.len()), tf.errors.InvalidOperationError, "name the keys"),
    (
        lambda t: t.group_by("k", max_groups=5, preserve_empty=True).len(),
        tf.errors.InvalidOperationError,
        "keep groups",
    ),
    (lambda t: t.group_by("k", max_groups=5).head(1), ValueError, "head and tail give rows"),
    (lambda t: t.join(t, on="k", max_rows=0), ValueError, "max_rows must be 1 or more"),
    (
        lambda t: t.update_by(tf.update_by.cum_sum("s = x"), max_groups=5),
        tf.errors.InvalidOperationError,
        "name the keys",
    ),
    (
        lambda t: t.update_by(tf.update_by.cum_sum("s = x"), by="k", max_groups=5, reset="x > 1"),
        Exception,
        "leave out reset",
    ),
    (
        lambda t: t.group_by_dynamic("t", every="1h", max_rows=5).len(),
        tf.errors.InvalidOperationError,
        "max_rows are of windows",
    ),
]


@pytest.mark.parametrize(("make", "error", "says"), WRONG)
def test_wrong_bounds_are_told(g: tf.Graph, make: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        make(fed(g))


def test_windows_that_move_are_held_by_their_table(g: tf.Graph) -> None:
    t = fed(g, tf.append_table)
    with pytest.raises(tf.errors.InvalidOperationError, match="windows, shifts"):
        t.update_by(tf.update_by.rolling_sum_tick("s = x", rev_ticks=3), by="k", max_groups=5)
    keyed = tf.keyed_table({"k": str, "x": int}, key="k", graph=g)
    with pytest.raises(tf.errors.InvalidOperationError, match="tables that only gain rows"):
        keyed.unique("x", max_groups=5)


def test_plans_keep_bounds(g: tf.Graph) -> None:
    made = fed(g).group_by("k", max_groups=2).agg(col("x").sum())
    assert "max_groups" in made.plan.to_json()
    assert "max_groups 2" in str(made.plan)
