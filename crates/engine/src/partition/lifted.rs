//! The rows of all constituents in one table, by key: what a merge reads where a plan is lifted.
//!
//!   lifted   0 A 1    1 B 2    2 A 3          A: 0 2      B: 1

use std::collections::HashMap;

use rowset::{Before, RowSet, Shifts};

use super::hub::Lists;
use crate::error::Error;
use crate::keys::grouped::GroupedRows;
use crate::ops::project::mapped;
use crate::ops::stacked::{Ends, Sources};
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::update::ColumnSet;
use crate::table::view::View;

/// A table that has the rows of all constituents, each in their order and with the key of its constituent.
#[derive(Clone)]
pub(crate) struct Lifted {
    pub(super) table: Table,
    /// The columns of the keys.
    pub(super) keys: Vec<usize>,
    /// The columns of a constituent.
    pub(super) columns: Vec<usize>,
}

/// The rows of each key of a lifted table, by slot, and the places of the keys that are shown.
pub(super) struct LiftedRows {
    columns: Vec<usize>,
    sources: Sources,
    groups: GroupedRows,
    /// Of each slot; `NO_PLACE` if its key is not shown.
    places: Vec<usize>,
}

const NO_PLACE: usize = usize::MAX;

/// What a step did to the rows of a lifted table.
#[derive(Default)]
pub(super) struct Followed {
    pub(super) lists: Lists,
    /// How the rows of a shown slot move.
    pub(super) moving: HashMap<u32, Shifts>,
    /// The columns of the constituent whose cells have changed in modified rows.
    pub(super) columns: ColumnSet,
}

impl Followed {
    /// The slots that rows have come to.
    pub(super) fn grown(&self) -> impl Iterator<Item = u32> + '_ {
        self.lists.added.iter().map(|(slot, _)| *slot).chain(self.moving.keys().copied())
    }
}

impl LiftedRows {
    /// The rows as they are in a view of the table.
    pub(super) fn new(lifted: &Lifted, view: &View) -> Result<LiftedRows, Error> {
        let Lifted { table, keys, columns } = lifted;
        // The row in its group, and its slot.
        limits::ask_rows(view.rows().len(), 16)?;
        let (groups, _) = GroupedRows::filled(table, keys, view, true)?;
        let sources = columns.iter().map(|column| table.parts().columns[*column].clone()).collect();
        Ok(LiftedRows { columns: columns.clone(), sources, groups, places: Vec::new() })
    }

    /// The columns of a constituent.
    pub(super) fn sources(&self) -> Sources {
        self.sources.clone()
    }

    /// The slots of these keys, a column each.
    pub(super) fn slots_of_keys(&mut self, keys: &[column::Chunk]) -> Result<Vec<u32>, Error> {
        self.groups.slots_of_keys(keys)
    }

    pub(super) fn rows(&self, slot: u32) -> RowSet {
        self.groups.rows().to_rows(slot)
    }

    pub(super) fn ends(&self, slot: u32) -> Ends {
        let rows = self.groups.rows();
        (!rows.is_empty(slot)).then(|| (rows.first(slot), rows.last(slot)))
    }

    /// The place of a slot whose key is shown.
    pub(super) fn place(&self, slot: u32) -> Option<usize> {
        self.places.get(slot as usize).copied().filter(|place| *place != NO_PLACE)
    }

    /// Shows the keys of these slots at these places, and no others. The keys of the slots that went are forgotten where they
    /// have no rows.
    pub(super) fn show(&mut self, slots: impl Iterator<Item = (u32, usize)>, went: &[u32]) {
        self.places.clear();
        self.places.resize(self.groups.slots(), NO_PLACE);
        slots.for_each(|(slot, place)| self.places[slot as usize] = place);
        let gone = went.iter().filter(|slot| self.places[**slot as usize] == NO_PLACE);
        gone.for_each(|slot| self.groups.forget(*slot));
    }

    /// Takes over a change of the table.
    pub(super) fn follow(&mut self, change: &Change) -> Result<Followed, Error> {
        let update = change.update();
        if update.is_empty() {
            return Ok(Followed::default());
        }
        let regroups = self.groups.read(change)?;
        let lists = Lists::of(&self.groups, &regroups, change)?;
        let mut moving = HashMap::new();
        if !update.shifts.is_empty() {
            let mut removed: HashMap<u32, Vec<u64>> = HashMap::new();
            lists.removed.iter().for_each(|(slot, row)| removed.entry(*slot).or_default().push(*row));
            // A modified row that may have changed its key is not among those that move.
            let modified = lists.modified.iter().map(|(slot, _)| *slot).filter(|_| regroups.rekeyed);
            let mut slots: Vec<u32> = regroups.moving_slots.iter().copied().chain(modified).collect();
            slots.sort_unstable();
            slots.dedup();
            for slot in slots.into_iter().filter(|slot| self.place(*slot).is_some()) {
                let gone = removed.remove(&slot).map_or_else(RowSet::new, RowSet::from_keys);
                moving.insert(slot, update.shifts.restrict(&Before(&self.rows(slot) - &gone)));
            }
        }
        let LiftedRows { groups, places, columns, .. } = self;
        let keeps = |slot: u32| places.get(slot as usize).is_some_and(|place| *place != NO_PLACE);
        groups.take_keeping(regroups, change, keeps);
        Ok(Followed { lists, moving, columns: mapped(&update.columns, columns) })
    }
}
