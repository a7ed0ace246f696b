//! What a step leaves behind until it has settled.

/// Something that holds state of the running step and lets it go once the step has settled.
pub trait Settle: Send + Sync {
    /// The step is over: before-values may go.
    fn settle(&self);
    /// Bytes it holds.
    fn bytes(&self) -> u64;
}
