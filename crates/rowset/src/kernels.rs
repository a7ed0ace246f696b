//! Words of 2^16 bits at a time. The same bodies compile twice, with and without wider
//! instructions; the plain one is the oracle of the other.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
use crate::eights;

/// Words of a block's bitmap.
pub(crate) const WORDS: usize = 1024;
/// Words between two accumulated counts.
pub(crate) const STRIDE: usize = 8;
/// Accumulated counts of a bitmap.
pub(crate) const STRIDES: usize = WORDS / STRIDE;

pub(crate) type Words = [u64; WORDS];
pub(crate) type Counts = [u16; STRIDES];

/// What a bitmap holds: keys, and maximal runs of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Tally {
    pub(crate) keys: u32,
    pub(crate) runs: u32,
}

/// An operation of set algebra.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Op {
    Union,
    Intersection,
    Difference,
    SymmetricDifference,
}

impl Op {
    #[cfg(test)]
    pub(crate) const ALL: [Op; 4] = [Op::Union, Op::Intersection, Op::Difference, Op::SymmetricDifference];

    #[inline(always)]
    pub(crate) fn words(self, left: u64, right: u64) -> u64 {
        match self {
            Op::Union => left | right,
            Op::Intersection => left & right,
            Op::Difference => left & !right,
            Op::SymmetricDifference => left ^ right,
        }
    }

    #[inline(always)]
    pub(crate) fn keeps(self, left: bool, right: bool) -> bool {
        self.words(left as u64, right as u64) & 1 == 1
    }

    pub(crate) fn keeps_left(self) -> bool {
        self != Op::Intersection
    }

    pub(crate) fn keeps_right(self) -> bool {
        matches!(self, Op::Union | Op::SymmetricDifference)
    }
}

#[inline(always)]
fn tally_body(words: &Words, before: &mut Counts) -> Tally {
    let (mut keys, mut runs, mut carry) = (0u32, 0u32, 0u64);
    for (at, stride) in words.as_chunks::<STRIDE>().0.iter().enumerate() {
        before[at] = keys as u16;
        for &word in stride {
            keys += word.count_ones();
            runs += (word & !(word << 1 | carry)).count_ones();
            carry = word >> 63;
        }
    }
    Tally { keys, runs }
}

#[inline(always)]
fn combine_body(op: Op, left: &Words, right: &Words, out: &mut Words, before: &mut Counts) -> Tally {
    match op {
        Op::Union => left.iter().zip(right).zip(out.iter_mut()).for_each(|((l, r), out)| *out = l | r),
        Op::Intersection => left.iter().zip(right).zip(out.iter_mut()).for_each(|((l, r), out)| *out = l & r),
        Op::Difference => left.iter().zip(right).zip(out.iter_mut()).for_each(|((l, r), out)| *out = l & !r),
        Op::SymmetricDifference => left.iter().zip(right).zip(out.iter_mut()).for_each(|((l, r), out)| *out = l ^ r),
    }
    tally_body(out, before)
}

/// Puts the low bits of `bits`, in order, where `mask` has ones.
#[inline(always)]
fn deposit_plain(mut bits: u64, mut mask: u64) -> u64 {
    let mut out = 0;
    while mask != 0 && bits != 0 {
        let lowest = mask & mask.wrapping_neg();
        if bits & 1 == 1 {
            out |= lowest;
        }
        bits >>= 1;
        mask ^= lowest;
    }
    out
}

#[inline(always)]
fn select_body(mask: &Words, mut next: impl FnMut(u32) -> u64, out: &mut Words, deposit: impl Fn(u64, u64) -> u64) {
    for (out, &word) in out.iter_mut().zip(mask) {
        *out = if word == 0 { 0 } else { deposit(next(word.count_ones()), word) };
    }
}

/// Index of the `nth` one of a word, counted from 0.
#[inline(always)]
fn select_in_word(mut word: u64, mut nth: u32) -> u32 {
    let mut at = 0;
    for half in [32, 16, 8] {
        let low = (word & ((1 << half) - 1)).count_ones();
        if nth >= low {
            nth -= low;
            word >>= half;
            at += half;
        }
    }
    for _ in 0..nth {
        word &= word - 1;
    }
    at + word.trailing_zeros()
}

/// The `pos`-th one of the block, at or behind the start of `stride`.
#[inline(always)]
fn select_body_from(words: &Words, before: &Counts, stride: usize, pos: u32, within: impl Fn(u64, u32) -> u32) -> u16 {
    let mut left = pos - before[stride] as u32;
    for (at, &word) in words[stride * STRIDE..].iter().enumerate() {
        let ones = word.count_ones();
        if left < ones {
            return ((stride * STRIDE + at) * 64) as u16 + within(word, left) as u16;
        }
        left -= ones;
    }
    unreachable!("the position lies in the block")
}

/// Takes ones off the word and those behind it, the first of which stands for `base`; how many.
#[inline(always)]
fn list_body<K: Copy>(
    word: &mut u64,
    rest: &mut &[u64],
    base: &mut u64,
    out: &mut [K],
    key: impl Fn(u64) -> K,
) -> usize {
    let mut len = 0;
    loop {
        let count = word.count_ones() as usize;
        let room = &mut out[len..];
        // A few steps too many without a branch cost less than a wrong guess of how many.
        if let (0..=2, Some(few)) = (count, room.first_chunk_mut::<2>()) {
            take(word, *base, few, &key);
            len += count;
        } else if let (3..=8, Some(few)) = (count, room.first_chunk_mut::<8>()) {
            take(word, *base, few, &key);
            len += count;
        } else if count == 64 && room.len() >= 64 {
            room.iter_mut().zip(*base..*base + 64).for_each(|(out, at)| *out = key(at));
            *word = 0;
            len += 64;
        } else {
            let count = count.min(room.len());
            take(word, *base, &mut room[..count], &key);
            len += count;
            if *word != 0 {
                return len;
            }
        }
        let Some((next, others)) = rest.split_first() else { return len };
        (*word, *rest, *base) = (*next, others, *base + 64);
    }
}

/// Takes as many ones off a word as there is room for; where there are fewer, the rest means nothing.
#[inline(always)]
fn take<K>(word: &mut u64, base: u64, out: &mut [K], key: &impl Fn(u64) -> K) {
    for out in out {
        *out = key(base + word.trailing_zeros() as u64);
        *word &= word.wrapping_sub(1);
    }
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::*;

    use super::*;

    pub(super) fn available() -> bool {
        is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
    }

    /// Whether ones can be counted in eight words at a time.
    pub(super) fn wider_available() -> bool {
        available() && is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vpopcntdq")
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load_eight(words: &[u64; STRIDE]) -> __m512i {
        // SAFETY: the array is as long as the vector, and the load asks for no alignment.
        unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn store_eight(vector: __m512i, words: &mut [u64; STRIDE]) {
        // SAFETY: the array is as long as the vector, and the store asks for no alignment.
        unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), vector) }
    }

    /// Tallies the eights of a block.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vpopcntdq,popcnt")]
    fn tally_eights(mut eight: impl FnMut(usize) -> __m512i, before: &mut Counts) -> Tally {
        let (mut keys, mut runs) = (0u64, _mm512_setzero_si512());
        let mut front = _mm512_setzero_si512();
        for (at, before) in before.iter_mut().enumerate() {
            let words = eight(at);
            *before = keys as u16;
            keys += _mm512_reduce_add_epi64(_mm512_popcnt_epi64(words)) as u64;
            // A run begins at a one with no one in front of it, in its word or at the end of the last.
            let carried = _mm512_srli_epi64::<63>(_mm512_alignr_epi64::<7>(words, front));
            let behind = _mm512_or_si512(_mm512_slli_epi64::<1>(words), carried);
            runs = _mm512_add_epi64(runs, _mm512_popcnt_epi64(_mm512_andnot_si512(behind, words)));
            front = words;
        }
        Tally { keys: keys as u32, runs: _mm512_reduce_add_epi64(runs) as u32 }
    }

    #[target_feature(enable = "avx512f,avx512vpopcntdq,popcnt")]
    pub(super) fn tally_wider(words: &Words, before: &mut Counts) -> Tally {
        let eights = words.as_chunks::<STRIDE>().0;
        tally_eights(|at| load_eight(&eights[at]), before)
    }

    #[target_feature(enable = "avx512f,avx512vpopcntdq,popcnt")]
    pub(super) fn combine_wider(op: Op, left: &Words, right: &Words, out: &mut Words, before: &mut Counts) -> Tally {
        let (left, right) = (left.as_chunks::<STRIDE>().0, right.as_chunks::<STRIDE>().0);
        let out = out.as_chunks_mut::<STRIDE>().0;
        macro_rules! each {
            ($with:expr) => {
                tally_eights(
                    |at| {
                        let words = $with(load_eight(&left[at]), load_eight(&right[at]));
                        store_eight(words, &mut out[at]);
                        words
                    },
                    before,
                )
            };
        }
        match op {
            Op::Union => each!(|l, r| _mm512_or_si512(l, r)),
            Op::Intersection => each!(|l, r| _mm512_and_si512(l, r)),
            Op::Difference => each!(|l, r| _mm512_andnot_si512(r, l)),
            Op::SymmetricDifference => each!(|l, r| _mm512_xor_si512(l, r)),
        }
    }

    #[target_feature(enable = "avx2,popcnt,bmi1,bmi2")]
    pub(super) fn tally(words: &Words, before: &mut Counts) -> Tally {
        tally_body(words, before)
    }

    #[target_feature(enable = "avx2,popcnt,bmi1,bmi2")]
    pub(super) fn combine(op: Op, left: &Words, right: &Words, out: &mut Words, before: &mut Counts) -> Tally {
        combine_body(op, left, right, out, before)
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

    #[target_feature(enable = "avx2,popcnt,bmi1,bmi2")]
    pub(super) fn select(mask: &Words, next: impl FnMut(u32) -> u64, out: &mut Words) {
        select_body(mask, next, out, |bits, mask| std::arch::x86_64::_pdep_u64(bits, mask));
    }
}

/// Eight keys of a list.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "sse4.2")]
pub(crate) fn load(keys: &[u16; 8]) -> std::arch::x86_64::__m128i {
    // SAFETY: the array is as long as the vector, and the load asks for no alignment.
    unsafe { std::arch::x86_64::_mm_loadu_si128(keys.as_ptr().cast()) }
}

/// Eight keys into a list.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "sse4.2")]
pub(crate) fn store(keys: std::arch::x86_64::__m128i, into: &mut [u16; 8]) {
    // SAFETY: the array is as long as the vector, and the store asks for no alignment.
    unsafe { std::arch::x86_64::_mm_storeu_si128(into.as_mut_ptr().cast(), keys) }
}

/// `left op right` of two ascending lists, to the front of `out`, whose rest means nothing then; how many keys.
pub(crate) fn merge_lists(op: Op, left: &[u16], right: &[u16], out: &mut Vec<u16>) -> usize {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("sse4.2") && is_x86_feature_detected!("popcnt") {
        // One part for the result, one for the keys in either, one for those in both.
        let room = left.len() + right.len() + eights::SLACK;
        let parts = if op == Op::SymmetricDifference { 3 } else { 1 };
        if out.len() < parts * room {
            out.resize(parts * room, 0);
        }
        // SAFETY: the instructions they are compiled for were just found to be there.
        return unsafe {
            match op {
                Op::Union => eights::union(left, right, out),
                Op::Intersection => eights::intersection(left, right, out),
                Op::Difference => eights::difference(left, right, out),
                Op::SymmetricDifference => {
                    let (out, rest) = out.split_at_mut(room);
                    let (either, both) = rest.split_at_mut(room);
                    let (either_len, both_len) =
                        (eights::union(left, right, either), eights::intersection(left, right, both));
                    eights::difference(&either[..either_len], &both[..both_len], out)
                }
            }
        };
    }
    crate::repr::lists::merge(op, left, right, out)
}

/// Counts keys and runs of a block, and notes the counts accumulated in front of each stride.
pub(crate) fn tally(words: &Words, before: &mut Counts) -> Tally {
    #[cfg(target_arch = "x86_64")]
    if wide::wider_available() {
        // SAFETY: the instructions it is compiled for were just found to be there.
        return unsafe { wide::tally_wider(words, before) };
    } else if wide::available() {
        // SAFETY: the instructions it is compiled for were just found to be there.
        return unsafe { wide::tally(words, before) };
    }
    tally_body(words, before)
}

/// `left op right`, tallied.
pub(crate) fn combine(op: Op, left: &Words, right: &Words, out: &mut Words, before: &mut Counts) -> Tally {
    #[cfg(target_arch = "x86_64")]
    if wide::wider_available() {
        // SAFETY: the instructions it is compiled for were just found to be there.
        return unsafe { wide::combine_wider(op, left, right, out, before) };
    } else if wide::available() {
        // SAFETY: the instructions it is compiled for were just found to be there.
        return unsafe { wide::combine(op, left, right, out, before) };
    }
    combine_body(op, left, right, out, before)
}

/// The `pos`-th one of the block; `stride` is one whose count in front is not above `pos`.
#[inline]
pub(crate) fn select_from(words: &Words, before: &Counts, stride: usize, pos: u32) -> u16 {
    #[cfg(target_arch = "x86_64")]
    if wide::available() {
        // SAFETY: the instructions it is compiled for were just found to be there.
        return unsafe { wide::select_from(words, before, stride, pos) };
    }
    select_body_from(words, before, stride, pos, select_in_word)
}

/// Lists ones of `word`, whose first bit stands for `base`, and of the words behind it, as many as
/// `out` has room for; all three go on to what is left.
pub(crate) fn list(word: &mut u64, rest: &mut &[u64], base: &mut u64, out: &mut [u64]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if wide::available() {
        // SAFETY: the instructions it is compiled for were just found to be there.
        return unsafe { wide::list(word, rest, base, out) };
    }
    list_body(word, rest, base, out, |key| key)
}

/// Lists the ones of a block; how many.
pub(crate) fn list_block(words: &Words, out: &mut [u16]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if wide::available() {
        // SAFETY: the instructions it is compiled for were just found to be there.
        return unsafe { wide::list_block(words, out) };
    }
    list_body(&mut words[0].clone(), &mut &words[1..], &mut 0, out, |key| key as u16)
}

/// Of the ones of `mask` keeps the `i`-th where bit `i` of the stream is set; `next(n)` takes the
/// stream's next `n` bits.
pub(crate) fn select(mask: &Words, next: impl FnMut(u32) -> u64, out: &mut Words) {
    #[cfg(target_arch = "x86_64")]
    if wide::available() {
        // SAFETY: the instructions it is compiled for were just found to be there.
        return unsafe { wide::select(mask, next, out) };
    }
    select_body(mask, next, out, deposit_plain);
}

#[cfg(test)]
mod tests;
