//! The operations, one file each: a request, a start from a snapshot, a reaction to change.

pub mod agg;
pub mod columns;
pub mod concat;
pub mod distinct;
pub mod filter;
pub mod join;
pub mod lazy_update;
pub mod neighbours;
mod over;
pub mod project;
pub mod select;
pub mod sets;
pub mod slice;
pub mod sort;
pub mod view;

pub use agg::{Aggregation, aggregate};
pub use columns::{How, Kept, columns, filtered};
pub use concat::Concat;
pub use distinct::{Keep, distinct};
pub use filter::Filter;
pub use join::{AsofJoin, AsofOptions, Matches, Member, NaturalJoin, Strategy, Tolerance, WhereIn, natural_join};
pub use lazy_update::LazyUpdate;
pub use neighbours::Neighbours;
pub use project::Project;
pub use select::Select;
pub use sets::live_set;
pub use slice::Slice;
pub use sort::{Sort, SortBy};
pub use view::ComputedView;
