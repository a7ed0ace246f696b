//! Rows of one group in order of (stamp, row key): what an as-of join searches.
//!
//! A list of small chunks, and beside it a list of where each ends: appending is O(1), an insert or
//! removal moves at most a chunk, a search looks at the ends and then into one chunk. Shifts rewrite keys in place: they never change the order.

/// Entries a chunk holds before it is split.
const CHUNK: usize = 128;

/// One row: its stamp as an ordered number, its key, and what the join keeps with it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Entry<T> {
    pub(super) stamp: u64,
    pub(super) key: u64,
    pub(super) tag: T,
}

impl<T> Entry<T> {
    fn at(&self) -> (u64, u64) {
        (self.stamp, self.key)
    }
}

/// The place of an entry; places are ordered, and valid until the next change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    chunk: usize,
    at: usize,
}

impl Place {
    /// Where the first entry is.
    pub(super) const START: Place = Place { chunk: 0, at: 0 };
}

/// Rows in order of (stamp, key).
pub(super) struct Timeline<T> {
    chunks: Vec<Vec<Entry<T>>>,
    /// The stamp of the last entry of each chunk.
    ends: Vec<u64>,
}

impl<T> Default for Timeline<T> {
    fn default() -> Timeline<T> {
        Timeline { chunks: Vec::new(), ends: Vec::new() }
    }
}

impl<T: Copy> Timeline<T> {
    pub(super) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Adds an entry; at the end without a search.
    pub(super) fn insert(&mut self, entry: Entry<T>) {
        let Some(last) = self.chunks.last_mut() else {
            self.chunks.push(vec![entry]);
            self.ends.push(entry.stamp);
            return;
        };
        if last.last().is_some_and(|end| end.at() < entry.at()) {
            if last.len() < CHUNK {
                last.push(entry);
                self.ends[self.chunks.len() - 1] = entry.stamp;
            } else {
                self.chunks.push(vec![entry]);
                self.ends.push(entry.stamp);
            }
            return;
        }
        let place = self.lower(entry.at());
        let chunk = &mut self.chunks[place.chunk];
        chunk.insert(place.at, entry);
        if chunk.len() > CHUNK {
            let upper = chunk.split_off(CHUNK / 2);
            self.chunks.insert(place.chunk + 1, upper);
            self.ends.insert(place.chunk, self.chunks[place.chunk][CHUNK / 2 - 1].stamp);
        }
    }

    /// Removes the entry of this stamp and key.
    pub(super) fn remove(&mut self, stamp: u64, key: u64) -> Option<Entry<T>> {
        let place = self.lower((stamp, key));
        let chunk = self.chunks.get_mut(place.chunk)?;
        if chunk.get(place.at)?.at() != (stamp, key) {
            return None;
        }
        let entry = chunk.remove(place.at);
        match chunk.last() {
            Some(last) => self.ends[place.chunk] = last.stamp,
            None => {
                self.chunks.remove(place.chunk);
                self.ends.remove(place.chunk);
            }
        }
        Some(entry)
    }

    /// The first place at or after (stamp, key); the end if there is none.
    pub(super) fn lower(&self, at: (u64, u64)) -> Place {
        // The ends alone decide, but for the chunks that end with this very stamp.
        let before = self.ends.partition_point(|end| *end < at.0);
        let equal = self.ends[before..].partition_point(|end| *end == at.0);
        let ended = |chunk: &Vec<Entry<T>>| chunk.last().is_some_and(|end| end.at() < at);
        let chunk = before + self.chunks[before..before + equal].partition_point(ended);
        let within = self.chunks.get(chunk).map_or(0, |chunk| chunk.partition_point(|entry| entry.at() < at));
        Place { chunk, at: within }
    }

    /// The same, starting near a place known from an earlier search: cheap when searches ascend.
    pub(super) fn lower_from(&self, hint: Place, at: (u64, u64)) -> Place {
        let Some(chunk) = self.chunks.get(hint.chunk) else { return self.lower(at) };
        let inside =
            chunk.first().is_some_and(|first| first.at() < at) && chunk.last().is_some_and(|last| last.at() >= at);
        if !inside {
            return self.lower(at);
        }
        Place { chunk: hint.chunk, at: chunk.partition_point(|entry| entry.at() < at) }
    }

    /// The entry at a place, none at the end.
    pub(super) fn get(&self, place: Place) -> Option<&Entry<T>> {
        self.chunks.get(place.chunk)?.get(place.at)
    }

    /// The entry before a place.
    pub(super) fn before(&self, place: Place) -> Option<&Entry<T>> {
        match place.at {
            0 => self.chunks.get(place.chunk.checked_sub(1)?)?.last(),
            at => self.chunks.get(place.chunk)?.get(at - 1),
        }
    }

    /// Calls `each` for the entries from a place on, until it says stop.
    pub(super) fn walk(&mut self, from: Place, mut each: impl FnMut(&mut Entry<T>) -> bool) {
        let mut at = from.at;
        for chunk in self.chunks.iter_mut().skip(from.chunk) {
            for entry in &mut chunk[at..] {
                if !each(entry) {
                    return;
                }
            }
            at = 0;
        }
    }

    /// Rewrites every key.
    pub(super) fn rekey(&mut self, mut new: impl FnMut(u64) -> u64) {
        self.chunks.iter_mut().flatten().for_each(|entry| entry.key = new(entry.key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_order_of_inserts_and_removals_keeps_the_order() {
        let mut line = Timeline::default();
        let mut model = std::collections::BTreeSet::new();
        let mut seed = 7u64;
        for step in 0..20_000u64 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = ((seed >> 33) % 97, (seed >> 20) % 4096);
            if step % 3 == 2 {
                assert_eq!(line.remove(at.0, at.1).is_some(), model.remove(&at));
            } else if model.insert(at) {
                line.insert(Entry { stamp: at.0, key: at.1, tag: () });
            }
        }
        let found: Vec<(u64, u64)> = line.chunks.iter().flatten().map(Entry::at).collect();
        assert_eq!(found, model.iter().copied().collect::<Vec<_>>());
        for stamp in 0..97 {
            let place = line.lower((stamp, 100));
            assert_eq!(line.get(place).map(Entry::at), model.range((stamp, 100)..).next().copied());
            assert_eq!(line.before(place).map(Entry::at), model.range(..(stamp, 100)).next_back().copied());
        }
    }
}
