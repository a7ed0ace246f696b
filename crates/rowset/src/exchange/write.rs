//! Row sets as 64-bit Roaring portable bytes: each container once, straight to where it stays.

use super::{COOKIE, COOKIE_WITH_RUNS, LISTED_TO, NO_OFFSETS_BELOW, is_smaller_as_runs};
use crate::kernels::{self, WORDS};
use crate::key::Span;
use crate::repr::blocks::{Block, low_of, number_of};
use crate::repr::container::ops::Walk;
use crate::repr::container::{Container, Run, TOP};

/// Bytes so far, and the containers of the map of 32 bits that is being filled.
pub(super) struct Writer<'a> {
    bytes: Vec<u8>,
    maps: u64,
    high: u32,
    items: Vec<Item<'a>>,
    /// Runs of keys that are in no container.
    runs: Vec<Run>,
}

/// A container: its number, how many keys it has, and these.
struct Item<'a> {
    number: u16,
    as_runs: bool,
    keys: u32,
    /// In how many bytes the keys are written.
    size: u32,
    body: Body<'a>,
}

#[derive(Clone, Copy)]
enum Body<'a> {
    Kept(&'a Container),
    /// One key.
    Key(u16),
    /// Runs from here on, up to those of the next body of this kind.
    Runs {
        from: u32,
        to: u32,
    },
}

const FULL: Container = Container::Full;

impl<'a> Writer<'a> {
    /// With room for so many containers.
    pub(super) fn new(items: usize) -> Writer<'a> {
        Writer { bytes: Vec::new(), maps: 0, high: 0, items: Vec::with_capacity(items.min(1 << 16)), runs: Vec::new() }
    }

    pub(super) fn add_block(&mut self, block: &'a Block) {
        for number in block.number..block.end() {
            self.open(number);
            self.add_container(number as u16, &block.keys);
        }
    }

    /// A span that does not touch the one in front.
    #[inline]
    pub(super) fn add_span(&mut self, span: Span) {
        let (low, high) = (number_of(span.first), number_of(span.last));
        if low == high {
            return self.add_run(low, low_of(span.first), low_of(span.last));
        }
        self.add_run(low, low_of(span.first), TOP);
        for number in low + 1..high {
            self.open(number);
            self.add_container(number as u16, &FULL);
        }
        self.add_run(high, 0, low_of(span.last));
    }

    #[inline]
    fn add_container(&mut self, number: u16, container: &'a Container) {
        let keys = container.len();
        let as_runs = is_smaller_as_runs(container);
        let size = if as_runs { 2 + 4 * container.weight() as u32 } else { plain_size(keys) };
        self.items.push(Item { number, as_runs, keys, size, body: Body::Kept(container) });
    }

    #[inline]
    fn add_run(&mut self, number: u64, first: u16, last: u16) {
        self.open(number);
        let (number, run) = (number as u16, Run::new(first, last));
        let (from, keys) = (self.runs.len() as u32, run.len());
        let Some(item) = self.items.last_mut().filter(|item| item.number == number) else {
            let body = if first == last { Body::Key(first) } else { Body::Runs { from, to: from + 1 } };
            if first != last {
                self.runs.push(run);
            }
            let (as_runs, size) = if keys > 3 { (true, 6) } else { (false, 2 * keys) };
            return self.items.push(Item { number, as_runs, keys, size, body });
        };
        let (from, to) = match item.body {
            Body::Runs { from, to } => (from, to + 1),
            Body::Key(key) => {
                self.runs.push(Run::new(key, key));
                (from, from + 2)
            }
            Body::Kept(_) => unreachable!("a whole block leaves no room for more of it"),
        };
        self.runs.push(run);
        item.body = Body::Runs { from, to };
        item.keys += keys;
        item.as_runs = 2 + 4 * (to - from) < plain_size(item.keys);
        item.size = if item.as_runs { 2 + 4 * (to - from) } else { plain_size(item.keys) };
    }

    /// Goes on to the map that this block is in.
    #[inline]
    fn open(&mut self, number: u64) {
        let high = (number >> 16) as u32;
        if self.high != high {
            self.write_map();
            self.high = high;
        }
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        self.write_map();
        if self.bytes.is_empty() {
            self.bytes.resize(8, 0);
        }
        self.bytes[..8].copy_from_slice(&self.maps.to_le_bytes());
        self.bytes
    }

    /// Appends the map, if there is anything in it, and empties it.
    fn write_map(&mut self) {
        let count = self.items.len();
        if count == 0 {
            return;
        }
        let with_runs = self.items.iter().any(|item| item.as_runs);
        let size: usize = self.items.iter().map(|item| item.size as usize).sum();
        let has_offsets = !with_runs || count >= NO_OFFSETS_BELOW;
        let flags = if with_runs { count.div_ceil(8) } else { 4 };
        let front = 4 + flags + 4 * count + if has_offsets { 4 * count } else { 0 };
        // The number of maps stands in front of the first.
        let start = if self.maps == 0 { 8 } else { self.bytes.len() };
        self.bytes.reserve(start - self.bytes.len() + 4 + front + size);
        self.bytes.resize(start + 4 + front, 0);
        let (high, map) = self.bytes[start..].split_at_mut(4);
        high.copy_from_slice(&self.high.to_le_bytes());
        let (cookie, map) = map.split_at_mut(4);
        let (flags, map) = map.split_at_mut(flags);
        if with_runs {
            cookie.copy_from_slice(&(COOKIE_WITH_RUNS | (count as u32 - 1) << 16).to_le_bytes());
            for (at, _) in self.items.iter().enumerate().filter(|(_, item)| item.as_runs) {
                flags[at / 8] |= 1 << (at % 8);
            }
        } else {
            cookie.copy_from_slice(&COOKIE.to_le_bytes());
            flags.copy_from_slice(&(count as u32).to_le_bytes());
        }
        let (heads, offsets) = map.split_at_mut(4 * count);
        for (bytes, item) in heads.as_chunks_mut::<4>().0.iter_mut().zip(&self.items) {
            *bytes = (item.number as u32 | (item.keys - 1) << 16).to_le_bytes();
        }
        let mut offset = front as u32;
        for (bytes, item) in offsets.as_chunks_mut::<4>().0.iter_mut().zip(&self.items) {
            *bytes = offset.to_le_bytes();
            offset = offset.wrapping_add(item.size);
        }
        let runs = |from: u32, to: u32| &self.runs[from as usize..to as usize];
        for item in self.items.drain(..) {
            match item.body {
                Body::Key(key) => self.bytes.extend_from_slice(&key.to_le_bytes()),
                Body::Kept(keys) => write_container(keys, item.as_runs, &mut self.bytes),
                Body::Runs { from, to } if item.as_runs => write_runs(runs(from, to), &mut self.bytes),
                Body::Runs { from, to } => write_plain(runs(from, to), &mut self.bytes),
            }
        }
        self.maps += 1;
        self.runs.clear();
    }
}

/// Bytes of so many keys one by one, or as bits.
#[inline]
fn plain_size(keys: u32) -> u32 {
    if keys <= LISTED_TO { 2 * keys } else { 8 * WORDS as u32 }
}

fn write_runs(runs: &[Run], bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(&(runs.len() as u16).to_le_bytes());
    let start = bytes.len();
    bytes.resize(start + 4 * runs.len(), 0);
    for (four, run) in bytes[start..].as_chunks_mut::<4>().0.iter_mut().zip(runs) {
        *four = (run.first as u32 | ((run.last - run.first) as u32) << 16).to_le_bytes();
    }
}

/// Runs that take less room as keys, or as bits.
fn write_plain(runs: &[Run], bytes: &mut Vec<u8>) {
    if runs.iter().map(Run::len).sum::<u32>() <= LISTED_TO {
        let keys = runs.iter().flat_map(|run| run.first..=run.last);
        return keys.for_each(|key| bytes.extend_from_slice(&key.to_le_bytes()));
    }
    let mut words = [0; WORDS];
    runs.iter().for_each(|run| kernels::set_bits(&mut words, run.first as u64, run.last as u64));
    kernels::append_words(&words, bytes);
}

fn write_container(keys: &Container, as_runs: bool, bytes: &mut Vec<u8>) {
    match keys {
        Container::Runs(runs) if as_runs => write_runs(runs, bytes),
        _ if as_runs => write_runs(&[Run::new(keys.first(), keys.last())], bytes),
        Container::Bitmap(bitmap) if keys.len() > LISTED_TO => kernels::append_words(&bitmap.words, bytes),
        _ => match keys.listed() {
            Some(keys) => kernels::append_shorts(keys, bytes),
            None => {
                let runs: Vec<Run> =
                    Walk::new(keys, 0).map(|span| Run::new(span.first as u16, span.last as u16)).collect();
                write_plain(&runs, bytes);
            }
        },
    }
}
