//! The rows of each key of a table that is split, and the constituents that somebody holds.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use graph::{NodeId, Step};
use rowset::RowSet;

use super::followers::Followers;
use super::mail::{Mail, Part};
use crate::error::Error;
use crate::keys::grouped::{GroupedRows, Regroups};
use crate::table::change::Change;
use crate::table::handle::{Table, WeakTable};
use crate::table::request::Request;

/// Constituents that somebody holds while their key is absent are looked through when there are so many.
const ABSENT: usize = 16;

/// The table whose rows are split, and what is known of its keys.
pub(super) struct Hub {
    pub(super) source: Table,
    pub(super) keys: Vec<usize>,
    /// The columns of a constituent.
    pub(super) columns: Vec<usize>,
    pub(super) request: Request,
    pub(super) state: Mutex<State>,
    pub(super) followers: Followers,
}

/// The groups, and the constituents that somebody holds.
pub(super) struct State {
    pub(super) groups: GroupedRows,
    /// The id of each slot; `NO_ID` if its key is absent.
    ids: Vec<u64>,
    pub(super) slots: HashMap<u64, u32>,
    next: u64,
    pub(super) held: Vec<Option<Held>>,
    /// Whether somebody held a constituent at any time: nobody else is told of changes.
    pub(super) any_held: bool,
    /// Slots of absent keys whose constituents were held.
    absent: Vec<u32>,
    absent_at_most: usize,
    pub(super) news: Option<(Step, News)>,
    /// The node of the set.
    pub(super) set: Option<NodeId>,
}

/// A constituent.
pub(super) struct Held {
    pub(super) table: WeakTable,
    pub(super) mail: Arc<Mail>,
}

impl Held {
    pub(super) fn lives(&self) -> bool {
        self.table.upgrade().is_some()
    }
}

const NO_ID: u64 = u64::MAX;

impl State {
    /// Of these rows, of whose keys none has arrived.
    pub(super) fn of(groups: GroupedRows) -> State {
        State {
            groups,
            ids: Vec::new(),
            slots: HashMap::new(),
            next: 0,
            held: Vec::new(),
            any_held: false,
            absent: Vec::new(),
            absent_at_most: ABSENT,
            news: None,
            set: None,
        }
    }

    /// The keys that are there, in the order in which they came: ids and slots.
    pub(super) fn present(&self) -> Vec<(u64, u32)> {
        let mut present: Vec<(u64, u32)> = self.slots.iter().map(|(id, slot)| (*id, *slot)).collect();
        present.sort_unstable();
        present
    }

    /// The slots of these rows that have no id yet get one, in their order.
    pub(super) fn arrive(&mut self, slots: &[u32]) -> Vec<(u64, u32)> {
        let many = self.groups.slots().max(self.ids.len());
        self.ids.resize(many, NO_ID);
        self.held.resize_with(many, || None);
        let mut arrived = Vec::new();
        for slot in slots {
            let id = &mut self.ids[*slot as usize];
            if *id == NO_ID && !self.groups.rows().is_empty(*slot) {
                *id = self.next;
                self.slots.insert(self.next, *slot);
                arrived.push((self.next, *slot));
                self.next += 1;
            }
        }
        arrived
    }

    /// The ids of the keys among these that have no row any more.
    pub(super) fn depart(&mut self, slots: &[u32]) -> Vec<u64> {
        let mut departed = Vec::new();
        for slot in slots {
            let id = self.ids[*slot as usize];
            if id == NO_ID || !self.groups.rows().is_empty(*slot) {
                continue;
            }
            self.ids[*slot as usize] = NO_ID;
            self.slots.remove(&id);
            departed.push(id);
            // It may be let go at any time; its key is kept if it lived a moment ago.
            if self.held[*slot as usize].is_some() {
                self.absent.push(*slot);
            }
        }
        if self.absent.len() > self.absent_at_most {
            self.sweep();
        }
        departed
    }

    /// Forgets the absent keys whose constituents nobody holds any more.
    fn sweep(&mut self) {
        let State { absent, held, groups, .. } = self;
        absent.sort_unstable();
        absent.dedup();
        absent.retain(|slot| {
            let is_absent = groups.rows().is_empty(*slot);
            let lives = held[*slot as usize].as_ref().is_some_and(Held::lives);
            if is_absent && !lives {
                held[*slot as usize] = None;
                groups.forget(*slot);
            }
            is_absent && lives
        });
        self.absent_at_most = ABSENT.max(2 * self.absent.len());
    }
}

/// The keys that left in a step, and those that came: ids, and slots.
pub(super) struct News {
    pub(super) departed: Vec<u64>,
    pub(super) arrived: Vec<(u64, u32)>,
}

impl News {
    pub(super) fn is_empty(&self) -> bool {
        self.departed.is_empty() && self.arrived.is_empty()
    }
}

impl State {
    /// The nodes of the constituents that somebody holds.
    pub(super) fn nodes(&self) -> Vec<NodeId> {
        self.held.iter().flatten().filter_map(|held| held.table.upgrade()?.node_id()).collect()
    }

    /// The part of a change of each constituent that somebody holds.
    pub(super) fn parts(&self, regroups: &Regroups, change: &Change) -> Result<HashMap<u32, Part>, Error> {
        let mut parts: HashMap<u32, Part> = HashMap::new();
        if !self.any_held {
            return Ok(parts);
        }
        let lists = Lists::of(&self.groups, regroups, change)?;
        let held = |slot: u32| self.held.get(slot as usize).is_some_and(Option::is_some);
        by_slot(lists.removed, held, |slot, rows| parts.entry(slot).or_default().removed.0 = rows);
        by_slot(lists.added, held, |slot, rows| parts.entry(slot).or_default().added = rows);
        by_slot(lists.modified, held, |slot, rows| parts.entry(slot).or_default().modified = rows);
        regroups.moving_slots.iter().filter(|slot| held(**slot)).for_each(|slot| _ = parts.entry(*slot).or_default());
        Ok(parts)
    }
}

/// What a change does to the rows of groups, each with the slot of its group.
#[derive(Default)]
pub(super) struct Lists {
    /// In row keys before the step.
    pub(super) removed: Vec<(u32, u64)>,
    pub(super) added: Vec<(u32, u64)>,
    pub(super) modified: Vec<(u32, u64)>,
}

impl Lists {
    /// The lists of a change, before the groups have taken it over.
    pub(super) fn of(groups: &GroupedRows, regroups: &Regroups, change: &Change) -> Result<Lists, Error> {
        let update = change.update();
        let mut lists = Lists::default();
        let gone = regroups.gone.0.iter().zip(&regroups.gone_slots);
        let fresh = regroups.fresh.iter().zip(&regroups.fresh_slots);
        if !regroups.rekeyed {
            lists.removed.extend(gone.map(|(row, slot)| (*slot, row)));
            lists.added.extend(fresh.map(|(row, slot)| (*slot, row)));
            let slots = groups.find(change.now(), &update.modified)?;
            lists.modified.extend(slots.into_iter().zip(update.modified.iter()));
            return Ok(lists);
        }
        // A modified row whose key is the same stays in its group. Rows keep their order as they move.
        let mut before = Vec::new();
        for (row, slot) in gone {
            match update.removed.0.contains(row) {
                true => lists.removed.push((*slot, row)),
                false => before.push((row, *slot)),
            }
        }
        let mut before = before.into_iter();
        for (row, slot) in fresh {
            let old = if update.modified.contains(row) { before.next() } else { None };
            match old {
                Some((_, old)) if old == *slot => lists.modified.push((*slot, row)),
                Some((from, old)) => {
                    lists.removed.push((old, from));
                    lists.added.push((*slot, row));
                }
                None => lists.added.push((*slot, row)),
            }
        }
        Ok(lists)
    }
}

/// The rows of each slot of which `held` says so.
fn by_slot(mut rows: Vec<(u32, u64)>, held: impl Fn(u32) -> bool, mut each: impl FnMut(u32, RowSet)) {
    rows.sort_unstable();
    for run in rows.chunk_by(|one, other| one.0 == other.0).filter(|run| held(run[0].0)) {
        let keys: Vec<u64> = run.iter().map(|(_, row)| *row).collect();
        each(run[0].0, RowSet::from_sorted_keys(&keys));
    }
}
