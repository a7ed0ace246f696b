//! What is read and decoded of a column that stays in its file, and by whom.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ::column::{Column, NO_ROW};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringViewArray};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use rowset::RowSet;

use super::column::{Cache, FileColumn};
use super::{ParquetFile, ParquetOptions};
use crate::error::Error;
use crate::input::Input;

const ROWS: u64 = 80_000;
const GROUP: u64 = 20_000;
const PAGE: u64 = 1_000;

fn number(row: u64) -> i64 {
    (row * 7919 % 5003) as i64
}

/// A file of numbers and texts that recur: four row groups of twenty pages, each with a dictionary.
fn file() -> Arc<[u8]> {
    let numbers = Int64Array::from_iter_values((0..ROWS).map(number));
    let texts = StringViewArray::from_iter_values((0..ROWS).map(|row| format!("the text of number {}", number(row))));
    let columns = [("n", Arc::new(numbers) as ArrayRef), ("t", Arc::new(texts) as ArrayRef)];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let properties = WriterProperties::builder()
        .set_compression(Compression::UNCOMPRESSED)
        .set_max_row_group_row_count(Some(GROUP as usize))
        .set_data_page_row_count_limit(PAGE as usize)
        .set_write_batch_size(PAGE as usize / 4)
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes.into()
}

/// A column of the file, how many bytes were read after it was opened, and how many it has.
struct Scanned {
    column: FileColumn,
    cache: Arc<Cache>,
    read: Arc<AtomicU64>,
    opened: u64,
    bytes: u64,
}

impl Scanned {
    fn new(place: usize, room: usize) -> Scanned {
        Scanned::of(file(), place, room).unwrap()
    }

    fn of(bytes: Arc<[u8]>, place: usize, room: usize) -> Result<Scanned, Error> {
        let read = Arc::new(AtomicU64::new(0));
        let input = Input::Bytes("bytes".to_owned(), bytes);
        let (file, schema) = ParquetFile::open(&input, &ParquetOptions::default(), None, &read)?;
        let bytes = file.groups().iter().map(|group| group.column(place).compressed_size() as u64).sum();
        let (files, cache) = (Arc::from([file]), Cache::new(room));
        let column = FileColumn::new(place, schema.field(place).data_type(), &files, &cache);
        let opened = read.load(Ordering::Relaxed);
        Ok(Scanned { column, cache, read, opened, bytes })
    }

    fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed) - self.opened
    }

    fn sees(&self, first: u64, last: u64) {
        let cells = self.column.read(&RowSet::range(first, last)).unwrap();
        let wanted: Vec<i64> = (first..=last).map(number).collect();
        match cells.as_any().downcast_ref::<Int64Array>() {
            Some(cells) => assert_eq!(cells.values(), &wanted[..]),
            None => {
                let cells = cells.as_any().downcast_ref::<StringViewArray>().unwrap();
                assert_eq!(cells.len(), wanted.len());
                let same = |(cell, number): (Option<&str>, &i64)| cell == Some(&format!("the text of number {number}"));
                assert!(cells.iter().zip(&wanted).all(same));
            }
        }
    }
}

#[test]
fn texts_of_a_dictionary_are_codes_that_share_it() {
    let scanned = Scanned::new(1, 1 << 30);
    let coded = |rows: &RowSet| scanned.column.read_coded(rows).unwrap();
    let scattered = RowSet::from_sorted_keys(&(0..GROUP).step_by(7).collect::<Vec<_>>());
    let pages = RowSet::range(PAGE / 2, 3 * PAGE);
    let mut values: Vec<ArrayRef> = Vec::new();
    for rows in [&RowSet::range(0, 9), &pages, &scattered, &RowSet::range(GROUP - 1, GROUP - 1)] {
        let coded = coded(rows).unwrap();
        assert_eq!(&coded.cells().unwrap(), &scanned.column.read(rows).unwrap());
        assert_eq!(&coded.cells().unwrap(), &scanned.column.take(&rows.to_vec()).unwrap());
        values.push(coded.values);
    }
    assert!(values.iter().all(|one| Arc::ptr_eq(one, &values[0])));
    // Two row groups have two dictionaries, and numbers have none that is told of.
    assert!(coded(&RowSet::range(GROUP - 1, GROUP)).is_none());
    assert!(coded(&RowSet::new()).is_none());
    assert!(Scanned::new(0, 1 << 30).column.read_coded(&pages).unwrap().is_none());
    let keys = [GROUP, 5, NO_ROW, 5, ROWS - 1, ROWS];
    let taken = scanned.column.take(&keys).unwrap();
    let text = |row| format!("the text of number {}", number(row));
    let wanted = [Some(text(GROUP)), Some(text(5)), None, Some(text(5)), Some(text(ROWS - 1)), None];
    assert_eq!(taken.as_string_view(), &StringViewArray::from_iter(wanted));
}

#[test]
fn rows_that_recur_are_taken_page_by_page_and_one_by_one() {
    let scanned = [Scanned::new(0, 1 << 30), Scanned::new(1, 1 << 30)];
    // Each row three times, some of none; far rows in turn; none at all.
    let near = (PAGE / 2..5 * PAGE).flat_map(|row| [row, if row % 5 == 0 { NO_ROW } else { row }, row]).collect();
    let back = (GROUP - 900..GROUP + 900).chain(0..900).chain([NO_ROW, ROWS, ROWS + 7]).collect();
    let far = (0..500).map(|at| at * 7919 % ROWS).collect();
    let lists: [Vec<u64>; 5] = [near, back, far, vec![NO_ROW; 70], Vec::new()];
    for keys in lists {
        let known = |key: &u64| (*key < ROWS).then(|| number(*key));
        let numbers: Int64Array = keys.iter().map(known).collect();
        assert_eq!(scanned[0].column.take(&keys).unwrap().as_primitive::<Int64Type>(), &numbers);
        let texts = keys.iter().map(|key| known(key).map(|number| format!("the text of number {number}")));
        assert_eq!(scanned[1].column.take(&keys).unwrap().as_string_view(), &StringViewArray::from_iter(texts));
    }
}

#[test]
fn pages_with_wrong_bytes_are_cells_or_an_error() {
    let whole = file();
    let rows = RowSet::range(0, GROUP - 1);
    let (mut state, mut read, mut refused) = (1_u64, 0, 0);
    let mut draw = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for _ in 0..150 {
        let mut bent = whole.to_vec();
        for _ in 0..=draw(4) {
            let at = draw(bent.len());
            bent[at] = draw(256) as u8;
        }
        for place in [0, 1] {
            let cells = Scanned::of(bent.clone().into(), place, 1 << 30).map(|scanned| scanned.column.read(&rows));
            match cells {
                Ok(Ok(cells)) => {
                    assert_eq!(cells.len() as u64, GROUP);
                    read += 1;
                }
                _ => refused += 1,
            }
        }
    }
    assert!(read > 0 && refused > 0, "{read} {refused}");
}

#[test]
fn a_page_and_a_dictionary_are_read_once_however_they_are_asked_for() {
    for place in [0, 1] {
        let scanned = Scanned::new(place, 1 << 30);
        for first in (0..ROWS).step_by(700) {
            scanned.sees(first, (first + 699).min(ROWS - 1));
        }
        assert_eq!(scanned.read(), scanned.bytes);
        let whole = Scanned::new(place, 1 << 30);
        whole.sees(0, ROWS - 1);
        whole.sees(0, ROWS - 1);
        assert_eq!(whole.read(), whole.bytes);
    }
}

#[test]
fn pages_between_those_that_are_asked_for_are_not_read() {
    let scanned = Scanned::new(0, 1 << 30);
    let all = Scanned::new(0, 1 << 30);
    all.sees(0, GROUP - 1);
    for page in [1, 2, 7, 19] {
        scanned.sees(page * PAGE + 10, page * PAGE + 20);
    }
    // A fifth of the pages, and the dictionary.
    let dictionary = 8 * 5003 + 100;
    assert!(scanned.read() < dictionary + (all.read() - dictionary) / 4, "{} {}", scanned.read(), all.read());
    // Backwards it is read again.
    scanned.sees(0, 0);
    scanned.sees(0, GROUP - 1);
    assert!(scanned.read() < all.read() + 2 * dictionary);
}

#[test]
fn without_room_pages_are_read_as_often_as_they_are_asked_for_and_nothing_is_kept() {
    let scanned = Scanned::new(1, 1);
    for first in [0, 50_000, 100, 79_000, 0] {
        scanned.sees(first, first + 999);
    }
    scanned.sees(0, ROWS - 1);
    scanned.sees(100, ROWS - 1);
}

/// Waits for something that another thread does.
fn comes(so: impl Fn() -> bool) -> bool {
    let until = Instant::now() + Duration::from_secs(20);
    while Instant::now() < until && !so() {
        std::thread::yield_now();
    }
    so()
}

#[test]
fn what_another_thread_decodes_is_left_until_there_is_nothing_else() {
    // One row group, and many that are divided among threads.
    for last in [GROUP - 1, ROWS - 1] {
        let scanned = Scanned::new(0, 1 << 30);
        let first_key = (0, 0);
        let last_key = (0, (last / PAGE) as usize);
        let claim = scanned.cache.claim(first_key, 0).ok().unwrap();
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| scanned.sees(0, last));
            // All others come while the first is somebody else's.
            assert!(comes(|| (1..=last_key.1).all(|at| scanned.cache.holds((0, at)))));
            assert!(!scanned.cache.holds(first_key));
            drop(claim);
            reader.join().unwrap();
        });
        assert!(scanned.cache.holds(first_key));
    }
}

#[test]
fn threads_that_want_the_same_decode_each_page_once() {
    let scanned = Scanned::new(0, 1 << 30);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| scanned.sees(0, ROWS - 1));
        }
    });
    // A dictionary is read by each thread that begins within a row group.
    let dictionaries = (ROWS / GROUP) * (8 * 5003 + 100);
    assert!(scanned.read() < scanned.bytes + 4 * dictionaries, "{} {}", scanned.read(), scanned.bytes);
    let again = scanned.read();
    scanned.sees(0, ROWS - 1);
    assert_eq!(scanned.read(), again);
}
