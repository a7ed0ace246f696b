//! Updates as trains of messages: the first has the metadata, cells of added rows come in front of those of modified ones,
//! and no batch holds both. A train reads its cells as its messages are taken, so that a receiver that is slow costs one
//! message, not the table.

use std::collections::VecDeque;

use arrow_array::{ArrayRef, new_empty_array};
use engine::{ColumnSet, View};
use rowset::RowSet;

use crate::BarrageError;
use crate::batch::{Batch, Layout, write_batch};
use crate::metadata::{Metadata, SnapshotOptions, SubscriptionOptions, UpdateMetadata};
use crate::schema::WireSchema;

/// Cells of a table at one moment.
pub trait Cells {
    /// The cells of one column, in key order. All rows are there.
    fn cells(&self, column: usize, rows: &RowSet) -> Result<ArrayRef, BarrageError>;
}

impl Cells for View {
    fn cells(&self, column: usize, rows: &RowSet) -> Result<ArrayRef, BarrageError> {
        let named = |error: engine::Error| BarrageError::Column { column: column.to_string(), what: error.to_string() };
        self.read(column, rows).map_err(named)
    }
}

/// How large messages may become.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Rows of a batch.
    pub rows: u64,
    /// Bytes of a message.
    pub bytes: usize,
}

/// Rows of the first batch, at most.
const FIRST: u64 = 4096;
/// Rows of any batch, at most.
const ROWS: u64 = 1 << 16;
/// Bytes of a message, unless a client says otherwise.
const BYTES: usize = 100 << 20;

impl Limits {
    fn of(rows: i32, bytes: i32) -> Limits {
        Limits {
            rows: u64::try_from(rows).ok().filter(|rows| *rows > 0).map_or(ROWS, |rows| rows.min(ROWS)),
            bytes: usize::try_from(bytes).ok().filter(|bytes| *bytes > 0).map_or(BYTES, |bytes| bytes.min(BYTES)),
        }
    }
}

impl From<&SubscriptionOptions> for Limits {
    fn from(options: &SubscriptionOptions) -> Limits {
        Limits::of(options.batch_size, options.max_message_size)
    }
}

impl From<&SnapshotOptions> for Limits {
    fn from(options: &SnapshotOptions) -> Limits {
        Limits::of(options.batch_size, options.max_message_size)
    }
}

/// A message of a train; one without metadata has empty bytes there.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TrainMessage {
    /// Metadata, on the first message alone.
    pub metadata: Vec<u8>,
    /// Header and body.
    pub batch: Batch,
}

/// An update on its way.
#[derive(Clone, Debug)]
pub struct Train {
    metadata: Option<UpdateMetadata>,
    /// The columns of which cells are sent.
    columns: ColumnSet,
    added: RowSet,
    modified: Vec<RowSet>,
    /// Rows of the part that is being sent that have been sent.
    sent: u64,
    adding: bool,
    messages: u64,
    /// Rows of a message of the size that is wanted, by the last one.
    fitting: u64,
}

impl Train {
    /// A train with the cells of these rows, in keys of the table. `modified` has one set for each column.
    pub fn new(metadata: UpdateMetadata, columns: ColumnSet, added: RowSet, modified: Vec<RowSet>) -> Train {
        // Without columns there is nothing to send, whatever rows there are.
        let added = if columns.is_empty() { RowSet::new() } else { added };
        let adding = !added.is_empty();
        Train { metadata: Some(metadata), columns, added, modified, sent: 0, adding, messages: 0, fitting: FIRST }
    }

    /// The metadata, until the first message has been taken.
    pub fn metadata(&self) -> Option<&UpdateMetadata> {
        self.metadata.as_ref()
    }

    /// Rows of cells that have not been sent, of the part that is being sent.
    fn left(&self) -> u64 {
        let longest = |rows: &[RowSet]| rows.iter().map(RowSet::len).max().unwrap_or(0);
        let all = if self.adding { self.added.len() } else { longest(&self.modified) };
        all - self.sent
    }

    /// The next message; none behind the last. The cells must be those of the moment that the update leads to.
    pub fn next(
        &mut self,
        schema: &WireSchema,
        cells: &dyn Cells,
        layout: Layout,
        limits: Limits,
    ) -> Result<Option<TrainMessage>, BarrageError> {
        if self.adding && self.left() == 0 {
            (self.adding, self.sent) = (false, 0);
        }
        if self.left() == 0 && self.metadata.is_none() {
            return Ok(None);
        }
        let mut rows = self.left().min(limits.rows).min(self.fitting);
        let batch = loop {
            let batch = self.batch(schema, cells, layout, rows)?;
            let bytes = batch.header.len() + batch.body.len();
            if bytes < limits.bytes || rows == 0 {
                let each = (bytes as u64 / rows.max(1)).max(1);
                self.fitting = (limits.bytes as u64 / 10 * 9 / each).clamp(1, ROWS);
                break batch;
            }
            if rows == 1 {
                let what = format!("a row of {bytes} bytes, but a message has at most {}", limits.bytes);
                return Err(BarrageError::Batch { what });
            }
            // As much smaller as it was too large, at least by half.
            let fitting = limits.bytes as u64 * rows / (bytes as u64 + 1);
            rows = fitting.min(rows / 2).max(1);
        };
        self.sent += rows;
        self.messages += 1;
        let metadata = self.metadata.take().map(|metadata| Metadata::Update(Box::new(metadata)).write());
        Ok(Some(TrainMessage { metadata: metadata.unwrap_or_default(), batch }))
    }

    /// The messages that are left, for those who want all at once.
    pub fn rest(
        mut self,
        schema: &WireSchema,
        cells: &dyn Cells,
        layout: Layout,
        limits: Limits,
    ) -> Result<VecDeque<TrainMessage>, BarrageError> {
        let mut messages = VecDeque::new();
        while let Some(message) = self.next(schema, cells, layout, limits)? {
            messages.push_back(message);
        }
        Ok(messages)
    }

    fn batch(&self, schema: &WireSchema, cells: &dyn Cells, layout: Layout, count: u64) -> Result<Batch, BarrageError> {
        let fields = schema.schema().fields();
        let column = |(at, field): (usize, &arrow_schema::FieldRef)| {
            let rows = match self.adding {
                true => self.columns.contains(at).then_some(&self.added),
                false => self.modified.get(at).filter(|_| self.columns.contains(at)),
            };
            let rows = rows.map(|rows| rows.slice(self.sent, count)).filter(|rows| !rows.is_empty());
            match rows {
                None => Ok(new_empty_array(field.data_type())),
                Some(rows) => cells.cells(at, &rows).map_err(|error| named(error, field.name())),
            }
        };
        let columns = fields.iter().enumerate().map(column).collect::<Result<Vec<ArrayRef>, BarrageError>>()?;
        write_batch(schema.schema(), &columns, layout)
    }
}

/// An error of a column by its name, where it has the number.
fn named(error: BarrageError, name: &str) -> BarrageError {
    match error {
        BarrageError::Column { what, .. } => BarrageError::Column { column: name.to_owned(), what },
        other => other,
    }
}
