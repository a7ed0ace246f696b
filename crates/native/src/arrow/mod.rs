//! The border: the Arrow PyCapsule protocol, in and out, over the C data interface.
//!
//! Imported data is owned by its capsule until it is moved out; a capsule that was read is left released, as the
//! protocol requires. Exported data holds no Python object, so any thread may drop it.
#![allow(unsafe_code, reason = "the C data interface is raw pointers in capsules")]

mod function;
mod order;
mod raw;
mod sharing;

use std::borrow::Cow;
use std::ffi::{CStr, c_void};
use std::ptr::NonNull;
use std::sync::Arc;

use ::column::sound::{self, Memory, Unsound};
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, to_ffi};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchIterator, RecordBatchOptions};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple, PyType};

use crate::cells;
use crate::error::{self, DataError, unsound as refused};
use crate::gil::without_gil;

pub use function::Compiled;
pub use sharing::Sharing;

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

/// The schema behind `__arrow_c_schema__`, every field nullable: operations may bring nulls anywhere.
pub fn import_schema(source: &Bound<'_, PyAny>) -> PyResult<Schema> {
    schema_in(&source.call_method0("__arrow_c_schema__")?, "schema", source)
}

/// What lies in a capsule of this name. Anything else that an object gives for one is told, and who gave it.
fn held(
    capsule: &Bound<'_, PyAny>,
    name: &CStr,
    operation: &str,
    giver: &Bound<'_, PyAny>,
) -> PyResult<NonNull<c_void>> {
    let pointer = capsule.cast::<PyCapsule>().ok().and_then(|capsule| capsule.pointer_checked(Some(name)).ok());
    pointer.ok_or_else(|| {
        let (giver, given) = (cells::named(giver), cells::named(capsule));
        let name = name.to_string_lossy();
        DataError::new_err(format!(
            "{operation}: {giver} says that it speaks Arrow, but gives {given} where a capsule {name:?} is due"
        ))
    })
}

fn schema_in(capsule: &Bound<'_, PyAny>, operation: &str, giver: &Bound<'_, PyAny>) -> PyResult<Schema> {
    let pointer = held(capsule, SCHEMA, operation, giver)?.cast::<FFI_ArrowSchema>();
    // SAFETY: a capsule of this name holds a valid ArrowSchema, which we only read.
    let field = raw::field(unsafe { pointer.as_ref() }).map_err(|unsound| refused("schema", &unsound))?;
    match field.data_type() {
        DataType::Struct(columns) => Ok(relaxed(columns, &field)),
        _ => Err(DataError::new_err("schema: this is one column's type, not a table's schema; give {name: type}")),
    }
}

fn relaxed(columns: &Fields, table: &Field) -> Schema {
    let none = std::iter::empty::<&ArrayRef>();
    let noted = |field: &FieldRef| order::noted(field.as_ref().clone().with_nullable(true), none.clone());
    Schema::new_with_metadata(columns.iter().map(noted).collect::<Vec<Field>>(), table.metadata().clone())
}

/// What came through a capsule: chunks of one column, or of a struct whose fields are columns.
struct Imported {
    field: Field,
    chunks: Vec<Chunk>,
}

/// The columns of a struct (one column is its own), their rows, and which of these are valid.
struct Chunk {
    columns: Vec<ArrayRef>,
    rows: usize,
    valid: Option<BooleanArray>,
}

/// Whether it speaks Arrow, as an array or as a stream of chunks.
pub fn is_arrow(source: &Bound<'_, PyAny>) -> PyResult<bool> {
    // A class has the methods of its instances, and is none.
    let is_class = source.is_instance_of::<PyType>();
    Ok(!is_class && (source.hasattr("__arrow_c_stream__")? || source.hasattr("__arrow_c_array__")?))
}

/// All batches behind `__arrow_c_stream__` or `__arrow_c_array__`, judged, and copied where others may write.
pub fn import_batches(
    operation: &str,
    source: &Bound<'_, PyAny>,
    sharing: Sharing,
) -> PyResult<(SchemaRef, Vec<RecordBatch>)> {
    let Imported { field, chunks } = import(operation, source, sharing)?;
    let of = |column: usize| chunks.iter().map(move |chunk| &chunk.columns[column]);
    let schema = Arc::new(match field.data_type() {
        DataType::Struct(columns) => {
            let noted = columns
                .iter()
                .enumerate()
                .map(|(at, column)| order::noted(column.as_ref().clone().with_nullable(true), of(at)));
            Schema::new_with_metadata(noted.collect::<Vec<Field>>(), field.metadata().clone())
        }
        _ if field.name().is_empty() => {
            return Err(error::TypeMismatchError::new_err(format!(
                "{operation}: {} is one column without a name, not a table; name it: {{\"name\": data}}",
                source.get_type().name()?
            )));
        }
        _ => Schema::new(vec![order::noted(field.with_nullable(true), of(0))]),
    });
    let batch = |chunk: Chunk| {
        let options = RecordBatchOptions::new().with_row_count(Some(chunk.rows));
        RecordBatch::try_new_with_options(schema.clone(), chunk.with_nulls()?, &options).map_err(error::arrow)
    };
    let batches = chunks.into_iter().map(batch).collect::<PyResult<_>>()?;
    Ok((schema, batches))
}

impl Chunk {
    /// The columns, null where their row is.
    fn with_nulls(self) -> PyResult<Vec<ArrayRef>> {
        let Some(valid) = self.valid else { return Ok(self.columns) };
        let missing = BooleanArray::new(!valid.values(), None);
        let masked = |column: &ArrayRef| arrow_select::nullif::nullif(column, &missing).map_err(error::arrow);
        self.columns.iter().map(masked).collect()
    }
}

/// The chunks of one column: of a pyarrow `Array` or `ChunkedArray`, of a polars `Series`.
pub fn import_chunks(operation: &str, source: &Bound<'_, PyAny>, sharing: Sharing) -> PyResult<Vec<ArrayRef>> {
    import_column(operation, source, sharing).map(|(_, chunks)| chunks)
}

/// As [`import_chunks`], together with the field (name, type, metadata) that the producer gives.
pub fn import_column(operation: &str, source: &Bound<'_, PyAny>, sharing: Sharing) -> PyResult<(Field, Vec<ArrayRef>)> {
    let Imported { field, chunks } = import(operation, source, sharing)?;
    let DataType::Struct(fields) = field.data_type() else {
        let chunks: Vec<ArrayRef> = chunks.into_iter().flat_map(|chunk| chunk.columns).collect();
        return Ok((order::noted(field, chunks.iter()), chunks));
    };
    let whole = |chunk: Chunk| {
        let nulls = chunk.valid.map(|valid| valid.values().clone().into());
        let made = arrow_array::StructArray::try_new_with_length(fields.clone(), chunk.columns, nulls, chunk.rows);
        Ok(Arc::new(made.map_err(error::arrow)?) as ArrayRef)
    };
    let chunks = chunks.into_iter().map(whole).collect::<PyResult<_>>()?;
    Ok((field.clone(), chunks))
}

/// The producer may be Python itself (a reader over a generator): it takes the GIL as needed. All else needs none.
fn import(operation: &str, source: &Bound<'_, PyAny>, sharing: Sharing) -> PyResult<Imported> {
    let py = source.py();
    let memory = sharing.memory(source);
    lengths(operation, source)?;
    let read = if source.hasattr("__arrow_c_stream__")? {
        let capsule = source.call_method0("__arrow_c_stream__")?;
        let stream = take_stream(&capsule, operation, source)?;
        without_gil(py, move || from_stream(stream, memory))?
    } else {
        let pair = source.call_method0("__arrow_c_array__")?;
        let (field, array) = take_pair(operation, &pair, source)?;
        without_gil(py, move || Ok(Imported { chunks: vec![chunk(array, &field, memory)?], field }))?
    };
    read.map_err(|unsound| refused(operation, &unsound))
}

/// Arrow's C structures do not say how long a buffer is; pyarrow knows it of its own.
fn lengths(operation: &str, source: &Bound<'_, PyAny>) -> PyResult<()> {
    let module: String = source.get_type().getattr("__module__")?.extract()?;
    if !module.starts_with("pyarrow.") || !source.hasattr("validate")? {
        return Ok(());
    }
    let told =
        |wrong: PyErr| DataError::new_err(format!("{operation}: not sound Arrow data: {}", wrong.value(source.py())));
    source.call_method0("validate").map(drop).map_err(told)
}

fn take_stream(
    capsule: &Bound<'_, PyAny>,
    operation: &str,
    giver: &Bound<'_, PyAny>,
) -> PyResult<FFI_ArrowArrayStream> {
    let pointer = held(capsule, STREAM, operation, giver)?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: a capsule of this name holds a valid ArrowArrayStream; moving it out leaves a released
    // one behind, so the capsule's destructor does nothing more.
    Ok(unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) })
}

fn take_pair(operation: &str, pair: &Bound<'_, PyAny>, giver: &Bound<'_, PyAny>) -> PyResult<(Field, FFI_ArrowArray)> {
    let both = pair.cast::<PyTuple>().ok().filter(|pair| pair.len() == 2);
    let (schema, array) = match both {
        Some(both) => (both.get_item(0)?, both.get_item(1)?),
        None => (pair.clone(), pair.clone()),
    };
    let schema = held(&schema, SCHEMA, operation, giver)?.cast::<FFI_ArrowSchema>();
    let array = held(&array, ARRAY, operation, giver)?.cast::<FFI_ArrowArray>();
    // SAFETY: a capsule of this name holds a valid ArrowSchema, which we only read.
    let field = raw::field(unsafe { schema.as_ref() }).map_err(|unsound| refused(operation, &unsound))?;
    // SAFETY: a capsule of this name holds a valid ArrowArray, which is moved out and left released.
    Ok((field, unsafe { FFI_ArrowArray::from_raw(array.as_ptr()) }))
}

fn from_stream(mut stream: FFI_ArrowArrayStream, memory: Memory) -> Result<Imported, Unsound> {
    let (Some(get_schema), Some(get_next), Some(_)) = (stream.get_schema(), stream.get_next(), stream.release()) else {
        return Err(Unsound::new("the Arrow stream was already read: it can be read once"));
    };
    let mut schema = FFI_ArrowSchema::empty();
    // SAFETY: the callback is the stream's own, and fills the empty schema or fails.
    if unsafe { get_schema(&raw mut stream, &raw mut schema) } != 0 {
        return Err(last_error(&mut stream));
    }
    let field = raw::field(&schema)?;
    let mut chunks = Vec::new();
    loop {
        let mut array = FFI_ArrowArray::empty();
        // SAFETY: the callback is the stream's own, and fills the empty array or fails.
        if unsafe { get_next(&raw mut stream, &raw mut array) } != 0 {
            return Err(last_error(&mut stream));
        }
        // A released array is the end.
        if array.is_released() {
            return Ok(Imported { field, chunks });
        }
        chunks.push(chunk(array, &field, memory)?);
    }
}

fn last_error(stream: &mut FFI_ArrowArrayStream) -> Unsound {
    let told = stream.get_last_error().and_then(|last| {
        // SAFETY: the callback is the stream's own; its text lives until the next call, and is copied before.
        let text = unsafe { last(&raw mut *stream) };
        // SAFETY: the same; it is null or ends with a zero.
        (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    });
    Unsound::new(format!("the Arrow stream failed: {}", told.as_deref().unwrap_or("its producer does not say why")))
}

/// Copies and judges one array; a struct column by column.
fn chunk(array: FFI_ArrowArray, field: &Field, memory: Memory) -> Result<Chunk, Unsound> {
    let data = raw::data(array, field.data_type())?;
    let rows = data.len();
    let judged = |data: ArrayData, name: &str| {
        sound::array(data, memory).map_err(|unsound| {
            let about = if unsound.exhausted { "" } else { "not sound Arrow data: " };
            let told = Unsound { why: format!("{about}{}", unsound.why), ..unsound };
            if name.is_empty() { told } else { told.of(name) }
        })
    };
    let DataType::Struct(fields) = field.data_type() else {
        return Ok(Chunk { columns: vec![judged(data, field.name())?], rows, valid: None });
    };
    // Written anew, for the bits of the original may change.
    let valid = data.nulls().map(|nulls| BooleanArray::new(nulls.inner() & nulls.inner(), None));
    let mut columns = Vec::with_capacity(fields.len());
    for (field, column) in fields.iter().zip(data.child_data()) {
        if column.len() < data.offset() + rows {
            let why = format!("{} cells for {} rows", column.len(), data.offset() + rows);
            return Err(Unsound::new(why).of(field.name()));
        }
        columns.push(judged(column.slice(data.offset(), rows), field.name())?);
    }
    Ok(Chunk { columns, rows, valid })
}

/// A capsule of a schema.
pub fn schema_capsule<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyAny>> {
    let exported = FFI_ArrowSchema::try_from(order::leaving(schema).as_ref()).map_err(error::arrow)?;
    Ok(PyCapsule::new_with_value(py, exported, SCHEMA)?.into_any())
}

/// A capsule of a stream of record batches, in the declared types or in those asked for.
pub fn stream_capsule<'py>(
    py: Python<'py>,
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    requested: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let requested = requested.filter(|asked| !asked.is_none()).map(|asked| schema_in(asked, "requested_schema", asked));
    let (schema, batches) = match requested.transpose()? {
        Some(asked) => without_gil(py, || in_schema(&schema, batches, asked))??,
        None => (schema, batches),
    };
    let schema = match order::leaving(&schema) {
        Cow::Borrowed(_) => schema,
        Cow::Owned(leaving) => Arc::new(leaving),
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
    let types: Vec<&DataType> = asked.fields().iter().map(|field| field.data_type()).collect();
    let mut start = 0;
    let mut made = Vec::with_capacity(batches.len());
    for whole in batches {
        let one = |error: ::column::Error| error::ResourceError::new_err(format!("requested_schema: {error}"));
        for (from, rows) in ::column::types::segments(whole.columns(), &types).map_err(one)? {
            // A batch without columns has rows too.
            let batch = if whole.num_columns() == 0 { whole.clone() } else { whole.slice(from, rows) };
            let cast = |(column, field): (&ArrayRef, &FieldRef)| {
                let told = |error: ::column::Error| {
                    let (name, error) = (field.name(), error.later(start));
                    error::DataError::new_err(format!("requested_schema: column {name:?}: {error}"))
                };
                ::column::types::cast(column, field.data_type()).map_err(told)
            };
            let columns = batch.columns().iter().zip(asked.fields()).map(cast).collect::<PyResult<Vec<_>>>()?;
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            made.push(RecordBatch::try_new_with_options(asked.clone(), columns, &options).map_err(error::arrow)?);
            start += batch.num_rows();
        }
    }
    Ok((asked, made))
}

/// The pair of capsules of one array.
pub fn array_capsules<'py>(py: Python<'py>, field: &Field, array: &ArrayRef) -> PyResult<Bound<'py, PyTuple>> {
    let (exported, _) = to_ffi(&array.to_data()).map_err(error::arrow)?;
    let schema = FFI_ArrowSchema::try_from(&order::leaving_field(field)).map_err(error::arrow)?;
    let schema = PyCapsule::new_with_value(py, schema, SCHEMA)?;
    let array = PyCapsule::new_with_value(py, exported, ARRAY)?;
    PyTuple::new(py, [schema, array])
}
