//! A source with a store and a queue: the table that all fed sources are.

use std::sync::Arc;

use arrow_schema::Schema;
use column::Chunk;
use graph::UpdateGraph;
use rowset::RowSet;

use crate::driver::node::TableNode;
use crate::driver::operation::{Live, Start};
use crate::error::Error;
use crate::sources::feed::{AllFits, Queue, Validator, Weighed};
use crate::sources::journal::{self, FedKind, Initial, Journal, SourceStore, Tap};
use crate::sources::publisher::Publisher;
use crate::sources::room::QueueLimit;
use crate::table::handle::{Table, canonical_schema};
use crate::table::parts::{Attributes, Parts};
use crate::table::request::Request;
use crate::table::rows::LiveRows;
use crate::table::store::Store;

/// How a source is fed, and what becomes of what it stores.
#[derive(Clone, Default)]
pub struct Feeding {
    /// The room of its queue.
    pub limit: QueueLimit,
    /// Who is told of steps that open, and of the end.
    pub publisher: Option<Arc<dyn Publisher>>,
    /// The name that its user gave it.
    pub name: Option<String>,
    /// Who keeps what it stores, and the number under which the source is known there.
    pub journal: Option<(u64, Arc<dyn Journal>)>,
    /// The rows that it begins with.
    pub initial: Option<Arc<Initial>>,
}

/// A source whose calls need not fit anything. The graph's own ones are of no kind, and nobody keeps them.
pub(crate) fn fed_table<C: Weighed + Send + 'static, L: Live + 'static>(
    name: &str,
    graph: &UpdateGraph,
    schema: Arc<Schema>,
    attributes: Attributes,
    kind: Option<FedKind>,
    feeding: Feeding,
    live: impl FnOnce(Arc<Queue<C>>, SourceStore, &Initial) -> Result<L, Error>,
) -> Result<(Table, Arc<Queue<C>>), Error> {
    judged_table(name, graph, schema, attributes, kind, feeding, |_| Arc::new(AllFits), live)
}

/// A source whose judge, who may look at the rows, says which calls fit.
pub(crate) fn judged_table<C: Weighed + Send + 'static, L: Live + 'static>(
    name: &str,
    graph: &UpdateGraph,
    schema: Arc<Schema>,
    attributes: Attributes,
    kind: Option<FedKind>,
    feeding: Feeding,
    judge: impl FnOnce(&Arc<LiveRows>) -> Arc<dyn Validator<C>>,
    live: impl FnOnce(Arc<Queue<C>>, SourceStore, &Initial) -> Result<L, Error>,
) -> Result<(Table, Arc<Queue<C>>), Error> {
    super::fixed::unique_names(name, &schema)?;
    let initial = feeding.initial.unwrap_or_default();
    let store = begun(name, graph, &canonical_schema(&schema), &initial)?;
    let tap = Arc::new(Tap::new(initial.next));
    let store = SourceStore::new(store, tap.clone());
    let journal = feeding.journal.as_ref().map(|(_, journal)| journal.clone());
    let queue = Queue::new(graph, judge(store.rows()), feeding.limit, journal);
    let parts = Parts { rows: store.rows().clone(), columns: store.columns().sources(), schema, attributes };
    let owned = store.owned();
    let start = Start { parts, live: Box::new(live(queue.clone(), store, &initial)?), owned };
    let durable = feeding.journal.is_some();
    if let Some((source, journal)) = feeding.journal {
        tap.follow(source, journal);
    }
    let table = TableNode::source(&Request::unique(name), graph, start, Some(queue.clone()));
    queue.registered(table.node_id().expect("a source is registered as it is made"), feeding.publisher);
    if let Some(kind) = kind {
        journal::note(graph, &table, kind, feeding.name, durable, &tap);
    }
    Ok((table, queue))
}

/// The store of a source that begins with these rows.
fn begun(name: &str, graph: &UpdateGraph, canonical: &Schema, initial: &Initial) -> Result<Store, Error> {
    let (at, counters) = (graph.settled(), crate::observe::storage(graph));
    if initial.rows.is_empty() {
        return Ok(Store::new(canonical, at, &counters));
    }
    let mut rows = RowSet::new();
    for (keys, cells) in &initial.rows {
        let fit = cells.len() == canonical.fields().len()
            && cells
                .iter()
                .zip(canonical.fields())
                .all(|(chunk, field)| chunk.len() as u64 == keys.len() && chunk.data_type() == field.data_type());
        let ascend = rows.last().is_none_or(|last| keys.first().is_none_or(|first| first > last));
        if !fit || !ascend {
            return Err(Error::data(name, "the rows that it begins with are not of its columns, or out of order"));
        }
        rows |= keys;
    }
    let pieces =
        |column: usize| initial.rows.iter().map(|(keys, cells)| (keys.clone(), cells[column].clone())).collect();
    let cells: Vec<Vec<(RowSet, Chunk)>> = (0..canonical.fields().len()).map(pieces).collect();
    Store::filled(canonical, at, &counters, rows, &cells)
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
