//! Which rows a group has, so that its first or last one is known after any removal.
//!
//! Where rows never leave, the first and the last key are all there is to keep.

use rowset::{Before, RowSet, Shifts};

/// Beyond this many rows a group's keys are a row set.
const FEW: usize = 64;

/// First and last row of each group.
pub(crate) struct Picks {
    groups: Vec<Rows>,
    retractable: bool,
}

/// The rows of one group.
enum Rows {
    None,
    /// First and last, of a group whose rows never leave.
    Ends(u64, u64),
    /// Ascending.
    Few(Vec<u64>),
    Many(RowSet),
}

impl Picks {
    pub(crate) fn new(retractable: bool) -> Picks {
        Picks { groups: Vec::new(), retractable }
    }

    pub(crate) fn grow(&mut self, slots: usize) {
        self.groups.resize_with(slots, || Rows::None);
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
        for slot in slots {
            match &mut self.groups[*slot as usize] {
                Rows::None => {}
                Rows::Ends(first, last) => (*first, *last) = (shifts.forward_key(*first), shifts.forward_key(*last)),
                Rows::Few(keys) => keys.iter_mut().for_each(|key| *key = shifts.forward_key(*key)),
                Rows::Many(rows) => *rows = shifts.forward(&Before(rows.clone())),
            }
        }
    }

    pub(crate) fn reset(&mut self, slot: u32) {
        self.groups[slot as usize] = Rows::None;
    }

    /// The first or the last row of a group that has rows.
    pub(crate) fn pick(&self, slot: u32, first: bool) -> u64 {
        let (from, to) = match &self.groups[slot as usize] {
            Rows::None => (None, None),
            Rows::Ends(first, last) => (Some(*first), Some(*last)),
            Rows::Few(keys) => (keys.first().copied(), keys.last().copied()),
            Rows::Many(rows) => (rows.first(), rows.last()),
        };
        (if first { from } else { to }).unwrap_or(column::NO_ROW)
    }

    pub(crate) fn merge(&mut self, other: Picks, slots: &[u32]) {
        let retractable = self.retractable;
        for (rows, to) in other.groups.into_iter().zip(slots) {
            let own = &mut self.groups[*to as usize];
            match rows {
                Rows::None => {}
                Rows::Ends(first, last) => {
                    own.enter(first, retractable);
                    own.enter(last, retractable);
                }
                Rows::Few(keys) => keys.into_iter().for_each(|key| own.enter(key, retractable)),
                Rows::Many(rows) => own.enter_all(&rows),
            }
        }
    }
}

impl Rows {
    fn enter(&mut self, key: u64, retractable: bool) {
        match self {
            Rows::None if retractable => *self = Rows::Few(vec![key]),
            Rows::None => *self = Rows::Ends(key, key),
            Rows::Ends(first, last) => (*first, *last) = ((*first).min(key), (*last).max(key)),
            Rows::Few(keys) if keys.len() == FEW => {
                let mut rows = RowSet::from_sorted_keys(keys);
                rows.insert(key);
                *self = Rows::Many(rows);
            }
            Rows::Few(keys) => {
                let at = keys.partition_point(|known| *known < key);
                keys.insert(at, key);
            }
            Rows::Many(rows) => {
                rows.insert(key);
            }
        }
    }

    fn enter_all(&mut self, more: &RowSet) {
        let own = match self {
            Rows::Few(keys) => RowSet::from_sorted_keys(keys),
            Rows::Many(rows) => std::mem::take(rows),
            Rows::None | Rows::Ends(..) => RowSet::new(),
        };
        *self = Rows::Many(&own | more);
    }

    fn leave(&mut self, key: u64) {
        match self {
            Rows::None | Rows::Ends(..) => {}
            Rows::Few(keys) => {
                if let Ok(at) = keys.binary_search(&key) {
                    keys.remove(at);
                }
            }
            Rows::Many(rows) => {
                rows.remove(key);
                if rows.len() as usize <= FEW / 2 {
                    *self = Rows::Few(rows.to_vec());
                }
            }
        }
    }
}
