//! The data of a table (rows, columns, schema) and its attributes.

use std::sync::Arc;

use arrow_schema::Schema;
use column::ColumnSource;

use super::rows::LiveRows;

/// Contracts that a table keeps in every step. A contract that does not hold is false, or empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// Rows are only added, each above all that were there.
    pub append_only: bool,
    /// Rows are only added, anywhere.
    pub add_only: bool,
    /// A row lives for one step.
    pub blink: bool,
    /// Keys are 0, 1, 2 … at every moment.
    pub flat: bool,
    /// The columns a keyed table is keyed by.
    pub key: Vec<String>,
    /// Columns the rows are sorted by, each with whether it descends.
    pub sorted_by: Vec<(String, bool)>,
}

impl Attributes {
    /// Whether every contract of `other` is kept here, too.
    pub fn hold_what(&self, other: &Attributes) -> bool {
        let flags = |of: &Attributes| [of.append_only, of.add_only, of.blink, of.flat];
        let flags = flags(self).into_iter().zip(flags(other)).all(|(mine, theirs)| mine || !theirs);
        flags && (other.key.is_empty() || self.key == other.key) && self.sorted_by.starts_with(&other.sorted_by)
    }
}

/// The data of a table as its readers see it: rows, columns, schema. Cloning shares them.
#[derive(Clone)]
pub struct Parts {
    /// The row set over time.
    pub rows: Arc<LiveRows>,
    /// The columns over time, in the order of the schema.
    pub columns: Vec<Arc<dyn ColumnSource>>,
    /// Names and declared types.
    pub schema: Arc<Schema>,
    /// Contracts the table keeps.
    pub attributes: Attributes,
}
