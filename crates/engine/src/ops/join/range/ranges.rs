//! Where left rows look: their ranges, the right rows in one, and the ranges that a change of right rows concerns.
//!
//!   range 20..40        right  10 20 30 50        rows 20 30, and with an end that reaches 50
//!         25..40               10 20 30 50        rows 30, and with ends that reach 20 and 50
//!
//! An end that reaches takes the nearest row beyond it, where none stands exactly there: before a range the last of equal
//! stamps, behind it the first.

use std::ops::Range;

use crate::error::Error;
use crate::keys::intervals::{Interval, Intervals};
use crate::keys::timeline::{Entry, Timeline, Timelines};
use crate::plan::spec::Bound;
use column::keys::NO_SLOT;

/// An end of a range as its cell says it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::ops::join) enum Extent {
    /// No bound.
    Endless,
    /// At this stamp.
    At(u64),
    /// NaN: no range ends there.
    Impossible,
}

/// Where a left row looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::ops::join) enum Place {
    /// No range: an inverted one, or one of NaN. There is nothing to aggregate.
    Nowhere,
    /// A range without rows, or of no group.
    Empty,
    /// The stamps from one to another, both included, of a group.
    Range { slot: u32, from: u64, to: u64 },
}

/// The place of a list in the state of aggregates that is of no row: the list of what looks nowhere, or at no group.
pub(in crate::ops::join) const NO_ROWS: u32 = 0;

/// The place of the list of a node.
pub(in crate::ops::join) fn list_of(node: u32) -> u32 {
    node + 1
}

impl Place {
    /// Group and range of the row of this key, if it has one.
    pub(in crate::ops::join) fn of_row(self, key: u64) -> Option<(u32, Interval)> {
        match self {
            Place::Range { slot, from, to } => Some((slot, Interval { from, to, key })),
            Place::Nowhere | Place::Empty => None,
        }
    }

    /// The range between two ends of a group, which may be unknown.
    pub(in crate::ops::join) fn new(
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
pub(in crate::ops::join) struct Ends {
    pub(in crate::ops::join) before: bool,
    pub(in crate::ops::join) after: bool,
}

/// Places in the order of (stamp, row), from one to before another.
pub(in crate::ops::join) type Places = ((u64, u64), (u64, u64));

impl Ends {
    /// Whether a row outside a range may be in it.
    pub(in crate::ops::join) fn reach(self) -> bool {
        self.before || self.after
    }

    /// The places of the rows in a range.
    pub(in crate::ops::join) fn places(self, line: &Timeline<()>, (from, to): (u64, u64)) -> Places {
        let (mut start, mut end) = ((from, 0), (to, u64::MAX));
        if self.before {
            let first = line.lower(start);
            if line.get(first).is_none_or(|entry| entry.stamp != from)
                && let Some(entry) = line.before(first)
            {
                start = (entry.stamp, entry.key);
            }
        }
        if self.after {
            let behind = line.lower(end);
            if line.before(behind).is_none_or(|entry| entry.stamp != to)
                && let Some(entry) = line.get(behind)
            {
                end = (entry.stamp, entry.key + 1);
            }
        }
        (start, end)
    }

    /// Lists the rows of a range in the order of (stamp, row).
    pub(in crate::ops::join) fn rows(
        self,
        line: &Timeline<()>,
        range: (u64, u64),
        rows: &mut Vec<u64>,
    ) -> Result<(), Error> {
        let (start, end) = self.places(line, range);
        for (stamp, key, ()) in line.from(line.lower(start)) {
            if (stamp, key) >= end {
                break;
            }
            room_for_one(rows)?;
            rows.push(key);
        }
        Ok(())
    }

    /// Lists the first row of a range, and the last if it is another.
    pub(in crate::ops::join) fn ends(self, line: &Timeline<()>, range: (u64, u64), rows: &mut Vec<u64>) {
        let (start, end) = self.places(line, range);
        let first = line.get(line.lower(start)).filter(|first| (first.stamp, first.key) < end);
        let Some(first) = first else { return };
        rows.push(first.key);
        rows.extend(line.before(line.lower(end)).filter(|last| last != &first).map(|last| last.key));
    }
}

/// Asks for the memory of a list that is full and about to grow.
pub(in crate::ops::join) fn room_for_one<T>(rows: &Vec<T>) -> Result<(), Error> {
    match rows.len() < rows.capacity() {
        true => Ok(()),
        false => Ok(limits::ask_rows(rows.len() as u64 * 2, size_of::<T>() as u64)?),
    }
}

/// The ranges of left rows by group.
pub(in crate::ops::join) struct LeftRanges {
    ranges: Intervals,
    /// The last stamps of ranges and their nodes, if ends reach beyond them.
    lasts: Option<Timelines<u32>>,
    ends: Ends,
}

impl LeftRanges {
    pub(in crate::ops::join) fn new(ends: Ends) -> LeftRanges {
        LeftRanges { ranges: Intervals::default(), lasts: ends.after.then(Timelines::default), ends }
    }

    /// Grows to at least this many slots.
    pub(in crate::ops::join) fn grow(&mut self, slots: usize) {
        self.ranges.grow(slots);
        self.lasts.iter_mut().for_each(|lasts| lasts.grow(slots));
    }

    /// Whether no row of a group has a range.
    pub(in crate::ops::join) fn is_empty(&self, slot: u32) -> bool {
        self.ranges.is_empty(slot)
    }

    /// A bound of the nodes in use.
    pub(in crate::ops::join) fn nodes(&self) -> usize {
        self.ranges.nodes()
    }

    /// The range of a node.
    pub(in crate::ops::join) fn get(&self, node: u32) -> Interval {
        self.ranges.get(node)
    }

    /// The first ranges of groups, in the order of group, first stamp and row. The nodes are numbered in that order.
    pub(in crate::ops::join) fn fill(&mut self, rows: &[(u32, Interval)]) {
        for group in rows.chunk_by(|one, other| one.0 == other.0) {
            self.ranges.fill(group[0].0, group.iter().map(|(_, range)| *range));
        }
        if let Some(lasts) = &mut self.lasts {
            for (node, (slot, range)) in (0u32..).zip(rows) {
                lasts[*slot].insert(Entry { stamp: range.to, key: range.key, tag: node });
            }
        }
    }

    /// Adds the range of a row. Returns its node.
    pub(in crate::ops::join) fn insert(&mut self, slot: u32, range: Interval) -> u32 {
        let node = self.ranges.insert(slot, range);
        if let Some(lasts) = &mut self.lasts {
            lasts[slot].insert(Entry { stamp: range.to, key: range.key, tag: node });
        }
        node
    }

    /// Removes the range of a row. Returns the node that it had.
    pub(in crate::ops::join) fn remove(&mut self, slot: u32, range: Interval) -> Option<u32> {
        if let Some(lasts) = &mut self.lasts {
            lasts[slot].remove(range.to, range.key);
        }
        self.ranges.remove(slot, range.from, range.key)
    }

    /// Rows take other row keys, in the same order.
    pub(in crate::ops::join) fn rekey(&mut self, rows: &[(u32, Interval)], new: impl Fn(u64) -> u64) {
        let nodes: Vec<Option<u32>> =
            rows.iter().map(|(slot, range)| self.ranges.find(*slot, range.from, range.key)).collect();
        for (node, (_, range)) in nodes.iter().zip(rows) {
            node.iter().for_each(|node| self.ranges.rekey(*node, new(range.key)));
        }
        if let Some(lasts) = &mut self.lasts {
            for (slot, range) in rows {
                lasts[*slot].remove(range.to, range.key);
            }
            for (node, (slot, range)) in nodes.iter().zip(rows) {
                let entry = |node: &u32| Entry { stamp: range.to, key: new(range.key), tag: *node };
                node.iter().for_each(|node| lasts[*slot].insert(entry(node)));
            }
        }
    }

    /// Calls `each` with the nodes of a group that hold some of these stamps, which ascend, and which of them.
    pub(in crate::ops::join) fn holding(&self, slot: u32, stamps: &[u64], mut each: impl FnMut(u32, Range<usize>)) {
        self.ranges.holding(slot, stamps, &mut each);
    }

    /// The nodes of a group that may reach for a row beyond them, where rows came to these stamps, left them or changed. Given
    /// the right rows of the group as they are now.
    pub(in crate::ops::join) fn reaching(&self, slot: u32, right: &Timeline<()>, stamps: &[u64], found: &mut Vec<u32>) {
        if self.ends.before {
            self.reached_from_before(slot, right, stamps, found);
        }
        if let Some(lasts) = &self.lasts {
            reached_from_behind(&lasts[slot], right, stamps, found);
        }
    }

    /// Ranges that begin behind one of these stamps, and no later than the next row: their nearest row before may be another.
    fn reached_from_before(&self, slot: u32, right: &Timeline<()>, stamps: &[u64], found: &mut Vec<u32>) {
        let mut looked = 0;
        for stamp in stamps {
            let Some(behind) = stamp.checked_add(1) else { continue };
            let next = right.get(right.lower((behind, 0))).map_or(u64::MAX, |entry| entry.stamp);
            let first = behind.max(looked);
            if first <= next {
                self.ranges.beginning(slot, first, next, &mut |node| found.push(node));
                let Some(beyond) = next.checked_add(1) else { break };
                looked = beyond;
            }
        }
    }
}

/// Ranges that end before one of these stamps, and no earlier than the row before it: their nearest row behind may be another.
fn reached_from_behind(lasts: &Timeline<u32>, right: &Timeline<()>, stamps: &[u64], found: &mut Vec<u32>) {
    let mut looked = 0;
    for stamp in stamps {
        let first = right.before(right.lower((*stamp, 0))).map_or(0, |entry| entry.stamp).max(looked);
        let ended = lasts.from(lasts.lower((first, 0))).take_while(|(last, ..)| last < stamp);
        found.extend(ended.map(|(.., node)| node));
        looked = *stamp;
    }
}
