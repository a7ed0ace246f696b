//! The update graph: what everybody else holds.

use crate::clock::{Clock, Moment, Moved, Step};
use crate::cycle::{self, Asked, Scratch};
use crate::env::{self, TimeSource, Wake};
use crate::error::GraphError;
use crate::executor::Crew;
use crate::gate::{CallbackScope, FunctionScope, Gate, SharedLock, TransactionScope};
use crate::intake::Intake;
use crate::marks::{self, Mark};
use crate::node::{Cell, Node, NodeId, Registration};
use crate::pools::Pools;
use crate::report::{Counters, NodeTiming, Observer, Report, Tally};
use crate::snapshot;
use crate::sync::{Arc, AtomicU64, Condvar, Guard, Mutex, Ordering, Rank, Weak};
use crate::thread::CycleThread;
use crate::topology::{Joined, Topology};
use crate::walk::Walk;
use std::time::{Duration, Instant};

/// How a graph runs.
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
        Settings {
            period: Duration::from_millis(50),
            threads: None,
            init_threads: None,
        }
    }
}

/// Which ready node runs next, on which thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Schedule {
    /// The newest, with the help of the pool.
    #[default]
    Pool,
    /// Any, at random from this seed, on the thread that runs the cycle.
    Inline {
        /// The same seed gives the same order.
        seed: u64,
    },
}

/// A hook's place, to take it out again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct HookId(u64);

type Hook = Arc<dyn Fn(Step) + Send + Sync>;

/// Nodes, their order, and one integer of time. Cloning it clones a handle; the last handle stops the cycle thread.
#[derive(Clone)]
pub struct UpdateGraph(Arc<Handle>);

/// A handle that keeps no graph running: for hooks, and for what the graph itself owns.
#[derive(Clone)]
pub struct WeakGraph(Weak<Handle>);

struct Handle(Arc<Core>);

/// The graph itself. The cycle thread and registrations hold it, too.
pub(crate) struct Core {
    pub(crate) id: u64,
    owner: u32,
    pub(crate) period: Duration,
    pub(crate) time: TimeSource,
    /// Start of the running or the last step, in nanoseconds since 1970.
    pub(crate) step_nanos: AtomicU64,
    pub(crate) clock: Clock,
    pub(crate) gate: Gate,
    pub(crate) intake: Intake,
    pub(crate) topology: Mutex<Topology>,
    /// The walk of the running step.
    pub(crate) walk: Mutex<Option<Arc<Walk>>>,
    pub(crate) scratch: Mutex<Scratch>,
    pub(crate) hooks: Mutex<Arc<Vec<(HookId, Hook)>>>,
    pub(crate) after: Mutex<Vec<Box<dyn FnOnce(Step) + Send>>>,
    pub(crate) tally: Tally,
    schedule: Mutex<Schedule>,
    pools: Arc<Pools>,
    thread: CycleThread,
    progress: Mutex<()>,
    progressed: Condvar,
    hooks_made: AtomicU64,
}

impl Core {
    /// Refuses the child of a fork.
    pub(crate) fn here(&self) -> Result<(), GraphError> {
        let child = env::process();
        if child == self.owner {
            Ok(())
        } else {
            Err(GraphError::Forked {
                owner: self.owner,
                child,
            })
        }
    }

    /// Whether this thread may take the shared lock.
    pub(crate) fn may_share(&self) -> Result<(), GraphError> {
        self.here()?;
        match marks::innermost(self.id) {
            Some(Mark::Step) => return Err(GraphError::InsideStep),
            Some(Mark::Callback) => return Err(GraphError::InsideCallback),
            Some(Mark::Intake) => return Err(GraphError::InsideTransaction),
            None => {}
        }
        if self.gate.standing().functions > 0 {
            Err(GraphError::InsideStep)
        } else {
            Ok(())
        }
    }

    fn may_wait(&self) -> Result<(), GraphError> {
        self.may_share()?;
        let standing = self.gate.standing();
        if standing.callbacks > 0 {
            return Err(GraphError::InsideCallback);
        }
        if standing.shared > 0 {
            return Err(GraphError::UnderSharedLock);
        }
        if standing.transactions > 0 {
            return Err(GraphError::InsideTransaction);
        }
        Ok(())
    }

    pub(crate) fn crew(&self) -> Crew {
        let (helpers, seed) = match *self.schedule.lock() {
            Schedule::Pool => (self.pools.update_threads - 1, None),
            Schedule::Inline { seed } => (0, Some(seed)),
        };
        Crew {
            pools: self.pools.clone(),
            helpers,
            seed,
        }
    }

    /// How long the cycle thread may sleep; a manual clock rings when it is moved.
    pub(crate) fn sleep_until(&self, when: Instant) -> Option<Duration> {
        match &self.time {
            TimeSource::Wall => Some(when.saturating_duration_since(env::now())),
            TimeSource::Manual(_) => None,
        }
    }

    /// `settled()` has moved: whoever waits for it looks again.
    pub(crate) fn announce(&self) {
        // Between looking and sleeping a waiter holds the lock: it cannot miss this.
        drop(self.progress.lock());
        self.progressed.notify_all();
    }

    pub(crate) fn remove(&self, id: NodeId) {
        if self.here().is_err() {
            return;
        }
        let cell = self.topology.lock().remove(id);
        if cell.is_some() {
            self.intake.forget(id);
        }
    }
}

impl Wake for Core {
    fn wake(&self) {
        self.intake.ring();
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.0.here().is_ok() {
            // Not joined: whoever drops the last handle may hold what the last cycle is waiting for.
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
        write!(
            out,
            "UpdateGraph {{ id: {}, settled: {} }}",
            self.id(),
            self.settled().number()
        )
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
            step_nanos: AtomicU64::new(time.epoch_nanos() as u64),
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
            progress: Mutex::ranked(Rank::Leaf, ()),
            progressed: Condvar::new(),
            hooks_made: AtomicU64::new(0),
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

    /// Refuses the child of a fork: for doors whose calls cannot fail otherwise.
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

    /// Where the graph takes its time from.
    pub fn time(&self) -> &TimeSource {
        &self.core().time
    }

    /// When the running step started, or else the last one: the one value of `now()` in a step.
    pub fn step_nanos(&self) -> i64 {
        self.core().step_nanos.load(Ordering::Relaxed) as i64
    }

    /// The least time between the starts of two automatic cycles.
    pub fn period(&self) -> Duration {
        self.core().period
    }
}

/// Nodes.
impl UpdateGraph {
    /// Takes in a node without parents. The graph holds it weakly: it is in the graph until the registration is dropped.
    pub fn source(&self, node: &Arc<dyn Node>) -> Registration {
        let cell = self
            .core()
            .topology
            .lock()
            .insert(Arc::downgrade(node), &[]);
        Registration::new(cell.id, self.core().clone())
    }

    /// Takes in a node that was initialised at `pinned`, if that is still the settled moment. Idle: it runs from the
    /// next step. While step `pinned + 1` runs: it runs last in that step if a parent noted something, in order of joining.
    pub fn join(
        &self,
        node: &Arc<dyn Node>,
        parents: &[NodeId],
        pinned: Moment,
    ) -> Result<Registration, Moved> {
        let core = self.core();
        core.here().map_err(|_| Moved)?;
        let mut topology = core.topology.lock();
        if core.clock.settled() != pinned {
            return Err(Moved);
        }
        let cell = topology.insert(Arc::downgrade(node), parents);
        let id = cell.id;
        if let Some(step) = topology.walking {
            cell.note_joined(step);
            let parents = parents
                .iter()
                .filter_map(|parent| topology.get(*parent).cloned())
                .collect();
            topology.joined.push(Joined { cell, parents });
        }
        drop(topology);
        Ok(Registration::new(id, core.clone()))
    }

    /// Takes in a node that was initialised at `step.now()` from inputs that have settled in that step, while it runs.
    /// It runs from the next step on.
    pub fn join_in_step(
        &self,
        node: &Arc<dyn Node>,
        parents: &[NodeId],
        step: Step,
    ) -> Result<Registration, Moved> {
        let core = self.core();
        core.here().map_err(|_| Moved)?;
        let mut topology = core.topology.lock();
        if topology.walking != Some(step) {
            return Err(Moved);
        }
        let cell = topology.insert(Arc::downgrade(node), parents);
        drop(topology);
        Ok(Registration::new(cell.id, core.clone()))
    }

    /// Makes `child` wait for `parent`, too, from the next step on. Refused if `parent` waits for `child`.
    pub fn depend(&self, child: NodeId, parent: NodeId) -> Result<(), GraphError> {
        self.core().here()?;
        let mut topology = self.core().topology.lock();
        if topology.reaches(child, parent) {
            return Err(loop_error(topology, child, parent));
        }
        topology.connect(parent, child);
        Ok(())
    }

    /// Makes `child` wait for `parent`, too, from the running step on. Only from inside the run of a node that `child`
    /// waits for: so it cannot have started. `Moved` if `step` does not run, `child` has started, or `parent` joined
    /// this step and runs after all others.
    pub fn depend_in_step(
        &self,
        child: NodeId,
        parent: NodeId,
        step: Step,
    ) -> Result<Result<(), Moved>, GraphError> {
        self.core().here()?;
        let mut topology = self.core().topology.lock();
        if topology.reaches(child, parent) {
            return Err(loop_error(topology, child, parent));
        }
        let cuts = topology.cuts();
        let late_parent = topology
            .get(parent)
            .is_some_and(|cell| cell.joined_in(step));
        if topology.walking != Some(step) || late_parent {
            return Ok(Err(Moved));
        }
        let Some(walk) = self.core().walk.lock().clone() else {
            return Ok(Err(Moved));
        };
        if let (Some(above), Some(below)) = (walk.index_of(parent), walk.index_of(child)) {
            if walk.reaches(below, above, cuts) {
                return Err(loop_error(topology, child, parent));
            }
            if !walk.add_late_edge(above, below) {
                return Ok(Err(Moved));
            }
        }
        // A parent that is not reached has settled; a child that is not joined this step and runs last.
        topology.connect(parent, child);
        Ok(Ok(()))
    }

    /// `child` no longer waits for `parent`, from the next step on.
    pub fn independ(&self, child: NodeId, parent: NodeId) {
        if self.core().here().is_ok() {
            self.core().topology.lock().disconnect(parent, child);
        }
    }

    /// The nodes that `node` waits for.
    pub fn parents(&self, node: NodeId) -> Vec<NodeId> {
        self.core().topology.lock().parents_of(node)
    }
}

fn loop_error(topology: Guard<'_, Topology>, child: NodeId, parent: NodeId) -> GraphError {
    let (child, parent) = (topology.get(child).cloned(), topology.get(parent).cloned());
    // A label is foreign code: no lock is held.
    drop(topology);
    let label = |cell: Option<Arc<Cell>>| {
        cell.and_then(|cell| cell.node())
            .map_or_else(|| "a node that is gone".to_owned(), |node| node.label())
    };
    GraphError::Loop {
        child: label(child),
        parent: label(parent),
    }
}

/// What waits for the next step.
impl UpdateGraph {
    /// The source has something for the next step. From any thread, from inside a step as well.
    pub fn activate(&self, source: NodeId) {
        let core = self.core();
        if core.here().is_ok() {
            // Under the intake lock a cycle thread would wake only to wait for it: it is rung when the lock is let go.
            core.intake
                .activate(source, !marks::has(core.id, Mark::Intake));
        }
    }

    /// The source becomes active in the first step that starts at or after `when`.
    pub fn activate_at(&self, source: NodeId, when: Instant) {
        let core = self.core();
        if core.here().is_ok() {
            core.intake.activate_at(source, when);
        }
    }

    /// Queues to several sources so that one step takes all of it. A call inside another joins it.
    pub fn intake<R>(&self, queue: impl FnOnce() -> R) -> R {
        let core = self.core();
        if marks::has(core.id, Mark::Intake) || core.here().is_err() {
            return queue();
        }
        let taking = core.intake.taking.lock();
        let mark = marks::enter(core.id, Mark::Intake);
        let ring = RingAfter { core };
        let result = queue();
        drop(mark);
        drop(taking);
        drop(ring);
        result
    }
}

/// Rings for what was queued, even if the closure panicked: what it had queued by then is pending.
struct RingAfter<'a> {
    core: &'a Core,
}

impl Drop for RingAfter<'_> {
    fn drop(&mut self) {
        self.core.intake.ring_if_pending();
    }
}

/// Running and waiting.
impl UpdateGraph {
    /// Runs one cycle now, with whatever is pending; returns after its terminal notifications.
    pub fn step(&self) -> Result<Step, GraphError> {
        self.core().may_wait()?;
        let step = cycle::run(self.core(), Asked::ByHand, &|| false);
        Ok(step.expect("a cycle by hand is never abandoned"))
    }

    /// Starts the cycle thread, unless it runs.
    pub fn start(&self) {
        if self.core().here().is_ok() {
            self.core().thread.start(self.core());
        }
    }

    /// Stops the cycle thread and returns when the graph is idle; where waiting would hang (in a listener, inside a step,
    /// under the shared lock) it returns at once, and no further automatic cycle starts.
    pub fn stop(&self) {
        let core = self.core();
        if core.here().is_err() {
            return;
        }
        let handle = core.thread.tell_stop(core);
        if core.may_wait().is_err() {
            return;
        }
        if let Some(handle) = handle {
            // A cycle catches every panic; if the thread died all the same, there is nothing to wait for.
            let _ = handle.join();
        }
        core.gate.wait_idle();
    }

    /// Whether the cycle thread runs.
    pub fn is_started(&self) -> bool {
        self.core().here().is_ok() && self.core().thread.is_started()
    }

    /// Reads at one settled moment: again while it moved, up to eight times, then while no step runs.
    pub fn snapshot<R>(&self, read: impl FnMut(Moment) -> Result<R, Moved>) -> R {
        snapshot::read(self.core(), read)
    }

    /// Keeps steps from running while it is held. Re-entrant per thread, several holders, dropped on any thread.
    pub fn shared_lock(&self) -> Result<SharedLock, GraphError> {
        self.core().may_share()?;
        Ok(SharedLock::take(self.core()))
    }

    /// Waits until `step` has settled. `poll` is asked at least every 50 ms; when it says false the wait ends.
    pub fn wait_until(
        &self,
        step: Step,
        timeout: Option<Duration>,
        poll: &mut dyn FnMut() -> bool,
    ) -> Result<(), GraphError> {
        const POLL: Duration = Duration::from_millis(50);
        let core = self.core();
        core.may_wait()?;
        let begun = env::now();
        let deadline = timeout.and_then(|timeout| begun.checked_add(timeout));
        let mut polled = begun;
        loop {
            let guard = core.progress.lock();
            let settled = core.clock.settled();
            if settled >= step.now() {
                return Ok(());
            }
            let now = env::now();
            if deadline.is_some_and(|deadline| deadline <= now) {
                drop(guard);
                return Err(self.too_late(step, settled, now - begun));
            }
            let next = (polled + POLL).min(deadline.unwrap_or(polled + POLL));
            drop(
                core.progressed
                    .wait_timeout(guard, next.saturating_duration_since(now)),
            );
            if env::now() >= polled + POLL {
                polled = env::now();
                if !poll() {
                    return Err(GraphError::Interrupted { step });
                }
            }
        }
    }

    fn too_late(&self, step: Step, settled: Moment, waited: Duration) -> GraphError {
        if self.is_started() {
            GraphError::Timeout {
                step,
                settled,
                waited,
            }
        } else {
            GraphError::Stopped {
                step,
                settled,
                waited,
            }
        }
    }

    /// Whether this thread may wait for the graph; the error says why not.
    pub fn may_wait(&self) -> Result<(), GraphError> {
        self.core().may_wait()
    }

    /// Marks this thread as a listener's for as long as the guard lives.
    pub fn callback_scope(&self) -> CallbackScope {
        CallbackScope::enter(self.core())
    }

    /// Marks this thread as one with an open transaction for as long as the guard lives.
    pub fn transaction_scope(&self) -> TransactionScope {
        TransactionScope::enter(self.core())
    }

    /// Marks this thread as one that runs a user's function, for as long as the guard lives. Inside a step that is
    /// known already; it is for functions that run during initialisation.
    pub fn function_scope(&self) -> FunctionScope {
        FunctionScope::enter(self.core())
    }
}

/// Around a step.
impl UpdateGraph {
    /// A terminal notification: once, after every node of the running step and after `settled()` has moved. Outside a
    /// step: at the end of the next one.
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

    /// The pool that works inside steps.
    pub fn update_pool(&self) -> &rayon::ThreadPool {
        self.core().pools.update()
    }

    /// The pool that initialises.
    pub fn init_pool(&self) -> &rayon::ThreadPool {
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

    /// Chooses who runs next; from the next step on.
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

    /// Every node with what it took.
    pub fn timings(&self) -> Vec<NodeTiming> {
        let topology = self.core().topology.lock();
        let known: Vec<_> = topology
            .cells()
            .map(|cell| (cell.clone(), topology.parents_of(cell.id)))
            .collect();
        drop(topology);
        // A label is foreign code: no lock is held.
        let timing = |(cell, parents): (Arc<Cell>, Vec<NodeId>)| {
            let label = cell.node()?.label();
            Some(NodeTiming {
                id: cell.id,
                label,
                parents,
                last_step: Moment::new(cell.last_ran()),
                last_nanos: cell.last_nanos(),
                total_nanos: cell.total_nanos(),
                runs: cell.runs(),
                failed: cell.failed(),
            })
        };
        known.into_iter().filter_map(timing).collect()
    }

    /// Calls `observer` after each cycle, on the thread that ran it; `None` stops that.
    pub fn set_observer(&self, observer: Option<Observer>) {
        let old = std::mem::replace(&mut *self.core().tally.observer.lock(), observer);
        drop(old);
    }

    /// What the last cycle did.
    pub fn last_report(&self) -> Option<Report> {
        self.core().tally.latest.lock().clone()
    }
}
