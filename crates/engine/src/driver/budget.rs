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
    /// The limit in bytes; `u64::MAX` if none was set.
    limit: AtomicU64,
    held: Arc<StorageCounters>,
}

impl Budget {
    /// The limit of this graph.
    pub fn of(graph: &UpdateGraph) -> Arc<Budget> {
        let held = storage(graph);
        graph.extension(|| Budget { limit: AtomicU64::new(u64::MAX), held })
    }

    /// Sets the limit; none means that only the process's budget applies.
    pub fn limit(&self, bytes: Option<u64>) {
        self.limit.store(bytes.unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Checks whether `bytes` more may be held.
    #[inline]
    pub(crate) fn ask(&self, graph: &UpdateGraph, need: u64) -> Result<(), Error> {
        match self.limit.load(Ordering::Relaxed) {
            u64::MAX => Ok(()),
            limit => compare(graph, self.held(), need, limit),
        }
    }

    /// The bytes that the tables hold now.
    pub(crate) fn held(&self) -> u64 {
        self.held.bytes_held()
    }

    /// Checks whether the growth since the tables held `before` bytes may stay.
    pub(crate) fn ask_since(&self, graph: &UpdateGraph, before: u64) -> Result<(), Error> {
        match (self.limit.load(Ordering::Relaxed), self.held().saturating_sub(before)) {
            (u64::MAX, _) | (_, 0) => Ok(()),
            (limit, need) => compare(graph, before, need, limit),
        }
    }
}

/// Checks whether so many bytes fit beside those of the tables and of the queued calls.
#[cold]
fn compare(graph: &UpdateGraph, tables: u64, need: u64, limit: u64) -> Result<(), Error> {
    let held = tables.saturating_add(sources::waiting_bytes(graph));
    if held.saturating_add(need) <= limit {
        return Ok(());
    }
    Err(Exhausted { need, held, limit, whose: Whose::Graph }.into())
}
