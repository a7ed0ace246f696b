//! What a window is over the stamps of a table: whole distances in what they count, both ends included.

use arrow_schema::DataType;
use formula::functions::Closed;
use formula::{Reach, type_name};

use crate::error::Error;
use crate::keys::frame::Frame;

const SECOND: i128 = 1_000_000_000;
const DAY: i128 = 86_400 * SECOND;

/// Whether a column of this type can be one of stamps.
fn is_stamp(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Timestamp(..) | DataType::Date32 | DataType::Time64(_) | DataType::Duration(_))
        || data_type.is_integer()
}

/// The frame of a window from so far back to so far ahead over stamps of this type.
pub(super) fn between(
    operation: &str,
    (on, stamps): (&str, &DataType),
    [back, ahead]: [Reach; 2],
    closed: Closed,
) -> Result<Frame, Error> {
    if !is_stamp(stamps) {
        let message = format!(
            "the column {on:?} holds {}, and a window in time is of times, dates or whole numbers; cast it first",
            type_name(stamps)
        );
        return Err(Error::types(operation, message));
    }
    let unit = match stamps {
        DataType::Date32 => Some(DAY),
        DataType::Timestamp(..) | DataType::Time64(_) | DataType::Duration(_) => Some(1),
        _ => None,
    };
    let (starts, ends) =
        (matches!(closed, Closed::Both | Closed::Left), matches!(closed, Closed::Both | Closed::Right));
    let back = distance(operation, on, stamps, unit, back, starts)?;
    let ahead = distance(operation, on, stamps, unit, ahead, ends)?;
    if back.saturating_add(ahead) < 0 {
        return Err(Error::invalid(operation, "the window ends before it begins: no row is in it"));
    }
    Ok(Frame::Range { back, ahead })
}

/// The greatest whole distance that belongs to the window.
fn distance(
    operation: &str,
    on: &str,
    stamps: &DataType,
    unit: Option<i128>,
    reach: Reach,
    included: bool,
) -> Result<i64, Error> {
    let (far, unit) = match (reach, unit) {
        (Reach::Span(nanos), Some(unit)) => (i128::from(nanos), unit),
        (Reach::Span(_), None) => {
            let message = format!(
                "the stamps in {on:?} are numbers ({}), so a window of them is a number, no span of time",
                type_name(stamps)
            );
            return Err(Error::types(operation, message));
        }
        (Reach::Whole(seconds), Some(unit)) => (i128::from(seconds) * SECOND, unit),
        (Reach::Whole(number), None) => (i128::from(number), 1),
        (Reach::Number(number), _) if !number.is_finite() => {
            return Err(Error::invalid(operation, format!("a window is of finite numbers, not {number}")));
        }
        (Reach::Number(seconds), Some(unit)) => ((seconds * SECOND as f64).round() as i128, unit),
        (Reach::Number(number), None) if number.fract() == 0.0 => (number as i128, 1),
        (Reach::Number(number), None) => {
            let message =
                format!("the stamps in {on:?} are whole numbers, so a window of them is a whole number, not {number}");
            return Err(Error::invalid(operation, message));
        }
    };
    // Of whole units those that lie within; an end that is left out stands one before.
    let whole = if included { far.div_euclid(unit) } else { -(-far).div_euclid(unit) - 1 };
    Ok(whole.clamp(i128::from(-i64::MAX), i128::from(i64::MAX)) as i64)
}

#[cfg(test)]
mod tests {
    use arrow_schema::TimeUnit;

    use super::*;

    #[test]
    fn ends_are_whole_units_that_lie_within() {
        let time = DataType::Timestamp(TimeUnit::Nanosecond, None);
        let of = |stamps: &DataType, back, ahead, closed| between("rolling", ("t", stamps), [back, ahead], closed).ok();
        let range = |back, ahead| Some(Frame::Range { back, ahead });
        let day = DAY as i64;
        assert_eq!(of(&time, Reach::Span(5), Reach::Span(0), Closed::Both), range(5, 0));
        assert_eq!(of(&time, Reach::Span(5), Reach::Span(0), Closed::Right), range(4, 0));
        assert_eq!(of(&time, Reach::Span(5), Reach::Span(0), Closed::Left), range(5, -1));
        assert_eq!(of(&time, Reach::Span(5), Reach::Span(0), Closed::None), range(4, -1));
        assert_eq!(of(&time, Reach::Whole(2), Reach::Number(0.5), Closed::Both), range(2_000_000_000, 500_000_000));
        assert_eq!(of(&DataType::Date32, Reach::Span(day), Reach::Span(0), Closed::Right), range(0, 0));
        assert_eq!(of(&DataType::Date32, Reach::Span(day / 2), Reach::Span(0), Closed::Right), range(0, 0));
        assert_eq!(of(&DataType::Date32, Reach::Span(day * 3 / 2), Reach::Span(0), Closed::Right), range(1, 0));
        assert_eq!(of(&DataType::Date32, Reach::Span(-day / 2), Reach::Span(2 * day), Closed::Both), range(-1, 2));
        assert_eq!(of(&DataType::Int64, Reach::Whole(3), Reach::Number(1.0), Closed::Both), range(3, 1));
        assert_eq!(of(&DataType::Int64, Reach::Number(0.5), Reach::Whole(1), Closed::Both), None);
        assert_eq!(of(&DataType::Int64, Reach::Span(3), Reach::Whole(1), Closed::Both), None);
        assert_eq!(of(&DataType::Float64, Reach::Whole(3), Reach::Whole(1), Closed::Both), None);
        assert_eq!(of(&time, Reach::Whole(-3), Reach::Whole(2), Closed::Both), None);
        assert_eq!(of(&time, Reach::Whole(3), Reach::Whole(-3), Closed::Both), range(3_000_000_000, -3_000_000_000));
        assert_eq!(of(&time, Reach::Span(0), Reach::Span(0), Closed::Right), None);
        assert!(of(&time, Reach::Span(i64::MAX), Reach::Span(i64::MAX), Closed::Both).is_some());
    }
}
