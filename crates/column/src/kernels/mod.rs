//! The inner loops: cells by position, by width, never by type.

pub(crate) mod assemble;
pub mod compare;
pub mod hash;
pub(crate) mod words;
