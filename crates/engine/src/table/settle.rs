//! Settling: the parts of a table that keep previous values until a step has settled.

/// A part of a table that keeps previous values during a step and drops them once the step has settled.
pub trait Settle: Send + Sync {
    /// The step is over: before-values may go.
    fn settle(&self);
    /// Bytes it holds.
    fn bytes(&self) -> u64;
}
