//! Columns that were made of a table's rows in another order, beside its rows as they stand.
//!
//!   table   0 A 3    1 B 1        in order of V, a running sum      0 B 1 1 home 1    2 A 3 4 home 0
//!   out     0 A 3 4  1 B 1 1
//!   table   + 2 C 2               made   + 1 C 2 3 home 2    ~ 2 . . 6 .
//!   out     + 2 C 2 3    ~ 0 . . 6
//!
//! Each row of the second table says the key of its row in the first one. Rows and columns of the first are shared, the columns
//! that come home are stored. Cost of an update: the rows that came or changed in the second table; a row that came to another
//! place there with the value that it had is not told.

use std::sync::Arc;

use arrow_array::UInt32Array;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_buffer::BooleanBuffer;
use arrow_schema::{DataType, Field, Schema};
use column::kernels::equal_cells;
use column::{Chunk, ColumnSource, FlatColumn};
use formula::ColumnName;
use graph::{Moment, Step};
use rowset::RowSet;

use super::beside_rows::{outputs, widened};
use super::neighbours::told;
use super::select::Output;
use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::ops::asked::Asked;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::request::Request;
use crate::table::store::{Columns, Writes};
use crate::table::update::TableUpdate;
use crate::table::view::View;

/// The columns of a table, then columns of another that has its rows in another order.
pub struct BroughtHome {
    request: Request,
    /// The column of the second table that has the keys of the first.
    home: usize,
    /// Columns of the second table, as they are called here.
    made: Vec<(usize, ColumnName, DataType)>,
}

impl BroughtHome {
    /// `home`: the column of `other` with the row keys of the table; `made`: the columns of it that come home.
    pub fn new(operation: &str, other: &Table, home: &ColumnName, made: &[ColumnName]) -> Result<BroughtHome, Error> {
        let column = |name: &ColumnName| {
            let at = other.column_index(operation, name)?;
            Ok((at, name.clone(), other.column_type(at).clone()))
        };
        let text: Vec<&str> = made.iter().map(ColumnName::shown).collect();
        let request = Request::new(operation, &Asked::BroughtHome { home, made }).with_text(text.join(", "));
        let home = other.column_index(operation, home)?;
        Ok(BroughtHome { request, home, made: made.iter().map(column).collect::<Result<_, Error>>()? })
    }
}

impl Operation for BroughtHome {
    fn request(&self) -> &Request {
        &self.request
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let (Input { table, view }, other) = (&inputs[0], &inputs[1].view);
        let rows = view.rows();
        // The key of its row, its place, and a cell of each column.
        limits::ask_rows(rows.len(), 24 + 8 * self.made.len() as u64)?;
        let columns: Vec<usize> = self.made.iter().map(|(column, ..)| *column).collect();
        let came = Came::read(other, self.home, &columns, other.rows())?;
        if came.rows.len() as u64 != rows.len() {
            return Err(Error::internal("brought home", "two tables of the same rows differ in how many they have"));
        }
        let fields = self.made.iter().map(|(_, name, kind)| Field::new(name.as_str(), kind.clone(), true));
        let canonical = Schema::new(fields.collect::<Vec<_>>());
        let counters = table.graph().map(crate::observe::storage).unwrap_or_default();
        let cells: Vec<Vec<(RowSet, Chunk)>> =
            came.cells.into_iter().map(|cells| vec![(rows.clone(), cells)]).collect();
        let flat = |cells: Vec<(RowSet, Chunk)>| {
            Ok(Arc::new(FlatColumn::new(cells.into_iter().map(|(_, cells)| cells).collect())?) as Arc<dyn ColumnSource>)
        };
        let (sources, stored) = if !table.is_live() && rows.is_flat() && !rows.is_empty() {
            let sources = cells.into_iter().map(flat).collect::<Result<_, Error>>()?;
            (sources, Columns::new(&canonical, at, &counters))
        } else {
            let stored = Columns::filled(&canonical, at, &counters, &cells)?;
            (stored.sources(), stored)
        };
        let parts = widened(table, self.made.iter().map(|(_, name, kind)| (name, kind)), true, sources);
        let owned = stored.owned();
        let outputs = outputs(table, self.made.len());
        let live = BroughtHomeLive { outputs, home: self.home, columns, stored };
        Ok(Start { parts, live: Box::new(live), owned })
    }
}

/// Cells of rows of the second table, by the keys of the first.
struct Came {
    /// Ascending.
    rows: Vec<u64>,
    /// In their order.
    cells: Vec<Chunk>,
}

impl Came {
    fn read(view: &View, home: usize, columns: &[usize], rows: &RowSet) -> Result<Came, Error> {
        let keys = view.read(home, rows)?;
        let keys = keys.as_primitive::<UInt64Type>().values();
        let mut order: Vec<u32> = (0..keys.len() as u32).collect();
        let sorted = keys.is_sorted();
        if !sorted {
            order.sort_unstable_by_key(|at| keys[*at as usize]);
        }
        let rows_home = order.iter().map(|at| keys[*at as usize]).collect();
        let order = UInt32Array::from(order);
        let cells = |column: &usize| {
            let cells = view.read(*column, rows)?;
            Ok(if sorted { cells } else { arrow_select::take::take(&cells, &order, None)? })
        };
        Ok(Came { rows: rows_home, cells: columns.iter().map(cells).collect::<Result<_, Error>>()? })
    }
}

struct BroughtHomeLive {
    outputs: Vec<Output>,
    home: usize,
    /// In the second table.
    columns: Vec<usize>,
    stored: Columns,
}

impl Live for BroughtHomeLive {
    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let (update, other) = (inputs[0].update(), inputs[1].update());
        let mut writes = Writes { removed: update.removed.clone(), shifts: update.shifts.clone(), ..Writes::default() };
        let changed = match other.columns.contains_any(&self.columns) {
            true => &other.added | &other.modified,
            false => other.added.clone(),
        };
        let came = Came::read(inputs[1].now(), self.home, &self.columns, &changed)?;
        let fresh = BooleanBuffer::collect_bool(came.rows.len(), |at| update.added.contains(came.rows[at]));
        let rows_of = |fresh_ones: bool| {
            let rows = came.rows.iter().zip(&fresh).filter(|(_, fresh)| *fresh == fresh_ones);
            RowSet::from_sorted_keys(&rows.map(|(row, _)| *row).collect::<Vec<_>>())
        };
        let (added, stayed) = (rows_of(true), rows_of(false));
        if added.len() != update.added.len() {
            return Err(Error::internal("brought home", "a row that came has come to no place in the other order"));
        }
        let only = |cells: &Chunk, which: &BooleanBuffer| {
            Ok::<_, Error>(arrow_select::filter::filter(cells, &arrow_array::BooleanArray::new(which.clone(), None))?)
        };
        if !added.is_empty() {
            let cells = came.cells.iter().map(|cells| only(cells, &fresh)).collect::<Result<_, Error>>()?;
            writes.added.push((added, cells));
        }
        let stays = !&fresh;
        for (at, cells) in came.cells.iter().enumerate() {
            if stayed.is_empty() {
                writes.modified.push(None);
                continue;
            }
            let cells = only(cells, &stays)?;
            let old = self.stored.stored(at, step, &update.shifts.back(&stayed).0)?;
            let differs = !&equal_cells(&cells, &old);
            let rows: Vec<u64> =
                stayed.iter().zip(&differs).filter(|(_, differs)| *differs).map(|(row, _)| row).collect();
            let made = (RowSet::from_sorted_keys(&rows), only(&cells, &differs)?);
            writes.modified.push(Some(made).filter(|_| !rows.is_empty()));
        }
        self.stored.write(step, || inputs[0].before().rows().clone(), inputs[0].now().rows().clone(), &writes)?;
        Ok(told(&self.outputs, update, |place| writes.modified[place].as_ref().map(|(rows, _)| rows)))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use formula::Expr;
    use model::ops::{Derived, with_columns};
    use model::{Compare, ModelExpr};

    use super::*;
    use crate::driver::attach::attach;
    use crate::ops::reverse::Reverse;
    use crate::ops::row_keys::RowKeys;
    use crate::plan::{ColumnOptions, columns};
    use crate::testing::{any_table, check_law};

    /// A column that is made of the rows with their keys, in this order or the opposite one, and comes home.
    pub(in crate::ops) fn check(steps: u64, opposite: bool) {
        let build = |table: &Table| {
            let home = ColumnName::from("home");
            let keyed = attach(&RowKeys::new("select", &home), std::slice::from_ref(table))?;
            let made = [Expr::column("v").alias("w")];
            let mut other = columns("with_columns", &keyed, &made, ColumnOptions::STORED)?;
            if opposite {
                other = attach(&Reverse::default(), std::slice::from_ref(&other))?;
            }
            let home = BroughtHome::new("select", &other, &home, &[ColumnName::from("w")])?;
            attach(&home, &[table.clone(), other])
        };
        let model = [Derived::expr("w", ModelExpr::column("v"))];
        check_law(&any_table(), steps, Compare::ByPosition, build, |input| with_columns(input, &model));
    }

    #[test]
    fn law() {
        check(300, true);
    }
}
