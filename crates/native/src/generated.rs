//! Sources that nobody feeds: what a function gives, and rows that are given out bit by bit.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use engine::Table;
use engine::sources::{Generated, Generator, Release, Replay};
use pyo3::prelude::*;

use crate::data;
use crate::ending::{self, Inside};
use crate::error::{self, Raised};
use crate::gil::{self, call_engine};
use crate::graph::PyGraph;
use crate::raised::{self, Fault, is_interrupt};
use crate::schema::PySchema;
use crate::table::PyTable;

const METHOD: &str = "function_generated_table";

/// A Python function that is given native tables, and gives data.
struct PythonGenerator {
    name: String,
    call: Py<PyAny>,
    /// The columns of the rows: as they were asked for, else those of the first that were given.
    schema: OnceLock<SchemaRef>,
}

impl Generator for PythonGenerator {
    fn generate(&self, tables: &[Table]) -> Result<RecordBatch, engine::Error> {
        let _scope = engine::function_scope();
        let _inside = Inside::enter();
        Python::attach(|py| {
            let given = self.called(py, tables).map_err(|raised| self.failure(py, &raised))?;
            self.imported(&given).map_err(|raised| as_it_is(py, &raised))
        })
    }
}

impl PythonGenerator {
    fn called<'py>(&self, py: Python<'py>, tables: &[Table]) -> PyResult<Bound<'py, PyAny>> {
        py.check_signals()?;
        let _function = ending::Function::runs(py, &self.name)?;
        let tables: Vec<PyTable> = tables.iter().cloned().map(PyTable::new).collect();
        self.call.bind(py).call1((tables,))
    }

    fn imported(&self, given: &Bound<'_, PyAny>) -> PyResult<RecordBatch> {
        if given.is_none() {
            let message = format!("{METHOD}: {} gave None: does it lack a return?", self.name);
            return Err(pyo3::exceptions::PyTypeError::new_err(message));
        }
        let data = data::import(METHOD, given, self.schema.get())?;
        if self.schema.get().is_none() {
            let untyped = data.schema.fields().iter().find(|field| field.data_type().is_null());
            if let Some(field) = untyped {
                let name = field.name();
                let message = format!(
                    "{} gave no value in column {name:?} at first, so its type is not known, and later rows \
                     would not fit; say it: schema={{{name:?}: float, ...}}",
                    self.name
                );
                return Err(error::raise(engine::Error::Schema { operation: METHOD.into(), message }));
            }
        }
        self.schema.get_or_init(|| data.schema.clone());
        data.one_batch()
    }

    /// What the function raised, as other functions of the user are told.
    fn failure(&self, py: Python<'_>, raised: &PyErr) -> engine::Error {
        if is_interrupt(py, raised) {
            gil::interrupts_others(py, raised.clone_ref(py));
            return raised::interrupt(py, raised);
        }
        let kind = raised.get_type(py).name().map_or_else(|_| "an exception".to_owned(), |name| name.to_string());
        let message = format!("{METHOD}: {} raised {kind}: {}", self.name, raised.value(py));
        let payload: engine::External = Arc::new(Fault(raised.value(py).clone().into_any().unbind()));
        engine::Error::External { message, payload: Some(payload) }
    }
}

/// What was raised of data that are none.
fn as_it_is(py: Python<'_>, raised: &PyErr) -> engine::Error {
    let payload: engine::External = Arc::new(Raised(raised.value(py).clone().into_any().unbind()));
    engine::Error::External { message: raised.value(py).to_string(), payload: Some(payload) }
}

/// A table of what a function gives, each time it is called.
#[pyfunction]
#[pyo3(signature = (graph, name, call, every_ns, when, schema = None))]
pub fn function_generated_table(
    py: Python<'_>,
    graph: &Bound<'_, PyGraph>,
    name: String,
    call: Py<PyAny>,
    every_ns: Option<u64>,
    when: Vec<Bound<'_, PyTable>>,
    schema: Option<&Bound<'_, PySchema>>,
) -> PyResult<PyTable> {
    let when: Vec<Table> = when.iter().map(|table| table.get().checked().cloned()).collect::<PyResult<_>>()?;
    let graph = &graph.get().0.graph;
    let asked = crate::ops::call(py, METHOD);
    let schema = schema.map_or_else(OnceLock::new, |schema| schema.get().0.clone().into());
    let generator = Arc::new(PythonGenerator { name, call, schema });
    let every = every_ns.map(Duration::from_nanos);
    call_engine(py, || Generated::table(&asked, graph, generator, every, &when)).map(PyTable::new)
}

/// A table that is given out in portions.
#[pyfunction]
pub fn incremental_release(
    py: Python<'_>,
    graph: &Bound<'_, PyGraph>,
    table: &Bound<'_, PyTable>,
    first: u64,
    each: u64,
) -> PyResult<PyTable> {
    let table = table.get().checked()?;
    let graph = &graph.get().0.graph;
    let made = call_engine(py, || Release::table(table, graph, first, each))?;
    Ok(PyTable::new(made.located(crate::place::here(py))))
}

/// Static tables whose rows appear as their stamps come.
#[pyfunction]
#[pyo3(signature = (graph, tables, speed, start_ns))]
pub fn replay(
    py: Python<'_>,
    graph: &Bound<'_, PyGraph>,
    tables: Vec<(Bound<'_, PyTable>, String)>,
    speed: f64,
    start_ns: Option<i64>,
) -> PyResult<Vec<PyTable>> {
    let given = tables.iter().map(|(table, name)| Ok((table.get().checked()?.clone(), name.clone())));
    let given: Vec<(Table, String)> = given.collect::<PyResult<_>>()?;
    let graph = &graph.get().0.graph;
    let made = call_engine(py, || Replay::tables(graph, &given, speed, start_ns))?;
    let here = crate::place::here(py);
    Ok(made.into_iter().map(|table| PyTable::new(table.located(here.clone()))).collect())
}
