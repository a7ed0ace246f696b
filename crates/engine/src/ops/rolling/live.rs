//! A step: the rows whose windows see a change are computed again, and told where their value is another.

use std::sync::Arc;

use arrow_array::UInt64Array;
use column::Chunk;
use graph::Step;
use rowset::RowSet;

use super::groups::{Groups, Wanted};
use super::spec::RollingSpec;
use crate::driver::operation::Live;
use crate::error::Error;
use crate::ops::neighbours::{differing, told};
use crate::ops::select::Output;
use crate::table::change::Change;
use crate::table::store::{Columns, Writes};
use crate::table::update::TableUpdate;

pub(super) struct RollingLive {
    pub(super) spec: Arc<RollingSpec>,
    pub(super) outputs: Vec<Output>,
    pub(super) groups: Groups,
    pub(super) columns: Columns,
}

/// Some rows, in row order, and for each the place of its value; none where it has none.
#[derive(Default)]
struct Placed {
    rows: Vec<u64>,
    places: Vec<Option<u64>>,
}

impl Placed {
    fn push(&mut self, row: u64, place: Option<u64>) {
        self.rows.push(row);
        self.places.push(place);
    }

    fn cells(&self, values: &[Chunk]) -> Result<Vec<Chunk>, Error> {
        let places = UInt64Array::from(self.places.clone());
        values.iter().map(|values| Ok(arrow_select::take::take(values, &places, None)?)).collect()
    }
}

impl Live for RollingLive {
    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let change = &inputs[0];
        let (update, now) = (change.update(), change.now());
        let Wanted { spans, bare } = self.groups.follow(&self.spec, change)?;
        let values = self.spec.aggregates.windows(now, &spans.read, &spans.frames, self.spec.least)?;
        let (fresh, stayed) = placed(&spans.rows, &bare, update);

        let mut writes = Writes { removed: update.removed.clone(), shifts: update.shifts.clone(), ..Writes::default() };
        if !update.added.is_empty() {
            writes.added.push((update.added.clone(), fresh.cells(&values)?));
        }
        let rows = RowSet::from_sorted_keys(&stayed.rows);
        for (at, cells) in stayed.cells(&values)?.into_iter().enumerate() {
            let differs =
                if rows.is_empty() { None } else { differing(&self.columns, at, &rows, cells, change, step)? };
            writes.modified.push(differs);
        }
        self.columns.write(step, || change.before().rows().clone(), now.rows().clone(), &writes)?;
        Ok(told(&self.outputs, update, |place| writes.modified[place].as_ref().map(|(rows, _)| rows)))
    }

    fn entries(&self) -> u64 {
        self.groups.len() as u64
    }
}

/// The rows that are new, and those that stay, with the places of their values.
fn placed(rows: &[u64], bare: &RowSet, update: &TableUpdate) -> (Placed, Placed) {
    let mut found: Vec<(u64, Option<u64>)> = rows.iter().copied().zip((0..).map(Some)).collect();
    found.extend(bare.iter().map(|row| (row, None)));
    if !found.is_sorted() {
        found.sort_unstable();
    }
    let mut added = update.added.iter().peekable();
    let (mut fresh, mut stayed) = (Placed::default(), Placed::default());
    for (row, place) in found {
        let side = if added.next_if_eq(&row).is_some() { &mut fresh } else { &mut stayed };
        side.push(row, place);
    }
    (fresh, stayed)
}
