//! Tests of what storage promises beyond right answers: no needless copy, no leak, no torn read.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, StringViewArray};
use arrow_schema::DataType;
use graph::{Moment, Step};
use rowset::RowSet;

use crate::sizes::BLOCK;
use crate::*;
use fastrand::Rng;

const BLOCK_KEYS: u64 = BLOCK as u64;

fn numbers(cells: impl Iterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(cells))
}

fn texts(cells: impl Iterator<Item = String>) -> ArrayRef {
    Arc::new(StringViewArray::from_iter_values(cells))
}

fn column_of(chunk: &ArrayRef) -> BlockColumn {
    let rows = RowSet::flat(chunk.len() as u64);
    BlockColumn::with_rows(chunk.data_type().clone(), Moment::new(0), &rows, chunk).unwrap()
}

fn modify(column: &BlockColumn, step: u64, rows: &RowSet, chunk: &ArrayRef) {
    let writes = [(rows.clone(), chunk.clone())];
    let edit = Edit { step: Step::new(step), undo: rows, old: None, moves: &[], writes: &writes };
    column.apply(&edit).unwrap();
}

fn append(column: &BlockColumn, step: u64, rows: &RowSet, chunk: &ArrayRef) {
    let none = RowSet::new();
    let writes = [(rows.clone(), chunk.clone())];
    let edit = Edit { step: Step::new(step), undo: &none, old: None, moves: &[], writes: &writes };
    column.apply(&edit).unwrap();
}

fn remove(column: &BlockColumn, step: u64, rows: &RowSet, left: &RowSet) {
    let edit = Edit { step: Step::new(step), undo: &RowSet::new(), old: None, moves: &[], writes: &[] };
    column.apply(&edit).unwrap();
    column.settle();
    column.reclaim(&FreedCells::new(rows, left));
}

fn at(column: &BlockColumn, moment: u64) -> Arc<dyn Column> {
    column.at(Moment::new(moment)).unwrap()
}

#[test]
fn without_readers_no_block_is_copied() {
    let column = column_of(&numbers(0..100_000));
    let mut dice = Rng::with_seed(1);
    for step in 1..=200 {
        let rows = RowSet::from_keys((0..500).map(|_| dice.u64(..100_000)).collect());
        modify(&column, step, &rows, &numbers(rows.iter().map(|key| (key * step) as i64)));
        let read = at(&column, step - 1).read(&rows).unwrap();
        assert_eq!(read.len() as u64, rows.len());
        drop(read);
        column.settle();
    }
    assert_eq!(column.counters().blocks_copied, 0);
}

#[test]
fn what_a_step_stored_is_given_back_as_it_came_until_it_settles() {
    let column = column_of(&numbers(0..50_000));
    let rows = RowSet::from_sorted_keys(&(0..5_000).map(|at| at * 7).collect::<Vec<_>>());
    let given = numbers((0..5_000).map(|at| -at));
    modify(&column, 1, &rows, &given);
    let address = |chunk: &ArrayRef| chunk.as_primitive::<Int64Type>().values().as_ptr() as usize;
    let read = at(&column, 1).read(&rows).unwrap();
    assert_eq!(address(&read), address(&given));
    assert_eq!(&at(&column, 1).read(&rows.slice(10, 100)).unwrap(), &numbers((10..110).map(|at| -at)));
    assert_eq!(&at(&column, 0).read(&rows).unwrap(), &numbers(rows.iter().map(|key| key as i64)));
    column.settle();
    let read = at(&column, 1).read(&rows).unwrap();
    assert!(address(&read) != address(&given) && read == given);
    modify(&column, 2, &RowSet::key(7), &numbers(std::iter::once(99)));
    let now = at(&column, 2).read(&rows).unwrap();
    assert_eq!((now.as_primitive::<Int64Type>().value(1), column.counters().blocks_copied), (99, 0));
}

#[test]
fn a_held_snapshot_costs_the_blocks_that_are_touched_once() {
    let column = column_of(&numbers(0..10 * BLOCK_KEYS as i64));
    let held = at(&column, 0);
    let rows = RowSet::from_keys(vec![1, 2, BLOCK_KEYS * 3, BLOCK_KEYS * 7 + 5, BLOCK_KEYS * 7 + 9]);
    for step in 1..=20 {
        modify(&column, step, &rows, &numbers((0..5).map(|at| at - step as i64)));
        column.settle();
    }
    assert_eq!(column.counters().blocks_copied, 3);
    assert_eq!(&held.read(&rows).unwrap(), &numbers(rows.iter().map(|key| key as i64)));
}

#[test]
fn undo_is_the_change_and_gone_after_the_step() {
    let total = Arc::new(StorageCounters::default());
    let column = BlockColumn::with_counters(DataType::Int64, Moment::new(0), total.clone());
    let column = column.filled(&RowSet::flat(50_000), &numbers(0..50_000)).unwrap();
    append(&column, 1, &RowSet::range(50_000, 59_999), &numbers(0..10_000));
    assert_eq!(total.undo_bytes(), 0, "an append has nothing to undo");
    assert_eq!(&at(&column, 0).read(&RowSet::range(10, 19)).unwrap(), &numbers(10..20));
    column.settle();
    let rows = RowSet::from_keys((0..1000).map(|at| at * 37).collect());
    modify(&column, 2, &rows, &numbers(0..1000));
    assert!((8_000..16_000).contains(&total.undo_bytes()), "{}", total.undo_bytes());
    column.settle();
    assert_eq!((total.undo_bytes(), column.counters().undo_bytes), (0, 0));
    assert!(column.at(Moment::new(1)).is_err());
    let held = total.bytes_held();
    assert_eq!(held, column.counters().bytes_held);
    drop(column);
    assert_eq!(total.bytes_held(), 0);
}

#[test]
fn overwriting_the_same_cells_keeps_memory_flat() {
    let long =
        |at: u64, step: u64| format!("{at:05} and a tail of some length: {}", "x".repeat(((at + step) % 40) as usize));
    let rows = RowSet::flat(3 * BLOCK_KEYS);
    let strings = column_of(&texts(rows.iter().map(|key| long(key, 0))));
    let plain = column_of(&numbers(rows.iter().map(|key| key as i64)));
    let (mut most, mut dice) = ((0, 0), Rng::with_seed(9));
    for step in 1..=100_000u64 {
        let from = dice.u64(..3 * BLOCK_KEYS - 1);
        let few = RowSet::range(from, from + 1);
        modify(&strings, step, &few, &texts(few.iter().map(|key| long(key, step))));
        strings.settle();
        modify(&plain, step, &few, &numbers(few.iter().map(|key| key as i64)));
        plain.settle();
        if step == 10_000 {
            most = (strings.bytes() * 3 / 2, plain.bytes());
        }
        if step > 10_000 {
            assert!((strings.bytes(), plain.bytes()) <= most, "{step}: {} > {most:?}", strings.bytes());
        }
    }
    assert_eq!(strings.counters().blocks_copied, 0);
}

#[test]
fn one_live_string_does_not_pin_its_batch() {
    let rows = RowSet::flat(BLOCK_KEYS);
    let column = column_of(&texts(rows.iter().map(|key| format!("a rather long string, number {key:09}"))));
    let full = column.bytes();
    remove(
        &column,
        1,
        &RowSet::range(1, BLOCK_KEYS - 1),
        &(&RowSet::flat(3 * BLOCK_KEYS) - &RowSet::range(1, BLOCK_KEYS - 1)),
    );
    assert!(column.bytes() < full / 100, "{} of {full}", column.bytes());
    assert_eq!(
        at(&column, 1).read(&RowSet::key(0)).unwrap().as_string_view().value(0),
        "a rather long string, number 000000000"
    );
}

#[test]
fn what_a_reader_gathered_keeps_no_block() {
    let column = column_of(&texts((0..20_000).map(|at| format!("a rather long string, number {at:09}"))));
    let scattered = RowSet::from_sorted_keys(&(0..500).map(|at| at * 40).collect::<Vec<_>>());
    let read = at(&column, 0).read(&scattered).unwrap();
    let bytes = read.get_buffer_memory_size();
    assert!(bytes < 500 * 80, "{bytes}");
    modify(&column, 1, &scattered, &texts((0..500).map(|at| at.to_string())));
    assert_eq!(column.counters().blocks_copied, 0);
}

#[test]
fn sparse_keys_cost_what_they_hold() {
    let column = BlockColumn::new(DataType::Int64, Moment::new(0));
    let rows = RowSet::from_sorted_keys(&(0..2000).map(|at| at << 30).collect::<Vec<_>>());
    append(&column, 1, &rows, &numbers(0..2000));
    column.settle();
    assert!(column.bytes() < 2000 * 200, "{}", column.bytes());
    assert_eq!(&at(&column, 1).read(&rows).unwrap(), &numbers(0..2000));
    let gone = RowSet::from_sorted_keys(&(1..2000).map(|at| at << 30).collect::<Vec<_>>());
    remove(&column, 2, &gone, &RowSet::key(0));
    assert_eq!((column.counters().blocks, at(&column, 2).read(&RowSet::key(0)).unwrap().len()), (1, 1));
}

#[test]
fn keys_that_only_grow_do_not_grow_memory() {
    let column = BlockColumn::new(DataType::Float64, Moment::new(0));
    let (window, batch) = (50_000u64, 5_000u64);
    let (mut most, mut left) = (0, RowSet::new());
    for step in 1..=400u64 {
        let added = RowSet::range(step * batch, (step + 1) * batch - 1);
        let old = (step * batch).saturating_sub(window);
        let removed = if step > 11 { RowSet::range(old, old + batch - 1) } else { RowSet::new() };
        let none = RowSet::new();
        let cells: ArrayRef = Arc::new(Float64Array::from_iter_values((0..batch).map(|at| at as f64)));
        let writes = [(added.clone(), cells)];
        let edit = Edit { step: Step::new(step), undo: &none, old: None, moves: &[], writes: &writes };
        column.apply(&edit).unwrap();
        column.settle();
        left = &(&left - &removed) | &added;
        column.reclaim(&FreedCells::new(&removed, &left));
        most = if step < 60 { most.max(column.bytes()) } else { most };
        assert!(step < 60 || column.bytes() <= most, "{step}: {} > {most}", column.bytes());
    }
}

#[test]
fn scattered_survivors_cost_at_most_a_few_times_their_size() {
    let column = column_of(&numbers(0..400 * BLOCK_KEYS as i64));
    let keep: RowSet = RowSet::from_spans(
        (0..40).map(|at| rowset::Span { first: at * 10 * BLOCK_KEYS, last: at * 10 * BLOCK_KEYS + BLOCK_KEYS - 1 }),
    );
    remove(&column, 1, &(&RowSet::flat(400 * BLOCK_KEYS) - &keep), &keep);
    let mut next = 400 * BLOCK_KEYS;
    for step in 2..300 {
        let added = RowSet::range(next, next + BLOCK_KEYS - 1);
        append(&column, step, &added, &numbers(added.iter().map(|key| key as i64)));
        column.settle();
        next += BLOCK_KEYS;
    }
    let alive = (40 + 298) * BLOCK_KEYS * 8;
    assert!(column.bytes() < alive * 5 / 2, "{} for {alive}", column.bytes());
    assert_eq!(&at(&column, 299).read(&keep).unwrap(), &numbers(keep.iter().map(|key| key as i64)));
}

#[test]
fn a_released_snapshot_gives_its_memory_back() {
    let len = 600 * BLOCK_KEYS;
    let column = column_of(&numbers(0..len as i64));
    let held = at(&column, 0);
    let touched = (0..590).filter(|at| at % 20 != 7).map(|at| at * BLOCK_KEYS);
    let scattered = RowSet::from_sorted_keys(&touched.collect::<Vec<_>>());
    modify(&column, 1, &scattered, &numbers(scattered.iter().map(|key| -(key as i64))));
    column.settle();
    assert!(column.counters().blocks_copied > 500 && column.bytes() > 3 * len * 8 / 2);
    drop(held);
    for step in 2..20 {
        modify(&column, step, &RowSet::key(0), &numbers([0].into_iter()));
        column.settle();
    }
    assert!(column.bytes() < len * 8 * 3 / 2, "{} for {}", column.bytes(), len * 8);
    let now = |key: u64| if scattered.contains(key) { -(key as i64) } else { key as i64 };
    assert_eq!(&at(&column, 19).read(&RowSet::flat(len)).unwrap(), &numbers((0..len).map(now)));
}

#[test]
fn neighbours_leave_as_one_slice_of_the_same_memory() {
    let column = column_of(&numbers(0..40 * BLOCK_KEYS as i64));
    let view = at(&column, 0);
    let address = |rows: &RowSet| view.read(rows).unwrap().as_primitive::<Int64Type>().values().as_ptr() as usize;
    let from = 20 * BLOCK_KEYS + 7;
    let wide = RowSet::range(from, 30 * BLOCK_KEYS + 99);
    assert_eq!(address(&wide), address(&RowSet::range(from, from + 99)));
    assert_eq!(address(&wide) + 3 * BLOCK * 8, address(&RowSet::range(from + 3 * BLOCK_KEYS, from + 5 * BLOCK_KEYS)));
    assert_eq!(&view.read(&wide).unwrap(), &numbers(wide.iter().map(|key| key as i64)));
    let pieces = view.pieces(&RowSet::flat(40 * BLOCK_KEYS)).unwrap();
    assert!(pieces.len() <= 7, "slabs double: {}", pieces.len());
    let held = view.read(&wide).unwrap();
    drop(view);
    modify(&column, 1, &RowSet::key(from), &numbers([-1].into_iter()));
    column.settle();
    assert_eq!(column.counters().blocks_copied, 1);
    assert_eq!(held.as_primitive::<Int64Type>().value(0), from as i64);
}

#[test]
fn neighbouring_strings_leave_as_one_slice_too() {
    let text = |key: u64| format!("{key}{}", " and so on and on".repeat((key % 2) as usize));
    let column = column_of(&texts((0..20 * BLOCK_KEYS).map(text)));
    modify(&column, 1, &RowSet::range(9 * BLOCK_KEYS, 9 * BLOCK_KEYS + 9), &texts((0..10).map(text)));
    column.settle();
    let view = at(&column, 1);
    let wide = RowSet::range(8 * BLOCK_KEYS + 5, 14 * BLOCK_KEYS);
    let (one, two) = (view.read(&wide).unwrap(), view.read(&wide).unwrap());
    assert_eq!(one.as_string_view().views().as_ptr(), two.as_string_view().views().as_ptr());
    one.to_data().validate_full().unwrap();
    let now = |key: u64| if (9 * BLOCK_KEYS..9 * BLOCK_KEYS + 10).contains(&key) { key - 9 * BLOCK_KEYS } else { key };
    assert_eq!(&one, &texts(wide.iter().map(|key| text(now(key)))));
}

#[test]
fn before_is_whole_while_the_writer_writes() {
    let len = 150 * BLOCK_KEYS;
    let column = Arc::new(column_of(&numbers((0..len).map(|_| 0))));
    let (stop, all) = (Arc::new(AtomicBool::new(false)), RowSet::flat(len));
    let reader = {
        let (column, stop, all) = (column.clone(), stop.clone(), all.clone());
        std::thread::spawn(move || {
            let (mut moment, mut reads) = (0, 0);
            while !stop.load(Ordering::Relaxed) || reads == 0 {
                let Ok(view) = column.at(Moment::new(moment)) else {
                    moment += 1;
                    continue;
                };
                let cells = view.read(&all).unwrap();
                let odd = cells.as_primitive::<Int64Type>().values().iter().find(|&&cell| cell != moment as i64);
                assert_eq!(odd, None, "moment {moment}");
                reads += 1;
            }
            reads
        })
    };
    for step in 1..=60 {
        modify(&column, step, &all, &numbers((0..len).map(|_| step as i64)));
        column.settle();
    }
    stop.store(true, Ordering::Relaxed);
    assert!(reader.join().unwrap() > 0);
}

#[test]
fn now_is_not_readable_half_written_and_a_step_writes_once() {
    let column = column_of(&numbers(0..10));
    modify(&column, 3, &RowSet::key(1), &numbers([5].into_iter()));
    assert!(column.at(Moment::new(1)).is_err(), "two steps back");
    assert!(column.at(Moment::new(2)).is_ok() && column.at(Moment::new(3)).is_ok());
    let none = RowSet::new();
    let again = Edit { step: Step::new(3), undo: &none, old: None, moves: &[], writes: &[] };
    assert!(matches!(column.apply(&again), Err(Error::AlreadyWritten { .. })));
}

#[test]
fn wrong_cells_are_refused_before_anything_is_written() {
    let column = column_of(&numbers(0..10));
    let none = RowSet::new();
    let wrong: ArrayRef = Arc::new(Float64Array::from(vec![1.0]));
    for (chunk, rows) in [(wrong, RowSet::key(3)), (numbers(0..2), RowSet::key(3))] {
        let writes = [(RowSet::key(1), numbers([7].into_iter())), (rows, chunk)];
        let edit = Edit { step: Step::new(1), undo: &none, old: None, moves: &[], writes: &writes };
        assert!(column.apply(&edit).is_err());
    }
    assert_eq!(&at(&column, 1).read(&RowSet::flat(10)).unwrap(), &numbers(0..10));
}

#[test]
fn redirections_compose_at_both_moments() {
    let index =
        |keys: &[Option<u64>]| -> ArrayRef { Arc::new(keys.iter().copied().collect::<arrow_array::UInt64Array>()) };
    let cells = Arc::new(column_of(&numbers(100..110)));
    let first = Arc::new(column_of(&index(&[Some(9), Some(8), None, Some(NO_ROW), Some(0)])));
    let second = Arc::new(column_of(&index(&[Some(4), Some(2), Some(3), Some(0), Some(0), None])));
    let inner = Arc::new(RedirectColumn::new(cells.clone(), first.clone()));
    let outer = RedirectColumn::new(inner, second);
    let wanted: ArrayRef = Arc::new(Int64Array::from(vec![Some(100), None, None, Some(109), Some(109), None]));
    assert_eq!(&outer.at(Moment::new(0)).unwrap().read(&RowSet::flat(6)).unwrap(), &wanted);
    modify(&cells, 1, &RowSet::key(0), &numbers([-5].into_iter()));
    modify(&first, 1, &RowSet::key(0), &index(&[None]));
    assert_eq!(&outer.at(Moment::new(0)).unwrap().read(&RowSet::flat(6)).unwrap(), &wanted);
    let now: ArrayRef = Arc::new(Int64Array::from(vec![Some(-5), None, None, None, None, None]));
    assert_eq!(&outer.at(Moment::new(1)).unwrap().read(&RowSet::flat(6)).unwrap(), &now);
    assert_eq!(
        &outer.at(Moment::new(1)).unwrap().take(&[5, 0, NO_ROW]).unwrap(),
        &(Arc::new(Int64Array::from(vec![None, Some(-5), None])) as ArrayRef)
    );
}
