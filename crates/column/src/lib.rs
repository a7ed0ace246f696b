//! Cells by row key: Arrow chunks, blocks, undo, kernels.
//!
//! A [`ColumnSource`] lives through time; `at(moment)` gives a [`Column`], a plain immutable value
//! that hands out cells as Arrow arrays in one canonical type per family ([`kind`]).

mod bits;
mod block;
mod blocks;
mod cells;
mod constant;
mod counters;
mod dead;
mod digits;
mod edit;
mod error;
mod failpoints;
mod fits;
mod flat;
mod gathering;
pub mod kernels;
pub mod keys;
pub mod kind;
mod pages;
mod reading;
mod redirect;
mod rows;
mod segments;
mod sizes;
mod slab;
pub mod sound;
mod source;
mod texts;
mod tree;
mod undo;
mod view;
mod widen;

#[cfg(test)]
mod laws;
#[cfg(test)]
#[cfg(debug_assertions)]
mod limit_laws;
#[cfg(test)]
mod promises;

pub use blocks::BlockColumn;
pub use constant::ConstantColumn;
pub use counters::{ColumnCounters, StorageCounters};
pub use dead::Dead;
pub use digits::unscaled;
pub use edit::{Edit, Move, moves, undo_rows, vacated};
pub use error::Error;
pub use fits::fits;
pub use flat::FlatColumn;
pub use pages::LargePages;
pub use redirect::RedirectColumn;
pub use rows::{KeysError, keys_of_rows, mask_of_rows, matching, rows_of_keys, rows_of_mask};
pub use source::{Chunk, Column, ColumnSource, NO_ROW};
pub use widen::widens;
