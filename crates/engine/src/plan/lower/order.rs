//! `sort`, `top_k`, `assert_sorted`, `merge_sorted`: what is in order already is not put in order again.

use crate::error::Error;
use crate::eval::call::Call;
use crate::ops::{Concat, InOrder, Project, Slice, Sort, TopK};
use crate::plan::spec::SortBy;
use crate::table::handle::Table;

/// The rows in the order of some columns.
pub(in crate::plan) fn sort(call: &Call, table: &Table, by: &[SortBy]) -> Result<Table, Error> {
    let sort = Sort::new(&call.method, table, by)?;
    match is_in_order(table, by) {
        true => call.attach(&Project::all(&call.method, table)?, std::slice::from_ref(table)),
        false => call.attach(&sort, std::slice::from_ref(table)),
    }
}

/// The first rows in the order of some columns. Of a blink table, where no row has a place, they are the first that ever
/// came, as those of `sort` and `head` are.
pub(in crate::plan) fn top_k(call: &Call, table: &Table, by: &[SortBy], rows: u64) -> Result<Table, Error> {
    let first = TopK::new(&call.method, table, by, rows)?;
    if is_in_order(table, by) {
        return call.attach(&Slice::head(rows), std::slice::from_ref(table));
    }
    if table.attributes().blink {
        return call.attach(&Slice::head(rows), &[sort(call, table, by)?]);
    }
    call.attach(&first, std::slice::from_ref(table))
}

/// A table whose rows are in this order: known, checked at each change, or believed.
pub(in crate::plan) fn in_order(call: &Call, table: &Table, by: &[SortBy], checked: bool) -> Result<Table, Error> {
    let checked = checked && !is_in_order(table, by);
    call.attach(&InOrder::new(&call.method, table, by, checked)?, std::slice::from_ref(table))
}

/// The rows of tables that are in order, in that order; of equal rows those of the first table come first. A table that is not known
/// to be in order is checked.
pub(in crate::plan) fn merge_sorted(call: &Call, inputs: &[Table], by: &[SortBy]) -> Result<Table, Error> {
    let stacked = Concat::new(&call.method, inputs)?;
    let mut checked = Vec::with_capacity(inputs.len());
    for (at, table) in inputs.iter().enumerate() {
        let called = format!("the rows of table {at}");
        let order = InOrder::of(&call.method, table, by, true, &called)?;
        checked.push(match is_in_order(table, by) {
            true => table.clone(),
            false => call.attach(&order, std::slice::from_ref(table))?,
        });
    }
    sort(call, &call.attach(&stacked, &checked)?, by)
}

/// Whether the table keeps its rows in this order.
fn is_in_order(table: &Table, by: &[SortBy]) -> bool {
    let held = &table.attributes().sorted_by;
    let same = |(by, (name, descending)): (&SortBy, &(String, bool))| {
        by.column == *name && by.descending == *descending && !by.nulls_last
    };
    by.len() <= held.len() && by.iter().zip(held).all(same)
}
