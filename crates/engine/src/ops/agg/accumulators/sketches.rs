//! Sketches: what is known of many values within a stated error, in bounded memory, whatever their order.
//!
//! How many values are distinct is told by HyperLogLog: of each of 4,096 shares of all hashes the longest run of zeros. The
//! standard error is 1.04 / √4096, 1.6%; up to 512 values are told apart. No value can be given back.
//!
//! Quantiles are told by counts of buckets, 256 for each power of two: the value found is that of its rank, off by less than
//! 1/512 of itself. Counts can be given back.
//!
//! Sources: O. Ertl, New cardinality estimation algorithms for HyperLogLog sketches (2017); C. Masson, J. E. Rim, H. K. Lee,
//! DDSketch (2019).

use std::collections::BTreeMap;

use super::multiset::{float_word, from_float_word};
use super::{Accumulator, Removable};

const SHARE_BITS: u32 = 12;
const SHARES: usize = 1 << SHARE_BITS;
/// The longest run of zeros, and one.
const LONGEST: usize = 64 - SHARE_BITS as usize + 1;
/// So many hashes take as much room as the runs.
const LISTED_HASHES: usize = SHARES / size_of::<u64>();

/// Hashes of distinct values: as they are while they are few, then the longest run of zeros of each share.
#[derive(Clone, Debug, Default)]
pub(crate) struct DistinctSketch {
    /// In order.
    few: Vec<u64>,
    runs: Option<Box<[u8]>>,
}

impl DistinctSketch {
    fn note(runs: &mut [u8], hash: u64) {
        let share = (hash >> (64 - SHARE_BITS)) as usize;
        let run = ((hash << SHARE_BITS) | 1 << (SHARE_BITS - 1)).leading_zeros() as u8 + 1;
        runs[share] = runs[share].max(run);
    }

    fn runs(&mut self) -> &mut [u8] {
        let few = std::mem::take(&mut self.few);
        let runs = self.runs.get_or_insert_with(|| vec![0; SHARES].into());
        few.into_iter().for_each(|hash| DistinctSketch::note(runs, hash));
        runs
    }
}

impl Accumulator for DistinctSketch {
    /// A hash of 64 bits.
    type In = u64;
    type How = ();
    type Out = i64;
    const PIECE: usize = size_of::<u64>();

    fn add(&mut self, hash: u64) {
        if let Some(runs) = &mut self.runs {
            DistinctSketch::note(runs, hash);
        } else if let Err(place) = self.few.binary_search(&hash) {
            if self.few.len() == LISTED_HASHES {
                DistinctSketch::note(self.runs(), hash);
            } else {
                self.few.insert(place, hash);
            }
        }
    }

    fn merge(&mut self, other: &DistinctSketch) {
        other.few.iter().for_each(|hash| self.add(*hash));
        if let Some(others) = &other.runs {
            self.runs().iter_mut().zip(others).for_each(|(own, other)| *own = (*own).max(*other));
        }
    }

    fn value(&self, (): &()) -> i64 {
        let Some(runs) = &self.runs else { return self.few.len() as i64 };
        let mut times = [0_u32; LONGEST + 1];
        runs.iter().for_each(|run| times[usize::from(*run)] += 1);
        let all = SHARES as f64;
        let mut below = all * tail(1.0 - f64::from(times[LONGEST]) / all);
        for times in times[1..LONGEST].iter().rev() {
            below = 0.5 * (below + f64::from(*times));
        }
        below += all * head(f64::from(times[0]) / all);
        (all * all / (2.0 * std::f64::consts::LN_2) / below).round() as i64
    }

    fn pieces(&self) -> usize {
        if self.runs.is_some() { LISTED_HASHES } else { self.few.capacity() }
    }
}

/// What shares without a value add.
fn head(mut part: f64) -> f64 {
    if part == 1.0 {
        return f64::INFINITY;
    }
    let (mut power, mut sum) = (1.0, part);
    loop {
        part *= part;
        let before = sum;
        sum += part * power;
        power += power;
        if sum == before {
            return sum;
        }
    }
}

/// What shares with the longest run add.
fn tail(mut part: f64) -> f64 {
    if part == 0.0 || part == 1.0 {
        return 0.0;
    }
    let (mut power, mut sum) = (1.0, 1.0 - part);
    loop {
        part = part.sqrt();
        let before = sum;
        power *= 0.5;
        sum -= (1.0 - part) * (1.0 - part) * power;
        if sum == before {
            return sum / 3.0;
        }
    }
}

/// Sign, exponent and so many bits of a number tell its bucket.
const BUCKET_SHIFT: u32 = 52 - 8;

/// How many values each bucket has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Buckets {
    counts: BTreeMap<u32, i64>,
    all: i64,
}

fn bucket_of(value: f64) -> u32 {
    let nan_first = false;
    (float_word(if value.is_nan() { f64::NAN } else { value + 0.0 }, nan_first) >> BUCKET_SHIFT) as u32
}

/// The number in the middle of a bucket.
fn middle(bucket: u32) -> f64 {
    let alone = [0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    if let Some(value) = alone.into_iter().find(|value| bucket_of(*value) == bucket) {
        return value;
    }
    from_float_word(u64::from(bucket) << BUCKET_SHIFT | 1 << (BUCKET_SHIFT - 1))
}

impl Buckets {
    fn count(&mut self, bucket: u32, times: i64) {
        let count = self.counts.entry(bucket).or_default();
        *count += times;
        if *count == 0 {
            self.counts.remove(&bucket);
        }
        self.all += times;
    }
}

impl Accumulator for Buckets {
    type In = f64;
    /// Which part of the way from the least to the greatest.
    type How = f64;
    /// None of no value.
    type Out = Option<f64>;
    const PIECE: usize = size_of::<(u32, i64)>() * 3 / 2;

    fn add(&mut self, value: f64) {
        self.count(bucket_of(value), 1);
    }

    fn merge(&mut self, other: &Buckets) {
        other.counts.iter().for_each(|(bucket, times)| self.count(*bucket, *times));
    }

    fn value(&self, part: &f64) -> Option<f64> {
        let rank = ((self.all - 1) as f64 * part + 0.5).floor() as i64;
        let mut before = 0;
        let found = self.counts.iter().find(|(_, times)| {
            before += **times;
            before > rank
        });
        found.map(|(bucket, _)| middle(*bucket))
    }

    fn pieces(&self) -> usize {
        self.counts.len()
    }
}

impl Removable for Buckets {
    fn remove(&mut self, value: f64) {
        self.count(bucket_of(value), -1);
    }

    fn unmerge(&mut self, other: &Buckets) {
        other.counts.iter().for_each(|(bucket, times)| self.count(*bucket, -*times));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::agg::sketched::mixed;

    #[test]
    fn many_values_are_counted_within_the_error() {
        let mut sketch = DistinctSketch::default();
        let mut counted = 0;
        for wanted in [0, 1, 100, 512, 513, 2_000, 10_000, 100_000, 1_000_000] {
            (counted..wanted).for_each(|value| sketch.add(mixed(value)));
            counted = wanted;
            let (found, wanted) = (sketch.value(&()) as f64, wanted as f64);
            let within = if wanted <= 512.0 { 0.0 } else { 3.0 * 0.01625 };
            assert!((found - wanted).abs() <= within * wanted, "{found} of {wanted}");
        }
    }

    #[test]
    fn quantiles_are_those_of_their_ranks_within_the_error() {
        let mut buckets = Buckets::default();
        let values: Vec<f64> = (0..1_001).map(|at| (f64::from(at) - 300.0) * 1e5 / 7.0).collect();
        values.iter().for_each(|value| buckets.add(*value));
        for (part, wanted) in [(0.0, 0), (0.25, 250), (0.3, 300), (0.5, 500), (0.999, 999), (1.0, 1_000)] {
            let (found, wanted): (f64, f64) = (buckets.value(&part).expect("values"), values[wanted]);
            assert!((found - wanted).abs() <= wanted.abs() / 512.0, "{found} for {wanted}");
        }
        values.iter().for_each(|value| buckets.remove(*value));
        assert!(buckets.counts.is_empty() && buckets.value(&0.5).is_none());
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0] {
            let mut one = Buckets::default();
            one.add(value);
            assert_eq!(format!("{:?}", one.value(&0.5)), format!("{:?}", Some(value + 0.0)));
        }
        for value in [f64::MAX, f64::MIN, 5e-324, -5e-324, 1.0, -1.0, 123.456] {
            let found = middle(bucket_of(value));
            assert!((found - value).abs() <= value.abs() / 512.0 + 1e-310, "{found} for {value}");
        }
    }
}
