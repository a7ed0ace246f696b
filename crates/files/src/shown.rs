//! Cells as texts: numbers, times and words by their own writers, all others by that of Arrow. Both write the same.

use std::fmt::Write as _;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, BooleanArray, StringViewArray};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{ArrowError, DataType, TimeUnit};

/// The cells of one column, of which texts are made.
pub(crate) enum Shown<'a> {
    I8(&'a [i8]),
    I16(&'a [i16]),
    I32(&'a [i32]),
    I64(&'a [i64]),
    U8(&'a [u8]),
    U16(&'a [u16]),
    U32(&'a [u32]),
    U64(&'a [u64]),
    F32(&'a [f32]),
    F64(&'a [f64]),
    Boolean(&'a BooleanArray),
    Text(&'a StringViewArray),
    Date(&'a [i32], ArrayFormatter<'a>),
    /// Nanoseconds, and whether they are of UTC.
    Instant(&'a [i64], bool, ArrayFormatter<'a>),
    Other(ArrayFormatter<'a>),
}

const OPTIONS: FormatOptions<'static> = FormatOptions::new();
const DAY: i64 = 86_400_000_000_000;

impl<'a> Shown<'a> {
    pub(crate) fn new(cells: &'a ArrayRef) -> Result<Shown<'a>, ArrowError> {
        let by_arrow = || ArrayFormatter::try_new(cells.as_ref(), &OPTIONS);
        Ok(match cells.data_type() {
            DataType::Int8 => Shown::I8(cells.as_primitive::<Int8Type>().values()),
            DataType::Int16 => Shown::I16(cells.as_primitive::<Int16Type>().values()),
            DataType::Int32 => Shown::I32(cells.as_primitive::<Int32Type>().values()),
            DataType::Int64 => Shown::I64(cells.as_primitive::<Int64Type>().values()),
            DataType::UInt8 => Shown::U8(cells.as_primitive::<UInt8Type>().values()),
            DataType::UInt16 => Shown::U16(cells.as_primitive::<UInt16Type>().values()),
            DataType::UInt32 => Shown::U32(cells.as_primitive::<UInt32Type>().values()),
            DataType::UInt64 => Shown::U64(cells.as_primitive::<UInt64Type>().values()),
            DataType::Float32 => Shown::F32(cells.as_primitive::<Float32Type>().values()),
            DataType::Float64 => Shown::F64(cells.as_primitive::<Float64Type>().values()),
            DataType::Boolean => Shown::Boolean(cells.as_boolean()),
            DataType::Utf8View => Shown::Text(cells.as_string_view()),
            DataType::Date32 => Shown::Date(cells.as_primitive::<Date32Type>().values(), by_arrow()?),
            DataType::Timestamp(TimeUnit::Nanosecond, zone) if zone.as_deref().is_none_or(|zone| zone == "UTC") => {
                let values = cells.as_primitive::<TimestampNanosecondType>().values();
                Shown::Instant(values, zone.is_some(), by_arrow()?)
            }
            _ => Shown::Other(by_arrow()?),
        })
    }

    /// Appends the text of a cell that is not null.
    #[inline]
    pub(crate) fn write(&self, row: usize, out: &mut String) -> Result<(), std::fmt::Error> {
        macro_rules! whole {
            ($values:ident) => {
                out.push_str(itoa::Buffer::new().format($values[row]))
            };
        }
        match self {
            Shown::I8(values) => whole!(values),
            Shown::I16(values) => whole!(values),
            Shown::I32(values) => whole!(values),
            Shown::I64(values) => whole!(values),
            Shown::U8(values) => whole!(values),
            Shown::U16(values) => whole!(values),
            Shown::U32(values) => whole!(values),
            Shown::U64(values) => whole!(values),
            Shown::F32(values) => out.push_str(ryu::Buffer::new().format(values[row])),
            Shown::F64(values) => out.push_str(ryu::Buffer::new().format(values[row])),
            Shown::Boolean(values) => out.push_str(if values.value(row) { "true" } else { "false" }),
            Shown::Text(values) => out.push_str(values.value(row)),
            Shown::Date(values, by_arrow) => match day(i64::from(values[row])) {
                Some(day) => out.push_str(as_text(&day)),
                None => write!(out, "{}", by_arrow.value(row))?,
            },
            Shown::Instant(values, zoned, by_arrow) => match day(values[row].div_euclid(DAY)) {
                Some(day) => {
                    out.push_str(as_text(&day));
                    instant(values[row].rem_euclid(DAY) as u64, out);
                    if *zoned {
                        out.push('Z');
                    }
                }
                None => write!(out, "{}", by_arrow.value(row))?,
            },
            Shown::Other(by_arrow) => write!(out, "{}", by_arrow.value(row))?,
        }
        Ok(())
    }

    /// The text itself, of a column of texts.
    #[inline]
    pub(crate) fn text(&self, row: usize) -> Option<&'a str> {
        match self {
            Shown::Text(values) => Some(values.value(row)),
            _ => None,
        }
    }
}

/// Digits are ASCII.
fn as_text(digits: &[u8]) -> &str {
    std::str::from_utf8(digits).unwrap_or_default()
}

#[inline]
fn digits(into: &mut [u8], mut value: u64) {
    for digit in into.iter_mut().rev() {
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
    }
}

/// `2024-05-01` of a count of days since 1970, of years of four digits.
#[inline]
fn day(days: i64) -> Option<[u8; 10]> {
    // Years begin in March, so that the leap day is the last of one; eras have 400 years.
    if !(-719_162..=2_932_896).contains(&days) {
        return None;
    }
    let since = (days + 719_468) as u64;
    let (era, of_era) = (since / 146_097, since % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    let mut text = *b"0000-00-00";
    digits(&mut text[..4], year);
    digits(&mut text[5..7], month);
    digits(&mut text[8..], day);
    Some(text)
}

/// `T10:20:30.123`: fractions have none, three, six or nine digits.
#[inline]
fn instant(nanos: u64, out: &mut String) {
    let (seconds, fraction) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    let mut text = *b"T00:00:00.000000000";
    digits(&mut text[1..3], seconds / 3600);
    digits(&mut text[4..6], seconds / 60 % 60);
    digits(&mut text[7..9], seconds % 60);
    let end = match fraction {
        0 => 9,
        _ if fraction % 1_000_000 == 0 => {
            digits(&mut text[10..13], fraction / 1_000_000);
            13
        }
        _ if fraction % 1_000 == 0 => {
            digits(&mut text[10..16], fraction / 1_000);
            16
        }
        _ => {
            digits(&mut text[10..], fraction);
            19
        }
    };
    out.push_str(as_text(&text[..end]));
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Date32Array, Float64Array, Int64Array, TimestampNanosecondArray};
    use proptest::prelude::*;

    use super::*;

    fn same(cells: ArrayRef) -> Result<(), TestCaseError> {
        let by_arrow = ArrayFormatter::try_new(cells.as_ref(), &OPTIONS).expect("it can be shown");
        let shown = Shown::new(&cells).expect("it can be shown");
        for row in 0..cells.len() {
            let mut text = String::new();
            shown.write(row, &mut text).expect("it can be shown");
            prop_assert_eq!(text, by_arrow.value(row).to_string());
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 4 } else { 2000 }, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_written_is_what_arrow_writes(
            nanos in prop_oneof![any::<i64>(), (any::<i32>(), prop::sample::select(vec![1_i64, 1_000, 1_000_000, 1_000_000_000, DAY])).prop_map(|(many, unit)| i64::from(many).saturating_mul(unit))],
            days in prop_oneof![any::<i32>(), -800_000..3_000_000_i32],
            whole in any::<i64>(),
            float in any::<f64>(),
        ) {
            same(Arc::new(TimestampNanosecondArray::from(vec![nanos])))?;
            same(Arc::new(TimestampNanosecondArray::from(vec![nanos]).with_timezone("UTC")))?;
            same(Arc::new(Date32Array::from(vec![days])))?;
            same(Arc::new(Int64Array::from(vec![whole])))?;
            same(Arc::new(Float64Array::from(vec![float, whole as f64, whole as f64 / 100.0])))?;
        }
    }

    #[test]
    fn days_at_the_ends_of_what_is_written_here() {
        same(Arc::new(Date32Array::from(vec![-719_163, -719_162, -1, 0, 11_016, 11_017, 2_932_896, 2_932_897])))
            .expect("the same");
    }
}
