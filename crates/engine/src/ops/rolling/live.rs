//! A step: the rows whose windows see a change are computed again, and told where their value is another.

use std::sync::Arc;

use arrow_select::concat::concat;
use column::Chunk;
use graph::Step;
use rowset::RowSet;

use super::groups::{Groups, Wanted};
use super::spans::Spans;
use super::spec::RollingSpec;
use crate::driver::operation::Live;
use crate::error::Error;
use crate::ops::made::{InRowOrder, Made};
use crate::ops::neighbours::told;
use crate::ops::select::Output;
use crate::table::change::Change;
use crate::table::store::{Columns, Writes};
use crate::table::update::TableUpdate;
use crate::table::view::View;
use crate::threads::parallel;

pub(super) struct RollingLive {
    pub(super) spec: Arc<RollingSpec>,
    pub(super) outputs: Vec<Output>,
    pub(super) groups: Groups,
    pub(super) columns: Columns,
}

impl Live for RollingLive {
    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let change = &inputs[0];
        let (update, now) = (change.update(), change.now());
        let Wanted { parts, bare } = self.groups.follow(&self.spec, change)?;
        let bare = bare.to_vec();
        let lists: Vec<&[u64]> = parts.iter().map(|part| &part.rows[..]).chain([&bare[..]]).collect();
        let order = InRowOrder::new(&lists);
        let mut writes = Writes { removed: update.removed.clone(), shifts: update.shifts.clone(), ..Writes::default() };
        let mut added = Vec::new();
        for (at, values) in self.values(now, &parts, bare.len())?.iter().enumerate() {
            let old = |rows: &RowSet| self.columns.stored(at, step, &update.shifts.back(rows).0);
            let Made { fresh, modified } = order.made(values, &update.added, &old)?;
            added.push(fresh);
            writes.modified.push(modified);
        }
        if !update.added.is_empty() {
            writes.added.push((update.added.clone(), added));
        }
        self.columns.write(step, || change.before().rows().clone(), now.rows().clone(), &writes)?;
        Ok(told(&self.outputs, update, |place| writes.modified[place].as_ref().map(|(rows, _)| rows)))
    }

    fn entries(&self) -> u64 {
        self.groups.len() as u64
    }
}

impl RollingLive {
    /// For each aggregate its value of each window, part after part, and so many nulls.
    fn values(&self, now: &View, parts: &[Spans], nulls: usize) -> Result<Vec<Chunk>, Error> {
        let (aggregates, least) = (&self.spec.aggregates, self.spec.least);
        let none = || aggregates.windows(now, &[], &[], least);
        let mut made =
            parallel::try_map(true, parts, |_, part| aggregates.windows(now, &part.read, &part.frames, least))?;
        if nulls > 0 || made.is_empty() {
            let nulls = |values: Chunk| arrow_array::new_null_array(values.data_type(), nulls);
            made.push(none()?.into_iter().map(nulls).collect());
        }
        let of = |at: usize| match made.as_slice() {
            [one] => Ok(one[at].clone()),
            some => Ok(concat(&some.iter().map(|made| &*made[at]).collect::<Vec<_>>())?),
        };
        (0..aggregates.len()).map(of).collect()
    }
}
