//! Columns that a join stores beside those of its left table, whose rows it shares.

use std::sync::Arc;

use arrow_array::{BooleanArray, UInt64Array};
use arrow_schema::Schema;
use column::kernels::equal_cells;
use column::{Chunk, ColumnSource, StorageCounters};
use graph::{Moment, Step};
use rowset::RowSet;

use crate::error::Error;
use crate::table::change::Change;
use crate::table::settle::Settle;
use crate::table::store::{Columns, Writes};
use crate::table::update::ColumnSet;

/// Stored columns, behind so many of the left table.
pub(super) struct Beside {
    columns: Columns,
    width: usize,
}

impl Beside {
    /// The columns of all left rows: for each column consecutive pieces.
    pub(super) fn filled(
        stored: &Schema,
        at: Moment,
        counters: &Arc<StorageCounters>,
        cells: &[Vec<(RowSet, Chunk)>],
        width: usize,
    ) -> Result<Beside, Error> {
        Ok(Beside { columns: Columns::filled(stored, at, counters, cells)?, width })
    }

    /// The columns as sources.
    pub(super) fn sources(&self) -> Vec<Arc<dyn ColumnSource>> {
        self.columns.sources()
    }

    /// The parts that must settle after each step.
    pub(super) fn owned(&self) -> Vec<Arc<dyn Settle>> {
        self.columns.owned()
    }

    /// Stores the cells of these left rows, which added ones are among. Returns the surviving ones of which some cell
    /// changed, and in which columns.
    pub(super) fn write(
        &self,
        step: Step,
        left: &Change,
        rows: &RowSet,
        cells: Vec<Chunk>,
    ) -> Result<(RowSet, ColumnSet), Error> {
        let update = left.update();
        let (mut modified, mut columns) = (RowSet::new(), ColumnSet::new());
        let mut writes = Writes { removed: update.removed.clone(), shifts: update.shifts.clone(), ..Writes::default() };
        let of = |chosen: &RowSet, cells: &Chunk| -> Result<Chunk, Error> {
            if chosen.len() == rows.len() {
                return Ok(cells.clone());
            }
            let places = UInt64Array::from_iter_values(rows.positions_of(chosen).0.iter());
            Ok(arrow_select::take::take(cells, &places, None)?)
        };
        if !update.added.is_empty() {
            let added = cells.iter().map(|cells| of(&update.added, cells)).collect::<Result<_, Error>>()?;
            writes.added.push((update.added.clone(), added));
        }
        let stayed = rows - &update.added;
        if !stayed.is_empty() {
            let before = update.shifts.back(&stayed);
            for (at, cells) in cells.iter().enumerate() {
                let (given, old) = (of(&stayed, cells)?, self.columns.stored(at, step, &before.0)?);
                let differs = BooleanArray::new(!&equal_cells(&given, &old), None);
                if differs.true_count() == 0 {
                    writes.modified.push(None);
                    continue;
                }
                let changed = column::matching(&stayed, differs.values());
                modified |= &changed;
                columns.insert(self.width + at);
                writes.modified.push(Some((changed, arrow_select::filter::filter(&given, &differs)?)));
            }
        }
        self.columns.write(step, || left.before().rows().clone(), left.now().rows().clone(), &writes)?;
        Ok((modified, columns))
    }
}
