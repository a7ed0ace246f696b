//! Row sets beside the `roaring` crate, CRoaring and a sorted array: every shape by every operation,
//! one after the other in one process. Prints a table in Markdown.
//!
//! `cargo run --release -- [part of a shape's or an operation's name] …` runs only what matches.

mod peers;
mod shapes;

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use peers::Peer;
use shapes::{Random, Shape};

/// Seconds of one operation of each peer: shape, operation, peer.
type Figures = BTreeMap<(usize, usize, usize), f64>;

/// Operations in the order of the table; the first four are those of set algebra.
const OPERATIONS: &[&str] = &[
    "union",
    "intersection",
    "difference",
    "symmetric difference",
    "build",
    "contains",
    "position_of random",
    "position_of sorted",
    "key_at",
    "iterate keys",
    "iterate ranges",
    "insert 10k",
    "remove 10k",
    "clone + one",
    "serialise",
    "bytes a key",
];
const ALGEBRA: usize = 4;
const PEERS: &[&str] = &["tickframe", "roaring", "croaring", "sorted array"];
/// Each operation is repeated for so long.
const ENOUGH: Duration = Duration::from_millis(60);

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let mut figures = Figures::new();
    let shapes = shapes::all();
    for (at, shape) in shapes.iter().enumerate() {
        let all = asked.is_empty() || asked.iter().any(|word| shape.name.contains(word.as_str()));
        let wanted = |operation: &str| all || asked.iter().any(|word| operation == word);
        measure::<rowset::RowSet>(shape, at, 0, wanted, &mut figures);
        measure::<roaring::RoaringTreemap>(shape, at, 1, wanted, &mut figures);
        measure::<croaring::Treemap>(shape, at, 2, wanted, &mut figures);
        measure::<Vec<u64>>(shape, at, 3, wanted, &mut figures);
    }
    print(&shapes, &figures);
}

/// The best time of one call, over calls for long enough.
fn time<T>(mut call: impl FnMut() -> T) -> f64 {
    let mut best = f64::INFINITY;
    let start = Instant::now();
    let mut calls = 0;
    while calls < 3 || start.elapsed() < ENOUGH {
        let one = Instant::now();
        black_box(call());
        best = best.min(one.elapsed().as_secs_f64());
        calls += 1;
        if start.elapsed() > ENOUGH * 8 {
            break;
        }
    }
    best
}

/// The time of one of many calls: so many that they take long enough.
fn time_each(keys: &[u64], mut call: impl FnMut(u64) -> u64) -> f64 {
    let mut count = 100;
    loop {
        let start = Instant::now();
        let mut sum = 0u64;
        for &key in &keys[..count] {
            sum = sum.wrapping_add(call(key));
        }
        black_box(sum);
        let took = start.elapsed();
        if took > ENOUGH || count == keys.len() {
            return took.as_secs_f64() / count as f64;
        }
        count = (count * 10).min(keys.len());
    }
}

fn measure<P: Peer>(shape: &Shape, at: usize, peer: usize, wanted: impl Fn(&str) -> bool, figures: &mut Figures) {
    if !OPERATIONS.iter().any(|operation| wanted(operation)) {
        return;
    }
    let (left, right) = (P::build(&shape.left), P::build(&shape.right));
    let mut random = Random::new(99);
    let last = shape.left[shape.left.len() - 1];
    let few: Vec<u64> = (0..10_000).map(|_| random.below(last)).collect();
    let picks: Vec<u64> = (0..1_000_000).map(|_| random.below(shape.left.len() as u64)).collect();
    let present: Vec<u64> = picks.iter().map(|&pos| shape.left[pos as usize]).collect();
    let mut sorted = present.clone();
    sorted.sort_unstable();
    let some = &present[..10_000];
    for op in (0..OPERATIONS.len()).filter(|&op| wanted(OPERATIONS[op])) {
        let took = match op {
            0 => time(|| left.union(&right)),
            1 => time(|| left.intersection(&right)),
            2 => time(|| left.difference(&right)),
            3 => time(|| left.symmetric_difference(&right)),
            4 => time(|| P::build(&shape.left)),
            5 => time_each(&present, |key| u64::from(left.holds(key))),
            6 => time_each(&present, |key| left.rank_of(key)),
            7 => left.positions(&sorted).unwrap_or_else(|| time_each(&sorted, |key| left.rank_of(key))),
            8 => time_each(&picks, |pos| left.key_of(pos)),
            9 => time(|| left.sum()),
            10 => match left.ranges() {
                Some(_) => time(|| left.ranges()),
                None => continue,
            },
            11 => time(|| left.with(&few)),
            12 => time(|| left.without(some)),
            13 => time(|| left.with(&few[..1])),
            14 => time(|| left.bytes_out()),
            _ => left.memory() as f64 / shape.left.len() as f64,
        };
        figures.insert((at, op, peer), took);
    }
}

fn print(shapes: &[Shape], figures: &Figures) {
    println!("| shape | operation | {} | to the best Roaring |", PEERS.join(" | "));
    println!("|---|---|{}---|", "---|".repeat(PEERS.len()));
    let mut ratios: Vec<(f64, String)> = Vec::new();
    for (shape, op) in (0..shapes.len()).flat_map(|shape| (0..OPERATIONS.len()).map(move |op| (shape, op))) {
        let Some(&own) = figures.get(&(shape, op, 0)) else { continue };
        let cell = |peer: usize| figures.get(&(shape, op, peer)).map_or("-".to_string(), |&took| unit(op, took));
        let cells: Vec<String> = (0..PEERS.len()).map(cell).collect();
        let best = (1..3).filter_map(|peer| figures.get(&(shape, op, peer))).fold(f64::INFINITY, |a, &b| a.min(b));
        let ratio = own / best;
        println!("| {} | {} | {} | {ratio:.2} |", shapes[shape].name, OPERATIONS[op], cells.join(" | "));
        if op < ALGEBRA && best.is_finite() {
            ratios.push((ratio, format!("{} {}", OPERATIONS[op], shapes[shape].name)));
        }
    }
    ratios.sort_by(|left, right| left.0.total_cmp(&right.0));
    if let Some((worst, name)) = ratios.last() {
        let mean = (ratios.iter().map(|(ratio, _)| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
        println!("\nSet algebra to the best Roaring: {mean:.2} in geometric mean, worst {worst:.2} ({name}).");
    }
}

fn unit(op: usize, took: f64) -> String {
    match took {
        _ if op == OPERATIONS.len() - 1 => format!("{took:.3}"),
        _ if took < 1e-6 => format!("{:.1} ns", took * 1e9),
        _ if took < 1e-3 => format!("{:.1} µs", took * 1e6),
        _ => format!("{:.2} ms", took * 1e3),
    }
}
