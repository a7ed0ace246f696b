//! Which block holds a key: a path-compressed radix tree whose leaves hold up to 64 neighbouring blocks.
//!
//! Cloning a tree clones one `Arc`. An edit copies the nodes on its path that another clone still holds.

use std::sync::Arc;

use rowset::RowSet;

use crate::sizes::{LISTED_KEYS, SAMPLED_SPANS};
use crate::storage::block::Block;

/// Keys a block spans.
pub(crate) const BLOCK: usize = 1 << BLOCK_BITS;
const BLOCK_BITS: u32 = 12;
const FAN_BITS: u32 = 6;
/// Blocks of a leaf.
pub(crate) const FAN: u64 = 1 << FAN_BITS;

/// Neighbouring keys inside one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// Number of the block: its first key over the block size.
    pub block: u64,
    /// First cell of the run in the block.
    pub offset: usize,
    /// Cells, never 0.
    pub len: usize,
}

impl Run {
    /// The number of the leaf that holds the block.
    pub(crate) fn leaf(&self) -> u64 {
        leaf_of(self.block)
    }
}

/// Shorter than this on average, spans cost more than their keys.
const SHORT_SPAN: u64 = 4;

/// The spans of a row set, cut at the edges of blocks.
pub(crate) fn runs(rows: &RowSet) -> Runs<'_> {
    match listed(rows) {
        Some(keys) => Runs::Keys(keys, 0),
        None => Runs::Spans { spans: rows.spans(), next: 1, last: 0 },
    }
}

/// The keys of a row set, if they mostly stand apart and are not too many to be written out.
pub(crate) fn listed(rows: &RowSet) -> Option<Vec<u64>> {
    (rows.len() <= LISTED_KEYS.rows() && stands_apart(rows)).then(|| rows.to_vec())
}

/// The block of the first of these ascending keys, and how many of them are in it.
pub(crate) fn leading_block(keys: &[u64]) -> Option<(u64, usize)> {
    let block = locate(*keys.first()?).0;
    let last = block << BLOCK_BITS | (BLOCK as u64 - 1);
    Some((block, keys.iter().take_while(|key| **key <= last).count()))
}

fn stands_apart(rows: &RowSet) -> bool {
    let sampled = SAMPLED_SPANS.get();
    let (spans, keys) = rows.spans().take(sampled).fold((0, 0), |(spans, keys), span| (spans + 1, keys + span.len()));
    spans == sampled as u64 && keys < spans * SHORT_SPAN
}

/// The runs of a row set, from its spans or from its keys: random keys come out of a row set faster
/// as a list than as spans of one.
#[allow(clippy::large_enum_variant, reason = "one a walk, on the stack; a box would cost more than it saves")]
pub(crate) enum Runs<'a> {
    Spans { spans: rowset::Spans<'a>, next: u64, last: u64 },
    Keys(Vec<u64>, usize),
}

impl Iterator for Runs<'_> {
    type Item = Run;

    #[inline]
    fn next(&mut self) -> Option<Run> {
        match self {
            Runs::Spans { spans, next, last } => {
                if *next > *last {
                    let span = spans.next()?;
                    (*next, *last) = (span.first, span.last);
                }
                let run = first_run(*next, *last);
                *next += run.len as u64;
                Some(run)
            }
            Runs::Keys(keys, at) => {
                let run = leading_run(&keys[*at..])?;
                *at += run.len;
                Some(run)
            }
        }
    }
}

/// The keys of a range up to the edge of a block.
pub(crate) fn first_run(first: u64, last: u64) -> Run {
    let (block, offset) = locate(first);
    let len = (BLOCK - offset).min(usize::try_from(last - first).map_or(BLOCK, |more| more + 1));
    Run { block, offset, len }
}

/// The runs of ascending keys.
pub(crate) fn runs_of(keys: &[u64]) -> impl Iterator<Item = Run> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let run = leading_run(&keys[at..])?;
        at += run.len;
        Some(run)
    })
}

fn leading_run(keys: &[u64]) -> Option<Run> {
    let first = *keys.first()?;
    let (block, offset) = locate(first);
    let mut len = 1;
    while offset + len < BLOCK && keys.get(len).is_some_and(|key| *key == first + len as u64) {
        len += 1;
    }
    Some(Run { block, offset, len })
}

/// The number of the leaf that holds a block.
pub(crate) fn leaf_of(block: u64) -> u64 {
    block >> FAN_BITS
}

/// The block of a key, and its place there.
pub(crate) fn locate(key: u64) -> (u64, usize) {
    (key >> BLOCK_BITS, (key & (BLOCK as u64 - 1)) as usize)
}

/// Up to 64 neighbouring blocks.
#[derive(Clone)]
pub(crate) struct Leaf {
    number: u64,
    present: u64,
    blocks: Vec<Arc<Block>>,
}

#[derive(Clone)]
struct Inner {
    /// Bits of the leaf number below the ones this node branches on.
    shift: u32,
    /// Leaf number without the bits from this node down.
    prefix: u64,
    present: u64,
    children: Vec<Arc<Node>>,
}

#[derive(Clone)]
enum Node {
    Inner(Inner),
    Leaf(Leaf),
}

/// Blocks by number.
#[derive(Clone, Default)]
pub(crate) struct Tree {
    root: Option<Arc<Node>>,
}

fn rank(present: u64, bit: u64) -> usize {
    (present & (bit - 1)).count_ones() as usize
}

impl Leaf {
    fn new(number: u64) -> Leaf {
        Leaf { number, present: 0, blocks: Vec::new() }
    }

    pub(crate) fn block(&self, block: u64) -> Option<&Arc<Block>> {
        let bit = 1 << (block % FAN);
        if self.present & bit == 0 { None } else { self.blocks.get(rank(self.present, bit)) }
    }

    pub(crate) fn block_mut(&mut self, block: u64) -> Option<&mut Arc<Block>> {
        let bit = 1 << (block % FAN);
        if self.present & bit == 0 { None } else { self.blocks.get_mut(rank(self.present, bit)) }
    }

    /// A block, made first if there is none.
    pub(crate) fn block_or_insert(&mut self, block: u64, make: impl FnOnce() -> Arc<Block>) -> &mut Arc<Block> {
        let bit = 1 << (block % FAN);
        let at = rank(self.present, bit);
        if self.present & bit == 0 {
            self.present |= bit;
            self.blocks.insert(at, make());
        }
        &mut self.blocks[at]
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn blocks_mut(&mut self) -> impl Iterator<Item = &mut Arc<Block>> {
        self.blocks.iter_mut()
    }

    pub(crate) fn remove(&mut self, block: u64) {
        let bit = 1 << (block % FAN);
        if self.present & bit != 0 {
            self.blocks.remove(rank(self.present, bit));
            self.present &= !bit;
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Numbers and blocks, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &Arc<Block>)> {
        let bits = (0..FAN).filter(|bit| self.present >> bit & 1 == 1);
        bits.map(|bit| self.number << FAN_BITS | bit).zip(&self.blocks)
    }
}

impl Inner {
    fn slot(&self, leaf: u64) -> u64 {
        1 << (leaf >> self.shift & (FAN - 1))
    }
}

impl Node {
    fn covers(&self, leaf: u64) -> bool {
        match self {
            Node::Leaf(found) => found.number == leaf,
            Node::Inner(inner) => above(leaf, inner.shift) == inner.prefix,
        }
    }

    /// Any leaf number below this node: enough to see where it parts from another.
    fn some_leaf(&self) -> u64 {
        match self {
            Node::Leaf(leaf) => leaf.number,
            Node::Inner(inner) => inner.prefix.checked_shl(inner.shift + FAN_BITS).unwrap_or(0),
        }
    }

    fn leaves<'a>(&'a self, visit: &mut dyn FnMut(&'a Leaf)) {
        match self {
            Node::Leaf(leaf) => visit(leaf),
            Node::Inner(inner) => inner.children.iter().for_each(|child| child.leaves(visit)),
        }
    }
}

fn above(leaf: u64, shift: u32) -> u64 {
    leaf.checked_shr(shift + FAN_BITS).unwrap_or(0)
}

impl Tree {
    /// The leaf of this number.
    pub(crate) fn leaf(&self, number: u64) -> Option<&Leaf> {
        let mut node = self.root.as_deref()?;
        loop {
            match node {
                Node::Leaf(leaf) => return (leaf.number == number).then_some(leaf),
                Node::Inner(inner) => {
                    let bit = inner.slot(number);
                    if above(number, inner.shift) != inner.prefix || inner.present & bit == 0 {
                        return None;
                    }
                    node = &inner.children[rank(inner.present, bit)];
                }
            }
        }
    }

    /// The leaf of this number to edit, made first if there is none.
    pub(crate) fn leaf_mut(&mut self, number: u64) -> &mut Leaf {
        let root = self.root.get_or_insert_with(|| Arc::new(Node::Leaf(Leaf::new(number))));
        descend(root, number)
    }

    /// Takes away the leaf of this number if it is empty.
    pub(crate) fn prune(&mut self, number: u64) {
        if self.root.as_mut().is_some_and(|root| prune(root, number)) {
            self.root = None;
        }
    }

    /// Every leaf, ascending.
    pub(crate) fn leaves(&self) -> Vec<&Leaf> {
        let mut leaves = Vec::new();
        if let Some(root) = &self.root {
            root.leaves(&mut |leaf| leaves.push(leaf));
        }
        leaves
    }
}

fn descend(slot: &mut Arc<Node>, number: u64) -> &mut Leaf {
    if !slot.covers(number) {
        let old = slot.clone();
        let other = old.some_leaf();
        let shift = (63 - (other ^ number).leading_zeros()) / FAN_BITS * FAN_BITS;
        let mut inner = Inner { shift, prefix: above(number, shift), present: 0, children: vec![old] };
        inner.present = inner.slot(other);
        *slot = Arc::new(Node::Inner(inner));
    }
    match Arc::make_mut(slot) {
        Node::Leaf(leaf) => leaf,
        Node::Inner(inner) => {
            let bit = inner.slot(number);
            let at = rank(inner.present, bit);
            if inner.present & bit == 0 {
                inner.present |= bit;
                inner.children.insert(at, Arc::new(Node::Leaf(Leaf::new(number))));
            }
            descend(&mut inner.children[at], number)
        }
    }
}

/// Whether the node itself has become empty.
fn prune(slot: &mut Arc<Node>, number: u64) -> bool {
    if !slot.covers(number) {
        return false;
    }
    if let Node::Leaf(leaf) = &**slot {
        return leaf.is_empty();
    }
    let Node::Inner(inner) = Arc::make_mut(slot) else { return false };
    let bit = inner.slot(number);
    let at = rank(inner.present, bit);
    if inner.present & bit != 0 && prune(&mut inner.children[at], number) {
        inner.children.remove(at);
        inner.present &= !bit;
    }
    if let [only] = &inner.children[..] {
        *slot = only.clone();
        return false;
    }
    inner.children.is_empty()
}

/// Looks blocks up one after the other, staying in a leaf as long as it serves.
pub(crate) struct Cursor<'a> {
    tree: &'a Tree,
    number: u64,
    leaf: Option<&'a Leaf>,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(tree: &'a Tree) -> Cursor<'a> {
        Cursor { tree, number: u64::MAX, leaf: None }
    }

    /// The block of this number.
    pub(crate) fn block(&mut self, block: u64) -> Option<&'a Arc<Block>> {
        let number = leaf_of(block);
        if number != self.number {
            self.number = number;
            self.leaf = self.tree.leaf(number);
        }
        self.leaf?.block(block)
    }
}
