//! Partitioned tables of tables that are there: no constituent comes or goes.

use std::sync::{Arc, Weak};

use arrow_array::{ArrayRef, Int64Array};
use graph::NodeId;

use super::followers::Followers;
use super::keys::with_ids;
use super::member::Member;
use super::{Members, Partitioned};
use crate::driver::when::When;
use crate::error::Error;
use crate::eval::call::Call;
use crate::sources::from_chunks;
use crate::table::handle::{Table, common_graph};

struct Given {
    tables: Vec<Table>,
    template: Table,
}

impl Partitioned {
    /// These tables, which have the same columns; the rows of a static table, if there is one, are their keys.
    pub fn of(call: &Call, keys: Option<&Table>, tables: &[Table]) -> Result<Partitioned, Error> {
        let operation = &call.method;
        let Some(first) = tables.first() else {
            return Err(Error::schema(operation, "at least one table is needed, which tells the columns"));
        };
        for (at, table) in tables.iter().enumerate() {
            table.alive()?;
            if table.attributes().blink {
                let message = format!(
                    "table {at} is a blink table, whose rows live for one step; remove_blink gives rows that stay"
                );
                return Err(Error::invalid(operation, message));
            }
            fits(operation, first, at, table)?;
        }
        let graph = common_graph(operation, tables)?;
        let empty = vec![Vec::new(); first.width()];
        let template = from_chunks(first.schema().clone(), empty, 0)?;
        let (mut fields, mut columns) = (Vec::new(), Vec::new());
        if let Some(keys) = keys {
            let view = keys.still_view();
            if view.rows().len() != tables.len() as u64 {
                let message = format!("{} keys for {} tables", view.rows().len(), tables.len());
                return Err(Error::schema(operation, message));
            }
            fields = keys.canonical().fields().iter().map(|field| field.as_ref().clone()).collect();
            for at in 0..keys.width() {
                columns.push(vec![view.read(at, view.rows())?]);
            }
        }
        let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..tables.len() as i64));
        columns.push(vec![ids]);
        let set = from_chunks(Arc::new(with_ids(fields)), columns, tables.len() as u64)?;
        let members = Arc::new(Given { tables: tables.to_vec(), template });
        Ok(Partitioned { set, members, graph, changes: false })
    }
}

/// Whether a table has the columns of the first, in their order.
fn fits(operation: &str, first: &Table, at: usize, table: &Table) -> Result<(), Error> {
    let (wanted, found) = (first.canonical().fields(), table.canonical().fields());
    for place in 0..wanted.len().max(found.len()) {
        let (wanted, found) = (wanted.get(place), found.get(place));
        let message = match (wanted, found) {
            (Some(wanted), None) => format!("table {at} has no column {:?}, as table 0 has", wanted.name()),
            (None, Some(found)) => format!("table {at} has a column {:?} that table 0 has not", found.name()),
            (Some(wanted), Some(found)) if wanted.name() != found.name() => {
                format!("column {place} of table {at} is {:?}, of table 0 {:?}", found.name(), wanted.name())
            }
            (Some(wanted), Some(found)) if wanted.data_type() != found.data_type() => format!(
                "column {:?} is {} in table 0, {} in table {at}; cast one of them",
                wanted.name(),
                formula::type_name(wanted.data_type()),
                formula::type_name(found.data_type())
            ),
            _ => continue,
        };
        return Err(Error::schema(operation, message));
    }
    Ok(())
}

impl Members for Given {
    fn member(self: Arc<Self>, id: u64, _: When) -> Result<Member, Error> {
        let table = self.tables.get(id as usize);
        table.cloned().map(Member::Table).ok_or_else(|| Error::internal("partitioned", "a table that is not there"))
    }

    fn follow(&self, consumer: NodeId, alive: Weak<()>) {
        let known: Vec<NodeId> = self.tables.iter().filter_map(Table::node_id).collect();
        if let Some(graph) = self.tables.iter().find_map(Table::graph) {
            Followers::default().join(graph, consumer, alive, &known);
        }
    }

    fn template(&self, _: When) -> Result<Table, Error> {
        Ok(self.template.clone())
    }
}
