//! Cells outside of blocks: an Arrow array taken apart into plain memory, and put together again.
//!
//! Everything that moves cells works on this form and knows only their width.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, downcast_primitive_array};
use arrow_buffer::{BooleanBuffer, Buffer, MutableBuffer, NullBuffer};
use arrow_schema::DataType;

use crate::error::Error;
use crate::kernels::assemble;
use crate::kernels::bits::Bits;
use crate::types::kind;
use crate::types::kind::Kind;
use crate::types::views::{length, place};

/// What every column of one type has in common.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub data_type: DataType,
    pub kind: Kind,
    /// Bytes a cell; 0 for opaque kinds.
    pub width: usize,
}

impl Shape {
    pub(crate) fn new(data_type: &DataType) -> Shape {
        let data_type = kind::canonical(data_type);
        let kind = Kind::of(&data_type);
        Shape { width: kind.width().unwrap_or(0), data_type, kind }
    }

    pub(crate) fn is_opaque(&self) -> bool {
        self.kind == Kind::Opaque
    }

    pub(crate) fn has_views(&self) -> bool {
        matches!(self.kind, Kind::Str | Kind::Bytes)
    }

    /// Whether a cell is one number, and nothing beside it.
    pub(crate) fn is_plain(&self) -> bool {
        !self.is_opaque() && !self.has_views() && !matches!(self.kind, Kind::Fixed(_))
    }

    /// The chunk, if it is of this type and has a cell for each row.
    pub(crate) fn check(&self, rows: u64, chunk: &ArrayRef) -> Result<(), Error> {
        if chunk.data_type() != &self.data_type {
            return Err(Error::Type { expected: self.data_type.clone(), found: chunk.data_type().clone() });
        }
        if chunk.len() as u64 != rows {
            return Err(Error::Length { rows, cells: chunk.len() as u64 });
        }
        Ok(())
    }
}

/// Calls a kernel with the integer type that is as wide as a cell, and the number of them a cell takes.
macro_rules! with_width {
    ($shape:expr, $unit:ident, $stride:ident => $body:expr) => {{
        type Wide = arrow_buffer::i256;
        match ($shape.kind, $shape.width) {
            ($crate::types::kind::Kind::Fixed(_), width) => {
                type $unit = u8;
                let $stride = width;
                $body
            }
            (_, 1) => {
                type $unit = u8;
                let $stride = 1usize;
                $body
            }
            (_, 2) => {
                type $unit = u16;
                let $stride = 1usize;
                $body
            }
            (_, 4) => {
                type $unit = u32;
                let $stride = 1usize;
                $body
            }
            (_, 8) => {
                type $unit = u64;
                let $stride = 1usize;
                $body
            }
            (_, 16) => {
                type $unit = u128;
                let $stride = 1usize;
                $body
            }
            _ => {
                type $unit = Wide;
                let $stride = 1usize;
                $body
            }
        }
    }};
}
pub(crate) use with_width;

/// Cells in memory, read only.
pub(crate) struct Cells {
    pub values: Buffer,
    pub nulls: Option<NullBuffer>,
    /// The buffers that views point into.
    pub texts: Vec<Buffer>,
}

impl Cells {
    /// The memory of a chunk of this shape (not an opaque one), without a copy where its form allows.
    pub(crate) fn of(shape: &Shape, chunk: &ArrayRef) -> Cells {
        let nulls = chunk.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        let (values, texts) = match shape.kind {
            Kind::Bool => (spread(chunk.as_boolean().values()), Vec::new()),
            Kind::Str => {
                let views = chunk.as_string_view();
                (views.views().inner().clone(), views.data_buffers().to_vec())
            }
            Kind::Bytes => {
                let views = chunk.as_binary_view();
                (views.views().inner().clone(), views.data_buffers().to_vec())
            }
            _ => (units(chunk, shape), Vec::new()),
        };
        Cells { values: aligned(values, shape), nulls, texts }
    }

    /// The bytes a long view stands for.
    pub(crate) fn text(&self, view: u128) -> &[u8] {
        let (buffer, offset) = place(view);
        &self.texts[buffer as usize][offset as usize..][..length(view)]
    }
}

/// The values of an array of numbers, times or bytes of one width.
fn units(chunk: &ArrayRef, shape: &Shape) -> Buffer {
    let array = chunk.as_ref();
    downcast_primitive_array!(
        array => array.values().inner().clone(),
        _ => {
            let data = chunk.to_data();
            data.buffers()[0].slice_with_length(data.offset() * shape.width, chunk.len() * shape.width)
        }
    )
}

/// Cells being gathered.
pub(crate) struct Gathered {
    pub values: MutableBuffer,
    pub valid: Option<Bits>,
    pub texts: Vec<Buffer>,
    pub len: usize,
}

impl Gathered {
    pub(crate) fn new(shape: &Shape, len: usize) -> Gathered {
        Gathered { values: MutableBuffer::from_len_zeroed(len * shape.width), valid: None, texts: Vec::new(), len }
    }

    pub(crate) fn valid_mut(&mut self) -> &mut Bits {
        let len = self.len;
        self.valid.get_or_insert_with(|| Bits::filled(len, true))
    }

    pub(crate) fn finish(self, shape: &Shape) -> ArrayRef {
        let nulls = self.valid.and_then(|valid| valid.into_nulls(self.len));
        array_of(shape, self.len, self.values.into(), nulls, self.texts)
    }
}

/// Cells as an array of the shape's type.
pub(crate) fn array_of(
    shape: &Shape,
    len: usize,
    values: Buffer,
    nulls: Option<NullBuffer>,
    texts: Vec<Buffer>,
) -> ArrayRef {
    let values = match shape.kind {
        Kind::Bool => BooleanBuffer::collect_bool(len, |at| values[at] != 0).into_inner(),
        _ => values,
    };
    assemble::array(&shape.data_type, len, values, nulls, texts)
}

fn spread(bits: &BooleanBuffer) -> Buffer {
    let mut bytes = Vec::with_capacity(bits.len());
    bytes.extend(bits.iter().map(u8::from));
    Buffer::from_vec(bytes)
}

/// Foreign memory may be aligned for its own type only (an interval to 8 of its 16 bytes).
fn aligned(values: Buffer, shape: &Shape) -> Buffer {
    let wanted = match shape.kind {
        Kind::Fixed(_) => 1,
        _ => shape.width.clamp(1, 16),
    };
    if values.as_ptr().align_offset(wanted) == 0 { values } else { Buffer::from_slice_ref(values.as_slice()) }
}
