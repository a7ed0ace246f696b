//! The update graph's handle. Its methods on nodes are in `join.rs`, those on steps in `waiting.rs`.

use crate::clock::{Clock, Moment, Step};
use crate::core::Core;
use crate::cycle::Scratch;
use crate::drawing::{Drawing, draw};
use crate::env::{self, TimeSource, Wake};
use crate::error::GraphError;
use crate::extension::Extensions;
use crate::gate::Gate;
use crate::intake::Intake;
use crate::node::{Cell, NodeId};
use crate::pools::Pools;
use crate::report::{Counters, NodeTiming, Observer, Report, Tally};
use crate::spin::SpinWait;
use crate::sync::{Arc, AtomicU64, Condvar, Mutex, Ordering, Rank, Weak};
use crate::thread::CycleThread;
use crate::topology::Topology;
use std::time::{Duration, Instant};

/// The settings of a graph.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The least time between the starts of two automatic cycles; zero is at once.
    pub period: Duration,
    /// Threads for updates; all cores if absent.
    pub threads: Option<usize>,
    /// Threads for initialisation; all cores if absent.
    pub init_threads: Option<usize>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { period: Duration::from_millis(50), threads: None, init_threads: None }
    }
}

/// The order in which ready nodes run, and their threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Schedule {
    /// The newest, with the help of the pool.
    #[default]
    Pool,
    /// As `Pool`, but every ready node beyond the first is handed out, however short it is: to try the threads.
    Eager,
    /// Any, at random from this seed, on the thread that runs the cycle.
    Inline {
        /// The seed of the order: equal seeds give equal orders.
        seed: u64,
    },
}

/// The id of a hook or an observer, by which it is removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct HookId(pub(crate) u64);

/// A handle of an update graph: nodes, their order, and a logical clock. Cloning shares the graph; dropping the last
/// handle stops the cycle thread.
#[derive(Clone)]
pub struct UpdateGraph(Arc<Handle>);

/// A weak handle, which does not keep the graph running: for hooks, and for values that the graph itself owns.
#[derive(Clone)]
pub struct WeakGraph(Weak<Handle>);

struct Handle(Arc<Core>);

impl Drop for Handle {
    fn drop(&mut self) {
        if self.0.here().is_ok() {
            // The thread is not joined: the dropping thread may hold something that the last cycle waits for.
            drop(self.0.thread.tell_stop(&self.0));
        }
    }
}

impl PartialEq for UpdateGraph {
    fn eq(&self, other: &UpdateGraph) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for UpdateGraph {}

impl std::fmt::Debug for UpdateGraph {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "UpdateGraph {{ id: {}, settled: {} }}", self.id(), self.settled().number())
    }
}

impl WeakGraph {
    /// The graph, unless its last handle is gone.
    pub fn upgrade(&self) -> Option<UpdateGraph> {
        self.0.upgrade().map(UpdateGraph)
    }
}

/// Making it, and what time it is.
impl UpdateGraph {
    /// A graph that runs by the machine's clocks. It is not started.
    pub fn new(settings: Settings) -> UpdateGraph {
        UpdateGraph::with_time(settings, TimeSource::Wall)
    }

    /// A graph that runs by a clock of the caller's choice. It is not started.
    pub fn with_time(settings: Settings, time: TimeSource) -> UpdateGraph {
        UpdateGraph::owned_by(env::process(), settings, time)
    }

    pub(crate) fn owned_by(owner: u32, settings: Settings, time: TimeSource) -> UpdateGraph {
        static MADE: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
        let id = MADE.fetch_add(1, Ordering::Relaxed);
        let core = Arc::new(Core {
            id,
            owner,
            period: settings.period,
            scope: limits::Scope::current(),
            step_nanos: AtomicU64::new(time.epoch_nanos() as u64),
            step_started: AtomicU64::new(0),
            born: time.now(),
            time,
            clock: Clock::new(),
            gate: Gate::new(),
            intake: Intake::new(),
            topology: Mutex::ranked(Rank::Topology, Topology::default()),
            walk: Mutex::ranked(Rank::Leaf, None),
            scratch: Mutex::ranked(Rank::Leaf, Scratch::default()),
            hooks: Mutex::ranked(Rank::Leaf, Arc::default()),
            after: Mutex::ranked(Rank::Leaf, Vec::new()),
            tally: Tally::new(),
            schedule: Mutex::ranked(Rank::Leaf, Schedule::Pool),
            pools: Arc::new(Pools::new(id, settings.threads, settings.init_threads)),
            thread: CycleThread::new(),
            progress: Mutex::ranked(Rank::Leaf, None),
            progressed: Condvar::new(),
            spin: SpinWait::new(),
            extensions: Extensions::new(),
            hooks_made: AtomicU64::new(0),
            by_hand: false.into(),
        });
        if let TimeSource::Manual(manual) = &core.time {
            let sleeper: Arc<dyn Wake> = core.clone();
            manual.register(Arc::downgrade(&sleeper));
        }
        UpdateGraph(Arc::new(Handle(core)))
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.0.0
    }

    /// A number no other graph of this process has.
    pub fn id(&self) -> u64 {
        self.core().id
    }

    /// A handle that does not keep the graph running.
    pub fn downgrade(&self) -> WeakGraph {
        WeakGraph(Arc::downgrade(&self.0))
    }

    /// Fails in the child of a fork, where the graph's threads do not exist.
    pub fn check_process(&self) -> Result<(), GraphError> {
        self.core().here()
    }

    /// The last settled moment: *n* when idle, *n − 1* while step *n* runs.
    pub fn settled(&self) -> Moment {
        self.core().clock.settled()
    }

    /// The step under way.
    pub fn running_step(&self) -> Option<Step> {
        self.core().clock.running()
    }

    /// The graph's source of time.
    pub fn time(&self) -> &TimeSource {
        &self.core().time
    }

    /// The start of the running step, or else of the last one, in nanoseconds since 1970: the value of `now()` in a
    /// step.
    pub fn step_nanos(&self) -> i64 {
        self.core().step_nanos.load(Ordering::Relaxed) as i64
    }

    /// The start of the running step, or else of the last one, by the clock of timers.
    pub fn step_started(&self) -> Instant {
        let core = self.core();
        core.born + Duration::from_nanos(core.step_started.load(Ordering::Relaxed))
    }

    /// The least time between the starts of two automatic cycles.
    pub fn period(&self) -> Duration {
        self.core().period
    }
}

/// Around a step.
impl UpdateGraph {
    /// Registers a terminal notification. It is called once, after all nodes of the running step, when `settled()` has
    /// moved; if no step runs, at the end of the next one.
    pub fn after_step(&self, callback: Box<dyn FnOnce(Step) + Send>) {
        self.core().after.lock().push(callback);
    }

    /// A hook that runs as each step opens, before anything is drained.
    pub fn before_step(&self, hook: Arc<dyn Fn(Step) + Send + Sync>) -> HookId {
        let id = HookId(self.core().hooks_made.fetch_add(1, Ordering::Relaxed));
        let mut hooks = self.core().hooks.lock();
        Arc::make_mut(&mut hooks).push((id, hook));
        id
    }

    /// Takes a hook out.
    pub fn remove_hook(&self, id: HookId) {
        let mut hooks = self.core().hooks.lock();
        let at = hooks.iter().position(|(known, _)| *known == id);
        let dropped = at.map(|at| Arc::make_mut(&mut hooks).remove(at));
        drop(hooks);
        drop(dropped);
    }

    /// The pool that works inside steps; `None` if the machine has no thread for it, and the caller works alone.
    pub fn update_pool(&self) -> Option<&rayon::ThreadPool> {
        self.core().pools.update()
    }

    /// The pool that initialises; `None` if the machine has no thread for it, and the caller works alone.
    pub fn init_pool(&self) -> Option<&rayon::ThreadPool> {
        self.core().pools.init()
    }

    /// How many threads work inside a step; with 1 the pool need not be asked for.
    pub fn update_threads(&self) -> usize {
        self.core().pools.update_threads
    }

    /// How many threads initialise.
    pub fn init_threads(&self) -> usize {
        self.core().pools.init_threads
    }

    /// Makes the cycle's own code panic at `point`, once, after it has been passed `after` times; `None` cancels it.
    #[cfg(debug_assertions)]
    pub fn strike(&self, armed: Option<(crate::Point, usize)>) {
        self.core().pools.strikes.arm(armed);
    }

    /// Whether the step that runs, or ran last, was asked for by hand.
    pub fn is_by_hand(&self) -> bool {
        self.core().by_hand.load(Ordering::Relaxed)
    }

    /// Sets the schedule, from the next step on.
    pub fn set_schedule(&self, schedule: Schedule) {
        *self.core().schedule.lock() = schedule;
    }
}

/// Looking at it.
impl UpdateGraph {
    /// Counts.
    pub fn counters(&self) -> Counters {
        let core = self.core();
        let mut counters = core.tally.counters();
        let topology = core.topology.lock();
        counters.nodes = topology.nodes();
        counters.failed_nodes = topology.cells().filter(|cell| cell.failed()).count();
        drop(topology);
        (counters.pending, counters.timers) = core.intake.pending();
        counters
    }

    /// How often a node ran, and for how many nanoseconds in all; none of a node that has left.
    pub fn ran(&self, node: NodeId) -> Option<(u64, u64)> {
        let topology = self.core().topology.lock();
        topology.get(node).map(|cell| (cell.runs(), cell.total_nanos()))
    }

    /// The running times of every node.
    pub fn timings(&self) -> Vec<NodeTiming> {
        let topology = self.core().topology.lock();
        let known: Vec<_> = topology.cells().map(|cell| (cell.clone(), topology.parents_of(cell.id))).collect();
        drop(topology);
        // A label is foreign code, so no lock is held while it is made.
        let timing = |(cell, parents): (Arc<Cell>, Vec<NodeId>)| {
            let node = cell.node()?;
            let (label, size) = (node.label(), node.size());
            Some(NodeTiming {
                id: cell.id,
                label,
                parents,
                last_step: Moment::new(cell.last_ran()),
                last_change: Moment::new(cell.last_noted()),
                last_nanos: cell.last_nanos(),
                total_nanos: cell.total_nanos(),
                runs: cell.runs(),
                failed: cell.failed(),
                size,
            })
        };
        known.into_iter().filter_map(timing).collect()
    }

    /// The nodes and edges as text for Graphviz or Mermaid.
    pub fn draw(&self, drawing: Drawing) -> String {
        draw(&self.timings(), drawing)
    }

    /// Calls `observer` after each cycle, on the thread that ran it, until [`UpdateGraph::remove_observer`].
    pub fn observe(&self, observer: Observer) -> HookId {
        let id = HookId(self.core().hooks_made.fetch_add(1, Ordering::Relaxed));
        let mut observers = self.core().tally.observers.lock();
        Arc::make_mut(&mut observers).push((id, observer));
        id
    }

    /// Takes an observer out.
    pub fn remove_observer(&self, id: HookId) {
        let mut observers = self.core().tally.observers.lock();
        let at = observers.iter().position(|(known, _)| *known == id);
        let dropped = at.map(|at| Arc::make_mut(&mut observers).remove(at));
        drop(observers);
        drop(dropped);
    }

    /// The report of the last cycle.
    pub fn last_report(&self) -> Option<Report> {
        self.core().tally.latest.lock().clone()
    }
}
