//! Hashes of keys: equal keys have equal hashes within a process, and nobody outside knows which keys have hashes
//! close together.
//!
//! All constants of a hash are drawn from a secret of the process. Multiplying by secret odd numbers makes it as
//! unlikely for any two keys as chance has it that they stand at one place, whoever chose them.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::LazyLock;

use foldhash::SharedSeed;
use foldhash::fast::FoldHasher;

use crate::sizes::HASH_SECRET;

/// In builds with debug assertions, a number to take in the place of the secret: what depends on it shows.
#[cfg(debug_assertions)]
const OVERRIDE: &str = "TICKFRAME_HASH_SECRET";

static PROCESS: LazyLock<u64> = LazyLock::new(|| {
    #[cfg(debug_assertions)]
    if let Some(given) = std::env::var(OVERRIDE).ok().and_then(|text| text.parse().ok()) {
        return given;
    }
    RandomState::new().build_hasher().finish()
});

static SEED: LazyLock<SharedSeed> = LazyLock::new(|| SharedSeed::from_u64(*PROCESS));

/// What the hashes of one table of keys are made with.
#[derive(Clone, Copy)]
pub(crate) struct Secret {
    word: u64,
    factors: [u64; 2],
    start: u64,
    stir: u64,
    view: u64,
    text: u64,
}

impl Default for Secret {
    fn default() -> Secret {
        let drawn = HASH_SECRET.get();
        Secret::of(if drawn == HASH_SECRET.real() { *PROCESS } else { drawn as u64 })
    }
}

impl Secret {
    /// The constants that follow from a number, by SplitMix64.
    pub(crate) fn of(number: u64) -> Secret {
        let mut state = number;
        let mut next = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ (mixed >> 31)
        };
        Secret {
            word: next(),
            factors: [next() | 1, next() | 1],
            start: next(),
            stir: next() | 1,
            view: next(),
            text: next(),
        }
    }

    /// The hash of a word: one to one; the high bits are the best.
    #[inline(always)]
    pub(crate) fn mix(&self, word: u64) -> u64 {
        let word = word ^ self.word;
        let word = (word ^ (word >> 32)).wrapping_mul(self.factors[0]);
        (word ^ (word >> 29)).wrapping_mul(self.factors[1])
    }

    /// Where a hash of several words starts.
    #[inline(always)]
    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    /// A hash of several words with one more.
    #[inline(always)]
    pub(crate) fn stir(&self, hash: u64, word: u64) -> u64 {
        fold(hash ^ word, self.stir)
    }

    /// A hash of several words with one more text, given by its view; `long` is asked for the bytes a view does not
    /// hold itself.
    #[inline(always)]
    pub(crate) fn stir_view<'a>(&self, hash: u64, view: u128, long: impl FnOnce() -> &'a [u8]) -> u64 {
        let high = if view as u32 <= 12 { (view >> 64) as u64 } else { self.bytes(long()) };
        fold(hash ^ view as u64, high ^ self.view)
    }

    fn bytes(&self, bytes: &[u8]) -> u64 {
        let mut hasher = FoldHasher::with_seed(self.text, &SEED);
        hasher.write(bytes);
        hasher.finish()
    }
}

#[inline(always)]
fn fold(one: u64, two: u64) -> u64 {
    let product = u128::from(one) * u128::from(two);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use arrow_array::StringViewArray;

    use super::*;

    /// How many of the places of a table twice as large the hashes name.
    fn places(hashes: impl Iterator<Item = u64>) -> usize {
        hashes.map(|hash| hash >> 47).collect::<HashSet<u64>>().len()
    }

    #[test]
    fn the_high_bits_of_words_and_views_that_look_alike_differ() {
        let texts = StringViewArray::from_iter_values((0..1 << 16).map(|row| format!("S{row:06}")));
        let long = vec![0; 20];
        for number in 0..50 {
            let secret = Secret::of(number);
            let of_texts = texts.views().iter().map(|view| secret.stir_view(secret.start(), *view, || &long));
            let of_pairs =
                (0..1 << 16).map(|row| secret.stir(secret.stir(secret.start(), row >> 8), (row & 255) << 32));
            let of_words = (0..1 << 16).map(|row| secret.mix(row));
            let of_high_words = (0..1 << 16).map(|row: u64| secret.mix(row << 48));
            let named = [places(of_texts), places(of_pairs), places(of_words), places(of_high_words)];
            // Chance names 51,600 of 131,072 places.
            assert!(named.iter().all(|named| *named > 40_000), "secret {number}: {named:?}");
        }
    }

    #[test]
    fn words_hash_one_to_one() {
        for number in 0..20 {
            let secret = Secret::of(number);
            let hashes: HashSet<u64> =
                (0..10_000u64).flat_map(|row| [row, row << 40, !row]).map(|w| secret.mix(w)).collect();
            assert_eq!(
                hashes.len(),
                (0..10_000u64).flat_map(|row| [row, row << 40, !row]).collect::<HashSet<_>>().len()
            );
        }
    }

    /// Keys whose hashes lie side by side under the constants of one secret, found by going back.
    fn chosen(secret: &Secret, count: u64) -> Vec<u64> {
        let inverse = |odd: u64| (0..6).fold(odd, |x, _| x.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(x))));
        let back = |hash: u64| {
            let word = hash.wrapping_mul(inverse(secret.factors[1]));
            let word = word ^ (word >> 29) ^ (word >> 58);
            let word = word.wrapping_mul(inverse(secret.factors[0]));
            word ^ (word >> 32) ^ secret.word
        };
        (1..=count).map(back).collect()
    }

    #[test]
    fn keys_chosen_against_one_secret_are_like_any_others_under_another() {
        let known = Secret::of(1);
        let keys = chosen(&known, 1 << 16);
        assert_eq!(places(keys.iter().map(|key| known.mix(*key))), 1, "they are chosen well");
        for number in 2..50 {
            let secret = Secret::of(number);
            let named = places(keys.iter().map(|key| secret.mix(*key)));
            assert!(named > 40_000, "secret {number}: {named} places, where chance names 51,600");
        }
    }
}
