//! The inner loops: cells by position, by width, never by type.

pub(crate) mod assemble;
pub mod compare;
mod gather;
pub mod hash;
mod join;
pub mod radix;
pub mod sort;
pub(crate) mod words;

pub use gather::gather;
pub use join::{chunk_filter, concat};
