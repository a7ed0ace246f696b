//! Who follows a table: listeners, what waits for a slow one, and how changes that wait become one.

pub mod coalesce;
pub mod listener;
pub mod next_change;
pub mod queue;
pub mod waiting;
