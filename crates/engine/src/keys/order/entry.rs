//! An entry of an order: a key, and what else ranks it. Together they say what the entry stands for.

use std::fmt::Debug;

use rowset::Shifts;

/// The place of an entry in the order: its key, then its tie.
///
/// Of a sorted row the tie is its source row key, which takes 63 bits; the highest bit of `tie` ranks before it, so that
/// a null can be told from the least or the greatest cell, whose key it shares.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry<K> {
    /// The key, in ascending form.
    pub key: K,
    /// What ranks entries of one key.
    pub tie: u64,
}

impl<K: Key> Entry<K> {
    /// What the entry stands for.
    pub fn source(&self) -> K::Source {
        self.key.source(self.tie)
    }

    /// The entry after a step in which sources move.
    pub fn moved(mut self, shifts: &K::Shifts) -> Entry<K> {
        self.key.shift(&mut self.tie, shifts);
        self
    }
}

/// The key of an entry: how it ranks, what it stands for, and how that moves.
pub trait Key: Ord + Clone {
    /// What an entry stands for: a row, or a pair of rows.
    type Source: Copy + Ord + Debug;
    /// How sources move in a step. Moves keep the order of entries.
    type Shifts;

    /// A number that never falls where the key rises: searches guess by it.
    fn word(&self) -> u64;

    /// What an entry of this key and this tie stands for.
    fn source(&self, tie: u64) -> Self::Source;

    /// Moves an entry, and returns whether it moved.
    fn shift(&mut self, tie: &mut u64, shifts: &Self::Shifts) -> bool;
}

/// A sort key of rows: the source row stands in the tie.
pub trait RowKey: Ord + Clone {
    /// A number that never falls where the key rises.
    fn word(&self) -> u64;
}

impl RowKey for u64 {
    fn word(&self) -> u64 {
        *self
    }
}

impl<K: RowKey> Key for K {
    type Source = u64;
    type Shifts = Shifts;

    fn word(&self) -> u64 {
        RowKey::word(self)
    }

    fn source(&self, tie: u64) -> u64 {
        source_of(tie)
    }

    fn shift(&mut self, tie: &mut u64, shifts: &Shifts) -> bool {
        let source = source_of(*tie);
        let moved = shifts.forward_key(source);
        *tie = with_source(*tie, moved);
        moved != source
    }
}

fn source_of(tie: u64) -> u64 {
    tie & (u64::MAX >> 1)
}

/// A tie with another source row key.
pub(super) fn with_source(tie: u64, source: u64) -> u64 {
    (tie & (1 << 63)) | source
}
