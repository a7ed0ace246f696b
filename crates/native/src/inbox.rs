//! What a graph's listeners have not heard yet. The cycle's thread puts changes in and never waits;
//! one Python thread takes them out, in step order, and calls the listeners.
//!
//! A change pins its step only until the next one opens: then what is still alive is turned into rows, and where too much
//! waits neighbours become one ([`engine::waiting`]), so that a slow listener never makes the engine copy blocks and costs
//! bounded memory.
//!
//! The thread that serves holds a [`PyServer`]. When that goes, however the thread ended, nobody serves: whoever waits
//! for the listeners starts a new thread, or goes on without them.

mod following;
mod next;
mod serving;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use engine::waiting::{Shared, Waiting, Word};
use graph::sync::{Condvar, Guard, Mutex};
use graph::{Patience, UpdateGraph};
use pyo3::prelude::*;

use following::Follower;

pub use following::{PySubscription, next_subscription_id, subscribe};
pub use next::next_change;
pub use serving::{PyInbox, PyServer};

/// How often a wait looks at signals.
const POLL: Duration = Duration::from_millis(50);

#[derive(Default)]
struct State {
    waiting: Waiting<Follower>,
    closed: bool,
    /// Who serves; each who claims it has a number of his own.
    served: Option<u64>,
    claims: u64,
    /// When the serving thread was called out of its sleep.
    called: Option<Instant>,
}

/// The queue of one graph.
pub struct Inbox {
    state: Mutex<State>,
    arrived: Condvar,
    /// How often the serving thread was called, asleep or not.
    rung: AtomicU64,
    patience: Patience,
    finished: Condvar,
    listeners: AtomicU64,
    /// The process it was made in: in a fork of that the lock may be held by a thread that is not there.
    process: u32,
}

impl Shared<Follower> for Inbox {
    fn with<R>(&self, run: impl FnOnce(&mut Waiting<Follower>) -> R) -> R {
        run(&mut self.state.lock().waiting)
    }
}

/// What became of a wait for the listeners.
enum Waited {
    Heard,
    /// Something waits, and nobody serves.
    Deaf,
}

impl Inbox {
    pub fn new() -> Arc<Inbox> {
        Arc::new(Inbox {
            state: Mutex::new(State::default()),
            arrived: Condvar::new(),
            rung: AtomicU64::new(0),
            patience: Patience::new(),
            finished: Condvar::new(),
            listeners: AtomicU64::new(0),
            process: std::process::id(),
        })
    }

    /// Something for a follower, unless he hears nothing more.
    fn put(&self, to: &Arc<Follower>, enter: impl FnOnce(&mut Waiting<Follower>)) {
        let mut state = self.state.lock();
        if state.closed || to.cancelled.load(Ordering::Acquire) {
            return;
        }
        enter(&mut state.waiting);
        self.call(state);
    }

    /// A follower hears nothing more, not even what waits.
    fn forget(&self, follower: &Arc<Follower>) {
        follower.cancelled.store(true, Ordering::Release);
        if std::process::id() != self.process {
            return;
        }
        let mut state = self.state.lock();
        let gone = state.waiting.forget(follower);
        drop(state);
        self.finished.notify_all();
        drop(gone);
    }

    /// There is something to hear: who looks around sees it, who sleeps is woken.
    fn call(&self, mut state: Guard<'_, State>) {
        self.rung.fetch_add(1, Ordering::Release);
        if self.arrived.is_awaited() {
            state.called.get_or_insert_with(Instant::now);
        }
        drop(state);
        self.arrived.notify_one();
    }

    /// Neighbours that were merged because a listener is late, ever.
    pub fn merged(&self) -> u64 {
        self.with(|waiting| waiting.merged())
    }

    /// The next thing to hear; none at the end, and for one who serves no more.
    fn take(&self, server: u64) -> Option<(Arc<Follower>, Word)> {
        let mut state = self.state.lock();
        let mut looks = true;
        loop {
            if state.closed || state.served != Some(server) {
                return None;
            }
            if let Some(item) = state.waiting.take() {
                return Some(item);
            }
            state = if std::mem::take(&mut looks) { self.look(state) } else { self.sleep(state) };
        }
    }

    /// Stays awake for a little while without the lock, if that has paid lately.
    fn look<'a>(&'a self, state: Guard<'a, State>) -> Guard<'a, State> {
        let rung = self.rung.load(Ordering::Relaxed);
        drop(state);
        self.patience.look(|| self.rung.load(Ordering::Acquire) != rung);
        self.state.lock()
    }

    fn sleep<'a>(&'a self, mut state: Guard<'a, State>) -> Guard<'a, State> {
        let asleep = Instant::now();
        state.called = None;
        let mut state = self.arrived.wait(state);
        if let Some(called) = state.called.take() {
            self.patience.slept(called.saturating_duration_since(asleep));
        }
        state
    }

    /// What was taken last has been listened to.
    fn finish(&self, server: u64) {
        if std::process::id() != self.process {
            return;
        }
        let mut state = self.state.lock();
        if state.served == Some(server) {
            state.waiting.heard();
        }
        drop(state);
        self.finished.notify_all();
    }

    /// The number of who serves from now on, unless somebody does.
    fn claim(&self) -> Option<u64> {
        let mut state = self.state.lock();
        if state.closed || state.served.is_some() {
            return None;
        }
        state.claims += 1;
        state.served = Some(state.claims);
        state.served
    }

    /// Who served does so no more; what he had taken counts as heard.
    fn leave(&self, server: u64) {
        if std::process::id() != self.process {
            return;
        }
        let mut state = self.state.lock();
        if state.served == Some(server) {
            state.served = None;
            state.waiting.heard();
        }
        drop(state);
        self.finished.notify_all();
        self.arrived.notify_all();
    }

    /// No more is taken in; the serving thread ends.
    pub fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        let left = state.waiting.clear();
        self.call(state);
        drop(left);
        self.finished.notify_all();
    }

    pub fn listeners(&self) -> u64 {
        self.listeners.load(Ordering::Relaxed)
    }

    /// Bytes of the rows that waiting changes which have left their step hold on to.
    pub fn bytes(&self) -> u64 {
        self.with(|waiting| waiting.bytes())
    }

    /// Waits until everything put in so far has been listened to, or nobody serves.
    fn wait_done(&self, py: Python<'_>) -> PyResult<Waited> {
        let wanted = {
            let state = self.state.lock();
            if state.closed || state.waiting.is_heard(state.waiting.last()) {
                return Ok(Waited::Heard);
            }
            state.waiting.last()
        };
        loop {
            let waited = py.detach(|| {
                let state = self.state.lock();
                let state = match Inbox::waited(&state, wanted) {
                    None => self.finished.wait_timeout(state, POLL),
                    _ => state,
                };
                Inbox::waited(&state, wanted)
            });
            if let Some(waited) = waited {
                return Ok(waited);
            }
            py.check_signals()?;
        }
    }

    fn waited(state: &State, wanted: u64) -> Option<Waited> {
        if state.closed || state.waiting.is_heard(wanted) {
            return Some(Waited::Heard);
        }
        state.served.is_none().then_some(Waited::Deaf)
    }
}

/// Waits until the listeners of a graph have heard everything so far. If nobody serves them a new thread is started; if
/// that cannot be, nobody waits for them.
pub fn wait_heard(py: Python<'_>, inbox: &Arc<Inbox>, graph: &UpdateGraph) -> PyResult<()> {
    while let Waited::Deaf = inbox.wait_done(py)? {
        let door = Bound::new(py, PyInbox(inbox.clone(), graph.clone()))?;
        let serves = py.import("tickframe.listener")?.call_method1("served", (door,))?;
        if !serves.extract::<bool>()? {
            break;
        }
    }
    Ok(())
}
