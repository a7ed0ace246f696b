//! Rows of a table, copied under keys of their own: what the table does with a row later is felt only if it is passed on.
//!
//!   in   + 7 A    + 9 B      out   + 0 A    + 1 B
//!   in   > [9..9]-8          out   nothing: row 1 stands for another key now
//!
//! Cost: a probe for each row that comes, goes, changes or moves.

use std::collections::HashMap;
use std::sync::Arc;

use graph::{Moment, Step};
use rowset::{Before, RowSet};

use crate::driver::operation::Input;
use crate::error::Error;
use crate::sources::fed::next_keys;
use crate::table::change::Change;
use crate::table::parts::{Attributes, Parts};
use crate::table::settle::Settle;
use crate::table::store::{Store, Writes};
use crate::table::update::TableUpdate;

/// A key in the table.
pub(in crate::ops) type Theirs = u64;
/// The key of the copy.
pub(in crate::ops) type Own = u64;

/// The copies, and which row each is of.
pub(in crate::ops) struct OwnRows {
    store: Store,
    width: usize,
    next: Own,
    own: HashMap<Theirs, Own>,
}

impl OwnRows {
    /// Copies of these rows.
    pub(in crate::ops) fn start(input: &Input, rows: &RowSet, at: Moment) -> Result<OwnRows, Error> {
        let Input { table, view } = input;
        let width = table.width();
        let counters = table.graph().map(crate::observe::storage).unwrap_or_default();
        let copies = RowSet::flat(rows.len());
        let cells = match rows.is_empty() {
            true => vec![Vec::new(); width],
            false => {
                let cells = view.read_columns(&(0..width).collect::<Vec<_>>(), rows)?;
                cells.into_iter().map(|cells| vec![(copies.clone(), cells)]).collect()
            }
        };
        let store = Store::filled(table.canonical(), at, &counters, copies, &cells)?;
        Ok(OwnRows { store, width, next: rows.len(), own: HashMap::new() })
    }

    /// The result, with the contracts that it keeps.
    pub(in crate::ops) fn parts(&self, input: &Input, attributes: Attributes) -> (Parts, Vec<Arc<dyn Settle>>) {
        let parts = Parts {
            rows: self.store.rows().clone(),
            columns: self.store.columns().sources(),
            schema: input.table.schema().clone(),
            attributes,
        };
        (parts, self.store.owned())
    }

    /// How many rows of the table have a copy that follows them.
    pub(in crate::ops) fn followed(&self) -> u64 {
        self.own.len() as u64
    }

    /// The copy follows the row.
    pub(in crate::ops) fn follow(&mut self, theirs: Theirs, own: Own) {
        self.own.insert(theirs, own);
    }

    /// The copy of a row.
    pub(in crate::ops) fn of(&self, theirs: Theirs) -> Option<Own> {
        self.own.get(&theirs).copied()
    }

    /// The copy no longer follows the row.
    pub(in crate::ops) fn forget(&mut self, theirs: Theirs) -> Option<Own> {
        self.own.remove(&theirs)
    }

    /// Copies follow rows to other keys: for each the copy, and its new key there.
    pub(in crate::ops) fn shift(&mut self, change: &Change) -> Vec<(Own, Theirs)> {
        let moving = change.rekeyed_rows(&change.update().removed);
        let moved = change.update().shifts.forward(&moving);
        let places = moving.0.iter().zip(moved.iter());
        let found: Vec<(Own, Theirs)> =
            places.filter_map(|(from, to)| self.own.remove(&from).map(|own| (own, to))).collect();
        self.own.extend(found.iter().map(|(own, to)| (*to, *own)));
        found
    }

    /// Stores what came, changed and went in a step. `added` are keys of the table as it is now, `changed` copies with such
    /// keys, `gone` copies. Returns the update, and the keys of the new copies in the order of `added`.
    pub(in crate::ops) fn write(
        &mut self,
        step: Step,
        change: &Change,
        added: &[Theirs],
        mut changed: Vec<(Own, Theirs)>,
        mut gone: Vec<Own>,
    ) -> Result<(TableUpdate, RowSet), Error> {
        gone.sort_unstable();
        let mut writes = Writes { removed: Before(RowSet::from_sorted_keys(&gone)), ..Writes::default() };
        let mut fresh = RowSet::new();
        if !added.is_empty() {
            let take = |column| Ok(change.now().column(column)?.take(added)?);
            let cells = (0..self.width).map(take).collect::<Result<Vec<_>, Error>>()?;
            if let Some(keys) = next_keys(&mut self.next, &cells)? {
                fresh = keys.clone();
                writes.added.push((keys, cells));
            }
        }
        changed.sort_unstable();
        if !changed.is_empty() {
            let (own, theirs): (Vec<Own>, Vec<Theirs>) = changed.into_iter().unzip();
            let rows = RowSet::from_sorted_keys(&own);
            let differing = |column| match change.update().columns.contains(column) {
                true => self.store.differing(step, column, &rows, &change.now().column(column)?.take(&theirs)?),
                false => Ok(None),
            };
            writes.differing((0..self.width).map(differing).collect::<Result<Vec<_>, Error>>()?);
        }
        Ok((self.store.write(step, writes)?, fresh))
    }
}
