//! The clock, parts of time, arithmetic of time, counts since 1970.

use arrow_schema::{DataType, TimeUnit};

use super::Make::Write;
use super::{Entry, call, cast, entry, int, one, same, take, two, with};
use crate::eval::functions::zone::zone_name;
use crate::eval::functions::zone::zone_of;
use crate::tree::expr::Expr;
use crate::tree::function::{Closed, Function, Time};
use crate::tree::literal::Literal;
use crate::tree::types::DURATION;

/// A function of an instant, on the clock of the zone that may be the last argument.
fn on_clock(mut args: Vec<Expr>) -> Expr {
    match args.pop() {
        Some(zone) if !args.is_empty() => call(Function::Time(Time::ConvertTimeZone), vec![args.remove(0), zone]),
        Some(instant) => instant,
        None => unreachable!("the number of arguments was checked"),
    }
}

fn clock_part(part: Time, args: Vec<Expr>) -> Result<Expr, String> {
    Ok(one(Function::Time(part), on_clock(args)))
}

/// A part of the second as a part of something shorter.
fn within(part: Time, args: Vec<Expr>, length: i64) -> Result<Expr, String> {
    Ok(two(Function::Modulo, clock_part(part, args)?, int(length)))
}

/// Hours, minutes, … of the day in one unit.
fn of_day(args: Vec<Expr>, parts: &[(Time, i64)]) -> Result<Expr, String> {
    let instant = on_clock(args);
    let term = |part: &(Time, i64)| {
        let value = one(Function::Time(part.0), instant.clone());
        if part.1 == 1 { value } else { two(Function::Multiply, value, int(part.1)) }
    };
    Ok(Expr::joined(Function::Add, parts.iter().map(term).collect()))
}

/// The time from the first instant to the second, whole in a unit.
fn difference(args: Vec<Expr>, unit: Time) -> Expr {
    let [from, to] = take(args);
    one(Function::Time(unit), two(Function::Subtract, to, from))
}

/// The time from the first instant to the second as a Float64, in a unit of `unit` nanoseconds.
fn fraction(args: Vec<Expr>, unit: f64) -> Result<Expr, String> {
    Ok(two(Function::Divide, difference(args, Time::TotalNanoseconds), Expr::literal(unit)))
}

fn since_epoch(args: Vec<Expr>, unit: &str) -> Result<Expr, String> {
    let [instant] = take(args);
    Ok(two(Function::Time(Time::Epoch), instant, Expr::literal(unit)))
}

fn from_epoch(args: Vec<Expr>, unit: TimeUnit) -> Result<Expr, String> {
    let [count] = take(args);
    Ok(cast(count, DataType::Timestamp(unit, Some("UTC".into()))))
}

/// The count of whatever unit makes it an instant after March 1973, and before the year 5138 as seconds.
///
/// Casts are strict, so each unit sees only the counts that are its own.
fn from_any_epoch(args: Vec<Expr>) -> Result<Expr, String> {
    let [count] = take(args);
    let within = |limit: i64| {
        let inside = Function::IsBetween { closed: Closed::None };
        call(inside, vec![count.clone(), int(-limit), int(limit)])
    };
    let bounds = [
        (100_000_000_000, TimeUnit::Second),
        (100_000_000_000_000, TimeUnit::Millisecond),
        (100_000_000_000_000_000, TimeUnit::Microsecond),
    ];
    let instant = |count: Expr, unit| cast(count, DataType::Timestamp(unit, Some("UTC".into())));
    let mut parts = Vec::new();
    let mut below: Option<Expr> = None;
    for (limit, unit) in bounds {
        let inside = within(limit);
        let only = match below.replace(inside.clone()) {
            Some(below) => two(Function::And, inside, one(Function::Not, below)),
            None => inside,
        };
        let count = Expr::When { branches: vec![(only, count.clone())], otherwise: None };
        parts.push(instant(count, unit));
    }
    if let Some(below) = below {
        let count = Expr::When { branches: vec![(one(Function::Not, below), count)], otherwise: None };
        parts.push(instant(count, TimeUnit::Nanosecond));
    }
    Ok(call(Function::Coalesce, parts))
}

/// The full name of a zone, known to be one; without a name that of UTC.
fn time_zone(mut args: Vec<Expr>) -> Result<Expr, String> {
    match args.pop() {
        None => Ok(Expr::literal("UTC")),
        Some(Expr::Literal(Literal::Str(name))) => {
            let full = zone_name(&name);
            zone_of(Some(&full)).map(|_| Expr::literal(&*full))
        }
        Some(_) => Err("timeZone takes the name of a zone, such as `ET` or `Europe/Paris`, not a column".to_owned()),
    }
}

/// Time plus or minus a duration, which may be a whole number of nanoseconds.
fn moved(function: Function, args: Vec<Expr>) -> Result<Expr, String> {
    let [time, by] = take(args);
    let by = match by {
        Expr::Literal(Literal::Duration(_)) => by,
        other => cast(other, DURATION),
    };
    Ok(two(function, time, by))
}

/// The date of the step, of UTC or of a zone.
fn today(zone: Vec<Expr>) -> Result<Expr, String> {
    let args: Vec<Expr> = std::iter::once(call(Function::Now, vec![])).chain(zone).collect();
    Ok(one(Function::Time(Time::Date), on_clock(args)))
}

pub(super) const ENTRIES: &[Entry] = &[
    entry("today", 0, 1, Write(today), "today()", "the date of the step"),
    entry("year", 1, 2, Write(|args| clock_part(Time::Year, args)), "year(t)", "year"),
    entry("quarter", 1, 2, Write(|args| clock_part(Time::Quarter, args)), "quarter(t)", "quarter, 1 to 4"),
    entry("monthOfYear", 1, 2, Write(|args| clock_part(Time::Month, args)), "monthOfYear(t)", "month, 1 to 12"),
    entry("weekOfYear", 1, 2, Write(|args| clock_part(Time::Week, args)), "weekOfYear(t)", "ISO week"),
    entry("dayOfMonth", 1, 2, Write(|args| clock_part(Time::Day, args)), "dayOfMonth(t)", "day of the month"),
    entry("dayOfWeek", 1, 2, Write(|args| clock_part(Time::Weekday, args)), "dayOfWeek(t)", "Monday is 1"),
    entry("dayOfWeekValue", 1, 2, Write(|args| clock_part(Time::Weekday, args)), "dayOfWeekValue(t)", "the same"),
    entry(
        "dayOfYear",
        1,
        2,
        Write(|args| clock_part(Time::OrdinalDay, args)),
        "dayOfYear(t)",
        "day of the year, from 1",
    ),
    entry("hourOfDay", 1, 2, Write(|args| clock_part(Time::Hour, args)), "hourOfDay(t)", "hour"),
    entry("minuteOfHour", 1, 2, Write(|args| clock_part(Time::Minute, args)), "minuteOfHour(t)", "minute"),
    entry("secondOfMinute", 1, 2, Write(|args| clock_part(Time::Second, args)), "secondOfMinute(t)", "second"),
    entry(
        "millisOfSecond",
        1,
        2,
        Write(|args| clock_part(Time::Millisecond, args)),
        "millisOfSecond(t)",
        "milliseconds of the second",
    ),
    entry(
        "microsOfSecond",
        1,
        2,
        Write(|args| clock_part(Time::Microsecond, args)),
        "microsOfSecond(t)",
        "microseconds of the second",
    ),
    entry(
        "nanosOfSecond",
        1,
        2,
        Write(|args| clock_part(Time::Nanosecond, args)),
        "nanosOfSecond(t)",
        "nanoseconds of the second",
    ),
    entry(
        "microsOfMilli",
        1,
        2,
        Write(|args| within(Time::Microsecond, args, 1_000)),
        "microsOfMilli(t)",
        "microseconds of the millisecond",
    ),
    entry(
        "nanosOfMilli",
        1,
        2,
        Write(|args| within(Time::Nanosecond, args, 1_000_000)),
        "nanosOfMilli(t)",
        "nanoseconds of the millisecond",
    ),
    entry(
        "minuteOfDay",
        1,
        2,
        Write(|args| of_day(args, &[(Time::Hour, 60), (Time::Minute, 1)])),
        "minuteOfDay(t)",
        "minutes since midnight",
    ),
    entry(
        "secondOfDay",
        1,
        2,
        Write(|args| of_day(args, &[(Time::Hour, 3_600), (Time::Minute, 60), (Time::Second, 1)])),
        "secondOfDay(t)",
        "seconds since midnight",
    ),
    entry(
        "millisOfDay",
        1,
        2,
        Write(|args| {
            let parts =
                [(Time::Hour, 3_600_000), (Time::Minute, 60_000), (Time::Second, 1_000), (Time::Millisecond, 1)];
            of_day(args, &parts)
        }),
        "millisOfDay(t)",
        "milliseconds since midnight",
    ),
    entry(
        "nanosOfDay",
        1,
        2,
        Write(|args| {
            let parts = [
                (Time::Hour, 3_600_000_000_000),
                (Time::Minute, 60_000_000_000),
                (Time::Second, 1_000_000_000),
                (Time::Nanosecond, 1),
            ];
            of_day(args, &parts)
        }),
        "nanosOfDay(t)",
        "nanoseconds since midnight",
    ),
    entry(
        "atMidnight",
        1,
        2,
        Write(|args| Ok(two(Function::Time(Time::Truncate), on_clock(args), Expr::literal("1d")))),
        "atMidnight(t)",
        "the start of its day",
    ),
    entry("plus", 2, 2, Write(|args| moved(Function::Add, args)), "plus(t, HOUR)", "later; `t + 'PT1H'` is the same"),
    entry("minus", 2, 2, Write(|args| moved(Function::Subtract, args)), "minus(t, HOUR)", "earlier"),
    entry(
        "diffNanos",
        2,
        2,
        Write(|args| Ok(difference(args, Time::TotalNanoseconds))),
        "diffNanos(t, plus(t, DAY))",
        "from the first to the second, whole",
    ),
    entry(
        "diffMicros",
        2,
        2,
        Write(|args| Ok(difference(args, Time::TotalMicroseconds))),
        "diffMicros(t, plus(t, DAY))",
        "the same in microseconds",
    ),
    entry(
        "diffMillis",
        2,
        2,
        Write(|args| Ok(difference(args, Time::TotalMilliseconds))),
        "diffMillis(t, plus(t, DAY))",
        "the same in milliseconds",
    ),
    entry(
        "diffSeconds",
        2,
        2,
        Write(|args| fraction(args, 1e9)),
        "diffSeconds(t, plus(t, DAY))",
        "the same in seconds, as Float64",
    ),
    entry("diffMinutes", 2, 2, Write(|args| fraction(args, 6e10)), "diffMinutes(t, plus(t, DAY))", "minutes"),
    entry("diffHours", 2, 2, Write(|args| fraction(args, 3.6e12)), "diffHours(t, plus(t, DAY))", "hours"),
    entry("diffDays", 2, 2, Write(|args| fraction(args, 8.64e13)), "diffDays(t, plus(t, HOUR))", "days of 24 hours"),
    entry(
        "diffYears365",
        2,
        2,
        Write(|args| fraction(args, 365.0 * 8.64e13)),
        "diffYears365(t, plus(t, 365 * DAY))",
        "years of 365 days",
    ),
    entry(
        "diffYearsAvg",
        2,
        2,
        Write(|args| fraction(args, 365.2425 * 8.64e13)),
        "diffYearsAvg(t, plus(t, 365 * DAY))",
        "years of 365.2425 days",
    ),
    same("isBefore", 2, Function::Less, "isBefore(t, plus(t, HOUR))", "as `<`"),
    same("isBeforeOrEqual", 2, Function::LessEqual, "isBeforeOrEqual(t, t)", "as `<=`"),
    same("isAfter", 2, Function::Greater, "isAfter(t, plus(t, HOUR))", "as `>`"),
    same("isAfterOrEqual", 2, Function::GreaterEqual, "isAfterOrEqual(t, t)", "as `>=`"),
    entry("epochNanos", 1, 1, Write(|args| since_epoch(args, "ns")), "epochNanos(t)", "nanoseconds since 1970"),
    entry("epochMicros", 1, 1, Write(|args| since_epoch(args, "us")), "epochMicros(t)", "microseconds since 1970"),
    entry("epochMillis", 1, 1, Write(|args| since_epoch(args, "ms")), "epochMillis(t)", "milliseconds since 1970"),
    entry("epochSeconds", 1, 1, Write(|args| since_epoch(args, "s")), "epochSeconds(t)", "seconds since 1970"),
    entry("epochDays", 1, 1, Write(|args| since_epoch(args, "d")), "epochDays(t)", "days since 1970"),
    entry(
        "epochAuto",
        1,
        1,
        Write(from_any_epoch),
        "epochAuto(1709214330123)",
        "an instant of a count whose unit is guessed by its size",
    ),
    entry("epochAutoToInstant", 1, 1, Write(from_any_epoch), "epochAutoToInstant(1709214330)", "the same"),
    entry("timeZone", 0, 1, Write(time_zone), "timeZone(`ET`)", "the full name of a zone"),
    entry(
        "epochNanosToInstant",
        1,
        1,
        Write(|args| from_epoch(args, TimeUnit::Nanosecond)),
        "epochNanosToInstant(1709214330123456789)",
        "an instant of a count",
    ),
    entry(
        "epochMicrosToInstant",
        1,
        1,
        Write(|args| from_epoch(args, TimeUnit::Microsecond)),
        "epochMicrosToInstant(1709214330123456)",
        "an instant of a count",
    ),
    entry(
        "epochMillisToInstant",
        1,
        1,
        Write(|args| from_epoch(args, TimeUnit::Millisecond)),
        "epochMillisToInstant(1709214330123)",
        "an instant of a count",
    ),
    entry(
        "epochSecondsToInstant",
        1,
        1,
        Write(|args| from_epoch(args, TimeUnit::Second)),
        "epochSecondsToInstant(1709214330)",
        "an instant of a count",
    ),
    entry(
        "epochDaysToLocalDate",
        1,
        1,
        Write(|args| with(args, |[days]| cast(cast(days, DataType::Int32), DataType::Date32))),
        "epochDaysToLocalDate(19782)",
        "a date of a count",
    ),
    entry(
        "toInstant",
        2,
        2,
        Write(|args| {
            with(args, |[date, zone]| {
                let local = cast(date, DataType::Timestamp(TimeUnit::Nanosecond, None));
                two(Function::Time(Time::ReplaceTimeZone), local, zone)
            })
        }),
        "toInstant(d, `America/New_York`)",
        "the start of a date in a zone",
    ),
    entry("toLocalDate", 1, 2, Write(|args| clock_part(Time::Date, args)), "toLocalDate(t)", "its date"),
    entry("toLocalTime", 1, 2, Write(|args| clock_part(Time::Time, args)), "toLocalTime(t)", "its time of day"),
    entry(
        "formatDateTime",
        1,
        2,
        Write(|args| Ok(two(Function::Time(Time::Strftime), on_clock(args), Expr::literal("%Y-%m-%dT%H:%M:%S%.f %Z")))),
        "formatDateTime(t)",
        "text with date, time and zone",
    ),
    entry(
        "formatDate",
        1,
        2,
        Write(|args| Ok(two(Function::Time(Time::Strftime), on_clock(args), Expr::literal("%Y-%m-%d")))),
        "formatDate(t)",
        "text of the date",
    ),
];
