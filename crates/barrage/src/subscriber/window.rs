//! The rows of a viewport, and what becomes of them.

use engine::{ColumnSet, TableUpdate};
use rowset::{Before, Positions, RowSet, Span};

use super::Scope;

/// The keys at these positions, which may count from the end.
pub(super) fn of(rows: &RowSet, viewport: &Positions, reverse: bool) -> RowSet {
    if !reverse {
        return rows.at(viewport);
    }
    let Some(last) = rows.len().checked_sub(1) else { return RowSet::new() };
    let spans: Vec<Span> = viewport.0.spans().take_while(|span| span.first <= last).collect();
    let turned = spans.into_iter().rev();
    let turned = turned.map(|span| Span { first: last - span.last.min(last), last: last - span.first });
    rows.at(&Positions(RowSet::from_spans(turned)))
}

/// Whether what was sent of a row for one scope does for the other.
pub(super) fn keeps(had: &Scope, wants: &Scope) -> bool {
    let columns = wants.columns.iter().all(|column| had.columns.contains(column));
    let turned = match (&had.viewport, &wants.viewport) {
        (Some((_, one)), Some((_, two))) => one != two,
        _ => false,
    };
    columns && !turned
}

/// The rows of a window that a client has, followed through updates that it has not been told. Costs what the window holds,
/// however much of the table changes.
#[derive(Debug)]
pub(super) struct Tracked {
    /// Those that are left, by their keys of now.
    rows: RowSet,
    /// Which of the window's rows they are.
    ranks: RowSet,
    /// Of each column those that changed.
    modified: Vec<RowSet>,
}

/// What becomes of a window that is itself moved.
pub(super) struct Moved {
    /// Rows that are new in the window, in keys of now.
    pub(super) came: RowSet,
    /// Ranks of before of rows that are in it no more.
    pub(super) gone: RowSet,
    /// Of each column the rows that stayed and changed, in keys of now.
    pub(super) modified: Vec<RowSet>,
}

impl Tracked {
    /// Of a window with these rows, of a table of so many columns.
    pub(super) fn new(window: &RowSet, width: usize) -> Tracked {
        Tracked { rows: window.clone(), ranks: RowSet::flat(window.len()), modified: vec![RowSet::new(); width] }
    }

    /// Takes the next update in. Of the columns only these are told.
    pub(super) fn push(&mut self, update: &TableUpdate, columns: &ColumnSet) {
        let removed = &self.rows & &update.removed.0;
        if !removed.is_empty() {
            let places = self.rows.positions_of(&removed);
            self.ranks -= &self.ranks.at(&places);
            self.rows -= &removed;
            self.modified.iter_mut().for_each(|rows| *rows -= &removed);
        }
        if !update.shifts.is_empty() {
            let forward = |rows: &mut RowSet| *rows = update.shifts.forward(&Before(std::mem::take(rows)));
            forward(&mut self.rows);
            self.modified.iter_mut().filter(|rows| !rows.is_empty()).for_each(forward);
        }
        let modified = &self.rows & &update.modified;
        if !modified.is_empty() {
            for column in columns.iter().filter(|column| update.columns.contains(*column)) {
                self.modified[column] |= &modified;
            }
        }
    }

    /// What it takes from the window of `before` rows to this one.
    pub(super) fn to(self, before: u64, window: &RowSet) -> Moved {
        let Tracked { rows, ranks, mut modified } = self;
        let stayed = &rows & window;
        let kept = ranks.at(&rows.positions_of(&stayed));
        modified.iter_mut().for_each(|rows| *rows &= &stayed);
        Moved { came: window - &stayed, gone: RowSet::flat(before) - kept, modified }
    }
}
