//! Storage counters: bytes held, blocks copied on write because a reader held them, bytes of undo log.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counters that many columns share; each column also has its own, which adds to these.
#[derive(Debug, Default)]
pub struct StorageCounters {
    blocks_copied: AtomicU64,
    bytes_held: AtomicU64,
    undo_bytes: AtomicU64,
    total: Option<Arc<StorageCounters>>,
}

/// The figures of one column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ColumnCounters {
    /// Blocks copied before an edit because a snapshot or a slice held them.
    pub blocks_copied: u64,
    /// Bytes allocated for cells and strings.
    pub bytes_held: u64,
    /// Bytes of before-values kept for the step that runs.
    pub undo_bytes: u64,
    /// Blocks in the tree.
    pub blocks: u64,
}

impl StorageCounters {
    /// Counters that add to `total` as well.
    pub(crate) fn under(total: Option<Arc<StorageCounters>>) -> Arc<StorageCounters> {
        Arc::new(StorageCounters { total, ..StorageCounters::default() })
    }

    /// Blocks copied before an edit because somebody held them, since the start.
    pub fn blocks_copied(&self) -> u64 {
        self.blocks_copied.load(Relaxed)
    }

    /// Bytes allocated for cells and strings now.
    pub fn bytes_held(&self) -> u64 {
        self.bytes_held.load(Relaxed)
    }

    /// Bytes of before-values kept now.
    pub fn undo_bytes(&self) -> u64 {
        self.undo_bytes.load(Relaxed)
    }

    pub(crate) fn block_copied(&self) {
        self.each(|counters| &counters.blocks_copied, |counter| counter.fetch_add(1, Relaxed));
    }

    pub(crate) fn hold(&self, bytes: usize) {
        self.each(|counters| &counters.bytes_held, |counter| counter.fetch_add(bytes as u64, Relaxed));
    }

    pub(crate) fn release(&self, bytes: usize) {
        self.each(|counters| &counters.bytes_held, |counter| counter.fetch_sub(bytes as u64, Relaxed));
    }

    pub(crate) fn keep_undo(&self, bytes: u64) {
        self.each(|counters| &counters.undo_bytes, |counter| counter.fetch_add(bytes, Relaxed));
    }

    pub(crate) fn drop_undo(&self, bytes: u64) {
        self.each(|counters| &counters.undo_bytes, |counter| counter.fetch_sub(bytes, Relaxed));
    }

    fn each(&self, field: fn(&StorageCounters) -> &AtomicU64, act: impl Fn(&AtomicU64) -> u64) {
        act(field(self));
        if let Some(total) = &self.total {
            act(field(total));
        }
    }
}
