//! What a graph's listeners have not heard yet. The cycle's thread puts changes in and never waits;
//! one Python thread takes them out, in step order, and calls the listeners.
//!
//! A change pins its step only until the next one opens: then [`Inbox::own_rows`] turns what is
//! still alive into rows, so that a slow listener never makes the engine copy blocks.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, Weak};
use std::time::{Duration, Instant};

use arrow_array::Array;
use engine::{Delivered, Failure, Listener, Part};
use graph::{Step, UpdateGraph};
use pyo3::prelude::*;

use crate::error;
use crate::graph::lock;
use crate::outside::asked;
use crate::update::PyUpdate;

/// How often a wait looks at signals.
const POLL: Duration = Duration::from_millis(50);
/// With more changes waiting than this, each step that opens makes two neighbours one.
const WAITING: usize = 1024;
/// The same with more bytes in the rows that they own.
const WAITING_BYTES: u64 = 1 << 28;

enum Word {
    Update(Arc<Delivered>),
    Failure(Arc<Failure>),
}

struct Item {
    to: Arc<Follower>,
    word: Word,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Item>,
    /// Changes given out since the last step opened; gone ones need nothing.
    fresh: Vec<(Weak<Delivered>, usize, Option<Arc<[usize]>>)>,
    /// Changes that own their rows, with the bytes of those.
    owned: Vec<(Weak<Delivered>, u64)>,
    /// Where in the queue the next two neighbours are looked for.
    merge_at: usize,
    /// Merged neighbours, ever.
    merged: u64,
    /// Items put in and items done with, ever.
    put: u64,
    done: u64,
    closed: bool,
    served: bool,
}

impl Item {
    fn is(&self, delivered: &Arc<Delivered>) -> bool {
        matches!(&self.word, Word::Update(own) if Arc::ptr_eq(own, delivered))
    }

    fn update(&self) -> Option<&Arc<Delivered>> {
        match &self.word {
            Word::Update(delivered) => Some(delivered),
            Word::Failure(_) => None,
        }
    }
}

impl State {
    /// Two changes, one behind the other for the same follower, if too much waits.
    fn neighbours(&mut self) -> Option<(Arc<Delivered>, Arc<Delivered>)> {
        if self.queue.len() <= WAITING {
            self.owned.retain(|(delivered, _)| delivered.strong_count() > 0);
            if self.queue.len() < 2 || self.owned.iter().map(|(_, bytes)| bytes).sum::<u64>() <= WAITING_BYTES {
                return None;
            }
        }
        // The first one may be with the reader at any moment; all before the end are looked at once.
        for _ in 0..self.queue.len() {
            let at = if self.merge_at + 1 < self.queue.len() { self.merge_at } else { 0 };
            self.merge_at = at + 1;
            let (own, behind) = (&self.queue[at], self.queue.range(at + 1..));
            let next = behind.into_iter().find(|item| Arc::ptr_eq(&item.to, &own.to));
            if let (Some(first), Some(next)) = (own.update(), next.and_then(Item::update)) {
                return Some((first.clone(), next.clone()));
            }
        }
        None
    }
}

/// The queue of one graph.
pub struct Inbox {
    state: Mutex<State>,
    arrived: Condvar,
    finished: Condvar,
    listeners: AtomicU64,
}

impl Inbox {
    pub fn new() -> Arc<Inbox> {
        Arc::new(Inbox {
            state: Mutex::default(),
            arrived: Condvar::new(),
            finished: Condvar::new(),
            listeners: AtomicU64::new(0),
        })
    }

    fn put(&self, item: Item, pinned: bool) {
        let mut state = lock(&self.state);
        if state.closed {
            return;
        }
        if let (Word::Update(delivered), true) = (&item.word, pinned) {
            state.fresh.push((Arc::downgrade(delivered), item.to.width, item.to.columns.clone()));
        }
        state.put += 1;
        state.queue.push_back(item);
        drop(state);
        self.arrived.notify_one();
    }

    /// As a step opens: changes of the step before that are still around own their rows from now on.
    pub fn own_rows(&self) {
        let fresh = std::mem::take(&mut lock(&self.state).fresh);
        for (delivered, width, columns) in fresh {
            if let Some(delivered) = delivered.upgrade() {
                // A column that cannot be read now cannot be read later either: the reader is told then.
                let _ = delivered.detach(columns.as_deref());
                let bytes = size_of(&delivered, width, columns.as_deref());
                let mut state = lock(&self.state);
                state.owned.retain(|(old, _)| old.strong_count() > 0);
                state.owned.push((Arc::downgrade(&delivered), bytes));
            }
        }
        self.merge_neighbours();
    }

    /// Makes two waiting changes of one follower one, if too many or too large ones wait: the work
    /// of one step is bounded, and going round the queue every change is merged about as often.
    fn merge_neighbours(&self) {
        let Some((first, next)) = lock(&self.state).neighbours() else { return };
        // What cannot be merged stays as it is.
        let Ok(Some(merged)) = first.merge(&next) else { return };
        let merged = Arc::new(merged);
        let mut state = lock(&self.state);
        let at = state.queue.iter().position(|item| item.is(&first));
        let next_at = state.queue.iter().position(|item| item.is(&next));
        let (Some(at), Some(next_at)) = (at, next_at) else { return };
        let to = state.queue[next_at].to.clone();
        let bytes = size_of(&merged, to.width, to.columns.as_deref());
        state.owned.push((Arc::downgrade(&merged), bytes));
        state.queue[next_at].word = Word::Update(merged);
        let gone = state.queue.remove(at);
        state.done += 1;
        state.merged += 1;
        drop(state);
        drop(gone);
    }

    /// Neighbours that were merged because a listener is late, ever.
    pub fn merged(&self) -> u64 {
        lock(&self.state).merged
    }

    fn take(&self) -> Option<Item> {
        let mut state = lock(&self.state);
        loop {
            if let Some(item) = state.queue.pop_front() {
                return Some(item);
            }
            if state.closed {
                return None;
            }
            state = self.arrived.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }

    fn finish(&self) {
        lock(&self.state).done += 1;
        self.finished.notify_all();
    }

    /// No more is taken in; the serving thread ends.
    pub fn close(&self) {
        let left = {
            let mut state = lock(&self.state);
            state.closed = true;
            state.done = state.put;
            std::mem::take(&mut state.queue)
        };
        drop(left);
        self.arrived.notify_all();
        self.finished.notify_all();
    }

    pub fn listeners(&self) -> u64 {
        self.listeners.load(Ordering::Relaxed)
    }

    /// Bytes of the rows that changes which have left their step hold on to.
    pub fn bytes(&self) -> u64 {
        let mut state = lock(&self.state);
        state.owned.retain(|(delivered, _)| delivered.strong_count() > 0);
        state.owned.iter().map(|(_, bytes)| bytes).sum()
    }

    /// Waits until everything put in so far has been listened to.
    pub fn wait_done(&self, py: Python<'_>) -> PyResult<()> {
        let wanted = {
            let state = lock(&self.state);
            if state.done >= state.put || !state.served {
                return Ok(());
            }
            state.put
        };
        loop {
            let done = py.detach(|| {
                let state = lock(&self.state);
                if state.done >= wanted || state.closed {
                    return true;
                }
                let (state, _) =
                    self.finished.wait_timeout(state, POLL).unwrap_or_else(std::sync::PoisonError::into_inner);
                state.done >= wanted || state.closed
            });
            if done {
                return Ok(());
            }
            py.check_signals()?;
        }
    }
}

fn size_of(delivered: &Delivered, width: usize, columns: Option<&[usize]>) -> u64 {
    let wanted = (0..width).filter(|column| columns.is_none_or(|columns| columns.contains(column)));
    let parts = [Part::Added, Part::Removed, Part::Modified, Part::ModifiedBefore];
    let cells = wanted.flat_map(|column| parts.iter().filter_map(move |part| delivered.read(*part, column).ok()));
    cells.map(|chunk| chunk.get_array_memory_size() as u64).sum()
}

/// The receiving end, for the one Python thread that serves it.
#[pyclass(frozen, module = "tickframe._native", name = "Inbox")]
pub struct PyInbox(pub Arc<Inbox>, pub UpdateGraph);

#[pymethods]
impl PyInbox {
    /// Whether the caller is to serve; true once.
    fn claim(&self) -> bool {
        !std::mem::replace(&mut lock(&self.0.state).served, true)
    }

    /// Waits for the next thing to hear: (subscription, update or error); None at the end.
    fn take(&self, py: Python<'_>) -> PyResult<Option<(u64, Py<PyAny>)>> {
        loop {
            let Some(item) = py.detach(|| self.0.take()) else { return Ok(None) };
            if item.to.cancelled.load(Ordering::Acquire) {
                self.0.finish();
                continue;
            }
            let word = match item.word {
                Word::Update(delivered) => {
                    let update = PyUpdate::new(item.to.table(), delivered, item.to.columns.clone());
                    Bound::new(py, update)?.into_any().unbind()
                }
                Word::Failure(failure) => error::table_failed(&failure).into_value(py).into_any(),
            };
            return Ok(Some((item.to.id, word)));
        }
    }

    /// Waiting changes that were made one with a neighbour because a listener is late, ever.
    #[getter]
    fn merged(&self) -> u64 {
        self.0.merged()
    }

    /// The last thing taken has been listened to.
    fn done(&self) {
        self.0.finish();
    }

    /// Marks the calling thread as a listener's while the scope lives.
    fn scope(&self) -> PyScope {
        PyScope(Mutex::new(Some(self.1.callback_scope())))
    }

    fn close(&self, py: Python<'_>) {
        py.detach(|| self.0.close());
    }
}

/// The mark of a listener's thread.
#[pyclass(frozen, module = "tickframe._native")]
pub struct PyScope(Mutex<Option<graph::CallbackScope>>);

#[pymethods]
impl PyScope {
    fn leave(&self) {
        lock(&self.0).take();
    }
}

/// One subscription, as the engine sees it. It holds no Python object, so that any thread may drop it.
pub struct Follower {
    id: u64,
    inbox: Weak<Inbox>,
    table: OnceLock<engine::table::WeakTable>,
    width: usize,
    columns: Option<Arc<[usize]>>,
    cancelled: AtomicBool,
    started: AtomicBool,
    me: OnceLock<Weak<Follower>>,
}

impl Follower {
    fn table(&self) -> Option<engine::Table> {
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

/// A listener that hears one word.
#[derive(Default)]
struct Once {
    heard: Mutex<Option<Result<u64, Arc<Failure>>>>,
    told: Condvar,
}

impl Listener for Once {
    fn on_update(&self, delivered: Arc<Delivered>) {
        lock(&self.heard).get_or_insert(Ok(delivered.step()));
        self.told.notify_all();
    }

    fn on_failure(&self, failure: Arc<Failure>) {
        lock(&self.heard).get_or_insert(Err(failure));
        self.told.notify_all();
    }
}

/// Waits until the table changes or fails.
pub fn next_change(
    table: &engine::Table,
    graph: &UpdateGraph,
    timeout: Option<Duration>,
    poll: &mut dyn FnMut() -> bool,
) -> Result<u64, engine::Error> {
    let once = Arc::new(Once::default());
    let listener: Arc<dyn Listener> = once.clone();
    let following = table.subscribe(listener, false)?;
    let begun = Instant::now();
    let outcome = loop {
        let heard = lock(&once.heard);
        if let Some(heard) = heard.clone() {
            break heard.map_err(engine::Error::TableFailed);
        }
        let waited = begun.elapsed();
        if timeout.is_some_and(|timeout| timeout <= waited) {
            break Err(engine::Error::Graph(out_of_time(graph, waited)));
        }
        let nap = timeout.map_or(POLL, |timeout| POLL.min(timeout - waited));
        drop(once.told.wait_timeout(heard, nap));
        if !poll() {
            let step = Step::new(graph.settled().number() + 1);
            break Err(engine::Error::Graph(graph::GraphError::Interrupted { step }));
        }
    };
    following.cancel();
    outcome
}

fn out_of_time(graph: &UpdateGraph, waited: Duration) -> graph::GraphError {
    let settled = graph.settled();
    let step = Step::new(settled.number() + 1);
    match graph.is_started() {
        true => graph::GraphError::Timeout { step, settled, waited },
        false => graph::GraphError::Stopped { step, settled, waited },
    }
}
