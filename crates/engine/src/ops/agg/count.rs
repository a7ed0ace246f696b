//! `count`: the values that are not null.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array};
use arrow_buffer::BooleanBuffer;
use column::Chunk;

use super::board::BulkColumn;
use super::state::{Batch, State, add_counts, same, valid_cells};
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

    fn words(&self) -> Option<Vec<u64>> {
        // Rows are counted on the board in any case; nulls are taken away as they come.
        Some(Vec::new())
    }

    fn plain(&self, cells: &Chunk) -> Chunk {
        Arc::new(BooleanArray::new(BooleanBuffer::new_unset(cells.len()), cells.logical_nulls()))
    }

    fn bulk_add(&mut self, _: &mut BulkColumn<'_>, batch: &Batch<'_>) {
        batch.each_null(|slot, _| self.0[slot as usize] -= 1);
    }

    fn flush(&mut self, _: &mut BulkColumn<'_>, rows: &[i64]) {
        add_counts(&mut self.0, rows);
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
