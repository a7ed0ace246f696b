//! Rows in order: positions of cells by one column or several, stable, in the one total order.
//!
//! Each column is a level. A level sorts its rows by a word a row, which decides alone for numbers and
//! times; text gives eight bytes at a time, after what all rows share. Rows that a level leaves equal
//! are sorted by the next one.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryViewArray, BooleanArray, StringViewArray};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::{ArrowError, DataType, SortOptions};
use limits::Scope;
use rayon::prelude::*;

use super::radix::{self, Entry};
use super::words::{cells, have_words, normalised, words};
use crate::error::Error;
use crate::sizes::{SORT_FEW, SORT_MANY};
use crate::types::can_be_key;

/// The positions of the rows in order. Rows that are equal in all columns keep their order, whatever the
/// direction. Nulls stand first, or last where `nulls_last`, in both directions.
///
/// # Errors
/// For types without an order (maps, unions), and for more than 2³² rows.
pub fn sort_to_positions(columns: &[ArrayRef], descending: &[bool], nulls_last: &[bool]) -> Result<Vec<u32>, Error> {
    let rows = columns.first().map_or(0, |column| column.len());
    let Ok(count) = u32::try_from(rows) else {
        return Err(Error::TooMany("more than 2³² rows to sort at once"));
    };
    if let [column] = columns
        && have_words(column.data_type())
        && column.null_count() == 0
    {
        return Ok(sort_words(column, descending[0]));
    }
    let levels = levels_of(columns, descending, nulls_last)?;
    let mut positions: Vec<u32> = (0..count).collect();
    sort_by_levels(&levels, 0, &mut positions);
    Ok(positions)
}

/// For each cell a number that orders as the cell does in this direction, null cells aside; none for
/// types whose cells are more than a word.
pub fn order_words(column: &ArrayRef, descending: bool) -> Option<Vec<u64>> {
    let mut words = words(column)?;
    if descending {
        words.iter_mut().for_each(|word| *word = !*word);
    }
    Some(words)
}

/// Rows of several columns, or of any type with an order, as bytes that order as the rows do.
///
/// Where nulls stand is asked of whole cells alone. Within lists and structs a null is the least, whatever the direction:
/// such a column whose own nulls stand elsewhere is led by another that says where it has cells.
pub struct OrderBytes {
    converter: RowConverter,
    /// For each column whether it is led by one that ranks its nulls, and if so, whether they are last.
    ranked: Vec<Option<bool>>,
}

impl OrderBytes {
    /// The encoding for columns of these types.
    ///
    /// # Errors
    /// For types without an order.
    pub fn new(types: &[DataType], descending: &[bool], nulls_last: &[bool]) -> Result<OrderBytes, Error> {
        if let Some(other) = types.iter().find(|data_type| !can_be_key(data_type)) {
            return Err(no_order(other));
        }
        let ranked = |at: usize| (types[at].is_nested() && descending[at] != nulls_last[at]).then_some(nulls_last[at]);
        let ranked: Vec<Option<bool>> = (0..types.len()).map(ranked).collect();
        let mut fields = Vec::with_capacity(types.len());
        for (at, data_type) in types.iter().enumerate() {
            if ranked[at].is_some() {
                fields.push(SortField::new(DataType::Boolean));
            }
            let nulls_first = if ranked[at].is_some() { !descending[at] } else { !nulls_last[at] };
            let options = SortOptions { descending: descending[at], nulls_first };
            fields.push(SortField::new_with_options(data_type.clone(), options));
        }
        Ok(OrderBytes { converter: RowConverter::new(fields)?, ranked })
    }

    /// The bytes of each row.
    ///
    /// # Errors
    /// For columns of other types.
    pub fn encode(&self, columns: &[ArrayRef]) -> Result<Rows, Error> {
        let mut normal = Vec::with_capacity(columns.len());
        for (column, ranked) in columns.iter().zip(&self.ranked) {
            if let Some(nulls_last) = ranked {
                normal.push(ranks(column, *nulls_last));
            }
            normal.push(normalised(column)?);
        }
        Ok(self.converter.convert_columns(&normal)?)
    }
}

/// Where the nulls of a column stand, as a column of its own.
fn ranks(column: &ArrayRef, nulls_last: bool) -> ArrayRef {
    let valid = column.logical_nulls().map_or_else(|| BooleanBuffer::new_set(column.len()), |nulls| nulls.into_inner());
    Arc::new(BooleanArray::new(if nulls_last { !&valid } else { valid }, None))
}

fn no_order(data_type: &DataType) -> Error {
    ArrowError::NotYetImplemented(format!("cells of {data_type} have no order")).into()
}

/// One column without nulls: its words go straight into entries, a cache's worth at a time.
fn sort_words(column: &ArrayRef, descending: bool) -> Vec<u32> {
    let mut entries = vec![Entry::default(); column.len()];
    let many = SORT_MANY.get();
    entries.par_chunks_mut(many).enumerate().for_each(|(part, entries)| {
        let start = part * many;
        let words = words(&column.slice(start, entries.len())).unwrap_or_default();
        for (at, (entry, word)) in entries.iter_mut().zip(words).enumerate() {
            *entry = Entry { word: directed(word, descending), position: (start + at) as u32 };
        }
    });
    radix::sort(&mut entries);
    entries.par_iter().with_min_len(many).map(|entry| entry.position).collect()
}

pub(super) fn directed(word: u64, descending: bool) -> u64 {
    if descending { !word } else { word }
}

/// One column's say in the order.
pub(super) struct Level {
    nulls: Option<NullBuffer>,
    pub(super) nulls_last: bool,
    pub(super) descending: bool,
    pub(super) cells: Cells,
}

/// The levels of these columns.
pub(super) fn levels_of(columns: &[ArrayRef], descending: &[bool], nulls_last: &[bool]) -> Result<Vec<Level>, Error> {
    let mut levels = Vec::with_capacity(columns.len());
    for (at, column) in columns.iter().enumerate() {
        Level::push(&mut levels, column, descending[at], nulls_last[at])?;
    }
    Ok(levels)
}

pub(super) enum Cells {
    /// Directed words that decide alone.
    Words(Vec<u64>),
    Text(StringViewArray),
    Binary(BinaryViewArray),
    Encoded(Rows),
}

impl Level {
    fn push(levels: &mut Vec<Level>, column: &ArrayRef, descending: bool, nulls_last: bool) -> Result<(), Error> {
        let nulls = column.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        let mut push = |cells| levels.push(Level { nulls: nulls.clone(), nulls_last, descending, cells });
        let direct = |words: Vec<u64>| {
            Cells::Words(if descending { words.into_iter().map(|word| !word).collect() } else { words })
        };
        if let Some(words) = words(column) {
            push(direct(words));
            return Ok(());
        }
        match column.data_type() {
            DataType::Utf8View => push(Cells::Text(column.as_string_view().clone())),
            DataType::BinaryView => push(Cells::Binary(column.as_binary_view().clone())),
            DataType::Decimal128(..) => {
                let wide = cells::<i128>(column);
                push(direct(wide.iter().map(|cell| ((cell >> 64) as u64) ^ (1 << 63)).collect()));
                push(direct(wide.iter().map(|&cell| cell as u64).collect()));
            }
            other if can_be_key(other) => {
                let converter = RowConverter::new(vec![SortField::new(other.clone())])?;
                push(Cells::Encoded(converter.convert_columns(&[normalised(column)?])?));
            }
            other => return Err(no_order(other)),
        }
        Ok(())
    }

    pub(super) fn has_nulls(&self) -> bool {
        self.nulls.is_some()
    }

    pub(super) fn is_null(&self, row: u32) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row as usize))
    }

    pub(super) fn bytes(&self, row: u32) -> &[u8] {
        match &self.cells {
            Cells::Words(_) => &[],
            Cells::Text(text) => text.value(row as usize).as_bytes(),
            Cells::Binary(binary) => binary.value(row as usize),
            Cells::Encoded(rows) => rows.row(row as usize).data(),
        }
    }

    fn compare(&self, a: u32, b: u32) -> Ordering {
        match (self.is_null(a), self.is_null(b)) {
            (true, true) => return Ordering::Equal,
            (false, false) => {}
            (a_is_null, _) if a_is_null != self.nulls_last => return Ordering::Less,
            _ => return Ordering::Greater,
        }
        match &self.cells {
            Cells::Words(words) => words[a as usize].cmp(&words[b as usize]),
            _ => {
                let order = self.bytes(a).cmp(self.bytes(b));
                if self.descending { order.reverse() } else { order }
            }
        }
    }
}

pub(super) fn sort_by_levels(levels: &[Level], at: usize, rows: &mut [u32]) {
    let Some(level) = levels.get(at) else { return };
    if rows.len() <= SORT_FEW.get() {
        let rest = &levels[at..];
        let compare = |a: &u32, b: &u32| {
            rest.iter().map(|level| level.compare(*a, *b)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        };
        return rows.sort_by(compare);
    }
    let (valid, null) = split_nulls(level, rows);
    sort_by_levels(levels, at + 1, null);
    match &level.cells {
        Cells::Words(words) => {
            let next = |rows: &mut [u32]| sort_by_levels(levels, at + 1, rows);
            sort_by_word(valid, |row| words[row as usize], at + 1 == levels.len(), &next);
        }
        _ => sort_by_bytes(levels, at, 0, valid),
    }
}

/// The rows with a cell and the rows without, each in their order.
fn split_nulls<'a>(level: &Level, rows: &'a mut [u32]) -> (&'a mut [u32], &'a mut [u32]) {
    let Some(nulls) = &level.nulls else {
        return (rows, &mut []);
    };
    let (valid, null): (Vec<u32>, Vec<u32>) = rows.iter().partition(|&&row| nulls.is_valid(row as usize));
    if level.nulls_last {
        rows[..valid.len()].copy_from_slice(&valid);
        rows[valid.len()..].copy_from_slice(&null);
        rows.split_at_mut(valid.len())
    } else {
        rows[..null.len()].copy_from_slice(&null);
        rows[null.len()..].copy_from_slice(&valid);
        let (null, valid) = rows.split_at_mut(null.len());
        (valid, null)
    }
}

/// Sorts rows by a level of bytes of which all agree in the first `shared` bytes.
fn sort_by_bytes(levels: &[Level], at: usize, shared: usize, rows: &mut [u32]) {
    if rows.len() <= SORT_FEW.get() {
        return sort_by_levels(levels, at, rows);
    }
    let level = &levels[at];
    let shared = shared_bytes(level, shared, rows);
    let longest = rows.iter().map(|&row| level.bytes(row).len()).max().unwrap_or(0);
    if longest <= shared {
        // Equal but for zeros at their ends: the shorter is the lesser.
        let length = |row| directed(level.bytes(row).len() as u64, level.descending);
        let next = |rows: &mut [u32]| sort_by_levels(levels, at + 1, rows);
        return sort_by_word(rows, length, at + 1 == levels.len(), &next);
    }
    let word = |row| directed(eight_bytes(level.bytes(row), shared), level.descending);
    let next = |rows: &mut [u32]| sort_by_bytes(levels, at, shared + 8, rows);
    sort_by_word(rows, word, false, &next);
}

/// How many bytes all rows have in common, at least `known`; a row may end inside them.
pub(super) fn shared_bytes(level: &Level, known: usize, rows: &[u32]) -> usize {
    let first = level.bytes(rows[0]);
    let mut shared = first.len();
    for &row in &rows[1..] {
        if shared <= known {
            return known;
        }
        let bytes = level.bytes(row);
        let end = shared.min(bytes.len());
        let differs = (known..end).find(|&at| first[at] != bytes[at]);
        shared = differs.unwrap_or(end);
    }
    shared.max(known)
}

pub(super) fn eight_bytes(bytes: &[u8], from: usize) -> u64 {
    let rest = bytes.get(from..).unwrap_or_default();
    match rest.first_chunk::<8>() {
        Some(eight) => u64::from_be_bytes(*eight),
        None => {
            let mut eight = [0; 8];
            eight[..rest.len()].copy_from_slice(rest);
            u64::from_be_bytes(eight)
        }
    }
}

/// Sorts rows by their words; `next` sorts each run of equal words, unless words are `all` there is.
fn sort_by_word(rows: &mut [u32], word: impl Fn(u32) -> u64 + Sync, all: bool, next: &(impl Fn(&mut [u32]) + Sync)) {
    let mut entries = vec![Entry::default(); rows.len()];
    let fill = |(entry, &mut position): (&mut Entry, &mut u32)| *entry = Entry { word: word(position), position };
    let many = SORT_MANY.get();
    entries.par_iter_mut().zip(&mut *rows).with_min_len(many).for_each(fill);
    radix::sort(&mut entries);
    rows.par_iter_mut().zip(&entries).with_min_len(many).for_each(|(row, entry)| *row = entry.position);
    if !all {
        sort_runs(&entries, rows, next);
    }
}

fn sort_runs(entries: &[Entry], rows: &mut [u32], next: &(impl Fn(&mut [u32]) + Sync)) {
    if rows.len() > SORT_MANY.get()
        && let Some(cut) = border(entries)
    {
        let (low, high) = rows.split_at_mut(cut);
        let scope = Scope::current();
        rayon::join(
            || scope.enter(|| sort_runs(&entries[..cut], low, next)),
            || scope.enter(|| sort_runs(&entries[cut..], high, next)),
        );
        return;
    }
    let mut start = 0;
    for run in entries.chunk_by(|a, b| a.word == b.word) {
        if run.len() > 1 {
            next(&mut rows[start..start + run.len()]);
        }
        start += run.len();
    }
}

/// A place near the middle where the word changes.
fn border(entries: &[Entry]) -> Option<usize> {
    let changes = |at: usize| entries[at - 1].word != entries[at].word;
    let middle = entries.len() / 2;
    (middle..entries.len()).find(|&at| changes(at)).or_else(|| (1..middle).rev().find(|&at| changes(at)))
}

#[cfg(test)]
mod tests {
    use arrow_array::types::Int64Type;
    use arrow_array::{Decimal128Array, Float64Array, Int64Array, ListArray, StructArray, UInt8Array};
    use arrow_schema::Field;

    use super::super::compare::comparator_of_rows;
    use super::super::first::first_positions;
    use super::*;

    struct Draw(u64);

    impl Draw {
        fn next(&mut self, below: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 20) % below
        }
    }

    /// Columns of every shape, with ties, nulls and shared prefixes.
    fn columns(rows: usize, seed: u64) -> Vec<ArrayRef> {
        let mut draw = Draw(seed);
        let mut some = |below: u64| -> Vec<Option<u64>> {
            (0..rows).map(|_| Some(draw.next(below)).filter(|cell| cell % 11 != 3)).collect()
        };
        let text = |cell: u64| match cell % 5 {
            0 => String::new(),
            1 => format!("the same beginning, then {}", cell % 97),
            2 => "x\0".repeat((cell % 7) as usize),
            3 => "x".to_string() + &"\0".repeat((cell % 20) as usize),
            _ => format!("{cell}"),
        };
        let float = |cell: u64| match cell % 6 {
            0 => f64::NAN,
            1 => -0.0,
            2 => 0.0,
            3 => f64::NEG_INFINITY,
            _ => cell as f64 / 7.0 - 300.0,
        };
        vec![
            Arc::new(some(u64::MAX >> 20).into_iter().map(|c| c.map(|c| (c as i64) << 20)).collect::<Int64Array>()),
            Arc::new(some(5).into_iter().map(|c| c.map(|c| c as u8)).collect::<UInt8Array>()),
            Arc::new(some(2).into_iter().map(|c| c.map(|c| c == 1)).collect::<BooleanArray>()),
            Arc::new(some(5000).into_iter().map(|c| c.map(float)).collect::<Float64Array>()),
            Arc::new(some(5000).into_iter().map(|c| c.map(text)).collect::<StringViewArray>()),
            Arc::new(some(300).into_iter().map(|c| c.map(|c| text(c).into_bytes())).collect::<BinaryViewArray>()),
            Arc::new(
                some(300).into_iter().map(|c| c.map(|c| (i128::from(c) - 150) << 60)).collect::<Decimal128Array>(),
            ),
            Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(
                some(30).into_iter().map(|c| c.map(|c| vec![Some(c as i64); (c % 3) as usize])),
            )),
            Arc::new(Int64Array::from_iter_values(some(rows as u64 + 1).into_iter().map(|c| c.unwrap_or(0) as i64))),
        ]
    }

    fn check(columns: &[ArrayRef], descending: &[bool], nulls_last: &[bool]) {
        let compare = comparator_of_rows(columns, columns, descending, nulls_last).unwrap();
        let mut expected: Vec<u32> = (0..columns[0].len() as u32).collect();
        expected.sort_by(|&a, &b| compare(a as usize, b as usize));
        let types: Vec<_> = columns.iter().map(|column| column.data_type().clone()).collect();
        assert!(sort_to_positions(columns, descending, nulls_last).unwrap() == expected, "{types:?} {descending:?}");
        for count in [0, 1, 7, expected.len() / 9, expected.len() / 3, usize::MAX] {
            let first = first_positions(columns, descending, nulls_last, count).unwrap();
            assert!(first == expected[..count.min(expected.len())], "{count}: {types:?} {descending:?}");
        }
    }

    #[test]
    fn each_column_alone_in_every_direction() {
        for rows in [0, 1, 20, 700, 40_000] {
            for column in columns(rows, rows as u64) {
                for (descending, nulls_last) in [(false, false), (true, false), (false, true), (true, true)] {
                    check(std::slice::from_ref(&column), &[descending], &[nulls_last]);
                }
            }
        }
    }

    /// Structs and lists of null and not null, encoded and compared: nulls within are the least in both.
    #[test]
    fn encoded_rows_order_as_positions_do() {
        let numbers: Vec<Option<Vec<Option<i64>>>> = (0..200)
            .map(|at: i64| (at % 7 != 0).then(|| (0..at % 4).map(|part| (part != at % 5).then_some(at % 3)).collect()))
            .collect();
        let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(numbers));
        let parts: ArrayRef = Arc::new((0..200).map(|at: i64| (at % 3 != 0).then_some(at % 5)).collect::<Int64Array>());
        let field = Arc::new(Field::new("x", DataType::Int64, true));
        let valid = NullBuffer::from_iter((0..200).map(|at| at % 11 != 0));
        let structs: ArrayRef = Arc::new(StructArray::new(vec![field].into(), vec![parts.clone()], Some(valid)));
        for columns in [vec![lists.clone()], vec![structs.clone()], vec![parts, lists, structs]] {
            let types: Vec<DataType> = columns.iter().map(|column| column.data_type().clone()).collect();
            for (descending, nulls_last) in [(false, false), (true, false), (false, true), (true, true)] {
                let (descending, nulls_last) = (vec![descending; types.len()], vec![nulls_last; types.len()]);
                let rows = OrderBytes::new(&types, &descending, &nulls_last).unwrap().encode(&columns).unwrap();
                let mut wanted: Vec<u32> = (0..200).collect();
                wanted.sort_by(|a, b| rows.row(*a as usize).cmp(&rows.row(*b as usize)));
                assert_eq!(sort_to_positions(&columns, &descending, &nulls_last).unwrap(), wanted);
            }
        }
    }

    #[test]
    fn several_columns_the_first_that_differs_decides() {
        let columns = columns(30_000, 1);
        for order in [[1, 4, 0], [2, 1, 3], [5, 6, 8], [6, 2, 4], [7, 1, 0]] {
            let chosen: Vec<ArrayRef> = order.iter().map(|&at| columns[at].clone()).collect();
            check(&chosen, &[false, true, false], &[false, false, true]);
            check(&chosen, &[true, false, true], &[true, true, false]);
        }
    }

    #[test]
    fn many_rows_come_out_the_same_for_any_number_of_threads() {
        let columns = columns(300_000, 2);
        let sort = |threads: usize, of: &[ArrayRef]| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| sort_to_positions(of, &[false, true][..of.len()], &[false, false][..of.len()]).unwrap())
        };
        for of in [&columns[8..9], &columns[0..1], &columns[3..5]] {
            assert_eq!(sort(1, of), sort(3, of));
        }
        check(&columns[8..9], &[true], &[false]);
        check(&columns[0..1], &[false], &[false]);
    }

    #[test]
    fn clustered_words_do_not_degrade_into_wrong_order() {
        let mut draw = Draw(9);
        let cell = |draw: &mut Draw| match draw.next(3) {
            0 => i64::MIN + draw.next(1 << 30) as i64,
            1 => draw.next(100) as i64,
            _ => i64::MAX - draw.next(1 << 40) as i64,
        };
        let cells: ArrayRef = Arc::new(Int64Array::from_iter_values((0..200_000).map(|_| cell(&mut draw))));
        check(std::slice::from_ref(&cells), &[false], &[false]);
    }
}
