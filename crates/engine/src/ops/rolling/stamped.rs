//! The rows of each key by stamp, kept in step with a table. A row without a stamp is in no group.
//!
//! Cost of a step: one probe for each row that comes, goes, moves or changes, and one search in its group.

use arrow_array::BooleanArray;
use column::Chunk;
use column::keys::{KeyTable, NO_SLOT};
use rowset::RowSet;

use super::spec::Stamps;
use crate::error::Error;
use crate::keys::frame::Touch;
use crate::keys::group_order::GroupOrder;
use crate::keys::grouped::{key_cells, key_types};
use crate::keys::timeline::{Entry, Place, Timelines};
use crate::ops::join::ordered;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::view::View;

/// Rows that have a stamp, with their groups and stamps.
#[derive(Default)]
pub(super) struct Standing {
    pub(super) rows: RowSet,
    pub(super) slots: Vec<u32>,
    pub(super) stamps: Vec<u64>,
}

impl Standing {
    /// Slot, stamp and key of each row.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, u64, u64)> + '_ {
        self.slots.iter().zip(&self.stamps).zip(self.rows.iter()).map(|((slot, stamp), key)| (*slot, *stamp, key))
    }
}

/// The rows of each key by stamp.
pub(super) struct StampedRows {
    columns: Vec<usize>,
    stamp: usize,
    keys: KeyTable,
    pub(super) lines: Timelines<()>,
}

impl StampedRows {
    /// No rows yet, of this table by these columns.
    pub(super) fn new(table: &Table, columns: &[usize], stamps: &Stamps) -> StampedRows {
        let keys = KeyTable::new(&key_types(table, columns));
        StampedRows { columns: columns.to_vec(), stamp: stamps.column, keys, lines: Timelines::default() }
    }

    /// How many groups there are.
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Every slot is below this.
    pub(super) fn slots(&self) -> usize {
        self.keys.capacity_slots()
    }

    /// Those of these rows that have a stamp, and the cells of their keys.
    fn stamped(&self, view: &View, rows: &RowSet) -> Result<(Standing, Vec<Chunk>), Error> {
        if rows.is_empty() {
            return Ok(Default::default());
        }
        let (mut stamps, missing) = ordered(&view.read(self.stamp, rows)?)?;
        let mut cells = key_cells(&self.columns, view, rows)?;
        let mut rows = rows.clone();
        if let Some(valid) = missing.filter(|valid| valid.null_count() > 0) {
            let kept = BooleanArray::new(valid.inner().clone(), None);
            cells = cells.iter().map(|cells| arrow_select::filter::filter(cells, &kept)).collect::<Result<_, _>>()?;
            rows = column::matching(&rows, kept.values());
            stamps = stamps.into_iter().zip(valid.iter()).filter_map(|(stamp, valid)| valid.then_some(stamp)).collect();
        }
        Ok((Standing { rows, slots: Vec::new(), stamps }, cells))
    }

    /// Those of these rows that have a stamp. Their keys are entered, they are not.
    pub(super) fn standing(&mut self, view: &View, rows: &RowSet) -> Result<Standing, Error> {
        let (mut found, cells) = self.stamped(view, rows)?;
        if !found.rows.is_empty() {
            self.keys.insert(&cells, &mut found.slots, &mut Vec::new())?;
            self.lines.grow(self.keys.capacity_slots());
        }
        Ok(found)
    }

    /// Those of these rows that have a stamp, all of which are entered.
    fn find(&self, view: &View, rows: &RowSet) -> Result<Standing, Error> {
        let (mut found, cells) = self.stamped(view, rows)?;
        if !found.rows.is_empty() {
            self.keys.find(&cells, &mut found.slots);
        }
        if found.slots.contains(&NO_SLOT) {
            return Err(Error::internal("rolling", "a row that is present has a key of no group"));
        }
        Ok(found)
    }

    /// Enters a row.
    pub(super) fn enter(&mut self, (slot, stamp, key): (u32, u64, u64)) {
        self.lines[slot].insert(Entry { stamp, key, tag: () });
    }

    /// Takes over a change of the table: what it did to the groups, and the rows that have come to them. `reads`: whether it
    /// changed cells that are aggregated.
    pub(super) fn follow(
        &mut self,
        change: &Change,
        reads: bool,
    ) -> Result<(Vec<(u32, Touch<Place>)>, Standing), Error> {
        let update = change.update();
        let own = update.columns.contains_any(&self.columns) || update.columns.contains(self.stamp);
        let moved = own && !update.modified.is_empty();
        let (gone, moving) = change.departing_rows(moved);
        let (gone, moving) = (self.find(change.before(), &gone.0)?, self.find(change.before(), &moving.0)?);
        let fresh = if moved { &update.added | &update.modified } else { update.added.clone() };
        let fresh = self.standing(change.now(), &fresh)?;

        let mut touched = Vec::new();
        for (slot, stamp, key) in gone.iter() {
            self.lines[slot].remove(stamp, key);
            touched.push((slot, Touch::Left { next: Place::START, stamp }));
        }
        self.shift(&moving, change);
        fresh.iter().for_each(|entry| self.enter(entry));
        for slot in &gone.slots {
            if self.lines[*slot].is_empty() {
                self.keys.free(*slot);
            }
        }
        touched.extend(self.places(&fresh).map(|(slot, rows)| (slot, Touch::Entered(rows))));
        if reads && !moved {
            let changed = self.find(change.now(), &update.modified)?;
            touched.extend(self.places(&changed).map(|(slot, rows)| (slot, Touch::Changed(rows))));
        }
        Ok((touched, fresh))
    }

    /// Rows take other row keys, in the same order.
    fn shift(&mut self, moving: &Standing, change: &Change) {
        let shifts = &change.update().shifts;
        // A group of which most rows move is rewritten as a whole.
        let mut slots = moving.slots.clone();
        slots.sort_unstable();
        let many: Vec<u32> = slots
            .chunk_by(|one, other| one == other)
            .filter(|run| run.len() > self.lines[run[0]].at_most() / 8)
            .map(|run| run[0])
            .collect();
        self.lines.shift(&many, shifts);
        let few = || moving.iter().filter(|(slot, ..)| many.binary_search(slot).is_err());
        few().for_each(|(slot, stamp, key)| _ = self.lines[slot].remove(stamp, key));
        let moved: Vec<(u32, u64, u64)> =
            few().map(|(slot, stamp, key)| (slot, stamp, shifts.forward_key(key))).collect();
        moved.into_iter().for_each(|entry| self.enter(entry));
    }

    fn places<'a>(&'a self, rows: &'a Standing) -> impl Iterator<Item = (u32, std::ops::Range<Place>)> + 'a {
        rows.iter().map(|(slot, stamp, key)| {
            let place = self.lines[slot].lower((stamp, key));
            (slot, place..self.lines.moved(slot, place, 1))
        })
    }

    /// The first of these rows whose stamp is less than that of a row before it in its group, or greater than that of one
    /// behind it: the later of the two.
    pub(super) fn first_that_goes_back(&self, rows: &Standing) -> Option<u64> {
        let back = |(slot, stamp, key): (u32, u64, u64)| {
            let line = &self.lines[slot];
            let place = line.lower((stamp, key));
            let before = line.before(place).filter(|before| before.key > key).map(|before| before.key);
            let next = line.get(self.lines.moved(slot, place, 1));
            before.or(next.filter(|next| next.key < key).map(|_| key))
        };
        rows.iter().find_map(back)
    }
}
