//! `blink_table`: rows live for one step.
//!
//!   step 1, append {k: [1, 2]}    + 0 1    + 1 2
//!   step 2, append {k: [3]}       - 0 1    - 1 2    + 2 3
//!   step 3                        - 2 3
//!
//! Cost of an update: the rows that come and those that go.

use std::sync::{Arc, Weak};

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use column::Chunk;
use graph::{Step, UpdateGraph};
use rowset::Before;

use crate::driver::operation::Live;
use crate::error::Error;
use crate::sources::conform::conform;
use crate::sources::fed::{Feeding, fed_table, next_keys};
use crate::sources::feed::{Queue, Token};
use crate::sources::journal::{FedKind, SourceStore};
use crate::sources::room::QueueCounts;
use crate::table::change::Change;
use crate::table::handle::{Table, WeakTable};
use crate::table::parts::Attributes;
use crate::table::store::Writes;
use crate::table::update::TableUpdate;

/// A live table of which each row is there for one step.
#[derive(Clone)]
pub struct BlinkTable {
    table: Table,
    queue: Arc<Queue<Vec<Chunk>>>,
}

/// A blink table that its holder does not keep alive.
#[derive(Clone)]
pub struct WeakBlinkTable {
    table: WeakTable,
    queue: Weak<Queue<Vec<Chunk>>>,
}

impl WeakBlinkTable {
    /// The table, while somebody else holds it.
    pub fn upgrade(&self) -> Option<BlinkTable> {
        Some(BlinkTable { table: self.table.upgrade()?, queue: self.queue.upgrade()? })
    }
}

impl BlinkTable {
    /// An empty blink table of this schema in `graph`.
    pub fn new(graph: &UpdateGraph, schema: Arc<Schema>) -> Result<BlinkTable, Error> {
        BlinkTable::fed(graph, schema, Feeding::default())
    }

    /// As [`BlinkTable::new`], fed in this way.
    pub fn fed(graph: &UpdateGraph, schema: Arc<Schema>, feeding: Feeding) -> Result<BlinkTable, Error> {
        let attributes = Attributes { blink: true, ..Attributes::default() };
        let (table, queue) = fed_table(
            "blink_table",
            graph,
            schema,
            attributes,
            Some(FedKind::Blink),
            feeding,
            |queue, store, initial| Ok(BlinkLive { queue, store, next: initial.next }),
        )?;
        Ok(BlinkTable { table, queue })
    }

    /// The live table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// A handle that does not keep it alive.
    pub fn downgrade(&self) -> WeakBlinkTable {
        WeakBlinkTable { table: self.table.downgrade(), queue: Arc::downgrade(&self.queue) }
    }

    /// Queues rows; they are there in one step, together.
    pub fn append(&self, batch: &RecordBatch) -> Result<Token, Error> {
        self.table.alive()?;
        let chunks = conform("append", self.table.schema(), batch)?;
        self.queue.push("append", chunks)
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

struct BlinkLive {
    queue: Arc<Queue<Vec<Chunk>>>,
    store: SourceStore,
    next: u64,
}

impl Live for BlinkLive {
    fn update(&mut self, _: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let mut writes = Writes { removed: Before(self.store.rows().latest()), ..Writes::default() };
        for chunks in self.queue.take()? {
            if let Some(keys) = next_keys(&mut self.next, &chunks)? {
                writes.added.push((keys, chunks));
            }
        }
        let update = self.store.write(step, writes, self.next)?;
        if !update.added.is_empty() {
            // Rows that are there must go in the next step: that is pending work.
            self.queue.activate();
        }
        Ok(update)
    }
}
