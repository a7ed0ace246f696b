//! Affected rows of an expression that reads neighbours at a fixed distance: from a change, the rows to compute again.
//!
//! An added or removed row changes the neighbours of all rows within the distance. A modified row affects only the rows
//! at exactly the distance. A pure shift changes no neighbours. Cost: proportional to the change and the distance, plus
//! one search for each run of rows.

use formula::context::Dependencies;
use rowset::{Positions, RowSet, Span};

use crate::error::Error;
use crate::table::change::Change;
use crate::table::handle::Table;

/// The surviving rows whose value may have changed, in after-keys.
pub(crate) fn affected_rows(reach: &Dependencies, change: &Change) -> RowSet {
    let update = change.update();
    let mut rows = RowSet::new();
    if reach.reads.iter().any(|(by, column)| *by == 0 && update.columns.contains(*column)) {
        rows = update.modified.clone();
    }
    if reach.back == 0 && reach.ahead == 0 {
        return rows;
    }
    let now = change.now().rows();
    let mut spans: Vec<Span> = Vec::new();
    let mut distances: Vec<i64> = (reach.reads.iter())
        .filter(|(by, column)| *by != 0 && update.columns.contains(*column))
        .map(|(by, _)| *by)
        .collect();
    distances.sort_unstable();
    distances.dedup();
    if !distances.is_empty() && !update.modified.is_empty() {
        for span in now.positions_of(&update.modified).0.spans() {
            spans.extend(distances.iter().filter_map(|by| moved(span, *by, now.len())));
        }
    }
    for span in now.positions_of(&update.added).0.spans() {
        spans.extend(around(Some(span.last), Some(span.first), reach, now.len()));
    }
    if !update.removed.0.is_empty() {
        let before = change.before().rows();
        // The current positions of the rows that were on both sides of a removed row.
        let place = |position: u64| {
            let key = update.shifts.forward_key(before.key_at(position)?);
            now.position_of(key)
        };
        for gap in before.positions_of(&update.removed.0).0.spans() {
            let left = gap.first.checked_sub(1).and_then(place);
            let right = place(gap.last + 1).and_then(|at| at.checked_sub(1).or(Some(u64::MAX)));
            spans.extend(around(right, left.map(|at| at + 1).or(Some(0)), reach, now.len()));
        }
    }
    if !spans.is_empty() {
        rows |= &now.at(&Positions(joined(spans)));
    }
    &rows - &update.added
}

/// The positions of a span moved by `by` places, clipped to the table.
fn moved(span: Span, by: i64, len: u64) -> Option<Span> {
    let place = |at: u64| i128::from(at) + i128::from(by);
    let (first, last) = (place(span.first).max(0), place(span.last).min(i128::from(len) - 1));
    (first <= last).then_some(Span { first: first as u64, last: last as u64 })
}

/// The positions around a gap between `last` and `first` whose neighbours are across the gap: rows after it that look
/// back, and rows before it that look ahead. `u64::MAX` for `last` is the place before the first row.
fn around(last: Option<u64>, first: Option<u64>, reach: &Dependencies, len: u64) -> impl Iterator<Item = Span> + use<> {
    let (back, ahead) = (reach.back, reach.ahead);
    let behind = last.filter(|_| back > 0).and_then(|last| {
        let start = last.wrapping_add(1);
        (start < len).then(|| Span { first: start, last: start.saturating_add(back - 1).min(len - 1) })
    });
    let before = first.filter(|first| ahead > 0 && *first > 0 && len > 0).map(|first| {
        let last = (first - 1).min(len - 1);
        Span { first: last.saturating_sub(ahead - 1), last }
    });
    behind.into_iter().chain(before)
}

fn joined(mut spans: Vec<Span>) -> RowSet {
    spans.sort_unstable_by_key(|span| span.first);
    let mut merged: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        match merged.last_mut() {
            Some(open) if span.first <= open.last.saturating_add(1) => open.last = open.last.max(span.last),
            _ => merged.push(span),
        }
    }
    RowSet::from_spans(merged)
}

/// Refuses an expression whose values would have to be computed again for most rows at most changes: a position or a
/// whole column of a live table. An update must cost in proportion to the change. Neighbours at a fixed distance are
/// allowed, and so is everything over static and blink tables.
pub fn refresh_safe(reach: &Dependencies, table: &Table) -> Result<(), formula::Error> {
    let kept = table.attributes();
    let refused = |what: &str, needs: &str| {
        Err(formula::Error::Formula {
            message: format!(
                "{what} changes under rows that stay unless the table is {needs}; neighbours by shift(n) or X_[i-1], \
                 and update_by, follow every change"
            ),
        })
    };
    if !table.is_live() || kept.blink {
        return Ok(());
    }
    if reach.whole {
        return refused("the whole of a column", "static or blink");
    }
    if reach.position && !kept.append_only {
        return refused("i, the position of a row,", "append-only or blink");
    }
    if reach.key && !kept.append_only && !kept.add_only {
        return refused("k, the key of a row,", "add-only or blink");
    }
    Ok(())
}

/// Checks an expression of `operation` over `table` as [`refresh_safe`] does; the error names the operation.
pub(crate) fn check(operation: &str, reach: &Dependencies, table: &Table) -> Result<(), Error> {
    refresh_safe(reach, table).map_err(|error| Error::Formula { operation: operation.into(), error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_that_overlap_are_one() {
        let span = |first, last| Span { first, last };
        let set = joined(vec![span(5, 6), span(0, 1), span(2, 3), span(6, 9)]);
        assert_eq!(set.spans().collect::<Vec<_>>(), [span(0, 3), span(5, 9)]);
    }

    #[test]
    fn distances_end_at_the_ends_of_the_table() {
        let span = |first, last| Span { first, last };
        assert_eq!(moved(span(2, 4), 3, 6), Some(span(5, 5)));
        assert_eq!(moved(span(2, 4), -3, 6), Some(span(0, 1)));
        assert_eq!(moved(span(2, 4), 4, 6), None);
        assert_eq!(moved(span(2, 4), i64::MIN, 6), None);
    }
}
