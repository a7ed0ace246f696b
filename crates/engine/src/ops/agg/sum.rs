//! `sum`: integers wrap, so that removing restores; floats are exact until they are read; decimals and durations are
//! exact, and an error where they leave the range of their type. `mean`: of the same sums, of integers of one in 128 bits.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Decimal256Type, Float64Type, Int64Type};
use arrow_array::{ArrayRef, Decimal128Array, Decimal256Array, Float64Array, Int64Array};
use arrow_buffer::i256;
use arrow_schema::DataType;
use column::Chunk;

use super::accumulators::{Accumulator, Counted, ExactSum, LongSum, Removable, TwoDoubles, UP, WideSum, WrappingSum};
use super::board::BulkColumn;
use super::fixed::{self, Fixed};
use super::quickly::{as_they_are, plain_floats, plain_integers, slid_quickly};
use super::spans::by_difference;
use super::state::{
    Batch, BulkState, Codec, PerGroup, State, TakeSpans, each_float, floats, from_integers, integers, valid_cells,
};
use crate::error::Error;

/// The state of sums of cells of this type.
pub(crate) fn state(input: &DataType, output: &DataType, min_count: u64) -> Box<dyn State> {
    let output = output.clone();
    match input {
        DataType::Float16 | DataType::Float32 | DataType::Float64 => {
            PerGroup::boxed(Floats { fixed: Fixed::default(), least: min_count, mean: false, output })
        }
        DataType::Decimal128(..) | DataType::Decimal256(..) | DataType::Duration(_) => {
            PerGroup::boxed(Wides { input: input.clone(), output, least: min_count, mean: None })
        }
        _ => PerGroup::boxed(Integers { least: min_count, output }),
    }
}

/// The state of means of cells of this type: numbers, decimals, or times.
pub(crate) fn mean(input: &DataType, output: &DataType) -> Box<dyn State> {
    let scale = |data_type: &DataType| match data_type {
        DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) => *scale,
        _ => 0,
    };
    let output = output.clone();
    match input {
        DataType::Float16 | DataType::Float32 | DataType::Float64 => {
            PerGroup::boxed(Floats { fixed: Fixed::default(), least: 1, mean: true, output })
        }
        // With four digits more, half up.
        DataType::Decimal128(..) | DataType::Decimal256(..) => {
            let finer = ten_to(scale(&output).saturating_sub(scale(input)).unsigned_abs().into());
            PerGroup::boxed(Wides { input: input.clone(), output, least: 1, mean: Some(finer) })
        }
        _ => PerGroup::boxed(Means { unsigned: *input == DataType::UInt64, output }),
    }
}

/// Floats that are summed, or whose mean is taken.
struct Floats {
    fixed: Fixed,
    least: u64,
    mean: bool,
    output: DataType,
}

impl Floats {
    fn stored(&self, values: Float64Array) -> Result<ArrayRef, Error> {
        let values: ArrayRef = Arc::new(values);
        Ok(if self.output == DataType::Float64 { values } else { arrow_cast::cast(&values, &self.output)? })
    }
}

impl Codec for Floats {
    type Of = Counted<ExactSum>;
    const SPANS: Option<TakeSpans<Self>> = Some(by_difference);

    fn is_like(&self, _: &Self) -> bool {
        true
    }

    fn empty(&self) -> Counted<ExactSum> {
        Counted::default()
    }

    fn decode(&self, cells: &[Chunk], each: impl FnMut(usize, f64)) {
        each_float(&cells[0], each);
    }

    fn remove(of: &mut Counted<ExactSum>, value: f64) {
        of.remove(value);
    }

    fn encode<'a>(&self, groups: impl Iterator<Item = &'a Counted<ExactSum>>) -> Result<ArrayRef, Error> {
        let value = |group: &Counted<ExactSum>| {
            let sum = group.value(&self.least)?;
            Some(if self.mean { mean_of(sum, group) } else { sum })
        };
        self.stored(groups.map(value).collect())
    }

    fn slide(&self, cells: &[Chunk], windows: &[Range<usize>]) -> Option<Result<ArrayRef, Error>> {
        let plain = plain_floats(&cells[0]);
        let value = |sum: &TwoDoubles, window: &Range<usize>| {
            let count = plain.counts.of(window);
            let mean = |sum: f64| if self.mean { sum / count as f64 } else { sum };
            (count as u64 >= self.least).then(|| mean(sum.value()))
        };
        let values = (TwoDoubles::default(), plain.values());
        Some(slid_quickly::<_, _, Float64Type>((self, cells), windows, values, value, |values| self.stored(values)))
    }

    fn bulk(state: &mut PerGroup<Floats>) -> Option<&mut dyn BulkState> {
        Some(state)
    }
}

/// The mean of values, of which there is one at least, by their sum.
pub(crate) fn mean_of(sum: f64, group: &Counted<ExactSum>) -> f64 {
    let count = group.count as f64;
    if sum.is_finite() || group.of.special().is_some() {
        return sum / count;
    }
    // The sum is beyond the range of doubles, the mean is not.
    group.of.scaled_value() / count * UP
}

impl BulkState for PerGroup<Floats> {
    fn words(&self) -> Vec<u64> {
        vec![0; fixed::WORDS]
    }

    fn plain(&self, cells: &Chunk) -> Chunk {
        Arc::new(floats(cells))
    }

    fn add(&mut self, lane: &mut BulkColumn<'_>, batch: &Batch<'_>) {
        self.codec.fixed.add_batch(lane, batch, &mut self.groups);
        take_nulls(batch, &mut self.groups);
    }

    fn flush(&mut self, lane: &mut BulkColumn<'_>, rows: &[i64]) {
        self.codec.fixed.flush(lane, &mut self.groups);
        count_rows(&mut self.groups, rows);
    }
}

/// The board counts rows, null or not.
fn take_nulls<A>(batch: &Batch<'_>, groups: &mut [Counted<A>]) {
    batch.each_null(|slot, _| groups[slot as usize].count -= 1);
}

fn count_rows<A>(groups: &mut [Counted<A>], rows: &[i64]) {
    groups.iter_mut().zip(rows).for_each(|(group, rows)| group.count += rows);
}

/// Integers and booleans that are summed.
struct Integers {
    least: u64,
    output: DataType,
}

impl Codec for Integers {
    type Of = Counted<WrappingSum>;
    const SPANS: Option<TakeSpans<Self>> = Some(by_difference);

    fn is_like(&self, _: &Self) -> bool {
        true
    }

    fn empty(&self) -> Counted<WrappingSum> {
        Counted::default()
    }

    fn decode(&self, cells: &[Chunk], mut each: impl FnMut(usize, i64)) {
        let values = integers(&cells[0]);
        valid_cells(&values, |at| each(at, values.values()[at]));
    }

    fn remove(of: &mut Counted<WrappingSum>, value: i64) {
        of.remove(value);
    }

    fn encode<'a>(&self, groups: impl Iterator<Item = &'a Counted<WrappingSum>>) -> Result<ArrayRef, Error> {
        from_integers(groups.map(|group| group.value(&self.least)).collect::<Int64Array>(), &self.output)
    }

    fn slide(&self, cells: &[Chunk], windows: &[Range<usize>]) -> Option<Result<ArrayRef, Error>> {
        let plain = plain_integers(&cells[0]);
        let value = |sum: &WrappingSum, window: &Range<usize>| {
            (plain.counts.of(window) as u64 >= self.least).then(|| sum.value(&()))
        };
        let values = (WrappingSum::default(), plain.values());
        let stored = |values| from_integers(values, &self.output);
        Some(slid_quickly::<_, _, Int64Type>((self, cells), windows, values, value, stored))
    }

    fn bulk(state: &mut PerGroup<Integers>) -> Option<&mut dyn BulkState> {
        Some(state)
    }
}

impl BulkState for PerGroup<Integers> {
    fn words(&self) -> Vec<u64> {
        vec![0]
    }

    fn plain(&self, cells: &Chunk) -> Chunk {
        Arc::new(integers(cells))
    }

    fn add(&mut self, lane: &mut BulkColumn<'_>, batch: &Batch<'_>) {
        lane.add(batch.integers(&mut None));
        take_nulls(batch, &mut self.groups);
    }

    fn flush(&mut self, lane: &mut BulkColumn<'_>, rows: &[i64]) {
        for (slot, group) in self.groups.iter_mut().enumerate() {
            group.of.add(lane.of(slot)[0] as i64);
        }
        count_rows(&mut self.groups, rows);
    }
}

/// Integers and times whose mean is taken: a Float64, of times a time.
struct Means {
    unsigned: bool,
    output: DataType,
}

impl Means {
    fn wide(&self, value: i64) -> i128 {
        if self.unsigned { i128::from(value as u64) } else { i128::from(value) }
    }
}

impl Codec for Means {
    type Of = Counted<LongSum>;
    const SPANS: Option<TakeSpans<Self>> = Some(by_difference);

    fn is_like(&self, _: &Self) -> bool {
        true
    }

    fn empty(&self) -> Counted<LongSum> {
        Counted::default()
    }

    fn decode(&self, cells: &[Chunk], mut each: impl FnMut(usize, i128)) {
        let values = integers(&cells[0]);
        valid_cells(&values, |at| each(at, self.wide(values.values()[at])));
    }

    fn remove(of: &mut Counted<LongSum>, value: i128) {
        of.remove(value);
    }

    fn encode<'a>(&self, groups: impl Iterator<Item = &'a Counted<LongSum>>) -> Result<ArrayRef, Error> {
        let sums = groups.map(|group| Some((group.value(&1)?, i128::from(group.count))));
        if self.output == DataType::Float64 {
            let mean = |sum: Option<(i128, i128)>| sum.map(|(sum, count)| quotient(sum, count));
            return Ok(Arc::new(sums.map(mean).collect::<Float64Array>()));
        }
        let whole = |sum: Option<(i128, i128)>| sum.map(|(sum, count)| sum.div_euclid(count) as i64);
        from_integers(sums.map(whole).collect::<Int64Array>(), &self.output)
    }

    fn slide(&self, cells: &[Chunk], windows: &[Range<usize>]) -> Option<Result<ArrayRef, Error>> {
        if self.output != DataType::Float64 {
            return None;
        }
        let plain = plain_integers(&cells[0]);
        let wide: Vec<i128> = plain.values().iter().map(|value| self.wide(*value)).collect();
        let value = |sum: &LongSum, window: &Range<usize>| {
            let count = plain.counts.of(window);
            (count > 0).then(|| quotient(sum.value(&()), count as i128))
        };
        let values = (LongSum::default(), &wide[..]);
        Some(slid_quickly::<_, _, Float64Type>((self, cells), windows, values, value, as_they_are))
    }

    fn bulk(state: &mut PerGroup<Means>) -> Option<&mut dyn BulkState> {
        Some(state)
    }
}

/// A sum of integers by their count: whole part and remainder apart, so that large sums keep their bits.
fn quotient(sum: i128, count: i128) -> f64 {
    let (whole, rest) = (sum / count, sum % count);
    whole as f64 + rest as f64 / count as f64
}

impl BulkState for PerGroup<Means> {
    fn words(&self) -> Vec<u64> {
        vec![0; 2]
    }

    fn plain(&self, cells: &Chunk) -> Chunk {
        Arc::new(integers(cells))
    }

    fn add(&mut self, lane: &mut BulkColumn<'_>, batch: &Batch<'_>) {
        lane.add_wide(batch.integers(&mut None), self.codec.unsigned);
        take_nulls(batch, &mut self.groups);
    }

    fn flush(&mut self, lane: &mut BulkColumn<'_>, rows: &[i64]) {
        for (slot, group) in self.groups.iter_mut().enumerate() {
            let words = lane.of(slot);
            group.of.0 += i128::from(words[1] as i64) << 64 | i128::from(words[0]);
        }
        count_rows(&mut self.groups, rows);
    }
}

/// Decimals and durations: their sums are an error where they leave the range of their type.
struct Wides {
    input: DataType,
    output: DataType,
    least: u64,
    /// For a mean, how much finer it is than the values.
    mean: Option<i256>,
}

fn ten_to(power: u32) -> i256 {
    i256::from_i128(10).wrapping_pow(power)
}

impl Wides {
    /// The result of a group that has enough values, as it fits its type.
    fn value(&self, group: &Counted<WideSum>) -> Result<Option<i256>, Error> {
        let Some(sum) = group.value(&self.least) else { return Ok(None) };
        if let Some(finer) = self.mean {
            return self.mean(sum, group.count, finer).map(Some);
        }
        let fits = |sum: &i256| match self.output {
            DataType::Decimal128(..) => sum.wrapping_abs() < ten_to(38),
            DataType::Decimal256(..) => sum.wrapping_abs() < ten_to(76),
            _ => sum.to_i128().is_some_and(|sum| i64::try_from(sum).is_ok()),
        };
        match sum.filter(|sum| fits(sum) && *sum != i256::MIN) {
            Some(sum) => Ok(Some(sum)),
            None => Err(Error::data(
                "sum",
                match self.output {
                    DataType::Decimal128(..) => {
                        "the sum has more than 38 digits; cast the column to Decimal(76, scale) or to Float64 and sum that"
                    }
                    DataType::Decimal256(..) => {
                        "the sum has more than 76 digits; cast the column to Float64 and sum that"
                    }
                    _ => "the sum is beyond the range of durations, 292 years; sum .dt.total_seconds() instead",
                },
            )),
        }
    }

    /// The sum over the count; what lies in the middle goes away from zero.
    fn mean(&self, sum: Option<i256>, count: i64, finer: i256) -> Result<i256, Error> {
        let digits = match self.output {
            DataType::Decimal128(precision, _) | DataType::Decimal256(precision, _) => u32::from(precision),
            _ => 76,
        };
        let most = ten_to(digits);
        let count = i256::from_i128(count.into());
        let mean = sum.and_then(|sum| {
            let (whole, rest) = (sum.wrapping_div(count), sum.wrapping_rem(count).wrapping_mul(finer));
            let (part, left) = (rest.wrapping_div(count), rest.wrapping_rem(count));
            let doubled = left.wrapping_abs().wrapping_add(left.wrapping_abs());
            let up = if doubled >= count { left.signum() } else { i256::ZERO };
            whole.checked_mul(finer).and_then(|whole| whole.checked_add(part.wrapping_add(up)))
        });
        mean.filter(|mean| mean.wrapping_abs() < most).ok_or_else(|| {
            let message =
                format!("the mean has more than {digits} digits; cast the column to Float64 and take its mean");
            Error::data("mean", message)
        })
    }
}

impl Codec for Wides {
    type Of = Counted<WideSum>;
    const SPANS: Option<TakeSpans<Self>> = Some(by_difference);

    fn is_like(&self, _: &Self) -> bool {
        true
    }

    fn empty(&self) -> Counted<WideSum> {
        Counted::default()
    }

    fn decode(&self, cells: &[Chunk], mut each: impl FnMut(usize, i256)) {
        match self.input {
            DataType::Decimal128(..) => {
                let values = cells[0].as_primitive::<Decimal128Type>();
                valid_cells(values, |at| each(at, i256::from_i128(values.value(at))));
            }
            DataType::Decimal256(..) => {
                let values = cells[0].as_primitive::<Decimal256Type>();
                valid_cells(values, |at| each(at, values.value(at)));
            }
            _ => {
                let values = integers(&cells[0]);
                valid_cells(&values, |at| each(at, i256::from_i128(i128::from(values.value(at)))));
            }
        }
    }

    fn remove(of: &mut Counted<WideSum>, value: i256) {
        of.remove(value);
    }

    fn encode<'a>(&self, groups: impl Iterator<Item = &'a Counted<WideSum>>) -> Result<ArrayRef, Error> {
        let values: Vec<Option<i256>> = groups.map(|group| self.value(group)).collect::<Result<_, _>>()?;
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
}
