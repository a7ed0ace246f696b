//! Functions of dates, times of day, instants and durations. Their kernels are in `time.rs` beside this file.

use arrow_schema::DataType;

use super::civil::DAY;
use super::declared::{FunctionSpec, Takes, in_text, method, named};
use super::time::{date, time_of_day};
use crate::eval::bind::Needs;
use crate::tree::family::{Family, Gives};
use crate::tree::function::{Function, Time};
use crate::tree::types::TIME;

const ONE: Takes = (1, 1, "one time");
const TWO: Takes = (2, 2, "a time and one argument");

pub(crate) const FUNCTIONS: &[FunctionSpec] = &[
    in_text(Function::Now, "now", (0, 0, "no arguments"), |b, _| b.now())
        .always(Family::Instant)
        .shown_by(r#"tf.formula("now()")"#)
        .in_formulas(&[named("now", "now()", "the start of the step")]),
    method(Function::Time(Time::Year), "dt.year", ONE, |b, c| b.part_of_time(c, Needs::Date)).always(Family::Integer),
    method(Function::Time(Time::Quarter), "dt.quarter", ONE, |b, c| b.part_of_time(c, Needs::Date))
        .always(Family::Integer),
    method(Function::Time(Time::Month), "dt.month", ONE, |b, c| b.part_of_time(c, Needs::Date)).always(Family::Integer),
    method(Function::Time(Time::Week), "dt.week", ONE, |b, c| b.part_of_time(c, Needs::Date)).always(Family::Integer),
    method(Function::Time(Time::Weekday), "dt.weekday", ONE, |b, c| b.part_of_time(c, Needs::Date))
        .always(Family::Integer),
    method(Function::Time(Time::OrdinalDay), "dt.ordinal_day", ONE, |b, c| b.part_of_time(c, Needs::Date))
        .always(Family::Integer),
    method(Function::Time(Time::Day), "dt.day", ONE, |b, c| b.part_of_time(c, Needs::Date)).always(Family::Integer),
    method(Function::Time(Time::Hour), "dt.hour", ONE, |b, c| b.part_of_time(c, Needs::Time)).always(Family::Integer),
    method(Function::Time(Time::Minute), "dt.minute", ONE, |b, c| b.part_of_time(c, Needs::Time))
        .always(Family::Integer),
    method(Function::Time(Time::Second), "dt.second", ONE, |b, c| b.part_of_time(c, Needs::Time))
        .always(Family::Integer),
    method(Function::Time(Time::Millisecond), "dt.millisecond", ONE, |b, c| b.part_of_time(c, Needs::Time))
        .always(Family::Integer),
    method(Function::Time(Time::Microsecond), "dt.microsecond", ONE, |b, c| b.part_of_time(c, Needs::Time))
        .always(Family::Integer),
    method(Function::Time(Time::Nanosecond), "dt.nanosecond", ONE, |b, c| b.part_of_time(c, Needs::Time))
        .always(Family::Integer),
    method(Function::Time(Time::Date), "dt.date", ONE, |b, c| {
        b.half_of_instant(c, Needs::Date, DataType::Date32, date)
    })
    .always(Family::Other),
    method(Function::Time(Time::Time), "dt.time", ONE, |b, c| b.half_of_instant(c, Needs::Time, TIME, time_of_day))
        .always(Family::Other),
    method(Function::Time(Time::Truncate), "dt.truncate", TWO, |b, c| b.stepped(c, false))
        .gives(Gives::AsFirst)
        .shown_by(r#"col("t").dt.truncate("1h")"#),
    method(Function::Time(Time::Round), "dt.round", TWO, |b, c| b.stepped(c, true))
        .gives(Gives::AsFirst)
        .shown_by(r#"col("t").dt.round("1h")"#),
    method(Function::Time(Time::OffsetBy), "dt.offset_by", TWO, |b, c| b.offset_by(c))
        .gives(Gives::AsFirst)
        .shown_by(r#"col("t").dt.offset_by("1mo")"#),
    method(Function::Time(Time::MonthStart), "dt.month_start", ONE, |b, c| b.month_edge(c, false))
        .gives(Gives::AsFirst),
    method(Function::Time(Time::MonthEnd), "dt.month_end", ONE, |b, c| b.month_edge(c, true)).gives(Gives::AsFirst),
    method(Function::Time(Time::DaysInMonth), "dt.days_in_month", ONE, |b, c| b.part_of_time(c, Needs::Date))
        .always(Family::Integer),
    method(Function::Time(Time::IsLeapYear), "dt.is_leap_year", ONE, |b, c| b.is_leap_year(c)).always(Family::Other),
    method(Function::Time(Time::IsoYear), "dt.iso_year", ONE, |b, c| b.part_of_time(c, Needs::Date))
        .always(Family::Integer),
    method(Function::Time(Time::Century), "dt.century", ONE, |b, c| b.part_of_time(c, Needs::Date))
        .always(Family::Integer),
    method(Function::Time(Time::Millennium), "dt.millennium", ONE, |b, c| b.part_of_time(c, Needs::Date))
        .always(Family::Integer),
    method(Function::Time(Time::Combine), "dt.combine", (2, 2, "a date and a time of day"), |b, c| b.combine(c))
        .always(Family::Instant)
        .shown_by(r#"col("t").dt.combine(col("t").dt.truncate("1h").dt.time())"#),
    method(Function::Time(Time::Strftime), "dt.strftime", TWO, |b, c| b.strftime(c))
        .always(Family::Text)
        .shown_by(r#"col("t").dt.strftime("%d.%m.%Y")"#)
        .in_formulas(&[named("strftime", "strftime(t, `%d %B %Y`)", "text by a format")]),
    method(Function::Time(Time::Epoch), "dt.epoch", (1, 2, "one time"), |b, c| b.epoch(c))
        .always(Family::Integer)
        .shown_by(r#"col("t").dt.epoch("s")"#),
    method(Function::Time(Time::ConvertTimeZone), "dt.convert_time_zone", TWO, |b, c| b.in_zone(c, false))
        .always(Family::Instant)
        .shown_by(r#"col("t").dt.convert_time_zone("America/New_York")"#)
        .in_formulas(&[named(
            "toZonedDateTime",
            "toZonedDateTime(t, `Asia/Kolkata`)",
            "the same instant, shown in a zone",
        )]),
    method(Function::Time(Time::ReplaceTimeZone), "dt.replace_time_zone", TWO, |b, c| b.in_zone(c, true))
        .always(Family::Instant)
        .shown_by(r#"col("t").dt.replace_time_zone(None)"#),
    method(Function::Time(Time::TotalDays), "dt.total_days", ONE, |b, c| b.total(c, DAY))
        .always(Family::Integer)
        .shown_by(r#"(col("t") - col("t").dt.month_start()).dt.total_days()"#),
    method(Function::Time(Time::TotalHours), "dt.total_hours", ONE, |b, c| b.total(c, 3_600_000_000_000))
        .always(Family::Integer)
        .shown_by(r#"(col("t") - col("t").dt.truncate("1d")).dt.total_hours()"#),
    method(Function::Time(Time::TotalMinutes), "dt.total_minutes", ONE, |b, c| b.total(c, 60_000_000_000))
        .always(Family::Integer)
        .shown_by(r#"(col("t") - col("t").dt.truncate("1d")).dt.total_minutes()"#),
    method(Function::Time(Time::TotalSeconds), "dt.total_seconds", ONE, |b, c| b.total(c, 1_000_000_000))
        .always(Family::Integer)
        .shown_by(r#"(col("t") - col("t").dt.truncate("1h")).dt.total_seconds()"#),
    method(Function::Time(Time::TotalMilliseconds), "dt.total_milliseconds", ONE, |b, c| b.total(c, 1_000_000))
        .always(Family::Integer)
        .shown_by(r#"(col("t") - col("t").dt.truncate("1h")).dt.total_milliseconds()"#),
    method(Function::Time(Time::TotalMicroseconds), "dt.total_microseconds", ONE, |b, c| b.total(c, 1_000))
        .always(Family::Integer)
        .shown_by(r#"(col("t") - col("t").dt.truncate("1h")).dt.total_microseconds()"#),
    method(Function::Time(Time::TotalNanoseconds), "dt.total_nanoseconds", ONE, |b, c| b.total(c, 1))
        .always(Family::Integer)
        .shown_by(r#"(col("t") - col("t").dt.truncate("1h")).dt.total_nanoseconds()"#),
];
