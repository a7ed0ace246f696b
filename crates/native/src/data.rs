//! What a user may hand over as rows, made into record batches: a dict of columns, one dict of
//! scalars, a list of dicts, or anything that speaks the Arrow capsule protocol.
//!
//! With a schema, columns are matched by name, all needed and none extra, and widened only where no
//! value can be lost. Whatever does not fit raises before anything is applied.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyList, PyMapping, PyRange, PyString, PyTuple};

use crate::cells::{self, Place};
use crate::dtype::name_of;
use crate::error::{self, SchemaError, TypeMismatchError};
use crate::{arrow, numpy};

/// Rows that a user handed over.
pub struct Data {
    pub schema: SchemaRef,
    pub batches: Vec<RecordBatch>,
}

impl Data {
    pub fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// All rows as one batch.
    pub fn one_batch(self) -> PyResult<RecordBatch> {
        match <[RecordBatch; 1]>::try_from(self.batches) {
            Ok([batch]) => Ok(batch),
            Err(batches) => arrow_select::concat::concat_batches(&self.schema, &batches).map_err(error::arrow),
        }
    }
}

/// Rows in the types they have, or in those of `schema`.
pub fn import(operation: &str, data: &Bound<'_, PyAny>, schema: Option<&SchemaRef>) -> PyResult<Data> {
    if let Ok(columns) = data.cast::<PyDict>() {
        return from_columns(operation, columns, schema);
    }
    if let Some((found, batches)) = arrow::import_batches(data)? {
        return match schema {
            None => Ok(Data { schema: found, batches }),
            Some(wanted) => in_schema(operation, batches, &found, wanted),
        };
    }
    if data.is_instance_of::<PyList>() || data.is_instance_of::<PyTuple>() {
        let rows: Vec<Bound<'_, PyAny>> = data.try_iter()?.collect::<PyResult<_>>()?;
        return from_dicts(operation, &rows, schema);
    }
    if data.cast::<PyMapping>().is_ok() {
        let columns = PyDict::new(data.py());
        columns.update(data.cast::<PyMapping>()?)?;
        return from_columns(operation, &columns, schema);
    }
    Err(TypeMismatchError::new_err(format!(
        "{operation}: {} is no table; give a dict of columns, a dict of scalars for one row, a list of dicts, or \
         anything with __arrow_c_stream__ (pyarrow, polars, pandas, duckdb, another Table)",
        data.get_type().name()?
    )))
}

fn check_names<'a>(operation: &str, given: impl Iterator<Item = &'a str>, wanted: &Schema) -> PyResult<()> {
    let given: Vec<&str> = given.collect();
    let names: Vec<&str> = wanted.fields().iter().map(|field| field.name().as_str()).collect();
    let missing: Vec<&str> = names.iter().filter(|name| !given.contains(name)).copied().collect();
    let extra: Vec<&str> = given.iter().filter(|name| !names.contains(name)).copied().collect();
    if missing.is_empty() && extra.is_empty() {
        return Ok(());
    }
    let listed = |what: &str, names: &[&str]| {
        (!names.is_empty()).then(|| {
            let plural = if names.len() == 1 { "column" } else { "columns" };
            let names = names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
            format!("{what} {plural} {names}")
        })
    };
    let faults = [listed("missing", &missing), listed("extra", &extra)].into_iter().flatten().collect::<Vec<_>>();
    Err(SchemaError::new_err(format!("{operation}: {}; the columns are {names:?}", faults.join(" and "))))
}

fn in_schema(operation: &str, batches: Vec<RecordBatch>, found: &SchemaRef, wanted: &SchemaRef) -> PyResult<Data> {
    check_names(operation, found.fields().iter().map(|field| field.name().as_str()), wanted)?;
    let order: Vec<usize> = wanted
        .fields()
        .iter()
        .map(|field| found.index_of(field.name()).map_err(error::arrow))
        .collect::<PyResult<_>>()?;
    let batches = batches
        .iter()
        .map(|batch| {
            let columns = order
                .iter()
                .zip(wanted.fields())
                .map(|(index, field)| fit(operation, batch.column(*index), field))
                .collect::<PyResult<Vec<_>>>()?;
            batch_of(wanted, columns, batch.num_rows())
        })
        .collect::<PyResult<Vec<_>>>()?;
    Ok(Data { schema: wanted.clone(), batches })
}

fn batch_of(schema: &SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> PyResult<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options).map_err(error::arrow)
}

/// The array in the declared type, if every possible value of its own type fits.
fn fit(operation: &str, array: &ArrayRef, field: &Field) -> PyResult<ArrayRef> {
    let (given, wanted) = (array.data_type(), field.data_type());
    if given == wanted {
        return Ok(array.clone());
    }
    if *given == DataType::Null {
        return Ok(new_null_array(wanted, array.len()));
    }
    if !::column::widens(given, wanted) {
        return Err(TypeMismatchError::new_err(format!(
            "{operation}: column {:?} is {}, but the data holds {}; cast the data to {} first",
            field.name(),
            name_of(wanted),
            name_of(given),
            name_of(wanted)
        )));
    }
    ::column::kind::cast(array, wanted).map_err(|why| {
        error::DataError::new_err(format!("{operation}: column {:?} is {}: {why}", field.name(), name_of(wanted)))
    })
}

enum Given<'py> {
    Scalar(Bound<'py, PyAny>),
    Cells(Vec<Bound<'py, PyAny>>),
    Array(ArrayRef),
}

impl Given<'_> {
    fn of<'py>(value: &Bound<'py, PyAny>) -> PyResult<Given<'py>> {
        let scalar = value.is_instance_of::<PyString>()
            || value.is_instance_of::<PyBytes>()
            || value.is_instance_of::<PyByteArray>()
            || value.is_instance_of::<PyDict>();
        if scalar || value.is_none() {
            return Ok(Given::Scalar(value.clone()));
        }
        if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() || value.is_instance_of::<PyRange>() {
            return Ok(Given::Cells(value.try_iter()?.collect::<PyResult<_>>()?));
        }
        if numpy::is_array(value) {
            return match numpy::import(value)? {
                Some(array) => Ok(Given::Array(array)),
                None => Ok(Given::Cells(value.call_method0("tolist")?.try_iter()?.collect::<PyResult<_>>()?)),
            };
        }
        let exact =
            value.is_exact_instance_of::<pyo3::types::PyInt>() || value.is_exact_instance_of::<pyo3::types::PyFloat>();
        if exact {
            return Ok(Given::Scalar(value.clone()));
        }
        if value.hasattr("__arrow_c_array__")? || value.hasattr("__arrow_c_stream__")? {
            let chunks = arrow::import_chunks(value)?;
            let parts: Vec<&dyn Array> = chunks.iter().map(AsRef::as_ref).collect();
            return match parts.len() {
                0 => Ok(Given::Cells(Vec::new())),
                1 => Ok(Given::Array(chunks[0].clone())),
                _ => arrow_select::concat::concat(&parts).map(Given::Array).map_err(error::arrow),
            };
        }
        if value.hasattr("__array__")? && value.hasattr("tolist")? && value.hasattr("__len__")? {
            let array = value.call_method0("__array__")?;
            if array.getattr("ndim")?.extract::<usize>()? == 1 {
                return Given::of(&array);
            }
        }
        Ok(Given::Scalar(value.clone()))
    }

    fn len(&self) -> Option<usize> {
        match self {
            Given::Scalar(_) => None,
            Given::Cells(cells) => Some(cells.len()),
            Given::Array(array) => Some(array.len()),
        }
    }
}

fn from_columns(operation: &str, columns: &Bound<'_, PyDict>, schema: Option<&SchemaRef>) -> PyResult<Data> {
    let mut names = Vec::with_capacity(columns.len());
    let mut values = Vec::with_capacity(columns.len());
    for (name, value) in columns.iter() {
        let name = name
            .extract::<String>()
            .map_err(|_| SchemaError::new_err(format!("{operation}: a column name must be a str, not {name:?}")))?;
        names.push(name);
        values.push(value);
    }
    if let Some(schema) = schema {
        check_names(operation, names.iter().map(String::as_str), schema)?;
    }
    let mut given = values.iter().map(Given::of).collect::<PyResult<Vec<_>>>()?;
    let rows = row_count(operation, &names, &mut given, &values, schema)?;
    let mut built = Vec::with_capacity(names.len());
    for (name, given) in names.iter().zip(given) {
        let wanted = schema.map(|schema| schema.field_with_name(name)).transpose().map_err(error::arrow)?;
        built.push(column(Place { operation, column: name }, given, wanted)?);
    }
    let Some(schema) = schema else {
        let fields: Vec<Field> =
            names.iter().zip(&built).map(|(name, array)| Field::new(name, array.data_type().clone(), true)).collect();
        let schema = Arc::new(Schema::new(fields));
        let batch = batch_of(&schema, built, rows)?;
        return Ok(Data { schema, batches: vec![batch] });
    };
    let mut ordered = Vec::with_capacity(built.len());
    for field in schema.fields() {
        let index = names.iter().position(|name| name == field.name()).expect("the names were checked");
        ordered.push(built[index].clone());
    }
    Ok(Data { schema: schema.clone(), batches: vec![batch_of(schema, ordered, rows)?] })
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
        *given = Given::Cells(vec![value.clone()]);
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
        (Given::Array(array), Some(field)) => fit(place.operation, &array, field),
        (Given::Array(array), None) => Ok(array),
        (Given::Cells(cells), Some(field)) => cells::build(&cells, field.data_type(), place),
        (Given::Cells(cells), None) => cells::build(&cells, &cells::infer(&cells, place)?, place),
        (Given::Scalar(value), Some(field)) => cells::build(&[value], field.data_type(), place),
        (Given::Scalar(value), None) => {
            let cells = [value];
            cells::build(&cells, &cells::infer(&cells, place)?, place)
        }
    }
}

/// A list of dicts; a missing key is null, and without a schema the columns are those of any row.
pub fn from_dicts(operation: &str, rows: &[Bound<'_, PyAny>], schema: Option<&SchemaRef>) -> PyResult<Data> {
    let mut names: Vec<String> = match schema {
        Some(schema) => schema.fields().iter().map(|field| field.name().clone()).collect(),
        None => Vec::new(),
    };
    let mut columns: Vec<Vec<Bound<'_, PyAny>>> = vec![Vec::with_capacity(rows.len()); names.len()];
    for (index, row) in rows.iter().enumerate() {
        let none = row.py().None().into_bound(row.py());
        let Ok(dict) = row.cast::<PyDict>() else {
            return Err(TypeMismatchError::new_err(format!(
                "{operation}: row {index} is {}, not a dict from column name to value",
                row.get_type().name()?
            )));
        };
        for (name, value) in dict.iter() {
            let name: String = name.extract()?;
            match names.iter().position(|known| *known == name) {
                Some(position) => columns[position].push(value),
                None if schema.is_some() => {
                    check_names(
                        operation,
                        names.iter().map(String::as_str).chain([name.as_str()]),
                        schema.expect("just seen"),
                    )?;
                }
                None => {
                    names.push(name);
                    let mut column = vec![none.clone(); index];
                    column.push(value);
                    columns.push(column);
                }
            }
        }
        for column in &mut columns {
            if column.len() == index {
                column.push(none.clone());
            }
        }
    }
    let mut arrays = Vec::with_capacity(names.len());
    for (index, (name, cells)) in names.iter().zip(&columns).enumerate() {
        let place = Place { operation, column: name };
        let kind = match schema {
            Some(schema) => schema.field(index).data_type().clone(),
            None => cells::infer(cells, place)?,
        };
        arrays.push(cells::build(cells, &kind, place)?);
    }
    let schema = schema.cloned().unwrap_or_else(|| {
        let fields = names.iter().zip(&arrays).map(|(name, array)| Field::new(name, array.data_type().clone(), true));
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    });
    let batch = batch_of(&schema, arrays, rows.len())?;
    Ok(Data { schema, batches: vec![batch] })
}
