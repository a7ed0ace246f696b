//! Codes and levels as Parquet packs them: runs of one value, and groups of eight values of a few bits each.
//!
//!   06 01          three times 1           an even number is twice how often the value after it comes
//!   03 e4 00       0 1 2 3 0 0 0 0         an odd one is twice the groups of eight, plus one; here of two bits

/// A run of values; the bytes of packed ones hold at least so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Run<'a> {
    Same(u32, usize),
    Packed(&'a [u8], usize),
}

/// The runs of so many values. One that is cut short or has no length is None, and the last.
pub(super) struct Runs<'a> {
    bytes: &'a [u8],
    width: usize,
    left: usize,
}

/// Bits of a value.
const MOST_BITS: u8 = 32;

impl<'a> Runs<'a> {
    /// Of values of so many bits.
    pub(super) fn new(bytes: &'a [u8], width: u8, many: usize) -> Runs<'a> {
        let bytes = if width <= MOST_BITS { bytes } else { &[] };
        Runs { bytes, width: usize::from(width), left: many }
    }

    fn run(&mut self) -> Option<Run<'a>> {
        let mut header = 0_u64;
        for shift in (0..35).step_by(7) {
            let (byte, rest) = self.bytes.split_first()?;
            self.bytes = rest;
            header |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return if header & 1 == 0 { self.same(header >> 1) } else { self.packed(header >> 1) };
            }
        }
        None
    }

    fn same(&mut self, many: u64) -> Option<Run<'a>> {
        let (value, rest) = self.bytes.split_at_checked(self.width.div_ceil(8))?;
        self.bytes = rest;
        let mut word = [0; 4];
        word[..value.len()].copy_from_slice(value);
        let many = self.left.min(usize::try_from(many).unwrap_or(usize::MAX));
        (many > 0).then_some(Run::Same(u32::from_le_bytes(word), many))
    }

    fn packed(&mut self, groups: u64) -> Option<Run<'a>> {
        let groups = usize::try_from(groups).ok()?;
        let many = self.left.min(groups.checked_mul(8)?);
        let length = groups.checked_mul(self.width)?.min(self.bytes.len());
        let (packed, rest) = self.bytes.split_at(length);
        self.bytes = rest;
        (many > 0 && packed.len() * 8 >= many * self.width).then_some(Run::Packed(packed, many))
    }
}

impl<'a> Iterator for Runs<'a> {
    type Item = Option<Run<'a>>;

    fn next(&mut self) -> Option<Option<Run<'a>>> {
        if self.left == 0 {
            return None;
        }
        let run = self.run();
        self.left = match run {
            Some(Run::Same(_, many) | Run::Packed(_, many)) => self.left - many,
            None => 0,
        };
        Some(run)
    }
}

/// Values that are unpacked at once.
const BLOCK: usize = 32;

/// Unpacks so many values of so many bits, and gives them to `take` block by block until it says no; None then.
pub(super) fn unpack(packed: &[u8], width: u8, many: usize, mut take: impl FnMut(&[u32]) -> bool) -> Option<()> {
    let one = *UNPACK.get(usize::from(width))?;
    let (bytes, mut values) = (BLOCK / 8 * usize::from(width), [0; BLOCK]);
    let mut left = many;
    for at in 0..many.div_ceil(BLOCK) {
        let from = at * bytes;
        match packed.get(from..from + bytes) {
            Some(block) => one(block, &mut values),
            None => {
                let mut block = [0; BLOCK * 4];
                let rest = packed.get(from..).unwrap_or_default();
                block[..rest.len()].copy_from_slice(rest);
                one(&block[..bytes], &mut values);
            }
        }
        if !take(&values[..left.min(BLOCK)]) {
            return None;
        }
        left = left.saturating_sub(BLOCK);
    }
    Some(())
}

/// One block of values of W bits.
fn unpack_block<const W: usize>(bytes: &[u8], values: &mut [u32; BLOCK]) {
    let mut words = [0_u32; BLOCK + 1];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(4)).take(W) {
        *word = bytes.try_into().map(u32::from_le_bytes).unwrap_or_default();
    }
    // Written out, so that every place and shift is known.
    macro_rules! values {
        ($($at:literal)*) => { [$(value::<W, $at>(&words)),*] };
    }
    *values = values!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);
}

/// One of the values of a block.
#[inline(always)]
fn value<const W: usize, const AT: usize>(words: &[u32; BLOCK + 1]) -> u32 {
    let (word, shift) = (AT * W / 32, AT * W % 32);
    let low = words[word] >> shift;
    // The bits of the next word, if the value has some there.
    let high = if shift + W > 32 { words[word + 1] << (32 - shift) } else { 0 };
    (low | high) & u32::MAX.checked_shr(32 - W as u32).unwrap_or(0)
}

type UnpackBlock = fn(&[u8], &mut [u32; BLOCK]);

macro_rules! by_width {
    ($($width:literal)*) => { [$(unpack_block::<$width>),*] };
}

const UNPACK: [UnpackBlock; MOST_BITS as usize + 1] =
    by_width!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pack(values: &[u32], width: u8) -> Vec<u8> {
        let mut bytes = vec![0; (values.len().div_ceil(8) * 8 * usize::from(width)).div_ceil(8)];
        for (at, value) in values.iter().enumerate() {
            for bit in 0..usize::from(width) {
                let place = at * usize::from(width) + bit;
                bytes[place / 8] |= ((value >> bit & 1) as u8) << (place % 8);
            }
        }
        bytes
    }

    fn unpacked(packed: &[u8], width: u8, many: usize) -> Vec<u32> {
        let mut all = Vec::new();
        unpack(packed, width, many, |values| {
            all.extend_from_slice(values);
            true
        })
        .unwrap();
        all
    }

    proptest! {
        #[test]
        fn packed_values_come_back(width in 0_u8..=32, drawn in prop::collection::vec(any::<u32>(), 0..200)) {
            let mask = u32::MAX.checked_shr(32 - u32::from(width)).unwrap_or(0);
            let values: Vec<u32> = drawn.iter().map(|value| value & mask).collect();
            let packed = pack(&values, width);
            prop_assert_eq!(&unpacked(&packed, width, values.len()), &values);
            // As a run among others, whose last group need not be whole.
            let mut bytes = vec![6];
            bytes.extend_from_slice(&5_u32.to_le_bytes()[..usize::from(width).div_ceil(8)]);
            let groups = values.len().div_ceil(8);
            bytes.extend([(groups << 1 | 1) as u8 & 0x7f | 0x80, (groups >> 6) as u8]);
            bytes.extend_from_slice(&packed);
            let runs: Vec<_> = Runs::new(&bytes, width, 3 + values.len()).collect();
            prop_assert_eq!(runs[0], Some(Run::Same(if width == 0 { 0 } else { 5 }, 3)));
            if !values.is_empty() {
                prop_assert_eq!(&runs[1..], &[Some(Run::Packed(&packed, values.len()))]);
            }
        }

        #[test]
        fn any_bytes_are_runs_or_none(bytes in prop::collection::vec(any::<u8>(), 0..40), width: u8, many in 0_usize..5000) {
            let mut sum = 0;
            for run in Runs::new(&bytes, width, many) {
                match run {
                    None => return Ok(()),
                    Some(Run::Same(_, many)) => sum += many,
                    Some(Run::Packed(packed, many)) => {
                        prop_assert_eq!(unpacked(packed, width, many).len(), many);
                        sum += many;
                    }
                }
            }
            prop_assert_eq!(sum, many);
        }
    }
}
