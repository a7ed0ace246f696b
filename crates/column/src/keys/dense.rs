//! Keys that lie close together, as identifiers do: their place is their distance from the least one.

use super::NO_SLOT;
use super::store::{Rows, Slots};
use crate::sizes::{KEYS_CLOSE, KEYS_CLOSE_ROOM};

/// A place for each word of a range. It gives way to the hash table when its range is more than so many times that of
/// close keys: a key that comes and goes does not swing it.
const LEAVES: u64 = 3;

/// A slot for each word from the first on.
pub(super) struct Dense {
    first: u64,
    /// One more than the slot; zero where there is no key.
    places: Vec<u32>,
}

/// The least and the greatest word of rows; none if all are null.
pub(super) fn range_of(rows: &Rows<[u64]>) -> Option<(u64, u64)> {
    let words = rows.cells.iter().enumerate().filter(|(row, _)| !rows.is_null(*row)).map(|(_, word)| *word);
    match rows.nulls {
        Some(_) => words.fold(None, |range, word| Some(joined(range, (word, word)))),
        // Without a branch a word the loop is as wide as the machine.
        None if rows.cells.is_empty() => None,
        None => Some(rows.cells.iter().fold((u64::MAX, 0), |(least, most), word| (least.min(*word), most.max(*word)))),
    }
}

/// The range of both.
pub(super) fn joined(one: Option<(u64, u64)>, (least, most): (u64, u64)) -> (u64, u64) {
    one.map_or((least, most), |one| (one.0.min(least), one.1.max(most)))
}

/// Whether so many keys of a range are close.
pub(super) fn are_close((least, most): (u64, u64), keys: usize) -> bool {
    most - least < room(keys)
}

fn room(keys: usize) -> u64 {
    (keys as u64).saturating_mul(KEYS_CLOSE.rows()).max(KEYS_CLOSE_ROOM.rows())
}

impl Dense {
    pub(super) fn new((least, most): (u64, u64)) -> Dense {
        Dense { first: least, places: vec![0; (most - least) as usize + 1] }
    }

    /// Keeps the slot of a word of its range.
    pub(super) fn put(&mut self, word: u64, slot: u32) {
        self.places[(word - self.first) as usize] = slot + 1;
    }

    /// Forgets a word; false if this is not its slot.
    pub(super) fn remove(&mut self, word: u64, slot: u32) -> bool {
        let place = self.places.get_mut(word.wrapping_sub(self.first) as usize);
        place.filter(|place| **place == slot + 1).map(|place| *place = 0).is_some()
    }

    /// Whether it holds far more places than so many keys need.
    pub(super) fn is_vast(&self, keys: usize) -> bool {
        self.places.len() as u64 > room(keys).saturating_mul(4 * LEAVES)
    }

    /// The words that have a slot, and it.
    pub(super) fn entries(&self) -> impl Iterator<Item = (u64, u32)> + Clone + '_ {
        let first = self.first;
        let taken = self.places.iter().enumerate().filter(|(_, place)| **place != 0);
        taken.map(move |(at, place)| (first + at as u64, place - 1))
    }

    /// Makes room for words of this range, if they are close enough to the others for so many keys in all.
    pub(super) fn reach(&mut self, (least, most): (u64, u64), keys: usize) -> bool {
        let last = self.first + (self.places.len() as u64 - 1);
        if least >= self.first && most <= last {
            return true;
        }
        let wanted = (self.first.min(least), last.max(most));
        if wanted.1 - wanted.0 >= room(keys).saturating_mul(LEAVES) {
            return self.turn_to((least, most), keys);
        }
        if least < self.first {
            // As much room again, for more that come before the first.
            let before = (self.first - least).max(self.places.len() as u64).min(self.first);
            let mut places = vec![0; before as usize];
            places.append(&mut self.places);
            *self = Dense { first: self.first - before, places };
        }
        if most > last {
            self.places.resize((most - self.first) as usize + 1, 0);
        }
        true
    }

    /// Leaves out the places before and after all keys, as when old ones went and new ones come at the end.
    fn turn_to(&mut self, range: (u64, u64), keys: usize) -> bool {
        let kept = self.entries().fold(None, |kept, (word, _)| Some(joined(kept, (word, word))));
        let range = joined(kept, range);
        if !are_close(range, keys) {
            return false;
        }
        let mut moved = Dense::new(range);
        self.entries().for_each(|(word, slot)| moved.put(word, slot));
        *self = moved;
        true
    }

    /// The slots of rows.
    pub(super) fn find(&self, rows: &Rows<[u64]>, null: u32, slots: &mut Vec<u32>) {
        let from = slots.len();
        let place = |word: &u64| self.places.get(word.wrapping_sub(self.first) as usize);
        slots.extend(rows.cells.iter().map(|word| place(word).map_or(NO_SLOT, |place| place.wrapping_sub(1))));
        if rows.nulls.is_some() {
            let nulls = slots[from..].iter_mut().enumerate().filter(|(row, _)| rows.is_null(*row));
            nulls.for_each(|(_, slot)| *slot = null);
        }
    }

    /// The slots of rows whose words are in its range; `keep` gets the slot and the row of each that has a new key.
    pub(super) fn insert(
        &mut self,
        rows: &Rows<[u64]>,
        taken: &mut Slots,
        slots: &mut Vec<u32>,
        mut keep: impl FnMut(u32, usize, Option<u64>),
    ) {
        slots.reserve(rows.count);
        for (row, word) in rows.cells.iter().enumerate() {
            if rows.is_null(row) {
                if taken.null == NO_SLOT {
                    taken.null = taken.take();
                    keep(taken.null, row, None);
                }
                slots.push(taken.null);
                continue;
            }
            let place = &mut self.places[(word - self.first) as usize];
            if *place == 0 {
                let slot = taken.take();
                keep(slot, row, Some(*word));
                *place = slot + 1;
            }
            slots.push(*place - 1);
        }
    }

    pub(super) fn allocated(&self) -> usize {
        self.places.capacity() * size_of::<u32>()
    }
}
