//! Time and order: clock, nodes, locks, snapshots.
//!
//! The graph knows no rows. It decides *when* a node runs, *which* moment a reader sees, and which threads wait. The
//! protocol is described in `README.md` beside this crate.
#![forbid(unsafe_code)]

mod clock;
mod core;
mod cycle;
mod drawing;
pub mod env;
mod error;
mod executor;
mod extension;
mod failpoints;
mod gate;
mod graph;
mod intake;
mod join;
mod lifetime;
mod lock;
mod node;
mod pinned;
mod pools;
mod report;
mod role;
pub mod signals;
mod snapshot;
mod spin;
pub mod sync;
mod thread;
mod topology;
mod waiting;
mod walk;

#[cfg(test)]
mod tests;

pub use clock::{Moment, Moved, Step};
pub use drawing::Drawing;
pub use error::GraphError;
#[cfg(debug_assertions)]
pub use failpoints::{Point, TEXT};
pub use gate::{CallbackScope, FunctionScope, SharedLock, TransactionScope};
pub use graph::{HookId, Schedule, Settings, UpdateGraph, WeakGraph};
pub use lifetime::release;
pub use lock::lock;
pub use node::{Node, NodeId, Outcome, Registration};
pub use pinned::Pinned;
pub use report::{Counters, NodeRun, NodeTiming, Observer, Report, Size, Volume, log_troubles};
pub use spin::SpinWait;
pub use thread::{running_threads, stop_threads};
