//! Words in ascending order, each with its position: stable, and the same for any number of threads.

use limits::Scope;
use rayon::prelude::*;

use crate::sizes::{MERGED_RUNS, RADIX_CACHED, RADIX_FEW, RADIX_MANY};

/// A word and where it came from.
#[derive(Clone, Copy, Default)]
pub struct Entry {
    /// What is sorted by.
    pub word: u64,
    /// What comes along.
    pub position: u32,
}

const DIGIT: u32 = 8;
const DIGITS: u32 = 3;

/// Sorts by word; entries of one word keep their order.
pub fn sort(entries: &mut [Entry]) {
    if entries.len() <= RADIX_FEW.get() {
        return insert_in_order(entries);
    }
    // What came in order, or as tables in order one after another, is merged.
    let runs = entries.windows(2).filter(|pair| pair[0].word > pair[1].word).take(MERGED_RUNS.get()).count();
    if runs < MERGED_RUNS.get() {
        return entries.sort_by_key(|entry| entry.word);
    }
    let mut scratch = vec![Entry::default(); entries.len()];
    sort_between(entries, &mut scratch, false);
}

/// Sorts what is in `from`; the result is in `other` if `into_other`, else in `from`.
fn sort_between(from: &mut [Entry], other: &mut [Entry], into_other: bool) {
    let (least, greatest) = extremes(from);
    if from.len() <= RADIX_FEW.get() || least == greatest {
        insert_in_order(from);
        if into_other {
            other.copy_from_slice(from);
        }
        return;
    }
    let bits = 64 - (greatest - least).leading_zeros();
    if from.len() > RADIX_CACHED.get() {
        by_highest_digit(from, other, into_other, least, bits);
    } else {
        by_lowest_digits(from, other, into_other, least, bits);
    }
}

fn extremes(entries: &[Entry]) -> (u64, u64) {
    let start = (u64::MAX, 0);
    entries.iter().fold(start, |(least, greatest), entry| (least.min(entry.word), greatest.max(entry.word)))
}

fn insert_in_order(entries: &mut [Entry]) {
    for at in 1..entries.len() {
        let entry = entries[at];
        let mut place = at;
        while place > 0 && entries[place - 1].word > entry.word {
            entries[place] = entries[place - 1];
            place -= 1;
        }
        entries[place] = entry;
    }
}

/// Spreads entries over buckets that fit the cache, then sorts each.
fn by_highest_digit(from: &mut [Entry], other: &mut [Entry], into_other: bool, least: u64, bits: u32) {
    let digit = (from.len() / (RADIX_CACHED.get() / 4)).ilog2().clamp(1, 10).min(bits);
    let low = bits - digit;
    let bucket = |entry: &Entry| ((entry.word - least) >> low) as usize;
    let many = from.len() >= RADIX_MANY.get();
    let share = if many { from.len().div_ceil(rayon::current_num_threads()) } else { from.len() };
    let count = |part: &[Entry]| {
        let mut counts = vec![0; 1 << digit];
        part.iter().for_each(|entry| counts[bucket(entry)] += 1);
        counts
    };
    let counts: Vec<Vec<usize>> = from.par_chunks(share).with_min_len(1).map(count).collect();
    let mut places: Vec<Vec<&mut [Entry]>> = counts.iter().map(|_| Vec::with_capacity(1 << digit)).collect();
    let mut rest = &mut *other;
    for bucket in 0..1 << digit {
        for (part, counts) in counts.iter().enumerate() {
            let (place, after) = rest.split_at_mut(counts[bucket]);
            places[part].push(place);
            rest = after;
        }
    }
    from.par_chunks(share).zip(places).for_each(|(part, mut places)| {
        let mut filled = vec![0; 1 << digit];
        for entry in part {
            let bucket = bucket(entry);
            places[bucket][filled[bucket]] = *entry;
            filled[bucket] += 1;
        }
    });
    let mut buckets = Vec::with_capacity(1 << digit);
    let (mut from, mut other) = (from, other);
    for bucket in 0..1 << digit {
        let size = counts.iter().map(|counts| counts[bucket]).sum();
        let (scratch, from_rest) = from.split_at_mut(size);
        let (filled, other_rest) = other.split_at_mut(size);
        (from, other) = (from_rest, other_rest);
        buckets.push((filled, scratch));
    }
    let scope = Scope::current();
    let finish = |(filled, scratch): (&mut [Entry], &mut [Entry])| {
        if low > 0 {
            scope.enter(|| sort_between(filled, scratch, !into_other));
        } else if !into_other {
            scratch.copy_from_slice(filled);
        }
    };
    if many { buckets.into_par_iter().for_each(finish) } else { buckets.into_iter().for_each(finish) }
}

/// Sorts by the highest bits, lowest digit first, then each run that those bits leave together.
fn by_lowest_digits(from: &mut [Entry], other: &mut [Entry], into_other: bool, least: u64, bits: u32) {
    let low = bits.saturating_sub(DIGIT * DIGITS);
    let passes = (bits - low).div_ceil(DIGIT);
    let mut counts = [[0u32; 1 << DIGIT]; DIGITS as usize];
    for entry in from.iter() {
        let high = (entry.word - least) >> low;
        for (pass, counts) in counts.iter_mut().enumerate().take(passes as usize) {
            counts[(high >> (pass as u32 * DIGIT)) as usize & ((1 << DIGIT) - 1)] += 1;
        }
    }
    if (passes % 2 == 1) != into_other {
        other.copy_from_slice(from);
    }
    let (mut source, mut target) = if (passes % 2 == 1) == into_other { (from, other) } else { (other, from) };
    for (pass, counts) in counts.iter_mut().enumerate().take(passes as usize) {
        let mut start = 0;
        for count in counts.iter_mut() {
            start += std::mem::replace(count, start);
        }
        for entry in source.iter() {
            let digit = ((entry.word - least) >> low >> (pass as u32 * DIGIT)) as usize & ((1 << DIGIT) - 1);
            target[counts[digit] as usize] = *entry;
            counts[digit] += 1;
        }
        std::mem::swap(&mut source, &mut target);
    }
    if low > 0 {
        sort_runs(source, target, |entry| (entry.word - least) >> low);
    }
}

/// Sorts each run of entries that share `high`, in place.
fn sort_runs(entries: &mut [Entry], scratch: &mut [Entry], high: impl Fn(&Entry) -> u64) {
    let mut start = 0;
    while start < entries.len() {
        let shared = high(&entries[start]);
        let mut end = start + 1;
        while end < entries.len() && high(&entries[end]) == shared {
            end += 1;
        }
        match end - start {
            1 => {}
            few if few <= RADIX_FEW.get() => insert_in_order(&mut entries[start..end]),
            _ => sort_between(&mut entries[start..end], &mut scratch[start..end], false),
        }
        start = end;
    }
}
