//! Bit masks to row sets and back, by words and runs, never by single bits.

use crate::build::Builder;
use crate::{MAX_KEY, RowSet, Span};

/// Bits of a byte slice from a bit offset on, 64 at a time; bits past the end are 0.
#[derive(Clone, Copy)]
pub(crate) struct Bits<'a> {
    bytes: &'a [u8],
    offset: usize,
    len: usize,
}

impl<'a> Bits<'a> {
    pub(crate) fn new(bytes: &'a [u8], offset: usize, len: usize) -> Bits<'a> {
        assert!(offset.checked_add(len).is_some_and(|end| end.div_ceil(8) <= bytes.len()), "the mask has that many bits");
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
                if shift == 0 { low } else { low >> shift | next << (64 - shift) }
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

impl RowSet {
    /// Key `first_key + i` for each set bit `i` of `len` bits from bit `offset` on.
    pub fn from_mask(first_key: u64, bits: &[u8], offset: usize, len: usize) -> RowSet {
        let mut builder = Builder::new();
        Bits::new(bits, offset, len).runs(0, len, |start, len| {
            builder.push(first_key + start, first_key + start + (len - 1));
        });
        builder.finish()
    }

    /// The `i`-th key of this set for each set bit `i` from bit `offset` on. One bit a key.
    pub fn select_mask(&self, bits: &[u8], offset: usize) -> RowSet {
        let len = usize::try_from(self.len()).expect("one bit a key");
        let bits = Bits::new(bits, offset, len);
        let mut builder = Builder::new();
        let mut from = 0;
        for span in self.spans() {
            bits.runs(from, span.len() as usize, |start, len| {
                builder.push(span.first + start, span.first + start + (len - 1));
            });
            from += span.len() as usize;
        }
        builder.finish()
    }

    /// Bit `i` says whether `within.first + i` is in the set.
    pub fn to_mask(&self, within: Span) -> Vec<u64> {
        let mut words = vec![0u64; usize::try_from(within.len().div_ceil(64)).expect("the mask fits in memory")];
        for span in self.between(within.first, within.last.min(MAX_KEY)).spans() {
            set_bits(&mut words, span.first - within.first, span.last - within.first);
        }
        words
    }
}

/// Sets bits `first ..= last`.
pub(crate) fn set_bits(words: &mut [u64], first: u64, last: u64) {
    let (low, high) = ((first / 64) as usize, (last / 64) as usize);
    let (head, tail) = (u64::MAX << (first % 64), u64::MAX >> (63 - last % 64));
    if low == high {
        words[low] |= head & tail;
    } else {
        words[low] |= head;
        words[low + 1..high].fill(u64::MAX);
        words[high] |= tail;
    }
}
