//! The table of keys: four million rows to slots, by the types of the keys and how many there are.
//!
//! Each figure is the least of three rounds, in nanoseconds a row; a `HashMap` of one integer stands beside
//! them: only their ratio means anything on another machine.

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, StringViewArray};
use column::keys::KeyTable;

const ROWS: usize = 4_000_000;
const CHUNK: usize = 4096;

fn main() {
    println!("{:<48} {:>9} {:>9}", "ns a row", "insert", "find");
    let plain = columns(&[0], 100_000, |numbers| numbers.to_vec()).remove(0);
    let mut known = HashMap::new();
    let insert = each_row(|| {
        known.clear();
        for number in &plain {
            let next = known.len();
            known.entry(*number).or_insert(next);
        }
    });
    let find = each_row(|| {
        black_box(plain.iter().filter(|number| known.contains_key(*number)).count());
    });
    line("HashMap, 100,000 of one integer", insert, find);

    let int =
        |numbers: &[u64]| -> ArrayRef { Arc::new(Int32Array::from_iter_values(numbers.iter().map(|n| *n as i32))) };
    let long =
        |numbers: &[u64]| -> ArrayRef { Arc::new(Int64Array::from_iter_values(numbers.iter().map(|n| *n as i64))) };
    let text = |numbers: &[u64]| -> ArrayRef {
        Arc::new(StringViewArray::from_iter_values(numbers.iter().map(|n| format!("S{n:06}"))))
    };
    let prose = |numbers: &[u64]| -> ArrayRef {
        Arc::new(StringViewArray::from_iter_values(numbers.iter().map(|n| format!("more than a view holds, {n}"))))
    };
    keys("100 of Int32", columns(&[1], 100, int));
    keys("100,000 of Int32", columns(&[1], 100_000, int));
    keys("100 texts", columns(&[1], 100, text));
    keys("100,000 texts", columns(&[1], 100_000, text));
    keys("10,000 of Int32 and text", [columns(&[1], 100, int), columns(&[2], 100, text)].concat());
    keys("10,000 of Int32 and long text", [columns(&[1], 100, int), columns(&[2], 100, prose)].concat());
    keys("10,000 of two Int64", columns(&[1, 2], 100, long));
    keys("1,000,000 of two Int64", columns(&[1, 2], 1000, long));
    keys("1,000,000 of three texts", columns(&[1, 2, 3], 100, text));
}

/// A column of numbers below `values` for each seed.
fn columns<T>(seeds: &[u64], values: u64, column: impl Fn(&[u64]) -> T) -> Vec<T> {
    let numbers = |seed: &u64| {
        let mut state = *seed;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % values
        };
        column(&(0..ROWS).map(|_| next()).collect::<Vec<u64>>())
    };
    seeds.iter().map(numbers).collect()
}

fn keys(name: &str, columns: Vec<ArrayRef>) {
    let types: Vec<_> = columns.iter().map(|column| column.data_type().clone()).collect();
    let chunk = |at: usize| columns.iter().map(|column| column.slice(at, CHUNK.min(ROWS - at))).collect::<Vec<_>>();
    let chunks: Vec<Vec<ArrayRef>> = (0..ROWS).step_by(CHUNK).map(chunk).collect();
    let (mut table, mut slots, mut created) = (KeyTable::new(&types), Vec::new(), Vec::new());
    let insert = each_row(|| {
        table = KeyTable::new(&types);
        chunks.iter().for_each(|keys| table.insert(keys, &mut slots, &mut created).expect("cells that can be keys"));
    });
    let find = each_row(|| chunks.iter().for_each(|keys| table.find(keys, &mut slots)));
    line(name, insert, find);
}

/// The least time for a row, of three rounds.
fn each_row(mut work: impl FnMut()) -> f64 {
    let round = |_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64() * 1e9 / ROWS as f64
    };
    (0..3).map(round).fold(f64::MAX, f64::min)
}

fn line(name: &str, insert: f64, find: f64) {
    println!("{name:<48} {insert:>9.1} {find:>9.1}");
}
