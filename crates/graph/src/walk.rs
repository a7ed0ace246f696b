//! The walk of a step: which nodes run, and in which order. The plan is reused while the active sources and the
//! topology stay the same.

use crate::clock::Step;
use crate::node::{Cell, NodeId, Outcome};
use crate::sync::{Arc, AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Condvar, Mutex, OnceLock, Ordering, Rank};
use std::collections::{HashMap, VecDeque};

/// The nodes reached from a set of active sources, and the state of each in the running step.
pub(crate) struct Walk {
    pub(crate) active: Vec<NodeId>,
    /// The topology's count of removed edges when the walk was made. If the count is higher now, the walk may contain
    /// edges that were removed since.
    cuts: u64,
    pub(crate) cells: Vec<Arc<Cell>>,
    /// Per node, the initial `state`: reached parents in the low half, one in the high half if the node is active
    /// itself.
    initial: Vec<u64>,
    /// Children of node i: `children[first_child[i]..first_child[i + 1]]`, as indices into `cells`.
    first_child: Vec<u32>,
    children: Vec<u32>,
    /// Indices of the active nodes.
    pub(crate) roots: Vec<u32>,

    /// Per node: parents that have not settled in the low half, parents that noted something in the high half.
    state: Vec<AtomicU64>,
    fate: Vec<AtomicU8>,
    pub(crate) unsettled: AtomicUsize,
    pub(crate) ready: Mutex<Ready>,
    pub(crate) bell: Condvar,
    /// Whether edges were added while the step runs; only then the list of late edges is read.
    late_edges: AtomicBool,
    late: Mutex<HashMap<u32, Vec<u32>>>,
    /// The index of each node. It is made when the first edge is added inside a step.
    places: OnceLock<HashMap<NodeId, u32>>,
}

/// The queue of ready nodes, the number of helpers, and whether the leader sleeps.
pub(crate) struct Ready {
    pub(crate) step: Option<Step>,
    pub(crate) queue: VecDeque<u32>,
    /// Pool tasks that were started and have not ended.
    pub(crate) helpers: usize,
    /// Whether the leader sleeps on the condition variable.
    pub(crate) leader_waits: bool,
    /// A panic of the executor itself, not of a node: no thread takes another node.
    pub(crate) broken: Option<String>,
}

/// One parent noted something (or the node is active itself).
pub(crate) const CHANGED: u64 = 1 << 32;

/// The state of a node in the running step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum NodeState {
    Open = 0,
    /// `seal` panicked: the node fails without running.
    FailEarly = 1,
    /// No parent noted anything: the node settled without running.
    Unchanged = 2,
    /// The node's last handle is gone.
    Gone = 3,
    Quiet = 4,
    Changed = 5,
    Failed = 6,
}

impl NodeState {
    fn of(byte: u8) -> NodeState {
        match byte {
            0 => NodeState::Open,
            1 => NodeState::FailEarly,
            2 => NodeState::Unchanged,
            3 => NodeState::Gone,
            4 => NodeState::Quiet,
            5 => NodeState::Changed,
            _ => NodeState::Failed,
        }
    }

    /// Whether the children have to run.
    pub(crate) fn has_changed(self) -> bool {
        matches!(self, NodeState::Changed | NodeState::Failed)
    }

    /// The outcome, if the node ran.
    pub(crate) fn outcome(self) -> Option<Outcome> {
        match self {
            NodeState::Quiet => Some(Outcome::Quiet),
            NodeState::Changed => Some(Outcome::Changed),
            NodeState::Failed => Some(Outcome::Failed),
            NodeState::Open | NodeState::FailEarly | NodeState::Unchanged | NodeState::Gone => None,
        }
    }

    pub(crate) fn settled(self) -> bool {
        !matches!(self, NodeState::Open | NodeState::FailEarly)
    }
}

impl From<Outcome> for NodeState {
    fn from(outcome: Outcome) -> NodeState {
        match outcome {
            Outcome::Changed => NodeState::Changed,
            Outcome::Quiet => NodeState::Quiet,
            Outcome::Failed => NodeState::Failed,
        }
    }
}

impl Walk {
    /// Resets the walk for `step`.
    pub(crate) fn reset(&self, step: Step) {
        for (state, initial) in self.state.iter().zip(&self.initial) {
            state.store(*initial, Ordering::Relaxed);
        }
        for fate in &self.fate {
            fate.store(NodeState::Open as u8, Ordering::Relaxed);
        }
        self.unsettled.store(self.cells.len(), Ordering::Relaxed);
        if self.late_edges.swap(false, Ordering::Relaxed) {
            self.late.lock().clear();
        }
        // The lock publishes the stores above to every thread that takes a node from the queue.
        let mut ready = self.ready.lock();
        ready.step = Some(step);
        ready.broken = None;
        ready.queue.clear();
    }

    pub(crate) fn is_root_ready(&self, root: u32) -> bool {
        self.state[root as usize].load(Ordering::Acquire) as u32 == 0
    }

    pub(crate) fn node_state(&self, index: u32) -> NodeState {
        NodeState::of(self.fate[index as usize].load(Ordering::Acquire))
    }

    pub(crate) fn fail_early(&self, index: u32) {
        self.fate[index as usize].store(NodeState::FailEarly as u8, Ordering::Relaxed);
    }

    /// Stores the state of a node that has settled. Sequentially consistent with `add_late_edge`: at least one sees the
    /// other.
    pub(crate) fn settle(&self, index: u32, fate: NodeState) {
        self.fate[index as usize].store(fate as u8, Ordering::SeqCst);
    }

    pub(crate) fn children(&self, index: u32) -> &[u32] {
        let at = index as usize;
        &self.children[self.first_child[at] as usize..self.first_child[at + 1] as usize]
    }

    /// Children that were added to the node while the step runs.
    pub(crate) fn late_children(&self, index: u32) -> Option<Vec<u32>> {
        if !self.late_edges.load(Ordering::SeqCst) {
            return None;
        }
        self.late.lock().remove(&index)
    }

    /// Counts a settled parent at a child. Returns true if it was the last parent, and whether any parent noted
    /// something.
    #[inline]
    pub(crate) fn satisfy(&self, child: u32, noted: bool) -> Option<bool> {
        let change = if noted { CHANGED } else { 0 }.wrapping_sub(1);
        let old = self.state[child as usize].fetch_add(change, Ordering::AcqRel);
        let new = old.wrapping_add(change);
        (new as u32 == 0).then_some(new >= CHANGED)
    }

    /// Adds an edge in the running step: `child` also waits for `parent`. False if the child may have started. The
    /// caller runs inside a parent of `child`, so the child cannot start meanwhile.
    pub(crate) fn add_late_edge(&self, parent: u32, child: u32) -> bool {
        let mut late = self.late.lock();
        if self.node_state(child).settled() || self.state[child as usize].load(Ordering::Acquire) as u32 == 0 {
            return false;
        }
        self.late_edges.store(true, Ordering::SeqCst);
        let fate = NodeState::of(self.fate[parent as usize].load(Ordering::SeqCst));
        if !fate.settled() {
            self.state[child as usize].fetch_add(1, Ordering::AcqRel);
            late.entry(parent).or_default().push(child);
        } else if fate.has_changed() {
            self.state[child as usize].fetch_add(CHANGED, Ordering::AcqRel);
        }
        true
    }

    /// Makes a node run in this step, whatever its parents note. False if it may have started; the caller runs inside a
    /// parent of it, so that it cannot.
    pub(crate) fn wake(&self, index: u32) -> bool {
        let state = &self.state[index as usize];
        let waits = state.load(Ordering::Acquire) as u32 > 0;
        if waits {
            state.fetch_add(CHANGED, Ordering::AcqRel);
        }
        waits
    }

    /// The index of a node in the walk.
    pub(crate) fn index_of(&self, id: NodeId) -> Option<u32> {
        let places = || self.cells.iter().enumerate().map(|(at, cell)| (cell.id, at as u32)).collect();
        self.places.get_or_init(places).get(&id).copied()
    }

    /// Whether `below` waits for `above` in this step, possibly by edges removed from the topology since; `cuts` is the
    /// topology's current count of removed edges.
    pub(crate) fn reaches(&self, above: u32, below: u32, cuts: u64) -> bool {
        if cuts == self.cuts {
            return false;
        }
        let mut seen = vec![false; self.cells.len()];
        let mut open = vec![above];
        while let Some(index) = open.pop() {
            if index == below {
                return true;
            }
            if !std::mem::replace(&mut seen[index as usize], true) {
                open.extend_from_slice(self.children(index));
                open.extend(self.late.lock().get(&index).into_iter().flatten());
            }
        }
        false
    }
}

/// The buffers in which a walk is built.
#[derive(Default)]
pub(crate) struct WalkPlan {
    cells: Vec<Arc<Cell>>,
    initial: Vec<u64>,
    first_child: Vec<u32>,
    children: Vec<u32>,
    roots: Vec<u32>,
}

impl WalkPlan {
    pub(crate) fn add_node(&mut self, cell: Arc<Cell>) {
        self.cells.push(cell);
        self.initial.push(0);
    }

    pub(crate) fn activate_last(&mut self) {
        let last = self.cells.len() - 1;
        self.initial[last] += CHANGED;
        self.roots.push(last as u32);
    }

    pub(crate) fn begin_children(&mut self) {
        self.first_child.push(self.children.len() as u32);
    }

    pub(crate) fn add_child(&mut self, child: u32) {
        self.initial[child as usize] += 1;
        self.children.push(child);
    }

    pub(crate) fn finish(mut self, cuts: u64, active: Vec<NodeId>) -> Walk {
        self.begin_children();
        let nodes = self.cells.len();
        let ready = Ready { step: None, queue: VecDeque::new(), helpers: 0, leader_waits: false, broken: None };
        Walk {
            active,
            cuts,
            cells: self.cells,
            initial: self.initial,
            first_child: self.first_child,
            children: self.children,
            roots: self.roots,
            state: (0..nodes).map(|_| AtomicU64::new(0)).collect(),
            fate: (0..nodes).map(|_| AtomicU8::new(0)).collect(),
            unsettled: AtomicUsize::new(0),
            ready: Mutex::ranked(Rank::Ready, ready),
            bell: Condvar::new(),
            late_edges: AtomicBool::new(false),
            late: Mutex::ranked(Rank::Leaf, HashMap::new()),
            places: OnceLock::new(),
        }
    }
}
