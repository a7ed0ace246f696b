//! Cells by row key: Arrow chunks, blocks, undo, kernels.
//!
//! A [`ColumnSource`] lives through time; `at(moment)` gives a [`Column`], a plain immutable value
//! that hands out cells as Arrow arrays in one canonical type per family ([`kind`]).

mod counters;
mod error;
pub mod kind;
mod source;

pub use counters::{ColumnCounters, StorageCounters};
pub use error::Error;
pub use source::{Chunk, Column, ColumnSource, NO_ROW};
