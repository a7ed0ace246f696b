//! Lists of any layout, and a column of their values.

use std::any::Any;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{
    Array, ArrayRef, GenericListArray, GenericListViewArray, OffsetSizeTrait, UInt64Array, new_empty_array,
};
use arrow_schema::DataType;
use column::types::{canonical, to_canonical};
use column::{Chunk, Column, ColumnSource, NO_ROW};
use graph::{Moment, Moved};
use rowset::RowSet;

/// The lists of some rows: the values of all, and where those of each row stand.
pub(super) struct Lists {
    values: ArrayRef,
    /// Start and length; none of a null.
    spans: Vec<Option<(u64, u64)>>,
}

impl Lists {
    /// Those of a chunk.
    pub(super) fn of(cells: &Chunk) -> Result<Lists, column::Error> {
        limits::ask_rows(cells.len() as u64, size_of::<Option<(u64, u64)>>() as u64)?;
        Ok(match cells.data_type() {
            DataType::LargeList(_) => by_offsets(cells.as_list::<i64>()),
            DataType::ListView(_) => by_places(cells.as_list_view::<i32>()),
            DataType::LargeListView(_) => by_places(cells.as_list_view::<i64>()),
            DataType::FixedSizeList(..) => {
                let lists = cells.as_fixed_size_list();
                let width = u64::try_from(lists.value_length()).unwrap_or(0);
                let span = |row: usize| lists.is_valid(row).then_some((row as u64 * width, width));
                Lists { values: lists.values().clone(), spans: (0..lists.len()).map(span).collect() }
            }
            _ => by_offsets(cells.as_list::<i32>()),
        })
    }

    /// How many values a list has; none of a null.
    pub(super) fn len_of(&self, row: usize) -> Option<u64> {
        self.spans[row].map(|(_, values)| values)
    }

    /// The values of all rows, each list with as many as are counted, if they lie one after the other.
    pub(super) fn whole(&self, counts: &[u64]) -> Option<ArrayRef> {
        let (mut first, mut end) = (0, None);
        for (span, count) in self.spans.iter().zip(counts) {
            match span {
                Some((start, values)) if values == count => {
                    if *values > 0 {
                        if end.is_none() {
                            first = *start;
                        } else if end != Some(*start) {
                            return None;
                        }
                        end = Some(start + values);
                    }
                }
                None if *count == 0 => {}
                _ => return None,
            }
        }
        let values = end.map_or(0, |end| end - first);
        Some(self.values.slice(first as usize, values as usize))
    }

    /// The values at these places of these lists; null outside of a list.
    pub(super) fn elements(&self, places: impl Iterator<Item = Option<(usize, u64)>>) -> Result<Chunk, column::Error> {
        let inside = |(row, place): (usize, u64)| {
            let (start, values) = self.spans[row]?;
            (place < values).then(|| start + place)
        };
        let places: UInt64Array = places.map(|place| place.and_then(inside)).collect();
        to_canonical(&arrow_select::take::take(&self.values, &places, None)?)
    }
}

fn by_offsets<O: OffsetSizeTrait>(lists: &GenericListArray<O>) -> Lists {
    let span = |(row, ends): (usize, &[O])| {
        let (start, end) = (ends[0].as_usize() as u64, ends[1].as_usize() as u64);
        lists.is_valid(row).then_some((start, end - start))
    };
    let spans = lists.value_offsets().windows(2).enumerate().map(span).collect();
    Lists { values: lists.values().clone(), spans }
}

fn by_places<O: OffsetSizeTrait>(lists: &GenericListViewArray<O>) -> Lists {
    let (starts, lengths) = (lists.value_offsets(), lists.value_sizes());
    let span =
        |row: usize| lists.is_valid(row).then(|| (starts[row].as_usize() as u64, lengths[row].as_usize() as u64));
    Lists { values: lists.values().clone(), spans: (0..lists.len()).map(span).collect() }
}

/// The values of a column of lists, under an index of source rows and one of places in their lists.
pub(super) struct ElementColumn {
    data_type: DataType,
    lists: Arc<dyn ColumnSource>,
    index: [Arc<dyn ColumnSource>; 2],
}

impl ElementColumn {
    /// Values of the type `element`.
    pub(super) fn new(
        lists: Arc<dyn ColumnSource>,
        index: [Arc<dyn ColumnSource>; 2],
        element: &DataType,
    ) -> ElementColumn {
        ElementColumn { data_type: canonical(element), lists, index }
    }
}

impl ColumnSource for ElementColumn {
    fn data_type(&self) -> &DataType {
        &self.data_type
    }

    fn at(&self, moment: Moment) -> Result<Arc<dyn Column>, Moved> {
        let [rows, places] = &self.index;
        let index = [rows.at(moment)?, places.at(moment)?];
        Ok(Arc::new(Elements { data_type: self.data_type.clone(), lists: self.lists.at(moment)?, index }))
    }

    fn bytes(&self) -> u64 {
        0
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

struct Elements {
    data_type: DataType,
    lists: Arc<dyn Column>,
    index: [Arc<dyn Column>; 2],
}

impl Elements {
    /// The values at these places of the lists of these rows. Each list is read once.
    fn values(&self, rows: &Chunk, places: &Chunk) -> Result<Chunk, column::Error> {
        let (rows, places) = (rows.as_primitive::<UInt64Type>(), places.as_primitive::<UInt64Type>());
        limits::ask_rows(rows.len() as u64, 4 * size_of::<u64>() as u64)?;
        let row = |at: usize| Some(rows.value(at)).filter(|row| rows.is_valid(at) && *row != NO_ROW);
        let mut read: Vec<u64> = (0..rows.len()).filter_map(row).collect();
        read.dedup();
        if !read.is_sorted() {
            read.sort_unstable();
            read.dedup();
        }
        if read.is_empty() {
            return Ok(arrow_array::new_null_array(&self.data_type, rows.len()));
        }
        let lists = Lists::of(&self.lists.read(&RowSet::from_sorted_keys(&read))?)?;
        let mut near = 0;
        let place = |at: usize| {
            let row = row(at)?;
            if read[near] != row {
                near = if read.get(near + 1) == Some(&row) { near + 1 } else { read.binary_search(&row).ok()? };
            }
            Some((near, places.value(at)))
        };
        lists.elements((0..rows.len()).map(place))
    }
}

impl Column for Elements {
    fn data_type(&self) -> &DataType {
        &self.data_type
    }

    fn read(&self, rows: &RowSet) -> Result<Chunk, column::Error> {
        if rows.is_empty() {
            return Ok(new_empty_array(&self.data_type));
        }
        let [keys, places] = &self.index;
        self.values(&keys.read(rows)?, &places.read(rows)?)
    }

    fn take(&self, keys: &[u64]) -> Result<Chunk, column::Error> {
        let [rows, places] = &self.index;
        self.values(&rows.take(keys)?, &places.take(keys)?)
    }

    fn pieces(&self, rows: &RowSet) -> Result<Vec<Chunk>, column::Error> {
        if rows.is_empty() { Ok(Vec::new()) } else { Ok(vec![self.read(rows)?]) }
    }
}
