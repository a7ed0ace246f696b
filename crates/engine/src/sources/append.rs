//! `append_table`: rows are only added, at the end.
//!
//!   append {k: [1, 2]}    + 0 1    + 1 2
//!   append {k: [3]}       + 2 3
//!
//! Cost of an update: the rows appended are copied once into blocks; nothing else is touched.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use column::Chunk;
use graph::{Step, UpdateGraph};
use rowset::RowSet;

use crate::error::Error;
use crate::live_rows::LiveRows;
use crate::operation::{Live, Parts, Request, Start};
use crate::sources::conform::conform;
use crate::sources::feed::{AllFits, Judge, Queue, Token, Weighed};
use crate::store::{Store, Writes};
use crate::table::{Attributes, Table, canonical_schema};
use crate::table_node::TableNode;
use crate::update::TableUpdate;
use crate::view::Change;

/// A live table to which rows are appended.
#[derive(Clone)]
pub struct AppendTable {
    table: Table,
    queue: Arc<Queue<Vec<Chunk>>>,
}

impl AppendTable {
    /// An empty table of this schema in `graph`.
    pub fn new(graph: &UpdateGraph, schema: Arc<Schema>) -> Result<AppendTable, Error> {
        let attributes = Attributes { append_only: true, add_only: true, flat: true, ..Attributes::default() };
        let (table, queue) =
            fed_table("append_table", graph, schema, attributes, |queue, store| AppendLive { queue, store, next: 0 })?;
        Ok(AppendTable { table, queue })
    }

    /// The live table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Queues rows; they become visible together, in one step.
    pub fn append(&self, batch: &RecordBatch) -> Result<Token, Error> {
        self.table.alive()?;
        let chunks = conform("append", self.table.schema(), batch)?;
        self.queue.push("append", chunks)
    }

    /// Calls that wait for a step.
    pub fn waiting(&self) -> usize {
        self.queue.waiting()
    }

    /// The table fails with this error in the next step.
    pub fn fail(&self, error: Error) {
        self.queue.fail(error);
    }
}

/// A source with a store and a queue: the plumbing that append and blink tables share.
pub(crate) fn fed_table<C: Weighed + Send + 'static, L: Live + 'static>(
    name: &str,
    graph: &UpdateGraph,
    schema: Arc<Schema>,
    attributes: Attributes,
    live: impl FnOnce(Arc<Queue<C>>, Store) -> L,
) -> Result<(Table, Arc<Queue<C>>), Error> {
    judged_table(name, graph, schema, attributes, |_| Arc::new(AllFits), live)
}

/// As [`fed_table`], with a judge that decides which calls are accepted; it may read the table's rows.
pub(crate) fn judged_table<C: Weighed + Send + 'static, L: Live + 'static>(
    name: &str,
    graph: &UpdateGraph,
    schema: Arc<Schema>,
    attributes: Attributes,
    judge: impl FnOnce(&Arc<LiveRows>) -> Arc<dyn Judge<C>>,
    live: impl FnOnce(Arc<Queue<C>>, Store) -> L,
) -> Result<(Table, Arc<Queue<C>>), Error> {
    super::fixed::unique_names(name, &schema)?;
    let store = Store::new(&canonical_schema(&schema), graph.settled(), &crate::counters::storage(graph));
    let queue = Queue::new(graph, judge(store.rows()));
    let parts = Parts { rows: store.rows().clone(), columns: store.columns().sources(), schema, attributes };
    let owned = store.owned();
    let mut request = Request::new(name, serde_json::Value::Null);
    request.shareable = false;
    let start = Start { parts, live: Box::new(live(queue.clone(), store)), owned };
    let table = TableNode::source(&request, graph, start, Some(queue.clone()));
    queue.registered(table.node_id().expect("a source is registered as it is made"));
    Ok((table, queue))
}

struct AppendLive {
    queue: Arc<Queue<Vec<Chunk>>>,
    store: Store,
    next: u64,
}

impl Live for AppendLive {
    fn update(&mut self, _: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let mut writes = Writes::default();
        for chunks in self.queue.take()? {
            if let Some(keys) = next_keys(&mut self.next, &chunks)? {
                writes.added.push((keys, chunks));
            }
        }
        self.store.write(step, writes)
    }
}

/// The keys of rows that arrive at the end, none for no rows.
pub(crate) fn next_keys(next: &mut u64, chunks: &[Chunk]) -> Result<Option<RowSet>, Error> {
    let rows = chunks.first().map_or(0, |chunk| chunk.len()) as u64;
    if rows == 0 {
        return Ok(None);
    }
    let last = next.checked_add(rows - 1).filter(|last| *last <= rowset::MAX_KEY).ok_or_else(|| Error::Resource {
        operation: "append".into(),
        message: "the key space of the table is used up (2^63 rows were added)".into(),
    })?;
    let keys = RowSet::range(*next, last);
    *next = last + 1;
    Ok(Some(keys))
}
