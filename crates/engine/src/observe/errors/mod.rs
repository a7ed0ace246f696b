//! The rows that operations passed over, as tables: of one table, and of a whole graph.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use formula::{Expr, Function};
use graph::{Moment, UpdateGraph};

use crate::driver::attach::attach;
use crate::driver::operation::{Input, Operation, Start};
use crate::error::Error;
use crate::ops::{Filter, Project};
use crate::row_errors::{Journal, ORIGIN, RowError, RowErrors, SHOWN, batch, schema};
use crate::table::handle::Table;
use crate::table::request::Request;
use crate::table::settle::Settle;

/// What went wrong in this one table.
fn told_of(row_errors: &RowErrors, table: &Table) -> Result<Table, Error> {
    let Some(graph) = table.graph().filter(|_| row_errors.is_live()) else { return fixed(&row_errors.kept()) };
    let errors = Journal::of(graph).table(graph)?;
    let mine = Expr::call(Function::Equal, vec![Expr::column(ORIGIN), Expr::literal(row_errors.origin() as i64)])?;
    let part = Part { filter: Filter::named("errors", &errors, &[mine])?, of: table.clone() };
    shown(&attach(&part, std::slice::from_ref(&errors))?)
}

/// The table of one table's row errors. It keeps that table alive but does not depend on it, so it can be read after a
/// failure.
struct Part {
    filter: Filter,
    of: Table,
}

struct Kept {
    _table: Table,
}

impl Settle for Kept {
    fn settle(&self) {}

    fn bytes(&self) -> u64 {
        0
    }
}

impl Operation for Part {
    fn request(&self) -> &Request {
        self.filter.request()
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let mut start = self.filter.init(inputs, at)?;
        start.owned.push(Arc::new(Kept { _table: self.of.clone() }));
        Ok(start)
    }
}

impl Table {
    /// The rows that this table could not compute, with the columns operation, column, row key, step and message. Live
    /// if the table is live; empty for a table without `on_error`.
    pub fn errors(&self) -> Result<Table, Error> {
        self.request().row_errors.as_ref().map_or_else(|| fixed(&[]), |row_errors| told_of(row_errors, self))
    }
}

/// The rows that the tables of a graph could not compute. The result lives for as long as somebody holds it, or holds a
/// table made with `on_error`.
pub fn errors(graph: &UpdateGraph) -> Result<Table, Error> {
    shown(&Journal::of(graph).table(graph)?)
}

/// The number of row errors since the graph's first table with `on_error` was made, including those beyond the maximum
/// number of rows.
pub fn error_count(graph: &UpdateGraph) -> u64 {
    Journal::of(graph).total.load(Ordering::Relaxed)
}

fn shown(table: &Table) -> Result<Table, Error> {
    let names: Vec<(usize, String)> = SHOWN.iter().enumerate().map(|(at, name)| (at, (*name).to_owned())).collect();
    attach(&Project::of("errors", names)?, std::slice::from_ref(table))
}

fn fixed(row_errors: &[RowError]) -> Result<Table, Error> {
    let batch = batch(row_errors)?;
    let columns = batch.columns().iter().map(|column| vec![column.clone()]).collect();
    shown(&crate::sources::from_chunks(schema(), columns, row_errors.len() as u64)?)
}

#[cfg(test)]
mod tests;
