//! The row set as a value: what it holds, how it compares and prints.

use std::fmt;
use std::hash::{Hash, Hasher};

use crate::key::{MAX_KEY, Span};
use crate::repr::Repr;
use crate::repr::container::Container;
use crate::repr::tree::Entry;

/// A set of row keys in order. Clones share, edits copy only what is shared; two sets of the same
/// keys are equal and hash alike, however they are kept.
#[derive(Clone, Default)]
pub struct RowSet(pub(crate) Repr);

/// What a row set is made of.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Statistics {
    /// Keys held.
    pub keys: u64,
    /// Maximal ranges held.
    pub spans: u64,
    /// Bytes on the heap, shared or not.
    pub bytes: usize,
    /// Chunks of sorted pieces.
    pub chunks: usize,
    /// Runs of full blocks.
    pub full_runs: usize,
    /// Blocks of one range or up to six keys, kept in the entry.
    pub inline_blocks: usize,
    /// Blocks kept as an array of keys.
    pub arrays: usize,
    /// Blocks kept as runs.
    pub run_lists: usize,
    /// Blocks kept as bitmaps.
    pub bitmaps: usize,
}

impl RowSet {
    /// How many keys.
    pub fn len(&self) -> u64 {
        match &self.0 {
            Repr::Empty => 0,
            Repr::Span(span) => span.len(),
            Repr::Spans(tree) => tree.len(),
            Repr::Blocks(tree) => tree.len(),
        }
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        matches!(self.0, Repr::Empty)
    }

    /// The lowest key.
    pub fn first(&self) -> Option<u64> {
        match &self.0 {
            Repr::Empty => None,
            Repr::Span(span) => Some(span.first),
            Repr::Spans(tree) => tree.first_entry().map(Entry::first_key),
            Repr::Blocks(tree) => tree.first_entry().map(Entry::first_key),
        }
    }

    /// The highest key.
    pub fn last(&self) -> Option<u64> {
        match &self.0 {
            Repr::Empty => None,
            Repr::Span(span) => Some(span.last),
            Repr::Spans(tree) => tree.last_entry().map(Entry::last_key),
            Repr::Blocks(tree) => tree.last_entry().map(Entry::last_key),
        }
    }

    /// The lowest and the highest key.
    pub(crate) fn hull(&self) -> Option<Span> {
        self.first().zip(self.last()).map(|(first, last)| Span { first, last })
    }

    /// The one range this set is, if it is one. (Every operation sees to it that one range is kept as one.)
    pub fn as_span(&self) -> Option<Span> {
        match self.0 {
            Repr::Span(span) => Some(span),
            _ => None,
        }
    }

    /// Whether this is `0 .. len`: keys and positions are the same.
    pub fn is_flat(&self) -> bool {
        match self.0 {
            Repr::Empty => true,
            Repr::Span(span) => span.first == 0,
            _ => false,
        }
    }

    /// Whether the key is in the set.
    pub fn contains(&self, key: u64) -> bool {
        match &self.0 {
            Repr::Empty => false,
            Repr::Span(span) => span.contains(key),
            Repr::Spans(tree) => tree.contains(key),
            Repr::Blocks(tree) => tree.contains(key),
        }
    }

    /// Whether every key of the span is in the set.
    pub fn contains_span(&self, span: Span) -> bool {
        if span.last > MAX_KEY || !self.contains(span.first) {
            return false;
        }
        span.first == span.last || self.rank(span.last + 1) - self.rank(span.first) == span.len()
    }

    /// The lowest key that is not below `key`.
    pub fn first_at_or_after(&self, key: u64) -> Option<u64> {
        if self.contains(key) { Some(key) } else { self.key_at(self.rank(key)) }
    }

    /// The highest key that is not above `key`.
    pub fn last_at_or_before(&self, key: u64) -> Option<u64> {
        if self.contains(key) { Some(key) } else { self.rank(key).checked_sub(1).and_then(|pos| self.key_at(pos)) }
    }

    /// How many maximal ranges.
    pub fn span_count(&self) -> u64 {
        self.spans().count() as u64
    }

    /// What the set is made of.
    pub fn statistics(&self) -> Statistics {
        let mut made =
            Statistics { keys: self.len(), spans: self.span_count(), bytes: self.bytes(), ..Statistics::default() };
        match &self.0 {
            Repr::Empty | Repr::Span(_) => {}
            Repr::Spans(tree) => made.chunks = tree.entries(),
            Repr::Blocks(tree) => tree.iter().for_each(|block| made.count(&block.keys)),
        }
        made
    }

    /// Where its bitmaps lie, for tests of what is shared.
    #[cfg(test)]
    pub(crate) fn bitmap_addresses(&self) -> Vec<usize> {
        use crate::repr::container::Container;
        let Repr::Blocks(tree) = &self.0 else { return Vec::new() };
        let address = |keys: &Container| match keys {
            Container::Bitmap(bits) => Some(std::sync::Arc::as_ptr(bits) as usize),
            _ => None,
        };
        tree.iter().filter_map(|block| address(&block.keys)).collect()
    }

    /// Bytes on the heap, shared or not.
    pub fn bytes(&self) -> usize {
        match &self.0 {
            Repr::Empty | Repr::Span(_) => 0,
            Repr::Spans(tree) => tree.bytes(),
            Repr::Blocks(tree) => tree.bytes(),
        }
    }

    /// Says which invariant of the structure is broken, if one is.
    pub fn validate(&self) -> Result<(), String> {
        match &self.0 {
            Repr::Empty => return Ok(()),
            Repr::Span(span) if span.first > span.last => return Err(format!("the range {span:?} is empty")),
            Repr::Span(_) => {}
            Repr::Spans(tree) => tree.validate()?,
            Repr::Blocks(tree) => tree.validate()?,
        }
        let Some(hull) = self.hull() else { return Err("a set of no keys is not kept as one".to_string()) };
        if hull.last > MAX_KEY {
            return Err(format!("key {} lies outside the key space", hull.last));
        }
        match (&self.0, hull.len() == self.len()) {
            (Repr::Spans(_) | Repr::Blocks(_), true) => Err(format!("one range, {hull:?}, is not kept as one")),
            _ => Ok(()),
        }
    }
}

impl Statistics {
    fn count(&mut self, keys: &Container) {
        match keys {
            Container::Full => self.full_runs += 1,
            Container::Range(..) | Container::Few(_) => self.inline_blocks += 1,
            Container::Array(_) => self.arrays += 1,
            Container::Runs(_) => self.run_lists += 1,
            Container::Bitmap(_) => self.bitmaps += 1,
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
        /// So many ranges are shown: a message is read by a person.
        const SHOWN: usize = 32;
        out.write_str("{")?;
        for (at, span) in self.spans().enumerate() {
            if at == SHOWN {
                write!(out, ", … {} keys in all", self.len())?;
                break;
            }
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
