//! Exact decimals: a number or text into digits and a scale, and back.

use arrow_array::ArrayRef;
use arrow_array::types::Decimal128Type;
use arrow_buffer::i256;
use arrow_schema::DataType;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt};

use super::{Place, Values, primitives};

pub(super) fn decimals(
    values: Values<'_, '_>,
    precision: u8,
    scale: i8,
    wanted: &DataType,
    place: Place<'_>,
) -> PyResult<ArrayRef> {
    primitives::<Decimal128Type>(values, wanted, |row, value| {
        if value.is_instance_of::<PyBool>() || value.is_instance_of::<PyFloat>() {
            return Err(place.mismatch(row, value, wanted));
        }
        let text = match value.is_instance_of::<PyInt>() {
            true => value.str()?.to_string(),
            false if value.hasattr("as_tuple")? => value.call_method1("__format__", ("f",))?.extract()?,
            false => return Err(place.mismatch(row, value, wanted)),
        };
        match unscaled(&text, scale) {
            Some(number) if number.unsigned_abs() < 10u128.pow(u32::from(precision)) => Ok(Some(number)),
            Some(_) => Err(place.unfit(row, value, wanted, "has more digits than its precision")),
            None => Err(place.unfit(row, value, wanted, "does not fit its scale without rounding")),
        }
    })
}

/// The integer `text × 10^scale`, if it is one.
pub fn unscaled(text: &str, scale: i8) -> Option<i128> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let fraction = fraction.trim_end_matches('0');
    let wanted = usize::try_from(scale).ok()?;
    if fraction.len() > wanted {
        return None;
    }
    let padded = format!("{whole}{fraction:0<wanted$}");
    padded.parse::<i128>().ok().map(|number| sign * number)
}

/// A wide decimal as text, with its point.
pub fn decimal_text(unscaled: i256, scale: i8) -> String {
    let digits = unscaled.to_string();
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits.as_str()), |rest| ("-", rest));
    match usize::try_from(scale) {
        Ok(0) => format!("{sign}{digits}"),
        Ok(scale) => {
            let padded = format!("{digits:0>width$}", width = scale + 1);
            let (whole, fraction) = padded.split_at(padded.len() - scale);
            format!("{sign}{whole}.{fraction}")
        }
        Err(_) => format!("{sign}{digits}{}", "0".repeat(usize::from(scale.unsigned_abs()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact_or_refused() {
        assert_eq!(unscaled("-1.50", 1), Some(-15));
        assert_eq!(unscaled("1.55", 1), None);
        assert_eq!(unscaled("7", 3), Some(7000));
        assert_eq!(decimal_text(i256::from_i128(-5), 2), "-0.05");
        assert_eq!(decimal_text(i256::from_i128(1234), 2), "12.34");
    }
}
