//! Blocks of 2^16 keys, a run of full ones as one entry.

use std::borrow::Cow;

use super::container::{Container, Run, TOP};
use super::part::Part;
use super::tree::{Entries, Entry};
use super::walk::Spans;
use crate::kernels::lists::gallop;
use crate::kernels::{self, Op};
use crate::key::Span;
use crate::repr::container::ops::{self, Walk, combine};

/// One block with at least one key, or a run of full blocks.
#[derive(Clone)]
pub(crate) struct Block {
    /// The key's high part: `key >> 16`.
    pub(crate) number: u64,
    /// More than 1 only where they are full.
    pub(crate) blocks: u64,
    pub(crate) keys: Container,
}

pub(crate) fn number_of(key: u64) -> u64 {
    key >> 16
}

pub(crate) fn low_of(key: u64) -> u16 {
    key as u16
}

/// The keys that lie in the block of the first one, and that block's number.
pub(crate) fn leading(keys: &[u64]) -> Option<(u64, &[u64])> {
    let number = number_of(*keys.first()?);
    let count = keys.iter().take_while(|key| number_of(**key) == number).count();
    Some((number, &keys[..count]))
}

impl Block {
    pub(crate) fn one(number: u64, keys: Container) -> Block {
        Block { number, blocks: 1, keys }
    }

    pub(crate) fn full(number: u64, blocks: u64) -> Block {
        Block { number, blocks, keys: Container::Full }
    }

    fn base(&self) -> u64 {
        self.number << 16
    }

    /// One past the last block's number.
    pub(crate) fn end(&self) -> u64 {
        self.number + self.blocks
    }

    fn is_full(&self) -> bool {
        matches!(self.keys, Container::Full)
    }

    /// A span as a partial block, full ones, and a partial block.
    pub(crate) fn of_span(span: Span) -> Vec<Block> {
        let (low, high) = (number_of(span.first), number_of(span.last));
        if low == high {
            return vec![Block::one(low, Container::range(low_of(span.first), low_of(span.last)))];
        }
        let mut blocks = Vec::with_capacity(3);
        let (mut from, mut to) = (low, high);
        if low_of(span.first) != 0 {
            blocks.push(Block::one(low, Container::range(low_of(span.first), TOP)));
            from += 1;
        }
        if low_of(span.last) == TOP {
            to += 1;
        }
        if from < to {
            blocks.push(Block::full(from, to - from));
        }
        if to == high {
            blocks.push(Block::one(high, Container::range(0, low_of(span.last))));
        }
        blocks
    }

    pub(crate) fn write_keys(&self, into: &mut Vec<u64>) {
        let base = self.base();
        match &self.keys {
            Container::Bitmap(bits) => bits.write_keys(base, into),
            keys => match keys.listed() {
                Some(keys) => into.extend(keys.iter().map(|&key| base + key as u64)),
                None => self.walk().for_each(|span| into.extend(span.first..=span.last)),
            },
        }
    }

    pub(crate) fn moved(&self, blocks: i64) -> Block {
        Block { number: self.number.wrapping_add_signed(blocks), ..self.clone() }
    }

    /// Moved by any delta that keeps it in the key space (the caller has checked the ends of the set): the keys may come to lie in two blocks.
    pub(crate) fn shifted(&self, delta: i64) -> Vec<Block> {
        if self.is_full() {
            let to = |key: u64| key.wrapping_add_signed(delta);
            return Block::of_span(Span { first: to(self.base()), last: to(self.last()) });
        }
        let (blocks, up) = (delta >> 16, delta as u16);
        let (low, high) = ops::shift_up(&self.keys, up);
        let low = low.map(|keys| Block::one(self.number.wrapping_add_signed(blocks), keys));
        let high = high.map(|keys| Block::one(self.number.wrapping_add_signed(blocks + 1), keys));
        low.into_iter().chain(high).collect()
    }
}

impl Entry for Block {
    type Walk<'a> = BlockWalk<'a>;

    fn first(&self) -> u64 {
        self.base()
    }

    fn last(&self) -> u64 {
        (self.end() << 16) - 1
    }

    fn first_key(&self) -> u64 {
        self.base() + self.keys.first() as u64
    }

    fn last_key(&self) -> u64 {
        ((self.end() - 1) << 16) + self.keys.last() as u64
    }

    fn len(&self) -> u64 {
        self.blocks * self.keys.len() as u64
    }

    fn heft(&self) -> u64 {
        self.keys.weight()
    }

    fn contains(&self, key: u64) -> bool {
        key >= self.base() && number_of(key) < self.end() && self.keys.contains(low_of(key))
    }

    fn rank(&self, key: u64) -> u64 {
        if key <= self.base() {
            return 0;
        }
        if number_of(key) >= self.end() {
            return self.len();
        }
        if self.is_full() { key - self.base() } else { self.keys.rank(low_of(key)) as u64 }
    }

    fn at(&self, pos: u64) -> u64 {
        self.base() + if self.is_full() { pos } else { self.keys.at(pos as u32) as u64 }
    }

    fn ranks(&self, keys: &[u64], before: u64, out: &mut Vec<u64>) {
        if let Container::Bitmap(bitmap) = &self.keys {
            return kernels::ranks(bitmap, self.base(), keys, before, out);
        }
        let Some(own) = self.keys.listed() else {
            out.extend(keys.iter().map(|&key| before + self.rank(key)));
            return;
        };
        let (base, number) = (self.base(), self.number);
        let mut at = 0;
        out.extend(keys.iter().map(|&key| {
            match number_of(key) {
                above if above > number => at = own.len(),
                same if same == number => at = gallop(own, at, low_of(key)),
                _ => debug_assert!(key < base && at == 0),
            }
            before + at as u64
        }));
    }

    fn keys_at(&self, positions: &[u64], before: u64, out: &mut Vec<u64>) {
        let base = self.base();
        match (&self.keys, self.keys.listed()) {
            (_, Some(own)) => out.extend(positions.iter().map(|&pos| base + own[(pos - before) as usize] as u64)),
            (Container::Bitmap(bits), _) => bits.keys_at(positions, before, base, out),
            _ => out.extend(positions.iter().map(|&pos| self.at(pos - before))),
        }
    }

    fn part(&self) -> Part<'_> {
        if self.is_full() {
            return Part::One(Some(Span { first: self.base(), last: self.last() }));
        }
        Part::of_container(&self.keys, self.base(), 0)
    }

    fn part_from(&self, first: u64) -> Part<'_> {
        if number_of(first) >= self.end() {
            return Part::NONE;
        }
        if self.is_full() || first <= self.base() {
            return self.part();
        }
        Part::of_container(&self.keys, self.base(), low_of(first))
    }

    fn walk(&self) -> BlockWalk<'_> {
        self.walk_between(0, u64::MAX)
    }

    fn walk_between(&self, first: u64, last: u64) -> BlockWalk<'_> {
        let walk =
            if self.is_full() { Walk::full(self.base(), self.blocks) } else { Walk::new(&self.keys, self.base()) };
        let (low, high) = (first.max(self.base()), last.min(self.last()));
        if low > high {
            return BlockWalk { walk: Walk::none(), clip: Span { first, last } };
        }
        let walk = if self.blocks == 1 { walk.between(low_of(low), low_of(high)) } else { walk };
        BlockWalk { walk, clip: Span { first, last } }
    }

    fn clip(&self, first: u64, last: u64) -> Vec<Block> {
        let (first, last) = (first.max(self.base()), last.min(self.last()));
        if first > last {
            return Vec::new();
        }
        if self.is_full() {
            return Block::of_span(Span { first, last });
        }
        ops::clip(&self.keys, low_of(first), low_of(last))
            .map(|keys| Block::one(self.number, keys))
            .into_iter()
            .collect()
    }

    fn heap_bytes(&self) -> usize {
        self.keys.bytes()
    }

    #[cfg(test)]
    fn heap_at(&self) -> usize {
        match &self.keys {
            Container::Array(keys) => keys.as_ptr() as usize,
            Container::Runs(runs) => runs.as_ptr() as usize,
            Container::Bitmap(bitmap) => &raw const **bitmap as usize,
            _ => 0,
        }
    }

    fn check(&self) -> Result<(), String> {
        if self.blocks == 0 || (self.blocks > 1 && !self.is_full()) || self.end() > 1 << 47 {
            return Err(format!("block {} stands for {} blocks", self.number, self.blocks));
        }
        self.keys.validate().map_err(|broken| format!("block {}: {broken}", self.number))
    }

    fn merged(&self, next: &Block) -> Option<Block> {
        if self.number == next.number {
            return combine(Op::Union, &self.keys, &next.keys).map(|keys| Block::one(self.number, keys));
        }
        (self.is_full() && next.is_full() && self.end() == next.number)
            .then(|| Block::full(self.number, self.blocks + next.blocks))
    }

    fn is_small(&self) -> bool {
        self.is_full()
    }
}

/// The runs of a block, cut at the ends.
#[derive(Clone)]
pub(crate) struct BlockWalk<'a> {
    walk: Walk<'a>,
    clip: Span,
}

impl BlockWalk<'_> {
    #[inline]
    fn cut(&self, span: Span) -> Span {
        Span { first: span.first.max(self.clip.first), last: span.last.min(self.clip.last) }
    }
}

impl Iterator for BlockWalk<'_> {
    type Item = Span;

    #[inline]
    fn next(&mut self) -> Option<Span> {
        self.walk.next().map(|span| self.cut(span))
    }
}

impl DoubleEndedIterator for BlockWalk<'_> {
    fn next_back(&mut self) -> Option<Span> {
        self.walk.next_back().map(|span| self.cut(span))
    }
}

/// Any row set as blocks: those of a tree, or keys or spans gathered into blocks on the way.
pub(crate) enum BlockStream<'a> {
    Tree(Entries<'a, Block>),
    Listed { keys: Vec<u64>, at: usize, lows: Vec<u16> },
    Gathered(Box<Gathering<'a>>),
}

pub(crate) struct Gathering<'a> {
    spans: std::iter::Peekable<Spans<'a>>,
    /// The rest of a span that is larger than a block.
    rest: Vec<Block>,
    runs: Vec<Run>,
}

impl<'a> BlockStream<'a> {
    pub(crate) fn gathered(spans: Spans<'a>) -> BlockStream<'a> {
        BlockStream::Gathered(Box::new(Gathering { spans: spans.peekable(), rest: Vec::new(), runs: Vec::new() }))
    }
}

impl<'a> Iterator for BlockStream<'a> {
    type Item = Cow<'a, Block>;

    #[inline]
    fn next(&mut self) -> Option<Cow<'a, Block>> {
        match self {
            BlockStream::Tree(entries) => {
                let block = entries.next().map(Cow::Borrowed);
                if let Some(Block { keys: Container::Array(keys), .. }) = entries.peek() {
                    simd::prefetch_slice(keys);
                }
                block
            }
            BlockStream::Listed { keys, at, lows } => {
                let (number, own) = leading(&keys[*at..])?;
                lows.clear();
                lows.extend(own.iter().map(|&key| low_of(key)));
                *at += own.len();
                Some(Cow::Owned(Block::one(number, Container::from_keys(lows)?)))
            }
            BlockStream::Gathered(gathering) => gathering.next_block().map(Cow::Owned),
        }
    }
}

impl Gathering<'_> {
    fn next_block(&mut self) -> Option<Block> {
        // What is left of a cut span comes lowest first, so it is kept in reverse.
        let number = match self.rest.pop() {
            Some(block) => match (&block.keys, self.rest.is_empty()) {
                (Container::Range(first, last), true) => {
                    self.runs.clear();
                    self.runs.push(Run::new(*first, *last));
                    block.number
                }
                _ => return Some(block),
            },
            None => {
                self.runs.clear();
                number_of(self.spans.peek()?.first)
            }
        };
        while let Some(span) = self.spans.next_if(|span| number_of(span.first) == number) {
            if number_of(span.last) == number {
                self.runs.push(Run::new(low_of(span.first), low_of(span.last)));
                continue;
            }
            self.rest = Block::of_span(span);
            if self.rest[0].number == number && self.rest[0].blocks == 1 {
                self.runs.push(Run::new(low_of(span.first), TOP));
                self.rest.remove(0);
            }
            self.rest.reverse();
            break;
        }
        match Container::from_runs(&self.runs) {
            Some(keys) => Some(Block::one(number, keys)),
            None => self.next_block(),
        }
    }
}
