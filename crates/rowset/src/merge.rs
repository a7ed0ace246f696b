//! Pieces by pieces: what only one side has is shared, the rest merged as lists of keys, or by the ends of ranges.

use crate::build::Builder;
use crate::kernels::{Op, merge_ints};
use crate::key::{MAX_KEY, Span};
use crate::repr::spans::Chunk;
use crate::repr::tree::{Entries, Entry, Tree};
use crate::rowset::RowSet;

/// The chunks of one side from the first key on that has not been taken.
struct Side<'a> {
    entries: Entries<'a, Chunk>,
    chunk: Option<&'a Chunk>,
    from: u64,
    /// The keys of the chunk that meet the other side, counted from a base.
    keys: Vec<u32>,
}

impl<'a> Side<'a> {
    fn new(tree: &'a Tree<Chunk>) -> Side<'a> {
        let mut entries = tree.iter();
        let chunk = entries.next();
        Side { entries, chunk, from: 0, keys: Vec::new() }
    }

    /// The first and the last key of the chunk that have not been taken.
    fn ends(&self) -> Option<Span> {
        let chunk = self.chunk?;
        let first = match self.from <= chunk.first_key() {
            true => chunk.first_key(),
            false => chunk.walk_between(self.from, MAX_KEY).next()?.first,
        };
        Some(Span { first, last: chunk.last_key() })
    }

    /// Goes on behind `end`.
    fn pass(&mut self, end: u64) {
        self.from = end + 1;
        if self.chunk.is_some_and(|chunk| chunk.last_key() <= end) {
            self.chunk = self.entries.next();
        }
    }

    /// Takes all that is left of the chunk.
    fn take(&mut self, builder: &mut Builder) {
        let Some(chunk) = self.chunk else { return };
        if self.from <= chunk.first_key() {
            builder.push_chunk(chunk);
        } else {
            builder.push_all(chunk.walk_between(self.from, MAX_KEY));
        }
        self.pass(chunk.last_key());
    }

    /// Lists the keys up to `end`, counted from `base`; not if they are ranges.
    fn list(&mut self, end: u64, base: u64) -> bool {
        self.keys.clear();
        self.chunk.is_some_and(|chunk| chunk.write_listed(self.from, end, base, &mut self.keys))
    }

    fn spans_to(&self, end: u64) -> impl Iterator<Item = Span> + use<'a> {
        let from = self.from;
        self.chunk.into_iter().flat_map(move |chunk| chunk.walk_between(from, end))
    }
}

pub(crate) fn merge_pieces(op: Op, left: &Tree<Chunk>, right: &Tree<Chunk>) -> RowSet {
    let mut builder = Builder::new();
    let mut merged = Vec::new();
    let (mut left, mut right) = (Side::new(left), Side::new(right));
    loop {
        match (left.ends(), right.ends()) {
            (Some(l), Some(r)) if l.first <= r.last && r.first <= l.last => {
                let end = l.last.min(r.last);
                let base = l.first.min(r.first);
                if end - base <= u32::MAX as u64 && left.list(end, base) && right.list(end, base) {
                    let len = merge_ints(op, &left.keys, &right.keys, &mut merged);
                    builder.push_offsets(base, &merged[..len]);
                } else {
                    sweep(op, left.spans_to(end), right.spans_to(end), &mut builder);
                }
                left.pass(end);
                right.pass(end);
            }
            (Some(l), r) if r.is_none_or(|r| l.last < r.first) => match op.keeps_left() {
                true => left.take(&mut builder),
                false if r.is_none() => return builder.finish(),
                false => left.pass(l.last),
            },
            (l, Some(r)) => match op.keeps_right() {
                true => right.take(&mut builder),
                false if l.is_none() => return builder.finish(),
                false => right.pass(r.last),
            },
            _ => return builder.finish(),
        }
    }
}

/// Sweeps over the ends of the spans of both sides.
pub(crate) fn sweep(
    op: Op,
    mut lefts: impl Iterator<Item = Span>,
    mut rights: impl Iterator<Item = Span>,
    builder: &mut Builder,
) {
    let (mut l, mut r) = (lefts.next(), rights.next());
    // Ends are one past the last key; MAX_KEY + 1 still fits in u64.
    let mut from = 0;
    loop {
        (l, r) = match (l, r) {
            (Some(left), Some(right)) => {
                let low = left.first.min(right.first).max(from);
                let (in_left, in_right) = (left.first <= low, right.first <= low);
                let edge = |inside: bool, span: Span| if inside { span.last + 1 } else { span.first };
                let end = edge(in_left, left).min(edge(in_right, right));
                if op.keeps(in_left, in_right) {
                    builder.push(low, end - 1);
                }
                from = end;
                (
                    if left.last < end { lefts.next() } else { Some(left) },
                    if right.last < end { rights.next() } else { Some(right) },
                )
            }
            (Some(left), None) if op.keeps_left() => {
                builder.push(left.first.max(from), left.last);
                return builder.push_all(lefts);
            }
            (None, Some(right)) if op.keeps_right() => {
                builder.push(right.first.max(from), right.last);
                return builder.push_all(rights);
            }
            _ => return,
        };
    }
}
