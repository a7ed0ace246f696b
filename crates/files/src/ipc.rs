//! Arrow IPC: files and streams, told apart by their first bytes.

use std::io::Write;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::reader::read_footer_length;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_ipc::{Block, CompressionType, root_as_footer};
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use column::sound::{self, Unsound};
use column::types::to_canonical;
use messages::{Fault, Reader};

use crate::error::Error;
use crate::input::{Input, Progress, all_bytes};
use crate::many::no_extra;
use crate::policy::{Reading, batch};
use crate::threads::map;

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
        Input::Path(at) => Buffer::from(all_bytes(at)?),
    };
    let total = bytes.len() as u64;
    let broken = |error: ArrowError| Error::broken(&path, format!("it is no sound Arrow IPC: {error}"));
    let (footer, found, stream) = if bytes.starts_with(MAGIC) {
        let footer = guarded(&path, || Footer::read(&bytes))?;
        let schema = footer.schema.clone();
        (Some(footer), schema, Vec::new())
    } else {
        let (schema, stream) = messages::batches(bytes.clone()).map_err(refused(&path))?;
        (None, schema, stream)
    };
    sound::schema(&found).map_err(|error| Error::broken(&path, error))?;
    let mut made = Reading::new(projected(&path, &found, options, schema)?, options.rows);
    let place = |field: &Arc<Field>| found.index_of(field.name());
    let places: Vec<usize> = made.schema.fields().iter().map(place).collect::<Result<_, _>>().map_err(broken)?;
    let judged = |cells: &ArrayRef, at: usize| {
        let name = found.field(at).name();
        judged(cells).map_err(|error| Error::broken(&path, error.of(name)))
    };
    let (many, decoded) = match &footer {
        None => {
            let columns = |rows: &RecordBatch| places.iter().map(|at| judged(rows.column(*at), *at)).collect();
            (Vec::new(), stream.iter().map(columns).collect::<Result<Vec<Vec<ArrayRef>>, Error>>()?)
        }
        Some(footer) => footer.columns(&path, &bytes, &places, &judged)?,
    };
    for (at, columns) in decoded.into_iter().enumerate() {
        let rows = many.get(at).copied().or_else(|| stream.get(at).map(RecordBatch::num_rows));
        made.push(batch(&made.schema, columns, rows.unwrap_or(0)).map_err(broken)?);
    }
    progress(total, total);
    Ok(made)
}

/// What a decoder does with bytes that may be wrong: what it does not catch is its error too.
fn guarded<R>(path: &str, work: impl FnOnce() -> Result<R, ArrowError>) -> Result<R, Error> {
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    let done = done.map_err(|_| Error::broken(path, "it is no sound Arrow IPC: its decoder gave up"))?;
    done.map_err(|error| Error::broken(path, format!("it is no sound Arrow IPC: {error}")))
}

/// Cells in their canonical type. Files are written by anybody, and kernels do not look again.
fn judged(cells: &ArrayRef) -> Result<ArrayRef, Unsound> {
    to_canonical(&sound::decoded(cells)?).map_err(|error| Unsound::new(error.to_string()))
}

fn projected(path: &str, found: &Schema, options: &IpcOptions, fixed: Option<&SchemaRef>) -> Result<SchemaRef, Error> {
    let names: Vec<&str> = found.fields().iter().map(|field| field.name().as_str()).collect();
    let own = |name: &str| {
        let field = found.field_with_name(name).ok()?;
        Some(Field::new(field.name(), field.data_type().clone(), true))
    };
    let field = |name: &str| own(name).ok_or_else(|| Error::no_column(path, name, names.iter().copied()));
    let fields: Vec<Field> = match (fixed, &options.columns) {
        (Some(fixed), _) => {
            no_extra(path, fixed, names.iter().copied(), options.columns.as_deref())?;
            for wanted in fixed.fields() {
                let own = own(wanted.name());
                let own = own.ok_or_else(|| Error::not_as_first(path, wanted.name(), names.iter().copied()))?;
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

/// What a file says of itself at its end.
struct Footer {
    schema: SchemaRef,
    dictionaries: Vec<Block>,
    batches: Vec<Block>,
}

impl Footer {
    fn read(bytes: &Buffer) -> Result<Footer, ArrowError> {
        let tail: [u8; 10] =
            bytes.len().checked_sub(10).and_then(|at| bytes[at..].try_into().ok()).ok_or_else(short)?;
        let length = read_footer_length(tail)?;
        let from = bytes.len().checked_sub(10 + length).ok_or_else(short)?;
        let footer = root_as_footer(&bytes[from..bytes.len() - 10])
            .map_err(|error| ArrowError::ParseError(error.to_string()))?;
        let told = footer.schema().ok_or_else(|| ArrowError::ParseError("it has no schema".to_owned()))?;
        let schema = Arc::new(arrow_ipc::convert::try_fb_to_schema(told)?);
        let dictionaries = footer.dictionaries().iter().flatten().copied().collect();
        let batches = footer.recordBatches().iter().flatten().copied().collect();
        Ok(Footer { schema, dictionaries, batches })
    }

    /// The rows of each batch, and its columns at these places, read side by side.
    fn columns(
        &self,
        path: &str,
        bytes: &Buffer,
        places: &[usize],
        judged: &(impl Fn(&ArrayRef, usize) -> Result<ArrayRef, Error> + Sync),
    ) -> Result<(Vec<usize>, Vec<Vec<ArrayRef>>), Error> {
        let mut reader = Reader::of(self.schema.clone());
        for block in &self.dictionaries {
            let (header, body) = cut(bytes, block).map_err(refused(path))?;
            reader.read(&header, &body).map_err(refused(path))?;
        }
        // Columns are decoded each by itself, unless there are dictionaries, which are decoded once.
        let alone = self.dictionaries.is_empty() && !places.is_empty();
        let shares: Vec<Vec<usize>> =
            if alone { places.iter().map(|at| vec![*at]).collect() } else { vec![places.to_vec()] };
        let works: Vec<(usize, usize)> =
            (0..self.batches.len()).flat_map(|batch| (0..shares.len()).map(move |share| (batch, share))).collect();
        let done = map(&works, |(batch, share)| -> Result<(usize, Vec<ArrayRef>), Error> {
            let block = &self.batches[*batch];
            let rows = cut(bytes, block).and_then(|(header, body)| reader.rows(&header, &body, &shares[*share]));
            let Some(rows) = rows.map_err(refused(path))? else { return Ok((0, Vec::new())) };
            let columns = rows.columns().iter().zip(&shares[*share]).map(|(cells, at)| judged(cells, *at));
            Ok((rows.num_rows(), columns.collect::<Result<_, _>>()?))
        });
        let (mut many, mut columns) = (vec![0; self.batches.len()], vec![Vec::new(); self.batches.len()]);
        for ((batch, _), done) in works.iter().zip(done) {
            let (rows, own) = done?;
            many[*batch] = rows;
            columns[*batch].extend(own);
        }
        // A block that holds no batch.
        Ok(many.into_iter().zip(columns).filter(|(_, columns)| columns.len() == places.len()).unzip())
    }
}

fn short() -> ArrowError {
    ArrowError::ParseError("the file is shorter than it says".to_owned())
}

/// The header and the body of the message that is a block of a file.
fn cut(bytes: &Buffer, block: &Block) -> Result<(Buffer, Buffer), Fault> {
    let short = || Fault::Malformed("the file is shorter than it says".to_owned());
    let (at, head, body) = (block.offset(), i64::from(block.metaDataLength()), block.bodyLength());
    let [at, head, body] = [at, head, body].map(|part| usize::try_from(part).map_err(|_| short()));
    let (at, len) = (at?, head?.checked_add(body?).ok_or_else(short)?);
    if at.checked_add(len).is_none_or(|end| end > bytes.len()) {
        return Err(short());
    }
    let (header, body) = messages::next(&mut bytes.slice_with_length(at, len).into())?.ok_or_else(short)?;
    Ok((header, body.whole()))
}

/// The error of a message that is refused.
fn refused(path: &str) -> impl Fn(Fault) -> Error {
    move |fault| match fault {
        Fault::Malformed(why) => Error::broken(path, format!("it is no sound Arrow IPC: {why}")),
        Fault::Exhausted(why) => Error::exhausted(path)(why),
    }
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
