//! What stands beside the cells: requests of clients and metadata of updates, one flatbuffer in another. The numbers of
//! the fields are those of `barrage.fbs`.

mod read;
mod write;

use engine::ColumnSet;
use rowset::{Positions, RowSet, Shift};

/// The bytes "dphn", which every message begins with.
pub const MAGIC: u32 = 0x6e68_7064;

/// A message of the metadata of a Flight stream.
#[derive(Clone, PartialEq, Debug)]
pub enum Metadata {
    /// A client wants a table, or another part of it.
    Subscription(SubscriptionRequest),
    /// A client wants the rows that there are.
    Snapshot(SnapshotRequest),
    /// A client will send a table.
    Publication(PublicationRequest),
    /// A table changed.
    Update(Box<UpdateMetadata>),
}

/// How a subscriber wants its updates.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SubscriptionOptions {
    /// Whether a null of a number or a time is a value in its place, without a validity bit.
    pub use_deephaven_nulls: bool,
    /// Milliseconds between updates, at least; 0 leaves it to the server.
    pub min_update_interval_ms: i32,
    /// Rows of one batch, at most; 0 and less leave it to the server.
    pub batch_size: i32,
    /// Bytes of one message, at most; 0 leaves it to the server.
    pub max_message_size: i32,
    /// Whether each column comes as one list, so that batches are not ragged.
    pub columns_as_list: bool,
    /// So many elements of each list, the last ones if negative; 0 for all.
    pub preview_list_length_limit: i64,
}

/// A request for a table and its updates, or for another part of it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SubscriptionRequest {
    /// The table; read from the first request alone.
    pub ticket: Vec<u8>,
    /// The columns; none for all.
    pub columns: Option<ColumnSet>,
    /// Positions of the table; none for all rows.
    pub viewport: Option<Positions>,
    /// How updates are wanted; read from the first request alone.
    pub options: SubscriptionOptions,
    /// Whether positions count from the end.
    pub reverse_viewport: bool,
}

/// How a snapshot is wanted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SnapshotOptions {
    /// Whether a null of a number or a time is a value in its place, without a validity bit.
    pub use_deephaven_nulls: bool,
    /// Rows of one batch, at most; 0 and less leave it to the server.
    pub batch_size: i32,
    /// Bytes of one message, at most; 0 leaves it to the server.
    pub max_message_size: i32,
    /// So many elements of each list, the last ones if negative; 0 for all.
    pub preview_list_length_limit: i64,
}

/// A request for the rows of a table as they are.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SnapshotRequest {
    /// The table.
    pub ticket: Vec<u8>,
    /// The columns; none for all.
    pub columns: Option<ColumnSet>,
    /// Positions of the table; none for all rows.
    pub viewport: Option<Positions>,
    /// How the rows are wanted.
    pub options: SnapshotOptions,
    /// Whether positions count from the end.
    pub reverse_viewport: bool,
}

/// A client says that it will send a table.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PublicationRequest {
    /// The table.
    pub ticket: Vec<u8>,
    /// Whether a null of a number or a time is a value in its place.
    pub use_deephaven_nulls: bool,
}

/// What changed. Row sets are keys of the table in a full subscription and ranks of the window in a viewport. What is
/// none is not on the wire.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct UpdateMetadata {
    /// The first step that it covers; -1 of a static table.
    pub first_seq: i64,
    /// The last step that it covers.
    pub last_seq: i64,
    /// Whether it answers a request.
    pub is_snapshot: bool,
    /// The viewport that holds from here on.
    pub effective_viewport: Option<Positions>,
    /// Whether positions of the viewport count from the end.
    pub effective_reverse_viewport: bool,
    /// The columns that are sent from here on.
    pub effective_columns: Option<ColumnSet>,
    /// Rows that came, after the shifts.
    pub added: Option<RowSet>,
    /// Rows that went, before the shifts.
    pub removed: Option<RowSet>,
    /// How the rows that stayed moved.
    pub shifts: Option<Vec<Shift>>,
    /// Those of `added` whose cells follow; none for all.
    pub added_included: Option<RowSet>,
    /// Of each column the rows whose cells changed, after the shifts.
    pub modified: Option<Vec<RowSet>>,
    /// Rows of the table after the update.
    pub table_size: i64,
}

impl UpdateMetadata {
    /// How many rows of cells of added rows follow.
    pub fn added_rows(&self) -> u64 {
        self.added_included.as_ref().or(self.added.as_ref()).map_or(0, RowSet::len)
    }

    /// How many rows of cells of modified rows follow, in the column that has most.
    pub fn modified_rows(&self) -> u64 {
        self.modified.iter().flatten().map(RowSet::len).max().unwrap_or(0)
    }
}

/// Kinds of messages.
pub(crate) mod kinds {
    pub(crate) const SUBSCRIPTION: i8 = 5;
    pub(crate) const UPDATE: i8 = 6;
    pub(crate) const SNAPSHOT: i8 = 7;
    pub(crate) const PUBLICATION: i8 = 8;
}
