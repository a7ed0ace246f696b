//! Cells as they are shown: lengths of time, and whatever Python has no value for, as text.

use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::error;
use crate::values::{self, Finer};

/// Appends the cells of a column as they are shown.
pub fn append(list: &Bound<'_, PyList>, array: &ArrayRef, column: &str) -> PyResult<()> {
    match array.data_type() {
        DataType::Duration(unit) => duration_cells(list, array, *unit),
        DataType::Timestamp(_, _) | DataType::Time64(_) => text_cells(list, array),
        _ => values::append(list, array, column, Finer::Truncate).or_else(|_| text_cells(list, array)),
    }
}

/// Lengths of time as they are read aloud: `3d 2h`, `1.5s`.
fn duration_cells(list: &Bound<'_, PyList>, array: &ArrayRef, unit: arrow_schema::TimeUnit) -> PyResult<()> {
    use arrow_schema::TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    let factor: i128 = match unit {
        Second => 1_000_000_000,
        Millisecond => 1_000_000,
        Microsecond => 1_000,
        Nanosecond => 1,
    };
    let counts = arrow_cast::cast(array, &DataType::Int64).map_err(|why| error::DataError::new_err(why.to_string()))?;
    let counts = arrow_array::cast::AsArray::as_primitive::<arrow_array::types::Int64Type>(&counts);
    counts.iter().try_for_each(|count| list.append(count.map(|count| duration_text(i128::from(count) * factor))))
}

fn duration_text(ns: i128) -> String {
    let (sign, ns) = if ns < 0 { ("-", -ns) } else { ("", ns) };
    let (seconds, fraction) = (ns / 1_000_000_000, ns % 1_000_000_000);
    let (days, hours, minutes, seconds) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    let mut parts: Vec<String> = [(days, "d"), (hours, "h"), (minutes, "m")]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, unit)| format!("{count}{unit}"))
        .collect();
    if fraction > 0 {
        parts.push(format!("{}s", format!("{seconds}.{fraction:09}").trim_end_matches('0')));
    } else if seconds > 0 || parts.is_empty() {
        parts.push(format!("{seconds}s"));
    }
    format!("{sign}{}", parts.join(" "))
}

/// Cells as Arrow prints them: nothing is cut.
pub fn text_cells(list: &Bound<'_, PyList>, array: &ArrayRef) -> PyResult<()> {
    let options = arrow_cast::display::FormatOptions::default();
    let shown = arrow_cast::display::ArrayFormatter::try_new(array.as_ref(), &options).map_err(error::arrow)?;
    for row in 0..array.len() {
        match array.is_null(row) {
            true => list.append(list.py().None())?,
            false => list.append(PlainText(shown.value(row).to_string()))?,
        }
    }
    Ok(())
}

/// A cell that is text already, so that it is not put in quotes.
#[pyclass(frozen, module = "tickframe._native")]
pub struct PlainText(String);

#[pymethods]
impl PlainText {
    fn __str__(&self) -> &str {
        &self.0
    }
}
