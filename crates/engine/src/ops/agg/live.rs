//! The update of an aggregation: first all cells are read; then rows leave, move, change and enter their groups; last
//! the results of the touched groups are written.

use std::collections::HashMap;

use column::NO_ROW;
use column::kernels::{RadixEntry as Entry, radix_sort};
use formula::Aggregate;
use graph::{NodeId, Step};
use rowset::{Before, RowSet};
use simd::prefetch;

use super::chosen::FirstLast;
use super::groups::Groups;
use super::reading::GroupReads;
use super::spec::{AggregationSpec, Cells, ReadRequest};
use super::vacant::Vacant;
use crate::driver::operation::Live;
use crate::error::Error;
use crate::keys::touched::Touched;
use crate::ops::held::HeldGroups;
use crate::sizes::GROUP_SPLIT_CELLS;
use crate::table::change::Change;
use crate::table::store::{Difference, Store, Writes};
use crate::table::update::TableUpdate;
use crate::table::view::View;

/// The number of kept values that cost as much to read as one value that is computed from a group's state.
const KEPT_VALUE_COST: u64 = 8;
/// Prefetch distance: the memory of a group is prefetched this many groups ahead.
const AHEAD: usize = 32;

pub(super) struct AggregationLive {
    pub(super) maker: AggregationSpec,
    pub(super) groups: Groups,
    /// The result row of each group slot, `NO_ROW` if it has none.
    pub(super) rows: Vec<u64>,
    pub(super) next: u64,
    pub(super) store: Store,
    pub(super) touched: Touched,
    /// New groups of the step, in order of their first rows.
    pub(super) created: Vec<u32>,
    pub(super) blink: bool,
    pub(super) vacant: Vacant,
    pub(super) held: Option<HeldGroups>,
}

impl Live for AggregationLive {
    fn joined(&mut self, node: NodeId) {
        if let Some(held) = &mut self.held {
            held.joined(node);
        }
    }

    fn entries(&self) -> u64 {
        self.groups.keys()
    }

    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let change = &inputs[0];
        let slots = if self.blink {
            let added = &change.update().added;
            let kept = self.maker.kept_inputs();
            let cells =
                ReadRequest { view: change.now(), rows: added, keys: true, inputs: &kept }.cells(&self.maker)?;
            self.enter(&cells, added)?
        } else {
            self.take_in(change)?
        };
        let Some(held) = &mut self.held else { return self.commit(change.now(), step) };
        let let_go = held.step(inputs, &slots)?;
        if held.keeps_results() {
            let told = self.commit(change.now(), step)?;
            for slot in let_go {
                self.rows[slot as usize] = NO_ROW;
                self.groups.let_go(slot);
            }
            return Ok(told);
        }
        self.touched.add(&let_go, self.groups.slots());
        let_go.into_iter().for_each(|slot| self.groups.drain(slot));
        self.commit(change.now(), step)
    }
}

impl AggregationLive {
    /// Applies a change of the input to the groups. All cells are read before any group changes: reading can then run
    /// on several cores, and a failed read leaves the groups as they were. Returns the group of each row that came.
    fn take_in(&mut self, change: &Change) -> Result<Vec<u32>, Error> {
        let update = change.update();
        let (before, now) = (change.before(), change.now());
        let key_changed = update.columns.contains_any(&self.maker.key_columns());
        let changed = self.maker.changed_inputs(&update.columns);
        let modified_before =
            if key_changed || !changed.is_empty() { update.shifts.back(&update.modified) } else { Before::default() };
        let moving = self.moving(change, if key_changed { Some(&modified_before) } else { None });
        // If no key changed, modified rows stay in their groups. States replace old values by new ones. Outputs over
        // whole groups are recomputed. First and last change only if the picked row itself was modified.
        let revalued = !key_changed && !changed.is_empty() && !update.modified.is_empty();
        let whole = changed.iter().any(|input| self.maker.is_whole(*input));
        let summed = if revalued { self.maker.inputs_beside(&changed) } else { Vec::new() };

        let (none, kept) = (RowSet::new(), self.maker.kept_inputs());
        let of_all = |view, rows| ReadRequest { view, rows, keys: true, inputs: &kept };
        let of_keys = |view, rows| ReadRequest { view, rows, keys: true, inputs: &[] };
        let of_changed = |view, rows| ReadRequest { view, rows, keys: false, inputs: &summed };
        let when = |needed: bool, rows| if needed { rows } else { &none };
        let [was_modified, modified] = [&modified_before.0, &update.modified];
        let read = GroupReads {
            removed: of_all(before, &update.removed.0),
            added: of_all(now, &update.added),
            rekeyed: [of_all(before, when(key_changed, was_modified)), of_all(now, when(key_changed, modified))],
            moved: of_keys(before, &moving.0),
            stayed: of_keys(now, when(revalued, modified)),
            revalued: [
                of_changed(before, when(!summed.is_empty(), was_modified)),
                of_changed(now, when(!summed.is_empty(), modified)),
            ],
        };
        let read = read.read(&self.maker)?;

        self.leave(&read.removed, &update.removed)?;
        if key_changed {
            self.leave(&read.rekeyed[0], &modified_before)?;
        }
        if !moving.0.is_empty() {
            self.groups.shift(&read.moved.keys, moving.0.len() as usize, &update.shifts)?;
        }
        // Rows enter in two batches (rekeyed, then added). If both may create groups, these are sorted by first row
        // afterwards, as if all rows had come at once; otherwise the order of the result would depend on the batches.
        let known = self.created.len();
        let rekeyed = if key_changed { self.enter(&read.rekeyed[1], &update.modified)? } else { Vec::new() };
        let may_interleave = self.created.len() > known && !update.added.is_empty();
        if revalued {
            let slots = self.groups.find(&read.stayed.keys, update.modified.len() as usize)?;
            self.groups.revalue(&changed, &slots, &read.revalued);
            let touched =
                if summed.is_empty() && !whole { self.groups.ends_among(&slots, &update.modified) } else { slots };
            self.touched.add(&touched, self.groups.slots());
        }
        let added = self.enter(&read.added, &update.added)?;
        if may_interleave {
            self.order_created(known, &[(&update.modified, &rekeyed), (&update.added, &added)]);
        }
        Ok(added)
    }

    /// Sorts the new groups by their first rows, as if all rows had come in one batch.
    fn order_created(&mut self, from: usize, entered: &[(&RowSet, &[u32])]) {
        let mut first: HashMap<u32, u64> = self.created[from..].iter().map(|slot| (*slot, NO_ROW)).collect();
        for (rows, slots) in entered {
            for (row, slot) in rows.iter().zip(*slots) {
                if let Some(known) = first.get_mut(slot) {
                    *known = row.min(*known);
                }
            }
        }
        self.created[from..].sort_by_key(|slot| first[slot]);
    }

    /// The shifted rows, in before-keys, whose groups keep row keys.
    fn moving(&self, change: &Change, rekeyed: Option<&Before>) -> Before {
        let update = change.update();
        if !self.groups.knows_rows() || update.shifts.is_empty() {
            return Before::default();
        }
        let moving = change.rekeyed_rows(&update.removed);
        match rekeyed {
            Some(rekeyed) => moving - rekeyed,
            None => moving.clone(),
        }
    }

    /// Enters rows and returns the group of each.
    fn enter(&mut self, cells: &Cells, rows: &RowSet) -> Result<Vec<u32>, Error> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let (mut slots, mut created) = (Vec::new(), Vec::new());
        self.groups.enter(cells, rows, &mut slots, &mut created)?;
        self.touched.add(&slots, self.groups.slots());
        self.created.extend(created.iter().map(|row| slots[*row as usize]));
        Ok(slots)
    }

    fn leave(&mut self, cells: &Cells, rows: &Before) -> Result<(), Error> {
        if rows.0.is_empty() {
            return Ok(());
        }
        let slots = self.groups.leave(cells, &rows.0)?;
        self.touched.add(&slots, self.groups.slots());
        Ok(())
    }

    /// Writes the results of the touched groups and returns the update of the result.
    fn commit(&mut self, now: &View, step: Step) -> Result<TableUpdate, Error> {
        self.rows.resize(self.groups.slots().max(self.rows.len()), NO_ROW);
        let touched = self.touched.take_in_any_order();
        let mut fresh = std::mem::take(&mut self.created);
        fresh.retain(|slot| self.groups.is_present(*slot) && self.rows[*slot as usize] == NO_ROW);
        let mut known = Vec::with_capacity(touched.len());
        let (mut gone, mut back, mut turned) = (Vec::new(), Vec::new(), Vec::new());
        for (at, slot) in touched.iter().enumerate() {
            if let Some(later) = touched.get(at + AHEAD) {
                self.groups.prefetch(*later);
                prefetch(&self.rows[*later as usize]);
            }
            let slot = *slot;
            if self.groups.is_present(slot) && !self.groups.has_rows(slot) {
                self.groups.forget(slot);
            }
            let present = self.groups.is_present(slot);
            if present && self.maker.standing.lasting() && self.vacant.turned(slot, self.groups.has_rows(slot)) {
                turned.push(slot);
            }
            match (present, self.rows[slot as usize]) {
                (true, NO_ROW) if self.groups.is_reserved(slot) => back.push(slot),
                (true, NO_ROW) => {}
                (true, row) => known.push(Entry { word: row, position: slot }),
                (false, row) => {
                    if row != NO_ROW {
                        gone.push(row);
                    }
                    self.rows[slot as usize] = NO_ROW;
                    self.groups.forget(slot);
                }
            }
        }
        let mut writes = Writes { removed: Before(RowSet::from_keys(gone)), ..Writes::default() };
        if !known.is_empty() {
            radix_sort(&mut known);
            turned.sort_unstable();
            writes.differing(self.differences(now, step, &known, &turned)?);
        }
        if !back.is_empty() {
            back.sort_unstable();
            let keys = RowSet::from_keys(back.iter().map(|slot| u64::from(*slot)).collect());
            back.iter().for_each(|slot| self.rows[*slot as usize] = u64::from(*slot));
            writes.added.push((keys, self.groups.cells(&self.maker, now, &back)?));
        }
        if !fresh.is_empty() {
            let keys = RowSet::range(self.next, self.next + (fresh.len() as u64 - 1));
            for slot in &fresh {
                self.rows[*slot as usize] = self.next;
                self.next += 1;
            }
            writes.added.push((keys, self.groups.cells(&self.maker, now, &fresh)?));
        }
        self.store.write(step, writes)
    }

    /// For each column, the groups of `known` whose result differs from the stored one. `turned`: those that got rows, or lost
    /// the last one.
    fn differences(
        &self,
        now: &View,
        step: Step,
        known: &[Entry],
        turned: &[u32],
    ) -> Result<Vec<Option<Difference>>, Error> {
        let keys: Vec<u64> = known.iter().map(|entry| entry.word).collect();
        let slots: Vec<u32> = known.iter().map(|entry| entry.position).collect();
        let rows = RowSet::from_sorted_keys(&keys);
        let chosen = FirstLast::new(&slots);
        let keys = self.maker.keys.len();
        let dear =
            self.maker.outputs().iter().map(|output| if output.picks() { 1 } else { KEPT_VALUE_COST }).sum::<u64>();
        let worth_it = rows.len() * dear >= GROUP_SPLIT_CELLS.rows() && self.maker.is_split(rows.len());
        let differing = crate::threads::parallel::try_map(worth_it, self.maker.outputs(), |at, output| {
            if output.kind == Aggregate::Freeze || self.blink && output.kind == Aggregate::First {
                return self.first_differences(now, step, at, known, turned);
            }
            let given = self.groups.output(&self.maker, at, now, &chosen)?;
            self.store.differing(step, keys + at, &rows, &given)
        })?;
        Ok((0..keys).map(|_| None).chain(differing).collect())
    }

    /// As [`AggregationLive::differences`] of an output that stays as it is while its group has rows.
    fn first_differences(
        &self,
        now: &View,
        step: Step,
        at: usize,
        known: &[Entry],
        turned: &[u32],
    ) -> Result<Option<Difference>, Error> {
        let known: Vec<&Entry> = known.iter().filter(|entry| turned.binary_search(&entry.position).is_ok()).collect();
        if known.is_empty() {
            return Ok(None);
        }
        let rows: Vec<u64> = known.iter().map(|entry| entry.word).collect();
        let slots: Vec<u32> = known.iter().map(|entry| entry.position).collect();
        let given = self.groups.output(&self.maker, at, now, &FirstLast::new(&slots))?;
        self.store.differing(step, self.maker.keys.len() + at, &RowSet::from_sorted_keys(&rows), &given)
    }
}
