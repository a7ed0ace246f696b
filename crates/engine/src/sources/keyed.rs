//! `keyed_table`: rows addressed by the value of their key columns; upsert and delete.
//!
//!   upsert {k: [A, B], v: [1, 2]}    + 0 A 1    + 1 B 2
//!   upsert {k: [B, C], v: [3, 4]}    ~ 1 B 3    + 2 C 4
//!   delete [A]                       - 0
//!   upsert {k: [B], v: [3]}          nothing: equal data is no update
//!
//! A new key is an added row at the end. The last duplicate inside one call wins. A null key is a
//! key. Deleted and upserted again within one step, a key keeps its row.
//! Cost of an update: one probe a row given, one comparison a cell of a known row.

use std::sync::Arc;

use arrow_array::{Array, RecordBatch, UInt64Array};
use arrow_schema::Schema;
use column::kernels::{RadixEntry as Entry, radix_sort};
use column::keys::{KeyTable, NO_SLOT};
use column::{Chunk, NO_ROW};
use graph::{Step, UpdateGraph};
use rowset::{Before, RowSet};

use crate::driver::operation::Live;
use crate::error::Error;
use crate::sources::conform::{conform, conform_some};
use crate::sources::fed::{Feeding, fed_table};
use crate::sources::feed::{Queue, Token, Weighed};
use crate::sources::journal::{FedKind, Initial, SourceStore};
use crate::sources::room::QueueCounts;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::Attributes;
use crate::table::store::{Difference, Writes};
use crate::table::update::TableUpdate;

/// A live table of one row a key.
#[derive(Clone)]
pub struct KeyedTable {
    table: Table,
    key: Vec<usize>,
    queue: Arc<Queue<Call>>,
}

enum Call {
    Upsert(Vec<Chunk>),
    Delete(Vec<Chunk>),
    /// All that is present goes, but for what this call brings: the difference by key.
    Replace(Vec<Chunk>),
}

impl Weighed for Call {
    fn bytes(&self) -> u64 {
        match self {
            Call::Upsert(chunks) | Call::Delete(chunks) | Call::Replace(chunks) => chunks.bytes(),
        }
    }

    fn rows(&self) -> u64 {
        match self {
            Call::Upsert(chunks) | Call::Delete(chunks) | Call::Replace(chunks) => chunks.rows(),
        }
    }

    fn brings(&self) -> bool {
        !matches!(self, Call::Delete(_))
    }
}

impl KeyedTable {
    /// An empty table of this schema in `graph`, keyed by these columns.
    pub fn new(graph: &UpdateGraph, schema: Arc<Schema>, key: &[String]) -> Result<KeyedTable, Error> {
        KeyedTable::fed(graph, schema, key, Feeding::default())
    }

    /// As [`KeyedTable::new`], fed in this way.
    pub fn fed(
        graph: &UpdateGraph,
        schema: Arc<Schema>,
        key: &[String],
        feeding: Feeding,
    ) -> Result<KeyedTable, Error> {
        if key.is_empty() {
            return Err(Error::schema("keyed_table", "at least one key column is needed"));
        }
        let mut columns = Vec::with_capacity(key.len());
        for name in key {
            let index = schema.index_of(name).map_err(|_| {
                Error::no_column("keyed_table", name, schema.fields().iter().map(|field| field.name().as_str()))
            })?;
            if !column::types::can_be_key(schema.field(index).data_type()) {
                return Err(Error::unkeyable("keyed_table", name, schema.field(index).data_type()));
            }
            columns.push(index);
        }
        let attributes = Attributes { key: key.to_vec(), ..Attributes::default() };
        let (by, kind) = (columns.clone(), FedKind::Keyed(key.to_vec()));
        let (table, queue) = fed_table(
            "keyed_table",
            graph,
            schema.clone(),
            attributes,
            Some(kind),
            feeding,
            |queue, store, initial| {
                let types: Vec<_> =
                    by.iter().map(|index| column::types::canonical(schema.field(*index).data_type())).collect();
                let mut live = KeyedLive {
                    queue,
                    store,
                    by,
                    keys: KeyTable::new(&types),
                    rows: Vec::new(),
                    fates: Vec::new(),
                    touched: Vec::new(),
                    next: initial.next,
                };
                live.begin(initial)?;
                Ok(live)
            },
        )?;
        Ok(KeyedTable { table, key: columns, queue })
    }

    /// The live table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Queues rows: new keys are added, known ones modified where they differ.
    pub fn upsert(&self, batch: &RecordBatch) -> Result<Token, Error> {
        self.table.alive()?;
        let chunks = conform("upsert", self.table.schema(), batch)?;
        self.queue.push("upsert", Call::Upsert(chunks))
    }

    /// Queues rows that are to be all there is: the difference by key is applied.
    pub fn replace(&self, batch: &RecordBatch) -> Result<Token, Error> {
        self.table.alive()?;
        let chunks = conform("replace", self.table.schema(), batch)?;
        self.queue.push("replace", Call::Replace(chunks))
    }

    /// Queues the removal of keys, given by the key columns; unknown keys are ignored.
    pub fn delete(&self, keys: &RecordBatch) -> Result<Token, Error> {
        self.table.alive()?;
        let given = conform_some("delete", self.table.schema(), keys)?;
        let mut chunks = Vec::with_capacity(self.key.len());
        for index in &self.key {
            let cells = given.iter().find(|(column, _)| column == index);
            let name = self.table.schema().field(*index).name();
            let (_, cells) = cells.ok_or_else(|| Error::schema("delete", format!("key column {name:?} is missing")))?;
            chunks.push(cells.clone());
        }
        self.queue.push("delete", Call::Delete(chunks))
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

struct KeyedLive {
    queue: Arc<Queue<Call>>,
    store: SourceStore,
    by: Vec<usize>,
    keys: KeyTable,
    /// Row key of each slot that has a row, else `NO_ROW`.
    rows: Vec<u64>,
    /// What the running step does to each slot; all untouched between steps.
    fates: Vec<Fate>,
    touched: Vec<u32>,
    next: u64,
}

/// What the step does to one slot.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Untouched,
    /// The last cells given: call and row in it.
    Given(u32, u32),
    Gone,
}

impl Live for KeyedLive {
    fn update(&mut self, _: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let mut data: Vec<Vec<Chunk>> = Vec::new();
        let mut slots = Vec::new();
        for call in self.queue.take()? {
            let (chunks, replace) = match call {
                Call::Delete(keys) => {
                    self.keys.find(&keys, &mut slots);
                    slots.iter().filter(|slot| **slot != NO_SLOT).for_each(|slot| self.decide(*slot, Fate::Gone));
                    continue;
                }
                Call::Upsert(chunks) => (chunks, false),
                Call::Replace(chunks) => (chunks, true),
            };
            if replace {
                let present = (0..self.rows.len() as u32).filter(|slot| self.rows[*slot as usize] != NO_ROW);
                let all: Vec<u32> = present.chain(self.touched.iter().copied()).collect();
                all.into_iter().for_each(|slot| self.decide(slot, Fate::Gone));
            }
            let keys: Vec<Chunk> = self.by.iter().map(|index| chunks[*index].clone()).collect();
            self.keys.insert(&keys, &mut slots, &mut Vec::new())?;
            self.rows.resize(self.keys.capacity_slots().max(self.rows.len()), NO_ROW);
            self.fates.resize(self.rows.len(), Fate::Untouched);
            let call = data.len() as u32;
            slots.iter().enumerate().for_each(|(row, slot)| self.decide(*slot, Fate::Given(call, row as u32)));
            data.push(chunks);
        }
        self.commit(step, &data)
    }
}

impl KeyedLive {
    /// Finds the keys of the rows that the table begins with.
    fn begin(&mut self, initial: &Initial) -> Result<(), Error> {
        let mut slots = Vec::new();
        for (rows, cells) in &initial.rows {
            let keys: Vec<Chunk> = self.by.iter().map(|index| cells[*index].clone()).collect();
            self.keys.insert(&keys, &mut slots, &mut Vec::new())?;
            self.rows.resize(self.keys.capacity_slots().max(self.rows.len()), NO_ROW);
            for (slot, row) in slots.iter().zip(rows.iter()) {
                if std::mem::replace(&mut self.rows[*slot as usize], row) != NO_ROW {
                    return Err(Error::data("keyed_table", "two of the rows that it begins with have one key"));
                }
            }
            slots.clear();
        }
        self.fates.resize(self.rows.len(), Fate::Untouched);
        Ok(())
    }

    fn decide(&mut self, slot: u32, fate: Fate) {
        let now = &mut self.fates[slot as usize];
        if *now == Fate::Untouched {
            self.touched.push(slot);
        }
        *now = fate;
    }

    /// Turns the fates of the step into writes. New keys take their rows in order of arrival.
    fn commit(&mut self, step: Step, data: &[Vec<Chunk>]) -> Result<TableUpdate, Error> {
        let first = self.next;
        let mut added: Vec<(u32, u32)> = Vec::new();
        let mut gone: Vec<u64> = Vec::new();
        let mut known: Vec<(u64, (u32, u32))> = Vec::new();
        for slot in std::mem::take(&mut self.touched) {
            let row = self.rows[slot as usize];
            match std::mem::replace(&mut self.fates[slot as usize], Fate::Untouched) {
                Fate::Given(call, at) if row == NO_ROW => {
                    self.rows[slot as usize] = self.next;
                    self.next += 1;
                    added.push((call, at));
                }
                Fate::Given(call, at) => known.push((row, (call, at))),
                Fate::Gone | Fate::Untouched => {
                    if row != NO_ROW {
                        gone.push(row);
                    }
                    self.rows[slot as usize] = NO_ROW;
                    self.keys.free(slot);
                }
            }
        }
        let mut writes = Writes { removed: Before(RowSet::from_keys(gone)), ..Writes::default() };
        if !added.is_empty() {
            let cells: Result<Vec<Chunk>, Error> =
                (0..self.store.columns().len()).map(|column| pick(data, column, &added)).collect();
            writes.added.push((RowSet::range(first, self.next - 1), cells?));
        }
        if !known.is_empty() {
            writes.differing(self.differences(step, &known, data)?);
        }
        self.store.write(step, writes, self.next)
    }

    /// For each column the known rows whose cell differs from what is stored.
    fn differences(
        &self,
        step: Step,
        known: &[(u64, (u32, u32))],
        data: &[Vec<Chunk>],
    ) -> Result<Vec<Option<Difference>>, Error> {
        let entry = |(at, (row, _)): (usize, &(u64, _))| Entry { word: *row, position: at as u32 };
        let mut order: Vec<Entry> = known.iter().enumerate().map(entry).collect();
        radix_sort(&mut order);
        let keys: Vec<u64> = order.iter().map(|entry| entry.word).collect();
        let places: Vec<(u32, u32)> = order.iter().map(|entry| known[entry.position as usize].1).collect();
        let rows = RowSet::from_sorted_keys(&keys);
        let width = self.store.columns().len();
        let differing = |column: usize| match self.by.contains(&column) {
            true => Ok(None),
            false => self.store.differing(step, column, &rows, &pick(data, column, &places)?),
        };
        (0..width).map(differing).collect()
    }
}

/// The cells of one column at these places of the step's calls.
fn pick(data: &[Vec<Chunk>], column: usize, places: &[(u32, u32)]) -> Result<Chunk, Error> {
    if let [only] = data {
        let positions = UInt64Array::from_iter_values(places.iter().map(|(_, row)| u64::from(*row)));
        if positions.len() == only[column].len()
            && positions.values().iter().enumerate().all(|(at, row)| at as u64 == *row)
        {
            return Ok(only[column].clone());
        }
        return Ok(arrow_select::take::take(&only[column], &positions, None)?);
    }
    let arrays: Vec<&dyn Array> = data.iter().map(|chunks| chunks[column].as_ref()).collect();
    let places: Vec<(usize, usize)> = places.iter().map(|(call, row)| (*call as usize, *row as usize)).collect();
    Ok(arrow_select::interleave::interleave(&arrays, &places)?)
}
