//! Days, times of day, spans and instants: Python's own, NumPy's and pandas'.

use arrow_array::ArrayRef;
use arrow_array::types::TimestampNanosecondType;
use arrow_schema::DataType;
use pyo3::prelude::*;
use pyo3::types::{PyDate, PyDateAccess, PyDateTime, PyDelta, PyDeltaAccess, PyTime, PyTimeAccess, PyTzInfoAccess};

use super::{Place, Values, numpy_kind, primitives, shown};
use crate::dtype::name_of;
use crate::error::TypeMismatchError;

fn not_this() -> PyErr {
    TypeMismatchError::new_err("")
}

const NS: i64 = 1_000_000_000;

pub(super) fn day(value: &Bound<'_, PyAny>) -> PyResult<i32> {
    if numpy_kind(value) == Some('M') {
        let days: i64 =
            value.call_method1("astype", ("datetime64[D]",))?.call_method1("astype", ("int64",))?.extract()?;
        return i32::try_from(days).map_err(|_| not_this());
    }
    let date = value.cast::<PyDate>().map_err(|_| not_this())?;
    if value.is_instance_of::<PyDateTime>() {
        return Err(not_this());
    }
    Ok(days(date))
}

/// Days since 1970-01-01.
pub fn days(date: &impl PyDateAccess) -> i32 {
    formula::types::days_to(date.get_year().into(), date.get_month().into(), date.get_day().into()) as i32
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
    let days = days(moment);
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

pub(super) fn instants(
    values: Values<'_, '_>,
    zone: Option<&str>,
    wanted: &DataType,
    place: Place<'_>,
) -> PyResult<ArrayRef> {
    primitives::<TimestampNanosecondType>(values, wanted, |row, value| match instant(value) {
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
        Ok(None) if is_nat(value) => Ok(None),
        Ok(None) => Err(place.unfit(row, value, wanted, "is outside the years 1677 to 2262 that nanoseconds reach")),
        Err(_) => Err(place.mismatch(row, value, wanted)),
    })
}

/// Whether it is NumPy's NaT, the one instant or span that is not equal to itself.
pub(super) fn is_nat(value: &Bound<'_, PyAny>) -> bool {
    matches!(numpy_kind(value), Some('M' | 'm')) && !value.eq(value).unwrap_or(true)
}
