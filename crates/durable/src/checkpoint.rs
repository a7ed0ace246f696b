//! Checkpoints: what changed since the last one as one record, or all tables anew, while cycles go on.
//!
//!   log     [begin][table][step 1][step 2][delta]  ...           a record a step, and a record a checkpoint
//!   base    [begin][table][rows][rows]...[table][rows]...         all tables as they were after one step
//!
//! A base is written beside the log, out of a snapshot; records that come meanwhile stay behind it. When it is whole it takes
//! the place of the records whose steps it holds. Cost of a checkpoint: the rows that changed since the last one, and nothing
//! for tables with a journal, whose changes are in the log; of a base: all rows, paid by as many bytes of log.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;

use engine::sources::{FedTable, Initial, fed_tables};
use engine::{Merged, Table, TableUpdate, WeakTable};
use graph::{UpdateGraph, WeakGraph, lock};
use log::{Base, Log};
use rowset::RowSet;

use crate::catalog::{BEGIN, Begin, Catalog, DELTA, KEEP, Kept, Kind, LAST, PART, ROWS, SavedTable, TABLE};
use crate::cells::{Draft, put_cells, put_keys, put_number};
use crate::change::{Change, Modified};
use crate::error::Error;
use crate::fold::fold;
use crate::sizes::{DELTA_ROWS, PART_BYTES, PIECE_ROWS};
use crate::tracker::{Hold, Tracker, WeakFollower};
use crate::writer::{Shared, append};

/// A log of fewer bytes is not worth a base.
const LEAST_BYTES: u64 = 1 << 20;

/// What a checkpoint saves besides the sources of the graph.
#[derive(Default)]
pub struct Asked {
    /// Sources to save, where it is not all of them.
    pub only: Option<Vec<Table>>,
    /// Tables that never change and that kept plans stand on, by name.
    pub fixed: Vec<(String, Table)>,
    /// Plans of kept tables.
    pub kept: Vec<Kept>,
}

/// What a checkpoint did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The step whose rows it holds.
    pub step: u64,
    /// How many tables.
    pub tables: usize,
    /// Bytes that it wrote.
    pub bytes: u64,
    /// Whether it wrote all tables anew.
    pub whole: bool,
}

/// A folder of checkpoints: what is in it, and what changed since.
pub(crate) struct Folder {
    path: PathBuf,
    begin: Begin,
    catalog: Mutex<Catalog>,
    /// One checkpoint at a time; tables without a journal, by identity.
    tracked: Mutex<HashMap<usize, Tracked>>,
    /// Tables whose rows the folder does not have, though it names them: a checkpoint is under way, or failed.
    without_rows: Mutex<HashMap<u64, Known>>,
    /// Whether a base failed as it was given its name: a restart may find it, and what changed since an older one must not be
    /// read on top of it. The next checkpoint is a base.
    may_have_base: AtomicBool,
    /// A checkpoint that the log asked for.
    aside: Mutex<Option<JoinHandle<()>>>,
}

struct Tracked {
    id: u64,
    table: WeakTable,
    tracker: Arc<Tracker>,
}

/// One table of a checkpoint.
struct Taken {
    saved: SavedTable,
    copy: Table,
    next: u64,
    tracker: Option<Hold>,
    /// What the folder has of its rows.
    known: Known,
    /// Which table goes on; none of one that never changes. The table itself is its user's to let go.
    source: Option<usize>,
}

/// The tables of a base go on while their snapshot is held, and copy the blocks that they write to. Appended rows touch none
/// that is held but the last.
struct Copies {
    graph: WeakGraph,
    tables: Vec<usize>,
}

impl Copies {
    fn of(graph: WeakGraph, taken: &[Taken]) -> Copies {
        let is_edited = |taken: &&Taken| matches!(taken.saved.kind, Kind::Keyed(_) | Kind::Input);
        Copies { graph, tables: taken.iter().filter(is_edited).filter_map(|taken| taken.source).collect() }
    }

    fn each(&self, run: impl Fn(&FedTable)) {
        if let Some(graph) = self.graph.upgrade().filter(|_| !self.tables.is_empty()) {
            let sources = fed_tables(&graph);
            sources.iter().filter(|source| self.tables.contains(&source.table.identity())).for_each(run);
        }
    }

    fn expect(&self) {
        self.each(FedTable::expect_copies);
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        self.each(FedTable::expect_no_copies);
    }
}

/// What a folder has of a table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    /// Its rows as of the last checkpoint, or all that its journal was told.
    Rows,
    /// Nothing yet.
    Nothing,
    /// The rows of another table, whose name it has.
    Others,
}

fn words(path: &Path) -> impl Fn(String) -> Error {
    let path = path.to_path_buf();
    move |what| Error::refused(&path, format!("cannot be written: {what}"))
}

impl Folder {
    pub(crate) fn new(path: &Path, begin: Begin, catalog: Catalog) -> Folder {
        Folder {
            path: path.to_path_buf(),
            begin,
            catalog: Mutex::new(catalog),
            tracked: Mutex::default(),
            without_rows: Mutex::default(),
            may_have_base: AtomicBool::new(false),
            aside: Mutex::default(),
        }
    }

    pub(crate) fn catalog(&self) -> MutexGuard<'_, Catalog> {
        lock(&self.catalog)
    }

    pub(crate) fn note(&self, table: SavedTable) {
        self.catalog().note(table);
    }

    pub(crate) fn keep(&self, kept: Kept) {
        self.catalog().keep(kept);
    }

    fn without_rows(&self) -> MutexGuard<'_, HashMap<u64, Known>> {
        lock(&self.without_rows)
    }

    /// What the folder has of a table that it names.
    fn known(&self, id: u64) -> Known {
        self.without_rows().get(&id).copied().unwrap_or(Known::Rows)
    }

    fn one_at_a_time(&self) -> MutexGuard<'_, HashMap<usize, Tracked>> {
        lock(&self.tracked)
    }

    /// Writes all tables anew on a thread of its own, unless one is at it.
    pub(crate) fn write_anew_aside(self: &Arc<Self>, shared: &Arc<Shared>) {
        let mut aside = lock(&self.aside);
        if aside.as_ref().is_some_and(|thread| !thread.is_finished()) {
            return;
        }
        let (folder, shared, scope) = (self.clone(), shared.clone(), limits::Scope::current());
        let work = move || {
            let tracked = folder.one_at_a_time();
            if let Err(error) = folder.through(&shared, tracked, &Asked::default(), true) {
                let text = format!(
                    "the log of {} grows, for its tables could not be written anew: {error}",
                    folder.path.display()
                );
                engine::observe::events::note(engine::observe::events::Level::Warning, text);
            }
        };
        let made = graph::env::spawn("tickframe-checkpoint".into(), move || scope.enter(work));
        *aside = made.ok();
    }

    pub(crate) fn wait_aside(&self) {
        let thread = lock(&self.aside).take();
        // The thread itself may have held the graph last. Its error was told as it happened.
        let own = std::thread::current().id();
        thread.filter(|thread| thread.thread().id() != own).map(JoinHandle::join).map(drop).unwrap_or_default();
    }

    /// A checkpoint of the graph whose folder this is.
    pub(crate) fn checkpoint_durable(&self, shared: &Arc<Shared>, asked: &Asked) -> Result<Report, Error> {
        let tracked = self.one_at_a_time();
        self.through(shared, tracked, asked, false)
    }

    fn through(
        &self,
        shared: &Arc<Shared>,
        mut tracked: MutexGuard<'_, HashMap<usize, Tracked>>,
        asked: &Asked,
        anew: bool,
    ) -> Result<Report, Error> {
        let Some(graph) = shared.graph.upgrade() else { return Ok(Report::default()) };
        let (moment, taken) = self.take(&graph, &mut tracked, asked, &|body| shared.append(TABLE, &[body]))?;
        // Whoever has the graph may let it go meanwhile.
        drop(graph);
        let kept = shared.wait(moment, None, &mut || engine::interrupt::check().is_ok());
        kept.map_err(Error::engine("checkpoint"))?;
        let before = self.catalog().kept.clone();
        for kept in asked.kept.iter().filter(|kept| !before.contains(kept)) {
            let body = serde_json::to_vec(kept).unwrap_or_default();
            shared.append(KEEP, &[&body])?;
            self.keep(kept.clone());
        }
        let (base, changes) = shared.with_log(|log| Ok((log.base_bytes(), log.change_bytes())))?;
        let replaced = taken.iter().any(|taken| taken.known == Known::Others);
        let unsure = self.may_have_base.load(Ordering::Acquire);
        let grown = anew || replaced || unsure || changes >= base.max(LEAST_BYTES);
        let changed = if grown { None } else { self.changed(&taken, moment)? };
        let report = Report { step: moment, tables: taken.len(), whole: changed.is_none(), ..Report::default() };
        let bytes = if let Some(changed) = changed {
            write_delta(&taken, &changed, &|note, body| shared.append(note, body))?
        } else {
            let (number, mut base) = shared.with_log(|log| {
                let number = shared.record_at(moment, log.last());
                Ok((number, log.begin_base(number)?))
            })?;
            // A source that is made meanwhile may have stored rows behind the base already.
            let again = |id: u64| shared.with_log(|log| fold(log, Some(id), number));
            self.write_base(&mut base, &taken, &Copies::of(shared.graph.clone(), &taken), &again)?;
            let bytes = base.bytes();
            self.may_have_base.store(true, Ordering::Release);
            let finished = base.finish()?;
            shared.with_log(|log| Ok(log.adopt(finished)?))?;
            self.may_have_base.store(false, Ordering::Release);
            shared.based(number);
            bytes
        };
        self.saved(&taken, moment)?;
        Ok(Report { bytes, ..report })
    }

    /// Takes a snapshot of everything that is saved; tables that are new in the folder are noted in it by `declare`.
    fn take(
        &self,
        graph: &UpdateGraph,
        tracked: &mut HashMap<usize, Tracked>,
        asked: &Asked,
        declare: &dyn Fn(&[u8]) -> Result<(), Error>,
    ) -> Result<(u64, Vec<Taken>), Error> {
        let wanted =
            |source: &FedTable| asked.only.as_ref().is_none_or(|only| only.iter().any(|one| one.same(&source.table)));
        let own = |source: &FedTable| source.durable && self.begin.durable;
        let sources: Vec<FedTable> = fed_tables(graph)
            .into_iter()
            .filter(|source| (wanted(source) || own(source)) && source.table.alive().is_ok())
            .collect();
        tracked.retain(|_, tracked| tracked.table.upgrade().is_some());
        let (mut saved, followed) = (Vec::with_capacity(sources.len()), tracked.len());
        for source in &sources {
            saved.push(self.saved_table(source, own(source), tracked, declare)?);
        }
        if tracked.len() > followed {
            // A step that runs now may have passed a table before it was followed: the snapshot must have the step.
            let lock = graph.shared_lock().map_err(|error| Error::Engine(engine::Error::Graph(error)))?;
            drop(lock);
        }
        let tables: Vec<Table> = sources.iter().map(|source| source.table.clone()).collect();
        // Rows that come while the copies are made may raise a table's next key above its rows: no harm, keys only grow.
        let (moment, copies) = engine::snapshot_at(&tables).map_err(Error::engine("checkpoint"))?;
        let mut taken = Vec::with_capacity(copies.len());
        for (((saved, tracker, known), copy), source) in saved.into_iter().zip(copies).zip(&sources) {
            taken.push(Taken {
                saved,
                copy,
                next: source.next(),
                tracker,
                known,
                source: Some(source.table.identity()),
            });
        }
        for (name, table) in &asked.fixed {
            taken.push(self.fixed(name, table, declare)?);
        }
        Ok((moment.number(), taken))
    }

    /// What the folder calls this source. One without a journal is followed from now on.
    fn saved_table(
        &self,
        source: &FedTable,
        own: bool,
        tracked: &mut HashMap<usize, Tracked>,
        declare: &dyn Fn(&[u8]) -> Result<(), Error>,
    ) -> Result<(SavedTable, Option<Hold>, Known), Error> {
        let name = source.name.clone();
        let named = name.as_deref().and_then(|name| self.catalog().named(name).cloned());
        if own {
            let saved = named.ok_or_else(|| Error::refused(&self.path, "a durable table has no name"))?;
            return Ok((saved, None, Known::Rows));
        }
        if let Some(known) = tracked.get(&source.table.identity()) {
            let saved = self.catalog().table(known.id).cloned();
            let saved = saved.ok_or_else(|| Error::refused(&self.path, "a saved table is not in its catalog"))?;
            return Ok((saved, Some(known.tracker.hold()), self.known(known.id)));
        }
        let kind = Kind::of(&source.kind);
        let schema = source.table.schema().clone();
        // A table that was made anew under its name takes the place of the one before.
        let before = named.filter(|saved| !saved.durable && tracked.values().all(|tracked| tracked.id != saved.id));
        let (table, known) = match before {
            Some(saved) => (SavedTable { kind, schema, ..saved }, Known::Others),
            None => (self.new_table(name, kind, schema), Known::Nothing),
        };
        let tracker = Arc::new(Tracker::new(RowSet::new(), table.schema.fields().len()));
        let hold = tracker.hold();
        source.follow(table.id, Arc::new(WeakFollower(Arc::downgrade(&tracker))));
        if known == Known::Nothing {
            declare(&table.bytes(0).map_err(words(&self.path))?)?;
        }
        self.without_rows().insert(table.id, known);
        self.note(table.clone());
        let weak = source.table.downgrade();
        tracked.insert(source.table.identity(), Tracked { id: table.id, table: weak, tracker });
        Ok((table, Some(hold), known))
    }

    /// A new table of the folder, under its name or, if that is taken or there is none, under a number.
    fn new_table(&self, name: Option<String>, kind: Kind, schema: Arc<arrow_schema::Schema>) -> SavedTable {
        let catalog = self.catalog();
        let id = catalog.next_id();
        let free = |name: &String| catalog.named(name).is_none();
        let numbered = || (0..).map(|number| format!("input_{number}")).find(free).unwrap_or_default();
        let name = name.filter(free).unwrap_or_else(numbered);
        SavedTable { id, name, kind, durable: false, schema }
    }

    fn fixed(&self, name: &str, table: &Table, declare: &dyn Fn(&[u8]) -> Result<(), Error>) -> Result<Taken, Error> {
        let found = self.catalog().named(name).cloned();
        let (saved, known) = match found {
            Some(saved) => {
                let known = self.known(saved.id);
                (saved, known)
            }
            None => {
                let saved = self.new_table(Some(name.to_owned()), Kind::Static, table.schema().clone());
                declare(&saved.bytes(0).map_err(words(&self.path))?)?;
                self.without_rows().insert(saved.id, Known::Nothing);
                self.note(saved.clone());
                (saved, Known::Nothing)
            }
        };
        Ok(Taken { saved, copy: table.clone(), next: 0, tracker: None, known, source: None })
    }

    /// What changed in each table since the last checkpoint; none of what the log has. None at all if it is so much that the
    /// tables are better written whole.
    fn changed(&self, taken: &[Taken], moment: u64) -> Result<Option<Vec<Option<Merged>>>, Error> {
        let (mut changed, mut rows, mut all) = (Vec::with_capacity(taken.len()), 0, 0);
        for Taken { copy, tracker, known, .. } in taken {
            let view = copy.view().map_err(Error::engine("checkpoint"))?;
            let merged = match (known, tracker) {
                (Known::Rows, Some(tracker)) => Some(tracker.up_to(moment)),
                (Known::Rows, None) => None,
                _ => {
                    let mut merged = Merged::new(RowSet::new(), view.width());
                    merged.push(&TableUpdate::of_added(view.rows().clone()));
                    Some(merged)
                }
            };
            all += view.rows().len();
            rows += merged.as_ref().map_or(0, |merged| merged.update().size());
            changed.push(merged);
        }
        Ok((rows <= DELTA_ROWS.rows() || rows <= all / 2).then_some(changed))
    }

    /// All tables as they are in the snapshot; those that have no source any more as the folder has them.
    fn write_base(
        &self,
        base: &mut Base,
        taken: &[Taken],
        copies: &Copies,
        again: &dyn Fn(u64) -> Result<crate::fold::Contents, Error>,
    ) -> Result<(), Error> {
        let begin = serde_json::to_vec(&self.begin).unwrap_or_default();
        base.push(BEGIN, &[&begin])?;
        let catalog = self.catalog().clone();
        for table in &catalog.tables {
            match taken.iter().find(|taken| taken.saved.id == table.id) {
                Some(taken) => self.write_rows(base, table, taken, copies)?,
                None => {
                    let Some(saved) = again(table.id)?.tables.pop() else { continue };
                    self.write_initial(base, table, &saved.initial)?;
                }
            }
        }
        for kept in &catalog.kept {
            base.push(KEEP, &[&serde_json::to_vec(kept).unwrap_or_default()])?;
        }
        Ok(())
    }

    fn write_rows(&self, base: &mut Base, table: &SavedTable, taken: &Taken, copies: &Copies) -> Result<(), Error> {
        base.push(TABLE, &[&table.bytes(taken.next).map_err(words(&self.path))?])?;
        if table.kind == Kind::Blink {
            return Ok(());
        }
        let view = taken.copy.view().map_err(Error::engine("checkpoint"))?;
        let columns: Vec<usize> = (0..view.width()).collect();
        for keys in pieces_of(view.rows()) {
            copies.expect();
            let cells = view.read_columns(&columns, &keys).map_err(Error::engine("checkpoint"))?;
            self.push_piece(base, table.id, &keys, &cells)?;
        }
        Ok(())
    }

    fn write_initial(&self, base: &mut Base, table: &SavedTable, initial: &Initial) -> Result<(), Error> {
        base.push(TABLE, &[&table.bytes(initial.next).map_err(words(&self.path))?])?;
        for (keys, cells) in &initial.rows {
            self.push_piece(base, table.id, keys, cells)?;
        }
        Ok(())
    }

    fn push_piece(&self, base: &mut Base, id: u64, keys: &RowSet, cells: &[column::Chunk]) -> Result<(), Error> {
        let mut body = Draft::default();
        put_number(body.bytes(), id);
        put_keys(body.bytes(), keys);
        put_cells(&mut body, keys.len() as usize, cells).map_err(words(&self.path))?;
        Ok(base.push(ROWS, &body.parts())?)
    }

    /// What was taken is on disk: the next checkpoint begins behind it.
    fn saved(&self, taken: &[Taken], moment: u64) -> Result<(), Error> {
        for Taken { saved, copy, tracker, .. } in taken {
            self.without_rows().remove(&saved.id);
            if let Some(tracker) = tracker {
                let rows = copy.rows().map_err(Error::engine("checkpoint"))?;
                tracker.saved(moment, rows);
            }
        }
        Ok(())
    }
}

/// What changed since the last checkpoint in tables without a journal, in records of some megabytes, of which the last says
/// that all are there; nothing if nothing did. Gives the bytes.
fn write_delta(
    taken: &[Taken],
    changed: &[Option<Merged>],
    write: &dyn Fn(&str, &[&[u8]]) -> Result<(), Error>,
) -> Result<u64, Error> {
    let mut parts = Parts { write, body: Draft::default(), written: 0, bytes: 0 };
    for (Taken { saved, copy, next, .. }, merged) in taken.iter().zip(changed) {
        let Some(merged) = merged.as_ref().filter(|_| saved.kind != Kind::Blink) else { continue };
        let update = merged.update();
        if update.is_empty() {
            continue;
        }
        let view = copy.view().map_err(Error::engine("checkpoint"))?;
        let read =
            |columns: &[usize], rows: &RowSet| view.read_columns(columns, rows).map_err(Error::engine("checkpoint"));
        let none = || Change {
            table: saved.id,
            next: *next,
            removed: RowSet::new(),
            shifts: Vec::new(),
            added: Vec::new(),
            modified: Vec::new(),
        };
        parts.put(&Change {
            removed: update.removed.0.clone(),
            shifts: update.shifts.iter().copied().collect(),
            ..none()
        })?;
        let all: Vec<usize> = (0..view.width()).collect();
        for keys in pieces_of(&update.added) {
            let cells = read(&all, &keys)?;
            parts.put(&Change { added: vec![(keys, cells)], ..none() })?;
        }
        let mut modified: Vec<(&RowSet, Vec<usize>)> = Vec::new();
        for column in 0..view.width() {
            let rows = merged.modified_in(column);
            match modified.iter_mut().find(|(known, _)| *known == rows) {
                Some((_, columns)) => columns.push(column),
                None => modified.push((rows, vec![column])),
            }
        }
        for (rows, columns) in modified {
            for rows in pieces_of(rows) {
                let cells = read(&columns, &rows)?;
                let modified = vec![Modified { rows, columns: columns.clone(), cells }];
                parts.put(&Change { modified, ..none() })?;
            }
        }
    }
    parts.end()
}

/// Rows in pieces.
fn pieces_of(rows: &RowSet) -> impl Iterator<Item = RowSet> {
    let size = PIECE_ROWS.rows().max(1);
    (0..rows.len().div_ceil(size)).map(move |piece| rows.slice(piece * size, size))
}

/// The records of one delta.
struct Parts<'a> {
    write: &'a dyn Fn(&str, &[&[u8]]) -> Result<(), Error>,
    /// What is not written yet.
    body: Draft,
    written: u64,
    bytes: u64,
}

impl Parts<'_> {
    fn put(&mut self, change: &Change) -> Result<(), Error> {
        if self.body.len() as u64 >= PART_BYTES.rows() {
            self.write(PART)?;
        }
        change.put(&mut self.body).map_err(|what| Error::invalid("checkpoint", &what))
    }

    /// Writes what there is as a part, or the end.
    fn write(&mut self, note: &str) -> Result<(), Error> {
        let (number, body) = (self.written.to_le_bytes(), std::mem::take(&mut self.body));
        let parts: Vec<&[u8]> = [&number[..]].into_iter().chain(body.parts()).collect();
        (self.write)(note, &parts)?;
        self.written += 1;
        self.bytes += (number.len() + body.len()) as u64;
        Ok(())
    }

    fn end(mut self) -> Result<u64, Error> {
        match self.written {
            0 if self.body.len() == 0 => {}
            0 => {
                (self.write)(DELTA, &self.body.parts())?;
                self.bytes = self.body.len() as u64;
            }
            _ => self.write(LAST)?,
        }
        Ok(self.bytes)
    }
}

/// The folders to which a graph was saved, each with what changed since.
#[derive(Default)]
struct Folders(Mutex<HashMap<PathBuf, (Arc<Folder>, Option<u64>)>>);

/// Saves the sources of a graph in a folder that is not its own: what changed since the last checkpoint there, or all of it.
/// The folder is let go again.
pub fn checkpoint_to(path: &Path, graph: &UpdateGraph, asked: &Asked) -> Result<Report, Error> {
    checkpoint_on(log::real(), path, graph, asked)
}

/// [`checkpoint_to`] on a disk of the caller's.
pub(crate) fn checkpoint_on(
    disk: Arc<dyn log::Disk>,
    path: &Path,
    graph: &UpdateGraph,
    asked: &Asked,
) -> Result<Report, Error> {
    let folders = graph.extension(Folders::default);
    let mut known = lock(&folders.0);
    let mut log = Log::open_on(disk, path)?;
    let place = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let found = if log.is_empty() && log.base_number().is_none() { None } else { Some(begun(&log)?) };
    // Another process, or another graph, may have written meanwhile: then all tables are written anew.
    let ours = known.get(&place).filter(|(folder, last)| *last == log.last() && found.as_ref() == Some(&folder.begin));
    let folder = match (ours, found) {
        (Some((folder, _)), _) => folder.clone(),
        (None, Some(begin)) if begin.durable => {
            return Err(Error::refused(path, "it is the folder of a durable graph; give another one"));
        }
        (None, _) => Arc::new(Folder::new(path, Begin::new(false), Catalog::default())),
    };
    let report = folder.save(&mut log, graph, asked)?;
    known.insert(place, (folder, log.last()));
    Ok(report)
}

/// The beginning of a folder that holds something.
fn begun(log: &Log) -> Result<Begin, Error> {
    let first = match log.parts().next() {
        Some(part) => part.map(|part| (part.note, part.body))?,
        None => match log.read().next() {
            Some(record) => record.map(|record| (record.note, record.body))?,
            None => return Err(Error::damaged(log.path(), "it holds nothing")),
        },
    };
    match first {
        (note, body) if note == BEGIN => Begin::read(log.path(), &body),
        _ => Err(Error::refused(log.path(), "it is a log, but none of a graph; give another folder")),
    }
}

impl Folder {
    fn save(&self, log: &mut Log, graph: &UpdateGraph, asked: &Asked) -> Result<Report, Error> {
        let mut tracked = self.one_at_a_time();
        // What is new in it is part of the base that it calls for.
        let before = self.catalog().clone();
        let (moment, taken) = self.take(graph, &mut tracked, asked, &|_| Ok(()))?;
        asked.kept.iter().for_each(|kept| self.keep(kept.clone()));
        let stays = |table: &SavedTable| taken.iter().any(|taken| taken.saved.id == table.id);
        let same = before.kept == self.catalog().kept
            && before.tables.iter().all(stays)
            && taken.iter().all(|taken| taken.known == Known::Rows);
        let unsure = self.may_have_base.load(Ordering::Acquire);
        let paid = !unsure && log.base_number().is_some() && log.change_bytes() < log.base_bytes().max(LEAST_BYTES);
        let changed = if same && paid { self.changed(&taken, moment)? } else { None };
        let whole = changed.is_none();
        let bytes = if let Some(changed) = changed {
            let log = Mutex::new(log);
            write_delta(&taken, &changed, &|note, body| {
                let mut log = lock(&log);
                append(&mut log, &[(note, body)]).map(drop)
            })?
        } else {
            self.catalog().tables.retain(stays);
            let number = log.last();
            let mut base = log.begin_base(number)?;
            let gone = |_: u64| Err(Error::refused(&self.path, "a table is not in the graph any more"));
            self.write_base(&mut base, &taken, &Copies::of(graph.downgrade(), &taken), &gone)?;
            let bytes = base.bytes();
            self.may_have_base.store(true, Ordering::Release);
            log.adopt(base.finish()?)?;
            self.may_have_base.store(false, Ordering::Release);
            bytes
        };
        self.saved(&taken, moment)?;
        Ok(Report { step: moment, tables: taken.len(), bytes, whole })
    }
}
