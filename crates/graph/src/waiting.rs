//! The graph's methods on steps: running a step, waiting for one, and keeping steps from running.

use crate::clock::{Moment, Moved, Step};
use crate::cycle::{self, Asked};
use crate::env;
use crate::error::GraphError;
use crate::gate::{CallbackScope, FunctionScope, SharedLock, TransactionScope};
use crate::graph::UpdateGraph;
use crate::snapshot;
use std::time::Duration;

/// Running and waiting.
impl UpdateGraph {
    /// Runs one cycle now, with everything that is pending. Returns after its terminal notifications.
    pub fn step(&self) -> Result<Step, GraphError> {
        self.core().may_wait()?;
        let step = cycle::run(self.core(), Asked::ByHand, &|| false)?;
        self.core().thread.forget_end();
        Ok(step.expect("a cycle by hand is never abandoned"))
    }

    /// Starts the cycle thread, unless it runs. If no thread can be created, the graph stays stopped, and every wait
    /// fails with the cause.
    pub fn start(&self) {
        let _ = self.try_start();
    }

    /// As [`UpdateGraph::start`], but fails if no thread can be created.
    pub fn try_start(&self) -> Result<(), GraphError> {
        self.core().here()?;
        self.core().thread.start(self.core())
    }

    /// Stops the cycle thread and returns when the graph is idle. Where waiting would deadlock (in a listener, inside a
    /// step, under the shared lock) this returns at once; no further automatic cycle starts.
    pub fn stop(&self) {
        let core = self.core();
        if core.here().is_err() {
            return;
        }
        let handle = core.thread.tell_stop(core);
        if core.may_wait().is_err() {
            return;
        }
        if let Some(handle) = handle {
            // A cycle catches every panic; if the thread died all the same, there is nothing to wait for.
            let _ = handle.join();
        }
        core.gate.wait_idle();
    }

    /// Whether the cycle thread runs.
    pub fn is_started(&self) -> bool {
        self.core().here().is_ok() && self.core().thread.is_started()
    }

    /// Reads at one settled moment. `read` is called again if the moment moved, up to eight times without a lock, and
    /// then under the shared lock.
    pub fn snapshot<R>(&self, read: impl FnMut(Moment) -> Result<R, Moved>) -> R {
        snapshot::read(self.core(), read)
    }

    /// Takes the shared lock: no step runs while it is held. It is re-entrant per thread, may have several holders, and
    /// may be dropped on any thread.
    pub fn shared_lock(&self) -> Result<SharedLock, GraphError> {
        self.core().may_share()?;
        Ok(SharedLock::take(self.core()))
    }

    /// Waits until `step` has settled. `poll` is called at least every 50 ms; if it returns false the wait ends.
    pub fn wait_until(
        &self,
        step: Step,
        timeout: Option<Duration>,
        poll: &mut dyn FnMut() -> bool,
    ) -> Result<(), GraphError> {
        const POLL: Duration = Duration::from_millis(50);
        let core = self.core();
        core.may_wait()?;
        let over = || core.clock.settled() >= step.now();
        let begun = env::now();
        let deadline = timeout.and_then(|timeout| begun.checked_add(timeout));
        let mut polled = begun;
        if over() || core.spin.spin(over) {
            return Ok(());
        }
        let mut slept = false;
        loop {
            let guard = core.progress.lock();
            let settled = core.clock.settled();
            if settled >= step.now() {
                let called = guard.filter(|_| slept).and_then(|called| called.checked_duration_since(begun));
                called.into_iter().for_each(|waited| core.spin.woke_after(waited));
                return Ok(());
            }
            if core.thread.has_ended() {
                drop(guard);
                return Err(GraphError::Ended { step, settled, cause: core.thread.cause() });
            }
            let now = env::now();
            if deadline.is_some_and(|deadline| deadline <= now) {
                drop(guard);
                return Err(self.too_late(step, settled, now - begun));
            }
            let next = (polled + POLL).min(deadline.unwrap_or(polled + POLL));
            drop(core.progressed.wait_timeout(guard, next.saturating_duration_since(now)));
            slept = true;
            if env::now() >= polled + POLL {
                polled = env::now();
                if !poll() {
                    return Err(GraphError::Interrupted { step });
                }
            }
        }
    }

    fn too_late(&self, step: Step, settled: Moment, waited: Duration) -> GraphError {
        if self.is_started() {
            GraphError::Timeout { step, settled, waited }
        } else {
            GraphError::Stopped { step, settled, waited }
        }
    }

    /// Checks whether this thread may wait for the graph; the error says why not.
    pub fn may_wait(&self) -> Result<(), GraphError> {
        self.core().may_wait()
    }

    /// Marks this thread as a listener's for as long as the guard lives.
    pub fn callback_scope(&self) -> CallbackScope {
        CallbackScope::enter(self.core())
    }

    /// Marks this thread as one with an open transaction for as long as the guard lives.
    pub fn transaction_scope(&self) -> TransactionScope {
        TransactionScope::enter(self.core())
    }

    /// Marks this thread as one that runs a user's function, for as long as the guard lives. Inside a step that is
    /// known already; it is for functions that run during initialisation.
    pub fn function_scope(&self) -> FunctionScope {
        FunctionScope::enter(self.core())
    }
}
