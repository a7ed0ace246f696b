"""The same answers once more, by plain Spark SQL over the Parquet files, and the comparison with the live tables.

Nothing is shared with the live side but the files: Spark reads them as a whole, joins and groups them its own way.
Counts, strings, times, least, greatest and as-of matches must be equal; means and deviations within 1e-9 of their size,
for two engines add in different orders.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession

    from pipeline import Derived
    from prepare import Data

NEAR = 1e-9
SHOWN = 3  # differing rows printed for a table

FLOWN = """
WITH due AS (
    SELECT *, time_hour + make_dt_interval(0, 0, minute) AS planned FROM flights WHERE dep_delay IS NOT NULL
), timeline AS (
    SELECT origin, planned AS at, 1 AS kind, seq, NULL AS met FROM due
    UNION ALL
    SELECT origin, time_hour, 0, seq,
           struct(seq AS report, time_hour AS reported, temp, wind_speed, wind_gust, visib, precip)
    FROM weather
), met AS (
    SELECT seq, kind, last_value(met) IGNORE NULLS OVER (
        PARTITION BY origin ORDER BY at, kind, seq ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS met
    FROM timeline
)
SELECT due.*,
       CAST(distance AS DOUBLE) / air_time * 60 AS speed,
       CASE WHEN dep_delay > 60 THEN 'very late' WHEN dep_delay > 15 THEN 'late'
            WHEN dep_delay > 0 THEN 'a little late' ELSE 'on time' END AS delay_class,
       CASE WHEN dep_delay > 15 THEN 1D ELSE 0D END AS late,
       airlines.name AS airline,
       planes.manufacturer, planes.model, planes.seats, planes.year AS built,
       met.met.*,
       CASE WHEN met.met.wind_speed IS NULL THEN 'unknown' WHEN met.met.wind_speed < 5 THEN 'calm'
            WHEN met.met.wind_speed < 15 THEN 'breeze' WHEN met.met.wind_speed < 25 THEN 'strong'
            ELSE 'gale' END AS wind
FROM due
JOIN met ON met.seq = due.seq AND met.kind = 1
LEFT JOIN airlines ON airlines.carrier = due.carrier
LEFT JOIN planes ON planes.tailnum = due.tailnum
"""

DELAYS = """
SELECT {keys}, count(*) AS flights, count(dep_delay) AS delays, avg(dep_delay) AS mean_delay,
       min(dep_delay) AS least_delay, max(dep_delay) AS greatest_delay, stddev_samp(dep_delay) AS std_delay,
       avg(late) AS share_late
FROM flown GROUP BY {keys}
"""

QUERIES = {
    "flown": "SELECT * FROM flown ORDER BY seq",
    "by_carrier": DELAYS.format(keys="carrier, airline"),
    "by_airport_and_month": DELAYS.format(keys="origin, month"),
    "by_carrier_and_month": DELAYS.format(keys="carrier, month"),
    "by_wind": DELAYS.format(keys="wind"),
    "last_seen": """
        SELECT tailnum, seq, carrier, flight, origin, dest, dep_delay, time_hour FROM (
            SELECT *, row_number() OVER (PARTITION BY tailnum ORDER BY seq DESC) AS place
            FROM flights WHERE tailnum IS NOT NULL)
        WHERE place = 1""",
    "worst": """
        SELECT seq, dep_delay, airline, flight, origin, dest, planned, wind
        FROM flown ORDER BY dep_delay DESC, seq LIMIT 10""",
}


@dataclass(frozen=True)
class Verdict:
    """What the comparison of one table found."""

    name: str
    rows: int
    expected: int
    cells: int
    error: float  # the greatest relative error among the columns compared within a tolerance
    differences: tuple[str, ...]

    @property
    def equal(self) -> bool:
        """Whether the two engines agree."""
        return not self.differences


def prove(spark: SparkSession, data: Data, live: Mapping[str, Derived], rows: Mapping[str, pa.Table]) -> list[Verdict]:
    """Compare the rows of the live tables with what Spark SQL says, table by table."""
    expected = answers(spark, data)
    return [compare(name, rows[name], expected[name], live[name]) for name in live]


def answers(spark: SparkSession, data: Data) -> dict[str, pa.Table]:
    """Every derived table as Spark computes it."""
    for name in ("flights", "weather", "airlines", "planes"):
        spark.read.parquet(data.path(name)).createOrReplaceTempView(name)
    flown = spark.sql(FLOWN).cache()
    flown.createOrReplaceTempView("flown")
    try:
        return {name: spark.sql(query).toArrow() for name, query in QUERIES.items()}
    finally:
        flown.unpersist()


def compare(name: str, actual: pa.Table, expected: pa.Table, how: Derived) -> Verdict:
    """Row for row and cell for cell; grouped results by their key, ordered ones by their place."""
    found = list(shape_differences(actual, expected))
    if found:
        return Verdict(name, actual.num_rows, expected.num_rows, 0, 0.0, tuple(found))
    if not how.ordered:
        actual, expected = by_key(actual, how.key), by_key(expected, how.key)
    error = 0.0
    for column in actual.column_names:
        ours = flat(actual.column(column))
        theirs = flat(expected.column(column)).cast(ours.type)
        if column in how.near:
            off = relative_error(ours, theirs)
            error = max(error, pc.max(off).as_py() or 0.0)
            same = pc.less_equal(off, NEAR)
        else:
            same = pc.equal(ours, theirs)
        wrong = pc.invert(agree(ours, theirs, same))
        for row in pc.indices_nonzero(wrong).to_pylist()[:SHOWN]:
            where = {key: actual.column(key)[row].as_py() for key in how.key}
            found.append(f"{where} {column}: tickframe {ours[row].as_py()!r}, Spark {theirs[row].as_py()!r}")
    return Verdict(name, actual.num_rows, expected.num_rows, actual.num_rows * actual.num_columns, error, tuple(found))


def shape_differences(actual: pa.Table, expected: pa.Table) -> Iterator[str]:
    """What keeps the cells from being compared at all."""
    if actual.num_rows != expected.num_rows:
        yield f"tickframe has {actual.num_rows} rows, Spark {expected.num_rows}"
    for column in sorted({*actual.column_names} ^ {*expected.column_names}):
        yield f"column {column} is only in {'tickframe' if column in actual.column_names else 'Spark'}"


def by_key(table: pa.Table, key: Sequence[str]) -> pa.Table:
    """The table in the order of its key."""
    return table.take(pc.sort_indices(table, sort_keys=[(name, "ascending") for name in key]))


def flat(column: pa.ChunkedArray) -> pa.Array:
    """One array, however the rows came."""
    whole = column.combine_chunks()
    return pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole


def relative_error(ours: pa.Array, theirs: pa.Array) -> pa.Array:
    """|a - b| / max(|a|, |b|), 0 where both are 0."""
    size = pc.max_element_wise(pc.abs(ours), pc.abs(theirs), skip_nulls=False)
    return pc.if_else(pc.equal(size, 0.0), 0.0, pc.divide(pc.abs(pc.subtract(ours, theirs)), size))


def agree(ours: pa.Array, theirs: pa.Array, same: pa.Array) -> pa.Array:
    """Equal values, or no value on either side."""
    both_null = pc.and_(pc.is_null(ours), pc.is_null(theirs))
    return pc.or_(both_null, pc.fill_null(same, fill_value=False))


def told(verdicts: Sequence[Verdict]) -> list[str]:
    """The comparison as a table of text."""
    width = max(len(verdict.name) for verdict in verdicts)
    lines = [f"{'table':<{width}}  {'rows':>9}  {'Spark':>9}  {'cells':>10}  {'greatest error':>14}  verdict"]
    for each in verdicts:
        verdict = "equal" if each.equal else "DIFFERENT"
        lines.append(
            f"{each.name:<{width}}  {each.rows:>9,}  {each.expected:>9,}  {each.cells:>10,}  {each.error:>14.1e}  {verdict}"
        )
        lines.extend(f"    {difference}" for difference in each.differences)
    return lines
