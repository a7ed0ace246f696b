//! `unique`, `first_by`, `last_by`: one row a key: the first or the last, with all its columns.
//!
//!   in    + 0 A 1    + 1 B 2    + 2 A 3     last_by K    out   0 A 3    1 B 2
//!   in    - 2                                            out   ~ 0 A 1  K {V}
//!   unique over all columns: a row is never modified, only added and removed.
//!
//! It is the aggregation of that name over every other column, with the columns in their old order.

use formula::{Aggregate, Expr};

use super::{Aggregation, Project};
use crate::attach::attach;
use crate::error::Error;
use crate::table::Table;

/// Which row of a key is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The first in row order.
    First,
    /// The last in row order.
    Last,
}

/// One row for each tuple of `keys` (all columns if none are named).
pub fn distinct(operation: &str, table: &Table, keys: &[String], keep: Keep) -> Result<Table, Error> {
    let names: Vec<String> = table.schema().fields().iter().map(|field| field.name().clone()).collect();
    let keys = if keys.is_empty() { &names } else { keys };
    let kind = if keep == Keep::First { Aggregate::First } else { Aggregate::Last };
    let others = names.iter().filter(|name| !keys.contains(name));
    let picks: Result<Vec<Expr>, formula::Error> = others.map(|name| Expr::aggregate(kind.clone(), Some(Expr::column(name.as_str())))).collect();
    let picked = attach(&Aggregation::new(operation, table, keys, &picks?)?, std::slice::from_ref(table))?;
    if picked.schema().fields().iter().map(|field| field.name()).eq(names.iter()) {
        return Ok(picked);
    }
    attach(&Project::choose(&picked, &names)?, &[picked])
}
