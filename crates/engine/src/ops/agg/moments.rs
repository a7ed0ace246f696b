//! `std`, `var`, `cov`, `corr`, `weighted_std`, `weighted_var`: of any number, as a Float64.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, Float64Array};
use arrow_buffer::NullBuffer;
use column::Chunk;

use super::accumulators::{Accumulator, InUnits, Moments, QuickMoments, Removable, Spread, UnitMoments, squared};
use super::quickly::{as_they_are, plain_floats, slid_quickly, widest};
use super::spans::by_difference;
use super::state::{Codec, TakeSpans, each_float, floats};
use crate::error::Error;

/// Numbers whose spread is measured.
pub(crate) struct Spreads(pub(crate) Spread);

impl Codec for Spreads {
    type Of = Moments;
    const SPANS: Option<TakeSpans<Self>> = Some(by_difference);

    fn is_like(&self, _: &Self) -> bool {
        true
    }

    fn empty(&self) -> Moments {
        Moments::default()
    }

    fn decode(&self, cells: &[Chunk], each: impl FnMut(usize, f64)) {
        each_float(&cells[0], each);
    }

    fn remove(of: &mut Moments, value: f64) {
        of.remove(value);
    }

    fn encode<'a>(&self, groups: impl Iterator<Item = &'a Moments>) -> Result<ArrayRef, Error> {
        Ok(Arc::new(groups.map(|group| group.value(&self.0)).collect::<Float64Array>()))
    }

    fn slide(&self, cells: &[Chunk], windows: &[Range<usize>]) -> Option<Result<ArrayRef, Error>> {
        let plain = plain_floats(&cells[0]);
        let count = |window: &Range<usize>| plain.counts.of(window) as i64;
        if let Some(InUnits { values, unit }) = InUnits::of(plain.values(), widest(windows)) {
            let value = |inside: &UnitMoments, window: &Range<usize>| inside.value(count(window), unit, &self.0);
            let values = (UnitMoments::default(), &values[..]);
            return Some(slid_quickly::<_, _, Float64Type>((self, cells), windows, values, value, as_they_are));
        }
        let values: Vec<[f64; 3]> = plain.values().iter().map(|value| squared(*value)).collect();
        let value = |inside: &QuickMoments, window: &Range<usize>| inside.value(count(window), &self.0);
        let values = (QuickMoments::default(), &values[..]);
        Some(slid_quickly::<_, _, Float64Type>((self, cells), windows, values, value, as_they_are))
    }
}

/// Pairs of numbers: their covariance, their correlation, or a spread where the second is the weight of the first. A pair with a
/// null is left out. Of how the result is made.
pub(crate) struct Pairs<A: Accumulator>(pub(crate) A::How);

impl<A> Codec for Pairs<A>
where
    A: Removable<In = [f64; 2], Out = Option<f64>>,
    A: Default,
    A::How: Send + Sync + 'static,
{
    type Of = A;
    const SPANS: Option<TakeSpans<Self>> = Some(by_difference);

    fn is_like(&self, _: &Self) -> bool {
        true
    }

    fn empty(&self) -> A {
        A::default()
    }

    fn decode(&self, cells: &[Chunk], mut each: impl FnMut(usize, [f64; 2])) {
        let (first, second) = (floats(&cells[0]), floats(&cells[1]));
        let mut pair = |at: usize| each(at, [first.value(at), second.value(at)]);
        match NullBuffer::union(first.nulls(), second.nulls()) {
            None => (0..first.len()).for_each(pair),
            Some(nulls) => nulls.valid_indices().for_each(&mut pair),
        }
    }

    fn remove(of: &mut A, pair: [f64; 2]) {
        of.remove(pair);
    }

    fn encode<'a>(&self, groups: impl Iterator<Item = &'a A>) -> Result<ArrayRef, Error> {
        Ok(Arc::new(groups.map(|group| group.value(&self.0)).collect::<Float64Array>()))
    }
}
