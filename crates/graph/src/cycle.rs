//! One cycle: from the exclusive gate to the terminal notifications.

use crate::clock::Step;
use crate::core::Core;
use crate::error::GraphError;
use crate::executor::{self, Buffers};
use crate::failpoints::Point;
use crate::node::{Cell, NodeId, Outcome, panic_message};
use crate::report::{NodeRun, Report, trouble};
use crate::role::{self, ThreadRole};
use crate::sync::{Arc, Ordering};
use crate::topology::Joined;
use crate::walk::{NodeState, Walk};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// Cached walks, for sets of active sources that recur.
const WALKS_KEPT: usize = 8;

/// The caller of a cycle.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// The cycle thread: the cycle does not run if nothing is active.
    Automatically,
    /// `step()`: the cycle runs in any case.
    ByHand,
}

/// Buffers that one cycle leaves for the next, so that a steady graph allocates nothing.
#[derive(Default)]
pub(crate) struct Scratch {
    walks: Vec<Arc<Walk>>,
    version: u64,
    active: Vec<NodeId>,
    buffers: Buffers,
    late: Vec<(Arc<Cell>, Outcome)>,
    queue: VecDeque<Joined>,
    callbacks: VecDeque<Box<dyn FnOnce(Step) + Send>>,
}

/// Runs one cycle. `None` if nothing was active, or if `abandon` returned true while the cycle waited for the gate. An
/// error is a panic of the cycle's own code; the step is closed even then.
pub(crate) fn run(core: &Arc<Core>, asked: Asked, abandon: &dyn Fn() -> bool) -> Result<Option<Step>, GraphError> {
    let Some(gate) = core.gate.exclusive(abandon) else { return Ok(None) };
    let started = core.time.now();
    if asked == Asked::Automatically && !core.intake.has_work(started) {
        return Ok(None);
    }
    core.by_hand.store(asked == Asked::ByHand, Ordering::Relaxed);
    let mut cycle = Cycle::open(core, started);
    let inside = role::enter(core.id, ThreadRole::Step);
    cycle.run_nodes();
    cycle.close();
    cycle.insist("settling", Cycle::settle_nodes);
    drop(inside);
    let inside = role::enter(core.id, ThreadRole::Callback);
    cycle.insist("telling", Cycle::notify);
    let done = cycle.done();
    drop(inside);
    drop(gate);
    done.map(Some)
}

struct Cycle<'a> {
    core: &'a Arc<Core>,
    step: Step,
    start: Instant,
    observed: bool,
    report: Report,
    /// Used by the holder of the gate alone. It is moved out of the core, so that no lock is held while nodes run.
    scratch: Scratch,
    walk: Option<Arc<Walk>>,
    /// The first panic of the cycle's own code.
    broken: Option<String>,
}

impl<'a> Cycle<'a> {
    fn open(core: &'a Arc<Core>, started: Instant) -> Cycle<'a> {
        let mut scratch = std::mem::take(&mut *core.scratch.lock());
        scratch.active.clear();
        let started_nanos = core.time.epoch_nanos();
        core.step_nanos.store(started_nanos as u64, Ordering::Relaxed);
        let since = started.saturating_duration_since(core.born).as_nanos();
        core.step_started.store(since as u64, Ordering::Relaxed);
        let step = core.clock.open();
        let report = Report {
            step,
            started,
            started_nanos,
            until_settled: Default::default(),
            until_done: Default::default(),
            active: 0,
            reached: 0,
            ran: 0,
            changed: 0,
            failed: 0,
            joined: 0,
            nodes: Vec::new(),
            troubles: Vec::new(),
        };
        let observed = !core.tally.observers.lock().is_empty();
        Cycle { core, step, start: crate::env::now(), observed, report, scratch, walk: None, broken: None }
    }

    /// Notes a panic of the cycle's own code. The step still runs to its end.
    fn broke(&mut self, message: String) {
        self.report.troubles.push(format!("the cycle itself panicked: {message}"));
        self.broken.get_or_insert(message);
    }

    /// Runs a part of the cycle that is safe to restart, and runs it once more if it panics.
    fn insist(&mut self, what: &str, part: fn(&mut Self)) {
        for _ in 0..2 {
            match catch_unwind(AssertUnwindSafe(|| part(self))) {
                Ok(()) => return,
                Err(payload) => self.broke(format!("{what}: {}", panic_message(payload))),
            }
        }
    }

    fn run_nodes(&mut self) {
        let run = catch_unwind(AssertUnwindSafe(|| {
            self.before_step();
            self.seal();
            match self.walk.clone() {
                Some(walk) => executor::lead(&walk, &self.core.crew(), self.step, &mut self.scratch.buffers),
                None => Ok(()),
            }
        }));
        if let Err(message) = run.unwrap_or_else(|payload| Err(panic_message(payload))) {
            self.broke(message);
            self.give_up();
        }
        *self.core.walk.lock() = None;
    }

    /// Abandons the step: the nodes of the walk that had not run fail. Sources that were taken before there was a walk
    /// are active again in the next step.
    fn give_up(&mut self) {
        let Some(walk) = self.walk.clone() else {
            self.scratch.active.drain(..).for_each(|source| self.core.intake.activate(source, true));
            return;
        };
        let open: Vec<u32> = (0..walk.cells.len() as u32).filter(|index| !walk.node_state(*index).settled()).collect();
        let message = self.broken.clone().unwrap_or_default();
        for &index in &open {
            let there = walk.cells[index as usize].abandon(self.step, &message);
            walk.settle(index, if there { NodeState::Failed } else { NodeState::Gone });
        }
        open.iter().for_each(|index| walk.cells[*index as usize].abandoned(self.step));
    }

    fn before_step(&mut self) {
        let hooks = self.core.hooks.lock().clone();
        for (_, hook) in hooks.iter() {
            self.guard("a `before_step` hook", |step| hook(step));
        }
    }

    /// Takes the active sources and seals them under the intake lock, then takes a cached walk or makes one.
    fn seal(&mut self) {
        let core = self.core;
        let taking = core.intake.taking.lock();
        core.intake.take(self.report.started, &taking, &mut self.scratch.active);
        core.pools.strikes.pass(Point::TakeWalk);
        self.take_walk();
        core.pools.strikes.pass(Point::Seal);
        if let Some(walk) = &self.walk {
            for &root in &walk.roots {
                if !walk.cells[root as usize].seal(self.step) {
                    walk.fail_early(root);
                }
            }
        }
        drop(taking);
    }

    /// Takes the walk. A node that joins from here on runs last in this step instead of in the walk.
    fn take_walk(&mut self) {
        let core = self.core;
        let scratch = &mut self.scratch;
        let mut dropped = Vec::new();
        let mut topology = core.topology.lock();
        topology.walking = Some(self.step);
        if scratch.version != topology.version() {
            // Dropping the cached walks also frees the memory of nodes that are gone.
            scratch.version = topology.version();
            dropped = std::mem::take(&mut scratch.walks);
        }
        if scratch.active.is_empty() {
            return;
        }
        let known = scratch.walks.iter().position(|walk| walk.active == scratch.active);
        let walk = match known {
            Some(at) => scratch.walks[at].clone(),
            None => {
                core.tally.walks.fetch_add(1, Ordering::Relaxed);
                if scratch.walks.len() == WALKS_KEPT {
                    dropped.push(scratch.walks.remove(0));
                }
                let walk = Arc::new(topology.walk(&scratch.active));
                scratch.walks.push(walk.clone());
                walk
            }
        };
        drop(topology);
        drop(dropped);
        walk.reset(self.step);
        *core.walk.lock() = Some(walk.clone());
        self.report.active = walk.roots.len();
        self.report.reached = walk.cells.len();
        self.walk = Some(walk);
    }

    /// Settles the step, even after a panic.
    fn close(&mut self) {
        self.insist("closing", Cycle::run_joined);
        if self.core.clock.running() == Some(self.step) {
            let mut topology = self.core.topology.lock();
            let joined = std::mem::take(&mut topology.joined);
            topology.walking = None;
            self.core.clock.close(self.step);
            drop(topology);
            drop(joined);
        }
        self.core.announce();
        self.report.until_settled = self.start.elapsed();
    }

    /// Runs the nodes that joined during the step, in order of joining, until the list is empty; at that instant the
    /// clock moves. In an abandoned step these nodes fail instead, as their inputs have.
    fn run_joined(&mut self) {
        self.core.pools.strikes.pass(Point::Close);
        loop {
            while let Some(Joined { cell, parents }) = self.scratch.queue.pop_front() {
                if parents.iter().any(|parent| parent.noted_in(self.step)) {
                    let outcome = match &self.broken {
                        None => executor::run_cell(&cell, self.step, &mut crate::env::now()),
                        Some(message) => cell.abandon(self.step, message).then_some(Outcome::Failed),
                    };
                    if self.broken.is_some() {
                        cell.abandoned(self.step);
                    }
                    self.scratch.late.extend(outcome.map(|outcome| (cell, outcome)));
                }
            }
            let mut topology = self.core.topology.lock();
            if topology.joined.is_empty() {
                topology.walking = None;
                self.core.clock.close(self.step);
                return;
            }
            self.scratch.queue.extend(topology.joined.drain(..));
        }
    }

    /// Calls `settle` of every node that ran, which drops its previous values. The clock has moved before that: a
    /// reader that pinned the old moment finds it gone, and the new moment is there to start again. In the other order
    /// the reader would find the old moment gone and the new one not there yet.
    fn settle_nodes(&mut self) {
        (self.report.ran, self.report.changed, self.report.failed) = (0, 0, 0);
        let walk = self.walk.clone();
        let walk = walk.as_deref();
        if self.observed {
            self.observe_nodes(walk);
        }
        for (index, cell) in walk.map_or(&[][..], |walk| &walk.cells).iter().enumerate() {
            let outcome = walk.and_then(|walk| walk.node_state(index as u32).outcome());
            if let Some(outcome) = outcome {
                self.settle_node(cell, outcome);
            }
        }
        self.core.pools.strikes.pass(Point::Settle);
        self.report.joined = self.scratch.late.len();
        for at in 0..self.scratch.late.len() {
            let (cell, outcome) = self.scratch.late[at].clone();
            self.settle_node(&cell, outcome);
        }
        self.scratch.late.clear();
    }

    /// Collects metrics for the observers. This runs before any node settles, because a node's volume is read from the
    /// updates of its parents.
    fn observe_nodes(&mut self, walk: Option<&Walk>) {
        let cells = walk.map_or(&[][..], |walk| &walk.cells).iter().enumerate();
        let walked = cells.filter_map(|(index, cell)| Some((cell, walk?.node_state(index as u32).outcome()?)));
        let joined = self.scratch.late.iter().map(|(cell, outcome)| (cell, *outcome));
        let runs: Vec<NodeRun> =
            walked.chain(joined).filter_map(|(cell, outcome)| cell.seen(self.step, outcome)).collect();
        self.report.nodes = runs;
    }

    fn settle_node(&mut self, cell: &Cell, outcome: Outcome) {
        self.report.ran += 1;
        match outcome {
            Outcome::Changed => self.report.changed += 1,
            Outcome::Failed => self.report.failed += 1,
            Outcome::Quiet => {}
        }
        if let Err(message) = cell.settle(self.step) {
            self.report.troubles.push(format!("`settle` of a node panicked: {message}"));
        }
    }

    /// Calls the terminal notifications.
    fn notify(&mut self) {
        let asked = std::mem::take(&mut *self.core.after.lock());
        self.scratch.callbacks.extend(asked);
        self.core.pools.strikes.pass(Point::Notify);
        while let Some(callback) = self.scratch.callbacks.pop_front() {
            self.guard("a terminal notification", callback);
        }
        self.report.until_done = self.start.elapsed();
    }

    /// Stores the report and calls the observers.
    fn done(self) -> Result<Step, GraphError> {
        let Cycle { core, step, report, scratch, broken, .. } = self;
        core.tally.file(&report);
        report.troubles.iter().for_each(|text| trouble(&format!("graph {}, step {}: {text}", core.id, step.number())));
        let observers = core.tally.observers.lock().clone();
        for (_, observer) in observers.iter() {
            let seen = catch_unwind(AssertUnwindSafe(|| observer(&report)));
            if seen.is_err() {
                core.tally.troubles.fetch_add(1, Ordering::Relaxed);
            }
        }
        *core.tally.latest.lock() = Some(report);
        match broken {
            None => {
                *core.scratch.lock() = scratch;
                Ok(step)
            }
            // The buffers may be half made: the next step starts with new ones.
            Some(message) => Err(GraphError::Broken { step, message }),
        }
    }

    /// Runs foreign code that belongs to no node; a panic is noted in the report.
    fn guard(&mut self, what: &str, body: impl FnOnce(Step)) {
        let step = self.step;
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| body(step))) {
            self.report.troubles.push(format!("{what} panicked: {}", panic_message(payload)));
        }
    }
}
