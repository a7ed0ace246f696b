//! One cycle: from the exclusive gate to the terminal notifications.

use crate::clock::Step;
use crate::core::Core;
use crate::executor::{self, Buffers};
use crate::marks::{self, Mark};
use crate::node::{Cell, NodeId, Outcome, panic_message};
use crate::report::{NodeRun, Report};
use crate::sync::{Arc, Ordering};
use crate::topology::Joined;
use crate::walk::Walk;
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
    queue: Vec<Joined>,
}

/// Runs one cycle; `None` if there was nothing to do, or it was abandoned before its turn.
pub(crate) fn run(core: &Arc<Core>, asked: Asked, abandon: &dyn Fn() -> bool) -> Option<Step> {
    let gate = core.gate.exclusive(abandon)?;
    let started = core.time.now();
    if asked == Asked::Automatically && !core.intake.has_work(started) {
        return None;
    }
    // Only the holder of the gate touches it; it is moved out so that no lock is held while nodes run.
    let mut scratch = std::mem::take(&mut *core.scratch.lock());
    let mut cycle = Cycle::open(core, started);
    let inside = marks::enter(core.id, Mark::Step);
    cycle.before_step();
    let walk = cycle.seal(&mut scratch);
    if let Some(walk) = &walk {
        executor::lead(walk, &core.crew(), cycle.step, &mut scratch.buffers);
    }
    *core.walk.lock() = None;
    cycle.run_joined(&mut scratch);
    cycle.settle_nodes(walk.as_deref(), &mut scratch);
    drop(inside);
    let step = cycle.step;
    cycle.notify();
    *core.scratch.lock() = scratch;
    drop(gate);
    Some(step)
}

struct Cycle<'a> {
    core: &'a Arc<Core>,
    step: Step,
    start: Instant,
    observed: bool,
    report: Report,
}

impl<'a> Cycle<'a> {
    fn open(core: &'a Arc<Core>, started: Instant) -> Cycle<'a> {
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
        Cycle { core, step, start: crate::env::now(), observed, report }
    }

    fn before_step(&mut self) {
        let hooks = self.core.hooks.lock().clone();
        for (_, hook) in hooks.iter() {
            self.guard("a `before_step` hook", |step| hook(step));
        }
    }

    /// Takes what is active and seals it, while no writer queues; takes or makes the walk below it.
    fn seal(&mut self, scratch: &mut Scratch) -> Option<Arc<Walk>> {
        let core = self.core;
        let taking = core.intake.taking.lock();
        core.intake.take(self.report.started, &taking, &mut scratch.active);
        let walk = self.take_walk(scratch);
        if let Some(walk) = &walk {
            for &root in &walk.roots {
                if !walk.cells[root as usize].seal(self.step) {
                    walk.doom(root);
                }
            }
        }
        drop(taking);
        walk
    }

    /// From here on, who joins runs last in this step instead of in the walk.
    fn take_walk(&mut self, scratch: &mut Scratch) -> Option<Arc<Walk>> {
        let core = self.core;
        let mut dropped = Vec::new();
        let mut topology = core.topology.lock();
        topology.walking = Some(self.step);
        if scratch.version != topology.version() {
            // Also what keeps a node that is gone from leaving its memory behind.
            scratch.version = topology.version();
            dropped = std::mem::take(&mut scratch.walks);
        }
        if scratch.active.is_empty() {
            return None;
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
        Some(walk)
    }

    /// Runs the nodes that joined meanwhile, in order, until none is left; in that instant the step settles.
    fn run_joined(&mut self, scratch: &mut Scratch) {
        loop {
            let mut topology = self.core.topology.lock();
            if topology.joined.is_empty() {
                topology.walking = None;
                self.core.clock.close(self.step);
                drop(topology);
                break;
            }
            std::mem::swap(&mut topology.joined, &mut scratch.queue);
            drop(topology);
            for Joined { cell, parents } in scratch.queue.drain(..) {
                if parents.iter().any(|parent| parent.noted_in(self.step)) {
                    let outcome = executor::run_cell(&cell, self.step, &mut crate::env::now());
                    scratch.late.extend(outcome.map(|outcome| (cell, outcome)));
                }
            }
        }
        self.core.announce();
        self.report.until_settled = self.start.elapsed();
    }

    /// Lets every node that ran drop what only this step needed. After `settled()` moved: a reader that pinned the old
    /// moment finds it gone and starts again at the new one; before, it would find it gone and the new one not there.
    fn settle_nodes(&mut self, walk: Option<&Walk>, scratch: &mut Scratch) {
        if self.observed {
            self.observe_nodes(walk, &scratch.late);
        }
        for (index, cell) in walk.map_or(&[][..], |walk| &walk.cells).iter().enumerate() {
            let outcome = walk.and_then(|walk| walk.fate(index as u32).outcome());
            if let Some(outcome) = outcome {
                self.settle_node(cell, outcome);
            }
        }
        self.report.joined = scratch.late.len();
        for (cell, outcome) in scratch.late.drain(..) {
            self.settle_node(&cell, outcome);
        }
    }

    /// For those who look on: before anything is dropped, since a node's volume is told by its parents, too.
    fn observe_nodes(&mut self, walk: Option<&Walk>, late: &[(Arc<Cell>, Outcome)]) {
        let cells = walk.map_or(&[][..], |walk| &walk.cells).iter().enumerate();
        let walked = cells.filter_map(|(index, cell)| Some((cell, walk?.fate(index as u32).outcome()?)));
        let joined = late.iter().map(|(cell, outcome)| (cell, *outcome));
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

    /// Terminal notifications, and those who look on.
    fn notify(mut self) {
        let core = self.core;
        let _inside = marks::enter(core.id, Mark::Callback);
        let callbacks = std::mem::take(&mut *core.after.lock());
        for callback in callbacks {
            self.guard("a terminal notification", callback);
        }
        self.report.until_done = self.start.elapsed();
        core.tally.file(&self.report);
        let observers = core.tally.observers.lock().clone();
        for (_, observer) in observers.iter() {
            let seen = catch_unwind(AssertUnwindSafe(|| observer(&self.report)));
            if seen.is_err() {
                core.tally.troubles.fetch_add(1, Ordering::Relaxed);
            }
        }
        *core.tally.latest.lock() = Some(self.report);
    }

    /// Foreign code that has no node to fail.
    fn guard(&mut self, what: &str, body: impl FnOnce(Step)) {
        let step = self.step;
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| body(step))) {
            self.report.troubles.push(format!("{what} panicked: {}", panic_message(payload)));
        }
    }
}
