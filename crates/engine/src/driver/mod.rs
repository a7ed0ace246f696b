//! The driver: what an operation is, how it joins a graph that moves, how its node runs in a step and catches up, and
//! who waits for whom when equal requests meet.

pub mod attach;
pub mod budget;
pub mod failpoints;
pub(crate) mod interrupted;
pub(crate) mod memo;
pub mod node;
pub mod operation;
pub(crate) mod recorder;
