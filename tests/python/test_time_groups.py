"""Groups by windows of time, with polars as the oracle, and sessions, with a walk over the rows."""

from __future__ import annotations

import datetime as dt
import random
from typing import Any

import polars as pl
import pytest

import tickframe as tf
from tickframe import col

CLOSED = ["left", "right", "both", "none"]
START = dt.datetime(2024, 3, 9, 12)


def rows(seed: int, count: int, hours: float = 60) -> dict[str, list[Any]]:
    """In order of time, as polars needs them; some stand exactly where windows begin."""
    draw = random.Random(seed)
    minutes = sorted(draw.choice([draw.uniform(0, hours * 60), draw.randrange(int(hours)) * 60]) for _ in range(count))
    return {
        "t": [START + dt.timedelta(minutes=minute) for minute in minutes],
        "k": [draw.choice(["a", "b", None]) for _ in range(count)],
        "x": [draw.choice([None, draw.randrange(100)]) for _ in range(count)],
    }


def frame(seed: int, count: int, zone: str | None, hours: float = 60) -> pl.DataFrame:
    schema: dict[str, Any] = {"t": pl.Datetime("ns"), "k": pl.String, "x": pl.Int64}
    made = pl.DataFrame(rows(seed, count, hours), schema=schema)
    if zone is None:
        return made
    return made.with_columns(pl.col("t").dt.replace_time_zone("UTC").dt.convert_time_zone(zone))


def same(ours: tf.Table, theirs: pl.DataFrame, by: list[str]) -> bool:
    theirs = theirs.with_columns(pl.col(pl.UInt32).cast(pl.Int64))
    return ours.to_polars().sort(by, nulls_last=False).equals(theirs.sort(by, nulls_last=False))


def later(ours: tf.Table, theirs: pl.DataFrame) -> tf.Table:
    """Without windows that begin before the first of polars: it leaves out some that hold rows."""
    first = theirs.group_by("k").agg(since=pl.col("t").min())
    kept = ours.to_polars().join(first, on="k", nulls_equal=True, how="left").filter(pl.col("t") >= pl.col("since"))
    return tf.table(kept.drop("since"))


@pytest.mark.parametrize("closed", CLOSED)
@pytest.mark.parametrize("zone", [None, "UTC", "America/New_York", "Europe/Berlin"])
@pytest.mark.parametrize(
    ("every", "period", "offset"),
    [
        ("1h", None, None),
        ("15m", None, "5m"),
        ("1h", "3h", None),
        ("2h", "30m", "10m"),
        ("1d", None, None),
        ("1d", "2d", None),
        ("1d", None, "6h"),
        ("1w", None, None),
        ("1mo", None, None),
    ],
)
def test_windows_are_those_of_polars(
    every: str, period: str | None, offset: str | None, zone: str | None, closed: Any
) -> None:
    data = frame(len(every) + len(closed), 200, zone)
    if zone == "America/New_York" and (every == "2h" or offset == "6h"):
        pytest.skip("the clock is set within a window: polars counts on from its first row")
    how: Any = {"every": every, "period": period, "offset": offset, "closed": closed}
    ours = tf.table(data).group_by_dynamic("t", group_by="k", **how).agg(col("x").sum(), n=tf.len())
    theirs = data.group_by_dynamic("t", group_by="k", **how).agg(pl.col("x").sum(), n=pl.len())
    assert ours.columns == theirs.columns
    assert same(later(ours, theirs), theirs, ["k", "t"])
    assert (len(theirs) < len(ours)) <= (period is not None or closed == "both")


@pytest.mark.parametrize("label", ["left", "right"])
def test_ends_of_windows_are_told(label: Any) -> None:
    data = frame(3, 50, "America/New_York")
    how: Any = {"every": "1d", "include_boundaries": True, "label": label, "group_by": "k"}
    ours = tf.table(data).group_by_dynamic("t", **how).agg(col("x").max())
    theirs = data.group_by_dynamic("t", **how).agg(pl.col("x").max())
    assert ours.columns == theirs.columns == ["k", "_lower_boundary", "_upper_boundary", "t", "x"]
    assert same(ours, theirs, ["k", "t"])


def test_dates_have_windows_too() -> None:
    days = [dt.date(2024, 1, day) for day in (1, 2, 8, 9, 31)]
    ours = tf.table({"d": days, "x": [1, 2, 3, 4, 5]}).group_by_dynamic("d", every="1w").agg(col("x").sum())
    assert ours.rows() == [(dt.date(2024, 1, 1), 3), (dt.date(2024, 1, 8), 7), (dt.date(2024, 1, 29), 5)]
    with pytest.raises(tf.errors.FormulaError, match=r'every must be whole days where dates are grouped, not "1h"'):
        tf.table({"d": days}).group_by_dynamic("d", every="1h").len()


def test_a_window_may_begin_before_the_first_row() -> None:
    t = tf.table({"t": [dt.datetime(2024, 1, 1, 0, 30)]})
    starts = t.group_by_dynamic("t", every="1h", period="2h").len()["t"].to_list()
    assert starts == [dt.datetime(2023, 12, 31, 23), dt.datetime(2024, 1, 1)]


def test_windows_are_whole_where_clocks_are_set() -> None:
    """Windows of several hours follow the clock: each row is in one, and each ends where the next begins."""
    hours = [dt.datetime(2024, 3, 10, tzinfo=dt.UTC) + dt.timedelta(hours=hour) for hour in range(48)]
    t = tf.table({"t": hours}).select(col("t").dt.convert_time_zone("America/New_York"))
    made = t.group_by_dynamic("t", every="6h", include_boundaries=True).len()
    assert sum(made["len"].to_list()) == 48
    starts, ends = made["_lower_boundary"].to_list(), made["_upper_boundary"].to_list()
    assert ends[:-1] == starts[1:]
    assert [start.hour for start in starts[:4]] == [18, 0, 6, 12]


def changes(seed: int, t: tf.KeyedTable, steps: int, shown: Any) -> None:
    """Rows that come in any order, change and go."""
    draw, g = random.Random(seed), t.graph
    assert g is not None

    def instant() -> dt.datetime | None:
        return START + dt.timedelta(minutes=draw.randrange(300))

    for _ in range(steps):
        ids = draw.sample(range(30), draw.randrange(1, 6))
        if draw.random() < 0.3:
            there = set(t["id"].to_list())
            t.delete({"id": [one for one in ids if one in there]})
        else:
            t.upsert(
                {
                    "id": ids,
                    "t": [instant() for _ in ids],
                    "k": [draw.choice("ab") for _ in ids],
                    "x": [draw.randrange(9) for _ in ids],
                }
            )
        g.step()
        shown()


@pytest.mark.parametrize("closed", CLOSED)
@pytest.mark.parametrize(("every", "period"), [("1h", None), ("30m", "1h"), ("1h", "10m")])
def test_windows_follow_every_change(every: str, period: str | None, closed: Any) -> None:
    t = tf.keyed_table({"id": int, "t": tf.Datetime("ns"), "k": str, "x": int}, key="id", graph=tf.Graph())
    how: Any = {"every": every, "period": period, "closed": closed, "group_by": "k"}
    made = t.group_by_dynamic("t", **how).agg(col("x").sum(), n=tf.len(), first=col("t").min())

    def shown() -> None:
        p = t.to_polars().sort("t")
        wanted = p.group_by_dynamic("t", **how).agg(pl.col("x").sum(), n=pl.len(), first=pl.col("t").min())
        assert same(later(made, wanted), wanted, ["k", "t"])

    changes(len(every), t, 25, shown)


def sessions(of: list[tuple[dt.datetime, int]], gap: dt.timedelta) -> list[tuple[dt.datetime, dt.datetime, int, int]]:
    found: list[tuple[dt.datetime, dt.datetime, int, int]] = []
    for t, x in sorted(of):
        if found and t - found[-1][1] <= gap:
            start, _, total, n = found[-1]
            found[-1] = (start, t, total + x, n + 1)
        else:
            found.append((t, t, x, 1))
    return found


@pytest.mark.parametrize("minutes", [0, 5, 20, 400])
def test_sessions_follow_every_change(minutes: int) -> None:
    t = tf.keyed_table({"id": int, "t": tf.Datetime("ns"), "k": str, "x": int}, key="id", graph=tf.Graph())
    made = t.session("t", gap=dt.timedelta(minutes=minutes), group_by="k").agg(col("x").sum(), n=tf.len())
    assert made.columns == ["k", "session_start", "session_end", "x", "n"]

    def shown() -> None:
        wanted = []
        for k in "ab":
            of = [(row["t"], row["x"]) for row in t.to_dicts() if row["k"] == k]
            wanted += [(k, *one) for one in sessions(of, dt.timedelta(minutes=minutes))]
        assert set(made.rows()) == set(wanted)

    changes(minutes, t, 40, shown)


def test_a_row_between_two_sessions_is_told_as_one_that_goes_and_one_that_changes(g: tf.Graph) -> None:
    clicks = tf.append_table({"t": dt.datetime}, graph=g)
    made = clicks.session("t", gap="10m").len()
    updates: list[tf.Update] = []
    with made.subscribe(updates.append):
        for minute in (0, 20, 10):
            clicks.append({"t": START + dt.timedelta(minutes=minute)})
            g.step()
        update = updates[-1]
        assert (len(update.added), len(update.removed), len(update.modified)) == (0, 1, 1)
    assert made.rows() == [(START, START + dt.timedelta(minutes=20), 3)]


def test_sessions_of_computed_keys_and_without_keys() -> None:
    t = tf.table({"t": [START + dt.timedelta(minutes=m) for m in (0, 1, 9)], "x": [1, 2, 3]})
    assert t.session("t", gap=60).len()["len"].to_list() == [2, 1]
    odd = t.session("t", gap="10m", group_by=(col("x") % 2).alias("odd")).agg(mean=col("x").sum() / tf.len())
    assert odd.select("odd", "mean").rows() == [(1, 2.0), (0, 2.0)]


@pytest.mark.parametrize(
    "make", [lambda t, **k: t.group_by_dynamic("t", every="1h", **k), lambda t, **k: t.session("t", gap="1h", **k)]
)
def test_a_row_without_a_time_is_in_no_window(make: Any) -> None:
    t = tf.table({"t": [START, None, START], "x": ["1", "2", "x"]})
    with pytest.raises(tf.errors.TickframeError, match="a row without a time belongs to no window"):
        make(t).len()
    for on_error, total in [("null", 1), ("drop", 1)]:
        made = make(t, on_error=on_error).agg(total=col("x").cast(tf.Int64).sum(), n=tf.len())
        assert made["total"].to_list() == [total]
        assert made["n"].to_list() == [2 if on_error == "null" else 1]
        assert sorted(made.errors.to_dict()["row_key"]) == [1, 2]


@pytest.mark.parametrize(
    ("how", "error", "message"),
    [
        ({"every": "0s"}, tf.errors.FormulaError, "every must be positive"),
        ({"every": "-1h"}, tf.errors.FormulaError, "every must be positive"),
        ({"every": "1mo1d"}, tf.errors.FormulaError, "in months or in shorter units but not both"),
        ({"every": "1h", "period": "0s"}, tf.errors.FormulaError, "period must be positive"),
        ({"every": "1h", "period": "-2h"}, tf.errors.FormulaError, "period must be positive"),
        ({"every": "1ns", "period": "1d"}, tf.errors.FormulaError, "around each row, more than 65536"),
        ({"every": "soon"}, tf.errors.FormulaError, '"soon" is no length of time'),
        ({"every": 3600}, TypeError, 'every is a text such as "1h" or a timedelta, not the number 3600; write "3600s"'),
        ({"every": None}, TypeError, 'every is a text such as "1h" or a timedelta, not a NoneType'),
        ({"every": "1h", "closed": "open"}, tf.errors.FormulaError, "closed must be"),
        ({"every": "1h", "label": "middle"}, ValueError, "middle"),
        ({"every": "1h", "group_by": "t"}, tf.errors.DuplicateError, "t"),
        ({"every": "1h", "group_by": "q"}, tf.errors.ColumnNotFoundError, "q"),
        ({"every": "1h", "include_boundaries": True, "group_by": "_lower_boundary"}, tf.errors.DuplicateError, "lower"),
    ],
)
def test_windows_that_cannot_be_are_told(how: dict[str, Any], error: type[Exception], message: str) -> None:
    t = tf.table({"t": [START], "x": [1], "_lower_boundary": [1]})
    with pytest.raises(error, match=message):
        t.group_by_dynamic("t", **how).agg(col("x").sum())


def test_columns_that_hold_no_times_are_told() -> None:
    t = tf.table({"x": [1], "d": [dt.date(2024, 1, 1)], "t": [START]})
    with pytest.raises(
        tf.errors.TypeMismatchError, match='the column "x" holds Int64, and windows of time are of instants'
    ):
        t.group_by_dynamic("x", every="1h").len()
    with pytest.raises(tf.errors.ColumnNotFoundError, match="group_by_dynamic"):
        t.group_by_dynamic("q", every="1h").len()
    with pytest.raises(tf.errors.TypeMismatchError, match='the column "d" holds Date, and sessions are of instants'):
        t.session("d", gap="1d").len()
    with pytest.raises(tf.errors.ColumnNotFoundError, match="session"):
        t.session("q", gap="1d").len()


def test_gaps_that_cannot_be_are_told(g: tf.Graph) -> None:
    t = tf.table({"t": [START], "session_end": [1]})
    for gap in (-1, "-1h"):
        with pytest.raises(ValueError, match="session: gap must be 0 or longer"):
            t.session("t", gap=gap)
    with pytest.raises(ValueError, match="session: gap"):
        t.session("t", gap="soon")
    with pytest.raises(tf.errors.DuplicateError, match="session_end"):
        t.session("t", gap=1, group_by="session_end").len()
    blink = tf.blink_table({"t": dt.datetime}, graph=g)
    with pytest.raises(tf.errors.InvalidOperationError, match="blink_to_append_only"):
        blink.session("t", gap=1).len()


def test_what_windows_have_not_is_told() -> None:
    groups = tf.table({"t": [START]}).group_by_dynamic("t", every="1h")
    assert "say what to compute of each window" in repr(groups)
    with pytest.raises(AttributeError, match="windows of time have no 'size'"):
        groups.size  # type: ignore[attr-defined]  # noqa: B018


def test_rows_that_live_for_one_step_are_counted_in_their_windows(g: tf.Graph) -> None:
    ticks = tf.blink_table({"t": dt.datetime, "x": int}, graph=g)
    made = ticks.group_by_dynamic("t", every="1h", period="2h").agg(col("x").sum())
    for x in (1, 2):
        ticks.append({"t": START, "x": x})
        g.step()
    assert made["x"].to_list() == [3, 3]


@pytest.mark.parametrize("sessions", [False, True])
def test_windows_travel_in_plans(g: tf.Graph, sessions: bool) -> None:
    t = tf.append_table({"t": dt.datetime, "x": int}, graph=g)
    groups = t.session("t", gap="1h", group_by="x") if sessions else t.group_by_dynamic("t", every="1h", group_by="x")
    made = groups.len()
    plan = tf.Plan.from_json(made.plan.to_json())
    t.append({"t": [START, START], "x": [1, 2]})
    g.step()
    assert plan.run(input_0=t).rows() == made.rows()
