//! Keys of one word each: their hash is one to one, so that equal hashes are equal keys. Words that lie close together
//! have no need of it.

use super::dense::{self, Dense};
use super::index::Index;
use super::store::{Rows, Slots, Store};
use crate::kernels::hash::Secret;

/// The word of each slot.
#[derive(Default)]
pub(super) struct Words {
    secret: Secret,
    words: Vec<u64>,
    /// The slots by word, while the words are close together; then the index of hashes is empty.
    dense: Option<Dense>,
    /// The least and the greatest word of all that were kept by hash.
    range: Option<(u64, u64)>,
}

impl Words {
    pub(super) fn of(&self, slots: &[u32]) -> Vec<u64> {
        slots.iter().map(|slot| self.words[*slot as usize]).collect()
    }

    /// The words of all slots, which are found by hash.
    pub(super) fn kept(words: Vec<u64>) -> Words {
        let range = words.iter().fold(None, |range, word| Some(dense::joined(range, (*word, *word))));
        Words { words, range, ..Words::default() }
    }

    pub(super) fn hash_of(&self, slot: u32) -> u64 {
        self.secret.mix(self.words[slot as usize])
    }

    /// The slots that are found, none of which is any more.
    pub(super) fn drain(&mut self, index: &mut Index) -> Vec<u32> {
        match self.dense.take() {
            Some(dense) => dense.entries().map(|(_, slot)| slot).collect(),
            None => index.drain().collect(),
        }
    }

    /// Forgets the key of a slot where it is looked for, of which so many keys are left; false if it is not there.
    pub(super) fn remove(&mut self, index: &mut Index, slot: u32, left: usize) -> bool {
        let word = self.words[slot as usize];
        let Some(dense) = &mut self.dense else { return index.remove(self.secret.mix(word), slot) };
        let removed = dense.remove(word, slot);
        if dense.is_vast(left) {
            self.turn_to_hashes(index);
        }
        removed
    }

    pub(super) fn allocated(&self) -> usize {
        self.words.capacity() * size_of::<u64>() + self.dense.as_ref().map_or(0, Dense::allocated)
    }

    /// The table by word with room for these rows, if all keys are close then.
    fn close(&mut self, rows: &Rows<[u64]>, index: &mut Index, keys: usize) -> Option<&mut Dense> {
        if let Some(range) = dense::range_of(rows) {
            if let Some(dense) = &mut self.dense {
                if !dense.reach(range, keys + rows.count) {
                    self.turn_to_hashes(index);
                    self.range = Some(dense::joined(self.range, range));
                }
            } else {
                let range = dense::joined(self.range, range);
                // The first rows are thought to have a key each, later ones may all have keys that are there.
                if dense::are_close(range, if keys == 0 { rows.count } else { keys }) {
                    let mut dense = Dense::new(range);
                    index.drain().for_each(|slot| dense.put(self.words[slot as usize], slot));
                    self.dense = Some(dense);
                } else {
                    self.range = Some(range);
                }
            }
        }
        self.dense.as_mut()
    }

    fn turn_to_hashes(&mut self, index: &mut Index) {
        let Some(dense) = self.dense.take() else { return };
        self.range = dense.entries().fold(None, |range, (word, _)| Some(dense::joined(range, (word, word))));
        index.refill(dense.entries().map(|(word, slot)| (self.secret.mix(word), slot)));
    }
}

impl Store<[u64]> for Words {
    #[inline(always)]
    fn hash(&self, words: &[u64], row: usize) -> u64 {
        self.secret.mix(words[row])
    }

    #[inline(always)]
    fn is(&self, _: u32, _: &[u64], _: usize) -> bool {
        true
    }

    #[inline(always)]
    fn confirm(&self, _: &[u32], _: &[u64], _: usize, _: &mut [bool]) {}

    #[inline(always)]
    fn prefetch(&self, _: u32) {}

    #[inline(always)]
    fn keep(&mut self, slot: u32, words: &[u64], row: usize) {
        match self.words.get_mut(slot as usize) {
            Some(place) => *place = words[row],
            None => self.words.push(words[row]),
        }
    }

    fn keep_null(&mut self, slot: u32) {
        self.keep(slot, &[0], 0);
    }

    fn find_close(&self, rows: &Rows<[u64]>, null: u32, slots: &mut Vec<u32>) -> bool {
        let dense = self.dense.as_ref();
        dense.map(|dense| dense.find(rows, null, slots)).is_some()
    }

    fn insert_close(
        &mut self,
        rows: &Rows<[u64]>,
        index: &mut Index,
        taken: &mut Slots,
        slots: &mut Vec<u32>,
        created: &mut Vec<u32>,
    ) -> bool {
        if self.close(rows, index, taken.len()).is_none() {
            return false;
        }
        let Words { words, dense, .. } = self;
        let keep = |slot: u32, row: usize, word: Option<u64>| {
            created.push(row as u32);
            let word = word.unwrap_or_default();
            match words.get_mut(slot as usize) {
                Some(place) => *place = word,
                None => words.push(word),
            }
        };
        let Some(dense) = dense else { return false };
        dense.insert(rows, taken, slots, keep);
        if dense.is_vast(taken.len()) {
            self.turn_to_hashes(index);
        }
        true
    }
}
