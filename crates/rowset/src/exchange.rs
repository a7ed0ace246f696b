//! 64-bit Roaring portable bytes, the format of deletion vectors, in and out.

use crate::build::Builder;
use crate::kernels::{self, WORDS};
use crate::repr::blocks::{Block, number_of};
use crate::repr::container::Container;
use crate::repr::container_ops::Walk;
use crate::repr::runs::runs_of;
use crate::{MAX_KEY, RowSet};

/// Why bytes are not a row set in 64-bit Roaring portable form.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RoaringError {
    /// The bytes end before the set does.
    #[error("the bytes end at {at}, before the set does")]
    Short {
        /// Where the bytes end.
        at: usize,
    },
    /// Something at this byte is not as the format has it.
    #[error("at byte {at}: {what}")]
    Malformed {
        /// Where.
        at: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// A key lies above the highest row key.
    #[error("key {key} lies above the highest row key")]
    OutOfKeys {
        /// The key.
        key: u64,
    },
}

const COOKIE: u32 = 12346;
const COOKIE_WITH_RUNS: u32 = 12347;
const NO_OFFSETS_BELOW: usize = 4;

impl RowSet {
    /// The set in 64-bit Roaring portable form. It takes up to eight bytes for each 2^16 keys of a range.
    pub fn to_roaring(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(usize::try_from(self.roaring_bytes_at_most()).unwrap_or(8));
        bytes.extend([0; 8]);
        let mut maps = 0u64;
        let mut map = Map::default();
        for block in self.blocks() {
            for number in block.number..block.end() {
                if map.high != (number >> 16) as u32 {
                    maps += map.write(&mut bytes);
                    map.high = (number >> 16) as u32;
                }
                map.blocks.push((number as u16, block.keys.clone()));
            }
        }
        maps += map.write(&mut bytes);
        bytes[..8].copy_from_slice(&maps.to_le_bytes());
        bytes
    }

    /// How long these bytes are at most; found without writing them, which the widest ranges forbid.
    pub fn roaring_bytes_at_most(&self) -> u64 {
        // Of each block its head, its offset and its keys; of each map its head.
        let blocks = self.blocks().map(|block| {
            let keys = match &block.keys {
                keys if is_smaller_as_runs(keys) => 2 + 4 * keys.weight(),
                keys => (2 * keys.len() as u64).min(8192),
            };
            block.blocks * (keys + 9) + (block.blocks >> 16) * 12 + 12
        });
        32 + blocks.sum::<u64>()
    }

    /// A set out of 64-bit Roaring portable bytes; safe on any bytes.
    pub fn from_roaring(bytes: &[u8]) -> Result<RowSet, RoaringError> {
        let mut reader = Reader { bytes, at: 0 };
        let maps = reader.u64()?;
        let mut builder = Builder::new();
        let mut above: Option<u32> = None;
        for _ in 0..maps {
            let at = reader.at;
            let high = reader.u32()?;
            if above.is_some_and(|above| above >= high) {
                return Err(RoaringError::Malformed { at, what: "maps do not ascend" });
            }
            above = Some(high);
            if (high as u64) << 32 > MAX_KEY {
                return Err(RoaringError::OutOfKeys { key: (high as u64) << 32 });
            }
            read_map(&mut reader, (high as u64) << 32, &mut builder)?;
        }
        if reader.at < bytes.len() {
            return Err(RoaringError::Malformed { at: reader.at, what: "bytes after the end" });
        }
        Ok(builder.finish())
    }
}

/// The containers of one map of 32 bits.
#[derive(Default)]
struct Map {
    high: u32,
    blocks: Vec<(u16, Container)>,
}

impl Map {
    /// Appends the map, if there is anything in it, and empties it; how many maps that makes.
    fn write(&mut self, bytes: &mut Vec<u8>) -> u64 {
        if self.blocks.is_empty() {
            return 0;
        }
        bytes.extend(self.high.to_le_bytes());
        let start = bytes.len();
        let runs: Vec<bool> = self.blocks.iter().map(|(_, keys)| is_smaller_as_runs(keys)).collect();
        let count = self.blocks.len();
        let with_runs = runs.contains(&true);
        if with_runs {
            bytes.extend((COOKIE_WITH_RUNS | (count as u32 - 1) << 16).to_le_bytes());
            bytes.extend(
                runs.chunks(8)
                    .map(|eight| eight.iter().enumerate().fold(0, |byte, (bit, &run)| byte | u8::from(run) << bit)),
            );
        } else {
            bytes.extend(COOKIE.to_le_bytes());
            bytes.extend((count as u32).to_le_bytes());
        }
        for (number, keys) in &self.blocks {
            bytes.extend(number.to_le_bytes());
            bytes.extend(((keys.len() - 1) as u16).to_le_bytes());
        }
        let offsets = bytes.len();
        let has_offsets = !with_runs || count >= NO_OFFSETS_BELOW;
        if has_offsets {
            bytes.resize(offsets + 4 * count, 0);
        }
        for (at, ((_, keys), run)) in self.blocks.drain(..).zip(runs).enumerate() {
            if has_offsets {
                let offset = (bytes.len() - start) as u32;
                bytes[offsets + 4 * at..offsets + 4 * at + 4].copy_from_slice(&offset.to_le_bytes());
            }
            write_container(&keys, run, bytes);
        }
        1
    }
}

/// Keys up to which a container without runs is a list.
const LISTED_TO: u32 = 4096;

fn is_smaller_as_runs(keys: &Container) -> bool {
    let plain = if keys.len() <= LISTED_TO { 2 * keys.len() as usize } else { 8192 };
    match keys {
        Container::Full | Container::Range(..) => 6 < plain,
        Container::Runs(runs) => 2 + 4 * runs.len() < plain,
        _ => false,
    }
}

fn write_container(keys: &Container, as_runs: bool, bytes: &mut Vec<u8>) {
    if as_runs {
        let mut made = Vec::new();
        let runs = runs_of(keys, &mut made);
        bytes.extend((runs.len() as u16).to_le_bytes());
        for run in runs {
            bytes.extend(run.first.to_le_bytes());
            bytes.extend((run.last - run.first).to_le_bytes());
        }
        return;
    }
    if keys.len() <= LISTED_TO {
        match keys.listed() {
            Some(keys) => {
                let start = bytes.len();
                bytes.resize(start + 2 * keys.len(), 0);
                bytes[start..].as_chunks_mut().0.iter_mut().zip(keys).for_each(|(two, key)| *two = key.to_le_bytes());
            }
            None => Walk::new(keys, 0).for_each(|span| {
                bytes.extend((span.first..=span.last).flat_map(|key| (key as u16).to_le_bytes()));
            }),
        }
        return;
    }
    let start = bytes.len();
    bytes.resize(start + 8 * WORDS, 0);
    let eights = bytes[start..].as_chunks_mut().0;
    match keys {
        Container::Bitmap(bitmap) => {
            eights.iter_mut().zip(&bitmap.words).for_each(|(eight, word)| *eight = word.to_le_bytes());
        }
        _ => {
            let mut words = [0; WORDS];
            keys.write_words(&mut words);
            eights.iter_mut().zip(&words).for_each(|(eight, word)| *eight = word.to_le_bytes());
        }
    }
}

fn read_map(reader: &mut Reader<'_>, base: u64, builder: &mut Builder) -> Result<(), RoaringError> {
    let at = reader.at;
    let cookie = reader.u32()?;
    let (count, runs) = if cookie == COOKIE {
        let count = reader.u32()? as usize;
        (count, &[][..])
    } else if cookie & 0xffff == COOKIE_WITH_RUNS {
        let count = (cookie >> 16) as usize + 1;
        (count, reader.take(count.div_ceil(8))?)
    } else {
        return Err(RoaringError::Malformed { at, what: "no cookie" });
    };
    if count > 1 << 16 {
        return Err(RoaringError::Malformed { at, what: "more containers than a map holds" });
    }
    let heads = reader.take(count * 4)?;
    if runs.is_empty() || count >= NO_OFFSETS_BELOW {
        reader.take(count * 4)?;
    }
    let mut above: Option<u16> = None;
    for (index, head) in heads.chunks_exact(4).enumerate() {
        let block = u16::from_le_bytes([head[0], head[1]]);
        let keys = u16::from_le_bytes([head[2], head[3]]) as usize + 1;
        if above.is_some_and(|above| above >= block) {
            return Err(RoaringError::Malformed { at, what: "containers do not ascend" });
        }
        above = Some(block);
        let is_runs = runs.get(index / 8).is_some_and(|byte| byte >> (index % 8) & 1 == 1);
        read_container(reader, base | (block as u64) << 16, keys, is_runs, builder)?;
    }
    Ok(())
}

/// Fewer keys of a block are not worth a block.
const ONE_BY_ONE: usize = 64;

fn read_container(
    reader: &mut Reader<'_>,
    base: u64,
    keys: usize,
    runs: bool,
    builder: &mut Builder,
) -> Result<(), RoaringError> {
    let at = reader.at;
    let mut next = 0u32;
    let mut found = 0usize;
    let mut push = |first: u32, last: u32| {
        if first < next || last > 0xffff {
            return Err(RoaringError::Malformed { at, what: "keys of a container do not ascend" });
        }
        next = last + 1;
        found += (last - first + 1) as usize;
        builder.push(base + first as u64, base + last as u64);
        Ok(())
    };
    if runs {
        let count = reader.u16()? as usize;
        for pair in reader.take(count * 4)?.chunks_exact(4) {
            let first = u16::from_le_bytes([pair[0], pair[1]]) as u32;
            push(first, first + u16::from_le_bytes([pair[2], pair[3]]) as u32)?;
        }
    } else if keys <= LISTED_TO as usize {
        let list: Vec<u16> =
            reader.take(keys * 2)?.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
        if !list.is_sorted_by(|left, right| left < right) {
            return Err(RoaringError::Malformed { at, what: "keys of a container do not ascend" });
        }
        if list.len() < ONE_BY_ONE {
            list.iter().for_each(|&key| builder.push(base + key as u64, base + key as u64));
        } else if let Some(keys) = Container::from_keys(&list) {
            builder.push_block(Block::one(number_of(base), keys));
        }
        return Ok(());
    } else {
        let bytes = reader.take(8192)?;
        let container = Container::from_filled(|words, before| {
            words.iter_mut().zip(bytes.as_chunks::<8>().0).for_each(|(word, bytes)| *word = u64::from_le_bytes(*bytes));
            kernels::tally(words, before)
        });
        found = container.as_ref().map_or(0, |keys| keys.len() as usize);
        if let Some(keys) = container {
            builder.push_block(Block::one(number_of(base), keys));
        }
    }
    if found != keys {
        return Err(RoaringError::Malformed { at, what: "a container does not hold as many keys as its head says" });
    }
    Ok(())
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], RoaringError> {
        let taken = self.bytes[self.at..].get(..len).ok_or(RoaringError::Short { at: self.bytes.len() })?;
        self.at += len;
        Ok(taken)
    }

    fn u16(&mut self) -> Result<u16, RoaringError> {
        Ok(u16::from_le_bytes(self.take(2)?.try_into().expect("two bytes")))
    }

    fn u32(&mut self) -> Result<u32, RoaringError> {
        Ok(u32::from_le_bytes(self.take(4)?.try_into().expect("four bytes")))
    }

    fn u64(&mut self) -> Result<u64, RoaringError> {
        Ok(u64::from_le_bytes(self.take(8)?.try_into().expect("eight bytes")))
    }
}
