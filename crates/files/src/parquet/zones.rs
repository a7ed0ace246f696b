//! What a file says of the cells of its row groups and pages.

use std::sync::Arc;

use ::column::types::to_canonical;
use ::column::{Members, Nulls, Zones};
use arrow_array::{Array, ArrayRef, UInt32Array, new_null_array};
use arrow_schema::DataType;
use arrow_select::concat::concat;
use arrow_select::take::take;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::file::page_index::offset_index::PageLocation;

use super::ParquetFile;

/// Neighbouring rows of a column that a file tells of: a page, or a whole row group where the file does not tell of its pages.
#[derive(Clone, Copy)]
pub(super) struct Segment {
    pub(super) group: usize,
    /// The page that it is; none of a whole row group.
    pub(super) page: Option<usize>,
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
                segments.push(Segment { group, page: sound.then_some(at), rows: end - from });
            }
        }
    }
    segments
}

/// The leaves of a column, by their numbers.
pub(super) fn leaves(file: &ParquetFile, place: usize) -> Vec<usize> {
    let schema = file.metadata.parquet_schema();
    (0..schema.num_columns()).filter(|leaf| schema.get_column_root_idx(*leaf) == place).collect()
}

/// What is known of each of some segments of a column.
#[derive(Default)]
pub(super) struct Told {
    least: Vec<ArrayRef>,
    most: Vec<ArrayRef>,
    nulls: Vec<Nulls>,
}

impl Told {
    /// Of further segments: all those of a file, in order.
    pub(super) fn add(&mut self, file: &ParquetFile, place: usize, canonical: &DataType, segments: &[Segment]) {
        let metadata = file.metadata.metadata();
        let field = file.metadata.schema().field(place);
        let leaf = match leaves(file, place)[..] {
            [leaf] if !field.data_type().is_nested() => leaf,
            _ => return self.nothing(canonical, segments.len()),
        };
        let converter =
            StatisticsConverter::try_new(field.name(), file.metadata.schema(), file.metadata.parquet_schema());
        let Ok(converter) = converter else { return self.nothing(canonical, segments.len()) };
        let converter = converter.with_missing_null_counts_as_zero(false);
        // The bounds of dictionaries are not told as cells.
        let is_compared = !matches!(field.data_type(), DataType::Dictionary(..));
        for own in segments.chunk_by(|a, b| a.group == b.group) {
            let group = own[0].group;
            let told = &metadata.row_groups()[group];
            // Every segment of a group is within the bounds of the group.
            let repeat = UInt32Array::from(vec![0; own.len()]);
            let of_group = |array: ArrayRef| take(&array, &repeat, None).ok();
            let index = metadata.page_index().filter(|index| index.column_index(group, leaf).is_some());
            let of_pages = |array: ArrayRef| (array.len() == own.len()).then_some(array);
            let bounds = index.and_then(|index| {
                let least = converter.data_page_mins(index.as_ref(), [&group]).ok().and_then(of_pages)?;
                Some((least, converter.data_page_maxes(index.as_ref(), [&group]).ok().and_then(of_pages)?))
            });
            let bounds = bounds.or_else(|| {
                let least = converter.row_group_mins([told]).ok().and_then(of_group)?;
                Some((least, converter.row_group_maxes([told]).ok().and_then(of_group)?))
            });
            let nothing = || new_null_array(canonical, own.len());
            let (least, most) = bounds.filter(|_| is_compared).unwrap_or_else(|| (nothing(), nothing()));
            for (part, array) in [(&mut self.least, least), (&mut self.most, most)] {
                let array = to_canonical(&array).ok().filter(|array| array.data_type() == canonical);
                part.push(array.unwrap_or_else(nothing));
            }
            let counts = index.and_then(|index| converter.data_page_null_counts(index.as_ref(), [&group]).ok());
            let counts = counts.filter(|counts| counts.len() == own.len() && counts.null_count() == 0);
            match counts {
                Some(counts) => {
                    self.nulls.extend(own.iter().zip(counts.values()).map(|(of, count)| nulls(*count, of.rows)))
                }
                None => {
                    let count = converter.row_group_null_counts([told]).ok();
                    let count = count.filter(|count| count.len() == 1 && count.is_valid(0)).map(|count| count.value(0));
                    let rows = own.iter().map(|of| of.rows).sum();
                    self.nulls.extend(own.iter().map(|_| count.map_or(Nulls::Unknown, |count| nulls(count, rows))));
                }
            }
        }
    }

    fn nothing(&mut self, canonical: &DataType, segments: usize) {
        self.least.push(new_null_array(canonical, segments));
        self.most.push(new_null_array(canonical, segments));
        self.nulls.extend(std::iter::repeat_n(Nulls::Unknown, segments));
    }

    /// As a column's, of which the segments begin at these keys; None where nothing is known.
    pub(super) fn zones(self, starts: Vec<u64>, end: u64, members: Option<Arc<dyn Members>>) -> Option<Arc<Zones>> {
        let whole = |arrays: &[ArrayRef]| concat(&arrays.iter().map(|array| array.as_ref()).collect::<Vec<_>>()).ok();
        let (least, most) = whole(&self.least).zip(whole(&self.most))?;
        let fits = [least.len(), most.len(), self.nulls.len()].iter().all(|many| *many == starts.len());
        fits.then(|| Arc::new(Zones { starts, end, least, most, nulls: self.nulls, members }))
    }
}

fn nulls(count: u64, rows: usize) -> Nulls {
    match count {
        0 => Nulls::None,
        count if count == rows as u64 => Nulls::All,
        _ => Nulls::Unknown,
    }
}
