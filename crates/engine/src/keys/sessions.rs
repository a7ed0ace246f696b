//! Sessions: rows of a group in order of time, parted where two neighbours lie further apart than a gap.
//!
//!   gap 5    1  4  9    20 21        sessions 0 0 0    1 1
//!   + 14     1  4  9 14 20 21        14 joins session 0; 20 is further away
//!   + 16     1  4  9 14 16 20 21     both are one: the rows of the smaller session change theirs
//!   - 9      1  4    14 16 20 21     two again: the smaller part has a new one
//!
//! Cost: a search for each row that comes or goes, and the rows of the smaller part where sessions merge or split.

use std::collections::HashMap;
use std::ops::Range;

use rowset::Shifts;

use super::group_order::GroupOrder;
use super::timeline::{Entry, Place, Timelines};

/// The number of a session. None comes twice.
pub(crate) type Session = u64;

/// The sessions of every group (a slot).
pub(crate) struct Sessions {
    gap: u64,
    lines: Timelines<Session>,
    sizes: HashMap<Session, u64, foldhash::fast::RandomState>,
    next: Session,
}

impl Sessions {
    /// No session yet; neighbours further apart than `gap` are of different ones.
    pub(crate) fn new(gap: u64) -> Sessions {
        Sessions { gap, lines: Timelines::default(), sizes: HashMap::default(), next: 0 }
    }

    /// Grows to at least this many slots.
    pub(crate) fn grow(&mut self, slots: usize) {
        self.lines.grow(slots);
    }

    /// How many sessions there are.
    pub(crate) fn len(&self) -> usize {
        self.sizes.len()
    }

    /// Whether a group has no row.
    pub(crate) fn is_empty(&self, slot: u32) -> bool {
        self.lines[slot].is_empty()
    }

    /// Shifts the row keys of these slots, each listed once.
    pub(crate) fn shift(&mut self, slots: &[u32], shifts: &Shifts) {
        self.lines.shift(slots, shifts);
    }

    fn fresh(&mut self) -> Session {
        self.next += 1;
        self.next - 1
    }

    /// Adds a row. `told` hears of the session of each row that has another now, and of this one's.
    pub(crate) fn insert(&mut self, slot: u32, stamp: u64, key: u64, mut told: impl FnMut(u64, Session)) {
        let line = &self.lines[slot];
        let place = line.lower((stamp, key));
        let near = |entry: &Entry<Session>| entry.stamp.abs_diff(stamp) <= self.gap;
        let before = line.before(place).filter(near).map(|entry| entry.tag);
        let after = line.get(place).filter(near).map(|entry| entry.tag);
        let session = match (before, after) {
            (Some(before), Some(after)) if before != after => self.merge(slot, place, before, after, &mut told),
            (Some(one), _) | (_, Some(one)) => one,
            (None, None) => self.fresh(),
        };
        self.lines[slot].insert(Entry { stamp, key, tag: session });
        *self.sizes.entry(session).or_default() += 1;
        told(key, session);
    }

    /// Removes a row. `told` hears of the session of each other row that has another now.
    pub(crate) fn remove(&mut self, slot: u32, stamp: u64, key: u64, told: impl FnMut(u64, Session)) {
        let Some(gone) = self.lines[slot].remove(stamp, key) else { return };
        if let Some(size) = self.sizes.get_mut(&gone.tag) {
            *size -= 1;
            if *size == 0 {
                self.sizes.remove(&gone.tag);
            }
        }
        let line = &self.lines[slot];
        let place = line.lower((stamp, key));
        if let (Some(before), Some(after)) = (line.before(place), line.get(place))
            && before.tag == after.tag
            && after.stamp - before.stamp > self.gap
        {
            self.split(slot, place, before.tag, told);
        }
    }

    /// Makes one of two neighbouring sessions, of which the second begins at a place.
    fn merge(
        &mut self,
        slot: u32,
        place: Place,
        before: Session,
        after: Session,
        told: &mut impl FnMut(u64, Session),
    ) -> Session {
        let [first, second] = [before, after].map(|session| self.sizes.get(&session).copied().unwrap_or_default());
        let (kept, from, moved) = if first < second {
            (after, self.lines.moved(slot, place, -(first as i64)), first)
        } else {
            (before, place, second)
        };
        self.sizes.remove(if first < second { &before } else { &after });
        self.sizes.insert(kept, first + second);
        self.rename(slot, from, moved, kept, told);
        kept
    }

    /// Makes two of a session at a place.
    fn split(&mut self, slot: u32, place: Place, session: Session, mut told: impl FnMut(u64, Session)) {
        let Range { start, end } = self.smaller_part(slot, place, session);
        let fresh = self.fresh();
        let moved = self.rename_until(slot, start, end, fresh, &mut told);
        let size = self.sizes.entry(session).or_default();
        *size -= moved;
        self.sizes.insert(fresh, moved);
    }

    /// Of the two parts of a session the one that is told first to be at its end, by steps in both directions.
    fn smaller_part(&self, slot: u32, place: Place, session: Session) -> Range<Place> {
        let is_in = |at: Place| self.lines[slot].get(at).is_some_and(|entry| entry.tag == session);
        let (mut low, mut high) = (place, place);
        loop {
            let lower = self.lines.moved(slot, low, -1);
            if lower == low || !is_in(lower) {
                return low..place;
            }
            low = lower;
            if !is_in(high) {
                return place..high;
            }
            high = self.lines.moved(slot, high, 1);
        }
    }

    /// Gives so many rows from a place on another session.
    fn rename(&mut self, slot: u32, from: Place, rows: u64, to: Session, told: &mut impl FnMut(u64, Session)) {
        let mut left = rows;
        self.lines[slot].walk(from, |_, key, session| {
            if left == 0 {
                return false;
            }
            left -= 1;
            *session = to;
            told(key, to);
            left > 0
        });
    }

    /// Gives the rows between two places another session, and says how many they are.
    fn rename_until(
        &mut self,
        slot: u32,
        from: Place,
        to: Place,
        session: Session,
        told: &mut impl FnMut(u64, Session),
    ) -> u64 {
        let mut rows = 0;
        let mut at = from;
        while at < to {
            rows += 1;
            at = self.lines.moved(slot, at, 1);
        }
        self.rename(slot, from, rows, session, told);
        rows
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::testing::explore;

    /// The rows of each session, by a walk over all rows.
    fn wanted(rows: &BTreeMap<(u64, u64), ()>, gap: u64) -> Vec<Vec<u64>> {
        let mut found: Vec<Vec<u64>> = Vec::new();
        let mut last = None;
        for (stamp, key) in rows.keys() {
            match last {
                Some(last) if stamp - last <= gap => found.last_mut().expect("there is one").push(*key),
                _ => found.push(vec![*key]),
            }
            last = Some(*stamp);
        }
        found.iter_mut().for_each(|keys| keys.sort_unstable());
        found.sort();
        found
    }

    #[test]
    fn sessions_merge_and_split_as_rows_come_and_go() {
        explore(400, |tape| {
            let gap = tape.below(4);
            let mut sessions = Sessions::new(gap);
            sessions.grow(1);
            let (mut rows, mut of) = (BTreeMap::new(), BTreeMap::new());
            for key in 0..60 {
                if tape.chance(90) && !rows.is_empty() {
                    let at = tape.below(rows.len() as u64) as usize;
                    let (stamp, key) = *rows.keys().nth(at).expect("there are so many");
                    rows.remove(&(stamp, key));
                    of.remove(&key);
                    sessions.remove(0, stamp, key, |key, session| {
                        of.insert(key, session);
                    });
                } else {
                    let stamp = tape.below(60);
                    rows.insert((stamp, key), ());
                    sessions.insert(0, stamp, key, |key, session| {
                        of.insert(key, session);
                    });
                }
                let mut found: BTreeMap<Session, Vec<u64>> = BTreeMap::new();
                of.iter().for_each(|(key, session)| found.entry(*session).or_default().push(*key));
                let mut found: Vec<Vec<u64>> = found.into_values().collect();
                found.sort();
                if found != wanted(&rows, gap) || found.len() != sessions.len() {
                    return Err(format!("{found:?} of {rows:?}, gap {gap}"));
                }
            }
            Ok(())
        });
    }

    /// The greater part keeps its session, whichever side it lies on.
    #[test]
    fn the_smaller_part_changes() {
        let mut sessions = Sessions::new(1);
        sessions.grow(1);
        for at in (0..1_000).filter(|at| *at != 10 && *at != 990) {
            sessions.insert(0, at, at, |_, _| {});
        }
        let mut told = 0;
        sessions.insert(0, 10, 10, |_, _| told += 1);
        sessions.insert(0, 990, 990, |_, _| told += 1);
        assert_eq!((told, sessions.len()), (10 + 1 + 9 + 1, 1));
        told = 0;
        sessions.remove(0, 5, 5, |_, _| told += 1);
        sessions.remove(0, 997, 997, |_, _| told += 1);
        assert_eq!((told, sessions.len()), (5 + 2, 3));
    }
}
