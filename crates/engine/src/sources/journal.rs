//! Whoever keeps what sources store: a log on disk, a tracker of what changed since a checkpoint.
//!
//!   source   writes of step 7   ->   stored cells   ->   followers: "source 3 stored this in step 7, its next key is 40"
//!
//! A source tells its followers after it has stored the writes, inside the step. Cost: a copy of the writes' handles, and
//! nothing where nobody follows.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use column::{BlockColumn, Chunk};
use graph::{Step, UpdateGraph};
use rowset::RowSet;

use crate::error::Error;
use crate::table::handle::{Table, WeakTable};
use crate::table::store::{Store, Writes};
use crate::table::update::TableUpdate;
use crate::threads::lock;

/// What a source stored in a step.
#[derive(Clone)]
pub struct Stored {
    /// The number under which its follower knows the source.
    pub source: u64,
    /// The step.
    pub step: Step,
    /// The cells, in the types in which they are stored.
    pub writes: Writes,
    /// The change of the table.
    pub update: TableUpdate,
    /// The row key that the next new row takes; 0 in tables whose keys are given.
    pub next: u64,
}

/// Hears of what sources store.
pub trait Follower: Send + Sync {
    /// Called inside the step, after the cells are stored. It must not wait.
    fn stored(&self, stored: Stored);

    /// Whether it hears of nothing any more: it is forgotten then.
    fn is_gone(&self) -> bool {
        false
    }
}

/// Keeps what sources store where it outlives the process.
pub trait Journal: Follower {
    /// Whether a call may be queued: an error while what was stored cannot be kept.
    fn admit(&self, operation: &str) -> Result<(), Error>;
    /// Waits until everything that was stored up to `step` is kept. `poll` is called at intervals; if it returns false, the
    /// wait ends.
    fn wait(&self, step: Step, timeout: Option<Duration>, poll: &mut dyn FnMut() -> bool) -> Result<(), Error>;
}

/// The rows that a source begins with.
#[derive(Default)]
pub struct Initial {
    /// Pieces of rows with ascending keys: the keys, and the cells of each column.
    pub rows: Vec<(RowSet, Vec<Chunk>)>,
    /// The row key that the next new row takes.
    pub next: u64,
}

/// How rows are addressed in a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FedKind {
    /// They are appended.
    Append,
    /// They live for one step.
    Blink,
    /// By the cells of these columns.
    Keyed(Vec<String>),
    /// By their keys.
    Input,
}

/// A live source of a graph, as whoever keeps it sees it.
#[derive(Clone)]
pub struct FedTable {
    /// The table.
    pub table: Table,
    /// How its rows are addressed.
    pub kind: FedKind,
    /// The name that its user gave it.
    pub name: Option<String>,
    /// Whether it has a journal.
    pub durable: bool,
    tap: Arc<Tap>,
}

impl FedTable {
    /// Lets `follower` hear of what is stored from the next step on, under this number.
    pub fn follow(&self, source: u64, follower: Arc<dyn Follower>) {
        self.tap.follow(source, follower);
    }

    /// Somebody holds a moment of the table, and steps will copy the blocks that they write to: makes memory for the copies
    /// here, where a step need not wait for its pages. To be called again while the moment is held.
    pub fn expect_copies(&self) {
        self.stored().for_each(BlockColumn::expect_copies);
    }

    /// The moment is held no more.
    pub fn expect_no_copies(&self) {
        self.stored().for_each(BlockColumn::expect_no_copies);
    }

    fn stored(&self) -> impl Iterator<Item = &BlockColumn> {
        self.table.column_sources().iter().filter_map(|source| source.as_any().downcast_ref())
    }

    /// The row key that its next new row takes, after the last step that stored rows.
    pub fn next(&self) -> u64 {
        self.tap.next.load(Ordering::Acquire)
    }
}

/// The sources of a graph.
#[derive(Default)]
struct Known(Mutex<Vec<Entry>>);

struct Entry {
    table: WeakTable,
    kind: FedKind,
    name: Option<String>,
    durable: bool,
    tap: Arc<Tap>,
}

/// The sources of this graph that are fed from outside, in the order in which they were made.
pub fn fed_tables(graph: &UpdateGraph) -> Vec<FedTable> {
    let known = graph.extension(Known::default);
    let mut entries = lock(&known.0);
    let mut found = Vec::with_capacity(entries.len());
    entries.retain(|entry| {
        let Some(table) = entry.table.upgrade() else { return false };
        let Entry { kind, name, durable, tap, .. } = entry;
        found.push(FedTable { table, kind: kind.clone(), name: name.clone(), durable: *durable, tap: tap.clone() });
        true
    });
    drop(entries);
    found
}

/// Notes a source of the graph.
pub(crate) fn note(
    graph: &UpdateGraph,
    table: &Table,
    kind: FedKind,
    name: Option<String>,
    durable: bool,
    tap: &Arc<Tap>,
) {
    let known = graph.extension(Known::default);
    let entry = Entry { table: table.downgrade(), kind, name, durable, tap: tap.clone() };
    let mut entries = lock(&known.0);
    // The list does not outgrow the sources that live.
    if entries.len().is_power_of_two() {
        entries.retain(|entry| entry.table.upgrade().is_some());
    }
    entries.push(entry);
}

/// Where followers listen to one source.
#[derive(Default)]
pub(crate) struct Tap {
    followed: AtomicBool,
    followers: Mutex<Vec<(u64, Arc<dyn Follower>)>>,
    next: AtomicU64,
}

impl Tap {
    pub(crate) fn new(next: u64) -> Tap {
        Tap { next: AtomicU64::new(next), ..Tap::default() }
    }

    pub(crate) fn follow(&self, source: u64, follower: Arc<dyn Follower>) {
        lock(&self.followers).push((source, follower));
        self.followed.store(true, Ordering::Release);
    }

    fn tell(&self, step: Step, writes: &Writes, update: &TableUpdate, next: u64) {
        let mut known = lock(&self.followers);
        known.retain(|(_, follower)| !follower.is_gone());
        let followers = known.clone();
        drop(known);
        for (source, follower) in followers {
            follower.stored(Stored { source, step, writes: writes.clone(), update: update.clone(), next });
        }
    }
}

/// The store of a source, which tells its followers what was written.
pub(crate) struct SourceStore {
    store: Store,
    tap: Arc<Tap>,
}

impl SourceStore {
    pub(crate) fn new(store: Store, tap: Arc<Tap>) -> SourceStore {
        SourceStore { store, tap }
    }

    /// Stores the rows and cells of a step, after which the next new row takes the key `next`, and returns the table's
    /// update.
    pub(crate) fn write(&self, step: Step, writes: Writes, next: u64) -> Result<TableUpdate, Error> {
        let told = self.tap.followed.load(Ordering::Acquire).then(|| writes.clone());
        let update = self.store.write(step, writes)?;
        self.tap.next.store(next, Ordering::Release);
        if let Some(writes) = told.filter(|_| !update.is_empty()) {
            self.tap.tell(step, &writes, &update, next);
        }
        Ok(update)
    }
}

impl Deref for SourceStore {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.store
    }
}
