//! The state that an aggregator keeps for each group.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, Int64Array};
use arrow_schema::DataType;
use column::Chunk;

use super::board::{BATCH, BulkColumn};
use crate::error::Error;

/// The state of one aggregator, one entry per group slot. Values are added and removed; a removal restores the exact
/// state without the value. Several threads may read it at once.
pub(crate) trait State: Send + Sync {
    /// Room for this many slots.
    fn grow(&mut self, slots: usize);
    /// Cell `i` enters group `slots[i]`.
    fn add(&mut self, slots: &[u32], cells: &Chunk);
    /// Cell `i` leaves group `slots[i]`.
    fn remove(&mut self, slots: &[u32], cells: &Chunk);
    /// Clears a group that no longer exists.
    fn reset(&mut self, slot: u32);
    /// The result of each of these groups.
    fn values(&self, slots: &[u32]) -> Result<ArrayRef, Error>;
    /// Bytes of allocations too small for the allocator to count, after `more` further values.
    fn held(&self, _more: usize) -> u64 {
        0
    }
    /// The words of a group on a [`BulkTable`](super::board::BulkTable), as they are at first, by which this
    /// state takes in many rows fast. None: it takes no part, and adds as ever.
    fn words(&self) -> Option<Vec<u64>> {
        None
    }
    /// The cells in the form that `bulk_add` reads.
    fn plain(&self, cells: &Chunk) -> Chunk {
        cells.clone()
    }
    /// As `add`, but on the state's words of the board. The board counts the rows for all states.
    fn bulk_add(&mut self, _lane: &mut BulkColumn<'_>, _batch: &Batch<'_>) {}
    /// Takes over the words of the board; `rows` are the rows that each slot received.
    fn flush(&mut self, _lane: &mut BulkColumn<'_>, _rows: &[i64]) {}
    /// Merges another state of the same kind: its slot `i` is this state's `slots[i]`.
    fn merge(&mut self, other: Box<dyn State>, slots: &[u32]);
    /// For `merge`.
    fn into_any(self: Box<Self>) -> Box<dyn std::any::Any>;
}

/// A batch of entering cells, in the form that the state's `plain` returned.
pub(crate) struct Batch<'a> {
    pub(crate) slots: &'a [u32],
    pub(crate) cells: &'a Chunk,
    /// The position of the batch's first cell.
    pub(crate) from: usize,
}

impl<'a> Batch<'a> {
    /// The raw values, including those of null cells.
    pub(crate) fn values<T: ArrowPrimitiveType>(&self) -> &'a [T::Native] {
        &self.cells.as_primitive::<T>().values()[self.from..self.from + self.slots.len()]
    }

    /// The cells as doubles, zero where they are null.
    pub(crate) fn floats(&self, room: &'a mut [f64; BATCH]) -> &'a [f64] {
        let values = self.values::<Float64Type>();
        if !self.has_nulls() {
            return values;
        }
        let room = &mut room[..values.len()];
        room.copy_from_slice(values);
        self.each_null(|_, at| room[at] = 0.0);
        room
    }

    /// The cells as 64-bit integers, zero where they are null.
    pub(crate) fn integers(&self, room: &'a mut [i64; BATCH]) -> &'a [i64] {
        let values = self.values::<Int64Type>();
        if !self.has_nulls() {
            return values;
        }
        let room = &mut room[..values.len()];
        room.copy_from_slice(values);
        self.each_null(|_, at| room[at] = 0);
        room
    }

    /// Calls `each` with slot and place of every cell that is null.
    pub(crate) fn each_null(&self, mut each: impl FnMut(u32, usize)) {
        let Some(nulls) = self.cells.nulls().filter(|nulls| nulls.null_count() > 0) else { return };
        for (at, slot) in self.slots.iter().enumerate() {
            if nulls.is_null(self.from + at) {
                each(*slot, at);
            }
        }
    }

    /// Whether the cell is null.
    pub(crate) fn is_null(&self, at: usize) -> bool {
        self.cells.is_null(self.from + at)
    }

    /// Whether some cell of the chunk is null.
    pub(crate) fn has_nulls(&self) -> bool {
        self.cells.null_count() > 0
    }
}

/// Downcasts a state that is to be merged into one of its own type.
pub(crate) fn same<S: 'static>(other: Box<dyn State>) -> Box<S> {
    other.into_any().downcast().expect("states of one aggregator are of one kind")
}

/// Adds the rows that came to each slot.
pub(crate) fn add_counts(counts: &mut [i64], rows: &[i64]) {
    counts.iter_mut().zip(rows).for_each(|(count, rows)| *count += rows);
}

/// Runs `each` on the slots and positions of cells that are not null.
#[inline]
pub(crate) fn valid_cells(slots: &[u32], cells: &dyn Array, mut each: impl FnMut(u32, usize)) {
    match cells.logical_nulls().filter(|nulls| nulls.null_count() > 0) {
        None => slots.iter().enumerate().for_each(|(at, slot)| each(*slot, at)),
        Some(nulls) => nulls.valid_indices().for_each(|at| each(slots[at], at)),
    }
}

/// Numbers of any type as `f64`.
pub(crate) fn floats(cells: &Chunk) -> arrow_array::Float64Array {
    if let Some(floats) = cells.as_primitive_opt::<Float64Type>() {
        return floats.clone();
    }
    let cast = arrow_cast::cast(cells, &DataType::Float64).expect("every number is a double, rounded");
    cast.as_primitive::<Float64Type>().clone()
}

/// Integers, times and booleans as `i64`, unsigned ones as their bits.
pub(crate) fn integers(cells: &Chunk) -> Int64Array {
    use arrow_array::types::UInt64Type;
    match cells.data_type() {
        DataType::Int64 => cells.as_primitive::<Int64Type>().clone(),
        DataType::UInt64 => cells.as_primitive::<UInt64Type>().unary(|value| value as i64),
        DataType::Date32 => integers(&arrow_cast::cast(cells, &DataType::Int32).expect("days are 32 bits")),
        _ => arrow_cast::cast(cells, &DataType::Int64).expect("fits in 64 bits").as_primitive::<Int64Type>().clone(),
    }
}

/// 64-bit integers back as a type of the same width or narrower.
pub(crate) fn from_integers(values: Int64Array, to: &DataType) -> Result<ArrayRef, Error> {
    use arrow_array::types::UInt64Type;
    let array: ArrayRef = std::sync::Arc::new(values.clone());
    Ok(match to {
        DataType::Int64 => array,
        DataType::UInt64 => std::sync::Arc::new(values.unary::<_, UInt64Type>(|value| value as u64)),
        DataType::Date32 => arrow_cast::cast(&arrow_cast::cast(&array, &DataType::Int32)?, to)?,
        DataType::Boolean => arrow_cast::cast(&array, &DataType::Boolean)?,
        _ => arrow_cast::cast(&array, to)?,
    })
}
