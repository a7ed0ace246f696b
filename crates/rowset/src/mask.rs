//! Bit masks to row sets and back, by words and runs, never by single bits.

use crate::build::Builder;
use crate::kernels::{self, Filled, Room, STRIDE, WORDS};
use crate::key::{MAX_KEY, Span};
use crate::repr::Repr;
use crate::repr::blocks::{Block, number_of};
use crate::repr::container::Container;
use crate::repr::tree::Entry;
use crate::rowset::RowSet;

/// Bits of a byte slice from a bit offset on, 64 at a time; bits past the end are 0.
#[derive(Clone, Copy)]
pub(crate) struct Bits<'a> {
    bytes: &'a [u8],
    offset: usize,
    len: usize,
}

impl<'a> Bits<'a> {
    pub(crate) fn new(bytes: &'a [u8], offset: usize, len: usize) -> Bits<'a> {
        assert!(
            offset.checked_add(len).is_some_and(|end| end.div_ceil(8) <= bytes.len()),
            "the mask has that many bits"
        );
        Bits { bytes, offset, len }
    }

    /// Bits `at .. at + 64`.
    pub(crate) fn word(&self, at: usize) -> u64 {
        if at >= self.len {
            return 0;
        }
        let start = self.offset + at;
        let (byte, shift) = (start / 8, start % 8);
        let word = match self.bytes.get(byte..byte + 8) {
            Some(eight) => {
                let low = u64::from_le_bytes(eight.try_into().expect("eight bytes"));
                let next = self.bytes.get(byte + 8).copied().unwrap_or(0) as u64;
                low >> shift | next << 1 << (63 - shift)
            }
            None => {
                let rest = &self.bytes[byte..];
                let low = rest.iter().rev().fold(0u64, |word, &byte| word << 8 | byte as u64);
                low >> shift
            }
        };
        match self.len - at {
            left if left < 64 => word & ((1 << left) - 1),
            _ => word,
        }
    }

    /// Calls `run(start, len)` for each run of ones in bits `from .. from + len`.
    pub(crate) fn runs(&self, from: usize, len: usize, mut run: impl FnMut(u64, u64)) {
        let part = Bits { bytes: self.bytes, offset: self.offset + from, len: len.min(self.len - from) };
        let mut open: Option<u64> = None;
        for at in (0..part.len).step_by(64) {
            let mut word = part.word(at);
            let mut base = at as u64;
            let mut left = 64;
            if word == u64::MAX {
                open.get_or_insert(base);
                continue;
            }
            loop {
                if let Some(start) = open {
                    let ones = word.trailing_ones();
                    if ones == left {
                        break;
                    }
                    run(start, base + ones as u64 - start);
                    open = None;
                    word >>= ones;
                    base += ones as u64;
                    left -= ones;
                }
                if word == 0 {
                    break;
                }
                let zeros = word.trailing_zeros();
                word >>= zeros;
                base += zeros as u64;
                left -= zeros;
                open = Some(base);
            }
        }
        if let Some(start) = open {
            run(start, part.len as u64 - start);
        }
    }
}

/// Masks of fewer bits are read by runs alone.
const BY_BLOCKS_FROM: u64 = 4096;

impl Bits<'_> {
    /// The 64 bits from `at` on, where `at` may lie in front of the first.
    fn word_around(&self, at: i64) -> u64 {
        match at {
            0.. => self.word(at as usize),
            -63..0 => self.word(0) << -at,
            _ => 0,
        }
    }

    /// A block of the bits from `at` on.
    fn block(&self, at: i64, room: Room) -> Filled {
        let start = self.offset as i64 + at;
        let inside = at >= 0 && at + (1 << 16) <= self.len as i64;
        let shift = start % 8;
        let bytes = inside.then(|| &self.bytes[start as usize / 8..]);
        if let Some(bytes) = bytes.filter(|bytes| shift == 0 && bytes.len() >= 8 * WORDS) {
            let eights = bytes.as_chunks::<8>().0.as_chunks::<STRIDE>().0;
            return kernels::fill(room, |at| eights[at].map(u64::from_le_bytes));
        }
        // Words of a block and the one behind them, from which each takes its last bits.
        if let Some(bytes) = bytes.filter(|bytes| bytes.len() >= 8 * WORDS + 8) {
            let words = bytes.as_chunks::<8>().0;
            return kernels::fill(room, |at| {
                let own: &[[u8; 8]; STRIDE + 1] = words[at * STRIDE..].first_chunk().expect("nine words");
                let own = own.map(u64::from_le_bytes);
                // Shifted in two steps, as one of 64 is none.
                std::array::from_fn(|word| own[word] >> shift | own[word + 1] << 1 << (63 - shift))
            });
        }
        kernels::fill(room, |stride| {
            std::array::from_fn(|word| self.word_around(at + ((stride * STRIDE + word) * 64) as i64))
        })
    }

    /// Adds `first_key + i` for each set bit of `from .. from + len`.
    fn write(&self, first_key: u64, from: usize, len: u64, builder: &mut Builder) {
        if len < BY_BLOCKS_FROM {
            self.runs(from, len as usize, |start, len| builder.push(first_key + start, first_key + start + (len - 1)));
            return;
        }
        let part = Bits { bytes: self.bytes, offset: self.offset + from, len: len as usize };
        for number in number_of(first_key)..=number_of(first_key + (len - 1)) {
            let at = (number << 16) as i64 - first_key as i64;
            let keys = Container::from_filled(|room| part.block(at, room));
            if let Some(keys) = keys {
                builder.push_block(Block::one(number, keys));
            }
        }
    }
}

impl RowSet {
    /// Key `first_key + i` for each set bit `i` of `len` bits from bit `offset` on.
    pub fn from_mask(first_key: u64, bits: &[u8], offset: usize, len: usize) -> RowSet {
        let bits = Bits::new(bits, offset, len);
        if len == 0 {
            return RowSet::new();
        }
        assert!(first_key.checked_add(len as u64 - 1).is_some_and(|last| last <= MAX_KEY), "row keys");
        let mut builder = if len as u64 >= BY_BLOCKS_FROM { Builder::of_blocks() } else { Builder::new() };
        bits.write(first_key, 0, len as u64, &mut builder);
        builder.finish()
    }

    /// The `i`-th key of this set for each set bit `i` from bit `offset` on. One bit a key.
    pub fn select_mask(&self, bits: &[u8], offset: usize) -> RowSet {
        let len = usize::try_from(self.len()).expect("one bit a key");
        if let Some(span) = self.as_span() {
            return RowSet::from_mask(span.first, bits, offset, len);
        }
        let bits = Bits::new(bits, offset, len);
        match &self.0 {
            Repr::Blocks(tree) => {
                let mut builder = Builder::of_blocks();
                let mut from = 0;
                for block in tree.iter() {
                    select_block(block, &bits, from, &mut builder);
                    from += block.len() as usize;
                }
                builder.finish()
            }
            _ => {
                let mut builder = Builder::new();
                select_spans(self.spans(), &bits, 0, &mut builder);
                builder.finish()
            }
        }
    }

    /// Bit `i` says whether `within.first + i` is in the set.
    pub fn to_mask(&self, within: Span) -> Vec<u64> {
        let mut words = vec![0u64; usize::try_from(within.len().div_ceil(64)).expect("the mask fits in memory")];
        if let Repr::Blocks(tree) = &self.0
            && within.first.is_multiple_of(64)
        {
            for block in tree.iter_between(within.first, within.last) {
                copy_block(block, within, &mut words);
            }
            return words;
        }
        for span in self.spans_between(within.first, within.last.min(MAX_KEY)) {
            kernels::set_bits(&mut words, span.first - within.first, span.last - within.first);
        }
        words
    }
}

/// Copies the words of a bitmap; other blocks by their runs.
fn copy_block(block: &Block, within: Span, words: &mut [u64]) {
    if let Some(keys) = block.keys.listed()
        && within.first <= block.first()
        && block.last() <= within.last
    {
        let start = (block.first() - within.first) as usize / 64;
        keys.iter().for_each(|&key| words[start + key as usize / 64] |= 1 << (key % 64));
        return;
    }
    let Container::Bitmap(bitmap) = &block.keys else {
        block.walk_between(within.first, within.last).for_each(|span| {
            kernels::set_bits(words, span.first - within.first, span.last - within.first);
        });
        return;
    };
    let (first, last) = (block.first().max(within.first), block.last().min(within.last));
    if first > last {
        return;
    }
    let (from, to) = ((first - block.first()) as usize / 64, (last - block.first()) as usize / 64);
    let at = (first - within.first) as usize / 64;
    words[at..=at + (to - from)].copy_from_slice(&bitmap.words[from..=to]);
    // `within` may end inside a word.
    words[at + (to - from)] &= u64::MAX >> (63 - last % 64);
}

fn select_block(block: &Block, bits: &Bits<'_>, from: usize, builder: &mut Builder) {
    match &block.keys {
        Container::Bitmap(bitmap) => {
            let mut at = from;
            let next = |count: u32| {
                at += count as usize;
                bits.word(at - count as usize)
            };
            let keys = Container::from_filled(|room| kernels::select(&bitmap.words, next, room));
            if let Some(keys) = keys {
                builder.push_block(Block::one(block.number, keys));
            }
        }
        Container::Few(_) | Container::Array(_) => {
            let keys = block.keys.listed().unwrap_or(&[]);
            let mut kept = Vec::with_capacity(keys.len());
            for (keys, at) in keys.chunks(64).zip((from..).step_by(64)) {
                let mut word = bits.word(at);
                if keys.len() < 64 {
                    word &= (1 << keys.len()) - 1;
                }
                while word != 0 {
                    kept.push(keys[word.trailing_zeros() as usize]);
                    word &= word - 1;
                }
            }
            if let Some(keys) = Container::from_keys(&kept) {
                builder.push_block(Block::one(block.number, keys));
            }
        }
        _ => select_spans(block.walk(), bits, from, builder),
    }
}

fn select_spans(spans: impl Iterator<Item = Span>, bits: &Bits<'_>, mut from: usize, builder: &mut Builder) {
    for span in spans {
        bits.write(span.first, from, span.len(), builder);
        from += span.len() as usize;
    }
}
