//! `count`: the values that are not null.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};
use column::Chunk;

use super::state::{State, same, valid_cells};
use crate::error::Error;

/// A counter a group.
#[derive(Default)]
pub(crate) struct Count(Vec<i64>);

impl State for Count {
    fn grow(&mut self, slots: usize) {
        self.0.resize(slots, 0);
    }

    fn add(&mut self, slots: &[u32], cells: &Chunk) {
        valid_cells(slots, cells, |slot, _| self.0[slot as usize] += 1);
    }

    fn remove(&mut self, slots: &[u32], cells: &Chunk) {
        valid_cells(slots, cells, |slot, _| self.0[slot as usize] -= 1);
    }

    fn reset(&mut self, slot: u32) {
        self.0[slot as usize] = 0;
    }

    fn values(&self, slots: &[u32]) -> Result<ArrayRef, Error> {
        Ok(Arc::new(Int64Array::from_iter_values(slots.iter().map(|slot| self.0[*slot as usize]))))
    }

    fn merge(&mut self, other: Box<dyn State>, slots: &[u32]) {
        for (count, to) in same::<Count>(other).0.into_iter().zip(slots) {
            self.0[*to as usize] += count;
        }
    }

    fn into_any(self: Box<Self>) -> Box<dyn std::any::Any> {
        self
    }
}
