//! Keys of two tables that stay as they are: the smaller one enters its keys, the other looks them up.
//!
//! Nothing is kept for later changes, so a row costs its slot and no more. What is made does not depend on which side
//! entered its keys.

use column::keys::NO_SLOT;
use rowset::RowSet;

use super::on::Side;
use super::side::{JoinKeys, Slotted};
use crate::error::Error;
use crate::sizes::{LARGE_PROBE_ROWS, PROBE_ROWS};
use crate::table::view::View;
use crate::threads::parallel;

/// The slot of each row of both sides, in row order; `NO_SLOT` for rows that match nothing, as far as that is known.
pub(super) struct StillSlots {
    pub(super) left: Vec<u32>,
    pub(super) right: Vec<u32>,
}

impl StillSlots {
    /// Enters and looks up the keys of two tables.
    pub(super) fn new(keys: &mut JoinKeys, left: &View, right: &View) -> Result<StillSlots, Error> {
        limits::ask_rows(left.rows().len().saturating_add(right.rows().len()), 12)?;
        let right_entered = right.rows().len() <= left.rows().len();
        let (entering, side) = if right_entered { (right, Side::Right) } else { (left, Side::Left) };
        let mut entered = vec![NO_SLOT; entering.rows().len() as usize];
        let mut rest = &mut entered[..];
        for part in parallel::parts(entering.rows(), LARGE_PROBE_ROWS.rows()) {
            let (own, later) = rest.split_at_mut(part.len() as usize);
            place(&part, &keys.insert(side, entering, &part)?, own);
            rest = later;
        }
        let looking = if right_entered { left } else { right };
        keys.settle(looking.rows().len());
        let parts = parallel::parts(looking.rows(), PROBE_ROWS.rows());
        let mut found = vec![NO_SLOT; looking.rows().len() as usize];
        let shares = parallel::shares(&mut found, parts.iter().map(|part| part.len() as usize));
        parallel::try_map(parts.len() > 1, &parts, |at, part| {
            let slotted = keys.find(side.other(), looking, part)?;
            place(part, &slotted, &mut parallel::of_share(&shares[at]));
            Ok::<_, Error>(())
        })?;
        drop(shares);
        let (left, right) = if right_entered { (found, entered) } else { (entered, found) };
        Ok(StillSlots { left, right })
    }

    /// For each slot, all of which are below `many`, whether a row has it.
    pub(super) fn among(slots: &[u32], many: usize) -> Vec<bool> {
        let mut among = vec![false; many];
        slots.iter().filter(|slot| **slot != NO_SLOT).for_each(|slot| among[*slot as usize] = true);
        among
    }
}

/// Puts down the slots of all these rows; those with a null key keep what stands there.
fn place(rows: &RowSet, found: &Slotted, slots: &mut [u32]) {
    if found.rows.len() == rows.len() {
        slots.copy_from_slice(&found.slots);
        return;
    }
    for (position, slot) in rows.positions_of(&found.rows).0.iter().zip(&found.slots) {
        slots[position as usize] = *slot;
    }
}

/// The rows of each slot, in row order.
pub(super) enum RowsOfSlots {
    /// One a slot, as where each row has a key of its own.
    Single(Vec<u64>),
    Several {
        /// Where the rows of each slot begin, and where those of the last one end.
        starts: Vec<usize>,
        rows: Vec<u64>,
    },
}

impl RowsOfSlots {
    /// The rows that have a slot, all of which are below `many`.
    pub(super) fn new(rows: &RowSet, slots: &[u32], many: usize) -> Result<RowsOfSlots, Error> {
        limits::ask_rows(rows.len().saturating_add(many as u64), 8)?;
        // New keys have new slots.
        if slots.len() == many && slots.iter().zip(0..).all(|(slot, at)| *slot == at) {
            return Ok(RowsOfSlots::Single(rows.iter().collect()));
        }
        let mut starts = vec![0_usize; many + 2];
        // Counted two places on: as rows are put down, the place of a slot becomes where it ends, and the next one's begins.
        slots.iter().filter(|slot| **slot != NO_SLOT).for_each(|slot| starts[*slot as usize + 2] += 1);
        (2..starts.len()).for_each(|at| starts[at] += starts[at - 1]);
        let mut placed = vec![0; starts[many + 1]];
        for (row, slot) in rows.iter().zip(slots) {
            if *slot != NO_SLOT {
                let at = &mut starts[*slot as usize + 1];
                placed[*at] = row;
                *at += 1;
            }
        }
        starts.pop();
        Ok(RowsOfSlots::Several { starts, rows: placed })
    }

    /// How many rows these slots have in all, one that has none counted as `alone`.
    pub(super) fn count(&self, slots: &[u32], alone: u64) -> u128 {
        let none = || slots.iter().filter(|slot| **slot == NO_SLOT).count() as u64;
        match self {
            RowsOfSlots::Single(_) if alone == 1 => slots.len() as u128,
            RowsOfSlots::Single(_) => u128::from(slots.len() as u64 - none()),
            RowsOfSlots::Several { .. } => {
                slots.iter().map(|slot| u128::from((self.of(*slot).len() as u64).max(alone))).sum()
            }
        }
    }

    /// The rows of a slot; none of `NO_SLOT`.
    #[inline]
    pub(super) fn of(&self, slot: u32) -> &[u64] {
        match self {
            _ if slot == NO_SLOT => &[],
            RowsOfSlots::Single(rows) => std::slice::from_ref(&rows[slot as usize]),
            RowsOfSlots::Several { starts, rows } => &rows[starts[slot as usize]..starts[slot as usize + 1]],
        }
    }
}
