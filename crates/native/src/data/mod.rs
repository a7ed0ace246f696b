//! Conversion of a user's rows to record batches: from a dict of columns, one dict of scalars, a list of dicts, or any
//! object with the Arrow capsule protocol.
//!
//! With a schema, columns are matched by name, all needed and none extra, and widened only where no
//! value can be lost. Whatever does not fit raises before anything is applied.

mod columns;
mod pandas;
mod rows;

use ::column::sound::Unsound;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList, PyString, PyTuple};

use crate::arrow::{self, Sharing};
use crate::cells;
use crate::error::{self, TypeMismatchError};
use crate::gil::call_engine;
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
        return rows::of_list(data.py(), operation, &cells::collected(operation, data)?, schema);
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
        Some(wanted) => in_schema(py, operation, batches, &found, wanted),
    }
}

fn of_arrow(operation: &str, data: &Bound<'_, PyAny>, schema: Option<&SchemaRef>, sharing: Sharing) -> PyResult<Data> {
    let (found, batches) = arrow::import_batches(operation, data, sharing)?;
    match schema {
        None => Ok(Data { schema: found, batches }),
        Some(wanted) => in_schema(data.py(), operation, batches, &found, wanted),
    }
}

/// Batches in the schema `wanted`: the engine matches their columns by name and casts them, without the GIL.
pub fn in_schema(
    py: Python<'_>,
    operation: &str,
    batches: Vec<RecordBatch>,
    found: &SchemaRef,
    wanted: &SchemaRef,
) -> PyResult<Data> {
    let batches = call_engine(py, || engine::sources::in_schema(operation, found, &batches, wanted))?;
    Ok(Data { schema: wanted.clone(), batches })
}

fn batch_of(schema: &SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> PyResult<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options).map_err(error::arrow)
}

/// What a bound refuses, with the operation.
fn checked(operation: &str, judged: Result<(), Unsound>) -> PyResult<()> {
    judged.map_err(|unsound| error::unsound(operation, &unsound))
}
