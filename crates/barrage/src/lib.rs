//! Barrage without sockets: what its messages hold, both ways, and what a subscriber is told when.
//!
//! A row set is a stream of commands, each with one or many signed steps: a step up opens a key, a
//! step written as its negative closes the range that the last key opened. All integers are
//! little-endian. What is read may be cut into commands in any way; what is written is cut as the
//! other implementations cut it, byte for byte. Reading is safe on any bytes and takes no more memory
//! than they do, times a constant.
//!
//! ```
//! use rowset::RowSet;
//!
//! let rows: RowSet = [1, 2, 7, 8, 9].into_iter().collect();
//! let bytes = barrage::encode_rows(&rows);
//! assert_eq!(bytes, [0x1c, 4, 1, 0xff, 5, 0xfe, 0x20]);
//! assert_eq!(barrage::decode_rows(&bytes)?, rows);
//! # Ok::<(), barrage::BarrageError>(())
//! ```
#![deny(unsafe_code)]

mod batch;
mod flat;
mod follower;
mod locks;
mod metadata;
mod mirror;
mod preview;
mod receive;
mod rowset_codec;
mod schema;
mod shifts;
mod subscriber;
mod train;
mod values;

pub use batch::{Batch, Layout, read_batch, write_batch};
pub use follower::{Follower, News, Next, Steps};
pub use locks::{Lock, Locks, Machine};
pub use metadata::{
    MAGIC, Metadata, PublicationRequest, SnapshotOptions, SnapshotRequest, SubscriptionOptions, SubscriptionRequest,
    UpdateMetadata,
};
pub use mirror::Mirror;
pub use preview::Preview;
pub use receive::{ReceivedUpdate, Receiver};
pub use rowset_codec::{decode_rows, encode_rows};
pub use schema::{WireSchema, original, read_schema};
pub use shifts::{decode_shifts, encode_shifts};
pub use subscriber::{BlinkRows, Outgoing, Subscriber};
pub use train::{Cells, Limits, Train, TrainMessage};
pub use values::from_wire;

/// Why bytes are not what they should be.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BarrageError {
    /// The bytes end before the set does.
    #[error("the bytes end at {at}, before the set does")]
    Short {
        /// Where the bytes end.
        at: usize,
    },
    /// Something at this byte is not as the format has it.
    #[error("at byte {at}: {what}")]
    Malformed {
        /// Where.
        at: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// A step leads out of the space of row keys.
    #[error("at byte {at}: a key outside the space of row keys")]
    OutOfKeys {
        /// Where.
        at: usize,
    },
    /// The three sets of a list of shifts do not belong together.
    #[error("shifts: {what}")]
    Shifts {
        /// What is wrong.
        what: &'static str,
    },
    /// Metadata is not what the format has.
    #[error("metadata: {what}")]
    Metadata {
        /// What is wrong.
        what: &'static str,
    },
    /// A message of another kind than those that are read.
    #[error("metadata: messages of kind {kind} are not read")]
    Kind {
        /// The number of the kind.
        kind: i8,
    },
    /// A batch or a schema is not what the format or its schema has.
    #[error("record batch: {what}")]
    Batch {
        /// What is wrong.
        what: String,
    },
    /// A column cannot be written or read.
    #[error("column {column:?}: {what}")]
    Column {
        /// Its name.
        column: String,
        /// What is wrong.
        what: String,
    },
    /// A request that does not fit the table or the requests before it.
    #[error("{what}")]
    Request {
        /// What is wrong.
        what: &'static str,
    },
}
