//! The alarm of an operation that depends on the clock: the step that it asks for though nothing changes.

use std::time::Instant;

use graph::{NodeId, UpdateGraph};

/// The one time for which the node of an operation waits.
pub(crate) struct Alarm {
    graph: UpdateGraph,
    node: Option<NodeId>,
    /// When a step was last asked for: the monotonic time, and the instant that it is for.
    armed: Option<(Instant, i64)>,
}

impl Alarm {
    pub(crate) fn new(graph: &UpdateGraph) -> Alarm {
        Alarm { graph: graph.clone(), node: None, armed: None }
    }

    pub(crate) fn graph(&self) -> &UpdateGraph {
        &self.graph
    }

    /// The node has joined the graph.
    pub(crate) fn joined(&mut self, node: NodeId) {
        self.node = Some(node);
        self.armed = None;
    }

    /// Asks for the next step.
    pub(crate) fn ring(&self) {
        if let Some(node) = self.node {
            self.graph.activate(node);
        }
    }

    /// Asks for the first step from this instant on (nanoseconds since 1970), and no longer for any asked for before.
    pub(crate) fn set(&mut self, next: Option<i64>) {
        let Some(node) = self.node else { return };
        let time = self.graph.time();
        match next {
            // The clock that waits may be ahead of the one that tells the time: then it is asked again.
            Some(next) if self.armed.is_none_or(|(at, of)| of != next || at <= time.now()) => {
                let at = time.instant_at(next);
                self.armed = Some((at, next));
                self.graph.activate_at(node, at);
            }
            None if self.armed.take().is_some() => self.graph.withdraw_timer(node),
            Some(_) | None => {}
        }
    }
}
