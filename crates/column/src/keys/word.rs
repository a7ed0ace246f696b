//! Keys of one word each: their hash is one to one, so that equal hashes are equal keys.

use super::places::Store;
use crate::kernels::hash::Secret;

/// The word of each slot.
#[derive(Default)]
pub(super) struct Words {
    secret: Secret,
    words: Vec<u64>,
}

impl Words {
    pub(super) fn hash_of(&self, slot: u32) -> u64 {
        self.secret.mix(self.words[slot as usize])
    }

    pub(super) fn of(&self, slots: &[u32]) -> Vec<u64> {
        slots.iter().map(|slot| self.words[*slot as usize]).collect()
    }

    pub(super) fn allocated(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
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
}
