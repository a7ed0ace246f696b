//! The integration tests, one binary.

mod allocations;
mod attaching;
mod composed;
mod expressions;
mod failing_disk;
mod fused;
mod fuzzed;
mod half_sent;
mod hosts;
mod interrupting;
mod laws;
mod leaks;
mod model;
#[path = "../crates/engine/src/testing/oracle.rs"]
#[allow(dead_code, reason = "the laws of single operations, which live beside them, use the rest of it")]
mod oracle;
mod plans;
mod reduced;
mod registry;
mod restoring;
mod snapshots;
mod sources;
mod stages;
mod tidy;

/// What the bridge to the model expects beside it.
mod check {
    pub use engine::testing::{Found, run_law};
}
mod plain {
    pub use engine::testing::{Cell, Plain};
}
mod random {
    pub use engine::testing::TableSpec;
}
use engine::testing::{Error, Table};
