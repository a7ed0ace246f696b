//! `tickframe.RowSet`: a set of row keys as a Python value.

use pyo3::exceptions::{PyIndexError, PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyInt, PyRange, PyTuple};
use rowset::{MAX_KEY, RowSet, Span};

use crate::error::{DataError, InternalError};
use crate::numpy;

/// An immutable set of row keys in order, 0 … 2^63−1.
///
/// Made of ints, (first, last) pairs with both ends included, range objects, a NumPy integer array, or another RowSet.
#[pyclass(frozen, eq, hash, name = "RowSet", module = "tickframe")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PyRowSet(pub RowSet);

fn key_error(value: &Bound<'_, PyAny>) -> PyErr {
    let text = value.repr().map(|text| text.to_string()).unwrap_or_default();
    PyValueError::new_err(format!("a row key is 0 … 2^63-1, not {text}"))
}

fn key_of(value: &Bound<'_, PyAny>) -> PyResult<u64> {
    // NumPy integers are no subclass of int, but have __index__; bool has it too and is no key.
    if value.is_instance_of::<pyo3::types::PyBool>()
        || !(value.is_instance_of::<PyInt>() || value.hasattr("__index__")?)
    {
        return Err(PyTypeError::new_err(format!(
            "a RowSet is made of ints, (first, last) pairs, ranges, NumPy integers or a RowSet, not {}",
            value.get_type().name()?
        )));
    }
    let number = value.call_method0("__index__")?;
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
    let len = range.len()?;
    if len == 0 {
        return Ok(RowSet::new());
    }
    let step: i64 = range.getattr("step")?.extract()?;
    let (one, other) = (range.get_item(0)?, range.get_item(len - 1)?);
    match step {
        1 => Ok(RowSet::from_spans([span_of(&one, &other)?])),
        -1 => Ok(RowSet::from_spans([span_of(&other, &one)?])),
        _ => Ok(RowSet::from_keys(range.try_iter()?.map(|key| key_of(&key?)).collect::<PyResult<_>>()?)),
    }
}

/// The keys of a one-dimensional NumPy integer array as they stand; None for anything else.
pub fn numpy_keys(array: &Bound<'_, PyAny>) -> PyResult<Option<Vec<u64>>> {
    if !numpy::is_array(array) || !matches!(array.getattr("dtype")?.getattr("kind")?.extract::<char>()?, 'i' | 'u') {
        return Ok(None);
    }
    let wide = array.call_method1("astype", ("int64",))?;
    let cells = numpy::import(&wide)?;
    Ok(cells.map(|cells| cells.to_data().buffers()[0].typed_data::<u64>().to_vec()))
}

fn of_numpy(array: &Bound<'_, PyAny>) -> PyResult<RowSet> {
    let kind: char = array.getattr("dtype")?.getattr("kind")?.extract()?;
    if !matches!(kind, 'i' | 'u') || array.getattr("ndim")?.extract::<usize>()? != 1 {
        let empty = array.getattr("size")?.extract::<usize>()? == 0;
        return if empty {
            Ok(RowSet::new())
        } else {
            Err(PyTypeError::new_err("a RowSet takes a one-dimensional array of integers"))
        };
    }
    let wide = array.call_method1("astype", (if kind == 'u' { "uint64" } else { "int64" },))?;
    let cells = numpy::import(&wide)?.ok_or_else(|| InternalError::new_err("an integer array has an Arrow form"))?;
    let bits = cells.to_data().buffers()[0].clone();
    let keys = bits.typed_data::<u64>();
    match keys.iter().find(|key| **key > MAX_KEY) {
        Some(bad) => Err(PyValueError::new_err(format!("a row key is 0 … 2^63-1, not {}", *bad as i64))),
        None if keys.windows(2).all(|pair| pair[0] < pair[1]) => Ok(RowSet::from_sorted_keys(keys)),
        None => Ok(RowSet::from_keys(keys.to_vec())),
    }
}

/// The set that any of the accepted forms means.
pub fn to_rowset(value: &Bound<'_, PyAny>) -> PyResult<RowSet> {
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
    let mut keys = Vec::new();
    let mut parts = Vec::new();
    for item in value.try_iter()? {
        let item = item?;
        if let Ok(pair) = item.cast::<PyTuple>() {
            if pair.len() != 2 {
                return Err(PyTypeError::new_err("a pair is (first, last), both ends included"));
            }
            parts.push(RowSet::from_spans([span_of(&pair.get_item(0)?, &pair.get_item(1)?)?]));
        } else if item.is_instance_of::<PyRange>() || item.is_instance_of::<PyRowSet>() || numpy::is_array(&item) {
            parts.push(to_rowset(&item)?);
        } else {
            keys.push(key_of(&item)?);
        }
    }
    parts.push(RowSet::from_keys(keys));
    Ok(RowSet::union_all(&parts))
}

#[pymethods]
impl PyRowSet {
    #[new]
    #[pyo3(signature = (ranges_or_keys = None))]
    fn new(ranges_or_keys: Option<&Bound<'_, PyAny>>) -> PyResult<PyRowSet> {
        ranges_or_keys.map_or_else(|| Ok(RowSet::new()), to_rowset).map(PyRowSet)
    }

    #[staticmethod]
    fn from_roaring(data: &[u8]) -> PyResult<PyRowSet> {
        RowSet::from_roaring(data)
            .map(PyRowSet)
            .map_err(|why| DataError::new_err(format!("RowSet.from_roaring: {why}")))
    }

    fn to_roaring<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &py.detach(|| self.0.to_roaring()))
    }

    fn __or__(&self, other: &Bound<'_, PyAny>) -> PyResult<PyRowSet> {
        Ok(PyRowSet(self.0.union(&to_rowset(other)?)))
    }

    fn __and__(&self, other: &Bound<'_, PyAny>) -> PyResult<PyRowSet> {
        Ok(PyRowSet(self.0.intersection(&to_rowset(other)?)))
    }

    fn __sub__(&self, other: &Bound<'_, PyAny>) -> PyResult<PyRowSet> {
        Ok(PyRowSet(self.0.difference(&to_rowset(other)?)))
    }

    fn __xor__(&self, other: &Bound<'_, PyAny>) -> PyResult<PyRowSet> {
        Ok(PyRowSet(self.0.symmetric_difference(&to_rowset(other)?)))
    }

    fn __len__(&self) -> PyResult<usize> {
        let len = isize::try_from(self.0.len())
            .map_err(|_| PyOverflowError::new_err("more keys than len() can say; use .size"))?;
        Ok(len as usize)
    }

    fn __bool__(&self) -> bool {
        !self.0.is_empty()
    }

    /// How many keys, however many.
    #[getter]
    fn size(&self) -> u64 {
        self.0.len()
    }

    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.contains(key)
    }

    fn __iter__(&self) -> RowSetIterator {
        RowSetIterator { rows: self.0.clone(), next: std::sync::Mutex::new(self.0.first()) }
    }

    /// The maximal ranges, as (first, last), both ends included.
    fn ranges(&self) -> Vec<(u64, u64)> {
        self.0.spans().map(|span| (span.first, span.last)).collect()
    }

    /// Whether a key, or every key of a set, is in it.
    fn contains(&self, key_or_rowset: &Bound<'_, PyAny>) -> PyResult<bool> {
        if key_or_rowset.is_instance_of::<PyInt>() {
            return Ok(key_or_rowset.extract::<u64>().is_ok_and(|key| key <= MAX_KEY && self.0.contains(key)));
        }
        if key_or_rowset.hasattr("__index__")? && !numpy::is_array(key_or_rowset) {
            return Ok(key_of(key_or_rowset).is_ok_and(|key| self.0.contains(key)));
        }
        Ok(to_rowset(key_or_rowset)?.is_subset(&self.0))
    }

    /// The position of a key, or None.
    fn position_of(&self, key: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
        Ok(key.call_method0("__index__")?.extract::<u64>().ok().and_then(|key| self.0.position_of(key)))
    }

    /// The key at a position; negative positions count from the end.
    fn key_at(&self, pos: i128) -> PyResult<u64> {
        let len = i128::from(self.0.len());
        let place = if pos < 0 { pos + len } else { pos };
        u64::try_from(place)
            .ok()
            .and_then(|place| self.0.key_at(place))
            .ok_or_else(|| PyIndexError::new_err(format!("position {pos} of a RowSet of {len} keys")))
    }

    /// The keys as an int64 array.
    fn to_numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        numpy::from_int64(py, &py.detach(|| self.0.to_vec()))
    }

    /// Raises InternalError if an invariant of the set is broken.
    fn validate(&self) -> PyResult<()> {
        self.0.validate().map_err(|why| InternalError::new_err(format!("RowSet: {why}")))
    }

    /// What the set is made of.
    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let facts = self.0.statistics();
        let dict = PyDict::new(py);
        dict.set_item("keys", facts.keys)?;
        dict.set_item("spans", facts.spans)?;
        dict.set_item("bytes", facts.bytes)?;
        Ok(dict)
    }

    fn __repr__(&self) -> String {
        const SHOWN: usize = 20;
        let spans = self.0.spans();
        let shown: Vec<String> = spans
            .take(SHOWN)
            .map(|span| {
                if span.first == span.last {
                    format!("{}", span.first)
                } else {
                    format!("({}, {})", span.first, span.last)
                }
            })
            .collect();
        let more = if self.0.spans().nth(SHOWN).is_some() { ", …" } else { "" };
        format!("RowSet([{}{more}])", shown.join(", "))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let bytes = slf.get().to_roaring(py);
        let class = slf.get_type().getattr("from_roaring")?;
        (class, (bytes,)).into_pyobject(py)
    }
}

/// The keys of a set, one after the other, found by rank so that nothing is copied.
#[pyclass(frozen, module = "tickframe._native")]
pub struct RowSetIterator {
    rows: RowSet,
    next: std::sync::Mutex<Option<u64>>,
}

#[pymethods]
impl RowSetIterator {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&self) -> Option<u64> {
        let mut next = self.next.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let key = (*next)?;
        *next = match key.checked_add(1) {
            Some(after) if self.rows.contains(after) => Some(after),
            Some(after) => {
                let mut keys = self.rows.iter();
                keys.advance_to(after);
                keys.next()
            }
            None => None,
        };
        Some(key)
    }
}
