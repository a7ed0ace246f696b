//! The stored rows and columns of one node: sources and materializing operations write here.

use std::sync::{Arc, Mutex};

use arrow_array::{Array, BooleanArray};
use arrow_schema::Schema;
use column::kernels::equal_cells;
use column::{BlockColumn, Chunk, ColumnSource, Edit, FreedCells, Move, StorageCounters};
use graph::{Moment, Step};
use rowset::{Before, RowSet, Shifts};

use crate::error::Error;
use crate::sizes::{NEAR_ROWS, PARALLEL_CELLS};
use crate::table::rows::LiveRows;
use crate::table::settle::Settle;
use crate::table::update::{ColumnSet, TableUpdate};
use crate::threads::lock;

#[cfg(test)]
#[cfg(debug_assertions)]
mod tests;

/// The cost of changing one scattered cell in place, in appended cells: the old value is read as well, and both
/// accesses miss the cache.
const SCATTERED: u64 = 32;

/// The changes of one step to stored cells.
#[derive(Clone, Default)]
pub struct Writes {
    /// Removed keys (before-keys).
    pub removed: Before,
    /// Shifts of the surviving rows.
    pub shifts: Shifts,
    /// New keys and their cells: pieces with disjoint keys, each with one chunk per column.
    pub added: Vec<(RowSet, Vec<Chunk>)>,
    /// For each column, the keys (after-keys) whose cells change, and the new cells.
    pub modified: Vec<Option<(RowSet, Chunk)>>,
    /// For each column, the old cells at the keys whose cells change, if they are known already.
    pub old: Vec<Option<Chunk>>,
}

/// New cells that differ from the stored ones.
pub struct Difference {
    rows: RowSet,
    cells: Chunk,
    /// The old cells, unless they are a view into a block: a view held during the write would force a copy of the
    /// block.
    old: Option<Chunk>,
}

impl Writes {
    /// Sets, for each column, the surviving rows whose cells differ.
    pub fn differing(&mut self, differences: impl IntoIterator<Item = Option<Difference>>) {
        for difference in differences {
            let (rows, cells, old) =
                difference.map_or_else(Default::default, |of| (Some(of.rows), Some(of.cells), of.old));
            self.modified.push(rows.zip(cells));
            self.old.push(old);
        }
    }
}

/// Stored columns, without rows of their own.
pub struct Columns {
    columns: Arc<[Arc<BlockColumn>]>,
    lost: Arc<Mutex<Lost>>,
}

/// Keys freed by a step, and the rows that remain: their cells are reclaimed when the step is over.
#[derive(Default)]
struct Lost {
    freed_keys: RowSet,
    left: RowSet,
}

/// Columns that settle together: the dead cells are found once for all of them.
struct SettleColumns {
    columns: Arc<[Arc<BlockColumn>]>,
    lost: Arc<Mutex<Lost>>,
}

impl Settle for SettleColumns {
    fn settle(&self) {
        self.columns.iter().for_each(|column| column.settle());
        let lost = std::mem::take(&mut *lock(&self.lost));
        if !lost.freed_keys.is_empty() {
            let dead = FreedCells::new(&lost.freed_keys, &lost.left);
            self.columns.iter().for_each(|column| column.reclaim(&dead));
        }
    }

    fn bytes(&self) -> u64 {
        self.columns.iter().map(|column| column.bytes()).sum()
    }
}

impl Columns {
    /// Empty columns of these canonical types.
    pub fn new(canonical: &Schema, at: Moment, counters: &Arc<StorageCounters>) -> Columns {
        let make = |field: &Arc<arrow_schema::Field>| {
            Arc::new(BlockColumn::with_counters(field.data_type().clone(), at, counters.clone()))
        };
        Columns { columns: canonical.fields().iter().map(make).collect(), lost: Arc::default() }
    }

    /// Columns of these canonical types with initial cells: for each column, consecutive pieces.
    pub fn filled(
        canonical: &Schema,
        at: Moment,
        counters: &Arc<StorageCounters>,
        cells: &[Vec<(RowSet, Chunk)>],
    ) -> Result<Columns, Error> {
        let worth_it = cells.iter().flatten().map(|(keys, _)| keys.len()).sum::<u64>() >= PARALLEL_CELLS.rows();
        limits::ask(stored(canonical.fields(), |column| cells[column].iter().map(|(keys, _)| keys.len()).sum()))?;
        let columns = crate::threads::parallel::try_map(worth_it, cells, |index, pieces| {
            let mut column =
                BlockColumn::with_counters(canonical.field(index).data_type().clone(), at, counters.clone());
            for (keys, chunk) in pieces {
                column = column.filled(keys, chunk)?;
            }
            Ok::<_, Error>(Arc::new(column))
        })?;
        Ok(Columns { columns: columns.into(), lost: Arc::default() })
    }

    /// The columns as sources, in order.
    pub fn sources(&self) -> Vec<Arc<dyn ColumnSource>> {
        self.columns.iter().map(|column| column.clone() as Arc<dyn ColumnSource>).collect()
    }

    /// The parts that must settle after each step.
    pub fn owned(&self) -> Vec<Arc<dyn Settle>> {
        vec![Arc::new(SettleColumns { columns: self.columns.clone(), lost: self.lost.clone() })]
    }

    /// One column.
    pub fn column(&self, index: usize) -> &Arc<BlockColumn> {
        &self.columns[index]
    }

    /// The cells of one column at these keys as they were before a step.
    pub fn stored(&self, index: usize, step: Step, rows: &RowSet) -> Result<Chunk, Error> {
        let before = self.columns[index].at(step.before());
        let before = before.map_err(|_| Error::internal("store", "its own cells before the step are gone"))?;
        Ok(before.read(rows)?)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Stores the cells of a step. `before` returns the keys with live cells before the step (at least those that move,
    /// are moved onto or are written); it is called only if rows move. `after` are the keys with live cells after the
    /// step.
    pub fn write(
        &self,
        step: Step,
        before: impl FnOnce() -> RowSet,
        after: RowSet,
        writes: &Writes,
    ) -> Result<(), Error> {
        let added = added_rows(writes);
        limits::ask(self.columns.iter().fold(0, |sum: u64, column| {
            sum.saturating_add(added.len().saturating_mul(column::types::width(column.data_type())))
        }))?;
        let moving = (!writes.shifts.is_empty()).then(|| Moving::new(before(), writes));
        let moves = moving.as_ref().map_or(&[][..], |moving| &moving.moves);
        // The undo log needs old cells only. An added key overwrites a live cell only if its key was removed, or moved
        // away, in the same step.
        let undo_added = match &moving {
            Some(moving) => column::undo_rows(&moving.before, &added, moves),
            None => &writes.removed.0 & &added,
        };
        let write = |index: usize, column: &BlockColumn| -> Result<(), Error> {
            let mut cells: Vec<(RowSet, Chunk)> =
                writes.added.iter().map(|(keys, chunks)| (keys.clone(), chunks[index].clone())).collect();
            let mut undo = undo_added.clone();
            let known = writes.old.get(index).filter(|_| undo.is_empty() && moving.is_none()).and_then(Option::as_ref);
            if let Some(Some((keys, chunk))) =
                writes.modified.get(index).filter(|cells| cells.as_ref().is_some_and(|(keys, _)| !keys.is_empty()))
            {
                undo |= &moving.as_ref().map_or_else(|| keys.clone(), |moving| &moving.before & keys);
                cells.push((keys.clone(), chunk.clone()));
            }
            if cells.is_empty() && moves.is_empty() && writes.removed.0.is_empty() {
                return Ok(());
            }
            Ok(column.apply(&Edit { step, undo: &undo, old: known, moves, writes: &cells })?)
        };
        let dear = if after.len() > NEAR_ROWS.rows() { SCATTERED } else { 1 };
        let scattered: u64 = writes.modified.iter().flatten().map(|(keys, _)| keys.len()).sum();
        let cells = (added.len() + writes.removed.0.len()) * self.columns.len() as u64 + scattered * dear;
        crate::threads::parallel::try_each(cells >= PARALLEL_CELLS.rows(), &self.columns, |index, column| {
            write(index, column)
        })?;
        // Set last: if a column could not be written, the cells of freed keys are still in use and must not be freed.
        *lock(&self.lost) = Lost { freed_keys: column::freed_keys(&writes.removed.0, moves, &added), left: after };
        Ok(())
    }
}

/// Bytes of the cells of these columns; `rows` gives the number of cells of each column.
fn stored(fields: &arrow_schema::Fields, rows: impl Fn(usize) -> u64) -> u64 {
    let of = |(at, field): (usize, &Arc<arrow_schema::Field>)| {
        rows(at).saturating_mul(column::types::width(field.data_type()))
    };
    fields.iter().enumerate().fold(0, |sum, column| sum.saturating_add(of(column)))
}

/// The moves of a step, computed once for all columns.
struct Moving {
    before: RowSet,
    moves: Vec<Move>,
}

impl Moving {
    fn new(before: RowSet, writes: &Writes) -> Moving {
        let moves = column::moves(&writes.shifts, &Before(&before - &writes.removed.0));
        Moving { before, moves }
    }
}

fn added_rows(writes: &Writes) -> RowSet {
    let mut added = writes.added.first().map(|(keys, _)| keys.clone()).unwrap_or_default();
    writes.added.iter().skip(1).for_each(|(keys, _)| added |= keys);
    added
}

/// The rows and columns of one table, written by one node.
pub struct Store {
    rows: Arc<LiveRows>,
    columns: Columns,
}

impl Store {
    /// An empty table.
    pub fn new(canonical: &Schema, at: Moment, counters: &Arc<StorageCounters>) -> Store {
        Store { rows: Arc::new(LiveRows::new(RowSet::new(), at)), columns: Columns::new(canonical, at, counters) }
    }

    /// A store with initial rows and, for each column, consecutive pieces of cells.
    pub fn filled(
        canonical: &Schema,
        at: Moment,
        counters: &Arc<StorageCounters>,
        rows: RowSet,
        cells: &[Vec<(RowSet, Chunk)>],
    ) -> Result<Store, Error> {
        let columns = Columns::filled(canonical, at, counters, cells)?;
        Ok(Store { rows: Arc::new(LiveRows::new(rows, at)), columns })
    }

    /// The row set over time.
    pub fn rows(&self) -> &Arc<LiveRows> {
        &self.rows
    }

    /// The columns.
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// The rows (before-keys) whose stored cell differs from the given one.
    pub fn differing(
        &self,
        step: Step,
        column: usize,
        rows: &RowSet,
        given: &Chunk,
    ) -> Result<Option<Difference>, Error> {
        let old = self.columns.stored(column, step, rows)?;
        let equal = equal_cells(given, &old);
        let same = equal.count_set_bits();
        if same == given.len() {
            return Ok(None);
        }
        let old = Some(old).filter(|_| rows.as_span().is_none());
        if same == 0 {
            return Ok(Some(Difference { rows: rows.clone(), cells: given.clone(), old }));
        }
        let differs = BooleanArray::new(!&equal, None);
        let kept = |cells: &Chunk| arrow_select::filter::filter(cells, &differs);
        let rows = column::matching(rows, differs.values());
        Ok(Some(Difference { rows, cells: kept(given)?, old: old.as_ref().map(kept).transpose()? }))
    }

    /// All parts that must settle after each step.
    pub fn owned(&self) -> Vec<Arc<dyn Settle>> {
        let mut owned = self.columns.owned();
        owned.push(self.rows.clone());
        owned
    }

    /// Stores the rows and cells of a step and returns the table's update.
    pub fn write(&self, step: Step, writes: Writes) -> Result<TableUpdate, Error> {
        let added = added_rows(&writes);
        let before = (!writes.shifts.is_empty()).then(|| self.rows.latest());
        self.rows.apply(step, &writes.removed, &writes.shifts, &added)?;
        self.columns.write(step, || before.unwrap_or_default(), self.rows.latest(), &writes)?;
        let mut modified = RowSet::new();
        let mut columns = ColumnSet::new();
        for (index, cells) in writes.modified.iter().enumerate() {
            if let Some((keys, _)) = cells.as_ref().filter(|(keys, _)| !keys.is_empty()) {
                // Mostly all columns change in the same rows. The first set is then kept as it is, so that downstream
                // nodes recognise it by identity.
                if modified.is_empty() {
                    modified = keys.clone();
                } else if modified != *keys {
                    modified |= keys;
                }
                columns.insert(index);
            }
        }
        Ok(TableUpdate { added, removed: writes.removed, modified, columns, shifts: writes.shifts })
    }
}
