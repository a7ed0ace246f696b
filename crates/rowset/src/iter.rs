//! Walking a row set: by range and by key, from both ends.

use crate::{RowSet, Span};

/// The maximal ranges of a row set, ascending.
#[derive(Clone)]
pub struct Spans<'a>(std::slice::Iter<'a, Span>);

impl Iterator for Spans<'_> {
    type Item = Span;
    fn next(&mut self) -> Option<Span> {
        self.0.next().copied()
    }
}

impl DoubleEndedIterator for Spans<'_> {
    fn next_back(&mut self) -> Option<Span> {
        self.0.next_back().copied()
    }
}

/// The keys of a row set, ascending.
#[derive(Clone)]
pub struct Keys<'a> {
    spans: Spans<'a>,
    front: Option<Span>,
    back: Option<Span>,
    left: u64,
}

impl Keys<'_> {
    /// Drops the keys below `key`.
    pub fn advance_to(&mut self, key: u64) {
        loop {
            match self.front.take().or_else(|| self.spans.next()).or_else(|| self.back.take()) {
                Some(span) if span.last < key => self.left -= span.len(),
                Some(span) if span.first < key => {
                    self.left -= key - span.first;
                    self.front = Some(Span { first: key, last: span.last });
                    return;
                }
                other => {
                    self.front = other;
                    return;
                }
            }
        }
    }
}

impl Iterator for Keys<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let span = self.front.take().or_else(|| self.spans.next()).or_else(|| self.back.take())?;
        if span.first < span.last {
            self.front = Some(Span { first: span.first + 1, last: span.last });
        }
        self.left -= 1;
        Some(span.first)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.left);
        (left.unwrap_or(usize::MAX), left.ok())
    }
}

impl DoubleEndedIterator for Keys<'_> {
    fn next_back(&mut self) -> Option<u64> {
        let span = self.back.take().or_else(|| self.spans.next_back()).or_else(|| self.front.take())?;
        if span.first < span.last {
            self.back = Some(Span { first: span.first, last: span.last - 1 });
        }
        self.left -= 1;
        Some(span.last)
    }
}

impl RowSet {
    /// The maximal ranges, ascending.
    pub fn spans(&self) -> Spans<'_> {
        Spans(self.0.spans.iter())
    }

    /// The keys, ascending.
    pub fn iter(&self) -> Keys<'_> {
        Keys { spans: self.spans(), front: None, back: None, left: self.len() }
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
        for span in self.spans() {
            into.extend(span.first..=span.last);
        }
    }

    /// The first keys of up to `parts` parts of about equal size: where parallel work may be cut.
    pub fn split_points(&self, parts: usize) -> Vec<u64> {
        let parts = (parts.max(1) as u64).min(self.len());
        (0..parts).filter_map(|part| self.key_at((self.len() as u128 * part as u128 / parts as u128) as u64)).collect()
    }

    /// Up to `parts` sets of about equal size, in order, that make up this one.
    pub fn split(&self, parts: usize) -> Vec<RowSet> {
        let parts = (parts.max(1) as u64).min(self.len());
        let cut = |part: u64| (self.len() as u128 * part as u128 / parts as u128) as u64;
        (0..parts).map(|part| self.slice(cut(part), cut(part + 1) - cut(part))).collect()
    }
}

impl<'a> IntoIterator for &'a RowSet {
    type Item = u64;
    type IntoIter = Keys<'a>;
    fn into_iter(self) -> Keys<'a> {
        self.iter()
    }
}
