//! Plans as Python has them: what a table was asked to be, as a value.

use std::collections::HashMap;

use engine::Table;
use engine::plan::{Drawing, Plan};
use formula::HostId;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error;
use crate::gil::call_engine;
use crate::ops::call;
use crate::schema::PySchema;
use crate::table::PyTable;
use crate::udf::PyUdf;

fn drawing_of(operation: &str, format: &str) -> PyResult<Drawing> {
    match format {
        "text" => Ok(Drawing::Text),
        "dot" => Ok(Drawing::Dot),
        "mermaid" => Ok(Drawing::Mermaid),
        other => {
            let message = format!("{operation}: format must be \"text\", \"dot\" or \"mermaid\", not {other:?}");
            Err(PyValueError::new_err(message))
        }
    }
}

fn checked(given: Vec<(String, Bound<'_, PyTable>)>) -> PyResult<Vec<(String, Table)>> {
    given.into_iter().map(|(name, table)| Ok((name, table.get().checked()?.clone()))).collect()
}

/// What a table was asked to be, down to the sources.
#[pyfunction]
pub fn plan_of(table: &Bound<'_, PyTable>) -> PyPlan {
    PyPlan(table.get().engine().plan())
}

/// A drawing of labels, each with the places of those that it stands on.
#[pyfunction]
pub fn draw(operation: &str, nodes: Vec<(String, Vec<usize>)>, format: &str) -> PyResult<String> {
    Ok(engine::plan::draw(&nodes, drawing_of(operation, format)?))
}

/// What a table was asked to be.
#[pyclass(frozen, name = "Plan", module = "tickframe._native")]
pub struct PyPlan(pub Plan);

#[pymethods]
impl PyPlan {
    /// The operations as a tree, the result first.
    fn text(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.nodes().to_string())
    }

    /// The plan as it was asked for, the rules that apply, and as it runs; measured over tables if there are any.
    fn explain(&self, py: Python<'_>, format: &str, given: Vec<(String, Bound<'_, PyTable>)>) -> PyResult<String> {
        let drawing = drawing_of("Plan.explain", format)?;
        if given.is_empty() {
            return Ok(py.detach(|| self.0.explain(drawing)));
        }
        let given = checked(given)?;
        let call = call(py, "Plan.explain");
        call_engine(py, move || self.0.explain_over(&call, &given, drawing))
    }

    fn to_json(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.to_json())
    }

    /// `functions`: those of the user that it may call, by name.
    #[staticmethod]
    fn from_json(py: Python<'_>, text: &str, functions: HashMap<String, Bound<'_, PyUdf>>) -> PyResult<PyPlan> {
        let functions: HashMap<String, HostId> =
            functions.into_iter().map(|(name, function)| Ok((name, function.get().id()?))).collect::<PyResult<_>>()?;
        py.detach(|| Plan::from_json(text, &functions)).map(PyPlan).map_err(error::raise)
    }

    /// Equal for equal plans.
    fn fingerprint(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.0.fingerprint())
    }

    /// The inputs by name, in order of use.
    fn inputs(&self) -> Vec<(String, PySchema)> {
        let nodes = self.0.nodes();
        nodes.given().map(|(name, input)| (name.to_owned(), PySchema(input.schema.clone()))).collect()
    }

    fn same(&self, py: Python<'_>, other: &Bound<'_, PyPlan>) -> bool {
        let other = other.get().0.clone();
        py.detach(|| self.0 == other)
    }

    /// The table that it makes of these, by the names of its inputs. `operation` is the method the user called.
    /// `still`: of the tables as they are now.
    fn run(
        &self,
        py: Python<'_>,
        operation: &str,
        given: Vec<(String, Bound<'_, PyTable>)>,
        still: bool,
    ) -> PyResult<PyTable> {
        let given = checked(given)?;
        let call = call(py, operation);
        let made = move || match still {
            true => self.0.collect(call, &given),
            false => self.0.run(call, &given),
        };
        call_engine(py, made).map(PyTable::new)
    }
}
