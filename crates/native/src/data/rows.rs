//! Rows one by one: dicts, dataclasses, named tuples.

use std::collections::HashMap;
use std::sync::Arc;

use ::column::sound::Tally;
use arrow_array::Array;
use arrow_schema::{Field, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyTuple};

use super::{Data, batch_of, checked, in_schema};
use crate::cells::{self, Place};
use crate::error::{self, TypeMismatchError};

/// One row by the names of its columns: a mapping, a dataclass, a named tuple.
pub(super) fn as_dict<'py>(row: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyDict>>> {
    if let Ok(dict) = row.cast::<PyDict>() {
        return Ok(Some(dict.clone()));
    }
    if row.cast::<PyMapping>().is_ok() {
        let dict = PyDict::new(row.py());
        dict.update(row.cast::<PyMapping>()?)?;
        return Ok(Some(dict));
    }
    let names = if row.is_instance_of::<PyTuple>() {
        if !row.hasattr("_fields")? {
            return Ok(None);
        }
        row.getattr("_fields")?
    } else if let Ok(fields) = row.get_type().getattr("__dataclass_fields__") {
        fields
    } else {
        return Ok(None);
    };
    let dict = PyDict::new(row.py());
    for name in names.try_iter()? {
        let name: String = name?.extract()?;
        dict.set_item(&name, row.getattr(name.as_str())?)?;
    }
    Ok(Some(dict))
}

/// A list of rows; a missing key is null, and without a schema the columns are those of any row.
pub(super) fn of_list(
    py: Python<'_>,
    operation: &str,
    rows: &[Bound<'_, PyAny>],
    schema: Option<&SchemaRef>,
) -> PyResult<Data> {
    let mut names: Vec<String> = match schema {
        Some(schema) => schema.fields().iter().map(|field| field.name().clone()).collect(),
        None => Vec::new(),
    };
    let mut places: HashMap<String, usize> = names.iter().cloned().zip(0..).collect();
    let mut columns: Vec<Vec<Bound<'_, PyAny>>> = vec![Vec::with_capacity(rows.len()); names.len()];
    for (index, row) in rows.iter().enumerate() {
        let none = row.py().None().into_bound(row.py());
        let Some(dict) = as_dict(row)? else {
            return Err(TypeMismatchError::new_err(format!(
                "{operation}: row {index} is {}, not a dict from column name to value (nor a dataclass or named tuple)",
                row.get_type().name()?
            )));
        };
        for (name, value) in dict.iter() {
            let name: String = name.extract()?;
            if let Some(place) = places.get(&name) {
                columns[*place].push(value);
                continue;
            }
            if let Some(schema) = schema {
                let names = names.iter().chain([&name]).map(String::as_str);
                engine::sources::check_names(operation, schema, names).map_err(error::raise)?;
            }
            checked(operation, Tally::name(name.len()).and_then(|()| Tally::columns(names.len() + 1)))?;
            places.insert(name.clone(), names.len());
            names.push(name);
            let mut column = vec![none.clone(); index];
            column.push(value);
            columns.push(column);
        }
        for column in &mut columns {
            if column.len() == index {
                column.push(none.clone());
            }
        }
    }
    let mut arrays = Vec::with_capacity(names.len());
    for (index, (name, values)) in names.iter().zip(columns).enumerate() {
        let place = Place { operation, column: name };
        let values = cells::some(values);
        let kind = match schema {
            Some(schema) => schema.field(index).data_type().clone(),
            None => cells::infer(&values, place)?,
        };
        arrays.push(cells::build(&values, &kind, place)?);
    }
    let fields = names.iter().zip(&arrays).map(|(name, array)| Field::new(name, array.data_type().clone(), true));
    let found = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let batches = vec![batch_of(&found, arrays, rows.len())?];
    match schema {
        None => Ok(Data { schema: found, batches }),
        Some(wanted) => in_schema(py, operation, batches, &found, wanted),
    }
}
