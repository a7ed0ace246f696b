//! The updates of constituents, as one.

use graph::Step;
use rowset::{Before, RowSet, Shifts, Span};

use crate::error::Error;
use crate::ops::stacked::{Slot, slot_moves};
use crate::partition::lifted::Followed;
use crate::table::rows::LiveRows;
use crate::table::update::{ColumnSet, TableUpdate};

/// The updates of constituents, as one.
#[derive(Default)]
pub(super) struct Sum {
    pub(super) removed: Vec<RowSet>,
    pub(super) added: Vec<RowSet>,
    modified: Vec<RowSet>,
    columns: ColumnSet,
    moves: Vec<(Span, i64)>,
}

impl Sum {
    pub(super) fn take(&mut self, update: Option<&TableUpdate>, from: &Slot, to: &Slot) {
        let Some(update) = update else {
            if from != to {
                slot_moves(&Shifts::none(), from, to, &mut self.moves);
            }
            return;
        };
        self.removed.push(update.removed.0.moved(from.delta()));
        self.added.push(update.added.moved(to.delta()));
        self.modified.push(update.modified.moved(to.delta()));
        update.columns.iter().for_each(|column| self.columns.insert(column));
        slot_moves(&update.shifts, from, to, &mut self.moves);
    }

    /// Takes what moves in a slot of lifted rows, and with it.
    pub(super) fn moved(&mut self, shifts: Option<&Shifts>, from: &Slot, to: &Slot) {
        match shifts {
            Some(shifts) => slot_moves(shifts, from, to, &mut self.moves),
            None if from != to => slot_moves(&Shifts::none(), from, to, &mut self.moves),
            None => {}
        }
    }

    /// Takes what came, went and changed in the slots of which `stays` knows where their rows were, and are.
    pub(super) fn take_lists(&mut self, followed: &Followed, stays: impl Fn(u32) -> Option<(Slot, Slot)>) {
        let keys = |rows: &[(u32, u64)], delta: fn(&(Slot, Slot)) -> i64| {
            let key = |(slot, row): &(u32, u64)| Some((*row as i64 + delta(&stays(*slot)?)) as u64);
            RowSet::from_keys(rows.iter().filter_map(key).collect())
        };
        self.removed.push(keys(&followed.lists.removed, |(from, _)| from.delta()));
        self.added.push(keys(&followed.lists.added, |(_, to)| to.delta()));
        if followed.columns.is_empty() {
            return;
        }
        let modified = keys(&followed.lists.modified, |(_, to)| to.delta());
        if !modified.is_empty() {
            followed.columns.iter().for_each(|column| self.columns.insert(column));
            self.modified.push(modified);
        }
    }

    /// Changes the rows by it.
    pub(super) fn told(self, rows: &LiveRows, step: Step) -> Result<TableUpdate, Error> {
        let [removed, added, modified] =
            [self.removed, self.added, self.modified].map(|sets| RowSet::union_all(sets.iter()));
        let removed = Before(removed);
        rows.edit(step, |now| {
            let shifts = match self.moves.is_empty() {
                true => Shifts::none(),
                false => Shifts::from_moves(&Before(now - &removed.0), self.moves.into_iter()),
            };
            Ok(TableUpdate { added, removed, modified, columns: self.columns, shifts })
        })
    }
}
