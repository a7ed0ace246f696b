//! Conversion of a user's rows to record batches: from a dict of columns, one dict of scalars, a list of dicts, or any
//! object with the Arrow capsule protocol.
//!
//! With a schema, columns are matched by name, all needed and none extra, and widened only where no
//! value can be lost. Whatever does not fit raises before anything is applied.

mod columns;
mod pandas;
mod rows;

use std::collections::{HashMap, HashSet};

use ::column::sound::Unsound;
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList, PyString, PyTuple};

use crate::arrow::{self, Sharing};
use crate::cells;
use crate::dtype::name_of;
use crate::error::{self, SchemaError, TypeMismatchError};
use crate::table::PyTable;

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
///
/// They are ours from here on: what others can write to is copied.
pub fn import(operation: &str, data: &Bound<'_, PyAny>, schema: Option<&SchemaRef>) -> PyResult<Data> {
    import_as(operation, data, schema, Sharing::ByProducer)
}

/// As [`import`], but the caller says whether the memory may be shared.
pub fn import_as(
    operation: &str,
    data: &Bound<'_, PyAny>,
    schema: Option<&SchemaRef>,
    sharing: Sharing,
) -> PyResult<Data> {
    if let Ok(columns) = data.cast::<PyDict>() {
        return columns::of_dict(operation, columns, schema, sharing);
    }
    if sharing != Sharing::Copied
        && let Some(own) = PyTable::behind(data)?
    {
        return of_table(operation, data.py(), own.get(), schema);
    }
    if pandas::is_frame(data)? {
        return pandas::of_frame(operation, data, schema, sharing);
    }
    if arrow::is_arrow(data)? {
        return of_arrow(operation, data, schema, sharing);
    }
    if let Some(row) = rows::as_dict(data)? {
        return columns::of_dict(operation, &row, schema, sharing);
    }
    if data.is_instance_of::<PyList>() || data.is_instance_of::<PyTuple>() || data.is_instance_of::<PyIterator>() {
        return rows::of_list(operation, &cells::collected(operation, data)?, schema);
    }
    if data.get_type().name()? == "LazyFrame" {
        return Err(TypeMismatchError::new_err(format!("{operation}: LazyFrame is no table yet; collect() it first")));
    }
    if data.is_instance_of::<PyString>() || data.hasattr("__fspath__")? {
        return Err(TypeMismatchError::new_err(format!(
            "{operation}: {} is no table; if {} names a file, read it: tf.read_parquet(path), tf.read_csv(path), \
             tf.read_json(path), tf.read_ipc(path)",
            data.get_type().name()?,
            cells::shown(data)
        )));
    }
    Err(TypeMismatchError::new_err(format!(
        "{operation}: {} is no table; give a dict of columns, a dict of scalars for one row, a list of dicts, or \
         anything with __arrow_c_stream__ (pyarrow, polars, pandas, duckdb, another Table)",
        data.get_type().name()?
    )))
}

/// A table of this package: its blocks are ours, sound and never written to, so nothing is judged or copied.
fn of_table(operation: &str, py: Python<'_>, table: &PyTable, schema: Option<&SchemaRef>) -> PyResult<Data> {
    let (found, batches) = table.batches(py, false)?;
    match schema {
        None => Ok(Data { schema: found, batches }),
        Some(wanted) => in_schema(operation, batches, &found, wanted),
    }
}

fn of_arrow(operation: &str, data: &Bound<'_, PyAny>, schema: Option<&SchemaRef>, sharing: Sharing) -> PyResult<Data> {
    let (found, batches) = arrow::import_batches(operation, data, sharing)?;
    match schema {
        None => Ok(Data { schema: found, batches }),
        Some(wanted) => in_schema(operation, batches, &found, wanted),
    }
}

fn check_names<'a>(operation: &str, given: impl Iterator<Item = &'a str>, wanted: &Schema) -> PyResult<()> {
    let given: Vec<&str> = given.collect();
    let names: Vec<&str> = wanted.fields().iter().map(|field| field.name().as_str()).collect();
    let (given_set, wanted_set): (HashSet<&str>, HashSet<&str>) =
        (given.iter().copied().collect(), names.iter().copied().collect());
    let missing: Vec<&str> = names.iter().filter(|name| !given_set.contains(*name)).copied().collect();
    let extra: Vec<&str> = given.iter().filter(|name| !wanted_set.contains(*name)).copied().collect();
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

/// Converts batches to the schema `wanted`: columns are matched by name and cast to their declared types. Fails if a
/// column is missing or extra, or if a value does not fit.
pub fn in_schema(operation: &str, batches: Vec<RecordBatch>, found: &SchemaRef, wanted: &SchemaRef) -> PyResult<Data> {
    check_names(operation, found.fields().iter().map(|field| field.name().as_str()), wanted)?;
    let places: HashMap<&str, usize> =
        found.fields().iter().enumerate().map(|(index, field)| (field.name().as_str(), index)).collect();
    let order: Vec<usize> = wanted.fields().iter().map(|field| places[field.name().as_str()]).collect();
    let batches = batches
        .iter()
        .map(|batch| {
            let columns = order
                .iter()
                .zip(wanted.fields())
                .map(|(index, field)| fit(operation, batch.column(*index), field))
                .collect::<PyResult<Vec<_>>>()?;
            within_categories(operation, wanted, &columns)?;
            batch_of(wanted, columns, batch.num_rows())
        })
        .collect::<PyResult<Vec<_>>>()?;
    Ok(Data { schema: wanted.clone(), batches })
}

fn batch_of(schema: &SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> PyResult<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options).map_err(error::arrow)
}

/// Refuses cells that are none of the categories that their column names.
fn within_categories(operation: &str, schema: &SchemaRef, columns: &[ArrayRef]) -> PyResult<()> {
    let stranger =
        schema.fields().iter().zip(columns).find_map(|(field, cells)| engine::categories::stranger(field, cells));
    stranger.map_or(Ok(()), |why| Err(error::DataError::new_err(format!("{operation}: {why} (nothing was applied)"))))
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
    if !::column::types::widens(given, wanted) {
        return Err(TypeMismatchError::new_err(format!(
            "{operation}: column {:?} is {}, but the data holds {}; cast the data to {} first",
            field.name(),
            name_of(wanted),
            name_of(given),
            name_of(wanted)
        )));
    }
    if shown_bytes(array) > i32::MAX as u64 {
        return Err(error::ResourceError::new_err(format!(
            "{operation}: column {:?} has {} bytes of text in one piece, more than the 2 GiB that one may have; give it in \
             several calls",
            field.name(),
            shown_bytes(array)
        )));
    }
    ::column::types::cast(array, wanted).map_err(|why| {
        error::DataError::new_err(format!("{operation}: column {:?} is {}: {why}", field.name(), name_of(wanted)))
    })
}

/// The bytes that views show: more, perhaps, than they have, since several may show the same.
fn shown_bytes(array: &ArrayRef) -> u64 {
    let all = |lengths: &mut dyn Iterator<Item = u32>| lengths.map(u64::from).sum();
    match array.data_type() {
        DataType::Utf8View => all(&mut array.as_string_view().lengths()),
        DataType::BinaryView => all(&mut array.as_binary_view().lengths()),
        _ => 0,
    }
}

/// What a bound refuses, with the operation.
fn checked(operation: &str, judged: Result<(), Unsound>) -> PyResult<()> {
    judged.map_err(|unsound| error::unsound(operation, &unsound))
}
