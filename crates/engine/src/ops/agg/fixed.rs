//! Many floats added exactly and fast: as whole numbers of a small unit, in two words a group.
//!
//!   x = a · 2^(e−40) + b · 2^(e−81) + rest        |x| ≤ 2^e, a and b whole, rest mostly 0
//!
//! Adding whole numbers is exact and waits for nothing. Where a value has bits below the small unit
//! the rest of it, and where it is too large for the large one all of it, is added as ever, by
//! error-free additions of doubles: it is slower and as exact. The unit follows the values.

use super::accumulators::{Accumulator, Counted, ExactSum, HUGE};
use super::board::{BATCH, BulkColumn, Runs};
use super::state::Batch;
use crate::sizes::{FEW_GROUPS, FIXED_CHANGES, FIXED_ROWS};

/// Words a group.
pub(crate) const WORDS: usize = 2;
/// Bits of a value above the large unit, and from there to the small one.
const HIGH_BITS: i32 = 40;
const LOW_BITS: i32 = 41;
/// Binary places that a batch may grow before the unit is too small.
const SLACK: i32 = 3;
/// Least exponent whose units are normal numbers.
const LEAST_EXPONENT: i32 = -880;
/// Greatest exponent: values beyond it are summed in their own scale.
const GREATEST_EXPONENT: i32 = 959;

/// The unit, how full the words are, and room for a batch.
#[derive(Default)]
pub(crate) struct Fixed {
    units: Option<Units>,
    rows: usize,
    changes: usize,
    apart: Option<Box<Apart>>,
}

#[derive(Clone, Copy)]
struct Units {
    /// No larger value is counted in units.
    limit: f64,
    large: f64,
    small: f64,
}

impl Units {
    /// For values up to 2^exponent.
    fn for_values_to(exponent: i32) -> Units {
        let exponent = exponent.clamp(LEAST_EXPONENT, GREATEST_EXPONENT);
        Units {
            limit: power_of_two(exponent),
            large: power_of_two(exponent - HIGH_BITS),
            small: power_of_two(exponent - HIGH_BITS - LOW_BITS),
        }
    }

    /// A value in large units, in small ones, and the rest of it.
    #[inline(always)]
    fn part(&self, value: f64) -> (i64, i64, f64) {
        let (by_large, by_small) = (rounder(self.large), rounder(self.small));
        let rounded = value + by_large;
        let below = value - (rounded - by_large);
        let rounded_below = below + by_small;
        let high = rounded.to_bits().wrapping_sub(by_large.to_bits()) as i64;
        let low = rounded_below.to_bits().wrapping_sub(by_small.to_bits()) as i64;
        (high, low, below - (rounded_below - by_small))
    }

    /// Nought if this value is nothing but units.
    #[inline(always)]
    fn odd(&self, value: f64, rest: f64) -> u64 {
        let inside = value.abs() <= self.limit; // not so of NaN
        rest.to_bits() << 1 | u64::from(!inside)
    }
}

fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// What rounds a double to a multiple of `unit` when it is added and subtracted again.
fn rounder(unit: f64) -> f64 {
    unit * f64::from_bits(0x4338_0000_0000_0000) // 1.5 · 2^52
}

/// A batch of values taken apart.
struct Apart {
    high: [i64; BATCH],
    low: [i64; BATCH],
    rest: [f64; BATCH],
}

impl Default for Apart {
    fn default() -> Apart {
        Apart { high: [0; BATCH], low: [0; BATCH], rest: [0.0; BATCH] }
    }
}

impl Fixed {
    /// The cells of a batch enter their groups.
    pub(crate) fn add_batch(&mut self, lane: &mut BulkColumn<'_>, batch: &Batch<'_>, groups: &mut [Counted<ExactSum>]) {
        self.add(lane, batch.slots, batch.floats(&mut None), groups);
    }

    /// Values enter the groups of a batch (of at most [`BATCH`] rows); what units cannot hold goes to `groups`.
    pub(crate) fn add(
        &mut self,
        lane: &mut BulkColumn<'_>,
        slots: &[u32],
        values: &[f64],
        groups: &mut [Counted<ExactSum>],
    ) {
        if self.rows + values.len() > FIXED_ROWS.get() {
            self.flush(lane, groups);
        }
        self.rows += values.len();
        let units = *self.units.get_or_insert_with(|| fitting(values));
        if lane.slots() == 1 {
            let totals = match lane.runs().and_then(Runs::kept) {
                Some(kept) => simd::widest(KeptTotals { values, kept, units }),
                None => simd::widest(Totals(values, units)),
            };
            if let Some(totals) = totals {
                return lane.add_two_to(0, totals);
            }
        }
        let rescale = match lane.runs() {
            Some(runs) => self.add_runs(lane, runs, values, units, groups),
            None => self.add_rows(lane, slots, values, units, groups),
        };
        if rescale {
            self.flush(lane, groups);
            self.changes += 1;
            self.units = Some(fitting(values));
        }
    }

    /// Row by row, each to the words of its group. Whether other units are wanted.
    fn add_rows(
        &mut self,
        lane: &mut BulkColumn<'_>,
        slots: &[u32],
        values: &[f64],
        units: Units,
        groups: &mut [Counted<ExactSum>],
    ) -> bool {
        let mut room = self.apart.take().unwrap_or_default();
        let apart = &mut *room;
        let mut rescale = false;
        if !simd::widest(TakeApart { values, units, apart }) {
            let odd = put_aside(slots, values, units, apart, groups);
            // Most rows of this batch are of another size: so will be those to come.
            rescale = odd > values.len() / 4 && self.changes < FIXED_CHANGES.get();
        }
        lane.add_two(&apart.high[..values.len()], &apart.low[..values.len()]);
        self.apart = Some(room);
        rescale
    }

    /// As [`Fixed::add_rows`], group by group.
    fn add_runs(
        &mut self,
        lane: &mut BulkColumn<'_>,
        runs: &Runs,
        values: &[f64],
        units: Units,
        groups: &mut [Counted<ExactSum>],
    ) -> bool {
        let mut gathered = [0.0; BATCH];
        let values = runs.gather(values, &mut gathered);
        if let Some(totals) = totals_of(runs, values, units) {
            runs.groups().zip(totals).for_each(|((slot, _), total)| lane.add_two_to(slot, total));
            return false;
        }
        let mut slots = [0; BATCH];
        runs.groups().for_each(|(slot, run)| slots[run].fill(slot as u32));
        let mut room = self.apart.take().unwrap_or_default();
        let apart = &mut *room;
        simd::widest(TakeApart { values, units, apart });
        let odd = put_aside(&slots, values, units, apart, groups);
        for (slot, run) in runs.groups() {
            let total = |of: &[i64; BATCH]| of[run.clone()].iter().fold(0, |sum: i64, part| sum.wrapping_add(*part));
            lane.add_two_to(slot, [total(&apart.high), total(&apart.low)]);
        }
        self.apart = Some(room);
        odd > values.len() / 4 && self.changes < FIXED_CHANGES.get()
    }

    /// What stands in the words goes to `groups`; the words begin anew.
    pub(crate) fn flush(&mut self, lane: &mut BulkColumn<'_>, groups: &mut [Counted<ExactSum>]) {
        self.rows = 0;
        let Some(Units { large, small, .. }) = self.units else { return };
        for (slot, group) in groups.iter_mut().enumerate().take(lane.slots()) {
            let (words, sum) = (lane.of(slot), &mut group.of);
            for (word, unit) in [(words[0] as i64, large), (words[1] as i64, small)] {
                let high = word as f64;
                // A word is less than 2^62: what its double leaves out is a small number.
                let low = (word - high as i64) as f64;
                sum.add_finite(high * unit);
                if low != 0.0 {
                    sum.add_finite(low * unit);
                }
            }
            (words[0], words[1]) = (0, 0);
        }
    }
}

/// Units for such values, and somewhat larger ones.
fn fitting(values: &[f64]) -> Units {
    let finite = values.iter().map(|value| value.abs()).filter(|value| *value < HUGE);
    let greatest = finite.fold(0.0, f64::max);
    let exponent = (greatest.to_bits() >> 52) as i32 - 1022;
    Units::for_values_to(if greatest == 0.0 { 0 } else { exponent + SLACK })
}

/// Takes values apart; whether all of them are nothing but units.
struct TakeApart<'a> {
    values: &'a [f64],
    units: Units,
    apart: &'a mut Apart,
}

impl simd::Loop for TakeApart<'_> {
    type Made = bool;

    #[inline(always)]
    fn run<const BITS: usize>(self) -> bool {
        let TakeApart { values, units, apart } = self;
        let mut odd = 0;
        let rows = apart.high.iter_mut().zip(apart.low.iter_mut()).zip(apart.rest.iter_mut());
        for (value, ((high, low), rest)) in values.iter().zip(rows) {
            (*high, *low, *rest) = units.part(*value);
            odd |= units.odd(*value, *rest);
        }
        odd == 0
    }
}

/// The sums of what all values are made of, if that is nothing but units.
struct Totals<'a>(&'a [f64], Units);

impl simd::Loop for Totals<'_> {
    type Made = Option<[i64; 2]>;

    #[inline(always)]
    fn run<const BITS: usize>(self) -> Option<[i64; 2]> {
        let Totals(values, units) = self;
        let (mut highs, mut lows, mut odd) = (0i64, 0i64, 0);
        for value in values {
            let (high, low, rest) = units.part(*value);
            (highs, lows) = (highs.wrapping_add(high), lows.wrapping_add(low));
            odd |= units.odd(*value, rest);
        }
        (odd == 0).then_some([highs, lows])
    }
}

/// As [`Totals`], of the values whose bits are set; the others are nought on the way.
struct KeptTotals<'a> {
    values: &'a [f64],
    kept: &'a [u64; BATCH / 64],
    units: Units,
}

impl simd::Loop for KeptTotals<'_> {
    type Made = Option<[i64; 2]>;

    #[inline(always)]
    fn run<const BITS: usize>(self) -> Option<[i64; 2]> {
        const LANES: usize = 8;
        let KeptTotals { values, kept, units } = self;
        let (mut highs, mut lows, mut odds) = ([0i64; LANES], [0i64; LANES], [0u64; LANES]);
        let mut add = |lane: usize, value: f64, byte: u64| {
            let value = f64::from_bits(value.to_bits() & (byte >> lane & 1).wrapping_neg());
            let (high, low, rest) = units.part(value);
            highs[lane] = highs[lane].wrapping_add(high);
            lows[lane] = lows[lane].wrapping_add(low);
            odds[lane] |= units.odd(value, rest);
        };
        let byte = |at: usize| kept[at / LANES] >> (at % LANES * LANES);
        let (whole, rest) = values.as_chunks::<LANES>();
        for (at, values) in whole.iter().enumerate() {
            for (lane, value) in values.iter().enumerate() {
                add(lane, *value, byte(at));
            }
        }
        for (lane, value) in rest.iter().enumerate() {
            add(lane, *value, byte(whole.len()));
        }
        let total = |of: [i64; LANES]| of.into_iter().fold(0i64, i64::wrapping_add);
        odds.iter().all(|odd| *odd == 0).then_some([total(highs), total(lows)])
    }
}

/// As [`Totals`], of the values of each group, which are gathered.
#[inline]
fn totals_of(runs: &Runs, values: &[f64], units: Units) -> Option<[[i64; 2]; FEW_GROUPS.real()]> {
    let mut all = [[0; 2]; FEW_GROUPS.real()];
    for ((_, run), total) in runs.groups().zip(&mut all) {
        *total = simd::widest(Totals(&values[run], units))?;
    }
    Some(all)
}

/// Adds what is no whole number of units as ever; says how many rows had such.
#[cold]
fn put_aside(
    slots: &[u32],
    values: &[f64],
    units: Units,
    apart: &mut Apart,
    groups: &mut [Counted<ExactSum>],
) -> usize {
    let mut odd = 0;
    for (at, (slot, value)) in slots.iter().zip(values).enumerate() {
        let fits = value.abs() <= units.limit;
        if fits && apart.rest[at] == 0.0 {
            continue;
        }
        odd += 1;
        let sum = &mut groups[*slot as usize].of;
        if fits {
            sum.add(apart.rest[at]);
        } else {
            sum.add(*value);
            (apart.high[at], apart.low[at]) = (0, 0);
        }
    }
    odd
}

#[cfg(test)]
mod tests {
    use super::super::board::BulkTable;
    use super::*;

    /// The sums by units and one by one, which must be the same to the bit.
    fn both(groups: u32, values: &[f64]) -> (Vec<u64>, Vec<u64>) {
        let (mut board, mut fixed) = (BulkTable::new(vec![0; WORDS]), Fixed::default());
        let mut sums = vec![Counted::default(); groups as usize];
        let mut plain = sums.clone();
        board.grow(groups as usize, 0);
        let slots: Vec<u32> = (0..values.len() as u32).map(|at| at.wrapping_mul(2_654_435_761) % groups).collect();
        for (slots, values) in slots.chunks(BATCH).zip(values.chunks(BATCH)) {
            board.turn_to(slots, None);
            fixed.add(&mut board.lane(0), slots, values, &mut sums);
        }
        fixed.flush(&mut board.lane(0), &mut sums);
        slots.iter().zip(values).for_each(|(slot, value)| plain[*slot as usize].of.add(*value));
        let bits = |sums: &[Counted<ExactSum>]| sums.iter().map(|sum| sum.of.value(&()).to_bits()).collect();
        (bits(&sums), bits(&plain))
    }

    fn agrees(values: &[f64]) {
        for groups in [1, 2, 7, 100] {
            let (by_units, one_by_one) = both(groups, values);
            assert_eq!(by_units, one_by_one);
        }
    }

    fn noise(at: usize) -> f64 {
        let word = (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let word = (word ^ word >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (word >> 11) as f64 / (1u64 << 53) as f64
    }

    #[test]
    fn values_of_one_size() {
        agrees(&(0..5000).map(|at| noise(at) - 0.3).collect::<Vec<_>>());
        agrees(&(0..3000).map(|at| noise(at) * 1e-200).collect::<Vec<_>>());
        agrees(&(0..3000).map(|at| noise(at) * 1e280).collect::<Vec<_>>());
        agrees(&vec![-0.0; 300]);
        agrees(&(0..1000).map(|at| at as f64 - 500.0).collect::<Vec<_>>());
    }

    #[test]
    fn values_of_all_sizes() {
        let sizes = |least: i32, most: i32| {
            let value = |at: usize| {
                let exponent = least + (noise(at + 7) * f64::from(most - least)) as i32;
                (noise(at) - 0.5) * 2f64.powi(exponent)
            };
            (0..4000).map(value).collect::<Vec<_>>()
        };
        for (least, most) in [(-30, 3), (-100, 100), (-1060, -900), (-1070, 1020), (900, 1023)] {
            agrees(&sizes(least, most));
        }
    }

    #[test]
    fn sizes_that_change_on_the_way() {
        let size = |at: usize| [1.0, 1e30, 1e-30, 1e9, 1e-300, 1e300][at / 700 % 6];
        agrees(&(0..9000).map(|at| (noise(at) - 0.5) * size(at)).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_no_number_and_what_is_too_large() {
        for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, -f64::MAX, f64::from_bits(1)] {
            let mut values: Vec<f64> = (0..1000).map(noise).collect();
            values[300] = odd;
            values[777] = odd;
            agrees(&values);
            agrees(&vec![odd; 600]);
        }
    }

    #[test]
    fn words_that_are_full_begin_anew() {
        let (mut board, mut fixed) = (BulkTable::new(vec![0; WORDS]), Fixed::default());
        let mut sums = vec![Counted::default()];
        board.grow(1, 0);
        let value = 1.0 - f64::EPSILON / 2.0;
        fixed.units = Some(Units::for_values_to(0));
        board.turn_to(&[0; BATCH], None);
        for _ in 0..FIXED_ROWS.real() / BATCH * 2 + 3 {
            fixed.add(&mut board.lane(0), &[0; BATCH], &[value; BATCH], &mut sums);
        }
        fixed.flush(&mut board.lane(0), &mut sums);
        let rows = (FIXED_ROWS.real() * 2 + 3 * BATCH) as f64;
        assert_eq!(sums[0].of.value(&()), rows * value);
    }
}
