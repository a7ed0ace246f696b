"""Functions of dates, times, instants and durations."""

from __future__ import annotations

from datetime import time

import pyarrow.compute as pc

from functions.rows import Rows, p, q, x, y

rows = Rows()
add = rows.add

D, E = x.dt, p.dt
DATE_PARTS = {
    "year": pc.year, "quarter": pc.quarter, "month": pc.month, "week": pc.iso_week, "ordinal_day": pc.day_of_year,
    "day": pc.day, "weekday": lambda a: pc.day_of_week(a, count_from_zero=False, week_start=1),
}  # fmt: skip
TIME_PARTS = {
    "hour": pc.hour,
    "minute": pc.minute,
    "second": pc.second,
    "millisecond": None,
    "microsecond": None,
    "nanosecond": None,
}
DATE_PARTS |= dict.fromkeys(("days_in_month", "is_leap_year", "iso_year", "century", "millennium"))
for part, arrow in {**DATE_PARTS, **TIME_PARTS}.items():
    for data in ("instants", "zoned"):
        add(f"dt.{part}", data, getattr(D, part)(), polars=getattr(E, part)(), pyarrow=arrow)
    add(
        f"dt.{part}",
        "dates" if part in DATE_PARTS else "times",
        getattr(D, part)(),
        polars=getattr(E, part)(),
        pyarrow=arrow,
    )
for data in ("instants", "zoned"):
    add("dt.date", data, D.date(), polars=E.date())
    add("dt.time", data, D.time(), polars=E.time())
# Polars has its weeks in pairs begin at another Monday; DuckDB's are ours.
add("dt.truncate", "dates", D.truncate("2w"), duckdb="time_bucket(INTERVAL 14 DAY, x)::DATE")
for every in ("1ns", "7us", "1ms", "1s", "15m", "1h", "7h", "1d", "3d", "1w", "1mo", "5mo", "1q", "1y"):
    add("dt.truncate", "inner", D.truncate(every), polars=E.truncate(every))
    if every[-1] not in "ns" and every[-1] != "h" and every[-1] != "m":
        add("dt.truncate", "dates", D.truncate(every), polars=E.truncate(every))
for every in ("1s", "1h", "1d", "1w", "1mo"):
    add("dt.round", "inner", D.round(every), polars=E.round(every))
    add("dt.truncate", "zoned", D.truncate(every), polars=E.truncate(every))
for by in ("1ns", "-1h", "1d", "-1d", "1w", "1mo", "-1mo", "13mo", "1q", "1y", "-4y", "1y1mo1d1h1ns"):
    add("dt.offset_by", "inner", D.offset_by(by), polars=E.offset_by(by))
    if "h" not in by and by != "1ns":
        add("dt.offset_by", "dates", D.offset_by(by), polars=E.offset_by(by))
for name in ("month_start", "month_end"):
    add(f"dt.{name}", "inner", getattr(D, name)(), polars=getattr(E, name)())
    add(f"dt.{name}", "dates", getattr(D, name)(), polars=getattr(E, name)())
for data in ("inner", "near_dates"):
    add("dt.combine", data, D.combine(time(9, 30)), polars=E.combine(time(9, 30), "ns"))
    add("dt.combine", f"{data}*times", D.combine(y), polars=E.combine(q, "ns"))
for text in ("%Y-%m-%d", "%H:%M:%S", "%j %U %a %b", "%y/%m/%d %I:%M %p"):
    add("dt.strftime", "inner", D.strftime(text), polars=E.strftime(text))
add("dt.strftime", "dates", D.strftime("%Y-%m-%d"), polars=E.strftime("%Y-%m-%d"))
for total in ("days", "hours", "minutes", "seconds", "milliseconds", "microseconds", "nanoseconds"):
    add(f"dt.total_{total}", "durations", getattr(D, f"total_{total}")(), polars=getattr(E, f"total_{total}")())
for unit in ("ns", "us", "ms", "s", "d"):
    add("dt.epoch", "instants", D.epoch(unit), polars=E.epoch(unit))
add("dt.convert_time_zone", "zoned", D.convert_time_zone("Asia/Kolkata"), polars=E.convert_time_zone("Asia/Kolkata"))
add("dt.replace_time_zone", "inner", D.replace_time_zone("UTC"), polars=E.replace_time_zone("UTC"))
add("dt.replace_time_zone", "zoned", D.replace_time_zone(None), polars=E.replace_time_zone(None))
add("dt.bin", "inner", D.bin("1h"), polars=E.truncate("1h"))
add("lower_bin", "inner", x.lower_bin("15m"), polars=E.truncate("15m"))
add("__add__", "instants*durations", x + y, polars=p + q)
add("__sub__", "instants*durations", x - y, polars=p - q)
add("__lt__", "instants*instants", x < y, polars=p < q, duckdb="x < y")
