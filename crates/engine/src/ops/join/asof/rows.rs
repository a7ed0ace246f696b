//! Rows of one side as an as-of join sees them: their groups and stamps, and the searches of a batch of them.

use arrow_array::Array;
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use column::keys::{KeyTable, NO_SLOT, any_null};
use column::{Chunk, NO_ROW};
use rowset::RowSet;

use super::AsofLive;
use crate::error::Error;
use crate::keys::timeline::Place;
use crate::ops::join::on::{Side, cells_as};
use crate::sizes::ASOF_BATCH;
use crate::table::view::View;

/// Rows of one side with their groups and stamps; rows without a stamp or with a null key are out.
pub(super) struct Rows {
    pub(super) slots: Vec<u32>,
    pub(super) stamps: Vec<u64>,
    pub(super) valid: Option<NullBuffer>,
    pub(super) keys: RowSet,
}

impl Rows {
    pub(super) fn each(&self, mut run: impl FnMut(u32, u64, u64)) {
        for (at, key) in self.keys.iter().enumerate() {
            if self.slots[at] != NO_SLOT && self.valid.as_ref().is_none_or(|valid| valid.is_valid(at)) {
                run(self.slots[at], self.stamps[at], key);
            }
        }
    }

    pub(super) fn each_place(&self, mut run: impl FnMut(usize, u32, u64, u64)) {
        for (at, key) in self.keys.iter().enumerate() {
            if self.slots[at] != NO_SLOT && self.valid.as_ref().is_none_or(|valid| valid.is_valid(at)) {
                run(at, self.slots[at], self.stamps[at], key);
            }
        }
    }

    /// Slot, stamp and position, in the order of the rows.
    pub(super) fn placed(&self) -> Vec<(u32, u64, u64)> {
        let mut placed = Vec::with_capacity(self.slots.len());
        self.each_place(|position, slot, stamp, _| placed.push((slot, stamp, position as u64)));
        placed
    }

    /// Slot, stamp and key, group by group: what one search has brought into the cache, the next one uses.
    pub(super) fn by_group(&self, groups: usize) -> Vec<(u32, u64, u64)> {
        let mut sorted = Vec::with_capacity(self.slots.len());
        if !few_groups(groups, self.slots.len()) {
            self.each(|slot, stamp, key| sorted.push((slot, stamp, key)));
            sorted.sort_unstable();
            return sorted;
        }
        let mut starts = vec![0u32; groups + 1];
        self.each(|slot, _, _| starts[slot as usize + 1] += 1);
        (0..groups).for_each(|slot| starts[slot + 1] += starts[slot]);
        sorted.resize(starts[groups] as usize, (0, 0, 0));
        self.each(|slot, stamp, key| {
            let at = &mut starts[slot as usize];
            sorted[*at as usize] = (slot, stamp, key);
            *at += 1;
        });
        sorted
    }

    pub(super) fn groups(&self) -> Vec<u32> {
        let mut slots: Vec<u32> = self.slots.iter().copied().filter(|slot| *slot != NO_SLOT).collect();
        slots.sort_unstable();
        slots.dedup();
        slots
    }
}

impl AsofLive {
    /// Groups and stamps of some rows; `enter` makes groups that are not there yet.
    pub(super) fn rows_of(&mut self, side: Side, view: &View, rows: &RowSet, enter: bool) -> Result<Rows, Error> {
        if !enter {
            return self.rows_found(side, view, rows);
        }
        let (keys, nulls) = self.key_cells(side, view, rows)?;
        let mut slots = Vec::new();
        match &mut self.keys {
            Some(table) => {
                let mut created = Vec::new();
                table.insert(&keys, &mut slots, &mut created)?;
                // What is made for a key that turns out to have no row (it is null, or has no stamp) is freed again.
                self.emptied.extend(created.into_iter().map(|row| slots[row as usize]));
            }
            None => slots.resize(rows.len() as usize, 0),
        }
        let groups = self.keys.as_ref().map_or(1, KeyTable::capacity_slots);
        self.right.grow(groups);
        if let Some(left) = &mut self.left {
            left.grow(groups);
        }
        self.stamped(side, view, rows, slots, nulls)
    }

    pub(super) fn rows_found(&self, side: Side, view: &View, rows: &RowSet) -> Result<Rows, Error> {
        let (keys, nulls) = self.key_cells(side, view, rows)?;
        let mut slots = Vec::new();
        match &self.keys {
            Some(table) => table.find(&keys, &mut slots),
            None => slots.resize(rows.len() as usize, if self.right.slots() == 0 { NO_SLOT } else { 0 }),
        }
        self.stamped(side, view, rows, slots, nulls)
    }

    fn key_cells(&self, side: Side, view: &View, rows: &RowSet) -> Result<(Vec<Chunk>, Option<NullBuffer>), Error> {
        let keys = self.how.by.read(side, view, rows)?;
        let nulls = any_null(&keys);
        Ok((keys, nulls))
    }

    fn stamped(
        &self,
        side: Side,
        view: &View,
        rows: &RowSet,
        slots: Vec<u32>,
        nulls: Option<NullBuffer>,
    ) -> Result<Rows, Error> {
        let column = if side == Side::Left { self.how.left_stamp } else { self.how.right_stamp };
        let cells = cells_as(view.read(column, rows)?, &self.how.meet)?;
        let (stamps, missing) = ordered(&cells)?;
        let valid = NullBuffer::union(nulls.as_ref(), missing.as_ref());
        Ok(Rows { slots, stamps, valid, keys: rows.clone() })
    }

    pub(super) fn look_up(&self, rows: &Rows) -> Vec<u64> {
        let mut matched = vec![NO_ROW; rows.slots.len()];
        let mut hints = if few_groups(self.right.slots(), matched.len()) {
            vec![Place::UNKNOWN; self.right.slots()]
        } else {
            Vec::new()
        };
        for batch in rows.placed().chunks(ASOF_BATCH.get()) {
            self.right.ask_searched(batch);
            for (slot, stamp, position) in batch {
                let mut unknown = Place::UNKNOWN;
                let hint = hints.get_mut(*slot as usize).unwrap_or(&mut unknown);
                matched[*position as usize] = self.how.find(&self.right[*slot], *stamp, hint);
            }
        }
        matched
    }
}

/// Prefetch distance: the memory of a search is prefetched this many searches ahead.
pub(super) const AHEAD: usize = 32;

/// Whether something a group may be made for so many changed rows: work is the change, not the groups.
#[inline]
fn few_groups(groups: usize, rows: usize) -> bool {
    groups <= rows * 4
}

/// Stamps as numbers that order as they do, and which are missing (null or NaN).
fn ordered(cells: &Chunk) -> Result<(Vec<u64>, Option<NullBuffer>), Error> {
    const SIGN: u64 = 1 << 63;
    if matches!(cells.data_type(), DataType::Float16 | DataType::Float32 | DataType::Float64) {
        let values = crate::ops::agg::floats(cells);
        let stamps = values.values().iter().map(|value| crate::ops::agg::order_key(*value)).collect();
        let real: arrow_buffer::BooleanBuffer = values.values().iter().map(|value| !value.is_nan()).collect();
        return Ok((stamps, NullBuffer::union(values.nulls(), Some(&NullBuffer::new(real)))));
    }
    let values = crate::ops::agg::integers(cells);
    let flip = if *cells.data_type() == DataType::UInt64 { 0 } else { SIGN };
    Ok((values.values().iter().map(|value| *value as u64 ^ flip).collect(), values.nulls().cloned()))
}
