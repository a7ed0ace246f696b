//! The Python objects that exist once per graph.

use std::sync::{Arc, Mutex, Weak};

use engine::Budget;
use engine::follow::DeliveryQueue;
use graph::{UpdateGraph, lock};

/// A graph with the queue of its listeners and its budget; one for each graph of the process.
pub struct Shared {
    pub graph: UpdateGraph,
    pub queue: Arc<DeliveryQueue>,
    pub budget: Arc<Budget>,
}

/// The companion of a graph, while somebody holds it.
#[derive(Default)]
struct Known(Mutex<Weak<Shared>>);

/// Those of all graphs, for the end of the process.
static ALL: Mutex<Vec<Weak<Shared>>> = Mutex::new(Vec::new());

impl Shared {
    /// The one companion of this graph.
    pub fn of(graph: &UpdateGraph) -> Arc<Shared> {
        let known = graph.extension(Known::default);
        let mut known = lock(&known.0);
        if let Some(shared) = known.upgrade() {
            return shared;
        }
        let queue = DeliveryQueue::of(graph);
        let shared = Arc::new(Shared { graph: graph.clone(), queue, budget: Budget::of(graph) });
        *known = Arc::downgrade(&shared);
        let mut all = lock(&ALL);
        all.retain(|shared| shared.strong_count() > 0);
        all.push(known.clone());
        shared
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.queue.close();
    }
}

/// All that somebody holds.
pub fn all() -> Vec<Arc<Shared>> {
    lock(&ALL).iter().filter_map(Weak::upgrade).collect()
}
