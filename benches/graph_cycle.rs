//! Cost of a cycle whose nodes do nothing: the graph's own share of every step.
//!
//! Each line of the table, in Markdown, shows the least and the median of many runs; on a busy machine read the least.

use graph::{Moment, Moved, Node, NodeId, Outcome, Pinned, Registration, Settings, Step, UpdateGraph};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

struct Fixed(Outcome);

impl Node for Fixed {
    fn run(&self, _step: Step) -> Outcome {
        self.0
    }
    fn label(&self) -> String {
        "fixed".to_owned()
    }
}

/// Nodes that live as long as the measurement.
struct Garden {
    graph: UpdateGraph,
    alive: Vec<(Registration, Arc<dyn Node>)>,
}

impl Garden {
    fn new(threads: usize) -> Garden {
        let settings = Settings { period: Duration::ZERO, threads: Some(threads), init_threads: Some(1) };
        Garden { graph: UpdateGraph::new(settings), alive: Vec::new() }
    }

    fn plant(&mut self, parents: &[NodeId], outcome: Outcome) -> NodeId {
        let node: Arc<dyn Node> = Arc::new(Fixed(outcome));
        let joined = self.graph.join(&node, parents, self.graph.settled());
        let registration = joined.unwrap_or_else(|Moved| panic!("the graph is idle"));
        let id = registration.id();
        self.alive.push((registration, node));
        id
    }

    fn chain(&mut self, length: usize) -> NodeId {
        let first = self.plant(&[], Outcome::Changed);
        let mut last = first;
        for _ in 1..length {
            last = self.plant(&[last], Outcome::Changed);
        }
        first
    }

    fn step(&self) {
        black_box(self.graph.step().expect("called from outside"));
    }
}

/// Least and median nanoseconds of `runs` calls.
fn measure(runs: usize, mut body: impl FnMut()) -> (u64, u64) {
    for _ in 0..runs / 10 + 2 {
        body();
    }
    let mut times: Vec<u64> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            body();
            start.elapsed().as_nanos() as u64
        })
        .collect();
    times.sort_unstable();
    (times[0], times[times.len() / 2])
}

fn show(name: &str, (least, median): (u64, u64), per: u64, unit: &str) {
    let scale = |nanos: u64| nanos as f64 / per as f64 / 1000.0;
    println!("| {name} | {:.3} | {:.3} | {unit} |", scale(least), scale(median));
}

fn idle_and_busy() {
    let mut garden = Garden::new(1);
    let chain = garden.chain(100);
    let alone = measure(2_000, || {
        garden.graph.activate(chain);
        garden.step();
    });
    show("chain of 100, per node", alone, 100, "a node");
    for _ in 0..100 {
        garden.chain(100);
    }
    let empty = measure(5_000, || garden.step());
    show("empty cycle beside 10,000 idle nodes", empty, 1, "a cycle");
    let beside = measure(2_000, || {
        garden.graph.activate(chain);
        garden.step();
    });
    show("chain of 100 beside 10,000 idle nodes", beside, 1, "a cycle");
    show("the same chain alone", alone, 1, "a cycle");
}

fn quiet() {
    let mut garden = Garden::new(1);
    let source = garden.plant(&[], Outcome::Changed);
    let filter = garden.plant(&[source], Outcome::Quiet);
    for _ in 0..100 {
        let mut last = filter;
        for _ in 0..100 {
            last = garden.plant(&[last], Outcome::Changed);
        }
    }
    let times = measure(500, || {
        garden.graph.activate(source);
        garden.step();
    });
    show("10,000 nodes below a filter that lets nothing pass", times, 1, "a cycle");
}

fn wide(threads: usize) {
    let mut garden = Garden::new(threads);
    let source = garden.plant(&[], Outcome::Changed);
    for _ in 0..200 {
        garden.plant(&[source], Outcome::Changed);
    }
    let times = measure(2_000, || {
        garden.graph.activate(source);
        garden.step();
    });
    show(&format!("200 children of one source, {threads} threads"), times, 200, "a node");
}

/// A node that tells another thread that it ran.
struct Told(Mutex<std::sync::mpsc::Sender<Instant>>);

impl Node for Told {
    fn run(&self, _step: Step) -> Outcome {
        let _ = self.0.lock().expect("no panic").send(Instant::now());
        Outcome::Changed
    }
    fn label(&self) -> String {
        "told".to_owned()
    }
}

fn latency() {
    let garden = Garden::new(1);
    let (tell, told) = channel();
    let node: Arc<dyn Node> = Arc::new(Told(Mutex::new(tell)));
    let source = garden.graph.source(&node);
    garden.graph.start();
    let mut times: Vec<u64> = (0..2_000)
        .map(|_| {
            let start = Instant::now();
            garden.graph.activate(source.id());
            let ran = told.recv().expect("the graph runs");
            // Asleep again before the next one: the wake is what is measured.
            while garden.graph.running_step().is_some() {
                std::thread::yield_now();
            }
            std::thread::sleep(Duration::from_micros(50));
            ran.saturating_duration_since(start).as_nanos() as u64
        })
        .collect();
    garden.graph.stop();
    times.sort_unstable();
    show("activate to the source's run, period 0", (times[0], times[times.len() / 2]), 1, "one way");
    show("a condition variable's wake beside it", wake(), 1, "one way");
}

fn wake() -> (u64, u64) {
    let shared = Arc::new((Mutex::new(None::<bool>), Condvar::new()));
    let (tell, told) = channel();
    let other = shared.clone();
    let thread = std::thread::spawn(move || {
        loop {
            let mut state = other.0.lock().expect("no panic");
            while state.is_none() {
                state = other.1.wait(state).expect("no panic");
            }
            if state.take() == Some(false) {
                return;
            }
            let _ = tell.send(Instant::now());
        }
    });
    let mut times: Vec<u64> = (0..2_000)
        .map(|_| {
            std::thread::sleep(Duration::from_micros(50));
            let start = Instant::now();
            *shared.0.lock().expect("no panic") = Some(true);
            shared.1.notify_one();
            let woke = told.recv().expect("the thread runs");
            woke.saturating_duration_since(start).as_nanos() as u64
        })
        .collect();
    *shared.0.lock().expect("no panic") = Some(false);
    shared.1.notify_one();
    thread.join().expect("no panic");
    times.sort_unstable();
    (times[0], times[times.len() / 2])
}

fn small_things() {
    let mut garden = Garden::new(1);
    let source = garden.plant(&[], Outcome::Changed);
    let thousand = |body: &mut dyn FnMut()| {
        measure(100, || {
            for _ in 0..1_000 {
                body();
            }
        })
    };
    show("activate", thousand(&mut || garden.graph.activate(source)), 1_000, "a call");
    show("intake of nothing", thousand(&mut || garden.graph.intake(|| ())), 1_000, "a call");
    show("asking for the process", thousand(&mut || _ = black_box(graph::env::process())), 1_000, "a call");
    show("asking for the time", thousand(&mut || _ = black_box(graph::env::now())), 1_000, "a call");
    let (left, right) = (Pinned::new(Arc::new(1), Moment::new(0)), Pinned::new(Arc::new(2), Moment::new(0)));
    let mut snapshot = || {
        black_box(garden.graph.snapshot(|moment| Ok((left.at(moment)?, right.at(moment)?))));
    };
    show("snapshot of two", thousand(&mut snapshot), 1_000, "a call");
    let graph = garden.graph.clone();
    let mut join = || {
        let node: Arc<dyn Node> = Arc::new(Fixed(Outcome::Changed));
        black_box(graph.join(&node, &[source], graph.settled()).is_ok());
    };
    show("join and drop of a node", thousand(&mut join), 1_000, "a node");
}

/// Work that a second thread can share.
struct Busy(AtomicU64);

impl Node for Busy {
    fn run(&self, step: Step) -> Outcome {
        let mut mixed = step.number();
        for round in 0..20_000u64 {
            mixed = mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ round;
        }
        self.0.store(mixed, Ordering::Relaxed);
        Outcome::Changed
    }
    fn label(&self) -> String {
        "busy".to_owned()
    }
}

fn busy(threads: usize) {
    let mut garden = Garden::new(threads);
    let source = garden.plant(&[], Outcome::Changed);
    for _ in 0..32 {
        let node: Arc<dyn Node> = Arc::new(Busy(AtomicU64::new(0)));
        let joined = garden.graph.join(&node, &[source], garden.graph.settled());
        garden.alive.push((joined.unwrap_or_else(|Moved| panic!("the graph is idle")), node));
    }
    let times = measure(200, || {
        garden.graph.activate(source);
        garden.step();
    });
    show(&format!("32 busy siblings, {threads} threads"), times, 1, "a cycle");
}

fn main() {
    let groups: [(&str, fn()); 6] = [
        ("chain", idle_and_busy),
        ("quiet", quiet),
        ("wide", || (wide(1), wide(2)).0),
        ("busy", || (busy(1), busy(2)).0),
        ("latency", latency),
        ("small", small_things),
    ];
    let asked: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    println!("| µs | least | median | of |");
    println!("|---|---|---|---|");
    for (name, group) in groups {
        if asked.is_empty() || asked.iter().any(|wanted| name.contains(wanted.as_str())) {
            group();
        }
    }
}
