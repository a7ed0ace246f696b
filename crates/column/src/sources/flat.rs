//! A static column in the arrays it came in.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use arrow_array::{Array, ArrayRef, UInt32Array, new_empty_array, new_null_array};
use arrow_schema::DataType;
use arrow_select::concat::concat;
use arrow_select::interleave::interleave;
use graph::{Moment, Moved};
use rowset::{RowSet, Span};

use crate::column::{Chunk, Column, ColumnSource, NO_ROW};
use crate::error::Error;
use crate::kernels::{gather, gather_parts, gather_rows};
use crate::sizes::{FEW_RANGES, PIECE};
use crate::types::kind;

/// The share of an array from which on a read converts the whole of it, once.
const CONVERT_SHARE: usize = 8;

/// Key `first_key + i` is element `i` of a sequence of arrays, which are kept as they are.
///
/// What is read comes in the canonical type; an array of another type is converted when first needed.
#[derive(Clone)]
pub struct FlatColumn(Arc<Flat>);

struct Flat {
    canonical: DataType,
    /// The type the arrays came in.
    stored: DataType,
    first_key: u64,
    parts: Vec<Part>,
    /// The first key of each part.
    starts: Vec<u64>,
    len: usize,
}

struct Part {
    /// Position of the array's first cell.
    from: usize,
    array: ArrayRef,
    converted: OnceLock<ArrayRef>,
}

impl Part {
    fn canonical(&self, wanted: &DataType) -> Result<ArrayRef, Error> {
        if self.array.data_type() == wanted {
            return Ok(self.array.clone());
        }
        if let Some(converted) = self.converted.get() {
            return Ok(converted.clone());
        }
        let converted = kind::to_canonical(&self.array)?;
        Ok(self.converted.get_or_init(|| converted).clone())
    }

    fn slice(&self, wanted: &DataType, from: usize, len: usize) -> Result<ArrayRef, Error> {
        let whole = self.converted.get().is_some() || len * CONVERT_SHARE >= self.array.len();
        if whole || self.array.data_type() == wanted {
            return Ok(self.canonical(wanted)?.slice(from, len));
        }
        kind::to_canonical(&self.array.slice(from, len))
    }

    /// The cells of these rows of the array, the first cell of which is that of key `first`.
    fn picked(&self, wanted: &DataType, first: u64, rows: &RowSet) -> Result<ArrayRef, Error> {
        limits::ask_rows(rows.len(), kind::width(wanted))?;
        let own = self.array.data_type() == wanted;
        let array = self.converted.get().filter(|_| !own).unwrap_or(&self.array);
        kind::to_canonical(&gather_rows(array, first, rows)?)
    }
}

impl FlatColumn {
    /// The cells of `arrays`, one after the other, at keys from 0. All have one type; of no array, nulls.
    pub fn new(arrays: Vec<ArrayRef>) -> Result<FlatColumn, Error> {
        FlatColumn::at_keys(arrays, 0)
    }

    /// As [`FlatColumn::new`], at keys from `first_key`.
    pub fn at_keys(arrays: Vec<ArrayRef>, first_key: u64) -> Result<FlatColumn, Error> {
        let stored = arrays.first().map_or(DataType::Null, |array| array.data_type().clone());
        if let Some(other) = arrays.iter().find(|array| array.data_type() != &stored) {
            return Err(Error::Type { expected: stored, found: other.data_type().clone() });
        }
        let mut len = 0;
        let mut parts = Vec::with_capacity(arrays.len());
        for array in arrays.into_iter().filter(|array| !array.is_empty()) {
            parts.push(Part { from: len, array, converted: OnceLock::new() });
            len = parts[parts.len() - 1].from + parts[parts.len() - 1].array.len();
        }
        let starts = parts.iter().map(|part: &Part| first_key + part.from as u64).collect();
        Ok(FlatColumn(Arc::new(Flat { canonical: kind::canonical(&stored), stored, first_key, parts, starts, len })))
    }

    /// The arrays as they came.
    pub fn arrays(&self) -> Vec<ArrayRef> {
        self.0.parts.iter().map(|part| part.array.clone()).collect()
    }
}

impl Flat {
    /// The part that holds a position.
    fn part(&self, pos: usize) -> usize {
        self.parts.partition_point(|part| part.from <= pos) - 1
    }

    /// All cells in the type they are read in, if they lie in one array of it.
    fn whole(&self) -> Option<&ArrayRef> {
        let [part] = self.parts.as_slice() else { return None };
        if self.stored == self.canonical { Some(&part.array) } else { part.converted.get() }
    }

    /// Positions of a span of keys; keys outside the column have none.
    fn positions(&self, span: Span) -> Result<std::ops::Range<usize>, Error> {
        let from = span.first.checked_sub(self.first_key);
        match from.map(|from| from as usize..from as usize + span.len() as usize) {
            Some(range) if range.end <= self.len => Ok(range),
            _ => Err(Error::Length { rows: span.last + 1, cells: self.len as u64 }),
        }
    }

    /// Slices of the parts for these positions.
    fn cut(
        &self,
        range: std::ops::Range<usize>,
        slice: &mut dyn FnMut(&Part, usize, usize) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut pos = range.start;
        while pos < range.end {
            let part = &self.parts[self.part(pos)];
            let from = pos - part.from;
            let len = (part.array.len() - from).min(range.end - pos);
            slice(part, from, len)?;
            pos += len;
        }
        Ok(())
    }

    fn joined(&self, mut slices: Vec<ArrayRef>) -> Result<ArrayRef, Error> {
        match slices.len() {
            0 => Ok(new_empty_array(&self.canonical)),
            1 => Ok(slices.remove(0)),
            _ => Ok(concat(&slices.iter().map(|slice| slice.as_ref()).collect::<Vec<_>>())?),
        }
    }

    /// The cells of rows in many ranges; null outside of the column.
    fn picked(&self, rows: &RowSet) -> Result<Chunk, Error> {
        let hull = rows.first().zip(rows.last()).map(|(first, last)| Span { first, last });
        if hull.is_none_or(|hull| self.positions(hull).is_err()) {
            let position = |key: u64| key.checked_sub(self.first_key).map(|pos| pos as usize);
            return self.gather(rows.iter().map(|key| position(key).filter(|&pos| pos < self.len)));
        }
        if self.stored == self.canonical && self.parts.len() > 1 {
            limits::ask_rows(rows.len(), kind::width(&self.canonical))?;
            let mut parts = Vec::new();
            self.pick(rows, hull, &mut |part, first, rows| {
                parts.push((part.array.clone(), first, rows.clone()));
                Ok(())
            })?;
            return gather_parts(&parts);
        }
        let mut picked = Vec::new();
        self.pick(rows, hull, &mut |part, first, rows| {
            picked.push(part.picked(&self.canonical, first, rows)?);
            Ok(())
        })?;
        self.joined(picked)
    }

    /// The rows of each part within a span, if there are any, with the key of the part's first cell.
    fn pick(
        &self,
        rows: &RowSet,
        within: Option<Span>,
        pick: &mut dyn FnMut(&Part, u64, &RowSet) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Some(within) = within else { return Ok(()) };
        self.cut(self.positions(within)?, &mut |part, from, len| {
            let first = self.first_key + part.from as u64;
            let own = rows & &RowSet::range(first + from as u64, first + (from + len - 1) as u64);
            if own.is_empty() { Ok(()) } else { pick(part, first, &own) }
        })
    }

    fn gather(&self, positions: impl Iterator<Item = Option<usize>>) -> Result<Chunk, Error> {
        let taken = match &self.parts[..] {
            [] => return Ok(new_null_array(&self.canonical, positions.count())),
            [part] => {
                let places: UInt32Array = match u32::try_from(self.len) {
                    Ok(_) => positions.map(|pos| pos.map(|pos| pos as u32)).collect(),
                    Err(_) => return self.interleaved(positions),
                };
                let from = part.converted.get().unwrap_or(&part.array);
                arrow_select::take::take(from, &places, None)?
            }
            _ => return self.interleaved(positions),
        };
        kind::to_canonical(&taken)
    }

    fn interleaved(&self, positions: impl Iterator<Item = Option<usize>>) -> Result<Chunk, Error> {
        let null = new_null_array(&self.stored, 1);
        let mut arrays: Vec<&dyn Array> = self.parts.iter().map(|part| part.array.as_ref()).collect();
        arrays.push(null.as_ref());
        let nowhere = (self.parts.len(), 0);
        let picks: Vec<_> = positions
            .map(|pos| pos.map_or(nowhere, |pos| (self.part(pos), pos - self.parts[self.part(pos)].from)))
            .collect();
        if picks.is_empty() {
            return Ok(new_empty_array(&self.canonical));
        }
        kind::to_canonical(&interleave(&arrays, &picks)?)
    }
}

impl ColumnSource for FlatColumn {
    fn data_type(&self) -> &DataType {
        &self.0.canonical
    }

    fn at(&self, _moment: Moment) -> Result<Arc<dyn Column>, Moved> {
        Ok(Arc::new(self.clone()))
    }

    fn bytes(&self) -> u64 {
        let converted = |part: &Part| part.converted.get().map_or(0, |array| array.get_array_memory_size());
        self.0.parts.iter().map(|part| (part.array.get_array_memory_size() + converted(part)) as u64).sum()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Column for FlatColumn {
    fn data_type(&self) -> &DataType {
        &self.0.canonical
    }

    fn read(&self, rows: &RowSet) -> Result<Chunk, Error> {
        let flat = &*self.0;
        let mut slices = Vec::new();
        if is_scattered(rows) {
            return flat.picked(rows);
        }
        for span in rows.spans() {
            flat.cut(flat.positions(span)?, &mut |part, from, len| {
                slices.push(part.slice(&flat.canonical, from, len)?);
                Ok(())
            })?;
        }
        flat.joined(slices)
    }

    fn take(&self, keys: &[u64]) -> Result<Chunk, Error> {
        let flat = &*self.0;
        if let Some(cells) = flat.whole() {
            let (first, len) = (flat.first_key, flat.len as u64);
            let outside = |key: u64| (key.wrapping_sub(first) >= len) & (key != NO_ROW);
            if first == 0 && !keys.iter().fold(false, |any, key| any | outside(*key)) {
                return gather(cells, keys);
            }
            let position = |key: &u64| if outside(*key) || *key == NO_ROW { NO_ROW } else { key - first };
            return gather(cells, &keys.iter().map(position).collect::<Vec<_>>());
        }
        let position = |key: u64| Some(key.wrapping_sub(flat.first_key) as usize);
        flat.gather(keys.iter().map(|&key| position(key).filter(|&pos| key != NO_ROW && pos < flat.len)))
    }

    fn starts(&self) -> &[u64] {
        &self.0.starts
    }

    fn pieces(&self, rows: &RowSet) -> Result<Vec<Chunk>, Error> {
        let canonical = &self.0.canonical;
        self.portions(
            rows,
            |part, from, len| part.slice(canonical, from, len),
            |part, first, rows| part.picked(canonical, first, rows),
        )
    }

    fn export(&self, rows: &RowSet, declared: &DataType) -> Result<Vec<Chunk>, Error> {
        if declared == &self.0.stored {
            return self.portions(
                rows,
                |part, from, len| Ok(part.array.slice(from, len)),
                |part, first, rows| gather_rows(&part.array, first, rows),
            );
        }
        kind::to_declared_pieces(self.pieces(rows)?, declared)
    }
}

/// Whether rows lie in so many ranges that a slice of each costs more than a copy.
fn is_scattered(rows: &RowSet) -> bool {
    let few = FEW_RANGES.get();
    rows.spans().take(few + 1).count() > few
}

impl FlatColumn {
    /// Long ranges as slices, and together the rows that lie between them; few ranges all as slices.
    fn portions(
        &self,
        rows: &RowSet,
        slice: impl Fn(&Part, usize, usize) -> Result<Chunk, Error>,
        copy: impl Fn(&Part, u64, &RowSet) -> Result<Chunk, Error>,
    ) -> Result<Vec<Chunk>, Error> {
        let flat = &*self.0;
        let mut pieces = Vec::new();
        let copied = |pieces: &mut Vec<Chunk>, within: Option<Span>| {
            flat.pick(rows, within, &mut |part, first, rows| {
                pieces.push(copy(part, first, rows)?);
                Ok(())
            })
        };
        let least = if is_scattered(rows) { PIECE.rows() } else { 1 };
        let mut scattered: Option<Span> = None;
        for span in rows.spans() {
            if span.len() < least {
                scattered.get_or_insert(span).last = span.last;
                continue;
            }
            copied(&mut pieces, scattered.take())?;
            flat.cut(flat.positions(span)?, &mut |part, from, len| {
                pieces.push(slice(part, from, len)?);
                Ok(())
            })?;
        }
        copied(&mut pieces, scattered)?;
        Ok(pieces)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use arrow_array::{Int64Array, StringArray};

    fn numbers(cells: impl Iterator<Item = i64>) -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(cells))
    }

    #[test]
    fn reads_are_slices_and_keys_start_where_told() {
        let parts = vec![numbers(0..100), numbers(100..100), numbers(100..250)];
        let addresses: Vec<_> =
            [0, 2].map(|at: usize| parts[at].as_primitive::<Int64Type>().values().as_ptr()).to_vec();
        let column = FlatColumn::at_keys(parts, 1000).unwrap();
        let slice = column.read(&RowSet::range(1120, 1200)).unwrap();
        assert_eq!(slice.as_primitive::<Int64Type>().values().as_ptr(), addresses[1].wrapping_add(20));
        assert_eq!(&column.read(&RowSet::range(1090, 1110)).unwrap(), &numbers(90..111));
        let scattered = RowSet::from_sorted_keys(&(0..120).map(|at| 1000 + 2 * at).collect::<Vec<_>>());
        assert_eq!(&column.read(&scattered).unwrap(), &numbers((0..120).map(|at| at * 2)));
        let pieces = column.pieces(&RowSet::range(1000, 1249)).unwrap();
        let found: Vec<_> = pieces.iter().map(|piece| piece.as_primitive::<Int64Type>().values().as_ptr()).collect();
        assert_eq!(found, addresses);
        let taken: ArrayRef = Arc::new(Int64Array::from(vec![Some(249), None, Some(0), Some(249)]));
        assert_eq!(&column.take(&[1249, NO_ROW, 1000, 1249]).unwrap(), &taken);
        assert!(column.read(&RowSet::range(1240, 1250)).is_err());
        assert_eq!(column.read(&RowSet::new()).unwrap().len(), 0);
    }

    #[test]
    fn scattered_rows_leave_together_and_long_ranges_as_slices() {
        let parts = vec![numbers(0..100_000), numbers(100_000..250_000)];
        let address = parts[1].as_primitive::<Int64Type>().values().as_ptr();
        let column = FlatColumn::at_keys(parts, 1000).unwrap();
        let scattered = RowSet::from_keys((0..120_000).filter(|at| at % 3 != 1).map(|at| 1000 + at).collect());
        let rows = &scattered | &RowSet::range(151_000, 171_000);
        let pieces = column.pieces(&rows).unwrap();
        let lens: Vec<usize> = pieces.iter().map(|piece| piece.len()).collect();
        assert_eq!(lens, [66_667, 13_333, 20_001]);
        assert_eq!(pieces[2].as_primitive::<Int64Type>().values().as_ptr(), address.wrapping_add(50_000));
        let read = column.read(&rows).unwrap();
        assert_eq!(&concat(&pieces.iter().map(|piece| piece.as_ref()).collect::<Vec<_>>()).unwrap(), &read);
        assert_eq!(&read, &numbers(rows.iter().map(|key| key as i64 - 1000)));
    }

    #[test]
    fn one_array_is_picked_from_by_key() {
        for first in [0, 1000] {
            let column = FlatColumn::at_keys(vec![numbers(0..100)], first).unwrap();
            let taken: ArrayRef = Arc::new(Int64Array::from(vec![Some(99), None, Some(0), Some(99)]));
            assert_eq!(&column.take(&[first + 99, NO_ROW, first, first + 99]).unwrap(), &taken);
            let outside: ArrayRef = Arc::new(Int64Array::from(vec![None, Some(5), None, None]));
            let before = first.checked_sub(1).unwrap_or(NO_ROW);
            assert_eq!(&column.take(&[first + 100, first + 5, before, NO_ROW]).unwrap(), &outside);
        }
    }

    #[test]
    fn foreign_layouts_leave_as_they_came_and_read_as_canonical() {
        let text = |at: i64| format!("number {at} in a text that is long");
        let array: ArrayRef = Arc::new(StringArray::from_iter_values((0..100).map(text)));
        let column = FlatColumn::new(vec![array.clone()]).unwrap();
        assert_eq!(ColumnSource::data_type(&column), &DataType::Utf8View);
        let few = column.read(&RowSet::range(3, 4)).unwrap();
        assert_eq!(few.as_string_view().value(1), text(4));
        let kept = column.bytes();
        let all = column.read(&RowSet::flat(100)).unwrap();
        assert_eq!(all.as_string_view().value(99), text(99));
        assert!(column.bytes() > kept, "the whole was converted once");
        assert_eq!(column.take(&[7, 7]).unwrap().as_string_view().value(1), text(7));
        let left = column.export(&RowSet::flat(100), &DataType::Utf8).unwrap();
        assert_eq!(left[0].as_string::<i32>().values().as_ptr(), array.as_string::<i32>().values().as_ptr());
        assert_eq!(&column.export(&RowSet::range(5, 9), &DataType::LargeUtf8).unwrap()[0].len(), &5);
    }
}
