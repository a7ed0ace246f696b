//! Types as nested tuples, the form in which the Python classes of `tickframe.dtypes` speak of them.

use std::sync::Arc;

use ::column::sound::Tally;
use arrow_schema::{DataType, Field, FieldRef, Fields, IntervalUnit, TimeUnit};
use formula::types::unit_name;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::error::{self, unsound};

/// A short name of a type, as the Python side prints it.
pub fn name_of(data_type: &DataType) -> String {
    formula::type_name(data_type).replace('"', "'")
}

/// The name of a zone for the schema; a fixed offset becomes `+01:00`.
pub fn zone_name(zone: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(key) = zone.getattr("key").and_then(|key| key.extract::<String>()) {
        return Ok(key);
    }
    let text = zone.str()?.to_string();
    Ok(match text.strip_prefix("UTC") {
        Some("") => "UTC".into(),
        Some(offset) => offset.into(),
        None => text,
    })
}

/// Types that a name tells whole; NumPy calls those of a fixed width the same.
const PLAIN: &[(&str, DataType)] = &[
    ("null", DataType::Null),
    ("bool", DataType::Boolean),
    ("int8", DataType::Int8),
    ("int16", DataType::Int16),
    ("int32", DataType::Int32),
    ("int64", DataType::Int64),
    ("uint8", DataType::UInt8),
    ("uint16", DataType::UInt16),
    ("uint32", DataType::UInt32),
    ("uint64", DataType::UInt64),
    ("float16", DataType::Float16),
    ("float32", DataType::Float32),
    ("float64", DataType::Float64),
    ("utf8", DataType::Utf8),
    ("large_utf8", DataType::LargeUtf8),
    ("utf8_view", DataType::Utf8View),
    ("binary", DataType::Binary),
    ("large_binary", DataType::LargeBinary),
    ("binary_view", DataType::BinaryView),
    ("date32", DataType::Date32),
    ("date64", DataType::Date64),
];

/// The type of this plain name.
fn plain_type(name: &str) -> Option<DataType> {
    PLAIN.iter().find(|(known, _)| *known == name).map(|(_, data_type)| data_type.clone())
}

/// The plain name of this type.
pub fn plain_name(data_type: &DataType) -> Option<&'static str> {
    PLAIN.iter().find(|(_, known)| known == data_type).map(|(name, _)| *name)
}

/// The tuple that describes a type.
pub fn to_spec<'py>(py: Python<'py>, data_type: &DataType) -> PyResult<Bound<'py, PyTuple>> {
    if let Some(name) = plain_name(data_type) {
        return PyTuple::new(py, [name]);
    }
    let nested = |name: &str, inner: &DataType| (name, to_spec(py, inner)?).into_pyobject(py);
    match data_type {
        DataType::FixedSizeBinary(width) => ("fixed_binary", *width).into_pyobject(py),
        DataType::Time32(unit) => ("time32", unit_name(*unit)).into_pyobject(py),
        DataType::Time64(unit) => ("time64", unit_name(*unit)).into_pyobject(py),
        DataType::Timestamp(unit, zone) => ("timestamp", unit_name(*unit), zone.as_deref()).into_pyobject(py),
        DataType::Duration(unit) => ("duration", unit_name(*unit)).into_pyobject(py),
        DataType::Interval(IntervalUnit::YearMonth) => ("interval", "year_month").into_pyobject(py),
        DataType::Interval(IntervalUnit::DayTime) => ("interval", "day_time").into_pyobject(py),
        DataType::Interval(IntervalUnit::MonthDayNano) => ("interval", "month_day_nano").into_pyobject(py),
        DataType::Decimal128(p, s) => ("decimal128", *p, *s).into_pyobject(py),
        DataType::Decimal256(p, s) => ("decimal256", *p, *s).into_pyobject(py),
        DataType::List(field) => nested("list", field.data_type()),
        DataType::LargeList(field) => nested("large_list", field.data_type()),
        DataType::FixedSizeList(field, width) => {
            ("fixed_list", to_spec(py, field.data_type())?, *width).into_pyobject(py)
        }
        DataType::Struct(fields) => {
            let pairs = fields
                .iter()
                .map(|field| (field.name().as_str(), to_spec(py, field.data_type())?).into_pyobject(py))
                .collect::<PyResult<Vec<_>>>()?;
            ("struct", PyTuple::new(py, pairs)?).into_pyobject(py)
        }
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(pair) if pair.len() == 2 => {
                ("map", to_spec(py, pair[0].data_type())?, to_spec(py, pair[1].data_type())?).into_pyobject(py)
            }
            _ => ("arrow", data_type.to_string()).into_pyobject(py),
        },
        DataType::Dictionary(index, value) => {
            ("dictionary", to_spec(py, index)?, to_spec(py, value)?).into_pyobject(py)
        }
        other => ("arrow", other.to_string()).into_pyobject(py),
    }
}

/// The type a tuple describes.
pub fn from_spec(spec: &Bound<'_, PyTuple>) -> PyResult<DataType> {
    at_depth(spec, 0)
}

fn at_depth(spec: &Bound<'_, PyTuple>, depth: usize) -> PyResult<DataType> {
    Tally::nested(depth).map_err(|wrong| unsound("schema", &wrong))?;
    let name: String = spec.get_item(0)?.extract()?;
    if let Some(plain) = plain_type(&name) {
        return Ok(plain);
    }
    let inner = |index: usize| at_depth(spec.get_item(index)?.cast::<PyTuple>()?, depth + 1);
    let item = |index: usize| Ok::<FieldRef, PyErr>(Arc::new(Field::new_list_field(inner(index)?, true)));
    let unit = || unit_of(&spec.get_item(1)?.extract::<String>()?);
    Ok(match name.as_str() {
        "fixed_binary" => DataType::FixedSizeBinary(spec.get_item(1)?.extract()?),
        "time32" => DataType::Time32(unit()?),
        "time64" => DataType::Time64(unit()?),
        "timestamp" => {
            let zone: Option<String> = spec.get_item(2)?.extract()?;
            DataType::Timestamp(unit()?, zone.map(Into::into))
        }
        "duration" => DataType::Duration(unit()?),
        "interval" => DataType::Interval(match spec.get_item(1)?.extract::<String>()?.as_str() {
            "year_month" => IntervalUnit::YearMonth,
            "day_time" => IntervalUnit::DayTime,
            _ => IntervalUnit::MonthDayNano,
        }),
        "decimal128" => DataType::Decimal128(spec.get_item(1)?.extract()?, spec.get_item(2)?.extract()?),
        "decimal256" => DataType::Decimal256(spec.get_item(1)?.extract()?, spec.get_item(2)?.extract()?),
        "list" => DataType::List(item(1)?),
        "large_list" => DataType::LargeList(item(1)?),
        "fixed_list" => DataType::FixedSizeList(item(1)?, spec.get_item(2)?.extract()?),
        "struct" => {
            let pairs: Vec<(String, Bound<'_, PyTuple>)> = spec.get_item(1)?.extract()?;
            let fields = pairs
                .into_iter()
                .map(|(name, kind)| Ok(Field::new(name, at_depth(&kind, depth + 1)?, true)))
                .collect::<PyResult<Fields>>()?;
            DataType::Struct(fields)
        }
        "map" => {
            let pair = Fields::from(vec![Field::new("key", inner(1)?, false), Field::new("value", inner(2)?, true)]);
            DataType::Map(Arc::new(Field::new("entries", DataType::Struct(pair), false)), false)
        }
        "dictionary" => DataType::Dictionary(Box::new(inner(1)?), Box::new(inner(2)?)),
        other => return Err(PyTypeError::new_err(format!("no column can be made of the type {other}"))),
    })
}

/// The one type that holds the values of both.
#[pyfunction]
pub fn common_type<'py>(
    operation: &str,
    first: &Bound<'py, PyTuple>,
    second: &Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyTuple>> {
    let met = formula::promote(&from_spec(first)?, &from_spec(second)?);
    let met = match met.map_err(|wrong| error::formula(operation, &wrong, None))? {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        other => other,
    };
    to_spec(first.py(), &met)
}

fn unit_of(name: &str) -> PyResult<TimeUnit> {
    Ok(match name {
        "s" => TimeUnit::Second,
        "ms" => TimeUnit::Millisecond,
        "us" => TimeUnit::Microsecond,
        "ns" => TimeUnit::Nanosecond,
        other => return Err(PyTypeError::new_err(format!("unknown time unit {other:?}"))),
    })
}
