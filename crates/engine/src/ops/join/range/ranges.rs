//! Where left rows look: their ranges, the right rows in one, and the ranges that a change of right rows concerns.
//!
//!   range 20..40        right  10 20 30 50        rows 20 30, and with an end that reaches 50
//!         25..40               10 20 30 50        rows 30, and with ends that reach 20 and 50
//!
//! An end that reaches takes the nearest row beyond it, where none stands exactly there: before a range the last of equal
//! stamps, behind it the first.

use crate::error::Error;
use crate::keys::intervals::{Interval, Intervals};
use crate::keys::timeline::{Entry, Timeline, Timelines};
use crate::plan::spec::Bound;
use column::keys::NO_SLOT;

/// An end of a range as its cell says it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Extent {
    /// No bound.
    Endless,
    /// At this stamp.
    At(u64),
    /// NaN: no range ends there.
    Impossible,
}

/// Where a left row looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Place {
    /// No range: an inverted one, or one of NaN. There is nothing to aggregate.
    Nowhere,
    /// A range without rows, or of no group.
    Empty,
    /// The stamps from one to another, both included, of a group.
    Range { slot: u32, from: u64, to: u64 },
}

impl Place {
    /// The range between two ends of a group, which may be unknown.
    pub(super) fn new(
        slot: u32,
        (from, opens): (Extent, Option<(usize, Bound)>),
        (to, closes): (Extent, Option<(usize, Bound)>),
    ) -> Place {
        let is_open = |end: Option<(usize, Bound)>| end.is_some_and(|(_, bound)| bound == Bound::Open);
        match (from, to) {
            (Extent::Impossible, _) | (_, Extent::Impossible) => return Place::Nowhere,
            (Extent::At(from), Extent::At(to)) if from > to => return Place::Nowhere,
            _ => {}
        }
        let from = match from {
            Extent::At(stamp) => stamp.checked_add(u64::from(is_open(opens))),
            _ => Some(0),
        };
        let to = match to {
            Extent::At(stamp) => stamp.checked_sub(u64::from(is_open(closes))),
            _ => Some(u64::MAX),
        };
        match (from, to) {
            (Some(from), Some(to)) if from <= to && slot != NO_SLOT => Place::Range { slot, from, to },
            _ => Place::Empty,
        }
    }
}

/// Which ends of ranges reach for the nearest row beyond.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    pub(super) before: bool,
    pub(super) after: bool,
}

impl Ends {
    /// Lists the rows of a range in the order of (stamp, row).
    pub(super) fn rows(self, line: &Timeline<()>, (from, to): (u64, u64), rows: &mut Vec<u64>) -> Result<(), Error> {
        let start = line.lower((from, 0));
        if self.before
            && line.get(start).is_none_or(|entry| entry.stamp != from)
            && let Some(entry) = line.before(start)
        {
            rows.push(entry.key);
        }
        let mut last = None;
        for (stamp, key, ()) in line.from(start) {
            if stamp > to {
                if self.after && last != Some(to) {
                    rows.push(key);
                }
                break;
            }
            if rows.len() == rows.capacity() {
                limits::ask_rows(rows.len() as u64 * 2, size_of::<u64>() as u64)?;
            }
            last = Some(stamp);
            rows.push(key);
        }
        Ok(())
    }
}

/// The ranges of left rows by group.
pub(super) struct LeftRanges {
    ranges: Intervals,
    /// The last stamps of ranges, if ends reach beyond them.
    lasts: Option<Timelines<()>>,
    ends: Ends,
}

impl LeftRanges {
    pub(super) fn new(ends: Ends) -> LeftRanges {
        LeftRanges { ranges: Intervals::default(), lasts: ends.after.then(Timelines::default), ends }
    }

    /// Grows to at least this many slots.
    pub(super) fn grow(&mut self, slots: usize) {
        self.ranges.grow(slots);
        self.lasts.iter_mut().for_each(|lasts| lasts.grow(slots));
    }

    /// Whether no row of a group has a range.
    pub(super) fn is_empty(&self, slot: u32) -> bool {
        self.ranges.is_empty(slot)
    }

    /// Adds rows.
    pub(super) fn insert(&mut self, rows: impl Iterator<Item = (u64, Place)>) {
        for (key, place) in rows {
            let Place::Range { slot, from, to } = place else { continue };
            self.ranges.insert(slot, Interval { from, to, key });
            if let Some(lasts) = &mut self.lasts {
                lasts[slot].insert(Entry { stamp: to, key, tag: () });
            }
        }
    }

    /// Removes rows.
    pub(super) fn remove(&mut self, rows: impl Iterator<Item = (u64, Place)>) {
        for (key, place) in rows {
            let Place::Range { slot, from, to } = place else { continue };
            self.ranges.remove(slot, from, key);
            if let Some(lasts) = &mut self.lasts {
                lasts[slot].remove(to, key);
            }
        }
    }

    /// The rows whose aggregates a change at these stamps of groups may reach, given the right rows as they are now.
    pub(super) fn concerned(&self, right: &Timelines<()>, mut touched: Vec<(u32, u64)>) -> Vec<u64> {
        touched.sort_unstable();
        touched.dedup();
        let mut found = Vec::new();
        for group in touched.chunk_by(|one, other| one.0 == other.0) {
            let slot = group[0].0;
            if self.ranges.is_empty(slot) {
                continue;
            }
            let stamps: Vec<u64> = group.iter().map(|(_, stamp)| *stamp).collect();
            self.ranges.holding(slot, &stamps, &mut |key| found.push(key));
            if self.ends.before {
                self.reached_from_before(slot, &right[slot], &stamps, &mut found);
            }
            if let Some(lasts) = &self.lasts {
                reached_from_behind(&lasts[slot], &right[slot], &stamps, &mut found);
            }
        }
        found
    }

    /// Ranges that begin behind one of these stamps, and no later than the next row: their nearest row before may be another.
    fn reached_from_before(&self, slot: u32, right: &Timeline<()>, stamps: &[u64], found: &mut Vec<u64>) {
        let mut looked = 0;
        for stamp in stamps {
            let Some(behind) = stamp.checked_add(1) else { continue };
            let next = right.get(right.lower((behind, 0))).map_or(u64::MAX, |entry| entry.stamp);
            let first = behind.max(looked);
            if first <= next {
                self.ranges.beginning(slot, first, next, &mut |key| found.push(key));
                let Some(beyond) = next.checked_add(1) else { break };
                looked = beyond;
            }
        }
    }
}

/// Ranges that end before one of these stamps, and no earlier than the row before it: their nearest row behind may be another.
fn reached_from_behind(lasts: &Timeline<()>, right: &Timeline<()>, stamps: &[u64], found: &mut Vec<u64>) {
    let mut looked = 0;
    for stamp in stamps {
        let first = right.before(right.lower((*stamp, 0))).map_or(0, |entry| entry.stamp).max(looked);
        let ended = lasts.from(lasts.lower((first, 0))).take_while(|(last, ..)| last < stamp);
        found.extend(ended.map(|(_, key, ())| key));
        looked = *stamp;
    }
}
