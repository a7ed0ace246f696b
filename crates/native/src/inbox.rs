//! What a graph's listeners have not heard yet. The cycle's thread puts changes in and never waits;
//! one Python thread takes them out, in step order, and calls the listeners.
//!
//! A change pins its step only until the next one opens: then [`Inbox::own_rows`] turns what is
//! still alive into rows, so that a slow listener never makes the engine copy blocks.

mod following;
mod next;
mod serving;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use arrow_array::Array;
use engine::{Delivered, Failure, Part};
use graph::Patience;
use graph::sync::{Condvar, Guard, Mutex};
use pyo3::prelude::*;

use following::Follower;

pub use following::{PySubscription, next_subscription_id, subscribe};
pub use next::next_change;
pub use serving::PyInbox;

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
    /// When the serving thread was called out of its sleep.
    called: Option<Instant>,
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
    /// How often the serving thread was called, asleep or not.
    rung: AtomicU64,
    patience: Patience,
    finished: Condvar,
    listeners: AtomicU64,
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
        })
    }

    fn put(&self, item: Item, pinned: bool) {
        let mut state = self.state.lock();
        if state.closed {
            return;
        }
        if let (Word::Update(delivered), true) = (&item.word, pinned) {
            state.fresh.push((Arc::downgrade(delivered), item.to.width, item.to.columns.clone()));
        }
        state.put += 1;
        state.queue.push_back(item);
        self.call(state);
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

    /// As a step opens: changes of the step before that are still around own their rows from now on.
    pub fn own_rows(&self) {
        let fresh = std::mem::take(&mut self.state.lock().fresh);
        for (delivered, width, columns) in fresh {
            if let Some(delivered) = delivered.upgrade() {
                // A column that cannot be read now cannot be read later either: the reader is told then.
                let _ = delivered.detach(columns.as_deref());
                let bytes = size_of(&delivered, width, columns.as_deref());
                let mut state = self.state.lock();
                state.owned.retain(|(old, _)| old.strong_count() > 0);
                state.owned.push((Arc::downgrade(&delivered), bytes));
            }
        }
        self.merge_neighbours();
    }

    /// Makes two waiting changes of one follower one, if too many or too large ones wait: the work
    /// of one step is bounded, and going round the queue every change is merged about as often.
    fn merge_neighbours(&self) {
        let Some((first, next)) = self.state.lock().neighbours() else { return };
        // What cannot be merged stays as it is.
        let Ok(Some(merged)) = first.merge(&next) else { return };
        let merged = Arc::new(merged);
        let mut state = self.state.lock();
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
        self.state.lock().merged
    }

    fn take(&self) -> Option<Item> {
        let mut state = self.state.lock();
        let mut looks = true;
        loop {
            if let Some(item) = state.queue.pop_front() {
                return Some(item);
            }
            if state.closed {
                return None;
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

    fn finish(&self) {
        self.state.lock().done += 1;
        self.finished.notify_all();
    }

    /// No more is taken in; the serving thread ends.
    pub fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        state.done = state.put;
        let left = std::mem::take(&mut state.queue);
        self.call(state);
        drop(left);
        self.finished.notify_all();
    }

    pub fn listeners(&self) -> u64 {
        self.listeners.load(Ordering::Relaxed)
    }

    /// Bytes of the rows that changes which have left their step hold on to.
    pub fn bytes(&self) -> u64 {
        let mut state = self.state.lock();
        state.owned.retain(|(delivered, _)| delivered.strong_count() > 0);
        state.owned.iter().map(|(_, bytes)| bytes).sum()
    }

    /// Waits until everything put in so far has been listened to.
    pub fn wait_done(&self, py: Python<'_>) -> PyResult<()> {
        let wanted = {
            let state = self.state.lock();
            if state.done >= state.put || !state.served {
                return Ok(());
            }
            state.put
        };
        loop {
            let done = py.detach(|| {
                let state = self.state.lock();
                if state.done >= wanted || state.closed {
                    return true;
                }
                let state = self.finished.wait_timeout(state, POLL);
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
