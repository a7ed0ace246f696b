//! Windows of time: where those begin that hold an instant or a date, and where a window ends.
//!
//!   every 1h, period 2h      t 10:20      begin 09:00 10:00
//!   every 1h                 t 10:20      begin 10:00            ends at 11:00
//!
//! Windows begin where `dt.truncate` cuts time off, on the clock of the column's zone, and an offset later. One without a
//! period of its own ends where the next begins. They are for operations: formulas do not name these functions.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, TimestampNanosecondType};
use arrow_array::{Array, ArrayRef, Date32Array, ListArray, TimestampNanosecondArray};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field};

use super::declared::{FunctionSpec, Takes, in_text};
use super::period::{Period, Step};
use super::time::{Clock, OUT_OF_RANGE, cut, date_later, instant_later};
use super::zone::Offsets;
use crate::eval::node::{Failure, Whole};
use crate::tree::family::{Family, Gives};
use crate::tree::function::{Closed, Function, Time};
use crate::tree::payload::Payload;

const START: Takes = (4, 4, "a time, a step, an offset and which ends are closed");
const STARTS: Takes = (5, 5, "a time, a step, a period, an offset and which ends are closed");
const END: Takes = (4, 4, "a time, a step, a period and an offset");

pub(crate) const FUNCTIONS: &[FunctionSpec] = &[
    in_text(Function::Time(Time::WindowStart), "window_start", START, |b, c| b.window_start(c))
        .gives(Gives::AsFirst)
        .shown_by(r#"col("t").dt.truncate("1h")"#),
    in_text(Function::Time(Time::WindowStarts), "window_starts", STARTS, |b, c| b.window_starts(c))
        .always(Family::List)
        .shown_by(r#"col("t").dt.truncate("1h")"#),
    in_text(Function::Time(Time::WindowEnd), "window_end", END, |b, c| b.window_end(c))
        .gives(Gives::AsFirst)
        .shown_by(r#"col("t").dt.truncate("1h")"#),
];

/// How far a search for the next cut goes on where clocks are set back.
const HOUR: i64 = 3_600_000_000_000;
/// How often it does: clocks are set by a day at most.
const TRIES: u32 = 64;

/// Windows, as they are asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Windows {
    pub(crate) every: Step,
    /// None: until the next begins.
    pub(crate) period: Option<Period>,
    pub(crate) offset: Period,
    pub(crate) closed: Closed,
}

impl Windows {
    /// About how many windows hold a time.
    pub(crate) fn overlap(&self) -> u64 {
        const MONTH: i128 = 30 * 24 * HOUR as i128;
        let step = match self.every {
            Step::Months(months) => i128::from(months) * MONTH,
            Step::Nanoseconds { length, .. } => i128::from(length),
        };
        let period = self.period.map_or(step, |Period { months, days, ns }| {
            i128::from(months) * MONTH + i128::from(days) * 24 * i128::from(HOUR) + i128::from(ns)
        });
        u64::try_from(period / step + 2).unwrap_or(u64::MAX)
    }
}

/// Times as numbers, and what is done with them on their clock.
struct Ruler<'a> {
    windows: &'a Windows,
    /// None for dates.
    offsets: Option<Offsets<'a>>,
}

impl Ruler<'_> {
    /// The last cut that is not later.
    fn cut(&mut self, at: i64) -> Option<i64> {
        match &mut self.offsets {
            None => cut(at, 0, self.windows.every, false).map(|(days, _)| days),
            Some(offsets) => {
                let (day, clock) = offsets.local(at);
                let (days, rest) = cut(day, clock, self.windows.every, false)?;
                offsets.instant_of(days, rest, Some(at))
            }
        }
    }

    fn later(&mut self, at: i64, by: Period) -> Option<i64> {
        if by == Period::default() {
            return Some(at);
        }
        match &mut self.offsets {
            None => Some(date_later(at, by)),
            Some(offsets) => instant_later(offsets, at, by),
        }
    }

    /// The first cut after one.
    fn next(&mut self, at: i64) -> Option<i64> {
        let dates = self.offsets.is_none();
        let (mut to, step) = match self.windows.every {
            Step::Months(months) => {
                let next = self.later(at, Period { months, ..Period::default() })?;
                (next, if dates { 1 } else { HOUR })
            }
            Step::Nanoseconds { length, .. } if dates => (at.checked_add((length / (24 * HOUR)).max(1))?, 1),
            Step::Nanoseconds { length, .. } => (at.checked_add(length)?, length.min(HOUR)),
        };
        for _ in 0..TRIES {
            let found = self.cut(to)?;
            if found > at {
                return Some(found);
            }
            to = to.checked_add(step)?;
        }
        None
    }

    /// The last cut of which the window does not begin after a bound.
    fn last(&mut self, bound: i64) -> Option<i64> {
        let offset = self.windows.offset;
        let back = Period { months: -offset.months, days: -offset.days, ns: offset.ns.checked_neg()? };
        let from = self.later(bound, back)?;
        let mut at = self.cut(from)?;
        if offset.months == 0 && offset.days == 0 {
            return Some(at);
        }
        while let Some(next) = self.next(at)
            && self.later(next, offset)? <= bound
        {
            at = next;
        }
        while self.later(at, offset)? > bound {
            at = self.cut(at.checked_sub(1)?)?;
        }
        Some(at)
    }

    /// Where the window of a cut begins and ends; no end where that lies beyond the range of time.
    fn window(&mut self, at: i64) -> Option<(i64, Option<i64>)> {
        let start = self.later(at, self.windows.offset)?;
        let end = match self.windows.period {
            Some(period) => self.later(start, period),
            None => self.next(at).and_then(|next| self.later(next, self.windows.offset)),
        };
        Some((start, end))
    }

    /// Where the windows begin that hold a time, the last one first.
    fn starts(&mut self, time: i64, found: &mut Vec<i64>) -> Option<()> {
        let closed = self.windows.closed;
        let opens = matches!(closed, Closed::Left | Closed::Both);
        let mut at = self.last(if opens { time } else { time.checked_sub(1)? })?;
        loop {
            let (start, end) = self.window(at)?;
            let reaches = |end| if matches!(closed, Closed::Right | Closed::Both) { time <= end } else { time < end };
            if !end.is_none_or(reaches) {
                return Some(());
            }
            found.push(start);
            at = self.cut(at.checked_sub(1)?)?;
        }
    }
}

/// Times as numbers: days, or nanoseconds.
fn numbers(array: &ArrayRef, clock: &Clock) -> Vec<i64> {
    match clock {
        Clock::Instant(_) => array.as_primitive::<TimestampNanosecondType>().values().to_vec(),
        _ => array.as_primitive::<Date32Type>().values().iter().map(|days| i64::from(*days)).collect(),
    }
}

/// Numbers as times of a type; none beyond what dates reach.
fn times(numbers: Vec<i64>, of: &DataType) -> Option<ArrayRef> {
    Some(match of {
        DataType::Timestamp(_, zone) => {
            Arc::new(TimestampNanosecondArray::from(numbers).with_timezone_opt(zone.clone()))
        }
        _ => {
            let days = numbers.into_iter().map(|days| i32::try_from(days).ok()).collect::<Option<Vec<_>>>()?;
            Arc::new(Date32Array::from(days))
        }
    })
}

fn failed(row: usize, message: &str) -> Failure {
    Failure { row, message: message.to_owned(), payload: None }
}

/// A row without a time has no window.
fn refuse_nulls(array: &ArrayRef) -> Result<(), Failure> {
    match array.nulls().and_then(|nulls| (0..array.len()).find(|row| nulls.is_null(*row))) {
        Some(row) => Err(failed(row, "a row without a time belongs to no window")),
        None => Ok(()),
    }
}

/// For each time what `f` makes of it, with a ruler.
fn each<T>(
    windows: &Windows,
    clock: &Clock,
    array: &ArrayRef,
    mut f: impl FnMut(&mut Ruler<'_>, i64) -> Option<T>,
) -> Result<Vec<T>, Failure> {
    let offsets = if let Clock::Instant(zone) = clock { Some(Offsets::new(zone)) } else { None };
    let mut ruler = Ruler { windows, offsets };
    let of = |(row, time)| f(&mut ruler, time).ok_or_else(|| failed(row, OUT_OF_RANGE));
    numbers(array, clock).into_iter().enumerate().map(of).collect()
}

/// Where the one window begins that holds each time, of windows that do not overlap. `truncate` cuts time off as they do.
pub(crate) fn start(clock: Clock, windows: Windows, truncate: Whole) -> Whole {
    let cut_off = windows.offset == Period::default() && windows.closed != Closed::Right;
    Arc::new(move |args, rows| {
        let array = args[0].array();
        refuse_nulls(array)?;
        if cut_off {
            return truncate(args, rows);
        }
        let starts = each(&windows, &clock, array, |ruler, time| {
            let at = ruler.last(time.checked_sub(i64::from(windows.closed == Closed::Right))?)?;
            ruler.later(at, windows.offset)
        })?;
        times(starts, array.data_type()).ok_or_else(|| failed(0, OUT_OF_RANGE))
    })
}

/// Where the windows begin that hold each time, as lists, the first one first.
pub(crate) fn starts(clock: Clock, windows: Windows) -> Whole {
    Arc::new(move |args, _| {
        let array = args[0].array();
        refuse_nulls(array)?;
        let exhausted = |why: limits::Exhausted| Failure {
            row: 0,
            message: why.to_string(),
            payload: Some(Payload(Arc::new(why))),
        };
        limits::ask((array.len() as u64).saturating_mul(windows.overlap()).saturating_mul(8)).map_err(exhausted)?;
        let mut found = Vec::new();
        let ends = each(&windows, &clock, array, |ruler, time| {
            let from = found.len();
            // At the ends of the range of time there are fewer windows.
            let _ = ruler.starts(time, &mut found);
            found[from..].reverse();
            i32::try_from(found.len()).ok()
        })?;
        let of = array.data_type().clone();
        let values = times(found, &of).ok_or_else(|| failed(0, OUT_OF_RANGE))?;
        let offsets: Vec<i32> = std::iter::once(0).chain(ends).collect();
        let field = Arc::new(Field::new_list_field(of, true));
        Ok(Arc::new(ListArray::new(field, OffsetBuffer::new(ScalarBuffer::from(offsets)), values, None)) as ArrayRef)
    })
}

/// Where the window ends that begins at each time.
pub(crate) fn end(clock: Clock, windows: Windows) -> Whole {
    Arc::new(move |args, _| {
        let array = args[0].array();
        let mut row = 0;
        let ends = each(&windows, &clock, array, |ruler, start| {
            row += 1;
            match windows.period {
                _ if array.is_null(row - 1) => Some(0),
                Some(period) => ruler.later(start, period),
                None => {
                    let at = ruler.last(start)?;
                    ruler.window(at)?.1
                }
            }
        })?;
        let ends = times(ends, array.data_type()).ok_or_else(|| failed(0, OUT_OF_RANGE))?;
        match array.nulls() {
            None => Ok(ends),
            Some(nulls) => {
                let nulls = arrow_array::BooleanArray::new(!nulls.inner(), None);
                arrow_select::nullif::nullif(&ends, &nulls).map_err(crate::eval::node::failure)
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::zone::zone_of;
    use super::*;

    const MINUTE: i64 = 60_000_000_000;

    fn windows(every: &str, period: &str, offset: &str, closed: Closed) -> Windows {
        let period = if period.is_empty() { None } else { Some(Period::parse(period).unwrap()) };
        let every = Period::parse(every).unwrap().as_step().unwrap();
        Windows { every, period, offset: Period::parse(offset).unwrap(), closed }
    }

    /// The windows that hold a local time, by their local starts.
    fn of(zone: &str, windows: Windows, time: i64) -> Vec<i64> {
        let zone = zone_of(Some(&zone.into())).unwrap();
        let mut ruler = Ruler { windows: &windows, offsets: Some(Offsets::new(&zone)) };
        let mut found = Vec::new();
        ruler.starts(time, &mut found);
        found.reverse();
        found
    }

    #[test]
    fn windows_hold_what_lies_between_their_ends() {
        let hours = |closed, at| of("UTC", windows("1h", "2h", "0s", closed), at).iter().map(|ns| ns / HOUR).collect();
        let at = |closed| -> (Vec<i64>, Vec<i64>) { (hours(closed, 10 * HOUR), hours(closed, 10 * HOUR + MINUTE)) };
        assert_eq!(at(Closed::Left), (vec![9, 10], vec![9, 10]));
        assert_eq!(at(Closed::Right), (vec![8, 9], vec![9, 10]));
        assert_eq!(at(Closed::Both), (vec![8, 9, 10], vec![9, 10]));
        assert_eq!(at(Closed::None), (vec![9], vec![9, 10]));
        let rare = |at| of("UTC", windows("1h", "10m", "5m", Closed::Left), at);
        assert_eq!(rare(HOUR), Vec::<i64>::new());
        assert_eq!(rare(HOUR + 14 * MINUTE), vec![HOUR + 5 * MINUTE]);
        assert_eq!(rare(HOUR + 15 * MINUTE), Vec::<i64>::new());
    }

    /// Each window ends where the next begins, and each instant is in the one that truncation gives, whatever clocks do.
    #[test]
    fn windows_without_a_period_lie_side_by_side() {
        for zone in ["America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "UTC"] {
            for every in ["15m", "1h", "6h", "7h", "1d", "2d", "1w", "1mo", "1q", "1y"] {
                let all = windows(every, "", "0s", Closed::Left);
                let held = zone_of(Some(&zone.into())).unwrap();
                let mut ruler = Ruler { windows: &all, offsets: Some(Offsets::new(&held)) };
                // About both changes of 2024, in steps that are no round number.
                for spring in [1_710_000_000_000_000_000_i64, 1_730_500_000_000_000_000, 1_712_300_000_000_000_000] {
                    for at in (spring..spring + 72 * HOUR).step_by(1_234_567_891_011) {
                        let mut found = Vec::new();
                        ruler.starts(at, &mut found).unwrap();
                        let cut = ruler.cut(at).unwrap();
                        assert_eq!(found, [cut], "{zone} {every} {at}");
                        let (_, end) = ruler.window(cut).unwrap();
                        let end = end.unwrap();
                        assert!(end > at, "{zone} {every} {at}: {cut} to {end}");
                        assert_eq!(ruler.cut(end), Some(end), "{zone} {every} {at}");
                        assert_eq!(ruler.cut(end - 1), Some(cut), "{zone} {every} {at}");
                    }
                }
            }
        }
    }

    #[test]
    fn offsets_of_the_calendar() {
        let days =
            |at: i64, windows| of("UTC", windows, at * 24 * HOUR).iter().map(|ns| ns / (24 * HOUR)).collect::<Vec<_>>();
        // Months from the 15th: the 10th of February 1970 is in the one of January.
        assert_eq!(days(40, windows("1mo", "", "14d", Closed::Left)), [14]);
        assert_eq!(days(45, windows("1mo", "", "14d", Closed::Left)), [45]);
        assert_eq!(days(40, windows("1mo", "", "-1mo", Closed::Left)), [31]);
        assert_eq!(days(40, windows("1mo", "2mo", "0s", Closed::Left)), [0, 31]);
    }
}
