//! Columns whose sizes are drawn and whose writes are struck, against the plain model; readers beside a writer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex};

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StringViewArray};
use arrow_schema::DataType;
use graph::{Moment, Step};
use limits::Scope;
use rowset::RowSet;

use crate::sizes::TEXT_BUFFER;
use crate::storage::failpoints::{Fail, POINTS, TEXT, arm, disarm};
use crate::tests::model::{Drawn, Rows, check, draw, every_type, expected, keys};
use crate::*;
use fastrand::Rng;

/// How a step ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Written,
    Refused,
    Struck,
}

/// How often steps ended in each way.
#[derive(Default)]
struct Ends {
    written: u32,
    refused: u32,
    struck: u32,
}

/// Writes a step, which a failpoint may strike.
fn write(dice: &mut Rng, column: &BlockColumn, data_type: &DataType, step: Step, rows: &Rows, drawn: &Drawn) -> End {
    let (undo, writes) = (drawn.undo(rows), drawn.chunks(data_type));
    let old = (dice.u64(..2) == 0).then(|| column.at(step.before()).unwrap().read(&undo).unwrap());
    let armed = dice.u64(..2) == 0;
    if armed {
        let fail = if dice.u64(..4) == 0 { Fail::Panic } else { Fail::Error };
        arm(POINTS[dice.u64(..POINTS.len() as u64) as usize], dice.u64(..4) as u32, fail);
    }
    let apply = || column.apply(&Edit { step, undo: &undo, old: old.as_ref(), moves: &drawn.moves, writes: &writes });
    let end = catch_unwind(AssertUnwindSafe(apply));
    let struck = armed && !disarm();
    match end {
        Ok(Ok(())) => End::Written,
        Ok(Err(Error::TooMany(TEXT))) | Err(_) if struck => End::Struck,
        Ok(Err(Error::TooLong { .. })) if TEXT_BUFFER.get() < TEXT_BUFFER.real() => End::Refused,
        Ok(Err(other)) => panic!("{other}"),
        Err(other) => std::panic::resume_unwind(other),
    }
}

fn run(data_type: &DataType, seed: u64, steps: u64, size: u64) -> Ends {
    let mut dice = Rng::with_seed(seed);
    let column = BlockColumn::new(data_type.clone(), Moment::new(0));
    let mut rows = Rows::new();
    let mut held: Vec<(Arc<dyn Column>, Rows)> = Vec::new();
    let mut ends = Ends::default();
    for number in 1..=steps {
        let step = Step::new(number);
        let drawn = draw(&mut dice, &rows, size);
        if dice.u64(..2) == 0 {
            held.push((column.at(step.before()).unwrap(), rows.clone()));
        }
        let end = write(&mut dice, &column, data_type, step, &rows, &drawn);
        *match end {
            End::Written => &mut ends.written,
            End::Refused => &mut ends.refused,
            End::Struck => &mut ends.struck,
        } += 1;
        let before = column.at(step.before()).unwrap();
        check(&mut dice, &*before, data_type, &rows);
        held.push((before, rows.clone()));
        let dead = drawn.dead();
        if end == End::Written {
            rows = drawn.after;
        }
        held.push((column.at(step.now()).unwrap(), rows.clone()));
        for (view, then) in &held {
            check(&mut dice, &**view, data_type, then);
        }
        column.settle();
        // What was to die lives on if the step was given up.
        column.reclaim(&dead);
        check(&mut dice, &*column.at(step.now()).unwrap(), data_type, &rows);
        held.retain(|_| dice.u64(..4) > 0);
        for (view, then) in &held {
            check(&mut dice, &**view, data_type, then);
        }
    }
    ends
}

#[test]
fn a_write_that_fails_leaves_every_moment_as_it_was() {
    let mut ends = Ends::default();
    let texts = [DataType::Utf8View, DataType::BinaryView];
    for seed in 0..60u64 {
        let every = every_type();
        let data_type =
            if seed % 3 == 0 { &every[(seed / 3) as usize % every.len()] } else { &texts[seed as usize % 2] };
        let size = [4, 12, 60][seed as usize % 3];
        let of = Scope::drawn(seed).enter(|| run(data_type, seed, 10, size));
        ends.written += of.written;
        ends.refused += of.refused;
        ends.struck += of.struck;
    }
    let Ends { written, refused, struck } = ends;
    assert!(written > 50 && refused > 20 && struck > 20, "{written} written, {refused} refused, {struck} struck");
}

fn lowered(below: usize) -> Scope {
    let drawn = |scope: &Scope| scope.enter(|| TEXT_BUFFER.get());
    (1..).map(Scope::drawn).find(|scope| drawn(scope) == below).expect("some seed draws it")
}

fn texts(cells: impl Iterator<Item = usize>) -> ArrayRef {
    Arc::new(StringViewArray::from_iter_values(cells.map(|length| "x".repeat(length))))
}

/// All that a column reads, whichever way: each array sound, and with these cells.
fn reads(column: &BlockColumn, at: Moment, wanted: &ArrayRef) {
    let view = column.at(at).unwrap();
    let keys: Vec<u64> = (0..wanted.len() as u64).collect();
    let rows = RowSet::flat(wanted.len() as u64);
    let pieces = view.pieces(&rows).unwrap();
    pieces.iter().for_each(|piece| piece.to_data().validate_full().unwrap());
    for read in
        [view.read(&rows).unwrap(), view.take(&keys).unwrap(), kernels::concat(wanted.data_type(), &pieces).unwrap()]
    {
        read.to_data().validate_full().unwrap();
        assert_eq!(&read, wanted);
    }
}

#[test]
fn texts_fit_a_block_if_each_of_them_fits_a_buffer() {
    lowered(128).enter(|| {
        for (lengths, fit) in [
            (vec![128; 4], true),
            (vec![128; 5], true),
            (vec![129], false),
            (vec![128, 129], false),
            (vec![65; 5], true),
            (vec![13, 128, 13, 128, 13, 128, 13, 128, 13, 128], true),
            (vec![128; 2 * 4096 + 7], true),
            (vec![12; 4096], true),
        ] {
            let chunk = texts(lengths.iter().copied());
            let rows = RowSet::flat(chunk.len() as u64);
            assert_eq!(types::fits(&chunk).is_ok(), fit, "{lengths:?}");
            let made = BlockColumn::with_rows(chunk.data_type().clone(), Moment::new(0), &rows, &chunk);
            match made {
                Ok(column) => {
                    assert!(fit, "{lengths:?}");
                    reads(&column, Moment::new(0), &chunk);
                }
                Err(error) => assert!(!fit && matches!(error, Error::TooLong { bytes: 129, most: 128 }), "{error}"),
            }
        }
        assert!(types::fits(&(Arc::new(arrow_array::Int64Array::from(vec![1; 10_000])) as ArrayRef)).is_ok());
    });
}

#[test]
fn a_block_takes_texts_step_by_step_and_keeps_no_more_than_twice_of_them() {
    lowered(128).enter(|| {
        let mut dice = Rng::with_seed(11);
        let column = BlockColumn::new(DataType::Utf8View, Moment::new(0));
        let mut lengths: Vec<usize> = Vec::new();
        for number in 1..=400 {
            let first = lengths.len();
            lengths.extend((0..1 + dice.u64(..5)).map(|_| 13 + dice.u64(..116) as usize));
            let edited: Vec<usize> = (0..first).filter(|_| dice.u64(..40) == 0).collect();
            edited.iter().for_each(|at| lengths[*at] = 128 - lengths[*at] % 100);
            let keys = RowSet::from_keys(edited.iter().map(|at| *at as u64).collect());
            let writes = [
                (keys.clone(), texts(edited.iter().map(|at| lengths[*at]))),
                (RowSet::range(first as u64, lengths.len() as u64 - 1), texts(lengths[first..].iter().copied())),
            ];
            column
                .apply(&Edit { step: Step::new(number), undo: &keys, old: None, moves: &[], writes: &writes })
                .unwrap();
            column.settle();
            reads(&column, Moment::new(number), &texts(lengths.iter().copied()));
        }
        let (held, texts) = (column.counters().bytes_held, lengths.iter().sum::<usize>() as u64);
        // Half of them dead at most, buffers a quarter full at least where they are many; views and spare regions beside.
        let views = 16 * (2 * lengths.len().next_multiple_of(4096) + 4 * 4096) as u64;
        assert!(held <= 8 * texts + views, "{held} bytes for {texts} of texts");
    });
}

#[test]
fn texts_beyond_the_reach_of_offsets_leave_as_several_arrays() {
    let limit = crate::sizes::OFFSETS.real();
    let drawn = (1..).map(Scope::drawn).find(|scope| scope.enter(|| crate::sizes::OFFSETS.get()) == 64);
    drawn.unwrap().enter(|| {
        let lengths = [60, 4, 1, 63, 0, 64, 30, 30, 30];
        let chunk = texts(lengths.into_iter());
        let rows = RowSet::flat(chunk.len() as u64);
        let stored = BlockColumn::with_rows(chunk.data_type().clone(), Moment::new(0), &rows, &chunk).unwrap();
        let flat = FlatColumn::new(vec![chunk.clone()]).unwrap();
        for column in [stored.at(Moment::new(0)).unwrap(), flat.at(Moment::new(0)).unwrap()] {
            for declared in [DataType::Utf8, DataType::LargeUtf8, DataType::Utf8View] {
                let left = column.export(&rows, &declared).unwrap();
                assert_eq!(left.len(), if declared == DataType::Utf8 { 5 } else { 1 });
                let back: Vec<ArrayRef> = left.iter().map(|array| types::to_canonical(array).unwrap()).collect();
                assert_eq!(&kernels::concat(chunk.data_type(), &back).unwrap(), &chunk);
            }
        }
        let one = |from: usize, len: usize| {
            let pieces = types::kind::to_declared_pieces(vec![chunk.slice(from, len)], &DataType::Utf8).unwrap();
            kernels::one_array(&pieces, &DataType::Utf8)
        };
        assert_eq!(one(0, 2).unwrap().len(), 2);
        assert!(matches!(one(0, 9), Err(Error::OneArray { bytes: 282, .. })));
        let refused = types::to_declared(&chunk, &DataType::Utf8).unwrap_err().to_string();
        assert!(refused.starts_with("282 bytes of texts are more than one array of Utf8 holds"), "{refused}");
        assert!(types::to_declared(&chunk.slice(0, 2), &DataType::Utf8).is_ok());
        let long = texts([65].into_iter());
        assert!(matches!(
            types::kind::to_declared_pieces(vec![long], &DataType::Utf8),
            Err(Error::OneArray { bytes: 65, .. })
        ));
    });
    assert_eq!(limit, i32::MAX as usize);
}

/// Rows are cut where the texts of some column would not fit one array, and nowhere else.
#[test]
fn rows_of_several_columns_of_texts_are_cut_so_that_each_fits() {
    let drawn = (1..).map(Scope::drawn).find(|scope| scope.enter(|| crate::sizes::OFFSETS.get()) == 64);
    drawn.unwrap().enter(|| {
        let mut dice = Rng::with_seed(3);
        for _ in 0..200 {
            let rows = 1 + dice.u64(..20) as usize;
            let mut column = || -> (ArrayRef, Vec<usize>) {
                let lengths: Vec<Option<usize>> =
                    (0..rows).map(|_| (dice.u64(..5) > 0).then(|| dice.u64(..65) as usize)).collect();
                let cells: StringViewArray =
                    lengths.iter().map(|length| length.map(|length| "y".repeat(length))).collect();
                let kind = if dice.u64(..2) == 0 { DataType::LargeUtf8 } else { DataType::Utf8View };
                (
                    types::cast(&(Arc::new(cells) as ArrayRef), &kind).unwrap(),
                    lengths.iter().map(|l| l.unwrap_or(0)).collect(),
                )
            };
            let (columns, lengths): (Vec<ArrayRef>, Vec<Vec<usize>>) = (0..3).map(|_| column()).unzip();
            // The last column may be as long as it likes.
            let declared = [&DataType::Utf8, &DataType::Utf8, &DataType::LargeUtf8];
            let stretches = types::segments(&columns, &declared).unwrap();
            let mut next = 0;
            for &(from, len) in &stretches {
                assert_eq!(from, next);
                next += len;
                let bytes = |column: &Vec<usize>, rows: std::ops::Range<usize>| column[rows].iter().sum::<usize>();
                assert!(lengths[..2].iter().all(|column| bytes(column, from..next) <= 64));
                let more = next < rows && lengths[..2].iter().all(|column| bytes(column, from..next + 1) <= 64);
                assert!(!more && (len > 0 || rows == 0), "{stretches:?} of {lengths:?}");
                for (column, to) in columns.iter().zip(declared) {
                    let left = types::cast(&column.slice(from, len), to).unwrap();
                    assert_eq!(&types::cast(&left, column.data_type()).unwrap(), &column.slice(from, len));
                }
            }
            assert_eq!(next, rows);
        }
        let long: ArrayRef = types::cast(&texts([1, 65].into_iter()), &DataType::LargeUtf8).unwrap();
        let refused = types::segments(std::slice::from_ref(&long), &[&DataType::Utf8]);
        assert!(matches!(refused, Err(Error::OneArray { bytes: 65, .. })));
        assert_eq!(types::segments(&[long], &[&DataType::LargeUtf8]).unwrap(), [(0, 2)]);
    });
}

/// The rows and cells of a settled moment.
struct Settled {
    moment: Moment,
    rows: RowSet,
    cells: ArrayRef,
}

/// Reads moments until the writer is done, and the last one after that; how many reads there were.
fn read_beside(column: &BlockColumn, settled: &Mutex<Arc<Settled>>, done: &AtomicBool) -> u32 {
    let (mut reads, mut last) = (0, false);
    while !last {
        last = done.load(Ordering::Acquire);
        let now = settled.lock().unwrap().clone();
        let Ok(view) = column.at(now.moment) else {
            assert!(!last, "the last moment stays");
            continue;
        };
        let read = view.read(&now.rows).unwrap();
        read.to_data().validate_full().unwrap();
        assert_eq!(&read, &now.cells);
        let pieces = view.pieces(&now.rows).unwrap();
        assert_eq!(&kernels::concat(now.cells.data_type(), &pieces).unwrap(), &now.cells);
        let asked: Vec<u64> = now.rows.iter().step_by(7).collect();
        let positions: Vec<u64> = (0..now.rows.len()).step_by(7).collect();
        assert_eq!(&view.take(&asked).unwrap(), &kernels::gather(&now.cells, &positions).unwrap());
        assert_eq!(&read, &now.cells, "what was handed out stays");
        reads += 1;
    }
    reads
}

#[test]
fn readers_beside_a_writer_see_whole_moments_of_many_blocks() {
    for (seed, data_type) in [DataType::Utf8View, DataType::Float64, DataType::FixedSizeBinary(5)].iter().enumerate() {
        let mut dice = Rng::with_seed(seed as u64 + 500);
        let mut rows: Rows = (0..30_000).map(|key| (key, (dice.u64(..9) > 0).then(|| dice.u64(..1 << 20)))).collect();
        let cells = expected(data_type, &rows);
        let column = BlockColumn::with_rows(data_type.clone(), Moment::new(0), &keys(&rows), &cells).unwrap();
        let settled = Mutex::new(Arc::new(Settled { moment: Moment::new(0), rows: keys(&rows), cells }));
        let (done, start) = (AtomicBool::new(false), Barrier::new(3));
        std::thread::scope(|scope| {
            let read = || {
                start.wait();
                read_beside(&column, &settled, &done)
            };
            let readers = [scope.spawn(read), scope.spawn(read)];
            start.wait();
            for number in 1..=25 {
                let step = Step::new(number);
                let drawn = draw(&mut dice, &rows, 3_000);
                let (undo, writes) = (drawn.undo(&rows), drawn.chunks(data_type));
                column.apply(&Edit { step, undo: &undo, old: None, moves: &drawn.moves, writes: &writes }).unwrap();
                column.settle();
                column.reclaim(&drawn.dead());
                rows = drawn.after;
                let cells = expected(data_type, &rows);
                *settled.lock().unwrap() = Arc::new(Settled { moment: step.now(), rows: keys(&rows), cells });
            }
            done.store(true, Ordering::Release);
            for reader in readers {
                assert!(reader.join().unwrap() > 0);
            }
        });
    }
}

#[test]
fn a_window_that_moves_on_holds_little_beside_its_rows() {
    let column = BlockColumn::new(DataType::Float64, Moment::new(0));
    let of = |keys: &RowSet| -> ArrayRef {
        Arc::new(arrow_array::Float64Array::from_iter_values(keys.iter().map(|key| key as f64)))
    };
    let (size, mut most) = (1_000, 0);
    for number in 1..=3_000 {
        let first = (number - 1) * size;
        let added = RowSet::range(first, first + size - 1);
        let removed = if number > 2 { RowSet::range(first - 2 * size, first - size - 1) } else { RowSet::new() };
        let left = RowSet::range(first.saturating_sub(size), first + size - 1);
        let writes = [(added.clone(), of(&added))];
        let none = RowSet::new();
        column.apply(&Edit { step: Step::new(number), undo: &none, old: None, moves: &[], writes: &writes }).unwrap();
        column.settle();
        column.reclaim(&FreedCells::new(&removed, &left));
        most = most.max(column.counters().bytes_held);
        let read = column.at(Moment::new(number)).unwrap().read(&left).unwrap();
        assert_eq!(read.as_primitive::<arrow_array::types::Float64Type>().len() as u64, left.len());
    }
    // Ten such columns may hold eight times their data and a megabyte.
    let data = 2 * size * 8;
    assert!(most <= 8 * data + (1 << 20) / 10, "{most} bytes for {data}");
}
