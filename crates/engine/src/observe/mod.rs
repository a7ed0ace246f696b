//! What a graph tells of itself: what each node did, what went wrong, which rows were passed over, what the storage did.

pub(crate) mod companion;
pub mod counters;
pub mod errors;
pub mod events;
pub mod performance;
