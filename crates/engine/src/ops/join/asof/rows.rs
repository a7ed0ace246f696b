//! Rows of one side as an as-of join sees them: their groups and stamps, and the searches of a batch of them.

use arrow_buffer::NullBuffer;
use column::NO_ROW;
use column::keys::NO_SLOT;
use rowset::RowSet;

use super::AsofLive;
use crate::error::Error;
use crate::keys::timeline::Place;
use crate::ops::join::on::{Side, cells_as};
use crate::ops::join::side::{Slotted, spread};
use crate::ops::join::stamps::ordered;
use crate::sizes::ASOF_BATCH;
use crate::table::view::View;

/// Rows of one side that may match, with their groups and stamps.
pub(super) struct Rows {
    found: Slotted,
    stamps: Vec<u64>,
    /// Which have a stamp.
    valid: Option<NullBuffer>,
}

impl Rows {
    /// Calls `run` with slot, stamp and key of each row that has a known group and a stamp.
    pub(super) fn each(&self, mut run: impl FnMut(u32, u64, u64)) {
        self.each_place(|_, slot, stamp, key| run(slot, stamp, key));
    }

    fn each_place(&self, mut run: impl FnMut(usize, u32, u64, u64)) {
        for (at, (key, slot)) in self.found.iter().enumerate() {
            if slot != NO_SLOT && self.valid.as_ref().is_none_or(|valid| valid.is_valid(at)) {
                run(at, slot, self.stamps[at], key);
            }
        }
    }

    /// The row keys.
    pub(super) fn keys(&self) -> &RowSet {
        &self.found.rows
    }

    /// The matches of these rows, spread over all of `rows`.
    pub(super) fn spread(&self, rows: &RowSet, matched: Vec<u64>) -> Vec<u64> {
        spread(rows, &self.found.rows, matched.into_iter())
    }

    /// Slot, stamp and position, in the order of the rows.
    pub(super) fn placed(&self) -> Vec<(u32, u64, u64)> {
        let mut placed = Vec::with_capacity(self.stamps.len());
        self.each_place(|position, slot, stamp, _| placed.push((slot, stamp, position as u64)));
        placed
    }

    /// Slot, stamp and key, group by group: what one search has brought into the cache, the next one uses.
    pub(super) fn by_group(&self, groups: usize) -> Vec<(u32, u64, u64)> {
        let mut sorted = Vec::with_capacity(self.stamps.len());
        if !few_groups(groups, self.stamps.len()) {
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

    /// The groups that are known, each once.
    pub(super) fn groups(&self) -> Vec<u32> {
        let mut slots: Vec<u32> = self.found.slots.iter().copied().filter(|slot| *slot != NO_SLOT).collect();
        slots.sort_unstable();
        slots.dedup();
        slots
    }
}

impl AsofLive {
    /// Groups and stamps of rows that come; a new key makes a new group.
    pub(super) fn rows_entered(&mut self, side: Side, view: &View, rows: &RowSet) -> Result<Rows, Error> {
        let found = self.keys.insert(side, view, rows)?;
        // A group that is made for rows without a stamp has no row in the end.
        self.keys.touch(&found.slots);
        let groups = self.keys.slots();
        self.right.grow(groups);
        if let Some(left) = &mut self.left {
            left.grow(groups);
        }
        self.stamped(side, view, found)
    }

    /// Groups and stamps of some rows.
    pub(super) fn rows_found(&self, side: Side, view: &View, rows: &RowSet) -> Result<Rows, Error> {
        self.stamped(side, view, self.keys.find(side, view, rows)?)
    }

    /// Groups and stamps of rows that leave: their groups are judged at the end of the step.
    pub(super) fn rows_leaving(&mut self, side: Side, view: &View, rows: &RowSet) -> Result<Rows, Error> {
        let leaving = self.rows_found(side, view, rows)?;
        self.keys.touch(&leaving.groups());
        Ok(leaving)
    }

    fn stamped(&self, side: Side, view: &View, found: Slotted) -> Result<Rows, Error> {
        let column = if side == Side::Left { self.how.left_stamp } else { self.how.right_stamp };
        let cells = cells_as(view.read(column, &found.rows)?, &self.how.meet)?;
        let (stamps, valid) = ordered(&cells)?;
        Ok(Rows { found, stamps, valid })
    }

    /// The right row of each of these left rows.
    pub(super) fn look_up(&self, rows: &Rows) -> Vec<u64> {
        let mut matched = vec![NO_ROW; rows.stamps.len()];
        let mut hints = if few_groups(self.right.slots(), matched.len()) {
            vec![Place::UNKNOWN; self.right.slots()]
        } else {
            Vec::new()
        };
        for batch in rows.placed().chunks(ASOF_BATCH.get()) {
            self.right.prefetch_searches(batch);
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
