//! Static copies of live tables: pinned columns, whose blocks are shared.

use std::sync::Arc;

use arrow_schema::DataType;
use column::{Column, ColumnSource};
use graph::{Moment, Moved};

use super::handle::{Table, common_graph, views};
use super::parts::{Attributes, Parts};
use super::request::Request;
use super::rows::LiveRows;
use super::view::View;
use crate::error::Error;

impl Table {
    /// A static copy of the table at the last settled moment. It shares all blocks with the live table.
    pub fn snapshot(&self) -> Result<Table, Error> {
        if !self.is_live() {
            return Ok(self.clone());
        }
        Ok(snapshot(std::slice::from_ref(self))?.pop().expect("one table, one snapshot"))
    }
}

/// Static copies of several tables of one graph, all of one step.
pub fn snapshot(tables: &[Table]) -> Result<Vec<Table>, Error> {
    snapshot_at(tables).map(|(_, copies)| copies)
}

/// As [`snapshot`], with the moment of the copies.
pub fn snapshot_at(tables: &[Table]) -> Result<(Moment, Vec<Table>), Error> {
    common_graph("snapshot", tables)?;
    let (moment, views) = views(tables);
    // Checked after pinning: a table may fail while the others are pinned, and its pinned content is then of an earlier
    // step.
    for table in tables {
        table.alive_at(moment)?;
    }
    let copies = tables.iter().zip(views).map(|(table, view)| from_view(table, &view));
    Ok((moment, copies.collect::<Result<_, Error>>()?))
}

/// The static copy of a pinned view: shares its blocks.
pub(crate) fn from_view(table: &Table, view: &View) -> Result<Table, Error> {
    let mut columns: Vec<Arc<dyn ColumnSource>> = Vec::with_capacity(view.width());
    for index in 0..view.width() {
        columns.push(Arc::new(StillColumn(view.column(index)?.clone())));
    }
    let attributes = Attributes { blink: false, append_only: false, add_only: false, ..table.attributes().clone() };
    let parts = Parts {
        rows: Arc::new(LiveRows::new(view.rows().clone(), Moment::new(0))),
        columns,
        schema: table.schema().clone(),
        attributes,
    };
    Ok(Table::fixed(parts, Request::unique("snapshot")))
}

/// A pinned column as a source that gives the same column at every moment.
pub(crate) struct StillColumn(pub(crate) Arc<dyn Column>);

impl ColumnSource for StillColumn {
    fn data_type(&self) -> &DataType {
        self.0.data_type()
    }

    fn at(&self, _: Moment) -> Result<Arc<dyn Column>, Moved> {
        Ok(self.0.clone())
    }

    fn bytes(&self) -> u64 {
        0
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}
