//! A table whose function was interrupted in a step by hand, or that lies below such a one: it keeps its last state, also
//! for its readers, and the next step brings it up by one merged change.

use graph::{Moment, Moved, Step};

use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::update::{Merged, TableUpdate};
use crate::table::view::View;

/// What such a table keeps until it has caught up.
pub(crate) struct Interrupted {
    /// Its last state.
    own: View,
    /// Its inputs in that state, and what they have done since.
    inputs: Vec<(View, Merged)>,
    /// The step that brought it up; the last state answers for the moments before.
    caught_up: Option<Step>,
}

impl Interrupted {
    /// The table was interrupted in `step`, before it had changed anything.
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

    /// Takes in what the inputs do in `step`.
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

    /// The last state, where it is what `moment` shows.
    pub(crate) fn view(&self, moment: Moment) -> Option<View> {
        let until = self.caught_up.is_none_or(|step| moment < step.now());
        (moment >= self.own.moment() && until).then(|| self.own.clone())
    }

    /// Its rows in the last state.
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
