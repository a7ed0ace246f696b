//! Row sets moved as a whole, from the key space of one table into a slot of another's.

use rowset::{RowSet, Span};

/// Every key moved by `delta`, which keeps all of them in the key space.
pub fn moved(rows: &RowSet, delta: i64) -> RowSet {
    if delta == 0 || rows.is_empty() {
        return rows.clone();
    }
    let by = |key: u64| key.checked_add_signed(delta).expect("a slot holds all keys of its input");
    RowSet::from_spans(rows.spans().map(|span| Span { first: by(span.first), last: by(span.last) }))
}
