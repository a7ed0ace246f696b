//! Cells moved together a vector of 512 bits at a time. Who calls this has seen that the instructions are there.

use std::arch::x86_64::*;

use arrow_buffer::ArrowNativeType;

/// Each bit of four twice: a cell of 16 bytes takes two lanes.
const PAIRS: [u8; 16] = [0, 0x03, 0x0c, 0x0f, 0x30, 0x33, 0x3c, 0x3f, 0xc0, 0xc3, 0xcc, 0xcf, 0xf0, 0xf3, 0xfc, 0xff];

/// Whether cells of this width are moved so.
pub(super) fn serves<T>() -> bool {
    matches!(size_of::<T>(), 4 | 8 | 16) && is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("popcnt")
}

/// Copies the cells that stand where words have ones to the front of `out`; how many. Only their places are written.
#[target_feature(enable = "avx512f,popcnt")]
pub(super) fn pick<T: ArrowNativeType>(source: &[[T; 64]], words: &[u64], out: &mut [T]) -> usize {
    let lanes = 64 / size_of::<T>();
    let mut at = 0;
    for (word, cells) in words.iter().zip(source) {
        assert!(word.count_ones() as usize <= out.len() - at, "room for the cells of a word");
        for (step, cells) in cells.chunks_exact(lanes).enumerate() {
            let bits = word >> (step * lanes) & (u64::MAX >> (64 - lanes));
            // SAFETY: the cells are as long as a vector. As many lanes are written as the word has ones here,
            // for all of which there is room. Any bits are a cell of a native type.
            unsafe {
                let (from, to) = (_mm512_loadu_si512(cells.as_ptr().cast()), out.as_mut_ptr().add(at));
                match size_of::<T>() {
                    4 => {
                        let kept = _mm512_maskz_compress_epi32(bits as u16, from);
                        _mm512_mask_storeu_epi32(to.cast(), first(bits.count_ones()) as u16, kept);
                    }
                    8 => {
                        let kept = _mm512_maskz_compress_epi64(bits as u8, from);
                        _mm512_mask_storeu_epi64(to.cast(), first(bits.count_ones()) as u8, kept);
                    }
                    _ => {
                        let kept = _mm512_maskz_compress_epi64(PAIRS[bits as usize % 16], from);
                        _mm512_mask_storeu_epi64(to.cast(), first(2 * bits.count_ones()) as u8, kept);
                    }
                }
            }
            at += bits.count_ones() as usize;
        }
    }
    at
}

/// So many low bits.
#[inline(always)]
fn first(count: u32) -> u32 {
    (1 << count) - 1
}
