//! What operations hold of inputs that never end, and by what time is told.

use std::sync::Arc;

use crate::error::Error;
use crate::eval::call::Call;
use crate::ops::HeldRows;
use crate::ops::held::HowHeld;
use crate::plan::bounds::{GroupBounds, RowBounds};
use crate::table::beside::Tallies;
use crate::table::handle::Table;

/// Which groups an operation holds.
pub(super) struct Held {
    bounds: GroupBounds,
    /// The column of stamps and the watermark, if that tells the time.
    mark: Option<(String, Table)>,
    tallies: Arc<Tallies>,
}

impl Held {
    /// Of the groups of an operation over this table; none if nothing is to be let go. `named`: whether groups have keys.
    pub(super) fn of(call: &Call, table: &Table, bounds: GroupBounds, named: bool) -> Result<Option<Held>, Error> {
        if bounds.is_plain() {
            return Ok(None);
        }
        bounds.check(&call.method)?;
        if !named {
            let message = "state_ttl and max_groups are of groups, and without keys all rows are one; name the keys";
            return Err(Error::invalid(&call.method, message));
        }
        if !table.is_live() {
            return Ok(None);
        }
        let attributes = table.attributes();
        if !attributes.blink && !attributes.add_only && !attributes.append_only {
            let message = "state_ttl and max_groups are of tables that only gain rows, or whose rows live for one step: where rows \
                           leave, the groups that empty are let go with them; time_window and ring_table say which rows stay";
            return Err(Error::invalid(&call.method, message));
        }
        let mark = table.watermark().map(|mark| (mark.stamp.clone(), mark.clock.clone()));
        Ok(Some(Held { bounds, mark, tallies: Tallies::of_groups() }))
    }

    /// For an operation over this table, which is made of the one that was asked about.
    pub(super) fn how(&self, call: &Call, table: &Table) -> Result<HowHeld, Error> {
        let stamp = self.mark.as_ref().map(|(stamp, _)| table.column_index(&call.method, stamp)).transpose()?;
        Ok(HowHeld { bounds: self.bounds, stamp, tallies: Arc::clone(&self.tallies) })
    }

    /// The watermark, which is the last input.
    pub(super) fn clock(&self) -> Option<&Table> {
        self.mark.as_ref().map(|(_, clock)| clock)
    }

    /// The result, with what is counted.
    pub(super) fn told(held: Option<&Held>, made: Table) -> Table {
        match held {
            Some(held) => made.with_tallies(vec![Arc::clone(&held.tallies)]),
            None => made,
        }
    }
}

/// The rows of a table that what stands on it holds; a static table as it is.
pub(in crate::plan) fn held_rows(call: &Call, table: &Table, bounds: RowBounds) -> Result<Table, Error> {
    bounds.check(&call.method)?;
    if !table.is_live() {
        return Ok(table.clone());
    }
    let mark = table.watermark();
    let stamp = mark.map(|mark| table.column_index(&call.method, &mark.stamp)).transpose()?;
    let tallies = Tallies::of_rows();
    let held = HeldRows::new(&call.method, bounds, stamp, &tallies);
    let inputs: Vec<Table> = std::iter::once(table).chain(mark.map(|mark| &mark.clock)).cloned().collect();
    Ok(call.attach(&held, &inputs)?.with_tallies(vec![tallies]))
}
