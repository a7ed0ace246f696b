//! Cells under a mask: those that stand where words of bits have ones, moved together.

/// What the ones stand for, where the first bit is `first`.
pub(crate) fn keys(first: u64, words: &[u64]) -> Vec<u64> {
    let mut keys = Vec::new();
    for (word, base) in words.iter().zip((first..).step_by(64)) {
        let mut left = *word;
        while left != 0 {
            keys.push(base + u64::from(left.trailing_zeros()));
            left &= left - 1;
        }
    }
    keys
}

/// Copies the cells of `source`, of `stride` units each, that stand where `words` have ones, to the front of
/// `out`; how many. What lies behind them in `out` stays as it is.
pub(crate) fn pick<T: Copy>(source: &[T], words: &[u64], stride: usize, out: &mut [T]) -> usize {
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
