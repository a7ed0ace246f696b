//! The durable folder of a graph.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use arrow_schema::Schema;
use engine::sources::{FedKind, Feeding, Initial};
use engine::{Table, WeakTable};
use graph::{UpdateGraph, lock};
use log::Log;

use crate::catalog::{BEGIN, Begin, FORMAT, Kept, Kind, SavedTable, TABLE};
use crate::checkpoint::{Asked, Folder, Report};
use crate::error::Error;
use crate::fold::{Saved, fold};
use crate::journal::Keeps;
use crate::sizes::LOG_BYTES;
use crate::writer::{Shared, append};

/// The folder in which a graph keeps what its durable sources store. One process holds it at a time.
pub struct Durable {
    shared: Arc<Shared>,
    folder: Arc<Folder>,
    claims: Mutex<HashMap<String, Claim>>,
    /// Whether the folder was let go.
    closed: Arc<AtomicBool>,
    /// The process whose threads write; in the child of a fork they are not.
    owner: u32,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// Who has a saved table.
enum Claim {
    /// Nobody yet: its rows, as they were saved.
    Saved(Arc<Initial>),
    /// A source that is being made.
    Making,
    /// A source.
    Made(WeakTable),
}

/// Folders that are open, for the end of the process.
static OPEN: Mutex<Vec<Open>> = Mutex::new(Vec::new());

struct Open {
    path: PathBuf,
    durable: Weak<Durable>,
    closed: Arc<AtomicBool>,
}

/// How long an open waits for threads of a graph that was let go, and for one that a thread has in its hand for a moment.
const PATIENCE: Duration = Duration::from_secs(60);
const A_MOMENT: Duration = Duration::from_millis(20);

/// Opens a log. Its folder may be that of a graph of this process which nobody has any more, and of which a thread that
/// writes a base is still to end: that is waited for.
fn opened(disk: &Arc<dyn log::Disk>, path: &Path) -> Result<Log, log::Error> {
    let began = graph::env::now();
    loop {
        let found = Log::open_on(disk.clone(), path);
        if !matches!(found, Err(log::Error::Locked { .. })) {
            return found;
        }
        let open = lock(&OPEN);
        let is_alive = |open: &Open| open.durable.upgrade().is_some_and(|held| held.shared.graph.upgrade().is_some());
        let known = open.iter().filter(|open| open.path == path && !open.closed.load(Ordering::Acquire));
        let alive: Vec<bool> = known.map(is_alive).collect();
        let patience = match alive.contains(&true) {
            _ if alive.is_empty() => Duration::ZERO,
            true => A_MOMENT,
            false => PATIENCE,
        };
        drop(open);
        if graph::env::now().duration_since(began) >= patience {
            return found;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Lets all folders go, when what was stored is on disk: for the end of the process. What could not be written is said.
pub fn close_all() -> Vec<Error> {
    let open = std::mem::take(&mut *lock(&OPEN));
    open.iter().filter_map(|open| open.durable.upgrade()).filter_map(|durable| durable.close().err()).collect()
}

/// The durable folder of a graph lives as long as the graph.
#[derive(Default)]
struct Slot(OnceLock<Arc<Durable>>);

impl Durable {
    /// Opens the folder, which is made if it is not there, for the sources of this graph.
    ///
    /// # Errors
    /// The folder is in use, holds something else, was written by a newer version or is damaged, the disk fails, or the
    /// graph has a folder already.
    pub fn open(path: &Path, graph: &UpdateGraph) -> Result<Arc<Durable>, Error> {
        Durable::open_on(log::real(), path, graph)
    }

    /// [`Durable::open`] on a disk of the caller's.
    pub fn open_on(disk: Arc<dyn log::Disk>, path: &Path, graph: &UpdateGraph) -> Result<Arc<Durable>, Error> {
        let slot = graph.extension(Slot::default);
        let mut log = opened(&disk, path)?;
        if log.is_empty() && log.base_number().is_none() {
            let begin = serde_json::to_vec(&Begin::new(true)).unwrap_or_default();
            append(&mut log, &[(BEGIN, &[&begin])])?;
        }
        let contents = fold(&log, None, None)?;
        if !contents.is_durable() {
            return Err(Error::refused(
                path,
                "it holds checkpoints of a graph that keeps nothing by itself: read it with restore, or give another folder",
            ));
        }
        let catalog = contents.catalog();
        let mut begin = contents.begin.unwrap_or_else(|| Begin::new(true));
        if begin.format < FORMAT {
            // Older versions must not read what this one adds.
            begin.format = FORMAT;
            append(&mut log, &[(BEGIN, &[&serde_json::to_vec(&begin).unwrap_or_default()])])?;
        }
        let shared = Shared::new(log, graph.downgrade());
        let claims = contents.tables.into_iter().map(|Saved { table, initial }| (table.name, Claim::Saved(initial)));
        let durable = Arc::new(Durable {
            folder: Arc::new(Folder::new(path, begin, catalog)),
            claims: Mutex::new(claims.collect()),
            closed: Arc::default(),
            owner: graph::env::process(),
            threads: Mutex::default(),
            shared,
        });
        durable
            .start()
            .map_err(|source| Error::refused(path, format!("the machine gave no thread to write with: {source}")))?;
        let mut open = lock(&OPEN);
        open.retain(|open| !open.closed.load(Ordering::Acquire));
        let (weak, closed) = (Arc::downgrade(&durable), durable.closed.clone());
        open.push(Open { path: path.to_path_buf(), durable: weak, closed });
        drop(open);
        if slot.0.set(durable.clone()).is_err() {
            durable.close()?;
            return Err(Error::refused(path, "the graph has a durable folder already"));
        }
        Ok(durable)
    }

    /// The durable folder of a graph.
    pub fn of(graph: &UpdateGraph) -> Option<Arc<Durable>> {
        graph.extension(Slot::default).0.get().cloned()
    }

    fn start(&self) -> std::io::Result<()> {
        let (shared, folder, scope) = (self.shared.clone(), self.folder.clone(), limits::Scope::current());
        let work = move || {
            shared.run(|| {
                let wanted = shared.with_log(|log| {
                    let changes = log.change_bytes();
                    Ok(changes >= LOG_BYTES.rows() && changes >= log.base_bytes())
                });
                if wanted.unwrap_or(false) {
                    folder.write_anew_aside(&shared);
                }
            });
        };
        let thread = graph::env::spawn("tickframe-log".into(), move || scope.enter(work))?;
        self.lock_threads().push(thread);
        Ok(())
    }

    fn lock_threads(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        lock(&self.threads)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Claim>> {
        lock(&self.claims)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// The tables of the folder that no source has taken up.
    pub fn unclaimed(&self) -> Vec<SavedTable> {
        let claims = self.lock();
        let free = |table: &&SavedTable| matches!(claims.get(&table.name), Some(Claim::Saved(_)));
        self.folder.catalog().tables.iter().filter(free).cloned().collect()
    }

    /// The rows of a table of the folder that never changes, or that no source has taken up.
    pub fn initial(&self, name: &str) -> Option<Arc<Initial>> {
        match self.lock().get(name) {
            Some(Claim::Saved(initial)) => Some(initial.clone()),
            _ => None,
        }
    }

    /// How the source of this name is to be fed: it begins with the rows that were saved under the name, and the folder
    /// keeps what it stores. `operation` is the call of the user.
    ///
    /// # Errors
    /// There is a source of this name, the saved table has other columns or another key, or the disk fails.
    pub fn claim(&self, operation: &str, name: &str, kind: &FedKind, schema: &Schema) -> Result<Feeding, Error> {
        if *kind == FedKind::Blink {
            let what = "rows of a blink table live for one step, so there is nothing to keep; feed what is made of them into a \
                        durable table";
            return Err(Error::invalid(operation, what));
        }
        let mut claims = self.lock();
        let taken = match claims.get(name) {
            Some(Claim::Making) => true,
            Some(Claim::Made(table)) => table.upgrade().is_some(),
            _ => false,
        };
        if taken {
            let what = format!("the graph has a durable table named {name:?} already: graph.tables[{name:?}]");
            return Err(Error::invalid(operation, &what));
        }
        let known = self.folder.catalog().named(name).cloned();
        let (id, initial) = match known {
            Some(saved) => {
                saved.check(operation, kind, schema)?;
                if !saved.durable {
                    self.declare(SavedTable { durable: true, ..saved.clone() })?;
                }
                let initial = match claims.remove(name) {
                    Some(Claim::Saved(initial)) => initial,
                    _ => self.read_again(saved.id)?,
                };
                (saved.id, initial)
            }
            None => {
                let table = SavedTable {
                    id: self.folder.catalog().next_id(),
                    name: name.to_owned(),
                    kind: Kind::of(kind),
                    durable: true,
                    schema: Arc::new(schema.clone()),
                };
                let id = table.id;
                self.declare(table)?;
                (id, Arc::default())
            }
        };
        claims.insert(name.to_owned(), Claim::Making);
        drop(claims);
        Ok(Feeding {
            name: Some(name.to_owned()),
            journal: Some((id, Arc::new(Keeps(self.shared.clone())))),
            initial: Some(initial),
            ..Feeding::default()
        })
    }

    /// The rows that a source without a journal begins with: those that a checkpoint saved under its name.
    pub(crate) fn take_up(
        &self,
        operation: &str,
        name: &str,
        kind: &FedKind,
        schema: &Schema,
    ) -> Result<Option<Arc<Initial>>, Error> {
        let mut claims = self.lock();
        let saved = self.folder.catalog().named(name).cloned();
        let Some(saved) = saved.filter(|_| matches!(claims.get(name), Some(Claim::Saved(_)))) else { return Ok(None) };
        if saved.durable {
            let what = format!("the table {name:?} of this folder is durable: say durable=True, or give another name=");
            return Err(Error::invalid(operation, &what));
        }
        saved.check(operation, kind, schema)?;
        match claims.remove(name) {
            Some(Claim::Saved(initial)) => Ok(Some(initial)),
            _ => Ok(None),
        }
    }

    /// Notes a table in the folder.
    fn declare(&self, table: SavedTable) -> Result<(), Error> {
        let body = table.bytes(0).map_err(|what| Error::damaged(&self.shared.path, what))?;
        self.shared.append(TABLE, &[&body])?;
        self.folder.note(table);
        Ok(())
    }

    /// The rows of a table whose source was let go.
    fn read_again(&self, id: u64) -> Result<Arc<Initial>, Error> {
        let mut contents = self.shared.with_log(|log| fold(log, Some(id), None))?;
        Ok(contents.tables.pop().map(|saved| saved.initial).unwrap_or_default())
    }

    /// The source that was claimed is there; none if it could not be made.
    pub fn made(&self, name: &str, table: Option<&Table>) {
        let mut claims = self.lock();
        match (claims.get(name), table) {
            (Some(Claim::Making), Some(table)) => drop(claims.insert(name.to_owned(), Claim::Made(table.downgrade()))),
            (Some(Claim::Making), None) => drop(claims.remove(name)),
            _ => {}
        }
    }

    /// The plans of kept tables.
    pub fn kept(&self) -> Vec<Kept> {
        self.folder.catalog().kept.clone()
    }

    /// Saves all tables: what durable sources stored is on disk when this returns, and so is what changed in the others.
    pub fn checkpoint(&self, asked: &Asked) -> Result<Report, Error> {
        self.folder.checkpoint_durable(&self.shared, asked)
    }

    /// Waits until everything that was stored is on disk, and lets the folder go. Closing twice does nothing.
    pub fn close(&self) -> Result<(), Error> {
        // The child of a fork has no thread to wait for, and the folder is its parent's.
        if self.owner != graph::env::process() {
            return Ok(());
        }
        self.shared.close();
        let threads = std::mem::take(&mut *self.lock_threads());
        let own = std::thread::current().id();
        for thread in threads.into_iter().filter(|thread| thread.thread().id() != own) {
            // A thread that panicked has left what it had in memory: letting go says so.
            let _ = thread.join();
        }
        self.folder.wait_aside();
        let let_go = self.shared.let_go();
        self.closed.store(true, Ordering::Release);
        let_go
    }
}

impl Drop for Durable {
    fn drop(&mut self) {
        // Nobody is left to be told: what could not be written was told as it failed.
        let _ = self.close();
    }
}
