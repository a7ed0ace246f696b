//! The inner loops: cells by position, by width, never by type.

pub(crate) mod assemble;
mod gather;
mod join;

pub use gather::gather;
pub use join::{chunk_filter, concat};
