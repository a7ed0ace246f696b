//! `join_asof`: every left row, with the columns of the right row nearest in time, or nulls.
//!
//!   right  0 A 10:00 1.0    1 A 10:05 1.1
//!   left   0 A 10:03                          out   0 A 10:03 1.0        backward
//!   right  + 2 A 10:02 1.2                    out   ~ 0 A 10:03 1.2      K {bid}
//!
//! Left rows and columns are shared, right ones are read through an index. `backward` takes the
//! last of equal right stamps, `forward` the first; a null or NaN stamp matches nothing. Cost of an
//! update: a search a changed row; a right row that comes in between touches only the left rows
//! from its stamp to the next one of its group.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, ArrayRef, UInt64Array};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Schema};
use column::keys::{KeyTable, NO_SLOT, any_null};
use column::{Chunk, NO_ROW};
use graph::{Moment, Step};
use rowset::{Before, RowSet};

use super::natural::redirected;
use super::on::{On, Side, added_columns, cells_as, joined_schema, joined_update, match_now, meeting_type};
use super::timeline::{Entry, Place, Timeline};
use crate::error::Error;
use crate::operation::{Input, Live, Operation, Parts, Request, Start};
use crate::store::{Columns, Writes};
use crate::table::{Attributes, Table};
use crate::update::{ColumnSet, TableUpdate};
use crate::view::{Change, View};

/// Which right row is the match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub enum Strategy {
    /// The greatest right stamp that is not later; of equal ones the last row.
    Backward,
    /// The least right stamp that is not earlier; of equal ones the first row.
    Forward,
    /// The same, but of equal ones the last row.
    ForwardLast,
    /// The stamp at the smaller distance, at equal distance the later; of equal ones the last row.
    Nearest,
}

/// Rows looked up at once while starting.
const PROBE_ROWS: u64 = 1 << 16;

/// Left rows with the right row nearest in time.
pub struct AsofJoin {
    request: Request,
    how: Arc<How>,
    added: Vec<(usize, String)>,
}

/// How rows meet.
struct How {
    operation: String,
    by: On,
    left_stamp: usize,
    right_stamp: usize,
    meet: DataType,
    strategy: Strategy,
    exact: bool,
    tolerance: Option<u64>,
}

/// What a caller chooses.
#[derive(Clone, Debug)]
pub struct AsofOptions {
    /// Left and right stamp column.
    pub on: (String, String),
    /// Left and right key columns.
    pub by: Vec<(String, String)>,
    /// Which right row is the match.
    pub strategy: Strategy,
    /// Greatest distance, inclusive: nanoseconds of times, units of integers, days of dates.
    pub tolerance: Option<u64>,
    /// Whether equal stamps match.
    pub allow_exact_matches: bool,
    /// New and old names of right columns; all but the keys (and the stamp of equal name) without it.
    pub joins: Option<Vec<(String, String)>>,
    /// What is appended to a right name that the left table has too.
    pub suffix: Option<String>,
}

impl AsofJoin {
    /// Checks names and types.
    pub fn new(operation: &str, left: &Table, right: &Table, options: &AsofOptions) -> Result<AsofJoin, Error> {
        let by = On::new(operation, left, right, &options.by)?;
        let (left_name, right_name) = &options.on;
        let (left_stamp, right_stamp) =
            (left.column_index(operation, left_name)?, right.column_index(operation, right_name)?);
        let (a, b) = (left.column_type(left_stamp), right.column_type(right_stamp));
        let meet = meeting_type(a, b).filter(is_stamp).ok_or_else(|| {
            Error::types(operation, format!("the stamps {left_name:?} ({a}) and {right_name:?} ({b}) do not compare as times or numbers; cast one of them"))
        })?;
        if options.tolerance.is_some() && !has_distance(&meet) {
            return Err(Error::types(operation, format!("a tolerance needs stamps with a distance, {meet} has none")));
        }
        let mut without = by.columns(Side::Right);
        if left_name == right_name {
            without.push(right_stamp);
        }
        let added =
            added_columns(operation, left, right, options.joins.as_deref(), &without, options.suffix.as_deref())?;
        let arguments = serde_json::json!([
            options.on,
            options.by,
            options.strategy,
            options.tolerance,
            options.allow_exact_matches,
            added
        ]);
        let request = Request::new(operation, arguments).with_text(if left_name == right_name {
            left_name.clone()
        } else {
            format!("{left_name}, {right_name}")
        });
        let how = How {
            operation: operation.into(),
            by,
            left_stamp,
            right_stamp,
            meet,
            strategy: options.strategy,
            exact: options.allow_exact_matches,
            tolerance: options.tolerance,
        };
        Ok(AsofJoin { request, how: Arc::new(how), added })
    }
}

fn is_stamp(data_type: &DataType) -> bool {
    use DataType::*;
    matches!(data_type, Timestamp(..) | Date32 | Time64(_) | Duration(_) | Float16 | Float32 | Float64)
        || data_type.is_integer()
}

fn has_distance(data_type: &DataType) -> bool {
    !matches!(data_type, DataType::Float16 | DataType::Float32 | DataType::Float64)
}

impl Operation for AsofJoin {
    fn request(&self) -> &Request {
        &self.request
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let [left, right] = inputs else { unreachable!("a join has two inputs") };
        let mut live = AsofLive {
            how: self.how.clone(),
            keys: (!self.how.by.pairs.is_empty()).then(|| KeyTable::new(&self.how.by.types())),
            right: Vec::new(),
            left: right.table.is_live().then(Vec::new),
            left_width: left.table.width(),
            added: self.added.iter().map(|(column, _)| *column).collect(),
            emptied: Vec::new(),
            index: None,
        };
        let rows = live.rows_of(Side::Right, &right.view, right.view.rows(), true)?;
        rows.each(|slot, stamp, key| live.right[slot as usize].insert(Entry { stamp, key, tag: () }));
        let matched = live.start(&left.view)?;
        live.free_emptied();
        let counters = [left, right]
            .iter()
            .find_map(|input| input.table.graph())
            .map(crate::counters::storage)
            .unwrap_or_default();
        let schema = Schema::new(vec![Field::new("index", DataType::UInt64, true)]);
        let columns = Columns::filled(&schema, at, &counters, &[matched])?;
        let sources = redirected(&left.table, &right.table, &self.added, columns.column(0).clone());
        let ticking = right.table.is_live();
        let old = left.table.attributes();
        let attributes =
            Attributes { append_only: old.append_only && !ticking, add_only: old.add_only && !ticking, ..old.clone() };
        let schema = Arc::new(joined_schema(&left.table, &right.table, &self.added));
        let parts = Parts { rows: left.table.parts().rows.clone(), columns: sources, schema, attributes };
        let owned = columns.owned();
        live.index = Some(columns);
        Ok(Start { parts, live: Box::new(live), owned })
    }
}

struct AsofLive {
    how: Arc<How>,
    keys: Option<KeyTable>,
    right: Vec<Timeline<()>>,
    /// Left rows of each group with their match; none if the right side never changes.
    left: Option<Vec<Timeline<u64>>>,
    left_width: usize,
    added: Vec<usize>,
    /// Groups that lost their last row of a side, or have had none yet.
    emptied: Vec<u32>,
    index: Option<Columns>,
}

/// Rows of one side with their groups and stamps; rows without a stamp or with a null key are out.
struct Rows {
    slots: Vec<u32>,
    stamps: Vec<u64>,
    valid: Option<NullBuffer>,
    keys: RowSet,
}

impl Rows {
    fn each(&self, mut run: impl FnMut(u32, u64, u64)) {
        for (at, key) in self.keys.iter().enumerate() {
            if self.slots[at] != NO_SLOT && self.valid.as_ref().is_none_or(|valid| valid.is_valid(at)) {
                run(self.slots[at], self.stamps[at], key);
            }
        }
    }
}

impl Live for AsofLive {
    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let (left, right) = (&inputs[0], &inputs[1]);
        let update = left.update();
        let mut read = self.how.by.columns(Side::Left);
        read.push(self.how.left_stamp);
        let restamped = update.columns.contains_any(&read) && !update.modified.is_empty();
        self.move_left(left, restamped)?;
        let mut changes = self.move_right(right)?;
        let mut probe = update.added.clone();
        if restamped {
            probe |= &update.modified;
        }
        let fresh = self.probe(left.now(), &probe)?;
        self.modified_right(right, &mut changes)?;
        let mut rematched = changes.rematched();
        if restamped {
            let stayed = &probe - &update.added;
            rematched |= &self.differing(left, right, &stayed, &probe, &fresh)?;
        }
        self.write(left, step, &probe, fresh, &changes)?;
        self.free_emptied();
        let added = self.left_width..self.left_width + self.added.len();
        Ok(joined_update(update, added, &rematched, changes.modified, &changes.columns))
    }

    fn entries(&self) -> u64 {
        self.keys.as_ref().map_or(0, |keys| keys.len() as u64)
    }
}

/// What the right side's step means for left rows that were there.
#[derive(Default)]
struct RightChange {
    /// Left row and its right row now: another one than before.
    rematched: Vec<(u64, u64)>,
    /// The same right row at another key.
    moved: Vec<(u64, u64)>,
    /// Left rows whose right row has other cells.
    modified: Vec<u64>,
    columns: ColumnSet,
}

impl RightChange {
    fn rematched(&self) -> RowSet {
        RowSet::from_keys(self.rematched.iter().map(|(key, _)| *key).collect())
    }
}

impl AsofLive {
    fn index(&self) -> &Columns {
        self.index.as_ref().expect("the index is made as the join starts")
    }

    /// Keys that neither side has any more are freed, at the end of a step: until then their slots stand for them.
    fn free_emptied(&mut self) {
        let emptied = std::mem::take(&mut self.emptied);
        let Some(keys) = &mut self.keys else { return };
        let has_left = |slot: u32| self.left.as_ref().is_some_and(|left| !left[slot as usize].is_empty());
        for slot in emptied {
            if self.right[slot as usize].is_empty() && !has_left(slot) {
                keys.free(slot);
            }
        }
    }

    /// Groups and stamps of some rows; `enter` makes groups that are not there yet.
    fn rows_of(&mut self, side: Side, view: &View, rows: &RowSet, enter: bool) -> Result<Rows, Error> {
        if !enter {
            return self.rows_found(side, view, rows);
        }
        let (keys, nulls) = self.key_cells(side, view, rows)?;
        let mut slots = Vec::new();
        match &mut self.keys {
            Some(table) => {
                let mut created = Vec::new();
                table.insert(&keys, &mut slots, &mut created)?;
                // What is made for a key that turns out to have no row (it is null, or has no stamp) is freed again.
                self.emptied.extend(created.into_iter().map(|row| slots[row as usize]));
            }
            None => slots.resize(rows.len() as usize, 0),
        }
        let groups = self.keys.as_ref().map_or(1, KeyTable::capacity_slots).max(self.right.len());
        self.right.resize_with(groups, Timeline::default);
        if let Some(left) = &mut self.left {
            left.resize_with(groups, Timeline::default);
        }
        self.stamped(side, view, rows, slots, nulls)
    }

    fn rows_found(&self, side: Side, view: &View, rows: &RowSet) -> Result<Rows, Error> {
        let (keys, nulls) = self.key_cells(side, view, rows)?;
        let mut slots = Vec::new();
        match &self.keys {
            Some(table) => table.find(&keys, &mut slots),
            None => slots.resize(rows.len() as usize, if self.right.is_empty() { NO_SLOT } else { 0 }),
        }
        self.stamped(side, view, rows, slots, nulls)
    }

    fn key_cells(&self, side: Side, view: &View, rows: &RowSet) -> Result<(Vec<Chunk>, Option<NullBuffer>), Error> {
        let keys = self.how.by.read(side, view, rows)?;
        let nulls = any_null(&keys);
        Ok((keys, nulls))
    }

    fn stamped(
        &self,
        side: Side,
        view: &View,
        rows: &RowSet,
        slots: Vec<u32>,
        nulls: Option<NullBuffer>,
    ) -> Result<Rows, Error> {
        let column = if side == Side::Left { self.how.left_stamp } else { self.how.right_stamp };
        let cells = cells_as(view.read(column, rows)?, &self.how.meet)?;
        let (stamps, missing) = ordered(&cells)?;
        let valid = NullBuffer::union(nulls.as_ref(), missing.as_ref());
        Ok(Rows { slots, stamps, valid, keys: rows.clone() })
    }

    /// The index of everything there is.
    fn start(&mut self, view: &View) -> Result<Vec<(RowSet, Chunk)>, Error> {
        let rows = view.rows();
        let parts: Vec<RowSet> =
            (0..rows.len()).step_by(PROBE_ROWS as usize).map(|from| rows.slice(from, PROBE_ROWS)).collect();
        let cells = |matched: Vec<u64>| Arc::new(UInt64Array::from(matched)) as ArrayRef;
        if self.left.is_some() {
            return parts.into_iter().map(|part| Ok((part.clone(), cells(self.probe(view, &part)?)))).collect();
        }
        crate::par::try_map(rows.len() > 2 * PROBE_ROWS, &parts, |_, part| {
            Ok((part.clone(), cells(self.look_up(&self.rows_found(Side::Left, view, part)?))))
        })
    }

    /// The right row of each of these left rows, which are entered.
    fn probe(&mut self, view: &View, rows: &RowSet) -> Result<Vec<u64>, Error> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        if self.left.is_none() {
            return Ok(self.look_up(&self.rows_found(Side::Left, view, rows)?));
        }
        let rows = self.rows_of(Side::Left, view, rows, true)?;
        let matched = self.look_up(&rows);
        if let Some(left) = &mut self.left {
            let keys = rows.keys.to_vec();
            for batch in rows.placed().chunks(BATCH) {
                touch_places(left, batch);
                for &(slot, stamp, position) in batch {
                    let (key, tag) = (keys[position as usize], matched[position as usize]);
                    left[slot as usize].insert(Entry { stamp, key, tag });
                }
            }
        }
        Ok(matched)
    }

    fn look_up(&self, rows: &Rows) -> Vec<u64> {
        let mut matched = vec![NO_ROW; rows.slots.len()];
        let mut hints = if few_groups(self.right.len(), matched.len()) {
            vec![Place::UNKNOWN; self.right.len()]
        } else {
            Vec::new()
        };
        for batch in rows.placed().chunks(BATCH) {
            touch(&self.right, batch);
            for (slot, stamp, position) in batch {
                let mut unknown = Place::UNKNOWN;
                let hint = hints.get_mut(*slot as usize).unwrap_or(&mut unknown);
                matched[*position as usize] = self.how.find(&self.right[*slot as usize], *stamp, hint);
            }
        }
        matched
    }

    /// Left rows that go or take another stamp leave, those that move are renamed.
    fn move_left(&mut self, change: &Change, restamped: bool) -> Result<(), Error> {
        if self.left.is_none() {
            return Ok(());
        }
        let update = change.update();
        let mut gone = update.removed.clone();
        if restamped {
            gone = &gone | &update.shifts.back(&update.modified);
        }
        let moving = change.moving(&gone);
        let leaving =
            (!gone.0.is_empty()).then(|| self.rows_found(Side::Left, change.before(), &gone.0)).transpose()?;
        let moving =
            (!moving.0.is_empty()).then(|| self.rows_found(Side::Left, change.before(), &moving.0)).transpose()?;
        let Some(left) = &mut self.left else { return Ok(()) };
        if let Some(rows) = leaving {
            rows.each(|slot, stamp, key| {
                left[slot as usize].remove(stamp, key);
                if left[slot as usize].is_empty() {
                    self.emptied.push(slot);
                }
            });
        }
        if let Some(rows) = moving {
            rows.groups().into_iter().for_each(|slot| left[slot as usize].rekey(|key| update.shifts.forward_key(key)));
        }
        Ok(())
    }

    /// Right rows go, move and come; the left rows between their stamps and the next are matched again.
    fn move_right(&mut self, change: &Change) -> Result<RightChange, Error> {
        let update = change.update();
        let mut result = RightChange::default();
        if update.is_empty() {
            return Ok(result);
        }
        let mut read = self.how.by.columns(Side::Right);
        read.push(self.how.right_stamp);
        let restamped = update.columns.contains_any(&read);
        let back = if restamped { update.shifts.back(&update.modified) } else { Before::default() };
        let gone = &update.removed | &back;
        let moving = change.moving(&gone);
        let fresh = if restamped { &update.added | &update.modified } else { update.added.clone() };
        let mut dirty: Vec<(u32, u64, u64)> = Vec::new();
        if !gone.0.is_empty() {
            let rows = self.rows_found(Side::Right, change.before(), &gone.0)?;
            for batch in rows.by_group(self.right.len()).chunks(BATCH) {
                touch(&self.right, batch);
                for &(slot, stamp, key) in batch {
                    self.right[slot as usize].remove(stamp, key);
                    if self.right[slot as usize].is_empty() {
                        self.emptied.push(slot);
                    }
                    dirty.push((slot, stamp, 0));
                }
            }
        }
        if !moving.0.is_empty() {
            let rows = self.rows_found(Side::Right, change.before(), &moving.0)?;
            for slot in rows.groups() {
                self.right[slot as usize].rekey(|key| update.shifts.forward_key(key));
                if let Some(left) = &mut self.left {
                    // A match that is gone is found again below; its key means nothing any more.
                    left[slot as usize].walk(Place::START, |_, key, tag| {
                        if *tag != NO_ROW && !gone.0.contains(*tag) {
                            let now = update.shifts.forward_key(*tag);
                            if now != *tag {
                                *tag = now;
                                result.moved.push((key, now));
                            }
                        } else if *tag != NO_ROW {
                            *tag = LOST;
                        }
                        true
                    });
                }
            }
        }
        if !fresh.is_empty() {
            let rows = self.rows_of(Side::Right, change.now(), &fresh, true)?;
            for batch in rows.by_group(self.right.len()).chunks(BATCH) {
                touch_places(&self.right, batch);
                for &(slot, stamp, key) in batch {
                    self.right[slot as usize].insert(Entry { stamp, key, tag: () });
                    dirty.push((slot, stamp, 0));
                }
            }
        }
        self.match_again(dirty, &gone.0, &fresh, &mut result);
        Ok(result)
    }

    /// Matches the left rows again that a change at these stamps (slot, stamp, 0) can reach.
    fn match_again(
        &mut self,
        mut dirty: Vec<(u32, u64, u64)>,
        gone: &RowSet,
        fresh: &RowSet,
        result: &mut RightChange,
    ) {
        let Some(left) = &mut self.left else { return };
        // Most right rows come at the end of time, where no left row is yet that could match them.
        let backward = self.how.strategy == Strategy::Backward;
        dirty.retain(|(slot, stamp, _)| !left[*slot as usize].ends_before(if backward { *stamp } else { 0 }));
        if !dirty.is_sorted() {
            dirty.sort_unstable();
        }
        dirty.dedup();
        let mut reached: Option<(u32, u64)> = None;
        for batch in dirty.chunks(BATCH) {
            touch(left, batch);
            touch(&self.right, batch);
            for &(slot, stamp, _) in batch {
                let line = &mut left[slot as usize];
                let right = &self.right[slot as usize];
                let (from, to) = self.how.reach(right, stamp);
                // What the last interval covered is matched already.
                let from = match reached {
                    Some((last, end)) if last == slot && end >= from => match end.checked_add(1) {
                        Some(next) => next,
                        None => continue,
                    },
                    _ => from,
                };
                if from > to {
                    continue;
                }
                reached = Some((slot, to));
                let mut hint = Place::UNKNOWN;
                let how = &self.how;
                line.walk(line.lower((from, 0)), |stamp, key, tag| {
                    if stamp > to {
                        return false;
                    }
                    let now = how.find(right, stamp, &mut hint);
                    // A key that was freed and taken again is another row under the same key.
                    let replaced = now == *tag && gone.contains(now) && fresh.contains(now);
                    if now != *tag || replaced {
                        *tag = now;
                        result.rematched.push((key, now));
                    }
                    true
                });
            }
        }
    }

    /// Left rows whose right row has other cells now.
    fn modified_right(&mut self, change: &Change, result: &mut RightChange) -> Result<(), Error> {
        let update = change.update();
        let changed: Vec<usize> = (0..self.added.len()).filter(|at| update.columns.contains(self.added[*at])).collect();
        if changed.is_empty() || self.left.is_none() {
            return Ok(());
        }
        let rows = self.rows_found(Side::Right, change.now(), &update.modified)?;
        let how = self.how.clone();
        let right = &self.right;
        let Some(left) = &mut self.left else { return Ok(()) };
        for batch in rows.by_group(right.len()).chunks(BATCH) {
            touch(left, batch);
            for &(slot, stamp, key) in batch {
                let line = &mut left[slot as usize];
                let (from, to) = if how.strategy == Strategy::Backward {
                    (stamp, stamp.saturating_add(how.tolerance.unwrap_or(u64::MAX)))
                } else {
                    how.reach(&right[slot as usize], stamp)
                };
                line.walk(line.lower((from, 0)), |at, row, tag| {
                    if *tag == key {
                        result.modified.push(row);
                    }
                    at <= to && (*tag == key || !how.runs_end(at, stamp))
                });
            }
        }
        result.columns = changed.into_iter().map(|at| self.left_width + at).collect();
        Ok(())
    }

    /// Rows that took another stamp and have another match than before.
    fn differing(
        &self,
        left: &Change,
        right: &Change,
        stayed: &RowSet,
        probe: &RowSet,
        fresh: &[u64],
    ) -> Result<RowSet, Error> {
        let index = self.index().column(0);
        let index = column::ColumnSource::at(index.as_ref(), left.before().moment());
        let index = index.map_err(|_| Error::internal(&self.how.operation, "its own index before the step is gone"))?;
        let before = left.update().shifts.back(stayed);
        let old = index.take(&before.0.to_vec())?;
        let old = old.as_primitive::<UInt64Type>();
        let places = probe.positions_of(stayed);
        let same = |was: u64, now: u64| {
            if now == NO_ROW { was == NO_ROW } else { match_now(was, right.update()) == Some(now) }
        };
        let differs = stayed
            .iter()
            .zip(places.0.iter())
            .enumerate()
            .filter(|(at, (_, place))| !same(old.value(*at), fresh[*place as usize]));
        Ok(differs.map(|(_, (key, _))| key).collect())
    }

    fn write(
        &self,
        left: &Change,
        step: Step,
        probe: &RowSet,
        fresh: Vec<u64>,
        right: &RightChange,
    ) -> Result<(), Error> {
        let update = left.update();
        let mut cells: Vec<(u64, u64)> = right.moved.iter().chain(&right.rematched).copied().collect();
        // A row may have moved its match and then lost it: the last word counts.
        cells.reverse();
        cells.sort_by_key(|(key, _)| *key);
        cells.dedup_by_key(|(key, _)| *key);
        let mut writes = Writes { removed: update.removed.clone(), shifts: update.shifts.clone(), ..Writes::default() };
        if probe == &update.added {
            if !probe.is_empty() {
                writes.added.push((probe.clone(), vec![Arc::new(UInt64Array::from(fresh))]));
            }
        } else {
            let (added, other): (Vec<(u64, u64)>, Vec<(u64, u64)>) =
                probe.iter().zip(fresh).partition(|(key, _)| update.added.contains(*key));
            if !added.is_empty() {
                let rows: UInt64Array = added.iter().map(|(_, row)| *row).collect::<Vec<_>>().into();
                writes.added.push((update.added.clone(), vec![Arc::new(rows)]));
            }
            cells.extend(other);
            cells.sort_by_key(|(key, _)| *key);
        }
        if !cells.is_empty() {
            let (keys, rows): (Vec<u64>, Vec<u64>) = cells.into_iter().unzip();
            writes.modified =
                vec![Some((RowSet::from_sorted_keys(&keys), Arc::new(UInt64Array::from(rows)) as ArrayRef))];
        }
        self.index().write(step, || left.before().rows().clone(), left.now().rows().clone(), &writes)
    }
}

/// A match that left in this step: no row has this key.
const LOST: u64 = u64::MAX - 1;

impl Rows {
    fn each_place(&self, mut run: impl FnMut(usize, u32, u64, u64)) {
        for (at, key) in self.keys.iter().enumerate() {
            if self.slots[at] != NO_SLOT && self.valid.as_ref().is_none_or(|valid| valid.is_valid(at)) {
                run(at, self.slots[at], self.stamps[at], key);
            }
        }
    }

    /// Slot, stamp and position, in the order of the rows.
    fn placed(&self) -> Vec<(u32, u64, u64)> {
        let mut placed = Vec::with_capacity(self.slots.len());
        self.each_place(|position, slot, stamp, _| placed.push((slot, stamp, position as u64)));
        placed
    }

    /// Slot, stamp and key, group by group: what one search has brought into the cache, the next one uses.
    fn by_group(&self, groups: usize) -> Vec<(u32, u64, u64)> {
        let mut sorted = Vec::with_capacity(self.slots.len());
        if !few_groups(groups, self.slots.len()) {
            self.each(|slot, stamp, key| sorted.push((slot, stamp, key)));
            sorted.sort_unstable();
            return sorted;
        }
        let mut starts = vec![0u32; groups + 1];
        self.each(|slot, _, _| starts[slot as usize + 1] += 1);
        (0..groups).for_each(|slot| starts[slot + 1] += starts[slot]);
        sorted.resize(starts[groups] as usize, (0, 0, 0));
        self.each(|slot, stamp, key| {
            let at = &mut starts[slot as usize];
            sorted[*at as usize] = (slot, stamp, key);
            *at += 1;
        });
        sorted
    }

    fn groups(&self) -> Vec<u32> {
        let mut slots: Vec<u32> = self.slots.iter().copied().filter(|slot| *slot != NO_SLOT).collect();
        slots.sort_unstable();
        slots.dedup();
        slots
    }
}

/// Searches whose memory is loaded together.
const BATCH: usize = 64;

/// Loads what the searches of a batch will look at, so that their cache misses overlap.
fn touch<T: Copy>(lines: &[Timeline<T>], batch: &[(u32, u64, u64)]) {
    let seen = batch.iter().map(|(slot, stamp, _)| lines[*slot as usize].touch(*stamp));
    std::hint::black_box(seen.fold(0, u64::wrapping_add));
}

/// The same for inserts.
fn touch_places<T: Copy>(lines: &[Timeline<T>], batch: &[(u32, u64, u64)]) {
    let seen = batch.iter().map(|(slot, stamp, _)| lines[*slot as usize].touch_place(*stamp));
    std::hint::black_box(seen.fold(0, u64::wrapping_add));
}

/// Whether something a group may be made for so many changed rows: work is the change, not the groups.
fn few_groups(groups: usize, rows: usize) -> bool {
    groups <= rows * 4
}

impl How {
    /// The match of a left stamp. `hint` is where the last search of this group ended.
    fn find(&self, right: &Timeline<()>, stamp: u64, hint: &mut Place) -> u64 {
        let found = match self.strategy {
            Strategy::Backward => self.last_not_after(right, stamp, hint),
            Strategy::Forward => self.first_not_before(right, stamp, hint),
            Strategy::ForwardLast => self.first_not_before(right, stamp, hint).and_then(|(at, _)| last_of(right, at)),
            Strategy::Nearest => self.nearest(right, stamp, hint),
        };
        let near = found.filter(|(at, _)| self.tolerance.is_none_or(|tolerance| at.abs_diff(stamp) <= tolerance));
        near.map_or(NO_ROW, |(_, key)| key)
    }

    fn last_not_after(&self, right: &Timeline<()>, stamp: u64, hint: &mut Place) -> Option<(u64, u64)> {
        *hint = right.lower_from(*hint, if self.exact { (stamp, u64::MAX) } else { (stamp, 0) });
        right.before(*hint).map(|entry| (entry.stamp, entry.key))
    }

    fn first_not_before(&self, right: &Timeline<()>, stamp: u64, hint: &mut Place) -> Option<(u64, u64)> {
        *hint = right.lower_from(*hint, if self.exact { (stamp, 0) } else { (stamp, u64::MAX) });
        right.get(*hint).map(|entry| (entry.stamp, entry.key))
    }

    fn nearest(&self, right: &Timeline<()>, stamp: u64, hint: &mut Place) -> Option<(u64, u64)> {
        let earlier = self.last_not_after(right, stamp, hint);
        let later = self.first_not_before(right, stamp, hint).and_then(|(at, _)| last_of(right, at));
        match (earlier, later) {
            (Some(earlier), Some(later)) if stamp - earlier.0 < later.0 - stamp => Some(earlier),
            (earlier, later) => later.or(earlier),
        }
    }

    /// The left stamps, both ends included, that a right row coming or going at `stamp` can concern.
    fn reach(&self, right: &Timeline<()>, stamp: u64) -> (u64, u64) {
        let next = || right.get(right.lower((stamp, u64::MAX))).map_or(u64::MAX, |entry| entry.stamp);
        let previous = || right.before(right.lower((stamp, 0))).map_or(0, |entry| entry.stamp);
        let (from, to) = match self.strategy {
            Strategy::Backward => (stamp, next()),
            Strategy::Forward | Strategy::ForwardLast => (previous(), stamp),
            Strategy::Nearest => (previous(), next()),
        };
        let tolerance = self.tolerance.unwrap_or(u64::MAX);
        (from.max(stamp.saturating_sub(tolerance)), to.min(stamp.saturating_add(tolerance)))
    }

    /// Whether a left row after `stamp` that does not match it ends the run of those that do.
    fn runs_end(&self, left: u64, stamp: u64) -> bool {
        self.strategy == Strategy::Backward && (left > stamp || self.exact)
    }
}

/// The last row of a stamp.
fn last_of(right: &Timeline<()>, stamp: u64) -> Option<(u64, u64)> {
    right.before(right.lower((stamp, u64::MAX))).map(|entry| (entry.stamp, entry.key))
}

/// Stamps as numbers that order as they do, and which are missing (null or NaN).
fn ordered(cells: &Chunk) -> Result<(Vec<u64>, Option<NullBuffer>), Error> {
    const SIGN: u64 = 1 << 63;
    if matches!(cells.data_type(), DataType::Float16 | DataType::Float32 | DataType::Float64) {
        let values = crate::ops::agg::floats(cells);
        let stamps = values.values().iter().map(|value| crate::ops::agg::order_key(*value)).collect();
        let real: arrow_buffer::BooleanBuffer = values.values().iter().map(|value| !value.is_nan()).collect();
        return Ok((stamps, NullBuffer::union(values.nulls(), Some(&NullBuffer::new(real)))));
    }
    let values = crate::ops::agg::integers(cells);
    let flip = if *cells.data_type() == DataType::UInt64 { 0 } else { SIGN };
    Ok((values.values().iter().map(|value| *value as u64 ^ flip).collect(), values.nulls().cloned()))
}

#[cfg(test)]
mod tests {
    use model::Compare;
    use model::Value;
    use model::ops::{Asof, Strategy as AsofStrategy, join_asof};

    use super::*;
    use crate::attach::attach;
    use crate::testing::check::check_steps_of_two;
    use crate::testing::{check_law_of_two, table_of};

    fn options(by: &[&str], strategy: Strategy, tolerance: Option<u64>, exact: bool) -> AsofOptions {
        let pair = |name: &str| (name.to_owned(), name.to_owned());
        AsofOptions {
            on: pair("t"),
            by: by.iter().map(|name| pair(name)).collect(),
            strategy,
            tolerance,
            allow_exact_matches: exact,
            joins: None,
            suffix: None,
        }
    }

    fn joined(left: &Table, right: &Table, options: &AsofOptions) -> Result<Table, Error> {
        attach(&AsofJoin::new("join_asof", left, right, options)?, &[left.clone(), right.clone()])
    }

    #[test]
    fn a_right_row_in_between_takes_the_left_rows_up_to_the_next() {
        check_steps_of_two(
            |left, right| joined(left, right, &options(&["k"], Strategy::Backward, None, true)),
            ("k:str t:int: 0 A 3 | 1 A 7 | 2 B 5", "k:str t:int w:int: 0 A 1 10 | 1 A 6 11"),
            &[
                (("", "+ 2 A 2 12"), "~ 0 . . 12"),
                (("", "~ 1 . . 99"), "~ 1 . . 99"),
                (("", "+ 3 B 5 13"), "~ 2 . . 13"),
                (("", "+ 4 B 5 14"), "~ 2 . . 14"),
                (("", "- 2"), "~ 0 . . 10"),
                (("~ 1 . 5", ""), "~ 1 . 5 10"),
                (("+ 3 C 1", ""), "+ 3 C 1 null"),
                (("", "> [3..4]+3"), ""),
            ],
        );
    }

    fn law_of(strategy: Strategy, wanted: AsofStrategy, tolerance: Option<u64>, exact: bool) {
        let (left, right) = (table_of("k:str t:int v:int"), table_of("k:str t:int w:int"));
        for by in [&["k"][..], &[]] {
            let options = options(by, strategy, tolerance, exact);
            let wanted = Asof {
                strategy: wanted,
                tolerance: tolerance.map(|tolerance| Value::Int(tolerance as i64)),
                allow_exact_matches: exact,
                ..Asof::new("t", "t", by, if by.is_empty() { &["k", "w"] } else { &["w"] })
            };
            let renamed = |right: &Table| {
                attach(&crate::ops::Project::rename(right, &[("k".into(), "k".into())])?, std::slice::from_ref(right))
            };
            let build = |left: &Table, right: &Table| {
                let left = if by.is_empty() {
                    attach(&crate::ops::Project::drop(left, &["k".into()])?, std::slice::from_ref(left))?
                } else {
                    left.clone()
                };
                joined(&left, &renamed(right)?, &options)
            };
            let oracle = |left: &model::Table, right: &model::Table| {
                let left = if by.is_empty() { model::ops::drop(left, &["k"]) } else { left.clone() };
                join_asof(&left, right, &wanted)
            };
            check_law_of_two((&left, &right), 150, Compare::ByPosition, build, oracle);
        }
    }

    #[test]
    fn law() {
        law_of(Strategy::Backward, AsofStrategy::Backward, None, true);
    }

    #[test]
    fn law_backward_inexact_within_a_tolerance() {
        law_of(Strategy::Backward, AsofStrategy::Backward, Some(3), false);
    }

    #[test]
    fn law_forward() {
        law_of(Strategy::Forward, AsofStrategy::Forward, None, true);
        law_of(Strategy::Forward, AsofStrategy::Forward, Some(2), false);
    }

    #[test]
    fn law_forward_last_and_nearest() {
        law_of(Strategy::ForwardLast, AsofStrategy::ForwardLast, None, true);
        law_of(Strategy::Nearest, AsofStrategy::Nearest, Some(5), true);
    }
}
