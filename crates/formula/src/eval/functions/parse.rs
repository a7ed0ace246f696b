//! Text to dates and instants.

use std::sync::Arc;

use arrow_array::{ArrayRef, Date32Array, DurationNanosecondArray, TimestampNanosecondArray};
use arrow_schema::DataType;
use jiff::civil;
use jiff::fmt::strtime::BrokenDownTime;
use jiff::tz::TimeZone;

use super::declared::{FunctionSpec, Takes, method, named};
use super::text::Strings;
use super::time::timestamp;
use crate::eval::node::{Failure, Whole};
use crate::tree::family::Family;
use crate::tree::function::{Function, Text};

const READ: Takes = (1, 2, "a string and a format");

pub(crate) const FUNCTIONS: &[FunctionSpec] = &[
    method(Function::Text(Text::ToDate { strict: true }), "str.to_date", READ, |b, c| {
        b.read_by_format(c, |format| (date(format, c.flag("strict")), DataType::Date32))
    })
    .always(Family::Other)
    .shown_by(r#"tf.lit("2024-02-29").str.to_date()"#)
    .in_formulas(&[named("parseLocalDate", "parseLocalDate(`2024-02-29`)", "a date; a format may follow")]),
    method(Function::Text(Text::ToDatetime { strict: true }), "str.to_datetime", READ, |b, c| {
        b.read_by_format(c, |format| datetimes(format, c.flag("strict")))
    })
    .always(Family::Instant)
    .shown_by(r#"tf.lit("2024-02-29 13:45").str.to_datetime("%Y-%m-%d %H:%M")"#)
    .in_formulas(&[named(
        "parseInstant",
        "parseInstant(`2024-02-29T13:45:30`)",
        "an instant; a format may follow",
    )]),
];

/// Instants of UTC where the format names an offset, else times on no zone's clock.
fn datetimes(format: Option<&str>, strict: bool) -> (Whole, DataType) {
    let zoned = format.is_some_and(names_offset);
    (datetime(format, strict, zoned), timestamp(zoned.then(|| "UTC".into())))
}

/// Whether a format reads an offset or a zone, so that it reads instants.
pub(crate) fn names_offset(format: &str) -> bool {
    ["%z", "%:z", "%Z", "%Q", "%:Q", "%s"].iter().any(|directive| format.contains(directive))
}

/// Dates by a strptime format, or as ISO 8601 writes them.
pub(crate) fn date(format: Option<&str>, strict: bool) -> Whole {
    let format = format.map(str::to_owned);
    Arc::new(move |args, rows| {
        let texts = Strings::of(&args[0]);
        let read = |text: &str| -> Option<i32> {
            let date: civil::Date = match &format {
                Some(format) => BrokenDownTime::parse(format, text).ok()?.to_date().ok()?,
                None => text.parse().ok()?,
            };
            civil::date(1970, 1, 1).until(date).ok().map(|span| span.get_days())
        };
        let form = format
            .as_deref()
            .map_or_else(|| "as in 2025-01-31".to_owned(), |format| format!("of the format {format:?}"));
        let values = each(&texts, rows, strict, &format!("date {form}"), read)?;
        Ok(Arc::new(values.into_iter().collect::<Date32Array>()) as ArrayRef)
    })
}

/// Instants by a strptime format, or as ISO 8601 writes them; without an offset, wall-clock time.
pub(crate) fn datetime(format: Option<&str>, strict: bool, zoned: bool) -> Whole {
    let format = format.map(str::to_owned);
    Arc::new(move |args, rows| {
        let texts = Strings::of(&args[0]);
        let read = |text: &str| -> Option<i64> {
            let instant = match &format {
                Some(format) => {
                    let parsed = BrokenDownTime::parse(format, text).ok()?;
                    if zoned {
                        parsed.to_timestamp().ok()?
                    } else {
                        wall_clock(parsed.to_datetime().or_else(|_| parsed.to_date().map(civil::DateTime::from)).ok()?)?
                    }
                }
                None if names_zone(text) => return None,
                None => text.parse::<civil::DateTime>().ok().and_then(wall_clock)?,
            };
            i64::try_from(instant.as_nanosecond()).ok()
        };
        let form =
            format.as_deref().map_or_else(|| WITHOUT_ZONE.to_owned(), |format| format!("of the format {format:?}"));
        let values = each(&texts, rows, strict, &format!("instant {form}"), read)?;
        let array = values.into_iter().collect::<TimestampNanosecondArray>();
        Ok(Arc::new(array.with_timezone_opt(zoned.then_some("UTC"))) as ArrayRef)
    })
}

/// Durations as ISO 8601 writes them, or as `1h30m`.
pub(crate) fn duration(strict: bool) -> Whole {
    Arc::new(move |args, rows| {
        let texts = Strings::of(&args[0]);
        let mut values = Vec::with_capacity(rows);
        for row in 0..rows {
            let text = texts.get(row);
            let value = text.and_then(crate::eval::functions::period::duration);
            if strict && text.is_some() && value.is_none() {
                let message =
                    "the text is no duration such as PT5H2M1.2S or 1h30m; cast with strict=False for null instead";
                return Err(Failure { row, payload: None, message: message.to_owned() });
            }
            values.push(value);
        }
        Ok(Arc::new(DurationNanosecondArray::from(values)) as ArrayRef)
    })
}

/// What a text is read as without a format, and what to do with an offset: dropped in silence it would be another instant.
const WITHOUT_ZONE: &str =
    "as in 2025-01-31T14:30:00 (one with an offset or a Z is read by .cast(tf.Datetime(\"ns\", \"UTC\")))";

/// Whether an offset, a Z or a zone stands behind the hour.
fn names_zone(text: &str) -> bool {
    text.bytes().skip("2025-01-31T".len()).any(|letter| matches!(letter, b'+' | b'-' | b'Z' | b'z' | b'['))
}

fn wall_clock(datetime: civil::DateTime) -> Option<jiff::Timestamp> {
    TimeZone::UTC.to_timestamp(datetime).ok()
}

fn each<T>(
    texts: &Strings<'_>,
    rows: usize,
    strict: bool,
    what: &str,
    read: impl Fn(&str) -> Option<T>,
) -> Result<Vec<Option<T>>, Failure> {
    let mut values = Vec::with_capacity(rows);
    for row in 0..rows {
        let text = texts.get(row);
        let value = text.and_then(&read);
        if strict && text.is_some() && value.is_none() {
            return Err(Failure {
                row,
                payload: None,
                message: format!("the text is no {what}; use strict=False for null instead"),
            });
        }
        values.push(value);
    }
    Ok(values)
}
