//! Edits of sets that another handle holds: ten million keys of every shape.

use std::hint::black_box;
use std::time::Instant;

use rowset::{RowSet, Span};

use crate::shapes::{self, Random};

/// Nanoseconds of the fastest of some calls.
fn best(rounds: usize, mut call: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..rounds {
        let start = Instant::now();
        call();
        best = best.min(start.elapsed().as_secs_f64());
    }
    best * 1e9
}

fn turn(rows: &mut RowSet, key: u64) {
    if !rows.insert(key) {
        rows.remove(key);
    }
}

/// Prints, of each shape: a clone and one edit, 10,000 random edits of a held set and of one that nobody holds, and a
/// range behind a held set.
pub fn run() {
    println!(
        "| 10 million keys | clone + one edit, median and worst of 1,000 | 10,000 edits, held and alone | append |"
    );
    println!("|---|---|---|---|");
    for shape in shapes::large() {
        let rows = RowSet::from_sorted_keys(&shape.left);
        let last = shape.left[shape.left.len() - 1];
        let mut random = Random::new(5);
        let keys: Vec<u64> = (0..10_000).map(|_| random.below(last)).collect();
        let mut one: Vec<f64> = keys[..1000]
            .iter()
            .map(|&key| {
                best(5, || {
                    let mut edited = rows.clone();
                    turn(&mut edited, key);
                    black_box(edited);
                })
            })
            .collect();
        one.sort_by(f64::total_cmp);
        let mut held = f64::INFINITY;
        let mut alone = f64::INFINITY;
        for _ in 0..5 {
            let mut edited = rows.clone();
            held = held.min(best(1, || keys.iter().for_each(|&key| turn(&mut edited, key))));
            let mut own = RowSet::from_sorted_keys(&shape.left);
            alone = alone.min(best(1, || keys.iter().for_each(|&key| turn(&mut own, key))));
            black_box((edited, own));
        }
        let append = best(200, || {
            let mut edited = rows.clone();
            edited.insert_span(Span { first: last + 1, last: last + 100_000 });
            black_box(edited);
        });
        println!(
            "| {} | {:.2} µs, {:.2} µs | {:.2} ms, {:.2} ms: {:.2} | {:.2} µs |",
            shape.name,
            one[500] / 1e3,
            one[999] / 1e3,
            held / 1e6,
            alone / 1e6,
            held / alone,
            append / 1e3
        );
    }
}
