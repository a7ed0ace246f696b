//! A constituent: the rows of one key, with the columns of the table that was split.
//!
//!   in   0 A 1    1 B 2    2 A 3          A    0 A 1    2 A 3        columns shared, rows own
//!
//! Its hub has found out what concerns it. Cost of an update: the part that it is left.

use std::sync::Arc;

use arrow_schema::Schema;
use graph::Step;
use rowset::{Before, RowSet, Shifts};

use super::hub::Hub;
use super::mail::{Mail, Part};
use crate::driver::attach::register;
use crate::driver::operation::{Live, Start};
use crate::driver::when::When;
use crate::error::Error;
use crate::ops::project::mapped;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::{Attributes, Parts};
use crate::table::request::Request;
use crate::table::rows::LiveRows;
use crate::table::update::TableUpdate;

/// A constituent of these rows, below `node`, and its mail.
pub(super) fn make(hub: &Arc<Hub>, node: &Table, rows: RowSet, when: When) -> Result<(Table, Arc<Mail>), Error> {
    let source = &hub.source;
    let fields = hub.columns.iter().map(|column| source.schema().field(*column).clone());
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let kept = source.attributes();
    let has = |name: &String| schema.index_of(name).is_ok();
    let attributes = Attributes {
        flat: false,
        key: if kept.key.iter().all(has) { kept.key.clone() } else { Vec::new() },
        sorted_by: kept.sorted_by.iter().take_while(|(name, _)| has(name)).cloned().collect(),
        ..kept.clone()
    };
    let rows = Arc::new(LiveRows::new(rows, when.moment()));
    let columns = hub.columns.iter().map(|column| source.parts().columns[*column].clone()).collect();
    let parts = Parts { rows: rows.clone(), columns, schema, attributes };
    let request = hub.request.alone();
    let mail = Arc::new(Mail::default());
    let Some(graph) = source.graph() else { return Ok((Table::fixed(parts, request), mail)) };
    let live = ConstituentLive { hub: hub.clone(), mail: mail.clone(), rows: rows.clone() };
    let start = Start { parts, live: Box::new(live), owned: vec![rows] };
    // The source has settled when the hub has, and wakes nobody.
    let parents: Vec<_> = node.node_id().into_iter().collect();
    let table = register(&Request { ..request }, graph, &[source.clone(), node.clone()], start, &parents, when)?;
    Ok((table, mail))
}

struct ConstituentLive {
    hub: Arc<Hub>,
    mail: Arc<Mail>,
    rows: Arc<LiveRows>,
}

impl Live for ConstituentLive {
    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let Some(Part { removed, added, modified }) = self.mail.take(step) else { return Ok(TableUpdate::default()) };
        let update = inputs[0].update();
        let columns = mapped(&update.columns, &self.hub.columns);
        let modified = if columns.is_empty() { RowSet::new() } else { modified };
        let columns = columns.unless_empty(&modified);
        self.rows.edit(step, |now| {
            let shifts = match update.shifts.is_empty() {
                true => Shifts::none(),
                false => update.shifts.restrict(&Before(now - &removed.0)),
            };
            Ok(TableUpdate { added, removed, modified, columns, shifts })
        })
    }
}
