//! `std`, `var`, `cov`: of any number, as a Float64.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Float64Array};
use arrow_buffer::NullBuffer;
use column::Chunk;

use super::accumulators::{Accumulator, Comoments, Moments, Removable, Spread};
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
}

/// Pairs of numbers whose covariance is measured; a pair with a null is left out.
pub(crate) struct Pairs {
    /// Subtracted from the count in the divisor.
    pub(crate) ddof: u8,
}

impl Codec for Pairs {
    type Of = Comoments;
    const SPANS: Option<TakeSpans<Self>> = Some(by_difference);

    fn is_like(&self, _: &Self) -> bool {
        true
    }

    fn empty(&self) -> Comoments {
        Comoments::default()
    }

    fn decode(&self, cells: &[Chunk], mut each: impl FnMut(usize, [f64; 2])) {
        let (first, second) = (floats(&cells[0]), floats(&cells[1]));
        let mut pair = |at: usize| each(at, [first.value(at), second.value(at)]);
        match NullBuffer::union(first.nulls(), second.nulls()) {
            None => (0..first.len()).for_each(pair),
            Some(nulls) => nulls.valid_indices().for_each(&mut pair),
        }
    }

    fn remove(of: &mut Comoments, pair: [f64; 2]) {
        of.remove(pair);
    }

    fn encode<'a>(&self, groups: impl Iterator<Item = &'a Comoments>) -> Result<ArrayRef, Error> {
        Ok(Arc::new(groups.map(|group| group.value(&self.ddof)).collect::<Float64Array>()))
    }
}
