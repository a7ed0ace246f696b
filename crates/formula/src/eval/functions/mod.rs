//! Kernels over whole chunks: what lanes of fixed width cannot do.

mod built;
pub(crate) mod bytes;
pub(crate) mod cast;
pub(crate) mod civil;
pub(crate) mod contains;
pub(crate) mod decimal;
pub(crate) mod elementwise;
pub(crate) mod format;
pub(crate) mod list;
pub(crate) mod member;
pub(crate) mod order;
pub(crate) mod pad;
pub(crate) mod parse;
pub(crate) mod period;
pub(crate) mod random;
pub(crate) mod reduce;
pub(crate) mod search;
pub(crate) mod text;
pub(crate) mod time;
pub(crate) mod zone;
