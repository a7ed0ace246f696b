//! `sum`: integers wrap, so that removing restores; floats are exact until they are read.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Decimal256Type, DecimalType};
use arrow_array::{ArrayRef, ArrowNativeTypeOp, Float64Array, Int64Array, PrimitiveArray};
use arrow_schema::DataType;
use column::Chunk;

use super::board::{BATCH, Lane};
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
        DataType::Decimal128(..) => DecimalSum::<Decimal128Type>::boxed(counts, output),
        DataType::Decimal256(..) => DecimalSum::<Decimal256Type>::boxed(counts, output),
        _ => Box::new(IntegerSum { sums: Vec::new(), counts, output: output.clone() }),
    }
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

    fn add_on(&mut self, lane: &mut Lane<'_>, batch: &Batch<'_>) {
        self.fixed.add_batch(lane, batch, &mut self.sums);
        batch.each_null(|slot, _| self.counts.of[slot as usize] -= 1);
    }

    fn settle(&mut self, lane: &mut Lane<'_>, rows: &[i64]) {
        self.fixed.settle(lane, &mut self.sums);
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

    fn add_on(&mut self, lane: &mut Lane<'_>, batch: &Batch<'_>) {
        lane.add(batch.integers(&mut [0; BATCH]));
        batch.each_null(|slot, _| self.counts.of[slot as usize] -= 1);
    }

    fn settle(&mut self, lane: &mut Lane<'_>, rows: &[i64]) {
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

/// Sums of 128 or 256 bits that wrap.
struct DecimalSum<T: DecimalType> {
    sums: Vec<T::Native>,
    counts: Counts,
    output: DataType,
}

impl<T: DecimalType> DecimalSum<T> {
    fn boxed(counts: Counts, output: &DataType) -> Box<dyn State> {
        Box::new(DecimalSum::<T> { sums: Vec::new(), counts, output: output.clone() })
    }

    fn each(&mut self, slots: &[u32], cells: &Chunk, sign: i64, add: impl Fn(T::Native, T::Native) -> T::Native) {
        let values = cells.as_primitive::<T>();
        valid_cells(slots, values, |slot, at| {
            let sum = &mut self.sums[slot as usize];
            *sum = add(*sum, values.values()[at]);
            self.counts.of[slot as usize] += sign;
        });
    }
}

impl<T: DecimalType> State for DecimalSum<T> {
    fn grow(&mut self, slots: usize) {
        self.sums.resize(slots, T::Native::ZERO);
        self.counts.of.resize(slots, 0);
    }

    fn add(&mut self, slots: &[u32], cells: &Chunk) {
        self.each(slots, cells, 1, ArrowNativeTypeOp::add_wrapping);
    }

    fn remove(&mut self, slots: &[u32], cells: &Chunk) {
        self.each(slots, cells, -1, ArrowNativeTypeOp::sub_wrapping);
    }

    fn reset(&mut self, slot: u32) {
        self.sums[slot as usize] = T::Native::ZERO;
        self.counts.of[slot as usize] = 0;
    }

    fn values(&self, slots: &[u32]) -> Result<ArrayRef, Error> {
        let values: PrimitiveArray<T> =
            slots.iter().map(|slot| self.counts.enough(*slot).then(|| self.sums[*slot as usize])).collect();
        Ok(Arc::new(values.with_data_type(self.output.clone())))
    }

    fn merge(&mut self, other: Box<dyn State>, slots: &[u32]) {
        let other = same::<DecimalSum<T>>(other);
        for (sum, to) in other.sums.into_iter().zip(slots) {
            self.sums[*to as usize] = self.sums[*to as usize].add_wrapping(sum);
        }
        self.counts.merge(other.counts, slots);
    }

    fn into_any(self: Box<Self>) -> Box<dyn std::any::Any> {
        self
    }
}
