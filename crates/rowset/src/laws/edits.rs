//! Edits: long sequences against a plain set, with other handles alive.

use proptest::prelude::*;

use super::worlds::*;
use crate::key::{MAX_KEY, Span};
use crate::rowset::RowSet;

#[derive(Clone, Debug)]
enum Edit {
    Insert(u64),
    Remove(u64),
    InsertSpan(u64, u64),
    RemoveSpan(u64, u64),
    Keep,
}

fn edits(width: u64) -> impl Strategy<Value = Vec<Edit>> {
    let edit = prop_oneof![
        4 => (0..width).prop_map(Edit::Insert),
        4 => (0..width).prop_map(Edit::Remove),
        1 => (0..width, 1u64..300).prop_map(|(at, len)| Edit::InsertSpan(at, len)),
        1 => (0..width, 1u64..300).prop_map(|(at, len)| Edit::RemoveSpan(at, len)),
        1 => Just(Edit::Keep),
    ];
    prop::collection::vec(edit, 1..400)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn edits_are_those_of_a_plain_set(rows in rows(), (edits, width) in prop_oneof![Just(300u64), Just(20_000), Just(300_000)].prop_flat_map(|w| (edits(w), Just(w)))) {
        let mut rows = rows.slice(0, 6000);
        let base = rows.first().unwrap_or(1 << 20).min(MAX_KEY - width);
        let mut plain: Plain = rows.iter().collect();
        let mut held: Vec<(RowSet, u64)> = Vec::new();
        for edit in edits {
            match edit {
                Edit::Insert(at) => prop_assert_eq!(rows.insert(base + at), plain.insert(base + at)),
                Edit::Remove(at) => prop_assert_eq!(rows.remove(base + at), plain.remove(&(base + at))),
                Edit::InsertSpan(at, len) => {
                    let span = Span { first: base + at, last: (base + at + len - 1).min(MAX_KEY) };
                    rows.insert_span(span);
                    plain.extend(span.first..=span.last);
                }
                Edit::RemoveSpan(at, len) => {
                    let span = Span { first: base + at, last: (base + at + len - 1).min(MAX_KEY) };
                    rows.remove_span(span);
                    let taken: Vec<u64> = plain.range(span.first..=span.last).copied().collect();
                    taken.iter().for_each(|key| { plain.remove(key); });
                }
                Edit::Keep => held.push((rows.clone(), digest(&rows))),
            }
            prop_assert_eq!(rows.len(), plain.len() as u64);
        }
        prop_assert_eq!(rows.validate(), Ok(()));
        prop_assert!(rows.iter().eq(plain.iter().copied()));
        for (held, was) in held {
            prop_assert_eq!(held.validate(), Ok(()));
            prop_assert_eq!(digest(&held), was);
        }
    }

    #[test]
    fn spans_go_in_and_out((rows, other) in pairs()) {
        let was = digest(&rows);
        let (mut with, mut without) = (rows.clone(), rows.clone());
        for span in other.spans().take(200) {
            with.insert_span(span);
            without.remove_span(span);
        }
        let other = RowSet::from_spans(other.spans().take(200));
        prop_assert_eq!(with.validate(), Ok(()));
        prop_assert_eq!(without.validate(), Ok(()));
        prop_assert_eq!(&with, &(&rows | &other));
        prop_assert_eq!(&without, &(&rows - &other));
        prop_assert_eq!(digest(&rows), was);
    }

    #[test]
    fn retain_keeps_what_passes((rows, _) in pairs()) {
        let mut odd = rows.slice(0, 5000);
        let expected: Vec<u64> = odd.iter().filter(|key| key % 3 == 1).collect();
        odd.retain(|key| key % 3 == 1);
        prop_assert_eq!(odd.validate(), Ok(()));
        prop_assert_eq!(odd.to_vec(), expected);
    }
}

/// A number that any change of content changes.
fn digest(rows: &RowSet) -> u64 {
    rows.spans().fold(rows.len(), |sum, span| {
        sum.rotate_left(5).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ span.first.wrapping_mul(31).wrapping_add(span.last)
    })
}
