//! The way back: what a folder says, as tables.
//!
//! The base gives rows, the records behind it change them in order. Changes that only add rows at the end are pieces more;
//! others run through an input table of a graph of their own, which judges each by the update law.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema};
use column::Chunk;
use engine::sources::{Apply, Feeding, Initial, InputTable};
use graph::{Settings, UpdateGraph};
use log::Log;
use rowset::RowSet;

use crate::catalog::{BEGIN, Begin, Catalog, DELTA, KEEP, Kept, Kind, LAST, PART, ROWS, STEP, SavedTable, TABLE};
use crate::cells::{Bytes, pieces};
use crate::change::{Change, Modified, joined};
use crate::error::Error;
use crate::sizes::PIECE_ROWS;

/// Changes that one step of the graph beside takes.
const CALLS: usize = 256;

/// A table as it was saved.
pub struct Saved {
    /// What it is.
    pub table: SavedTable,
    /// Its rows.
    pub initial: Arc<Initial>,
}

/// What a folder holds.
pub struct Contents {
    pub(crate) begin: Option<Begin>,
    /// The tables, in the order in which they were made.
    pub tables: Vec<Saved>,
    /// The plans of kept tables.
    pub kept: Vec<Kept>,
}

impl Contents {
    /// Whether it is the folder of a graph whose sources keep what they store.
    pub fn is_durable(&self) -> bool {
        self.begin.as_ref().is_some_and(|begin| begin.durable)
    }

    pub(crate) fn catalog(&self) -> Catalog {
        Catalog { tables: self.tables.iter().map(|saved| saved.table.clone()).collect(), kept: self.kept.clone() }
    }
}

/// What a folder holds. The folder is let go again.
pub fn restore(path: &Path) -> Result<Contents, Error> {
    restore_on(log::real(), path)
}

/// [`restore`] on a disk of the caller's.
pub fn restore_on(disk: Arc<dyn log::Disk>, path: &Path) -> Result<Contents, Error> {
    fold(&opened(disk, path)?, None, None)
}

/// The log of a folder that must be there.
fn opened(disk: Arc<dyn log::Disk>, path: &Path) -> Result<Log, Error> {
    if !disk.is_folder(path).unwrap_or(false) {
        return Err(Error::refused(path, "there is no such folder; a checkpoint, or Graph(durable=...), makes one"));
    }
    Ok(Log::open_on(disk, path)?)
}

/// What a log says: of one table alone, and up to a record, if these are asked for.
pub(crate) fn fold(log: &Log, only: Option<u64>, until: Option<u64>) -> Result<Contents, Error> {
    let path = log.path().to_path_buf();
    let mut fold =
        Fold { path: &path, begin: None, catalog: Catalog::default(), rows: HashMap::new(), parts: Vec::new(), only };
    for part in log.parts() {
        let log::Part { note, body } = part?;
        fold.take(&note, &body).map_err(|what| fold.wrong("its base", what))?;
    }
    for record in log.read() {
        let record = record?;
        if until.is_some_and(|until| record.number > until) {
            break;
        }
        let place = || format!("record {}", record.number);
        fold.take(&record.note, &record.body).map_err(|what| fold.wrong(&place(), what))?;
    }
    fold.end()
}

struct Fold<'a> {
    path: &'a Path,
    begin: Option<Begin>,
    catalog: Catalog,
    rows: HashMap<u64, Rows>,
    /// Records of a delta whose last one has not come yet. If its checkpoint failed, it never does.
    parts: Vec<Vec<u8>>,
    only: Option<u64>,
}

/// What is wrong with a record: in words, or an error of its own.
enum Wrong {
    Words(String),
    Own(Error),
}

impl From<String> for Wrong {
    fn from(words: String) -> Wrong {
        Wrong::Words(words)
    }
}

impl Fold<'_> {
    fn wrong(&self, place: &str, what: Wrong) -> Error {
        match what {
            Wrong::Own(error) => error,
            Wrong::Words(words) => Error::damaged(self.path, format!("{place} cannot be taken: {words}")),
        }
    }

    fn take(&mut self, note: &str, body: &[u8]) -> Result<(), Wrong> {
        if self.begin.is_none() && note != BEGIN {
            return Err(Wrong::Own(Error::refused(
                self.path,
                "it is a log, but none of a graph (persist= of a Spark stream makes such); give another folder",
            )));
        }
        match note {
            BEGIN => {
                self.begin = Some(Begin::read(self.path, body).map_err(Wrong::Own)?);
            }
            TABLE => {
                let (table, next) = SavedTable::read(body)?;
                // A base holds tables that records behind it tell of as well.
                if self.catalog.table(table.id).is_none() {
                    self.rows.insert(table.id, Rows { next, ..Rows::new(&table) });
                    self.catalog.tables.push(table);
                }
            }
            KEEP => self.catalog.keep(serde_json::from_slice(body).map_err(|error| error.to_string())?),
            ROWS => {
                let mut bytes = Bytes::new(body);
                let (id, keys) = (bytes.number()?, bytes.keys()?);
                let table = self.catalog.table(id).ok_or_else(|| format!("rows of table {id}, which is not named"))?;
                if self.only.is_none_or(|only| only == id) {
                    let added = pieces(&keys, &bytes.cells()?, &table.types())?;
                    if let Some(rows) = self.rows.get_mut(&id)
                        && rows.extend(added).is_err()
                    {
                        let what = format!("the rows of the table {:?} are not in order of their keys", table.name);
                        return Err(Wrong::Words(what));
                    }
                }
            }
            STEP | DELTA => self.change(body)?,
            PART => {
                let mut bytes = Bytes::new(body);
                if bytes.number()? == 0 {
                    self.parts.clear();
                }
                self.parts.push(bytes.rest().to_vec());
            }
            LAST => {
                let mut bytes = Bytes::new(body);
                let (before, parts) = (bytes.number()?, std::mem::take(&mut self.parts));
                if before != parts.len() as u64 {
                    return Err(Wrong::Words(format!("{} records of a checkpoint that has {before}", parts.len())));
                }
                parts.iter().try_for_each(|part| self.change(part))?;
                self.change(bytes.rest())?;
            }
            other => return Err(Wrong::Words(format!("{other:?} is no kind of record"))),
        }
        Ok(())
    }

    fn change(&mut self, body: &[u8]) -> Result<(), Wrong> {
        let types = |id: u64| self.catalog.table(id).map(SavedTable::types);
        for change in Change::all(body, types)? {
            let wanted = self.only.is_none_or(|only| only == change.table);
            if let Some(rows) = self.rows.get_mut(&change.table).filter(|_| wanted) {
                rows.take(change)?;
            }
        }
        Ok(())
    }

    fn end(mut self) -> Result<Contents, Error> {
        let mut tables = Vec::with_capacity(self.catalog.tables.len());
        for table in std::mem::take(&mut self.catalog.tables) {
            if self.only.is_some_and(|only| only != table.id) {
                continue;
            }
            let rows = self.rows.remove(&table.id).unwrap_or_else(|| Rows::new(&table));
            let name = table.name.clone();
            let appended = table.kind == Kind::Append;
            let initial = rows.end().map(|initial| match appended {
                // Its rows have no gaps.
                true => Initial {
                    next: initial.rows.last().and_then(|(keys, _)| keys.last()).map_or(0, |last| last + 1),
                    ..initial
                },
                false => initial,
            });
            let initial = initial.map_err(|what| Error::damaged(self.path, format!("the table {name:?}: {what}")))?;
            tables.push(Saved { table, initial: Arc::new(initial) });
        }
        Ok(Contents { begin: self.begin, tables, kept: self.catalog.kept })
    }
}

/// The rows of one table while they are gathered.
struct Rows {
    schema: Arc<Schema>,
    blink: bool,
    pieces: Vec<(RowSet, Vec<Chunk>)>,
    next: u64,
    beside: Option<Beside>,
}

/// The table in a graph of its own.
struct Beside {
    graph: UpdateGraph,
    table: InputTable,
    calls: usize,
}

impl Rows {
    fn new(table: &SavedTable) -> Rows {
        let blink = table.kind == Kind::Blink;
        Rows { schema: table.schema.clone(), blink, pieces: Vec::new(), next: 0, beside: None }
    }

    /// Puts pieces behind those there are, or gives them back: they do not follow them. Rows of a blink table are gone with their step.
    fn extend(&mut self, added: Vec<(RowSet, Vec<Chunk>)>) -> Result<(), Vec<(RowSet, Vec<Chunk>)>> {
        let mut end = self.pieces.last().and_then(|(keys, _)| keys.last());
        let follows = |(keys, _): &(RowSet, Vec<Chunk>)| {
            let follows = end.is_none_or(|end| keys.first().is_none_or(|first| first > end));
            end = keys.last().or(end);
            follows
        };
        if !added.iter().all(follows) {
            return Err(added);
        }
        if !self.blink {
            self.pieces.extend(added);
        }
        Ok(())
    }

    fn take(&mut self, mut change: Change) -> Result<(), String> {
        self.next = change.next;
        if self.blink {
            return Ok(());
        }
        if self.beside.is_none() && change.is_add_only() {
            let added = std::mem::take(&mut change.added);
            let Err(added) = self.extend(added) else { return Ok(()) };
            change.added = added;
        }
        let text = |error: engine::Error| error.to_string();
        if self.beside.is_none() {
            let graph = UpdateGraph::new(Settings::default());
            let initial = Initial { rows: joined(&std::mem::take(&mut self.pieces))?, next: 0 };
            let feeding = Feeding { initial: Some(Arc::new(initial)), ..Feeding::default() };
            let table = InputTable::fed(&graph, self.schema.clone(), feeding).map_err(text)?;
            self.beside = Some(Beside { graph, table, calls: 0 });
        }
        let Some(beside) = &mut self.beside else { return Ok(()) };
        beside.apply(&self.schema, change)
    }

    fn end(mut self) -> Result<Initial, String> {
        let Some(mut beside) = self.beside.take() else {
            return Ok(Initial { rows: joined(&self.pieces)?, next: self.next });
        };
        beside.step()?;
        let text = |error: engine::Error| error.to_string();
        let view = beside.table.table().view().map_err(text)?;
        let columns: Vec<usize> = (0..view.width()).collect();
        let (mut rows, mut from) = (Vec::new(), 0);
        while from < view.rows().len() {
            let keys = view.rows().slice(from, PIECE_ROWS.rows().max(1));
            from += keys.len();
            let cells = view.read_columns(&columns, &keys).map_err(text)?;
            rows.push((keys, cells));
        }
        Ok(Initial { rows, next: self.next })
    }
}

impl Beside {
    fn step(&mut self) -> Result<(), String> {
        self.calls = 0;
        self.graph.step().map_err(|error| error.to_string())?;
        match self.table.table().failure() {
            Some(failure) => Err(failure.to_string()),
            None => Ok(()),
        }
    }

    fn apply(&mut self, schema: &Schema, change: Change) -> Result<(), String> {
        let mut modified = change.modified.into_iter();
        let mut added = None;
        for (keys, cells) in change.added {
            added = Some(match added.take() {
                None => (keys, cells),
                Some((known, before)) => beneath((known, before), (keys, cells))?,
            });
        }
        let all: Vec<usize> = (0..schema.fields().len()).collect();
        let rows = added.map(|(keys, cells)| Ok::<_, String>((keys.clone(), batch(schema, &all, &keys, cells)?)));
        let first = modified.next().map(|cells| some(schema, cells)).transpose()?;
        let call = Apply { added: rows.transpose()?, removed: change.removed, modified: first, shifted: change.shifts };
        self.call(call)?;
        for more in modified {
            self.call(Apply { modified: Some(some(schema, more)?), ..Apply::default() })?;
        }
        Ok(())
    }

    fn call(&mut self, call: Apply) -> Result<(), String> {
        self.table.apply(call).map_err(|error| error.to_string())?;
        self.calls += 1;
        if self.calls >= CALLS { self.step() } else { Ok(()) }
    }
}

/// Two pieces as one, in key order.
fn beneath(
    (known, before): (RowSet, Vec<Chunk>),
    (keys, cells): (RowSet, Vec<Chunk>),
) -> Result<(RowSet, Vec<Chunk>), String> {
    let ordered = known.last().is_none_or(|last| keys.first().is_none_or(|first| first > last));
    if !ordered {
        return Err("rows that are added are out of order".to_owned());
    }
    let one = |(before, more): (&Chunk, &Chunk)| {
        arrow_select::concat::concat(&[before.as_ref(), more.as_ref()]).map_err(|error| error.to_string())
    };
    Ok((&known | &keys, before.iter().zip(&cells).map(one).collect::<Result<_, _>>()?))
}

fn some(schema: &Schema, Modified { rows, columns, cells }: Modified) -> Result<(RowSet, RecordBatch), String> {
    let batch = batch(schema, &columns, &rows, cells)?;
    Ok((rows, batch))
}

fn batch(schema: &Schema, columns: &[usize], rows: &RowSet, cells: Vec<Chunk>) -> Result<RecordBatch, String> {
    let field = |(column, cells): (&usize, &Chunk)| -> Field {
        let declared = schema.field(*column);
        let stored: DataType = cells.data_type().clone();
        let field = Field::new(declared.name(), stored, true);
        match declared.dict_is_ordered() {
            Some(true) => field.with_dict_is_ordered(true).with_metadata(declared.metadata().clone()),
            _ => field,
        }
    };
    let fields: Vec<Field> = columns.iter().zip(&cells).map(field).collect();
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(rows.len() as usize));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), cells, &options).map_err(|error| error.to_string())
}
