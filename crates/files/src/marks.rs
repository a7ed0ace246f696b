//! Which bytes of a text are one of a few: 64 at a time, without a branch.

/// Bytes that are looked at together.
pub(crate) const WIDE: usize = 64;

/// A bit for each byte that is one of these.
#[inline]
pub(crate) fn marks(block: &[u8; WIDE], [a, b, c]: [u8; 3]) -> u64 {
    let mut marked = 0;
    for (at, bytes) in block.as_chunks::<8>().0.iter().enumerate() {
        let mut ones = [0; 8];
        for (one, byte) in ones.iter_mut().zip(bytes) {
            *one = u8::from((*byte == a) | (*byte == b) | (*byte == c));
        }
        // The ones of eight bytes side by side.
        let bits = u64::from_le_bytes(ones).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        marked |= bits << (8 * at);
    }
    marked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_has_its_bit() {
        for at in 0..WIDE {
            let mut block = [b'x'; WIDE];
            block[at] = b',';
            block[(at * 7 + 3) % WIDE] = b'"';
            let wanted = 1 << at | 1 << ((at * 7 + 3) % WIDE);
            assert_eq!(marks(&block, [b',', b'\n', b'"']), wanted, "{at}");
        }
        assert_eq!(marks(&[b'\n'; WIDE], [b',', b'\n', b'"']), u64::MAX);
        assert_eq!(marks(&[0; WIDE], [b',', b'\n', b'"']), 0);
    }
}
