//! Planners: requests that need several operations (computed keys, aggregates beside rows, live sets, rows that are
//! left out). A planner attaches the operations that it needs, and has no state and no update of its own.
//!
//! Planning is recursive: a key of a group may be an expression over aggregates. Files below [`columns`] get it as an
//! argument.

mod aggregate;
mod beside;
mod closing;
mod columns;
mod computed;
mod distinct;
mod held;
mod hidden;
mod join;
mod join_where;
mod kinds;
mod multi_join;
mod natural_join;
mod order;
mod over;
mod pivot;
mod range_join;
mod recent;
mod rolling;
mod row_keys;
mod runs;
mod sequential;
mod sets;
mod sync;
mod time_sessions;
mod time_windows;
mod update_by;

pub(in crate::plan) use columns::{
    aggregate, columns, filtered, multi_join, pivot, range_join, rolling, standing, time_sessions, time_windows,
};
pub use computed::ColumnOptions;
pub(in crate::plan) use distinct::distinct;
pub(in crate::plan) use held::held_rows;
pub(in crate::plan) use join::join;
pub(in crate::plan) use join_where::join_where;
pub(in crate::plan) use kinds::{add_only_to_blink, blink_to_append_only};
pub(in crate::plan) use natural_join::natural_join;
pub(in crate::plan) use order::{in_order, merge_sorted, sort, top_k};
pub(in crate::plan) use sequential::{batches, sequential};
pub use sets::live_set;
pub(in crate::plan) use sets::table_of;
pub(in crate::plan) use sync::{sync_filter, sync_leader};
pub(in crate::plan) use update_by::update_by;
