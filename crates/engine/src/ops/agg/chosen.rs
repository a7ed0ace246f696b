//! The cells that some groups pick from their rows.

use std::sync::OnceLock;

use arrow_array::{ArrayRef, UInt64Array};
use column::NO_ROW;
use rowset::RowSet;

use crate::error::Error;
use crate::eval::evaluator::Evaluator;
use crate::keys::rows::KeyRows;
use crate::table::view::View;

/// Some groups, and their first and last rows once an output asks for them.
pub(crate) struct FirstLast<'a> {
    pub(super) slots: &'a [u32],
    first: OnceLock<Vec<u64>>,
    last: OnceLock<Vec<u64>>,
}

impl<'a> FirstLast<'a> {
    pub(crate) fn new(slots: &'a [u32]) -> FirstLast<'a> {
        FirstLast { slots, first: OnceLock::new(), last: OnceLock::new() }
    }

    pub(super) fn first(&self, picks: &KeyRows) -> &[u64] {
        self.first.get_or_init(|| self.slots.iter().map(|slot| picks.first(*slot)).collect())
    }

    pub(super) fn last(&self, picks: &KeyRows) -> &[u64] {
        self.last.get_or_init(|| self.slots.iter().map(|slot| picks.last(*slot)).collect())
    }
}

/// The cells at keys in any order: read once each, in key order, then put in place; null at [`NO_ROW`].
pub(super) fn gather_at(input: &Evaluator, now: &View, keys: &[u64]) -> Result<ArrayRef, Error> {
    if let Some(column) = input.as_column() {
        return Ok(now.column(column)?.take(keys)?);
    }
    let rows = RowSet::from_keys(keys.iter().copied().filter(|key| *key != NO_ROW).collect());
    if rows.is_empty() {
        return Ok(arrow_array::new_null_array(input.data_type(), keys.len()));
    }
    let cells = input.evaluate(now, &rows)?;
    let sorted = rows.to_vec();
    let place = |key: &u64| (*key != NO_ROW).then(|| sorted.partition_point(|known| known < key) as u64);
    let places: UInt64Array = keys.iter().map(place).collect();
    Ok(arrow_select::take::take(&cells, &places, None)?)
}
