//! A table at one moment.

use std::sync::{Arc, OnceLock};

use column::{Chunk, Column, ColumnSource};
use graph::{Moment, Moved};
use rowset::RowSet;

use crate::error::Error;
use crate::sizes::SCATTERED_ROWS;
use crate::table::rows::LiveRows;
use crate::threads::parallel;

/// A table at one moment: its rows, and its columns as plain immutable values.
///
/// Rows and columns are pinned at their first use: safe inside a step. A view that leaves the step
/// pins everything first ([`View::pin_all`]).
#[derive(Clone)]
pub struct View {
    moment: Moment,
    live: Arc<LiveRows>,
    rows: OnceLock<RowSet>,
    sources: Arc<[Arc<dyn ColumnSource>]>,
    pinned: Box<[OnceLock<Arc<dyn Column>>]>,
}

impl View {
    pub(crate) fn new(live: Arc<LiveRows>, moment: Moment, sources: Arc<[Arc<dyn ColumnSource>]>) -> View {
        let pinned = sources.iter().map(|_| OnceLock::new()).collect();
        View { moment, live, rows: OnceLock::new(), sources, pinned }
    }

    /// An empty view over the columns of `other`: the previous rows of a table that has just started.
    pub(crate) fn empty_like(other: &View) -> View {
        let view = View::new(other.live.clone(), other.moment, other.sources.clone());
        view.rows.get_or_init(RowSet::new);
        view
    }

    /// The row keys.
    pub fn rows(&self) -> &RowSet {
        self.rows.get_or_init(|| self.live.at(self.moment).expect("the running step keeps both of its moments"))
    }

    /// The moment this view shows.
    pub fn moment(&self) -> Moment {
        self.moment
    }

    /// How many columns there are.
    pub fn width(&self) -> usize {
        self.sources.len()
    }

    /// Column `index` over time.
    pub(crate) fn source(&self, index: usize) -> &Arc<dyn ColumnSource> {
        &self.sources[index]
    }

    /// Column `index` as a value.
    pub fn column(&self, index: usize) -> Result<&Arc<dyn Column>, Error> {
        if let Some(column) = self.pinned[index].get() {
            return Ok(column);
        }
        let column = self.sources[index]
            .at(self.moment)
            .map_err(|_: Moved| Error::internal("view", "a column was read after its moment was gone"))?;
        Ok(self.pinned[index].get_or_init(|| column))
    }

    /// The first key of each array in which cells of these columns lie: of the first of them that has any. See [`Column::starts`].
    pub(crate) fn starts(&self, columns: &[usize]) -> &[u64] {
        let starts = columns.iter().filter_map(|column| self.column(*column).ok()).map(|column| column.starts());
        starts.into_iter().find(|starts| starts.len() > 1).unwrap_or_default()
    }

    /// Rows of which these columns are read, in parts of about so many, and no more: see [`parallel::parts_of`].
    pub(crate) fn parts(&self, columns: &[usize], rows: &RowSet, size: u64) -> Vec<RowSet> {
        let starts = if rows.len() > size { self.starts(columns) } else { &[] };
        parallel::parts_of(rows, size, starts)
    }

    /// The cells of one column, in key order.
    pub fn read(&self, index: usize, rows: &RowSet) -> Result<Chunk, Error> {
        Ok(self.column(index)?.read(rows)?)
    }

    /// The cells of several columns, in key order.
    pub fn read_columns(&self, columns: &[usize], rows: &RowSet) -> Result<Vec<Chunk>, Error> {
        let scattered = rows.len() >= SCATTERED_ROWS.rows() && rows.as_span().is_none();
        parallel::try_map(scattered, columns, |_, column| self.read(*column, rows))
    }

    /// Pins these columns, so that they may be read after the step.
    pub(crate) fn pin<'a>(&self, columns: impl IntoIterator<Item = &'a usize>) -> Result<(), Moved> {
        for index in columns {
            if self.pinned[*index].get().is_none() {
                let column = self.sources[*index].at(self.moment)?;
                self.pinned[*index].get_or_init(|| column);
            }
        }
        Ok(())
    }

    /// Pins the rows and every column, so that the view may outlive the step.
    pub fn pin_all(&self) -> Result<(), Moved> {
        self.pin_rows()?;
        self.pin_columns()
    }

    /// Pins the rows.
    pub(crate) fn pin_rows(&self) -> Result<(), Moved> {
        if self.rows.get().is_none() {
            let rows = self.live.at(self.moment)?;
            self.rows.get_or_init(|| rows);
        }
        Ok(())
    }

    /// Pins every column: cells of known keys may be read after the step, the row set may not.
    pub(crate) fn pin_columns(&self) -> Result<(), Moved> {
        for (source, slot) in self.sources.iter().zip(&self.pinned) {
            if slot.get().is_none() {
                let column = source.at(self.moment)?;
                slot.get_or_init(|| column);
            }
        }
        Ok(())
    }
}
