//! The change of a table in a step: its update, with views of the table before and after.

use std::sync::{Arc, OnceLock};

use graph::{Moment, Moved};
use rowset::Before;

use super::handle::Table;
use super::update::TableUpdate;
use super::view::View;

/// The change of one input in a step, or in a run of steps while an operation catches up.
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

    /// The update of the input; empty if the input did not change.
    pub fn update(&self) -> &TableUpdate {
        &self.update
    }

    /// The update, by reference count.
    pub fn shared_update(&self) -> Arc<TableUpdate> {
        self.update.clone()
    }

    /// The input before the step. Removed rows are read here, at their before keys.
    pub fn before(&self) -> &View {
        self.before.get_or_init(|| self.input.view_at(self.from))
    }

    /// The input after the step.
    pub fn now(&self) -> &View {
        self.now.get_or_init(|| self.input.view_at(self.to))
    }

    /// Splits the previous rows of this change for an index on the input: rows to delete from the index (removed rows,
    /// plus modified ones if `rekeyed`, that is if the indexed value changed), and remaining rows whose row key
    /// shifted. Both in before-keys.
    pub fn departing_rows(&self, rekeyed: bool) -> (Before, Before) {
        let back = if rekeyed { self.update.shifts.back(&self.update.modified) } else { Before::default() };
        let gone = &self.update.removed | &back;
        let moving = self.rekeyed_rows(&gone);
        (gone, moving)
    }

    /// The surviving rows outside `gone` whose row key shifts, in before-keys.
    pub fn rekeyed_rows(&self, gone: &Before) -> Before {
        if self.update.shifts.is_empty() {
            return Before::default();
        }
        self.update.shifts.moved(&Before(self.before().rows() - &gone.0))
    }

    pub(crate) fn into_now(self) -> View {
        let Change { input, to, now, .. } = self;
        now.into_inner().unwrap_or_else(|| input.view_at(to))
    }

    /// Pins the columns of both sides, so that the cells of the change may be read after its step.
    pub(crate) fn pin_columns(&self) -> Result<(), Moved> {
        self.before().pin_columns()?;
        self.now().pin_columns()
    }
}
