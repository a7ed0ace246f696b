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

use crate::driver::operation::Live;
use crate::error::Error;
use crate::sources::conform::conform;
use crate::sources::fed::{Feeding, fed_table, next_keys};
use crate::sources::feed::{Queue, Token};
use crate::sources::journal::{FedKind, SourceStore};
use crate::sources::room::QueueCounts;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::Attributes;
use crate::table::store::Writes;
use crate::table::update::TableUpdate;

/// A live table to which rows are appended.
#[derive(Clone)]
pub struct AppendTable {
    table: Table,
    queue: Arc<Queue<Vec<Chunk>>>,
}

impl AppendTable {
    /// An empty table of this schema in `graph`.
    pub fn new(graph: &UpdateGraph, schema: Arc<Schema>) -> Result<AppendTable, Error> {
        AppendTable::fed(graph, schema, Feeding::default())
    }

    /// As [`AppendTable::new`], fed in this way.
    pub fn fed(graph: &UpdateGraph, schema: Arc<Schema>, feeding: Feeding) -> Result<AppendTable, Error> {
        let attributes = Attributes { append_only: true, add_only: true, flat: true, ..Attributes::default() };
        let (table, queue) = fed_table(
            "append_table",
            graph,
            schema,
            attributes,
            Some(FedKind::Append),
            feeding,
            |queue, store, initial| Ok(AppendLive { queue, store, next: initial.next }),
        )?;
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

    /// The number of calls that wait for a step.
    pub fn waiting(&self) -> usize {
        self.queue.waiting()
    }

    /// What its queue holds, and what became of calls for which it had no room.
    pub fn queue_counts(&self) -> QueueCounts {
        self.queue.counts()
    }

    /// Takes in no more calls: what is queued comes with the next step, and then the table stays as it is. A blink
    /// table's rows go.
    pub fn close(&self) {
        self.queue.close(&self.table);
    }

    /// Whether the table was closed.
    pub fn is_closed(&self) -> bool {
        self.queue.is_closed()
    }

    /// The table fails with this error in the next step.
    pub fn fail(&self, error: Error) {
        self.queue.fail(error);
    }
}

struct AppendLive {
    queue: Arc<Queue<Vec<Chunk>>>,
    store: SourceStore,
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
        self.store.write(step, writes, self.next)
    }
}
