//! The state of a graph that all of its handles share.

use crate::clock::{Clock, Step};
use crate::cycle::Scratch;
use crate::env::{self, TimeSource, Wake};
use crate::error::GraphError;
use crate::executor::{Crew, WORTH_A_WAKE_NANOS};
use crate::extension::Extensions;
use crate::gate::Gate;
use crate::graph::{HookId, Schedule};
use crate::intake::Intake;
use crate::node::NodeId;
use crate::pools::Pools;
use crate::report::Tally;
use crate::role::{self, ThreadRole};
use crate::spin::SpinWait;
use crate::sync::{Arc, AtomicU64, Condvar, Mutex};
use crate::thread::CycleThread;
use crate::topology::Topology;
use crate::walk::Walk;
use std::time::{Duration, Instant};

pub(crate) type Hook = Arc<dyn Fn(Step) + Send + Sync>;

/// The graph itself. The cycle thread and registrations hold it, too.
pub(crate) struct Core {
    pub(crate) id: u64,
    pub(crate) owner: u32,
    pub(crate) period: Duration,
    /// The sizes in force where the graph was made: its own threads work with these.
    pub(crate) scope: limits::Scope,
    pub(crate) time: TimeSource,
    /// Start of the running or the last step, in nanoseconds since 1970.
    pub(crate) step_nanos: AtomicU64,
    /// As the monotonic clock has it, in nanoseconds since `born`.
    pub(crate) step_started: AtomicU64,
    pub(crate) born: Instant,
    pub(crate) clock: Clock,
    pub(crate) gate: Gate,
    pub(crate) intake: Intake,
    pub(crate) topology: Mutex<Topology>,
    /// The walk of the running step.
    pub(crate) walk: Mutex<Option<Arc<Walk>>>,
    pub(crate) scratch: Mutex<Scratch>,
    pub(crate) hooks: Mutex<Arc<Vec<(HookId, Hook)>>>,
    pub(crate) after: Mutex<Vec<Box<dyn FnOnce(Step) + Send>>>,
    pub(crate) tally: Tally,
    pub(crate) schedule: Mutex<Schedule>,
    pub(crate) pools: Arc<Pools>,
    pub(crate) thread: CycleThread,
    /// The time at which the waiters for a step were last notified.
    pub(crate) progress: Mutex<Option<Instant>>,
    pub(crate) progressed: Condvar,
    pub(crate) spin: SpinWait,
    pub(crate) extensions: Extensions,
    pub(crate) hooks_made: AtomicU64,
    /// Whether the running step was started by `step()`. Not an atomic of the model checkers: the gate orders it.
    pub(crate) by_hand: std::sync::atomic::AtomicBool,
}

impl Core {
    /// Refuses the child of a fork.
    pub(crate) fn here(&self) -> Result<(), GraphError> {
        let child = env::process();
        if child == self.owner { Ok(()) } else { Err(GraphError::Forked { owner: self.owner, child }) }
    }

    /// Whether this thread may take the shared lock.
    pub(crate) fn may_share(&self) -> Result<(), GraphError> {
        self.here()?;
        match role::innermost(self.id) {
            Some(ThreadRole::Step) => return Err(GraphError::InsideStep),
            Some(ThreadRole::Callback) => return Err(GraphError::InsideCallback),
            Some(ThreadRole::Intake) => return Err(GraphError::InsideTransaction),
            None => {}
        }
        if self.gate.standing().functions > 0 { Err(GraphError::InsideStep) } else { Ok(()) }
    }

    pub(crate) fn may_wait(&self) -> Result<(), GraphError> {
        self.may_share()?;
        let standing = self.gate.standing();
        if standing.callbacks > 0 {
            return Err(GraphError::InsideCallback);
        }
        if standing.shared > 0 {
            return Err(GraphError::UnderSharedLock);
        }
        if standing.transactions > 0 {
            return Err(GraphError::InsideTransaction);
        }
        Ok(())
    }

    pub(crate) fn crew(&self) -> Crew {
        let others = self.pools.update_threads - 1;
        let (helpers, worth, seed) = match *self.schedule.lock() {
            Schedule::Pool => (others, WORTH_A_WAKE_NANOS, None),
            Schedule::Eager => (others, 0, None),
            Schedule::Inline { seed } => (0, 0, Some(seed)),
        };
        Crew { pools: self.pools.clone(), helpers, worth, seed }
    }

    /// How long the cycle thread may sleep; a manual clock rings when it is moved.
    pub(crate) fn sleep_until(&self, when: Instant) -> Option<Duration> {
        match &self.time {
            TimeSource::Wall => Some(when.saturating_duration_since(env::now())),
            TimeSource::Manual(_) => None,
        }
    }

    /// Notifies waiters that `settled()` has moved.
    pub(crate) fn announce(&self) {
        // A waiter holds this lock from its check until it sleeps, so it cannot miss the notification.
        let mut called = self.progress.lock();
        if self.progressed.is_awaited() {
            *called = Some(env::now());
        }
        drop(called);
        self.progressed.notify_all();
    }

    pub(crate) fn remove(&self, id: NodeId) {
        if self.here().is_err() {
            return;
        }
        let cell = self.topology.lock().remove(id);
        if cell.is_some() {
            self.intake.forget(id);
        }
    }
}

impl Wake for Core {
    fn wake(&self) {
        self.intake.ring();
    }
}
