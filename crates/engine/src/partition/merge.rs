//! `merge`: all constituents, stacked in the order of their set.
//!
//!   A    0 A 1    2 A 3        B    1 B 2
//!   out  0 A 1    2 A 3    65537 B 2
//!   A    - 0  - 2              out  - 0  - 2        a constituent that goes is R of its rows, one that comes A
//!
//! A constituent has a slot of the key space, as in `concat`, and its columns are read through the slot. Cost of an
//! update: what changed in constituents, and a look at a number of each other one; where constituents come or go, a walk
//! over all of them. A slot that overflows, and a constituent that comes before others, move the slots behind: a shift.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use graph::{NodeId, Pinned, Step, UpdateGraph};
use rowset::{Before, RowSet, Shifts, Span};

use super::{Members, ids_at, ids_of};
use crate::driver::attach::register;
use crate::driver::operation::{Live, Start};
use crate::driver::when::When;
use crate::error::Error;
use crate::eval::call::Call;
use crate::ops::stacked::{Slot, Sources, Stack, StackSettle, lay_out, slot_moves, stacked_columns};
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::{Attributes, Parts};
use crate::table::request::Request;
use crate::table::rows::LiveRows;
use crate::table::update::{ColumnSet, TableUpdate};

/// The constituents of a set as one table.
pub(super) fn merge(
    call: &Call,
    set: &Table,
    members: &Arc<dyn Members>,
    graph: Option<&UpdateGraph>,
    when: When,
) -> Result<Table, Error> {
    let operation = call.method.clone();
    let template = members.template(when)?;
    let ids = ids_at(set, when.moment())?;
    let pieces = ids.into_iter().map(|id| Ok(Piece { id, table: members.member(id, when)? }));
    let pieces: Vec<Piece> = pieces.collect::<Result<_, Error>>()?;
    let rows: Vec<RowSet> = pieces.iter().map(|piece| piece.rows_at(when)).collect::<Result<_, _>>()?;
    let slots = lay_out(&operation, rows.iter())?;
    let stacked: Vec<RowSet> = rows.iter().zip(slots.iter()).map(|(rows, slot)| rows.moved(slot.delta())).collect();
    let rows = Arc::new(LiveRows::new(RowSet::union_all(stacked.iter()), when.moment()));
    let sources = pieces.iter().map(Piece::sources).collect();
    let stack = Arc::new(Pinned::new(Stack { slots, sources }, when.moment()));
    let types = template.parts().columns.iter().map(|column| column.data_type().clone());
    let (columns, schema) = (stacked_columns(types, &stack), template.schema().clone());
    let parts = Parts { rows: rows.clone(), columns, schema, attributes: Attributes::default() };
    // Constituents are no inputs of it, and wake it.
    let request = Request { timed: true, ..Request::unique(&operation) };
    let live_ones: Vec<NodeId> = pieces.iter().filter_map(|piece| piece.table.node_id()).collect();
    let Some(graph) = graph.cloned() else { return Ok(Table::fixed(parts, request)) };
    let parents: Vec<NodeId> = set.node_id().into_iter().chain(live_ones).collect();
    let live = MergeLive {
        operation: operation.to_string(),
        members: members.clone(),
        alive: Arc::new(()),
        pieces,
        stack: stack.clone(),
        rows: rows.clone(),
    };
    let start = Start { parts, live: Box::new(live), owned: vec![rows, Arc::new(StackSettle(stack))] };
    register(&request, &graph, std::slice::from_ref(set), start, &parents, when)
}

/// A constituent that is stacked.
#[derive(Clone)]
struct Piece {
    id: u64,
    table: Table,
}

impl Piece {
    fn rows_at(&self, when: When) -> Result<RowSet, Error> {
        self.table.alive()?;
        let gone = |_| Error::internal("merge", "a constituent was read after its moment was gone");
        self.table.rows_at(when.moment()).map_err(gone)
    }

    fn sources(&self) -> Sources {
        self.table.parts().columns.clone().into()
    }
}

struct MergeLive {
    operation: String,
    members: Arc<dyn Members>,
    /// Says that this node still waits for constituents.
    alive: Arc<()>,
    pieces: Vec<Piece>,
    stack: Arc<Pinned<Stack>>,
    rows: Arc<LiveRows>,
}

/// The constituents after a step.
struct Next {
    pieces: Vec<Piece>,
    /// For each the place it had; none of a new one.
    was: Vec<Option<usize>>,
    /// The places of those that went.
    gone: Vec<usize>,
}

impl Live for MergeLive {
    fn joined(&mut self, node: NodeId) {
        self.members.follow(node, Arc::downgrade(&self.alive));
    }

    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        if inputs[0].update().is_empty()
            && let Some(sum) = self.of_those_that_stay(step)?
        {
            return sum.told(&self.rows, step);
        }
        let next = self.next(&inputs[0], step)?;
        let old = self.stack.latest();
        let slots = self.slots(&old.slots, &next, step)?;
        let mut sum = Sum::default();
        for at in &next.gone {
            let before = self.pieces[*at].table.rows_at(step.before());
            let before =
                before.map_err(|_| Error::internal(&self.operation, "rows of a constituent that went are gone"))?;
            sum.removed.push(before.moved(old.slots[*at].delta()));
        }
        for ((piece, was), to) in next.pieces.iter().zip(&next.was).zip(&slots) {
            match was.map(|was| &old.slots[was]) {
                None => sum.added.push(piece.rows_at(When::Running(step))?.moved(to.delta())),
                Some(from) => sum.take(piece.update_in(step)?.as_deref(), from, to),
            }
        }
        let told = sum.told(&self.rows, step)?;
        self.stack(next, slots, &old, step);
        Ok(told)
    }
}

/// The updates of constituents, as one.
#[derive(Default)]
struct Sum {
    removed: Vec<RowSet>,
    added: Vec<RowSet>,
    modified: Vec<RowSet>,
    columns: ColumnSet,
    moves: Vec<(Span, i64)>,
}

impl Sum {
    fn take(&mut self, update: Option<&TableUpdate>, from: &Slot, to: &Slot) {
        let Some(update) = update else {
            if from != to {
                slot_moves(&Shifts::none(), from, to, &mut self.moves);
            }
            return;
        };
        self.removed.push(update.removed.0.moved(from.delta()));
        self.added.push(update.added.moved(to.delta()));
        self.modified.push(update.modified.moved(to.delta()));
        update.columns.iter().for_each(|column| self.columns.insert(column));
        slot_moves(&update.shifts, from, to, &mut self.moves);
    }

    /// Changes the rows by it.
    fn told(self, rows: &LiveRows, step: Step) -> Result<TableUpdate, Error> {
        let [removed, added, modified] =
            [self.removed, self.added, self.modified].map(|sets| RowSet::union_all(sets.iter()));
        let removed = Before(removed);
        let shifts = match self.moves.is_empty() {
            true => Shifts::none(),
            false => Shifts::from_moves(&Before(&rows.latest() - &removed.0), self.moves.into_iter()),
        };
        rows.apply(step, &removed, &shifts, &added)?;
        Ok(TableUpdate { added, removed, modified, columns: self.columns, shifts })
    }
}

impl Piece {
    /// Its update, if it changed in this step.
    fn update_in(&self, step: Step) -> Result<Option<Arc<TableUpdate>>, Error> {
        self.table.alive()?;
        if self.table.last_step() != step.number() {
            return Ok(None);
        }
        Ok(self.table.node().and_then(|node| node.update_in(step)))
    }
}

impl MergeLive {
    /// What the constituents tell, if none came or went and each has room; none if slots have to move.
    fn of_those_that_stay(&self, step: Step) -> Result<Option<Sum>, Error> {
        let slots = self.stack.latest().slots;
        let mut sum = Sum::default();
        for (piece, slot) in self.pieces.iter().zip(slots.iter()) {
            let Some(update) = piece.update_in(step)? else { continue };
            if !slot.holds(&piece.rows_at(When::Running(step))?) {
                return Ok(None);
            }
            sum.take(Some(&update), slot, slot);
        }
        Ok(Some(sum))
    }

    fn next(&self, set: &Change, step: Step) -> Result<Next, Error> {
        if set.update().is_empty() {
            let was = (0..self.pieces.len()).map(Some).collect();
            return Ok(Next { pieces: self.pieces.clone(), was, gone: Vec::new() });
        }
        let (left, came) = (&set.update().removed.0, &set.update().added);
        let left: HashSet<u64> = ids_of(set.table(), set.before(), left)?.into_iter().collect();
        let came: HashSet<u64> = ids_of(set.table(), set.now(), came)?.into_iter().collect();
        let places: HashMap<u64, usize> = self.pieces.iter().enumerate().map(|(at, piece)| (piece.id, at)).collect();
        let gone = (0..self.pieces.len()).filter(|at| left.contains(&self.pieces[*at].id)).collect();
        let (mut pieces, mut was) = (Vec::new(), Vec::new());
        for id in ids_of(set.table(), set.now(), set.now().rows())? {
            match places.get(&id).filter(|_| !came.contains(&id)) {
                Some(at) => {
                    pieces.push(self.pieces[*at].clone());
                    was.push(Some(*at));
                }
                None => {
                    pieces.push(Piece { id, table: self.members.member(id, When::Running(step))? });
                    was.push(None);
                }
            }
        }
        Ok(Next { pieces, was, gone })
    }

    /// The slots after a step: as they were, and behind them those of new constituents, unless one overflows or comes
    /// before others.
    fn slots(&self, old: &[Slot], next: &Next, step: Step) -> Result<Vec<Slot>, Error> {
        let now = When::Running(step);
        let mut slots: Vec<Slot> = Vec::with_capacity(next.pieces.len());
        let mut base = old.last().map_or(0, Slot::end);
        for (piece, was) in next.pieces.iter().zip(&next.was) {
            let slot = match was.map(|was| old[was]) {
                Some(slot) if piece.update_in(step)?.is_none() => Some(slot),
                Some(slot) => Some(slot).filter(|slot| piece.rows_at(now).is_ok_and(|rows| slot.holds(&rows))),
                None => Slot::above(base, &piece.rows_at(now)?),
            };
            // What is kept behind a new one has its place before it.
            let Some(slot) = slot.filter(|slot| slots.last().is_none_or(|last| last.end() <= slot.start())) else {
                let rows = next.pieces.iter().map(|piece| piece.rows_at(now)).collect::<Result<Vec<_>, _>>()?;
                return Ok(lay_out(&self.operation, rows.iter())?.to_vec());
            };
            base = base.max(slot.end());
            slots.push(slot);
        }
        Ok(slots)
    }

    /// Keeps what is stacked from this step on.
    fn stack(&mut self, next: Next, slots: Vec<Slot>, old: &Stack, step: Step) {
        let is_same = next.gone.is_empty() && next.was.iter().all(Option::is_some);
        if is_same && *slots == *old.slots {
            return;
        }
        let sources = match is_same {
            true => old.sources.clone(),
            false => {
                let sources = next.pieces.iter().zip(&next.was);
                sources
                    .map(|(piece, was)| was.map_or_else(|| piece.sources(), |was| old.sources[was].clone()))
                    .collect()
            }
        };
        self.stack.publish(step, Stack { slots: slots.into(), sources });
        self.pieces = next.pieces;
    }
}
