//! A subscription: what the engine calls, and the handle that ends it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use engine::{Delivered, Failure, Listener};
use pyo3::prelude::*;

use super::{Inbox, Item, Word};
use crate::graph::lock;
use crate::outside::asked;

/// One subscription, as the engine sees it. It holds no Python object, so that any thread may drop it.
pub struct Follower {
    pub(super) id: u64,
    inbox: Weak<Inbox>,
    table: OnceLock<engine::table::WeakTable>,
    pub(super) width: usize,
    pub(super) columns: Option<Arc<[usize]>>,
    pub(super) cancelled: AtomicBool,
    started: AtomicBool,
    me: OnceLock<Weak<Follower>>,
}

impl Follower {
    pub(super) fn table(&self) -> Option<engine::Table> {
        self.table.get().and_then(engine::table::WeakTable::upgrade)
    }

    fn put(&self, word: Word, pinned: bool) {
        let (Some(inbox), Some(me)) = (self.inbox.upgrade(), self.me.get().and_then(Weak::upgrade)) else { return };
        inbox.put(Item { to: me, word }, pinned);
    }
}

impl Listener for Follower {
    fn on_update(&self, delivered: Arc<Delivered>) {
        // The first, initial one is all that is there: its rows stay pinned, at the listener's cost.
        let pinned = self.started.swap(true, Ordering::AcqRel);
        self.put(Word::Update(delivered), pinned);
    }

    fn on_failure(&self, failure: Arc<Failure>) {
        self.put(Word::Failure(failure), false);
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
        width: table.width(),
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
    fn end(&self) -> Option<engine::Subscription> {
        self.follower.cancelled.store(true, Ordering::Release);
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
        py.detach(|| drop(held));
    }

    #[getter]
    fn is_cancelled(&self) -> bool {
        self.follower.cancelled.load(Ordering::Acquire)
    }

    /// Waits until what was delivered so far has been listened to.
    fn wait_heard(&self, py: Python<'_>) -> PyResult<()> {
        self.inbox.wait_done(py)
    }
}

impl Drop for PySubscription {
    fn drop(&mut self) {
        let held = self.end();
        crate::table::let_go(held);
    }
}
