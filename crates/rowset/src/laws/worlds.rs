//! Random row sets of every shape, and plain sets to compare them with.

use std::collections::BTreeSet;

use fastrand::Rng;
use proptest::prelude::*;

use crate::key::{MAX_KEY, Span};
use crate::rowset::RowSet;

pub(super) type Plain = BTreeSet<u64>;

/// Where small universes are placed: block edges, word edges, the two ends of the key space.
pub(super) fn place() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        Just((1 << 16) - 5),
        Just((1 << 31) - 5),
        Just((1 << 32) - 5),
        Just((1 << 40) + 77),
        Just(MAX_KEY - (1 << 19)),
        Just(MAX_KEY - 100),
    ]
}

/// Ascending, disjoint spans of one shape. Spans may touch.
pub(super) fn spans() -> impl Strategy<Value = Vec<Span>> {
    let shape = prop_oneof![
        (Just(1u64..3), Just(1u64..3), 0usize..600),
        (Just(1u64..2), Just(1u64..40), 0usize..3000),
        (Just(1u64..40), Just(1u64..4), 0usize..3000),
        (Just(1u64..2), Just(1u64..3), 0usize..9000),
        (Just(1u64..70_000), Just(1u64..70_000), 0usize..12),
        (Just(1u64..200_000), Just(1u64..3), 0usize..6),
        (Just(1u64..2), Just(1u64..20_000_000), 0usize..400),
        (Just(1u64..5), Just(0u64..2), 0usize..50),
        (Just(65_536u64..65_537), Just(0u64..3), 0usize..8),
    ];
    let one = (place(), shape, any::<u64>()).prop_map(|(start, (lengths, gaps, count), seed)| {
        let mut random = Rng::with_seed(seed);
        let mut spans = Vec::new();
        let mut from = start;
        for _ in 0..count {
            let Some(first) = from.checked_add(random.u64(gaps.clone())).filter(|&key| key <= MAX_KEY) else { break };
            let last = (first + random.u64(lengths.clone()) - 1).min(MAX_KEY);
            spans.push(Span { first, last });
            from = last + 1;
        }
        spans
    });
    prop::collection::vec(one, 1..3).prop_map(|parts| {
        let mut spans: Vec<Span> = parts.into_iter().flatten().collect();
        spans.sort_by_key(|span| span.first);
        let mut apart: Vec<Span> = Vec::new();
        for span in spans {
            if apart.last().is_none_or(|last| last.last < span.first) {
                apart.push(span);
            }
        }
        apart
    })
}

/// A row set of any shape.
pub(super) fn rows() -> impl Strategy<Value = RowSet> {
    spans().prop_map(RowSet::from_spans)
}

/// Two row sets that are likely to meet: the second is another shape, or the first disturbed.
pub(super) fn pairs() -> impl Strategy<Value = (RowSet, RowSet)> {
    (rows(), rows(), any::<u64>(), 0u8..3).prop_map(|(left, right, seed, relation)| match relation {
        0 => (left, right),
        _ => {
            let mut random = Rng::with_seed(seed);
            let share = random.u64(1..9);
            let part: Vec<Span> = left.spans().filter(|_| random.u64(..9) < share).collect();
            let part = RowSet::from_spans(part);
            (left, if relation == 1 { part } else { &part ^ &right })
        }
    })
}

/// The spans of a plain list of spans as maximal ones: the oracle for sets too large to list.
pub(super) fn maximal(spans: &[Span]) -> Vec<Span> {
    let mut joined: Vec<Span> = Vec::new();
    for &span in spans {
        match joined.last_mut() {
            Some(last) if last.last + 1 == span.first => last.last = span.last,
            _ => joined.push(span),
        }
    }
    joined
}

/// What `keep` leaves of two sets, by sweeping over the ends of their spans: sets of millions of keys too.
pub(super) fn swept(left: &RowSet, right: &RowSet, keep: fn(bool, bool) -> bool) -> Vec<Span> {
    let (left, right): (Vec<Span>, Vec<Span>) = (left.spans().collect(), right.spans().collect());
    let mut edges: Vec<u64> = left.iter().chain(&right).flat_map(|span| [span.first, span.last + 1]).collect();
    edges.sort_unstable();
    edges.dedup();
    let within = |spans: &[Span], key: u64| {
        spans[spans.partition_point(|span| span.last < key)..].first().is_some_and(|span| span.first <= key)
    };
    let kept = edges.windows(2).filter(|edge| keep(within(&left, edge[0]), within(&right, edge[0])));
    maximal(&kept.map(|edge| Span { first: edge[0], last: edge[1] - 1 }).collect::<Vec<_>>())
}

/// A set passes its own checks and holds exactly these spans.
pub(super) fn holds(rows: &RowSet, spans: &[Span]) {
    assert_eq!(rows.validate(), Ok(()));
    assert!(rows.spans().eq(spans.iter().copied()), "{rows:?} is not {spans:?}");
    assert_eq!(rows.len(), spans.iter().map(Span::len).sum::<u64>());
    assert_eq!(rows.first(), spans.first().map(|span| span.first));
    assert_eq!(rows.last(), spans.last().map(|span| span.last));
}
