//! Making tables of a partitioned table while no step runs, or inside of one.

use graph::{Moment, UpdateGraph};

use crate::driver::when::When;
use crate::error::Error;
use crate::threads::making;

/// Runs `make` while no step of this graph runs, or in the step for which this thread makes tables. It must be short: a
/// step waits for it.
pub(super) fn still<R>(graph: Option<&UpdateGraph>, make: impl FnOnce(When) -> Result<R, Error>) -> Result<R, Error> {
    let Some(graph) = graph else { return make(When::Settled(Moment::new(0))) };
    if let Some(step) = making::running(graph) {
        return make(When::Running(step));
    }
    let _still = graph.shared_lock()?;
    make(When::Settled(graph.settled()))
}
