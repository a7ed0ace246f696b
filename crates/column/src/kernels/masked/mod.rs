//! Cells under a mask: those that stand where words of bits have ones, moved together.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod wide;

use arrow_buffer::ArrowNativeType;

use super::bits::ones;

/// What the ones stand for, where the first bit is `first`.
pub(crate) fn keys(first: u64, words: &[u64]) -> Vec<u64> {
    let words = words.iter().zip((first..).step_by(64));
    words.flat_map(|(word, base)| ones(*word).map(move |place| base + place as u64)).collect()
}

/// Copies the cells that stand where words have ones to the front of `out`; how many. What lies behind them in `out` stays.
///
/// # Panics
/// If they have no room there.
pub fn pick_set<T: ArrowNativeType>(cells: &[T], words: &[u64], out: &mut [T]) -> usize {
    pick(cells, words, 1, out)
}

/// Copies the cells of `source`, of `stride` units each, that stand where `words` have ones, to the front of
/// `out`; how many. What lies behind them in `out` stays as it is.
pub(crate) fn pick<T: ArrowNativeType>(source: &[T], words: &[u64], stride: usize, out: &mut [T]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if stride == 1 && wide::serves::<T>() {
        let whole = source.as_chunks::<64>().0;
        let whole = &whole[..whole.len().min(words.len())];
        let (words, rest) = words.split_at(whole.len());
        // SAFETY: the instructions it is compiled for were just found to be there.
        let at = unsafe { wide::pick(whole, words, out) };
        return at + pick_plain(&source[64 * whole.len()..], rest, stride, &mut out[at..]);
    }
    pick_plain(source, words, stride, out)
}

fn pick_plain<T: ArrowNativeType>(source: &[T], words: &[u64], stride: usize, out: &mut [T]) -> usize {
    let mut at = 0;
    for (word, cells) in words.iter().zip(source.chunks(64 * stride.max(1))) {
        let count = word.count_ones() as usize;
        let own = &mut out[at * stride..(at + count) * stride];
        match cells.first_chunk::<64>() {
            _ if own.len() == cells.len() => own.copy_from_slice(cells),
            Some(cells) if stride == 1 => pick_word(cells, *word, own),
            _ => pick_wide(cells, *word, stride, own),
        }
        at += count;
    }
    at
}

#[inline(always)]
fn pick_word<T: Copy>(cells: &[T; 64], word: u64, out: &mut [T]) {
    let mut left = word;
    for to in out {
        *to = cells[left.trailing_zeros() as usize % 64];
        left &= left.wrapping_sub(1);
    }
}

fn pick_wide<T: Copy>(cells: &[T], word: u64, stride: usize, out: &mut [T]) {
    let mut left = word;
    for to in out.chunks_exact_mut(stride.max(1)) {
        to.copy_from_slice(&cells[left.trailing_zeros() as usize * stride..][..stride]);
        left &= left.wrapping_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fastrand::Rng;

    fn agrees<T: ArrowNativeType>(make: fn(u64) -> T) {
        let mut dice = Rng::with_seed(21);
        for len in [64 * 40, 64 * 40 - 7] {
            let source: Vec<T> = (0..len as u64).map(make).collect();
            for share in [0, 1, 5, 50, 95, 100] {
                let ones: Vec<bool> = (0..len).map(|_| dice.u64(..100) < share).collect();
                let mut words = vec![0u64; 40];
                (0..len).filter(|at| ones[*at]).for_each(|at| words[at / 64] |= 1 << (at % 64));
                let expected: Vec<T> =
                    source.iter().zip(&ones).filter(|(_, one)| **one).map(|(cell, _)| *cell).collect();
                let behind = make(1 << 60);
                for (way, pick) in [("any", pick as fn(&[T], &[u64], usize, &mut [T]) -> usize), ("plain", pick_plain)]
                {
                    let mut out = vec![behind; expected.len() + 3];
                    assert_eq!(pick(&source, &words, 1, &mut out), expected.len(), "{way}");
                    assert!(out[..expected.len()] == expected[..] && out[expected.len()..] == [behind; 3], "{way}");
                }
            }
        }
    }

    #[test]
    fn cells_of_every_width_are_picked_and_what_lies_behind_them_stays() {
        agrees::<u8>(|at| at as u8);
        agrees::<u16>(|at| at as u16);
        agrees::<u32>(|at| at as u32 ^ 0x55aa_0000);
        agrees::<u64>(|at| at << 33 ^ at);
        agrees::<u128>(|at| u128::from(at) << 70 | u128::from(!at));
        agrees::<arrow_buffer::i256>(|at| arrow_buffer::i256::from_i128(i128::from(at) << 70));
    }
}
