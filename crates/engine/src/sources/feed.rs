//! The queue of fed sources: calls queue and return, and the next step takes everything that is queued. A token says in
//! which step the rows of a call became visible, or that they never will be.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use arrow_array::Array;
use column::Chunk;
use graph::{HookId, NodeId, Step, UpdateGraph};

use crate::driver::budget::Budget;
use crate::driver::node::Fed;
use crate::error::{Error, Failure};
use crate::observe::events::{self, Level};
use crate::sources::journal::Journal;
use crate::sources::publisher::{Published, Publisher};
use crate::sources::room::{Awaits, Drops, QueueCounts, QueueLimit, Refusal, Room, patiently};
use crate::sources::transaction::{self, Draft};
use crate::table::handle::Table;
use crate::threads::lock;

/// The token of a call: a promise of the step in which its rows become visible.
#[derive(Clone)]
pub struct Token {
    graph: UpdateGraph,
    state: Arc<TokenState>,
    /// Who keeps the rows of a durable source.
    journal: Option<Arc<dyn Journal>>,
}

#[derive(Default)]
struct TokenState {
    landed: OnceLock<Result<u64, Error>>,
}

impl Token {
    fn new(graph: &UpdateGraph, journal: Option<Arc<dyn Journal>>) -> Token {
        Token { graph: graph.clone(), state: Arc::default(), journal }
    }

    /// The step, once the rows are visible; an error if they never will be; none while the call is queued.
    pub fn landed(&self) -> Option<Result<u64, Error>> {
        let landed = self.state.landed.get()?;
        match landed {
            Ok(step) if self.graph.settled().number() < *step => None,
            other => Some(other.clone()),
        }
    }

    /// Waits until the rows are visible, and those of a durable source kept, and returns the step. `poll` is called at
    /// intervals; if it returns false, the wait ends.
    pub fn wait(&self, timeout: Option<Duration>, poll: &mut dyn FnMut() -> bool) -> Result<u64, Error> {
        let Some(journal) = &self.journal else { return self.wait_visible(timeout, poll) };
        let deadline = timeout.map(|timeout| graph::env::now() + timeout);
        let step = self.wait_visible(timeout, poll)?;
        let left = deadline.map(|deadline| deadline.saturating_duration_since(graph::env::now()));
        journal.wait(Step::new(step), left, poll)?;
        Ok(step)
    }

    fn wait_visible(&self, timeout: Option<Duration>, poll: &mut dyn FnMut() -> bool) -> Result<u64, Error> {
        self.graph.may_wait()?;
        let deadline = timeout.map(|timeout| graph::env::now() + timeout);
        loop {
            if let Some(landed) = self.landed() {
                return landed;
            }
            let step = match self.state.landed.get() {
                Some(Ok(step)) => Step::new(*step),
                _ => Step::new(self.graph.settled().number() + 1),
            };
            let left = deadline.map(|deadline| deadline.saturating_duration_since(graph::env::now()));
            // No step notifies the waiters of a call whose source was dropped.
            let lost = || matches!(self.state.landed.get(), Some(Err(_)));
            match self.graph.wait_until(step, left, &mut || !lost() && poll()) {
                Ok(()) => {}
                // The call may have landed at the very instant of the timeout.
                Err(error) => return self.landed().unwrap_or(Err(error.into())),
            }
        }
    }

    fn land(&self, outcome: Result<u64, Error>) {
        // Only the first outcome counts.
        let _ = self.state.landed.set(outcome);
    }
}

/// The memory that a call holds while it is queued.
pub(crate) trait Weighed {
    /// Bytes of the cells that the call owns.
    fn bytes(&self) -> u64;

    /// Rows that the call brings or names by their cells.
    fn rows(&self) -> u64;

    /// Whether the call brings rows or cells. A call that only removes rows is never refused for lack of memory.
    fn brings(&self) -> bool {
        self.bytes() > 0
    }
}

impl Weighed for () {
    fn bytes(&self) -> u64 {
        0
    }

    fn rows(&self) -> u64 {
        0
    }
}

impl Weighed for Vec<Chunk> {
    fn bytes(&self) -> u64 {
        self.iter().map(|chunk| chunk.get_array_memory_size() as u64).sum()
    }

    fn rows(&self) -> u64 {
        self.first().map_or(0, |chunk| chunk.len() as u64)
    }
}

/// Bytes of the calls queued in the sources of a graph.
#[derive(Default)]
struct Waiting(AtomicU64);

/// Bytes of calls that wait in the sources of this graph for a step.
pub fn waiting_bytes(graph: &UpdateGraph) -> u64 {
    graph.extension(Waiting::default).0.load(Ordering::Relaxed)
}

/// Validation of a call against the table as it will be after the calls queued before.
pub(crate) trait Validator<C>: Send + Sync {
    /// Validates a call that is queued now, and notes its effect. Results of the validation may be stored in the call.
    fn take(&self, call: &mut C) -> Result<(), Error>;
    /// Validates a call of a transaction, as if the transaction's earlier calls were queued already, and notes its
    /// effect.
    fn validate_in_transaction(&self, transaction: u64, call: &mut C) -> Result<(), Error>;
    /// Takes over the noted effect of a transaction whose calls are queued now. No other call was queued since they
    /// were validated.
    fn adopt(&self, transaction: u64);
    /// Discards the noted effect of a transaction.
    fn forget(&self, transaction: u64);
    /// Called as a step opens: the calls queued now belong to it.
    fn seal(&self);
}

/// The judge of sources whose calls are always valid: rows are appended, or keys are looked up.
pub(crate) struct AllFits;

impl<C> Validator<C> for AllFits {
    fn take(&self, _: &mut C) -> Result<(), Error> {
        Ok(())
    }

    fn validate_in_transaction(&self, _: u64, _: &mut C) -> Result<(), Error> {
        Ok(())
    }

    fn adopt(&self, _: u64) {}

    fn forget(&self, _: u64) {}

    fn seal(&self) {}
}

/// One queued call.
pub(crate) struct Queued<C> {
    pub(crate) call: C,
    token: Token,
    weight: Weight,
    /// Rows of the queue's room that it takes.
    rows: u64,
    drops: Drops,
}

/// A call's share of the graph's waiting bytes, until dropped.
struct Weight {
    bytes: u64,
    waiting: Arc<Waiting>,
}

impl Weight {
    fn new(bytes: u64, waiting: &Arc<Waiting>) -> Weight {
        waiting.0.fetch_add(bytes, Ordering::Relaxed);
        Weight { bytes, waiting: waiting.clone() }
    }
}

impl Drop for Weight {
    fn drop(&mut self) {
        self.waiting.0.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// The queue of a source: calls that wait for a step, and calls taken by the running step.
pub(crate) struct Queue<C> {
    graph: UpdateGraph,
    id: OnceLock<NodeId>,
    judge: Arc<dyn Validator<C>>,
    waiting: Arc<Waiting>,
    budget: Arc<Budget>,
    published: OnceLock<Arc<Published>>,
    journal: Option<Arc<dyn Journal>>,
    /// Whether the table was closed and its last step is over.
    ended: AtomicBool,
    state: Mutex<QueueState<C>>,
}

struct QueueState<C> {
    waiting: VecDeque<Queued<C>>,
    room: Room,
    /// The calls of the running step, until the source's node takes them.
    taken: VecDeque<Queued<C>>,
    /// The tokens of the calls that the node is writing; they land when it has written them.
    landing: Vec<Token>,
    failed: Option<Error>,
    /// Whether no more calls are taken in.
    closed: bool,
}

impl<C> QueueState<C> {
    /// Why no call is taken in any more.
    fn refusal(&self, operation: &str) -> Option<Error> {
        let closed = || Error::invalid(operation, "the table was closed; it takes no more rows");
        self.failed.clone().or_else(|| self.closed.then(closed))
    }

    /// Fails all queued calls. Returns them, because they may be large and must be dropped outside the lock.
    fn refuse(&mut self, error: &Error) -> VecDeque<Queued<C>> {
        self.landing.drain(..).for_each(|token| token.land(Err(error.clone())));
        let mut queued = std::mem::take(&mut self.taken);
        queued.append(&mut self.waiting);
        self.room.emptied();
        queued.iter().for_each(|queued| queued.token.land(Err(error.clone())));
        queued
    }

    /// Drops the oldest calls until so many rows have room. Returns them, because they may be large and must be dropped
    /// outside the lock.
    fn make_room(&mut self, rows: u64) -> Vec<Queued<C>> {
        let mut dropped = Vec::new();
        while self.room.lacks(rows) {
            let Some(at) = self.waiting.iter().position(|queued| queued.drops != Drops::Never) else { break };
            let with = self.waiting[at].drops;
            while let Some(queued) = self.waiting.get(at)
                && (queued.drops == with)
                && let Some(queued) = self.waiting.remove(at)
            {
                if self.room.dropped(queued.rows) {
                    let text = "blink_table: rows come faster than steps take them; the oldest that wait are dropped \
                                (when_full=\"drop_oldest\"), and counted";
                    events::note(Level::Warning, text.into());
                }
                dropped.push(queued);
                if with == Drops::Alone {
                    break;
                }
            }
        }
        let most = self.room.most();
        for queued in &dropped {
            let text = format!(
                "the rows were dropped: newer ones came while the queue of the table was full (max_queued_rows={most})"
            );
            queued.token.land(Err(Error::Cancelled(text)));
        }
        dropped
    }
}

impl<C> Drop for Queue<C> {
    /// Fails the tokens of the remaining calls: no step will take them any more.
    fn drop(&mut self) {
        let gone = Error::Cancelled("the table was let go before the step that would have taken this in".into());
        self.state.get_mut().unwrap_or_else(PoisonError::into_inner).refuse(&gone);
    }
}

impl<C: Weighed + Send + 'static> Queue<C> {
    pub(crate) fn new(
        graph: &UpdateGraph,
        judge: Arc<dyn Validator<C>>,
        limit: QueueLimit,
        journal: Option<Arc<dyn Journal>>,
    ) -> Arc<Queue<C>> {
        let (waiting, taken) = (VecDeque::new(), VecDeque::new());
        let state =
            QueueState { waiting, room: Room::new(limit), taken, landing: Vec::new(), failed: None, closed: false };
        let all = graph.extension(Waiting::default);
        Arc::new(Queue {
            graph: graph.clone(),
            id: OnceLock::new(),
            judge,
            waiting: all,
            budget: Budget::of(graph),
            published: OnceLock::new(),
            journal,
            ended: AtomicBool::new(false),
            state: Mutex::new(state),
        })
    }

    /// Sets the node that drains the queue, and begins to call the publisher.
    pub(crate) fn registered(&self, id: NodeId, publisher: Option<Arc<dyn Publisher>>) {
        let _ = self.id.set(id);
        if let Some(publisher) = publisher {
            let published = Published::begin(&self.graph, publisher);
            let _ = self.published.set(published.clone());
            published.ran(id);
        }
    }

    fn lock(&self) -> MutexGuard<'_, QueueState<C>> {
        lock(&self.state)
    }

    /// Queues a call for the next step, or, inside a transaction, for the transaction's end. The call is validated at
    /// once, and again when the transaction ends, because other threads may have queued calls meanwhile. A call that has
    /// no room may wait for it.
    pub(crate) fn push(self: &Arc<Self>, operation: &str, call: C) -> Result<Token, Error> {
        let token = Token::new(&self.graph, self.journal.clone());
        if let Some(error) = self.lock().refusal(operation) {
            return Err(error);
        }
        if let Some(journal) = &self.journal {
            journal.admit(operation)?;
        }
        let bytes = call.bytes();
        if call.brings() {
            let asked = self.budget.ask(&self.graph, bytes);
            asked.inspect_err(|_| self.lock().room.refused()).map_err(|error| error.in_operation(operation))?;
        }
        let weight = Weight::new(bytes, &self.waiting);
        let rows = call.rows().max(1);
        let queued = Queued { call, token: token.clone(), weight, rows, drops: Drops::Alone };
        if let Some(open) = transaction::joined(&self.graph) {
            open.add(Box::new(Drafted { queue: self.clone(), operation: operation.to_owned(), queued }))?;
            return Ok(token);
        }
        let mut queued = Some(queued);
        let dropped = patiently(&self.graph, &**self, || {
            self.graph.intake(|| {
                self.ask(operation, |room| room.ask(operation, rows))?;
                if let Some(queued) = &mut queued {
                    self.judge.take(&mut queued.call)?;
                }
                Ok(queued.take().map(|queued| self.enqueue(queued)))
            })
        })?;
        drop(dropped);
        Ok(token)
    }

    /// Asks for room, unless nothing is taken in any more.
    fn ask(&self, operation: &str, room: impl FnOnce(&mut Room) -> Result<(), Refusal>) -> Result<(), Refusal> {
        let mut state = self.lock();
        match state.refusal(operation) {
            Some(error) => Err(error.into()),
            None => room(&mut state.room),
        }
    }

    /// Queues a call that has room. Returns what was dropped to make it.
    fn enqueue(&self, queued: Queued<C>) -> Vec<Queued<C>> {
        let mut state = self.lock();
        if let Some(error) = &state.failed {
            queued.token.land(Err(error.clone()));
            return vec![queued];
        }
        let dropped = state.make_room(queued.rows);
        state.room.queued(queued.rows, queued.drops);
        state.waiting.push_back(queued);
        drop(state);
        self.activate();
        dropped
    }

    /// What the queue holds, and what became of calls for which it had no room.
    pub(crate) fn counts(&self) -> QueueCounts {
        let state = self.lock();
        state.room.counts(state.waiting.len())
    }

    /// Activates the source for the next step.
    pub(crate) fn activate(&self) {
        if let Some(id) = self.id.get() {
            self.graph.activate(*id);
        }
    }

    /// The calls of this step, in order; their tokens land when its node has written them. An error if the
    /// source was failed from outside.
    pub(crate) fn take(&self) -> Result<Vec<C>, Error> {
        let mut state = self.lock();
        if let Some(error) = &state.failed {
            return Err(error.clone());
        }
        let taken = std::mem::take(&mut state.taken);
        let mut calls = Vec::with_capacity(taken.len());
        for Queued { call, token, weight, .. } in taken {
            drop(weight);
            state.landing.push(token);
            calls.push(call);
        }
        Ok(calls)
    }

    /// Fails the source: its table fails with this error in the next step.
    pub(crate) fn fail(&self, error: Error) {
        {
            let mut state = self.lock();
            state.failed.get_or_insert(error);
        }
        self.activate();
    }

    /// Takes in no more calls. The step that takes what is queued is the table's last; when it is over, listeners and the
    /// publisher are told. A blink table has one more, in which its rows go.
    pub(crate) fn close(self: &Arc<Self>, table: &Table) {
        let already = self.graph.intake(|| std::mem::replace(&mut self.lock().closed, true));
        if already {
            return;
        }
        let (queue, table, graph) = (Arc::downgrade(self), table.downgrade(), self.graph.downgrade());
        let watch: Arc<OnceLock<HookId>> = Arc::default();
        let own = watch.clone();
        let observer = self.graph.observe(Arc::new(move |_| {
            let (Some(graph), Some(id)) = (graph.upgrade(), own.get()) else { return };
            let (queue, table): (Option<Arc<Self>>, _) = (Weak::upgrade(&queue), table.upgrade());
            let (Some(queue), Some(table)) = (queue, table) else { return graph.remove_observer(*id) };
            let rows = if table.attributes().blink { table.parts().rows.latest().len() } else { 0 };
            if rows == 0 && queue.is_drained() {
                graph.remove_observer(*id);
                queue.ended.store(true, Ordering::Release);
                queue.shut_down();
                crate::follow::listener::tell_ended(&graph);
            }
        }));
        let _ = watch.set(observer);
        self.activate();
    }

    /// Whether the table was closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    fn is_drained(&self) -> bool {
        let state = self.lock();
        state.waiting.is_empty() && state.taken.is_empty() && state.landing.is_empty()
    }

    fn shut_down(&self) {
        if let Some(published) = self.published.get() {
            published.shut_down();
        }
    }

    /// How many calls wait.
    pub(crate) fn waiting(&self) -> usize {
        self.lock().waiting.len()
    }
}

impl<C: Weighed + Send + 'static> Fed for Queue<C> {
    fn seal(&self) {
        let mut state = self.lock();
        let mut waiting = std::mem::take(&mut state.waiting);
        state.taken.append(&mut waiting);
        state.room.emptied();
        drop(state);
        self.judge.seal();
    }

    fn landed(&self, step: Step) {
        let landing = std::mem::take(&mut self.lock().landing);
        landing.into_iter().for_each(|token| token.land(Ok(step.number())));
        if let (Some(published), Some(id)) = (self.published.get(), self.id.get()) {
            published.ran(*id);
        }
    }

    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    fn failed(&self, failure: &Arc<Failure>) {
        let error = Error::TableFailed(failure.clone());
        let mut state = self.lock();
        let dropped = state.refuse(&error);
        state.failed = Some(error);
        drop(state);
        drop(dropped);
        self.shut_down();
    }
}

impl<C: Weighed + Send + 'static> Awaits for Queue<C> {
    fn counted(&self, waits: bool) {
        let mut state = self.lock();
        if waits { state.room.waited() } else { state.room.refused() }
    }

    fn in_vain(&self) -> bool {
        let state = self.lock();
        state.closed || state.failed.is_some()
    }
}

/// A call of an open transaction.
struct Drafted<C> {
    queue: Arc<Queue<C>>,
    operation: String,
    queued: Queued<C>,
}

impl<C: Weighed + Send + 'static> Draft for Drafted<C> {
    fn judge(&mut self, transaction: u64, ends: bool) -> Result<(), Refusal> {
        let rows = self.queued.rows;
        self.queue.ask(&self.operation, |room| room.ask_draft(&self.operation, rows, transaction, ends))?;
        self.queue.judge.validate_in_transaction(transaction, &mut self.queued.call)?;
        self.queue.lock().room.draft(transaction, rows);
        Ok(())
    }

    fn source(&self) -> Arc<dyn Awaits> {
        self.queue.clone()
    }

    fn forget(&self, transaction: u64) {
        self.queue.lock().room.forget(transaction);
        self.queue.judge.forget(transaction);
    }

    fn queue(mut self: Box<Self>, transaction: u64, drops: Drops) -> Box<dyn Any + Send> {
        self.queue.lock().room.forget(transaction);
        self.queue.judge.adopt(transaction);
        self.queued.drops = drops;
        Box::new(self.queue.enqueue(self.queued))
    }

    fn cancel(self: Box<Self>, why: &Error) {
        self.queued.token.land(Err(why.clone()));
    }
}
