//! A Bloom filter of hashes: what is not in it has no place in the table, and most of what is there has a place.
//!
//! A hash is two bits of one word, so that a look is one load. With four hashes a word, one unknown hash in fifty passes.

/// Hashes for which there is a word.
const A_WORD: usize = 4;

pub(super) struct Seen {
    words: Vec<u64>,
    /// A word is named by the high bits of a hash, its bits by the ones after them.
    shift: u32,
}

impl Seen {
    /// Of so many hashes.
    pub(super) fn new(many: usize, hashes: impl Iterator<Item = u64>) -> Seen {
        let words = (many / A_WORD).next_power_of_two().max(2);
        let mut seen = Seen { words: vec![0; words], shift: 64 - words.trailing_zeros() };
        for hash in hashes {
            let bits = seen.bits(hash);
            seen.words[(hash >> seen.shift) as usize] |= bits;
        }
        seen
    }

    #[inline(always)]
    fn bits(&self, hash: u64) -> u64 {
        // At most 2³² hashes: twelve bits are left below those that name the word.
        1 << (hash >> (self.shift - 6) & 63) | 1 << (hash >> (self.shift - 12) & 63)
    }

    /// Whether a hash may be among them.
    #[inline(always)]
    pub(super) fn may_hold(&self, hash: u64) -> bool {
        let bits = self.bits(hash);
        self.words[(hash >> self.shift) as usize] & bits == bits
    }

    pub(super) fn allocated(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::hash::Secret;

    #[test]
    fn what_was_seen_passes_and_little_else_does() {
        let secret = Secret::default();
        for many in [0, 1, 3, 1000, 40_000_u64] {
            let hashes = || (0..many).map(|word| secret.mix(word * 7));
            let seen = Seen::new(many as usize, hashes());
            assert!(hashes().all(|hash| seen.may_hold(hash)));
            let others = (0..10_000).filter(|word| seen.may_hold(secret.mix(u64::MAX - word))).count();
            assert!(others < 1_500, "{others} of {many}");
        }
    }
}
