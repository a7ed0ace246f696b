//! 64-bit Roaring portable bytes, the format of deletion vectors, in and out.

use crate::build::Builder;
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
    /// The set in 64-bit Roaring portable form.
    pub fn to_roaring(&self) -> Vec<u8> {
        let mut map = roaring::RoaringTreemap::new();
        for span in self.spans() {
            map.insert_range(span.first..=span.last);
        }
        let mut bytes = Vec::with_capacity(map.serialized_size());
        map.serialize_into(&mut bytes).expect("writing to memory does not fail");
        bytes
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
    } else if keys <= 4096 {
        for pair in reader.take(keys * 2)?.chunks_exact(2) {
            let key = u16::from_le_bytes([pair[0], pair[1]]) as u32;
            push(key, key)?;
        }
    } else {
        let bytes = reader.take(8192)?;
        let mut failed = None;
        crate::mask::Bits::new(bytes, 0, 1 << 16).runs(0, 1 << 16, |start, len| {
            failed = failed.or(push(start as u32, (start + len - 1) as u32).err());
        });
        failed.map_or(Ok(()), Err)?;
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
