//! One column, taken out of a table: its cells as Arrow, NumPy or Python has them.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_schema::Schema;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::arrow;
use crate::display;
use crate::error;
use crate::memory::PyMemory;
use crate::schema::PySchema;
use crate::values::{self, Finer};

/// One column, taken out.
#[pyclass(frozen, name = "Column", module = "tickframe._native")]
pub struct PyColumn {
    pub(super) field: Arc<arrow_schema::Field>,
    pub(super) chunks: Vec<ArrayRef>,
}

impl PyColumn {
    /// One chunk as a column.
    pub fn of(field: arrow_schema::Field, chunk: ArrayRef) -> PyColumn {
        PyColumn { field: Arc::new(field), chunks: vec![chunk] }
    }

    fn whole(&self) -> PyResult<ArrayRef> {
        ::column::kernels::one_array(&self.chunks, self.field.data_type()).map_err(|why| {
            error::raise(engine::Error::from(why).in_operation(&format!("column {:?}", self.field.name())))
        })
    }
}

#[pymethods]
impl PyColumn {
    #[getter]
    fn name(&self) -> &str {
        self.field.name()
    }

    fn schema(&self) -> PySchema {
        PySchema(Arc::new(Schema::new(vec![self.field.as_ref().clone()])))
    }

    fn __len__(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.len()).sum()
    }

    fn null_count(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.null_count()).sum()
    }

    fn to_list<'py>(&self, py: Python<'py>, on_precision_loss: &str) -> PyResult<Bound<'py, PyList>> {
        let finer = Finer::named(on_precision_loss)?;
        let list = PyList::empty(py);
        self.chunks.iter().try_for_each(|chunk| values::append(&list, chunk, self.field.name(), finer))?;
        Ok(list)
    }

    /// Some of its cells, in order.
    fn slice(&self, offset: usize, length: usize) -> PyColumn {
        let (mut skipped, mut left, mut chunks) = (offset, length, Vec::new());
        for chunk in &self.chunks {
            let from = skipped.min(chunk.len());
            let taken = left.min(chunk.len() - from);
            skipped -= from;
            left -= taken;
            if taken > 0 {
                chunks.push(chunk.slice(from, taken));
            }
        }
        PyColumn { field: Arc::clone(&self.field), chunks }
    }

    /// Its cells as they are shown.
    fn shown<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        self.chunks.iter().try_for_each(|chunk| display::append(&list, chunk, self.field.name()))?;
        Ok(list)
    }

    /// Its cells as text, of which nothing is cut.
    fn texts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        self.chunks.iter().try_for_each(|chunk| display::text_cells(&list, chunk))?;
        Ok(list)
    }

    /// The first places, so many at most, at which another column of this type has another cell: null is null, NaN is NaN.
    fn differing(&self, py: Python<'_>, other: &PyColumn, most: usize) -> PyResult<Vec<usize>> {
        let (one, other) = (self.whole()?, other.whole()?);
        if one.data_type() != other.data_type() || one.len() != other.len() {
            return Err(error::raise(engine::Error::Schema {
                operation: "table_diff".into(),
                message: "the columns are not alike".into(),
            }));
        }
        let same = py.detach(|| ::column::kernels::equal_cells(&one, &other));
        Ok((!&same).set_indices().take(most).collect())
    }

    /// A byte a cell, 1 where it is null; None where none is.
    fn missing<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, pyo3::types::PyByteArray>>> {
        let whole = self.whole()?;
        let Some(nulls) = whole.logical_nulls().filter(|nulls| nulls.null_count() > 0) else { return Ok(None) };
        let bytes: Vec<u8> = nulls.iter().map(|valid| u8::from(!valid)).collect();
        Ok(Some(pyo3::types::PyByteArray::new(py, &bytes)))
    }

    /// The bytes of the cells of a primitive column, nulls or not, in a copy that may be written to.
    fn raw<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, pyo3::types::PyByteArray>>> {
        Ok(self.memory()?.map(|memory| pyo3::types::PyByteArray::new(py, memory.0.as_slice())))
    }

    /// The bytes of the cells of a primitive column, nulls or not, as a read-only view without a copy.
    fn memory(&self) -> PyResult<Option<PyMemory>> {
        let whole = self.whole()?;
        let Some(width) = whole.data_type().primitive_width() else { return Ok(None) };
        let data = whole.to_data();
        Ok(Some(PyMemory(data.buffers()[0].slice_with_length(data.offset() * width, data.len() * width))))
    }

    /// What NumPy calls the type of the cells, where they lie as NumPy has them, and "bool" for bits.
    #[getter]
    fn code(&self) -> Option<&'static str> {
        crate::numpy::code_of(self.field.data_type())
    }

    /// The bytes of a Boolean column's cells, one a cell, in a copy that may be written to.
    fn flags<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, pyo3::types::PyByteArray>>> {
        let whole = self.whole()?;
        let Some(cells) = whole.as_any().downcast_ref::<arrow_array::BooleanArray>() else { return Ok(None) };
        let bytes: Vec<u8> = cells.values().iter().map(u8::from).collect();
        Ok(Some(pyo3::types::PyByteArray::new(py, &bytes)))
    }

    fn array<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        arrow::array_capsules(py, &self.field, &self.whole()?)
    }
}
