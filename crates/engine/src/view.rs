//! A table at one moment, and a step's change between two of them.

use std::sync::{Arc, OnceLock};

use column::{Chunk, Column, ColumnSource};
use graph::{Moment, Moved};
use rowset::RowSet;

use crate::error::Error;
use crate::table::Table;
use crate::update::TableUpdate;

/// So many rows that do not lie together keep a core waiting for memory: two columns wait at once.
const SCATTERED_ROWS: u64 = 1 << 13;

/// A table at one moment: its rows, and its columns as plain immutable values.
///
/// The rows are pinned at once, a column at its first use: safe inside a step. A view that leaves
/// the step pins everything first ([`View::pin_all`]).
pub struct View {
    rows: RowSet,
    moment: Moment,
    sources: Arc<[Arc<dyn ColumnSource>]>,
    pinned: Box<[OnceLock<Arc<dyn Column>>]>,
}

impl View {
    pub(crate) fn new(rows: RowSet, moment: Moment, sources: Arc<[Arc<dyn ColumnSource>]>) -> View {
        let pinned = sources.iter().map(|_| OnceLock::new()).collect();
        View { rows, moment, sources, pinned }
    }

    /// The same columns with no rows: what was there before anything was.
    pub(crate) fn empty_like(other: &View) -> View {
        View::new(RowSet::new(), other.moment, other.sources.clone())
    }

    /// The row keys.
    pub fn rows(&self) -> &RowSet {
        &self.rows
    }

    /// The moment this view shows.
    pub fn moment(&self) -> Moment {
        self.moment
    }

    /// How many columns there are.
    pub fn width(&self) -> usize {
        self.sources.len()
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

    /// The cells of one column, in key order.
    pub fn read(&self, index: usize, rows: &RowSet) -> Result<Chunk, Error> {
        Ok(self.column(index)?.read(rows)?)
    }

    /// The cells of several columns, in key order.
    pub fn read_columns(&self, columns: &[usize], rows: &RowSet) -> Result<Vec<Chunk>, Error> {
        let scattered = rows.len() >= SCATTERED_ROWS && rows.as_span().is_none();
        crate::par::try_map(scattered, columns, |_, column| self.read(*column, rows))
    }

    /// Pins these columns, so that they may be read when the step is over.
    pub(crate) fn pin<'a>(&self, columns: impl IntoIterator<Item = &'a usize>) -> Result<(), Moved> {
        for index in columns {
            if self.pinned[*index].get().is_none() {
                let column = self.sources[*index].at(self.moment)?;
                self.pinned[*index].get_or_init(|| column);
            }
        }
        Ok(())
    }

    /// Pins every column, so that the view may outlive the step.
    pub fn pin_all(&self) -> Result<(), Moved> {
        for (source, slot) in self.sources.iter().zip(&self.pinned) {
            if slot.get().is_none() {
                let column = source.at(self.moment)?;
                slot.get_or_init(|| column);
            }
        }
        Ok(())
    }
}

/// What a step, or a run of steps while catching up, did to one input.
pub struct Change {
    input: Table,
    from: Moment,
    to: Moment,
    update: Arc<TableUpdate>,
    before: OnceLock<View>,
    now: OnceLock<View>,
}

impl Change {
    pub(crate) fn new(input: Table, from: Moment, to: Moment, update: Arc<TableUpdate>) -> Change {
        Change { input, from, to, update, before: OnceLock::new(), now: OnceLock::new() }
    }

    pub(crate) fn between(input: Table, before: View, now: View, update: Arc<TableUpdate>) -> Change {
        let (from, to) = (before.moment(), now.moment());
        Change { input, from, to, update, before: OnceLock::from(before), now: OnceLock::from(now) }
    }

    /// The input that changed.
    pub fn table(&self) -> &Table {
        &self.input
    }

    /// What changed. Empty if this input was quiet.
    pub fn update(&self) -> &TableUpdate {
        &self.update
    }

    /// The same, shared.
    pub fn shared_update(&self) -> Arc<TableUpdate> {
        self.update.clone()
    }

    /// The input before the step. Removed rows are read here, at their before keys.
    pub fn before(&self) -> &View {
        self.before.get_or_init(|| self.input.view_in_step(self.from))
    }

    /// The input after the step.
    pub fn now(&self) -> &View {
        self.now.get_or_init(|| self.input.view_in_step(self.to))
    }

    pub(crate) fn into_now(self) -> View {
        let Change { input, to, now, .. } = self;
        now.into_inner().unwrap_or_else(|| input.view_in_step(to))
    }

    /// Pins both sides wholly, so that the change may outlive its step.
    pub fn pin_all(&self) -> Result<(), Moved> {
        self.before().pin_all()?;
        self.now().pin_all()
    }
}
