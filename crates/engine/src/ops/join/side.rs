//! The keys of a join, and the rows of both sides by key.
//!
//! Every probe passes here: it is the only place that knows that null matches nothing unless nulls are equal, that rows of a
//! join without key columns have one key, that a key gets a slot as its first row comes, and that it is freed when no row of
//! either side has it any more.

use std::sync::Arc;

use arrow_array::{Array, BooleanArray};
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType;
use column::kernels::equal_cells;
use column::keys::{KeyTable, NO_SLOT, any_null};
use column::{Chunk, NO_ROW};
use rowset::{Before, RowSet, Shifts};

use super::on::{On, Side};
use crate::error::Error;
use crate::keys::rows::KeyRows;
use crate::keys::touched::Touched;
use crate::table::change::Change;
use crate::table::view::View;

/// Rows of one side that may match, and the slot of each one's key.
#[derive(Default)]
pub(super) struct Slotted {
    /// The rows. Those with a null key are left out, unless nulls are equal.
    pub(super) rows: RowSet,
    /// Their slots, in row order.
    pub(super) slots: Vec<u32>,
}

impl Slotted {
    /// The rows, each with its slot.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        self.rows.iter().zip(self.slots.iter().copied())
    }
}

/// The keys of both sides of a join.
pub(super) struct JoinKeys {
    on: Arc<On>,
    nulls_equal: bool,
    keys: KeyTable,
    left: Option<KeyRows>,
    right: Option<KeyRows>,
    /// The slots that a row came to or left in this step.
    touched: Touched,
}

impl JoinKeys {
    /// No keys yet. The rows of a side are stored if `left` or `right` say so.
    pub(super) fn new(on: &Arc<On>, nulls_equal: bool, left: bool, right: bool) -> JoinKeys {
        let rows = |stored: bool| stored.then(|| KeyRows::new(true));
        let types = if on.pairs.is_empty() { vec![DataType::Boolean] } else { on.types() };
        JoinKeys {
            on: on.clone(),
            nulls_equal,
            keys: KeyTable::new(&types),
            left: rows(left),
            right: rows(right),
            touched: Touched::default(),
        }
    }

    /// Whether a change modified a key column of one side.
    pub(super) fn is_rekeyed(&self, side: Side, change: &Change) -> bool {
        let update = change.update();
        !update.modified.is_empty() && update.columns.contains_any(&self.on.columns(side))
    }

    /// Whether there are no key columns: all rows have one key then.
    pub(super) fn is_keyless(&self) -> bool {
        self.on.pairs.is_empty()
    }

    /// How many keys there are.
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// A bound of the slots in use.
    pub(super) fn slots(&self) -> usize {
        self.keys.capacity_slots()
    }

    /// The stored rows of a side.
    pub(super) fn side(&self, side: Side) -> Option<&KeyRows> {
        if side == Side::Left { self.left.as_ref() } else { self.right.as_ref() }
    }

    fn side_mut(&mut self, side: Side) -> Option<&mut KeyRows> {
        if side == Side::Left { self.left.as_mut() } else { self.right.as_mut() }
    }

    /// The key of a slot, as text for errors.
    pub(super) fn text(&self, slot: u32) -> String {
        text(&self.keys.keys_of(&[slot]))
    }

    /// The key of a row of one side, as text for errors.
    pub(super) fn text_of(&self, side: Side, view: &View, row: u64) -> Result<String, Error> {
        Ok(text(&self.on.read(side, view, &RowSet::key(row))?))
    }

    /// The rows of one side that may match, with the cells of their keys: all rows if nulls are equal, otherwise those
    /// without a null in any key column.
    pub(super) fn joinable(&self, side: Side, view: &View, rows: &RowSet) -> Result<(Vec<Chunk>, RowSet), Error> {
        let keys = self.on.read(side, view, rows)?;
        let Some(nulls) = any_null(&keys).filter(|_| !self.nulls_equal) else {
            return Ok((keys, rows.clone()));
        };
        let valid = BooleanArray::new(nulls.inner().clone(), None);
        let kept = column::matching(rows, valid.values());
        let keys = keys.iter().map(|cells| arrow_select::filter::filter(cells, &valid)).collect::<Result<_, _>>()?;
        Ok((keys, kept))
    }

    /// The slots of some keys, `NO_SLOT` for an unknown one.
    pub(super) fn slots_of(&self, keys: &[Chunk], slots: &mut Vec<u32>) {
        self.keys.find(keys, slots);
    }

    /// The key of all rows of a join without key columns.
    fn only_key() -> [Chunk; 1] {
        [Arc::new(BooleanArray::from(vec![true]))]
    }

    /// The slots of the keys of some rows, `NO_SLOT` for an unknown one.
    fn slots_of_rows(&self, keys: &[Chunk], rows: &RowSet) -> Vec<u32> {
        let mut slots = Vec::new();
        if self.is_keyless() {
            self.keys.find(&JoinKeys::only_key(), &mut slots);
            slots.resize(rows.len() as usize, slots[0]);
        } else {
            self.keys.find(keys, &mut slots);
        }
        slots
    }

    /// Makes ready for so many rows that are looked for while no key comes and none goes.
    pub(super) fn settle(&mut self, rows: u64) {
        self.keys.settle(rows);
    }

    /// Rows of one side with the slots of their keys, `NO_SLOT` for an unknown one.
    pub(super) fn find(&self, side: Side, view: &View, rows: &RowSet) -> Result<Slotted, Error> {
        if rows.is_empty() {
            return Ok(Slotted::default());
        }
        let (keys, rows) = self.joinable(side, view, rows)?;
        let slots = self.slots_of_rows(&keys, &rows);
        Ok(Slotted { rows, slots })
    }

    /// Rows of one side with the slots of their keys; a new key gets a new slot. The rows do not enter yet.
    pub(super) fn insert(&mut self, side: Side, view: &View, rows: &RowSet) -> Result<Slotted, Error> {
        if rows.is_empty() {
            return Ok(Slotted::default());
        }
        let (keys, rows) = self.joinable(side, view, rows)?;
        let mut slots = Vec::new();
        if self.is_keyless() {
            self.keys.insert(&JoinKeys::only_key(), &mut slots, &mut Vec::new())?;
            slots.resize(rows.len() as usize, slots[0]);
        } else {
            self.keys.insert(&keys, &mut slots, &mut Vec::new())?;
        }
        let capacity = self.keys.capacity_slots();
        self.left.iter_mut().chain(&mut self.right).for_each(|rows| rows.grow(capacity));
        Ok(Slotted { rows, slots })
    }

    /// Stores the rows of one side as the join starts.
    pub(super) fn load(&mut self, side: Side, view: &View, rows: &RowSet) -> Result<Slotted, Error> {
        let found = self.insert(side, view, rows)?;
        if let Some(stored) = self.side_mut(side) {
            stored.enter(&found.slots, &found.rows);
        }
        Ok(found)
    }

    /// Stores rows that were inserted, if the rows of that side are stored.
    pub(super) fn enter(&mut self, side: Side, rows: &Slotted) {
        if let Some(stored) = self.side_mut(side) {
            stored.enter(&rows.slots, &rows.rows);
            self.touch(&rows.slots);
        }
    }

    /// Removes rows from their slots.
    pub(super) fn leave(&mut self, side: Side, rows: &Slotted) {
        if let Some(stored) = self.side_mut(side) {
            stored.leave(&rows.slots, &rows.rows);
            self.touch(&rows.slots);
        }
    }

    /// Shifts the rows of these slots.
    pub(super) fn shift(&mut self, side: Side, slots: Vec<u32>, shifts: &Shifts) {
        if let Some(stored) = self.side_mut(side) {
            stored.shift(slots, shifts);
        }
    }

    /// Notes slots that must be judged at the end of the step.
    pub(super) fn touch(&mut self, slots: &[u32]) {
        self.touched.add(slots, self.keys.capacity_slots());
    }

    /// The slots that the step touched, each once.
    pub(super) fn take_touched(&mut self) -> Vec<u32> {
        self.touched.take()
    }

    /// Frees those of these slots that no stored row has, and that `unused` agrees to.
    pub(super) fn free(&mut self, slots: &[u32], unused: impl Fn(u32) -> bool) {
        for slot in slots {
            let empty = self.left.iter().chain(&self.right).all(|rows| rows.is_empty(*slot));
            if empty && unused(*slot) {
                self.keys.free(*slot);
            }
        }
    }

    /// What a step does to the rows of one side. Their keys get slots; no row leaves, moves or enters yet.
    pub(super) fn judge(&mut self, side: Side, change: &Change) -> Result<SideChange, Error> {
        let update = change.update();
        let (rekeyed, fresh) = self.rekeyed(side, change)?;
        let gone = &update.removed | &rekeyed;
        let moving = change.rekeyed_rows(&gone).0;
        let kept = &update.modified - &fresh;
        let fresh = &update.added | &fresh;
        Ok(SideChange {
            gone_found: self.find(side, change.before(), &gone.0)?,
            moving_found: self.find(side, change.before(), &moving)?,
            fresh_found: match self.side(side) {
                Some(_) => self.insert(side, change.now(), &fresh)?,
                None => self.find(side, change.now(), &fresh)?,
            },
            gone: gone.0,
            moving,
            fresh,
            kept,
        })
    }

    /// Brings the stored rows of one side up to date.
    pub(super) fn take(&mut self, side: Side, change: &SideChange, shifts: &Shifts) {
        self.leave(side, &change.gone_found);
        self.shift(side, change.moving_found.slots.clone(), shifts);
        self.enter(side, &change.fresh_found);
    }

    /// The rows of a change that have another key now, in before-keys and in after-keys.
    fn rekeyed(&self, side: Side, change: &Change) -> Result<(Before, RowSet), Error> {
        let update = change.update();
        if !self.is_rekeyed(side, change) {
            return Ok((Before::default(), RowSet::new()));
        }
        let back = update.shifts.back(&update.modified);
        let old = self.on.read(side, change.before(), &back.0)?;
        let new = self.on.read(side, change.now(), &update.modified)?;
        let same = old.iter().zip(&new).map(|(old, new)| equal_cells(old, new)).reduce(|a, b| &a & &b);
        let other = same.map_or_else(|| BooleanBuffer::new_unset(0), |same| !&same);
        Ok((Before(column::matching(&back.0, &other)), column::matching(&update.modified, &other)))
    }
}

/// One key as text.
fn text(key: &[Chunk]) -> String {
    let text = |cells: &Chunk| match cells.is_null(0) {
        true => "null".to_owned(),
        false => arrow_cast::display::array_value_to_string(cells, 0).unwrap_or_default(),
    };
    key.iter().map(text).collect::<Vec<_>>().join(", ")
}

/// What a step does to the rows of one side of a join.
pub(super) struct SideChange {
    /// Rows that leave their key: removed ones, and those that have another key now. In before-keys.
    pub(super) gone: RowSet,
    /// Those of them that may match.
    pub(super) gone_found: Slotted,
    /// Rows that stay with their key and have another row key now. In before-keys.
    pub(super) moving: RowSet,
    /// Those of them that may match.
    pub(super) moving_found: Slotted,
    /// Rows that come to a key: added ones, and those that have another key now. In after-keys.
    pub(super) fresh: RowSet,
    /// Those of them that may match.
    pub(super) fresh_found: Slotted,
    /// Modified rows that stay with their key. In after-keys.
    pub(super) kept: RowSet,
}

/// The rows of a slot of one side; none of an unknown key.
pub(super) fn rows_of(stored: Option<&KeyRows>, slot: u32, each: impl FnMut(u64)) {
    if let Some(stored) = stored.filter(|_| slot != NO_SLOT) {
        stored.for_each(slot, each);
    }
}

/// Whether a slot has no stored row.
pub(super) fn is_empty(stored: Option<&KeyRows>, slot: u32) -> bool {
    slot == NO_SLOT || stored.is_none_or(|stored| stored.is_empty(slot))
}

/// The matches of the rows in `entered`, spread over all of `rows`; the others (null keys) have none.
pub(super) fn spread(rows: &RowSet, entered: &RowSet, matched: impl Iterator<Item = u64>) -> Vec<u64> {
    if rows.len() == entered.len() {
        return matched.collect();
    }
    let mut all = vec![NO_ROW; rows.len() as usize];
    for (position, row) in rows.positions_of(entered).0.iter().zip(matched) {
        all[position as usize] = row;
    }
    all
}
