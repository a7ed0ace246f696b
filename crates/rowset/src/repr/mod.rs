//! Representations of a row set: empty, one range, sorted pieces, or blocks of 2^16 keys.
//!
//! One range takes no heap memory. Pieces are used when there are few of them or when keys are far apart, blocks
//! otherwise. `Builder` chooses by the number of pieces per block, with hysteresis, so that edits near the threshold do
//! not convert a set again and again.

pub(crate) mod blocks;
pub(crate) mod container;
pub(crate) mod part;
pub(crate) mod span;
pub(crate) mod spans;
pub(crate) mod tree;
pub(crate) mod walk;

use std::borrow::Cow;

use crate::key::Span;
use blocks::Block;
use spans::Chunk;
use tree::Tree;
use walk::Spans;

/// A growing set changes from spans to blocks at this many pieces per block.
pub(crate) const BLOCKS_FROM: u64 = 32;
/// A finished set, which will not grow further, is kept in blocks from this many pieces per block on.
pub(crate) const BLOCKS_FROM_WHOLE: u64 = 16;
/// A set changes back from blocks to spans below this many pieces per block.
pub(crate) const SPANS_BELOW: u64 = 8;
/// A set of at most this many pieces is never kept in blocks.
pub(crate) const ALWAYS_SPANS: u64 = 64;

#[derive(Clone, Default)]
pub(crate) enum Repr {
    #[default]
    Empty,
    Span(Span),
    Spans(Tree<Chunk>),
    Blocks(Tree<Block>),
}

impl Repr {
    /// Entries to look at when all are looked at.
    pub(crate) fn entries(&self) -> usize {
        match self {
            Repr::Empty => 0,
            Repr::Span(_) => 1,
            Repr::Spans(tree) => tree.entries(),
            Repr::Blocks(tree) => tree.entries(),
        }
    }

    /// About how many maximal ranges.
    pub(crate) fn heft(&self) -> u64 {
        match self {
            Repr::Empty => 0,
            Repr::Span(_) => 1,
            Repr::Spans(tree) => tree.heft(),
            Repr::Blocks(tree) => tree.heft(),
        }
    }

    /// The form that what is left deserves, where that is seen without looking at all of it.
    pub(crate) fn of_spans(tree: Tree<Chunk>) -> Repr {
        span::single(&tree).unwrap_or(Repr::Spans(tree))
    }

    pub(crate) fn of_blocks(tree: Tree<Block>) -> Repr {
        if let Some(single) = span::single(&tree) {
            return single;
        }
        if tree.entries() <= 4 && tree.heft() < SPANS_BELOW * tree.entries() as u64 {
            return Repr::Spans(pieces_of(&tree));
        }
        Repr::Blocks(tree)
    }
}

/// Blocks as pieces.
pub(crate) fn pieces_of(tree: &Tree<Block>) -> Tree<Chunk> {
    let spans: Vec<Span> = Spans::of_blocks(tree).collect();
    Tree::build(Chunk::from_spans(&spans))
}

/// Pieces as blocks.
pub(crate) fn blocks_of(tree: &Tree<Chunk>) -> Tree<Block> {
    Tree::build(blocks::BlockStream::gathered(Spans::of_pieces(tree)).map(Cow::into_owned).collect())
}
