//! Which pairs the keys of both sides make.

use column::NO_ROW;
use column::keys::NO_SLOT;
use rowset::RowSet;

use crate::error::Error;
use crate::ops::join::on::Side;
use crate::ops::join::pairs::{Pair, PairList};
use crate::ops::join::side::{JoinKeys, Slotted, is_empty, rows_of};
use crate::sizes::{LARGE_PROBE_ROWS, PROBE_ROWS};
use crate::table::view::View;
use crate::threads::parallel;

/// Leading rows whose slots are prefetched together.
const BATCH: usize = 64;

/// The keys of both sides, and which pairs they make.
pub(super) struct Matching {
    pub(super) keys: JoinKeys,
    /// The side whose rows the pairs are in the order of.
    pub(super) lead: Side,
    /// Whether a row without a match has a pair, too: one of the leading side, and one of the other.
    pub(super) alone: [bool; 2],
}

impl Matching {
    /// All pairs, in order. A pair takes so many bytes: how many there are is asked for before the first is made.
    pub(super) fn start(&mut self, lead: &View, other: &View, bytes: u64) -> Result<Vec<Pair>, Error> {
        let second = self.lead.other();
        if self.keys.is_keyless() {
            ask_for_pairs("join", u128::from(lead.rows().len()) * u128::from(other.rows().len()), bytes)?;
        }
        limits::ask_rows(lead.rows().len().saturating_add(other.rows().len()), 16)?;
        for part in parallel::parts(other.rows(), LARGE_PROBE_ROWS.rows()) {
            self.keys.load(second, other, &part)?;
        }
        let parts = parallel::parts(lead.rows(), PROBE_ROWS.rows());
        let counts = self.counts(second);
        self.ask_for_all(lead, &parts, &counts, bytes)?;
        let none = RowSet::new();
        let of_part = |matching: &Matching, part: &RowSet, found: &Slotted| {
            let mut pairs = PairList::with_room(pairs_of(found, &counts))?;
            matching.of_lead(part, found, &none, |slot| matching.has_none(second, slot), &mut pairs);
            let mut pairs = pairs.finish()?;
            if matching.stands_alone(matching.lead) && found.rows.len() < part.len() {
                pairs.sort_unstable();
            }
            Ok::<_, Error>(pairs)
        };
        let mut lists = if self.keys.side(self.lead).is_none() {
            parallel::try_map(parts.len() > 2, &parts, |_, part| {
                of_part(self, part, &self.keys.find(self.lead, lead, part)?)
            })?
        } else {
            let mut lists = Vec::with_capacity(parts.len());
            for part in &parts {
                let found = self.keys.load(self.lead, lead, part)?;
                lists.push(of_part(self, part, &found)?);
            }
            lists
        };
        if self.stands_alone(second) {
            let mut pairs = PairList::default();
            for part in parallel::parts(other.rows(), LARGE_PROBE_ROWS.rows()) {
                let found = self.keys.find(second, other, &part)?;
                self.alone(second, &part, &found, |slot| self.has_none(self.lead, slot), &mut pairs);
            }
            let mut pairs = pairs.finish()?;
            pairs.sort_unstable();
            lists.push(pairs);
        }
        let all = lists.iter().map(|list| list.len() as u64).sum();
        limits::ask_rows(all, bytes)?;
        Ok(lists.concat())
    }

    /// Asks for the pairs of all these rows. They are counted only where the most there could be are too many.
    fn ask_for_all(&self, lead: &View, parts: &[RowSet], counts: &[u64], bytes: u64) -> Result<(), Error> {
        let most = counts.iter().copied().max().unwrap_or(0);
        if limits::ask_rows(lead.rows().len().saturating_mul(most), bytes).is_ok() {
            return Ok(());
        }
        let mut pairs = 0_u128;
        for part in parts {
            pairs += u128::from(pairs_of(&self.keys.find(self.lead, lead, part)?, counts));
        }
        ask_for_pairs("join", pairs, bytes)
    }

    /// How many rows of a side each slot has.
    fn counts(&self, side: Side) -> Vec<u64> {
        let Some(rows) = self.keys.side(side) else { return Vec::new() };
        let count = |slot| {
            let mut count = u64::from(!rows.is_empty(slot));
            if rows.is_several(slot) {
                count = 0;
                rows.for_each(slot, |_| count += 1);
            }
            count
        };
        (0..rows.slots() as u32).map(count).collect()
    }

    /// Whether a slot has no row of this side.
    pub(super) fn has_none(&self, side: Side, slot: u32) -> bool {
        is_empty(self.keys.side(side), slot)
    }

    /// Whether rows of this side without a match have a pair.
    fn stands_alone(&self, side: Side) -> bool {
        self.alone[usize::from(side != self.lead)]
    }

    /// The pair of a row of this side that has no match.
    fn lone(&self, side: Side, row: u64) -> Pair {
        if side == self.lead { (row, NO_ROW) } else { (NO_ROW, row) }
    }

    /// The pairs of these leading rows, without those of the other side's rows in `skip`. `found` are those that may match;
    /// one whose slot `is_alone` has its own pair if the join has such, and so has one that cannot match.
    pub(super) fn of_lead(
        &self,
        rows: &RowSet,
        found: &Slotted,
        skip: &RowSet,
        is_alone: impl Fn(u32) -> bool,
        pairs: &mut PairList,
    ) {
        let Some(others) = self.keys.side(self.lead.other()) else { return };
        let outer = self.stands_alone(self.lead);
        let mut leading = found.rows.iter();
        for batch in found.slots.chunks(BATCH) {
            batch.iter().filter(|slot| **slot != NO_SLOT).for_each(|slot| others.prefetch(*slot));
            for (slot, row) in batch.iter().zip(&mut leading) {
                if pairs.is_full() {
                    return;
                }
                rows_of(Some(others), *slot, |other| {
                    if !skip.contains(other) {
                        pairs.push((row, other));
                    }
                });
                if outer && is_alone(*slot) {
                    pairs.push(self.lone(self.lead, row));
                }
            }
        }
        if outer && found.rows.len() < rows.len() {
            (rows - &found.rows).iter().for_each(|row| pairs.push(self.lone(self.lead, row)));
        }
    }

    /// The pairs of these rows of the other side, without those of leading rows in `skip`.
    pub(super) fn of_other(&self, found: &Slotted, skip: &RowSet, pairs: &mut PairList) {
        for (row, slot) in found.iter() {
            if pairs.is_full() {
                return;
            }
            rows_of(self.keys.side(self.lead), slot, |leading| {
                if !skip.contains(leading) {
                    pairs.push((leading, row));
                }
            });
        }
    }

    /// The own pairs of those of these rows that stand alone: whose slot `is_alone`, and that cannot match. `found` are
    /// those that may match.
    pub(super) fn alone(
        &self,
        side: Side,
        rows: &RowSet,
        found: &Slotted,
        is_alone: impl Fn(u32) -> bool,
        pairs: &mut PairList,
    ) {
        if !self.stands_alone(side) {
            return;
        }
        found.iter().filter(|(_, slot)| is_alone(*slot)).for_each(|(row, _)| pairs.push(self.lone(side, row)));
        if found.rows.len() < rows.len() {
            (rows - &found.rows).iter().for_each(|row| pairs.push(self.lone(side, row)));
        }
    }

    /// The own pairs of the rows of these slots, except those in `skip`.
    pub(super) fn of_slots(&self, side: Side, slots: &[u32], skip: &RowSet, pairs: &mut PairList) {
        for slot in slots {
            rows_of(self.keys.side(side), *slot, |row| {
                if !skip.contains(row) {
                    pairs.push(self.lone(side, row));
                }
            });
        }
    }

    /// Those of these slots that have no row of this side, ascending; none if that makes no difference to the other side's.
    pub(super) fn without(&self, side: Side, slots: &[u32]) -> Vec<u32> {
        if !self.stands_alone(side.other()) {
            return Vec::new();
        }
        let mut empty: Vec<u32> = slots.iter().copied().filter(|slot| self.has_none(side, *slot)).collect();
        empty.sort_unstable();
        empty.dedup();
        empty
    }
}

/// How many pairs these rows have, where each slot has so many rows of the other side.
fn pairs_of(found: &Slotted, counts: &[u64]) -> u64 {
    let count = |slot: &u32| counts.get(*slot as usize).copied().unwrap_or(0);
    found.slots.iter().map(count).fold(0, u64::saturating_add)
}

/// Asks for the memory of so many pairs.
pub(in crate::ops::join) fn ask_for_pairs(operation: &str, pairs: u128, bytes: u64) -> Result<(), Error> {
    limits::ask_rows(u64::try_from(pairs).unwrap_or(u64::MAX), bytes).map_err(|exhausted| Error::Resource {
        operation: operation.into(),
        message: format!("there are {pairs} pairs of rows; {exhausted}"),
    })
}
