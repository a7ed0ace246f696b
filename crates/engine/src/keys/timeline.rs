//! Rows of each group in order of (stamp, row key): what an as-of join searches.
//!
//! For each group a list of small chunks, and beside it a list of the stamp where each ends: appending is O(1), an
//! insert or removal moves at most a chunk. In a chunk the stamps lie by themselves, and a search
//! guesses where its stamp should be between the ends: mostly one cache line tells. Shifts rewrite
//! keys in place: they never change the order.

use std::ops::{Index, IndexMut};

use rowset::Shifts;
use simd::{prefetch, prefetch_slice};

use crate::keys::group_order::GroupOrder;
use crate::keys::search::{interpolate, lower_bound};
use crate::sizes::TIMELINE_CHUNK;

/// How far from its guess a search mostly ends: a cache line of stamps.
const STRAY: usize = 8;

/// One row: its stamp as an ordered number, its key, and what the join keeps with it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Entry<T> {
    pub(crate) stamp: u64,
    pub(crate) key: u64,
    pub(crate) tag: T,
}

impl<T> Entry<T> {
    fn at(&self) -> (u64, u64) {
        (self.stamp, self.key)
    }
}

/// The place of an entry; places are ordered, and valid until the next change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    chunk: usize,
    at: usize,
}

impl Place {
    /// Where the first entry is.
    pub(crate) const START: Place = Place { chunk: 0, at: 0 };
    /// No place: a hint that says nothing.
    pub(crate) const UNKNOWN: Place = Place { chunk: usize::MAX, at: 0 };
}

/// The rows of every group (a slot).
pub(crate) struct Timelines<T> {
    lines: Vec<Timeline<T>>,
}

impl<T> Default for Timelines<T> {
    fn default() -> Timelines<T> {
        Timelines { lines: Vec::new() }
    }
}

impl<T> Timelines<T> {
    /// Grows to at least this many slots.
    pub(crate) fn grow(&mut self, slots: usize) {
        if slots > self.lines.len() {
            self.lines.resize_with(slots, Timeline::default);
        }
    }

    /// How many slots there are.
    pub(crate) fn slots(&self) -> usize {
        self.lines.len()
    }
}

impl<T: Copy> Timelines<T> {
    /// Prefetches what searches for a batch of (slot, stamp, …) will read, so that their cache misses overlap.
    #[inline]
    pub(crate) fn prefetch_searches(&self, batch: &[(u32, u64, u64)]) {
        batch.iter().for_each(|(slot, stamp, _)| self[*slot].prefetch_search(*stamp));
    }

    /// Prefetches where a batch of (slot, stamp, …) will be inserted, so that the cache misses overlap.
    #[inline]
    pub(crate) fn prefetch_inserts(&self, batch: &[(u32, u64, u64)]) {
        batch.iter().for_each(|(slot, stamp, _)| self[*slot].prefetch_insert(*stamp));
    }

    /// Shifts the rows of these slots, each listed once.
    pub(crate) fn shift(&mut self, slots: &[u32], shifts: &Shifts) {
        slots.iter().for_each(|slot| self[*slot].rekey(|key| shifts.forward_key(key)));
    }
}

impl<T> Index<u32> for Timelines<T> {
    type Output = Timeline<T>;

    #[inline]
    fn index(&self, slot: u32) -> &Timeline<T> {
        &self.lines[slot as usize]
    }
}

impl<T> IndexMut<u32> for Timelines<T> {
    #[inline]
    fn index_mut(&mut self, slot: u32) -> &mut Timeline<T> {
        &mut self.lines[slot as usize]
    }
}

/// Order by stamp, rows of equal stamps in row order.
impl<T: Copy> GroupOrder for Timelines<T> {
    type Key = (u64, u64);
    type Place = Place;

    fn start(&self, _: u32) -> Place {
        Place::START
    }

    fn end(&self, slot: u32) -> Place {
        Place { chunk: self[slot].chunks.len(), at: 0 }
    }

    fn lower(&self, slot: u32, at: (u64, u64)) -> Place {
        self[slot].lower(at)
    }

    fn get(&self, slot: u32, place: Place) -> Option<(u64, u64)> {
        self[slot].get(place).map(|entry| entry.at())
    }

    fn moved(&self, slot: u32, place: Place, by: i64) -> Place {
        self[slot].moved(place, by)
    }
}

/// Rows of one group in order of (stamp, key).
pub(crate) struct Timeline<T> {
    chunks: Vec<Chunk<T>>,
    /// The stamp of the last entry of each chunk.
    ends: Vec<u64>,
}

impl<T> Timeline<T> {
    /// A bound of its rows, and not far above them.
    pub(crate) fn at_most(&self) -> usize {
        self.chunks.len() * TIMELINE_CHUNK.get()
    }

    /// Whether it has no row.
    pub(crate) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }
}

/// Never empty.
struct Chunk<T> {
    stamps: Vec<u64>,
    rows: Vec<(u64, T)>,
}

impl<T: Copy> Chunk<T> {
    /// A chunk with room for `capacity` entries, and one in it.
    fn of(entry: Entry<T>, capacity: usize) -> Chunk<T> {
        let mut chunk = Chunk { stamps: Vec::with_capacity(capacity), rows: Vec::with_capacity(capacity) };
        chunk.stamps.push(entry.stamp);
        chunk.rows.push((entry.key, entry.tag));
        chunk
    }

    fn get(&self, at: usize) -> Option<Entry<T>> {
        let (stamp, (key, tag)) = (*self.stamps.get(at)?, *self.rows.get(at)?);
        Some(Entry { stamp, key, tag })
    }

    fn insert(&mut self, at: usize, entry: Entry<T>) {
        self.stamps.insert(at, entry.stamp);
        self.rows.insert(at, (entry.key, entry.tag));
    }

    fn split_off(&mut self, at: usize) -> Chunk<T> {
        Chunk { stamps: self.stamps.split_off(at), rows: self.rows.split_off(at) }
    }

    /// Prefetches the stamps about a place.
    #[inline]
    fn prefetch_stamps(&self, at: usize) {
        prefetch_slice(&self.stamps[at.saturating_sub(STRAY)..(at + STRAY + 1).min(self.stamps.len())]);
    }

    /// The first entry at or after (stamp, key), of a chunk whose stamps lie in `from ..= to`.
    fn lower(&self, from: u64, to: u64, (stamp, key): (u64, u64)) -> usize {
        let mut at = lower_bound(&self.stamps, from, to, stamp);
        if key > 0 {
            let equal = self.stamps[at..].iter().take_while(|found| **found == stamp).count();
            at += match equal {
                0 => 0,
                _ => self.rows[at..at + equal].partition_point(|(found, _)| *found < key),
            };
        }
        at
    }
}

impl<T> Default for Timeline<T> {
    fn default() -> Timeline<T> {
        Timeline { chunks: Vec::new(), ends: Vec::new() }
    }
}

impl<T: Copy> Timeline<T> {
    /// Prefetches what a search for this stamp will look at: several searches wait for memory together.
    #[inline]
    pub(crate) fn prefetch_search(&self, stamp: u64) {
        // Behind the end the ends alone decide.
        if !self.ends_before(stamp)
            && let Some((chunk, at)) = self.guessed(stamp)
        {
            chunk.prefetch_stamps(at);
            prefetch(&chunk.rows[at]);
        }
    }

    /// Prefetches what an insert at this stamp will read. An insert at the end reads only the last entry.
    #[inline]
    pub(crate) fn prefetch_insert(&self, stamp: u64) {
        match self.chunks.last().filter(|_| self.ends_before(stamp)) {
            Some(chunk) => {
                let at = chunk.stamps.len() - 1;
                prefetch(&chunk.stamps[at]);
                prefetch(&chunk.rows[at]);
            }
            None => self.prefetch_search(stamp),
        }
    }

    /// Prefetches the stamps that a search looks at.
    #[inline]
    pub(crate) fn prefetch_stamps(&self, stamp: u64) {
        if let Some((chunk, at)) = self.guessed(stamp) {
            chunk.prefetch_stamps(at);
        }
    }

    /// About where a stamp should be.
    #[inline]
    fn guessed(&self, stamp: u64) -> Option<(&Chunk<T>, usize)> {
        let chunk = self.ends.partition_point(|end| *end < stamp).min(self.ends.len().saturating_sub(1));
        let found = self.chunks.get(chunk)?;
        let from = chunk.checked_sub(1).map_or(0, |previous| self.ends[previous]);
        Some((found, interpolate(found.stamps.len(), from, self.ends[chunk], stamp)))
    }

    /// Prefetches what says where chunks are.
    #[inline]
    pub(crate) fn prefetch_chunks(&self) {
        prefetch_slice(&self.ends);
        prefetch_slice(&self.chunks);
    }

    /// Prefetches the entry at a place.
    #[inline]
    pub(crate) fn prefetch_at(&self, place: Place) {
        if let Some(row) = self.chunks.get(place.chunk).and_then(|chunk| chunk.rows.get(place.at)) {
            prefetch(row);
        }
    }

    /// Whether every entry is before this stamp.
    #[inline]
    pub(crate) fn ends_before(&self, stamp: u64) -> bool {
        self.ends.last().is_none_or(|end| *end < stamp)
    }

    /// Adds an entry; at the end without a search.
    pub(crate) fn insert(&mut self, entry: Entry<T>) {
        let Some(last) = self.chunks.last_mut() else { return self.push(entry) };
        let end = (last.stamps.last(), last.rows.last());
        if let (Some(stamp), Some((key, _))) = end
            && (*stamp, *key) < entry.at()
        {
            if last.stamps.len() >= TIMELINE_CHUNK.get() {
                return self.push(entry);
            }
            last.stamps.push(entry.stamp);
            last.rows.push((entry.key, entry.tag));
            self.ends[self.chunks.len() - 1] = entry.stamp;
            return;
        }
        let place = self.lower(entry.at());
        let chunk = &mut self.chunks[place.chunk];
        chunk.insert(place.at, entry);
        if chunk.stamps.len() > TIMELINE_CHUNK.get() {
            let half = chunk.stamps.len() / 2;
            let upper = chunk.split_off(half);
            let end = chunk.stamps[half - 1];
            self.chunks.insert(place.chunk + 1, upper);
            self.ends.insert(place.chunk, end);
        }
    }

    fn push(&mut self, entry: Entry<T>) {
        // Only a group that has filled a chunk before is worth the room of a whole one.
        let capacity = if self.chunks.is_empty() { 1 } else { TIMELINE_CHUNK.get() };
        self.ends.push(entry.stamp);
        self.chunks.push(Chunk::of(entry, capacity));
    }

    /// Removes the entry of this stamp and key.
    pub(crate) fn remove(&mut self, stamp: u64, key: u64) -> Option<Entry<T>> {
        let place = self.lower((stamp, key));
        let chunk = self.chunks.get_mut(place.chunk)?;
        let entry = chunk.get(place.at).filter(|entry| entry.at() == (stamp, key))?;
        chunk.stamps.remove(place.at);
        chunk.rows.remove(place.at);
        match chunk.stamps.last() {
            Some(last) => self.ends[place.chunk] = *last,
            None => {
                self.chunks.remove(place.chunk);
                self.ends.remove(place.chunk);
            }
        }
        Some(entry)
    }

    /// The first place at or after (stamp, key); the end if there is none.
    pub(crate) fn lower(&self, at: (u64, u64)) -> Place {
        if self.ends_before(at.0) {
            return Place { chunk: self.chunks.len(), at: 0 };
        }
        // The ends alone decide, but for the chunks that end with this very stamp.
        let before = self.ends.partition_point(|end| *end < at.0);
        let equal = self.ends[before..].iter().take_while(|end| **end == at.0).count();
        let ended = |chunk: &Chunk<T>| chunk.rows.last().is_some_and(|(key, _)| *key < at.1);
        let chunk = before + self.chunks[before..before + equal].partition_point(ended);
        Place { chunk, at: self.lower_within(chunk, at) }
    }

    fn lower_within(&self, chunk: usize, at: (u64, u64)) -> usize {
        let from = chunk.checked_sub(1).map_or(0, |previous| self.ends[previous]);
        self.chunks.get(chunk).map_or(0, |found| found.lower(from, self.ends[chunk], at))
    }

    /// As [`lower`](Self::lower), but starts at the place of an earlier search: cheap when stamps ascend.
    pub(crate) fn lower_from(&self, hint: Place, at: (u64, u64)) -> Place {
        let Some(chunk) = self.chunks.get(hint.chunk) else { return self.lower(at) };
        let first = chunk.get(0).is_some_and(|first| first.at() < at);
        let inside = first && chunk.get(chunk.stamps.len() - 1).is_some_and(|last| last.at() >= at);
        if !inside {
            return self.lower(at);
        }
        Place { chunk: hint.chunk, at: self.lower_within(hint.chunk, at) }
    }

    /// The entry at a place, none at the end.
    pub(crate) fn get(&self, place: Place) -> Option<Entry<T>> {
        self.chunks.get(place.chunk)?.get(place.at)
    }

    /// The entry before a place.
    pub(crate) fn before(&self, place: Place) -> Option<Entry<T>> {
        match place.at {
            0 => {
                let chunk = self.chunks.get(place.chunk.checked_sub(1)?)?;
                chunk.get(chunk.stamps.len() - 1)
            }
            at => self.chunks.get(place.chunk)?.get(at - 1),
        }
    }

    /// The place so many entries later (negative: earlier), no further than the ends. Cost: the chunks in between.
    fn moved(&self, place: Place, by: i64) -> Place {
        let Place { mut chunk, mut at } = place;
        let mut left = usize::try_from(by.unsigned_abs()).unwrap_or(usize::MAX);
        if by >= 0 {
            while let Some(found) = self.chunks.get(chunk) {
                let rest = found.stamps.len() - at;
                if left < rest {
                    return Place { chunk, at: at + left };
                }
                (chunk, at, left) = (chunk + 1, 0, left - rest);
            }
            return Place { chunk, at: 0 };
        }
        while left > at {
            let Some(previous) = chunk.checked_sub(1) else { return Place::START };
            (chunk, left) = (previous, left - at);
            at = self.chunks[chunk].stamps.len();
        }
        Place { chunk, at: at - left }
    }

    /// Stamp, key and tag of the entries from a place on.
    pub(crate) fn from(&self, place: Place) -> impl Iterator<Item = (u64, u64, T)> + '_ {
        let starts = std::iter::once(place.at).chain(std::iter::repeat(0));
        self.chunks.iter().skip(place.chunk).zip(starts).flat_map(|(chunk, at)| {
            chunk.stamps[at..].iter().zip(&chunk.rows[at..]).map(|(stamp, (key, tag))| (*stamp, *key, *tag))
        })
    }

    /// Calls `each` with stamp, key and tag from a place on, until it says stop.
    pub(crate) fn walk(&mut self, from: Place, mut each: impl FnMut(u64, u64, &mut T) -> bool) {
        let mut at = from.at;
        for chunk in self.chunks.iter_mut().skip(from.chunk) {
            for (stamp, (key, tag)) in chunk.stamps[at..].iter().zip(&mut chunk.rows[at..]) {
                if !each(*stamp, *key, tag) {
                    return;
                }
            }
            at = 0;
        }
    }

    /// Rewrites every key.
    pub(crate) fn rekey(&mut self, mut new: impl FnMut(u64) -> u64) {
        self.chunks.iter_mut().flat_map(|chunk| &mut chunk.rows).for_each(|(key, _)| *key = new(*key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stamps that crowd, spread evenly, and lie far apart.
    fn stamp_of(seed: u64, kind: u64) -> u64 {
        match kind {
            0 => (seed >> 33) % 97,
            1 => (seed >> 33) % 100_000,
            _ => u64::MAX >> ((seed >> 40) % 60),
        }
    }

    #[test]
    fn any_order_of_inserts_and_removals_keeps_the_order() {
        for kind in 0..3 {
            let mut line = Timeline::default();
            let mut model = std::collections::BTreeSet::new();
            let mut seed = 7u64;
            for step in 0..20_000u64 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let at = (stamp_of(seed, kind), (seed >> 20) % 4096);
                if step % 3 == 2 {
                    assert_eq!(line.remove(at.0, at.1).is_some(), model.remove(&at));
                } else if model.insert(at) {
                    line.insert(Entry { stamp: at.0, key: at.1, tag: () });
                }
            }
            let mut found = Vec::new();
            line.walk(Place::START, |stamp, key, ()| {
                found.push((stamp, key));
                true
            });
            assert_eq!(found, model.iter().copied().collect::<Vec<_>>());
            let stamps: Vec<u64> = (0..97).chain(model.iter().step_by(50).map(|at| at.0)).chain([u64::MAX]).collect();
            for at in stamps.into_iter().flat_map(|stamp| [(stamp, 0), (stamp, 100), (stamp, u64::MAX)]) {
                let place = line.lower(at);
                assert_eq!(line.get(place).map(|entry| entry.at()), model.range(at..).next().copied());
                assert_eq!(line.before(place).map(|entry| entry.at()), model.range(..at).next_back().copied());
                assert_eq!(line.lower_from(place, at), place);
            }
        }
    }
}
