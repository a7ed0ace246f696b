//! `input_table`: a source whose rows are addressed by row key; each call is an update in the engine's own form. For
//! tests and bridges.
//!
//!   apply(removed [1], shifted (2..3, −1), added {3: e}, modified {2: D})
//!   before   0 a    1 b    2 c    3 d
//!   after    0 a    1 c    2 D    3 e
//!
//! One call is applied in this order: remove (before-keys), shift, modify and add (after-keys). A call that breaks the
//! update law fails at once and applies nothing. Cost of an update: proportional to the call.

use std::sync::{Arc, Weak};

use arrow_array::{Array, RecordBatch};
use arrow_schema::Schema;
use graph::{Step, UpdateGraph};
use rowset::{Before, RowSet, Shift, Shifts};

use crate::driver::operation::Live;
use crate::error::Error;
use crate::sources::conform::{conform, conform_some};
use crate::sources::expected::{PendingRows, PendingView};
use crate::sources::fed::{Feeding, judged_table};
use crate::sources::feed::{Queue, Token, Validator, Weighed};
use crate::sources::journal::{FedKind, SourceStore};
use crate::sources::layered::{Given, layered};
use crate::sources::room::QueueCounts;
use crate::table::change::Change;
use crate::table::handle::{Table, WeakTable};
use crate::table::parts::Attributes;
use crate::table::rows::LiveRows;
use crate::table::store::Writes;
use crate::table::update::{ColumnSet, TableUpdate};

/// The arguments of `apply`.
#[derive(Default)]
pub struct Apply {
    /// New keys and their rows, in key order; all columns.
    pub added: Option<(RowSet, RecordBatch)>,
    /// Removed keys.
    pub removed: RowSet,
    /// Modified keys and their new cells, in key order; only the columns that change.
    pub modified: Option<(RowSet, RecordBatch)>,
    /// Ranges of keys that shift.
    pub shifted: Vec<Shift>,
}

/// A live table that is changed by row key.
#[derive(Clone)]
pub struct InputTable {
    table: Table,
    queue: Arc<Queue<Call>>,
}

/// An input table that its holder does not keep alive.
#[derive(Clone)]
pub struct WeakInputTable {
    table: WeakTable,
    queue: Weak<Queue<Call>>,
}

impl WeakInputTable {
    /// The table, while somebody else holds it.
    pub fn upgrade(&self) -> Option<InputTable> {
        Some(InputTable { table: self.table.upgrade()?, queue: self.queue.upgrade()? })
    }
}

/// The judge that validates calls by the update law.
struct Law {
    expected: PendingRows,
}

impl Validator<Call> for Law {
    fn take(&self, call: &mut Call) -> Result<(), Error> {
        let TableUpdate { removed, added, .. } = &call.given.update;
        call.given.update.shifts = self.expected.queue(removed, added, |sight| judge(sight, call))?;
        Ok(())
    }

    fn validate_in_transaction(&self, transaction: u64, call: &mut Call) -> Result<(), Error> {
        let TableUpdate { removed, added, .. } = &call.given.update;
        call.given.update.shifts =
            self.expected.validate_in_transaction(transaction, removed, added, |sight| judge(sight, call))?;
        Ok(())
    }

    fn adopt(&self, transaction: u64) {
        self.expected.adopt(transaction);
    }

    fn forget(&self, transaction: u64) {
        self.expected.forget(transaction);
    }

    fn seal(&self) {
        self.expected.seal();
    }
}

/// A validated call.
struct Call {
    given: Given,
    shifted: Vec<Shift>,
}

impl Weighed for Call {
    fn bytes(&self) -> u64 {
        let modified = self.given.modified.iter().map(|(_, chunk)| chunk.get_array_memory_size() as u64);
        self.given.added.bytes() + modified.sum::<u64>()
    }

    fn rows(&self) -> u64 {
        self.given.update.added.len() + self.given.update.modified.len()
    }
}

impl InputTable {
    /// An empty table of this schema in `graph`.
    pub fn new(graph: &UpdateGraph, schema: Arc<Schema>) -> Result<InputTable, Error> {
        InputTable::fed(graph, schema, Feeding::default())
    }

    /// As [`InputTable::new`], fed in this way.
    pub fn fed(graph: &UpdateGraph, schema: Arc<Schema>, feeding: Feeding) -> Result<InputTable, Error> {
        let law = |rows: &Arc<LiveRows>| -> Arc<dyn Validator<Call>> {
            Arc::new(Law { expected: PendingRows::new(rows.clone()) })
        };
        let (table, queue) = judged_table(
            "input_table",
            graph,
            schema,
            Attributes::default(),
            Some(FedKind::Input),
            feeding,
            law,
            |queue, store, _| Ok(InputLive { queue, store }),
        )?;
        Ok(InputTable { table, queue })
    }

    /// The live table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// A handle that does not keep it alive.
    pub fn downgrade(&self) -> WeakInputTable {
        WeakInputTable { table: self.table.downgrade(), queue: Arc::downgrade(&self.queue) }
    }

    /// Queues a change. It is validated at once, against the table as it will be after the calls already queued.
    pub fn apply(&self, apply: Apply) -> Result<Token, Error> {
        self.table.alive()?;
        let call = self.call(apply)?;
        self.queue.push("apply", call)
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

    fn call(&self, apply: Apply) -> Result<Call, Error> {
        let schema = self.table.schema();
        let (added, added_cells) = match apply.added {
            None => (RowSet::new(), Vec::new()),
            Some((keys, batch)) if keys.is_empty() && batch.num_rows() == 0 => (keys, Vec::new()),
            Some((keys, batch)) => {
                same_length("added", &keys, &batch)?;
                (keys, conform("apply", schema, &batch)?)
            }
        };
        let (modified, modified_cells) = match apply.modified {
            None => (RowSet::new(), Vec::new()),
            Some((keys, batch)) => {
                same_length("modified", &keys, &batch)?;
                (keys, conform_some("apply", schema, &batch)?)
            }
        };
        let (modified, modified_cells) = if modified.is_empty() || modified_cells.is_empty() {
            (RowSet::new(), Vec::new())
        } else {
            (modified, modified_cells)
        };
        let columns: ColumnSet = modified_cells.iter().map(|(column, _)| *column).collect();
        check_shifts(&apply.shifted)?;
        let update = TableUpdate { added, removed: Before(apply.removed), modified, columns, shifts: Shifts::none() };
        let given = Given { update, added: added_cells, modified: modified_cells };
        Ok(Call { given, shifted: apply.shifted })
    }
}

fn same_length(part: &str, keys: &RowSet, batch: &RecordBatch) -> Result<(), Error> {
    if keys.len() == batch.num_rows() as u64 {
        return Ok(());
    }
    Err(Error::schema("apply", format!("{part}: {} keys, but {} rows of data", keys.len(), batch.num_rows())))
}

/// Checks the rules for shifts that do not depend on the rows.
fn check_shifts(shifted: &[Shift]) -> Result<(), Error> {
    if let Some(bad) = shifted.iter().find(|shift| shift.first > shift.last || shift.delta == 0) {
        return Err(Error::data(
            "apply",
            format!("shift {bad:?}: it must be a range (first ≤ last) moved by something other than 0"),
        ));
    }
    Ok(())
}

/// Checks U1–U4 of a call against the rows it will be applied to. Returns its shifts in the form the law requires:
/// trimmed to the rows that move.
fn judge(sight: &PendingView, call: &Call) -> Result<Shifts, Error> {
    let TableUpdate { added, removed, modified, .. } = &call.given.update;
    let broken = |what: &str, keys: &RowSet| {
        if keys.is_empty() {
            return Ok(());
        }
        Err(Error::data("apply", format!("{what}: {keys} (nothing was applied)")))
    };
    broken("removed rows that are not there", &sight.missing(&removed.0))?;
    let (clash, unknown, shifts) = if call.shifted.is_empty() {
        // Without shifts only the changed rows are checked.
        let unknown = &sight.missing(modified) | &(modified & &removed.0);
        (&sight.present(added) - &removed.0, unknown, Shifts::none())
    } else {
        let survivors = Before(&sight.whole() - &removed.0);
        let shifts = Shifts::new(call.shifted.clone(), &survivors)
            .map_err(|error| Error::data("apply", format!("{error} (nothing was applied)")))?;
        let moved = shifts.forward(&survivors);
        (&moved & added, modified - &moved, shifts)
    };
    broken("added rows that are there already", &clash)?;
    broken("modified rows that are not there", &unknown)?;
    Ok(shifts)
}

struct InputLive {
    queue: Arc<Queue<Call>>,
    store: SourceStore,
}

impl Live for InputLive {
    fn update(&mut self, _: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let mut calls: Vec<Given> = self.queue.take()?.into_iter().map(|call| call.given).collect();
        let width = self.store.columns().len();
        if calls.len() > 1 {
            let writes = layered(self.store.rows().latest(), &calls, width)?;
            return self.store.write(step, writes, 0);
        }
        let Some(call) = calls.pop() else { return Ok(TableUpdate::default()) };
        let mut modified = vec![None; width];
        for (column, cells) in call.modified {
            modified[column] = Some((call.update.modified.clone(), cells));
        }
        let added = if call.update.added.is_empty() { Vec::new() } else { vec![(call.update.added, call.added)] };
        let TableUpdate { removed, shifts, .. } = call.update;
        self.store.write(step, Writes { removed, shifts, added, modified, ..Writes::default() }, 0)
    }
}
