//! Registration of nodes, edges between them, and activation for the next step.

use crate::clock::{Moment, Moved, Step};
use crate::core::Core;
use crate::error::GraphError;
use crate::graph::UpdateGraph;
use crate::node::{Cell, Node, NodeId, Registration};
use crate::role::{self, ThreadRole};
use crate::sync::{Arc, Guard};
use crate::topology::{Joined, Topology};
use crate::walk::Walk;
use std::time::Instant;

/// Nodes.
impl UpdateGraph {
    /// Registers a node without parents. The graph holds it weakly; it is in the graph until the registration is
    /// dropped.
    pub fn source(&self, node: &Arc<dyn Node>) -> Registration {
        let cell = self.core().topology.lock().insert(Arc::downgrade(node), &[]);
        Registration::new(cell.id, self.core().clone())
    }

    /// Registers a node that was initialised at `pinned`; `Moved` unless that is still the settled moment. If no step
    /// runs, the node runs from the next step on. While step `pinned + 1` runs, the node runs at the end of that step,
    /// in order of joining, if a parent changed or failed in it.
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

    /// Registers, while `step` runs, a node that was initialised at `step.now()` from inputs that have settled in that
    /// step. The node runs from the next step on.
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

    /// Adds an edge from the next step on: `child` also waits for `parent`. Refused if this would close a loop.
    pub fn depend(&self, child: NodeId, parent: NodeId) -> Result<(), GraphError> {
        self.core().here()?;
        let mut topology = self.core().topology.lock();
        if topology.reaches(child, parent) {
            return Err(loop_error(topology, child, parent));
        }
        topology.connect(parent, child);
        Ok(())
    }

    /// Adds an edge from the running step on: `child` also waits for `parent`. Call it from inside the run of a node
    /// that `child` waits for, so that `child` cannot have started. `Moved` if `step` does not run, if `child` has
    /// started, or if `parent` joined in this step and runs after all others.
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
        // A parent outside the walk has settled. A child outside the walk joined in this step, and runs last.
        topology.connect(parent, child);
        Ok(Ok(()))
    }

    /// Removes an edge from the next step on: `child` no longer waits for `parent`.
    pub fn independ(&self, child: NodeId, parent: NodeId) {
        if self.core().here().is_ok() {
            self.core().topology.lock().disconnect(parent, child);
        }
    }

    /// Makes `child` run in the running step, though no node that it waits for notes anything: a node that has many
    /// children, of which few have to run, is quiet itself and wakes those. Call it from inside the run of a node that
    /// `child` waits for. False if `child` is not in the walk of the step.
    pub fn wake_in_step(&self, child: NodeId) -> bool {
        if self.core().here().is_err() {
            return false;
        }
        let walk = self.core().walk.lock().clone();
        walk.is_some_and(|walk| walk.index_of(child).is_some_and(|index| walk.wake(index)))
    }

    /// Whether a node has settled in this step, which runs: nothing more comes of it.
    pub fn has_settled_in(&self, node: NodeId, step: Step) -> bool {
        let topology = self.core().topology.lock();
        if topology.walking != Some(step) {
            return false;
        }
        let late = topology.get(node).is_some_and(|cell| cell.joined_in(step));
        let walk = self.core().walk.lock().clone();
        drop(topology);
        let settled = |walk: &Walk| walk.index_of(node).is_none_or(|index| walk.node_state(index).settled());
        !late && walk.is_none_or(|walk| settled(&walk))
    }

    /// The nodes that `node` waits for.
    pub fn parents(&self, node: NodeId) -> Vec<NodeId> {
        self.core().topology.lock().parents_of(node)
    }
}

fn loop_error(topology: Guard<'_, Topology>, child: NodeId, parent: NodeId) -> GraphError {
    let (child, parent) = (topology.get(child).cloned(), topology.get(parent).cloned());
    // A label is foreign code, so no lock is held while it is made.
    drop(topology);
    let label = |cell: Option<Arc<Cell>>| {
        cell.and_then(|cell| cell.node()).map_or_else(|| "a node that is gone".to_owned(), |node| node.label())
    };
    GraphError::Loop { child: label(child), parent: label(parent) }
}

/// Activation: work for the next step.
impl UpdateGraph {
    /// Activates a source for the next step. May be called from any thread, also from inside a step.
    pub fn activate(&self, source: NodeId) {
        let core = self.core();
        if core.here().is_ok() {
            // Under the intake lock, a woken cycle thread would only wait for that lock: it is woken after the release.
            core.intake.activate(source, !role::has(core.id, ThreadRole::Intake));
        }
    }

    /// Activates a source for the first step that starts at or after `when`, in place of the time for which it was asked
    /// before: a node has one timer.
    pub fn activate_at(&self, source: NodeId, when: Instant) {
        let core = self.core();
        if core.here().is_ok() {
            core.intake.activate_at(source, Some(when));
        }
    }

    /// Takes back the timer of a source, if it has one.
    pub fn withdraw_timer(&self, source: NodeId) {
        let core = self.core();
        if core.here().is_ok() {
            core.intake.activate_at(source, None);
        }
    }

    /// Runs `queue`, which queues to several sources, so that one step takes all of it. A nested call joins the outer
    /// one.
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

/// Wakes the cycle thread on drop, even if the closure panicked: the calls that it queued before are pending.
struct RingAfter<'a> {
    core: &'a Core,
}

impl Drop for RingAfter<'_> {
    fn drop(&mut self) {
        self.core.intake.ring_if_pending();
    }
}
