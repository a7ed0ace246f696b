//! The executor runs the nodes of a walk: on one thread while only one node is ready, with the pool when several are.

use crate::clock::Step;
use crate::env;
use crate::failpoints::Point;
use crate::node::{Cell, Outcome, panic_message};
use crate::pools::Pools;
use crate::signals;
use crate::sync::{Arc, Guard, Ordering};
use crate::walk::{NodeState, Ready, Walk};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// Expected work, in nanoseconds, below which waking another thread costs more than it saves.
pub(crate) const WORTH_A_WAKE_NANOS: u64 = 30_000;

/// Settling more children than this takes longer than reading the clock.
const TIMED_CHILDREN: usize = 8;

/// The threads that may work on a walk, and their order of work.
#[derive(Clone)]
pub(crate) struct Crew {
    pub(crate) pools: Arc<Pools>,
    /// Pool tasks beside the leader.
    pub(crate) helpers: usize,
    /// The least expected work that is handed to helpers, in nanoseconds.
    pub(crate) worth: u64,
    /// A seed for picking ready nodes at random; without it the newest ready node runs first.
    pub(crate) seed: Option<u64>,
}

/// Runs every node of the walk and returns when all have settled. `buffers` keeps its memory from step to step. An
/// error is a panic outside the nodes' code: then no thread works on the walk any more, and some of its nodes have not
/// run.
pub(crate) fn lead(walk: &Arc<Walk>, crew: &Crew, step: Step, buffers: &mut Buffers) -> Result<(), String> {
    let led = catch_unwind(AssertUnwindSafe(|| run_walk(walk, crew, step, buffers)));
    let Some(message) = led.map_or_else(|payload| Some(panic_message(payload)), Result::err) else {
        return Ok(());
    };
    let mut ready = walk.ready.lock();
    ready.broken.get_or_insert_with(|| message.clone());
    ready.queue.clear();
    while ready.helpers > 0 {
        ready.leader_waits = true;
        ready = walk.bell.wait(ready);
        ready.leader_waits = false;
    }
    Err(message)
}

fn run_walk(walk: &Arc<Walk>, crew: &Crew, step: Step, buffers: &mut Buffers) -> Result<(), String> {
    let mut worker = Worker::new(walk, crew, step, std::mem::take(buffers));
    for &root in &walk.roots {
        if walk.is_root_ready(root) {
            worker.push(root);
        }
    }
    loop {
        crew.pools.strikes.pass(Point::Lead);
        worker.work();
        worker.report_settled();
        let mut ready = walk.ready.lock();
        loop {
            if let Some(message) = &ready.broken {
                return Err(message.clone());
            }
            if let Some(index) = ready.queue.pop_front() {
                worker.push(index);
                break;
            }
            if walk.unsettled.load(Ordering::Acquire) == 0 {
                drop(ready);
                *buffers = worker.buffers;
                return Ok(());
            }
            assert!(ready.helpers > 0, "nodes of {step:?} wait for each other: the graph has a loop");
            ready.leader_waits = true;
            let Some(poll) = signals::poll() else {
                ready = walk.bell.wait(ready);
                ready.leader_waits = false;
                continue;
            };
            ready = walk.bell.wait_timeout(ready, signals::POLL_EVERY);
            ready.leader_waits = false;
            // A leader that is woken for work takes it at once. Polling for signals first could block on the embedding
            // program's own lock.
            let woken = !ready.queue.is_empty() || ready.broken.is_some();
            if !woken && walk.unsettled.load(Ordering::Acquire) != 0 {
                drop(ready);
                poll();
                ready = walk.ready.lock();
            }
        }
        drop(ready);
        // The time that the leader slept is not counted as a node's running time.
        worker.last = env::now();
    }
}

/// A helper (pool task): takes ready nodes until there are none, then returns. It never waits.
fn help(walk: &Arc<Walk>, crew: &Crew) {
    let Err(payload) = catch_unwind(AssertUnwindSafe(|| help_out(walk, crew))) else {
        return;
    };
    let mut ready = walk.ready.lock();
    ready.broken.get_or_insert_with(|| panic_message(payload));
    ready.queue.clear();
    go_home(walk, ready);
}

/// Counts a helper out, and wakes a leader that waits for the last one.
fn go_home(walk: &Walk, mut ready: Guard<'_, Ready>) {
    ready.helpers -= 1;
    if ready.broken.is_some() && std::mem::take(&mut ready.leader_waits) {
        walk.bell.notify_one();
    }
}

fn help_out(walk: &Arc<Walk>, crew: &Crew) {
    let mut worker: Option<Worker<'_>> = None;
    loop {
        let (index, step) = {
            let mut ready = walk.ready.lock();
            match (ready.queue.pop_front(), ready.step) {
                (Some(index), Some(step)) => (index, step),
                _ => {
                    go_home(walk, ready);
                    return;
                }
            }
        };
        crew.pools.strikes.pass(Point::Help);
        let worker = worker.get_or_insert_with(|| Worker::new(walk, crew, step, Buffers::default()));
        worker.step = step;
        worker.push(index);
        worker.work();
        worker.report_settled();
    }
}

/// Lists whose memory is reused from step to step.
#[derive(Default)]
pub(crate) struct Buffers {
    /// Ready nodes, each with its expected running time in nanoseconds.
    ready: Vec<(u32, u64)>,
    wave: Vec<(u32, bool)>,
}

struct Worker<'a> {
    walk: &'a Arc<Walk>,
    crew: &'a Crew,
    step: Step,
    buffers: Buffers,
    /// The number of nodes that this worker has settled and not reported yet.
    settled: usize,
    last: Instant,
    /// The running time of the last node: in a step with much to do, the next node is likely to take as long.
    recent: u64,
    /// The sum of the expected running times in the ready list.
    promised: u64,
    random: u64,
}

impl<'a> Worker<'a> {
    fn new(walk: &'a Arc<Walk>, crew: &'a Crew, step: Step, buffers: Buffers) -> Worker<'a> {
        let random = crew.seed.unwrap_or(0) ^ step.number().wrapping_mul(0x9E37_79B9_7F4A_7C15);
        Worker { walk, crew, step, buffers, settled: 0, last: env::now(), recent: 0, promised: 0, random }
    }

    /// Runs the ready nodes of this worker, and the nodes that become ready by them.
    fn work(&mut self) {
        self.share();
        while let Some(index) = self.take() {
            let fate = self.run(index);
            self.crew.pools.strikes.pass(Point::Tell);
            self.settle(index, fate);
            self.share();
        }
    }

    fn push(&mut self, index: u32) {
        let nanos = expected_nanos(&self.walk.cells[index as usize]);
        self.promised += nanos;
        self.buffers.ready.push((index, nanos));
    }

    fn take(&mut self) -> Option<u32> {
        let ready = &mut self.buffers.ready;
        if self.crew.seed.is_some() && ready.len() > 1 {
            self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let pick = (mix(self.random) % ready.len() as u64) as usize;
            let last = ready.len() - 1;
            ready.swap(pick, last);
        }
        let (index, nanos) = ready.pop()?;
        self.promised -= nanos;
        Some(index)
    }

    fn run(&mut self, index: u32) -> NodeState {
        let cell = &self.walk.cells[index as usize];
        if self.walk.node_state(index) == NodeState::FailEarly {
            cell.record(self.step, Outcome::Failed, 0);
            return NodeState::Failed;
        }
        let outcome = run_cell(cell, self.step, &mut self.last);
        self.recent = cell.last_nanos();
        outcome.map_or(NodeState::Gone, NodeState::from)
    }

    /// Settles a node and, in the same sweep, all downstream nodes that have nothing to do.
    fn settle(&mut self, index: u32, fate: NodeState) {
        let before = self.settled;
        self.settle_one(index, fate);
        while let Some((quiet, _)) = self.buffers.wave.pop() {
            self.settle_one(quiet, NodeState::Unchanged);
        }
        if self.settled - before + self.walk.children(index).len() > TIMED_CHILDREN {
            // A long sweep is not counted as a node's running time; for a short one, reading the clock would cost more.
            self.last = env::now();
        }
    }

    fn settle_one(&mut self, index: u32, fate: NodeState) {
        self.walk.settle(index, fate);
        self.settled += 1;
        let walk = self.walk;
        for &child in walk.children(index) {
            self.satisfy(child, fate);
        }
        for child in walk.late_children(index).into_iter().flatten() {
            self.satisfy(child, fate);
        }
    }

    #[inline]
    fn satisfy(&mut self, child: u32, fate: NodeState) {
        match self.walk.satisfy(child, fate.has_changed()) {
            Some(true) => self.push(child),
            Some(false) => self.buffers.wave.push((child, false)),
            None => {}
        }
    }

    /// Keeps one ready node and hands the rest to helpers, if there are helpers and the rest is worth a wake-up.
    fn share(&mut self) {
        let ready = &mut self.buffers.ready;
        if ready.len() < 2 || self.crew.helpers == 0 {
            return;
        }
        let surplus = ready.len() - 1;
        let (kept, kept_nanos) = ready[surplus];
        let worth = (self.promised - kept_nanos).max(self.recent.saturating_mul(surplus as u64));
        if worth < self.crew.worth {
            return;
        }
        let mut shared = self.walk.ready.lock();
        if shared.broken.is_some() {
            return;
        }
        shared.queue.extend(ready.drain(..surplus).map(|(index, _)| index));
        self.promised = kept_nanos;
        debug_assert_eq!(ready[..], [(kept, kept_nanos)]);
        // The thread that wakes the leader clears the flag, so that a sleeping leader is counted once.
        let for_leader = usize::from(std::mem::take(&mut shared.leader_waits));
        let wanted = (surplus - for_leader).min(self.crew.helpers.saturating_sub(shared.helpers));
        shared.helpers += wanted;
        drop(shared);
        if for_leader == 1 {
            self.walk.bell.notify_one();
        }
        let send = |_: &usize| {
            let (walk, crew) = (self.walk.clone(), self.crew.clone());
            !self.crew.pools.spawn_update(move || help(&walk, &crew))
        };
        let refused = (0..wanted).filter(send).count();
        if refused > 0 {
            // The pool has no thread for these helpers: this worker empties the queue itself.
            self.walk.ready.lock().helpers -= refused;
        }
    }

    /// Subtracts the settled nodes from the count of unsettled ones; the thread that brings it to zero wakes the
    /// leader.
    fn report_settled(&mut self) {
        let settled = std::mem::take(&mut self.settled);
        if settled > 0 && self.walk.unsettled.fetch_sub(settled, Ordering::AcqRel) == settled {
            let mut shared = self.walk.ready.lock();
            if std::mem::take(&mut shared.leader_waits) {
                self.walk.bell.notify_one();
            }
        }
    }
}

/// Runs one node and records its running time, measured from the end of the last node on this thread: one clock read
/// per node.
pub(crate) fn run_cell(cell: &Cell, step: Step, last: &mut Instant) -> Option<Outcome> {
    let outcome = cell.run(step)?;
    let now = env::now();
    let nanos = now.saturating_duration_since(*last).as_nanos() as u64;
    *last = now;
    cell.record(step, outcome, nanos);
    Some(outcome)
}

/// The end of splitmix64.
fn mix(state: u64) -> u64 {
    let mut mixed = state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// The running time of the node's last run; a node that never ran counts as long.
fn expected_nanos(cell: &Cell) -> u64 {
    if cell.runs() == 0 { WORTH_A_WAKE_NANOS } else { cell.last_nanos() }
}
