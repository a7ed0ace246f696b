//! Columns of cells by row key: Arrow chunks, blocks, undo log, kernels.  A [`ColumnSource`] changes from step to step.
//! `at(moment)` returns a [`Column`], an immutable value whose cells are read as Arrow arrays, in one canonical type
//! per family ([`types`]).

mod column;
mod error;
pub mod kernels;
pub mod keys;
mod sizes;
pub mod sound;
mod sources;
mod storage;
pub mod types;

#[cfg(test)]
mod tests;

pub use column::{Chunk, Coded, Column, ColumnSource, Members, NO_ROW, Nulls, Zones};
pub use error::Error;
pub use kernels::rows::{KeysError, keys_of_rows, matching, rows_of_keys};
pub use sources::{FlatColumn, RedirectColumn};
pub use storage::blocks::BlockColumn;
pub use storage::counters::{ColumnCounters, StorageCounters};
pub use storage::dead::FreedCells;
pub use storage::edit::{Edit, Move, freed_keys, moves, undo_rows};
