//! How a row set is kept.

pub(crate) mod spans;
