//! Trains of messages as updates: the other end of [`Train`](crate::Train).

use arrow_array::{Array, ArrayRef};
use arrow_buffer::Buffer;
use engine::ColumnSet;
use rowset::RowSet;

use crate::BarrageError;
use crate::batch::{Layout, read_batch};
use crate::metadata::{Metadata, UpdateMetadata};
use crate::schema::WireSchema;

/// An update with its cells: of each column the pieces in which they came, in key order.
#[derive(Clone, Debug)]
pub struct ReceivedUpdate {
    /// What changed.
    pub metadata: UpdateMetadata,
    /// Cells of the rows that came.
    pub added: Vec<Vec<ArrayRef>>,
    /// Cells of the rows that changed.
    pub modified: Vec<Vec<ArrayRef>>,
}

/// Puts the messages of a stream together.
#[derive(Debug)]
pub struct Receiver {
    schema: WireSchema,
    layout: Layout,
    /// The columns that are sent, by the last message that said so.
    columns: ColumnSet,
    open: Option<Open>,
}

/// An update of which messages are missing.
#[derive(Debug)]
struct Open {
    update: ReceivedUpdate,
    /// Added rows that have not come.
    added: u64,
    /// Modified rows that have not come, by column.
    modified: Vec<u64>,
}

fn fault<T>(what: impl Into<String>) -> Result<T, BarrageError> {
    Err(BarrageError::Batch { what: what.into() })
}

impl Receiver {
    /// For a stream of this schema.
    pub fn new(schema: WireSchema, layout: Layout) -> Receiver {
        let columns = ColumnSet::all(schema.width());
        Receiver { schema, layout, columns, open: None }
    }

    /// The schema of the stream.
    pub fn schema(&self) -> &WireSchema {
        &self.schema
    }

    /// Takes the next message; gives an update when its last message has come. After an error the stream is of no use.
    pub fn receive(
        &mut self,
        metadata: &[u8],
        header: &[u8],
        body: &Buffer,
    ) -> Result<Option<ReceivedUpdate>, BarrageError> {
        let mut open = match self.open.take() {
            Some(_) if !metadata.is_empty() => return fault("an update before the last one was complete"),
            Some(open) => open,
            None => self.begin(metadata)?,
        };
        let columns = read_batch(self.schema.schema(), header, body, self.layout)?;
        if open.added > 0 {
            self.added(&mut open, columns)?
        } else {
            modified(&mut open, columns)?
        };
        if open.added > 0 || open.modified.iter().any(|left| *left > 0) {
            self.open = Some(open);
            return Ok(None);
        }
        Ok(Some(open.update))
    }

    fn begin(&mut self, metadata: &[u8]) -> Result<Open, BarrageError> {
        if metadata.is_empty() {
            return fault("a batch without an update");
        }
        let Metadata::Update(metadata) = Metadata::read(metadata)? else { return fault("no update") };
        let width = self.schema.width();
        if let Some(columns) = &metadata.effective_columns {
            if columns.iter().any(|column| column >= width) {
                return fault("a column outside of the schema");
            }
            self.columns = columns.clone();
        }
        if metadata.modified.as_ref().is_some_and(|modified| modified.len() != width) {
            return fault("modified rows of another count of columns");
        }
        if let (Some(added), Some(included)) = (&metadata.added, &metadata.added_included)
            && !included.is_subset(added)
        {
            return fault("cells of rows that were not added");
        }
        let modified: Vec<u64> = match &metadata.modified {
            Some(modified) => modified.iter().map(RowSet::len).collect(),
            None => vec![0; width],
        };
        if modified.iter().enumerate().any(|(column, rows)| *rows > 0 && !self.columns.contains(column)) {
            return fault("modified rows of a column that is not sent");
        }
        let added = if self.columns.is_empty() { 0 } else { metadata.added_rows() };
        let empty = || vec![Vec::new(); width];
        let update = ReceivedUpdate { metadata: *metadata, added: empty(), modified: empty() };
        Ok(Open { update, added, modified })
    }

    fn added(&self, open: &mut Open, columns: Vec<ArrayRef>) -> Result<(), BarrageError> {
        let rows = self.columns.iter().next().map_or(0, |column| columns[column].len());
        for (at, cells) in columns.into_iter().enumerate() {
            let expected = if self.columns.contains(at) { rows } else { 0 };
            if cells.len() != expected {
                return fault(format!("{} added rows of column {at}, where others have {expected}", cells.len()));
            }
            if !cells.is_empty() {
                open.update.added[at].push(cells);
            }
        }
        match open.added.checked_sub(rows as u64) {
            Some(left) if rows > 0 => open.added = left,
            _ => return fault(format!("{rows} added rows, where {} are missing", open.added)),
        }
        Ok(())
    }
}

fn modified(open: &mut Open, columns: Vec<ArrayRef>) -> Result<(), BarrageError> {
    let waiting = open.modified.iter().any(|left| *left > 0);
    let mut any = false;
    for (at, cells) in columns.into_iter().enumerate() {
        let rows = cells.len() as u64;
        match open.modified[at].checked_sub(rows) {
            Some(left) => open.modified[at] = left,
            None => {
                return fault(format!("{rows} modified rows of column {at}, where {} are missing", open.modified[at]));
            }
        }
        if rows > 0 {
            any = true;
            open.update.modified[at].push(cells);
        }
    }
    if waiting && !any { fault("a batch without rows, where modified ones are missing") } else { Ok(()) }
}
