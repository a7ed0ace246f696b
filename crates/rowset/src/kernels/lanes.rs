//! Two ascending lists at a time, a vector of 512 bits after another. A network sorts two vectors into one another, and
//! equal neighbours tell which keys are in both. The scalar merge of `repr::lists` is the oracle.

use std::arch::x86_64::*;

use crate::kernels::lists::gallop;
use crate::kernels::{self, Op, STRIDE, Words};

/// Room that a result needs beyond both lists: whole vectors are written.
pub(crate) const SLACK: usize = 128;
/// Keys of 16 bits in a vector, and of 32 bits.
const SHORTS: usize = 32;
const INTS: usize = 16;
/// A list so many times longer than what is taken out of it is copied in pieces.
const COPIED_SHARE: usize = 8;

/// What a pass over both lists keeps.
const EITHER: u8 = 0;
const BOTH: u8 = 1;
const ONE: u8 = 2;

/// `left op right` of two lists to the front of `out`, which has room for both and [`SLACK`]; how many keys.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt,bmi1,bmi2")]
pub(crate) fn merge_shorts(op: Op, left: &[u16], right: &[u16], out: &mut [u16], spare: &mut [u16]) -> usize {
    let ((left, top), (right, other_top)) = (without_top(left, u16::MAX), without_top(right, u16::MAX));
    let len = match op {
        Op::Union => zip_shorts::<EITHER>(left, right, out),
        Op::Intersection => zip_shorts::<BOTH>(left, right, out),
        Op::SymmetricDifference => zip_shorts::<ONE>(left, right, out),
        Op::Difference => {
            let gone = zip_shorts::<BOTH>(left, right, spare);
            match gone < left.len() / COPIED_SHARE {
                true => without(left, &spare[..gone], out),
                false => zip_shorts::<ONE>(left, &spare[..gone], out),
            }
        }
    };
    with_top(op, top, other_top, u16::MAX, out, len)
}

/// As [`merge_shorts`], but for keys of 32 bits.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt,bmi1,bmi2")]
pub(crate) fn merge_ints(op: Op, left: &[u32], right: &[u32], out: &mut [u32], spare: &mut [u32]) -> usize {
    let ((left, top), (right, other_top)) = (without_top(left, u32::MAX), without_top(right, u32::MAX));
    let len = match op {
        Op::Union => zip_ints::<EITHER>(left, right, out),
        Op::Intersection => zip_ints::<BOTH>(left, right, out),
        Op::SymmetricDifference => zip_ints::<ONE>(left, right, out),
        Op::Difference => {
            let gone = zip_ints::<BOTH>(left, right, spare);
            match gone < left.len() / COPIED_SHARE {
                true => without(left, &spare[..gone], out),
                false => zip_ints::<ONE>(left, &spare[..gone], out),
            }
        }
    };
    with_top(op, top, other_top, u32::MAX, out, len)
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt,bmi1,bmi2")]
fn zip_shorts<const KEPT: u8>(left: &[u16], right: &[u16], out: &mut [u16]) -> usize {
    let (top, behind) = (_mm512_set1_epi16(-1), shorts_behind());
    let emit = |now, last, out: &mut [u16], len| {
        let same = _mm512_cmpeq_epu16_mask(now, _mm512_permutex2var_epi16(last, behind, now));
        let (kept, undone) = keep::<KEPT>(same, _mm512_cmpneq_epu16_mask(now, top));
        let len: usize = len - undone;
        kernels::store_shorts(_mm512_maskz_compress_epi16(kept, now), out[len..].first_chunk_mut().expect("room"));
        len + kept.count_ones() as usize
    };
    let (load, load_few) = (|keys: &_| kernels::load_shorts(keys), |keys: &_| kernels::load_few_shorts(keys));
    zip::<u16, SHORTS>(left, right, out, load, load_few, |left, right| sort_shorts(left, right), emit)
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt,bmi1,bmi2")]
fn zip_ints<const KEPT: u8>(left: &[u32], right: &[u32], out: &mut [u32]) -> usize {
    let top = _mm512_set1_epi32(-1);
    let emit = |now, last, out: &mut [u32], len| {
        let same = _mm512_cmpeq_epu32_mask(now, _mm512_alignr_epi32::<15>(now, last));
        let (kept, undone) = keep::<KEPT>(same as u32, _mm512_cmpneq_epu32_mask(now, top) as u32);
        let len: usize = len - undone;
        let keys = _mm512_maskz_compress_epi32(kept as u16, now);
        kernels::store_ints(keys, out[len..].first_chunk_mut().expect("room"));
        len + kept.count_ones() as usize
    };
    let (load, load_few) = (|keys: &_| kernels::load_ints(keys), |keys: &_| kernels::load_few_ints(keys));
    zip::<u32, INTS>(left, right, out, load, load_few, |left, right| sort_ints(left, right), emit)
}

/// Of the lanes that are like the one in front and those that hold keys: which are kept, and how many keys written
/// before are none after all.
#[inline(always)]
fn keep<const KEPT: u8>(same: u32, real: u32) -> (u32, usize) {
    match KEPT {
        BOTH => (same & real, 0),
        // A key that comes again in the next vector was written with this one.
        ONE => (real & !same & !((same & real) >> 1), (same & real & 1) as usize),
        _ => (real & !same, 0),
    }
}

/// A list without some of its keys.
fn without<K: Copy + Ord>(list: &[K], gone: &[K], out: &mut [K]) -> usize {
    let (mut from, mut len) = (0, 0);
    for &key in gone {
        let to = gallop(list, from, key);
        out[len..len + (to - from)].copy_from_slice(&list[from..to]);
        len += to - from;
        from = to + 1;
    }
    out[len..len + (list.len() - from)].copy_from_slice(&list[from..]);
    len + (list.len() - from)
}

/// A list without the highest number, which stands for no key in a vector, and whether it was there.
fn without_top<K: Copy + Ord>(list: &[K], top: K) -> (&[K], bool) {
    match list.split_last() {
        Some((&last, rest)) if last == top => (rest, true),
        _ => (list, false),
    }
}

fn with_top<K>(op: Op, in_left: bool, in_right: bool, top: K, out: &mut [K], len: usize) -> usize {
    let kept = op.keeps(in_left, in_right);
    if kept {
        out[len] = top;
    }
    len + usize::from(kept)
}

/// Lists on their way into a third.
struct Way<'a, K> {
    left: &'a [K],
    right: &'a [K],
    out: &'a mut [K],
    at: usize,
    other: usize,
    len: usize,
    /// Keys that were read and not written, and those written last.
    high: __m512i,
    last: __m512i,
}

/// Both lists vector by vector in ascending order, each key as often as it comes: their lower and their upper half turn
/// by turn, so that neither waits for the other.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt,bmi1,bmi2")]
fn zip<K: Copy + Ord, const LANES: usize>(
    left: &[K],
    right: &[K],
    out: &mut [K],
    load: impl Fn(&[K; LANES]) -> __m512i,
    load_few: impl Fn(&[K]) -> __m512i,
    sort: impl Fn(__m512i, __m512i) -> (__m512i, __m512i),
    emit: impl Fn(__m512i, __m512i, &mut [K], usize) -> usize,
) -> usize {
    let middle = if left.len().min(right.len()) < 4 * LANES { left.len() } else { left.len() / 2 };
    let other_middle = left.get(middle).map_or(right.len(), |&key| right.partition_point(|&own| own < key));
    let start = middle + other_middle + SLACK / 2;
    let (out_low, out_high) = out.split_at_mut(start);
    let none = load_few(&[]);
    let way = |left, right, out| Way { left, right, out, at: 0, other: 0, len: 0, high: none, last: none };
    let take = |way: &mut Way<'_, K>| {
        let (own, theirs) = (&way.left[way.at..], &way.right[way.other..]);
        let from_left = theirs.is_empty() || own.first().is_some_and(|key| *key <= theirs[0]);
        let (list, place) = if from_left { (own, &mut way.at) } else { (theirs, &mut way.other) };
        *place += list.len().min(LANES);
        load_few(list)
    };
    let mut ways =
        [way(&left[..middle], &right[..other_middle], out_low), way(&left[middle..], &right[other_middle..], out_high)];
    ways.iter_mut().for_each(|way| way.high = take(way));
    {
        let [lower, upper] = &mut ways;
        let (mut high, mut last, mut at, mut other, mut len) = (lower.high, none, lower.at, lower.other, 0);
        let (mut up_high, mut up_last, mut up_at, mut up_other, mut up_len) =
            (upper.high, none, upper.at, upper.other, 0);
        while let (Some(own), Some(theirs), Some(up_own), Some(up_theirs)) = (
            lower.left[at..].first_chunk::<LANES>(),
            lower.right[other..].first_chunk::<LANES>(),
            upper.left[up_at..].first_chunk::<LANES>(),
            upper.right[up_other..].first_chunk::<LANES>(),
        ) {
            let (from_left, up_from_left) = (own[0] <= theirs[0], up_own[0] <= up_theirs[0]);
            let (low, rest) = sort(load(if from_left { own } else { theirs }), high);
            let (up_low, up_rest) = sort(load(if up_from_left { up_own } else { up_theirs }), up_high);
            at += LANES * usize::from(from_left);
            other += LANES * usize::from(!from_left);
            up_at += LANES * usize::from(up_from_left);
            up_other += LANES * usize::from(!up_from_left);
            len = emit(low, last, lower.out, len);
            up_len = emit(up_low, up_last, upper.out, up_len);
            (last, high, up_last, up_high) = (low, rest, up_low, up_rest);
        }
        (lower.high, lower.last, lower.at, lower.other, lower.len) = (high, last, at, other, len);
        (upper.high, upper.last, upper.at, upper.other, upper.len) = (up_high, up_last, up_at, up_other, up_len);
    }
    for way in &mut ways {
        let (mut high, mut last, mut len) = (way.high, way.last, way.len);
        while way.at < way.left.len() || way.other < way.right.len() {
            let (low, rest) = sort(take(way), high);
            len = emit(low, last, way.out, len);
            (last, high) = (low, rest);
        }
        way.len = emit(high, last, way.out, len);
    }
    let (len, more) = (ways[0].len, ways[1].len);
    out.copy_within(start..start + more, len);
    len + more
}

/// The lanes one further on, behind the last of the vector in front.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt,bmi1,bmi2")]
fn shorts_behind() -> __m512i {
    const LANES: [u16; SHORTS] = {
        let mut lanes = [31; SHORTS];
        let mut at = 1;
        while at < SHORTS {
            lanes[at] = (SHORTS + at - 1) as u16;
            at += 1;
        }
        lanes
    };
    kernels::load_shorts(&LANES)
}

/// Two sorted vectors as the lower and the upper half of all they hold.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt,bmi1,bmi2")]
fn sort_shorts(left: __m512i, right: __m512i) -> (__m512i, __m512i) {
    const BACKWARDS: [u16; SHORTS] = {
        let mut lanes = [0; SHORTS];
        let mut at = 0;
        while at < SHORTS {
            lanes[at] = (SHORTS - 1 - at) as u16;
            at += 1;
        }
        lanes
    };
    let left = _mm512_permutexvar_epi16(kernels::load_shorts(&BACKWARDS), left);
    (merge_bitonic_shorts(_mm512_min_epu16(left, right)), merge_bitonic_shorts(_mm512_max_epu16(left, right)))
}

/// Sorts lanes that rise and then fall, or the other way round: partners ever nearer to each other.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt,bmi1,bmi2")]
fn merge_bitonic_shorts(keys: __m512i) -> __m512i {
    let exchange = |keys, partners, upper| {
        let lower = _mm512_min_epu16(keys, partners);
        _mm512_mask_max_epu16(lower, upper, keys, partners)
    };
    let keys = exchange(keys, _mm512_shuffle_i64x2::<0x4e>(keys, keys), 0xffff_0000);
    let keys = exchange(keys, _mm512_shuffle_i64x2::<0xb1>(keys, keys), 0xff00_ff00);
    let keys = exchange(keys, _mm512_shuffle_epi32::<0x4e>(keys), 0xf0f0_f0f0);
    let keys = exchange(keys, _mm512_shuffle_epi32::<0xb1>(keys), 0xcccc_cccc);
    exchange(keys, _mm512_rol_epi32::<16>(keys), 0xaaaa_aaaa)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt,bmi1,bmi2")]
fn sort_ints(left: __m512i, right: __m512i) -> (__m512i, __m512i) {
    let backwards = _mm512_set_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let left = _mm512_permutexvar_epi32(backwards, left);
    (merge_bitonic_ints(_mm512_min_epu32(left, right)), merge_bitonic_ints(_mm512_max_epu32(left, right)))
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt,bmi1,bmi2")]
fn merge_bitonic_ints(keys: __m512i) -> __m512i {
    let exchange = |keys, partners, upper| {
        let lower = _mm512_min_epu32(keys, partners);
        _mm512_mask_max_epu32(lower, upper, keys, partners)
    };
    let keys = exchange(keys, _mm512_shuffle_i64x2::<0x4e>(keys, keys), 0xff00);
    let keys = exchange(keys, _mm512_shuffle_i64x2::<0xb1>(keys, keys), 0xf0f0);
    let keys = exchange(keys, _mm512_shuffle_epi32::<0x4e>(keys), 0xcccc);
    exchange(keys, _mm512_shuffle_epi32::<0xb1>(keys), 0xaaaa)
}

/// Words that hold keys, to the front of `kept`, and which they are; how many.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt,bmi1,bmi2")]
pub(crate) fn words_with_keys(words: &Words, kept: &mut [u64], numbers: &mut [u16]) -> usize {
    let (mut len, mut own) = (0, _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0));
    for stride in words.as_chunks::<STRIDE>().0 {
        let words = kernels::load_words(stride);
        let some = _mm512_test_epi64_mask(words, words);
        kernels::store_words(_mm512_maskz_compress_epi64(some, words), kept[len..].first_chunk_mut().expect("room"));
        let which = _mm512_cvtepi64_epi16(_mm512_maskz_compress_epi64(some, own));
        kernels::store(which, numbers[len..].first_chunk_mut().expect("room"));
        len += some.count_ones() as usize;
        own = _mm512_add_epi64(own, _mm512_set1_epi64(STRIDE as i64));
    }
    len
}
