//! Two blocks of 2^16 keys at a time.

use std::cell::RefCell;

use super::runs;
use crate::kernels::lists;
use crate::kernels::{self, Op, WORDS, Words};
use crate::repr::container::{Container, FEW_IN_ROW, Run, TOP};
use crate::sizes::{LOPSIDED, RUNS_AT_MOST};

/// `left op right`; nothing if no key is left.
pub(crate) fn combine(op: Op, left: &Container, right: &Container) -> Option<Container> {
    match (left, right) {
        (Container::Full, Container::Full) => op.keeps(true, true).then_some(Container::Full),
        (_, Container::Full) => match op {
            Op::Union => Some(Container::Full),
            Op::Intersection => Some(left.clone()),
            Op::Difference => None,
            Op::SymmetricDifference => complement(left),
        },
        (Container::Full, _) => match op {
            Op::Union => Some(Container::Full),
            Op::Intersection => Some(right.clone()),
            Op::Difference | Op::SymmetricDifference => complement(right),
        },
        (Container::Bitmap(left), Container::Bitmap(right)) => combine_words(op, &left.words, &right.words),
        (Container::Bitmap(bits), _) => combine_bitmap(op, left, &bits.words, right),
        (_, Container::Bitmap(bits)) => match op {
            Op::Difference => match left.listed_in(&mut [0; FEW_IN_ROW]) {
                Some(keys) => filtered(keys, &bits.words, false),
                None => combine_words(op, &words_of(left), &bits.words),
            },
            _ => combine_bitmap(op, right, &bits.words, left),
        },
        _ => match (left.listed(), right.listed()) {
            (Some(left), Some(right)) => merged(op, left, right),
            _ if left.weight() + right.weight() > RUNS_AT_MOST.rows() => {
                combine_words(op, &words_of(left), &words_of(right))
            }
            _ => SCRATCH.with_borrow_mut(|scratch| {
                let (left, right) =
                    (runs::runs_of(left, &mut scratch.left_runs), runs::runs_of(right, &mut scratch.right_runs));
                let len = runs::merge(op, left, right, &mut scratch.runs);
                Container::from_runs(&scratch.runs[..len])
            }),
        },
    }
}

/// Room for what is on its way, so that a result is allocated once, as large as it is.
#[derive(Default)]
struct Scratch {
    keys: Vec<u16>,
    runs: Vec<Run>,
    left_runs: Vec<Run>,
    right_runs: Vec<Run>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Two lists of keys.
fn merged(op: Op, left: &[u16], right: &[u16]) -> Option<Container> {
    SCRATCH.with_borrow_mut(|scratch| {
        let len = match left.len() / LOPSIDED.get() > right.len() || right.len() / LOPSIDED.get() > left.len() {
            true => lists::merge(op, left, right, &mut scratch.keys),
            false => kernels::merge_shorts(op, left, right, &mut scratch.keys),
        };
        Container::from_keys(&scratch.keys[..len])
    })
}

/// The keys that are in the bitmap, or those that are not.
fn filtered(keys: &[u16], bits: &Words, present: bool) -> Option<Container> {
    SCRATCH.with_borrow_mut(|scratch| {
        scratch.keys.resize(scratch.keys.len().max(keys.len() + 1), 0);
        let mut len = 0;
        for &key in keys {
            scratch.keys[len] = key;
            len += usize::from(has(bits, key) == present);
        }
        Container::from_keys(&scratch.keys[..len])
    })
}

/// A bitmap on the left, something smaller on the right.
fn combine_bitmap(op: Op, whole: &Container, bits: &Words, right: &Container) -> Option<Container> {
    match right.listed_in(&mut [0; FEW_IN_ROW]) {
        Some(keys) if op == Op::Intersection => filtered(keys, bits, true),
        Some(keys) => {
            // Nothing to do is common: keys that are already there, or were never.
            let changes = |key: &u16| op == Op::SymmetricDifference || has(bits, *key) == (op == Op::Difference);
            if !keys.iter().any(changes) {
                return Some(whole.clone());
            }
            let mut words = *bits;
            for key in keys {
                let (word, bit) = (&mut words[*key as usize / 64], 1u64 << (key % 64));
                *word = match op {
                    Op::Union => *word | bit,
                    Op::Difference => *word & !bit,
                    _ => *word ^ bit,
                };
            }
            Container::from_words(&words)
        }
        None => combine_words(op, bits, &words_of(right)),
    }
}

fn combine_words(op: Op, left: &Words, right: &Words) -> Option<Container> {
    Container::from_filled(|room| kernels::combine(op, left, right, room))
}

/// The keys of the block that are not in the container.
pub(crate) fn complement(container: &Container) -> Option<Container> {
    match container {
        Container::Full => None,
        Container::Bitmap(bits) => combine_words(Op::Difference, &[u64::MAX; WORDS], &bits.words),
        _ => {
            let (mut made, mut left) = (Vec::new(), Vec::new());
            let whole = [Run::new(0, TOP)];
            let len = runs::merge(Op::Difference, &whole, runs::runs_of(container, &mut made), &mut left);
            Container::from_runs(&left[..len])
        }
    }
}

/// The keys of the container within `first ..= last`.
pub(crate) fn clip(container: &Container, first: u16, last: u16) -> Option<Container> {
    if first <= container.first() && container.last() <= last {
        return Some(container.clone());
    }
    combine(Op::Intersection, container, &Container::range(first, last))
}

/// The keys moved up: those that stay in the block, and those that come to lie in the next one.
pub(crate) fn shift_up(container: &Container, up: u16) -> (Option<Container>, Option<Container>) {
    if let Container::Bitmap(bits) = container {
        let mut words = [0u64; 2 * WORDS];
        let (whole, part) = (up as usize / 64, up % 64);
        for (at, &word) in bits.words.iter().enumerate() {
            words[at + whole] |= word << part;
            if part > 0 {
                words[at + whole + 1] |= word >> (64 - part);
            }
        }
        let (low, high) = words.split_at(WORDS);
        let of = |words: &[u64]| words.try_into().ok().and_then(Container::from_words);
        return (of(low), of(high));
    }
    if let Some(keys) = container.listed() {
        let stay = keys.partition_point(|key| key.checked_add(up).is_some());
        let moved =
            |keys: &[u16]| Container::from_keys(&keys.iter().map(|key| key.wrapping_add(up)).collect::<Vec<_>>());
        return (moved(&keys[..stay]), moved(&keys[stay..]));
    }
    let (mut low, mut high) = (Vec::new(), Vec::new());
    for (first, last) in walk(container).map(|(first, last)| (first + up as u32, last + up as u32)) {
        if first <= TOP as u32 {
            low.push(Run::new(first as u16, last.min(TOP as u32) as u16));
        }
        if last > TOP as u32 {
            high.push(Run::new(first.saturating_sub(1 << 16) as u16, (last - (1 << 16)) as u16));
        }
    }
    (Container::from_runs(&low), Container::from_runs(&high))
}

/// Whether every key of `left` is in `right`.
pub(crate) fn is_subset(left: &Container, right: &Container) -> bool {
    match (left, right) {
        (_, Container::Full) => true,
        (Container::Bitmap(left), Container::Bitmap(right)) => {
            std::ptr::eq(&raw const **left, &raw const **right)
                || left.words.iter().zip(&right.words).all(|(left, right)| left & !right == 0)
        }
        _ if left.len() > right.len() => false,
        _ => match left.listed() {
            Some(keys) if keys.len() < 64 || matches!(right, Container::Bitmap(_)) => {
                keys.iter().all(|&key| right.contains(key))
            }
            _ => combine(Op::Difference, left, right).is_none(),
        },
    }
}

/// Whether some key is in both.
pub(crate) fn overlaps(left: &Container, right: &Container) -> bool {
    match (left, right) {
        (_, Container::Full) | (Container::Full, _) => true,
        (Container::Bitmap(left), Container::Bitmap(right)) => {
            left.words.iter().zip(&right.words).any(|(left, right)| left & right != 0)
        }
        _ => combine(Op::Intersection, left, right).is_some(),
    }
}

fn words_of(container: &Container) -> Words {
    let mut words = [0; WORDS];
    container.write_words(&mut words);
    words
}

fn has(words: &Words, key: u16) -> bool {
    words[key as usize / 64] >> (key % 64) & 1 == 1
}

fn walk(container: &Container) -> impl Iterator<Item = (u32, u32)> {
    Walk::new(container, 0).map(|span| (span.first as u32, span.last as u32))
}

/// The runs of a container as spans of keys, from both ends; keys of a list come one by one.
#[derive(Clone)]
pub(crate) struct Walk<'a> {
    base: u64,
    kind: Kind<'a>,
}

#[derive(Clone)]
enum Kind<'a> {
    One(Option<(u64, u64)>),
    Keys(std::slice::Iter<'a, u16>),
    Runs(std::slice::Iter<'a, Run>),
    Bits { words: &'a Words, from: Option<u16>, to: u16 },
}

impl<'a> Walk<'a> {
    pub(crate) fn new(container: &'a Container, base: u64) -> Walk<'a> {
        let kind = match container {
            Container::Full => Kind::One(Some((0, TOP as u64))),
            Container::Range(first, last) => Kind::One(Some((*first as u64, *last as u64))),
            Container::Few(few) => Kind::Keys(few.keys().iter()),
            Container::Array(keys) => Kind::Keys(keys.iter()),
            Container::Runs(runs) => Kind::Runs(runs.iter()),
            Container::Bitmap(bits) => Kind::Bits { words: &bits.words, from: Some(0), to: TOP },
        };
        Walk { base, kind }
    }

    /// No runs.
    pub(crate) fn none() -> Walk<'a> {
        Walk { base: 0, kind: Kind::One(None) }
    }

    /// Only the runs that meet `first ..= last`; they are not cut.
    pub(crate) fn between(mut self, first: u16, last: u16) -> Walk<'a> {
        match &mut self.kind {
            Kind::One(one) => {
                if one.is_some_and(|(low, high)| low > last as u64 || high < first as u64) {
                    *one = None;
                }
            }
            Kind::Keys(keys) => {
                let keys = keys.as_slice();
                let (from, to) = (keys.partition_point(|&key| key < first), keys.partition_point(|&key| key <= last));
                self.kind = Kind::Keys(keys[from..to].iter());
            }
            Kind::Runs(runs) => {
                let runs = runs.as_slice();
                let (from, to) =
                    (runs.partition_point(|run| run.last < first), runs.partition_point(|run| run.first <= last));
                self.kind = Kind::Runs(runs[from..to].iter());
            }
            Kind::Bits { from, to, .. } => {
                *from = Some(first);
                *to = last;
            }
        }
        self
    }

    /// A run of full blocks.
    pub(crate) fn full(base: u64, blocks: u64) -> Walk<'a> {
        Walk { base, kind: Kind::One(Some((0, (blocks << 16) - 1))) }
    }
}

impl Iterator for Walk<'_> {
    type Item = crate::key::Span;

    #[inline]
    fn next(&mut self) -> Option<crate::key::Span> {
        let (first, last) = match &mut self.kind {
            Kind::One(one) => one.take()?,
            Kind::Keys(keys) => keys.next().map(|&key| (key as u64, key as u64))?,
            Kind::Runs(runs) => runs.next().map(|run| (run.first as u64, run.last as u64))?,
            Kind::Bits { words, from, to } => {
                let first = first_bit_from(words, (*from)?).filter(|first| *first <= *to)?;
                let last = run_end(words, first).min(*to);
                *from = last.checked_add(1);
                (first as u64, last as u64)
            }
        };
        Some(crate::key::Span { first: self.base + first, last: self.base + last })
    }
}

impl DoubleEndedIterator for Walk<'_> {
    fn next_back(&mut self) -> Option<crate::key::Span> {
        let (first, last) = match &mut self.kind {
            Kind::One(one) => one.take()?,
            Kind::Keys(keys) => keys.next_back().map(|&key| (key as u64, key as u64))?,
            Kind::Runs(runs) => runs.next_back().map(|run| (run.first as u64, run.last as u64))?,
            Kind::Bits { words, from, to } => {
                let low = (*from)?;
                let last = last_bit_to(words, *to).filter(|last| *last >= low)?;
                let first = run_start(words, last).max(low);
                match first.checked_sub(1) {
                    Some(next) => *to = next,
                    None => *from = None,
                }
                (first as u64, last as u64)
            }
        };
        Some(crate::key::Span { first: self.base + first, last: self.base + last })
    }
}

/// The lowest one that is not below `from`.
#[inline]
pub(crate) fn first_bit_from(words: &Words, from: u16) -> Option<u16> {
    let at = from as usize / 64;
    let word = words[at] & (u64::MAX << (from % 64));
    if word != 0 {
        return Some((at * 64) as u16 + word.trailing_zeros() as u16);
    }
    let next = words[at + 1..].iter().position(|&word| word != 0)? + at + 1;
    Some((next * 64) as u16 + words[next].trailing_zeros() as u16)
}

/// The highest one that is not above `to`.
pub(crate) fn last_bit_to(words: &Words, to: u16) -> Option<u16> {
    let at = to as usize / 64;
    let word = words[at] & (u64::MAX >> (63 - to % 64));
    if word != 0 {
        return Some((at * 64) as u16 + 63 - word.leading_zeros() as u16);
    }
    let next = words[..at].iter().rposition(|&word| word != 0)?;
    Some((next * 64) as u16 + 63 - words[next].leading_zeros() as u16)
}

/// The end of the run of ones that `first` is in.
#[inline]
pub(crate) fn run_end(words: &Words, first: u16) -> u16 {
    let at = first as usize / 64;
    let holes = !words[at] & (u64::MAX << (first % 64));
    if holes != 0 {
        return (at * 64) as u16 + holes.trailing_zeros() as u16 - 1;
    }
    match words[at + 1..].iter().position(|&word| word != u64::MAX) {
        Some(next) => {
            let next = next + at + 1;
            ((next * 64) as u16 + words[next].trailing_ones() as u16) - 1
        }
        None => TOP,
    }
}

/// The start of the run of ones that `last` is in.
fn run_start(words: &Words, last: u16) -> u16 {
    let at = last as usize / 64;
    let holes = !words[at] & (u64::MAX >> (63 - last % 64));
    if holes != 0 {
        return (at * 64) as u16 + (64 - holes.leading_zeros()) as u16;
    }
    match words[..at].iter().rposition(|&word| word != u64::MAX) {
        Some(next) => (next * 64) as u16 + 64 - words[next].leading_ones() as u16,
        None => 0,
    }
}
