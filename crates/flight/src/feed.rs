//! Tables that clients feed.

use engine::sources::{AppendTable, BlinkTable, KeyedTable};

/// Where rows of an input table go.
pub(crate) enum Feed {
    Append(AppendTable),
    Keyed(KeyedTable, Vec<String>),
    Blink(BlinkTable),
}
