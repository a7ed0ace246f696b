//! The tolerance of an as-of join: as the caller gives it, and as a distance between stamps of a type.

use arrow_schema::{DataType, TimeUnit};
use formula::type_name;

use crate::error::Error;
use crate::ops::agg::{from_order_key as value, order_key};
use crate::plan::spec::Tolerance;

/// The distance in what the stamps count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Dependencies {
    /// Whole units, as far as the caller allows.
    Counted(u64),
    /// Floats have the distance of their values, not of the numbers that order as they do.
    Measured(f64),
}

const SECOND: u64 = 1_000_000_000;
const DAY: u64 = 86_400 * SECOND;

impl Dependencies {
    pub(super) fn of(operation: &str, tolerance: Option<Tolerance>, meet: &DataType) -> Result<Dependencies, Error> {
        use DataType::{Date32, Duration, Float16, Float32, Float64, Time64, Timestamp};
        let floats = matches!(meet, Float16 | Float32 | Float64);
        let Some(tolerance) = tolerance else {
            return Ok(if floats { Dependencies::Measured(f64::INFINITY) } else { Dependencies::Counted(u64::MAX) });
        };
        if let Tolerance::Number(number) = tolerance
            && !(number >= 0.0 && number.is_finite())
        {
            let message = format!("tolerance must be a finite number, 0 or more, not {number}");
            return Err(Error::invalid(operation, message));
        }
        let is_time = matches!(meet, Timestamp(TimeUnit::Nanosecond, _) | Time64(_) | Duration(_));
        match tolerance {
            tolerance if is_time => Ok(Dependencies::Counted(nanoseconds(tolerance))),
            tolerance if *meet == Date32 => {
                let span = nanoseconds(tolerance);
                if span.is_multiple_of(DAY) {
                    return Ok(Dependencies::Counted(span / DAY));
                }
                let message = "a tolerance between dates is of whole days: write \"2d\" or timedelta(days=2)";
                let message = match tolerance {
                    Tolerance::Span(_) => message.to_owned(),
                    _ => format!("{message}; a plain number is of seconds"),
                };
                Err(Error::types(operation, message))
            }
            Tolerance::Span(_) => {
                let meet = type_name(meet);
                let message = format!("the stamps are numbers ({meet}), so a tolerance is a number, no span of time");
                Err(Error::types(operation, message))
            }
            Tolerance::Whole(number) if floats => Ok(Dependencies::Measured(number as f64)),
            Tolerance::Number(number) if floats => Ok(Dependencies::Measured(number)),
            Tolerance::Whole(number) => Ok(Dependencies::Counted(number)),
            // No whole distance lies between the number and the whole one below it.
            Tolerance::Number(number) => Ok(Dependencies::Counted(number as u64)),
        }
    }

    /// Whether two stamps, as numbers that order as they do, are near enough.
    #[inline]
    pub(super) fn holds(self, at: u64, stamp: u64) -> bool {
        match self {
            Dependencies::Counted(most) => at.abs_diff(stamp) <= most,
            Dependencies::Measured(most) => at == stamp || (value(at) - value(stamp)).abs() <= most,
        }
    }

    /// Whether the stamp before is nearer than the one after.
    #[inline]
    pub(super) fn is_nearer(self, earlier: u64, stamp: u64, later: u64) -> bool {
        match self {
            Dependencies::Counted(_) => stamp - earlier < later - stamp,
            Dependencies::Measured(_) => value(stamp) - value(earlier) < value(later) - value(stamp),
        }
    }

    /// No stamp outside these two is near enough; some inside may not be.
    #[inline]
    pub(super) fn around(self, stamp: u64) -> (u64, u64) {
        match self {
            Dependencies::Counted(most) => (stamp.saturating_sub(most), stamp.saturating_add(most)),
            Dependencies::Measured(f64::INFINITY) => (0, u64::MAX),
            Dependencies::Measured(most) => {
                // A difference is rounded by a part of what it is taken of, which may be far more than a float near it.
                let rounded = (value(stamp).abs() + most) * (4.0 * f64::EPSILON);
                let (least, most) = (value(stamp) - most - rounded, value(stamp) + most + rounded);
                (order_key(least).saturating_sub(ROUNDED), order_key(most).saturating_add(ROUNDED))
            }
        }
    }
}

/// So many floats further on a sum of two may lie, for each is rounded.
const ROUNDED: u64 = 4;

fn nanoseconds(tolerance: Tolerance) -> u64 {
    match tolerance {
        Tolerance::Span(ns) => ns,
        Tolerance::Whole(seconds) => seconds.saturating_mul(SECOND),
        Tolerance::Number(seconds) => (seconds * SECOND as f64).round() as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_near_enough_lies_around() {
        let parts = [0.0, 0.1, 0.3, 1.0, 1.1, 2.1, 3.3, 1e-300, 7e15, 1e300];
        let stamps: Vec<f64> = parts.iter().flat_map(|x| [*x, -x, x + 2.0, x - 2.0]).collect();
        for most in [0.0, 0.2, 2.0, 3.0, 1e16] {
            let reach = Dependencies::Measured(most);
            for (stamp, other) in stamps.iter().flat_map(|one| stamps.iter().map(move |other| (*one, *other))) {
                let (stamp, other) = (order_key(stamp), order_key(other));
                let (least, greatest) = reach.around(stamp);
                let inside = least <= other && other <= greatest;
                assert!(inside || !reach.holds(stamp, other), "{} and {}", value(stamp), value(other));
            }
        }
    }

    #[test]
    fn a_tolerance_is_read_for_the_type_of_the_stamps() {
        let time = DataType::Timestamp(TimeUnit::Nanosecond, None);
        let second = Dependencies::Counted(SECOND);
        let table = [
            (&time, Tolerance::Span(SECOND), Some(second)),
            (&time, Tolerance::Whole(1), Some(second)),
            (&time, Tolerance::Number(0.5), Some(Dependencies::Counted(SECOND / 2))),
            (&DataType::Date32, Tolerance::Span(2 * DAY), Some(Dependencies::Counted(2))),
            (&DataType::Date32, Tolerance::Whole(86_400), Some(Dependencies::Counted(1))),
            (&DataType::Date32, Tolerance::Whole(5), None),
            (&DataType::Date32, Tolerance::Span(DAY / 2), None),
            (&DataType::Int64, Tolerance::Whole(5), Some(Dependencies::Counted(5))),
            (&DataType::Int64, Tolerance::Number(2.9), Some(Dependencies::Counted(2))),
            (&DataType::Int64, Tolerance::Span(5), None),
            (&DataType::Float64, Tolerance::Whole(5), Some(Dependencies::Measured(5.0))),
            (&DataType::Float64, Tolerance::Number(0.5), Some(Dependencies::Measured(0.5))),
            (&DataType::Float64, Tolerance::Span(5), None),
            (&time, Tolerance::Number(f64::NAN), None),
            (&time, Tolerance::Number(-1.0), None),
            (&DataType::Float64, Tolerance::Number(f64::INFINITY), None),
        ];
        for (meet, given, wanted) in table {
            let found = Dependencies::of("join_asof", Some(given), meet).ok();
            assert_eq!(found, wanted, "{given:?} between stamps of {meet}");
        }
    }
}
