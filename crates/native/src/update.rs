//! One change of one table, as a listener gets it.

use std::sync::{Arc, Mutex};

use arrow_array::ArrayRef;
use arrow_schema::Schema;
use engine::follow::Follower;
use engine::{Part, UpdateEvent};
use pyo3::prelude::*;

use crate::error::{self, InvalidOperationError};
use crate::gil::{call_engine, drop_without_gil};
use crate::rowset::PyRowSet;
use crate::table::PyTable;
use graph::lock;

/// What a step did to a table.
#[pyclass(frozen, weakref, name = "Update", module = "tickframe._native")]
pub struct PyUpdate {
    table: Option<engine::Table>,
    delivered: Mutex<Option<Arc<UpdateEvent>>>,
    columns: Option<Arc<[usize]>>,
    rows_before: bool,
}

impl PyUpdate {
    /// The change, as this follower asked for it.
    pub fn new(to: &Follower, delivered: Arc<UpdateEvent>) -> PyUpdate {
        let (columns, rows_before) = (to.columns(), to.keeps_rows_before());
        PyUpdate { table: to.table(), delivered: Mutex::new(Some(delivered)), columns, rows_before }
    }

    fn delivered(&self) -> PyResult<Arc<UpdateEvent>> {
        lock(&self.delivered).clone().ok_or_else(|| error::InternalError::new_err("the update was let go"))
    }

    fn table(&self) -> PyResult<&engine::Table> {
        self.table.as_ref().ok_or_else(|| InvalidOperationError::new_err("update: its table is gone"))
    }

    fn choose(&self, part: Part, names: Option<Vec<String>>) -> PyResult<Vec<usize>> {
        let table = self.table()?;
        if let Some(names) = names {
            let index = |name: &String| table.column_index("update", name).map_err(error::raise);
            return names.iter().map(index).collect();
        }
        let subscribed = |column: &usize| self.columns.as_ref().is_none_or(|columns| columns.contains(column));
        if matches!(part, Part::Modified | Part::ModifiedBefore) {
            return Ok(self.delivered()?.update().columns.iter().filter(subscribed).collect());
        }
        Ok((0..table.width()).filter(subscribed).collect())
    }

    fn rows(&self, py: Python<'_>, part: Part, names: Option<Vec<String>>) -> PyResult<PyTable> {
        let columns = self.choose(part, names)?;
        let (table, delivered) = (self.table()?, self.delivered()?);
        let read = || -> Result<engine::Table, engine::Error> {
            let schema: Schema = table.schema().project(&columns)?;
            let cells = columns
                .iter()
                .map(|column| {
                    let chunk = delivered.read(part, *column)?;
                    engine::export::declared(table, *column, &chunk)
                })
                .collect::<Result<Vec<ArrayRef>, engine::Error>>()?;
            let cells = cells.into_iter().map(|chunk| vec![chunk]).collect();
            engine::sources::from_chunks(Arc::new(schema), cells, delivered.rows_in(part))
        };
        call_engine(py, read).map(PyTable::new)
    }
}

#[pymethods]
impl PyUpdate {
    #[getter]
    fn step(&self) -> PyResult<u64> {
        Ok(self.delivered()?.step())
    }

    #[getter]
    fn added(&self) -> PyResult<PyRowSet> {
        Ok(PyRowSet(self.delivered()?.update().added.clone()))
    }

    #[getter]
    fn removed(&self) -> PyResult<PyRowSet> {
        Ok(PyRowSet(self.delivered()?.update().removed.0.clone()))
    }

    #[getter]
    fn modified(&self) -> PyResult<PyRowSet> {
        Ok(PyRowSet(self.delivered()?.update().modified.clone()))
    }

    /// The rows that there were before the step; None if the subscription did not ask for them.
    #[getter]
    fn rows_before(&self) -> PyResult<Option<PyRowSet>> {
        Ok(self.delivered()?.before().filter(|_| self.rows_before).cloned().map(PyRowSet))
    }

    #[getter]
    fn modified_columns(&self) -> PyResult<Vec<String>> {
        let table = self.table()?;
        let name = |column: usize| table.schema().field(column).name().clone();
        Ok(self.delivered()?.update().columns.iter().map(name).collect())
    }

    #[getter]
    fn shifts(&self) -> PyResult<Vec<(u64, u64, i64)>> {
        Ok(self.delivered()?.update().shifts.iter().map(|shift| (shift.first, shift.last, shift.delta)).collect())
    }

    #[pyo3(signature = (columns = None))]
    fn added_rows(&self, py: Python<'_>, columns: Option<Vec<String>>) -> PyResult<PyTable> {
        self.rows(py, Part::Added, columns)
    }

    #[pyo3(signature = (columns = None))]
    fn removed_rows(&self, py: Python<'_>, columns: Option<Vec<String>>) -> PyResult<PyTable> {
        self.rows(py, Part::Removed, columns)
    }

    #[pyo3(signature = (columns = None))]
    fn modified_rows(&self, py: Python<'_>, columns: Option<Vec<String>>) -> PyResult<PyTable> {
        self.rows(py, Part::Modified, columns)
    }

    #[pyo3(signature = (columns = None))]
    fn modified_rows_before(&self, py: Python<'_>, columns: Option<Vec<String>>) -> PyResult<PyTable> {
        self.rows(py, Part::ModifiedBefore, columns)
    }
}

impl Drop for PyUpdate {
    fn drop(&mut self) {
        drop_without_gil((self.table.take(), lock(&self.delivered).take()));
    }
}
