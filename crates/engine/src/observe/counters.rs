//! Counters of the storage, one set for each graph.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use column::StorageCounters;
use graph::UpdateGraph;

static ALL: OnceLock<Mutex<Vec<(u64, Arc<StorageCounters>)>>> = OnceLock::new();

/// The storage counters of a graph.
pub fn storage(graph: &UpdateGraph) -> Arc<StorageCounters> {
    let id = graph.id();
    let mut all = ALL.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    all.retain(|(of, counters)| *of == id || Arc::strong_count(counters) > 1);
    if let Some((_, counters)) = all.iter().find(|(of, _)| *of == id) {
        return counters.clone();
    }
    let counters = Arc::new(StorageCounters::default());
    all.push((id, counters.clone()));
    counters
}
