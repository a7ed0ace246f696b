//! The context of a thread that works for a graph: its pool for splitting work, the operations that start on its call
//! path, and whether it may be interrupted.

pub mod interrupt;
pub(crate) mod making;
pub(crate) mod parallel;
pub(crate) mod starting;

pub(crate) use graph::lock;
