//! The inner loops: cells by position, by width, never by type.

pub(crate) mod assemble;
pub mod compare;
pub mod hash;
mod radix;
pub mod sort;
pub(crate) mod words;
