//! Bitmaps of a block or a chunk: runs set, cleared and copied.

use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};

/// The places of the ones of a word, ascending.
#[inline(always)]
pub fn ones(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = word.trailing_zeros() as usize;
        (word != 0).then(|| {
            word &= word - 1;
            place
        })
    })
}

/// Growable only by making a new one; bit `i` is bit `i % 64` of word `i / 64`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bits(Box<[u64]>);

impl Bits {
    pub(crate) fn filled(len: usize, value: bool) -> Bits {
        Bits(vec![if value { u64::MAX } else { 0 }; len.div_ceil(64)].into())
    }

    pub(crate) fn get(&self, at: usize) -> bool {
        self.0[at / 64] >> (at % 64) & 1 == 1
    }

    pub(crate) fn set(&mut self, at: usize, value: bool) {
        let bit = 1u64 << (at % 64);
        if value { self.0[at / 64] |= bit } else { self.0[at / 64] &= !bit }
    }

    pub(crate) fn fill(&mut self, from: usize, len: usize, value: bool) {
        for (word, mask) in masks(from, len) {
            if value { self.0[word] |= mask } else { self.0[word] &= !mask }
        }
    }

    /// Copies `len` bits of `source` from `source_from` to `from`.
    pub(crate) fn copy(&mut self, from: usize, source: &Bits, source_from: usize, len: usize) {
        if len < 8 {
            return (0..len).for_each(|at| self.set(from + at, source.get(source_from + at)));
        }
        let mut done = 0;
        for (word, mask) in masks(from, len) {
            // The first word may start in its middle: its bits come from `source_from` on.
            let shift = if done == 0 { from % 64 } else { 0 };
            let bits = word_at(&source.0, source_from + done) << shift;
            self.0[word] = self.0[word] & !mask | bits & mask;
            done += mask.count_ones() as usize;
        }
    }

    /// Copies `len` bits of an Arrow buffer from `source_from` to `from`.
    pub(crate) fn copy_buffer(&mut self, from: usize, source: &BooleanBuffer, source_from: usize, len: usize) {
        let slice = source.slice(source_from, len);
        let mut at = from;
        for word in slice.bit_chunks().iter_padded() {
            let take = (from + len - at).min(64);
            if take == 0 {
                break;
            }
            self.put_word(at, word, take);
            at += take;
        }
    }

    /// The bits, 64 to a word; those behind the end mean nothing.
    pub(crate) fn words(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter().copied()
    }

    /// Of bits that are ones from `from` on, clears those that stand for a zero of `source` where `mask` has
    /// a one; how many ones of the mask there were.
    pub(crate) fn pick(&mut self, from: usize, source: impl Iterator<Item = u64>, mask: &[u64]) -> usize {
        let mut at = from;
        for (mask, source) in mask.iter().zip(source) {
            let mut zeros = mask & !source;
            while zeros != 0 {
                let below = (zeros & zeros.wrapping_neg()) - 1;
                self.set(at + (mask & below).count_ones() as usize, false);
                zeros &= zeros - 1;
            }
            at += mask.count_ones() as usize;
        }
        at - from
    }

    fn put_word(&mut self, at: usize, bits: u64, len: usize) {
        let (word, shift) = (at / 64, at % 64);
        let mask = low(len);
        self.0[word] = self.0[word] & !(mask << shift) | (bits & mask) << shift;
        if shift + len > 64 {
            let back = 64 - shift;
            self.0[word + 1] = self.0[word + 1] & !(mask >> back) | (bits & mask) >> back;
        }
    }

    pub(crate) fn all(&self) -> bool {
        self.0.iter().all(|&word| word == u64::MAX)
    }

    pub(crate) fn into_buffer(self) -> Buffer {
        Buffer::from_vec(self.0.into_vec())
    }

    /// As Arrow validity of `len` cells; none if every cell is valid.
    pub(crate) fn into_nulls(self, len: usize) -> Option<NullBuffer> {
        let nulls = NullBuffer::new(BooleanBuffer::new(self.into_buffer(), 0, len));
        (nulls.null_count() > 0).then_some(nulls)
    }
}

/// The 64 bits from `at` on, zeros behind the end.
pub(crate) fn word_at(words: &[u64], at: usize) -> u64 {
    let (word, shift) = (at / 64, at % 64);
    let low = words.get(word).copied().unwrap_or(0) >> shift;
    let high = if shift == 0 { 0 } else { words.get(word + 1).copied().unwrap_or(0) << (64 - shift) };
    low | high
}

fn low(len: usize) -> u64 {
    if len >= 64 { u64::MAX } else { (1u64 << len) - 1 }
}

/// The words that `len` bits from `from` touch, each with the bits in question.
fn masks(from: usize, len: usize) -> impl Iterator<Item = (usize, u64)> {
    let end = from + len;
    let words = if len == 0 { 0..0 } else { from / 64..(end - 1) / 64 + 1 };
    words.map(move |word| {
        let start = from.max(word * 64) - word * 64;
        let stop = end.min(word * 64 + 64) - word * 64;
        (word, low(stop - start) << start)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_agree_with_single_bits(seed in proptest::collection::vec(any::<bool>(), 300), from in 0usize..150, source in 0usize..150, len in 0usize..150) {
            let mut bits = Bits::filled(300, false);
            let mut other = Bits::filled(300, false);
            for (at, &bit) in seed.iter().enumerate() { other.set(at, bit); bits.set(at, at % 3 == 0); }
            let mut plain: Vec<bool> = (0..300).map(|at| at % 3 == 0).collect();
            bits.copy(from, &other, source, len);
            plain[from..from + len].copy_from_slice(&seed[source..source + len]);
            prop_assert!((0..300).all(|at| bits.get(at) == plain[at]));
            let nulls = NullBuffer::from(seed.clone()).slice(3, 290);
            bits.copy_buffer(from, nulls.inner(), source.min(100), len);
            let source = source.min(100) + 3;
            plain[from..from + len].copy_from_slice(&seed[source..source + len]);
            prop_assert!((0..300).all(|at| bits.get(at) == plain[at]));
            prop_assert!((0..300).all(|at| bits.get(at) == plain[at]));
            bits.fill(from, len, true);
            prop_assert!((from..from + len).all(|at| bits.get(at)));
        }
    }
}
