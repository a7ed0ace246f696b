//! Arrow IPC: files and streams, told apart by their first bytes.

use std::io::{Cursor, Read, Write};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::reader::{FileDecoder, StreamReader, read_footer_length};
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_ipc::{CompressionType, root_as_footer};
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use column::sound::{self, Memory};
use column::types::to_canonical;

use crate::error::Error;
use crate::input::{Input, Progress, opened};
use crate::many::no_extra;
use crate::policy::{Reading, batch};

/// What a file begins and ends with.
const MAGIC: &[u8] = b"ARROW1";

/// Which columns are read, in this order, and how many rows.
#[derive(Clone, Debug, Default)]
pub struct IpcOptions {
    /// The columns.
    pub columns: Option<Vec<String>>,
    /// So many rows are read.
    pub rows: Option<u64>,
}

/// Reads an input as a whole. Inputs of one table have the schema of the first: `schema`.
pub fn read(
    input: &Input,
    options: &IpcOptions,
    schema: Option<&SchemaRef>,
    progress: Progress,
) -> Result<Reading, Error> {
    let path = input.name();
    let bytes = match input {
        Input::Bytes(_, bytes) => Buffer::from(bytes.as_ref()),
        Input::Path(at) => {
            let (mut file, len) = opened(at)?;
            limits::ask(len).map_err(Error::exhausted(&path))?;
            let mut bytes = Vec::with_capacity(usize::try_from(len).unwrap_or(0));
            file.read_to_end(&mut bytes).map_err(Error::io("read", &path))?;
            Buffer::from(bytes)
        }
    };
    let total = bytes.len() as u64;
    let broken = |error: ArrowError| Error::broken(&path, format!("it is no sound Arrow IPC: {error}"));
    let guarded = |work: &mut dyn FnMut() -> Result<(SchemaRef, Vec<RecordBatch>), ArrowError>| {
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        done.map_err(|_| Error::broken(&path, "it is no sound Arrow IPC: its decoder gave up"))?.map_err(broken)
    };
    let (found, batches) = match bytes.starts_with(MAGIC) {
        true => guarded(&mut || of_file(&bytes))?,
        false => guarded(&mut || of_stream(&bytes))?,
    };
    sound::schema(&found).map_err(|error| Error::broken(&path, error))?;
    let mut made = Reading::new(projected(&path, &found, options, schema)?);
    let places: Vec<usize> = made
        .schema
        .fields()
        .iter()
        .map(|field| found.index_of(field.name()))
        .collect::<Result<_, _>>()
        .map_err(broken)?;
    for rows in batches {
        let columns = places.iter().map(|at| {
            let name = found.field(*at).name();
            // Files are written by anybody, and kernels do not look again.
            let array = sound::array(rows.column(*at).to_data(), Memory::Shared);
            let array = array.map_err(|error| Error::broken(&path, error.of(name)))?;
            to_canonical(&array).map_err(|error| Error::broken(&path, format!("column {name:?}: {error}")))
        });
        let columns: Vec<ArrayRef> = columns.collect::<Result<_, Error>>()?;
        made.push(batch(&made.schema, columns, rows.num_rows()).map_err(broken)?);
    }
    progress(total, total);
    if let Some(most) = options.rows {
        made.shorten(most);
    }
    Ok(made)
}

fn projected(path: &str, found: &Schema, options: &IpcOptions, fixed: Option<&SchemaRef>) -> Result<SchemaRef, Error> {
    let names: Vec<&str> = found.fields().iter().map(|field| field.name().as_str()).collect();
    let field = |name: &str| {
        let field = found.field_with_name(name).ok();
        let field =
            field.ok_or_else(|| Error::schema(path, format!("no column {name:?}; the columns are {names:?}")))?;
        Ok::<_, Error>(Field::new(field.name(), field.data_type().clone(), true))
    };
    let fields: Vec<Field> = match (fixed, &options.columns) {
        (Some(fixed), _) => {
            no_extra(path, fixed, names.iter().copied(), options.columns.as_deref())?;
            for wanted in fixed.fields() {
                let own = field(wanted.name())?;
                if own.data_type() != wanted.data_type() {
                    let (own, first) = (formula::type_name(own.data_type()), formula::type_name(wanted.data_type()));
                    let message = format!("column {:?} holds {own}, in the first file it holds {first}", wanted.name());
                    return Err(Error::schema(path, message));
                }
            }
            return Ok(fixed.clone());
        }
        (None, Some(columns)) => columns.iter().map(|name| field(name)).collect::<Result<_, _>>()?,
        (None, None) => names.iter().map(|name| field(name)).collect::<Result<_, _>>()?,
    };
    Ok(Arc::new(Schema::new(fields)))
}

fn of_file(bytes: &Buffer) -> Result<(SchemaRef, Vec<RecordBatch>), ArrowError> {
    let short = || ArrowError::ParseError("the file is shorter than it says".to_owned());
    let tail: [u8; 10] = bytes.len().checked_sub(10).and_then(|at| bytes[at..].try_into().ok()).ok_or_else(short)?;
    let length = read_footer_length(tail)?;
    let from = bytes.len().checked_sub(10 + length).ok_or_else(short)?;
    let footer =
        root_as_footer(&bytes[from..bytes.len() - 10]).map_err(|error| ArrowError::ParseError(error.to_string()))?;
    let told = footer.schema().ok_or_else(|| ArrowError::ParseError("it has no schema".to_owned()))?;
    let schema = Arc::new(arrow_ipc::convert::try_fb_to_schema(told)?);
    let mut decoder = FileDecoder::new(schema.clone(), footer.version());
    let cut = |block: &arrow_ipc::Block| {
        let (at, head, body) = (block.offset(), i64::from(block.metaDataLength()), block.bodyLength());
        let [at, head, body] = [at, head, body].map(|part| usize::try_from(part).map_err(|_| short()));
        let (at, len) = (at?, head?.checked_add(body?).ok_or_else(short)?);
        if at.checked_add(len).is_none_or(|end| end > bytes.len()) {
            return Err(short());
        }
        Ok(bytes.slice_with_length(at, len))
    };
    for block in footer.dictionaries().iter().flatten() {
        decoder.read_dictionary(block, &cut(block)?)?;
    }
    let mut batches = Vec::new();
    for block in footer.recordBatches().iter().flatten() {
        batches.extend(decoder.read_record_batch(block, &cut(block)?)?);
    }
    Ok((schema, batches))
}

fn of_stream(bytes: &Buffer) -> Result<(SchemaRef, Vec<RecordBatch>), ArrowError> {
    let reader = StreamReader::try_new(Cursor::new(bytes.as_slice()), None)?;
    let schema = reader.schema();
    Ok((schema, reader.collect::<Result<_, _>>()?))
}

/// How Arrow IPC is written.
#[derive(Clone, Debug, Default)]
pub struct IpcFormat {
    /// `zstd`, `lz4` or `uncompressed`.
    pub compression: String,
    /// Whether it is a stream and not a file.
    pub stream: bool,
}

/// Writes rows.
pub fn write(
    path: &str,
    into: &mut dyn Write,
    schema: &SchemaRef,
    batches: &[RecordBatch],
    format: &IpcFormat,
    progress: Progress,
) -> Result<(), Error> {
    let codec = match format.compression.as_str() {
        "uncompressed" | "" => None,
        "zstd" => Some(CompressionType::ZSTD),
        "lz4" => Some(CompressionType::LZ4_FRAME),
        other => {
            return Err(Error::Options(format!("compression is {other:?}; zstd, lz4 and uncompressed are known")));
        }
    };
    let broken = |error: ArrowError| match error {
        ArrowError::IoError(_, error) => Error::io("write", path)(error),
        error => Error::broken(path, error),
    };
    let options = IpcWriteOptions::default().try_with_compression(codec).map_err(broken)?;
    let total = batches.len() as u64;
    enum Writer<'a> {
        File(FileWriter<&'a mut dyn Write>),
        Stream(StreamWriter<&'a mut dyn Write>),
    }
    let mut writer = match format.stream {
        false => Writer::File(FileWriter::try_new_with_options(into, schema, options).map_err(broken)?),
        true => Writer::Stream(StreamWriter::try_new_with_options(into, schema, options).map_err(broken)?),
    };
    for (at, rows) in batches.iter().enumerate() {
        match &mut writer {
            Writer::File(writer) => writer.write(rows).map_err(broken)?,
            Writer::Stream(writer) => writer.write(rows).map_err(broken)?,
        }
        if !progress(at as u64 + 1, total) {
            return Err(Error::Ended);
        }
    }
    match &mut writer {
        Writer::File(writer) => writer.finish().map_err(broken),
        Writer::Stream(writer) => writer.finish().map_err(broken),
    }
}
