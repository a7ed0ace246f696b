//! Two ascending lists of 16-bit keys, eight keys at a time. The scalar merge of `repr::lists` is the oracle.

#[cfg(target_arch = "x86_64")]
pub(crate) use wide::*;

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::*;

    use crate::kernels::lists::gallop;
    use crate::kernels::{load, store};

    /// Keys in a vector.
    const LANES: usize = 8;

    /// For each choice of lanes, the bytes that bring them to the front.
    const TO_FRONT: [[u8; 16]; 256] = {
        let mut table = [[0x80; 16]; 256];
        let mut choice = 0;
        while choice < 256 {
            let (mut lane, mut at) = (0, 0);
            while lane < LANES {
                if choice >> lane & 1 == 1 {
                    table[choice][2 * at] = 2 * lane as u8;
                    table[choice][2 * at + 1] = 2 * lane as u8 + 1;
                    at += 1;
                }
                lane += 1;
            }
            choice += 1;
        }
        table
    };

    /// Room that a result needs: what is not kept is written all the same.
    pub(crate) const SLACK: usize = LANES;

    #[inline]
    #[target_feature(enable = "sse4.2,popcnt")]
    fn read(list: &[u16], at: usize) -> __m128i {
        load(list[at..at + LANES].first_chunk().expect("eight keys"))
    }

    /// Writes the chosen lanes; where the next ones go.
    #[inline]
    #[target_feature(enable = "sse4.2,popcnt")]
    fn emit(keys: __m128i, choice: u32, out: &mut [u16], len: usize) -> usize {
        let order = load_bytes(&TO_FRONT[choice as usize & 0xff]);
        store(_mm_shuffle_epi8(keys, order), out[len..len + LANES].first_chunk_mut().expect("room for eight keys"));
        len + choice.count_ones() as usize
    }

    #[inline]
    #[target_feature(enable = "sse4.2,popcnt")]
    fn load_bytes(bytes: &[u8; 16]) -> __m128i {
        let number = u128::from_le_bytes(*bytes);
        _mm_set_epi64x((number >> 64) as i64, number as i64)
    }

    /// The lanes of `keys` that are anywhere in `among`.
    #[inline]
    #[target_feature(enable = "sse4.2,popcnt")]
    fn found(among: __m128i, keys: __m128i) -> u32 {
        const MODE: i32 = _SIDD_UWORD_OPS | _SIDD_CMP_EQUAL_ANY | _SIDD_BIT_MASK;
        _mm_cvtsi128_si32(_mm_cmpestrm::<MODE>(among, LANES as i32, keys, LANES as i32)) as u32
    }

    /// Keys in both. `out` has room for the shorter list and [`SLACK`]; how many they are.
    #[target_feature(enable = "sse4.2,popcnt")]
    pub(crate) fn intersection(left: &[u16], right: &[u16], out: &mut [u16]) -> usize {
        let (mut at, mut other, mut len) = (0, 0, 0);
        while at + LANES <= left.len() && other + LANES <= right.len() {
            let keys = read(left, at);
            len = emit(keys, found(read(right, other), keys), out, len);
            let (end, other_end) = (left[at + LANES - 1], right[other + LANES - 1]);
            at += LANES * usize::from(end <= other_end);
            other += LANES * usize::from(other_end <= end);
        }
        while at < left.len() && other < right.len() {
            let (l, r) = (left[at], right[other]);
            out[len] = l;
            len += usize::from(l == r);
            at += usize::from(l <= r);
            other += usize::from(r <= l);
        }
        len
    }

    /// Keys of the left alone. `out` has room for the left list and [`SLACK`]; how many they are.
    #[target_feature(enable = "sse4.2,popcnt")]
    pub(crate) fn difference(left: &[u16], right: &[u16], out: &mut [u16]) -> usize {
        let (mut at, mut other, mut len) = (0, 0, 0);
        let mut gone = 0;
        while at + LANES <= left.len() && other + LANES <= right.len() {
            let keys = read(left, at);
            gone |= found(read(right, other), keys);
            let (end, other_end) = (left[at + LANES - 1], right[other + LANES - 1]);
            other += LANES * usize::from(other_end <= end);
            // Written in any case, but kept only when the right has nothing more to say about these.
            let done = end <= other_end;
            len += (emit(keys, !gone & 0xff, out, len) - len) * usize::from(done);
            at += LANES * usize::from(done);
            gone &= u32::from(done).wrapping_sub(1);
        }
        let (begun, rest) = left[at..].split_at((left.len() - at).min(LANES));
        for (lane, &key) in begun.iter().enumerate() {
            while other < right.len() && right[other] < key {
                other += 1;
            }
            out[len] = key;
            len += usize::from(right.get(other) != Some(&key) && gone >> lane & 1 == 0);
        }
        // Where there is a rest, the right has fewer than eight left: what lies between them is copied.
        let mut from = 0;
        for key in &right[other..] {
            if from == rest.len() {
                return len;
            }
            let to = gallop(rest, from, *key);
            out[len..len + (to - from)].copy_from_slice(&rest[from..to]);
            len += to - from;
            from = to + usize::from(rest.get(to) == Some(key));
        }
        out[len..len + (rest.len() - from)].copy_from_slice(&rest[from..]);
        len + (rest.len() - from)
    }

    /// Sorts eight keys that rise and then fall, or the other way round.
    #[inline]
    #[target_feature(enable = "sse4.2,popcnt")]
    fn merge_bitonic(keys: __m128i) -> __m128i {
        let other = _mm_shuffle_epi32::<0x4e>(keys);
        let keys = _mm_blend_epi16::<0xf0>(_mm_min_epu16(keys, other), _mm_max_epu16(keys, other));
        let other = _mm_shuffle_epi32::<0xb1>(keys);
        let keys = _mm_blend_epi16::<0xcc>(_mm_min_epu16(keys, other), _mm_max_epu16(keys, other));
        let other = _mm_shufflehi_epi16::<0xb1>(_mm_shufflelo_epi16::<0xb1>(keys));
        _mm_blend_epi16::<0xaa>(_mm_min_epu16(keys, other), _mm_max_epu16(keys, other))
    }

    /// The lower and the upper eight of two sorted eights.
    #[inline]
    #[target_feature(enable = "sse4.2,popcnt")]
    fn merge(left: __m128i, right: __m128i) -> (__m128i, __m128i) {
        let backwards = _mm_set_epi8(1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
        let right = _mm_shuffle_epi8(right, backwards);
        (merge_bitonic(_mm_min_epu16(left, right)), merge_bitonic(_mm_max_epu16(left, right)))
    }

    /// Writes the keys that are not the key in front of them, `last` being what came before.
    #[inline]
    #[target_feature(enable = "sse4.2,popcnt")]
    fn emit_new(keys: __m128i, last: __m128i, out: &mut [u16], len: usize) -> usize {
        let same = _mm_cmpeq_epi16(keys, _mm_alignr_epi8::<14>(keys, last));
        let same = _mm_movemask_epi8(_mm_packs_epi16(same, _mm_setzero_si128())) as u32;
        emit(keys, !same & 0xff, out, len)
    }

    /// Keys in either. `out` has room for both lists and [`SLACK`]; how many they are.
    #[target_feature(enable = "sse4.2,popcnt")]
    pub(crate) fn union(left: &[u16], right: &[u16], out: &mut [u16]) -> usize {
        if left.len() < LANES || right.len() < LANES {
            return zip(left, right, out, 0);
        }
        let (mut low, mut high) = merge(read(left, 0), read(right, 0));
        let (mut at, mut other) = (LANES, LANES);
        // No key is its own complement.
        let mut len = emit_new(low, _mm_set1_epi16(!left[0].min(right[0]) as i16), out, 0);
        while at + LANES <= left.len() && other + LANES <= right.len() {
            let from_left = left[at] <= right[other];
            // Both are read, so that which one it is need not be guessed.
            let which = _mm_set1_epi8(-i8::from(from_left));
            let next = _mm_blendv_epi8(read(right, other), read(left, at), which);
            at += LANES * usize::from(from_left);
            other += LANES * usize::from(!from_left);
            let last = low;
            (low, high) = merge(next, high);
            len = emit_new(low, last, out, len);
        }
        // What was read and not written, twice where it is in both, joins the shorter rest, of fewer than eight.
        let mut over = [0; LANES];
        store(high, &mut over);
        let (left, right) = (&left[at..], &right[other..]);
        let (short, long) = if left.len() <= right.len() { (left, right) } else { (right, left) };
        let mut rest = [0; 2 * LANES];
        let count = zip(&over, short, &mut rest, 0);
        zip(&rest[..count], long, out, len)
    }

    /// Appends a merge in which a key comes once, also if it comes twice in `left` or was the last one.
    fn zip(left: &[u16], right: &[u16], out: &mut [u16], mut len: usize) -> usize {
        let (mut at, mut other) = (0, 0);
        let mut push = |key: u16, out: &mut [u16]| {
            if len == 0 || out[len - 1] != key {
                out[len] = key;
                len += 1;
            }
        };
        while at < left.len() && other < right.len() {
            let (l, r) = (left[at], right[other]);
            push(l.min(r), out);
            at += usize::from(l <= r);
            other += usize::from(r <= l);
        }
        left[at..].iter().for_each(|&key| push(key, out));
        let Some((&next, more)) = right[other..].split_first() else { return len };
        push(next, out);
        out[len..len + more.len()].copy_from_slice(more);
        len + more.len()
    }
}
