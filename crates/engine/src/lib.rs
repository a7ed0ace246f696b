//! Tables that keep themselves true: updates, operations, sources, listeners.
//!
//! `engine` knows no Python and no socket. An operation is two functions that never see a lock
//! ([`operation`]); the driver ([`attach()`]) does all plumbing.

mod arrays;
pub mod attach;
pub mod budget;
mod companion;
pub mod counters;
pub mod error;
pub mod events;
pub mod expression;
pub mod failpoints;
pub mod faults;
mod guess;
pub mod interrupt;
mod interrupted;
pub mod key_rows;
pub mod keys;
pub mod late;
pub mod listen;
mod memo;
pub mod operation;
pub mod ops;
pub mod par;
pub mod performance;
pub mod reach;
mod recorder;
mod sizes;
pub mod sources;
pub mod table;
mod table_node;
pub mod turns;
pub mod waiting;

#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use attach::{attach, attach_in_step};
pub use error::{Error, Failure};
pub use faults::OnError;
pub use listen::{Delivered, Listener, Part, Subscription};
pub use operation::{Input, Live, Operation, Parts, Request, Start};
pub use table::handle::{Attributes, Table, WeakTable, snapshot};
pub use table::update::{ColumnSet, TableUpdate};
pub use table::view::{Change, View};
pub use table::{categories, export};
