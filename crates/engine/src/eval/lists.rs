//! Cells of a column as lists: all of them, or for each row those at some positions.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, ListArray, UInt64Array};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::Field;
use column::Chunk;

use crate::error::Error;
use crate::table::view::View;

/// Lists of these lengths, one after the other, that hold the cells.
pub(crate) fn list_of(cells: &Chunk, lengths: impl IntoIterator<Item = usize>) -> Result<ArrayRef, Error> {
    lists(cells, lengths, None)
}

fn lists(
    cells: &Chunk,
    lengths: impl IntoIterator<Item = usize>,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, Error> {
    let field = Arc::new(Field::new_list_field(cells.data_type().clone(), true));
    Ok(Arc::new(ListArray::try_new(field, OffsetBuffer::from_lengths(lengths), cells.clone(), nulls)?))
}

/// For each row the cells at so many positions from one on; those outside the table are left out. Null where either is.
pub(crate) fn parts(view: &View, column: usize, from: &Chunk, length: &Chunk) -> Result<ArrayRef, Error> {
    let all = i64::try_from(view.rows().len()).unwrap_or(i64::MAX);
    let (from, length) = (from.as_primitive::<Int64Type>(), length.as_primitive::<Int64Type>());
    let range = |row: usize| -> Option<Range<i64>> {
        let start = Some(from.value(row)).filter(|_| from.is_valid(row) && length.is_valid(row))?;
        let end = start.saturating_add(length.value(row).max(0));
        Some(start.clamp(0, all)..end.clamp(0, all))
    };
    let ranges: Vec<Option<Range<i64>>> = (0..from.len()).map(range).collect();
    let asked = || ranges.iter().flatten().filter(|range| !range.is_empty());
    let (first, end) = asked().fold((all, 0), |(first, end), range| (first.min(range.start), end.max(range.end)));
    let read = view.rows().slice(first as u64, (end - first).max(0) as u64);
    let cells = view.read(column, &read)?;
    let places = asked().flat_map(|range| range.clone().map(|place| (place - first) as u64));
    let taken = arrow_select::take::take(&cells, &UInt64Array::from_iter_values(places), None)?;
    let nulls = NullBuffer::from_iter(ranges.iter().map(Option::is_some));
    let lengths =
        ranges.iter().map(|range| range.as_ref().map_or(0, |range| (range.end - range.start).max(0) as usize));
    lists(&taken, lengths, Some(nulls).filter(|nulls| nulls.null_count() > 0))
}
