//! A subscription: what the engine calls, and the handle that ends it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use engine::waiting::Follows;
use engine::{Delivered, Failure, Listener};
use pyo3::prelude::*;

use super::{Inbox, wait_heard};
use crate::graph::lock;
use crate::outside::asked;

/// One subscription, as the engine sees it. It holds no Python object, so that any thread may drop it.
pub struct Follower {
    pub(super) id: u64,
    inbox: Weak<Inbox>,
    table: OnceLock<engine::WeakTable>,
    /// Which table's line its changes stand in.
    line: usize,
    pub(super) columns: Option<Arc<[usize]>>,
    pub(super) cancelled: AtomicBool,
    started: AtomicBool,
    me: OnceLock<Weak<Follower>>,
}

impl Follower {
    pub(super) fn table(&self) -> Option<engine::Table> {
        self.table.get().and_then(engine::WeakTable::upgrade)
    }

    fn doors(&self) -> Option<(Arc<Inbox>, Arc<Follower>)> {
        Some((self.inbox.upgrade()?, self.me.get().and_then(Weak::upgrade)?))
    }
}

impl Follows for Follower {
    fn columns(&self) -> Option<&[usize]> {
        self.columns.as_deref()
    }
}

impl Listener for Follower {
    fn on_update(&self, delivered: Arc<Delivered>) {
        let Some((inbox, me)) = self.doors() else { return };
        // The first, initial one is all that is there: its rows stay pinned, at the listener's cost.
        if self.started.swap(true, Ordering::AcqRel) {
            inbox.put(&me, |waiting| waiting.change(self.line, me.clone(), delivered));
        } else {
            inbox.put(&me, |waiting| waiting.initial(me.clone(), delivered));
        }
    }

    fn on_failure(&self, failure: Arc<Failure>) {
        let Some((inbox, me)) = self.doors() else { return };
        inbox.put(&me, |waiting| waiting.failure(me.clone(), failure));
    }
}

/// A subscription's handle: dropping it ends the following.
#[pyclass(frozen, module = "tickframe._native", name = "Subscription")]
pub struct PySubscription {
    follower: Arc<Follower>,
    inbox: Arc<Inbox>,
    held: Mutex<Option<engine::Subscription>>,
}

static IDS: AtomicU64 = AtomicU64::new(1);

/// Follows a table; what it says arrives in the graph's inbox under the subscription's id.
pub fn subscribe(
    py: Python<'_>,
    table: &engine::Table,
    inbox: &Arc<Inbox>,
    id: u64,
    initial: bool,
    columns: Option<Vec<usize>>,
) -> PyResult<PySubscription> {
    let follower = Arc::new(Follower {
        id,
        inbox: Arc::downgrade(inbox),
        table: OnceLock::from(table.downgrade()),
        line: table.identity(),
        columns: columns.map(Into::into),
        cancelled: AtomicBool::new(false),
        started: AtomicBool::new(!initial),
        me: OnceLock::new(),
    });
    let _ = follower.me.set(Arc::downgrade(&follower));
    let listener: Arc<dyn Listener> = follower.clone();
    let held = asked(py, || table.subscribe(listener, initial))?;
    inbox.listeners.fetch_add(1, Ordering::Relaxed);
    Ok(PySubscription { follower, inbox: inbox.clone(), held: Mutex::new(Some(held)) })
}

/// A number no other subscription has.
#[pyfunction]
pub fn next_subscription_id() -> u64 {
    IDS.fetch_add(1, Ordering::Relaxed)
}

impl PySubscription {
    /// Its place in the graph, to be dropped without the GIL.
    fn end(&self) -> Option<engine::Subscription> {
        let held = lock(&self.held).take()?;
        held.cancel();
        self.inbox.listeners.fetch_sub(1, Ordering::Relaxed);
        Some(held)
    }
}

#[pymethods]
impl PySubscription {
    fn cancel(&self, py: Python<'_>) {
        let held = self.end();
        py.detach(|| {
            drop(held);
            self.inbox.forget(&self.follower);
        });
    }

    #[getter]
    fn is_cancelled(&self) -> bool {
        self.follower.cancelled.load(Ordering::Acquire)
    }

    /// Waits until what was delivered so far has been listened to.
    fn wait_heard(&self, py: Python<'_>) -> PyResult<()> {
        match self.follower.table().and_then(|table| table.graph().cloned()) {
            Some(graph) => wait_heard(py, &self.inbox, &graph),
            None => Ok(()),
        }
    }
}

/// A follower to be forgotten where the GIL is not held.
struct Forgotten {
    inbox: Arc<Inbox>,
    follower: Arc<Follower>,
}

impl Drop for Forgotten {
    fn drop(&mut self) {
        self.inbox.forget(&self.follower);
    }
}

impl Drop for PySubscription {
    fn drop(&mut self) {
        if let Some(held) = self.end() {
            let (inbox, follower) = (self.inbox.clone(), self.follower.clone());
            crate::table::let_go((held, Forgotten { inbox, follower }));
        }
    }
}
