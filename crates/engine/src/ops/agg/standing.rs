//! Groups that stand without rows: those that emptied, and those that a table names.
//!
//!   initial   B C      in  + 0 A 1   + 1 B 2      out  + 0 B 2            + 2 A 1
//!   preserve_empty                                out  + 0 B 2   + 1 C .  + 2 A 1
//!
//! A named group has its row key from the start, by its place in that table. Cost: a slot for each, and none in an update.

use column::Chunk;

use crate::driver::operation::Input;
use crate::error::Error;
use crate::table::handle::Table;

/// The columns of the keys in the table that names groups.
pub(super) fn named_columns(
    operation: &str,
    table: &Table,
    keys: &[(usize, String)],
    initial: &Table,
) -> Result<Vec<usize>, Error> {
    if keys.is_empty() {
        return Err(Error::invalid(operation, "initial_groups are groups of keys; give by= too"));
    }
    if initial.is_live() {
        let message = "initial_groups is a table that does not change: give its snapshot()";
        return Err(Error::invalid(operation, message));
    }
    let column = |(key, name): &(usize, String)| {
        let place = initial.column_index(&format!("{operation}: initial_groups"), name)?;
        let [wanted, found] = [table.column_type(*key), initial.column_type(place)];
        if wanted == found {
            return Ok(place);
        }
        let [wanted, found] = [wanted, found].map(formula::type_name);
        let message = format!(
            "column {name:?} of initial_groups is {found}, and {wanted} in the table; cast it: \
             initial_groups.cast({{{name:?}: {wanted}}})"
        );
        Err(Error::invalid(operation, message))
    };
    keys.iter().map(column).collect()
}

/// The keys of the named groups; none without such a table.
pub(super) fn named_keys(columns: &[usize], inputs: &[Input]) -> Result<Vec<Chunk>, Error> {
    let Some(Input { view, .. }) = inputs.get(1) else { return Ok(Vec::new()) };
    columns.iter().map(|column| view.read(*column, view.rows())).collect()
}
