//! Kernels over whole chunks: what lanes of fixed width cannot do.

pub(crate) mod cast;
pub(crate) mod decimal;
pub(crate) mod member;
pub(crate) mod order;
pub(crate) mod text;
