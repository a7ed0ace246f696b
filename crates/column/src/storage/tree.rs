//! The index from keys to blocks: a path-compressed radix tree whose leaves hold up to 64 neighbouring blocks.
//!
//! Cloning a tree clones one `Arc`. An edit copies the nodes on its path that another clone still holds.

use std::sync::Arc;

use crate::storage::block::Block;

const FAN_BITS: u32 = 6;
/// Blocks of a leaf.
pub(crate) const FAN: u64 = 1 << FAN_BITS;

/// The number of the leaf that holds a block.
pub(crate) fn leaf_of(block: u64) -> u64 {
    block >> FAN_BITS
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
    /// The leaf number without the bits that this node and the nodes below it branch on.
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

    /// Any leaf number below this node: enough to find the bit at which its path differs from another.
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

    /// Removes the leaf of this number if it is empty.
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

/// Looks up blocks one after the other; consecutive blocks of one leaf need no descent.
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
