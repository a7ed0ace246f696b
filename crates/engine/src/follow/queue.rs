//! The delivery queue of a graph: what its listeners have yet to hear. The cycle's thread pushes changes and never waits; one
//! thread takes them, in step order, and calls the listeners.
//!
//! A change pins its step only until the next one opens: then what is still in the queue is materialized, and where too much
//! waits neighbours are merged ([`crate::follow::waiting`]), so that a slow listener never makes the engine copy blocks and costs
//! bounded memory.
//!
//! The thread that serves holds a claim. When it leaves, however the thread ended, nobody serves: whoever waits for the
//! listeners starts another thread, or goes on without them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use graph::sync::{Condvar, Guard, Mutex};
use graph::{SpinWait, UpdateGraph};

use crate::error::{Error, Failure};
use crate::follow::listener::{Delivered, Listener, Subscription};
use crate::follow::waiting::{Follows, Shared, Waiting, Word};
use crate::table::handle::{Table, WeakTable};

#[derive(Default)]
struct State {
    waiting: Waiting<Follower>,
    closed: bool,
    /// Who serves; each who claims it has a number of his own.
    served: Option<u64>,
    claims: u64,
    /// When the serving thread was woken_at out of its sleep.
    woken_at: Option<Instant>,
}

/// The queue of one graph.
pub struct DeliveryQueue {
    state: Mutex<State>,
    arrived: Condvar,
    /// How often the serving thread was woken_at, asleep or not.
    wakeups: AtomicU64,
    spin: SpinWait,
    finished: Condvar,
    listeners: AtomicU64,
    /// The process it was made in: in a fork of that the lock may be held by a thread that is not there.
    process: u32,
}

impl Shared<Follower> for DeliveryQueue {
    fn with<R>(&self, run: impl FnOnce(&mut Waiting<Follower>) -> R) -> R {
        run(&mut self.state.lock().waiting)
    }
}

/// What became of a wait for the listeners.
pub enum Waited {
    /// They were called for everything.
    Delivered,
    /// Something waits, and nobody serves.
    Unserved,
}

impl DeliveryQueue {
    /// The queue of this graph; its changes are materialized as each step opens.
    pub fn of(graph: &UpdateGraph) -> Arc<DeliveryQueue> {
        let queue = Arc::new(DeliveryQueue {
            state: Mutex::new(State::default()),
            arrived: Condvar::new(),
            wakeups: AtomicU64::new(0),
            spin: SpinWait::new(),
            finished: Condvar::new(),
            listeners: AtomicU64::new(0),
            process: std::process::id(),
        });
        let weak = Arc::downgrade(&queue);
        graph.before_step(Arc::new(move |_| {
            if let Some(queue) = weak.upgrade() {
                queue.own_rows();
            }
        }));
        queue
    }

    /// Follows a table: what it sends waits here under the follower's id, first everything that is there if `initial`.
    pub fn follow(
        self: &Arc<DeliveryQueue>,
        table: &Table,
        id: u64,
        initial: bool,
        columns: Option<Vec<usize>>,
    ) -> Result<Following, Error> {
        let follower = Arc::new(Follower {
            id,
            queue: Arc::downgrade(self),
            table: OnceLock::from(table.downgrade()),
            line: table.identity(),
            columns: columns.map(Into::into),
            cancelled: AtomicBool::new(false),
            started: AtomicBool::new(!initial),
            me: OnceLock::new(),
        });
        let _ = follower.me.set(Arc::downgrade(&follower));
        let listener: Arc<dyn Listener> = follower.clone();
        let held = table.subscribe(listener, initial)?;
        self.listeners.fetch_add(1, Ordering::Relaxed);
        Ok(Following { follower, queue: self.clone(), held: Some(held) })
    }

    /// Something for a follower, unless he hears nothing more.
    fn push(&self, to: &Arc<Follower>, enter: impl FnOnce(&mut Waiting<Follower>)) {
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
        self.wakeups.fetch_add(1, Ordering::Release);
        if self.arrived.is_awaited() {
            state.woken_at.get_or_insert_with(Instant::now);
        }
        drop(state);
        self.arrived.notify_one();
    }

    /// Neighbours that were merged because a listener is late, ever.
    pub fn merged(&self) -> u64 {
        self.with(|waiting| waiting.merged())
    }

    /// The next thing to hear; none at the end, and for one who serves no more.
    pub fn take(&self, server: u64) -> Option<(Arc<Follower>, Word)> {
        let mut state = self.state.lock();
        let mut spins = true;
        loop {
            if state.closed || state.served != Some(server) {
                return None;
            }
            if let Some(item) = state.waiting.take() {
                return Some(item);
            }
            state = if std::mem::take(&mut spins) { self.spin(state) } else { self.sleep(state) };
        }
    }

    /// Stays awake for a little while without the lock, if that has paid lately.
    fn spin<'a>(&'a self, state: Guard<'a, State>) -> Guard<'a, State> {
        let wakeups = self.wakeups.load(Ordering::Relaxed);
        drop(state);
        self.spin.spin(|| self.wakeups.load(Ordering::Acquire) != wakeups);
        self.state.lock()
    }

    fn sleep<'a>(&'a self, mut state: Guard<'a, State>) -> Guard<'a, State> {
        let asleep = Instant::now();
        state.woken_at = None;
        let mut state = self.arrived.wait(state);
        if let Some(woken_at) = state.woken_at.take() {
            self.spin.woke_after(woken_at.saturating_duration_since(asleep));
        }
        state
    }

    /// What was taken last has been listened to.
    pub fn finish(&self, server: u64) {
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
    pub fn claim(&self) -> Option<u64> {
        let mut state = self.state.lock();
        if state.closed || state.served.is_some() {
            return None;
        }
        state.claims += 1;
        state.served = Some(state.claims);
        state.served
    }

    /// Who served does so no more; what he had taken counts as heard.
    pub fn leave(&self, server: u64) {
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

    /// Followers that are not cancelled.
    pub fn listeners(&self) -> u64 {
        self.listeners.load(Ordering::Relaxed)
    }

    /// Bytes of the rows that waiting changes which have left their step hold on to.
    pub fn bytes(&self) -> u64 {
        self.with(|waiting| waiting.bytes())
    }

    /// Whether the listeners were called for everything pushed so far.
    pub fn is_delivered(&self) -> bool {
        let state = self.state.lock();
        state.closed || state.waiting.is_heard(state.waiting.last())
    }

    /// Waits until everything pushed so far has been listened to, or nobody serves. `poll` is asked every so often whether to go
    /// on waiting; None if it said no.
    pub fn wait_delivered(&self, every: Duration, poll: &mut dyn FnMut() -> bool) -> Option<Waited> {
        let mut state = self.state.lock();
        let wanted = state.waiting.last();
        loop {
            if let Some(waited) = DeliveryQueue::waited(&state, wanted) {
                return Some(waited);
            }
            state = self.finished.wait_timeout(state, every);
            if let Some(waited) = DeliveryQueue::waited(&state, wanted) {
                return Some(waited);
            }
            drop(state);
            if !poll() {
                return None;
            }
            state = self.state.lock();
        }
    }

    fn waited(state: &State, wanted: u64) -> Option<Waited> {
        if state.closed || state.waiting.is_heard(wanted) {
            return Some(Waited::Delivered);
        }
        state.served.is_none().then_some(Waited::Unserved)
    }
}

/// One who follows a table through the queue. It holds nothing of the embedding program, so that any thread may drop it.
pub struct Follower {
    id: u64,
    queue: Weak<DeliveryQueue>,
    table: OnceLock<WeakTable>,
    /// Which table's line its changes stand in.
    line: usize,
    columns: Option<Arc<[usize]>>,
    cancelled: AtomicBool,
    started: AtomicBool,
    me: OnceLock<Weak<Follower>>,
}

impl Follower {
    /// The number that it was given.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Whether it hears no more.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    /// The columns whose rows it wants; all without.
    pub fn columns(&self) -> Option<Arc<[usize]>> {
        self.columns.clone()
    }

    /// The table, while somebody holds it.
    pub fn table(&self) -> Option<Table> {
        self.table.get().and_then(WeakTable::upgrade)
    }

    fn doors(&self) -> Option<(Arc<DeliveryQueue>, Arc<Follower>)> {
        Some((self.queue.upgrade()?, self.me.get().and_then(Weak::upgrade)?))
    }
}

impl Follows for Follower {
    fn columns(&self) -> Option<&[usize]> {
        self.columns.as_deref()
    }
}

impl Listener for Follower {
    fn on_update(&self, delivered: Arc<Delivered>) {
        let Some((queue, me)) = self.doors() else { return };
        // The first, initial one is all that is there: its rows stay pinned, at the listener's cost.
        if self.started.swap(true, Ordering::AcqRel) {
            queue.push(&me, |waiting| waiting.change(self.line, me.clone(), delivered));
        } else {
            queue.push(&me, |waiting| waiting.initial(me.clone(), delivered));
        }
    }

    fn on_failure(&self, failure: Arc<Failure>) {
        let Some((queue, me)) = self.doors() else { return };
        queue.push(&me, |waiting| waiting.failure(me.clone(), failure));
    }
}

/// The right to be called: cancelled, or dropped, the follower hears no more, not even what waits.
///
/// Both take the graph's lock; call them where no thread waits for what is held.
pub struct Following {
    follower: Arc<Follower>,
    queue: Arc<DeliveryQueue>,
    held: Option<Subscription>,
}

impl Following {
    /// Who follows.
    pub fn follower(&self) -> &Arc<Follower> {
        &self.follower
    }

    /// The follower hears no more.
    pub fn cancel(&mut self) {
        if let Some(held) = self.held.take() {
            held.cancel();
            self.queue.listeners.fetch_sub(1, Ordering::Relaxed);
            drop(held);
            self.queue.forget(&self.follower);
        }
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.cancel();
    }
}
