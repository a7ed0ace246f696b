//! What is known of the values so far: sums, products, means, counts, extremes, and the last of them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Decimal128Type, Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, Decimal128Array, Int64Array, PrimitiveArray};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::DataType;
use column::Chunk;

use super::kernel::{Fault, Kernel};
use crate::error::Error;
use crate::ops::agg::accumulators::{Accumulator, Counted, End, ExactSum};
use crate::ops::agg::extreme::Family;
use crate::ops::agg::{floats, from_integers, integers, mean_of};

/// Numbers as doubles, none where they are null.
pub(super) fn read_floats(cells: &Chunk) -> Vec<Option<f64>> {
    options(&floats(cells))
}

/// Doubles as cells of a type of floats.
pub(super) fn write_floats(values: Vec<Option<f64>>, output: &DataType) -> Result<Chunk, Error> {
    let values: ArrayRef = Arc::new(numbers::<Float64Type>(values));
    Ok(if *output == DataType::Float64 { values } else { arrow_cast::cast(&values, output)? })
}

fn read_integers(cells: &Chunk) -> Vec<Option<i64>> {
    options(&integers(cells))
}

fn options<T: ArrowPrimitiveType>(cells: &PrimitiveArray<T>) -> Vec<Option<T::Native>> {
    match cells.null_count() {
        0 => cells.values().iter().map(|value| Some(*value)).collect(),
        _ => cells.iter().collect(),
    }
}

fn numbers<T: ArrowPrimitiveType>(values: Vec<Option<T::Native>>) -> PrimitiveArray<T> {
    let known = |at: usize| values[at].is_some();
    let nulls = (!values.iter().all(Option::is_some))
        .then(|| NullBuffer::new(BooleanBuffer::collect_bool(values.len(), known)));
    PrimitiveArray::new(values.iter().map(|value| value.unwrap_or_default()).collect(), nulls)
}

/// The value of a row that has none itself.
fn carried<T>(value: Option<T>, is_null: bool, null_at_null: bool) -> Option<T> {
    if is_null && null_at_null { None } else { value }
}

/// Sums, products and counts of whole numbers, which wrap.
pub(super) struct Whole {
    pub(super) of: WholeOf,
    pub(super) null_at_null: bool,
    pub(super) output: DataType,
}

/// What is made of whole numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WholeOf {
    Sum,
    Product,
}

impl Kernel for Whole {
    type In = Option<i64>;
    type State = Option<i64>;
    type Out = i64;

    fn read(&self, cells: &[Chunk]) -> Result<Vec<Option<i64>>, Error> {
        Ok(read_integers(&cells[0]))
    }

    #[inline]
    fn step(&self, state: &mut Option<i64>, input: &Option<i64>) -> Result<Option<i64>, Fault> {
        if let Some(value) = input {
            *state = Some(match (*state, self.of) {
                (None, _) => *value,
                (Some(so_far), WholeOf::Sum) => so_far.wrapping_add(*value),
                (Some(so_far), WholeOf::Product) => so_far.wrapping_mul(*value),
            });
        }
        Ok(carried(*state, input.is_none(), self.null_at_null))
    }

    fn tells(&self, input: &Option<i64>) -> bool {
        input.is_some() || !self.null_at_null
    }

    fn same(&self, one: &Option<i64>, other: &Option<i64>) -> bool {
        one == other
    }

    fn write(&self, values: Vec<Option<i64>>) -> Result<Chunk, Error> {
        from_integers(numbers::<Int64Type>(values), &self.output)
    }
}

/// How many values there are, or how many of them are true.
pub(super) struct Counts {
    pub(super) only_true: bool,
    pub(super) null_at_null: bool,
}

/// What a row is to a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    Null,
    Passed,
    Taken,
}

impl Kernel for Counts {
    type In = Seen;
    type State = i64;
    type Out = i64;

    fn read(&self, cells: &[Chunk]) -> Result<Vec<Seen>, Error> {
        let nulls = cells[0].logical_nulls();
        let is_null = |at: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(at));
        let truths = if self.only_true { cells[0].as_boolean_opt() } else { None };
        let taken = |at: usize| truths.is_none_or(|truths| truths.value(at));
        let row = |at: usize| match (is_null(at), taken(at)) {
            (true, _) => Seen::Null,
            (false, false) => Seen::Passed,
            (false, true) => Seen::Taken,
        };
        Ok((0..cells[0].len()).map(row).collect())
    }

    #[inline]
    fn step(&self, state: &mut i64, input: &Seen) -> Result<Option<i64>, Fault> {
        *state += i64::from(*input == Seen::Taken);
        Ok(carried(Some(*state), *input == Seen::Null, self.null_at_null))
    }

    fn tells(&self, input: &Seen) -> bool {
        *input != Seen::Null || !self.null_at_null
    }

    fn same(&self, one: &i64, other: &i64) -> bool {
        one == other
    }

    fn write(&self, values: Vec<Option<i64>>) -> Result<Chunk, Error> {
        Ok(Arc::new(Int64Array::from(values)))
    }
}

/// Sums and means of floats: exact until they are read.
pub(super) struct FloatSums {
    pub(super) mean: bool,
    pub(super) null_at_null: bool,
    pub(super) output: DataType,
}

impl Kernel for FloatSums {
    type In = Option<f64>;
    type State = Counted<ExactSum>;
    type Out = f64;

    fn read(&self, cells: &[Chunk]) -> Result<Vec<Option<f64>>, Error> {
        Ok(read_floats(&cells[0]))
    }

    #[inline]
    fn step(&self, state: &mut Counted<ExactSum>, input: &Option<f64>) -> Result<Option<f64>, Fault> {
        if let Some(value) = input {
            state.add(*value);
        }
        let sum = carried(state.value(&1), input.is_none(), self.null_at_null);
        Ok(sum.map(|sum| if self.mean { mean_of(sum, state) } else { sum }))
    }

    fn tells(&self, _: &Option<f64>) -> bool {
        false
    }

    fn same(&self, one: &Counted<ExactSum>, other: &Counted<ExactSum>) -> bool {
        one.count == other.count && one.of.is(&other.of)
    }

    fn write(&self, values: Vec<Option<f64>>) -> Result<Chunk, Error> {
        write_floats(values, &self.output)
    }
}

/// Products of floats.
pub(super) struct FloatProducts {
    pub(super) null_at_null: bool,
    pub(super) output: DataType,
}

impl Kernel for FloatProducts {
    type In = Option<f64>;
    type State = Option<f64>;
    type Out = f64;

    fn read(&self, cells: &[Chunk]) -> Result<Vec<Option<f64>>, Error> {
        Ok(read_floats(&cells[0]))
    }

    #[inline]
    fn step(&self, state: &mut Option<f64>, input: &Option<f64>) -> Result<Option<f64>, Fault> {
        if let Some(value) = input {
            *state = Some(state.map_or(*value, |so_far| so_far * value));
        }
        Ok(carried(*state, input.is_none(), self.null_at_null))
    }

    // A value of a narrower type does not.
    fn tells(&self, input: &Option<f64>) -> bool {
        self.output == DataType::Float64 && (input.is_some() || !self.null_at_null)
    }

    fn same(&self, one: &Option<f64>, other: &Option<f64>) -> bool {
        one.map(f64::to_bits) == other.map(f64::to_bits)
    }

    fn write(&self, values: Vec<Option<f64>>) -> Result<Chunk, Error> {
        write_floats(values, &self.output)
    }
}

/// Means of whole numbers.
pub(super) struct WholeMeans {
    pub(super) unsigned: bool,
    pub(super) null_at_null: bool,
}

impl Kernel for WholeMeans {
    type In = Option<i64>;
    type State = (i64, i128);
    type Out = f64;

    fn read(&self, cells: &[Chunk]) -> Result<Vec<Option<i64>>, Error> {
        Ok(read_integers(&cells[0]))
    }

    #[inline]
    fn step(&self, (count, sum): &mut (i64, i128), input: &Option<i64>) -> Result<Option<f64>, Fault> {
        if let Some(value) = input {
            *sum += if self.unsigned { i128::from(*value as u64) } else { i128::from(*value) };
            *count += 1;
        }
        let mean = (*count > 0).then(|| *sum as f64 / *count as f64);
        Ok(carried(mean, input.is_none(), self.null_at_null))
    }

    fn tells(&self, _: &Option<i64>) -> bool {
        false
    }

    fn same(&self, one: &(i64, i128), other: &(i64, i128)) -> bool {
        one == other
    }

    fn write(&self, values: Vec<Option<f64>>) -> Result<Chunk, Error> {
        write_floats(values, &DataType::Float64)
    }
}

/// Sums of decimals, which are refused where they leave the range of their type.
pub(super) struct DecimalSums {
    pub(super) null_at_null: bool,
    pub(super) output: DataType,
}

/// As many nines as a decimal has digits.
const GREATEST_DECIMAL: i128 = 10_i128.pow(38) - 1;

impl Kernel for DecimalSums {
    type In = Option<i128>;
    type State = Option<i128>;
    type Out = i128;

    fn read(&self, cells: &[Chunk]) -> Result<Vec<Option<i128>>, Error> {
        Ok(cells[0].as_primitive::<Decimal128Type>().iter().collect())
    }

    #[inline]
    fn step(&self, state: &mut Option<i128>, input: &Option<i128>) -> Result<Option<i128>, Fault> {
        if let Some(value) = input {
            let sum = state.unwrap_or(0).checked_add(*value).filter(|sum| sum.abs() <= GREATEST_DECIMAL);
            *state = Some(sum.ok_or(Fault::Beyond)?);
        }
        Ok(carried(*state, input.is_none(), self.null_at_null))
    }

    fn tells(&self, input: &Option<i128>) -> bool {
        input.is_some() || !self.null_at_null
    }

    fn same(&self, one: &Option<i128>, other: &Option<i128>) -> bool {
        one == other
    }

    fn write(&self, values: Vec<Option<i128>>) -> Result<Chunk, Error> {
        Ok(Arc::new(Decimal128Array::from(values).with_data_type(self.output.clone())))
    }
}

/// The least value or the greatest, or the last.
pub(super) struct Kept<F> {
    pub(super) family: F,
    /// None keeps the last.
    pub(super) end: Option<End>,
    pub(super) null_at_null: bool,
}

impl<F: Family> Kernel for Kept<F> {
    type In = Option<F::Key>;
    type State = Option<F::Key>;
    type Out = F::Key;

    fn read(&self, cells: &[Chunk]) -> Result<Vec<Option<F::Key>>, Error> {
        let mut keys = vec![None; cells[0].len()];
        self.family.keys(&cells[0], |at, key| keys[at] = Some(key));
        Ok(keys)
    }

    #[inline]
    fn step(&self, state: &mut Option<F::Key>, input: &Option<F::Key>) -> Result<Option<F::Key>, Fault> {
        if let Some(key) = input {
            let wins = match (state.as_ref(), self.end) {
                (None, _) | (_, None) => true,
                (Some(so_far), Some(End::Least)) => key < so_far,
                (Some(so_far), Some(End::Greatest)) => key > so_far,
            };
            if wins {
                *state = Some(key.clone());
            }
        }
        Ok(if input.is_none() && self.null_at_null { None } else { state.clone() })
    }

    fn tells(&self, input: &Option<F::Key>) -> bool {
        input.is_some() || !self.null_at_null
    }

    fn same(&self, one: &Option<F::Key>, other: &Option<F::Key>) -> bool {
        one == other
    }

    fn write(&self, values: Vec<Option<F::Key>>) -> Result<Chunk, Error> {
        self.family.cells(values.into_iter())
    }
}

/// The last value of a type that has no order.
pub(super) struct LastCell {
    pub(super) output: DataType,
}

impl Kernel for LastCell {
    type In = Option<Chunk>;
    type State = Option<Chunk>;
    type Out = Chunk;

    fn read(&self, cells: &[Chunk]) -> Result<Vec<Option<Chunk>>, Error> {
        let nulls = cells[0].logical_nulls();
        let is_null = |at: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(at));
        let cell = |at: usize| {
            let place = arrow_array::UInt32Array::from(vec![at as u32]);
            Ok(arrow_select::take::take(&cells[0], &place, None)?)
        };
        (0..cells[0].len()).map(|at| if is_null(at) { Ok(None) } else { cell(at).map(Some) }).collect()
    }

    fn step(&self, state: &mut Option<Chunk>, input: &Option<Chunk>) -> Result<Option<Chunk>, Fault> {
        if input.is_some() {
            state.clone_from(input);
        }
        Ok(state.clone())
    }

    fn tells(&self, _: &Option<Chunk>) -> bool {
        true
    }

    fn same(&self, _: &Option<Chunk>, _: &Option<Chunk>) -> bool {
        false
    }

    fn write(&self, values: Vec<Option<Chunk>>) -> Result<Chunk, Error> {
        let none = arrow_array::new_null_array(&self.output, 1);
        let cells: Vec<&dyn Array> = values.iter().map(|cell| cell.as_ref().unwrap_or(&none).as_ref()).collect();
        Ok(match cells.is_empty() {
            true => arrow_array::new_empty_array(&self.output),
            false => arrow_select::concat::concat(&cells)?,
        })
    }
}
