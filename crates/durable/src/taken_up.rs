//! How sources are made in a graph that has a past: under their names they take up the rows that were saved.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use arrow_schema::Schema;
use engine::Table;
use engine::sources::{FedKind, Feeding, Initial};
use graph::{UpdateGraph, lock};

use crate::catalog::{Kept, SavedTable};
use crate::durable::Durable;
use crate::error::Error;
use crate::fold::{Saved, restore};

/// The tables of a checkpoint, for the sources of a graph that keeps nothing by itself.
#[derive(Default)]
struct Restored(Mutex<HashMap<String, Saved>>);

impl Restored {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Saved>> {
        lock(&self.0)
    }
}

/// What a folder held when a graph was made of it.
pub struct Past {
    /// Whether the graph goes on in the folder.
    pub durable: bool,
    /// The tables, in the order in which they were made.
    pub tables: Vec<SavedTable>,
    /// The plans of kept tables.
    pub kept: Vec<Kept>,
}

/// Gives a graph the tables of a folder: sources that are made under their names begin with their rows. Where the folder is
/// that of a durable graph, the graph goes on in it.
///
/// # Errors
/// As [`Durable::open`].
pub fn restore_into(path: &Path, graph: &UpdateGraph) -> Result<Past, Error> {
    let contents = restore(path)?;
    if contents.is_durable() {
        let durable = Durable::open(path, graph)?;
        return Ok(Past { durable: true, tables: durable.unclaimed(), kept: durable.kept() });
    }
    let tables = contents.tables.iter().map(|saved| saved.table.clone()).collect();
    let restored = graph.extension(Restored::default);
    let known = contents.tables.into_iter().map(|saved| (saved.table.name.clone(), saved));
    restored.lock().extend(known);
    Ok(Past { durable: false, tables, kept: contents.kept })
}

/// How a source is to be fed that is made in this graph, under this name: with the rows that were saved under it, and, if it
/// is durable, with the folder as its journal. `operation` is the call of the user.
///
/// # Errors
/// It is durable and has no name, or the graph no folder; or as [`Durable::claim`].
pub fn feeding(
    graph: &UpdateGraph,
    operation: &str,
    name: Option<&str>,
    durable: bool,
    kind: &FedKind,
    schema: &Schema,
) -> Result<Feeding, Error> {
    let folder = Durable::of(graph);
    match (durable, name, folder) {
        (true, Some(name), Some(folder)) => folder.claim(operation, name, kind, schema),
        (true, None, _) => {
            Err(Error::invalid(operation, "durable=True wants a name=, by which a restart finds the rows again"))
        }
        (true, _, None) => Err(Error::invalid(
            operation,
            "durable=True wants a graph with a folder, graph=tf.Graph(durable=\"folder\"); this one keeps nothing on disk",
        )),
        (false, Some(name), folder) => {
            let initial = match folder {
                Some(folder) => folder.take_up(operation, name, kind, schema)?,
                None => restored(graph, operation, name, kind, schema)?,
            };
            Ok(Feeding { name: Some(name.to_owned()), initial, ..Feeding::default() })
        }
        (false, None, _) => Ok(Feeding::default()),
    }
}

/// The source that [`feeding`] was for is there; none if it could not be made.
pub fn made(graph: &UpdateGraph, name: &str, table: Option<&Table>) {
    if let Some(folder) = Durable::of(graph) {
        folder.made(name, table);
    }
}

/// The rows of a saved table that never changes.
pub fn fixed(graph: &UpdateGraph, name: &str) -> Option<Arc<Initial>> {
    match Durable::of(graph) {
        Some(folder) => folder.initial(name),
        None => graph.extension(Restored::default).lock().get(name).map(|saved| saved.initial.clone()),
    }
}

fn restored(
    graph: &UpdateGraph,
    operation: &str,
    name: &str,
    kind: &FedKind,
    schema: &Schema,
) -> Result<Option<Arc<Initial>>, Error> {
    let restored = graph.extension(Restored::default);
    let mut known = restored.lock();
    let Some(saved) = known.get(name) else { return Ok(None) };
    saved.table.check(operation, kind, schema)?;
    Ok(known.remove(name).map(|saved| saved.initial))
}
