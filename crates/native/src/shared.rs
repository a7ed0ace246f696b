//! The Python objects that exist once per graph.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use engine::Budget;
use engine::follow::DeliveryQueue;
use graph::UpdateGraph;

use crate::gil::lock;

/// A graph with the queue of its listeners and its budget; one for each graph of the process.
pub struct Shared {
    pub graph: UpdateGraph,
    pub queue: Arc<DeliveryQueue>,
    pub budget: Arc<Budget>,
}

static ALL: Mutex<Option<HashMap<u64, Weak<Shared>>>> = Mutex::new(None);

impl Shared {
    /// The one companion of this graph.
    pub fn of(graph: &UpdateGraph) -> Arc<Shared> {
        let mut all = lock(&ALL);
        let known = all.get_or_insert_default();
        known.retain(|_, shared| shared.strong_count() > 0);
        if let Some(shared) = known.get(&graph.id()).and_then(Weak::upgrade) {
            return shared;
        }
        let queue = DeliveryQueue::of(graph);
        let shared = Arc::new(Shared { graph: graph.clone(), queue, budget: Budget::of(graph) });
        known.insert(graph.id(), Arc::downgrade(&shared));
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
    lock(&ALL).iter().flatten().filter_map(|(_, shared)| shared.upgrade()).collect()
}
