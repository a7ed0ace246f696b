//! The pairs of two tables that stay as they are.

use column::NO_ROW;
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
            ask_for_pairs(u128::from(left.rows().len()) * u128::from(right.rows().len()), PAIR_BYTES)?;
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
        let pairs_of = |slot: &u32| (others.of(*slot).len() as u64).max(u64::from(outer));
        let pairs = lead_slots.iter().map(|slot| u128::from(pairs_of(slot))).sum();
        ask_for_pairs(pairs, PAIR_BYTES)?;
        let mut from = 0;
        let mut parts = Vec::new();
        for part in parallel::parts(lead, PROBE_ROWS.rows()) {
            let to = from + part.len() as usize;
            parts.push((part, &lead_slots[from..to]));
            from = to;
        }
        let lists = parallel::try_map(parts.len() > 1, &parts, |_, (part, slots)| {
            Ok::<_, Error>(listed(part, slots, &others, outer))
        })?;
        let (mut leading, mut met): (Vec<Vec<u64>>, Vec<Vec<u64>>) = lists.into_iter().unzip();
        if other_outer {
            let unmet = unmet(other, other_slots, lead_slots, many);
            leading.push(vec![NO_ROW; unmet.len()]);
            met.push(unmet);
        }
        Ok([leading.concat(), met.concat()])
    }
}

/// The pairs of these leading rows.
fn listed(rows: &RowSet, slots: &[u32], others: &RowsOfSlots, outer: bool) -> (Vec<u64>, Vec<u64>) {
    let (mut leading, mut met) = (Vec::new(), Vec::new());
    for (row, slot) in rows.iter().zip(slots) {
        match others.of(*slot) {
            [] if outer => {
                leading.push(row);
                met.push(NO_ROW);
            }
            [one] => {
                leading.push(row);
                met.push(*one);
            }
            several => {
                leading.resize(leading.len() + several.len(), row);
                met.extend_from_slice(several);
            }
        }
    }
    (leading, met)
}

/// The rows of the other side that no leading row meets.
fn unmet(rows: &RowSet, slots: &[u32], lead_slots: &[u32], many: usize) -> Vec<u64> {
    let is_met = StillSlots::among(lead_slots, many);
    let unmet = rows.iter().zip(slots).filter(|(_, slot)| **slot == NO_SLOT || !is_met[**slot as usize]);
    unmet.map(|(row, _)| row).collect()
}
