//! What a transform applies to each constituent.

use crate::error::Error;
use crate::table::handle::Table;

/// A function of the user that makes a table of others.
pub trait Transformer: Send + Sync {
    /// The table that it makes of a constituent, and of that of the same key of each other partitioned table.
    fn transform(&self, tables: &[Table]) -> Result<Table, Error>;
}
