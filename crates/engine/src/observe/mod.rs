//! What a graph tells of itself: what each node did, what went wrong, which rows were passed over, what the storage did.

mod counters;
mod errors;
pub mod events;
mod performance;

pub use counters::storage;
pub use errors::{error_count, errors};
pub use performance::performance;
