//! Types of texts: the narrowest that holds every one of a sample.

use std::sync::Arc;

use arrow_array::types::{Date32Type, Float64Type, Int64Type};
use arrow_cast::parse::{Parser, string_to_timestamp_nanos};
use arrow_schema::{DataType, TimeUnit};

/// What the texts of a sample may be, from the narrowest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Guess {
    /// Nothing was seen but nulls.
    #[default]
    Nothing,
    Boolean,
    Integer,
    Float,
    Date,
    Instant,
    /// An instant whose text names its zone.
    Zoned,
    Text,
}

impl Guess {
    /// Of one text.
    pub(crate) fn of(text: &str, dates: bool) -> Guess {
        let first = text.bytes().next().unwrap_or(b' ');
        if is_boolean(text).is_some() {
            return Guess::Boolean;
        }
        let numeric = first.is_ascii_digit() || matches!(first, b'-' | b'+' | b'.');
        let plain = !text.ends_with(|last: char| last.is_ascii_whitespace());
        if numeric && plain {
            if Int64Type::parse(text).is_some() {
                return Guess::Integer;
            }
            let digits = text.trim_start_matches(['-', '+']);
            if digits.bytes().all(|byte| byte.is_ascii_digit()) {
                // More digits than an integer holds: as a float it would lose some.
                return Guess::Text;
            }
            if dates && first.is_ascii_digit() && text.as_bytes().get(4) == Some(&b'-') {
                return Guess::of_date(text);
            }
            if Float64Type::parse(text).is_some() {
                return Guess::Float;
            }
        }
        if matches!(text, "NaN" | "inf" | "-inf") {
            return Guess::Float;
        }
        Guess::Text
    }

    fn of_date(text: &str) -> Guess {
        if text.len() == 10 && Date32Type::parse(text).is_some() {
            return Guess::Date;
        }
        let zoned = text.ends_with('Z') || text.get(19..).is_some_and(|end| end.contains(['+', '-']));
        match string_to_timestamp_nanos(text) {
            Ok(_) if zoned => Guess::Zoned,
            Ok(_) => Guess::Instant,
            Err(_) => Guess::Text,
        }
    }

    /// Of texts of which some are this and some that.
    pub(crate) fn or(self, other: Guess) -> Guess {
        let (least, most) = if self < other { (self, other) } else { (other, self) };
        match (least, most) {
            (Guess::Nothing, most) => most,
            (least, most) if least == most => most,
            (Guess::Integer, Guess::Float) => Guess::Float,
            (Guess::Date, Guess::Instant) => Guess::Instant,
            (Guess::Date, Guess::Zoned) => Guess::Zoned,
            _ => Guess::Text,
        }
    }

    pub(crate) fn data_type(self) -> DataType {
        match self {
            Guess::Nothing | Guess::Text => DataType::Utf8,
            Guess::Boolean => DataType::Boolean,
            Guess::Integer => DataType::Int64,
            Guess::Float => DataType::Float64,
            Guess::Date => DataType::Date32,
            Guess::Instant => DataType::Timestamp(TimeUnit::Nanosecond, None),
            Guess::Zoned => DataType::Timestamp(TimeUnit::Nanosecond, Some(Arc::from("UTC"))),
        }
    }
}

/// A truth value as it is written in files.
pub(crate) fn is_boolean(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guess(texts: &[&str]) -> Guess {
        texts.iter().map(|text| Guess::of(text, true)).fold(Guess::Nothing, Guess::or)
    }

    #[test]
    fn the_narrowest_type_that_holds_them_all() {
        assert_eq!(guess(&["1", "-2", "+3"]), Guess::Integer);
        assert_eq!(guess(&["1", "2.5", "1e9", "NaN", ".5"]), Guess::Float);
        assert_eq!(guess(&["true", "False"]), Guess::Boolean);
        assert_eq!(guess(&["2024-02-29", "2024-03-01"]), Guess::Date);
        assert_eq!(guess(&["2024-02-29", "2024-03-01T10:00:00.5"]), Guess::Instant);
        assert_eq!(guess(&["2024-03-01T10:00:00Z", "2024-03-01 10:00:00+02:00"]), Guess::Zoned);
        assert_eq!(guess(&["2024-02-30"]), Guess::Text);
        assert_eq!(guess(&["1", "a"]), Guess::Text);
        assert_eq!(guess(&["true", "1"]), Guess::Text);
    }

    #[test]
    fn digits_are_not_lost() {
        assert_eq!(guess(&["9223372036854775807"]), Guess::Integer);
        assert_eq!(guess(&["9223372036854775808"]), Guess::Text);
        assert_eq!(guess(&["12 "]), Guess::Text);
        assert_eq!(guess(&["-"]), Guess::Text);
    }
}
