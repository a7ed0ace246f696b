//! The rows that the operations of a graph passed over: one journal a graph, and the table that shows it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use graph::{NodeId, Step, UpdateGraph, WeakGraph};

use super::sink::{Home, RowError, RowErrors};
use crate::driver::operation::Live;
use crate::error::Error;
use crate::sources::conform::conform;
use crate::sources::fed::{Feeding, fed_table, next_keys};
use crate::sources::feed::Queue;
use crate::sources::journal::{Initial, SourceStore};
use crate::table::change::Change;
use crate::table::handle::{Table, WeakTable};
use crate::table::parts::Attributes;
use crate::table::store::Writes;
use crate::table::update::TableUpdate;
use crate::threads::lock;

/// The maximum number of rows in the table of errors; further row errors are only counted.
const MOST_ROWS: u64 = 1_000_000;
/// The hidden column that identifies the table of each row in the graph's one table of errors.
pub(crate) const ORIGIN: &str = "\u{0}origin";
/// The columns that users see.
pub(crate) const SHOWN: [&str; 5] = ["operation", "column", "row_key", "step", "message"];

impl RowErrors {
    /// Called when the table joins a graph; makes the table of errors exist from here on.
    pub(crate) fn live_in(&self, graph: &UpdateGraph) -> Result<(), Error> {
        if !self.is_live() {
            let journal = Journal::of(graph);
            let table = journal.table(graph)?;
            self.live_at(Arc::new(Shown { journal, table }));
        }
        Ok(())
    }
}

/// A journal, with its table, which lives as long as this.
struct Shown {
    journal: Arc<Journal>,
    table: Table,
}

impl Home for Shown {
    fn take(&self, fresh: Vec<RowError>, counted_only: bool) {
        self.journal.take(fresh, counted_only);
    }

    fn wake(&self) {
        self.journal.wake();
    }

    fn node_id(&self) -> Option<NodeId> {
        self.table.node_id()
    }
}

pub(crate) fn schema() -> Arc<Schema> {
    let types = [DataType::Utf8, DataType::Utf8, DataType::Int64, DataType::Int64, DataType::Utf8];
    let fields = SHOWN.iter().zip(types).map(|(name, kind)| Field::new(*name, kind, true));
    Arc::new(Schema::new(fields.chain([Field::new(ORIGIN, DataType::Int64, true)]).collect::<Vec<_>>()))
}

pub(crate) fn batch(row_errors: &[RowError]) -> Result<RecordBatch, Error> {
    let texts =
        |of: fn(&RowError) -> Option<&str>| Arc::new(row_errors.iter().map(of).collect::<StringArray>()) as ArrayRef;
    let numbers = |of: fn(&RowError) -> u64| {
        Arc::new(row_errors.iter().map(|fault| of(fault) as i64).collect::<Int64Array>()) as ArrayRef
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

/// The row errors of one graph that are not in its table of errors yet.
pub(crate) struct Journal {
    graph: WeakGraph,
    pending: Mutex<Vec<RowError>>,
    table: Mutex<WeakTable>,
    pub(crate) total: AtomicU64,
}

impl Journal {
    pub(crate) fn of(graph: &UpdateGraph) -> Arc<Journal> {
        graph.extension(|| Journal {
            graph: graph.downgrade(),
            pending: Mutex::default(),
            table: Mutex::default(),
            total: AtomicU64::new(0),
        })
    }

    pub(crate) fn table(self: &Arc<Journal>, graph: &UpdateGraph) -> Result<Table, Error> {
        let mut known = lock(&self.table);
        if let Some(table) = known.upgrade() {
            return Ok(table);
        }
        let attributes = Attributes { append_only: true, add_only: true, flat: true, ..Attributes::default() };
        let live = |_: Arc<Queue<()>>, store, _: &Initial| Ok(ErrorsLive { journal: self.clone(), store, next: 0 });
        let (table, _) = fed_table("errors", graph, schema(), attributes, None, Feeding::default(), live)?;
        *known = table.downgrade();
        Ok(table)
    }

    fn take(&self, fresh: Vec<RowError>, counted_only: bool) {
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
    store: SourceStore,
    next: u64,
}

impl Live for ErrorsLive {
    fn update(&mut self, _: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let mut row_errors = std::mem::take(&mut *lock(&self.journal.pending));
        // Sorted, because nodes and the parts of their work ran in any order.
        row_errors.sort_unstable();
        row_errors.truncate(MOST_ROWS.saturating_sub(self.next) as usize);
        let mut writes = Writes::default();
        let chunks = conform("errors", &schema(), &batch(&row_errors)?)?;
        if let Some(keys) = next_keys(&mut self.next, &chunks)? {
            writes.added.push((keys, chunks));
        }
        self.store.write(step, writes, self.next)
    }
}
