//! Row sets out of keys and spans.

use crate::build::Builder;
use crate::key::{MAX_KEY, Span};
use crate::radix;
use crate::repr::blocks::{BlockStream, number_of};
use crate::repr::{ALWAYS_SPANS, BLOCKS_FROM, Repr};
use crate::rowset::RowSet;

/// Keys in any order are set in a mask where that takes no more than four bytes for each.
const DENSE: u64 = 32;

impl RowSet {
    /// No keys.
    pub fn new() -> RowSet {
        RowSet::default()
    }

    /// The keys `0 .. len`.
    pub fn flat(len: u64) -> RowSet {
        if len == 0 { RowSet::new() } else { RowSet::range(0, len - 1) }
    }

    /// The keys `first ..= last`.
    pub fn range(first: u64, last: u64) -> RowSet {
        assert!(first <= last && last <= MAX_KEY, "a range of row keys");
        RowSet(Repr::Span(Span { first, last }))
    }

    /// One key.
    pub fn key(key: u64) -> RowSet {
        RowSet::range(key, key)
    }

    /// Keys that are strictly ascending.
    pub fn from_sorted_keys(keys: &[u64]) -> RowSet {
        debug_assert!(keys.is_sorted_by(|left, right| left < right), "keys ascend");
        let (Some(&first), Some(&last)) = (keys.first(), keys.last()) else {
            return RowSet::new();
        };
        assert!(last <= MAX_KEY, "row keys");
        let len = keys.len() as u64;
        if last - first == len - 1 {
            return RowSet::range(first, last);
        }
        if is_in_runs(keys) {
            return RowSet::from_spans(Stretches(keys));
        }
        let blocks = number_of(last) - number_of(first) + 1;
        let dense = len >= ALWAYS_SPANS
            && (len >= BLOCKS_FROM.saturating_mul(blocks) || {
                let ends = keys.windows(2).map(|pair| u64::from((pair[0] ^ pair[1]) >> 16 != 0)).sum::<u64>();
                len >= BLOCKS_FROM.saturating_mul(ends + 1)
            });
        let mut builder = if dense { Builder::of_blocks() } else { Builder::new() };
        builder.push_keys(keys);
        builder.finish()
    }

    /// Keys in any order, duplicates and all.
    pub fn from_keys(mut keys: Vec<u64>) -> RowSet {
        if keys.is_sorted_by(|left, right| left < right) {
            return RowSet::from_sorted_keys(&keys);
        }
        let (first, last) = keys.iter().fold((u64::MAX, 0), |(low, high), &key| (low.min(key), high.max(key)));
        assert!(last <= MAX_KEY, "row keys");
        // From the start of a block, so that the mask is that of whole blocks.
        let base = number_of(first) << 16;
        if (last - base) / DENSE < keys.len() as u64 {
            let mut mask = vec![0u8; ((last - base) / 8 + 1) as usize];
            keys.iter().map(|key| key - base).for_each(|at| mask[(at / 8) as usize] |= 1 << (at % 8));
            return RowSet::from_mask(base, &mask, 0, 8 * mask.len() - (7 - (last % 8) as usize));
        }
        radix::sort(&mut keys);
        keys.dedup();
        RowSet::from_sorted_keys(&keys)
    }

    /// Ascending spans; they may touch but not overlap.
    pub fn from_spans(spans: impl IntoIterator<Item = Span>) -> RowSet {
        let mut builder = Builder::new();
        builder.push_all(spans.into_iter());
        builder.finish()
    }

    /// This set as blocks, whatever its form.
    pub(crate) fn blocks(&self) -> BlockStream<'_> {
        match &self.0 {
            Repr::Blocks(tree) => BlockStream::Tree(tree.iter()),
            _ => match self.scattered() {
                Some(keys) => BlockStream::Listed { keys, at: 0, lows: Vec::new() },
                None => BlockStream::gathered(self.spans()),
            },
        }
    }
}

/// Keys that all follow each other where every `STEP`-th one does.
const STEP: usize = 32;
/// Places at which keys are looked at before all of them are.
const SAMPLES: usize = 64;

/// Whether most keys follow the one in front, as far as a few places tell.
fn is_in_runs(keys: &[u64]) -> bool {
    let places = keys.len() / SAMPLES;
    places > STEP
        && (0..SAMPLES).filter(|at| keys[at * places + STEP] - keys[at * places] == STEP as u64).count() > SAMPLES / 2
}

/// Ascending keys by the ranges they are, found in steps.
struct Stretches<'a>(&'a [u64]);

impl Iterator for Stretches<'_> {
    type Item = Span;

    #[inline]
    fn next(&mut self) -> Option<Span> {
        let keys = self.0;
        let first = *keys.first()?;
        let mut at = 0;
        while keys.get(at + STEP).is_some_and(|key| key - keys[at] == STEP as u64) {
            at += STEP;
        }
        while keys.get(at + 1).is_some_and(|key| key - keys[at] == 1) {
            at += 1;
        }
        self.0 = &keys[at + 1..];
        Some(Span { first, last: keys[at] })
    }
}

impl FromIterator<u64> for RowSet {
    fn from_iter<I: IntoIterator<Item = u64>>(keys: I) -> RowSet {
        RowSet::from_keys(keys.into_iter().collect())
    }
}
