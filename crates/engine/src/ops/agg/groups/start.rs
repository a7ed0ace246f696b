//! Groups of many rows at once, as an aggregation starts.

use rowset::RowSet;

use super::super::loading::BulkLoad;
use super::super::spec::{AggregationSpec, ReadRequest};
use super::Groups;
use crate::error::Error;
use crate::eval::block::Block;
use crate::eval::selection::Selection;
use crate::sizes::{BLOCK_ROWS, FEW_GROUPS, GROUP_ALONE_ROWS, GROUP_BATCH_ROWS, GROUP_PART_ROWS};
use crate::table::view::View;

impl Groups {
    /// The groups of all present rows, or of those that a selection finds. Large tables are loaded in parts, one per thread,
    /// which are merged in row order.
    pub(crate) fn start(spec: &AggregationSpec, view: &View, selection: Option<&Selection>) -> Result<Groups, Error> {
        let rows = view.rows();
        let shares =
            rows.split(if rows.len() > GROUP_ALONE_ROWS.rows() { crate::threads::parallel::threads() } else { 1 });
        let share = |at: usize, share: &RowSet| {
            let groups = if at == 0 { Groups::standing(spec)? } else { Groups::empty(spec)? };
            let mut groups = Groups { shares: shares.len() as u64, ..groups };
            groups.load(share.len());
            let parts = match selection {
                Some(selection) => selection.parts(share, BLOCK_ROWS.rows()),
                None => view.parts(&spec.read_columns(), share, GROUP_PART_ROWS.rows()),
            };
            for part in parts {
                let rows = part.len();
                groups.enter_part(spec, view, part, selection)?;
                groups.loading.iter_mut().for_each(|loading| loading.note(rows));
            }
            groups.flush();
            Ok::<Groups, Error>(groups)
        };
        let mut groups = crate::threads::parallel::try_map(true, &shares, share)?.into_iter();
        let Some(mut first) = groups.next() else { return Groups::standing(spec) };
        groups.try_for_each(|groups| first.merge(groups))?;
        first.shares = 1;
        Ok(first)
    }

    /// Without rows; with the groups that are named.
    fn standing(spec: &AggregationSpec) -> Result<Groups, Error> {
        let mut groups = Groups::empty(spec)?;
        groups.reserve_named(&spec.named)?;
        Ok(groups)
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
                if self.enter_masked(spec, view, &mut block)? {
                    return Ok(());
                }
                part = if self.picks.is_some() { block.rows() } else { RowSet::flat(block.compact() as u64) };
                spec.cells_of(&mut block, view)?
            }
            None => ReadRequest { view, rows: &part, keys: true, inputs: &spec.kept_inputs() }.cells(spec)?,
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
                loading.enter(&mut self.states, &plain, from as usize, &slots, None);
            }
            from += len;
        }
        Ok(())
    }

    /// Enters the rows of a block that are left without picking them first: they are most of its rows, their groups are few and
    /// known, and all states take them from the board. Whether it was done.
    fn enter_masked(&mut self, spec: &AggregationSpec, view: &View, block: &mut Block) -> Result<bool, Error> {
        let (rows, Some(left)) = block.left() else { return Ok(false) };
        let left = left.clone();
        let few = (1..=FEW_GROUPS.get()).contains(&self.slots) && self.picks.is_none();
        let Some(loading) = &mut self.loading else { return Ok(false) };
        let on_board = self.states.iter().enumerate().all(|(at, state)| state.is_none() || loading.has(at));
        let inputs = spec.kept_inputs();
        if !few || !on_board || !inputs.iter().all(|input| spec.input(*input).is_total()) {
            return Ok(false);
        }
        let keys =
            spec.keys.iter().map(|(column, _)| block.column(view, *column)).collect::<Result<Vec<_>, Error>>()?;
        let mut slots = loading.take_slots();
        match &self.table {
            Some(table) => {
                slots.clear();
                if !table.find_among_few(&keys, &mut slots) {
                    return Ok(false);
                }
            }
            // Nothing but zeros was ever there.
            None => slots.resize(rows, 0),
        }
        let mut cells = vec![None; spec.inputs.len()];
        for input in inputs {
            cells[input] = Some(block.evaluate(view, spec.input(input))?);
        }
        let plain = loading.plain(&mut self.states, &cells);
        loading.enter(&mut self.states, &plain, 0, &slots, Some(&left));
        loading.give_slots(slots);
        Ok(true)
    }

    /// Starts a bulk load of so many rows, until [`Groups::flush`].
    fn load(&mut self, rows: u64) {
        let mut loading = BulkLoad::new(&mut self.states, rows);
        loading.grow(self.slots, self.slots);
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
