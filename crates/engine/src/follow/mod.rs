//! Who follows a table: listeners, the queue of what they have yet to hear, what waits for a slow one, and how changes
//! that wait become one.

pub(crate) mod coalesce;
pub(crate) mod listener;
mod next_change;
mod queue;
pub(crate) mod waiting;

pub use next_change::next_change;
pub use queue::{DeliveryQueue, Follower, Following, Waited};
pub use waiting::Word;
