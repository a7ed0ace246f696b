//! Record batches of the wire. Columns may differ in length: each has its own node, and a column that is not sent has an
//! empty one. Arrow's own writer and reader want columns of one length, so these are ours.

mod read;
mod write;

use arrow_ipc::Message;

use crate::BarrageError;

pub use read::read_batch;
pub use write::write_batch;

/// How cells are laid down and read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Layout {
    /// Whether a null of a number or a time is a value in its place, without a validity bit.
    pub deephaven_nulls: bool,
    /// Whether each column is one list of its cells.
    pub columns_as_list: bool,
}

/// A Flight message but for its metadata.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Batch {
    /// A bare flatbuffer, without a length in front.
    pub header: Vec<u8>,
    /// The buffers, each of a multiple of eight bytes.
    pub body: Vec<u8>,
}

fn fault<T>(what: impl Into<String>) -> Result<T, BarrageError> {
    Err(BarrageError::Batch { what: what.into() })
}

/// A header that was checked: whatever it says lies within it.
pub(crate) fn message(header: &[u8]) -> Result<Message<'_>, BarrageError> {
    messages::header(header).or_else(|error| fault(error.to_string()))
}
