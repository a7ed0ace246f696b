//! What all fed sources share: calls queue and return, a step takes what is queued, and a token
//! tells in which step a call became visible. Transactions land several calls in one step.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use graph::{NodeId, Step, TransactionScope, UpdateGraph};

use crate::error::Error;

/// A promise: the step in which a call becomes visible.
#[derive(Clone)]
pub struct Token {
    graph: UpdateGraph,
    state: Arc<TokenState>,
}

#[derive(Default)]
struct TokenState {
    landed: OnceLock<Result<u64, Error>>,
}

impl Token {
    fn new(graph: &UpdateGraph) -> Token {
        Token { graph: graph.clone(), state: Arc::default() }
    }

    /// The step, once the data is visible.
    pub fn landed(&self) -> Option<Result<u64, Error>> {
        let landed = self.state.landed.get()?;
        match landed {
            Ok(step) if self.graph.settled().number() < *step => None,
            other => Some(other.clone()),
        }
    }

    /// Waits until the data is visible and returns the step. `poll` is asked now and then whether
    /// to go on.
    pub fn wait(&self, timeout: Option<Duration>, poll: &mut dyn FnMut() -> bool) -> Result<u64, Error> {
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
            // No step comes that tells of a call whose source was let go.
            let lost = || matches!(self.state.landed.get(), Some(Err(_)));
            match self.graph.wait_until(step, left, &mut || !lost() && poll()) {
                Ok(()) => {}
                // It may have landed in the very instant the time was up.
                Err(error) => return self.landed().unwrap_or(Err(error.into())),
            }
        }
    }

    fn land(&self, outcome: Result<u64, Error>) {
        // The first word stands.
        let _ = self.state.landed.set(outcome);
    }
}

/// Whether a call fits what is queued before it.
pub(crate) trait Judge<C>: Send + Sync {
    /// Judges a call that is queued now, and notes it; what was found out may go into the call.
    fn take(&self, call: &mut C) -> Result<(), Error>;
    /// Judges a call of this thread's open transaction, on top of the transaction's earlier calls.
    fn draft(&self, call: &C) -> Result<(), Error>;
    /// This thread's transaction is over.
    fn end_draft(&self);
    /// A step opens: what is queued belongs to it.
    fn seal(&self);
}

/// Calls that need not fit anything: rows are appended, keys are looked up.
pub(crate) struct AllFits;

impl<C> Judge<C> for AllFits {
    fn take(&self, _: &mut C) -> Result<(), Error> {
        Ok(())
    }

    fn draft(&self, _: &C) -> Result<(), Error> {
        Ok(())
    }

    fn end_draft(&self) {}

    fn seal(&self) {}
}

/// One queued call.
pub(crate) struct Queued<C> {
    pub(crate) call: C,
    token: Token,
}

/// Calls that wait for a step, and those the running step has taken.
pub(crate) struct Queue<C> {
    graph: UpdateGraph,
    id: OnceLock<NodeId>,
    judge: Arc<dyn Judge<C>>,
    state: Mutex<QueueState<C>>,
}

struct QueueState<C> {
    waiting: VecDeque<Queued<C>>,
    taken: VecDeque<Queued<C>>,
    failed: Option<Error>,
}

impl<C> Drop for Queue<C> {
    /// Nobody can see any more what waits for a step that nobody will run.
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let gone = Error::Cancelled("the table was let go before the step that would have taken this in".into());
        state.waiting.iter().chain(&state.taken).for_each(|queued| queued.token.land(Err(gone.clone())));
    }
}

impl<C: Send + 'static> Queue<C> {
    pub(crate) fn new(graph: &UpdateGraph, judge: Arc<dyn Judge<C>>) -> Arc<Queue<C>> {
        let state = QueueState { waiting: VecDeque::new(), taken: VecDeque::new(), failed: None };
        Arc::new(Queue { graph: graph.clone(), id: OnceLock::new(), judge, state: Mutex::new(state) })
    }

    /// Tells the queue which node drains it.
    pub(crate) fn registered(&self, id: NodeId) {
        let _ = self.id.set(id);
    }

    fn lock(&self) -> MutexGuard<'_, QueueState<C>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a call for the next step; inside a transaction of this thread, for its end. It is judged
    /// at once, and again when a transaction ends, since other threads may have queued calls meanwhile.
    pub(crate) fn push(self: &Arc<Self>, mut call: C) -> Result<Token, Error> {
        let token = Token::new(&self.graph);
        if let Some(error) = self.lock().failed.clone() {
            return Err(error);
        }
        if !Transaction::is_open(&self.graph) {
            self.graph.intake(|| {
                self.judge.take(&mut call)?;
                self.enqueue(Queued { call, token: token.clone() });
                Ok::<(), Error>(())
            })?;
            return Ok(token);
        }
        self.judge.draft(&call)?;
        let (queue, judge, waiting, undone) = (self.clone(), self.judge.clone(), token.clone(), token.clone());
        let commit = move || {
            queue.judge.end_draft();
            match queue.judge.take(&mut call) {
                Ok(()) => queue.enqueue(Queued { call, token: waiting }),
                Err(error) => waiting.land(Err(error)),
            }
        };
        let rollback = move || {
            judge.end_draft();
            undone.land(Err(Error::Cancelled("the transaction was rolled back".into())));
        };
        Transaction::defer(Box::new(commit), Box::new(rollback));
        Ok(token)
    }

    fn enqueue(&self, queued: Queued<C>) {
        self.lock().waiting.push_back(queued);
        self.activate();
    }

    /// There is something for the next step.
    pub(crate) fn activate(&self) {
        if let Some(id) = self.id.get() {
            self.graph.activate(*id);
        }
    }

    /// As a step opens: what is queued now belongs to it.
    pub(crate) fn seal(&self) {
        let mut state = self.lock();
        let mut waiting = std::mem::take(&mut state.waiting);
        state.taken.append(&mut waiting);
        drop(state);
        self.judge.seal();
    }

    /// The calls of this step, in order; their tokens land with it. An error if the source was
    /// failed from outside.
    pub(crate) fn take(&self, step: Step) -> Result<Vec<C>, Error> {
        let mut state = self.lock();
        let taken = std::mem::take(&mut state.taken);
        if let Some(error) = &state.failed {
            taken.iter().for_each(|queued| queued.token.land(Err(error.clone())));
            return Err(error.clone());
        }
        drop(state);
        Ok(taken
            .into_iter()
            .map(|queued| {
                queued.token.land(Ok(step.number()));
                queued.call
            })
            .collect())
    }

    /// Fails the source: its table fails with this error in the next step.
    pub(crate) fn fail(&self, error: Error) {
        {
            let mut state = self.lock();
            state.failed.get_or_insert(error);
        }
        self.activate();
    }

    /// How many calls wait.
    pub(crate) fn waiting(&self) -> usize {
        self.lock().waiting.len()
    }
}

type Deferred = (Box<dyn FnOnce()>, Box<dyn FnOnce()>);

struct Open {
    graph: UpdateGraph,
    calls: Vec<Deferred>,
}

thread_local! {
    static OPEN: RefCell<Vec<Open>> = const { RefCell::new(Vec::new()) };
}

/// Calls of this thread that land in one step, or in none. It belongs to its thread and is queued
/// whole when it ends.
pub struct Transaction {
    graph: UpdateGraph,
    scope: Option<TransactionScope>,
}

impl Transaction {
    /// Opens a transaction on this thread.
    pub fn begin(graph: &UpdateGraph) -> Result<Transaction, Error> {
        if Transaction::is_open(graph) {
            return Err(Error::invalid(
                "transaction",
                "a transaction of this thread is open already; they do not nest",
            ));
        }
        OPEN.with(|open| open.borrow_mut().push(Open { graph: graph.clone(), calls: Vec::new() }));
        Ok(Transaction { graph: graph.clone(), scope: Some(graph.transaction_scope()) })
    }

    fn is_open(graph: &UpdateGraph) -> bool {
        OPEN.with(|open| open.borrow().iter().any(|open| open.graph == *graph))
    }

    fn defer(commit: Box<dyn FnOnce()>, rollback: Box<dyn FnOnce()>) {
        OPEN.with(|open| {
            if let Some(open) = open.borrow_mut().last_mut() {
                open.calls.push((commit, rollback));
            }
        });
    }

    /// Queues everything, so that one step takes all of it.
    pub fn commit(mut self) {
        let calls = self.close();
        self.graph.intake(|| calls.into_iter().for_each(|(commit, _)| commit()));
    }

    /// Forgets everything; tokens say so.
    pub fn rollback(mut self) {
        self.close().into_iter().for_each(|(_, rollback)| rollback());
    }

    fn close(&mut self) -> Vec<Deferred> {
        self.scope.take();
        OPEN.with(|open| {
            let mut open = open.borrow_mut();
            let at = open.iter().position(|open| open.graph == self.graph);
            at.map(|at| open.remove(at).calls).unwrap_or_default()
        })
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.close().into_iter().for_each(|(_, rollback)| rollback());
    }
}
