//! Partitioned tables, as Python has them.

use std::sync::Arc;

use engine::{Partitioned, Table, Transformer};
use pyo3::prelude::*;

use crate::ending::{self, Inside};
use crate::error::Raised;
use crate::gil::{self, call_engine, drop_without_gil};
use crate::ops::call;
use crate::raised::{self, Fault, is_interrupt};
use crate::table::PyTable;

/// A Python function that is given native tables, and gives one.
struct PythonTransformer {
    method: String,
    name: String,
    call: Py<PyAny>,
}

impl Transformer for PythonTransformer {
    fn transform(&self, tables: &[Table]) -> Result<Table, engine::Error> {
        let _inside = Inside::enter();
        Python::attach(|py| self.called(py, tables).map_err(|raised| self.failure(py, &raised)))
    }
}

impl PythonTransformer {
    fn called(&self, py: Python<'_>, tables: &[Table]) -> PyResult<Table> {
        py.check_signals()?;
        let _function = ending::Function::runs(py, &self.name)?;
        let tables: Vec<PyTable> = tables.iter().cloned().map(PyTable::new).collect();
        let given = self.call.bind(py).call1((tables,))?;
        Ok(given.cast::<PyTable>()?.get().checked()?.clone())
    }

    /// What the function raised, as other functions of the user are told; what is wrong with what it gave, as it is.
    fn failure(&self, py: Python<'_>, raised: &PyErr) -> engine::Error {
        if is_interrupt(py, raised) {
            gil::interrupts_others(py, raised.clone_ref(py));
            return raised::interrupt(py, raised);
        }
        let value = raised.value(py);
        if value.hasattr("_of_what_it_gave").unwrap_or(false) {
            let payload: engine::External = Arc::new(Raised(value.clone().into_any().unbind()));
            return engine::Error::External { message: value.to_string(), payload: Some(payload) };
        }
        let kind = raised.get_type(py).name().map_or_else(|_| "an exception".to_owned(), |name| name.to_string());
        let message = format!("{}: {} raised {kind}: {value}", self.method, self.name);
        let payload: engine::External = Arc::new(Fault(value.clone().into_any().unbind()));
        engine::Error::External { message, payload: Some(payload) }
    }
}

/// A set of keys, and the constituent of each.
#[pyclass(frozen, name = "Partitioned", module = "tickframe._native")]
pub struct PyPartitioned(Option<Partitioned>);

impl Drop for PyPartitioned {
    fn drop(&mut self) {
        drop_without_gil(self.0.take());
    }
}

impl PyPartitioned {
    /// Another handle of these constituents.
    pub(crate) fn new(of: &Partitioned) -> PyPartitioned {
        PyPartitioned(Some(of.clone()))
    }

    pub(crate) fn engine(&self) -> &Partitioned {
        self.0.as_ref().expect("it is only taken out as it is dropped")
    }
}

/// A constituent for each key of these columns.
#[pyfunction]
pub fn partition_by(
    py: Python<'_>,
    method: &str,
    table: &Bound<'_, PyTable>,
    keys: Vec<String>,
    drop_keys: bool,
) -> PyResult<PyPartitioned> {
    let table = table.get().checked()?.clone();
    let call = call(py, method);
    call_engine(py, move || Partitioned::split(&call, &table, &keys, drop_keys)).map(|made| PyPartitioned(Some(made)))
}

/// These tables as constituents; the rows of `keys` are their keys.
#[pyfunction]
#[pyo3(signature = (method, tables, keys = None))]
pub fn partitioned_of(
    py: Python<'_>,
    method: &str,
    tables: Vec<Bound<'_, PyTable>>,
    keys: Option<&Bound<'_, PyTable>>,
) -> PyResult<PyPartitioned> {
    let tables: Vec<Table> = tables.iter().map(|table| table.get().checked().cloned()).collect::<PyResult<_>>()?;
    let keys = keys.map(|keys| keys.get().checked()).transpose()?;
    let call = call(py, method);
    call_engine(py, || Partitioned::of(&call, keys, &tables)).map(|made| PyPartitioned(Some(made)))
}

#[pymethods]
impl PyPartitioned {
    /// The keys, with a hidden column of ids.
    fn set(&self) -> PyTable {
        PyTable::new(self.engine().set().clone())
    }

    /// The names of the key columns.
    fn keys(&self) -> Vec<String> {
        self.engine().keys()
    }

    /// Whether constituents may come and go.
    #[getter]
    fn changes(&self) -> bool {
        self.engine().changes()
    }

    /// The constituents of these rows of the set.
    fn over(&self, set: &Bound<'_, PyTable>) -> PyPartitioned {
        PyPartitioned(Some(self.engine().over(set.get().engine().clone())))
    }

    /// A constituent without a key.
    fn template(&self, py: Python<'_>) -> PyResult<PyTable> {
        let made = self.engine();
        call_engine(py, || made.template()).map(PyTable::new)
    }

    /// All constituents as they are now.
    fn tables(&self, py: Python<'_>) -> PyResult<Vec<PyTable>> {
        let made = self.engine();
        Ok(call_engine(py, || made.tables())?.into_iter().map(PyTable::new).collect())
    }

    /// The constituent of the key in the one row of a table.
    fn find(&self, py: Python<'_>, key: &Bound<'_, PyTable>) -> PyResult<Option<PyTable>> {
        let (made, key) = (self.engine(), key.get().checked()?);
        Ok(call_engine(py, || made.find(key))?.map(PyTable::new))
    }

    /// A function applied to each constituent, and to that of equal key of each of the others.
    fn transform(
        &self,
        py: Python<'_>,
        method: &str,
        name: String,
        function: Py<PyAny>,
        others: Vec<Bound<'_, PyPartitioned>>,
        dependencies: Vec<Bound<'_, PyTable>>,
    ) -> PyResult<PyPartitioned> {
        let (made, call) = (self.engine(), call(py, method));
        let others: Vec<Partitioned> = others.iter().map(|other| other.get().engine().clone()).collect();
        let read: Vec<Table> =
            dependencies.iter().map(|table| table.get().checked().cloned()).collect::<PyResult<_>>()?;
        let function = Arc::new(PythonTransformer { method: method.to_owned(), name, call: function });
        let result = call_engine(py, || made.transform(&call, function, &others, &read))?;
        Ok(PyPartitioned(Some(result)))
    }

    /// All constituents as one table.
    fn merge(&self, py: Python<'_>, method: &str) -> PyResult<PyTable> {
        let (made, call) = (self.engine(), call(py, method));
        call_engine(py, || made.merge(&call)).map(PyTable::new)
    }
}
