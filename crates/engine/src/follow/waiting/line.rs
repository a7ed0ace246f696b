//! The waiting changes of one table, oldest first, with the data by which neighbours are chosen for coalescing.

use std::collections::VecDeque;

use crate::sizes::WAITING;

/// One change in the line of its table.
pub(super) struct Place {
    pub at: u64,
    /// The sum of the marks of all followers that have yet to receive the change: equal for equal audiences, in any
    /// order.
    pub audience: u64,
    pub bytes: u64,
    /// Whether the change is materialized; only then it can be coalesced.
    pub owned: bool,
}

#[derive(Default)]
pub(super) struct Line {
    places: VecDeque<Place>,
    /// How many changes came since the last call of `came`.
    came: usize,
}

impl Line {
    pub fn push(&mut self, place: Place) {
        self.places.push_back(place);
        self.came += 1;
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    pub fn oldest(&mut self) -> Option<&mut Place> {
        self.places.front_mut()
    }

    pub fn newest(&mut self) -> Option<&mut Place> {
        self.places.back_mut()
    }

    pub fn place(&mut self, at: u64) -> Option<&mut Place> {
        let index = self.places.binary_search_by_key(&at, |place| place.at).ok()?;
        self.places.get_mut(index)
    }

    /// Removes a change and returns the bytes of its rows.
    pub fn remove(&mut self, at: u64) -> u64 {
        let index = self.places.binary_search_by_key(&at, |place| place.at).ok();
        index.and_then(|index| self.places.remove(index)).map_or(0, |place| place.bytes)
    }

    pub fn came(&mut self) -> usize {
        std::mem::take(&mut self.came)
    }

    /// The two neighbours with the fewest bytes, if there are too many changes or too many bytes (`heavy`). The older
    /// one may have at most twice the bytes of the newer, so that the bytes copied stay in proportion to the bytes that
    /// came. If there are too many changes and no pair meets this, any pair will do. The oldest change is never
    /// coalesced: its listener may be reading it.
    pub fn neighbours(&self, heavy: bool) -> Option<(u64, u64)> {
        let crowded = self.places.len() > WAITING.get();
        if !crowded && !heavy {
            return None;
        }
        let least = |fit: fn(&Place, &Place) -> bool| {
            let pairs = self.places.iter().skip(1).zip(self.places.iter().skip(2));
            let pairs = pairs.filter(|(older, newer)| older.owned && newer.owned && older.audience == newer.audience);
            let pairs = pairs.filter(|(older, newer)| fit(older, newer));
            pairs.min_by_key(|(older, newer)| older.bytes + newer.bytes).map(|(older, newer)| (older.at, newer.at))
        };
        let chosen = least(|older, newer| older.bytes <= 2 * newer.bytes);
        if chosen.is_none() && crowded { least(|_, _| true) } else { chosen }
    }
}
