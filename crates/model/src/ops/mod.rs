//! The operations, one file each: tables and parameters in, a table out.
//!
//! Each says how its result is to be compared. Row keys of the result are those of the input where
//! the operation keeps rows, and positions where it makes its own.

mod aggregate;
mod concat;
mod drop;
mod explode;
mod extent;
mod filter;
mod group_limit;
mod groups;
mod in_order;
mod join;
mod join_asof;
mod matching;
mod multi_join;
mod natural_join;
mod over;
mod pairs;
mod partition;
mod pick;
mod pivot;
mod range_join;
mod rename;
mod rolling;
mod running;
mod select;
mod shift_over;
mod sort;
mod spread;
mod standing;
mod sync;
mod time_window;
mod unique;
mod where_in;
mod with_columns;

pub use aggregate::{Aggregate, Aggregator, Between, aggregate, totals};
pub use concat::concat;
pub use drop::drop;
pub use explode::{Explode, explode};
pub use extent::*;
pub use filter::{filter, filter_by};
pub use group_limit::{head_by, tail_by};
pub use in_order::{assert_sorted, merge_sorted};
pub use join::{How, Join, join};
pub use join_asof::{Asof, Strategy, join_asof};
pub use multi_join::multi_join;
pub use natural_join::{NaturalJoin, SecondMatch, natural_join};
pub use over::{over, over_sorted};
pub use partition::partition;
pub use pick::{first_by, last_by};
pub use pivot::pivot;
pub use range_join::{Bound, RangeJoin, range_join};
pub use rename::rename;
pub use rolling::{Rolling, Window, rolling};
pub use running::{Bad, Decay, Fades, Running, running};
pub use select::select;
pub use shift_over::shift_over;
pub use sort::{SortBy, sort};
pub use standing::aggregate_onto;
pub use sync::{sync_filter, sync_leader};
pub use time_window::time_window;
pub use unique::unique;
pub use where_in::where_in;
pub use with_columns::{Derived, with_columns};
