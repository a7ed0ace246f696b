//! Python values into Arrow: one column from a list of ints, strings, datetimes, lists, dicts.
//!
//! A value is judged by itself, never by its Python type alone: `1` fits a Float64 column and an Int8
//! column, `300` does not fit the latter. `bool` is not a number here, and a float is no integer.

mod decimals;
mod infer;
mod nested;
mod times;

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, BooleanBuilder, FixedSizeBinaryBuilder, StringBuilder};
use arrow_array::types::{ArrowPrimitiveType, Float16Type, Float32Type, Float64Type};
use arrow_array::types::{Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{ArrayRef, PrimitiveArray, new_null_array};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, TimeUnit};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyDate, PyDateTime, PyDelta, PyFloat, PyInt, PyIterator, PyString};

use crate::dtype::name_of;
use crate::error::{self, DataError, ResourceError, TypeMismatchError};
use decimals::decimals;
pub(crate) use decimals::unscaled;
use nested::{fixed_lists, lists, structs};
use times::{day, instants};

pub use infer::infer;
pub use times::{days, duration, instant, time};

type Values<'a, 'py> = &'a [Bound<'py, PyAny>];

/// The values of anything that holds them in an order; an endless one is ended by Ctrl-C, or where memory ends.
pub fn collected<'py>(operation: &str, values: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    const BETWEEN_LOOKS: usize = 1 << 16;
    // What Python holds of a value that nobody held before, beside its place here.
    const OBJECT: u64 = 48;
    let made = if values.is_instance_of::<PyIterator>() { OBJECT } else { 0 };
    let place = size_of::<Bound<'_, PyAny>>() as u64;
    let mut found = Vec::new();
    for value in values.try_iter()? {
        if found.len() % BETWEEN_LOOKS == BETWEEN_LOOKS - 1 {
            values.py().check_signals()?;
            limits::ask_rows(found.len() as u64, made + place).map_err(|why| {
                let end = if made > 0 { " so far, and no end" } else { "" };
                ResourceError::new_err(format!("{operation}: {} values{end}: {why}", found.len()))
            })?;
        }
        found.push(value?);
    }
    Ok(some(found))
}

/// Replaces the missing values of pandas (`NaT`, `NA`) by None; all other values stay. Does nothing unless pandas is
/// loaded.
pub fn some<'py>(mut values: Vec<Bound<'py, PyAny>>) -> Vec<Bound<'py, PyAny>> {
    let Some(py) = values.first().map(Bound::py) else { return values };
    let loaded = || py.import("sys")?.getattr("modules")?.get_item("pandas");
    let Ok(pandas) = loaded() else { return values };
    let (Ok(nat), Ok(na)) = (pandas.getattr("NaT"), pandas.getattr("NA")) else { return values };
    for value in values.iter_mut().filter(|value| value.is(&nat) || value.is(&na)) {
        *value = py.None().into_bound(py);
    }
    values
}

/// Where a value stands, for messages.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    pub operation: &'a str,
    pub column: &'a str,
}

impl std::fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: column {:?}", self.operation, ::column::sound::shortened(self.column))
    }
}

impl Place<'_> {
    fn mismatch(&self, row: usize, value: &Bound<'_, PyAny>, wanted: &DataType) -> PyErr {
        let kind = value.get_type().name().map(|name| name.to_string()).unwrap_or_else(|_| "object".into());
        TypeMismatchError::new_err(format!(
            "{}: column {:?} is {}, but row {row} holds {} ({kind}); convert it first",
            self.operation,
            self.column,
            name_of(wanted),
            shown(value),
        ))
    }

    fn unfit(&self, row: usize, value: &Bound<'_, PyAny>, wanted: &DataType, why: &str) -> PyErr {
        DataError::new_err(format!(
            "{}: column {:?} is {}, and {} in row {row} {why}",
            self.operation,
            self.column,
            name_of(wanted),
            shown(value),
        ))
    }
}

/// A value as a message shows it: its `repr`, cut, or what it is where that says nothing.
pub fn shown(value: &Bound<'_, PyAny>) -> String {
    in_words(value, "short")
}

/// What an object is, in words: `a pandas Series`, `a function`, `a list`.
pub fn named(value: &Bound<'_, PyAny>) -> String {
    in_words(value, "named")
}

fn in_words(value: &Bound<'_, PyAny>, how: &str) -> String {
    let told = value.py().import("tickframe.describe").and_then(|words| words.call_method1(how, (value,))?.extract());
    told.unwrap_or_else(|_| "a value".into())
}

/// The column of `data_type` that these values are, or which of them is none.
pub fn build(values: Values<'_, '_>, data_type: &DataType, place: Place<'_>) -> PyResult<ArrayRef> {
    match data_type {
        DataType::Null => build_null(values, place),
        DataType::Boolean => build_bool(values, place),
        DataType::Int8 => integers::<Int8Type>(values, data_type, place),
        DataType::Int16 => integers::<Int16Type>(values, data_type, place),
        DataType::Int32 => integers::<Int32Type>(values, data_type, place),
        DataType::Int64 => integers::<Int64Type>(values, data_type, place),
        DataType::UInt8 => integers::<UInt8Type>(values, data_type, place),
        DataType::UInt16 => integers::<UInt16Type>(values, data_type, place),
        DataType::UInt32 => integers::<UInt32Type>(values, data_type, place),
        DataType::UInt64 => integers::<UInt64Type>(values, data_type, place),
        DataType::Float16 => {
            floats::<Float16Type>(values, data_type, place, <Float16Type as ArrowPrimitiveType>::Native::from_f64)
        }
        DataType::Float32 => floats::<Float32Type>(values, data_type, place, |value| value as f32),
        DataType::Float64 => floats::<Float64Type>(values, data_type, place, |value| value),
        DataType::Utf8 => strings(values, place),
        DataType::Binary => binaries(values, place),
        DataType::FixedSizeBinary(width) => fixed_binaries(values, *width, place),
        DataType::Date32 => {
            through_int::<arrow_array::types::Date32Type>(values, data_type, place, |value| day(value).map(Some))
        }
        DataType::Time64(TimeUnit::Nanosecond) => {
            through_int::<arrow_array::types::Time64NanosecondType>(values, data_type, place, |value| Ok(time(value)))
        }
        DataType::Timestamp(TimeUnit::Nanosecond, zone) => instants(values, zone.as_deref(), data_type, place),
        DataType::Duration(TimeUnit::Nanosecond) => {
            through_int::<arrow_array::types::DurationNanosecondType>(values, data_type, place, duration)
        }
        DataType::Decimal128(precision, scale) => decimals(values, *precision, *scale, data_type, place),
        DataType::List(item) => lists(values, item, data_type, place),
        DataType::FixedSizeList(item, width) => fixed_lists(values, item, *width, data_type, place),
        DataType::Struct(fields) => structs(values, fields, data_type, place),
        other => through_neighbour(values, other, place),
    }
}

/// Types that hold what another holds: built as that one, then cast.
fn through_neighbour(values: Values<'_, '_>, data_type: &DataType, place: Place<'_>) -> PyResult<ArrayRef> {
    let neighbour = match data_type {
        DataType::LargeUtf8 | DataType::Utf8View => DataType::Utf8,
        DataType::LargeBinary | DataType::BinaryView => DataType::Binary,
        DataType::Timestamp(_, zone) => DataType::Timestamp(TimeUnit::Nanosecond, zone.clone()),
        DataType::Duration(_) => DataType::Duration(TimeUnit::Nanosecond),
        DataType::Time32(_) | DataType::Time64(_) => DataType::Time64(TimeUnit::Nanosecond),
        DataType::Date64 => DataType::Date32,
        DataType::Decimal256(_, scale) => DataType::Decimal128(38, *scale),
        DataType::LargeList(item) => DataType::List(item.clone()),
        DataType::Dictionary(_, value) => value.as_ref().clone(),
        other => {
            let message = format!(
                "{}: column {:?} is {}, which cannot be made of Python values; give it as Arrow data",
                place.operation,
                place.column,
                name_of(other)
            );
            return Err(TypeMismatchError::new_err(message));
        }
    };
    let built = build(values, &neighbour, place)?;
    arrow_cast::cast(&built, data_type).map_err(error::arrow)
}

fn build_null(values: Values<'_, '_>, place: Place<'_>) -> PyResult<ArrayRef> {
    match values.iter().enumerate().find(|(_, value)| !value.is_none()) {
        Some((row, value)) => Err(place.mismatch(row, value, &DataType::Null)),
        None => Ok(new_null_array(&DataType::Null, values.len())),
    }
}

fn build_bool(values: Values<'_, '_>, place: Place<'_>) -> PyResult<ArrayRef> {
    let mut builder = BooleanBuilder::with_capacity(values.len());
    for (row, value) in values.iter().enumerate() {
        if value.is_none() {
            builder.append_null();
        } else if let Ok(flag) = value.cast::<PyBool>() {
            builder.append_value(flag.is_true());
        } else if numpy_kind(value) == Some('b') {
            builder.append_value(value.is_truthy()?);
        } else {
            return Err(place.mismatch(row, value, &DataType::Boolean));
        }
    }
    Ok(Arc::new(builder.finish()))
}

fn integers<T>(values: Values<'_, '_>, wanted: &DataType, place: Place<'_>) -> PyResult<ArrayRef>
where
    T: ArrowPrimitiveType,
    T::Native: for<'a, 'py> FromPyObject<'a, 'py>,
{
    primitives::<T>(values, wanted, |row, value| {
        let number = value.is_instance_of::<PyInt>() || matches!(numpy_kind(value), Some('i' | 'u'));
        if !number || value.is_instance_of::<PyBool>() {
            return Err(place.mismatch(row, value, wanted));
        }
        match value.extract::<T::Native>() {
            Ok(native) => Ok(Some(native)),
            Err(_) => Err(place.unfit(row, value, wanted, "is out of its range")),
        }
    })
}

fn floats<T: ArrowPrimitiveType>(
    values: Values<'_, '_>,
    wanted: &DataType,
    place: Place<'_>,
    narrow: impl Fn(f64) -> T::Native,
) -> PyResult<ArrayRef> {
    primitives::<T>(values, wanted, |row, value| {
        let number = value.is_instance_of::<PyFloat>()
            || (value.is_instance_of::<PyInt>() && !value.is_instance_of::<PyBool>())
            || matches!(numpy_kind(value), Some('i' | 'u' | 'f'));
        if !number {
            return Err(place.mismatch(row, value, wanted));
        }
        match value.extract::<f64>() {
            Ok(native) => Ok(Some(narrow(native))),
            Err(_) => Err(place.unfit(row, value, wanted, "is out of its range")),
        }
    })
}

fn primitives<T: ArrowPrimitiveType>(
    values: Values<'_, '_>,
    wanted: &DataType,
    convert: impl Fn(usize, &Bound<'_, PyAny>) -> PyResult<Option<T::Native>>,
) -> PyResult<ArrayRef> {
    let mut cells = Vec::with_capacity(values.len());
    let mut nulls: Option<Vec<bool>> = None;
    for (row, value) in values.iter().enumerate() {
        let cell = if value.is_none() { None } else { convert(row, value)? };
        if cell.is_none() && nulls.is_none() {
            nulls = Some(vec![true; row]);
        }
        if let Some(nulls) = nulls.as_mut() {
            nulls.push(cell.is_some());
        }
        cells.push(cell.unwrap_or_default());
    }
    let cells = PrimitiveArray::<T>::new(ScalarBuffer::from(cells), nulls.map(NullBuffer::from));
    Ok(Arc::new(cells.with_data_type(wanted.clone())))
}

fn through_int<T: ArrowPrimitiveType>(
    values: Values<'_, '_>,
    wanted: &DataType,
    place: Place<'_>,
    convert: impl Fn(&Bound<'_, PyAny>) -> PyResult<Option<T::Native>>,
) -> PyResult<ArrayRef> {
    primitives::<T>(values, wanted, |row, value| match convert(value) {
        Ok(Some(native)) => Ok(Some(native)),
        _ if times::is_nat(value) => Ok(None),
        Ok(None) => Err(place.unfit(row, value, wanted, "is out of its range")),
        Err(_) => Err(place.mismatch(row, value, wanted)),
    })
}

fn strings(values: Values<'_, '_>, place: Place<'_>) -> PyResult<ArrayRef> {
    let mut builder = StringBuilder::with_capacity(values.len(), values.len() * 8);
    for (row, value) in values.iter().enumerate() {
        if value.is_none() {
            builder.append_null();
        } else if let Ok(text) = value.cast::<PyString>() {
            builder.append_value(text.to_cow().map_err(|_| {
                place.unfit(row, value, &DataType::Utf8, "holds lone surrogates, which no UTF-8 text may")
            })?);
        } else {
            return Err(place.mismatch(row, value, &DataType::Utf8));
        }
    }
    Ok(Arc::new(builder.finish()))
}

fn bytes_of(value: &Bound<'_, PyAny>) -> Option<Vec<u8>> {
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Some(bytes.as_bytes().to_vec());
    }
    if let Ok(bytes) = value.cast::<PyByteArray>() {
        return Some(bytes.to_vec());
    }
    if value.is_instance_of::<pyo3::types::PyMemoryView>() {
        return value.call_method0("tobytes").ok()?.extract().ok();
    }
    None
}

fn binaries(values: Values<'_, '_>, place: Place<'_>) -> PyResult<ArrayRef> {
    let mut builder = BinaryBuilder::new();
    for (row, value) in values.iter().enumerate() {
        if value.is_none() {
            builder.append_null();
            continue;
        }
        builder.append_value(bytes_of(value).ok_or_else(|| place.mismatch(row, value, &DataType::Binary))?);
    }
    Ok(Arc::new(builder.finish()))
}

fn fixed_binaries(values: Values<'_, '_>, width: i32, place: Place<'_>) -> PyResult<ArrayRef> {
    let wanted = DataType::FixedSizeBinary(width);
    let mut builder = FixedSizeBinaryBuilder::with_capacity(values.len(), width);
    for (row, value) in values.iter().enumerate() {
        if value.is_none() {
            builder.append_null();
            continue;
        }
        let bytes = bytes_of(value).ok_or_else(|| place.mismatch(row, value, &wanted))?;
        builder.append_value(bytes).map_err(|_| place.unfit(row, value, &wanted, "has another width"))?;
    }
    Ok(Arc::new(builder.finish()))
}

/// The kind letter of a NumPy scalar (`i u f b M m`), or None for anything else.
pub fn numpy_kind(value: &Bound<'_, PyAny>) -> Option<char> {
    // Python's own scalars are the common case and must not pay for a failing attribute look-up.
    if value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyFloat>()
        || value.is_exact_instance_of::<PyString>()
        || value.is_exact_instance_of::<PyDateTime>()
        || value.is_exact_instance_of::<PyDelta>()
        || value.is_exact_instance_of::<PyDate>()
    {
        return None;
    }
    value.getattr("dtype").ok()?.getattr("kind").ok()?.extract::<char>().ok()
}
