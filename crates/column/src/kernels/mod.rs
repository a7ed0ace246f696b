//! The inner loops: cells by position, by width, never by type.

pub(crate) mod assemble;
pub mod compare;
mod gather;
pub(crate) mod hash;
mod join;
pub(crate) mod masked;
pub mod radix;
pub mod sort;
pub(crate) mod words;

pub use gather::{gather, gather_rows};
pub use join::{chunk_filter, concat};
