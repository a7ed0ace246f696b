//! Effects of a change of the right side on left rows that were there before the step.

use column::NO_ROW;
use rowset::RowSet;
use simd::prefetch;

use super::rows::AHEAD;
use super::{AsofLive, Strategy};
use crate::error::Error;
use crate::keys::timeline::{Entry, Place};
use crate::ops::join::on::Side;
use crate::sizes::{ASOF_BATCH, TOGETHER_ROWS};
use crate::table::change::Change;
use crate::table::update::ColumnSet;
use crate::table::view::View;

/// What the right side's step means for left rows that were there.
#[derive(Default)]
pub(super) struct RightChange {
    /// Left row and its right row now: another one than before.
    pub(super) rematched: Vec<(u64, u64)>,
    /// Left row and the new key of its right row, for matches whose right row only moved.
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
        let (gone, moving) = change.departing_rows(restamped);
        let fresh = if restamped { &update.added | &update.modified } else { update.added.clone() };
        let mut dirty: Vec<(u32, u64, u64)> = Vec::new();
        if !gone.0.is_empty() {
            let rows = self.rows_leaving(Side::Right, change.before(), &gone.0)?;
            for batch in rows.by_group(self.right.slots()).chunks(ASOF_BATCH.get()) {
                self.right.prefetch_searches(batch);
                for &(slot, stamp, key) in batch {
                    self.right[slot].remove(stamp, key);
                    dirty.push((slot, stamp, 0));
                }
            }
        }
        if !moving.0.is_empty() {
            let rows = self.rows_found(Side::Right, change.before(), &moving.0)?;
            let groups = rows.groups();
            self.right.shift(&groups, &update.shifts);
            for slot in groups {
                if let Some(left) = &mut self.left {
                    // A match that is gone is found again below; its key means nothing any more.
                    left[slot].walk(Place::START, |_, key, tag| {
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
            let rows = self.rows_entered(Side::Right, change.now(), &fresh)?;
            for batch in rows.by_group(self.right.slots()).chunks(ASOF_BATCH.get()) {
                self.right.prefetch_inserts(batch);
                for &(slot, stamp, key) in batch {
                    self.right[slot].insert(Entry { stamp, key, tag: () });
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
        dirty.retain(|(slot, stamp, _)| !left[*slot].ends_before(if backward { *stamp } else { 0 }));
        if !dirty.is_sorted() {
            dirty.sort_unstable();
        }
        dirty.dedup();
        let mut reached: Option<(u32, u64)> = None;
        for batch in dirty.chunks(ASOF_BATCH.get()) {
            left.prefetch_searches(batch);
            self.right.prefetch_searches(batch);
            for &(slot, stamp, _) in batch {
                let line = &mut left[slot];
                let right = &self.right[slot];
                let (from, to) = self.how.concerned(right, stamp);
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
        // The searches only read: each thread takes a part of the rows.
        let rows = &update.modified;
        let worth_it = rows.len() >= TOGETHER_ROWS.rows();
        let threads = if worth_it { crate::threads::parallel::threads() as u64 } else { 1 };
        let parts = crate::threads::parallel::parts(rows, rows.len().div_ceil(threads).max(1));
        let matched =
            crate::threads::parallel::try_map(worth_it, &parts, |_, rows| self.matched_by(change.now(), rows))?;
        result.modified = matched.concat();
        result.columns = changed.into_iter().map(|at| self.left_width + at).collect();
        Ok(())
    }

    /// The left rows whose match is one of these right rows.
    fn matched_by(&self, now: &View, rows: &RowSet) -> Result<Vec<u64>, Error> {
        let rows = self.rows_found(Side::Right, now, rows)?;
        let (how, right) = (&self.how, &self.right);
        let Some(left) = &self.left else { return Ok(Vec::new()) };
        let rows = rows.by_group(right.slots());
        let mut places = Vec::with_capacity(rows.len());
        for (at, &(slot, stamp, _)) in rows.iter().enumerate() {
            // The groups to come are asked for once each: first the line, then what it refers to.
            let next = |at: usize| rows.get(at).map(|row| row.0).filter(|slot| *slot != rows[at - 1].0);
            if let Some(slot) = next(at + 3 * AHEAD) {
                prefetch(&left[slot]);
            }
            if let Some(slot) = next(at + 2 * AHEAD) {
                left[slot].prefetch_chunks();
            }
            if let Some((slot, stamp, _)) = rows.get(at + AHEAD) {
                left[*slot].prefetch_stamps(*stamp);
            }
            let (from, to) = if how.strategy == Strategy::Backward {
                (stamp, how.reach.around(stamp).1)
            } else {
                how.concerned(&right[slot], stamp)
            };
            places.push((left[slot].lower((from, 0)), to));
        }
        let mut matched = Vec::with_capacity(rows.len());
        for (at, (&(slot, stamp, key), &(place, to))) in rows.iter().zip(&places).enumerate() {
            if let Some(((slot, ..), (place, _))) = rows.get(at + AHEAD).zip(places.get(at + AHEAD)) {
                left[*slot].prefetch_at(*place);
            }
            for (at, row, tag) in left[slot].from(place) {
                if tag == key {
                    matched.push(row);
                }
                if at > to || (tag != key && how.runs_end(at, stamp)) {
                    break;
                }
            }
        }
        Ok(matched)
    }
}

/// A match that left in this step: no row has this key.
const LOST: u64 = u64::MAX - 1;
