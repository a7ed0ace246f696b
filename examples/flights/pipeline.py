"""The live tables of the demo: what is derived from flights and weather, and kept true while both stream in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import tickframe as tf

if TYPE_CHECKING:
    from collections.abc import Mapping

LATE = 15  # minutes; the Bureau's own definition of a delayed flight
WORST = 10


@dataclass(frozen=True)
class Derived:
    """One derived table, the columns that name its rows, and how it is compared."""

    table: tf.Table
    key: tuple[str, ...]
    near: tuple[str, ...] = ()  # columns compared within 1e-9 relative: means and deviations
    ordered: bool = False  # the order of the rows is part of the answer


def derive(flights: tf.Table, weather: tf.Table, airlines: tf.Table, planes: tf.Table) -> Mapping[str, Derived]:
    """Everything the demo keeps up to date, by name."""
    flown = enriched(flights, weather, airlines, planes)
    near = ("mean_delay", "std_delay", "share_late")
    return {
        "flown": Derived(flown, ("seq",), ordered=True),
        "by_carrier": Derived(delays(flown, "carrier", "airline"), ("carrier", "airline"), near),
        "by_airport_and_month": Derived(delays(flown, "origin", "month"), ("origin", "month"), near),
        "by_carrier_and_month": Derived(delays(flown, "carrier", "month"), ("carrier", "month"), near),
        "by_wind": Derived(delays(flown, "wind"), ("wind",), near),
        "last_seen": Derived(last_seen(flights), ("tailnum",)),
        "worst": Derived(worst(flown), ("seq",), ordered=True),
    }


def enriched(flights: tf.Table, weather: tf.Table, airlines: tf.Table, planes: tf.Table) -> tf.Table:
    """Flights that left, with their airline, their aircraft, and the weather as last reported before they were due."""
    flown = flights.filter(tf.col("dep_delay").is_not_null()).with_columns(
        planned=tf.col("time_hour") + tf.col("minute") * tf.lit(timedelta(minutes=1)),
        speed=tf.col("distance") / tf.col("air_time") * 60,
        delay_class=tf.when(tf.col("dep_delay") > 60)
        .then(tf.lit("very late"))
        .when(tf.col("dep_delay") > LATE)
        .then(tf.lit("late"))
        .when(tf.col("dep_delay") > 0)
        .then(tf.lit("a little late"))
        .otherwise(tf.lit("on time")),
        late=tf.when(tf.col("dep_delay") > LATE).then(tf.lit(1.0)).otherwise(tf.lit(0.0)),
    )
    named = flown.natural_join(airlines.select("carrier", airline=tf.col("name")), on="carrier")
    built = named.natural_join(
        planes.select("tailnum", "manufacturer", "model", "seats", built=tf.col("year")), on="tailnum"
    )
    reports = weather.select(
        "origin",
        "temp",
        "wind_speed",
        "wind_gust",
        "visib",
        "precip",
        report=tf.col("seq"),
        reported=tf.col("time_hour"),
    )
    seen = built.join_asof(reports, left_on="planned", right_on="reported", by="origin", strategy="backward")
    return seen.with_columns(
        wind=tf.when(tf.col("wind_speed").is_null())
        .then(tf.lit("unknown"))
        .when(tf.col("wind_speed") < 5)
        .then(tf.lit("calm"))
        .when(tf.col("wind_speed") < 15)
        .then(tf.lit("breeze"))
        .when(tf.col("wind_speed") < 25)
        .then(tf.lit("strong"))
        .otherwise(tf.lit("gale"))
    )


def delays(flown: tf.Table, *keys: str) -> tf.Table:
    """How late flights left, by some key."""
    delay = tf.col("dep_delay")
    return flown.group_by(*keys).agg(
        tf.len().alias("flights"),
        delay.count().alias("delays"),
        delay.mean().alias("mean_delay"),
        delay.min().alias("least_delay"),
        delay.max().alias("greatest_delay"),
        delay.std().alias("std_delay"),
        tf.col("late").mean().alias("share_late"),
    )


def last_seen(flights: tf.Table) -> tf.Table:
    """The last flight planned for each aircraft; without a tail number there is no telling which it was."""
    known = flights.filter(tf.col("tailnum").is_not_null())
    last = known.unique(subset="tailnum", keep="last")
    return last.select("tailnum", "seq", "carrier", "flight", "origin", "dest", "dep_delay", "time_hour")


def worst(flown: tf.Table) -> tf.Table:
    """The greatest delays so far; of equal ones the earlier flight stands first."""
    leaders = flown.sort(["dep_delay", "seq"], descending=[True, False]).head(WORST)
    return leaders.select("seq", "dep_delay", "airline", "flight", "origin", "dest", "planned", "wind")
