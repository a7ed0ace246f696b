//! `blink_to_append_only` and `add_only_to_blink`: a table that is of the wanted kind already, or that never changes, is
//! passed as it is.

use crate::error::Error;
use crate::eval::call::Call;
use crate::ops::{AddOnlyToBlink, BlinkToAppendOnly, Project};
use crate::table::handle::Table;

/// All rows of a blink table that ever came.
pub(in crate::plan) fn blink_to_append_only(call: &Call, table: &Table) -> Result<Table, Error> {
    let input = std::slice::from_ref(table);
    match table.is_live() && !table.attributes().append_only {
        true => call.attach(&BlinkToAppendOnly::default(), input),
        false => call.attach(&Project::all("blink_to_append_only", table)?, input),
    }
}

/// The rows of each step, for one step.
pub(in crate::plan) fn add_only_to_blink(call: &Call, table: &Table) -> Result<Table, Error> {
    let input = std::slice::from_ref(table);
    match table.is_live() && !table.attributes().blink {
        true => call.attach(&AddOnlyToBlink::default(), input),
        false => call.attach(&Project::all("add_only_to_blink", table)?, input),
    }
}
