//! The arithmetic of row keys: sets, positions, shifts.
//!
//! A [`RowSet`] says *which rows*: a set of keys in `0 ..= MAX_KEY`, in order. Cloning one costs
//! nothing, editing one copies only what other handles still share, and a position is the number
//! of keys before a key. [`Shifts`] says how rows change their keys from one step to the next;
//! [`Before`] and [`Positions`] keep keys of the step before, and ordinals, from being mixed up
//! with keys of now.
//!
//! ```
//! use rowset::{Before, RowSet, Shift, Shifts};
//!
//! let before = Before(RowSet::flat(4));
//! let removed = Before(RowSet::key(1));
//! let survivors = &before - &removed;
//! let shifts = Shifts::new(vec![Shift { first: 2, last: 3, delta: -1 }], &survivors)?;
//! let mut rows = before.0.clone();
//! rows.apply(&removed.0, &shifts, &RowSet::key(3));
//!
//! assert_eq!(rows, RowSet::flat(4));
//! assert_eq!(rows, &shifts.forward(&survivors) | &RowSet::key(3));
//! assert_eq!(survivors.0.position_of(2), Some(1));
//! assert_eq!(survivors.0.to_string(), "{[0..0],[2..3]}");
//! # Ok::<(), rowset::ShiftError>(())
//! ```
#![deny(unsafe_code)]

mod build;
mod edit;
mod exchange;
mod from;
mod in_place;
mod iter;
mod kernels;
mod key;
mod mask;
mod merge;
mod ops;
mod position;
mod radix;
mod repr;
mod rowset;
mod scattered;
mod shift;
mod sizes;
mod space;

#[cfg(test)]
mod laws;

pub use exchange::RoaringError;
pub use iter::{Keys, Segment, Spans};
pub use key::{MAX_KEY, Span};
pub use rowset::{RowSet, Statistics};
pub use shift::{Shift, ShiftError, Shifts};
pub use space::{Before, Positions};
