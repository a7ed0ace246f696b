//! A table as a client has it: what the updates of a stream say, row by row in the order of the table. It is plain: an
//! update costs what the mirror holds.

use arrow_array::{Array, ArrayRef, new_empty_array};
use arrow_schema::DataType;
use arrow_select::concat::concat;
use arrow_select::interleave::interleave;
use engine::ColumnSet;
use rowset::{Before, RowSet, Shifts};

use crate::BarrageError;
use crate::receive::ReceivedUpdate;
use crate::schema::WireSchema;

/// A table as the updates of a stream make it.
#[derive(Clone, Debug)]
pub struct Mirror {
    schema: WireSchema,
    /// Whether rows are ranks of a window, not keys of the table.
    ranks: bool,
    rows: RowSet,
    /// The columns that are sent.
    sent: ColumnSet,
    /// Of a column that is not sent, nothing.
    columns: Vec<ArrayRef>,
    size: i64,
}

/// Rows of which cells come, and where they stand in the end.
struct Part<'a> {
    rows: &'a RowSet,
    pieces: &'a [Vec<ArrayRef>],
}

fn fault<T>(what: impl Into<String>) -> Result<T, BarrageError> {
    Err(BarrageError::Batch { what: what.into() })
}

impl Mirror {
    /// An empty mirror of a whole table, or of a window of one.
    pub fn new(schema: WireSchema, viewport: bool) -> Mirror {
        let columns = schema.schema().fields().iter().map(|field| new_empty_array(field.data_type())).collect();
        let sent = ColumnSet::all(schema.width());
        Mirror { schema, ranks: viewport, rows: RowSet::new(), sent, columns, size: 0 }
    }

    /// The rows: keys of the table, or ranks in the window.
    pub fn rows(&self) -> &RowSet {
        &self.rows
    }

    /// The cells of a column, in the order of the rows; none if the column is not sent.
    pub fn column(&self, column: usize) -> Option<&ArrayRef> {
        self.columns.get(column).filter(|_| self.sent.contains(column))
    }

    /// Rows of the whole table, by the last message.
    pub fn size(&self) -> i64 {
        self.size
    }

    /// Applies an update. An update that does not fit leaves the mirror as it was.
    pub fn apply(&mut self, update: &ReceivedUpdate) -> Result<(), BarrageError> {
        let metadata = &update.metadata;
        let part = |rows: &Option<RowSet>| rows.clone().unwrap_or_default();
        let (removed, added) = (part(&metadata.removed), part(&metadata.added));
        let included = metadata.added_included.clone().unwrap_or_else(|| added.clone());
        let whole = self.ranks && metadata.shifts.is_some();
        if !removed.is_subset(&self.rows) {
            return fault("rows went that were not there");
        }
        let kept = Before(&self.rows - &removed);
        // The rows in the end, and where those that were there stand among them.
        let (kept, rows, moved) = if whole {
            // A window becomes the whole table: rows that are not sent are those that it has.
            let held = &added - &included;
            let kept = if held.is_empty() { Before::new() } else { kept };
            (kept, added, held)
        } else if self.ranks {
            let count = kept.len().saturating_add(added.len());
            if added.last().is_some_and(|last| last >= count) {
                return fault("rows came beyond the end of the window");
            }
            let rows = RowSet::flat(count);
            let moved = &rows - &added;
            (kept, rows, moved)
        } else {
            let shifts = Shifts::new(metadata.shifts.clone().unwrap_or_default(), &kept);
            let moved = shifts.or_else(|error| fault(error.to_string()))?.forward(&kept);
            if moved.overlaps(&added) {
                return fault("rows came that were there");
            }
            let rows = &moved | &added;
            (kept, rows, moved)
        };
        if kept.len() != moved.len() || (&moved | &included) != rows {
            return fault("rows came without cells");
        }
        let sent = metadata.effective_columns.clone().unwrap_or_else(|| self.sent.clone());
        let mut columns = Vec::with_capacity(self.columns.len());
        for at in 0..self.columns.len() {
            let added = Part { rows: &included, pieces: &update.added };
            columns.push(match sent.contains(at) {
                true => self.column_after(at, &kept, &rows, &moved, added, update)?,
                false => new_empty_array(self.schema.schema().field(at).data_type()),
            });
        }
        (self.rows, self.columns, self.sent) = (rows, columns, sent);
        (self.size, self.ranks) = (metadata.table_size, self.ranks && !whole);
        Ok(())
    }

    /// A column after an update: the cells of rows that stayed, of those that came, and of those that changed.
    fn column_after(
        &self,
        at: usize,
        kept: &Before,
        rows: &RowSet,
        moved: &RowSet,
        added: Part,
        update: &ReceivedUpdate,
    ) -> Result<ArrayRef, BarrageError> {
        let none = RowSet::new();
        let modified = update.metadata.modified.as_ref().and_then(|modified| modified.get(at)).unwrap_or(&none);
        if !modified.is_subset(moved) {
            return fault("rows changed that were not there");
        }
        let old = &self.columns[at];
        if !kept.is_empty() && old.len() as u64 != self.rows.len() {
            return fault("rows came without cells of a column that was not sent before");
        }
        let data_type = self.schema.schema().field(at).data_type();
        let fresh = joined(&added.pieces[at], data_type, added.rows.len())?;
        let changed = joined(&update.modified[at], data_type, modified.len())?;
        limits::ask_rows(rows.len(), 16).or_else(|error| fault(error.to_string()))?;
        let mut places: Vec<(usize, usize)> = vec![(0, 0); rows.len() as usize];
        let from = self.rows.positions_of(&kept.0);
        for (old, now) in from.0.iter().zip(rows.positions_of(moved).0.iter()) {
            places[now as usize] = (0, old as usize);
        }
        for (source, part) in [(1, added.rows), (2, modified)] {
            for (place, now) in rows.positions_of(part).0.iter().enumerate() {
                places[now as usize] = (source, place);
            }
        }
        let sources: Vec<&dyn Array> = vec![old.as_ref(), fresh.as_ref(), changed.as_ref()];
        interleave(&sources, &places).or_else(|error| fault(error.to_string()))
    }
}

/// The pieces of a column as one.
fn joined(pieces: &[ArrayRef], data_type: &DataType, rows: u64) -> Result<ArrayRef, BarrageError> {
    let came: usize = pieces.iter().map(|piece| piece.len()).sum();
    if came as u64 != rows {
        return fault(format!("{came} cells for {rows} rows"));
    }
    match pieces {
        [] => Ok(new_empty_array(data_type)),
        [piece] => Ok(piece.clone()),
        pieces => {
            let pieces: Vec<&dyn Array> = pieces.iter().map(|piece| piece.as_ref()).collect();
            concat(&pieces).or_else(|error| fault(error.to_string()))
        }
    }
}
