//! Groups of many rows at once, as an aggregation starts.

use rowset::RowSet;

use super::super::loading::BulkLoad;
use super::super::spec::{AggregationSpec, Wanted};
use super::Groups;
use crate::error::Error;
use crate::eval::selection::Selection;
use crate::sizes::{BLOCK_ROWS, GROUP_ALONE_ROWS, GROUP_BATCH_ROWS, GROUP_PART_ROWS};
use crate::table::view::View;

impl Groups {
    /// The groups of all present rows, or of those that a selection finds. Large tables are loaded in parts, one per thread,
    /// which are merged in row order.
    pub(crate) fn start(spec: &AggregationSpec, view: &View, selection: Option<&Selection>) -> Result<Groups, Error> {
        let rows = view.rows();
        let shares =
            rows.split(if rows.len() > GROUP_ALONE_ROWS.rows() { crate::threads::parallel::threads() } else { 1 });
        let share = |_: usize, share: &RowSet| {
            let mut groups = Groups { shares: shares.len() as u64, ..Groups::empty(spec)? };
            groups.load();
            let size = if selection.is_some() { BLOCK_ROWS.rows() } else { GROUP_PART_ROWS.rows() };
            for part in crate::threads::parallel::parts(share, size) {
                groups.enter_part(spec, view, part, selection)?;
            }
            groups.flush();
            Ok::<Groups, Error>(groups)
        };
        let mut groups = crate::threads::parallel::try_map(true, &shares, share)?.into_iter();
        let Some(mut first) = groups.next() else { return Groups::empty(spec) };
        groups.try_for_each(|groups| first.merge(groups))?;
        first.shares = 1;
        Ok(first)
    }

    fn enter_part(
        &mut self,
        spec: &AggregationSpec,
        view: &View,
        mut part: RowSet,
        selection: Option<&Selection>,
    ) -> Result<(), Error> {
        let cells = match selection {
            Some(selection) => {
                let mut block = selection.block(part)?;
                part = if self.picks.is_some() { block.rows() } else { RowSet::flat(block.settle() as u64) };
                spec.cells_of(&mut block, view)?
            }
            None => Wanted { view, rows: &part, keys: true, inputs: &spec.kept_inputs() }.cells(spec)?,
        };
        if cells.rows == 0 {
            return Ok(());
        }
        let plain = self.loading.as_ref().map(|loading| loading.plain(&mut self.states, &cells.inputs));
        let plain = plain.unwrap_or_default();
        let (mut slots, mut created) = (Vec::new(), Vec::new());
        let mut from = 0;
        while from < part.len() {
            let len = GROUP_BATCH_ROWS.rows().min(part.len() - from);
            let rows = if self.picks.is_some() { part.slice(from, len) } else { RowSet::new() };
            self.enter(&cells.slice(from as usize, len as usize), &rows, &mut slots, &mut created)?;
            if let Some(loading) = &mut self.loading {
                loading.enter(&mut self.states, &plain, from as usize, &slots);
            }
            from += len;
        }
        Ok(())
    }

    /// Starts a bulk load, until [`Groups::flush`].
    fn load(&mut self) {
        let mut loading = BulkLoad::new(&mut self.states);
        loading.grow(self.slots);
        self.loading = Some(loading);
    }

    fn flush(&mut self) {
        if let Some(loading) = self.loading.take() {
            let rows = loading.flush(&mut self.states);
            let counts = self.counts.iter_mut().flat_map(|counts| counts.iter_mut());
            counts.zip(rows).for_each(|(count, rows)| *count += rows);
        }
    }

    fn merge(&mut self, other: Groups) -> Result<(), Error> {
        let present: Vec<u32> = (0..other.slots as u32).collect();
        let mut slots = Vec::new();
        match (&mut self.table, &other.table) {
            (Some(table), Some(others)) => table.insert(&others.keys_of(&present), &mut slots, &mut Vec::new())?,
            _ => slots.resize(present.len(), 0),
        }
        self.grow();
        if let (Some(counts), Some(others)) = (&mut self.counts, &other.counts) {
            others.iter().zip(&slots).for_each(|(count, to)| counts[*to as usize] += count);
        }
        for (own, others) in self.states.iter_mut().flatten().zip(other.states.into_iter().flatten()) {
            own.1.merge(others.1, &slots);
        }
        if let (Some(own), Some(others)) = (&mut self.picks, other.picks) {
            slots.iter().enumerate().for_each(|(of, to)| own.enter_all(*to, &others, of as u32));
        }
        Ok(())
    }
}
