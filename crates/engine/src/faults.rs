//! Rows that an operation was told to pass over: `on_error`, and the live table of what went wrong.
//!
//!   with_columns y = cast(x, Int64), on_error null    + 0 "7"    + 1 "seven"
//!   out                                               + 0 7      + 1 null
//!   errors                                            + 0 with_columns y 1 …
//!
//! An operation notes a fault while it evaluates ([`Faults::note`]); its node publishes them when the step's work is
//! done. The graph's journal keeps them for the table of errors, which waits for all such nodes and so shows the rows
//! of step *n* at *n*. Faults of an initialisation, and of a node that joined while the step ran, come one step later.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use formula::{Expr, Function};
use graph::{Moment, NodeId, Step, UpdateGraph, WeakGraph};

use crate::attach::attach;
use crate::companion;
use crate::error::Error;
use crate::events::{self, Level};
use crate::operation::{Input, Live, Operation, Request, Settle, Start};
use crate::ops::{Filter, Project};
use crate::sources::append::next_keys;
use crate::sources::conform::conform;
use crate::sources::feed::Queue;
use crate::store::{Store, Writes};
use crate::table::{Attributes, Table, WeakTable};
use crate::update::TableUpdate;
use crate::view::Change;

/// Most rows the table of errors takes; what comes after is counted only.
const MOST_ROWS: u64 = 1_000_000;
/// What tells tables apart in the graph's one table; no user sees it.
const ORIGIN: &str = "\u{0}origin";
const SHOWN: [&str; 5] = ["operation", "column", "row_key", "step", "message"];

/// What becomes of a row that an operation cannot compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// The table fails.
    #[default]
    Fail,
    /// The cell is null; in a filter the row does not pass.
    Null,
    /// The row is left out, until a change makes it computable.
    Drop,
}

impl OnError {
    /// What requests and their memo keys call it.
    pub fn name(self) -> &'static str {
        match self {
            OnError::Fail => "fail",
            OnError::Null => "null",
            OnError::Drop => "drop",
        }
    }
}

/// One row that an operation could not compute.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Fault {
    step: u64,
    origin: u64,
    column: Option<String>,
    row_key: u64,
    operation: String,
    message: String,
}

/// Where one operation notes its faults. Several that make one table note each for itself, and all tell of that table.
#[derive(Clone)]
pub struct Faults {
    sink: Arc<Sink>,
    noted: Arc<Mutex<Vec<Fault>>>,
}

struct Sink {
    origin: u64,
    operation: String,
    /// Where the table is live: the graph's journal and its table of errors, which lives as long as this.
    home: OnceLock<(Arc<Journal>, Table)>,
    /// Where it is static: all there will ever be.
    kept: Mutex<Vec<Fault>>,
    counted_only: AtomicBool,
    /// Whether the log has heard of it.
    told: AtomicBool,
}

impl std::fmt::Debug for Faults {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Faults({})", self.sink.origin)
    }
}

impl Faults {
    /// For one request of this operation.
    pub fn of(operation: &str) -> Faults {
        static MADE: AtomicU64 = AtomicU64::new(1);
        let sink = Sink {
            origin: MADE.fetch_add(1, Ordering::Relaxed),
            operation: operation.into(),
            home: OnceLock::new(),
            kept: Mutex::default(),
            counted_only: AtomicBool::new(false),
            told: AtomicBool::new(false),
        };
        Faults { sink: Arc::new(sink), noted: Arc::default() }
    }

    /// For another operation that makes the same table: what the two note, and forget, is their own.
    pub(crate) fn beside(&self) -> Faults {
        Faults { sink: self.sink.clone(), noted: Arc::default() }
    }

    /// A cell that has no value; no column for a filter's predicate.
    pub fn note(&self, column: Option<&str>, row_key: u64, message: String) {
        let (origin, operation) = (self.sink.origin, self.sink.operation.clone());
        lock(&self.noted).push(Fault { step: 0, origin, column: column.map(Into::into), row_key, operation, message });
    }

    /// Forgets what was noted by work that is done again, or came to nothing.
    pub(crate) fn forget(&self) {
        lock(&self.noted).clear();
    }

    /// The table joins a graph: its table of errors exists from here on.
    pub(crate) fn live_in(&self, graph: &UpdateGraph) -> Result<(), Error> {
        if self.sink.home.get().is_none() {
            let journal = Journal::of(graph);
            let table = journal.table(graph)?;
            // Whoever was first has set the same.
            let _ = self.sink.home.set((journal, table));
        }
        Ok(())
    }

    /// The table of errors waits for this node from now on. Where it cannot, because the node stands on the errors
    /// themselves, its faults are counted only: each would make another.
    pub(crate) fn told_by(&self, graph: &UpdateGraph, node: Option<NodeId>) {
        let Some((_, errors)) = self.sink.home.get() else { return };
        if let (Some(child), Some(parent)) = (errors.node_id(), node)
            && graph.depend(child, parent).is_err()
        {
            self.sink.counted_only.store(true, Ordering::Release);
        }
    }

    /// Hands on what was noted, as of this step; whether there was anything.
    pub(crate) fn publish(&self, step: u64, graph: Option<(&UpdateGraph, Option<Step>)>) -> bool {
        let mut fresh = std::mem::take(&mut *lock(&self.noted));
        if fresh.is_empty() {
            return false;
        }
        if !self.sink.told.swap(true, Ordering::Relaxed) {
            let Fault { operation, row_key, message, .. } = &fresh[0];
            let text =
                format!("{operation}: row {row_key} was passed over: {message}; others like it are only in `errors`");
            events::note(Level::Warning, text);
        }
        fresh.iter_mut().for_each(|fault| fault.step = step);
        match (self.sink.home.get(), graph) {
            (Some((journal, _)), Some((graph, running))) => {
                journal.take(fresh, self.sink.counted_only.load(Ordering::Acquire));
                let journal = journal.clone();
                match running {
                    // Most are drained in this very step; what is not waits for the next one.
                    Some(_) => graph.after_step(Box::new(move |_| journal.wake())),
                    None => journal.wake(),
                }
            }
            _ => lock(&self.sink.kept).append(&mut fresh),
        }
        true
    }

    /// What went wrong in this one table.
    fn told_of(&self, table: &Table) -> Result<Table, Error> {
        let Some((_, errors)) = self.sink.home.get() else { return fixed(&lock(&self.sink.kept)) };
        let mine = Expr::call(Function::Equal, vec![Expr::column(ORIGIN), Expr::literal(self.sink.origin as i64)])?;
        let part = Part { filter: Filter::named("errors", errors, &[mine])?, of: table.clone() };
        shown(&attach(&part, std::slice::from_ref(errors))?)
    }
}

/// The errors of one table. They keep it, without standing on it: they can be read when it has failed.
struct Part {
    filter: Filter,
    of: Table,
}

struct Kept {
    _table: Table,
}

impl Settle for Kept {
    fn settle(&self) {}

    fn bytes(&self) -> u64 {
        0
    }
}

impl Operation for Part {
    fn request(&self) -> &Request {
        self.filter.request()
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let mut start = self.filter.init(inputs, at)?;
        start.owned.push(Arc::new(Kept { _table: self.of.clone() }));
        Ok(start)
    }
}

impl Table {
    /// The rows that this table could not compute: operation, column, row key, step, message. Live as it is; empty
    /// for a table that was not told to pass over errors.
    pub fn errors(&self) -> Result<Table, Error> {
        self.request().faults.as_ref().map_or_else(|| fixed(&[]), |faults| faults.told_of(self))
    }
}

/// The row errors of all tables of a graph, as a live table. Rows are kept while this table, or any table made with
/// `on_error`, is held.
pub fn errors(graph: &UpdateGraph) -> Result<Table, Error> {
    shown(&Journal::of(graph).table(graph)?)
}

/// Faults of a graph since its first table with `on_error` was made, those beyond the bound of the table included.
pub fn count(graph: &UpdateGraph) -> u64 {
    Journal::of(graph).total.load(Ordering::Relaxed)
}

fn shown(table: &Table) -> Result<Table, Error> {
    let names: Vec<(usize, String)> = SHOWN.iter().enumerate().map(|(at, name)| (at, (*name).to_owned())).collect();
    attach(&Project::of("errors", names)?, std::slice::from_ref(table))
}

fn schema() -> Arc<Schema> {
    let types = [DataType::Utf8, DataType::Utf8, DataType::Int64, DataType::Int64, DataType::Utf8];
    let fields = SHOWN.iter().zip(types).map(|(name, kind)| Field::new(*name, kind, true));
    Arc::new(Schema::new(fields.chain([Field::new(ORIGIN, DataType::Int64, true)]).collect::<Vec<_>>()))
}

fn batch(faults: &[Fault]) -> Result<RecordBatch, Error> {
    let texts = |of: fn(&Fault) -> Option<&str>| Arc::new(faults.iter().map(of).collect::<StringArray>()) as ArrayRef;
    let numbers = |of: fn(&Fault) -> u64| {
        Arc::new(faults.iter().map(|fault| of(fault) as i64).collect::<Int64Array>()) as ArrayRef
    };
    let columns = vec![
        texts(|fault| Some(&fault.operation)),
        texts(|fault| fault.column.as_deref()),
        numbers(|fault| fault.row_key),
        numbers(|fault| fault.step),
        texts(|fault| Some(&fault.message)),
        numbers(|fault| fault.origin),
    ];
    Ok(RecordBatch::try_new(schema(), columns)?)
}

fn fixed(faults: &[Fault]) -> Result<Table, Error> {
    let batch = batch(faults)?;
    let columns = batch.columns().iter().map(|column| vec![column.clone()]).collect();
    shown(&crate::sources::from_chunks(schema(), columns, faults.len() as u64)?)
}

/// The faults of one graph that are not in its table yet.
struct Journal {
    graph: WeakGraph,
    pending: Mutex<Vec<Fault>>,
    table: Mutex<WeakTable>,
    total: AtomicU64,
}

impl Journal {
    fn of(graph: &UpdateGraph) -> Arc<Journal> {
        companion::of(graph, || Journal {
            graph: graph.downgrade(),
            pending: Mutex::default(),
            table: Mutex::default(),
            total: AtomicU64::new(0),
        })
    }

    fn table(self: &Arc<Journal>, graph: &UpdateGraph) -> Result<Table, Error> {
        let mut known = lock(&self.table);
        if let Some(table) = known.upgrade() {
            return Ok(table);
        }
        let attributes = Attributes { append_only: true, add_only: true, flat: true, ..Attributes::default() };
        let live = |_: Arc<Queue<()>>, store| ErrorsLive { journal: self.clone(), store, next: 0 };
        let (table, _) = crate::sources::append::fed_table("errors", graph, schema(), attributes, live)?;
        *known = table.downgrade();
        Ok(table)
    }

    fn take(&self, fresh: Vec<Fault>, counted_only: bool) {
        self.total.fetch_add(fresh.len() as u64, Ordering::Relaxed);
        if !counted_only {
            lock(&self.pending).extend(fresh);
        }
    }

    /// What waits is work for the next step.
    fn wake(&self) {
        if lock(&self.pending).is_empty() {
            return;
        }
        let table = lock(&self.table).upgrade();
        if let (Some(graph), Some(node)) = (self.graph.upgrade(), table.and_then(|table| table.node_id())) {
            graph.activate(node);
        }
    }
}

struct ErrorsLive {
    journal: Arc<Journal>,
    store: Store,
    next: u64,
}

impl Live for ErrorsLive {
    fn update(&mut self, _: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let mut faults = std::mem::take(&mut *lock(&self.journal.pending));
        // Nodes ran in any order, and so did the parts of their work.
        faults.sort_unstable();
        faults.truncate(MOST_ROWS.saturating_sub(self.next) as usize);
        let mut writes = Writes::default();
        let chunks = conform("errors", &schema(), &batch(&faults)?)?;
        if let Some(keys) = next_keys(&mut self.next, &chunks)? {
            writes.added.push((keys, chunks));
        }
        self.store.write(step, writes)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
