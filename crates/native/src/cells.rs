//! Python values into Arrow: one column from a list of ints, strings, datetimes, lists, dicts.
//!
//! A value is judged by itself, never by its Python type alone: `1` fits a Float64 column and an Int8
//! column, `300` does not fit the latter. `bool` is not a number here, and a float is no integer.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, BooleanBuilder, FixedSizeBinaryBuilder, StringBuilder};
use arrow_array::types::{ArrowPrimitiveType, Float16Type, Float32Type, Float64Type};
use arrow_array::types::{Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{
    ArrayRef, FixedSizeListArray, ListArray, PrimitiveArray, StructArray, new_empty_array, new_null_array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer, i256};
use arrow_schema::{DataType, Field, Fields, TimeUnit};
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDate, PyDateAccess, PyDateTime, PyDelta, PyDeltaAccess, PyDict, PyFloat, PyInt,
    PyList, PyString, PyTime, PyTimeAccess, PyTuple, PyTzInfoAccess,
};

use crate::dtype::{name_of, zone_name};
use crate::error::{self, DataError, TypeMismatchError};

type Values<'a, 'py> = &'a [Bound<'py, PyAny>];

/// Where a value stands, for messages.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    pub operation: &'a str,
    pub column: &'a str,
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

fn shown(value: &Bound<'_, PyAny>) -> String {
    const LONGEST: usize = 60;
    let text = value.repr().map(|text| text.to_string()).unwrap_or_else(|_| "a value".into());
    if text.chars().count() <= LONGEST { text } else { text.chars().take(LONGEST).collect::<String>() + "…" }
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

fn not_this() -> PyErr {
    TypeMismatchError::new_err("")
}

const NS: i64 = 1_000_000_000;

fn day(value: &Bound<'_, PyAny>) -> PyResult<i32> {
    if numpy_kind(value) == Some('M') {
        let days: i64 =
            value.call_method1("astype", ("datetime64[D]",))?.call_method1("astype", ("int64",))?.extract()?;
        return i32::try_from(days).map_err(|_| not_this());
    }
    let date = value.cast::<PyDate>().map_err(|_| not_this())?;
    if value.is_instance_of::<PyDateTime>() {
        return Err(not_this());
    }
    Ok(days_from_civil(date.get_year(), u32::from(date.get_month()), u32::from(date.get_day())))
}

/// Days from 1970-01-01 in the proleptic Gregorian calendar.
pub fn days_from_civil(year: i32, month: u32, day: u32) -> i32 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = ((153 * month_from_march + 2) / 5 + day - 1) as i32;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Nanoseconds since midnight.
pub fn time(value: &Bound<'_, PyAny>) -> Option<i64> {
    let time = value.cast::<PyTime>().ok()?;
    let seconds = i64::from(time.get_hour()) * 3600 + i64::from(time.get_minute()) * 60 + i64::from(time.get_second());
    Some(seconds * NS + i64::from(time.get_microsecond()) * 1000)
}

/// Nanoseconds of a timedelta; the inner None says that they leave the range.
pub fn duration(value: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
    if numpy_kind(value) == Some('m') {
        return numpy_nanoseconds(value, "timedelta64[ns]");
    }
    let span = value.cast::<PyDelta>().map_err(|_| not_this())?;
    let seconds = i64::from(span.get_days()) * 86_400 + i64::from(span.get_seconds());
    let nanoseconds = i64::from(span.get_microseconds()) * 1000 + pandas_nanosecond(value);
    Ok(seconds.checked_mul(NS).and_then(|whole| whole.checked_add(nanoseconds)))
}

/// What a pandas scalar holds below the microsecond; its classes are subclasses of Python's own.
fn pandas_nanosecond(value: &Bound<'_, PyAny>) -> i64 {
    if value.is_exact_instance_of::<PyDelta>() || value.is_exact_instance_of::<PyDateTime>() {
        return 0;
    }
    ["nanosecond", "nanoseconds"].iter().find_map(|name| value.getattr(*name).ok()?.extract::<i64>().ok()).unwrap_or(0)
}

fn numpy_nanoseconds(value: &Bound<'_, PyAny>, unit: &str) -> PyResult<Option<i64>> {
    let number: i64 = value.call_method1("astype", (unit,))?.call_method1("astype", ("int64",))?.extract()?;
    Ok((number != i64::MIN).then_some(number))
}

/// Nanoseconds since 1970 UTC, and whether the value knew its zone.
pub fn instant(value: &Bound<'_, PyAny>) -> PyResult<Option<(i64, bool)>> {
    if numpy_kind(value) == Some('M') {
        return Ok(numpy_nanoseconds(value, "datetime64[ns]")?.map(|number| (number, false)));
    }
    let moment = value.cast::<PyDateTime>().map_err(|_| not_this())?;
    let days = days_from_civil(moment.get_year(), u32::from(moment.get_month()), u32::from(moment.get_day()));
    let clock =
        i64::from(moment.get_hour()) * 3600 + i64::from(moment.get_minute()) * 60 + i64::from(moment.get_second());
    let nanoseconds = i64::from(moment.get_microsecond()) * 1000 + pandas_nanosecond(value);
    let offset = match moment.get_tzinfo() {
        Some(_) => {
            let offset = moment.call_method0("utcoffset")?;
            if offset.is_none() { None } else { Some(duration(&offset)?.unwrap_or(0)) }
        }
        None => None,
    };
    let local = (i64::from(days) * 86_400 + clock).checked_mul(NS).and_then(|whole| whole.checked_add(nanoseconds));
    Ok(local.and_then(|local| local.checked_sub(offset.unwrap_or(0))).map(|number| (number, offset.is_some())))
}

fn instants(values: Values<'_, '_>, zone: Option<&str>, wanted: &DataType, place: Place<'_>) -> PyResult<ArrayRef> {
    primitives::<arrow_array::types::TimestampNanosecondType>(values, wanted, |row, value| match instant(value) {
        Ok(Some((number, aware))) if aware == zone.is_some() => Ok(Some(number)),
        Ok(Some((_, true))) => Err(TypeMismatchError::new_err(format!(
            "{}: column {:?} is {} without a zone, but {} in row {row} has one; declare tf.Datetime(\"ns\", \"UTC\")",
            place.operation,
            place.column,
            name_of(wanted),
            shown(value)
        ))),
        Ok(Some((_, false))) => Err(TypeMismatchError::new_err(format!(
            "{}: column {:?} is {}, but {} in row {row} has no zone; give it one, e.g. value.replace(tzinfo=timezone.utc)",
            place.operation,
            place.column,
            name_of(wanted),
            shown(value)
        ))),
        Ok(None) if numpy_is_nat(value) => Ok(None),
        Ok(None) => Err(place.unfit(row, value, wanted, "is outside the years 1677 to 2262 that nanoseconds reach")),
        Err(_) => Err(place.mismatch(row, value, wanted)),
    })
}

fn numpy_is_nat(value: &Bound<'_, PyAny>) -> bool {
    // NaT is the one datetime64 that is not equal to itself.
    numpy_kind(value) == Some('M') && !value.eq(value).unwrap_or(true)
}

fn decimals(
    values: Values<'_, '_>,
    precision: u8,
    scale: i8,
    wanted: &DataType,
    place: Place<'_>,
) -> PyResult<ArrayRef> {
    primitives::<arrow_array::types::Decimal128Type>(values, wanted, |row, value| {
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

fn elements<'py>(
    value: &Bound<'py, PyAny>,
    row: usize,
    wanted: &DataType,
    place: Place<'_>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        return value.try_iter()?.collect();
    }
    if value.hasattr("tolist")? && !value.is_instance_of::<PyString>() {
        let list = value.call_method0("tolist")?;
        if list.is_instance_of::<PyList>() {
            return list.try_iter()?.collect();
        }
    }
    Err(place.mismatch(row, value, wanted))
}

fn lists(values: Values<'_, '_>, item: &Arc<Field>, wanted: &DataType, place: Place<'_>) -> PyResult<ArrayRef> {
    let mut flat = Vec::new();
    let mut lengths = Vec::with_capacity(values.len());
    let mut valid = Vec::with_capacity(values.len());
    for (row, value) in values.iter().enumerate() {
        let cells = if value.is_none() { Vec::new() } else { elements(value, row, wanted, place)? };
        lengths.push(cells.len());
        valid.push(!value.is_none());
        flat.extend(cells);
    }
    let child = build(&flat, item.data_type(), place)?;
    let nulls = valid.contains(&false).then(|| NullBuffer::from(valid));
    let list = ListArray::try_new(item.clone(), OffsetBuffer::from_lengths(lengths), child, nulls);
    Ok(Arc::new(list.map_err(error::arrow)?))
}

fn fixed_lists(
    values: Values<'_, '_>,
    item: &Arc<Field>,
    width: i32,
    wanted: &DataType,
    place: Place<'_>,
) -> PyResult<ArrayRef> {
    let Some(first) = values.first() else { return Ok(new_empty_array(wanted)) };
    let none = first.py().None().into_bound(first.py());
    let mut flat = Vec::new();
    let mut valid = Vec::with_capacity(values.len());
    for (row, value) in values.iter().enumerate() {
        valid.push(!value.is_none());
        let cells = match value.is_none() {
            true => vec![none.clone(); width as usize],
            false => elements(value, row, wanted, place)?,
        };
        if cells.len() != width as usize {
            return Err(place.unfit(row, value, wanted, "has another length"));
        }
        flat.extend(cells);
    }
    let child = build(&flat, item.data_type(), place)?;
    let nulls = valid.contains(&false).then(|| NullBuffer::from(valid));
    let list = FixedSizeListArray::try_new(item.clone(), width, child, nulls);
    Ok(Arc::new(list.map_err(error::arrow)?))
}

fn structs(values: Values<'_, '_>, fields: &Fields, wanted: &DataType, place: Place<'_>) -> PyResult<ArrayRef> {
    let mut valid = Vec::with_capacity(values.len());
    let mut cells: Vec<Vec<Bound<'_, PyAny>>> = vec![Vec::with_capacity(values.len()); fields.len()];
    for (row, value) in values.iter().enumerate() {
        valid.push(!value.is_none());
        let none = value.py().None().into_bound(value.py());
        let dict = if value.is_none() { None } else { Some(value.cast::<PyDict>()) };
        let dict = dict.transpose().map_err(|_| place.mismatch(row, value, wanted))?;
        for (field, column) in fields.iter().zip(&mut cells) {
            let cell = dict.map(|dict| dict.get_item(field.name())).transpose()?.flatten();
            column.push(cell.unwrap_or_else(|| none.clone()));
        }
    }
    let children = fields
        .iter()
        .zip(&cells)
        .map(|(field, column)| build(column, field.data_type(), place))
        .collect::<PyResult<Vec<_>>>()?;
    let nulls = valid.contains(&false).then(|| NullBuffer::from(valid));
    if fields.is_empty() {
        return Ok(Arc::new(StructArray::new_empty_fields(values.len(), nulls)));
    }
    Ok(Arc::new(StructArray::try_new(fields.clone(), children, nulls).map_err(error::arrow)?))
}

/// The kind letter of a NumPy scalar (`i u f b M m`), or None for anything else.
fn numpy_kind(value: &Bound<'_, PyAny>) -> Option<char> {
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

/// The type these values share: ints with floats are Float64, nothing but None is Null.
pub fn infer(values: Values<'_, '_>, place: Place<'_>) -> PyResult<DataType> {
    let mut found = DataType::Null;
    for (row, value) in values.iter().enumerate() {
        if value.is_none() {
            continue;
        }
        let kind = type_of(value, row, place)?;
        if kind == found {
            continue;
        }
        found = joined(&found, &kind).ok_or_else(|| {
            TypeMismatchError::new_err(format!(
                "{}: column {:?} mixes {} and {} (row {row}); give a schema, or make them one type",
                place.operation,
                place.column,
                name_of(&found),
                name_of(&kind)
            ))
        })?;
    }
    Ok(found)
}

fn joined(left: &DataType, right: &DataType) -> Option<DataType> {
    use DataType::{Decimal128, Float64, Int64, List, Null, Struct, UInt64};
    match (left, right) {
        (a, b) if a == b => Some(a.clone()),
        (Null, other) | (other, Null) => Some(other.clone()),
        (Int64 | UInt64, Float64) | (Float64, Int64 | UInt64) => Some(Float64),
        (Int64, UInt64) | (UInt64, Int64) => Some(UInt64),
        (Decimal128(_, a), Decimal128(_, b)) => Some(Decimal128(38, *a.max(b))),
        (Decimal128(p, s), Int64) | (Int64, Decimal128(p, s)) => Some(Decimal128(*p, *s)),
        (List(a), List(b)) => {
            let item = joined(a.data_type(), b.data_type())?;
            Some(List(Arc::new(Field::new_list_field(item, true))))
        }
        (Struct(a), Struct(b)) => joined_fields(a, b).map(Struct),
        _ => None,
    }
}

fn joined_fields(left: &Fields, right: &Fields) -> Option<Fields> {
    let mut fields: Vec<Field> = Vec::new();
    for field in left.iter().chain(right.iter()) {
        match fields.iter_mut().find(|known| known.name() == field.name()) {
            Some(known) => {
                let kind = joined(known.data_type(), field.data_type())?;
                known.set_data_type(kind);
            }
            None => fields.push(field.as_ref().clone()),
        }
    }
    Some(Fields::from(fields))
}

fn type_of(value: &Bound<'_, PyAny>, row: usize, place: Place<'_>) -> PyResult<DataType> {
    if value.is_instance_of::<PyBool>() {
        return Ok(DataType::Boolean);
    }
    if value.is_instance_of::<PyInt>() {
        return match value.extract::<i64>() {
            Ok(_) => Ok(DataType::Int64),
            Err(_) if value.extract::<u64>().is_ok() => Ok(DataType::UInt64),
            Err(_) => Err(place.unfit(row, value, &DataType::Int64, "is out of its range")),
        };
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(DataType::Float64);
    }
    if value.is_instance_of::<PyString>() {
        return Ok(DataType::Utf8);
    }
    if let Ok(moment) = value.cast::<PyDateTime>() {
        let zone = moment.get_tzinfo().map(|zone| zone_name(&zone)).transpose()?;
        return Ok(DataType::Timestamp(TimeUnit::Nanosecond, zone.map(Into::into)));
    }
    if value.is_instance_of::<PyDate>() {
        return Ok(DataType::Date32);
    }
    if value.is_instance_of::<PyTime>() {
        return Ok(DataType::Time64(TimeUnit::Nanosecond));
    }
    if value.is_instance_of::<PyDelta>() {
        return Ok(DataType::Duration(TimeUnit::Nanosecond));
    }
    if bytes_of(value).is_some() {
        return Ok(DataType::Binary);
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let inner: Vec<_> = value.try_iter()?.collect::<PyResult<_>>()?;
        return Ok(DataType::List(Arc::new(Field::new_list_field(infer(&inner, place)?, true))));
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        let mut fields = Vec::with_capacity(dict.len());
        for (name, cell) in dict.iter() {
            fields.push(Field::new(name.extract::<String>()?, infer(&[cell], place)?, true));
        }
        return Ok(DataType::Struct(fields.into()));
    }
    if value.hasattr("as_tuple")? {
        let exponent = value.call_method0("as_tuple")?.getattr("exponent")?.extract::<i32>();
        let scale =
            exponent.map_err(|_| place.unfit(row, value, &DataType::Decimal128(38, 9), "is no finite number"))?;
        return Ok(DataType::Decimal128(38, i8::try_from((-scale).clamp(0, 38)).unwrap_or(38)));
    }
    match numpy_kind(value) {
        Some('b') => Ok(DataType::Boolean),
        Some('i' | 'u') => Ok(DataType::Int64),
        Some('f') => Ok(DataType::Float64),
        Some('M') => Ok(DataType::Timestamp(TimeUnit::Nanosecond, None)),
        Some('m') => Ok(DataType::Duration(TimeUnit::Nanosecond)),
        _ => Err(TypeMismatchError::new_err(format!(
            "{}: column {:?} holds {} in row {row}, which is no column value; use int, float, str, bool, bytes, \
             datetime, date, time, timedelta, Decimal, list, dict or None",
            place.operation,
            place.column,
            shown(value)
        ))),
    }
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
    fn days_count_from_1970() {
        assert_eq!(days_from_civil(1970, 1, 1), 0);
        assert_eq!(days_from_civil(1969, 12, 31), -1);
        assert_eq!(days_from_civil(2000, 2, 29), 11016);
        assert_eq!(days_from_civil(1677, 9, 21), -106_752);
        assert_eq!(days_from_civil(1, 1, 1), -719_162);
    }

    #[test]
    fn decimals_are_exact_or_refused() {
        assert_eq!(unscaled("-1.50", 1), Some(-15));
        assert_eq!(unscaled("1.55", 1), None);
        assert_eq!(unscaled("7", 3), Some(7000));
        assert_eq!(decimal_text(i256::from_i128(-5), 2), "-0.05");
        assert_eq!(decimal_text(i256::from_i128(1234), 2), "12.34");
    }
}
