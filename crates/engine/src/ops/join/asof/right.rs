//! What a step of the right side means for left rows that were there.

use column::NO_ROW;
use rowset::{Before, RowSet};

use super::rows::{BATCH, touch, touch_places};
use super::{AsofLive, Strategy};
use crate::error::Error;
use crate::ops::join::on::Side;
use crate::ops::join::timeline::{Entry, Place};
use crate::update::ColumnSet;
use crate::view::Change;

/// What the right side's step means for left rows that were there.
#[derive(Default)]
pub(super) struct RightChange {
    /// Left row and its right row now: another one than before.
    pub(super) rematched: Vec<(u64, u64)>,
    /// The same right row at another key.
    pub(super) moved: Vec<(u64, u64)>,
    /// Left rows whose right row has other cells.
    pub(super) modified: Vec<u64>,
    pub(super) columns: ColumnSet,
}

impl RightChange {
    pub(super) fn rematched(&self) -> RowSet {
        RowSet::from_keys(self.rematched.iter().map(|(key, _)| *key).collect())
    }
}

impl AsofLive {
    /// Right rows go, move and come; the left rows between their stamps and the next are matched again.
    pub(super) fn move_right(&mut self, change: &Change) -> Result<RightChange, Error> {
        let update = change.update();
        let mut result = RightChange::default();
        if update.is_empty() {
            return Ok(result);
        }
        let mut read = self.how.by.columns(Side::Right);
        read.push(self.how.right_stamp);
        let restamped = update.columns.contains_any(&read);
        let back = if restamped { update.shifts.back(&update.modified) } else { Before::default() };
        let gone = &update.removed | &back;
        let moving = change.moving(&gone);
        let fresh = if restamped { &update.added | &update.modified } else { update.added.clone() };
        let mut dirty: Vec<(u32, u64, u64)> = Vec::new();
        if !gone.0.is_empty() {
            let rows = self.rows_found(Side::Right, change.before(), &gone.0)?;
            for batch in rows.by_group(self.right.len()).chunks(BATCH) {
                touch(&self.right, batch);
                for &(slot, stamp, key) in batch {
                    self.right[slot as usize].remove(stamp, key);
                    if self.right[slot as usize].is_empty() {
                        self.emptied.push(slot);
                    }
                    dirty.push((slot, stamp, 0));
                }
            }
        }
        if !moving.0.is_empty() {
            let rows = self.rows_found(Side::Right, change.before(), &moving.0)?;
            for slot in rows.groups() {
                self.right[slot as usize].rekey(|key| update.shifts.forward_key(key));
                if let Some(left) = &mut self.left {
                    // A match that is gone is found again below; its key means nothing any more.
                    left[slot as usize].walk(Place::START, |_, key, tag| {
                        if *tag != NO_ROW && !gone.0.contains(*tag) {
                            let now = update.shifts.forward_key(*tag);
                            if now != *tag {
                                *tag = now;
                                result.moved.push((key, now));
                            }
                        } else if *tag != NO_ROW {
                            *tag = LOST;
                        }
                        true
                    });
                }
            }
        }
        if !fresh.is_empty() {
            let rows = self.rows_of(Side::Right, change.now(), &fresh, true)?;
            for batch in rows.by_group(self.right.len()).chunks(BATCH) {
                touch_places(&self.right, batch);
                for &(slot, stamp, key) in batch {
                    self.right[slot as usize].insert(Entry { stamp, key, tag: () });
                    dirty.push((slot, stamp, 0));
                }
            }
        }
        self.match_again(dirty, &gone.0, &fresh, &mut result);
        Ok(result)
    }

    /// Matches the left rows again that a change at these stamps (slot, stamp, 0) can reach.
    fn match_again(
        &mut self,
        mut dirty: Vec<(u32, u64, u64)>,
        gone: &RowSet,
        fresh: &RowSet,
        result: &mut RightChange,
    ) {
        let Some(left) = &mut self.left else { return };
        // Most right rows come at the end of time, where no left row is yet that could match them.
        let backward = self.how.strategy == Strategy::Backward;
        dirty.retain(|(slot, stamp, _)| !left[*slot as usize].ends_before(if backward { *stamp } else { 0 }));
        if !dirty.is_sorted() {
            dirty.sort_unstable();
        }
        dirty.dedup();
        let mut reached: Option<(u32, u64)> = None;
        for batch in dirty.chunks(BATCH) {
            touch(left, batch);
            touch(&self.right, batch);
            for &(slot, stamp, _) in batch {
                let line = &mut left[slot as usize];
                let right = &self.right[slot as usize];
                let (from, to) = self.how.reach(right, stamp);
                // What the last interval covered is matched already.
                let from = match reached {
                    Some((last, end)) if last == slot && end >= from => match end.checked_add(1) {
                        Some(next) => next,
                        None => continue,
                    },
                    _ => from,
                };
                if from > to {
                    continue;
                }
                reached = Some((slot, to));
                let mut hint = Place::UNKNOWN;
                let how = &self.how;
                line.walk(line.lower((from, 0)), |stamp, key, tag| {
                    if stamp > to {
                        return false;
                    }
                    let now = how.find(right, stamp, &mut hint);
                    // A key that was freed and taken again is another row under the same key.
                    let replaced = now == *tag && gone.contains(now) && fresh.contains(now);
                    if now != *tag || replaced {
                        *tag = now;
                        result.rematched.push((key, now));
                    }
                    true
                });
            }
        }
    }

    /// Left rows whose right row has other cells now.
    pub(super) fn modified_right(&mut self, change: &Change, result: &mut RightChange) -> Result<(), Error> {
        let update = change.update();
        let changed: Vec<usize> = (0..self.added.len()).filter(|at| update.columns.contains(self.added[*at])).collect();
        if changed.is_empty() || self.left.is_none() {
            return Ok(());
        }
        let rows = self.rows_found(Side::Right, change.now(), &update.modified)?;
        let how = self.how.clone();
        let right = &self.right;
        let Some(left) = &mut self.left else { return Ok(()) };
        for batch in rows.by_group(right.len()).chunks(BATCH) {
            touch(left, batch);
            for &(slot, stamp, key) in batch {
                let line = &mut left[slot as usize];
                let (from, to) = if how.strategy == Strategy::Backward {
                    (stamp, stamp.saturating_add(how.tolerance.unwrap_or(u64::MAX)))
                } else {
                    how.reach(&right[slot as usize], stamp)
                };
                line.walk(line.lower((from, 0)), |at, row, tag| {
                    if *tag == key {
                        result.modified.push(row);
                    }
                    at <= to && (*tag == key || !how.runs_end(at, stamp))
                });
            }
        }
        result.columns = changed.into_iter().map(|at| self.left_width + at).collect();
        Ok(())
    }
}

/// A match that left in this step: no row has this key.
const LOST: u64 = u64::MAX - 1;
