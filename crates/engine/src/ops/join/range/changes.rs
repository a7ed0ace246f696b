//! What a step does to ranges: left rows go, move and come, and right rows enter and leave the ranges that hold them.

use graph::Step;
use rowset::RowSet;

use super::RangeLive;
use super::ranges::{NO_ROWS, Place, list_of};
use super::sides::Standing;
use super::sweep::Reading;
use crate::driver::operation::Live;
use crate::error::Error;
use crate::keys::intervals::Interval;
use crate::ops::agg::{Followed, Pair};
use crate::ops::join::on::joined_update;
use crate::table::change::Change;
use crate::table::update::TableUpdate;
use crate::table::view::View;

/// Groups, stamps and keys of right rows: those that were there before, and those that are now. A row that changes is in both.
#[derive(Default)]
struct RightChange {
    gone: Vec<Standing>,
    come: Vec<Standing>,
}

/// A left row to write: its key, where it looks and the list of its rows.
type Written = (u64, Place, u32);

/// So many times a row is worth reading anew, rather than that it enters or leaves one more list.
const WORTH: usize = 4;

impl Live for RangeLive {
    fn entries(&self) -> u64 {
        self.sides.keys.len() as u64
    }

    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let (left, right) = (&inputs[0], &inputs[1]);
        let update = left.update();
        let restamped = !update.modified.is_empty() && update.columns.contains_any(&self.sides.looking_columns());
        // The order matters. Left rows leave and move; then the right side is brought up to date, and with it the ranges that are
        // there; then left rows come.
        self.move_left(left, restamped)?;
        let change = self.move_right(right)?;
        let mut written = self.follow(right, &change)?;
        let fresh = if restamped { &update.added | &update.modified } else { update.added.clone() };
        let cells = if self.sides.ranges.is_some() {
            self.come(left.now(), right.now(), &fresh, &mut written)?;
            written.sort_unstable_by_key(|(key, ..)| *key);
            let (placed, lists): (Vec<Place>, Vec<u32>) =
                written.iter().map(|(_, place, list)| (*place, *list)).unzip();
            self.cells(right.now(), &self.state, &placed, &lists)?
        } else {
            self.answered(left.now(), right.now(), &fresh)?
        };
        self.sides.free_unused();
        let rows =
            if written.is_empty() { fresh } else { RowSet::from_keys(written.iter().map(|(key, ..)| *key).collect()) };
        let (modified, columns) = self.beside().write(step, left, &rows, cells)?;
        Ok(joined_update(update, 0..0, &RowSet::new(), modified.to_vec(), &columns))
    }
}

impl RangeLive {
    /// Left rows that go or look elsewhere leave, those that move are renamed.
    fn move_left(&mut self, change: &Change, restamped: bool) -> Result<(), Error> {
        if self.sides.ranges.is_none() {
            return Ok(());
        }
        let (gone, moving) = change.departing_rows(restamped);
        let mut before = |rows: &RowSet| -> Result<Vec<(u32, Interval)>, Error> {
            let placed = self.sides.looked(change.before(), rows)?;
            let ranged = rows.iter().zip(placed).filter_map(|(key, place)| place.of_row(key));
            Ok(ranged.collect())
        };
        let (gone, moving) = (before(&gone.0)?, before(&moving.0)?);
        let Some(left) = &mut self.sides.ranges else { return Ok(()) };
        for (slot, range) in gone {
            left.remove(slot, range).into_iter().for_each(|node| self.state.reset(list_of(node)));
        }
        let shifts = &change.update().shifts;
        left.rekey(&moving, |key| shifts.forward_key(key));
        Ok(())
    }

    /// Right rows go, move and come.
    fn move_right(&mut self, change: &Change) -> Result<RightChange, Error> {
        let update = change.update();
        let mut moved = RightChange::default();
        if update.is_empty() {
            return Ok(moved);
        }
        let restamped = update.columns.contains_any(&self.sides.standing_columns());
        let (gone, moving) = change.departing_rows(restamped);
        let fresh = if restamped { &update.added | &update.modified } else { update.added.clone() };
        if !gone.0.is_empty() {
            moved.gone = self.sides.standing(change.before(), &gone.0, false)?;
            self.sides.leave(&moved.gone);
        }
        if !moving.0.is_empty() {
            let rows = self.sides.standing(change.before(), &moving.0, false)?;
            self.sides.shift(&rows, &update.shifts);
        }
        if !fresh.is_empty() {
            moved.come = self.sides.standing(change.now(), &fresh, true)?;
            self.sides.stand(&moved.come);
        }
        if !restamped && !update.modified.is_empty() && self.how.aggregates.reads(&update.columns) {
            let back = update.shifts.back(&update.modified);
            moved.gone.extend(self.sides.standing(change.before(), &back.0, false)?);
            moved.come.extend(self.sides.standing(change.now(), &update.modified, false)?);
        }
        Ok(moved)
    }

    /// The ranges that are there follow the right side. Returns the rows whose aggregates may be others.
    fn follow(&mut self, right: &Change, change: &RightChange) -> Result<Vec<Written>, Error> {
        let Some(left) = &self.sides.ranges else { return Ok(Vec::new()) };
        let mut events: Vec<(u32, u64, bool, u32)> = Vec::with_capacity(change.gone.len() + change.come.len());
        events.extend((0..).zip(&change.gone).map(|(at, (slot, stamp, _))| (*slot, *stamp, false, at)));
        events.extend((0..).zip(&change.come).map(|(at, (slot, stamp, _))| (*slot, *stamp, true, at)));
        events.sort_unstable();
        let (mut gone, mut come): (Vec<Pair>, Vec<Pair>) = Default::default();
        let (mut concerned, mut anew): (Vec<(u32, u32)>, Vec<(u32, u32)>) = Default::default();
        let (mut stamps, mut found): (Vec<u64>, Vec<u32>) = Default::default();
        for events in events.chunk_by(|one, other| one.0 == other.0) {
            let slot = events[0].0;
            if left.is_empty(slot) {
                continue;
            }
            stamps.clear();
            stamps.extend(events.iter().map(|(_, stamp, ..)| *stamp));
            found.clear();
            let (were_gone, were_come) = (gone.len(), come.len());
            let mut left_over = if self.sides.ends.reach() { 0 } else { WORTH * self.sides.lines[slot].at_most() + 1 };
            left.holding(slot, &stamps, |node, held| {
                found.push(node);
                left_over = left_over.saturating_sub(held.len());
                if left_over > 0 {
                    for (.., is_come, at) in &events[held] {
                        if *is_come { &mut come } else { &mut gone }.push((list_of(node), *at));
                    }
                }
            });
            if left_over == 0 {
                // So much happens to the group that its rows are read again. The same goes for rows beyond a range.
                gone.truncate(were_gone);
                come.truncate(were_come);
                left.reaching(slot, &self.sides.lines[slot], &stamps, &mut found);
                found.sort_unstable();
                found.dedup();
                anew.extend(found.iter().map(|node| (slot, *node)));
            }
            concerned.extend(found.iter().map(|node| (slot, *node)));
        }
        if !self.state.is_empty() {
            let rows = |of: &[Standing]| of.iter().map(|(.., key)| *key).collect::<Vec<u64>>();
            let aggregates = &self.how.aggregates;
            let mut lost = self.state.leave(aggregates, right.before(), &rows(&change.gone), &gone)?;
            self.state.enter(aggregates, right.now(), &rows(&change.come), &come)?;
            lost.sort_unstable();
            if !lost.is_empty() {
                let is_lost = |(_, node): &&(u32, u32)| lost.binary_search(&list_of(*node)).is_ok();
                anew.extend(concerned.iter().filter(is_lost));
            }
            self.read_anew(right.now(), &anew)?;
        }
        let Some(left) = &self.sides.ranges else { return Ok(Vec::new()) };
        let written = concerned.into_iter().map(|(slot, node)| {
            let Interval { from, to, key } = left.get(node);
            (key, Place::Range { slot, from, to }, list_of(node))
        });
        Ok(written.collect())
    }

    /// Reads the ranges of these groups and nodes again.
    fn read_anew(&mut self, right: &View, nodes: &[(u32, u32)]) -> Result<(), Error> {
        let Some(left) = &self.sides.ranges else { return Ok(()) };
        if nodes.is_empty() {
            return Ok(());
        }
        let reading = |(group, node): &(u32, u32)| {
            let Interval { from, to, .. } = left.get(*node);
            Reading { group: *group, from, to, list: list_of(*node) }
        };
        let mut readings: Vec<Reading> = nodes.iter().map(reading).collect();
        readings.sort_unstable();
        let mut state = std::mem::take(&mut self.state);
        let done = self.read(right, &mut state, &readings);
        self.state = state;
        done
    }

    /// Left rows come, and their ranges are read.
    fn come(&mut self, view: &View, right: &View, rows: &RowSet, written: &mut Vec<Written>) -> Result<(), Error> {
        let placed = self.sides.enter(view, rows)?;
        let Some(left) = &mut self.sides.ranges else { return Ok(()) };
        let mut nodes = Vec::with_capacity(placed.len());
        for (key, place) in rows.iter().zip(placed) {
            let Place::Range { slot, from, to } = place else {
                written.push((key, place, NO_ROWS));
                continue;
            };
            let node = left.insert(slot, Interval { from, to, key });
            nodes.push((slot, node));
            written.push((key, place, list_of(node)));
        }
        self.state.grow(left.nodes() + 1);
        self.read_anew(right, &nodes)
    }

    /// The aggregates of left rows that are not kept.
    fn answered(&self, view: &View, right: &View, rows: &RowSet) -> Result<Vec<column::Chunk>, Error> {
        let placed = self.sides.look(view, rows)?;
        let mut lists = vec![NO_ROWS; placed.len()];
        let mut readings = Vec::new();
        for (list, place) in lists.iter_mut().zip(&placed) {
            if let Place::Range { slot, from, to } = *place {
                *list = readings.len() as u32 + 1;
                readings.push(Reading { group: slot, from, to, list: *list });
            }
        }
        let mut state = Followed::new(&self.how.aggregates, &self.how.followed)?;
        state.grow(readings.len() + 1);
        readings.sort_unstable();
        self.read(right, &mut state, &readings)?;
        self.cells(right, &state, &placed, &lists)
    }
}
