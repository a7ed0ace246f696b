//! Masks to row sets and back, beside reading the mask and copying it: in the cache, and larger than it.

use std::hint::black_box;
use std::time::Instant;

use rowset::{RowSet, Span};

use crate::shapes::Random;

fn best(mut call: impl FnMut()) -> f64 {
    let (mut best, begun) = (f64::INFINITY, Instant::now());
    while begun.elapsed().as_secs_f64() < 0.3 {
        let start = Instant::now();
        call();
        best = best.min(start.elapsed().as_secs_f64());
    }
    best
}

/// Prints microseconds for each million bits.
pub fn run() {
    println!("| bits, of them ones | read | copy | mask to row set | row set to mask |");
    println!("|---|---|---|---|---|");
    for millions in [1usize, 1000] {
        for percent in [1, 10, 50, 90, 99] {
            let mut random = Random::new(3);
            let mut word = || (0..64).fold(0u64, |word, bit| word | u64::from(random.below(100) < percent) << bit);
            let some: Vec<u64> = (0..15_625).map(|_| word()).collect();
            let words: Vec<u64> = (0..millions).flat_map(|_| some.iter().copied()).collect();
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let bits = words.len() * 64;
            let rows = RowSet::from_mask(0, &bytes, 0, bits);
            let figures = [
                best(|| {
                    black_box(black_box(&words).iter().fold(0, |all, word| all ^ word));
                }),
                best(|| {
                    black_box(black_box(&words).clone());
                }),
                best(|| {
                    black_box(RowSet::from_mask(0, black_box(&bytes), 0, bits));
                }),
                best(|| {
                    black_box(rows.to_mask(Span { first: 0, last: bits as u64 - 1 }));
                }),
            ];
            let cells: Vec<String> = figures.map(|took| format!("{:.1}", took * 1e12 / bits as f64)).to_vec();
            println!("| {millions} million, {percent} % | {} |", cells.join(" | "));
        }
    }
}
