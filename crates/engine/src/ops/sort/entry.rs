//! An entry of an order: a sort key and a source row.

/// A row's place in the order: its sort key, then its source row key.
///
/// The source key takes 63 bits; the highest bit of `tie` ranks before it, so that a null can be told
/// from the least or the greatest cell, whose key it shares.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry<K> {
    /// The sort key, in ascending form.
    pub key: K,
    /// Source row key and, above it, one bit of rank.
    pub tie: u64,
}

impl<K> Entry<K> {
    /// The source row key.
    pub fn source(&self) -> u64 {
        source_of(self.tie)
    }
}

/// A sort key, and a number that never falls where the key rises: searches guess by it.
pub trait Key: Ord + Clone {
    /// The number.
    fn word(&self) -> u64;
}

impl Key for u64 {
    fn word(&self) -> u64 {
        *self
    }
}

pub(super) fn source_of(tie: u64) -> u64 {
    tie & (u64::MAX >> 1)
}

/// A tie with another source row key.
pub(super) fn with_source(tie: u64, source: u64) -> u64 {
    (tie & (1 << 63)) | source
}
