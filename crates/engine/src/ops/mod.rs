//! The operations, one file each: a request, an initialisation from a snapshot, and an update.

pub(crate) mod agg;
mod asked;
pub(crate) mod concat;
pub(crate) mod explode;
pub(crate) mod filter;
pub(crate) mod group_limit;
pub(crate) mod flatten;
pub(crate) mod grouped_shift;
pub(crate) mod join;
pub(crate) mod lazy_update;
pub(crate) mod neighbours;
pub(crate) mod project;
pub(crate) mod reverse;
pub(crate) mod select;
pub(crate) mod slice;
pub(crate) mod sort;
pub(crate) mod view;

pub use agg::Aggregation;
pub use concat::Concat;
pub use explode::Explode;
pub use filter::Filter;
pub use group_limit::GroupLimit;
pub use flatten::Flatten;
pub use grouped_shift::GroupedShift;
pub use join::{AsofJoin, EquiJoin, NaturalJoin, WhereIn};
pub use lazy_update::LazyUpdate;
pub use neighbours::Neighbours;
pub use project::Project;
pub use reverse::Reverse;
pub use select::Select;
pub use slice::Slice;
pub use sort::Sort;
pub use view::ComputedView;
