"""One grammar of lengths of time: beside instants in expressions and formulas, and in arguments."""

import datetime as dt

import pytest

import tickframe as tf
from tickframe import col
from tickframe.durations import nanoseconds

HOUR, MINUTE, SECOND = 3600 * 10**9, 60 * 10**9, 10**9
START = dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("5m", 5 * MINUTE),
        ("1h30m", 90 * MINUTE),
        ("1h 30m", 90 * MINUTE),
        (" 2 h ", 2 * HOUR),
        ("PT1s", SECOND),
        ("PT1H30M", 90 * MINUTE),
        ("pt1.5s", 1_500_000_000),
        ("P1DT1H", 25 * HOUR),
        ("2w", 14 * 24 * HOUR),
        ("1.5h", 90 * MINUTE),
        ("0.5us", 500),
        ("3µs", 3000),
        ("-5m", -5 * MINUTE),
    ],
)
def test_every_form_is_read_everywhere(text, ns):
    assert nanoseconds(text) == ns
    table = tf.table({"t": [START], "d": [dt.timedelta(0)], "s": [text.strip()]})
    later = START + dt.timedelta(microseconds=ns / 1000)
    made = table.select(
        (col("t") + text.strip()).alias("a"),
        (col("t") - text.strip()).alias("b"),
        (col("d") + text.strip()).dt.total_nanoseconds().alias("c"),
        col("s").cast(tf.Duration("ns")).dt.total_nanoseconds().alias("e"),
    )
    assert made.select("c", "e").rows() == [(ns, ns)]
    if ns % 1000 == 0:
        assert made.select("a", "b").rows() == [(later, START - (later - START))]


def test_a_filter_by_the_clock_takes_it():
    clock = tf.testing.ManualClock("2024-05-01T12:00:00+00:00")
    events = tf.append_table({"t": tf.Datetime("ns", "UTC"), "x": int}, graph=tf.Graph(clock=clock))
    recent = events.filter(col("t") > tf.now() - "5m")
    events.append({"t": [clock.now], "x": [1]})
    events.graph.step()
    assert recent["x"].to_list() == [1]
    clock.advance("PT5M")
    events.graph.step()
    assert recent["x"].to_list() == []
    assert recent.explain().count("filter") == 2  # the rows in time, and what runs when one of them is not any more


@pytest.mark.parametrize("text", ["", "5", "m", "1x", "PT", "P", "1h ago", "0.5ns", "1mo", "P1Y", "--1s", "1,5h"])
def test_what_is_no_length_of_time_is_told(text):
    with pytest.raises(ValueError, match=r"period: .* is no span of time"):
        nanoseconds(text, "period")
    with pytest.raises(tf.errors.TypeMismatchError, match="is no length of time; write"):
        tf.table({"t": [START]}).select(col("t") - text)


def test_what_is_too_long_is_told():
    with pytest.raises(ValueError, match=r"period: .* is beyond the 292 years"):
        nanoseconds("99999999999h", "period")


def test_a_column_of_texts_beside_a_time_is_refused():
    with pytest.raises(tf.errors.TypeMismatchError):
        tf.table({"t": [START], "s": ["5m"]}).select(col("t") - col("s"))
