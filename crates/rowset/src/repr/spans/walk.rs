//! A chunk piece by piece.

use super::Pieces;
use super::ranges::length;
use crate::key::Span;

/// The pieces of a chunk, from both ends.
#[derive(Clone)]
pub(crate) struct ChunkWalk<'a> {
    pub(super) base: u64,
    pub(super) pieces: &'a Pieces,
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) clip: Span,
}

impl ChunkWalk<'_> {
    #[inline]
    fn piece(&self, at: usize) -> Span {
        let (first, more) = match self.pieces {
            Pieces::Keys(keys) => (keys[at] as u64, 0),
            Pieces::Spans { firsts, ends } => (firsts[at], length(ends, at) - 1),
        };
        let first = self.base.wrapping_add(first);
        Span { first: first.max(self.clip.first), last: (first + more).min(self.clip.last) }
    }
}

impl Iterator for ChunkWalk<'_> {
    type Item = Span;

    #[inline]
    fn next(&mut self) -> Option<Span> {
        if self.from >= self.to {
            return None;
        }
        self.from += 1;
        Some(self.piece(self.from - 1))
    }
}

impl DoubleEndedIterator for ChunkWalk<'_> {
    fn next_back(&mut self) -> Option<Span> {
        if self.from >= self.to {
            return None;
        }
        self.to -= 1;
        Some(self.piece(self.to))
    }
}
