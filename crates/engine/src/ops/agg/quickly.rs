//! Windows of numbers at speed: the values side by side, what is known of a window in registers, results straight into
//! cells. A stretch of windows with a value that registers do not hold goes by the accumulators.
//!
//!   values 1 2 1e300 4 5     sums of three:  by accumulators while 1e300 is near, in registers elsewhere

use std::ops::Range;
use std::sync::Arc;

use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer, ScalarBuffer};
use column::Chunk;

use super::accumulators::{Quick, slide_quickly};
use super::state::{Codec, floats, integers, slid};
use crate::error::Error;

/// How many values there are in a window that are not null.
pub(super) struct Counts {
    /// How many there are before each place; none if no value is null.
    before: Option<Vec<usize>>,
}

impl Counts {
    pub(super) fn new(cells: &dyn Array) -> Counts {
        Counts::valid(cells.logical_nulls().as_ref())
    }

    fn valid(nulls: Option<&NullBuffer>) -> Counts {
        let before = nulls.filter(|nulls| nulls.null_count() > 0).map(|nulls| {
            let count = |count: &mut usize, valid: bool| {
                *count += usize::from(valid);
                Some(*count)
            };
            std::iter::once(0).chain(nulls.iter().scan(0, count)).collect()
        });
        Counts { before }
    }

    #[inline]
    pub(super) fn of(&self, window: &Range<usize>) -> usize {
        match &self.before {
            None => window.len(),
            Some(before) => before[window.end] - before[window.start],
        }
    }
}

/// Numbers side by side, zero where they are null.
pub(super) struct Plain<T: ArrowPrimitiveType> {
    values: ScalarBuffer<T::Native>,
    pub(super) counts: Counts,
}

impl<T: ArrowPrimitiveType> Plain<T> {
    fn new(cells: &PrimitiveArray<T>) -> Plain<T> {
        let values = match cells.nulls().filter(|nulls| nulls.null_count() > 0) {
            None => cells.values().clone(),
            Some(_) => cells.iter().map(Option::unwrap_or_default).collect(),
        };
        Plain { values, counts: Counts::valid(cells.nulls()) }
    }

    pub(super) fn values(&self) -> &[T::Native] {
        &self.values
    }
}

pub(super) fn plain_floats(cells: &Chunk) -> Plain<Float64Type> {
    Plain::new(&floats(cells))
}

pub(super) fn plain_integers(cells: &Chunk) -> Plain<Int64Type> {
    Plain::new(&integers(cells))
}

/// Results of windows, one after the other.
pub(super) struct Results<T: ArrowPrimitiveType> {
    values: Vec<T::Native>,
    /// Which are null, in order.
    missing: Vec<usize>,
}

impl<T: ArrowPrimitiveType> Results<T> {
    pub(super) fn of(windows: usize) -> Results<T> {
        Results { values: Vec::with_capacity(windows), missing: Vec::new() }
    }

    #[inline]
    pub(super) fn push(&mut self, value: Option<T::Native>) {
        if value.is_none() {
            self.missing.push(self.values.len());
        }
        self.values.push(value.unwrap_or_default());
    }

    pub(super) fn finish(self) -> PrimitiveArray<T> {
        let nulls = (!self.missing.is_empty()).then(|| {
            let mut valid = BooleanBufferBuilder::new(self.values.len());
            valid.append_n(self.values.len(), true);
            self.missing.iter().for_each(|at| valid.set_bit(*at, false));
            NullBuffer::new(valid.finish())
        });
        PrimitiveArray::new(self.values.into(), nulls)
    }
}

/// The results of windows of these cells: `value` of what is known of each, `encode` of all in a row.
pub(super) fn slid_quickly<C: Codec, Q: Quick, T: ArrowPrimitiveType>(
    (codec, cells): (&C, &[Chunk]),
    windows: &[Range<usize>],
    (empty, values): (Q, &[Q::In]),
    value: impl Fn(&Q, &Range<usize>) -> Option<T::Native>,
    encode: impl Fn(PrimitiveArray<T>) -> Result<ArrayRef, Error>,
) -> Result<ArrayRef, Error> {
    let mut made: Vec<ArrayRef> = Vec::new();
    let mut at = 0;
    loop {
        let mut results = Results::<T>::of(windows.len() - at);
        let each = |inside: &Q, window: &Range<usize>| results.push(value(inside, window));
        let held = slide_quickly(empty, values, &windows[at..], each);
        if held > 0 || windows.is_empty() {
            made.push(encode(results.finish())?);
        }
        at += held;
        if at == windows.len() {
            break;
        }
        let stretch = &windows[at..(at + stretch(&windows[at])).min(windows.len())];
        made.push(by_accumulators(codec, cells, stretch)?);
        at += stretch.len();
        if at == windows.len() {
            break;
        }
    }
    match made.as_slice() {
        [one] => Ok(one.clone()),
        some => Ok(arrow_select::concat::concat(&some.iter().map(|cells| &**cells).collect::<Vec<_>>())?),
    }
}

/// How many cells the widest window has.
pub(super) fn widest(windows: &[Range<usize>]) -> usize {
    windows.iter().map(Range::len).max().unwrap_or(0)
}

/// How many windows go by accumulators from one on that is beyond registers: enough that it is worth to begin anew
/// behind them.
fn stretch(window: &Range<usize>) -> usize {
    const LEAST: usize = 256;
    window.len().saturating_mul(4).max(LEAST)
}

fn by_accumulators<C: Codec>(codec: &C, cells: &[Chunk], windows: &[Range<usize>]) -> Result<ArrayRef, Error> {
    let (from, to) = match (windows.first(), windows.last()) {
        (Some(first), Some(last)) => (first.start, last.end.max(first.start)),
        _ => (0, 0),
    };
    let cells: Vec<Chunk> = cells.iter().map(|cells| cells.slice(from, to - from)).collect();
    let windows: Vec<Range<usize>> = windows.iter().map(|window| window.start - from..window.end - from).collect();
    slid(codec, &cells, &windows)
}

/// Cells as they are.
pub(super) fn as_they_are<T: ArrowPrimitiveType>(cells: PrimitiveArray<T>) -> Result<ArrayRef, Error> {
    Ok(Arc::new(cells))
}

#[cfg(test)]
mod tests {
    use arrow_array::{Float64Array, Int64Array};
    use formula::Aggregate;
    use formula::aggregates::{Interpolation, Part};

    use super::super::states::state_of;
    use super::*;
    use crate::testing::Tape;
    use crate::testing::explore::explore;

    /// Numbers with all their bits, and now and then one that no two doubles hold together with them.
    fn float(tape: &mut Tape) -> Option<f64> {
        match tape.below(400) {
            0 => Some(*tape.choose(&[1e300, -1e300, 1e-300, f64::NAN, f64::INFINITY, 5e-324, f64::MAX])),
            1..40 => None,
            40..60 => Some(-0.0),
            60..80 => Some(7.5),
            _ => Some(tape.below(1 << 53) as f64 * f64::EPSILON - 0.5),
        }
    }

    fn windows(tape: &mut Tape, len: u64) -> Vec<Range<usize>> {
        let (mut start, mut end) = (0, 0);
        let most = *tape.choose(&[2, 3, 90]);
        let mut next = |_| {
            end = (end + tape.below(most)).min(len);
            start = (start + tape.below(most)).clamp(end.saturating_sub(200), end);
            start as usize..end as usize
        };
        (0..len).map(&mut next).collect()
    }

    /// The bits of a number, those of one NaN for each; none of null.
    fn bits(cells: &ArrayRef, at: usize) -> Option<u64> {
        use arrow_array::cast::AsArray;
        let number = |value: f64| if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() };
        cells.is_valid(at).then(|| match cells.as_primitive_opt::<Float64Type>() {
            Some(cells) => number(cells.value(at)),
            None => cells.as_primitive::<Int64Type>().value(at) as u64,
        })
    }

    /// Each window that slides gives what a state of its cells alone gives, to the bit.
    #[test]
    fn windows_that_slide_are_those_of_their_cells() {
        let part = Part::new(0.3).expect("a part");
        let kinds = [
            Aggregate::Count,
            Aggregate::Sum { min_count: 0 },
            Aggregate::Sum { min_count: 3 },
            Aggregate::Mean,
            Aggregate::Std { ddof: 1 },
            Aggregate::Var { ddof: 0 },
            Aggregate::Min,
            Aggregate::Max,
            Aggregate::NanMin,
            Aggregate::NanMax,
            Aggregate::Median,
            Aggregate::Quantile { part, interpolation: Interpolation::Linear },
            Aggregate::NUnique,
            Aggregate::CountDistinct,
            Aggregate::Product,
        ];
        explore(6, |tape| {
            let len = *tape.choose(&[0, 5, 700]);
            let in_units = tape.chance(80);
            let whole = |value: Option<f64>| value.map(|value| (value.clamp(-9.0, 9.0) * 256.0).round() / 64.0);
            let drawn = (0..len).map(|_| float(tape)).map(|value| if in_units { whole(value) } else { value });
            let floats: Float64Array = drawn.collect();
            let few =
                |tape: &mut Tape| (!tape.chance(20)).then(|| tape.below(40) as i64 - (i64::MAX >> tape.below(60)));
            let integers: Int64Array = (0..len).map(|_| few(tape)).collect();
            let windows = windows(tape, len);
            for cells in [Arc::new(floats) as ArrayRef, Arc::new(integers)] {
                for kind in &kinds {
                    let state = || state_of(kind, cells.data_type(), false, false).expect("it is of numbers");
                    let found = state().slide(std::slice::from_ref(&cells), &windows).expect("it slides");
                    let found = found.expect("it has values");
                    let mut alone = state();
                    alone.grow(windows.len());
                    for (slot, window) in (0..).zip(&windows) {
                        alone.add(&vec![slot; window.len()], &[cells.slice(window.start, window.len())]);
                    }
                    let slots: Vec<u32> = (0..windows.len() as u32).collect();
                    let wanted = alone.values_of(&*alone, &slots).expect("it has values");
                    if let Some(at) = (0..windows.len()).find(|at| bits(&found, *at) != bits(&wanted, *at)) {
                        let (found, wanted) = (found.slice(at, 1), wanted.slice(at, 1));
                        return Err(format!("{kind:?} of {:?}: {found:?}, not {wanted:?}", windows[at]));
                    }
                }
            }
            Ok(())
        });
    }
}
