//! Affected rows of an expression that reads neighbours at a fixed distance: from a change, the rows to compute again.
//!
//! All rows are one group, and each distance is a frame ([`crate::keys::frame`]): an added or removed row changes the
//! neighbours of all rows within the distance, a modified row those at exactly the distance. A pure shift changes none.
//! Cost: proportional to the change and the distance, plus one search for each run of rows.

use formula::context::Dependencies;
use rowset::{Positions, RowSet, Span};

use crate::error::Error;
use crate::keys::frame::{Frame, Touch, affected};
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
    let far = |distance: u64| i64::try_from(distance).unwrap_or(i64::MAX);
    let around = Frame::Rows { back: far(reach.back), ahead: far(reach.ahead) };
    let mut places = RowSet::new();
    let mut extend = |frame, touched: &[(u32, Touch<u64>)]| {
        let found = affected(frame, now, touched).into_iter();
        places |= &RowSet::from_spans(found.map(|(_, span)| Span { first: span.start, last: span.end - 1 }));
    };
    extend(around, &come_and_gone(change));
    let mut distances: Vec<i64> = (reach.reads.iter())
        .filter(|(by, column)| *by != 0 && update.columns.contains(*column))
        .map(|(by, _)| *by)
        .collect();
    distances.sort_unstable();
    distances.dedup();
    if !distances.is_empty() && !update.modified.is_empty() {
        let modified = now.positions_of(&update.modified).0;
        let modified: Vec<_> = modified.spans().map(|span| (ALL, Touch::Changed(span.first..span.last + 1))).collect();
        for by in distances {
            extend(Frame::Rows { back: by, ahead: by.saturating_neg() }, &modified);
        }
    }
    rows |= &now.at(&Positions(places));
    &rows - &update.added
}

/// All rows are one group.
const ALL: u32 = 0;

/// Where rows of a table have come, and where some have gone.
fn come_and_gone(change: &Change) -> Vec<(u32, Touch<u64>)> {
    let (update, now) = (change.update(), change.now().rows());
    let added = now.positions_of(&update.added).0;
    let mut touched: Vec<_> = added.spans().map(|span| (ALL, Touch::Entered(span.first..span.last + 1))).collect();
    if !update.removed.0.is_empty() {
        let before = change.before().rows();
        for gap in before.positions_of(&update.removed.0).0.spans() {
            let next = before.key_at(gap.last + 1).map(|key| now.rank(update.shifts.forward_key(key)));
            touched.push((ALL, Touch::Left { next: next.unwrap_or(now.len()), stamp: 0 }));
        }
    }
    touched
}

/// Refuses an expression whose values would have to be computed again for most rows at most changes: a position or a
/// whole column of a live table. An update must cost in proportion to the change. Neighbours at a fixed distance are
/// allowed, and so is everything over static and blink tables.
pub fn refresh_safe(reach: &Dependencies, table: &Table, live: bool) -> Result<(), formula::Error> {
    let kept = table.attributes();
    let refused = |what: &str, needs: &str| {
        Err(formula::Error::Formula {
            message: format!(
                "{what} changes under rows that stay unless the table is {needs}; neighbours by shift(n) or X_[i-1], \
                 and update_by, follow every change"
            ),
        })
    };
    if !live || kept.blink {
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
    refresh_safe(reach, table, table.is_live()).map_err(|error| Error::Formula { operation: operation.into(), error })
}
