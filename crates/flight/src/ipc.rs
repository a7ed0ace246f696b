//! Arrow on the wire: batches out, whose buffers are sent as they lie in memory, and bodies in, judged whole.

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::MetadataVersion;
use arrow_ipc::writer::{DictionaryTracker, IpcDataGenerator, IpcWriteOptions, StreamEncoder};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use bytes::{BufMut, Bytes, BytesMut};
use column::sound::Unsound;
use messages::{Fault, Pieces};
use tonic::Status;

use crate::frames::{FRAME, Message};

/// The body of a message is at most this long, but where one row is longer.
const BODY: usize = 16 << 20;
/// Pieces shorter than this are joined: each piece is a frame of its own.
const SMALL: usize = 4096;
const CONTINUATION: [u8; 4] = [0xff; 4];
/// Of `FlightData`: the header of a message, its metadata, and its body.
const HEADER_TAG: u8 = 0x12;
const METADATA_TAG: u8 = 0x1a;
const BODY_TAG: [u8; 2] = [0xc2, 0x3e];

fn options() -> Result<IpcWriteOptions, ArrowError> {
    IpcWriteOptions::try_new(8, false, MetadataVersion::V5)
}

/// A schema as a message of its own, with the prefix that a stream reader wants.
pub(crate) fn encapsulated(schema: &Schema) -> Result<Bytes, ArrowError> {
    let mut tracker = DictionaryTracker::new(false);
    let encoded =
        IpcDataGenerator::default().schema_to_bytes_with_dictionary_tracker(schema, &mut tracker, &options()?);
    let padded = encoded.ipc_message.len().next_multiple_of(8);
    let mut out = BytesMut::with_capacity(8 + padded);
    out.put_slice(&CONTINUATION);
    out.put_i32_le(padded as i32);
    out.put_slice(&encoded.ipc_message);
    out.put_bytes(0, padded - encoded.ipc_message.len());
    Ok(out.freeze())
}

/// The schema in a message with that prefix; safe on any bytes.
pub(crate) fn schema_of(bytes: &[u8]) -> Result<Schema, String> {
    let wrong = |why: &dyn std::fmt::Display| format!("malformed schema: {why}");
    let message = messages::next(&mut Buffer::from(bytes).into()).map_err(|fault| wrong(&fault))?;
    let (header, _) = message.ok_or_else(|| wrong(&"it is empty"))?;
    schema_in(&header).map_err(|why| wrong(&why))
}

/// The schema in the header of a message, judged; safe on any bytes.
pub(crate) fn schema_in(header: &[u8]) -> Result<Schema, String> {
    let schema = barrage::read_schema(header).map_err(|error| error.to_string())?;
    judged(&schema).map_err(|unsound| unsound.to_string())?;
    Ok(schema)
}

/// Refuses types that are none, or that no table holds, before any cells come: later only columns without cells are asked.
fn judged(schema: &Schema) -> Result<(), Unsound> {
    column::sound::schema(schema)
}

/// A buffer that the socket reads from.
struct Lent(Buffer);

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        self.0.as_slice()
    }
}

/// Batches of one schema as messages.
pub(crate) struct Encoder(StreamEncoder);

impl Encoder {
    pub(crate) fn new(schema: &Schema) -> Result<Encoder, ArrowError> {
        Ok(Encoder(StreamEncoder::try_new_with_options(schema, options()?)?))
    }

    /// The messages of these rows; before the first, that of the schema.
    pub(crate) fn encode(&mut self, batch: &RecordBatch) -> Result<Vec<Message>, ArrowError> {
        let bytes: Result<usize, ArrowError> =
            batch.columns().iter().map(|column| column.to_data().get_slice_memory_size()).sum();
        if bytes? > BODY && batch.num_rows() > 1 {
            let half = batch.num_rows() / 2;
            let mut messages = self.encode(&batch.slice(0, half))?;
            messages.extend(self.encode(&batch.slice(half, batch.num_rows() - half))?);
            return Ok(messages);
        }
        messages_of(self.0.encode(batch)?)
    }

    /// The schema, if nothing was sent yet.
    pub(crate) fn finish(self) -> Result<Vec<Message>, ArrowError> {
        messages_of(self.0.finish()?)
    }
}

/// Puts each message of an Arrow stream into a frame of `FlightData`.
fn messages_of(stream: Vec<Buffer>) -> Result<Vec<Message>, ArrowError> {
    let mut stream: Pieces = stream.into_iter().collect();
    let mut messages = Vec::new();
    while let Some((header, body)) =
        messages::next(&mut stream).map_err(|fault| ArrowError::IpcError(fault.to_string()))?
    {
        messages.push(flight_data(&header, &[], body));
    }
    Ok(messages)
}

/// A message with what stands beside its cells.
pub(crate) fn barrage_message(header: &[u8], metadata: &[u8], body: Vec<u8>) -> Message {
    flight_data(header, metadata, Buffer::from_vec(body).into())
}

fn flight_data(header: &[u8], metadata: &[u8], body: Pieces) -> Message {
    let mut start = BytesMut::with_capacity(FRAME + header.len() + metadata.len() + 40);
    start.put_bytes(0, FRAME);
    start.put_u8(HEADER_TAG);
    prost::encoding::encode_varint(header.len() as u64, &mut start);
    start.put_slice(header);
    if !metadata.is_empty() {
        start.put_u8(METADATA_TAG);
        prost::encoding::encode_varint(metadata.len() as u64, &mut start);
        start.put_slice(metadata);
    }
    // Written also if it is empty: there are readers who look for it.
    start.put_slice(&BODY_TAG);
    prost::encoding::encode_varint(body.len() as u64, &mut start);
    let len = (start.len() - FRAME + body.len()) as u32;
    start[1..FRAME].copy_from_slice(&len.to_be_bytes());
    let mut message = Vec::new();
    let mut small = start;
    for piece in body {
        if piece.len() < SMALL {
            small.put_slice(&piece);
        } else {
            if !small.is_empty() {
                message.push(std::mem::take(&mut small).freeze());
            }
            message.push(Bytes::from_owner(Lent(piece)));
        }
    }
    if !small.is_empty() {
        message.push(small.freeze());
    }
    message
}

fn malformed(why: &dyn std::fmt::Display) -> Status {
    Status::invalid_argument(format!("malformed Arrow data: {why}"))
}

/// What a client sends, message by message.
#[derive(Default)]
pub(crate) struct Received(messages::Reader);

impl Received {
    pub(crate) fn schema(&self) -> Option<&SchemaRef> {
        self.0.schema()
    }

    #[cfg(any(test, feature = "testing"))]
    /// The dictionaries that came.
    pub(crate) fn dictionaries(&self) -> impl Iterator<Item = &arrow_array::ArrayRef> {
        self.0.dictionaries()
    }

    /// Reads one message; gives the rows if it has any. Nothing of what it declares is believed before it is checked, its
    /// schema as soon as it is there.
    pub(crate) fn read(&mut self, header: &[u8], body: &Buffer) -> Result<Option<RecordBatch>, Status> {
        let is_new = self.0.schema().is_none();
        let rows = self.0.read(header, body).map_err(|fault| match fault {
            Fault::Malformed(why) => malformed(&why),
            Fault::Exhausted(why) => Status::resource_exhausted(why.to_string()),
        })?;
        match self.0.schema().filter(|_| is_new).map(|schema| judged(schema)) {
            Some(Err(unsound)) => {
                // Before a schema there is nothing.
                self.0 = messages::Reader::default();
                Err(malformed(&unsound))
            }
            _ => Ok(rows),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use arrow_array::{ArrayRef, Int64Array, StringArray, UnionArray};
    use arrow_schema::{DataType, Field, TimeUnit, UnionFields};
    use prost::Message as _;

    use super::*;
    use crate::proto::FlightData;

    fn batch(rows: usize) -> RecordBatch {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows as i64));
        let texts: ArrayRef =
            Arc::new(StringArray::from_iter((0..rows).map(|row| (row % 3 > 0).then(|| row.to_string()))));
        RecordBatch::try_from_iter([("n", numbers), ("s", texts)]).expect("columns of one length")
    }

    fn sent(messages: Vec<Message>) -> Vec<FlightData> {
        let whole = |message: Message| {
            let bytes: Vec<u8> = message.iter().flatten().copied().collect();
            assert_eq!(bytes.len() - FRAME, u32::from_be_bytes(bytes[1..FRAME].try_into().expect("four")) as usize);
            FlightData::decode(&bytes[FRAME..]).expect("a message")
        };
        messages.into_iter().map(whole).collect()
    }

    #[test]
    fn batches_come_back_as_they_went() {
        for rows in [0, 1, 1000, 100_000] {
            let batch = batch(rows).slice(rows / 3, rows - rows / 3);
            let mut encoder = Encoder::new(&batch.schema()).expect("an encoder");
            let mut received = Received::default();
            let mut rows = Vec::new();
            for data in sent(encoder.encode(&batch).expect("messages")) {
                rows.extend(received.read(&data.data_header, &data.data_body.into()).expect("sound"));
            }
            assert_eq!(rows, [batch]);
        }
    }

    #[test]
    fn long_buffers_are_sent_from_where_they_lie() {
        let batch = batch(100_000);
        let mut encoder = Encoder::new(&batch.schema()).expect("an encoder");
        let messages = encoder.encode(&batch).expect("messages");
        let cells = batch.column(0).as_primitive::<Int64Type>().values().inner().as_ptr();
        assert!(messages[1].iter().any(|piece| piece.as_ptr() == cells));
    }

    #[test]
    fn a_schema_goes_alone() {
        let messages = sent(Encoder::new(&batch(1).schema()).and_then(Encoder::finish).expect("messages"));
        assert_eq!(messages.len(), 1);
    }

    /// Types that are none, with what is said of each. Others, such as times of an odd width and dictionaries by floats, a
    /// writer of Arrow cannot even send.
    fn no_types() -> Vec<(DataType, &'static str)> {
        use DataType::*;
        let item = |kind: DataType| Arc::new(Field::new("item", kind, true));
        let mut deep = Int64;
        for _ in 0..limits::bounds::NESTING + 1 {
            deep = List(item(deep));
        }
        let pair = |fields: Vec<Field>| Map(Arc::new(Field::new("entries", Struct(fields.into()), false)), false);
        vec![
            (Decimal32(10, 0), "Decimal32(10, 0) is no type"),
            (Decimal64(19, 0), "Decimal64(19, 0) is no type"),
            (Decimal128(39, 0), "Decimal128(39, 0) is no type"),
            (Decimal128(0, 0), "Decimal128(0, 0) is no type"),
            (Decimal128(5, 6), "Decimal128(5, 6) is no type"),
            (Decimal256(77, 0), "Decimal256(77, 0) is no type"),
            (FixedSizeBinary(-1), "FixedSizeBinary(-1) is no type"),
            (FixedSizeList(item(Int64), -1), "is no type"),
            (pair(vec![]), "is no type"),
            (pair(vec![Field::new("key", Utf8, false)]), "is no type"),
            (RunEndEncoded(item(UInt64), item(Utf8)), "is no type"),
            (RunEndEncoded(item(Utf8), item(Utf8)), "is no type"),
            (List(item(Decimal128(39, 0))), "Decimal128(39, 0) is no type"),
            (Struct(vec![Field::new("x", FixedSizeBinary(-1), true)].into()), "FixedSizeBinary(-1) is no type"),
            (deep, "types are nested more than"),
            (Timestamp(TimeUnit::Nanosecond, Some("x".repeat(1 << 20).into())), "a name of 1048576 bytes"),
        ]
    }

    #[test]
    fn a_schema_is_judged_when_it_comes_each_column_of_it() {
        for (kind, why) in no_types() {
            for at in 0..3 {
                let mut fields = vec![Field::new("n", DataType::Int64, true); 2];
                fields.insert(at, Field::new("wrong", kind.clone(), true));
                let schema = Schema::new(fields);
                let prefixed = encapsulated(&schema).expect("a message");
                let header = &prefixed[8..];
                let refused = Received::default().read(header, &Buffer::default()).expect_err("it is no type");
                let (said, also) = (refused.message(), schema_of(&prefixed).expect_err("it is no type"));
                for text in [said, also.as_str()] {
                    assert!(text.contains("column \"wrong\": ") && text.contains(why), "{kind}: {text}");
                }
                assert_eq!(refused.code(), tonic::Code::InvalidArgument);
            }
        }
    }

    /// Cells of several types, dense or not.
    fn union(dense: bool) -> RecordBatch {
        let fields = UnionFields::try_new(
            [0, 1],
            [Field::new("n", DataType::Int64, true), Field::new("s", DataType::Utf8, true)],
        );
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["x", "y", "z"]));
        let offsets = dense.then(|| vec![2, 0, 1].into());
        let cells = UnionArray::try_new(fields.expect("two"), vec![0, 1, 0].into(), offsets, vec![numbers, texts]);
        RecordBatch::try_from_iter([("u", Arc::new(cells.expect("sound")) as ArrayRef)]).expect("one column")
    }

    #[test]
    fn unions_come_back_as_they_went_and_broken_ones_are_refused() {
        for batch in [union(true), union(false)] {
            let messages = sent(Encoder::new(&batch.schema()).and_then(|mut of| of.encode(&batch)).expect("messages"));
            let read = |body: &[u8]| {
                let mut received = Received::default();
                received.read(&messages[0].data_header, &Buffer::default()).expect("a schema");
                received.read(&messages[1].data_header, &Buffer::from(body))
            };
            let body = messages[1].data_body.to_vec();
            assert_eq!(read(&body).ok().flatten(), Some(batch));
            // The kinds of the cells stand first, then perhaps their places.
            let mut refused = 0;
            for at in 0..body.len() {
                for with in [2, 0x7f, 0x80, 0xff] {
                    let mut wrong = body.clone();
                    wrong[at] = with;
                    match read(&wrong) {
                        Err(_) => refused += 1,
                        // Nothing in it leads beyond its end.
                        Ok(read) => drop(format!("{:?}", read.expect("rows"))),
                    }
                }
            }
            assert!(refused >= 3 * 4, "{refused}");
        }
    }

    #[test]
    fn no_bytes_break_the_reader() {
        let batch = batch(20);
        let mut encoder = Encoder::new(&batch.schema()).expect("an encoder");
        let messages = sent(encoder.encode(&batch).expect("messages"));
        let schema = &messages[0];
        for at in 0..messages[1].data_header.len() {
            for with in [0, 1, 0x7f, 0x80, 0xff] {
                let mut header = messages[1].data_header.to_vec();
                header[at] = with;
                let mut received = Received::default();
                assert!(received.read(&schema.data_header, &Buffer::default()).is_ok());
                _ = received.read(&header, &messages[1].data_body.clone().into());
                _ = received.read(&messages[1].data_header, &messages[1].data_body.slice(1..).into());
            }
        }
    }
}
