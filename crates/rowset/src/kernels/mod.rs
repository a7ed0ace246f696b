//! Words of 2^16 bits and lists of keys at a time: wider instructions where there are any. What they do is
//! said in `plain`, their oracle.
#![allow(unsafe_code, reason = "instructions that are there only on some processors")]

mod eights;
#[cfg(target_arch = "x86_64")]
mod lanes;
pub(crate) mod lists;
mod plain;
#[cfg(target_arch = "x86_64")]
mod wide;

use std::mem::MaybeUninit;
use std::sync::Arc;

use simd::{prefetch, prefetch_slice};

pub(crate) use self::plain::*;

/// A vector out of an array of its size, and into one.
#[cfg(target_arch = "x86_64")]
macro_rules! moves {
    ($($load:ident $store:ident $key:ty, $lanes:literal, $vector:ident, $feature:literal, $from:ident, $to:ident;)*) => {$(
        #[inline]
        #[target_feature(enable = $feature)]
        pub(crate) fn $load(keys: &[$key; $lanes]) -> std::arch::x86_64::$vector {
            // SAFETY: the array is as long as the vector, and the load asks for no alignment.
            unsafe { std::arch::x86_64::$from(keys.as_ptr().cast()) }
        }

        #[inline]
        #[target_feature(enable = $feature)]
        pub(crate) fn $store(keys: std::arch::x86_64::$vector, into: &mut [$key; $lanes]) {
            // SAFETY: the array is as long as the vector, and the store asks for no alignment.
            unsafe { std::arch::x86_64::$to(into.as_mut_ptr().cast(), keys) }
        }
    )*};
}

#[cfg(target_arch = "x86_64")]
moves! {
    load store u16, 8, __m128i, "sse4.2", _mm_loadu_si128, _mm_storeu_si128;
    load_shorts store_shorts u16, 32, __m512i, "avx512f", _mm512_loadu_si512, _mm512_storeu_si512;
    load_words store_words u64, 8, __m512i, "avx512f", _mm512_loadu_si512, _mm512_storeu_si512;
    load_ints store_ints u32, 16, __m512i, "avx512f", _mm512_loadu_si512, _mm512_storeu_si512;
}

/// The first keys of a list, and the highest number behind them where there are fewer than a vector's.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
pub(crate) fn load_few_shorts(keys: &[u16]) -> std::arch::x86_64::__m512i {
    use std::arch::x86_64::*;
    let there = _bzhi_u32(u32::MAX, keys.len().min(32) as u32);
    // SAFETY: only lanes of keys that are there are read.
    unsafe { _mm512_mask_loadu_epi16(_mm512_set1_epi16(-1), there, keys.as_ptr().cast()) }
}

/// As [`load_few_shorts`], but for up to 16 keys of 32 bits.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,bmi2")]
pub(crate) fn load_few_ints(keys: &[u32]) -> std::arch::x86_64::__m512i {
    use std::arch::x86_64::*;
    let there = _bzhi_u32(u32::MAX, keys.len().min(16) as u32) as u16;
    // SAFETY: only lanes of keys that are there are read.
    unsafe { _mm512_mask_loadu_epi32(_mm512_set1_epi32(-1), there, keys.as_ptr().cast()) }
}

/// Prefetches the word of a key.
#[inline]
pub(crate) fn prefetch_word(bitmap: &Bitmap, key: u16) {
    prefetch(&bitmap.words[key as usize / 64]);
}

/// Prefetches everything that an edit of these keys will touch.
#[inline]
pub(crate) fn prefetch_edit(bitmap: &Bitmap, keys: &[u16]) {
    // An edit of more keys than this scans the words of the block in order, which the hardware prefetches.
    if keys.len() < STRIDE * STRIDE {
        keys.iter().for_each(|key| prefetch_word(bitmap, *key));
    }
    prefetch_slice(&bitmap.before);
    prefetch(&bitmap.len);
    // The reference count is in front of the words.
    prefetch(&bitmap.words[0]);
}

/// Appends keys as they lie in little-endian memory.
pub(crate) fn append_shorts(keys: &[u16], bytes: &mut Vec<u8>) {
    if cfg!(target_endian = "big") {
        return bytes.extend(keys.iter().flat_map(|key| key.to_le_bytes()));
    }
    // SAFETY: the bytes of a list of numbers, all of which may be read as such.
    bytes.extend_from_slice(unsafe { std::slice::from_raw_parts(keys.as_ptr().cast(), size_of_val(keys)) });
}

/// Appends the words of a block in little-endian order.
pub(crate) fn append_words(words: &Words, bytes: &mut Vec<u8>) {
    if cfg!(target_endian = "big") {
        return bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    }
    // SAFETY: the bytes of an array of numbers, all of which may be read as such.
    bytes.extend_from_slice(unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) });
}

/// Whether lists are merged a vector of 512 bits at a time.
#[cfg(target_arch = "x86_64")]
fn has_lanes() -> bool {
    is_x86_feature_detected!("avx512vbmi2")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("popcnt")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
}

/// Room in `out` for so many lists of `room` keys.
#[cfg(target_arch = "x86_64")]
fn parts<K: Copy + Default>(out: &mut Vec<K>, parts: usize, room: usize) -> (&mut [K], &mut [K]) {
    if out.len() < parts * room {
        out.resize(parts * room, K::default());
    }
    out.split_at_mut(room)
}

/// `left op right` of two ascending lists, to the front of `out`, whose rest means nothing then; how many keys.
pub(crate) fn merge_shorts(op: Op, left: &[u16], right: &[u16], out: &mut Vec<u16>) -> usize {
    merge_shorts_by(true, op, left, right, out)
}

/// As [`merge_shorts`]; the 512-bit kernels are used only if `by_lanes`, so that tests reach the others too.
#[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
fn merge_shorts_by(by_lanes: bool, op: Op, left: &[u16], right: &[u16], out: &mut Vec<u16>) -> usize {
    #[cfg(target_arch = "x86_64")]
    if by_lanes && has_lanes() {
        let (out, spare) = parts(out, 2, left.len() + right.len() + lanes::SLACK);
        // SAFETY: the instructions it is compiled for were just found to be there.
        return unsafe { lanes::merge_shorts(op, left, right, out, spare) };
    } else if is_x86_feature_detected!("sse4.2") && is_x86_feature_detected!("popcnt") {
        // SAFETY: the instructions it is compiled for were just found to be there.
        return unsafe { merge_by_eights(op, left, right, out) };
    }
    lists::merge(op, left, right, out)
}

/// One part for the result, one for the keys in either, one for those in both.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2,popcnt")]
fn merge_by_eights(op: Op, left: &[u16], right: &[u16], out: &mut Vec<u16>) -> usize {
    let room = left.len() + right.len() + eights::SLACK;
    let (out, rest) = parts(out, if op == Op::SymmetricDifference { 3 } else { 1 }, room);
    match op {
        Op::Union => eights::union(left, right, out),
        Op::Intersection => eights::intersection(left, right, out),
        Op::Difference => eights::difference(left, right, out),
        Op::SymmetricDifference => {
            let (either, both) = rest.split_at_mut(room);
            let (either_len, both_len) = (eights::union(left, right, either), eights::intersection(left, right, both));
            eights::difference(&either[..either_len], &both[..both_len], out)
        }
    }
}

/// `merge_shorts` of keys of 32 bits.
pub(crate) fn merge_ints(op: Op, left: &[u32], right: &[u32], out: &mut Vec<u32>) -> usize {
    #[cfg(target_arch = "x86_64")]
    if has_lanes() {
        let (out, spare) = parts(out, 2, left.len() + right.len() + lanes::SLACK);
        // SAFETY: the instructions it is compiled for were just found to be there.
        return unsafe { lanes::merge_ints(op, left, right, out, spare) };
    }
    lists::merge(op, left, right, out)
}

/// Room for a bitmap that may never have been written.
pub(crate) type Room = Arc<MaybeUninit<Bitmap>>;

/// A bitmap that was written whole, and nobody else holds.
pub(crate) struct Filled {
    room: Room,
    pub(crate) tally: Tally,
}

impl Filled {
    fn new(mut room: Room, fill: impl FnOnce(&mut MaybeUninit<Bitmap>) -> Tally) -> Filled {
        let tally = fill(Arc::get_mut(&mut room).expect("room that nobody else holds"));
        Filled { room, tally }
    }

    pub(crate) fn bitmap(&self) -> &Bitmap {
        // SAFETY: every way of filling writes all words, all counts, and the length.
        unsafe { self.room.assume_init_ref() }
    }

    pub(crate) fn keep(self) -> Arc<Bitmap> {
        // SAFETY: as above.
        unsafe { self.room.assume_init() }
    }

    /// The room, to be written over.
    pub(crate) fn give_back(self) -> Room {
        self.room
    }
}

#[inline(always)]
fn put_words(room: &mut MaybeUninit<Bitmap>, at: usize, words: [u64; STRIDE]) {
    assert!(at < STRIDES, "a stride of the block");
    // SAFETY: the eight words lie within those of the bitmap.
    unsafe { (&raw mut (*room.as_mut_ptr()).words).cast::<[u64; STRIDE]>().add(at).write(words) };
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f")]
fn put_vector(room: &mut MaybeUninit<Bitmap>, at: usize, words: std::arch::x86_64::__m512i) {
    assert!(at < STRIDES, "a stride of the block");
    // SAFETY: the eight words lie within those of the bitmap, and the store asks for no alignment.
    unsafe {
        std::arch::x86_64::_mm512_storeu_si512(
            (&raw mut (*room.as_mut_ptr()).words).cast::<[u64; STRIDE]>().add(at).cast(),
            words,
        )
    };
}

/// The counts in front of eight strides.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn put_counts(room: &mut MaybeUninit<Bitmap>, eight: usize, counts: [u16; STRIDE]) {
    assert!(eight < STRIDES / STRIDE, "counts of the block");
    // SAFETY: the eight counts lie within those of the bitmap.
    unsafe { (&raw mut (*room.as_mut_ptr()).before).cast::<[u16; STRIDE]>().add(eight).write(counts) };
}

#[inline(always)]
fn put_count(room: &mut MaybeUninit<Bitmap>, at: usize, count: u16) {
    assert!(at < STRIDES, "a count of the block");
    // SAFETY: the count lies within those of the bitmap.
    unsafe { (&raw mut (*room.as_mut_ptr()).before).cast::<u16>().add(at).write(count) };
}

#[inline(always)]
fn put_len(room: &mut MaybeUninit<Bitmap>, len: u32) {
    // SAFETY: a field of the bitmap.
    unsafe { (&raw mut (*room.as_mut_ptr()).len).write(len) };
}

#[inline(always)]
fn fill_body(room: &mut MaybeUninit<Bitmap>, mut stride: impl FnMut(usize) -> [u64; STRIDE]) -> Tally {
    let (mut keys, mut runs, mut carry) = (0u32, 0u32, 0u64);
    for at in 0..STRIDES {
        let words = stride(at);
        put_words(room, at, words);
        put_count(room, at, keys as u16);
        for word in words {
            keys += word.count_ones();
            runs += (word & !(word << 1 | carry)).count_ones();
            carry = word >> 63;
        }
    }
    put_len(room, keys);
    Tally { keys, runs }
}

/// A block of eights, the `at`-th of which is `stride(at)`.
pub(crate) fn fill(room: Room, stride: impl FnMut(usize) -> [u64; STRIDE]) -> Filled {
    Filled::new(room, |room| {
        #[cfg(target_arch = "x86_64")]
        if wide::wider_available() {
            // SAFETY: the instructions it is compiled for were just found to be there.
            return unsafe { wide::fill_wider(room, stride) };
        } else if wide::available() {
            // SAFETY: the instructions it is compiled for were just found to be there.
            return unsafe { wide::fill(room, stride) };
        }
        fill_body(room, stride)
    })
}

/// `left op right`.
pub(crate) fn combine(op: Op, left: &Words, right: &Words, room: Room) -> Filled {
    #[cfg(target_arch = "x86_64")]
    if wide::wider_available() {
        // SAFETY: the instructions it is compiled for were just found to be there.
        return Filled::new(room, |room| unsafe { wide::combine_wider(op, left, right, room) });
    }
    match op {
        Op::Union => fill(room, |at| combined(Op::Union, left, right, at)),
        Op::Intersection => fill(room, |at| combined(Op::Intersection, left, right, at)),
        Op::Difference => fill(room, |at| combined(Op::Difference, left, right, at)),
        Op::SymmetricDifference => fill(room, |at| combined(Op::SymmetricDifference, left, right, at)),
    }
}

/// Ones of the block below `key`.
#[inline]
pub(crate) fn rank(words: &Words, before: &Counts, key: u16) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if wide::available() {
        // SAFETY: the instructions it is compiled for were just found to be there.
        return unsafe { wide::rank(words, before, key) };
    }
    rank_body(words, before, key)
}

/// Of ascending keys, `before` and the ones of the block at `base` that lie below each.
pub(crate) fn ranks(bitmap: &Bitmap, base: u64, keys: &[u64], before: u64, out: &mut Vec<u64>) {
    #[cfg(target_arch = "x86_64")]
    if wide::available() {
        // SAFETY: the instructions it is compiled for were just found to be there.
        return unsafe { wide::ranks(bitmap, base, keys, before, out) };
    }
    ranks_body(bitmap, base, keys, before, out);
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

/// Fewer keys than this leave most words of a block empty.
#[cfg(target_arch = "x86_64")]
const SCATTERED: usize = WORDS;

/// Lists the ones of a block, for which `out` has just the room; how many.
pub(crate) fn list_block(words: &Words, out: &mut [u16]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if out.len() < SCATTERED && has_lanes() {
        let (mut kept, mut numbers) = ([0; WORDS + STRIDE], [0; WORDS + STRIDE]);
        // SAFETY: the instructions it is compiled for were just found to be there.
        let count = unsafe { lanes::words_with_keys(words, &mut kept, &mut numbers) };
        return list_some(&kept[..count], &numbers, out);
    } else if wide::available() {
        // SAFETY: the instructions it is compiled for were just found to be there.
        return unsafe { wide::list_block(words, out) };
    }
    list_body(&mut words[0].clone(), &mut &words[1..], &mut 0, out, |key| key as u16)
}

/// Of the ones of `mask` keeps the `i`-th where bit `i` of the stream is set; `next(n)` takes the
/// stream's next `n` bits.
pub(crate) fn select(mask: &Words, mut next: impl FnMut(u32) -> u64, room: Room) -> Filled {
    Filled::new(room, |room| {
        #[cfg(target_arch = "x86_64")]
        if wide::available() {
            // SAFETY: the instructions it is compiled for were just found to be there.
            return unsafe { wide::select(mask, next, room) };
        }
        fill_body(room, |at| selected(mask, at, &mut next, deposit_plain))
    })
}

/// For each word of `mask` calls `put` with those bits of the same word of `words` that stand where it has
/// ones, in order, as low bits, and with how many ones these are.
pub(crate) fn extract(words: &Words, mask: &Words, put: impl FnMut(u64, u32)) {
    #[cfg(target_arch = "x86_64")]
    if wide::available() {
        // SAFETY: the instructions it is compiled for were just found to be there.
        return unsafe { wide::extract(words, mask, put) };
    }
    extract_body(words, mask, put, extract_plain);
}

#[cfg(test)]
mod tests;
