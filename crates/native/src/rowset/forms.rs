//! Conversion to a `RowSet`: from ints, pairs, ranges, NumPy and Arrow arrays, other sets.

use arrow_array::{Array, ArrayRef};
use column::{KeysError, rows_of_keys};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyRange, PyTuple, PyType};
use rowset::{MAX_KEY, RowSet, Span};

use super::PyRowSet;
use crate::arrow::Sharing;
use crate::error::ResourceError;
use crate::{arrow, numpy};

fn key_error(value: &Bound<'_, PyAny>) -> PyErr {
    let text = crate::cells::shown(value);
    PyValueError::new_err(format!("a row key is 0 … 2^63-1, not {text}"))
}

/// The whole number that it stands for: NumPy integers are no subclass of int, but have `__index__`. A class has it for its
/// instances only.
pub(super) fn index_of<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let whole = !value.is_instance_of::<PyType>() && (value.is_instance_of::<PyInt>() || value.hasattr("__index__")?);
    whole.then(|| value.call_method0("__index__")).transpose()
}

fn no_keys(value: &Bound<'_, PyAny>) -> PyErr {
    PyTypeError::new_err(format!(
        "a RowSet is made of ints, (first, last) pairs, ranges, NumPy integers or a RowSet, not {}",
        crate::cells::named(value)
    ))
}

pub(super) fn key_of(value: &Bound<'_, PyAny>) -> PyResult<u64> {
    // A bool has an index too, and is no key.
    let whole = if value.is_instance_of::<pyo3::types::PyBool>() { None } else { index_of(value)? };
    let number = whole.ok_or_else(|| no_keys(value))?;
    number.extract::<u64>().ok().filter(|key| *key <= MAX_KEY).ok_or_else(|| key_error(value))
}

fn span_of(first: &Bound<'_, PyAny>, last: &Bound<'_, PyAny>) -> PyResult<Span> {
    let span = Span { first: key_of(first)?, last: key_of(last)? };
    if span.first > span.last {
        return Err(PyValueError::new_err(format!("the range ({}, {}) ends before it begins", span.first, span.last)));
    }
    Ok(span)
}

fn of_range(range: &Bound<'_, PyAny>) -> PyResult<RowSet> {
    let len = range.len().map_err(|_| key_error(range))?;
    if len == 0 {
        return Ok(RowSet::new());
    }
    let step: i64 = range.getattr("step")?.extract()?;
    let (one, other) = (range.get_item(0)?, range.get_item(len - 1)?);
    match step {
        1 => Ok(RowSet::from_spans([span_of(&one, &other)?])),
        -1 => Ok(RowSet::from_spans([span_of(&other, &one)?])),
        _ => {
            let (first, last) = (key_of(&one)?.min(key_of(&other)?), key_of(&one)?.max(key_of(&other)?));
            strided(range.py(), first, last, step.unsigned_abs())
        }
    }
}

/// Every so manyth key, written block by block: never all keys at once.
fn strided(py: Python<'_>, first: u64, last: u64, step: u64) -> PyResult<RowSet> {
    /// Keys that are written out together.
    const TOGETHER: u64 = 1 << 20;
    /// Keys of a block, and bytes that it costs whatever it holds.
    const BLOCK: u64 = 1 << 16;
    const AROUND: u64 = 48;
    let keys = (last - first) / step + 1;
    // A block is a list of two bytes a key, or a bit for each of its keys.
    let blocks = keys.min((last - first) / BLOCK + 1);
    let need = blocks.saturating_mul(AROUND).saturating_add(keys.saturating_mul(2).min((last - first) / 8));
    limits::ask(need).map_err(|why| ResourceError::new_err(format!("RowSet: a range of {keys} keys: {why}")))?;
    let mut parts = Vec::new();
    for from in (0..keys).step_by(TOGETHER as usize) {
        let until = keys.min(from + TOGETHER);
        let written: Vec<u64> = (from..until).map(|at| first + at * step).collect();
        parts.push(RowSet::from_sorted_keys(&written));
        py.check_signals()?;
    }
    Ok(RowSet::union_all(&parts))
}

/// The keys of a one-dimensional NumPy integer array as they stand; None for anything else.
pub fn numpy_keys(array: &Bound<'_, PyAny>) -> PyResult<Option<Vec<u64>>> {
    if !numpy::is_array(array) || !matches!(array.getattr("dtype")?.getattr("kind")?.extract::<char>()?, 'i' | 'u') {
        return Ok(None);
    }
    let wide = array.call_method1("astype", ("int64",))?;
    let cells = numpy::import("RowSet", &wide)?;
    Ok(cells.map(|cells| cells.to_data().buffers()[0].typed_data::<u64>().to_vec()))
}

fn of_numpy(array: &Bound<'_, PyAny>) -> PyResult<RowSet> {
    // An empty array says nothing about keys, whatever its type.
    if array.getattr("size")?.extract::<usize>()? == 0 {
        return Ok(RowSet::new());
    }
    let kind: char = array.getattr("dtype")?.getattr("kind")?.extract()?;
    if !matches!(kind, 'i' | 'u') || array.getattr("ndim")?.extract::<usize>()? != 1 {
        return Err(PyTypeError::new_err("a RowSet takes a one-dimensional array of integers"));
    }
    let cells = numpy::import("RowSet", array)?;
    of_arrow(&cells.ok_or_else(|| crate::error::InternalError::new_err("an integer array has an Arrow form"))?)
}

/// The keys of an Arrow array of integers.
fn of_arrow(array: &ArrayRef) -> PyResult<RowSet> {
    rows_of_keys(array).map_err(|error| match error {
        KeysError::Type(kind) => {
            PyTypeError::new_err(format!("a RowSet takes an array of integers, not of {}", formula::type_name(&kind)))
        }
        KeysError::Arrow(error) => crate::error::DataError::new_err(error.to_string()),
        KeysError::Null | KeysError::OutOfRange(_) => PyValueError::new_err(error.to_string()),
    })
}

/// The set that any of the accepted forms means.
pub fn to_rowset(value: &Bound<'_, PyAny>) -> PyResult<RowSet> {
    nested(value, 0)
}

/// So many lists, arrays and sets lie in each other at most.
const DEEPEST: usize = 8;

fn nested(value: &Bound<'_, PyAny>, depth: usize) -> PyResult<RowSet> {
    if depth > DEEPEST {
        return Err(PyTypeError::new_err(format!("a RowSet is made of lists at most {DEEPEST} deep")));
    }
    if let Ok(set) = value.cast::<PyRowSet>() {
        return Ok(set.get().0.clone());
    }
    if value.is_instance_of::<PyRange>() {
        return of_range(value);
    }
    if numpy::is_array(value) {
        return of_numpy(value);
    }
    if value.is_instance_of::<PyInt>() {
        return key_of(value).map(RowSet::key);
    }
    if arrow::is_arrow(value)? {
        // The keys are read before anybody else can write to them.
        let chunks = arrow::import_chunks("RowSet", value, Sharing::Promised)?;
        let parts = chunks.iter().map(of_arrow).collect::<PyResult<Vec<RowSet>>>()?;
        return Ok(RowSet::union_all(&parts));
    }
    if value.is_instance_of::<PyType>() || !value.hasattr("__iter__")? && !value.hasattr("__getitem__")? {
        return Err(no_keys(value));
    }
    let mut keys = Vec::new();
    let mut parts = Vec::new();
    for (at, item) in value.try_iter()?.enumerate() {
        let item = item?;
        if at.is_multiple_of(1 << 16) {
            let held = 16 * (at as u64 + (1 << 16));
            limits::ask(held).map_err(|why| ResourceError::new_err(format!("RowSet: {why}")))?;
            value.py().check_signals()?;
        }
        if let Ok(pair) = item.cast::<PyTuple>() {
            if pair.len() != 2 {
                return Err(PyTypeError::new_err("a pair is (first, last), both ends included"));
            }
            parts.push(RowSet::from_spans([span_of(&pair.get_item(0)?, &pair.get_item(1)?)?]));
        } else if item.is_instance_of::<PyRange>()
            || item.is_instance_of::<PyRowSet>()
            || numpy::is_array(&item)
            || arrow::is_arrow(&item)?
        {
            parts.push(nested(&item, depth + 1)?);
        } else {
            keys.push(key_of(&item)?);
        }
    }
    parts.push(RowSet::from_keys(keys));
    Ok(RowSet::union_all(&parts))
}
