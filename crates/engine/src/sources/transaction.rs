//! Transactions: calls to any sources of a graph that land in one step, or in none.
//!
//!   collect: a.append(1)    judged on top of what is queued and of the transaction's earlier calls
//!   collect: i.remove(0)
//!                           somebody else removes 0 of i
//!   commit                  all are judged again: i.remove(0) does not fit, so nothing is queued
//!
//! A transaction belongs to no thread: the calls made inside [`Transaction::collect`] are its own, whichever
//! thread that is. Its end is one intake of the graph, which no other writer and no step comes between.

use std::any::Any;
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use graph::UpdateGraph;

use crate::error::Error;
use crate::sources::room::{Awaits, Drops, Refusal, patiently};
use crate::threads::lock;

static MADE: AtomicU64 = AtomicU64::new(1);

thread_local! {
    /// The transactions that this thread's calls fall into, the innermost last.
    static JOINED: RefCell<Vec<Arc<Open>>> = const { RefCell::new(Vec::new()) };
}

/// A call that waits for the end of its transaction.
pub(crate) trait Draft: Send {
    /// Judges it on top of the transaction's earlier calls; what was found out goes into the call. As the transaction
    /// `ends` it must have room beside what others have queued.
    fn judge(&mut self, transaction: u64, ends: bool) -> Result<(), Refusal>;
    /// The source that it is for.
    fn source(&self) -> Arc<dyn Awaits>;
    /// Forgets what the transaction's calls to this source are thought to leave.
    fn forget(&self, transaction: u64);
    /// Queues it as it was judged. Returns what was dropped to make room, to be let go where no lock is held.
    fn queue(self: Box<Self>, transaction: u64, drops: Drops) -> Box<dyn Any + Send>;
    /// It will never land.
    fn cancel(self: Box<Self>, why: &Error);
}

/// The calls of a transaction; none once it has ended.
pub(crate) struct Open {
    graph: UpdateGraph,
    id: u64,
    calls: Mutex<Option<Vec<Box<dyn Draft>>>>,
}

impl Open {
    fn lock(&self) -> MutexGuard<'_, Option<Vec<Box<dyn Draft>>>> {
        lock(&self.calls)
    }

    /// Takes in one call, if it fits; else that call alone is lost.
    pub(crate) fn add(&self, mut call: Box<dyn Draft>) -> Result<(), Error> {
        let mut calls = self.lock();
        let Some(calls) = calls.as_mut() else {
            return Err(Error::invalid("transaction", "it has ended; nothing was applied"));
        };
        match call.judge(self.id, false) {
            Ok(()) => calls.push(call),
            Err(Refusal::Error(error)) => return Err(error),
            // Whether there is room is asked as the transaction ends.
            Err(Refusal::Full(operation, message)) => return Err(Error::Resource { operation, message }),
        }
        Ok(())
    }

    /// Judges all calls anew and queues them, or none. Returns what was dropped to make room.
    fn queue(&self, calls: &mut Vec<Box<dyn Draft>>) -> Result<Vec<Box<dyn Any + Send>>, Refusal> {
        calls.iter().for_each(|call| call.forget(self.id));
        if let Err(refusal) = calls.iter_mut().try_for_each(|call| call.judge(self.id, true)) {
            calls.iter().for_each(|call| call.forget(self.id));
            return Err(refusal);
        }
        let sources: Vec<_> = calls.iter().map(|call| call.source()).collect();
        let one = sources.windows(2).all(|pair| std::ptr::addr_eq(Arc::as_ptr(&pair[0]), Arc::as_ptr(&pair[1])));
        let drops = if one { Drops::With(self.id) } else { Drops::Never };
        Ok(calls.drain(..).map(|call| call.queue(self.id, drops)).collect())
    }
}

/// The sources of a transaction that waits for room.
struct Sources(Vec<Arc<dyn Awaits>>);

impl Awaits for Sources {
    fn counted(&self, waits: bool) {
        // Each source counts one call of the transaction.
        let mut told: Vec<*const ()> = Vec::new();
        for source in &self.0 {
            let at = Arc::as_ptr(source).cast::<()>();
            if !told.contains(&at) {
                told.push(at);
                source.counted(waits);
            }
        }
    }

    fn in_vain(&self) -> bool {
        self.0.iter().any(|source| source.in_vain())
    }
}

/// The transaction that this thread's calls to sources of `graph` fall into.
pub(crate) fn joined(graph: &UpdateGraph) -> Option<Arc<Open>> {
    JOINED.with(|joined| joined.borrow().iter().rev().find(|open| open.graph == *graph).cloned())
}

/// Calls that land in one step, or in none. Dropped, it is rolled back.
pub struct Transaction {
    open: Arc<Open>,
}

impl Transaction {
    /// Opens a transaction over the sources of `graph`.
    pub fn begin(graph: &UpdateGraph) -> Transaction {
        let id = MADE.fetch_add(1, Ordering::Relaxed);
        Transaction { open: Arc::new(Open { graph: graph.clone(), id, calls: Mutex::new(Some(Vec::new())) }) }
    }

    /// What `calls` gives to sources of the graph falls into this transaction. Inside, the thread must not wait
    /// for the graph.
    pub fn collect<R>(&self, calls: impl FnOnce() -> R) -> R {
        let _scope = self.open.graph.transaction_scope();
        let _joined = Joined::enter(&self.open);
        calls()
    }

    /// Whether it has not ended yet.
    pub fn is_open(&self) -> bool {
        self.open.lock().is_some()
    }

    /// Ends it: queues everything, so that one step takes all of it, or nothing, if some call no longer fits
    /// what others have queued, or has no room; the error says which. It waits for room if one of its sources does. Ending it again does nothing.
    pub fn commit(&self) -> Result<(), Error> {
        let Some(mut calls) = self.open.lock().take() else { return Ok(()) };
        let sources = Sources(calls.iter().map(|call| call.source()).collect());
        let graph = &self.open.graph;
        let queued = patiently(graph, &sources, || graph.intake(|| self.open.queue(&mut calls)));
        let Err(error) = queued else { return Ok(()) };
        let why = Error::Cancelled(format!("the transaction was rolled back: {error}"));
        calls.into_iter().for_each(|call| call.cancel(&why));
        Err(match error {
            Error::Data { operation, message } => Error::Data {
                operation: format!("transaction: {operation}"),
                message: format!("{message}; another writer came first, and nothing of the transaction is"),
            },
            Error::Resource { operation, message } => Error::Resource {
                operation: format!("transaction: {operation}"),
                message: format!("{message}; nothing of the transaction is queued"),
            },
            other => other,
        })
    }

    /// Ends it: forgets everything; tokens say so.
    pub fn rollback(&self) {
        let calls = self.open.lock().take().unwrap_or_default();
        let why = Error::Cancelled("the transaction was rolled back".into());
        calls.iter().for_each(|call| call.forget(self.open.id));
        calls.into_iter().for_each(|call| call.cancel(&why));
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.rollback();
    }
}

/// This thread's calls fall into a transaction for as long as it lives.
struct Joined;

impl Joined {
    fn enter(open: &Arc<Open>) -> Joined {
        JOINED.with(|joined| joined.borrow_mut().push(open.clone()));
        Joined
    }
}

impl Drop for Joined {
    fn drop(&mut self) {
        // What it held may be the last handle of the graph: it is dropped after the borrow.
        let left = JOINED.with(|joined| joined.borrow_mut().pop());
        drop(left);
    }
}
