//! Columns out of a record batch; safe on any bytes. Buffers follow each other in the body, so that no byte is read for
//! two columns, and a row takes a bit of the body at least: what is made is in proportion to what came.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, make_array, new_empty_array};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_ipc::FieldNode;
use arrow_schema::{DataType, Field, SchemaRef};

use super::{Layout, fault, message};
use crate::BarrageError;
use crate::values::nulls_of_sentinels;

/// The columns of a batch, each as long as it came. `schema` has the wire's types, without the lists around columns.
pub fn read_batch(
    schema: &SchemaRef,
    header: &[u8],
    body: &Buffer,
    layout: Layout,
) -> Result<Vec<ArrayRef>, BarrageError> {
    let message = message(header)?;
    let Some(batch) = message.header_as_record_batch() else { return fault("no record batch") };
    if batch.compression().is_some() {
        return fault("compressed bodies are not read");
    }
    let nodes = batch.nodes().into_iter().flatten();
    let buffers = batch.buffers().into_iter().flatten().map(|buffer| (buffer.offset(), buffer.length()));
    let mut cursor = Cursor { nodes, buffers, body, end: 0 };
    let mut columns = Vec::new();
    for field in schema.fields() {
        let column = cursor.top(field, layout);
        let named = |what: String| BarrageError::Column { column: field.name().clone(), what };
        let column = column.map_err(|error| match error {
            BarrageError::Batch { what } => named(what),
            other => other,
        })?;
        let column = if layout.deephaven_nulls {
            nulls_of_sentinels(column).map_err(|error| named(error.to_string()))?
        } else {
            column
        };
        columns.push(column);
    }
    if cursor.nodes.next().is_some() || cursor.buffers.next().is_some() {
        return fault("more columns than the schema has");
    }
    Ok(columns)
}

struct Cursor<'a, N, B> {
    nodes: N,
    buffers: B,
    body: &'a Buffer,
    /// Where the last buffer that was read ends.
    end: usize,
}

impl<'m, N: Iterator<Item = &'m FieldNode>, B: Iterator<Item = (i64, i64)>> Cursor<'_, N, B> {
    /// A column, out of the list around it if there is one.
    fn top(&mut self, field: &Field, layout: Layout) -> Result<ArrayRef, BarrageError> {
        if !layout.columns_as_list {
            return self.array(field.data_type());
        }
        let list = DataType::List(std::sync::Arc::new(Field::new("", field.data_type().clone(), true)));
        let list = self.array(&list)?;
        let list = list.as_list::<i32>();
        if list.len() != 1 || list.is_null(0) {
            return fault("a column is not one list");
        }
        Ok(list.value(0))
    }

    fn node(&mut self) -> Result<usize, BarrageError> {
        let Some(node) = self.nodes.next() else { return fault("fewer columns than the schema has") };
        match usize::try_from(node.length()).ok().filter(|len| *len <= i32::MAX as usize) {
            Some(len) => Ok(len),
            None => fault(format!("{} rows", node.length())),
        }
    }

    /// The next buffer, of which so many bytes are needed.
    fn buffer(&mut self, needed: usize) -> Result<Buffer, BarrageError> {
        let found = self.any()?;
        if found.len() < needed {
            return fault(format!("a buffer of {} bytes, where {needed} are needed", found.len()));
        }
        Ok(found.slice_with_length(0, needed))
    }

    /// The next buffer, as long as it is.
    fn any(&mut self) -> Result<Buffer, BarrageError> {
        let Some((from, len)) = self.buffers.next() else { return fault("fewer buffers than the schema needs") };
        if len == 0 {
            return Ok(Buffer::from_vec(Vec::<u8>::new()));
        }
        let range = usize::try_from(from).ok().zip(usize::try_from(len).ok());
        let range = range.and_then(|(from, len)| Some((from, from.checked_add(len)?)));
        match range {
            Some((from, to)) if from >= self.end && to <= self.body.len() => {
                self.end = to;
                Ok(self.body.slice_with_length(from, to - from))
            }
            _ => fault("a buffer lies outside of the body, or on another one"),
        }
    }

    fn validity(&mut self, len: usize) -> Result<Option<NullBuffer>, BarrageError> {
        let bits = self.any()?;
        if bits.is_empty() {
            return Ok(None);
        }
        if bits.len() < len.div_ceil(8) {
            return fault(format!("validity of {} bytes for {len} rows", bits.len()));
        }
        Ok(Some(NullBuffer::new(BooleanBuffer::new(bits, 0, len))))
    }

    fn array(&mut self, data_type: &DataType) -> Result<ArrayRef, BarrageError> {
        let len = self.node()?;
        let nulls = self.validity(len)?;
        let builder = ArrayData::builder(data_type.clone()).len(len).nulls(nulls).align_buffers(true);
        let builder = match data_type {
            DataType::Boolean => builder.add_buffer(self.buffer(len.div_ceil(8))?),
            DataType::Utf8 | DataType::Binary => {
                let offsets = self.offsets(len)?;
                let bytes = self.any()?;
                match offsets {
                    None => return Ok(new_empty_array(data_type)),
                    Some(offsets) => builder.add_buffer(offsets).add_buffer(bytes),
                }
            }
            DataType::List(item) => {
                let offsets = self.offsets(len)?;
                let cells = self.array(item.data_type())?;
                match offsets {
                    None => return Ok(new_empty_array(data_type)),
                    Some(offsets) => builder.add_buffer(offsets).add_child_data(cells.to_data()),
                }
            }
            other => match other.primitive_width() {
                Some(width) => builder.add_buffer(self.buffer(len.saturating_mul(width))?),
                None => return fault(format!("the type {other} is not read")),
            },
        };
        match builder.build() {
            Ok(data) => Ok(make_array(data)),
            Err(error) => fault(error.to_string()),
        }
    }

    /// Offsets of so many cells; none where there is no cell.
    fn offsets(&mut self, len: usize) -> Result<Option<Buffer>, BarrageError> {
        if len == 0 {
            self.any()?;
            return Ok(None);
        }
        Ok(Some(self.buffer(4 * (len + 1))?))
    }
}
