//! A column that is an expression over others, computed when it is read.

use std::any::Any;
use std::sync::Arc;

use arrow_array::UInt32Array;
use arrow_schema::DataType;
use column::{Chunk, Column, ColumnSource, NO_ROW};
use graph::{Moment, Moved};
use rowset::RowSet;

use crate::error::Error;
use crate::eval::evaluator::Evaluator;
use crate::table::handle::Table;
use crate::table::rows::LiveRows;
use crate::table::view::View;

/// These expressions over the columns of a table, each as a column.
pub(crate) fn computed_columns(columns: &Arc<[Evaluator]>, table: &Table) -> Vec<Arc<dyn ColumnSource>> {
    let sources: Arc<[Arc<dyn ColumnSource>]> = table.parts().columns.clone().into();
    let depth = sources.iter().map(depth).max().unwrap_or(0) + 1;
    let (columns, rows) = (columns.clone(), table.parts().rows.clone());
    let source = |at: usize| {
        let (columns, rows, sources) = (columns.clone(), rows.clone(), sources.clone());
        Arc::new(ComputedSource { columns, at, rows, sources, depth }) as Arc<dyn ColumnSource>
    };
    (0..columns.len()).map(source).collect()
}

/// How many computed columns a column is computed through.
pub(crate) fn depth(source: &Arc<dyn ColumnSource>) -> usize {
    source.as_any().downcast_ref::<ComputedSource>().map_or(0, |computed| computed.depth)
}

/// A column that is an expression over others.
pub(crate) struct ComputedSource {
    columns: Arc<[Evaluator]>,
    at: usize,
    rows: Arc<LiveRows>,
    sources: Arc<[Arc<dyn ColumnSource>]>,
    depth: usize,
}

impl ComputedSource {
    /// The expression, and the columns that it is bound to.
    pub(crate) fn parts(&self) -> (&Evaluator, &[Arc<dyn ColumnSource>]) {
        (&self.columns[self.at], &self.sources)
    }
}

impl ColumnSource for ComputedSource {
    fn data_type(&self) -> &DataType {
        self.columns[self.at].data_type()
    }

    fn at(&self, moment: Moment) -> Result<Arc<dyn Column>, Moved> {
        let view = View::new(self.rows.clone(), moment, self.sources.clone());
        let evaluator = &self.columns[self.at];
        if evaluator.needs_context() {
            view.pin_rows()?;
        }
        view.pin(evaluator.inputs().iter().chain(evaluator.reach().reads.iter().map(|(_, column)| column)))?;
        if evaluator.reach().whole {
            view.pin_all()?;
        }
        Ok(Arc::new(Computed { columns: self.columns.clone(), at: self.at, view }))
    }

    fn bytes(&self) -> u64 {
        0
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

struct Computed {
    columns: Arc<[Evaluator]>,
    at: usize,
    view: View,
}

impl Computed {
    fn evaluator(&self) -> &Evaluator {
        &self.columns[self.at]
    }
}

fn unread(error: Error) -> column::Error {
    column::Error::Computed(Arc::new(error))
}

impl Column for Computed {
    fn data_type(&self) -> &DataType {
        self.evaluator().data_type()
    }

    fn read(&self, rows: &RowSet) -> Result<Chunk, column::Error> {
        self.evaluator().evaluate(&self.view, rows).map_err(unread)
    }

    fn take(&self, keys: &[u64]) -> Result<Chunk, column::Error> {
        take_by(keys, |rows| self.read(rows))
    }

    fn starts(&self) -> &[u64] {
        self.view.starts(self.evaluator().inputs())
    }

    fn pieces(&self, rows: &RowSet) -> Result<Vec<Chunk>, column::Error> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        self.evaluator().pieces(&self.view, rows).map_err(unread)
    }
}

/// Cells in the order of these keys, by one read in key order; [`NO_ROW`] gives null.
pub(crate) fn take_by(
    keys: &[u64],
    read: impl FnOnce(&RowSet) -> Result<Chunk, column::Error>,
) -> Result<Chunk, column::Error> {
    let rows: RowSet = keys.iter().copied().filter(|key| *key != NO_ROW).collect();
    let cells = read(&rows)?;
    if rows.len() as usize == keys.len() && keys.is_sorted() {
        return Ok(cells);
    }
    let place = |key: &u64| rows.position_of(*key).and_then(|place| u32::try_from(place).ok());
    let places: UInt32Array = keys.iter().map(place).collect();
    Ok(arrow_select::take::take(&cells, &places, None)?)
}
