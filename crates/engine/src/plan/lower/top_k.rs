//! `top_k`: the first rows in order. Of a blink table, where no row has a place, they are the first that ever came, as those
//! of `sort` and `head` are.

use crate::error::Error;
use crate::eval::call::Call;
use crate::ops::{Slice, Sort, TopK};
use crate::plan::spec::SortBy;
use crate::table::handle::Table;

/// The first rows in the order of some columns.
pub(in crate::plan) fn top_k(call: &Call, table: &Table, by: &[SortBy], rows: u64) -> Result<Table, Error> {
    let first = TopK::new(&call.method, table, by, rows)?;
    if !table.attributes().blink {
        return call.attach(&first, std::slice::from_ref(table));
    }
    let sorted = call.attach(&Sort::new(table, by)?, std::slice::from_ref(table))?;
    call.attach(&Slice::head(rows), &[sorted])
}
