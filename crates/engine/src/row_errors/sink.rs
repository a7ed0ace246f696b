//! The recorder of the rows that an operation skips.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use graph::{NodeId, Step, UpdateGraph};

use crate::observe::events::{self, Level};
use crate::threads::lock;

/// One row that an operation could not compute.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RowError {
    pub(crate) step: u64,
    pub(crate) origin: u64,
    pub(crate) column: Option<String>,
    pub(crate) row_key: u64,
    pub(crate) operation: String,
    pub(crate) message: String,
}

/// What takes the row_errors of a live table.
pub(super) trait Home: Send + Sync {
    /// Takes these; `counted_only` if they are to be no rows.
    fn take(&self, fresh: Vec<RowError>, counted_only: bool);
    /// What waits is work for the next step.
    fn wake(&self);
    /// The node that shows them.
    fn node_id(&self) -> Option<NodeId>;
}

/// The recorder of one operation's row errors. Several operations may make one table: each has its own recorder, and
/// all report under that table.
#[derive(Clone)]
pub struct RowErrors {
    sink: Arc<Sink>,
    noted: Arc<Mutex<Vec<RowError>>>,
}

struct Sink {
    origin: u64,
    operation: String,
    /// Where the table is live: what takes its row_errors, for as long as this lives.
    home: OnceLock<Arc<dyn Home>>,
    /// For a static table: all row errors.
    kept: Mutex<Vec<RowError>>,
    counted_only: AtomicBool,
    /// Whether the log has heard of it.
    told: AtomicBool,
}

impl std::fmt::Debug for RowErrors {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "RowErrors({})", self.sink.origin)
    }
}

impl RowErrors {
    /// For one request of this operation.
    pub fn of(operation: &str) -> RowErrors {
        static MADE: AtomicU64 = AtomicU64::new(1);
        let sink = Sink {
            origin: MADE.fetch_add(1, Ordering::Relaxed),
            operation: operation.into(),
            home: OnceLock::new(),
            kept: Mutex::default(),
            counted_only: AtomicBool::new(false),
            told: AtomicBool::new(false),
        };
        RowErrors { sink: Arc::new(sink), noted: Arc::default() }
    }

    /// A second recorder for the same table. It shares the destination, but buffers (and can discard) separately.
    pub(crate) fn sibling(&self) -> RowErrors {
        RowErrors { sink: self.sink.clone(), noted: Arc::default() }
    }

    /// Records a cell without a value. `column` is none for a filter's predicate.
    pub fn note(&self, column: Option<&str>, row_key: u64, message: String) {
        let (origin, operation) = (self.sink.origin, self.sink.operation.clone());
        lock(&self.noted).push(RowError {
            step: 0,
            origin,
            column: column.map(Into::into),
            row_key,
            operation,
            message,
        });
    }

    /// Discards what was recorded by work that failed or will be done again.
    pub(crate) fn forget(&self) {
        lock(&self.noted).clear();
    }

    /// Whether they are shown by a live table.
    pub(crate) fn is_live(&self) -> bool {
        self.sink.home.get().is_some()
    }

    /// They are shown there from now on; whoever was first has said the same.
    pub(super) fn live_at(&self, home: Arc<dyn Home>) {
        let _ = self.sink.home.set(home);
    }

    /// Tells the row_errors of this table from others.
    pub(crate) fn origin(&self) -> u64 {
        self.sink.origin
    }

    /// Of a static table: all there will ever be.
    pub(crate) fn kept(&self) -> Vec<RowError> {
        lock(&self.sink.kept).clone()
    }

    /// Makes the table of errors depend on this node. If the node itself depends on the table of errors, this would be
    /// a loop: its row errors are then only counted, since each could cause another.
    pub(crate) fn watch_node(&self, graph: &UpdateGraph, node: Option<NodeId>) {
        let Some(home) = self.sink.home.get() else { return };
        if let (Some(child), Some(parent)) = (home.node_id(), node)
            && graph.depend(child, parent).is_err()
        {
            self.sink.counted_only.store(true, Ordering::Release);
        }
    }

    /// Publishes the recorded row errors as of this step; false if there were none.
    pub(crate) fn publish(&self, step: u64, graph: Option<(&UpdateGraph, Option<Step>)>) -> bool {
        let mut fresh = std::mem::take(&mut *lock(&self.noted));
        if fresh.is_empty() {
            return false;
        }
        if !self.sink.told.swap(true, Ordering::Relaxed) {
            let RowError { operation, row_key, message, .. } = &fresh[0];
            let text =
                format!("{operation}: row {row_key} was passed over: {message}; others like it are only in `errors`");
            events::note(Level::Warning, text);
        }
        fresh.iter_mut().for_each(|fault| fault.step = step);
        match (self.sink.home.get(), graph) {
            (Some(home), Some((graph, running))) => {
                home.take(fresh, self.sink.counted_only.load(Ordering::Acquire));
                let home = home.clone();
                match running {
                    // Most row errors are drained in this very step; the others wait for the next one.
                    Some(_) => graph.after_step(Box::new(move |_| home.wake())),
                    None => home.wake(),
                }
            }
            _ => lock(&self.sink.kept).append(&mut fresh),
        }
        true
    }
}
