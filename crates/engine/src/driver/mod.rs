//! The driver: what an operation is, how it joins a graph that moves, how its node runs in a step and catches up, and
//! who waits for whom when equal requests meet.

pub(crate) mod alarm;
pub(crate) mod attach;
pub(crate) mod budget;
pub mod failpoints;
pub(crate) mod interrupted;
pub(crate) mod memo;
pub(crate) mod node;
pub(crate) mod operation;
pub(crate) mod recorder;
pub(crate) mod when;
