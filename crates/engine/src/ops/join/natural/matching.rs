//! The hash tables of a natural join: the rows of both sides by key, and the matches that a change of a side affects.

use std::sync::Arc;

use arrow_array::{ArrayRef, UInt64Array};
use column::keys::NO_SLOT;
use column::{Chunk, NO_ROW};
use rowset::RowSet;

use super::{Matches, NaturalLive};
use crate::error::Error;
use crate::keys::rows::KeyRows;
use crate::keys::touched::Touched;
use crate::ops::join::on::Side;
use crate::ops::join::side::spread;
use crate::sizes::{LARGE_PROBE_ROWS, PROBE_BATCH_ROWS, PROBE_ROWS};
use crate::table::change::Change;
use crate::table::update::ColumnSet;
use crate::table::view::View;

/// Right rows whose slots are prefetched together.
const BATCH: usize = 64;

/// A marker in place of a match: there are several matches, and at most one is allowed.
const SEVERAL: u64 = NO_ROW - 1;

/// The match of a key before a step of the right side.
pub(super) struct PreviousMatch {
    pub(super) slot: u32,
    /// The old match in after-keys; `NO_ROW` if the key had no match, or its match was removed.
    pub(super) row: u64,
    /// Whether the key had a match.
    pub(super) had: bool,
    /// Whether the key had several matches and was skipped under `on_error`.
    pub(super) passed_over: bool,
}

/// The effect of a step of the right side on left rows.
#[derive(Default)]
pub(super) struct RightChange {
    /// Left rows (after-keys) that have another right row now.
    pub(super) rematched: Vec<u64>,
    /// Left rows whose right row only shifted: their index cells are rewritten, but their values are unmodified.
    pub(super) moved: Vec<u64>,
    /// Left rows whose right row has modified cells.
    pub(super) modified: Vec<u64>,
    /// Result columns of those cells.
    pub(super) columns: ColumnSet,
}

impl NaturalLive {
    /// The match of a key, or `NO_ROW`. A key that is skipped under `on_error` has no match.
    pub(super) fn pick(&self, slot: u32) -> u64 {
        self.pick_of(self.right(), slot)
    }

    /// As `pick`, of the right rows.
    #[inline]
    fn pick_of(&self, right: &KeyRows, slot: u32) -> u64 {
        if self.passes_over(slot) {
            return NO_ROW;
        }
        if self.matches == Matches::Last { right.last(slot) } else { right.first(slot) }
    }

    /// Whether the left rows of this key are skipped under `on_error`: reported, and without a match.
    pub(super) fn passes_over(&self, slot: u32) -> bool {
        self.row_errors.is_some() && self.matches == Matches::Error && self.right().is_several(slot)
    }

    /// Whether a left row with several matches fails the table.
    pub(super) fn refuses_several(&self) -> bool {
        self.row_errors.is_none() && matches!(self.matches, Matches::Error | Matches::One)
    }

    /// Reports a left row with several matches.
    pub(super) fn note(&self, slot: u32, key: u64) {
        if let Some(row_errors) = &self.row_errors {
            row_errors.note(None, key, self.several(slot));
        }
    }

    /// The right rows of each key slot.
    pub(super) fn right(&self) -> &KeyRows {
        self.keys.side(Side::Right).expect("a natural join stores its right rows")
    }

    /// The initial index: the matches of all left rows, in pieces.
    pub(super) fn start(&mut self, view: &View) -> Result<Vec<(RowSet, Chunk)>, Error> {
        let rows = view.rows();
        let size = if rows.len() >= 8 * LARGE_PROBE_ROWS.rows() { LARGE_PROBE_ROWS.rows() } else { PROBE_ROWS.rows() };
        let parts = crate::threads::parallel::parts(rows, size);
        if self.is_stored() {
            return parts
                .into_iter()
                .map(|part| {
                    let matched = self.probe(view, &part)?;
                    let cells: ArrayRef = Arc::new(UInt64Array::from(matched));
                    Ok((part, cells))
                })
                .collect();
        }
        crate::threads::parallel::try_map(rows.len() > 2 * PROBE_ROWS.rows(), &parts, |_, part| {
            let cells: ArrayRef = Arc::new(UInt64Array::from(self.look_up(view, part)?));
            Ok((part.clone(), cells))
        })
    }

    /// Enters left rows under their keys and returns the match of each, in row order.
    pub(super) fn probe(&mut self, view: &View, rows: &RowSet) -> Result<Vec<u64>, Error> {
        if !self.is_stored() {
            return self.look_up(view, rows);
        }
        let found = self.keys.insert(Side::Left, view, rows)?;
        self.keys.enter(Side::Left, &found);
        for (key, slot) in found.iter().filter(|(_, slot)| self.passes_over(*slot)) {
            self.note(slot, key);
        }
        let matched = spread(rows, &found.rows, found.slots.iter().map(|slot| self.pick(*slot)));
        self.each_has_one(view, rows, matched)
    }

    /// The matches of these left rows, unless one has none and the join is exact.
    fn each_has_one(&self, view: &View, rows: &RowSet, matched: Vec<u64>) -> Result<Vec<u64>, Error> {
        let missing = match self.matches {
            Matches::One => matched.iter().position(|row| *row == NO_ROW),
            _ => None,
        };
        let Some(row) = missing.and_then(|at| rows.key_at(at as u64)) else { return Ok(matched) };
        let key = self.keys.text_of(Side::Left, view, row)?;
        let message = format!("the key ({key}) has no row in the right table; {}", self.remedy);
        Err(Error::Match { operation: self.operation.clone(), message })
    }

    /// Whether left rows are stored by key.
    fn is_stored(&self) -> bool {
        self.keys.side(Side::Left).is_some()
    }

    /// Precomputes the match of each key slot if the right side never changes. A lookup then reads one word per slot
    /// instead of the slot's rows.
    pub(super) fn freeze_matches(&mut self) {
        if self.is_stored() {
            return;
        }
        let pick = |slot| match self.matches {
            Matches::Error | Matches::One if self.right().is_several(slot) => SEVERAL,
            _ => self.pick(slot),
        };
        self.frozen = Some((0..self.right().slots() as u32).map(pick).collect());
    }

    /// Looks up the match of each left row without storing the rows on the left side. Used when the right side never
    /// changes: no later step needs to find these rows.
    pub(super) fn look_up(&self, view: &View, rows: &RowSet) -> Result<Vec<u64>, Error> {
        let (keys, entered) = self.keys.joinable(Side::Left, view, rows)?;
        let mut slots = Vec::new();
        if let Some(frozen) = &self.frozen {
            let mut matched = Vec::with_capacity(entered.len() as usize);
            while matched.len() < entered.len() as usize {
                let (from, len) = (matched.len(), PROBE_BATCH_ROWS.get().min(entered.len() as usize - matched.len()));
                let keys: Vec<Chunk> = keys.iter().map(|cells| cells.slice(from, len)).collect();
                self.keys.slots_of(&keys, &mut slots);
                matched.extend(slots.iter().map(|slot| frozen.get(*slot as usize).copied().unwrap_or(NO_ROW)));
                while let Some(at) = matched[from..].iter().position(|row| *row == SEVERAL) {
                    if self.row_errors.is_none() {
                        return Err(self.second_match(slots[at]));
                    }
                    self.note(slots[at], entered.key_at((from + at) as u64).unwrap_or_default());
                    matched[from + at] = NO_ROW;
                }
            }
            return self.each_has_one(view, rows, spread(rows, &entered, matched.into_iter()));
        }
        self.keys.slots_of(&keys, &mut slots);
        let pick = |slot: &u32| if *slot == NO_SLOT { NO_ROW } else { self.pick(*slot) };
        for slot in slots.iter().filter(|slot| **slot != NO_SLOT) {
            self.meets_one(*slot)?;
        }
        self.each_has_one(view, rows, spread(rows, &entered, slots.iter().map(pick)))
    }

    pub(super) fn meets_one(&self, slot: u32) -> Result<(), Error> {
        if self.refuses_several() && self.right().is_several(slot) {
            return Err(self.second_match(slot));
        }
        Ok(())
    }

    pub(super) fn second_match(&self, slot: u32) -> Error {
        Error::Match { operation: self.operation.clone(), message: self.several(slot) }
    }

    pub(super) fn several(&self, slot: u32) -> String {
        format!("the key ({}) has several rows in {}; {}", self.keys.text(slot), self.called, self.remedy)
    }

    /// Updates the right side and returns the old match of each touched slot, in after-keys.
    pub(super) fn note_right(&mut self, right: &Change) -> Result<Vec<PreviousMatch>, Error> {
        let update = right.update();
        if update.is_empty() {
            return Ok(Vec::new());
        }
        let rekeyed = self.keys.is_rekeyed(Side::Right, right);
        let (gone, moving) = right.departing_rows(rekeyed);
        let leaving = self.keys.find(Side::Right, right.before(), &gone.0)?;
        let moving = self.keys.find(Side::Right, right.before(), &moving.0)?;
        let fresh = if rekeyed { &update.added | &update.modified } else { update.added.clone() };
        let mut noted = Touched::default();
        noted.add(&leaving.slots, self.keys.slots());
        noted.add(&moving.slots, self.keys.slots());
        let was = |slot| {
            let row = self.pick(slot);
            let lost = row != NO_ROW && gone.0.contains(row);
            let now = if row == NO_ROW || lost { NO_ROW } else { update.shifts.forward_key(row) };
            PreviousMatch { slot, row: now, had: row != NO_ROW, passed_over: self.passes_over(slot) }
        };
        let mut old: Vec<PreviousMatch> = noted.take().into_iter().map(was).collect();
        self.keys.leave(Side::Right, &leaving);
        self.keys.shift(Side::Right, moving.slots, &update.shifts);
        // The slots of new right rows are noted before the rows enter, and after removals and shifts: so the old match
        // of a slot that nothing left or shifted is still there, and is already in after-keys.
        let entering = self.keys.insert(Side::Right, right.now(), &fresh)?;
        let known: std::collections::HashSet<u32> = old.iter().map(|was| was.slot).collect();
        let mut slots = entering.slots.clone();
        slots.sort_unstable();
        slots.dedup();
        let was = |slot| {
            let row = self.pick(slot);
            PreviousMatch { slot, row, had: row != NO_ROW, passed_over: self.passes_over(slot) }
        };
        old.extend(slots.into_iter().filter(|slot| !known.contains(slot)).map(was));
        self.keys.enter(Side::Right, &entering);
        self.keys.touch(&old.iter().map(|was| was.slot).collect::<Vec<_>>());
        Ok(old)
    }

    /// Updates the left side for removed, rekeyed and shifted rows. New rows enter when they probe.
    pub(super) fn move_left(&mut self, left: &Change) -> Result<(), Error> {
        if !self.is_stored() {
            return Ok(());
        }
        let (gone, moving) = left.departing_rows(self.keys.is_rekeyed(Side::Left, left));
        let gone = self.keys.find(Side::Left, left.before(), &gone.0)?;
        let moving = self.keys.find(Side::Left, left.before(), &moving.0)?;
        self.keys.leave(Side::Left, &gone);
        self.keys.shift(Side::Left, moving.slots, &left.update().shifts);
        Ok(())
    }

    /// The effect of the right side's change on left rows that were there before the step.
    pub(super) fn judge_right(&self, right: &Change, old: &[PreviousMatch]) -> Result<RightChange, Error> {
        let update = right.update();
        let mut change = RightChange::default();
        let Some(left) = self.keys.side(Side::Left) else { return Ok(change) };
        for PreviousMatch { slot, row, had, passed_over } in old {
            let now = self.pick(*slot);
            if now != *row || (*had && *row == NO_ROW) {
                left.for_each(*slot, |key| change.rematched.push(key));
            } else if now != NO_ROW && update.shifts.back_key(now) != now {
                left.for_each(*slot, |key| change.moved.push(key));
            }
            if !passed_over && self.passes_over(*slot) {
                left.for_each(*slot, |key| self.note(*slot, key));
            }
        }
        let changed: Vec<usize> = (0..self.added.len()).filter(|at| update.columns.contains(self.added[*at])).collect();
        if !changed.is_empty() {
            let (found, matches) = (self.keys.find(Side::Right, right.now(), &update.modified)?, self.right());
            let mut rows = found.rows.iter();
            for batch in found.slots.chunks(BATCH) {
                for slot in batch.iter().filter(|slot| **slot != NO_SLOT) {
                    matches.prefetch(*slot);
                    left.prefetch(*slot);
                }
                for (slot, key) in batch.iter().zip(&mut rows) {
                    if *slot != NO_SLOT && self.pick_of(matches, *slot) == key {
                        left.for_each(*slot, |key| change.modified.push(key));
                    }
                }
            }
            change.columns = changed.into_iter().map(|at| self.left_width + at).collect();
        }
        Ok(change)
    }
}
