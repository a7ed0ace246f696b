//! The delivery queue of a graph: changes that its listeners have not received yet. The cycle thread pushes changes and
//! never waits; one serving thread takes them in step order and calls the listeners.
//!
//! A change pins its step only until the next step opens. Then changes that are still queued are materialized, and if
//! too many wait, neighbours are coalesced ([`crate::follow::waiting`]). So a slow listener never makes the engine copy
//! blocks, and costs bounded memory.
//!
//! The serving thread holds a claim. When that thread ends, for whatever reason, the claim is free: a thread that waits
//! for the listeners then starts another serving thread, or goes on without them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use graph::sync::{Condvar, Guard, Mutex};
use graph::{HookId, SpinWait, UpdateGraph, WeakGraph};

use crate::error::{Error, Failure};
use crate::follow::listener::{Listener, Subscription, UpdateEvent};
use crate::follow::waiting::{Follows, Message, Shared, Waiting};
use crate::table::handle::{Table, WeakTable};
use crate::threads::lock;

#[derive(Default)]
struct State {
    waiting: Waiting<Follower>,
    closed: bool,
    /// The claim of the serving thread; every claim has a new number.
    served: Option<u64>,
    claims: u64,
    /// The time at which the serving thread was last woken from sleep.
    woken_at: Option<Instant>,
}

/// The queue of one graph.
pub struct DeliveryQueue {
    state: Mutex<State>,
    arrived: Condvar,
    /// The number of wake-ups sent to the serving thread, asleep or not.
    wakeups: AtomicU64,
    spin: SpinWait,
    finished: Condvar,
    listeners: AtomicU64,
    /// The process that made the queue. In a fork of it, the lock may be held by a thread that does not exist there.
    process: u32,
}

impl Shared<Follower> for DeliveryQueue {
    fn with<R>(&self, run: impl FnOnce(&mut Waiting<Follower>) -> R) -> R {
        run(&mut self.state.lock().waiting)
    }
}

/// The result of waiting for the listeners.
pub enum Waited {
    /// The listeners were called for every change pushed so far.
    Delivered,
    /// Changes are queued, but there is no serving thread.
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
                queue.materialize_pending();
            }
        }));
        queue
    }

    /// Subscribes to a table: its changes are queued here under the follower's id. With `initial`, all present rows are
    /// queued first; with `rows_before` each change keeps the rows that there were.
    pub fn follow(
        self: &Arc<DeliveryQueue>,
        table: &Table,
        id: u64,
        initial: bool,
        rows_before: bool,
        columns: Option<Vec<usize>>,
    ) -> Result<Following, Error> {
        let follower = Arc::new(Follower {
            id,
            queue: Arc::downgrade(self),
            table: OnceLock::from(table.downgrade()),
            line: table.identity(),
            columns: columns.map(Into::into),
            rows_before,
            cancelled: AtomicBool::new(false),
            started: AtomicBool::new(!initial),
            notes: Default::default(),
            me: OnceLock::new(),
        });
        let _ = follower.me.set(Arc::downgrade(&follower));
        let listener: Arc<dyn Listener> = follower.clone();
        let held = table.subscribe(listener, initial)?;
        self.listeners.fetch_add(1, Ordering::Relaxed);
        Ok(Following { follower, queue: self.clone(), held: Some(held) })
    }

    /// A follower of no table, under this id, for notes.
    pub fn noted(self: &Arc<DeliveryQueue>, id: u64) -> Arc<Follower> {
        let follower = Arc::new(Follower {
            id,
            queue: Arc::downgrade(self),
            table: OnceLock::new(),
            line: 0,
            columns: None,
            rows_before: false,
            cancelled: AtomicBool::new(false),
            started: AtomicBool::new(true),
            notes: Default::default(),
            me: OnceLock::new(),
        });
        let _ = follower.me.set(Arc::downgrade(&follower));
        follower
    }

    /// Follows the steps of a graph: a note after each, behind the changes of the step. For a late listener the newest
    /// notes that wait are made one. With `last` the first note is of the last step.
    pub fn follow_steps(self: &Arc<DeliveryQueue>, graph: &UpdateGraph, id: u64, last: bool) -> FollowingSteps {
        let follower = self.noted(id);
        if last {
            follower.note_step(graph.settled().number());
        }
        let to = Arc::downgrade(&follower);
        let observer = graph.observe(Arc::new(move |report| {
            if let Some(to) = to.upgrade() {
                to.note_step(report.step.number());
            }
        }));
        self.listeners.fetch_add(1, Ordering::Relaxed);
        FollowingSteps { follower, queue: self.clone(), held: Some((graph.downgrade(), observer)) }
    }

    /// Queues a change for a follower, unless the follower is cancelled.
    fn push(&self, to: &Arc<Follower>, enter: impl FnOnce(&mut Waiting<Follower>)) {
        let mut state = self.state.lock();
        if state.closed || to.cancelled.load(Ordering::Acquire) {
            return;
        }
        enter(&mut state.waiting);
        self.call(state);
    }

    /// Cancels a follower and drops the changes queued for it.
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

    /// Notifies the serving thread: it sees the change if it spins, and is woken if it sleeps.
    fn call(&self, mut state: Guard<'_, State>) {
        self.wakeups.fetch_add(1, Ordering::Release);
        if self.arrived.is_awaited() {
            state.woken_at.get_or_insert_with(Instant::now);
        }
        drop(state);
        self.arrived.notify_one();
    }

    /// The number of changes that were coalesced because a listener was slow, since the queue was made.
    pub fn merged(&self) -> u64 {
        self.with(|waiting| waiting.merged())
    }

    /// Blocks until there is a next delivery. None once the queue is closed, and for a claim that no longer serves.
    pub fn take(&self, server: u64) -> Option<(Arc<Follower>, Message)> {
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

    /// Spins for a short time without the lock, if spinning has paid off lately.
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

    /// Marks the delivery that was taken last as done.
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

    /// Claims the queue for the calling thread: the number of the claim, or none if another thread serves.
    pub fn claim(&self) -> Option<u64> {
        let mut state = self.state.lock();
        if state.closed || state.served.is_some() {
            return None;
        }
        state.claims += 1;
        state.served = Some(state.claims);
        state.served
    }

    /// Releases a claim. The delivery that its thread had taken counts as done.
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

    /// Closes the queue: later changes are dropped, and the serving thread ends.
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

    /// Bytes of the rows of materialized changes in the queue.
    pub fn bytes(&self) -> u64 {
        self.with(|waiting| waiting.bytes())
    }

    /// Whether the listeners were called for everything pushed so far.
    pub fn is_delivered(&self) -> bool {
        let state = self.state.lock();
        state.closed || state.waiting.is_heard(state.waiting.last())
    }

    /// Waits until the listeners were called for everything pushed so far, or until there is no serving thread. `poll`
    /// is called at the interval `every`; if it returns false, the wait ends with None.
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

/// A follower: one subscription to a table through the queue. It holds nothing of the embedding program (no Python
/// object), so any thread may drop it.
pub struct Follower {
    id: u64,
    queue: Weak<DeliveryQueue>,
    table: OnceLock<WeakTable>,
    /// The identity of the table, which selects the line of changes that may be coalesced.
    line: usize,
    columns: Option<Arc<[usize]>>,
    rows_before: bool,
    cancelled: AtomicBool,
    started: AtomicBool,
    /// The notes of steps that wait for it, by number.
    notes: std::sync::Mutex<VecDeque<u64>>,
    me: OnceLock<Weak<Follower>>,
}

impl Follower {
    /// The id that the subscriber chose.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Whether the follower is cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    /// The columns that the follower requested; none means all.
    pub fn columns(&self) -> Option<Arc<[usize]>> {
        self.columns.clone()
    }

    /// Whether its changes keep the rows before them.
    pub fn keeps_rows_before(&self) -> bool {
        self.rows_before
    }

    /// The table, if it is still alive.
    pub fn table(&self) -> Option<Table> {
        self.table.get().and_then(WeakTable::upgrade)
    }

    /// Queues a note for it, behind all that waits.
    pub fn note(&self, word: Message) {
        let Some((queue, me)) = self.doors() else { return };
        queue.push(&me, |waiting| waiting.note(me.clone(), word));
    }

    fn note_step(&self, step: u64) {
        let Some((queue, me)) = self.doors() else { return };
        let mut notes = lock(&self.notes);
        queue.push(&me, |waiting| {
            while notes.front().is_some_and(|at| !waiting.waits(*at)) {
                notes.pop_front();
            }
            if notes.len() >= crate::sizes::WAITING.get()
                && let Some(newest) = notes.pop_back()
            {
                waiting.take_back(newest);
            }
            waiting.note(me.clone(), Message::Step(step));
            notes.push_back(waiting.last());
        });
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
    fn on_update(&self, delivered: Arc<UpdateEvent>) {
        let Some((queue, me)) = self.doors() else { return };
        // The initial delivery is the whole table. It stays pinned until the listener has received it.
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

    fn on_end(&self) {
        self.note(Message::Ended);
    }

    fn wants_rows_before(&self) -> bool {
        self.rows_before
    }
}

/// The guard of a following of steps.
pub struct FollowingSteps {
    follower: Arc<Follower>,
    queue: Arc<DeliveryQueue>,
    held: Option<(WeakGraph, HookId)>,
}

impl FollowingSteps {
    /// Ends it, and drops the notes that wait.
    pub fn cancel(&mut self) {
        if let Some((graph, observer)) = self.held.take() {
            if let Some(graph) = graph.upgrade() {
                graph.remove_observer(observer);
            }
            self.queue.listeners.fetch_sub(1, Ordering::Relaxed);
            self.queue.forget(&self.follower);
        }
    }

    /// Whether it was ended.
    pub fn is_cancelled(&self) -> bool {
        self.held.is_none()
    }
}

impl Drop for FollowingSteps {
    fn drop(&mut self) {
        self.cancel();
    }
}

/// The guard of a subscription. Cancelling or dropping it cancels the follower, and drops the changes queued for it.
///
/// Both take the graph's lock: do not call them while holding a lock that another thread waits for.
pub struct Following {
    follower: Arc<Follower>,
    queue: Arc<DeliveryQueue>,
    held: Option<Subscription>,
}

impl Following {
    /// The follower of this subscription.
    pub fn follower(&self) -> &Arc<Follower> {
        &self.follower
    }

    /// Cancels the follower.
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
