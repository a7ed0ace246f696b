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
use crate::error::Raised;
use crate::gil::{self, call_engine};
use crate::graph::PyGraph;
use crate::raised::{self, is_interrupt};
use crate::schema::PySchema;
use crate::table::PyTable;

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
        let called = |py: Python<'_>| {
            py.check_signals()?;
            let _function = ending::Function::runs(py, &self.name)?;
            let tables: Vec<PyTable> = tables.iter().cloned().map(PyTable::new).collect();
            let given = self.call.bind(py).call1((tables,))?;
            let data = data::import("function_generated_table", &given, self.schema.get())?;
            self.schema.get_or_init(|| data.schema.clone());
            data.one_batch()
        };
        Python::attach(|py| called(py).map_err(|raised| self.failure(py, &raised)))
    }
}

impl PythonGenerator {
    fn failure(&self, py: Python<'_>, raised: &PyErr) -> engine::Error {
        if is_interrupt(py, raised) {
            gil::interrupts_others(py, raised.clone_ref(py));
            return raised::interrupt(py, raised);
        }
        let kind = raised.get_type(py).name().map_or_else(|_| "an exception".to_owned(), |name| name.to_string());
        let message = format!("{} raised {kind}: {}", self.name, raised.value(py));
        let payload: engine::External = Arc::new(Raised(raised.value(py).clone().into_any().unbind()));
        engine::Error::External { message, payload: Some(payload) }
    }
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
    let when: Vec<Table> = when.iter().map(|table| table.get().usable().cloned()).collect::<PyResult<_>>()?;
    let graph = &graph.get().0.graph;
    let asked = crate::ops::call(py, "function_generated_table");
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
    let table = table.get().usable()?;
    let graph = &graph.get().0.graph;
    let made = call_engine(py, || Release::table(table, graph, first, each))?;
    Ok(PyTable::new(made.located(crate::ops::here(py))))
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
    let given = tables.iter().map(|(table, name)| Ok((table.get().usable()?.clone(), name.clone())));
    let given: Vec<(Table, String)> = given.collect::<PyResult<_>>()?;
    let graph = &graph.get().0.graph;
    let made = call_engine(py, || Replay::tables(graph, &given, speed, start_ns))?;
    let here = crate::ops::here(py);
    Ok(made.into_iter().map(|table| PyTable::new(table.located(here.clone()))).collect())
}
