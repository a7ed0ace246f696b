//! Counters of parsing and planning.

use std::sync::atomic::{AtomicU64, Ordering};

/// How often formulas were read, and expressions planned, since the process began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Texts that were parsed; one that is known is not.
    pub read: u64,
    /// Expressions bound to columns and laid out as programs. Nothing is compiled: a program is a list of instructions.
    pub planned: u64,
}

static READ: AtomicU64 = AtomicU64::new(0);
static PLANNED: AtomicU64 = AtomicU64::new(0);

/// What was counted so far.
pub fn counted() -> Counted {
    Counted { read: READ.load(Ordering::Relaxed), planned: PLANNED.load(Ordering::Relaxed) }
}

pub(crate) fn count_read() {
    READ.fetch_add(1, Ordering::Relaxed);
}

pub(crate) fn count_planned() {
    PLANNED.fetch_add(1, Ordering::Relaxed);
}
