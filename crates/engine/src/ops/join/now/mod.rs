//! `join_now`, `join_asof_now`: every left row, with the columns of the right row that it meets as it comes.
//!
//!   right  0 A 1
//!   left   + 0 A                     out   + 0 A 1
//!   right  ~ 0 A 9    + 1 B 2        out   nothing: what was answered stays
//!   left   + 1 A    + 2 B            out   + 1 A 9    + 2 B 2
//!
//! Left rows and columns are shared, right cells are copied. A row is answered in the step in which it comes, from the right
//! rows at the end of that step, and again where its own key or stamp changes. Only the right side is indexed. Cost of an
//! update: a search a changed row of either side.

mod finders;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use arrow_schema::Schema;
use column::Chunk;
use column::kernels::equal_cells;
use graph::{Moment, Step};
use rowset::RowSet;

use self::finders::{AsofNow, Finder, NaturalNow};
use super::beside::Beside;
use super::on::{On, Side, added_columns, joined_schema, joined_update};
use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::ops::AsofJoin;
use crate::ops::asked::Asked;
use crate::plan::spec::{Matches, NowOptions};
use crate::sizes::RANGE_ROWS;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::Parts;
use crate::table::request::Request;
use crate::table::update::TableUpdate;
use crate::table::view::View;

/// Left rows with the right row that each meets as it comes.
pub struct NowJoin {
    request: Request,
    how: How,
    added: Vec<(usize, String)>,
}

enum How {
    Natural { on: Arc<On>, matches: Matches, nulls_equal: bool },
    Asof(AsofJoin),
}

impl NowJoin {
    /// Checks names and types.
    pub fn new(operation: &str, left: &Table, right: &Table, options: &NowOptions) -> Result<NowJoin, Error> {
        let (how, added, text) = match options {
            NowOptions::Natural { on, joins, suffix, matches, nulls_equal } => {
                if on.is_empty() {
                    return Err(Error::schema(operation, "at least one key column is needed (on=)"));
                }
                let keys = On::new(operation, left, right, on)?;
                let (joins, suffix) = (joins.as_deref(), suffix.as_deref());
                let added = added_columns(operation, left, right, joins, &keys.columns(Side::Right), suffix)?;
                let how = How::Natural { on: Arc::new(keys), matches: *matches, nulls_equal: *nulls_equal };
                (how, added, On::text(left, right, on))
            }
            NowOptions::Asof(options) => {
                let join = AsofJoin::new(operation, left, right, options)?;
                let (added, text) = (join.added().to_vec(), options.on.0.clone());
                (How::Asof(join), added, text)
            }
        };
        Ok(NowJoin { request: Request::new(operation, &Asked::Now(options)).with_text(text), how, added })
    }

    fn finder(&self, right: &Input) -> Result<Box<dyn Finder>, Error> {
        Ok(match &self.how {
            How::Natural { on, matches, nulls_equal } => {
                Box::new(NaturalNow::start(&self.request.name, on, *matches, *nulls_equal, &right.view)?)
            }
            How::Asof(join) => Box::new(AsofNow::start(join, &right.view)?),
        })
    }
}

impl Operation for NowJoin {
    fn request(&self) -> &Request {
        &self.request
    }

    fn remembers(&self, _inputs: &[Table]) -> bool {
        true
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let [left, right] = inputs else { unreachable!("a join has two inputs") };
        limits::ask_rows(left.view.rows().len().saturating_add(right.view.rows().len()), 16)?;
        let schema = joined_schema(&left.table, &right.table, &self.added);
        let width = left.table.width();
        let types = self.added.iter().map(|(column, _)| right.table.column_type(*column).clone());
        let stored = schema.fields()[width..].iter().zip(types);
        let stored = stored.map(|(field, kind)| arrow_schema::Field::new(field.name(), kind, true));
        let stored = Schema::new(stored.collect::<Vec<_>>());
        let finder = self.finder(right)?;
        let added: Vec<usize> = self.added.iter().map(|(column, _)| *column).collect();
        let parts = crate::threads::parallel::parts(left.view.rows(), RANGE_ROWS.rows());
        let mut cells: Vec<Vec<(RowSet, Chunk)>> = vec![Vec::new(); added.len()];
        for rows in parts {
            let found = finder.find(&left.view, &rows)?;
            for (at, made) in taken(&right.view, &added, &stored, &found)?.into_iter().enumerate() {
                cells[at].push((rows.clone(), made));
            }
        }
        let counters =
            [left, right].iter().find_map(|input| input.table.graph()).map(crate::observe::storage).unwrap_or_default();
        let beside = Beside::filled(&stored, at, &counters, &cells, width)?;
        let parts = Parts {
            rows: left.table.parts().rows.clone(),
            columns: left.table.parts().columns.iter().cloned().chain(beside.sources()).collect(),
            schema: Arc::new(schema),
            attributes: left.table.attributes().clone(),
        };
        let owned = beside.owned();
        Ok(Start { parts, live: Box::new(NowLive { finder, added, stored, beside }), owned })
    }
}

/// The cells of these right rows; null of none.
fn taken(right: &View, columns: &[usize], stored: &Schema, rows: &[u64]) -> Result<Vec<Chunk>, Error> {
    let cells = columns.iter().zip(stored.fields()).map(|(column, field)| {
        let cells = right.column(*column)?.take(rows)?;
        let same = cells.data_type() == field.data_type();
        if same { Ok(cells) } else { Ok(column::types::cast(&cells, field.data_type())?) }
    });
    cells.collect()
}

struct NowLive {
    finder: Box<dyn Finder>,
    added: Vec<usize>,
    stored: Schema,
    beside: Beside,
}

impl Live for NowLive {
    fn entries(&self) -> u64 {
        self.finder.entries()
    }

    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let (left, right) = (&inputs[0], &inputs[1]);
        let update = left.update();
        self.finder.take(right)?;
        let rows = &update.added | &self.asking_again(left)?;
        let found = self.finder.find(left.now(), &rows)?;
        let cells = taken(right.now(), &self.added, &self.stored, &found)?;
        let (modified, columns) = self.beside.write(step, left, &rows, cells)?;
        Ok(joined_update(update, 0..0, &RowSet::new(), modified.to_vec(), &columns))
    }
}

impl NowLive {
    /// The modified left rows of which a key or the stamp is another now.
    fn asking_again(&self, left: &Change) -> Result<RowSet, Error> {
        let (update, read) = (left.update(), self.finder.left_columns());
        let mut other = RowSet::new();
        if update.modified.is_empty() || !update.columns.contains_any(&read) {
            return Ok(other);
        }
        let before = update.shifts.back(&update.modified);
        for column in read {
            let (old, new) = (left.before().read(column, &before.0)?, left.now().read(column, &update.modified)?);
            other |= &column::matching(&update.modified, &!&equal_cells(&old, &new));
        }
        Ok(other)
    }
}
