//! Following a table: listeners, their delivery queue, the changes that wait for a slow listener, and coalescing them.

pub(crate) mod coalesce;
pub(crate) mod listener;
mod next_change;
mod queue;
pub(crate) mod waiting;

pub use next_change::next_change;
pub use queue::{DeliveryQueue, Follower, Following, FollowingSteps, Waited};
pub use waiting::Message;
