//! Neighbouring keys inside one block: the form in which storage walks a row set.

use rowset::RowSet;

use crate::sizes::{BLOCK, BLOCK_BITS, LISTED_KEYS, SAMPLED_SPANS};

/// Neighbouring keys inside one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// Number of the block: its first key over the block size.
    pub block: u64,
    /// First cell of the run in the block.
    pub offset: usize,
    /// Cells, never 0.
    pub len: usize,
}

/// Shorter than this on average, spans cost more than their keys.
const SHORT_SPAN: u64 = 4;

/// The spans of a row set, cut at the edges of blocks.
pub(crate) fn runs(rows: &RowSet) -> Runs<'_> {
    if let Some(span) = rows.as_span() {
        return Runs::Spans { spans: None, next: span.first, last: span.last };
    }
    match listed(rows) {
        Some(keys) => Runs::Keys(keys, 0),
        None => Runs::Spans { spans: Some(rows.spans()), next: 1, last: 0 },
    }
}

/// The keys of a row set, if they mostly stand apart and are not too many to be written out.
pub(crate) fn listed(rows: &RowSet) -> Option<Vec<u64>> {
    (rows.as_span().is_none() && rows.len() <= LISTED_KEYS.rows() && stands_apart(rows)).then(|| rows.to_vec())
}

/// The block of the first of these ascending keys, and how many of them are in it.
pub(crate) fn leading_block(keys: &[u64]) -> Option<(u64, usize)> {
    let block = locate(*keys.first()?).0;
    let last = block << BLOCK_BITS | (BLOCK as u64 - 1);
    Some((block, keys.iter().take_while(|key| **key <= last).count()))
}

fn stands_apart(rows: &RowSet) -> bool {
    let sampled = SAMPLED_SPANS.get();
    let (spans, keys) = rows.spans().take(sampled).fold((0, 0), |(spans, keys), span| (spans + 1, keys + span.len()));
    spans == sampled as u64 && keys < spans * SHORT_SPAN
}

/// The runs of a row set, from its spans or from its keys: random keys come out of a row set faster
/// as a list than as spans of one.
#[allow(clippy::large_enum_variant, reason = "one a walk, on the stack; a box would cost more than it saves")]
pub(crate) enum Runs<'a> {
    /// The rest of the span that is walked, and the spans behind it.
    Spans {
        spans: Option<rowset::Spans<'a>>,
        next: u64,
        last: u64,
    },
    Keys(Vec<u64>, usize),
}

impl Iterator for Runs<'_> {
    type Item = Run;

    #[inline]
    fn next(&mut self) -> Option<Run> {
        match self {
            Runs::Spans { spans, next, last } => {
                if *next > *last {
                    let span = spans.as_mut()?.next()?;
                    (*next, *last) = (span.first, span.last);
                }
                let run = first_run(*next, *last);
                *next += run.len as u64;
                Some(run)
            }
            Runs::Keys(keys, at) => {
                let run = leading_run(&keys[*at..])?;
                *at += run.len;
                Some(run)
            }
        }
    }
}

/// The keys of a range up to the edge of a block.
pub(crate) fn first_run(first: u64, last: u64) -> Run {
    let (block, offset) = locate(first);
    let len = (BLOCK - offset).min(usize::try_from(last - first).map_or(BLOCK, |more| more + 1));
    Run { block, offset, len }
}

/// The runs of ascending keys.
pub(crate) fn runs_of(keys: &[u64]) -> impl Iterator<Item = Run> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let run = leading_run(&keys[at..])?;
        at += run.len;
        Some(run)
    })
}

fn leading_run(keys: &[u64]) -> Option<Run> {
    let first = *keys.first()?;
    let (block, offset) = locate(first);
    let mut len = 1;
    while offset + len < BLOCK && keys.get(len).is_some_and(|key| *key == first + len as u64) {
        len += 1;
    }
    Some(Run { block, offset, len })
}

/// The block of a key, and its place there.
pub(crate) fn locate(key: u64) -> (u64, usize) {
    (key >> BLOCK_BITS, (key & (BLOCK as u64 - 1)) as usize)
}
