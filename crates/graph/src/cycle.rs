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

/// Walks kept for the sets of active sources that come back.
const WALKS_KEPT: usize = 8;

/// Who wants the cycle.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// The cycle thread: a cycle that would find nothing does not run.
    Automatically,
    /// `step()`: it runs in any case.
    ByHand,
}

/// What one cycle leaves for the next, so that a steady graph allocates nothing.
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

/// Runs one cycle; `None` if there was nothing to do, or it was abandoned before its turn. The error is a panic of the
/// cycle itself: the step is closed all the same.
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
    /// Only the holder of the gate touches it; it is moved out so that no lock is held while nodes run.
    scratch: Scratch,
    walk: Option<Arc<Walk>>,
    /// The first panic that was nobody's but the cycle's.
    broken: Option<String>,
}

impl<'a> Cycle<'a> {
    fn open(core: &'a Arc<Core>, started: Instant) -> Cycle<'a> {
        let mut scratch = std::mem::take(&mut *core.scratch.lock());
        scratch.active.clear();
        let started_nanos = core.time.epoch_nanos();
        core.step_nanos.store(started_nanos as u64, Ordering::Relaxed);
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

    /// The panic is the cycle's own: whatever happens, the step goes to its end.
    fn broke(&mut self, message: String) {
        self.report.troubles.push(format!("the cycle itself panicked: {message}"));
        self.broken.get_or_insert(message);
    }

    /// A part of the cycle that can be begun again: twice, if it panics.
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

    /// What the walk had not come to fails; what had been taken without a walk is for the next step.
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

    /// Takes what is active and seals it, while no writer queues; takes or makes the walk below it.
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

    /// From here on, who joins runs last in this step instead of in the walk.
    fn take_walk(&mut self) {
        let core = self.core;
        let scratch = &mut self.scratch;
        let mut dropped = Vec::new();
        let mut topology = core.topology.lock();
        topology.walking = Some(self.step);
        if scratch.version != topology.version() {
            // Also what keeps a node that is gone from leaving its memory behind.
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

    /// The step settles, whatever happens on the way.
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

    /// Runs the nodes that joined meanwhile, in order, until none is left; in that instant the step settles. In a step
    /// that broke off they fail instead, as those above them have.
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

    /// Lets every node that ran drop what only this step needed. After `settled()` moved: a reader that pinned the old
    /// moment finds it gone and starts again at the new one; before, it would find it gone and the new one not there.
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

    /// For those who look on: before anything is dropped, since a node's volume is told by its parents, too.
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

    /// Terminal notifications.
    fn notify(&mut self) {
        let asked = std::mem::take(&mut *self.core.after.lock());
        self.scratch.callbacks.extend(asked);
        self.core.pools.strikes.pass(Point::Notify);
        while let Some(callback) = self.scratch.callbacks.pop_front() {
            self.guard("a terminal notification", callback);
        }
        self.report.until_done = self.start.elapsed();
    }

    /// Files the report, and tells those who look on.
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
            // What it kept may be half made: the next step begins anew.
            Some(message) => Err(GraphError::Broken { step, message }),
        }
    }

    /// Foreign code that has no node to fail.
    fn guard(&mut self, what: &str, body: impl FnOnce(Step)) {
        let step = self.step;
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| body(step))) {
            self.report.troubles.push(format!("{what} panicked: {}", panic_message(payload)));
        }
    }
}
