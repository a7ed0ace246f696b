//! Positions of many keys of a block at once: the bits of the keys where the set has ones, moved together.

use super::Cursor;
use crate::build::Builder;
use crate::kernels::{self, WORDS, Words};
use crate::repr::Repr;
use crate::repr::blocks::{Block, low_of, number_of};
use crate::repr::container::Container;
use crate::repr::tree::{Entry, Tree};
use crate::rowset::RowSet;
use crate::sizes::EXTRACT_FROM;

/// The positions of keys that are all in the set; none where keys are few a block, or lie in long ranges.
pub(super) fn positions_in(tree: &Tree<Block>, keys: &RowSet) -> Option<RowSet> {
    let Repr::Blocks(wanted) = &keys.0 else { return None };
    let hull = keys.hull()?;
    let blocks = number_of(hull.last) - number_of(hull.first) + 1;
    if keys.0.heft() < blocks * EXTRACT_FROM.rows() {
        return None;
    }
    let mut cursor = Cursor::new(tree);
    let mut stream = Stream::new();
    let (mut few, mut ranks) = (Vec::new(), Vec::new());
    let (mut bits, mut mask) = (Room::new(), Room::new());
    for entry in wanted.iter() {
        for number in entry.number..entry.end() {
            let own = cursor.seek(number << 16)?;
            let before = cursor.before + ((number - own.number) << 16);
            if entry.len() < EXTRACT_FROM.rows() {
                few.clear();
                ranks.clear();
                entry.write_keys(&mut few);
                own.ranks(&few, cursor.before, &mut ranks);
                ranks.iter().for_each(|rank| stream.put(*rank, 1));
                continue;
            }
            let mut at = before;
            kernels::extract(bits.words_of(&entry.keys), mask.words_of(&own.keys), |bits, count| {
                stream.put(at, bits);
                at += count as u64;
            });
        }
    }
    Some(stream.finish())
}

/// Room for the words of a container that is no bitmap.
struct Room(Box<Words>);

impl Room {
    fn new() -> Room {
        Room(Box::new([0; WORDS]))
    }

    fn words_of<'a>(&'a mut self, keys: &'a Container) -> &'a Words {
        if let Container::Bitmap(bitmap) = keys {
            return &bitmap.words;
        }
        self.0.fill(0);
        keys.write_words(&mut self.0);
        &self.0
    }
}

/// A row set written as bits, in ascending order.
struct Stream {
    builder: Builder,
    /// The block being written.
    number: u64,
    words: Box<Words>,
    is_empty: bool,
}

impl Stream {
    fn new() -> Stream {
        Stream { builder: Builder::of_blocks(), number: 0, words: Box::new([0; WORDS]), is_empty: true }
    }

    /// Adds `at + i` for each set bit `i`.
    #[inline(always)]
    fn put(&mut self, at: u64, bits: u64) {
        if bits == 0 {
            return;
        }
        if number_of(at) != self.number {
            self.go_on(number_of(at));
        }
        let (word, shift) = (low_of(at) as usize / 64, at % 64);
        self.words[word] |= bits << shift;
        self.is_empty = false;
        // Shifted in two steps, as one of 64 is none.
        let rest = bits >> 1 >> (63 - shift);
        if rest == 0 {
            return;
        }
        if word + 1 == WORDS {
            self.go_on(self.number + 1);
            self.words[0] = rest;
            self.is_empty = false;
        } else {
            self.words[word + 1] |= rest;
        }
    }

    fn go_on(&mut self, number: u64) {
        if !self.is_empty {
            if let Some(keys) = Container::from_words(&self.words) {
                self.builder.push_block(Block::one(self.number, keys));
            }
            self.words.fill(0);
            self.is_empty = true;
        }
        self.number = number;
    }

    fn finish(mut self) -> RowSet {
        self.go_on(0);
        self.builder.finish()
    }
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::*;
    use crate::key::Span;
    use crate::space::Positions;

    fn random(seed: u64, keys: std::ops::Range<u64>, one_in: u64) -> RowSet {
        let mut random = Rng::with_seed(seed);
        RowSet::from_keys(keys.filter(|_| random.u64(..one_in) == 0).collect())
    }

    /// Bitmaps, lists, ranges and full blocks, in both sets.
    fn sets() -> Vec<RowSet> {
        let mut sets = Vec::new();
        for (seed, one_in) in [(1, 2), (2, 9), (3, 70)] {
            let mut keys = random(seed, 0..400_000, one_in);
            let spans = [(70_000, 75_000), (131_072, 262_143 + 500), (300_000, 300_100)];
            keys |= &RowSet::from_spans(spans.map(|(first, last)| Span { first, last }));
            keys |= &random(seed + 9, 970_000..1_100_000, one_in);
            sets.push(keys);
        }
        sets
    }

    #[test]
    fn positions_by_bits_are_those_of_each_key() {
        let mut by_bits = 0;
        for set in sets() {
            for (seed, one_in) in [(5, 1), (6, 2), (7, 5), (8, 150)] {
                // All of the two full blocks, too.
                let full = set.rank(131_072);
                let mut kept = random(seed, 0..set.len(), one_in);
                if seed % 2 == 0 {
                    kept |= &RowSet::range(full, full + 131_071);
                }
                let keys = set.at(&Positions(kept.clone()));
                let Repr::Blocks(tree) = &set.0 else { panic!("blocks") };
                if let Some(found) = positions_in(tree, &keys) {
                    found.validate().expect("well made");
                    assert_eq!(found, kept, "one key in {one_in}");
                    by_bits += 1;
                }
                assert_eq!(set.positions_of(&keys).0, kept);
            }
        }
        assert_eq!(by_bits, 9, "how many went this way");
    }
}
