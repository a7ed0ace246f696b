//! Who waits for constituents: nodes that read them, such as a merge, in each step after all that exist.

use std::sync::{Mutex, Weak};

use graph::{NodeId, UpdateGraph};

use crate::threads::lock;

/// Nodes that wait for every constituent of a partitioned table. A key may enter a set in any step, and what reads its
/// constituent then must find it up to date.
#[derive(Default)]
pub(super) struct Followers(Mutex<Vec<(NodeId, Weak<()>)>>);

impl Followers {
    /// From the next step on this node waits for these, and for others as they come, while that handle lives.
    pub(super) fn join(&self, graph: &UpdateGraph, node: NodeId, alive: Weak<()>, known: &[NodeId]) {
        known.iter().for_each(|constituent| wait(graph, node, *constituent));
        let mut all = lock(&self.0);
        all.retain(|(_, alive)| alive.strong_count() > 0);
        all.push((node, alive));
    }

    /// A constituent was made: all wait for it from the next step on.
    pub(super) fn tell(&self, graph: &UpdateGraph, constituent: NodeId) {
        let all: Vec<NodeId> =
            lock(&self.0).iter().filter(|(_, alive)| alive.strong_count() > 0).map(|(node, _)| *node).collect();
        all.into_iter().for_each(|node| wait(graph, node, constituent));
    }
}

fn wait(graph: &UpdateGraph, node: NodeId, constituent: NodeId) {
    // Constituents stand above those who read them: there is no loop, and a node that is gone waits for nothing.
    let _ = graph.depend(node, constituent);
}
