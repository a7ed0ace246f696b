//! The set of a split table: a row for each key that is there, in the order in which they came.
//!
//!   in   0 A 1    1 B 2      set   0 A #0    1 B #1
//!   in   - 0                 set   - 0
//!   in   + 5 A 3             set   + 2 A #2
//!
//! Cost of an update: the keys that come and go.

use std::sync::Arc;

use arrow_array::Int64Array;
use arrow_schema::{DataType, Field, Schema};
use column::Chunk;
use formula::ColumnName;
use graph::{NodeId, Step};
use rowset::{Before, RowSet};

use super::hub::{Hub, State};
use crate::driver::attach::register;
use crate::driver::operation::{Live, Start};
use crate::driver::when::When;
use crate::error::Error;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::{Attributes, Parts};
use crate::table::store::{Store, Writes};
use crate::table::update::TableUpdate;
use crate::threads::lock;

/// The key columns of a table, and a column of ids.
pub(super) fn with_ids(mut keys: Vec<Field>) -> Schema {
    keys.push(ColumnName::hidden(0, None, "constituent".into()).field(DataType::Int64));
    Schema::new(keys)
}

/// The set of a hub.
pub(super) fn set(hub: &Arc<Hub>, node: &Table, when: When) -> Result<Table, Error> {
    let source = &hub.source;
    let of =
        |schema: &Schema| with_ids(hub.keys.iter().map(|key| schema.field(*key).clone().with_nullable(true)).collect());
    let (rows, cells) = {
        let state = lock(&hub.state);
        let present = state.present();
        let ids: Vec<u64> = present.iter().map(|(id, _)| *id).collect();
        (RowSet::from_sorted_keys(&ids), cells(&state, &present))
    };
    let pieces: Vec<Vec<(RowSet, Chunk)>> = cells.into_iter().map(|cells| vec![(rows.clone(), cells)]).collect();
    let counters = source.graph().map(crate::observe::storage).unwrap_or_default();
    let store = Store::filled(&of(source.canonical()), when.moment(), &counters, rows, &pieces)?;
    let only_grows = source.attributes().append_only || source.attributes().add_only;
    let attributes = Attributes { append_only: only_grows, add_only: only_grows, ..Attributes::default() };
    let (rows, columns) = (store.rows().clone(), store.columns().sources());
    let parts = Parts { rows, columns, schema: Arc::new(of(source.schema())), attributes };
    let request = hub.request.alone();
    let Some(graph) = source.graph() else { return Ok(Table::fixed(parts, request)) };
    let owned = store.owned();
    let live = SetLive { hub: hub.clone(), store };
    let start = Start { parts, live: Box::new(live), owned };
    let parents: Vec<_> = node.node_id().into_iter().collect();
    register(&request, graph, &[source.clone(), node.clone()], start, &parents, when)
}

/// The cells of these keys: the key columns, then the ids.
fn cells(state: &State, keys: &[(u64, u32)]) -> Vec<Chunk> {
    let slots: Vec<u32> = keys.iter().map(|(_, slot)| *slot).collect();
    let mut cells = state.groups.keys_of(&slots);
    cells.push(Arc::new(Int64Array::from_iter_values(keys.iter().map(|(id, _)| *id as i64))));
    cells
}

struct SetLive {
    hub: Arc<Hub>,
    store: Store,
}

impl Live for SetLive {
    fn joined(&mut self, node: NodeId) {
        lock(&self.hub.state).set = Some(node);
    }

    fn update(&mut self, _: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let writes = {
            let mut state = lock(&self.hub.state);
            let Some((_, news)) = state.news.take().filter(|(of, _)| *of == step) else {
                return Ok(TableUpdate::default());
            };
            let removed = Before(RowSet::from_keys(news.departed));
            let ids: Vec<u64> = news.arrived.iter().map(|(id, _)| *id).collect();
            let added = (!ids.is_empty()).then(|| (RowSet::from_sorted_keys(&ids), cells(&state, &news.arrived)));
            Writes { removed, added: added.into_iter().collect(), ..Writes::default() }
        };
        self.store.write(step, writes)
    }
}
