//! A window that moves over values: what is known of each frame. Frames move on only: neither end of one lies before that
//! of the frame before it.
//!
//!   values   1 2 3 4 5       frames 0..2 1..4 3..5       sums 3 9 9

use std::ops::Range;

use super::Accumulator;

/// Calls `each` for each frame, where values can be given back: each enters once and leaves once. `empty`: of no value.
pub(crate) fn slide<A: Accumulator>(
    empty: &A,
    values: &[Option<A::In>],
    frames: &[Range<usize>],
    remove: impl Fn(&mut A, A::In),
    mut each: impl FnMut(&A),
) {
    let (mut inside, mut present) = (empty.clone(), 0..0);
    for frame in frames {
        if frame.start >= present.end {
            (inside, present) = (empty.clone(), frame.start..frame.start);
        }
        values[present.end..frame.end].iter().flatten().for_each(|value| inside.add(value.clone()));
        values[present.start..frame.start].iter().flatten().for_each(|value| remove(&mut inside, value.clone()));
        present = frame.clone();
        each(&inside);
    }
}

/// Calls `each` for each frame, where values cannot be given back: two stacks. What came last is one accumulator; of the
/// rest there is one for each place from which on it is present. Each value enters at most twice.
pub(crate) fn slide_on_stacks<A: Accumulator>(
    empty: &A,
    values: &[Option<A::In>],
    frames: &[Range<usize>],
    mut each: impl FnMut(&A),
) {
    let (mut late, mut end, mut turned) = (empty.clone(), 0, 0);
    // The values from each place to `turned`, the last place first.
    let mut early: Vec<A> = Vec::new();
    for frame in frames {
        if frame.start >= turned {
            (late, turned, end) = (empty.clone(), frame.end, frame.end);
            early.clear();
            let mut whole = empty.clone();
            for value in values[frame.clone()].iter().rev() {
                value.iter().for_each(|value| whole.add(value.clone()));
                early.push(whole.clone());
            }
        }
        values[end..frame.end].iter().flatten().for_each(|value| late.add(value.clone()));
        end = frame.end;
        early.truncate(turned.saturating_sub(frame.start));
        let mut whole = early.last().unwrap_or(empty).clone();
        whole.merge(&late);
        each(&whole);
    }
}

/// Calls `each` for each frame with the extreme of its keys, and `none` of no key: two stacks of bare keys.
pub(crate) fn slide_extremes<K: Copy + Ord>(
    (keys, none): (&[K], K),
    frames: &[Range<usize>],
    better: impl Fn(K, K) -> K,
    mut each: impl FnMut(K, &Range<usize>),
) {
    let (mut late, mut end, mut turned) = (none, 0, 0);
    // The extreme from each place to `turned`, the last place first.
    let mut early: Vec<K> = Vec::new();
    for frame in frames {
        if frame.start >= turned {
            (late, turned, end) = (none, frame.end, frame.end);
            early.clear();
            let mut whole = none;
            early.extend(keys[frame.clone()].iter().rev().map(|key| {
                whole = better(whole, *key);
                whole
            }));
        }
        late = keys[end..frame.end].iter().fold(late, |late, key| better(late, *key));
        end = frame.end;
        let place = turned.checked_sub(frame.start + 1);
        each(place.map_or(late, |place| better(early[place], late)), frame);
    }
}

/// Calls `each` for each frame with its values in order. For small frames: a value finds its place by a search, and those
/// behind it move.
pub(crate) fn slide_sorted<K: Ord + Clone>(values: &[Option<K>], frames: &[Range<usize>], mut each: impl FnMut(&[K])) {
    let (mut inside, mut present): (Vec<K>, Range<usize>) = (Vec::new(), 0..0);
    for frame in frames {
        if frame.start >= present.end {
            inside.clear();
            inside.extend(values[frame.clone()].iter().flatten().cloned());
            inside.sort_unstable();
        } else {
            for value in values[present.start..frame.start].iter().flatten() {
                let place = inside.partition_point(|other| other < value);
                inside.remove(place);
            }
            for value in values[present.end..frame.end].iter().flatten() {
                let place = inside.partition_point(|other| other < value);
                inside.insert(place, value.clone());
            }
        }
        present = frame.clone();
        each(&inside);
    }
}
