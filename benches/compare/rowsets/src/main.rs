//! Row sets beside the `roaring` crate, CRoaring and a sorted array: every shape by every operation,
//! one after the other in one process. Prints a table in Markdown.
//!
//! `cargo run --release -- [part of a shape's or an operation's name] …` runs only what matches. With
//! `--deephaven DIR`, a directory of Deephaven's jars, its row set goes through the same in a JVM beside it.
//! `edits` measures edits of held sets instead, `masks` masks in the cache and out of it.

mod deephaven;
mod edits;
mod masks;
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
    "slice",
    "iterate keys",
    "iterate ranges",
    "insert 10k",
    "remove 10k",
    "clone + one",
    "shift half by 1",
    "shift half by 2^16",
    "mask in",
    "mask out",
    "serialise",
    "bytes a key",
];
const ALGEBRA: usize = 4;
const PEERS: &[&str] = &["tickframe", "roaring", "croaring", "sorted array", "deephaven"];
const DEEPHAVEN: usize = 4;
/// Keys below this are also a mask.
const MASKED: u64 = 1 << 28;
/// Each operation is repeated for so long.
const ENOUGH: Duration = Duration::from_millis(60);

fn main() {
    let mut asked: Vec<String> = std::env::args().skip(1).collect();
    let jars = asked.iter().position(|word| word == "--deephaven").map(|at| asked.drain(at..at + 2).nth(1));
    match asked.first().map(String::as_str) {
        Some("edits") => return edits::run(),
        Some("masks") => return masks::run(),
        _ => {}
    }
    let mut figures = Figures::new();
    let shapes = shapes::all();
    for (at, shape) in shapes.iter().enumerate() {
        let all = asked.is_empty() || asked.iter().any(|word| shape.name.contains(word.as_str()));
        let wanted = |operation: &str| all || asked.iter().any(|word| operation == word);
        measure::<rowset::RowSet>(shape, at, 0, wanted, &mut figures);
        measure::<roaring::RoaringTreemap>(shape, at, 1, wanted, &mut figures);
        measure::<croaring::Bitmap64>(shape, at, 2, wanted, &mut figures);
        measure::<Vec<u64>>(shape, at, 3, wanted, &mut figures);
    }
    if let Some(jars) = jars.flatten() {
        let names: Vec<&str> = shapes.iter().map(|shape| shape.name).collect();
        for (shape, operation, figure) in deephaven::run(&jars, &asked, &names, OPERATIONS) {
            figures.insert((shape, operation, DEEPHAVEN), figure);
        }
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
        if start.elapsed() > Duration::from_secs(4) {
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
    let len = shape.left.len() as u64;
    let mut mask = vec![0u8; if last < MASKED { last as usize / 8 + 1 } else { 0 }];
    if !mask.is_empty() {
        shape.left.iter().for_each(|key| mask[*key as usize / 8] |= 1 << (key % 8));
    }
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
            9 => time(|| left.slice(len / 4, len / 2)),
            10 => time(|| left.sum()),
            11 => match left.ranges() {
                Some(_) => time(|| left.ranges()),
                None => continue,
            },
            12 => time(|| left.with(&few)),
            13 => time(|| left.without(some)),
            14 => time(|| left.with(&few[..1])),
            15 | 16 => {
                let delta = if op == 15 { 1 } else { 1 << 16 };
                let ready = left.ready(delta);
                time(|| left.shifted(delta, &ready))
            }
            17 if last < MASKED && P::of_mask(&mask).is_some() => time(|| P::of_mask(&mask)),
            18 if last < MASKED && left.to_mask(last + 1).is_some() => time(|| left.to_mask(last + 1)),
            17 | 18 => continue,
            19 => time(|| left.bytes_out()),
            _ => left.memory() as f64 / shape.left.len() as f64,
        };
        figures.insert((at, op, peer), took);
    }
}

/// Ratios of our time to that of some of the peers, and what they are ratios of.
#[derive(Default)]
struct Ratios(Vec<(f64, String)>);

impl Ratios {
    fn add(&mut self, own: f64, figures: &Figures, cell: (usize, usize), peers: std::ops::Range<usize>, name: &str) {
        let (shape, op) = cell;
        let best = peers.filter_map(|peer| figures.get(&(shape, op, peer))).fold(f64::INFINITY, |a, &b| a.min(b));
        if best.is_finite() && best > 0.0 {
            self.0.push((own / best, format!("{} {name}", OPERATIONS[op])));
        }
    }

    fn print(mut self, what: &str) {
        self.0.sort_by(|left, right| left.0.total_cmp(&right.0));
        let Some((worst, name)) = self.0.last() else { return };
        let mean = (self.0.iter().map(|(ratio, _)| ratio.max(1e-9).ln()).sum::<f64>() / self.0.len() as f64).exp();
        println!("{what}: {mean:.3} in geometric mean of {}, worst {worst:.2} ({name}).", self.0.len());
        let above = |bar: f64| self.0.iter().filter(move |(ratio, _)| *ratio > bar);
        above(1.5).for_each(|(ratio, name)| println!("  above 1.5: {ratio:.2} {name}"));
        above(1.0)
            .filter(|(ratio, _)| *ratio <= 1.5)
            .for_each(|(ratio, name)| println!("  above 1.0: {ratio:.2} {name}"));
    }
}

fn print(shapes: &[Shape], figures: &Figures) {
    println!("| shape | operation | {} | to the best Roaring |", PEERS.join(" | "));
    println!("|---|---|{}---|", "---|".repeat(PEERS.len()));
    let [mut roaring, mut array, mut deephaven, mut memory] = [const { Ratios(Vec::new()) }; 4];
    for (shape, op) in (0..shapes.len()).flat_map(|shape| (0..OPERATIONS.len()).map(move |op| (shape, op))) {
        let Some(&own) = figures.get(&(shape, op, 0)) else { continue };
        let name = shapes[shape].name;
        let cell = |peer: usize| figures.get(&(shape, op, peer)).map_or("-".to_string(), |&took| unit(op, took));
        let cells: Vec<String> = (0..PEERS.len()).map(cell).collect();
        let best = (1..3).filter_map(|peer| figures.get(&(shape, op, peer))).fold(f64::INFINITY, |a, &b| a.min(b));
        println!("| {name} | {} | {} | {:.2} |", OPERATIONS[op], cells.join(" | "), own / best);
        if op < ALGEBRA {
            roaring.add(own, figures, (shape, op), 1..3, name);
            if name.starts_with("sparse") {
                array.add(own, figures, (shape, op), 3..4, name);
            }
        }
        let of_deephaven = if op == OPERATIONS.len() - 1 { &mut memory } else { &mut deephaven };
        of_deephaven.add(own, figures, (shape, op), DEEPHAVEN..DEEPHAVEN + 1, name);
    }
    println!();
    roaring.print("Set algebra to the better Roaring");
    array.print("Sparse set algebra to a sorted array");
    deephaven.print("Every operation to Deephaven");
    memory.print("Memory to Deephaven");
}

fn unit(op: usize, took: f64) -> String {
    match took {
        _ if op == OPERATIONS.len() - 1 => format!("{took:.3}"),
        _ if took < 1e-6 => format!("{:.1} ns", took * 1e9),
        _ if took < 1e-3 => format!("{:.1} µs", took * 1e6),
        _ => format!("{:.2} ms", took * 1e3),
    }
}
