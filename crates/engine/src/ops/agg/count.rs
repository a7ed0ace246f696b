//! `count`: the values that are not null.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array};
use arrow_buffer::BooleanBuffer;
use column::Chunk;

use super::accumulators::{Accumulator, Count, Removable};
use super::board::BulkColumn;
use super::quickly::Counts;
use super::spans::by_difference;
use super::state::{Batch, BulkState, Codec, PerGroup, TakeSpans, valid_cells};
use crate::error::Error;

/// Cells that are counted.
pub(crate) struct Counting;

impl Codec for Counting {
    type Of = Count;
    const SPANS: Option<TakeSpans<Self>> = Some(by_difference);

    fn is_like(&self, _: &Self) -> bool {
        true
    }

    fn empty(&self) -> Count {
        Count::default()
    }

    fn decode(&self, cells: &[Chunk], mut each: impl FnMut(usize, ())) {
        valid_cells(&cells[0], |at| each(at, ()));
    }

    fn remove(of: &mut Count, value: ()) {
        of.remove(value);
    }

    fn encode<'a>(&self, groups: impl Iterator<Item = &'a Count>) -> Result<ArrayRef, Error> {
        Ok(Arc::new(Int64Array::from_iter_values(groups.map(|group| group.value(&())))))
    }

    fn slide(&self, cells: &[Chunk], windows: &[Range<usize>]) -> Option<Result<ArrayRef, Error>> {
        let counts = Counts::new(&cells[0]);
        let values = windows.iter().map(|window| counts.of(window) as i64);
        Some(Ok(Arc::new(Int64Array::from_iter_values(values))))
    }

    fn bulk(state: &mut PerGroup<Counting>) -> Option<&mut dyn BulkState> {
        Some(state)
    }
}

/// Rows are counted on the board in any case; nulls are taken away as they come.
impl BulkState for PerGroup<Counting> {
    fn words(&self) -> Vec<u64> {
        Vec::new()
    }

    fn plain(&self, cells: &Chunk) -> Chunk {
        Arc::new(BooleanArray::new(BooleanBuffer::new_unset(cells.len()), cells.logical_nulls()))
    }

    fn add(&mut self, _: &mut BulkColumn<'_>, batch: &Batch<'_>) {
        batch.each_null(|slot, _| self.groups[slot as usize].0 -= 1);
    }

    fn flush(&mut self, _: &mut BulkColumn<'_>, rows: &[i64]) {
        self.groups.iter_mut().zip(rows).for_each(|(group, rows)| group.0 += rows);
    }
}
