//! Chains of a plan that run in one pass: over a static table a chain of filters, computed columns and at its end perhaps an
//! aggregation reads each block of rows once, and stores nothing but its result.
//!
//!   scan → filter → with_columns → filter → group_by      five tables, four of which nobody keeps
//!   scan ────────── block by block ───────→ group_by      one
//!
//! The result is the same table: rows, their keys and order, groups and their order, attributes. An expression that can fail is
//! evaluated for the rows that it would have met, no more and no fewer; and where anything fails the chain is run as it is
//! written, so that the error is the one that the user would have read.

mod chain;
mod pass;
#[cfg(test)]
mod tests;

use std::cell::Cell;

pub(crate) use self::chain::Chain;
use super::node::Nodes;
use crate::driver::node::guarded;
use crate::error::Error;
use crate::sizes::FUSED_ROWS;
use crate::table::handle::Table;
use crate::table::request::Request;
use crate::threads::parallel::{self, Phase};

thread_local! {
    static PASSES: Cell<u64> = const { Cell::new(0) };
}

/// How many chains this thread has run in one pass.
#[cfg(any(test, feature = "testing"))]
pub fn passes() -> u64 {
    PASSES.get()
}

impl Chain {
    /// The table that it makes of its base in one pass; none where it is to be run as it is written.
    pub(super) fn run(&self, nodes: &Nodes, base: Option<&Table>) -> Option<Table> {
        let base = base?;
        if base.is_live()
            || base.attributes().blink
            || base.size().items < FUSED_ROWS.rows()
            || base.watermark().is_some()
        {
            return None;
        }
        let request = Request::unique(&nodes.0[self.end()].method);
        let pass = || parallel::inside(None, Phase::Start, || pass::run(self, nodes, base));
        let made = guarded(&request, pass);
        debug_assert!(!matches!(made, Err(Error::Internal { .. })), "{:?}", made.err());
        let made = made.ok().flatten()?;
        PASSES.set(PASSES.get() + 1);
        Some(made)
    }

    /// What the first of its nodes stands on.
    pub(crate) fn base(&self) -> usize {
        self.base
    }

    /// The places of its nodes.
    pub(crate) fn places(&self) -> &[usize] {
        &self.places
    }
}
