//! The kernels with the wider instructions of x86-64. Who calls them has seen that these are there.

use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use super::*;

pub(super) fn available() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("popcnt")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
}

/// Whether ones can be counted in eight words at a time.
pub(super) fn wider_available() -> bool {
    available() && has_lanes() && is_x86_feature_detected!("avx512vpopcntdq")
}

/// Fills a block with eights, and tallies them eight at a time.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,avx512vpopcntdq,avx2,popcnt,bmi1,bmi2")]
pub(super) fn fill_vectors(room: &mut MaybeUninit<Bitmap>, mut stride: impl FnMut(usize) -> __m512i) -> Tally {
    let (mut keys, mut runs) = (_mm_setzero_si128(), _mm512_setzero_si512());
    let mut front = _mm512_setzero_si512();
    for eight in 0..STRIDES / STRIDE {
        // Ones of four strides in one vector: 16 bits of each word for each of them.
        let mut ones = [_mm512_setzero_si512(); 2];
        for within in 0..STRIDE {
            let at = eight * STRIDE + within;
            let words = stride(at);
            put_vector(room, at, words);
            let count = _mm512_popcnt_epi64(words);
            let half = &mut ones[within / 4];
            *half = _mm512_or_si512(*half, _mm512_sllv_epi64(count, _mm512_set1_epi64(16 * (within as i64 % 4))));
            // A run begins at a one with no one in front of it, in its word or at the end of the last.
            let behind = _mm512_shldi_epi64::<1>(words, _mm512_alignr_epi64::<7>(words, front));
            runs = _mm512_add_epi64(runs, _mm512_popcnt_epi64(_mm512_andnot_si512(behind, words)));
            front = words;
        }
        let [low, high] = ones;
        let sums = _mm512_add_epi64(_mm512_unpacklo_epi64(low, high), _mm512_unpackhi_epi64(low, high));
        let sums = _mm512_add_epi64(sums, _mm512_shuffle_i64x2::<0x4e>(sums, sums));
        let sums = _mm512_castsi512_si128(_mm512_add_epi64(sums, _mm512_shuffle_i64x2::<0xb1>(sums, sums)));
        let upto = _mm_add_epi16(sums, _mm_slli_si128::<2>(sums));
        let upto = _mm_add_epi16(upto, _mm_slli_si128::<4>(upto));
        let upto = _mm_add_epi16(_mm_add_epi16(upto, _mm_slli_si128::<8>(upto)), keys);
        let mut before = [0; STRIDE];
        store(_mm_sub_epi16(upto, sums), &mut before);
        put_counts(room, eight, before);
        keys = _mm_shuffle_epi8(upto, _mm_set1_epi16(0x0f0e));
    }
    let runs = _mm512_reduce_add_epi64(runs) as u32;
    // All ones are 2^16 keys, of which 16 bits have no trace; they are one run.
    let keys = _mm_extract_epi16::<0>(keys) as u32;
    let keys = if keys == 0 && runs > 0 { 1 << 16 } else { keys };
    put_len(room, keys);
    Tally { keys, runs }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,avx512vpopcntdq,avx2,popcnt,bmi1,bmi2")]
pub(super) fn fill_wider(room: &mut MaybeUninit<Bitmap>, mut stride: impl FnMut(usize) -> [u64; STRIDE]) -> Tally {
    fill_vectors(room, |at| load_words(&stride(at)))
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,avx512vpopcntdq,avx2,popcnt,bmi1,bmi2")]
pub(super) fn combine_wider(op: Op, left: &Words, right: &Words, room: &mut MaybeUninit<Bitmap>) -> Tally {
    let (left, right) = (left.as_chunks().0, right.as_chunks().0);
    let both = |at: usize| (load_words(&left[at]), load_words(&right[at]));
    match op {
        Op::Union => fill_vectors(room, |at| {
            let (left, right) = both(at);
            _mm512_or_si512(left, right)
        }),
        Op::Intersection => fill_vectors(room, |at| {
            let (left, right) = both(at);
            _mm512_and_si512(left, right)
        }),
        Op::Difference => fill_vectors(room, |at| {
            let (left, right) = both(at);
            _mm512_andnot_si512(right, left)
        }),
        Op::SymmetricDifference => fill_vectors(room, |at| {
            let (left, right) = both(at);
            _mm512_xor_si512(left, right)
        }),
    }
}

#[target_feature(enable = "avx2,popcnt,bmi1,bmi2")]
pub(super) fn fill(room: &mut MaybeUninit<Bitmap>, stride: impl FnMut(usize) -> [u64; STRIDE]) -> Tally {
    fill_body(room, stride)
}

#[target_feature(enable = "avx2,popcnt,bmi1,bmi2")]
pub(super) fn select(mask: &Words, mut next: impl FnMut(u32) -> u64, room: &mut MaybeUninit<Bitmap>) -> Tally {
    fill_body(room, |at| selected(mask, at, &mut next, |bits, mask| _pdep_u64(bits, mask)))
}

#[target_feature(enable = "avx2,popcnt,bmi1,bmi2")]
pub(super) fn extract(words: &Words, mask: &Words, put: impl FnMut(u64, u32)) {
    extract_body(words, mask, put, |word, mask| _pext_u64(word, mask));
}

#[target_feature(enable = "avx2,popcnt,bmi1,bmi2")]
pub(super) fn rank(words: &Words, before: &Counts, key: u16) -> u32 {
    rank_body(words, before, key)
}

#[target_feature(enable = "avx2,popcnt,bmi1,bmi2")]
pub(super) fn ranks(bitmap: &Bitmap, base: u64, keys: &[u64], before: u64, out: &mut Vec<u64>) {
    ranks_body(bitmap, base, keys, before, out);
}

#[target_feature(enable = "avx2,popcnt,bmi1,bmi2")]
pub(super) fn select_from(words: &Words, before: &Counts, stride: usize, pos: u32) -> u16 {
    select_body_from(words, before, stride, pos, |word, nth| {
        std::arch::x86_64::_pdep_u64(1 << nth, word).trailing_zeros()
    })
}

#[target_feature(enable = "avx2,popcnt,bmi1,bmi2")]
pub(super) fn list(word: &mut u64, rest: &mut &[u64], base: &mut u64, out: &mut [u64]) -> usize {
    list_body(word, rest, base, out, |key| key)
}

#[target_feature(enable = "avx2,popcnt,bmi1,bmi2")]
pub(super) fn list_block(words: &Words, out: &mut [u16]) -> usize {
    list_body(&mut words[0].clone(), &mut &words[1..], &mut 0, out, |key| key as u16)
}
