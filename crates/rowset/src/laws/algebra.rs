//! Set algebra: every operation is what a sweep over the ends of spans says it is.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use fastrand::Rng;
use proptest::prelude::*;

use super::worlds::*;
use crate::iter::Segment;
use crate::key::{MAX_KEY, Span};
use crate::rowset::RowSet;

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn built_from_spans_holds_these_spans(spans in spans()) {
        let rows = RowSet::from_spans(spans.iter().copied());
        holds(&rows, &maximal(&spans));
        let backward: Vec<Span> = rows.spans().rev().collect();
        let forward: Vec<Span> = rows.spans().collect();
        prop_assert!(backward.iter().rev().eq(forward.iter()));
        prop_assert_eq!(rows.span_count(), forward.len() as u64);
    }

    #[test]
    fn stretches_are_the_keys_in_order((rows, other) in pairs()) {
        // As built, and as edits leave it: other forms.
        for rows in [&rows ^ &other, rows] {
            let mut spans: Vec<Span> = Vec::new();
            let mut add = |first: u64, last: u64| match spans.last_mut() {
                Some(span) if span.last + 1 == first => span.last = last,
                before => {
                    assert!(before.is_none_or(|span| span.last < first), "not in order");
                    spans.push(Span { first, last });
                }
            };
            rows.segments(|stretch| match stretch {
                Segment::Span(span) => add(span.first, span.last),
                Segment::Keys(keys) => keys.iter().for_each(|key| add(*key, *key)),
                Segment::Words { first, words } => {
                    assert_eq!((first % (1 << 16), words.len()), (0, 1 << 10));
                    let bits = (first..).zip(words.iter().flat_map(|word| (0..64).map(move |bit| word >> bit & 1)));
                    bits.filter(|(_, bit)| *bit == 1).for_each(|(key, _)| add(key, key));
                }
            });
            prop_assert!(rows.spans().eq(spans));
        }
    }

    #[test]
    fn operations_are_what_a_sweep_says((left, right) in pairs()) {
        let (was_left, was_right) = (left.spans().collect::<Vec<_>>(), right.spans().collect::<Vec<_>>());
        holds(&(&left | &right), &swept(&left, &right, |a, b| a | b));
        holds(&(&left & &right), &swept(&left, &right, |a, b| a & b));
        holds(&(&left - &right), &swept(&left, &right, |a, b| a & !b));
        holds(&(&right - &left), &swept(&left, &right, |a, b| b & !a));
        holds(&(&left ^ &right), &swept(&left, &right, |a, b| a ^ b));
        prop_assert_eq!(left.is_subset(&right), swept(&left, &right, |a, b| a & !b).is_empty());
        prop_assert_eq!(left.overlaps(&right), !swept(&left, &right, |a, b| a & b).is_empty());
        holds(&left, &was_left);
        holds(&right, &was_right);
    }

    #[test]
    fn assigning_forms_leave_other_handles_alone((left, right) in pairs()) {
        let held = left.clone();
        let was: Vec<Span> = left.spans().collect();
        for (assign, expected) in [
            ((|a, b| *a |= b) as fn(&mut RowSet, &RowSet), &left | &right),
            (|a, b| *a &= b, &left & &right),
            (|a, b| *a -= b, &left - &right),
            (|a, b| *a ^= b, &left ^ &right),
        ] {
            let mut edited = left.clone();
            assign(&mut edited, &right);
            prop_assert_eq!(edited.validate(), Ok(()));
            prop_assert_eq!(&edited, &expected);
            holds(&held, &was);
            let mut alone = RowSet::from_spans(was.iter().copied());
            assign(&mut alone, &right);
            prop_assert_eq!(&alone, &expected);
            prop_assert_eq!(alone.validate(), Ok(()));
        }
    }

    #[test]
    fn equality_and_hash_are_by_value((left, right) in pairs()) {
        let hasher = RandomState::new();
        // The same keys, come to by another road.
        let again = &(&(&left | &right) - &(&right - &left)) & &left;
        prop_assert_eq!(&again, &left);
        prop_assert_eq!(hasher.hash_one(&again), hasher.hash_one(&left));
        let differ = left.spans().ne(right.spans());
        prop_assert_eq!(left != right, differ);
        let set: HashSet<RowSet> = [left.clone(), again, left].into_iter().collect();
        prop_assert_eq!(set.len(), 1);
    }

    #[test]
    fn laws_of_sets((a, b) in pairs(), c in rows()) {
        prop_assert_eq!(&(&a | &b) | &c, &a | &(&b | &c));
        prop_assert_eq!(&(&a & &b) & &c, &a & &(&b & &c));
        prop_assert_eq!(&a & &(&b | &c), &(&a & &b) | &(&a & &c));
        prop_assert_eq!(&a - &(&b | &c), &(&a - &b) & &(&a - &c));
        prop_assert_eq!(&(&a ^ &b) ^ &b, a.clone());
        prop_assert_eq!((&a | &b).len() + (&a & &b).len(), a.len() + b.len());
        prop_assert_eq!(RowSet::union_all([&a, &b, &c]), &(&a | &b) | &c);
    }

    #[test]
    fn positions_and_keys_are_inverse((rows, other) in pairs(), seed in any::<u64>()) {
        let mut random = Rng::with_seed(seed);
        let (mut below, few) = (0, rows.span_count() < 20);
        for span in rows.spans() {
            if few || random.u64(..).is_multiple_of(8) {
                for key in [span.first, span.last, span.first + random.u64(0..span.len())] {
                    let pos = below + (key - span.first);
                    prop_assert_eq!(rows.position_of(key), Some(pos));
                    prop_assert_eq!(rows.key_at(pos), Some(key));
                    prop_assert_eq!(rows.rank(key), pos);
                    prop_assert!(rows.contains(key));
                }
                prop_assert_eq!(rows.rank(span.last + 1), below + span.len());
                prop_assert!(!rows.contains(span.last + 1));
                prop_assert_eq!(rows.position_of(span.last + 1), None);
            }
            below += span.len();
        }
        prop_assert_eq!(rows.key_at(rows.len()), None);
        let part = &rows & &other;
        let positions = rows.positions_of(&part);
        let asked: Vec<u64> = rows.spans().flat_map(|span| [span.first, span.last, span.last + 1]).chain(part.iter()).collect();
        let asked = { let mut asked = asked; asked.sort_unstable(); asked };
        prop_assert_eq!(rows.ranks(&asked), asked.iter().map(|key| rows.rank(*key)).collect::<Vec<_>>());
        let expected: Vec<Span> = part.spans().map(|s| { let first = rows.rank(s.first); Span { first, last: first + s.len() - 1 } }).collect();
        holds(&positions.0, &maximal(&expected));
        prop_assert_eq!(rows.at(&positions), part);
    }

    #[test]
    fn slices_are_cuts((rows, _other) in pairs(), seed in any::<u64>()) {
        let mut random = Rng::with_seed(seed);
        for _ in 0..4 {
            let (from, len) = (random.u64(0..rows.len() + 2), random.u64(0..rows.len() + 2));
            let slice = rows.slice(from, len);
            prop_assert_eq!(slice.validate(), Ok(()));
            prop_assert_eq!(slice.len(), len.min(rows.len().saturating_sub(from)));
            prop_assert_eq!(slice.first(), if slice.is_empty() { None } else { rows.key_at(from) });
            prop_assert!(slice.is_subset(&rows));
            if let (Some(first), Some(last)) = (slice.first(), slice.last()) {
                prop_assert_eq!(rows.between(first, last), slice);
            }
        }
        let parts = rows.split(3);
        prop_assert_eq!(RowSet::union_all(&parts), rows.clone());
        prop_assert!(parts.iter().all(|part| part.len().abs_diff(rows.len() / 3) <= 1));
    }

    #[test]
    fn next_keys_are_found((rows, other) in pairs()) {
        for key in other.spans().take(40).flat_map(|span| [span.first, span.last]) {
            let after = rows.spans().find(|span| span.last >= key).map(|span| span.first.max(key));
            let before = rows.spans().take_while(|span| span.first <= key).last().map(|span| span.last.min(key));
            prop_assert_eq!(rows.first_at_or_after(key), after);
            prop_assert_eq!(rows.last_at_or_before(key), before);
        }
        for span in other.spans().take(40) {
            prop_assert_eq!(rows.contains_span(span), rows.spans().any(|own| own.first <= span.first && span.last <= own.last));
        }
    }

    #[test]
    fn keys_come_from_both_ends(rows in rows(), seed in any::<u64>()) {
        let rows = rows.slice(0, 20_000);
        let keys = rows.to_vec();
        prop_assert!(keys.windows(2).all(|pair| pair[0] < pair[1]));
        prop_assert!(rows.iter().eq(keys.iter().copied()));
        prop_assert!(rows.iter().rev().eq(keys.iter().rev().copied()));
        prop_assert_eq!(&RowSet::from_sorted_keys(&keys), &rows);
        let mut random = Rng::with_seed(seed);
        let mut shuffled = keys.clone();
        for at in (1..shuffled.len()).rev() {
            shuffled.swap(at, random.u64(0..at as u64 + 1) as usize);
        }
        shuffled.extend_from_slice(&keys[..keys.len().min(5)]);
        prop_assert_eq!(&RowSet::from_keys(shuffled), &rows);
        let (mut walk, mut plain) = (rows.iter(), std::collections::VecDeque::from(keys));
        while !plain.is_empty() {
            match random.u64(..4) {
                0 => prop_assert_eq!(walk.next_back(), plain.pop_back()),
                1 => {
                    let to = plain[random.u64(0..plain.len().min(50) as u64) as usize] + random.u64(..2);
                    walk.advance_to(to);
                    while plain.front().is_some_and(|&key| key < to) { plain.pop_front(); }
                }
                _ => prop_assert_eq!(walk.next(), plain.pop_front()),
            }
            prop_assert_eq!(walk.size_hint().0, plain.len());
        }
        prop_assert_eq!(walk.next(), None);
        prop_assert_eq!(walk.next_back(), None);
    }

    #[test]
    fn keys_in_runs_are_found_in_steps(lens in prop::collection::vec((1u64..400, 1u64..4), 20..60), base in place()) {
        let mut spans: Vec<Span> = Vec::new();
        let mut from = base.min(MAX_KEY - 100_000);
        for (len, gap) in lens {
            spans.push(Span { first: from, last: from + len - 1 });
            from += len + gap;
        }
        let keys: Vec<u64> = spans.iter().flat_map(|span| span.first..=span.last).collect();
        holds(&RowSet::from_sorted_keys(&keys), &spans);
    }

    #[test]
    fn every_way_of_walking_gives_the_same_keys(rows in rows(), seed in any::<u64>()) {
        prop_assume!(rows.len() < 1 << 18);
        let mut random = Rng::with_seed(seed);
        let keys = rows.to_vec();
        prop_assert!(rows.iter().eq(keys.iter().copied()));
        let mut folded = Vec::new();
        rows.iter().for_each(|key| folded.push(key));
        prop_assert_eq!(&folded, &keys);
        let by_spans: Vec<u64> = rows.spans().fold(Vec::new(), |mut keys, span| {
            keys.extend(span.first..=span.last);
            keys
        });
        prop_assert_eq!(&by_spans, &keys);
        // Chunks of any size, single keys and leaps in between, and the fold of what is left.
        let mut walk = rows.iter();
        let mut at = 0;
        for _ in 0..20 {
            let mut chunk = vec![0; random.u64(0..200) as usize];
            let taken = walk.next_many(&mut chunk);
            prop_assert_eq!(&chunk[..taken], &keys[at..at + taken]);
            at += taken;
            prop_assert!(taken == chunk.len() || at == keys.len());
            for _ in 0..random.u64(0..5) {
                prop_assert_eq!(walk.next(), keys.get(at).copied());
                at = (at + 1).min(keys.len());
            }
            prop_assert_eq!(walk.size_hint().0, keys.len() - at);
        }
        if let Some(&key) = keys.get(at + random.u64(0..300) as usize) {
            walk.advance_to(key);
            at = keys.partition_point(|&own| own < key);
        }
        let back = random.u64(0..4) as usize;
        let mut end = keys.len();
        for _ in 0..back.min(keys.len() - at) {
            end -= 1;
            prop_assert_eq!(walk.next_back(), Some(keys[end]));
        }
        prop_assert!(walk.collect::<Vec<u64>>() == keys[at..end]);
    }

    #[test]
    fn spans_between_are_cut(rows in rows(), seed in any::<u64>()) {
        let mut random = Rng::with_seed(seed);
        let all: Vec<Span> = rows.spans().collect();
        let hull = rows.hull().unwrap_or(Span { first: 0, last: 0 });
        for _ in 0..10 {
            let mut ends = [random.u64(..) % (hull.len() + 3) + hull.first.saturating_sub(1), random.u64(..) % (hull.len() + 3) + hull.first.saturating_sub(1)];
            ends.sort_unstable();
            let within = Span { first: ends[0], last: ends[1].min(MAX_KEY).max(ends[0]) };
            let cut: Vec<Span> = all.iter().filter_map(|&span| crate::repr::span::meet(span, within)).collect();
            prop_assert!(rows.spans_between(within.first, within.last).eq(cut.iter().copied()));
            prop_assert!(rows.spans_between(within.first, within.last).rev().eq(cut.iter().rev().copied()));
            let mut folded = Vec::new();
            rows.spans_between(within.first, within.last).for_each(|span| folded.push(span));
            prop_assert_eq!(&folded, &cut);
            // From both ends until they meet.
            let mut walk = rows.spans_between(within.first, within.last);
            let (mut from, mut to) = (0, cut.len());
            while from < to {
                if random.u64(..).is_multiple_of(2) {
                    prop_assert_eq!(walk.next(), Some(cut[from]));
                    from += 1;
                } else {
                    to -= 1;
                    prop_assert_eq!(walk.next_back(), Some(cut[to]));
                }
            }
            prop_assert_eq!((walk.next(), walk.next_back()), (None, None));
        }
    }

    #[test]
    fn masks_are_membership(rows in rows(), seed in any::<u64>(), offset in 0usize..70) {
        let first = rows.first().unwrap_or(3);
        let within = Span { first, last: (first + 150_000).min(crate::key::MAX_KEY) };
        let part = rows.between(within.first, within.last);
        let words = rows.to_mask(within);
        let bit = |at: u64| words[(at / 64) as usize] >> (at % 64) & 1 == 1;
        prop_assert!((0..within.len()).all(|at| bit(at) == rows.contains(within.first + at)));
        // The same bits at an offset, with other bits around them.
        let mut random = Rng::with_seed(seed);
        let len = within.len() as usize;
        let mut bytes: Vec<u8> = (0..(offset + len).div_ceil(8) + random.u64(0..20) as usize).map(|_| random.u64(..) as u8).collect();
        for at in 0..len {
            let place = offset + at;
            bytes[place / 8] = bytes[place / 8] & !(1 << (place % 8)) | (bit(at as u64) as u8) << (place % 8);
        }
        let masked = RowSet::from_mask(within.first, &bytes, offset, len);
        prop_assert_eq!(masked.validate(), Ok(()));
        prop_assert_eq!(masked, part);
    }

    #[test]
    fn select_mask_keeps_the_keys_of_set_bits(rows in rows(), seed in any::<u64>(), offset in 0usize..70, ones in 1u64..5) {
        let rows = rows.slice(0, 200_000);
        let mut random = Rng::with_seed(seed);
        let bytes: Vec<u8> = (0..(offset + rows.len() as usize).div_ceil(8)).map(|_| match ones {
            1 => random.u64(..) as u8,
            2 => (random.u64(..) & random.u64(..) & random.u64(..)) as u8,
            3 => if random.u64(..).is_multiple_of(9) { 0xff } else { 0 },
            _ => if random.u64(..).is_multiple_of(900) { 0 } else { 0xff },
        }).collect();
        let kept = rows.iter().enumerate().filter(|(at, _)| bytes[(offset + at) / 8] >> ((offset + at) % 8) & 1 == 1);
        let expected: Vec<u64> = kept.map(|(_, key)| key).collect();
        let selected = rows.select_mask(&bytes, offset);
        prop_assert_eq!(selected.validate(), Ok(()));
        prop_assert_eq!(selected.to_vec(), expected);
    }
}
