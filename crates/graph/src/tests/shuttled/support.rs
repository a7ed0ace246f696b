//! Helpers of the tests that explore schedules, and nodes that record what they read.

use crate::sync::{Arc, AtomicU64, Ordering};
use crate::{Moment, Node, NodeId, Outcome, Pinned, Registration, Schedule, Settings, Step, UpdateGraph};
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, Runner};
use std::time::Duration;

/// Schedules in all, unless the environment says otherwise.
const SCHEDULES: usize = 100_000;
/// Tests they are shared among.
pub(crate) const TESTS: usize = 14;
/// Changes of thread that a PCT schedule places.
const DEPTH: usize = 3;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is a number, not {text:?}")))
}

/// Runs a body under this test's share of the schedules.
pub(crate) fn explore(body: impl Fn() + Send + Sync + 'static) {
    if let Ok(schedule) = std::env::var("TICKFRAME_SCHEDULE") {
        shuttle::replay(body, &schedule);
        return;
    }
    let schedules = number("TICKFRAME_SCHEDULES").map_or(SCHEDULES, |many| many as usize).div_ceil(TESTS);
    let seed = number("TICKFRAME_SEED").unwrap_or(0);
    let body = std::sync::Arc::new(body);
    let half = schedules.div_ceil(2);
    let random = body.clone();
    Runner::new(RandomScheduler::new_from_seed(seed, half), Config::new()).run(move || random());
    Runner::new(PctScheduler::new_from_seed(seed, DEPTH, half), Config::new()).run(move || body());
}

type Work = Box<dyn Fn(Step) -> Outcome + Send + Sync>;

/// A node that writes the number of the step where anyone can read it at a moment, and checks its own order.
pub(crate) struct Cell {
    pub(crate) value: Pinned<u64>,
    /// How often it has started and ended.
    started: AtomicU64,
    pub(crate) ended: AtomicU64,
    parents: Vec<Arc<Cell>>,
    work: Work,
}

impl Node for Cell {
    fn run(&self, step: Step) -> Outcome {
        let started = self.started.fetch_add(1, Ordering::SeqCst) + 1;
        assert_eq!(started, self.ended.load(Ordering::SeqCst) + 1, "two threads in one node");
        for parent in &self.parents {
            let parent_started = parent.started.load(Ordering::SeqCst);
            assert_eq!(parent_started, parent.ended.load(Ordering::SeqCst), "before its parent");
        }
        let outcome = (self.work)(step);
        if outcome == Outcome::Changed {
            self.value.publish(step, step.number());
        }
        self.ended.fetch_add(1, Ordering::SeqCst);
        outcome
    }
    fn panicked(&self, _step: Step, message: String) {
        // A failed assertion inside a node is a failed test.
        eprintln!("{message}");
        std::process::abort();
    }
    fn settle(&self, _step: Step) {
        self.value.settle();
    }
    fn label(&self) -> String {
        "cell".to_owned()
    }
}

/// A node in a graph; dropping it takes it out.
pub(crate) struct Held {
    pub(crate) cell: Arc<Cell>,
    pub(crate) registration: Registration,
    _node: Arc<dyn Node>,
}

impl Held {
    pub(crate) fn id(&self) -> NodeId {
        self.registration.id()
    }

    pub(crate) fn runs(&self) -> u64 {
        self.cell.ended.load(Ordering::SeqCst)
    }

    pub(crate) fn new(cell: Arc<Cell>, node: Arc<dyn Node>, registration: Registration) -> Held {
        Held { cell, registration, _node: node }
    }
}

/// A node that is not in a graph yet.
pub(crate) fn cell(
    parents: &[&Held],
    at: Moment,
    work: impl Fn(Step) -> Outcome + Send + Sync + 'static,
) -> (Arc<Cell>, Arc<dyn Node>) {
    let cell = Arc::new(Cell {
        value: Pinned::new(at.number(), at),
        started: AtomicU64::new(0),
        ended: AtomicU64::new(0),
        parents: parents.iter().map(|parent| parent.cell.clone()).collect(),
        work: Box::new(work),
    });
    let node: Arc<dyn Node> = cell.clone();
    (cell, node)
}

/// A graph whose surplus nodes are always handed out.
pub(crate) fn graph(threads: usize) -> UpdateGraph {
    let settings = Settings { period: Duration::ZERO, threads: Some(threads), init_threads: Some(1) };
    let graph = UpdateGraph::new(settings);
    graph.set_schedule(Schedule::Eager);
    graph
}

pub(crate) fn source_with(graph: &UpdateGraph, work: impl Fn(Step) -> Outcome + Send + Sync + 'static) -> Held {
    let (cell, node) = cell(&[], Moment::new(0), work);
    let registration = graph.source(&node);
    Held::new(cell, node, registration)
}

pub(crate) fn source(graph: &UpdateGraph) -> Held {
    source_with(graph, |_| Outcome::Changed)
}

pub(crate) fn below_with(
    graph: &UpdateGraph,
    parents: &[&Held],
    work: impl Fn(Step) -> Outcome + Send + Sync + 'static,
) -> Held {
    let (cell, node) = cell(parents, Moment::new(0), work);
    let ids: Vec<NodeId> = parents.iter().map(|parent| parent.id()).collect();
    let registration = graph.join(&node, &ids, graph.settled()).expect("idle");
    Held::new(cell, node, registration)
}

pub(crate) fn below(graph: &UpdateGraph, parents: &[&Held]) -> Held {
    below_with(graph, parents, |_| Outcome::Changed)
}

/// One step in which these sources are active.
pub(crate) fn step(graph: &UpdateGraph, sources: &[&Held]) -> Step {
    sources.iter().for_each(|source| graph.activate(source.id()));
    graph.step().expect("outside")
}
