//! What a file says of the cells of its row groups and pages.

use std::sync::Arc;

use ::column::Zones;
use ::column::types::to_canonical;
use arrow_array::{ArrayRef, new_null_array};
use arrow_schema::DataType;
use arrow_select::concat::concat;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::file::page_index::offset_index::PageLocation;

use super::ParquetFile;

/// The least and the greatest cell of each segment of a column, as far as that is known. Segments are pages, or whole row
/// groups where the file does not tell of its pages.
pub(super) struct Segment {
    pub(super) group: usize,
    /// The rows of the group that it has.
    pub(super) from: usize,
    pub(super) rows: usize,
}

/// The segments of a column of a file, in order.
pub(super) fn segments(file: &ParquetFile, place: usize) -> Vec<Segment> {
    let metadata = file.metadata.metadata();
    let leaves: Vec<usize> = leaves(file, place);
    let index = metadata.page_index();
    let mut segments = Vec::new();
    for (group, told) in metadata.row_groups().iter().enumerate() {
        let rows = usize::try_from(told.num_rows()).unwrap_or(0);
        // Pages of several leaves do not begin at the same rows.
        let pages = match (&leaves[..], index) {
            ([leaf], Some(index)) => index.page_locations(group, *leaf),
            _ => None,
        };
        let first = |page: &PageLocation| usize::try_from(page.first_row_index).unwrap_or(0);
        let mut starts: Vec<usize> = pages.map(|pages| pages.iter().map(first).collect()).unwrap_or_default();
        let sound = starts.first() == Some(&0)
            && starts.is_sorted_by(|a, b| a < b)
            && starts.last().is_some_and(|last| *last < rows);
        if !sound {
            starts = vec![0];
        }
        for (at, from) in starts.iter().enumerate() {
            let end = starts.get(at + 1).copied().unwrap_or(rows);
            if end > *from {
                segments.push(Segment { group, from: *from, rows: end - from });
            }
        }
    }
    segments
}

fn leaves(file: &ParquetFile, place: usize) -> Vec<usize> {
    let schema = file.metadata.parquet_schema();
    (0..schema.num_columns()).filter(|leaf| schema.get_column_root_idx(*leaf) == place).collect()
}

/// The bounds of the segments of a column; None where the file has none that can be compared.
pub(super) fn bounds(
    file: &ParquetFile,
    place: usize,
    canonical: &DataType,
    segments: &[Segment],
) -> Option<[ArrayRef; 2]> {
    let metadata = file.metadata.metadata();
    let field = file.metadata.schema().field(place);
    if field.data_type().is_nested() || matches!(field.data_type(), DataType::Dictionary(..)) {
        return None;
    }
    let [leaf] = leaves(file, place)[..] else { return None };
    let converter =
        StatisticsConverter::try_new(field.name(), file.metadata.schema(), file.metadata.parquet_schema()).ok()?;
    let groups = metadata.row_groups();
    let mut parts: [Vec<ArrayRef>; 2] = Default::default();
    for (group, told) in groups.iter().enumerate() {
        let own: usize = segments.iter().filter(|segment| segment.group == group).count();
        let index = metadata.page_index().filter(|index| index.column_index(group, leaf).is_some());
        let pages = index.and_then(|index| {
            let least = converter.data_page_mins(index.as_ref(), [&group]).ok()?;
            let most = converter.data_page_maxes(index.as_ref(), [&group]).ok()?;
            (least.len() == own && most.len() == own).then_some((least, most))
        });
        let of_group = || {
            let least = converter.row_group_mins([told]).ok()?;
            let most = converter.row_group_maxes([told]).ok()?;
            // Every segment of the group is within the bounds of the group.
            let repeat = arrow_array::UInt32Array::from(vec![0; own]);
            let of = |array: &ArrayRef| arrow_select::take::take(array, &repeat, None).ok();
            of(&least).zip(of(&most))
        };
        let nothing = || (new_null_array(canonical, own), new_null_array(canonical, own));
        let (least, most) = pages.or_else(of_group).unwrap_or_else(nothing);
        for (part, array) in parts.iter_mut().zip([least, most]) {
            let array = to_canonical(&array).ok().filter(|array| array.data_type() == canonical);
            part.push(array.unwrap_or_else(|| new_null_array(canonical, own)));
        }
    }
    let whole = |arrays: &[ArrayRef]| concat(&arrays.iter().map(|array| array.as_ref()).collect::<Vec<_>>()).ok();
    let [least, most] = &parts;
    (!least.is_empty()).then(|| Some([whole(least)?, whole(most)?])).flatten()
}

/// The bounds of a table's column, of which the files begin at these keys.
pub(super) fn zones(starts: Vec<u64>, end: u64, bounds: Option<[ArrayRef; 2]>) -> Option<Arc<Zones>> {
    let [least, most] = bounds?;
    (least.len() == starts.len() && most.len() == starts.len()).then(|| Arc::new(Zones { starts, end, least, most }))
}
