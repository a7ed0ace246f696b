//! From the tree to values: bound to the columns of a schema, laid out as programs, computed chunk by chunk.

pub(crate) mod beside;
pub(crate) mod bind;
pub(crate) mod bound;
pub(crate) mod counters;
pub(crate) mod explain;
pub(crate) mod functions;
pub(crate) mod lanes;
pub(crate) mod node;
pub(crate) mod plan;
mod total;
