//! Row errors: `on_error`, which makes an operation skip rows that it cannot compute, and the live table of these rows.
//!
//!   with_columns y = cast(x, Int64), on_error null    + 0 "7"    + 1 "seven"
//!   out                                               + 0 7      + 1 null
//!   errors                                            + 0 with_columns y 1 …
//!
//! An operation records row errors while it evaluates ([`RowErrors::note`]); its node publishes them after its update. The
//! graph's journal keeps them for the table of errors, which depends on all such nodes, and so shows the rows of step
//! *n* at *n*. Row errors of an initialisation, and of a node that joined while the step ran, appear one step later.

mod journal;
mod policy;
mod sink;

pub(crate) use journal::{Journal, ORIGIN, SHOWN, batch, schema};
pub use policy::OnError;
pub(crate) use sink::RowError;
pub use sink::RowErrors;
