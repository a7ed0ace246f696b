//! A block as bits.

use std::cell::Cell;
use std::sync::Arc;

use super::{ARRAY_MAX, Container, Few, INLINE, RUNS_MAX, Run, TOP};
pub(crate) use crate::kernels::Bitmap;
use crate::kernels::{self, Counts, Filled, Room, STRIDE, STRIDES, Tally, WORDS, Words};
use crate::repr::container::ops::{first_bit_from, last_bit_to};

impl Bitmap {
    pub(super) fn has(&self, key: u16) -> bool {
        self.words[key as usize / 64] >> (key % 64) & 1 == 1
    }

    pub(super) fn rank(&self, key: u16) -> u32 {
        kernels::rank(&self.words, &self.before, key)
    }

    pub(super) fn at(&self, pos: u32) -> u16 {
        let stride = self.before.partition_point(|&before| before as u32 <= pos) - 1;
        kernels::select_from(&self.words, &self.before, stride, pos)
    }

    /// The keys at ascending positions.
    pub(crate) fn keys_at(&self, positions: &[u64], before: u64, base: u64, out: &mut Vec<u64>) {
        let mut stride = 0;
        out.extend(positions.iter().map(|&pos| {
            let pos = (pos - before) as u32;
            stride = crate::kernels::lists::gallop(&self.before, stride, pos as u16);
            // What is found is the first that is not below: it is the one, or the one in front is.
            stride -= usize::from(stride == STRIDES || self.before[stride] as u32 > pos);
            base + kernels::select_from(&self.words, &self.before, stride, pos) as u64
        }));
    }

    pub(crate) fn write_keys(&self, base: u64, into: &mut Vec<u64>) {
        let from = into.len();
        into.resize(from + self.len as usize, 0);
        let (mut word, mut rest, mut base) = (self.words[0], &self.words[1..], base);
        kernels::list(&mut word, &mut rest, &mut base, &mut into[from..]);
    }

    pub(super) fn flip(&mut self, key: u16) {
        let word = key as usize / 64;
        self.words[word] ^= 1 << (key % 64);
        if self.words[word] >> (key % 64) & 1 == 1 {
            self.len += 1;
            self.before[word / STRIDE + 1..].iter_mut().for_each(|before| *before = before.wrapping_add(1));
        } else {
            self.len -= 1;
            self.before[word / STRIDE + 1..].iter_mut().for_each(|before| *before = before.wrapping_sub(1));
        }
    }
}

impl Bitmap {
    /// Sets the bits of these ascending keys to `on`, and counts once. The counting waits: first come
    /// the words, each of which may be a cache miss, in a loop that depends on none of them.
    pub(super) fn set(&mut self, keys: &[u16], on: bool) {
        let mut flipped = [0u16; STRIDES];
        for &key in keys {
            let (word, bit) = (key as usize / 64, key % 64);
            let own = &mut self.words[word];
            let flips = (*own >> bit & 1) ^ u64::from(on);
            *own ^= flips << bit;
            flipped[word / STRIDE] += flips as u16;
        }
        let mut total = 0u16;
        for (before, flipped) in self.before.iter_mut().zip(flipped) {
            *before = if on { before.wrapping_add(total) } else { before.wrapping_sub(total) };
            total = total.wrapping_add(flipped);
        }
        self.len = if on { self.len + total as u32 } else { self.len - total as u32 };
    }
}

impl Container {
    /// The keys of a bitmap that `fill` writes. It is written where it stays, or used again for the next one.
    pub(crate) fn from_filled(fill: impl FnOnce(Room) -> Filled) -> Option<Container> {
        let filled = fill(SPARE.take().unwrap_or_else(Arc::new_uninit));
        let bitmap = filled.bitmap();
        match smaller(&bitmap.words, &bitmap.before, filled.tally) {
            Some(keys) => {
                SPARE.set(Some(filled.give_back()));
                keys
            }
            None => Some(Container::Bitmap(filled.keep())),
        }
    }
}

impl Container {
    /// The keys as bits, whatever would be smaller.
    pub(super) fn bits(&self) -> Arc<Bitmap> {
        let mut words = [0; WORDS];
        self.write_words(&mut words);
        let room = SPARE.take().unwrap_or_else(Arc::new_uninit);
        kernels::fill(room, |at| words.as_chunks().0[at]).keep()
    }
}

thread_local! {
    /// A bitmap that nobody else holds, to be written over.
    static SPARE: Cell<Option<Room>> = const { Cell::new(None) };
}

/// What is better than a bitmap, if anything is: no container at all for no keys.
fn smaller(words: &Words, before: &Counts, tally: Tally) -> Option<Option<Container>> {
    let Tally { keys, runs } = tally;
    if keys == 0 {
        return Some(None);
    }
    if runs == 1 {
        let ends = first_bit_from(words, 0).zip(last_bit_to(words, TOP));
        return Some(ends.map(|(first, last)| Container::range(first, last)));
    }
    if keys as usize <= ARRAY_MAX && 3 * runs >= keys || keys as usize <= INLINE {
        let mut list = vec![0; keys as usize];
        kernels::list_block(words, &mut list);
        return Some(Some(match list.len() {
            ..=INLINE => Container::Few(Few::new(&list)),
            _ => Container::Array(Arc::from(list)),
        }));
    }
    if runs as usize <= RUNS_MAX && 3 * runs < keys {
        return Some(Some(Container::of_runs(&runs_of(words, before, tally))));
    }
    None
}

/// The runs of a block. Eight words that are all ones, or all zeros, are passed over by their counts.
fn runs_of(words: &Words, before: &Counts, tally: Tally) -> Vec<Run> {
    let mut runs = Vec::with_capacity(tally.runs as usize);
    let mut open: Option<u16> = None;
    let ends = before[1..].iter().copied().chain([tally.keys as u16]);
    for (at, (stride, (start, end))) in words.as_chunks::<STRIDE>().0.iter().zip(before.iter().zip(ends)).enumerate() {
        let ones = end.wrapping_sub(*start) as usize;
        if ones == if open.is_some() { 64 * STRIDE } else { 0 } {
            continue;
        }
        for (word, &bits) in (at * STRIDE..).zip(stride) {
            let base = (word * 64) as u16;
            // Ones where a run begins, or where it has ended.
            let mut edges = bits ^ (bits << 1 | u64::from(open.is_some()));
            while edges != 0 {
                let edge = base + edges.trailing_zeros() as u16;
                edges &= edges - 1;
                match open.take() {
                    Some(first) => runs.push(Run::new(first, edge - 1)),
                    None => open = Some(edge),
                }
            }
        }
    }
    runs.extend(open.map(|first| Run::new(first, TOP)));
    runs
}
