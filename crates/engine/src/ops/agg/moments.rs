//! `mean`, `std`, `var`: from exact sums of the values and of their squares, so that a removal
//! leaves no trace and constant values have a variance of exactly 0.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array};
use arrow_schema::DataType;
use column::Chunk;

use super::board::{BATCH, BulkColumn};
use super::exact::{ExactSums, UP, grow_expansion, rounded, two_product};
use super::fixed::{self, Fixed};
use super::state::{Batch, State, add_counts, floats, from_integers, integers, same, valid_cells};
use crate::error::Error;

/// Mean of numbers (Float64), or of times.
pub(crate) struct Mean {
    sums: Sums,
    fixed: Fixed,
    counts: Vec<i64>,
    /// Whether integers are unsigned.
    unsigned: bool,
    output: DataType,
}

enum Sums {
    Integer(Vec<i128>),
    Float(ExactSums),
}

impl Mean {
    pub(crate) fn new(input: &DataType, output: &DataType) -> Mean {
        let float = matches!(input, DataType::Float16 | DataType::Float32 | DataType::Float64);
        let sums = if float { Sums::Float(ExactSums::default()) } else { Sums::Integer(Vec::new()) };
        let unsigned = *input == DataType::UInt64;
        Mean { sums, fixed: Fixed::default(), counts: Vec::new(), unsigned, output: output.clone() }
    }

    fn each(&mut self, slots: &[u32], cells: &Chunk, add: bool) {
        let sign = if add { 1 } else { -1 };
        let counts = &mut self.counts;
        match &mut self.sums {
            Sums::Integer(sums) => {
                let unsigned = self.unsigned;
                let values = integers(cells);
                valid_cells(slots, &values, |slot, at| {
                    let value = values.values()[at];
                    let value = if unsigned { i128::from(value as u64) } else { i128::from(value) };
                    sums[slot as usize] += value * i128::from(sign);
                    counts[slot as usize] += sign;
                });
            }
            Sums::Float(sums) => {
                let values = floats(cells);
                valid_cells(slots, &values, |slot, at| {
                    let value = values.values()[at];
                    if add {
                        sums.add(slot, value)
                    } else {
                        sums.remove(slot, value)
                    }
                    counts[slot as usize] += sign;
                });
            }
        }
    }
}

impl State for Mean {
    fn grow(&mut self, slots: usize) {
        self.counts.resize(slots, 0);
        match &mut self.sums {
            Sums::Integer(sums) => sums.resize(slots, 0),
            Sums::Float(sums) => sums.grow(slots),
        }
    }

    fn add(&mut self, slots: &[u32], cells: &Chunk) {
        self.each(slots, cells, true);
    }

    fn remove(&mut self, slots: &[u32], cells: &Chunk) {
        self.each(slots, cells, false);
    }

    fn reset(&mut self, slot: u32) {
        self.counts[slot as usize] = 0;
        match &mut self.sums {
            Sums::Integer(sums) => sums[slot as usize] = 0,
            Sums::Float(sums) => sums.reset(slot),
        }
    }

    fn values(&self, slots: &[u32]) -> Result<ArrayRef, Error> {
        let count = |slot: &u32| Some(self.counts[*slot as usize]).filter(|count| *count > 0);
        match &self.sums {
            Sums::Integer(sums) if self.output != DataType::Float64 => {
                let whole =
                    |slot: &u32| count(slot).map(|count| sums[*slot as usize].div_euclid(i128::from(count)) as i64);
                from_integers(slots.iter().map(whole).collect::<Int64Array>(), &self.output)
            }
            Sums::Integer(sums) => {
                let mean = |slot: &u32| count(slot).map(|count| quotient(sums[*slot as usize], count));
                Ok(Arc::new(slots.iter().map(mean).collect::<Float64Array>()))
            }
            Sums::Float(sums) => {
                let mean = |slot: &u32| count(slot).map(|count| mean_of(sums, *slot, count));
                Ok(Arc::new(slots.iter().map(mean).collect::<Float64Array>()))
            }
        }
    }

    fn words(&self) -> Option<Vec<u64>> {
        Some(match self.sums {
            Sums::Integer(_) => vec![0; 2],
            Sums::Float(..) => vec![0; fixed::WORDS],
        })
    }

    fn plain(&self, cells: &Chunk) -> Chunk {
        match self.sums {
            Sums::Integer(_) => Arc::new(integers(cells)),
            Sums::Float(..) => Arc::new(floats(cells)),
        }
    }

    fn bulk_add(&mut self, lane: &mut BulkColumn<'_>, batch: &Batch<'_>) {
        match &mut self.sums {
            Sums::Integer(_) => lane.add_wide(batch.integers(&mut [0; BATCH]), self.unsigned),
            Sums::Float(sums) => self.fixed.add_batch(lane, batch, sums),
        }
        batch.each_null(|slot, _| self.counts[slot as usize] -= 1);
    }

    fn flush(&mut self, lane: &mut BulkColumn<'_>, rows: &[i64]) {
        match &mut self.sums {
            Sums::Integer(sums) => {
                for (slot, sum) in sums.iter_mut().enumerate() {
                    let words = lane.of(slot);
                    *sum += i128::from(words[1] as i64) << 64 | i128::from(words[0]);
                }
            }
            Sums::Float(sums) => self.fixed.flush(lane, sums),
        }
        add_counts(&mut self.counts, rows);
    }

    fn merge(&mut self, other: Box<dyn State>, slots: &[u32]) {
        let other = same::<Mean>(other);
        for (count, to) in other.counts.into_iter().zip(slots) {
            self.counts[*to as usize] += count;
        }
        match (&mut self.sums, other.sums) {
            (Sums::Integer(own), Sums::Integer(other)) => {
                for (sum, to) in other.into_iter().zip(slots) {
                    own[*to as usize] += sum;
                }
            }
            (Sums::Float(own), Sums::Float(other)) => own.merge(&other, slots),
            _ => unreachable!("states of one aggregator are of one kind"),
        }
    }

    fn into_any(self: Box<Self>) -> Box<dyn std::any::Any> {
        self
    }
}

/// A sum of integers by their count: whole part and remainder apart, so that large sums keep their bits.
fn quotient(sum: i128, count: i64) -> f64 {
    let count = i128::from(count);
    let (whole, rest) = (sum / count, sum % count);
    whole as f64 + rest as f64 / count as f64
}

fn mean_of(sums: &ExactSums, slot: u32, count: i64) -> f64 {
    let sum = sums.value(slot);
    if sum.is_finite() || sums.special(slot).is_some() {
        return sum / count as f64;
    }
    // The sum is beyond the range of doubles, the mean is not.
    sums.scaled_value(slot) / count as f64 * UP
}

/// From here on squares may leave the range of doubles: values are kept scaled down as well.
const LARGE: f64 = f64::from_bits((1023 + 400) << 52);
/// From here on they do: the scaled values are used, beside which those below `LARGE` are nothing.
const TOO_LARGE: f64 = f64::from_bits((1023 + 500) << 52);
/// 2^-540 and back.
const SMALLER: f64 = f64::from_bits((1023 - 540) << 52);
const LARGER: f64 = f64::from_bits((1023 + 540) << 52);

/// Standard deviation or variance.
pub(crate) struct Spread {
    sums: ExactSums,
    squares: ExactSums,
    scaled: Option<Box<Scaled>>,
    counts: Vec<i64>,
    ddof: u8,
    root: bool,
}

/// The sums of values whose squares overflow, scaled down before they are squared.
#[derive(Default)]
struct Scaled {
    sums: ExactSums,
    squares: ExactSums,
    too_large: Vec<i64>,
}

impl Scaled {
    fn grow(&mut self, slots: usize) {
        self.sums.grow(slots);
        self.squares.grow(slots);
        self.too_large.resize(slots, 0);
    }

    fn add(&mut self, slot: u32, value: f64, sign: f64) {
        let small = value * SMALLER;
        self.sums.add(slot, small * sign);
        let (square, error) = two_product(small, small);
        self.squares.add(slot, square * sign);
        self.squares.add(slot, error * sign);
        if value.abs() >= TOO_LARGE {
            self.too_large[slot as usize] += sign as i64;
        }
    }
}

impl Spread {
    pub(crate) fn new(ddof: u8, root: bool) -> Spread {
        Spread {
            sums: ExactSums::default(),
            squares: ExactSums::default(),
            scaled: None,
            counts: Vec::new(),
            ddof,
            root,
        }
    }

    fn each(&mut self, slots: &[u32], cells: &Chunk, add: bool) {
        let values = floats(cells);
        let sign = if add { 1.0 } else { -1.0 };
        valid_cells(slots, &values, |slot, at| {
            let value = values.values()[at];
            self.counts[slot as usize] += sign as i64;
            if add {
                self.sums.add(slot, value)
            } else {
                self.sums.remove(slot, value)
            }
            if value.abs() < TOO_LARGE {
                let (square, error) = two_product(value, value);
                self.squares.add(slot, square * sign);
                self.squares.add(slot, error * sign);
            }
            if value.is_finite() && value.abs() >= LARGE {
                let slots = self.counts.len();
                let scaled = self.scaled.get_or_insert_default();
                scaled.grow(slots);
                scaled.add(slot, value, sign);
            }
        });
    }

    fn spread(&self, slot: u32) -> Option<f64> {
        let count = self.counts[slot as usize];
        let degrees = count - i64::from(self.ddof);
        if degrees <= 0 {
            return None;
        }
        if self.sums.special(slot).is_some() {
            return Some(f64::NAN);
        }
        let n = count as f64;
        if let Some(scaled) = self.scaled.as_ref().filter(|scaled| scaled.too_large[slot as usize] > 0) {
            let variance = numerator(&scaled.sums, &scaled.squares, slot, n) / n / degrees as f64;
            return Some(if self.root {
                variance.max(0.0).sqrt() * LARGER
            } else {
                variance.max(0.0) * LARGER * LARGER
            });
        }
        let variance = (numerator(&self.sums, &self.squares, slot, n) / n / degrees as f64).max(0.0);
        Some(if self.root { variance.sqrt() } else { variance })
    }
}

/// n Σx² − (Σx)², exactly, then rounded once.
fn numerator(sums: &ExactSums, squares: &ExactSums, slot: u32, n: f64) -> f64 {
    let mut total = Vec::new();
    let mut push = |a: f64, b: f64| {
        let (product, error) = two_product(a, b);
        grow_expansion(&mut total, product);
        grow_expansion(&mut total, error);
    };
    squares.parts(slot).into_iter().for_each(|square| push(square, n));
    let sums = sums.parts(slot);
    for a in &sums {
        sums.iter().for_each(|b| push(-a, *b));
    }
    rounded(&total)
}

impl State for Spread {
    fn grow(&mut self, slots: usize) {
        self.sums.grow(slots);
        self.squares.grow(slots);
        self.counts.resize(slots, 0);
        if let Some(scaled) = &mut self.scaled {
            scaled.grow(slots);
        }
    }

    fn add(&mut self, slots: &[u32], cells: &Chunk) {
        self.each(slots, cells, true);
    }

    fn remove(&mut self, slots: &[u32], cells: &Chunk) {
        self.each(slots, cells, false);
    }

    fn reset(&mut self, slot: u32) {
        self.sums.reset(slot);
        self.squares.reset(slot);
        if let Some(scaled) = &mut self.scaled {
            scaled.sums.reset(slot);
            scaled.squares.reset(slot);
            scaled.too_large[slot as usize] = 0;
        }
        self.counts[slot as usize] = 0;
    }

    fn values(&self, slots: &[u32]) -> Result<ArrayRef, Error> {
        let value = |slot: &u32| self.spread(*slot);
        Ok(Arc::new(slots.iter().map(value).collect::<Float64Array>()))
    }

    fn merge(&mut self, other: Box<dyn State>, slots: &[u32]) {
        let other = same::<Spread>(other);
        self.sums.merge(&other.sums, slots);
        self.squares.merge(&other.squares, slots);
        if let Some(scaled) = other.scaled {
            let size = self.counts.len();
            let own = self.scaled.get_or_insert_default();
            own.grow(size);
            own.sums.merge(&scaled.sums, slots);
            own.squares.merge(&scaled.squares, slots);
            for (count, to) in scaled.too_large.into_iter().zip(slots) {
                own.too_large[*to as usize] += count;
            }
        }
        for (count, to) in other.counts.into_iter().zip(slots) {
            self.counts[*to as usize] += count;
        }
    }

    fn into_any(self: Box<Self>) -> Box<dyn std::any::Any> {
        self
    }
}
