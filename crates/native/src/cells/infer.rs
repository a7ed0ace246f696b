//! The type that Python values share, where no schema says it.

use std::collections::HashMap;
use std::sync::Arc;

use ::column::sound::{self, Tally, Unsound};
use arrow_schema::{DataType, Field, Fields, TimeUnit};
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyDate, PyDateTime, PyDelta, PyDict, PyFloat, PyInt, PyList, PyString, PyTime, PyTuple, PyTzInfoAccess,
};

use super::{Place, Values, bytes_of, numpy_kind, shown};
use crate::dtype::{name_of, zone_name};
use crate::error::{DataError, TypeMismatchError};

/// The type these values share: ints with floats are Float64, nothing but None is Null.
pub fn infer(values: Values<'_, '_>, place: Place<'_>) -> PyResult<DataType> {
    let found = at_depth(values, place, 0, &mut Known::new())?;
    match sound::one_type(&found) {
        Ok(()) => Ok(found),
        Err(unsound) => Err(refused(place, &unsound)),
    }
}

/// Types of lists and dicts that were met far down, by their place, which each is held to keep: one list may stand in
/// a value without end.
type Known<'py> = HashMap<usize, (Bound<'py, PyAny>, DataType)>;

/// Where lists begin to be known.
const FAR_DOWN: usize = 4;

fn refused(place: Place<'_>, unsound: &Unsound) -> PyErr {
    DataError::new_err(format!("{}: column {:?}: {}", place.operation, sound::shortened(place.column), unsound.why))
}

fn at_depth<'py>(
    values: Values<'_, 'py>,
    place: Place<'_>,
    depth: usize,
    known: &mut Known<'py>,
) -> PyResult<DataType> {
    Tally::nested(depth).map_err(|unsound| refused(place, &unsound))?;
    let mut found = DataType::Null;
    let mut last: Option<&Bound<'_, PyAny>> = None;
    for (row, value) in values.iter().enumerate() {
        // One value again and again is looked at once.
        if value.is_none() || last.replace(value).is_some_and(|last| last.is(value)) {
            continue;
        }
        let kind = nested(value, row, place, depth, known)?;
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

fn nested<'py>(
    value: &Bound<'py, PyAny>,
    row: usize,
    place: Place<'_>,
    depth: usize,
    known: &mut Known<'py>,
) -> PyResult<DataType> {
    let listed = value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>();
    if !listed && !value.is_instance_of::<PyDict>() {
        return type_of(value, row, place);
    }
    let seat = value.as_ptr() as usize;
    if let Some((_, data_type)) = known.get(&seat) {
        return Ok(data_type.clone());
    }
    let data_type = if listed {
        let inner = at_depth(&super::collected(place.operation, value)?, place, depth + 1, known)?;
        DataType::List(Arc::new(Field::new_list_field(inner, true)))
    } else {
        let dict = value.cast::<PyDict>()?;
        let mut fields = Vec::with_capacity(dict.len());
        for (name, cell) in dict.iter() {
            let kind = at_depth(&super::some(vec![cell]), place, depth + 1, known)?;
            fields.push(Field::new(name.extract::<String>()?, kind, true));
        }
        DataType::Struct(fields.into())
    };
    if depth >= FAR_DOWN {
        known.insert(seat, (value.clone(), data_type.clone()));
    }
    Ok(data_type)
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
