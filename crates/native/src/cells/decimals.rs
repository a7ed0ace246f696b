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
        match column::unscaled(&text, scale) {
            Some(number) if number.unsigned_abs() < 10u128.pow(u32::from(precision)) => Ok(Some(number)),
            Some(_) => Err(place.unfit(row, value, wanted, "has more digits than its precision")),
            None => Err(place.unfit(row, value, wanted, "does not fit its scale without rounding")),
        }
    })
}
