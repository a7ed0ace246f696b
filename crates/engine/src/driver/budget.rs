//! A graph's memory limit: bytes of its tables and of the calls queued in its sources.
//!
//! The limit is checked before a call with rows is queued, and when a starting operation has read its inputs; either is
//! refused as a whole. The results of a step are not checked: they follow from rows that were accepted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use column::StorageCounters;
use graph::UpdateGraph;
use limits::{Exhausted, Whose};

use crate::error::Error;
use crate::observe::storage;
use crate::sources;

/// The limit of one graph.
pub struct Budget {
    /// `u64::MAX` where nothing was set.
    limit: AtomicU64,
    held: Arc<StorageCounters>,
}

impl Budget {
    /// The one of this graph.
    pub fn of(graph: &UpdateGraph) -> Arc<Budget> {
        let held = storage(graph);
        graph.extension(|| Budget { limit: AtomicU64::new(u64::MAX), held })
    }

    /// From now on so many bytes, or as many as the process may hold.
    pub fn limit(&self, bytes: Option<u64>) {
        self.limit.store(bytes.unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Whether so many more bytes may be held.
    #[inline]
    pub(crate) fn ask(&self, graph: &UpdateGraph, need: u64) -> Result<(), Error> {
        match self.limit.load(Ordering::Relaxed) {
            u64::MAX => Ok(()),
            limit => compare(graph, self.held(), need, limit),
        }
    }

    /// Bytes that the tables hold now.
    pub(crate) fn held(&self) -> u64 {
        self.held.bytes_held()
    }

    /// Whether what came since the tables held so many bytes may stay.
    pub(crate) fn ask_since(&self, graph: &UpdateGraph, before: u64) -> Result<(), Error> {
        match (self.limit.load(Ordering::Relaxed), self.held().saturating_sub(before)) {
            (u64::MAX, _) | (_, 0) => Ok(()),
            (limit, need) => compare(graph, before, need, limit),
        }
    }
}

/// Whether so many bytes fit beside those of the tables and of the calls that wait.
#[cold]
fn compare(graph: &UpdateGraph, tables: u64, need: u64, limit: u64) -> Result<(), Error> {
    let held = tables.saturating_add(sources::waiting_bytes(graph));
    if held.saturating_add(need) <= limit {
        return Ok(());
    }
    Err(Exhausted { need, held, limit, whose: Whose::Graph }.into())
}
