//! Windows over a table with a watermark: the rows that are not late, until their windows close, and what is sent of windows.

use std::sync::Arc;

use super::super::closing::{Closing, Emit, Late};
use crate::error::Error;
use crate::eval::call::Call;
use crate::ops::watermark::Closes;
use crate::ops::{LateRows, OpenRows, WindowResults};
use crate::row_errors::RowErrors;
use crate::table::beside::Tallies;
use crate::table::handle::Table;

/// A table, and where rows were passed over before it.
pub(super) struct Reported<'a> {
    pub(super) table: &'a Table,
    pub(super) row_errors: Option<&'a RowErrors>,
}

/// What windows over a watermark stand on.
pub(super) struct Gate {
    how: Closing,
    clock: Table,
    late: Option<Table>,
    tallies: Arc<Tallies>,
}

impl Gate {
    /// Of windows over this column; none if the table has no watermark there.
    pub(super) fn of(call: &Call, table: &Table, stamp: &str, how: Closing) -> Result<Option<Gate>, Error> {
        let Some(mark) = table.watermark().filter(|mark| mark.stamp == stamp) else {
            if how.is_plain() {
                return Ok(None);
            }
            let message = format!(
                "emit, late, allowed_lateness, keep_results and max_rows are of windows over a watermark, and the table has none over \
                 {stamp:?}; say how late rows may come: t.watermark({stamp:?}, delay=\"10s\")"
            );
            return Err(Error::invalid(&call.method, message));
        };
        if how.allowed_lateness < 0 {
            return Err(Error::invalid(&call.method, "allowed_lateness must be 0 or longer"));
        }
        if how.max_rows == Some(0) {
            return Err(Error::invalid(&call.method, "max_rows must be 1 or more"));
        }
        if how.emit == Emit::Final && how.forget_results {
            let message =
                "emit=\"final\" sends each window once, and keeps it; add_only_to_blink(t) gives each for one step";
            return Err(Error::invalid(&call.method, message));
        }
        let late = match how.late {
            Late::Table => {
                let late = LateRows::new(&call.method, table, stamp, how.allowed_lateness)?;
                Some(call.attach(&late, &[table.clone(), mark.clock.clone()])?)
            }
            Late::Drop | Late::Keep => None,
        };
        Ok(Some(Gate { how, clock: mark.clock.clone(), late, tallies: Tallies::of_windows() }))
    }

    /// The rows of the table that are not late and whose windows are open.
    pub(super) fn open(&self, call: &Call, table: &Table, stamp: &str, closes: Closes) -> Result<Table, Error> {
        let stamp = table.column_index(&call.method, stamp)?;
        let open = OpenRows::new(&call.method, stamp, closes, self.how.allowed_lateness, &self.tallies);
        let open = open.at_most(self.how.max_rows);
        call.attach(&open, &[table.clone(), self.clock.clone()])
    }

    /// What is sent of windows that end by a column, so many nanoseconds after it.
    pub(super) fn sent(&self, call: &Call, windows: Reported<'_>, end: &str, after: i64) -> Result<Table, Error> {
        let Reported { table: windows, row_errors } = windows;
        let end = windows.column_index(&call.method, end)?;
        let results = WindowResults::new(&call.method, end, after, self.how);
        let results = results.reporting_to(row_errors);
        call.attach(&results, &[windows.clone(), self.clock.clone()])
    }

    /// The result, with its late rows and what was counted.
    pub(super) fn told(self, made: Table) -> Table {
        made.with_late(self.late, self.tallies)
    }
}
