//! An edit: the change of a table's rows in one step (removed, moved, added), built once and applied to every column.

use graph::Step;
use rowset::{Before, RowSet, Shift, Shifts};

use crate::column::Chunk;
use crate::sizes::{MERGED_ROWS, SINGLE_SHIFTS};

/// A move of survivors to new keys, which keeps their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The rows that move, in before-keys.
    pub rows: RowSet,
    /// The keys after the move, in the order of `rows`.
    pub to: RowSet,
    /// The common delta of all keys, if there is one: only then may the move be made in batches.
    pub delta: Option<i64>,
}

/// The edit of a table's rows by one step. It is built once per table and applied to each of its columns.
#[derive(Clone, Copy, Debug)]
pub struct Edit<'a> {
    /// The step that runs.
    pub step: Step,
    /// The before-keys whose stored cells this step overwrites, by a write or by a move: see [`undo_rows`].
    pub undo: &'a RowSet,
    /// The old cells of those keys, if they are known already; otherwise they are gathered.
    pub old: Option<&'a Chunk>,
    /// The moves, in an order in which none overwrites a row that has yet to move: see [`moves`].
    pub moves: &'a [Move],
    /// Cells to store, by after-keys, in key order; the row sets are disjoint.
    pub writes: &'a [(RowSet, Chunk)],
}

/// The keys that held a row before the step and hold none after it.
pub fn freed_keys(removed: &RowSet, moves: &[Move], added: &RowSet) -> RowSet {
    if removed.is_empty() && moves.is_empty() {
        return RowSet::new();
    }
    let left = RowSet::union_all(moves.iter().map(|shift| &shift.rows).chain([removed]));
    let taken = RowSet::union_all(moves.iter().map(|shift| &shift.to).chain([added]));
    &left - &taken
}

/// The before-keys whose stored cells a step overwrites: previous rows that are written or moved onto.
pub fn undo_rows(rows_before: &RowSet, writes: &RowSet, moves: &[Move]) -> RowSet {
    rows_before & &RowSet::union_all(moves.iter().map(|shift| &shift.to).chain([writes]))
}

/// The moves of a step's survivors, in an order that overwrites no row that has yet to move.
pub fn moves(shifts: &Shifts, survivors: &Before) -> Vec<Move> {
    if shifts.len() > SINGLE_SHIFTS.get() {
        let rows = shifts.moved(survivors);
        if rows.len() <= MERGED_ROWS.rows() {
            // Shifts keep the order of rows, so cells read in the order of `rows` fit `to`.
            let to = shifts.forward(&rows);
            return if to.is_empty() { Vec::new() } else { vec![Move { rows: rows.0, to, delta: None }] };
        }
    }
    let moved = |shift: &Shift| {
        let rows = survivors.0.between(shift.first, shift.last);
        let to = rows.moved(shift.delta);
        Move { rows, to, delta: Some(shift.delta) }
    };
    shifts.in_safe_order().map(moved).filter(|shift| !shift.rows.is_empty()).collect()
}
