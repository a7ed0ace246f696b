//! The harness of laws: random tables and steps from one byte tape, drawings, the checker of updates, and the law
//! itself.
//!
//! Nothing here knows the oracle; `oracle.rs` is the bridge to it and exists in tests alone.

pub mod check;
pub mod draw;
pub mod explore;
pub mod feeds;
pub mod keys;
pub mod mirror;
#[cfg(test)]
pub mod oracle;
pub mod plain;
pub mod random;
pub mod rules;
pub mod steps;
mod story;
pub mod tape;
pub mod validate;
pub mod values;

pub use crate::error::Error;
pub use crate::table::handle::Table;
pub use check::{Drawn, Found, check_steps, check_steps_of_two, run_drawn_law, run_law, run_planned_law, still_graph};
pub use explore::{count_step, explore};
pub use feeds::Source;
pub use mirror::{Mirror, RawStep};
#[cfg(test)]
pub use oracle::{check_law, check_law_of_two};
pub use plain::{Cell, Plain};
pub use random::{Case, TableSpec, any_table, table_of};
pub use tape::Tape;
pub use validate::Watch;
