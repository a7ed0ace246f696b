//! Exact decimals: a number or text into digits and a scale.

use arrow_array::ArrayRef;
use arrow_array::types::Decimal128Type;
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

/// The integer `text × 10^scale`, if it is one: a number in plain notation, never rounded.
pub(crate) fn unscaled(text: &str, scale: i8) -> Option<i128> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact_or_refused() {
        assert_eq!(unscaled("-1.50", 1), Some(-15));
        assert_eq!(unscaled("1.55", 1), None);
        assert_eq!(unscaled("7", 3), Some(7000));
        assert_eq!(unscaled("-0.05", 2), Some(-5));
        assert_eq!(unscaled("1e3", 2), None);
    }
}
