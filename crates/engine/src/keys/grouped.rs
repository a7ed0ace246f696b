//! The rows of a table by key, each group in row order, kept in step with the table: what operations that read rows of
//! their group stand on.
//!
//! Null is a key as any other. Cost of a step: one probe for each row that comes, goes, moves or changes, and one search
//! in its group.

use std::sync::Arc;

use arrow_array::BooleanArray;
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType;
use column::keys::{KeyTable, NO_SLOT};
use column::{Chunk, NO_ROW};
use rowset::{Before, RowSet};

use super::frame::Touch;
use super::group_order::GroupOrder;
use super::rows::KeyRows;
use crate::error::Error;
use crate::sizes::GROUP_PART_ROWS;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::view::View;
use crate::threads::parallel;

/// What a step did to the groups, in positions after the step.
pub(crate) struct GroupsChange {
    /// Rows that came and went.
    pub(crate) touched: Vec<(u32, Touch<u64>)>,
    /// Whether the modified rows have left their groups and come to others, perhaps the same.
    pub(crate) rekeyed: bool,
}

/// The rows that a step takes out of groups, moves within them and brings into them, with the slots of their groups.
pub(crate) struct Regroups {
    pub(crate) rekeyed: bool,
    /// In row keys before the step.
    pub(crate) gone: Before,
    pub(crate) gone_slots: Vec<u32>,
    /// In row keys before the step.
    pub(crate) moving: Before,
    pub(crate) moving_slots: Vec<u32>,
    /// In row keys after the step.
    pub(crate) fresh: RowSet,
    pub(crate) fresh_slots: Vec<u32>,
}

/// The types of these columns as keys. Without any there is one key.
pub(crate) fn key_types(table: &Table, columns: &[usize]) -> Vec<DataType> {
    match columns {
        [] => vec![DataType::Boolean],
        some => some.iter().map(|column| table.column_type(*column).clone()).collect(),
    }
}

/// The keys of these rows, of the types that [`key_types`] gives.
pub(crate) fn key_cells(columns: &[usize], view: &View, rows: &RowSet) -> Result<Vec<Chunk>, Error> {
    match columns {
        [] => Ok(vec![Arc::new(BooleanArray::new(BooleanBuffer::new_set(rows.len() as usize), None))]),
        some => some.iter().map(|column| view.read(*column, rows)).collect(),
    }
}

/// The rows of each key.
pub(crate) struct GroupedRows {
    columns: Vec<usize>,
    keys: KeyTable,
    rows: KeyRows,
}

impl GroupedRows {
    /// No rows yet, of this table by these columns; without any all rows are one group.
    pub(crate) fn new(table: &Table, columns: &[usize]) -> GroupedRows {
        let types = key_types(table, columns);
        GroupedRows { columns: columns.to_vec(), keys: KeyTable::new(&types), rows: KeyRows::new(true) }
    }

    /// The groups of the rows of a view by these columns, and the slot of each row. Keys are read part by part, which bounds the
    /// memory of their cells. `keeps`: whether the groups hold their rows; those of a table that never changes need not.
    pub(crate) fn filled(
        table: &Table,
        columns: &[usize],
        view: &View,
        keeps: bool,
    ) -> Result<(GroupedRows, Vec<u32>), Error> {
        let mut groups = GroupedRows::new(table, columns);
        let mut slots = Vec::with_capacity(view.rows().len() as usize);
        for part in &parallel::parts(view.rows(), GROUP_PART_ROWS.rows()) {
            let of_part = groups.slots_of(view, part)?;
            if keeps {
                groups.enter(&of_part, part);
            }
            slots.extend(of_part);
        }
        Ok((groups, slots))
    }

    /// The rows of each group (a slot).
    pub(crate) fn rows(&self) -> &KeyRows {
        &self.rows
    }

    /// How many groups there are.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Every slot is below this.
    pub(crate) fn slots(&self) -> usize {
        self.keys.capacity_slots()
    }

    /// The slot of each of these rows, whose keys are entered; the rows are not.
    pub(crate) fn slots_of(&mut self, view: &View, rows: &RowSet) -> Result<Vec<u32>, Error> {
        self.slots_of_keys(&self.cells(view, rows)?)
    }

    /// The slots of these keys, a column each; those that are not there yet are entered.
    pub(crate) fn slots_of_keys(&mut self, keys: &[Chunk]) -> Result<Vec<u32>, Error> {
        let mut slots = Vec::new();
        self.keys.insert(keys, &mut slots, &mut Vec::new())?;
        self.rows.grow(self.keys.capacity_slots());
        Ok(slots)
    }

    /// Enters rows under slots that [`slots_of`](Self::slots_of) gave.
    pub(crate) fn enter(&mut self, slots: &[u32], rows: &RowSet) {
        self.rows.enter(slots, rows);
    }

    /// Forgets the key of a slot whose group is empty.
    pub(crate) fn forget(&mut self, slot: u32) {
        if self.rows.is_empty(slot) {
            self.keys.free(slot);
        }
    }

    /// The keys of these slots, a column each.
    pub(crate) fn keys_of(&self, slots: &[u32]) -> Vec<Chunk> {
        self.keys.keys_of(slots)
    }

    fn cells(&self, view: &View, rows: &RowSet) -> Result<Vec<Chunk>, Error> {
        key_cells(&self.columns, view, rows)
    }

    /// The slot of each of these rows, which are in their groups.
    pub(crate) fn find(&self, view: &View, rows: &RowSet) -> Result<Vec<u32>, Error> {
        let mut slots = Vec::new();
        if !rows.is_empty() {
            self.keys.find(&self.cells(view, rows)?, &mut slots);
        }
        if slots.contains(&NO_SLOT) {
            return Err(Error::internal("groups", "a row that is present has a key of no group"));
        }
        Ok(slots)
    }

    /// Takes over a change of the table. All keys are read before any group changes.
    pub(crate) fn follow(&mut self, change: &Change) -> Result<GroupsChange, Error> {
        let regroups = self.read(change)?;
        Ok(self.take(regroups, change))
    }

    /// The rows that leave a group, move or come to one by a change, with their groups. New keys are entered, no row is.
    pub(crate) fn read(&mut self, change: &Change) -> Result<Regroups, Error> {
        let update = change.update();
        let rekeyed = update.columns.contains_any(&self.columns) && !update.modified.is_empty();
        let (gone, moving) = change.departing_rows(rekeyed);
        let (gone_slots, moving_slots) = (self.find(change.before(), &gone.0)?, self.find(change.before(), &moving.0)?);
        let fresh = if rekeyed { &update.added | &update.modified } else { update.added.clone() };
        let fresh_slots = if fresh.is_empty() { Vec::new() } else { self.slots_of(change.now(), &fresh)? };
        Ok(Regroups { rekeyed, gone, gone_slots, moving, moving_slots, fresh, fresh_slots })
    }

    /// Takes over what [`read`](Self::read) found of the same change.
    pub(crate) fn take(&mut self, regroups: Regroups, change: &Change) -> GroupsChange {
        self.take_keeping(regroups, change, |_| false)
    }

    /// As [`take`](Self::take); the slots of which `keeps` says so stay with their keys when their groups empty, until
    /// [`forget`](Self::forget).
    pub(crate) fn take_keeping(
        &mut self,
        regroups: Regroups,
        change: &Change,
        keeps: impl Fn(u32) -> bool,
    ) -> GroupsChange {
        let update = change.update();
        let Regroups { rekeyed, gone, gone_slots, moving_slots, fresh, fresh_slots, .. } = regroups;
        self.rows.leave(&gone_slots, &gone.0);
        let mut gaps = self.gaps(&gone_slots, &gone.0);
        self.rows.shift(moving_slots, &update.shifts);
        self.rows.enter(&fresh_slots, &fresh);

        gaps.sort_unstable();
        gaps.dedup();
        let mut touched = Vec::with_capacity(gaps.len() + fresh_slots.len());
        for (slot, next) in gaps {
            let next = match next {
                NO_ROW => self.rows.end(slot),
                next => self.rows.lower(slot, update.shifts.forward_key(next)),
            };
            touched.push((slot, Touch::Left { next, stamp: 0 }));
            if self.rows.is_empty(slot) && !keeps(slot) {
                self.keys.free(slot);
            }
        }
        touched.extend(self.entered(&fresh_slots, &fresh));
        GroupsChange { touched, rekeyed }
    }

    /// Takes over what [`read`](Self::read) found and gives true, if all that happened is that rows came at the ends of
    /// their groups; else does nothing.
    pub(crate) fn enter_at_ends(&mut self, regroups: &Regroups) -> bool {
        let Regroups { rekeyed, gone, moving, fresh, fresh_slots, .. } = regroups;
        let behind = |slot: u32, row: u64| self.rows.is_empty(slot) || self.rows.last(slot) < row;
        let at_ends = || fresh_slots.iter().zip(fresh.iter()).all(|(slot, row)| behind(*slot, row));
        if *rekeyed || !gone.0.is_empty() || !moving.0.is_empty() || !at_ends() {
            return false;
        }
        self.rows.enter(fresh_slots, fresh);
        true
    }

    /// The touches of rows that came.
    pub(crate) fn entered(&self, slots: &[u32], rows: &RowSet) -> Vec<(u32, Touch<u64>)> {
        self.places(slots, rows).map(|(slot, at)| (slot, Touch::Entered(at..at + 1))).collect()
    }

    /// For each row that has left its group, the next of those that stay, in keys before the step; `NO_ROW` if there is
    /// none.
    fn gaps(&self, slots: &[u32], gone: &RowSet) -> Vec<(u32, u64)> {
        let places = self.places(slots, gone);
        places.map(|(slot, next)| (slot, self.rows.get(slot, next).unwrap_or(NO_ROW))).collect()
    }

    fn places<'a>(&'a self, slots: &'a [u32], rows: &'a RowSet) -> impl Iterator<Item = (u32, u64)> + 'a {
        slots.iter().zip(rows.iter()).map(|(slot, row)| (*slot, self.rows.lower(*slot, row)))
    }

    /// The touches of rows whose cells have changed, and whose keys have not.
    pub(crate) fn changed(&self, now: &View, rows: &RowSet) -> Result<Vec<(u32, Touch<u64>)>, Error> {
        let slots = self.find(now, rows)?;
        Ok(self.places(&slots, rows).map(|(slot, at)| (slot, Touch::Changed(at..at + 1))).collect())
    }
}
