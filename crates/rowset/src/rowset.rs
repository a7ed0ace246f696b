//! The row set as a value: what it holds, how it compares and prints.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::repr::spans::SpanList;

/// The highest row key.
pub const MAX_KEY: u64 = i64::MAX as u64;

/// The keys `first ..= last`: closed on both sides.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Span {
    /// The lowest key.
    pub first: u64,
    /// The highest key.
    pub last: u64,
}

impl Span {
    /// How many keys; never 0.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> u64 {
        self.last - self.first + 1
    }

    /// Whether the key lies in it.
    pub fn contains(&self, key: u64) -> bool {
        self.first <= key && key <= self.last
    }
}

/// A set of row keys in order. Clones share, edits copy only what is shared; two sets of the same
/// keys are equal and hash alike, however they are kept.
#[derive(Clone, Default)]
pub struct RowSet(pub(crate) Arc<SpanList>);

/// What a row set is made of.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Statistics {
    /// Keys held.
    pub keys: u64,
    /// Maximal ranges held.
    pub spans: u64,
    /// Bytes on the heap, shared or not.
    pub bytes: usize,
}

impl RowSet {
    /// How many keys.
    pub fn len(&self) -> u64 {
        self.0.len()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.0.spans.is_empty()
    }

    /// The lowest key.
    pub fn first(&self) -> Option<u64> {
        self.0.spans.first().map(|span| span.first)
    }

    /// The highest key.
    pub fn last(&self) -> Option<u64> {
        self.0.spans.last().map(|span| span.last)
    }

    /// The one range this set is, if it is one.
    pub fn as_span(&self) -> Option<Span> {
        match self.0.spans[..] {
            [span] => Some(span),
            _ => None,
        }
    }

    /// Whether this is `0 .. len`: keys and positions are the same.
    pub fn is_flat(&self) -> bool {
        self.is_empty() || self.as_span().is_some_and(|span| span.first == 0)
    }

    /// Whether the key is in the set.
    pub fn contains(&self, key: u64) -> bool {
        self.0.spans.get(self.0.at_or_after(key)).is_some_and(|span| span.first <= key)
    }

    /// Whether every key of the span is in the set.
    pub fn contains_span(&self, span: Span) -> bool {
        self.0.spans.get(self.0.at_or_after(span.last)).is_some_and(|own| own.first <= span.first)
    }

    /// The lowest key that is not below `key`.
    pub fn first_at_or_after(&self, key: u64) -> Option<u64> {
        self.0.spans.get(self.0.at_or_after(key)).map(|span| span.first.max(key))
    }

    /// The highest key that is not above `key`.
    pub fn last_at_or_before(&self, key: u64) -> Option<u64> {
        let at = self.0.spans.partition_point(|span| span.first <= key);
        self.0.spans[..at].last().map(|span| span.last.min(key))
    }

    /// How many maximal ranges.
    pub fn span_count(&self) -> u64 {
        self.0.spans.len() as u64
    }

    /// What the set is made of.
    pub fn statistics(&self) -> Statistics {
        Statistics { keys: self.len(), spans: self.span_count(), bytes: self.bytes() }
    }

    /// Bytes on the heap, shared or not.
    pub fn bytes(&self) -> usize {
        self.0.spans.len() * 24
    }

    /// Says which invariant of the structure is broken, if one is.
    pub fn validate(&self) -> Result<(), String> {
        for pair in self.0.spans.windows(2) {
            if pair[0].last + 1 >= pair[1].first {
                return Err(format!("spans {:?} and {:?} touch or overlap", pair[0], pair[1]));
            }
        }
        match self.last() {
            Some(last) if last > MAX_KEY => Err(format!("key {last} lies outside the key space")),
            _ => Ok(()),
        }
    }
}

impl PartialEq for RowSet {
    fn eq(&self, other: &RowSet) -> bool {
        self.len() == other.len() && self.is_subset(other)
    }
}

impl Eq for RowSet {}

impl Hash for RowSet {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.len().hash(state);
        self.spans().for_each(|span| span.hash(state));
    }
}

impl fmt::Display for RowSet {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("{")?;
        for (at, span) in self.spans().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(out, "{comma}[{}..{}]", span.first, span.last)?;
        }
        out.write_str("}")
    }
}

impl fmt::Debug for RowSet {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}
