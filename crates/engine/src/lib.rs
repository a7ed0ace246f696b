//! Tables that keep themselves true: updates, operations, sources, listeners.
//!
//! `engine` knows no Python and no socket. An operation is two functions that never see a lock
//! ([`operation`]); the driver ([`attach()`]) does all plumbing.

pub mod driver;
pub mod error;
pub mod eval;
pub mod follow;
pub mod keys;
pub mod observe;
pub mod ops;
pub mod plan;
mod row_errors;
mod sizes;
pub mod sources;
pub mod table;
pub mod threads;

#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use driver::attach::{attach, attach_in_step};
pub use driver::operation::{Input, Live, Operation, Start};
pub use driver::{budget, failpoints, operation};
pub use error::{Error, Failure, Location};
pub use eval::schedule::Turn;
pub use eval::{affected as reach, evaluator as expression, schedule as turns};
pub use follow::listener::{Delivered, Listener, Part, Subscription};
pub use follow::{next_change, queue, waiting};
pub use observe::{counters, errors as faults, events, performance};
pub use row_errors::OnError;
pub use table::change::Change;
pub use table::handle::{Table, WeakTable};
pub use table::parts::{Attributes, Parts};
pub use table::request::{Request, set_location};
pub use table::snapshot::snapshot;
pub use table::update::{ColumnSet, TableUpdate};
pub use table::view::View;
pub use table::{categories, export};
pub use threads::{interrupt, parallel as par};
