//! The pairs of two tables that stay as they are.

use column::NO_ROW;
use column::kernels::ones;
use column::keys::NO_SLOT;
use rowset::RowSet;

use super::matching::{Matching, ask_for_pairs};
use super::options::{Counts, check_counts};
use crate::error::Error;
use crate::ops::join::on::Side;
use crate::ops::join::still::{RowsOfSlots, StillSlots};
use crate::plan::spec::Validate;
use crate::sizes::PROBE_ROWS;
use crate::table::view::View;
use crate::threads::parallel;

/// What an index of two pairs' rows takes.
const PAIR_BYTES: u64 = 32;

impl Matching {
    /// The leading rows of all pairs, in order, and their other rows.
    pub(super) fn of_still(
        &mut self,
        left: &View,
        right: &View,
        validate: Validate,
        operation: &str,
    ) -> Result<[Vec<u64>; 2], Error> {
        if self.keys.is_keyless() {
            ask_for_pairs(operation, u128::from(left.rows().len()) * u128::from(right.rows().len()), PAIR_BYTES)?;
        }
        let slots = StillSlots::new(&mut self.keys, left, right)?;
        let many = self.keys.slots();
        let (lead, lead_slots, other, other_slots) = match self.lead {
            Side::Left => (left.rows(), &slots.left, right.rows(), &slots.right),
            Side::Right => (right.rows(), &slots.right, left.rows(), &slots.left),
        };
        let others = RowsOfSlots::new(other, other_slots, many)?;
        if validate != Validate::ManyToMany {
            let counts = Counts::of(&slots.left, &slots.right, many);
            check_counts(&self.keys, &counts, validate, operation)?;
        }
        let [outer, other_outer] = self.alone;
        let mut from = 0;
        let mut parts = Vec::new();
        for part in parallel::parts(lead, PROBE_ROWS.rows()) {
            let to = from + part.len() as usize;
            parts.push((part, &lead_slots[from..to]));
            from = to;
        }
        let counted = |_: usize, (_, slots): &(RowSet, &[u32])| Ok::<_, Error>(others.count(slots, u64::from(outer)));
        let pairs = parallel::try_map(parts.len() > 1, &parts, counted)?;
        ask_for_pairs(operation, pairs.iter().sum(), PAIR_BYTES)?;
        let many = pairs.iter().sum::<u128>() as usize;
        let (mut leading, mut met) = (vec![0; many], vec![NO_ROW; many]);
        let lengths = || pairs.iter().map(|pairs| *pairs as usize);
        let (led, others_met) = (parallel::shares(&mut leading, lengths()), parallel::shares(&mut met, lengths()));
        parallel::try_map(parts.len() > 1, &parts, |at, (part, slots)| {
            let (mut leading, mut met) = (parallel::of_share(&led[at]), parallel::of_share(&others_met[at]));
            list(part, slots, &others, outer, [&mut leading, &mut met]);
            Ok::<_, Error>(())
        })?;
        drop((led, others_met));
        if other_outer {
            let unmet = unmet(other, other_slots, lead_slots, self.keys.slots());
            leading.resize(many + unmet.len(), NO_ROW);
            met.extend(unmet);
        }
        Ok([leading, met])
    }
}

/// The pairs of these leading rows, into lists that are as long as they are many; no row stands in the other side's.
fn list(rows: &RowSet, slots: &[u32], others: &RowsOfSlots, outer: bool, [leading, met]: [&mut [u64]; 2]) {
    if let RowsOfSlots::Single(others) = others
        && leading.len() == slots.len()
    {
        leading.iter_mut().zip(rows.iter()).for_each(|(leading, row)| *leading = row);
        let of = |slot: &u32| others.get(*slot as usize).copied().unwrap_or(NO_ROW);
        met.iter_mut().zip(slots).for_each(|(met, slot)| *met = of(slot));
        return;
    }
    let mut at = 0;
    let mut meet = |row: u64, slot: u32| match others.of(slot) {
        [] if outer => {
            leading[at] = row;
            at += 1;
        }
        [] => {}
        [one] => {
            (leading[at], met[at]) = (row, *one);
            at += 1;
        }
        several => {
            let end = at + several.len();
            leading[at..end].fill(row);
            met[at..end].copy_from_slice(several);
            at = end;
        }
    };
    if outer {
        return rows.iter().zip(slots).for_each(|(row, slot)| meet(row, *slot));
    }
    // Rows that meet nothing are passed over sixty-four at a time.
    let span = rows.as_span();
    let mut keys = Vec::new();
    if span.is_none() {
        rows.write_keys(&mut keys);
    }
    let row_of = |position: usize| span.map_or_else(|| keys[position], |span| span.first + position as u64);
    for (from, slots) in (0..).step_by(64).zip(slots.chunks(64)) {
        let known = slots.iter().enumerate().fold(0, |bits, (at, slot)| bits | u64::from(*slot != NO_SLOT) << at);
        ones(known).for_each(|at| meet(row_of(from + at), slots[at]));
    }
}

/// The rows of the other side that no leading row meets.
fn unmet(rows: &RowSet, slots: &[u32], lead_slots: &[u32], many: usize) -> Vec<u64> {
    let is_met = StillSlots::among(lead_slots, many);
    let unmet = rows.iter().zip(slots).filter(|(_, slot)| **slot == NO_SLOT || !is_met[**slot as usize]);
    unmet.map(|(row, _)| row).collect()
}
