//! Which rows a group has, so that its first or last one is known after any removal.
//!
//! Where rows never leave, the first and the last key are all there is to keep.

use rowset::{RowSet, Shifts};

use crate::keys::KeyRows;

/// First and last row of each group.
pub(crate) struct Picks {
    groups: Vec<KeyRows>,
    retractable: bool,
}

impl Picks {
    pub(crate) fn new(retractable: bool) -> Picks {
        Picks { groups: Vec::new(), retractable }
    }

    pub(crate) fn grow(&mut self, slots: usize) {
        self.groups.resize_with(slots, || KeyRows::None);
    }

    pub(crate) fn enter(&mut self, slots: &[u32], rows: &RowSet) {
        for (slot, key) in slots.iter().zip(rows.iter()) {
            self.groups[*slot as usize].enter(key, self.retractable);
        }
    }

    pub(crate) fn leave(&mut self, slots: &[u32], rows: &RowSet) {
        for (slot, key) in slots.iter().zip(rows.iter()) {
            self.groups[*slot as usize].leave(key);
        }
    }

    /// The rows of these groups move.
    pub(crate) fn shift(&mut self, slots: &[u32], shifts: &Shifts) {
        slots.iter().for_each(|slot| self.groups[*slot as usize].shift(shifts));
    }

    pub(crate) fn reset(&mut self, slot: u32) {
        self.groups[slot as usize] = KeyRows::None;
    }

    /// The first or the last row of a group that has rows.
    pub(crate) fn pick(&self, slot: u32, first: bool) -> u64 {
        let rows = &self.groups[slot as usize];
        (if first { rows.first() } else { rows.last() }).unwrap_or(column::NO_ROW)
    }

    pub(crate) fn merge(&mut self, other: Picks, slots: &[u32]) {
        for (rows, to) in other.groups.into_iter().zip(slots) {
            self.groups[*to as usize].enter_all(rows, self.retractable);
        }
    }
}
