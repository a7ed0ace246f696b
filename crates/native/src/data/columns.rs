//! Columns by name: lists, arrays and single values.

use std::collections::HashMap;
use std::sync::Arc;

use ::column::sound::Tally;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{Field, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyIterator, PyList, PyRange, PyString, PyTuple};

use super::{Data, batch_of, checked, in_schema};
use crate::arrow::{self, Sharing};
use crate::cells::{self, Place};
use crate::error::{self, SchemaError};
use crate::numpy;

enum Given<'py> {
    Scalar(Bound<'py, PyAny>),
    Cells(Vec<Bound<'py, PyAny>>),
    Array(ArrayRef),
    /// With what its producer says of it.
    Column(Field, ArrayRef),
}

impl Given<'_> {
    fn of<'py>(place: Place<'_>, value: &Bound<'py, PyAny>, sharing: Sharing) -> PyResult<Given<'py>> {
        let scalar = value.is_instance_of::<PyString>()
            || value.is_instance_of::<PyBytes>()
            || value.is_instance_of::<PyByteArray>()
            || value.is_instance_of::<PyDict>();
        if scalar || value.is_none() {
            return Ok(Given::Scalar(value.clone()));
        }
        if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() || value.is_instance_of::<PyRange>() {
            return Ok(Given::Cells(cells::collected(place.operation, value)?));
        }
        if numpy::is_array(value) {
            return match numpy::import_as(&place.to_string(), value, sharing)? {
                Some(array) => Ok(Given::Array(array)),
                None => Ok(Given::Cells(cells::collected(place.operation, &value.call_method0("tolist")?)?)),
            };
        }
        let exact =
            value.is_exact_instance_of::<pyo3::types::PyInt>() || value.is_exact_instance_of::<pyo3::types::PyFloat>();
        if exact {
            return Ok(Given::Scalar(value.clone()));
        }
        if arrow::is_arrow(value)? {
            let of = place.to_string();
            let (field, chunks) = arrow::import_column(&of, value, sharing)?;
            let parts: Vec<&dyn Array> = chunks.iter().map(AsRef::as_ref).collect();
            let whole = match parts.len() {
                0 => return Ok(Given::Cells(Vec::new())),
                1 => chunks[0].clone(),
                _ => {
                    let need: usize = chunks.iter().map(|chunk| chunk.get_array_memory_size()).sum();
                    limits::ask(need as u64).map_err(|why| error::exhausted(&of, &why))?;
                    arrow_select::concat::concat(&parts).map_err(error::arrow)?
                }
            };
            return Ok(if formula::categories::has_own_order(&field) {
                Given::Column(field, whole)
            } else {
                Given::Array(whole)
            });
        }
        if value.get_type().module()?.to_str()?.starts_with("pandas.")
            && value
                .getattr("dtype")
                .is_ok_and(|kind| kind.get_type().name().is_ok_and(|name| name == "CategoricalDtype"))
        {
            // As an array its categories and their order would be lost.
            let cells = value
                .py()
                .import("tickframe.interchange")?
                .call_method1("arrow_of_categories", (place.operation, value))?;
            return Given::of(place, &cells, sharing);
        }
        if value.hasattr("__array__")? && value.hasattr("tolist")? && value.hasattr("__len__")? {
            let array = value.call_method0("__array__")?;
            if array.getattr("ndim")?.extract::<usize>()? == 1 {
                return Given::of(place, &array, sharing);
            }
        }
        if value.is_instance_of::<PyIterator>() || is_sequence(value)? {
            return Ok(Given::Cells(cells::collected(place.operation, value)?));
        }
        Ok(Given::Scalar(value.clone()))
    }

    fn len(&self) -> Option<usize> {
        match self {
            Given::Scalar(_) => None,
            Given::Cells(cells) => Some(cells.len()),
            Given::Array(array) | Given::Column(_, array) => Some(array.len()),
        }
    }
}

/// A dict from name to column; a dict of scalars is one row.
pub(super) fn of_dict(
    operation: &str,
    columns: &Bound<'_, PyDict>,
    schema: Option<&SchemaRef>,
    sharing: Sharing,
) -> PyResult<Data> {
    checked(operation, Tally::columns(columns.len()))?;
    let mut names = Vec::with_capacity(columns.len());
    let mut values = Vec::with_capacity(columns.len());
    for (name, value) in columns.iter() {
        let name = name
            .extract::<String>()
            .map_err(|_| SchemaError::new_err(format!("{operation}: a column name must be a str, not {name:?}")))?;
        checked(operation, Tally::name(name.len()))?;
        names.push(name);
        values.push(value);
    }
    if let Some(schema) = schema {
        engine::sources::check_names(operation, schema, names.iter().map(String::as_str)).map_err(error::raise)?;
    }
    let given =
        names.iter().zip(&values).map(|(name, value)| Given::of(Place { operation, column: name }, value, sharing));
    let mut given = given.collect::<PyResult<Vec<_>>>()?;
    let rows = row_count(operation, &names, &mut given, &values, schema)?;
    let wanted: Option<HashMap<&str, &Field>> =
        schema.map(|schema| schema.fields().iter().map(|field| (field.name().as_str(), field.as_ref())).collect());
    let mut built = Vec::with_capacity(names.len());
    let mut told: HashMap<&str, Field> = HashMap::new();
    for (name, given) in names.iter().zip(given) {
        if let Given::Column(field, _) = &given {
            told.insert(name, field.clone().with_name(name).with_nullable(true));
        }
        let wanted = wanted.as_ref().map(|wanted| wanted[name.as_str()]);
        built.push(column(Place { operation, column: name }, given, wanted)?);
    }
    let field = |(name, array): (&String, &ArrayRef)| {
        told.remove(name.as_str()).unwrap_or_else(|| Field::new(name, array.data_type().clone(), true))
    };
    let found = Arc::new(Schema::new(names.iter().zip(&built).map(field).collect::<Vec<Field>>()));
    let batches = vec![batch_of(&found, built, rows)?];
    match schema {
        None => Ok(Data { schema: found, batches }),
        Some(wanted) => in_schema(columns.py(), operation, batches, &found, wanted),
    }
}

/// The number of rows. One scalar makes the whole dict one row, in which a list can only be a cell.
fn row_count<'py>(
    operation: &str,
    names: &[String],
    given: &mut [Given<'py>],
    values: &[Bound<'py, PyAny>],
    schema: Option<&SchemaRef>,
) -> PyResult<usize> {
    let scalar = given.iter().position(|given| given.len().is_none());
    let sized = given.iter().position(|given| given.len().is_some());
    let (Some(scalar), sized) = (scalar, sized) else {
        return equal_lengths(operation, names, given);
    };
    let nested = |name: &String| {
        schema.is_some_and(|schema| schema.field_with_name(name).is_ok_and(|field| field.data_type().is_nested()))
    };
    if let Some(sized) = sized
        && !given.iter().zip(names).all(|(given, name)| given.len().is_none() || nested(name))
    {
        return Err(SchemaError::new_err(format!(
            "{operation}: column {:?} is one value while column {:?} has {} rows; give a list for each, or one value \
             for each (a single row)",
            names[scalar],
            names[sized],
            given[sized].len().unwrap_or(0)
        )));
    }
    for (given, value) in given.iter_mut().zip(values) {
        *given = Given::Cells(cells::some(vec![value.clone()]));
    }
    Ok(1)
}

fn equal_lengths(operation: &str, names: &[String], given: &[Given<'_>]) -> PyResult<usize> {
    let lengths: Vec<usize> = given.iter().filter_map(Given::len).collect();
    let Some(first) = lengths.first() else { return Ok(0) };
    match lengths.iter().position(|length| length != first) {
        None => Ok(*first),
        Some(other) => Err(SchemaError::new_err(format!(
            "{operation}: columns of unequal length: {:?} has {first} rows, {:?} has {}",
            names[0], names[other], lengths[other]
        ))),
    }
}

fn column(place: Place<'_>, given: Given<'_>, wanted: Option<&Field>) -> PyResult<ArrayRef> {
    match (given, wanted) {
        // The engine casts it, if it has another type.
        (Given::Array(array) | Given::Column(_, array), _) => Ok(array),
        (Given::Cells(cells), Some(field)) => cells::build(&cells, field.data_type(), place),
        (Given::Cells(cells), None) => cells::build(&cells, &cells::infer(&cells, place)?, place),
        (Given::Scalar(value), Some(field)) => cells::build(&cells::some(vec![value]), field.data_type(), place),
        (Given::Scalar(value), None) => {
            let cells = cells::some(vec![value]);
            cells::build(&cells, &cells::infer(&cells, place)?, place)
        }
    }
}

/// Whether it holds values in an order: a deque, an array of the standard library, the values of a dict. A set has none.
fn is_sequence(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    if value.is_instance_of::<pyo3::types::PyMemoryView>() {
        return Ok(false);
    }
    let abc = value.py().import("collections.abc")?;
    let classes = PyTuple::new(
        value.py(),
        [abc.getattr("Sequence")?, abc.getattr("ValuesView")?, value.py().import("array")?.getattr("array")?],
    )?;
    value.is_instance(&classes)
}
