//! Incrementally maintained tables: updates, operations, sources, listeners.
//!
//! `engine` knows no Python and no socket. An operation is two functions that never see a lock ([`Operation`], [`Live`]);
//! the driver ([`attach()`]) does all plumbing.

mod driver;
mod error;
mod eval;
pub mod follow;
mod keys;
pub mod observe;
pub mod ops;
mod partition;
pub mod plan;
mod row_errors;
mod sizes;
pub mod sources;
mod table;
mod threads;

#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use driver::attach::{attach, attach_in_step};
pub use driver::budget::Budget;
pub use driver::failpoints;
pub use driver::operation::{Input, Live, Operation, Start};
pub use error::{Error, External, Failure, Frame, Location};
pub use eval::affected::refresh_safe;
pub use eval::call::Call;
pub use eval::schedule::{ExecutionOrder, check_barriers};
pub use follow::listener::{Listener, Part, Subscription, UpdateEvent};
pub use partition::{Partitioned, Transformer};
pub use row_errors::OnError;
pub use table::change::Change;
pub use table::handle::{Table, WeakTable};
pub use table::parts::Parts;
pub use table::request::Request;
pub use table::snapshot::{snapshot, snapshot_at};
pub use table::store::Writes;
pub use table::update::{ColumnSet, Merged, TableUpdate};
pub use table::view::View;
pub use table::{categories, export};
pub use threads::interrupt;
pub use threads::parallel::function_scope;
