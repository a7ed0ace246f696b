//! Keys to positions and back.

use crate::build::Builder;
use crate::{MAX_KEY, Positions, RowSet};

impl RowSet {
    /// The position of a key, if it is in the set.
    pub fn position_of(&self, key: u64) -> Option<u64> {
        let at = self.0.at_or_after(key);
        let span = self.0.spans.get(at).filter(|span| span.first <= key)?;
        Some(self.0.before[at] + (key - span.first))
    }

    /// How many keys lie below `key`.
    pub fn rank(&self, key: u64) -> u64 {
        let at = self.0.at_or_after(key);
        match self.0.spans.get(at) {
            Some(span) => self.0.before[at] + key.saturating_sub(span.first),
            None => self.len(),
        }
    }

    /// The key at a position.
    pub fn key_at(&self, pos: u64) -> Option<u64> {
        if pos >= self.len() {
            return None;
        }
        let at = self.0.before.partition_point(|&before| before <= pos) - 1;
        Some(self.0.spans[at].first + (pos - self.0.before[at]))
    }

    /// The positions of keys that are all in this set, in one pass.
    pub fn positions_of(&self, keys: &RowSet) -> Positions {
        debug_assert!(keys.is_subset(self), "positions of keys that are in the set");
        let mut builder = Builder::new();
        for span in keys.spans() {
            let first = self.rank(span.first);
            builder.push(first, first + (span.len() - 1));
        }
        Positions(builder.finish())
    }

    /// The keys at these positions, in one pass; positions beyond the end are passed over.
    pub fn at(&self, positions: &Positions) -> RowSet {
        let mut builder = Builder::new();
        for span in positions.0.spans() {
            for keys in self.slice(span.first, span.len()).spans() {
                builder.push(keys.first, keys.last);
            }
        }
        builder.finish()
    }

    /// The keys at `len` positions from `from_pos` on, or as many as there are.
    pub fn slice(&self, from_pos: u64, len: u64) -> RowSet {
        let end = from_pos.saturating_add(len).min(self.len());
        if from_pos >= end {
            return RowSet::new();
        }
        match (self.key_at(from_pos), self.key_at(end - 1)) {
            (Some(first), Some(last)) => self.between(first, last),
            _ => RowSet::new(),
        }
    }

    /// The keys in `first ..= last`.
    pub fn between(&self, first: u64, last: u64) -> RowSet {
        let last = last.min(MAX_KEY);
        let mut builder = Builder::new();
        let start = self.0.at_or_after(first);
        for span in self.0.spans[start..].iter().take_while(|span| span.first <= last && first <= last) {
            builder.push(span.first.max(first), span.last.min(last));
        }
        builder.finish()
    }
}
