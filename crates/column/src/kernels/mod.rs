//! The inner loops: cells by position, by width, never by type.

pub(crate) mod assemble;
pub(crate) mod bits;
pub(crate) mod cells;
pub mod compare;
mod gather;
pub(crate) mod hash;
mod join;
pub(crate) mod masked;
pub mod radix;
pub(crate) mod rows;
pub mod sort;
pub(crate) mod words;

pub use gather::{gather, gather_rows};
pub use join::{chunk_filter, concat};
