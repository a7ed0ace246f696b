//! What one step does to the rows of a table, said once for all of its columns.

use graph::Step;
use rowset::{Before, RowSet, Shifts};

use crate::Chunk;

/// Survivors that change their keys by one delta.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The rows that move, by their keys before.
    pub rows: RowSet,
    /// What is added to each key.
    pub delta: i64,
}

impl Move {
    /// The rows that move, by their keys after.
    pub fn destination(&self) -> RowSet {
        shifted(&self.rows, self.delta)
    }
}

/// What one step does to the rows of a table. Made once a table, applied to each of its columns.
#[derive(Clone, Copy, Debug)]
pub struct Edit<'a> {
    /// The step that runs.
    pub step: Step,
    /// Keys before whose stored cell this step overwrites or moves over: see [`undo_rows`].
    pub undo: &'a RowSet,
    /// Rows that move, in an order in which none lands on one that has yet to move: see [`moves`].
    pub moves: &'a [Move],
    /// Keys before whose rows are gone.
    pub removed: &'a RowSet,
    /// Keys after that are new.
    pub added: &'a RowSet,
    /// Cells to store at keys after, in key order; the row sets are disjoint.
    pub writes: &'a [(RowSet, Chunk)],
}

/// The keys before whose stored cells a step loses: rows before that are written or moved onto.
pub fn undo_rows(rows_before: &RowSet, writes: &RowSet, moves: &[Move]) -> RowSet {
    let lost = RowSet::union_all(moves.iter().map(Move::destination).collect::<Vec<_>>().iter().chain([writes]));
    rows_before & &lost
}

/// The moves of a step's survivors, in safe order.
pub fn moves(shifts: &Shifts, survivors: &Before) -> Vec<Move> {
    let rows = |first, last| survivors.0.between(first, last);
    shifts
        .in_safe_order()
        .map(|shift| Move { rows: rows(shift.first, shift.last), delta: shift.delta })
        .filter(|shift| !shift.rows.is_empty())
        .collect()
}

/// The same rows, each key changed by `delta`.
pub(crate) fn shifted(rows: &RowSet, delta: i64) -> RowSet {
    let moved = |key: u64| key.wrapping_add_signed(delta);
    RowSet::from_spans(rows.spans().map(|span| rowset::Span { first: moved(span.first), last: moved(span.last) }))
}
