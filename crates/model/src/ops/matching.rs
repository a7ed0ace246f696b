//! The matches of a row: the rows of another table that have its key.

use crate::table::Table;
use crate::value::{Key, Value};

/// How the rows of one table find those of another.
pub(super) struct Matching<'a> {
    right: &'a Table,
    left_keys: Vec<usize>,
    right_keys: Vec<usize>,
    nulls_equal: bool,
}

impl<'a> Matching<'a> {
    /// `on`: names of key columns, left and right. Null matches null only if `nulls_equal`.
    pub(super) fn new(left: &Table, right: &'a Table, on: &[(String, String)], nulls_equal: bool) -> Matching<'a> {
        let left_keys = on.iter().map(|(name, _)| left.index_of(name)).collect();
        let right_keys = on.iter().map(|(_, name)| right.index_of(name)).collect();
        Matching { right, left_keys, right_keys, nulls_equal }
    }

    /// The key of a left row, and the places of the right rows that have it.
    pub(super) fn of(&self, row: &[Value]) -> (Key, Vec<usize>) {
        let key = Table::key_of(row, &self.left_keys);
        let may_match = self.nulls_equal || !key.has_null();
        let meets = |at: &usize| may_match && Table::key_of(&self.right.rows[*at].1, &self.right_keys) == key;
        let matches = (0..self.right.rows.len()).filter(meets).collect();
        (key, matches)
    }

    /// The key columns of the left table.
    pub(super) fn left_keys(&self) -> &[usize] {
        &self.left_keys
    }

    /// The key columns of the right table.
    pub(super) fn right_keys(&self) -> &[usize] {
        &self.right_keys
    }
}
