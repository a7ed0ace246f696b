//! The operations, one file each: a request, a start from a snapshot, a reaction to change.

pub mod agg;
pub mod concat;
pub mod filter;
pub mod join;
pub mod lazy_update;
pub mod neighbours;
pub mod project;
pub mod select;
pub mod slice;
pub mod sort;
pub mod view;

pub use crate::plan::{How, Keep, Kept, aggregate, columns, distinct, filtered, live_set, natural_join};
pub use agg::Aggregation;
pub use concat::Concat;
pub use filter::Filter;
pub use join::{AsofJoin, AsofOptions, Matches, Member, NaturalJoin, Strategy, Tolerance, WhereIn};
pub use lazy_update::LazyUpdate;
pub use neighbours::Neighbours;
pub use project::Project;
pub use select::Select;
pub use slice::Slice;
pub use sort::{Sort, SortBy};
pub use view::ComputedView;
