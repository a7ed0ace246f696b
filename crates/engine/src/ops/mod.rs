//! The operations, one file each: a request, a start from a snapshot, a reaction to change.

pub mod agg;
pub mod concat;
pub mod distinct;
pub mod filter;
pub mod join;
pub mod project;
pub mod select;
pub mod slice;
pub mod sort;

pub use agg::{Aggregation, aggregate};
pub use concat::Concat;
pub use distinct::{Keep, distinct};
pub use filter::Filter;
pub use join::{AsofJoin, AsofOptions, Matches, NaturalJoin, Strategy};
pub use project::Project;
pub use select::{Select, columns};
pub use slice::Slice;
pub use sort::{Sort, SortBy};
