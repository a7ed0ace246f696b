//! Parts, steps and arithmetic of time.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampNanosecondType;
use arrow_array::{
    Array, ArrayRef, Date32Array, DurationNanosecondArray, Time64NanosecondArray, TimestampNanosecondArray,
};
use arrow_schema::DataType;

use crate::testing::*;
use crate::tree::expr::Expr;
use crate::tree::literal::Literal;

const SECOND: i64 = 1_000_000_000;
const HOUR: i64 = 3_600 * SECOND;

fn instants(values: &[Option<&str>], zone: Option<&str>) -> ArrayRef {
    let ns = |text: &&str| text.parse::<jiff::Timestamp>().unwrap().as_nanosecond() as i64;
    let values: Vec<Option<i64>> = values.iter().map(|value| value.as_ref().map(ns)).collect();
    Arc::new(TimestampNanosecondArray::from(values).with_timezone_opt(zone))
}

fn t(name: &str, args: impl IntoIterator<Item = Expr>) -> Expr {
    call(name, std::iter::once(col("t")).chain(args))
}

#[test]
fn parts_are_those_of_the_zone() {
    let values =
        [Some("2013-03-10T06:59:59.123456789Z"), Some("2013-03-10T07:00:00Z"), None, Some("1969-12-31T23:59:59Z")];
    let utc = [("t", instants(&values, None))];
    let york = [("t", instants(&values, Some("America/New_York")))];
    for (name, in_utc, in_york) in [
        ("dt.year", "2013 2013 null 1969", "2013 2013 null 1969"),
        ("dt.month", "3 3 null 12", "3 3 null 12"),
        ("dt.quarter", "1 1 null 4", "1 1 null 4"),
        ("dt.day", "10 10 null 31", "10 10 null 31"),
        ("dt.hour", "6 7 null 23", "1 3 null 18"),
        ("dt.minute", "59 0 null 59", "59 0 null 59"),
        ("dt.second", "59 0 null 59", "59 0 null 59"),
        ("dt.millisecond", "123 0 null 0", "123 0 null 0"),
        ("dt.microsecond", "123456 0 null 0", "123456 0 null 0"),
        ("dt.nanosecond", "123456789 0 null 0", "123456789 0 null 0"),
        ("dt.weekday", "7 7 null 3", "7 7 null 3"),
        ("dt.week", "10 10 null 1", "10 10 null 1"),
        ("dt.ordinal_day", "69 69 null 365", "69 69 null 365"),
        ("dt.days_in_month", "31 31 null 31", "31 31 null 31"),
        ("dt.is_leap_year", "false false null false", "false false null false"),
        ("dt.iso_year", "2013 2013 null 1970", "2013 2013 null 1970"),
        ("dt.century", "21 21 null 20", "21 21 null 20"),
        ("dt.millennium", "3 3 null 2", "3 3 null 2"),
        ("dt.date", "2013-03-10 2013-03-10 null 1969-12-31", "2013-03-10 2013-03-10 null 1969-12-31"),
        ("dt.time", "06:59:59.123456789 07:00:00 null 23:59:59", "01:59:59.123456789 03:00:00 null 18:59:59"),
    ] {
        check(&t(name, []), &utc, in_utc);
        check(&t(name, []), &york, in_york);
    }
    assert_eq!(bound(&t("dt.hour", []), &utc).unwrap().data_type(), &DataType::Int64);
}

#[test]
fn a_date_at_a_time_of_day_is_an_instant_of_its_zone() {
    let combined = || t("dt.combine", [call("dt.time", [col("at")])]);
    // At half past two clocks are set forward on that day; in the autumn they show half past one twice.
    let values = [Some("2013-03-10T12:00:00Z"), Some("2013-11-03T12:00:00Z"), None, Some("2013-11-03T12:00:00Z")];
    let york = instants(&values, Some("America/New_York"));
    let times = [Some("1970-01-01T02:30:00Z"), Some("1970-01-01T01:30:00Z"), Some("1970-01-01T00:00:00Z"), None];
    let columns = [("t", york), ("at", instants(&times, None))];
    check(&combined(), &columns, "2013-03-10T03:30:00-04:00 2013-11-03T01:30:00-04:00 null null");
    let columns = [("t", instants(&values, None)), ("at", instants(&times, None))];
    check(&combined(), &columns, "2013-03-10T02:30:00 2013-11-03T01:30:00 null null");
}

#[test]
fn the_ends_of_the_range_have_parts() {
    let array: ArrayRef =
        Arc::new(TimestampNanosecondArray::from(vec![i64::MIN, i64::MAX]).with_timezone("Asia/Tokyo"));
    let columns = [("t", array)];
    check(&t("dt.year", []), &columns, "1677 2262");
    check(&t("dt.hour", []), &columns, "9 8");
    let error = try_run(&t("dt.truncate", [lit("1y")]), &columns).unwrap_err();
    assert_eq!(error.row, 0);
    assert!(error.message.contains("outside the range"), "{error}");
}

#[test]
fn truncation_follows_the_local_clock() {
    let values = [Some("2013-11-03T05:30:00Z"), Some("2013-11-03T06:30:00Z"), Some("2013-11-03T07:45:00Z"), None];
    let york = [("t", instants(&values, Some("America/New_York")))];
    check(
        &t("dt.truncate", [lit("1h")]),
        &york,
        "2013-11-03T01:00:00-04:00 2013-11-03T01:00:00-05:00 2013-11-03T02:00:00-05:00 null",
    );
    check(
        &t("dt.truncate", [lit("1d")]),
        &york,
        "2013-11-03T00:00:00-04:00 2013-11-03T00:00:00-04:00 2013-11-03T00:00:00-04:00 null",
    );
    check(
        &t("dt.truncate", [lit("1w")]),
        &york,
        "2013-10-28T00:00:00-04:00 2013-10-28T00:00:00-04:00 2013-10-28T00:00:00-04:00 null",
    );
    check(
        &t("dt.truncate", [lit("1mo")]),
        &york,
        "2013-11-01T00:00:00-04:00 2013-11-01T00:00:00-04:00 2013-11-01T00:00:00-04:00 null",
    );
    check(
        &t("dt.truncate", [Expr::Literal(Literal::Duration(HOUR))]),
        &york,
        "2013-11-03T01:00:00-04:00 2013-11-03T01:00:00-05:00 2013-11-03T02:00:00-05:00 null",
    );
    check(
        &t("dt.round", [lit("1h")]),
        &york,
        "2013-11-03T01:00:00-05:00 2013-11-03T02:00:00-05:00 2013-11-03T03:00:00-05:00 null",
    );
    let old = [("t", instants(&[Some("1969-12-31T23:59:59.999999999Z")], None))];
    check(&t("dt.truncate", [lit("1s")]), &old, "1969-12-31T23:59:59");
    check(&t("dt.truncate", [lit("1q")]), &old, "1969-10-01T00:00:00");
    let error = bound(&t("dt.truncate", [lit("1 hour")]), &old).unwrap_err().to_string();
    assert!(error.starts_with("dt.truncate: \"1 hour\" is no length of time"), "{error}");
}

#[test]
fn calendar_steps() {
    let values = [Some("2013-01-31T12:00:00Z"), None];
    let utc = [("t", instants(&values, Some("UTC")))];
    check(&t("dt.offset_by", [lit("1mo")]), &utc, "2013-02-28T12:00:00Z null");
    check(&t("dt.offset_by", [lit("-1y1d")]), &utc, "2012-01-30T12:00:00Z null");
    check(&t("dt.offset_by", [lit("36h")]), &utc, "2013-02-02T00:00:00Z null");
    check(&t("dt.month_start", []), &utc, "2013-01-01T12:00:00Z null");
    check(&t("dt.month_end", []), &utc, "2013-01-31T12:00:00Z null");
    let spring = [("t", instants(&[Some("2013-03-09T07:30:00Z")], Some("America/New_York")))];
    check(&t("dt.offset_by", [lit("1d")]), &spring, "2013-03-10T03:30:00-04:00");
    check(&t("dt.offset_by", [lit("24h")]), &spring, "2013-03-10T03:30:00-04:00");
    let dates: ArrayRef = Arc::new(Date32Array::from(vec![Some(30), None, Some(-1)]));
    let dates = [("t", dates)];
    check(&t("dt.offset_by", [lit("1mo")]), &dates, "1970-02-28 null 1970-01-31");
    check(&t("dt.truncate", [lit("1w")]), &dates, "1970-01-26 null 1969-12-29");
    check(&t("dt.year", []), &dates, "1970 null 1969");
    assert!(bound(&t("dt.hour", []), &dates).unwrap_err().to_string().contains("a date has no time"));
}

#[test]
fn zones() {
    let utc = [("t", instants(&[Some("2013-07-01T12:00:00Z"), None], None))];
    check(&t("dt.replace_time_zone", [lit("America/New_York")]), &utc, "2013-07-01T12:00:00-04:00 null");
    check(&t("dt.convert_time_zone", [lit("Asia/Kolkata")]), &utc, "2013-07-01T17:30:00+05:30 null");
    check(&t("dt.strftime", [lit("%d.%m.%Y %H:%M")]), &utc, "01.07.2013 12:00 null");
    check(&t("dt.epoch", [lit("s")]), &utc, "1372680000 null");
    let before = [("t", instants(&[Some("1969-12-31T23:59:58.5Z"), Some("1969-12-31T23:59:59Z")], None))];
    check(&t("dt.strftime", [lit("%Y %s, %s%%s.")]), &before, "1969 -2, -2%s. 1969 -1, -1%s.");
    let gap = [(
        "t",
        instants(&[Some("2013-03-10T01:59:00Z"), Some("2013-03-10T02:30:00Z"), Some("2013-11-03T01:30:00Z")], None),
    )];
    check(
        &t("dt.replace_time_zone", [lit("America/New_York")]),
        &gap,
        "2013-03-10T01:59:00-05:00 2013-03-10T03:30:00-04:00 2013-11-03T01:30:00-04:00",
    );
    let error = bound(&t("dt.convert_time_zone", [lit("Mars/Base")]), &utc).unwrap_err().to_string();
    assert!(error.contains("no time zone is called \"Mars/Base\""), "{error}");
    let error = bound(&t("dt.strftime", [lit("%!")]), &utc).unwrap_err().to_string();
    assert!(error.starts_with("dt.strftime: "), "{error}");
}

fn durations(values: impl IntoIterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(values.into_iter().collect::<DurationNanosecondArray>())
}

#[test]
fn arithmetic_of_instants_and_durations() {
    let columns = vec![
        ("t", instants(&[Some("2013-01-01T01:00:00Z"), None, Some("2013-01-02T00:00:00Z")], Some("UTC"))),
        (
            "u",
            instants(
                &[Some("2013-01-01T00:00:00Z"), Some("2013-01-01T00:00:00Z"), Some("2013-01-02T00:00:00Z")],
                Some("Europe/Berlin"),
            ),
        ),
        ("w", instants(&[Some("2013-01-01T00:00:00Z"), None, None], None)),
        ("d", durations([Some(HOUR), Some(-HOUR), None])),
        ("n", ints([Some(2), Some(0), Some(-3)])),
    ];
    let hour = || Expr::Literal(Literal::Duration(HOUR));
    check(&call("+", [col("t"), col("d")]), &columns, "2013-01-01T02:00:00Z null null");
    check(&call("-", [col("t"), hour()]), &columns, "2013-01-01T00:00:00Z null 2013-01-01T23:00:00Z");
    check(&call("+", [hour(), col("t")]), &columns, "2013-01-01T02:00:00Z null 2013-01-02T01:00:00Z");
    check(&call("dt.total_minutes", [call("-", [col("t"), col("u")])]), &columns, "60 null 0");
    check(&call("dt.total_hours", [call("*", [col("d"), col("n")])]), &columns, "2 0 null");
    check(&call("dt.total_minutes", [call("*", [col("d"), lit(0.5)])]), &columns, "30 -30 null");
    check(&call("/", [col("d"), hour()]), &columns, "1.0 -1.0 null");
    check(&call("//", [col("d"), Expr::Literal(Literal::Duration(7 * HOUR))]), &columns, "0 -1 null");
    check(
        &call("dt.total_hours", [call("%", [col("d"), Expr::Literal(Literal::Duration(7 * HOUR))])]),
        &columns,
        "1 6 null",
    );
    check(&call("dt.total_minutes", [call("/", [col("d"), lit(2_i64)])]), &columns, "30 -30 null");
    check(&call("<", [col("u"), col("t")]), &columns, "true null false");
    check(&call("dt.total_hours", [call("neg", [col("d")])]), &columns, "-1 1 null");
    for name in ["-", "<", "=="] {
        let error = bound(&call(name, [col("t"), col("w")]), &columns).unwrap_err().to_string();
        assert!(error.contains("one has a time zone and the other has none"), "{error}");
    }
    let error = bound(&call("+", [col("t"), lit(1_i64)]), &columns).unwrap_err().to_string();
    assert!(
        error.starts_with("+ does not take Datetime(\"ns\", \"UTC\") and Int64: an instant takes a duration"),
        "{error}"
    );
}

#[test]
fn leaving_the_range_is_an_error_of_the_row() {
    let array: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![None, Some(i64::MAX - 5), Some(0)]));
    let columns = [("t", array), ("d", durations([Some(i64::MAX), Some(6), Some(1)]))];
    let error = try_run(&call("+", [col("t"), col("d")]), &columns).unwrap_err();
    assert_eq!(error.row, 1);
    assert!(error.message.contains("outside the range") && error.value.contains("2262-04-11"), "{error}");
    assert_eq!(error.expression, "(col(\"t\") + col(\"d\"))");
    assert!(try_run(&t("dt.offset_by", [lit("1mo")]), &columns).is_err());
    let twice = [("d", durations([Some(i64::MAX / 2), Some(i64::MIN / 2 - 1)]))];
    assert_eq!(try_run(&call("*", [col("d"), lit(2_i64)]), &twice).unwrap_err().row, 1);
}

#[test]
fn dates_and_times_of_day() {
    let days: ArrayRef = Arc::new(Date32Array::from(vec![Some(0), Some(1), None]));
    let times: ArrayRef = Arc::new(Time64NanosecondArray::from(vec![Some(HOUR), Some(0), Some(86_399 * SECOND)]));
    let columns = [("t", days), ("x", times)];
    let duration = |hours| Expr::Literal(Literal::Duration(hours * HOUR));
    check(&call("+", [col("t"), duration(25)]), &columns, "1970-01-02 1970-01-03 null");
    check(&call("-", [col("t"), duration(1)]), &columns, "1969-12-31 1970-01-01 null");
    check(&call("dt.total_days", [call("-", [col("t"), Expr::Literal(Literal::Date(-9))])]), &columns, "9 10 null");
    check(&call("dt.hour", [col("x")]), &columns, "1 0 23");
    check(&call("dt.total_minutes", [call("-", [col("x"), Expr::Literal(Literal::Time(0))])]), &columns, "60 0 1439");
    let midnight = |zone: &str| {
        col("t").cast(DataType::Timestamp(arrow_schema::TimeUnit::Nanosecond, Some(zone.into())), true).unwrap()
    };
    check(&midnight("Asia/Tokyo"), &columns, "1970-01-01T00:00:00+09:00 1970-01-02T00:00:00+09:00 null");
    check(&midnight("Asia/Tokyo").cast(DataType::Date32, true).unwrap(), &columns, "1970-01-01 1970-01-02 null");
    let error = bound(&call("<", [col("t"), midnight("UTC")]), &columns).unwrap_err().to_string();
    assert!(error.contains("cast the date"), "{error}");
}

#[test]
fn a_year_of_hours_agrees_with_jiff_in_every_zone() {
    for name in ["America/New_York", "Europe/London", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC", "-03:30"] {
        let zone = crate::eval::functions::zone::zone_of(Some(&name.into())).unwrap();
        let start = 1_356_998_400;
        let values: Vec<i64> = (0..9_000).map(|hour| (start + hour * 1_801 * 2) * SECOND).collect();
        let array: ArrayRef = Arc::new(TimestampNanosecondArray::from(values.clone()).with_timezone(name));
        let columns = [("t", array)];
        let parts: Vec<ArrayRef> =
            ["dt.day", "dt.hour", "dt.minute"].iter().map(|part| run(&t(part, []), &columns)).collect();
        let expected =
            |part: fn(&jiff::Zoned) -> i8| -> ArrayRef {
                ints(values.iter().map(|ns| {
                    Some(i64::from(part(&crate::eval::functions::zone::instant(*ns).to_zoned(zone.clone()))))
                }))
            };
        assert_eq!(&parts[0], &expected(|zoned| zoned.day()), "{name}");
        assert_eq!(&parts[1], &expected(|zoned| zoned.hour()), "{name}");
        assert_eq!(&parts[2], &expected(|zoned| zoned.minute()), "{name}");
        assert_eq!(parts[0].len(), values.len());
    }
}

#[test]
fn bins_of_instants() {
    let minute = 60_000_000_000;
    let nine = 9 * 60 * minute;
    let t: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![
        Some(nine),
        Some(nine + 1),
        Some(nine + 4 * minute),
        Some(-1),
        None,
    ]));
    let columns = [("t", t)];
    let bin = |name: &str, args: Vec<Expr>| call(name, std::iter::once(col("t")).chain(args));
    let shown_as = |expr: &Expr, expected: [i64; 4]| {
        let result = run(expr, &columns);
        let result = result.as_primitive::<TimestampNanosecondType>();
        assert_eq!(result.values()[..4], expected, "{}", expr.to_python());
        assert!(result.is_null(4));
    };
    shown_as(&bin("lower_bin", vec![lit(5 * minute)]), [nine, nine, nine, -5 * minute]);
    shown_as(&bin("lower_bin", vec![lit("5m")]), [nine, nine, nine, -5 * minute]);
    shown_as(&bin("upper_bin", vec![lit(5 * minute)]), [nine, nine + 5 * minute, nine + 5 * minute, 0]);
    let offset = vec![lit(5 * minute), lit(minute)];
    shown_as(&bin("lower_bin", offset.clone()), [nine - 4 * minute, nine - 4 * minute, nine + minute, -4 * minute]);
    shown_as(&bin("upper_bin", offset), [nine + minute, nine + minute, nine + 6 * minute, minute]);
    shown_as(&bin("lower_bin", vec![lit("1mo")]), [0, 0, 0, -31 * 24 * HOUR]);
    shown_as(&bin("upper_bin", vec![lit("1mo")]), [31 * 24 * HOUR, 31 * 24 * HOUR, 31 * 24 * HOUR, 0]);
    for wrong in [lit(0_i64), lit(-1_i64), lit("0mo"), lit(1.5), col("t")] {
        assert!(bound(&bin("lower_bin", vec![wrong]), &columns).is_err());
    }
}

#[test]
fn truncation_near_the_ends_of_the_range() {
    let ends = [i64::MIN, i64::MIN + 1, i64::MIN + 86_400 * SECOND, -1, 0, i64::MAX];
    for step in ["1ns", "7ns", "1h", "1d", "1w", "1mo", "1q", "1y", "3mo"] {
        for ns in ends {
            let cut = |zone: Option<&str>| {
                let t: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![ns]).with_timezone_opt(zone));
                let cut = try_run(&call("dt.truncate", [col("t"), lit(step)]), &[("t", t)]);
                cut.map(|cut| cut.as_primitive::<TimestampNanosecondType>().value(0)).map_err(|error| error.row)
            };
            // A zone by offset goes the long way.
            assert_eq!(cut(None), cut(Some("+00:00")), "{ns} to {step}");
        }
    }
    let nulls: ArrayRef =
        Arc::new(TimestampNanosecondArray::new(vec![i64::MIN, 3 * HOUR + 1].into(), Some(vec![false, true].into())));
    check(&call("dt.epoch", [call("dt.truncate", [col("t"), lit("1h")]), lit("s")]), &[("t", nulls)], "null 10800");
}

/// Months and days on the column's own clock, with the end of the month for days that it has not; the rest in absolute time.
#[test]
fn an_interval_column_moves_instants_and_dates() {
    use arrow_array::types::IntervalMonthDayNano;
    use arrow_array::{Date32Array, IntervalMonthDayNanoArray, TimestampNanosecondArray};
    const HOUR: i64 = 3_600_000_000_000;
    // 2024-01-31T12:00 in Paris, before a summer that begins on 31 March at two.
    let start = 1_706_698_800_000_000_000_i64;
    let times: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![Some(start); 4]).with_timezone("Europe/Paris"));
    let dates: ArrayRef = Arc::new(Date32Array::from(vec![Some(19_753), Some(19_753), Some(19_753), None]));
    let by = |months, days, ns| Some(IntervalMonthDayNano::new(months, days, ns));
    let by: ArrayRef =
        Arc::new(IntervalMonthDayNanoArray::from(vec![by(1, 0, 0), by(2, 0, 0), by(0, -1, 25 * HOUR), None]));
    let columns = [("t", times), ("d", dates), ("i", by)];
    let later = "2024-02-29T12:00:00+01:00 2024-03-31T12:00:00+02:00 2024-01-31T13:00:00+01:00 null";
    check(&call("+", [col("t"), col("i")]), &columns, later);
    check(&call("+", [col("i"), col("t")]), &columns, later);
    let earlier = "2023-12-31T12:00:00+01:00 2023-11-30T12:00:00+01:00 2024-01-31T11:00:00+01:00 null";
    check(&call("-", [col("t"), col("i")]), &columns, earlier);
    check(&call("+", [col("d"), col("i")]), &columns, "2024-02-29 2024-03-31 2024-01-31 null");
    let error = bound(&call("*", [col("t"), col("i")]), &columns).unwrap_err().to_string();
    assert!(error.contains("Interval"), "{error}");
}
