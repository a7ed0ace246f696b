//! The rows of a viewport, and what becomes of them.

use engine::TableUpdate;
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

/// What an update does to a window that is itself moved.
pub(super) struct Moved {
    /// Rows that are in both, in keys of now.
    pub(super) stayed: RowSet,
    /// Rows that are new in the window, in keys of now.
    pub(super) came: RowSet,
    /// Rows that are in it no more, in keys of before.
    pub(super) gone: RowSet,
}

impl Moved {
    pub(super) fn between(old: &RowSet, new: &RowSet, update: &TableUpdate) -> Moved {
        let survived = update.shifts.forward(&Before(old - &update.removed.0));
        let stayed = &survived & new;
        let gone = old - &update.shifts.back(&stayed).0;
        Moved { came: new - &stayed, gone, stayed }
    }
}
