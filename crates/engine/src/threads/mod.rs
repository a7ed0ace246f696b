//! What a thread carries while it works for a graph: the pool it may split work over, the operations that start on the
//! way, and whether it may be interrupted.

pub mod interrupt;
mod lock;
pub(crate) mod parallel;
pub(crate) mod starting;

pub(crate) use lock::lock;
