//! `sort`: the rows in the order of some columns.
//!
//!   in   0 A 3    1 B 1           sort V      out   B 1    A 3
//!   in   + 2 C 2                              out   + C 2 at a free key between them
//!   in   ~ 0 D 3                              out   ~ D 3    K {K}
//!   in   ~ 1 B 9                              out   - B 1    + B 9
//!   in   > [0..2]+5                           out   nothing
//!
//! Stable in both directions. Own keys, three in four of them free at first, so that a new row moves others
//! seldom; columns are read through an index. A static table is sorted onto flat keys. Cost of an
//! update: a search a changed row, and the rows that an upstream shift moves.

mod by;
mod in_order;
mod top_k;

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use column::ColumnSource;
use column::kernels::{order_words, sort_to_positions};
use graph::{Moment, Step};

pub use in_order::InOrder;
pub use top_k::TopK;

use by::{Bytes, SortKey, Sorting};

use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::keys::order::Edits;
use crate::keys::order::entry::Entry;
use crate::keys::ordered::{OrderedRows, Still, through};
use crate::ops::asked::Asked;
use crate::plan::spec::SortBy;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::Parts;
use crate::table::request::Request;
use crate::table::rows::LiveRows;
use crate::table::update::TableUpdate;

/// The rows of a table in another order.
pub struct Sort {
    request: Request,
    sorting: Arc<Sorting>,
}

impl Sort {
    /// By one column or several, the first that differs decides.
    pub fn new(operation: &str, table: &Table, by: &[SortBy]) -> Result<Sort, Error> {
        let sorting = Sorting::of(operation, table, by)?;
        let request = Request::new(operation, &Asked::Sort { by }).with_text(sorting.text.clone());
        Ok(Sort { request, sorting: Arc::new(sorting) })
    }

    fn start<K: SortKey>(
        &self,
        input: &Input,
        cells: &[ArrayRef],
        positions: &[u32],
        at: Moment,
    ) -> Result<Start, Error> {
        let Input { table, view } = input;
        let sources = view.rows().to_vec();
        let entries = K::entries(&self.sorting, cells, &sources)?;
        let sorted: Vec<Entry<K>> = positions.iter().map(|&at| entries[at as usize].clone()).collect();
        let counters = table.graph().map(crate::observe::storage).unwrap_or_default();
        let sorted = OrderedRows::start(&sorted, at, &counters)?;
        let parts = self.parts(table, sorted.rows().clone(), &sorted.index(0), false);
        let owned = sorted.owned();
        Ok(Start { parts, live: Box::new(SortLive { sorting: self.sorting.clone(), sorted }), owned })
    }

    /// The table's columns, read through an index.
    fn parts(&self, table: &Table, rows: Arc<LiveRows>, index: &Arc<dyn ColumnSource>, flat: bool) -> Parts {
        let (columns, schema) = (through(table, index), table.schema().clone());
        Parts { rows, columns, schema, attributes: self.sorting.attributes(table, flat) }
    }
}

impl Operation for Sort {
    fn request(&self) -> &Request {
        &self.request
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let Input { table, view } = &inputs[0];
        // A position and a key; a live one an entry and a place in the order too.
        limits::ask_rows(view.rows().len(), if table.is_live() { 48 } else { 20 })?;
        let cells = view.read_columns(&self.sorting.columns, view.rows())?;
        let positions = sort_to_positions(&cells, &self.sorting.descending, &self.sorting.nulls_last)?;
        if !table.is_live() {
            let sources = view.rows().to_vec();
            let index: Vec<u64> = positions.iter().map(|&at| sources[at as usize]).collect();
            let (rows, index) = Still::rows(index, at)?;
            let parts = self.parts(table, rows, &index, true);
            return Ok(Start { parts, live: Box::new(Still), owned: Vec::new() });
        }
        match cells.as_slice() {
            [one] if order_words(&one.slice(0, 0), false).is_some() => {
                self.start::<u64>(&inputs[0], &cells, &positions, at)
            }
            _ => self.start::<Bytes>(&inputs[0], &cells, &positions, at),
        }
    }
}

struct SortLive<K: SortKey> {
    sorting: Arc<Sorting>,
    sorted: OrderedRows<K>,
}

impl<K: SortKey> Live for SortLive<K> {
    fn entries(&self) -> u64 {
        self.sorted.len() as u64
    }

    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let change = &inputs[0];
        let update = change.update();
        let (changed, kept) = self.sorting.judge_modified(change)?;
        let moved = self.sorting.moved(change, &changed.old_rows, self.sorted.len())?;
        let edits = Edits {
            removed: self.sorting.entries(change.before(), &update.removed.0)?,
            changed: changed.entries,
            added: self.sorting.entries(change.now(), &update.added)?,
            shifts: &update.shifts,
            moved,
        };
        let kept = self.sorting.entries(change.now(), &kept)?;
        self.sorted.apply(step, edits, &kept, &update.columns)
    }
}

#[cfg(test)]
mod tests;
