//! `range_join`: every left row, with aggregates of the right rows of its group whose stamp lies in its range.
//!
//!   right  0 A 10 1    1 A 20 2    2 A 30 4       by K, lo <= x <= hi, sum(V)
//!   left   0 A 10..20  1 A 15..30                 out   0 A 10..20 3    1 A 15..30 6
//!   right  + 3 A 12 8                             out   ~ 0 A 10..20 11   K {sum}
//!
//! Left rows and columns are shared, aggregates are stored. Right rows stand in the order of (stamp, row), left ranges in a
//! tree that tells which of them hold a stamp: a right row that comes, goes or changes concerns the left rows whose range
//! holds it, and with a reaching end those whose nearest row beyond it is. Cost of an update: a search a changed row, and the rows of the ranges that
//! it concerns. A row whose aggregates are as before is not modified.

mod ranges;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, UInt64Array};
use arrow_schema::{DataType, Schema};
use column::Chunk;
use column::keys::NO_SLOT;
use formula::{Expr, type_name};
use graph::{Moment, Step};
use rowset::RowSet;

use self::ranges::{Ends, Extent, LeftRanges, Place};
use super::beside::Beside;
use super::on::{On, Side, joined_update, meeting_type};
use super::side::JoinKeys;
use super::stamps::{is_stamp, ordered};
use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::keys::timeline::{Entry, Timelines};
use crate::ops::agg::Listed;
use crate::ops::asked::{Asked, Expressions};
use crate::ops::join::on::cells_as;
use crate::plan::spec::{Bound, RangeEnd, RangeOptions};
use crate::sizes::{RANGE_PAIRS, RANGE_ROWS};
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::{Attributes, Parts};
use crate::table::request::Request;
use crate::table::update::TableUpdate;
use crate::table::view::View;

/// `range_join`: left rows with aggregates of the right rows in their ranges.
pub struct RangeJoin {
    request: Request,
    how: Arc<RangeSpec>,
    aggregates: Arc<Listed>,
}

/// Keys, ranges and stamps.
struct RangeSpec {
    by: Arc<On>,
    /// The left columns that bound ranges.
    from: Option<(usize, Bound)>,
    to: Option<(usize, Bound)>,
    /// The right column of stamps.
    stamp: usize,
    /// The type in which stamps and bounds compare.
    meet: DataType,
}

impl RangeJoin {
    /// Checks names and types. `aggregates`: aggregate expressions over the right table, each named.
    pub fn new(
        operation: &str,
        left: &Table,
        right: &Table,
        options: &RangeOptions,
        aggregates: &[Expr],
    ) -> Result<RangeJoin, Error> {
        let by = On::new(operation, left, right, &options.by)?;
        let stamp = right.column_index(operation, &options.on)?;
        let mut meet = right.column_type(stamp).clone();
        let mut end = |end: &RangeEnd| {
            let column = left.column_index(operation, &end.column)?;
            let own = left.column_type(column);
            meet = meeting_type(own, &meet).filter(is_stamp).ok_or_else(|| {
                let (one, other) = (type_name(own), type_name(right.column_type(stamp)));
                let message = format!(
                    "the bound {:?} ({one}) and the column {:?} ({other}) do not compare as times or numbers; cast one \
                     of them",
                    end.column, options.on
                );
                Error::types(operation, message)
            })?;
            Ok::<_, Error>((column, end.bound))
        };
        let from = options.from.as_ref().map(&mut end).transpose()?;
        let to = options.to.as_ref().map(&mut end).transpose()?;
        if from.is_none() && to.is_none() {
            return Err(Error::schema(operation, "a range has a bound at one end, at least"));
        }
        let listed = Listed::new(operation, right, aggregates)?;
        let mut taken: std::collections::HashSet<String> =
            left.schema().fields().iter().map(|field| field.name().clone()).collect();
        if let Some((twice, _)) = listed.fields().find(|(field, _)| !taken.insert(field.name().clone())) {
            return Err(Error::Duplicate { operation: operation.into(), name: twice.name().clone() });
        }
        let asked = Asked::Range { how: options, aggregates: Expressions(aggregates) };
        let keys =
            if options.by.is_empty() { String::new() } else { format!("{}, ", On::text(left, right, &options.by)) };
        let request = Request::new(operation, &asked).with_text(format!("{keys}{}", options.text()));
        let how = RangeSpec { by: Arc::new(by), from, to, stamp, meet };
        Ok(RangeJoin { request, how: Arc::new(how), aggregates: Arc::new(listed) })
    }
}

impl Operation for RangeJoin {
    fn request(&self) -> &Request {
        &self.request
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let [left, right] = inputs else { unreachable!("a join has two inputs") };
        let ticking = right.table.is_live();
        // Of right rows the stamp and the row, of left rows the range, and its place in a tree if it may be asked for.
        limits::ask_rows(right.view.rows().len(), 16)?;
        limits::ask_rows(left.view.rows().len(), if ticking { 80 } else { 24 })?;
        let reaching = |end: &Option<(usize, Bound)>| end.is_some_and(|(_, bound)| bound == Bound::Reaching);
        let ends = Ends { before: reaching(&self.how.from), after: reaching(&self.how.to) };
        let mut live = RangeLive {
            how: self.how.clone(),
            aggregates: self.aggregates.clone(),
            // Both sides are kept by stamp, in structures of their own.
            keys: JoinKeys::new(&self.how.by, false, false, false),
            right: Timelines::default(),
            ends,
            left: ticking.then(|| LeftRanges::new(ends)),
            beside: None,
        };
        for (slot, stamp, key) in live.right_rows(&right.view, right.view.rows(), true)? {
            live.right[slot].insert(Entry { stamp, key, tag: () });
        }
        let parts = crate::threads::parallel::parts(left.view.rows(), RANGE_ROWS.rows());
        let placed: Vec<Vec<Place>> =
            parts.iter().map(|rows| live.enter(&left.view, rows, rows)).collect::<Result<_, Error>>()?;
        live.free_unused();
        let work: Vec<(&RowSet, &Vec<Place>)> = parts.iter().zip(&placed).collect();
        let made = crate::threads::parallel::try_map(work.len() > 1, &work, |_, (_, placed)| {
            live.values(&right.view, placed)
        })?;
        let cells: Vec<Vec<(RowSet, Chunk)>> = (0..self.aggregates.len())
            .map(|at| parts.iter().zip(&made).map(|(rows, made)| (rows.clone(), made[at].clone())).collect())
            .collect();
        let counters =
            [left, right].iter().find_map(|input| input.table.graph()).map(crate::observe::storage).unwrap_or_default();
        let (declared, stored): (Vec<_>, Vec<_>) = self.aggregates.fields().unzip();
        let beside = Beside::filled(&Schema::new(stored), at, &counters, &cells, left.table.width())?;
        let own = left.table.schema().fields().iter().map(|field| arrow_schema::Field::clone(field));
        let schema = Arc::new(Schema::new(own.chain(declared).collect::<Vec<_>>()));
        let old = left.table.attributes();
        let attributes =
            Attributes { append_only: old.append_only && !ticking, add_only: old.add_only && !ticking, ..old.clone() };
        let parts = Parts {
            rows: left.table.parts().rows.clone(),
            columns: left.table.parts().columns.iter().cloned().chain(beside.sources()).collect(),
            schema,
            attributes,
        };
        let owned = beside.owned();
        live.beside = Some(beside);
        Ok(Start { parts, live: Box::new(live), owned })
    }
}

struct RangeLive {
    how: Arc<RangeSpec>,
    aggregates: Arc<Listed>,
    keys: JoinKeys,
    right: Timelines<()>,
    ends: Ends,
    /// The ranges of left rows; none if the right side never changes.
    left: Option<LeftRanges>,
    beside: Option<Beside>,
}

impl Live for RangeLive {
    fn entries(&self) -> u64 {
        self.keys.len() as u64
    }

    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let (left, right) = (&inputs[0], &inputs[1]);
        let update = left.update();
        let restamped = !update.modified.is_empty() && update.columns.contains_any(&self.left_columns());
        // The order matters. Left rows leave and move; then the right side is brought up to date; then the ranges that its
        // change concerns are listed, in after-keys and without new ones, which are aggregated anyway.
        self.move_left(left, restamped)?;
        let touched = self.move_right(right)?;
        let concerned = match &self.left {
            Some(ranges) => RowSet::from_keys(ranges.concerned(&self.right, touched)),
            None => RowSet::new(),
        };
        let fresh = if restamped { &update.added | &update.modified } else { update.added.clone() };
        let rows = &concerned | &fresh;
        let placed = self.enter(left.now(), &rows, &fresh)?;
        let cells = self.values(right.now(), &placed)?;
        self.free_unused();
        let (modified, columns) = self.beside().write(step, left, &rows, cells)?;
        Ok(joined_update(update, 0..0, &RowSet::new(), modified.to_vec(), &columns))
    }
}

impl RangeLive {
    fn beside(&self) -> &Beside {
        self.beside.as_ref().expect("the columns are made as the join starts")
    }

    /// The left columns that decide where a row looks.
    fn left_columns(&self) -> Vec<usize> {
        let bounds = [self.how.from, self.how.to].into_iter().flatten().map(|(column, _)| column);
        self.how.by.columns(Side::Left).into_iter().chain(bounds).collect()
    }

    /// Frees the slots of keys that neither side has any more. This waits for the end of the step, which still refers
    /// to keys by their slots.
    fn free_unused(&mut self) {
        let touched = self.keys.take_touched();
        let (left, right) = (&self.left, &self.right);
        self.keys.free(&touched, |slot| right[slot].is_empty() && left.as_ref().is_none_or(|left| left.is_empty(slot)));
    }

    /// Groups and stamps of right rows that have both. A new key makes a new group if the rows enter.
    fn right_rows(&mut self, view: &View, rows: &RowSet, enter: bool) -> Result<Vec<(u32, u64, u64)>, Error> {
        let found =
            if enter { self.keys.insert(Side::Right, view, rows)? } else { self.keys.find(Side::Right, view, rows)? };
        self.grow();
        let known: Vec<u32> = found.slots.iter().copied().filter(|slot| *slot != NO_SLOT).collect();
        self.keys.touch(&known);
        let cells = cells_as(view.read(self.how.stamp, &found.rows)?, &self.how.meet)?;
        let (stamps, valid) = ordered(&cells)?;
        let is_there = |at: usize| valid.as_ref().is_none_or(|valid| valid.is_valid(at));
        let rows = found.iter().enumerate().filter(|(at, (_, slot))| *slot != NO_SLOT && is_there(*at));
        Ok(rows.map(|(at, (key, slot))| (slot, stamps[at], key)).collect())
    }

    fn grow(&mut self) {
        let groups = self.keys.slots();
        self.right.grow(groups);
        if let Some(left) = &mut self.left {
            left.grow(groups);
        }
    }

    /// Where left rows look. Those of `fresh` enter; a new key makes a new group, unless the right side never changes.
    fn enter(&mut self, view: &View, rows: &RowSet, fresh: &RowSet) -> Result<Vec<Place>, Error> {
        let found = match &self.left {
            Some(_) => self.keys.insert(Side::Left, view, rows)?,
            None => self.keys.find(Side::Left, view, rows)?,
        };
        self.grow();
        let placed = self.placed(view, rows, found.iter())?;
        if let Some(left) = &mut self.left {
            // A group that is made for rows without a range has no row in the end.
            self.keys.touch(&found.slots);
            let entering = rows.iter().zip(&placed).filter(|(key, _)| fresh.contains(*key));
            left.insert(entering.map(|(key, place)| (key, *place)));
        }
        Ok(placed)
    }

    /// Where left rows look, given the groups of those that have one.
    fn placed(&self, view: &View, rows: &RowSet, found: impl Iterator<Item = (u64, u32)>) -> Result<Vec<Place>, Error> {
        let from = self.bounds(view, rows, self.how.from)?;
        let to = self.bounds(view, rows, self.how.to)?;
        let mut found = found.peekable();
        let place = |(at, key): (usize, u64)| {
            let slot = found.next_if(|(row, _)| *row == key).map_or(NO_SLOT, |(_, slot)| slot);
            let bound = |bounds: &Option<Bounds>| bounds.as_ref().map_or(Extent::Endless, |bounds| bounds.at(at));
            Place::new(slot, (bound(&from), self.how.from), (bound(&to), self.how.to))
        };
        Ok(rows.iter().enumerate().map(place).collect())
    }

    fn bounds(&self, view: &View, rows: &RowSet, end: Option<(usize, Bound)>) -> Result<Option<Bounds>, Error> {
        let Some((column, _)) = end else { return Ok(None) };
        let cells = cells_as(view.read(column, rows)?, &self.how.meet)?;
        let (stamps, valid) = ordered(&cells)?;
        Ok(Some(Bounds { cells, stamps, valid }))
    }

    /// Left rows that go or look elsewhere leave, those that move are renamed.
    fn move_left(&mut self, change: &Change, restamped: bool) -> Result<(), Error> {
        if self.left.is_none() {
            return Ok(());
        }
        let (gone, moving) = change.departing_rows(restamped);
        let before = |rows: &RowSet, live: &mut RangeLive| -> Result<Vec<(u64, Place)>, Error> {
            if rows.is_empty() {
                return Ok(Vec::new());
            }
            let found = live.keys.find(Side::Left, change.before(), rows)?;
            let placed = live.placed(change.before(), rows, found.iter())?;
            let known: Vec<u32> = found.slots.iter().copied().filter(|slot| *slot != NO_SLOT).collect();
            live.keys.touch(&known);
            Ok(rows.iter().zip(placed).collect())
        };
        let (gone, moving) = (before(&gone.0, self)?, before(&moving.0, self)?);
        let Some(left) = &mut self.left else { return Ok(()) };
        left.remove(gone.into_iter().chain(moving.iter().copied()));
        let shifts = &change.update().shifts;
        left.insert(moving.into_iter().map(|(key, place)| (shifts.forward_key(key), place)));
        Ok(())
    }

    /// Right rows go, move and come. Returns groups and stamps of those that came, went or changed.
    fn move_right(&mut self, change: &Change) -> Result<Vec<(u32, u64)>, Error> {
        let update = change.update();
        let mut touched = Vec::new();
        if update.is_empty() {
            return Ok(touched);
        }
        let mut read = self.how.by.columns(Side::Right);
        read.push(self.how.stamp);
        let restamped = update.columns.contains_any(&read);
        let (gone, moving) = change.departing_rows(restamped);
        let fresh = if restamped { &update.added | &update.modified } else { update.added.clone() };
        if !gone.0.is_empty() {
            for (slot, stamp, key) in self.right_rows(change.before(), &gone.0, false)? {
                self.right[slot].remove(stamp, key);
                touched.push((slot, stamp));
            }
        }
        if !moving.0.is_empty() {
            let rows = self.right_rows(change.before(), &moving.0, false)?;
            let mut groups: Vec<u32> = rows.into_iter().map(|(slot, ..)| slot).collect();
            groups.sort_unstable();
            groups.dedup();
            self.right.shift(&groups, &update.shifts);
        }
        if !fresh.is_empty() {
            for (slot, stamp, key) in self.right_rows(change.now(), &fresh, true)? {
                self.right[slot].insert(Entry { stamp, key, tag: () });
                touched.push((slot, stamp));
            }
        }
        if !restamped && !update.modified.is_empty() && self.aggregates.reads(&update.columns) {
            let rows = self.right_rows(change.now(), &update.modified, false)?;
            touched.extend(rows.into_iter().map(|(slot, stamp, _)| (slot, stamp)));
        }
        Ok(touched)
    }

    /// The aggregates of left rows that look at these places.
    fn values(&self, right: &View, placed: &[Place]) -> Result<Vec<Chunk>, Error> {
        let mut pieces: Vec<Vec<Chunk>> = vec![Vec::new(); self.aggregates.len()];
        let (mut rows, mut lengths): (Vec<u64>, Vec<usize>) = Default::default();
        let mut flush = |rows: &mut Vec<u64>, lengths: &mut Vec<usize>| -> Result<(), Error> {
            let values = self.aggregates.values(right, rows, lengths)?;
            pieces.iter_mut().zip(values).for_each(|(pieces, values)| pieces.push(values));
            rows.clear();
            lengths.clear();
            Ok(())
        };
        for place in placed {
            let before = rows.len();
            match *place {
                Place::Nowhere => continue,
                Place::Empty => {}
                Place::Range { slot, from, to } => self.ends.rows(&self.right[slot], (from, to), &mut rows)?,
            }
            lengths.push(rows.len() - before);
            if rows.len() >= RANGE_PAIRS.get() {
                flush(&mut rows, &mut lengths)?;
            }
        }
        flush(&mut rows, &mut lengths)?;
        let joined = pieces.iter().map(|pieces| match &pieces[..] {
            [one] => Ok(one.clone()),
            all => Ok(arrow_select::concat::concat(&all.iter().map(|one| &**one as &dyn Array).collect::<Vec<_>>())?),
        });
        let joined = joined.collect::<Result<Vec<ArrayRef>, Error>>()?;
        if !placed.contains(&Place::Nowhere) {
            return Ok(joined);
        }
        let mut next = 0;
        let places = placed.iter().map(|place| {
            (*place != Place::Nowhere).then(|| {
                next += 1;
                next - 1
            })
        });
        let places = places.collect::<UInt64Array>();
        joined.iter().map(|cells| Ok(arrow_select::take::take(cells, &places, None)?)).collect()
    }
}

/// Bounds of left rows as stamps.
struct Bounds {
    cells: Chunk,
    stamps: Vec<u64>,
    valid: Option<arrow_buffer::NullBuffer>,
}

impl Bounds {
    /// Null is no bound, NaN is none that can be.
    fn at(&self, at: usize) -> Extent {
        match &self.valid {
            Some(valid) if valid.is_null(at) && self.cells.is_null(at) => Extent::Endless,
            Some(valid) if valid.is_null(at) => Extent::Impossible,
            _ => Extent::At(self.stamps[at]),
        }
    }
}
