//! Nodes: the trait, whose `run` is called at most once per step after all parents, and the registration that holds a
//! node's place in the graph.

use crate::clock::Step;
use crate::core::Core;
use crate::lifetime::release;
use crate::report::{NodeRun, Size, Volume};
use crate::sync::{Arc, AtomicBool, AtomicU64, Ordering, Weak};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The outcome of a node in a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Outcome {
    /// The node published a change: its children run.
    Changed,
    /// The node ran and nothing changed.
    Quiet,
    /// The node failed: its children run, and find it failed.
    Failed,
}

/// A node of the graph. It runs at most once per step, after all of its parents have settled.
pub trait Node: Send + Sync {
    /// Seals the queue of a source. Called under the intake lock as a step opens: calls queued before belong to this
    /// step, later ones to the next. Must be an O(1) swap.
    fn seal(&self) {}

    /// Does the work of the step. A panic counts as [`Outcome::Failed`], after [`Node::panicked`].
    fn run(&self, step: Step) -> Outcome;

    /// Called with the message of a panic that ended `run` or `seal`, or that ended the cycle before this node ran.
    fn panicked(&self, _step: Step, _message: String) {}

    /// Called if the cycle was abandoned before this node ran, after [`Node::panicked`] was called on all such nodes.
    fn abandoned(&self, _step: Step) {}

    /// Drops previous values and pins. Called after the step has settled, on every node that ran.
    fn settle(&self, _step: Step) {}

    /// The node's label in errors and timings.
    fn label(&self) -> String;

    /// Items in and out of the node in this step. Called after the step, before [`Node::settle`], and only if the graph
    /// has an observer.
    fn volume(&self, _step: Step) -> Volume {
        Volume::default()
    }

    /// The node's current size.
    fn size(&self) -> Size {
        Size::default()
    }
}

/// The id of a node in its graph: a slot and its generation. A slot that is reused gives another id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct NodeId {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

impl NodeId {
    /// The id as one number, to show and to sort by.
    pub fn number(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.slot)
    }
}

/// The registration of a node: the node is in the graph until this is dropped. It also keeps the node's inputs alive,
/// and drops them without recursion.
pub struct Registration {
    id: NodeId,
    core: Arc<Core>,
    kept: Vec<Box<dyn Any + Send + Sync>>,
}

impl Registration {
    pub(crate) fn new(id: NodeId, core: Arc<Core>) -> Registration {
        Registration { id, core, kept: Vec::new() }
    }

    /// The node's id.
    pub fn id(&self) -> NodeId {
        self.id
    }

    /// Keeps `thing` (a parent table) alive while the node is in the graph, and then drops it by [`release`].
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

/// The cycle's record of a node. It outlives the node by at most one step.
pub(crate) struct Cell {
    pub(crate) id: NodeId,
    node: Weak<dyn Node>,
    /// The last step in which the node changed or failed.
    noted: AtomicU64,
    /// The last step in which the node ran.
    ran: AtomicU64,
    runs: AtomicU64,
    last_nanos: AtomicU64,
    total_nanos: AtomicU64,
    failed: AtomicBool,
    /// The step in which the node joined, and runs at the end.
    joined: AtomicU64,
}

/// The text of a panic's payload.
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
        // This may be the last handle; then foreign `Drop` code runs here.
        let _ = catch_unwind(AssertUnwindSafe(move || drop(node)));
        Some(outcome)
    }

    /// Seals a source; false if `seal` panicked.
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

    /// Calls `panicked` on a node that the abandoned cycle did not reach; false if its last handle is gone.
    pub(crate) fn abandon(&self, step: Step, message: &str) -> bool {
        let Some(node) = self.node.upgrade() else {
            return false;
        };
        tell_panic(&*node, step, message.to_owned());
        self.record(step, Outcome::Failed, 0);
        true
    }

    /// Calls `abandoned`, after `panicked` was called on all nodes concerned.
    pub(crate) fn abandoned(&self, step: Step) {
        if let Some(node) = self.node.upgrade() {
            let _ = catch_unwind(AssertUnwindSafe(|| node.abandoned(step)));
        }
    }

    /// The run as reported to observers; `None` if the node is gone, or panics while it is read.
    pub(crate) fn seen(&self, step: Step, outcome: Outcome) -> Option<NodeRun> {
        let node = self.node.upgrade()?;
        let (id, nanos) = (self.id, self.last_nanos());
        let ask = move || NodeRun { id, label: node.label(), volume: node.volume(step), outcome, nanos };
        catch_unwind(AssertUnwindSafe(ask)).ok()
    }

    /// Calls `settle`; an error is the message of its panic.
    pub(crate) fn settle(&self, step: Step) -> Result<(), String> {
        let Some(node) = self.node.upgrade() else {
            return Ok(());
        };
        catch_unwind(AssertUnwindSafe(move || node.settle(step))).map_err(panic_message)
    }

    /// Records the outcome. Relaxed ordering suffices: readers have synchronised through the state of the walk.
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

    /// Whether the node changed or failed in this step.
    pub(crate) fn noted_in(&self, step: Step) -> bool {
        self.noted.load(Ordering::Relaxed) == step.number()
    }

    /// Notes that the node joined while this step ran.
    pub(crate) fn note_joined(&self, step: Step) {
        self.joined.store(step.number(), Ordering::Relaxed);
    }

    /// Whether the node joined while this step ran.
    pub(crate) fn joined_in(&self, step: Step) -> bool {
        self.joined.load(Ordering::Relaxed) == step.number()
    }

    /// Whether the node has failed.
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
    // A panic of `panicked` itself is dropped: there is nothing left to notify.
    let _ = catch_unwind(AssertUnwindSafe(|| node.panicked(step, message)));
}
