//! The result of an evaluation, slice by slice: values, or the rows where a predicate is true.

use arrow_array::{Array, new_null_array};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use arrow_schema::DataType;
use column::Chunk;

use crate::error::Error;

/// What an evaluation gives, in pieces that can be laid behind each other.
pub(super) trait Piece: Sized {
    /// What stands for one row without a value.
    fn absent(kind: &DataType) -> Self;
    fn joined(pieces: Vec<Self>) -> Result<Self, Error>;
}

impl Piece for Chunk {
    fn absent(kind: &DataType) -> Chunk {
        new_null_array(kind, 1)
    }

    fn joined(mut pieces: Vec<Chunk>) -> Result<Chunk, Error> {
        if pieces.len() == 1 {
            return Ok(pieces.remove(0));
        }
        let parts: Vec<&dyn Array> = pieces.iter().map(|piece| piece.as_ref()).collect();
        Ok(arrow_select::concat::concat(&parts)?)
    }
}

/// The rows for which a predicate is true.
impl Piece for BooleanBuffer {
    fn absent(_: &DataType) -> BooleanBuffer {
        BooleanBuffer::new_unset(1)
    }

    fn joined(pieces: Vec<BooleanBuffer>) -> Result<BooleanBuffer, Error> {
        let mut all = BooleanBufferBuilder::new(pieces.iter().map(BooleanBuffer::len).sum());
        pieces.iter().for_each(|piece| all.append_buffer(piece));
        Ok(all.finish())
    }
}
