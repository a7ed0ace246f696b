//! `sum`: integers wrap, so that removing restores; floats are exact until they are read; decimals and durations are
//! exact, and an error where they leave the range of their type. So are means of decimals, of the same sums.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Decimal256Type};
use arrow_array::{ArrayRef, Decimal128Array, Decimal256Array, Float64Array, Int64Array};
use arrow_buffer::i256;
use arrow_schema::DataType;
use column::Chunk;

use super::board::{BATCH, BulkColumn};
use super::exact::ExactSums;
use super::fixed::{self, Fixed};
use super::state::{Batch, State, add_counts, floats, from_integers, integers, same, valid_cells};
use crate::error::Error;

/// The state for cells of this type.
pub(crate) fn state(input: &DataType, output: &DataType, min_count: u64) -> Box<dyn State> {
    let counts = Counts { of: Vec::new(), least: min_count };
    match input {
        DataType::Float16 | DataType::Float32 | DataType::Float64 => {
            Box::new(FloatSum { sums: ExactSums::default(), fixed: Fixed::default(), counts, output: output.clone() })
        }
        DataType::Decimal128(..) | DataType::Decimal256(..) | DataType::Duration(_) => {
            Box::new(WideSum { sums: Vec::new(), counts, input: input.clone(), output: output.clone(), mean: None })
        }
        _ => Box::new(IntegerSum { sums: Vec::new(), counts, output: output.clone() }),
    }
}

/// Means of decimals, with four digits more, half up.
pub(crate) fn mean_of_decimals(input: &DataType, output: &DataType) -> Box<dyn State> {
    let scale = |data_type: &DataType| match data_type {
        DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) => *scale,
        _ => 0,
    };
    let finer = ten_to(scale(output).saturating_sub(scale(input)).unsigned_abs().into());
    let counts = Counts { of: Vec::new(), least: 1 };
    Box::new(WideSum { sums: Vec::new(), counts, input: input.clone(), output: output.clone(), mean: Some(finer) })
}

fn ten_to(power: u32) -> i256 {
    i256::from_i128(10).wrapping_pow(power)
}

/// How many values a group has, and how many make a sum.
struct Counts {
    of: Vec<i64>,
    least: u64,
}

impl Counts {
    fn enough(&self, slot: u32) -> bool {
        self.of[slot as usize] as u64 >= self.least
    }

    fn merge(&mut self, other: Counts, slots: &[u32]) {
        for (count, to) in other.of.into_iter().zip(slots) {
            self.of[*to as usize] += count;
        }
    }
}

struct FloatSum {
    sums: ExactSums,
    fixed: Fixed,
    counts: Counts,
    output: DataType,
}

impl State for FloatSum {
    fn grow(&mut self, slots: usize) {
        self.sums.grow(slots);
        self.counts.of.resize(slots, 0);
    }

    fn add(&mut self, slots: &[u32], cells: &Chunk) {
        let values = floats(cells);
        valid_cells(slots, &values, |slot, at| {
            self.sums.add(slot, values.values()[at]);
            self.counts.of[slot as usize] += 1;
        });
    }

    fn remove(&mut self, slots: &[u32], cells: &Chunk) {
        let values = floats(cells);
        valid_cells(slots, &values, |slot, at| {
            self.sums.remove(slot, values.values()[at]);
            self.counts.of[slot as usize] -= 1;
        });
    }

    fn reset(&mut self, slot: u32) {
        self.sums.reset(slot);
        self.counts.of[slot as usize] = 0;
    }

    fn values(&self, slots: &[u32]) -> Result<ArrayRef, Error> {
        let values: Float64Array =
            slots.iter().map(|slot| self.counts.enough(*slot).then(|| self.sums.value(*slot))).collect();
        let values: ArrayRef = Arc::new(values);
        Ok(if self.output == DataType::Float64 { values } else { arrow_cast::cast(&values, &self.output)? })
    }

    fn words(&self) -> Option<Vec<u64>> {
        Some(vec![0; fixed::WORDS])
    }

    fn plain(&self, cells: &Chunk) -> Chunk {
        Arc::new(floats(cells))
    }

    fn bulk_add(&mut self, lane: &mut BulkColumn<'_>, batch: &Batch<'_>) {
        self.fixed.add_batch(lane, batch, &mut self.sums);
        batch.each_null(|slot, _| self.counts.of[slot as usize] -= 1);
    }

    fn flush(&mut self, lane: &mut BulkColumn<'_>, rows: &[i64]) {
        self.fixed.flush(lane, &mut self.sums);
        add_counts(&mut self.counts.of, rows);
    }

    fn merge(&mut self, other: Box<dyn State>, slots: &[u32]) {
        let other = same::<FloatSum>(other);
        self.sums.merge(&other.sums, slots);
        self.counts.merge(other.counts, slots);
    }

    fn into_any(self: Box<Self>) -> Box<dyn std::any::Any> {
        self
    }
}

struct IntegerSum {
    sums: Vec<i64>,
    counts: Counts,
    output: DataType,
}

impl IntegerSum {
    fn each(&mut self, slots: &[u32], cells: &Chunk, sign: i64) {
        let values = integers(cells);
        valid_cells(slots, &values, |slot, at| {
            let sum = &mut self.sums[slot as usize];
            *sum = sum.wrapping_add(values.values()[at].wrapping_mul(sign));
            self.counts.of[slot as usize] += sign;
        });
    }
}

impl State for IntegerSum {
    fn grow(&mut self, slots: usize) {
        self.sums.resize(slots, 0);
        self.counts.of.resize(slots, 0);
    }

    fn add(&mut self, slots: &[u32], cells: &Chunk) {
        self.each(slots, cells, 1);
    }

    fn remove(&mut self, slots: &[u32], cells: &Chunk) {
        self.each(slots, cells, -1);
    }

    fn reset(&mut self, slot: u32) {
        self.sums[slot as usize] = 0;
        self.counts.of[slot as usize] = 0;
    }

    fn values(&self, slots: &[u32]) -> Result<ArrayRef, Error> {
        let values: Int64Array =
            slots.iter().map(|slot| self.counts.enough(*slot).then(|| self.sums[*slot as usize])).collect();
        from_integers(values, &self.output)
    }

    fn words(&self) -> Option<Vec<u64>> {
        Some(vec![0])
    }

    fn plain(&self, cells: &Chunk) -> Chunk {
        Arc::new(integers(cells))
    }

    fn bulk_add(&mut self, lane: &mut BulkColumn<'_>, batch: &Batch<'_>) {
        lane.add(batch.integers(&mut [0; BATCH]));
        batch.each_null(|slot, _| self.counts.of[slot as usize] -= 1);
    }

    fn flush(&mut self, lane: &mut BulkColumn<'_>, rows: &[i64]) {
        for (slot, sum) in self.sums.iter_mut().enumerate() {
            *sum = sum.wrapping_add(lane.of(slot)[0] as i64);
        }
        add_counts(&mut self.counts.of, rows);
    }

    fn merge(&mut self, other: Box<dyn State>, slots: &[u32]) {
        let other = same::<IntegerSum>(other);
        for (sum, to) in other.sums.into_iter().zip(slots) {
            self.sums[*to as usize] = self.sums[*to as usize].wrapping_add(sum);
        }
        self.counts.merge(other.counts, slots);
    }

    fn into_any(self: Box<Self>) -> Box<dyn std::any::Any> {
        self
    }
}

/// Sums that are exact, and an error where they leave the range of their type: decimals and durations.
struct WideSum {
    /// The lowest 256 bits, which wrap, and how often they did.
    sums: Vec<(i256, i64)>,
    counts: Counts,
    input: DataType,
    output: DataType,
    /// For a mean, how much finer it is than the values.
    mean: Option<i256>,
}

impl WideSum {
    fn each(&mut self, slots: &[u32], cells: &Chunk, add: bool) {
        let (sums, counts) = (&mut self.sums, &mut self.counts);
        let mut enter = |slot: u32, value: i256| {
            let (sum, wraps) = &mut sums[slot as usize];
            let value = if add { value } else { value.wrapping_neg() };
            let (next, up) = added(*sum, value);
            (*sum, *wraps) = (next, *wraps + up);
            counts.of[slot as usize] += if add { 1 } else { -1 };
        };
        match self.input {
            DataType::Decimal128(..) => {
                let values = cells.as_primitive::<Decimal128Type>();
                valid_cells(slots, values, |slot, at| enter(slot, i256::from_i128(values.value(at))));
            }
            DataType::Decimal256(..) => {
                let values = cells.as_primitive::<Decimal256Type>();
                valid_cells(slots, values, |slot, at| enter(slot, values.value(at)));
            }
            _ => {
                let values = integers(cells);
                valid_cells(slots, &values, |slot, at| enter(slot, i256::from_i128(i128::from(values.value(at)))));
            }
        }
    }

    /// The sum of a group that has enough values, as it fits its type.
    fn value(&self, slot: u32) -> Result<Option<i256>, Error> {
        if !self.counts.enough(slot) {
            return Ok(None);
        }
        let (sum, wraps) = self.sums[slot as usize];
        if let Some(finer) = self.mean {
            return self.mean(sum, wraps, self.counts.of[slot as usize], finer).map(Some);
        }
        let digits = ten_to;
        let fits = match self.output {
            DataType::Decimal128(..) => sum.wrapping_abs() < digits(38),
            DataType::Decimal256(..) => sum.wrapping_abs() < digits(76),
            _ => sum.to_i128().is_some_and(|sum| i64::try_from(sum).is_ok()),
        };
        if fits && wraps == 0 && sum != i256::MIN {
            return Ok(Some(sum));
        }
        Err(Error::data(
            "sum",
            match self.output {
                DataType::Decimal128(..) => {
                    "the sum has more than 38 digits; cast the column to Decimal(76, scale) or to Float64 and sum that"
                }
                DataType::Decimal256(..) => "the sum has more than 76 digits; cast the column to Float64 and sum that",
                _ => "the sum is beyond the range of durations, 292 years; sum .dt.total_seconds() instead",
            },
        ))
    }
}

impl WideSum {
    /// The sum over the count; what lies in the middle goes away from zero.
    fn mean(&self, sum: i256, wraps: i64, count: i64, finer: i256) -> Result<i256, Error> {
        let digits = match self.output {
            DataType::Decimal128(precision, _) | DataType::Decimal256(precision, _) => u32::from(precision),
            _ => 76,
        };
        let most = ten_to(digits);
        let count = i256::from_i128(count.into());
        let (whole, rest) = (sum.wrapping_div(count), sum.wrapping_rem(count).wrapping_mul(finer));
        let (part, left) = (rest.wrapping_div(count), rest.wrapping_rem(count));
        let up =
            if left.wrapping_abs().wrapping_add(left.wrapping_abs()) >= count { left.signum() } else { i256::ZERO };
        let mean = whole.checked_mul(finer).and_then(|whole| whole.checked_add(part.wrapping_add(up)));
        mean.filter(|mean| wraps == 0 && mean.wrapping_abs() < most).ok_or_else(|| {
            let message =
                format!("the mean has more than {digits} digits; cast the column to Float64 and take its mean");
            Error::data("mean", message)
        })
    }
}

/// The sum modulo 2^256, and how often it left the range upward.
fn added(a: i256, b: i256) -> (i256, i64) {
    match a.checked_add(b) {
        Some(sum) => (sum, 0),
        None => (a.wrapping_add(b), if b > i256::ZERO { 1 } else { -1 }),
    }
}

impl State for WideSum {
    fn grow(&mut self, slots: usize) {
        self.sums.resize(slots, (i256::ZERO, 0));
        self.counts.of.resize(slots, 0);
    }

    fn add(&mut self, slots: &[u32], cells: &Chunk) {
        self.each(slots, cells, true);
    }

    fn remove(&mut self, slots: &[u32], cells: &Chunk) {
        self.each(slots, cells, false);
    }

    fn reset(&mut self, slot: u32) {
        self.sums[slot as usize] = (i256::ZERO, 0);
        self.counts.of[slot as usize] = 0;
    }

    fn values(&self, slots: &[u32]) -> Result<ArrayRef, Error> {
        let values: Vec<Option<i256>> = slots.iter().map(|slot| self.value(*slot)).collect::<Result<_, _>>()?;
        let narrow = |value: &Option<i256>| value.and_then(i256::to_i128);
        Ok(match &self.output {
            output @ DataType::Decimal128(..) => {
                let sums: Decimal128Array = values.iter().map(narrow).collect();
                Arc::new(sums.with_data_type(output.clone()))
            }
            output @ DataType::Decimal256(..) => {
                let sums: Decimal256Array = values.into_iter().collect();
                Arc::new(sums.with_data_type(output.clone()))
            }
            output => {
                let sums: Int64Array = values.iter().map(|value| narrow(value).map(|sum| sum as i64)).collect();
                return from_integers(sums, output);
            }
        })
    }

    fn merge(&mut self, other: Box<dyn State>, slots: &[u32]) {
        let other = same::<WideSum>(other);
        for ((sum, wraps), to) in other.sums.into_iter().zip(slots) {
            let own = &mut self.sums[*to as usize];
            let (next, up) = added(own.0, sum);
            *own = (next, own.1 + wraps + up);
        }
        self.counts.merge(other.counts, slots);
    }

    fn into_any(self: Box<Self>) -> Box<dyn std::any::Any> {
        self
    }
}
