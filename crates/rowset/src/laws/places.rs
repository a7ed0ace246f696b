//! Exhaustive: all pairs of subsets of ten keys, at the places where arithmetic goes wrong.

use crate::key::{MAX_KEY, Span};
use crate::rowset::RowSet;

const WIDTH: u32 = 10;

fn subset(base: u64, bits: u32) -> RowSet {
    RowSet::from_mask(base, &bits.to_le_bytes(), 0, WIDTH as usize)
}

fn bits(rows: &RowSet, base: u64) -> u32 {
    rows.iter().fold(0, |bits, key| bits | 1 << (key - base))
}

/// Both sides once as they come and once with a block of company below, so that other forms are met too.
fn all_pairs(base: u64) {
    let company: Vec<Span> = (0..40)
        .map(|at| Span { first: base.saturating_sub(200) + at * 3, last: base.saturating_sub(200) + at * 3 })
        .collect();
    let company = if base >= 200 { RowSet::from_spans(company) } else { RowSet::new() };
    let sets: Vec<RowSet> = (0..1 << WIDTH).map(|bits| subset(base, bits)).collect();
    for (left_bits, left) in sets.iter().enumerate() {
        let with_company = &company | left;
        for (right_bits, right) in sets.iter().enumerate() {
            let (a, b) = (left_bits as u32, right_bits as u32);
            assert_eq!(bits(&(left | right), base), a | b);
            assert_eq!(bits(&(left & right), base), a & b);
            assert_eq!(bits(&(left - right), base), a & !b);
            assert_eq!(bits(&(left ^ right), base), a ^ b);
            assert_eq!(left.is_subset(right), a & !b == 0);
            assert_eq!(left.overlaps(right), a & b != 0);
            assert_eq!(left == right, a == b);
            assert_eq!(bits(&(&with_company - &company), base), a);
            assert_eq!(bits(&(&with_company & right), base), a & b);
            if a & !b == 0 {
                assert_eq!(right.at(&right.positions_of(left)), *left);
            }
        }
    }
}

/// Every set by every span and key.
fn all_edits(base: u64) {
    for set in 0u32..1 << WIDTH {
        let rows = subset(base, set);
        assert_eq!(rows.validate(), Ok(()));
        for first in 0..WIDTH {
            let key = base + first as u64;
            let (mut with, mut without) = (rows.clone(), rows.clone());
            assert_eq!(with.insert(key), set >> first & 1 == 0);
            assert_eq!(without.remove(key), set >> first & 1 == 1);
            assert_eq!((bits(&with, base), bits(&without, base)), (set | 1 << first, set & !(1 << first)));
            assert_eq!(rows.rank(key), (set & ((1 << first) - 1)).count_ones() as u64);
            assert_eq!(rows.contains(key), set >> first & 1 == 1);
            for last in first..WIDTH {
                let span = Span { first: key, last: base + last as u64 };
                let range = ((1u32 << (last - first + 1)) - 1) << first;
                let (mut with, mut without) = (rows.clone(), rows.clone());
                with.insert_span(span);
                without.remove_span(span);
                assert_eq!((bits(&with, base), bits(&without, base)), (set | range, set & !range));
                assert_eq!(bits(&rows.between(span.first, span.last), base), set & range);
                assert_eq!(rows.contains_span(span), set & range == range);
                assert_eq!(with.validate().and(without.validate()), Ok(()));
            }
        }
        assert_eq!(bits(&rows, base), set);
    }
}

macro_rules! at_place {
    ($($name:ident: $base:expr),*) => {$(
        #[test]
        fn $name() {
            all_pairs($base);
            all_edits($base);
        }
    )*};
}

at_place!(
    at_zero: 0,
    across_the_first_block: (1 << 16) - 5,
    across_the_sign_of_32_bits: (1 << 31) - 5,
    across_32_bits: (1 << 32) - 5,
    at_the_top: MAX_KEY - 9
);

#[test]
fn the_top_key_works_everywhere() {
    let mut rows = RowSet::range(MAX_KEY - 3, MAX_KEY);
    assert!(rows.remove(MAX_KEY) && rows.insert(MAX_KEY) && !rows.insert(MAX_KEY));
    assert_eq!(rows.position_of(MAX_KEY), Some(3));
    assert_eq!(rows.key_at(3), Some(MAX_KEY));
    assert_eq!(rows.slice(3, u64::MAX), RowSet::key(MAX_KEY));
    assert_eq!(rows.between(0, u64::MAX), rows);
    let whole = RowSet::range(0, MAX_KEY);
    assert_eq!(whole.len(), 1 << 63);
    assert_eq!(&whole - &rows, RowSet::range(0, MAX_KEY - 4));
    assert_eq!(rows.iter().next_back(), Some(MAX_KEY));
    assert_eq!(rows.to_mask(Span { first: MAX_KEY - 1, last: MAX_KEY }), vec![3]);
}
