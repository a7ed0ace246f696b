//! Row errors: `on_error`, which makes an operation skip rows that it cannot compute, and the live table of these rows.
//!
//!   with_columns y = cast(x, Int64), on_error null    + 0 "7"    + 1 "seven"
//!   out                                               + 0 7      + 1 null
//!   errors                                            + 0 with_columns y 1 …
//!
//! An operation records row errors while it evaluates ([`Faults::note`]); its node publishes them after its update. The
//! graph's journal keeps them for the table of errors, which depends on all such nodes, and so shows the rows of step
//! *n* at *n*. Row errors of an initialisation, and of a node that joined while the step ran, appear one step later.

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

/// The maximum number of rows in the table of errors; further row errors are only counted.
const MOST_ROWS: u64 = 1_000_000;
/// The hidden column that identifies the table of each row in the graph's one table of errors.
const ORIGIN: &str = "\u{0}origin";
const SHOWN: [&str; 5] = ["operation", "column", "row_key", "step", "message"];

/// The policy for a row that an operation cannot compute.
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
    /// The name in requests and memo keys.
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

/// The recorder of one operation's row errors. Several operations may make one table: each has its own recorder, and
/// all report under that table.
#[derive(Clone)]
pub struct Faults {
    sink: Arc<Sink>,
    noted: Arc<Mutex<Vec<Fault>>>,
}

struct Sink {
    origin: u64,
    operation: String,
    /// For a live table: the graph's journal, and the table of errors, which this keeps alive.
    home: OnceLock<(Arc<Journal>, Table)>,
    /// For a static table: all row errors.
    kept: Mutex<Vec<Fault>>,
    counted_only: AtomicBool,
    /// Whether the first row error was logged.
    told: AtomicBool,
}

impl std::fmt::Debug for Faults {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Faults({})", self.sink.origin)
    }
}

impl Faults {
    /// A recorder for one request of this operation.
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

    /// A second recorder for the same table. It shares the destination, but buffers (and can discard) separately.
    pub(crate) fn beside(&self) -> Faults {
        Faults { sink: self.sink.clone(), noted: Arc::default() }
    }

    /// Records a cell without a value. `column` is none for a filter's predicate.
    pub fn note(&self, column: Option<&str>, row_key: u64, message: String) {
        let (origin, operation) = (self.sink.origin, self.sink.operation.clone());
        lock(&self.noted).push(Fault { step: 0, origin, column: column.map(Into::into), row_key, operation, message });
    }

    /// Discards what was recorded by work that failed or will be done again.
    pub(crate) fn forget(&self) {
        lock(&self.noted).clear();
    }

    /// Called when the table joins a graph; makes the table of errors exist from here on.
    pub(crate) fn live_in(&self, graph: &UpdateGraph) -> Result<(), Error> {
        if self.sink.home.get().is_none() {
            let journal = Journal::of(graph);
            let table = journal.table(graph)?;
            // A thread that was first has set an equal value.
            let _ = self.sink.home.set((journal, table));
        }
        Ok(())
    }

    /// Makes the table of errors depend on this node. If the node itself depends on the table of errors, this would be
    /// a loop: its row errors are then only counted, since each could cause another.
    pub(crate) fn told_by(&self, graph: &UpdateGraph, node: Option<NodeId>) {
        let Some((_, errors)) = self.sink.home.get() else { return };
        if let (Some(child), Some(parent)) = (errors.node_id(), node)
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
                    // Most row errors are drained in this very step; the others wait for the next one.
                    Some(_) => graph.after_step(Box::new(move |_| journal.wake())),
                    None => journal.wake(),
                }
            }
            _ => lock(&self.sink.kept).append(&mut fresh),
        }
        true
    }

    /// The row errors of this one table.
    fn told_of(&self, table: &Table) -> Result<Table, Error> {
        let Some((_, errors)) = self.sink.home.get() else { return fixed(&lock(&self.sink.kept)) };
        let mine = Expr::call(Function::Equal, vec![Expr::column(ORIGIN), Expr::literal(self.sink.origin as i64)])?;
        let part = Part { filter: Filter::named("errors", errors, &[mine])?, of: table.clone() };
        shown(&attach(&part, std::slice::from_ref(errors))?)
    }
}

/// The table of one table's row errors. It keeps that table alive but does not depend on it, so it can be read after a
/// failure.
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
    /// The rows that this table could not compute, with the columns operation, column, row key, step and message. Live
    /// if the table is live; empty for a table without `on_error`.
    pub fn errors(&self) -> Result<Table, Error> {
        self.request().faults.as_ref().map_or_else(|| fixed(&[]), |faults| faults.told_of(self))
    }
}

/// The row errors of all tables of a graph, as a live table. Rows are kept while this table, or any table made with
/// `on_error`, is held.
pub fn errors(graph: &UpdateGraph) -> Result<Table, Error> {
    shown(&Journal::of(graph).table(graph)?)
}

/// The number of row errors since the graph's first table with `on_error` was made, including those beyond the maximum
/// number of rows.
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

/// The row errors of one graph that are not in its table of errors yet.
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

    /// Activates the table of errors if row errors wait for the next step.
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
        // Sorted, because nodes and the parts of their work ran in any order.
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
