//! Columns as a record batch.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::bit_util::ceil;
use arrow_ipc::{Buffer, FieldNode, MessageBuilder, MessageHeader, MetadataVersion, RecordBatchBuilder};
use arrow_schema::{DataType, SchemaRef};
use flatbuffers::FlatBufferBuilder;

use super::{Batch, Layout};
use crate::BarrageError;
use crate::values::{to_wire, with_sentinels};

/// A batch of these columns, each as long as it is; cells become those of the wire's types.
pub fn write_batch(schema: &SchemaRef, columns: &[ArrayRef], layout: Layout) -> Result<Batch, BarrageError> {
    let mut laid = Laid { nodes: Vec::new(), buffers: Vec::new(), body: Vec::new(), layout };
    for (field, column) in schema.fields().iter().zip(columns) {
        let fault = |error: arrow_schema::ArrowError| BarrageError::Column {
            column: field.name().clone(),
            what: error.to_string(),
        };
        let cells = to_wire(column, field.data_type()).map_err(fault)?;
        if layout.columns_as_list {
            laid.nodes.push(FieldNode::new(1, 0));
            laid.push(&[]);
            let len = i32::try_from(cells.len()).map_err(|_| BarrageError::Column {
                column: field.name().clone(),
                what: "more rows than a list holds".to_owned(),
            })?;
            laid.push(&[0i32.to_le_bytes(), len.to_le_bytes()].concat());
        }
        laid.column(&cells).map_err(fault)?;
    }
    let longest = columns.iter().map(|column| column.len()).max().unwrap_or(0);
    let length = if layout.columns_as_list { 1 } else { longest as i64 };
    let header = header(&laid, length);
    Ok(Batch { header, body: laid.body })
}

struct Laid {
    nodes: Vec<FieldNode>,
    buffers: Vec<Buffer>,
    body: Vec<u8>,
    layout: Layout,
}

impl Laid {
    /// A buffer at a multiple of eight bytes, and as long as one.
    fn push(&mut self, bytes: &[u8]) {
        let from = self.body.len();
        self.body.extend_from_slice(bytes);
        self.body.resize(self.body.len().next_multiple_of(8), 0);
        self.buffers.push(Buffer::new(from as i64, (self.body.len() - from) as i64));
    }

    fn column(&mut self, cells: &ArrayRef) -> Result<(), arrow_schema::ArrowError> {
        let width = cells.data_type().primitive_width();
        let in_place = width.is_some() && crate::values::sentinel(cells.data_type()).is_some();
        let bits = !(in_place && self.layout.deephaven_nulls);
        let nulls = cells.nulls().filter(|nulls| bits && nulls.null_count() > 0);
        let null_count = nulls.map_or(0, |nulls| nulls.null_count());
        self.nodes.push(FieldNode::new(cells.len() as i64, null_count as i64));
        match nulls {
            Some(nulls) => self.push(packed(nulls.inner()).as_slice()),
            None => self.push(&[]),
        }
        match cells.data_type() {
            DataType::Boolean => self.push(packed(cells.as_boolean().values()).as_slice()),
            DataType::Utf8 => {
                let texts = cells.as_string::<i32>();
                self.texts(texts.value_offsets(), texts.value_data());
            }
            DataType::Binary => {
                let bytes = cells.as_binary::<i32>();
                self.texts(bytes.value_offsets(), bytes.value_data());
            }
            DataType::List(_) => {
                let list = cells.as_list::<i32>();
                let (first, last) = self.offsets(list.value_offsets());
                self.column(&list.values().slice(first, last - first))?;
            }
            other => match width {
                Some(width) => self.push(with_sentinels(cells, width).as_slice()),
                None => {
                    return Err(arrow_schema::ArrowError::NotYetImplemented(format!(
                        "the type {other} is not laid down"
                    )));
                }
            },
        }
        Ok(())
    }

    fn texts(&mut self, offsets: &[i32], bytes: &[u8]) {
        let (first, last) = self.offsets(offsets);
        self.push(&bytes[first..last]);
    }

    /// Offsets that begin at 0, and where what they name begins and ends. No cell has no offset either.
    fn offsets(&mut self, offsets: &[i32]) -> (usize, usize) {
        let (first, last) = (offsets[0], offsets[offsets.len() - 1]);
        if offsets.len() == 1 {
            self.push(&[]);
        } else {
            let bytes: Vec<u8> = offsets.iter().flat_map(|offset| (offset - first).to_le_bytes()).collect();
            self.push(&bytes);
        }
        (first as usize, last as usize)
    }
}

/// Bits from the first on, with zeros behind the last.
fn packed(bits: &arrow_buffer::BooleanBuffer) -> Vec<u8> {
    let mut bytes = bits.sliced().as_slice()[..ceil(bits.len(), 8)].to_vec();
    if let (Some(last), over) = (bytes.last_mut(), bits.len() % 8)
        && over != 0
    {
        *last &= (1 << over) - 1;
    }
    bytes
}

fn header(laid: &Laid, length: i64) -> Vec<u8> {
    let mut builder = FlatBufferBuilder::new();
    let nodes = builder.create_vector(&laid.nodes);
    let buffers = builder.create_vector(&laid.buffers);
    let mut batch = RecordBatchBuilder::new(&mut builder);
    batch.add_nodes(nodes);
    batch.add_buffers(buffers);
    batch.add_length(length);
    let batch = batch.finish();
    let mut message = MessageBuilder::new(&mut builder);
    message.add_header_type(MessageHeader::RecordBatch);
    message.add_header(batch.as_union_value());
    message.add_version(MetadataVersion::V5);
    message.add_bodyLength(laid.body.len() as i64);
    let message = message.finish();
    builder.finish_minimal(message);
    builder.finished_data().to_vec()
}
