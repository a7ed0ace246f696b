//! Walking a row set in the forms it is kept in: ranges, words of bits, and keys that stand apart.

use crate::key::Span;
use crate::repr::Repr;
use crate::repr::container::Container;
use crate::repr::part::Part;
use crate::repr::tree::Entry;
use crate::rowset::RowSet;

/// Keys that stand apart are handed over so many at a time: what they lead to can be asked for at once.
const KEYS: usize = 512;
/// Shorter than this, a range costs more than its keys.
const SHORT_SPAN: u64 = 4;

/// Some neighbours among the keys of a row set.
#[derive(Clone, Copy, Debug)]
pub enum Segment<'a> {
    /// A range; the next one may touch it.
    Span(Span),
    /// Keys that mostly stand apart, ascending.
    Keys(&'a [u64]),
    /// Bit `i` of word `w` says whether `first + 64 * w + i` is one of them. `first` is a multiple of 2^16.
    Words {
        /// What the first bit stands for.
        first: u64,
        /// As many as there are in 2^16 keys.
        words: &'a [u64],
    },
}

impl RowSet {
    /// Hands over all keys, ascending, in the forms they are kept in.
    pub fn segments(&self, take: impl FnMut(Segment<'_>)) {
        let mut walk = Walk { take, keys: [0; KEYS], len: 0 };
        match &self.0 {
            Repr::Empty => {}
            Repr::Span(span) => walk.span(*span),
            Repr::Spans(tree) => tree.iter().for_each(|chunk| walk.part(chunk.part())),
            Repr::Blocks(tree) => tree.iter().for_each(|block| match &block.keys {
                Container::Bitmap(bits) => walk.hand_over(Segment::Words { first: block.first(), words: &bits.words }),
                _ => walk.part(block.part()),
            }),
        }
        walk.flush();
    }
}

struct Walk<F> {
    take: F,
    /// Keys that were not handed over yet.
    keys: [u64; KEYS],
    len: usize,
}

impl<F: FnMut(Segment<'_>)> Walk<F> {
    fn part(&mut self, mut part: Part<'_>) {
        if let Part::Lows { .. } | Part::Offsets { .. } = part {
            loop {
                self.len += part.fill_keys(&mut None, &mut self.keys[self.len..]);
                if self.len < KEYS {
                    return;
                }
                self.flush();
            }
        }
        let mut spans = [Span { first: 0, last: 0 }; 32];
        loop {
            let count = part.fill_spans(&mut spans, 0);
            spans[..count].iter().for_each(|span| self.span(*span));
            if count < spans.len() {
                return;
            }
        }
    }

    fn span(&mut self, span: Span) {
        if span.len() >= SHORT_SPAN {
            return self.hand_over(Segment::Span(span));
        }
        for key in span.first..=span.last {
            self.keys[self.len] = key;
            self.len += 1;
            if self.len == KEYS {
                self.flush();
            }
        }
    }

    fn hand_over(&mut self, stretch: Segment<'_>) {
        self.flush();
        (self.take)(stretch);
    }

    fn flush(&mut self) {
        if self.len > 0 {
            (self.take)(Segment::Keys(&self.keys[..self.len]));
            self.len = 0;
        }
    }
}
