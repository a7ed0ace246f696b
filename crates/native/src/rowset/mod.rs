//! `tickframe.RowSet`: a set of row keys as a Python value.

mod forms;

use std::sync::{Arc, Mutex};

use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field};
use column::keys_of_rows;
use graph::lock;
use pyo3::exceptions::{PyIndexError, PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyInt, PyTuple};
use rowset::{MAX_KEY, RowSet};

use self::forms::{index_of, key_of};
pub use self::forms::{numpy_keys, to_rowset};
use crate::error::{DataError, InternalError, ResourceError};
use crate::{arrow, numpy};

/// An immutable set of row keys in order, 0 … 2^63−1.
///
/// Made of ints, (first, last) pairs with both ends included, range objects, a NumPy or Arrow array of integers, or
/// another RowSet.
#[pyclass(frozen, eq, hash, name = "RowSet", module = "tickframe")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PyRowSet(pub RowSet);

#[pymethods]
impl PyRowSet {
    #[new]
    #[pyo3(signature = (ranges_or_keys = None))]
    fn new(ranges_or_keys: Option<&Bound<'_, PyAny>>) -> PyResult<PyRowSet> {
        ranges_or_keys.map_or_else(|| Ok(RowSet::new()), to_rowset).map(PyRowSet)
    }

    #[staticmethod]
    fn from_roaring(data: &Bound<'_, PyAny>) -> PyResult<PyRowSet> {
        let Ok(bytes) = data.cast::<PyBytes>() else {
            let given = crate::cells::named(data);
            return Err(PyTypeError::new_err(format!("RowSet.from_roaring: data is bytes, not {given}")));
        };
        RowSet::from_roaring(bytes.as_bytes())
            .map(PyRowSet)
            .map_err(|why| DataError::new_err(format!("RowSet.from_roaring: {why}")))
    }

    fn to_roaring<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = crate::ending::detached(py, || self.0.roaring_bytes_at_most());
        if bytes > ROARING_AT_MOST {
            let message = format!("RowSet.to_roaring: ranges so wide take {} GiB", bytes >> 30);
            return Err(PyOverflowError::new_err(message));
        }
        Ok(PyBytes::new(py, &crate::ending::detached(py, || self.0.to_roaring())))
    }

    fn __or__(&self, other: &Bound<'_, PyAny>) -> PyResult<PyRowSet> {
        Ok(PyRowSet(self.0.union(&to_rowset(other)?)))
    }

    fn __ror__(&self, other: &Bound<'_, PyAny>) -> PyResult<PyRowSet> {
        Ok(PyRowSet(to_rowset(other)?.union(&self.0)))
    }

    fn __and__(&self, other: &Bound<'_, PyAny>) -> PyResult<PyRowSet> {
        Ok(PyRowSet(self.0.intersection(&to_rowset(other)?)))
    }

    fn __rand__(&self, other: &Bound<'_, PyAny>) -> PyResult<PyRowSet> {
        Ok(PyRowSet(to_rowset(other)?.intersection(&self.0)))
    }

    fn __sub__(&self, other: &Bound<'_, PyAny>) -> PyResult<PyRowSet> {
        Ok(PyRowSet(self.0.difference(&to_rowset(other)?)))
    }

    fn __rsub__(&self, other: &Bound<'_, PyAny>) -> PyResult<PyRowSet> {
        Ok(PyRowSet(to_rowset(other)?.difference(&self.0)))
    }

    fn __xor__(&self, other: &Bound<'_, PyAny>) -> PyResult<PyRowSet> {
        Ok(PyRowSet(self.0.symmetric_difference(&to_rowset(other)?)))
    }

    fn __rxor__(&self, other: &Bound<'_, PyAny>) -> PyResult<PyRowSet> {
        Ok(PyRowSet(to_rowset(other)?.symmetric_difference(&self.0)))
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
        RowSetIterator { rows: self.0.clone(), ahead: Mutex::new(Ahead { from: Some(0), keys: Vec::new() }) }
    }

    /// The maximal ranges, as (first, last), both ends included.
    fn ranges(&self) -> PyResult<Vec<(u64, u64)>> {
        // A pair here, and a tuple of two numbers for Python.
        limits::ask_rows(self.0.statistics().spans, 136)
            .map_err(|why| ResourceError::new_err(format!("RowSet.ranges: {why}")))?;
        Ok(self.0.spans().map(|span| (span.first, span.last)).collect())
    }

    /// Whether a key, or every key of a set, is in it.
    fn contains(&self, key_or_rowset: &Bound<'_, PyAny>) -> PyResult<bool> {
        if key_or_rowset.is_instance_of::<PyInt>() {
            return Ok(key_or_rowset.extract::<u64>().is_ok_and(|key| key <= MAX_KEY && self.0.contains(key)));
        }
        if !numpy::is_array(key_or_rowset) && index_of(key_or_rowset)?.is_some() {
            return Ok(key_of(key_or_rowset).is_ok_and(|key| self.0.contains(key)));
        }
        Ok(to_rowset(key_or_rowset)?.is_subset(&self.0))
    }

    /// The position of a key, or None.
    fn position_of(&self, key: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
        let Some(number) = index_of(key)? else {
            let given = crate::cells::named(key);
            return Err(PyTypeError::new_err(format!("RowSet.position_of: key is a whole number, not {given}")));
        };
        Ok(number.extract::<u64>().ok().and_then(|key| self.0.position_of(key)))
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
        let keys = crate::ending::detached(py, || keys_of_rows(&self.0)).ok_or_else(|| too_many(&self.0))?;
        numpy::from_int64(py, keys.values())
    }

    /// The keys as an Arrow array of int64, for whatever reads the Arrow PyCapsule protocol.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        // A request may be left unmet: the reader looks at the schema that comes.
        let _ = requested_schema;
        let keys = crate::ending::detached(py, || keys_of_rows(&self.0)).ok_or_else(|| too_many(&self.0))?;
        let array: ArrayRef = Arc::new(keys);
        arrow::array_capsules(py, &Field::new("", DataType::Int64, false), &array)
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
        dict.set_item("chunks", facts.chunks)?;
        dict.set_item("full_runs", facts.full_runs)?;
        dict.set_item("inline_blocks", facts.inline_blocks)?;
        dict.set_item("arrays", facts.arrays)?;
        dict.set_item("run_lists", facts.run_lists)?;
        dict.set_item("bitmaps", facts.bitmaps)?;
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
        let (py, rows) = (slf.py(), slf.get());
        // Wide ranges take few words as ranges, and one entry for each 2^16 keys as Roaring bytes.
        if rows.0.roaring_bytes_at_most() > PICKLED_FROM.max(64 * rows.0.statistics().spans) {
            return (slf.get_type(), (rows.ranges()?,)).into_pyobject(py);
        }
        let bytes = rows.to_roaring(py)?;
        let class = slf.get_type().getattr("from_roaring")?;
        (class, (bytes,)).into_pyobject(py)
    }
}

/// More bytes than this are no exchange format.
const ROARING_AT_MOST: u64 = 1 << 36;
/// Fewer bytes than this are pickled without a thought.
const PICKLED_FROM: u64 = 1 << 16;

fn too_many(rows: &RowSet) -> PyErr {
    let why = limits::ask_rows(rows.len(), 8).map_or_else(|why| format!(": {why}"), |()| String::new());
    ResourceError::new_err(format!("RowSet: no room for an array of {} keys{why}", rows.len()))
}

/// The keys of a set, one after the other, a few taken ahead.
#[pyclass(frozen, module = "tickframe._native")]
pub struct RowSetIterator {
    rows: RowSet,
    ahead: Mutex<Ahead>,
}

/// Keys that were taken and have not come, the next one last.
struct Ahead {
    /// Where the next ones begin.
    from: Option<u64>,
    keys: Vec<u64>,
}

/// Keys taken at a time.
const AHEAD: usize = 512;

#[pymethods]
impl RowSetIterator {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&self) -> Option<u64> {
        let mut ahead = lock(&self.ahead);
        if ahead.keys.is_empty() {
            let mut keys = self.rows.iter();
            keys.advance_to(ahead.from?);
            ahead.keys.resize(AHEAD, 0);
            let taken = keys.next_many(&mut ahead.keys);
            ahead.keys.truncate(taken);
            ahead.from = ahead.keys.last().filter(|key| **key < MAX_KEY).map(|key| key + 1);
            ahead.keys.reverse();
        }
        ahead.keys.pop()
    }
}
