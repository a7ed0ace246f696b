//! The right side of an as-of join by itself: what finds the right row of a left one, and keeps no left row.

use rowset::RowSet;

use super::{AsofJoin, AsofLive};
use crate::error::Error;
use crate::table::change::Change;
use crate::table::view::View;

/// The right rows of each group in order.
pub(in crate::ops::join) struct AsofIndex(AsofLive);

impl AsofIndex {
    /// The rows that there are.
    pub(in crate::ops::join) fn start(join: &AsofJoin, right: &View) -> Result<AsofIndex, Error> {
        let mut live = AsofLive::over(&join.how, right, None)?;
        live.free_unused();
        Ok(AsofIndex(live))
    }

    /// The left columns that decide which right row is found.
    pub(in crate::ops::join) fn left_columns(&self) -> Vec<usize> {
        self.0.left_columns()
    }

    /// Right rows go, move and come.
    pub(in crate::ops::join) fn take(&mut self, right: &Change) -> Result<(), Error> {
        self.0.move_right(right)?;
        self.0.free_unused();
        Ok(())
    }

    /// The right row of each of these left rows, `NO_ROW` for none.
    pub(in crate::ops::join) fn find(&self, left: &View, rows: &RowSet) -> Result<Vec<u64>, Error> {
        self.0.looked_up(left, rows)
    }

    /// How many groups there are.
    pub(in crate::ops::join) fn entries(&self) -> u64 {
        self.0.keys.len() as u64
    }
}
