//! The groups of an aggregation: their keys, row counts and aggregator states.

mod start;

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array};
use arrow_schema::DataType;
use column::Chunk;
use column::keys::{KeyTable, NO_SLOT};
use formula::Aggregate;
use rowset::{RowSet, Shifts};

use super::Output;
use super::chosen::{FirstLast, gather_at};
use super::loading::{BulkLoad, Placed};
use super::spec::{AggregationSpec, Cells};
use super::state::State;
use super::states::state_of;
use crate::error::Error;
use crate::keys::rows::KeyRows;
use crate::plan::standing::Standing;
use crate::table::view::View;

/// The groups, with a row count and states for each.
pub(crate) struct Groups {
    /// The key table; none without key columns, when all rows are one group.
    table: Option<KeyTable>,
    slots: usize,
    /// The row count of each group. None if `picks` is kept and no output is a count: then a group exists if it has a
    /// first row.
    counts: Option<Vec<i64>>,
    /// For each output, the positions of its inputs and its state; `len`, first and last have none, and no output whose
    /// groups another one holds.
    states: Vec<Option<Placed>>,
    /// For such an output, which one that is, and the state that reads its groups.
    readers: Vec<Option<(usize, Box<dyn State>)>>,
    /// The rows of each group, if an output needs its first or last row.
    picks: Option<KeyRows>,
    /// Whether rows live for one step: a group picks from those of the last step that brought it any, whatever their keys.
    renewed: bool,
    /// The accumulators of a bulk load, while it runs, and for how many slots there is room.
    loading: Option<BulkLoad>,
    room: usize,
    /// Which groups are there without rows.
    standing: Standing,
    /// How many groups are named; they have the first slots for good.
    reserved: usize,
    /// How many parts of a bulk load run in parallel.
    shares: u64,
}

/// The growth of states, in bytes, from which on the memory budget is checked.
const ASK_FROM: u64 = 1 << 20;
/// Room for so many slots is no waste.
const SMALL_SLOTS: usize = 1 << 8;

impl Groups {
    fn empty(spec: &AggregationSpec) -> Result<Groups, Error> {
        let types: Vec<DataType> = spec.keys.iter().map(|(_, data_type)| data_type.clone()).collect();
        let (mut states, mut readers): (Vec<Option<Placed>>, Vec<_>) = Default::default();
        for output in &spec.outputs {
            let first = output.inputs.first().filter(|_| output.is_kept());
            let kind = |first: &usize| spec.inputs[*first].data_type();
            let state =
                first.map(|first| state_of(&output.kind, kind(first), spec.retractable, spec.still)).transpose()?;
            let is_held = |(inputs, held): &Placed| {
                *inputs == output.inputs && state.as_ref().is_some_and(|state| state.reads(&**held))
            };
            let held = states.iter().position(|held| held.as_ref().is_some_and(is_held));
            let (own, reader) = match held {
                Some(held) => (None, state.map(|state| (held, state))),
                None => (state.map(|state| (output.inputs.clone(), state)), None),
            };
            states.push(own);
            readers.push(reader);
        }
        let picks = spec.outputs.iter().any(Output::picks);
        let counts = !picks || spec.outputs.iter().any(|output| output.inputs.is_empty());
        let mut groups = Groups {
            table: (!types.is_empty()).then(|| KeyTable::new(&types)),
            slots: 0,
            counts: counts.then(Vec::new),
            states,
            readers,
            picks: picks.then(|| KeyRows::new(spec.retractable || spec.reads_groups())),
            renewed: false,
            loading: None,
            room: 0,
            standing: spec.standing,
            reserved: 0,
            shares: 1,
        };
        if spec.standing.whole {
            groups.grow();
        }
        Ok(groups)
    }

    /// Enters rows. Fills `slots` with the group of each row, and `created` with the positions of the rows that made a
    /// new group. During a bulk load, states are fed by [`BulkLoad::enter`].
    pub(crate) fn enter(
        &mut self,
        cells: &Cells,
        rows: &RowSet,
        slots: &mut Vec<u32>,
        created: &mut Vec<u32>,
    ) -> Result<(), Error> {
        self.room(cells.rows)?;
        match &mut self.table {
            Some(table) => table.insert(&cells.keys, slots, created)?,
            None => {
                slots.clear();
                slots.resize(cells.rows, 0);
                created.clear();
                created.extend((self.slots == 0 || !self.is_present(0)).then_some(0));
            }
        }
        self.grow();
        if let Some(counts) = self.counts.as_mut().filter(|_| self.loading.is_none()) {
            slots.iter().for_each(|slot| counts[*slot as usize] += 1);
        }
        for (at, state) in self.states.iter_mut().enumerate() {
            let loads = self.loading.as_ref().is_some_and(|loading| loading.has(at));
            if let Some((inputs, state)) = state.as_mut().filter(|_| !loads) {
                state.add(slots, &cells.of(inputs));
            }
        }
        if let Some(picks) = &mut self.picks {
            if self.renewed {
                slots.iter().for_each(|slot| picks.reset(*slot));
            }
            picks.enter(slots, rows);
        }
        Ok(())
    }

    /// From now on each call of [`Groups::enter`] brings the rows of a step, and those before are gone.
    pub(crate) fn renew(&mut self) {
        self.renewed = true;
    }

    /// Checks the memory budget for the states after `rows` more rows, for memory in pieces too small for the allocator
    /// to count.
    fn room(&self, rows: usize) -> Result<(), Error> {
        let held = self.states.iter().flatten().fold(0_u64, |sum, (_, state)| sum.saturating_add(state.held(rows)));
        if held >= ASK_FROM {
            limits::ask(held.saturating_mul(self.shares))?;
        }
        Ok(())
    }

    /// Removes rows and returns the group of each.
    pub(crate) fn leave(&mut self, cells: &Cells, rows: &RowSet) -> Result<Vec<u32>, Error> {
        let slots = self.find(&cells.keys, cells.rows)?;
        if let Some(counts) = &mut self.counts {
            slots.iter().for_each(|slot| counts[*slot as usize] -= 1);
        }
        for (inputs, state) in self.states.iter_mut().flatten() {
            state.remove(&slots, &cells.of(inputs));
        }
        if let Some(picks) = &mut self.picks {
            picks.leave(&slots, rows);
        }
        Ok(slots)
    }

    /// Replaces old cells by new ones in the states of which an input changed; the rows stay in their groups.
    pub(crate) fn revalue(&mut self, changed: &[usize], slots: &[u32], [old, new]: &[Cells; 2]) {
        let of = |inputs: &[usize]| inputs.iter().any(|input| changed.contains(input));
        for (inputs, state) in self.states.iter_mut().flatten().filter(|(inputs, _)| of(inputs)) {
            state.remove(slots, &old.of(inputs));
            state.add(slots, &new.of(inputs));
        }
    }

    /// Shifts the row keys kept in the groups of these rows.
    pub(crate) fn shift(&mut self, keys: &[Chunk], rows: usize, shifts: &Shifts) -> Result<(), Error> {
        let slots = self.find(keys, rows)?;
        if let Some(picks) = &mut self.picks {
            picks.shift(slots, shifts);
        }
        Ok(())
    }

    /// The groups of rows that are present.
    pub(crate) fn find(&self, keys: &[Chunk], rows: usize) -> Result<Vec<u32>, Error> {
        let Some(table) = &self.table else { return Ok(vec![0; rows]) };
        let mut slots = Vec::with_capacity(rows);
        table.find(keys, &mut slots);
        if slots.contains(&NO_SLOT) {
            return Err(Error::internal("group_by", "a row that is present has a key of no group"));
        }
        Ok(slots)
    }

    fn grow(&mut self) {
        let slots = self.table.as_ref().map_or(1, KeyTable::capacity_slots);
        if slots <= self.slots {
            return;
        }
        self.slots = slots;
        if let Some(loading) = &mut self.loading {
            if slots > self.room {
                let least = (self.room + self.room / 2).max(SMALL_SLOTS).min(loading.most(slots));
                self.room = loading.expected(slots).max(least);
                self.counts.iter_mut().for_each(|counts| counts.reserve_exact(self.room.saturating_sub(counts.len())));
                self.states.iter_mut().flatten().for_each(|(_, state)| state.reserve(self.room));
            }
            loading.grow(slots, self.room);
        }
        self.counts.iter_mut().for_each(|counts| counts.resize(slots, 0));
        self.states.iter_mut().flatten().for_each(|(_, state)| state.grow(slots));
        if let Some(picks) = &mut self.picks {
            picks.grow(slots);
        }
    }

    /// How many slots there are, used or not.
    pub(crate) fn slots(&self) -> usize {
        self.slots
    }

    /// The slots of groups that exist.
    pub(crate) fn present(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.slots as u32).filter(|slot| self.is_present(*slot))
    }

    pub(crate) fn is_present(&self, slot: u32) -> bool {
        self.standing.lasting() || self.has_rows(slot)
    }

    /// Whether a group has rows. The group of all rows may exist without any.
    pub(crate) fn has_rows(&self, slot: u32) -> bool {
        match (&self.picks, &self.counts) {
            (Some(picks), _) => !picks.is_empty(slot),
            (None, counts) => counts.as_ref().is_some_and(|counts| counts[slot as usize] > 0),
        }
    }

    /// Prefetches what tells whether a group is present.
    pub(crate) fn prefetch(&self, slot: u32) {
        match (&self.picks, &self.counts) {
            (Some(picks), _) => picks.prefetch(slot),
            (None, Some(counts)) => simd::prefetch(&counts[slot as usize]),
            (None, None) => {}
        }
    }

    /// Whether the rows of each group are kept.
    pub(crate) fn knows_rows(&self) -> bool {
        self.picks.is_some()
    }

    /// The groups whose first or last row is among these rows.
    pub(crate) fn ends_among(&self, slots: &[u32], rows: &RowSet) -> Vec<u32> {
        let Some(picks) = &self.picks else { return Vec::new() };
        let is_end = |slot: u32, row: u64| picks.first(slot) == row || picks.last(slot) == row;
        slots.iter().zip(rows.iter()).filter(|(slot, row)| is_end(**slot, *row)).map(|(slot, _)| *slot).collect()
    }

    /// How many keys there are.
    pub(crate) fn keys(&self) -> u64 {
        self.table.as_ref().map_or(0, |table| table.len() as u64)
    }

    /// Gives the first slots to groups with these keys, in the order in which they come.
    fn reserve_named(&mut self, keys: &[Chunk]) -> Result<(), Error> {
        if let (Some(table), false) = (&mut self.table, keys.is_empty()) {
            table.insert(keys, &mut Vec::new(), &mut Vec::new())?;
            self.reserved = table.len();
            self.grow();
        }
        Ok(())
    }

    /// How many groups are named.
    pub(crate) fn reserved(&self) -> u64 {
        self.reserved as u64
    }

    /// The row of a group that comes to the result: its own if it is named, else the next one.
    pub(crate) fn row_of(&self, slot: u32, next: &mut u64) -> u64 {
        if self.is_reserved(slot) {
            return slot.into();
        }
        *next += 1;
        *next - 1
    }

    /// Whether a group is named.
    pub(crate) fn is_reserved(&self, slot: u32) -> bool {
        (slot as usize) < self.reserved
    }

    /// Frees the state of a group that became empty, and its key unless it may come back to its place.
    pub(crate) fn forget(&mut self, slot: u32) {
        self.states.iter_mut().flatten().for_each(|(_, state)| state.reset(slot));
        if let Some(picks) = &mut self.picks {
            picks.reset(slot);
        }
        if self.standing.preserve || self.is_reserved(slot) {
            return;
        }
        if let Some(table) = &mut self.table {
            table.free(slot);
        }
    }

    /// A group has no rows from now on, though they did not leave the table.
    pub(crate) fn drain(&mut self, slot: u32) {
        if let Some(counts) = &mut self.counts {
            counts[slot as usize] = 0;
        }
        if let Some(picks) = &mut self.picks {
            picks.reset(slot);
        }
    }

    /// As [`Groups::drain`], and frees its state and its key.
    pub(crate) fn let_go(&mut self, slot: u32) {
        self.drain(slot);
        self.forget(slot);
    }

    /// The cells of whole result rows: keys, then outputs.
    pub(crate) fn cells(&self, maker: &AggregationSpec, now: &View, slots: &[u32]) -> Result<Vec<Chunk>, Error> {
        let mut cells = self.table.as_ref().map(|table| table.keys_of(slots)).unwrap_or_default();
        let chosen = FirstLast::new(slots);
        for at in 0..maker.outputs.len() {
            cells.push(self.output(maker, at, now, &chosen)?);
        }
        Ok(cells)
    }

    /// The cells of one output.
    pub(crate) fn output(
        &self,
        maker: &AggregationSpec,
        at: usize,
        now: &View,
        chosen: &FirstLast<'_>,
    ) -> Result<ArrayRef, Error> {
        let slots = chosen.slots;
        let output = &maker.outputs[at];
        let read = match &self.readers[at] {
            Some((held, reader)) => self.states[*held].as_ref().map(|(_, held)| (reader, held)),
            None => self.states[at].as_ref().map(|(_, own)| (own, own)),
        };
        if let Some((reader, held)) = read {
            let values = |slots: &[u32]| reader.values_of(&**held, slots);
            let beyond = |slot: &u32| values(&[*slot]).is_err();
            return values(slots).map_err(|error| match slots.iter().find(|slot| beyond(slot)) {
                Some(slot) => self.told(maker, output, *slot, error),
                None => error,
            });
        }
        if let (Some(vector), [input], Some(rows)) = (&output.vector, &output.inputs[..], &self.picks) {
            return vector.values(maker.input(*input), now, slots, rows);
        }
        let ([input], Some(picks)) = (&output.inputs[..], &self.picks) else {
            let counts = self.counts.as_deref().unwrap_or_default();
            return Ok(Arc::new(Int64Array::from_iter_values(slots.iter().map(|slot| counts[*slot as usize]))));
        };
        let keys = match output.kind {
            Aggregate::First | Aggregate::Freeze => chosen.first(picks),
            _ => chosen.last(picks),
        };
        let cells = gather_at(maker.input(*input), now, keys)?;
        // Dictionary codes are a matter of storage; the picked cells are returned as values.
        if cells.data_type() == &output.data_type {
            Ok(cells)
        } else {
            Ok(column::types::cast(&cells, &output.data_type)?)
        }
    }
}

impl Groups {
    /// Adds to an error of one output the group in which it occurred.
    fn told(&self, maker: &AggregationSpec, output: &Output, slot: u32, error: Error) -> Error {
        let Error::Data { message, .. } = error else { return error };
        let text = |cell: &ArrayRef| arrow_cast::display::array_value_to_string(cell, 0).unwrap_or_default();
        let keys = self.table.as_ref().map(|table| table.keys_of(&[slot])).unwrap_or_default();
        let parts = maker.names.iter().zip(&keys).map(|(name, cell)| match cell.is_null(0) {
            true => format!("{name} is null"),
            false => format!("{name} = {}", text(cell)),
        });
        let group: Vec<String> = parts.collect();
        let place = if group.is_empty() { String::new() } else { format!(" in the group {}", group.join(", ")) };
        let input = output.inputs.iter().map(|input| maker.input(*input).text()).collect::<Vec<_>>().join(", ");
        Error::data(
            &maker.operation,
            format!("{}: {message} ({input}{place})", formula::hidden::shown_field(&output.declared)),
        )
    }
}
