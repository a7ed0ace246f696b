//! How a left row finds its right row, by equal keys or by time, in an index of the right side alone.

use std::sync::Arc;

use column::NO_ROW;
use column::keys::NO_SLOT;
use rowset::RowSet;

use crate::error::Error;
use crate::ops::AsofJoin;
use crate::ops::join::asof::AsofIndex;
use crate::ops::join::on::{On, Side};
use crate::ops::join::side::{JoinKeys, spread};
use crate::plan::spec::Matches;
use crate::table::change::Change;
use crate::table::view::View;

/// An index of the right side.
pub(super) trait Finder: Send {
    /// The left columns that decide which right row is found.
    fn left_columns(&self) -> Vec<usize>;
    /// Brings the index up to date.
    fn take(&mut self, right: &Change) -> Result<(), Error>;
    /// The right row of each of these left rows, `NO_ROW` for none.
    fn find(&self, left: &View, rows: &RowSet) -> Result<Vec<u64>, Error>;
    /// How many keys there are.
    fn entries(&self) -> u64;
}

/// The one right row of an equal key.
pub(super) struct NaturalNow {
    operation: String,
    on: Arc<On>,
    matches: Matches,
    keys: JoinKeys,
}

impl NaturalNow {
    pub(super) fn start(
        operation: &str,
        on: &Arc<On>,
        matches: Matches,
        nulls_equal: bool,
        right: &View,
    ) -> Result<NaturalNow, Error> {
        let mut keys = JoinKeys::new(on, nulls_equal, false, true);
        keys.load(Side::Right, right, right.rows())?;
        Ok(NaturalNow { operation: operation.to_owned(), on: on.clone(), matches, keys })
    }
}

impl Finder for NaturalNow {
    fn left_columns(&self) -> Vec<usize> {
        self.on.columns(Side::Left)
    }

    fn take(&mut self, right: &Change) -> Result<(), Error> {
        if right.update().is_empty() {
            return Ok(());
        }
        let change = self.keys.judge(Side::Right, right)?;
        self.keys.take(Side::Right, &change, &right.update().shifts);
        let touched = self.keys.take_touched();
        self.keys.free(&touched, |_| true);
        Ok(())
    }

    fn find(&self, left: &View, rows: &RowSet) -> Result<Vec<u64>, Error> {
        let found = self.keys.find(Side::Left, left, rows)?;
        let Some(stored) = self.keys.side(Side::Right) else { return Ok(vec![NO_ROW; rows.len() as usize]) };
        let one = |slot: &u32| match self.matches {
            _ if *slot == NO_SLOT => Ok(NO_ROW),
            Matches::Last => Ok(stored.last(*slot)),
            Matches::First => Ok(stored.first(*slot)),
            Matches::Error | Matches::One if stored.is_several(*slot) => Err(self.several(*slot)),
            Matches::Error | Matches::One => Ok(stored.first(*slot)),
        };
        let matched = found.slots.iter().map(one).collect::<Result<Vec<u64>, Error>>()?;
        Ok(spread(rows, &found.rows, matched.into_iter()))
    }

    fn entries(&self) -> u64 {
        self.keys.len() as u64
    }
}

impl NaturalNow {
    fn several(&self, slot: u32) -> Error {
        let message = format!(
            "the key ({}) has several rows in the right table; join_now takes at most one (use multiple=\"first\" or \
             \"last\")",
            self.keys.text(slot)
        );
        Error::Match { operation: self.operation.clone(), message }
    }
}

/// The right row nearest in time.
pub(super) struct AsofNow(AsofIndex);

impl AsofNow {
    pub(super) fn start(join: &AsofJoin, right: &View) -> Result<AsofNow, Error> {
        Ok(AsofNow(AsofIndex::start(join, right)?))
    }
}

impl Finder for AsofNow {
    fn left_columns(&self) -> Vec<usize> {
        self.0.left_columns()
    }

    fn take(&mut self, right: &Change) -> Result<(), Error> {
        self.0.take(right)
    }

    fn find(&self, left: &View, rows: &RowSet) -> Result<Vec<u64>, Error> {
        self.0.find(left, rows)
    }

    fn entries(&self) -> u64 {
        self.0.entries()
    }
}
