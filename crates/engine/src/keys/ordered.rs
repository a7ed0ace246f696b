//! Rows that an order owns: their row keys, and an index of what stands behind each of them.
//!
//! An operation whose rows are not its input's rows (sorted rows, pairs of rows) keeps an entry for each, and reads its
//! columns through the index. A step costs a search for each entry that comes, goes or moves.

use std::sync::Arc;

use arrow_array::UInt64Array;
use arrow_schema::{DataType, Field, Schema};
use column::{Chunk, ColumnSource, RedirectColumn, StorageCounters};
use graph::{Moment, Step};
use rowset::{Before, RowSet, Shifts};

use super::order::entry::{Entry, Key};
use super::order::{Edits, Order, OrderChange};
use crate::driver::operation::Live;
use crate::error::Error;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::rows::LiveRows;
use crate::table::settle::Settle;
use crate::table::store::{Columns, Writes};
use crate::table::update::{ColumnSet, TableUpdate};

/// What stands behind a row: one source row, or one of each input.
pub(crate) trait Source: Copy {
    /// The cells of an index of these sources: a column for each row key that a source has.
    fn cells(sources: Vec<Self>) -> Vec<Chunk>;
}

impl Source for u64 {
    fn cells(sources: Vec<u64>) -> Vec<Chunk> {
        vec![Arc::new(UInt64Array::from(sources))]
    }
}

impl Source for (u64, u64) {
    fn cells(sources: Vec<(u64, u64)>) -> Vec<Chunk> {
        let (left, right): (Vec<u64>, Vec<u64>) = sources.into_iter().unzip();
        vec![Arc::new(UInt64Array::from(left)), Arc::new(UInt64Array::from(right))]
    }
}

/// Rows in an order of their own, with the index through which their columns are read.
pub(crate) struct OrderedRows<K: Key> {
    order: Order<K>,
    rows: Arc<LiveRows>,
    index: Columns,
}

impl<K: Key> OrderedRows<K>
where
    K::Source: Source,
{
    /// The rows of these entries, which are in order.
    pub fn start(sorted: &[Entry<K>], at: Moment, counters: &Arc<StorageCounters>) -> Result<OrderedRows<K>, Error> {
        let order = Order::build(sorted);
        let (outputs, sources): (Vec<u64>, Vec<K::Source>) = order.rows().unzip();
        let rows = RowSet::from_sorted_keys(&outputs);
        let index = index_columns(&rows, Source::cells(sources), at, counters)?;
        Ok(OrderedRows { order, rows: Arc::new(LiveRows::new(rows, at)), index })
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// The entries, the last one first.
    pub fn descending(&self) -> impl Iterator<Item = Entry<K>> + '_ {
        self.order.descending()
    }

    /// The row set over time.
    pub fn rows(&self) -> &Arc<LiveRows> {
        &self.rows
    }

    /// One column of the index: row keys of an input.
    pub fn index(&self, column: usize) -> Arc<dyn ColumnSource> {
        self.index.column(column).clone()
    }

    /// The parts that must settle after each step.
    pub fn owned(&self) -> Vec<Arc<dyn Settle>> {
        let mut owned = self.index.owned();
        owned.push(self.rows.clone());
        owned
    }

    /// Brings rows and index up to date, and returns the update. Entries in `kept` are there before and after the step
    /// (given as they are after) and have modified cells, in `columns`; so have those that changed their key in place.
    pub fn apply(
        &mut self,
        step: Step,
        edits: Edits<'_, K>,
        kept: &[Entry<K>],
        columns: &ColumnSet,
    ) -> Result<TableUpdate, Error> {
        let OrderChange { removed, added, stayed, shifts, source_rewrites } = self.order.apply(edits);
        let mut modified = self.order.locate(kept);
        modified.extend(stayed);
        let modified = RowSet::from_keys(modified);
        let removed = Before(RowSet::from_sorted_keys(&removed));
        let shifts = Shifts::from_hulls(shifts);
        let (new_rows, new_cells) = cells_of(added);
        let (rewritten, cells) = cells_of(source_rewrites);
        let before = self.near(&shifts, [&new_rows, &rewritten]);
        let rewrites = |cells| Some((rewritten.clone(), cells)).filter(|(rows, _)| !rows.is_empty());
        let writes = Writes {
            removed: removed.clone(),
            shifts: shifts.clone(),
            added: if new_rows.is_empty() { Vec::new() } else { vec![(new_rows.clone(), new_cells)] },
            modified: cells.into_iter().map(rewrites).collect(),
            ..Writes::default()
        };
        self.rows.apply(step, &removed, &shifts, &new_rows)?;
        self.index.write(step, || before, self.rows.latest(), &writes)?;
        let columns = columns.unless_empty(&modified);
        Ok(TableUpdate { added: new_rows, removed, modified, columns, shifts })
    }

    /// The rows before a step that move, that others move onto, and that are written. Not all rows: a row set that is
    /// held is copied as it is edited.
    fn near(&self, shifts: &Shifts, written: [&RowSet; 2]) -> RowSet {
        if shifts.is_empty() {
            return RowSet::new();
        }
        let moved = [&shifts.origins(), &shifts.destinations()];
        &self.rows.latest() & &RowSet::union_all(moved.into_iter().chain(written))
    }
}

/// The columns of a table, read through an index.
pub(crate) fn through(table: &Table, index: &Arc<dyn ColumnSource>) -> Vec<Arc<dyn ColumnSource>> {
    let read = |column: &Arc<dyn ColumnSource>| {
        Arc::new(RedirectColumn::new(column.clone(), index.clone())) as Arc<dyn ColumnSource>
    };
    table.parts().columns.iter().map(read).collect()
}

/// Rows of a static table in an order of their own: they stay as they are.
pub(crate) struct Still;

impl Still {
    /// Flat row keys, and an index of these sources.
    pub(crate) fn rows(sources: Vec<u64>, at: Moment) -> Result<(Arc<LiveRows>, Arc<dyn ColumnSource>), Error> {
        let rows = RowSet::flat(sources.len() as u64);
        let index = index_columns(&rows, Source::cells(sources), at, &Arc::default())?;
        Ok((Arc::new(LiveRows::new(rows, at)), index.column(0).clone()))
    }
}

impl Live for Still {
    fn update(&mut self, _: &[Change], _: Step) -> Result<TableUpdate, Error> {
        Ok(TableUpdate::default())
    }
}

/// The stored columns of an index.
fn index_columns(
    rows: &RowSet,
    cells: Vec<Chunk>,
    at: Moment,
    counters: &Arc<StorageCounters>,
) -> Result<Columns, Error> {
    let fields: Vec<Field> = cells.iter().map(|_| Field::new("index", DataType::UInt64, false)).collect();
    let cells: Vec<Vec<(RowSet, Chunk)>> = cells.into_iter().map(|cells| vec![(rows.clone(), cells)]).collect();
    Columns::filled(&Schema::new(fields), at, counters, &cells)
}

/// Row keys, ascending, and the cells of the index there.
fn cells_of<S: Source>(rows: Vec<(u64, S)>) -> (RowSet, Vec<Chunk>) {
    let (outputs, sources): (Vec<u64>, Vec<S>) = rows.into_iter().unzip();
    (RowSet::from_sorted_keys(&outputs), S::cells(sources))
}
