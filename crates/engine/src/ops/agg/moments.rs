//! `std`, `var`: of any number, as a Float64.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array};
use column::Chunk;

use super::accumulators::{Accumulator, Moments, Removable, Spread};
use super::state::{Codec, each_float};
use crate::error::Error;

/// Numbers whose spread is measured.
pub(crate) struct Spreads(pub(crate) Spread);

impl Codec for Spreads {
    type Of = Moments;

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
