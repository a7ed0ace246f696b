//! A node: what runs once a step, after its parents; and its place in the graph, held by a registration.

use crate::clock::Step;
use crate::core::Core;
use crate::lifetime::release;
use crate::report::{NodeRun, Size, Volume};
use crate::sync::{Arc, AtomicBool, AtomicU64, Ordering, Weak};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What became of a node in a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Outcome {
    /// It published something: its children run.
    Changed,
    /// It ran and has nothing to say.
    Quiet,
    /// It failed: its children run, and find out.
    Failed,
}

/// Something that runs at most once a step, after all of its parents have settled.
pub trait Node: Send + Sync {
    /// Sources: called under the intake lock as a step opens. What is queued now belongs to this step; what is queued
    /// later to the next. An O(1) swap, nothing else.
    fn seal(&self) {}

    /// Does the work of the step. A panic counts as [`Outcome::Failed`], after [`Node::panicked`].
    fn run(&self, step: Step) -> Outcome;

    /// The panic that ended `run` or `seal`, or the cycle before it came to this node.
    fn panicked(&self, _step: Step, _message: String) {}

    /// The cycle broke off before it came to this node; all that it had not come to has been told by
    /// [`Node::panicked`] by now.
    fn abandoned(&self, _step: Step) {}

    /// After the step has settled, for every node that ran: drop overlays and pins.
    fn settle(&self, _step: Step) {}

    /// What to call it in errors and timings.
    fn label(&self) -> String;

    /// How much passed through it in this step; asked after the step, before [`Node::settle`], and only if somebody
    /// looks on.
    fn volume(&self, _step: Step) -> Volume {
        Volume::default()
    }

    /// How much it holds, as of now.
    fn size(&self) -> Size {
        Size::default()
    }
}

/// A node's place in its graph. A place that is taken again has another id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct NodeId {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

impl NodeId {
    /// One number for it, to show and to sort by.
    pub fn number(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.slot)
    }
}

/// A node in the graph, until dropped. It also keeps alive what the node leans on, and lets go of it without recursion.
pub struct Registration {
    id: NodeId,
    core: Arc<Core>,
    kept: Vec<Box<dyn Any + Send + Sync>>,
}

impl Registration {
    pub(crate) fn new(id: NodeId, core: Arc<Core>) -> Registration {
        Registration { id, core, kept: Vec::new() }
    }

    /// The node's place.
    pub fn id(&self) -> NodeId {
        self.id
    }

    /// Keeps `thing` (a parent table) for as long as the node is in the graph; afterwards it goes through [`release`].
    pub fn keep(&mut self, thing: impl Any + Send + Sync) {
        self.kept.push(Box::new(thing));
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.core.remove(self.id);
        for thing in self.kept.drain(..) {
            release(thing);
        }
    }
}

/// What the cycle knows of a node; it outlives the node by a step at most.
pub(crate) struct Cell {
    pub(crate) id: NodeId,
    node: Weak<dyn Node>,
    /// The last step in which it changed or failed.
    noted: AtomicU64,
    /// The last step in which it ran.
    ran: AtomicU64,
    runs: AtomicU64,
    last_nanos: AtomicU64,
    total_nanos: AtomicU64,
    failed: AtomicBool,
    /// The step that it joined and in which it runs last.
    joined: AtomicU64,
}

/// What a message of a panic says.
pub(crate) fn panic_message(payload: Box<dyn Any + Send>) -> String {
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => {
            payload.downcast_ref::<&str>().map_or_else(|| "a panic without a message".to_owned(), ToString::to_string)
        }
    }
}

impl Cell {
    pub(crate) fn new(id: NodeId, node: Weak<dyn Node>) -> Cell {
        Cell {
            id,
            node,
            noted: AtomicU64::new(0),
            ran: AtomicU64::new(0),
            runs: AtomicU64::new(0),
            last_nanos: AtomicU64::new(0),
            total_nanos: AtomicU64::new(0),
            failed: AtomicBool::new(false),
            joined: AtomicU64::new(0),
        }
    }

    /// The node, unless its last handle is gone.
    pub(crate) fn node(&self) -> Option<Arc<dyn Node>> {
        self.node.upgrade()
    }

    /// Runs the node; `None` when its last handle is gone. The handle taken here is dropped inside, too.
    pub(crate) fn run(&self, step: Step) -> Option<Outcome> {
        let node = self.node.upgrade()?;
        let outcome = match catch_unwind(AssertUnwindSafe(|| node.run(step))) {
            Ok(outcome) => outcome,
            Err(payload) => {
                tell_panic(&*node, step, panic_message(payload));
                Outcome::Failed
            }
        };
        // It may be the last handle, and then somebody's `Drop` runs here.
        let _ = catch_unwind(AssertUnwindSafe(move || drop(node)));
        Some(outcome)
    }

    /// Tells a source that what is queued now belongs to this step; false when that panicked.
    pub(crate) fn seal(&self, step: Step) -> bool {
        let Some(node) = self.node.upgrade() else {
            return true;
        };
        match catch_unwind(AssertUnwindSafe(|| node.seal())) {
            Ok(()) => true,
            Err(payload) => {
                tell_panic(&*node, step, panic_message(payload));
                false
            }
        }
    }

    /// Tells the node that the cycle broke off before it came to it; false when its last handle is gone.
    pub(crate) fn abandon(&self, step: Step, message: &str) -> bool {
        let Some(node) = self.node.upgrade() else {
            return false;
        };
        tell_panic(&*node, step, message.to_owned());
        self.record(step, Outcome::Failed, 0);
        true
    }

    /// Tells the node that all have been told.
    pub(crate) fn abandoned(&self, step: Step) {
        if let Some(node) = self.node.upgrade() {
            let _ = catch_unwind(AssertUnwindSafe(|| node.abandoned(step)));
        }
    }

    /// The run as those see it who look on; `None` when the node is gone, or panics when asked.
    pub(crate) fn seen(&self, step: Step, outcome: Outcome) -> Option<NodeRun> {
        let node = self.node.upgrade()?;
        let (id, nanos) = (self.id, self.last_nanos());
        let ask = move || NodeRun { id, label: node.label(), volume: node.volume(step), outcome, nanos };
        catch_unwind(AssertUnwindSafe(ask)).ok()
    }

    /// Tells the node that the step has settled; the message, when that panicked.
    pub(crate) fn settle(&self, step: Step) -> Result<(), String> {
        let Some(node) = self.node.upgrade() else {
            return Ok(());
        };
        catch_unwind(AssertUnwindSafe(move || node.settle(step))).map_err(panic_message)
    }

    /// Writes down what became of it. Relaxed: whoever reads it has synchronised through the state of the walk.
    pub(crate) fn record(&self, step: Step, outcome: Outcome, nanos: u64) {
        self.ran.store(step.number(), Ordering::Relaxed);
        self.runs.store(self.runs.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        self.last_nanos.store(nanos, Ordering::Relaxed);
        self.total_nanos.store(self.total_nanos.load(Ordering::Relaxed) + nanos, Ordering::Relaxed);
        if outcome != Outcome::Quiet {
            self.noted.store(step.number(), Ordering::Relaxed);
        }
        if outcome == Outcome::Failed {
            self.failed.store(true, Ordering::Relaxed);
        }
    }

    /// Whether it changed or failed in this step.
    pub(crate) fn noted_in(&self, step: Step) -> bool {
        self.noted.load(Ordering::Relaxed) == step.number()
    }

    /// It joined this step while it ran.
    pub(crate) fn note_joined(&self, step: Step) {
        self.joined.store(step.number(), Ordering::Relaxed);
    }

    /// Whether it joined this step while it ran.
    pub(crate) fn joined_in(&self, step: Step) -> bool {
        self.joined.load(Ordering::Relaxed) == step.number()
    }

    /// Whether it has ever failed.
    pub(crate) fn failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    pub(crate) fn last_ran(&self) -> u64 {
        self.ran.load(Ordering::Relaxed)
    }

    pub(crate) fn last_noted(&self) -> u64 {
        self.noted.load(Ordering::Relaxed)
    }

    pub(crate) fn runs(&self) -> u64 {
        self.runs.load(Ordering::Relaxed)
    }

    pub(crate) fn last_nanos(&self) -> u64 {
        self.last_nanos.load(Ordering::Relaxed)
    }

    pub(crate) fn total_nanos(&self) -> u64 {
        self.total_nanos.load(Ordering::Relaxed)
    }
}

fn tell_panic(node: &dyn Node, step: Step, message: String) {
    // A node that panics while it is told of its panic has nobody left to tell.
    let _ = catch_unwind(AssertUnwindSafe(|| node.panicked(step, message)));
}
