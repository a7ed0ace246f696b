//! Searches that guess: where words are spread about evenly, the ends tell where one of them should
//! be, and mostly one cache line is all that is looked at.

/// About where a word is among `len` ascending ones that lie in `from ..= to`.
pub(crate) fn interpolate(len: usize, from: u64, to: u64, word: u64) -> usize {
    let part = word.saturating_sub(from) as f64 / (to - from).max(1) as f64;
    ((part * len as f64) as usize).min(len - 1)
}

/// The place of the first of these ascending words that is not less than `word`; they lie in `from ..= to`.
pub(crate) fn lower_bound(words: &[u64], from: u64, to: u64, word: u64) -> usize {
    gallop(words.len(), interpolate(words.len(), from, to, word), |at| words[at] < word)
}

/// The first of `len` places that is not less, `guess` being near it.
pub(crate) fn gallop(len: usize, guess: usize, is_less: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high, mut stride) = (guess, guess, 4);
    if is_less(guess) {
        low = guess + 1;
        high = low;
        while high < len && is_less(high) {
            low = high + 1;
            high += stride;
            stride *= 2;
        }
        high = high.min(len);
    } else {
        while low > 0 && !is_less(low - 1) {
            high = low - 1;
            low = high.saturating_sub(stride);
            stride *= 2;
        }
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if is_less(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guess_however_bad_finds_what_a_plain_search_finds() {
        for seed in 1..200u64 {
            let mut word = seed;
            let len = seed as usize % 70 + 1;
            let words: Vec<u64> = (0..len)
                .map(|at| {
                    let gap = seed.wrapping_mul(at as u64 + 7) % (seed * seed % 900 + 1);
                    word += gap;
                    word
                })
                .collect();
            let (first, last) = (words[0], words[len - 1]);
            for wanted in (first.saturating_sub(2)..last + 3).step_by((seed % 9) as usize + 1) {
                let plain = words.partition_point(|word| *word < wanted);
                for (from, to) in [(first, last), (0, last), (first, u64::MAX), (first, first)] {
                    assert_eq!(lower_bound(&words, from, to, wanted), plain, "seed {seed}, {wanted}");
                }
            }
        }
    }
}
