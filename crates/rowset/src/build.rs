//! Making row sets: from keys, from spans, piece by piece in order.

use std::sync::Arc;

use crate::repr::spans::SpanList;
use crate::{MAX_KEY, RowSet, Span};

/// Takes ascending pieces, which may touch, and makes a row set of them.
#[derive(Default)]
pub(crate) struct Builder {
    spans: Vec<Span>,
}

impl Builder {
    pub(crate) fn new() -> Builder {
        Builder::default()
    }

    /// Whether a piece that starts here may come next.
    pub(crate) fn accepts(&self, first: u64) -> bool {
        self.spans.last().is_none_or(|span| span.last < first)
    }

    pub(crate) fn push(&mut self, first: u64, last: u64) {
        debug_assert!(first <= last && last <= MAX_KEY && self.accepts(first));
        match self.spans.last_mut() {
            Some(span) if span.last + 1 == first => span.last = last,
            _ => self.spans.push(Span { first, last }),
        }
    }

    pub(crate) fn finish(self) -> RowSet {
        RowSet(Arc::new(SpanList::new(self.spans)))
    }
}

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
        let mut builder = Builder::new();
        builder.push(first, last);
        builder.finish()
    }

    /// One key.
    pub fn key(key: u64) -> RowSet {
        RowSet::range(key, key)
    }

    /// Keys that are strictly ascending.
    pub fn from_sorted_keys(keys: &[u64]) -> RowSet {
        debug_assert!(keys.windows(2).all(|pair| pair[0] < pair[1]), "keys ascend");
        let mut builder = Builder::new();
        for &key in keys {
            builder.push(key, key);
        }
        builder.finish()
    }

    /// Keys in any order, duplicates and all.
    pub fn from_keys(mut keys: Vec<u64>) -> RowSet {
        if !keys.windows(2).all(|pair| pair[0] < pair[1]) {
            keys.sort_unstable();
            keys.dedup();
        }
        RowSet::from_sorted_keys(&keys)
    }

    /// Ascending spans; they may touch but not overlap.
    pub fn from_spans(spans: impl IntoIterator<Item = Span>) -> RowSet {
        let mut builder = Builder::new();
        for span in spans {
            builder.push(span.first, span.last);
        }
        builder.finish()
    }
}

impl FromIterator<u64> for RowSet {
    fn from_iter<I: IntoIterator<Item = u64>>(keys: I) -> RowSet {
        RowSet::from_keys(keys.into_iter().collect())
    }
}
