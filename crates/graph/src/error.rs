//! Errors of running a graph and of waiting for it, each with its remedy.

use crate::clock::{Moment, Step};
use std::time::Duration;

/// A call the graph refuses, or gave up.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum GraphError {
    /// Nobody runs steps, and the time is over.
    #[error(
        "waited {seconds} for step {awaited}, but the graph is not running: it was never started, or `stop()` was called \
         (settled: step {settled}); call `start()`, or run a step by hand with `step()`",
        awaited = step.number(), settled = settled.number(), seconds = seconds(waited)
    )]
    Stopped {
        /// The step that was waited for.
        step: Step,
        /// The last step that has settled.
        settled: Moment,
        /// How long.
        waited: Duration,
    },
    /// The graph runs, but did not get there in time.
    #[error(
        "step {awaited} did not settle within {seconds} (settled: step {settled}); wait longer, or look at \
         `graph.counters()` for what the cycle is busy with",
        awaited = step.number(), settled = settled.number(), seconds = seconds(waited)
    )]
    Timeout {
        /// The step that was waited for.
        step: Step,
        /// The last step that has settled.
        settled: Moment,
        /// How long.
        waited: Duration,
    },
    /// The cycle itself panicked: a mistake of the engine.
    #[error(
        "step {} broke off: {message}; it is closed, what had not run in it has failed, and the graph goes on with the \
         next step; please report it", step.number()
    )]
    Broken {
        /// The step.
        step: Step,
        /// The panic.
        message: String,
    },
    /// The thread that runs steps is gone, though nobody stopped it.
    #[error(
        "step {awaited} will not come by itself: the graph's thread has ended (settled: step {settled}): {cause}; call \
         `start()` to go on, or run a step by hand with `step()`",
        awaited = step.number(), settled = settled.number()
    )]
    Ended {
        /// The step that was waited for.
        step: Step,
        /// The last step that has settled.
        settled: Moment,
        /// Why.
        cause: String,
    },
    /// The machine gives no thread.
    #[error(
        "the graph cannot start: the machine gives it no thread ({why}); end others, or run steps by hand with `step()`"
    )]
    NoThread {
        /// What the machine says.
        why: String,
    },
    /// The caller's own signal ended the wait.
    #[error("the wait for step {} was interrupted; nothing was changed, wait again if you like", step.number())]
    Interrupted {
        /// The step that was waited for.
        step: Step,
    },
    /// Inside an operation or a user's function.
    #[error(
        "this would wait for the graph from inside a running step or a user's function, and hang; do it after the \
         step, or from another thread"
    )]
    InsideStep,
    /// Inside a listener.
    #[error(
        "this would wait for the graph from inside a listener, and hang; hand the work to another thread (writes, \
         snapshots, `stop()` and new operations are fine here)"
    )]
    InsideCallback,
    /// While this thread keeps cycles from running.
    #[error(
        "this would wait for a step while this thread holds `frozen()`, and hang; leave the `frozen()` block first"
    )]
    UnderSharedLock,
    /// Before this thread's transaction is queued.
    #[error(
        "this would wait for a step from inside an open `transaction()`, whose data is queued only when it ends; leave \
         the `transaction()` block first"
    )]
    InsideTransaction,
    /// In the child of a fork.
    #[error(
        "this graph belongs to process {owner}, and this is its forked child {child}: threads and locks do not cross a \
         fork; make a new graph here, or start the process with the `spawn` method"
    )]
    Forked {
        /// The process that made the graph.
        owner: u32,
        /// This process.
        child: u32,
    },
    /// An edge that would make a node its own ancestor.
    #[error(
        "`{child}` cannot depend on `{parent}`, which depends on it: a table cannot feed itself within one step; feed it \
         back through an input table, which takes the rows in the next step"
    )]
    Loop {
        /// The node that would have waited.
        child: String,
        /// The node it would have waited for.
        parent: String,
    },
}

/// As people say it: to the millisecond, with nothing that says nothing.
fn seconds(waited: &Duration) -> String {
    let text = format!("{:.3}", waited.as_secs_f64());
    format!("{} s", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_waited_is_told_in_seconds() {
        let told = |nanos| seconds(&Duration::from_nanos(nanos));
        assert_eq!([told(150), told(200_105_623), told(5_000_126_010)], ["0 s", "0.2 s", "5 s"]);
    }
}
