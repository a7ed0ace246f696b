//! Columns of blocks: changes, appends, snapshots and reads of one Float64 column, beside a plain `Vec`.
//!
//! Every figure is the least of many rounds, and the same work on a plain vector stands beside it: only
//! their ratio means anything on another machine.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{ArrayRef, Float64Array, Int64Array, StringViewArray};
use arrow_schema::DataType;
use column::{BlockColumn, Column, ColumnSource, Edit, FlatColumn};
use fastrand::Rng;
use graph::{Moment, Step};
use rowset::RowSet;

const ROWS: u64 = 10_000_000;
const CHANGES: u64 = 10_000;

fn main() {
    let column = appended(DataType::Float64, ROWS, 1_000_000, &numbers);
    let mut plain: Vec<f64> = (0..ROWS).map(|at| at as f64).collect();
    let mut step = column_step(&column);
    println!("{:<44} {:>12} {:>12} {:>7}", "one Float64 column of 10 million rows", "column", "vector", "ratio");

    let mut dice = Rng::with_seed(1);
    let keys = || RowSet::from_keys((0..CHANGES).map(|_| dice.u64(..ROWS)).collect());
    let sets: Vec<RowSet> = std::iter::repeat_with(keys).take(40).collect();
    let mut changes = sets.iter().map(|rows| (rows.clone(), numbers(rows.len()))).collect::<Vec<_>>();
    let ours = least(&mut changes.clone(), |change| {
        write(&column, &mut step, &change.0, change);
    });
    let theirs = least(&mut changes, |(rows, chunk)| {
        let cells = chunk.as_primitive::<Float64Type>().values();
        let undo: Vec<f64> = rows.iter().map(|key| plain[key as usize]).collect();
        rows.iter().zip(cells).for_each(|(key, cell)| plain[key as usize] = *cell);
        black_box(undo);
    });
    line("10,000 random changes, with undo", ours, theirs);

    let mut batches: Vec<_> = (0..60).map(|at| (batch_rows(ROWS + at * CHANGES), numbers(CHANGES))).collect();
    let ours = least(&mut batches.clone(), |batch| write(&column, &mut step, &RowSet::new(), batch));
    plain.reserve(60 * CHANGES as usize);
    let theirs =
        least(&mut batches, |(_, chunk)| plain.extend_from_slice(chunk.as_primitive::<Float64Type>().values()));
    line("10,000 rows appended", ours, theirs);

    let now = step.now();
    let many = 1000;
    let ours = least(&mut [(); 50], |_| (0..many).for_each(|_| drop(black_box(column.at(now))))) / many;
    let shared = Arc::new(plain.clone());
    let theirs = least(&mut [(); 50], |_| (0..many).for_each(|_| drop(black_box(Arc::new(shared.clone()))))) / many;
    line("a snapshot", ours, theirs);

    let view = column.at(now).expect("the moment is there");
    let reads = |column: &dyn Column, rows: &[RowSet], what: &str| {
        let ours = least(&mut rows.to_vec(), |rows| drop(black_box(column.read(rows))));
        let theirs = least(&mut rows.to_vec(), |rows| {
            black_box(rows.iter().map(|key| shared[key as usize]).collect::<Vec<f64>>());
        });
        line(what, ours, theirs);
    };
    reads(&*view, &sets, "10,000 random rows read");
    let half = |_| RowSet::from_sorted_keys(&(0..1_000_000).filter(|_| dice.u64(..2) == 0).collect::<Vec<_>>());
    let halves: Vec<RowSet> = (0..5).map(half).collect();
    reads(&*view, &halves, "every other row of 1 million, at random");
    let fixed = FlatColumn::new(vec![numbers(ROWS)]).expect("one array");
    reads(&fixed, &halves, "the same of a static column");
    drop(fixed);
    reads(&*view, &[RowSet::range(1_000_000, 8_000_000)], "7 million neighbours");
    let mut orders: Vec<Vec<u64>> = (0..5).map(|_| (0..1_000_000).map(|_| dice.u64(..ROWS)).collect()).collect();
    let ours = least(&mut orders.clone(), |keys| drop(black_box(view.take(keys))));
    let theirs =
        least(&mut orders, |keys| drop(black_box(keys.iter().map(|&key| shared[key as usize]).collect::<Vec<f64>>())));
    line("1 million cells in random order", ours, theirs);
    let pieces = view.pieces(&RowSet::flat(ROWS)).expect("all rows are there").len();
    drop(view);

    let long = appended(DataType::Int64, ROWS, 10_000, &|len| Arc::new(Int64Array::from_iter_values(0..len as i64)));
    let held = column.counters().bytes_held + long.counters().bytes_held;
    let arrow = (plain.len() * 8) as f64 + (ROWS * 8) as f64;
    println!("\nbytes held for Int64 + Float64: {:.3} of Arrow's", held as f64 / arrow);

    let view = column.at(step.now()).expect("the moment is there");
    let copied = column.counters().blocks_copied;
    let changes = (sets[0].clone(), numbers(sets[0].len()));
    let start = Instant::now();
    write(&column, &mut step, &sets[0], &changes);
    let once = start.elapsed();
    drop(view);
    println!(
        "10,000 random changes under a snapshot: {once:?}, {} blocks copied",
        column.counters().blocks_copied - copied
    );
    println!("10 million rows leave in {pieces} pieces; blocks copied without readers: {copied}");
    strings();
}

/// Measures appending, changing and reading one column of strings of 8 and of 24 bytes.
fn strings() {
    println!("\n{:<44} {:>12}", "one string column of 1 million rows", "column");
    for width in [8usize, 24] {
        let make = move |len: u64| -> ArrayRef {
            Arc::new(StringViewArray::from_iter_values((0..len).map(|at| format!("{at:0width$}"))))
        };
        let column = appended(DataType::Utf8View, 1_000_000, 100_000, &make);
        let mut step = column_step(&column);
        let mut dice = Rng::with_seed(3);
        let sets: Vec<RowSet> =
            (0..20).map(|_| RowSet::from_keys((0..CHANGES).map(|_| dice.u64(..1_000_000)).collect())).collect();
        let mut changes: Vec<_> = sets.iter().map(|rows| (rows.clone(), make(rows.len()))).collect();
        let changed = least(&mut changes, |change| write(&column, &mut step, &change.0, change));
        let view = column.at(step.now()).expect("the moment is there");
        let read = least(&mut sets.clone(), |rows| drop(black_box(view.read(rows))));
        let whole = least(&mut [(); 5], |_| drop(black_box(view.pieces(&RowSet::flat(1_000_000)))));
        let held = column.counters().bytes_held as f64 / (16e6 + if width > 12 { width as f64 * 1e6 } else { 0.0 });
        println!(
            "{width} bytes: 10,000 random changes {changed:?}, read {read:?}, all of it {whole:?}, {held:.2} of Arrow's bytes"
        );
    }
}

fn numbers(len: u64) -> ArrayRef {
    Arc::new(Float64Array::from_iter_values((0..len).map(|at| at as f64)))
}

fn batch_rows(first: u64) -> RowSet {
    RowSet::range(first, first + CHANGES - 1)
}

fn appended(data_type: DataType, rows: u64, batch: u64, make: &dyn Fn(u64) -> ArrayRef) -> BlockColumn {
    let column = BlockColumn::new(data_type, Moment::new(0));
    let mut step = Step::new(1);
    for first in (0..rows).step_by(batch as usize) {
        let added = RowSet::range(first, first + batch - 1);
        write(&column, &mut step, &RowSet::new(), &(added.clone(), make(batch)));
    }
    column
}

fn column_step(column: &BlockColumn) -> Step {
    let written = (1..).find(|&number| column.at(Moment::new(number)).is_ok()).expect("written once at least");
    Step::new(written + 1)
}

fn write(column: &BlockColumn, step: &mut Step, undo: &RowSet, write: &(RowSet, ArrayRef)) {
    let writes = std::slice::from_ref(write);
    let edit = Edit { step: *step, undo, old: None, moves: &[], writes };
    column.apply(&edit).expect("the cells fit");
    column.settle();
    *step = step.next();
}

fn least<T>(rounds: &mut [T], mut act: impl FnMut(&mut T)) -> Duration {
    let timed = |round: &mut T| {
        let start = Instant::now();
        act(round);
        start.elapsed()
    };
    rounds.iter_mut().map(timed).min().expect("at least one round")
}

fn line(what: &str, ours: Duration, theirs: Duration) {
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    println!("{what:<44} {:>12} {:>12} {ratio:>7.2}", format!("{ours:.2?}"), format!("{theirs:.2?}"));
}
