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
use crate::sources::publisher::Publisher;
use crate::sources::room::QueueLimit;
use crate::table::handle::{Table, canonical_schema};
use crate::table::parts::{Attributes, Parts};
use crate::table::request::Request;
use crate::table::rows::LiveRows;
use crate::table::store::Store;

/// How a source is fed.
#[derive(Clone, Default)]
pub struct Feeding {
    /// The room of its queue.
    pub limit: QueueLimit,
    /// Who is told of steps that open, and of the end.
    pub publisher: Option<Arc<dyn Publisher>>,
}

/// A source whose calls need not fit anything.
pub(crate) fn fed_table<C: Weighed + Send + 'static, L: Live + 'static>(
    name: &str,
    graph: &UpdateGraph,
    schema: Arc<Schema>,
    attributes: Attributes,
    feeding: Feeding,
    live: impl FnOnce(Arc<Queue<C>>, Store) -> L,
) -> Result<(Table, Arc<Queue<C>>), Error> {
    judged_table(name, graph, schema, attributes, feeding, |_| Arc::new(AllFits), live)
}

/// A source whose judge, who may look at the rows, says which calls fit.
pub(crate) fn judged_table<C: Weighed + Send + 'static, L: Live + 'static>(
    name: &str,
    graph: &UpdateGraph,
    schema: Arc<Schema>,
    attributes: Attributes,
    feeding: Feeding,
    judge: impl FnOnce(&Arc<LiveRows>) -> Arc<dyn Validator<C>>,
    live: impl FnOnce(Arc<Queue<C>>, Store) -> L,
) -> Result<(Table, Arc<Queue<C>>), Error> {
    super::fixed::unique_names(name, &schema)?;
    let store = Store::new(&canonical_schema(&schema), graph.settled(), &crate::observe::storage(graph));
    let queue = Queue::new(graph, judge(store.rows()), feeding.limit);
    let parts = Parts { rows: store.rows().clone(), columns: store.columns().sources(), schema, attributes };
    let owned = store.owned();
    let start = Start { parts, live: Box::new(live(queue.clone(), store)), owned };
    let table = TableNode::source(&Request::unique(name), graph, start, Some(queue.clone()));
    queue.registered(table.node_id().expect("a source is registered as it is made"), feeding.publisher);
    Ok((table, queue))
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
