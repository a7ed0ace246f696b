//! Walking a row set: by range and by key, from both ends.

use crate::repr::Repr;
use crate::repr::blocks::Block;
use crate::repr::spans::Chunk;
use crate::repr::tree::{Entries, Entry, Tree};
use crate::{MAX_KEY, RowSet, Span};

/// The maximal ranges of a row set, ascending.
#[derive(Clone)]
pub struct Spans<'a> {
    pieces: Pieces<'a>,
    front: Option<Span>,
    back: Option<Span>,
}

/// Runs as they are kept: they may touch where entries meet.
#[derive(Clone)]
enum Pieces<'a> {
    One(Option<Span>),
    Spans(Flat<'a, Chunk>),
    Blocks(Flat<'a, Block>),
}

#[derive(Clone)]
struct Flat<'a, E: Entry> {
    entries: Entries<'a, E>,
    within: Option<Span>,
    front: Option<E::Walk<'a>>,
    back: Option<E::Walk<'a>>,
}

impl<'a, E: Entry> Flat<'a, E> {
    fn walk(&self, entry: &'a E) -> E::Walk<'a> {
        match self.within {
            Some(within) if entry.first() < within.first || entry.last() > within.last => {
                entry.walk_between(within.first, within.last)
            }
            _ => entry.walk(),
        }
    }

    #[inline]
    fn next(&mut self) -> Option<Span> {
        loop {
            if let Some(span) = self.front.as_mut().and_then(Iterator::next) {
                return Some(span);
            }
            match self.entries.next() {
                Some(entry) => self.front = Some(self.walk(entry)),
                None => return self.back.as_mut().and_then(Iterator::next),
            }
        }
    }

    fn next_back(&mut self) -> Option<Span> {
        loop {
            if let Some(span) = self.back.as_mut().and_then(DoubleEndedIterator::next_back) {
                return Some(span);
            }
            match self.entries.next_back() {
                Some(entry) => self.back = Some(self.walk(entry)),
                None => return self.front.as_mut().and_then(DoubleEndedIterator::next_back),
            }
        }
    }
}

impl Pieces<'_> {
    #[inline]
    fn next(&mut self) -> Option<Span> {
        match self {
            Pieces::One(span) => span.take(),
            Pieces::Spans(flat) => flat.next(),
            Pieces::Blocks(flat) => flat.next(),
        }
    }

    fn next_back(&mut self) -> Option<Span> {
        match self {
            Pieces::One(span) => span.take(),
            Pieces::Spans(flat) => flat.next_back(),
            Pieces::Blocks(flat) => flat.next_back(),
        }
    }
}

impl<'a> Spans<'a> {
    fn over(pieces: Pieces<'a>) -> Spans<'a> {
        Spans { pieces, front: None, back: None }
    }

    pub(crate) fn of_blocks(tree: &'a Tree<Block>) -> Spans<'a> {
        Spans::over(Pieces::Blocks(Flat { entries: tree.iter(), within: None, front: None, back: None }))
    }

    pub(crate) fn of_pieces(tree: &'a Tree<Chunk>) -> Spans<'a> {
        Spans::over(Pieces::Spans(Flat { entries: tree.iter(), within: None, front: None, back: None }))
    }
}

impl Iterator for Spans<'_> {
    type Item = Span;

    #[inline]
    fn next(&mut self) -> Option<Span> {
        let mut span = self.front.take().or_else(|| self.pieces.next()).or_else(|| self.back.take())?;
        loop {
            match self.pieces.next() {
                Some(next) if next.first == span.last + 1 => span.last = next.last,
                Some(next) => {
                    self.front = Some(next);
                    return Some(span);
                }
                None => {
                    if let Some(back) = self.back.take_if(|back| back.first == span.last + 1) {
                        span.last = back.last;
                    }
                    return Some(span);
                }
            }
        }
    }
}

impl DoubleEndedIterator for Spans<'_> {
    fn next_back(&mut self) -> Option<Span> {
        let mut span = self.back.take().or_else(|| self.pieces.next_back()).or_else(|| self.front.take())?;
        loop {
            match self.pieces.next_back() {
                Some(next) if next.last + 1 == span.first => span.first = next.first,
                Some(next) => {
                    self.back = Some(next);
                    return Some(span);
                }
                None => {
                    if let Some(front) = self.front.take_if(|front| front.last + 1 == span.first) {
                        span.first = front.first;
                    }
                    return Some(span);
                }
            }
        }
    }
}

/// The keys of a row set, ascending.
#[derive(Clone)]
pub struct Keys<'a> {
    rows: &'a RowSet,
    spans: Spans<'a>,
    front: Option<Span>,
    back: Option<Span>,
    left: u64,
}

/// Spans looked at one by one before the way is taken from the top again.
const STEPS: usize = 16;

impl Keys<'_> {
    /// Drops the keys below `key`.
    pub fn advance_to(&mut self, key: u64) {
        for _ in 0..STEPS {
            match self.front.take().or_else(|| self.spans.next()).or_else(|| self.back.take()) {
                Some(span) if span.last < key => self.left -= span.len(),
                Some(span) => {
                    let first = span.first.max(key);
                    self.left -= first - span.first;
                    self.front = Some(Span { first, last: span.last });
                    return;
                }
                None => return,
            }
        }
        // What is left ends where the back has come to, counted from the front of the whole set.
        let Some(next) = self.peek() else { return };
        let end = self.rows.rank(next) + self.left;
        let last = self.rows.key_at(end - 1).unwrap_or(MAX_KEY);
        self.front = None;
        self.back = None;
        if key > last {
            self.spans = Spans::over(Pieces::One(None));
            self.left = 0;
            return;
        }
        self.spans = self.rows.spans_between(key, last);
        self.left = end - self.rows.rank(key);
    }

    fn peek(&mut self) -> Option<u64> {
        self.front = self.front.take().or_else(|| self.spans.next()).or_else(|| self.back.take());
        self.front.map(|span| span.first)
    }
}

impl Iterator for Keys<'_> {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        if let Some(span) = &mut self.front
            && span.first < span.last
        {
            span.first += 1;
            self.left -= 1;
            return Some(span.first - 1);
        }
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
        match &self.0 {
            Repr::Empty => Spans::over(Pieces::One(None)),
            Repr::Span(span) => Spans::over(Pieces::One(Some(*span))),
            Repr::Spans(tree) => Spans::of_pieces(tree),
            Repr::Blocks(tree) => Spans::of_blocks(tree),
        }
    }

    /// The maximal ranges of the keys within `first ..= last`, without making a set of them.
    pub fn spans_between(&self, first: u64, last: u64) -> Spans<'_> {
        let within = Span { first, last };
        Spans::over(match &self.0 {
            _ if first > last => Pieces::One(None),
            Repr::Empty => Pieces::One(None),
            Repr::Span(span) => Pieces::One(crate::repr::span::meet(*span, within)),
            Repr::Spans(tree) => Pieces::Spans(Flat {
                entries: tree.iter_between(first, last),
                within: Some(within),
                front: None,
                back: None,
            }),
            Repr::Blocks(tree) => Pieces::Blocks(Flat {
                entries: tree.iter_between(first, last),
                within: Some(within),
                front: None,
                back: None,
            }),
        })
    }

    /// The keys, ascending.
    pub fn iter(&self) -> Keys<'_> {
        Keys { rows: self, spans: self.spans(), front: None, back: None, left: self.len() }
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

    /// The first keys of up to `parts` parts of about equal size: where parallel work may be cut.
    pub fn split_points(&self, parts: usize) -> Vec<u64> {
        let parts = (parts.max(1) as u64).min(self.len());
        (0..parts).filter_map(|part| self.key_at(share(self.len(), part, parts))).collect()
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

impl<'a> IntoIterator for &'a RowSet {
    type Item = u64;
    type IntoIter = Keys<'a>;
    fn into_iter(self) -> Keys<'a> {
        self.iter()
    }
}
