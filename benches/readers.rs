//! Readers beside cycles: four threads that take snapshots of two tables while 10,000 of a million rows change every 5 ms;
//! and how long one row takes to a listener in Rust.
//!
//! Four readers and two threads of the graph want more than two cores: four threads that only look at the clock stand
//! beside them, and say what of it is the machine's. `row` or `snapshots` asks for one of the two. Each line is of one run: with and without readers in turn, so that the ratios mean something on a busy machine.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Float64Array, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use engine::ops::Select;
use engine::sources::{AppendTable, Apply, InputTable};
use engine::{Failure, Listener, Table, UpdateEvent, attach, snapshot};
use formula::{Expr, Function};
use graph::{Settings, UpdateGraph};
use rowset::RowSet;

const ROWS: u64 = 1_000_000;
const CHANGES: u64 = 10_000;
const CYCLES: usize = 400;
const EVERY: Duration = Duration::from_millis(5);

fn schema() -> Arc<Schema> {
    Arc::new(Schema::new(vec![
        Field::new("round", DataType::Int64, true),
        Field::new("x", DataType::Float64, true),
        Field::new("y", DataType::Float64, true),
    ]))
}

fn rows(keys: &RowSet, round: i64) -> RecordBatch {
    let many = keys.len() as usize;
    let rounds = Int64Array::from(vec![round; many]);
    let floats = |by: f64| Float64Array::from_iter_values((0..many).map(|row| row as f64 * by + round as f64));
    RecordBatch::try_new(schema(), vec![Arc::new(rounds), Arc::new(floats(0.5)), Arc::new(floats(0.25))])
        .expect("three columns of one length")
}

/// The table, what is computed of it, and the changes to come: row 0 is among each.
struct Bed {
    graph: UpdateGraph,
    source: InputTable,
    tables: [Table; 2],
    round: i64,
    random: u64,
}

impl Bed {
    fn new() -> Bed {
        let settings = Settings { period: Duration::ZERO, threads: Some(2), init_threads: Some(1) };
        let graph = UpdateGraph::new(settings);
        let source = InputTable::new(&graph, schema()).expect("a sound schema");
        let all = RowSet::flat(ROWS);
        source.apply(Apply { added: Some((all.clone(), rows(&all, 0))), ..Apply::default() }).expect("new rows");
        graph.step().expect("outside");
        let twice = Expr::call(Function::Multiply, vec![Expr::column("round"), Expr::literal(2i64)]).expect("small");
        let select = Select::with(source.table(), &[twice.alias("twice")]).expect("a number");
        let derived = attach(&select, std::slice::from_ref(source.table())).expect("it starts");
        let tables = [source.table().clone(), derived];
        Bed { graph, source, tables, round: 0, random: 7 }
    }

    fn change(&mut self) {
        self.round += 1;
        let mut keys = vec![0];
        for _ in 1..CHANGES {
            self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            keys.push((self.random >> 33) % ROWS);
        }
        let keys = RowSet::from_keys(keys);
        let modified = Some((keys.clone(), rows(&keys, self.round)));
        self.source.apply(Apply { modified, ..Apply::default() }).expect("the rows are there");
    }

    /// Nanoseconds of so many cycles, one every 5 ms, ascending.
    fn cycles(&mut self, many: usize) -> Vec<u64> {
        let mut times: Vec<u64> = (0..many)
            .map(|_| {
                let begun = Instant::now();
                self.change();
                let start = Instant::now();
                self.graph.step().expect("outside");
                let took = start.elapsed();
                std::thread::sleep(EVERY.saturating_sub(begun.elapsed()));
                took.as_nanos() as u64
            })
            .collect();
        times.sort_unstable();
        times
    }
}

/// The cell of row 0: two tables of one step agree.
fn cell(table: &Table, column: usize) -> i64 {
    let cells = table.view().expect("it lives").read(column, &RowSet::key(0)).expect("row 0 is there");
    cells.as_primitive::<Int64Type>().value(0)
}

#[derive(Default)]
struct Seen {
    taken: AtomicU64,
    torn: AtomicU64,
    longest: AtomicU64,
    over: AtomicU64,
}

impl Seen {
    fn note(&self, waited: u64) {
        self.taken.fetch_add(1, Ordering::Relaxed);
        self.longest.fetch_max(waited, Ordering::Relaxed);
        self.over.fetch_add(u64::from(waited > 1_000_000), Ordering::Relaxed);
    }
}

fn read(tables: &[Table; 2], seen: &Seen, hold: Duration) {
    let start = Instant::now();
    let copies = snapshot(tables).expect("they live");
    seen.note(start.elapsed().as_nanos() as u64);
    if cell(&copies[0], 0) * 2 != cell(&copies[1], 3) {
        seen.torn.fetch_add(1, Ordering::Relaxed);
    }
    if !hold.is_zero() {
        while start.elapsed() < hold {
            std::hint::spin_loop();
        }
    }
    black_box(copies);
}

/// Cycles beside so many threads that do this again and again.
fn beside(field: &mut Bed, threads: usize, again: impl Fn(&Seen) + Sync) -> (Vec<u64>, Seen) {
    let (seen, stop) = (Seen::default(), AtomicBool::new(false));
    let times = std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    again(&seen);
                }
            });
        }
        let times = field.cycles(CYCLES);
        stop.store(true, Ordering::Relaxed);
        times
    });
    (times, seen)
}

fn beside_readers(field: &mut Bed, threads: usize, hold: Duration, rest: Duration) -> (Vec<u64>, Seen) {
    let tables = field.tables.clone();
    beside(field, threads, |seen| {
        read(&tables, seen, hold);
        if !rest.is_zero() {
            std::thread::sleep(rest);
        }
    })
}

/// What four busy threads cost a cycle, and how long each is kept from a core, if they take no snapshot at all: where
/// there are fewer cores than threads, that much of the figures of readers is the machine's.
fn beside_clocks(field: &mut Bed, threads: usize) -> (Vec<u64>, Seen) {
    beside(field, threads, |seen| {
        let start = Instant::now();
        while start.elapsed() < Duration::from_micros(1) {
            std::hint::spin_loop();
        }
        seen.note(start.elapsed().as_nanos() as u64);
    })
}

fn at(times: &[u64], of_100: usize) -> f64 {
    times[(times.len() * of_100 / 100).min(times.len() - 1)] as f64 / 1e6
}

/// A copy of the columns that a cycle writes (four, one of them computed) into memory that is there.
fn pooled_copy() -> f64 {
    let from = vec![1u64; ROWS as usize * 4];
    let mut to = vec![0u64; ROWS as usize * 4];
    let mut least = f64::MAX;
    for _ in 0..20 {
        let start = Instant::now();
        to.copy_from_slice(black_box(&from));
        least = least.min(start.elapsed().as_secs_f64() * 1e3);
        black_box(&to);
    }
    least
}

fn snapshots() {
    let mut field = Bed::new();
    field.cycles(40);
    let copy = pooled_copy();
    println!("a pooled copy of the four columns written {copy:.3} ms");
    println!("| cycles of 10,000 changes, ms | p50 | p99 | snapshots | longest | over 1 ms | torn |");
    println!("|---|---|---|---|---|---|---|");
    for round in 0..2 {
        let alone = field.cycles(CYCLES);
        let show = |name: &str, times: &[u64], seen: &Seen| {
            let longest = seen.longest.load(Ordering::Relaxed) as f64 / 1e6;
            let (taken, torn) = (seen.taken.load(Ordering::Relaxed), seen.torn.load(Ordering::Relaxed));
            let over = seen.over.load(Ordering::Relaxed);
            let (p50, p99) = (at(times, 50), at(times, 99));
            println!("| {name} | {p50:.3} | {p99:.3} | {taken} | {longest:.3} | {over} | {torn} |");
            assert_eq!(torn, 0, "two tables of one snapshot are of two steps");
        };
        show(&format!("{round}: alone"), &alone, &Seen::default());
        let (clocks, seen) = beside_clocks(&mut field, 4);
        show(&format!("{round}: four threads that look at the clock"), &clocks, &seen);
        let (busy, seen) = beside_readers(&mut field, 4, Duration::ZERO, Duration::ZERO);
        show(&format!("{round}: four readers as fast as they can"), &busy, &seen);
        let over = |of: &[u64]| (at(&busy, 99) - at(of, 99)) / copy;
        println!(
            "   p99 over alone, in pooled copies: {:.2} (bar 1.5); over four busy threads {:.2}",
            over(&alone),
            over(&clocks)
        );
        let again = field.cycles(CYCLES);
        let (pins, seen) = beside_readers(&mut field, 1, Duration::from_micros(100), Duration::from_millis(20));
        show(&format!("{round}: a pin of 100 µs every 20 ms"), &pins, &seen);
        println!("   p50 against alone: {:.2} (bar 1.1)", at(&pins, 50) / at(&again, 50));
    }
    let counters = field.graph.counters();
    println!(
        "snapshots that started again {}, that took the lock {}",
        counters.snapshot_restarts, counters.snapshot_fallbacks
    );
}

/// Tells when it is called.
#[derive(Default)]
struct Bell {
    rung: Mutex<Option<Instant>>,
    bell: Condvar,
}

impl Bell {
    fn ring(&self) {
        *self.rung.lock().expect("nobody panics") = Some(Instant::now());
        self.bell.notify_one();
    }

    fn wait(&self) -> Instant {
        let mut rung = self.rung.lock().expect("nobody panics");
        loop {
            if let Some(at) = rung.take() {
                return at;
            }
            rung = self.bell.wait(rung).expect("nobody panics");
        }
    }
}

impl Listener for Bell {
    fn on_update(&self, delivered: Arc<UpdateEvent>) {
        black_box(delivered.update().added.len());
        self.ring();
    }

    fn on_failure(&self, failure: Arc<Failure>) {
        panic!("{failure}");
    }
}

fn one_row() {
    let settings = Settings { period: Duration::ZERO, threads: Some(1), init_threads: Some(1) };
    let graph = UpdateGraph::new(settings);
    let schema = Arc::new(Schema::new(vec![Field::new("x", DataType::Int64, true)]));
    let source = AppendTable::new(&graph, schema.clone()).expect("a sound schema");
    let bell = Arc::new(Bell::default());
    let following = source.table().subscribe(bell.clone(), false).expect("it lives");
    graph.start();
    let row = RecordBatch::try_new(schema, vec![Arc::new(Int64Array::from(vec![1]))]).expect("one column");
    let mut times: Vec<u64> = (0..20_000)
        .map(|_| {
            let start = Instant::now();
            source.append(&row).expect("it fits");
            bell.wait().duration_since(start).as_nanos() as u64
        })
        .collect();
    graph.stop();
    times.sort_unstable();
    following.cancel();
    let micros = |of_100: usize| times[times.len() * of_100 / 100] as f64 / 1e3;
    println!("append of one row to a Rust listener   p50 {:.1} µs   p90 {:.1} µs (bar 15)", micros(50), micros(90));
    let (there, back) = (Arc::new(Bell::default()), Arc::new(Bell::default()));
    let (ear, mouth) = (there.clone(), back.clone());
    let echo = std::thread::spawn(move || {
        for _ in 0..20_000 {
            ear.wait();
            mouth.ring();
        }
    });
    let mut times: Vec<u64> = (0..20_000)
        .map(|_| {
            let start = Instant::now();
            there.ring();
            back.wait();
            start.elapsed().as_nanos() as u64
        })
        .collect();
    echo.join().expect("it ends");
    times.sort_unstable();
    println!("a bare wake there and back             p50 {:.1} µs", times[times.len() / 2] as f64 / 1e3);
}

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    for (name, group) in [("snapshots", snapshots as fn()), ("row", one_row)] {
        if asked.is_empty() || asked.iter().any(|wanted| wanted == name) {
            group();
        }
    }
}
