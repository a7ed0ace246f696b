//! Which pairs the keys of both sides make.

use column::keys::NO_SLOT;
use rowset::RowSet;

use crate::error::Error;
use crate::ops::join::on::Side;
use crate::ops::join::pairs::{Pair, PairList};
use crate::ops::join::side::{JoinKeys, Slotted, is_empty, rows_of};
use crate::sizes::{LARGE_PROBE_ROWS, PROBE_ROWS};
use crate::table::view::View;

/// Left rows whose slots are prefetched together.
const BATCH: usize = 64;

/// The keys of both sides, and which pairs they make.
pub(super) struct Matching {
    pub(super) keys: JoinKeys,
    /// Whether a left row without a match has a pair, too.
    pub(super) outer: bool,
}

impl Matching {
    /// All pairs, in order.
    pub(super) fn start(&mut self, left: &View, right: &View) -> Result<Vec<Pair>, Error> {
        for part in crate::threads::parallel::parts(right.rows(), LARGE_PROBE_ROWS.rows()) {
            self.keys.load(Side::Right, right, &part)?;
        }
        let parts = crate::threads::parallel::parts(left.rows(), PROBE_ROWS.rows());
        let none = RowSet::new();
        let counts = self.right_counts();
        let of_part = |matching: &Matching, part: &RowSet, found: &Slotted| {
            let count = |slot: &u32| counts.get(*slot as usize).copied().unwrap_or(0);
            let mut pairs = PairList::with_room(found.slots.iter().map(count).fold(0, u64::saturating_add))?;
            matching.of_left(part, found, &none, |slot| matching.has_no_right(slot), &mut pairs);
            let mut pairs = pairs.finish()?;
            if matching.outer && found.rows.len() < part.len() {
                pairs.sort_unstable();
            }
            Ok::<_, Error>(pairs)
        };
        let lists = if self.keys.side(Side::Left).is_none() {
            crate::threads::parallel::try_map(parts.len() > 2, &parts, |_, part| {
                of_part(self, part, &self.keys.find(Side::Left, left, part)?)
            })?
        } else {
            let mut lists = Vec::with_capacity(parts.len());
            for part in &parts {
                let found = self.keys.load(Side::Left, left, part)?;
                lists.push(of_part(self, part, &found)?);
            }
            lists
        };
        let all = lists.iter().map(|list| list.len() as u64).sum();
        limits::ask_rows(all, size_of::<Pair>() as u64)?;
        Ok(lists.concat())
    }

    /// How many right rows each slot has.
    fn right_counts(&self) -> Vec<u64> {
        let Some(right) = self.keys.side(Side::Right) else { return Vec::new() };
        let count = |slot| {
            let mut count = u64::from(!right.is_empty(slot));
            if right.is_several(slot) {
                count = 0;
                right.for_each(slot, |_| count += 1);
            }
            count
        };
        (0..right.slots() as u32).map(count).collect()
    }

    pub(super) fn has_no_right(&self, slot: u32) -> bool {
        is_empty(self.keys.side(Side::Right), slot)
    }

    /// The pairs of these left rows, without the right rows in `skip`. `found` are those that may match; one whose slot
    /// is `alone` has its own pair if the join has such, and so has one that cannot match.
    pub(super) fn of_left(
        &self,
        rows: &RowSet,
        found: &Slotted,
        skip: &RowSet,
        alone: impl Fn(u32) -> bool,
        pairs: &mut PairList,
    ) {
        let Some(right) = self.keys.side(Side::Right) else { return };
        let mut left = found.rows.iter();
        for batch in found.slots.chunks(BATCH) {
            batch.iter().filter(|slot| **slot != NO_SLOT).for_each(|slot| right.ask(*slot));
            for (slot, row) in batch.iter().zip(&mut left) {
                if pairs.is_full() {
                    return;
                }
                rows_of(Some(right), *slot, |other| {
                    if !skip.contains(other) {
                        pairs.push(row, other);
                    }
                });
                if self.outer && alone(*slot) {
                    pairs.push_alone(row);
                }
            }
        }
        if self.outer && found.rows.len() < rows.len() {
            (rows - &found.rows).iter().for_each(|row| pairs.push_alone(row));
        }
    }

    /// The pairs of these right rows, without the left rows in `skip`.
    pub(super) fn of_right(&self, found: &Slotted, skip: &RowSet, pairs: &mut PairList) {
        for (row, slot) in found.iter() {
            if pairs.is_full() {
                return;
            }
            rows_of(self.keys.side(Side::Left), slot, |other| {
                if !skip.contains(other) {
                    pairs.push(other, row);
                }
            });
        }
    }

    /// The left rows of these slots without a right row, except those in `skip`.
    pub(super) fn of_alone(&self, slots: &[u32], skip: &RowSet, pairs: &mut PairList) {
        for slot in slots {
            rows_of(self.keys.side(Side::Left), *slot, |row| {
                if !skip.contains(row) {
                    pairs.push_alone(row);
                }
            });
        }
    }

    /// Those of these slots that have no right row, ascending; none if that makes no difference.
    pub(super) fn without_right(&self, slots: &[u32]) -> Vec<u32> {
        if !self.outer {
            return Vec::new();
        }
        let mut empty: Vec<u32> = slots.iter().copied().filter(|slot| self.has_no_right(*slot)).collect();
        empty.sort_unstable();
        empty.dedup();
        empty
    }
}
