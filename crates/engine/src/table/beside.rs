//! What is known of a table beside its rows: up to which time they have come, which came too late, and what was counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

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
    pub(crate) tallies: Vec<Arc<Tallies>>,
}

/// What was counted of rows that were refused, and of what is held and was let go.
#[derive(Debug)]
pub struct Tallies {
    told: &'static [&'static str],
    late: AtomicU64,
    late_removals: AtomicU64,
    held_rows: AtomicI64,
    evicted_rows: AtomicU64,
    held_groups: AtomicU64,
    evicted_groups: AtomicU64,
}

impl Tallies {
    /// Of the rows of windows over a watermark.
    pub(crate) fn of_windows() -> Arc<Tallies> {
        Tallies::telling(&["late", "late_removals", "held_rows"])
    }

    /// Of rows that are held.
    pub(crate) fn of_rows() -> Arc<Tallies> {
        Tallies::telling(&["late", "held_rows", "evicted_rows"])
    }

    /// Of groups that are held.
    pub(crate) fn of_groups() -> Arc<Tallies> {
        Tallies::telling(&["held_groups", "evicted_groups"])
    }

    fn telling(told: &'static [&'static str]) -> Arc<Tallies> {
        let zero = || AtomicU64::new(0);
        Arc::new(Tallies {
            told,
            late: zero(),
            late_removals: zero(),
            held_rows: AtomicI64::new(0),
            evicted_rows: zero(),
            held_groups: zero(),
            evicted_groups: zero(),
        })
    }

    /// Rows that came too late, or were to be taken back too late.
    pub(crate) fn late(&self, came: u64, removed: u64) {
        self.late.fetch_add(came, Ordering::Relaxed);
        self.late_removals.fetch_add(removed, Ordering::Relaxed);
    }

    /// So many rows are held more, or fewer, and so many were let go.
    pub(crate) fn rows(&self, more: i64, evicted: u64) {
        self.held_rows.fetch_add(more, Ordering::Relaxed);
        self.evicted_rows.fetch_add(evicted, Ordering::Relaxed);
    }

    /// So many groups are held, and so many were let go.
    pub(crate) fn groups(&self, held: u64, evicted: u64) {
        self.held_groups.store(held, Ordering::Relaxed);
        self.evicted_groups.fetch_add(evicted, Ordering::Relaxed);
    }

    /// What was counted, by its name.
    pub(crate) fn counted(&self) -> Vec<(&'static str, u64)> {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let one = |name: &'static str| {
            let count = match name {
                "late" => of(&self.late),
                "late_removals" => of(&self.late_removals),
                "held_rows" => u64::try_from(self.held_rows.load(Ordering::Relaxed)).unwrap_or_default(),
                "evicted_rows" => of(&self.evicted_rows),
                "held_groups" => of(&self.held_groups),
                _ => of(&self.evicted_groups),
            };
            (name, count)
        };
        self.told.iter().copied().map(one).collect()
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

    /// What was counted of rows that it does not have, and of what is held for it, by its name; empty if nothing is.
    pub fn counted(&self) -> Vec<(&'static str, u64)> {
        let mut counted: Vec<(&'static str, u64)> = Vec::new();
        for (name, count) in self.tallies().iter().flat_map(|tallies| tallies.counted()) {
            match counted.iter_mut().find(|(known, _)| *known == name) {
                Some((_, sum)) => *sum += count,
                None => counted.push((name, count)),
            }
        }
        counted
    }

    /// What counts for it.
    pub(crate) fn tallies(&self) -> &[Arc<Tallies>] {
        beside(self).map_or(&[], |beside| &beside.tallies)
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
        self.with_beside(Arc::new(Beside { mark: None, late, tallies: vec![tallies] }))
    }

    /// This table, for which something is held and let go.
    pub(crate) fn with_tallies(self, tallies: Vec<Arc<Tallies>>) -> Table {
        if tallies.is_empty() {
            return self;
        }
        let beside = beside(&self).cloned().unwrap_or_default();
        self.with_beside(Arc::new(Beside { tallies, ..beside }))
    }
}

fn beside(table: &Table) -> Option<&Beside> {
    table.beside().and_then(|known| known.downcast_ref())
}
