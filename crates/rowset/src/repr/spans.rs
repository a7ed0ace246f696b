//! Sorted ranges with accumulated counts.

use crate::Span;

#[derive(Clone, Default)]
pub(crate) struct SpanList {
    pub(crate) spans: Vec<Span>,
    /// Keys in the spans in front of each, and in all at the end.
    pub(crate) before: Vec<u64>,
}

impl SpanList {
    pub(crate) fn new(spans: Vec<Span>) -> SpanList {
        let mut total = 0;
        let mut before = Vec::with_capacity(spans.len() + 1);
        for span in &spans {
            before.push(total);
            total += span.len();
        }
        before.push(total);
        SpanList { spans, before }
    }

    pub(crate) fn len(&self) -> u64 {
        self.before.last().copied().unwrap_or(0)
    }

    /// Index of the first span that does not end below the key.
    pub(crate) fn at_or_after(&self, key: u64) -> usize {
        self.spans.partition_point(|span| span.last < key)
    }
}
