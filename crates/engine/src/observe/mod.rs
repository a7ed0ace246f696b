//! Observability of a graph: performance of its nodes, events for the log, row errors, storage counters.

mod counters;
mod errors;
pub mod events;
mod performance;

pub use counters::storage;
pub use errors::{error_count, errors};
pub use performance::performance;
