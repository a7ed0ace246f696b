//! Arrow cells as Python's own values: int, float, str, datetime, Decimal, list, dict.
//!
//! Python's datetime ends at microseconds. A finer value is an error, or is truncated on request: nanoseconds are never
//! truncated silently.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal128Type, Decimal256Type, DurationNanosecondType, Float16Type, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, IntervalMonthDayNanoType, Time64NanosecondType,
    TimestampNanosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDelta, PyDict, PyList, PyString, PyTime};

use crate::dtype::name_of;
use crate::error::{self, DataError};

/// What to do with a value finer than Python's datetime.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Finer {
    Refuse,
    Truncate,
}

impl Finer {
    pub fn named(text: &str) -> PyResult<Finer> {
        match text {
            "error" => Ok(Finer::Refuse),
            "truncate" => Ok(Finer::Truncate),
            other => Err(pyo3::exceptions::PyValueError::new_err(format!(
                "on_precision_loss must be \"error\" or \"truncate\", not {other:?}"
            ))),
        }
    }

    fn micros(self, ns: i64, column: &str) -> PyResult<i64> {
        if self == Finer::Refuse && ns.rem_euclid(1000) != 0 {
            return Err(DataError::new_err(format!(
                "column {column:?}: {ns} ns is finer than the microseconds of Python's datetime; \
                 pass on_precision_loss=\"truncate\" to cut it"
            )));
        }
        Ok(ns.div_euclid(1000))
    }
}

/// Appends the cells of one array to a list.
pub fn append<'py>(list: &Bound<'py, PyList>, array: &ArrayRef, column: &str, finer: Finer) -> PyResult<()> {
    let reader = Reader::new(list.py(), array, column, finer)?;
    (0..array.len()).try_for_each(|row| list.append(reader.get(row)?))
}

/// One cell.
pub fn cell<'py>(py: Python<'py>, array: &ArrayRef, row: usize, column: &str) -> PyResult<Bound<'py, PyAny>> {
    Reader::new(py, array, column, Finer::Truncate)?.get(row)
}

type Get<'a, 'py> = Box<dyn Fn(usize) -> PyResult<Bound<'py, PyAny>> + 'a>;

/// The way from a row of one array to a Python value, chosen once for the array.
pub struct Reader<'a, 'py> {
    py: Python<'py>,
    array: ArrayRef,
    get: Get<'a, 'py>,
}

impl<'a, 'py: 'a> Reader<'a, 'py> {
    pub fn new(py: Python<'py>, array: &ArrayRef, column: &'a str, finer: Finer) -> PyResult<Reader<'a, 'py>> {
        let array = plain(array)?;
        Ok(Reader { py, get: getter(py, &array, column, finer)?, array })
    }

    pub fn get(&self, row: usize) -> PyResult<Bound<'py, PyAny>> {
        if self.array.is_null(row) {
            return Ok(self.py.None().into_bound(self.py));
        }
        (self.get)(row)
    }
}

/// Casts cells to one of the types that the reader of Python values handles (nanoseconds, string views, …).
fn plain(array: &ArrayRef) -> PyResult<ArrayRef> {
    let wanted = match array.data_type() {
        DataType::Timestamp(TimeUnit::Nanosecond, _) | DataType::Duration(TimeUnit::Nanosecond) => {
            return Ok(array.clone());
        }
        DataType::Timestamp(_, zone) => DataType::Timestamp(TimeUnit::Nanosecond, zone.clone()),
        DataType::Duration(_) => DataType::Duration(TimeUnit::Nanosecond),
        DataType::Time32(_) | DataType::Time64(TimeUnit::Microsecond) => DataType::Time64(TimeUnit::Nanosecond),
        DataType::LargeUtf8 | DataType::Utf8 => DataType::Utf8View,
        DataType::LargeBinary | DataType::Binary => DataType::BinaryView,
        DataType::Dictionary(_, value) => value.as_ref().clone(),
        DataType::ListView(item) | DataType::LargeList(item) | DataType::LargeListView(item) => {
            DataType::List(item.clone())
        }
        _ => return Ok(array.clone()),
    };
    let cast = arrow_cast::cast(array, &wanted).map_err(error::arrow)?;
    if matches!(array.data_type(), DataType::Dictionary(..)) {
        // Its values may be of any layout.
        plain(&cast)
    } else {
        Ok(cast)
    }
}

fn any<'py, T: IntoPyObject<'py>>(py: Python<'py>, value: T) -> PyResult<Bound<'py, PyAny>> {
    value.into_bound_py_any(py)
}

fn getter<'a, 'py: 'a>(py: Python<'py>, array: &ArrayRef, column: &'a str, finer: Finer) -> PyResult<Get<'a, 'py>> {
    macro_rules! number {
        ($kind:ty) => {{
            let cells = array.as_primitive::<$kind>().clone();
            Box::new(move |row| any(py, cells.value(row)))
        }};
    }
    let array = array.clone();
    Ok(match array.data_type().clone() {
        DataType::Null => Box::new(move |_| Ok(py.None().into_bound(py))),
        DataType::Boolean => {
            let cells = array.as_boolean().clone();
            Box::new(move |row| any(py, cells.value(row)))
        }
        DataType::Int8 => number!(Int8Type),
        DataType::Int16 => number!(Int16Type),
        DataType::Int32 => number!(Int32Type),
        DataType::Int64 => number!(Int64Type),
        DataType::UInt8 => number!(UInt8Type),
        DataType::UInt16 => number!(UInt16Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt64 => number!(UInt64Type),
        DataType::Float16 => {
            let cells = array.as_primitive::<Float16Type>().clone();
            Box::new(move |row| any(py, f64::from(cells.value(row))))
        }
        DataType::Float32 => {
            let cells = array.as_primitive::<Float32Type>().clone();
            Box::new(move |row| any(py, f64::from(cells.value(row))))
        }
        DataType::Float64 => number!(Float64Type),
        DataType::Utf8View => {
            let cells = array.as_string_view().clone();
            Box::new(move |row| Ok(PyString::new(py, cells.value(row)).into_any()))
        }
        DataType::BinaryView => {
            let cells = array.as_binary_view().clone();
            Box::new(move |row| Ok(PyBytes::new(py, cells.value(row)).into_any()))
        }
        DataType::FixedSizeBinary(_) => {
            let cells = array.as_fixed_size_binary().clone();
            Box::new(move |row| Ok(PyBytes::new(py, cells.value(row)).into_any()))
        }
        DataType::Date32 => {
            let cells = array.as_primitive::<Date32Type>().clone();
            let epoch = epoch(py, "date")?;
            Box::new(move |row| epoch.add(PyDelta::new(py, cells.value(row), 0, 0, false)?))
        }
        DataType::Date64 => {
            let cells = array.as_primitive::<Date64Type>().clone();
            let epoch = epoch(py, "date")?;
            Box::new(move |row| {
                epoch.add(PyDelta::new(py, cells.value(row).div_euclid(86_400_000) as i32, 0, 0, false)?)
            })
        }
        DataType::Time64(_) => {
            let cells = array.as_primitive::<Time64NanosecondType>().clone();
            Box::new(move |row| time(py, finer.micros(cells.value(row), column)?))
        }
        DataType::Timestamp(_, zone) => {
            let cells = array.as_primitive::<TimestampNanosecondType>().clone();
            let epoch = epoch(py, "datetime")?;
            let zone = zone.map(|zone| zone_info(py, &zone)).transpose()?;
            let utc = py.import("datetime")?.getattr("timezone")?.getattr("utc")?;
            Box::new(move |row| {
                let moment = epoch.add(delta(py, finer.micros(cells.value(row), column)?)?)?;
                let Some(zone) = &zone else { return Ok(moment) };
                let keywords = PyDict::new(py);
                keywords.set_item("tzinfo", &utc)?;
                moment.call_method("replace", (), Some(&keywords))?.call_method1("astimezone", (zone,))
            })
        }
        DataType::Duration(_) => {
            let cells = array.as_primitive::<DurationNanosecondType>().clone();
            Box::new(move |row| Ok(delta(py, finer.micros(cells.value(row), column)?)?.into_any()))
        }
        DataType::Decimal128(..) => {
            let cells = array.as_primitive::<Decimal128Type>().clone();
            let decimal = py.import("decimal")?.getattr("Decimal")?;
            Box::new(move |row| decimal.call1((cells.value_as_string(row),)))
        }
        DataType::Decimal256(..) => {
            let cells = array.as_primitive::<Decimal256Type>().clone();
            let decimal = py.import("decimal")?.getattr("Decimal")?;
            Box::new(move |row| decimal.call1((cells.value_as_string(row),)))
        }
        DataType::Interval(arrow_schema::IntervalUnit::MonthDayNano) => {
            let cells = array.as_primitive::<IntervalMonthDayNanoType>().clone();
            Box::new(move |row| {
                let cell = cells.value(row);
                any(py, (cell.months, cell.days, cell.nanoseconds))
            })
        }
        DataType::List(_) => {
            let cells = array.as_list::<i32>().clone();
            let reader = Reader::new(py, cells.values(), column, finer)?;
            Box::new(move |row| {
                let (from, to) = (cells.value_offsets()[row] as usize, cells.value_offsets()[row + 1] as usize);
                slice(&reader, from, to)
            })
        }
        DataType::FixedSizeList(_, width) => {
            let cells = array.as_fixed_size_list().clone();
            let reader = Reader::new(py, cells.values(), column, finer)?;
            let width = width as usize;
            Box::new(move |row| slice(&reader, row * width, (row + 1) * width))
        }
        DataType::Map(_, _) => {
            let cells = array.as_map().clone();
            let entries: ArrayRef = std::sync::Arc::new(cells.entries().clone());
            let (keys, values) = (
                Reader::new(py, entries.as_struct().column(0), column, finer)?,
                Reader::new(py, entries.as_struct().column(1), column, finer)?,
            );
            Box::new(move |row| {
                let (from, to) = (cells.value_offsets()[row] as usize, cells.value_offsets()[row + 1] as usize);
                let dict = PyDict::new(py);
                (from..to).try_for_each(|at| dict.set_item(keys.get(at)?, values.get(at)?))?;
                Ok(dict.into_any())
            })
        }
        DataType::Struct(fields) => {
            let cells = array.as_struct().clone();
            let readers = cells
                .columns()
                .iter()
                .map(|child| Reader::new(py, child, column, finer))
                .collect::<PyResult<Vec<_>>>()?;
            Box::new(move |row| {
                let dict = PyDict::new(py);
                fields
                    .iter()
                    .zip(&readers)
                    .try_for_each(|(field, reader)| dict.set_item(field.name(), reader.get(row)?))?;
                Ok(dict.into_any())
            })
        }
        other => {
            return Err(error::TypeMismatchError::new_err(format!(
                "column {column:?} is {}, which has no Python value; take it out as Arrow",
                name_of(&other)
            )));
        }
    })
}

fn slice<'py>(reader: &Reader<'_, 'py>, from: usize, to: usize) -> PyResult<Bound<'py, PyAny>> {
    let list = PyList::empty(reader.py);
    (from..to).try_for_each(|row| list.append(reader.get(row)?))?;
    Ok(list.into_any())
}

fn epoch<'py>(py: Python<'py>, class: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("datetime")?.getattr(class)?.call1((1970, 1, 1))
}

fn delta(py: Python<'_>, micros: i64) -> PyResult<Bound<'_, PyDelta>> {
    const DAY: i64 = 86_400_000_000;
    let (days, rest) = (micros.div_euclid(DAY), micros.rem_euclid(DAY));
    PyDelta::new(py, days as i32, (rest / 1_000_000) as i32, (rest % 1_000_000) as i32, false)
}

fn time(py: Python<'_>, micros: i64) -> PyResult<Bound<'_, PyAny>> {
    let seconds = micros / 1_000_000;
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    Ok(PyTime::new(py, hour as u8, minute as u8, second as u8, (micros % 1_000_000) as u32, None)?.into_any())
}

/// The zone object of a name or of an offset such as `+01:00`.
fn zone_info<'py>(py: Python<'py>, zone: &str) -> PyResult<Bound<'py, PyAny>> {
    let datetime = py.import("datetime")?;
    let timezone = datetime.getattr("timezone")?;
    if zone == "UTC" || zone == "Z" {
        return timezone.getattr("utc");
    }
    if let Some((sign, rest)) =
        zone.strip_prefix('+').map(|rest| (1, rest)).or_else(|| zone.strip_prefix('-').map(|rest| (-1, rest)))
    {
        let (hours, minutes) = rest.split_once(':').unwrap_or((rest, "0"));
        let minutes = hours.parse::<i32>().unwrap_or(0) * 60 + minutes.parse::<i32>().unwrap_or(0);
        return timezone.call1((PyDelta::new(py, 0, sign * minutes * 60, 0, true)?,));
    }
    py.import("zoneinfo")?.getattr("ZoneInfo")?.call1((zone,))
}
