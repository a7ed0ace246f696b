//! Nodes and edges, dense, and the forward walk from a set of active sources.

use crate::clock::Step;
use crate::node::{Cell, Node, NodeId};
use crate::sync::{Arc, Weak};
use crate::walk::{Walk, WalkPlan};

/// All nodes of a graph. Guarded by the topology lock.
#[derive(Default)]
pub(crate) struct Topology {
    slots: Vec<Slot>,
    free: Vec<u32>,
    nodes: usize,
    version: u64,
    cuts: u64,
    stamp: u64,
    /// The step whose walk has been taken: a node that joins now runs at the end of it.
    pub(crate) walking: Option<Step>,
    /// Nodes that joined while that step runs, in order of joining.
    pub(crate) joined: Vec<Joined>,
}

/// A node that joined a running step, and its parents.
pub(crate) struct Joined {
    pub(crate) cell: Arc<Cell>,
    pub(crate) parents: Vec<Arc<Cell>>,
}

#[derive(Default)]
struct Slot {
    generation: u32,
    cell: Option<Arc<Cell>>,
    parents: Vec<Edge>,
    children: Vec<Edge>,
    stamp: u64,
    index: u32,
}

/// One end of an edge: the node at the other end, and the position of the edge in that node's list, so that an edge is
/// removed from both lists in O(1).
#[derive(Clone, Copy)]
struct Edge {
    slot: u32,
    back: u32,
}

impl Topology {
    /// Inserts a node as a child of those parents that still exist.
    pub(crate) fn insert(&mut self, node: Weak<dyn Node>, parents: &[NodeId]) -> Arc<Cell> {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 nodes")
        });
        let entry = &mut self.slots[slot as usize];
        entry.generation = entry.generation.wrapping_add(1).max(1);
        let id = NodeId { slot, generation: entry.generation };
        let cell = Arc::new(Cell::new(id, node));
        entry.cell = Some(cell.clone());
        for &parent in parents {
            self.connect(parent, id);
        }
        self.nodes += 1;
        self.version += 1;
        cell
    }

    /// Removes a node and its edges. The caller drops the cell after releasing the lock.
    pub(crate) fn remove(&mut self, id: NodeId) -> Option<Arc<Cell>> {
        self.get(id)?;
        while let Some(edge) = self.slots[id.slot as usize].parents.last().copied() {
            self.cut(id.slot, self.slots[id.slot as usize].parents.len() - 1, edge);
        }
        while let Some(edge) = self.slots[id.slot as usize].children.last().copied() {
            let at = edge.back as usize;
            let up = self.slots[edge.slot as usize].parents[at];
            self.cut(edge.slot, at, up);
        }
        self.nodes -= 1;
        self.version += 1;
        self.free.push(id.slot);
        self.slots[id.slot as usize].cell.take()
    }

    /// Adds an edge; false if it exists already, or if one of the nodes is gone.
    pub(crate) fn connect(&mut self, parent: NodeId, child: NodeId) -> bool {
        let (up, down) = (parent.slot as usize, child.slot as usize);
        if self.get(parent).is_none() || self.get(child).is_none() || up == down {
            return false;
        }
        if self.slots[down].parents.iter().any(|edge| edge.slot == parent.slot) {
            return false;
        }
        let in_parent = self.slots[up].children.len() as u32;
        let in_child = self.slots[down].parents.len() as u32;
        self.slots[up].children.push(Edge { slot: child.slot, back: in_child });
        self.slots[down].parents.push(Edge { slot: parent.slot, back: in_parent });
        self.version += 1;
        true
    }

    /// Removes an edge; false if there was none.
    pub(crate) fn disconnect(&mut self, parent: NodeId, child: NodeId) -> bool {
        if self.get(parent).is_none() || self.get(child).is_none() {
            return false;
        }
        let edges = &self.slots[child.slot as usize].parents;
        let Some(at) = edges.iter().position(|edge| edge.slot == parent.slot) else {
            return false;
        };
        let edge = edges[at];
        self.cut(child.slot, at, edge);
        self.version += 1;
        true
    }

    /// Whether `below` can be reached from `above` along the edges.
    pub(crate) fn reaches(&mut self, above: NodeId, below: NodeId) -> bool {
        if above == below {
            return true;
        }
        self.stamp += 1;
        let mut open = vec![above.slot];
        while let Some(slot) = open.pop() {
            for at in 0..self.slots[slot as usize].children.len() {
                let child = self.slots[slot as usize].children[at].slot;
                if child == below.slot {
                    return true;
                }
                if std::mem::replace(&mut self.slots[child as usize].stamp, self.stamp) != self.stamp {
                    open.push(child);
                }
            }
        }
        false
    }

    /// Removes the edge at position `at` of the parents of `child`.
    fn cut(&mut self, child: u32, at: usize, edge: Edge) {
        self.cuts += 1;
        self.slots[child as usize].parents.swap_remove(at);
        if let Some(moved) = self.slots[child as usize].parents.get(at).copied() {
            self.slots[moved.slot as usize].children[moved.back as usize].back = at as u32;
        }
        let (parent, place) = (edge.slot as usize, edge.back as usize);
        self.slots[parent].children.swap_remove(place);
        if let Some(moved) = self.slots[parent].children.get(place).copied() {
            self.slots[moved.slot as usize].parents[moved.back as usize].back = place as u32;
        }
    }

    /// The node with this id, if it is still in the graph.
    pub(crate) fn get(&self, id: NodeId) -> Option<&Arc<Cell>> {
        let slot = self.slots.get(id.slot as usize)?;
        if slot.generation == id.generation { slot.cell.as_ref() } else { None }
    }

    pub(crate) fn cells(&self) -> impl Iterator<Item = &Arc<Cell>> {
        self.slots.iter().filter_map(|slot| slot.cell.as_ref())
    }

    /// The nodes a node waits for.
    pub(crate) fn parents_of(&self, id: NodeId) -> Vec<NodeId> {
        if self.get(id).is_none() {
            return Vec::new();
        }
        let id_of = |edge: &Edge| NodeId { slot: edge.slot, generation: self.slots[edge.slot as usize].generation };
        self.slots[id.slot as usize].parents.iter().map(id_of).collect()
    }

    pub(crate) fn nodes(&self) -> usize {
        self.nodes
    }

    /// Raised by every change of nodes or edges.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// The number of edges removed since the graph was made.
    pub(crate) fn cuts(&self) -> u64 {
        self.cuts
    }

    /// Makes a walk by one forward traversal from the active nodes: the reached nodes, with the number of reached
    /// parents of each. O(reached).
    pub(crate) fn walk(&mut self, active: &[NodeId]) -> Walk {
        self.stamp += 1;
        let mut plan = WalkPlan::default();
        let mut order: Vec<u32> = Vec::new();
        for &id in active {
            if self.get(id).is_some() && self.reach(id.slot, &mut order, &mut plan) {
                plan.activate_last();
            }
        }
        let mut next = 0;
        while next < order.len() {
            plan.begin_children();
            for at in 0..self.slots[order[next] as usize].children.len() {
                let child = self.slots[order[next] as usize].children[at].slot;
                self.reach(child, &mut order, &mut plan);
                plan.add_child(self.slots[child as usize].index);
            }
            next += 1;
        }
        plan.finish(self.cuts, active.to_vec())
    }

    /// Assigns the slot an index in the walk; true the first time.
    fn reach(&mut self, slot: u32, order: &mut Vec<u32>, plan: &mut WalkPlan) -> bool {
        let entry = &mut self.slots[slot as usize];
        if entry.stamp == self.stamp {
            return false;
        }
        let Some(cell) = entry.cell.clone() else {
            return false;
        };
        entry.stamp = self.stamp;
        entry.index = order.len() as u32;
        order.push(slot);
        plan.add_node(cell);
        true
    }
}
