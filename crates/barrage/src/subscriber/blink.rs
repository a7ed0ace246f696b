//! Rows of a blink table. They are gone after their step, so their cells wait here: those of all steps since the last
//! update, which tells them as one step's. Beyond a number of bytes the oldest rows are dropped, and counted.

use arrow_array::{Array, ArrayRef};
use arrow_select::concat::concat;
use rowset::RowSet;

use super::{Outgoing, Subscriber, window};
use crate::BarrageError;
use crate::metadata::UpdateMetadata;
use crate::train::{Cells, Train};

/// Bytes of rows that wait for one subscriber.
const BYTES: usize = 64 << 20;

/// Rows of steps that were not told.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// Of each step its columns, and their bytes.
    steps: std::collections::VecDeque<(Vec<ArrayRef>, usize)>,
    bytes: usize,
    dropped: u64,
    any: bool,
}

impl Waiting {
    pub(super) fn any(&self) -> bool {
        self.any
    }

    fn push(&mut self, columns: Vec<ArrayRef>) {
        self.any = true;
        let rows = columns.first().map_or(0, |column| column.len());
        if rows == 0 {
            return;
        }
        let bytes = columns.iter().map(|column| column.get_array_memory_size()).sum();
        self.steps.push_back((columns, bytes));
        self.bytes += bytes;
        while self.bytes > BYTES && self.steps.len() > 1 {
            if let Some((columns, bytes)) = self.steps.pop_front() {
                self.bytes -= bytes;
                self.dropped += columns.first().map_or(0, |column| column.len()) as u64;
            }
        }
    }
}

/// Cells of rows that are numbered from 0.
#[derive(Clone, Debug, Default)]
pub struct BlinkRows {
    /// Of each column the pieces, one a step.
    columns: Vec<Vec<ArrayRef>>,
    rows: u64,
}

impl Cells for BlinkRows {
    fn cells(&self, column: usize, rows: &RowSet) -> Result<ArrayRef, BarrageError> {
        let fault = |what: String| BarrageError::Column { column: column.to_string(), what };
        let mut parts: Vec<ArrayRef> = Vec::new();
        let mut from = 0;
        for piece in self.columns.get(column).into_iter().flatten() {
            let end = from + piece.len() as u64;
            for span in rows.spans_between(from, end - 1) {
                parts.push(piece.slice((span.first - from) as usize, span.len() as usize));
            }
            from = end;
        }
        let parts: Vec<&dyn Array> = parts.iter().map(|part| part.as_ref()).collect();
        concat(&parts).map_err(|error| fault(error.to_string()))
    }
}

impl Subscriber {
    /// Takes in the rows of a step of a blink table, all its columns.
    pub fn push_blink(&mut self, step: i64, columns: Vec<ArrayRef>) {
        let Some(waiting) = self.blink.as_mut() else { return };
        if self.held.as_ref().is_some_and(|held| step > held.step) {
            waiting.push(columns);
            self.pushed = step;
        }
    }

    /// Rows of a blink table that were dropped because too many waited.
    pub fn dropped(&self) -> u64 {
        self.blink.as_ref().map_or(0, |waiting| waiting.dropped)
    }

    /// The rows that came as one batch, in the place of the last one.
    pub(super) fn blink_update(&mut self, step: i64) -> Option<Outgoing> {
        let waiting = self.blink.as_mut().filter(|waiting| waiting.any)?;
        let held = self.held.as_mut()?;
        let steps = std::mem::take(&mut waiting.steps);
        (waiting.bytes, waiting.any) = (0, false);
        let mut cells = BlinkRows { columns: vec![Vec::new(); self.width], rows: 0 };
        for (columns, _) in steps {
            cells.rows += columns.first().map_or(0, |column| column.len()) as u64;
            columns.into_iter().enumerate().for_each(|(at, piece)| cells.columns[at].push(piece));
        }
        let rows = RowSet::flat(cells.rows);
        let window = match &held.scope.viewport {
            None => rows.clone(),
            Some((viewport, reverse)) => window::of(&rows, viewport, *reverse),
        };
        let metadata = UpdateMetadata {
            first_seq: held.step + 1,
            last_seq: step,
            added: Some(RowSet::flat(window.len())),
            removed: Some(RowSet::flat(held.window.len())),
            shifts: held.scope.viewport.is_none().then(Vec::new),
            modified: Some(vec![RowSet::new(); self.width]),
            table_size: cells.rows as i64,
            ..UpdateMetadata::default()
        };
        let train = Train::new(metadata, held.scope.columns.clone(), window.clone(), Vec::new());
        (held.step, held.window) = (step, window);
        Some(Outgoing { train, cells: Some(cells) })
    }
}
