//! 64-bit Roaring portable bytes, the format of deletion vectors, in and out.

mod write;

use self::write::Writer;
use crate::build::Builder;
use crate::kernels::{self, STRIDE};
use crate::key::MAX_KEY;
use crate::repr::Repr;
use crate::repr::blocks::{Block, number_of};
use crate::repr::container::Container;
use crate::rowset::RowSet;
use crate::sizes::ONE_BY_ONE;

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
        let mut writer = Writer::new(self.0.entries());
        match &self.0 {
            Repr::Blocks(tree) => tree.iter().for_each(|block| writer.add_block(block)),
            _ => self.spans().for_each(|span| writer.add_span(span)),
        }
        writer.finish()
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
        if list.len() < ONE_BY_ONE.get() {
            list.iter().for_each(|&key| builder.push(base + key as u64, base + key as u64));
        } else if let Some(keys) = Container::from_keys(&list) {
            builder.push_block(Block::one(number_of(base), keys));
        }
        return Ok(());
    } else {
        let bytes = reader.take(8192)?;
        let eights = bytes.as_chunks::<8>().0.as_chunks::<STRIDE>().0;
        let container = Container::from_filled(|room| kernels::fill(room, |at| eights[at].map(u64::from_le_bytes)));
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
