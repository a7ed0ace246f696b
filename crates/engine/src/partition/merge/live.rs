//! A merge in a step.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use graph::{NodeId, Pinned, Step};
use rowset::RowSet;

use super::piece::{Piece, Rows, shown};
use super::sum::Sum;
use super::{apart, slots_of};
use crate::driver::operation::Live;
use crate::driver::when::When;
use crate::error::Error;
use crate::ops::stacked::{Ends, Slot, Stack, lay_out};
use crate::partition::lifted::{Followed, LiftedRows};
use crate::partition::{Members, ids_of, keys_of};
use crate::table::change::Change;
use crate::table::rows::LiveRows;
use crate::table::update::TableUpdate;

pub(super) struct MergeLive {
    pub(super) operation: String,
    pub(super) members: Arc<dyn Members>,
    /// Says that this node still waits for constituents.
    pub(super) alive: Arc<()>,
    /// Whether the node has joined the graph; before, it is brought up to date of steps that are over.
    pub(super) joined: bool,
    pub(super) pieces: Vec<Piece>,
    pub(super) lifted: Option<LiftedRows>,
    pub(super) stack: Arc<Pinned<Stack>>,
    pub(super) rows: Arc<LiveRows>,
    /// Where it is noted that a constituent was met that cannot be read yet.
    pub(super) met_apart: Arc<AtomicBool>,
}

/// The constituents after a step.
struct Next {
    pieces: Vec<Piece>,
    /// For each the place it had; none of a new one.
    was: Vec<Option<usize>>,
}

impl Live for MergeLive {
    fn joined(&mut self, node: NodeId) {
        self.joined = true;
        match self.lifted {
            Some(_) => self.members.follow_apart(node, Arc::downgrade(&self.alive)),
            None => self.members.follow(node, Arc::downgrade(&self.alive)),
        }
    }

    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let set = &inputs[0];
        let left: HashSet<u64> = match set.update().removed.0.is_empty() {
            true => HashSet::new(),
            false => ids_of(set.table(), set.before(), &set.update().removed.0)?.into_iter().collect(),
        };
        let gone: Vec<usize> = match left.is_empty() {
            true => Vec::new(),
            false => (0..self.pieces.len()).filter(|at| left.contains(&self.pieces[*at].id)).collect(),
        };
        // The rows of those that go are read before the groups take the step over.
        let gone_rows =
            gone.iter().map(|at| self.rows_before(&self.pieces[*at], step)).collect::<Result<Vec<_>, _>>()?;
        let followed = match (&mut self.lifted, inputs.get(1)) {
            (Some(lifted), Some(change)) => lifted.follow(change)?,
            _ => Followed::default(),
        };
        if set.update().is_empty()
            && let Some(sum) = self.of_those_that_stay(&followed, step)?
        {
            return sum.told(&self.rows, step);
        }
        let next = self.next(set, step)?;
        let old = self.stack.latest();
        let slots = self.slots(&old.slots, &next, step)?;
        let mut sum = Sum::default();
        sum.removed.extend(gone.iter().zip(gone_rows).map(|(at, rows)| rows.moved(old.slots[*at].delta())));
        let lifted = self.lifted.as_ref();
        // Where the rows of a slot that stays were, and are.
        let mut stays: HashMap<u32, (Slot, Slot)> = HashMap::new();
        for ((piece, was), to) in next.pieces.iter().zip(&next.was).zip(&slots) {
            match (was.map(|was| &old.slots[was]), piece.of.slot()) {
                (None, _) => sum.added.push(piece.rows_at(lifted, When::Running(step))?.moved(to.delta())),
                (Some(from), None) => sum.take(piece.update_in(step)?.as_deref(), from, to),
                (Some(from), Some(slot)) => {
                    sum.moved(followed.moving.get(&slot), from, to);
                    stays.insert(slot, (*from, *to));
                }
            }
        }
        sum.take_lists(&followed, |slot| stays.get(&slot).copied());
        let told = sum.told(&self.rows, step)?;
        self.stack(next, slots, &old, &gone, step);
        Ok(told)
    }
}

impl MergeLive {
    /// The rows of a constituent before a step.
    fn rows_before(&self, piece: &Piece, step: Step) -> Result<RowSet, Error> {
        let Some(table) = piece.of.table() else { return piece.rows_at(self.lifted.as_ref(), When::Running(step)) };
        let rows = table.rows_at(step.before());
        rows.map_err(|_| Error::internal(&self.operation, "rows of a constituent that went are gone"))
    }

    /// What the constituents tell, if none came or went and each has room; none if slots have to move.
    fn of_those_that_stay(&self, followed: &Followed, step: Step) -> Result<Option<Sum>, Error> {
        let slots = self.stack.latest().slots;
        let (now, lifted) = (When::Running(step), self.lifted.as_ref());
        let place = |slot: u32| lifted.and_then(|lifted| lifted.place(slot));
        let has_room = |at: usize| Ok::<_, Error>(slots[at].holds(self.pieces[at].ends_at(lifted, now)?));
        for slot in followed.grown() {
            if let Some(at) = place(slot)
                && !has_room(at)?
            {
                return Ok(None);
            }
        }
        let mut sum = Sum::default();
        for (at, (piece, slot)) in self.pieces.iter().zip(slots.iter()).enumerate() {
            if let Some(of) = piece.of.slot() {
                sum.moved(followed.moving.get(&of), slot, slot);
                continue;
            }
            let Some(update) = piece.update_in(step)? else { continue };
            if !has_room(at)? {
                return Ok(None);
            }
            sum.take(Some(&update), slot, slot);
        }
        sum.take_lists(followed, |slot| place(slot).map(|at| (slots[at], slots[at])));
        Ok(Some(sum))
    }

    fn next(&mut self, set: &Change, step: Step) -> Result<Next, Error> {
        let update = set.update();
        if update.is_empty() {
            let was = (0..self.pieces.len()).map(Some).collect();
            return Ok(Next { pieces: self.pieces.clone(), was });
        }
        let came = ids_of(set.table(), set.now(), &update.added)?;
        let mut slots = Vec::new();
        if !came.is_empty() {
            slots = slots_of(&mut self.lifted, &keys_of(set.table(), set.now(), &update.added)?)?;
        }
        let came: HashMap<u64, Option<u32>> =
            came.into_iter().enumerate().map(|(at, id)| (id, slots.get(at).copied())).collect();
        let places: HashMap<u64, usize> = self.pieces.iter().enumerate().map(|(at, piece)| (piece.id, at)).collect();
        let (mut pieces, mut was) = (Vec::new(), Vec::new());
        for id in ids_of(set.table(), set.now(), set.now().rows())? {
            let known = places.get(&id).filter(|_| !came.contains_key(&id)).copied();
            pieces.push(match known {
                Some(at) => self.pieces[at].clone(),
                None => self.came(id, came.get(&id).copied().flatten(), step)?,
            });
            was.push(known);
        }
        Ok(Next { pieces, was })
    }

    /// A constituent that came in a step, whose key is that of a slot of the lifted rows, if there are any.
    fn came(&self, id: u64, slot: Option<u32>, step: Step) -> Result<Piece, Error> {
        match slot.filter(|_| !self.members.is_apart(id)) {
            Some(slot) => Ok(Piece { id, of: Rows::Slot(slot) }),
            None if self.joined => Piece::table(&self.members, id, When::Running(step)),
            None => Err(apart(&self.operation, &self.met_apart)),
        }
    }

    /// The slots after a step: as they were, and behind them those of new constituents, unless one overflows or comes
    /// before others.
    fn slots(&self, old: &[Slot], next: &Next, step: Step) -> Result<Vec<Slot>, Error> {
        let ends = |piece: &Piece| piece.ends_at(self.lifted.as_ref(), When::Running(step));
        let mut slots: Vec<Slot> = Vec::with_capacity(next.pieces.len());
        let mut base = old.last().map_or(0, Slot::end);
        for (piece, was) in next.pieces.iter().zip(&next.was) {
            let slot = match was.map(|was| old[was]) {
                Some(slot) if piece.of.slot().is_none() && piece.update_in(step)?.is_none() => Some(slot),
                Some(slot) => Some(slot).filter(|slot| ends(piece).is_ok_and(|ends| slot.holds(ends))),
                None => Slot::above(base, ends(piece)?),
            };
            // What is kept behind a new one has its place before it.
            let Some(slot) = slot.filter(|slot| slots.last().is_none_or(|last| last.end() <= slot.start())) else {
                let ends = next.pieces.iter().map(ends).collect::<Result<Vec<Ends>, _>>()?;
                return Ok(lay_out(&self.operation, ends.into_iter())?.to_vec());
            };
            base = base.max(slot.end());
            slots.push(slot);
        }
        Ok(slots)
    }

    /// Keeps what is stacked from this step on.
    fn stack(&mut self, next: Next, slots: Vec<Slot>, old: &Stack, gone: &[usize], step: Step) {
        let is_same = gone.is_empty() && next.was.iter().all(Option::is_some);
        if is_same && *slots == *old.slots {
            return;
        }
        if is_same {
            return self.stack.publish(step, Stack { slots: slots.into(), sources: old.sources.clone() });
        }
        let lifted = self.lifted.as_ref();
        let source = |(piece, was): (&Piece, &Option<usize>)| match was {
            Some(was) => old.sources[*was].clone(),
            None => piece.sources(lifted),
        };
        let sources = next.pieces.iter().zip(&next.was).map(source).collect();
        self.stack.publish(step, Stack { slots: slots.into(), sources });
        let went: Vec<u32> = gone.iter().filter_map(|at| self.pieces[*at].of.slot()).collect();
        self.pieces = next.pieces;
        if let Some(lifted) = &mut self.lifted {
            lifted.show(shown(&self.pieces), &went);
        }
    }
}
