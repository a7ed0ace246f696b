//! Tables that clients feed.

use engine::sources::{AppendTable, BlinkTable, KeyedTable};

/// Where rows of an input table go.
pub(crate) enum Feed {
    Append(AppendTable),
    Keyed(KeyedTable, Vec<String>),
    Blink(BlinkTable),
}

impl Feed {
    /// The columns by which rows are told from each other.
    pub(crate) fn keys(&self) -> &[String] {
        match self {
            Feed::Keyed(_, keys) => keys,
            Feed::Append(_) | Feed::Blink(_) => &[],
        }
    }
}
