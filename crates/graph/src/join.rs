//! Doors to nodes: taking them in, edges between them, and what they have for the next step.

use crate::clock::{Moment, Moved, Step};
use crate::core::Core;
use crate::error::GraphError;
use crate::graph::UpdateGraph;
use crate::node::{Cell, Node, NodeId, Registration};
use crate::role::{self, ThreadRole};
use crate::sync::{Arc, Guard};
use crate::topology::{Joined, Topology};
use std::time::Instant;

/// Nodes.
impl UpdateGraph {
    /// Takes in a node without parents. The graph holds it weakly: it is in the graph until the registration is dropped.
    pub fn source(&self, node: &Arc<dyn Node>) -> Registration {
        let cell = self.core().topology.lock().insert(Arc::downgrade(node), &[]);
        Registration::new(cell.id, self.core().clone())
    }

    /// Takes in a node that was initialised at `pinned`, if that is still the settled moment. Idle: it runs from the
    /// next step. While step `pinned + 1` runs: it runs last in that step if a parent noted something, in order of joining.
    pub fn join(&self, node: &Arc<dyn Node>, parents: &[NodeId], pinned: Moment) -> Result<Registration, Moved> {
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
            let parents = parents.iter().filter_map(|parent| topology.get(*parent).cloned()).collect();
            topology.joined.push(Joined { cell, parents });
        }
        drop(topology);
        Ok(Registration::new(id, core.clone()))
    }

    /// Takes in a node that was initialised at `step.now()` from inputs that have settled in that step, while it runs.
    /// It runs from the next step on.
    pub fn join_in_step(&self, node: &Arc<dyn Node>, parents: &[NodeId], step: Step) -> Result<Registration, Moved> {
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
    pub fn depend_in_step(&self, child: NodeId, parent: NodeId, step: Step) -> Result<Result<(), Moved>, GraphError> {
        self.core().here()?;
        let mut topology = self.core().topology.lock();
        if topology.reaches(child, parent) {
            return Err(loop_error(topology, child, parent));
        }
        let cuts = topology.cuts();
        let late_parent = topology.get(parent).is_some_and(|cell| cell.joined_in(step));
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
        cell.and_then(|cell| cell.node()).map_or_else(|| "a node that is gone".to_owned(), |node| node.label())
    };
    GraphError::Loop { child: label(child), parent: label(parent) }
}

/// What waits for the next step.
impl UpdateGraph {
    /// The source has something for the next step. From any thread, from inside a step as well.
    pub fn activate(&self, source: NodeId) {
        let core = self.core();
        if core.here().is_ok() {
            // Under the intake lock a cycle thread would wake only to wait for it: it is rung when the lock is let go.
            core.intake.activate(source, !role::has(core.id, ThreadRole::Intake));
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
        if role::has(core.id, ThreadRole::Intake) || core.here().is_err() {
            return queue();
        }
        let taking = core.intake.taking.lock();
        let mark = role::enter(core.id, ThreadRole::Intake);
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
