//! The time as of which a table is made: while no step runs, or inside of one.

use graph::{Moment, Step};

/// The time as of which a table is made.
#[derive(Clone, Copy, Debug)]
pub(crate) enum When {
    /// A settled moment, while no step runs.
    Settled(Moment),
    /// The end of a running step, of inputs that have settled in it.
    Running(Step),
}

impl When {
    /// The moment whose state is read.
    pub(crate) fn moment(self) -> Moment {
        match self {
            When::Settled(moment) => moment,
            When::Running(step) => step.now(),
        }
    }
}
