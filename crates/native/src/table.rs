//! A table as Python sees it: what it is, its cells out as Arrow or as Python values.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use engine::Table;
use pyo3::exceptions::PyOverflowError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyTuple, PyType};

use crate::arrow;
use crate::display;
use crate::error;
use crate::gil::{call_engine, drop_without_gil};
use crate::rowset::PyRowSet;
use crate::schema::PySchema;
use crate::shared::Shared;
use crate::table_column::PyColumn;
use crate::values::{self, Finer, Reader};

/// A static or live table.
#[pyclass(frozen, weakref, name = "Table", module = "tickframe._native")]
pub struct PyTable {
    table: Option<Table>,
    shared: Option<Arc<Shared>>,
}

impl Drop for PyTable {
    fn drop(&mut self) {
        if self.shared.is_some() {
            drop_without_gil((self.table.take(), self.shared.take()));
        }
    }
}

impl PyTable {
    pub fn new(table: Table) -> PyTable {
        let shared = table.graph().map(Shared::of);
        PyTable { table: Some(table), shared }
    }

    pub fn engine(&self) -> &Table {
        self.table.as_ref().expect("a table is only taken out as it is dropped")
    }

    /// What its graph has one of; None of a static table.
    pub fn shared(&self) -> Option<&Arc<Shared>> {
        self.shared.as_ref()
    }

    /// The table, unless it failed or this is the child of a fork.
    pub fn checked(&self) -> PyResult<&Table> {
        let table = self.engine();
        if let Some(graph) = table.graph() {
            graph.check_process().map_err(|refused| error::graph(&refused))?;
            table.alive().map_err(error::raise)?;
        }
        Ok(table)
    }

    /// What stands behind a `tickframe.Table`; None for anything else.
    pub fn behind<'py>(data: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyTable>>> {
        static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        let class = CLASS.import(data.py(), "tickframe.table", "Table")?;
        if !data.is_instance(class)? {
            return Ok(None);
        }
        Ok(data.getattr(intern!(data.py(), "_native"))?.cast_into().ok())
    }

    pub fn batches(&self, py: Python<'_>, views: bool) -> PyResult<(SchemaRef, Vec<RecordBatch>)> {
        let table = self.checked()?;
        let batches = call_engine(py, || {
            let view = table.view()?;
            engine::export::batches(table, &view, !views)
        })?;
        let schema = if views { table.canonical().clone() } else { table.schema().clone() };
        Ok((schema, batches))
    }
}

/// Refuses more values than Python has room for: a place in a list, and an object, each.
fn python_values(batches: &[RecordBatch]) -> PyResult<()> {
    let cells: u64 = batches.iter().map(|batch| (batch.num_rows() * batch.num_columns()) as u64).sum();
    limits::ask_rows(cells, 40).map_err(|why| error::ResourceError::new_err(format!("to_dict: {why}")))
}

#[pymethods]
impl PyTable {
    fn schema(&self) -> PySchema {
        PySchema(self.engine().schema().clone())
    }

    fn column_names(&self) -> Vec<String> {
        self.engine().schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    #[getter]
    fn is_live(&self) -> bool {
        self.engine().is_live()
    }

    /// What made it: the method the user called.
    #[getter]
    fn operation(&self) -> String {
        self.engine().request().name.clone()
    }

    /// The operation with its arguments as text.
    #[getter]
    fn label(&self) -> String {
        self.engine().request().label()
    }

    /// A number that no other living table has: equal for two handles of one table.
    #[getter]
    fn identity(&self) -> usize {
        self.engine().identity()
    }

    /// Rows at the settled step, bytes of its own, entries of state, and whether it owns its rows and its columns.
    fn figures(&self, py: Python<'_>) -> (u64, u64, u64) {
        let table = self.engine();
        let size = crate::ending::detached(py, || table.size());
        (size.items, size.bytes, size.entries)
    }

    /// How often its operation was brought up to date, and for how many nanoseconds in all.
    fn ran(&self, py: Python<'_>) -> Option<(u64, u64)> {
        let table = self.engine();
        crate::ending::detached(py, || table.ran())
    }

    /// How each expression of the operation is computed, and with what it changes.
    fn expressions(&self) -> Vec<String> {
        let known = self.engine().request().computed.as_ref();
        known.map(|computed| computed.explain()).unwrap_or_default()
    }

    /// The rows that it could not compute.
    fn errors(&self, py: Python<'_>) -> PyResult<PyTable> {
        let table = self.engine();
        call_engine(py, || table.errors()).map(PyTable::new)
    }

    /// The column by which it has a watermark, and that watermark as a table of one row; None without one.
    fn watermark(&self) -> Option<(String, PyTable)> {
        self.engine().watermark().map(|mark| (mark.stamp.clone(), PyTable::new(mark.clock.clone())))
    }

    /// The rows that came too late for it, if they are kept.
    fn late(&self) -> Option<PyTable> {
        self.engine().late().cloned().map(PyTable::new)
    }

    /// What was counted of rows that it does not have.
    fn counted(&self) -> Vec<(&'static str, u64)> {
        self.engine().counted()
    }

    /// This table, as an input of plans by this name.
    fn named(&self, name: String) -> PyTable {
        PyTable::new(self.engine().clone().named(name))
    }

    fn inputs(&self) -> Vec<PyTable> {
        self.engine().inputs().iter().cloned().map(PyTable::new).collect()
    }

    /// The last step in which it changed.
    #[getter]
    fn last_step(&self) -> u64 {
        self.engine().last_step()
    }

    /// Why it failed, as the error that any use of it raises; None while it lives.
    fn failure(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.engine().failure().map(|failure| error::table_failed(&failure).into_value(py).into_any())
    }

    fn attributes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let held = self.engine().attributes();
        let dict = PyDict::new(py);
        let flags = [
            ("append_only", held.append_only),
            ("add_only", held.add_only),
            ("blink", held.blink),
            ("flat", held.flat),
        ];
        flags.iter().filter(|(_, holds)| *holds).try_for_each(|(name, _)| dict.set_item(name, true))?;
        if !held.key.is_empty() {
            dict.set_item("key", PyTuple::new(py, &held.key)?)?;
        }
        if !held.sorted_by.is_empty() {
            dict.set_item(
                "sorted_by",
                PyTuple::new(py, held.sorted_by.iter().map(|(name, descends)| (name, *descends)))?,
            )?;
        }
        if let Some(mark) = self.engine().watermark() {
            dict.set_item("watermark", &mark.stamp)?;
        }
        Ok(dict)
    }

    fn row_set(&self, py: Python<'_>) -> PyResult<PyRowSet> {
        let table = self.checked()?;
        call_engine(py, || table.rows()).map(PyRowSet)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(isize::try_from(self.row_set(py)?.0.len())
            .map_err(|_| PyOverflowError::new_err("more rows than len() can say; use .shape"))? as usize)
    }

    fn snapshot(&self, py: Python<'_>) -> PyResult<PyTable> {
        let table = self.checked()?;
        call_engine(py, || table.snapshot()).map(PyTable::new)
    }

    /// The Arrow stream of the settled moment; with `views` in the layout cells have inside.
    #[pyo3(signature = (requested_schema = None, *, views = false))]
    fn stream<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
        views: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (schema, batches) = self.batches(py, views)?;
        arrow::stream_capsule(py, schema, batches, requested_schema)
    }

    /// {name: list} of Python values.
    fn to_dict<'py>(&self, py: Python<'py>, on_precision_loss: &str) -> PyResult<Bound<'py, PyDict>> {
        let finer = Finer::named(on_precision_loss)?;
        let (schema, batches) = self.batches(py, true)?;
        python_values(&batches)?;
        let dict = PyDict::new(py);
        for (index, field) in schema.fields().iter().enumerate() {
            let list = PyList::empty(py);
            batches.iter().try_for_each(|batch| values::append(&list, batch.column(index), field.name(), finer))?;
            dict.set_item(field.name(), list)?;
        }
        Ok(dict)
    }

    /// [{name: value}] of Python values.
    fn to_dicts<'py>(&self, py: Python<'py>, on_precision_loss: &str) -> PyResult<Bound<'py, PyList>> {
        let finer = Finer::named(on_precision_loss)?;
        let (schema, batches) = self.batches(py, true)?;
        python_values(&batches)?;
        let list = PyList::empty(py);
        for batch in &batches {
            let readers = schema
                .fields()
                .iter()
                .zip(batch.columns())
                .map(|(field, column)| {
                    Ok((pyo3::types::PyString::intern(py, field.name()), Reader::new(py, column, field.name(), finer)?))
                })
                .collect::<PyResult<Vec<_>>>()?;
            for row in 0..batch.num_rows() {
                let dict = PyDict::new(py);
                readers.iter().try_for_each(|(name, reader)| dict.set_item(name, reader.get(row)?))?;
                list.append(dict)?;
            }
        }
        Ok(list)
    }

    /// The size, and the first and last rows of some columns as Python values.
    fn peek<'py>(
        &self,
        py: Python<'py>,
        columns: Vec<usize>,
        first: u64,
        last: u64,
    ) -> PyResult<(u64, Bound<'py, PyList>)> {
        let table = self.checked()?;
        let (size, batches) = call_engine(py, || {
            let view = table.view()?;
            let rows = view.rows();
            let size = rows.len();
            let shown = match size <= first + last {
                true => rows.clone(),
                false => &rows.slice(0, first) | &rows.slice(size - last, last),
            };
            Ok((size, engine::export::batches_of(table, &view, &shown, &columns, false)?))
        })?;
        let lists = PyList::empty(py);
        for (at, column) in columns.iter().enumerate() {
            let list = PyList::empty(py);
            let name = table.schema().field(*column).name();
            batches.iter().try_for_each(|batch| display::append(&list, batch.column(at), name))?;
            lists.append(list)?;
        }
        Ok((size, lists))
    }

    /// One column of the settled moment.
    fn column(&self, py: Python<'_>, name: &str) -> PyResult<PyColumn> {
        let table = self.checked()?;
        let index = table.column_index(&format!("t[{name:?}]"), name).map_err(error::raise)?;
        let batches = call_engine(py, || {
            let view = table.view()?;
            engine::export::batches_of(table, &view, view.rows(), &[index], true)
        })?;
        let chunks = batches.iter().map(|batch| batch.column(0).clone()).collect();
        Ok(PyColumn { field: Arc::new(table.schema().field(index).clone()), chunks })
    }
}
