//! Interrupted tables: a table whose user function was interrupted in a step by hand, and all tables downstream of it.
//! Such a table keeps showing its last state, and the next step brings it up to date by one coalesced change.

use graph::{Moment, Moved, Step};

use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::update::{Merged, TableUpdate};
use crate::table::view::View;

/// The state of an interrupted table until it has caught up.
pub(crate) struct Interrupted {
    /// The table's last state.
    own: View,
    /// Each input at that state, and its coalesced update since.
    inputs: Vec<(View, Merged)>,
    /// The step in which the table caught up; moments before it still read the last state.
    caught_up: Option<Step>,
}

impl Interrupted {
    /// Starts keeping the state of a table that was interrupted in `step`, before it had changed anything.
    pub(crate) fn begin(own: View, inputs: &[Table], step: Step) -> Result<Interrupted, Moved> {
        own.pin_all()?;
        let kept = |input: &Table| {
            let view = input.view_at(step.before());
            view.pin_all()?;
            let merged = Merged::new(view.rows().clone(), view.width());
            Ok((view, merged))
        };
        let inputs = inputs.iter().map(kept).collect::<Result<_, Moved>>()?;
        Ok(Interrupted { own, inputs, caught_up: None })
    }

    /// Adds the updates of the inputs in `step`.
    pub(crate) fn push(&mut self, tables: &[Table], step: Step) {
        for ((_, merged), table) in self.inputs.iter_mut().zip(tables) {
            if let Some(update) = table.node().and_then(|node| node.update_in(step)) {
                merged.push(&update);
            }
        }
    }

    /// One change of each input since the last state.
    pub(crate) fn changes(&self, tables: &[Table], step: Step) -> Vec<Change> {
        let change = |(table, (before, merged)): (&Table, &(View, Merged))| {
            let update: TableUpdate = merged.update();
            Change::between(table.clone(), before.clone(), table.view_at(step.now()), update.into())
        };
        tables.iter().zip(&self.inputs).map(change).collect()
    }

    /// The last state, if it is the state at `moment`.
    pub(crate) fn view(&self, moment: Moment) -> Option<View> {
        let until = self.caught_up.is_none_or(|step| moment < step.now());
        (moment >= self.own.moment() && until).then(|| self.own.clone())
    }

    /// The rows of the last state.
    pub(crate) fn rows(&self) -> &rowset::RowSet {
        self.own.rows()
    }

    pub(crate) fn has_caught_up(&mut self, step: Step) {
        self.caught_up = Some(step);
    }

    pub(crate) fn caught_up(&self) -> Option<Step> {
        self.caught_up
    }
}
