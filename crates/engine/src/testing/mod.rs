//! What laws are tested with: random tables and steps from one byte tape, drawings, the checker of
//! updates, and the law itself.
//!
//! Nothing here knows the oracle; `oracle.rs` is the bridge to it and exists in tests alone.

pub mod draw;
pub mod keys;
pub mod mirror;
pub mod plain;
pub mod random;
pub mod steps;
pub mod tape;
pub mod values;

pub use mirror::{Mirror, RawStep};
pub use plain::{Cell, Plain};
pub use random::{Case, TableSpec, any_table, table_of};
pub use tape::Tape;
