//! What a step makes of one computed column: the cells of rows that came, and those of rows that stay where they are others.
//!
//!   computed  0 A  3 B  4 C     added 3     before  0 A  4 D     made   + 3 B   ~ 4 C
//!
//! Rows are taken part by part, side by side. Cost: the rows that were computed.

use arrow_array::{BooleanArray, UInt64Array};
use arrow_buffer::BooleanBufferBuilder;
use arrow_select::concat::concat;
use arrow_select::filter::filter;
use arrow_select::take::take;
use column::{Chunk, matching};
use rowset::RowSet;

use crate::error::Error;
use crate::sizes::GROUP_PART_ROWS;
use crate::threads::parallel;

/// What a step makes of one column.
pub(super) struct Made {
    /// The cells of rows that have come, in row order.
    pub(super) fresh: Chunk,
    /// Rows that stay and have another value, with it.
    pub(super) modified: Option<(RowSet, Chunk)>,
}

/// Reads the cells that rows which stay had before.
pub(super) type Old<'a> = dyn Fn(&RowSet) -> Result<Chunk, Error> + Sync + 'a;

impl Made {
    /// Of cells that were computed for these rows, in row order.
    pub(super) fn of(mut rows: RowSet, mut cells: Chunk, added: &RowSet, old: &Old<'_>) -> Result<Made, Error> {
        let came = &rows & added;
        if came.len() == rows.len() {
            return Ok(Made { fresh: cells, modified: None });
        }
        let mut fresh = cells.slice(0, 0);
        if !came.is_empty() {
            let mut mask = BooleanBufferBuilder::new(cells.len());
            mask.append_n(cells.len(), false);
            rows.ranks(&came.to_vec()).into_iter().for_each(|at| mask.set_bit(at as usize, true));
            let came = BooleanArray::new(mask.finish(), None);
            fresh = filter(&cells, &came)?;
            let stay = !came.values();
            rows = matching(&rows, &stay);
            cells = filter(&cells, &BooleanArray::new(stay, None))?;
        }
        Ok(Made { fresh, modified: differing(rows, cells, old)? })
    }

    /// The parts of a column one after the other; `none`: no cells of its type.
    pub(super) fn joined(parts: Vec<Made>, none: Chunk) -> Result<Made, Error> {
        let (mut fresh, mut rows, mut cells) = (Vec::new(), RowSet::new(), Vec::new());
        for part in parts {
            if !part.fresh.is_empty() {
                fresh.push(part.fresh);
            }
            if let Some((changed, changed_cells)) = part.modified {
                rows |= &changed;
                cells.push(changed_cells);
            }
        }
        let modified = if rows.is_empty() { None } else { Some((rows, whole(&cells, &none)?)) };
        Ok(Made { fresh: whole(&fresh, &none)?, modified })
    }
}

fn whole(cells: &[Chunk], none: &Chunk) -> Result<Chunk, Error> {
    match cells {
        [] => Ok(none.clone()),
        [one] => Ok(one.clone()),
        some => Ok(concat(&some.iter().map(AsRef::as_ref).collect::<Vec<_>>())?),
    }
}

/// Of rows that stay, those whose cells are others than before, with them.
pub(super) fn differing(rows: RowSet, cells: Chunk, old: &Old<'_>) -> Result<Option<(RowSet, Chunk)>, Error> {
    let differs = !&column::kernels::equal_cells(&cells, &old(&rows)?);
    Ok(match differs.count_set_bits() {
        0 => None,
        all if all == differs.len() => Some((rows, cells)),
        _ => Some((matching(&rows, &differs), filter(&cells, &BooleanArray::new(differs, None))?)),
    })
}

/// Rows that were computed group by group, in row order.
pub(super) struct InRowOrder {
    pub(super) rows: RowSet,
    /// For each row the place of its value among those that were computed; none if that is its own.
    places: Option<UInt64Array>,
}

impl InRowOrder {
    /// Of lists of rows, one behind the other; each row is in them once.
    pub(super) fn new(lists: &[&[u64]]) -> InRowOrder {
        let each = || lists.iter().flat_map(|list| list.iter().copied());
        if each().is_sorted() {
            let rows = RowSet::from_sorted_keys(&each().collect::<Vec<_>>());
            return InRowOrder { rows, places: None };
        }
        let len: usize = lists.iter().map(|list| list.len()).sum();
        let (first, last) = each().fold((u64::MAX, 0), |(first, last), row| (first.min(row), last.max(row)));
        // A word of the mask for each row costs less than to sort it.
        if (last - first) / 64 <= len as u64 {
            return InRowOrder::by_mask(lists, len, first, last);
        }
        let mut placed: Vec<(u64, u64)> = each().zip(0..).collect();
        placed.sort_unstable();
        let (rows, places): (Vec<u64>, Vec<u64>) = placed.into_iter().unzip();
        InRowOrder { rows: RowSet::from_sorted_keys(&rows), places: Some(places.into()) }
    }

    /// Where many of the rows between the first and the last are listed: the rank of a row is that of its bit.
    fn by_mask(lists: &[&[u64]], len: usize, first: u64, last: u64) -> InRowOrder {
        let base = first & !63;
        let mut words = vec![0u64; ((last - base) / 64 + 1) as usize];
        let each = || lists.iter().flat_map(|list| list.iter().map(|row| row - base));
        each().for_each(|at| words[(at / 64) as usize] |= 1 << (at % 64));
        let before: Vec<u64> = words
            .iter()
            .scan(0, |count, word| {
                let before = *count;
                *count += u64::from(word.count_ones());
                Some(before)
            })
            .collect();
        let mut places = vec![0u64; len];
        for (place, at) in (0..).zip(each()) {
            let (word, below) = ((at / 64) as usize, (1 << (at % 64)) - 1);
            places[(before[word] + u64::from((words[word] & below).count_ones())) as usize] = place;
        }
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        InRowOrder { rows: RowSet::from_mask(base, &bytes, 0, (last - base + 1) as usize), places: Some(places.into()) }
    }

    /// What a step makes of a column, of the values that were computed for the lists.
    pub(super) fn made(&self, values: &Chunk, added: &RowSet, old: &Old<'_>) -> Result<Made, Error> {
        let parts = parallel::parts(&self.rows, GROUP_PART_ROWS.rows());
        let of_part = |part: usize, rows: &RowSet| {
            let (from, len) = (part * GROUP_PART_ROWS.get(), rows.len() as usize);
            let cells = match &self.places {
                None => values.slice(from, len),
                Some(places) => take(values, &places.slice(from, len), None)?,
            };
            Made::of(rows.clone(), cells, added, old)
        };
        Made::joined(parallel::try_map(true, &parts, of_part)?, values.slice(0, 0))
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use arrow_array::{ArrayRef, Int64Array};
    use std::sync::Arc;

    use super::*;

    /// The values of rows in row order: ten times the row.
    fn ordered(lists: &[&[u64]]) -> (Vec<u64>, Vec<i64>) {
        let values: ArrayRef =
            Arc::new(Int64Array::from_iter_values(lists.concat().iter().map(|row| *row as i64 * 10)));
        let order = InRowOrder::new(lists);
        let none = |_: &RowSet| Err(Error::internal("made", "no row stays"));
        let made = order.made(&values, &order.rows, &none).expect("all rows came");
        assert!(made.modified.is_none());
        (order.rows.to_vec(), made.fresh.as_primitive::<Int64Type>().values().to_vec())
    }

    #[test]
    fn rows_of_groups_come_in_row_order() {
        assert_eq!(ordered(&[]), (vec![], vec![]));
        assert_eq!(ordered(&[&[3, 7], &[], &[9]]), (vec![3, 7, 9], vec![30, 70, 90]));
        assert_eq!(
            ordered(&[&[70, 200], &[64, 127, 128]]),
            (vec![64, 70, 127, 128, 200], vec![640, 700, 1270, 1280, 2000])
        );
        let far = 1 << 50;
        assert_eq!(
            ordered(&[&[far, far + 1], &[5]]),
            (vec![5, far, far + 1], vec![50, far as i64 * 10, far as i64 * 10 + 10])
        );
        let odd: Vec<u64> = (0..500).map(|row| 2 * row + 1).collect();
        let even: Vec<u64> = (0..500).map(|row| 2 * row).collect();
        assert_eq!(ordered(&[&odd, &even]).0, (0..1_000).collect::<Vec<u64>>());
    }

    #[test]
    fn rows_that_came_and_rows_that_changed_are_told_apart() {
        let cells = |values: &[i64]| Arc::new(Int64Array::from(values.to_vec())) as ArrayRef;
        let rows = RowSet::from_sorted_keys(&[1, 4, 6, 9]);
        let old = |rows: &RowSet| {
            assert_eq!(rows.to_vec(), [1, 6, 9]);
            Ok(cells(&[10, 0, 90]))
        };
        let made = Made::of(rows, cells(&[10, 40, 60, 90]), &RowSet::from_sorted_keys(&[2, 4]), &old).expect("made");
        assert_eq!(&made.fresh, &cells(&[40]));
        assert_eq!(made.modified, Some((RowSet::key(6), cells(&[60]))));
    }
}
