//! Reports of a cycle: counters, timings, the report of the last step.

use crate::clock::{Moment, Step};
use crate::graph::HookId;
use crate::node::{NodeId, Outcome};
use crate::sync::{Arc, AtomicU64, Mutex, OnceLock, Ordering, Rank};
use std::time::{Duration, Instant};

/// The log of troubles, once it is set.
static LOG: OnceLock<fn(&str)> = OnceLock::new();

/// Sets the log for troubles of all graphs of this process that belong to no node: an abandoned cycle, a thread that
/// ended, a panic of a hook. Only the first call has an effect.
pub fn log_troubles(log: fn(&str)) {
    let _ = LOG.set(log);
}

/// Logs a trouble that belongs to no node.
pub(crate) fn trouble(text: &str) {
    if let Some(log) = LOG.get() {
        log(text);
    }
}

/// One cycle.
#[derive(Clone, Debug)]
pub struct Report {
    /// Its step.
    pub step: Step,
    /// When it started, by the graph's time.
    pub started: Instant,
    /// When it started, in nanoseconds since 1970-01-01T00:00:00Z.
    pub started_nanos: i64,
    /// From the start until `settled()` moved.
    pub until_settled: Duration,
    /// From the start until the terminal notifications were done.
    pub until_done: Duration,
    /// Sources that were active.
    pub active: usize,
    /// Nodes that the walk reached.
    pub reached: usize,
    /// Nodes that ran, those that joined included.
    pub ran: usize,
    /// Of those, the ones that published something.
    pub changed: usize,
    /// Of those, the ones that failed.
    pub failed: usize,
    /// Nodes that joined while it ran, and ran in it.
    pub joined: usize,
    /// One entry for each node that ran; filled only while an observer is set.
    pub nodes: Vec<NodeRun>,
    /// Panics in hooks, terminal notifications and `settle`, and of the cycle itself, which have nobody else to tell.
    pub troubles: Vec<String>,
}

/// One node in one cycle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeRun {
    /// The node.
    pub id: NodeId,
    /// Its own name.
    pub label: String,
    /// What it took in and gave out.
    pub volume: Volume,
    /// What became of it.
    pub outcome: Outcome,
    /// How long it ran.
    pub nanos: u64,
}

/// One node over its life.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeTiming {
    /// The node.
    pub id: NodeId,
    /// Its own name.
    pub label: String,
    /// The nodes it waits for.
    pub parents: Vec<NodeId>,
    /// The last step in which it ran; the moment 0 if it never did.
    pub last_step: Moment,
    /// The last step in which it changed or failed: before `last_step` if it had nothing to say there.
    pub last_change: Moment,
    /// How long it ran in its last step.
    pub last_nanos: u64,
    /// How long it ran in all.
    pub total_nanos: u64,
    /// How often it ran.
    pub runs: u64,
    /// Whether it has failed.
    pub failed: bool,
    /// How much it holds.
    pub size: Size,
}

/// Counts since the graph was made; `nodes`, `failed_nodes`, `pending` and `timers` are as of now.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Nodes in the graph.
    pub nodes: usize,
    /// Nodes in the graph that have failed.
    pub failed_nodes: usize,
    /// Active sources that wait for a step.
    pub pending: usize,
    /// Timers that are not due.
    pub timers: usize,
    /// Steps that have run.
    pub cycles: u64,
    /// How long the last one took, terminal notifications included.
    pub last_cycle_ns: u64,
    /// Node runs in all.
    pub node_runs: u64,
    /// Walks that had to be made anew.
    pub walks: u64,
    /// Snapshots that had to start again because a step ended between two pins.
    pub snapshot_restarts: u64,
    /// Snapshots that took the shared lock in the end.
    pub snapshot_fallbacks: u64,
    /// Panics in hooks, terminal notifications and `settle`.
    pub troubles: u64,
}

/// How much a node holds, in items of its own (a table's are rows) and bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Size {
    /// Items.
    pub items: u64,
    /// Bytes that it owns; what it shares with its parents is counted there.
    pub bytes: u64,
    /// Entries of state beside: groups, keys of joins.
    pub entries: u64,
}

/// How much passed through a node in a step, in items of its own (a table's are rows).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Volume {
    /// Items of its parents that changed.
    pub items_in: u64,
    /// Items of its own that changed.
    pub items_out: u64,
}

/// Called after each cycle, on the thread that ran it.
pub type Observer = Arc<dyn Fn(&Report) + Send + Sync>;

/// What a graph counts.
pub(crate) struct Tally {
    pub(crate) cycles: AtomicU64,
    pub(crate) last_cycle: AtomicU64,
    pub(crate) node_runs: AtomicU64,
    pub(crate) walks: AtomicU64,
    pub(crate) restarts: AtomicU64,
    pub(crate) fallbacks: AtomicU64,
    pub(crate) troubles: AtomicU64,
    pub(crate) observers: Mutex<Arc<Vec<(HookId, Observer)>>>,
    pub(crate) latest: Mutex<Option<Report>>,
}

impl Tally {
    pub(crate) fn new() -> Tally {
        let zero = || AtomicU64::new(0);
        Tally {
            cycles: zero(),
            last_cycle: zero(),
            node_runs: zero(),
            walks: zero(),
            restarts: zero(),
            fallbacks: zero(),
            troubles: zero(),
            observers: Mutex::ranked(Rank::Leaf, Arc::default()),
            latest: Mutex::ranked(Rank::Leaf, None),
        }
    }

    pub(crate) fn counters(&self) -> Counters {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counters {
            cycles: read(&self.cycles),
            last_cycle_ns: read(&self.last_cycle),
            node_runs: read(&self.node_runs),
            walks: read(&self.walks),
            snapshot_restarts: read(&self.restarts),
            snapshot_fallbacks: read(&self.fallbacks),
            troubles: read(&self.troubles),
            ..Counters::default()
        }
    }

    /// Files a report of a step that is done.
    pub(crate) fn file(&self, report: &Report) {
        let add = |counter: &AtomicU64, by: usize| counter.fetch_add(by as u64, Ordering::Relaxed);
        add(&self.cycles, 1);
        add(&self.node_runs, report.ran);
        add(&self.troubles, report.troubles.len());
        self.last_cycle.store(report.until_done.as_nanos() as u64, Ordering::Relaxed);
    }
}
