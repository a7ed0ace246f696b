//! Tests of copy-on-write: the bytes that an edit of a shared set copies, with ten million keys of every shape.

use std::collections::HashSet;

use crate::key::Span;
use crate::repr::Repr;
use crate::rowset::RowSet;
use fastrand::Rng;

const KEYS: u64 = 10_000_000;
/// Nothing that is copied, and no piece of a set, is larger.
const AT_MOST: usize = 64 << 10;

/// Where each piece lies, its bytes, and whether it is an entry's.
fn pieces(rows: &RowSet) -> Vec<(usize, usize, bool)> {
    match &rows.0 {
        Repr::Empty | Repr::Span(_) => Vec::new(),
        Repr::Spans(tree) => tree.pieces(),
        Repr::Blocks(tree) => tree.pieces(),
    }
}

fn dense(percent: u64) -> RowSet {
    let mut random = Rng::with_seed(7);
    let keys: Vec<u64> = (0..KEYS * 100 / percent).filter(|_| random.u64(0..100) < percent).collect();
    RowSet::from_sorted_keys(&keys)
}

fn shapes() -> Vec<(&'static str, RowSet)> {
    let mut random = Rng::with_seed(9);
    let sparse = (0..KEYS).map(|_| random.u64(0..1 << 40)).collect();
    let mut from = 0;
    let clustered = std::iter::from_fn(|| {
        let first = from + 1 + random.u64(0..2000);
        from = first + 1 + random.u64(0..2000);
        (first < 2 * KEYS).then_some(Span { first, last: from - 1 })
    });
    let clustered = RowSet::from_spans(clustered.collect::<Vec<_>>());
    vec![
        ("one range", RowSet::flat(KEYS)),
        ("1 %", dense(1)),
        ("10 %", dense(10)),
        ("50 %", dense(50)),
        ("99 %", dense(99)),
        ("clustered", clustered),
        (
            "sorted append",
            RowSet::from_spans((0..KEYS / 2000).map(|at| Span { first: at * 2000, last: at * 2000 + 1998 })),
        ),
        ("sparse", RowSet::from_keys(sparse)),
        ("every other", RowSet::from_sorted_keys(&(0..KEYS).map(|key| key * 2).collect::<Vec<_>>())),
        (
            "full with holes",
            RowSet::from_spans((0..KEYS >> 16).map(|at| Span { first: at << 16, last: (at << 16) + 65_534 })),
        ),
        ("far apart", RowSet::from_spans((0..1000).map(|at| Span { first: at << 40, last: (at << 40) + 9_999 }))),
    ]
}

#[test]
fn an_edit_of_a_held_set_copies_little() {
    for (name, rows) in shapes() {
        let held: HashSet<usize> = pieces(&rows).iter().map(|(at, ..)| *at).collect();
        assert!(pieces(&rows).iter().all(|(_, bytes, _)| *bytes <= AT_MOST), "{name}: a piece is too large");
        let hull = rows.hull().expect("keys");
        let mut random = Rng::with_seed(3);
        for _ in 0..20 {
            let key = random.u64(hull.first..hull.last + 1);
            let mut edited = rows.clone();
            if !edited.insert(key) {
                edited.remove(key);
            }
            let copied: usize =
                pieces(&edited).iter().filter(|(at, ..)| !held.contains(at)).map(|(_, bytes, _)| bytes).sum();
            assert!(copied <= AT_MOST, "{name}: {copied} bytes for one key");
            assert_ne!(edited.len(), rows.len());
        }
    }
}

#[test]
fn a_range_behind_a_held_set_copies_one_block_at_most() {
    for (name, rows) in shapes() {
        let held: HashSet<usize> = pieces(&rows).iter().map(|(at, ..)| *at).collect();
        let last = rows.last().expect("keys");
        for first in [last + 1, last + 2, last + 70_000] {
            let mut edited = rows.clone();
            edited.insert_span(Span { first, last: first + 99_999 });
            assert_eq!(edited.validate(), Ok(()));
            let copied: Vec<_> = pieces(&edited).into_iter().filter(|(at, ..)| !held.contains(at)).collect();
            let bytes: usize = copied.iter().map(|(_, bytes, _)| bytes).sum();
            // Those of the block that was copied, and of the range itself where it is kept as pieces.
            let entries = copied.iter().filter(|(.., is_entry)| *is_entry).count();
            assert!(bytes <= AT_MOST && entries <= 2, "{name}: {entries} blocks, {bytes} bytes");
        }
    }
}
