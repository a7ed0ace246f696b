//! What is known of a table beside its rows: up to which time they have come, which came too late, and what was counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::handle::Table;

/// The watermark of a table.
#[derive(Clone)]
pub struct Mark {
    /// The column of stamps.
    pub stamp: String,
    /// A table of one row: the watermark, and whether the source is idle.
    pub clock: Table,
}

/// What a handle of a table knows beside it.
#[derive(Clone, Default)]
pub(crate) struct Beside {
    pub(crate) mark: Option<Mark>,
    pub(crate) late: Option<Table>,
    pub(crate) tallies: Option<Arc<Tallies>>,
}

/// What was counted of rows that were refused.
#[derive(Debug, Default)]
pub struct Tallies {
    late: AtomicU64,
    late_removals: AtomicU64,
}

impl Tallies {
    /// Rows that came too late, or were to be taken back too late.
    pub(crate) fn late(&self, came: u64, removed: u64) {
        self.late.fetch_add(came, Ordering::Relaxed);
        self.late_removals.fetch_add(removed, Ordering::Relaxed);
    }

    /// What was counted, by its name.
    pub fn counted(&self) -> [(&'static str, u64); 2] {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        [("late", of(&self.late)), ("late_removals", of(&self.late_removals))]
    }
}

impl Table {
    /// Up to which time its rows have come, if that was said.
    pub fn watermark(&self) -> Option<&Mark> {
        beside(self).and_then(|beside| beside.mark.as_ref())
    }

    /// The rows that came too late for it, if they are kept.
    pub fn late(&self) -> Option<&Table> {
        beside(self).and_then(|beside| beside.late.as_ref())
    }

    /// What was counted of rows that it does not have.
    pub fn tallies(&self) -> Option<&Tallies> {
        beside(self).and_then(|beside| beside.tallies.as_deref())
    }

    /// This table with this watermark, or none.
    pub(crate) fn marked(self, mark: Option<Mark>) -> Table {
        if mark.is_none() && self.watermark().is_none() {
            return self;
        }
        let beside = beside(&self).cloned().unwrap_or_default();
        self.with_beside(Arc::new(Beside { mark, ..beside }))
    }

    /// This table, for which rows come too late.
    pub(crate) fn with_late(self, late: Option<Table>, tallies: Arc<Tallies>) -> Table {
        self.with_beside(Arc::new(Beside { mark: None, late, tallies: Some(tallies) }))
    }
}

fn beside(table: &Table) -> Option<&Beside> {
    table.beside().and_then(|known| known.downcast_ref())
}
