//! Walking a row set: by range, by key and by chunks of keys, from both ends.

mod keys;
mod segments;

pub use self::keys::Keys;
pub use self::segments::Segment;
use crate::repr::Repr;
pub use crate::repr::walk::Spans;
use crate::rowset::RowSet;

impl RowSet {
    /// The maximal ranges, ascending.
    pub fn spans(&self) -> Spans<'_> {
        Spans::of(&self.0)
    }

    /// The maximal ranges of the keys within `first ..= last`, without making a set of them.
    pub fn spans_between(&self, first: u64, last: u64) -> Spans<'_> {
        Spans::between(&self.0, first, last)
    }

    /// The keys, ascending.
    pub fn iter(&self) -> Keys<'_> {
        Keys::new(self)
    }

    /// The keys as a vector.
    pub fn to_vec(&self) -> Vec<u64> {
        let mut keys = Vec::new();
        self.write_keys(&mut keys);
        keys
    }

    /// Appends the keys to a buffer.
    pub fn write_keys(&self, into: &mut Vec<u64>) {
        into.reserve(usize::try_from(self.len()).expect("the keys fit in memory"));
        match &self.0 {
            Repr::Empty => {}
            Repr::Span(span) => into.extend(span.first..=span.last),
            Repr::Spans(tree) => tree.iter().for_each(|chunk| chunk.write_keys(into)),
            Repr::Blocks(tree) => tree.iter().for_each(|block| block.write_keys(into)),
        }
    }

    /// Up to `parts` sets of about equal size, in order, that make up this one.
    pub fn split(&self, parts: usize) -> Vec<RowSet> {
        let parts = (parts.max(1) as u64).min(self.len());
        let cut = |part: u64| share(self.len(), part, parts);
        (0..parts).map(|part| self.slice(cut(part), cut(part + 1) - cut(part))).collect()
    }
}

/// Where the `part`-th of `parts` begins, in 128 bits: a set may hold 2^63 keys.
fn share(len: u64, part: u64, parts: u64) -> u64 {
    (len as u128 * part as u128 / parts as u128) as u64
}
