//! The inner loops: cells by position, by width, never by type.

pub(crate) mod assemble;
pub(crate) mod bits;
pub(crate) mod cells;
pub(crate) mod compare;
mod first;
mod gather;
pub(crate) mod hash;
mod join;
pub(crate) mod masked;
pub(crate) mod radix;
pub(crate) mod rows;
pub(crate) mod sort;
pub(crate) mod views;
pub(crate) mod words;

pub use bits::ones;
pub use compare::equal_cells;
pub use first::first_positions;
pub use gather::{gather, gather_parts, gather_rows};
pub use join::{concat, one_array};
pub use masked::pick_set;
pub use radix::{Entry as RadixEntry, sort as radix_sort};
pub use sort::{OrderBytes, order_words, sort_to_positions};
