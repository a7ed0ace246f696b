"""Functions of formulas, each beside the expression that it means."""

from __future__ import annotations

import pyarrow as pa

import tickframe as tf
from functions.rows import DATA, DAY, NS, NUMERALS, pairs, x, y
from functions.text import READ_DATES, READ_INSTANTS, S
from functions.time import D

#: A formula, and the expression (of the other tables) that it means.
FORMULAS: list[tuple[str, str, tf.Expr]] = [
    *[
        (f"{name}(x)", "f64", getattr(x, method)())
        for name, method in {
            **{
                name: name for name in ("abs", "sign", "sqrt", "cbrt", "exp", "log", "log10", "log1p", "round", "floor")
            },
            **{name: name for name in ("ceil", "sin", "cos", "tan", "sinh", "cosh", "tanh")},
            "signum": "sign",
            "rint": "round",
            "asin": "arcsin",
            "acos": "arccos",
            "atan": "arctan",
            "toDegrees": "degrees",
            "toRadians": "radians",
            "isNull": "is_null",
            "isNaN": "is_nan",
            "isInf": "is_infinite",
            "isFinite": "is_finite",
        }.items()
    ],
    ("log(x, 10)", "f64", x.log(10)),
    ("round(x, 1)", "f64", x.round(1)),
    ("pow(x, y)", "f64*f64", x**y),
    ("clamp(x, -1.0, 2.0)", "f64", x.clip(-1.0, 2.0)),
    ("atan2(x, y)", "f64*f64", tf.arctan2(x, y)),
    ("min(x, y)", "f64*f64", tf.min_horizontal(x, y)),
    ("max(x, y, 1.0)", "f64*f64", tf.max_horizontal(x, y, tf.lit(1.0))),
    ("lowerBin(x, 5)", "i64", x.lower_bin(5)),
    ("lowerBin(x, 5, 1)", "i64", x.lower_bin(5, 1)),
    ("upperBin(x, 5)", "i64", x.upper_bin(5)),
    ("upperBin(x, 15 * MINUTE)", "inner", x.upper_bin("15m")),
    ("not(x)", "bool", ~x),
    ("ifelse(x == y, x, y)", "text*text", tf.when(x == y).then(x).otherwise(y)),
    ("inRange(x, -1.0, 1.5)", "f64", x.is_between(-1.0, 1.5)),
    ("isNormal(x)", "f64", x.is_finite().fill_null(value=False)),
    ("replaceIfNull(x, 0.0)", "f64", x.fill_null(0.0)),
    ("replaceIfNaN(x, 0.0)", "f64", x.fill_nan(0.0)),
    ("replaceIfNullNaN(x, 0.0)", "f64", x.fill_nan(0.0).fill_null(0.0)),
    ("replaceIfNonFinite(x, 0.0)", "f64", tf.when(x.is_finite()).then(x).otherwise(0.0)),
    ("coalesce(x, y, `z`)", "text*text", tf.coalesce(x, y, tf.lit("z"))),
    ("fill_null(x, y)", "text*text", x.fill_null(y)),
    ("fill_nan(x, 2.0)", "f64", x.fill_nan(2.0)),
    ("cast(x, Int8, strict=false)", "i64", x.cast(tf.Int8, strict=False)),
    ("col(`x`)", "i64", x),
    ("x.length()", "text", S.len_chars()),
    ("len(x)", "text", S.len_chars()),
    ("x.upper()", "text", S.to_uppercase()),
    ("x.toUpperCase()", "text", S.to_uppercase()),
    ("x.lower()", "text", S.to_lowercase()),
    ("x.toLowerCase()", "text", S.to_lowercase()),
    ("x.trim()", "text", S.strip_chars()),
    ("x.trim(`a`)", "text", S.strip_chars("a")),
    ("x.substring(1)", "text", S.slice(1)),
    ("x.substring(1, 3)", "text", S.slice(1, 2)),
    ("x.startsWith(y)", "text*text", S.starts_with(y)),
    ("x.endsWith(y)", "text*text", S.ends_with(y)),
    ("x.contains(y)", "text*text", S.contains(y, literal=True)),
    ("x.matches(`[a-c]+`)", "text", S.contains("^(?:[a-c]+)$")),
    ("x.replace(`a`, `$0`)", "text", S.replace_all("a", "$0", literal=True)),
    ("x.replaceAll(`[ab]`, `<$0>`)", "text", S.replace_all("[ab]", "<$0>")),
    ("x.replaceFirst(`[ab]`, `<$0>`)", "text", S.replace("[ab]", "<$0>")),
    ("concat(x, y, `!`)", "text*text", x + y + "!"),
    ("x.padStart(14, `*`)", "text", S.pad_start(14, "*")),
    ("x.padEnd(14)", "text", S.pad_end(14)),
    ("x.pad(14, `*`)", "text", S.pad_end(14, "*")),
    ("x.indexOf(y)", "text*text", S.index_of(y)),
    ("x.reverse()", "text", S.reverse()),
    ("x.charAt(1)", "text", S.slice(1, 1)),
    ("x.isEmpty()", "text", S.len_bytes() == 0),
    ("x.equals(y)", "text*text", x == y),
    ("x.equalsIgnoreCase(y)", "text*text", S.to_lowercase() == y.str.to_lowercase()),
    ("parseLong(x)", "numerals", x.cast(tf.Int64)),
    ("parseInt(x)", "small_numerals", x.cast(tf.Int32)),
    ("parseDouble(x)", "numerals", x.cast(tf.Float64)),
    ("parseFloat(x)", "numerals", x.cast(tf.Float32)),
    ("parseBoolean(x)", "words", x.cast(tf.Boolean)),
    ("parseInstant(x)", "good_instants", S.to_datetime()),
    ("parseLocalTime(x)", "good_times", x.cast(tf.Time)),
    ("epochDaysToLocalDate(x)", "days", x.cast(tf.Date)),
    ("microsOfMilli(x)", "instants", D.microsecond() % 1_000),
    ("nanosOfMilli(x)", "instants", D.nanosecond() % 1_000_000),
    ("parseLocalDate(x)", "good_dates", S.to_date()),
    *[
        (f"{name}(x)", "instants", getattr(D, part)())
        for name, part in {
            "year": "year",
            "quarter": "quarter",
            "monthOfYear": "month",
            "weekOfYear": "week",
            "dayOfMonth": "day",
            "dayOfWeek": "weekday",
            "dayOfWeekValue": "weekday",
            "dayOfYear": "ordinal_day",
            "hourOfDay": "hour",
            "minuteOfHour": "minute",
            "secondOfMinute": "second",
            "millisOfSecond": "millisecond",
            "microsOfSecond": "microsecond",
            "nanosOfSecond": "nanosecond",
            "toLocalDate": "date",
            "toLocalTime": "time",
        }.items()
    ],
    ("hourOfDay(x, `America/New_York`)", "zoned", D.hour()),
    ("minuteOfDay(x)", "instants", D.hour() * 60 + D.minute()),
    ("secondOfDay(x)", "instants", D.hour() * 3600 + D.minute() * 60 + D.second()),
    ("millisOfDay(x)", "instants", D.time().cast(tf.Int64) // 1_000_000),
    ("nanosOfDay(x)", "instants", D.time().cast(tf.Int64)),
    ("atMidnight(x)", "inner", D.truncate("1d")),
    ("plus(x, HOUR)", "inner", D.offset_by("1h")),
    ("minus(x, HOUR)", "inner", D.offset_by("-1h")),
    *[
        (f"{name}(x, y)", "near_instants", value)
        for name, value in {
            "diffNanos": (y - x).dt.total_nanoseconds(),
            "diffMicros": (y - x).dt.total_microseconds(),
            "diffMillis": (y - x).dt.total_milliseconds(),
            "diffSeconds": (y - x).dt.total_nanoseconds() / 1e9,
            "diffMinutes": (y - x).dt.total_nanoseconds() / 6e10,
            "diffHours": (y - x).dt.total_nanoseconds() / 3.6e12,
            "diffDays": (y - x).dt.total_nanoseconds() / 8.64e13,
            "diffYears365": (y - x).dt.total_nanoseconds() / (365.0 * 8.64e13),
            "diffYearsAvg": (y - x).dt.total_nanoseconds() / (365.2425 * 8.64e13),
            "isBefore": x < y,
            "isBeforeOrEqual": x <= y,
            "isAfter": x > y,
            "isAfterOrEqual": x >= y,
        }.items()
    ],
    *[
        (f"epoch{name}(x)", "instants", D.epoch(unit))
        for name, unit in {"Nanos": "ns", "Micros": "us", "Millis": "ms", "Seconds": "s", "Days": "d"}.items()
    ],
    *[
        (f"epoch{name}ToInstant(x)", "i32", (x.cast(tf.Int64) * factor).cast(tf.Datetime("ns", "UTC")))
        for name, factor in {"Nanos": 1, "Micros": 1_000, "Millis": 1_000_000, "Seconds": 1_000_000_000}.items()
    ],
    ("toInstant(x, `UTC`)", "middle_dates", x.cast(tf.Datetime("ns")).dt.replace_time_zone("UTC")),
    ("toZonedDateTime(x, `Asia/Kolkata`)", "zoned", D.convert_time_zone("Asia/Kolkata")),
    ("formatDateTime(x)", "zoned", D.strftime("%Y-%m-%dT%H:%M:%S%.f %Z")),
    ("formatDate(x)", "inner", D.strftime("%Y-%m-%d")),
    ("strftime(x, `%Y`)", "inner", D.strftime("%Y")),
    ("format(`{:.1f}|{}`, x, x)", "f64", tf.format("{:.1f}|{}", x, x)),
    ("parseDuration(x)", "lengths", x.cast(tf.Duration("ns"))),
    ("epochAuto(x)", "stamps", x.cast(tf.Datetime("s", "UTC"))),
    ("epochAutoToInstant(x)", "stamps", tf.formula("epochAuto(x)")),
    ("hourOfDay(x, timeZone(`ET`))", "zoned", tf.formula("hourOfDay(x, `America/New_York`)")),
    ("nullValueFor(x)", "f64", tf.when(tf.lit(False)).then(x)),
]
DATA["small_numerals"] = {"x": pa.array(NUMERALS[:11])}
DATA["lengths"] = {"x": pa.array([None, "PT0S", "PT5H2M1.2S", "-P1DT0.000000001S", "1h30m"])}
DATA["stamps"] = {"x": pa.array([None, 1, 0, -1, 1_700_000_000], pa.int64())}
DATA["words"] = {"x": pa.array([None, "true", "false"])}
DATA["good_instants"] = {"x": pa.array(READ_INSTANTS[:4])}
DATA["good_dates"] = {"x": pa.array(READ_DATES[:5])}
DATA["middle_dates"] = {"x": pa.array([None, -25_509, -1, 0, 59, 11_016, 20_088], pa.int32()).cast(pa.date32())}
DATA["near_instants"] = pairs(pa.array([None, 0, -1, DAY, -DAY - 1, 951_782_400_000_000_000], NS), DATA["inner"]["x"])
