//! The schema of a table as Python sees it.

use std::collections::HashSet;
use std::sync::Arc;

use ::column::sound::{self, Tally};
use arrow_schema::{Field, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::arrow;
use crate::dtype::{from_spec, to_spec};
use crate::error::unsound;

/// The names and types of columns, in order; a value.
#[pyclass(frozen, name = "Schema", module = "tickframe._native")]
pub struct PySchema(pub SchemaRef);

#[pymethods]
impl PySchema {
    #[new]
    fn new(columns: Vec<(String, Bound<'_, PyTuple>)>) -> PyResult<PySchema> {
        Tally::columns(columns.len()).map_err(|wrong| unsound("schema", &wrong))?;
        let fields = columns
            .into_iter()
            .map(|(name, spec)| Ok(Field::new(name, from_spec(&spec)?, true)))
            .collect::<PyResult<Vec<Field>>>()?;
        PySchema::checked(Schema::new(fields))
    }

    /// From anything with `__arrow_c_schema__`.
    #[staticmethod]
    fn from_arrow(source: &Bound<'_, PyAny>) -> PyResult<PySchema> {
        PySchema::checked(arrow::import_schema(source)?)
    }

    fn specs<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyTuple>)>> {
        self.0.fields().iter().map(|field| Ok((field.name().clone(), to_spec(py, field.data_type())?))).collect()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        arrow::schema_capsule(py, &self.0)
    }
}

impl PySchema {
    fn checked(schema: Schema) -> PyResult<PySchema> {
        sound::schema(&schema).map_err(|wrong| unsound("schema", &wrong))?;
        let mut known = HashSet::new();
        if let Some(twice) = schema.fields().iter().find(|field| !known.insert(field.name())) {
            return Err(crate::error::duplicate("schema", twice.name()));
        }
        Ok(PySchema(Arc::new(schema)))
    }
}
