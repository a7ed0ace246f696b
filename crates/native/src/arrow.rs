//! The border: the Arrow PyCapsule protocol, in and out, over the C data interface.
//!
//! What comes in is owned by its capsule until it is moved out; a capsule that was read is left
//! released, as the protocol asks. What goes out carries no Python object, so any thread may drop it.
#![allow(unsafe_code, reason = "the C data interface is raw pointers in capsules")]

use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchIterator, RecordBatchOptions, StructArray, make_array};
use arrow_schema::{Field, FieldRef, Schema, SchemaRef};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use crate::error;
use crate::outside::outside;

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

/// The schema behind `__arrow_c_schema__`, every field nullable: operations may bring nulls anywhere.
pub fn import_schema(source: &Bound<'_, PyAny>) -> PyResult<Schema> {
    let capsule = source.call_method0("__arrow_c_schema__")?;
    schema_in(capsule.cast::<PyCapsule>()?)
}

fn schema_in(capsule: &Bound<'_, PyCapsule>) -> PyResult<Schema> {
    let pointer = capsule.pointer_checked(Some(SCHEMA))?.cast::<FFI_ArrowSchema>();
    // SAFETY: a capsule of this name holds a valid ArrowSchema, which we only read.
    let schema = unsafe { pointer.as_ref() };
    if schema.release().is_none() {
        return Err(PyValueError::new_err("the Arrow schema was already released"));
    }
    Ok(relaxed(&Schema::try_from(schema).map_err(error::arrow)?))
}

fn relaxed(schema: &Schema) -> Schema {
    let fields: Vec<Field> = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true)).collect();
    Schema::new_with_metadata(fields, schema.metadata().clone())
}

/// All batches behind `__arrow_c_stream__` or `__arrow_c_array__`, without a copy.
pub fn import_batches(source: &Bound<'_, PyAny>) -> PyResult<Option<(SchemaRef, Vec<RecordBatch>)>> {
    if source.hasattr("__arrow_c_stream__")? {
        return import_stream(source).map(Some);
    }
    if !source.hasattr("__arrow_c_array__")? {
        return Ok(None);
    }
    let array = import_array(source)?;
    let Some(rows) = array.as_any().downcast_ref::<StructArray>() else {
        return Err(PyTypeError::new_err("a table is made of a struct array, or of a stream of record batches"));
    };
    let schema = Arc::new(relaxed(&Schema::new(rows.fields().clone())));
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    let batch =
        RecordBatch::try_new_with_options(schema.clone(), rows.columns().to_vec(), &options).map_err(error::arrow)?;
    Ok(Some((schema, vec![batch])))
}

fn import_stream(source: &Bound<'_, PyAny>) -> PyResult<(SchemaRef, Vec<RecordBatch>)> {
    let py = source.py();
    let capsule = source.call_method0("__arrow_c_stream__")?;
    let stream = take_stream(capsule.cast::<PyCapsule>()?)?;
    // The producer may be Python itself (a RecordBatchReader over a generator): it takes the GIL as needed.
    let (schema, batches) = outside(py, move || {
        let reader = arrow_array::ffi_stream::RecordBatchStreamReader::try_new(stream).map_err(error::arrow)?;
        let schema = arrow_array::RecordBatchReader::schema(&reader);
        let batches: Vec<RecordBatch> = reader.collect::<Result<_, _>>().map_err(error::arrow)?;
        for batch in &batches {
            for (field, column) in schema.fields().iter().zip(batch.columns()) {
                sound(field.name(), column)?;
            }
        }
        Ok::<_, PyErr>((schema, batches))
    })??;
    let schema = Arc::new(relaxed(&schema));
    let batches = batches
        .into_iter()
        .map(|batch| {
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            RecordBatch::try_new_with_options(schema.clone(), batch.columns().to_vec(), &options)
        })
        .collect::<Result<Vec<_>, _>>()
        .map_err(error::arrow)?;
    Ok((schema, batches))
}

/// Refuses cells that are not what their type says (text that is no UTF-8, offsets past the end): no other code looks
/// at that again.
fn sound(name: &str, column: &ArrayRef) -> PyResult<()> {
    if column.data_type().is_primitive() {
        return Ok(());
    }
    let what = if name.is_empty() { "an array".to_owned() } else { format!("column {name:?}") };
    let wrong = |why| error::DataError::new_err(format!("{what} is not sound Arrow data: {why}"));
    column.to_data().validate_full().map_err(wrong)
}

fn take_stream(capsule: &Bound<'_, PyCapsule>) -> PyResult<FFI_ArrowArrayStream> {
    let pointer = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: a capsule of this name holds a valid ArrowArrayStream; moving it out leaves a released
    // one behind, so the capsule's destructor does nothing more.
    Ok(unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) })
}

/// One column, from `__arrow_c_array__`.
pub fn import_array(source: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let pair = source.call_method0("__arrow_c_array__")?;
    let pair = pair.cast::<PyTuple>()?;
    let (schema, array) = (pair.get_item(0)?, pair.get_item(1)?);
    let schema = schema.cast::<PyCapsule>()?.pointer_checked(Some(SCHEMA))?.cast::<FFI_ArrowSchema>();
    let array = array.cast::<PyCapsule>()?.pointer_checked(Some(ARRAY))?.cast::<FFI_ArrowArray>();
    // SAFETY: capsules of these names hold a valid ArrowSchema, only read here, and a valid
    // ArrowArray of that schema, which is moved out and left released.
    let data = unsafe { from_ffi(FFI_ArrowArray::from_raw(array.as_ptr()), schema.as_ref()) };
    let array = make_array(data.map_err(error::arrow)?);
    sound("", &array)?;
    Ok(array)
}

/// The chunks of one column that streams by itself (a pyarrow `ChunkedArray`, a polars `Series`).
pub fn import_chunks(source: &Bound<'_, PyAny>) -> PyResult<Vec<ArrayRef>> {
    if source.hasattr("__arrow_c_array__")? {
        return Ok(vec![import_array(source)?]);
    }
    let capsule = source.call_method0("__arrow_c_stream__")?;
    let stream = take_stream(capsule.cast::<PyCapsule>()?)?;
    outside(source.py(), move || read_chunks(stream))?
}

fn read_chunks(stream: FFI_ArrowArrayStream) -> PyResult<Vec<ArrayRef>> {
    let reader = ArrayStreamReader::try_new(stream).map_err(error::arrow)?;
    let chunks: Vec<ArrayRef> = reader.collect::<Result<_, _>>().map_err(error::arrow)?;
    chunks.iter().try_for_each(|chunk| sound("", chunk))?;
    Ok(chunks)
}

/// A capsule of a schema.
pub fn schema_capsule<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyAny>> {
    let exported = FFI_ArrowSchema::try_from(schema).map_err(error::arrow)?;
    Ok(PyCapsule::new_with_value(py, exported, SCHEMA)?.into_any())
}

/// A capsule of a stream of record batches, in the declared types or in those asked for.
pub fn stream_capsule<'py>(
    py: Python<'py>,
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    requested: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let requested = requested.filter(|asked| !asked.is_none()).map(|asked| schema_in(asked.cast::<PyCapsule>()?));
    let (schema, batches) = match requested.transpose()? {
        Some(asked) => outside(py, || in_schema(&schema, batches, asked))??,
        None => (schema, batches),
    };
    let reader = RecordBatchIterator::new(batches.into_iter().map(Ok), schema);
    let stream = FFI_ArrowArrayStream::new(Box::new(reader));
    Ok(PyCapsule::new_with_value(py, stream, STREAM)?.into_any())
}

fn in_schema(schema: &Schema, batches: Vec<RecordBatch>, asked: Schema) -> PyResult<(SchemaRef, Vec<RecordBatch>)> {
    let names = |schema: &Schema| schema.fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>();
    if names(schema) != names(&asked) {
        let message = format!("requested_schema must name the same columns in the same order: {:?}", names(schema));
        return Err(error::SchemaError::new_err(message));
    }
    let asked = Arc::new(asked);
    let mut start = 0;
    let mut made = Vec::with_capacity(batches.len());
    for batch in batches {
        let cast = |(column, field): (&ArrayRef, &FieldRef)| {
            let told = |error: ::column::Error| {
                error::DataError::new_err(format!(
                    "requested_schema: column {:?}: {}",
                    field.name(),
                    error.later(start)
                ))
            };
            ::column::kind::cast(column, field.data_type()).map_err(told)
        };
        let columns = batch.columns().iter().zip(asked.fields()).map(cast).collect::<PyResult<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        made.push(RecordBatch::try_new_with_options(asked.clone(), columns, &options).map_err(error::arrow)?);
        start += batch.num_rows();
    }
    Ok((asked, made))
}

/// The pair of capsules of one array.
pub fn array_capsules<'py>(py: Python<'py>, field: &Field, array: &ArrayRef) -> PyResult<Bound<'py, PyTuple>> {
    let (exported, _) = to_ffi(&array.to_data()).map_err(error::arrow)?;
    let schema = FFI_ArrowSchema::try_from(field).map_err(error::arrow)?;
    let schema = PyCapsule::new_with_value(py, schema, SCHEMA)?;
    let array = PyCapsule::new_with_value(py, exported, ARRAY)?;
    PyTuple::new(py, [schema, array])
}
