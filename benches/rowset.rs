//! Row sets against the `roaring` crate and a sorted vector: every shape by every operation, in one run.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fastrand::Rng;
use roaring::RoaringTreemap;
use rowset::{Before, Positions, RowSet, Shift, Shifts, Span};

const ROWS: u64 = 1_000_000;

/// Keys of each shape; `seed` makes two that overlap without being equal.
fn shapes(seed: u64) -> Vec<(&'static str, Vec<u64>)> {
    let mut random = Rng::with_seed(seed);
    let mut dense =
        |percent: u64| (0..ROWS * 100 / percent).filter(|_| random.u64(..100) < percent).collect::<Vec<u64>>();
    let (ten, half, most) = (dense(10), dense(50), dense(99));
    let mut random = Rng::with_seed(seed + 1);
    let one_in_hundred = (0..ROWS / 10 * 100).filter(|_| random.u64(..).is_multiple_of(100)).collect();
    let mut clustered = Vec::new();
    let mut from = 0;
    while clustered.len() < ROWS as usize {
        let len = 1 + random.u64(..2000);
        from += 1 + random.u64(..2000);
        clustered.extend(from..from + len);
        from += len;
    }
    let mut sparse: Vec<u64> = (0..ROWS).map(|_| random.u64(..(1 << 37))).collect();
    sparse.sort_unstable();
    sparse.dedup();
    let pieces = (0..1000u64).flat_map(|piece| (piece << 40) + seed % 7..(piece << 40) + 1000).collect();
    vec![
        ("one range", (seed % 1000..ROWS).collect()),
        ("1 %", one_in_hundred),
        ("10 %", ten),
        ("50 %", half),
        ("99 %", most),
        ("clustered", clustered),
        ("sparse", sparse),
        ("every other", (0..ROWS).map(|key| key * 2 + seed % 2).collect()),
        ("full with holes", (0..ROWS).filter(|key| key % 65_536 != seed % 65_536).collect()),
        ("far apart", pieces),
    ]
}

/// What a sorted vector does: one merge.
fn merged(left: &[u64], right: &[u64], keep: fn(bool, bool) -> bool) -> Vec<u64> {
    let mut out = Vec::with_capacity(left.len() + right.len());
    let (mut at, mut other) = (0, 0);
    while at < left.len() || other < right.len() {
        let (l, r) = (left.get(at).copied().unwrap_or(u64::MAX), right.get(other).copied().unwrap_or(u64::MAX));
        let key = l.min(r);
        if keep(l == key, r == key) {
            out.push(key);
        }
        at += usize::from(l == key);
        other += usize::from(r == key);
    }
    out
}

fn algebra(bench: &mut Criterion) {
    for ((name, left_keys), (_, right_keys)) in shapes(7).into_iter().zip(shapes(1_234_567)) {
        let mut group = bench.benchmark_group("rowset/algebra");
        group
            .sample_size(10)
            .warm_up_time(std::time::Duration::from_millis(100))
            .measurement_time(std::time::Duration::from_millis(400));
        let (left, right) = (RowSet::from_sorted_keys(&left_keys), RowSet::from_sorted_keys(&right_keys));
        let (their_left, their_right): (RoaringTreemap, RoaringTreemap) =
            (left_keys.iter().copied().collect(), right_keys.iter().copied().collect());
        group.bench_function(BenchmarkId::new("union ours", name), |b| b.iter(|| black_box(&left) | black_box(&right)));
        group.bench_function(BenchmarkId::new("union roaring", name), |b| {
            b.iter(|| black_box(&their_left) | black_box(&their_right))
        });
        group.bench_function(BenchmarkId::new("union vec", name), |b| {
            b.iter(|| merged(black_box(&left_keys), &right_keys, |l, r| l | r))
        });
        group.bench_function(BenchmarkId::new("intersection ours", name), |b| {
            b.iter(|| black_box(&left) & black_box(&right))
        });
        group.bench_function(BenchmarkId::new("intersection roaring", name), |b| {
            b.iter(|| black_box(&their_left) & black_box(&their_right))
        });
        group.bench_function(BenchmarkId::new("intersection vec", name), |b| {
            b.iter(|| merged(black_box(&left_keys), &right_keys, |l, r| l & r))
        });
        group.bench_function(BenchmarkId::new("difference ours", name), |b| {
            b.iter(|| black_box(&left) - black_box(&right))
        });
        group.bench_function(BenchmarkId::new("difference roaring", name), |b| {
            b.iter(|| black_box(&their_left) - black_box(&their_right))
        });
        group.bench_function(BenchmarkId::new("difference vec", name), |b| {
            b.iter(|| merged(black_box(&left_keys), &right_keys, |l, r| l & !r))
        });
        group.finish();
    }
}

fn look_ups(bench: &mut Criterion) {
    for (name, keys) in shapes(7) {
        let mut group = bench.benchmark_group("rowset/look-ups");
        group
            .sample_size(10)
            .warm_up_time(std::time::Duration::from_millis(100))
            .measurement_time(std::time::Duration::from_millis(400));
        let rows = RowSet::from_sorted_keys(&keys);
        let mut random = Rng::with_seed(99);
        let places: Vec<u64> = (0..10_000).map(|_| random.u64(..rows.len())).collect();
        let asked: Vec<u64> = places.iter().map(|&pos| keys[pos as usize]).collect();
        let part = RowSet::from_keys(asked.clone());
        let positions = rows.positions_of(&part);
        group
            .bench_function(BenchmarkId::new("build", name), |b| b.iter(|| RowSet::from_sorted_keys(black_box(&keys))));
        group.bench_function(BenchmarkId::new("contains x10k", name), |b| {
            b.iter(|| asked.iter().filter(|&&key| rows.contains(key)).count())
        });
        group.bench_function(BenchmarkId::new("position_of x10k", name), |b| {
            b.iter(|| asked.iter().filter_map(|&key| rows.position_of(key)).fold(0, u64::wrapping_add))
        });
        group.bench_function(BenchmarkId::new("position_of x10k vec", name), |b| {
            b.iter(|| asked.iter().map(|key| keys.partition_point(|own| own < key)).fold(0, usize::wrapping_add))
        });
        group.bench_function(BenchmarkId::new("key_at x10k", name), |b| {
            b.iter(|| places.iter().filter_map(|&pos| rows.key_at(pos)).fold(0, u64::wrapping_add))
        });
        group.bench_function(BenchmarkId::new("positions_of 10k", name), |b| {
            b.iter(|| rows.positions_of(black_box(&part)))
        });
        group.bench_function(BenchmarkId::new("at 10k", name), |b| b.iter(|| rows.at(black_box(&positions))));
        group.bench_function(BenchmarkId::new("at half", name), |b| {
            let half = Positions(RowSet::range(rows.len() / 4, rows.len() / 4 * 3));
            b.iter(|| rows.at(black_box(&half)))
        });
        group.bench_function(BenchmarkId::new("keys", name), |b| b.iter(|| black_box(&rows).to_vec()));
        group.bench_function(BenchmarkId::new("ranges", name), |b| b.iter(|| black_box(&rows).spans().count()));
        group.finish();
    }
}

fn edits(bench: &mut Criterion) {
    for (name, keys) in shapes(7) {
        let mut group = bench.benchmark_group("rowset/edits");
        group
            .sample_size(10)
            .warm_up_time(std::time::Duration::from_millis(100))
            .measurement_time(std::time::Duration::from_millis(400));
        let rows = RowSet::from_sorted_keys(&keys);
        let theirs: RoaringTreemap = keys.iter().copied().collect();
        let mut random = Rng::with_seed(99);
        let last = keys[keys.len() - 1];
        let few: Vec<u64> = (0..10_000).map(|_| random.u64(..last)).collect();
        let few_rows = RowSet::from_keys(few.clone());
        let present = RowSet::from_keys(few.iter().map(|pick| keys[(pick % keys.len() as u64) as usize]).collect());
        group.bench_function(BenchmarkId::new("clone + one", name), |b| {
            let mut at = 0;
            b.iter(|| {
                let mut edited = rows.clone();
                at = (at + 1) % few.len();
                if !edited.insert(few[at]) {
                    edited.remove(few[at]);
                }
                edited
            })
        });
        group.bench_function(BenchmarkId::new("clone + insert 10k one by one", name), |b| {
            b.iter(|| {
                let mut edited = rows.clone();
                few.iter().for_each(|&key| {
                    edited.insert(key);
                });
                edited
            })
        });
        group.bench_function(BenchmarkId::new("clone + insert 10k one by one roaring", name), |b| {
            b.iter(|| {
                let mut edited = theirs.clone();
                few.iter().for_each(|&key| {
                    edited.insert(key);
                });
                edited
            })
        });
        group.bench_function(BenchmarkId::new("insert 10k", name), |b| b.iter(|| &rows | black_box(&few_rows)));
        group.bench_function(BenchmarkId::new("remove 10k", name), |b| b.iter(|| &rows - black_box(&present)));
        group.bench_function(BenchmarkId::new("meet 10k", name), |b| b.iter(|| &rows & black_box(&few_rows)));
        group.bench_function(BenchmarkId::new("append 10k", name), |b| {
            b.iter(|| {
                let mut edited = rows.clone();
                edited.insert_span(Span { first: last + 1, last: last + 10_000 });
                edited
            })
        });
        for delta in [1, 1 << 16] {
            let half = Before(rows.slice(rows.len() / 2, rows.len()));
            let shift = Shift { first: half.0.first().unwrap_or(0), last, delta };
            let shifts = Shifts::new(vec![shift], &Before(rows.clone())).expect("the upper half has room above");
            group.bench_function(BenchmarkId::new(format!("shift half by {delta}"), name), |b| {
                b.iter(|| {
                    let mut edited = rows.clone();
                    edited.apply(&RowSet::new(), black_box(&shifts), &RowSet::new());
                    edited
                })
            });
        }
        group.bench_function(BenchmarkId::new("serialise", name), |b| b.iter(|| black_box(&rows).to_roaring()));
        let bytes = rows.to_roaring();
        group.bench_function(BenchmarkId::new("read bytes", name), |b| {
            b.iter(|| RowSet::from_roaring(black_box(&bytes)).expect("ours"))
        });
        println!("{name}: {:.2} bytes a key, {:?}", rows.bytes() as f64 / rows.len() as f64, rows.statistics());
        group.finish();
    }
}

/// How the engine walks what changed in a cycle: by key, by range, in chunks.
fn walks(bench: &mut Criterion) {
    let mut random = Rng::with_seed(5);
    let mut few = |below: u64| {
        let mut keys: Vec<u64> = (0..10_000).map(|_| random.u64(..below)).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    };
    let mut shapes = shapes(7);
    shapes.extend([("10k of 1M", few(1_000_000)), ("10k of 10M", few(10_000_000)), ("10k of 2^40", few(1 << 40))]);
    for (name, keys) in shapes {
        let mut group = bench.benchmark_group("rowset/walks");
        group
            .sample_size(10)
            .warm_up_time(std::time::Duration::from_millis(100))
            .measurement_time(std::time::Duration::from_millis(400));
        let rows = RowSet::from_sorted_keys(&keys);
        group.throughput(Throughput::Elements(rows.len()));
        group.bench_function(BenchmarkId::new("by key", name), |b| {
            b.iter(|| {
                let mut sum = 0;
                for key in black_box(&rows) {
                    sum ^= key;
                }
                sum
            })
        });
        group.bench_function(BenchmarkId::new("for_each", name), |b| {
            b.iter(|| black_box(&rows).iter().fold(0, |sum, key| sum ^ key))
        });
        group.bench_function(BenchmarkId::new("next_many", name), |b| {
            let mut chunk = [0; 1024];
            b.iter(|| {
                let (mut walk, mut sum) = (black_box(&rows).iter(), 0);
                loop {
                    let taken = walk.next_many(&mut chunk);
                    sum = chunk[..taken].iter().fold(sum, |sum, key| sum ^ key);
                    if taken < chunk.len() {
                        break sum;
                    }
                }
            })
        });
        group.throughput(Throughput::Elements(rows.span_count()));
        group.bench_function(BenchmarkId::new("by range", name), |b| {
            b.iter(|| {
                let mut sum = 0;
                for span in black_box(&rows).spans() {
                    sum ^= span.first;
                }
                sum
            })
        });
        group.bench_function(BenchmarkId::new("from ranges", name), |b| {
            b.iter(|| RowSet::from_spans(black_box(&rows).spans()))
        });
        group.finish();
    }
}

fn masks(bench: &mut Criterion) {
    let mut group = bench.benchmark_group("rowset/masks");
    group
        .sample_size(20)
        .warm_up_time(std::time::Duration::from_millis(100))
        .measurement_time(std::time::Duration::from_millis(400));
    let mut random = Rng::with_seed(3);
    for (name, ones) in [("1 %", 1), ("50 %", 50), ("99 %", 99)] {
        let bytes: Vec<u8> = (0..ROWS / 8)
            .map(|_| (0..8).fold(0, |byte, bit| byte | u8::from(random.u64(..100) < ones) << bit))
            .collect();
        let rows = RowSet::from_mask(0, &bytes, 0, ROWS as usize);
        group.bench_function(BenchmarkId::new("read the mask", name), |b| {
            b.iter(|| black_box(&bytes).iter().fold(0u8, |all, byte| all ^ byte))
        });
        group.bench_function(BenchmarkId::new("from mask", name), |b| {
            b.iter(|| RowSet::from_mask(0, black_box(&bytes), 0, ROWS as usize))
        });
        group.bench_function(BenchmarkId::new("from mask at 3", name), |b| {
            b.iter(|| RowSet::from_mask(70, black_box(&bytes), 3, ROWS as usize - 8))
        });
        group.bench_function(BenchmarkId::new("select", name), |b| b.iter(|| rows.select_mask(black_box(&bytes), 5)));
        group.bench_function(BenchmarkId::new("to mask", name), |b| {
            b.iter(|| rows.to_mask(Span { first: 0, last: ROWS - 1 }))
        });
    }
    group.finish();
}

criterion_group!(benches, algebra, look_ups, walks, edits, masks);
criterion_main!(benches);
