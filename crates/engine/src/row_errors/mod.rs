//! Rows that an operation was told to pass over: `on_error`, and the live table of what went wrong.
//!
//!   with_columns y = cast(x, Int64), on_error null    + 0 "7"    + 1 "seven"
//!   out                                               + 0 7      + 1 null
//!   errors                                            + 0 with_columns y 1 …
//!
//! An operation notes a fault while it evaluates ([`Faults::note`]); its node publishes them when the step's work is
//! done. The graph's journal keeps them for the table of errors, which waits for all such nodes and so shows the rows
//! of step *n* at *n*. Faults of an initialisation, and of a node that joined while the step ran, come one step later.

mod journal;
mod policy;
mod sink;

pub(crate) use journal::{Journal, ORIGIN, SHOWN, batch, schema};
pub use policy::OnError;
pub(crate) use sink::Fault;
pub use sink::Faults;
