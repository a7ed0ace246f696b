//! Row keys and cells as bytes, and back.
//!
//! Keys are nothing, one range, or Roaring bytes. Cells are an Arrow IPC stream: texts leave their views, so that no
//! buffer is written of which a row is a small part, and dictionaries lose what no row says. Numbers go to the file from
//! where they are ([`Draft`]).

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_buffer::Buffer;
use arrow_ipc::writer::{StreamEncoder, StreamWriter};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use column::Chunk;
use rowset::{MAX_KEY, RowSet};

const NOTHING: u8 = 0;
const ONE_RANGE: u8 = 1;
const ROARING: u8 = 2;
/// Buffers of so many bytes are not copied.
const LARGE: usize = 4 << 10;

/// Bytes that are read from the front. What is wrong with them is said in words.
pub(crate) struct Bytes<'a> {
    bytes: &'a [u8],
}

impl<'a> Bytes<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Bytes<'a> {
        Bytes { bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn rest(self) -> &'a [u8] {
        self.bytes
    }

    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], String> {
        if len > self.bytes.len() {
            return Err(format!("it ends where {len} bytes more should be"));
        }
        let (taken, rest) = self.bytes.split_at(len);
        self.bytes = rest;
        Ok(taken)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, String> {
        Ok(self.take(1)?[0])
    }

    pub(crate) fn number(&mut self) -> Result<u64, String> {
        Ok(u64::from_le_bytes(self.take(8)?.try_into().unwrap_or_default()))
    }

    /// Bytes with their length before them.
    pub(crate) fn block(&mut self) -> Result<&'a [u8], String> {
        let len = self.number()?;
        self.take(usize::try_from(len).map_err(|_| "a length that no memory has".to_owned())?)
    }

    pub(crate) fn keys(&mut self) -> Result<RowSet, String> {
        match self.byte()? {
            NOTHING => Ok(RowSet::new()),
            ONE_RANGE => {
                let (first, last) = (self.number()?, self.number()?);
                if first > last || last > MAX_KEY {
                    return Err(format!("{first}..={last} is no range of row keys"));
                }
                Ok(RowSet::range(first, last))
            }
            ROARING => RowSet::from_roaring(self.block()?).map_err(|error| error.to_string()),
            other => Err(format!("{other} is no kind of row set")),
        }
    }

    /// Pieces of cells of one schema, in order.
    pub(crate) fn cells(&mut self) -> Result<Vec<RecordBatch>, String> {
        let (_, batches) = messages::batches(Buffer::from(self.block()?)).map_err(|fault| fault.to_string())?;
        Ok(batches)
    }
}

/// Bytes that are put together; large buffers stay where they are.
#[derive(Default)]
pub(crate) struct Draft {
    done: Vec<Buffer>,
    last: Vec<u8>,
}

impl Draft {
    /// Where the next bytes go.
    pub(crate) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.last
    }

    /// What is put next does not go on where the last bytes are.
    fn seal(&mut self) {
        if !self.last.is_empty() {
            self.done.push(std::mem::take(&mut self.last).into());
        }
    }

    fn push(&mut self, buffer: Buffer) {
        if buffer.len() < LARGE {
            return self.last.extend_from_slice(&buffer);
        }
        self.seal();
        self.done.push(buffer);
    }

    /// Puts what another one has behind what there is.
    pub(crate) fn append(&mut self, mut other: Draft) {
        self.seal();
        self.done.append(&mut other.done);
        self.last = other.last;
    }

    /// What was put, one after the other.
    pub(crate) fn parts(&self) -> Vec<&[u8]> {
        self.done.iter().map(Buffer::as_slice).chain([self.last.as_slice()]).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.done.iter().map(Buffer::len).sum::<usize>() + self.last.len()
    }
}

pub(crate) fn put_number(into: &mut Vec<u8>, number: u64) {
    into.extend(number.to_le_bytes());
}

pub(crate) fn put_block(into: &mut Vec<u8>, block: &[u8]) {
    put_number(into, block.len() as u64);
    into.extend(block);
}

pub(crate) fn put_keys(into: &mut Vec<u8>, keys: &RowSet) {
    match keys.as_span() {
        _ if keys.is_empty() => into.push(NOTHING),
        Some(span) => {
            into.push(ONE_RANGE);
            put_number(into, span.first);
            put_number(into, span.last);
        }
        None => {
            into.push(ROARING);
            put_block(into, &keys.to_roaring());
        }
    }
}

/// Puts cells of so many rows, a chunk for each column.
pub(crate) fn put_cells(into: &mut Draft, rows: usize, chunks: &[Chunk]) -> Result<(), String> {
    let stream = stream_of(rows, chunks).map_err(|error| error.to_string())?;
    put_number(into.bytes(), stream.iter().map(|buffer| buffer.len() as u64).sum());
    stream.into_iter().for_each(|buffer| into.push(buffer));
    Ok(())
}

fn stream_of(rows: usize, chunks: &[Chunk]) -> Result<Vec<Buffer>, ArrowError> {
    let types: Vec<DataType> = chunks.iter().map(|chunk| plain(chunk.data_type())).collect();
    let fields: Vec<Field> =
        types.iter().enumerate().map(|(at, to)| Field::new(at.to_string(), to.clone(), true)).collect();
    let schema = Arc::new(Schema::new(fields));
    let outside = |error: column::Error| ArrowError::ExternalError(Box::new(error));
    let whole = || vec![(0, rows)];
    let segments = if chunks.is_empty() {
        whole()
    } else {
        column::types::segments(chunks, &types.iter().collect::<Vec<_>>()).map_err(outside)?
    };
    let (mut encoder, mut stream) = (StreamEncoder::try_new(&schema)?, Vec::new());
    for (from, len) in segments {
        let cut = chunks.iter().zip(&types).map(|(chunk, to)| {
            let chunk = if (from, len) == (0, chunk.len()) { chunk.clone() } else { chunk.slice(from, len) };
            small_dictionary(column::types::to_declared(&chunk, to).map_err(outside)?)
        });
        let options = RecordBatchOptions::new().with_row_count(Some(len));
        let columns = cut.collect::<Result<Vec<_>, ArrowError>>()?;
        stream.extend(encoder.encode(&RecordBatch::try_new_with_options(schema.clone(), columns, &options)?)?);
    }
    Ok(stream)
}

/// The type in which cells are written: without views.
fn plain(stored: &DataType) -> DataType {
    match stored {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        other => other.clone(),
    }
}

/// A dictionary with many more values than rows loses those that no row says.
fn small_dictionary(cells: ArrayRef) -> Result<ArrayRef, ArrowError> {
    let large = cells.as_any_dictionary_opt().is_some_and(|cells| cells.values().len() > 64.max(2 * cells.len()));
    if !large {
        return Ok(cells);
    }
    let keys = cells.data_type().clone();
    let DataType::Dictionary(_, values) = &keys else { return Ok(cells) };
    let outside = |error: column::Error| ArrowError::ExternalError(Box::new(error));
    column::types::cast(&column::types::cast(&cells, values).map_err(outside)?, &keys).map_err(outside)
}

/// The chunks of a batch in the types in which these columns are stored.
pub(crate) fn stored(batch: &RecordBatch, canonical: &[DataType]) -> Result<Vec<Chunk>, String> {
    if batch.num_columns() != canonical.len() {
        return Err(format!("{} columns of cells, where {} are", batch.num_columns(), canonical.len()));
    }
    let one = |(cells, to): (&ArrayRef, &DataType)| {
        let sound = column::sound::decoded(cells).map_err(|unsound| unsound.to_string())?;
        let stored = column::types::to_canonical(&sound).map_err(|error| error.to_string())?;
        match stored.data_type() == to {
            true => Ok(stored),
            false => Err(format!("cells of {}, where {to} is stored", stored.data_type())),
        }
    };
    batch.columns().iter().zip(canonical).map(one).collect()
}

/// The pieces that these keys make with the batches of their cells.
pub(crate) fn pieces(
    keys: &RowSet,
    batches: &[RecordBatch],
    canonical: &[DataType],
) -> Result<Vec<(RowSet, Vec<Chunk>)>, String> {
    let rows: u64 = batches.iter().map(|batch| batch.num_rows() as u64).sum();
    if rows != keys.len() {
        return Err(format!("{} row keys with cells of {rows} rows", keys.len()));
    }
    let (mut from, mut made) = (0, Vec::with_capacity(batches.len()));
    for batch in batches.iter().filter(|batch| batch.num_rows() > 0) {
        let len = batch.num_rows() as u64;
        let keys = if len == keys.len() { keys.clone() } else { keys.slice(from, len) };
        made.push((keys, stored(batch, canonical)?));
        from += len;
    }
    Ok(made)
}

/// A schema as bytes.
pub(crate) fn schema_bytes(schema: &Schema) -> Result<Vec<u8>, ArrowError> {
    let mut writer = StreamWriter::try_new(Vec::new(), schema)?;
    writer.finish()?;
    writer.into_inner()
}

/// A schema out of bytes.
pub(crate) fn schema_of(bytes: &[u8]) -> Result<Arc<Schema>, String> {
    let (schema, _) = messages::batches(Buffer::from(bytes)).map_err(|fault| fault.to_string())?;
    column::sound::schema(&schema).map_err(|unsound| unsound.to_string())?;
    Ok(schema)
}

#[cfg(test)]
mod tests {
    use arrow_array::types::Int32Type;
    use arrow_array::{DictionaryArray, Int64Array, StringViewArray};

    use super::*;

    #[test]
    fn keys_come_back() {
        for keys in [
            RowSet::new(),
            RowSet::range(5, 5),
            RowSet::range(0, 1 << 40),
            RowSet::from_sorted_keys(&[1, 2, 9, 1 << 50]),
        ] {
            let mut bytes = Vec::new();
            put_keys(&mut bytes, &keys);
            let mut read = Bytes::new(&bytes);
            assert_eq!(read.keys().unwrap(), keys);
            assert!(read.is_empty());
            for cut in 0..bytes.len() {
                assert!(Bytes::new(&bytes[..cut]).keys().is_err());
            }
        }
        assert!(Bytes::new(&[9]).keys().unwrap_err().contains("9 is no kind"));
    }

    #[test]
    fn a_row_of_many_texts_and_categories_is_written_without_the_others() {
        let texts: ArrayRef =
            Arc::new(StringViewArray::from_iter_values((0..10_000).map(|at| format!("text {at:020}"))));
        let categories: DictionaryArray<Int32Type> =
            (0..10_000).map(|at| at.to_string()).collect::<Vec<_>>().iter().map(|s| s.as_str()).collect();
        let categories: ArrayRef = Arc::new(categories);
        let row: Vec<Chunk> = vec![texts.slice(77, 1), categories.slice(99, 1), Arc::new(Int64Array::from(vec![3]))];
        let mut bytes = Draft::default();
        put_cells(&mut bytes, 1, &row).unwrap();
        let bytes = bytes.parts().concat();
        assert!(bytes.len() < 2500, "{}", bytes.len());
        let batches = Bytes::new(&bytes).cells().unwrap();
        let canonical: Vec<DataType> = row.iter().map(|chunk| chunk.data_type().clone()).collect();
        let back = pieces(&RowSet::range(4, 4), &batches, &canonical).unwrap();
        assert_eq!(back.len(), 1);
        assert_eq!(back[0].1[0].as_string_view().value(0), "text 00000000000000000077");
        let text = column::types::cast(&back[0].1[1], &DataType::Utf8).unwrap();
        assert_eq!(text.as_string::<i32>().value(0), "99");
    }
}
