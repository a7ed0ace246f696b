//! Static tables from Python: of anything that holds rows, and of rows without columns.

use arrow_array::{Array, ArrayRef};
use pyo3::prelude::*;

use crate::arrow::Sharing;
use crate::data::{self, Data};
use crate::error;
use crate::gil::call_engine;
use crate::schema::PySchema;
use crate::table::PyTable;

/// A static table of these rows; their memory is kept as it came.
pub fn fixed(py: Python<'_>, data: Data) -> PyResult<PyTable> {
    let rows = data.rows();
    let Data { schema, batches } = data;
    let made = call_engine(py, || {
        let columns: Vec<Vec<ArrayRef>> = (0..schema.fields().len())
            .map(|index| {
                batches.iter().map(|batch| batch.column(index).clone()).filter(|chunk| !chunk.is_empty()).collect()
            })
            .collect();
        engine::sources::from_chunks(schema, columns, rows as u64)
    });
    made.map(PyTable::new)
}

/// A static table of anything that holds rows.
#[pyfunction]
#[pyo3(signature = (operation, data, schema = None, copy = None))]
pub fn table(
    py: Python<'_>,
    operation: &str,
    data: &Bound<'_, PyAny>,
    schema: Option<&Bound<'_, PySchema>>,
    copy: Option<bool>,
) -> PyResult<PyTable> {
    let schema = schema.map(|schema| schema.get().0.clone());
    fixed(py, data::import_as(operation, data, schema.as_ref(), Sharing::of(copy))?)
}

/// A static table of so many rows and no columns.
#[pyfunction]
pub fn empty_table(rows: u64) -> PyResult<PyTable> {
    engine::sources::empty(rows).map(PyTable::new).map_err(error::raise)
}
