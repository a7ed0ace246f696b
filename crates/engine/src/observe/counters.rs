//! Counters of the storage, one set for each graph.

use std::sync::Arc;

use column::StorageCounters;
use graph::UpdateGraph;

/// The storage counters of a graph.
pub fn storage(graph: &UpdateGraph) -> Arc<StorageCounters> {
    graph.extension(StorageCounters::default)
}
