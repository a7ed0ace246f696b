//! The kernels in portable code: the oracle of the vectorised kernels, and the fallback on processors without them.

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

/// Counts keys and runs of a block, and notes the counts accumulated in front of each stride.
pub(crate) fn tally(words: &Words, before: &mut Counts) -> Tally {
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

/// A block as bits, and the keys in front of every eighth word.
#[derive(Clone, Debug)]
pub(crate) struct Bitmap {
    pub(crate) words: Words,
    pub(crate) before: Counts,
    pub(crate) len: u32,
}

/// Eight words of `left op right`.
#[inline(always)]
pub(super) fn combined(op: Op, left: &Words, right: &Words, at: usize) -> [u64; STRIDE] {
    let (left, right) = (&left.as_chunks::<STRIDE>().0[at], &right.as_chunks::<STRIDE>().0[at]);
    std::array::from_fn(|word| op.words(left[word], right[word]))
}

/// Puts the low bits of `bits`, in order, where `mask` has ones.
#[inline(always)]
pub(super) fn deposit_plain(mut bits: u64, mut mask: u64) -> u64 {
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

/// The bits of `word` where `mask` has ones, in order, as low bits.
#[inline(always)]
pub(super) fn extract_plain(word: u64, mut mask: u64) -> u64 {
    let (mut out, mut at) = (0, 0);
    while mask != 0 {
        if word & mask & mask.wrapping_neg() != 0 {
            out |= 1 << at;
        }
        at += 1;
        mask &= mask - 1;
    }
    out
}

/// For each word of a mask the bits of the words that stand where it has ones, and how many ones these are.
#[inline(always)]
pub(super) fn extract_body(
    words: &Words,
    mask: &Words,
    mut put: impl FnMut(u64, u32),
    extract: impl Fn(u64, u64) -> u64,
) {
    for (word, mask) in words.iter().zip(mask) {
        put(extract(*word, *mask), mask.count_ones());
    }
}

/// Of the next eight words of a mask, each with as many of the stream's next bits as it has ones.
#[inline(always)]
pub(super) fn selected(
    mask: &Words,
    at: usize,
    next: &mut impl FnMut(u32) -> u64,
    deposit: impl Fn(u64, u64) -> u64,
) -> [u64; STRIDE] {
    mask.as_chunks::<STRIDE>().0[at].map(|word| if word == 0 { 0 } else { deposit(next(word.count_ones()), word) })
}

/// Ones of the block below `key`: those in front of its stride, of the words of it, and of the last of these.
#[inline(always)]
pub(super) fn rank_body(words: &Words, before: &Counts, key: u16) -> u32 {
    let word = key as usize / 64;
    let stride = word / STRIDE;
    let eight = &words.as_chunks::<STRIDE>().0[stride];
    // All eight are counted, so that how many need not be guessed.
    let ones = (0..STRIDE).map(|at| if at < word % STRIDE { eight[at].count_ones() } else { 0 }).sum::<u32>();
    before[stride] as u32 + ones + (words[word] & ((1 << (key % 64)) - 1)).count_ones()
}

/// Ranks of ascending keys, those outside of the block at its ends.
#[inline(always)]
pub(super) fn ranks_body(bitmap: &Bitmap, base: u64, keys: &[u64], before: u64, out: &mut Vec<u64>) {
    out.extend(keys.iter().map(|&key| {
        let within = match key.checked_sub(base) {
            None => 0,
            Some(low) if low > u16::MAX as u64 => bitmap.len,
            // Its count is known: no word is looked at, which may be a cache miss.
            Some(low) if low % (64 * STRIDE) as u64 == 0 => bitmap.before[low as usize / (64 * STRIDE)] as u32,
            Some(low) => rank_body(&bitmap.words, &bitmap.before, low as u16),
        };
        before + within as u64
    }));
}

/// Index of the `nth` one of a word, counted from 0.
#[inline(always)]
pub(super) fn select_in_word(mut word: u64, mut nth: u32) -> u32 {
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
pub(super) fn select_body_from(
    words: &Words,
    before: &Counts,
    stride: usize,
    pos: u32,
    within: impl Fn(u64, u32) -> u32,
) -> u16 {
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
pub(super) fn list_body<K: Copy>(
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
pub(super) fn take<K>(word: &mut u64, base: u64, out: &mut [K], key: &impl Fn(u64) -> K) {
    for out in out {
        *out = key(base + word.trailing_zeros() as u64);
        *word &= word.wrapping_sub(1);
    }
}

/// The ones of words none of which is 0, and which of a block `numbers` says; how many.
#[cfg(target_arch = "x86_64")]
pub(super) fn list_some(words: &[u64], numbers: &[u16], out: &mut [u16]) -> usize {
    let mut len = 0;
    for (&word, &number) in words.iter().zip(numbers) {
        let (mut word, base) = (word, number * 64);
        // A second step without a branch costs less than a wrong guess.
        if let Some([one, other]) = out[len..].first_chunk_mut::<2>() {
            *one = base + word.trailing_zeros() as u16;
            len += 1;
            word &= word - 1;
            *other = base + (word.trailing_zeros() & 63) as u16;
            len += usize::from(word != 0);
            word &= word.wrapping_sub(1);
        }
        while word != 0 {
            out[len] = base + word.trailing_zeros() as u16;
            len += 1;
            word &= word - 1;
        }
    }
    len
}

/// Sets bits `first ..= last`.
pub(crate) fn set_bits(words: &mut [u64], first: u64, last: u64) {
    let (low, high) = ((first / 64) as usize, (last / 64) as usize);
    let (head, tail) = (u64::MAX << (first % 64), u64::MAX >> (63 - last % 64));
    if low == high {
        words[low] |= head & tail;
    } else {
        words[low] |= head;
        words[low + 1..high].fill(u64::MAX);
        words[high] |= tail;
    }
}
