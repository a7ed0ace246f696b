//! Parts and steps of dates, times and instants. Parts of an instant are those of its zone's clock.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, DurationNanosecondType, IntervalMonthDayNano, IntervalMonthDayNanoType, Time64NanosecondType,
    TimestampNanosecondType,
};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Int64Array, Time64NanosecondArray, TimestampNanosecondArray,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, TimeUnit};
use jiff::tz::TimeZone;

use super::civil::{self, DAY, day_of, days_to};
use super::period::{Period, Step};
use super::zone::{Offsets, instant};
use crate::eval::node::{Failure, Whole};
use crate::tree::function::Time;

/// The type of instants in a zone.
pub(crate) fn timestamp(zone: Option<Arc<str>>) -> DataType {
    DataType::Timestamp(TimeUnit::Nanosecond, zone)
}

/// What a column of time holds.
#[derive(Clone, Debug)]
pub(crate) enum Clock {
    /// Days.
    Date,
    /// Nanoseconds since midnight.
    TimeOfDay,
    /// Instants, on the clock of a zone.
    Instant(TimeZone),
}

impl Clock {
    /// What `f` makes of the local days and the nanoseconds of the day, row by row.
    #[inline(always)]
    fn map<T>(&self, array: &ArrayRef, f: impl Fn(i64, i64) -> T) -> Vec<T> {
        match self {
            Clock::Date => {
                array.as_primitive::<Date32Type>().values().iter().map(|days| f(i64::from(*days), 0)).collect()
            }
            Clock::TimeOfDay => {
                array.as_primitive::<Time64NanosecondType>().values().iter().map(|ns| f(0, *ns)).collect()
            }
            // On the clock of Greenwich no offset is looked up.
            Clock::Instant(zone) if *zone == TimeZone::UTC => {
                let of = |ns: &i64| f(ns.div_euclid(DAY), ns.rem_euclid(DAY));
                array.as_primitive::<TimestampNanosecondType>().values().iter().map(of).collect()
            }
            Clock::Instant(zone) => {
                let mut offsets = Offsets::new(zone);
                let of = |ns: &i64| {
                    let (days, rest) = offsets.local(*ns);
                    f(days, rest)
                };
                array.as_primitive::<TimestampNanosecondType>().values().iter().map(of).collect()
            }
        }
    }
}

/// A part of a date or a time, as Int64. Each is a loop of its own, with its function inside.
pub(crate) fn part(part: Time, clock: Clock) -> Whole {
    macro_rules! by {
        ($f:expr) => {
            Arc::new(move |args, _| {
                let array = args[0].array();
                Ok(Arc::new(Int64Array::new(clock.map(array, $f).into(), array.nulls().cloned())))
            })
        };
    }
    match part {
        Time::Year => by!(|days, _| day_of(days).year),
        Time::Quarter => by!(|days, _| (day_of(days).month + 2) / 3),
        Time::Month => by!(|days, _| day_of(days).month),
        Time::Week => by!(|days, _| civil::iso_week(days)),
        Time::Weekday => by!(|days, _| civil::weekday(days)),
        Time::OrdinalDay => by!(|days, _| civil::ordinal_day(days)),
        Time::DaysInMonth => by!(|days, _| {
            let day = day_of(days);
            civil::days_in_month(day.year, day.month)
        }),
        Time::IsoYear => by!(|days, _| civil::iso_year(days)),
        Time::Century => by!(|days, _| (day_of(days).year - 1).div_euclid(100) + 1),
        Time::Millennium => by!(|days, _| (day_of(days).year - 1).div_euclid(1000) + 1),
        Time::Day => by!(|days, _| day_of(days).day),
        Time::Hour => by!(|_, ns| ns / 3_600_000_000_000),
        Time::Minute => by!(|_, ns| ns / 60_000_000_000 % 60),
        Time::Second => by!(|_, ns| ns / 1_000_000_000 % 60),
        Time::Millisecond => by!(|_, ns| ns / 1_000_000 % 1_000),
        Time::Microsecond => by!(|_, ns| ns / 1_000 % 1_000_000),
        _ => by!(|_, ns| ns % 1_000_000_000),
    }
}

/// Whether the local year has 366 days.
pub(crate) fn is_leap_year(clock: Clock) -> Whole {
    Arc::new(move |args, _| {
        let array = args[0].array();
        let leap = clock.map(array, |days, _| civil::is_leap(day_of(days).year));
        Ok(Arc::new(BooleanArray::new(leap.into(), array.nulls().cloned())))
    })
}

/// The local date.
pub(crate) fn date(clock: Clock) -> Whole {
    Arc::new(move |args, _| {
        let array = args[0].array();
        Ok(Arc::new(Date32Array::new(clock.map(array, |days, _| days as i32).into(), array.nulls().cloned())))
    })
}

/// The local time of day.
pub(crate) fn time_of_day(clock: Clock) -> Whole {
    Arc::new(move |args, _| {
        let array = args[0].array();
        Ok(Arc::new(Time64NanosecondArray::new(clock.map(array, |_, ns| ns).into(), array.nulls().cloned())))
    })
}

pub(super) const OUT_OF_RANGE: &str = "the result is outside the range of instants, 1677-09-21 to 2262-04-11";

/// Instants moved on the local clock: `f` gets local days and nanoseconds of the day, and the
/// instant near which the result is looked for.
fn moved(
    array: &ArrayRef,
    zone: &TimeZone,
    output: &DataType,
    mut f: impl FnMut(&mut Offsets<'_>, i64) -> Option<i64>,
) -> Result<ArrayRef, Failure> {
    let instants = array.as_primitive::<TimestampNanosecondType>();
    let mut offsets = Offsets::new(zone);
    let mut values = Vec::with_capacity(instants.len());
    for (row, ns) in instants.values().iter().enumerate() {
        match f(&mut offsets, *ns) {
            Some(value) => values.push(value),
            None if instants.is_null(row) => values.push(0),
            None => return Err(Failure { row, message: OUT_OF_RANGE.to_owned(), payload: None }),
        }
    }
    let zone = match output {
        DataType::Timestamp(_, zone) => zone.clone(),
        _ => None,
    };
    Ok(Arc::new(TimestampNanosecondArray::new(values.into(), instants.nulls().cloned()).with_timezone_opt(zone)))
}

fn moved_days(array: &ArrayRef, mut f: impl FnMut(i64) -> i64) -> Result<ArrayRef, Failure> {
    let dates = array.as_primitive::<Date32Type>();
    let mut values = Vec::with_capacity(dates.len());
    for (row, days) in dates.values().iter().enumerate() {
        match i32::try_from(f(i64::from(*days))) {
            Ok(days) => values.push(days),
            Err(_) if dates.is_null(row) => values.push(0),
            Err(_) => {
                return Err(Failure {
                    row,
                    message: "the result is outside the range of dates".to_owned(),
                    payload: None,
                });
            }
        }
    }
    Ok(Arc::new(Date32Array::new(values.into(), dates.nulls().cloned())))
}

/// Down to the last multiple of a step on the local clock; with `round`, to the nearest.
pub(crate) fn truncate(clock: Clock, step: Step, round: bool) -> Whole {
    Arc::new(move |args, _| {
        let array = args[0].array();
        if let Clock::Instant(zone) = &clock
            && !round
            && *zone == TimeZone::UTC
            && let Some(cut) = cut_on_utc(array, step)
        {
            return Ok(cut);
        }
        match (&clock, step) {
            (Clock::Instant(zone), _) => moved(array, zone, array.data_type(), |offsets, ns| {
                let (day, clock) = offsets.local(ns);
                let (days, rest) = cut(day, clock, step, round)?;
                if round && step.is_short() {
                    // The nearest hour is nearest in time, even where the clock is set back between.
                    return ns.checked_add((days - day) * DAY + rest - clock);
                }
                offsets.instant_of(days, rest, Some(ns))
            }),
            _ => moved_days(array, |days| cut(days, 0, step, round).map_or(i64::MAX, |(days, _)| days)),
        }
    })
}

/// On the clock of Greenwich no offset is looked up. None if a value may leave the range of instants.
fn cut_on_utc(array: &ArrayRef, step: Step) -> Option<ArrayRef> {
    let instants = array.as_primitive::<TimestampNanosecondType>();
    let mut left = false;
    let values: Vec<i64> = match step {
        Step::Nanoseconds { length, weeks } => {
            // 1970-01-01 was a Thursday; weeks are counted from the Monday before it.
            let multiple = Multiple::new(length, if weeks { 3 * DAY } else { 0 });
            let cut = |ns: &i64| {
                left |= *ns < multiple.first;
                multiple.below(*ns)
            };
            instants.values().iter().map(cut).collect()
        }
        Step::Months(months) => {
            let cut = |ns: &i64| {
                let days = ns.div_euclid(DAY);
                let day = day_of(days);
                let days = if months == 1 {
                    days - (day.day - 1)
                } else {
                    let count = (day.year * 12 + day.month - 1).div_euclid(months) * months;
                    days_to(count.div_euclid(12), count.rem_euclid(12) + 1, 1)
                };
                left |= days < i64::MIN / DAY;
                days.wrapping_mul(DAY)
            };
            instants.values().iter().map(cut).collect()
        }
    };
    let cut = TimestampNanosecondArray::new(values.into(), instants.nulls().cloned());
    (!left).then(|| Arc::new(cut.with_data_type(array.data_type().clone())) as ArrayRef)
}

/// Multiples of a length, found by one multiplication.
struct Multiple {
    length: u64,
    /// 2^64 / length, rounded down: the quotient it gives is at most one too small.
    inverse: u64,
    /// The first multiple that is an instant; values are counted from it.
    first: i64,
}

impl Multiple {
    /// Multiples of a positive length, counted from `origin` before 1970.
    fn new(length: i64, origin: i64) -> Multiple {
        let before = (i128::from(i64::MIN) + i128::from(origin)).rem_euclid(i128::from(length));
        let first = if before == 0 { i64::MIN } else { i64::MIN + (i128::from(length) - before) as i64 };
        let length = length as u64;
        // For length 1 the inverse would need one bit more; a quotient too small by one is corrected below.
        Multiple { length, inverse: u64::try_from((1_u128 << 64) / u128::from(length)).unwrap_or(u64::MAX), first }
    }

    /// The greatest multiple that is not above a value (which is not before the first one).
    #[inline]
    fn below(&self, ns: i64) -> i64 {
        let value = ns.wrapping_sub(self.first) as u64;
        let quotient = ((u128::from(value) * u128::from(self.inverse)) >> 64) as u64;
        let rest = value.wrapping_sub(quotient.wrapping_mul(self.length));
        // The lesser is the right one: what is too small by a length wraps to a large number.
        ns.wrapping_sub(rest.min(rest.wrapping_sub(self.length)) as i64)
    }
}

pub(super) fn cut(days: i64, ns: i64, step: Step, round: bool) -> Option<(i64, i64)> {
    match step {
        Step::Months(months) => {
            let start = |count: i64| days_to(count.div_euclid(12), count.rem_euclid(12) + 1, 1);
            let day = day_of(days);
            let count = (day.year * 12 + day.month - 1).div_euclid(months) * months;
            let (low, high) = (start(count), start(count + months));
            let into = i128::from(days - low) * i128::from(DAY) + i128::from(ns);
            let upper = round && 2 * into >= i128::from(high - low) * i128::from(DAY);
            Some((if upper { high } else { low }, 0))
        }
        Step::Nanoseconds { length, weeks } => {
            // 1970-01-01 was a Thursday; weeks are counted from the Monday before it.
            let shift = if weeks { 3 } else { 0 };
            let local = i128::from(days + shift) * i128::from(DAY)
                + i128::from(ns)
                + if round { i128::from(length / 2) } else { 0 };
            let cut = local.div_euclid(i128::from(length)) * i128::from(length) - i128::from(shift) * i128::from(DAY);
            let days = i64::try_from(cut.div_euclid(i128::from(DAY))).ok()?;
            Some((days, cut.rem_euclid(i128::from(DAY)) as i64))
        }
    }
}

/// A period later: months and days on the local clock, the rest in absolute time.
pub(crate) fn offset_by(clock: Clock, period: Period) -> Whole {
    Arc::new(move |args, _| {
        let array = args[0].array();
        match &clock {
            Clock::Instant(zone) => {
                moved(array, zone, array.data_type(), |offsets, ns| instant_later(offsets, ns, period))
            }
            _ => moved_days(array, |days| date_later(days, period)),
        }
    })
}

pub(super) fn instant_later(offsets: &mut Offsets<'_>, ns: i64, period: Period) -> Option<i64> {
    if period.months == 0 && period.days == 0 {
        return ns.checked_add(period.ns);
    }
    let (days, rest) = offsets.local(ns);
    let days = civil::add_months(days, period.months) + period.days;
    offsets.instant_of(days, rest, Some(ns))?.checked_add(period.ns)
}

pub(super) fn date_later(days: i64, period: Period) -> i64 {
    civil::add_months(days, period.months) + period.days + period.ns.div_euclid(DAY)
}

/// The period of each row later, or `earlier`.
pub(crate) fn by_interval(clock: Clock, earlier: bool) -> Whole {
    Arc::new(move |args, rows| {
        let (array, by) = (args[0].expanded(rows), args[1].expanded(rows));
        let by = by.as_primitive::<IntervalMonthDayNanoType>();
        let mut periods = (0..rows).map(|row| {
            // A row without a period stays where it is, and is taken away below.
            let given = if by.is_valid(row) { by.value(row) } else { IntervalMonthDayNano::new(0, 0, 0) };
            let sign = if earlier { -1 } else { 1 };
            let (months, days) = (i64::from(given.months) * sign, i64::from(given.days) * sign);
            given.nanoseconds.checked_mul(sign).map(|ns| Period { months, days, ns })
        });
        let mut next = || periods.next().flatten();
        let moved = match &clock {
            Clock::Instant(zone) => moved(&array, zone, array.data_type(), |offsets, ns| {
                next().and_then(|by| instant_later(offsets, ns, by))
            })?,
            _ => moved_days(&array, |days| next().map_or(i64::MAX, |by| date_later(days, by)))?,
        };
        if by.null_count() == 0 {
            return Ok(moved);
        }
        let gone = BooleanArray::from_iter((0..rows).map(|row| Some(by.is_null(row))));
        arrow_select::nullif::nullif(&moved, &gone).map_err(crate::eval::node::failure)
    })
}

/// The first or the last day of the month, at the same time of day.
pub(crate) fn month_edge(clock: Clock, end: bool) -> Whole {
    let edge = move |days: i64| {
        let day = day_of(days);
        days_to(day.year, day.month, if end { civil::days_in_month(day.year, day.month) } else { 1 })
    };
    Arc::new(move |args, _| {
        let array = args[0].array();
        match &clock {
            Clock::Instant(zone) => moved(array, zone, array.data_type(), |offsets, ns| {
                let (days, rest) = offsets.local(ns);
                offsets.instant_of(edge(days), rest, Some(ns))
            }),
            _ => moved_days(array, edge),
        }
    })
}

/// The instant at which the clock of `to` shows what the clock of the column's zone shows.
pub(crate) fn replace_zone(from: TimeZone, to: TimeZone, output: DataType) -> Whole {
    Arc::new(move |args, _| {
        let array = args[0].array();
        let instants = array.as_primitive::<TimestampNanosecondType>();
        let mut local = Offsets::new(&from);
        let shown: Vec<(i64, i64)> = instants.values().iter().map(|ns| local.local(*ns)).collect();
        let mut offsets = Offsets::new(&to);
        let mut values = Vec::with_capacity(shown.len());
        for (row, (days, ns)) in shown.into_iter().enumerate() {
            let near = values.last().copied();
            match unambiguous(&mut offsets, days, ns, near) {
                Some(value) => values.push(value),
                None if instants.is_null(row) => values.push(0),
                None => return Err(Failure { row, message: OUT_OF_RANGE.to_owned(), payload: None }),
            }
        }
        let zone = if let DataType::Timestamp(_, zone) = &output { zone.clone() } else { None };
        Ok(Arc::new(TimestampNanosecondArray::new(values.into(), instants.nulls().cloned()).with_timezone_opt(zone)))
    })
}

/// The neighbour's offset is a guess worth making only more than a day away from any change.
fn unambiguous(offsets: &mut Offsets<'_>, days: i64, ns: i64, near: Option<i64>) -> Option<i64> {
    if let Some(near) = near
        && let Some(instant) = offsets.instant_of(days, ns, Some(near))
        && let (Some(before), Some(after)) = (instant.checked_sub(DAY), instant.checked_add(DAY))
    {
        let offset = offsets.at(instant);
        if offsets.at(before) == offset && offsets.at(after) == offset {
            return Some(instant);
        }
    }
    offsets.instant_of(days, ns, None)
}

/// Midnight of a date on a zone's clock. Beyond the range of instants it is an error or, not strict, null.
pub(crate) fn midnight(zone: TimeZone, output: DataType, strict: bool) -> Whole {
    Arc::new(move |args, _| {
        let dates = args[0].array().as_primitive::<Date32Type>();
        let mut offsets = Offsets::new(&zone);
        let mut instants = Vec::with_capacity(dates.len());
        for (row, days) in dates.iter().enumerate() {
            let instant = days.and_then(|days| offsets.instant_of(i64::from(days), 0, None));
            if strict && days.is_some() && instant.is_none() {
                return Err(Failure { row, message: OUT_OF_RANGE.to_owned(), payload: None });
            }
            instants.push(instant);
        }
        let zone = if let DataType::Timestamp(_, zone) = &output { zone.clone() } else { None };
        Ok(Arc::new(TimestampNanosecondArray::from(instants).with_timezone_opt(zone)))
    })
}

/// The local date of each row at a time of day, as the clock of its zone shows it.
pub(crate) fn combine(clock: Clock, output: DataType) -> Whole {
    Arc::new(move |args, rows| {
        let (dates, times) = (args[0].expanded(rows), args[1].expanded(rows));
        let days = clock.map(&dates, |days, _| days);
        let times = times.as_primitive::<Time64NanosecondType>();
        let utc = TimeZone::UTC;
        let mut offsets = Offsets::new(if let Clock::Instant(zone) = &clock { zone } else { &utc });
        let nulls = NullBuffer::union(dates.nulls(), times.nulls());
        let mut values = Vec::with_capacity(rows);
        for (row, (days, ns)) in days.into_iter().zip(times.values()).enumerate() {
            match offsets.instant_of(days, *ns, None) {
                Some(value) => values.push(value),
                None if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) => values.push(0),
                None => return Err(Failure { row, message: OUT_OF_RANGE.to_owned(), payload: None }),
            }
        }
        let zone = if let DataType::Timestamp(_, zone) = &output { zone.clone() } else { None };
        Ok(Arc::new(TimestampNanosecondArray::new(values.into(), nulls).with_timezone_opt(zone)))
    })
}

/// A whole number of units in each duration, cut toward zero; in each instant, floored.
pub(crate) fn count_of(unit: i64, floor: bool) -> Whole {
    Arc::new(move |args, _| {
        let array = args[0].array();
        let values: Vec<i64> = if floor {
            array.as_primitive::<TimestampNanosecondType>().values().iter().map(|ns| ns.div_euclid(unit)).collect()
        } else {
            array.as_primitive::<DurationNanosecondType>().values().iter().map(|ns| ns / unit).collect()
        };
        Ok(Arc::new(Int64Array::new(values.into(), array.nulls().cloned())))
    })
}

/// Text by a strftime format.
pub(crate) fn strftime(clock: Clock, format: String) -> Whole {
    use std::fmt::Write;
    let parts = epoch_apart(&format);
    Arc::new(move |args, _| {
        let array = args[0].array();
        let mut built = arrow_array::builder::StringViewBuilder::with_capacity(array.len());
        let mut text = String::new();
        for row in 0..array.len() {
            if array.is_null(row) {
                built.append_null();
                continue;
            }
            text.clear();
            let written = match &clock {
                Clock::Date => {
                    let days = array.as_primitive::<Date32Type>().value(row);
                    let date = jiff::civil::date(1970, 1, 1).checked_add(jiff::Span::new().days(days));
                    date.map(|date| write!(text, "{}", date.strftime(&format)))
                }
                Clock::TimeOfDay => {
                    let ns = array.as_primitive::<Time64NanosecondType>().value(row);
                    let time = jiff::civil::Time::midnight().checked_add(jiff::SignedDuration::from_nanos(ns));
                    time.map(|time| write!(text, "{}", time.strftime(&format)))
                }
                Clock::Instant(zone) => {
                    let ns = array.as_primitive::<TimestampNanosecondType>().value(row);
                    let second = jiff::Timestamp::from_second(ns.div_euclid(1_000_000_000));
                    second.map(|second| {
                        parts.iter().try_for_each(|(is_epoch, part)| {
                            let at = if *is_epoch { second } else { instant(ns) };
                            write!(text, "{}", at.to_zoned(zone.clone()).strftime(part))
                        })
                    })
                }
            };
            match written {
                Ok(Ok(())) => built.append_value(&text),
                _ => {
                    return Err(Failure {
                        row,
                        message: format!("the format {format:?} does not apply"),
                        payload: None,
                    });
                }
            }
        }
        Ok(Arc::new(built.finish()))
    })
}

/// A format cut before and after each `%s`, and whether a part is one: seconds since 1970 are rounded down, and the library that writes
/// them cuts them toward zero.
fn epoch_apart(format: &str) -> Vec<(bool, String)> {
    let (mut parts, mut rest) = (vec![(false, String::new())], format);
    while let Some(at) = rest.find('%') {
        let flags = rest[at + 1..].find(|letter: char| letter.is_alphabetic() || letter == '%').unwrap_or(0);
        let end = rest[at + 1 + flags..].chars().next().map_or(rest.len(), |letter| at + 1 + flags + letter.len_utf8());
        let directive = &rest[at..end];
        match directive.ends_with('s') {
            true => {
                parts.last_mut().expect("never empty").1.push_str(&rest[..at]);
                parts.extend([(true, directive.to_owned()), (false, String::new())]);
            }
            false => parts.last_mut().expect("never empty").1.push_str(&rest[..end]),
        }
        rest = &rest[end..];
    }
    parts.last_mut().expect("never empty").1.push_str(rest);
    parts.retain(|(_, part)| !part.is_empty());
    parts
}

/// Whether a strftime format can be written at all.
pub(crate) fn check_format(clock: &Clock, format: &str) -> Result<(), String> {
    let wrong = |error: jiff::Error| error.to_string();
    match clock {
        Clock::Date => jiff::fmt::strtime::format(format, jiff::civil::date(2000, 1, 1)).map(drop).map_err(wrong),
        Clock::TimeOfDay => jiff::fmt::strtime::format(format, jiff::civil::time(1, 2, 3, 4)).map(drop).map_err(wrong),
        Clock::Instant(zone) => {
            jiff::fmt::strtime::format(format, &instant(0).to_zoned(zone.clone())).map(drop).map_err(wrong)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiples_lie_below() {
        let values = [
            0,
            1,
            -1,
            999,
            1_000,
            -1_000,
            -1_001,
            1_700_000_000_123_456_789,
            i64::MAX,
            i64::MIN / 2,
            -86_400,
            i64::MIN,
        ];
        for length in [1, 2, 3, 7, 1_000, 3_600_000_000_000, DAY, 7 * DAY, i64::MAX / 3, i64::MAX, 1 << 40] {
            for origin in [0, 3 * DAY] {
                let multiple = Multiple::new(length, origin);
                for ns in values.into_iter().chain([multiple.first, multiple.first.saturating_add(1)]) {
                    let (wide, step) = (i128::from(ns) + i128::from(origin), i128::from(length));
                    let expected = wide.div_euclid(step) * step - i128::from(origin);
                    assert_eq!(
                        expected >= i128::from(i64::MIN),
                        ns >= multiple.first,
                        "{ns} by {length} from {origin}"
                    );
                    if ns >= multiple.first {
                        assert_eq!(i128::from(multiple.below(ns)), expected, "{ns} by {length} from {origin}");
                    }
                }
            }
        }
    }
}
